r"""Searches in regions whose slope errs, by way of balls inside of them.

An error of the slope bends a region. The bound
:math:`U(q) = h + s^\top q + \tau\|q\| + \frac\beta2\|q\|^2` is at most
:math:`h + \frac{\tau\ell}2 + s^\top q + \frac12(\beta + \tau/\ell)\|q\|^2` for any length
:math:`\ell > 0`, with the same value and slope where :math:`\|q\| = \ell`. So the projection onto
the ball of the right length is that onto :math:`\{U \le 0\}`, and that onto any other is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.arrays import maximum, minimum, norm, sqrt, where
from surefoot.core.types import Array, Number
from surefoot.regions.region import Projection

__all__ = ["nonempty_lengths", "search_lengths"]

TRIES = 8
SHORTEST = 1e-12
"""A length relative to the reach, at which the error of the slope is below every margin."""


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


def search_lengths(
    region: Any,
    w: Array,
    search: Callable[[Any, Array], Projection],
) -> tuple[Projection, Any]:
    """Search in balls inside of a region, each for the length of the last answer.

    Args:
        region: with ``x``, ``reach``, ``ball_of(length)``, ``lengths()`` and ``holds(point)``.
        w: what is wanted.
        search: a search in such a ball.

    Returns:
        The best answer, and whether it is certified.
    """
    low, high = region.lengths()
    length = norm(w - region.x)
    # At both ends the ball is a point, which no search from an uncertified x gets away from.
    inside = maximum(minimum(length, 0.5 * high), 2.0 * low)
    between = sqrt(low * maximum(minimum(high, 4.0 * low), 0.0 * low))
    inside = where(4.0 * low > high, between, inside)
    length = where(low > 0, inside, length)
    shortest = SHORTEST * region.reach + 0.0 * length
    best, sure = None, False
    for _ in range(TRIES):
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
