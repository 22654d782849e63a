r"""Theorem 1 of the paper and its corollaries, with the parameters they choose.

Throughout, :math:`\gamma = 1 - \sigma^2/G_g^2`, :math:`\xi = 1 - \sqrt\gamma`,
:math:`\alpha` = ``start_slack``, and :math:`X_\rho = \{g \le -\rho\}`.
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
from surefoot.theory.guarantee import Guarantee, Kind, Measure
from surefoot.theory.watching import Premise

__all__ = ["Corollary1", "Corollary2", "Corollary3", "Theorem1"]

# Where a corollary lets an action come to rest exactly on the boundary (gamma = 0: one half-space,
# or d = 1), rounding could leave g at +1e-17. Steps shorter by this share leave a slack of
# 1e-9 rho, which is above the rounding of a step, about 24 (d + 8) 2^-53 G_g R, as long as
# rho > 3e-6 (d + 8) G_g R. Where gamma > 0 the contraction itself leaves far more.
SHRINK = 1.0 - 1e-9


@final
@dataclass(frozen=True)
class Theorem1(Guarantee):
    r"""Theorem 1: any :math:`\eta > 0` and :math:`\rho \in [0, \epsilon]`, any number of rounds.

    .. math::
        \mathrm{Reg}_t &\le \frac{2R^2}{\eta} + \frac{\eta}{2}G_f^2 t + \frac{G_f\rho}{\sigma} t \\
        g(x_t) &\le G_g\gamma^{(t-1)/2}\,\mathrm{dist}(x_1, X_\rho)
                    + \frac{\eta G_g G_f}{\xi} - \rho

    Args:
        constants: needs R, G_f, G_g, sigma, epsilon.
        eta: step size.
        rho: tightening, at most epsilon.
        horizon: the number of rounds, if the parameters were chosen for one.
        tightening_cost: how far the best action may move per unit of rho; :math:`1/\sigma` by
            Lemma 1, unless a better number is known (:func:`surefoot.theory.tune_polyak`).

    Example:
        >>> c = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.5)
        >>> bound = Theorem1(c, eta=0.1, rho=0.2)
        >>> float(bound.regret_bound(100)), bound.kind
        (45.0, 'every round')
    """

    name: ClassVar[str] = "Theorem 1"
    violation_exponent: ClassVar[None] = None

    constants: Constants
    eta: float
    rho: float
    horizon: int | None = None
    tightening_cost: float | None = None

    def __post_init__(self) -> None:
        self._known()
        checks.positive(eta=self.eta)
        checks.nonnegative(rho=self.rho)
        (epsilon,) = self.constants.require("epsilon", by=self.name)
        checks.at_most(epsilon, "epsilon", rho=self.rho)
        checks.plain(self, "eta", "rho")
        if self.tightening_cost is not None:
            checks.nonnegative(tightening_cost=self.tightening_cost)
            checks.plain(self, "tightening_cost")
        if self.horizon is not None:
            checks.horizon(self.horizon)

    def _known(self) -> tuple[float, ...]:
        return self.constants.require("R", "G_f", "G_g", "sigma", by=self.name)

    @property
    def kind(self) -> Kind:
        """Every round if the violation bound is never positive, else after t0, else bounded."""
        if self.first_feasible == 1:
            return "every round"
        return "after t0" if self.first_feasible < math.inf else "bounded"

    @property
    def drift(self) -> float:
        r"""How far a steady stream of costs can push: :math:`\eta G_g G_f/\xi`."""
        _, G_f, G_g, _ = self._known()
        return self.eta * G_g * G_f / self.constants.xi

    @property
    def start_distance(self) -> float:
        r"""A bound on :math:`\mathrm{dist}(x_1, X_\rho)`.

        0 when the start's slack is at least rho; else :math:`(\rho - \alpha)/\sigma` by Lemma 1,
        and never more than 2R.
        """
        R, _, _, sigma = self._known()
        slack = self.constants.start_slack
        return 2 * R if slack is None else min(2 * R, max(0.0, self.rho - slack) / sigma)

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`2R^2/\eta + (\eta/2) G_f^2 t + (G_f\rho/\sigma) t`."""
        R, G_f, _, sigma = self._known()
        t = np.asarray(t, dtype=np.float64)
        cost = 1 / sigma if self.tightening_cost is None else self.tightening_cost
        return 2 * R**2 / self.eta + self.eta / 2 * G_f**2 * t + G_f * self.rho * cost * t

    def bounds(self, t: Any) -> dict[Measure, Array]:
        r"""Return :math:`G_g\gamma^{(t-1)/2} dist(x_1, X_\rho) + \eta G_g G_f/\xi - \rho`."""
        t = np.asarray(t, dtype=np.float64)
        if self.kind == "every round":
            return {"round": np.zeros_like(t)}  # any slack below it is spent on rounding (SHRINK)
        _, _, G_g, sigma = self._known()
        gamma = self.constants.gamma
        # The logarithm where gamma is closer to 1 than to 0: 1 - 1e-18 is no float.
        fading = (
            gamma ** ((t - 1) / 2)
            if gamma < 0.5
            else np.exp((t - 1) / 2 * math.log1p(-((sigma / G_g) ** 2)))
        )
        return {"round": G_g * fading * self.start_distance + self.drift - self.rho}

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for parameters chosen for a horizon; else None."""
        return None if self.horizon is None else 0.5

    @property
    def first_feasible(self) -> float:
        """The first round from which the violation bound is at most 0; inf if there is none."""
        _, _, G_g, sigma = self._known()
        excess, room = G_g * self.start_distance, self.rho - self.drift
        if excess <= room:
            return 1
        gamma = self.constants.gamma
        if room < 0 or (room == 0 and gamma > 0):
            return math.inf
        if gamma == 0:
            return 2
        decay = -math.log(gamma) if gamma < 0.5 else -math.log1p(-((sigma / G_g) ** 2))
        return 1 + math.ceil(2 * math.log(excess / room) / decay)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f, G_g and sigma; the start and the horizon if they matter."""
        _, G_f, G_g, sigma = self._known()
        c = self.constants
        found = [
            Premise("cost gradient", "G_f", G_f),
            Premise("constraint subgradient", "G_g", G_g),
            Premise("subgradient near the boundary", "sigma", sigma, level=c.epsilon or 0.0),
        ]
        if c.start_slack is not None:
            found.append(Premise("start", "the slack counted on", min(c.start_slack, self.rho)))
        return self._and_horizon(*found)


@dataclass(frozen=True)
class _Corollary(Guarantee):
    """Theorem 1 with the ``eta`` and ``rho`` that a corollary gives for a horizon."""

    regret_exponent: ClassVar[float] = 0.5

    constants: Constants
    horizon: int

    def __post_init__(self) -> None:
        checks.horizon(self.horizon)
        _ = self.theorem

    @property
    @final
    def theorem(self) -> Theorem1:
        """Theorem 1 at these parameters, which covers every round, not only the last."""
        corollary: Any = self
        return Theorem1(self.constants, corollary.eta, corollary.rho, self.horizon)

    @final
    def regret_bound(self, t: Any) -> Array:
        """Return Theorem 1's bound; at t = horizon it is the corollary's."""
        return self.theorem.regret_bound(t)

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return Theorem 1's bound on each round; never above the corollary's."""
        return self.theorem.bounds(t)

    @property
    @final
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Theorem 1 at these parameters."""
        return self.theorem.premises


@final
@dataclass(frozen=True)
class Corollary1(_Corollary):
    r"""Corollary 1: feasible in every round from a strictly feasible start.

    With :math:`g(x_1) \le -\alpha`, :math:`\alpha \in (0, \epsilon]`,
    :math:`\rho = \alpha/\sqrt T` and :math:`\eta = \xi\rho/(G_f G_g)`:

    .. math::
        g(x_t) \le 0 \ \forall t \le T, \qquad
        \mathrm{Reg}_T \le \Big(\frac{2G_fG_gR^2}{\xi\alpha} + \frac{G_f\xi\alpha}{2G_g}
                               + \frac{G_f\alpha}{\sigma}\Big)\sqrt T

    G_f need only bound the gradients on the feasible set (the paper's Remark 2): all actions
    are in it, by induction. The same holds of G_g, and the ball projection is never active.
    """

    name: ClassVar[str] = "Corollary 1"
    kind: ClassVar[Kind] = "every round"
    violation_exponent: ClassVar[None] = None

    def __post_init__(self) -> None:
        checks.horizon(self.horizon)
        (slack,) = self.constants.require("start_slack", by=self.name)
        _strictly_feasible(slack, self.name)
        _ = self.theorem

    @property
    def rho(self) -> float:
        r"""The tightening :math:`\min(\alpha, \epsilon)/\sqrt T`."""
        return min(self.constants.require("start_slack", "epsilon", by=self.name)) / math.sqrt(
            self.horizon
        )

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi\rho/(G_f G_g)`, slightly shorter (SHRINK)."""
        G_f, G_g = self.constants.require("G_f", "G_g", by=self.name)
        return SHRINK * self.constants.xi * self.rho / (G_f * G_g)


@final
@dataclass(frozen=True)
class Corollary2(_Corollary):
    r"""Corollary 2: any start, feasible after O(log T) rounds.

    With :math:`\rho = \epsilon/\sqrt T` and :math:`\eta = \xi\epsilon/(2G_fG_g\sqrt T)`:

    .. math::
        g(x_t) \le 0 \ \forall t \ge t_0 = 1 + \frac{2G_g^2}{\sigma^2}
                                      \log\frac{4G_gR\sqrt T}{\epsilon}, \qquad
        \mathrm{Reg}_T \le \Big(\frac{4G_fG_gR^2}{\xi\epsilon} + \frac{G_f\xi\epsilon}{4G_g}
                               + \frac{G_f\epsilon}{\sigma}\Big)\sqrt T

    and :math:`\sum_t g(x_t) \le 0` when :math:`\sqrt T \ge 4RG_g/(\epsilon\xi)`.

    The paper prints the first term without the 4. That is a slip: the term is
    :math:`2R^2/\eta` at this eta. With it left out the bound fails; for d = 1, g = \|x\| - 1,
    f_t(x) = x, x_1 = 1, epsilon = 0.9, T = 16 the regret is 16.84, the printed bound 8.94 and
    this one 22.28.
    """

    name: ClassVar[str] = "Corollary 2 (corrected)"
    violation_exponent: ClassVar[None] = None

    @property
    def kind(self) -> Kind:
        """After t0, or every round if the start's slack is known to reach rho."""
        return self.theorem.kind

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return Theorem 1's; where T is large enough the sum of g is at most 0 at t = T."""
        each = super().bounds(t)
        if not self.is_cumulative or np.any(np.asarray(t) != self.horizon):
            return each
        return each | {"soft": np.zeros_like(each["round"])}

    @property
    def rho(self) -> float:
        r"""The tightening :math:`\epsilon/\sqrt T`."""
        (epsilon,) = self.constants.require("epsilon", by=self.name)
        return epsilon / math.sqrt(self.horizon)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi\rho/(2G_f G_g)`."""
        G_f, G_g = self.constants.require("G_f", "G_g", by=self.name)
        return self.constants.xi * self.rho / (2 * G_f * G_g)

    @property
    def first_feasible(self) -> int:
        r"""The round :math:`t_0`, rounded up."""
        R, G_g, sigma, epsilon = self.constants.require(
            "R", "G_g", "sigma", "epsilon", by=self.name
        )
        logarithm = math.log(4 * G_g * R * math.sqrt(self.horizon) / epsilon)
        return 1 + max(0, math.ceil(2 * (G_g / sigma) ** 2 * logarithm))

    @property
    def is_cumulative(self) -> bool:
        r"""Whether :math:`\sum_t g(x_t) \le 0` is promised too, because T is large enough."""
        R, G_g, epsilon = self.constants.require("R", "G_g", "epsilon", by=self.name)
        return math.sqrt(self.horizon) >= 4 * R * G_g / (epsilon * self.constants.xi)


@final
@dataclass(frozen=True)
class Corollary3(_Corollary):
    r"""Corollary 3: the regret of OGD with full projection, violation O(1/sqrt T) in each round.

    With :math:`\rho = 0` and :math:`\eta = 2R/(G_f\sqrt T)`:

    .. math::
        \mathrm{Reg}_T \le 2RG_f\sqrt T, \qquad
        g(x_t) \le 2RG_g \exp\Big(-\frac{\sigma^2(t-1)}{2G_g^2}\Big) + \frac{2RG_g}{\xi\sqrt T}
    """

    name: ClassVar[str] = "Corollary 3"
    kind: ClassVar[Kind] = "bounded"
    violation_exponent: ClassVar[float] = 0.5

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return Theorem 1's, and their sum: a geometric series and t times a constant."""
        t = np.asarray(t, dtype=np.float64)
        (G_g,) = self.constants.require("G_g", by=self.name)
        xi = self.constants.xi
        # sum of root^s for s < t with root = 1 - xi; 1 - root may be 0 in floats where xi is not.
        series = -np.expm1(t * math.log1p(-xi)) / xi if xi < 1 else np.minimum(t, 1.0)
        fading = G_g * self.theorem.start_distance * series
        hard = fading + self.theorem.drift * t
        return super().bounds(t) | {"soft": hard, "hard": hard}

    @property
    def rho(self) -> float:
        """Zero: nothing is tightened."""
        return 0.0

    @property
    def eta(self) -> float:
        r"""The step size :math:`2R/(G_f\sqrt T)`."""
        R, G_f = self.constants.require("R", "G_f", by=self.name)
        return 2 * R / (G_f * math.sqrt(self.horizon))


def _strictly_feasible(slack: float, name: str) -> None:
    if not slack > 0:
        raise InvalidValueError(
            f"{name} needs a strictly feasible start: start_slack = -g(x_1) must be > 0, "
            f"got {slack:g}"
        )
