"""Online gradient descent with full projection and a decaying step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import number_like, sqrt
from surefoot.algorithms._projecting import Projecting
from surefoot.algorithms._start import bounded_diameter, start_in
from surefoot.constants import Constants
from surefoot.theory import DecayingStep, StronglyConvexDescent, Tuned
from surefoot.types import Array, Feedback, Number, Region, Source

__all__ = ["DecayingOGD", "DecayingOGDState"]


class DecayingOGDState(NamedTuple):
    """The action to play, and how many rounds have been played."""

    x: Array
    rounds: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayingOGD(Projecting):
    r"""Online gradient descent with full projection and a step that decays.

    .. math:: x_{t+1} = \Pi_X(x_t - \eta t^{-q} \nabla f_t(x_t)), \qquad q = \tfrac12 \text{ or } 1

    Args:
        eta: step size of the first round, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.
        fast: whether q is 1, for strongly convex costs, instead of 1/2.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> player = DecayingOGD(eta=0.2, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = DecayingOGDState(np.array([0.0, 0.4]), 3.0)  # the fourth round
        >>> player.update(state, Feedback(np.array([-1.0, -3.0]), None, None)).x
        array([0.1, 0.5])

    Reference: Zinkevich, ICML 2003; Hazan, Agarwal and Kale, Machine Learning 2007.
    """

    source: ClassVar[Source] = Source("Zinkevich, ICML 2003")
    sources: ClassVar[Mapping[str, Source]] = {
        "strongly_convex": Source("Hazan, Agarwal and Kale, Machine Learning 2007")
    }
    tunings: ClassVar[tuple[str, ...]] = ("anytime", "strongly_convex")

    fast: bool = False

    def init(self, x1: Array) -> DecayingOGDState:
        """Start at x1, a point of X."""
        x1 = start_in(self.domain, x1)
        return DecayingOGDState(x1, number_like(x1, 0.0))

    def update(self, state: DecayingOGDState, feedback: Feedback) -> DecayingOGDState:
        """Return the state after a round: the line of the docstring."""
        x, t = state.x, state.rounds + 1.0
        grad = _check.cost_gradient(x, feedback)
        eta = self.eta / (t if self.fast else sqrt(t))
        return DecayingOGDState(self.domain.project(x - eta * grad), t)

    @classmethod
    def anytime(
        cls, constants: Constants, horizon: int | None, domain: Region
    ) -> Tuned[DecayingOGD]:
        r"""Step :math:`D/(G_f\sqrt t)`; the horizon is not used."""
        theorem = DecayingStep(constants, bounded_diameter(domain))
        return Tuned.of(cls, theorem, domain, "eta")

    @classmethod
    def strongly_convex(
        cls, constants: Constants, horizon: int | None, domain: Region
    ) -> Tuned[DecayingOGD]:
        """Step 1/(Ht); the horizon is not used."""
        theorem = StronglyConvexDescent(constants)
        return Tuned(cls(eta=theorem.eta, domain=domain, fast=True), theorem)
