"""The region of one constraint with bounded curvature, and its memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import (
    certainly,
    dot,
    maximum,
    ndarray,
    norm,
    record,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import marked
from surefoot.core.types import Array, Number
from surefoot.regions._anchor import DriftAnchor, pulled
from surefoot.regions._ball import (
    Found,
    along_slope,
    onto_curvature_ball,
)
from surefoot.regions._bent import answered, lengths_of_bent, searched
from surefoot.regions._certificates import (
    CurvatureCertificate,
    HullOfBallsCertificate,
    above_quadratic,
    beyond_reach,
)
from surefoot.regions._errors import Errors

__all__ = ["CurvatureMemory", "CurvatureRegion"]

# A far point loses digits in the first projection; the second starts where they are not lost.
_TRIES = 3


class CurvatureMemory(NamedTuple):
    """The last round seen, against which a wrong curvature is noticed.

    Attributes:
        rounds: how many rounds were seen.
        x: the last action.
        g: the value there; with errors, the upper bound on it.
        s: the slope there.
        low: the lower bound on the value.
        anchor: under drift the deepest action; else None.
    """

    rounds: Number
    x: Array
    g: Number
    s: Array
    low: Number = -math.inf
    anchor: DriftAnchor | None = None


class CurvatureRegion(NamedTuple):
    """The ball, or half-space, in which the quadratic bound is at most 0.

    Attributes:
        known: the constants.
        x: the action that was played.
        g: the value there; with errors or drift, the bound on the next g there.
        s: the slope there.
        squared: the inner product of s with itself.
        margin: e, for rounding.
        before: the memory without the round.
        low: the lower bound on the value there.
        errors: what is allowed for; None for exact values of a fixed g.
        anchor: under drift the deepest action as it is in the next round; else None.
    """

    known: Any
    x: Array
    g: Number
    s: Array
    squared: Number
    margin: Number
    before: CurvatureMemory
    low: Number
    errors: Errors | None = None
    anchor: DriftAnchor | None = None

    @property
    def radius(self) -> Number:
        r"""Return :math:`\nu`: the slope on the sphere, and :math:`\beta` times the radius."""
        up = self.g + self.margin
        return sqrt(maximum(self.squared - 2 * self.known.beta * up, 0.0 * self.squared))

    @property
    def longest(self) -> Number:
        r"""Return :math:`\nu/(2\beta)`, the longest step that :meth:`cut` is meant for."""
        beta = self.known.beta
        if type(self.g) is float and type(beta) is float:
            squared = self.squared - 2 * beta * (self.g + self.margin)
            return 0.5 * math.sqrt(max(squared, 0.0)) / beta if beta > 0 else math.inf
        nu = self.radius
        if type(beta) is float:
            return 0.5 * nu / beta if beta > 0 else math.inf * (1.0 + nu)
        return where(beta > 0, 0.5 * nu / where(beta > 0, beta, 1.0), math.inf)

    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w; w itself where it is in the region."""
        return self.nearest_from(w).point

    def nearest_from(self, w: Array, weights: Number = 0.0) -> Found:
        """Return the nearest point with its multiplier; what is near is not needed here."""
        return self.search(w) if self.errors is None else answered(self, w, CurvatureRegion.search)

    def search(self, w: Array) -> Found:
        """Return the nearest point of a region without an error of the slope."""
        v = self._way(w)
        up, found, good, first = self.g + self.margin, w, self.holds(w), None
        for _ in range(_TRIES):
            if certainly(good) or (type(good) is ndarray and good.all()):
                break
            v, weight = onto_curvature_ball(v, up, self.s, self.squared, self.known.beta)
            first = (v, weight) if first is None else first
            found = where(good, found, self.x + v)
            good, v = self.holds(found), found - self.x
        point = self.checked(found)
        if first is None:
            return Found(point, 0.0 * self.g, 0.0 * self.g)
        return Found(point, first[1], norm(point - self.x - first[0]))

    def cut(self, w: Array) -> Found:
        r"""Return where a step to w ends that is drawn back along the slope, not to the nearest.

        Descent by such cuts loses a constant to that by projections onto the known set
        (Theorem C of docs/certified.md). The step must be at most :math:`\nu/(2\beta)` long, or
        nothing may move.
        """
        return self._cut(w) if self.errors is None else answered(self, w, CurvatureRegion._cut)

    def _cut(self, w: Array) -> Found:
        if type(self.g) is float:
            return self._cut_live(w)
        v = self._way(w)
        good = self.holds(w)
        beta, up = self.known.beta, self.g + self.margin
        q, weight = along_slope(v, up, self.s, sqrt(self.squared), beta)
        point = self.checked(where(good, w, self.x + q))
        weight = where(good, 0.0 * weight, weight)
        return Found(point, weight, where(good, 0.0 * weight, norm(point - self.x - q)))

    def _cut_live(self, w: Array) -> Found:
        """Return the same for one NumPy run, computing each product once."""
        known, x, g, s, squared, e, *_ = self
        v = w - x
        along, square, half = float(s.dot(v)), float(v.dot(v)), 0.5 * known.beta
        if not square < math.inf:
            self._way(w)
        if g + 0.5 * e + along + half * square <= 0:
            return record(Found, (w, 0.0, 0.0))
        if not squared > 0:
            return record(Found, (x, 0.0, math.sqrt(square)))
        size = math.sqrt(squared)
        a = along / size
        c = g + e + half * max(square - a * a, 0.0)
        z = -2 * c / (size + math.sqrt(max(squared - 4 * half * c, 0.0)))
        weight = max(a - z, 0.0) / size
        q = v - weight * s
        point = x + q
        if self.bound(point) <= 0:
            return record(Found, (point, weight, 0.0))
        return record(Found, (x, weight, norm(q)))

    def price(self, v: Array, weight: Number) -> Number:
        r"""Return what a cut costs: :math:`\frac12\mu^2\|s\|^2 - \mu(g + s^\top v)`; Theorem C.

        Args:
            v: the step that was cut.
            weight: :math:`\mu`, how many times the slope was taken off.
        """
        seen = self.g - self.margin
        if self.errors is not None:
            seen = self.low - self.margin - 2 * self.known.reach * self.errors.slope
        return 0.5 * weight * weight * self.squared - weight * (seen + dot(self.s, v))

    def checked(self, point: Array) -> Array:
        """Return the point if its computed bound is at most 0, else x: safe whatever was found."""
        return where(self.holds(point), point, self.x)

    def bound(self, point: Array) -> Number:
        """Return the certified bound on g at a point: U(p) and half of the margin."""
        v = point - self.x
        squared = dot(v, v)
        bent = self.g + 0.5 * self.margin + dot(self.s, v) + 0.5 * self.known.beta * squared
        if self.errors is None or self.slope_error is None:
            return bent
        return bent + self.slope_error * sqrt(squared)

    def pulled(self) -> tuple[Array, Any]:
        """Return the point towards the anchor where convexity bounds g by 0; whether there is."""
        if self.anchor is None:
            return self.x, False
        point, share = pulled(self.x, self.g + self.margin, self.anchor)
        return point, share <= 1

    def somewhere(self) -> Array:
        """Return the certified point nearest to x; another point where nothing is certified."""
        return searched(self, self.x, CurvatureRegion.search).point

    @property
    def slope_error(self) -> Number:
        """The error of the slope; None for none."""
        return None if self.errors is None else self.known.slope_error

    def bent(self, length: Number) -> CurvatureRegion:
        """Return a ball inside of this region, that touches it at a distance from x."""
        tau = self.slope_error
        known = self.known.trusted(self.known.beta + tau / length, self.known.reach)
        return self._replace(known=known, g=self.g + 0.5 * tau * length)

    def lengths(self) -> tuple[Number, Number]:
        """Return between which lengths :meth:`bent` has a point."""
        up, beta = self.g + self.margin, self.known.beta
        return lengths_of_bent(up, self.squared, beta, self.slope_error)

    def normal_error(self, weight: Number, way: Array) -> tuple[Number, Number]:
        r"""Return :math:`\Lambda` of Theorem K, and what rounding adds to its inequality.

        The normal n of the ball at q has :math:`n^\top(q-u) \ge -\frac\Lambda2(\|x-u\|^2 -
        \|q-u\|^2)` for all feasible u, with :math:`\Lambda = \lambda\beta`.

        Args:
            weight: the multiplier.
            way: q - x.
        """
        beta, up, hidden = self.known.beta, self.g + self.margin, 0.0
        if self.errors is not None:
            # A comparator may have what the errors hide, and the ball was one for this length.
            tau, length = self.errors.slope, norm(way)
            hidden = self.g - self.low + (2 * self.known.reach + 0.5 * length) * tau
            beta = beta + where(length > 0, tau / where(length > 0, length, 1.0), 0.0 * length)
            up = up + 0.5 * tau * length
        over = up + dot(self.s, way) + 0.5 * beta * dot(way, way)
        return weight * beta, weight * maximum(2 * self.margin + hidden - over, 0.0 * over)

    def holds(self, point: Array) -> Any:
        """Return whether the computed bound at a point is at most 0."""
        return self.bound(point) <= 0

    def _way(self, w: Array) -> Array:
        """Find the way from x to w, refused for one run where it has no finite square."""
        if type(self.g) is not float:
            return marked(w) - self.x
        v = w - self.x
        if not dot(v, v) < math.inf:
            checks.refuse_unfinite(to_numpy(w), "the wanted action")
            raise InvalidValueError("the wanted action must have a finite distance from x")
        return v

    def certificate(self, point: Array, t: int) -> CurvatureCertificate | HullOfBallsCertificate:
        """Return why a point that the region gave is feasible: one run's numbers."""
        v = point - self.x
        length = norm(v)
        if self.anchor is not None and not self.holds(point):
            deep, up = float(self.anchor.g), float(self.g + self.margin)
            way = norm(self.anchor.x - self.x)
            share = 1.0 - length / way if way > 0 else 1.0
            bound = min((1 - share) * deep + share * up, 0.0)
            return HullOfBallsCertificate(t, deep, up, share, bound, float(self.known.beta))
        bound = float(self.g) if length == 0 else min(float(self.bound(point)), 0.0)
        beta, g = float(self.known.beta), float(self.g)
        errors = None if self.errors is None else Errors(*map(float, self.errors))
        if errors is not None:
            bound = min(bound, 0.0)  # a fixed g that was certified before stays so
        slope = float(dot(self.s, v))
        return CurvatureCertificate(t, g, slope, float(length), bound, beta, errors=errors)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the curvature is right; one sentence each."""
        before, t = self.before, int(self.before.rounds) + 1
        # The reading's error is in the lower bound once, and this is the upper one.
        upper = self.low + self.margin + (0.0 if self.errors is None else 2 * self.errors.value)
        found = beyond_reach(t, self.x, float(upper), float(self.known.reach))
        if before.rounds == 0:
            return found
        old = self.known.region(before, before, self.errors)
        noise = float(self.margin + old.margin)
        return found + above_quadratic(t, old, self, float(self.known.beta), noise)
