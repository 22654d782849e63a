"""Adaptive regret with one gauge per round: experts on geometric intervals (after Lu et al. 2023).

:mod:`surefoot.algorithms.related.gauge` has the notation, and the inequality that the theorem uses.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.related.gauge import Gauged, GaugedForHorizon
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import (
    combine,
    convert_like,
    maximum,
    namespace,
    number_like,
    rows_dot,
    sqrt,
)
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, positive
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.sets.gauge import Gauge, gauge_of

__all__ = ["AdaptiveGauge", "AdaptiveGaugeTheorem"]


class AdaptiveGaugeState(NamedTuple):
    """The action, the learner's point and its experts.

    Attributes:
        x: the action to play.
        w: the weighted mean of the experts, anywhere in the ball.
        gamma: the gauge of w.
        s: a subgradient of the gauge at w.
        points: the experts' points, ``(J, d)``.
        weights: their weights, ``(J,)``; 0 for an expert that has not started.
        t: the round.
    """

    x: Array
    w: Array
    gamma: Number
    s: Array
    points: Array
    weights: Array
    t: Number


class AdaptiveGauge(Gauged[AdaptiveGaugeState]):
    r"""A mixture of gradient descents that restart on geometric intervals, with one gauge.

    Expert j = 0, ..., J-1 lives on intervals of :math:`2^j` rounds. At the start of round t every
    expert with :math:`2^j \mid t` restarts at the present mean with weight 1. With
    :math:`\rho_j = \min(\tfrac12, \sqrt{\ln(2T)/2^j})` and
    :math:`p_j = \rho_jm_j/\sum_i\rho_im_i`,

    .. math::
        w_t &= \textstyle\sum_j p_j W_j, \qquad x_t = w_t/\max(1, \gamma(w_t))
            \qquad\text{(played)} \\
        m_j &\leftarrow m_j\Big(1 + \rho_j\frac{\langle\tilde g_t, w_t - W_j\rangle}
            {2R\tilde G}\Big), \qquad
        W_j \leftarrow \Pi_{R\mathbb{B}}\Big(W_j - \frac{2R}{\tilde G\sqrt{2^j}}\tilde g_t\Big)

    with :math:`\tilde g_t` the surrogate of :class:`~surefoot.algorithms.GaugeDescent` and
    :math:`\tilde G` a bound on its norm.

    Args:
        gauge: the oracle; the set must hold a ball around 0.
        domain: a ball :math:`R\mathbb{B}` around 0 that holds the set.
        slope: :math:`\tilde G`.
        horizon: T, the number of rounds that the experts cover.

    Example:
        >>> from surefoot import Ball, Feedback
        >>> from surefoot.sets import Box
        >>> player = AdaptiveGauge(
        ...     gauge=gauge_of(Box([-0.5], [0.5])), domain=Ball(1.0), slope=3.0, horizon=4
        ... )
        >>> state = player.init(np.array([0.0]))
        >>> state = player.update(state, Feedback(np.array([1.0]), None, None))
        >>> state.w.round(6), state.x.round(6)
        (array([-0.666667]), array([-0.5]))

    Reference: Lu, Brukhim, Gradu and Hazan, "Projection-free adaptive regret with membership
    oracles", ALT 2023, has the same rate with another learner; this rule is derived here.
    """

    state = AdaptiveGaugeState
    needs = Gauged.needs._replace(work="d log T")
    source = Source("Lu, Brukhim, Gradu and Hazan, ALT 2023", "derived here")

    slope: Real = positive()
    horizon: int = count()

    @property
    def _lengths(self) -> Array:
        """The lengths of the experts' intervals: 1, 2, 4, ... up to the horizon."""
        return 2.0 ** np.arange(int(self.horizon).bit_length())

    def first_state(self, x1: Array) -> AdaptiveGaugeState:
        xp = namespace(x1)
        zeros = convert_like(0.0 * self._lengths, x1)
        weights = zeros if x1.ndim == 1 else zeros + 0.0 * x1[:, :1]
        points = xp.expand_dims(0.0 * weights, axis=-1) + xp.expand_dims(x1, axis=-2)
        state = self._start_round(points, weights, x1, number_like(x1, 1.0))
        # All experts are at x1, and their mean up to a rounding.
        return AdaptiveGaugeState(*self._shrunk(x1), *state[4:])

    def next_state(self, state: AdaptiveGaugeState, gradient: Array) -> AdaptiveGaugeState:
        x, w, _, _, points, weights, t = state
        xp = namespace(x)
        R, lengths = self.domain.radius, convert_like(self._lengths, x)
        behind = rows_dot(xp.expand_dims(w, axis=-2) - points, gradient)
        weights = weights * (1 + self._rates(x) * behind / (2 * R * self.slope))
        steps = 2 * R / (self.slope * sqrt(lengths))
        moved = points - xp.expand_dims(steps, axis=-1) * xp.expand_dims(gradient, axis=-2)
        size = sqrt(xp.sum(moved * moved, axis=-1, keepdims=True))
        points = moved * (R / maximum(size, R + 0.0 * size))
        return self._start_round(points, weights, self._mean(points, weights, x), t + 1.0)

    def _start_round(
        self, points: Array, weights: Array, now: Array, t: Number
    ) -> AdaptiveGaugeState:
        """Restart the experts whose interval begins, and choose the point of the round."""
        xp = namespace(now)
        begins = xp.remainder(t, convert_like(self._lengths, now)) == 0
        points = xp.where(xp.expand_dims(begins, axis=-1), xp.expand_dims(now, axis=-2), points)
        weights = xp.where(begins, xp.ones_like(weights), weights)
        w = self._mean(points, weights, now)
        return AdaptiveGaugeState(*self._shrunk(w), points, weights, t)

    def _mean(self, points: Array, weights: Array, like: Array) -> Array:
        xp = namespace(like)
        shares = self._rates(like) * weights
        return combine(shares / xp.sum(shares, axis=-1, keepdims=True), points)

    def _rates(self, like: Array) -> Array:
        rates = np.minimum(0.5, np.sqrt(np.log(2 * self.horizon) / self._lengths))
        return convert_like(rates, like)

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[Self]:
        """Tune for regret O((n log T)^(1/2)) on every interval of n rounds, no violation."""
        gauge = gauge_of(domain)
        theorem = AdaptiveGaugeTheorem(constants, horizon, gauge.inner_radius, gauge.error)
        return Tuned.of(cls, theorem, None, gauge=gauge)


@final
class AdaptiveGaugeTheorem(GaugedForHorizon):
    r"""Regret on every interval I of the rounds.

    .. math:: \mathrm{Reg}_I \le \frac{2\sqrt2}{\sqrt2 - 1}R\tilde G\sqrt{|I|}
              \big(2 + 4\sqrt{\ln(2T)}\big), \qquad \tilde G = (1 + \kappa)G_f.

    Proof. The mixture leaves :math:`\sum_j p_jr_j = 0`, so the total weight rises only by new
    starts, of which there are at most 2t by round t. :math:`\ln(1+y) \ge y - y^2` for
    :math:`y \ge -\tfrac12` bounds what the mixture loses to expert j on one of its intervals A by
    :math:`2R\tilde G\cdot2\sqrt{\ln(2T)|A|}`; the expert itself, gradient descent from a warm
    start, has at most :math:`2R\tilde G\sqrt{|A|}`. Every interval is made of two runs of such
    intervals whose lengths change geometrically, and the roots of their lengths add up to at most
    :math:`\tfrac{2\sqrt2}{\sqrt2 - 1}\sqrt{|I|}`.

    Args:
        constants: needs R, G_f.
        horizon: T.
        inner_radius: r.
        error: of the gauge.
    """

    name: ClassVar[str] = "Adaptive regret by one gauge per round (after Lu et al. 2023)"

    def regret_bound(self, t: Number) -> Array:
        """Bound the regret of the first t rounds, which are an interval."""
        return self.interval_bound(t)

    def interval_bound(self, length: Number) -> Array:
        """Bound the regret over any interval of that length."""
        covering = 2 * math.sqrt(2) / (math.sqrt(2) - 1)
        each = (2 + 4 * math.sqrt(math.log(2 * self.horizon))) * self.constants.R * self.slope
        return covering * each * np.sqrt(as_floats(length)) + self._inexact(length)
