"""The live loop: round after round of each run, with arrays of any backend."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from surefoot.core.arrays import to_numpy
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.games.game import Game, Played
from surefoot.games.record import block_length, segments
from surefoot.games.rounds import play_rounds

__all__ = ["play_loop"]


def play_loop(game: Game) -> Played:
    """Play run by run, a block of rounds at a time.

    The start may be of any backend, and the runs stay on it.
    """
    runs, problem, recorder = len(game.horizons), game.problem, game.recorder
    with _double_precision(game.start):
        states = [game.algorithm(run).init(game.start) for run in range(runs)]
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
                mine, player = block.columns(slice(run, run + 1)), game.algorithm(run)
                states[run] = play_rounds(player, oracles[run], states[run], mine, kept, float)
            recorder.add(block)
            x = np.array([to_numpy(state.x) for state in states[:active]])
            game.after_block(first, stop, costs, before.__getitem__, x)
    return Played(np.array([to_numpy(state.x) for state in states]))


def _double_precision(start: Array) -> AbstractContextManager[Any]:
    """Return JAX's 64-bit mode for a JAX start, without which it computes in float32."""
    if type(start).__module__.split(".")[0] in ("jax", "jaxlib"):
        mode: AbstractContextManager[Any] = need("jax", "jax", "a JAX start").enable_x64(True)
        return mode
    return nullcontext()
