r"""Certificates from values in other contexts: the convex hull of balls, for given contexts.

With :math:`(x_i, g_i, c_i)` what was read, and w what g can rise by between contexts
(:mod:`surefoot.knowledge.context`), :math:`l_i(c) = g_i + w(c_i, c)` bounds g at :math:`x_i` in the
context c. Under a drift of v per round besides, what was read k rounds before counts as
:math:`l_i(c) + kv`.

**Theorem X1.** *Let* :math:`g(\cdot; c)` *be convex, with no subgradient longer than* :math:`G_g`
*where* :math:`g(\cdot; c) \le 0`\ *, and* :math:`\lambda_i \ge 0` *weights that add up to 1. (a) p
is feasible in the context c if*

.. math:: \sum_i\lambda_il_i(c) + G_g\Big\|p - \sum_i\lambda_ix_i\Big\| \le 0 .

*(b) If g is convex in x and c together, it is enough that*

.. math:: \sum_i\lambda_ig_i + G_g\Big\|p - \sum_i\lambda_ix_i\Big\|
          + w\Big(\sum_i\lambda_ic_i, c\Big) \le 0 .

*(c) Nothing more can be certified, if the bounds are known everywhere: for every other p there is a
g of the class, with all that was read, that is above 0 at p.*

*Proof.* (a) With :math:`v = \sum\lambda_ix_i`, convexity gives :math:`g(v; c) \le
\sum\lambda_ig(x_i; c) \le \sum\lambda_il_i(c) =: -m \le 0`. On the way from v to p, were
:math:`g(p; c) > 0`, there would be a first q with :math:`g(q; c) = 0`; up to there slopes are at
most :math:`G_g`, so that :math:`0 \le -m + G_g\|q - v\| < -m + G_g\|p - v\| \le 0`, or p = v.
Rounds with :math:`l_i(c) > 0` may have weights: at :math:`x_i` itself only convexity is used. (b)
:math:`g(v; \sum\lambda_ic_i) \le \sum\lambda_ig_i`; then to c, by w, then as before. (c) Let
:math:`\hat g(y; c)` be the least of the left side of (a) over the weights. It is convex in y, as a
minimum over :math:`\lambda` of what is convex in both, rises by at most :math:`G_g` in y, and as a
minimum of functions of c that rise by at most w it does so too. By the chain of (a),
:math:`g \le \hat g`; so :math:`\hat g(x_i; c_i) = g_i`, and a subgradient of g there is one of
:math:`\hat g`. (b) is the same in (x, c). ∎

With a drift, :math:`g_t(x; c)`, the same holds of :math:`w(c', c) + v|t - t'|`: time is one more
column of the context.

So two rounds with contexts on both sides of c are, for (b), a round at c without an error of the
context. In a context that is harsher than all that were seen nothing may be certified, and by (c)
no rule could be safe then: an action with a bound that holds in every context (a machine that is
off; ``start_bound``) is one more round of every context.

**Rounds that are kept**: the first, the last, and at most 32 more. If round i has
:math:`g_i + w(c_i, c_j) + G_g\|x_i - x_j\| \le g_j`, then its ball holds that of j in every
context, since :math:`w(c_i, c) \le w(c_i, c_j) + w(c_j, c)`: j can be forgotten and nothing is
lost. (Under drift both age alike from then on, so :math:`g_i - vt_i` counts for :math:`g_i`.) Where
there are more, the one is forgotten for which that is most nearly so.

**Moved cuts.** For u feasible in the context c, :math:`g_i + s_i^\top(u - x_i) \le g(u; c_i) \le
w(c, c_i)`: what was read in any context is a half-space in every one, and leaders use them
(:mod:`surefoot.proposers.leader`).

Rounding. Rises and sums of levels are rounded up. With k weights, u = 2^-53 and M the largest norm
of a feasible point, a mean of the points, and one of the levels, err by at most
:math:`(2k+4)uM` and :math:`(2k+4)u\sum\lambda_i|l_i|`; radii are smaller by twice that than those
of :mod:`surefoot.knowledge.hull`. So the inequality holds in exact arithmetic, with the margin of
that module left, for the weights of the certificate, whatever way they were found.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core.arrays import norm, round_up
from surefoot.core.forms import MOST, Axes, Count, Same, Span
from surefoot.core.kernel_constants import ALARM_NOISES
from surefoot.core.parameters import anything
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Context, Number
from surefoot.knowledge.anchor import Anchor, StandingAnchor
from surefoot.knowledge.base import Capability, Memory, Reading
from surefoot.knowledge.context import (
    NO_DELAY,
    AnnouncedDrift,
    as_contexts,
    check_context,
)
from surefoot.knowledge.contradictions import check_bound, check_proposal, check_rise
from surefoot.knowledge.errors import EmptyRegionError, Errors, describe_errors
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.mean_ball import MeanBalls
from surefoot.knowledge.region import Region

__all__ = ["ContextCertificate", "ContextHull", "ContextMemory", "ContextRegion", "Seen"]

KEPT = 32
"""How many rounds are kept beside the first and the last."""
FIRST, USED, NEAR = 1, 4, 8
"""How many means a region remembers: the deepest, that held a point, and that were near one."""


class ContextCertificate(NamedTuple):
    """Why the next action is feasible in its context; the numbers of the inequality of the theorem.

    Attributes:
        round: the round that was played.
        place: of the next context.
        rounds: the rounds of its readings; 0 is the bound at the start that holds in every context.
        weights: of these, which add up to 1 but for rounding.
        level: an upper bound on g, in the context, at the mean of their actions.
        distance: from there to the next action.
        room: how far from there is certified.
        bound: the next g is at most this; never above 0.
        G_g: the Lipschitz constant.
        cut: whether the region changed the proposal.
        errors: the errors that the bound allows for.
    """

    round: int
    place: tuple[float, ...]
    rounds: Annotated[tuple[int, ...], Axes("rounds")]
    weights: Annotated[tuple[float, ...], Axes("rounds")]
    level: float
    distance: float
    room: float
    bound: float
    G_g: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        each = zip(self.weights, self.rounds, strict=True)
        mean = " + ".join(f"{w:.3g} of {_name(i)}" for w, i in each)
        place = ", ".join(f"{part:.4g}" for part in self.place)
        return (
            f"round {self.round}: in the context {place} g is at most {self.level:.3g} at {mean}"
            f"{describe_errors(self.errors)}, and rises by at most G_g = {self.G_g:g} per unit of "
            f"length: {self.room:.3g} is certified, {self.distance:.3g} was taken; "
            f"the next g is at most {self.bound:.3g}"
        )


def _name(i: int) -> str:
    return f"round {i}" if i else "the start"


class Seen(NamedTuple):
    """Readings, a row or an entry for each; the first is the start, then in order.

    Attributes:
        x: the actions.
        value: bounds on g there, in their contexts.
        place: their contexts.
        round: when.
    """

    x: Annotated[Array, Axes("seen", None)]
    value: Annotated[Array, Axes("seen")]
    place: Annotated[Array, Axes("seen", Same("place"))]
    round: Annotated[Array, Axes("seen"), Span(0, MOST, is_whole=True)]

    def add(self, x: Array, value: float, place: Array, t: float) -> Seen:
        """Return these readings and one more."""
        rows: Array = np.append(self.place, place).reshape(-1, len(place))
        return Seen(
            np.vstack([self.x, x]), np.append(self.value, value), rows, np.append(self.round, t)
        )

    def without(self, i: int) -> Seen:
        """Return these readings without one."""
        return Seen(*(np.delete(part, i, axis=0) for part in self))


class ContextMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: the number of rounds so far.
        before: the context of the last of them, or of the last that was known; None in the first.
        context: that of the next; None until it is announced.
        seen: the readings.
        unknown: in how many rounds, up to the last of them, the context was unknown.
    """

    rounds: Count
    before: Context | None
    context: Context | None
    seen: Seen
    unknown: Count = 0.0

    @property
    def place(self) -> Array | None:
        """The place of the next round, or of the last one until it is announced."""
        context = self.context or self.before
        return None if context is None else context.place


class ContextHull(LipschitzHull):
    """Knowledge of contexts and of a g that is convex in each, with Lipschitz constant G_g.

    Args:
        context: what is known of its columns (:class:`~surefoot.knowledge.Column`): one, a list
            of them or :class:`~surefoot.knowledge.Columns`; or
            :class:`~surefoot.knowledge.AnnouncedDrift`.
        start_bound: g at the first action is at most this in every context and round. Without it,
            nothing may be certified in a context that is harsher than those before.

    The others are those of :class:`~surefoot.knowledge.LipschitzHull`.

    Example:
        >>> from surefoot.knowledge import Column
        >>> known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
        >>> memory = known.announce(known.init(np.zeros(1)), Context(np.array([0.0])))
        >>> memory = known.observe(memory, Reading(np.zeros(1), -0.5, None, known.errors))
        >>> milder = Context(np.array([-0.25]))  # g(x; c) = x - 0.5 + c
        >>> region = known.region(known.announce(memory, milder), known.errors)
        >>> region.nearest(np.array([2.0])).round(6)
        array([0.75])
    """

    proved_by: ClassVar[str] = "Theorem X1"
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "slope", "drift", "margin"})
    refusals = NO_DELAY
    in_contexts: ClassVar[bool] = True

    context: Any = anything("a Column, a list of them, Columns(...) or AnnouncedDrift()")

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", as_contexts(self.context))
        super().__post_init__()

    @property
    def obstacle_to_choices(self) -> str:
        """Why the domain must be convex: joint contexts certify means of choices."""
        if self.context.is_joint and self.start_bound is None:
            return "which in joint contexts may certify no choice: give a start_bound"
        return ""

    def lengths(self, d: int) -> dict[str, int]:
        """Return how long parts of its memory may become."""
        return {"seen": KEPT + 2}

    def first(self, x1: Array) -> Memory:
        """Return the memory before the first round."""
        none = np.zeros(0)
        # There is no drift before the first round.
        first = Context(np.zeros(1)) if isinstance(self.context, AnnouncedDrift) else None
        readings = Seen(np.zeros((0, len(x1))), none, np.zeros((0, 0)), none)
        return ContextMemory(0.0, None, first, readings)

    def age(self, memory: Memory, x: Array) -> Memory:
        """Return the memory after a round without a reading."""
        before, rounds = memory.context or memory.before, memory.rounds
        rounds = rounds + 1.0 if rounds else rounds  # counted from the first reading
        unknown = 0.0 if memory.context else memory.unknown + 1.0
        return memory._replace(rounds=rounds, before=before, context=None, unknown=unknown)

    def learn(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory after a reading."""
        x, upper, errors = reading.x, reading.upper, reading.errors
        t, context = memory.rounds + 1.0, memory.context
        check_context(memory)
        if memory.rounds and errors.value:
            # An earlier certificate bounds g there as well as the reading does.
            bound = ContextRegion(self, memory, errors).bound(x)
            upper = min(upper, bound + self.noise(len(x))) if bound <= 0.0 else upper
        readings = memory.seen.add(x, upper, context.place, t)
        if len(readings.value) > KEPT + 2:
            readings = readings.without(self._least_missed(readings))
        return ContextMemory(t, context, None, readings)

    def _least_missed(self, readings: Seen) -> int:
        """Return the index of the reading, neither first nor last, that the others replace best."""
        x, value, place, when = readings
        ways = x[:, None] - x
        separately = np.sqrt(np.einsum("ijk,ijk->ij", ways, ways))
        now = value - float(self.errors.drift) * when  # all age alike from now on
        bounds = now[:, None] + self.context.rise(place[:, None], place) + self.G_g * separately
        np.fill_diagonal(bounds, math.inf)
        return 1 + int((bounds.min(axis=0) - now)[1:-1].argmin())

    def certify(self, memory: Memory, errors: Errors) -> Region:
        """Return the hull of the balls, in the known set if there is one."""
        return ContextRegion(self, memory, errors)

    @property
    def speed(self) -> float | None:
        """The largest rise of g from round to round; None where nothing bounds it."""
        step = self.context.largest_step
        return None if step is None else float(round_up(self.errors.drift + step))

    def start_anchor(self, memory: ContextMemory) -> Anchor:
        """Return the start, with the bound on g there in every round and context."""
        assert self.start_bound is not None
        return StandingAnchor(memory.seen.x[0], float(self.start_bound), 0.0)

    def pair_margin(self, d: int, levels: float) -> float:
        """Return what the margin takes from a bound on g, in a mean of two actions."""
        several = 4 * (2 + 4) * UNIT * (float(self.reach) * self.G_g + 2 * levels)
        return float(super().pair_margin(d, levels) + several)

    def level_at(self, memory: ContextMemory, x: Array) -> float:
        """Return the bound on g that was read at an action in the last round; else infinite."""
        readings = memory.seen
        is_there = readings.round[-1] == memory.rounds and bool((readings.x[-1] == x).all())
        return float(readings.value[-1]) if is_there else math.inf

    def between(
        self, memory: ContextMemory, x: Array, level: float, anchor: Anchor, errors: Errors
    ) -> ContextRegion:
        """Return the actions certified by the last action and the start alone."""
        assert memory.before is not None
        place, step = memory.before.place, self.context.largest_step
        if memory.unknown and memory.context is not None:
            # Whatever the last context was, g rises by one step at most from there to this one.
            place = memory.context.place
            level = math.inf if step is None else float(round_up(level + step))
        row = Seen(x[None], np.array([level]), place[None], np.array([memory.rounds]))
        return ContextRegion(self, memory, errors, row)

    def contradictions(self, memory: Memory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts the constants, in sentences."""
        x, t, noise = reading.x, int(memory.rounds) + 1, self.noise(len(reading.x))
        sentences = check_rise(t, reading, self.G_g, noise, float(self.reach))
        if not memory.rounds:
            return sentences + self.check_start_bound(t, reading, ALARM_NOISES * noise)
        region = ContextRegion(self, memory, reading.errors)
        limit = region.bound(x)  # infinite if nothing was certified
        if not reading.g - reading.errors.value > limit + ALARM_NOISES * noise:
            return sentences
        rounds = map(_name, region.certificate(x).rounds)
        words = f"G_g = {self.G_g:.6g} or {self.context.suspect} is wrong"
        words += f" (by {' and '.join(rounds)})"
        return sentences + check_bound(t, reading, limit, ALARM_NOISES * noise, words)


class Found:
    """What searches have found: certified balls, and half-spaces around all of them.

    A point near one of the balls, or outside of a half-space, needs no search. Balls that held a
    point stay longer than those that were near one: what was certified once is so when it is asked
    again, though another search may end a rounding further away.

    Args:
        count: of the readings.
        d: the length of an action.
    """

    weights: Array
    centres: Array
    rooms: Array
    used: int
    near: int
    away: int
    normals: Array
    heights: Array

    def __init__(self, count: int, d: int) -> None:
        self.weights = np.zeros((FIRST + USED + NEAR, count))
        self.centres = np.zeros((FIRST + USED + NEAR, d))
        self.rooms = np.full(FIRST + USED + NEAR, -math.inf)
        self.used, self.near, self.away = 0, 0, 0
        self.normals, self.heights = np.zeros((NEAR, d)), np.full(NEAR, math.inf)

    def add(self, weights: Array, centre: Array, room: float) -> int:
        """Put a mean in place of the oldest that held no point; return where."""
        i = FIRST + USED + self.near % NEAR
        self.weights[i], self.centres[i], self.rooms[i] = weights, centre, room
        self.near += 1
        return i

    def use(self, i: int) -> None:
        """Keep a mean that held a point; the first is kept for good."""
        if i < FIRST + USED:
            return
        at = self.used if self.used < FIRST else FIRST + (self.used - FIRST) % USED
        self.weights[at], self.centres[at] = self.weights[i], self.centres[i]
        self.rooms[at], self.rooms[i] = self.rooms[i], -math.inf
        self.used += 1

    def keep_away(self, normal: Array, centres: Array, radii: Array) -> None:
        """Remember how far the balls, and so all of their means, reach in a direction.

        Not in joint contexts, where the ball of a mean may be larger than the mean of the balls.
        """
        i = self.away % NEAR
        self.normals[i], self.heights[i] = normal, float((centres @ normal + radii).max())
        self.away += 1

    def find_gaps(self, w: Array) -> Array:
        """Return how far a point is outside of each of the means."""
        offsets = w - self.centres
        gaps: Array = np.sqrt(np.vecdot(offsets, offsets)) - self.rooms
        return gaps

    def is_away(self, w: Array) -> bool:
        """Return whether a point is further in a direction than all means reach."""
        return bool((self.normals @ w > self.heights).any())


class ContextRegion(Region):
    """The convex hull of balls in a context.

    Args:
        knowledge: the constants.
        memory: what was read, and the context.
        errors: the errors that it allows for.
        seen: the readings that it is made of; all of them unless given.
    """

    knowledge: ContextHull
    errors: Errors
    round: float
    x: Array
    upper: Number
    read_place: Array | None
    slope_norm: Number
    noise: Number
    reach: Number
    rounding: float
    seen: Seen
    values: Array
    mixes: Array
    centres: Any
    radii: Array
    radius: Number
    depth: Number
    longest: Number
    means: MeanBalls
    found: Found

    def __init__(
        self,
        knowledge: ContextHull,
        memory: ContextMemory,
        errors: Errors,
        seen: Seen | None = None,
    ) -> None:
        self.knowledge, self.errors, self.round = knowledge, errors, memory.rounds
        readings, place, start = seen or memory.seen, memory.place, memory.seen.x[0]
        assert place is not None
        self.place: Array = place
        self.x, self.upper, self.read_place = (
            readings.x[-1],
            float(readings.value[-1]),
            readings.place[-1],
        )
        d, last = len(self.x), len(readings.value) - 1
        self.slope_norm, self.noise, self.reach = knowledge.G_g, knowledge.noise(d), knowledge.reach
        self.rounding = knowledge._rounding(d)
        if knowledge.start_bound is not None:
            readings = readings.add(start, float(knowledge.start_bound), place, 0.0)
        self.seen, self.mixes = readings, np.eye(len(readings.value))
        if knowledge.context.is_joint:
            self.mixes = np.vstack([self.mixes, _pairs_around(place, readings.place)])
            rise = np.zeros(len(readings.value))
        else:
            rise = knowledge.context.rise(readings.place, place)
        if errors.drift:
            rise = round_up(rise + _age(readings.round, self.round + 1.0, errors.drift))
        self.values = np.where(rise == 0.0, readings.value, round_up(readings.value + rise))
        if knowledge.context.is_joint:
            self.centres, self.radii = self.mixes @ readings.x, self._rooms(self.mixes)
        else:
            self.centres = readings.x
            self.radii = self._take_margin(self.values, 2 * np.abs(self.values))
        self.radius, self.depth = float(self.radii[last]), float(self.radii.max())
        self.longest = max(self.radius, 0.0)
        self.means = MeanBalls(self.centres, self.radii, self.radii)
        self.found, deepest = Found(len(readings.value), d), int(self.radii.argmax())
        self.found.use(self.found.add(self.mixes[deepest], self.centres[deepest], self.depth))
        if self.radius >= 0.0:
            self.found.add(self.mixes[last], self.centres[last], self.radius)

    def levels(self, weights: Array) -> Array:
        """Return upper bounds on g, in the context, at means of the actions: one for each row."""
        levels = weights @ self.values
        if self.knowledge.context.is_joint:
            levels = levels + self.knowledge.context.rise(weights @ self.seen.place, self.place)
        return levels

    def _rooms(self, weights: Array) -> Array:
        """Return the radii of the balls around means, less the margin for rounding."""
        knowledge, levels = self.knowledge, self.levels(weights)
        sizes = weights @ np.abs(self.values) + np.abs(levels)
        if knowledge.context.is_joint:
            lengths = abs(self.place) + weights @ abs(self.seen.place)
            sizes = sizes + lengths @ knowledge.context.slopes
        return self._take_margin(levels, sizes)

    def _take_margin(self, levels: Array, sizes: Array) -> Array:
        """Return the radii of balls of some levels, less the margin for rounding.

        Args:
            levels: bounds on g at their centres.
            sizes: the absolute numbers that each was summed from.
        """
        knowledge = self.knowledge
        several = 4 * (len(self.values) + 4) * UNIT
        margin = knowledge._lost(len(self.x)) + several * (
            float(knowledge.reach) + sizes / knowledge.G_g
        )
        return -levels / knowledge.G_g - margin

    def stays(self, w: Array) -> bool:
        """Return whether a point is the last action, and the context is no harsher than there."""
        rise = self.knowledge.context.rise(self.read_place, self.place)
        return bool(rise <= 0.0) and super().stays(w)

    def fall(self, places: Array) -> Array:
        """Return how much larger g may have been in other contexts than in this one."""
        return self.knowledge.context.fall(self.place, places)

    def fall_until_read(self, places: Array | None) -> Array | float:
        """Return how much larger g may be in other contexts than in that of the last reading."""
        return 0.0 if places is None else self.knowledge.context.fall(self.read_place, places)

    def guess_change(self, place: Array | None) -> float:
        """Return the middle of the possible changes of g from a context to the last reading's."""
        if place is None:
            return 0.0
        context = self.knowledge.context
        rise, fall = context.rise(place, self.read_place), context.fall(self.read_place, place)
        return 0.5 * float(rise - fall)

    def _ball(self, w: Array) -> tuple[Array, Array, float, float]:
        """Return the weights of a ball that is near w, w - its centre, the norm, the radius."""
        answers = self.found
        gaps = answers.find_gaps(w)
        i = int(gaps.argmin())
        if not gaps[i] <= self.rounding:
            weights, room = self._find_weights(w)
            i = answers.add(weights, weights @ self.seen.x, room)
        weights, offset, room = answers.weights[i], w - answers.centres[i], float(answers.rooms[i])
        distance = float(norm(offset))
        if distance <= room + self.rounding:
            answers.use(i)
        elif distance < math.inf and not self.knowledge.context.is_joint:
            answers.keep_away(offset / distance, self.centres, self.radii + 2.0 * self.rounding)
        return weights, offset, distance, room

    def _find_weights(self, w: Array) -> tuple[Array, float]:
        """Return the weights of the rounds in the mean ball nearest to w, and its radius."""
        weights = self.means.find(w) @ self.mixes
        weights = weights / weights.sum()
        if (room := float(self._rooms(weights[None])[0])) < 0.0:  # rounding, or its end
            back = min(1.0, 2.0 * -room / (self.depth - room))
            weights = (1.0 - back) * weights + back * self.mixes[self.radii.argmax()]
            room = float(self._rooms(weights[None])[0])
        return weights, room

    @property
    def is_exact(self) -> bool:
        """Whether ``nearest`` is the nearest to rounding: it is, of means of balls."""
        return True

    def nearest(self, w: Array) -> Array:
        """Return nearly the certified point nearest to w; w itself if it is certified."""
        check_proposal(w, self.x)
        if not self.depth > 0.0:
            raise self.explain_empty()
        weights, offset, distance, room = self._ball(w)
        if distance <= room + self.rounding:
            return w
        return weights @ self.seen.x + (room / distance) * offset

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified: all that :meth:`nearest` returns are."""
        if not self.depth > 0.0:
            return False
        if not (self.found.find_gaps(w) <= self.rounding).any() and self.found.is_away(w):
            return False
        _, _, distance, room = self._ball(w)
        return bool(distance <= room + self.rounding)

    def may_contain(self, points: Array) -> Array:
        """Return which of several points no half-space around all that is certified excludes."""
        may: Array = ~(points @ self.found.normals.T > self.found.heights).any(axis=1)
        return may if self.depth > 0.0 else np.zeros(len(points), dtype=bool)

    @property
    def insides(self) -> tuple[Array, ...]:
        """The point nearest to the last action, the deepest one, the deepest action, the start."""
        actions = self.radii[: len(self.values)]
        return (self.nearest(self.x), *self.centres[[self.radii.argmax(), actions.argmax(), 0]])

    def bound(self, point: Array) -> float:
        """Return the bound on g at any point, in the context."""
        if not self.depth > 0.0:
            return math.inf
        weights, _, distance, _ = self._ball(point)
        return float(self.levels(weights[None])[0]) + float(self.slope_norm) * distance

    def certificate(self, x: Array, cut: bool = False) -> ContextCertificate:
        """Return why a point that :meth:`nearest` gave is feasible."""
        weights, _, distance, room = self._ball(x)
        used, level = np.flatnonzero(weights), float(self.levels(weights[None])[0])
        bound = min(level + self.slope_norm * distance + self.noise, 0.0)
        rounds = tuple(int(i) for i in self.seen.round[used])
        mean = (tuple(self.place.tolist()), rounds, tuple(weights[used].tolist()))
        numbers = (level, distance, room, bound, float(self.slope_norm))
        return ContextCertificate(int(self.round), *mean, *numbers, cut, self.errors)

    def explain_empty(self) -> EmptyRegionError:
        """Return the error for a context in which no action is certified."""
        best = int(self.radii.argmax())
        point, bound = self.centres[best], self.levels(self.mixes)[best]
        why = EmptyRegionError.of_context(self.round, point, bound)
        hint = "the start must be feasible in every context: give a bound (start_bound)"
        return EmptyRegionError(f"{why}; {hint}", point)


def _age(rounds: Array, now: float, drift: Number) -> Array:
    """Return by how much g may have drifted since some rounds, rounded up.

    The bound at the start, of round 0, holds in every round.
    """
    aged: Array = round_up(drift * np.where(rounds > 0.0, now - rounds, 0.0))
    return aged


def _pairs_around(place: Array, places: Array) -> Array:
    """Return the weights of pairs of rounds whose mean context is nearest to a place, and between.

    In one dimension the hull of these means and the rounds is everything that (b) certifies.
    """
    i, j = np.triu_indices(len(places), 1)
    way = places[j] - places[i]
    squared = np.einsum("ij,ij->i", way, way)
    along = np.einsum("ij,ij->i", place - places[i], way)
    between = (along > 0.0) & (along < squared)
    i, j, share = i[between], j[between], along[between] / squared[between]
    mixes = np.zeros((len(i), len(places)))
    each = np.arange(len(i))
    mixes[each, i], mixes[each, j] = 1.0 - share, share
    return mixes
