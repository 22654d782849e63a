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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from surefoot import _check
from surefoot._array import (
    certainly,
    dot,
    maximum,
    ndarray,
    norm,
    number_like,
    sqrt,
    to_numpy,
    where,
)
from surefoot.errors import InvalidValueError
from surefoot.regions._ball import (
    Found,
    along_slope,
    curvature_margin,
    kept,
    onto_curvature_ball,
)
from surefoot.sets._points import marked
from surefoot.types import Array, Number

__all__ = [
    "Curvature",
    "CurvatureCertificate",
    "CurvatureMemory",
    "CurvatureRegion",
]

# A far point loses digits in the first projection; the second starts where they are not lost.
_TRIES = 3
_new = tuple.__new__  # the constructor of a named tuple costs as much as three roots


class CurvatureCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        value: g at the action that was played.
        slope: the product of the slope there with the step.
        length: the length of the step.
        bound: the next g is at most this; never above 0.
        beta: the curvature that it rests on.
        cut: whether the region changed the action that was wanted.
        row: which of several constraints has the largest bound; None where there is one.
    """

    round: int
    value: float
    slope: float
    length: float
    bound: float
    beta: float
    cut: bool = False
    row: int | None = None

    def __str__(self) -> str:
        name = "g" if self.row is None else f"g[{self.row}]"
        if self.length == 0.0:
            return f"round {self.round}: nothing moves, and {name} = {self.value:.3g} stays"
        return (
            f"round {self.round}: {name} = {self.value:.3g} was seen, and its curvature is at most "
            f"{self.beta:g}: {self.value:.3g} + ({self.slope:.3g}) along the slope + "
            f"{0.5 * self.beta * self.length**2:.3g} for the {self.length:.3g} moved; "
            f"the next {name} is at most {self.bound:.3g}"
        )


class CurvatureMemory(NamedTuple):
    """The last round seen, against which a wrong curvature is noticed.

    Attributes:
        rounds: how many rounds were seen.
        x: the last action.
        g: the value there.
        s: the slope there.
    """

    rounds: Number
    x: Array
    g: Number
    s: Array


class CurvatureRegion(NamedTuple):
    """The ball, or half-space, in which the quadratic bound is at most 0.

    Attributes:
        known: the constants.
        x: the action that was played.
        g: the value there.
        s: the slope there.
        squared: the inner product of s with itself.
        margin: e, for rounding.
        before: the memory without the round.
    """

    known: Curvature
    x: Array
    g: Number
    s: Array
    squared: Number
    margin: Number
    before: CurvatureMemory

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
        v = self._way(w)
        up, found, good, first = self.g + self.margin, w, self._holds(w), None
        for _ in range(_TRIES):
            if certainly(good) or (type(good) is ndarray and good.all()):
                break
            v, weight = onto_curvature_ball(v, up, self.s, self.squared, self.known.beta)
            first = (v, weight) if first is None else first
            found = where(good, found, self.x + v)
            good, v = self._holds(found), found - self.x
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
        if type(self.g) is float:
            return self._cut_live(w)
        v = self._way(w)
        good = self._holds(w)
        beta, up = self.known.beta, self.g + self.margin
        q, weight = along_slope(v, up, self.s, sqrt(self.squared), beta)
        point = self.checked(where(good, w, self.x + q))
        weight = where(good, 0.0 * weight, weight)
        return Found(point, weight, where(good, 0.0 * weight, norm(point - self.x - q)))

    def _cut_live(self, w: Array) -> Found:
        """Return the same for one NumPy run, computing each product once."""
        known, x, g, s, squared, e, _ = self
        v = w - x
        along, square, half = float(s.dot(v)), float(v.dot(v)), 0.5 * known.beta
        if not square < math.inf:
            self._way(w)
        if g + 0.5 * e + along + half * square <= 0:
            return _new(Found, (w, 0.0, 0.0))
        if not squared > 0:
            return _new(Found, (x, 0.0, math.sqrt(square)))
        size = math.sqrt(squared)
        a = along / size
        c = g + e + half * max(square - a * a, 0.0)
        z = -2 * c / (size + math.sqrt(max(squared - 4 * half * c, 0.0)))
        weight = max(a - z, 0.0) / size
        q = v - weight * s
        point = x + q
        if self.bound(point) <= 0:
            return _new(Found, (point, weight, 0.0))
        return _new(Found, (x, weight, norm(q)))

    def price(self, v: Array, weight: Number) -> Number:
        r"""Return what a cut costs: :math:`\frac12\mu^2\|s\|^2 - \mu(g + s^\top v)`; Theorem C.

        Args:
            v: the step that was cut.
            weight: :math:`\mu`, how many times the slope was taken off.
        """
        seen = self.g - self.margin
        return 0.5 * weight * weight * self.squared - weight * (seen + dot(self.s, v))

    def checked(self, point: Array) -> Array:
        """Return the point if its computed bound is at most 0, else x: safe whatever was found."""
        return where(self._holds(point), point, self.x)

    def bound(self, point: Array) -> Number:
        """Return the certified bound on g at a point: U(p) and half of the margin."""
        v = point - self.x
        return self.g + 0.5 * self.margin + dot(self.s, v) + 0.5 * self.known.beta * dot(v, v)

    def normal_error(self, weight: Number, way: Array) -> tuple[Number, Number]:
        r"""Return :math:`\Lambda` of Theorem K, and what rounding adds to its inequality.

        The normal n of the ball at q has :math:`n^\top(q-u) \ge -\frac\Lambda2(\|x-u\|^2 -
        \|q-u\|^2)` for all feasible u, with :math:`\Lambda = \lambda\beta`.

        Args:
            weight: the multiplier.
            way: q - x.
        """
        beta, up = self.known.beta, self.g + self.margin
        over = up + dot(self.s, way) + 0.5 * beta * dot(way, way)
        return weight * beta, weight * maximum(2 * self.margin - over, 0.0 * over)

    def _holds(self, point: Array) -> Number:
        return self.bound(point) <= 0

    def _way(self, w: Array) -> Array:
        """Find the way from x to w, refused for one run where it has no finite square."""
        if type(self.g) is not float:
            return marked(w) - self.x
        v = w - self.x
        if not dot(v, v) < math.inf:
            _check.refuse_unfinite(to_numpy(w), "the wanted action")
            raise InvalidValueError("the wanted action must have a finite distance from x")
        return v

    def certificate(self, point: Array, t: int) -> CurvatureCertificate:
        """Return why a point that the region gave is feasible: one run's numbers."""
        v = point - self.x
        length = norm(v)
        bound = float(self.g) if length == 0 else min(float(self.bound(point)), 0.0)
        beta, g = float(self.known.beta), float(self.g)
        return CurvatureCertificate(t, g, float(dot(self.s, v)), float(length), bound, beta)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the curvature is right; one sentence each."""
        before = self.before
        if before.rounds == 0:
            return ()
        old = self.known.region(before, before)
        t, noise = int(before.rounds) + 1, float(self.margin + old.margin)
        return above_quadratic(t, old, self, float(self.known.beta), noise)


def above_quadratic(
    t: int, old: CurvatureRegion, new: CurvatureRegion, beta: float, noise: float, name: str = "g"
) -> tuple[str, ...]:
    """Return a sentence if one of two rounds is above the quadratic bound of the other."""
    v = new.x - old.x
    squared = dot(v, v)
    if not squared > 0:
        return ()
    rise, fall = new.g - old.g - dot(old.s, v), old.g - new.g + dot(new.s, v)
    over = max(rise, fall)
    if not over > 0.5 * beta * squared + noise:
        return ()
    return (
        f"round {t}: {name} = {new.g:.6g} is above its quadratic bound "
        f"{new.g - (over - 0.5 * beta * squared):.6g}: the curvature is at least "
        f"{2 * (over - noise) / squared:.6g}, more than beta = {beta:.6g}, or {name} is not the "
        f"one of round {t - 1}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Curvature:
    r"""Knowledge that g curves upwards by at most :math:`\beta` on the feasible set.

    For a twice differentiable g this says that no eigenvalue of its Hessian is above
    :math:`\beta`. Convexity is not needed for safety.

    Args:
        beta: :math:`\beta \ge 0`; 0 for an affine g. Too large is safe, and costs little.
        reach: M, the largest norm of a feasible point, which rounding scales with.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.

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

    beta: Number
    reach: Number
    evaluation_error: Number | None = None

    def __post_init__(self) -> None:
        _check.nonnegative(beta=self.beta)
        _check.positive(reach=self.reach)
        _check.plain(self, "beta", "reach")
        if self.evaluation_error is not None:
            _check.nonnegative(evaluation_error=self.evaluation_error)
            _check.plain(self, "evaluation_error")

    def init(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        return CurvatureMemory(zero, x1, zero, 0.0 * x1)

    def see(
        self, memory: CurvatureMemory, x: Array, g: Number, s: Array
    ) -> tuple[CurvatureMemory, CurvatureRegion]:
        """Return the memory with the round added, and the region for the next action."""
        after = _new(CurvatureMemory, (memory.rounds + 1.0, x, kept(g), kept(s)))
        region = self.region(after, memory)
        if type(g) is float:
            if not math.isfinite(g):
                raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
            if not region.squared < math.inf:
                _check.refuse_unfinite(to_numpy(s), "constraint_subgradient")
                raise InvalidValueError("constraint_subgradient must have a finite square")
            if memory.rounds == 0.0 and not g + region.margin < 0.0:
                raise InvalidValueError(
                    "the start must be strictly feasible, by more than the rounding of g, "
                    f"got g(x_1) = {g:g}"
                )
            return after, region
        # A run of a batch cannot be refused: it becomes NaN, which the game reports.
        lost = (memory.rounds == 0) & (g + region.margin >= 0) | ~(abs(g) < math.inf)
        return after, region._replace(x=where(lost, math.nan, x))

    def region(self, memory: CurvatureMemory, before: CurvatureMemory) -> CurvatureRegion:
        """Return the region that a memory stands for."""
        x, g, s = memory.x, memory.g, memory.s
        squared = dot(s, s)
        margin = curvature_margin(
            g, sqrt(squared), self.beta, self.reach, x.shape[-1], self.evaluation_error
        )
        return _new(CurvatureRegion, (self, x, g, s, squared, margin, before))
