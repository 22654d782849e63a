"""Descent and ascent on a regularised Lagrangian (Mahdavi, Jin and Yang)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import Multiplying, positive_part
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, nonnegative, positive, projectable
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import MahdaviBalanced, MahdaviNoViolation, Tuned

__all__ = ["Mahdavi", "MahdaviState"]


class MahdaviState(NamedTuple):
    """The action to play, and a multiplier for each constraint."""

    x: Array
    multipliers: Array


class Mahdavi(Multiplying[MahdaviState]):
    r"""Gradient descent on the action and ascent on the multipliers, both at the same point.

    The Lagrangian :math:`f_t(x) + \sum_i \lambda_i (g_i(x) + \gamma) -
    \tfrac{\delta\eta}{2}\|\lambda\|^2` keeps all m constraints apart and its multipliers small:

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
    :class:`surefoot.theory.MahdaviBalanced`.
    """

    state = MahdaviState
    source = Source("Mahdavi, Jin and Yang, JMLR 2012", "as recalled")

    eta: Real = positive()
    delta: Real = nonnegative()
    rows: int = count()
    domain: Region = projectable()
    gamma: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> MahdaviState:
        return MahdaviState(x1, self._zeros(x1))

    def next_state(self, state: MahdaviState, grad: Array, g: Array, s: Array) -> MahdaviState:
        x, multipliers = state
        y = x - self.eta * (grad + combine(multipliers, s))
        ascent = g + self.gamma - self.delta * self.eta * multipliers
        return MahdaviState(self.domain.project(y), positive_part(multipliers + self.eta * ascent))

    @classmethod
    @tuning
    def balanced(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        """Tune by Theorem 4: regret O(T^(1/2)), the sum of each constraint O(T^(3/4))."""
        return cls._with(MahdaviBalanced(constants, horizon), domain, 0.0)

    @classmethod
    @tuning(gamma=nonnegative())
    def no_violation(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        gamma: float | None = None,
    ) -> Tuned[Self]:
        """Tune by Theorem 4 on tightened constraints: no sum is positive after T rounds.

        Args:
            constants: the constants of the problem, not tightened.
            horizon: T; the theorem's own gamma needs a very long one.
            domain: the ball around the feasible set; default: the ball of radius R.
            gamma: a tightening of your own, at most epsilon, for any horizon; the guarantee then
                says what it is enough for.
        """
        theorem = MahdaviNoViolation(constants, horizon, gamma)
        return cls._with(theorem, domain, theorem.gamma)

    @classmethod
    def _with(
        cls, theorem: MahdaviBalanced | MahdaviNoViolation, domain: Region | None, gamma: float
    ) -> Tuned[Self]:
        (rows,) = theorem.constants.require("rows", by=theorem.name)
        return Tuned.of(cls, theorem, domain, "eta", "delta", rows=int(rows), gamma=gamma)
