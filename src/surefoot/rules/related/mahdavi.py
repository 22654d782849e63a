r"""Descent and ascent on a Lagrangian, regularised or optimistic (Mahdavi, Jin, Yang, JMLR 2012).

In the theorems, :math:`D_0` is how far the best action may be from the first (``start_reach``; 2R
where not known), G the larger of G_f and G_g, m the number of constraints, :math:`D_g` the largest
absolute value of any one of them on the ball and F the largest difference of a cost there (2R G_f
where not known). G_g must bound the subgradients of every constraint, not only of the largest.
"""

import math
from typing import ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, rows_dot
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats, first_horizon, too_short
from surefoot.guarantees.guarantee import ConstraintForm, KnownHorizon
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import EachRow, Multiplying, positive_part
from surefoot.rules.states import DualState

__all__ = [
    "Mahdavi",
    "MahdaviBalanced",
    "MahdaviLinear",
    "MahdaviLinearBalanced",
    "MahdaviNoViolation",
]


class Mahdavi(Multiplying):
    r"""Gradient descent on the action and ascent on the multipliers, both at the same point.

    The Lagrangian :math:`f_t(x) + \sum_i \lambda_i (g_i(x) + \gamma) -
    \tfrac{\delta\eta}{2}\|\lambda\|^2` keeps all m constraints separate and its multipliers small:

    .. math::
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta(\nabla f_t(x_t)
                         + \textstyle\sum_i \lambda_{t,i}\, s_{t,i})\big) \\
        \lambda_{t+1} &= \big[\lambda_t + \eta(g(x_t) + \gamma - \delta\eta\lambda_t)\big]_+

    from :math:`\lambda_1 = 0`. With :math:`\delta = 0` it is plain descent and ascent. Note the two
    etas before delta.

    Args:
        eta: step size :math:`\eta > 0` of both.
        delta: regulariser :math:`\delta \ge 0`.
        rows: m, the number of constraints.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.
        gamma: tightening :math:`\gamma \ge 0` of every constraint.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = Mahdavi(eta=0.5, delta=0.25, rows=2, domain=Ball(4.0))
        >>> x, s = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [0.0, -3.0]])
        >>> seen = Feedback(np.array([2.0, 0.5]), np.array([0.5, -2.0]), s)
        >>> first = player.update(player.init(x), seen)  # the multipliers were 0
        >>> first.x, first.multipliers
        (array([ 0.  , -1.25]), array([0.25, 0.  ]))
        >>> second = player.update(first, seen)
        >>> second.x, second.multipliers
        (array([-1.125, -1.5  ]), array([0.484375, 0. ]))

    Reference: Mahdavi, Jin and Yang, JMLR 13, 2012, Algorithm 1. The rule and the form of its
    parameters are as recalled, the rates as in the abstract; all constants are derived, see
    :class:`surefoot.rules.MahdaviBalanced`.
    """

    state = DualState
    source: ClassVar[Source] = Source("Mahdavi, Jin and Yang, JMLR 2012", "from memory")

    eta: Real = positive()
    delta: Real = nonnegative()
    domain: Set = projectable()
    gamma: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> DualState:
        return DualState(x1, self._zeros(x1))

    def next_state(self, state: DualState, grad: Array, g: Array, s: Array) -> DualState:
        x, multipliers = state
        y = x - self.eta * (grad + combine(multipliers, s))
        ascent = g + self.gamma - self.delta * self.eta * multipliers
        return DualState(self.domain.project(y), positive_part(multipliers + self.eta * ascent))

    @classmethod
    @tuning(lambda: MahdaviBalanced)
    def balanced(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Bounds on regret and on the sum of violations, for a given horizon."""
        return Tuned.of(cls, MahdaviBalanced(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: MahdaviNoViolation)
    def no_violation(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        tightening: float | None = None,
    ) -> Tuned[Self]:
        """No violation in sum, paid for by a tightened constraint."""
        return Tuned.of(
            cls, MahdaviNoViolation(constants, horizon=horizon, tightening=tightening), domain
        )


class _Regularised(KnownHorizon, EachRow):
    """Descent and ascent on the regularised Lagrangian of rows with a known largest value."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon < self._shortest:
            raise too_short(self, self._shortest)

    @property
    def largest_value(self) -> float:
        """The largest absolute value of a constraint as the algorithm sees it: D_g itself."""
        return self._D_g

    def _sizes(self) -> tuple[float, float, float]:
        """Return D_0, sqrt(m + 1) G, and the root of the bound on both squared gradients at 0."""
        m = self.rows
        slopes = math.sqrt(m + 1) * self._G
        return (self._D_0, slopes, math.hypot(slopes, math.sqrt(2 * m) * self.largest_value))

    @property
    def _shortest(self) -> int:
        """The first T for which a delta exists."""
        return max(1, math.ceil(self._condition))

    @property
    def _condition(self) -> float:
        r"""The number :math:`8(m+1)G^2\eta^2 T`, which T must reach for a delta to exist."""
        D_0, m = self._D_0, self.rows
        ratio = self.largest_value / self._G
        return 8 * D_0 * D_0 / (1 + 2 * m / (m + 1) * ratio * ratio)

    @property
    def a(self) -> float:
        r"""The constant :math:`D_0\sqrt{(m+1)G^2 + 2mD_g^2}`."""
        D_0, _, both = self._sizes()
        return D_0 * both

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0^2/(a\sqrt T)`."""
        D_0, _, both = self._sizes()
        return D_0 / (both * math.sqrt(self.horizon))

    @property
    def delta(self) -> float:
        r"""The smallest :math:`\delta \ge (m+1)G^2 + 2\delta^2\eta^2`.

        It is the smaller root of the quadratic, :math:`2q/(1 + \sqrt{1 - 8q\eta^2})` with
        :math:`q = (m+1)G^2`: between q and 2q.
        """
        return self._delta(self.horizon)

    def _delta(self, horizon: int) -> float:
        _, slopes, _ = self._sizes()
        # Not below 0 by rounding where the horizon is just enough.
        under = max(0.0, 1 - self._condition / horizon)
        return 2 * slopes**2 / (1 + math.sqrt(under))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta t/2)((m+1)G^2 + 2mD_g^2)`."""
        D_0, _, both = self._sizes()
        return D_0 / 2 * (D_0 / self.eta) + self.eta / 2 * both * (both * as_floats(t))

    def _row_bound(self, t: Number) -> Array:
        r"""Return :math:`\sqrt{2(Ft + \mathrm{Reg})(\delta\eta t + 1/\eta)}`."""
        # The product of the roots: the root of the product would overflow long before.
        root = np.sqrt(2 * (self._F * as_floats(t) + _Regularised.regret_bound(self, t)))
        return root * np.sqrt(self.delta * self.eta * as_floats(t) + 1 / self.eta)


class MahdaviBalanced(_Regularised):
    r"""Theorem 4: regret :math:`O(\sqrt T)`, each constraint's sum :math:`O(T^{3/4})`.

    With :math:`a = D_0\sqrt{(m+1)G^2 + 2mD_g^2}`, :math:`\eta = D_0^2/(a\sqrt T)` and
    :math:`\delta \ge (m+1)G^2 + 2\delta^2\eta^2`, which exists if
    :math:`8(m+1)G^2\eta^2 \le 1`, for every t

    .. math::
        \mathrm{Reg}_t &\le \frac{D_0^2}{2\eta} + \frac{\eta t}{2}\big((m+1)G^2 + 2mD_g^2\big)
            \qquad (= a\sqrt T \text{ at } t = T) \\
        \Big[\sum_{s \le t} g_i(x_s)\Big]_+
            &\le \sqrt{2(Ft + \text{the bound above})(\delta\eta t + 1/\eta)}.

    Parameters as recalled from the paper; constants derived here. Proof: with
    :math:`L_t(x, \lambda) = f_t + \lambda^\top g - \tfrac{\delta\eta}{2}\|\lambda\|^2`, convex in
    x and concave in lambda, the two gradient steps give for feasible x* and
    :math:`\lambda \ge 0`, with :math:`\lambda_1 = 0`,

    .. math::
        \sum_s L_s(x_s, \lambda) - L_s(x^*, \lambda_s)
        \le \frac{D_0^2 + \|\lambda\|^2}{2\eta}
        + \frac{\eta}{2}\sum_s \|\nabla_x L_s\|^2 + \|\nabla_\lambda L_s\|^2.

    The gradients are at most :math:`(m+1)G^2(1 + \|\lambda_s\|^2)` and
    :math:`2mD_g^2 + 2\delta^2\eta^2\|\lambda_s\|^2` by the inequality of Cauchy and Schwarz. On the
    left :math:`-\lambda_s^\top g(x^*) \ge 0`, and the regulariser gives
    :math:`\tfrac{\delta\eta}{2}\|\lambda_s\|^2`, which cancels the same on the right by the choice
    of delta. What is left is :math:`\mathrm{Reg} + \lambda^\top S - \tfrac12(\delta\eta t +
    1/\eta)\|\lambda\|^2 \le` the regret bound, S the sums. lambda = 0 gives regret;
    :math:`\lambda = [S]_+/(\delta\eta t + 1/\eta)` and :math:`\mathrm{Reg} \ge -Ft` give
    :math:`\|[S]_+\|`. No step links the constraints of one round to those of another, so they may
    change, against the best action that is feasible in all rounds.

    Args:
        constants: needs R, G_f, G_g, D_g, rows; uses start_reach and F.
        horizon: T, large enough for a delta.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, start_reach=1.0, G_f=3.0, G_g=1.0, D_g=2.0, rows=2)
        >>> bound = MahdaviBalanced(c, 100)
        >>> round(float(bound.regret_bound(100)), 9), round(10 * bound.a, 9)
        (65.574385243, 65.574385243)
        >>> MahdaviBalanced(c, 4)
        Traceback (most recent call last):
        ...
        surefoot.core.errors.InvalidValueError: Mahdavi et al. 2012, Theorem 4 needs a horizon of
        at least 6 rounds for these constants, got 4
    """

    name: ClassVar[str] = "Mahdavi et al. 2012, Theorem 4"
    regret_exponent: ClassVar[float] = 0.5
    violation_exponent: ClassVar[float] = 0.75
    changing: ClassVar[bool] = True


class MahdaviNoViolation(_Regularised):
    r"""Theorem 4 on :math:`g_i + \gamma`: no constraint's sum is positive after T rounds.

    With :math:`\gamma = bT^{-1/4} \le \epsilon` and
    :math:`b = \sqrt{2(F + a)(\delta D_0^2/a + a/D_0^2)}`,

    .. math::
        \sum_{t \le T} g_i(x_t) \le 0, \qquad
        \mathrm{Reg}_T \le a\sqrt T + \frac{G_f}{\sigma} b T^{3/4}.

    Theorems 7 and 8 of the paper as recalled, constants derived here. The algorithm sees values up
    to :math:`D_g + \gamma`, which is why :math:`D_g + \epsilon` takes the place of D_g in a: b then
    does not depend on gamma. Proof: Theorem 4 bounds the sums of :math:`g_i + \gamma` by
    :math:`\sqrt{2(FT + a\sqrt T)(\delta\eta T + 1/\eta)} \le bT^{3/4} = \gamma T`, against the
    best action of :math:`X_\gamma`, and that is at most :math:`\gamma/\sigma` from the best of X
    (Lemma 1 of the paper on Polyak feasibility steps). :math:`T \ge (b/\epsilon)^4` is often out
    of reach, so gamma may also be given: after t rounds each sum is then at most the bound of
    Theorem 4 less :math:`\gamma t`. (b also rounds :math:`F + a/\sqrt T` up to F + a, which
    :class:`surefoot.rules.Tightened` on top of Theorem 4 does not.)

    Args:
        constants: needs R, G_f, G_g, D_g, rows, sigma, epsilon; uses start_reach and F.
        horizon: T, large enough for gamma <= epsilon.
        tightening: a given tightening, at most epsilon.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, start_reach=1.0, G_f=0.5, G_g=1.0, D_g=1.0, rows=1,
        ...               sigma=1.0, epsilon=0.9)
        >>> bound = MahdaviNoViolation(c, 3000)
        >>> round(bound.gamma, 3), float(bound.bounds(3000)["positive_sum"])
        (0.738, 0.0)
        >>> MahdaviNoViolation(c, 1000)
        Traceback (most recent call last):
        ...
        surefoot.core.errors.InvalidValueError: Mahdavi et al. 2012, no violation needs a horizon
        of at least 1357 rounds for these constants, or a given tightening, got 1000
    """

    name: ClassVar[str] = "Mahdavi et al. 2012, no violation"

    tightening: float | None = nonnegative(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        (epsilon, _) = self.constants.require("epsilon", "sigma", by=self.name)
        if self.tightening is not None:
            checks.at_most(epsilon, "epsilon", tightening=self.tightening)
        elif self._shift(self.horizon) > epsilon:
            enough = first_horizon(lambda T: self._shift(T) <= epsilon, self._shortest)
            raise too_short(self, enough, "or a given tightening, ")

    @property
    def largest_value(self) -> float:
        """The bound D_g + epsilon; the constraints are tightened by at most epsilon."""
        return sum(self.constants.require("D_g", "epsilon", by=self.name))

    def _shift(self, horizon: int) -> float:
        D_0, _, both = self._sizes()
        ascent = math.sqrt(self._delta(horizon) * D_0 / both + both / D_0)
        return math.sqrt(2 * (self._F + D_0 * both)) * ascent / math.sqrt(math.sqrt(horizon))

    @property
    def gamma(self) -> float:
        r"""The tightening :math:`bT^{-1/4}`, unless given."""
        return self._shift(self.horizon) if self.tightening is None else self.tightening

    def regret_bound(self, t: Number) -> Array:
        r"""Return Theorem 4's, and :math:`(G_f/\sigma)\gamma t`."""
        G_f, sigma = self.constants.require("G_f", "sigma", by=self.name)
        return super().regret_bound(t) + G_f / sigma * self.gamma * as_floats(t)

    def _row_bound(self, t: Number) -> Array:
        r"""Return Theorem 4's less :math:`\gamma t`, where that is positive."""
        return np.maximum(super()._row_bound(t) - self.gamma * as_floats(t), 0.0)

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 3/4; None if gamma is given."""
        return 0.75 if self.tightening is None else None

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f and G_g, the horizon, and sigma near the boundary."""
        epsilon, sigma = self.constants.require("epsilon", "sigma", by=self.name)
        near = Premise("subgradient near the boundary", "sigma", sigma, level=epsilon)
        return (*super().premises, near)


class LinearState(NamedTuple):
    """The action to play, a prediction; and what it was predicted from.

    Attributes:
        x: the next action.
        z: the centre of the actions.
        mu: the centre of the multipliers.
    """

    x: Array
    z: Array
    mu: Array


class MahdaviLinear(Multiplying):
    r"""Descent and ascent that predict the part of the next gradient that the constraints make.

    For linear constraints :math:`Ax \le b` the coupling of actions and multipliers is known
    before the cost is, so both are predicted from the centres, the prediction is played, and the
    centres then move by what the round has shown:

    .. math::
        x_t       &= \Pi_{R\mathbb{B}}(z_t - \eta A^\top\mu_t), \qquad
        \lambda_t  = [\mu_t + \eta(Az_t - b)]_+ \\
        z_{t+1}   &= \Pi_{R\mathbb{B}}\big(z_t - \eta(\nabla f_t(x_t) + A^\top\lambda_t)\big),
        \qquad \mu_{t+1} = [\mu_t + \eta(Ax_t - b)]_+

    A and b are not given: the rows' subgradients at any action are A, the values at :math:`x_t` are
    :math:`Ax_t - b`, and so :math:`Az_t - b = g(x_t) + A(z_t - x_t)`. Nothing is asked for anywhere
    but at the action played. Predicting :math:`x_t` takes :math:`A^\top\mu_t`, known from any
    earlier round, and in the first round not needed: :math:`\mu_1 = 0` makes :math:`x_1 = z_1`.

    Args:
        eta: step size :math:`\eta > 0` of both.
        rows: m, the number of constraints.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = MahdaviLinear(eta=0.5, rows=1, domain=Ball(4.0))
        >>> first = player.init(np.array([1.0, -1.0]))  # x[0] - 3 x[1] <= 3
        >>> seen = Feedback(np.array([2.0, 0.5]), np.array([1.0]), np.array([[1.0, -3.0]]))
        >>> second = player.update(first, seen)  # lambda = mu = 0.5 (4 - 3)
        >>> second.z, second.mu
        (array([-0.25, -0.5 ]), array([0.5]))
        >>> second.x
        array([-0.5 ,  0.25])

    Reference: the setting and the rates are those of the mirror-prox variant of Mahdavi, Jin and
    Yang, JMLR 13, 2012. Its literal prediction step is not certain from memory: this rule is
    derived here to have the same rates, see :class:`surefoot.rules.MahdaviLinearBalanced`.
    """

    state = LinearState
    source: ClassVar[Source] = Source("Mahdavi, Jin and Yang, JMLR 2012", "derived here")

    eta: Real = positive()
    domain: Set = projectable()

    def first_state(self, x1: Array) -> LinearState:
        return LinearState(x1, x1, self._zeros(x1))

    def next_state(self, state: LinearState, grad: Array, g: Array, A: Array) -> LinearState:
        x, z, mu = state
        multipliers = positive_part(mu + self.eta * (g + rows_dot(A, z - x)))
        z = self.domain.project(z - self.eta * (grad + combine(multipliers, A)))
        mu = positive_part(mu + self.eta * g)
        return LinearState(self.domain.project(z - self.eta * combine(mu, A)), z, mu)

    @classmethod
    @tuning(lambda: MahdaviLinearBalanced)
    def balanced(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        operator_norm: float | None = None,
    ) -> Tuned[Self]:
        """Bounds on regret and on the sums of linear constraints, by a mirror prox step."""
        return Tuned.of(
            cls,
            MahdaviLinearBalanced(constants, horizon=horizon, operator_norm=operator_norm),
            domain,
        )


class MahdaviLinearBalanced(KnownHorizon, EachRow):
    r"""Linear constraints :math:`Ax \le b`: regret and each sum :math:`O(T^{2/3})`.

    The rates are those of the paper's mirror-prox variant; its prediction step is not certain from
    memory, so the optimistic rule of :class:`surefoot.rules.MahdaviLinear` stands for it, and
    these bounds are derived here. With
    :math:`\eta = \min\{1/(\sqrt2\|A\|),\ (D_0/G_f)T^{-1/3}\}`, for every t

    .. math::
        \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \eta G_f^2 t, \qquad
        \Big\|\Big[\sum_{s \le t}(Ax_s - b)\Big]_+\Big\|
            \le \sqrt{\frac{2Ft}{\eta} + \frac{D_0^2}{\eta^2} + 2G_f^2 t}.

    Proof: write :math:`p_t = (x_t, \lambda_t)` for the predictions, :math:`q_t = (z_t, \mu_t)` for
    the centres, and hints :math:`M_t = (A^\top\mu_t, b - Az_t)` for the gradients
    :math:`h_t = (\nabla f_t(x_t) + A^\top\lambda_t, b - Ax_t)`. Two projections a round from the
    same centre give for every u of the set

    .. math::
        \langle h_t, p_t - u\rangle \le \frac{\|u - q_t\|^2 - \|u - q_{t+1}\|^2}{2\eta}
        + \frac{\eta}{2}\|h_t - M_t\|^2 - \frac{1}{2\eta}\|p_t - q_t\|^2,

    and :math:`\|h_t - M_t\|^2 \le 2G_f^2 + 2\|A\|^2\|\lambda_t - \mu_t\|^2
    + \|A\|^2\|x_t - z_t\|^2` is, but for its first term, covered by the last term above as
    :math:`2\eta^2\|A\|^2 \le 1`. For :math:`u = (x^*, \lambda)` the coupling cancels and the left
    side is at least :math:`f_t(x_t) - f_t(x^*) + \lambda^\top(Ax_t - b)`. Sum, with
    :math:`q_1 = (x_1, 0)`; :math:`\lambda = 0` gives regret, :math:`\lambda = \eta[S]_+` and
    :math:`\mathrm{Reg} \ge -Ft` the rest. No error depends on lambda, so nothing is regularised.

    Args:
        constants: needs R, G_f, G_g, rows; uses start_reach and F.
        horizon: T.
        operator_norm: an upper bound on :math:`\|A\|`, the largest singular value;
            :math:`\sqrt m\,G_g` unless known better.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, start_reach=1.0, G_f=2.0, G_g=1.0, rows=2)
        >>> bound = MahdaviLinearBalanced(c, 1000)
        >>> round(bound.eta, 12), round(float(bound.regret_bound(1000)), 9)
        (0.05, 210.0)
    """

    name: ClassVar[str] = "Mahdavi et al. 2012, linear constraints (derived)"
    regret_exponent: ClassVar[float] = 2 / 3
    violation_exponent: ClassVar[float] = 2 / 3
    constraint_form: ClassVar[ConstraintForm] = "linear"

    operator_norm: float | None = positive(default=None)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\min\{1/(\sqrt2\|A\|),\ (D_0/G_f)T^{-1/3}\}`."""
        size = self.operator_norm or math.sqrt(self.rows) * self._G_g
        usual = self._D_0 / (self._G_f * math.pow(self.horizon, 1 / 3))
        return min(1 / (math.sqrt(2) * size), usual)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + \eta G_f^2 t`."""
        D_0, G_f = self._D_0, self._G_f
        return D_0 / 2 * (D_0 / self.eta) + self.eta * G_f * (G_f * as_floats(t))

    def _row_bound(self, t: Number) -> Array:
        r"""Return :math:`\sqrt{2(Ft + \mathrm{Reg})/\eta}`, which is the formula above."""
        return np.sqrt(2 * self._budget(t)) / math.sqrt(self.eta)
