r"""The guarantees of dual averaging projected directly onto the certified region.

Notation: :math:`y_t = x_1 - \eta_t\theta_t` the far point, :math:`n_t = y_t - x_{t+1}` what the
projection takes off, of which pruning drops the share :math:`c_t`; :math:`P_t = \|x_{t+1} - x_t\|`;
:math:`\Lambda_t = \sum_i\lambda_i\beta_i` with the multipliers of the projection; the rest as in
:mod:`surefoot.theory.curvature`. docs/certified.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, norm
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._from_start import StrictStart
from surefoot.theory.curvature import least_slope
from surefoot.theory.watching import Premise

__all__ = ["ObservedAveraging", "TheoremK"]


class ObservedAveraging(NamedTuple):
    r"""The sums of Theorem K (i) over the rounds so far, updated in every round.

    .. math::
        \mathrm{Reg}_T \le \frac{D^2}{2\eta_T}
        &+ \sum_t\Big(\nabla_t^\top(x_t-x_{t+1}) - \frac{P_t^2}{2\eta_{t-1}}
           + \frac{(1-c_{t-1})n_{t-1}^\top(x_{t+1}-x_t)}{\eta_{t-1}}\Big) \\
        &+ \sum_{t<T}\frac{c_t}{\eta_t}Q_t + \frac{Q_T}{\eta_T}, \qquad
        Q_t = \tfrac12\Lambda_tP_t(4R+P_t) .

    A point that was drawn nearer, by d, adds :math:`2R(1 + \Lambda_t)d` to :math:`Q_t`.

    Attributes:
        moves: the first sum.
        pruned: the second, up to the last round.
        last: the last term less the share :math:`c_T` of it that is in the second.
        inverse_eta: the last :math:`1/\eta_t`.
    """

    moves: float = 0.0
    pruned: float = 0.0
    last: float = 0.0
    inverse_eta: float = 0.0

    def after(self, info: Any) -> ObservedAveraging:
        """Return the sums with one more round, from what its step knew."""
        note, region = info.note, info.region
        inverse, found = float(note.inverse_eta), note.found
        if not inverse > 0:
            return self
        # Where nothing was read in the round, the region is still that of an earlier action.
        step, way = found.point - note.x, found.point - region.x
        length, P, R = float(norm(step)), float(norm(way)), float(note.radius)
        before = self.inverse_eta if self.inverse_eta > 0 else inverse  # eta_0 is eta_1
        moves = -float(dot(note.gradient, step)) - 0.5 * length * length * before
        moves += float(dot(note.kept, step)) * before
        # By how much a projection's normal may fail to point away from a feasible point.
        bent, loose = region.normal_error(found.weights, found.point)
        off = 2 * R * (1 + float(bent)) * float(found.drawn)
        Q = 0.5 * float(bent) * P * (4 * R + P) + float(loose) + off
        share, price = float(note.share), Q * inverse
        return ObservedAveraging(
            self.moves + moves, self.pruned + share * price, (1 - share) * price, inverse
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far."""
        reach = float(algorithm.knowledge.reach) + float(norm(state.learner.start))
        D = min(2 * float(algorithm.proposer.radius), reach)
        return 0.5 * D * D * self.inverse_eta + self.moves + self.pruned + self.last


@final
@dataclass(frozen=True)
class TheoremK(StrictStart):
    r"""Dual averaging projected onto certified balls, its far point kept within F of the action.

    For one constraint with curvature between 0 and :math:`\beta`,
    :math:`k = \beta F/\nu_*`, :math:`b = \beta R/\nu_*` and the fixed step

    .. math:: \eta = \min\Big\{\frac D{L\sqrt{(1 + 12k + 10b)T}}, \frac{\nu_*}{10\beta L(1+k)},
              \frac R{2L}\Big\}:

    .. math::
        g(x_t) \le 0\ \forall t, \qquad
        \mathrm{Reg}_T \le \frac{D^2}{2\eta} + \eta L^2T\big(\tfrac12 + 6k + 5b\big)
        + 5\big(k + \tfrac1{10}\big)RL .

    Without a horizon, with several rows or with a far point that is not kept near, the regret is
    bounded by what is observed (:class:`ObservedAveraging`), not in advance.

    Derived here; docs/certified.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach; with a horizon G_f.
        rows: how many constraints there are.
        far: F/R; None where the far point is not pruned.
        horizon: the number of rounds that the fixed step is for; None for steps that adapt.
    """

    name: ClassVar[str] = "Theorem K (dual averaging certified by curvature)"

    constants: Constants
    rows: int = 1
    far: float | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        self._check_start("R", "beta")
        if self.far is not None:
            checks.positive(far=self.far)
        if self.horizon is not None:
            checks.horizon(self.horizon)
            self.constants.require("G_f", by=self.name)

    def _ratios(self) -> tuple[float, float, float]:
        """Return beta/nu_*, k and b."""
        c = self.constants
        R, beta, slack = c.require("R", "beta", "start_slack", by=self.name)
        steep = beta / least_slope(beta, slack, c.reach)
        return steep, steep * (self.far or 0.0) * R, steep * R

    @property
    def eta(self) -> float | None:
        """The fixed step; None if steps adapt."""
        if self.horizon is None:
            return None
        R, L = self.constants.require("R", "G_f", by=self.name)
        steep, k, b = self._ratios()
        short = math.inf if steep == 0 else 1 / (10 * steep * L * (1 + k))
        usual = self.constants.reach / (L * math.sqrt((1 + 12 * k + 10 * b) * self.horizon))
        return min(usual, short, R / (2 * L))

    def regret_bound(self, t: Any) -> Array:
        """Return the explicit bound of the fixed step; else inf."""
        T = np.asarray(t, dtype=np.float64)
        eta = self.eta
        if eta is None or self.far is None or self.rows > 1:
            return np.full_like(T, math.inf)
        R, L = self.constants.require("R", "G_f", by=self.name)
        _, k, b = self._ratios()
        D = self.constants.reach
        return D**2 / (2 * eta) + eta * L**2 * T * (0.5 + 6 * k + 5 * b) + 5 * (k + 0.1) * R * L

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for the fixed step; else None."""
        return None if self.horizon is None or self.far is None or self.rows > 1 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f and the horizon only for the regret bound."""
        (slack,) = self.constants.require("start_slack", by=self.name)
        found = [Premise("start", "the slack counted on", slack)]
        if self.horizon is not None:
            (G_f,) = self.constants.require("G_f", by=self.name)
            found.append(Premise("cost gradient", "G_f", G_f, only_regret=True))
            found.append(Premise("horizon", "the horizon", self.horizon))
        return tuple(found)
