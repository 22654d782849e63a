"""Drift plus penalty with one queue, on the largest constraint; its theorem is that of DPP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.related.dpp import DriftPlusPenalty
from surefoot.algorithms.related.lagrangian import positive_part
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, number_like
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source

__all__ = ["ScalarDPP"]


class ScalarDPPState(NamedTuple):
    """The action to play, and the violation that is owed."""

    x: Array
    queue: Number = 0.0


class ScalarDPP(OneConstraint[ScalarDPPState]):
    r"""Drift plus penalty with one queue, on the largest constraint.

    .. math::
        d_t     &= V\nabla f_t(x_t) + Q_ts_t \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(x_t - d_t/(2\alpha)) \\
        Q_{t+1} &= [Q_t + g(x_t) + s_t^\top(x_{t+1} - x_t)]_+

    The version that the experiments of the paper on Polyak feasibility steps run; several
    constraints are one, their maximum, and it behaves differently from
    :class:`~surefoot.algorithms.DPP`.

    Args:
        V: weight of the costs, :math:`V > 0`.
        alpha: weight of a move, :math:`\alpha > 0`.
        domain: a ball that contains the feasible set.
        queue: what the queue starts with, at least 0; the theorem has 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.25, np.array([0.0, 2.0]))
        >>> player.update(state, seen)
        ScalarDPPState(x=array([0.2, 0.8]), queue=1.55)

    Reference: Yu, Neely and Wei, NeurIPS 2017; the scalar queue is that of the published code of
    Hutchinson and Alizadeh, ICML 2025.
    """

    state = ScalarDPPState
    source = Source("Yu, Neely and Wei, NeurIPS 2017")
    sources: ClassVar[Mapping[str, Source]] = {
        "changing": Source("Neely and Yu, 2017", "derived here"),
        "windows": Source("Liakopoulos et al., ICML 2019", "as recalled"),
    }

    V: Real = positive()
    alpha: Real = positive()
    domain: Region = projectable()
    queue: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> ScalarDPPState:
        return ScalarDPPState(x1, number_like(x1, self.queue))

    def next_state(self, state: ScalarDPPState, grad: Array, g: Number, s: Array) -> ScalarDPPState:
        x, queue = state
        d = self.V * grad + queue * s
        new = self.domain.project(x - d / (2 * self.alpha))
        return ScalarDPPState(new, positive_part(queue + g + dot(s, new - x)))

    @classmethod
    @tuning
    def tuned(cls, constants: Constants, horizon: int, domain: Region | None = None) -> Tuned[Self]:
        r"""Tune with :math:`V = \sqrt T`, :math:`\alpha = T`."""
        return Tuned.of(cls, DriftPlusPenalty(constants, horizon), domain)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        """Tune for changing constraints: regret and the sum of g O(T^(1/2)), no margin needed.

        The parameters of :meth:`tuned`; the same proof holds where an adversary picks the
        constraints. Reference: Neely and Yu, "Online convex optimization with time-varying
        constraints", 2017.
        """
        return Tuned.of(cls, DriftPlusPenalty(constants, horizon, source="Neely-Yu 2017"), domain)

    @classmethod
    @tuning(V=positive(), window=count())
    def windows(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        V: float | None = None,
        window: int = 1,
    ) -> Tuned[Self]:
        """Tune for comparators that meet the constraints on average over windows (COLD).

        Reference: Liakopoulos, Destounis, Paschos, Spyropoulos and Mertikopoulos, "Cautious regret
        minimization", ICML 2019. Constants derived here.

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: a ball that contains the feasible sets; that around 0 of radius R unless given.
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
        return Tuned.of(cls, theorem, domain)
