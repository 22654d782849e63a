"""Play the case: ``python -m cases.grid``; with ``--small`` in a few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cases.grid import rules
from cases.grid.network import MINUTES, Day, Recorder, draw_day, make_network
from cases.show import Run, draw, main

SEEDS, ROUNDS = 3, 36


def play(small: bool) -> list[Run]:
    """Return every rule's run of the same days."""
    logging.getLogger("pandapower").setLevel(logging.ERROR)
    net = make_network()
    seeds, rounds = (1, 4) if small else (SEEDS, ROUNDS)
    days = [draw_day(seed, rounds, net) for seed in range(seeds)]
    beta, drift = rules.estimate_constants()
    there = np.array([day.plants @ net.sgen.sn_mva for day in days]) * MINUTES / 60
    later = slice(rounds // 6, None)  # feedback begins with all plants off

    def run(rule: str, knows: str, rounds: Callable[[Day], Recorder], **how: object) -> Run:
        found = [rounds(day) for day in days]
        unused, cost = np.array([f.unused for f in found]), np.array([f.cost for f in found])
        more = {
            "energy not fed in": f"{unused.sum() / there.sum():.1%}",
            "after half an hour": f"{unused[:, later].sum() / there[:, later].sum():.1%}",
            "cost after half an hour": f"{cost[:, later].sum():.2f}",
        }
        return Run(rule, knows, np.array([f.g for f in found]), more, **how)  # type: ignore[arg-type]

    slopes = "slopes at one working point"
    return [
        run("all the power there is", "nothing", rules.uncontrolled, drawn=False),
        run("Q(V) of pandapower's DERController", "nothing", rules.droop, colour="#E69F00"),
        run("grid-feedback-optimizer", slopes, rules.feedback),
        run(
            "the same, limits told tighter (found by trying)",
            slopes,
            lambda day: rules.feedback(day, rules.MARGIN),
            drawn=False,
        ),
        run(
            "certified set points",
            "curvatures and drift, estimated",
            lambda day: rules.certified(day, beta, drift),
            certified=True,
        ),
        run("pandapower's optimal power flow", "everything", rules.optimal, drawn=False),
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    hours = 12 + (np.arange(ROUNDS) - ROUNDS / 2) * MINUTES / 60
    draw(path, runs, rounds=hours, unit="hour of the day", limit="worst limit (above 0: broken)")


if __name__ == "__main__":
    main(Path(__file__).parent, play, paint)
