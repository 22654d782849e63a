"""Runs compiled by JAX: one compilation for an algorithm and a shape, whatever the horizon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from surefoot._array import norm
from surefoot._extras import need
from surefoot.games._tree import flatten, stack, unflatten
from surefoot.games.record import Block, Recorder, block_length
from surefoot.problems import Problem
from surefoot.types import Array, Feedback

__all__ = ["play_scan"]


def play_scan(
    algorithms: Sequence[Any],
    problem: Problem,
    streams: Array,
    start: Array,
    horizons: Array,
    recorder: Recorder,
    after_block: Callable[[int], None],
) -> Array:
    """Play runs ordered by falling horizon; the arguments are those of the batch engine.

    Rounds go through the compiled program in blocks of one fixed length, with every number an
    argument, so that neither another horizon nor another parameter compiles anew. A run that has
    reached its horizon keeps its state.
    """
    jax = need("jax", "jax", "the scan engine")
    runs, last = len(horizons), int(horizons[0])
    costs = problem.costs
    # A power of two no longer than the stream: few lengths, hence few compilations.
    length = 2 ** int(np.log2(min(block_length(runs, costs.dimension), costs.horizon)))
    algorithm = stack(algorithms) if len(algorithms) > 1 else algorithms[0]
    with jax.enable_x64(True):
        state = algorithm.init(jax.numpy.asarray(np.tile(start, (runs, 1))))
        player, player_structure = flatten(algorithm)
        constraint, constraint_structure = flatten(problem.constraint)
        for first in range(0, last, length):
            # The last chunk starts early enough to be whole; its rounds before `first` are skipped.
            begin = min(first, costs.horizon - length)
            chunk, chunk_structure = flatten(costs.rounds(begin, begin + length).run(streams))
            state, out = _compiled()(
                (player_structure, constraint_structure, chunk_structure),
                length,
                recorder.actions is not None,
                recorder.watch.is_on,
                player,
                constraint,
                chunk,
                state,
                first - begin,
                horizons[:, None] - first,
            )
            stop = min(first + length, last)
            _hand_over(recorder, first, stop, horizons, out)
            after_block(stop)
        return np.asarray(state.x)


@cache
def _compiled() -> Callable[..., Any]:
    """The block of rounds, compiled at its first call for each structure and shape."""
    jax = need("jax", "jax", "the scan engine")

    def rounds(
        structures: Any,
        length: int,
        keep: bool,
        watched: bool,
        player: list[Array],
        constraint_numbers: list[Array],
        cost_numbers: list[Array],
        state: Any,
        skipped: Array,
        remaining: Array,
    ) -> Any:
        algorithm = unflatten(structures[0], player)
        constraint = unflatten(structures[1], constraint_numbers)
        costs = unflatten(structures[2], cost_numbers)

        def step(state: Any, k: Array) -> Any:
            x = state.x
            t = jax.numpy.minimum(skipped + k, length - 1)  # past the end nobody plays
            gradient = costs.gradient(t, x)
            g, s = constraint.query(x)
            new = algorithm.update(state, Feedback(gradient, g, s))
            playing = k < remaining
            new = jax.tree.map(lambda a, b: jax.numpy.where(playing, a, b), new, state)
            seen = (
                costs.value(t, x),
                g,
                x if keep else None,
                norm(gradient) if watched else None,
                norm(s) if watched else None,
            )
            return new, seen

        return jax.lax.scan(step, state, jax.numpy.arange(length))

    return jax.jit(rounds, static_argnums=(0, 1, 2, 3))  # type: ignore[no-any-return]


def _hand_over(recorder: Recorder, first: int, stop: int, horizons: Array, out: Any) -> None:
    """Give a compiled block to the recorder, cut where runs end."""
    cost, g = np.asarray(out[0]), np.asarray(out[1])
    actions, gradient, subgradient = (None if o is None else np.asarray(o) for o in out[2:])
    ends = sorted({stop, *(int(h) for h in horizons if first < h < stop)})
    low = first
    for high in ends:
        active = int((horizons > low).sum())
        part = slice(low - first, high - first)
        kept = recorder.kept(low, high) + (low - first)
        recorder.add(
            Block(
                low,
                slice(active),
                cost[part, :active, 0],
                g[part, :active, 0],
                None if actions is None else actions[kept, :active],
                None if gradient is None else gradient[part, :active, 0],
                None if subgradient is None else subgradient[part, :active, 0],
            )
        )
        low = high
