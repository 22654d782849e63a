r"""Gradient steps into the ball that curvature certifies: limits and costs that are not convex.

In the theorem, L bounds the curvature of every cost and F the norm of its gradients on the feasible
set X, :math:`\Delta` is the most that the first cost can fall on X, and
:math:`\nu_* > 0` has :math:`\|s\|^2 + 2\beta|g| \ge \nu_*^2` on X: no slope is 0 on the boundary.
"""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Needs, Number, Set, Source
from surefoot.guarantees.bounds import StrictStart, as_floats
from surefoot.guarantees.guarantee import ConstraintForm
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.rows import CurvatureRows
from surefoot.proposers.gradient_steps import GradientSteps
from surefoot.rules.certified.arguments import ROWS_NEED, curvature_knowledge

__all__ = ["MovingBalls", "Stationarity"]


class MovingBalls(Certified):
    r"""A gradient step, taken to the nearest point that curvature certifies.

    .. math::
        x_{t+1} = \text{the point of } \{p : g_t + s_t^\top(p - x_t)
                  + \tfrac\beta2\|p-x_t\|^2 \le 0\} \text{ nearest to } x_t - \eta\nabla_t

    Neither g nor the costs need be convex: every action is feasible, and the actions come to where
    no direction that keeps the limit lowers the cost (:class:`Stationarity`). A concave limit (a
    least level, a pressure, an over-voltage) has :math:`\beta = 0`: its tangent certifies.

    Args:
        knowledge: the curvature of one constraint, or of several, a known set, and the errors and
            drift to allow for.
        eta: the step size.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> from surefoot import Feedback
        >>> from surefoot.knowledge import Curvature
        >>> known = Curvature(beta=2.0, reach=1.0, convex=False)
        >>> player = MovingBalls(knowledge=known, eta=1.0)
        >>> state = player.init(np.array([0.5]))  # g(x) = x^2 - 1
        >>> player.update(state, Feedback(np.array([-1.0]), -0.75, np.array([1.0]))).x.round(6)
        array([1.])

    Reference: the moving balls of Auslender, Shefi and Teboulle, SIAM J. Optim. 2010, with a step.
    """

    source: ClassVar[Source] = Source(
        "Auslender, Shefi and Teboulle, SIAM J. Optim. 2010", "from memory"
    )
    made_of: ClassVar[MadeOf] = ((GradientSteps,), (Curvature, CurvatureRows))
    declared_by: ClassVar[tuple[type, ...]] = (GradientSteps, Parts)
    typical_needs: ClassVar[Needs] = ROWS_NEED

    def __init__(
        self,
        *,
        knowledge: Curvature | CurvatureRows,
        eta: float,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        self.check_part("knowledge", knowledge)
        super().__init__(proposer=GradientSteps(eta=eta), knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: Stationarity, listed=False)
    def default(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Set | None = None,
        *,
        cost_curvature: float,
        least_slope: float | None = None,
    ) -> Tuned[Self]:
        r"""Feasible in every round with steps that die out; nothing need be convex.

        Args:
            constants: needs beta and start_slack; uses R, rows, the errors and the drift.
            horizon: unused; every tuning takes one.
            domain: a known convex set that contains every action; None for none.
            cost_curvature: L, a bound on the curvature of every cost.
            least_slope: :math:`\nu_*` of the theorem, where it is known.
        """
        checks.check_possible_horizon(horizon)
        theorem = Stationarity(constants, cost_curvature, least_slope)
        knowledge = curvature_knowledge(constants, domain, theorem.name)
        return Tuned(cls.of(GradientSteps(eta=theorem.eta), knowledge), under_errors(theorem))


class FromCurvature(StrictStart):
    """A promise that assumes a smoothness constant and the start; nothing need be convex."""

    needed: ClassVar[tuple[str, ...]] = ("beta",)
    constraint_form: ClassVar[ConstraintForm] = "any"
    horizon = None

    @property
    def beta(self) -> float:
        """The curvature of the constraints."""
        return self.constants.require("beta", by=self.name)[0]

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; feasibility assumes nothing else that can be observed."""
        return (Premise("start", "the slack counted on", self._slack),)


class Stationarity(FromCurvature):
    r"""Moving balls: feasible in every round, and the steps die out; nothing need be convex.

    With :math:`d_t = x_{t+1} - x_t` and :math:`\eta = 1/L`, for one cost f,

    .. math:: \frac1T\sum_t\|d_t\|^2 \le \frac{2\Delta}{LT} ,

    and for one constraint without a known set there are multipliers
    :math:`0 \le \mu_t \le F/\nu_*` with

    .. math::
        \frac1T\sum_t\|\nabla f(x_t) + \mu_ts_t\|^2
            &\le \Big(L + \frac{\beta F}{\nu_*}\Big)^2\frac{2\Delta}{LT}, \\
        \mu_t|g_t| &\le \frac F{\nu_*}\Big(\|s_t\|\|d_t\| + \tfrac\beta2\|d_t\|^2\Big) .

    For costs that change, :math:`\Delta` grows by :math:`2V_T`,
    :math:`V_T = \sum_{t\ge2}\sup_X|f_t - f_{t-1}|`. Readings are exact and g is fixed: under errors
    the first line stands, under drift feasibility alone.

    *Proof.* Feasible: :mod:`surefoot.knowledge.curvature`, where convexity is not used. The set
    :math:`\{U_t \le 0\}` is convex and holds :math:`x_t`, so with :math:`y = x_t - \eta\nabla f`
    the nearest point has :math:`(y-x_{t+1})^\top(x_t-x_{t+1}) \le 0`, which says
    :math:`\nabla f^\top d_t \le -\|d_t\|^2/\eta`. The way from :math:`x_t` to :math:`x_{t+1}` is in
    X, where f curves by at most L: :math:`f(x_{t+1}) \le f(x_t) - (1/\eta - L/2)\|d_t\|^2`. Add up;
    where costs change, :math:`f_{t+1}(x_{t+1}) - f_t(x_{t+1})` is a part of :math:`V_T`, and the
    last cost falls below the first by at most :math:`V_T`. That is the first line, for every convex
    region that holds :math:`x_t`. For one constraint
    :math:`y - x_{t+1} = \eta\mu_t(s_t + \beta d_t)`, that is
    :math:`\nabla f + \mu_ts_t = -(1/\eta + \mu_t\beta)d_t`. Where :math:`\mu_t > 0`,
    :math:`U_t(x_{t+1}) = 0`: then :math:`|g_t| \le \|s_t\|\|d_t\| + \frac\beta2\|d_t\|^2`, and
    :math:`\|s_t + \beta d_t\|^2 = \|s_t\|^2 - 2\beta g_t \ge \nu_*^2`; so
    :math:`\mu_t\nu_* \le \|y-x_{t+1}\|/\eta \le \|y-x_t\|/\eta \le F`. ∎

    Args:
        constants: needs R, beta and start_slack; uses F as :math:`\Delta`, and G_f as F.
        cost_curvature: L.
        least_slope: :math:`\nu_*`; without it only the steps are bounded.

    Example:
        >>> from surefoot import Constants
        >>> known = Constants(R=1.0, F=3.0, G_f=2.0, beta=2.0, start_slack=0.5, convex=False)
        >>> promise = Stationarity(known, 4.0, 1.0)
        >>> promise.multiplier_bound, float(promise.step_bound(100))
        (2.0, 0.015)
        >>> round(float(promise.residual_bound(100)), 6)
        0.96
    """

    name: ClassVar[str] = "Stationarity (moving balls)"
    needed: ClassVar[tuple[str, ...]] = ("R",)

    cost_curvature: float = positive()
    least_slope: float | None = positive(default=None)

    @property
    def eta(self) -> float:
        """The step size, 1/L."""
        return 1 / self.cost_curvature

    @property
    def multiplier_bound(self) -> float:
        r"""An upper bound on every multiplier, :math:`F/\nu_*`; inf if one of them is unknown."""
        G_f = self.constants.G_f
        return np.inf if G_f is None or self.least_slope is None else G_f / self.least_slope

    def step_bound(self, t: Number, variation: Number = 0.0) -> Array:
        """Return what the mean squared step of t rounds does not exceed.

        Args:
            t: a number of rounds, or an array of them.
            variation: V, by how much the costs change in all these rounds.
        """
        fall = np.inf if self.constants.F is None else self.constants.F
        return 2 * (fall + 2 * variation) / (self.cost_curvature * as_floats(t))

    def residual_bound(self, t: Number, variation: Number = 0.0) -> Array:
        """Return what the mean squared residual of t rounds does not exceed, as above."""
        curved = self.beta * self.multiplier_bound if self.beta > 0 else 0.0
        return (self.cost_curvature + curved) ** 2 * self.step_bound(t, variation)
