"""Choose the engine for a game if the user does not, and give the reason.

:func:`choose` decides for a single game that is about to be played; :func:`choose_declared` knows
only what the cell of an experiment declares, before anything is built. In an experiment many cells
share a compiled program, so compiling pays off earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.algorithms import name_of
from surefoot.core.types import Array, Needs, needs_of
from surefoot.games.compiled import describe
from surefoot.problems import Problem

__all__ = [
    "LONG_BATCH",
    "LONG_LOOP",
    "Choice",
    "Declared",
    "Shape",
    "choose",
    "choose_declared",
]

# Measured: importing and compiling takes about a second and a half, a round of the loop 15 us, of
# a batch 80 us, of a scan less than a tenth of either. From these on it pays by a factor of two.
LONG_LOOP = 200_000
LONG_BATCH = 15_000
# Beyond that many numbers a round is arithmetic, at which NumPy is as good.
_WIDE = 20_000
# Of a cell: rounds over all trials from which a shared program pays, and entries of an action up
# to which a compiled round is clearly faster.
LONG_CELL = 50_000
_WIDE_CELL = 100

Shape: TypeAlias = Literal["box", "polytope", "other"]
"""What a feasible set is, as far as the choice of an engine depends on it."""


class Choice(NamedTuple):
    """An engine, and the reason for it."""

    engine: str
    reason: str


def choose(
    algorithms: Sequence[Any],
    problem: Problem,
    horizons: Array,
    start: Any,
    *,
    each_row: bool = False,
) -> Choice:
    """Choose the kernel where it has all parts of the game, else the quickest of the others.

    These are the loop for one run, the batch for several, and the scan where it saves seconds.

    Several runs of rules, constraints and costs from outside the library are played in a loop,
    unless these have an attribute ``batches`` that is true.

    Args:
        algorithms: those that play.
        problem: what is played.
        horizons: rounds of every run.
        start: the first action.
        each_row: whether the values of all constraints are wanted.
    """
    runs, rounds = len(horizons), int(horizons.max())
    plain, size = ("loop", "one run") if runs == 1 else ("batch", f"{runs:,} runs")
    size += f" of {rounds:,} rounds" if rounds > 1 else " of one round"
    if describe(algorithms, problem, start, each_row=each_row) is not None:
        return Choice("kernel", size)
    parts = (*algorithms, problem.constraint, problem.costs)
    if runs > 1:
        alone = next((name_of(a) for a in algorithms if needs_of(a).one_run), None)
        if alone := alone or _outsider(parts, compiled=False):
            return Choice("loop", f"{size}, with {alone}, which plays one at a time")
    if rounds < (LONG_LOOP if runs == 1 else LONG_BATCH):
        return Choice(plain, size)
    if runs * problem.costs.dimension > _WIDE:
        return Choice(plain, f"{size}, too wide for a compiled scan to be faster")
    if find_spec("jax") is None:
        return Choice(plain, f"{size}; a scan would be faster, but JAX is not installed")
    if not isinstance(start, (np.ndarray, list, tuple)):
        return Choice(plain, f"{size}, from a start that is not NumPy's")
    if (bound := next((a for a in algorithms if needs_of(a).numpy_only), None)) is not None:
        return Choice(plain, f"{size}, with {name_of(bound)}, which cannot be compiled")
    if outsider := _outsider(parts, compiled=True):
        return Choice(plain, f"{size}, with {outsider}, which may not compile")
    return Choice("scan", size)


class Declared(NamedTuple):
    """What is known about a game before its problem is built.

    Attributes:
        needs: of the algorithm.
        shape: of the feasible set.
        dimension: entries of an action.
        horizon: rounds of a trial.
        trials: runs of the game.
        adaptive: whether the costs answer the actions.
        solver: whether the algorithm itself runs a solver in every round.
    """

    needs: Needs
    shape: Shape
    dimension: int
    horizon: int
    trials: int
    adaptive: bool = False
    solver: bool = False


def choose_declared(game: Declared) -> Choice:
    """Return the engine of a game that is described and not built yet.

    The loop for costs that answer the actions, for a projection or a linear minimisation that
    takes a solver, and for a single short run; the scan for 50,000 rounds or more over the trials,
    in at most 100 dimensions, where JAX is installed and the algorithm compiles in a second or two
    (one that projects onto the feasible set, or goes through its rows in turn, does where that set
    is a box); the batch for the rest.

    Example:
        >>> choose_declared(Declared(Needs(), "box", dimension=2, horizon=100, trials=30))
        Choice(engine='batch', reason='30 runs of 100 rounds')
    """
    needs = game.needs
    inside = bool(needs.projections or needs.linear_minimisations)
    if game.adaptive:
        return Choice("loop", "costs that answer the actions")
    if needs.one_run:
        return Choice("loop", "a rule that plays one run at a time")
    if inside and game.shape == "polytope":
        return Choice("loop", "a solver in every round")
    single = game.trials == 1
    plain = "loop" if single else "batch"
    size = f"{'one run' if single else f'{game.trials:,} runs'} of {game.horizon:,} rounds"
    if game.horizon * game.trials < LONG_CELL:
        return Choice(plain, size)
    if game.dimension > _WIDE_CELL:
        return Choice(plain, f"{size}, too wide for a compiled scan to be faster")
    if needs.numpy_only or game.solver:
        return Choice(plain, f"{size}, by a rule that cannot be compiled")
    if game.shape != "box" and (inside or needs.row_loop):
        return Choice(plain, f"{size}, by a rule that takes long to compile")
    if not _has_jax():
        return Choice(plain, f"{size}; a scan would be faster, but JAX is not installed")
    return Choice("scan", size)


@cache
def _has_jax() -> bool:
    return find_spec("jax") is not None


def _outsider(part: Any, *, compiled: bool) -> str | None:
    """Return the name of what may not compile, or may not take several runs at once, if any."""
    if part is None or isinstance(part, (bool, int, float, str, np.ndarray, np.generic)):
        return None
    if isinstance(part, tuple):
        return next(filter(None, (_outsider(p, compiled=compiled) for p in part)), None)
    if not compiled and getattr(part, "batches", False):
        return None
    ours = getattr(part, "__module__", "").split(".")[0] == __name__.split(".")[0]
    if ours and is_dataclass(part):
        return _outsider(tuple(getattr(part, f.name) for f in fields(part)), compiled=compiled)
    return None if ours and not compiled else getattr(part, "__name__", type(part).__name__)
