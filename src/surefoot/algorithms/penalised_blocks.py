"""Descent in blocks with linear minimisation, and penalties for constraints that change."""

from __future__ import annotations

from typing import Self

from surefoot.algorithms._start import bounded_diameter
from surefoot.algorithms.garber_kretzu import GarberKretzu, GarberKretzuState
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, tuning
from surefoot.core.arrays import maximum
from surefoot.core.constants import Constants
from surefoot.core.parameters import instance_of, positive
from surefoot.core.types import Array, Feedback, Info, Needs, Real, Region, Source
from surefoot.theory import Tuned
from surefoot.theory.penalised_blocks import PenalisedBlocksTheorem

__all__ = ["PenalisedBlocks"]


class PenalisedBlocks(Algorithm):
    r"""Descent in blocks on :math:`f_t + \tfrac{1}{2\theta}[g_t]_+^2`, by linear minimisation.

    :class:`~surefoot.algorithms.GarberKretzu` on a simple set, told
    :math:`\nabla_t + \tfrac{[g_t(x_t)]_+}{\theta}s_t` for the gradient. Every action is in the
    simple set; the constraints, which may differ from round to round, are met in the long run.

    Args:
        base: the rule that is told the penalised gradients.
        theta: :math:`\theta > 0`; the penalty is its inverse.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> base = GarberKretzu(eta=0.25, block=1, closeness=0.5, domain=square)
        >>> player = PenalisedBlocks(base=base, theta=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, 0.0]), 1.0, np.array([2.0, 0.0]))
        >>> player.update(state, seen).y  # a gradient of -1 + 2 * 2
        array([-0.75,  0.  ])

    Reference: Garber and Kretzu, "Projection-free online convex optimization with time-varying
    constraints", ICML 2024. The rates are theirs; rule and constants are derived here.
    """

    needs = Needs(linear_minimisations=2, numpy_only=True)
    source = Source("Garber and Kretzu, ICML 2024", "derived here")

    base: GarberKretzu = instance_of(GarberKretzu)
    theta: Real = positive()

    def init(self, x1: Array) -> GarberKretzuState:
        """Start at x1, a point of the simple set."""
        return self.base.init(x1)

    def step(self, state: GarberKretzuState, feedback: Feedback) -> tuple[GarberKretzuState, Info]:
        """Add the penalty to the gradient, and let the base play."""
        gradient, g, s = checks.feedback(state.x, feedback)
        penalised = gradient + maximum(g, 0.0 * g) / self.theta * s
        return self.base.step(state, Feedback(penalised))

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret and squared violations O(T^(3/4)), violations O(T^(7/8)).

        The set is the simple one that actions stay in, such as the ball around all feasible sets.
        """
        theorem = PenalisedBlocksTheorem(constants, horizon, bounded_diameter(domain))
        base = GarberKretzu(
            eta=theorem.eta, block=theorem.block, closeness=theorem.closeness, domain=domain
        )
        return Tuned(cls(base=base, theta=theorem.theta), theorem)
