"""Play round by round: each run by itself on any backend, or many as one array program."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from surefoot.core.arrays import norm, to_numpy
from surefoot.core.optional import need
from surefoot.core.parameters import parts_of
from surefoot.core.types import Array, Number, Player, State, needs_of
from surefoot.games.game import Game, Oracle, Played
from surefoot.games.record import Block, block_length

# Numbers in the actions of a group, a megabyte: measured at d = 100, 1,000 and 10,000, a round of a
# run is cheapest between half and twice of that, and up to twice as dear far from it.
_NUMBERS = 131_072


def play_loop(game: Game) -> Played:
    """Play run by run, a block of rounds at a time.

    The start may be of any backend, and the runs stay on it.
    """
    with _double_precision(game.start):
        return _play(game, 1, one_run=True)


def play_batch(game: Game) -> Played:
    """Play all runs at once: a leading axis of runs, every number a column.

    Runs are independent. Where all of them would not fit in the cache, groups that do are played,
    each a block of rounds at a time.
    """
    return _play(game, _group_size(game), one_run=False)


def _play(game: Game, size: int, *, one_run: bool) -> Played:
    """Play groups of runs; with ``one_run``, of one run each and without the axis of runs."""
    recorder, d = game.recorder, game.problem.costs.dimension
    groups = [slice(n, min(n + size, recorder.runs)) for n in range(0, recorder.runs, size)]
    states = [
        game.algorithm.init(game.start if one_run else np.tile(game.start, (g.stop - g.start, 1)))
        for g in groups
    ]
    for first, stop, costs in game.blocks(block_length(recorder.runs, d)):
        block, offsets = recorder.block(first, stop), recorder.find_kept(first, stop).tolist()
        for i, group in enumerate(groups):
            oracle = game.oracle(costs, first, stop, group.start if one_run else group)
            if first == 0 == i:
                game.check_oracle(oracle, states[0].x)
            columns, column = block.columns(group), float if one_run else _column
            states[i] = _play_rounds(game.algorithm, oracle, states[i], columns, offsets, column)
        recorder.add(block)
    return Played(np.vstack([to_numpy(state.x) for state in states]))


def _play_rounds(
    algorithm: Player,
    oracle: Oracle,
    state: State,
    block: Block,
    offsets: list[int],
    column: Callable[[Number], Array],
) -> State:
    """Play a block's rounds, fill in its columns, and return the state after them.

    Args:
        algorithm: of one run, or of all runs of the block.
        oracle: what answers it.
        state: before the block.
        block: the columns of these runs.
        offsets: of the rounds whose actions are kept, in order.
        column: from a number of a round, as the backend has it, to one entry per run.
    """
    start, cost, values, actions, gradients, subgradients, row_sums = block
    position = 0
    for k in range(len(cost)):
        x = state.x
        answer = oracle.ask(k, x)
        cost[k], values[k] = column(answer.cost), column(answer.largest)
        if actions is not None and position < len(offsets) and offsets[position] == k:
            actions[position] = to_numpy(x)
            position += 1
        if gradients is not None and subgradients is not None:
            gradients[k] = column(norm(answer.gradient))
            subgradients[k] = column(answer.steepest)
        if row_sums is not None:
            row_sums += to_numpy(answer.rows)
        try:
            state, _ = algorithm.step(state, answer.feedback)
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
    numbers = sum(map(np.size, numbers_of(problem.constraint)))
    # A run has an action, and a value for each row of the constraint; separate rows are its own.
    by_rows = needs_of(game.algorithm).separately
    width = d * problem.constraint.rows if by_rows else max(d, numbers // d)
    # A constraint that does not fit either is better read once for many runs than once for each.
    fitting = max(_NUMBERS, numbers) // width
    # Matrix products are made of blocks of rows, and round the last rows differently.
    return fitting - fitting % 16 if fitting > 16 else max(fitting, 1)


def numbers_of(part: object) -> list[Array]:
    """Return the arrays and floats of a dataclass, those of its parts included."""
    if parts := parts_of(part):
        part = tuple(parts.values())
    if isinstance(part, tuple):
        return [number for one in part for number in numbers_of(one)]
    return [part] if isinstance(part, (float, np.ndarray, np.generic)) else []
