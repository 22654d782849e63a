"""Fair scoring under audit: certified rows, an insider who knows them, and other rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cases.cones import project
from cases.scoring import census_people, fair_scoring
from cases.show import KNOWING, Run, draw, main
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info
from surefoot.games import Trace, play
from surefoot.rules import (
    DPP,
    LBSGD,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
)

RADIUS, TOLERANCE, SEED = 20.0, 0.01, 1
WEIGHTS = tuple(np.geomspace(1e-5, 1e-1, 8).tolist())
"""Of LB-SGD's barrier."""
RATES = (0.01, 0.1, 1.0)
"""Of the multipliers of Cooper and humancompatible-train."""


class Known(NamedTuple):
    """A model, the sum of gradients and that of their squares."""

    x: Array
    total: Array
    squares: float


class Insider:
    """Descent with AdaGrad's step, or dual averaging, projected onto the known limits.

    Args:
        lazy: whether it is dual averaging.
    """

    def __init__(self, *, lazy: bool) -> None:
        rows = census_people()[0].covariances()
        d = rows.shape[1]
        self.lazy, self.rows = lazy, np.vstack([rows, -rows])
        # Lowered by what the solver may miss them by.
        ball = np.vstack([np.zeros((1, d)), -np.eye(d)]), np.append(RADIUS - 1e-6, np.zeros(d))
        self.known = self.rows, np.full(4, TOLERANCE - 1e-9), [ball]

    def init(self, x1: Array) -> Known:
        """Begin at x1."""
        return Known(x1, 0.0 * x1, 0.0)

    def step(self, state: Known, feedback: Feedback) -> tuple[Known, Info]:
        """Step and project."""
        grad = feedback.cost_gradient
        total, squares = state.total + grad, state.squares + float(grad @ grad)
        if self.lazy:
            proposal = -np.sqrt(0.5) * RADIUS / np.sqrt(squares) * total
        else:
            proposal = state.x - np.sqrt(2.0) * RADIUS / np.sqrt(squares) * grad
        if (self.rows @ proposal > TOLERANCE).any() or proposal @ proposal > RADIUS**2:
            proposal = project(proposal, *self.known)
        return Known(proposal, total, squares), Info()


def run(name: str, knows: str, trace: Trace, **options: Any) -> Run:
    """Return the row of a rule."""
    _, people = census_people()
    scores = people.features @ np.atleast_2d(trace.next_action).T
    last = np.logaddexp(0.0, -people.classes[:, None] * scores).mean()
    more = {
        "mean loss of served models": f"{trace.cost.mean():.4f}",
        "loss of the last model": f"{last:.4f}",
    }
    return Run(name, knows, trace.constraint.T, more, **options)


def choose(runs: Sequence[Run]) -> Run:
    """Return the setting of a rival with the fewest models outside, then the least loss."""
    return min(runs, key=lambda one: (one.outside, one.more["mean loss of served models"]))


def play_all(small: bool) -> list[Run]:
    """Play all rules; of several settings of one only the best in hindsight is shown."""
    from cases.scoring.multipliers import Multipliers  # PyTorch

    T, trials = (60, 2) if small else (5_000, 3)
    problem = fair_scoring(TOLERANCE, horizon=T, trials=trials, streams=SEED, radius=RADIUS)
    c, game = problem.constants, partial(play, problem=problem, watch="off")
    slow = partial(game, engine="loop")
    rows, one, batch = "that rows are affine", "one bound on all slopes", "the audit batch"
    word, green = "projected onto the known limits", {"colour": KNOWING}
    sure: dict[str, Any] = {"certified": True}
    barrier = [
        run(
            f"LB-SGD, weight {weight:.1e}: the best of {len(WEIGHTS)}",
            "curvature of rows and costs",
            slow(LBSGD.barrier(c, weight=weight, cost_curvature=0.25)),
            drawn=False,
        )
        for weight in WEIGHTS
    ]
    rivals = [
        choose(
            [
                run(
                    f"{name}, rate {rate:g}: the best of {len(RATES)}",
                    "a rate of the multipliers",
                    slow(Multipliers(kind, rate, 5)),
                    drawn=kind == "cooper",
                    colour="#CC79A7",
                )
                for rate in RATES
            ]
        )
        for kind, name in (("cooper", "Cooper"), ("alm", "humancompatible-train, ALM"))
    ]
    ogd, averaging = CertifiedOGD.default(c), CertifiedDualAveraging.default(c)
    return [
        run(f"descent, {word}", batch, slow(Insider(lazy=False)), drawn=False),
        run(f"dual averaging, {word}", batch, slow(Insider(lazy=True)), **green),
        run("CertifiedOGD, rows apart", rows, slow(ogd), drawn=False, **sure),
        run("CertifiedDualAveraging, rows apart", rows, slow(averaging), **sure),
        run(
            "LeaderFollower, largest row", one, slow(LeaderFollower.default(c)), drawn=False, **sure
        ),
        run("CertifiedPFS, largest row", one, slow(CertifiedPFS.default(c)), drawn=False, **sure),
        run("DPP, its theorem's tuning", one, slow(DPP.tuned(c, T, problem.domain))),
        choose(barrier),
        *rivals,
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    models = np.arange(1, np.shape(runs[0].g)[1] + 1)
    draw(path, runs, rounds=models, unit="model", limit="largest g")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
