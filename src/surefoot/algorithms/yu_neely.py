"""Virtual queues with O(1) violation, for linear constraints (Yu and Neely 2020)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import Multiplying
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, maximum, number_like, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.yu_neely import YuNeelyTheorem

__all__ = ["YuNeely", "YuNeelyState"]


class YuNeelyState(NamedTuple):
    """The action to play, the queues and the round."""

    x: Array
    queues: Array
    t: Number


class YuNeely(Multiplying[YuNeelyState]):
    r"""Drift plus penalty whose queues look one step ahead; for linear constraints.

    .. math::
        Q_{1,k} &= [-\gamma g_k(x_1)]_+, \qquad
        Q_{t,k}  = \max(-\gamma g_k(x_t),\ Q_{t-1,k} + \gamma g_k(x_t)) \\
        w_t     &= Q_t + \gamma g(x_t) \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + \textstyle\sum_k w_{t,k}\gamma g_k(x) + \alpha\|x - x_t\|^2
                 = \Pi_{R\mathbb{B}}\Big(x_t - \frac{\nabla_t + \gamma\sum_k w_{t,k}s_k}
                   {2\alpha}\Big)

    The last equality is for linear constraints, whose slopes :math:`s_k` are the same everywhere.

    Args:
        gamma: the weight of the constraints.
        alpha: the weight of a move.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = YuNeely(gamma=2.0, alpha=4.0, rows=1, domain=Ball(9.0))
        >>> state = player.init(np.array([0.0]))  # x <= 0.5
        >>> for _ in range(3):
        ...     g = state.x - 0.5
        ...     state = player.update(state, Feedback(np.array([-4.0]), g, np.array([[1.0]])))
        ...     print(state.x, state.queues)
        [0.5] [1.]
        [0.75] [1.]
        [0.75] [1.5]

    Reference: Yu and Neely, "A low complexity algorithm with O(sqrt T) regret and O(1) constraint
    violations for online convex optimization with long term constraints", JMLR 2020. Constants
    derived here.
    """

    state = YuNeelyState
    source = Source("Yu and Neely, JMLR 2020", "as recalled")

    gamma: Real = positive()
    alpha: Real = positive()
    rows: int = count()
    domain: Region = projectable()

    def first_state(self, x1: Array) -> YuNeelyState:
        return YuNeelyState(x1, self._zeros(x1), number_like(x1, 1.0))

    def next_state(self, state: YuNeelyState, gradient: Array, g: Array, s: Array) -> YuNeelyState:
        x, queues, t = state
        later = maximum(-self.gamma * g, queues + self.gamma * g)
        queues = where(t == 1.0, maximum(-self.gamma * g, 0.0), later)
        weights = queues + self.gamma * g
        step = gradient + self.gamma * combine(weights, s)
        return YuNeelyState(self.domain.project(x - step / (2 * self.alpha)), queues, t + 1.0)

    @classmethod
    @tuning
    def linear(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        """Tune for linear constraints: regret O(T^(1/2)), the sum of each constraint O(1)."""
        theorem = YuNeelyTheorem(constants, horizon)
        return Tuned.of(cls, theorem, domain, "gamma", "alpha", "rows")
