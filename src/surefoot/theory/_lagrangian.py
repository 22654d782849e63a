"""What the theorems about Lagrangian methods have in common: their numbers, sums and premises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.constants import Constants
from surefoot.theory.guarantee import Premise
from surefoot.types import Array

__all__ = [
    "at_least",
    "cost_range",
    "first_horizon",
    "harmonic",
    "power_sum",
    "premises",
    "reach",
    "rounds",
    "rows",
    "steepest",
    "unpromised",
]


def rounds(t: Any) -> Array:
    """A number of rounds, or an array of them, to compute with."""
    return np.asarray(t, dtype=np.float64)


def unpromised(t: Any) -> Array:
    """The bound on a single round of a theorem that has none."""
    return np.full_like(rounds(t), np.inf)


def reach(constants: Constants) -> float:
    r""":math:`D_0`, how far the best action may be from the first; 2R where not known."""
    return 2 * constants.R if constants.start_reach is None else constants.start_reach


def cost_range(constants: Constants, by: str) -> float:
    """F, by how much a cost may be larger at the best action than at the one played.

    Where not known it is 2R G_f: a convex cost falls by at most its slope at the higher point
    times the distance, so G_f must then hold at every point of the ball.
    """
    (G_f,) = constants.require("G_f", by=by)
    return 2 * constants.R * G_f if constants.F is None else constants.F


def steepest(constants: Constants, by: str) -> float:
    """The one G of theorems that have one for costs and constraints."""
    return max(constants.require("G_f", "G_g", by=by))


def rows(constants: Constants, by: str) -> int:
    """The number m of constraints, as a number of rows."""
    (m,) = constants.require("rows", by=by)
    return int(m)


def harmonic(t: Any) -> Array:
    r"""A bound on :math:`\sum_{s \le t} 1/s`: the first term and an integral."""
    return 1 + np.log(rounds(t))


def power_sum(t: Any, power: float) -> Array:
    r"""A bound on :math:`\sum_{s \le t} s^{-p}` for p < 1: the first term and an integral."""
    return 1 + (rounds(t) ** (1 - power) - 1) / (1 - power)


def premises(constants: Constants, horizon: int | None, by: str) -> tuple[Premise, ...]:
    """G_f and G_g from above, and the horizon where one is meant."""
    G_f, G_g = constants.require("G_f", "G_g", by=by)
    found = (
        Premise("cost gradient", "G_f", G_f),
        Premise("constraint subgradient", "G_g", G_g),
    )
    return found if horizon is None else (*found, Premise("horizon", "the horizon", horizon))


def at_least(horizon: int | None) -> str:
    """The rounds that a theorem needs, in words; all digits as long as they can be read."""
    if horizon is None:
        return "more than 2^1000 rounds"
    return f"at least {horizon if horizon < 10**9 else f'{horizon:.3g}'} rounds"


def first_horizon(enough: Callable[[int], bool], low: int) -> int | None:
    """The first horizon that is enough, where all longer ones are too; None beyond 2^1000."""
    high = low
    while not enough(high):
        if high > 2**1000:  # floats end at 2^1024
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
