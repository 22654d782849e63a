"""Many runs compiled: the scan engine against a JAX scan that is written by hand for the toy.

Both give every run's total cost and largest g, from the cost and the g of every round; a second
rival keeps only the sums, which is less than the engine does. Time is on the wall, because JAX
computes in threads of its own. Compilation is the first call less a later one.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from benchmarks import limit
from benchmarks.findings import Findings, Row, Table, compared, duration
from benchmarks.rivals import hand_scan_game, must_agree
from benchmarks.streams import CURVATURE, HALF, as_plotted, cube_toy, targets_of
from benchmarks.timing import WALL, Effort, Work, seconds, take_turns
from surefoot import PFS, Problem, play
from surefoot.core.types import Array

SCAN, KEEPS, SUMS, C = "scan engine", "scan by hand", "scan by hand, sums only", "C"
BAR = 1.3


def run(effort: Effort) -> Findings:
    """Measure all numbers of runs, the time to compile, and another horizon without compiling."""
    if importlib.util.find_spec("jax") is None:
        return Findings(remarks=["scan: left out, JAX is not installed"])
    import jax

    rows: list[Row] = []
    compiling: list[tuple[str, float, float]] = []
    sizes = ((1, 100_000), (30, 20_000), (300, 20_000), (3_000, 2_000))
    for runs, rounds in ((4, 64),) if effort.tiny else sizes:
        problem = cube_toy(2, rounds, runs)
        works = contestants(jax, problem)
        first = {name: seconds(work, WALL) for name, work in works.items()}
        for name in (KEEPS, SUMS):
            must_agree(works[name](), works[SCAN]())
        if limit.compiled():
            player = as_plotted(problem.domain)
            numbers = (float(player.eta), float(player.rho), float(player.domain.radius))
            works[C] = limit.CubeGame(np.array(targets_of(problem)), CURVATURE, HALF, *numbers)
        times = take_turns(works, effort, WALL)
        case, units = f"B = {runs:,}, d = 2", runs * rounds
        bar = BAR if runs > 1 else None
        rows += [
            compared("scan", case, times, SCAN, KEEPS, units=units, limit=C, bar=bar),
            compared("scan", case, times, SCAN, SUMS, units=units, limit=C),
        ]
        ours, theirs = (max(first[n] - float(np.median(times[n])), 0.0) for n in (SCAN, KEEPS))
        compiling.append((case, ours, theirs))
    first_call, later = other_horizon(problem), other_horizon(problem)
    remark = (
        f"scan: {compiling[-1][0]} with another horizon and step size took {duration(first_call)} "
        f"at its first call and {duration(later)} at its second: nothing is compiled again"
        if first_call < later + 0.5 * compiling[-1][1]
        else f"scan: another horizon compiles again: {duration(first_call)}, then {duration(later)}"
    )
    return Findings(rows, [compile_table(compiling)], remarks=[remark])


def contestants(jax: Any, problem: Problem) -> dict[str, Work]:
    player, targets = as_plotted(problem.domain), np.array(targets_of(problem))
    numbers = (CURVATURE, HALF, player.eta, player.rho, float(player.domain.radius))
    keeps, sums = hand_scan_game(jax, keep=True), hand_scan_game(jax, keep=False)
    return {
        SCAN: lambda: play_scan(player, problem),
        KEEPS: lambda: keeps(targets, *numbers),
        SUMS: lambda: sums(targets, *numbers),
    }


def play_scan(player: PFS, problem: Problem, horizon: int | None = None) -> tuple[Array, Array]:
    trace = play(
        player,
        problem,
        horizon=horizon,
        engine="scan",
        every=None,
        keep_actions=False,
        watch="off",
    )
    return trace.total_cost, trace.violations.largest


def other_horizon(problem: Problem) -> float:
    """Return seconds of a first call with another horizon, all else of the same shape."""
    player = as_plotted(problem.domain)
    other = PFS(eta=0.5 * float(player.eta), rho=player.rho, domain=player.domain)
    return seconds(lambda: play_scan(other, problem, problem.costs.horizon - 7), WALL)


def compile_table(compiling: list[tuple[str, float, float]]) -> Table:
    return Table(
        "compile",
        "Compilation: the first call less a later one",
        ("case", SCAN, KEEPS),
        [(case, duration(ours), duration(theirs)) for case, ours, theirs in compiling],
        [{"case": c, "library_s": ours, "rival_s": theirs} for c, ours, theirs in compiling],
    )
