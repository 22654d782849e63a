"""What size costs: a round against d, m, entries and B, a game against T; memory against T.

Each curve is fitted by a power law over its upper sizes, where fixed costs no longer count. Rounds
beyond those played are estimated by extrapolation and labelled so.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Findings, Table, duration
from benchmarks.streams import (
    as_plotted,
    cube_toy,
    play_bare,
    rows_toy,
    sparse_polytope,
    sparse_problem,
)
from benchmarks.timing import Effort, Spread, Work, spread, take_turns
from surefoot import Ball, Feedback, Problem
from surefoot.games import Progress, Rate, fit_rate
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import FromChunks, Quadratic

LONG, CHUNK = 100_000_000, 50_000
"""Rounds of the long game, and how many arrive at once."""
EXTRAPOLATED = 1_000_000_000


class Curve(NamedTuple):
    """Cost against one size.

    Attributes:
        size: its name.
        what: whose cost.
        sizes: measured.
        seconds: at each.
        fitted: how many of the largest sizes the law is fitted to.
    """

    size: str
    what: str
    sizes: list[int]
    seconds: list[Spread]
    fitted: int

    @property
    def law(self) -> Rate:
        """The power law."""
        medians = [s.median for s in self.seconds]
        return fit_rate(self.sizes[-self.fitted :], medians[-self.fitted :])


class Long(NamedTuple):
    """A long game on costs that arrive while it is played.

    Attributes:
        rounds: played at each look, since the first block, which compiles.
        seconds: likewise.
        resident: memory in MB.
    """

    rounds: list[int]
    seconds: list[float]
    resident: list[float]

    @property
    def pace(self) -> float:
        """Seconds a round, from the third look to the last."""
        return (self.seconds[-1] - self.seconds[2]) / (self.rounds[-1] - self.rounds[2])


def live_rounds(problem: Problem, rounds: int) -> Work:
    """Play rounds of PFS in a live loop: gradient, query, update."""
    player, costs = as_plotted(problem.domain), problem.costs
    costs = costs if costs.runs is None else costs.run(0)
    query = problem.benchmark.query

    def work() -> None:
        state = player.init(problem.start)
        for t in range(rounds):
            x = state.x
            state = player.update(state, Feedback(costs.gradient(t, x), *query(x)))

    return work


def curve(
    size: str, what: str, works: dict[int, Work], units: Sequence[int], fitted: int, effort: Effort
) -> Curve:
    """Measure all sizes in turn."""
    times = take_turns({str(n): work for n, work in works.items()}, effort)
    seconds = [spread(times[str(n)] / unit) for n, unit in zip(works, units, strict=True)]
    return Curve(size, what, list(works), seconds, min(fitted, len(works)))


def curves(effort: Effort) -> list[Curve]:
    """Measure against d, m, entries and B."""
    tiny = effort.tiny
    dimensions = (2, 4, 8) if tiny else (10, 100, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
    many_rows = (4, 8, 16) if tiny else (10, 100, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
    entries = (100, 200, 400) if tiny else (1_000, 10_000, *(10**5 * 4**k for k in range(4)), 10**7)
    runs = (1, 2, 4) if tiny else (1, 10, 100, 500, 1_000, 2_000, 4_000, 8_000)
    rounds = 8
    by_d = {d: live_rounds(rows_toy(d, 50, rounds), rounds) for d in dimensions}
    by_m = {m: live_rounds(rows_toy(100, m, rounds), rounds) for m in many_rows}
    by_entries = {
        n: live_rounds(sparse_problem(sparse_polytope(n), rounds), rounds) for n in entries
    }
    batches = {B: cube_toy(2, 50, B) for B in runs}
    by_runs: dict[int, Work] = {B: _batch(problem) for B, problem in batches.items()}

    def same(works: dict[int, Work], unit: int) -> list[int]:
        return [unit] * len(works)

    return [
        curve("d", "a live round, 50 dense rows", by_d, same(by_d, rounds), 5, effort),
        curve("m", "a live round, d = 100, dense rows", by_m, same(by_m, rounds), 5, effort),
        curve(
            "entries",
            "a live round, d = entries/10",
            by_entries,
            same(by_entries, rounds),
            5,
            effort,
        ),
        curve("B", "a round of all runs, d = 2, batch", by_runs, same(by_runs, 50), 5, effort),
    ]


def _batch(problem: Problem) -> Work:
    return lambda: play_bare(problem, "batch")


# --- a hundred million rounds ---------------------------------------------------------------------


def long_game(rounds: int, chunk: int) -> Long:
    """Play the paper's toy by the scan engine, its targets drawn one chunk at a time."""

    def draw(start: int, stop: int) -> Quadratic:
        rng = np.random.default_rng(start)
        return Quadratic(rng.uniform(-1, 0, (stop - start, 2)), 6.0)

    costs = FromChunks(draw, horizon=rounds, dimension=2, bound=6 * (1 + math.sqrt(2)))
    problem = Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), np.zeros(2))
    wanted = iter(np.geomspace(rounds / 100, rounds, 9).astype(int).tolist())
    found, next_look, begun = Long([], [], []), next(wanted), [0, 0.0]

    def look(progress: Progress) -> None:
        nonlocal next_look
        if not begun[0]:
            begun[:] = progress.round, time.perf_counter()
        elif progress.round >= next_look:
            found.rounds.append(progress.round - int(begun[0]))
            found.seconds.append(time.perf_counter() - begun[1])
            found.resident.append(resident())
            next_look = next(wanted, rounds + 1)

    play_bare(problem, "scan", look)
    return found


def in_process_of_its_own(rounds: int, chunk: int) -> Long:
    """Play the long game where nothing freed before can hide what it takes."""
    command = [sys.executable, "-m", "benchmarks.scaling", str(rounds), str(chunk)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return Long(*json.loads(done.stdout))


def resident() -> float:
    """Return resident memory in MB; its peak where the system does not tell the present."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


# --- the report ----------------------------------------------------------------------------------


def run(effort: Effort) -> Findings:
    """Measure curves, the long game and the extrapolation."""
    found = curves(effort)
    long: Long | None = None
    remarks = []
    if importlib.util.find_spec("jax") is None:
        remarks.append("scaling: no long game, JAX is not installed")
    else:
        long = in_process_of_its_own(*(40_000, 200) if effort.tiny else (LONG, CHUNK))
        kept = [Spread(s, s, s) for s in long.seconds]
        found.append(Curve("T", "a whole game, d = 2, scan", long.rounds, kept, 5))
        remarks.append(
            f"scaling: {long.rounds[-1]:,} rounds of the scan engine took "
            f"{duration(long.seconds[-1])}; resident memory was {long.resident[0]:.0f} MB after "
            f"round {long.rounds[0]:,}, {long.resident[-3]:.0f} MB after round "
            f"{long.rounds[-3]:,} and {long.resident[-1]:.0f} MB at the end; by extrapolation, not "
            f"played, {EXTRAPOLATED:,} rounds would take {duration(long.pace * EXTRAPOLATED)}"
        )
    one = take_turns({"": live_rounds(cube_toy(2, 200), 200)}, effort)[""]
    a_round = float(np.median(one)) / 200
    remarks.append(
        f"scaling: a live round at d = 2 takes {duration(a_round)}; by extrapolation, not played, "
        f"{EXTRAPOLATED:,} of them would take {duration(a_round * EXTRAPOLATED)}"
    )
    return Findings(
        tables=[table(found), *([] if long is None else [memory(long)])],
        figures={"scaling": figure(found, long)},
        remarks=remarks,
    )


def table(found: Sequence[Curve]) -> Table:
    cells, records = [], []
    for c in found:
        law = c.law
        smallest, largest = c.seconds[0].median, c.seconds[-1].median
        cells.append(
            [
                c.size,
                c.what,
                f"{c.sizes[0]:,} to {c.sizes[-1]:,}",
                f"{duration(smallest)} to {duration(largest)}",
                f"{law.slope:.2f}",
                f"{law.low:.2f} to {law.high:.2f}",
                f"from {c.sizes[-c.fitted]:,}",
            ]
        )
        records += [
            {
                "size": c.size,
                "what": c.what,
                "n": n,
                "seconds": s.median,
                "low": s.low,
                "high": s.high,
            }
            | {"exponent": law.slope, "exponent_low": law.low, "exponent_high": law.high}
            for n, s in zip(c.sizes, c.seconds, strict=True)
        ]
    heads = ("size", "cost of", "range", "time", "exponent", "95% interval", "fitted")
    return Table("scaling", "What size costs", heads, cells, records)


def memory(long: Long) -> Table:
    records = [
        {"rounds": n, "seconds": s, "resident_mb": mb} for n, s, mb in zip(*long, strict=True)
    ]
    cells = [
        (f"{r['rounds']:,}", duration(r["seconds"]), f"{r['resident_mb']:.0f}") for r in records
    ]
    heads = ("rounds", "time", "resident, MB")
    return Table("memory", "Costs arriving in chunks, scan engine", heads, cells, records)


def figure(found: Sequence[Curve], long: Long | None) -> Any:
    """Draw one panel per size, and one for memory."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(11.0, 6.4), layout="constrained")
    axes = drawn.subplots(2, 3).ravel()
    for ax, c in zip(axes, found, strict=False):
        _panel(ax, c)
    if long is not None:
        ax = axes[len(found)]
        ax.plot(long.rounds, long.resident, color="#0072B2", marker="o")
        ax.set(xscale="log", ylim=(0, 1.25 * max(long.resident)))
        ax.set(xlabel="rounds played", ylabel="resident memory, MB", title="memory is flat in T")
    for ax in axes[: len(found) + 1]:
        ax.grid(visible=True, color="#DDDDDD", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[len(found) + (long is not None) :]:
        ax.axis("off")
    return drawn


def _panel(ax: Any, c: Curve) -> None:
    from matplotlib.ticker import NullFormatter

    us = np.array(c.seconds) * (1.0 if c.size == "T" else 1e6)
    low, high = us[:, 0] - us[:, 1], us[:, 2] - us[:, 0]
    ax.errorbar(c.sizes, us[:, 0], yerr=[low, high], color="#0072B2", marker="o", capsize=2)
    law = c.law
    ends = np.array([c.sizes[-c.fitted], c.sizes[-1]], dtype=float)
    scale = law.scale * (1.0 if c.size == "T" else 1e6)
    label = f"exponent {law.slope:.2f} ({law.low:.2f} to {law.high:.2f})"
    ax.plot(ends, scale * ends**law.slope, "--", color="#D55E00", lw=2, label=label)
    if c.size == "T":
        far = us[-1, 0] * np.array([1.0, EXTRAPOLATED / c.sizes[-1]])
        sizes = [c.sizes[-1], EXTRAPOLATED]
        ax.plot(sizes, far, ":", color="#D55E00", label="extrapolated, not played")
        ax.plot(sizes[1:], far[1:], "o", mfc="none", color="#D55E00")
    ax.set(xscale="log", yscale="log", xlabel=c.size, title=c.what)
    ax.set_ylabel("seconds" if c.size == "T" else "microseconds")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, loc="upper left")


if __name__ == "__main__":
    print(json.dumps(long_game(*map(int, sys.argv[1:]))))
