"""The figure behind ``trace.plot()``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from surefoot.core.display import BLUE, GREY, VERMILLION, new_figure
from surefoot.core.types import Array
from surefoot.problems.hindsight import has_closed_form

__all__ = ["quick_look", "regret_or_cost"]


def quick_look(trace: Any) -> Any:
    """Draw regret with its bound, g round by round, and for d = 2 the actions."""
    in_plane = trace.actions is not None and trace.actions.shape[-1] == 2
    figure = new_figure("trace.plot", figsize=(4.2 * (2 + in_plane), 3.4), layout="constrained")
    axes = figure.subplots(1, 2 + in_plane)
    _regret(axes[0], trace)
    _constraint(axes[1], trace)
    if in_plane:
        _plane(axes[2], trace)
    figure.suptitle(f"{trace.problem.name}: {trace.verdict()}", fontsize=9)
    return figure


def _band(ax: Any, rounds: Any, values: Any, label: str) -> None:
    """Return a line for one run; mean and one standard deviation for several."""
    if values.ndim == 1:
        ax.plot(rounds, values, color=BLUE, label=label)
        return
    mean, std = values.mean(axis=1), values.std(axis=1)
    ax.plot(rounds, mean, color=BLUE, label=f"{label}, mean of {values.shape[1]} runs")
    ax.fill_between(rounds, mean - std, mean + std, color=BLUE, alpha=0.25, lw=0)


def regret_or_cost(trace: Any) -> tuple[str, Array]:
    """Return the regret over the rounds, or the summed cost where the best action takes long."""
    with suppress(ValueError):  # an adversary's costs are not known where actions are thinned
        # Without a closed form every round would take a solver: the cost is worth a look too.
        if has_closed_form(trace.costs(), trace.problem.benchmark.region):
            return "regret", trace.regret(trace.rounds).upper
    return "summed cost", trace.cost_sum


def _regret(ax: Any, trace: Any) -> None:
    label, values = regret_or_cost(trace)
    _band(ax, trace.rounds, values, label)
    ax.set(xlabel="round", ylabel=label)
    if trace.guarantee is not None and label == "regret":
        bound = float(trace.guarantee.regret_bound(trace.horizon))
        ax.plot([], [], color=GREY, ls="--", label=f"bound {bound:.3g}")
        if bound < 5 * max(float(np.max(values)), 1e-12):
            line = trace.guarantee.regret_bound(trace.rounds)
            ax.plot(trace.rounds, line, color=GREY, ls="--")
    ax.legend(fontsize=8, frameon=False)


def _constraint(ax: Any, trace: Any) -> None:
    _band(ax, trace.rounds, trace.constraint, "g")
    ax.axhline(0, color=VERMILLION, lw=1, label="limit")
    ax.set(xlabel="round", ylabel="g(x)")
    ax.legend(fontsize=8, frameon=False)


def _plane(ax: Any, trace: Any) -> None:
    actions = trace.actions.reshape(-1, 2)
    thin = max(1, len(actions) // 3_000)
    ax.plot(*actions[::thin].T, ".", ms=2, color=BLUE, alpha=0.4)
    domain = trace.problem.domain
    centre = np.zeros(2) if domain.centre is None else domain.centre
    span = np.linspace(-1.05, 1.05, 151) * domain.radius
    X, Y = np.meshgrid(centre[0] + span, centre[1] + span)
    points, value = np.column_stack([X.ravel(), Y.ravel()]), trace.problem.benchmark.value
    # After a loop a user's functions are known to take one action, not that they take many.
    G = np.array([float(value(p)) for p in points]) if trace.engine == "loop" else value(points)
    ax.contour(X, Y, G.reshape(X.shape), levels=[0.0], colors=[VERMILLION], linewidths=1)
    if trace.rounds[0] == 1:
        ax.plot(*np.atleast_2d(trace.actions[0]).T, "k+", ms=8)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
