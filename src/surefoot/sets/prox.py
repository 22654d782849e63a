r"""Proximal oracles: points that trade a violation against the distance to a given point.

.. math:: P(y, w, \alpha) = \arg\min_{x \in R\mathbb{B}}\ w\,[g(x)]_+ + \alpha\|x - y\|^2

Without the ball each has a closed form. With it: :math:`x(\nu) = P(\alpha y/(\alpha+\nu), w,
\alpha+\nu)` without the ball, for the :math:`\nu \ge 0` at which its norm is R. The norm falls in
:math:`\nu`, so bisection finds it, whatever g is. One NumPy run each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared
from surefoot.core.types import Array
from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.halfspace import Halfspace
from surefoot.sets.polytope import Polytope, rows_of

__all__ = ["BallProx", "BoxProx", "LinearProx", "Linearised", "Prox", "RowsProx", "prox_of"]


class Linearised(NamedTuple):
    """What a round revealed about the constraint at the action played.

    Attributes:
        x: the action.
        g: the value of the constraint there.
        s: a subgradient there.
    """

    x: Array
    g: float
    s: Array


@runtime_checkable
class Prox(Protocol):
    """An oracle for the proximal step with the violation of a constraint."""

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, seen: Linearised
    ) -> Array:
        """Return the point of the ball of that radius that minimises the sum above.

        Args:
            y: the point to stay near.
            weight: w, of the violation.
            alpha: of the squared distance.
            radius: R.
            seen: what the round revealed; oracles of a fixed set do not look at it.
        """
        ...


def in_ball(free: Callable[[Array, float], Array], y: Array, alpha: float, radius: float) -> Array:
    r"""Return :math:`x(\nu)` for the smallest :math:`\nu \ge 0` that puts it in the ball.

    Args:
        free: the minimiser without the ball, from a point and a weight of the distance.
        y: the point to stay near.
        alpha: the weight of the distance.
        radius: of the ball, around 0.
    """
    x = free(y, alpha)
    if x @ x <= radius * radius:
        return x

    def at(nu: float) -> Array:
        return free(alpha / (alpha + nu) * y, alpha + nu)

    low, high = 0.0, alpha
    while (x := at(high)) @ x > radius * radius:
        low, high = high, 4 * high
    while low < (middle := 0.5 * (low + high)) < high and high - low > 1e-16 * high:
        point = at(middle)
        if point @ point <= radius * radius:
            high, x = middle, point
        else:
            low = middle
    return x


class LinearProx(Declared, kw_only=False):
    r"""The prox of a constraint that is linear, known from its value and slope in the round.

    :math:`y - \min\big(\tfrac{w}{2\alpha}, [g + s^\top(y - x)]_+/\|s\|^2\big)s`.

    Example:
        >>> seen = Linearised(np.array([0.8]), 0.3, np.array([1.0]))  # x <= 0.5
        >>> LinearProx()(np.array([0.8]), 1.0, 1.0, 9.0, seen)
        array([0.5])
    """

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, seen: Linearised
    ) -> Array:
        """Return the minimiser."""
        x, g, s = seen
        squared = float(s @ s)
        if not squared > 0:
            return in_ball(lambda z, _: z, y, alpha, radius)

        def free(z: Array, a: float) -> Array:
            excess = max(g + float(s @ (z - x)), 0.0)
            return z - min(weight / (2 * a), excess / squared) * s

        return in_ball(free, y, alpha, radius)


class BallProx(Declared, kw_only=False):
    r"""The prox of :math:`[\|x - c\| - r]_+`: towards the ball by at most :math:`w/(2\alpha)`.

    Example:
        >>> seen = Linearised(np.zeros(1), -1.0, np.zeros(1))
        >>> BallProx(Ball(1.0))(np.array([3.0]), 2.0, 1.0, 9.0, seen)
        array([2.])
    """

    ball: Ball

    def violation(self, x: Array) -> float:
        """Return the distance to the ball."""
        way = x if self.ball.centre is None else x - self.ball.centre
        return max(math.sqrt(float(way @ way)) - float(self.ball.radius), 0.0)

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, seen: Linearised
    ) -> Array:
        """Return the minimiser."""
        centre = 0.0 * y if self.ball.centre is None else self.ball.centre

        def free(z: Array, a: float) -> Array:
            way = z - centre
            size = math.sqrt(float(way @ way))
            move = min(weight / (2 * a), max(size - float(self.ball.radius), 0.0))
            return z - (move / size if move > 0 else 0.0) * way

        return in_ball(free, y, alpha, radius)


class BoxProx(Declared, kw_only=False):
    r"""The prox of :math:`[\max_i |x_i - c_i| - b]_+`, for a cube of half-side b around c.

    Entries are cut at the level :math:`\tau \ge b` at which the cuts add up to
    :math:`w/(2\alpha)`, or at b where less is enough.

    Example:
        >>> cube = BoxProx(np.zeros(2), 0.5)
        >>> seen = Linearised(np.zeros(2), -0.5, np.zeros(2))
        >>> cube(np.array([2.0, 1.0]), 1.0, 1.0, 9.0, seen)  # cuts of 0.5 in all
        array([1.5, 1. ])
    """

    centre: Array
    half_side: float

    def violation(self, x: Array) -> float:
        """Return how far the largest entry is beyond its side."""
        return max(float(np.abs(x - self.centre).max()) - self.half_side, 0.0)

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, seen: Linearised
    ) -> Array:
        """Return the minimiser."""

        def free(z: Array, a: float) -> Array:
            way = z - self.centre
            level = _cut_level(np.abs(way), self.half_side, weight / (2 * a))
            return self.centre + np.clip(way, -level, level)

        return in_ball(free, y, alpha, radius)


class RowsProx(Declared, kw_only=False):
    r"""The prox of :math:`[\max_i (a_i^\top x - b_i)]_+`, as a quadratic program (extra ``solve``).

    Args:
        A: rows, ``(m, d)``.
        b: limits, ``(m,)``.
    """

    A: Array
    b: Array

    def violation(self, x: Array) -> float:
        """Return the largest excess of a row."""
        return max(float((self.A @ x - self.b).max()), 0.0)

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, seen: Linearised
    ) -> Array:
        """Return the minimiser."""
        return in_ball(lambda z, a: self._free(z, weight, a), y, alpha, radius)

    def _free(self, z: Array, weight: float, alpha: float) -> Array:
        """Minimise over x and the violation v >= 0 with Ax - b <= v."""
        excess = self.A @ z - self.b
        if excess.max() <= 0:
            return z
        solve_qp = need("qpsolvers", "solve", "a proximal step with several rows").solve_qp
        d, m = len(z), len(self.b)
        # v >= 0 as large as it pays: a tiny curvature keeps the problem strictly convex.
        P = np.diag(np.append(np.full(d, 2 * alpha), 1e-12 * alpha))
        q = np.append(-2 * alpha * z, weight)
        G = np.block([[self.A, -np.ones((m, 1))], [np.zeros((1, d)), -np.ones((1, 1))]])
        h = np.append(self.b, 0.0)
        found = solve_qp(P, q, G, h, solver="piqp", eps_abs=1e-12, eps_rel=0.0)
        if found is None:
            raise InvalidValueError("the proximal step must be found, got no answer from PIQP")
        return np.asarray(found[:d])


def _cut_level(sizes: Array, least: float, total: float) -> float:
    """Return the level at which cuts of the sizes add up to a total; not below ``least``."""
    if float(np.maximum(sizes - least, 0.0).sum()) <= total:
        return least
    ordered = np.sort(sizes)[::-1]
    counts = np.arange(1, len(ordered) + 1)
    levels = (np.cumsum(ordered) - total) / counts
    # The level with k entries above it: the last k whose own level is below its smallest entry.
    k = int(np.flatnonzero(ordered >= levels)[-1])
    return float(max(levels[k], least))


def prox_of(region: object) -> Prox:
    """Return the proximal oracle of a feasible set.

    Example:
        >>> prox_of(Box([-0.5, -0.5], [0.5, 0.5]))
        BoxProx(centre=array([0., 0.]), half_side=0.5)
    """
    if isinstance(region, Ball):
        return BallProx(region)
    if isinstance(region, Box):
        sides = region.upper - region.lower
        if np.ptp(sides) <= 1e-12 * sides.max():
            return BoxProx(0.5 * (region.lower + region.upper), float(0.5 * sides.max()))
    if isinstance(region, (Box, Halfspace, Polytope)):
        return RowsProx(*rows_of(region))
    if isinstance(region, Prox) and not isinstance(region, type):
        return region
    raise InvalidValueError(
        "the feasible set must be a Ball, a Box, a Halfspace, a Polytope or a Prox of your own, "
        f"got {region!r}"
    )
