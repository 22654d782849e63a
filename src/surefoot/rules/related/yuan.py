r"""Descent on a clipped Lagrangian: sums of squared violations (Yuan and Lamperski, NeurIPS 2018).

In the theorems, :math:`D_0` is how far the best action may be from the first (``start_reach``; 2R
where not known), G the larger of G_f and G_g, m the number of constraints and F the largest
difference of a cost on the ball (2R G_f if unknown). G_g must bound the subgradients of every
constraint, not only of the largest. Bounds on :math:`\sum_t\sum_i [g_i(x_t)]_+^2` hold for the
largest constraint's :math:`\sum_t [g(x_t)]_+^2` too: it is one of the m. The constraints may
differ from round to round, against the best action that is feasible in all rounds.
"""

import math
from typing import ClassVar, Self

import numpy as np

from surefoot.core.algorithm import EachConstraint, tuning
from surefoot.core.arrays import combine, maximum
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.parameters import Declared, nonnegative, positive, projectable, share
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian
from surefoot.rules.states import RoundState

__all__ = ["Yuan", "YuanStronglyConvex", "YuanTradeOff"]


class Yuan(Declared, EachConstraint):
    r"""Descent on a Lagrangian of violations only, whose multipliers are the best in each round.

    In :math:`f_t(x) + \sum_i \lambda_i [g_i(x)]_+ - \tfrac{\theta_t}{2}\|\lambda\|^2` the
    multipliers that are largest at the action played have a closed form, so none are carried; for
    t = 1, 2, ...

    .. math::
        \lambda_{t,i} &= [g_i(x_t)]_+/\theta_t \\
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_t(\nabla f_t(x_t)
                         + \textstyle\sum_i \lambda_{t,i}\, s_{t,i})\big) \\
        \eta_t &= \eta\,t^{-p}, \qquad \theta_t = \theta\,t^{-p}

    This is online gradient descent on :math:`f_t + \tfrac{1}{2\theta_t}\sum_i [g_i]_+^2`; a
    constraint that is met has no part in it.

    Args:
        eta: first step size, :math:`\eta > 0`.
        theta: first regulariser, :math:`\theta > 0`; the penalty is its inverse.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.
        decay: p, how fast both fade, :math:`p \ge 0`; 0 for convex costs, 1 for strongly convex
            ones.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = Yuan(eta=0.5, theta=2.0, domain=Ball(4.0), decay=1.0)
        >>> s = np.array([[1.0, 0.0], [0.0, -3.0]])
        >>> seen = Feedback(np.array([2.0, 0.5]), np.array([-1.0, 0.5]), s)
        >>> first = player.update(player.init(np.array([1.0, -1.0])), seen)
        >>> first.x
        array([ 0.   , -0.875])
        >>> player.update(first, seen).x  # eta_2 = 0.25, theta_2 = 1
        array([-0.5  , -0.625])

    Reference: Yuan and Lamperski, NeurIPS 2018. The rule is as recalled, the rate of the squares
    as in the abstract; constants are derived, see :class:`surefoot.rules.YuanTradeOff`.
    """

    state = RoundState
    source: ClassVar[Source] = Source("Yuan and Lamperski, NeurIPS 2018", "from memory")

    eta: Real = positive()
    theta: Real = positive()
    domain: Set = projectable()
    decay: Real = nonnegative(default=0.0)

    def next_state(self, state: RoundState, grad: Array, g: Array, s: Array) -> RoundState:
        x, t = state
        fade = t**self.decay
        multipliers = maximum(g, 0.0) / (self.theta / fade)
        y = x - self.eta / fade * (grad + combine(multipliers, s))
        return RoundState(self.domain.project(y), t + 1.0)

    @classmethod
    @tuning(lambda: YuanTradeOff)
    def trade_off(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        beta: float = 0.5,
        alpha: float = 0.5,
    ) -> Tuned[Self]:
        """Bounds on regret and on squared violations, traded off by beta and alpha."""
        return Tuned.of(
            cls, YuanTradeOff(constants, horizon=horizon, beta=beta, alpha=alpha), domain
        )

    @classmethod
    @tuning(lambda: YuanStronglyConvex)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Bounds on regret and on squared violations, for strongly convex costs."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, YuanStronglyConvex(constants), domain)


class YuanTradeOff(KnownHorizon, Lagrangian):
    r"""Convex costs: regret :math:`O(T^{\max(\beta, 1-\beta)})`, squares :math:`O(T^{1-\beta})`.

    With :math:`\alpha, \beta \in (0, 1)`, :math:`\sigma' = (m+1)G^2/(2(1-\alpha))`,
    :math:`\eta = D_0/(G\sqrt{m+1}\,T^\beta)` and :math:`\theta = \sigma'\eta`, for every t

    .. math::
        \mathrm{Reg}_t &\le \frac{D_0^2}{2\eta} + \frac{\eta t}{2}(m+1)G^2
            \qquad (= D_0 G\sqrt{(m+1)T} \text{ at } t = T,\ \beta = \tfrac12) \\
        \sum_{s \le t} [g(x_s)]_+^2 &\le \frac{\theta}{\alpha}(Ft + \text{the bound above}),

    and :math:`\sum [g]_+`, hence the sum of g, is at most the root of t times that. (sigma' is
    unrelated to the sigma of the error bound.) Rule and :math:`O(T^{1-\beta})` are the paper's,
    the rule as recalled; constants derived here.

    Proof: the rule is gradient descent on :math:`f_t + \sum_i\lambda_{t,i}[g_i]_+` with
    :math:`\lambda_{t,i} = [g_i(x_t)]_+/\theta`, whose gradient at :math:`x_t` has a square of at
    most :math:`(m+1)G^2(1 + \|\lambda_t\|^2)`, and which at a feasible x* is :math:`f_t(x^*)`. So
    :math:`\mathrm{Reg}_t + \sum_s\sum_i [g_i(x_s)]_+^2(1/\theta - \eta(m+1)G^2/(2\theta^2))` is at
    most the regret bound, and the bracket is :math:`\alpha/\theta` by the choice of sigma'.

    Args:
        constants: needs R, G_f, G_g, rows; uses start_reach and F.
        horizon: T.
        beta: of the step size; 1/2 has the least regret.
        alpha: how the penalty is weighed; 1/2 has the least bound on the squares.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, start_reach=1.0, G_f=3.0, G_g=1.0, rows=3)
        >>> bound = YuanTradeOff(c, 100)
        >>> float(bound.regret_bound(100))
        60.0
        >>> {name: round(float(b), 6) for name, b in bound.bounds(100).items()}
        {'positive_sum': 281.424946, 'sum_positive': 281.424946, 'sum_squared': 792.0}
    """

    kind: ClassVar[Kind] = "sum_squared"
    changing: ClassVar[bool] = True

    needed: ClassVar[tuple[str, ...]] = ("rows",)

    beta: float = share(default=0.5)
    alpha: float = share(default=0.5)

    @property
    def name(self) -> str:
        """The name of the convex case."""
        return f"Yuan and Lamperski 2018, beta = {self.beta:g}"

    @property
    def _slopes(self) -> float:
        return math.sqrt(self.rows + 1) * self._G

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0/(G\sqrt{m+1}\,T^\beta)`."""
        return self._D_0 / (self._slopes * math.pow(self.horizon, self.beta))

    @property
    def theta(self) -> float:
        r"""The regulariser :math:`(m+1)G^2\eta/(2(1-\alpha))`."""
        return self._slopes * (self._slopes * self.eta) / (2 * (1 - self.alpha))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta t/2)(m+1)G^2`."""
        D_0, slopes = self._D_0, self._slopes
        return D_0 / 2 * (D_0 / self.eta) + slopes / 2 * (slopes * self.eta) * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the squares, and what follows for the violations by Cauchy and Schwarz."""
        squared = self.theta / self.alpha * self._budget(t)
        hard = np.sqrt(as_floats(t)) * np.sqrt(squared)
        return {"positive_sum": hard, "sum_positive": hard, "sum_squared": squared}

    @property
    def regret_exponent(self) -> float:
        """The larger of beta and 1 - beta."""
        return max(self.beta, 1 - self.beta)

    @property
    def violation_exponent(self) -> float:
        """The exponent 1 - beta of the squares."""
        return 1 - self.beta


class YuanStronglyConvex(StronglyConvex, Lagrangian):
    r"""Strongly convex costs: regret :math:`O(\log T)`, violations :math:`O(\sqrt{T\log T})`.

    With H the modulus, :math:`\eta_t = 1/(Ht)`, :math:`\theta_t = (m+1)G^2\eta_t` and
    :math:`c = (m+1)G^2/(2H)`, after any number t of rounds, :math:`h_t = 1 + \ln t`,

    .. math::
        \mathrm{Reg}_t \le c\,h_t, \qquad
        \sum_{s \le t} [g(x_s)]_+^2 \le 4c\big(F h_t + \tfrac{\pi^2}{6}c\big), \qquad
        \sum_{s \le t} [g(x_s)]_+ \le \sqrt{4c(Ft + c\,h_t)h_t}.

    Regret and the last rate as recalled from the paper; constants, and the squares, derived here.
    Proof: as for :class:`YuanTradeOff` with strong convexity, whose
    :math:`-\tfrac{H}{2}\|x_t - x^*\|^2` leaves no distance, and with the bracket
    :math:`1/(2\theta_s)`: :math:`\mathrm{Reg}_t + \sum_s q_s/(2\theta_s) \le c\sum_{s \le t} 1/s`
    where :math:`q_s = \sum_i [g_i(x_s)]_+^2`. With :math:`\mathrm{Reg}_t \ge -Ft` this is
    :math:`\sum_{s \le t} s\,q_s \le 4c\sum_{s \le t}(F + c/s)` for every t. The weights 1/s fall,
    so by summation by parts the same holds with each term divided by s:
    :math:`\sum q_s \le 4c\sum(F/s + c/s^2)`. And :math:`(\sum [g]_+)^2 \le \sum s\,q_s \sum 1/s`.

    Args:
        constants: needs R, G_f, G_g, rows, strong_convexity; uses F.
        horizon: named only if the game is meant to have one.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=3.0, G_g=1.0, rows=3, strong_convexity=2.0)
        >>> float(YuanStronglyConvex(c).regret_bound(1))  # 4 * 9 / (2 * 2)
        9.0
    """

    name: ClassVar[str] = "Yuan and Lamperski 2018, strongly convex"
    decay: ClassVar[float] = 1.0
    kind: ClassVar[Kind] = "sum_positive"
    violation_exponent: ClassVar[float] = 0.5
    changing: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("rows",)

    @property
    def theta(self) -> float:
        """The regulariser of round 1, (m + 1) G^2/H."""
        G = self._G
        return (self.rows + 1) * G * (G * self.eta)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\tfrac{(m+1)G^2}{2H}(1 + \ln t)`."""
        return self.theta / 2 * harmonic(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the squares and the violations, as above."""
        F, c = self._F, self.theta / 2
        squared = 4 * c * (F * harmonic(t) + math.pi**2 / 6 * c)
        hard = np.sqrt(4 * c * harmonic(t)) * np.sqrt(self._budget(t))
        return {"positive_sum": hard, "sum_positive": hard, "sum_squared": squared}
