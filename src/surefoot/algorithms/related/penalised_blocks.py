"""Penalised descent in blocks for changing constraints, and its bounds (Garber, Kretzu 2024)."""

from __future__ import annotations

import math
from typing import ClassVar, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Kind, Measure, Tuned
from surefoot.algorithms.related.garber_kretzu import Blocks, GarberKretzu, GarberKretzuState
from surefoot.algorithms.related.lagrangian import Lagrangian
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, tuning
from surefoot.core.arrays import maximum
from surefoot.core.constants import Constants
from surefoot.core.parameters import instance_of, positive
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Feedback, Info, Needs, Number, Real, Region, Source

__all__ = ["PenalisedBlocks", "PenalisedBlocksTheorem"]


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
        gradient, g, s = checks.read_feedback(state.x, feedback)
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


@final
class PenalisedBlocksTheorem(Blocks, Lagrangian):
    r"""Regret and squared violations :math:`O(T^{3/4})`, by linear minimisation alone.

    With D the diameter of the simple set, :math:`b = \lceil\sqrt T\rceil`,
    :math:`\eta = D/(G_f\sqrt{2bT})`, :math:`c = D\sqrt{b/T}` and :math:`\theta = 4\eta bG_g^2`,

    .. math::
        \mathrm{Reg}_t + \frac1{2\theta}\sum_{s \le t}[g_s(x_s)]_+^2 \le B_t =
        \frac{D^2}{2\eta} + \eta bG_f^2t + cG_ft + \frac{c^2}{4\eta b}t,

    so that the squared violations are at most :math:`2\theta(Ft + B_t)`, and the violations at most
    the root of t times that. Comparators are feasible in every round.

    Proof. As for the blocks without penalties, with gradients :math:`\nabla + (p/\theta)s`: a
    block's sum has :math:`\|S\|^2 \le b\sum(2G_f^2 + 2G_g^2p_t^2/\theta^2)`, convexity gives
    :math:`p_t^2/\theta` back, and
    :math:`cG_gp/\theta \le p^2/(4\theta) + c^2G_g^2/\theta`.

    Args:
        constants: needs R, G_f, G_g; uses F.
        horizon: T.
        diameter: D.

    Example:
        >>> theorem = PenalisedBlocksTheorem(Constants(R=2.0, G_f=1.0, G_g=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.theta, 6)
        (4, 0.25, 4.0)
    """

    name: ClassVar[str] = "Garber and Kretzu 2024, changing constraints"
    kind: ClassVar[Kind] = "squared"
    regret_exponent: ClassVar[float] = 0.75
    violation_exponent: ClassVar[float] = 0.75
    changing: ClassVar[bool] = True

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{2bT})`."""
        return self.diameter / (self._G_f * math.sqrt(2 * self.block * self.horizon))

    @property
    def theta(self) -> float:
        r"""The regulariser :math:`4\eta bG_g^2`."""
        return 4 * self.eta * self.block * self._G_g**2

    def linear_minimisations(self, largest_violation: float) -> int:
        """Return the largest number of linear minimisations, for violations up to a size."""
        checks.nonnegative(largest_violation=largest_violation)
        step = self.eta * self.block * self._G_f
        return self._minimisations(self.closeness + step + largest_violation / (4 * self._G_g))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta bG_f^2 + cG_f + c^2/(4\eta b))t`."""
        G_f, c, b = self._G_f, self.closeness, self.block
        rate = self.eta * b * G_f**2 + c * G_f + c**2 / (4 * self.eta * b)
        return self.diameter**2 / (2 * self.eta) + rate * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the squares, and what follows for the violations by Cauchy and Schwarz."""
        squared = 2 * self.theta * (self._F * as_floats(t) + self.regret_bound(t))
        hard = np.sqrt(as_floats(t) * squared)
        return {"soft": hard, "hard": hard, "squared": squared}
