"""Shared by theorems: rounds as numbers, sums over them, the first horizon that is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from surefoot.core.types import Array
from surefoot.theory import Guarantee

__all__ = ["StronglyConvex", "at_least", "first_horizon", "harmonic", "power_sum", "rounds"]


def rounds(t: Any) -> Array:
    """Return a number of rounds, or an array of them, as floats."""
    return np.asarray(t, dtype=np.float64)


def harmonic(t: Any) -> Array:
    r"""Bound :math:`\sum_{s \le t} 1/s` by its first term and an integral."""
    return 1 + np.log(rounds(t))


def power_sum(t: Any, power: float) -> Array:
    r"""Bound :math:`\sum_{s \le t} s^{-p}`, p < 1, by its first term and an integral."""
    return 1 + (rounds(t) ** (1 - power) - 1) / (1 - power)


def at_least(horizon: int | None) -> str:
    """Return the rounds that a theorem needs in words, with all digits if readable."""
    if horizon is None:
        return "more than 2^1000 rounds"
    return f"at least {horizon if horizon < 10**9 else f'{horizon:.3g}'} rounds"


def first_horizon(enough: Callable[[int], bool], low: int) -> int | None:
    """Return the first horizon that is enough, where all longer ones are; None beyond 2^1000."""
    high = low
    while not enough(high):
        if high > 2**1000:  # floats end at 2^1024
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


class StronglyConvex(Guarantee):
    """A theorem on H-strongly convex costs with steps of 1/(Ht), for any number of rounds."""

    def __post_init__(self) -> None:
        self.constants.require("strong_convexity", by=self.name)
        super().__post_init__()  # type: ignore[misc]  # of the other base

    @property
    @final
    def eta(self) -> float:
        """The step size of round 1, 1/H."""
        return 1 / self.constants.require("strong_convexity", by=self.name)[0]
