"""Adaptive descent and ascent on a regularised Lagrangian (Jenatton, Huang and Archambeau)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import number_like
from surefoot.algorithms._multipliers import positive_part
from surefoot.algorithms._rule import Nonnegative, Positive, check_fields
from surefoot.algorithms._start import start_in
from surefoot.constants import Constants
from surefoot.theory import JenattonStronglyConvex, JenattonTradeOff, Tuned
from surefoot.types import Array, Feedback, Needs, Number, Region, Source

__all__ = ["Jenatton", "JenattonState"]


class JenattonState(NamedTuple):
    """The action to play, the multiplier of g, and the round."""

    x: Array
    multiplier: Number
    t: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Jenatton:
    r"""Descent and ascent with steps and a regulariser that fade, so that no horizon is needed.

    One multiplier for g, the largest of all constraints, and the Lagrangian
    :math:`f_t(x) + \lambda g(x) - \tfrac{\theta_t}{2}\lambda^2`; for t = 1, 2, ...

    .. math::
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_t(\nabla f_t(x_t)
                         + \lambda_t s_t)\big) \\
        \lambda_{t+1} &= \big[\lambda_t + \mu_t(g(x_t) - \theta_t\lambda_t)\big]_+ \\
        \eta_t &= \eta\,t^{-p}, \qquad \theta_t = \theta\,t^{-\beta}, \qquad
        \mu_t = \frac{1}{\theta_t(t+1)}

    from :math:`\lambda_1 = 0`.

    Args:
        eta: first step size, :math:`\eta > 0`.
        theta: first regulariser, :math:`\theta > 0`.
        beta: how fast the regulariser fades, :math:`0 < \beta < 1`.
        decay: p, how fast the steps fade, :math:`p \ge 0`; beta for convex costs, 1 for strongly
            convex ones.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Ball
        >>> player = Jenatton(eta=0.5, theta=2.0, beta=0.5, decay=1.0, domain=Ball(4.0))
        >>> seen = Feedback(np.array([2.0, 0.5]), 3.0, np.array([0.0, -3.0]))
        >>> first = player.update(player.init(np.array([1.0, -1.0])), seen)
        >>> first.x, first.multiplier
        (array([ 0.  , -1.25]), 0.75)
        >>> player.update(first, seen).x  # eta_2 = 0.25
        array([-0.5   , -0.8125])

    Reference: Jenatton, Huang and Archambeau, ICML 2016. Rule and parameters are as recalled, for
    beta = 1/2 also seen in a published implementation; the constants of the bounds, and the
    strongly convex case, are derived, see :class:`surefoot.theory.JenattonTradeOff`.
    """

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("Jenatton, Huang and Archambeau, ICML 2016", "as recalled")
    tunings: ClassVar[tuple[str, ...]] = ("trade_off", "strongly_convex")

    eta: Positive
    theta: Positive
    beta: Number
    decay: Nonnegative
    domain: Region

    def __post_init__(self) -> None:
        check_fields(self)
        _check.between(0, 1, beta=self.beta)
        _check.plain(self, "beta")

    def init(self, x1: Array) -> JenattonState:
        """Start at x1, a point of the domain, with a multiplier of 0, before round 1."""
        x1 = start_in(self.domain, x1)
        return JenattonState(x1, number_like(x1, 0.0), number_like(x1, 1.0))

    def update(self, state: JenattonState, feedback: Feedback) -> JenattonState:
        """Return the state after a round: the lines of the docstring."""
        x, multiplier, t = state
        grad, g, s = _check.feedback(x, feedback)
        eta, theta = self.eta / t**self.decay, self.theta / t**self.beta
        y = x - eta * (grad + multiplier * s)
        ascent = (g - theta * multiplier) / (theta * (t + 1.0))
        return JenattonState(self.domain.project(y), positive_part(multiplier + ascent), t + 1.0)

    @classmethod
    def trade_off(
        cls, constants: Constants, horizon: int, domain: Region | None = None, *, beta: float = 0.5
    ) -> Tuned[Jenatton]:
        """Tune for convex costs: regret O(T^max(beta, 1 - beta)), sum of g O(T^(1 - beta/2)).

        Args:
            constants: the constants of the problem.
            horizon: not used: the parameters and bounds are for any number of rounds.
            domain: the ball around the feasible set; default: the ball of radius R.
            beta: strictly between 0 and 1.
        """
        _check.horizon(horizon)
        theorem = JenattonTradeOff(constants, beta)
        return Tuned.of(cls, theorem, domain, "eta", "theta", "beta", decay=beta)

    @classmethod
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | None = None, *, beta: float = 0.5
    ) -> Tuned[Jenatton]:
        """Tune for strongly convex costs: regret O(T^beta), sum of g O(T^(1 - beta/2)).

        The arguments are the same as for :meth:`trade_off`.
        """
        _check.horizon(horizon)
        theorem = JenattonStronglyConvex(constants, beta)
        return Tuned.of(cls, theorem, domain, "eta", "theta", "beta", decay=1.0)
