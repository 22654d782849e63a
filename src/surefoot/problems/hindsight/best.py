r"""The best fixed action in hindsight: by a closed form if there is one, else by a bundle method.

A sum of quadratics around targets is one quadratic around their mean, a sum of linear costs is
one linear cost: the work after that does not depend on the number of rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.arrays import dot
from surefoot.core.checks import invalid
from surefoot.core.display import after_rounds, format_bracket, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, CostStream, Region, Solving
from surefoot.problems.constraints import Constraint, max_of
from surefoot.problems.costs import Adversarial, Linear, Quadratic
from surefoot.problems.hindsight.level_bundle import Bracket, level_bundle
from surefoot.sets import Ball

__all__ = ["Comparator", "best_action", "has_closed_form"]

Oracle: TypeAlias = Callable[[Array], tuple[float, Array]]


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


def _minimise(costs: Any, region: Region, rounds: Array) -> tuple[Array, Array]:
    if isinstance(costs, Linear):
        total = _prefix_sums(costs.slopes, rounds)
        action = _each(region.minimize_linear, total)
        return action, dot(total, action)[..., 0]
    # sum |x - v_s|^2 = t |x - m|^2 + spread, with m the mean of v_1..v_t and the spread the sum of
    # |v_s - m|^2, so the minimiser is the projection of m.
    origin = costs.targets[0]  # sums are taken from here: a large common offset must not cancel
    mean, spread = _prefix_moments(costs.targets[: rounds.max()] - origin, rounds)
    counts = rounds.reshape(-1, *[1] * (mean.ndim - 2)).astype(np.float64)
    action = _each(region.project, mean + origin)
    away = action - origin - mean
    return action, 0.5 * costs.curvature * (counts * np.vecdot(away, away) + spread)


def best_action(
    costs: CostStream,
    constraint: Constraint | Sequence[Constraint],
    rounds: Array,
    *,
    domain: Ball | None = None,
    interior: Array | None = None,
    tolerance: float = 1e-6,
    progress: Callable[[Bracket], None] | None = None,
) -> Comparator:
    """Return the best fixed action over the first t rounds, for each t in ``rounds``, with its gap.

    Sums of quadratics over a set that projects and sums of linear costs over one that minimises
    linear functions have closed forms. Everything else goes to :func:`level_bundle`, once for
    each t and run, and comes back as an interval.

    Args:
        costs: the cost stream.
        constraint: g; or the constraints of the rounds, and then the action is feasible in all.
        rounds: the t's, from 1 to the horizon.
        domain: a ball that contains the feasible set; needed where there is no closed form.
        interior: a strictly feasible point; needed there too.
        tolerance: relative gap at which a bundle stops.
        progress: called with the bounds after each query of a bundle.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> costs = Linear([[1.0, -2.0], [1.0, 3.0]])
        >>> best = best_action(costs, LinfNorm(0.5, 2), [1, 2])
        >>> best.value
        array([-1.5, -1.5])
    """
    rounds = _read_rounds(rounds, costs.horizon)
    if isinstance(costs, Adversarial):
        raise InvalidValueError(
            "costs of an adversary are known only after the game: "
            "keep every action and compare with costs.realise(actions)"
        )
    g = constraint if isinstance(constraint, Constraint) else max_of(*constraint)
    region = g.region
    if region is not None and has_closed_form(costs, region):
        return closed_form(costs, region, rounds)
    if domain is None or interior is None:
        raise InvalidValueError(
            "domain and interior must be given where there is no closed form, got "
            f"domain = {domain!r} and interior = {interior!r}"
        )
    brackets = [
        level_bundle(_total(stream), g, domain, interior, tolerance=tolerance, progress=progress)
        for stream in _streams(costs, rounds)
    ]
    shape = (len(rounds),) if costs.runs is None else (len(rounds), costs.runs)
    return Comparator(
        rounds,
        np.array([b.action for b in brackets]).reshape(*shape, -1),
        np.array([b.value for b in brackets]).reshape(shape),
        np.array([b.lower for b in brackets]).reshape(shape),
    )


def _streams(costs: CostStream, rounds: Array) -> Iterator[CostStream]:
    """Yield the first t rounds of each run, for each t."""
    for t in rounds:
        first = costs.rounds(0, int(t))
        yield from [first] if costs.runs is None else (first.run(r) for r in range(costs.runs))


def _read_rounds(rounds: Array, horizon: int) -> Array:
    try:
        read = np.atleast_1d(np.asarray(rounds, dtype=np.int64))
    except (OverflowError, TypeError, ValueError) as error:
        raise invalid("rounds", "whole numbers", rounds) from error
    if read.size == 0 or read.min() < 1 or read.max() > horizon:
        raise InvalidValueError(f"rounds must be from 1 to the horizon {horizon}, got {read!r}")
    return read


def _total(costs: Any) -> Oracle:
    """Return the summed cost as an oracle; a query of a closed form does not grow with T."""
    if isinstance(costs, Linear):
        slope = costs.slopes.sum(axis=0)
        return lambda x: (float(slope @ x), slope)
    if isinstance(costs, Quadratic):  # around the mean of the targets
        mean, weight = costs.targets.mean(axis=0), costs.curvature * costs.horizon
        spread, _ = costs.sum_at(mean)
        return lambda x: (
            spread + 0.5 * weight * float((x - mean) @ (x - mean)),
            weight * (x - mean),
        )
    summed: Oracle = costs.sum_at
    return summed


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


def _each(operation: Callable[[Array], Array], points: Array) -> Array:
    """Apply an operation on ``(N, d)`` to ``(n, d)`` or ``(n, B, d)``."""
    flat = points.reshape(-1, points.shape[-1])
    return np.asarray(operation(flat)).reshape(points.shape)
