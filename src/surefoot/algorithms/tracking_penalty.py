"""Track a moving optimum under a penalty: copies with several step sizes (Yi et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._array import run_by_run
from surefoot.algorithms._hedge import mixture, reweighted
from surefoot.algorithms._rule import COSTS_ONLY, Positive, check_fields
from surefoot.algorithms._start import start_in
from surefoot.algorithms.yi import Yi
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets import Ball
from surefoot.sets.prox import prox_of
from surefoot.theory import Tuned
from surefoot.theory.tracking_penalty import TrackingPenaltyTheorem
from surefoot.types import Array, Feedback, Needs, Region, Source

__all__ = ["TrackingPenalty", "TrackingPenaltyState"]


class TrackingPenaltyState(NamedTuple):
    """The action to play, the states of the copies and the logarithms of their weights."""

    x: Array
    copies: tuple[Any, ...]
    log_weights: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingPenalty:
    r"""Exponential weights over :class:`~surefoot.algorithms.Yi` with several step sizes.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle}

    Every copy is told the cost gradient at the mixture, and looks at the constraint at its own
    point, which the proximal oracle of a fixed set knows. NumPy only.

    Args:
        copies: the rules that are mixed, all with one proximal oracle.
        rate: :math:`\beta > 0`.

    Example:
        >>> from surefoot.sets import Box
        >>> prox = prox_of(Box([-0.5], [0.5]))
        >>> slow, fast = (Yi(prox=prox, domain=Ball(1.0), gamma=2.0, alpha=a) for a in (8.0, 2.0))
        >>> player = TrackingPenalty(copies=(slow, fast), rate=0.1)
        >>> state = player.init(np.array([0.0]))
        >>> player.update(state, Feedback(np.array([-1.0]), -0.5, np.array([1.0]))).x
        array([0.15625])

    Reference: the second algorithm of Yi, Li, Yang, Xie, Chai and Johansson, ICML 2021. The rate is
    theirs; this form and its constants are derived here.
    """

    needs: ClassVar[Needs] = COSTS_ONLY._replace(proxes=8, work="d log T", numpy_only=True)
    source: ClassVar[Source] = Source("Yi et al., ICML 2021", "derived here")
    tunings: ClassVar[tuple[str, ...]] = ("known_horizon",)

    copies: tuple[Yi, ...]
    rate: Positive

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "copies", tuple(self.copies))
        if not self.copies or not all(isinstance(copy, Yi) for copy in self.copies):
            raise InvalidValueError(f"copies must be rules Yi, got {self.copies!r}")
        for copy in self.copies:
            if not hasattr(copy.prox, "violation"):
                raise InvalidValueError(
                    f"prox must know the violation of a fixed set, got {copy.prox!r}"
                )

    @property
    def domain(self) -> Ball:
        """The ball that all copies stay in."""
        return self.copies[0].domain

    def init(self, x1: Array) -> TrackingPenaltyState:
        """Start all copies at x1, a point of the ball."""
        x1 = start_in(self.domain, x1)
        states = tuple(copy.init(x1) for copy in self.copies)
        return TrackingPenaltyState(x1, states, np.zeros((*x1.shape[:-1], len(states))))

    def update(self, state: TrackingPenaltyState, feedback: Feedback) -> TrackingPenaltyState:
        """Play one round: the lines of the docstring."""
        gradient = _check.cost_gradient(state.x, feedback)
        before = [own.x for own in state.copies]
        weights = reweighted(state.log_weights, gradient, before, self.rate)
        states = []
        for copy, own in zip(self.copies, state.copies, strict=True):
            g = run_by_run(copy.prox.violation, (own.x,))  # type: ignore[attr-defined]
            states.append(copy.update(own, Feedback(gradient, g, 0.0 * own.x)))
        x = mixture(weights, [own.x for own in states])
        return TrackingPenaltyState(self.domain.project(x), tuple(states), weights)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region
    ) -> Tuned[TrackingPenalty]:
        """Tune for regret O((T (1 + P))^(1/2)), optima of path length P; violations O(T^(1/2))."""
        theorem, prox = TrackingPenaltyTheorem(constants, horizon), prox_of(domain)
        copies = tuple(
            Yi(prox=prox, domain=Ball(constants.R), gamma=gamma, alpha=alpha)
            for gamma, alpha in theorem.copies
        )
        return Tuned(cls(copies=copies, rate=theorem.rate), theorem)
