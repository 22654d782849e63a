"""Primal and dual descent for a known margin, and its bounds (Castiglioni et al. 2022)."""

import math
from typing import ClassVar, Self

from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, maximum, norm
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats, too_short
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Multiplying, RowsApart
from surefoot.rules.states import DualState

__all__ = ["PrimalDual", "PrimalDualTheorem"]


class PrimalDual(Multiplying):
    r"""Gradient descent on the action and ascent on the multipliers, both with fixed steps.

    .. math::
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_P(\nabla_t
                         + \textstyle\sum_k\lambda_{t,k}s_{t,k})\big) \\
        \lambda_{t+1} &= \text{the part of } [\lambda_t + \eta_Dg_t(x_t)]_+
                         \text{ within } \|\lambda\| \le c

    both from the old pair. With the theorem's steps the cap c is never reached.

    Args:
        primal_step: :math:`\eta_P`.
        dual_step: :math:`\eta_D`.
        cap: c.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible sets.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = PrimalDual(
        ...     primal_step=0.04, dual_step=0.08, cap=4.0, rows=1, domain=Ball(1.0)
        ... )
        >>> state = player.init(np.array([0.0]))
        >>> seen = Feedback(np.array([-1.0]), np.array([0.5]), np.array([[1.0]]))
        >>> state = player.update(player.update(state, seen), seen)
        >>> state.x.round(6), state.multipliers.round(6)
        (array([0.0784]), array([0.08]))

    Reference: Castiglioni, Celli, Marchesi, Romano and Gatti, "A unifying framework for online
    optimization with long-term constraints", NeurIPS 2022, for a known margin. The rule is as
    recalled; this tuning and its constants are derived here.
    """

    state = DualState
    source: ClassVar[Source] = Source("Castiglioni et al., NeurIPS 2022", "from memory")

    primal_step: Real = positive()
    dual_step: Real = positive()
    cap: Real = positive()
    domain: Set = projectable()

    def first_state(self, x1: Array) -> DualState:
        return DualState(x1, self._zeros(x1))

    def next_state(self, state: DualState, gradient: Array, g: Array, s: Array) -> DualState:
        x, multipliers = state
        y = x - self.primal_step * (gradient + combine(multipliers, s))
        raised = maximum(multipliers + self.dual_step * g, 0.0)
        size = norm(raised)
        capped = raised * (self.cap / maximum(size, self.cap + 0.0 * size))
        return DualState(self.domain.project(y), capped)

    @classmethod
    @tuning(lambda: PrimalDualTheorem)
    def known_margin(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Bounds on regret and violations for a given strictly feasible margin."""
        return Tuned.of(cls, PrimalDualTheorem(constants, horizon=horizon), domain)


class PrimalDualTheorem(RowsApart):
    r"""Regret and the sum of each constraint :math:`O(\sqrt T)`, for constraints that change.

    Let one point have the slack :math:`\rho_S` for every constraint of every round, and lose at
    most :math:`F_0` per round to any other. With D = 2R, :math:`c = 4F_0/\rho_S`,
    :math:`G_d = G_f + \sqrt mG_gc`, :math:`\eta_P = D/(G_d\sqrt T)` and
    :math:`\eta_D = \eta_Pc^2/(2D^2)`,

    .. math::
        \mathrm{Reg}_t \le \frac{D^2}{2\eta_P} + \tfrac12(\eta_PG_d^2 + \eta_DmD_g^2)t, \qquad
        \sum_{s \le t}g_{s,k}(x_s) \le \frac{c}{\eta_D} = \frac{2DG_d}{c}\sqrt T
        \quad\text{for every } k,

    if :math:`\tfrac12\eta_PG_d^2 + \tfrac12\eta_DmD_g^2 \le F_0` and
    :math:`\sqrt T > 8F_0/(DG_d)`.

    Proof. The cap is never reached. Let :math:`t_2` be the first round with
    :math:`\|\lambda\| \ge c` and :math:`t_1` the last before with :math:`\|\lambda\| \le c/2`. The
    dual steps between give
    :math:`\tfrac{3c^2}{8\eta_D} \le \sum\langle\lambda_t, g_t(x_t)\rangle +
    \tfrac12\eta_DmD_g^2|I|`, the primal ones, towards the point of slack,
    :math:`\sum\langle\lambda_t, g_t(x_t)\rangle \le \sum(F_0 - \rho_S\|\lambda_t\|)
    + \tfrac{D^2}{2\eta_P} + \tfrac12\eta_PG_d^2|I|`, and :math:`F_0 - \rho_Sc/2 = -F_0` after
    :math:`t_1`. Together :math:`\tfrac34D^2/\eta_P \le \tfrac12D^2/\eta_P + 2F_0`, against the
    second condition. So :math:`\eta_D\sum g_k \le \lambda_k < c`. Regret: the sum of the two
    regrets of descent, the dual one against 0.

    Args:
        constants: needs R, G_f, G_g, D_g, rows, and slater_margin or start_slack; uses
            slater_cost and F.
        horizon: T.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(
        ...     R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1, slater_margin=1.0, slater_cost=1.0
        ... )
        >>> theorem = PrimalDualTheorem(c, 100)
        >>> theorem.cap, theorem.primal_step, theorem.dual_step
        (4.0, 0.04, 0.08)
    """

    name: ClassVar[str] = "Castiglioni et al. 2022, known margin"
    violation_exponent: ClassVar[float] = 0.5
    changing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin <= 0:
            raise InvalidValueError(
                f"{self.name} needs slater_margin, the slack of one point in every round, or a "
                "strictly feasible start; without one use drift plus penalty "
                "(ScalarDPP.changing), which needs none"
            )
        least = self._first_horizon()
        if self.horizon < least:
            raise too_short(self, least)

    def _first_horizon(self) -> int:
        """Return the least T that meets both conditions, each of them monotone in T."""
        slope, D = self._slope, self._D
        # Both steps are a constant over the root of T.
        first = 0.5 * D * slope + 0.25 * self.cap**2 / (D * slope) * self.rows * self._D_g**2
        root = max(first / self._loss, 8 * self._loss / (D * slope))
        return math.floor(root**2 * (1 + 1e-12)) + 1

    @property
    def _loss(self) -> float:
        slater_cost = self.constants.slater_cost
        return self._F if slater_cost is None else slater_cost

    @property
    def cap(self) -> float:
        r"""The cap on multipliers, :math:`c = 4F_0/\rho_S`."""
        return 4 * self._loss / self.margin

    @property
    def margin(self) -> float:
        r"""The Slater margin :math:`\rho_S`, or the start's if none is given."""
        slater_margin = self.constants.slater_margin
        return (self.constants.start_slack or 0.0) if slater_margin is None else slater_margin

    @property
    def _slope(self) -> float:
        return self._G_f + math.sqrt(self.rows) * self._G_g * self.cap

    @property
    def primal_step(self) -> float:
        r"""The primal step :math:`D/(G_d\sqrt T)`."""
        return self._D / (self._slope * math.sqrt(self.horizon))

    @property
    def dual_step(self) -> float:
        r"""The dual step :math:`\eta_Pc^2/(2D^2)`."""
        return self.primal_step * self.cap**2 / (2 * self._D**2)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta_P) + \tfrac12(\eta_PG_d^2 + \eta_DmD_g^2)t`."""
        rate = self.primal_step * self._slope**2 + self.dual_step * self.rows * self._D_g**2
        return self._D**2 / (2 * self.primal_step) + 0.5 * rate * as_floats(t)

    @property
    def _limit(self) -> float:
        r""":math:`c/\eta_D`."""
        return self.cap / self.dual_step
