"""What a round reveals to an algorithm, and what the game itself observes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from surefoot.core.arrays import find_largest, is_one_run, namespace, norm
from surefoot.core.types import Array, Feedback, Needs, Number
from surefoot.problems.constraints import Constraint, ConstraintStream, PlayedOnly
from surefoot.problems.costs import ArrayCosts

__all__ = ["Oracle", "Seen"]


class Seen(NamedTuple):
    """A round as the game sees it.

    Attributes:
        feedback: what the algorithm asks for and receives.
        cost: the round's cost.
        gradient: its gradient, whether or not the algorithm receives it.
        worst: g, the largest constraint.
        steepest: norm of the longest subgradient that was revealed.
        rows: all constraints, where their sums are wanted.
    """

    feedback: Feedback
    cost: Number
    gradient: Array
    worst: Number
    steepest: Number
    rows: Array | None = None


@dataclass(frozen=True, slots=True)
class Oracle:
    """Answers an algorithm's needs in a block of rounds.

    Args:
        costs: the costs of the block, for the runs that play.
        constraint: a constraint, or the constraints of the block's rounds.
        needs: what the algorithm asks for; what it does not is not told.
        watched: whether norms are wanted.
        rows: whether the values of all constraints are wanted, for a guarantee about their sums.
        directions: a unit vector for each round, for algorithms that explore.
    """

    costs: Any
    constraint: Constraint | ConstraintStream
    needs: Needs
    watched: bool
    rows: bool = False
    directions: Array | None = None

    def ask(self, k: Any, x: Array) -> Seen:
        """Answer round k of the block, at the action played."""
        costs, g, needs = self.costs, self.constraint, self.needs
        if isinstance(g, PlayedOnly):
            g.allow(x)
        if isinstance(costs, ArrayCosts):
            cost, gradient = costs.query(k, x)
        else:
            gradient, cost = costs.gradient(k, x), costs.value(k, x)
        rows = None
        if needs.apart or self.rows:
            rows, slopes = g.query_all(x) if isinstance(g, Constraint) else g.query_all(k, x)
        if needs.apart:
            value, slope, worst = rows, slopes, find_largest(rows)[0]
        else:
            value, slope = g.query(x) if isinstance(g, Constraint) else g.query(k, x)
            worst = value
        steepest: Number = _steepest(slope, x) if self.watched else 0.0
        if not needs.constraint_values:
            value = None
        if not needs.constraint_subgradients:
            slope = None
        feedback = Feedback(
            gradient if needs.cost_gradients else None,
            value,
            slope,
            cost if needs.cost_values else None,
            direction=None if self.directions is None else self.directions[k],
        )
        apart = rows if self.rows else None
        return Seen(feedback, cost, gradient, worst, steepest, apart)


def _steepest(slope: Array, x: Array) -> Number:
    """Return the norm of a subgradient, or of the longest of several."""
    if slope.ndim == x.ndim:
        return norm(slope)
    if hasattr(slope, "tocsr"):  # rows that are sparse stay so
        return math.sqrt(float(slope.multiply(slope).sum(axis=1).max()))
    xp = namespace(slope)
    squares = xp.sum(slope * slope, axis=-1)
    return xp.sqrt(xp.max(squares, axis=-1, keepdims=not is_one_run(x)))


def constraint_rounds(constraint: Any, start: int, stop: int) -> Any:
    """Return the constraints of a block of rounds; a fixed one is itself."""
    return constraint if isinstance(constraint, Constraint) else constraint.rounds(start, stop)
