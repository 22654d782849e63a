"""Descent on a clipped Lagrangian, that is on squared penalties (Yuan and Lamperski)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.core import checks
from surefoot.core.algorithm import EachConstraint, tuning
from surefoot.core.arrays import combine, maximum
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable, share
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.theory import Tuned, YuanStronglyConvex, YuanTradeOff

__all__ = ["Yuan", "YuanState"]


class YuanState(NamedTuple):
    """The action to play, and the round."""

    x: Array
    t: Number = 1.0


class Yuan(EachConstraint[YuanState]):
    r"""Descent on a Lagrangian of violations only, whose multipliers are the best in each round.

    In :math:`f_t(x) + \sum_i \lambda_i [g_i(x)]_+ - \tfrac{\theta_t}{2}\|\lambda\|^2` the
    multipliers that are largest at the action played have a closed form, so none are carried; for
    t = 1, 2, ...

    .. math::
        \lambda_{t,i} &= [g_i(x_t)]_+/\theta_t \\
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_t(\nabla f_t(x_t)
                         + \textstyle\sum_i \lambda_{t,i}\, s_{t,i})\big) \\
        \eta_t &= \eta\,t^{-p}, \qquad \theta_t = \theta\,t^{-p}

    This is online gradient descent on :math:`f_t + \tfrac{1}{2\theta_t}\sum_i [g_i]_+^2`; a
    constraint that is met has no part in it.

    Args:
        eta: first step size, :math:`\eta > 0`.
        theta: first regulariser, :math:`\theta > 0`; the penalty is its inverse.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.
        decay: p, how fast both fade, :math:`p \ge 0`; 0 for convex costs, 1 for strongly convex
            ones.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = Yuan(eta=0.5, theta=2.0, domain=Ball(4.0), decay=1.0)
        >>> s = np.array([[1.0, 0.0], [0.0, -3.0]])
        >>> seen = Feedback(np.array([2.0, 0.5]), np.array([-1.0, 0.5]), s)
        >>> first = player.update(player.init(np.array([1.0, -1.0])), seen)
        >>> first.x
        array([ 0.   , -0.875])
        >>> player.update(first, seen).x  # eta_2 = 0.25, theta_2 = 1
        array([-0.5  , -0.625])

    Reference: Yuan and Lamperski, NeurIPS 2018. The rule is as recalled, the rate of the squares
    as in the abstract; constants are derived, see :class:`surefoot.theory.YuanTradeOff`.
    """

    state = YuanState
    source = Source("Yuan and Lamperski, NeurIPS 2018", "as recalled")

    eta: Real = positive()
    theta: Real = positive()
    domain: Region = projectable()
    decay: Real = nonnegative(default=0.0)

    def next_state(self, state: YuanState, grad: Array, g: Array, s: Array) -> YuanState:
        x, t = state
        fade = t**self.decay
        multipliers = maximum(g, 0.0) / (self.theta / fade)
        y = x - self.eta / fade * (grad + combine(multipliers, s))
        return YuanState(self.domain.project(y), t + 1.0)

    @classmethod
    @tuning(beta=share(), alpha=share())
    def trade_off(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        beta: float = 0.5,
        alpha: float = 0.5,
    ) -> Tuned[Self]:
        """Tune for convex costs: regret O(T^max(beta, 1 - beta)), sum of squares O(T^(1 - beta)).

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: the ball around the feasible set; default: the ball of radius R.
            beta: of the step size, strictly between 0 and 1.
            alpha: how the penalty is weighed, strictly between 0 and 1.
        """
        theorem = YuanTradeOff(constants, horizon, beta, alpha)
        return Tuned.of(cls, theorem, domain, "eta", "theta")

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        """Tune for strongly convex costs: regret O(log T), violations O((T log T)^(1/2)).

        The parameters and bounds are for any number of rounds.
        """
        checks.horizon(horizon)
        theorem = YuanStronglyConvex(constants)
        return Tuned.of(cls, theorem, domain, "eta", "theta", decay=1.0)
