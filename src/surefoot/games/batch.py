"""Many runs in one array program: a leading axis of runs, every number a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot._array import norm
from surefoot.games._tree import stack
from surefoot.games.record import Block, Recorder, block_length, segments
from surefoot.problems import Problem
from surefoot.types import Array, Feedback

__all__ = ["play_batch"]


def play_batch(
    algorithms: Sequence[Any],
    problem: Problem,
    streams: Array,
    start: Array,
    horizons: Array,
    recorder: Recorder,
    after_block: Callable[[int], None],
) -> Array:
    """Play runs ordered by falling horizon; returns the actions that would come next.

    Args:
        algorithms: one for each run, or a single one for all.
        problem: what is played.
        streams: which stream of the costs each run meets.
        start: the first action, of all runs.
        horizons: rounds of each run, falling.
        recorder: takes the blocks.
        after_block: called with the number of rounds played.
    """
    runs, d = len(horizons), problem.costs.dimension
    constraint, watched = problem.constraint, recorder.watch.is_on
    algorithm = stack(algorithms) if len(algorithms) > 1 else algorithms[0]
    state = algorithm.init(np.tile(start, (runs, 1)))
    final = np.empty((runs, d))
    playing = runs
    for first, stop, active in segments(horizons, block_length(runs, d)):
        if active < playing:  # some runs have ended: go on with the others
            final[active:playing] = state.x[active:]
            state = type(state)(*(_head(leaf, active, playing) for leaf in state))
            if len(algorithms) > 1:
                algorithm = stack(algorithms[:active])
            playing = active
        length = stop - first
        costs = problem.costs.rounds(first, stop).run(streams[:active])
        cost, values = np.empty((length, active)), np.empty((length, active))
        gradients, subgradients = (
            (np.empty_like(cost), np.empty_like(cost)) if watched else (None, None)
        )
        kept = recorder.kept(first, stop) if recorder.actions is not None else ()
        actions, wanted = np.empty((len(kept), active, d)), 0
        for k in range(length):
            x = state.x
            gradient = costs.gradient(k, x)
            g, s = constraint.query(x)
            cost[k], values[k] = costs.value(k, x)[:, 0], g[:, 0]
            if wanted < len(kept) and kept[wanted] == k:
                actions[wanted] = x
                wanted += 1
            if gradients is not None and subgradients is not None:
                gradients[k], subgradients[k] = norm(gradient)[:, 0], norm(s)[:, 0]
            state = algorithm.update(state, Feedback(gradient, g, s))
        recorder.add(Block(first, slice(active), cost, values, actions, gradients, subgradients))
        after_block(stop)
    final[:playing] = state.x
    return final


def _head(leaf: Any, active: int, playing: int) -> Any:
    """The part of a state that belongs to the runs still playing."""
    per_run = isinstance(leaf, np.ndarray) and leaf.ndim > 0 and leaf.shape[0] == playing
    return leaf[:active] if per_run else leaf
