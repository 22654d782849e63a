"""Track a moving optimum by linear minimisation, with blocks of several lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot import _check
from surefoot.algorithms._hedge import mixture, reweighted
from surefoot.algorithms._rule import COSTS_ONLY, Positive, check_fields
from surefoot.algorithms._start import bounded_diameter, start_in
from surefoot.algorithms.garber_kretzu import GarberKretzu
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets._points import settled
from surefoot.theory import Tuned
from surefoot.theory.tracking import TrackingTheorem
from surefoot.types import Array, Feedback, Needs, Region, Source

__all__ = ["TrackingBlocks", "TrackingBlocksState"]


class TrackingBlocksState(NamedTuple):
    """The action to play, the states of the experts and the logarithms of their weights."""

    x: Array
    experts: tuple[Any, ...]
    log_weights: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingBlocks:
    r"""Exponential weights over blocks of several lengths.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle},

    where every expert i is told the gradient at the mixture. Short blocks follow a moving optimum,
    long ones settle. NumPy only.

    Args:
        experts: the rules that are mixed, all on one feasible set.
        rate: :math:`\beta > 0`.

    Example:
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

    needs: ClassVar[Needs] = COSTS_ONLY._replace(
        linear_minimisations=2, work="d log T", numpy_only=True
    )
    source: ClassVar[Source] = Source("Wang et al., AAAI 2024", "derived here")
    tunings: ClassVar[tuple[str, ...]] = ("known_horizon",)

    experts: tuple[GarberKretzu, ...]
    rate: Positive

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "experts", tuple(self.experts))
        if not self.experts or not all(isinstance(e, GarberKretzu) for e in self.experts):
            raise InvalidValueError(f"experts must be rules GarberKretzu, got {self.experts!r}")

    def init(self, x1: Array) -> TrackingBlocksState:
        """Start all experts at x1, a point of the feasible set."""
        x1 = start_in(self.experts[0].domain, x1)
        states = tuple(expert.init(x1) for expert in self.experts)
        count = len(self.experts)
        return TrackingBlocksState(x1, states, np.zeros((*x1.shape[:-1], count)))

    def update(self, state: TrackingBlocksState, feedback: Feedback) -> TrackingBlocksState:
        """Play one round: the line of the docstring."""
        gradient = _check.cost_gradient(state.x, feedback)
        told = Feedback(gradient, None, None)
        before = [expert.x for expert in state.experts]
        weights = reweighted(state.log_weights, gradient, before, self.rate)
        states = tuple(
            expert.update(own, told)
            for expert, own in zip(self.experts, state.experts, strict=True)
        )
        x = mixture(weights, [own.x for own in states])
        return TrackingBlocksState(settled(self.experts[0].domain, x), states, weights)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region
    ) -> Tuned[TrackingBlocks]:
        """Tune for regret O(T^(3/4) (1 + P)^(1/4)) against optima that move by P."""
        theorem = TrackingTheorem(constants, horizon, bounded_diameter(domain))
        experts = tuple(
            GarberKretzu(eta=e.eta, block=e.block, closeness=e.closeness, domain=domain)
            for e in theorem.experts
        )
        return Tuned(cls(experts=experts, rate=theorem.rate), theorem)
