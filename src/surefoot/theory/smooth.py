r"""Guarantees of descent on smooth sets (Levy and Krause 2019): no violation.

The set is :math:`\{h \le 0\}` with h convex and :math:`\beta`-smooth, :math:`x_0` a point with
:math:`h(x_0) \le -h_0 < 0`, D the diameter, :math:`D_0` the largest distance from :math:`x_0` to a
point of the set, and :math:`k = 1 + \beta D_0^2/(2h_0)`.

Proof of both. Smoothness gives :math:`h(p) \le \tfrac\beta2\|p - y\|^2 = b`, and convexity
:math:`h(x_{t+1}) \le (1-\lambda)b - \lambda h_0 = 0`. The action :math:`x_t` is in the half-space
that p is the projection onto, so :math:`\|y - p\| \le \|y - x_t\| = \eta_t\|\nabla_t\|` and
:math:`\lambda_t \le \beta\eta_t^2\|\nabla_t\|^2/(2h_0)`. For u in the set,
:math:`\|x_{t+1} - u\|^2 \le (1-\lambda)\|p - u\|^2 + \lambda\|x_0 - u\|^2 \le \|y - u\|^2 +
\lambda_tD_0^2`: gradient descent with every squared gradient multiplied by k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._lagrangian import StronglyConvex, harmonic, rounds
from surefoot.theory.projection import Inside, OnBounded

__all__ = ["LevyKrauseStronglyConvex", "LevyKrauseTheorem"]


class _Smooth(Inside):
    reach: float
    curvature: float
    depth: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(reach=self.reach, depth=self.depth)
        checks.nonnegative(curvature=self.curvature)

    @property
    def growth(self) -> float:
        r"""The growth factor :math:`k = 1 + \beta D_0^2/(2h_0)`."""
        return 1 + self.curvature * self.reach**2 / (2 * self.depth)


@final
@dataclass(frozen=True)
class LevyKrauseTheorem(_Smooth, OnBounded):
    r"""Convex costs, with :math:`\eta = D/(G_f\sqrt{kT})`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2kG_f^2t,

    which is :math:`DG_f\sqrt{kT}` at t = T.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D.
        reach: :math:`D_0`.
        curvature: :math:`\beta`.
        depth: :math:`h_0`.

    Example:
        >>> c = Constants(R=1.0, G_f=3.0)  # the unit disc: h = |x|^2 - 1, k = 2
        >>> float(LevyKrauseTheorem(c, 200, 2.0, 1.0, 2.0, 1.0).regret_bound(200))
        120.0
    """

    name: ClassVar[str] = "Levy and Krause 2019, smooth sets"
    regret_exponent: ClassVar[float] = 0.5

    reach: float
    curvature: float
    depth: float

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{kT})`."""
        return self.diameter / (self._G_f() * math.sqrt(self.growth * self.horizon))

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2)kG_f^2t`."""
        rate = self.eta / 2 * self.growth * self._G_f() ** 2
        return self.diameter**2 / (2 * self.eta) + rate * rounds(t)


@final
@dataclass(frozen=True)
class LevyKrauseStronglyConvex(StronglyConvex, _Smooth):
    r"""Costs that are :math:`\mu`-strongly convex, with :math:`\eta_t = 1/(\mu t)`.

    .. math:: \mathrm{Reg}_t \le \frac{kG_f^2}{2\mu}(1 + \ln t)

    Args:
        constants: needs G_f, strong_convexity.
        reach: :math:`D_0`.
        curvature: :math:`\beta`.
        depth: :math:`h_0`.
    """

    name: ClassVar[str] = "Levy and Krause 2019, smooth sets, strongly convex"
    regret_exponent: ClassVar[float] = 0.0

    constants: Constants
    reach: float
    curvature: float
    depth: float
    horizon: None = None

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`kG_f^2/(2\mu)\,(1 + \ln t)`."""
        return self.growth * self._G_f() ** 2 * self.eta / 2 * harmonic(t)
