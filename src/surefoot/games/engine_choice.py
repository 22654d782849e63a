"""Which engine plays a game where the user does not say, and why."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from surefoot.problems import Problem
from surefoot.types import Array

__all__ = ["LONG_BATCH", "LONG_LOOP", "Choice", "choose"]

# Measured: importing and compiling takes about a second and a half, a round of the loop 15 us, of
# a batch 80 us, of a scan less than a tenth of either. From these on it pays by a factor of two.
LONG_LOOP = 200_000
LONG_BATCH = 15_000
# Beyond that many numbers a round is arithmetic, at which NumPy is as good.
_WIDE = 20_000


class Choice(NamedTuple):
    """An engine, and what speaks for it."""

    engine: str
    reason: str


def choose(algorithms: Any, problem: Problem, horizons: Array, start: Array) -> Choice:
    """The loop for one run, the batch for several, the scan where it saves seconds.

    Args:
        algorithms: those that play.
        problem: what is played.
        horizons: rounds of every run.
        start: the first action.
    """
    runs, rounds = len(horizons), int(horizons.max())
    plain, size = ("loop", "one run") if runs == 1 else ("batch", f"{runs:,} runs")
    size += f" of {rounds:,} rounds" if rounds > 1 else " of one round"
    if rounds < (LONG_LOOP if runs == 1 else LONG_BATCH):
        return Choice(plain, size)
    if runs * problem.costs.dimension > _WIDE:
        return Choice(plain, f"{size}, too wide for a compiled scan to be faster")
    if find_spec("jax") is None:
        return Choice(plain, f"{size}; a scan would be faster, but JAX is not installed")
    if type(start) is not np.ndarray and hasattr(start, "shape"):
        return Choice(plain, f"{size}, from a start that is not NumPy's")
    for part in (*algorithms, problem.constraint, problem.costs):
        if (stranger := _stranger(part)) is not None:
            return Choice(plain, f"{size}, with {stranger}, which may not compile")
    return Choice("scan", size)


def _stranger(part: Any) -> str | None:
    """The name of something that is not made of the library's dataclasses and numbers, if any."""
    if part is None or isinstance(part, (bool, int, float, str, np.ndarray, np.generic)):
        return None
    if isinstance(part, tuple):
        return next((found for p in part if (found := _stranger(p)) is not None), None)
    kind = type(part)
    ours = is_dataclass(part) and kind.__module__.split(".")[0] == __name__.split(".")[0]
    if not ours:
        return getattr(part, "__qualname__", kind.__qualname__)
    return _stranger(tuple(getattr(part, f.name) for f in fields(part)))
