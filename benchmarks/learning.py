"""Regret of leader and follower on fourteen streams: ``python -m benchmarks.learning``.

Costs with a distribution, costs that drift, jump, turn and flip, on sets of all kinds.
``learning_before.json`` has what two rules had that were here before, one for costs with a
distribution and one for costs that change: users had to choose. The rule that mixes both is to be
nearly as good as the better of them on all. Streams that change are measured against the best
action of each of twenty blocks, the others against the best action of all rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import surefoot
from surefoot import Ball, LeaderFollower, Problem, play, problems
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm, max_of
from surefoot.problems.costs import Linear, LogPortfolio, Quadratic

TABLE = Path(__file__).with_name("learning.json")
BEFORE = Path(__file__).with_name("learning_before.json")
ROUNDS, SEEDS, BLOCKS = 2_000, (0, 1, 2, 3), 20
RULES: dict[str, Callable[..., Any]] = {"default": LeaderFollower.default}
CHANGES = (
    "drifting targets, d = 5",
    "jumping targets, d = 5",
    "corners, d = 2",
    "signs in blocks, d = 2",
    "portfolio of four regimes, d = 8",
)
"""The streams that are measured block by block."""


def streams(rounds: int, seed: int) -> dict[str, Problem]:
    """Return the streams by name, one run each.

    Args:
        rounds: how many; a multiple of 20.
        seed: of everything.
    """
    rng = np.random.default_rng(100 + seed)
    towards = rng.random((rounds, 2)) + 0.2
    interior = rng.standard_normal((rounds, 5)) + 0.15
    signs = np.repeat(2.0 * rng.integers(0, 2, rounds // 20) - 1.0, 20)
    regimes = 0.002 * rng.standard_normal((4, 8)) + 0.0005
    tails = _heavy_tails(rng, rounds)
    mean = 0.001 * rng.standard_normal(8) + 0.0005
    cube = LinfNorm(0.5, 2)
    return {
        "targets, square": _of(Quadratic(towards, 6.0), cube, 1.0),
        "targets, polytope, d = 20": problems.random_polytope(20, 60, horizon=rounds, seed=seed),
        "slopes, polytope, d = 5": problems.random_polytope(
            5, 15, horizon=rounds, costs="linear", seed=seed
        ),
        "targets, ellipsoid, d = 5": problems.ellipsoid(5, horizon=rounds, seed=seed),
        "targets inside, d = 5": _of(
            Quadratic(interior, 1.0), _polytope(np.random.default_rng(seed)), math.sqrt(5)
        ),
        "drifting targets, d = 5": _drifting(rounds, np.random.default_rng(seed)),
        "jumping targets, d = 5": _jumping(rounds, np.random.default_rng(seed + 50)),
        "corners, d = 2": problems.adversarial_cube("corners", horizon=rounds, seed=seed),
        "sign flips, d = 2": problems.adversarial_cube("alternating", horizon=rounds, seed=seed),
        "signs in blocks, d = 2": _of(
            Linear(signs[:, None] * np.array([1.0, 0.5]) / math.sqrt(1.25)), cube, 1.0
        ),
        "random slopes, d = 2": problems.adversarial_cube("random", horizon=rounds, seed=seed),
        "fair logistic, d = 10": problems.fair_logistic(10, horizon=rounds, seed=seed),
        "portfolio of four regimes, d = 8": _portfolio(
            np.repeat(regimes, rounds // 4, axis=0) + tails[0]
        ),
        "portfolio, d = 8": _portfolio(mean + tails[1]),
    }


def _of(costs: Any, constraint: Any, radius: float, start: Any = None) -> Problem:
    start = np.zeros(costs.dimension) if start is None else start
    return Problem.of(costs, constraint, Ball(radius), start)


def _polytope(rng: np.random.Generator) -> Affine:
    """Return a cube in five dimensions that is cut by five random rows."""
    cuts = rng.standard_normal((5, 5))
    cuts /= np.linalg.norm(cuts, axis=1, keepdims=True)
    limits = np.append(np.ones(10), 0.5 + 0.5 * rng.random(5))
    return Affine(np.vstack([np.eye(5), -np.eye(5), cuts]), limits)


def _drifting(rounds: int, rng: np.random.Generator) -> Problem:
    """Return targets that go round once, twice as far away as the corners, with as much noise."""
    limit, R = _polytope(rng), math.sqrt(5)
    plane = np.linalg.qr(rng.standard_normal((2, 5)).T)[0].T
    angle = np.linspace(0, 2 * np.pi, rounds)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane
    return _of(Quadratic(R * (2 * circle + rng.standard_normal((rounds, 5))), 1.0), limit, R)


def _jumping(rounds: int, rng: np.random.Generator) -> Problem:
    """Return targets that jump three times."""
    limit, R = _polytope(rng), math.sqrt(5)
    pulls = rng.standard_normal((4, 5))
    pulls *= 2 / np.linalg.norm(pulls, axis=1, keepdims=True)
    pulls = np.repeat(pulls, rounds // 4, axis=0)
    return _of(Quadratic(R * (pulls + rng.standard_normal((rounds, 5))), 1.0), limit, R)


def _heavy_tails(rng: np.random.Generator, rounds: int) -> Any:
    """Return returns of a day for two portfolios: Student's t with five degrees of freedom."""
    normal, others = rng.standard_normal((2, rounds, 8)), rng.standard_normal((2, rounds, 8, 5))
    return 0.012 * normal / np.sqrt((others**2).mean(axis=-1))


def _portfolio(returns: Any) -> Problem:
    """Return growth of a portfolio with cash, of limited concentration."""
    d = returns.shape[-1]
    rows = np.vstack([-np.eye(d), np.ones((1, d)) / math.sqrt(d)])
    limit = max_of(Affine(rows, np.append(np.zeros(d), 1 / math.sqrt(d))), L2Norm(0.6))
    return _of(LogPortfolio(np.clip(returns, -0.2, 0.2)), limit, 1.0, np.full(d, 0.3 / d))


class Played(NamedTuple):
    """What a rule did on a stream: its regret, and in how many rounds it was outside."""

    regret: float
    outside: int


def measure(name: str, problem: Problem) -> dict[str, Played]:
    """Play every rule on a stream.

    Args:
        name: of the stream.
        problem: what is played.
    """
    found, least = {}, least_cost(name, problem)
    for rule, tune in RULES.items():
        trace = play(tune(problem.constants), problem, engine="loop", every=1, watch="off")
        outside = int(np.count_nonzero(trace.constraint > 0))
        found[rule] = Played(float(trace.total_cost) - least, outside)
    return found


def least_cost(name: str, problem: Problem) -> float:
    """Return the cost of the best action, or of the best ones of all blocks."""
    rounds = problem.costs.horizon
    length = rounds // BLOCKS if name in CHANGES else rounds
    blocks = [problem.costs.rounds(t, t + length) for t in range(0, rounds, length)]
    return sum(_least(problem, block) for block in blocks)


def _least(problem: Problem, costs: Any) -> float:
    region = problem.benchmark.region
    if isinstance(costs, Quadratic) and region is not None:
        # A sum of quadratics is one around the mean of their targets.
        best = region.project(costs.targets.mean(axis=0))
        return float(costs.sum_at(best)[0])
    found = problem.best_after([costs.horizon], costs=costs, tolerance=1e-7)
    return float(found.value[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all streams and write the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.learning")
    parser.add_argument("--out", type=Path, default=TABLE, help="the table to write")
    options = parser.parse_args(arguments)
    found: dict[str, dict[str, list[Played]]] = {}
    for seed in SEEDS:
        for name, problem in streams(ROUNDS, seed).items():
            for rule, played in measure(name, problem).items():
                found.setdefault(name, {}).setdefault(rule, []).append(played)
    before = read_before()
    for name, rows in found.items():
        mean = np.mean([played.regret for played in rows["default"]])
        print(f"{name}: {mean:.4g}, the better rule before {before[name]:.4g}")
    options.out.write_text(table_of(found), encoding="utf-8")


def read_before() -> dict[str, float]:
    """Return the mean regret of the better rule that was here before, by stream."""
    rows: dict[str, list[float]] = {}
    for row in json.loads(BEFORE.read_text(encoding="utf-8"))["rows"]:
        rows.setdefault(row["stream"], []).append(float(np.mean(row["regret"])))
    return {name: min(means) for name, means in rows.items()}


def table_of(found: dict[str, dict[str, list[Played]]]) -> str:
    """Return the table as JSON, one line for each stream and rule."""
    versions = {"surefoot": surefoot.__version__, "numpy": np.__version__}
    head = {
        "written_by": versions | {"python": platform.python_version()},
        "rounds": ROUNDS,
        "seeds": SEEDS,
    }
    rows = [
        {
            "stream": name,
            "against": f"the best action of each of {BLOCKS} blocks"
            if name in CHANGES
            else "the best action",
            "rule": rule,
            "regret": [p.regret for p in played],
            "outside": sum(p.outside for p in played),
        }
        for name, each in found.items()
        for rule, played in each.items()
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return json.dumps(head)[:-1] + f',\n "rows": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    main()
