"""Adaptive descent and ascent on a regularised Lagrangian (Jenatton, Huang and Archambeau)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import positive_part
from surefoot.core import checks
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable, share
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.theory import JenattonStronglyConvex, JenattonTradeOff, Tuned

__all__ = ["Jenatton", "JenattonState"]


class JenattonState(NamedTuple):
    """The action to play, the multiplier of g, and the round."""

    x: Array
    multiplier: Number = 0.0
    t: Number = 1.0


class Jenatton(OneConstraint[JenattonState]):
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
        >>> from surefoot import Ball, Feedback
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

    state = JenattonState
    source = Source("Jenatton, Huang and Archambeau, ICML 2016", "as recalled")

    eta: Real = positive()
    theta: Real = positive()
    beta: Real = share()
    decay: Real = nonnegative()
    domain: Region = projectable()

    def next_state(self, state: JenattonState, grad: Array, g: Number, s: Array) -> JenattonState:
        x, multiplier, t = state
        eta, theta = self.eta / t**self.decay, self.theta / t**self.beta
        y = x - eta * (grad + multiplier * s)
        ascent = (g - theta * multiplier) / (theta * (t + 1.0))
        return JenattonState(self.domain.project(y), positive_part(multiplier + ascent), t + 1.0)

    @classmethod
    @tuning(beta=share())
    def trade_off(
        cls, constants: Constants, horizon: int, domain: Region | None = None, *, beta: float = 0.5
    ) -> Tuned[Self]:
        """Tune for convex costs: regret O(T^max(beta, 1 - beta)), sum of g O(T^(1 - beta/2)).

        Args:
            constants: the constants of the problem.
            horizon: not used: the parameters and bounds are for any number of rounds.
            domain: the ball around the feasible set; default: the ball of radius R.
            beta: strictly between 0 and 1.
        """
        checks.horizon(horizon)
        theorem = JenattonTradeOff(constants, beta)
        return Tuned.of(cls, theorem, domain, "eta", "theta", "beta", decay=beta)

    @classmethod
    @tuning(beta=share())
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | None = None, *, beta: float = 0.5
    ) -> Tuned[Self]:
        """Tune for strongly convex costs: regret O(T^beta), sum of g O(T^(1 - beta/2)).

        The arguments are the same as for :meth:`trade_off`.
        """
        checks.horizon(horizon)
        theorem = JenattonStronglyConvex(constants, beta)
        return Tuned.of(cls, theorem, domain, "eta", "theta", "beta", decay=1.0)
