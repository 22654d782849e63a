"""Share problems, streams and best actions between neighbouring cells of a worker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from surefoot.core.types import Array
from surefoot.experiments.cells import canonical, stream_seed
from surefoot.experiments.problems import build_problem
from surefoot.games import Trace
from surefoot.problems import Problem
from surefoot.problems.constraints import ConstraintStream
from surefoot.problems.costs import ArrayCosts
from surefoot.problems.hindsight import Comparator

TOLERANCE = 1e-5
"""Relative gap at which a comparator without a closed form is good enough."""

_BYTES = 256 << 20
"""What a worker may keep of problems, so that algorithms that meet the same streams share them."""

_PROGRAM = 2_048
"""Rounds of the shortest stream of a compiled game."""

V = TypeVar("V")


class Recent(Generic[V]):
    """A cache of recently used values, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """Return what is stored under a key; make it if it is missing."""
        if key in self._items:
            self._items.move_to_end(key)
            return self._items[key][0]
        value = make()
        if size(value) <= self._most:
            self._items[key] = (value, size(value))
            self._bytes += size(value)
        while self._bytes > self._most:
            self._bytes -= self._items.popitem(last=False)[1][1]
        return value


_problems: Recent[Problem] = Recent(_BYTES)
_comparators: Recent[Comparator] = Recent(_BYTES // 4)
_sums: Recent[np.ndarray] = Recent(_BYTES // 4)


def _key(spec: Mapping[str, Any], *more: Any) -> str:
    """Return what the streams of a cell depend on, as text."""
    return canonical([spec[k] for k in ("problem", "horizon", "trials", "seed", "block")] + [*more])


def problem_of(spec: Mapping[str, Any]) -> Problem:
    """Return the problem of a cell, with the streams of its block of trials.

    Args:
        spec: the cell's, as :class:`surefoot.experiments.cells.Job` has it.
    """
    compiled, T = spec["engine"] == "scan", int(spec["horizon"])

    def made(horizon: int) -> Problem:
        seed = stream_seed(spec["seed"], spec["problem"], spec["block"])
        return build_problem(spec["problem"], horizon, spec["trials"], seed, spec["block"])

    def make() -> Problem:
        problem = made(T)
        fixed = not isinstance(problem.constraint, ConstraintStream)
        if compiled and T < _PROGRAM and fixed and isinstance(problem.costs, ArrayCosts):
            # A stream at least as long as a block of rounds is, so that games of all lengths run
            # one program. The first rounds of more are the same; what is known of them is kept.
            return replace(problem, costs=made(_PROGRAM).costs)
        return problem

    return _problems.get(_key(spec, compiled), make, _bytes_of)


def _bytes_of(problem: Problem) -> int:
    """Return what a problem's streams take; the rest is small."""
    costs = problem.costs
    names = costs.series if isinstance(costs, ArrayCosts) else ()
    return 4096 + sum(int(getattr(costs, name).nbytes) for name in names)


def sum_best(spec: Mapping[str, Any], trace: Trace, action: Array) -> np.ndarray:
    """Return the summed costs of the best fixed action after every round, ``(T, runs)``.

    Args:
        spec: the cell's.
        trace: its game.
        action: the best one after all rounds, of each run if their costs differ.
    """
    costs = trace.costs()

    def make() -> np.ndarray:
        each = [np.ravel(costs.value(t, action)) for t in range(trace.horizon)]
        return np.cumsum(each, axis=0)

    if costs is not trace.problem.costs:
        return make()
    return _sums.get(_key(spec, "sums"), make, lambda sums: sums.nbytes)


def best_of(spec: Mapping[str, Any], problem: Problem, costs: Any, rounds: Array) -> Comparator:
    """Return the best fixed actions in hindsight of a cell after some of its rounds.

    Args:
        spec: the cell's.
        problem: what was played.
        costs: the costs of the game; an adversary's are known only afterwards.
        rounds: after which the best action is wanted.
    """

    def make() -> Comparator:
        return problem.best_after(rounds, costs, TOLERANCE)

    if costs is not problem.costs:
        return make()  # an adversary's costs are those of this game alone
    key = _key(spec, "comparator", rounds.tolist())
    return _comparators.get(key, make, lambda c: sum(np.asarray(part).nbytes for part in c))
