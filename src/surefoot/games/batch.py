"""Many runs in one array program: a leading axis of runs, every number a column."""

from __future__ import annotations

from functools import partial

import numpy as np

from surefoot._array import norm
from surefoot.games._tree import part, stack
from surefoot.games.game import Game
from surefoot.games.record import block_length, segments
from surefoot.types import Array

__all__ = ["play_batch"]


def play_batch(game: Game) -> Array:
    """Play all runs at once; returns the actions that would come next."""
    algorithms, problem, recorder = game.algorithms, game.problem, game.recorder
    runs, d = len(game.horizons), problem.costs.dimension
    algorithm = stack(algorithms) if len(algorithms) > 1 else algorithms[0]
    state = algorithm.init(np.tile(game.start, (runs, 1)))
    final = np.empty((runs, d))
    playing = runs
    for first, stop, active in segments(game.horizons, block_length(runs, d)):
        if active < playing:  # some runs have ended: go on with the others
            final[active:playing] = state.x[active:]
            state = part(state, slice(active), playing)
            algorithm = stack(algorithms[:active])
            playing = active
        costs = problem.costs.rounds(first, stop)
        oracle = game.oracle(costs, first, stop, slice(active))
        if first == 0:
            game.check_oracle(oracle, state.x)
        block = recorder.block(first, stop, active)
        _, cost, values, actions, gradients, subgradients = block
        kept, wanted = recorder.kept(first, stop).tolist(), 0
        before = state
        for k in range(stop - first):
            x = state.x
            seen = oracle.ask(k, x)
            cost[k], values[k] = seen.cost[:, 0], seen.worst[:, 0]
            if actions is not None and wanted < len(kept) and kept[wanted] == k:
                actions[wanted] = x
                wanted += 1
            if gradients is not None and subgradients is not None:
                gradients[k] = norm(seen.feedback.cost_gradient)[:, 0]
                subgradients[k] = seen.steepest[:, 0]
            state = algorithm.update(state, seen.feedback)
        recorder.add(block)
        game.after_block(first, stop, costs, partial(part, before, runs=active), state.x)
    final[:playing] = state.x
    return final
