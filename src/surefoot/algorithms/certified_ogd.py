"""Projected gradient descent that knows the feasible set through curvature bounds."""

from __future__ import annotations

from surefoot.algorithms.certified import Certified, NameWithKnowledge
from surefoot.algorithms.descent import Descent
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import flag
from surefoot.core.types import Region as Set
from surefoot.core.types import Source
from surefoot.regions import Curvature, CurvatureRows, curvature_of
from surefoot.theory import TheoremC, Tuned, under_errors

__all__ = ["CertifiedOGD"]


class CertifiedOGD(NameWithKnowledge):
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
    (:class:`surefoot.regions.CurvatureRows`).

    The parameters are those of :class:`~surefoot.algorithms.Descent`, and ``knowledge``: the
    curvature of one constraint, or of several, the known set, and the errors and drift to allow
    for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)
        array([0.223607, 0.396424])
    """

    source = Source("Surefoot", "derived here")
    parts = (Descent, (Curvature, CurvatureRows))

    @classmethod
    @tuning(exact=flag())
    def default(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Set | None = None,
        *,
        exact: bool = False,
    ) -> Tuned[Certified]:
        r"""Tune by Theorem C, from the curvature of each constraint, R and the start; no horizon.

        Args:
            constants: the constants of the problem.
            horizon: not used.
            domain: the ball that holds the feasible set, or a known set in it.
            exact: whether several rows are projected onto by active sets.
        """
        theorem = TheoremC(constants, int(as_constants(constants).rows or 1))
        (R,) = constants.require("R", by=theorem.name)
        knowledge = curvature_of(constants, domain, exact=exact)
        return Tuned(cls.pair(knowledge=knowledge, radius=R), under_errors(theorem))
