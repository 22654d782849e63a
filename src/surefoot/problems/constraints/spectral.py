"""Norms of a matrix action: the largest singular value, and the sum of all."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core.arrays import namespace, norm, where
from surefoot.core.points import sum_entries
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import (
    Constraint,
    bound_above,
    bound_below,
    gamma,
    level_below,
    point,
)
from surefoot.sets import Ball, NuclearBall, SpectralBall
from surefoot.sets.matrix import Matrices

__all__ = ["NuclearNorm", "SpectralNorm"]


class _MatrixNorm(Matrices, Constraint, kw_only=False):
    """A norm of the singular values of a matrix, less a radius."""

    @property
    def interior(self) -> Array:
        """The zero matrix."""
        return np.zeros(self.dimension)


class SpectralNorm(_MatrixNorm, kw_only=False):
    r"""The largest singular value of a matrix action, :math:`g(X) = \|X\|_2 - r`.

    An action is the matrix row by row, a vector of length ``rows * columns``. The subgradient is
    :math:`uv^\top` of the top singular pair, which comes from the top eigenvector of the smaller
    Gram matrix; no full decomposition is made. At X = 0 it is 0.

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> g = SpectralNorm((2, 2), 1.0)
        >>> g.query(np.array([0.0, 3.0, 0.5, 0.0]))
        (2.0, array([0., 1., 0., 0.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        r"""Return the norm minus the radius, and :math:`uv^\top` row by row.

        The value is :math:`\|X^\top u\|` for the unit u that was found, so that value and
        subgradient belong together and the subgradient inequality holds whatever the rounding
        of u.
        """
        x = point(x, self.dimension)
        X = _as_matrix(x, self.shape)
        if self.shape[0] > self.shape[1]:
            v, u, length = self._pair(_transpose(X))
        else:
            u, v, length = self._pair(X)
        xp = namespace(x)
        s = xp.expand_dims(u, axis=-1) * xp.expand_dims(v, axis=-2)
        return _unless_lost(x, length - self.radius, xp.reshape(s, x.shape))

    def _pair(self, X: Array) -> tuple[Array, Array, Number]:
        """Return the top singular vectors and value of a wide matrix, or of a batch."""
        u = namespace(X).linalg.eigh(X @ _transpose(X))[1][..., :, -1]
        u = u / norm(u)
        if X.ndim == 2:
            w = _transpose(X) @ u
        else:
            xp = namespace(X)
            w = xp.reshape(xp.expand_dims(u, axis=-2) @ X, (X.shape[0], X.shape[2]))
        length = norm(w)
        return u, w / where(length > 0, length, 1.0), length

    @property
    def region(self) -> SpectralBall:
        """The ball itself."""
        return SpectralBall(self.shape, self.radius)

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return 1: subgradients are convex combinations of :math:`uv^\top` of unit vectors."""
        return bound_above(1.0, self.dimension + sum(self.shape))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound what the top pair that is found may miss, and its own rounding.

        With k the smaller side, the Gram matrix and its eigenpair err by :math:`16(m+n)u\|X\|_F^2`
        (the solver's backward error, as elsewhere), so :math:`\|X^\top u\|^2` is that much below
        the square of the norm at most, and the root :math:`\sqrt k\|X\|_F` times that. For unit
        u and v the subgradient inequality is exact but for the rounding of their norms.
        """
        return _bound_rounding(self.shape, self.radius, domain)

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
    the subgradient is :math:`UV^\top`: a subgradient at every X, whatever its rank.

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> g = NuclearNorm((2, 2), 1.0)
        >>> value, subgradient = g.query(np.array([0.0, 3.0, -0.5, 0.0]))
        >>> value, subgradient.round(12) + 0.0
        (2.5, array([ 0.,  1., -1.,  0.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        r"""Return the norm minus the radius, and :math:`UV^\top` row by row."""
        x = point(x, self.dimension)
        xp = namespace(x)
        U, values, Vt = xp.linalg.svd(_as_matrix(x, self.shape), full_matrices=False)
        s = xp.reshape(U @ Vt, x.shape)
        return _unless_lost(x, sum_entries(values) - self.radius, s)

    @property
    def region(self) -> NuclearBall:
        """The ball itself."""
        return NuclearBall(self.shape, self.radius)

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\sqrt{\min(\text{rows}, \text{columns})}`.

        No singular value of a subgradient is above 1, so its Frobenius norm is at most that;
        :math:`UV^\top` attains it.
        """
        return bound_above(math.sqrt(min(self.shape)), self.dimension + 64 * sum(self.shape))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound the errors of k singular values, and of vectors that are nearly orthonormal.

        Each value errs by :math:`16(m+n)u\|X\|_2`, the solver's backward error, and
        :math:`\|UV^\top\|_2` is 1 up to the same share.
        """
        return _bound_rounding(self.shape, self.radius, domain)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return 1, attained at matrices of rank one.

        Where g = -epsilon with epsilon < r, X is not 0. At rank k >= 1 the subgradients are
        :math:`U_kV_k^\top + W` with W orthogonal to it and :math:`\|W\|_2 \le 1`, of squared
        norm :math:`k + \|W\|_F^2 \ge 1`; equal to 1 for k = 1 and W = 0.
        """
        return 1.0, level_below(float(self.radius), epsilon)


def _bound_rounding(shape: tuple[int, int], radius: Number, domain: Ball) -> float:
    """Bound the rounding of either norm; k is the smaller side."""
    k = min(shape)
    size = float(domain.reach_from_origin) + domain.diameter
    return gamma(32 * sum(shape) * k + 64) * (math.sqrt(k) * size + float(radius))


def _as_matrix(x: Array, shape: tuple[int, int]) -> Array:
    """Return the action as a matrix, or a batch of matrices; 0 for an action that is not finite.

    LAPACK gives up at a NaN, and with it on all runs of a batch; :func:`_unless_lost` puts it
    back.
    """
    xp = namespace(x)
    return xp.reshape(xp.where(_lost(x), 0.0, x), (*x.shape[:-1], *shape))


def _lost(x: Array) -> Array:
    """Return whether an action is not finite: a bool or 0-d array for one, a column for a batch."""
    xp = namespace(x)
    return xp.any(~xp.isfinite(x), axis=-1, keepdims=x.ndim > 1)


def _unless_lost(x: Array, g: Number, s: Array) -> tuple[Number, Array]:
    """Return value and subgradient, NaN where the action is not finite."""
    lost = _lost(x)
    if isinstance(g, float):
        return (math.nan, np.full_like(s, math.nan)) if lost else (g, s)
    return where(lost, math.nan, g), where(lost, math.nan, s)


def _transpose(X: Array) -> Array:
    return X.T if X.ndim == 2 else namespace(X).matrix_transpose(X)
