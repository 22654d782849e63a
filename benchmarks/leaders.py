"""Regret of followers behind other leaders than the default's: ``python -m benchmarks.leaders``.

The streams are those of :mod:`benchmarks.learning`; it prints the rows of docs/leader.md. The
leaders have a wide domain, so that only the follower's cuts hold them, and half of the radius that
their own theorems would take, since a follower starts in the middle.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.learning import CHANGES, least_cost, streams
from surefoot import Ball, LeaderFollower, Problem, play
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info, needs_of
from surefoot.rules import AdaGradFTRL, OptimisticDualAveraging
from surefoot.sets import Box

WIDE = 1e6


class Foreseen(NamedTuple):
    """A player that is told what the gradient of the next cost is where it stands.

    Attributes:
        base: the player.
        costs: what it plays; the last round has no next one.
        told: the rounds so far, as many as the list has entries.
    """

    base: Any
    costs: Any
    told: list[int]

    @property
    def needs(self) -> Any:
        """What a round of the player asks for."""
        return needs_of(self.base)

    def init(self, x1: Array) -> Any:
        """Start the player."""
        self.told.clear()
        return self.base.init(x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Step the player with a forecast."""
        self.told.append(len(self.told))
        t = min(len(self.told), self.costs.horizon - 1)
        hint = self.costs.gradient(t, state.x)
        found: tuple[Any, Info] = self.base.step(state, feedback._replace(hint=hint))
        return found


def players(problem: Problem) -> dict[str, Any]:
    """Return followers of all leaders, by name."""
    known, d = problem.constants, len(problem.start)
    eta = float(known.R) / math.sqrt(2)

    (G_g,) = known.require("G_g", by="the followers")

    def behind(leader: Any) -> Any:
        return LeaderFollower(G_g=G_g, domain=problem.domain, leader=leader)

    optimistic = behind(OptimisticDualAveraging(eta=eta, domain=Ball(WIDE)))
    return {
        "default": LeaderFollower.default(known),
        "AdaGradFTRL": behind(
            AdaGradFTRL(eta=eta / math.sqrt(d), domain=Box.cube(WIDE, d)),
        ),
        "OptimisticDualAveraging": optimistic,
        "the same, foreseen": Foreseen(optimistic, problem.costs, []),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a row for each stream."""
    parser = argparse.ArgumentParser("python -m benchmarks.leaders")
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22])
    options = parser.parse_args(arguments)
    found: dict[str, dict[str, list[float]]] = {}
    outside = 0
    for seed in options.seeds:
        for name, problem in streams(options.rounds, seed).items():
            least = least_cost(name, problem)
            for rule, player in players(problem).items():
                trace = play(player, problem, engine="loop", every=1, watch="off")
                outside += int(np.count_nonzero(trace.constraint > 0))
                regrets = found.setdefault(name, {}).setdefault(rule, [])
                regrets.append(float(trace.total_cost) - least)
    for name, row in found.items():
        means = " | ".join(f"{np.mean(regrets):.3g}" for regrets in row.values())
        print(f"| {name}{' †' if name in CHANGES else ''} | {means} |")
    print(f"rounds outside: {outside}")


if __name__ == "__main__":
    main()
