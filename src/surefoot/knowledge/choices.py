r"""Actuators that cannot play every point: steps, or off and a least value; the nearest certified.

A choice is made entry by entry: any value of a range, whole multiples of a step in it, or 0 beside
either (:class:`Choices`).

**Proposition.** *Let every reading be at a choice and let g be fixed. Then there always is a
certified choice: the action played last, and for a limit on the average the start. Under drift, for
a hull of balls with one* :math:`G_g`\ *, there is one whenever the hull is not empty; with a*
``start_bound`` *there always is one, the start. So it is in contexts, whose start must have a
bound where they are joint.*

*Proof.* A fixed g that was at most 0 at an action still is. The centres of the balls are actions
that were read, and hence choices: what is read at any other point only ages the memory. Where the
hull is not empty a ball is not, and it holds its centre. A ``start_bound`` makes the start a
centre in every round. ∎

What fails without: with :math:`g_t(x) = (x - \frac12)^2 - \frac12 + vt` and the choices 0 and 1, no
choice is feasible once :math:`vt > \frac14`\ , and :math:`\frac12` is. A curvature certifies points
between the choices then, and so do joint contexts, which certify means of actions, and several
limits, whose deepest actions differ. With a drift, or in contexts, these have no choice to return
to, unless a ``start_bound`` makes it one, and are unsupported
(:attr:`~surefoot.knowledge.Knowledge.obstacle_to_choices`).

**Proposition (steps).** *With* :math:`G_g`\ *, while* :math:`-g(x_t) \ge G_gh` *but for rounding, h
the distance to a neighbour of* :math:`x_t`\ *, that neighbour is certified, and the action moves
whenever one of them is nearer to the proposal.*

*Proof.* The ball of :math:`x_t` has radius :math:`-g/G_g \ge h`. ∎ So it comes to rest with a slack
below :math:`G_gh`, or where no neighbour is better: that is what choices cost. An
entry that is off is switched on where the slack is at least :math:`G_g` times its least value. No
safe rule that plays choices alone leaves the hull of their balls (Theorem E of docs/hulls.md). With
a curvature the rest is at the first neighbour with U > 0, which is of second order in h.

**Pieces.** The choices with the same steps and the same entries off are a box, the *piece* of any
of them; its other entries take any value. In a piece the nearest certified choice is the point of
two convex sets nearest to the proposal, which a search finds. So an entry that takes any value
moves as if it were alone, whatever the steps beside it allow: the piece of the last action is
always searched.

Choices are not convex. A learner learns in the box around them (``inside``), the knowledge
certifies choices. Rules whose theorem is about a convex domain reject them.

Rounding. A choice in steps is what the formula :math:`k h` gives in float64 for a whole k of at
most :math:`2^{50}`, so that dividing by h finds k again: ``contains`` compares exactly, and
``project`` returns what ``contains`` accepts.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything
from surefoot.core.points import check_length
from surefoot.core.types import Array, Set
from surefoot.knowledge import nearest
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.errors import EmptyRegionError
from surefoot.knowledge.nearest import Bounds, KnownSets
from surefoot.knowledge.region import Region, RegionWrapper
from surefoot.sets import Ball, Box

__all__ = ["Choices", "OnChoices", "make_domain"]

CORNERS = 8
"""Of so many entries both neighbours are tried, in all combinations: 256 at the most."""
SEARCHES = 4
"""Of so many pieces the nearest certified choice is searched, and of that of the last action."""
TURNS = 12
"""The steps of a search in a piece."""
KEPT = 1.0 - 2.0**-30
"""The share of the way to the end of a piece that is gone, so that rounding leaves it certified."""
MOST_STEPS = 2.0**50
"""How many steps from 0 a choice may be: then rounding does not hide which it is."""


class Choices(Declared, kw_only=False):
    """What each entry of an action may be, as the domain of a knowledge.

    Every argument is one for all entries, or one per entry; without one per entry the dimension is
    any. Then, and without ``least`` and ``most``, the knowledge needs a ``reach``, and a leader,
    which learns in the box, is unsupported.

    Args:
        least: the least value of an entry that is not off; None, with ``most``, for no bounds.
        most: the largest value.
        step: entries are whole multiples of it; 0 for any value. Without bounds, no entry is
            beyond :math:`2^{50}` steps.
        off: whether an entry may be 0, too, below its ``least``: a machine that switches.

    Example:
        >>> from surefoot.knowledge import LipschitzHull, Reading
        >>> taps = Choices([0.0, 0.0], [1.0, 1.0], step=0.25)
        >>> known, x = LipschitzHull(G_g=1.0, domain=taps), np.array([0.25, 0.25])
        >>> memory = known.observe(known.init(x), Reading(x, -0.3, None, known.errors))
        >>> known.region(memory, known.errors).nearest(np.array([0.9, 0.4]))
        array([0.5 , 0.25])

        A tap in steps, a charger that is off or from 6 to 32, and a valve that takes any value:

        >>> step, off = [0.0125, 0.0, 0.0], [False, True, False]
        >>> plant = Choices([0.9, 6.0, 0.0], [1.1, 32.0, 1.0], step, off)
        >>> plant.project(np.array([1.01, 2.0, 0.37]))
        array([1.0125, 0.    , 0.37  ])
        >>> Choices(6.0, [32.0, 32.0], step=2.0, off=True).project(np.array([9.1, 2.9]))
        array([10.,  0.])
    """

    is_convex: ClassVar[bool] = False

    least: Any = anything("finite, one number or one per entry", default=None)
    most: Any = anything("finite, at least least, one number or one per entry", default=None)
    step: Any = anything("at least 0, one number or one per entry", default=0.0)
    off: Any = anything("True or False, or one per entry", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.least is None) != (self.most is None):
            name = "least" if self.least is None else "most"
            raise checks.invalid(name, "given where the other bound is", None)
        lengths: set[int] = set()
        for name in ("least", "most", "step", "off"):
            if (given := getattr(self, name)) is None:
                continue
            entries = _read_flags(given) if name == "off" else _read_numbers(given, name)
            lengths |= {len(entries)} if np.ndim(entries) else set()
            if len(lengths) > 1:
                raise checks.invalid(name, "one, or as many as the others have", given)
            object.__setattr__(self, name, entries)
        self._check_step()
        self._check_range()

    def _check_step(self) -> None:
        if not np.all(np.asarray(self.step) >= 0):
            raise checks.invalid("step", "at least 0", self.step)
        if not (np.any(self.step) or np.any(self.off)):
            raise InvalidValueError(
                "choices must have a step, or an entry that can be off: take a Box, got neither"
            )

    def _check_range(self) -> None:
        if self.least is None:
            if np.any(self.off) or not np.all(self.step):
                rule = "given for an entry that can be off or takes any value"
                raise checks.invalid("least", rule, None)
            return
        if not np.all(np.asarray(self.least) <= self.most):
            raise checks.invalid("least", f"at most most = {self.most!r}", self.least)
        if not np.all(np.asarray(self.least) > np.where(self.off, 0.0, -math.inf)):
            raise checks.invalid("least", "above 0 for an entry that can be off", self.least)
        far = np.maximum(np.abs(self.least), np.abs(self.most))
        if not np.all((far <= MOST_STEPS * np.asarray(self.step)) | (np.asarray(self.step) == 0)):
            raise checks.invalid("step", "0, or at least 2**-50 of least and of most", self.step)
        low, high = self._ends
        if not np.all(low <= high):
            rule = f"such that a multiple is from least = {self.least!r} to most = {self.most!r}"
            raise checks.invalid("step", rule, self.step)

    # --- the set ---------------------------------------------------------------------------------

    @property
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""
        parts = (self.least, self.most, self.step, self.off)
        return next((len(each) for each in parts if np.ndim(each)), None)

    def box(self, d: int) -> Box | None:
        """Return the box that holds the choices of a dimension; None if they are unbounded."""
        if self.least is None:
            return None
        low, high = (np.broadcast_to(end, d).astype(np.float64) for end in (self.least, self.most))
        return Box(np.where(self.off, 0.0, low), high)

    @property
    def inside(self) -> Box | None:
        """A box that contains them, where a learner learns; None where none is known."""
        return None if self.dimension is None else self.box(self.dimension)

    def contains(self, x: Array) -> bool:
        """Return whether x is a choice, exactly."""
        x = check_length(x, self.dimension)
        return bool(np.isfinite(x).all()) and bool((self.project(x) == x).all())

    def project(self, x: Array) -> Array:
        """Return the nearest choice; of an entry midway between off and on, on."""
        on = self._on(x, np.round)
        if not self._can_be_off:
            return on
        with np.errstate(over="ignore"):
            is_off = np.asarray(self.off) & (x < self._first_on - x)
        return np.where(is_off, 0.0, on)

    def bounding_ball(self) -> Ball:
        """Return a ball that contains the choices."""
        ball: Ball = self._find_box().bounding_ball()
        return ball

    @property
    def diameter(self) -> float:
        """The length of the diagonal of the box; infinite without one."""
        return math.inf if self.inside is None else self.inside.diameter

    def minimize_linear(self, c: Array) -> Array:
        """Return a choice where the inner product with c is smallest."""
        return self.project(self._find_box(len(c)).minimize_linear(c))

    def _find_box(self, d: int | None = None) -> Box:
        """Return the box; raise without one."""
        d = self.dimension if d is None else d
        box = None if d is None else self.box(d)
        if box is None:
            raise InvalidValueError(
                f"reach must be given for choices of unknown size, got {checks.repr_line(self)}"
            )
        return box

    # --- entries ---------------------------------------------------------------------------------

    @cached_property
    def _can_be_off(self) -> bool:
        """Whether an entry can be off."""
        return bool(np.any(self.off))

    @cached_property
    def _steps(self) -> tuple[Any, Any]:
        """Which entries have a step; the steps, with 1 where there is none."""
        has_step = np.asarray(self.step) > 0
        return has_step, np.where(has_step, self.step, 1.0)

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        """The least and the largest multiple of the step that are not off; 0 without a step."""
        step = np.asarray(self.step)
        if self.least is None:
            most = np.where(step > 0, MOST_STEPS, 0.0)
            return -most, most
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (
                np.where(step > 0, np.round(end / step), 0.0) for end in (self.least, self.most)
            )
        low = low + ((step > 0) & (low * step < self.least))
        return low, high - ((step > 0) & (high * step > self.most))

    @cached_property
    def _first_on(self) -> Any:
        """The least value of an entry that is on; 0 for one that cannot be off."""
        if self.least is None:
            return 0.0
        low, step = self._ends[0], np.asarray(self.step)
        return np.where(self.off, np.where(step > 0, low * step, self.least), 0.0)

    def _on(self, x: Array, towards: Any) -> Array:
        """Return entries that are on: the next multiple of the step, or any value of the range."""
        has_step, step = self._steps
        low, high = self._ends
        at: Array = x
        if has_step.any():
            with np.errstate(over="ignore"):
                at = np.minimum(np.maximum(towards(x / step), low), high) * step
        if has_step.all():
            return at
        free = x if self.least is None else np.minimum(np.maximum(x, self.least), self.most)
        return np.where(has_step, at, free)

    def bracket(self, x: Array) -> tuple[Array, Array]:
        """Return the next choice below, and above, every entry: one choice twice at the ends."""
        off, first = np.asarray(self.off), self._first_on
        low, high = self._on(x, np.floor), self._on(x, np.ceil)
        if not self._can_be_off:
            return low, high
        return np.where(off & (x < first), 0.0, low), np.where(off & (x <= 0.0), 0.0, high)

    @cached_property
    def gaps(self) -> tuple[Array, ...]:
        """How far entries move at least: to switch, then by a step; 0 where they move freely."""
        step = np.atleast_1d(np.asarray(self.step))
        if not np.any(self.off):
            return (step,)
        switch = np.atleast_1d(np.where(self.off, self._first_on, step))
        return (switch, step) if np.any(step) else (switch,)

    def find_pieces(self, points: Array) -> tuple[Array, Array]:
        """Return the lower and the upper ends of the pieces of choices: a box for each.

        Args:
            points: the choices, one per row, or one choice.
        """
        is_fixed = (np.asarray(self.step) > 0) | (np.asarray(self.off) & (points == 0.0))
        least, most = (0.0, 0.0) if self.least is None else (self.least, self.most)
        return np.where(is_fixed, points, least), np.where(is_fixed, points, most)

    def around(self, p: Array, x: Array) -> Array:
        """Return choices next to p, and next to x, and x: one per row.

        Of the entries that are furthest from a choice, both neighbours of p in all combinations;
        of the others the nearest. Then those that differ from x in one entry.
        """
        low, high = self.bracket(p)
        near = self.project(p)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            off = np.abs((p - near) / (high - low))
        open_ = np.argsort(np.where(low < high, -off, math.inf), kind="stable")[:CORNERS]
        open_ = open_[low[open_] < high[open_]]
        corners = np.tile(near, (2 ** len(open_), 1))
        corners[:, open_] = np.where(_find_corners(len(open_)), high[open_], low[open_])
        middle = self.project(x)
        towards = np.where(p < middle, high, low)  # no further from x than p
        return np.vstack([corners, towards, *self.neighbours(middle), middle])

    def neighbours(self, x: Array) -> Iterator[Array]:
        """Yield blocks of choices that differ in one entry from a choice, by as little as can be.

        Args:
            x: the choice.
        """
        one = np.eye(len(x), dtype=bool)
        if self._can_be_off:
            yield np.where(one, 0.0, x)[np.asarray(self.off) & (x != 0.0)]
        for gap in self.gaps:
            for way in (gap, -gap):
                ends = self.project(x + way)
                yield np.where(one, ends, x)[ends != x]


@cache
def _find_corners(count: int) -> Array:
    """Return all combinations of so many choices of two."""
    return np.array(list(itertools.product((False, True), repeat=count)), dtype=bool)


def _read_numbers(given: Any, name: str) -> Any:
    """Return a finite number, or several as a vector; raise for anything else."""
    numbers = read_numbers(given, name)
    return numbers if np.ndim(given) else float(numbers[0])


def _read_flags(given: Any) -> Any:
    """Return a boolean, or several; raise for anything else."""
    flags = np.asarray(given)
    if flags.dtype != np.bool_ or flags.ndim > 1 or not flags.size:
        raise checks.invalid("off", "True or False, or one per entry", given)
    return tuple(flags.tolist()) if flags.ndim else bool(flags)


def make_domain(
    least: Array, most: Array, *, step: Array | float = 0.0, off: Sequence[bool] | bool = False
) -> Set:
    """Return the set of actions by what each entry may be: a box if each takes any value.

    >>> make_domain(np.zeros(2), np.ones(2))
    Box(lower=array([0., 0.]), upper=array([1., 1.]))
    >>> make_domain(np.zeros(2), np.ones(2), step=0.25).contains(np.array([0.25, 0.3]))
    False
    """
    if not (np.any(step) or np.any(off)):
        return Box(least, most)
    return Choices(least, most, step=step, off=off)


class OnChoices(RegionWrapper):
    """The choices of a region.

    Args:
        part: the region, in the box of the choices.
        choices: the choices.
    """

    choices: Choices
    known: KnownSets

    def __init__(self, part: Region, choices: Choices) -> None:
        super().__init__(part)
        self.choices, self.known = choices, KnownSets(*part.known.sets, choices)

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified and a choice; the last action stays certified."""
        return self.known.contains(w) and self._certifies(w)

    def _certifies(self, w: Array) -> bool:
        """Return whether a choice is certified; the last action of the known sets stays so."""
        return (self.stays(w) and self.known.contains(w)) or bool(self.part.contains(w))

    def nearest(self, w: Array) -> Array:
        """Return the nearest to w of the certified choices in pieces next to the region's nearest.

        The pieces of x and of its neighbours are tried as well. If none of them has a certified
        choice, as may be under drift or in another context, actions of the past and points on the
        way to them are tried. EmptyRegionError is raised if these are not certified, either.
        """
        if self.contains(w):
            return w
        near = self.part.nearest(w)
        points = self.choices.around(near, self.x)
        if (rounded := self._round(near, w)) is not None:
            points = np.vstack([points, rounded])
        nearest = self._search_pieces(points, near, w)
        if nearest is not None:
            return nearest
        shares = np.linspace(0.125, 1.0, 8)[:, None]
        for end in self.base.insides:
            for point in self.choices.project(near + shares * (end - near)):
                if self._certifies(point):
                    return point
        distance = float(norm(self.choices.project(near) - near))
        raise EmptyRegionError.of_set(self.choices, near, distance)

    def _search_pieces(self, points: Array, near: Array, w: Array) -> Array | None:
        """Return the nearest certified choice of the pieces of several choices; None if none is.

        Args:
            points: the choices.
            near: the region's point that is nearest to w.
            w: the proposal.
        """
        ends, is_beyond = self._bound(points, near, w)
        away = np.einsum("ij,ij->i", ends - w, ends - w)
        kept = np.clip(self.x, *self.choices.find_pieces(points))
        may_end, *may_begin = self._may_certify(np.stack([ends, points, kept]))
        may_search = np.logical_or(*may_begin)
        found: list[tuple[float, Array]] = []
        least, searched = math.inf, set[bytes]()
        for i in np.lexsort((away, is_beyond)):
            if found and (is_beyond[i] or away[i] >= least):
                break
            end = ends[i]
            point = end if may_end[i] and self._certifies(end) else None
            is_searchable = may_search[i] and (points[i] != end).any()
            if point is None and is_searchable and end.tobytes() not in searched:
                may = len(searched) < SEARCHES or bool((points[i] == self.x).all())
                point = self._search_piece(points[i], w) if may else None
                searched |= set() if point is None else {end.tobytes()}
            if point is not None:
                found.append((float((point - w) @ (point - w)), point))
                least = min(least, found[-1][0])
        # What a region certified by a search it may not find again, to the last bit.
        found.sort(key=lambda pair: pair[0])
        return next((point for _, point in found if self._certifies(point)), None)

    def _may_certify(self, blocks: Array) -> Array:
        """Return which of blocks of choices may be certified, so that each is worth a look."""
        points = blocks.reshape(-1, blocks.shape[-1])
        may = self.part.may_contain(points) | (points == self.x).all(axis=1)
        return may.reshape(blocks.shape[:-1])

    def _search_piece(self, point: Array, w: Array) -> Array | None:
        """Return nearly the certified choice nearest to w in the piece of a choice.

        None where neither the choice is certified nor that nearest to the last action.
        """
        low, high = self.choices.find_pieces(point)
        begins = (point, np.clip(self.x, low, high))
        inside = next((begin for begin in begins if self._certifies(begin)), None)
        if inside is None:
            return None
        free, base, piece = low < high, self.part.base, Box(low, high)
        known, reach = KnownSets(*self.part.known.sets, piece), float(base.reach)

        def cut(q: Array) -> Bounds:
            away = np.zeros(len(point))
            away[free] = q
            bounds = known.cut(inside, reach, 0.0, away).join(
                nearest.cut_by(base.nearest, inside, reach, 0.0, away)
            )
            return bounds._replace(s=bounds.s[:, free])

        none = Bounds.of(np.zeros((0, int(free.sum()))), np.zeros(0), 0.0)
        way = nearest.project_onto_bounds((w - inside)[free], none, cut, TURNS)[0]
        end = inside.copy()
        end[free] += way
        end = piece.project(end)
        if self._certifies(end):
            return end
        best = nearest.draw_back(self._certifies, KnownSets(piece), inside, end)
        if best is None:
            return inside
        back = piece.project(inside + KEPT * (best - inside))
        return back if self._certifies(back) else best

    def _bound(self, points: Array, near: Array, w: Array) -> tuple[Array, Array]:
        """Return the least far that a certified choice of each piece may be, and which has none.

        A convex region has no point beyond its nearest; x may be one nevertheless, by rounding.
        """
        low, high = self.choices.find_pieces(points)
        ends, normal = np.clip(w, low, high), w - near
        free = np.where(low < high, normal, 0.0)
        square = np.einsum("ij,ij->i", free, free)
        over = np.maximum((ends - near) @ normal, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(square > 0.0, over / square, 0.0)
        is_beyond = (over > 0.0) & (square == 0.0) & (points != self.x).any(axis=1)
        return np.clip(ends - share[:, None] * free, low, high), is_beyond

    def _round(self, near: Array, w: Array) -> Array | None:
        """Return a certified point rounded entry by entry, so that it stays certified.

        None for few entries, all of whose corners are tried, and where an entry cannot be rounded.
        """
        if len(near) <= CORNERS:
            return None
        point = near.copy()
        for i, ends in enumerate(zip(*self.choices.bracket(near), strict=True)):
            for end in sorted(ends, key=lambda end: abs(end - w[i])):
                point[i] = end
                if self.part.contains(point):
                    break
            else:
                return None
        return point

    @property
    def relaxed(self) -> Region:
        """The region in the box of the choices."""
        return self.part.relaxed

    def shift(self, x: Array, i: int, length: float) -> float:
        """Return how far along an entry the next certified choice is; 0 where none is.

        An entry that takes any value goes as far as it may.
        """
        gaps = (float(np.broadcast_to(gap, len(x))[i]) for gap in self.choices.gaps)
        for size in (length, *gaps):
            for way in (size, -size):
                point = x.copy()
                point[i] += way
                point[i] = self.choices.project(point)[i]
                if point[i] != x[i] and self._certifies(point):
                    return float(point[i] - x[i])
        low, high = self.choices.find_pieces(x)
        return self.part.shift(x, i, length) if low[i] < high[i] else 0.0

    def within(self, *sets: Set | None) -> Region:
        """Return the choices that are in further sets."""
        return OnChoices(self.part.within(*sets), self.choices)
