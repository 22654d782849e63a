r"""Projection onto several balls and half-spaces and a box, by Newton's method on the multipliers.

With the quadratics :math:`U_i` and :math:`q(\lambda)` of :mod:`surefoot.regions._quadratics` and a
box for K, the dual function :math:`\min_{q \in K}\frac12\|q-v\|^2 + \lambda^\top U(q)` has slope
:math:`U(q(\lambda))` and, where no entry of q changes between a face of the box and its inside, the
second derivative :math:`-NN^\top/c`: :math:`c = 1 + \lambda^\top\beta`, and the rows of N are
:math:`s_i + \beta_iq` in the entries that are inside. One round of a control loop is close to the
one before, so that a handful of steps does what cyclic ascent does in hundreds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.types import Array, Region
from surefoot.sets import Box

__all__ = ["ascend_boxed", "box_of"]

_STEPS = 60


def box_of(sets: tuple[Region, ...]) -> tuple[Array, Array] | None:
    """Return the corners of what boxes have in common; None unless they are boxes of NumPy."""
    if not all(isinstance(one, Box) and type(one.lower) is np.ndarray for one in sets):
        return None
    boxes: tuple[Any, ...] = sets
    lower, upper = boxes[0].lower, boxes[0].upper
    for one in boxes[1:]:
        lower, upper = np.maximum(lower, one.lower), np.minimum(upper, one.upper)
    return None if (lower > upper).any() else (lower, upper)


def ascend_boxed(
    v: Array,
    up: Array,
    s: Array,
    beta: Array,
    lower: Array,
    upper: Array,
    tolerance: Array,
    near: Array | None = None,
) -> tuple[Array, Array] | None:
    """Return q and its multipliers for one NumPy run and a box; None where none was found.

    Args:
        v: the point to project.
        up: h, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: one curvature per row, ``(m,)``.
        lower: the lower corner of the box, relative to where the slopes were seen.
        upper: the upper one.
        tolerance: how far above 0 a quadratic may end, and below it with a multiplier, ``(m,)``.
        near: multipliers of a similar problem to start from; 0 unless given.

    Example:
        >>> row, h = np.array([[1.0, 1.0]]), np.array([-1.0])
        >>> low, high = np.array([-1.0, -1.0]), np.array([0.25, 9.0])
        >>> ascend_boxed(np.ones(2), h, row, np.zeros(1), low, high, np.full(1, 1e-12))[0].round(8)
        array([0.25, 0.75])
    """

    def at(lam: Array) -> tuple[Array, Array, float, float, Array]:
        c = 1.0 + float(lam @ beta)
        free = (v - lam @ s) / c
        q = np.minimum(np.maximum(free, lower), upper)
        over = up + s @ q + 0.5 * beta * float(q @ q)
        way = q - v
        return q, over, c, 0.5 * float(way @ way) + float(lam @ over), free == q

    lam = np.zeros(len(up)) if near is None else np.maximum(near, 0.0)
    q, over, c, dual, inside = at(lam)
    wide = lower < upper
    shift = 0.0  # added to the second derivative while steps fail, as far from the solution
    for _ in range(_STEPS):
        if (over <= tolerance).all() and (abs(over[lam > 0]) <= tolerance[lam > 0]).all():
            return q, lam
        rows = (lam > 0) | (over > 0)
        N = s[rows] + beta[rows, None] * q
        size = np.vecdot(N, N)
        N = N[:, inside & wide]  # an entry that would just reach a face may leave it again
        H = N @ N.T
        H.flat[:: len(H) + 1] += (1e-14 + shift) * np.maximum(size, 1e-3 * size.max() + 1e-290)
        step = c * np.linalg.solve(H, over[rows])
        length, found = 1.0, None
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
