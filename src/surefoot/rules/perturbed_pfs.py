r"""Theorems on Polyak feasibility steps if readings have errors or the constraint drifts.

They tune :class:`surefoot.rules.PFS`. Notation as in :mod:`surefoot.rules.scheduled_pfs`:
:math:`a_t = \mathrm{dist}(x_t, X_\rho)`, :math:`\ell_t` the length of a step, P the projection onto
the round's half-space and then the ball, :math:`\kappa` how far the best action moves for a unit of
tightening. Derived here; not in the paper. Steps are a billionth shorter than allowed, for
rounding.
"""

import math
from typing import ClassVar

from surefoot.core.constants import polyak_rate
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.types import Array, Number
from surefoot.guarantees.bounds import SHRINK, FromStart, StrictStart, as_floats, descent_bound
from surefoot.guarantees.guarantee import KnownHorizon
from surefoot.guarantees.premise import Premise

__all__ = ["BoundedNoise", "SlowDrift"]


class BoundedNoise(KnownHorizon, FromStart):
    r"""Values of g off by at most :math:`\delta` and subgradients by at most :math:`\delta_s`.

    The true g is at most 0 in every round, and the regret has a bound in advance. Errors that are
    too large for the tightening are rejected. Certified rules accept any errors
    (``Constants.value_error``), with a certificate for every round and without a bound in advance.

    With :math:`\Delta = \delta + 2R\delta_s`, :math:`c = \Delta + \delta`,
    :math:`\hat G = G_g + \delta_s` and :math:`\xi' = 1 - \sqrt{1 - \sigma^2/(4\hat G^2)}`, for any
    :math:`\rho` from :math:`2G_gc/\sigma` up to the level that sigma and the start allow, the
    half-space with :math:`\rho - \Delta` for :math:`\rho` and steps of
    :math:`\eta = \xi'\rho/(G_fG_g)` give

    .. math::
        g(x_t) \le 0 \ \forall t, \qquad
        \mathrm{Reg}_t \le \frac{2R^2}\eta + \frac\eta2G_f^2t + \kappa G_f\rho t.

    So noise costs regret, at least of the order of :math:`c` in a round, and never feasibility.
    Proof. For :math:`u \in X_\rho`, :math:`\hat g_t + \hat s_t^\top(u - x_t) + \rho - \Delta \le
    g_t + s_t^\top(u - x_t) + \rho \le g(u) + \rho \le 0`: the half-space holds :math:`X_\rho`,
    which is all that the regret asks for (Theorem 1). And :math:`\hat g_t + \rho - \Delta \ge
    g_t + \rho - c \ge \sigma a_t - c`, so its projection leaves
    :math:`\mathrm{dist}(P(x_t), X_\rho)^2 \le a_t^2 - ([\sigma a_t - c]_+/\hat G)^2`, which rises
    with :math:`a_t` because :math:`\sigma \le \hat G`. At :math:`a_t = \rho/G_g`, where
    :math:`\sigma a_t \ge 2c`, its root is at most :math:`(1 - \xi')\rho/G_g`; a step of
    :math:`\xi'\rho/G_g` on top keeps :math:`a_{t+1} \le \rho/G_g`, and then
    :math:`g(x_{t+1}) \le G_ga_{t+1} - \rho \le 0`.

    :math:`\rho` is the minimiser of the regret bound at the horizon, if it is large enough for the
    noise and within the level.

    Args:
        constants: needs R, G_f, G_g, start_slack; uses start_reach and sigma with epsilon; of the
            true g.
        horizon: T.
        value_error: :math:`\delta`.
        subgradient_error: :math:`\delta_s`.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> bound = BoundedNoise(c, 10_000, value_error=0.02)
        >>> bound.tightening, round(bound.rho, 6)  # twice the noise of 0.04
        (0.08, 0.06)
    """

    name: ClassVar[str] = "Theorem 1, bounded noise"
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g")

    value_error: float = nonnegative(default=0.0)
    subgradient_error: float = nonnegative(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._least > self.level:
            raise InvalidValueError(
                f"{self.name} needs a tightening of {self._least:.3g} for these errors, "
                f"2 G_g (2 value_error + 2 R subgradient_error)/sigma, and at most "
                f"{self.level:.3g}, which sigma and the start allow"
            )

    @property
    def allowed_errors(self) -> dict[str, float]:
        """The errors of values and of subgradients."""
        return {"values err": self.value_error, "slopes err": self.subgradient_error}

    @property
    def shift(self) -> float:
        r"""The largest excess tightening of a half-space, :math:`\Delta = \delta + 2R\delta_s`."""
        return self.value_error + 2 * self.constants.R * self.subgradient_error

    @property
    def _least(self) -> float:
        return 2 * self._G_g * (self.shift + self.value_error) / self.sigma

    @property
    def _step(self) -> float:
        r"""The step per unit of tightening, :math:`\xi'/G_g`."""
        G_g = self._G_g
        return SHRINK * polyak_rate(self.sigma / 2, G_g + self.subgradient_error) / G_g

    @property
    def tightening(self) -> float:
        r"""The tightening :math:`\rho` before the errors are subtracted."""
        s = self._step
        best = self.constants.R * math.sqrt(2 / (s * (s / 2 + self.cost) * self.horizon))
        return min(self.level, max(best, self._least))

    @property
    def rho(self) -> float:
        r"""The tightening of the half-space, :math:`\rho - \Delta`."""
        return self.tightening - self.shift

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi'\rho/(G_fG_g)`."""
        return self._step * self.tightening / self._G_f

    def regret_bound(self, t: Number) -> Array:
        """Return the bound above."""
        descent = descent_bound(t, self.eta, 2 * self.constants.R, self._G_f)
        return descent + self.cost * self._G_f * self.tightening * as_floats(t)

    @property
    def regret_exponent(self) -> float:
        """The exponent 1 if there is noise."""
        return 1.0 if self.shift > 0 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises on the readings: the constants with the errors added."""
        largest_norm, slack = self._G_g + self.subgradient_error, self._slack - self.value_error
        least, level = self.sigma - self.subgradient_error, self.level - self.value_error
        near = Premise("subgradient near the boundary", "sigma less its error", least, level)
        return self._and_horizon(
            Premise("cost gradient", "G_f", self._G_f),
            Premise("constraint subgradient", "G_g with its error", largest_norm),
            *([near] if least > 0 and level > 0 else []),
            Premise("start", "the slack counted on, less its error", slack),
        )


class SlowDrift(KnownHorizon, StrictStart):
    r"""A constraint that moves by at most :math:`\nu` from round to round: feasible in each.

    Certified rules need neither sigma nor a horizon for that (``Constants.drift``), and have no
    regret bound in advance.

    Let :math:`\sup_x|g_{t+1}(x) - g_t(x)| \le \nu`, all :math:`g_t` with the same G_g, sigma and
    epsilon and their feasible sets in the ball, :math:`g_1(x_1) \le -\rho`. Then

    .. math::
        \eta G_f + \frac\nu\sigma \le \frac{\xi\rho}{G_g}
        \quad\Longrightarrow\quad g_t(x_t) \le 0 \ \forall t,

    for instance a half each: :math:`\eta = \xi\rho/(2G_fG_g)`, :math:`\nu = \xi\sigma\rho/(2G_g)`.
    Proof: with :math:`a_t = \mathrm{dist}(x_t, X^t_\rho)`, Lemma 2 of the paper leaves
    :math:`\mathrm{dist}(x_{t+1}, X^t_\rho) \le \sqrt\gamma a_t + \eta G_f`. The nearest point z of
    :math:`X^t_\rho` has :math:`g_{t+1}(z) \le -\rho + \nu`, hence by Lemma 1 a point of
    :math:`X^{t+1}_\rho` within :math:`\nu/\sigma`. So :math:`a_{t+1} \le \sqrt\gamma a_t + \eta G_f
    + \nu/\sigma`, and :math:`a_t \le \rho/G_g` is handed on; it gives
    :math:`g_t(x_t) \le G_ga_t - \rho \le 0`.

    **Regret**, only where some point z has :math:`g_t(z) \le -\alpha_c` in all rounds, against any
    :math:`x^\star` that is feasible in all rounds: the comparator
    :math:`(1 - \rho/\alpha_c)x^\star + (\rho/\alpha_c)z` is in every :math:`X^t_\rho` and does not
    move, so with :math:`\kappa = \|x^\star - z\|/\alpha_c`

    .. math:: \mathrm{Reg}_t \le \frac{2R^2}\eta + \frac\eta2G_f^2t + \kappa G_f\rho t.

    Without a common point there is no claim: comparators nearest to :math:`x^\star` may move by the
    root of the drift. The parameters minimise this bound at the horizon, within what sigma and the
    start allow.

    Args:
        constants: needs R, G_f, G_g, start_slack (of round 1), and sigma with epsilon, which must
            hold in every round, unless the common point gives them.
        horizon: T.
        drift: :math:`\nu`.
        common_slack: :math:`\alpha_c`, if there is a common point. For a problem with a stream of
            constraints, the start and its slack hold in all rounds.
        common_reach: the largest distance from it to a point of the ball; 2R unless given.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.4)
        >>> bound = SlowDrift(c, 10_000, drift=0.1)
        >>> round(bound.rho, 6), round(bound.eta, 6), float(bound.regret_bound(1))
        (0.111547, 0.005774, 4.0)
    """

    name: ClassVar[str] = "Theorem 1, slow drift"
    changing: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g")

    drift: float = nonnegative()
    common_slack: float | None = positive(default=None)
    common_reach: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.level * self._step * self.sigma
        if not self.drift < most:
            raise InvalidValueError(
                f"{self.name} needs a drift below {most:.3g}, xi sigma rho/G_g at the largest "
                f"tightening that sigma and the start allow, got {self.drift!r}"
            )

    @property
    def _common(self) -> tuple[float, float] | None:
        """The slack and the reach of the common point."""
        if self.common_slack is None:
            return None
        reach = 2 * self.constants.R if self.common_reach is None else self.common_reach
        return self.common_slack, reach

    @property
    def level(self) -> float:
        """The largest tightening allowed; by the start, by sigma, by the common point."""
        c = self.constants
        if self._common is None:
            _, epsilon = c.require("sigma", "epsilon", by=self.name)
            return min(self._slack, epsilon)
        # Half of the common slack if it must give sigma too, as for a start.
        room = self._common[0] * (0.5 if c.sigma is None else 1.0)
        return min(self._slack, room if c.epsilon is None else min(room, c.epsilon))

    @property
    def sigma(self) -> float:
        """The larger of the given sigma and the common point's, at this level."""
        c = self.constants
        sigmas = [] if c.sigma is None else [c.sigma]
        if self._common is not None:
            slack, reach = self._common
            sigmas.append((slack - self.level) / reach)
        return min(self._G_g, max(sigmas))

    @property
    def allowed_errors(self) -> dict[str, float]:
        """The drift."""
        return {"g drifts per round": self.drift}

    @property
    def cost(self) -> float:
        r"""The price :math:`\kappa` of tightening; infinite without a common point."""
        return math.inf if self._common is None else self._common[1] / self._common[0]

    @property
    def _step(self) -> float:
        r"""The step per unit of tightening, :math:`\xi/G_g`."""
        return SHRINK * polyak_rate(self.sigma, self._G_g) / self._G_g

    @property
    def rho(self) -> float:
        r"""The tightening :math:`(G_g/\xi)(\eta G_f + \nu/\sigma)`."""
        # Without a bound to minimise, tighten as if each set were separate.
        cost = 1 / self.sigma if self._common is None else self.cost
        # eta G_f
        length = self.constants.R * math.sqrt(2 / ((0.5 + cost / self._step) * self.horizon))
        return min(self.level, (length + self.drift / self.sigma) / self._step)

    @property
    def eta(self) -> float:
        r"""The step size :math:`(\xi\rho/G_g - \nu/\sigma)/G_f`."""
        return (self._step * self.rho - self.drift / self.sigma) / self._G_f

    def regret_bound(self, t: Number) -> Array:
        """Return the bound above; the trivial one without a common strictly feasible point."""
        if self._common is None:
            return self._at_worst(t)
        descent = descent_bound(t, self.eta, 2 * self.constants.R, self._G_f)
        return descent + self.cost * self._G_f * self.rho * as_floats(t)

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1 if there is drift; None if nothing is claimed."""
        if self._common is None:
            return None
        return 1.0 if self.drift > 0 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Theorem 1; whether the drift is slow enough cannot be observed."""
        return self._and_horizon(
            Premise("cost gradient", "G_f", self._G_f),
            Premise("constraint subgradient", "G_g", self._G_g),
            Premise("subgradient near the boundary", "sigma", self.sigma, level=self.level),
            Premise("start", "the slack counted on", self.rho),
        )
