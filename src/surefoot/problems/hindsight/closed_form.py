r"""The best fixed action in hindsight when the summed costs have a closed-form minimiser.

A sum of quadratics around targets is one quadratic around their mean, a sum of linear costs is
one linear cost: the work after that does not depend on the number of rounds.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.arrays import dot
from surefoot.core.display import after_rounds, format_bracket, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, CostStream, Region, Solving
from surefoot.problems.costs import Linear, Quadratic

__all__ = ["Comparator", "closed_form", "has_closed_form"]


class Comparator(NamedTuple):
    """The best fixed action over the first t rounds, for each requested t.

    Attributes:
        rounds: the t's, ``(n,)``.
        action: a feasible action, ``(n, d)``, or ``(n, B, d)`` where runs have their own costs.
        value: its summed cost, ``(n,)`` or ``(n, B)``: an upper bound on the minimum.
        lower: a lower bound on the minimum, so that ``value - lower`` is the optimality gap;
            equal to ``value`` where the minimiser is exact up to rounding.
    """

    rounds: Array
    action: Array
    value: Array
    lower: Array

    def __repr__(self) -> str:
        if not len(self.rounds):
            return "<Comparator of no round>"
        value, cost = self.value[-1], format_bracket(self.value[-1], self.lower[-1])
        return f"<Comparator{of_runs(value)}{after_rounds(self.rounds)}: cost {cost}>"


def has_closed_form(costs: CostStream, region: Region | None) -> bool:
    """Return whether :func:`closed_form` supports the costs, and the region projects exactly."""
    exact = region is not None and not isinstance(region, Solving)
    return exact and isinstance(costs, (Quadratic, Linear))


def closed_form(costs: CostStream, region: Region, rounds: Array) -> Comparator:
    """Return the best fixed action of a region over the first t rounds, for each t in ``rounds``.

    Example:
        >>> from surefoot.sets import Box
        >>> costs = Quadratic([[1.0, 0.0], [3.0, 0.0]], curvature=2.0)
        >>> best = closed_form(costs, Box([0.0, 0.0], [1.5, 1.5]), np.array([1, 2]))
        >>> best.action, best.value
        (array([[1. , 0. ], [1.5, 0. ]]), array([0. , 2.5]))
    """
    action, value = _minimise(costs, region, rounds)
    return Comparator(rounds, action, value, value)


@singledispatch
def _minimise(costs: CostStream, region: Region, rounds: Array) -> tuple[Array, Array]:
    raise InvalidValueError(f"costs must have a closed-form sum, got {type(costs).__name__}")


@_minimise.register
def _(costs: Quadratic, region: Region, rounds: Array) -> tuple[Array, Array]:
    # sum |x - v_s|^2 = t |x - m|^2 + spread, with m the mean of v_1..v_t and the spread the sum of
    # |v_s - m|^2, so the minimiser is the projection of m.
    origin = costs.targets[0]  # sums are taken from here: a large common offset must not cancel
    mean, spread = _prefix_moments(costs.targets[: rounds.max()] - origin, rounds)
    counts = rounds.reshape(-1, *[1] * (mean.ndim - 2)).astype(np.float64)
    action = _each(region.project, mean + origin)
    away = action - origin - mean
    return action, 0.5 * costs.curvature * (counts * np.vecdot(away, away) + spread)


@_minimise.register
def _(costs: Linear, region: Region, rounds: Array) -> tuple[Array, Array]:
    total = _prefix_sums(costs.slopes, rounds)
    action = _each(region.minimize_linear, total)
    return action, dot(total, action)[..., 0]


def _prefix_sums(values: Array, rounds: Array) -> Array:
    """Return the sums over the first t entries, for each t."""
    stops, which = np.unique(rounds, return_inverse=True)
    return np.cumsum(_segment_sums(values, stops), axis=0)[which]


def _prefix_moments(values: Array, rounds: Array) -> tuple[Array, Array]:
    """Return mean and summed squared distance to it of the first t entries, for each t.

    Between one t and the next the entries form a segment. Joining n entries of mean p to t others
    of mean m adds their own spread and :math:`|p - m|^2 n t/(n + t)`, none of it negative, so
    nothing cancels, also when the entries drift far away later.
    """
    stops, which = np.unique(rounds, return_inverse=True)
    ones = [1] * (values.ndim - 1)
    before, after = np.append(0, stops[:-1]).reshape(-1, *ones), stops.reshape(-1, *ones)
    length = after - before
    sums = _segment_sums(values, stops)
    own, mean = sums / length, np.cumsum(sums, axis=0) / after
    inside = values[: stops[-1]] - np.repeat(own, length.ravel(), axis=0)
    apart = own - np.concatenate([own[:1], mean[:-1]])
    joining = (length * before / after)[..., 0] * np.vecdot(apart, apart)
    spread = np.cumsum(_segment_sums(np.vecdot(inside, inside), stops) + joining, axis=0)
    return mean[which], spread[which]


def _segment_sums(values: Array, stops: Array) -> Array:
    """Return the sums of the entries from each stop to the next."""
    return np.add.reduceat(values[: stops[-1]], np.append(0, stops[:-1]), axis=0)


def _each(operation: Any, points: Array) -> Array:
    """Apply an operation on ``(N, d)`` to ``(n, d)`` or ``(n, B, d)``."""
    flat = points.reshape(-1, points.shape[-1])
    return np.asarray(operation(flat)).reshape(points.shape)
