"""A risk-limited portfolio: certified rules, an insider who knows the scenarios, and others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cases.cones import project
from cases.portfolio import REFERENCE, risk_portfolio, share_returns
from cases.show import KNOWING, Run, draw, main
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info
from surefoot.games import Trace, play
from surefoot.rules import PFS, CertifiedPFS, LeaderFollower, ScalarDPP

LIMIT, SEED = 0.015, 1


class Descended(NamedTuple):
    """A portfolio, and the squares of the gradients so far."""

    x: Array
    squares: float


class Hold:
    """Keep a portfolio."""

    def __init__(self, x: Array | None = None) -> None:
        self.x = x

    def init(self, x1: Array) -> Descended:
        """Return the portfolio."""
        return Descended(x1 if self.x is None else self.x, 0.0)

    def step(self, state: Descended, feedback: Feedback) -> tuple[Descended, Info]:
        """Change nothing."""
        return state, Info()


class Insider(Hold):
    """Descent with AdaGrad's step, projected onto portfolios of known risk by cutting planes.

    Args:
        risk: the limit; its scenarios are known.
    """

    def __init__(self, risk: Any) -> None:
        super().__init__()
        d = risk.dimension
        self.risk, self.rows = risk, np.vstack([-np.eye(d), np.full(d, d**-0.5)])
        self.limits = np.append(np.zeros(d), d**-0.5 * (1 - 1e-9))

    def step(self, state: Descended, feedback: Feedback) -> tuple[Descended, Info]:
        """Step, and project onto half-spaces until the risk of the point is within its limit."""
        grad = feedback.cost_gradient
        squares = state.squares + float(grad @ grad)
        proposal, faces = state.x - np.sqrt(2.0 / squares) * grad, len(state.x) + 1
        for _ in range(200):
            x = np.maximum(project(proposal, self.rows, self.limits), 0.0)
            g, slope = self.risk.query(x)
            if g <= 0:
                break
            self.rows = np.vstack([self.rows, slope])
            self.limits = np.append(self.limits, slope @ x - g - 1e-8)
        keep = np.r_[:faces, max(faces, len(self.rows) - 30) : len(self.rows)]
        self.rows, self.limits = self.rows[keep], self.limits[keep]
        return Descended(x, squares), Info()


def fit_once() -> Array:
    """Return skfolio's portfolio of the largest mean return under the limit, of the two years."""
    from skfolio import RiskMeasure
    from skfolio.optimization import MeanRisk, ObjectiveFunction

    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_RETURN,
        risk_measure=RiskMeasure.CVAR,
        max_cvar=LIMIT,
        min_budget=0.0,
        max_budget=1.0,
        budget=None,
    )
    weights: Array = model.fit(share_returns()[:REFERENCE, :-1]).weights_
    return weights


def run(name: str, knows: str, trace: Trace, **options: Any) -> Run:
    """Return the row of a rule."""
    mean = float(trace.cost.mean())
    more = {
        "growth per year": f"{1e2 * np.expm1(-252 * mean):.1f} %",
        "wealth at the end, from 1": f"{np.exp(-trace.total_cost).mean():.2f}",
    }
    return Run(name, knows, trace.constraint.T, more, **options)


def play_all(small: bool) -> list[Run]:
    """Play all rules from a few first days."""
    T, trials = (100, 2) if small else (2_000, 5)
    problem: Any = risk_portfolio(LIMIT, horizon=T, trials=trials, streams=SEED)
    c, risk, bound = problem.constants, problem.constraint.parts[0], "a bound on all slopes"
    game = partial(play, problem=problem, watch="off")
    slow = partial(game, engine="loop")
    sure: dict[str, Any] = {"certified": True}
    return [
        run("keep the start: 30 % in equal shares", "nothing", slow(Hold()), drawn=False),
        run(
            "skfolio's MeanRisk, fitted once", "the scenarios", slow(Hold(fit_once())), drawn=False
        ),
        run(
            "descent, projected onto the known limit",
            "the scenarios",
            slow(Insider(risk)),
            colour=KNOWING,
        ),
        run("LeaderFollower.default", bound, game(LeaderFollower.default(c)), **sure),
        run("CertifiedPFS.default", bound, game(CertifiedPFS.default(c)), drawn=False, **sure),
        run("PFS.tuned, the paper's", bound, game(PFS.tuned(c, T)), drawn=False),
        run("DPP, its theorem's tuning", bound, game(ScalarDPP.tuned(c, T))),
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    days = np.arange(1, np.shape(runs[0].g)[1] + 1)
    draw(path, runs, rounds=days, unit="day", limit="largest g")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
