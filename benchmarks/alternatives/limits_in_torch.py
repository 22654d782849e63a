"""Training under limits in PyTorch: Cooper, humancompatible-train and KeepFeasible.

The tasks and the tuning are those of :mod:`benchmarks.alternatives.torch_limits`.
``python -m benchmarks.alternatives limits_in_torch``
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator

import torch

from benchmarks.alternatives.rows import Row, named, tabulated
from benchmarks.alternatives.torch_limits import Task, compare, fairness

STEPS = 500
TITLE = "A network under limits, every step is served"
NAMES = {
    "Adam alone": named("torch", "Adam alone"),
    "Cooper": named("cooper-optim", "Lagrangian"),
    "humancompatible ALM": named("humancompatible-train", "ALM"),
    "KeepFeasible": "**Surefoot, `KeepFeasible`** around Adam",
}
KNOWS = {
    "Adam alone": "nothing, and ignores the limit",
    "Cooper": "a rate of the multipliers: the best of three",
    "humancompatible ALM": "a rate of the multipliers: the best of three",
    "KeepFeasible": "that rows are linear",
}


def rows(make: Callable[[int], Task], steps: int = STEPS) -> Iterator[Row]:
    """Yield what each method did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        found = compare(make, steps)
    for o in found:
        words = f"test loss {o.loss:.3f}, {o.accuracy:.1%} right"
        yield Row(NAMES[o.name], o.outside, o.steps, o.worst, words, math.nan, KNOWS[o.name])


def measure() -> list[str]:
    """Return the table of the fairness task; torch_limits prints that of singular values too."""
    return tabulated(rows(fairness))
