"""The guarantee of online gradient descent with full projection (Zinkevich 2003)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from surefoot import _check
from surefoot.constants import Constants
from surefoot.theory.guarantee import Guarantee, Kind, Measure, Premise
from surefoot.types import Array

__all__ = ["Zinkevich"]


@final
@dataclass(frozen=True)
class Zinkevich(Guarantee):
    r"""Projected online gradient descent with a fixed step.

    With D the diameter of the feasible set, for any :math:`\eta > 0` and any t

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac{\eta}{2} G_f^2 t,

    and :math:`g(x_t) \le 0` because every action is a projection. :math:`\eta = D/(G_f\sqrt T)`
    gives :math:`D G_f \sqrt T` at t = T.

    Proof: projection does not increase distances to a feasible u, so
    :math:`2\eta\langle\nabla_t, x_t - u\rangle \le \|x_t - u\|^2 - \|x_{t+1} - u\|^2
    + \eta^2\|\nabla_t\|^2`; sum over the rounds.

    Example:
        >>> float(Zinkevich(Constants(R=1.0, G_f=3.0), 100, diameter=2.0).regret_bound(100))
        60.0
    """

    constants: Constants
    horizon: int
    diameter: float

    def __post_init__(self) -> None:
        _check.horizon(self.horizon)
        _check.positive(diameter=self.diameter)
        self.constants.require("G_f", by=self.name)

    @property
    def name(self) -> str:
        """Zinkevich's theorem."""
        return "Zinkevich 2003, fixed step"

    @property
    def kind(self) -> Kind:
        """Every round: each action is a projection."""
        return "every round"

    @property
    def eta(self) -> float:
        r""":math:`D/(G_f\sqrt T)`."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        return self.diameter / (G_f * math.sqrt(self.horizon))

    def regret_bound(self, t: Any) -> Array:
        r""":math:`D^2/(2\eta) + (\eta/2) G_f^2 t`."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        t = np.asarray(t, dtype=np.float64)
        return self.diameter**2 / (2 * self.eta) + self.eta / 2 * G_f**2 * t

    def violation_bound(self, t: Any) -> Array:
        """0."""
        return np.zeros_like(np.asarray(t, dtype=np.float64))

    def sum_bounds(self, t: Any) -> dict[Measure, Array]:
        """None beyond that of the rounds."""
        return {}

    @property
    def regret_exponent(self) -> float:
        """1/2."""
        return 0.5

    @property
    def violation_exponent(self) -> None:
        """None: there are no violations."""
        return

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The gradient bound, and the horizon."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        return (
            Premise("cost gradient", "G_f", G_f, only_regret=True),
            Premise("horizon", "the horizon", self.horizon),
        )
