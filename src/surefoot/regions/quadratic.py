r"""The ball of one quadratic bound, :math:`h + s^\top(p-x) + \frac\beta2\|p-x\|^2 \le 0`.

Nothing here divides by :math:`\beta`: for :math:`\beta = 0` the ball is a half-space, and no
curvature is too small. A bound is kept below 0 by a margin; :mod:`surefoot.regions.curvature` says
why what :meth:`Quadratic.holds` accepts is feasible, whatever way it was found.

An error of the slope bends a region. The bound
:math:`U(q) = h + s^\top q + \tau\|q\| + \frac\beta2\|q\|^2` is at most
:math:`h + \frac{\tau\ell}2 + s^\top q + \frac12(\beta + \tau/\ell)\|q\|^2` for any length
:math:`\ell > 0`, with the same value and slope where :math:`\|q\| = \ell`. So the projection onto
the ball of the right length is that onto :math:`\{U \le 0\}`, and that onto any other is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.arrays import dot, maximum, minimum, norm, sqrt, where
from surefoot.core.types import Array, Number
from surefoot.regions.region import Projection

_UNIT = 2.0**-53
TRIES = 3
"""A far point loses digits in the first projection; the second starts where they are not lost."""
LENGTHS = 8
"""How many lengths are tried at the most where the slope errs."""
SHORTEST = 1e-12
"""A length relative to the reach, at which the error of the slope is below every margin."""


class Quadratic(NamedTuple):
    """The points where a quadratic bound is at most 0.

    Attributes:
        x: where the slope was read.
        level: h, the bound there.
        s: the slope.
        squared: the inner product of s with itself.
        beta: the curvature.
        margin: e, for rounding: points are sought where the bound is at most -e, and accepted where
            it is at most -e/2.
    """

    x: Array
    level: Number
    s: Array
    squared: Number
    beta: Number
    margin: Number

    @property
    def up(self) -> Number:
        """The bound at x with the margin."""
        return self.level + self.margin

    def bound(self, point: Array) -> Number:
        """Return the bound at a point with half of the margin."""
        v = point - self.x
        return self.level + 0.5 * self.margin + dot(self.s, v) + 0.5 * self.beta * dot(v, v)

    def holds(self, point: Array) -> Array:
        """Return whether the computed bound at a point is at most 0."""
        return self.bound(point) <= 0

    def find_nearest(self, w: Array) -> Projection:
        """Return the nearest point with its multiplier; x where none passes the check."""
        v, found, good, first = w - self.x, w, self.holds(w), None
        for _ in range(TRIES):
            if good is True or (isinstance(good, np.ndarray) and good.all()):
                break
            v, weight = project_onto_ball(v, self.up, self.s, self.squared, self.beta)
            first = (v, weight) if first is None else first
            found = where(good, found, self.x + v)
            good, v = self.holds(found), found - self.x
        if first is None:
            return Projection(found, 0.0 * self.level, 0.0 * self.level)
        point = where(good, found, self.x)
        return Projection(point, first[1], norm(point - self.x - first[0]))

    def find_cut(self, w: Array) -> Projection:
        """Return where a step to w ends that is drawn back along the slope, not to the nearest."""
        good = self.holds(w)
        q, weight = draw_along_slope(w - self.x, self.up, self.s, sqrt(self.squared), self.beta)
        point = where(good, w, self.x + q)
        point = where(self.holds(point), point, self.x)
        off = norm(point - self.x - q)
        return Projection(point, where(good, 0.0 * weight, weight), where(good, 0.0 * off, off))


Search = Callable[[Quadratic, Array], Projection]


def curvature_margin(
    g: Number, size: Number, beta: Number, reach: Number, dimension: int, error: Number
) -> Number:
    r"""Return e of :mod:`surefoot.regions.curvature`: what a bound is kept below 0 by.

    Args:
        g: the value.
        size: the norm of the slope.
        beta: the bound on the curvature.
        reach: M, the largest norm of a feasible point.
        dimension: n.
        error: :math:`\delta`, a bound on the error of a computed g beyond rounding.

    Example:
        >>> curvature_margin(-0.5, 1.0, 1.0, 1.0, 2, 0.0) < 1e-13
        True
    """
    e = 32 * (dimension + 8) * _UNIT * (abs(g) + size * reach + beta * reach * reach)
    return e + 4 * error


def project_onto_ball(
    v: Array, up: Number, s: Array, squared: Number, beta: Number
) -> tuple[Array, Number]:
    r"""Project v onto :math:`\{q : h + s^\top q + \frac\beta2\|q\|^2 \le 0\}`, with the multiplier.

    .. math:: q = \frac{v - \lambda s}{1 + \lambda\beta}, \qquad
              \lambda = \frac{2[U(v)]_+}{\nu(\nu + \|s + \beta v\|)},

    the multiplier in the form that keeps its digits for every :math:`\beta \ge 0`. Where the set
    is empty, or a point, v itself is returned.

    Args:
        v: the point, relative to where s was seen.
        up: h, the value there and a margin.
        s: the slope.
        squared: the inner product of s with itself.
        beta: the curvature.

    Example:
        >>> q, multiplier = project_onto_ball(
        ...     np.array([0.0, 4.0]), -1.5, np.array([0.0, 1.0]), 1.0, 1.0
        ... )
        >>> q, multiplier  # the ball around (0, -1) of radius 2
        (array([0., 1.]), 1.5)
    """
    over = up + dot(s, v) + 0.5 * beta * dot(v, v)
    nu = sqrt(maximum(squared - 2 * beta * up, 0.0 * squared))
    below = nu * (nu + norm(s + beta * v))
    weight = 2 * maximum(over, 0.0 * over) / where(below > 0, below, math.inf)
    return (v - weight * s) / (1 + beta * weight), weight


def draw_along_slope(
    w: Array, up: Number, s: Array, size: Number, beta: Number
) -> tuple[Array, Number]:
    r"""Draw a step back along the slope until its quadratic bound is at most 0.

    .. math:: q = w - \Big[\frac{s^\top w}{\|s\|} - z\Big]_+\frac{s}{\|s\|}, \qquad
              z = \frac{-2c}{\|s\| + \sqrt{\|s\|^2 - 2\beta c}}, \quad c = h + \tfrac\beta2 b^2,

    b the part of w across s: what is farther along s than the bound allows is taken off, as a
    Polyak step does, which it is for :math:`\beta = 0`. There is such a q for every
    :math:`\|w\| \le \nu/\beta`.

    Args:
        w: the step.
        up: h, the value where s was seen and a margin.
        s: the slope.
        size: its norm.
        beta: the curvature.

    Returns:
        q, and how many times s was taken off.

    Example:
        >>> draw_along_slope(np.array([0.0, 4.0]), -3.0, np.array([0.0, 2.0]), 2.0, 2.0)
        (array([0., 1.]), 1.5)
    """
    below = where(size > 0, size, 1.0)
    unit = s / below
    a = dot(unit, w)
    c = up + 0.5 * beta * maximum(dot(w, w) - a * a, 0.0 * a)
    root = size + sqrt(maximum(size * size - 2 * beta * c, 0.0 * c))
    z = -2 * c / where(root > 0, root, math.inf)
    off = maximum(a - z, 0.0 * a)
    return w - off * unit, where(size > 0, off / below, 0.0 * off)


def nonempty_lengths(
    up: Number, squared: Number, beta: Number, tau: Number
) -> tuple[Number, Number]:
    r"""Return the least and the largest length whose ball is not empty; they cross where none is.

    It is not empty where :math:`\|s\|^2 \ge 2(\beta + \tau/\ell)(h + \tau\ell/2)`, that is
    :math:`\beta\tau\ell^2 + (2\beta h + \tau^2 - \|s\|^2)\ell + 2\tau h \le 0`.

    Args:
        up: h.
        squared: the inner product of s with itself.
        beta: the curvature.
        tau: the error of the slope.

    Example:
        >>> nonempty_lengths(0.25, 4.0, 1.0, 1.0)
        (0.21922359359558485, 2.2807764064044154)
    """
    a, b, c = beta * tau, 2 * beta * up + tau * tau - squared, 2 * tau * up
    root = sqrt(maximum(b * b - 4 * a * c, 0.0 * b))
    # The form of each root that loses no digits.
    q = 0.5 * (where(b < 0, root - b, 0.0 * root) + where(b < 0, 0.0 * root, -b - root))
    one = where(a > 0, q / where(a > 0, a, 1.0), math.inf + 0.0 * q)
    other = where(q == 0, 0.0 * q, c / where(q == 0, 1.0, q))
    # b < 0: q > 0, `one` is the larger root; else q <= 0 and `other` is, where h < 0.
    low = where(b < 0, maximum(other, 0.0 + 0.0 * other), 0.0 * other)
    high = where(b < 0, one, other)
    return low, where(b * b >= 4 * a * c, high, -1.0 + 0.0 * b)


def search_lengths(region: Any, w: Array, search: Search) -> tuple[Projection, Array]:
    """Search in balls inside of a region, each for the length of the last answer.

    Args:
        region: with ``x``, ``reach``, ``ball``, ``slope_error``, ``ball_of`` and ``holds``.
        w: what is wanted.
        search: a search in such a ball.

    Returns:
        The best answer, and whether it is certified.
    """
    ball = region.ball
    low, high = nonempty_lengths(ball.up, ball.squared, ball.beta, region.slope_error)
    length = norm(w - region.x)
    # At both ends the ball is a point, which no search from an uncertified x gets away from.
    inside = maximum(minimum(length, 0.5 * high), 2.0 * low)
    between = sqrt(low * maximum(minimum(high, 4.0 * low), 0.0 * low))
    inside = where(4.0 * low > high, between, inside)
    length = where(low > 0, inside, length)
    shortest = SHORTEST * region.reach + 0.0 * length
    best, sure = None, False
    for _ in range(LENGTHS):
        length = maximum(minimum(maximum(length, low), high), shortest)
        found = search(region.ball_of(length), w)
        fine = region.holds(found.point)
        last, length = length, norm(found.point - region.x)
        if best is None:
            best, sure = found, fine
        else:
            nearer = norm(found.point - w) <= norm(best.point - w)
            better = fine & (nearer | (sure ^ True))  # not sure: a bool, or a column of them
            best = Projection(*(where(better, a, b) for a, b in zip(found, best, strict=True)))
            sure = sure | fine
        # Any length is safe; a millionth more of it is not worth another search.
        if isinstance(length, (float, np.ndarray)) and np.all(abs(length - last) <= 1e-6 * last):
            break
    assert best is not None
    return best, sure
