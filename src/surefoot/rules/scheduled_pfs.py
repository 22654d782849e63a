r"""Polyak feasibility steps whose tightening and step size follow one schedule, or doubling ones.

Notation as in the paper: :math:`X_\rho = \{g \le -\rho\}`, :math:`\gamma = 1 - \sigma^2/G_g^2`,
:math:`\xi = 1 - \sqrt\gamma`, :math:`\alpha` = ``start_slack``, :math:`D_0` = ``start_reach``;
:math:`\ell_t = \eta_t\|\nabla_t\|` is the length of a step, :math:`L_t` the largest and :math:`S_t`
the summed squared norm of the gradients up to round t. All of it is derived here; none of it is in
the paper.

**Theorem E1 (feasibility).** Let :math:`\rho_t` not rise, :math:`\rho_1 \le \epsilon`,
:math:`g(x_1) \le -\rho_1` and :math:`\ell_t \le \xi\rho_t/G_g`. Then :math:`g(x_t) \le 0` in every
round, without a horizon and whatever the steps are for. Proof: let P be the projection onto
:math:`H_t = \{p : g_t + s_t^\top(p - x_t) + \rho_t \le 0\}` and then onto the ball. It does not
expand and leaves :math:`X_{\rho_t}` where it is, so by Lemma 2 of the paper

.. math::
    \mathrm{dist}(x_{t+1}, X_{\rho_t}) \le \|P(y_t) - P(x_t)\| + \mathrm{dist}(P(x_t), X_{\rho_t})
    \le \ell_t + \sqrt\gamma\,\mathrm{dist}(x_t, X_{\rho_t}).

From the nearest point of :math:`X_{\rho_t}`, g rises by at most G_g a unit of length: all within
:math:`(\rho_t - \rho_{t+1})/G_g` of it on the way to :math:`x_{t+1}` is in :math:`X_{\rho_{t+1}}`.
So :math:`\mathrm{dist}(x_t, X_{\rho_t}) \le \rho_t/G_g` is handed on from round to round, and
:math:`g(x_t) \le G_g\,\mathrm{dist}(x_t, X_{\rho_t}) - \rho_t \le 0`.

**Theorem E2 (regret).** If besides :math:`\eta_t` does not rise, then for every T and
:math:`x^\star \in X`

.. math::
    \mathrm{Reg}_T \le \frac{2R^2}{\eta_T} + \frac12\sum_{t \le T}\eta_t\|\nabla_t\|^2
      + \kappa\sum_{t \le T}\rho_t\|\nabla_t\|
      + 2R\kappa\sum_{t < T}\frac{\rho_t - \rho_{t+1}}{\eta_t}

where :math:`\kappa` is how far the best action must move for a unit of tightening. Proof: let
:math:`u_t = (1 - \rho_t/\epsilon)x^\star + (\rho_t/\epsilon)z` with z the point of
:math:`X_\epsilon` nearest to :math:`x^\star`; by convexity :math:`g(u_t) \le -\rho_t`, so
:math:`u_t` is in :math:`H_t` and in the ball, and by Lemma 1 :math:`\|z - x^\star\| \le
\epsilon/\sigma`: :math:`\|u_t - x^\star\| \le \kappa\rho_t` and :math:`\|u_{t+1} - u_t\| \le
\kappa(\rho_t - \rho_{t+1})` with :math:`\kappa = 1/\sigma`. The start is as good a z, with
:math:`\alpha` for :math:`\epsilon`: then :math:`\kappa = D_0/\alpha`, and the smaller counts. Both
projections bring the action closer to :math:`u_t`, hence

.. math::
    \langle\nabla_t, x_t - u_t\rangle
    \le \frac{\|x_t - u_t\|^2 - \|x_{t+1} - u_t\|^2}{2\eta_t} + \frac{\eta_t}{2}\|\nabla_t\|^2.

Going on with :math:`u_{t+1}` in the second square costs at most :math:`4R\|u_{t+1} - u_t\|`; summed
by parts, with :math:`\|x_t - u_t\| \le 2R`, the squares leave :math:`2R^2/\eta_T`. Finally
:math:`\langle\nabla_t, u_t - x^\star\rangle \le \|\nabla_t\|\kappa\rho_t`. Rounds before the first
gradient that is not 0 have :math:`1/\eta_t = 0`.

**Which sigma.** A given sigma holds for every :math:`\rho \le \epsilon`. The start gives
:math:`\sigma_\rho = (\alpha - \rho)/D_0` for every tightening up to :math:`\rho < \alpha`
(:meth:`surefoot.core.constants.Constants.local_sigma`). So without a given sigma schedules begin at
:math:`\rho_1 \le \alpha/2`. The theorem takes the larger one.

Rounding: steps are a billionth shorter than allowed (``SHRINK``).
"""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import (
    dot,
    freeze,
    maximum,
    minimum,
    number_like,
    sqrt,
    squared_and_norm,
    where,
)
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts, Span
from surefoot.core.parameters import Declared, flag, nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Source
from surefoot.guarantees.bounds import SHRINK, FromStart, StronglyConvex, as_floats
from surefoot.guarantees.guarantee import EveryRound, PossibleHorizon
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.pfs import Corollary1, Theorem1
from surefoot.sets import Ball, project_halfspace

__all__ = [
    "DoublingHorizon",
    "DoublingPFS",
    "ScheduledPFS",
    "ScheduledSteps",
    "StronglyConvexSchedule",
    "UnknownGradients",
    "UnknownHorizon",
]


class ScheduledState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        rounds: the number of rounds so far.
        largest: the largest norm of a cost gradient.
        squares: the sum of their squared norms.
    """

    x: Array
    rounds: Counts = 0.0
    largest: Number = 0.0
    squares: Annotated[Number, Span(0)] = 0.0


class ScheduledPFS(Declared, OneConstraint):
    r"""Polyak feasibility steps with a tightening that falls, and a step size in step with it.

    .. math::
        \rho_t  &= \rho/(t + t_0)^p \\
        \eta_t  &= s\rho_t, \quad\text{or } s\rho_t/L_t, \quad\text{and at most } c/\sqrt{S_t} \\
        y_t     &= x_t - \eta_t \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    with :math:`L_t` the largest norm and :math:`S_t` the sum of the squared norms of the gradients
    up to round t, its own included. A step is then no longer than :math:`s\rho_t` times G_f, or
    than :math:`s\rho_t` itself: that is what keeps the actions feasible while the tightening falls
    (Theorem E1 in :mod:`surefoot.rules.scheduled_pfs`).

    Args:
        rho: tightening before it falls, :math:`\rho > 0`.
        step_size: s, the step size for a unit of tightening; a length for one where ``running``.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.
        power: p, at least 0: 0 for a tightening that stays, 1/2, or 1 for strongly convex costs.
        offset: :math:`t_0 \ge 0`.
        running: whether the step size is divided by :math:`L_t`, so that G_f is not needed.
        adagrad: c, if the step size is to be limited as in AdaGrad-norm.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = ScheduledPFS(rho=0.1, step_size=1.0, domain=Ball(1.0))
        >>> state = ScheduledState(np.array([0.0, 0.4]), 3.0, 0.0, 0.0)  # the fourth round
        >>> feedback = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, feedback).x  # both the step and the tightening are 0.05
        array([0.05, 0.45])
    """

    state = ScheduledState
    source: ClassVar[Source] = Source("Surefoot", "derived here")

    rho: Real = positive()
    step_size: Real = positive()
    domain: Ball = projectable()
    power: Real = nonnegative(default=0.5)
    offset: Real = nonnegative(default=0.0)
    running: bool = flag(default=False)
    adagrad: Real | None = positive(default=None)

    def next_state(self, state: ScheduledState, grad: Array, g: Number, s: Array) -> ScheduledState:
        x, rounds, largest, squares = state
        t = rounds + 1.0
        rho = self.rho / (t + self.offset) ** self.power
        squared, size = squared_and_norm(grad)
        largest, squares = maximum(size, largest), squares + squared
        # Before the first nonzero gradient the step size is irrelevant: it is multiplied by 0.
        eta = self.step_size * rho
        if self.running:
            eta = eta / where(largest > 0, largest, 1.0)
        if self.adagrad is not None:
            eta = minimum(eta, self.adagrad / sqrt(where(squares > 0, squares, 1.0)))
        y = x - eta * grad
        p = project_halfspace(y, g + dot(s, y - x) + rho, s)
        return ScheduledState(freeze(self.domain.project(p)), t, largest, squares)

    @classmethod
    @tuning(lambda: UnknownHorizon)
    def unknown_horizon(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, for any number of rounds."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, UnknownHorizon(constants), domain)

    @classmethod
    @tuning(lambda: UnknownGradients)
    def unknown_gradients(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, without a bound on the cost gradients."""
        return Tuned.of(cls, UnknownGradients(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: UnknownGradients)
    def adaptive(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, with steps from the observed gradients."""
        return Tuned.of(cls, UnknownGradients(constants, horizon=horizon, adaptive=True), domain)

    @classmethod
    @tuning(lambda: StronglyConvexSchedule)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible in every round with logarithmic regret, for strongly convex costs."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, StronglyConvexSchedule(constants), domain)


class ScheduledSteps(FromStart):
    r"""Theorems E1 and E2 for :math:`\rho_t = \rho/(t + t_0)^p` and a step that follows it.

    The step is :math:`\eta_t = s\rho_t`, or :math:`s\rho_t/L_t` where it goes by the largest
    gradient so far (``running``); and no longer than :math:`c/\sqrt{S_t}` where that is asked for.
    """

    running: ClassVar[bool] = False
    offset: ClassVar[float] = 0.0
    """The number :math:`t_0` of rounds by which the schedule is shifted."""
    adagrad: ClassVar[float | None] = None
    r"""The constant of the limit :math:`c/\sqrt{S_t}` on the step; None without a limit."""
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")

    @property
    @abstractmethod
    def power(self) -> float:
        """The power p at which the tightening falls."""

    @property
    def rho(self) -> float:
        """The tightening before it falls: the level that the start and sigma allow."""
        return self.level

    @property
    @abstractmethod
    def step_size(self) -> float:
        """The step s per unit of tightening."""

    def tightening(self, t: Number) -> Array:
        r"""Return :math:`\rho_t`; t may be an array."""
        return self.rho / (as_floats(t) + self.offset) ** self.power

    def observed_bound(self, sizes: Array) -> Array:
        r"""Return Theorem E2 on what was observed, after each round.

        Args:
            sizes: :math:`\|\nabla_t\|`, ``(T,)``; or ``(T, B)``, a column for each run.
        """
        sizes = np.asarray(sizes, dtype=np.float64)
        t = np.arange(1.0, len(sizes) + 1).reshape(-1, *[1] * (sizes.ndim - 1))
        rho, squares = self.tightening(t), np.cumsum(sizes**2, axis=0)
        largest = np.maximum.accumulate(sizes, axis=0)
        # 1/eta, which is 0 before the first gradient: its step size is irrelevant.
        inverse_eta = (largest if self.running else np.ones_like(sizes)) / (self.step_size * rho)
        if self.adagrad is not None:
            inverse_eta = np.maximum(inverse_eta, np.sqrt(squares) / self.adagrad)
        steps = np.divide(sizes**2, inverse_eta, out=np.zeros_like(sizes), where=inverse_eta > 0)
        falls = (rho - self.tightening(t + 1)) * inverse_eta
        before = np.cumsum(falls, axis=0) - falls
        R, cost = self.constants.R, self.cost
        return (
            2 * R**2 * inverse_eta
            + 0.5 * np.cumsum(steps, axis=0)
            + cost * np.cumsum(rho * sizes, axis=0)
            + 2 * R * cost * before
        )

    @property
    def premises(self) -> tuple[Premise, ...]:
        """G_g, sigma and the start; G_f, only for the regret unless the steps depend on it."""
        return self._and_rest(
            Premise("constraint subgradient", "G_g", self._G_g),
            Premise("subgradient near the boundary", "sigma", self.sigma, level=self.level),
            Premise("start", "the slack counted on", self._slack),
            only_regret=self.running,
        )


class _GivenGradients(ScheduledSteps):
    """A schedule for any number of rounds whose steps use G_f."""

    needed: ClassVar[tuple[str, ...]] = ("G_f",)
    horizon = None

    @property
    def step_size(self) -> float:
        r"""The step :math:`\xi/(G_fG_g)`, slightly shorter."""
        return SHRINK * self.xi / (self._G_f * self._G_g)


class UnknownHorizon(_GivenGradients):
    r"""No horizon: :math:`\rho_t = a/\sqrt t`, :math:`\eta_t = s\rho_t`, :math:`s = \xi/(G_fG_g)`.

    With :math:`a = \min(\alpha, \epsilon)`, or :math:`\alpha/2` where the start alone is known:

    .. math::
        g(x_t) \le 0 \ \forall t, \qquad
        \mathrm{Reg}_T \le \Big(\frac{2R^2}{sa} + saG_f^2 + 2\kappa aG_f\Big)\sqrt T
                           + \frac{R\kappa}{s}\ln T \quad \forall T.

    Proof: E1, and E2 with :math:`\sum 1/\sqrt t \le 2\sqrt T`. In its last term
    :math:`(\rho_t - \rho_{t+1})/\eta_t = (1 - \sqrt{t/(t+1)})/s`; from
    :math:`\sqrt{1 + 1/t} \le 1 + 1/(2t)` that is at most :math:`1/((2t+1)s)`, and since 1/x is
    convex, :math:`1/(t + 1/2) \le \ln((t+1)/t)`: the sum is at most :math:`\ln T/(2s)`.

    Here a comparator that does not move would not do: the first tightening is as large as the
    start allows, and :math:`T\rho_1` is linear.

    Args:
        constants: needs R, G_f, G_g, start_slack; uses sigma with epsilon, start_reach.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> anytime = UnknownHorizon(c)
        >>> anytime.rho, round(anytime.step_size, 6), float(anytime.regret_bound(100).round(3))
        (0.25, 0.5, 184.21)
    """

    name: ClassVar[str] = "Theorem E2, unknown horizon"
    regret_exponent: ClassVar[float] = 0.5
    power: ClassVar[float] = 0.5

    def regret_bound(self, t: Number) -> Array:
        """Return the bound above."""
        T = as_floats(t)
        R, G_f = self.constants.require("R", "G_f", by=self.name)
        a, s, cost = self.rho, self.step_size, self.cost
        slope = 2 * R**2 / (s * a) + s * a * G_f**2 + 2 * cost * a * G_f
        return slope * np.sqrt(T) + R * cost / s * np.log(T)


class UnknownGradients(PossibleHorizon, ScheduledSteps):
    r"""No G_f: steps follow the largest gradient so far, :math:`\eta_t = s\rho_t/L_t`, s = xi/G_g.

    The round's own gradient is counted, so :math:`\ell_t \le s\rho_t`, and :math:`\eta_t` does not
    rise: E1 and E2 hold, and G_f is needed for neither. Where ``adaptive`` steps have the limit
    :math:`c/\sqrt{S_t}` of AdaGrad-norm too, :math:`c = \sqrt2R`; else :math:`c = \infty`. With the
    horizon a fixed :math:`\rho = \min\{a, R\sqrt{2/(s(s/2 + \kappa)T)}\}`, and

    .. math::
        \mathrm{Reg}_t \le 2R^2\max\Big\{\frac{L_t}{s\rho}, \frac{\sqrt{S_t}}{c}\Big\}
          + \min\Big\{c\sqrt{S_t}, \frac{s\rho}{2}\sum\|\nabla_t\|\Big\}
          + \kappa\rho\sum\|\nabla_t\|

    where :math:`\sum\|\nabla_t\| \le \sqrt{tS_t}`: with :math:`\rho` of the order of
    :math:`1/\sqrt T` only the limit on the length of a step, :math:`L_T/(s\rho)`, does not fall
    with smaller gradients. This :math:`\rho` minimises the bound for gradients of one size and
    :math:`c = \infty`, whatever the size. Without a horizon :math:`\rho_t = a/\sqrt t`, and

    .. math::
        \mathrm{Reg}_T \le{}& 2R^2\max\Big\{\frac{L_T\sqrt T}{sa}, \frac{\sqrt{S_T}}{c}\Big\}
          + \min\{c\sqrt{S_T}, saL_T\sqrt T\} \\
          &+ \kappa a\min\{2L_T\sqrt T, \sqrt{S_T(1+\ln T)}\}
          + R\kappa L_T\max\Big\{\frac1s, \frac ac\Big\}\ln T.

    Proof: E2 with :math:`1/\eta_t = \max\{L_t/(s\rho_t), \sqrt{S_t}/c\}`. The second term is at
    most :math:`\frac12\sum s\rho_t\|\nabla_t\|^2/L_t \le \frac12\sum s\rho_t\|\nabla_t\|` and
    :math:`\frac c2\sum\|\nabla_t\|^2/\sqrt{S_t} \le c\sqrt{S_T}`; the third by Cauchy and Schwarz
    with :math:`\sum\rho_t^2 \le a^2(1 + \ln T)`; and with :math:`\sqrt{S_t} \le L_T\sqrt t` the
    terms of the last are at most
    :math:`(1 - \sqrt{t/(t+1)})L_T\max\{1/s, a/c\}`, whose sum is as in :class:`UnknownHorizon`.

    The explicit bound puts G_f for :math:`L_T` and :math:`G_f^2T` for :math:`S_T`; where no G_f is
    known it is infinite, and ``observed_bound`` tells after the fact.

    Args:
        constants: needs R, G_g, start_slack; uses sigma with epsilon, start_reach.
        horizon: T, if it is known.
        adaptive: whether steps are limited as in AdaGrad-norm too.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> bound = UnknownGradients(c, horizon=100)
        >>> round(bound.rho, 6), float(bound.regret_bound(100))
        (0.11547, inf)
        >>> float(bound.observed_bound(np.full(100, 2.0))[-1].round(3))
        69.282
    """

    regret_exponent: ClassVar[float] = 0.5
    running: ClassVar[bool] = True

    adaptive: bool = flag(default=False)

    @property
    def name(self) -> str:
        """Theorem E2 with the running maximum of the gradients."""
        return "Theorem E2, " + ("AdaGrad-norm" if self.adaptive else "unknown gradients")

    @property
    def power(self) -> float:
        """The power 0 with a horizon, else 1/2."""
        return 0.5 if self.horizon is None else 0.0

    @property
    def rho(self) -> float:
        """The level a; with a horizon, the minimiser of the bound if it is smaller."""
        if self.horizon is None:
            return self.level
        s, R = self.step_size, self.constants.R
        best = R * math.sqrt(2 / (s * (s / 2 + self.cost) * self.horizon))
        return min(self.level, best)

    @property
    def step_size(self) -> float:
        r"""The step :math:`\xi/G_g`, slightly shorter."""
        return SHRINK * self.xi / self._G_g

    @property
    def adagrad(self) -> float | None:  # type: ignore[override]
        r"""The constant :math:`\sqrt2R` if adaptive, else None."""
        return math.sqrt(2) * self.constants.R if self.adaptive else None

    def regret_bound(self, t: Number) -> Array:
        """Return the bounds above; infinite if G_f is unknown."""
        T = as_floats(t)
        L = self.constants.G_f
        if L is None:
            return np.full_like(T, math.inf)
        R, s, cost = self.constants.R, self.step_size, self.cost
        c = math.inf if self.adagrad is None else self.adagrad
        root, last = L * np.sqrt(T), self.tightening(T)
        first = 2 * R**2 * np.maximum(L / (s * last), root / c)
        if self.horizon is not None:
            second = np.minimum(c * root, s * last / 2 * L * T)
            return first + second + cost * last * L * T
        a = self.rho
        second = np.minimum(c * root, s * a * root)
        third = cost * a * root * np.minimum(2.0, np.sqrt(1 + np.log(T)))
        return first + second + third + R * cost * L * max(1 / s, a / c) * np.log(T)


class StronglyConvexSchedule(StronglyConvex, _GivenGradients):
    r"""Costs of strong convexity H: regret O(log T), feasible in every round, no horizon.

    With :math:`C = G_fG_g/(\xi H)`, :math:`t_0 = \lceil C/a\rceil - 1`,
    :math:`\rho_t = C/(t + t_0)` and :math:`\eta_t = 1/(H(t + t_0))`:

    .. math::
        g(x_t) \le 0 \ \forall t, \qquad
        \mathrm{Reg}_T \le 2Ht_0R^2 + 2RH\kappa C\ln\frac{T+t_0}{1+t_0}
          + \Big(\frac{G_f^2}{2H} + \kappa G_fC\Big)
            \Big(\frac1{1+t_0} + \ln\frac{T+t_0}{1+t_0}\Big).

    Here G_f must bound the gradients on the feasible set, not only where they are seen. Proof:
    :math:`\rho_1 \le a` and :math:`\ell_t \le \xi\rho_t/G_g`, so E1 holds. With
    :math:`\tau = t + t_0` and :math:`u_t` as in E2, strong convexity takes
    :math:`\frac H2\|x_t - u_t\|^2` off the regret of the round against :math:`u_t`, which is then
    at most :math:`\frac{H(\tau-1)}2\|x_t-u_t\|^2 - \frac{H\tau}2\|x_{t+1}-u_t\|^2
    + \frac{G_f^2}{2H\tau}`. Going on with :math:`u_{t+1}` costs
    :math:`2RH\tau\|u_{t+1}-u_t\| \le 2RH\kappa C/(\tau+1)`, the rest telescopes to
    :math:`\frac{Ht_0}2(2R)^2`; and :math:`f_t(u_t) - f_t(x^\star) \le G_f\kappa\rho_t`. Sums of
    1/tau are below integrals.

    Args:
        constants: needs R, G_f, G_g, strong_convexity, start_slack; uses sigma with epsilon,
            start_reach.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25,
        ...               strong_convexity=0.5)
        >>> bound = StronglyConvexSchedule(c)
        >>> round(bound.rho, 6), bound.offset, float(bound.regret_bound(1000).round(1))
        (4.0, 16.0, 82.2)
    """

    name: ClassVar[str] = "Theorem E2, strongly convex costs"
    power: ClassVar[float] = 1.0

    @property
    def rho(self) -> float:
        """The constant C, slightly larger, since the steps 1/(H(t + t_0)) are fixed."""
        return 1 / (self.strong_convexity * self.step_size)

    @property
    def offset(self) -> float:  # type: ignore[override]
        r"""The number :math:`t_0` of rounds by which the schedule is shifted."""
        return float(max(math.ceil(self.rho / self.level) - 1, 0))

    def regret_bound(self, t: Number) -> Array:
        """Return the bound above."""
        T = as_floats(t)
        R, G_f, H = self.constants.R, self._G_f, self.strong_convexity
        t0, cost, C = self.offset, self.cost, self.rho
        logarithm = np.log((T + t0) / (1 + t0))
        drift = 2 * R * H * cost * C * logarithm
        each = (G_f**2 / (2 * H) + cost * G_f * C) * (1 / (1 + t0) + logarithm)
        return 2 * H * t0 * R**2 + drift + each


class DoublingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action, to which every phase returns.
        length: rounds of this phase, a power of 2.
        played: the number of rounds of the phase so far.
    """

    x: Array
    start: Array
    length: Counts
    played: Counts


class DoublingPFS(Declared, OneConstraint):
    r"""Polyak feasibility steps for 1, 2, 4, ... rounds, each time from the first action.

    In a phase of n rounds

    .. math::
        y_t     &= x_t - (\eta/\sqrt n) \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho/\sqrt n \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t), \quad\text{after the last round } x_1

    The textbook way to do without a horizon; :class:`surefoot.rules.ScheduledPFS` does without
    the restarts.

    Args:
        eta: step size of the first phase, :math:`\eta > 0`.
        rho: tightening of the first phase, :math:`\rho \ge 0`.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = DoublingPFS(eta=0.2, rho=0.1, domain=Ball(1.0))
        >>> x1 = np.array([0.0, 0.25])
        >>> feedback = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 2.0), feedback).x
        array([0.1 , 0.45])
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 3.0), feedback)
        DoublingState(x=array([0.  , 0.25]), start=array([0.  , 0.25]), length=8.0, played=0.0)
    """

    state = DoublingState
    source: ClassVar[Source] = Source("Surefoot", "derived here")

    eta: Real = positive()
    rho: Real = nonnegative()
    domain: Ball = projectable()

    def first_state(self, x1: Array) -> DoublingState:
        return DoublingState(x1, x1, number_like(x1, 1.0), number_like(x1, 0.0))

    def next_state(self, state: DoublingState, grad: Array, g: Number, s: Array) -> DoublingState:
        x, start, length, played = state
        root = sqrt(length)
        y = x - (self.eta / root) * grad
        p = project_halfspace(y, g + dot(s, y - x) + self.rho / root, s)
        new, played = self.domain.project(p), played + 1.0
        over = played >= length
        return DoublingState(
            # A NaN run stays NaN: 0 times NaN is NaN.
            freeze(where(over, start + 0.0 * new, new)),
            start,
            where(over, 2.0 * length, length),
            where(over, 0.0 * played, played),
        )

    @classmethod
    @tuning(lambda: DoublingHorizon)
    def anytime(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, for any number of rounds, by doubling the horizon."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, DoublingHorizon(constants), domain)


class DoublingHorizon(EveryRound):
    r"""Corollary 1 repeated for 1, 2, 4, ... rounds, each time from the start.

    No horizon is needed, every round is feasible, and for every T

    .. math::
        \mathrm{Reg}_T \le \frac{\sqrt2}{\sqrt2 - 1}\,C\sqrt T \le 3.42\,C\sqrt T

    with :math:`C\sqrt T` the bound of Corollary 1. Proof: each phase begins at a strictly feasible
    point with parameters of its own, and Corollary 1 speaks of it alone. Against one comparator
    for all rounds the regrets of the phases add up; the last, if it is cut short, has at most
    Theorem 1's bound for as many rounds. With :math:`2^K \le T`,
    :math:`\sum_{k \le K} C2^{k/2} \le C2^{K/2}\sqrt2/(\sqrt2 - 1)`.

    :meth:`regret_bound` is the sum itself, which is smaller.

    Args:
        constants: as for Corollary 1: R, G_f, G_g, sigma, epsilon, start_slack.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> corollary = Corollary1(c, 1023).regret_bound(1023)
        >>> float((DoublingHorizon(c).regret_bound(1023) / corollary).round(2))
        2.34
    """

    name: ClassVar[str] = "Corollary 1, doubling"
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g", "sigma", "epsilon", "start_slack")
    regret_exponent: ClassVar[float] = 0.5
    horizon = None

    @cached_property
    def _first(self) -> Theorem1:
        """Corollary 1 for one round; the parameters of other phases are multiples of its."""
        return Corollary1(self.constants, 1).theorem

    @property
    def rho(self) -> float:
        """The tightening of the first phase."""
        return self._first.rho

    @property
    def eta(self) -> float:
        """The step size of the first phase."""
        return self._first.eta

    def regret_bound(self, t: Number) -> Array:
        """Sum Corollary 1 of the phases that have ended and Theorem 1 of the one going on."""
        t = as_floats(t)
        # t = mantissa 2^exponent with a mantissa in [1/2, 1): exact, as a logarithm is not.
        length = np.exp2(np.frexp(t)[1] - 1.0)
        root = np.sqrt(length)
        whole = self._first.regret_bound(1.0)
        at_once = self._first.regret_bound(0.0)  # 2R^2/eta, which does not grow with the rounds
        past_phases = whole * (root - 1) / (math.sqrt(2) - 1)
        return past_phases + at_once * root + (whole - at_once) / root * (t - length + 1)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Corollary 1 except the horizon."""
        return tuple(p for p in self._first.premises if p.quantity != "horizon")
