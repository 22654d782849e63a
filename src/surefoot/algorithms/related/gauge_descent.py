"""Gradient descent on a ball, played through the gauge of the feasible set (Mhammedi 2022).

:mod:`surefoot.algorithms.related.gauge` has the notation, and the inequality that the theorems use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self, final

from surefoot.algorithms.bounds import StronglyConvex, as_floats, harmonic
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.related.gauge import Gauged, GaugedForHorizon, GaugedTheorem
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import number_like
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.sets.gauge import Gauge, gauge_of

__all__ = ["GaugeDescent", "GaugeTheorem", "StronglyConvexGauge"]


class GaugeDescentState(NamedTuple):
    """The action x, the learner's point w with its gauge and a subgradient, and the round."""

    x: Array
    w: Array
    gamma: Number
    s: Array
    t: Number


class GaugeDescent(Gauged[GaugeDescentState]):
    r"""Projected gradient descent on a ball, with one gauge per round instead of a projection.

    With :math:`\gamma` the gauge of the feasible set K and s its subgradient at :math:`w_t`,

    .. math::
        x_t       &= w_t / \max(1, \gamma(w_t)) \qquad\text{(played)} \\
        \tilde g_t &= \nabla_t - \langle\nabla_t, x_t\rangle s_t
            \text{ where } \gamma > 1 \text{ and } \langle\nabla_t, w_t\rangle < 0,
            \text{ else } \nabla_t \\
        w_{t+1}   &= \Pi_{R\mathbb{B}}\big(w_t - \eta_t(\tilde g_t + \mu(w_t - x_t))\big)

    with :math:`\mu = 0` and a fixed step for convex costs, or :math:`\eta_t = 1/(\mu t)` for
    costs that are :math:`\mu`-strongly convex.

    Args:
        gauge: the oracle; the set must hold a ball around 0.
        domain: a ball :math:`R\mathbb{B}` around 0 that holds the set.
        eta: the step size; that of round 1 for strongly convex costs.
        strong_convexity: :math:`\mu`; 0 for convex costs.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> from surefoot.sets import Box
        >>> gauge = gauge_of(Box([-0.5, -0.5], [0.5, 0.5]))
        >>> player = GaugeDescent(gauge=gauge, domain=Ball(2.0), eta=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> state = player.update(state, Feedback(np.array([-2.0, -1.0]), None, None))
        >>> state.w, state.x.round(9)
        (array([1. , 0.5]), array([0.5 , 0.25]))
        >>> player.update(state, Feedback(np.array([-1.0, 1.0]), None, None)).w.round(9)
        array([1.25, 0.  ])

    Reference: Mhammedi, "Efficient projection-free online convex optimization with membership
    oracle", COLT 2022. Constants, and the strongly convex form, derived here.
    """

    state = GaugeDescentState
    source = Source("Mhammedi, COLT 2022")
    sources: ClassVar[Mapping[str, Source]] = {
        "strongly_convex": Source("Mhammedi, COLT 2022", "derived here")
    }

    eta: Real = positive()
    strong_convexity: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> GaugeDescentState:
        return GaugeDescentState(*self._shrunk(x1), number_like(x1, 1.0))

    def next_state(self, state: GaugeDescentState, gradient: Array) -> GaugeDescentState:
        x, w, _, _, t = state
        mu = self.strong_convexity
        # The step is fixed for convex costs: t to the power of 0.
        eta = self.eta / t ** ((mu > 0) * 1.0)
        w = self.domain.project(w - eta * (gradient + mu * (w - x)))
        return GaugeDescentState(*self._shrunk(w), t + 1.0)

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Region | Gauge) -> Tuned[Self]:
        """Tune for convex costs: regret O(T^(1/2)), no violation."""
        gauge = gauge_of(domain)
        theorem = GaugeTheorem(constants, horizon, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, gauge=gauge)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[Self]:
        """Tune for strongly convex costs: regret O(log T), no violation; no horizon used."""
        checks.check_horizon(horizon)
        gauge = gauge_of(domain)
        theorem = StronglyConvexGauge(constants, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, gauge=gauge, strong_convexity=1 / theorem.eta)


@final
class GaugeTheorem(GaugedForHorizon):
    r"""Convex costs, with :math:`\eta = D_0/((1+\kappa)G_f\sqrt T)`.

    .. math:: \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \frac{\eta}{2}(1+\kappa)^2G_f^2t,

    which is :math:`(1+\kappa)D_0G_f\sqrt T` at t = T. Proof: as :math:`q_t \ge 0` the regret
    is at most that of gradient descent on the ball with gradients of at most :math:`(1+\kappa)G_f`.

    Args:
        constants: needs R, G_f; uses start_reach.
        horizon: T.
        inner_radius: r.
        error: of the gauge.

    Example:
        >>> c = Constants(R=1.0, G_f=1.0, start_reach=1.0)
        >>> float(GaugeTheorem(c, 100, 0.5, error=0.0).regret_bound(100))
        30.0
    """

    name: ClassVar[str] = "Mhammedi 2022, gauge reduction"

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0/((1+\kappa)G_f\sqrt T)`."""
        return self.constants.reach / (self.slope * math.sqrt(self.horizon))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta/2)(1+\kappa)^2G_f^2t` plus the oracle's error."""
        D_0 = self.constants.reach
        ahead = self.eta / 2 * self.slope**2 * as_floats(t)
        return D_0**2 / (2 * self.eta) + ahead + self._inexact(t)

    def interval_bound(self, length: Number) -> Array:
        r"""Bound the regret over any interval: :math:`2R^2/\eta + (\eta/2)(1+\kappa)^2G_f^2|I|`."""
        R = self.constants.R
        ahead = self.eta / 2 * self.slope**2 * as_floats(length)
        return 2 * R**2 / self.eta + ahead + self._inexact(length)


@final
class StronglyConvexGauge(StronglyConvex, GaugedTheorem):
    r"""Costs that are :math:`\mu`-strongly convex, with :math:`\eta_t = 1/(\mu t)`.

    .. math:: \mathrm{Reg}_t \le \frac{((1+\kappa)G_f + \mu R)^2}{2\mu}(1 + \ln t)

    Proof: the learner's losses
    :math:`h_t(w) = \langle\tilde g_t, w\rangle + \tfrac\mu2\|w - x_t\|^2` are strongly convex and
    have gradients of at most :math:`(1+\kappa)G_f + \mu R`, since :math:`\|w_t - x_t\| \le R`; and
    :math:`h_t(w_t) - h_t(u) \ge \langle\nabla_t, x_t - u\rangle - \tfrac\mu2\|x_t - u\|^2`, which
    is at least :math:`f_t(x_t) - f_t(u)`.

    Args:
        constants: needs R, G_f, strong_convexity.
        inner_radius: r.
        error: of the gauge.
    """

    name: ClassVar[str] = "Mhammedi 2022, gauge reduction, strongly convex"
    regret_exponent: ClassVar[float] = 0.0

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`((1+\kappa)G_f + \mu R)^2/(2\mu)\,(1 + \ln t)`."""
        steep = self.slope + self.constants.R / self.eta
        return steep**2 * self.eta / 2 * harmonic(t) + self._inexact(t)
