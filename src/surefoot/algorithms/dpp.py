"""Drift plus penalty (DPP) with a queue for each constraint."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import Multiplying, positive_part
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, number_like, rows_dot
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import count, nonnegative, positive, projectable
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import DriftPlusPenalty, Tuned

__all__ = ["DPP", "DPPState"]


class DPPState(NamedTuple):
    """The action to play, and the violation owed of each constraint, ``(m,)`` or ``(B, m)``."""

    x: Array
    queues: Array


class DPP(Multiplying[DPPState]):
    r"""Drift plus penalty with a queue for each of m constraints.

    A step on the cost and on the constraints, each with what it owes as its weight; then the
    queues take in the constraints linearised at the action played, seen from the next one:

    .. math::
        d_t         &= V\nabla f_t(x_t) + \sum_k Q_{t,k}s_{t,k} \\
        x_{t+1}     &= \Pi_{R\mathbb{B}}(x_t - d_t/(2\alpha)) \\
        Q_{t+1,k}   &= [Q_{t,k} + g_k(x_t) + s_{t,k}^\top(x_{t+1} - x_t)]_+

    Args:
        V: weight of the costs, :math:`V > 0`.
        alpha: weight of a move, :math:`\alpha > 0`.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible set.
        queue: what each queue starts with, at least 0; the theorem has 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = DPP(V=2.0, alpha=5.0, rows=2, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(
        ...     np.array([-1.0, -3.0]), np.array([-2.0, 0.1]), np.array([[1.0, 0.0], [0.0, 2.0]])
        ... )
        >>> player.update(state, seen)
        DPPState(x=array([0.1, 0.8]), queues=array([0. , 1.9]))

    Reference: Yu, Neely and Wei, NeurIPS 2017. The paper on Polyak feasibility steps compares with
    :class:`~surefoot.algorithms.ScalarDPP`.
    """

    state = DPPState
    source = Source("Yu, Neely and Wei, NeurIPS 2017")

    V: Real = positive()
    alpha: Real = positive()
    rows: int = count()
    domain: Region = projectable()
    queue: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> DPPState:
        return DPPState(x1, self._zeros(x1) + number_like(x1, self.queue))

    def next_state(self, state: DPPState, grad: Array, g: Array, s: Array) -> DPPState:
        x, queues = state
        d = self.V * grad + combine(queues, s)
        new = self.domain.project(x - d / (2 * self.alpha))
        return DPPState(new, positive_part(queues + g + rows_dot(s, new - x)))

    @classmethod
    @tuning(rows=count())
    def tuned(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        rows: int | None = None,
    ) -> Tuned[Self]:
        r"""Tune with :math:`V = \sqrt T`, :math:`\alpha = T`.

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: a ball that contains the feasible set; that around 0 of radius R unless given.
            rows: the number of constraints; default: ``constants.rows``.
        """
        if rows is None:
            by = "DPP with a queue for each constraint"
            rows = int(as_constants(constants).require("rows", by=by)[0])
        theorem = DriftPlusPenalty(constants, horizon, rows)
        return Tuned.of(cls, theorem, domain, "V", "alpha", "rows")
