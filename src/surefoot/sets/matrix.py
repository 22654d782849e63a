"""Balls of matrices, for actions that are the entries of a matrix, row by row."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

from surefoot.core import checks
from surefoot.core.arrays import minimum, namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, size
from surefoot.core.points import (
    UNIT,
    ConvexSet,
    check_length,
    clean,
    keep_nan,
    nan_where_invalid,
    sum_entries,
)
from surefoot.core.types import Array, Number
from surefoot.sets.simplex import onto_simplex

__all__ = ["NuclearBall", "SpectralBall"]


class Matrices(Declared, kw_only=False):
    """Matrices of a shape, row by row, whose norm is at most a radius.

    Attributes:
        counted: the number of largest singular values that the norm adds up; None for all.
    """

    counted: ClassVar[int | None] = None

    shape: tuple[int, int]
    radius: Number = size()

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            rows, columns = self.shape
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"shape must be (rows, columns), got {self.shape!r}") from error
        shape = checks.positive_int(rows, "shape[0]"), checks.positive_int(columns, "shape[1]")
        object.__setattr__(self, "shape", shape)

    @property
    def dimension(self) -> int:
        """The number of entries of a matrix."""
        return self.shape[0] * self.shape[1]


class _MatrixBall(Matrices, ConvexSet, ABC, kw_only=False):
    """A ball around 0 in a norm of the singular values."""

    @property
    def diameter(self) -> float:
        r"""The distance between opposite extreme matrices, :math:`2r\sqrt k`, k their rank."""
        rank = min(self.shape) if self.counted else 1
        return 2.0 * float(self.radius) * math.sqrt(rank)

    @abstractmethod
    def _cut(self, values: Array, inner: Number) -> Array:
        """Return the singular values of the nearest matrix whose norm is at most ``inner``."""

    def _nearest(self, x: Array, inside: Array) -> Array:
        """Return the nearest matrix, by its singular values.

        Its norm is a rounding error below the radius. So the ball contains it as computed, and a
        second projection changes nothing.
        """
        U, sigma, V = _svd(x, self.shape)
        return _flat(U, self._cut(sigma, self.radius * _inner(self.shape)), V)

    def minimize_linear(self, c: Array) -> Array:
        r"""Return the matrix :math:`-rU_kV_k^\top`, where c is :math:`U\Sigma V^\top`.

        It takes all singular vectors for the spectral norm, the first pair for the nuclear norm.
        """
        c = clean(c, self.dimension, "c")
        rank = None if self.counted else 1
        U, sigma, V = _svd(c, self.shape)
        values = 0.0 * sigma[..., :rank] - self.radius * _inner(self.shape)
        return keep_nan(c, _flat(U[..., :, :rank], values, V[..., :rank, :]))

    def contains(self, x: Array) -> Array:
        """Return whether the norm of the computed singular values is at most the radius."""
        x = nan_where_invalid(check_length(x, self.dimension))
        values = namespace(x).linalg.svdvals(to_matrices(x, self.shape))
        nan = sum_entries(0.0 * x)  # NaN for a NaN point, else 0; LAPACK never gets NaN
        return sum_entries(values[..., : self.counted]) + nan <= self.radius


class SpectralBall(_MatrixBall, kw_only=False):
    r"""The matrices with no singular value above the radius, :math:`\{X : \sigma_1(X) \le r\}`.

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> import numpy as np
        >>> ball = SpectralBall((2, 2), 1.0)
        >>> ball.project(np.array([0.0, 3.0, -0.5, 0.0])).round(12)  # singular values 3 and 0.5
        array([ 0. ,  1. , -0.5,  0. ])
    """

    counted: ClassVar[int | None] = 1

    def _cut(self, values: Array, inner: Number) -> Array:
        return minimum(values, inner + 0.0 * values)


class NuclearBall(_MatrixBall, kw_only=False):
    r"""The matrices whose singular values sum to at most the radius.

    .. math:: \{X : \sum_i \sigma_i(X) \le r\}

    Args:
        shape: rows and columns.
        radius: :math:`r > 0`.

    Example:
        >>> import numpy as np
        >>> ball = NuclearBall((2, 2), 1.0)
        >>> ball.project(np.array([0.0, 3.0, -2.5, 0.0])).round(12)  # singular values 3 and 2.5
        array([ 0.  ,  0.75, -0.25,  0.  ])
    """

    def _cut(self, values: Array, inner: Number) -> Array:
        return onto_simplex(values, self.radius, inner)


def _inner(shape: tuple[int, int]) -> float:
    """Return one less a bound on the rounding of a computed spectral or nuclear norm.

    LAPACK computes singular values to p u of the largest, and singular vectors that are orthonormal
    to p u. Here p is "a modestly growing function" of the shape (LAPACK Users' Guide, 4.9), taken
    as 4 (m + n), ten times what random matrices show. Let k = min(m, n). Multiplying U, the values
    and V' errs by (k + 1) u of the sum of the values in the Frobenius norm, and by at most k^(1/2)
    times that in the nuclear norm. The vectors add 2p u and the final values k p u. All are
    relative to k times the spectral or once the nuclear radius; 16 k (m + n) u is above the sum.
    """
    rows, columns = shape
    return 1.0 - 16 * min(shape) * (rows + columns) * UNIT


def _svd(x: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    U, sigma, V = namespace(x).linalg.svd(to_matrices(x, shape), full_matrices=False)
    return U, sigma, V


def to_matrices(x: Array, shape: tuple[int, int]) -> Array:
    """Return the points as matrices, with 0 for NaN points, which LAPACK cannot handle."""
    xp = namespace(x)
    return xp.reshape(xp.where(xp.isnan(x), 0.0, x), (*x.shape[:-1], *shape))


def _flat(U: Array, sigma: Array, V: Array) -> Array:
    """Return the matrices U diag(sigma) V as points."""
    product = (U * sigma[..., None, :]) @ V
    return namespace(product).reshape(product, (*product.shape[:-2], -1))
