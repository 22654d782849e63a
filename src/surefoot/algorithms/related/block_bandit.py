"""Frank-Wolfe with the values of costs alone, in blocks of rounds (Garber and Kretzu 2020).

:mod:`surefoot.algorithms.related.exploring` has the notation of the theorem.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self, final

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.related.exploring import (
    VALUES_ONLY,
    BanditState,
    BanditTheorem,
    Exploring,
    shape_of,
)
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import map_runs
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Number, Real, Region, Source

__all__ = ["BlockBandit", "BlockBanditTheorem"]


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

    eta: Real = positive()
    block: Real = positive()
    gap: Real = positive()

    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        gradients = state.gradients + estimate
        count = state.count + 1.0
        ends = (count >= self.block) * 1.0
        target = state.start - self.eta * gradients
        centre = map_runs(self._move, (state.centre, target), ends, self.shrink, self.gap)
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
        return Tuned.of(cls, theorem, domain)


@final
class BlockBanditTheorem(BanditTheorem):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: expected regret :math:`O(T^{3/4})`.

    With :math:`\delta = \min(\delta_0T^{-1/4}, r/2)`, :math:`\delta_0^2 = DdF_0/((2+\kappa)G_f)`,
    :math:`v = (dF_0/\delta)^2 + bG_f^2`, :math:`\eta = D/\sqrt{Tv}` and
    :math:`\epsilon = \tfrac12D^2T^{-1/2}`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta} + \big(\tfrac\eta2v
        + G_f\sqrt{2\epsilon} + (2+\kappa)\delta G_f\big)t, \qquad
        \text{calls} \le \frac Tb\Big(\Big\lceil\frac{4D^2}\epsilon\Big\rceil + 2\Big).

    Proof. A block's sum of estimates has a mean square of at most
    :math:`b(dF_0/\delta)^2 + b^2G_f^2 = bv`; a gap of :math:`\epsilon` leaves the centre within
    :math:`\sqrt{2\epsilon}` of the minimiser; Frank-Wolfe with line search takes
    :math:`2D^2/\epsilon` steps to an excess of :math:`\epsilon` and as many more to the gap. The
    arguments are those of :class:`SmoothedBanditTheorem`.
    """

    name: ClassVar[str] = "Garber and Kretzu 2020, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.75
    _power: ClassVar[float] = 0.25
    _share: ClassVar[float] = 1.0

    @property
    def block(self) -> int:
        r"""The block length :math:`\lceil\sqrt T\rceil`."""
        return math.isqrt(self.horizon - 1) + 1

    @property
    def _variance(self) -> float:
        return (self._noise / self.radius) ** 2 + self.block * self._G_f**2

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/\sqrt{Tv}`."""
        return self.diameter / math.sqrt(self.horizon * self._variance)

    @property
    def gap(self) -> float:
        r"""The Frank-Wolfe gap :math:`\epsilon = \tfrac12D^2/\sqrt T`."""
        return 0.5 * self.diameter**2 / math.sqrt(self.horizon)

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return (self.horizon // self.block) * (math.ceil(4 * self.diameter**2 / self.gap) + 2)

    def regret_bound(self, t: Number) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * self._variance + self._price * self.radius
        rate += self._G_f * math.sqrt(2 * self.gap)
        return self._first_round + self.diameter**2 / (2 * self.eta) + rate * as_floats(t)
