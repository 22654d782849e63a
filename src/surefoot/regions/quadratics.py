r"""The nearest point of several bounds, and of sets that are known by cuts; one NumPy run.

The bounds are :math:`U_i(q) = h_i + s_i^\top q + \tau_i\|q\| + \frac{\beta_i}2\|q\|^2 \le 0`. For
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

The result is not trusted: whoever asks for it checks it in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surefoot.core.arrays import dot, norm
from surefoot.core.types import Array
from surefoot.sets._active_set import project_halfspaces

__all__ = ["Bounds", "project_onto_bounds"]

TURNS = 40
_UNIT = 2.0**-53


class Bounds(NamedTuple):
    """Several bounds, relative to where the slopes were read.

    Attributes:
        up: h, ``(m,)``.
        s: the slopes, ``(m, d)``.
        beta: the curvatures, ``(m,)``.
        tau: the errors of the slopes, ``(m,)``.
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

    def join(self, other: Bounds) -> Bounds:
        """Return these bounds, and others after them."""
        return Bounds(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def project_onto_bounds(
    v: Array, bounds: Bounds, cut: Callable[[Array], Bounds] | None = None, turns: int = TURNS
) -> tuple[Array, Array]:
    """Return nearly the point of bounds and sets that is nearest to v, and the bounds' multipliers.

    Args:
        v: the point.
        bounds: the bounds.
        cut: half-spaces that hold sets and not a point; none where the sets hold it.
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
    lost = 8 * (len(v) + 8) * _UNIT * norm(v)  # by the rounding of a far point
    for _ in range(turns):
        new = None if cut is None else cut(q)
        if new is not None and len(new.up):
            bounds, lam = bounds.join(new), np.append(lam, np.zeros(len(new.up)))
        over = bounds.values(q)
        off = np.where(lam > 0, abs(over), over)
        if (off <= bounds.close + lost * np.sqrt(np.vecdot(bounds.s, bounds.s))).all():
            break
        found = _step(bounds, lam, q, over)
        if found is None:
            break
        change, share = found - lam, 1.0
        for _ in range(12):
            trial = lam + share * change
            after = _minimise(v, bounds, trial)
            # Near the solution the gain is below the rounding of the dual function.
            if after[1] >= dual + 1e-4 * share * float(over @ change) - 1e-13 * abs(dual):
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
    """Return the multipliers that Newton's method wants; None where no point holds."""
    length = norm(q)
    unit = q / length if length > 0 else q
    c = 1.0 + float(lam @ bounds.beta)
    across = c + (float(lam @ bounds.tau) / length if length > 0 else 0.0)
    N = bounds.s + np.outer(bounds.beta * length + bounds.tau, unit)
    # N times the root of the inverse of H.
    along = np.outer(N @ unit, unit)
    N = (N - along) / math.sqrt(across) + along / math.sqrt(c)
    excess = over + N @ (lam @ N)
    rounding = 16 * (len(q) + 8) * _UNIT * float(abs(excess).max())
    found = project_halfspaces(excess, N, max(float(bounds.close.min()), rounding), math.inf)
    return None if found is None else found[1]
