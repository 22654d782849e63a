"""Constraints that change from round to round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self, TypeVar, final

import numpy as np

from surefoot import _check
from surefoot._array import HoldsArrays, constant, largest, namespace, one_run, row
from surefoot.constraints.affine import Affine, row_errors
from surefoot.constraints.base import Constraint, dimension_of, point
from surefoot.constraints.shift import shift
from surefoot.errors import InvalidValueError
from surefoot.sets import Ball
from surefoot.types import Array, Number

__all__ = ["AffineStream", "ConstraintStream", "Drifting"]

S = TypeVar("S", bound="ConstraintStream")


class ConstraintStream(HoldsArrays, ABC):
    r"""Constraints :math:`g_t(x) \le 0`, one for each round, revealed after the action is played.

    The comparator is an action that is feasible in all rounds: that of :meth:`worst`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def horizon(self) -> int:
        """How many rounds there are."""

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The length of an action, where it is known."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many constraints :meth:`query_all` keeps apart in a round."""

    @abstractmethod
    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """The largest absolute value of any one of them in any round, as for a constraint."""

    def row_slopes(self, domain: Ball) -> Array:
        """Bound the subgradients of each row in every round, ``(m,)``; inf where not known."""
        return np.full(self.rows, np.inf)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Bound the curvature of each row in every round, ``(m,)``; inf where not known."""
        return np.full(self.rows, np.inf)

    def row_errors(self, domain: Ball) -> Array:
        """Bound the rounding of each row in every round, ``(m,)``; inf where not known."""
        return np.full(self.rows, np.inf)

    @abstractmethod
    def query(self, t: Any, x: Array) -> tuple[Number, Array]:
        """The value of round t's constraint and one subgradient, both at x."""

    @abstractmethod
    def query_all(self, t: Any, x: Array) -> tuple[Array, Array]:
        """All m constraints of round t, kept apart."""

    @abstractmethod
    def rounds(self, start: int, stop: int) -> Self:
        """The stream of rounds start to stop - 1."""

    @abstractmethod
    def worst(self) -> Constraint:
        """The largest of all rounds' constraints, as one."""


@final
@dataclass(frozen=True, slots=True)
class Drifting(ConstraintStream):
    """One constraint that tightens and loosens: :math:`g_t(x) = g(x) + o_t`.

    Args:
        constraint: g.
        offsets: :math:`o_t`, ``(T,)``.

    Example:
        >>> from surefoot.constraints import LinfNorm
        >>> g = Drifting(LinfNorm(0.5, 2), [0.0, 0.25])
        >>> g.query(1, np.array([0.5, 0.0]))
        (0.25, array([1., 0.]))
    """

    constraint: Constraint
    offsets: Array

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, Constraint):
            raise InvalidValueError(f"constraint must be a Constraint, got {self.constraint!r}")
        object.__setattr__(self, "offsets", _check.vector(self.offsets, "offsets"))

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.offsets.shape[0])

    @property
    def dimension(self) -> int | None:
        """That of the constraint."""
        return dimension_of(self.constraint)

    @property
    def rows(self) -> int:
        """Those of the constraint."""
        return self.constraint.rows

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """The constraint's own, and as much as it moves at most, up or down."""
        bound = self.constraint.value_bound(domain, point)
        return None if bound is None else bound + float(np.abs(self.offsets).max())

    def row_slopes(self, domain: Ball) -> Array:
        """Those of the constraint."""
        return self.constraint.row_slopes(domain)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Those of the constraint."""
        return self.constraint.row_curvatures(domain)

    def row_errors(self, domain: Ball) -> Array:
        """Those of the constraint shifted by the largest offset."""
        return shift(self.constraint, float(np.abs(self.offsets).max())).row_errors(domain)

    def query(self, t: Any, x: Array) -> tuple[Number, Array]:
        """The constraint's value and the round's offset; the constraint's subgradient."""
        g, s = self.constraint.query(x)
        return g + self._offset(t), s

    def query_all(self, t: Any, x: Array) -> tuple[Array, Array]:
        """Every one of the constraints with the round's offset."""
        g, s = self.constraint.query_all(x)
        return g + self._offset(t), s

    def _offset(self, t: Any) -> Number:
        if type(self.offsets) is np.ndarray:
            return float(self.offsets[t])
        return self.offsets[t]  # within a compiled game

    def rounds(self, start: int, stop: int) -> Drifting:
        """The stream of rounds start to stop - 1."""
        return _unchecked(self, constraint=self.constraint, offsets=self.offsets[start:stop])

    def worst(self) -> Constraint:
        """The constraint at its tightest."""
        return shift(self.constraint, float(self.offsets.max()))


@final
@dataclass(frozen=True, slots=True)
class AffineStream(ConstraintStream):
    r"""Rows of their own for each round: :math:`g_t(x) = \max_i (a_{t,i}^\top x - b_{t,i})`.

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
        A, b = (_check.array(v, name).copy() for v, name in ((self.A, "A"), (self.b, "b")))
        if A.ndim != 3 or 0 in A.shape or b.shape != A.shape[:2]:
            raise InvalidValueError(
                f"A.shape must be (T, m, d) and b.shape (T, m), got {A.shape} and {b.shape}"
            )
        _check.refuse_unfinite(A, "A")
        _check.refuse_unfinite(b, "b")
        zero = np.argwhere(~A.any(axis=2))
        if len(zero):
            t, i = zero[0].tolist()
            raise InvalidValueError(
                f"A must have no zero row, got zeros in row {i} of round {t + 1}"
            )
        for name, values in (("A", A), ("b", b)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.A.shape[0])

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return int(self.A.shape[-1])

    @property
    def rows(self) -> int:
        """The number of rows of a round."""
        return int(self.A.shape[1])

    def value_bound(self, domain: Ball, point: Array | None = None) -> float:
        """The largest of all rounds' rows, attained."""
        every = Affine(self.A.reshape(-1, self.dimension), self.b.ravel())
        return every.value_bound(domain)

    def row_slopes(self, domain: Ball) -> Array:
        """The longest of all rounds, for each row."""
        return np.linalg.norm(self.A, axis=2).max(axis=0) * (1 + 2.0**-50)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """0: each row is linear."""
        return np.zeros(self.rows)

    def row_errors(self, domain: Ball) -> Array:
        """The largest of all rounds, for each row."""
        return row_errors(self.row_slopes(domain), abs(self.b).max(axis=0), domain, self.dimension)

    def query(self, t: Any, x: Array) -> tuple[Number, Array]:
        """The largest row of round t."""
        x = point(x, self.dimension)
        A, values = self._values(t, x)
        value, index = largest(values)
        return value, row(A, index)

    def query_all(self, t: Any, x: Array) -> tuple[Array, Array]:
        """All rows of round t."""
        x = point(x, self.dimension)
        A, values = self._values(t, x)
        return values, A if one_run(x) else namespace(x).broadcast_to(A, (x.shape[0], *A.shape))

    def _values(self, t: Any, x: Array) -> tuple[Array, Array]:
        A, b = constant(self.A[t], x), constant(self.b[t], x)
        return A, (A @ x if one_run(x) else x @ A.T) - b

    def rounds(self, start: int, stop: int) -> AffineStream:
        """The stream of rounds start to stop - 1."""
        return _unchecked(self, A=self.A[start:stop], b=self.b[start:stop])

    def worst(self) -> Affine:
        """All rows of all rounds at once; of rows that differ in b alone, the tightest."""
        A, which = np.unique(self.A.reshape(-1, self.dimension), axis=0, return_inverse=True)
        b = np.full(len(A), np.inf)
        np.minimum.at(b, which.ravel(), self.b.ravel())
        return Affine(A, b)


def _unchecked(stream: S, **parts: Any) -> S:
    """The same stream with parts of checked arrays, which are not checked again."""
    made = object.__new__(type(stream))
    for name, value in parts.items():
        object.__setattr__(made, name, value)
    return made
