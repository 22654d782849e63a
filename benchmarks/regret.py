"""Regret of leader and follower beside rules that know the set: ``python -m benchmarks.regret``.

Twenty sets of six classes, costs with a distribution whose limit binds, or that drift. Dual
averaging and descent know the set and project onto it, with steps that adapt; leader and follower
see values and slopes at their actions, and start in the middle. The least regret of any safe rule
(Theorem H') stands beside them: what knowing the set is worth. The seeds were never tuned on. A
round outside, compared exactly, ends the run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Table, markdown, put_in
from surefoot import Ball, LeaderFollower, Problem, play
from surefoot.problems import least_safe_regret
from surefoot.problems.constraints import Affine, EllipsoidNorm, L1Norm, L2Norm, QuadraticForm
from surefoot.problems.costs import Linear, Quadratic

PAGE = Path(__file__).parents[1] / "docs" / "regret.md"
ROUNDS, SEEDS = 2_000, (9401, 9402, 9403)
KINDS = {
    "linear": "linear costs",
    "outside": "targets outside",
    "little noise": "the same, little noise",
    "drifting": "drifting targets",
}
BINDING = ("linear", "outside", "little noise")
CLASSES = {
    "round": ("ball 2", "ball 20", "quadratic 10, 5", "ellipsoid 10, 5"),
    "long": ("quadratic 100, 5", "ellipsoid 1000, 20"),
    "polyhedral": (
        *("cross-polytope 20", "box 2", "box 20", "turned box 5", "polytope 2", "polytope 5"),
        *("polytope 20", "many rows 5"),
    ),
    "large": ("turned box 50", "polytope 50"),
    "thin": ("thin box 2", "thin box 5"),
    "uneven": ("uneven rows 5", "uneven rows 20"),
}


class Case(NamedTuple):
    """A set: its constraint, the radius of a ball around it, and the longest slope on the set."""

    constraint: Any
    radius: float
    G_g: float | None = None


def make_set(name: str, rng: np.random.Generator) -> Case:
    """Return a set by its name, which ends with the dimension."""
    kind, size = name.rsplit(" ", 1)
    d = int(size)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    if kind == "ball":
        return Case(L2Norm(1.0), 1.0)
    if kind.startswith(("quadratic", "ellipsoid")):
        word, condition = kind.rstrip(",").split()
        P = (turn * np.geomspace(1.0, float(condition), d)) @ turn.T
        P = 0.5 * (P + P.T)
        form = EllipsoidNorm(P) if word == "ellipsoid" else QuadraticForm(P, np.zeros(d), 0.5)
        return Case(form, 1.0 + 1e-9, math.sqrt(float(condition)) * (1 + 1e-9))
    if kind == "cross-polytope":
        return Case(L1Norm(1.0, d), 1.0)
    rows, half = np.eye(d), np.full(d, 0.5)
    if kind in ("polytope", "many rows"):
        m = d if kind == "polytope" else 38 * d
        more = rng.normal(size=(m, d))
        more /= np.linalg.norm(more, axis=1, keepdims=True)
        limits = rng.uniform(0.5, 1.0, m) if kind == "polytope" else np.full(m, 0.7)
        A, b = np.vstack([rows, -rows, more]), np.concatenate([np.ones(2 * d), limits])
        return Case(Affine(A, b), math.sqrt(d))
    if kind != "box":
        rows = turn if kind != "uneven rows" else rows
    if kind == "thin box":
        half[-1] = 0.005
    scale = np.geomspace(1.0, 30.0, d) if kind == "uneven rows" else np.ones(d)
    A, b = rows * scale[:, None], half * scale
    return Case(
        Affine(np.vstack([A, -A]), np.append(b, b)), float(np.linalg.norm(half)) * (1 + 1e-9)
    )


def make_costs(kind: str, d: int, radius: float, rounds: int, rng: np.random.Generator) -> Any:
    """Return the costs of a run."""
    way, noise = rng.normal(size=d), rng.normal(size=(rounds, d)) / math.sqrt(d)
    way /= np.linalg.norm(way)
    if kind == "linear":
        return Linear(way + noise)
    if kind == "drifting":
        across = rng.normal(size=d)
        across -= (across @ way) * way
        across /= np.linalg.norm(across)
        angle = np.linspace(0.0, 2 * np.pi, rounds)[:, None]
        return Quadratic(radius * (2 * (np.cos(angle) * way + np.sin(angle) * across) + noise), 1.0)
    return Quadratic(radius * (2 * way + (2.0 if kind == "outside" else 0.2) * noise), 1.0)


def make_problem(name: str, kind: str, seed: int, rounds: int) -> Problem:
    """Return a game."""
    rng = np.random.default_rng([seed, *name.encode(), *kind.encode()])
    known, d = make_set(name, rng), int(name.rsplit(" ", 1)[1])
    costs = make_costs(kind, d, known.radius, rounds, rng)
    problem = Problem.of(costs, known.constraint, Ball(known.radius), np.zeros(d))
    if known.G_g is None:
        return problem
    return replace(problem, constants=replace(problem.constants, G_g=known.G_g))


def play_known(problem: Problem, *, lazy: bool) -> float:
    """Return the cost of dual averaging, or of descent, on a set that is known."""
    region: Any = problem.benchmark.region
    D = float(problem.domain.radius)
    x, total, squares, paid = problem.start, np.zeros_like(problem.start), 0.0, 0.0
    for t in range(problem.costs.horizon):
        paid += float(problem.costs.value(t, x))
        grad = problem.costs.gradient(t, x)
        squares += float(grad @ grad)
        eta = D / math.sqrt(2 * squares)
        total = total + grad
        x = region.project(-eta * total if lazy else x - 2 * eta * grad)
    return paid


class Regrets(NamedTuple):
    """What three rules had on a set, and what every safe rule must have; means over seeds."""

    averaging: float
    descent: float
    ours: float
    least: float


def measure(name: str, kind: str, seeds: Sequence[int], rounds: int) -> Regrets:
    """Play a set with costs of a kind."""
    found = []
    for seed in seeds:
        problem = make_problem(name, kind, seed, rounds)
        trace = play(LeaderFollower.default(problem.constants), problem, watch="off")
        if trace.violations.count:
            raise SystemExit(f"{name}, {kind}, seed {seed}: {trace.violations.count} outside")
        best = float(problem.best_after([rounds]).lower[0])
        known = [play_known(problem, lazy=lazy) for lazy in (True, False)]
        least = least_safe_regret(problem) if kind in BINDING else 0.0
        found.append([*(cost - best for cost in (*known, float(trace.total_cost))), least])
    return Regrets(*np.mean(found, axis=0))


def table_of(found: dict[tuple[str, str], Regrets]) -> Table:
    """Return a row for each class of sets and kind of costs."""
    records = [
        {
            "sets": f"{group} ({len(names)})",
            "costs": KINDS[kind],
            "over averaging that knows the set": _mean(r.ours / r.averaging for r in rows),
            "over the better of two that know it": _mean(
                r.ours / min(r.averaging, r.descent) for r in rows
            ),
            "over averaging and the least of safe rules": _mean(
                r.ours / (r.averaging + r.least) for r in rows
            ),
            "least of safe rules over averaging": _mean(r.least / r.averaging for r in rows),
        }
        for kind in BINDING
        for group, names in CLASSES.items()
        for rows in [[found[name, kind] for name in names if (name, kind) in found]]
        if rows
    ]
    header = tuple(records[0]) if records else ()
    cells = [tuple(record.values()) for record in records]
    return Table("regret", "Regret, geometric means over sets", header, cells, records)


def _mean(ratios: Iterator[float]) -> str:
    return f"{np.exp(np.mean(np.log(np.maximum(list(ratios), 1e-3)))):.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.regret")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument(
        "--sets", nargs="*", default=[n for names in CLASSES.values() for n in names]
    )
    parser.add_argument("--write-docs", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    found: dict[tuple[str, str], Regrets] = {}
    for kind in options.kinds:
        for name in options.sets:
            row = found[name, kind] = measure(name, kind, options.seeds, options.rounds)
            numbers = ", ".join(f"{word} {x:.1f}" for word, x in row._asdict().items())
            print(f"{kind}, {name}: {numbers}", flush=True)
        if kind in BINDING:
            rows = [found[name, kind] for name in options.sets]
            over = _mean(r.ours / r.averaging for r in rows)
            both = _mean(r.ours / (r.averaging + r.least) for r in rows)
            print(f"== {kind}: {over} over averaging, {both} with the least of safe rules")
    table = table_of(found)
    print(markdown(table))
    if options.write_docs:
        PAGE.write_text(put_in(PAGE.read_text("utf-8"), "regret", markdown(table)), "utf-8")


if __name__ == "__main__":
    main()
