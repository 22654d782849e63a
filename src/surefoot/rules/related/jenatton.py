"""Adaptive descent and ascent on a regularised Lagrangian (Jenatton, Huang and Archambeau 2016).

The theorems hold for any number of rounds. In them, G is the larger of G_f and G_g, :math:`D_g` the
largest absolute value of g on the ball and F the largest difference of a cost there (2R G_f where
not known); g is one constraint, the largest where there are several.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts
from surefoot.core.parameters import Declared, nonnegative, positive, projectable, share
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic, power_sum
from surefoot.guarantees.guarantee import Kind, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian, positive_part

__all__ = ["Jenatton", "JenattonStronglyConvex", "JenattonTradeOff"]


class JenattonState(NamedTuple):
    """The action to play, the multiplier of g, and the round."""

    x: Array
    multiplier: Number = 0.0
    t: Counts = 1.0


class Jenatton(Declared, OneConstraint):
    r"""Descent and ascent with steps and a regulariser that fade, so that no horizon is needed.

    One multiplier for g, the largest of all constraints, and the Lagrangian
    :math:`f_t(x) + \lambda g(x) - \tfrac{\theta_t}{2}\lambda^2`; for t = 1, 2, ...

    .. math::
        x_{t+1}       &= \Pi_{R\mathbb{B}}\big(x_t - \eta_t(\nabla f_t(x_t)
                         + \lambda_t s_t)\big) \\
        \lambda_{t+1} &= \big[\lambda_t + \mu_t(g(x_t) - \theta_t\lambda_t)\big]_+ \\
        \eta_t &= \eta\,t^{-p}, \qquad \theta_t = \theta\,t^{-\beta}, \qquad
        \mu_t = \frac{1}{\theta_t(t+1)}

    from :math:`\lambda_1 = 0`.

    Args:
        eta: first step size, :math:`\eta > 0`.
        theta: first regulariser, :math:`\theta > 0`.
        beta: how fast the regulariser fades, :math:`0 < \beta < 1`.
        decay: p, how fast the steps fade, :math:`p \ge 0`; beta for convex costs, 1 for strongly
            convex ones.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = Jenatton(eta=0.5, theta=2.0, beta=0.5, decay=1.0, domain=Ball(4.0))
        >>> seen = Feedback(np.array([2.0, 0.5]), 3.0, np.array([0.0, -3.0]))
        >>> first = player.update(player.init(np.array([1.0, -1.0])), seen)
        >>> first.x, first.multiplier
        (array([ 0.  , -1.25]), 0.75)
        >>> player.update(first, seen).x  # eta_2 = 0.25
        array([-0.5   , -0.8125])

    Reference: Jenatton, Huang and Archambeau, ICML 2016. Rule and parameters are as recalled, for
    beta = 1/2 also seen in a published implementation; the constants of the bounds, and the
    strongly convex case, are derived, see :class:`surefoot.rules.JenattonTradeOff`.
    """

    state = JenattonState
    source: ClassVar[Source] = Source("Jenatton, Huang and Archambeau, ICML 2016", "from memory")

    eta: Real = positive()
    theta: Real = positive()
    beta: Real = share()
    decay: Real = nonnegative()
    domain: Set = projectable()

    def next_state(self, state: JenattonState, grad: Array, g: Number, s: Array) -> JenattonState:
        x, multiplier, t = state
        eta, theta = self.eta / t**self.decay, self.theta / t**self.beta
        y = x - eta * (grad + multiplier * s)
        ascent = (g - theta * multiplier) / (theta * (t + 1.0))
        return JenattonState(self.domain.project(y), positive_part(multiplier + ascent), t + 1.0)

    @classmethod
    @tuning(lambda: JenattonTradeOff)
    def trade_off(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Set | None = None,
        *,
        beta: float = 0.5,
    ) -> Tuned[Self]:
        """Regret against violations, traded off by beta, for any number of rounds."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, JenattonTradeOff(constants, beta=beta), domain)

    @classmethod
    @tuning(lambda: JenattonStronglyConvex)
    def strongly_convex(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Set | None = None,
        *,
        beta: float = 0.5,
    ) -> Tuned[Self]:
        """Regret against violations, traded off by beta, for strongly convex costs."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, JenattonStronglyConvex(constants, beta=beta), domain)


class _Adaptive(Lagrangian):
    """Shared by the convex and the strongly convex case: the dual's part of the proof."""

    kind: ClassVar[Kind] = "cumulative"
    changing: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("D_g",)
    horizon = None

    beta: float = share(default=0.5)

    @property
    @abstractmethod
    def eta(self) -> float:
        """The first step size."""

    @property
    def theta(self) -> float:
        r"""The first regulariser: :math:`6G^2\eta_1`."""
        G = self._G
        return 6 * G * (G * self.eta)

    def _dual_steps(self, t: Number) -> Array:
        r"""Return :math:`D_g^2\sum\mu_s`, bounded by :math:`(s+1)\mu_s = s^\beta/\theta_1`."""
        return self._D_g * (self._D_g / self.theta) * power_sum(t, 1 - self.beta)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        r"""Return :math:`[\sum g]_+ \le \sqrt{2(Ft + \mathrm{Reg})(\sum_s\theta_s + \theta_1)}`."""
        thetas = self.theta * (power_sum(t, self.beta) + 1)
        return {"positive_sum": np.sqrt(2 * self._budget(t)) * np.sqrt(thetas)}

    @property
    def violation_exponent(self) -> float:
        """The exponent 1 - beta/2 of the sum of g."""
        return 1 - self.beta / 2


class JenattonTradeOff(_Adaptive):
    r"""Convex costs: regret :math:`O(T^{\max(\beta, 1-\beta)})`, sum of g :math:`O(T^{1-\beta/2})`.

    With :math:`\eta_t = R/(Gt^\beta)`, :math:`\theta_t = 6RG/t^\beta` and
    :math:`\mu_t = 1/(\theta_t(t+1))`, after any number t of rounds

    .. math::
        \mathrm{Reg}_t &\le \frac{2R^2}{\eta_t} + G^2\sum_{s \le t}\eta_s
            + D_g^2\sum_{s \le t}\mu_s \\
        \Big[\sum_{s \le t} g(x_s)\Big]_+
            &\le \sqrt{2(Ft + \text{the bound above})\Big(\sum_{s \le t}\theta_s + \theta_1\Big)},

    the sums bounded by integrals. Parameters as recalled from the paper, those of
    :math:`\beta = 1/2` also seen in a published implementation; constants derived here.

    Proof: with :math:`L_t(x, \lambda) = f_t + \lambda g - \tfrac{\theta_t}{2}\lambda^2`, whose
    concavity in lambda gives :math:`-\tfrac{\theta_t}{2}(\lambda - \lambda_t)^2` besides, the two
    gradient steps and a feasible x* give

    .. math::
        f_t(x_t) - f_t(x^*) + \lambda g(x_t) - \tfrac{\theta_t}{2}\lambda^2
        + \tfrac{\theta_t}{2}\lambda_t^2
        \le{}& \frac{\|x^* - x_t\|^2 - \|x^* - x_{t+1}\|^2}{2\eta_t}
            + \frac{(\lambda - \lambda_t)^2 - (\lambda - \lambda_{t+1})^2}{2\mu_t}
            - \tfrac{\theta_t}{2}(\lambda - \lambda_t)^2 \\
        &+ \eta_t G^2(1 + \lambda_t^2) + \mu_t D_g^2 + \mu_t\theta_t^2\lambda_t^2.

    Summed, the distances are at most :math:`(2R)^2/(2\eta_t)`. As :math:`1/\mu_t = \theta_t(t+1)`,
    the factor of :math:`(\lambda - \lambda_t)^2` is :math:`\tfrac12 t(\theta_t - \theta_{t-1}) \le
    0` for t > 1, and :math:`\tfrac12\theta_1` for t = 1. The terms in :math:`\lambda_t^2`, which
    start at t = 2 because :math:`\lambda_1 = 0`, cancel if
    :math:`\theta_t(\tfrac12 - \tfrac{1}{t+1}) \ge \eta_t G^2`: hence the 6. So
    :math:`\mathrm{Reg} + \lambda S - \tfrac12\lambda^2(\sum\theta + \theta_1)` is at most the
    regret bound, S the sum of g; lambda = 0, and the best lambda with
    :math:`\mathrm{Reg} \ge -Ft`. g may be another one in each round, against the best action that
    is feasible in all.

    Args:
        constants: needs R, G_f, G_g, D_g; uses F.
        beta: between 0 and 1; 1/2 has the least regret, 2/3 both exponents 2/3.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=2.0, G_f=3.0, G_g=1.0, D_g=4.0)
        >>> bound = JenattonTradeOff(c, beta=0.5)
        >>> float(bound.regret_bound(1)) == 2 * 6 + 6 + 16 / 36
        True
    """

    @property
    def decay(self) -> float:
        r"""The power at which steps fall, :math:`\beta`."""
        return self.beta

    @property
    def name(self) -> str:
        """The name of the convex case."""
        return f"Jenatton et al. 2016, beta = {self.beta:g}"

    @property
    def eta(self) -> float:
        """The step size of round 1, R/G."""
        return self.constants.R / self._G

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`2R^2/\eta_t + G^2\sum\eta_s + D_g^2\sum\mu_s`."""
        R, G = self.constants.R, self._G
        ends = 2 * R * G * as_floats(t) ** self.beta
        return ends + G * R * power_sum(t, self.beta) + self._dual_steps(t)

    @property
    def regret_exponent(self) -> float:
        """The larger of beta and 1 - beta."""
        return max(self.beta, 1 - self.beta)


class JenattonStronglyConvex(StronglyConvex, _Adaptive):
    r"""Strongly convex costs: regret :math:`O(T^\beta)`, sum of g :math:`O(T^{1-\beta/2})`.

    With H the modulus, :math:`\eta_t = 1/(Ht)`, :math:`\theta_t = 6G^2/(Ht^\beta)` and
    :math:`\mu_t = 1/(\theta_t(t+1))`, after any number t of rounds

    .. math::
        \mathrm{Reg}_t \le \frac{G^2}{H}(1 + \ln t) + D_g^2\sum_{s \le t}\mu_s,

    and the sum of g as in :class:`JenattonTradeOff`. Derived here. Proof: as there, but strong
    convexity adds :math:`-\tfrac{H}{2}\|x_t - x^*\|^2`, so that the factor of
    :math:`\|x_t - x^*\|^2` is :math:`\tfrac12(Ht - H(t-1) - H) = 0` and no distance is left;
    :math:`\theta_t \ge 6\eta_t G^2` as :math:`\beta < 1`.

    Args:
        constants: needs R, G_f, G_g, D_g, strong_convexity; uses F.
        beta: between 0 and 1.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=2.0, G_f=3.0, G_g=1.0, D_g=4.0, strong_convexity=2.0)
        >>> float(JenattonStronglyConvex(c).regret_bound(1)) == 9 / 2 + 16 / 27
        True
    """

    decay: ClassVar[float] = 1.0

    @property
    def name(self) -> str:
        """The name of the strongly convex case."""
        return f"Jenatton et al. 2016, strongly convex, beta = {self.beta:g}"

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`(G^2/H)(1 + \ln t) + D_g^2\sum\mu_s`."""
        G = self._G
        return G * (G * self.eta) * harmonic(t) + self._dual_steps(t)

    @property
    def regret_exponent(self) -> float:  # type: ignore[override]
        """The beta that was chosen."""
        return self.beta
