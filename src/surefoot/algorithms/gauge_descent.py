"""Gradient descent on a ball, played through the gauge of the feasible set (Mhammedi)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from surefoot.algorithms._gauged import Gauged
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import number_like
from surefoot.core.constants import Constants
from surefoot.core.parameters import anything, nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.sets import Ball
from surefoot.sets.gauge import Gauge, gauge_of
from surefoot.theory import Tuned
from surefoot.theory.gauge import GaugeTheorem, StronglyConvexGauge

__all__ = ["GaugeDescent", "GaugeDescentState"]


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
        >>> from surefoot import Feedback
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

    gauge: Gauge = anything("the gauge of the feasible set")
    domain: Ball = projectable()
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
        return Tuned.of(cls, theorem, None, "eta", gauge=gauge)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[Self]:
        """Tune for strongly convex costs: regret O(log T), no violation; no horizon used."""
        checks.horizon(horizon)
        gauge = gauge_of(domain)
        theorem = StronglyConvexGauge(constants, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, "eta", gauge=gauge, strong_convexity=1 / theorem.eta)
