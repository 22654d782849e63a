"""Clipped penalties with a proximal step (Yi et al. 2021)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import maximum
from surefoot.core.constants import Constants
from surefoot.core.flow import run_by_run
from surefoot.core.parameters import anything, positive, projectable, share
from surefoot.core.types import Array, Needs, Number, Real, Region, Source
from surefoot.sets import Ball
from surefoot.sets.prox import Linearised, Prox, prox_of
from surefoot.theory import Tuned
from surefoot.theory.yi import YiTheorem

__all__ = ["Yi", "YiState"]


class YiState(NamedTuple):
    """The action to play, and the summed violations."""

    x: Array
    queue: Number = 0.0


class Yi(OneConstraint[YiState]):
    r"""A proximal step on a penalty that grows with all violations so far.

    With :math:`p = [g]_+`,

    .. math::
        q_t     &= q_{t-1} + \gamma p(x_t), \qquad q_0 = 0 \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + (q_t + \gamma p(x_t))\gamma p(x) + \alpha\|x - x_t\|^2.

    NumPy only.

    Args:
        prox: the oracle for the minimisation.
        domain: a ball around 0 that holds the feasible set.
        gamma: :math:`\gamma`, the weight of the violations.
        alpha: the weight of a move.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets.prox import LinearProx
        >>> player = Yi(prox=LinearProx(), domain=Ball(9.0), gamma=2.0, alpha=4.0)
        >>> state = player.init(np.array([0.0]))  # x <= 0.5
        >>> state = player.update(state, Feedback(np.array([-8.0]), -0.5, np.array([1.0])))
        >>> state
        YiState(x=array([1.]), queue=0.0)
        >>> player.update(state, Feedback(np.array([0.0]), 0.5, np.array([1.0])))
        YiState(x=array([0.5]), queue=1.0)

    Reference: Yi, Li, Yang, Xie, Chai and Johansson, "Regret and cumulative constraint violation
    analysis for online convex optimization with long term constraints", ICML 2021. The rates are
    theirs; this form and its constants are derived here.
    """

    state = YiState
    needs = Needs(proxes=1, domain="feasible", numpy_only=True)
    source = Source("Yi et al., ICML 2021", "derived here")

    prox: Prox = anything("a proximal oracle")
    domain: Ball = projectable()
    gamma: Real = positive()
    alpha: Real = positive()

    def next_state(self, state: YiState, gradient: Array, g: Number, s: Array) -> YiState:
        x, queue = state
        seen = self.gamma * maximum(g, 0.0 * g)
        queue = queue + seen
        y = x - gradient / (2 * self.alpha)
        weight = (queue + seen) * self.gamma
        return YiState(run_by_run(self._prox, (y, x, s), g, weight, self.alpha), queue)

    def _prox(self, y: Array, x: Array, s: Array, g: float, weight: float, alpha: float) -> Array:
        return self.prox(y, weight, alpha, float(self.domain.radius), Linearised(x, g, s))

    @classmethod
    @tuning(c=share())
    def trade_off(
        cls, constants: Constants, horizon: int, domain: Region | Prox, *, c: float = 0.5
    ) -> Tuned[Self]:
        """Tune for regret O(T^max(c, 1 - c)), violations O(T^((1 - c)/2)).

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: the feasible set, or a proximal oracle.
            c: strictly between 0 and 1.
        """
        theorem = YiTheorem(constants, horizon, c)
        return Tuned.of(cls, theorem, None, "gamma", "alpha", prox=prox_of(domain))
