"""The live loop: one run, one round after another, with arrays of any backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot import _check
from surefoot._array import norm, to_numpy
from surefoot.games._tree import pick
from surefoot.games.record import Block, Recorder, block_length, segments
from surefoot.problems import Problem
from surefoot.types import Array, CostStream, Feedback

__all__ = ["play_loop"]


def play_loop(
    algorithms: Sequence[Any],
    problem: Problem,
    streams: Array,
    start: Array,
    horizons: Array,
    recorder: Recorder,
    after_block: Callable[[int], None],
) -> Array:
    """Play run after run; returns the actions that would come next.

    The arguments are those of the batch engine; the start may be of any backend, and the run
    stays on it.
    """
    final = []
    for run, horizon in enumerate(horizons):
        algorithm = algorithms[run] if len(algorithms) > 1 else pick(algorithms[0], run)
        costs = problem.costs.run(int(streams[run]))
        state = algorithm.init(start)
        _check_oracles(costs, problem, state.x)
        length = block_length(1, costs.dimension)
        for first, stop, _ in segments(np.array([horizon]), length):
            state = _play_block(algorithm, problem, costs, state, first, stop, run, recorder)
            after_block(stop)
        final.append(to_numpy(state.x))
    return np.array(final)


def _play_block(
    algorithm: Any,
    problem: Problem,
    costs: CostStream,
    state: Any,
    first: int,
    stop: int,
    run: int,
    recorder: Recorder,
) -> Any:
    """Play the rounds from first to stop and hand them to the recorder."""
    query, watched = problem.constraint.query, recorder.watch.is_on
    kept = set(recorder.kept(first, stop).tolist()) if recorder.actions is not None else ()
    cost, values, gradients, subgradients = [], [], [], []
    actions: list[Array] = []
    for t in range(first, stop):
        x = state.x
        gradient = costs.gradient(t, x)
        g, s = query(x)
        cost.append(float(costs.value(t, x)))
        values.append(float(g))
        if t - first in kept:
            actions.append(to_numpy(x))
        if watched:
            gradients.append(float(norm(gradient)))
            subgradients.append(float(norm(s)))
        try:
            state = algorithm.update(state, Feedback(gradient, g, s))
        except ValueError as error:
            raise type(error)(f"round {t + 1}: {error}") from error
    recorder.add(
        Block(
            first,
            slice(run, run + 1),
            np.array(cost)[:, None],
            np.array(values)[:, None],
            np.array(actions)[:, None] if actions else None,
            np.array(gradients)[:, None] if watched else None,
            np.array(subgradients)[:, None] if watched else None,
        )
    )
    return state


def _check_oracles(costs: CostStream, problem: Problem, x: Array) -> None:
    """One look at the shapes before the first round, so that a user's own functions are named."""
    g, s = problem.constraint.query(x)
    _check.feedback(x, Feedback(costs.gradient(0, x), g, s))
