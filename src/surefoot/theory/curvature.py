r"""The guarantees of steps that are certified by a bound on the curvature of the constraint.

Notation: :math:`\alpha` the start's slack, :math:`D_0` its largest distance to a feasible point,
:math:`L_T` the largest and :math:`S_T` the summed squared norm of the cost gradients, P the length
of a step, :math:`\nu^2 = \|s\|^2 - 2\beta g` the squared slope on the sphere of the certified ball.
docs/certified.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._from_start import StrictStart
from surefoot.theory.watching import Premise

__all__ = ["ObservedCuts", "TheoremC", "least_slope"]


def least_slope(beta: float, slack: float, reach: float) -> float:
    r"""Return :math:`\nu_* = \min(\alpha/D_0, \sqrt{\beta\alpha})`: no :math:`\nu_t` is below.

    Proof. With h = -g, convexity says :math:`\|s\|D_0 \ge \alpha - h`, so
    :math:`\nu^2 \ge ([\alpha-h]_+/D_0)^2 + 2\beta h`. Where :math:`\beta D_0^2 \le \alpha` that is
    least at :math:`\alpha - h = \beta D_0^2`, with the value
    :math:`2\beta\alpha - \beta^2D_0^2 \ge \beta\alpha`; else at h = 0, with
    :math:`(\alpha/D_0)^2`.

    Example:
        >>> least_slope(1.0, 0.25, 1.0)
        0.25
    """
    return min(slack / reach, math.sqrt(beta * slack)) if beta > 0 else slack / reach


class ObservedCuts(NamedTuple):
    r"""The sums of Theorem C (ii) over the rounds so far, updated in every round.

    For every :math:`\mu_t \ge 0`, with :math:`w_t` the step before the cut and whatever way
    :math:`\mu_t` was found,

    .. math::
        \mathrm{Reg}_T \le \frac{2R^2}{\eta_T} + \frac12\sum_t\eta_t\|\nabla_t\|^2
        + \sum_t\frac1{\eta_t}\Big(\tfrac12\|S_t^\top\mu_t\|^2 - \mu_t^\top(g_t + S_tw_t)\Big),

    because :math:`s_i^\top(x_t-u) \ge g_i(x_t)` for all feasible u. A point that was drawn nearer,
    by d, adds :math:`d(4R+d)/(2\eta_t)`, and a round without a step :math:`2R\|\nabla_t\|`.

    Attributes:
        steps: :math:`\sum_t \eta_t\|\nabla_t\|^2`.
        cuts: the last sum.
        drawn: the sum of :math:`d(4R+d)/(2\eta_t)`.
        stayed: the sum of :math:`2R\|\nabla_t\|` over rounds without a step.
        inverse_eta: the last :math:`1/\eta_t`.
    """

    steps: float = 0.0
    cuts: float = 0.0
    drawn: float = 0.0
    stayed: float = 0.0
    inverse_eta: float = 0.0

    def after(self, info: Any) -> ObservedCuts:
        """Return the sums with one more round, from what its step knew."""
        note = info.note
        if note is None or not note.inverse_eta > 0:
            return self
        R, size, inverse = float(note.radius), float(note.size), float(note.inverse_eta)
        if not note.moves:
            return self._replace(stayed=self.stayed + 2 * R * size)
        price = float(info.region.price(note.wanted, note.found.weights))
        d = float(note.found.drawn) + float(norm(info.x - note.found.point))
        return ObservedCuts(
            self.steps + size * size / inverse,
            self.cuts + price * inverse,
            self.drawn + 0.5 * d * (4 * R + d) * inverse,
            self.stayed,
            max(inverse, self.inverse_eta),
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far."""
        first = 2 * float(algorithm.proposer.radius) ** 2 * self.inverse_eta
        return first + 0.5 * self.steps + self.cuts + self.drawn + self.stayed


@final
@dataclass(frozen=True)
class TheoremC(StrictStart):
    r"""Descent with cuts along the slope: feasible in every round, and the price is a constant.

    For :math:`1/\eta_t = \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2R), 2\beta\|\nabla_t\|/\nu_t)`, one
    constraint with curvature at most :math:`\beta`, and
    :math:`\nu_* = \min(\alpha/D_0, \sqrt{\beta\alpha})`:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le \max\Big\{\sqrt2R\sqrt{S_T}, \frac{4\beta R^2L_T}{\nu_*}\Big\}
          + \sqrt2R\sqrt{S_T} + 8.2\Big(\frac\beta{\nu_*}\Big)^2R^3L_T .

    That is the bound of projected descent and a constant that does not grow with T. With several
    rows the regret is bounded by what is observed (:class:`ObservedCuts`), not in advance.

    Derived here; docs/certified.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach; G_f for an explicit regret bound.
        rows: how many constraints there are.
    """

    name: ClassVar[str] = "Theorem C (certified by curvature)"

    constants: Constants
    rows: int = 1
    horizon: None = None

    def __post_init__(self) -> None:
        self._check_start("R", "beta")

    def regret_bound(self, t: Any) -> Array:
        """Return the explicit bound; inf if G_f is unknown or there are several rows."""
        T = np.asarray(t, dtype=np.float64)
        c = self.constants
        if c.G_f is None or self.rows > 1:
            return np.full_like(T, math.inf)
        R, beta, slack = c.require("R", "beta", "start_slack", by=self.name)
        usual = math.sqrt(2) * R * c.G_f * np.sqrt(T)
        steep = beta / least_slope(beta, slack, c.reach)
        return np.maximum(usual, 4 * steep * R**2 * c.G_f) + usual + 8.2 * steep**2 * R**3 * c.G_f

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2; None for several rows."""
        return 0.5 if self.rows == 1 else None

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f only for the regret bound."""
        (slack,) = self.constants.require("start_slack", by=self.name)
        found = [Premise("start", "the slack counted on", slack)]
        if self.constants.G_f is not None:
            found.append(Premise("cost gradient", "G_f", self.constants.G_f, only_regret=True))
        return tuple(found)
