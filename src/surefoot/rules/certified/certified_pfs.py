r"""PFS with certified steps: feasible in every round from G_g alone, by Theorem D.

In the theorem, :math:`\alpha` is the start's slack, :math:`D_1 = \|x_1 - x^\star\|`,
:math:`D_0 = \max_t\|x_t - x_1\|`, :math:`L_t` the largest and :math:`S_t` the summed squared
norm of the cost gradients up to round t. Both distances are at most ``start_reach``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants, as_constants, polyak_rate
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import flag, parameters_of, positive, rounds
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number, Set
from surefoot.guarantees.bounds import SHRINK, StrictStart, check_strict_start
from surefoot.guarantees.guarantee import KnownHorizon
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge.certified_length import CertifiedLength
from surefoot.knowledge.errors import Errors
from surefoot.proposers.descent import Descent
from surefoot.rules.certified.arguments import ErrorBounds, hull_knowledge
from surefoot.sets import Ball

__all__ = ["CertifiedPFS", "FixedStep", "TheoremD"]

DIMENSIONS = 10_000
"""What the rounding of a fixed step is counted for, on a ball of radius R: so many and fewer."""


class CertifiedPFS(Certified):
    r"""Polyak feasibility steps, each no longer than its certified length.

    .. math::
        r_t        &= \rho_t/G_g - B_t \\
        1/\eta_t   &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), \|\nabla_t\|/r_t) \\
        y_t        &= x_t - \eta_t \nabla_t \\
        p_t        &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1}    &= \Pi_{\text{domain}}(p_t)

    with :math:`S_t = \sum_{s \le t}\|\nabla_s\|^2` and :math:`B_t` the distance to the tightened
    set that is left after the half-space projection (:mod:`surefoot.knowledge.certified_length`).

    Args:
        G_g: a bound on the norms of subgradients of g.
        domain: a set that contains the feasible set and holds every action.
        rho: :math:`\rho`, or c of :math:`\rho_t = c/\sqrt t`.
        decreasing: whether the margin decreases.
        sigma: a lower bound on the norms of subgradients near the boundary, if there is one.
        eta: the largest step; None for steps that follow the gradients.
        ratchet: whether a step never grows again.
        radius: R of the steps; half the diameter of the domain unless given.
        value_error: how wrong a reported g may be.
        slope_error: how wrong a reported subgradient may be.
        drift: how much g may change from round to round.
        evaluation_error: how wrong a computed g may be beyond rounding.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0.158114, 0.25    ])
    """

    made_of: ClassVar[MadeOf] = ((Descent,), (CertifiedLength,))
    declared_by: ClassVar[tuple[type, ...]] = (Descent, CertifiedLength, ErrorBounds, Parts)

    def __init__(
        self,
        *,
        G_g: float,
        domain: Set,
        rho: float,
        decreasing: bool = True,
        sigma: float | None = None,
        eta: float | None = None,
        ratchet: bool = True,
        radius: float | None = None,
        value_error: float = 0.0,
        slope_error: float = 0.0,
        drift: float = 0.0,
        evaluation_error: float = 0.0,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        errors = ErrorBounds(
            value_error=value_error,
            slope_error=slope_error,
            drift=drift,
            evaluation_error=evaluation_error,
        ).errors
        knowledge = CertifiedLength(
            G_g=G_g, domain=domain, rho=rho, decreasing=decreasing, sigma=sigma, errors=errors
        )
        if radius is None:
            radius = step_radius(domain)
        descent = Descent(radius=radius, eta=eta, ratchet=ratchet)
        super().__init__(proposer=descent, knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: TheoremD)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from G_g and the start, for any number of rounds: Theorem D.

        Args:
            constants: needs R, G_g and start_slack; uses the errors and the drift.
            horizon: unused; every tuning takes one.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        checks.check_possible_horizon(horizon)
        return cls._tune(decreasing_margin(constants), domain)

    @classmethod
    @tuning(lambda: TheoremD)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from G_g and the start, with a margin for a given horizon."""
        return cls._tune(fixed_margin(constants, horizon), domain)

    @classmethod
    @tuning(lambda: FixedStep)
    def bounded(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Feasible in every round, with the smallest regret bound in advance: Theorem D'.

        It is there for its bound: on most costs the regret of the other tunings is smaller.

        Args:
            constants: needs R, G_f, G_g and start_slack; uses start_reach and sigma.
            horizon: the number of rounds.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        return cls._tune(fixed_step(as_constants(constants), horizon), domain)

    @classmethod
    def _tune(cls, theorem: TheoremD | FixedStep, domain: Set | None) -> Tuned[Self]:
        knowledge = CertifiedLength(
            rho=theorem.rho,
            decreasing=theorem.decreasing,
            sigma=theorem.sigma,
            **hull_knowledge(theorem.constants, domain),
        )
        descent = Descent(radius=step_radius(knowledge.domain), eta=theorem.eta)
        return Tuned(cls.of(descent, knowledge), under_errors(theorem))


def step_radius(domain: Any) -> float:
    """Return R of the steps on a set: half of its diameter."""
    parameters_of(CertifiedLength)["domain"].check(domain)
    return float(domain.radius) if isinstance(domain, Ball) else 0.5 * bounded_diameter(domain)


def margin(constants: Constants) -> float:
    r"""Return the c of :math:`\rho_t = c/\sqrt t`: :math:`\tfrac12\sqrt{\alpha G_gR}`.

    A margin costs :math:`(D_1/\alpha)\sum\rho_t` in regret, and its short steps
    :math:`2R^2G_gL/\rho_T`: they balance where :math:`\rho \sim \sqrt{\alpha G_gR/T}`.
    """
    R, G_g, slack = as_constants(constants).require("R", "G_g", "start_slack", by="Theorem D")
    return 0.5 * math.sqrt(max(slack, 0.0) * G_g * R) or 1.0  # Theorem D rejects the slack


class TheoremD(StrictStart):
    r"""Certified steps: feasible in every round, from G_g and a strictly feasible start alone.

    For :math:`\rho_t = \min(\alpha/2, c/\sqrt t)` and
    :math:`\eta_t = \min(\eta_{t-1}, \sqrt2R/\sqrt{S_t}, r_t/\|\nabla_t\|)`:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le \max\Big\{\sqrt2R\sqrt{S_T}, \frac{2R^2G_gL_T}{\xi_*\rho_T}\Big\}
          + \sqrt2R\sqrt{S_T}
          + \frac{D_1c}{\alpha}\min\big\{2L_T\sqrt T, \sqrt{S_T(1+\ln T)}\big\} \\
          &\quad + \frac{2RD_1L_T}{\alpha}\Big[\frac{G_g}{\xi_*}\ln\frac{\rho_1}{\rho_T}
          + \frac{c(1+\ln T)}{2\sqrt2R}\Big],
        \qquad \xi_* = 1 - \sqrt{1 - \sigma_*^2/G_g^2},\ \sigma_* = \min(G_g, \alpha/(2D_0)).

    With a fixed :math:`\rho` the last bracket vanishes and the third term is
    :math:`(D_1\rho/\alpha)\min\{L_TT, \sqrt{S_TT}\}`. With a fixed limit :math:`\eta_0` on the step
    the first two terms are :math:`2R^2\max\{1/\eta_0, G_gL_T/(\xi_*\rho_T)\}` and
    :math:`(\eta_0/2)S_T`, and :math:`1/\eta_t` in the last bracket is at most
    :math:`1/\eta_0 + G_gL_T/(\xi_*\rho_t)`.

    Derived here; not in the paper. Proof. Feasibility is the certificate of every step
    (:mod:`surefoot.rules.certified.certified_pfs`). Near the boundary the local form (*) gives
    :math:`A_t \le (g_t+\rho_t)/\sigma_t` with
    :math:`\sigma_t = (\alpha-\rho_t)/D_0 \ge \sigma_*`, so the cut has
    :math:`d_t \ge \sigma_tA_t/G_g` and :math:`r_t \ge \xi_*\rho_t/G_g`; deeper inside
    :math:`r_t \ge \rho_t/G_g`. Hence
    :math:`1/\eta_t \le \max(\sqrt{S_t}/(\sqrt2R), G_gL_t/(\xi_*\rho_t))`. Put that into the
    bound in terms of what was observed (:class:`~surefoot.guarantees.ObservedRegret`), with
    :math:`\sum\|\nabla_t\|^2/\sqrt{S_t} \le 2\sqrt{S_T}`, :math:`\sum\rho_t \le 2c\sqrt T`,
    :math:`\sum\rho_t^2 \le c^2(1+\ln T)`,
    :math:`\sum(\rho_t-\rho_{t+1})/\rho_t \le \ln(\rho_1/\rho_T)` and
    :math:`\sum(\rho_t-\rho_{t+1})\sqrt t \le c\sum 1/(2t+1)`.

    The statement is one of real arithmetic; the rounding margin shortens steps by a few millionths,
    and rounds in which it leaves no room at all are not covered by the regret bound.

    Args:
        constants: needs R, G_g, start_slack; uses start_reach; G_f for an explicit regret bound.
        rho: c, or the fixed tightening.
        decreasing: whether the tightening falls as :math:`1/\sqrt t`.
        eta: the fixed limit on the step size, if there is one.
        horizon: the number of rounds, if rho was chosen for one.
    """

    name: ClassVar[str] = "Theorem D (certified steps)"
    feasibility_theorem: ClassVar[str] = "Theorem D (1)"
    observed_theorem: ClassVar[str] = "Theorem D (3)"
    advance_theorem: ClassVar[str] = "Theorem D (4)"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")
    sigma: ClassVar[None] = None  # only one that the steps themselves use makes them longer

    rho: float = positive()
    decreasing: bool = flag(default=True)
    eta: float | None = positive(default=None)
    horizon: int | None = rounds(default=None)

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2; None where G_f is not given."""
        return None if self.constants.G_f is None else 0.5

    def tightening(self, t: Number) -> Array:
        r"""Return :math:`\rho_t`."""
        t = np.asarray(t, dtype=np.float64)
        rho = self.rho / np.sqrt(t) if self.decreasing else np.full_like(t, self.rho)
        return np.minimum(0.5 * self._slack, rho)

    def regret_bound(self, t: Number) -> Array:
        """Return the explicit bound; inf where G_f is not known."""
        T = np.asarray(t, dtype=np.float64)
        c = self.constants
        if c.G_f is None:
            return self._at_worst(t)
        R, G_g, slack = c.R, self._G_g, self._slack
        reach, L, S = c.reach, c.G_f, c.G_f**2 * T
        slow = G_g * L / polyak_rate(min(0.5 * slack / reach, G_g), G_g)  # G_g L / xi_*
        last = self.tightening(T)
        if self.eta is None:
            first = np.maximum(math.sqrt(2) * R * np.sqrt(S), 2 * R**2 * slow / last)
            second = math.sqrt(2) * R * np.sqrt(S)
        else:
            first = 2 * R**2 * np.maximum(1 / self.eta, slow / last)
            second = 0.5 * self.eta * S
        if not self.decreasing:
            tight = reach * self.rho / slack * np.minimum(L * T, np.sqrt(S * T))
            return first + second + tight
        log = 1 + np.log(T)
        tight = reach * self.rho / slack * np.minimum(2 * L * np.sqrt(T), np.sqrt(S * log))
        start = self.tightening(1.0)
        if self.eta is None:
            usual = self.rho * L * log / (2 * math.sqrt(2) * R)
        else:
            usual = (start - last) / self.eta
        falling = slow * np.log(start / last) + usual
        return first + second + tight + 2 * R * reach / slack * falling


def decreasing_margin(constants: Constants) -> TheoremD:
    r"""Tune by Theorem D, :math:`\rho_t = \min(\alpha/2, \sqrt{\alpha G_gR/(4t)})`; no horizon.

    Uses R, G_g and the start; G_f only for the number in the regret bound, and the horizon not at
    all: all tunings take one. The margin is chosen for costs whose mean stays.
    """
    return TheoremD(constants, margin(constants))


def fixed_margin(constants: Constants, horizon: int) -> TheoremD:
    r"""Tune by Theorem D, the fixed :math:`\rho = \min(\alpha/2, \sqrt{\alpha G_gR/(4T)})`."""
    rho = margin(constants) / math.sqrt(checks.check_horizon(horizon))
    return TheoremD(constants, rho, decreasing=False, horizon=horizon)


class FixedStep(KnownHorizon, StrictStart):
    r"""Certified steps that are never shortened: feasible in every round, with a bound in advance.

    For :math:`0 < \rho \le \alpha/2`, :math:`\sigma_\rho = \min(G_g, (\alpha - \rho)/D)`, or a
    known :math:`\sigma` where that is larger, :math:`\xi = 1 - \sqrt{1 - \sigma_\rho^2/G_g^2}` and
    :math:`\eta = \xi\rho/(G_gG_f)`:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le \frac{((1 - \rho/\alpha)D)^2}{2\eta} + \frac\eta2G_f^2T
          + G_f\frac{D\rho}\alpha T .

    With a known :math:`\sigma`, which must hold where :math:`g \ge -\rho` and which the steps then
    use, also with :math:`D^2/(2\eta)` and :math:`G_f\rho T/\sigma` for the first and the last term.
    Derived here; docs/lengths.md has the proof. The step is shorter by what rounding can take off a
    certified length in up to 10,000 dimensions.

    Args:
        constants: needs R, G_f, G_g and start_slack; uses start_reach.
        horizon: the number of rounds that rho was chosen for.
        rho: the tightening, at most half of start_slack.
        sigma: the known lower bound on slopes that the steps use; None where they use none.
    """

    name: ClassVar[str] = "Theorem D' (a fixed step)"
    feasibility_theorem: ClassVar[str] = "Theorem D (1)"
    observed_theorem: ClassVar[str] = "Theorem D (3)"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_f", "G_g")
    regret_exponent: ClassVar[float] = 0.5
    decreasing: ClassVar[bool] = False

    rho: float = positive()
    sigma: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_most(0.5 * self._slack, "half of start_slack", rho=self.rho)
        if self.sigma is not None:
            (level,) = self.constants.require("epsilon", by=self.name)
            checks.at_most(level, "epsilon", rho=self.rho)
        if not self.eta > 0:
            raise InvalidValueError(
                f"{self.name} needs a margin above rounding for these constants, got "
                f"rho = {self.rho:g}"
            )

    @cached_property
    def _margin(self) -> FixedMargin:
        return FixedMargin.of(self.constants)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi\rho/(G_gG_f)`, less rounding; 0 where that leaves nothing."""
        return self._margin.step(self.rho, self.sigma)

    def regret_bound(self, t: Number) -> Array:
        """Return the bound of the theorem."""
        T = np.asarray(t, dtype=np.float64)
        fixed, linear = self._margin.bound(self.rho, self.sigma)
        return fixed + linear * T

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Those of a start; sigma at the level of the margin, where the steps use it."""
        if self.sigma is None:
            return super().premises
        near = Premise("subgradient near the boundary", "sigma", self.sigma, level=self.rho)
        return (*super().premises, near)


class FixedMargin(NamedTuple):
    """What the bound of a fixed step is made of, for any margin.

    Attributes:
        reach: D.
        G_f: the largest norm of a cost gradient.
        G_g: that of a subgradient of g.
        slack: that of the start.
        noise: delta of docs/lengths.md.
        error: e there.
        kappa: kappa there.
    """

    reach: float
    G_f: float
    G_g: float
    slack: float
    noise: float
    error: float
    kappa: float

    @classmethod
    def of(cls, constants: Constants) -> FixedMargin:
        """Return that of some constants."""
        needed = ("G_f", "G_g", "start_slack")
        G_f, G_g, slack = constants.require(*needed, by=FixedStep.name)
        errors = Errors(evaluation=constants.evaluation_error or 0.0)
        ball = Ball(constants.R)
        knowledge = CertifiedLength(G_g=G_g, domain=ball, rho=1.0, errors=errors)
        margins = (float(size) for size in knowledge.margins(DIMENSIONS))
        return cls(constants.reach, G_f, G_g, slack, *margins)

    def step(self, rho: float, sigma: float | None) -> float:
        r"""Return the step that a margin never shortens; 0 where rounding leaves none.

        In numbers a certified length is at least
        :math:`(\rho/G_g)(1 - \sqrt{1 - \sigma^2/G_g^2 + \kappa + 8\delta/\rho}) - e`.
        """
        G_g = self.G_g
        smallest_norm = min(G_g, max((self.slack - rho) / self.reach, sigma or 0.0))
        square = (smallest_norm / G_g) ** 2
        more = self.kappa + 8 * self.noise / rho
        # 1 - sqrt(1 - square + more), without a difference of close numbers.
        xi = (square - more) / (1 + math.sqrt(max(1 - square, 0.0) + more))
        return max(SHRINK * (xi * rho / G_g - self.error) / self.G_f, 0.0)

    def bound(self, rho: float, sigma: float | None) -> tuple[float, float]:
        """Return the bound's fixed part, and what a round adds; infinite without a step."""
        eta, share, D = self.step(rho, sigma), rho / self.slack, self.reach
        if not eta > 0:
            return math.inf, math.inf
        per_round = 0.5 * eta * self.G_f**2
        by_start = (((1 - share) * D) ** 2 / (2 * eta), per_round + self.G_f * D * share)
        if sigma is None or D / self.slack <= 1 / sigma:
            return by_start
        return D**2 / (2 * eta), per_round + self.G_f * rho / sigma


def fixed_step(constants: Constants, horizon: int) -> FixedStep:
    r"""Tune by Theorem D': the margin with the smallest bound, by golden section on its logarithm.

    Any margin is sound. Where a sigma is known the smaller of two bounds counts, with it and
    without.
    """
    T, margin = checks.check_horizon(horizon), FixedMargin.of(constants)
    check_strict_start(margin.slack, FixedStep.name)
    most = 0.5 * margin.slack
    best = _tune_margin(margin, None, most, T)
    if constants.sigma is not None and constants.epsilon is not None:
        level = min(most, constants.epsilon)
        best = min(best, _tune_margin(margin, constants.sigma, level, T), key=lambda f: f[0])
    return FixedStep(constants, T, *best[1:])


def _tune_margin(
    margin: FixedMargin, sigma: float | None, most: float, T: int
) -> tuple[float, float, float | None]:
    """Return the smallest bound with its margin, which is at most so much, and the sigma."""

    def bound(log: float) -> float:
        fixed, linear = margin.bound(math.exp(log), sigma)
        return fixed + linear * T

    scale = math.sqrt(margin.slack * margin.reach * margin.G_g / T)
    high = math.log(most)
    log = golden_section(bound, min(high, math.log(1e-3 * scale)), high)
    rho = min(math.exp(log), most)
    rho = min((rho, most), key=lambda rho: bound(math.log(rho)))
    return bound(math.log(rho)), rho, sigma


def golden_section(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function of one minimum is smallest; infinite values are left of it.

    >>> round(golden_section(lambda x: (x - 2.0) ** 2, 0.0, 5.0), 6)
    2.0
    """
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    lower, upper = high - ratio * (high - low), low + ratio * (high - low)
    at_lower, at_upper = f(lower), f(upper)
    while high - low > 1e-9:
        if at_lower == math.inf or at_upper < at_lower:
            low, lower, at_lower = lower, upper, at_upper
            upper = low + ratio * (high - low)
            at_upper = f(upper)
        else:
            high, upper, at_upper = upper, lower, at_lower
            lower = high - ratio * (high - low)
            at_lower = f(lower)
    return 0.5 * (low + high)
