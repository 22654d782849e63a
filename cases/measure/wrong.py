"""A constant that is wrong: G_g guessed from four points near the start, and what is done then.

The lines of a charging site with one number and one slope per minute, those of the line with the
largest g, from a start at which hardly a current flows: the lines are nearly flat there, and where
they bind they are many times as steep.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.pages import table

from cases.charging import ev_charging
from surefoot.algorithms import LeaderFollower, PremiseError
from surefoot.controller import Controller
from surefoot.problems import Problem

HORIZON = 900


def guessed(problem: Problem, points: int = 4, near: float = 1e-3) -> float:
    """Return the steepest slope at a few points near the start."""
    draw = np.random.default_rng(0)
    around = problem.start + near * draw.normal(size=(points, len(problem.start)))
    constraint: Any = problem.constraint
    return max(float(np.linalg.norm(constraint.query(x)[1])) for x in around)


def lived(problem: Problem, G_g: float, policy: str) -> list[str]:
    """Play with a controller, and say what came of it."""
    player = LeaderFollower(G_g=G_g, domain=problem.domain)
    controller = Controller(player, problem.start, on_contradiction=policy)  # type: ignore[arg-type]
    outside, worst, cost, first, stopped = 0, -np.inf, 0.0, "", ""
    T = problem.costs.horizon
    constraint: Any = problem.constraint
    t = 0
    for t in range(T):
        x = controller.ask()
        g, s = constraint.query(x)
        outside, worst, cost = outside + (g > 0), max(worst, g), cost + problem.costs.value(t, x)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                controller.tell(
                    cost_gradient=problem.costs.gradient(t, x),
                    constraint_value=g,
                    constraint_subgradient=s,
                )
        except PremiseError as error:
            first, stopped = str(error), f"stopped in round {t + 1}"
            break
        if not first and (broken := controller.explain().broken):
            first = str(broken[0])
    words = stopped or f"went on to round {t + 1:,}"
    share = f"{outside:,} of {t + 1:,}"
    return [f"{G_g:.3g}", policy, share, f"{worst:.2g}", f"{cost / (t + 1):.3f}", words, first]


def measure(images: Path | None, horizon: int = HORIZON) -> Iterator[str]:
    """Play the right constant and the guessed one under each policy."""
    whole: Any = ev_charging("caltech", horizon=horizon)
    lines_only = whole.constraint.parts[0]
    start = np.full(whole.costs.dimension, 0.03)
    problem = Problem.of(whole.costs, lines_only, whole.domain, start)
    # On the feasible set |z| is at most the rating, so a slope is at most the root of a curvature.
    right = float(np.sqrt(lines_only.row_curvatures(whole.domain).max())) * (1 + 1e-9)
    guess = guessed(problem)
    yield (
        f"The right bound is G_g = {right:.3g}; the steepest line at four points near the start "
        f"has a slope of {guess:.2g}, {right / guess:.0f} times too small."
    )
    yield ""
    lines = [lived(problem, right, "raise")]
    lines += [lived(problem, guess, policy) for policy in ("record", "raise", "retreat")]
    head = ("G_g", "`on_contradiction`", "rounds outside", "worst g", "mean cost")
    yield from table((*head, "what it did", "first contradiction"), lines)
