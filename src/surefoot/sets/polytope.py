r"""The polytope :math:`\{x : Ax \le b\}`, by solvers whose answers are made feasible and checked.

A solver returns a point that violates rows by its tolerance, and only claims that the point is near
the optimum. This module moves the point towards an interior point until every computed row holds.
Nonnegative multipliers bound its distance from the true projection: see :meth:`Polytope.nearest`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import freeze, is_sparse
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared, rows, vector
from surefoot.core.points import (
    UNIT,
    check_length,
    clean,
    divide_rows,
    nan_where_invalid,
    row_norms,
    row_terms,
    to_dense,
)
from surefoot.core.types import Array
from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.halfspace import Halfspace

__all__ = ["Nearest", "Polytope"]


class Nearest(NamedTuple):
    """A projection onto a polytope, with a bound on its error.

    Attributes:
        point: a point of the polytope, every computed row at most 0.
        residual: the largest excess of a row at the solver's answer; 0 if none.
        error: the distance from the point to the true projection is at most this.
    """

    point: Array
    residual: float
    error: float


class Rows(Declared, kw_only=False):
    """The rows of a matrix, and a limit for each."""

    A: Array = rows()
    b: Array = vector()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not checks.is_traced(self.A):
            checks.to_vector(self.b, "b", length=self.A.shape[0])

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return int(self.A.shape[1])


class Polytope(Rows, kw_only=False):
    r"""The polytope :math:`\{x : Ax \le b\}`, with an interior; NumPy only.

    Projection and linear minimisation need the extra ``solve``; ``contains`` does not.

    Args:
        A: rows :math:`a_i`, ``(m, d)``, none of them zero; NumPy, lists or SciPy sparse.
        b: ``(m,)``.

    Example:
        >>> triangle = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [0.0, 0.0, 2.0])
        >>> triangle.project(np.array([2.0, 2.0])).round(9)
        array([1.2, 0.4])
        >>> triangle.minimize_linear(np.array([-1.0, -1.0])).round(9)
        array([2., 0.])
        >>> triangle.nearest(np.array([2.0, 2.0])).error < 1e-5
        True
    """

    @property
    def diameter(self) -> float:
        """An upper bound, the diagonal of the smallest box around the polytope."""
        return self.bounding_ball().diameter

    def project(self, x: Array) -> Array:
        """Return the point of :meth:`nearest`, row by row for a batch."""
        return project_each(self, x, "a Polytope")

    def snap_inside(self, x: Array) -> Array:
        """Return the point, moved inside if rounding may have put it outside; no solver."""
        x = check_length(x, self.dimension)
        return self._pull_inside(x) if x.ndim == 1 else np.array([self._pull_inside(p) for p in x])

    def contains(self, x: Array) -> Array:
        """Return whether every computed row of Ax - b is at most 0."""
        require_numpy(x, "a Polytope")
        x = nan_where_invalid(check_length(x, self.dimension))
        if x.ndim == 1:
            return bool((self._excess(x) <= 0).all())
        # One by one: a sum in another order might put a point on the boundary outside.
        return np.array([[self.contains(row)] for row in x])

    def nearest(self, x: Array) -> Nearest:
        r"""Return the projection of one point, feasible, with a proven bound on its error.

        For any multipliers :math:`z \ge 0` the dual value :math:`z^\top(Ax - b) - \|A^\top z\|^2/2`
        is at most :math:`\|p^* - x\|^2/2`, and :math:`\|\cdot - x\|^2/2` is 1-strongly convex, so

        .. math::
            \tfrac12\|p - p^*\|^2
            \le \tfrac12\|p - x\|^2 - z^\top(Ax - b) + \tfrac12\|A^\top z\|^2
            = \tfrac12\|p - x + A^\top z\|^2 + z^\top(b - Ap)

        for every p of the polytope. The last form has no difference of large numbers. The rounding
        of its terms is added. So its second term is at least a rounding error, and the bound on the
        distance at least the root of one, about 1e-7. The point itself is more accurate.
        """
        require_numpy(x, "a Polytope")
        x = clean(x, self.dimension)
        if self.contains(x):
            return Nearest(x, 0.0, 0.0)
        rows, norms = self._unit_rows
        # # Around x, in units of its distance to the most violated row, which is at most its
        # distance to the polytope. So the numbers are moderate, however far away and large the
        # polytope is.
        violation = self._excess(x) / norms
        unit = float(violation.max())
        right = -violation / unit
        answer = None if is_sparse(rows) else _solve_dense(rows, right)
        q, z = _solve_sparse(rows, right) if answer is None else answer
        solved = x + unit * q
        point, residual = self._pull_inside(solved), max(0.0, float(self._excess(solved).max()))
        return Nearest(point, residual, self._distance_bound(x, point, z * (unit / norms)))

    def minimize_linear(self, c: Array) -> Array:
        """Return a corner that minimises the inner product with c, a rounding error inside."""
        require_numpy(c, "a Polytope")
        c = clean(c, self.dimension, "c")
        if c.ndim > 1:
            return np.array([r if np.isnan(r[0]) else self.minimize_linear(r) for r in c])
        largest = float(abs(c).max())
        if largest == 0.0:
            return self.interior.copy()
        y, _ = self._corner(c / largest)
        interior, depth = self._chebyshev
        return self._pull_inside(interior + depth * y)

    def bounding_ball(self) -> Ball:
        """Return the ball around the smallest box that contains the polytope (2d linear programs).

        The bound does not depend on the solver's accuracy. Where the multipliers w >= 0 of a
        program have ``A'w = e + r``, e the direction, every x of the polytope has ``e'x = w'Ax -
        r'x <= b'w + |r|_1 |x|_inf``. The largest of these bounds the largest entry of x.
        """
        return self._bounding_ball

    @property
    def interior(self) -> Array:
        """The centre of a largest ball in the polytope (of some ball, where there is no largest).

        Every computed row is below 0 there by more than rounding.
        """
        return self._chebyshev[0]

    @cached_property
    def _unit_rows(self) -> tuple[Array, Array]:
        """The rows divided by their lengths, and the lengths."""
        norms = row_norms(self.A)
        return divide_rows(self.A, norms), norms

    def _excess(self, x: Array) -> Array:
        return self.A @ x - self.b

    def _rounding(self, *points: Array) -> Array:
        """Bound the rounding of the excess of each row at points at most this large.

        A sum of n products, in any order, errs by at most n u of the sum of their sizes.
        Subtracting b adds one u. Each entry of the point, itself computed, errs by at most 4 u.
        """
        size = sum(abs(p) for p in points)
        return (row_terms(self.A) + 6) * UNIT * (abs(self.A) @ size + abs(self.b))

    def _pull_inside(self, p: Array) -> Array:
        """Return a point of the polytope on the segment from p to the interior point.

        Each row is affine. At the share t of the way to p its value is t e - (1 - t) s, with e its
        excess at p and s its slack at the interior point. This value must be below minus the
        rounding, which counts three times: in e, in s and when the row is computed again.
        """
        z = self.interior
        rounding = 3 * self._rounding(p, z)
        excess, slack = self._excess(p), -self._excess(z)
        over = excess + rounding > 0
        if not over.any():
            return p
        spare = slack[over] - rounding[over]
        if not (spare > 0).all():  # so far away that only the interior point is certain
            return z.copy()
        return z + float((spare / (slack[over] + excess[over])).min()) * (p - z)

    def _distance_bound(self, x: Array, p: Array, z: Array) -> float:
        """Return the bound of :meth:`nearest`, rounded up."""
        z = np.maximum(z, 0.0)
        pull = self.A.T @ z
        size = abs(p) + abs(x) + abs(self.A).T @ z
        separately = np.linalg.norm(p - x + pull) + (len(z) + 4) * UNIT * np.linalg.norm(size)
        gap = 0.5 * float(separately) ** 2 + float(z @ (self._rounding(p) - self._excess(p)))
        return float(np.sqrt(2.0 * gap)) * (1 + (len(x) + len(z)) * 4 * UNIT)

    @cached_property
    def _chebyshev(self) -> tuple[Array, float]:
        """A point with the largest slack, and that slack as a distance."""
        rows, norms = self._unit_rows
        sparse = need("scipy.sparse", "solve", "finding a point inside a polytope")
        m, d = rows.shape
        ones = np.ones((m, 1))
        # max r subject to (rows) x + r <= b: never infeasible, and bounded by a limit on r.
        table = sparse.hstack([sparse.csr_array(rows), sparse.csr_array(ones)], format="csr")
        objective = np.append(np.zeros(d), -1.0)
        limits = [(None, None)] * d + [(None, 1.0)]
        centre = np.zeros(d)
        unit = float(abs(self.b / norms).max()) or 1.0
        # Solve again around the last answer, in units of its depth: the first may be too coarse.
        for _ in range(4):
            slack = -self._excess(centre) / norms
            answer = _linprog(objective, table, slack / unit, limits)
            if answer.x is None:
                break
            deepest = centre + unit * answer.x[:d]
            weights, radius = -answer.ineqlin.marginals, unit * float(answer.x[d])
            depth = float((-self._excess(deepest) / norms).min())
            if (self._excess(deepest) + 3 * self._rounding(deepest, deepest) < 0).all():
                if depth >= 0.5 * radius:
                    return freeze(deepest), depth
            elif radius <= 1e-9 * unit:
                raise _no_interior(radius, 1e-9 * unit, weights)
            centre, unit = deepest, max(abs(radius), abs(depth))
        raise _no_answer("a point inside the polytope", "HiGHS")

    def _corner(self, c: Array) -> tuple[Array, Array]:
        """Minimise c'y around the interior point, in units of its depth; add the multipliers."""
        (rows, norms), (interior, depth) = self._unit_rows, self._chebyshev
        slack = -self._excess(interior) / norms / depth
        answer = _linprog(c, rows, slack, [(None, None)] * len(c))
        # HiGHS may leave open whether a program is infeasible or unbounded; this one is feasible.
        if answer.x is None and "nbounded" in answer.message:
            direction = np.array2string(-c, precision=3, threshold=6)
            raise InvalidValueError(
                f"the polytope must be bounded, got one that is unbounded towards {direction}: "
                "add rows that bound it, or intersect it with a box"
            )
        if answer.x is None:
            raise _no_answer("a corner of the polytope", "HiGHS")
        return answer.x, np.maximum(-answer.ineqlin.marginals, 0.0)

    @cached_property
    def _bounding_ball(self) -> Ball:
        rows, norms = self._unit_rows
        m, d = rows.shape
        centre, unit = self._chebyshev
        # Around the interior point, in units of its depth, and all rounding upwards: of the slack;
        # of its products with w, none of them negative; of A'w and of the rows' lengths.
        slack = (
            (self._rounding(centre) - self._excess(centre)) / norms / unit * (1 + (m + 8) * UNIT)
        )
        sizes = abs(rows)
        bounds, off = np.empty((2, d)), 0.0
        for j in range(d):
            for k, sign in enumerate((1.0, -1.0)):
                e = np.zeros(d)
                e[j] = sign
                _, w = self._corner(-e)
                bounds[k, j] = slack @ w
                rounding = (m + 4) * UNIT * (sizes.T @ w + abs(e))
                off = max(off, float((abs(rows.T @ w - e) + rounding).sum()))
        if not off < 0.5:
            raise _no_answer("a ball around the polytope", "HiGHS")
        bounds += off * float(bounds.max()) / (1 - off)
        middle = centre + unit * (bounds[0] - bounds[1]) / 2
        half = float(np.linalg.norm(unit * (bounds[0] + bounds[1]) / 2))
        return Ball(half + 8 * (d + 8) * UNIT * (half + float(np.linalg.norm(middle))), middle)


def rows_of(region: Box | Halfspace | Polytope) -> tuple[Array, Array]:
    """Return the rows and limits, dense, whose polytope a set is."""
    if isinstance(region, Halfspace):
        return np.atleast_2d(region.normal), np.atleast_1d(region.offset)
    if isinstance(region, Polytope):
        return to_dense(region.A), region.b
    faces = np.eye(region.dimension)
    return np.vstack([faces, -faces]), np.concatenate([region.upper, -region.lower])


def require_numpy(x: Array, owner: str) -> None:
    """Raise unless x is a NumPy array."""
    if not isinstance(x, np.ndarray):
        raise InvalidTypeError(f"{owner} must be given NumPy arrays, got {type(x)!r}")


def project_each(region: Any, x: Array, owner: str) -> Array:
    """Return the nearest point of each run; NaN stays NaN."""
    require_numpy(x, owner)
    if x.ndim == 1:
        return region.nearest(x).point
    x = clean(x, region.dimension)
    return np.array([row if np.isnan(row[0]) else region.nearest(row).point for row in x])


def _solve_dense(rows: Array, right: Array) -> tuple[Array, Array] | None:
    """Return the shortest q with rows @ q <= right, and its multipliers, by active sets.

    Return None if DAQP reports a failure.
    """
    daqp = need("daqp", "solve", "projecting onto a polytope")
    d = rows.shape[1]
    q, _, flag, info = daqp.solve(np.eye(d), np.zeros(d), rows, right, primal_tol=1e-12)
    q, z = np.asarray(q), np.asarray(info["lam"])
    return (q, z) if flag == 1 and np.isfinite(q).all() and np.isfinite(z).all() else None


def _solve_sparse(rows: Array, right: Array) -> tuple[Array, Array]:
    """Return the same by PIQP, an interior point method, without a check of its accuracy."""
    solver = need("qpsolvers", "solve", "projecting onto a polytope")
    need("piqp", "solve", "projecting onto a polytope")
    sparse = need("scipy.sparse", "solve", "projecting onto a polytope")
    d = rows.shape[1]
    rows = sparse.csc_array(rows)
    program = solver.Problem(sparse.eye_array(d, format="csc"), np.zeros(d), rows, right)
    # # First as tight as float64 allows, then PIQP's default tolerances. An answer that misses them
    # is used if it is finite: its error is bounded afterwards.
    names = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")
    for settings in (dict.fromkeys(names, 1e-14), {}):
        answer = solver.solve_problem(program, solver="piqp", **settings)
        if answer.found:
            break
    if answer.x is None or not np.isfinite(answer.x).all() or not np.isfinite(answer.z).all():
        raise _no_answer("the projection onto the polytope", "PIQP")
    return answer.x, answer.z


def _linprog(
    c: Array, rows: Array, right: Array, limits: Sequence[tuple[float | None, float | None]]
) -> Any:
    optimize = need("scipy.optimize", "solve", "solving over a polytope")
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return optimize.linprog(c, A_ub=rows, b_ub=right, bounds=limits, method="highs", options=tight)


def _no_answer(what: str, solver: str) -> InvalidValueError:
    return InvalidValueError(f"{what} must be found, got no answer from {solver}")


def _no_interior(depth: float, tolerance: float, weights: Array) -> InvalidValueError:
    """Return the error for rows without an interior, with the rows of positive multipliers."""
    binding = np.flatnonzero(weights > 1e-9)
    which = ", ".join(str(int(i)) for i in binding[:6]) + (", ..." if len(binding) > 6 else "")
    if depth < -tolerance:
        return InvalidValueError(
            f"the polytope must not be empty, got rows {which} that no point satisfies together: "
            f"every point is at least {-depth:g} outside one of them"
        )
    return InvalidValueError(
        f"the polytope must have an interior, got rows {which} that leave none: if they are an "
        "equality Cx = e written as two inequalities, write x = x0 + Ny with C x0 = e and the "
        "columns of N spanning the null space of C, and state the polytope in y"
    )
