r"""What values and a bound on the subgradients certify: the convex hull of balls.

If :math:`g(x_i) \le 0` and every subgradient has norm at most :math:`G_g`, then g rises by at most
:math:`G_g` per unit of length, so the ball :math:`B(x_i, -g(x_i)/G_g)` is feasible; and because the
feasible set is convex, so is the convex hull of such balls. The hull of the balls of *all* rounds
is everything that can be certified from values, subgradients and :math:`G_g` (Theorem E of
docs/hulls.md). Here are hulls of two: the ball of the last action with the deepest one before
it, the *anchor*, or with one of a *ladder* of balls, the most recent of each octave of depth: from
an action close to the edge of a thin set, the way to a deep ball far away leaves little room, and
that to a small one near by leaves more. For a point p and any share :math:`\lambda \in [0, 1]`

.. math:: g(p) \le (1-\lambda)g(a) + \lambda g(x)
          + G_g\|p - (1-\lambda)a - \lambda x\|,

which is the certificate.

Rounding. With u = 2^-53, n the dimension, M the largest norm of a feasible point and
:math:`\delta` a bound on the evaluation error of g, radii are
:math:`-g/G_g - 2\delta/G_g - 16(n+8)uM`. Then the true g and the computed one are at most 0 at
every point that :meth:`HullRegion.nearest` returns; docs/hulls.md has the proof. It holds for
any computed share, so no loss of digits in it can matter. Radii keep their sign: the last action
may have less slack than the margin.

Errors and drift. A value that errs by at most :math:`\nu` counts as :math:`\hat g + \nu`, or as the
bound that was certified before it was played where that is smaller; one that was seen k rounds
before the next, under a drift of v per round, as kv more. Slopes are not used, so that their error
costs nothing here. An anchor that ages loses its ball: once drift may have used half of its slack
the hull is the anchor alone, which is visited and so measured again. Where no ball is left,
:class:`surefoot.knowledge.EmptyRegionError` is raised, and a run of a batch becomes NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from surefoot.core.arrays import dot, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Count
from surefoot.core.kernel_constants import (
    ALARM_NOISES,
    CLOSE,
    EXCESS,
    HULL_NOISES,
    HULL_ROUNDINGS,
    POINT,
    POINT_ROUNDINGS,
    RUNGS,
    SLACK_LEFT,
    SUM_ROUNDINGS,
    TERMS,
    VALUE_ROUNDINGS,
    VALUE_TERMS,
)
from surefoot.core.parameters import number, positive, projectable
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Number, Set
from surefoot.knowledge.anchor import Anchor, StandingAnchor
from surefoot.knowledge.base import BALLS, Capability, Knowledge, Reading
from surefoot.knowledge.contradictions import check_bound, check_proposal, check_rise
from surefoot.knowledge.errors import EmptyRegionError, Errors, describe_errors, list_causes
from surefoot.knowledge.in_kernel import (
    CertificateColumns,
    KernelStep,
    KnowledgeInKernel,
    share_fields,
)
from surefoot.knowledge.region import Region

__all__ = ["HullCertificate", "HullMemory", "HullRegion", "LipschitzHull", "Pairs", "find_radius"]


class Ladder(Anchor):
    """Balls of all depths, one for each octave below the deepest.

    Rung k has a radius between :math:`2^{-k}` and :math:`2^{-k-1}` of that, as it was when it was
    put there.

    Attributes:
        x: the points, one in each row.
        value: bounds on g there; inf for an empty rung.
        round: when.
    """

    __slots__ = ()

    @classmethod
    def empty(cls, dimension: int) -> Ladder:
        """Return a ladder without a ball."""
        return cls(np.zeros((RUNGS, dimension)), np.full(RUNGS, math.inf), np.zeros(RUNGS))

    def put(self, rung: int, anchor: Anchor) -> Ladder:
        """Return the ladder with a ball on a rung."""
        x, value, when = (part.copy() for part in self)
        x[rung], value[rung], when[rung] = anchor
        return Ladder(x, value, when)


class HullMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: the number of rounds so far.
        last: the last action that was read, and the bound on g there.
        anchor: the deepest action before it.
        start: the first action that was read; where a ramp leads back to it, as it was last.
        ladder: actions before the last, the most recent of each octave of depth.
    """

    rounds: Count
    last: Anchor
    anchor: Anchor
    start: Anchor
    ladder: Ladder

    def alone(self, anchor: Anchor, last: Anchor) -> HullMemory:
        """Return a memory of two actions."""
        return self._replace(anchor=anchor, last=last, ladder=Ladder.empty(len(last.x)))


class LipschitzHull(Knowledge):
    r"""Knowledge that g is convex with no subgradient longer than G_g on the feasible set.

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
        reach: the largest norm of a feasible point, which rounding scales with; that of the domain
            unless given.
        domain: a known set that contains every action.
        start_bound: g at the first action is at most this in every round, however it drifts: an
            anchor that does not age, and is never visited. None where that is not known.
        errors: bounds on the errors of readings. Slopes are used for contradictions alone.

    Example:
        >>> knowledge = LipschitzHull(G_g=1.0, reach=1.0)
        >>> x, s = np.zeros(2), np.array([0.0, 1.0])  # g(x) = |x|_inf - 0.5
        >>> reading = Reading(x, -0.5, s, knowledge.errors)
        >>> memory = knowledge.observe(knowledge.init(x), reading)
        >>> region = knowledge.region(memory, knowledge.errors)
        >>> p = region.nearest(np.array([3.0, 4.0]))
        >>> p.round(6)
        array([0.3, 0.4])
        >>> print(region.certificate(p))
        round 1: g = -0.5 in round 1, and g rises by at most G_g = 1 per unit of length:
        0.5 is certified, 0.5 was taken; the next g is at most -...
    """

    proved_by: ClassVar[str] = "Theorem E"
    allows: ClassVar[frozenset[Capability]] = frozenset(
        {"value", "slope", "drift", "late", "margin"}
    )
    slopes: ClassVar[Literal["certify", "steer", "unused"]] = "steer"
    offers = BALLS

    G_g: float = positive()
    reach: Number = positive(default=None)
    domain: Set | None = projectable(default=None, convex=False)
    start_bound: Number = number(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start_bound is not None and not self.start_bound < 0:
            raise InvalidValueError(f"start_bound must be below 0, got {self.start_bound!r}")

    def first(self, x1: Array) -> HullMemory:
        """Return the memory before the first round."""
        start = Anchor(x1, math.inf, 0.0)
        return HullMemory(0.0, start, start, start, Ladder.empty(len(x1)))

    def learn(self, memory: HullMemory, reading: Reading) -> HullMemory:
        """Return the memory after a reading."""
        x, upper, errors, age = reading.x, reading.upper, reading.errors, reading.age
        t = memory.rounds + 1.0
        if memory.start.value == math.inf:
            point = Anchor(x, upper, t - age)
            return HullMemory(t, point, point, point, memory.ladder)
        if not errors.is_exact:
            # An earlier certificate bounds g there as well as the reading does, but
            # for its rounding: steps that are too short to change it would add up. Under drift only
            # where no round is between: a checker follows no further.
            before = self._hull(memory, t - age, errors)
            if (x == memory.last.x).all():
                upper = min(upper, before.level)
            elif not age and (memory.last.round == memory.rounds or not errors.drift):
                bound = before.bound(x)
                upper = min(upper, bound + self.noise(len(x))) if bound <= 0.0 else upper
        anchor = self._deepest(memory)
        ladder = self._climb(memory.ladder, memory.last, anchor)
        return HullMemory(t, Anchor(x, upper, t - age), anchor, memory.start, ladder)

    def _deepest(self, memory: HullMemory) -> Anchor:
        """Return the deeper of the anchor and the last action, as both are after its round."""
        last, anchor = memory.last, memory.anchor
        aged = anchor.level(last.round, self.errors.drift)
        if last.value < aged:
            return last
        if self.errors.drift and bool((last.x == anchor.x).all()):  # measured anew
            return Anchor(anchor.x, aged, last.round)
        return anchor

    def _climb(self, ladder: Ladder, last: Anchor, deepest: Anchor) -> Ladder:
        """Return the ladder with the ball of an action."""
        margin = self._lost(len(last.x))
        radius = self.radius(last.value, margin)
        most = self.radius(deepest.level(last.round, self.errors.drift), margin)
        if not radius > 0.0 or most >= 2.0**RUNGS * radius:
            return ladder
        return ladder.put(max(math.frexp(most / radius)[1] - 1, 0), last)

    def radius(self, level: Number, margin: float) -> Number:
        """Return the radius of a certified ball, from the bound on g at its centre.

        Args:
            level: the bound, or several of them.
            margin: the part of the radius that rounding may take.
        """
        return -level / self.G_g - margin

    def certify(self, memory: HullMemory, errors: Errors) -> Region:
        """Return the hull of both balls; under drift, the anchor alone at times."""
        hull = self._hull(memory, memory.rounds + 1.0, errors)
        if errors.drift:
            hull = hull.to_visit(hull.anchor)
        return hull

    def _hull(self, memory: HullMemory, t: float, errors: Errors) -> HullRegion:
        """Return the hulls of the balls as they are in round t."""
        anchor = memory.anchor
        if self.start_bound is not None and anchor.level(t, errors.drift) > self.start_bound:
            anchor = StandingAnchor(memory.start.x, self.start_bound, memory.start.round)
        return HullRegion(self, memory._replace(anchor=anchor), t, errors)

    def contradictions(self, memory: HullMemory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts G_g and the errors, in sentences."""
        t, noise, reach = int(memory.rounds) + 1, self.noise(len(reading.x)), float(self.reach)
        if memory.start.value == math.inf:
            sentences = check_rise(t, reading, self.G_g, noise, reach)
            return sentences + self.check_start_bound(t, reading, ALARM_NOISES * noise)
        limit = self._hull(memory, t - reading.age, reading.errors).bound(reading.x)
        # An action that was not certified may be outside of where G_g holds, and so may the way
        # to it: as that of somebody else, whose reading comes late.
        certified = limit <= self.G_g_holds_to + ALARM_NOISES * noise
        outside = not certified and reading.upper + noise > self.G_g_holds_to
        sentences = check_rise(t, reading, self.G_g, noise, reach, may_be_outside=outside)
        if certified:
            words = f"G_g = {self.G_g:.6g} is too small"
            sentences += check_bound(t, reading, limit, ALARM_NOISES * noise, words)
        return sentences + self.check_subgradient(memory, reading)

    @property
    def speed(self) -> float | None:
        """The largest rise of g from round to round; None where nothing bounds it."""
        return float(self.errors.drift)

    def start_anchor(self, memory: Any) -> Anchor:
        """Return the start, with the bound on g there in every round."""
        assert self.start_bound is not None
        return StandingAnchor(memory.start.x, float(self.start_bound), memory.start.round)

    def pair_margin(self, d: int, levels: float) -> float:
        """Return what the margin takes from a bound on g, between two actions.

        Args:
            d: the dimension.
            levels: the largest bound there.
        """
        return float(self._lost(d) * self.G_g)

    def level_at(self, memory: Any, x: Array) -> float:
        """Return the bound on g that was read at an action in the last round; else infinite."""
        last = memory.last
        level = last.level(memory.rounds, self.errors.drift) if (last.x == x).all() else math.inf
        return float(level)

    def between(
        self, memory: Any, x: Array, level: float, anchor: Anchor, errors: Errors
    ) -> Region:
        """Return the actions certified by two actions alone.

        Args:
            memory: the readings.
            x: the last action.
            level: a bound on g there, in the last round.
            anchor: the other.
            errors: what the region allows for.
        """
        t = memory.rounds
        return HullRegion(self, memory.alone(anchor, Anchor(x, level, t)), t + 1.0, errors)

    @property
    def G_g_holds_to(self) -> float:
        """The largest g at which no slope is longer than G_g."""
        return 0.0

    def check_start_bound(self, t: int, reading: Reading, noise: float) -> tuple[str, ...]:
        """Return whether the first reading is above the bound that holds there in every round."""
        limit, words = self.start_bound, f"start_bound = {self.start_bound} is too small"
        return () if limit is None else check_bound(t, reading, limit, noise, words)

    def check_subgradient(self, memory: HullMemory, reading: Reading) -> tuple[str, ...]:
        """Return a sentence if a subgradient contradicts the anchor; G_g is used for rounding."""
        (x, g, s, errors, age), anchor = reading, memory.anchor
        if s is None or not errors.slope < math.inf:
            return ()
        t, way = int(memory.rounds) + 1, anchor.x - x
        below = g - errors.value + dot(s, way) - errors.slope * norm(way)
        below -= anchor.level(t - age, errors.drift)
        if not below > ALARM_NOISES * self.noise(len(x)):
            return ()
        why = list_causes(errors, f"a slope errs by more than {float(errors.slope):g}")
        return (
            f"round {t}: the subgradient says that g in round {int(anchor.round)} was "
            f"at least {below:.3g} above what was seen: {why}",
        )

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise over a length."""
        return self.G_g * length

    def start_margin(self, d: int) -> Number:
        """Return what the margin takes at the start."""
        return self._lost(d) * self.G_g

    def standing(self, start: Array) -> StandingAnchor | None:
        """Return the start with the bound that holds there in every round; None without one."""
        bound = self.start_bound
        return None if bound is None else StandingAnchor(start, float(bound), 0.0)

    @property
    def obstacle_to_choices(self) -> str:
        """None: the balls of a hull are around choices, and one of them is left if the hull is."""
        return ""

    @property
    def bounds_start(self) -> bool:
        """Whether a bound on g at the start is known."""
        return self.start_bound is not None

    def above(self, length: float) -> Knowledge:
        """Return the knowledge of g plus at most its rise over a length, which the bound has, too.

        Example:
            >>> LipschitzHull(G_g=2.0, reach=1.0, start_bound=-0.5).above(0.1).start_bound > -0.3
            True
        """
        if self.start_bound is None:
            return self
        bound = self.start_bound + self.G_g * length
        bound += 2.0**-50 * (abs(self.start_bound) + self.G_g * length)
        if not bound < 0:
            raise InvalidValueError(
                f"start_bound must be below {self.start_bound - bound:.6g}, by which g rises over "
                f"{length:.3g}, got {self.start_bound!r}"
            )
        return replace(self, start_bound=bound)

    def holds(self, x: Array) -> bool:
        """Return whether an action is in the domain; without one, whether it is within reach."""
        if self.domain is None:
            return bool(norm(x) <= self.reach * (1 + EXCESS))
        return bool(self.domain.contains(x))

    def describe_to_kernel(self, d: int) -> HullInKernel | None:
        """Return how the kernel has the hull; it knows no bound on g at the start."""
        return HullInKernel(self) if self.start_bound is None else None

    def noise(self, d: int) -> float:
        r"""Return :math:`\delta`, a bound on the error of an observed g, with room for one sum."""
        unit = UNIT * float(self.reach) * self.G_g
        evaluation = float(self.errors.evaluation)
        return max(VALUE_ROUNDINGS * (d + VALUE_TERMS) * unit, evaluation + SUM_ROUNDINGS * unit)

    def _lost(self, d: int) -> float:
        r"""Return what the margin takes from a radius: :math:`2\delta/G_g + 16(n+8)uM`."""
        return HULL_NOISES * self.noise(d) / self.G_g + HULL_ROUNDINGS * self._rounding(d)

    def _rounding(self, d: int) -> float:
        r"""Return how far a point moved to the boundary may be beyond it: :math:`4(n+8)uM`."""
        return POINT_ROUNDINGS * (d + TERMS) * UNIT * float(self.reach)


class HullCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        anchor_round: the round in which the anchor was played; 1 is the start.
        anchor_value: g at the anchor; with errors or drift, the bound on the next g there.
        value: the same at the action that was played.
        share: of the action in the centre, (1 - share) anchor + share action.
        distance: from the centre to the next action.
        room: how far from the centre is certified; at least the distance, but for rounding, which
            the margin covers.
        bound: the next g is at most this; never above 0.
        G_g: the Lipschitz constant.
        cut: whether the region changed the proposal.
        errors: what the bounds allow for.
    """

    round: int
    anchor_round: int
    anchor_value: float
    value: float
    share: float
    distance: float
    room: float
    bound: float
    G_g: float
    cut: bool = False
    errors: Errors = Errors()

    @property
    def facts(self) -> dict[str, str]:
        """What was measured, what that allows and what was used of it; none where readings err."""
        if not self.errors.is_exact:
            return {}
        return {
            "measured": self.seen,
            "allowed": f"{self.room:.3g}, because g rises by at most G_g = {self.G_g:g} per unit",
            "used": f"{self.distance:.3g}",
        }

    @property
    def seen(self) -> str:
        """What was measured, and where between two measured actions the centre is, in words."""
        between = (1.0 - self.share) * self.anchor_value + self.share * self.value
        back = f"{1.0 - self.share:.3g} of the way back to round {self.anchor_round}"
        so = f"; so at most {between:.3g} at {back}" if self.share < 1.0 else ""
        if not self.errors.is_exact:
            return (
                f"g is at most {self.anchor_value:.3g} where round {self.anchor_round} was and "
                f"{self.value:.3g} here{describe_errors(self.errors)}{so}"
            )
        if self.share == 1.0:
            return f"g = {self.value:.3g} now"
        then = f"g = {self.anchor_value:.3g} in round {self.anchor_round}"
        if self.share == 0.0:
            return then
        return f"{then} and {self.value:.3g} now{so}"

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.seen}, and g rises by at most G_g = {self.G_g:g} per unit "
            f"of length: {self.room:.3g} is certified, {self.distance:.3g} was taken; "
            f"the next g is at most {self.bound:.3g}"
        )


class HullInKernel(KnowledgeInKernel):
    """The hull in the kernel."""

    code = "SF_HULL"

    def __init__(self, knowledge: LipschitzHull) -> None:
        self.errors = knowledge.errors
        self.fields: dict[str, Any] = share_fields(knowledge.errors, knowledge.reach) | {
            "G_g": knowledge.G_g
        }

    def take_apart(self, memory: HullMemory, names: Iterable[str]) -> Mapping[str, Any]:
        """Return the parts by name; a rung is a point, its bound and its round."""
        parts = {name: attrgetter(name)(memory) for name in names if name != "rungs"}
        return parts | {"rungs": np.column_stack(memory.ladder)}

    def put_together(self, parts: dict[str, Any]) -> HullMemory:
        """Return the memory of parts."""
        rungs = parts.pop("rungs")
        last, anchor, start = (Anchor(**parts.pop(name)) for name in ("last", "anchor", "start"))
        ladder = Ladder(rungs[:, :-2], rungs[:, -2], rungs[:, -1])
        return HullMemory(last=last, anchor=anchor, start=start, ladder=ladder, **parts)

    def certificate(self, step: KernelStep) -> HullCertificate:
        """Return why the next action is feasible."""
        n = step.numbers
        return HullCertificate(
            round=int(n.round),
            anchor_round=int(n.anchor_round),
            anchor_value=n.anchor_value,
            value=n.value,
            share=n.share,
            distance=n.distance,
            room=n.room,
            bound=n.bound,
            G_g=float(self.fields["G_g"]),
            cut=bool(n.cut),
            errors=step.errors,
        )

    def columns_of(self, numbers: Mapping[str, Array]) -> CertificateColumns:
        """Return the certificates of many members."""
        whole = {name: numbers[name].astype(np.int64) for name in ("round", "anchor_round")}
        names = ("anchor_value", "value", "share", "distance", "room", "bound")
        columns = whole | {name: numbers[name] for name in names}
        columns["cut"] = numbers["cut"].astype(bool)
        same = {"G_g": float(self.fields["G_g"]), "errors": self.errors}
        return CertificateColumns(HullCertificate, columns, same)


class HullRegion(Region):
    """The convex hulls of the last action's ball with the anchor's, or with one of the ladder.

    Each is convex, and all of them together need not be: a point is certified by one of them.

    Args:
        knowledge: the constants.
        memory: the readings.
        t: the round that the hull is for.
        errors: what the levels allow for.

    Attributes:
        before_visit: the hull as it was, where the anchor alone is to be visited.
    """

    knowledge: LipschitzHull
    errors: Errors
    round: float
    anchor: Anchor
    last: Anchor
    x: Array
    anchor_level: Number
    level: Number
    upper: Number
    lost: float
    rounding: float
    anchor_radius: Number
    radius: Number
    slope_norm: Number
    noise: Number
    depth: Number
    longest: Number
    reach: Number
    centres: Array
    rounds: Array
    levels: Array
    radii: Array
    pairs: Pairs

    def __init__(
        self, knowledge: LipschitzHull, memory: HullMemory, t: float, errors: Errors
    ) -> None:
        anchor, last, ladder = memory.anchor, memory.last, memory.ladder
        self.knowledge, self.errors, self.round = knowledge, errors, memory.rounds
        self.anchor, self.last, self.x = anchor, last, last.x
        self.anchor_level = anchor.level(t, errors.drift)
        self.level, self.upper = last.level(t, errors.drift), last.value
        self.lost, self.rounding = knowledge._lost(len(self.x)), knowledge._rounding(len(self.x))
        self.anchor_radius = knowledge.radius(self.anchor_level, self.lost)
        self.radius = knowledge.radius(self.level, self.lost)
        self.slope_norm, self.noise = knowledge.G_g, knowledge.noise(len(self.x))
        self.depth = max(self.anchor_radius, self.radius)
        self.longest, self.reach = max(self.radius, 0.0), knowledge.reach
        self.before_visit: HullRegion | None = None
        levels = ladder.level(t, errors.drift)
        radii = knowledge.radius(levels, self.lost)
        some = radii > 0.0
        self._join(ladder.x[some], ladder.round[some], levels[some], radii[some])

    def _join(self, *balls: Array) -> None:
        """Let balls (centres, rounds, levels, radii) be beside the last, after the anchor."""
        anchor = (self.anchor.x, self.anchor.round, self.anchor_level, self.anchor_radius)
        each = balls or ((),) * 4
        parts = (np.array([one, *others]) for one, others in zip(anchor, each, strict=True))
        self.centres, self.rounds, self.levels, self.radii = parts
        self.pairs = Pairs.of(self.centres, self.radii, self.x, self.radius)

    @property
    def whole(self) -> HullRegion:
        """The hull of both balls, also where the anchor is to be visited."""
        return self if self.before_visit is None else self.before_visit

    @property
    def remeasurement_due(self) -> bool:  # type: ignore[override]
        """Whether the anchor is to be visited after the next action, if that is no better."""
        anchor, drift = self.whole.anchor, self.errors.drift
        if not drift or self.before_visit is not None or not self.anchor_radius > 0:
            return False
        level = anchor.level(self.round + 2.0, drift)
        return bool(level >= SLACK_LEFT * anchor.value and level < 0)

    def to_visit(self, measured: Anchor) -> HullRegion:
        """Return the hull under drift: of the anchor alone, once its slack is half used up.

        An anchor without a ball does not help: then the last action takes its place.

        Args:
            measured: the anchor as it was measured.
        """
        r_a, r = self.anchor_radius, self.radius
        if r_a <= 0 and r >= r_a:
            self.anchor, self.anchor_radius, self.anchor_level = self.last, r, self.level
            self._join()
        elif self.anchor_level >= SLACK_LEFT * measured.value and r_a > max(r, 0.0):
            self.before_visit = copy(self)
            self.last, self.x, self.level = self.anchor, self.anchor.x, self.anchor_level
            self.radius = self.anchor_radius = POINT
            self._join()
        return self

    def nearest(self, w: Array) -> Array:
        """Return the certified point nearest to w; w itself if it is certified."""
        if norm(w - self.x) <= self.radius:
            return w
        _, _, centre, offset, distance, room = self._ball(w)
        if self._holds(distance, room):
            return w
        if not self.anchor_radius > 0.0:
            raise EmptyRegionError.of_drift(
                self.round, self.anchor.x, self.anchor_level, self.errors.drift
            )
        if not distance < math.inf:
            check_proposal(w, self.x)
        # far > room >= 0; a visit goes to the anchor itself, which must be known again.
        return centre + (room / distance) * offset if room > POINT else centre

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified: all that :meth:`nearest` returns are."""
        if norm(w - self.x) <= self.radius:
            return True
        _, _, _, _, distance, room = self._ball(w)
        return self._holds(distance, room)

    def may_contain(self, points: Array) -> Array:
        """Return which of several points a hull may hold: with twice the rounding of one."""
        if not self.anchor_radius > 0.0:
            return np.ones(len(points), dtype=bool)
        pairs, w = self.pairs, points[:, None]
        shares = pairs.shares(w)
        offsets = w - self.centres - shares[..., None] * pairs.way
        rooms = np.maximum(self.radii + shares * pairs.less, 0.0)
        gaps = np.sqrt(_square_rows(offsets)) - rooms
        near = gaps <= 2.0 * self.rounding + CLOSE * pairs.longest
        may: Array = near.any(axis=1) | (abs(points - self.x).max(axis=1) <= self.radius)
        return may

    def _holds(self, distance: float, room: float) -> bool:
        """Return whether a point is certified, so far from a centre with so much room."""
        return bool(self.anchor_radius > 0.0 and distance <= room + self.rounding)

    def find_convex_part(self, w: Array) -> HullRegion:
        """Return the hull of two balls that is nearest to w."""
        which = self._ball(w)[0]
        part = copy(self)
        part.anchor = Anchor(self.centres[which], self.levels[which], self.rounds[which])
        part.anchor_level, part.anchor_radius = self.levels[which], self.radii[which]
        part._join()
        return part

    @property
    def insides(self) -> tuple[Array, ...]:
        """The point nearest to the last action, and the deepest action."""
        return self.nearest(self.x), self.anchor.x

    def certificate(self, x: Array, cut: bool = False) -> HullCertificate:
        """Return why a point that :meth:`nearest` gave is feasible."""
        which, share, _, _, distance, room = self._ball(x)
        t, since, value = int(self.round), int(self.rounds[which]), float(self.levels[which])
        level = (1.0 - share) * value + share * self.level
        # At the full length this is below 0 by the margin, which the rounding has room in.
        bound = min(level + self.slope_norm * distance + self.noise, 0.0)
        numbers = (value, self.level, share, distance, room, bound, float(self.slope_norm))
        return HullCertificate(t, since, *numbers, cut, self.errors)

    def bound(self, point: Array) -> float:
        """Return the bound on g at any point: the nearest hull's, and the rise from there."""
        which, share, _, _, distance, _ = self._ball(point)
        level = (1.0 - share) * self.levels[which] + share * self.level
        return float(level + self.slope_norm * distance)

    def _ball(self, w: Array) -> tuple[int, float, Array, Array, float, float]:
        """Find the ball of all hulls that is nearest to w.

        Returns which of the balls beside the last it is towards, the share of the last, the centre,
        w - centre, the norm of that, and the radius.
        """
        pairs = self.pairs
        shares = pairs.shares(w)
        centres = self.centres + shares[:, None] * pairs.way
        offsets = w - centres
        distances = np.sqrt(_square_rows(offsets))
        rooms = np.maximum(self.radii + shares * pairs.less, 0.0)
        # Where several are as near, the first that holds the point to rounding, or the first: a
        # last bit must not decide.
        gaps = distances - rooms
        least = float(gaps.min())
        close = CLOSE * max(norm(w - self.x), pairs.longest)
        near = gaps <= least + close
        i = int(near.argmax())
        if least <= close:
            is_certified = near & (distances <= rooms + self.rounding)
            i = int(is_certified.argmax()) if is_certified.any() else i
        return i, float(shares[i]), centres[i], offsets[i], norm(offsets[i]), float(rooms[i])


def _square_rows(rows: Array) -> Array:
    """Return the squared norm of each row."""
    return np.einsum("...j,...j->...", rows, rows)


class Pairs(NamedTuple):
    r"""Balls B(a, r_a), each with B(b, r_b): which ball of their hull is nearest to a point?

    The balls of a hull are :math:`B(a + \lambda(b-a), r_a + \lambda(r_b-r_a))`; nearest is that
    with :math:`\lambda` the minimiser of
    :math:`\|w - a - \lambda(b-a)\| - \lambda(r_b-r_a)` over the :math:`\lambda \in [0, 1]` that
    leave a radius of at least 0. With q the product of w - a and b - a, p the distance of w to
    the line through a and b, :math:`D = \|b-a\|` and :math:`\Delta = r_b-r_a`:

    .. math:: \lambda = \big(q + \Delta\, p\, D/\sqrt{D^2-\Delta^2}\big)/D^2,

    and that of the larger ball where :math:`D \le |\Delta|`, because it holds the other.

    Attributes:
        centres: a, one in each row.
        way: b - a.
        squared: D^2.
        longest: the largest D.
        less: r_b - r_a.
        apart: D^2 - (r_b - r_a)^2.
        top: the largest share.

    Example:
        >>> a, b = np.array([[0.0, 0.0]]), np.array([4.0, 0.0])
        >>> Pairs.of(a, np.array([1.0]), b, 1.0).shares(np.array([2.0, 3.0]))
        array([0.5])
    """

    centres: Array
    way: Array
    squared: Array
    longest: float
    less: Array
    separately: Array
    top: Array | float

    @classmethod
    def of(cls, a: Array, r_a: Array, b: Array, r_b: float) -> Pairs:
        """Return the pairs of several balls, with radii above 0, with one whose may be negative."""
        way, less = b - a, r_b - r_a
        with np.errstate(all="ignore"):
            squared = _square_rows(way)
            top = 1.0 if r_b >= 0.0 else r_a / -less
        longest = math.sqrt(squared.max())
        return cls(a, way, squared, longest, less, squared - less * less, top)

    def shares(self, w: Array) -> Array:
        """Return the share of b in the centre of the ball nearest to a point, for each pair.

        Args:
            w: the point; or several, (n, 1, d).
        """
        off = w - self.centres
        with np.errstate(all="ignore"):  # a NaN, of a point too far away, is seen in the distance
            q = np.einsum("...j,...j->...", off, self.way)
            off = off - (q / self.squared)[..., None] * self.way
            root = np.sqrt(_square_rows(off) * self.squared / self.separately)
            share = np.minimum(np.maximum((q + self.less * root) / self.squared, 0.0), self.top)
        return np.where(self.separately <= 0.0, np.where(self.less > 0.0, 1.0, 0.0), share)


def find_radius(G_g: float, domain: Set, start: Array, value: float) -> float:
    """Return the radius of the ball around a start that is certified before anything is played.

    It is 0 where the start is not strictly feasible by more than rounding.

    Args:
        G_g: a bound on the norms of subgradients of g.
        domain: a set that contains the feasible set.
        start: the point.
        value: g there is at most this.

    Example:
        >>> from surefoot.sets import Ball
        >>> round(find_radius(2.0, Ball(1.0), np.zeros(2), -0.5), 6)
        0.25
    """
    hull = LipschitzHull(G_g=G_g, domain=domain)
    try:
        memory = hull.observe(hull.init(start), Reading(start, value, None, hull.errors))
    except ValueError:
        return 0.0
    return max(float(hull.region(memory, hull.errors).radius), 0.0)
