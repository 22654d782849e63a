"""The second-order cone."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import convert_like, dot, norm, where
from surefoot.core.parameters import Declared, matrix, number, vector
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import (
    Constraint,
    bound_above,
    bound_below,
    gamma,
    level_below,
    point,
    some_entry,
)
from surefoot.sets import Ball

__all__ = ["SecondOrderCone"]


class SecondOrderCone(Constraint, Declared, kw_only=False):
    r"""A second-order cone constraint, :math:`g(x) = \|Ax + b\| - c^\top x - d`.

    A risk limit that grows with the return, a robust linear constraint
    (:math:`(a + Bu)^\top x \le \beta` for all :math:`\|u\| \le 1` is
    :math:`\|B^\top x\| \le \beta - a^\top x`), a distance that a variable bounds. Where
    Ax + b = 0, the kink, the norm's share of the subgradient is 0. No region is known: the
    projection has no closed form for a general A.

    Args:
        A: ``(k, n)``, with n the length of an action.
        b: ``(k,)``; 0 unless given.
        c: ``(n,)``; 0 unless given.
        d: a number; 0 unless given.

    Example:
        >>> g = SecondOrderCone([[1.0, 0.0], [0.0, 2.0]], c=[0.5, 0.0], d=1.0)
        >>> g.query(np.array([3.0, 2.0]))
        (2.5, array([0.1, 1.6]))
    """

    A: Array = matrix()
    b: Array = vector(default=None)
    c: Array = vector(default=None)
    d: Number = number(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        A = self.A
        if type(A) is np.ndarray:
            for name, length in (("b", A.shape[0]), ("c", A.shape[1])):
                given = vars(self)[name]
                value = np.zeros(length) if given is None else given
                object.__setattr__(self, name, checks.to_vector(value, name, length=length))
            some_entry(A=A, c=self.c)

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the norm minus the affine part, and a subgradient."""
        x = point(x, self.A.shape[-1])
        A, b, c = convert_like(self.A, x), convert_like(self.b, x), convert_like(self.c, x)
        y = (A @ x if x.ndim == 1 else x @ A.T) + b
        length = norm(y)
        unit = y / where(length > 0, length, 1.0)
        s = (A.T @ unit if x.ndim == 1 else unit @ A) - c
        return length - dot(x, c) - self.d, s

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self.A.shape[1])

    @property
    def interior(self) -> Array | None:
        """0, the apex Ax + b = 0, or a point far down the cone, if strictly feasible."""
        apex = -np.linalg.lstsq(self.A, self.b, rcond=None)[0]
        points = [np.zeros(self.dimension), apex]
        axis, slope = self._axis()
        if slope > 0:
            # From any point g falls along the axis at this slope or faster.
            points.append((1.0 + max(self.value(points[0]), 0.0)) / slope * axis)
        return next((point for point in points if self.value(point) < 0), None)

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\|A\|_2 + \|c\|`.

        Every subgradient is :math:`A^\top u - c` with :math:`\|u\| \le 1`.
        """
        bound = float(np.linalg.norm(self.A, 2)) + float(np.linalg.norm(self.c))
        return bound_above(bound, self._operations())

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound the rounding by that of the terms, at the largest norm M on the domain.

        :math:`Ax + b` errs by :math:`\gamma_{n+1}(\|A\|_F M + \|b\|)`, its length by
        :math:`\gamma_{k+2}` of itself more, the affine part by
        :math:`\gamma_{n+2}(\|c\|M + |d|)`. However near the apex, the unit vector u that is
        found has :math:`u^\top(Ax + b)` equal to the length up to the same errors, and
        :math:`\|Ay + b\| \ge u^\top(Ay + b)` for every y up to the rounding of its norm: so the
        slope :math:`A^\top u - c` adds only its own rounding, over a distance of 2R.
        """
        M, D = float(domain.reach_from_origin), domain.diameter
        A, b, c = (float(np.linalg.norm(part)) for part in (self.A, self.b, self.c))
        terms = A * M + b + c * M + abs(float(self.d)) + D * (A + c)
        return 2 * gamma(sum(self.A.shape) + 12) * terms

    def curvature(self, domain: Ball | None = None) -> float | None:
        r"""Return :math:`\|A\|_2^2/\delta` where :math:`\|Ax + b\| \ge \delta > 0`; else None.

        The Hessian is :math:`A^\top(I - uu^\top)A/\|Ax + b\|`. The length is at least that of
        the part of b that no x can reach, and on a ball at least
        :math:`\|Az + b\| - \|A\|_2R` with z its centre. So
        :math:`\sqrt{\|Bx\|^2 + \delta^2}`, written with one more row, is smooth everywhere.
        """
        steepest = bound_above(float(np.linalg.norm(self.A, 2)), self._operations())
        farthest = float(np.linalg.norm(self.b))
        nearest = self._beyond_reach(None if domain is None else float(domain.reach_from_origin))
        if domain is not None:
            middle = self.b if domain.centre is None else self.A @ domain.centre + self.b
            length = float(np.linalg.norm(middle)) - steepest * float(domain.radius)
            size = steepest * float(domain.reach_from_origin) + farthest
            nearest = max(nearest, length - gamma(self._operations()) * size)
        if not nearest > 0:
            return None if steepest > 0 else 0.0
        return bound_above(steepest * steepest / nearest, 8)

    def _beyond_reach(self, size: float | None) -> float:
        """Return a lower bound on the length of Ax + b for all x up to a size, or for all."""
        rest = self.b + self.A @ np.linalg.lstsq(self.A, -self.b, rcond=None)[0]
        values = np.linalg.svd(self.A, compute_uv=False)
        some = values[values > 1e-10 * values[0]]
        flat = len(some) < self.A.shape[1]
        if not len(some) or (flat and size is None):
            return 0.0  # along a direction that is flat up to rounding, x reaches any length
        # What the computed residual still has along A is taken off, and what flat directions reach.
        along = float(np.linalg.norm(self.A.T @ rest)) / float(some[-1])
        along += 1e-10 * float(values[0]) * size if flat and size is not None else 0.0
        rounding = gamma(self._operations()) * float(np.linalg.norm(self.b))
        return float(np.linalg.norm(rest)) - along - 4 * rounding

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        r"""Return the distance of c from :math:`\{A^\top u : \|u\| \le 1\}`, if it is positive.

        Every subgradient anywhere is :math:`A^\top u - c` with :math:`\|u\| \le 1`, so none is
        shorter than that distance. It is positive when the cone opens along some direction w
        with :math:`c^\top w > \|Aw\|`, down which g falls for ever: then the depth is infinite
        and any level will do. For the cone :math:`\|\bar x\| \le t` it is 1. A cone that closes
        (c = 0, say) is left to the local form.

        The number returned is :math:`c^\top w - \|Aw\|` for a unit vector w, at most the
        distance for every w: :math:`\|A^\top u - c\| \ge w^\top(c - A^\top u) \ge
        c^\top w - \|Aw\|`, and equal to it for the w that is found.
        """
        _, slope = self._axis()
        scale = float(np.linalg.norm(self.A, 2)) + float(np.linalg.norm(self.c))
        # The difference may cancel: its rounding is one of its terms, not of itself.
        slope -= self._operations() * 2.0**-53 * scale
        # A slope in the last digits is no slope.
        if not slope > 1e-9 * scale:
            return None
        return bound_below(slope, 0), level_below(math.inf, epsilon)

    def _axis(self) -> tuple[Array, float]:
        r"""Return the unit w with the largest :math:`c^\top w - \|Aw\|`, and that number.

        It points from the nearest :math:`A^\top u` to c, and the nearest u solves
        :math:`(AA^\top + \mu I)u = Ac` with the :math:`\mu \ge 0` that brings it into the unit
        ball: found by bisection in the eigenvectors of :math:`AA^\top`.
        """
        values, vectors = np.linalg.eigh(self.A @ self.A.T)
        values = np.maximum(values, 0.0)
        target = vectors.T @ (self.A @ self.c)
        some = values > 1e-14 * max(float(values[-1]), 1e-300)

        def nearest(mu: float) -> Array:
            return np.divide(target, values + mu, out=np.zeros_like(target), where=some)

        u, low, high = nearest(0.0), 0.0, float(np.linalg.norm(target))
        if u @ u > 1:  # at mu = |Ac| the solution is at most 1 long
            for _ in range(200):
                middle = 0.5 * (low + high)
                u = nearest(middle)
                low, high = (middle, high) if u @ u > 1 else (low, middle)
        away = self.c - self.A.T @ (vectors @ u)
        length = float(np.linalg.norm(away))
        if length <= 1e-12 * float(np.linalg.norm(self.c)):
            return away, 0.0
        w = away / length
        return w, float(self.c @ w) - float(np.linalg.norm(self.A @ w))

    def _operations(self) -> int:
        rows, columns = self.A.shape
        return 8 * int(rows + columns)
