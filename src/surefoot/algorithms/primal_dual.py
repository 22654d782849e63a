"""Primal and dual descent with a capped multiplier (Castiglioni et al. 2022)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import Multiplying
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, maximum, norm
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, positive, projectable
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.primal_dual import PrimalDualTheorem

__all__ = ["PrimalDual", "PrimalDualState"]


class PrimalDualState(NamedTuple):
    """The action to play, and the multipliers of the m constraints."""

    x: Array
    multipliers: Array


class PrimalDual(Multiplying[PrimalDualState]):
    r"""Gradient descent on the action and ascent on the multipliers, both with fixed steps.

    .. math::
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_P(\nabla_t
                         + \textstyle\sum_k\lambda_{t,k}s_{t,k})\big) \\
        \lambda_{t+1} &= \text{the part of } [\lambda_t + \eta_Dg_t(x_t)]_+
                         \text{ within } \|\lambda\| \le c

    both from the old pair. With the theorem's steps the cap c is never reached.

    Args:
        primal_step: :math:`\eta_P`.
        dual_step: :math:`\eta_D`.
        cap: c.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible sets.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = PrimalDual(
        ...     primal_step=0.04, dual_step=0.08, cap=4.0, rows=1, domain=Ball(1.0)
        ... )
        >>> state = player.init(np.array([0.0]))
        >>> seen = Feedback(np.array([-1.0]), np.array([0.5]), np.array([[1.0]]))
        >>> state = player.update(player.update(state, seen), seen)
        >>> state.x.round(6), state.multipliers.round(6)
        (array([0.0784]), array([0.08]))

    Reference: Castiglioni, Celli, Marchesi, Romano and Gatti, "A unifying framework for online
    optimization with long-term constraints", NeurIPS 2022, for a known margin. The rule is as
    recalled; this tuning and its constants are derived here.
    """

    state = PrimalDualState
    source = Source("Castiglioni et al., NeurIPS 2022", "as recalled")

    primal_step: Real = positive()
    dual_step: Real = positive()
    cap: Real = positive()
    rows: int = count()
    domain: Region = projectable()

    def first_state(self, x1: Array) -> PrimalDualState:
        return PrimalDualState(x1, self._zeros(x1))

    def next_state(
        self, state: PrimalDualState, gradient: Array, g: Array, s: Array
    ) -> PrimalDualState:
        x, multipliers = state
        y = x - self.primal_step * (gradient + combine(multipliers, s))
        raised = maximum(multipliers + self.dual_step * g, 0.0)
        size = norm(raised)
        capped = raised * (self.cap / maximum(size, self.cap + 0.0 * size))
        return PrimalDualState(self.domain.project(y), capped)

    @classmethod
    @tuning
    def known_margin(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        """Tune for a known margin: regret and the sum of each constraint O(T^(1/2)).

        Needs ``slater_margin`` among the constants.
        """
        theorem = PrimalDualTheorem(constants, horizon)
        return Tuned.of(cls, theorem, domain, "primal_step", "dual_step", "cap", "rows")
