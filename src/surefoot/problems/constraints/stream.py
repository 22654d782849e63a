"""Constraints that change from round to round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, instance_of, replace_unchecked, vector
from surefoot.core.points import dimension_of
from surefoot.core.types import Array, Index, Number
from surefoot.problems.constraints.affine import Affine
from surefoot.problems.constraints.base import Constraint
from surefoot.problems.constraints.combine import Shifted, shift
from surefoot.sets import Ball

__all__ = ["AffineStream", "ConstraintStream", "Drifting"]


class ConstraintStream(Declared, ABC, kw_only=False):
    r"""Constraints :math:`g_t(x) \le 0`, one for each round, revealed after the action is played.

    The comparator is an action that is feasible in all rounds: that of :meth:`worst`.
    """

    @property
    @abstractmethod
    def horizon(self) -> int:
        """The number of rounds."""

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The length of an action, if known."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of constraints that :meth:`query_all` returns in a round."""

    @abstractmethod
    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """Return the largest absolute value of any row in any round; None if unknown."""

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Bound the curvature of each row in every round, ``(m,)``; inf if unknown."""
        return np.full(self.rows, np.inf)

    @abstractmethod
    def at(self, t: Index) -> Constraint:
        """Return the constraint of round t."""

    @final
    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return the value of round t's constraint and one subgradient, both at x."""
        return self.at(t).query(x)

    @final
    def query_all(self, t: Index, x: Array) -> tuple[Array, Array]:
        """Return all m constraints of round t separately."""
        return self.at(t).query_all(x)

    @abstractmethod
    def rounds(self, start: int, stop: int) -> Self:
        """Return the stream of the rounds from start to stop - 1."""

    @abstractmethod
    def worst(self) -> Constraint:
        """Return the maximum of the constraints of all rounds as one constraint."""


@final
class Drifting(ConstraintStream, kw_only=False):
    """One constraint that tightens and loosens: :math:`g_t(x) = g(x) + o_t`.

    Args:
        constraint: g.
        offsets: :math:`o_t`, ``(T,)``.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> g = Drifting(LinfNorm(0.5, 2), [0.0, 0.25])
        >>> g.query(1, np.array([0.5, 0.0]))
        (0.25, array([1., 0.]))
    """

    constraint: Constraint = instance_of(Constraint)
    offsets: Array = vector()

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.offsets.shape[0])

    @property
    def dimension(self) -> int | None:
        """The dimension of the constraint; None if it has none."""
        return dimension_of(self.constraint)

    @property
    def rows(self) -> int:
        """The number of rows of the constraint."""
        return self.constraint.rows

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return the row curvatures of the constraint."""
        return self.constraint.row_curvatures(domain)

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """Return the bound of the constraint plus the largest offset, up or down."""
        bound = self.constraint.value_bound(domain, point)
        return None if bound is None else bound + float(np.abs(self.offsets).max())

    def at(self, t: Index) -> Shifted:
        """Return the constraint with the offset of round t."""
        offset = self.offsets[t]
        rho = float(offset) if isinstance(self.offsets, np.ndarray) else offset
        return replace_unchecked(Shifted(self.constraint, 0.0), rho=rho)

    def rounds(self, start: int, stop: int) -> Drifting:
        """Return the stream of the rounds from start to stop - 1."""
        return replace_unchecked(self, offsets=self.offsets[start:stop])

    def worst(self) -> Constraint:
        """Return the constraint at its tightest."""
        return shift(self.constraint, float(self.offsets.max()))


_SOME_ROWS = Affine([[1.0]], [0.0])


@final
class AffineStream(ConstraintStream, kw_only=False):
    r"""Separate rows for each round: :math:`g_t(x) = \max_i (a_{t,i}^\top x - b_{t,i})`.

    Args:
        A: rows, ``(T, m, d)``, none of them zero.
        b: right-hand sides, ``(T, m)``.

    Example:
        >>> g = AffineStream([[[1.0, 0.0]], [[0.0, 2.0]]], [[1.0], [1.0]])
        >>> g.query(1, np.array([0.5, 0.75]))
        (0.5, array([0., 2.]))
    """

    A: Array
    b: Array

    def __post_init__(self) -> None:
        A, b = (checks.to_array(v, name).copy() for v, name in ((self.A, "A"), (self.b, "b")))
        if A.ndim != 3 or 0 in A.shape or b.shape != A.shape[:2]:
            raise InvalidValueError(
                f"A.shape must be (T, m, d) and b.shape (T, m), got {A.shape} and {b.shape}"
            )
        for name, values in (("A", A), ("b", b)):
            checks.refuse_unfinite(values, name)
            object.__setattr__(self, name, freeze(values))
        zero = np.argwhere(~A.any(axis=2))
        if len(zero):
            t, i = zero[0].tolist()
            raise InvalidValueError(
                f"A must have no zero row, got zeros in row {i} of round {t + 1}"
            )

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.A.shape[0])

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return int(self.A.shape[-1])

    @property
    def rows(self) -> int:
        """The number of rows per round."""
        return int(self.A.shape[1])

    def value_bound(self, domain: Ball, point: Array | None = None) -> float:
        """Return the largest value of any row in any round, attained."""
        return Affine(self.A.reshape(-1, self.dimension), self.b.ravel()).value_bound(domain)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return 0 for each row: all are linear."""
        return np.zeros(self.rows)

    def at(self, t: Index) -> Affine:
        """Return the rows of round t."""
        return replace_unchecked(_SOME_ROWS, A=self.A[t], b=self.b[t])

    def rounds(self, start: int, stop: int) -> AffineStream:
        """Return the stream of the rounds from start to stop - 1."""
        return replace_unchecked(self, A=self.A[start:stop], b=self.b[start:stop])

    def worst(self) -> Affine:
        """Return all rows of all rounds as one; of rows that differ only in b, the tightest."""
        A, which = np.unique(self.A.reshape(-1, self.dimension), axis=0, return_inverse=True)
        b = np.full(len(A), np.inf)
        np.minimum.at(b, which.ravel(), self.b.ravel())
        return Affine(A, b)
