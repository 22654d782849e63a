"""Find out which cells need an extra that is not installed, before a round is played.

Which parts of a cell need a solver depends on what the problem's set knows of its own geometry and
on what the algorithm asks of it. So each pair of a problem and an algorithm is tried for two
rounds, with its regret; only where something is missing, since otherwise nothing can be found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.optional import MissingExtraError, need
from surefoot.experiments.cache import TOLERANCE
from surefoot.experiments.players import build_player
from surefoot.experiments.problems import build_problem
from surefoot.experiments.specification import Spec
from surefoot.games import play
from surefoot.problems import Problem

_SOLVERS = ("scipy", "daqp", "qpsolvers", "piqp")
_ROUNDS = 2


class Missing(NamedTuple):
    """An extra that some rows of a specification need and that is not installed.

    Attributes:
        sentence: what needs it, and how it is installed.
        rows: labels of problem and algorithm.
    """

    sentence: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{algorithm} on {problem}" for problem, algorithm in self.rows[:3])
        more = f" and {len(self.rows) - 3} more" if len(self.rows) > 3 else ""
        return f"{self.sentence} ({shown}{more})"


class Pair(NamedTuple):
    """A problem and who plays it, with their labels."""

    labels: tuple[str, str]
    problem: Problem
    make_player: Callable[[], Any]


def missing_extras(spec: Spec) -> list[Missing]:
    """Return what is missing to play a specification; empty if nothing is.

    Example:
        >>> from surefoot.experiments import parse_spec
        >>> from surefoot.experiments.starter import starter
        >>> missing_extras(parse_spec(starter("first")))
        []
    """

    def pairs() -> Iterable[Pair]:
        for row in spec.problems:
            problem = build_problem(row.plain(), _ROUNDS, 1, 0, 0)
            for algorithm in spec.algorithms:
                if algorithm.plays(row.title):
                    horizon = min(algorithm.horizons or spec.horizons)
                    make = partial(_player, algorithm.plain(), problem, horizon)
                    yield Pair((row.title, algorithm.title), problem, make)

    return missing_among(pairs, spec.engine)


def _player(algorithm: Mapping[str, Any], problem: Problem, horizon: int) -> Any:
    return build_player(algorithm, problem, horizon)[0]


def missing_among(pairs: Callable[[], Iterable[Pair]], engine: str) -> list[Missing]:
    """Return what is missing to play some pairs by an engine; each is tried for two rounds."""
    found: dict[str, list[tuple[str, str]]] = {}
    compiled = engine != "scan" or find_spec("jax") is not None
    if compiled and all(find_spec(name) is not None for name in _SOLVERS):
        return []
    for pair in pairs():
        try:
            if not compiled:
                need("jax", "jax", "the scan engine")
            _try(pair.problem, pair.make_player)
        except MissingExtraError as error:
            found.setdefault(str(error), []).append(pair.labels)
        except Exception:  # what else is wrong is the cell's own, and is told with it
            continue
    return [Missing(sentence, tuple(rows)) for sentence, rows in found.items()]


def _try(problem: Problem, make_player: Callable[[], Any]) -> None:
    """Play two rounds and find the best action; raise what is missing for that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trace = play(make_player(), problem, horizon=_ROUNDS, engine="loop", watch="off")
            costs = trace.costs()
        except ValueError:  # a theorem that refuses needs no extra
            costs = problem.costs
        problem.best_after(np.array([_ROUNDS]), costs, TOLERANCE)
