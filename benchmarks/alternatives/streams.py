"""Costs that arrive one by one: LB-SGD at eight weights, projection by QP, and certified rules.

An ellipsoid (d = 20, condition 10) with i.i.d. costs 3|x - v|^2, v uniform in a cube, and with
costs whose target jumps every 500 rounds. Then a random polytope (d = 20, 60 rows), for projection
by the quickest QP solver of ``make bench``. ``python -m benchmarks.alternatives streams``
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.alternatives.rows import Row, named, tabulated
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info, needs_of
from surefoot.guarantees import unpack
from surefoot.problems import Problem, random_polytope
from surefoot.problems.constraints import QuadraticForm
from surefoot.problems.costs import Quadratic
from surefoot.rules import LBSGD, CertifiedDualAveraging, CertifiedOGD, CertifiedPFS, LeaderFollower
from surefoot.sets import Ball

ROUNDS = 2_000
TITLE = "Costs that arrive one by one"


def played(problem: Problem, player: Any, tool: str, knows: str, limits: Any = None) -> Row:
    """Play one run; the result is the regret against the best fixed action of the constraint."""
    algorithm, _ = unpack(player)
    separately = needs_of(algorithm).separately
    state, outside, worst, total, seconds = algorithm.init(problem.start), 0, -np.inf, 0.0, []
    constraint: Any = problem.constraint
    T = problem.costs.horizon
    for t in range(T):
        x = state.x
        g, s = constraint.query_all(x)
        k = int(g.argmax())
        outside, worst = outside + (g[k] > 0), max(worst, float(g[k]))
        total += problem.costs.value(t, x)
        told = (g, s) if separately else (float(g[k]), s[k])
        seen = Feedback(problem.costs.gradient(t, x), *told)
        begin = time.perf_counter()
        state, _ = algorithm.step(state, seen)
        seconds.append(time.perf_counter() - begin)
    regret = total - float(problem.best(T).value[-1])
    return Row(
        tool, outside, T, worst, f"regret {regret:,.1f}", 1e6 * float(np.median(seconds)), knows
    )


def smooth(rounds: int, dimension: int = 20, condition: float = 10.0) -> Problem:
    """Return i.i.d. costs on an ellipsoid, as a quadratic constraint."""
    draw = np.random.default_rng(2)
    turn = np.linalg.qr(draw.normal(size=(dimension, dimension)))[0]
    A = turn @ np.diag(np.geomspace(1.0, condition, dimension)) @ turn.T
    return Problem.of(
        Quadratic(draw.uniform(size=(rounds, dimension)), 6.0),
        QuadraticForm(0.5 * (A + A.T), np.zeros(dimension), 0.5),
        Ball(1.0 + 1e-9),
        np.zeros(dimension),
    )


def changing(problem: Problem, every: int = 500) -> Problem:
    """Return the problem with costs whose targets jump between two sides."""
    T, d = problem.costs.horizon, problem.costs.dimension
    draw = np.random.default_rng(5)
    sides = draw.normal(size=(T // every + 1, d))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    targets = 1.5 * sides[np.arange(T) // every] + 0.3 * draw.uniform(-1, 1, (T, d))
    return Problem.of(
        Quadratic(targets, 6.0), problem.constraint, problem.domain, problem.start, name="changing"
    )


def barrier(problem: Problem, curved: float) -> Row:
    """Return LB-SGD's best row of eight weights."""
    tries = [
        played(
            problem,
            LBSGD.barrier(problem.constants, weight=float(w), cost_curvature=curved),
            f"LB-SGD, weight {w:.1e}, the best of 8 in hindsight",
            "curvature of g and of the costs",
        )
        for w in np.geomspace(1e-5, 1e-1, 8)
    ]
    return min(tries, key=lambda r: float(r.result.split()[1].replace(",", "")))


class ByQP:
    """AdaGrad descent, projected onto a known polytope by PIQP."""

    def __init__(self, A: Array, b: Array, radius: float) -> None:
        import piqp

        d = A.shape[1]
        self._solver = piqp.DenseSolver()
        self._solver.settings.verbose = False
        self._A, self._b, self._radius = A, b, radius
        self._solver.setup(np.eye(d), np.zeros(d), None, None, A, None, b - 1e-9)

    def init(self, x1: Array) -> Any:
        """Return action and sum of squares."""
        return _Known(x1, 0.0)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Step and project."""
        grad = feedback.cost_gradient
        squares = state.squares + float(grad @ grad)
        wanted = state.x - np.sqrt(2.0) * self._radius / np.sqrt(squares) * grad
        if (self._A @ wanted <= self._b).all():
            return _Known(wanted, squares), Info()
        self._solver.update(c=-wanted)
        self._solver.solve()
        return _Known(np.array(self._solver.result.x), squares), Info()


class _Known:
    def __init__(self, x: Array, squares: float) -> None:
        self.x, self.squares = x, squares


def smooth_rows(problem: Problem, curved: float) -> Iterator[Row]:
    """Yield the rows of a smooth task."""
    c = problem.constants
    yield barrier(problem, curved)
    bound = "curvature of g"
    for kind in (CertifiedDualAveraging, CertifiedOGD):
        yield played(problem, kind.default(c), f"**Surefoot, `{kind.__name__}.default`**", bound)
    slope = "a bound on the slope of g"
    yield played(
        problem, LeaderFollower.default(c), "**Surefoot, `LeaderFollower.default`**", slope
    )
    yield played(problem, CertifiedPFS.default(c), "**Surefoot, `CertifiedPFS.default`**", slope)


def polytope_rows(problem: Problem) -> Iterator[Row]:
    """Yield projection and certified rules on a polytope."""
    c, g = problem.constants, problem.constraint
    A, b = g.A, g.b  # type: ignore[union-attr]
    solver = ByQP(A, b, float(c.R or 1.0))
    yield played(problem, solver, named("piqp", "projection of AdaGrad's step"), "all rows")
    exact = CertifiedOGD.default(c, domain=Ball(c.R))
    yield played(
        problem, exact, "**Surefoot, `CertifiedOGD`, rows apart**", "that rows are affine; measures"
    )
    yield played(
        problem,
        LeaderFollower.default(c),
        "**Surefoot, `LeaderFollower.default`**",
        "a bound on all slopes; measures the largest row",
    )


def measure(rounds: int = ROUNDS) -> list[str]:
    """Return the three tables."""
    still = smooth(rounds)
    moving = changing(still)
    lines = [f"i.i.d. costs on an ellipsoid, {rounds:,} rounds:", ""]
    lines += [*tabulated(smooth_rows(still, 6.0)), ""]
    lines += ["Costs that jump every 500 rounds on the same ellipsoid:", ""]
    lines += [*tabulated(smooth_rows(moving, 6.0)), ""]
    lines += [f"A known polytope, d = 20, 60 rows, {rounds:,} rounds:", ""]
    return lines + tabulated(polytope_rows(random_polytope(20, 60, horizon=rounds)))
