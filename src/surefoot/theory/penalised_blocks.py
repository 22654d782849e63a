"""The guarantee of penalised descent in blocks (Garber and Kretzu 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.types import Array
from surefoot.theory._lagrangian import KnownHorizon, rounds
from surefoot.theory.blocked import Blocks
from surefoot.theory.guarantee import Kind, Measure

__all__ = ["PenalisedBlocksTheorem"]


@final
@dataclass(frozen=True)
class PenalisedBlocksTheorem(Blocks, KnownHorizon):
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
        >>> from surefoot import Constants
        >>> theorem = PenalisedBlocksTheorem(Constants(R=2.0, G_f=1.0, G_g=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.theta, 6)
        (4, 0.25, 4.0)
    """

    name: ClassVar[str] = "Garber and Kretzu 2024, changing constraints"
    kind: ClassVar[Kind] = "squared"
    regret_exponent: ClassVar[float] = 0.75
    violation_exponent: ClassVar[float] = 0.75
    changing: ClassVar[bool] = True

    diameter: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(diameter=self.diameter)

    @property
    def _slopes(self) -> tuple[float, ...]:
        return self.constants.require("G_f", "G_g", by=self.name)

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{2bT})`."""
        return self.diameter / (self._slopes[0] * math.sqrt(2 * self.block * self.horizon))

    @property
    def theta(self) -> float:
        r"""The regulariser :math:`4\eta bG_g^2`."""
        return 4 * self.eta * self.block * self._slopes[1] ** 2

    def linear_minimisations(self, largest_violation: float) -> int:
        """Return the largest number of linear minimisations, for violations up to a size."""
        G_f, G_g = self._slopes
        first = self.closeness + self.eta * self.block * G_f + largest_violation / (4 * G_g)
        return self._minimisations(first)

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta bG_f^2 + cG_f + c^2/(4\eta b))t`."""
        (G_f, _), c, b = self._slopes, self.closeness, self.block
        rate = self.eta * b * G_f**2 + c * G_f + c**2 / (4 * self.eta * b)
        return self.diameter**2 / (2 * self.eta) + rate * rounds(t)

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return the squares, and what follows for the violations by Cauchy and Schwarz."""
        squared = 2 * self.theta * (self._F * rounds(t) + self.regret_bound(t))
        hard = np.sqrt(rounds(t) * squared)
        return {"soft": hard, "hard": hard, "squared": squared}
