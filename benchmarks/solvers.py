"""Projection onto a polytope as users of each solver do it: set up once, warm where it can be.

Each entry of ``SOLVERS`` makes, from A and b, a function that projects a point onto Ax <= b. What
is not installed is left out. Tolerances are those that its users take for a projection: defaults
where they are tight enough, else 1e-6 (OSQP, a first-order method) or 1e-9 (ProxQP).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from surefoot.core.types import Array
from surefoot.sets import Polytope

Projection: TypeAlias = Callable[[Array], Array]
Maker: TypeAlias = Callable[[Any, Array], Projection]


def _module(name: str) -> Any:
    return importlib.import_module(name)


def quadprog(A: Any, b: Array) -> Projection:
    solve = _module("quadprog").solve_qp
    C, least, identity = np.asfortranarray(-A.T), -b, np.eye(A.shape[1])
    # The factor of the identity, ready made; an active-set method that has no warm start.
    return lambda y: solve(identity, y, C, least, 0, True)[0]


def daqp(A: Any, b: Array) -> Projection:
    solve, identity = _module("daqp").solve, np.eye(A.shape[1])
    rows, limits = np.array(A, order="C"), np.array(b)  # which it wants to be writable
    return lambda y: solve(identity, -y, rows, limits)[0]


def osqp(A: Any, b: Array) -> Projection:
    sparse = _module("scipy.sparse")
    m, d = A.shape
    solver = _module("osqp").OSQP()
    solver.setup(
        sparse.csc_matrix(sparse.identity(d)),
        np.zeros(d),
        sparse.csc_matrix(A),
        np.full(m, -np.inf),
        b,
        verbose=False,
        eps_abs=1e-6,
        eps_rel=1e-6,
        max_iter=100_000,
    )

    def project(y: Array) -> Array:
        solver.update(q=-y)
        return solver.solve(raise_error=False).x  # from where the last one ended

    return project


def _updated(program: Any, linear: str, found: Callable[[], Any]) -> Projection:
    """Project by a program whose linear term goes by that name and whose result is kept."""

    def project(y: Array) -> Array:
        program.update(**{linear: -y})
        program.solve()
        return np.array(found())

    return project


def proxqp(A: Any, b: Array) -> Projection:
    proxqp = _module("proxsuite").proxqp
    m, d = A.shape
    program = proxqp.dense.QP(d, 0, m, False, proxqp.dense.HessianType.Diagonal)
    program.settings.eps_abs = 1e-9
    program.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
    program.init(np.eye(d), np.zeros(d), None, None, A, np.full(m, -1e20), b)
    program.solve()  # before there is a previous result, an update crashes

    return _updated(program, "g", lambda: program.results.x)


def piqp(A: Any, b: Array) -> Projection:
    m, d = A.shape
    solver = _module("piqp").DenseSolver()
    solver.setup(np.eye(d), np.zeros(d), None, None, A, np.full(m, -1e30), b)

    return _updated(solver, "c", lambda: solver.result.x)


def clarabel(A: Any, b: Array) -> Projection:
    sparse, clarabel = _module("scipy.sparse"), _module("clarabel")
    m, d = A.shape
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False  # it would forbid new data
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.identity(d)),
        np.zeros(d),
        sparse.csc_matrix(A),
        b,
        [clarabel.NonnegativeConeT(m)],
        settings,
    )

    def project(y: Array) -> Array:
        solver.update(q=-y)
        return np.array(solver.solve().x)

    return project


def cvxpy(A: Any, b: Array) -> Projection:
    cp = _module("cvxpy")
    d = A.shape[1]
    x, point = cp.Variable(d), cp.Parameter(d)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - point)), [A @ x <= b])

    def project(y: Array) -> Array:
        point.value = y
        problem.solve(solver="CLARABEL", warm_start=True)
        return np.array(x.value)

    return project


def surefoot(A: Any, b: Array) -> Projection:
    return Polytope(A, b).project


class Solver:
    """A way to project, with what it needs; ``sparse`` where it is to be had for sparse rows."""

    def __init__(self, name: str, make: Maker, needs: str, sparse: bool = False) -> None:
        self.name, self.make, self.sparse = name, make, sparse
        self.is_installed = importlib.util.find_spec(needs) is not None


SOLVERS = (
    Solver("quadprog", quadprog, "quadprog"),
    Solver("daqp", daqp, "daqp"),
    Solver("PIQP", piqp, "piqp"),
    Solver("ProxQP", proxqp, "proxsuite"),
    Solver("OSQP", osqp, "osqp", sparse=True),
    Solver("Clarabel", clarabel, "clarabel", sparse=True),
    Solver("cvxpy", cvxpy, "cvxpy"),
    Solver("Polytope.project", surefoot, "daqp"),
)
"""The quickest at small sizes first."""
