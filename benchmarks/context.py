"""What contexts that are known in advance are worth: the table of docs/unknown.md.

``python -m benchmarks.context`` plays rules on two loads of a cable, whose limit moves with a
temperature (four days of 15 minutes) or a base load that jumps by half of it, and prints the share
of the ideal income, that of the best action of every round with everything known. Prices are known
one round late. ``--write`` puts the table into the page. Not one round may be outside.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import LeaderFollower
from surefoot.certified import Certified
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import (
    Column,
    Columns,
    ContextHull,
    EmptyRegionError,
)
from surefoot.proposers import PolicyLeader
from surefoot.sets import Box

PAGE = Path(__file__).parents[1] / "docs" / "unknown.md"
BEGIN, END = "<!-- benchmarks.context -->\n", "<!-- end of benchmarks.context -->\n"
SEEDS = 30
DAY = 96


class Cable(NamedTuple):
    """A cable: g(x; c) = a'x^2 + k c - room, the contexts and the prices of all rounds."""

    a: Array
    k: float
    room: float
    contexts: Array
    prices: Array

    @property
    def domain(self) -> Box:
        """What the loads can be, whatever the context."""
        return Box(np.zeros(2), np.sqrt(self.most / self.a))

    @property
    def most(self) -> float:
        """The room in the mildest context."""
        return float(self.room - self.k * self.contexts.min())

    @property
    def G_g(self) -> float:
        """The longest slope where g is at most 0."""
        return float(2 * np.sqrt(self.a.max() * self.most))

    @property
    def start_bound(self) -> float:
        """What g is at most without a load."""
        return float(self.k * self.contexts.max() - self.room)

    def ideal(self) -> float:
        """Return the income of the best action of every round."""
        rooms = self.room - self.k * self.contexts
        return float(np.sqrt(rooms * (self.prices**2 / self.a).sum(axis=1)).sum())


def make(kind: str, seed: int) -> Cable:
    """Return a cable of a kind: "temperature" or "base load"."""
    rng = np.random.default_rng([7, seed])
    a, room = rng.uniform(0.4, 0.9, size=2), rng.uniform(0.35, 0.5)
    rounds = 4 * DAY if kind == "temperature" else 3 * DAY
    t = np.arange(rounds)
    if kind == "temperature":  # degrees above 20
        swing, noise = rng.uniform(8.0, 11.0), np.cumsum(rng.normal(0.0, 0.15, rounds))
        noise -= np.linspace(0.0, noise[-1], rounds)
        contexts, k = swing * np.sin(2 * np.pi * (t / DAY - 0.3)) + noise, 0.012
    else:
        levels = rng.uniform(0.0, 0.5 * room, size=rounds // 8)
        jumps = np.sort(rng.choice(np.arange(1, rounds), 30, replace=False))
        contexts, k = levels[np.searchsorted(jumps, t, side="right")], 1.0
    prices = rng.uniform(0.7, 1.3, size=2) + 0.05 * rng.normal(size=(rounds, 2))
    return Cable(a, k, room, contexts, prices)


def rules(cable: Cable) -> dict[str, Certified]:
    """Return the rules that are compared."""
    known: Any = {"G_g": cable.G_g, "domain": cable.domain}
    kinds = {
        "Lipschitz": Columns([Column(G_c=cable.k)]),
        "one-sided": Columns([Column(G_c=cable.k, worse="up")]),
        "joint": Columns([Column(G_c=cable.k)], joint=True),
        "exact": Columns([Column(adds=cable.k)]),
    }
    change = cable.k * float(np.abs(np.diff(cable.contexts)).max())
    found = {"drift, the largest change": LeaderFollower(**known, drift=change * (1 + 1e-9))}
    known["start_bound"] = cable.start_bound * (1 - 1e-9)
    for name, kind in kinds.items():
        found[f"context, {name}"] = LeaderFollower(**known, context=kind)
    policies = PolicyLeader(
        radius=1.5, features=lambda c: np.array([1.0, cable.k * c / cable.room])
    )
    hull = ContextHull(**known, context=kinds["exact"])
    return found | {"policies, exact": Certified(proposer=policies, knowledge=hull)}


def play(player: Certified, cable: Cable) -> tuple[float, int]:
    """Return a rule's share of the ideal income, and how many rounds were not certified."""
    x = np.zeros(2)
    state, income, lost = player.init(x), 0.0, 0
    in_contexts = player.knowledge.in_contexts
    if in_contexts:
        state, _ = player.announce(
            state, player.read_context(state, cable.contexts[0], current=True)
        )
    for t, (c, price) in enumerate(zip(cable.contexts, cable.prices, strict=True)):
        x = state.x
        g = float(cable.a @ x**2 + cable.k * c - cable.room)
        if g > 0:
            raise AssertionError(f"round {t}: g = {g!r} is above 0")
        income += float(price @ x)
        seen = Feedback(-price, g, 2 * cable.a * x)
        if in_contexts:
            told = cable.contexts[min(t + 1, len(cable.contexts) - 1)]
            state = player.update(state, seen._replace(context=player.read_context(state, told)))
            continue
        try:
            state = player.update(state, seen)
        except EmptyRegionError:  # nothing is certified: off, and it starts anew
            state, lost = player.init(np.zeros(2)), lost + 1
    return income / cable.ideal(), lost


def table(seeds: int, only: str = "") -> tuple[list[str], bool]:
    """Return the lines of the table, and whether every context is above the bar."""
    lines = ["| rule | daily temperature | base load that jumps |", "|---|---|---|"]
    good = True
    names = [name for name in rules(make("temperature", 0)) if only in name]
    for name in names:
        cells = []
        for kind in ("temperature", "base load"):
            cables = [make(kind, seed) for seed in range(seeds)]
            played = [play(rules(cable)[name], cable) for cable in cables]
            shares, lost = np.array([p[0] for p in played]), sum(p[1] for p in played)
            mean, least, most = (100 * f(shares) for f in (np.mean, np.min, np.max))
            text = f"{mean:.1f} % ({least:.1f} to {most:.1f})"
            cells.append(text + (f", nothing certified {lost} times" if lost else ""))
            good &= not name.startswith("context") or mean >= 95.0
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
        print(lines[-1], flush=True)
    return lines, good


def main() -> int:
    """Print the table; write it into the page if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="rules whose name has this in it")
    options = parser.parse_args()
    lines, good = table(options.seeds, options.only)
    print("every context above 95 %" if good else "MISSED: a context below 95 %")
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
