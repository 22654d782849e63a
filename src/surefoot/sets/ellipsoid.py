"""The ellipsoid."""

import math
from dataclasses import field

import numpy as np

from surefoot.core.arrays import convert_like, dot, freeze, maximum, namespace, norm, sqrt, where
from surefoot.core.checks import invalid
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, symmetric, vector
from surefoot.core.points import (
    UNIT,
    ConvexSet,
    check_length,
    clean,
    nan_where_invalid,
    repeat,
    subtract_centre,
    sum_entries,
)
from surefoot.core.types import Array, Number

__all__ = ["Ellipsoid"]

# A long search for bad matrices and points never needed more than 22 steps. Compiled code always
# takes all of these.
_STEPS = 40


class Quadric(Declared, kw_only=False):
    """The matrix and the centre of an ellipsoid, and the eigenvalues and axes of the matrix."""

    P: Array = symmetric()
    centre: Array | None = vector(default=None)
    curvatures: Array = field(init=False, repr=False)
    axes: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        P = self.P
        curvatures, axes = namespace(P).linalg.eigh(P)
        if isinstance(P, np.ndarray):
            # Below this ratio, a computed q'Pq along the longest axis is half rounding.
            d = len(curvatures)
            if not curvatures[0] > 8 * (d + 4) * d**0.5 * UNIT * curvatures[-1]:
                raise InvalidValueError(
                    "P must be positive definite, got eigenvalues from "
                    f"{curvatures[0]:g} to {curvatures[-1]:g}"
                )
        object.__setattr__(self, "curvatures", freeze(curvatures))
        object.__setattr__(self, "axes", freeze(axes))
        if self.centre is not None and self.centre.shape != P.shape[:1]:
            raise invalid("centre.shape", f"({P.shape[0]},)", self.centre.shape)

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.P.shape[-1])


class Ellipsoid(Quadric, ConvexSet, kw_only=False):
    r"""The ellipsoid :math:`\{x : (x - c)^\top P (x - c) \le 1\}`.

    Its semi-axes are the eigenvectors of P, of length :math:`\lambda_i^{-1/2}`.

    Args:
        P: a symmetric positive definite matrix.
        centre: :math:`c`; 0 unless given.

    Attributes:
        curvatures: the eigenvalues :math:`\lambda_i` of P, smallest first.
        axes: its eigenvectors, as columns.

    Example:
        >>> flat = Ellipsoid([[0.25, 0.0], [0.0, 4.0]])  # semi-axes 2 and 0.5
        >>> flat.project(np.array([3.0, 2.0])).round(4)
        array([1.8585, 0.1847])
        >>> flat.minimize_linear(np.array([1.0, 3.0])).round(12)
        array([-1.6, -0.3])
    """

    @property
    def diameter(self) -> float:
        r"""The longest axis, :math:`2\lambda_{\min}^{-1/2}`."""
        return 2.0 / float(sqrt(self.curvatures[0]))

    def _nearest(self, x: Array, inside: Array) -> Array:
        r"""Return the nearest point, :math:`c + (I + \mu P)^{-1}(x - c)` for one :math:`\mu \ge 0`.

        Newton steps find :math:`\mu`, the root of one scalar equation, to rounding. The result
        lies a rounding error inside. So the ellipsoid contains it as computed, and a second
        projection changes nothing.
        """
        z = subtract_centre(x, self.centre)
        value = self._value(z)
        if isinstance(value, float) and not value < math.inf:
            raise invalid("the point to project", "of a square that stays in float64", x)
        axes, ratios, unit = self._eigen(x)
        y = z @ axes
        # In units of the shortest semi-axis.
        mu = solve_secular(unit * sqrt(ratios) * y, ratios, inside)
        return self._place((y * (ratios / (ratios + mu))) @ axes.T)

    def contains(self, x: Array) -> Array:
        r"""Return whether the computed :math:`(x - c)^\top P(x - c)` is at most 1."""
        x = check_length(x, self.dimension)
        return self._value(subtract_centre(nan_where_invalid(x), self.centre)) <= 1.0

    def minimize_linear(self, c: Array) -> Array:
        r"""Return the point :math:`-P^{-1}c/\sqrt{c^\top P^{-1}c}` from the centre."""
        c = clean(c, self.dimension, "c")
        axes, ratios, _ = self._eigen(c)
        xp = namespace(c)
        largest = xp.max(abs(c), axis=-1, keepdims=True)
        y = (c / xp.where(largest > 0, largest, xp.ones_like(largest))) @ axes
        return self._place(-(y * ratios) @ axes.T)

    def _value(self, z: Array) -> Number:
        return dot(z, z @ convert_like(self.P, z))

    def _eigen(self, x: Array) -> tuple[Array, Array, Number]:
        """Return the axes, the largest eigenvalue over each, and the root of the largest."""
        curvatures = convert_like(self.curvatures, x)
        return convert_like(self.axes, x), curvatures[-1] / curvatures, sqrt(curvatures[-1])

    def _place(self, q: Array) -> Array:
        """Return the offset q from the centre, scaled onto the ellipsoid, a rounding error inside.

        A computed q'Pq errs by at most (2d + 2) u |q|'|P||q|, for sums in any order, and is
        computed here and in `contains`. Adding and subtracting the centre changes q by at most
        2u (|c| + 2|q|). It changes the root of q'Pq by at most that times the root of the largest
        eigenvalue; |q| is at most the longest semi-axis. If the centre is so large that the sum
        exceeds 1, only the centre is certain to be inside.
        """
        P = convert_like(self.P, q)
        value = self._value(q)
        value = where(value > 0, value, 1.0)
        size = abs(q)
        scale = 1.0 - (4 * self.dimension + 16) * UNIT * dot(size, size @ abs(P)) / value
        if self.centre is None:
            return q * (scale / sqrt(value))
        centre = convert_like(self.centre, q)
        _, ratios, unit = self._eigen(q)
        scale = scale - 8 * UNIT * (unit * norm(centre) + sqrt(ratios[0]))
        return centre + q * (maximum(scale, 0.0) / sqrt(value))


def solve_secular(g: Array, a: Array, done: Array = False) -> Array:
    r"""Solve :math:`\|s(\mu)\| = 1`, :math:`s_i(\mu) = g_i/(a_i + \mu)`, for :math:`\mu \ge 0`.

    The answer is 0 if :math:`\|s(0)\| \le 1`.

    The function :math:`1/\|s(\mu)\|` is increasing and concave, so Newton steps from the left of
    the root stay to the left. It is close to a line, so they are few. The start is to the left
    because :math:`\|s(\mu)\| \ge \|g\|/(a_1 + \mu)`, :math:`a_1` the largest.

    Args:
        g: the numerators.
        a: positive, in falling order.
        done: runs that need no root.
    """

    def newton(mu: Array) -> Array:
        s = g / (a + mu)
        squared = dot(s, s)
        # A run that is `done` needs no root; at the centre it would divide 0 by 0.
        idle = done | (squared == 0)
        slope = where(idle, 1.0, sum_entries(s * s / (a + mu)))
        return mu + where(idle, 0.0, (sqrt(maximum(squared, 1.0)) - 1.0) * squared / slope)

    # To the left of the root the norm is above 1: the maxima change nothing there, but their
    # derivatives stay finite at 0, where that of the root is not.
    start = sqrt(maximum(dot(g, g), a[0] * a[0])) - a[0]
    return repeat(newton, start, _STEPS)
