"""Whole games in C: blocks of rounds of all runs, in threads.

``c/games.h`` lists costs, constraints and rules, by number. This module knows only arrays;
:mod:`surefoot.games.compiled` writes a game as these arrays.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from threading import Thread
from typing import Any

import numpy as np

from surefoot import kernel
from surefoot.core.types import Array

__all__ = ["NOTHING", "CompiledGame", "code_of", "is_available", "pad", "parameters_of"]

_games = kernel.load("_games")
NOTHING = np.empty(0)
"""In the place of an array that a game does not have, or that is not asked for."""


def is_available() -> bool:
    """Return whether C plays games: the extension was built, and the kernel is to play."""
    return _games is not None and kernel.name() == "kernel"


def code_of(name: str) -> int:
    """Return the number of a cost, a constraint, a domain or a rule, by its name in ``games.h``."""
    code: int = getattr(_games, name)
    return code


def parameters_of(rule: str) -> list[str]:
    """Return the names of the parameters of a rule, which are attributes of it, in their order."""
    assert _games is not None
    return str(_games.PARAMETERS[rule]).split()


def pad(parameters: Sequence[float]) -> list[float]:
    """Return the parameters of a rule with as many zeros as the C text has room for."""
    assert _games is not None
    return [*parameters, *[0.0] * (_games.NUMBERS - len(parameters))]


class CompiledGame:
    """A game in C; its states are rows of doubles that begin with the action.

    Args:
        codes: d, rows of the constraint, the numbers of costs, constraint, rule and domain, and how
            many doubles a state has.
        numbers: the strong convexity of the costs, the radius of the constraint.
        arrays: matrix and vector of the constraint; centre, lower and upper limits of the domain;
            rows of the gauge.
        players: of each run its tightening, radius, inner radius and parameters.
        rules: of each run the capsule of its certified rule; empty for other rules.
    """

    def __init__(
        self,
        codes: Sequence[int],
        numbers: Sequence[float],
        arrays: Sequence[Array],
        players: Array,
        rules: Sequence[Any],
    ) -> None:
        assert _games is not None
        *kinds, size = codes
        self._handle = _games.make(
            np.array([*kinds, len(players), size], dtype=np.int64),
            np.array(numbers),
            *(np.ascontiguousarray(array, dtype=np.float64) for array in arrays),
            players,
            tuple(rules),
        )

    def play(
        self, state: Array, vectors: Array, streams: Array, kept: Array, outputs: Sequence[Array]
    ) -> None:
        """Play a block of rounds in each of the first runs, a part of them in each thread.

        Args:
            state: of all runs, before the block and after it.
            vectors: of the costs, ``(rounds, streams, d)``.
            streams: the stream of each run.
            kept: the rounds whose actions are recorded.
            outputs: cost, g, actions, norms of gradients and of slopes, a row for each run, and the
                sums of the constraints.
        """
        assert _games is not None
        runs, vectors = len(streams), np.ascontiguousarray(vectors)
        edges = np.linspace(0, runs, min(threads(), runs) + 1).astype(int).tolist()
        (low, high), *others = pairwise(edges)
        arrays = (state, vectors, streams, kept, *outputs)
        running = [Thread(target=_games.play, args=(self._handle, *o, *arrays)) for o in others]
        for thread in running:
            thread.start()
        _games.play(self._handle, low, high, *arrays)
        for thread in running:
            thread.join()


def threads() -> int:
    """Return the cores that this process may use; fewer if OMP_NUM_THREADS is smaller."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit)) if limit.isdecimal() and int(limit) else cores or 1
