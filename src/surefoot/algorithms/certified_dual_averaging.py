"""Dual averaging that knows the feasible set through the curvature of its constraints."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from surefoot.algorithms.certified import Certified, NameWithKnowledge, Proposer, Wish
from surefoot.algorithms.descent import square
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import maximum, norm, number_like, sqrt, where
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Feedback, Number, Source
from surefoot.core.types import Region as Set
from surefoot.regions import (
    Curvature,
    CurvatureRows,
    Knowledge,
    Projection,
    Region,
    curvature_of,
)
from surefoot.theory import ObservedAveraging, TheoremK, Tuned, under_errors

__all__ = ["Averaging", "AveragingNote", "AveragingState", "CertifiedDualAveraging"]

_ROOT_HALF = math.sqrt(0.5)


class AveragingState(NamedTuple):
    """What the next far point needs.

    Attributes:
        start: the first action.
        gradients: theta, the sum of the cost gradients, less what was pruned.
        inverse_eta: 1/eta of the last step; 0 before the first gradient.
        squares: the sum of the squared norms of the cost gradients.
        weights: the multipliers of the last projection.
    """

    start: Array
    gradients: Array
    inverse_eta: Number
    squares: Number
    weights: Number


class AveragingNote(NamedTuple):
    """What the bound on the regret wants to know of a step.

    Attributes:
        x: the action that was played.
        gradient: the cost gradient.
        inverse_eta: 1/eta of the step.
        kept: the way from the last action to the last far point, as pruned.
        share: the share of the way to this far point that was pruned.
        radius: R.
        found: the certified action nearest to the far point, with its multipliers.
    """

    x: Array
    gradient: Array
    inverse_eta: Number
    kept: Array
    share: Number
    radius: Number
    found: Projection


class Averaging(Proposer):
    r"""Dual averaging whose far point is projected directly onto what is certainly feasible.

    Args:
        radius: R, the radius of a ball that contains the feasible set.
        scale: c.
        far: F; None leaves out the pruning.
        eta: a fixed step instead of :math:`cR/\sqrt{S_t}`.
    """

    radius: Number = positive()
    scale: Number = positive(default=_ROOT_HALF)
    far: Number | None = positive(default=None)
    eta: Number | None = positive(default=None)

    def init(self, x1: Array) -> AveragingState:
        """Start with nothing learnt."""
        zero = number_like(x1, 0.0)
        return AveragingState(x1, 0.0 * x1, zero, zero, zero)

    def propose(
        self, learner: AveragingState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[AveragingState, Wish]:
        """Return the certified action nearest to the far point."""
        start, gradients, last, squares, weights = learner
        grad = 0.0 * x
        if feedback.cost_gradient is not None:
            grad = checks.cost_gradient(x, feedback)
        kept = start - gradients / where(last > 0, last, math.inf) - x
        gradients, squares = gradients + grad, squares + square(grad)[0]
        if self.eta is None:
            inverse = sqrt(squares) / (self.scale * self.radius)
        else:
            inverse = where(squares > 0, 1 / self.eta, 0.0 * squares)
        wanted = start - gradients / where(inverse > 0, inverse, math.inf)
        found = region.find_nearest(wanted, weights)
        share = 0.0 * squares
        if self.far is not None:
            n = wanted - found.point
            length, limit = norm(n), self.far * self.radius
            share = maximum(1.0 - limit / where(length > 0, length, 1.0), 0.0 * length)
            share = where(length > limit, share, 0.0 * length)
            gradients = gradients + (share * inverse) * n
        note = AveragingNote(x, grad, inverse, kept, share, self.radius, found)
        state = AveragingState(start, gradients, inverse, squares, found.weights)
        return state, Wish(found.point, note, wanted=wanted)

    def observer(self, knowledge: Knowledge) -> ObservedAveraging | None:
        """Return Theorem K's sums; None for regions that have no multipliers."""
        curved = isinstance(knowledge, (Curvature, CurvatureRows))
        return ObservedAveraging() if curved else None


class CertifiedDualAveraging(NameWithKnowledge):
    r"""Dual averaging whose far point is projected directly onto what is certainly feasible.

    .. math::
        \eta_t   &= cR/\sqrt{S_t}, \qquad y_t = x_1 - \eta_t\theta_t, \qquad
                    \theta_t = \theta_{t-1} + \nabla_t \\
        x_{t+1}  &= \Pi\{p : g_i + s_i^\top(p-x_t) + \tfrac{\beta_i}2\|p-x_t\|^2 \le 0\ \forall i\}
                    (y_t) \\
        \theta_t &\leftarrow (x_1 - x_{t+1} - FR\,n/\|n\|)/\eta_t
                    \quad\text{where } \|n\| > FR,\ n = y_t - x_{t+1}

    With the sum of the gradients fixed, x goes to the projection of y onto the feasible set. On
    costs that do not change much the regret is close to that of dual averaging that knows the set.
    The last line, pruning, forgets what has no effect: costs that change are followed sooner, and
    the regret is proved to be of the order :math:`\sqrt T` (Theorem K).

    The parameters are those of :class:`~surefoot.algorithms.Averaging`, and ``knowledge``: the
    curvature of one constraint, or of several, the known set, and the errors and drift to allow
    for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # from (0, 0.7) to the ball around (0, -1)
        array([0.      , 0.414214])
    """

    source = Source("Surefoot", "derived here")
    parts = (Averaging, (Curvature, CurvatureRows))

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune for costs that change little: adaptive steps, no pruning, no horizon."""
        theorem = TheoremK(constants, int(as_constants(constants).rows or 1))
        return cls._with(theorem, domain, scale=_ROOT_HALF)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune for changing costs: adaptive steps, the far point within R/3 of the action."""
        theorem = TheoremK(constants, int(as_constants(constants).rows or 1), far=0.3)
        return cls._with(theorem, domain, scale=math.sqrt(2.0))

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune with the fixed step of Theorem K, the far point within R/3 of the action."""
        rows = int(as_constants(constants).rows or 1)
        theorem = TheoremK(constants, rows, far=0.3, horizon=horizon)
        return cls._with(theorem, domain, scale=_ROOT_HALF)

    @classmethod
    def _with(cls, theorem: TheoremK, domain: Set | None, **parameters: Any) -> Tuned[Certified]:
        (R,) = theorem.constants.require("R", by=theorem.name)
        knowledge = curvature_of(theorem.constants, domain)
        parameters |= {"radius": R, "far": theorem.far, "eta": theorem.eta}
        return Tuned(cls.pair(knowledge=knowledge, **parameters), under_errors(theorem))
