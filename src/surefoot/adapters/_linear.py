"""The weights of a linear model, kept feasible by a certified rule; for scikit-learn and river."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from surefoot.adapters._keeper import Alarm, OnContradiction
from surefoot.algorithms import CertifiedDualAveraging, LeaderFollower, Tuned
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Info, needs_of
from surefoot.problems.constraints import Constraint, FunctionConstraint, max_of
from surefoot.regions import CurvatureRows, Errors
from surefoot.sets import Ball

__all__ = ["Weights", "ball_of", "logistic_slope", "sigmoid"]


def _half_square(radius: float, w: Array) -> float:
    return 0.5 * (float(w @ w) - radius * radius)


def ball_of(radius: float, dimension: int) -> FunctionConstraint:
    r"""Return :math:`\frac12(\|w\|^2 - r^2) \le 0`, smooth, so that its curvature certifies.

    Example:
        >>> ball_of(2.0, 2).query(np.array([0.0, 1.0]))
        (-1.5, array([0., 1.]))
    """
    # A product of n terms, two squares and a difference: each rounds by 2^-53 of r^2 at most.
    error = (dimension + 8) * 2.0**-52 * radius * radius
    return FunctionConstraint(partial(_half_square, radius), np.array, radius, 1.0, error)


class Weights:
    """Weights that a rule moves by the gradients of losses; feasible after every round.

    Args:
        dimension: how many weights there are.
        radius: of a ball around 0 in which they are kept, whatever the constraint is.
        constraint: of your own, beside that; the weights 0 must be strictly feasible for it.
        player: from constants to a tuned rule, as ``LeaderFollower.default``; by the curvature of
            the constraint where that is known, else by its slope, unless given.
        on_contradiction: what to do when a round is impossible if the constants are right.

    Example:
        >>> w = Weights(2, radius=1.0)
        >>> for _ in range(50):
        ...     _ = w.descend(np.array([-3.0, -4.0]))
        >>> w.x.round(3), w.constraint.value(w.x) <= 0
        (array([0.6, 0.8]), True)
    """

    def __init__(
        self,
        dimension: int,
        radius: float,
        constraint: Constraint | None = None,
        player: Callable[..., Any] | None = None,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        self.alarm = Alarm(on_contradiction)
        if constraint is not None and not isinstance(constraint, Constraint):
            raise InvalidValueError(
                f"constraint must be one of surefoot.problems.constraints, got {constraint!r}"
            )
        known = getattr(constraint, "dimension", None)
        if known not in (None, dimension):
            raise InvalidValueError(
                f"constraint.dimension must be {dimension}, one per weight, got {known}"
            )
        radius = float(radius)
        ball = ball_of(radius, dimension)
        self.constraint = ball if constraint is None else max_of(constraint, ball)
        start, domain = np.zeros(dimension), Ball(radius, np.zeros(dimension))
        betas = self.constraint.row_curvatures(domain)
        bent, error = float(betas.max()), self.constraint.evaluation_error(domain)
        if player is None and bent < math.inf:
            # Each row with its own curvature; constants have the largest one only.
            errors = Errors(evaluation=error or 0.0)
            rows = CurvatureRows(beta=tuple(betas), reach=radius, errors=errors)
            self.rule: Any = CertifiedDualAveraging(knowledge=rows, radius=radius)
        else:
            constants = self.constraint.constants(domain, start).with_origin(
                "derived",
                rows=self.constraint.rows,
                beta=bent if bent < math.inf else None,
                evaluation_error=error,
            )
            tuned = (player or LeaderFollower.default)(constants, domain=domain)
            self.rule = tuned.algorithm if isinstance(tuned, Tuned) else tuned
        self.apart = needs_of(self.rule).apart
        self.state = self.rule.init(start)
        self.info: Info | None = None

    @property
    def x(self) -> Array:
        """A copy of the weights."""
        return np.array(self.state.x)

    def descend(self, gradient: Array) -> Info:
        """Take the gradient of a loss at the weights; return what the step knew.

        What is refused changes nothing.
        """
        x = self.state.x
        g, s = self.constraint.query_all(x) if self.apart else self.constraint.query(x)
        state, info = self.rule.step(self.state, Feedback(gradient, g, s))
        self.alarm.hear(info)
        self.state, self.info = state, info
        found: Info = info
        return found


def sigmoid(score: Any) -> Any:
    """Return the probability that a score stands for, without overflow.

    Example:
        >>> float(sigmoid(np.array(0.0)))
        0.5
    """
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(score, dtype=np.float64)))


def logistic_slope(score: Any, y: Any) -> Any:
    r"""Return the derivative of :math:`\log(1 + e^{-ys})` in the score s, for y in {-1, 1}."""
    return -y * sigmoid(-y * np.asarray(score))
