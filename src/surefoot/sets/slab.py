"""The slab between two parallel hyperplanes."""

from __future__ import annotations

import math

from surefoot.core import parameters
from surefoot.core.arrays import convert_like, dot, maximum, minimum, sqrt, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.points import UNIT, check_length, clean
from surefoot.core.types import Array, Number

__all__ = ["Slab"]


class Slab(Declared, kw_only=False):
    r"""The slab :math:`\{x : l \le a^\top x \le u\}`.

    Args:
        normal: :math:`a \ne 0`.
        lower: :math:`l`.
        upper: :math:`u > l`.

    Example:
        >>> import numpy as np
        >>> between = Slab([0.0, 2.0], lower=-3.0, upper=1.0)
        >>> between.project(np.array([[3.0, 1.0], [4.0, -5.0], [0.5, 0.25]])).round(12)
        array([[ 3.  ,  0.5 ], [ 4.  , -1.5 ], [ 0.5 ,  0.25]])
    """

    normal: Array = parameters.normal()
    lower: Number = parameters.number()
    upper: Number = parameters.number()

    def __post_init__(self) -> None:
        super().__post_init__()
        both = isinstance(self.lower, float) and isinstance(self.upper, float)
        if both and self.lower >= self.upper:
            raise InvalidValueError(
                f"upper must be above lower = {self.lower:g}, got {self.upper:g}: "
                "a hyperplane is better parametrised than projected onto"
            )

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.normal.shape[-1])

    @property
    def diameter(self) -> float:
        """Infinite, except for one entry, where a slab is an interval."""
        if self.dimension > 1:
            return math.inf
        return (float(self.upper) - float(self.lower)) / abs(float(self.normal[0]))

    def project(self, x: Array) -> Array:
        r"""Return the nearest point: the part of x along a moves, the part across stays.

        A point outside lands a rounding error inside, so that :meth:`contains` is true of it. If
        the slab is thinner than the rounding of :math:`a^\top p`, no computed point is certain to
        be inside: one run is refused and a run of a batch becomes NaN.
        """
        x = clean(x, self.dimension)
        a = convert_like(self.normal, x)
        value = dot(x, a)
        inside = (value >= self.lower) & (value <= self.upper)
        if inside is True:
            return x
        squared = dot(a, a)
        # Across a, twice: the first time leaves rounding of the size of x, which may be far away,
        # the second only of the size of the part itself. A part that the second time more than
        # halves was nothing but that rounding (Kahan's criterion), and is 0.
        first = x - (value / squared) * a
        across = first - (dot(first, a) / squared) * a
        across = where(4.0 * dot(across, across) <= dot(first, first), 0.0 * across, across)
        # With M = |a||across| + max(|l|, |u|): a'across is at most 2 (d + 3) u M, the point errs by
        # 3 u M / |a|, and a'p, computed again, by (d + 1) u M; together less than the margin.
        # The maximum is taken before the root: the derivative of the root at 0 is infinite.
        length = sqrt(squared)
        limit = maximum(abs(self.lower), abs(self.upper)) / length
        size = length * (sqrt(maximum(dot(across, across), limit * limit)) + limit)
        margin = (4 * self.dimension + 16) * UNIT * size
        thick = 2.0 * margin <= self.upper - self.lower
        if thick is False:
            raise InvalidValueError(
                f"upper - lower must be above {2 * margin:.1e}, the rounding of a'p at the "
                f"projection p of this point, got {self.upper - self.lower:.1e}"
            )
        along = minimum(maximum(value, self.lower + margin), self.upper - margin)
        return where(inside, x, across + where(thick, along / squared, math.nan) * a)

    def contains(self, x: Array) -> Array:
        r"""Return whether :math:`l \le a^\top x \le u`, exactly."""
        x = check_length(x, self.dimension)
        value = dot(x, convert_like(self.normal, x))
        return (value >= self.lower) & (value <= self.upper)

    def minimize_linear(self, c: Array) -> Array:
        """Raise: over a slab a linear function has in general no minimum."""
        raise InvalidValueError(
            "minimize_linear must be given a bounded set, got a Slab: "
            "intersect it with a ball or a box"
        )
