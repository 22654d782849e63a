"""Dual averaging that knows the feasible set through the curvature of its constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms._curved import (
    Curved,
    CurvedStep,
    curvature_of,
    finite_square,
)
from surefoot.core import checks
from surefoot.core.arrays import maximum, norm, number_like, owned, sqrt, where
from surefoot.core.constants import Constants, as_constants
from surefoot.core.types import Array, Feedback, Number, Region, Source
from surefoot.regions import (
    Curvature,
    CurvatureRegion,
    CurvatureRows,
    Found,
    RowsRegion,
)
from surefoot.theory import ObservedAveraging, TheoremK, Tuned, under_errors

__all__ = ["AveragingStep", "CertifiedDualAveraging", "CertifiedDualAveragingState"]

_ROOT_HALF = math.sqrt(0.5)


class CertifiedDualAveragingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action.
        seen: what the certified region remembers.
        gradients: theta, the sum of the cost gradients, less what was pruned.
        inverse_eta: 1/eta of the last step; 0 before the first gradient.
        squares: the sum of the squared norms of the cost gradients.
        weights: the multipliers of the last projection.
    """

    x: Array
    start: Array
    seen: Any
    gradients: Array
    inverse_eta: Number
    squares: Number
    weights: Number


class _Averaging(NamedTuple):
    region: CurvatureRegion | RowsRegion
    rounds: Number
    wanted: Array
    found: Found
    gradient: Array
    inverse_eta: Number
    kept: Array
    share: Number
    radius: Number


class AveragingStep(CurvedStep, _Averaging):
    """What a step knew; nothing is computed until a property is read.

    Attributes:
        region: the certified region of the round.
        rounds: how many rounds had been played before.
        wanted: the far point.
        found: the certified action nearest to it.
        gradient: the cost gradient.
        inverse_eta: 1/eta of the step.
        kept: the way from the last action to the last far point, as pruned.
        share: the share of the way to this far point that was pruned.
        radius: R, of a ball that contains the feasible set.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedDualAveraging(Curved[CertifiedDualAveragingState]):
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

    Args:
        known: the curvature of one constraint, or of several, the known set, and the errors and
            drift to allow for.
        radius: R, the radius of a ball that contains the feasible set.
        scale: c.
        far: F; None leaves out the last line.
        eta: a fixed step instead of :math:`cR/\sqrt{S_t}`.

    Example:
        >>> import numpy as np
        >>> player = CertifiedDualAveraging(known=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # from (0, 0.7) to the ball around (0, -1)
        array([0.      , 0.414214])
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    tunings: ClassVar[tuple[str, ...]] = ("default", "changing", "known_horizon")

    known: Curvature | CurvatureRows
    radius: Number
    scale: Number = _ROOT_HALF
    far: Number | None = None
    eta: Number | None = None

    def __post_init__(self) -> None:
        self._check_known()
        checks.positive(scale=self.scale)
        checks.plain(self, "scale")
        for name in ("far", "eta"):
            if getattr(self, name) is not None:
                checks.positive(**{name: getattr(self, name)})
                checks.plain(self, name)

    def init(self, x1: Array) -> CertifiedDualAveragingState:
        """Start at x1, strictly feasible; its slack comes with the first feedback."""
        x1 = checks.action(x1)
        zero, seen = number_like(x1, 0.0), self.known.init(x1)
        return CertifiedDualAveragingState(x1, x1, seen, 0.0 * x1, zero, zero, 0.0 * seen.g)

    def step(
        self,
        state: CertifiedDualAveragingState,
        feedback: Feedback,
        within: Region | None = None,
    ) -> tuple[CertifiedDualAveragingState, AveragingStep]:
        """Return the state after a round and what the step knew.

        Args:
            state: the last one.
            feedback: what was seen at its action.
            within: a set that was announced for the next round, which holds the next action.
        """
        x, start, seen, gradients, last, squares, weights = state
        grad, after, region = self._see(x, seen, feedback, within)
        kept = start - gradients / where(last > 0, last, math.inf) - x
        gradients, squares = gradients + grad, squares + finite_square(grad)
        if self.eta is None:
            inverse = sqrt(squares) / (self.scale * self.radius)
        else:
            inverse = where(squares > 0, 1 / self.eta, 0.0 * squares)
        wanted = start - gradients / where(inverse > 0, inverse, math.inf)
        found = region.nearest_from(wanted, weights)
        share = 0.0 * squares
        if self.far is not None:
            n = wanted - found.point
            length, limit = norm(n), self.far * self.radius
            share = maximum(1.0 - limit / where(length > 0, length, 1.0), 0.0 * length)
            share = where(length > limit, share, 0.0 * length)
            gradients = gradients + (share * inverse) * n
        new = CertifiedDualAveragingState(
            owned(found.point), start, after, gradients, inverse, squares, found.weights
        )
        info = AveragingStep(
            region, seen.rounds, wanted, found, grad, inverse, kept, share, self.radius
        )
        return new, info

    def observer(self) -> ObservedAveraging:
        """Return Theorem K's sums."""
        return ObservedAveraging()

    @classmethod
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Region | None = None
    ) -> Tuned[CertifiedDualAveraging]:
        """Tune for costs that change little: adaptive steps, no pruning, no horizon."""
        theorem = TheoremK(constants, int(as_constants(constants).rows or 1))
        return cls._with(theorem, domain, scale=_ROOT_HALF)

    @classmethod
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Region | None = None
    ) -> Tuned[CertifiedDualAveraging]:
        """Tune for changing costs: adaptive steps, the far point within R/3 of the action."""
        theorem = TheoremK(constants, int(as_constants(constants).rows or 1), far=0.3)
        return cls._with(theorem, domain, scale=math.sqrt(2.0))

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[CertifiedDualAveraging]:
        """Tune with the fixed step of Theorem K, the far point within R/3 of the action."""
        rows = int(as_constants(constants).rows or 1)
        theorem = TheoremK(constants, rows, far=0.3, horizon=horizon)
        return cls._with(theorem, domain, scale=_ROOT_HALF)

    @classmethod
    def _with(
        cls, theorem: TheoremK, domain: Region | None, *, scale: float
    ) -> Tuned[CertifiedDualAveraging]:
        (R,) = theorem.constants.require("R", by=theorem.name)
        known = curvature_of(theorem.constants, domain)
        player = cls(known=known, radius=R, scale=scale, far=theorem.far, eta=theorem.eta)
        return Tuned(player, under_errors(theorem))
