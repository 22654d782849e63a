"""Constraints that change from round to round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from surefoot._array import constant, largest, one_run, row
from surefoot.constraints.affine import Affine
from surefoot.constraints.base import Constraint
from surefoot.constraints.shift import shift
from surefoot.types import Array, Number

__all__ = ["AffineStream", "ConstraintStream", "Drifting"]


class ConstraintStream(ABC):
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
@dataclass(frozen=True, slots=True, eq=False)
class Drifting(ConstraintStream):
    """One constraint that tightens and loosens: :math:`g_t(x) = g(x) + o_t`.

    Args:
        constraint: g.
        offsets: :math:`o_t`, ``(T,)``.

    Example:
        >>> from surefoot.constraints import LinfBall
        >>> g = Drifting(LinfBall(0.5, 2), [0.0, 0.25])
        >>> g.query(1, np.array([0.5, 0.0]))
        (0.25, array([1., 0.]))
    """

    constraint: Constraint
    offsets: Array

    def __post_init__(self) -> None:
        if type(self.offsets) in (list, tuple, np.ndarray):
            offsets = np.array(self.offsets, dtype=np.float64)
            if offsets.ndim != 1 or not offsets.size or not np.isfinite(offsets).all():
                raise ValueError(f"offsets must be finite numbers, one a round, got {offsets!r}")
            object.__setattr__(self, "offsets", offsets)

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.offsets.shape[0])

    @property
    def dimension(self) -> int | None:
        """That of the constraint."""
        return getattr(self.constraint, "dimension", None)

    def query(self, t: Any, x: Array) -> tuple[Number, Array]:
        """The constraint's value and the round's offset; the constraint's subgradient."""
        g, s = self.constraint.query(x)
        return g + self._offset(t, x), s

    def query_all(self, t: Any, x: Array) -> tuple[Array, Array]:
        """Every one of the constraints with the round's offset."""
        g, s = self.constraint.query_all(x)
        return g + self._offset(t, x), s

    def _offset(self, t: Any, x: Array) -> Number:
        offset = self.offsets[t]
        return float(offset) if type(x) is np.ndarray else constant(np.asarray(offset), x)

    def rounds(self, start: int, stop: int) -> Drifting:
        """The stream of rounds start to stop - 1."""
        return replace(self, offsets=self.offsets[start:stop])

    def worst(self) -> Constraint:
        """The constraint at its tightest."""
        return shift(self.constraint, float(self.offsets.max()))


@final
@dataclass(frozen=True, slots=True, eq=False)
class AffineStream(ConstraintStream):
    r"""Rows of their own for each round: :math:`g_t(x) = \max_i (a_{t,i}^\top x - b_{t,i})`.

    Args:
        A: rows, ``(T, m, d)``.
        b: right-hand sides, ``(T, m)``.

    Example:
        >>> g = AffineStream([[[1.0, 0.0]], [[0.0, 2.0]]], [[1.0], [1.0]])
        >>> g.query(1, np.array([0.5, 0.75]))
        (0.5, array([0., 2.]))
    """

    A: Array
    b: Array

    def __post_init__(self) -> None:
        if type(self.A) in (list, tuple, np.ndarray):
            A, b = np.array(self.A, dtype=np.float64), np.array(self.b, dtype=np.float64)
            if A.ndim != 3 or 0 in A.shape or b.shape != A.shape[:2]:
                raise ValueError(
                    f"A.shape must be (T, m, d) and b.shape (T, m), got {A.shape} and {b.shape}"
                )
            for name, values in (("A", A), ("b", b)):
                if not np.isfinite(values).all():
                    t = int(np.argwhere(~np.isfinite(values))[0][0])
                    raise ValueError(f"{name} must be finite, got {values[t]!r} in round {t + 1}")
            object.__setattr__(self, "A", A)
            object.__setattr__(self, "b", b)

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.A.shape[0])

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return int(self.A.shape[-1])

    def query(self, t: Any, x: Array) -> tuple[Number, Array]:
        """The largest row of round t."""
        A, values = self._values(t, x)
        value, index = largest(values)
        return value, row(A, index)

    def query_all(self, t: Any, x: Array) -> tuple[Array, Array]:
        """All rows of round t."""
        A, values = self._values(t, x)
        return values, A if one_run(x) else A + 0.0 * x[:, None, :]

    def _values(self, t: Any, x: Array) -> tuple[Array, Array]:
        A, b = constant(self.A[t], x), constant(self.b[t], x)
        return A, (A @ x if one_run(x) else x @ A.T) - b

    def rounds(self, start: int, stop: int) -> AffineStream:
        """The stream of rounds start to stop - 1."""
        return replace(self, A=self.A[start:stop], b=self.b[start:stop])

    def worst(self) -> Affine:
        """All rows of all rounds at once, each once."""
        rows = np.unique(
            np.column_stack([self.A.reshape(-1, self.dimension), self.b.ravel()]), axis=0
        )
        return Affine(rows[:, :-1], rows[:, -1])
