"""Notice rules, costs and constraints that are written for one run and cannot play a batch.

A batch hands a rule one number per run, as a column. An ``if`` on such a number raises; a norm or
a sum over all entries raises nothing and mixes the runs. The first is caught where it happens, the
second is found by playing the first rounds of a few runs both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np

from surefoot.core.arrays import to_numpy
from surefoot.games._tree import rows, stack
from surefoot.games.setup import Game

__all__ = ["EngineWarning", "branches", "mixes_runs", "where"]

_ROUNDS, _RUNS = 3, 3
_CLOSE = 1e-6
"""Relative difference up to which the sums of the two ways may differ by rounding alone."""

_ONE_NUMBER = (
    "truth value of an array",
    "only 0-dimensional arrays",
    "only length-1 arrays",
)


class EngineWarning(UserWarning):
    """A game is played by a slower engine than was chosen; the message says why."""


def branches(error: BaseException) -> bool:
    """Return whether NumPy refused to take the numbers of many runs for a single one.

    >>> branches(ValueError("The truth value of an array with more than one element is ambiguous."))
    True
    """
    return isinstance(error, (ValueError, TypeError)) and any(w in str(error) for w in _ONE_NUMBER)


def where(error: BaseException) -> str:
    """Return the name of the function in which an error arose, as ``Rule.update``."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_ours(trace.tb_frame.f_globals.get("__name__", "")):
            name = code.co_qualname.rpartition("<locals>.")[2]
        trace = trace.tb_next
    return name


def mixes_runs(game: Game) -> str | None:
    """Return the name of a part that plays several runs at once otherwise than one by one.

    Only games with a class or a function from outside the library are tried.
    """
    problem = game.problem
    parts = [game.algorithms[0], problem.constraint, problem.costs]
    own = [type(part).__name__ for part in parts if _is_own(part)]
    runs = min(_RUNS, int((game.horizons == game.horizons[0]).sum()))
    if not own or runs < 2:
        return None
    stop = min(_ROUNDS, int(game.horizons[0]))
    costs = problem.costs.rounds(0, stop)
    try:
        single = [_play(game.algorithm(r), game, costs, stop, r) for r in range(runs)]
        mine = game.algorithms[:runs]
        together = stack(mine) if len(mine) > 1 else rows(mine[0], slice(runs))
    except Exception:
        return None  # wrong in either way: the engine that was chosen says how
    try:
        many = _play(together, game, costs, stop, slice(runs))
    except Exception as error:
        # An `if` is told by the game itself, with its place.
        return None if branches(error) and where(error) else " or ".join(own)
    if all(_agree(one, [value[r] for value in many]) for r, one in enumerate(single)):
        return None
    return " or ".join(own)


def _play(algorithm: Any, game: Game, costs: Any, stop: int, runs: int | slice) -> list[Any]:
    """Return cost, g and next action of each of the first rounds, of one run or of several."""
    oracle = game.oracle(costs, 0, stop, runs)
    x1 = game.start if isinstance(runs, int) else np.tile(game.start, (runs.stop, 1))
    state, seen = algorithm.init(x1), []
    for k in range(stop):
        asked = oracle.ask(k, state.x)
        state, _ = algorithm.step(state, asked.feedback)
        seen += [to_numpy(asked.cost), to_numpy(asked.worst), to_numpy(state.x)]
    return seen


def _agree(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether values are equal up to rounding, whatever a column made of their shapes."""
    pairs = zip(map(np.ravel, one), map(np.ravel, other), strict=True)
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=_CLOSE, atol=1e-9, equal_nan=True)
        for a, b in pairs
    )


def _is_own(part: Any) -> bool:
    """Return whether a part is of a class from outside the library, or holds functions that are."""
    kind = type(part)
    if not _is_ours(kind.__module__):
        return True
    names = [f.name for f in fields(part)] if is_dataclass(part) else []
    # JAX maps its functions over a batch by itself.
    held = any(isinstance(getattr(part, name), FunctionType) for name in names)
    return held and not kind.__name__.startswith("Jax")


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in (__name__.split(".")[0], "numpy")
