"""Choose the engine for a game if the user does not, and give the reason."""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from surefoot.algorithms import name_of
from surefoot.core.types import Array, Player, needs_of
from surefoot.games.compiled import describe
from surefoot.games.rounds import fields_of
from surefoot.problems import Problem

__all__ = ["LONG_BATCH", "LONG_LOOP", "Choice", "choose"]

# Measured: importing and compiling takes about a second and a half, a round of the loop 15 us, of
# a batch 80 us, of a scan less than a tenth of either. From these on it pays by a factor of two.
LONG_LOOP = 200_000
LONG_BATCH = 15_000
# Beyond that many numbers a round is arithmetic, at which NumPy is as good.
_WIDE = 20_000


class Choice(NamedTuple):
    """An engine, and the reason for it."""

    engine: str
    reason: str


def choose(
    algorithm: Player, problem: Problem, rounds: int, start: Array, *, each_row: bool = False
) -> Choice:
    """Choose the kernel where it has all parts of the game, else the quickest of the others.

    These are the loop for one run, the batch for several, and the scan where it saves seconds.

    Several runs of rules, constraints and costs from outside the library are played in a loop,
    unless these have an attribute ``batches`` that is true.

    Args:
        algorithm: what plays.
        problem: what is played.
        rounds: of every run.
        start: the first action.
        each_row: whether the values of all constraints are wanted.
    """
    runs = problem.costs.runs or 1
    plain, size = ("loop", "one run") if runs == 1 else ("batch", f"{runs:,} runs")
    size += f" of {rounds:,} rounds" if rounds > 1 else " of one round"
    if describe(algorithm, problem, start, each_row=each_row) is not None:
        return Choice("kernel", size)
    if runs > 1:
        parts = (algorithm, problem.constraint, problem.costs)
        alone = name_of(algorithm) if needs_of(algorithm).one_run else None
        if alone := alone or _outsider(parts, compiled=False):
            return Choice("loop", f"{size}, with {alone}, which plays one at a time")
    if rounds < (LONG_LOOP if runs == 1 else LONG_BATCH):
        return Choice(plain, size)
    why_not = _why_not_compiled(algorithm, problem, runs, start)
    return Choice(plain, f"{size}{why_not}") if why_not else Choice("scan", size)


def _why_not_compiled(algorithm: Player, problem: Problem, runs: int, start: Array) -> str:
    """Return why a long game is not compiled by JAX; nothing if it is."""
    if runs * problem.costs.dimension > _WIDE:
        return ", too wide for a compiled scan to be faster"
    if find_spec("jax") is None:
        return "; a scan would be faster, but JAX is not installed"
    if not isinstance(start, (np.ndarray, list, tuple)):
        return ", from a start that is not NumPy's"
    needs = needs_of(algorithm)
    if needs.numpy_only:
        return f", with {name_of(algorithm)}, which cannot be compiled"
    if needs.row_loop:
        return f", with {name_of(algorithm)}, which takes long to compile"
    outsider = _outsider((algorithm, problem.constraint, problem.costs), compiled=True)
    return f", with {outsider}, which may not compile" if outsider else ""


def _outsider(part: object, *, compiled: bool) -> str | None:
    """Return the name of what may not compile, or may not take several runs at once, if any."""
    if part is None or isinstance(part, (bool, int, float, str, np.ndarray, np.generic)):
        return None
    if isinstance(part, tuple):
        return next(filter(None, (_outsider(p, compiled=compiled) for p in part)), None)
    if not compiled and getattr(part, "batches", False):
        return None
    ours = getattr(part, "__module__", "").split(".")[0] == __name__.split(".")[0]
    if ours and is_dataclass(part):
        return _outsider(tuple(fields_of(part).values()), compiled=compiled)
    return None if ours and not compiled else getattr(part, "__name__", type(part).__name__)
