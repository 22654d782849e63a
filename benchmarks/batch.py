"""Many runs at once: the batch engine against a NumPy program that is batched by hand.

Both play the paper's toy and leave the same numbers: of every run the total cost and the largest g,
from the cost and the g of every round.
"""

from __future__ import annotations

import numpy as np

from benchmarks import limit
from benchmarks.findings import Findings, Row, compared
from benchmarks.rivals import (
    Query,
    batched_cube,
    batched_rows,
    hand_batch,
    hand_batch_game,
    must_agree,
)
from benchmarks.streams import (
    CURVATURE,
    HALF,
    as_plotted,
    cube_toy,
    play_bare,
    rounds_of,
    rows_toy,
    targets_of,
)
from benchmarks.timing import Effort, Work, take_turns
from benchmarks.update import by_hand, by_library
from surefoot import Problem
from surefoot.problems.constraints import Affine

BATCH, BY_HAND, C = "batch engine", "batched by hand", "C"
BAR, BAR_RUNS = 1.6, 300


def run(effort: Effort) -> Findings:
    """Measure all numbers of runs, then larger dimensions."""
    rows: list[Row] = []
    sizes = ((1, 2_000), (30, 1_000), (300, 500), (3_000, 200))
    for runs, rounds in ((4, 32),) if effort.tiny else sizes:
        problem = cube_toy(2, rounds, runs)
        bar = BAR if runs == BAR_RUNS else None
        rows.append(game(f"B = {runs:,}, d = 2", problem, effort, bar))
        rows.append(update(f"B = {runs:,}, d = 2", problem, effort, bar))
    if effort.tiny:
        return Findings([*rows, per_run(5, 8, 3, effort)])
    rows.append(game("B = 30, d = 100, m = 200", rows_toy(100, 200, 200, 30), effort, None))
    rows += [per_run(d, rounds, 30, effort) for d, rounds in ((100, 500), (10_000, 24))]
    return Findings(rows)


def game(case: str, problem: Problem, effort: Effort, bar: float | None) -> Row:
    """Compare a whole game: costs, constraint, update, sums."""
    targets = np.array(targets_of(problem))
    rounds, runs, _ = targets.shape
    player, g = as_plotted(problem.domain), problem.constraint
    query: Query = (
        batched_rows(g.A, g.b, runs) if isinstance(g, Affine) else batched_cube(HALF, runs)
    )
    radius = float(player.domain.radius)
    numbers = (float(player.eta), float(player.rho), radius)

    def game_by_hand() -> object:
        return hand_batch_game(targets, CURVATURE, query, *numbers)

    works: dict[str, Work] = {BATCH: lambda: play_bare(problem, "batch"), BY_HAND: game_by_hand}
    trace = play_bare(problem, "batch")
    ours = np.array([trace.total_cost, trace.violations.largest])
    rivals = [np.array(hand_batch_game(targets, CURVATURE, query, *numbers))]
    if limit.compiled() and not isinstance(g, Affine):
        works[C] = in_c = limit.CubeGame(targets, CURVATURE, HALF, *numbers)
        in_c()
        rivals.append(np.array([in_c.total, in_c.worst]))
    for theirs in rivals:
        must_agree(theirs, ours)
    times = take_turns(works, effort)
    units = rounds * runs
    return compared("batch", case, times, BATCH, BY_HAND, units=units, limit=C, bar=bar)


def update(case: str, problem: Problem, effort: Effort, bar: float | None) -> Row:
    """Compare the update alone, on rounds from all over a game."""
    rounds, runs, _ = targets_of(problem).shape
    seen = rounds_of(as_plotted(problem.domain), problem, rounds, min(rounds, 32), batch=True)
    works = {"PFS.update": by_library(seen), "update by hand": by_hand(seen, hand_batch)}
    times = take_turns(works, effort)
    units = len(seen.seen) * runs
    pair = ("PFS.update", "update by hand")
    return compared("batch", case, times, *pair, units=units, bar=bar)


def per_run(d: int, rounds: int, runs: int, effort: Effort) -> Row:
    """Compare a run of a batch with the same engine and one run: is the cache left?"""
    many, one = cube_toy(d, rounds, runs), cube_toy(d, rounds, 1)
    library, rival = f"a run of {runs}", "the only run"
    times = take_turns(
        {library: lambda: play_bare(many, "batch"), rival: lambda: play_bare(one, "batch")}, effort
    )
    times[library] = times[library] / runs
    return compared("batch", f"B = {runs}, d = {d:,}", times, library, rival, units=rounds, bar=1.0)
