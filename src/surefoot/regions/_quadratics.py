r"""Projection onto several balls and half-spaces at once, and onto a known set with them.

The sets are :math:`\{q : U_i(q) = h_i + s_i^\top q + \frac{\beta_i}2\|q\|^2 \le 0\}`, with
:math:`\beta_i = 0` for half-spaces, and K. For multipliers :math:`\lambda \ge 0` the point of K
where :math:`\frac12\|q - v\|^2 + \sum_i\lambda_iU_i(q)` is smallest is

.. math:: q(\lambda) = \Pi_K\Big(\frac{v - \sum_i\lambda_is_i}{1 + \sum_i\lambda_i\beta_i}\Big),

and that minimum is a concave function of :math:`\lambda` with slope :math:`U_i(q(\lambda))`. It is
increased one multiplier after the other. The result is not trusted: callers check it, and move it
back towards a point that is known to be certified (:func:`largest_share`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import mul as _times
from typing import Any

import numpy as np

from surefoot.core.arrays import (
    combine,
    constant,
    dot,
    is_concrete,
    namespace,
    norm,
    rows_dot,
    squared_and_norm,
    where,
)
from surefoot.core.flow import in_turn
from surefoot.core.types import Array, Number
from surefoot.regions._ball import onto_curvature_ball

__all__ = [
    "ascend",
    "ascend_within",
    "largest_share",
    "length_unless",
    "point_of",
    "row_norms",
    "values",
]


def row_norms(s: Array) -> Array:
    """Return the norm of each row: ``(m,)``, or ``(B, m)``."""
    xp = namespace(s)
    return xp.sqrt(xp.sum(s * s, axis=-1))


def values(q: Array, up: Array, s: Array, beta: Number) -> Array:
    """Return each quadratic at q, which is relative to where the slopes were seen."""
    return up + rows_dot(s, q) + 0.5 * beta * squared_and_norm(q)[0]


def point_of(weights: Array, v: Array, s: Array, beta: Number) -> Array:
    """Return q of the module for multipliers, without K."""
    total = dot(weights, weights * 0.0 + beta)
    return (v - combine(weights, s)) / (1.0 + total)


def ascend(
    v: Array, up: Array, s: Array, squared: Array, beta: Number, weights: Array, sweeps: int
) -> Array:
    """Return better multipliers: each in turn made the best for the others as they are.

    Args:
        v: the point to project, ``(d,)`` or ``(B, d)``.
        up: h, ``(m,)`` or ``(B, m)``.
        s: the slopes, ``(m, d)`` or ``(B, m, d)``.
        squared: their squared norms, shaped as up.
        beta: one number, one per row, or one per run as a column.
        weights: where to begin, shaped as up.
        sweeps: how often each multiplier has its turn, at most.

    Example:
        >>> corner, h = np.eye(2), np.array([-1.0, -0.5])
        >>> ascend(np.array([3.0, 2.0]), h, corner, np.ones(2), 0.0, np.zeros(2), 3)
        array([2. , 1.5])
    """
    m, one = up.shape[-1], up.ndim == 1
    if type(up) is np.ndarray and one:
        return _ascend_live(v, up, s, squared, beta, weights, sweeps)
    xp = namespace(up)
    places = constant(np.arange(m), up)
    rates = weights * 0.0 + beta

    def step(k: Any, lam: Array) -> Array:
        i = k % m
        here = places == i
        others = xp.where(here, xp.zeros_like(lam), lam)
        c = 1.0 + dot(others, rates)
        h, n, b = (part[i] if one else part[:, i][:, None] for part in (up, squared, rates))
        _, weight = onto_curvature_ball((v - combine(others, s)) / c, h, s[..., i, :], n, b)
        return xp.where(here, c * weight, others)

    if not is_concrete(v):
        return in_turn(sweeps * m, step, weights)
    for _ in range(sweeps):
        before, weights = weights, in_turn(m, step, weights)
        if not bool(xp.any(abs(weights - before) > 4e-16 * abs(weights))):
            break
    return weights


def _ascend_live(
    v: Array, up: Array, s: Array, squared: Array, beta: Number, weights: Array, sweeps: int
) -> Array:
    r"""Return the same for one NumPy run, in products of the rows alone: no vectors in the loop.

    With :math:`r = v - \sum_j\lambda_js_j` and :math:`c = 1 + \sum_j\lambda_j\beta_j` over the
    other rows, the row's quadratic at r/c is made of :math:`s_i^\top r` and :math:`\|r\|^2`.
    """
    m = len(up)
    rates = np.broadcast_to(np.asarray(beta, dtype=np.float64), (m,)).tolist()
    start = s @ v
    G, p, h, n = (s @ s.T).tolist(), start.tolist(), up.tolist(), squared.tolist()
    lam, vv = weights.tolist(), float(v.dot(v))
    for _ in range(sweeps):
        changed = False
        for i in range(m):
            old, lam[i] = lam[i], 0.0
            b, row = rates[i], G[i]
            c, along, square = 1.0, p[i], vv
            for j in range(m):
                w = lam[j]
                if w:
                    c += w * rates[j]
                    along -= w * row[j]
                    if b:  # a half-space does not ask how long r is
                        square -= w * (2.0 * p[j] - sum(map(_times, lam, G[j])))
            along, square = along / c, max(square, 0.0) / (c * c)
            over = h[i] + along + 0.5 * b * square
            if over <= 0:
                changed = changed or old != 0.0
                continue
            nu = math.sqrt(max(n[i] - 2.0 * b * h[i], 0.0))
            bent = math.sqrt(max(n[i] + 2.0 * b * along + b * b * square, 0.0))
            below = nu * (nu + bent)
            lam[i] = c * 2.0 * over / below if below > 0 else 0.0
            changed = changed or abs(lam[i] - old) > 4e-16 * abs(lam[i])
        if not changed:
            break
    return np.array(lam)


def largest_share(q: Array, up: Array, s: Array, beta: Number) -> Number:
    r"""Return the largest share of q, at most 1, with every quadratic at most 0; else 0.

    Along the way :math:`U_i(\theta q) = h_i + \theta a_i + \theta^2b_i` with :math:`h_i \le 0`
    reaches 0 at :math:`\theta = -2h_i/(a_i + \sqrt{a_i^2 - 4b_ih_i})`.

    Example:
        >>> largest_share(np.array([2.0, 0.0]), np.array([-0.5]), np.array([[1.0, 0.0]]), 0.0)
        0.25
    """
    xp = namespace(up)
    a, b = rows_dot(s, q), 0.5 * beta * dot(q, q) + 0.0 * up
    below = a + xp.sqrt(xp.maximum(a * a - 4.0 * b * up, 0.0 * up))
    good = below > 0
    share = xp.where(good, -2.0 * up / xp.where(good, below, 1.0 + 0.0 * up), 1.0 + 0.0 * up)
    # Rows above 0 leave nothing, unless the whole way is good.
    share = xp.where(up > 0, xp.where(a + b + up <= 0, 1.0 + 0.0 * up, 0.0 * up), share)
    least = xp.min(share, axis=-1, keepdims=up.ndim > 1)
    if type(up) is np.ndarray and up.ndim == 1:
        return min(max(float(least), 0.0), 1.0)
    return xp.minimum(xp.maximum(least, 0.0 * least), 1.0 + 0.0 * least)


def ascend_within(
    v: Array,
    up: Array,
    s: Array,
    beta: Array,
    project: Callable[[Array], Array],
    tolerance: Array,
    sweeps: int,
) -> tuple[Array, Array] | None:
    """Return q and its multipliers for one NumPy run and a known set; None where none was found.

    Each multiplier is found by a search for the root of its quadratic, which falls as it grows;
    each try projects once onto K.

    Args:
        v: the point to project.
        up: h, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: one curvature per row, ``(m,)``.
        project: the projection onto K, relative to where the slopes were seen.
        tolerance: how far below 0 a quadratic with a multiplier may end, ``(m,)``.
        sweeps: how often each multiplier has its turn, at most.

    Example:
        >>> row, h = np.array([[1.0, 1.0]]), np.array([-1.0])
        >>> corner = lambda q: np.minimum(q, [0.25, 9.0])  # a known limit of the first entry
        >>> ascend_within(np.ones(2), h, row, np.zeros(1), corner, np.full(1, 1e-9), 5)[0].round(8)
        array([0.25, 0.75])
    """
    m = len(up)
    lam = np.zeros(m)
    q = project(v)
    for _ in range(sweeps):
        excess = values(q, up, s, beta)
        good = (excess <= 0) & ((lam == 0) | (excess >= -2 * tolerance))
        if good.all():
            return q, lam
        for i in range(m):
            # Where q is what the multipliers make of v, a row that holds without one needs none.
            if lam[i] == 0 and excess[i] <= 0:
                continue
            found = _root(i, lam, v, up, s, beta, project, float(tolerance[i]))
            if found is None:
                return None
            lam[i], q = found
            excess = values(q, up, s, beta)
    return q, lam


def _root(
    i: int,
    lam: Array,
    v: Array,
    up: Array,
    s: Array,
    beta: Array,
    project: Callable[[Array], Array],
    tolerance: float,
) -> tuple[float, Array] | None:
    """Find the multiplier of row i for the others as they are, on the side where the row holds."""
    rest = v - (lam @ s - lam[i] * s[i])
    weight = 1.0 + float(lam @ beta - lam[i] * beta[i])

    def at(x: float) -> tuple[Array, float]:
        q = project((rest - x * s[i]) / (weight + x * float(beta[i])))
        return q, float(up[i] + s[i] @ q + 0.5 * beta[i] * (q @ q))

    low, (q, f_low) = 0.0, at(0.0)
    if f_low <= 0:
        return 0.0, q
    size = float(s[i] @ s[i] + beta[i])
    high = float(lam[i]) if lam[i] > 0 else f_low / size if size > 0 else math.inf
    if not 0 < high < math.inf:
        return None
    for _ in range(80):
        q, f_high = at(high)
        if f_high <= 0:
            break
        low, f_low, high = high, f_high, 4.0 * high
    else:
        return None
    # Regula falsi with the end that stays halved (Illinois); it ends on the side that holds.
    for k in range(100):
        if f_high >= -tolerance or high - low <= 4e-16 * high:
            break
        x = (low * f_high - high * f_low) / (f_high - f_low) if k % 8 < 7 else 0.5 * (low + high)
        if not low < x < high:
            x = 0.5 * (low + high)
        found, f = at(x)
        if f <= 0:
            high, f_high, q, f_low = x, f, found, 0.5 * f_low
        else:
            low, f_low, f_high = x, f, 0.5 * f_high
            if f_high >= -tolerance:  # only its weight was halved, not the value
                f_high = min(f_high, -2 * tolerance)
    return high, q


def length_unless(good: Any, way: Array) -> Number:
    """Return the length of a way; 0 where nothing was sought."""
    length = norm(way)
    return where(good, 0.0 * length, length)
