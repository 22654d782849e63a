"""Optimistic descent and ascent for linear constraints, at the rates of Mahdavi, Jin and Yang.

Notation of the theorem as in :mod:`surefoot.algorithms.related.mahdavi`.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import ConstraintForm, KnownHorizon, Premise, Tuned
from surefoot.algorithms.related.lagrangian import EachRow, Multiplying, positive_part
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, rows_dot
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source

__all__ = ["MahdaviLinear", "MahdaviLinearBalanced"]


class MahdaviLinearState(NamedTuple):
    """The action to play, a prediction; and what it was predicted from.

    Attributes:
        x: the next action.
        z: the centre of the actions.
        mu: the centre of the multipliers.
    """

    x: Array
    z: Array
    mu: Array


class MahdaviLinear(Multiplying[MahdaviLinearState]):
    r"""Descent and ascent that predict the part of the next gradient that the constraints make.

    For linear constraints :math:`Ax \le b` the coupling of actions and multipliers is known
    before the cost is, so both are predicted from the centres, the prediction is played, and the
    centres then move by what the round has shown:

    .. math::
        x_t       &= \Pi_{R\mathbb{B}}(z_t - \eta A^\top\mu_t), \qquad
        \lambda_t  = [\mu_t + \eta(Az_t - b)]_+ \\
        z_{t+1}   &= \Pi_{R\mathbb{B}}\big(z_t - \eta(\nabla f_t(x_t) + A^\top\lambda_t)\big),
        \qquad \mu_{t+1} = [\mu_t + \eta(Ax_t - b)]_+

    A and b are not given: the rows' subgradients at any action are A, the values at :math:`x_t` are
    :math:`Ax_t - b`, and so :math:`Az_t - b = g(x_t) + A(z_t - x_t)`. Nothing is asked for anywhere
    but at the action played. Predicting :math:`x_t` takes :math:`A^\top\mu_t`, known from any
    earlier round, and in the first round not needed: :math:`\mu_1 = 0` makes :math:`x_1 = z_1`.

    Args:
        eta: step size :math:`\eta > 0` of both.
        rows: m, the number of constraints.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = MahdaviLinear(eta=0.5, rows=1, domain=Ball(4.0))
        >>> first = player.init(np.array([1.0, -1.0]))  # x[0] - 3 x[1] <= 3
        >>> seen = Feedback(np.array([2.0, 0.5]), np.array([1.0]), np.array([[1.0, -3.0]]))
        >>> second = player.update(first, seen)  # lambda = mu = 0.5 (4 - 3)
        >>> second.z, second.mu
        (array([-0.25, -0.5 ]), array([0.5]))
        >>> second.x
        array([-0.5 ,  0.25])

    Reference: the setting and the rates are those of the mirror-prox variant of Mahdavi, Jin and
    Yang, JMLR 13, 2012. Its literal prediction step is not certain from memory: this rule is
    derived here to have the same rates, see :class:`surefoot.algorithms.MahdaviLinearBalanced`.
    """

    state = MahdaviLinearState
    source = Source("Mahdavi, Jin and Yang, JMLR 2012", "derived here")

    eta: Real = positive()
    domain: Region = projectable()

    def first_state(self, x1: Array) -> MahdaviLinearState:
        return MahdaviLinearState(x1, x1, self._zeros(x1))

    def next_state(
        self, state: MahdaviLinearState, grad: Array, g: Array, A: Array
    ) -> MahdaviLinearState:
        x, z, mu = state
        multipliers = positive_part(mu + self.eta * (g + rows_dot(A, z - x)))
        z = self.domain.project(z - self.eta * (grad + combine(multipliers, A)))
        mu = positive_part(mu + self.eta * g)
        return MahdaviLinearState(self.domain.project(z - self.eta * combine(mu, A)), z, mu)

    @classmethod
    @tuning(operator_norm=positive())
    def balanced(
        cls,
        constants: Constants,
        horizon: int,
        domain: Region | None = None,
        *,
        operator_norm: float | None = None,
    ) -> Tuned[Self]:
        r"""Tune for regret and the sum of each constraint O(T^(2/3)).

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: the ball around the feasible set; default: the ball of radius R.
            operator_norm: an upper bound on the largest singular value of A;
                :math:`\sqrt m\,G_g` unless known better.
        """
        return Tuned.of(cls, MahdaviLinearBalanced(constants, horizon, operator_norm), domain)


@final
class MahdaviLinearBalanced(KnownHorizon, EachRow):
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

    operator_norm: float | None = positive(default=None)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\min\{1/(\sqrt2\|A\|),\ (D_0/G_f)T^{-1/3}\}`."""
        size = self.operator_norm
        if size is None:
            size = math.sqrt(self.rows) * self._G_g
        usual = self._D_0 / (self._G_f * math.pow(self.horizon, 1 / 3))
        return min(1 / (math.sqrt(2) * size), usual)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + \eta G_f^2 t`."""
        D_0, G_f = self._D_0, self._G_f
        return D_0 / 2 * (D_0 / self.eta) + self.eta * G_f * (G_f * as_floats(t))

    def _row_bound(self, t: Number) -> Array:
        r"""Return :math:`\sqrt{2(Ft + \mathrm{Reg})/\eta}`, which is the formula above."""
        F = self._F
        return np.sqrt(2 * (F * as_floats(t) + self.regret_bound(t))) / math.sqrt(self.eta)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f and G_g, the horizon, and that the constraints are linear."""
        return (*super().premises, Premise("curvature", "the curvature of a linear g", 0.0))
