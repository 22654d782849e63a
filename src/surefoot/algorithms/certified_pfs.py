r"""PFS with certified steps: feasible in every round from G_g alone, by Theorem D.

In the theorem, :math:`\alpha` is the start's slack, :math:`D_1 = \|x_1 - x^\star\|`,
:math:`D_0 = \max_t\|x_t - x_1\|`, :math:`L_t` the largest and :math:`S_t` the summed squared
norm of the cost gradients up to round t. Both distances are at most ``start_reach``.
"""

import math
from typing import Any, ClassVar

import numpy as np

from surefoot import regions
from surefoot.algorithms.bounds import StrictStart
from surefoot.algorithms.certified import Certified, Name, Parts
from surefoot.algorithms.descent import Descent
from surefoot.algorithms.with_errors import CertifiedTuning
from surefoot.core import checks
from surefoot.core.constants import Constants, as_constants, polyak_rate
from surefoot.core.parameters import Parameter, flag, parameters_of, positive, rounds
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number
from surefoot.sets import Ball

__all__ = ["CertifiedPFS", "TheoremD"]


class CertifiedPFS(Name):
    r"""Polyak feasibility steps, each no longer than what is certified before it is taken.

    .. math::
        r_t        &= \rho_t/G_g - B_t \\
        1/\eta_t   &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), \|\nabla_t\|/r_t) \\
        y_t        &= x_t - \eta_t \nabla_t \\
        p_t        &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1}    &= \Pi_{\text{domain}}(p_t)

    with :math:`S_t = \sum_{s \le t}\|\nabla_s\|^2` and :math:`B_t` the distance to the tightened
    set that is left after the half-space projection (:mod:`surefoot.regions.certified_length`).

    The parameters are those of :class:`~surefoot.algorithms.Descent` and
    :class:`~surefoot.regions.CertifiedLength`, ``decreasing`` unless said otherwise, with the
    radius of the domain, and the errors to allow for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0.158114, 0.25    ])
    """

    parts: ClassVar[Parts] = (Descent, regions.CertifiedLength)

    @classmethod
    def pair(cls, **parameters: Any) -> Certified:
        """Return the pair; the radius of the descent is half the diameter of the domain."""
        domain = parameters.get("domain")
        if domain is not None and "radius" not in parameters:
            parameters_of(regions.CertifiedLength)["domain"].check(domain)
            is_ball = isinstance(domain, Ball)
            parameters["radius"] = domain.radius if is_ball else 0.5 * bounded_diameter(domain)
        return super().pair(**{"decreasing": True} | parameters)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the declared parameters; the radius follows from the domain."""
        both = super().parameters()
        return both | {"radius": both["radius"]._replace(default=None)}

    default = CertifiedTuning(lambda: decreasing_margin)
    known_horizon = CertifiedTuning(lambda: fixed_margin)


def margin(constants: Constants) -> float:
    r"""Return the c of :math:`\rho_t = c/\sqrt t`: :math:`\tfrac12\sqrt{\alpha G_gR}`.

    A margin costs :math:`(D_1/\alpha)\sum\rho_t` in regret, and its short steps
    :math:`2R^2G_gL/\rho_T`: they balance where :math:`\rho \sim \sqrt{\alpha G_gR/T}`.
    """
    R, G_g, slack = as_constants(constants).require("R", "G_g", "start_slack", by="Theorem D")
    return 0.5 * math.sqrt(max(slack, 0.0) * G_g * R) or 1.0  # Theorem D refuses such a slack


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
    (:mod:`surefoot.algorithms.certified_pfs`). Near the boundary the local form (*) gives
    :math:`A_t \le (g_t+\rho_t)/\sigma_t` with
    :math:`\sigma_t = (\alpha-\rho_t)/D_0 \ge \sigma_*`, so the cut has
    :math:`d_t \ge \sigma_tA_t/G_g` and :math:`r_t \ge \xi_*\rho_t/G_g`; deeper inside
    :math:`r_t \ge \rho_t/G_g`. Hence
    :math:`1/\eta_t \le \max(\sqrt{S_t}/(\sqrt2R), G_gL_t/(\xi_*\rho_t))`. Put that into the
    bound in terms of what was observed (:class:`ObservedRegret`), with
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
    regret_exponent: ClassVar[float] = 0.5
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")

    rho: float = positive()
    decreasing: bool = flag(default=True)
    eta: float | None = positive(default=None)
    horizon: int | None = rounds(default=None)

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
            return np.full_like(T, math.inf)
        R, G_g, slack = c.R, self._G_g, self._slack
        reach, L, S = c.reach, c.G_f, c.G_f**2 * T
        # Not c.sigma: only a sigma that the steps themselves use makes them longer.
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
