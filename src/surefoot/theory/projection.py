r"""Guarantees of methods whose every action is in the feasible set by construction.

D is the diameter of the feasible set; :math:`\nabla_t` the gradient at the action played, and u
any feasible action. Standard results; the short proofs are given because the constants are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.theory._lagrangian import StronglyConvex, harmonic, rounds
from surefoot.theory.guarantee import EveryRound
from surefoot.theory.watching import Premise

__all__ = [
    "AdaGradNorm",
    "DecayingStep",
    "DualAveragingTheorem",
    "EntropicTheorem",
    "FrankWolfeTheorem",
    "StronglyConvexDescent",
    "Zinkevich",
]


class Inside(EveryRound):
    """A guarantee without violations; subclasses differ in the regret bound.

    Where the constraint changes, the set is that of the actions feasible in all rounds.
    """

    changing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._G_f()

    @property
    @final
    def premises(self) -> tuple[Premise, ...]:
        """The gradient bound, for the regret alone; the horizon if one was used."""
        found = [Premise("cost gradient", "G_f", self._G_f(), only_regret=True)]
        if self.horizon is not None:
            found.append(Premise("horizon", "the horizon", self.horizon, only_regret=True))
        return tuple(found)

    @final
    def _G_f(self) -> float:
        (G_f,) = self.constants.require("G_f", by=self.name)
        return G_f


class AroundBall(Inside):
    """A guarantee for a feasible set that holds the ball of radius r and lies in that of R."""

    inner_radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        R = self.constants.R
        checks.positive(inner_radius=self.inner_radius)
        checks.at_most(R * (1 + 1e-9), "the outer radius", inner_radius=self.inner_radius)

    @property
    @final
    def kappa(self) -> float:
        """The condition number R/r, at least 1."""
        return max(self.constants.R / self.inner_radius, 1.0)


@dataclass(frozen=True)
class ForHorizon(Inside):
    """A guarantee for a known number of rounds."""

    constants: Constants
    horizon: int

    def __post_init__(self) -> None:
        checks.horizon(self.horizon)
        super().__post_init__()


@dataclass(frozen=True)
class OnBounded(ForHorizon):
    """A guarantee for a known number of rounds on a feasible set of a known diameter."""

    diameter: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(diameter=self.diameter)


@dataclass(frozen=True)
class _FixedStep(OnBounded):
    """A bound with a fixed step that is chosen for the horizon."""

    regret_exponent: ClassVar[float] = 0.5

    @property
    @final
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt T)`."""
        return self.diameter / (self._G_f() * math.sqrt(self.horizon))

    @final
    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2) G_f^2 t`."""
        return self.diameter**2 / (2 * self.eta) + self.eta / 2 * self._G_f() ** 2 * rounds(t)


@final
@dataclass(frozen=True)
class Zinkevich(_FixedStep):
    r"""Projected gradient descent with the fixed step :math:`\eta = D/(G_f\sqrt T)`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac{\eta}{2} G_f^2 t,

    which is :math:`D G_f \sqrt T` at t = T. Proof: projection does not increase distances to u, so
    :math:`2\eta\langle\nabla_t, x_t - u\rangle \le \|x_t - u\|^2 - \|x_{t+1} - u\|^2
    + \eta^2\|\nabla_t\|^2`; sum over the rounds.

    Example:
        >>> float(Zinkevich(Constants(R=1.0, G_f=3.0), 100, diameter=2.0).regret_bound(100))
        60.0
    """

    name: ClassVar[str] = "Zinkevich 2003, fixed step"

    def interval_bound(self, length: Any) -> Array:
        """Bound the regret over any interval: the same line, begun at any action."""
        return self.regret_bound(length)

    def dynamic_bound(self, t: Any, path: Any) -> Array:
        r"""Bound the regret against comparators whose path has a given length P.

        :math:`(D^2 + 2DP)/(2\eta) + (\eta/2)G_f^2t`: a move of the comparator changes the squared
        distance to it by at most 2D times the move.
        """
        return self.regret_bound(t) + self.diameter * path / self.eta


@dataclass(frozen=True)
class _Anytime(Inside):
    """A bound for any number of rounds on a feasible set of a known diameter."""

    regret_exponent: ClassVar[float] = 0.5

    constants: Constants
    diameter: float
    horizon: None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(diameter=self.diameter)


@final
@dataclass(frozen=True)
class DecayingStep(_Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/(G_f\sqrt t)`: any number of rounds.

    .. math:: \mathrm{Reg}_t \le \tfrac32 D G_f \sqrt t

    Proof: as :class:`Zinkevich`, each round divided by its own :math:`2\eta_t`; Abel summation
    leaves :math:`D^2/(2\eta_t) = DG_f\sqrt t/2`, and
    :math:`\tfrac12\sum\eta_s G_f^2 \le \tfrac12 DG_f \cdot 2\sqrt t`.
    """

    name: ClassVar[str] = "Zinkevich 2003, decaying step"

    @property
    def eta(self) -> float:
        r"""The step size of round 1, :math:`D/G_f`."""
        return self.diameter / self._G_f()

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`\tfrac32 D G_f \sqrt t`."""
        return 1.5 * self.diameter * self._G_f() * np.sqrt(rounds(t))


@final
@dataclass(frozen=True)
class StronglyConvexDescent(StronglyConvex, Inside):
    r"""Projected gradient descent with :math:`\eta_t = 1/(Ht)` on H-strongly convex costs.

    .. math:: \mathrm{Reg}_t \le \frac{G_f^2}{2H}(1 + \ln t)

    Proof: strong convexity takes :math:`\tfrac H2\|x_s-u\|^2` off every round, so that the
    distances telescope to nothing: :math:`\frac1{\eta_s} - \frac1{\eta_{s-1}} - H = 0`. What is
    left is :math:`\tfrac12\sum G_f^2/(Hs)`.
    """

    name: ClassVar[str] = "Hazan, Agarwal and Kale 2007, strongly convex"
    regret_exponent: ClassVar[float] = 0.0

    constants: Constants
    horizon: None = None

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`(G_f^2/2H)(1 + \ln t)`."""
        return 0.5 * self._G_f() ** 2 * self.eta * harmonic(t)


@final
@dataclass(frozen=True)
class AdaGradNorm(_Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/\sqrt{2\sum_{s \le t}\|\nabla_s\|^2}`.

    .. math:: \mathrm{Reg}_t \le \sqrt2 D\sqrt{\textstyle\sum_{s \le t}\|\nabla_s\|^2}
              \le \sqrt2 D G_f\sqrt t

    No constant but D is used. Proof: Abel summation leaves :math:`D^2/(2\eta_t)`, and
    :math:`\tfrac12\sum\eta_s\|\nabla_s\|^2 \le \tfrac{D}{\sqrt2}\sqrt{S_t}` since
    :math:`\sum a_s/\sqrt{A_s} \le 2\sqrt{A_t}` for sums :math:`A_s` of :math:`a`.
    """

    name: ClassVar[str] = "AdaGrad-norm (Streeter and McMahan 2010)"

    @property
    def eta(self) -> float:
        r"""The step size times the root of the squared gradients, :math:`D/\sqrt2`."""
        return self.diameter / math.sqrt(2)

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`\sqrt2 D G_f\sqrt t`; with observed gradients it is tighter."""
        return math.sqrt(2) * self.diameter * self._G_f() * np.sqrt(rounds(t))


@final
@dataclass(frozen=True)
class DualAveragingTheorem(_FixedStep):
    r"""Dual averaging, :math:`x_{t+1} = \Pi_X(x_1 - \eta\sum_{s\le t}\nabla_s)`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2 G_f^2 t,
              \qquad \eta = \frac{D}{G_f\sqrt T}

    Proof: :math:`x_{t+1}` minimises :math:`\eta\langle\sum\nabla, x\rangle + \tfrac12\|x-x_1\|^2`,
    which is 1-strongly convex; being the leader costs at most :math:`\tfrac12\|u-x_1\|^2/\eta`,
    and not yet knowing :math:`\nabla_t` at most
    :math:`\langle\nabla_t, x_t-x_{t+1}\rangle - \tfrac1{2\eta}\|x_t-x_{t+1}\|^2
    \le \tfrac\eta2\|\nabla_t\|^2`.
    """

    name: ClassVar[str] = "Dual averaging (Shalev-Shwartz and Singer 2007)"


@final
@dataclass(frozen=True)
class EntropicTheorem(ForHorizon):
    r"""Exponentiated gradients on a simplex of total s.

    .. math:: \mathrm{Reg}_t \le \frac{s\ln d}{\eta} + \frac{\eta s}{2} G_\infty^2 t
              + 2s\Big(1 - \frac1d\Big)G_\infty,
              \qquad \eta = \frac{1}{G_\infty}\sqrt{\frac{2\ln d}{T}}

    with :math:`G_\infty` the largest entry of a gradient, at most G_f. Proof: dual averaging with
    the entropy, which is 1/s-strongly convex in the 1-norm on the simplex and has range
    :math:`s\ln d` from its centre c. Had the first action been c, the last term would not be
    there; it is :math:`\langle\nabla_1, x_1 - c\rangle`, at most :math:`G_\infty` times
    :math:`\|x_1 - c\|_1`, which is largest at a corner.
    """

    name: ClassVar[str] = "Entropic dual averaging"
    regret_exponent: ClassVar[float] = 0.5

    dimension: int
    total: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(total=self.total)
        if checks.whole(self.dimension, "dimension") < 2:
            raise InvalidValueError(
                f"dimension must be at least 2 on a simplex, got {self.dimension}"
            )

    @property
    def eta(self) -> float:
        r"""The step size :math:`\sqrt{2\ln d/T}/G_\infty`."""
        return math.sqrt(2 * math.log(self.dimension) / self.horizon) / self._G_f()

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`s\ln d/\eta + (\eta s/2)G_\infty^2 t + 2s(1 - 1/d)G_\infty`."""
        t, s, G = rounds(t), self.total, self._G_f()
        first = s * math.log(self.dimension) / self.eta + 2 * s * (1 - 1 / self.dimension) * G
        return first + self.eta * s / 2 * G**2 * t


@final
@dataclass(frozen=True)
class FrankWolfeTheorem(OnBounded):
    r"""Online Frank-Wolfe, in the form of the textbook or tuned.

    .. math::
        \text{book: } \eta = \frac{D}{2G_fT^{3/4}},\ \sigma_t = \min(1, 2/\sqrt t):
          \quad \mathrm{Reg}_T \le 8DG_fT^{3/4} \\
        \text{tuned: } \eta = \frac{D}{2G_f}\Big(\frac3T\Big)^{3/4},\ \sigma = \min(1, \sqrt{3/T}):
          \quad \mathrm{Reg}_T \le \frac{4}{3^{3/4}}DG_fT^{3/4}

    The first as recalled from Hazan's book, the second from Weibel, Gaillard, Koolen and Taylor
    2025 (as found in the examples of PEPit). The bounds are for t = T, and hold for fewer rounds
    too: with costs of 0 in the others nothing is different but the number of rounds.
    """

    regret_exponent: ClassVar[float] = 0.75

    is_tuned: bool

    @property
    def name(self) -> str:
        """The source of the form."""
        source = "Weibel et al. 2025), tuned" if self.is_tuned else "Hazan and Kale 2012), textbook"
        return f"Online Frank-Wolfe ({source}"

    @property
    def eta(self) -> float:
        """The weight of the gradients against the distance from the start."""
        scale = self.diameter / (2 * self._G_f())
        power = (3.0 if self.is_tuned else 1.0) / self.horizon
        return scale * float(power**0.75)

    @property
    def step(self) -> float | None:
        """The fixed step of the tuned form; None for the textbook's decaying one."""
        return min(1.0, math.sqrt(3.0 / self.horizon)) if self.is_tuned else None

    def regret_bound(self, t: Any) -> Array:
        """Return the bound at the horizon."""
        factor = 4 / 3**0.75 if self.is_tuned else 8.0
        bound = factor * self.diameter * self._G_f() * self.horizon**0.75
        return np.full_like(rounds(t), bound)
