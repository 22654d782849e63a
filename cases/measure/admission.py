"""Admission under a latency limit: certified regions, AIMD, token buckets, no limit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.pages import table

from cases.admission import (
    LIMIT,
    AdmissionRecord,
    AdmissionServer,
    CertifiedAdmission,
    additive_increase,
    admit_everything,
    by_value_per_work,
    fixed_rates,
)

Choice: TypeAlias = tuple[float, float, float]
GRID: tuple[Choice, ...] = tuple(
    product((0.005, 0.02, 0.05), (0.5, 0.7, 0.9), (1.0, 0.9, 0.8, 0.7, 0.6))
)
"""Of AIMD: what is added per second, the factor, the target as a share of the limit."""

OTHERS = (1, 2)
"""Seeds on which nothing was tuned."""


def tuned(server: AdmissionServer) -> tuple[Choice, AdmissionRecord]:
    """Return the AIMD of the grid with the fewest windows over, then the most weighted tokens."""
    done = {choice: server.run(additive_increase(*choice)) for choice in GRID}
    best = min(done, key=lambda choice: (done[choice].over, -done[choice].weighted))
    return best, done[best]


def measure(images: Path | None, seconds: int = 3600) -> Iterator[str]:
    """Play all rules on the same demand and errors."""
    server = AdmissionServer(seconds=seconds)
    certified = CertifiedAdmission(server)
    insider = "best admission for the known server"
    choice, aimd = tuned(server)
    add, factor, target = choice
    words = f"AIMD, +{add:g}, x {factor:g} above {target:.0%} of the limit: the best of {len(GRID)}"
    done = {
        "no limit": ("nothing, and ignores it", server.run(admit_everything)),
        "token buckets at a fixed rate": ("one safe rate for all", server.run(fixed_rates(server))),
        "AIMD, +0.02, x 0.5 above the limit": ("measures", server.run(additive_increase())),
        words: ("measures; tuned in hindsight", aimd),
        "**certified regions**": (
            "curvature, bounds on errors and drift; measures",
            server.run(certified),
        ),
        insider: ("the server and its speed", server.run(by_value_per_work(server))),
    }
    head = ["rule", "knows", "windows over", "worst p95, ms", "tokens admitted of asked"]
    head += ["weighted by priority", "of the best", "µs per decision"]
    best = done[insider][1].weighted
    yield from table(
        head,
        [
            [
                name,
                knows,
                f"{d.over:,}",
                f"{d.worst:,.1f}",
                f"{d.admitted:.1%}",
                f"{d.weighted:.1%}",
                f"{d.weighted / best:.1%}",
                f"{d.microseconds:,.0f}",
            ]
            for name, (knows, d) in done.items()
        ],
    )
    yield ""
    yield (
        f"{seconds:,} windows of a second; limit {LIMIT:g} ms. Readings err by up to "
        f"{server.value_error:.0%} of the limit and slopes by up to {server.slope_error:g}; "
        f"β = {server.beta:.0f}, drift at most {server.drift:.2g} of the limit per second. The "
        f"certified point was lowered to the demand in {certified.lowered:,} windows; in "
        f"{certified.idle:,} nothing was admitted."
    )
    others = [AdmissionServer(seconds=seconds, seed=seed) for seed in OTHERS]
    again = [other.run(additive_increase(*choice)) for other in others]
    sure = [other.run(CertifiedAdmission(other)) for other in others]
    yield ""
    yield (
        f"On the demand of {len(others)} other seeds the tuned AIMD, tuned no further, has "
        f"{_each(again)} windows over; certified regions have {_each(sure)}."
    )
    if images is not None:
        draw(images / "cases_admission.png", {name: d for name, (_, d) in done.items()}, words)


def _each(done: list[AdmissionRecord]) -> str:
    return " and ".join(str(d.over) for d in done)


def draw(path: Path, done: dict[str, AdmissionRecord], tuned: str) -> None:
    """Save the latencies of ten minutes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    ax = figure.subplots()
    show = {
        "AIMD, +0.02, x 0.5 above the limit": ("#E69F00", "AIMD"),
        tuned: ("#009E73", "AIMD, tuned"),
        "**certified regions**": ("#0072B2", "certified regions"),
    }
    for name, (colour, label) in show.items():
        some = done[name].latencies[600:1200]
        ax.plot(600 + np.arange(len(some)), some, color=colour, lw=1.0, label=label)
    ax.axhline(LIMIT, color="#333333", lw=0.8)
    ax.set(xlabel="second", ylabel="true p95, ms", ylim=(0, 1.8 * LIMIT))
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
