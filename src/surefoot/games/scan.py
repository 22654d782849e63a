"""Runs compiled by JAX: one compilation per algorithm and shape, whatever the horizon."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.optional import need
from surefoot.core.types import Array, CostStream
from surefoot.games.game import Game, Played
from surefoot.games.oracle import Oracle
from surefoot.games.record import Block, Recorder
from surefoot.games.tree import flatten, slice_state, stack, unflatten
from surefoot.problems.costs import ArrayCosts

__all__ = ["compile_scan"]


def compile_scan(game: Game) -> Callable[[], Played]:
    """Return what plays all runs at once, compiled.

    Rounds go through the compiled program in blocks of one fixed length, with every number an
    argument, so that neither another horizon nor another parameter compiles anew. A run that has
    reached its horizon keeps its action.
    """
    jax = need("jax", "jax", "the scan engine")
    runs, costs = len(game.horizons), game.problem.costs
    length = _block_length(runs, costs.dimension, costs.horizon)
    algorithm = stack(game.algorithms)
    with jax.enable_x64(True):
        # Made by NumPy: each operation of JAX outside the program would be compiled by itself.
        state = jax.tree.map(_double, algorithm.init(np.tile(game.start, (runs, 1))))
        player, structure = flatten(algorithm)
        player = [_double(number) for number in player]
        opening = _chunk(game, 0, length)
        keep = game.recorder.actions is not None
        shape = _Shape((structure, opening.structure), length, opening.copies, keep)
        compiled = _compiled(jax, game, shape, opening.arguments(player, state))
    return partial(_play, jax, game, compiled, opening, player, state)


def _play(
    jax: Any, game: Game, compiled: Compiled, chunk: _Chunk, player: list[Any], state: Any
) -> Played:
    """Play the chunks of a game, from the first one."""
    last, length = int(game.horizons[0]), chunk.costs.horizon
    finish: Callable[[], None] | None = None
    with jax.enable_x64(True):
        for first in range(0, last, length):
            chunk = chunk if first == 0 else _chunk(game, first, length)
            before = state
            state, out = compiled.call(*chunk.arguments(player, state))
            # What came out of the block before is taken in while this one is computed.
            if finish is not None:
                finish()
            stop = min(first + length, last)
            played = chunk.costs.rounds(chunk.skipped, stop - first + chunk.skipped)
            finish = partial(_take_in, game, first, stop, played, before, state, out)
        assert finish is not None
        finish()
        return Played(np.asarray(state.x), compile_seconds=compiled.seconds)


class _Chunk(NamedTuple):
    """Rounds that go through the program at once.

    Attributes:
        costs: of these rounds.
        oracle: the numbers of what answers in them.
        structure: that without its numbers.
        copies: how often the streams of the oracle follow one another in the runs.
        skipped: rounds at its beginning that have been played.
        remaining: rounds that each run has left, a column.
    """

    costs: CostStream
    oracle: list[Any]
    structure: Any
    copies: int
    skipped: int
    remaining: Array

    def arguments(self, player: list[Any], state: Any) -> tuple[Any, ...]:
        """Return what the program is called with."""
        return player, self.oracle, state, self.skipped, self.remaining


def _chunk(game: Game, first: int, length: int) -> _Chunk:
    """Return the rounds after the first ones; the last chunk begins early enough to be whole."""
    runs, streams = len(game.horizons), game.problem.costs
    begin = min(first, streams.horizon - length)
    costs = streams.rounds(begin, begin + length)
    # Streams held as arrays are handed over once, not once for every player.
    shared = isinstance(costs, ArrayCosts)
    answers = game.oracle(costs, begin, begin + length, None if shared else slice(runs))
    numbers, structure = flatten(answers)
    return _Chunk(
        costs,
        [_double(number) for number in numbers],
        structure,
        runs // (costs.runs or runs) if shared else 1,
        first - begin,
        game.horizons[:, None] - first,
    )


def _block_length(runs: int, dimension: int, available: int) -> int:
    """Return the rounds per block, a power of two so that few programs are compiled.

    Handing over a block costs as much as a hundred rounds, so it is long: up to 16 MB, but no more
    than two thousand rounds, because the last block of a game is computed to its end.
    """
    longest = min(int(np.clip(2**21 // (runs * (dimension + 4)), 16, 2_048)), available)
    return 1 << (longest.bit_length() - 1)


class _Shape(NamedTuple):
    """What a compilation depends on besides the shapes of its arguments; hashable.

    Attributes:
        structures: algorithm and oracle without their numbers.
        length: rounds.
        copies: how often the streams of the oracle follow one another in the runs.
        keep: whether actions are wanted.
    """

    structures: Any
    length: int
    copies: int
    keep: bool


# Numbers that are recorded at once. Larger arrays come as fresh pages from the system each time,
# which costs three times as much as what is done with them.
_PIECE = 2**15


class Compiled(NamedTuple):
    """A compiled program, and the seconds that tracing and compiling took."""

    call: Callable[..., Any]
    seconds: float


# Compiled programs by what they were compiled for; shared by all games of a process. From one
# process to the next JAX keeps them if it is told where (JAX_COMPILATION_CACHE_DIR).
_COMPILED: dict[Any, Compiled] = {}


def _compiled(jax: Any, game: Game, shape: _Shape, arguments: Any) -> Compiled:
    """Return the block of rounds, compiled when it is first wanted for a structure and shapes."""
    leaves, tree = jax.tree.flatten(arguments)
    key = shape, tree, tuple((np.shape(leaf), np.result_type(leaf).str) for leaf in leaves)
    if key in _COMPILED:
        return _COMPILED[key]._replace(seconds=0.0)
    _check_shapes(jax, game, shape, arguments)
    began = time.perf_counter()
    call = jax.jit(partial(_rounds, jax, shape)).lower(*arguments).compile()
    _COMPILED[key] = Compiled(call, time.perf_counter() - began)
    return _COMPILED[key]


def _rounds(
    jax: Any,
    shape: _Shape,
    player: list[Array],
    oracle_numbers: list[Array],
    state: Any,
    skipped: Array,
    remaining: Array,
) -> Any:
    """Return a block of rounds, to be compiled."""
    algorithm = unflatten(shape.structures[0], player)
    oracle = _oracle(shape, oracle_numbers)

    def step(state: Any, k: Array) -> Any:
        x = state.x
        t = jax.numpy.minimum(skipped + k, shape.length - 1)  # past the end nobody plays
        seen = oracle.ask(t, x)
        new, _ = algorithm.step(state, seen.feedback)
        new = new._replace(x=jax.numpy.where(k < remaining, new.x, x))
        kept = (
            seen.cost,
            seen.worst,
            x if shape.keep else None,
            norm(seen.gradient) if oracle.watched else None,
            seen.steepest if oracle.watched else None,
            seen.rows,
        )
        return new, kept

    return jax.lax.scan(step, state, jax.numpy.arange(shape.length))


def _oracle(shape: _Shape, numbers: list[Array]) -> Oracle:
    """Return the oracle of all runs."""
    oracle: Oracle = unflatten(shape.structures[1], numbers)
    if shape.copies == 1:
        return oracle
    return replace(oracle, costs=oracle.costs.repeat(shape.copies))


def _check_shapes(jax: Any, game: Game, shape: _Shape, arguments: Any) -> None:
    """Check a user's own functions by their shapes alone: nothing is computed."""

    def look(numbers: list[Array], x: Array) -> None:
        game.check_oracle(_oracle(shape, numbers), x)

    jax.eval_shape(look, arguments[1], arguments[2].x)


def _double(number: Any) -> Any:
    """Return a number as an array: a Python float would be compiled for by its kind."""
    return np.asarray(number) if isinstance(number, (float, np.generic)) else number


def _take_in(
    game: Game, first: int, stop: int, played: CostStream, before: Any, after: Any, out: Any
) -> None:
    """Record a block, and look for runs that were lost."""
    _hand_over(game.recorder, first, stop, game.horizons, out)
    x = np.asarray(after.x)[: int((game.horizons > first).sum())]
    game.after_block(first, stop, played, partial(slice_state, before, runs=len(game.horizons)), x)


def _hand_over(recorder: Recorder, first: int, stop: int, horizons: Array, out: Any) -> None:
    """Give a compiled block to the recorder, cut where runs end and into pieces for the cache."""
    out = [None if o is None else np.asarray(o) for o in out]
    actions, values = out.pop(2), out.pop()
    piece = max(_PIECE // len(horizons), 64)
    over = {int(h) for h in np.unique(horizons) if first < h < stop}
    ends = sorted({stop, *range(first + piece, stop, piece), *over})
    low = first
    for high in ends:
        active = int((horizons > low).sum())
        rows = slice(low - first, high - first)
        cost, g, gradient, subgradient = (None if o is None else o[rows, :active, 0] for o in out)
        kept = recorder.kept(low, high) + (low - first)
        mine = None if actions is None else actions[kept, :active]
        sums = None if values is None else values[rows, :active].sum(axis=0)
        recorder.add(Block(low, cost, g, mine, gradient, subgradient, sums))
        low = high
