r"""The nearest point of several balls and half-spaces, and of a known set; one NumPy run.

The sets are :math:`\{q : U_i(q) = h_i + s_i^\top q + \frac{\beta_i}2\|q\|^2 \le 0\}`, with
:math:`\beta_i = 0` for half-spaces, and K. For multipliers :math:`\lambda \ge 0` the point of K
where :math:`\frac12\|q - v\|^2 + \sum_i\lambda_iU_i(q)` is smallest is

.. math:: q(\lambda) = \Pi_K\Big(\frac{v - \sum_i\lambda_is_i}{1 + \sum_i\lambda_i\beta_i}\Big),

and that minimum is a concave function of :math:`\lambda` with slope :math:`U_i(q(\lambda))`. It is
increased one multiplier after the other (:func:`ascend`), or, where K is a box, by Newton's method
(:func:`ascend_boxed`). The result is not trusted: it is checked in float64, row by row with half of
the margin, and by K's own ``contains``; if that fails, the way there from x is shortened until it
holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.arrays import dot, norm
from surefoot.core.types import Array
from surefoot.regions.known_set import AllSets, draw_back
from surefoot.regions.quadratic import draw_along_slope, project_onto_ball
from surefoot.regions.region import Projection
from surefoot.sets._active_set import project_halfspaces

__all__ = ["Quadratics", "ascend", "ascend_boxed"]

TRIES = 3
"""A far point loses digits in the first search; the second starts where they are not lost."""
REFINED = 4
"""How often half-spaces are moved again by the length of the step that they led to, within K."""
NEWTON = 60
CLOSE = 2.0**-6
"""Of the margin, how far a multiplier with a closed form leaves its row from 0."""


class Quadratics(NamedTuple):
    """The points where several quadratic bounds are at most 0, and that are in K.

    Attributes:
        x: where the slopes were read.
        level: h, the bounds there, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: the curvatures, ``(m,)``.
        margin: e of each row, for rounding.
        known: K; None for the whole space.
        sweeps: how often each multiplier has its turn in a search, at most.
        longest: a limit on the multipliers of a search by active sets; None for no such search.
    """

    x: Array
    level: Array
    s: Array
    beta: Array
    margin: Array
    known: AllSets | None
    sweeps: int
    longest: float | None = None

    def bounds(self, point: Array) -> Array:
        """Return the bound of each row at a point with half of the margin."""
        return values(point - self.x, self.level + 0.5 * self.margin, self.s, self.beta)

    def holds(self, point: Array) -> bool:
        """Return whether a point passes the check of every row, and K contains it."""
        if (self.bounds(point) > 0).any():
            return False
        return self.known is None or self.known.contains(point)

    def find_nearest(self, w: Array, near: Array) -> Projection:
        """Return the nearest point with its multipliers; x where none passes the check.

        Args:
            w: the wanted action.
            near: multipliers of a similar problem; only how soon the search ends depends on them.
        """
        if self.holds(w):
            return Projection(w, np.zeros(len(self.level)), 0.0)
        q, weights = self._solve(w - self.x, near)
        # A far point loses digits: once more from where they are not lost, with what is over.
        over = np.maximum(values(q, self.level + self.margin, self.s, self.beta), 0.0)
        size = np.vecdot(self.s, self.s)
        again = q - (over / np.where(size > 0, size, 1.0)) @ self.s
        for end in (q, again):
            point = self._settle(self.x + end)
            if self.holds(point):
                return Projection(point, weights, norm(point - self.x - q))
        return self._draw(q, weights)

    def _solve(self, v: Array, near: Array) -> tuple[Array, Array]:
        """Return the point of the balls and K nearest to v, relative to x, and its multipliers."""
        up, close = self.level + self.margin, CLOSE * self.margin
        if self.known is None:
            return ascend(v, up, self.s, self.beta, near, close, close, self.sweeps)
        if (corners := self.known.corners) is not None:
            box = corners[0] - self.x, corners[1] - self.x
            found = ascend_boxed(v, up, self.s, self.beta, *box, 0.25 * self.margin, near)
            if found is not None:
                return found
        alone = ascend(v, up, self.s, self.beta, near, close, close, self.sweeps)
        if self.known.contains(self.x + alone[0]):
            return alone  # what is nearest without K, and in it, is nearest with it
        return self._solve_within(v, up, self.beta)

    def _solve_within(self, v: Array, up: Array, beta: Array) -> tuple[Array, Array]:
        """Return the point of balls and K nearest to v by a search for each multiplier."""
        known = self.known
        assert known is not None
        above = 0.25 * self.margin
        size = abs(up) + np.sqrt(np.vecdot(self.s, self.s)) * norm(v)
        below = np.maximum(above, 1e-10 * size)

        def onto(q: Array) -> Array:
            return known.project(self.x + q) - self.x

        none = np.zeros(len(up))
        return ascend(v, up, self.s, beta, none, above, below, self.sweeps, onto)

    def find_cut(self, w: Array) -> Projection:
        r"""Return where a step to w ends that is cut by half-spaces; x where none passes the check.

        The half-spaces are :math:`h_i + s_i^\top q + \frac{\beta_i}2P^2 \le 0`, with P the length
        of the step that they lead to. One row without K is drawn back along its slope.
        """
        if self.holds(w):
            return Projection(w, np.zeros(len(self.level)), 0.0)
        v, up = w - self.x, self.level + self.margin
        if len(up) == 1 and self.known is None:
            size = norm(self.s[0])
            q, weight = draw_along_slope(v, float(up[0]), self.s[0], size, float(self.beta[0]))
            point = self.x + q
            point = point if self.holds(point) else self.x
            return Projection(point, np.array([weight]), norm(point - self.x - q))
        if self.known is not None:
            alone = self._replace(known=None).find_cut(w)
            if alone.drawn <= 1e-13 * norm(w) and self.holds(alone.point):
                return alone  # what is cut without K, and in it, needs no K
        return self._refine_cut(v, up)

    def _refine_cut(self, v: Array, up: Array) -> Projection:
        """Return a step cut by half-spaces that are moved by the length of what they lead to."""
        squared, most = dot(v, v), 2 if self.known is None else REFINED
        best, failed = None, None
        for turn in range(most + 1):
            q, weights = self._cut_by_halfspaces(v, up + 0.5 * self.beta * squared)
            point = self._settle(self.x + q)
            before, squared = squared, dot(q, q)
            if not self.holds(point):
                # The step was longer than what the half-spaces were moved for.
                failed = failed or (q, weights)
                squared = 1.02 * squared if turn or self.known is not None else squared
                continue
            best = Projection(point, weights, norm(point - self.x - q))
            settled = self.known is not None and abs(before - squared) <= 1e-3 * before
            # Without curvature no length moves the half-spaces, and the first answer is the last.
            if failed or settled or turn + 1 >= most or not self.beta.any():
                break
        if best is None:
            assert failed is not None
            return self._draw(*failed)
        return best

    def _cut_by_halfspaces(self, v: Array, up: Array) -> tuple[Array, Array]:
        """Return the point of half-spaces and K nearest to v, and its multipliers."""
        flat = np.zeros(len(up))
        if self.known is not None:
            return self._solve_within(v, up, flat)
        if self.longest is not None:
            # The check has half of the margin; multipliers of rows that nearly cancel are refused.
            least = 0.25 * float(self.margin.min())
            found = project_halfspaces(up + self.s @ v, self.s, least, self.longest)
            if found is not None:
                return v + found[0], found[1]
        close = CLOSE * self.margin
        return ascend(v, up, self.s, flat, flat, close, close, self.sweeps)

    def _draw(self, q: Array, weights: Array) -> Projection:
        """Return what passes of the way from x, or x."""
        end = self._settle(self.x + q)
        point = draw_back(self.holds, self.known, self.x, end)
        point = self.x if point is None else point
        return Projection(point, weights, norm(point - self.x - q))

    def _settle(self, point: Array) -> Array:
        return point if self.known is None else self.known.snap_inside(point)


def values(q: Array, up: Array, s: Array, beta: Array) -> Array:
    """Return each quadratic at q, which is relative to where the slopes were read."""
    return up + s @ q + 0.5 * beta * dot(q, q)


def ascend(
    v: Array,
    up: Array,
    s: Array,
    beta: Array,
    weights: Array,
    above: Array,
    below: Array,
    sweeps: int,
    onto: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Return q and its multipliers, each in turn made the best for the others as they are.

    Args:
        v: the point to project.
        up: h, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: the curvatures, ``(m,)``.
        weights: the multipliers to begin with.
        above: how far above 0 a quadratic may end, ``(m,)``.
        below: half of how far below 0 one with a multiplier may.
        sweeps: how often each multiplier has its turn, at most.
        onto: the projection onto K, relative to where the slopes were read; None for no K.

    Example:
        >>> corner, h, none = np.eye(2), np.array([-1.0, -0.5]), np.zeros(2)
        >>> ascend(np.array([3.0, 2.0]), h, corner, none, none, none, none, 3)
        (array([1. , 0.5]), array([2. , 1.5]))
        >>> limit = lambda q: np.minimum(q, [0.25, 9.0])  # a known limit of the first entry
        >>> row, h, none = np.array([[1.0, 1.0]]), np.array([-1.0]), np.zeros(1)
        >>> ascend(np.ones(2), h, row, none, none, none, np.full(1, 1e-9), 5, limit)[0].round(8)
        array([0.25, 0.75])
    """
    lam = np.array(weights)

    def at() -> Array:
        q = (v - lam @ s) / (1.0 + lam @ beta)
        return q if onto is None else onto(q)

    q = at()
    over = values(q, up, s, beta)
    for _ in range(sweeps):
        if ((over <= above) & ((lam == 0) | (over >= -2 * below))).all():
            break
        for i in range(len(up)):
            # Where q is what the multipliers make of v, a row that holds without one needs none.
            if lam[i] == 0 and over[i] <= 0:
                continue
            old, lam[i] = float(lam[i]), 0.0
            rest, c = v - lam @ s, 1.0 + float(lam @ beta)
            row = up[i].item(), s[i], beta[i].item()
            if onto is None:
                h, slope, b = row
                weight = c * project_onto_ball(rest / c, h, slope, dot(slope, slope), b)[1]
            else:
                weight = _find_root(rest, c, *row, old, onto, float(below[i]))
            if weight == math.inf:
                lam[i] = old
                return q, lam
            lam[i] = weight
            q = at()
            over = values(q, up, s, beta)
    return q, lam


def _find_root(
    rest: Array,
    c: float,
    h: float,
    s: Array,
    beta: float,
    near: float,
    onto: Callable[[Array], Array],
    tolerance: float,
) -> float:
    """Return the multiplier of a row for the others as they are, on the side where it holds.

    The row's quadratic falls as its multiplier grows; each try projects once onto K. It is infinite
    where none is enough.
    """

    def at(weight: float) -> float:
        q = onto((rest - weight * s) / (c + weight * beta))
        return float(h + dot(s, q) + 0.5 * beta * dot(q, q))

    low, f_low = 0.0, at(0.0)
    if f_low <= 0:
        return 0.0
    size = dot(s, s) + beta
    high = near if near > 0 else f_low / size if size > 0 else math.inf
    if not 0 < high < math.inf:
        return math.inf
    for _ in range(80):
        f_high = at(high)
        if f_high <= 0:
            break
        low, f_low, high = high, f_high, 4.0 * high
    else:
        return math.inf
    # Regula falsi with the end that stays halved (Illinois); it ends on the side that holds.
    for k in range(100):
        if f_high >= -tolerance or high - low <= 4e-16 * high:
            break
        x = (low * f_high - high * f_low) / (f_high - f_low) if k % 8 < 7 else 0.5 * (low + high)
        if not low < x < high:
            x = 0.5 * (low + high)
        f = at(x)
        if f <= 0:
            high, f_high, f_low = x, f, 0.5 * f_low
        else:
            low, f_low, f_high = x, f, 0.5 * f_high
            if f_high >= -tolerance:  # only its weight was halved, not the value
                f_high = min(f_high, -2 * tolerance)
    return high


def ascend_boxed(
    v: Array,
    up: Array,
    s: Array,
    beta: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    near: Array,
) -> tuple[Array, Array] | None:
    r"""Return q and its multipliers for a box by Newton's method; None where none was found.

    Where no entry of q changes between a face of the box and its inside, the dual function has the
    second derivative :math:`-NN^\top/c`: :math:`c = 1 + \lambda^\top\beta`, and the rows of N are
    :math:`s_i + \beta_iq` in the entries that are inside. One round of a control loop is close to
    the one before, so that a handful of steps does what cyclic ascent does in hundreds.

    Args:
        v: the point to project.
        up: h, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: the curvatures, ``(m,)``.
        lower: the lower corner of the box, relative to where the slopes were read.
        upper: the upper one.
        tolerance: how far above 0 a quadratic may end, and below it with a multiplier, ``(m,)``.
        near: multipliers of a similar problem to start from.

    Example:
        >>> row, h, none = np.array([[1.0, 1.0]]), np.array([-1.0]), np.zeros(1)
        >>> low, high = np.array([-1.0, -1.0]), np.array([0.25, 9.0])
        >>> ascend_boxed(np.ones(2), h, row, none, low, high, np.full(1, 1e-12), none)[0].round(8)
        array([0.25, 0.75])
    """

    def at(lam: Array) -> tuple[Array, Array, float, float, Array]:
        c = 1.0 + float(lam @ beta)
        free = (v - lam @ s) / c
        q = np.minimum(np.maximum(free, lower), upper)
        over = values(q, up, s, beta)
        way = q - v
        return q, over, c, 0.5 * dot(way, way) + float(lam @ over), free == q

    lam = np.maximum(near, 0.0)
    q, over, c, dual, inside = at(lam)
    wide = lower < upper
    shift = 0.0  # added to the second derivative while steps fail, as far from the solution
    for _ in range(NEWTON):
        if (over <= tolerance).all() and (abs(over[lam > 0]) <= tolerance[lam > 0]).all():
            return q, lam
        rows = (lam > 0) | (over > 0)
        # An entry that would just reach a face may leave it again.
        step = c * _newton_step(s[rows] + beta[rows, None] * q, inside & wide, over[rows], shift)
        length: float = 1.0
        found: Any = None
        for _ in range(20):
            trial = lam.copy()
            trial[rows] = np.maximum(lam[rows] + length * step, 0.0)
            found = at(trial)
            # Near the solution the gain is below the rounding of the dual function.
            if found[3] >= dual + 1e-4 * float(over @ (trial - lam)) - 1e-13 * abs(dual):
                break
            length *= 0.5
        else:
            if shift > 1e3:
                return None
            shift = max(10.0 * shift, 1e-3)
            continue
        shift = 0.0 if length == 1.0 else shift
        if (trial == lam).all():
            return None
        lam, (q, over, c, dual, inside) = trial, found
    return None


def _newton_step(N: Array, free: Array, over: Array, shift: float) -> Array:
    """Return the change of the multipliers, up to c, that Newton's method wants."""
    size = np.vecdot(N, N)
    N = N[:, free]
    H = N @ N.T
    H.flat[:: len(H) + 1] += (1e-14 + shift) * np.maximum(size, 1e-3 * size.max() + 1e-290)
    return np.linalg.solve(H, over)
