"""Find out which cells need an extra that is not installed, before a round is played.

Which parts of a cell need a solver depends on what the problem's set knows of its own geometry and
on what the algorithm asks of it. So each pair of a problem and an algorithm is tried for two
rounds, with its regret; only where something is missing, since otherwise nothing can be found.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from surefoot.core.optional import MissingExtraError, need
from surefoot.experiments.players import build_player
from surefoot.experiments.problems import build_problem
from surefoot.experiments.seeds import stream_seed
from surefoot.experiments.shared import TOLERANCE
from surefoot.experiments.spec import Spec
from surefoot.games import play
from surefoot.problems import Problem

__all__ = ["Missing", "missing_extras"]

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


def missing_extras(spec: Spec) -> list[Missing]:
    """Return what is missing to play a specification; empty if nothing is.

    Example:
        >>> from surefoot.experiments import parse_spec
        >>> from surefoot.experiments.starter import STARTER
        >>> missing_extras(parse_spec(STARTER))
        []
    """
    found: dict[str, list[tuple[str, str]]] = {}
    solvers = all(find_spec(name) is not None for name in _SOLVERS)
    compiled = spec.engine != "scan" or find_spec("jax") is not None
    if solvers and compiled:
        return []
    for row in spec.problems:
        named = row.plain()
        seed = stream_seed(spec.seed, named, 0)
        problem = build_problem(named, _ROUNDS, 1, seed, 0)
        for algorithm in spec.algorithms:
            if not algorithm.plays(row.title):
                continue
            horizon = min(algorithm.horizons or spec.horizons)
            try:
                if not compiled:
                    need("jax", "jax", "the scan engine")
                _try(problem, algorithm.plain(), horizon)
            except MissingExtraError as error:
                found.setdefault(str(error), []).append((row.title, algorithm.title))
            except Exception:  # what else is wrong is the cell's own, and is told with it
                continue
    return [Missing(sentence, tuple(rows)) for sentence, rows in found.items()]


def _try(problem: Problem, algorithm: dict[str, object], horizon: int) -> None:
    """Play two rounds and find the best action; raise what is missing for that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            player, *_ = build_player(algorithm, problem, horizon)
            trace = play(player, problem, horizon=_ROUNDS, engine="loop", watch="off")
            costs = trace.costs()
        except ValueError:  # a theorem that refuses needs no extra
            costs = problem.costs
        problem.best_after(np.array([_ROUNDS]), costs, TOLERANCE)
