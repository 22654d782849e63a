"""SciPy: the three kinds of constraints of ``scipy.optimize``, to be played here.

Three lines::

    box, rows = Bounds([0, 0], [1, 1]), LinearConstraint([[1, 1]], -np.inf, 1.5)
    limit = from_scipy(box, rows)
    problem = sf.Problem.of(costs, limit, domain, start)

Bounds and linear constraints become affine rows with their constants. A ``NonlinearConstraint`` is
called for its value and its ``jac``, and has no constants but those given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.points import to_dense
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine, Constraint, FunctionConstraint, max_of

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
            sides that are equal leave no interior and are rejected. Upper limits need convex
            functions, lower limits concave ones; neither SciPy nor this function can check that.
        bound: a bound on the gradients of every nonlinear function; certified rules by slope need
            it.
        beta: their smoothness constant; certified rules by smoothness need it.

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
            rule = "Bounds, LinearConstraint or NonlinearConstraint of scipy.optimize"
            raise checks.invalid("constraints", rule, one)
    if not parts:
        raise InvalidValueError("constraints must have a finite limit, got none")
    return parts[0] if len(parts) == 1 else max_of(*parts)


def _limits(lower: Array, upper: Array, size: int) -> list[tuple[float, Array, Array]]:
    """Return a sign, the rows with a finite limit and these limits, for upper and lower ones."""
    low, high = (np.broadcast_to(np.asarray(v, np.float64), (size,)) for v in (lower, upper))
    if not (low < high).all():
        i = int(np.argmax(~(low < high)))
        raise InvalidValueError(
            f"lb must be below ub, so that there is an interior, got {low[i]:g} and {high[i]:g} in "
            f"row {i}"
        )
    finite = [np.flatnonzero(np.isfinite(v)) for v in (high, low)]
    return [(1.0, finite[0], high[finite[0]]), (-1.0, finite[1], low[finite[1]])]


def _rows(A: Array, lower: Array, upper: Array) -> list[Constraint]:
    """Return Ax <= upper and -Ax <= -lower, where these are finite."""
    limits = _limits(lower, upper, A.shape[0])
    parts = [sign * A[rows] for sign, rows, _ in limits]
    b = np.concatenate([sign * most for sign, _, most in limits])
    if not len(b):
        return []
    return [Affine(_sparse.vstack(parts) if _sparse.issparse(A) else np.vstack(parts), b)]


def _functions(
    one: NonlinearConstraint, bound: float | None, beta: float | None
) -> list[Constraint]:
    """Return each function with a limit as a constraint; all are called once per action."""
    if not callable(one.jac):
        raise checks.invalid("jac", "a function: differences are no subgradients", one.jac)
    checks.function(fun=one.fun)
    size = max(np.size(one.lb), np.size(one.ub))
    last: dict[bytes, tuple[Array, Array]] = {}

    def call(x: Array) -> tuple[Array, Array]:
        if x.tobytes() not in last:
            values = np.atleast_1d(np.array(one.fun(x), dtype=np.float64))
            if len(values) != size:
                raise InvalidValueError(
                    f"lb and ub must have one entry per function, got {size} for {len(values)}"
                )
            slopes = np.array(np.atleast_2d(to_dense(one.jac(x))), dtype=np.float64)
            last.clear()
            last[x.tobytes()] = values, slopes
        return last[x.tobytes()]

    def read(row: int, sign: float, limit: float) -> Constraint:
        return FunctionConstraint(
            lambda x: sign * (float(call(x)[0][row]) - limit),
            lambda x: sign * call(x)[1][row],
            bound=bound,
            beta=beta,
        )

    limits = _limits(one.lb, one.ub, size)
    return [
        read(row, sign, limit)
        for sign, rows, most in limits
        for row, limit in zip(rows.tolist(), most.tolist(), strict=True)
    ]
