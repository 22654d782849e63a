"""Frank-Wolfe with the values of costs alone: one linear minimisation per round."""

from __future__ import annotations

from typing import Self

from surefoot.algorithms._exploring import BanditState, Exploring, shape_of
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import minimising, positive
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.bandit import SmoothedBanditTheorem

__all__ = ["BanditFrankWolfe"]


class BanditFrankWolfe(Exploring):
    r"""Online Frank-Wolfe on one-point estimates: one linear minimisation per round.

    With :math:`u_t` uniform on the sphere, drawn by the game, and :math:`K_\delta = (1-\delta/r)K`,

    .. math::
        x_t     &= z_t + \delta u_t \qquad\text{(played)}, \qquad
        \hat g_t = \tfrac d\delta f_t(x_t)u_t, \qquad S_t = \textstyle\sum_{s \le t}\hat g_s \\
        v_t     &= \arg\min_{v \in K_\delta}\langle\eta S_t + z_t - z_1, v\rangle, \qquad
        z_{t+1} = z_t + \sigma(v_t - z_t).

    Args:
        radius: :math:`\delta`, how far actions explore.
        shrink: :math:`\delta/r`, by how much the set is shrunk.
        eta: the weight of the estimates.
        step_size: :math:`\sigma`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BanditFrankWolfe(radius=0.5, shrink=0.5, eta=0.1, step_size=0.5, domain=square)
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> state.x
        array([0.5, 0. ])
        >>> player.update(state, Feedback(None, None, None, cost_value=2.0)).centre
        array([-0.25, -0.25])

    Reference: Chen, Zhang and Karbasi, "Projection-free bandit convex optimization", AISTATS 2019.
    The rate is theirs; exponents as recalled, constants derived here.
    """

    source = Source("Chen, Zhang and Karbasi, AISTATS 2019", "as recalled")

    radius: Real = positive()
    shrink: Real = positive()
    eta: Real = positive()
    step_size: Real = positive()
    domain: Region = minimising()

    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        gradients = state.gradients + estimate
        target = self.eta * gradients + state.centre - state.start
        v = (1.0 - self.shrink) * self.domain.minimize_linear(target)
        centre = state.centre + self.step_size * (v - state.centre)
        return state._replace(centre=centre, gradients=gradients, count=state.count + 1.0)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for expected regret O(T^(4/5)), no violation.

        Needs ``cost_bound`` among the constants.
        """
        theorem = SmoothedBanditTheorem(constants, horizon, *shape_of(constants, domain))
        return Tuned.of(cls, theorem, domain, "radius", "shrink", "eta", step_size=theorem.step)
