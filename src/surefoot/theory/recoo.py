"""The guarantees of RECOO (Guo et al. 2022): summed violations stay constant or grow slowly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._lagrangian import Lagrangian, harmonic, power_sum, rounds
from surefoot.theory.guarantee import Kind, Measure

__all__ = ["RecooTheorem"]


@final
@dataclass(frozen=True)
class RecooTheorem(Lagrangian):
    r"""A proximal step on a rectified penalty whose multiplier is at least :math:`w_0t^p`.

    With D = 2R unless given, :math:`w_0 = 1` and F as in the module of constants,

    ==================  =====================================  ============================
    costs               :math:`\alpha_t`                       :math:`\mathrm{Reg}_t \le`
    ==================  =====================================  ============================
    convex              :math:`\tfrac{G_f}{\sqrt2D}\sqrt t`    :math:`\sqrt2G_fD\sqrt t`
    strongly convex     :math:`\mu t/2`                        :math:`\tfrac{G_f^2}{2\mu}(1+\ln t)`
    ==================  =====================================  ============================

    For a fixed constraint (:math:`\gamma_t = t^{3/2}`)

    .. math:: \sum_{s \le t}[g(x_s)]_+ \le [g(x_1)]_+ + \sum_{s<t}
        \frac{F + G_f^2/(4\alpha_s) + \alpha_sD^2}{w_0s^{p+3/2}} = O(1),

    and for constraints that change (:math:`\gamma_t = 1`), with
    :math:`B_t = Ft + \sum_{s \le t}\tfrac{G_f^2}{2\alpha_s} + \alpha_tD^2` (the last term not for
    strongly convex costs),

    .. math:: \sum_{s \le t}[g_s(x_s)]_+ \le \frac{B_t}{w_0t^p}
        + \sum_{s<t}B_s\Big(\frac1{w_0s^p} - \frac1{w_0(s+1)^p}\Big)
        + G_g\sqrt{2B_t\textstyle\sum_{s \le t}1/\alpha_s}.

    Sums of powers are bounded by integrals. Comparators are feasible in every round.

    Proof. The step minimises a :math:`2\alpha_t`-strongly convex function, so for feasible u
    :math:`\langle\nabla_t, x_t - u\rangle + w_t[g_t(x_{t+1})]_+ \le G_f^2/(4\alpha_t)
    + \alpha_t(\|u - x_t\|^2 - \|u - x_{t+1}\|^2)`, where :math:`w_t \ge \gamma_tw_0t^p`; keeping
    half of :math:`\alpha_t\|x_{t+1} - x_t\|^2` on the left, the same with
    :math:`G_f^2/(2\alpha_t)`. Fixed: every round by itself, with
    :math:`\langle\nabla_t, x_t - u\rangle \ge -F`. Changing: sum, then
    :math:`[g_t(x_t)]_+ \le [g_t(x_{t+1})]_+ + G_g\|x_{t+1} - x_t\|`, Abel summation for the first
    and Cauchy-Schwarz for the second.

    Where constraints change, their linearisations
    :math:`\hat g_t(x) = g_t(x_t) + \langle s_t, x - x_t\rangle` may stand for them in the step:
    :math:`\hat g_t(u) \le g_t(u) \le 0` and :math:`\hat g_t(x_t) = g_t(x_t)` are all that is used.

    Args:
        constants: needs R, G_f, G_g; strong_convexity for strongly convex costs. Uses F and
            start_slack.
        strong: whether the costs are strongly convex.
        varies: whether the constraint changes from round to round.
        distance: D, of any action played to any feasible one; 2R unless a smaller one is known.
    """

    kind: ClassVar[Kind] = "hard"
    floor: ClassVar[float] = 1.0

    constants: Constants
    strong: bool = False
    varies: bool = False
    distance: float | None = None
    horizon: None = None

    def __post_init__(self) -> None:
        self.constants.require("R", "G_f", "G_g", by=self.name)
        if self.strong:
            self.constants.require("strong_convexity", by=self.name)

    @property
    def name(self) -> str:
        """The source and the case."""
        constraint = "changing constraints" if self.varies else "a fixed constraint"
        costs = ", strongly convex" if self.strong else ""
        return f"Guo et al. 2022, RECOO, {constraint}{costs}"

    @property
    def changing(self) -> bool:
        """Whether the constraint may differ from round to round."""
        return self.varies

    @property
    def regret_exponent(self) -> float:
        """The exponent 1/2, or 0 for strongly convex costs."""
        return 0.0 if self.strong else 0.5

    @property
    def violation_exponent(self) -> float:
        """The exponent 0 for a fixed constraint; 3/4, or 1/2 for strongly convex costs."""
        return 0.0 if not self.varies else 0.5 if self.strong else 0.75

    @property
    def power(self) -> float:
        """The power p of t in the weights of a move and of the penalty."""
        return 1.0 if self.strong else 0.5

    @property
    def growth(self) -> float:
        """The power q of t in the weight of a violation."""
        return 0.0 if self.varies else 1.5

    @property
    def _D(self) -> float:
        return 2 * self.constants.R if self.distance is None else self.distance

    @property
    def _slope(self) -> float:
        return self.constants.require("G_f", by=self.name)[0]

    @property
    def alpha(self) -> float:
        r"""The first weight of a move: :math:`\alpha_1 = G_f/(\sqrt2D)`, or :math:`\mu/2`."""
        if self.strong:
            return 0.5 * self.constants.require("strong_convexity", by=self.name)[0]
        return self._slope / (math.sqrt(2) * self._D)

    def regret_bound(self, t: Any) -> Array:
        """Return the bound of the table."""
        if self.strong:
            return self._slope**2 / (4 * self.alpha) * harmonic(t)
        return math.sqrt(2) * self._slope * self._D * np.sqrt(rounds(t))

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return the bound on the summed violations, and hence on the sum of g."""
        hard = self._changing_bound(t) if self.varies else self._fixed_bound(t)
        return {"soft": hard, "hard": hard}

    def _fixed_bound(self, t: Any) -> Array:
        p, q, a, G = self.power, self.growth, self.alpha, self._slope
        before = np.maximum(rounds(t) - 1, 1.0)
        total = (
            self._F * power_sum(before, p + q)
            + G**2 / (4 * a) * power_sum(before, 2 * p + q)
            + a * self._D**2 * power_sum(before, q)
        )
        slack = self.constants.start_slack
        (G_g,) = self.constants.require("G_g", by=self.name)
        first = G_g * self._D if slack is None else max(-slack, 0.0)
        return first + np.where(rounds(t) > 1, total / self.floor, 0.0)

    def _changing_bound(self, t: Any) -> Array:
        p, a, G, F, T = self.power, self.alpha, self._slope, self._F, rounds(t)
        (G_g,) = self.constants.require("G_g", by=self.name)
        moves = harmonic(T) if self.strong else power_sum(T, p)
        end = 0.0 if self.strong else a * T**p * self._D**2
        budget = F * T + G**2 / (2 * a) * moves + end
        if self.strong:
            # p = 1: the terms are F/s, and (1 + ln s)/s^2 whose sum over all s is below 2.59.
            by_parts = F * harmonic(T) + G**2 / (2 * a) * 2.59
        else:
            # p = 1/2: the terms are F/(2 sqrt s), G_f^2/(2 alpha s) and alpha D^2/(2 s).
            by_parts = 0.5 * F * power_sum(T, 0.5)
            by_parts = by_parts + (G**2 / (2 * a) + 0.5 * a * self._D**2) * harmonic(T)
        apart = G_g * np.sqrt(2 * budget * moves / a)
        return (budget / T**p + by_parts) / self.floor + apart
