"""Polyak feasibility steps with a doubling horizon, restarted at the first action."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, number_like, owned, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Source
from surefoot.sets import Ball, project_halfspace
from surefoot.theory import DoublingHorizon, Tuned

__all__ = ["DoublingPFS", "DoublingState"]


class DoublingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action, to which every phase returns.
        length: rounds of this phase, a power of 2.
        played: rounds of it that have been played.
    """

    x: Array
    start: Array
    length: Number
    played: Number


class DoublingPFS(OneConstraint[DoublingState]):
    r"""Polyak feasibility steps for 1, 2, 4, ... rounds, each time from the first action.

    In a phase of n rounds

    .. math::
        y_t     &= x_t - (\eta/\sqrt n) \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho/\sqrt n \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t), \quad\text{after the last round } x_1

    The textbook way to do without a horizon; :class:`surefoot.algorithms.ScheduledPFS` does without
    the restarts.

    Args:
        eta: step size of the first phase, :math:`\eta > 0`.
        rho: tightening of the first phase, :math:`\rho \ge 0`.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = DoublingPFS(eta=0.2, rho=0.1, domain=Ball(1.0))
        >>> x1 = np.array([0.0, 0.25])
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 2.0), seen).x
        array([0.1 , 0.45])
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 3.0), seen)
        DoublingState(x=array([0.  , 0.25]), start=array([0.  , 0.25]), length=8.0, played=0.0)
    """

    state = DoublingState
    source = Source("Surefoot", "derived here")

    eta: Real = positive()
    rho: Real = nonnegative()
    domain: Ball = projectable()

    def first_state(self, x1: Array) -> DoublingState:
        return DoublingState(x1, x1, number_like(x1, 1.0), number_like(x1, 0.0))

    def next_state(self, state: DoublingState, grad: Array, g: Number, s: Array) -> DoublingState:
        x, start, length, played = state
        root = sqrt(length)
        y = x - (self.eta / root) * grad
        p = project_halfspace(y, g + dot(s, y - x) + self.rho / root, s)
        new, played = self.domain.project(p), played + 1.0
        over = played >= length
        return DoublingState(
            # A run that is lost, NaN, stays so: 0 times it is NaN, and else 0.
            owned(where(over, start + 0.0 * new, new)),
            start,
            where(over, 2.0 * length, length),
            where(over, 0.0 * played, played),
        )

    @classmethod
    @tuning
    def anytime(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune by Corollary 1 in every phase; the horizon is not used."""
        theorem = DoublingHorizon(constants)
        return Tuned.of(cls, theorem, domain, "eta", "rho")
