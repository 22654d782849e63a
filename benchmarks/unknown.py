"""What it costs not to know G_g: regret and rounds outside of rule U, and of budgets.

``python -m benchmarks.unknown`` plays polytopes whose rows have lognormal lengths, in three
dimensions, over 1,000 rounds, with linear costs that pull outwards and have noise: means over 30
seeds. Beside rule U are the rule that knows G_g, and budgets of k rounds outside where all that is
known is a constant a hundred times too large. ``--write-docs`` puts the table into docs/unknown.md;
a bar that is missed is named, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table, write_section
from surefoot import Ball, Feedback, LeaderFollower
from surefoot.certified import Certified
from surefoot.core.types import Array
from surefoot.knowledge import UnknownConstant
from surefoot.problems.constraints import Affine

PAGE = Path(__file__).parents[1] / "docs" / "unknown.md"
PESSIMISM = 100.0
DIMENSION, FACES = 3, 12


class Played(NamedTuple):
    """One game.

    Attributes:
        regret: against the best fixed action.
        outside: how many rounds were outside.
        allowed: how many the theorem allows.
        worst: the largest g, over the slack of the start.
        used: what is used for G_g at the end, over G_g.
    """

    regret: float
    outside: int
    allowed: int
    worst: float
    used: float


class System(NamedTuple):
    """A limit, its steepest slope, and the costs."""

    limit: Affine
    G_g: float
    gradients: Array
    best: float

    @classmethod
    def draw(cls, seed: int, rounds: int) -> System:
        """Return the system of a seed: faces at distances of 0.2 to 0.8, in a box in the ball."""
        rng, d = np.random.default_rng([29, seed]), DIMENSION
        faces = rng.normal(size=(FACES, d))
        faces /= np.linalg.norm(faces, axis=1, keepdims=True)
        rows = np.vstack([faces, np.eye(d), -np.eye(d)])
        far = np.append(rng.uniform(0.2, 0.8, size=FACES), np.full(2 * d, 0.95 / math.sqrt(d)))
        lengths = rng.lognormal(0.0, 1.0, size=len(rows))
        limit = Affine(rows * lengths[:, None], far * lengths)
        pull = rng.normal(size=d)
        gradients = pull / np.linalg.norm(pull) + rng.normal(size=(rounds, d)) / math.sqrt(d)
        total, region = gradients.sum(axis=0), limit.region
        best = float(np.asarray(region.minimize_linear(total)) @ total)
        return cls(limit, float(lengths.max()) * (1 + 1e-12), gradients, best)


def play(player: Certified, system: System) -> Played:
    """Play one game."""
    limit, gradients = system.limit, system.gradients
    state: Any = player.init(np.zeros(gradients.shape[1]))
    values, paid = [], 0.0
    for grad in gradients:
        x = state.x
        g, s = limit.query(x)
        values.append(float(g))
        paid += float(grad @ x)
        state, _ = player.step(state, Feedback(grad, g, s))
    known, allowed = player.knowledge, 0
    if isinstance(known, UnknownConstant):
        memory, most = state.memory, known.violations
        ratio = math.log(system.G_g / memory.first)
        allowed = max(math.ceil(ratio / math.log(known.theta)) - 1, 0) if most is None else most
        used = memory.used / system.G_g
    else:
        used = known.G_g / system.G_g
    outside = sum(g > 0 for g in values)
    return Played(paid - system.best, outside, allowed, max(values) / -values[0], used)


def players(system: System, *, short: bool) -> dict[str, Certified]:
    """Return the rules by name."""
    ball, G, most = Ball(1.0), system.G_g, PESSIMISM * system.G_g
    made: dict[str, Certified] = {"G_g known": LeaderFollower(G_g=G, domain=ball)}
    for theta in (2.0,) if short else (1.5, 2.0, 4.0):
        made[f"unknown, theta = {theta:g}"] = LeaderFollower.unknown(ball, theta=theta).algorithm
    made["100 G_g known, k = 0"] = LeaderFollower(G_g=most, domain=ball)
    for k in (2,) if short else (1, 2):
        budget = LeaderFollower.unknown(ball, violations=k, largest_G_g=most)
        made[f"100 G_g known, k = {k}"] = budget.algorithm
    if not short:
        made["unknown, k = 1"] = LeaderFollower.unknown(ball, violations=1).algorithm
    return made


def rows_of(games: dict[str, list[Played]]) -> list[list[str]]:
    """Return the cells of the table."""
    rows = []
    for name, found in games.items():
        regret, outside, allowed, _, used = (np.array(each) for each in zip(*found, strict=True))
        worst = max(one.worst for one in found)
        size = f"{worst:.3g}" if outside.any() else "0"
        many = f"{outside.mean():.2f}, {outside.max()}"
        cells = [f"{regret.mean():.1f}", many, f"{allowed.mean():.1f}", size, f"{used.mean():.2g}"]
        rows.append([name, *cells])
    return rows


def missed_bars(games: dict[str, list[Played]]) -> list[str]:
    """Return the bars that are missed, in words."""
    mean = {name: float(np.mean([one.regret for one in found])) for name, found in games.items()}
    two = games["unknown, theta = 2"]
    bars = {
        "rule U has at most the regret of the rule that knows G_g": (
            mean["unknown, theta = 2"] <= mean["G_g known"]
        ),
        "at most one round outside in 90 % of systems": (
            np.mean([one.outside <= 1 for one in two]) >= 0.9
        ),
        "never more rounds outside than the theorem allows": all(
            one.outside <= one.allowed for found in games.values() for one in found
        ),
        "k = 2 has at most a tenth of the regret of k = 0": (
            mean["100 G_g known, k = 2"] <= 0.1 * mean["100 G_g known, k = 0"]
        ),
    }
    return [name for name, met in bars.items() if not met]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unknown", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--short", action="store_true", help="only the rules that bars are for")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(arguments)
    games: dict[str, list[Played]] = {}
    began = time.perf_counter()
    for seed in range(options.seeds):
        system = System.draw(seed, options.rounds)
        for name, player in players(system, short=options.short).items():
            games.setdefault(name, []).append(play(player, system))
    head = ["rule", "regret", "rounds outside: mean, most", "allowed by the theorem, mean"]
    head += ["largest g over the start's slack", "used for G_g, over G_g"]
    lines = table(head, rows_of(games))
    print("\n".join(lines))
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    if options.write_docs:
        write_section(PAGE, "unknown", lines)
    missed = missed_bars(games)
    print("; ".join(f"MISSED: {one}" for one in missed) or "all bars met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
