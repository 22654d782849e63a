"""The part of a region that is in known sets: every action stays in both.

A point that is played is always one that the region and every set say they contain
(:mod:`surefoot.regions.nearest`).
"""

from __future__ import annotations

import math
from typing import Any

from surefoot.core.arrays import if_any, loop_in_turn, norm, where
from surefoot.core.types import Array
from surefoot.core.types import Region as Set
from surefoot.regions.errors import EmptyRegionError
from surefoot.regions.nearest import HALVINGS, KnownSets
from surefoot.regions.region import Projection, Region
from surefoot.sets import Ball

__all__ = ["Within", "WithinBall"]


class Within(Region):
    """The points of a region that are in sets.

    Args:
        part: the region.
        known: the sets.
    """

    def __init__(self, part: Region, known: KnownSets) -> None:
        self.part, self.known = part, known
        self.round, self.x, self.upper, self.errors = part.round, part.x, part.upper, part.errors
        self.radius, self.depth, self.longest = part.radius, part.depth, part.longest
        self.steepness, self.noise, self.reach = part.steepness, part.noise, part.reach
        self.curvature_seen, self.from_start = part.curvature_seen, part.from_start
        self.visit_due = part.visit_due

    @property
    def base(self) -> Any:
        """The region without the sets."""
        return self.part.base

    def contains(self, w: Array) -> Any:
        """Return whether a point is certified and in the sets."""
        return self.known.contains(w) and bool(self.part.contains(w))

    def certificate(self, x: Array, cut: bool = False) -> Any:
        """Return why a point is feasible: the region's own reason."""
        return self.part.certificate(x, cut)

    def nearest(self, w: Array) -> Array:
        """Return the point of both nearest to w; always one of both."""
        return w if self.contains(w) else self.find_nearest(w).point

    def cut(self, w: Array) -> Array:
        """Return where the region cuts a step off, or the nearest point of both to that."""
        return self.find_cut(w).point

    def find_nearest(self, w: Array, known: KnownSets | None = None) -> Projection:
        """Return the nearest point with its multipliers."""
        return self.part.find_nearest(w, self.known)

    def find_cut(self, w: Array, known: KnownSets | None = None) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
        return self.part.find_cut(w, self.known)

    def within(self, *sets: Set) -> Region:
        """Return the part that is in further sets."""
        return Within(self.part, KnownSets(*self.known.sets, *sets))


class WithinBall(Within):
    """The points of a region that are in a ball, for a batch and every backend, too.

    A ball that is known to hold the feasible set changes nothing: then every certified point is in
    it. Where one is not, its projection is taken, which is certified, but not always the nearest.
    """

    def __init__(self, part: Region, ball: Ball) -> None:
        super().__init__(part, KnownSets(ball))
        self.ball = ball

    def within(self, *sets: Set) -> Region:
        """Return the part that is in further sets."""
        return Within(self.part, KnownSets(self.ball, *sets))

    def contains(self, w: Array) -> Any:
        """Return whether a point is certified and in the ball; a column of answers for a batch."""
        return self.ball.contains(w) & self.part.contains(w)

    def nearest(self, w: Array) -> Array:
        """Return the region's nearest point, drawn into the ball."""
        return self._draw(self.part.nearest(w))

    def cut(self, w: Array) -> Array:
        """Return the same where the step to w is cut off."""
        return self._draw(self.part.cut(w))

    def find_nearest(self, w: Array, known: KnownSets | None = None) -> Projection:
        """Return the nearest point with its multipliers."""
        return self._draw_found(self.part.find_nearest(w))

    def find_cut(self, w: Array, known: KnownSets | None = None) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
        return self._draw_found(self.part.find_cut(w))

    def _draw_found(self, found: Projection) -> Projection:
        point = self._draw(found.point)
        return found._replace(point=point, drawn=found.drawn + norm(point - found.point))

    def _draw(self, point: Array) -> Array:
        """Return a certified point of the ball for a certified one."""
        good = self.ball.contains(point)
        return if_any(good ^ True, lambda: self._draw_in(point, good), lambda: point)

    def _draw_in(self, point: Array, good: Any) -> Array:
        """Return points that are not good as their projections, where these are certified.

        Where one is not, it is the last point that is on the way there from the action; all of
        that way is in the ball.
        """
        there, x = self.ball.project(point), self.x
        way = there - x

        def halve(k: Any, share: Any) -> Any:
            more = share + 0.5 ** (k + 1.0)
            return where(self.contains(x + more * way), more, share)

        between = x + loop_in_turn(HALVINGS, halve, 0.0 * norm(way)) * way
        best = where(self.contains(there), there, between)
        fine = good | self.contains(best)
        if fine is False:
            raise EmptyRegionError.of_set(self.ball, point, float(norm(there - point)))
        return where(good, point, where(fine, best, 0.0 * best + math.nan))
