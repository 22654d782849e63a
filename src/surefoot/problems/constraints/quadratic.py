"""Ellipsoids, quadratics and second-order cones as constraints."""

import math

import numpy as np

from surefoot import sets
from surefoot.core import checks
from surefoot.core.arrays import convert_like, dot, maximum, norm, sqrt, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, matrix, number, symmetric, vector
from surefoot.core.points import subtract_centre
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
from surefoot.sets.ellipsoid import Quadric, solve_secular

__all__ = ["EllipsoidNorm", "QuadraticForm", "SecondOrderCone"]


class EllipsoidNorm(Quadric, Constraint, kw_only=False):
    r"""The ellipsoid as a constraint, :math:`g(x) = \sqrt{(x - c)^\top P (x - c)} - 1`.

    As a norm, not squared: the level sets of g are then scaled copies of one ellipsoid, and its
    slope does not vanish towards the centre. At the centre, the one kink, the subgradient is 0.

    Args:
        P: symmetric and positive definite, ``(d, d)``; the half-axes are
            :math:`1/\sqrt{\lambda_i}` long.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> EllipsoidNorm([[4.0, 0.0], [0.0, 1.0]]).query(np.array([1.5, 0.0]))
        (2.0, array([2., 0.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the P-norm of x - c minus 1, and its gradient."""
        x = point(x, self.P.shape[-1])
        z = subtract_centre(x, self.centre)
        Pz = _times(convert_like(self.P, x), z)
        # Rounding can take the square of a tiny P-norm below 0.
        length = sqrt(maximum(dot(z, Pz), 0.0))
        return length - 1.0, Pz / where(length > 0, length, math.inf)

    @property
    def region(self) -> sets.Ellipsoid:
        """The ellipsoid itself."""
        return sets.Ellipsoid(self.P, self.centre)

    @property
    def interior(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else self.centre

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\sqrt{\lambda_{\max}}`, attained along the shortest half-axis.

        With :math:`w = P^{1/2}(x - c) \ne 0` the gradient is :math:`P^{1/2}w/\|w\|`; at the
        centre the subgradients are :math:`P^{1/2}u` with :math:`\|u\| \le 1`.
        """
        return bound_above(math.sqrt(_spectrum(self.P)[1]), _operations(self.P))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound the rounding by that of :math:`z^\top Pz`, z = x - c, under the root.

        With p the largest row sum of :math:`|P|`, :math:`\ell` the smallest eigenvalue and L the
        largest :math:`\|z\|`: the square errs by :math:`\gamma_{2d+4}p\|z\|^2`, so its root,
        at least :math:`\sqrt\ell\|z\|`, by :math:`\gamma p L/\sqrt\ell`. The gradient errs by
        :math:`\gamma(p/\sqrt\ell)(1 + \sqrt{p/\ell})`, over a distance of 2R. All twice, for the
        second order.
        """
        p = float(abs(self.P).sum(axis=1).max())
        lowest = _spectrum(self.P)[0] - _rounding(self.P) * p
        amplified = p / math.sqrt(lowest)
        slope = amplified * (1 + math.sqrt(p / lowest))
        terms = 2 * amplified * domain.reach(self.interior) + 1 + slope * domain.diameter
        return 2 * gamma(2 * self.dimension + 8) * terms

    def curvature(self, domain: Ball | None = None) -> float | None:
        r"""Return :math:`\lambda_{\max}/\delta` if the P-norm exceeds :math:`\delta`, else None.

        The Hessian is :math:`(P - ss^\top)/\|x - c\|_P` with s the gradient. The square of the
        norm, a :class:`QuadraticForm`, has the same feasible set and no kink.
        """
        if domain is None:
            return None
        highest = _spectrum(self.P)[1] * (1 + _rounding(self.P))
        middle = np.zeros(self.dimension) if domain.centre is None else domain.centre
        length = float(self.value(middle)) + 1.0 - self.evaluation_error(domain)
        nearest = length - math.sqrt(highest) * float(domain.radius) * (1 + 2.0**-50)
        return bound_above(highest / nearest, 8) if nearest > 0 else None

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return :math:`\sqrt{\lambda_{\min}}`, attained along the longest half-axis.

        Where g = -epsilon with epsilon < 1, x is not the centre, g is differentiable, and with
        :math:`w = P^{1/2}(x - c)` the gradient :math:`P^{1/2}w/\|w\|` has the norm
        :math:`\sqrt{w^\top P w/w^\top w}`, which runs over :math:`[\sqrt{\lambda_{\min}},
        \sqrt{\lambda_{\max}}]`.
        """
        lowest, highest = _spectrum(self.P)
        lowest -= _rounding(self.P) * highest
        return bound_below(math.sqrt(lowest), _operations(self.P)), level_below(1.0, epsilon)


class QuadraticForm(Constraint, Declared, kw_only=False):
    r"""A convex quadratic, :math:`g(x) = \tfrac12 x^\top Q x + q^\top x - r`.

    Args:
        Q: symmetric and positive semi-definite, ``(d, d)``.
        q: :math:`q`, ``(d,)``.
        r: :math:`r`, any number.

    Example:
        >>> QuadraticForm([[2.0, 0.0], [0.0, 6.0]], [1.0, 0.0], 4.0).query(np.array([1.0, -1.0]))
        (1.0, array([ 3., -6.]))
    """

    Q: Array = symmetric()
    q: Array = vector()
    r: Number = number()

    def __post_init__(self) -> None:
        super().__post_init__()
        Q = self.Q
        if isinstance(Q, np.ndarray):
            lowest, highest = _spectrum(Q)
            if lowest < -_rounding(Q) * max(highest, -lowest):
                raise InvalidValueError(
                    "Q must be positive semi-definite for g to be convex, "
                    f"got a smallest eigenvalue of {lowest:g}"
                )
            checks.to_vector(self.q, "q", length=len(Q))
            some_entry(Q=Q, q=self.q)

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the value, and the gradient Qx + q."""
        x = point(x, self.Q.shape[-1])
        q, Qx = convert_like(self.q, x), _times(convert_like(self.Q, x), x)
        return 0.5 * dot(x, Qx) + dot(x, q) - self.r, Qx + q

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return len(self.Q)

    @property
    def region(self) -> sets.Ellipsoid | None:
        """The ellipsoid, if Q is positive definite and g is negative somewhere; else None.

        Smaller than the feasible set by what the rounding of g may add on it, so that a
        projection has g <= 0 as computed.
        """
        lowest, depth = self._bowl()
        if not depth > 0:
            return None
        centre = self._bottom()
        reach = math.sqrt(2 * depth / lowest)
        farthest = float(np.linalg.norm(centre)) + reach
        terms = 0.5 * float(abs(self.Q).sum(axis=1).max()) * farthest**2
        terms += float(np.linalg.norm(self.q)) * farthest + abs(float(self.r))
        # Around the computed minimum, which is not quite one, g also has a slope.
        slope = float(np.linalg.norm(self.Q @ centre + self.q))
        depth -= slope * reach + terms * _operations(self.Q) * 2.0**-53
        try:
            return sets.Ellipsoid(self.Q / (2 * depth), centre) if depth > 0 else None
        except ValueError:  # too flat in one direction to differ from a cylinder
            return None

    @property
    def interior(self) -> Array | None:
        """The minimiser if g is below 0 there; else 0 if g is below 0 there; else None."""
        for candidate in (self._bottom(), np.zeros(self.dimension)):
            if self.value(candidate) < 0:
                return candidate
        return None

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\|Qc + q\| + \lambda_{\max} R` on a ball of radius R around c.

        By :math:`Qx + q = (Qc + q) + Q(x - c)`. Attained where :math:`Qc + q` is 0 or along the
        steepest direction; otherwise an upper bound.
        """
        slope = self.q if domain.centre is None else self.Q @ domain.centre + self.q
        steepest = max(_spectrum(self.Q)[1], 0.0)
        bound = float(np.linalg.norm(slope)) + steepest * float(domain.radius)
        return bound_above(bound, _operations(self.Q))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Bound the rounding by that of the terms, at the largest norm M on the domain.

        With p the largest row sum of :math:`|Q|` the value errs by
        :math:`\gamma_{2d+3}(\frac12 pM^2 + \|q\|M + |r|)`, the gradient by
        :math:`\gamma_{d+1}(pM + \|q\|)` over a distance of 2R. An eigenvalue that rounding hides
        below 0 takes :math:`2R^2` times its size off the subgradient inequality.
        """
        M, D = float(domain.reach_from_origin), domain.diameter
        p, q = float(abs(self.Q).sum(axis=1).max()), float(np.linalg.norm(self.q))
        terms = 0.5 * p * M * M + q * M + abs(float(self.r)) + D * (p * M + q)
        return gamma(2 * self.dimension + 8) * terms + 0.5 * _rounding(self.Q) * p * D * D

    def curvature(self, domain: Ball | None = None) -> float:
        r"""Return :math:`\lambda_{\max}`, attained: the second-order term is quadratic."""
        highest = _spectrum(self.Q)[1]
        return max(bound_above(highest * (1 + _rounding(self.Q)), 8), 0.0)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        r"""Return :math:`\sqrt{2\lambda_{\min}(\Delta - \epsilon)}` for a positive definite Q.

        :math:`\Delta = r + \tfrac12 q^\top Q^{-1}q` is the depth of g, minus its minimum, and
        must be positive. With :math:`z = x + Q^{-1}q` one has
        :math:`g(x) = \tfrac12 z^\top Q z - \Delta` and the gradient is Qz. Where
        :math:`g = -\epsilon`, :math:`z^\top Qz = 2(\Delta - \epsilon)`, and
        :math:`\|Qz\|^2 = (Q^{1/2}z)^\top Q (Q^{1/2}z) \ge \lambda_{\min} z^\top Q z`; equal
        along the flattest direction. A Q that is only semi-definite is left to the local form.
        """
        lowest, depth = self._bowl()
        if not depth > 0:
            return None
        level = level_below(depth, epsilon)
        return bound_below(math.sqrt(2 * lowest * (depth - level)), _operations(self.Q)), level

    def _bottom(self) -> Array:
        """Return the shortest minimiser; of the curved part only, if g has no minimum."""
        return -np.linalg.lstsq(self.Q, self.q, rcond=None)[0]

    def _bowl(self) -> tuple[float, float]:
        """Return lower bounds on the eigenvalues and on the depth of g, minus its minimum.

        Any point shows at least minus its value, up to the rounding of that value. 0 for the depth
        where Q is not definite.
        """
        lowest, highest = _spectrum(self.Q)
        lowest -= _rounding(self.Q) * highest
        if not lowest > 0:
            return lowest, 0.0
        x = self._bottom()
        size = abs(x)
        terms = 0.5 * size @ abs(self.Q) @ size + abs(self.q) @ size + abs(float(self.r))
        return lowest, -float(self.value(x)) - float(terms) * _operations(self.Q) * 2.0**-53


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
        if isinstance(A, np.ndarray):
            for name, length in (("b", A.shape[0]), ("c", A.shape[1])):
                part = vars(self)[name]
                value = np.zeros(length) if part is None else part
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
        with :math:`c^\top w > \|Aw\|`, along which g is unbounded below: then the depth is infinite
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
        ball: found in the eigenvectors of :math:`AA^\top`.
        """
        values, vectors = np.linalg.eigh(self.A @ self.A.T)
        some = np.flatnonzero(values > 1e-14 * max(float(values[-1]), 1e-300))[::-1]
        values, vectors = values[some], vectors[:, some]
        target = vectors.T @ (self.A @ self.c)
        mu = solve_secular(target, values) if len(some) else 0.0
        away = self.c - self.A.T @ (vectors @ (target / (values + mu)))
        length = float(np.linalg.norm(away))
        if length <= 1e-12 * float(np.linalg.norm(self.c)):
            return away, 0.0
        w = away / length
        return w, float(self.c @ w) - float(np.linalg.norm(self.A @ w))

    def _operations(self) -> int:
        rows, columns = self.A.shape
        return 8 * int(rows + columns)


def _spectrum(M: Array) -> tuple[float, float]:
    """Return the smallest and the largest eigenvalue."""
    values = np.linalg.eigvalsh(M)
    return float(values[0]), float(values[-1])


def _rounding(M: Array) -> float:
    """Bound the error of a computed eigenvalue, relative to the largest."""
    return 8 * len(M) * 2.0**-52


def _operations(M: Array) -> int:
    """Count the roundings of a product with M, relative to the largest term."""
    return 16 * len(M)


def _times(M: Array, x: Array) -> Array:
    """Return M x for a symmetric M, for one action or a batch."""
    return M @ x if x.ndim == 1 else x @ M
