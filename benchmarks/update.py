"""What the library's generality costs: its update against hand-written code, as ratios.

``PFS.update`` is one text for a live loop, a batch and a compiled scan, with checked arguments. The
rivals below do the same arithmetic for one case each and check nothing. Rival and library are
timed in turn, many times over, so that whatever slows the machine slows both; a ratio is taken for
each turn, and the median and quartiles of the ratios are what is reported. On a busy machine look
at the quartiles first.

The bars are ``BARS``. A missed bar is marked, and the exit status is 0 all the same: a
busy machine must not fail a build.
"""

from __future__ import annotations

import gc
import json
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import surefoot
from surefoot import PFS, Ball, Feedback, Problem, play_all
from surefoot._extras import MissingExtraError
from surefoot.algorithms import PFSState
from surefoot.constraints import LinfBall
from surefoot.costs import Quadratic
from surefoot.problems import SETTINGS, paper_toy
from surefoot.types import Array

REPORT = Path("build/bench/update.json")
BARS = {"one run": 1.5, "batch": 1.6}
RUNS = 300

# --- the rivals ----------------------------------------------------------------------------------


def hand_step(
    x: Array, grad: Array, g: float, s: Array, eta: float, rho: float, radius: float
) -> Array:
    y = x - eta * grad
    v = g + s.dot(y - x) + rho
    if v > 0:
        n = s.dot(s)
        if n > 0:
            y = y - (v / n) * s
    n = y.dot(y)
    if n > radius * radius:
        y = y * (radius / math.sqrt(n))
    return y


def hand_batch(
    x: Array, grad: Array, g: Array, s: Array, eta: Array, rho: Array, radius: float
) -> Array:
    y = x - eta * grad
    v = g + np.vecdot(s, y - x)[:, None] + rho
    n = np.vecdot(s, s)[:, None]
    p = y - np.maximum(v, 0.0) / np.where(n > 0, n, 1.0) * s
    n = np.vecdot(p, p)[:, None]
    return p * (radius / np.sqrt(np.maximum(n, radius * radius)))


# --- the rounds ----------------------------------------------------------------------------------


class Rounds(NamedTuple):
    """Rounds of a game, to be updated again and again."""

    player: PFS
    actions: list[Array]
    seen: list[Feedback]

    @property
    def cut_share(self) -> float:
        """In which share of the rounds (and runs) the half-space cuts the cost step."""
        rho = np.asarray(self.player.rho)
        excess = [
            f.constraint_value
            - np.vecdot(f.constraint_subgradient, self.player.eta * f.cost_gradient)[..., None]
            + rho
            for f in self.seen
        ]
        return float((np.array(excess) > 0).mean())


def cube_toy(dimension: int, horizon: int) -> Problem:
    """The paper's toy in any dimension: targets uniform on [-1, 0]^d, the same cube."""
    if dimension == 2:
        return paper_toy(horizon, trials=1)
    targets = np.random.default_rng(0).uniform(-1, 0, (horizon, 1, dimension))
    constraint, domain = LinfBall(0.5, dimension), Ball(math.sqrt(dimension / 2))
    return Problem.of(Quadratic(targets, 6.0), constraint, domain, np.zeros(dimension))


def rounds_of(problem: Problem, horizon: int, kept: int, runs: int | None = None) -> Rounds:
    """Rounds met by PFS with the parameters of the published curve, evenly spaced over a game."""
    eta, rho = SETTINGS[0].parameters(horizon)
    columns = np.full((runs, 1), 1.0) if runs else 1.0
    player = PFS(eta=columns * eta, rho=columns * rho, domain=problem.domain)
    costs = problem.costs.run(np.arange(runs) % 30 if runs else 0)
    state = player.init(np.zeros((runs, 2)) if runs else problem.start)
    actions, seen = [], []
    for t in range(horizon):
        g, s = problem.benchmark.query(state.x)
        feedback = Feedback(costs.gradient(t, state.x), g, s)
        if t % (horizon // kept) == 0:
            actions.append(state.x)
            seen.append(feedback)
        state = player.update(state, feedback)
    return Rounds(player, actions, seen)


# --- timing --------------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """Library time over rival time: median and quartiles over the turns."""

    median: float
    low: float
    high: float
    library_us: float
    rival_us: float


def seconds(work: Callable[[], None], clock: Callable[[], float] = time.thread_time) -> float:
    # The thread's own time: what else the machine does meanwhile is not counted.
    begun = clock()
    work()
    return clock() - begun


def compare(
    library: Callable[[], None], rival: Callable[[], None], units: int, turns: int
) -> Ratio:
    """Time both in turn, in alternating order; ``units`` updates in each."""
    library()
    rival()  # both once unmeasured: caches and lazy set-up
    gc.collect()
    gc.disable()
    try:
        pairs = []
        for turn in range(turns):
            if turn % 2:
                a, b = seconds(library), seconds(rival)
            else:
                b, a = seconds(rival), seconds(library)
            pairs.append((a, b))
    finally:
        gc.enable()
    times = np.array(pairs)
    low, median, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.5, 0.75])
    ours, theirs = np.median(times, axis=0) / units * 1e6
    return Ratio(float(median), float(low), float(high), float(ours), float(theirs))


def compare_updates(rounds: Rounds, rival: Callable[..., Array], repeats: int, turns: int) -> Ratio:
    """``PFS.update`` against a hand-written step on the same rounds."""
    player = rounds.player
    states = [(PFSState(x), f) for x, f in zip(rounds.actions, rounds.seen, strict=True)]
    plain = [(x, f[0], f[1], f[2]) for x, f in zip(rounds.actions, rounds.seen, strict=True)]
    eta, rho, radius = player.eta, player.rho, float(player.domain.radius)

    def library() -> None:
        update = player.update
        for _ in range(repeats):
            for state, feedback in states:
                update(state, feedback)

    def by_hand() -> None:
        for _ in range(repeats):
            for x, grad, g, s in plain:
                rival(x, grad, g, s, eta, rho, radius)

    same = [
        np.allclose(player.update(state, f).x, rival(*p, eta, rho, radius), rtol=0, atol=1e-12)
        for (state, f), p in zip(states, plain, strict=True)
    ]
    assert all(same), "rival and library must do the same"
    return compare(library, by_hand, repeats * len(states), turns)


def whole_round(engine: Any, toy: Problem, horizon: int, players: int) -> float:
    """Microseconds for one round of one run: queries, update, sums, extremes, watch."""
    contenders = [PFS.tuned(toy.constants, horizon)] * players
    runs = players * (toy.costs.runs or 1)

    def game() -> None:
        play_all(contenders, toy, engine=engine, every=None, watch="record")

    game()  # compiles the scan
    # Time on the wall, because JAX computes in threads of its own.
    times = [seconds(game, time.perf_counter) for _ in range(3)]
    return min(times) / (horizon * runs) * 1e6


# --- the report ----------------------------------------------------------------------------------


class Line(NamedTuple):
    """One comparison."""

    case: str
    bar: float
    cut_share: float
    ratio: Ratio

    @property
    def met(self) -> bool:
        """Whether the median is within the bar."""
        return self.ratio.median <= self.bar


def comparisons() -> list[Line]:
    lines = []
    # Few rounds are kept at d = 10^4, so that they stay in the cache as a live round would.
    for dimension, kept, repeats in ((2, 500, 1), (100, 500, 1), (10_000, 20, 5)):
        rounds = rounds_of(cube_toy(dimension, 2_000), 2_000, kept)
        ratio = compare_updates(rounds, hand_step, repeats, turns=101)
        case = f"one run, d = {dimension:,}"
        lines.append(Line(case, BARS["one run"], rounds.cut_share, ratio))
    rounds = rounds_of(paper_toy(2_000), 2_000, 100, runs=RUNS)
    ratio = compare_updates(rounds, hand_batch, 1, turns=101)
    lines.append(Line(f"batch of {RUNS}, d = 2", BARS["batch"], rounds.cut_share, ratio))
    return lines


def engines() -> dict[str, float | None]:
    toy, one = paper_toy(2_000), paper_toy(2_000, trials=1)
    found: dict[str, float | None] = {"loop, 1 run": whole_round("loop", one, 2_000, 1)}
    for engine in ("batch", "scan"):
        try:
            found[f"{engine}, {RUNS} runs"] = whole_round(engine, toy, 2_000, RUNS // 30)
        except MissingExtraError:
            found[f"{engine}, {RUNS} runs"] = None
    return found


def show(lines: list[Line], rounds: dict[str, float | None], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, title="PFS.update against hand-written code")
    for name in ("case", "cut", "by hand, us", "library, us", "ratio", "quartiles", "bar"):
        table.add_column(name, justify="left" if name == "case" else "right", no_wrap=True)
    for line in lines:
        r = line.ratio
        table.add_row(
            line.case,
            f"{line.cut_share:.0%}",
            f"{r.rival_us:.2f}",
            f"{r.library_us:.2f}",
            f"{r.median:.2f}",
            f"{r.low:.2f} - {r.high:.2f}",
            f"{line.bar:g} {'met' if line.met else 'MISSED'}",
        )
    console.print(table)
    table = Table(box=box.SIMPLE_HEAD, title="A whole round of one run: queries, update, records")
    table.add_column("engine")
    table.add_column("us", justify="right")
    for name, us in rounds.items():
        table.add_row(name, "JAX is not installed" if us is None else f"{us:.3f}")
    console.print(table)


def save(lines: list[Line], rounds: dict[str, float | None], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "surefoot": surefoot.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "updates": [
            {"case": x.case, "bar": x.bar, "met": x.met, "cut_share": x.cut_share}
            | x.ratio._asdict()
            for x in lines
        ],
        "whole_round_us": rounds,
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a pipe has no width of its own
    lines, rounds = comparisons(), engines()
    show(lines, rounds, console)
    save(lines, rounds, REPORT)
    missed = [line.case for line in lines if not line.met]
    console.print(f"bars missed: {', '.join(missed) or 'none'}; {REPORT} saved", highlight=False)


if __name__ == "__main__":
    main()
