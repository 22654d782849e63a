"""Drift plus penalty (DPP): a queue for each constraint, or one for the largest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._array import combine, constant, dot, maximum, number_like, one_run, rows_dot
from surefoot.algorithms._start import check_domain, start_in
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets import Ball
from surefoot.theory import DriftPlusPenalty, Tuned
from surefoot.types import Array, Feedback, Needs, Number, Region

__all__ = ["DPP", "DPPState", "ScalarDPP", "ScalarDPPState"]


class DPPState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queues: the violation that is owed, of each constraint: ``(m,)``, or ``(B, m)``.
    """

    x: Array
    queues: Array


class ScalarDPPState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queue: the violation that is owed.
    """

    x: Array
    queue: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class DPP:
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
        domain: a ball that holds the feasible set.
        queue: what each queue starts with, at least 0; the theorem has 0.

    Example:
        >>> player = DPP(V=2.0, alpha=5.0, rows=2, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(
        ...     np.array([-1.0, -3.0]), np.array([-2.0, 0.1]), np.array([[1.0, 0.0], [0.0, 2.0]])
        ... )
        >>> player.update(state, seen)
        DPPState(x=array([0.1, 0.8]), queues=array([0. , 1.9]))

    Reference: Yu, Neely and Wei, NeurIPS 2017. The paper on Polyak feasibility steps compares with
    :class:`ScalarDPP`.
    """

    needs: ClassVar[Needs] = Needs(apart=True, work="m d")
    tunings: ClassVar[tuple[str, ...]] = ("tuned",)

    V: Number
    alpha: Number
    rows: int
    domain: Region
    queue: Number = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self)
        object.__setattr__(self, "rows", _check.whole(self.rows, "rows"))

    def init(self, x1: Array) -> DPPState:
        """Start at x1, a point of the domain."""
        x1 = start_in(self.domain, x1)
        zeros = np.zeros(self.rows if one_run(x1) else (1, self.rows))
        return DPPState(x1, constant(zeros, x1) + number_like(x1, self.queue))

    def update(self, state: DPPState, feedback: Feedback) -> DPPState:
        """One round: the three lines of the docstring."""
        x, queues = state
        grad, g, s = _check.feedback_apart(x, feedback)
        if g.shape[-1] != self.rows:
            raise InvalidValueError(
                f"constraint_value.shape must end in {self.rows}, the rows of the algorithm, "
                f"got {tuple(g.shape)}"
            )
        d = self.V * grad + combine(queues, s)
        new = self.domain.project(x - d / (2 * self.alpha))
        queues = maximum(queues + g + rows_dot(s, new - x), 0.0)
        if type(queues) is np.ndarray and queues.ndim == 1:
            _refuse_unfinite(float(queues.max()))
        return DPPState(new, queues)

    @classmethod
    def tuned(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        rows: int | None = None,
    ) -> Tuned[DPP]:
        r""":math:`V = \sqrt T`, :math:`\alpha = T`.

        Args:
            constants: those of the problem.
            horizon: T.
            domain: a ball that holds the feasible set; that around 0 of radius R unless given.
            rows: the number of constraints, where not that of the constants.
        """
        if rows is None:
            rows = int(constants.require("rows", by="DPP with a queue for each constraint")[0])
        theorem = DriftPlusPenalty(constants, horizon, rows)
        ball = Ball(constants.R) if domain is None else domain
        player = cls(V=theorem.V, alpha=theorem.alpha, rows=theorem.rows, domain=ball)
        return Tuned(player, theorem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarDPP:
    r"""Drift plus penalty with one queue, on the largest constraint.

    .. math::
        d_t     &= V\nabla f_t(x_t) + Q_ts_t \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(x_t - d_t/(2\alpha)) \\
        Q_{t+1} &= [Q_t + g(x_t) + s_t^\top(x_{t+1} - x_t)]_+

    The version that the experiments of the paper on Polyak feasibility steps run; several
    constraints are one, their maximum, and it behaves differently from :class:`DPP`.

    Args:
        V: weight of the costs, :math:`V > 0`.
        alpha: weight of a move, :math:`\alpha > 0`.
        domain: a ball that holds the feasible set.
        queue: what the queue starts with, at least 0; the theorem has 0.

    Example:
        >>> player = ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.25, np.array([0.0, 2.0]))
        >>> player.update(state, seen)
        ScalarDPPState(x=array([0.2, 0.8]), queue=1.55)

    Reference: Yu, Neely and Wei, NeurIPS 2017; the scalar queue is that of the published code of
    Hutchinson and Alizadeh, ICML 2025.
    """

    needs: ClassVar[Needs] = Needs()
    tunings: ClassVar[tuple[str, ...]] = ("tuned", "changing", "windows")

    V: Number
    alpha: Number
    domain: Region
    queue: Number = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self)

    def init(self, x1: Array) -> ScalarDPPState:
        """Start at x1, a point of the domain."""
        x1 = start_in(self.domain, x1)
        return ScalarDPPState(x1, number_like(x1, self.queue))

    def update(self, state: ScalarDPPState, feedback: Feedback) -> ScalarDPPState:
        """One round: the three lines of the docstring."""
        x, queue = state
        grad, g, s = _check.feedback(x, feedback)
        d = self.V * grad + queue * s
        new = self.domain.project(x - d / (2 * self.alpha))
        queue = maximum(queue + g + dot(s, new - x), 0.0)
        if type(queue) is float:
            _refuse_unfinite(queue)
        return ScalarDPPState(new, queue)

    @classmethod
    def tuned(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[ScalarDPP]:
        r""":math:`V = \sqrt T`, :math:`\alpha = T`."""
        theorem = DriftPlusPenalty(constants, horizon)
        ball = Ball(constants.R) if domain is None else domain
        return Tuned(cls(V=theorem.V, alpha=theorem.alpha, domain=ball), theorem)

    @classmethod
    def changing(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[ScalarDPP]:
        """Constraints that change: regret and the sum of g O(T^(1/2)), no margin needed.

        The parameters of :meth:`tuned`; the same proof holds where an adversary picks the
        constraints. Reference: Neely and Yu, "Online convex optimization with time-varying
        constraints", 2017.
        """
        theorem = DriftPlusPenalty(constants, horizon, source="Neely-Yu 2017")
        return Tuned.of(cls, theorem, domain, V=theorem.V, alpha=theorem.alpha)

    @classmethod
    def windows(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        V: float | None = None,
        window: int = 1,
    ) -> Tuned[ScalarDPP]:
        """Comparators that meet the constraints on average over windows of rounds (COLD).

        Reference: Liakopoulos, Destounis, Paschos, Spyropoulos and Mertikopoulos, "Cautious regret
        minimization", ICML 2019. Constants derived here.

        Args:
            constants: those of the problem.
            horizon: T.
            domain: a ball that holds the feasible sets; that around 0 of radius R unless given.
            V: the weight of the costs: more is less regret and more violation; T^(3/4) unless
                given.
            window: K, the number of rounds in a row over which the comparator is feasible on
                average.
        """
        weight = float(horizon) ** 0.75 if V is None else V
        theorem = DriftPlusPenalty(
            constants,
            horizon,
            weight=weight,
            window=window,
            source=f"Liakopoulos et al. 2019, windows of {window}",
        )
        return Tuned.of(cls, theorem, domain, V=theorem.V, alpha=theorem.alpha)


def _check_numbers(player: DPP | ScalarDPP) -> None:
    _check.positive(V=player.V, alpha=player.alpha)
    _check.nonnegative(queue=player.queue)
    _check.plain(player, "V", "alpha", "queue")
    check_domain(player.domain)


def _refuse_unfinite(queue: float) -> None:
    """Refuse, in one run, a queue that no later round could bring back."""
    if not queue < math.inf:
        raise InvalidValueError(
            f"constraint_value and constraint_subgradient must be finite, got a queue of {queue!r}"
        )
