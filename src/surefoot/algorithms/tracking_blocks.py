"""Track a moving optimum by linear minimisation, with blocks of several lengths."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from surefoot.algorithms._hedge import Mixing
from surefoot.algorithms._start import bounded_diameter
from surefoot.algorithms.garber_kretzu import GarberKretzu
from surefoot.core.algorithm import COSTS_ONLY, tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import anything, positive
from surefoot.core.points import settled
from surefoot.core.types import Array, Feedback, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.tracking import TrackingTheorem

__all__ = ["TrackingBlocks", "TrackingBlocksState"]


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
        return settled(self.domain, x)

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
