r"""Actuators with steps: actions on a grid, the nearest of those that are certified.

**Proposition.** *For a fixed g there always is a certified grid point: the one played last, and for
a limit on the average, or in contexts with a* ``start_bound``\ *, the start. With*
:math:`G_g`\ *, while* :math:`-g(x_t) \ge G_gh` *but for rounding, h the step, all neighbours of*
:math:`x_t` *are certified, and the action moves whenever one of them is nearer to the proposal.*

*Proof.* The ball of :math:`x_t` has radius :math:`-g/G_g \ge h`. ∎ So it comes to rest with a slack
below :math:`G_gh`, or where no neighbour is better: that is what a grid costs. No safe rule that
plays grid points alone leaves the hull of their balls (Theorem E of docs/hulls.md). With a
curvature the rest is at the first neighbour with U > 0, which is of second order in h.

A grid is not convex: rules that project onto their domain by themselves reject it. Let a leader
learn in the box, and a hull certify on the grid.
"""

import itertools
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything, instance_of
from surefoot.core.types import Array, Set
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.errors import EmptyRegionError
from surefoot.knowledge.nearest import KnownSets
from surefoot.knowledge.region import Region, RegionWrapper
from surefoot.sets import Ball, Box

__all__ = ["Grid", "OnGrid"]

CORNERS = 8
"""Up to this dimension all corners of a cell are tried, 256 at the most."""


class Grid(Declared, kw_only=False):
    """The points whose entries are whole multiples of a step, as the domain of a knowledge.

    Args:
        step: h, one for all entries or one per entry.
        inside: a box that contains them; without one the knowledge needs a ``reach``.

    Example:
        >>> from surefoot.knowledge import LipschitzHull, Reading
        >>> known = LipschitzHull(G_g=1.0, domain=Grid(0.25, Box([0.0, 0.0], [1.0, 1.0])))
        >>> x = np.array([0.25, 0.25])
        >>> memory = known.observe(known.init(x), Reading(x, -0.3, None, known.errors))
        >>> known.region(memory, known.errors).nearest(np.array([0.9, 0.4]))
        array([0.5 , 0.25])
    """

    is_convex: ClassVar[bool] = False

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
            low, high = self._ends
            if not (low <= high).all():
                raise InvalidValueError(f"step must leave a point in {self.inside!r}, got {step!r}")

    @property
    def _ends(self) -> tuple[Any, Any]:
        """The least and the largest multiples in the box."""
        if self.inside is None:
            return -np.inf, np.inf
        low, high = (np.round(end / self.step) for end in (self.inside.lower, self.inside.upper))
        low = low + (low * self.step < self.inside.lower)
        return low, high - (high * self.step > self.inside.upper)

    @property
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""
        sizes = [len(self.step)] if len(self.step) > 1 else []
        return self.inside.dimension if self.inside is not None else next(iter(sizes), None)

    def bounding_ball(self) -> Ball:
        """Return a ball that contains the grid."""
        if self.inside is None:
            raise InvalidValueError("reach must be given for a Grid without a box (inside)")
        ball: Ball = self.inside.bounding_ball()
        return ball

    def project(self, x: Array) -> Array:
        """Return the nearest grid point."""
        return np.clip(np.round(x / self.step), *self._ends) * self.step

    def contains(self, x: Array) -> bool:
        """Return whether x is a grid point, exactly."""
        return bool((self.project(x) == x).all())

    def minimize_linear(self, c: Array) -> Array:
        """Return a grid point where the inner product with c is smallest."""
        self.bounding_ball()
        return self.project(self.inside.minimize_linear(c))

    def around(self, p: Array, x: Array) -> Array:
        """Return the grid points next to p, the neighbours of x, and x: one per row."""
        low = np.floor(p / self.step)
        if len(p) <= CORNERS:
            corners = low + np.array(list(itertools.product((0.0, 1.0), repeat=len(p))))
        else:  # the nearest corner, and that towards x
            corners = np.stack([np.round(p / self.step), low + (p < x)])
        middle, unit = np.round(x / self.step), np.eye(len(p))
        points = np.concatenate([corners, middle + unit, middle - unit, middle[None]])
        return np.clip(points, *self._ends) * self.step


class OnGrid(RegionWrapper):
    """The grid points of a region.

    Args:
        part: the region, in the box of the grid.
        grid: the grid.
    """

    grid: Grid
    known: KnownSets

    def __init__(self, part: Region, grid: Grid) -> None:
        super().__init__(part)
        self.grid, self.known = grid, KnownSets(*part.known.sets, grid)

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified and on the grid; the last action stays certified."""
        return self.known.contains(w) and (self.stays(w) or bool(self.part.contains(w)))

    def nearest(self, w: Array) -> Array:
        """Return the nearest to w of the certified grid points next to the region's nearest.

        The neighbours of x, and x, are tried as well. If none of them is certified, as may be under
        drift or in another context, points on the way to the middle of the region are tried.
        EmptyRegionError is raised if these are not certified, either.
        """
        if self.contains(w):
            return w
        near = self.part.nearest(w)
        points = self.grid.around(near, self.x)
        off = points - w
        for i in np.argsort(np.einsum("ij,ij->i", off, off), kind="stable"):
            if self.contains(points[i]):
                return points[i]
        shares = np.linspace(0.125, 1.0, 8)[:, None]
        for end in self.base.insides:
            for point in self.grid.project(near + shares * (end - near)):
                if self.contains(point):
                    return point
        raise EmptyRegionError.of_set(self.grid, near, float(norm(self.grid.project(near) - near)))

    def within(self, *sets: Set | None) -> Region:
        """Return the grid points that are in further sets."""
        return OnGrid(self.part.within(*sets), self.grid)
