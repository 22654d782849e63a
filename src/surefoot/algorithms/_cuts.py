r"""Half-spaces that a leader remembers, with the multipliers of an inexact projection onto them.

A cut is :math:`\{Z : u_i^\top Z \le o_i\}` with a unit normal, relative to the first action. The
leader minimises :math:`\theta^\top Z + \|Z\|^2/(2\eta)` over the cuts, by its dual: with
multipliers :math:`\mu \ge 0` (times :math:`\eta`) the minimiser is
:math:`Z(\mu) = -\eta\theta - \sum\mu_iu_i`, and with :math:`v_i = u_i^\top Z - o_i` and C the
matrix of the products of the normals, a change d of :math:`\mu` raises the dual by at least
:math:`d^\top v - d^\top Cd/2`. No step here lowers that number, which is all that the regret of
the leader needs; that a projection is not exact costs a smaller rise, and nothing else.

A memory has a fixed number K of slots. An empty one has a zero normal and an offset above 0, so
that it never does anything, and arithmetic on all slots is right without looking which are empty.
One NumPy run works on the slots in use only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.arrays import (
    combine,
    constant,
    dot,
    maximum,
    minimum,
    namespace,
    ndarray,
    norm,
    record,
    rows_dot,
    where,
)
from surefoot.core.types import Array, Number
from surefoot.sets import project_halfspace

__all__ = [
    "Cuts",
    "InUse",
    "as_read",
    "cut_off",
    "in_use",
    "keep_off",
    "nearer",
    "no_cuts",
    "project",
    "remember",
    "slope_over",
    "stored",
    "way_length",
    "within",
]


class Cuts(NamedTuple):
    """Remembered half-spaces; arrays of K slots, with a leading axis of runs in a batch.

    Attributes:
        normals: unit vectors u_i, a row per slot; zero in an empty slot.
        offsets: o_i.
        inverses: 1/|s_i| of the subgradient that the cut came from; what a tightening of g by rho
            tightens the cut by is rho times it.
        products: of the normals with each other.
        weights: mu_i.
        count: how many slots are in use.
    """

    normals: Array
    offsets: Array
    inverses: Array
    products: Array
    weights: Array
    count: Number


def no_cuts(x1: Array, slots: int, zero: Number) -> Cuts:
    """Return an empty memory."""
    xp = namespace(x1)
    flat = xp.broadcast_to(0.0 * x1[..., :1], (*x1.shape[:-1], slots)) + 0.0
    normals = xp.broadcast_to(x1[..., None, :] * 0.0, (*x1.shape[:-1], slots, x1.shape[-1])) + 0.0
    products = xp.broadcast_to(flat[..., None, :], (*x1.shape[:-1], slots, slots)) + 0.0
    return Cuts(normals, flat + 1.0, flat, products, flat, zero)


# --- one NumPy run: branches, and copies only of what changes ------------------------------------


def _remember_one(
    cuts: Cuts, u: Array, offset: float, inverse: float, z: Array
) -> tuple[Cuts, int]:
    normals, offsets, inverses, products, weights, count = cuts
    n, slots = int(count), len(offsets)
    row = normals[:n].dot(u)
    if n:
        i = int(row.argmax())
        if row[i] > 1 - 1e-9 and _is_same(normals[i], u):
            if offset < offsets[i]:
                offsets = offsets.copy()
                offsets[i] = offset
                cuts = cuts._replace(offsets=offsets)
            return cuts, i
    normals, offsets, inverses = normals.copy(), offsets.copy(), inverses.copy()
    products, weights = products.copy(), weights.copy()
    if n < slots:
        at = n
        count += 1.0
    elif (idle := weights == 0.0).any():
        # The cut that does nothing, and is furthest from doing something.
        at = int(np.where(idle, offsets - normals @ z, -np.inf).argmax())
    else:
        # The two that do least become their sum: no term of the dual changes.
        into, at = (int(k) for k in np.argpartition(weights, 1)[:2])
        a, b = float(weights[into]), float(weights[at])
        both = a * normals[into] + b * normals[at]
        size = float(np.sqrt(both @ both))
        if size > 0.0:
            normals[into] = both / size
            offsets[into] = (a * offsets[into] + b * offsets[at]) / size
            inverses[into] = (a * inverses[into] + b * inverses[at]) / size
            weights[into] = size
        else:  # opposed, and they cancel: without them the dual is higher
            normals[into], offsets[into], inverses[into], weights[into] = 0.0, 1.0, 0.0, 0.0
        line = normals @ normals[into]
        products[into], products[:, into] = line, line
        row = normals @ u
    normals[at], offsets[at], inverses[at], weights[at] = u, offset, inverse, 0.0
    if len(row) < slots:
        row = np.concatenate([row, np.zeros(slots - len(row))])
    row[at] = u @ u
    products[at], products[:, at] = row, row
    return Cuts(normals, offsets, inverses, products, weights, count), at


# --- every other run: the same with choices instead of branches ----------------------------------


def _remember_each(
    cuts: Cuts, u: Array, offset: Number, inverse: Number, z: Array
) -> tuple[Cuts, Array]:
    normals, offsets, inverses, products, weights, count = cuts
    xp, slots = namespace(u), offsets.shape[-1]
    places = _places(offsets)
    row = rows_dot(normals, u)
    apart = xp.max(abs(normals - u[..., None, :]), axis=-1)
    same = (row > 1 - 1e-9) & (apart <= _rounding(u))
    many = u.ndim > 1
    seen = xp.any(same, axis=-1, keepdims=many)
    # A subgradient of 0 has no half-space: it fills no slot.
    new = ~seen & (inverse > 0)
    if type(u) is ndarray and not new.any():  # usual for a polytope, at a fifth of the price
        lower = same & (offset < offsets)
        kept = cuts._replace(offsets=where(lower, offset + 0.0 * offsets, offsets))
        return kept, same & _first(where(same, -1.0, 0.0 * row), places)
    full = new & (count >= slots)
    idle = weights == 0.0
    lazy = xp.any(idle, axis=-1, keepdims=many)
    merge = full & ~lazy
    least = _first(weights, places)
    other = _first(where(least, xp.inf, weights), places)
    spare = _first(where(idle, rows_dot(normals, z) - offsets, xp.inf), places)
    at = where(full, where(lazy, spare, other), _places(offsets, float) == count) & new
    # The two that do least become their sum.
    one, two = where(least & merge, 1.0, 0.0 * weights), where(other & merge, 1.0, 0.0 * weights)
    pair = (one + two) * weights
    both = combine(pair, normals)
    size = norm(both)
    kept = size > 0
    safe = where(kept, size, 1.0)
    here = (least & merge)[..., None]
    normals = where(here, (both / safe)[..., None, :], normals)
    into = least & merge
    offsets = where(into, where(kept, _sum(pair * offsets) / safe, 1.0), offsets)
    inverses = where(into, where(kept, _sum(pair * inverses) / safe, 0.0), inverses)
    weights = where(into, size + 0.0 * weights, weights)
    line = rows_dot(normals, both / safe)
    products = where(here, line[..., None, :], where(into[..., None, :], line[..., None], products))
    normals = where(at[..., None], u[..., None, :], normals)
    lower = same & (offset < offsets)
    offsets = where(at | lower, offset + 0.0 * offsets, offsets)
    inverses = where(at, inverse + 0.0 * inverses, inverses)
    weights = where(at, 0.0 * weights, weights)
    row = rows_dot(normals, u)
    side = at[..., None, :]
    products = where(at[..., None], row[..., None, :], where(side, row[..., None], products))
    count = count + where(new & (count < slots), 1.0, 0.0 * count)
    newest = at | (same & _first(where(same, -1.0, 0.0 * row), places))
    return Cuts(normals, offsets, inverses, products, weights, count), newest


def _is_same(u: np.ndarray, v: np.ndarray) -> bool:
    """Return whether two unit normals are those of one row, up to rounding: usually to the bit."""
    return u.tobytes() == v.tobytes() or bool(np.abs(u - v).max() <= _rounding(v))


def _rounding(u: Array) -> float:
    """Return by how much two unit normals of one row may differ.

    A norm of d entries errs by (d/2 + 1) u of itself, u = 2^-53, and a division by one more;
    another backend, or a compiled program, rounds the same row in its own way.
    """
    return float((u.shape[-1] + 4) * 2.0**-53)


def _places(like: Array, kind: type = int) -> Array:
    """Return the indices of the slots."""
    return constant(np.arange(like.shape[-1], dtype=kind), like)


def _first(values: Array, places: Array) -> Array:
    """Return a mask that is true at the first smallest entry."""
    index = namespace(values).argmin(values, axis=-1)
    return places == (index if values.ndim == 1 else index[..., None])


def _sum(values: Array) -> Array:
    return namespace(values).sum(values, axis=-1, keepdims=values.ndim > 1)


# --- both ----------------------------------------------------------------------------------------


def remember(cuts: Cuts, u: Array, offset: Number, inverse: Number, z: Array) -> tuple[Cuts, Any]:
    """Return the memory with a cut added, and which slot it is in.

    A row that was seen before is not stored twice. Where the memory is full, the idle cut with
    most room at z is dropped; where none is idle, the two with the smallest weights become one.

    Args:
        cuts: the memory.
        u: unit normal.
        offset: o.
        inverse: 1/|s|; 0 where s is 0 and there is no cut.
        z: the leader, for the choice of what to forget.
    """
    if type(u) is ndarray and u.ndim == 1:
        return _remember_one(cuts, u, offset, inverse, z)
    return _remember_each(cuts, u, offset, inverse, z)


InUse: TypeAlias = tuple[Array, Array, Array, Array, Array]
"""Normals, offsets, inverses, products and weights of the slots in use, or of all."""


def in_use(cuts: Cuts) -> InUse:
    """Return normals, offsets, inverses, products and weights of the slots in use, or of all."""
    normals, offsets, inverses, products, weights, count = cuts
    if type(count) is float:
        n = int(count)
        if n < len(offsets):
            return normals[:n], offsets[:n], inverses[:n], products[:n, :n], weights[:n]
    return normals, offsets, inverses, products, weights


def project(
    used: InUse, free: Array, weights: Array | None, newest: Any, limit: Number, sweeps: int
) -> tuple[Array, Array]:
    r"""Return multipliers and :math:`Z(\mu)`, near the point of the cuts that is nearest to free.

    First the newest cut alone, exactly; then, so many times, a step of all multipliers,
    :math:`d = [\mu + v]_+ - \mu` with :math:`v_i = u_i^\top Z(\mu) - o_i`, as long as the model
    rises but no longer than d.

    Args:
        used: the slots in use.
        free: where the leader would be without cuts.
        weights: :math:`\mu` of the slots in use to begin with; 0 unless given.
        newest: the slot of the newest cut: an index, or true in one slot; None if there is none.
        limit: Z is shortened to this length.
        sweeps: how many times.
    """
    normals, offsets, _, products, last = used
    if type(free) is ndarray and free.ndim == 1:
        z = within(free if weights is None else free - weights.dot(normals), limit)
        if not len(offsets):
            return last, z
        v = normals.dot(z)
        v -= offsets
        mu = _ascended(
            products, np.zeros_like(v) if weights is None else weights, v, newest, sweeps
        )
        return mu, within(free - mu.dot(normals), limit)
    mu = 0.0 * last if weights is None else weights
    z = within(free - combine(mu, normals), limit)
    v = rows_dot(normals, z) - offsets
    step = 0.0 * v if newest is None else where(newest, maximum(v, 0.0), 0.0 * v)
    mu, v = mu + step, v - rows_dot(products, step)
    for _ in range(sweeps):
        step = maximum(v, -mu)
        down = rows_dot(products, step)
        bend = dot(step, down)
        share = minimum(dot(step, v) / where(bend > 0, bend, 1.0), 1.0)
        share = where(bend > 0, share, 0.0 * share)
        mu, v = mu + share * step, v - share * down
    return mu, within(free - combine(mu, normals), limit)


def nearer(used: InUse, less: Number) -> InUse:
    """Return the slots with cuts for a g that is so much larger."""
    normals, offsets, inverses, products, weights = used
    return normals, offsets - less * inverses, inverses, products, weights


def as_read(region: Any, W: Array, X: Array, rho: Number) -> Array:
    """Return W moved to where the newest value and slope, as they were read, make g at most -rho.

    Args:
        region: the hull of the round.
        W: a point, relative to the start.
        X: where they were read, relative to the start.
        rho: how far below 0.
    """
    excess = region.memory.last_value + dot(region.s, W - X) + rho
    return project_halfspace(W, where(norm(region.s) > 0, excess, 0.0 * excess), region.s)


def stored(cuts: Cuts, weights: Array) -> Cuts:
    """Return the memory with other weights: those of all slots, or of the slots in use."""
    normals, offsets, inverses, products, last, count = cuts
    if weights.shape != last.shape:
        found = np.zeros(len(last))
        found[: len(weights)] = weights
        weights = found
    return record(Cuts, (normals, offsets, inverses, products, weights, count))


def slope_over(cuts: Cuts, newest: Any, z: Array) -> Array:
    r"""Return :math:`[u^\top z - o]_+` in the slot of the newest cut, and 0 in the others."""
    normals, offsets, _, _, weights = in_use(cuts)
    over = maximum(rows_dot(normals, z) - offsets, 0.0)
    if newest is None:
        return 0.0 * weights
    if type(newest) is int:
        newest = np.arange(len(offsets)) == newest
    return where(newest, over, 0.0 * over)


def _ascended(products: Array, weights: Array, v: Array, newest: int | None, sweeps: int) -> Array:
    """Return the multipliers of one run; v is overwritten."""
    low = -weights
    if newest is not None and (step := v[newest]) > 0.0:
        low[newest] -= step
        v -= step * products[newest]
    for _ in range(sweeps):
        step = np.maximum(v, low)
        down = products.dot(step)
        bend = step.dot(down)
        if bend <= 0.0:
            break
        share = step.dot(v) / bend
        if share < 1.0:
            step *= share
            down *= share
        low -= step
        v -= down
    return -low


def keep_off(used: InUse, w: Array, rho: Number) -> Array:
    r"""Return w moved towards all the cuts tightened by rho that it exceeds.

    With :math:`e_i = [u_i^\top w - o_i + \rho/\|s_i\|]_+` it is one projection onto their mean:

    .. math:: w - \frac{\sum e_i^2}{\|\sum e_iu_i\|^2}\sum e_iu_i
    """
    normals, offsets, inverses, _, _ = used
    if type(rho) is float:
        over = rho * inverses
        over += normals.dot(w)
        over -= offsets
        over = np.maximum(over, 0.0, out=over)
        length = over.dot(over)
        if length == 0.0:
            return w
        back = over.dot(normals)
        squared = back.dot(back)
        return w - (length / squared) * back if squared > 0.0 else w
    over = maximum(rows_dot(normals, w) - offsets + rho * inverses, 0.0)
    back = combine(over, normals)
    squared = dot(back, back)
    share = dot(over, over) / where(squared > 0, squared, 1.0)
    return w - where(squared > 0, share, 0.0 * share) * back


def within(z: Array, radius: Number) -> Array:
    """Return the point, shortened to a length."""
    if type(z) is ndarray and z.ndim == 1:
        squared = z.dot(z)  # without norm's care for over- and underflow: it may be anywhere
        return z if squared <= radius * radius else (radius / math.sqrt(squared)) * z
    size = norm(z)
    return where(size > radius, radius / where(size > 0, size, 1.0), 1.0 + 0.0 * size) * z


def way_length(way: Array) -> Number:
    """Return the length of the way between a leader and its follower."""
    if type(way) is ndarray and way.ndim == 1:
        return math.sqrt(way.dot(way))
    return norm(way)


def cut_off(cuts: Cuts, X: Array, g: Number, s: Array, noise: Number, Z: Array) -> tuple[Cuts, Any]:
    """Remember the half-space of a round; a subgradient of 0 has none."""
    steep = norm(s)
    if type(steep) is float and steep == 0.0:
        return cuts, None
    inverse = where(steep > 0, 1.0, 0.0 * steep) / where(steep > 0, steep, 1.0)
    u = inverse * s
    return remember(cuts, u, dot(u, X) - (g - noise) * inverse, inverse, Z)
