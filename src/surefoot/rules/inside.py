r"""Shared by rules that know the feasible set and never leave it, and by their theorems.

In these theorems D is the diameter of the feasible set, :math:`\nabla_t` the gradient at the action
played, and u any feasible action. The results are standard. Their short proofs are given because
the constants are used.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar

from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, CostsOnly
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import Declared, positive, projectable, size
from surefoot.core.types import Array, Needs, Number, Real, Set
from surefoot.guarantees.bounds import KnownDiameter, descent_bound
from surefoot.guarantees.guarantee import EveryRound, KnownHorizon
from surefoot.guarantees.premise import Premise
from surefoot.sets import gauge_of


class Projecting(Declared, CostsOnly):
    """A rule with a step size that only projects onto the feasible set."""

    needs: ClassVar[Needs] = COSTS_ONLY._replace(projections=1)

    eta: Real = positive()
    domain: Set = projectable()


def inner_radius_of(constants: Constants, domain: object) -> float:
    """Return the radius of a ball around 0 in a feasible set: a constant, or that of its gauge."""
    inner = as_constants(constants).inner_radius
    return float(gauge_of(domain).inner_radius if inner is None else inner)


class Inside(EveryRound):
    """A guarantee without violations; subclasses differ in the regret bound.

    If the constraint changes, the set is that of the actions feasible in all rounds.
    """

    changing: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("G_f",)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The gradient bound, only for the regret; the horizon if one was used."""
        premises = self._and_horizon(Premise("cost gradient", "G_f", self._G_f))
        return tuple(replace(premise, only_regret=True) for premise in premises)


class AroundBall(Inside):
    """A guarantee for a feasible set between the balls of radius r and R."""

    inner_radius: float = size()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the inner radius, unless it is a constant."""
        return {"inner_radius": inner_radius_of(constants, domain)}

    def __post_init__(self) -> None:
        super().__post_init__()
        R = self.constants.R
        checks.at_most(R * (1 + 1e-9), "the outer radius", inner_radius=self.inner_radius)

    @property
    def kappa(self) -> float:
        """The condition number R/r, at least 1."""
        return max(self.constants.R / self.inner_radius, 1.0)


class ForHorizon(KnownHorizon, Inside):
    """A guarantee for a known number of rounds."""


class OnBounded(KnownDiameter, ForHorizon):
    """A guarantee for a known number of rounds on a feasible set of a known diameter."""


class FixedStep(OnBounded):
    """A bound with a fixed step that is chosen for the horizon."""

    regret_exponent: ClassVar[float] = 0.5

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt T)`."""
        return self.diameter / (self._G_f * math.sqrt(self.horizon))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2) G_f^2 t`."""
        return descent_bound(t, self.eta, self.diameter, self._G_f)


class Anytime(KnownDiameter, Inside):
    """A bound for any number of rounds on a feasible set of a known diameter."""

    regret_exponent: ClassVar[float] = 0.5
    horizon = None
