"""Online gradient descent with full projection and a decaying step, and its regret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import StronglyConvex, as_floats, harmonic
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import Anytime, Inside, Projecting
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import sqrt
from surefoot.core.constants import Constants
from surefoot.core.parameters import flag
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number, Region, Source

__all__ = ["DecayingOGD", "DecayingStep", "StronglyConvexDescent"]


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
        return Tuned.of(cls, DecayingStep(constants, bounded_diameter(domain)), domain)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int | None, domain: Region
    ) -> Tuned[Self]:
        """Step 1/(Ht); the horizon is not used."""
        return Tuned.of(cls, StronglyConvexDescent(constants), domain, fast=True)


@final
class DecayingStep(Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/(G_f\sqrt t)`: any number of rounds.

    .. math:: \mathrm{Reg}_t \le \tfrac32 D G_f \sqrt t

    Proof: as :class:`~surefoot.algorithms.Zinkevich`, each round divided by its own
    :math:`2\eta_t`; Abel summation leaves :math:`D^2/(2\eta_t) = DG_f\sqrt t/2`, and
    :math:`\tfrac12\sum\eta_s G_f^2 \le \tfrac12 DG_f \cdot 2\sqrt t`.
    """

    name: ClassVar[str] = "Zinkevich 2003, decaying step"

    @property
    def eta(self) -> float:
        r"""The step size of round 1, :math:`D/G_f`."""
        return self.diameter / self._G_f

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\tfrac32 D G_f \sqrt t`."""
        return 1.5 * self.diameter * self._G_f * np.sqrt(as_floats(t))


@final
class StronglyConvexDescent(StronglyConvex, Inside):
    r"""Projected gradient descent with :math:`\eta_t = 1/(Ht)` on H-strongly convex costs.

    .. math:: \mathrm{Reg}_t \le \frac{G_f^2}{2H}(1 + \ln t)

    Proof: strong convexity takes :math:`\tfrac H2\|x_s-u\|^2` off every round, so that the
    distances telescope to nothing: :math:`\frac1{\eta_s} - \frac1{\eta_{s-1}} - H = 0`. What is
    left is :math:`\tfrac12\sum G_f^2/(Hs)`.
    """

    name: ClassVar[str] = "Hazan, Agarwal and Kale 2007, strongly convex"
    regret_exponent: ClassVar[float] = 0.0

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`(G_f^2/2H)(1 + \ln t)`."""
        return 0.5 * self._G_f**2 * self.eta * harmonic(t)
