r"""The convex hull of two balls that the curvature certifies: a memory for convex constraints.

The ball of the last action (:mod:`surefoot.regions.curvature`) and that of an *anchor* are both
feasible; if g is convex so is their convex hull, and for :math:`p = (1-\lambda)p_a + \lambda p_x`

.. math:: g(p) \le (1-\lambda)U_a(p_a) + \lambda U_x(p_x) \le 0 .

The anchor is the action with the most slack, not the one with the largest ball: a steep slope makes
a ball large that is mostly outside of everything that matters. What is gained is gained where
:math:`\beta` is far too large and balls are small.

Rounding. In the distance from its centre :math:`c = x - s/\beta`, the bound is
:math:`U(p) = \frac\beta2(\|p-c\|^2 - (\nu/\beta)^2)`. Radii are :math:`\nu/\beta` less
:math:`e/\nu + 16(n+8)u(M + (\|s\|+\nu)/\beta)`: the first part leaves U below 0 by about the margin
e of a single ball, the second is what centres, radii and one scaling are rounded by. For a small
:math:`\beta` the centres are far away and the second part grows: below

.. math:: \beta_0 = 2^{20}\cdot16(n+8)u(\|s\|+\nu)/M

it would be more than :math:`2^{-20}M`, and the ball of the last action alone is used, which needs
no centre and is a half-space for all that can be seen.

Errors and drift are those of a single ball; the anchor ages, so that its ball shrinks with every
round until a later action has more slack. Where the last action has no ball left, the anchor's is
used alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.regions._certificates import CurvatureCertificate, HullOfBallsCertificate
from surefoot.regions._curvature_region import CurvatureMemory, CurvatureRegion
from surefoot.regions._errors import Errors, causes
from surefoot.regions._known import EmptyRegionError
from surefoot.regions._two_balls import share_of_two_balls
from surefoot.regions.curvature import Curvature, CurvatureConstants

__all__ = [
    "CurvatureHull",
    "CurvatureHullMemory",
    "CurvatureHullRegion",
]

_UNIT = 2.0**-53
_COARSE = 2.0**20


_Ball: TypeAlias = tuple[Array, float, CurvatureRegion]


class CurvatureHullMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        last: the last round.
        anchor: the round with the most slack.
    """

    last: CurvatureMemory
    anchor: CurvatureMemory

    @property
    def rounds(self) -> float:
        """The number of rounds seen."""
        return float(self.last.rounds)


class CurvatureHullRegion(NamedTuple):
    """The convex hull of the balls of the anchor and of the last action; one NumPy run.

    Attributes:
        last: the region of the last action.
        anchor: the region of the anchor.
    """

    last: CurvatureRegion
    anchor: CurvatureRegion

    @property
    def x(self) -> Array:
        """The last action."""
        return self.last.x

    def nearest(self, w: Array) -> Array:
        """Return the point of the hull nearest to w; w itself where it is in the hull."""
        try:
            alone = self.last.nearest(w)
        except EmptyRegionError:
            return self.anchor.nearest(w)
        if alone is w:
            return alone
        found = self._ball(w)
        if found is None:
            return alone
        _, centre, room, far = found
        if far <= room:
            return w
        point = centre + (room / far) * (w - centre)
        # The balls of the hull have a larger margin than the ball alone, which may be nearer.
        return alone if norm(alone - w) <= norm(point - w) else point

    def _ball(self, w: Array) -> tuple[float, Array, float, float] | None:
        """Find the ball of the hull nearest to w: share of the second, centre, radius, distance."""
        both = self._balls(w)
        if both is None:
            return None
        (a, r_a, _), (b, r_b, _) = both
        share, way = share_of_two_balls(w, a, r_a, b, r_b)
        centre = a + share * way
        return float(share), centre, max(r_a + share * (r_b - r_a), 0.0), float(norm(w - centre))

    def _balls(self, w: Array) -> tuple[_Ball, _Ball] | None:
        """Return both balls, the larger first; None where the last one alone is used.

        With an error of the slope they are those for the distances of w.
        """
        found, M, n = [], float(self.last.known.reach), len(self.last.x)
        if self.anchor.x is self.last.x:
            return None
        for one in (self.anchor, self.last):
            if one.slope_error is not None:
                low, high = one.lengths()
                one = one.bent(max(min(max(norm(w - one.x), low), high), 1e-12 * M))
            beta = float(one.known.beta)
            if not beta > 0:
                return None
            nu, size = float(one.radius), math.sqrt(one.squared)
            rounded = 16 * (n + 8) * _UNIT
            if not nu > 0 or beta < _COARSE * rounded * (size + nu) / M:
                return None
            lost = float(one.margin) / nu + rounded * (M + (size + nu) / beta)
            if not nu / beta > lost:
                return None
            found.append((one.x - one.s / beta, nu / beta - lost, one))
        first, second = found
        return (first, second) if first[1] >= second[1] else (second, first)

    def certificate(self, point: Array, t: int) -> CurvatureCertificate | HullOfBallsCertificate:
        """Return why a point that :meth:`nearest` gave is feasible: one run's numbers."""
        both, found = self._balls(point), self._ball(point)
        if self.last.bound(point) <= 0 or both is None or found is None:
            return self.last.certificate(point, t)
        share, centre, room, _ = found
        unit = (point - centre) / room if room > 0 else 0.0 * point
        bounds = [float(one.bound(c + r * unit)) for c, r, one in both]
        bound = min((1 - share) * bounds[0] + share * bounds[1], 0.0)
        first, second = float(both[0][2].g), float(both[1][2].g)
        return HullOfBallsCertificate(t, first, second, share, bound, float(self.last.known.beta))

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the curvature is right and g convex."""
        found, a, x = self.last.contradictions, self.anchor, self.last.x
        errors = Errors() if self.last.errors is None else self.last.errors
        below = float(self.last.low + self.last.s @ (a.x - x)) - errors.slope * norm(a.x - x)
        if a.x is not x and below > a.g + float(a.margin + self.last.margin):
            t = int(self.last.before.rounds) + 1
            why = causes(self.last.errors, f"a slope errs by more than {errors.slope:g}")
            found += (
                f"round {t}: the slope says that g was at least {below:.3g} where {a.g:.3g} was "
                f"seen: {why}",
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvatureHull(CurvatureConstants):
    r"""Knowledge that g is convex and curves upwards by at most :math:`\beta`; one NumPy run.

    Args:
        beta: :math:`\beta \ge 0`.
        reach: M, the largest norm of a feasible point, which rounding scales with.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the distance of an observed slope to the true one.
        drift: bound on the change of g, at any point, from one round to the next.

    Example:
        >>> known = CurvatureHull(beta=8.0, reach=1.0)  # of g = |x|^2 - 0.5: four times too much
        >>> x, y = np.zeros(2), np.array([0.6, 0.0])
        >>> memory, region = known.see(known.init(x), x, -0.5, 2 * x)
        >>> memory, region = known.see(memory, y, -0.14, 2 * y)
        >>> region.nearest(np.array([0.3, 1.0])).round(4)
        array([0.1256, 0.3326])
        >>> region.last.nearest(np.array([0.3, 1.0])).round(4)  # the ball of y alone
        array([0.4144, 0.2371])
    """

    def ball(self) -> Curvature:
        """Return what is known without the memory."""
        return Curvature(**{f.name: getattr(self, f.name) for f in fields(self)})

    def init(self, x1: Array) -> CurvatureHullMemory:
        """Return the memory before the first round."""
        if type(x1) is not np.ndarray or x1.ndim != 1:
            raise InvalidValueError(f"x1 must be one NumPy vector, got {x1!r}")
        first = self.ball().init(x1)
        return CurvatureHullMemory(first, first)

    def see(
        self,
        memory: CurvatureHullMemory,
        x: Array,
        g: float,
        s: Array,
        value_error: float | None = None,
    ) -> tuple[CurvatureHullMemory, CurvatureHullRegion]:
        """Return the memory with the round added, and the hull for the next action."""
        ball = self.ball()
        last, region = ball.see(memory.last, x, g, s, value_error)
        anchor, drift = memory.anchor, self.drift or 0.0
        if memory.rounds == 0 or last.g < anchor.g + drift * (last.rounds - anchor.rounds):
            anchor = last
        after, age = CurvatureHullMemory(last, anchor), last.rounds + 1.0 - anchor.rounds
        return after, CurvatureHullRegion(region, ball.region(anchor, anchor, region.errors, age))
