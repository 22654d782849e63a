"""Frank-Wolfe with the values of costs alone: one linear minimisation per round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms._exploring import VALUES_ONLY, BanditState, Exploring, shape_of
from surefoot.algorithms._rule import MinimisingSet, Positive, Rule
from surefoot.constants import Constants
from surefoot.theory import Tuned
from surefoot.theory.bandit import SmoothedBanditTheorem
from surefoot.types import BanditFeedback, Feedback, Needs, Region, Source

__all__ = ["BanditFrankWolfe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditFrankWolfe(Exploring, Rule):
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
        step: :math:`\sigma`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BanditFrankWolfe(radius=0.5, shrink=0.5, eta=0.1, step=0.5, domain=square)
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> state.x
        array([0.5, 0. ])
        >>> player.update(state, Feedback(None, None, None, cost_value=2.0)).centre
        array([-0.25, -0.25])

    Reference: Chen, Zhang and Karbasi, "Projection-free bandit convex optimization", AISTATS 2019.
    The rate is theirs; exponents as recalled, constants derived here.
    """

    needs: ClassVar[Needs] = VALUES_ONLY
    source: ClassVar[Source] = Source("Chen, Zhang and Karbasi, AISTATS 2019", "as recalled")
    tunings: ClassVar[tuple[str, ...]] = ("known_horizon",)

    radius: Positive
    shrink: Positive
    eta: Positive
    step: Positive
    domain: MinimisingSet

    def update(self, state: BanditState, feedback: Feedback | BanditFeedback) -> BanditState:
        """Play one round: the lines of the docstring."""
        gradients = state.gradients + self._estimate(state, feedback)
        target = self.eta * gradients + state.centre - state.start
        v = (1.0 - self.shrink) * self.domain.minimize_linear(target)
        centre = state.centre + self.step * (v - state.centre)
        moved = state._replace(centre=centre, gradients=gradients, count=state.count + 1.0)
        return self._next(moved, feedback)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region
    ) -> Tuned[BanditFrankWolfe]:
        """Tune for expected regret O(T^(4/5)), no violation.

        Args:
            constants: the constants of the problem, ``cost_bound`` among them.
            horizon: T.
            domain: the feasible set.
        """
        theorem = SmoothedBanditTheorem(constants, horizon, *shape_of(constants, domain))
        return Tuned.of(cls, theorem, domain, "radius", "shrink", "eta", "step")
