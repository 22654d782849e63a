"""The nearest certified point of a known set: NumPy, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import certainly, dot, norm, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number
from surefoot.regions._ball import Found
from surefoot.regions._bent import nothing, searched
from surefoot.regions._boxed import ascend_boxed, box_of
from surefoot.regions._known import EmptyRegionError, meeting_point, projection_onto, settle
from surefoot.regions._quadratics import ascend_within, row_norms

__all__ = ["common_point", "nearest_within"]

# How often half-spaces are moved again by the length of the step that they led to.
_REFINED = 4
# How often a point in common is looked for, unless none is proved to be there before.
_TURNS = 1_000


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
    found, weights, drawn = np.empty_like(w), np.empty_like(up), np.empty((len(w), 1))
    for i in range(len(w)):
        if not np.isfinite(region.x[i]).all() or not np.isfinite(v[i]).all():
            found[i], weights[i], drawn[i] = np.nan, np.nan, np.nan
            continue
        try:
            one = _one_within(_run(region, i), w[i], v[i], up[i], rates[i])
        except EmptyRegionError:
            one = Found(np.nan, np.nan, np.nan)
        found[i], weights[i], drawn[i] = one
    return Found(found, weights, drawn)


def _run(region: Any, i: int) -> Any:
    """Return the region of one run of a batch."""
    full = np.broadcast_to(region.known.rates(region.g), region.g.shape)
    parts = {name: getattr(region, name)[i] for name in ("x", "g", "s", "margin")}
    whole = None if region.whole is None else _run(region.whole, i)
    return region._replace(known=region.known.of_run(i, full[i]), whole=whole, **parts)


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
    base = region.x
    stays = all(known.contains(base) for known in region.sets)
    # For a fixed g an action that was played stays certified, whatever is read there.
    if not stays or (region.known.drift is not None and not region.holds(base)):
        base = common_point(region if region.whole is None else region.whole)
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


def pulled_into(region: Any, point: Array, share: Number) -> tuple[Array, Any]:
    """Return where the way on from a pulled point to the anchor enters the sets; whether it does.

    All of that way is certified, since the anchor is and g is convex. An anchor outside of the sets
    is of no help; and where the action itself is certified, but outside, g need not be convex.

    Args:
        region: under drift, with sets.
        point: where convexity bounds g by 0.
        share: how much of the way to the anchor that is; 0 for a certified action, above 1 where
            there is no such point.
    """
    way = region.anchor.x - point
    rounding = 8 * (point.shape[-1] + 8) * 2.0**-53 * region.known.reach

    def at(theta: Number) -> tuple[Array, Any]:
        there = point + theta * way
        near = settle(region.sets, there)
        # Only what rounding did to a mean of points of the sets is taken back.
        good = norm(near - there) <= rounding
        for known in region.sets:
            good = good & known.contains(near)
        return near, bool(good) if point.ndim == 1 else good

    low, high = 0.0 * share, 1.0 + 0.0 * share
    (first, whole), (best, end) = at(low), at(high)
    for _ in range(0 if certainly(whole) or end is False else 30):
        middle = 0.5 * (low + high)
        found, good = at(middle)
        best, low, high = (
            where(good, found, best),
            where(good, low, middle),
            where(good, middle, high),
        )
    return where(whole, first, best), (whole | end) & (share > 0) & (share <= 1)


def common_point(region: Any) -> Array:
    r"""Find a certified point of the announced sets; say so where there is none.

    Projections onto what is certified and onto the sets take turns: :math:`a_k` is the certified
    point nearest to :math:`b_{k-1}`, and :math:`b_k` that of the sets nearest to :math:`a_k`. A y
    in both has :math:`(a_k-b_{k-1})^\top(y-a_k) \ge 0` and :math:`(a_k-b_k)^\top(y-b_k) \le 0`,
    which together are :math:`\|a_k-b_k\|^2 \le (b_k-b_{k-1})^\top(y-a_k)`; so there is none once
    the left side is larger than :math:`2M\|b_k-b_{k-1}\|`.
    """
    alone = region._replace(known=region.known.without_domain(), announced=None)
    if region.known.drift is not None and not alone.holds(region.x):
        return _row_by_row(region)
    onto, M = projection_onto(region.sets), float(region.known.reach)
    a, b, tries = None, settle(region.sets, onto(region.x)), 2
    for _ in range(_TURNS):
        if region.holds(b):
            return b
        a = searched(alone, b, type(alone).search, b if a is None else a, tries).point
        before, b = b, settle(region.sets, onto(a))
        gap, moved = norm(b - a), norm(b - before)
        if gap * gap > 4 * M * moved or (gap == 0 and moved == 0):
            if tries > 2:
                break
            tries = 8  # what is to be proved needs the nearest point itself
        # Beyond the certified boundary there may be a point of both, where the turns only near it.
        beyond = settle(region.sets, onto(2 * a - before))
        if region.holds(beyond):
            return beyond
    # A set that is touched in one point: that point, if the set itself says that it holds it.
    if region.holds(a):
        return a
    raise EmptyRegionError.of_set(region.sets[-1], a, norm(b - a))


def _row_by_row(region: Any) -> Array:
    """Find a certified point where the action is none: a projection for each row in its turn."""
    rows = [region.row(i) for i in range(len(region.g))]
    if all(row.holds(row.nearest(region.x)) for row in rows):
        found = meeting_point([row.nearest for row in rows], region.sets, region.holds, region.x)
        if found is not None:
            return found
    raise nothing(region)
