r"""What a bound on the curvature certifies: a ball whose sphere touches the limit along the slope.

If g curves upwards by at most :math:`\beta` on the feasible set X, then for x, p in X

.. math:: g(p) \le U(p) = g(x) + s^\top(p-x) + \tfrac\beta2\|p-x\|^2 .

*Every p with* :math:`U(p) \le 0` *is feasible if* :math:`g(x) < 0`: were g(p) > 0, the segment
from x to p would leave X first at a q with :math:`g(q) = 0`, :math:`q = x + \lambda(p-x)`,
:math:`0 < \lambda < 1`; U is convex, so
:math:`0 = g(q) \le U(q) \le (1-\lambda)g(x) + \lambda U(p) < 0`. Neither the convexity of g nor
anything outside of X is used. With :math:`\beta = 0` the region is a half-space, and exact for an
affine g; else the ball with centre :math:`x - s/\beta` and radius :math:`\nu/\beta`,
:math:`\nu^2 = \|s\|^2 - 2\beta g(x)`. Nothing here divides by :math:`\beta`, so no curvature is
too small.

**The maximum of smooth functions is not smooth.** A curvature means nothing if only the largest of
several constraints is seen: see all of them (:class:`surefoot.regions.Rows`).

Rounding. With u = 2^-53, n the dimension, M the largest norm of a feasible point, and

.. math:: e = 4\delta + 32(n+8)u\,(|g| + \|s\|M + \beta M^2),

points are sought with :math:`U + e \le 0` and returned only if the computed :math:`U + e/2 \le 0`.
The computed U is off by at most :math:`(2n+18)u(|g| + \|s\|M + \beta M^2)`: p - x is rounded once
per entry, its products with s and itself n times, the sum of three terms three times. Twice the
error of an observed g, and 2M times that of s, fit in the rest of e/2 if they are rounding and at
most :math:`12(n+8)u(\ldots)` together: so the true g(p) and the one that will be computed are at
most 0, whatever way the point was found.

Errors and drift. With :math:`|\hat g - g| \le \nu`, :math:`\|\hat s - s\| \le \tau` and a drift of
v per round, the bound on the next g is

.. math:: U(p) = \hat g + \nu + v + \hat s^\top(p-x) + \tau\|p-x\| + \tfrac\beta2\|p-x\|^2,

with the bound that was certified before x was played instead of :math:`\hat g + \nu` where that is
smaller. For a fixed g the action that was played stays certified, whatever was read there. Under
drift it may not, and the nearest point with U = 0 is taken; where there is none
:class:`surefoot.regions.EmptyRegionError` is raised, and a run of a batch becomes NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefoot.core import checks
from surefoot.core.arrays import dot, minimum, number_like, raised, record, sqrt, to_numpy, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number
from surefoot.regions._anchor import DriftAnchor
from surefoot.regions._ball import curvature_margin, kept
from surefoot.regions._curvature_region import CurvatureMemory, CurvatureRegion
from surefoot.regions._errors import Errors, check_errors, error_of

__all__ = ["Curvature", "CurvatureConstants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvatureConstants:
    """The constants of a g with a bound on its curvature; :class:`Curvature` says what they are."""

    beta: Number
    reach: Number
    evaluation_error: Number | None = None
    value_error: Number | None = None
    slope_error: Number | None = None
    drift: Number | None = None

    def __post_init__(self) -> None:
        checks.nonnegative(beta=self.beta)
        checks.positive(reach=self.reach)
        checks.plain(self, "beta", "reach")
        if self.evaluation_error is not None:
            checks.nonnegative(evaluation_error=self.evaluation_error)
            checks.plain(self, "evaluation_error")
        check_errors(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curvature(CurvatureConstants):
    r"""Knowledge that g curves upwards by at most :math:`\beta` on the feasible set.

    For a twice differentiable g this says that no eigenvalue of its Hessian is above
    :math:`\beta`. Convexity is not needed for safety.

    Args:
        beta: :math:`\beta \ge 0`; 0 for an affine g. Too large is safe, and costs little.
        reach: M, the largest norm of a feasible point, which rounding scales with.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the distance of an observed slope to the true one.
        drift: bound on the change of g, at any point, from one round to the next.

    Example:
        >>> import numpy as np
        >>> known = Curvature(beta=1.0, reach=1.0)
        >>> x = np.zeros(2)
        >>> memory, region = known.see(known.init(x), x, -0.5, np.array([0.0, 1.0]))
        >>> p = region.nearest(np.array([0.0, 4.0]))
        >>> p.round(6)  # the ball around (0, -1) with radius sqrt 2
        array([0.      , 0.414214])
        >>> print(region.certificate(p, 1))
        round 1: g = -0.5 was seen, and its curvature is at most 1: -0.5 + (0.414) along the slope
        + 0.0858 for the 0.414 moved; the next g is at most -...
    """

    @classmethod
    def trusted(cls, beta: Number, reach: Number) -> Curvature:
        """Return knowledge for constants that were checked before, without errors or drift."""
        made = object.__new__(cls)
        for name in ("evaluation_error", "value_error", "slope_error", "drift"):
            object.__setattr__(made, name, None)
        object.__setattr__(made, "beta", beta)
        object.__setattr__(made, "reach", reach)
        return made

    def init(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        anchor = None if self.drift is None else DriftAnchor(x1, zero, zero)
        return CurvatureMemory(zero, x1, zero, 0.0 * x1, zero, anchor)

    def see(
        self,
        memory: CurvatureMemory,
        x: Array,
        g: Number,
        s: Array,
        value_error: Number | None = None,
    ) -> tuple[CurvatureMemory, CurvatureRegion]:
        """Return the memory with the round added, and the region for the next action."""
        g, errors = kept(g), error_of(self, value_error)
        upper = low = g
        if errors is not None:
            upper, low = self._bounds(memory, x, g, errors)
        rounds = memory.rounds + 1.0
        after = record(CurvatureMemory, (rounds, x, upper, kept(s), low, None))
        region = self.region(after, memory, errors)
        if memory.anchor is not None:
            anchor = memory.anchor.or_deeper(x, upper + region.margin, rounds, self.drift)
            after = after._replace(anchor=anchor)
            region = region._replace(anchor=anchor.aged(rounds + 1.0, self.drift))
        if type(g) is float:
            if not math.isfinite(g):
                raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
            if not region.squared < math.inf:
                checks.refuse_unfinite(to_numpy(s), "constraint_subgradient")
                raise InvalidValueError("constraint_subgradient must have a finite square")
            if memory.rounds == 0.0 and not upper + region.margin < 0.0:
                raise InvalidValueError(
                    "the start must be strictly feasible, by more than the error of g, "
                    f"got g(x_1) = {g:g}"
                )
            return after, region
        # A run of a batch cannot be refused: it becomes NaN, which the game reports.
        lost = (memory.rounds == 0) & (upper + region.margin >= 0) | ~(abs(g) < math.inf)
        return after, region._replace(x=where(lost, math.nan, x))

    def _bounds(
        self, memory: CurvatureMemory, x: Array, g: Number, errors: Errors
    ) -> tuple[Number, Number]:
        """Return the bounds on g at the action played: the reading's, and what was certified."""
        before = self.region(memory, memory, errors).bound(x)
        certified = (memory.rounds > 0) & (before <= 0)
        upper = g + errors.value
        return where(certified, minimum(upper, before), upper), g - errors.value

    def region(
        self,
        memory: CurvatureMemory,
        before: CurvatureMemory,
        errors: Errors | None = None,
        age: Number = 1.0,
    ) -> CurvatureRegion:
        """Return the region that a memory stands for, for a round so much later."""
        _, x, g, s, low, _ = memory
        squared = dot(s, s)
        margin = curvature_margin(
            g, sqrt(squared), self.beta, self.reach, x.shape[-1], self.evaluation_error
        )
        if self.drift is not None:
            g = raised(g + raised(age * self.drift))
        return record(CurvatureRegion, (self, x, g, s, squared, margin, before, low, errors, None))
