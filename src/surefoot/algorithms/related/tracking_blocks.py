"""Blocks of several lengths that track a moving optimum, and their regret (after Wang 2024)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import OnBounded, bounded_diameter
from surefoot.algorithms.related._hedge import Mixing
from surefoot.algorithms.related.garber_kretzu import GarberKretzu
from surefoot.core.algorithm import COSTS_ONLY, tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import anything, positive
from surefoot.core.points import snap_inside
from surefoot.core.types import Array, Feedback, Real, Region, Source

__all__ = ["TrackingBlocks", "TrackingTheorem"]


class TrackingBlocksState(NamedTuple):
    """The action to play, the states of the experts and the logarithms of their weights."""

    x: Array
    experts: tuple[Any, ...]
    log_weights: Array


class TrackingBlocks(Mixing[TrackingBlocksState]):
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

    state = TrackingBlocksState
    needs = COSTS_ONLY._replace(linear_minimisations=2, work="d log T", numpy_only=True)
    source = Source("Wang et al., AAAI 2024", "derived here")

    experts: tuple[GarberKretzu, ...] = anything("several GarberKretzu")
    rate: Real = positive()

    def __post_init__(self) -> None:
        self._own("experts", GarberKretzu)

    @property
    def _experts(self) -> tuple[GarberKretzu, ...]:
        return self.experts

    def _told(self, expert: GarberKretzu, own: Any, gradient: Array) -> Any:
        return expert.update(own, Feedback(gradient, None, None))

    def _inside(self, x: Array) -> Array:
        return snap_inside(self.domain, x)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret O(T^(3/4) (1 + P)^(1/4)) against optima that move by P."""
        theorem = TrackingTheorem(constants, horizon, bounded_diameter(domain))
        experts = tuple(
            GarberKretzu(eta=e.eta, block=e.block, closeness=e.closeness, domain=domain)
            for e in theorem.experts
        )
        return Tuned(cls(experts=experts, rate=theorem.rate), theorem)


class BlockLength(NamedTuple):
    """The parameters of one expert: block length, step size, closeness."""

    block: int
    eta: float
    closeness: float


@final
class TrackingTheorem(OnBounded):
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
        T, D = self.horizon, self.diameter
        found = []
        for i in range((2 * T).bit_length()):
            b = math.ceil(math.sqrt(T / 2**i))
            found.append(
                BlockLength(b, D * math.sqrt(2**i / (b * T)) / self._G_f, D / math.sqrt(b))
            )
        return tuple(found)

    @property
    def rate(self) -> float:
        r"""The learning rate :math:`\sqrt{8\ln N/T}/(G_fD)`."""
        N = len(self.experts)
        return math.sqrt(8 * math.log(N) / self.horizon) / (self._G_f * self.diameter)

    def regret_bound(self, t: Any) -> Array:
        """Bound the regret against a fixed action, whose path has no length."""
        return self.dynamic_bound(t, 0.0)

    def dynamic_bound(self, t: Any, path: Any) -> Array:
        """Bound the regret against comparators whose path has a given length."""
        t, G_f, D = as_floats(t), self._G_f, self.diameter
        best = np.min([self._expert_bound(e, t, path) for e in self.experts], axis=0)
        mixing = math.log(len(self.experts)) / self.rate
        return best + mixing + self.rate / 8 * (G_f * D) ** 2 * t

    def _expert_bound(self, expert: BlockLength, t: Array, path: Any) -> Array:
        (b, eta, c), G_f = expert, self._G_f
        far = self.diameter + c
        start = (far**2 + 2 * far * path) / (2 * eta)
        return start + (eta / 2 * b * G_f**2 + c * G_f) * t + b * G_f * path
