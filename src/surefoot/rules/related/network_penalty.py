r"""Agents on a network that meet their own constraints together (Yi et al. 2022).

They adapt, then combine. In the theorems there are n agents, doubly stochastic matrices with
:math:`\|W_t - \tfrac1n11^\top\|_2 \le \lambda < 1`, and one action u that is feasible for all
agents in all rounds. *Own* regret and violation are the means over agents of
:math:`\sum_tf_{i,t}(x_{t,i}) - f_{i,t}(u)` and :math:`\sum_t[g_{i,t}(x_{t,i})]_+`; *network* ones
evaluate every agent's functions at every agent's action.
"""

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, Algorithm, start_in, tuning
from surefoot.core.arrays import dot, maximum
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, declare, nonnegative, positive, projectable, share
from surefoot.core.types import Array, Info, Needs, Number, Real, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian
from surefoot.sets import Ball

__all__ = ["NetworkPenalty", "NetworkStronglyConvex", "NetworkTheorem"]


def read_mixing(name: str, mixing: Array) -> Array:
    """Return mixing matrices as ``(k, n, n)``, each doubly stochastic and of a rate below 1."""
    W = np.array(mixing, dtype=np.float64)
    W = W[None] if W.ndim == 2 else W
    if W.ndim != 3 or W.shape[1] != W.shape[2] or 0 in W.shape:
        raise InvalidValueError(f"{name}.shape must be (n, n) or (k, n, n), got {W.shape}")
    sums = np.concatenate([W.sum(axis=1).ravel(), W.sum(axis=2).ravel()])
    if not np.isfinite(W).all() or W.min() < 0 or np.abs(sums - 1).max() > 1e-9:
        rule = "doubly stochastic: no entry below 0, every row and column adding up to 1"
        raise checks.invalid(name, rule, W.tolist())
    mixing_rate(W)
    W.setflags(write=False)
    return W


def mixing_rate(mixing: Array) -> float:
    r"""Return :math:`\lambda = \max_k\|W_k - \tfrac1n11^\top\|_2`, refused unless below 1.

    Every matrix must mix by itself: the bounds are proved round by round.

    Example:
        >>> round(mixing_rate(np.array([[[0.75, 0.25], [0.25, 0.75]]])), 6)
        0.5
    """
    n = mixing.shape[-1]
    mean = np.full((n, n), 1 / n)
    worst = max(float(np.linalg.norm(W - mean, 2)) for W in mixing)
    if n > 1 and worst >= 1 - 1e-12:
        raise InvalidValueError(
            "the network must connect all agents in every round: the second largest singular "
            f"value of a mixing matrix must be below 1, got {worst:.6g}"
        )
    return worst if n > 1 else 0.0


class NetworkState(NamedTuple):
    """The actions of all agents, and the round.

    Attributes:
        x: ``(n, d)``, the combined points that are played.
        t: the round.
    """

    x: Array
    t: float


class NetworkPenalty(Declared, Algorithm):
    r"""Every agent takes a penalised gradient step, then averages with its neighbours.

    Agent i plays :math:`x_{t,i}`, sees its own cost and constraint there, and

    .. math::
        z_i       &= \Pi_{R\mathbb{B}}\Big(x_{t,i} - \alpha_t\big(\nabla f_{i,t}(x_{t,i})
                     + \tfrac{\gamma}{\alpha_t}[g_{i,t}(x_{t,i})]_+s_i\big)\Big) \\
        x_{t+1,i} &= \textstyle\sum_jW_{ij}z_j, \qquad \alpha_t = \alpha t^{-p}.

    Args:
        alpha: the first step size.
        gamma: the weight of a violation.
        mixing: W, ``(n, n)``, doubly stochastic; or ``(k, n, n)``, k matrices in turn.
        domain: a ball that contains the feasible sets.
        decay: p.

    Example:
        >>> player = NetworkPenalty(
        ...     alpha=0.5, gamma=0.25, mixing=[[0.5, 0.5], [0.5, 0.5]], domain=Ball(1.0)
        ... )
        >>> state = player.init(np.zeros(2))
        >>> seen = Feedback(
        ...     np.array([[1.0, 0.0], [-3.0, 0.0]]),
        ...     np.array([[-1.0], [0.5]]),
        ...     np.array([[1.0, 0.0], [0.0, 2.0]]),
        ... )
        >>> player.update(state, seen).x.round(6)
        array([[ 0.243197, -0.082199],
               [ 0.243197, -0.082199]])

    Reference: Yi, Li, Yang, Xie, Chai and Johansson, "Regret and cumulative constraint violation
    analysis for distributed online constrained convex optimization", 2022. The rates are theirs;
    the order (adapt, then combine) and constants are derived here.
    """

    needs: ClassVar[Needs] = Needs(numpy_only=True, agents=True, work="n^2 d")

    source: ClassVar[Source] = Source(
        "Yi et al., IEEE Transactions on Automatic Control 2022", "derived here"
    )

    alpha: Real = positive()
    gamma: Real = positive()
    mixing: Array = declare("array", "doubly stochastic matrices", read_mixing)
    domain: Ball = projectable()
    decay: Real = nonnegative(default=0.5)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.mixing.shape[-1])

    def init(self, x1: Array) -> NetworkState:
        """Start all agents at x1, a point of the ball."""
        x1 = start_in(self.domain, checks.to_vector(x1, "x1"))
        return NetworkState(np.tile(x1, (self.agents, 1)), 1.0)

    def step(self, state: NetworkState, feedback: Feedback) -> tuple[NetworkState, Info]:
        """Play one round: the lines of the docstring."""
        x, t = state
        gradient, g, s = checks.read_feedback(x, feedback)
        alpha = self.alpha / t**self.decay
        penalty = self.gamma / alpha * maximum(g, 0.0 * g)
        z = self.domain.project(x - alpha * (gradient + penalty * s))
        W = self.mixing[int(t - 1) % len(self.mixing)]
        return NetworkState(W @ z, t + 1.0), NOTHING

    def disagreement(self, state: NetworkState) -> float:
        """Return the largest distance of an agent's action to the mean of all."""
        away = state.x - state.x.mean(axis=0)
        return float(np.sqrt(dot(away, away)).max())

    @classmethod
    @tuning(lambda: NetworkTheorem, listed=False)
    def trade_off(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        mixing: Any,
        c: float = 0.5,
    ) -> Tuned[Self]:
        """Bounds on regret and violations of agents in a network, traded off by c."""
        return Tuned.of(cls, NetworkTheorem(constants, horizon=horizon, mixing=mixing, c=c), domain)

    @classmethod
    @tuning(lambda: NetworkStronglyConvex, listed=False)
    def strongly_convex(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Ball | None = None,
        *,
        mixing: Any,
    ) -> Tuned[Self]:
        """Bounds for agents in a network, for strongly convex costs."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, NetworkStronglyConvex(constants, mixing=mixing), domain)


class _Network(Lagrangian):
    """What both theorems share."""

    kind: ClassVar[Kind] = "sum_positive"
    changing: ClassVar[bool] = True

    mixing: Array = declare("array", "doubly stochastic matrices", read_mixing)

    @property
    def gamma(self) -> float:
        r"""The weight of a violation, :math:`1/(4G_g^2)`."""
        return 1 / (4 * self._G_g**2)

    @property
    def _apart(self) -> float:
        r"""The factor :math:`a = \lambda/(1-\lambda)` by which agents differ."""
        rate = mixing_rate(self.mixing)
        return rate / (1 - rate)


class NetworkTheorem(_Network, KnownHorizon):
    r"""Convex costs: network regret :math:`O(T^{\max(c,1-c)})`, violations :math:`O(T^{1-c/2})`.

    With :math:`\alpha_t = \alpha t^{-c}`, :math:`\alpha = D/(\sqrt2G_f)`, D = 2R,
    :math:`\gamma = 1/(4G_g^2)`, :math:`a = \lambda/(1-\lambda)` and
    :math:`A_t = \alpha t^{1-c}/(1-c) \ge \sum_{s \le t}\alpha_s`,

    .. math::
        \text{own regret} &\le \frac{D^2}{2\alpha_t} + G_f^2A_t, &
        \text{network regret} &\le \frac{D^2}{2\alpha_t} + \Big(1 + \frac{a}{\sqrt2}\Big)^2G_f^2A_t,
        \\
        \text{own violation} &\le H_t = \sqrt{\frac{4}{3\gamma}(Ft + \text{own regret})A_t}, &
        \text{network violation} &\le H_t + \sqrt2\,G_ga(G_fA_t + \gamma G_gH_t).

    ``regret_bound`` and ``bounds`` are the network's.

    Proof. Double stochasticity gives :math:`\sum_i\|x_i - u\|^2 \le \sum_i\|z_i - u\|^2`. With
    :math:`d_i` the step of agent i and :math:`\gamma_t = \gamma/\alpha_t` the weight of its
    violation :math:`p_i`, :math:`\tfrac{\alpha_t}2\|d_i\|^2 \le \alpha_tG_f^2
    + \gamma G_g^2\gamma_tp_i^2`: the second is a quarter of the :math:`\gamma_tp_i^2` that
    convexity gives. The disagreement falls,
    :math:`\delta_{t+1} \le \lambda(\delta_t + \alpha_t(\sum_i\|d_i\|^2)^{1/2})`, and what it costs
    is set against the rest of :math:`\gamma_tp^2` by Young's inequality.

    Args:
        constants: needs R, G_f, G_g, of every agent; uses F.
        horizon: T.
        mixing: W, or several in turn; they give :math:`\lambda`.
        c: strictly between 0 and 1.

    Example:
        >>> from surefoot import Constants
        >>> W = np.array([[0.75, 0.25], [0.25, 0.75]])
        >>> theorem = NetworkTheorem(Constants(R=1.0, G_f=2.0, G_g=1.0), 100, W)
        >>> round(theorem.alpha, 6), theorem.gamma
        (0.707107, 0.25)
    """

    c: float = share(default=0.5)

    @property
    def decay(self) -> float:
        """The power at which steps fall, c."""
        return self.c

    @property
    def name(self) -> str:
        """The source and the trade-off."""
        return f"Yi et al. 2022, network, c = {self.c:g}"

    @property
    def regret_exponent(self) -> float:
        """The larger of c and 1 - c."""
        return max(self.c, 1 - self.c)

    @property
    def violation_exponent(self) -> float:
        """The exponent 1 - c/2."""
        return 1 - self.c / 2

    @property
    def alpha(self) -> float:
        r"""The first step size, :math:`D/(\sqrt2G_f)`."""
        return self._D / (math.sqrt(2) * self._G_f)

    def _steps(self, t: Number) -> Array:
        """Bound the sum of the step sizes by an integral."""
        return self.alpha * as_floats(t) ** (1 - self.c) / (1 - self.c)

    def _regret(self, t: Number, part: float) -> Array:
        first = self._D**2 / (2 * self.alpha) * as_floats(t) ** self.c
        return first + part * self._G_f**2 * self._steps(t)

    def own_regret_bound(self, t: Number) -> Array:
        """Bound the mean over agents of an agent's regret on its own costs."""
        return self._regret(t, 1.0)

    def own_violation_bound(self, t: Number) -> Array:
        """Bound the mean over agents of an agent's own violations."""
        budget = self._F * as_floats(t) + self.own_regret_bound(t)
        return np.sqrt(4 / 3 * budget * self._steps(t) / self.gamma)

    def regret_bound(self, t: Number) -> Array:
        """Bound the regret of every agent's action on every agent's costs, on average."""
        return self._regret(t, (1 + self._apart / math.sqrt(2)) ** 2)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Bound the violations of every agent's action for every agent's constraint, on average."""
        own_bound = self.own_violation_bound(t)
        separately = self._G_f * self._steps(t) + self.gamma * self._G_g * own_bound
        hard = own_bound + math.sqrt(2) * self._G_g * self._apart * separately
        return {"positive_sum": hard, "sum_positive": hard}


class NetworkStronglyConvex(StronglyConvex, _Network):
    r"""Costs that are :math:`\mu`-strongly convex, with :math:`\alpha_t = 1/(\mu t)`: own bounds.

    .. math:: \text{own regret} \le \frac{G_f^2}\mu(1 + \ln t), \qquad
        \text{own violation} \le \sqrt{\frac{4}{3\gamma\mu}(Ft + \text{own regret})(1 + \ln t)}.

    Args:
        constants: needs R, G_f, G_g, strong_convexity; uses F.
        mixing: W, or several in turn; they give :math:`\lambda`.
    """

    name: ClassVar[str] = "Yi et al. 2022, network, strongly convex (own)"
    decay: ClassVar[float] = 1.0
    violation_exponent: ClassVar[float] = 0.5

    @property
    def alpha(self) -> float:
        r"""The first step size, :math:`1/\mu`."""
        return self.eta

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`(G_f^2/\mu)(1 + \ln t)`, for an agent on its own costs."""
        return self._G_f**2 * self.alpha * harmonic(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Bound an agent's own violations, on average."""
        hard = np.sqrt(4 / 3 * self._budget(t) * self.alpha * harmonic(t) / self.gamma)
        return {"positive_sum": hard, "sum_positive": hard}
