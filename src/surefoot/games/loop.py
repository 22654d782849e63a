"""The live loop: round after round of each run, with arrays of any backend."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from surefoot._array import norm, to_numpy
from surefoot._extras import need
from surefoot.games.game import Game
from surefoot.games.ledger import Calls
from surefoot.games.oracle import Oracle
from surefoot.games.record import Block, block_length, segments
from surefoot.types import Array

__all__ = ["play_loop"]


def play_loop(game: Game) -> Array:
    """Play run by run, a block of rounds at a time; returns the actions that would come next.

    The start may be of any backend, and the runs stay on it.
    """
    runs, problem, recorder = len(game.horizons), game.problem, game.recorder
    players = [game.counted_algorithm(run) for run in range(runs)]
    with _double_precision(game.start):
        states = [player.init(game.start) for player in players]
        length = block_length(runs, problem.costs.dimension)
        for first, stop, active in segments(game.horizons, length):
            costs = problem.costs.rounds(first, stop)
            oracles = [game.oracle(costs, first, stop, run) for run in range(active)]
            if first == 0:
                game.check_oracle(oracles[0], states[0].x)
            block = recorder.block(first, stop, active)
            kept = recorder.kept(first, stop).tolist()
            before = states.copy()
            for run in range(active):
                asked = oracles[run], game.calls[run]
                states[run] = _play_run(players[run], *asked, states[run], block, run, kept)
            recorder.add(block)
            x = np.array([to_numpy(state.x) for state in states[:active]])
            game.after_block(first, stop, costs, before.__getitem__, x)
    return np.array([to_numpy(state.x) for state in states])


def _play_run(
    algorithm: Any,
    oracle: Oracle,
    calls: Calls,
    state: Any,
    block: Block,
    run: int,
    kept: list[int],
) -> Any:
    """Play one run's rounds of a block, and fill in its column."""
    start, cost, values, actions, gradients, subgradients = block
    wanted = 0
    for k in range(len(cost)):
        x = state.x
        seen = oracle.ask(k, x)
        calls.count(seen.feedback)
        cost[k, run], values[k, run] = float(seen.cost), float(seen.worst)
        if actions is not None and wanted < len(kept) and kept[wanted] == k:
            actions[wanted, run] = to_numpy(x)
            wanted += 1
        if gradients is not None and subgradients is not None:
            gradients[k, run] = float(norm(seen.feedback.cost_gradient))
            subgradients[k, run] = float(seen.steepest)
        try:
            state = algorithm.update(state, seen.feedback)
        except ValueError as error:
            error.args = (f"round {start + k + 1}: {error}",)
            raise
    return state


def _double_precision(start: Array) -> AbstractContextManager[Any]:
    """JAX computes in float32 outside its 64-bit mode, even with arrays that are float64."""
    if type(start).__module__.split(".")[0] in ("jax", "jaxlib"):
        mode: AbstractContextManager[Any] = need("jax", "jax", "a JAX start").enable_x64(True)
        return mode
    return nullcontext()
