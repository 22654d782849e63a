r"""Rules with a gauge oracle: descent, experts on intervals, a Newton step; what they share first.

A learner on the ball chooses w; the action is w itself, or w shrunk to the boundary of K. The
surrogate gradient makes the learner's regret on the ball a bound on that of the actions.

In the theorems, the feasible set K holds the ball :math:`r\mathbb{B}` and lies in
:math:`R\mathbb{B}`; :math:`\kappa = R/r`, and :math:`D_0` bounds the distance from the first point
to any other (``start_reach``; 2R if unknown, R for a start at 0). For u in K let
:math:`\rho_t = \langle\nabla_t, x_t - u\rangle` and
:math:`q_t = \langle\tilde g_t, w_t - u\rangle - \rho_t`. Then

.. math:: 0 \le q_t \le (1 + \kappa)G_fR, \qquad \|\tilde g_t\| \le (1 + \kappa)G_f.

Proof. In a corrected round :math:`\langle\tilde g, w\rangle = 0` and
:math:`q = -\langle\nabla, x\rangle(1 - \langle s, u\rangle)`; there
:math:`\langle\nabla, x\rangle < 0` and :math:`\langle s, u\rangle \le 1`. In another round with w
outside, :math:`q = \langle\nabla, w - x\rangle \ge 0` because x is a part of w and the product is
not negative. The norm: :math:`|\langle\nabla, x\rangle| \le G_fR` and :math:`\|s\| \le 1/r`. An
oracle that is off by ``error`` adds at most :math:`G_fR` times that to each round.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, NOTHING, CostsOnly, tuning
from surefoot.core.arrays import dot, freeze, minimum, number_like, where
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Counts
from surefoot.core.kernel_constants import SHRINK_ROUNDINGS, TERMS
from surefoot.core.parameters import (
    Declared,
    anything,
    count,
    nonnegative,
    positive,
    projectable,
)
from surefoot.core.points import UNIT, dimension_of
from surefoot.core.types import Array, Info, Needs, Number, Real, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, descent_bound, harmonic
from surefoot.guarantees.guarantee import Guarantee
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import AroundBall, ForHorizon
from surefoot.sets import Ball, Gauge, gauge_of

__all__ = [
    "AdaptiveGauge",
    "AdaptiveGaugeTheorem",
    "GaugeDescent",
    "GaugeNewton",
    "GaugeNewtonTheorem",
    "GaugeTheorem",
    "StronglyConvexGauge",
]


class Shrunk(NamedTuple):
    """A learner's point, and the action played for it.

    Attributes:
        x: the action, a point of the feasible set.
        w: the learner's point, anywhere in the ball.
        gamma: the gauge of w.
        s: a subgradient of the gauge at w.
    """

    x: Array
    w: Array
    gamma: Number
    s: Array


class Gauged(Declared, CostsOnly):
    """A rule with a gauge, whose state begins as :class:`Shrunk`.

    Its ``next_state`` receives the surrogate gradient.
    """

    needs: ClassVar[Needs] = COSTS_ONLY._replace(gauges=1)

    gauge: Gauge = anything("the gauge of the feasible set")
    domain: Ball = projectable()

    @classmethod
    def from_set(cls, domain: object, theorem: Guarantee) -> dict[str, Any]:
        """Return the gauge of the set."""
        return {"gauge": gauge_of(domain)}

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        point: Any = state
        grad = checks.read_gradient(state.x, feedback)
        return self.next_state(state, surrogate(grad, Shrunk(*point[:4]))), NOTHING

    def _shrunk(self, w: Array) -> Shrunk:
        """Return the point of the set that is played for a point of the ball."""
        return shrink(self.gauge, w, self.domain.radius)


def shrink(gauge: Gauge, w: Array, reach: Number) -> Shrunk:
    r"""Query the gauge once, and shrink w into the set: :math:`x = w\min(1, 1/\gamma(w))`.

    A computed row product of d entries errs by at most :math:`(d+4)u|a||x|`, which is
    :math:`(d+4)u\kappa` of its limit; the action is drawn in by a multiple of that, so that it is
    inside as computed too.
    """
    gamma, s = gauge(w)
    kappa = reach / gauge.inner_radius
    inner = 1.0 - SHRINK_ROUNDINGS * (w.shape[-1] + TERMS) * UNIT * kappa
    share = minimum(inner / where(gamma > 0, gamma, 1.0), 0.0 * gamma + 1.0)
    # Inside, w itself: a state owns its arrays, so no copy is needed.
    return Shrunk(freeze(where(share >= 1.0, w, share * w)), w, gamma, s)


def surrogate(gradient: Array, point: Shrunk) -> Array:
    r"""Return :math:`\nabla - \langle\nabla, x\rangle s` if w was outside and ∇ points outwards.

    Outwards: :math:`\langle\nabla, w\rangle < 0`, so that a step against the gradient would leave
    the set further; there :math:`\langle\tilde g, w\rangle = 0`.
    """
    x, w, gamma, s = point
    outwards = (gamma > 1.0) & (dot(gradient, w) < 0)
    return gradient - where(outwards, dot(gradient, x), 0.0 * gamma) * s


class GaugedTheorem(AroundBall):
    """Shared by the theorems: the surrogate's Lipschitz constant, the cost of an inexact oracle."""

    error: float = nonnegative()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return what the gauge of the set knows."""
        gauge = gauge_of(domain)
        return {"inner_radius": gauge.inner_radius, "error": gauge.error}

    @property
    def slope(self) -> float:
        r"""The largest norm of a surrogate gradient, :math:`(1 + \kappa)G_f`."""
        return (1 + self.kappa) * self._G_f

    def _inexact(self, t: Number) -> Array:
        return self.error * self._G_f * self.constants.R * as_floats(t)


class GaugedForHorizon(GaugedTheorem, ForHorizon):
    """One that is tuned for a number of rounds."""

    regret_exponent: ClassVar[float] = 0.5


class GaugeDescentState(NamedTuple):
    """The action x, the learner's point w with its gauge and a subgradient, and the round."""

    x: Array
    w: Array
    gamma: Number
    s: Array
    t: Counts


class GaugeDescent(Gauged):
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
    source: ClassVar[Source] = Source("Mhammedi, COLT 2022", "as published")
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
    @tuning(lambda: GaugeTheorem)
    def fixed(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible with one membership query a round, for a given horizon."""
        theorem = GaugeTheorem(
            constants, horizon=horizon, **GaugeTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: StronglyConvexGauge)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Any = None
    ) -> Tuned[Self]:
        """Never infeasible with one membership query a round, for strongly convex costs."""
        check_possible_horizon(horizon)
        theorem = StronglyConvexGauge(constants, **StronglyConvexGauge.from_set(constants, domain))
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


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
        descent = descent_bound(t, self.eta, self.constants.reach, self.slope)
        return descent + self._inexact(t)

    def interval_bound(self, length: Number) -> Array:
        r"""Bound the regret over any interval: :math:`2R^2/\eta + (\eta/2)(1+\kappa)^2G_f^2|I|`."""
        descent = descent_bound(length, self.eta, 2 * self.constants.R, self.slope)
        return descent + self._inexact(length)


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

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`((1+\kappa)G_f + \mu R)^2/(2\mu)\,(1 + \ln t)`."""
        steep = self.slope + self.constants.R / self.eta
        return steep**2 * self.eta / 2 * harmonic(t) + self._inexact(t)


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
    t: Counts


class AdaptiveGauge(Gauged):
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

    with :math:`\tilde g_t` the surrogate of :class:`~surefoot.rules.GaugeDescent` and
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
    needs: ClassVar[Needs] = Gauged.needs._replace(work="d log T", numpy_only=True, one_run=True)
    source: ClassVar[Source] = Source("Lu, Brukhim, Gradu and Hazan, ALT 2023", "derived here")

    slope: Real = positive()
    horizon: int = count()

    @cached_property
    def _lengths(self) -> Array:
        """The lengths of the experts' intervals: 1, 2, 4, ... up to the horizon."""
        return 2.0 ** np.arange(int(self.horizon).bit_length())

    @cached_property
    def _rates(self) -> Array:
        return np.minimum(0.5, np.sqrt(math.log(2 * self.horizon) / self._lengths))

    def first_state(self, x1: Array) -> AdaptiveGaugeState:
        points = np.tile(x1, (len(self._lengths), 1))
        state = self._start_round(points, 0.0 * self._lengths, x1, 1.0)
        # All experts are at x1, and their mean up to a rounding.
        return AdaptiveGaugeState(*self._shrunk(x1), *state[4:])

    def next_state(self, state: AdaptiveGaugeState, gradient: Array) -> AdaptiveGaugeState:
        _, w, _, _, points, weights, t = state
        R = float(self.domain.radius)
        behind = (w - points) @ gradient
        weights = weights * (1 + self._rates * behind / (2 * R * self.slope))
        steps = 2 * R / (self.slope * np.sqrt(self._lengths))
        moved = points - np.outer(steps, gradient)
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        points = moved * (R / np.maximum(size, R))
        return self._start_round(points, weights, self._mean(points, weights), t + 1.0)

    def _start_round(
        self, points: Array, weights: Array, now: Array, t: float
    ) -> AdaptiveGaugeState:
        """Restart the experts whose interval begins, and choose the point of the round."""
        begins = t % self._lengths == 0
        points = np.where(begins[:, None], now, points)
        weights = np.where(begins, 1.0, weights)
        return AdaptiveGaugeState(*self._shrunk(self._mean(points, weights)), points, weights, t)

    def _mean(self, points: Array, weights: Array) -> Array:
        shares = self._rates * weights
        return shares / shares.sum() @ points

    @classmethod
    @tuning(lambda: AdaptiveGaugeTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible with one membership query a round; steps from the observed gradients."""
        theorem = AdaptiveGaugeTheorem(
            constants, horizon=horizon, **AdaptiveGaugeTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


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


class GaugeNewtonState(NamedTuple):
    """The same as of GaugeDescent, and A, the sum of the surrogates' squares, ``(d, d)``."""

    x: Array
    w: Array
    gamma: Number
    s: Array
    metric: Array


class GaugeNewton(Gauged):
    r"""An online Newton step with one gauge per round, whose rate has no condition number.

    With x, s and :math:`\tilde g` as in :class:`~surefoot.rules.GaugeDescent`,

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
    needs: ClassVar[Needs] = Gauged.needs._replace(work="d^3", numpy_only=True, one_run=True)
    source: ClassVar[Source] = Source("Mhammedi, 2024", "derived here")

    beta: Real = positive()
    reach: Real = positive()

    def first_state(self, x1: Array) -> GaugeNewtonState:
        return GaugeNewtonState(*self._shrunk(x1), np.eye(len(x1)) / (self.beta * self.reach) ** 2)

    def next_state(self, state: GaugeNewtonState, g: Array) -> GaugeNewtonState:
        _, w, _, _, metric = state
        metric = metric + np.outer(g, g)
        w, radius = w - np.linalg.solve(metric, g) / self.beta, float(self.domain.radius)
        if w @ w > radius * radius:
            w = _nearest_in_metric(w, metric, radius)
        return GaugeNewtonState(*self._shrunk(w), metric)

    @classmethod
    @tuning(lambda: GaugeNewtonTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible with one membership query a round; Newton steps."""
        theorem = GaugeNewtonTheorem(
            constants, horizon=horizon, **GaugeNewtonTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


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
    # The rounding of the last product: the projection onto the ball corrects it.
    return v * min(1.0, radius * (1 - 1e-15) / math.sqrt(float(v @ v)))


class GaugeNewtonTheorem(GaugedForHorizon):
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
        constants: needs R, G_f; uses start_reach and diameter, of K (2R if unknown).
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

    dimension: int = count()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return what the gauge of the set knows, and the dimension."""
        d = checks.positive_int(dimension_of(domain), "the dimension of the domain")
        return super().from_set(constants, domain) | {"dimension": d}

    @property
    def reach(self) -> float:
        r"""The distance :math:`D_0` from the start to the farthest point."""
        return self.constants.reach

    @property
    def diameter(self) -> float:
        """The diameter D of the set, plus what an inexact gauge adds."""
        diameter = self.constants.diameter
        return (
            2 * self.constants.R if diameter is None else diameter
        ) + self.constants.R * self.error

    @property
    def log_term(self) -> float:
        r"""The logarithmic term :math:`L = 1 + d\ln(1 + T/d)`."""
        return 1 + self.dimension * math.log1p(self.horizon / self.dimension)

    @property
    def beta(self) -> float:
        r"""The weight :math:`\min\{1/(G_f(1+\kappa)\max(D_0, R)), \sqrt{L/(2T)}/(G_fD)\}`."""
        steep = 1 / (self.slope * max(self.reach, self.constants.R))
        usual = math.sqrt(self.log_term / (2 * self.horizon)) / (self._G_f * self.diameter)
        return min(steep, usual)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`L/(2\beta) + \beta G_f^2D^2t` plus the oracle's error."""
        ahead = self.beta * (self._G_f * self.diameter) ** 2 * as_floats(t)
        return self.log_term / (2 * self.beta) + ahead + self._inexact(t)
