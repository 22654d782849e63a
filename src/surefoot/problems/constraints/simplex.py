"""The simplex as a constraint: nonnegative shares that sum to at most a total."""

from __future__ import annotations

from typing import final

import numpy as np

from surefoot.core.arrays import convert_like, find_largest, is_one_run, namespace, take_rows
from surefoot.core.parameters import Declared, count, positive
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, point
from surefoot.sets import Ball, Simplex

__all__ = ["SimplexRows"]


@final
class SimplexRows(Constraint, Declared, kw_only=False):
    r"""Shares of a total: :math:`g(x) = \max(\max_i -x_i,\ \sum_i x_i - s)`.

    The total is met up to the rounding of a sum, as :class:`surefoot.sets.Simplex` has it, so that
    its points are feasible as computed. Shares may add up to less; methods that work on the simplex
    itself, such as entropic ones, always spend all.

    Args:
        dimension: d, the number of shares.
        total: s > 0.

    Example:
        >>> SimplexRows(2).query(np.array([0.75, 0.5]))[1]
        array([1., 1.])
    """

    dimension: int = count()
    total: float = positive(default=1.0)

    @property
    def limit(self) -> float:
        """The total plus the rounding of a sum of d shares."""
        return self.total * (1 + (2 * self.dimension + 8) * 2.0**-53)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return minus each share, then the excess of the sum."""
        x = point(x, self.dimension)
        values, rows = self._values(x), convert_like(self._rows(), x)
        return values, rows if is_one_run(x) else rows + 0.0 * x[:, None, :]

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest row, and its slope."""
        x = point(x, self.dimension)
        value, index = find_largest(self._values(x))
        return value, take_rows(convert_like(self._rows(), x), index)

    def _values(self, x: Array) -> Array:
        xp = namespace(x)
        over = xp.sum(x, axis=-1, keepdims=True) - self.limit
        return xp.concat([-x, over], axis=-1)

    def _rows(self) -> Array:
        return np.vstack([-np.eye(self.dimension), np.ones((1, self.dimension))])

    @property
    def rows(self) -> int:
        """One row per share, and one for the sum."""
        return self.dimension + 1

    @property
    def region(self) -> Simplex:
        """The simplex on which the whole total is spent."""
        return Simplex(self.dimension, self.total)

    @property
    def interior(self) -> Array:
        """Equal shares of half the total."""
        return np.full(self.dimension, 0.5 * self.total / self.dimension)

    def subgradient_bound(self, domain: Ball) -> float:
        """Return the norm of the row of the sum."""
        return float(np.sqrt(self.dimension)) * (1 + 2.0**-50)
