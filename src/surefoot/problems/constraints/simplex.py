"""The simplex as a constraint: nonnegative shares that sum to at most a total."""

from __future__ import annotations

from dataclasses import field
from typing import final

import numpy as np

from surefoot.core.parameters import Declared, count, positive
from surefoot.core.types import Array
from surefoot.problems.constraints.affine import LinearRows
from surefoot.sets import Simplex

__all__ = ["SimplexRows"]


@final
class SimplexRows(LinearRows, Declared, kw_only=False):
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
    A: Array = field(init=False, repr=False, compare=False)
    b: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.dimension
        # The total plus the rounding of a sum of d shares.
        limit = self.total * (1 + (2 * d + 8) * 2.0**-53)
        object.__setattr__(self, "A", np.vstack([-np.eye(d), np.ones((1, d))]))
        object.__setattr__(self, "b", np.append(np.zeros(d), limit))

    @property
    def region(self) -> Simplex:
        """The simplex on which the whole total is spent."""
        return Simplex(self.dimension, self.total)

    @property
    def interior(self) -> Array:
        """Equal shares of half the total."""
        return np.full(self.dimension, 0.5 * self.total / self.dimension)
