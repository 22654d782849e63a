"""What size costs: sparse constraints up to a million entries, and ten million rounds.

The first table plays Polyak feasibility steps on a polytope with ten entries a column: a cube, and
as many random rows of eight entries as there are columns, all of norm 1. Three sizes, each ten
times the one before; time and memory of a round should grow with the entries, so the fitted
exponents should be near 1. Fixed costs of a round make them smaller, entries that no longer fit
into the processor's cache make them larger. Run it with one BLAS thread, as ``make bench`` does
(``OPENBLAS_NUM_THREADS=1``): vectors of 10^5 entries are too short for two to be worth their wait.

The second plays the paper's toy for ten million rounds on costs that arrive in chunks, and watches
the resident memory, which should be flat but for a few chunks that the allocator keeps.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import platform
import resource
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_array, eye_array, vstack

import surefoot
from surefoot import PFS, Ball, Feedback, Problem, play
from surefoot._extras import MissingExtraError
from surefoot.algorithms import CertifiedPFS
from surefoot.constraints import LinfBall, SparseAffine
from surefoot.costs import FromFunctions, Live, Quadratic
from surefoot.games import Progress
from surefoot.metrics import Rate, fit_rate
from surefoot.types import Array

REPORT = Path("build/bench/sparse.json")
ENTRIES = (10_000, 100_000, 1_000_000)
ROUNDS = 200
"""Rounds of a game on a sparse polytope."""
LONG, CHUNK = 10_000_000, 50_000
"""Rounds of the long game, and how many arrive at once."""

# --- a sparse polytope ---------------------------------------------------------------------------


def polytope(entries: int, seed: int = 0) -> SparseAffine:
    """A cube of d = entries/10 columns, cut by d random rows of eight entries each."""
    d = entries // 10
    rng = np.random.default_rng(seed)
    # One entry in each eighth of the columns, so that none comes twice in a row.
    columns = (np.arange(8) * (d // 8) + rng.integers(0, d // 8, size=(d, 8))).ravel()
    rows = np.repeat(np.arange(d), 8)
    cuts = csr_array((rng.normal(size=8 * d), (rows, columns)), shape=(d, d))
    lengths = np.sqrt(cuts.multiply(cuts).sum(axis=1))
    b = np.concatenate([np.ones(2 * d), lengths * rng.uniform(0.5, 1.0, d)])
    return SparseAffine(vstack([eye_array(d), -eye_array(d), cuts], format="csr"), b).normalized()


def sparse_problem(entries: int) -> Problem:
    """The polytope, with costs that pull to one of sixteen points outside, in turn."""
    constraint = polytope(entries)
    d = constraint.dimension
    targets = 2.0 + np.random.default_rng(1).normal(size=(16, d))
    radius = math.sqrt(d)  # that of the cube's corners

    def value_of(t: int, x: Array) -> float:
        away = x - targets[t % 16]
        return 0.5 * float(away @ away)

    costs = FromFunctions(
        value_of=value_of,
        gradient_of=lambda t, x: x - targets[t % 16],
        horizon=ROUNDS,
        dimension=d,
        bound=float(np.linalg.norm(targets, axis=1).max()) + radius,
        strong_convexity=1.0,
    )
    return Problem.of(costs, constraint, Ball(radius * (1 + 1e-12)), np.zeros(d))


class GameOfSize(NamedTuple):
    """One game on a sparse polytope.

    Attributes:
        round_ms: a whole round.
        worst: largest g.
        saved: the share of the first sixteen rounds' cost that the last sixteen do not have.
    """

    round_ms: float
    worst: float
    saved: float


class Size(NamedTuple):
    """What one size costs.

    Attributes:
        entries: of A, not 0.
        columns: d.
        rows: m.
        query_ms: value and subgradient of the constraint at one action.
        update_ms: one update.
        round_ms: a whole round of a game: costs, query, update, records.
        held_mb: the constraint.
        round_mb: the most that a round takes while it lasts, beyond what it found.
        games: of PFS tuned from the start alone, and of certified steps.
    """

    entries: int
    columns: int
    rows: int
    query_ms: float
    update_ms: float
    round_ms: float
    held_mb: float
    round_mb: float
    games: dict[str, GameOfSize]


def measure(entries: int) -> Size:
    problem = sparse_problem(entries)
    constraint: Any = problem.constraint
    tuned = PFS.tuned(problem.constants, ROUNDS)
    games = {
        "PFS.tuned": _game(tuned, problem),
        "CertifiedPFS.default": _game(CertifiedPFS.default(problem.constants), problem),
    }
    player, state = tuned.algorithm, tuned.algorithm.init(problem.start)
    seen = Feedback(problem.costs.gradient(0, state.x), *constraint.query(state.x))

    def whole_round() -> None:
        x = state.x
        problem.costs.value(0, x)
        player.update(state, Feedback(problem.costs.gradient(0, x), *constraint.query(x)))

    A = constraint.A
    parts = (A.data, A.indices, A.indptr, constraint.b)
    return Size(
        entries=A.nnz,
        columns=constraint.dimension,
        rows=constraint.rows,
        query_ms=_milliseconds(lambda: constraint.query(state.x)),
        update_ms=_milliseconds(lambda: player.update(state, seen)),
        round_ms=games["PFS.tuned"].round_ms,
        held_mb=sum(p.nbytes for p in parts) / 1e6,
        round_mb=_peak(whole_round) / 1e6,
        games=games,
    )


def _game(player: Any, problem: Problem) -> GameOfSize:
    traces = [play(player, problem, keep_actions=False, watch="record") for _ in range(5)]
    cost = traces[0].cost
    return GameOfSize(
        # The quickest of five: whatever else the machine does only adds.
        round_ms=min(t.ledger.microseconds_a_round for t in traces) / 1e3,
        worst=float(traces[0].violations.worst),
        saved=1 - float(cost[-16:].sum() / cost[:16].sum()),
    )


def _milliseconds(work: Any, turns: int = 50) -> float:
    """The median of single calls, of this thread's own time."""
    work()
    times = []
    for _ in range(turns):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return 1e3 * float(np.median(times))


def _peak(work: Any) -> int:
    """Bytes that a call takes at most, beyond those held before."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def exponents(sizes: list[Size]) -> dict[str, Rate]:
    """How time and memory grow with the entries."""
    entries = [s.entries for s in sizes]
    names = ("query_ms", "update_ms", "round_ms", "held_mb", "round_mb")
    return {name: fit_rate(entries, [getattr(s, name) for s in sizes]) for name in names}


# --- ten million rounds --------------------------------------------------------------------------


class LongGame(NamedTuple):
    """A game on costs that arrive while it is played.

    Attributes:
        rounds: rounds played at each look.
        resident_mb: resident memory then.
        seconds: of the whole game.
        worst: largest g.
    """

    rounds: list[int]
    resident_mb: list[float]
    seconds: float
    worst: float

    @property
    def growth_mb(self) -> float:
        """From the first look, after all is compiled, to the last."""
        return self.resident_mb[-1] - self.resident_mb[0]


def long_game() -> LongGame:
    """The paper's toy, its targets drawn a chunk at a time."""

    def arriving() -> Iterator[Quadratic]:
        rng = np.random.default_rng(0)
        for _ in range(LONG // CHUNK):
            yield Quadratic(rng.uniform(-1, 0, (CHUNK, 2)), 6.0)

    costs = Live(arriving(), horizon=LONG, dimension=2, bound=6 * (1 + math.sqrt(2)))
    problem = Problem.of(costs, LinfBall(0.5, 2), Ball(1.0), np.zeros(2))
    rounds: list[int] = []
    resident: list[float] = []

    def look(progress: Progress) -> None:
        if progress.round >= (len(rounds) + 1) * LONG // 10:
            rounds.append(progress.round)
            resident.append(_resident())

    begun = time.perf_counter()
    trace = play(
        PFS.tuned(problem.constants, LONG),
        problem,
        engine="scan",
        every=None,
        keep_actions=False,
        watch="record",
        callback=look,
    )
    seconds = time.perf_counter() - begun
    return LongGame(rounds, resident, seconds, float(trace.violations.worst))


def _resident() -> float:
    """Resident memory in MB; its peak where the system does not tell the present."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


# --- the report ----------------------------------------------------------------------------------


def show(
    sizes: list[Size], rates: dict[str, Rate], long: LongGame | None, console: Console
) -> None:
    table = Table(box=box.SIMPLE_HEAD, title="PFS on a sparse polytope")
    heads = ("entries", "d", "m", "query, ms", "update, ms", "round, ms", "held, MB", "round, MB")
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    for s in sizes:
        times = (f"{v:.3f}" for v in (s.query_ms, s.update_ms, s.round_ms))
        memory = (f"{v:.2f}" for v in (s.held_mb, s.round_mb))
        table.add_row(*(f"{v:,}" for v in s[:3]), *times, *memory)
    table.add_section()
    table.add_row("exponent", "", "", *(f"{r.slope:.2f}" for r in rates.values()))
    console.print(table)
    table = Table(box=box.SIMPLE_HEAD, title=f"The same, {ROUNDS} rounds each")
    for name in ("player", "entries", "round, ms", "largest g", "cost saved"):
        table.add_column(name, justify="left" if name == "player" else "right", no_wrap=True)
    for s in sizes:
        for player, game in s.games.items():
            numbers = f"{game.round_ms:.3f}", f"{game.worst:.3f}", f"{game.saved:.2%}"
            table.add_row(player, f"{s.entries:,}", *numbers)
    console.print(table)
    if long is None:
        console.print("ten million rounds: not played, JAX is not installed")
        return
    table = Table(box=box.SIMPLE_HEAD, title="The paper's toy, costs arriving in chunks")
    table.add_column("rounds", justify="right")
    table.add_column("resident, MB", justify="right")
    for rounds, resident in zip(long.rounds, long.resident_mb, strict=True):
        table.add_row(f"{rounds:,}", f"{resident:.1f}")
    console.print(table)
    console.print(
        f"{long.rounds[-1]:,} rounds in {long.seconds:.1f} s, {long.growth_mb:+.1f} MB from the "
        f"first look to the last; largest g = {long.worst:.3g}",
        highlight=False,
    )


def save(sizes: list[Size], rates: dict[str, Rate], long: LongGame | None, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "surefoot": surefoot.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "sizes": [
            s._asdict() | {"games": {n: g._asdict() for n, g in s.games.items()}} for s in sizes
        ],
        "exponents": {name: rate.slope for name, rate in rates.items()},
        "long_game": None if long is None else long._asdict() | {"growth_mb": long.growth_mb},
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a pipe has no width of its own
    sizes = [measure(entries) for entries in ENTRIES]
    rates = exponents(sizes)
    long: LongGame | None = None
    with contextlib.suppress(MissingExtraError):
        long = long_game()
    show(sizes, rates, long, console)
    save(sizes, rates, long, REPORT)
    console.print(f"{REPORT} saved", highlight=False)


if __name__ == "__main__":
    main()
