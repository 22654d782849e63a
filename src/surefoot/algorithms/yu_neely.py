"""Virtual queues with O(1) violation, for linear constraints (Yu and Neely 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._array import combine, constant, maximum, number_like, one_run, where
from surefoot.algorithms._rule import Count, Positive, Rule
from surefoot.algorithms._start import start_in
from surefoot.constants import Constants
from surefoot.theory import Tuned
from surefoot.theory.yu_neely import YuNeelyTheorem
from surefoot.types import Array, Feedback, Needs, Number, Region, Source

__all__ = ["YuNeely", "YuNeelyState"]


class YuNeelyState(NamedTuple):
    """The action to play, the queues and the round."""

    x: Array
    queues: Array
    t: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class YuNeely(Rule):
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
        >>> from surefoot import Ball
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

    needs: ClassVar[Needs] = Needs(apart=True, work="m d")
    source: ClassVar[Source] = Source("Yu and Neely, JMLR 2020", "as recalled")
    tunings: ClassVar[tuple[str, ...]] = ("linear",)

    gamma: Positive
    alpha: Positive
    rows: Count
    domain: Region

    def init(self, x1: Array) -> YuNeelyState:
        """Start at x1, a point of the domain."""
        x1 = start_in(self.domain, x1)
        zeros = np.zeros(self.rows if one_run(x1) else (1, self.rows))
        queues = constant(zeros, x1) + 0.0 * number_like(x1, 0.0)
        return YuNeelyState(x1, queues, number_like(x1, 1.0))

    def update(self, state: YuNeelyState, feedback: Feedback) -> YuNeelyState:
        """Play one round: the lines of the docstring."""
        x, queues, t = state
        gradient, g, s = _check.feedback_apart(x, feedback)
        later = maximum(-self.gamma * g, queues + self.gamma * g)
        queues = where(t == 1.0, maximum(-self.gamma * g, 0.0), later)
        weights = queues + self.gamma * g
        step = gradient + self.gamma * combine(weights, s)
        return YuNeelyState(self.domain.project(x - step / (2 * self.alpha)), queues, t + 1.0)

    @classmethod
    def linear(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[YuNeely]:
        """Tune for linear constraints: regret O(T^(1/2)), the sum of each constraint O(1)."""
        theorem = YuNeelyTheorem(constants, horizon)
        return Tuned.of(cls, theorem, domain, "gamma", "alpha", "rows")
