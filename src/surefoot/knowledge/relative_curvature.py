r"""Certificates for a curvature that grows with the gradient: exponentials, polynomials.

If g is twice differentiable with :math:`\|\nabla^2g\| \le L_0 + L_1\|\nabla g\|` on the feasible
set X, then for every x in X with :math:`s = \nabla g(x)`, *every p within* :math:`1/L_1` *of x
with*

.. math:: U(p) = g(x) + s^\top(p-x) + \tfrac{\beta_x}2\|p-x\|^2 \le 0, \qquad
          \beta_x = 2(e-2)(L_0 + L_1\|s\|) ,

*is feasible if* :math:`g(x) < 0`. *g need not be convex, and no bound on its curvature is known.*

*Proof.* Let d be a unit vector and :math:`u(t) = \|\nabla g(x+td) - s\|`. As long as the way is in
X, :math:`u' \le L_0 + L_1(\|s\| + u)`, so :math:`u \le (L_0/L_1 + \|s\|)(e^{L_1t} - 1)`. Integrate:
with :math:`r = L_1t \le 1`,

.. math:: g(x+td) \le g(x) + ts^\top d + (L_0 + L_1\|s\|)\frac{e^r - 1 - r}{L_1^2}
          \le U(x + td),

because :math:`(e^r - 1 - r)/r^2` rises to e - 2 at r = 1. Were g(p) > 0, the way from x to p would
leave X first at a q with g(q) = 0, and :math:`0 = g(q) \le U(q) < 0`, as U is convex, below 0 at x
and at most 0 at p. ∎

The region is that ball (:mod:`surefoot.knowledge.curvature`), in the ball of radius :math:`1/L_1`
around x. Errors of values and slopes are allowed for as there, :math:`\|s\|` with the error of the
slope; so is rounding, which takes more than :math:`(n+8)2^{-53}` of the radius.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from surefoot.core.arrays import dot, norm
from surefoot.core.kernel_constants import TINY
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Number
from surefoot.knowledge.base import Capability, Reading
from surefoot.knowledge.contradictions import check_quadratic, check_reach
from surefoot.knowledge.curvature import (
    Curvature,
    CurvatureMemory,
    CurvatureRegion,
    QuadraticBounds,
    Search,
)
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.nearest import EVERYWHERE, Bounds, KnownSets, draw_back
from surefoot.knowledge.region import Projection
from surefoot.sets import Ball

__all__ = ["RelativeCurvature"]

"""The divisor instead of 0."""


class RelativeCurvature(QuadraticBounds):
    r"""Knowledge that the curvature of g is at most :math:`L_0 + L_1\|\nabla g\|` where feasible.

    For :math:`g = e^{a^\top x} - c` these are 0 and the norm of a.

    Args:
        L_0: the curvature where g is flat.
        L_1: the additional curvature per norm of the gradient, above 0.
        reach: M, the largest norm of a feasible point; that of the domain unless given.
        domain: a known set that contains every action.
        errors: bounds on the errors of readings; without drift.

    Example:
        >>> import numpy as np
        >>> known = RelativeCurvature(L_0=0.0, L_1=2.0, reach=1.0)  # g = exp(2x) - 2
        >>> memory = known.observe(known.init(np.zeros(1)), Reading(np.zeros(1), -1.0,
        ...     np.array([2.0]), known.errors))
        >>> known.region(memory, known.errors).nearest(np.ones(1)).round(6)  # of log(2)/2 = 0.3466
        array([0.336924])
    """

    proved_by: ClassVar[str] = "the quadratic bound of relative curvature"
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "slope", "late", "nonconvex"})
    refusals: ClassVar[Mapping[Capability, str]] = {"margin": "which bounds no rise over a length"}

    L_0: float = nonnegative()
    L_1: float = positive()

    def first(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        return Curvature(beta=0.0, reach=self.reach, errors=self.errors).first(x1)

    def curvature(self, memory: CurvatureMemory) -> float:
        r"""Return :math:`\beta_x` of the last action, rounded up."""
        slope = float(norm(memory.s)) + float(memory.slope_error or 0.0)
        beta = 2 * (math.e - 2) * (self.L_0 + self.L_1 * slope)
        return beta * (1 + 64 * UNIT * (len(memory.s) + 8))

    def find_region(self, memory: CurvatureMemory, t: Number, errors: Errors) -> RelativeRegion:
        """Return the ball in round t, as far as its bound holds."""
        return RelativeRegion(self, memory, t, errors)

    def contradictions(self, memory: CurvatureMemory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts the constants, in sentences."""
        x, g, _, errors, _ = reading
        t, upper = memory.rounds + 1.0, float(g + errors.value)
        sentences, old = check_reach(int(t), x, upper, float(self.reach)), memory.last
        region = self.find_region(memory, t, errors)
        if not region.contains(x):
            return sentences
        v, slope_error = x - old.x, float(memory.slope_error or 0.0)
        length, over = float(norm(v)), g - errors.value - old.value - float(memory.s @ v)
        over, noise = over - slope_error * length, float(region.noise)
        beta = self.curvature(memory)
        return sentences + check_quadratic(int(t), g, (length, over), beta, noise, errors, "g")

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return infinity: the rise of g around an action is unbounded."""
        return math.inf


class RelativeRegion(CurvatureRegion):
    """The points where the quadratic bound is at most 0, as far from x as it holds.

    Args:
        knowledge: the constants.
        memory: the readings.
        t: the round that the region is for.
        errors: the errors that it allows for.

    Attributes:
        farthest: how far from x the bound holds.
    """

    farthest: float
    radius: Number
    longest: Number
    depth: Number

    def __init__(
        self, knowledge: RelativeCurvature, memory: CurvatureMemory, t: Number, errors: Errors
    ) -> None:
        super().__init__(knowledge, memory, t, errors)
        self.farthest = (1 - 1e-12 - 8 * (len(self.x) + 8) * UNIT) / knowledge.L_1
        self.radius, self.longest = (
            min(length, self.farthest) for length in (self.radius, self.longest)
        )
        self.depth = memory.depth

    def contains(self, w: Array) -> bool:
        """Return whether the bound holds at a point, and certifies it."""
        return bool(norm(w - self.x) <= self.farthest and super().contains(w))

    def _search(self, w: Array, search: Search) -> Projection:
        r"""Return what a search finds; if that is too far away, the nearest point that is not.

        Of the points at the farthest distance r that is the one towards w, or, where the bound is
        above 0 there, the nearest of those with :math:`s^\top q = -(h + \tau r + \frac\beta2r^2)`.
        """
        projection = super()._search(w, search)
        if self.contains(projection.point):
            return projection
        point = self._find_at_edge(w - self.x)
        if not self.contains(point):  # by a rounding
            point = draw_back(self.contains, EVERYWHERE, self.x, point)
        point = self.x if point is None else point
        return Projection(point, 0.0, norm(point - w))

    def _find_at_edge(self, v: Array) -> Array:
        """Return the nearest point of the region at the farthest distance from x, to x + v."""
        ball, unit = self.ball, self.ball.s / max(self.slope_norm, TINY)
        r = self.farthest - (len(v) + 8) * UNIT * (self.farthest + 2 * norm(self.x))
        point = self.x + (r / max(norm(v), TINY)) * v
        if self.holds(point):
            return point
        most = -(ball.up + (self.slope_error or 0.0) * r + 0.5 * ball.beta * r * r)
        along = most / max(self.slope_norm, TINY)
        across = v
        for _ in range(2):  # the second removes the rounding of a far proposal
            across = across - dot(across, unit) * unit
        radius = math.sqrt(max(r * r - along * along, 0.0))
        return self.x + along * unit + (radius / max(norm(across), TINY)) * across

    def as_bounds(self) -> Bounds:
        """Return the bound and the ball where it holds."""
        return super().as_bounds().join(KnownSets(Ball(self.farthest, self.x)).bounds(self.x, 0.0))
