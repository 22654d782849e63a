r"""Searches in regions with errors: an error of the slope bends them, drift may leave x outside.

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

from surefoot.core.arrays import certainly, maximum, minimum, norm, number_like, sqrt, where
from surefoot.core.types import Array, Number
from surefoot.regions._ball import Found
from surefoot.regions._known import EmptyRegionError

__all__ = ["answered", "lengths_of_bent", "nothing", "searched"]

_TRIES = 8
_SHORTEST = 1e-12  # a length relative to the reach, at which tau |q| is below every margin


def lengths_of_bent(
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
        >>> lengths_of_bent(0.25, 4.0, 1.0, 1.0)
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
    return low, where(b * b >= 4 * a * c, high, -1.0 + 0.0 * high)


def answered(region: Any, w: Array, search: Callable[[Any, Array], Found]) -> Found:
    """Return what a search in a region with errors finds, as certified as one without.

    For a fixed g a search that fails ends where the action is, which stays certified. Under drift
    it may not be: then the nearest certified point to it is sought, and if there is none the
    action is pulled towards the anchor, for which g must be convex. Where that is of no help
    either, one run is refused and a run of a batch becomes NaN.

    Args:
        region: with ``bent``, ``lengths``, ``holds``, ``somewhere``, ``pulled`` and ``errors``.
        w: what is wanted.
        search: a search in a region without an error of the slope.
    """
    if region.known.drift is None:
        return searched(region, w, search)
    empty = None
    try:
        found = searched(region, w, search)
        good = region.holds(found.point)
        if certainly(good):
            return found
        back = region.somewhere()
        near = region.holds(back)
    except EmptyRegionError as error:  # of one run, for which the pull is left
        found, empty, back, good, near = Found(w, 0.0 * region.g, 0.0), error, w, False, False
    pull, fine = region.pulled()
    back, fine = where(near, back, pull), fine | near
    if fine is False:
        raise empty or nothing(region)
    back = where(fine, back, number_like(back, math.nan))
    return Found(
        where(good, found.point, back),
        where(good, found.weights, 0.0 * found.weights),
        where(good, found.drawn, norm(back - w)),
    )


def nothing(region: Any) -> EmptyRegionError:
    """Return the error for one run under drift in which neither x nor the anchor is certified."""
    here, deepest = float(region.bound(region.x)), float(np.max(region.anchor.g))
    point = region.x if here <= deepest else region.anchor.x
    t, drift = region.before.rounds + 1, region.errors.drift
    return EmptyRegionError.of_drift(t, point, min(here, deepest), drift)


def searched(
    region: Any,
    w: Array,
    search: Callable[[Any, Array], Found],
    near: Array | None = None,
    tries: int = _TRIES,
) -> Found:
    """Search in balls inside of a region with a slope error, each for the last answer's length.

    Args:
        region: with or without one; without, the search is all there is to do.
        w: what is wanted.
        search: a search in a region without an error of the slope.
        near: an answer to a similar question, whose length is tried first; w unless given.
        tries: how many lengths are tried, at most.
    """
    if region.slope_error is None:
        return search(region, w)
    good = region.holds(w)
    low, high = region.lengths()
    length = norm((w if near is None else near) - region.x)
    # At both ends the ball is a point, which no search from an uncertified x gets away from.
    inside = maximum(minimum(length, 0.5 * high), 2.0 * low)
    between = sqrt(low * maximum(minimum(high, 4.0 * low), 0.0 * low))
    inside = where(4.0 * low > high, between, inside)
    length = where((low > 0) | (near is not None), inside, length)
    shortest = _SHORTEST * region.known.reach + 0.0 * length
    best, sure = None, False
    for _ in range(tries):
        length = maximum(minimum(maximum(length, low), high), shortest)
        found = search(region.bent(length), w)
        fine = region.holds(found.point)
        last, length = length, norm(found.point - region.x)
        if best is None:
            best, sure = found, fine
        else:
            nearer = norm(found.point - w) <= norm(best.point - w)
            better = fine & (nearer | (~sure if type(sure) is not bool else not sure))
            best = Found(*(where(better, a, b) for a, b in zip(found, best, strict=True)))
            sure = sure | fine
        # Any length is safe; a millionth more of it is not worth another search.
        if type(length) in (float, np.ndarray) and bool(np.all(abs(length - last) <= 1e-6 * last)):
            break
    assert best is not None
    point = where(good, w, region.checked(best.point))
    drawn = best.drawn + norm(best.point - point)
    weights = where(good, 0.0 * best.weights, best.weights)
    return Found(point, weights, where(good, 0.0 * drawn, drawn))
