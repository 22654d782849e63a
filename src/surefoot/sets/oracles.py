r"""Oracles of known sets, for rules that do not project. There are four kinds.

**Gauges**: the factor by which a point must shrink to enter a set with 0 inside.

For :math:`r\mathbb{B} \subseteq K \subseteq R\mathbb{B}` the gauge is
:math:`\gamma(w) = \min\{\lambda \ge 0 : w \in \lambda K\}`. It is at most 1 exactly on K, is
homogeneous, and each of its subgradients s satisfies :math:`\langle s, w\rangle = \gamma(w)`,
:math:`\langle s, u\rangle \le 1` for u in K, and :math:`\|s\| \le 1/r`.

**Proximal steps**: points that trade a violation against the distance to a given point.

.. math:: P(y, w, \alpha) = \arg\min_{x \in R\mathbb{B}}\ w\,[g(x)]_+ + \alpha\|x - y\|^2

Without the ball each has a closed form. With it, the answer is :math:`x(\nu) = P(\alpha
y/(\alpha+\nu), w, \alpha+\nu)` without the ball, for the :math:`\nu \ge 0` at which its norm is R.
The norm decreases in :math:`\nu`, so bisection finds it for every g. Each call takes one NumPy run.

**Separation**: a half-space that contains a set but not a given point.

**Smooth sets**: sets :math:`\{h \le 0\}` of a smooth convex h, given by its value and gradient.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    convert_like,
    dot,
    find_largest,
    namespace,
    norm,
    rows_dot,
    sqrt,
    take_rows,
    where,
)
from surefoot.core.checks import to_python_number
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import (
    Declared,
    function,
    matrix,
    positive,
    symmetric,
    vector,
)
from surefoot.core.points import row_norms, subtract_centre
from surefoot.core.types import Array, Number, Set
from surefoot.sets._active_set import project_halfspaces
from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.ellipsoid import Ellipsoid, solve_secular
from surefoot.sets.halfspace import Halfspace
from surefoot.sets.polytope import Polytope, Rows, rows_of
from surefoot.sets.simplex import onto_simplex

__all__ = [
    "BallGauge",
    "BallProx",
    "BisectionGauge",
    "BoxProx",
    "EllipsoidProx",
    "Gauge",
    "LinearProx",
    "Linearised",
    "Prox",
    "RowSeparation",
    "RowsGauge",
    "RowsProx",
    "Separation",
    "SetSeparation",
    "SmoothQuadratic",
    "SmoothSet",
    "gauge_of",
    "prox_of",
    "separation_of",
    "smooth_of",
]

SPACING = 1e-5
"""The step of forward differences of a gauge."""


@runtime_checkable
class Gauge(Protocol):
    """An oracle for the gauge of a set: call it with a point."""

    @property
    def inner_radius(self) -> float:
        """The radius r of a ball around 0 that the set contains."""

    @property
    def error(self) -> float:
        """The largest excess of the answer over the true gauge, relative to the latter."""

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the gauge at w and a subgradient of it there; (0, 0) at 0."""


class BallGauge(Declared, kw_only=False):
    r"""The gauge of a ball around 0, :math:`\|w\|/R`.

    Example:
        >>> BallGauge(2.0)(np.array([3.0, -4.0]))
        (2.5, array([ 0.3, -0.4]))
    """

    error: ClassVar[float] = 0.0  # the formula is exact
    radius: Number = positive()

    @property
    def inner_radius(self) -> float:
        """The radius itself."""
        return float(self.radius)

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the norm over the radius, and its gradient."""
        n = norm(w)
        return n / self.radius, w / (self.radius * where(n > 0, n, 1.0))


class RowsGauge(Declared, kw_only=False):
    r"""The gauge of :math:`\{x : a_i^\top x \le 1\}`, :math:`[\max_i a_i^\top w]_+`.

    Args:
        rows: the :math:`a_i`, ``(m, d)``: rows of a polytope with 0 inside, divided by their
            limits.

    Example:
        >>> gauge = RowsGauge([[2.0, 0.0], [0.0, 0.5]])  # x <= 0.5 and y <= 2
        >>> gauge(np.array([1.0, 0.5]))
        (2.0, array([2., 0.]))
    """

    error: ClassVar[float] = 0.0  # the formula is exact
    rows: Array = matrix()

    @property
    def inner_radius(self) -> Number:
        """The distance of 0 to the nearest face."""
        xp = namespace(self.rows)
        return to_python_number(1 / xp.sqrt(xp.max(xp.sum(self.rows * self.rows, axis=-1))))

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the largest row product, and that row; (0, 0) where none is positive."""
        rows = convert_like(self.rows, w)
        products = rows_dot(rows, w) if w.ndim == 1 else w @ rows.T
        value, index = find_largest(products)
        s = take_rows(rows, index)
        return where(value > 0, value, 0.0 * value), where(value > 0, s, 0.0 * s)


class BisectionGauge(Declared, kw_only=False):
    r"""The gauge of a set that is given by a membership oracle; one NumPy run.

    Bisection between an outer end :math:`\lambda_-` with :math:`w/\lambda_- \notin K` and an inner
    end :math:`\lambda_+` with :math:`w/\lambda_+ \in K`, until they are ``tolerance`` apart. The
    answer is the inner end, so that :math:`w/\gamma` is in K. The subgradient is a forward
    difference of the gauge in each of d directions.

    Args:
        contains: whether a point is in the set.
        inner_radius: r, of a ball around 0 that the set holds.
        outer_radius: R, of a ball around 0 that holds the set.
        tolerance: the largest distance between the two ends.

    Example:
        >>> inside = lambda x: bool(abs(x).max() <= 0.5)
        >>> gamma, s = BisectionGauge(inside, 0.5, 1.0, 1e-9)(np.array([1.0, 0.5]))
        >>> round(gamma, 6), s.round(3)
        (2.0, array([2., 0.]))
    """

    contains: Callable[[Array], bool] = function()
    inner_radius: float = positive()
    outer_radius: float = positive()
    tolerance: float = positive()

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_most(self.outer_radius, "outer_radius", inner_radius=self.inner_radius)

    @property
    def error(self) -> float:
        """The tolerance of the bisection."""
        return self.tolerance

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the inner end of the bisection, and a subgradient."""
        if w.ndim != 1 or not isinstance(w, np.ndarray):
            raise checks.invalid("w.shape", "that of one NumPy run", tuple(w.shape))
        if not w.any():
            return 0.0, np.zeros_like(w)
        gamma = self._value(w)
        ahead = np.array([self._value(point) for point in w + SPACING * np.eye(len(w))])
        return gamma, (ahead - gamma) / SPACING

    def _value(self, w: Array) -> float:
        """Return the inner end."""
        size, is_inside = norm(w), lambda scale: self.contains(w / scale)
        outer, inner = size / self.outer_radius, size / self.inner_radius
        return _bisect(is_inside, outer, inner, self.tolerance)


def _bisect(
    holds: Callable[[float], bool], low: float, high: float, tolerance: float = 0.0
) -> float:
    """Return about the smallest number at which a condition holds; it holds from ``high`` on."""
    while high - low > tolerance and low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def gauge_of(region: object) -> Gauge:
    """Return the exact gauge of a set that has one.

    Example:
        >>> gauge_of(Box([-0.5, -1.0], [0.5, 1.0]))(np.array([1.0, 0.5]))
        (2.0, array([2., 0.]))
    """
    if isinstance(region, Ball) and region.centre is None:
        return BallGauge(region.radius)
    if isinstance(region, (Box, Polytope)):
        A, b = rows_of(region)
        if not (b > 0).all():
            raise checks.invalid("b", "above 0 for a gauge, so that 0 is inside", b.min())
        return RowsGauge(A / b[:, None])
    if isinstance(region, Gauge):
        return region
    rule = "a Ball around 0, a Box, a Polytope or a Gauge"
    raise checks.invalid("the feasible set", rule, region)


class Linearised(NamedTuple):
    """A reading of the constraint at the action played.

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
        self, y: Array, weight: float, alpha: float, radius: float, reading: Linearised
    ) -> Array:
        """Return the point of the ball of that radius that minimises the sum above.

        Args:
            y: the point to stay near.
            weight: w, of the violation.
            alpha: of the squared distance.
            radius: R.
            reading: the reading of the round; oracles of a fixed set ignore it.
        """


@runtime_checkable
class SetProx(Prox, Protocol):
    """The prox of a fixed set, which also computes the violation at a point."""

    def violation(self, x: Array) -> float:
        """Return the violation at a point."""


class _FreeProx(Declared, ABC, kw_only=False):
    """Base of proxes that reduce to the minimiser without the ball."""

    @abstractmethod
    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        """Return the minimiser over all points; alpha is the weight of the squared distance."""

    def __call__(
        self, y: Array, weight: float, alpha: float, radius: float, reading: Linearised
    ) -> Array:
        r"""Return :math:`x(\nu)` for the smallest :math:`\nu \ge 0` that puts it in the ball."""

        def at(nu: float) -> Array:
            return self._minimise(alpha / (alpha + nu) * y, weight, alpha + nu, reading)

        def is_inside(nu: float) -> bool:
            x = at(nu)
            return bool(x @ x <= radius * radius)

        if is_inside(0.0):
            return at(0.0)
        low, high = 0.0, alpha
        while not is_inside(high):
            low, high = high, 4 * high
        return at(_bisect(is_inside, low, high))


class LinearProx(_FreeProx, kw_only=False):
    r"""The prox of a linear constraint, given by its value and gradient in the round.

    :math:`y - \min\big(\tfrac{w}{2\alpha}, [g + s^\top(y - x)]_+/\|s\|^2\big)s`.

    Example:
        >>> reading = Linearised(np.array([0.8]), 0.3, np.array([1.0]))  # x <= 0.5
        >>> LinearProx()(np.array([0.8]), 1.0, 1.0, 9.0, reading)
        array([0.5])
    """

    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        x, g, s = reading
        squared = float(s @ s)
        if not squared > 0:
            return z
        excess = max(g + float(s @ (z - x)), 0.0)
        return z - min(weight / (2 * alpha), excess / squared) * s


class BallProx(_FreeProx, kw_only=False):
    r"""The prox of :math:`[\|x - c\| - r]_+`: towards the ball by at most :math:`w/(2\alpha)`.

    Example:
        >>> reading = Linearised(np.zeros(1), -1.0, np.zeros(1))
        >>> BallProx(Ball(1.0))(np.array([3.0]), 2.0, 1.0, 9.0, reading)
        array([2.])
    """

    ball: Ball

    def violation(self, x: Array) -> float:
        """Return the distance to the ball."""
        distance = float(norm(subtract_centre(x, self.ball.centre)))
        return max(distance - float(self.ball.radius), 0.0)

    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        way = subtract_centre(z, self.ball.centre)
        move = min(weight / (2 * alpha), self.violation(z))
        return z - (move / norm(way) if move > 0 else 0.0) * way


class BoxProx(_FreeProx, kw_only=False):
    r"""The prox of :math:`[\max_i |x_i - c_i| - b]_+`, for a cube of half-side b around c.

    Entries are cut at the level :math:`\tau \ge b` at which the cuts add up to
    :math:`w/(2\alpha)`, or at b where less is enough.

    Example:
        >>> cube = BoxProx(np.zeros(2), 0.5)
        >>> reading = Linearised(np.zeros(2), -0.5, np.zeros(2))
        >>> cube(np.array([2.0, 1.0]), 1.0, 1.0, 9.0, reading)  # cuts of 0.5 in all
        array([1.5, 1. ])
    """

    centre: Array
    half_side: float

    def violation(self, x: Array) -> float:
        """Return how far the largest entry exceeds the half-side."""
        return max(float(np.abs(x - self.centre).max()) - self.half_side, 0.0)

    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        way = z - self.centre
        level = _cut_level(np.abs(way), self.half_side, weight / (2 * alpha))
        return self.centre + np.clip(way, -level, level)


class EllipsoidProx(_FreeProx, kw_only=False):
    r"""The prox of :math:`[\sqrt{(x - c)^\top P(x - c)} - 1]_+`, for an ellipsoid.

    In the axes of P the minimiser is :math:`v_i/(1 + t\lambda_i)`, v = z - c. Its P-norm n(t)
    decreases with t, while t n(t) increases. So t is the smallest with :math:`t\,n(t) \ge
    w/(2\alpha)`, where the derivative vanishes, or with :math:`n(t) \le 1`, where the point reaches
    the ellipsoid. Both are roots of the equation that the projection solves, the first in 1/t.

    Example:
        >>> reading = Linearised(np.zeros(2), -1.0, np.zeros(2))
        >>> flat = Ellipsoid([[4.0, 0.0], [0.0, 1.0]])
        >>> EllipsoidProx(flat)(np.array([3.0, 0.0]), 2.0, 1.0, 9.0, reading).round(12)
        array([1., 0.])
    """

    ellipsoid: Ellipsoid

    def violation(self, x: Array) -> float:
        """Return by how much the P-norm exceeds 1."""
        return max(math.sqrt(float(self.ellipsoid.curvatures @ self._turn(x) ** 2)) - 1.0, 0.0)

    def _turn(self, x: Array) -> Array:
        return self.ellipsoid.axes.T @ subtract_centre(x, self.ellipsoid.centre)

    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        v, share, curvatures = self._turn(z), weight / (2 * alpha), self.ellipsoid.curvatures
        if share <= 0.0:
            return z
        t = float(solve_secular(v / np.sqrt(curvatures), 1.0 / curvatures))
        slow = float(solve_secular((np.sqrt(curvatures) * v / share)[::-1], curvatures[::-1]))
        t = min(t, 1.0 / slow) if slow > 0 else t
        return z - self.ellipsoid.axes @ (v - v / (1.0 + t * curvatures))


class RowsProx(Rows, _FreeProx, kw_only=False):
    r"""The prox of :math:`[\max_i (a_i^\top x - b_i)]_+`, by active sets.

    With :math:`c = w/(2\alpha)` the minimiser is the projection of z onto the rows :math:`a_i^\top
    x - b_i \le v`, for the smallest :math:`v \ge 0` at which its multipliers add up to at most c.
    Their sum S(v) decreases. It is affine where the active rows N stay the same, with :math:`S' =
    -\mathbf1^\top(NN^\top)^{-1}\mathbf1`. Newton's method ends when it reaches the piece of the
    root. If S jumps over c, bisection ends it.

    Args:
        A: rows, ``(m, d)``.
        b: limits, ``(m,)``.

    Example:
        >>> reading = Linearised(np.zeros(2), -0.5, np.zeros(2))
        >>> corner = RowsProx(np.eye(2), np.array([0.5, 1.5]))
        >>> corner(np.array([2.0, 2.0]), 2.0, 1.0, 9.0, reading)  # cuts of 1 in all
        array([1., 2.])
    """

    def violation(self, x: Array) -> float:
        """Return the largest excess of a row."""
        return max(float((self.A @ x - self.b).max()), 0.0)

    def _minimise(self, z: Array, weight: float, alpha: float, reading: Linearised) -> Array:
        worst = self.violation(z)
        if worst == 0.0 or weight <= 0.0:
            return z
        # In units of the longest row and of the distance to the most violated row.
        longest = float(row_norms(self.A).max())
        unit, excess = worst / longest, (self.A @ z - self.b) / worst
        c = weight / (2 * alpha) * longest / unit
        return z + unit * _step_onto_rows(excess, self.A / longest, c)


def _step_onto_rows(excess: Array, rows: Array, c: float) -> Array:
    """Return the step of :class:`RowsProx`; the largest excess is 1, and no row is longer than 1.

    Args:
        excess: of each row at the point to move.
        rows: ``(m, d)``.
        c: the largest sum of the multipliers.
    """
    worst = rows[int(excess.argmax())]
    low, high, v = -1.0, 1.0, max(1.0 - c * float(worst @ worst), 0.0)  # if no other row is active
    for turn in range(_MOST_TURNS):
        q, z = _project_onto_rows(excess - v, rows)
        total, active = float(z.sum()), rows[z > 0]
        if total <= c and v == 0.0:
            return q
        low, high = (v, high) if total > c else (low, v)
        middle = max(0.5 * (low + high), 0.0)
        if turn < _NEWTON_TURNS and len(active):
            slope = float(np.linalg.lstsq(active @ active.T, np.ones(len(active)))[0].sum())
            root = max(v + (total - c) / slope, 0.0)
            if abs(root - v) <= _LAST_BITS:
                return q
            middle = root if low < root < high else middle
        if high - low <= _LAST_BITS:
            return q
        v = middle
    raise _no_prox(f"c = {c:g}")


_LAST_BITS = 2.0**-50
"""Levels of the violation that differ by at most this are equal; the first level is 1."""
_NEWTON_TURNS = 20
"""Newton passes few pieces; bisection takes over if there are more."""
_MOST_TURNS = 100


def _project_onto_rows(excess: Array, rows: Array) -> tuple[Array, Array]:
    """Return the shortest step to the rows, and its multipliers; both are checked."""
    for tolerance in (1e-13, 1e-10):  # the second for nearly parallel rows
        answer = project_halfspaces(excess, rows, tolerance, math.inf)
        if answer is not None:
            return answer
    raise _no_prox("rows that no active set satisfies")


def _no_prox(what: str) -> InvalidValueError:
    return InvalidValueError(f"the proximal step must be found by active sets, got {what}")


def _cut_level(sizes: Array, least: float, total: float) -> float:
    """Return the level, at least ``least``, at which cuts of the sizes add up to a total."""
    if float(np.maximum(sizes - least, 0.0).sum()) <= total:
        return least
    if not total > 0:
        return float(sizes.max())
    # The parts above the level are the nearest point of a simplex.
    return max(float((sizes - onto_simplex(sizes, total, total)).max()), least)


def prox_of(region: object) -> Prox:
    """Return the proximal oracle of a feasible set.

    Example:
        >>> prox_of(Box([-0.5, -0.5], [0.5, 0.5]))
        BoxProx(centre=array([0., 0.]), half_side=0.5)
    """
    if isinstance(region, Ball):
        return BallProx(region)
    if isinstance(region, Ellipsoid):
        return EllipsoidProx(region)
    if isinstance(region, Box):
        sides = region.upper - region.lower
        if np.ptp(sides) <= 1e-12 * sides.max():
            return BoxProx(0.5 * (region.lower + region.upper), float(0.5 * sides.max()))
    if isinstance(region, (Box, Halfspace, Polytope)):
        return RowsProx(*rows_of(region))
    if isinstance(region, Prox) and not isinstance(region, type):
        return region
    rule = "a Ball, an Ellipsoid, a Box, a Halfspace, a Polytope or a Prox"
    raise checks.invalid("the feasible set", rule, region)


@runtime_checkable
class Separation(Protocol):
    """An oracle that separates points from a convex set; one NumPy run."""

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        r"""Return None for a point of the set, else a cut.

        A cut is a depth c >= 0 and a normal a with
        :math:`\langle a, y - z\rangle \ge c` for every z of the set; c = 0 where only the
        direction is known.
        """


class SetSeparation(Declared, kw_only=False):
    """Separation from a set that can project; costs one projection per answer.

    Example:
        >>> from surefoot.sets import Box
        >>> SetSeparation(Box([-1.0, -1.0], [1.0, 1.0]))(np.array([1.5, 0.0]))
        (0.25, array([0.5, 0. ]))
    """

    region: Set

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        """Return the vector from the nearest point, and its squared norm as the depth."""
        if self.region.contains(y):
            return None
        a = y - self.region.project(y)
        return float(a @ a), a


class RowSeparation(Rows, kw_only=False):
    """Separation from a polytope by its most violated row.

    Args:
        A: rows, ``(m, d)``.
        b: limits, ``(m,)``.

    Example:
        >>> RowSeparation(np.eye(2), np.ones(2))(np.array([0.5, 3.0]))
        (2.0, array([0., 1.]))
    """

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        """Return the largest excess and its row; None if no row is violated."""
        excess = self.A @ y - self.b
        i = int(excess.argmax())
        return None if excess[i] <= 0 else (float(excess[i]), self.A[i])


def separation_of(region: object) -> Separation:
    """Return the separation oracle of a set: by rows for boxes and polytopes.

    Example:
        >>> from surefoot.sets import Box
        >>> separation_of(Box([-1.0, -1.0], [1.0, 1.0]))(np.array([1.5, 0.0]))
        (0.5, array([1., 0.]))
    """
    if isinstance(region, (Box, Polytope)):
        return RowSeparation(*rows_of(region))
    if isinstance(region, Set):
        return SetSeparation(region)
    if isinstance(region, Separation) and not isinstance(region, type):
        return region
    raise InvalidValueError(f"the feasible set must separate or project, got {region!r}")


class SmoothSet(Declared):
    r"""A convex :math:`\beta`-smooth h and its set :math:`\{h \le 0\}`; a subclass adds the call.

    Args:
        centre: an interior point; 0 unless given.
        depth: :math:`h_0`, the value of -h at the centre.
        curvature: the smoothness constant :math:`\beta` of h.
        reach: the largest distance from the centre to a point of the set.
    """

    centre: Array | None = vector(default=None)
    depth: Number = positive()
    curvature: Number = positive()
    reach: Number = positive()

    @property
    def dimension(self) -> int | None:
        """The length of a point; None if any is possible."""
        return None if self.centre is None else len(self.centre)

    @property
    def diameter(self) -> Number:
        """An upper bound on the distance between two points of the set."""
        return 2.0 * self.reach

    def interior_like(self, x: Array) -> Array:
        """Return the interior point as an array of x's backend."""
        return 0.0 * x if self.centre is None else convert_like(self.centre, x)

    def contains(self, x: Array) -> Array:
        """Return whether h is at most 0."""
        return self(x)[0] <= 0

    @abstractmethod
    def __call__(self, x: Array) -> tuple[Number, Array]:
        """Return h and its gradient at x."""


class SmoothQuadratic(SmoothSet):
    r"""The set of :math:`h(x) = (x - c)^\top P(x - c) - h_0`, a ball or an ellipsoid around c.

    Args:
        P: a symmetric matrix; the identity unless given.

    Example:
        >>> smooth_of(Ball(1.0))(np.array([2.0, 0.0]))
        (3.0, array([4., 0.]))
    """

    P: Array | None = symmetric(default=None)

    def __call__(self, x: Array) -> tuple[Number, Array]:
        """Return h and its gradient at x."""
        z = x - self.interior_like(x)
        product = z if self.P is None else z @ convert_like(self.P, x)
        return dot(product, z) - self.depth, 2.0 * product


def smooth_of(region: object) -> SmoothSet:
    """Return a smooth function whose sublevel set is the given ball or ellipsoid.

    Example:
        >>> smooth_of(Ball(0.5)).depth
        0.25
    """
    if isinstance(region, Ball):
        R = region.radius
        return SmoothQuadratic(centre=region.centre, depth=R * R, curvature=2.0, reach=R)
    if isinstance(region, Ellipsoid):
        # Both rounded up by more than the error of the eigenvalues.
        curvature = 2 * region.curvatures[-1] * (1 + 1e-12)
        reach = (1 + 1e-12) / sqrt(region.curvatures[0])
        constants = {"depth": 1.0, "curvature": curvature, "reach": reach}
        return SmoothQuadratic(P=region.P, centre=region.centre, **constants)
    if isinstance(region, SmoothSet):
        return region
    rule = "a Ball, an Ellipsoid or a SmoothSet"
    raise checks.invalid("the feasible set", rule, region)
