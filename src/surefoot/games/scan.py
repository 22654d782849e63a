"""Runs compiled by JAX: one compilation per algorithm and shape, whatever the horizon."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from surefoot.core.arrays import is_foreign_array, norm
from surefoot.core.optional import need
from surefoot.core.parameters import parts_of
from surefoot.core.record import Record, is_tree, register_as_tree
from surefoot.core.types import Array, Player, State
from surefoot.games.game import Game, Oracle, Played
from surefoot.games.record import Block, Recorder, block_length

if TYPE_CHECKING:
    import jax

Output: TypeAlias = tuple["jax.Array | None", ...]
"""Cost, g, action, both norms and all constraints of each round; None where not recorded."""

T = TypeVar("T")


def play_scan(game: Game) -> Played:
    """Play all runs at once, compiled.

    Rounds go through the compiled program in blocks of one fixed length, with every number an
    argument, so that neither another horizon nor another parameter compiles anew. After the
    horizon an action stays.
    """
    jax = need("jax", "jax", "the scan engine")
    recorder, costs = game.recorder, game.problem.costs
    # A power of two, so that few programs are compiled.
    fitting = min(block_length(recorder.runs, costs.dimension), costs.horizon)
    length = 1 << (fitting.bit_length() - 1)
    with jax.enable_x64(True):
        # Made by NumPy: each operation of JAX outside the program would be compiled by itself.
        state = as_tree(game.algorithm.init(np.tile(game.start, (recorder.runs, 1))))
        player, chunk = as_tree(game.algorithm), _chunk(game, 0, length)
        compiled = _compile(game, length, chunk, (_Sides(player, chunk.oracle), state))
        for first in range(0, recorder.horizon, length):
            chunk = chunk if first == 0 else _chunk(game, first, length)
            sides = _Sides(player, chunk.oracle)
            state, out = compiled.call(sides, state, chunk.skipped, chunk.remaining)
            _hand_over(recorder, first, min(first + length, recorder.horizon), out)
        return Played(np.asarray(state.x), compile_seconds=compiled.seconds)


@dataclass(frozen=True)
class _Sides:
    """The player and the oracle; what is no dataclass belongs to the structure."""

    player: Player
    oracle: Oracle


class _Chunk(NamedTuple):
    """Rounds that go through the program at once.

    Attributes:
        oracle: what answers in them.
        skipped: rounds at its beginning that have been played.
        remaining: rounds that are left of the game.
    """

    oracle: Oracle
    skipped: int
    remaining: int


def _chunk(game: Game, first: int, length: int) -> _Chunk:
    """Return the rounds after the first ones; the last chunk begins early enough to be whole."""
    streams = game.problem.costs
    begin = min(first, streams.horizon - length)
    costs = streams.rounds(begin, begin + length)
    oracle = game.oracle(costs, begin, begin + length, slice(game.recorder.runs))
    return _Chunk(as_tree(oracle), first - begin, game.recorder.horizon - first)


class _Program(NamedTuple):
    """A compiled program, and the seconds that tracing and compiling took."""

    call: Callable[..., tuple[State, Output]]
    seconds: float


# Compiled programs by what they were compiled for; shared by all games of a process. From one
# process to the next JAX keeps them in the folder JAX_COMPILATION_CACHE_DIR, if that is set.
_PROGRAMS: dict[tuple[object, ...], _Program] = {}


def _compile(game: Game, length: int, chunk: _Chunk, parts: tuple[_Sides, State]) -> _Program:
    """Return the block of rounds, compiled at its first use for a structure and shapes."""
    import jax

    keep = game.recorder.actions is not None
    arguments = *parts, chunk.skipped, chunk.remaining
    _register(parts[0])
    leaves, structure = jax.tree.flatten(arguments)
    shapes = tuple((np.shape(leaf), np.result_type(leaf).str) for leaf in leaves)
    key = length, keep, structure, shapes
    if key in _PROGRAMS:
        return _PROGRAMS[key]._replace(seconds=0.0)
    # A user's functions, only by their shapes.
    jax.eval_shape(game.check_oracle, chunk.oracle, parts[1].x)
    began = time.perf_counter()
    rounds = jax.jit(partial(_rounds, length, keep))
    _PROGRAMS[key] = _Program(rounds.lower(*arguments).compile(), time.perf_counter() - began)
    return _PROGRAMS[key]


def _rounds(
    length: int, keep: bool, sides: _Sides, state: State, skipped: Array, remaining: Array
) -> tuple[State, Output]:
    """Return the state after a block of rounds and what they gave, to be compiled."""
    import jax

    algorithm, oracle = sides.player, sides.oracle

    def step(state: State, k: Array) -> tuple[State, Output]:
        x = state.x
        t = jax.numpy.minimum(skipped + k, length - 1)  # after the end nothing is played
        answer = oracle.ask(t, x)
        new, _ = algorithm.step(state, answer.feedback)
        new = new._replace(x=jax.numpy.where(k < remaining, new.x, x))
        gradient = norm(answer.gradient) if oracle.watched else None
        steepest = answer.steepest if oracle.watched else None
        return new, (
            answer.cost,
            answer.largest,
            x if keep else None,
            gradient,
            steepest,
            answer.rows,
        )

    result: tuple[State, Output] = jax.lax.scan(step, state, jax.numpy.arange(length))
    return result


# --- objects as trees of JAX ----------------------------------------------------------------------


def as_tree(part: T) -> T:
    """Return a part of a game with arrays for its numbers, and register its classes with JAX.

    The numbers of a dataclass are leaves, so another eta needs no new compilation; its other fields
    belong to its structure. JAX rebuilds it without its constructor, and so without checks, which
    cannot read a number during compilation.
    """
    import jax

    _register(part)
    tree: T = jax.tree.map(_as_array, part)
    return tree


def _register(part: object) -> None:
    """Register the dataclasses of a part with JAX."""
    import jax

    if isinstance(part, Record):
        register_as_tree(type(part))
    if parts := parts_of(part):
        kind = type(part)
        if kind not in _REGISTERED:
            jax.tree_util.register_pytree_node(kind, _take_apart, partial(_put_together, kind))
            _REGISTERED.add(kind)
        part = tuple(parts.values())
    if is_tree(part):
        for one in part:
            _register(one)


_REGISTERED: set[type] = set()
_Structure: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, object], ...]]


def _take_apart(part: Array) -> tuple[list[object], _Structure]:
    values = parts_of(part)
    numbers = {name: value for name, value in values.items() if _has_numbers(value)}
    rest = tuple((name, value) for name, value in values.items() if name not in numbers)
    return list(numbers.values()), (tuple(numbers), rest)


def _has_numbers(value: object) -> bool:
    """Return whether a field is taken apart; a zero stays: it may decide what is computed."""
    if type(value) is tuple:
        return bool(value) and all(map(_has_numbers, value))
    if isinstance(value, float):
        return value != 0.0
    is_array = isinstance(value, (np.ndarray, np.generic)) or is_foreign_array(value)
    return is_array or bool(parts_of(value))


def _put_together(kind: type[T], structure: _Structure, numbers: Sequence[object]) -> T:
    part = object.__new__(kind)
    names, rest = structure
    for name, value in (*zip(names, numbers, strict=True), *rest):
        object.__setattr__(part, name, value)
    return part


def _as_array(number: T) -> T | np.ndarray:
    """Return a number as an array: a Python float would be compiled for by its kind."""
    return np.asarray(number) if isinstance(number, (float, np.generic)) else number


# --- what comes out -------------------------------------------------------------------------------


def _hand_over(recorder: Recorder, first: int, stop: int, out: Output) -> None:
    """Give a compiled block to the recorder."""
    arrays = [None if o is None else np.asarray(o)[: stop - first] for o in out]
    actions, values = arrays.pop(2), arrays.pop()
    cost, g, gradient, subgradient = (None if o is None else o[:, :, 0] for o in arrays)
    kept_actions = None if actions is None else actions[recorder.find_kept(first, stop)]
    sums = None if values is None else values.sum(axis=0)
    recorder.add(Block(first, cost, g, kept_actions, gradient, subgradient, sums))
