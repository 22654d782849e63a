"""Regret, always with its comparator: a fixed one, one that moves, or that of an interval."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.display import after_rounds, format_bracket, mean_and_spread, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, ArrayLike, CostStream
from surefoot.problems.constraints import Constraint
from surefoot.problems.hindsight import Comparator, best_action
from surefoot.sets import Ball

__all__ = [
    "DynamicRegret",
    "MovingComparator",
    "Regret",
    "best_moving",
    "moving_comparator",
    "path_length",
    "regret_of",
]

_SLACK = 1e-9
"""By how much a comparator that was projected elsewhere may violate, by rounding."""


class Regret(NamedTuple):
    r"""Regret after t rounds, for each t of the comparator.

    Attributes:
        rounds: the t's, ``(n,)``.
        upper: :math:`\sum_{s \le t} f_s(x_s)` less the lower bound on the comparator's cost,
            ``(n,)`` or ``(n, B)``; regret is never more.
        lower: the same less the upper bound; regret is never less.
        comparator: the best actions themselves.
    """

    rounds: Array
    upper: Array
    lower: Array
    comparator: Comparator

    def __repr__(self) -> str:
        if not len(self.rounds):
            return "<Regret of no round>"
        upper, ends = self.upper[-1], format_bracket(self.upper[-1], self.lower[-1])
        return f"<Regret{of_runs(upper)}{after_rounds(self.rounds)}: {ends}>"

    @property
    def gap(self) -> Array:
        """The distance between the two bounds; 0 for an exact comparator."""
        return self.upper - self.lower


def regret_of(cost_sums: Array, comparator: Comparator) -> Regret:
    """Return the regret from summed costs ``(n,)`` or ``(n, B)`` at the comparator's rounds."""
    sums = np.asarray(cost_sums, dtype=np.float64)
    value, lower = comparator.value, comparator.lower
    if sums.shape[: value.ndim] != value.shape or sums.ndim > 2:
        raise InvalidValueError(
            f"cost_sums.shape must be that of the comparator's values, {value.shape}, or have one "
            f"axis of runs more where it has none, got {sums.shape}"
        )
    if sums.ndim > value.ndim:  # all runs share one cost stream
        value, lower = value[:, None], lower[:, None]
    return Regret(comparator.rounds, sums - lower, sums - value, comparator)


class MovingComparator(NamedTuple):
    r"""Comparators :math:`u_1, \dots, u_T`, one per round.

    Attributes:
        actions: ``(T, d)`` or ``(T, B, d)``.
        value: :math:`\sum f_t(u_t)`, of each run.
        lower: no comparators that change in the same rounds cost less; the value itself where the
            comparators were given.
        length: :math:`P = \sum_{t \ge 2}\|u_t - u_{t-1}\|`, of each run.
    """

    actions: Array
    value: Array
    lower: Array
    length: Array

    def __repr__(self) -> str:
        cost = format_bracket(self.value, self.lower)
        path = mean_and_spread(self.length)
        return f"<MovingComparator{of_runs(self.value)}: cost {cost}; path of length {path}>"


class DynamicRegret(NamedTuple):
    r"""Regret over some rounds against comparators that may move, or one that is fixed.

    Attributes:
        first: the first round, counted from 1.
        last: the last round.
        upper: :math:`\sum f_t(x_t) - \sum f_t(u_t)` is never more, of each run.
        lower: it is never less; the same where the comparators were given or are exact.
        comparator: the comparators with the length of their path.
        bound: the guarantee's, for so many rounds and a path of this length; None where it has
            none.
    """

    first: int
    last: int
    upper: Array
    lower: Array
    comparator: MovingComparator
    bound: Array | None

    def __repr__(self) -> str:
        when = f"from round {self.first:,} to {self.last:,}"
        path = f"a path of length {mean_and_spread(self.comparator.length)}"
        ends = format_bracket(self.upper, self.lower)
        return f"<DynamicRegret{of_runs(self.upper)} {when} against {path}: {ends}>"


def path_length(actions: Array) -> Array:
    r"""Return :math:`\sum_{t \ge 2}\|u_t - u_{t-1}\|` of ``(T, d)`` or ``(T, B, d)`` actions.

    Example:
        >>> float(path_length(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])))
        5.0
    """
    return np.linalg.norm(np.diff(actions, axis=0), axis=-1).sum(axis=0)


def moving_comparator(costs: CostStream, actions: ArrayLike) -> MovingComparator:
    """Return given comparators with their cost and the length of their path.

    Args:
        costs: the cost stream; the comparators are of its first rounds.
        actions: ``(T, d)`` for all runs, or ``(T, B, d)`` with those of each.

    Example:
        >>> from surefoot.problems.costs import Linear
        >>> stream = Linear([[1.0], [-1.0]])
        >>> moving = moving_comparator(stream, [[-0.5], [0.5]])
        >>> float(moving.value), float(moving.length)
        (-1.0, 1.0)
    """
    path = np.asarray(actions, dtype=np.float64)
    runs, d = costs.runs, costs.dimension
    shapes = f"(rounds, {d})" + ("" if runs is None else f" or (rounds, {runs}, {d})")
    fits = path.ndim == 2 or (path.ndim == 3 and path.shape[1] == runs)
    if not fits or path.shape[-1] != d or not 1 <= len(path) <= costs.horizon:
        raise InvalidValueError(
            f"actions.shape must be {shapes} with at most {costs.horizon} rounds, got {path.shape}"
        )
    if not np.isfinite(path).all():
        raise InvalidValueError("actions must be finite, got NaN or infinity among them")
    if runs is not None and path.ndim == 2:
        path = np.repeat(path[:, None], runs, axis=1)
    value = sum(np.asarray(costs.value(t, u), dtype=np.float64) for t, u in enumerate(path))
    total = np.asarray(value).reshape(() if runs is None else (runs,))
    return MovingComparator(path, total, total, path_length(path))


def best_moving(
    costs: CostStream,
    constraint: Constraint,
    changes: int | Sequence[int],
    *,
    domain: Ball | None = None,
    interior: Array | None = None,
) -> MovingComparator:
    """Return the best feasible comparators that change in given rounds only, in hindsight.

    Args:
        costs: the cost stream.
        constraint: g, which every comparator meets.
        changes: the rounds, counted from 1, in which the comparator may change; or how many pieces
            of equal length there are.
        domain: a ball that contains the feasible set; needed where there is no closed form.
        interior: a strictly feasible point; needed there too.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> from surefoot.problems.costs import Linear
        >>> stream = Linear([[1.0], [1.0], [-1.0], [-1.0]])
        >>> best = best_moving(stream, LinfNorm(0.5, 1), changes=[3])
        >>> best.actions[:, 0], float(best.value)
        (array([-0.5, -0.5,  0.5,  0.5]), -2.0)
    """
    edges = _edges(changes, costs.horizon)
    pieces = [
        best_action(costs.rounds(a, b), constraint, [b - a], domain=domain, interior=interior)
        for a, b in pairwise(edges)
    ]
    lengths = np.diff(edges)
    actions = np.repeat(np.array([piece.action[0] for piece in pieces]), lengths, axis=0)
    value = np.sum([piece.value[0] for piece in pieces], axis=0)
    lower = np.sum([piece.lower[0] for piece in pieces], axis=0)
    return MovingComparator(actions, value, lower, path_length(actions))


def _edges(changes: int | Sequence[int], horizon: int) -> list[int]:
    """Return where pieces begin, counted from 0, and the horizon."""
    if isinstance(changes, int):
        pieces = checks.positive_int(changes, "changes")
        if pieces > horizon:
            raise InvalidValueError(f"changes must be at most {horizon} pieces, got {changes}")
        return [round(k * horizon / pieces) for k in range(pieces + 1)]
    rounds = [int(t) - 1 for t in changes]
    if rounds != sorted(set(rounds)) or (rounds and not 0 < rounds[0] <= rounds[-1] < horizon):
        raise InvalidValueError(
            f"changes must be rising rounds from 2 to {horizon}, got {list(changes)!r}"
        )
    return [0, *rounds, horizon]


def must_be_feasible(constraint: Constraint, actions: Array) -> None:
    """Raise for comparators that no theorem covers: infeasible by more than rounding."""
    largest = float(np.max(constraint.query(actions.reshape(-1, actions.shape[-1]))[0]))
    if not largest <= _SLACK:
        raise InvalidValueError(
            f"comparators must be feasible in every round, got one with g = {largest:g}"
        )
