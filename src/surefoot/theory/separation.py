"""The guarantee of descent with a separation oracle (Garber and Kretzu 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.theory._lagrangian import rounds
from surefoot.theory.projection import AroundBall, ForHorizon

__all__ = ["SeparationTheorem"]


@final
@dataclass(frozen=True)
class SeparationTheorem(AroundBall, ForHorizon):
    r"""Cuts towards the shrunk set: regret :math:`O(\sqrt{\kappa T})`, no violation.

    With :math:`r\mathbb{B} \subseteq K \subseteq R\mathbb{B}`, :math:`\kappa = R/r`, :math:`D_0`
    the reach of the start (R at 0), :math:`\eta = D_0/(G_f\sqrt{(1+2\kappa)T})` and
    :math:`\delta = \eta G_f/r < 1`,

    .. math::
        \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \frac\eta2(1+2\kappa)G_f^2t, \qquad
        \text{cuts} \le (2\kappa + 1)T + \kappa^2\,[x_1 \ne 0].

    Proof. For z in :math:`(1-\delta)K` the point :math:`z + \delta ra/\|a\|` is in K, so a cut by a
    has :math:`\langle a, y - z\rangle \ge \delta r\|a\|`, plus the depth of a deep cut, and brings
    y nearer to z by at least :math:`(\delta r)^2`, squared. Gradient descent towards
    :math:`(1-\delta)u` and :math:`\delta RG_f` per round for the difference give the regret. Let
    :math:`a_t` be the distance of :math:`x_t` to :math:`(1-\delta)K`, at most :math:`\delta R`; a
    round with n cuts has :math:`n(\delta r)^2 \le (a_t + \eta G_f)^2 - a_{t+1}^2` and
    :math:`\eta G_f = \delta r`; the sum over the rounds is at most
    :math:`(2\kappa + 1)(\delta r)^2T` plus :math:`a_1^2`.

    Args:
        constants: needs R, G_f (on the feasible set); uses start_reach.
        horizon: T, above :math:`\kappa^2/(1+2\kappa)` times :math:`(D_0/R)^2`.
        inner_radius: r.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=1.0, start_reach=1.0)
        >>> theorem = SeparationTheorem(c, 500, 0.5)
        >>> float(theorem.regret_bound(500)), theorem.cuts
        (50.0, 2500.0)
    """

    name: ClassVar[str] = "Garber and Kretzu 2022, separation"
    regret_exponent: ClassVar[float] = 0.5

    inner_radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.eta * self._G_f() < self.inner_radius:
            needed = math.floor((self.constants.reach / self.inner_radius) ** 2 / self._growth) + 1
            raise InvalidValueError(
                f"{self.name} needs a horizon of at least {needed} rounds for these constants, "
                f"got {self.horizon}"
            )

    @property
    def _growth(self) -> float:
        return 1 + 2 * self.kappa

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0/(G_f\sqrt{(1+2\kappa)T})`."""
        return self.constants.reach / (self._G_f() * math.sqrt(self._growth * self.horizon))

    @property
    def depth(self) -> float:
        r"""The distance :math:`\delta r = \eta G_f` by which a cut moves beyond the half-space."""
        return self.eta * self._G_f()

    @property
    def cuts(self) -> float:
        r"""The largest number of failing oracle calls over all rounds."""
        start = 0.0 if self.constants.reach <= self.constants.R else self.kappa**2
        return self._growth * self.horizon + start

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta/2)(1+2\kappa)G_f^2t`."""
        D_0 = self.constants.reach
        return D_0**2 / (2 * self.eta) + self.eta / 2 * self._growth * self._G_f() ** 2 * rounds(t)

    def interval_bound(self, length: Any) -> Array:
        r"""Bound the regret over any interval: :math:`2R^2/\eta + (\eta/2)(1+2\kappa)G_f^2|I|`."""
        rate = self.eta / 2 * self._growth * self._G_f() ** 2
        return 2 * self.constants.R**2 / self.eta + rate * rounds(length)
