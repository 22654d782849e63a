"""The intersection and the product of sets, projected onto by the projection onto each."""

import math
from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import namespace, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, has_methods
from surefoot.core.points import (
    UNIT,
    check_length,
    clean,
    common_dimension,
    diameter_of,
    dimension_of,
    nan_where_invalid,
    snap_inside,
    to_dense,
)
from surefoot.core.types import Array, Set
from surefoot.sets.halfspace import Halfspace
from surefoot.sets.polytope import Nearest, Polytope, project_each, require_numpy

__all__ = ["Intersection", "Product"]

_CYCLES = 5_000
_ROWS = 64  # Project row by row onto a polytope with at most so many rows; else by its solver.
_CLOSE = 1e-14  # the relative distance of the points of the sets at which cycles end


def check_sets(candidates: Iterable[Any], *methods: str) -> tuple[Any, ...]:
    """Return the sets as a tuple; reject no sets and sets without one of the methods."""
    sets = tuple(candidates)
    if not sets:
        raise InvalidValueError("sets must be at least one set, got none")
    for one in sets:
        if not has_methods(one, *methods):
            raise InvalidValueError(f"sets must have {' and '.join(methods)}, got {one!r}")
        if not getattr(one, "is_convex", True):
            raise checks.invalid("sets", "convex", one)
    return sets


class Intersection(Declared, kw_only=False):
    r"""The points that are in every one of several sets, by Dykstra's method; NumPy only.

    The answer is in every set exactly, by the ``contains`` of each. If the method ends a rounding
    error outside a set, the point moves towards an inner point, as little as is enough.

    Args:
        sets: each with a projection; yours need ``project`` and ``contains``.
        inner: a point of all sets, preferably well inside.

    Example:
        >>> from surefoot.sets import Ball, Halfspace
        >>> slab = Halfspace([1.0, -1.0], 0.2), Halfspace([-1.0, 1.0], 0.2)
        >>> fair = Intersection([Ball(1.0), *slab], inner=[0.0, 0.0])
        >>> corner = fair.nearest(np.array([2.0, 0.5]))  # a corner of the ball and the slab
        >>> corner.point.round(6), fair.contains(corner.point), corner.error < 1e-6
        (array([0.8, 0.6]), True, True)
    """

    sets: tuple[Set, ...]
    inner: Array

    def __post_init__(self) -> None:
        sets = check_sets(self.sets, "project", "contains")
        d = common_dimension(sets, "sets must have one dimension")
        inner = checks.to_vector(self.inner, "inner", length=d)
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
        """The smallest diameter of a set; an upper bound."""
        return min(map(diameter_of, self.sets))

    def project(self, x: Array) -> Array:
        """Return the nearest point, in every set exactly; :meth:`nearest` has its error."""
        return project_each(self, x, "an Intersection")

    def nearest(self, x: Array) -> Nearest:
        r"""Return the projection of one point, feasible, with a proven bound on its error.

        Dykstra's method ends at z with :math:`x - z = \sum p_i`, each :math:`p_i` normal to its set
        at :math:`a_i`. The dual value of these is at most :math:`\|p^* - x\|^2/2`, and
        :math:`\|\cdot - x\|^2/2` is 1-strongly convex, so for every y of the intersection

        .. math::
            \tfrac12\|y - p^*\|^2 \le \tfrac12\|y - z\|^2 - (y - z)^\top(x - z)
            + \sum p_i^\top(a_i - z).
        """
        require_numpy(x, "an Intersection")
        x = clean(x, self.dimension)
        if self.contains(x):
            return Nearest(x, 0.0, 0.0)
        places, parts = self._cycle(x)
        z = places[-1]
        y = self.snap_inside(z)
        moved = y - z
        pulls = sum(p @ (a - z) for p, a in zip(parts, places, strict=True))
        gap = 0.5 * float(moved @ moved) - float(moved @ (x - z)) + float(pulls)
        # The products are rounded by (d + 2) u of their sizes, differences by u of the points'.
        size = norm(x) + norm(z)
        slack = (self.dimension + 4) * UNIT * size * sum(map(norm, parts))
        return Nearest(y, norm(moved), math.sqrt(2 * max(gap + slack, 0.0)))

    def _cycle(self, x: Array) -> tuple[list[Array], list[Array]]:
        """Project onto the sets in turn, after adding back the last correction of each set.

        Return the last points :math:`a_i` of the sets and the corrections :math:`p_i`. The cycles
        end when all points are close: if they coincide, they are the projection.
        """
        z, sets = x, self._pieces
        parts, places = [np.zeros_like(x) for _ in sets], [x] * len(sets)
        for _ in range(_CYCLES):
            for i, one in enumerate(sets):
                target = z + parts[i]
                z = places[i] = one.project(target)
                parts[i] = target - z
            if all(norm(z - a) <= _CLOSE * norm(z) for a in places[:-1]):
                break
        return places, parts

    @cached_property
    def _pieces(self) -> tuple[Set, ...]:
        """The sets, with the half-spaces of a polytope one by one: no solver in every cycle."""
        pieces: list[Set] = []
        for one in self.sets:
            if isinstance(one, Polytope) and one.A.shape[0] <= _ROWS:
                faces = zip(to_dense(one.A), one.b, strict=True)
                pieces += [Halfspace(a, float(b)) for a, b in faces]
            else:
                pieces.append(one)
        return tuple(pieces)

    def snap_inside(self, x: Array) -> Array:
        """Return the point itself, or one towards the inner point that is in every set."""
        if x.ndim > 1:
            return np.array([self.snap_inside(row) for row in x])
        for power in range(50, -1, -1):
            if self.contains(x):
                return x
            # Every set contains the inner point, so some share of the way there is enough.
            x = self.inner + (1 - 2.0**-power) * (x - self.inner)
        return self.inner.copy()

    def contains(self, x: Array) -> Array:
        """Return whether the point is in every set."""
        x = check_length(x, self.dimension)
        return reduce(and_, (one.contains(x) for one in self.sets))

    def minimize_linear(self, c: Array) -> Array:
        """Raise: the minimum over an intersection has no closed form."""
        raise InvalidValueError(
            "minimize_linear must be given a set with a closed form, got an Intersection: "
            "take a rule that projects"
        )


class Product(Declared, kw_only=False):
    r"""The product :math:`X_1 \times \dots \times X_n`: each set takes the next few entries.

    Args:
        sets: :math:`X_1, \dots, X_n`.
        sizes: the number of entries of each set; by default the dimensions of the sets.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Ball, Simplex
        >>> both = Product([Simplex(2), Ball(1.0)], sizes=[2, 3])
        >>> both.project(np.array([3.0, 2.5, 0.0, -4.0, 3.0])).round(12)
        array([ 0.75,  0.25,  0.  , -0.8 ,  0.6 ])
    """

    sets: tuple[Set, ...]
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sets = check_sets(self.sets, "project", "contains", "minimize_linear")
        object.__setattr__(self, "sets", sets)
        dimensions = [dimension_of(one) for one in sets]
        sizes: list[int | None] = list(self.sizes) or dimensions
        if len(sizes) != len(sets):
            raise checks.invalid("sizes", f"{len(sets)}, one for each set", len(sizes))
        for one, size, dimension in zip(sets, sizes, dimensions, strict=True):
            if size is None or dimension not in (None, size):
                rule = f"{dimension or 'given'} for this {type(one).__name__}"
                raise checks.invalid("sizes", rule, size)
        whole = tuple(checks.positive_int(size, "each of sizes") for size in sizes)
        object.__setattr__(self, "sizes", whole)

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return sum(self.sizes)

    @property
    def diameter(self) -> float:
        """The root of the sum of the squared diameters."""
        return math.hypot(*map(diameter_of, self.sets))

    def project(self, x: Array) -> Array:
        """Project each part onto its own set."""
        x = clean(x, self.dimension)
        parts = [one.project(part) for one, part in self._split(x)]
        return namespace(x).concat(parts, axis=-1)

    def snap_inside(self, x: Array) -> Array:
        """Move each part back into its own set if rounding put it outside."""
        parts = [snap_inside(one, part) for one, part in self._split(x)]
        return namespace(x).concat(parts, axis=-1)

    def contains(self, x: Array) -> Array:
        """Return whether each part is in its own set."""
        x = check_length(x, self.dimension)
        parts = self._split(nan_where_invalid(x))
        return reduce(and_, (one.contains(part) for one, part in parts))

    def minimize_linear(self, c: Array) -> Array:
        """Minimise over each part's own set."""
        c = clean(c, self.dimension, "c")
        parts = [one.minimize_linear(part) for one, part in self._split(c)]
        return namespace(c).concat(parts, axis=-1)

    def _split(self, x: Array) -> Iterator[tuple[Set, Array]]:
        start = 0
        for one, size in zip(self.sets, self.sizes, strict=True):
            yield one, x[..., start : start + size]
            start += size
