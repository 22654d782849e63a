"""The weights of a linear model, kept feasible by a certified rule; for scikit-learn and river."""

from __future__ import annotations

from functools import partial

import numpy as np

from surefoot.adapters._keeper import Alarm, OnContradiction, grow_state
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Certificate, Info, Player, State
from surefoot.problems.constraints import FunctionConstraint


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
    return FunctionConstraint(
        partial(_half_square, radius), np.array, bound=radius, beta=1.0, error=error
    )


class Weights:
    """Weights that a rule moves by the gradients of losses; feasible after every round.

    Args:
        rule: certified; it begins where all weights are 0.
        size: how many weights there are.
        on_contradiction: what to do when a round is impossible if the constants are right.

    Example:
        >>> from surefoot.rules import CertifiedDualAveraging
        >>> from surefoot.knowledge import Curvature
        >>> rule = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> w, ball = Weights(rule, 2), ball_of(1.0, 2)
        >>> for _ in range(50):
        ...     w.descend(np.array([-3.0, -4.0]), *ball.query(w.x))
        >>> w.x.round(3), ball.value(w.x) <= 0
        (array([0.6, 0.8]), True)
    """

    def __init__(self, rule: Player, size: int, on_contradiction: OnContradiction = "warn") -> None:
        self.alarm, self.rule = Alarm(on_contradiction), rule
        self.state: State = rule.init(np.zeros(size))
        self.info: Info | None = None

    @property
    def x(self) -> Array:
        """A copy of the weights."""
        return np.array(self.state.x)

    @property
    def certificate(self) -> Certificate | None:
        """Why the weights are feasible; None before a round."""
        return None if self.info is None else self.info.certificate

    def grow(self, size: int) -> None:
        """Go on with more weights, as if the further ones had been there from the beginning, 0."""
        if size > len(self.state.x):
            self.state = grow_state(self.state, self.rule.init(np.zeros(size)))

    def descend(self, gradient: Array, g: Array, s: Array) -> None:
        """Take the gradient of a loss, and g with its slope, at the weights; all or nothing."""
        state, info = self.rule.step(self.state, Feedback(gradient, g, s))
        self.alarm.emit(info)
        self.state, self.info = state, info


def sigmoid(score: Array) -> Array:
    """Return the probability that a score stands for, without overflow.

    Example:
        >>> float(sigmoid(np.array(0.0)))
        0.5
    """
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(score, dtype=np.float64)))


def logistic_slope(score: Array, y: Array) -> Array:
    r"""Return the derivative of :math:`\log(1 + e^{-ys})` in the score s, for y in {-1, 1}."""
    return -y * sigmoid(-y * np.asarray(score))
