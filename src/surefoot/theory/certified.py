r"""The guarantee of steps that are certified one by one.

Notation: :math:`\alpha` the start's slack, :math:`D_1 = \|x_1 - x^\star\|`,
:math:`D_0 = \max_t\|x_t - x_1\|`, :math:`L_t` the largest and :math:`S_t` the summed squared
norm of the cost gradients up to round t. Both distances are at most ``start_reach``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot
from surefoot.core.constants import Constants, polyak_rate
from surefoot.core.points import reach_from
from surefoot.core.types import Array
from surefoot.theory._from_start import StrictStart

__all__ = ["ObservedRegret", "TheoremD", "observed_regret_bound"]


def observed_regret_bound(
    sizes: Array, etas: Array, rhos: Array, moves: Array, *, R: float, slack: float, reach: float
) -> float:
    r"""Return Theorem D (iii): the regret bound in terms of what was observed, for one run.

    .. math::
        \mathrm{Reg}_T \le \frac{2R^2}{\eta_T} + \frac12\sum_t \eta_t\|\nabla_t\|^2
          + \frac{D_1}{\alpha}\sum_t \rho_t\|\nabla_t\|
          + \frac{2RD_1}{\alpha}\sum_{t<T}\frac{\rho_t - \rho_{t+1}}{\eta_t}
          - \sum_t \frac{\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2}{2\eta_t}

    Proof. :math:`u_t = (1-\rho_t/\alpha)x^\star + (\rho_t/\alpha)x_1` has
    :math:`g(u_t) \le -\rho_t` by convexity, so it is in the half-space and in the ball, and both
    projections bring the action closer to it:
    :math:`\|x_{t+1}-u_t\|^2 \le \|x_t-u_t\|^2 - 2\eta_t\langle\nabla_t, x_t-u_t\rangle
    + \eta_t^2\|\nabla_t\|^2 - \|y_t-p_t\|^2 - \|p_t-x_{t+1}\|^2`. Going on with :math:`u_{t+1}`
    costs at most :math:`4R\|u_{t+1}-u_t\| = 4R(\rho_t-\rho_{t+1})D_1/\alpha`; dividing by
    :math:`2\eta_t`, which never rises, and summing leaves :math:`(2R)^2/(2\eta_T)`. Finally
    :math:`\langle\nabla_t, u_t - x^\star\rangle \le \|\nabla_t\|\rho_t D_1/\alpha`. Rounds before
    the first gradient have :math:`1/\eta_t = 0`.

    Args:
        sizes: :math:`\|\nabla_t\|`.
        etas: :math:`\eta_t`; where no gradient has come yet, any number.
        rhos: :math:`\rho_t`.
        moves: :math:`\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2`.
        R: radius of the ball.
        slack: :math:`\alpha`.
        reach: an upper bound on :math:`D_1`.
    """
    sizes, etas, rhos, moves = (np.asarray(v, dtype=np.float64) for v in (sizes, etas, rhos, moves))
    begun = np.cumsum(sizes) > 0
    if not begun.any():
        return 0.0
    inverse = np.where(begun, 1 / np.where(begun, etas, 1.0), 0.0)
    falls = -np.diff(rhos) @ inverse[:-1]
    return float(
        2 * R**2 * inverse[-1]
        + 0.5 * (np.where(begun, etas, 0.0) @ sizes**2)
        + reach / slack * (rhos @ sizes)
        + 2 * R * reach / slack * falls
        - 0.5 * (moves @ inverse)
    )


class ObservedRegret(NamedTuple):
    r"""The sums of :func:`observed_regret_bound` over the rounds so far, updated in every round.

    A round without a certified step, in which nothing moved, is not in the theorem. Leaving it out
    leaves the proof for the others as it is, with :math:`\rho_t - \rho_{t+1}` taken between
    neighbours that remain, and it costs at most :math:`\|\nabla_t\|` times the diameter
    :math:`2R`.

    Attributes:
        steps: :math:`\sum_t \eta_t\|\nabla_t\|^2`.
        tightened: :math:`\sum_t \rho_t\|\nabla_t\|`.
        falls: :math:`\sum_t (\rho_t - \rho_{t+1})/\eta_t`.
        moved: :math:`\sum_t (\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2)/\eta_t`.
        stayed: :math:`\sum \|\nabla_t\|` over the rounds in which nothing moved.
        rho: :math:`\rho_t` of the last round in which something moved.
        inverse_eta: the last :math:`1/\eta_t`; 0 before the first gradient.
    """

    steps: float = 0.0
    tightened: float = 0.0
    falls: float = 0.0
    moved: float = 0.0
    stayed: float = 0.0
    rho: float = 0.0
    inverse_eta: float = 0.0

    def after(self, info: Any) -> ObservedRegret:
        """Return the sums with one more round.

        Args:
            info: what the step of a :class:`~surefoot.algorithms.CertifiedPFS` knew.
        """
        steps, tightened, falls, moved, stayed, last_rho, last_inverse = self
        note, region = info.note, info.region
        size, inverse, rho = note.size, note.inverse_eta, region.memory.rho
        if not note.moves:
            return self._replace(stayed=stayed + size)
        if not (size > 0 or last_inverse > 0):
            inverse = 0.0
        falls = falls + (last_rho - rho) * last_inverse
        if not inverse > 0:
            return self._replace(falls=falls, rho=rho)
        p = region.cut_by_half_space(note.wanted)
        for way in (note.wanted - p, p - info.x):
            moved = moved + dot(way, way) * inverse
        return ObservedRegret(
            steps + size * size / inverse,
            tightened + rho * size,
            falls,
            moved,
            stayed,
            rho,
            inverse,
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far.

        Args:
            algorithm: the rule that was played, whose ball the actions are in.
            state: its state after these rounds.
        """
        if not (self.inverse_eta > 0 or self.stayed > 0):
            return 0.0
        R, seen = float(algorithm.proposer.radius), state.memory
        per_slack = reach_from(algorithm.knowledge.domain, seen.anchor) / seen.slack
        return float(
            2 * R**2 * self.inverse_eta
            + 0.5 * self.steps
            + per_slack * self.tightened
            + 2 * R * per_slack * self.falls
            - 0.5 * self.moved
            + 2 * R * self.stayed
        )


@final
@dataclass(frozen=True)
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
    bound in terms of what was observed (:func:`observed_regret_bound`), with
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

    constants: Constants
    rho: float
    decreasing: bool = True
    eta: float | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        self._check_start("R", "G_g")
        checks.positive(rho=self.rho)
        if self.eta is not None:
            checks.positive(eta=self.eta)
        if self.horizon is not None:
            checks.horizon(self.horizon)

    def tightening(self, t: Any) -> Array:
        r"""Return :math:`\rho_t`."""
        t = np.asarray(t, dtype=np.float64)
        (slack,) = self.constants.require("start_slack", by=self.name)
        rho = self.rho / np.sqrt(t) if self.decreasing else np.full_like(t, self.rho)
        return np.minimum(0.5 * slack, rho)

    def regret_bound(self, t: Any) -> Array:
        """Return the explicit bound; inf where G_f is not known."""
        T = np.asarray(t, dtype=np.float64)
        c = self.constants
        if c.G_f is None:
            return np.full_like(T, math.inf)
        R, G_g, slack = c.require("R", "G_g", "start_slack", by=self.name)
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
