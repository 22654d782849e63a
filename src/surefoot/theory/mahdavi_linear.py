r"""The guarantee of the optimistic rule for linear constraints, at the rates of Mahdavi et al.

Notation as in :mod:`surefoot.theory.mahdavi`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._lagrangian import EachRow, rounds
from surefoot.theory.guarantee import ConstraintForm
from surefoot.theory.watching import Premise

__all__ = ["MahdaviLinearBalanced"]


@final
@dataclass(frozen=True)
class MahdaviLinearBalanced(EachRow):
    r"""Linear constraints :math:`Ax \le b`: regret and each sum :math:`O(T^{2/3})`.

    The rates are those of the paper's mirror-prox variant; its prediction step is not certain from
    memory, so the optimistic rule of :class:`surefoot.algorithms.MahdaviLinear` stands for it, and
    these bounds are derived here. With
    :math:`\eta = \min\{1/(\sqrt2\|A\|),\ (D_0/G_f)T^{-1/3}\}`, for every t

    .. math::
        \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \eta G_f^2 t, \qquad
        \Big\|\Big[\sum_{s \le t}(Ax_s - b)\Big]_+\Big\|
            \le \sqrt{\frac{2Ft}{\eta} + \frac{D_0^2}{\eta^2} + 2G_f^2 t}.

    Proof: write :math:`p_t = (x_t, \lambda_t)` for the predictions, :math:`q_t = (z_t, \mu_t)` for
    the centres, and hints :math:`M_t = (A^\top\mu_t, b - Az_t)` for the gradients
    :math:`h_t = (\nabla f_t(x_t) + A^\top\lambda_t, b - Ax_t)`. Two projections a round from the
    same centre give for every u of the set

    .. math::
        \langle h_t, p_t - u\rangle \le \frac{\|u - q_t\|^2 - \|u - q_{t+1}\|^2}{2\eta}
        + \frac{\eta}{2}\|h_t - M_t\|^2 - \frac{1}{2\eta}\|p_t - q_t\|^2,

    and :math:`\|h_t - M_t\|^2 \le 2G_f^2 + 2\|A\|^2\|\lambda_t - \mu_t\|^2
    + \|A\|^2\|x_t - z_t\|^2` is, but for its first term, covered by the last term above as
    :math:`2\eta^2\|A\|^2 \le 1`. For :math:`u = (x^*, \lambda)` the coupling cancels and the left
    side is at least :math:`f_t(x_t) - f_t(x^*) + \lambda^\top(Ax_t - b)`. Sum, with
    :math:`q_1 = (x_1, 0)`; :math:`\lambda = 0` gives regret, :math:`\lambda = \eta[S]_+` and
    :math:`\mathrm{Reg} \ge -Ft` the rest. No error depends on lambda, so nothing is regularised.

    Args:
        constants: needs R, G_f, G_g, rows; uses start_reach and F.
        horizon: T.
        operator_norm: an upper bound on :math:`\|A\|`, the largest singular value;
            :math:`\sqrt m\,G_g` unless known better.

    Example:
        >>> c = Constants(R=1.0, start_reach=1.0, G_f=2.0, G_g=1.0, rows=2)
        >>> bound = MahdaviLinearBalanced(c, 1000)
        >>> round(bound.eta, 12), round(float(bound.regret_bound(1000)), 9)
        (0.05, 210.0)
    """

    name: ClassVar[str] = "Mahdavi et al. 2012, linear constraints (derived)"
    regret_exponent: ClassVar[float] = 2 / 3
    violation_exponent: ClassVar[float] = 2 / 3
    constraint_form: ClassVar[ConstraintForm] = "linear"

    constants: Constants
    horizon: int
    operator_norm: float | None = None

    def __post_init__(self) -> None:
        checks.horizon(self.horizon)
        self.constants.require("G_f", "G_g", "rows", by=self.name)
        if self.operator_norm is not None:
            checks.positive(operator_norm=self.operator_norm)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\min\{1/(\sqrt2\|A\|),\ (D_0/G_f)T^{-1/3}\}`."""
        G_f, G_g = self.constants.require("G_f", "G_g", by=self.name)
        size = self.operator_norm
        if size is None:
            size = math.sqrt(self._m) * G_g
        return min(1 / (math.sqrt(2) * size), self._D_0 / (G_f * math.pow(self.horizon, 1 / 3)))

    def regret_bound(self, t: Any) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + \eta G_f^2 t`."""
        (G_f,) = self.constants.require("G_f", by=self.name)
        D_0 = self._D_0
        return D_0 / 2 * (D_0 / self.eta) + self.eta * G_f * (G_f * rounds(t))

    def _row_bound(self, t: Any) -> Array:
        r"""Return :math:`\sqrt{2(Ft + \mathrm{Reg})/\eta}`, which is the formula above."""
        F = self._F
        return np.sqrt(2 * (F * rounds(t) + self.regret_bound(t))) / math.sqrt(self.eta)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f and G_g, the horizon, and that the constraints are linear."""
        return (*super().premises, Premise("curvature", "the curvature of a linear g", 0.0))
