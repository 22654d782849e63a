"""LB-SGD: descent on the cost and a logarithmic barrier; a step leaves half of every slack."""

import math
from typing import ClassVar, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import EachConstraint, tuning
from surefoot.core.arrays import combine, dot, freeze, minimum, namespace, norm, rows_dot, where
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.kernel_constants import TINY
from surefoot.core.parameters import Declared, nonnegative, positive
from surefoot.core.types import Array, Real, Set, Source
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.certified.moving_balls import FromCurvature
from surefoot.rules.states import ActionState

__all__ = ["LBSGD", "HalvedSlack"]


class LBSGD(Declared, EachConstraint):
    r"""Gradient steps on the cost and a logarithmic barrier, never longer than curvature allows.

    With the slacks :math:`a_i = -g_i`, the barrier weight b and
    :math:`\sigma_i = |s_i^\top d|/\|d\|`:

    .. math::
        d       &= \nabla f + b\sum_i s_i/a_i \\
        \gamma  &= \min\Big\{\min_i\frac{a_i}{(2\sigma_i + \sqrt{a_i\beta_i})\|d\|},\
                   \frac1{\beta_0 + 2b\sum_i\beta_i/a_i + 4b\sum_i\sigma_i^2/a_i^2}\Big\} \\
        x_{t+1} &= x_t - \gamma d

    A step leaves at least half of every slack. Made for one cost, not for costs that an adversary
    changes: there is no regret bound, and how good it is hangs on b.

    Args:
        weight: b > 0.
        beta: an upper bound on the curvature of every constraint.
        cost_curvature: :math:`\beta_0`, the curvature of the costs.

    Example:
        >>> from surefoot import Feedback
        >>> player = LBSGD(weight=0.1, beta=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -1.0]), np.array([-0.5]), np.array([[0.0, 1.0]]))
        >>> player.update(state, seen).x.round(6)  # 0.5/(2 + sqrt 0.5)
        array([0.     , 0.184699])

    Reference: Usmanova, As, Kamgarpour and Krause, JMLR 2024; the step rule of the authors' code.
    """

    state = ActionState
    source: ClassVar[Source] = Source(
        "Usmanova, As, Kamgarpour and Krause, JMLR 2024", "as published"
    )

    weight: Real = positive()
    beta: Real = nonnegative()
    cost_curvature: Real = nonnegative(default=0.0)

    def init(self, x1: Array) -> ActionState:
        """Start at x1, which must be strictly feasible."""
        first: ActionState = self.first_state(checks.to_action(x1))
        return first

    def next_state(self, state: ActionState, grad: Array, g: Array, s: Array) -> ActionState:
        x, xp, slack = state.x, namespace(g), -g
        inside = xp.all(slack > 0, axis=-1, keepdims=g.ndim > 1)
        if isinstance(g, np.ndarray) and g.ndim == 1 and not inside:
            checks.refuse_unfinite(g, "constraint_value")
            rule = "below 0 for a logarithmic barrier"
            raise checks.invalid("constraint_value", rule, float(g.max()))
        slack = xp.where(slack > 0, slack, math.nan)  # the game reports NaN runs of a batch
        d = grad + self.weight * combine(1.0 / slack, s)
        size = norm(d)
        steep = abs(rows_dot(s, d)) / where(size > 0, size, 1.0)
        reach = slack / (2.0 * steep + xp.sqrt(slack * self.beta))
        smooth = self.beta * (1.0 / slack) + 2.0 * (steep / slack) ** 2
        total = dot(smooth, 0.0 * smooth + 1.0)  # over the rows, a number or a column
        smoothness = self.cost_curvature + 2.0 * self.weight * total
        longest = xp.min(reach, axis=-1, keepdims=g.ndim > 1)
        longest = float(longest) if isinstance(size, float) else longest
        step = minimum(
            longest / where(size > 0, size, 1.0), 1.0 / where(smoothness > 0, smoothness, TINY)
        )
        return ActionState(freeze(x - where(size > 0, step, 0.0 * step) * d))

    @classmethod
    @tuning(lambda: HalvedSlack)
    def barrier(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Set | None = None,
        *,
        weight: float = 0.01,
        cost_curvature: float = 0.0,
    ) -> Tuned[Self]:
        """Feasible in every round by a logarithmic barrier; no bound on the regret."""
        check_possible_horizon(horizon)
        return Tuned.of(
            cls, HalvedSlack(constants, weight=weight, cost_curvature=cost_curvature), domain
        )


class HalvedSlack(FromCurvature):
    r"""LB-SGD: a step leaves at least half of every slack; no regret bound is claimed.

    Proof. With :math:`r = \gamma\|d\| \le a/(2\sigma + \sqrt{a\beta})` and
    :math:`z = \sqrt{a\beta}/(2\sigma + \sqrt{a\beta}) \in [0, 1]`, the next value is at most
    :math:`-a + r\sigma + \frac\beta2r^2 \le -a + \frac a2(1 - z + z^2) \le -\frac a2`.

    Args:
        constants: needs beta and start_slack.
        weight: b, of the barrier, which is a choice.
        cost_curvature: the curvature of the costs.
    """

    name: ClassVar[str] = "LB-SGD (Usmanova, As, Kamgarpour and Krause 2024)"

    weight: float = positive(default=0.01)
    cost_curvature: float = nonnegative(default=0.0)
