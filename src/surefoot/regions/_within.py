"""The nearest certified point of a known set: NumPy, run by run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot._array import dot, norm
from surefoot.errors import InvalidValueError
from surefoot.regions._ball import Found
from surefoot.regions._boxed import ascend_boxed, box_of
from surefoot.regions._known import EmptyRegionError, projection_onto, settle
from surefoot.regions._quadratics import ascend_within, row_norms
from surefoot.types import Array

__all__ = ["nearest_within"]

# How often half-spaces are moved again by the length of the step that they led to.
_REFINED = 4


def nearest_within(
    region: Any, w: Array, v: Array, up: Array, rates: Array, near: Array | None = None
) -> Found:
    """Return the point of the region and its sets nearest to w, or where a step to w is cut.

    Args:
        region: a :class:`surefoot.regions.RowsRegion` with sets.
        w: the wanted action.
        v: the way there.
        up: the values, with their margins.
        rates: the curvatures; all 0 for a cut by half-spaces.
        near: multipliers of a similar problem, which a search may start from.
    """
    if type(region.g) is not np.ndarray:
        raise InvalidValueError(f"domain must be None but for NumPy arrays, got {region.sets[0]!r}")
    if region.g.ndim == 1:
        rates = np.broadcast_to(np.asarray(rates, dtype=np.float64), up.shape)
        return _one_within(region, w, v, up, rates, near)
    rates = np.broadcast_to(rates, up.shape)
    full = np.broadcast_to(region.known.rates(region.g), up.shape)
    found, weights, drawn = np.empty_like(w), np.empty_like(up), np.empty((len(w), 1))
    for i in range(len(w)):
        known = region.known.with_rates(full[i])
        one = region._replace(
            known=known, x=region.x[i], g=region.g[i], s=region.s[i], margin=region.margin[i]
        )
        if not np.isfinite(region.x[i]).all() or not np.isfinite(v[i]).all():
            found[i], weights[i], drawn[i] = np.nan, np.nan, np.nan
            continue
        found[i], weights[i], drawn[i] = _one_within(one, w[i], v[i], up[i], rates[i])
    return Found(found, weights, drawn)


def _one_within(
    region: Any, w: Array, v: Array, up: Array, rates: Array, near: Array | None = None
) -> Found:
    zero = np.zeros(len(up))
    if region.holds(w):
        return Found(w, zero, 0.0)
    flat, full = not rates.any(), np.broadcast_to(region.known.rates(region.g), up.shape)
    corners = box_of(region.sets)
    if corners is not None and not flat:
        lower, upper = corners[0] - region.x, corners[1] - region.x
        solved = ascend_boxed(v, up, region.s, rates, lower, upper, 0.25 * region.margin, near)
        if solved is not None:
            point = settle(region.sets, region.x + solved[0])
            if region.holds(point):
                return Found(point, solved[1], 0.0)
    free = region._replace(known=region.known.without_domain(), announced=None)
    alone: Found = free._cut(w) if flat and full.any() else free.search(w)
    if alone.drawn <= 1e-13 * region.known.reach and region.holds(alone.point):
        return alone  # what is nearest without the sets, and in them, is nearest with them
    onto = projection_onto(region.sets)
    best, end = None, settle(region.sets, onto(w))
    length, failed = dot(v, v), False
    for _ in range(_REFINED if flat and full.any() else 1):
        # Half-spaces are moved by what the curvature may add over the length of the step.
        found = ascend_within(
            v,
            up + 0.5 * full * length if flat else up,
            region.s,
            rates,
            lambda q: onto(region.x + q) - region.x,
            np.maximum(0.25 * region.margin, 1e-10 * (abs(up) + row_norms(region.s) * norm(v))),
            region.known.sweeps,
        )
        if found is None:
            break
        point = settle(region.sets, region.x + found[0])
        before, length = length, dot(found[0], found[0])
        if not region.holds(point):
            # The step was longer than what the half-spaces were moved for: now for this length.
            end, failed = (point if best is None else end), True
            length = 1.02 * length
            continue
        best = Found(point, found[1], 0.0)
        if failed or abs(before - length) <= 1e-3 * before:
            break
    if best is not None:
        return best
    base = region.x if all(known.contains(region.x) for known in region.sets) else _common(region)
    point = _between(region, base, end)
    return Found(point, zero, norm(point - w))


def _between(region: Any, base: Array, end: Array) -> Array:
    """Return the last point that passes on the way from one that does."""
    best, low, high = base, 0.0, 1.0
    for _ in range(30):
        point = settle(region.sets, base + 0.5 * (low + high) * (end - base))
        if region.holds(point):
            best, low = point, 0.5 * (low + high)
        else:
            high = 0.5 * (low + high)
    return best


def _common(region: Any) -> Array:
    """Find a certified point of the announced set; say so where there seems to be none."""
    alone = region._replace(known=region.known.without_domain(), announced=None)
    onto = projection_onto(region.sets)
    a, gap = region.x, math.inf
    for k in range(500):
        b = onto(a)
        if region.holds(b):
            return b
        before, a = a, alone.search(b).point
        if norm(a - before) <= 1e-14 * region.known.reach:
            break
        if k % 20 == 19:  # sets that are apart: the gap between them stays
            last, gap = gap, norm(b - a)
            if gap > 0.999 * last:
                break
    # A set that is touched in one point: that point, if the set itself says that it holds it.
    if region.holds(a):
        return a
    raise EmptyRegionError.of_set(region.sets[-1], a, norm(b - a))
