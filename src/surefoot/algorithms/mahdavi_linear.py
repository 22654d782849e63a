"""Optimistic descent and ascent for linear constraints, at the rates of Mahdavi, Jin and Yang."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import Multiplying, positive_part
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import combine, rows_dot
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, positive, projectable
from surefoot.core.types import Array, Real, Region, Source
from surefoot.theory import MahdaviLinearBalanced, Tuned

__all__ = ["MahdaviLinear", "MahdaviLinearState"]


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
    derived here to have the same rates, see :class:`surefoot.theory.MahdaviLinearBalanced`.
    """

    state = MahdaviLinearState
    source = Source("Mahdavi, Jin and Yang, JMLR 2012", "derived here")

    eta: Real = positive()
    rows: int = count()
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
        theorem = MahdaviLinearBalanced(constants, horizon, operator_norm)
        (rows,) = constants.require("rows", by=theorem.name)
        return Tuned.of(cls, theorem, domain, "eta", rows=int(rows))
