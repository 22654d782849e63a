"""An expression of CVXPY as a function of one vector; its variables keep their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array

__all__ = ["Evaluated"]


class Evaluated:
    """Values and gradients of an expression, by CVXPY.

    Args:
        expression: any expression of the variables.
        variables: in the order in which they make up an action, each row by row.
    """

    def __init__(self, expression: Any, variables: list[Any]) -> None:
        self.expression, self.variables = expression, variables

    def value(self, x: Array) -> float:
        """Return the value of a scalar expression."""
        return float(self.at(x)[0][0])

    def slope(self, x: Array) -> Array:
        """Return one subgradient of a scalar expression."""
        return self.at(x)[1][0]

    def at(self, x: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and the gradients ``(m, d)``, entries row by row."""
        with self.keeping(self.variables), np.errstate(all="ignore"):
            first = 0
            for v in self.variables:
                v.save_value(np.asarray(x[first : first + v.size]).reshape(v.shape))
                first += v.size
            values = self.expression.value
            try:
                found = self.expression.grad
            except NotImplementedError as error:
                raise InvalidValueError(
                    f"CVXPY must know the gradient of {self.expression}, and does not"
                ) from error
        if values is None or any(slope is None for slope in found.values()):
            raise InvalidValueError(f"{self.expression} must have a gradient at {x}, got none")
        slopes = [self._rows(found.get(v), v) for v in self.variables]
        return np.ravel(np.asarray(values, dtype=np.float64)), np.hstack(slopes)

    def _rows(self, gradient: Any, variable: Any) -> Array:
        """Turn CVXPY's columns, which go down matrices first, into rows that go along them."""
        size = self.expression.size
        if gradient is None:  # of a variable that the expression does not have
            return np.zeros((size, variable.size))
        dense = gradient.toarray() if hasattr(gradient, "toarray") else np.asarray(gradient)
        dense = dense.reshape(variable.size, size)
        dense = dense[_row_by_row(variable.shape)][:, _row_by_row(self.expression.shape)]
        return dense.T

    @staticmethod
    @contextmanager
    def keeping(variables: list[Any]) -> Iterator[None]:
        """Give the variables back the values that they had."""
        before = [v.value for v in variables]
        try:
            yield
        finally:
            for v, value in zip(variables, before, strict=True):
                v.save_value(value)


def _row_by_row(shape: tuple[int, ...]) -> Array:
    """Return where the entries of an array, row by row, are when it is read down its columns."""
    size = int(np.prod(shape, dtype=int))
    return np.ravel(np.arange(size).reshape(shape, order="F"))
