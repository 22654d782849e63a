"""An online Newton step on a ball, played through the gauge (the rate of Mhammedi 2024).

:mod:`surefoot.algorithms.related.gauge` has the notation, and the inequality that the theorem uses.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import ForHorizon
from surefoot.algorithms.related.gauge import Gauged, GaugedTheorem
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import map_runs
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, positive
from surefoot.core.points import dimension_of
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.sets.gauge import Gauge, gauge_of

__all__ = ["GaugeNewton", "GaugeNewtonTheorem"]


class GaugeNewtonState(NamedTuple):
    """The same as of GaugeDescent, and A, the sum of the surrogates' squares, ``(d, d)``."""

    x: Array
    w: Array
    gamma: Number
    s: Array
    metric: Array


class GaugeNewton(Gauged[GaugeNewtonState]):
    r"""An online Newton step with one gauge per round, whose rate has no condition number.

    With x, s and :math:`\tilde g` as in :class:`~surefoot.algorithms.GaugeDescent`,

    .. math::
        A_t     &= A_{t-1} + \tilde g_t\tilde g_t^\top, \qquad A_0 = I/(\beta R)^2 \\
        y_t     &= w_t - A_t^{-1}\tilde g_t/\beta \\
        w_{t+1} &= \arg\min_{\|v\| \le R} (v - y_t)^\top A_t(v - y_t).

    The slack of the gauge inequality pays for the surrogate's large gradients, so that
    :math:`\kappa = R/r` stands beside :math:`\sqrt T` and never before it. A round costs
    :math:`O(d^3)`. NumPy only.

    Args:
        gauge: the oracle; the set must hold a ball around 0.
        domain: a ball :math:`R\mathbb{B}` around 0 that holds the set.
        beta: :math:`\beta > 0`, the curvature that the learner credits the costs with.
        reach: the first metric is :math:`I/(\beta\,\text{reach})^2`; R for a start at 0.

    Example:
        >>> from surefoot import Ball, Feedback
        >>> from surefoot.sets import Box
        >>> gauge = gauge_of(Box([-0.5], [0.5]))
        >>> player = GaugeNewton(gauge=gauge, domain=Ball(1.0), beta=1 / 3, reach=1.0)
        >>> state = player.init(np.array([0.0]))
        >>> push = Feedback(np.array([1.0]), None, None)
        >>> state = player.update(state, push)
        >>> state.w.round(6), state.metric
        (array([-0.3]), array([[10.]]))
        >>> player.update(state, push).w.round(6)
        array([-0.572727])

    Reference: the rate is that of Mhammedi, "Online convex optimization with a separation
    oracle", 2024, by another rule: his learner is a barrier method. Rule and proof derived here.
    """

    state = GaugeNewtonState
    needs = Gauged.needs._replace(work="d^3", numpy_only=True)
    source = Source("Mhammedi, 2024", "derived here")

    beta: Real = positive()
    reach: Real = positive()

    def first_state(self, x1: Array) -> GaugeNewtonState:
        first = np.eye(x1.shape[-1]) / np.asarray(self.beta * self.reach)[..., None] ** 2
        metric = first if x1.ndim == 1 else np.broadcast_to(first, (*x1.shape, x1.shape[-1]))
        return GaugeNewtonState(*self._shrunk(x1), metric)

    def next_state(self, state: GaugeNewtonState, g: Array) -> GaugeNewtonState:
        _, w, _, _, metric = state
        metric = metric + g[..., :, None] * g[..., None, :]
        w = map_runs(_newton_step, (w, g, metric), self.beta, self.domain.radius)
        return GaugeNewtonState(*self._shrunk(w), metric)

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region | Gauge
    ) -> Tuned[Self]:
        """Tune for regret O((d T log T)^(1/2) + kappa d log T), no violation.

        Uses ``diameter``, of the feasible set, among the constants.
        """
        gauge = gauge_of(domain)
        dimension = checks.positive_int(dimension_of(domain), "the dimension of the domain")
        theorem = GaugeNewtonTheorem(constants, horizon, gauge.inner_radius, gauge.error, dimension)
        return Tuned.of(cls, theorem, None, gauge=gauge)


def _newton_step(w: Array, g: Array, metric: Array, beta: float, radius: float) -> Array:
    y = w - np.linalg.solve(metric, g) / beta
    if y @ y <= radius * radius:
        return y
    return _nearest_in_metric(y, metric, radius)


def _nearest_in_metric(y: Array, metric: Array, radius: float) -> Array:
    r"""Return the point of the ball nearest to y in the norm of the metric.

    It is :math:`v(\nu) = (A + \nu I)^{-1}Ay` for the :math:`\nu > 0` with :math:`\|v\| = R`; the
    norm falls in :math:`\nu`, so bisection finds it, and the end inside the ball is taken.
    """
    values, vectors = np.linalg.eigh(metric)
    z = vectors.T @ y

    def size(nu: float) -> float:
        return float(np.linalg.norm(values * z / (values + nu)))

    low, high = 0.0, float(values[-1]) * max(float(np.linalg.norm(y)) / radius, 1.0)
    while size(high) > radius:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if size(middle) <= radius else (middle, high)
    v = vectors @ (values * z / (values + high))
    # The rounding of the last product: the ball's own projection settles it.
    return v * min(1.0, radius * (1 - 1e-15) / math.sqrt(float(v @ v)))


@final
class GaugeNewtonTheorem(GaugedTheorem, ForHorizon):
    r"""The online Newton step: the condition number is added to the root of T, not multiplied.

    With :math:`L = 1 + d\ln(1 + T/d)`, D the diameter of K and
    :math:`\beta = \min\{1/(G_f(1+\kappa)\max(D_0, R)), \sqrt{L/(2T)}/(G_fD)\}`,

    .. math:: \mathrm{Reg}_t \le \frac{L}{2\beta} + \beta G_f^2D^2t
              \quad\Big(\le G_fD\sqrt{2LT} + \tfrac12(1+\kappa)G_f\max(D_0, R)L
              \text{ at } t = T\Big).

    Proof. The Newton step has
    :math:`\sum\langle\tilde g_t, w_t - u\rangle \le \tfrac1{2\beta}\sum\tilde g_t^\top
    A_t^{-1}\tilde g_t + \tfrac\beta2\|w_1 - u\|_{A_0}^2
    + \tfrac\beta2\sum\langle\tilde g_t, w_t - u\rangle^2`. The first sum is at most
    :math:`d\ln(1 + T/d)` by the choice of :math:`A_0`, the second term at most
    :math:`1/(2\beta)`. With :math:`\langle\tilde g_t, w_t - u\rangle = \rho_t + q_t` and
    :math:`\beta q_t \le 1`, :math:`\tfrac\beta2(\rho_t + q_t)^2 \le \beta\rho_t^2 + q_t`: the
    :math:`q_t` cancel, and :math:`|\rho_t| \le G_fD`.

    Args:
        constants: needs R, G_f; uses start_reach and diameter, of K (2R where not known).
        horizon: T.
        inner_radius: r.
        dimension: d.
        error: of the gauge.

    Example:
        >>> c = Constants(R=1.0, G_f=1.0, start_reach=1.0, diameter=1.0)
        >>> theorem = GaugeNewtonTheorem(c, 4, 0.5, 0.0, dimension=1)
        >>> round(theorem.beta, 6), round(theorem.log_term, 6)
        (0.333333, 2.609438)
    """

    name: ClassVar[str] = "Gauge with an online Newton step (the rate of Mhammedi 2024)"
    regret_exponent: ClassVar[float] = 0.5

    dimension: int = count()

    @property
    def reach(self) -> float:
        r"""The distance :math:`D_0` from the start to the farthest point."""
        return self.constants.reach

    @property
    def diameter(self) -> float:
        """The diameter D of the set, plus what an inexact gauge adds."""
        known = self.constants.diameter
        return (2 * self.constants.R if known is None else known) + self.constants.R * self.error

    @property
    def log_term(self) -> float:
        r"""The logarithmic term :math:`L = 1 + d\ln(1 + T/d)`."""
        return 1 + self.dimension * math.log1p(self.horizon / self.dimension)

    @property
    def beta(self) -> float:
        r"""The weight :math:`\min\{1/(G_f(1+\kappa)\max(D_0, R)), \sqrt{L/(2T)}/(G_fD)\}`."""
        steep = 1 / (self.slope * max(self.reach, self.constants.R))
        return min(
            steep, math.sqrt(self.log_term / (2 * self.horizon)) / (self._G_f * self.diameter)
        )

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`L/(2\beta) + \beta G_f^2D^2t` plus the oracle's error."""
        ahead = self.beta * (self._G_f * self.diameter) ** 2 * as_floats(t)
        return self.log_term / (2 * self.beta) + ahead + self._inexact(t)
