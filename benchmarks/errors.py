"""What errors and drift cost certified rules: the table of docs/noise.md.

``python -m benchmarks.errors`` plays every rule on the paper's toy, its binding sibling and the
heat of the README, with exact readings and with each kind of error, and prints the regret of each
as a Markdown table; ``--write`` puts it into the page. Not one round may be outside, compared
exactly; the table is refused otherwise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import Constants, problems
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.problems.constraints import QuadraticForm
from surefoot.problems.costs import Linear
from surefoot.rules import CertifiedDualAveraging, CertifiedOGD, CertifiedPFS, LeaderFollower
from surefoot.sets import Box, Ellipsoid

PAGE = Path(__file__).parents[1] / "docs" / "noise.md"
BEGIN, END = "<!-- benchmarks.errors -->\n", "<!-- end -->\n"
HORIZON, RUNS = 300, 2
COLUMNS: dict[str, tuple[dict[str, float], str]] = {
    "exact": ({}, ""),
    "value error 0.01, too low": ({"value_error": 0.01}, "low"),
    "too high": ({"value_error": 0.01}, "high"),
    "at random": ({"value_error": 0.01}, "random"),
    "slope error 0.1": ({"slope_error": 0.1}, "random"),
    "drift 0.0001": ({"drift": 1e-4}, "random"),
    "all three, at random": ({"value_error": 0.01, "slope_error": 0.1, "drift": 1e-4}, "random"),
}


class Case(NamedTuple):
    """A problem and the rules that are played on it."""

    name: str
    costs: Any
    constraint: Any
    constants: Constants
    best: Array
    rules: tuple[Any, ...]


def cases(horizon: int, runs: int) -> list[Case]:
    """Return the problems, with the cost of the best fixed action of each run."""
    found = []
    for make in (problems.paper_toy, problems.binding_toy):
        toy = make(horizon, runs, streams=11)
        best = _best(toy.costs, Box([-0.5, -0.5], [0.5, 0.5]), horizon)
        rules = (LeaderFollower.default, CertifiedPFS.default)
        found.append(Case(str(toy.name), toy.costs, toy.constraint, toy.constants, best, rules))
    rng = np.random.default_rng(11)
    heat = QuadraticForm(np.diag([1.6, 1.0]), np.zeros(2), 0.4)
    costs = Linear(-rng.uniform([0.2, 0.6], [0.8, 1.3], size=(horizon, runs, 2)))
    known = Constants(R=0.9, start_reach=0.9, start_slack=0.4, G_g=1.45, beta=1.6)
    best = _best(costs, Ellipsoid(np.diag([2.0, 1.25])), horizon)
    curved = (LeaderFollower.default, CertifiedOGD.default, CertifiedDualAveraging.default)
    return [*found, Case("heat", costs, heat, known, best, curved)]


def _best(costs: Any, region: Any, horizon: int) -> Array:
    from surefoot.problems.hindsight import closed_form

    return np.asarray(closed_form(costs, region, np.array([horizon])).value[0])


def regret(case: Case, rule: Any, told: dict[str, float], way: str, horizon: int) -> float:
    """Return the mean regret of a rule, its readings with errors of the size that is told."""
    player = rule(case.constants.with_origin("given", **told)).algorithm
    nu, tau = told.get("value_error", 0.0), told.get("slope_error", 0.0)
    paid = np.zeros(len(case.best))
    for run in range(len(paid)):
        rng, costs = np.random.default_rng([5, run]), case.costs.run(run)
        state = player.init(np.zeros(2))
        for t in range(horizon):
            x = state.x
            g, s = case.constraint.query(x)
            if not g <= 0:
                raise ValueError(f"{case.name}: round {t + 1} is outside by {g:.3g}")
            paid[run] += costs.value(t, x)
            off = {"low": -1.0, "high": 1.0}.get(way, rng.uniform(-1, 1))
            turned = rng.normal(size=2)
            s = s + tau * turned / np.linalg.norm(turned)
            state = player.update(state, Feedback(costs.gradient(t, x), g + nu * off, s))
    return float((paid - case.best).mean())


def table(horizon: int = HORIZON, runs: int = RUNS) -> str:
    """Return the Markdown table."""
    lines = ["| regret | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for case in cases(horizon, runs):
        for rule in case.rules:
            numbers = [regret(case, rule, *told, horizon) for told in COLUMNS.values()]
            name = f"{case.name}, `{rule.__self__.__name__}`"
            lines.append(f"| {name} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/noise.md")
    found = table()
    if parser.parse_args().write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(before + BEGIN + found + END + rest.split(END)[1], encoding="utf-8")
    print(found, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
