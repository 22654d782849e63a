r"""Guarantees of methods with a gauge oracle: no violation, one gauge per round.

The feasible set K holds the ball :math:`r\mathbb{B}` and lies in :math:`R\mathbb{B}`;
:math:`\kappa = R/r`, and :math:`D_0` bounds the distance from the first point to any other
(``start_reach``; 2R where not known, R for a start at 0). For u in K let
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

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._lagrangian import StronglyConvex, harmonic, rounds
from surefoot.theory.projection import AroundBall, ForHorizon

__all__ = ["AdaptiveGaugeTheorem", "GaugeNewtonTheorem", "GaugeTheorem", "StronglyConvexGauge"]


class _Gauged(AroundBall):
    """Shared by the theorems: the surrogate's slope, the cost of an inexact oracle."""

    error: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.nonnegative(error=self.error)

    @property
    def slope(self) -> float:
        r"""The largest norm of a surrogate gradient, :math:`(1 + \kappa)G_f`."""
        return (1 + self.kappa) * self._G_f()

    def _inexact(self, t: Any) -> Array:
        return self.error * self._G_f() * self.constants.R * rounds(t)


@dataclass(frozen=True)
class _ForHorizon(_Gauged, ForHorizon):
    """One that is tuned for a number of rounds."""

    regret_exponent: ClassVar[float] = 0.5

    inner_radius: float
    error: float = 0.0


@final
@dataclass(frozen=True)
class GaugeTheorem(_ForHorizon):
    r"""Convex costs, with :math:`\eta = D_0/((1+\kappa)G_f\sqrt T)`.

    .. math:: \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \frac{\eta}{2}(1+\kappa)^2G_f^2t,

    which is :math:`(1+\kappa)D_0G_f\sqrt T` at t = T. Proof: by the inequality above the regret is
    at most that of gradient descent on the ball with gradients of at most :math:`(1+\kappa)G_f`.

    Args:
        constants: needs R, G_f; uses start_reach.
        horizon: T.
        inner_radius: r.
        error: of the gauge.

    Example:
        >>> c = Constants(R=1.0, G_f=1.0, start_reach=1.0)
        >>> float(GaugeTheorem(c, 100, 0.5).regret_bound(100))
        30.0
    """

    name: ClassVar[str] = "Mhammedi 2022, gauge reduction"

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0/((1+\kappa)G_f\sqrt T)`."""
        return self.constants.reach / (self.slope * math.sqrt(self.horizon))

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta/2)(1+\kappa)^2G_f^2t` plus the oracle's error."""
        D_0 = self.constants.reach
        return D_0**2 / (2 * self.eta) + self.eta / 2 * self.slope**2 * rounds(t) + self._inexact(t)

    def interval_bound(self, length: Any) -> Array:
        r"""Bound the regret over any interval: :math:`2R^2/\eta + (\eta/2)(1+\kappa)^2G_f^2|I|`."""
        R = self.constants.R
        ahead = self.eta / 2 * self.slope**2 * rounds(length)
        return 2 * R**2 / self.eta + ahead + self._inexact(length)


@final
@dataclass(frozen=True)
class StronglyConvexGauge(StronglyConvex, _Gauged):
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

    constants: Constants
    inner_radius: float
    error: float = 0.0
    horizon: None = None

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`((1+\kappa)G_f + \mu R)^2/(2\mu)\,(1 + \ln t)`."""
        steep = self.slope + self.constants.R / self.eta
        return steep**2 * self.eta / 2 * harmonic(t) + self._inexact(t)


@final
@dataclass(frozen=True)
class AdaptiveGaugeTheorem(_ForHorizon):
    r"""Regret on every interval I of the rounds.

    .. math:: \mathrm{Reg}_I \le \frac{2\sqrt2}{\sqrt2 - 1}R\tilde G\sqrt{|I|}
              \big(2 + 4\sqrt{\ln(2T)}\big), \qquad \tilde G = (1 + \kappa)G_f.

    Proof. The mixture leaves :math:`\sum_j p_jr_j = 0`, so the total weight rises only by new
    starts, of which there are at most 2t by round t. :math:`\ln(1+y) \ge y - y^2` for
    :math:`y \ge -\tfrac12` bounds what the mixture loses to expert j on one of its intervals A by
    :math:`2RG̃\cdot2\sqrt{\ln(2T)|A|}`; the expert itself, gradient descent from a warm start, has
    at most :math:`2R\tilde G\sqrt{|A|}`. Every interval is made of two runs of such intervals whose
    lengths change geometrically, and the roots of their lengths add up to at most
    :math:`\tfrac{2\sqrt2}{\sqrt2 - 1}\sqrt{|I|}`.

    Args:
        constants: needs R, G_f.
        horizon: T.
        inner_radius: r.
        error: of the gauge.
    """

    name: ClassVar[str] = "Adaptive regret by one gauge per round (after Lu et al. 2023)"

    def regret_bound(self, t: Any) -> Array:
        """Bound the regret of the first t rounds, which are an interval."""
        return self.interval_bound(t)

    def interval_bound(self, length: Any) -> Array:
        """Bound the regret over any interval of that length."""
        covering = 2 * math.sqrt(2) / (math.sqrt(2) - 1)
        each = (2 + 4 * math.sqrt(math.log(2 * self.horizon))) * self.constants.R * self.slope
        return covering * each * np.sqrt(rounds(length)) + self._inexact(length)


@final
@dataclass(frozen=True)
class GaugeNewtonTheorem(_Gauged, ForHorizon):
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
        >>> theorem = GaugeNewtonTheorem(c, 4, 0.5, 1)
        >>> round(theorem.beta, 6), round(theorem.log_term, 6)
        (0.333333, 2.609438)
    """

    name: ClassVar[str] = "Gauge with an online Newton step (the rate of Mhammedi 2024)"
    regret_exponent: ClassVar[float] = 0.5

    inner_radius: float
    dimension: int
    error: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole(self.dimension, "dimension")

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
            steep, math.sqrt(self.log_term / (2 * self.horizon)) / (self._G_f() * self.diameter)
        )

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`L/(2\beta) + \beta G_f^2D^2t` plus the oracle's error."""
        slope = self._G_f() * self.diameter
        return self.log_term / (2 * self.beta) + self.beta * slope**2 * rounds(t) + self._inexact(t)
