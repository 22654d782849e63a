"""Problems that theorems are held against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot import Problem, problems
from surefoot.games import Trace
from surefoot.problems import ADVERSARIES
from surefoot.problems.constraints import Affine, AffineStream, ConstraintStream, Drifting, LinfNorm

STREAMS = (*ADVERSARIES, "paper toy")


def stream(name: str, horizon: int, *, separately: bool = False) -> Problem:
    """A cube under one of the adversaries, or the paper's toy; the faces as rows if apart."""
    if name == "paper toy":
        made = problems.paper_toy(horizon, trials=3)
    else:
        made = problems.adversarial_cube(name, horizon=horizon, dimension=3, radius=0.4, size=1.5)
    return with_rows(made) if separately else made


def with_rows(problem: Problem) -> Problem:
    """The same cube as linear constraints, two for each dimension."""
    box = problem.constraint.region
    d = len(box.upper)
    rows = Affine(np.vstack([np.eye(d), -np.eye(d)]), np.concatenate([box.upper, -box.lower]))
    made = Problem.of(problem.costs, rows, problem.domain, problem.start, G_f=problem.constants.G_f)
    return replace(problem, constraint=rows, constants=made.constants)


CHANGING = ("breathing", "turning", "random")


def changing(name: str, horizon: int) -> ConstraintStream:
    """Constraints of the plane that change each round; a ball of radius 0.2 is always feasible."""
    if name == "breathing":  # a cube that is as small as it gets every seventh round
        return Drifting(LinfNorm(0.5, 2), np.where(np.arange(horizon) % 7 == 0, 0.3, -0.4))
    if name == "turning":  # a wedge that goes round once
        angle = np.linspace(0, 2 * np.pi, horizon)
    else:
        angle = np.random.default_rng(3).choice([0.3, 1.9, 3.0, 5.1], size=horizon)
    angles = angle[:, None] + np.array([0.0, 0.7])
    return AffineStream(
        np.stack([np.cos(angles), np.sin(angles)], axis=-1), np.full((horizon, 2), [0.2, 0.25])
    )


def noise(horizon: int) -> np.ndarray:
    """Slopes that change sign every round: what a step gains by violating, the next one loses."""
    signs = np.where(np.arange(horizon) % 2, -1.0, 1.0)[:, None]
    return signs * np.array([0.3, -0.2]) + 0.02 * np.random.default_rng(8).normal(size=(horizon, 2))


def each_row(trace: Trace) -> float:
    """The largest share of its bound that any one constraint's sum used in any round."""
    x, constraint = trace.actions, trace.problem.constraint
    if isinstance(constraint, ConstraintStream):
        g = np.array([constraint.query_all(t, x[t])[0] for t in range(len(x))])
    else:
        g, _ = constraint.query_all(x.reshape(-1, x.shape[-1]))
    sums = np.cumsum(g.reshape(len(x), -1), axis=0)
    bounds = trace.guarantee.bounds(trace.rounds)
    return float((sums / bounds.get("rows", bounds.get("positive_sum"))[:, None]).max())
