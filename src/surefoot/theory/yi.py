"""The guarantee of clipped penalties with a proximal step (Yi et al. 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.types import Array
from surefoot.theory._lagrangian import KnownHorizon, rounds
from surefoot.theory.guarantee import Kind, Measure

__all__ = ["YiTheorem"]


@final
@dataclass(frozen=True)
class YiTheorem(KnownHorizon):
    r"""Regret :math:`O(T^{\max(c, 1-c)})`, violations :math:`O(T^{(1-c)/2})`; no Slater point.

    With :math:`\gamma^2 = T^c`, :math:`\alpha = \tfrac12\gamma^2G_g^2 + \tfrac12T^c` and
    :math:`D_0` the reach of the start, after t rounds

    .. math::
        \mathrm{Reg}_t &\le B_t = \alpha D_0^2 + \frac{G_f^2t}{2T^c} \\
        \sum_{s \le t}[g(x_s)]_+ &\le \frac1\gamma\sqrt{2(Ft + B_t)}, \qquad
        \sum_{s \le t}[g(x_s)]_+^2 \le \frac{2(Ft + B_t)}{\gamma^2} + [g(x_1)]_+^2.

    Proof. Write :math:`\tilde p = \gamma p`. The step minimises a :math:`2\alpha`-strongly convex
    function, and :math:`(q + \tilde p)\tilde p^+ = \tfrac12q_+^2 - \tfrac12q^2 + \tfrac12\tilde p^2
    - \tfrac12(\tilde p - \tilde p^+)^2` with
    :math:`|\tilde p - \tilde p^+| \le \gamma G_g\|x_{t+1} - x_t\|`. So for feasible u

    .. math:: \langle\nabla_t, x_t - u\rangle + \tfrac12q_{t+1}^2 - \tfrac12q_t^2
        + \tfrac12\tilde p_t^2 \le \frac{G_f^2}{2T^c} + \alpha(\|u - x_t\|^2 - \|u - x_{t+1}\|^2),

    since half of :math:`T^c` is left of :math:`\alpha` for the gradient. Sum over the rounds, with
    :math:`q_1 = \tilde p_1`.

    Args:
        constants: needs R, G_f, G_g; uses start_reach, start_slack and F.
        horizon: T.
        c: strictly between 0 and 1.

    Example:
        >>> from surefoot import Constants
        >>> theorem = YiTheorem(Constants(R=1.0, G_f=1.0, G_g=1.0, start_reach=1.0), 16)
        >>> theorem.gamma, theorem.alpha, float(theorem.regret_bound(16))
        (2.0, 4.0, 6.0)
    """

    kind: ClassVar[Kind] = "hard"

    c: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.between(0, 1, c=self.c)

    @property
    def name(self) -> str:
        """The source and the trade-off."""
        return f"Yi et al. 2021, c = {self.c:g}"

    @property
    def regret_exponent(self) -> float:
        """The larger of c and 1 - c."""
        return max(self.c, 1 - self.c)

    @property
    def violation_exponent(self) -> float:
        """The exponent (1 - c)/2."""
        return (1 - self.c) / 2

    @property
    def _weight(self) -> float:
        return math.pow(self.horizon, self.c)

    @property
    def gamma(self) -> float:
        r"""The weight of a violation, :math:`T^{c/2}`."""
        return math.sqrt(self._weight)

    @property
    def alpha(self) -> float:
        r"""The weight of a move, :math:`\tfrac12\gamma^2G_g^2 + \tfrac12T^c`."""
        (G_g,) = self.constants.require("G_g", by=self.name)
        return 0.5 * self._weight * (G_g**2 + 1)

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`\alpha D_0^2 + G_f^2t/(2T^c)`."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        return self.alpha * self._D_0**2 + G_f**2 / (2 * self._weight) * rounds(t)

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return the bounds on the violations and on their squares."""
        total = 2 * (self._F * rounds(t) + self.regret_bound(t)) / self._weight
        slack = self.constants.start_slack
        (G_g,) = self.constants.require("G_g", by=self.name)
        first = G_g * self._D_0 if slack is None else max(-slack, 0.0)
        hard = np.sqrt(total)
        return {"soft": hard, "hard": hard, "squared": total + first**2}
