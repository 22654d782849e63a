"""Play round by round: each run by itself on any backend, or many as one array program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass, replace
from functools import cache, partial
from typing import TypeVar

import numpy as np

from surefoot.core.arrays import norm, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import field_values
from surefoot.core.types import Array, Number, Player, State, needs_of
from surefoot.games.game import Game, Oracle, Played
from surefoot.games.record import Block, block_length, segments

__all__ = ["fields_of", "numbers_of", "play_batch", "play_loop", "slice_state", "stack"]

T = TypeVar("T")

# Numbers in the actions of a group, a megabyte: measured at d = 100, 1,000 and 10,000, a round of a
# run is cheapest between half and twice of that, and up to twice as dear far from it.
_NUMBERS = 131_072


def play_loop(game: Game) -> Played:
    """Play run by run, a block of rounds at a time.

    The start may be of any backend, and the runs stay on it.
    """
    with _double_precision(game.start):
        return _play(game, 1, alone=True)


def play_batch(game: Game) -> Played:
    """Play all runs at once: a leading axis of runs, every number a column.

    Runs do not know of each other. Where all of them would not fit in the cache they are played in
    groups that do, each a block of rounds at a time.
    """
    return _play(game, _group_size(game), alone=False)


def _play(game: Game, size: int, *, alone: bool) -> Played:
    """Play groups of runs; of one run each, without the axis of runs, where they are alone."""
    problem, recorder = game.problem, game.recorder
    runs, d = len(game.horizons), problem.costs.dimension
    algorithm = cache(partial(_algorithm, game))
    # The state of each group, by its first run.
    states = {
        low: algorithm(low, high).init(
            game.start if alone else np.tile(game.start, (high - low, 1))
        )
        for low, high in _groups(runs, size)
    }
    final = np.empty((runs, d))
    for first, stop, active in segments(game.horizons, block_length(runs, d)):
        costs = problem.costs.rounds(first, stop)
        block, kept = recorder.block(first, stop, active), recorder.kept(first, stop).tolist()
        before = dict(states)
        for low, high in _groups(active, size):
            state = states[low]
            if not alone:  # the runs of the group that go on
                state = slice_state(state, slice(high - low), len(state.x))
            oracle = game.oracle(costs, first, stop, low if alone else slice(low, high))
            if first == 0 == low:
                game.check_oracle(oracle, state.x)
            mine = block.columns(slice(low, high))
            column = float if alone else _column
            states[low] = _play_rounds(algorithm(low, high), oracle, state, mine, kept, column)
            final[low:high] = to_numpy(states[low].x)
        recorder.add(block)
        state_of = before.__getitem__ if alone else partial(_state_of, before, size)
        game.after_block(first, stop, costs, state_of, final[:active])
    return Played(final)


def _play_rounds(
    algorithm: Player,
    oracle: Oracle,
    state: State,
    block: Block,
    kept: list[int],
    column: Callable[[Number], Array],
) -> State:
    """Play a block's rounds, fill in its columns, and return the state after them.

    Args:
        algorithm: of one run, or of all runs of the block.
        oracle: what answers it.
        state: before the block.
        block: the columns of these runs.
        kept: the rounds whose actions are kept, in order.
        column: from a number of a round, as the backend has it, to one entry per run.
    """
    start, cost, values, actions, gradients, subgradients, row_sums = block
    wanted = 0
    for k in range(len(cost)):
        x = state.x
        seen = oracle.ask(k, x)
        cost[k], values[k] = column(seen.cost), column(seen.worst)
        if actions is not None and wanted < len(kept) and kept[wanted] == k:
            actions[wanted] = to_numpy(x)
            wanted += 1
        if gradients is not None and subgradients is not None:
            gradients[k] = column(norm(seen.gradient))
            subgradients[k] = column(seen.steepest)
        if row_sums is not None:
            row_sums += to_numpy(seen.rows)
        try:
            state, _ = algorithm.step(state, seen.feedback)
        except ValueError as error:
            error.args = (f"round {start + k + 1}: {error}",)
            raise
    return state


def _double_precision(start: Array) -> AbstractContextManager[object]:
    """Return JAX's 64-bit mode for a JAX start, without which it computes in float32."""
    if type(start).__module__.split(".")[0] in ("jax", "jaxlib"):
        mode: AbstractContextManager[object] = need("jax", "jax", "a JAX start").enable_x64(True)
        return mode
    return nullcontext()


# --- many runs at once ----------------------------------------------------------------------------


def _column(number: Number) -> Array:
    """Return the entries of a column, one per run."""
    return number[:, 0]


def _group_size(game: Game) -> int:
    """Return how many runs are played at once."""
    problem, d = game.problem, game.problem.costs.dimension
    held = sum(map(np.size, numbers_of(problem.constraint)))
    # A run has an action and a value for each row of the constraint; rows kept apart are its own.
    apart = needs_of(game.algorithms[0]).apart
    width = d * problem.constraint.rows if apart else max(d, held // d)
    # A constraint that does not fit either is better read once for many runs than for each anew.
    fitting = max(_NUMBERS, held) // width
    # Matrix products are made of blocks of rows, and round their last rows in a way of their own.
    return fitting - fitting % 16 if fitting > 16 else max(fitting, 1)


def fields_of(part: object) -> dict[str, Array]:
    """Return what a dataclass holds, by name; nothing of anything else."""
    if not is_dataclass(part) or isinstance(part, type):
        return {}
    return {f.name: value for f, value in field_values(part)}


def numbers_of(part: object) -> list[Array]:
    """Return the arrays and floats of a dataclass, those of its parts included."""
    if is_dataclass(part):
        part = tuple(fields_of(part).values())
    if isinstance(part, tuple):
        return [number for one in part for number in numbers_of(one)]
    return [part] if isinstance(part, (float, np.ndarray, np.generic)) else []


def _groups(runs: int, size: int) -> Iterator[tuple[int, int]]:
    for low in range(0, runs, size):
        yield low, min(low + size, runs)


def _algorithm(game: Game, low: int, high: int) -> Player:
    """Return one algorithm for the runs from low to high."""
    return stack(game.algorithms[low:high]) if len(game.algorithms) > 1 else game.algorithms[0]


def _state_of(states: dict[int, State], size: int, run: int) -> State:
    """Return one run's state from the states of the groups."""
    state = states[run - run % size]
    part: State = slice_state(state, run % size, len(state.x))
    return part


def slice_state(state: Array, which: int | slice, runs: int) -> Array:
    """Return the part of a batch's state that belongs to one run or to a slice of its runs."""
    if isinstance(state, tuple):
        parts = (slice_state(leaf, which, runs) for leaf in state)
        return tuple(parts) if type(state) is tuple else type(state)(*parts)
    return state[which] if np.ndim(state) > 0 and state.shape[0] == runs else state


def stack(algorithms: Sequence[T]) -> T:
    """Return several algorithms as one, each in its own run: numbers that differ become columns."""
    first = algorithms[0]
    if any(type(a) is not type(first) for a in algorithms):
        names = sorted({type(a).__name__ for a in algorithms})
        raise InvalidValueError(
            f"algorithms of one batch must be of one type, got {', '.join(names)}"
        )
    if len(algorithms) == 1:
        return first
    if not is_dataclass(first) or isinstance(first, type):
        raise InvalidValueError(
            f"algorithms of one batch must be dataclasses, got {type(first).__name__}: "
            "play them one by one"
        )
    held = [fields_of(a) for a in algorithms]
    pairs = [(name, [values[name] for values in held]) for name in held[0]]
    changed = {name: _join(name, values) for name, values in pairs if not _is_shared(values)}
    return replace(first, **changed) if changed else first


def _is_shared(values: list[Array]) -> bool:
    """Return whether all algorithms have the same value."""
    first = values[0]
    return all(v is first or (not is_dataclass(v) and np.array_equal(v, first)) for v in values)


def _join(name: str, values: list[Array]) -> Array:
    """Return the values of a field that differ from algorithm to algorithm as one."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return np.array(values, dtype=np.float64)[:, None]
    if is_dataclass(values[0]):
        return stack(values)
    raise InvalidValueError(
        f"{name} must be a number or the same for all algorithms of one batch, got different ones"
    )
