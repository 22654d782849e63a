"""Sinha and Vaze's method for strongly convex costs."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import positive_part
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import maximum, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.theory import SinhaVazeStronglyConvex, Tuned

__all__ = ["StrongSinhaVaze", "StrongSinhaVazeState"]


class StrongSinhaVazeState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queue: the sum of the violations so far.
        rounds: how many rounds have been played.
    """

    x: Array
    queue: Number = 0.0
    rounds: Number = 0.0


class StrongSinhaVaze(OneConstraint[StrongSinhaVazeState]):
    r"""Descent on strongly convex costs plus a penalty in proportion to the violations so far.

    .. math::
        Q_t       &= Q_{t-1} + [g_t(x_t)]_+ \\
        h_t       &= \nabla f_t(x_t) + (2Q_t/V)\,s_t\,1\{g_t(x_t) > 0\} \\
        x_{t+1}   &= \Pi_{R\mathbb{B}}(x_t - h_t/(Ht))

    The constraint may be another one in each round, as for :class:`~surefoot.algorithms.SinhaVaze`.

    Args:
        V: weight of the costs, :math:`V > 0`; the theorem has :math:`8G_g^2(1 + \ln T)/H`.
        strong_convexity: :math:`H > 0`, modulus of every cost.
        domain: a ball, or another set to project onto, that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = StrongSinhaVaze(V=0.5, strong_convexity=4.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.5]))
        >>> seen = Feedback(np.array([-1.0, -2.0]), 0.25, np.array([0.0, 2.0]))
        >>> player.update(state, seen)
        StrongSinhaVazeState(x=array([0.25, 0.5 ]), queue=0.25, rounds=1.0)

    Reference: Sinha and Vaze, NeurIPS 2024 (arXiv 2310.18955); the constants of V as derived with
    the theorem.
    """

    state = StrongSinhaVazeState
    source = Source("Sinha and Vaze, NeurIPS 2024")

    V: Real = positive()
    strong_convexity: Real = positive()
    domain: Region = projectable()

    def next_state(
        self, state: StrongSinhaVazeState, grad: Array, g: Number, s: Array
    ) -> StrongSinhaVazeState:
        x, queue, rounds = state
        queue, rounds = positive_part(queue + maximum(g, 0.0)), rounds + 1.0
        h = grad + where(g > 0, 2 * queue / self.V, 0.0 * queue) * s
        new = self.domain.project(x - h / (self.strong_convexity * rounds))
        return StrongSinhaVazeState(new, queue, rounds)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        r"""Tune for costs of modulus H: :math:`V = 8G_g^2(1 + \ln T)/H`."""
        theorem = SinhaVazeStronglyConvex(constants, horizon)
        return Tuned.of(cls, theorem, domain, "V", "strong_convexity")
