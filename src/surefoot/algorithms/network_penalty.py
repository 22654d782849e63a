"""Agents on a network that meet their own constraints together (Yi et al. 2022)."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, Algorithm, tuning
from surefoot.core.arrays import dot, maximum
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, check_parameters, nonnegative, positive, projectable
from surefoot.core.types import Array, Feedback, Info, Needs, Real, Source
from surefoot.sets import Ball
from surefoot.theory import Tuned
from surefoot.theory.network import NetworkStronglyConvex, NetworkTheorem

__all__ = ["NetworkPenalty", "NetworkState", "mixing_rate"]


class NetworkState(NamedTuple):
    """The actions of all agents, and the round.

    Attributes:
        x: ``(n, d)``, the combined points that are played.
        t: the round.
    """

    x: Array
    t: float


class NetworkPenalty(Algorithm):
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

    needs = Needs(numpy_only=True, agents=True, work="n^2 d")

    source = Source("Yi et al., IEEE Transactions on Automatic Control 2022", "derived here")

    alpha: Real = positive()
    gamma: Real = positive()
    mixing: Array = anything("a mixing matrix")
    domain: Ball = projectable()
    decay: Real = nonnegative(default=0.5)

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "mixing", _mixing(self.mixing))
        mixing_rate(self.mixing)

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.mixing.shape[-1])

    def init(self, x1: Array) -> NetworkState:
        """Start all agents at x1, a point of the ball."""
        x1 = checks.vector(x1, "x1")
        if not self.domain.contains(x1):
            raise InvalidValueError(f"x1 must be in the domain {self.domain!r}, got {x1!r}")
        return NetworkState(np.tile(x1, (self.agents, 1)), 1.0)

    def step(self, state: NetworkState, feedback: Feedback) -> tuple[NetworkState, Info]:
        """Play one round: the lines of the docstring."""
        x, t = state
        gradient, g, s = checks.feedback(x, feedback)
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
    @tuning(listed=False)
    def trade_off(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        mixing: Array,
        c: float = 0.5,
    ) -> Tuned[Self]:
        """Tune for convex costs: network regret O(T^max(c, 1 - c)), violations O(T^(1 - c/2)).

        Args:
            constants: those that hold for every agent.
            horizon: T.
            domain: a ball that contains the feasible sets; that around 0 of radius R unless given.
            mixing: W, or several in turn.
            c: strictly between 0 and 1.
        """
        theorem = NetworkTheorem(constants, horizon, mixing_rate(_mixing(mixing)), c)
        return Tuned.of(cls, theorem, domain, "alpha", "gamma", mixing=mixing, decay=c)

    @classmethod
    @tuning(listed=False)
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Ball | None = None, *, mixing: Array
    ) -> Tuned[Self]:
        """Tune for strongly convex costs: own regret O(log T), violations O((T log T)^(1/2))."""
        checks.horizon(horizon)
        theorem = NetworkStronglyConvex(constants, mixing_rate(_mixing(mixing)))
        return Tuned.of(cls, theorem, domain, "alpha", "gamma", mixing=mixing, decay=1.0)


def _mixing(mixing: Array) -> Array:
    """Return mixing matrices as ``(k, n, n)``, each doubly stochastic."""
    W = np.array(mixing, dtype=np.float64)
    W = W[None] if W.ndim == 2 else W
    if W.ndim != 3 or W.shape[1] != W.shape[2] or 0 in W.shape:
        raise InvalidValueError(f"mixing.shape must be (n, n) or (k, n, n), got {W.shape}")
    sums = np.concatenate([W.sum(axis=1).ravel(), W.sum(axis=2).ravel()])
    if not np.isfinite(W).all() or W.min() < 0 or np.abs(sums - 1).max() > 1e-9:
        raise InvalidValueError(
            "mixing must be doubly stochastic: no entry below 0, every row and column adding up "
            f"to 1, got {W.tolist()!r}"
        )
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
