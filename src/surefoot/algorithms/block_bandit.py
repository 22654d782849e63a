"""Frank-Wolfe with the values of costs alone, in blocks of rounds."""

from __future__ import annotations

from typing import Self

from surefoot.algorithms._exploring import VALUES_ONLY, BanditState, Exploring, shape_of
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.flow import run_by_run
from surefoot.core.parameters import minimising, positive
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.bandit import BlockBanditTheorem

__all__ = ["BlockBandit"]


class BlockBandit(Exploring):
    r"""Frank-Wolfe on one-point estimates, a few steps at the end of every block of rounds.

    As :class:`~surefoot.algorithms.BanditFrankWolfe`, but the centre moves at the end of a block of
    b rounds only, by Frank-Wolfe steps with line search on
    :math:`\Phi(z) = \eta\langle S, z\rangle + \tfrac12\|z - z_1\|^2` over :math:`K_\delta` until
    the gap is at most :math:`\epsilon`.

    Args:
        radius: :math:`\delta`, how far actions explore.
        shrink: :math:`\delta/r`, by how much the set is shrunk.
        eta: the weight of the estimates.
        block: b.
        gap: :math:`\epsilon`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BlockBandit(
        ...     radius=0.5, shrink=0.5, eta=0.1, block=1, gap=1e-9, domain=square
        ... )
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> player.update(state, Feedback(None, None, None, cost_value=1.0)).centre.round(6) + 0.0
        array([-0.4,  0. ])

    Reference: Garber and Kretzu, "Improved regret bounds for projection-free bandit convex
    optimization", AISTATS 2020. Constants derived here.
    """

    needs = VALUES_ONLY._replace(linear_minimisations=8)
    source = Source("Garber and Kretzu, AISTATS 2020", "as recalled")

    radius: Real = positive()
    shrink: Real = positive()
    eta: Real = positive()
    block: Real = positive()
    gap: Real = positive()
    domain: Region = minimising()

    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        gradients = state.gradients + estimate
        count = state.count + 1.0
        ends = (count >= self.block) * 1.0
        target = state.start - self.eta * gradients
        centre = run_by_run(self._move, (state.centre, target), ends, self.shrink, self.gap)
        return state._replace(centre=centre, gradients=gradients, count=(1.0 - ends) * count)

    def _move(self, z: Array, target: Array, ends: float, shrink: float, gap: float) -> Array:
        """Take Frank-Wolfe steps towards the point of the shrunk set nearest to the target."""
        while ends:
            slope = z - target
            way = (1.0 - shrink) * self.domain.minimize_linear(slope) - z
            rest = -float(slope @ way)
            if rest <= gap:
                break
            z = z + min(1.0, rest / float(way @ way)) * way
        return z

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for expected regret O(T^(3/4)), no violation, O(1) linear minimisations per round.

        Needs ``cost_bound`` among the constants.
        """
        theorem = BlockBanditTheorem(constants, horizon, *shape_of(constants, domain))
        return Tuned.of(cls, theorem, domain, "radius", "shrink", "eta", "block", "gap")
