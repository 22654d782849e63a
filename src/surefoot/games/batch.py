"""Many runs in one array program: a leading axis of runs, every number a column."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from surefoot.core.types import Array, Number, needs_of
from surefoot.games.game import Game, Played
from surefoot.games.record import block_length, segments
from surefoot.games.rounds import play_rounds
from surefoot.games.tree import flatten, slice_state, stack

__all__ = ["play_batch"]

# Numbers in the actions of a group, a megabyte: measured at d = 100, 1,000 and 10,000, a round of a
# run is cheapest between half and twice of that, and up to twice as dear far from it.
_NUMBERS = 131_072


def play_batch(game: Game) -> Played:
    """Play all runs at once.

    Runs do not know of each other. Where all of them would not fit in the cache they are played in
    groups that do, each a block of rounds at a time.
    """
    problem, recorder = game.problem, game.recorder
    runs, d = len(game.horizons), problem.costs.dimension
    size = _group_size(game)
    final = np.empty((runs, d))
    algorithm = cache(partial(_algorithm, game))
    # The state of each group, by its first run.
    states = {
        low: algorithm(low, high).init(np.tile(game.start, (high - low, 1)))
        for low, high in _groups(runs, size)
    }
    for first, stop, active in segments(game.horizons, block_length(runs, d)):
        costs = problem.costs.rounds(first, stop)
        block = recorder.block(first, stop, active)
        kept = recorder.kept(first, stop).tolist()
        before = dict(states)
        for low, high in _groups(active, size):
            state = _still_playing(states, low, high, final)
            oracle = game.oracle(costs, first, stop, slice(low, high))
            if first == 0 == low:
                game.check_oracle(oracle, state.x)
            mine = block.columns(slice(low, high))
            states[low] = play_rounds(algorithm(low, high), oracle, state, mine, kept, _column)
        recorder.add(block)
        x = np.concatenate([states[low].x for low, _ in _groups(active, size)])
        game.after_block(first, stop, costs, partial(_state_of, before, size), x)
    for low, state in states.items():
        final[low : low + len(state.x)] = state.x
    return Played(final)


def _column(number: Number) -> Array:
    """Return the entries of a column, one per run."""
    return number[:, 0]


def _group_size(game: Game) -> int:
    """Return how many runs are played at once."""
    problem, d = game.problem, game.problem.costs.dimension
    held = sum(np.size(number) for number in flatten(problem.constraint)[0])
    # A run has an action and a value for each row of the constraint; rows kept apart are its own.
    apart = needs_of(game.algorithms[0]).apart
    width = d * problem.constraint.rows if apart else max(d, held // d)
    # A constraint that does not fit either is better read once for many runs than for each anew.
    fitting = max(_NUMBERS, held) // width
    # Matrix products are made of blocks of rows, and round their last rows in a way of their own.
    return fitting - fitting % 16 if fitting > 16 else max(fitting, 1)


def _groups(runs: int, size: int) -> Iterator[tuple[int, int]]:
    for low in range(0, runs, size):
        yield low, min(low + size, runs)


def _algorithm(game: Game, low: int, high: int) -> Any:
    """Return one algorithm for the runs from low to high."""
    return stack(game.algorithms[low:high]) if len(game.algorithms) > 1 else game.algorithms[0]


def _still_playing(states: dict[int, Any], low: int, high: int, final: Array) -> Any:
    """Return the state of a group's runs that go on, and the last actions of those that ended."""
    state = states[low]
    playing = len(state.x)
    if high - low == playing:
        return state
    final[high : low + playing] = state.x[high - low :]
    return slice_state(state, slice(high - low), playing)


def _state_of(states: dict[int, Any], size: int, run: int) -> Any:
    """Return one run's state from the states of the groups."""
    state = states[run - run % size]
    return slice_state(state, run % size, len(state.x))
