"""Shared by theorems: sums over rounds, the first sufficient horizon, bounds from a start."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants, polyak_rate
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import size
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number
from surefoot.guarantees.guarantee import EveryRound, Guarantee, KnownHorizon
from surefoot.guarantees.premise import Premise


def as_floats(t: Number) -> Array:
    """Return a number of rounds, or an array of them, as floats."""
    return np.asarray(t, dtype=np.float64)


def descent_bound(t: Number, eta: float, distance: Number, slope: float) -> Array:
    r"""Return :math:`D^2/(2\eta) + (\eta/2)G^2t`: the regret of t gradient steps of a fixed size.

    Args:
        t: the number of rounds.
        eta: the step size.
        distance: D, from the first action to the comparator.
        slope: G, the largest norm of a gradient.
    """
    return distance**2 / (2 * eta) + eta / 2 * slope**2 * as_floats(t)


def harmonic(t: Number) -> Array:
    r"""Bound :math:`\sum_{s \le t} 1/s` by its first term and an integral."""
    return 1 + np.log(as_floats(t))


def power_sum(t: Number, power: float) -> Array:
    r"""Bound :math:`\sum_{s \le t} s^{-p}`, p < 1, by its first term and an integral."""
    return 1 + (as_floats(t) ** (1 - power) - 1) / (1 - power)


def at_least(horizon: int | None) -> str:
    """Return in words how many rounds a theorem needs, with all digits if readable."""
    if horizon is None:
        return "more than 2^1000 rounds"
    return f"at least {horizon if horizon < 10**9 else f'{horizon:.3g}'} rounds"


def too_short(theorem: Guarantee, least: int | None, otherwise: str = "") -> InvalidValueError:
    """Return the error for a horizon that is shorter than a theorem needs."""
    return InvalidValueError(
        f"{theorem.name} needs a horizon of {at_least(least)} for these constants, "
        f"{otherwise}got {theorem.horizon}"
    )


def first_horizon(enough: Callable[[int], bool], low: int) -> int | None:
    """Return the first sufficient horizon, if all longer ones are; None without one."""
    high = low
    while not enough(high):
        if high >= checks.LONGEST:
            return None
        low, high = high, min(2 * high, checks.LONGEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


class StronglyConvex(Guarantee):
    """A theorem on H-strongly convex costs, most often with steps of 1/(Ht)."""

    needed: ClassVar[tuple[str, ...]] = ("strong_convexity",)
    horizon = None
    regret_exponent: ClassVar[float] = 0.0

    @property
    def strong_convexity(self) -> float:
        """The modulus H of strong convexity of the costs."""
        return self.constants.require("strong_convexity", by=self.name)[0]

    @property
    def eta(self) -> float:
        """The step size of round 1, 1/H."""
        return 1 / self.strong_convexity


class InBlocks(KnownHorizon):
    """A theorem on steps at the ends of blocks of rounds."""

    @property
    def block(self) -> int:
        r"""The block length :math:`\lceil\sqrt T\rceil`."""
        return math.isqrt(self.horizon - 1) + 1


class KnownDiameter(Guarantee):
    """A theorem for a feasible set of a known diameter."""

    diameter: float = size()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the diameter."""
        return {"diameter": bounded_diameter(domain)}


class StrictStart(EveryRound):
    """A theorem that assumes a strictly feasible start."""

    needed: ClassVar[tuple[str, ...]] = ("start_slack",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_strict_start(self._slack, self.name)

    @property
    def _slack(self) -> float:
        return self.constants.require("start_slack", by=self.name)[0]

    @property
    def premises(self) -> tuple[Premise, ...]:
        """G_g and the start; G_f only for the regret bound; the horizon if one was used."""
        return self._and_rest(
            Premise("constraint subgradient", "G_g", self._G_g),
            Premise("start", "the slack counted on", self._slack),
        )


def check_strict_start(slack: float, name: str) -> None:
    """Raise, naming the theorem, unless the start has slack."""
    if not slack > 0:
        raise InvalidValueError(
            f"{name} needs a strictly feasible start: start_slack = -g(x_1) must be > 0, "
            f"got {slack:g}"
        )


# # If gamma = 0 (one half-space, or d = 1), a corollary lets an action settle exactly on the
# boundary, and rounding could leave g at +1e-17. Steps shorter by this share leave a slack of 1e-9
# rho. That is above the rounding of a step, about 24 (d + 8) 2^-53 G_g R, as long as rho > 3e-6 (d
# + 8) G_g R. If gamma > 0, the contraction itself leaves far more.
SHRINK = 1.0 - 1e-9


class FromStart(StrictStart):
    r"""A theorem that uses sigma, or the start if sigma is unknown or smaller.

    A given sigma holds for every tightening up to :math:`\epsilon`. The start gives
    :math:`\sigma_\rho = (\alpha - \rho)/D_0` for every tightening up to :math:`\rho < \alpha`
    (:meth:`surefoot.core.constants.Constants.local_sigma`). The theorem takes the larger one.
    """

    @property
    def level(self) -> float:
        r"""The largest tightening allowed: :math:`\min(\alpha, \epsilon)`.

        It is :math:`\alpha/2` if only the start gives a sigma.
        """
        c = self.constants
        if c.sigma is None:
            return 0.5 * self._slack
        return min(self._slack, *c.require("epsilon", by=self.name))

    @property
    def sigma(self) -> float:
        """The larger of the given sigma and the start's, at this level."""
        c = self.constants
        sigmas = [] if c.sigma is None else [c.sigma]
        if self.level < self._slack:
            sigmas.append(c.local_sigma(self.level))
        return min(self._G_g, max(sigmas))

    @property
    def xi(self) -> float:
        r"""The share of a distance that a feasibility step removes, :math:`\xi`."""
        return polyak_rate(self.sigma, self._G_g)

    @property
    def cost(self) -> float:
        r"""How far the best action moves per unit of tightening, :math:`\kappa`.

        :math:`1/\sigma` by Lemma 1, or :math:`D_0/\alpha` towards the start; the smaller.
        """
        c = self.constants
        sigma_cost = math.inf if c.sigma is None else 1 / c.sigma
        return min(sigma_cost, c.reach / self._slack)
