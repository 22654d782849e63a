"""SciPy: the three kinds of constraints of ``scipy.optimize``, to be played here.

Three lines::

    box, rows = Bounds([0, 0], [1, 1]), LinearConstraint([[1, 1]], -np.inf, 1.5)
    limit = from_scipy(box, rows)
    problem = sf.Problem.of(costs, limit, domain, start)

Bounds and linear constraints become affine rows with their constants. A ``NonlinearConstraint`` is
called for its value and its ``jac``, and has no constants but those given.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.problems.constraints import (
    Affine,
    Constraint,
    FunctionConstraint,
    SparseAffine,
    max_of,
)

if TYPE_CHECKING:
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

_optimize = need("scipy.optimize", "cvxpy", "surefoot.adapters.scipy")
_sparse = need("scipy.sparse", "cvxpy", "surefoot.adapters.scipy")

__all__ = ["from_scipy"]


def from_scipy(
    *constraints: Bounds | LinearConstraint | NonlinearConstraint,
    bound: float | None = None,
    beta: float | None = None,
) -> Constraint:
    """Return constraints of SciPy as one constraint: the largest excess over a limit.

    Args:
        constraints: ``Bounds``, ``LinearConstraint`` or ``NonlinearConstraint``. Limits from both
            sides that are equal leave no inside and are refused. Upper limits need convex
            functions, lower limits concave ones: SciPy does not ask, and neither can this.
        bound: a bound on the gradients of every nonlinear function; certified rules by slope need
            it.
        beta: a bound on their curvature; certified rules by curvature need it.

    Example:
        >>> from scipy.optimize import Bounds, NonlinearConstraint
        >>> disc = NonlinearConstraint(lambda x: x @ x, -np.inf, 1.0, jac=lambda x: 2 * x)
        >>> limit = from_scipy(Bounds([0.0, -np.inf], [0.5, np.inf]), disc, bound=2.0, beta=2.0)
        >>> limit.query(np.array([0.0, 2.0]))
        (3.0, array([0., 4.]))
        >>> limit.row_curvatures()
        array([0., 0., 2.])
    """
    parts: list[Constraint] = []
    for one in constraints:
        if isinstance(one, _optimize.Bounds):
            lower, upper = np.broadcast_arrays(np.atleast_1d(one.lb), np.atleast_1d(one.ub))
            parts += _rows(np.eye(len(lower)), lower, upper)
        elif isinstance(one, _optimize.LinearConstraint):
            A = one.A.tocsr() if _sparse.issparse(one.A) else np.atleast_2d(one.A)
            parts += _rows(A, one.lb, one.ub)
        elif isinstance(one, _optimize.NonlinearConstraint):
            parts += _functions(one, bound, beta)
        else:
            raise InvalidValueError(
                "constraints must be Bounds, LinearConstraint or NonlinearConstraint of "
                f"scipy.optimize, got {one!r}"
            )
    if not parts:
        raise InvalidValueError("constraints must have a finite limit, got none")
    return parts[0] if len(parts) == 1 else max_of(*parts)


def _limits(lower: Array, upper: Array, size: int) -> tuple[Array, Array]:
    low = np.broadcast_to(np.asarray(lower, dtype=np.float64), (size,))
    high = np.broadcast_to(np.asarray(upper, dtype=np.float64), (size,))
    if not (low < high).all():
        i = int(np.argmax(~(low < high)))
        raise InvalidValueError(
            f"lb must be below ub, so that there is an inside, got {low[i]:g} and {high[i]:g} in "
            f"row {i}"
        )
    return low, high


def _rows(A: Array, lower: Array, upper: Array) -> list[Constraint]:
    """Return Ax <= upper and -Ax <= -lower, where these are finite."""
    low, high = _limits(lower, upper, A.shape[0])
    up, down = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
    if not len(up) + len(down):
        return []
    b = np.concatenate([high[up], -low[down]])
    if _sparse.issparse(A):
        return [SparseAffine(_sparse.csr_array(_sparse.vstack([A[up], -A[down]])), b)]
    return [Affine(np.vstack([A[up], -A[down]]), b)]


class _Function:
    """The function and the Jacobian of a constraint, called once per action."""

    def __init__(self, constraint: NonlinearConstraint) -> None:
        if not callable(constraint.jac):
            raise InvalidValueError(
                f"jac must be a function: differences are no subgradients, got {constraint.jac!r}"
            )
        self.constraint = constraint
        self.size = max(np.size(constraint.lb), np.size(constraint.ub))
        self.last: tuple[bytes, Array, Array] = (b"", np.zeros(0), np.zeros((0, 0)))

    def at(self, x: Array) -> tuple[Array, Array]:
        key = x.tobytes()
        if key != self.last[0]:
            values = np.atleast_1d(np.array(self.constraint.fun(x), dtype=np.float64))
            jac = self.constraint.jac(x)
            dense = jac.toarray() if _sparse.issparse(jac) else jac
            if len(values) != self.size:
                raise InvalidValueError(
                    f"lb and ub must have one entry per function, got {self.size} for {len(values)}"
                )
            self.last = key, values, np.array(np.atleast_2d(dense), dtype=np.float64)
        return self.last[1:]

    def value(self, row: int, sign: float, limit: float, x: Array) -> float:
        return sign * float(self.at(x)[0][row]) - sign * limit

    def slope(self, row: int, sign: float, x: Array) -> Array:
        return sign * self.at(x)[1][row]


def _functions(
    constraint: NonlinearConstraint, bound: float | None, beta: float | None
) -> list[Constraint]:
    function = _Function(constraint)
    low, high = _limits(constraint.lb, constraint.ub, function.size)
    checks.function(fun=constraint.fun)
    parts: list[Constraint] = []
    for sign, limits in ((1.0, high), (-1.0, low)):
        for row in np.flatnonzero(np.isfinite(limits)).tolist():
            value = partial(function.value, row, sign, float(limits[row]))
            slope = partial(function.slope, row, sign)
            parts.append(FunctionConstraint(value, slope, bound, beta))
    return parts
