"""Shared by theorems about Lagrangian methods: their constants and their sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory.guarantee import Guarantee, Kind, Measure, Summed

__all__ = [
    "EachRow",
    "KnownHorizon",
    "Lagrangian",
    "RowsApart",
    "StronglyConvex",
    "at_least",
    "first_horizon",
    "harmonic",
    "power_sum",
    "rounds",
]


class Lagrangian(Summed):
    """A theorem about a method that moves an action and a multiplier."""

    @property
    @final
    def _D_0(self) -> float:
        """Return how far the best action may be from the first; 2R where not known."""
        return self.constants.reach

    @property
    @final
    def _F(self) -> float:
        """Return by how much a cost may be larger at the best action than at the one played.

        Where not known it is 2R G_f: a convex cost falls by at most its slope at the higher point
        times the distance, so G_f must then hold at every point of the ball.
        """
        (G_f,) = self.constants.require("G_f", by=self.name)
        return 2 * self.constants.R * G_f if self.constants.F is None else self.constants.F

    @property
    @final
    def _G(self) -> float:
        """Return the one G of theorems that have one for costs and constraints."""
        return max(self.constants.require("G_f", "G_g", by=self.name))

    @property
    @final
    def _m(self) -> int:
        """Return the number of constraints."""
        return int(self.constants.require("rows", by=self.name)[0])


@dataclass(frozen=True)
class KnownHorizon(Lagrangian):
    """A theorem whose parameters depend on the number of rounds."""

    needed: ClassVar[tuple[str, ...]] = ("R", "G_f", "G_g")

    constants: Constants
    horizon: int

    def __post_init__(self) -> None:
        checks.horizon(self.horizon)
        self.constants.require(*self.needed, by=self.name)


@dataclass(frozen=True)
class RowsApart(KnownHorizon):
    """One about the sum of each constraint, with a bound that does not grow with the rounds."""

    kind: ClassVar[Kind] = "cumulative"
    regret_exponent: ClassVar[float] = 0.5
    needed: ClassVar[tuple[str, ...]] = ("R", "G_f", "G_g", "D_g", "rows")

    @property
    @final
    def rows(self) -> int:
        """The number m of constraints."""
        return self._m

    @property
    @abstractmethod
    def _limit(self) -> float:
        """Return the bound on the sum of each constraint."""

    @final
    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return the bound on the sum of each constraint; of the maximum where there is one."""
        limit = np.full_like(rounds(t), self._limit)
        return {"rows": limit} if self.rows > 1 else {"rows": limit, "soft": limit}


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


class EachRow(Lagrangian):
    """A promise for the sum of each constraint by itself."""

    kind: ClassVar[Kind] = "cumulative"

    @abstractmethod
    def _row_bound(self, t: Any) -> Array:
        r"""Bound every :math:`[\sum_{s \le t} g_i(x_s)]_+`, and the Euclidean norm of all m."""

    @final
    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return the bound on the sum of g for one constraint, of each constraint for several.

        The sum of the largest constraint is not bounded by the constraints' own sums: two that
        are violated in turn may each sum to 0.
        """
        return {"soft" if self._m == 1 else "rows": self._row_bound(t)}


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
