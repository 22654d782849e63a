"""Whole games by every engine that plays them: the kernel against scan, batch and loop.

Sums are recorded and nothing else. Time is the processor's, of all threads together, for a round
of a run; the loop plays by the Python text. From 10,000 entries on, where a round is memory, the
kernel must not be slower than that.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Findings, Row, compared
from benchmarks.rivals import must_agree
from benchmarks.streams import CURVATURE, cube_toy, rows_toy
from benchmarks.timing import PROCESS, Effort, spread, take_turns
from surefoot import LeaderFollower, Problem, kernel, play
from surefoot.games import Engine, Trace
from surefoot.kernel.games import is_available
from surefoot.problems.constraints import L2Norm
from surefoot.problems.costs import Quadratic
from surefoot.rules import PFS, CertifiedOGD, CertifiedPFS
from surefoot.sets import Ball


class Case(NamedTuple):
    """A game.

    Attributes:
        tune: the constructor of the player.
        problem: what is played.
        engines: against which the kernel plays.
        bar: seconds of a round of a run, at most; or None.
        ratio: to the first of the engines, at most; or None.
    """

    tune: Callable[..., Any]
    problem: Problem
    engines: tuple[Engine, ...]
    bar: float | None = None
    ratio: float | None = None


def run(effort: Effort) -> Findings:
    """Measure all cases."""
    if not is_available():
        return Findings(remarks=["games: left out, the kernel was not built"])
    rows = [row for case in cases(effort.tiny) for row in measure(case, effort)]
    jax = importlib.util.find_spec("jax")
    return Findings(rows, remarks=[] if jax else ["games: without the scan, JAX is not installed"])


def cases(tiny: bool) -> list[Case]:
    """Return the games; few rounds of each where it is a smoke test."""
    scan: tuple[Engine, ...] = ("scan",) if importlib.util.find_spec("jax") else ()
    if tiny:
        return [Case(LeaderFollower.default, rows_toy(2, 4, 20, 2), ("loop",))]
    leader, certified = LeaderFollower.default, CertifiedPFS.default
    return [
        Case(PFS.tuned, cube_toy(2, 20_000, 30), (*scan, "batch")),
        Case(PFS.tuned, rows_toy(100, 200, 300, 30), (*scan, "batch")),
        Case(certified, rows_toy(2, 4, 2_000, 30), (*scan, "batch")),
        Case(CertifiedOGD.default, rows_toy(2, 4, 400, 30), ("loop",)),
        Case(leader, rows_toy(2, 4, 20_000, 1), (), bar=700e-9),
        Case(leader, rows_toy(2, 4, 400, 30), ("loop",), bar=700e-9),
        Case(leader, rows_toy(20, 60, 300, 30), ("loop",), bar=2.5e-6),
        Case(leader, rows_toy(100, 200, 200, 30), ("loop",), bar=20e-6),
        Case(leader, wide(10_000, 100), ("loop",), ratio=1.0),
        Case(leader, wide(100_000, 40), ("loop",), ratio=1.0),
    ]


def wide(dimension: int, rounds: int) -> Problem:
    """Return targets around 0 under a ball: a round is a few passes through memory."""
    targets = np.random.default_rng(0).normal(size=(rounds, dimension)) / np.sqrt(dimension)
    start = np.zeros(dimension)
    return Problem.of(Quadratic(targets, CURVATURE), L2Norm(0.4), Ball(1.0), start)


def measure(case: Case, effort: Effort) -> list[Row]:
    """Return the rows of one game."""
    costs, g = case.problem.costs, case.problem.constraint
    runs, rounds = costs.runs or 1, costs.horizon
    player = case.tune(case.problem.constants, rounds, case.problem.domain)
    engines: tuple[Engine, ...] = ("kernel", *case.engines)
    works: dict[str, Callable[[], Trace]] = {
        engine: partial(play_sums, player, case.problem, engine) for engine in engines
    }
    sums = {engine: work().total_cost for engine, work in works.items()}
    for engine in case.engines:
        must_agree(np.atleast_1d(sums["kernel"]), np.atleast_1d(sums[engine]))
    times = take_turns(works, effort, PROCESS)
    m = f", m = {g.rows}" if g.rows > 1 else ""
    name = f"{works['kernel']().player}, d = {costs.dimension:,}{m}, B = {runs}"
    units = rounds * runs
    found = [
        compared("games", name, times, "kernel", engine, units=units, bar=case.ratio)
        for engine in case.engines
    ]
    if case.bar is not None:
        taken = spread(times["kernel"] / units)
        found.append(Row("games", name, "kernel", "", taken, bar=case.bar))
    return found


def play_sums(player: Any, problem: Problem, engine: Engine) -> Trace:
    """Play a game and keep its sums; the loop by the Python text."""
    with kernel.engine("python") if engine == "loop" else nullcontext():
        return play(player, problem, engine=engine, every=None, keep_actions=False, watch="off")
