r"""The nearest point of a region and of known sets: a search, then a check; one NumPy run.

What a search returns is rounded and perhaps not at its end. So it is checked by the region's
``contains`` and by that of every known set; where that fails, the way there from a point that
passes is shortened until it does.

**Several bounds, and sets that are known by cuts.** The bounds are
:math:`U_i(q) = h_i + s_i^\top q + \tau_i\|q\| + \frac{\beta_i}2\|q\|^2 \le 0`. For
multipliers :math:`\lambda \ge 0` the point where :math:`\frac12\|q-v\|^2 + \sum_i\lambda_iU_i(q)`
is smallest is

.. math:: q(\lambda) = \frac{[\|y\| - \lambda^\top\tau]_+}{1 + \lambda^\top\beta}\frac y{\|y\|},
          \qquad y = v - \sum_i\lambda_is_i,

and that minimum is a concave function of :math:`\lambda` with slope :math:`U_i(q(\lambda))` and
second derivative :math:`-NH^{-1}N^\top`: the rows of N are the slopes of the bounds at q, and
:math:`H = c + \frac{\lambda^\top\tau}{\|q\|}(I - \hat q\hat q^\top)`,
:math:`c = 1 + \lambda^\top\beta`. It is increased by Newton's method; each step, with
:math:`\lambda \ge 0`, is a projection onto half-spaces, by active sets. Half-spaces alone need one
step. A set that does not hold q gives a half-space that does, which joins the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surefoot.core.arrays import dot, norm
from surefoot.core.kernel_constants import (
    FAR_ROUNDINGS,
    HALVING_END,
    HALVINGS,
    LINE_NOISE,
    LINE_RISE,
    LINE_TRIES,
    NEAR_END,
    NEAR_START,
    NEWTON_ROUNDINGS,
    NEWTON_STEPS,
    SWEEP_END,
    SWEEP_SHARE,
    SWEEP_STEP,
    SWEEPS,
    TERMS,
    TINY,
)
from surefoot.core.points import UNIT, snap_inside
from surefoot.core.types import Array
from surefoot.knowledge.errors import EmptyRegionError
from surefoot.sets import Ball, Box
from surefoot.sets._active_set import project_halfspaces

if TYPE_CHECKING:
    from surefoot.knowledge.region import Region

FEW_HALVINGS = 12
"""How often the rest of a way is halved if its end is but near the nearest point."""
REFLECTIONS = 200
TURNS = 100
_NEAR_END = tuple(1.0 - 0.5**k for k in range(NEAR_END, 0, -1))
_NEAR_START = tuple(0.5**k for k in range(2, NEAR_START + 1))
SHARES = (*_NEAR_END, *_NEAR_START, 0.0)
"""Shares of a way, from its end to its beginning, closest together at both."""

Onto = Callable[[Array], Array]
Test = Callable[[Array], bool]


class Bounds(NamedTuple):
    """Several bounds, relative to the point of the reading.

    Attributes:
        up: h, ``(m,)``.
        s: the subgradients, ``(m, d)``.
        beta: the smoothness constants, ``(m,)``.
        tau: the errors of the subgradients, ``(m,)``.
        close: how far from 0 a bound may end, ``(m,)``.
    """

    up: Array
    s: Array
    beta: Array
    tau: Array
    close: Array

    @classmethod
    def of(cls, normals: Array, up: Array, close: float) -> Bounds:
        """Return half-spaces."""
        return cls(up, normals, 0.0 * up, 0.0 * up, close + 0.0 * up)

    def values(self, q: Array) -> Array:
        """Return each bound at a point."""
        length = norm(q)
        return self.up + self.s @ q + self.tau * length + 0.5 * self.beta * (length * length)

    def join(self, *others: Bounds) -> Bounds:
        """Return these bounds, and others after them."""
        some = [bounds for bounds in others if len(bounds.up)]
        if not some:
            return self
        return Bounds(*(np.concatenate(parts) for parts in zip(self, *some, strict=True)))


def project_onto_bounds(
    v: Array,
    bounds: Bounds,
    cut: Callable[[Array], Bounds] | None = None,
    turns: int = NEWTON_STEPS,
) -> tuple[Array, Array]:
    """Return nearly the point of bounds and sets that is nearest to v, and the bounds' multipliers.

    Args:
        v: the point.
        bounds: the bounds.
        cut: half-spaces that contain sets but not a point; none if the sets contain it.
        turns: how often the multipliers are changed, at most.

    Example:
        >>> none, close = np.zeros(2), np.full(2, 1e-12)
        >>> corner = Bounds(np.array([-1.0, -0.5]), np.eye(2), none, none, close)
        >>> project_onto_bounds(np.array([3.0, 2.0]), corner)
        (array([1. , 0.5]), array([2. , 1.5]))
        >>> s, one = np.array([[0.0, 1.0]]), np.ones(1)
        >>> ball = Bounds(-1.5 * one, s, one, 0 * one, 1e-12 * one)
        >>> q, multipliers = project_onto_bounds(np.array([0.0, 4.0]), ball)
        >>> q.round(9), multipliers.round(9)  # the ball around (0, -1) of radius 2
        (array([0., 1.]), array([1.5]))
    """
    count, lam = len(bounds.up), np.zeros(len(bounds.up))
    q, dual = _minimise(v, bounds, lam)
    rounding = FAR_ROUNDINGS * (len(v) + TERMS) * UNIT * norm(v)  # by the rounding of a far point
    for _ in range(turns):
        new = None if cut is None else cut(q)
        if new is not None and len(new.up):
            bounds, lam = bounds.join(new), np.append(lam, np.zeros(len(new.up)))
        over = bounds.values(q)
        off = np.where(lam > 0, abs(over), over)
        if (off <= bounds.close + rounding * np.sqrt(np.vecdot(bounds.s, bounds.s))).all():
            break
        multipliers = _step(bounds, lam, q, over)
        if multipliers is None:
            break
        change, share = multipliers - lam, 1.0
        for _ in range(LINE_TRIES):
            trial = lam + share * change
            after = _minimise(v, bounds, trial)
            # Near the solution the gain is below the rounding of the dual function.
            rise = LINE_RISE * share * float(over @ change)
            if after[1] >= dual + rise - LINE_NOISE * abs(dual):
                break
            share *= 0.5
        if (trial == lam).all():
            break
        lam, (q, dual) = trial, after
    return q, lam[:count]


def _minimise(v: Array, bounds: Bounds, lam: Array) -> tuple[Array, float]:
    """Return q of multipliers, and the dual function."""
    y = v - lam @ bounds.s
    size = norm(y)
    c, tilt = 1.0 + float(lam @ bounds.beta), float(lam @ bounds.tau)
    q = max(size - tilt, 0.0) / (c * size) * y if size > 0 else y
    way = q - v
    return q, 0.5 * dot(way, way) + float(lam @ bounds.values(q))


def _step(bounds: Bounds, lam: Array, q: Array, over: Array) -> Array | None:
    """Return the multipliers of a Newton step; None if no point satisfies the rows."""
    length = norm(q)
    unit = q / length if length > 0 else q
    c = 1.0 + float(lam @ bounds.beta)
    across = c + (float(lam @ bounds.tau) / length if length > 0 else 0.0)
    N = bounds.s + np.outer(bounds.beta * length + bounds.tau, unit)
    # N times the root of the inverse of H.
    along = np.outer(N @ unit, unit)
    N = (N - along) / math.sqrt(across) + along / math.sqrt(c)
    excess = over + N @ (lam @ N)
    rounding = NEWTON_ROUNDINGS * (len(q) + TERMS) * UNIT * float(abs(excess).max())
    answer = project_halfspaces(excess, N, max(float(bounds.close.min()), rounding), math.inf)
    return None if answer is None else answer[1]


class KnownSets:
    """The points that are in all of several sets; one NumPy run.

    Args:
        sets: an error names the last if no certified point is in all; None is no set.
    """

    def __init__(self, *sets: Any) -> None:
        self.sets: tuple[Any, ...] = tuple(one for one in sets if one is not None)

    def __bool__(self) -> bool:
        return bool(self.sets)

    def contains(self, x: Array) -> bool:
        """Return whether a point is in every set."""
        return all(bool(one.contains(x)) for one in self.sets)

    def settle(self, x: Array) -> Array:
        """Return a point, moved back if rounding may have put it outside of the sets."""
        for one in self.sets:
            x = snap_inside(one, x)
        return x

    def project(self, x: Array) -> Array:
        """Return nearly the nearest point of all of them."""
        if len(self.sets) < 2:
            return self.sets[0].project(x) if self else x
        for one in self.sets:  # the nearest point of one that is in the others is that of all
            point = one.project(x)
            if all(bool(other.contains(point)) for other in self.sets if other is not one):
                return point
        cut = partial(self.cut, x, norm(x), 0.0)
        return x + project_onto_bounds(0.0 * x, self.bounds(x, 0.0), cut)[0]

    def bounds(self, origin: Array, inwards: float) -> Bounds:
        """Return the balls among the sets as bounds, relative to an origin, and moved inwards."""
        balls = [one for one in self.sets if isinstance(one, Ball)]
        s = np.zeros((len(balls), len(origin)))
        up, beta = np.zeros(len(balls)), np.zeros(len(balls))
        for i, ball in enumerate(balls):
            s[i] = (origin if ball.centre is None else origin - ball.centre) / ball.radius
            beta[i] = 1.0 / ball.radius
            up[i] = 0.5 * ball.radius * (dot(s[i], s[i]) - 1.0) + inwards
        return Bounds(up, s, beta, 0.0 * up, _rounding(origin, 1.0) + 0.0 * up)

    def cut(self, origin: Array, reach: float, inwards: float, q: Array) -> Bounds:
        """Return half-spaces around the sets that do not contain a point; not for balls.

        Args:
            origin: the origin of the point.
            reach: the largest norm of a relevant point.
            inwards: how far inside of the half-spaces to end.
            q: the point.
        """
        close = _rounding(q, reach)
        cuts = Bounds.of(np.zeros((0, len(q))), np.zeros(0), close)
        for one in self.sets:
            if isinstance(one, Box):
                low, high, faces = one.lower - origin, one.upper - origin, np.eye(len(q))
                under, above = low - q > close, q - high > close
                cuts = cuts.join(Bounds.of(-faces[under], low[under] + inwards, close))
                cuts = cuts.join(Bounds.of(faces[above], inwards - high[above], close))
            elif not isinstance(one, Ball):
                cuts = cuts.join(cut_by(one.project, origin, reach, inwards, q))
        return cuts


EVERYWHERE = KnownSets()
"""No set: every point is in it."""


def cut_by(onto: Onto, origin: Array, reach: float, inwards: float, q: Array) -> Bounds:
    """Return a half-space that contains a set, given by its projection, but not a point.

    There is none if the set contains the point. The arguments are those of :meth:`KnownSets.cut`.
    """
    close, point = _rounding(q, reach), origin + q
    if (nearest := onto(point)) is point:
        return Bounds.of(np.zeros((0, len(q))), np.zeros(0), close)
    end = nearest - origin
    distance = norm(q - end)
    normals = (q - end)[None] / distance if distance > close else np.zeros((0, len(q)))
    return Bounds.of(normals, inwards - normals @ end, close)


def _rounding(q: Array, reach: float) -> float:
    return float((len(q) + TERMS) * UNIT * (reach + norm(q)))


def project_onto_both(first: Onto, second: Onto, w: Array, x: Array, size: float) -> Array:
    r"""Return nearly the point of two convex sets that is nearest to w: a point of the second.

    The method is that of Douglas and Rachford for :math:`\tfrac12\|p-w\|^2` on the second set: with
    :math:`p = \Pi_2((z + \lambda w)/(1 + \lambda))`, the point z moves by a step of :math:`\Pi_1(2p
    - z) - p`. Every :math:`\lambda` converges, and so does every step below 2; for a far proposal
    :math:`\lambda` must scale the distance to the size of the sets. There Dykstra's method takes
    many sweeps, and half-spaces do not model a curved boundary.

    Args:
        first: the projection onto one set.
        second: that onto the other.
        w: the point.
        x: where to begin.
        size: about the size of their intersection.
    """
    share = SWEEP_SHARE * min(size / max(norm(w - x), TINY), 1.0)
    z = point = x
    for _ in range(SWEEPS):
        point = second((z + share * w) / (1.0 + share))
        way = first(2.0 * point - z) - point
        z = z + SWEEP_STEP * way
        if norm(way) <= SWEEP_END * (1.0 + norm(point)):
            break
    return point


def reflect_in_turn(
    projections: Sequence[Onto], known: KnownSets, holds: Test, start: Array
) -> Array | None:
    """Return a point that holds, by reflections at several sets; None if the search fails.

    Each goes nearly twice as far as its set asks for, so that the turns end inside of the sets and
    not in front of them (half as far again was too little); known sets have the last word.

    Args:
        projections: onto each set.
        known: further sets that must contain the point.
        holds: whether a point is a solution.
        start: where to begin.
    """
    point = start
    for _ in range(REFLECTIONS):
        for onto in projections:
            point = point + 1.95 * (onto(point) - point)
        point = known.settle(known.project(point))
        if holds(point):
            return point
    return None


def find_certified(region: Region, known: KnownSets, w: Array) -> Array:
    """Return the point of a region and of sets nearest to w; always one of both."""
    holds = partial(_holds, region, known)
    if holds(w):
        return w
    _refuse_far_balls(region, known)
    end = known.settle(region.seek(w, known))
    return end if holds(end) else take_certified(region, known, end)


def take_certified(region: Region, known: KnownSets, end: Array) -> Array:
    """Return the last certified point in the sets on the way to one that is not.

    The way begins at a likely point of the region, or at one near the last action.
    """
    holds = partial(_holds, region, known)
    inside = next((point for point in region.insides if holds(point)), None)
    if inside is None:
        inside = region.find_inside(known, holds)
    if inside is None:
        raise _explain_empty(region, known)
    halvings = FEW_HALVINGS if region.searches else HALVINGS
    best = draw_back(holds, known, inside, end, halvings)
    return inside if best is None else best


def _refuse_far_balls(region: Region, known: KnownSets) -> None:
    """Raise for a ball that is too far from every certified point, where projections are exact."""
    for ball in known.sets if region.is_exact else ():
        if isinstance(ball, Ball) and ball.centre is not None:
            near = region.nearest(ball.centre)
            beyond = norm(near - ball.centre) - float(ball.radius)
            if beyond > 1e-9 * (float(ball.radius) + norm(near)):
                raise EmptyRegionError.of_set(ball, near, float(beyond))


def _holds(region: Region, known: KnownSets, point: Array) -> bool:
    """Return whether a point is certified and in the sets."""
    return known.contains(point) and bool(region.contains(point))


def _explain_empty(region: Region, known: KnownSets) -> EmptyRegionError:
    """Return the error for a round without a certified point, or without one in the sets."""
    if not known:
        return region.explain_empty()
    *others, last = known.sets
    part = region.within(*others)
    near = part.nearest(last.project(region.x))
    for _ in range(TURNS):
        before, near = near, part.nearest(last.project(near))
        if norm(near - before) <= 1e-12 * (1.0 + norm(near)):
            break
    return EmptyRegionError.of_set(last, near, float(norm(last.project(near) - near)))


def _find_first(holds: Callable[[int], bool], count: int) -> int | None:
    """Return the first number that holds, where all after it do, as a rule; None if none does.

    It is sought in strides that double, and then by halves; if not even the last holds, one by one.

    Args:
        holds: the condition, of a number from 0 on.
        count: how many numbers there are.
    """
    before, after, stride = -1, 0, 1
    while not holds(after):
        if after == count - 1:
            return next((i for i in range(count) if holds(i)), None)
        before, stride = after, 2 * stride
        after = min(before + stride, count - 1)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if holds(middle) else (middle, after)
    return after


def draw_back(
    holds: Test, known: KnownSets, inside: Array, outside: Array, halvings: int = HALVINGS
) -> Array | None:
    """Return the last point that holds on the way from one that does; None if the search fails.

    Most often only a rounding is missing, so that the search begins at the far end; the beginning
    need not hold itself.

    Args:
        holds: the condition, of a convex set.
        known: sets into which points are moved back after rounding.
        inside: a point that holds, as a rule.
        outside: one that does not.
        halvings: how often the rest of the way is halved.
    """
    way = outside - inside

    def at(share: float) -> Array | None:
        point = known.settle(inside + share * way)
        return point if holds(point) else None

    first = _find_first(lambda i: at(SHARES[i]) is not None, len(SHARES))
    if first is None:
        return None
    low, high = SHARES[first], SHARES[first - 1] if first else 1.0
    best = at(low)
    for _ in range(halvings):
        share = 0.5 * (low + high)
        candidate = at(share)
        if candidate is None:
            high = share
        else:
            best, low = candidate, share
        if high - low <= HALVING_END:
            break
    return best
