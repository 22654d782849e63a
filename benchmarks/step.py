"""One certified step by the compiled kernel: through the extension, pure; and rivals.

All are given the same rounds of a game on a random polytope. A solver projects the point that
gradient descent would go to, which a round of its user needs where that is outside.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.findings import Findings, Row, compared
from benchmarks.solvers import SOLVERS
from benchmarks.timing import Effort, Work, spread, take_turns
from surefoot import CertifiedPFS, Feedback, LeaderFollower, kernel
from surefoot.problems import random_polytope

EXTENSION, PURE, PYTHON = "the extension", "Certified.step", "the Python text"
BARS = {
    2: {EXTENSION: 6e-6},
    20: {EXTENSION: 15e-6},
    100: {EXTENSION: 40e-6},
}
QUICK = ("quadprog", "daqp", "PIQP", "ProxQP", "Polytope.project")


def run(effort: Effort) -> Findings:
    """Measure all sizes."""
    if kernel.compiled() is None:
        return Findings(remarks=[kernel.sentence()])
    rows: list[Row] = []
    for d, m in ((2, 4),) if effort.tiny else ((2, 4), (20, 60), (100, 200)):
        horizon = 100 if effort.tiny else 2_000 if d == 2 else 400
        problem = random_polytope(d, m, horizon=horizon)
        leader = LeaderFollower.default(problem.constants).algorithm
        rows += _measure("LeaderFollower", leader, problem, BARS[d], effort, solvers=True)
        if d == 2:
            pfs = CertifiedPFS.default(problem.constants).algorithm
            rows += _measure("CertifiedPFS", pfs, problem, {EXTENSION: 0.6e-6}, effort)
    return Findings(rows)


def _measure(
    name: str,
    player: Any,
    problem: Any,
    bars: dict[str, float],
    effort: Effort,
    *,
    solvers: bool = False,
) -> list[Row]:
    """Return the rows of one player on one problem."""
    start = state = player.init(problem.start)
    seen, ends, rng = [], [], np.random.default_rng(0)
    for t in range(problem.costs.horizon):
        x = state.x
        g, s = problem.constraint.query(x)
        gradient = problem.costs.gradient(t, x) + 0.1 * rng.normal(size=len(x))
        seen.append(Feedback(gradient, float(g), np.array(s)))
        ends.append(x - 0.1 * gradient)
        state, _ = player.step(state, seen[-1])
    works = _works(player, start, seen)
    if solvers and not effort.tiny:
        A, b = problem.constraint.A, problem.constraint.b
        for solver in SOLVERS:
            if solver.name in QUICK and solver.is_installed:
                works[solver.name] = partial(_project_all, solver.make(A, b), ends)
    times = {n: taken / len(seen) for n, taken in take_turns(works, effort).items()}
    case = f"{name}, d = {len(start.x)}, m = {len(problem.constraint.b)}"
    rows = [
        Row("step", case, n, "", spread(times[n]), bar=bar) for n, bar in bars.items() if n in times
    ]
    rows += [compared("step", case, times, n, PYTHON) for n in (EXTENSION, PURE)]
    rivals = [n for n in times if n in QUICK]
    if rivals:
        quickest = min(rivals, key=lambda n: float(np.median(times[n])))
        wanted = {2: None, 20: "quadprog", 100: quickest}[len(start.x)]
        rows += [
            compared("step", case, times, EXTENSION, n, bar=0.1 if n == wanted else None)
            for n in rivals
        ]
    return rows


def _project_all(project: Any, points: list[Any]) -> None:
    for point in points:
        project(point)


def _works(player: Any, start: Any, seen: list[Feedback]) -> dict[str, Work]:
    rule = player.compiled.rule(player, start.x)
    extension, out = kernel.compiled(), np.empty(rule.out)
    assert extension is not None

    def call() -> None:
        block, step, handle = rule.block_of(start), extension.step, rule.handle
        for feedback in seen:
            step(handle, block, feedback, out)

    def update(step: Any) -> None:
        state = start
        for feedback in seen:
            state, _ = step(state, feedback)

    return {
        EXTENSION: call,
        PURE: lambda: update(player.step),
        PYTHON: lambda: update(player.step_in_python),
    }
