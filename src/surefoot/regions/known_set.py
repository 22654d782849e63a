r"""The part of a region that is in a known set: every action stays in both.

The nearest point of both is sought by projections onto one and the other, a fixed number of times
(:func:`project_onto_both`). What it returns is rounded and perhaps not at its end, so it is checked
by both, and drawn towards a point that is in both where it fails: the region's point nearest to the
action that was played, or its deepest. A point that is played is always one that both say they
contain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import if_any, loop_in_turn, norm, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import snap_inside
from surefoot.core.types import Array
from surefoot.core.types import Region as Set
from surefoot.regions.errors import EmptyRegionError
from surefoot.regions.region import Projection, Region
from surefoot.sets import Box
from surefoot.sets._dykstra import dykstra

__all__ = [
    "AllSets",
    "Within",
    "WithinBall",
    "draw_back",
    "find_common_point",
    "project_onto_all",
    "project_onto_both",
    "reflect_in_turn",
]

SWEEPS = 60
TURNS = 1_000
CYCLES = 200
REFLECTIONS = 200
HALVINGS = 40
SHARES = (*(1.0 - 0.5**k for k in range(44, 0, -1)), *(0.5**k for k in range(2, 30)), 0.0)
"""Of a way, from its end to its beginning, closest together at both."""

Onto = Callable[[Array], Array]
Test = Callable[[Array], bool]


class Within(Region):
    """The points of a region that are in a set.

    Args:
        base: the region.
        known: the set.
    """

    def __init__(self, base: Region, known: Set) -> None:
        self.base, self.known = base, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    @property
    def inside(self) -> Array:
        """The region's own point."""
        return self.base.inside

    @property
    def visit_due(self) -> bool:  # type: ignore[override]
        """Whether the region's anchor is to be measured again."""
        return self.base.visit_due

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified and in the set."""
        return bool(self.known.contains(w)) and bool(self.base.contains(w))

    def certificate(self, x: Array, cut: bool = False) -> Any:
        """Return why a point is feasible: the region's own reason."""
        return self.base.certificate(x, cut)

    def cut(self, w: Array) -> Array:
        """Return where the region cuts a step off, or the nearest point of both to that."""
        point = self.base.cut(w)
        return point if self.known.contains(point) else self.nearest(point)

    def nearest(self, w: Array) -> Array:
        """Return the point of both nearest to w, to the end of the sweeps; always one of both."""
        base, known = self.base, self.known
        point = base.nearest(w)
        if known.contains(point):
            return point
        inside = base.nearest(base.x)
        if not known.contains(inside) and self.contains(base.inside):
            inside = base.inside
        if not known.contains(inside):
            inside = find_common_point(base.nearest, self.contains, known, inside, base.reach)
        size = norm(point - base.x) + max(float(base.depth), 0.0)
        found = snap_inside(known, project_onto_both(base.nearest, known.project, w, base.x, size))
        if self.contains(found):
            return found
        drawn = draw_back(self.contains, known, inside, found)
        return inside if drawn is None else drawn


class WithinBall(Within):
    """The points of a region that are in a ball, for a batch and every backend, too.

    A ball that is known to hold the feasible set changes nothing: then every certified point is in
    it. Where one is not, its projection is taken, which is certified, but not always the nearest.
    """

    def contains(self, w: Array) -> Any:
        """Return whether a point is certified and in the ball; a column of answers for a batch."""
        return self.known.contains(w) & self.base.contains(w)

    def nearest(self, w: Array) -> Array:
        """Return the region's nearest point, drawn into the ball."""
        return self._draw(self.base.nearest(w))

    def cut(self, w: Array) -> Array:
        """Return the same where the step to w is cut off."""
        return self._draw(self.base.cut(w))

    def find_nearest(self, w: Array, near: Any = 0.0) -> Projection:
        """Return the nearest point with its multipliers."""
        return self._draw_found(self.base.find_nearest(w, near))

    def find_cut(self, w: Array) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
        return self._draw_found(self.base.find_cut(w))

    def _draw_found(self, found: Projection) -> Projection:
        point = self._draw(found.point)
        return found._replace(point=point, drawn=found.drawn + norm(point - found.point))

    def _draw(self, point: Array) -> Array:
        """Return a certified point of the ball for a certified one."""
        good = self.known.contains(point)
        return if_any(good ^ True, lambda: self._draw_in(point, good), lambda: point)

    def _draw_in(self, point: Array, good: Any) -> Array:
        """Return points that are not good as their projections, where these are certified.

        Where one is not, it is the last point that is on the way there from the action; all of
        that way is in the ball.
        """
        there, x = self.known.project(point), self.base.x
        way = there - x

        def halve(k: Any, share: Any) -> Any:
            more = share + 0.5 ** (k + 1.0)
            return where(self.contains(x + more * way), more, share)

        between = x + loop_in_turn(HALVINGS, halve, 0.0 * norm(way)) * way
        best = where(self.contains(there), there, between)
        fine = good | self.contains(best)
        if fine is False:
            raise EmptyRegionError.of_set(self.known, point, float(norm(there - point)))
        return where(good, point, where(fine, best, 0.0 * best + math.nan))


class AllSets:
    """The points that are in all of several sets; one NumPy run.

    Args:
        sets: of which the last is named where nothing is certified in all of them.

    Attributes:
        corners: of what boxes have in common; None unless all are boxes that meet.
        is_empty: whether all are boxes, and they do not.
    """

    corners: tuple[Array, Array] | None

    def __init__(self, *sets: Set) -> None:
        self.sets, self.corners, self.is_empty = sets, None, False
        boxes = [known for known in sets if isinstance(known, Box)]
        if len(boxes) == len(sets):
            lower = np.max([box.lower for box in boxes], axis=0)
            upper = np.min([box.upper for box in boxes], axis=0)
            self.is_empty = bool((lower > upper).any())
            self.corners = None if self.is_empty else (lower, upper)

    @classmethod
    def within(cls, known: AllSets | None, announced: Any) -> AllSets:
        """Return these sets, and one that was announced; refuse what is no set."""
        if not isinstance(announced, Set) or isinstance(announced, type):
            raise InvalidValueError(f"within must be a set with a projection, got {announced!r}")
        return cls(announced) if known is None else cls(*known.sets, announced)

    def __repr__(self) -> str:
        return repr(self.sets[-1])

    def contains(self, x: Array) -> bool:
        """Return whether a point is in every set."""
        return all(bool(known.contains(x)) for known in self.sets)

    def project(self, x: Array) -> Array:
        """Return the nearest point; of several sets by Dykstra's method, not to the last digit."""
        if self.corners is not None:
            checks.refuse_unfinite(x, "the point to project")
            return np.minimum(np.maximum(x, self.corners[0]), self.corners[1])
        for known in reversed(self.sets):
            point = known.project(x)
            if self.is_empty or len(self.sets) == 1 or self.contains(point):
                return point  # what is nearest in one set, and in all, is nearest in all
        return dykstra(self.sets, x, most=CYCLES).point

    def snap_inside(self, x: Array) -> Array:
        """Return a point that rounding may have put outside of the sets, moved back."""
        for known in self.sets:
            x = snap_inside(known, x)
        return x


def project_onto_both(first: Onto, second: Onto, w: Array, x: Array, size: float) -> Array:
    r"""Return nearly the point of two convex sets that is nearest to w: a point of the second.

    The method of Douglas and Rachford for :math:`\tfrac12\|p-w\|^2` on the second set: with
    :math:`p = \Pi_2((z + \lambda w)/(1 + \lambda))`, the point z moves by
    :math:`\Pi_1(2p - z) - p`. Any :math:`\lambda` will do; a far wish needs one that brings it as
    near as the sets are large, where Dykstra's method takes as many sweeps as they fit into the
    distance.

    Args:
        first: the projection onto one set.
        second: that onto the other.
        w: the point.
        x: where to begin.
        size: about how large what they have in common is.
    """
    share = min(size / max(norm(w - x), 1e-300), 1.0)
    z = point = x
    for _ in range(SWEEPS):
        point = second((z + share * w) / (1.0 + share))
        way = first(2.0 * point - z) - point
        z = z + way
        if norm(way) <= 1e-15 * (1.0 + norm(point)):
            break
    return point


def project_onto_all(projections: Sequence[Onto], w: Array, sweeps: int) -> Array:
    """Return what Dykstra's method finds: it takes back what earlier projections added."""
    point, taken = w, [np.zeros_like(w) for _ in projections]
    for _ in range(sweeps):
        before = point
        for i, onto in enumerate(projections):
            wanted = point + taken[i]
            point = onto(wanted)
            taken[i] = wanted - point
        if norm(point - before) <= 1e-14 * (1.0 + norm(point)):
            break
    return point


def draw_back(holds: Test, known: Any, inside: Array, outside: Array) -> Array | None:
    """Return the last point that holds on the way from one that does; None where none is found.

    Most often only a rounding is missing, so that the search begins at the far end; the beginning
    need not hold itself.

    Args:
        holds: what is looked for, in a convex set.
        known: a set that rounding is to be kept out of; None for none.
        inside: a point that holds, as a rule.
        outside: one that does not.
    """
    way = outside - inside

    def at(share: float) -> Array | None:
        point = inside + share * way
        point = point if known is None else snap_inside(known, point)
        return point if holds(point) else None

    high = 1.0
    for low in SHARES:
        best = at(low)
        if best is not None:
            break
        high = low
    else:
        return None
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        found = at(share)
        if found is None:
            high = share
        else:
            best, low = found, share
        if high - low <= 1e-15:
            break
    return best


def find_common_point(nearest: Onto, holds: Test, known: Any, start: Array, reach: float) -> Array:
    r"""Return a certified point of a set; say so where there is none.

    Projections onto what is certified and onto the set take turns: :math:`a_k` is the certified
    point nearest to :math:`b_{k-1}`, and :math:`b_k` that of the set nearest to :math:`a_k`. A y
    in both has :math:`(a_k-b_{k-1})^\top(y-a_k) \ge 0` and :math:`(a_k-b_k)^\top(y-b_k) \le 0`,
    which together are :math:`\|a_k-b_k\|^2 \le (b_k-b_{k-1})^\top(y-a_k)`; so there is none once
    the left side is larger than :math:`2M\|b_k-b_{k-1}\|`.

    Args:
        nearest: the projection onto what is certified.
        holds: whether a point is certified and in the set.
        known: the set.
        start: where to begin.
        reach: M, the largest norm of a certified point.
    """
    b = snap_inside(known, known.project(start))
    for _ in range(TURNS):
        if holds(b):
            return b
        a = nearest(b)
        before, b = b, snap_inside(known, known.project(a))
        gap, moved = norm(b - a), norm(b - before)
        # Twice the bound, for what "nearest" is off by.
        if gap * gap > 4 * reach * moved or (gap == 0 and moved == 0):
            break
        # Beyond the boundary there may be a point of both that the turns only draw near.
        beyond = snap_inside(known, known.project(2.0 * a - before))
        if holds(beyond):
            return beyond
    # A set that is touched in one point: that point, if the set itself says that it holds it.
    if holds(a):
        return a
    raise EmptyRegionError.of_set(known, a, norm(b - a))


def reflect_in_turn(
    projections: Sequence[Onto], known: Any, holds: Test, start: Array
) -> Array | None:
    """Return a point that holds, by way of several regions in turn; None if none is found.

    Each goes nearly twice as far as its region asks for, so that the turns end inside of the
    regions and not in front of them (half as far again was too little); the set has the last word.

    Args:
        projections: onto each region.
        known: a set that holds the point, too; None for none.
        holds: whether a point is what is looked for.
        start: where to begin.
    """
    point = start
    for _ in range(REFLECTIONS):
        for onto in projections:
            point = point + 1.95 * (onto(point) - point)
        if known is not None:
            point = snap_inside(known, known.project(point))
        if holds(point):
            return point
    return None
