"""Runs compiled by JAX: one compilation for an algorithm and a shape, whatever the horizon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from surefoot._array import norm
from surefoot._extras import need
from surefoot.games._tree import flatten, part, stack, unflatten
from surefoot.games.game import Game
from surefoot.games.record import Block, Recorder, block_length
from surefoot.types import Array

__all__ = ["play_scan"]


def play_scan(game: Game) -> Array:
    """Play all runs at once, compiled; returns the actions that would come next.

    Rounds go through the compiled program in blocks of one fixed length, with every number an
    argument, so that neither another horizon nor another parameter compiles anew. A run that has
    reached its horizon keeps its action.
    """
    jax = need("jax", "jax", "the scan engine")
    problem, recorder, horizons = game.problem, game.recorder, game.horizons
    runs, last, available = len(horizons), int(horizons[0]), problem.costs.horizon
    # A power of two no longer than the stream: few lengths, hence few compilations.
    longest = min(block_length(runs, problem.costs.dimension), available)
    length = 1 << (longest.bit_length() - 1)
    algorithm = stack(game.algorithms) if len(game.algorithms) > 1 else game.algorithms[0]
    with jax.enable_x64(True):
        state = algorithm.init(jax.numpy.asarray(np.tile(game.start, (runs, 1))))
        player, player_structure = flatten(algorithm)
        for first in range(0, last, length):
            # The last chunk starts early enough to be whole; its rounds before `first` are skipped.
            begin = min(first, available - length)
            costs = problem.costs.rounds(begin, begin + length)
            answers = game.oracle(costs, begin, begin + length, slice(runs))
            if first == 0:
                game.check_oracle(answers, state.x)
            oracle, oracle_structure = flatten(answers)
            before = state
            state, out = _compiled()(
                (player_structure, oracle_structure),
                length,
                recorder.actions is not None,
                player,
                oracle,
                state,
                first - begin,
                horizons[:, None] - first,
            )
            stop = min(first + length, last)
            _hand_over(recorder, first, stop, horizons, out)
            played = costs.rounds(first - begin, stop - begin)
            x = np.asarray(state.x)[: int((horizons > first).sum())]
            game.after_block(first, stop, played, partial(part, before, runs=runs), x)
        return np.asarray(state.x)


@cache
def _compiled() -> Callable[..., Any]:
    """The block of rounds, compiled at its first call for each structure and shape."""
    jax = need("jax", "jax", "the scan engine")

    def rounds(
        structures: Any,
        length: int,
        keep: bool,
        player: list[Array],
        oracle_numbers: list[Array],
        state: Any,
        skipped: Array,
        remaining: Array,
    ) -> Any:
        algorithm = unflatten(structures[0], player)
        oracle = unflatten(structures[1], oracle_numbers)

        def step(state: Any, k: Array) -> Any:
            x = state.x
            t = jax.numpy.minimum(skipped + k, length - 1)  # past the end nobody plays
            seen = oracle.ask(t, x)
            new = algorithm.update(state, seen.feedback)
            new = new._replace(x=jax.numpy.where(k < remaining, new.x, x))
            kept = (
                seen.cost,
                seen.worst,
                x if keep else None,
                norm(seen.feedback.cost_gradient) if oracle.watched else None,
                seen.steepest if oracle.watched else None,
            )
            return new, kept

        return jax.lax.scan(step, state, jax.numpy.arange(length))

    return jax.jit(rounds, static_argnums=(0, 1, 2))  # type: ignore[no-any-return]


def _hand_over(recorder: Recorder, first: int, stop: int, horizons: Array, out: Any) -> None:
    """Give a compiled block to the recorder, cut where runs end."""
    out = [None if o is None else np.asarray(o) for o in out]
    actions = out.pop(2)
    ends = sorted({stop, *(int(h) for h in horizons if first < h < stop)})
    low = first
    for high in ends:
        active = int((horizons > low).sum())
        rows = slice(low - first, high - first)
        cost, g, gradient, subgradient = (None if o is None else o[rows, :active, 0] for o in out)
        kept = recorder.kept(low, high) + (low - first)
        mine = None if actions is None else actions[kept, :active]
        recorder.add(Block(low, cost, g, mine, gradient, subgradient))
        low = high
