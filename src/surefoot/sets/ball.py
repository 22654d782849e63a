"""The Euclidean ball."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    convert_like,
    dot,
    find_largest,
    maximum,
    namespace,
    norm,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.parameters import Declared, size, vector
from surefoot.core.points import (
    UNIT,
    ConvexSet,
    add_centre,
    bounded_diameter,
    check_length,
    clean,
    keep_nan,
    only_entry,
    subtract_centre,
    sum_entries,
)
from surefoot.core.types import Array, Number, Real
from surefoot.sets.simplex import onto_simplex

__all__ = ["Ball", "L1Ball"]


class Centred(Declared, kw_only=False):
    """The radius and the centre of a ball in some norm."""

    radius: Real = size()
    centre: Array | None = vector(default=None)

    @property
    def dimension(self) -> int | None:
        """The length of the centre; None for a ball around 0, which fits every dimension."""
        return None if self.centre is None else int(self.centre.shape[-1])

    @property
    def diameter(self) -> float:
        """Twice the radius; of the l1 ball the distance between opposite corners."""
        return 2.0 * float(self.radius)


class Ball(Centred, ConvexSet, kw_only=False):
    r"""The ball :math:`\{x : \|x - c\| \le R\}`; :math:`R\mathbb{B}` when the centre is 0.

    Args:
        radius: :math:`R > 0`.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> Ball(1.0).project(np.array([3.0, -4.0])).round(12)
        array([ 0.6, -0.8])
        >>> Ball(1.0, centre=[2.0, 0.0]).minimize_linear(np.array([0.0, 5.0]))
        array([ 2., -1.])
    """

    def bounding_ball(self) -> Ball:
        """Return the ball itself."""
        return self

    def with_dimension(self, dimension: int | None) -> Ball:
        """Return the ball with an explicit centre; without one, 0 of that length."""
        is_explicit = self.centre is not None or dimension is None
        return self if is_explicit else Ball(self.radius, np.zeros(dimension or 0))

    @property
    def reach_from_origin(self) -> Number:
        """The largest norm of a point of the ball; the rounding of its points scales with it."""
        return self.radius if self.centre is None else self.radius + norm(self.centre)

    def reach(self, point: Array) -> float:
        """Return the largest distance from a point to a point of the ball."""
        way = to_numpy(subtract_centre(point, self.centre))
        return float(self.radius) + float(np.linalg.norm(way))

    def project(self, x: Array) -> Array:
        r"""Return the nearest point, :math:`c + (x - c)\min(1, R/\|x - c\|)`.

        The result of a point outside the ball lies a rounding error inside the sphere. So the
        ball contains it as computed, and a second projection changes nothing.
        """
        x = check_length(x, self.dimension, "the point to project")
        z = subtract_centre(x, self.centre)
        squared = dot(z, z)
        inside = squared <= self.radius * self.radius
        if inside is True:
            return x
        _reject_infinite(squared, x, "the point to project")
        # The maximum is taken before the root: the derivative of the root at 0 is infinite.
        p = self._inner(x) / sqrt(maximum(squared, self.radius * self.radius)) * z
        # One run raises above; a run of a batch must become NaN, not the centre.
        p = add_centre(where(squared < math.inf, p, math.nan), self.centre)
        # Inside, return x itself: centre + (x - centre) differs by a rounding error.
        return where(inside, x, p)

    def _inner(self, x: Array) -> Number:
        """Return the radius less a bound on the rounding of a computed norm.

        A sum of d squares, in any order, errs by at most d u of itself, u = 2^-53. The root
        halves that. Scaling adds 3u, and adding the centre u (|c| + R) per entry. If the centre is
        so large that the bound exceeds the radius, only the centre is certain to be inside.
        """
        d = x.shape[-1]
        inner = self.radius * (1.0 - (d + 8) * 2.0**-53)
        if self.centre is None:
            return inner
        return maximum(inner - 2 * d * 2.0**-53 * norm(self.centre), 0.0)

    def contains(self, x: Array) -> Array:
        """Return whether the computed distance to the centre is at most the radius."""
        x = check_length(x, self.dimension)
        z = subtract_centre(x, self.centre)
        return dot(z, z) <= self.radius * self.radius

    def minimize_linear(self, c: Array) -> Array:
        r"""Return the point :math:`-R c/\|c\|` from the centre; the centre itself when c is 0."""
        c = check_length(c, self.dimension, "c")
        n = norm(c)
        _reject_infinite(n, c, "c")
        return add_centre(-self._inner(c) * c / where(n > 0, n, 1.0), self.centre)

    def kernel_fields(self, d: int) -> dict[str, Any] | None:
        """Return the ball as fields of ``sf_rule``; None if it is of another dimension or a batch.

        The kernel asks objects of this very class, and of no subclass.
        """
        if self.dimension not in (None, d) or not isinstance(self.radius, float):
            return None
        return {
            "middle": self.centre,
            "around": self.radius,
            "diameter": bounded_diameter(self),
            "domain": "SF_BALL",
            "radius": self.radius,
            "inner": float(self._inner(np.zeros(d))),
            "centre": self.centre,
        }


def _reject_infinite(size: Number, x: Array, name: str) -> None:
    """Raise for a point of one run whose size is not finite."""
    if isinstance(size, float) and not size < math.inf:
        checks.refuse_unfinite(to_numpy(x), name)
        raise checks.invalid(name, "of a finite square", x)


class L1Ball(Centred, ConvexSet, kw_only=False):
    r"""The l1 ball :math:`\{x : \sum_i |x_i - c_i| \le r\}`.

    Args:
        radius: :math:`r > 0`.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> import numpy as np
        >>> L1Ball(2.0).project(np.array([3.0, -1.5, 0.25])).round(12)
        array([ 1.75, -0.25,  0.  ])
        >>> L1Ball(2.0).minimize_linear(np.array([1.0, -4.0, 0.5]))
        array([0., 2., 0.])
    """

    def _nearest(self, x: Array, inside: Array) -> Array:
        r"""Return the nearest point: :math:`|x - c|` onto a simplex, with the signs restored.

        The result of a point outside the ball lies a rounding error inside. So the ball contains
        it as computed, and a second projection changes nothing.
        """
        z = subtract_centre(x, self.centre)
        p = namespace(x).sign(z) * onto_simplex(abs(z), self.radius, self._inner(x))
        return add_centre(p, self.centre)

    def contains(self, x: Array) -> Array:
        """Return whether the computed l1 distance to the centre is at most the radius."""
        x = check_length(x, self.dimension)
        return sum_entries(abs(subtract_centre(x, self.centre))) <= self.radius

    def minimize_linear(self, c: Array) -> Array:
        """Return the corner opposite to the (first) largest entry of c; the centre if c is 0."""
        c = clean(c, self.dimension, "c")
        xp = namespace(c)
        size, index = find_largest(abs(c))
        # Around 0 the corner is exact: nothing is added to its one entry.
        radius = self.radius if self.centre is None else self._inner(c)
        corner = only_entry(index, where(size > 0, radius + 0.0 * size, 0.0), c)
        return add_centre(keep_nan(c, xp.where(c > 0, 0.0 - corner, corner)), self.centre)

    def _inner(self, x: Array) -> Number:
        """Return the radius less a bound on the rounding of a computed l1 norm.

        The sum is computed twice, after a scaling and in `contains`: (2d + 8) u together. Adding
        and subtracting the centre changes entry i by at most 2u (|c_i| + 2|p_i|). If the centre is
        so large that the bound exceeds the radius, only the centre is certain to be inside.
        """
        inner = self.radius * (1.0 - (2 * x.shape[-1] + 16) * UNIT)
        if self.centre is None:
            return inner
        return maximum(inner - 4 * UNIT * sum_entries(abs(convert_like(self.centre, x))), 0.0)
