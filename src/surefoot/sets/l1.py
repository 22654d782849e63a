"""The l1 ball."""

from __future__ import annotations

from surefoot.core.arrays import convert_like, find_largest, maximum, namespace, where
from surefoot.core.points import UNIT, check_length, clean, keep_nan, only_entry, sum_entries
from surefoot.core.types import Array, Number
from surefoot.sets.ball import Centred
from surefoot.sets.simplex import onto_simplex

__all__ = ["L1Ball"]


class L1Ball(Centred, kw_only=False):
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

    @property
    def diameter(self) -> float:
        """Twice the radius, the distance between opposite corners."""
        return 2.0 * float(self.radius)

    def project(self, x: Array) -> Array:
        r"""Return the nearest point: :math:`|x - c|` onto a simplex, with the signs restored.

        A point outside lands a rounding error inside, so that the result is in the ball as
        computed, and projecting again changes nothing.
        """
        x = clean(x, self.dimension)
        z = self._offset(x)
        size = abs(z)
        inside = sum_entries(size) <= self.radius
        if inside is True:
            return x
        p = namespace(x).sign(z) * onto_simplex(size, self.radius, self._inner(x))
        return where(inside, x, p if self.centre is None else convert_like(self.centre, x) + p)

    def snap_inside(self, x: Array) -> Array:
        """Return the point itself, or the nearest point of the set if rounding put it outside."""
        return self.project(x)

    def contains(self, x: Array) -> Array:
        """Return whether the computed l1 distance to the centre is at most the radius."""
        x = check_length(x, self.dimension)
        return sum_entries(abs(self._offset(x))) <= self.radius

    def minimize_linear(self, c: Array) -> Array:
        """Return the corner opposite to the (first) largest entry of c; the centre if c is 0."""
        c = clean(c, self.dimension, "c")
        xp = namespace(c)
        size, index = find_largest(abs(c))
        # Around 0 the corner is exact: nothing is added to its one entry.
        radius = self.radius if self.centre is None else self._inner(c)
        corner = only_entry(index, where(size > 0, radius + 0.0 * size, 0.0), c)
        v = keep_nan(c, xp.where(c > 0, 0.0 - corner, corner))
        return v if self.centre is None else convert_like(self.centre, c) + v

    def _offset(self, x: Array) -> Array:
        return x if self.centre is None else x - convert_like(self.centre, x)

    def _inner(self, x: Array) -> Number:
        """Return the radius less a bound on the rounding of a computed l1 norm.

        The sum is computed twice, after a scaling and in `contains`: (2d + 8) u together. Adding
        the centre and taking it away again changes entry i by at most 2u (|c_i| + 2|p_i|). Where
        the centre is so far away that this eats the radius, only it itself is certainly inside.
        """
        inner = self.radius * (1.0 - (2 * x.shape[-1] + 16) * UNIT)
        if self.centre is None:
            return inner
        return maximum(inner - 4 * UNIT * sum_entries(abs(convert_like(self.centre, x))), 0.0)
