"""Gradient descent on a ball, played through the gauge of the feasible set (Mhammedi)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import number_like
from surefoot.algorithms._gauged import Shrunk, shrink, surrogate
from surefoot.algorithms._rule import COSTS_ONLY, Nonnegative, Positive, Rule
from surefoot.algorithms._start import start_in
from surefoot.constants import Constants
from surefoot.sets import Ball
from surefoot.sets.gauge import Gauge, gauge_of
from surefoot.theory import Tuned
from surefoot.theory.gauge import GaugeTheorem, StronglyConvexGauge
from surefoot.types import Array, Feedback, Needs, Number, Region, Source

__all__ = ["GaugeDescent", "GaugeDescentState"]


class GaugeDescentState(NamedTuple):
    """The action, and what the next round needs.

    Attributes:
        x: the action to play.
        w: the learner's point in the ball.
        gamma: the gauge of w.
        s: a subgradient of the gauge at w.
        t: the round.
    """

    x: Array
    w: Array
    gamma: Number
    s: Array
    t: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeDescent(Rule):
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

    needs: ClassVar[Needs] = COSTS_ONLY._replace(gauges=1)
    source: ClassVar[Source] = Source("Mhammedi, COLT 2022")
    sources: ClassVar[Mapping[str, Source]] = {
        "strongly_convex": Source("Mhammedi, COLT 2022", "derived here")
    }
    tunings: ClassVar[tuple[str, ...]] = ("fixed", "strongly_convex")

    gauge: Gauge
    domain: Ball
    eta: Positive
    strong_convexity: Nonnegative = 0.0

    def init(self, x1: Array) -> GaugeDescentState:
        """Start at w = x1, a point of the ball; the action is x1 shrunk into the set."""
        x1 = start_in(self.domain, x1)
        return self._state(x1, number_like(x1, 1.0))

    def update(self, state: GaugeDescentState, feedback: Feedback) -> GaugeDescentState:
        """Play one round: the lines of the docstring."""
        x, w, gamma, s, t = state
        gradient = _check.cost_gradient(x, feedback)
        mu = self.strong_convexity
        step = surrogate(gradient, Shrunk(x, w, gamma, s)) + mu * (w - x)
        eta = self.eta / t ** _sign(mu)
        return self._state(self.domain.project(w - eta * step), t + 1.0)

    def _state(self, w: Array, t: Number) -> GaugeDescentState:
        return GaugeDescentState(*shrink(self.gauge, w, self.domain.radius), t)

    @classmethod
    def fixed(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[GaugeDescent]:
        """Tune for convex costs: regret O(T^(1/2)), no violation."""
        gauge = gauge_of(domain)
        theorem = GaugeTheorem(constants, horizon, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, "eta", gauge=gauge)

    @classmethod
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[GaugeDescent]:
        """Tune for strongly convex costs: regret O(log T), no violation; no horizon used.

        Args:
            constants: the constants of the problem.
            horizon: not used: the bound is for any number of rounds.
            domain: the feasible set, or its gauge.
        """
        _check.horizon(horizon)
        gauge = gauge_of(domain)
        theorem = StronglyConvexGauge(constants, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, "eta", gauge=gauge, strong_convexity=1 / theorem.eta)


def _sign(mu: Number) -> Number:
    """Return 1 where the costs are strongly convex, else 0: the power of t in 1/eta."""
    return (mu > 0) * 1.0
