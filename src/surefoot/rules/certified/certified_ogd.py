r"""Projected gradient descent that knows the feasible set through curvature bounds; Theorem C.

In the theorem, :math:`\alpha` is the start's slack, :math:`D_0` its largest distance to a feasible
point, :math:`L_T` the largest and :math:`S_T` the summed squared norm of the cost gradients, P the
length of a step, :math:`\nu^2 = \|s\|^2 - 2\beta g` the squared slope on the sphere of the
certified ball. docs/curvature.md has the proofs.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, flag, number, positive
from surefoot.core.types import Array, Needs, Number, Set
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.unknown import Estimated
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.estimate import EstimatedCurvature
from surefoot.knowledge.rows import CurvatureRows
from surefoot.proposers.descent import Descent
from surefoot.rules.certified.arguments import ROWS_NEED, curvature_knowledge
from surefoot.sets import Ball

__all__ = ["CertifiedOGD", "TheoremC"]


class CertifiedOGD(Certified):
    r"""Gradient descent whose steps are cut where the curvature no longer proves feasibility.

    .. math::
        1/\eta_t &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), 2\beta\|\nabla_t\|/\nu_t), \qquad
                    \nu_t^2 = \|s_t\|^2 - 2\beta g_t \\
        y_t      &= x_t - \eta_t\nabla_t \\
        x_{t+1}  &= y_t - \mu_ts_t, \quad \mu_t \ge 0 \text{ the least with }
                    g_t + s_t^\top(x_{t+1}-x_t) + \tfrac\beta2\|x_{t+1}-x_t\|^2 \le 0

    No G_g, no margin, no horizon, and a g that is not convex stays feasible too. With several
    constraints, all of which are seen, and with a known set, y is projected onto all half-spaces
    and the set together, each half-space moved by what the curvature adds over the step
    (:class:`surefoot.knowledge.CurvatureRows`).

    Args:
        knowledge: the curvature of one constraint, or of several, the known set, and the errors
            and drift to allow for.
        radius: R of the steps.
        eta: the largest step; None for steps that follow the gradients.
        ratchet: whether a step never grows again.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.knowledge import Curvature
        >>> player = CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)
        array([0.223607, 0.396424])
    """

    made_of: ClassVar[MadeOf] = (
        (Descent,),
        (Curvature, CurvatureRows, EstimatedCurvature),
    )
    declared_by: ClassVar[tuple[type, ...]] = (Descent, Parts)
    typical_needs: ClassVar[Needs] = ROWS_NEED

    def __init__(
        self,
        *,
        knowledge: Curvature | CurvatureRows | EstimatedCurvature,
        radius: float,
        eta: float | None = None,
        ratchet: bool = True,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        self.check_part("knowledge", knowledge)
        descent = Descent(radius=radius, eta=eta, ratchet=ratchet)
        super().__init__(proposer=descent, knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: TheoremC)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from a bound on the curvature of g: Theorem C.

        Args:
            constants: needs R, beta and start_slack; uses rows, the errors and the drift.
            horizon: unused; every tuning takes one.
            domain: a known convex set that contains every action; None for none.
        """
        checks.check_possible_horizon(horizon)
        theorem = TheoremC(constants)
        knowledge = curvature_knowledge(constants, domain, theorem.name)
        return Tuned(cls.of(Descent(radius=theorem.radius), knowledge), under_errors(theorem))

    @classmethod
    @tuning(
        listed=False,
        unsupported=dict.fromkeys(
            ("value_error", "slope_error", "drift", "context", "ramp"),
            "Theorem W is for exact readings of one g that does not change; give beta, as "
            "CertifiedOGD.default(Constants(beta=...)) takes it",
        )
        | {
            "start_slack": "Theorem W counts from what the start proves when it is read",
            "start_bound": "Theorem W counts from what the start proves when it is read",
            "largest_violation": "Theorem W bounds no single violation in advance; give beta, as "
            "CertifiedOGD.default(Constants(beta=...)) takes it",
            "largest_G_g": "it is largest_beta here, a bound on the curvature",
            "G_g": "LeaderFollower.unknown is for slopes",
        },
        theta=number(),
        violations=count(0),
        largest_beta=positive(),
        convex=flag(),
    )
    def unknown(
        cls,
        domain: Ball,
        *,
        theta: float = 2.0,
        violations: int | None = None,
        largest_beta: float | None = None,
        convex: bool = True,
    ) -> Tuned[Self]:
        """Few violations, counted, for one g whose curvature has no known bound: Theorem U.

        Args:
            domain: a ball that holds the feasible set.
            theta: the factor on the proved bound of beta.
            violations: how many rounds may violate at most; after the last nothing moves any
                more, unless ``largest_beta`` is known.
            largest_beta: an upper bound on beta, possibly far too large.
            convex: whether g is known to be convex.
        """
        knowledge = EstimatedCurvature(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_beta=largest_beta,
            convex=convex,
        )
        constants = Constants(R=knowledge.reach, beta=largest_beta, convex=convex)
        promise = Estimated(constants, theta, violations, constant="beta")
        return Tuned(cls.of(Descent(radius=float(domain.radius)), knowledge), promise)


class ByCurvature(StrictStart):
    """A theorem on rules that are certified by curvature."""

    needed: ClassVar[tuple[str, ...]] = ("R", "beta")

    @property
    def radius(self) -> float:
        """R, from which the rule chooses its steps."""
        return self.constants.R

    @property
    def rows(self) -> int:
        """How many constraints there are."""
        return int(self.constants.rows or 1)

    @property
    def slope_norm(self) -> float:
        r""":math:`\beta/\nu_*`."""
        (beta,) = self.constants.require("beta", by=self.name)
        return beta / least_slope(beta, self._slack, self.constants.reach)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f only for the regret bound; the horizon if one was used."""
        return self._and_rest(Premise("start", "the slack counted on", self._slack))


class TheoremC(ByCurvature):
    r"""Descent with cuts along the slope: feasible in every round, and the price is a constant.

    For :math:`1/\eta_t = \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2R), 2\beta\|\nabla_t\|/\nu_t)`, one
    constraint with curvature at most :math:`\beta`, and
    :math:`\nu_* = \min(\alpha/D_0, \sqrt{\beta\alpha})`:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le \max\Big\{\sqrt2R\sqrt{S_T}, \frac{4\beta R^2L_T}{\nu_*}\Big\}
          + \sqrt2R\sqrt{S_T} + 8.2\Big(\frac\beta{\nu_*}\Big)^2R^3L_T .

    That is the bound of projected descent and a constant that does not grow with T. With several
    rows the regret is bounded by what is observed (:class:`~surefoot.guarantees.ObservedRegret`),
    not in advance.

    Derived here; docs/curvature.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach, rows; G_f for an explicit regret
            bound.
    """

    name: ClassVar[str] = "Theorem C (certified by curvature)"
    observed_theorem: ClassVar[str] = "Theorem C (1)"
    advance_theorem: ClassVar[str] = "Theorem C (3)"
    horizon = None

    def regret_bound(self, t: Number) -> Array:
        """Return the explicit bound; what every rule has for several rows, inf without G_f."""
        T = np.asarray(t, dtype=np.float64)
        c = self.constants
        if c.G_f is None or self.rows > 1:
            return self._at_worst(t)
        R, steep = c.R, self.slope_norm
        usual = math.sqrt(2) * R * c.G_f * np.sqrt(T)
        return np.maximum(usual, 4 * steep * R**2 * c.G_f) + usual + 8.2 * steep**2 * R**3 * c.G_f

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2; None for several rows, and where G_f is not given."""
        return None if self.constants.G_f is None or self.rows > 1 else 0.5


def least_slope(beta: float, slack: float, reach: float) -> float:
    r"""Return :math:`\nu_* = \min(\alpha/D_0, \sqrt{\beta\alpha})`: no :math:`\nu_t` is below.

    Proof. With h = -g, convexity says :math:`\|s\|D_0 \ge \alpha - h`, so
    :math:`\nu^2 \ge ([\alpha-h]_+/D_0)^2 + 2\beta h`. Where :math:`\beta D_0^2 \le \alpha` that is
    least at :math:`\alpha - h = \beta D_0^2`, with the value
    :math:`2\beta\alpha - \beta^2D_0^2 \ge \beta\alpha`; else at h = 0, with
    :math:`(\alpha/D_0)^2`.

    Example:
        >>> least_slope(1.0, 0.25, 1.0)
        0.25
    """
    return min(slack / reach, math.sqrt(beta * slack)) if beta > 0 else slack / reach
