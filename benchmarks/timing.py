"""Time several pieces of work side by side, so that whatever slows the machine slows all of them.

Contestants take turns, in an order that rotates. A ratio is taken within each turn, and the median
and quartiles of the ratios are what is reported: on a busy machine look at the quartiles first.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from surefoot.core.types import Array

Clock: TypeAlias = Callable[[], float]
Work: TypeAlias = Callable[[], object]

THREAD: Clock = time.thread_time
"""This thread's own time: what else the machine does meanwhile is not counted."""
PROCESS: Clock = time.process_time
"""The time of all threads of this process, for solvers that may start some."""
WALL: Clock = time.perf_counter
"""Time on the wall, for what computes in threads that are to be an advantage (JAX)."""


class Effort(NamedTuple):
    """How much to spend.

    Attributes:
        seconds: for each comparison, about.
        tiny: whether sizes are those of a smoke test.
    """

    seconds: float = 2.0
    tiny: bool = False


class Spread(NamedTuple):
    """Median and quartiles."""

    median: float
    low: float
    high: float


def spread(values: Array) -> Spread:
    """Return median and quartiles of a sample."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Spread(float(median), float(low), float(high))


def seconds(work: Work, clock: Clock) -> float:
    """Return the seconds of one call."""
    begun = clock()
    work()
    return clock() - begun


def take_turns(
    works: Mapping[str, Work], effort: Effort, clock: Clock = THREAD
) -> dict[str, Array]:
    """Return seconds of each call, by name: as many turns as fit, at least five.

    Each is called once unmeasured, for caches and what is made lazily, and once more to see how
    many turns there is time for.
    """
    for work in works.values():
        work()
    once = sum(seconds(work, WALL) for work in works.values())
    turns = int(np.clip(effort.seconds / max(once, 1e-9), 3 if effort.tiny else 5, 201))
    names = list(works)
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                times[name].append(seconds(works[name], clock))
    finally:
        gc.enable()
    return {name: np.array(taken) for name, taken in times.items()}
