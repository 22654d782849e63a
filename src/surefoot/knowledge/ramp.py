r"""Actuators with ramps: an action may differ from the last by at most r, also under drift.

For a fixed g the ball :math:`B(x_t, r)` is announced in every round: :math:`x_t` is certified and
in it, so there is always an action. Under a drift of v the set may come in faster than r.

**Theorem R.** *Let the domain be convex,* :math:`g_t` *convex with* :math:`|g_{t+1} - g_t| \le v`\
*, and a an action with* :math:`g_t(a) \le -\alpha_t`\ *: in every round the same*
:math:`\alpha > 0` *(a machine that is off), or measured once, so that*
:math:`\alpha_{t+1} = \alpha_t - v`\ *. Play in round t only
certified actions that are within* :math:`d_t` *of a,* :math:`d_t = r(1 + \alpha/v)` *or*
:math:`r\lfloor\alpha_t/v\rfloor`\ *, and within r of the last, and where there is none the point y
that is r nearer to a. Then no step is longer than r,* :math:`g_t(x_t) \le 0` *in every round, and
there is always an action, or until a is reached and measured again.*

*Proof.* Let :math:`g_t(x_t) \le 0` and :math:`D = \|x_t - a\| \le d_t`. If :math:`D \le r`, y is a,
and :math:`\alpha_{t+1} \ge 0`: for an a that ages because :math:`D > 0` says
:math:`\alpha_t \ge v`. Else y is the share :math:`\theta = r/D \ge v/(v + \alpha_{t+1})` of the way
to a, so that convexity gives
:math:`g_{t+1}(y) \le (1-\theta)v - \theta\alpha_{t+1} \le 0`; and y is within
:math:`D - r \le d_{t+1}` of a. So both hold in the next round, whatever was played. The return path
is a plan that need not be followed; the memory keeps when a was measured (:func:`keep_anchor`). ∎
With one ramp per coordinate, D and r are measured as :math:`\max_i|x_i - a_i|/r_i` and 1.

**Corollary (contexts).** *Let* :math:`g_t = g(\cdot; c_t)` *be convex and rise by at most w from
context to context* (:mod:`surefoot.knowledge.context`)\ *, let v be at least*
:math:`w(c_t, c_{t+1})` *in every round, plus the drift, and let a be the start with* :math:`g(a; c)
\le -\alpha` *in every round and context. Then Theorem R holds with the certified actions of each
context.* *Proof.* Of a drift, the theorem uses only :math:`g_{t+1}(x_t) \le g_t(x_t) + v \le v`,
and that a keeps :math:`\alpha`. ∎ Columns that ``change`` by at most :math:`\Delta_k` per round
have :math:`v = \sum_kR_k\Delta_k`. Without such a bound the set of the next context may be more
than r away, and no rule that keeps the ramp is safe: g = x - c with c = 1, then 0.

**Corollary (unknown contexts).** *Let nobody know the contexts of the rounds t + 1 to t + k, which
move as before, let* :math:`x_t` *be an action of Theorem R with* :math:`g_t(x_t) \le b \le 0`\ *,
and play the point r nearer to a in each of these rounds. Then g is at most 0 in each of them, and
Theorem R goes on in round t + k + 1.* *Proof.* With the share* :math:`\theta` *of the proof above,
convexity gives* :math:`g_{t+1}(y) \le (1-\theta)(b + v) - \theta\alpha =: b' \le 0` *in whatever
context it is; and y is within* :math:`d_{t+1}` *of a. So y is such an action, with b', in the next
round. ∎ What is read in such a round is that of no context, and counts for nothing.

The distance is tight: a limit on a line that is :math:`-\alpha` at a and 0 at D, and v at D a round
later, has its zero :math:`Dv/(v+\alpha)` nearer then, which is more than r for a larger D.

The return path leads to the first action. As in a hull, the rules measure it again before drift has
used more than half of its slack, unless a bound on it holds in every round. Further away they come
nearer by r in every round.

Rounding: with m what a hull takes off a slack (:mod:`surefoot.knowledge.hull`, and
:mod:`surefoot.knowledge.context_hull` for means of two),
:math:`r(v + \alpha)/(v + 2m + 10^{-11}(v + \alpha))` is the distance of a standing anchor instead,
which leaves :math:`g_{t+1}(y)` below 0 by more than m.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.kernel_constants import SLACK_LEFT
from surefoot.core.types import Array, Certificate, Set
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.average_limit import AverageLimit
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.choices import Choices
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.contradictions import check_proposal
from surefoot.knowledge.estimate import UnknownConstant
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.nearest import EVERYWHERE, KnownSets, draw_back
from surefoot.knowledge.region import Region, RegionWrapper
from surefoot.sets import Ball, Box

__all__ = [
    "Ramped",
    "WayBack",
    "around",
    "check_ramp",
    "find_jump",
    "find_way",
    "keep_anchor",
    "limit_steps",
]


def check_ramp(ramp: Any, knowledge: Knowledge) -> Any:
    """Return a ramp, a number or one per coordinate; raise if it is unsupported."""
    numbers = read_numbers(ramp, "ramp")
    if not (numbers > 0).all():
        raise InvalidValueError(f"ramp must be above 0, got {ramp!r}")
    if isinstance(knowledge, UnknownConstant):
        raise InvalidValueError(
            f"ramp needs a given {knowledge.constant}: the return path from a violation may be "
            f"longer, got {checks.repr_line(knowledge)}"
        )
    if isinstance(knowledge, AverageLimit):
        raise InvalidValueError(
            f"ramp must be None for AverageLimit, got {ramp!r}: after rounds above 0 the limit may "
            "be further away than the ramp reaches"
        )
    domain = knowledge.domain
    at_rest = knowledge.parts[0] if knowledge.row_count == 1 and knowledge.parts else knowledge
    has_return_path = isinstance(at_rest, LipschitzHull) and not isinstance(domain, Choices)
    if knowledge.in_contexts:
        _check_contexts(ramp, knowledge, has_return_path)
    elif knowledge.errors.drifts and not has_return_path:
        rule = "that of a LipschitzHull on a convex domain, if g drifts (Theorem R)"
        raise checks.invalid("ramp", rule, knowledge)
    elif knowledge.errors.drifts and knowledge.remembers and not knowledge.bounds_start:
        raise InvalidValueError(
            "start_bound must be given with a ramp under drift where readings lag: the start, "
            "which the return path leads to, cannot be measured again before it has settled"
        )
    if isinstance(domain, Choices):
        _check_gaps(numbers, domain, ramp)
    return float(numbers[0]) if np.ndim(ramp) == 0 else tuple(numbers.tolist())


def _check_gaps(numbers: Array, choices: Choices, ramp: Any) -> None:
    """Raise for an entry whose choices are further apart than its ramp."""
    if choices.dimension is not None and len(numbers) not in (1, choices.dimension):
        raise checks.invalid("ramp", f"one number, or {choices.dimension} as the domain has", ramp)
    gap, ramps = np.broadcast_arrays(choices.gaps[0], numbers)
    if (short := gap > ramps).any():
        i = int(short.argmax())
        raise InvalidValueError(
            f"ramp must be at least {gap[i]:g}, because entry {i} leaves 0 in one step of "
            f"{gap[i]:g} or never: give each entry a ramp as large as that, or a Box as the domain "
            f"if the machine plays less, too, got {ramp!r} for {checks.repr_line(choices)}"
        )


def _check_contexts(ramp: Any, knowledge: Any, has_return_path: bool) -> None:
    """Raise unless the return path of Theorem R exists in every context."""
    if not has_return_path:
        kind = "between choices" if isinstance(knowledge, LipschitzHull) else "without a G_g"
        kind = "for several limits" if knowledge.row_count > 1 else kind
        reason = f"Theorem R has no return path {kind}"
        remedy = "leave the ramp out"
    elif knowledge.speed is None:
        reason = (
            "the limit of the next context may be further away than the ramp reaches (Theorem R)"
        )
        remedy = "say how far each column moves in a round: Column(..., changes=...)"
        if knowledge.context.argument == "drift":
            remedy = "give drift, the largest that is told, instead of AnnouncedDrift()"
    elif knowledge.start_bound is None:
        reason = "Theorem R needs a point that is feasible in every context"
        remedy = "give start_bound, what g is at most at the start in every context"
    else:
        return
    raise InvalidValueError(
        f"ramp must be None for these contexts, got {ramp!r}: {reason}; {remedy}"
    )


def around(x: Array, ramp: Any, share: float = 1.0) -> Set:
    """Return the actions within so many ramps of x."""
    if isinstance(ramp, float):
        return Ball(share * ramp, x)
    width = share * np.array(ramp)
    return Box(x - width, x + width)


def keep_anchor(knowledge: Any, memory: Any, ramp: Any) -> Any:
    """Return a memory whose start is as it was measured last, where it is what a ramp leads to.

    A deeper action does not replace it. If the limit comes in, the deeper action need not stay
    deeper, and every replacement could halve the slack.
    """
    if not knowledge.errors.drifts or knowledge.bounds_start:
        return memory  # as in contexts, where a bound must be known
    is_there = _count_ramps(memory.last.x - memory.start.x, ramp) <= 1e-6
    return memory._replace(start=memory.last) if is_there else memory


def limit_steps(
    knowledge: Knowledge, memory: Any, region: Region, x: Array, ramp: Any, certain: bool
) -> Region:
    """Return the part of a region within the ramp; the return path if it is empty.

    Args:
        knowledge: the knowledge of g.
        memory: the readings.
        region: the certified actions.
        x: the action that was played.
        ramp: r.
        certain: whether x was certified.
    """
    near = around(x, ramp)
    knowledge, memory = knowledge.at_rest_of(memory)
    if not isinstance(knowledge, LipschitzHull) or not knowledge.speed:
        return region.within(near)
    off, ramps = _choose_anchor(knowledge, memory, x, ramp)
    close_to_off = around(off.x, ramp, ramps)
    whole: Region = region.base.whole.within(knowledge.domain, near, close_to_off)
    level = knowledge.level_at(memory, x)
    level = min(level, 0.0) if certain else level
    if level == math.inf:
        return whole
    back = knowledge.between(memory, x, level, off, region.errors)
    point = _step_back(x, off.x, ramp)
    return Ramped(whole, back.within(knowledge.domain), point, KnownSets(near, close_to_off))


class WayBack(NamedTuple):
    """A step of the return path in a round whose context nobody knows.

    Attributes:
        point: the action.
        share: of the way from the last action to the start.
        bound: on g there, in every context that may be; infinite if it is unbounded.
    """

    point: Array
    share: float
    bound: float


def find_way(knowledge: Any, x: Array, start: Anchor, ramp: Any, certain: bool) -> WayBack:
    """Return the step of the return path in a round whose context nobody knows.

    Args:
        knowledge: of contexts.
        x: the action of the last round.
        start: the end of the path, with a bound on g in every round and context.
        ramp: r; None for any distance.
        certain: whether x was certified in the context of its round.
    """
    share = 1.0 if ramp is None else _share_of_way(x, start.x, ramp)
    if share == 1.0:
        return WayBack(start.x, 1.0, float(start.value))
    point = _step_back(x, start.x, ramp)
    speed = knowledge.speed
    if speed is None or not certain:
        return WayBack(point, share, math.inf)
    size = speed + abs(start.value)
    margin = knowledge.pair_margin(len(x), size) + 2.0**-48 * size
    bound = (1.0 - share) * speed + share * start.value + margin
    return WayBack(point, share, float(bound))


def find_jump(knowledge: Any, memory: Any) -> tuple[str, ...]:
    """Return how the context of a round moved further than was given, in a sentence.

    Args:
        knowledge: the knowledge of g.
        memory: before the round was read.
    """
    if not knowledge.in_contexts or memory.before is None or memory.context is None:
        return ()
    rounds = int(getattr(memory, "unknown", 0)) + 1
    words = knowledge.context.find_jump(memory.before.place, memory.context.place, rounds)
    return (f"round {int(memory.rounds) + 1}: {words}",) if words else ()


def _choose_anchor(
    knowledge: LipschitzHull, memory: Any, x: Array, ramp: Any
) -> tuple[Anchor, float]:
    """Return the anchor of x, and how many ramps the next action may be from it."""
    t, drift = memory.rounds + 1.0, float(knowledge.speed or 0.0)
    if knowledge.start_bound is not None:
        standing = knowledge.start_anchor(memory)
        slack = -float(standing.value)
        both, margin = drift + slack, knowledge.pair_margin(len(x), drift + slack)
        return standing, both / (drift + 2 * margin + 1e-11 * both)
    off = memory.start
    level, ramps = float(off.level(t, drift)), _count_ramps(off.x - x, ramp) - 1.0
    soon = math.floor(-(level - SLACK_LEFT * off.value) / drift)
    return off, max(soon, ramps, 1e-9)  # no set has no extent


def _count_ramps(way: Array, ramp: Any) -> float:
    return norm(way) / ramp if isinstance(ramp, float) else float(np.max(np.abs(way) / ramp))


def _step_back(x: Array, off: Array, ramp: Any) -> Array:
    """Return the point that is one ramp nearer to the anchor."""
    share = _share_of_way(x, off, ramp)
    return off if share == 1.0 else x + share * (off - x)


def _share_of_way(x: Array, off: Array, ramp: Any) -> float:
    """Return the share of the way to the anchor that a ramp allows."""
    ramps = _count_ramps(off - x, ramp)
    return 1.0 if ramps <= 1.0 else float((1 - 1e-12) / ramps)


class Ramped(RegionWrapper):
    """Certified actions within a ramp; if there are none, the point one ramp nearer to the anchor.

    Args:
        part: the certified actions within the ramp.
        back: the actions certified by the last action and the anchor.
        point: the next point of the return path.
        ramps: the sets within the ramp.
    """

    back: Region
    point: Array
    ramps: KnownSets

    def __init__(self, part: Region, back: Region, point: Array, ramps: KnownSets) -> None:
        super().__init__(part)
        self.back, self.point, self.ramps = back, point, ramps

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified and within the ramp, or is on the return path."""
        return bool(self.part.contains(w)) or self._is_on_return_path(w)

    def may_contain(self, points: Array) -> Array:
        """Return which of several points may be certified, or are on the return path."""
        may: Array = self.part.may_contain(points) | (points == self.point).all(axis=1)
        return may

    def _is_on_return_path(self, w: Array) -> bool:
        return bool((w == self.point).all()) and bool(self.back.contains(w))

    def nearest(self, w: Array) -> Array:
        """Return nearly the certified action nearest to w within the ramp; else the return path.

        The part of the proposal that the ramp reaches is projected onto the hull. If the result is
        too far, it is moved towards the return path. Only if the return path is not in the hull, a
        search follows.
        """
        check_proposal(w, self.x)
        reached = self.part
        if reached.contains(w):
            return w
        for reachable in self.ramps.sets:
            w = reachable.project(w)
        near = self.base.nearest(w)
        if reached.contains(near):
            return near
        if reached.contains(self.point):
            end = draw_back(lambda p: bool(reached.contains(p)), EVERYWHERE, self.point, near)
            return self.point if end is None else end
        if self._is_on_return_path(self.point):
            return self.point
        return reached.nearest(w)

    def within(self, *sets: Set | None) -> Region:
        """Return the part that is in further sets, and the return path if it is."""
        parts = (self.part.within(*sets), self.back.within(*sets))
        return Ramped(*parts, self.point, self.ramps)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point is feasible."""
        kind = self.part if bool(self.part.contains(x)) else self.back
        return kind.certificate(x, cut)
