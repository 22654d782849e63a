"""Problems that theorems are held against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot import Problem, problems
from surefoot.constraints import Affine
from surefoot.games import Trace
from surefoot.problems import ADVERSARIES

STREAMS = (*ADVERSARIES, "paper toy")


def stream(name: str, horizon: int, *, apart: bool = False) -> Problem:
    """A cube under one of the adversaries, or the paper's toy; the faces as rows if apart."""
    if name == "paper toy":
        made = problems.paper_toy(horizon, trials=3)
    else:
        made = problems.adversarial_cube(name, horizon=horizon, dimension=3, radius=0.4, size=1.5)
    return with_rows(made) if apart else made


def with_rows(problem: Problem) -> Problem:
    """The same cube as linear constraints, two for each dimension."""
    box = problem.constraint.region
    d = len(box.upper)
    rows = Affine(np.vstack([np.eye(d), -np.eye(d)]), np.concatenate([box.upper, -box.lower]))
    made = Problem.of(problem.costs, rows, problem.domain, problem.start, G_f=problem.constants.G_f)
    return replace(problem, constraint=rows, constants=made.constants)


def each_row(trace: Trace) -> float:
    """The largest share of its bound that any one constraint's sum used in any round."""
    x = trace.actions
    g, _ = trace.problem.constraint.query_all(x.reshape(-1, x.shape[-1]))
    sums = np.cumsum(g.reshape(len(x), -1), axis=0)
    return float((sums / trace.guarantee.row_bound(trace.rounds)[:, None]).max())
