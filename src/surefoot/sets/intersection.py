"""The intersection of sets, projected onto by way of the projection onto each."""

from __future__ import annotations

import math
from functools import cached_property, reduce
from operator import and_
from typing import Protocol, runtime_checkable

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.points import (
    UNIT,
    check_length,
    clean,
    diameter_of,
    dimension_of,
    to_dense,
)
from surefoot.core.types import Array, Region
from surefoot.sets._dykstra import dykstra
from surefoot.sets.halfspace import Halfspace
from surefoot.sets.polytope import Nearest, Polytope, refuse_others

__all__ = ["Intersection"]

_CYCLES = 5_000
_ROWS = 64  # of a polytope that is projected onto row by row; a larger one by its solver
_APART = 1e-14  # of the points of the sets when cycles end, as a share of their norm


@runtime_checkable
class Projecting(Protocol):
    """What an intersection needs of a set."""

    def project(self, x: Array) -> Array:
        """Return the nearest point of the set."""
        ...

    def contains(self, x: Array) -> Array:
        """Return whether x is in the set."""
        ...


# No slots: the half-spaces of polytopes are kept in the instance.
class Intersection(Declared, kw_only=False):
    r"""The points that are in every one of several sets, by Dykstra's method; NumPy only.

    An answer is in every set exactly, by the ``contains`` of each: where the method ends a rounding
    error outside, the point is moved towards an inner point, as little as is enough.

    Args:
        sets: each with a projection; your own need ``project`` and ``contains``.
        inner: a point of all of them, best well inside.

    Example:
        >>> from surefoot.sets import Ball, Slab
        >>> fair = Intersection([Ball(1.0), Slab([1.0, -1.0], -0.2, 0.2)], inner=[0.0, 0.0])
        >>> found = fair.nearest(np.array([2.0, 0.5]))  # onto the corner that both have
        >>> found.point.round(6), fair.contains(found.point), found.error < 1e-6
        (array([0.8, 0.6]), True, True)
    """

    sets: tuple[Region, ...]
    inner: Array

    def __post_init__(self) -> None:
        sets = tuple(self.sets)
        if not sets:
            raise InvalidValueError("sets must be at least one set, got none")
        for one in sets:
            if isinstance(one, type) or not isinstance(one, Projecting):
                raise InvalidValueError(f"sets must have project and contains, got {one!r}")
        known = {d for one in sets if (d := dimension_of(one)) is not None}
        if len(known) > 1:
            raise InvalidValueError(
                f"sets must have one dimension, got {' and '.join(map(str, sorted(known)))}"
            )
        inner = checks.to_vector(self.inner, "inner", length=next(iter(known), None))
        object.__setattr__(self, "sets", sets)
        object.__setattr__(self, "inner", inner)
        for one in sets:
            if not one.contains(inner):
                raise InvalidValueError(f"inner must be in every set, got {inner!r} not in {one!r}")

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return len(self.inner)

    @property
    def diameter(self) -> float:
        """The smallest diameter of a set: an upper bound."""
        return min(map(diameter_of, self.sets))

    def project(self, x: Array) -> Array:
        """Return the nearest point, in every set exactly; :meth:`nearest` has its error."""
        refuse_others(x, "an Intersection")
        x = clean(x, self.dimension)
        if x.ndim == 1:
            return self.nearest(x).point
        return np.array([r if np.isnan(r[0]) else self.nearest(r).point for r in x])

    def nearest(self, x: Array) -> Nearest:
        r"""Return the projection of one point, feasible, with a proven bound on its error.

        Dykstra's method ends at z with :math:`x - z = \sum p_i`, each :math:`p_i` normal to its set
        at :math:`a_i`. The dual value of these is at most :math:`\|p^* - x\|^2/2`, and
        :math:`\|\cdot - x\|^2/2` is 1-strongly convex, so for every y of the intersection

        .. math::
            \tfrac12\|y - p^*\|^2 \le \tfrac12\|y - z\|^2 - (y - z)^\top(x - z)
            + \sum p_i^\top(a_i - z).
        """
        refuse_others(x, "an Intersection")
        x = clean(x, self.dimension)
        if self.contains(x):
            return Nearest(x, 0.0, 0.0)
        end = dykstra(self._pieces, x, most=_CYCLES, apart=_APART)
        z, away = end.point, x - end.point
        y = self.snap_inside(z)
        moved = y - z
        gap = 0.5 * float(moved @ moved) - float(moved @ away) + end.gap
        # The products are rounded by (d + 2) u of their sizes, differences by u of the points'.
        size = norm(x) + norm(z)
        slack = (self.dimension + 4) * UNIT * size * sum(map(norm, end.parts))
        return Nearest(y, norm(moved), math.sqrt(2 * max(gap + slack, 0.0)))

    @cached_property
    def _pieces(self) -> tuple[Region, ...]:
        """The sets, with the half-spaces of a polytope one by one: no solver in every cycle."""
        found: list[Region] = []
        for one in self.sets:
            if isinstance(one, Polytope) and one.A.shape[0] <= _ROWS:
                faces = zip(to_dense(one.A), one.b, strict=True)
                found += [Halfspace(a, float(b)) for a, b in faces]
            else:
                found.append(one)
        return tuple(found)

    def snap_inside(self, x: Array) -> Array:
        """Return the point itself, or one towards the inner point that is in every set."""
        if x.ndim > 1:
            return np.array([self.snap_inside(row) for row in x])
        for power in range(50, -1, -1):
            if self.contains(x):
                return x
            # The inner point is a point of every set, so some share of the way back is enough.
            x = self.inner + (1 - 2.0**-power) * (x - self.inner)
        return self.inner.copy()

    def contains(self, x: Array) -> Array:
        """Return whether the point is in every set."""
        x = check_length(x, self.dimension)
        return reduce(and_, (one.contains(x) for one in self.sets))

    def minimize_linear(self, c: Array) -> Array:
        """Raise: the minimum over each set says little about that over all."""
        raise InvalidValueError(
            "minimize_linear must be given a set with a closed form, got an Intersection: "
            "take a rule that projects"
        )
