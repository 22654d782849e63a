"""The guarantee of constraint velocities (Kolev, Martius and Muehlebach 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._lagrangian import rounds
from surefoot.theory.guarantee import Guarantee, Kind, Measure, Premise

__all__ = ["CVVProTheorem"]


@final
@dataclass(frozen=True)
class CVVProTheorem(Guarantee):
    r"""Regret :math:`O(\sqrt T)`; violations :math:`O(1/\sqrt t)` where rows are smooth and fixed.

    With :math:`\alpha = G_f/R`, a start in the ball and a point of the ball that is feasible in all
    rounds,

    .. math:: \|x_t\| \le 2.71R, \qquad \mathrm{Reg}_t \le 29.1\,G_fR\sqrt{t + 15},

    and for rows that are :math:`\beta`-smooth and the same in every round

    .. math:: g_i(x_t) \le \frac{C}{\sqrt{t + 15}}, \qquad
        C = \max\{\tfrac87\cdot11.1\,\beta R^2,\ 4.86\,G_gR,\ 4[g_i(x_1)]_+\}.

    G_f and G_g must hold on the ball of radius 2.71 R. Where the constraints change quickly their
    violation may be linear: nothing is promised then.

    Proof. For the common feasible u, :math:`\alpha(u - x)` satisfies the rows, so
    :math:`\langle v + \nabla, \alpha(u - x) - v\rangle \ge 0`, and
    :math:`\langle v, v + \nabla\rangle \ge 0` by complementarity: with :math:`\eta_t =
    1/(\alpha\sqrt{t+15})`, :math:`\langle\nabla, x - u\rangle \le
    (\|x - u\|^2 - \|x_+ - u\|^2)/(2\eta) + \tfrac\eta2\|v\|^2`, and
    :math:`\|v\| \le G_f + \alpha\|x - u\| \le 4.71G_f`. A violated row has
    :math:`g_+ \le (1 - \eta\alpha)g + \tfrac\beta2\eta^2\|v\|^2`, another
    :math:`g_+ \le G_g\eta\|v\|`; induction with
    :math:`1/\sqrt s - 1/\sqrt{s+1} \le 1/(2s^{3/2})` for s of at least 16. The ball's own row,
    :math:`\tfrac12(\|x\|^2 - R^2)` with :math:`\beta = 1`, keeps :math:`\|x_t\| \le 2.71R`.

    Args:
        constants: needs R, G_f; the bound on violations needs G_g and the curvature beta of every
            row. Uses start_slack; where it is not known :math:`g_i(x_1) \le 2RG_g`.
        smooth: whether the rows are smooth and the same in every round, so that violations are
            bounded.
        horizon: none is used.
    """

    name: ClassVar[str] = "Kolev et al. 2023, CVV-Pro"
    regret_exponent: ClassVar[float] = 0.5

    constants: Constants
    smooth: bool = False
    horizon: None = None

    def __post_init__(self) -> None:
        self.constants.require("R", "G_f", by=self.name)
        if self.smooth:
            self.constants.require("G_g", "beta", by=self.name)

    @property
    def kind(self) -> Kind:
        """Bounded if the rows are known to be smooth; else nothing is claimed about them."""
        return "bounded" if self.smooth else "none"

    @property
    def changing(self) -> bool:
        """Whether the constraint may change: only if nothing is claimed about it."""
        return not self.smooth

    @property
    def violation_exponent(self) -> float | None:
        """The exponent -1/2 for the violation of a round, or None if nothing is claimed."""
        return -0.5 if self.smooth else None

    @property
    def alpha(self) -> float:
        """The rate :math:`G_f/R` of the velocities."""
        R, G_f = self.constants.require("R", "G_f", by=self.name)
        return G_f / R

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`29.1\,G_fR\sqrt{t + 15}`."""
        R, G_f = self.constants.require("R", "G_f", by=self.name)
        return 29.1 * G_f * R * np.sqrt(rounds(t) + 15)

    def bounds(self, t: Any) -> dict[Measure, Array]:
        r"""Return :math:`C/\sqrt{t + 15}` for every round where the rows are smooth."""
        if not self.smooth:
            return {}
        c = self.constants
        R, G_g, beta = c.require("R", "G_g", "beta", by=self.name)
        first = G_g * 2 * R if c.start_slack is None else max(-c.start_slack, 0.0)
        C = max(8 / 7 * 11.1 * beta * R**2, 4.86 * G_g * R, 4 * first)
        return {"round": C / np.sqrt(rounds(t) + 15)}

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f, and G_g if violations are bounded."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        found = (Premise("cost gradient", "G_f", G_f),)
        if self.smooth:
            (G_g,) = self.constants.require("G_g", by=self.name)
            return (*found, Premise("constraint subgradient", "G_g", G_g))
        return found
