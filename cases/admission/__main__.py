"""Admission under a latency limit: certified regions, AIMD, token buckets, no limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cases.admission import (
    AdmissionRule,
    AdmissionServer,
    CertifiedAdmission,
    additive_increase,
    admit_everything,
    by_value_per_work,
    fixed_rates,
)
from cases.show import KNOWING, Run, draw, main

GRID = tuple(product((0.005, 0.02, 0.05), (0.5, 0.7, 0.9), (1.0, 0.9, 0.8, 0.7, 0.6)))
"""Of AIMD: what is added per second, the factor, the target as a share of the limit."""


def run(
    servers: Sequence[AdmissionServer],
    name: str,
    knows: str,
    make: Callable[[AdmissionServer], AdmissionRule],
    **options: Any,
) -> Run:
    """Let a rule, made anew for each server, set the rates of all of them."""
    done = [server.run(make(server)) for server in servers]
    more = {
        "tokens admitted of asked": f"{np.mean([one.admitted for one in done]):.1%}",
        "weighted by priority": f"{np.mean([one.weighted for one in done]):.1%}",
        "µs per decision": f"{np.median([one.microseconds for one in done]):,.0f}",
    }
    return Run(name, knows, np.array([one.values for one in done]), more, **options)


def tune(server: AdmissionServer) -> tuple[float, float, float]:
    """Return the AIMD of the grid with the fewest windows over, then the most weighted tokens."""
    done = {choice: server.run(additive_increase(*choice)) for choice in GRID}
    return min(GRID, key=lambda choice: (done[choice].over, -done[choice].weighted))


def play_all(small: bool) -> list[Run]:
    """Play all rules on the same demand and errors; AIMD is tuned on the first seed."""
    seconds, seeds = (120, 2) if small else (3600, 3)
    servers = [AdmissionServer(seconds=seconds, seed=seed) for seed in range(seeds)]
    add, factor, target = best = tune(servers[0])
    words = f"AIMD, +{add:g}, x {factor:g} above {target:.0%}: the best of {len(GRID)}"
    bounds, hidden = "bounds on curvature, errors and drift", {"drawn": False}
    rows: list[tuple[str, str, Callable[[AdmissionServer], AdmissionRule], dict[str, Any]]] = [
        ("no limit", "nothing", lambda _: admit_everything, hidden),
        ("token buckets at a fixed rate", "one safe rate for all", fixed_rates, hidden),
        ("AIMD, +0.02, x 0.5 above the limit", "nothing", lambda _: additive_increase(), {}),
        (words, "the first hour", lambda _: additive_increase(*best), {"colour": "#CC79A7"}),
        ("certified regions", bounds, CertifiedAdmission, {"certified": True}),
        ("best admission", "the server, its speed", by_value_per_work, {"colour": KNOWING}),
    ]
    return [run(servers, name, knows, make, **more) for name, knows, make, more in rows]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture: ten minutes."""
    draw(
        path,
        runs,
        part=slice(600, 1200),
        rounds=np.arange(600, 1200),
        unit="second",
        limit="p95 / 300 ms − 1",
    )


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
