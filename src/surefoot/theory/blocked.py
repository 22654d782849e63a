"""The guarantee of descent in blocks with linear minimisation (Garber and Kretzu 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from surefoot.core.types import Array
from surefoot.theory._lagrangian import rounds
from surefoot.theory.guarantee import Guarantee
from surefoot.theory.projection import OnBounded

__all__ = ["BlockedTheorem"]


class Blocks(Guarantee):
    """What theorems share about descent in blocks with close infeasible projections."""

    horizon: int
    diameter: float

    @property
    @final
    def block(self) -> int:
        r"""The block length :math:`\lceil\sqrt T\rceil`."""
        return math.isqrt(self.horizon - 1) + 1

    @property
    @final
    def closeness(self) -> float:
        r"""The error of a projection, :math:`D\sqrt{b/T}`."""
        return self.diameter * math.sqrt(self.block / self.horizon)

    @final
    def _minimisations(self, first: float) -> int:
        """Return the most linear minimisations in all, by the first distance of a block."""
        c = self.closeness
        per_block = 1 + math.ceil(2 * (self.diameter / c) ** 2 * math.log(first / c))
        return (self.horizon // self.block) * per_block


@final
@dataclass(frozen=True)
class BlockedTheorem(Blocks, OnBounded):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: regret :math:`O(T^{3/4})`, no violation.

    With D the diameter of K, :math:`\eta = D/(G_f\sqrt{bT})` and :math:`c = D\sqrt{b/T}`,

    .. math::
        \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2bG_f^2t + cG_ft, \qquad
        \text{calls} \le \frac Tb\Big(1 + \Big\lceil2\frac{D^2}{c^2}
            \ln\frac{c + \eta bG_f}{c}\Big\rceil\Big)

    so :math:`\mathrm{Reg}_T \le 2DG_f\sqrt{bT}`, an incomplete last block included.

    Proof. Gradient descent on the points :math:`\tilde y`, which the projection brings no farther
    from any u of K, with one step per block: a block's sum S has
    :math:`\|S\|^2 \le bG_f^2` times its length, and :math:`\langle S, x - \tilde y\rangle` is at
    most :math:`cG_f` times it. The inequality of a step holds for a block that is not over, too,
    though its step is not taken. A Frank-Wolfe step with the gap above
    :math:`c\|e\|` multiplies :math:`\|e\|^2` by at most :math:`1 - c^2/D^2`, and the first
    :math:`\|e\|` of a block is at most :math:`c + \eta bG_f`.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D.

    Example:
        >>> from surefoot import Constants
        >>> theorem = BlockedTheorem(Constants(R=2.0, G_f=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.closeness, 6)
        (4, 0.353553, 1.414214)
        >>> round(float(theorem.regret_bound(16)), 6), theorem.linear_minimisations
        (45.254834, 28)
    """

    name: ClassVar[str] = "Garber and Kretzu 2022, linear minimisation"
    regret_exponent: ClassVar[float] = 0.75

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{bT})`."""
        return self.diameter / (self._G_f() * math.sqrt(self.block * self.horizon))

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return self._minimisations(self.closeness + self.eta * self.block * self._G_f())

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2)bG_f^2t + cG_ft`."""
        G_f, D = self._G_f(), self.diameter
        rate = self.eta / 2 * self.block * G_f**2 + self.closeness * G_f
        return D**2 / (2 * self.eta) + rate * rounds(t)

    def interval_bound(self, length: Any) -> Array:
        r"""Bound the regret over any interval.

        :math:`(D+c)^2/(2\eta) + (\eta/2)bG_f^2|I| + cG_f|I| + 2bG_fD`.
        """
        G_f, D, c = self._G_f(), self.diameter, self.closeness
        rate = self.eta / 2 * self.block * G_f**2 + c * G_f
        return (D + c) ** 2 / (2 * self.eta) + rate * rounds(length) + 2 * self.block * G_f * D

    def dynamic_bound(self, t: Any, path: Any) -> Array:
        r"""Bound the regret against comparators whose path has a given length P.

        :math:`((D+c)^2 + 2(D+c)P)/(2\eta) + (\eta/2)bG_f^2t + cG_ft + bG_fP`.
        """
        G_f, D, c = self._G_f(), self.diameter, self.closeness
        rate = self.eta / 2 * self.block * G_f**2 + c * G_f
        start = ((D + c) ** 2 + 2 * (D + c) * path) / (2 * self.eta)
        return start + rate * rounds(t) + self.block * G_f * path
