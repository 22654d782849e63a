"""Blocks of several lengths that track a moving optimum, and their regret (after Wang 2024)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self, final

from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import OnBounded
from surefoot.algorithms.related.garber_kretzu import GarberKretzu
from surefoot.algorithms.related.mixing import Mixing, MixingTheorem
from surefoot.core.algorithm import COSTS_ONLY, tuning
from surefoot.core.constants import Constants
from surefoot.core.points import bounded_diameter, snap_inside
from surefoot.core.types import Array, Feedback, Number, Region, Source

__all__ = ["TrackingBlocks", "TrackingTheorem"]


class TrackingBlocks(Mixing):
    r"""Exponential weights over blocks of several lengths.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle},

    where every expert i is told the gradient at the mixture. Short blocks follow a moving optimum,
    long ones settle. NumPy only.

    Args:
        experts: the rules that are mixed, all on one feasible set.
        rate: :math:`\beta > 0`.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> short, long = (
        ...     GarberKretzu(eta=1.0, block=b, closeness=0.5, domain=square) for b in (1, 4)
        ... )
        >>> player = TrackingBlocks(experts=(short, long), rate=0.1)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> state = player.update(state, Feedback(np.array([-1.0, 0.0]), None, None))
        >>> state.x.round(6)  # the short block has moved to (0.7, 0.1), the long one waits
        array([0.35, 0.05])

    Reference: the setting is that of Wang et al., "Non-stationary projection-free online learning
    with dynamic and adaptive regret guarantees", AAAI 2024; rule and constants derived here.
    """

    kind = GarberKretzu
    needs = COSTS_ONLY._replace(linear_minimisations=2, work="d log T", numpy_only=True)
    source = Source("Wang et al., AAAI 2024", "derived here")

    def _step_expert(self, expert: GarberKretzu, own: Any, gradient: Array) -> Any:
        return expert.update(own, Feedback(gradient))

    def _snap(self, x: Array) -> Array:
        return snap_inside(self.domain, x)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret O(T^(3/4) (1 + P)^(1/4)) against optima that move by P."""
        theorem = TrackingTheorem(constants, horizon, bounded_diameter(domain))
        experts = tuple(GarberKretzu(domain=domain, **e._asdict()) for e in theorem.experts)
        return Tuned.of(cls, theorem, experts=experts)


class BlockLength(NamedTuple):
    """The parameters of one expert: block length, step size, closeness."""

    block: int
    eta: float
    closeness: float


@final
class TrackingTheorem(OnBounded, MixingTheorem):
    r"""Regret :math:`O(T^{3/4}(1 + P/D)^{1/4})` against comparators of path length P.

    Expert i = 0, 1, ... while :math:`2^i \le 2T` has blocks of
    :math:`b_i = \lceil\sqrt{T/2^i}\rceil` rounds,
    :math:`\eta_i = D\sqrt{2^i/(b_iT)}/G_f` and :math:`c_i = D/\sqrt{b_i}`. With N experts
    and the rate :math:`\sqrt{8\ln N/T}/(G_fD)`,

    .. math:: \mathrm{Reg}_t(u) \le \min_i\Big[\frac{(D+c_i)^2 + 2(D+c_i)P}{2\eta_i}
        + \big(\tfrac12\eta_ib_iG_f^2 + c_iG_f\big)t + b_iG_fP\Big]
        + \frac{\ln N}{\text{rate}} + \frac{\text{rate}}{8}(G_fD)^2t.

    Proof: the bound of one expert on the linearised costs, for the comparator's own path, and what
    the mixture loses to it: linear losses of experts within a diameter D of each other.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D, of the feasible set.
    """

    name: ClassVar[str] = "Tracking by linear minimisation (after Wang et al. 2024)"
    regret_exponent: ClassVar[float] = 0.75

    @property
    def experts(self) -> tuple[BlockLength, ...]:
        """The experts, from the longest blocks to the shortest."""
        T, D, G_f = self.horizon, self.diameter, self._G_f
        blocks = ((i, math.ceil(math.sqrt(T / 2**i))) for i in range((2 * T).bit_length()))
        return tuple(
            BlockLength(b, D * math.sqrt(2**i / (b * T)) / G_f, D / math.sqrt(b)) for i, b in blocks
        )

    @property
    def _D(self) -> float:
        return self.diameter

    def _expert_bounds(self, t: Number, path: Number) -> list[Array]:
        return [self._expert_bound(expert, t, path) for expert in self.experts]

    def _expert_bound(self, expert: BlockLength, t: Number, path: Number) -> Array:
        (b, eta, c), G_f = expert, self._G_f
        far = self.diameter + c
        start = (far**2 + 2 * far * path) / (2 * eta)
        return start + (eta / 2 * b * G_f**2 + c * G_f) * t + b * G_f * path
