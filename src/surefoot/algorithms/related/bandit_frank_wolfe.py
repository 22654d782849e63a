"""Frank-Wolfe with the values of costs alone (Chen, Zhang and Karbasi 2019).

:mod:`surefoot.algorithms.related.exploring` has the notation of the theorem.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self, final

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.related.exploring import BanditState, BanditTheorem, Exploring, shape_of
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Number, Real, Region, Source

__all__ = ["BanditFrankWolfe", "SmoothedBanditTheorem"]


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

    eta: Real = positive()
    step_size: Real = positive()

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
        return Tuned.of(cls, theorem, domain)


@final
class SmoothedBanditTheorem(BanditTheorem):
    r"""One linear minimisation per round: expected regret :math:`O(T^{4/5})`.

    With :math:`\sigma = T^{-2/5}`, :math:`\delta = \min(\delta_0T^{-1/5}, r/2)`,
    :math:`\delta_0^2 = \tfrac23DdF_0/((2+\kappa)G_f)` and
    :math:`\eta = \tfrac34\sigma^{3/2}D\delta/(dF_0)`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta}
        + \Big(\frac\eta2\frac{d^2F_0^2}{\delta^2} + 2G_fD\sqrt\sigma + (2+\kappa)\delta G_f\Big)t.

    Proof. :math:`\Phi_t(z) = \eta\langle S_t, z\rangle + \tfrac12\|z - z_1\|^2` is 1-smooth and
    1-strongly convex; with h its excess at :math:`z_t`,
    :math:`h_{t+1} \le (1-\sigma)h_t + \tfrac12\sigma^2D^2 + \eta\|\hat g\|\sqrt{2h_{t+1}}` keeps
    :math:`h \le 2\sigma D^2`, because :math:`\eta dF_0/\delta \le \tfrac34\sigma^{3/2}D`. So
    :math:`z_t` is within :math:`2D\sqrt\sigma` of the minimiser, which is dual averaging on the
    estimates.

    Args:
        constants: needs R, G_f, cost_bound.
        horizon: T.
        dimension: d.
        diameter: D.
        inner_radius: r.
    """

    name: ClassVar[str] = "Chen, Zhang and Karbasi 2019, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.8
    _power: ClassVar[float] = 0.2
    _share: ClassVar[float] = 2 / 3

    @property
    def step_size(self) -> float:
        r"""The step :math:`\sigma = T^{-2/5}`."""
        return math.pow(self.horizon, -0.4)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\tfrac34\sigma^{3/2}D\delta/(dF_0)`."""
        return 0.75 * math.pow(self.step_size, 1.5) * self.diameter * self.radius / self._noise

    def regret_bound(self, t: Number) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * (self._noise / self.radius) ** 2 + self._price * self.radius
        rate += 2 * self._G_f * self.diameter * math.sqrt(self.step_size)
        return self._first_round + self.diameter**2 / (2 * self.eta) + rate * as_floats(t)
