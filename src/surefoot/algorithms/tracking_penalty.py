"""Track a moving optimum under a penalty: copies with several step sizes (Yi et al. 2021)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from surefoot.algorithms._hedge import Mixing
from surefoot.algorithms.yi import Yi
from surefoot.core.algorithm import COSTS_ONLY, tuning
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.flow import run_by_run
from surefoot.core.parameters import anything, positive
from surefoot.core.types import Array, Feedback, Real, Region, Source
from surefoot.sets import Ball
from surefoot.sets.prox import prox_of
from surefoot.theory import Tuned
from surefoot.theory.tracking_penalty import TrackingPenaltyTheorem

__all__ = ["TrackingPenalty", "TrackingPenaltyState"]


class TrackingPenaltyState(NamedTuple):
    """The action to play, the states of the copies and the logarithms of their weights."""

    x: Array
    copies: tuple[Any, ...]
    log_weights: Array


class TrackingPenalty(Mixing[TrackingPenaltyState]):
    r"""Exponential weights over :class:`~surefoot.algorithms.Yi` with several step sizes.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle}

    Every copy is told the cost gradient at the mixture, and looks at the constraint at its own
    point, which the proximal oracle of a fixed set knows. NumPy only.

    Args:
        copies: the rules that are mixed, all with one proximal oracle.
        rate: :math:`\beta > 0`.

    Example:
        >>> import numpy as np
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

    state = TrackingPenaltyState
    needs = COSTS_ONLY._replace(proxes=8, work="d log T", numpy_only=True)
    source = Source("Yi et al., ICML 2021", "derived here")

    copies: tuple[Yi, ...] = anything("several Yi")
    rate: Real = positive()

    def __post_init__(self) -> None:
        self._own("copies", Yi)
        for copy in self.copies:
            if not hasattr(copy.prox, "violation"):
                raise InvalidValueError(
                    f"prox must know the violation of a fixed set, got {copy.prox!r}"
                )

    @property
    def _experts(self) -> tuple[Yi, ...]:
        return self.copies

    def _told(self, copy: Yi, own: Any, gradient: Array) -> Any:
        g = run_by_run(copy.prox.violation, (own.x,))  # type: ignore[attr-defined]
        return copy.update(own, Feedback(gradient, g, 0.0 * own.x))

    def _inside(self, x: Array) -> Array:
        return self.domain.project(x)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret O((T (1 + P))^(1/2)), optima of path length P; violations O(T^(1/2))."""
        theorem, prox = TrackingPenaltyTheorem(constants, horizon), prox_of(domain)
        copies = tuple(
            Yi(prox=prox, domain=Ball(constants.R), gamma=gamma, alpha=alpha)
            for gamma, alpha in theorem.copies
        )
        return Tuned(cls(copies=copies, rate=theorem.rate), theorem)
