"""Norms as constraints: Euclidean, l1, largest entry, and those of a matrix's singular values."""

import math
from typing import ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    convert_like,
    dot,
    find_largest,
    is_one_run,
    namespace,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.parameters import Declared, count, size, vector
from surefoot.core.points import nan_where_invalid, only_entry, subtract_centre, sum_entries
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import (
    Constraint,
    bound_above,
    bound_below,
    gamma,
    level_below,
    point,
)
from surefoot.sets import Ball, Box, L1Ball, NuclearBall, SpectralBall
from surefoot.sets.ball import Centred
from surefoot.sets.matrix import Matrices, to_matrices

__all__ = ["L1Norm", "L2Norm", "LinfNorm", "NuclearNorm", "SpectralNorm"]


class L2Norm(Centred, Constraint, kw_only=False):
    r"""The Euclidean ball as a constraint, :math:`g(x) = \|x - c\| - r`.

    At the centre, the one kink, the subgradient is 0.

    Args:
        radius: :math:`r > 0`.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> L2Norm(1.0).query(np.array([3.0, -4.0]))
        (4.0, array([ 0.6, -0.8]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the distance to the sphere, negative inside, and the unit vector outwards."""
        x = point(x, self.dimension)
        z = subtract_centre(x, self.centre)
        length = sqrt(dot(z, z))
        return length - self.radius, z / where(length > 0, length, 1.0)

    @property
    def region(self) -> Ball:
        """The ball itself."""
        return Ball(self.radius, self.centre)

    @property
    def interior(self) -> Array | None:
        """The centre; None for the default centre 0, whose length is unknown."""
        return self.centre

    def subgradient_bound(self, domain: Ball) -> float:
        """Return 1, up to the rounding of a unit vector."""
        return 1.0 + 2.0**-50

    def evaluation_error(self, domain: Ball) -> float | None:
        r"""Return :math:`\gamma_{d+10}(L + r + 2R)`, L the largest distance to the centre.

        The entries of x - c err by u of themselves, the length by :math:`\gamma_{d+3}` of itself
        (a sum of squares loses nothing), the difference with r once; the unit vector by
        :math:`\gamma_{d+6}`, over a distance of 2R. None if d is unknown.
        """
        dimension = self.dimension or domain.dimension
        if dimension is None:
            return None
        terms = self._farthest(domain) + float(self.radius) + domain.diameter
        return gamma(dimension + 10) * terms

    def curvature(self, domain: Ball | None = None) -> float | None:
        r"""Return :math:`1/\delta` on a ball :math:`\delta > 0` away from the centre; else None.

        The Hessian is :math:`(I - uu^\top)/\|x - c\|`. The square of the norm, a
        :class:`~surefoot.problems.constraints.QuadraticForm`, has the same feasible set and no
        kink.
        """
        if domain is None:
            return None
        nearest = (1 - gamma(8)) * self._farthest(domain) - domain.diameter
        return 1.0 / nearest * (1 + 2.0**-50) if nearest > 0 else None

    def _farthest(self, domain: Ball) -> float:
        """Return the largest distance from the centre to a point of the domain, rounded up."""
        length = (
            float(domain.reach_from_origin) if self.centre is None else domain.reach(self.centre)
        )
        return length * (1 + 2.0**-50)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        """Return 1: the norm has a unit gradient wherever x is not the centre.

        Where g = -epsilon with epsilon < r, the distance to the centre is r - epsilon > 0.
        """
        return 1.0 - 2.0**-50, level_below(float(self.radius), epsilon)


class PolyhedralNorm(Constraint, Declared, kw_only=False):
    """A norm of the distance to a centre, whose constants depend on the dimension."""

    radius: Number = size()
    dimension: int = count()
    centre: Array | None = vector(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.centre is not None and tuple(self.centre.shape) != (self.dimension,):
            raise checks.invalid("centre.shape", f"({self.dimension},)", tuple(self.centre.shape))

    def _offset(self, x: Array) -> Array:
        return subtract_centre(point(x, self.dimension), self.centre)

    @property
    def interior(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else to_numpy(self.centre)


class L1Norm(PolyhedralNorm, kw_only=False):
    r"""The cross-polytope as a constraint, :math:`g(x) = \sum_i |x_i - c_i| - r`.

    The subgradient has the sign of each entry, 0 for an entry at its kink.

    Args:
        radius: :math:`r > 0`.
        dimension: d; :math:`G_g` depends on it.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> L1Norm(1.0, dimension=3).query(np.array([0.5, 0.0, -1.25]))
        (0.75, array([ 1.,  0., -1.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the 1-norm of x - c minus the radius, and the signs of x - c."""
        z = self._offset(x)
        return sum_entries(abs(z)) - self.radius, namespace(z).sign(z)

    @property
    def region(self) -> L1Ball:
        """The ball itself."""
        return L1Ball(self.radius, self.centre)

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\sqrt d`, attained off the axes: subgradient entries are in [-1, 1]."""
        return math.sqrt(self.dimension)

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return :math:`\gamma_{d+3}(\sqrt d L + r)`, L the largest distance to the centre.

        The entries of x - c err by u of themselves, their sum by :math:`\gamma_d` of itself, the
        difference with r once; a sign is exact.
        """
        farthest = math.sqrt(self.dimension) * domain.reach(self.interior)
        return gamma(self.dimension + 3) * (farthest + float(self.radius))

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return 1, attained on the axes.

        Where g = -epsilon with epsilon < r, the l1 distance to the centre is r - epsilon > 0, so
        some entry is off its kink, and that entry of every subgradient is 1 or -1. On an axis
        the other entries are at their kinks and may be 0.
        """
        return 1.0, level_below(float(self.radius), epsilon)


class LinfNorm(PolyhedralNorm, kw_only=False):
    r"""The cube as a constraint, :math:`g(x) = \max_i |x_i - c_i| - r`.

    The subgradient is a signed unit vector; of entries that tie, the first counts, and an entry
    of exactly 0 counts as positive.

    Args:
        radius: :math:`r > 0`, half the side.
        dimension: d; sigma depends on it.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> LinfNorm(0.5, dimension=2).query(np.array([0.25, -1.0]))
        (0.5, array([ 0., -1.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest size of an entry of x - c minus the radius, and its sign there."""
        z = self._offset(x)
        value, index = find_largest(abs(z))
        ones = namespace(z).ones_like(z)
        sign = where(z < 0, -ones, ones)
        return value - self.radius, only_entry(index, sign, z)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the 2d faces, the positive directions first."""
        z = self._offset(x)
        xp = namespace(z)
        faces = convert_like(np.vstack([np.eye(self.dimension), -np.eye(self.dimension)]), z)
        values = xp.concat([z, -z], axis=-1) - self.radius
        return values, faces if is_one_run(z) else faces + 0.0 * z[:, None, :]

    @property
    def rows(self) -> int:
        """The number of faces."""
        return 2 * self.dimension

    @property
    def region(self) -> Box:
        """The cube itself; a limit that rounding puts at g > 0 moves to the number before it."""
        lower, upper = self.interior - self.radius, self.interior + self.radius
        while (over := upper - self.interior > self.radius).any():
            upper = np.where(over, np.nextafter(upper, -np.inf), upper)
        while (over := self.interior - lower > self.radius).any():
            lower = np.where(over, np.nextafter(lower, np.inf), lower)
        return Box(lower, upper)

    def subgradient_bound(self, domain: Ball) -> float:
        """Return 1: subgradients are convex combinations of signed unit vectors."""
        return 1.0

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return :math:`\gamma_4(L + r)`: two differences; L is the largest distance to c."""
        return gamma(4) * (domain.reach(self.interior) + float(self.radius))

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return 0 for each face: all are linear."""
        return np.zeros(self.rows)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return :math:`1/\sqrt d`, attained at the corners.

        Where g = -epsilon with epsilon < r, the active entries are at distance r - epsilon > 0
        from the centre, so each has one sign and the active gradients are k <= d orthonormal
        vectors; the shortest convex combination of them is their mean, of norm
        :math:`1/\sqrt k`.
        """
        return 1.0 / math.sqrt(self.dimension), level_below(float(self.radius), epsilon)


class _MatrixNorm(Matrices, Constraint, kw_only=False):
    r"""A norm of the singular values of a matrix, less a radius.

    With the thin decomposition :math:`X = U\Sigma V^\top` and k singular values that count, the
    norm is their sum, and :math:`U_kV_k^\top` is a subgradient at every X, whatever its rank.
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        r"""Return the norm minus the radius, and :math:`U_kV_k^\top` row by row."""
        x, k = nan_where_invalid(point(x, self.dimension)), self.counted
        xp, X = namespace(x), to_matrices(x, self.shape)
        U, values, Vt = xp.linalg.svd(X, full_matrices=False)
        s = xp.reshape(U[..., :, :k] @ Vt[..., :k, :], x.shape)
        mask = sum_entries(
            0.0 * x
        )  # 0, or NaN for an action that is; LAPACK fails on NaN, and got 0
        return sum_entries(values[..., :k]) - self.radius + mask, s + mask

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\sqrt k`.

        No singular value of a subgradient is above 1, and their sum or their number is at most k,
        so that its Frobenius norm is at most that; :math:`U_kV_k^\top` attains it.
        """
        k = self.counted or min(self.shape)
        return bound_above(math.sqrt(k), self.dimension + 64 * sum(self.shape))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound the errors of singular values, and of vectors that are nearly orthonormal.

        Each value errs by :math:`16(m+n)u\|X\|_2`, the solver's backward error, and
        :math:`\|U_kV_k^\top\|_2` is 1 up to the same share.
        """
        k = min(self.shape)
        size = float(domain.reach_from_origin) + domain.diameter
        terms = math.sqrt(k) * size + float(self.radius)
        return gamma(32 * sum(self.shape) * k + 64) * terms

    @property
    def interior(self) -> Array:
        """The zero matrix."""
        return np.zeros(self.dimension)


class SpectralNorm(_MatrixNorm, kw_only=False):
    r"""The largest singular value of a matrix action, :math:`g(X) = \|X\|_2 - r`.

    An action is the matrix row by row, a vector of length ``rows * columns``. The subgradient is
    :math:`uv^\top` of the top singular pair.

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> g = SpectralNorm((2, 2), 1.0)
        >>> g.query(np.array([0.0, 3.0, 0.5, 0.0]))
        (2.0, array([0., 1., 0., 0.]))
    """

    counted: ClassVar[int | None] = 1

    @property
    def region(self) -> SpectralBall:
        """The ball itself."""
        return SpectralBall(self.shape, self.radius)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return :math:`1/\sqrt{\min(\text{rows}, \text{columns})}`, attained by :math:`UV^\top`.

        Where g = -epsilon with epsilon < r, the top singular value is r - epsilon > 0, with
        multiplicity k and orthonormal singular vectors U, V of k columns. The subgradients are
        :math:`UWV^\top` with W positive semi-definite of trace 1, and
        :math:`\|UWV^\top\|_F = \|W\|_F \ge \mathrm{tr}(W)/\sqrt k`, equal for W = I/k; k is at
        most the smaller side, and is that where all singular values are equal.
        """
        sigma = 1.0 / math.sqrt(min(self.shape))
        return bound_below(sigma, 0), level_below(float(self.radius), epsilon)


class NuclearNorm(_MatrixNorm, kw_only=False):
    r"""The sum of the singular values of a matrix action, :math:`g(X) = \|X\|_* - r`.

    An action is the matrix row by row. With the thin decomposition :math:`X = U\Sigma V^\top`
    the subgradient is :math:`UV^\top`.

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> g = NuclearNorm((2, 2), 1.0)
        >>> value, subgradient = g.query(np.array([0.0, 3.0, -0.5, 0.0]))
        >>> value, subgradient.round(12) + 0.0
        (2.5, array([ 0.,  1., -1.,  0.]))
    """

    @property
    def region(self) -> NuclearBall:
        """The ball itself."""
        return NuclearBall(self.shape, self.radius)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return 1, attained at matrices of rank one.

        Where g = -epsilon with epsilon < r, X is not 0. At rank k >= 1 the subgradients are
        :math:`U_kV_k^\top + W` with W orthogonal to it and :math:`\|W\|_2 \le 1`, of squared
        norm :math:`k + \|W\|_F^2 \ge 1`; equal to 1 for k = 1 and W = 0.
        """
        return 1.0, level_below(float(self.radius), epsilon)
