r"""Actuators that cannot play every point: steps, or off and a least power; the nearest certified.

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
entry that is off is switched on where the slack is at least :math:`G_g` times its ``least``. No
safe rule that plays choices alone leaves the hull of their balls (Theorem E of docs/hulls.md). With
a curvature the rest is at the first neighbour with U > 0, which is of second order in h.

Choices are not convex. A learner learns in the box around them (``inside``), the knowledge
certifies choices. Rules whose theorem is about a convex domain reject them.

Rounding. A choice is what the formula :math:`k h` or :math:`l + k h` gives in float64 for a whole k
of at most :math:`2^{50}`, so that dividing by h finds k again: ``contains`` compares exactly, and
``project`` returns what ``contains`` accepts.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything, instance_of
from surefoot.core.points import check_length
from surefoot.core.types import Array, Set
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.errors import EmptyRegionError
from surefoot.knowledge.nearest import KnownSets
from surefoot.knowledge.region import Region, RegionWrapper
from surefoot.sets import Ball, Box

__all__ = ["Choices", "Grid", "OffOr", "OnChoices"]

CORNERS = 8
"""Of so many entries both neighbours are tried, in all combinations: 256 at the most."""
MOST_STEPS = 2.0**50
"""How many steps from 0 a choice may be: then rounding does not hide which it is."""


class Choices(Declared, kw_only=False):
    """Points to choose an action from, entry by entry, as the domain of a knowledge.

    A kind of them has :meth:`bracket`, :meth:`box`, ``dimension`` and ``gaps``; every entry has a
    least and a largest choice wherever it is bounded.

    Attributes:
        inside: a box that contains them, where the dimension is known; a learner learns in it.
    """

    is_convex: ClassVar[bool] = False

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""

    @property
    @abstractmethod
    def gaps(self) -> tuple[Array, ...]:
        """How far entries move at least, one number for all or one per entry; the largest first."""

    @abstractmethod
    def box(self, d: int) -> Box | None:
        """Return the box that holds the choices of a dimension; None if they are unbounded."""

    @abstractmethod
    def bracket(self, x: Array) -> tuple[Array, Array]:
        """Return the next choice below, and above, every entry: one choice twice at the ends."""

    @abstractmethod
    def project(self, x: Array) -> Array:
        """Return the nearest choice."""

    def contains(self, x: Array) -> bool:
        """Return whether x is a choice, exactly."""
        x = check_length(x, self.dimension)
        return bool(np.isfinite(x).all()) and bool((self.project(x) == x).all())

    def bounding_ball(self) -> Ball:
        """Return a ball that contains the choices."""
        ball: Ball = self._find_box().bounding_ball()
        return ball

    @property
    def diameter(self) -> float:
        """The length of the diagonal of the box; infinite without one."""
        box = None if self.dimension is None else self.box(self.dimension)
        return math.inf if box is None else box.diameter

    def minimize_linear(self, c: Array) -> Array:
        """Return a choice where the inner product with c is smallest."""
        return self.project(self._find_box(len(c)).minimize_linear(c))

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
        is_high = np.array(list(itertools.product((False, True), repeat=len(open_))), dtype=bool)
        corners[:, open_] = np.where(is_high, high[open_], low[open_])
        middle = self.project(x)
        towards = np.where(p < middle, high, low)  # no further from x than p
        return np.vstack([corners, towards, *self.neighbours(middle), middle])

    def neighbours(self, x: Array) -> Iterator[Array]:
        """Yield blocks of choices that differ in one entry from a choice, by as little as can be.

        Args:
            x: the choice.
        """
        for gap in self.gaps:
            for way in (gap, -gap):
                ends = self.project(x + way)
                yield np.where(np.eye(len(x), dtype=bool), ends, x)[ends != x]

    def _find_box(self, d: int | None = None) -> Box:
        """Return the box; raise without one."""
        d = self.dimension if d is None else d
        box = None if d is None else self.box(d)
        if box is None:
            raise InvalidValueError(
                f"reach must be given for choices of unknown size, got {checks.repr_line(self)}"
            )
        return box


class Grid(Choices, kw_only=False):
    """The points whose entries are whole multiples of a step, as the domain of a knowledge.

    Args:
        step: h, one for all entries or one per entry.
        inside: a box that contains them; without one the knowledge needs a ``reach``, no entry is
            beyond :math:`2^{50}` steps, and a leader, which learns in the box, is unsupported.

    Example:
        >>> from surefoot.knowledge import LipschitzHull, Reading
        >>> known = LipschitzHull(G_g=1.0, domain=Grid(0.25, Box([0.0, 0.0], [1.0, 1.0])))
        >>> x = np.array([0.25, 0.25])
        >>> memory = known.observe(known.init(x), Reading(x, -0.3, None, known.errors))
        >>> known.region(memory, known.errors).nearest(np.array([0.9, 0.4]))
        array([0.5 , 0.25])
    """

    step: Any = anything("a finite number > 0, or one per entry")
    inside: Any = instance_of(Box, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        step = read_numbers(self.step, "step")
        if not (step > 0).all():
            raise InvalidValueError(f"step must be above 0, got {self.step!r}")
        if self.inside is not None and len(step) not in (1, self.inside.dimension):
            rule = f"one number, or {self.inside.dimension} as the box has"
            raise checks.invalid("step", rule, self.step)
        object.__setattr__(self, "step", step)
        if self.inside is not None:
            far = np.maximum(np.abs(self.inside.lower), np.abs(self.inside.upper))
            if not (far <= MOST_STEPS * step).all():
                rule = "at least 2**-50 of the largest entry of the box"
                raise checks.invalid("step", rule, step)
            low, high = self._ends
            if not (low <= high).all():
                raise InvalidValueError(f"step must leave a point in {self.inside!r}, got {step!r}")

    @property
    def _ends(self) -> tuple[Any, Any]:
        """The least and the largest multiples in the box."""
        if self.inside is None:
            return -MOST_STEPS, MOST_STEPS
        low, high = (np.round(end / self.step) for end in (self.inside.lower, self.inside.upper))
        low = low + (low * self.step < self.inside.lower)
        return low, high - (high * self.step > self.inside.upper)

    @property
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""
        sizes = [len(self.step)] if len(self.step) > 1 else []
        return self.inside.dimension if self.inside is not None else next(iter(sizes), None)

    @property
    def gaps(self) -> tuple[Array, ...]:
        """The step."""
        return (self.step,)

    def box(self, d: int) -> Box | None:
        """Return the box; None without one."""
        box: Box | None = self.inside
        return box

    def _count(self, x: Array) -> Array:
        """Return how many steps every entry is from 0, not rounded."""
        with np.errstate(over="ignore"):
            return x / self.step

    def project(self, x: Array) -> Array:
        """Return the nearest grid point."""
        return np.clip(np.round(self._count(x)), *self._ends) * self.step

    def bracket(self, x: Array) -> tuple[Array, Array]:
        """Return the next grid points below and above."""
        low, ends = np.floor(self._count(x)), self._ends
        return np.clip(low, *ends) * self.step, np.clip(low + 1.0, *ends) * self.step


class OffOr(Choices, kw_only=False):
    """The points whose entries are 0, or from a least to a largest value: machines that switch.

    Args:
        least: what an entry is at least where it is not 0; one for all entries or one per entry.
        most: what an entry is at most, likewise.
        step: entries that are not 0 are ``least`` and whole multiples of it; None for all values.

    Without a number per entry the dimension is any: then the knowledge needs a ``reach``, and a
    leader, which learns in the box from 0 to ``most``, is unsupported.

    Example:
        >>> chargers = OffOr([6.0, 6.0, 6.0], 32.0)
        >>> chargers.project(np.array([2.0, 4.0, 40.0]))
        array([ 0.,  6., 32.])
        >>> chargers.contains(np.array([0.0, 6.5, 32.0])), chargers.contains(np.full(3, 5.9))
        (True, False)
        >>> OffOr(6.0, [32.0, 32.0], step=2.0).project(np.array([9.1, 8.9]))
        array([10.,  8.])
    """

    least: Any = anything("a finite number > 0, or one per entry")
    most: Any = anything("a finite number of at least least, or one per entry")
    step: Any = anything("a finite number > 0, or one per entry", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        lengths = set()
        for name in ("least", "most", "step"):
            if (given := getattr(self, name)) is None and name == "step":
                continue
            numbers = read_numbers(given, name)
            if np.ndim(given):
                lengths.add(len(numbers))
            if len(lengths) > 1:
                rule = "one number, or as many as least or most has"
                raise checks.invalid(name, rule, given)
            if name != "most" and not (numbers > 0).all():
                raise checks.invalid(name, "above 0", given)
            object.__setattr__(self, name, numbers if np.ndim(given) else float(numbers[0]))
        if not np.all(np.asarray(self.least) <= self.most):
            raise checks.invalid("least", f"at most most = {self.most!r}", self.least)
        if self.step is not None and not np.all(self.most <= 2.0**48 * np.asarray(self.step)):
            raise checks.invalid("step", "at least 2**-48 of most", self.step)

    @property
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""
        given = (self.least, self.most, self.step)
        return next((len(v) for v in given if isinstance(v, np.ndarray)), None)

    @property
    def inside(self) -> Box | None:
        """The box from 0 to most; None if the dimension is unknown."""
        return None if self.dimension is None else self.box(self.dimension)

    @property
    def gaps(self) -> tuple[Array, ...]:
        """What switches an entry on and off; the step."""
        both = (self.least,) if self.step is None else (self.least, self.step)
        return tuple(np.atleast_1d(np.asarray(gap, dtype=np.float64)) for gap in both)

    def box(self, d: int) -> Box:
        """Return the box from 0 to most."""
        return Box(np.zeros(d), np.broadcast_to(self.most, d).astype(np.float64))

    @property
    def _last(self) -> Any:
        """The largest number of steps from least."""
        count = np.round((self.most - self.least) / self.step)
        return count - (self.least + count * self.step > self.most)

    def _on(self, x: Array, towards: Any) -> Array:
        """Return entries as they are where they are on: the next of a multiple, or themselves."""
        if self.step is None:
            return np.clip(x, self.least, self.most)
        with np.errstate(over="ignore"):
            count = np.clip(towards((x - self.least) / self.step), 0.0, self._last)
        at: Array = self.least + count * self.step
        return at

    def _is_nearer_off(self, x: Array) -> Array:
        """Return which entries are nearer to 0 than to least."""
        with np.errstate(over="ignore"):
            return x < self.least - x

    def project(self, x: Array) -> Array:
        """Return the nearest choice; of an entry in the middle between 0 and least, least."""
        return np.where(self._is_nearer_off(x), 0.0, self._on(x, np.round))

    def bracket(self, x: Array) -> tuple[Array, Array]:
        """Return the next choices below and above."""
        low = np.where(x < self.least, 0.0, self._on(x, np.floor))
        return low, np.where(x <= 0.0, 0.0, self._on(x, np.ceil))

    def neighbours(self, x: Array) -> Iterator[Array]:
        """Yield the choices that differ in one entry: those with one off, too."""
        yield np.where(np.eye(len(x), dtype=bool), 0.0, x)[x != 0.0]
        yield from super().neighbours(x)


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
        """Return the nearest to w of the certified choices next to the region's nearest.

        The neighbours of x, and x, are tried as well. If none of them is certified, as may be under
        drift or in another context, actions of the past and points on the way to them are tried.
        EmptyRegionError is raised if these are not certified, either.
        """
        if self.contains(w):
            return w
        near = self.part.nearest(w)
        points = self.choices.around(near, self.x)
        if (rounded := self._round(near, w)) is not None:
            points = np.vstack([points, rounded])
        off = points - w
        # Beyond the nearest point, where a convex region has none but x, at last.
        beyond = ((points - near) @ (w - near) > 0.0) & (points != self.x).any(axis=1)
        for i in np.lexsort((np.einsum("ij,ij->i", off, off), beyond)):
            if self._certifies(points[i]):
                return points[i]
        shares = np.linspace(0.125, 1.0, 8)[:, None]
        for end in self.base.insides:
            for point in self.choices.project(near + shares * (end - near)):
                if self._certifies(point):
                    return point
        distance = float(norm(self.choices.project(near) - near))
        raise EmptyRegionError.of_set(self.choices, near, distance)

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
        """Return how far along an entry the next certified choice is; 0 where none is."""
        gaps = (float(np.broadcast_to(gap, len(x))[i]) for gap in self.choices.gaps)
        for size in (length, *gaps):
            for way in (size, -size):
                point = x.copy()
                point[i] += way
                point[i] = self.choices.project(point)[i]
                if point[i] != x[i] and self._certifies(point):
                    return float(point[i] - x[i])
        return 0.0

    def within(self, *sets: Set | None) -> Region:
        """Return the choices that are in further sets."""
        return OnChoices(self.part.within(*sets), self.choices)
