"""A risk-limited portfolio: certified rules, an insider who knows the scenarios, and others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.pages import table

from cases.measure.scoring import Served, serve
from cases.portfolio import risk_portfolio
from surefoot.algorithms import PFS, CertifiedPFS, LeaderFollower, ScalarDPP
from surefoot.core.types import Array, Feedback, Info
from surefoot.sets._active_set import project_halfspaces

LIMIT = 0.015


class Hold:
    """Keep the first portfolio."""

    def init(self, x1: Array) -> Any:
        """Return the portfolio."""
        return _Kept(x1, 0.0, x1, 0.0 * x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Change nothing."""
        return state, Info()


class _Kept(NamedTuple):
    x: Array
    squares: float
    start: Array
    total: Array


class Insider:
    """Descent or dual averaging, projected onto portfolios of known risk by cutting planes."""

    def __init__(self, risk: Any, *, lazy: bool) -> None:
        d = risk.dimension
        self._risk, self._lazy = risk, lazy
        self._rows = np.vstack([-np.eye(d), np.full(d, d**-0.5)])
        self._limits = np.append(np.zeros(d), d**-0.5 * (1 - 1e-9))

    def init(self, x1: Array) -> Any:
        """Return the portfolio."""
        return _Kept(x1, 0.0, x1, 0.0 * x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Step, and project onto half-spaces until the risk of the point is within its limit."""
        grad = feedback.cost_gradient
        squares = state.squares + float(grad @ grad)
        total = state.total + grad
        if self._lazy:
            wanted = x = state.start - np.sqrt(0.5 / squares) * total
        else:
            wanted = x = state.x - np.sqrt(2.0 / squares) * grad
        for _ in range(200):
            excess = self._rows @ wanted - self._limits
            found = project_halfspaces(excess, self._rows, 1e-10, 1e3)
            if found is None:
                return _Kept(state.x, squares, state.start, total), Info()
            x = np.maximum(wanted + found[0], 0.0)
            g, slope = self._risk.query(x)
            if g <= 0:
                break
            self._rows = np.vstack([self._rows, slope])
            self._limits = np.append(self._limits, slope @ x - g - 1e-8)
        faces, most = len(state.x) + 1, len(self._rows)
        keep = np.r_[:faces, max(faces, most - 30) : most]
        self._rows, self._limits = self._rows[keep], self._limits[keep]
        return _Kept(x, squares, state.start, total), Info()


def players(problem: Any) -> dict[str, tuple[str, Any]]:
    """Return the rules by name, with what they know."""
    c, T = problem.constants, problem.costs.horizon
    measured, risk = "a bound on all slopes", problem.constraint.parts[0]
    return {
        "keep the start: 30 % in equal shares": ("nothing", Hold()),
        "projection onto the known limit, descent": ("the scenarios", Insider(risk, lazy=False)),
        "**`LeaderFollower.default`**": (measured, LeaderFollower.default(c)),
        "**`CertifiedPFS.default`**": (measured, CertifiedPFS.default(c)),
        "`PFS.tuned`, the paper's": (measured, PFS.tuned(c, T)),
        "DPP, its theorem's tuning": (measured, ScalarDPP.tuned(c, T)),
    }


def measure(images: Path | None, horizon: int = 2_000) -> Iterator[str]:
    """Play all rules."""
    problem: Any = risk_portfolio(LIMIT, horizon=horizon)
    risk = problem.constraint.parts[0]
    scale = LIMIT / float(risk.limit)
    done = {n: (k, serve(problem, p)) for n, (k, p) in players(problem).items()}
    lines = [
        [
            name,
            knows,
            f"{d.outside:,}",
            f"{100 * scale * d.excess.max():+.3f} %",
            f"{np.exp(-d.losses.sum()):,.1f}",
            f"{1e2 * (np.exp(-d.losses.mean() * 252) - 1):.1f} %",
            f"{d.microseconds:,.0f}",
        ]
        for name, (knows, d) in done.items()
    ]
    head = ("rule", "knows beforehand", "days outside", "worst g", "wealth, from 1")
    yield from table((*head, "growth per year", "µs per update"), lines)
    yield ""
    yield (
        f"{horizon:,} days. The worst g is in percent of wealth where CVaR is the largest row. "
        "Past returns, without costs of trading: a comparison of rules, no advice."
    )
    if images is not None:
        draw(images / "cases_portfolio.png", {n: d for n, (_, d) in done.items()})


def draw(path: Path, found: dict[str, Served]) -> None:
    """Save wealth over the days."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    ax = figure.subplots()
    colours = ("#BBBBBB", "#009E73", "#0072B2", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00")
    for (name, d), colour in zip(found.items(), colours, strict=False):
        word = name.replace("*", "").replace("`", "") + f" ({d.outside:,} days outside)"
        years = 1992 + np.arange(len(d.losses)) / 252
        ax.plot(years, np.exp(-d.losses.cumsum()), color=colour, lw=1.2, label=word)
    ax.set(yscale="log", ylabel="wealth")
    ax.legend(frameon=False, fontsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
