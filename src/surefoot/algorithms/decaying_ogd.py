"""Online gradient descent with full projection and a decaying step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from surefoot.algorithms._projecting import Projecting
from surefoot.algorithms._start import bounded_diameter
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import sqrt
from surefoot.core.constants import Constants
from surefoot.core.parameters import flag
from surefoot.core.types import Array, Number, Region, Source
from surefoot.theory import DecayingStep, StronglyConvexDescent, Tuned

__all__ = ["DecayingOGD", "DecayingOGDState"]


class DecayingOGDState(NamedTuple):
    """The action to play, and how many rounds have been played."""

    x: Array
    rounds: Number = 0.0


class DecayingOGD(Projecting[DecayingOGDState]):
    r"""Online gradient descent with full projection and a step that decays.

    .. math:: x_{t+1} = \Pi_X(x_t - \eta t^{-q} \nabla f_t(x_t)), \qquad q = \tfrac12 \text{ or } 1

    Args:
        eta: step size of the first round, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.
        fast: whether q is 1, for strongly convex costs, instead of 1/2.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = DecayingOGD(eta=0.2, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = DecayingOGDState(np.array([0.0, 0.4]), 3.0)  # the fourth round
        >>> player.update(state, Feedback(np.array([-1.0, -3.0]), None, None)).x
        array([0.1, 0.5])

    Reference: Zinkevich, ICML 2003; Hazan, Agarwal and Kale, Machine Learning 2007.
    """

    state = DecayingOGDState
    source = Source("Zinkevich, ICML 2003")
    sources: ClassVar[Mapping[str, Source]] = {
        "strongly_convex": Source("Hazan, Agarwal and Kale, Machine Learning 2007")
    }

    fast: bool = flag(default=False)

    def next_state(self, state: DecayingOGDState, grad: Array) -> DecayingOGDState:
        x, t = state.x, state.rounds + 1.0
        eta = self.eta / (t if self.fast else sqrt(t))
        return DecayingOGDState(self.domain.project(x - eta * grad), t)

    @classmethod
    @tuning
    def anytime(cls, constants: Constants, horizon: int | None, domain: Region) -> Tuned[Self]:
        r"""Step :math:`D/(G_f\sqrt t)`; the horizon is not used."""
        theorem = DecayingStep(constants, bounded_diameter(domain))
        return Tuned.of(cls, theorem, domain, "eta")

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int | None, domain: Region
    ) -> Tuned[Self]:
        """Step 1/(Ht); the horizon is not used."""
        theorem = StronglyConvexDescent(constants)
        return Tuned(cls(eta=theorem.eta, domain=domain, fast=True), theorem)
