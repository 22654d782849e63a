r"""Dual averaging that knows the feasible set through curvature bounds, and Theorem K.

In the theorem, :math:`y_t = x_1 - \eta_t\theta_t` is a far point, :math:`p_{t+1}` the certified
point nearest to it, :math:`n_t = y_t - p_{t+1}` what that takes off, of which pruning drops the
share :math:`c_t`; :math:`P_t = \|p_{t+1} - x_t\|`; :math:`\Lambda_t = \sum_i\lambda_i\beta_i` with
the multipliers of the projection; the rest as in :mod:`surefoot.rules.certified.certified_ogd`.
docs/curvature.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive, rounds
from surefoot.core.types import Array, ArrayLike, Needs, Number, Set
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.rows import CurvatureRows
from surefoot.proposers.averaging import FAR, Averaging
from surefoot.rules.certified.arguments import ROWS_NEED, curvature_knowledge
from surefoot.rules.certified.certified_ogd import ByCurvature

__all__ = ["CertifiedDualAveraging", "TheoremK"]


UNPRUNED = 1e9
"""F/R of one far point that keeps all gradients."""


class CertifiedDualAveraging(Certified):
    r"""Dual averaging whose far points are projected directly onto the certified region.

    .. math::
        \eta_t    &= R/\sqrt{2S_t}, \qquad y^k_t = x_1 - c_k\eta_t\theta^k_t, \qquad
                     \theta^k_t = \theta^k_{t-1} + \nabla_t, \qquad c = 1, \tfrac14, 1, 4 \\
        p^k_{t+1} &= \Pi\{p : g_i + s_i^\top(p-x_t) + \tfrac{\beta_i}2\|p-x_t\|^2 \le 0\ \forall i\}
                     (y^k_t), \qquad x_{t+1} = \sum_kw_kp^k_{t+1} \\
        \theta^k_t &\leftarrow (x_1 - p^k_{t+1} - FR\,n/\|n\|)/(c_k\eta_t)
                     \quad\text{where } k > 0,\ \|n\| > FR,\ n = y^k_t - p^k_{t+1}

    With the sum of the gradients fixed, :math:`p^0` goes to the projection of :math:`y^0` onto the
    feasible set: on costs that have a distribution the regret is close to that of dual averaging
    that knows the set. The last line, pruning, forgets what has no effect: the other far points
    follow costs that change. The weights follow what each point would have cost
    (``proposers.trust.reweigh``), so there is no choice to make; their mean is
    certified, because the region is convex.

    Args:
        knowledge: the curvature of one constraint, or of several, the known set, and the errors
            and drift to allow for.
        radius: R of the steps.
        far: F of the only far point; None for four far points.
        eta: the step; None for steps that follow the gradients.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.knowledge import Curvature
        >>> player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # to the ball around (0, -1); 0.1768 for c = 1/4
        array([0.      , 0.408278])
    """

    made_of: ClassVar[MadeOf] = ((Averaging,), (Curvature, CurvatureRows))
    declared_by: ClassVar[tuple[type, ...]] = (Averaging, Parts)
    typical_needs: ClassVar[Needs] = ROWS_NEED

    def __init__(
        self,
        *,
        knowledge: Curvature | CurvatureRows,
        radius: float,
        far: float | None = None,
        eta: float | None = None,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        self.check_part("knowledge", knowledge)
        averaging = Averaging(radius=radius, far=far, eta=eta)
        super().__init__(proposer=averaging, knowledge=knowledge, ramp=ramp)

    @classmethod
    def for_rows(cls, beta: ArrayLike, radius: float) -> Self:
        """Return the rule for several constraints, by the smoothness constant of each.

        Args:
            beta: one number per constraint.
            radius: R of the steps; every feasible point is in the ball around 0 of this radius.

        Example:
            >>> CertifiedDualAveraging.for_rows([1.0, 0.0], 2.0).knowledge.reach
            2.0
        """
        return cls(knowledge=CurvatureRows(beta=beta, reach=radius), radius=radius)

    @classmethod
    @tuning(lambda: TheoremK)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from a bound on the curvature; regret observed: Theorem K.

        Args:
            constants: needs R, beta and start_slack; uses rows, the errors and the drift.
            horizon: unused; every tuning takes one.
            domain: a known convex set that contains every action; None for none.
        """
        checks.check_possible_horizon(horizon)
        return cls._tune(TheoremK(constants), domain)

    @classmethod
    @tuning(lambda: TheoremK)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, and regret bounded in advance for a given horizon."""
        return cls._tune(TheoremK(constants, FAR, checks.check_horizon(horizon)), domain)

    @classmethod
    def _tune(cls, theorem: TheoremK, domain: Set | None) -> Tuned[Self]:
        averaging = Averaging(radius=theorem.radius, far=theorem.far, eta=theorem.eta)
        knowledge = curvature_knowledge(theorem.constants, domain, theorem.name)
        return Tuned(cls.of(averaging, knowledge), under_errors(theorem))


class TheoremK(ByCurvature):
    r"""Dual averaging projected onto certified balls, its far point kept within F of the action.

    For one constraint with curvature between 0 and :math:`\beta`,
    :math:`k = \beta F/\nu_*`, :math:`b = \beta R/\nu_*` and the fixed step

    .. math:: \eta = \min\Big\{\frac D{L\sqrt{(1 + 12k + 10b)T}}, \frac{\nu_*}{10\beta L(1+k)},
              \frac R{2L}\Big\}:

    .. math::
        g(x_t) \le 0\ \forall t, \qquad
        \mathrm{Reg}_T \le \frac{D^2}{2\eta} + \eta L^2T\big(\tfrac12 + 6k + 5b\big)
        + 5\big(k + \tfrac1{10}\big)RL .

    Without a horizon, with several rows or several far points the regret is bounded by what is
    observed (:class:`~surefoot.proposers.ObservedAveraging`), not in advance.

    Derived here; docs/curvature.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach, rows; with a horizon G_f.
        far: F/R; None where the far point is not pruned, or there are several.
        horizon: the number of rounds that the fixed step is for; None for steps that adapt.
    """

    name: ClassVar[str] = "Theorem K (dual averaging certified by curvature)"
    observed_theorem: ClassVar[str] = "Theorem K, observed"
    advance_theorem: ClassVar[str] = "Theorem K, in advance"

    far: float | None = positive(default=None)
    horizon: int | None = rounds(default=None)

    def _ratios(self) -> tuple[float, float]:
        """Return k and b."""
        b = self.slope_norm * self.constants.R
        return b * (self.far or 0.0), b

    @property
    def eta(self) -> float | None:
        """The fixed step; None if steps adapt."""
        if self.horizon is None:
            return None
        c, L, steep = self.constants, self._G_f, self.slope_norm
        k, b = self._ratios()
        short = math.inf if steep == 0 else 1 / (10 * steep * L * (1 + k))
        usual = c.reach / (L * math.sqrt((1 + 12 * k + 10 * b) * self.horizon))
        return min(usual, short, c.R / (2 * L))

    def regret_bound(self, t: Number) -> Array:
        """Return the explicit bound of the fixed step; else the trivial one."""
        T, eta = np.asarray(t, dtype=np.float64), self.eta
        if eta is None or self.far is None or self.rows > 1:
            return self._at_worst(t)
        R, L, D = self.constants.R, self._G_f, self.constants.reach
        k, b = self._ratios()
        return D**2 / (2 * eta) + eta * L**2 * T * (0.5 + 6 * k + 5 * b) + 5 * (k + 0.1) * R * L

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for the fixed step; else None."""
        return None if self.horizon is None or self.far is None or self.rows > 1 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f and the horizon only for the regret bound."""
        return super().premises if self.horizon is not None else super().premises[:1]
