"""Velocities instead of projections (CVV-Pro), and their bounds (Kolev et al. 2023)."""

from typing import ClassVar, Self

import numpy as np

from surefoot.core.algorithm import EachConstraint, tuning
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, flag, positive
from surefoot.core.types import Array, Needs, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import Guarantee, Kind, Measure
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.states import RoundState
from surefoot.sets import Ball
from surefoot.sets._active_set import project_halfspaces

__all__ = ["CVVPro", "CVVProTheorem"]


class CVVPro(Declared, EachConstraint):
    r"""A step along the velocity nearest to the descent that reduces every violation.

    With the ball as row 0, :math:`g_0 = \tfrac12(\|x\|^2 - R^2)`, and I the rows with
    :math:`g_i(x_t) \ge 0`,

    .. math::
        v_t     &= \arg\min_v \tfrac12\|v + \nabla_t\|^2 \quad\text{such that}\quad
                   \nabla g_i(x_t)^\top v \le -\alpha g_i(x_t),\ i \in I \\
        x_{t+1} &= x_t + \frac{v_t}{\alpha\sqrt{t + 15}}.

    Actions may leave the ball by the factor 1.71 on the way. NumPy only.

    Args:
        alpha: how fast violations must fall, :math:`G_f/R` by the theorem.
        radius: R, of a ball around 0 that holds a point feasible in all rounds.

    Example:
        >>> from surefoot import Feedback
        >>> player = CVVPro(alpha=0.4, radius=5.0)
        >>> state = player.init(np.array([0.6, 0.1]))
        >>> seen = Feedback(np.array([-1.0, 0.3]), np.array([0.1]), np.array([[1.0, 0.0]]))
        >>> player.update(state, seen).x.round(9)
        array([ 0.575 , -0.0875])

    Reference: Kolev, Martius and Muehlebach, "Online learning under adversarial nonlinear
    constraints", NeurIPS 2023. Constants derived here; theirs are larger.
    """

    state = RoundState
    needs: ClassVar[Needs] = Needs(separately=True, work="m d", numpy_only=True, one_run=True)
    source: ClassVar[Source] = Source("Kolev, Martius and Muehlebach, NeurIPS 2023", "as published")

    alpha: Real = positive()
    radius: Real = positive()

    @property
    def domain(self) -> Ball:
        """The ball whose row bounds the distance of the actions."""
        return Ball(self.radius)

    def next_state(self, state: RoundState, gradient: Array, g: Array, s: Array) -> RoundState:
        x, t = state
        v = self._velocity(x, gradient, g, s)
        return RoundState(x + v / (self.alpha * (t + 15.0) ** 0.5), t + 1.0)

    def _velocity(self, x: Array, gradient: Array, g: Array, s: Array) -> Array:
        """Return the nearest velocity to -gradient that the violated rows allow."""
        ball = 0.5 * (float(x @ x) - self.radius * self.radius)
        values, slopes = np.append(g, ball), np.vstack([s, x])
        violated = values >= 0
        if not violated.any():
            return -gradient
        rows = slopes[violated]
        sizes = np.linalg.norm(rows, axis=1)
        if not (sizes > 0).all():
            raise InvalidValueError(
                "a violated constraint must have a gradient that is not 0: there is no feasible "
                "point"
            )
        # In units of length, so that rows of any scale are solved to the same accuracy.
        excess = (rows @ -gradient + self.alpha * values[violated]) / sizes
        if excess.max() <= 0:
            return -gradient
        scale = float(np.abs(excess).max())
        way = project_halfspaces(excess / scale, rows / sizes[:, None], 1e-12, 1e12)
        if way is None:
            raise InvalidValueError(
                "the violated constraints must have a common feasible point, got none that a "
                f"velocity leads to at {x!r}"
            )
        return -gradient + scale * way[0]

    @classmethod
    @tuning(lambda: CVVProTheorem)
    def tuned(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Violations that are bounded in sum, by velocity projections."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, CVVProTheorem(constants), domain)

    @classmethod
    @tuning(lambda: CVVProTheorem)
    def fixed(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Violations that are bounded in sum, for a smooth constraint."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, CVVProTheorem(constants, smooth=True), domain)


class CVVProTheorem(Guarantee):
    r"""Regret :math:`O(\sqrt T)`; violations :math:`O(1/\sqrt t)` where rows are smooth and fixed.

    With :math:`\alpha = G_f/R`, a start in the ball and a point of the ball that is feasible in all
    rounds,

    .. math:: \|x_t\| \le 2.71R, \qquad \mathrm{Reg}_t \le 29.1\,G_fR\sqrt{t + 15},

    and for rows that are :math:`\beta`-smooth and the same in every round

    .. math:: g_i(x_t) \le \frac{C}{\sqrt{t + 15}}, \qquad
        C = \max\{\tfrac87\cdot11.1\,\beta R^2,\ 4.86\,G_gR,\ 4[g_i(x_1)]_+\}.

    G_f and G_g must hold on the ball of radius 2.71 R. Where the constraints change quickly their
    violation may be linear: then nothing is promised.

    Proof. For the common feasible u, :math:`\alpha(u - x)` satisfies the rows, so
    :math:`\langle v + \nabla, \alpha(u - x) - v\rangle \ge 0`, and
    :math:`\langle v, v + \nabla\rangle \ge 0` by complementarity: with
    :math:`\eta_t = 1/(\alpha\sqrt{t+15})`, :math:`\langle\nabla, x - u\rangle \le
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
    needed: ClassVar[tuple[str, ...]] = ("G_f",)
    horizon = None

    smooth: bool = flag(default=False)

    @property
    def radius(self) -> float:
        """That of the ball, R."""
        return self.constants.R

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smooth:
            self.constants.require("G_g", "beta", by=self.name)

    @property
    def kind(self) -> Kind:
        """Bounded if beta is given; else nothing is claimed about the rows."""
        return "bounded" if self.smooth else "none"

    @property
    def changing(self) -> bool:
        """Whether the constraint may change; only if nothing is claimed about it."""
        return not self.smooth

    @property
    def violation_exponent(self) -> float | None:
        """The exponent -1/2 for the violation of a round, or None if nothing is claimed."""
        return -0.5 if self.smooth else None

    @property
    def alpha(self) -> float:
        """The rate :math:`G_f/R` of the velocities."""
        return self._G_f / self.constants.R

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`29.1\,G_fR\sqrt{t + 15}`."""
        return 29.1 * self._G_f * self.constants.R * np.sqrt(as_floats(t) + 15)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        r"""Return :math:`C/\sqrt{t + 15}` for every round where the rows are smooth."""
        if not self.smooth:
            return {}
        c = self.constants
        R, G_g, beta = c.require("R", "G_g", "beta", by=self.name)
        first = G_g * 2 * R if c.start_slack is None else max(-c.start_slack, 0.0)
        C = max(8 / 7 * 11.1 * beta * R**2, 4.86 * G_g * R, 4 * first)
        return {"round": C / np.sqrt(as_floats(t) + 15)}

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f, and G_g if violations are bounded."""
        cost = Premise("cost gradient", "G_f", self._G_f)
        if not self.smooth:
            return (cost,)
        return cost, Premise("constraint subgradient", "G_g", self._G_g)
