r"""Guarantees of projection-free bandits: expected regret from the values of costs alone.

K holds the ball :math:`r\mathbb{B}`, has the diameter D and :math:`\kappa = R/r`; costs are chosen
in advance, have gradients of at most :math:`G_f` and values of at most :math:`F_0`. A one-point
estimate :math:`\tfrac d\delta f(z + \delta u)u` has the mean :math:`\nabla f_\delta(z)` of a
smoothed
cost with :math:`|f_\delta - f| \le \delta G_f`, and a norm of at most :math:`dF_0/\delta`. Actions
:math:`z + \delta u` with z in :math:`(1 - \delta/r)K` are in K. Smoothing and shrinking cost at
most
:math:`(2 + \kappa)\delta G_f` per round. The first round explores nothing, and costs at most
:math:`G_fD`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from surefoot.core import checks
from surefoot.core.types import Array
from surefoot.theory._lagrangian import rounds
from surefoot.theory.projection import AroundBall, ForHorizon

__all__ = ["BlockBanditTheorem", "SmoothedBanditTheorem"]


@dataclass(frozen=True)
class _Bandit(AroundBall, ForHorizon):
    """Shared by both theorems: the exploration radius and its price."""

    expected: ClassVar[bool] = True
    _power: ClassVar[float]
    _share: ClassVar[float]

    dimension: int
    diameter: float
    inner_radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self.constants.require("cost_bound", by=self.name)
        checks.whole(self.dimension, "dimension")
        checks.positive(diameter=self.diameter)

    @property
    def _noise(self) -> float:
        """The norm of an estimate times the exploration radius, :math:`dF_0`."""
        return self.dimension * self.constants.require("cost_bound", by=self.name)[0]

    @property
    def _price(self) -> float:
        r"""The price per round and unit of the exploration radius, :math:`(2 + \kappa)G_f`."""
        return (2 + self.constants.R / self.inner_radius) * self._G_f()

    @property
    def _first_round(self) -> float:
        return self._G_f() * self.diameter

    @property
    def radius(self) -> float:
        r"""The exploration radius :math:`\delta`, at most r/2."""
        best = math.sqrt(self._share * self.diameter * self._noise / self._price)
        return min(best * math.pow(self.horizon, -self._power), self.inner_radius / 2)

    @property
    def shrink(self) -> float:
        r"""The shrinking factor :math:`\delta/r`."""
        return self.radius / self.inner_radius


@final
@dataclass(frozen=True)
class SmoothedBanditTheorem(_Bandit):
    r"""One linear minimisation per round: expected regret :math:`O(T^{4/5})`.

    With :math:`\sigma = T^{-2/5}`, :math:`\delta = \min(\delta_0T^{-1/5}, r/2)`,
    :math:`\delta_0^2 = \tfrac23DdF_0/((2+\kappa)G_f)` and
    :math:`\eta = \tfrac34\sigma^{3/2}D\delta/(dF_0)`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta}
        + \Big(\frac\eta2\frac{d^2F_0^2}{\delta^2} + 2G_fD\sqrt\sigma + (2+\kappa)\delta G_f\Big)t.

    Proof. :math:`\Phi_t(z) = \eta\langle S_t, z\rangle + \tfrac12\|z - z_1\|^2` is 1-smooth and
    1-strongly convex; with h its excess at :math:`z_t`,
    :math:`h_{t+1} \le (1-\sigma)h_t + \tfrac12\sigma^2D^2 + \eta\|\hat g\|\sqrt{2h_{t+1}}` keeps
    :math:`h \le 2\sigma D^2`, because :math:`\eta dF_0/\delta \le \tfrac34\sigma^{3/2}D`. So
    :math:`z_t` is within :math:`2D\sqrt\sigma` of the minimiser, which is dual averaging on the
    estimates.

    Args:
        constants: needs R, G_f, cost_bound.
        horizon: T.
        dimension: d.
        diameter: D.
        inner_radius: r.
    """

    name: ClassVar[str] = "Chen, Zhang and Karbasi 2019, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.8
    _power: ClassVar[float] = 0.2
    _share: ClassVar[float] = 2 / 3

    @property
    def step(self) -> float:
        r"""The step :math:`\sigma = T^{-2/5}`."""
        return math.pow(self.horizon, -0.4)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\tfrac34\sigma^{3/2}D\delta/(dF_0)`."""
        return 0.75 * math.pow(self.step, 1.5) * self.diameter * self.radius / self._noise

    def regret_bound(self, t: Any) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * (self._noise / self.radius) ** 2 + self._price * self.radius
        rate += 2 * self._G_f() * self.diameter * math.sqrt(self.step)
        return self._first_round + self.diameter**2 / (2 * self.eta) + rate * rounds(t)


@final
@dataclass(frozen=True)
class BlockBanditTheorem(_Bandit):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: expected regret :math:`O(T^{3/4})`.

    With :math:`\delta = \min(\delta_0T^{-1/4}, r/2)`, :math:`\delta_0^2 = DdF_0/((2+\kappa)G_f)`,
    :math:`v = (dF_0/\delta)^2 + bG_f^2`, :math:`\eta = D/\sqrt{Tv}` and
    :math:`\epsilon = \tfrac12D^2T^{-1/2}`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta} + \big(\tfrac\eta2v
        + G_f\sqrt{2\epsilon} + (2+\kappa)\delta G_f\big)t, \qquad
        \text{calls} \le \frac Tb\Big(\Big\lceil\frac{4D^2}\epsilon\Big\rceil + 2\Big).

    Proof. A block's sum of estimates has a mean square of at most
    :math:`b(dF_0/\delta)^2 + b^2G_f^2 = bv`; a gap of :math:`\epsilon` leaves the centre within
    :math:`\sqrt{2\epsilon}` of the minimiser; Frank-Wolfe with line search takes
    :math:`2D^2/\epsilon` steps to an excess of :math:`\epsilon` and as many more to the gap. The
    arguments are those of :class:`SmoothedBanditTheorem`.
    """

    name: ClassVar[str] = "Garber and Kretzu 2020, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.75
    _power: ClassVar[float] = 0.25
    _share: ClassVar[float] = 1.0

    @property
    def block(self) -> int:
        r"""The block length :math:`\lceil\sqrt T\rceil`."""
        return math.isqrt(self.horizon - 1) + 1

    @property
    def _variance(self) -> float:
        return (self._noise / self.radius) ** 2 + self.block * self._G_f() ** 2

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/\sqrt{Tv}`."""
        return self.diameter / math.sqrt(self.horizon * self._variance)

    @property
    def gap(self) -> float:
        r"""The Frank-Wolfe gap :math:`\epsilon = \tfrac12D^2/\sqrt T`."""
        return 0.5 * self.diameter**2 / math.sqrt(self.horizon)

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return (self.horizon // self.block) * (math.ceil(4 * self.diameter**2 / self.gap) + 2)

    def regret_bound(self, t: Any) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * self._variance + self._price * self.radius
        rate += self._G_f() * math.sqrt(2 * self.gap)
        return self._first_round + self.diameter**2 / (2 * self.eta) + rate * rounds(t)
