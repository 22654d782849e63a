"""Queues that look one step ahead, and their O(1) bound for linear constraints (2020)."""

import math
from typing import ClassVar, NamedTuple, Self

from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, maximum, number_like, where
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import ConstraintForm
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Multiplying, RowsApart

__all__ = ["YuNeely", "YuNeelyTheorem"]


class YuNeelyState(NamedTuple):
    """The action to play, the queues and the round."""

    x: Array
    queues: Array
    t: Counts


class YuNeely(Multiplying):
    r"""Drift plus penalty whose queues look one step ahead; for linear constraints.

    .. math::
        Q_{1,k} &= [-\gamma g_k(x_1)]_+, \qquad
        Q_{t,k}  = \max(-\gamma g_k(x_t),\ Q_{t-1,k} + \gamma g_k(x_t)) \\
        w_t     &= Q_t + \gamma g(x_t) \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + \textstyle\sum_k w_{t,k}\gamma g_k(x) + \alpha\|x - x_t\|^2
                 = \Pi_{R\mathbb{B}}\Big(x_t - \frac{\nabla_t + \gamma\sum_k w_{t,k}s_k}
                   {2\alpha}\Big)

    The last equality is for linear constraints, whose slopes :math:`s_k` are the same everywhere.

    Args:
        gamma: the weight of the constraints.
        alpha: the weight of a move.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = YuNeely(gamma=2.0, alpha=4.0, rows=1, domain=Ball(9.0))
        >>> state = player.init(np.array([0.0]))  # x <= 0.5
        >>> for _ in range(3):
        ...     g = state.x - 0.5
        ...     state = player.update(state, Feedback(np.array([-4.0]), g, np.array([[1.0]])))
        ...     print(state.x, state.queues)
        [0.5] [1.]
        [0.75] [1.]
        [0.75] [1.5]

    Reference: Yu and Neely, "A low complexity algorithm with O(sqrt T) regret and O(1) constraint
    violations for online convex optimization with long term constraints", JMLR 2020. Constants
    derived here.
    """

    state = YuNeelyState
    source: ClassVar[Source] = Source("Yu and Neely, JMLR 2020", "from memory")

    gamma: Real = positive()
    alpha: Real = positive()
    domain: Set = projectable()

    def first_state(self, x1: Array) -> YuNeelyState:
        return YuNeelyState(x1, self._zeros(x1), number_like(x1, 1.0))

    def next_state(self, state: YuNeelyState, gradient: Array, g: Array, s: Array) -> YuNeelyState:
        x, queues, t = state
        later = maximum(-self.gamma * g, queues + self.gamma * g)
        queues = where(t == 1.0, maximum(-self.gamma * g, 0.0), later)
        weights = queues + self.gamma * g
        step = gradient + self.gamma * combine(weights, s)
        return YuNeelyState(self.domain.project(x - step / (2 * self.alpha)), queues, t + 1.0)

    @classmethod
    @tuning(lambda: YuNeelyTheorem)
    def linear(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret of order sqrt(T) and bounded violations, for linear constraints."""
        return Tuned.of(cls, YuNeelyTheorem(constants, horizon=horizon), domain)


class YuNeelyTheorem(RowsApart):
    r"""Regret :math:`O(\sqrt T)`, and the sum of each constraint :math:`O(1)`.

    Let :math:`\beta` be a Lipschitz constant of the vector of constraints,
    :math:`\gamma = T^{1/4}`, :math:`\alpha = \tfrac12(\beta^2+1)\sqrt T`, :math:`D_0` the reach of
    the start and :math:`D = 2R`. With a point of slack :math:`\epsilon_S` for every constraint,
    :math:`\hat g = \sqrt mD_g` and :math:`c = F + G_f^2/(2\sqrt T)`, after t rounds

    .. math::
        \mathrm{Reg}_t &\le \alpha D_0^2 + \frac{G_f^2t}{2\sqrt T} \\
        \sum_{s \le t}g_k(x_s) &\le g_k(x_1) + \sqrt{\Big(\hat g
            + \frac{c}{\epsilon_S\sqrt T}\Big)^2
            + (\beta^2+1)D^2 + \frac{2c}{\sqrt T} + \hat g^2} \quad\text{for every } k.

    The second is about each constraint by itself: the sum of their maximum may grow.

    Proof. With :math:`\tilde g = \gamma g`, in both branches of the maximum
    :math:`Q_+^2 \le Q^2 + 2Q\tilde g_+ + 2\tilde g_+^2`. The step minimises a
    :math:`2\alpha`-strongly convex function; with
    :math:`\langle\tilde g, \tilde g_+\rangle - \|\tilde g_+\|^2 \ge \tfrac12\|\tilde g\|^2
    - \tfrac12\|\tilde g_+\|^2 - \tfrac12\gamma^2\beta^2\|x_{t+1} - x_t\|^2`, for every z of the
    ball

    .. math:: \tfrac12\|Q_{t+1}\|^2 - \tfrac12\|Q_t\|^2 + \tfrac12\|\tilde g_t\|^2
        - \tfrac12\|\tilde g_{t+1}\|^2 + \langle\nabla_t, x_t - z\rangle
        \le \langle w_t, \tilde g(z)\rangle + \frac{G_f^2}{2\sqrt T}
        + \alpha(\|z - x_t\|^2 - \|z - x_{t+1}\|^2).

    Regret: z feasible, :math:`\|Q_{t+1}\| \ge \|\tilde g_{t+1}\|` and
    :math:`\|Q_1\| \le \|\tilde g_1\|`. Queues: with z the point of slack,
    :math:`\langle w_t, \tilde g(z)\rangle \le -\gamma\epsilon_S(\|Q_t\| - \gamma\hat g)`, so
    :math:`\tfrac12\|Q_t\|^2 - \tfrac12\|\tilde g_t\|^2 + \alpha\|z - x_t\|^2` falls where
    :math:`\|Q_t\| > \gamma\hat g + c/(\gamma\epsilon_S)`. Finally
    :math:`Q_{t+1} \ge Q_t + \tilde g_{t+1}`.

    Args:
        constants: needs R, G_f, G_g, D_g, rows and a slack: the largest of slater_margin,
            start_slack and epsilon. Uses rows_lipschitz (:math:`\sqrt mG_g` if unknown),
            start_reach and F.
        horizon: T.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(
        ...     R=1.0, G_f=1.0, G_g=1.0, D_g=1.5, rows=1, start_slack=0.5, start_reach=1.0
        ... )
        >>> theorem = YuNeelyTheorem(c, 16)
        >>> theorem.gamma, theorem.alpha, float(theorem.regret_bound(16))
        (2.0, 4.0, 6.0)
    """

    name: ClassVar[str] = "Yu and Neely 2020"
    violation_exponent: ClassVar[float] = 0.0
    constraint_form: ClassVar[ConstraintForm] = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slack <= 0:
            self.constants.require("slater_margin", by=self.name)

    @property
    def slack(self) -> float:
        r"""The largest given slack :math:`\epsilon_S`."""
        c = self.constants
        return max(c.slater_margin or 0.0, c.start_slack or 0.0, c.epsilon or 0.0)

    @property
    def lipschitz(self) -> float:
        r"""The Lipschitz constant :math:`\beta` of the constraints."""
        rows_lipschitz = self.constants.rows_lipschitz
        return math.sqrt(self.rows) * self._G_g if rows_lipschitz is None else rows_lipschitz

    @property
    def gamma(self) -> float:
        r"""The weight of the constraints, :math:`T^{1/4}`."""
        return math.pow(self.horizon, 0.25)

    @property
    def alpha(self) -> float:
        r"""The weight of a move, :math:`\tfrac12(\beta^2+1)\sqrt T`."""
        return 0.5 * (self.lipschitz**2 + 1) * math.sqrt(self.horizon)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\alpha D_0^2 + G_f^2t/(2\sqrt T)`."""
        each = self._G_f**2 / (2 * math.sqrt(self.horizon))
        return self.alpha * self._D_0**2 + each * as_floats(t)

    @property
    def _limit(self) -> float:
        """Return the second bound of the docstring."""
        G_f, D_g = self._G_f, self._D_g
        root, values = math.sqrt(self.horizon), math.sqrt(self.rows) * D_g
        c = self._F + G_f**2 / (2 * root)
        spread = (self.lipschitz**2 + 1) * (2 * self.constants.R) ** 2
        steady = (values + c / (self.slack * root)) ** 2
        queue = math.sqrt(steady + spread + 2 * c / root + values**2)
        slack = self.constants.start_slack
        return queue + (D_g if slack is None else -slack)
