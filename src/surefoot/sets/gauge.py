r"""Gauge oracles: how far a point must shrink to enter a set that contains a ball around 0.

For :math:`r\mathbb{B} \subseteq K \subseteq R\mathbb{B}` the gauge is
:math:`\gamma(w) = \min\{\lambda \ge 0 : w \in \lambda K\}`. It is at most 1 exactly on K, is
homogeneous, and each of its subgradients s satisfies :math:`\langle s, w\rangle = \gamma(w)`,
:math:`\langle s, u\rangle \le 1` for u in K, and :math:`\|s\| \le 1/r`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Protocol, runtime_checkable

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    convert_like,
    find_largest,
    namespace,
    norm,
    rows_dot,
    take_rows,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, function, matrix, positive
from surefoot.core.types import Array, Number
from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.polytope import Polytope, rows_of

__all__ = ["BallGauge", "BisectionGauge", "Gauge", "RowsGauge", "gauge_of"]


@runtime_checkable
class Gauge(Protocol):
    """An oracle for the gauge of a set: call it with a point."""

    @property
    def inner_radius(self) -> float:
        """The radius r of a ball around 0 that the set contains."""
        ...

    @property
    def error(self) -> float:
        """The largest excess of the answer over the true gauge, relative to the point's own."""
        ...

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the gauge at w and a subgradient of it there; (0, 0) at 0."""
        ...


class BallGauge(Declared, kw_only=False):
    r"""The gauge of a ball around 0, :math:`\|w\|/R`.

    Example:
        >>> BallGauge(2.0)(np.array([3.0, -4.0]))
        (2.5, array([ 0.3, -0.4]))
    """

    radius: Number = positive()

    @property
    def inner_radius(self) -> float:
        """The radius itself."""
        return float(self.radius)

    @property
    def error(self) -> float:
        """Zero, since the formula is exact."""
        return 0.0

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the norm over the radius, and its gradient."""
        n = norm(w)
        return n / self.radius, w / (self.radius * where(n > 0, n, 1.0))


class RowsGauge(Declared, kw_only=False):
    r"""The gauge of :math:`\{x : a_i^\top x \le 1\}`, :math:`[\max_i a_i^\top w]_+`.

    Args:
        rows: the :math:`a_i`, ``(m, d)``: rows of a polytope with 0 inside, divided by their
            limits.

    Attributes:
        inner_radius: the distance of 0 to the nearest face.

    Example:
        >>> gauge = RowsGauge.of_limits([[1.0, 0.0], [0.0, 1.0]], [0.5, 2.0])
        >>> gauge(np.array([1.0, 0.5]))
        (2.0, array([2., 0.]))
    """

    rows: Array = matrix()
    inner_radius: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        xp = namespace(self.rows)
        longest = xp.max(xp.sum(self.rows * self.rows, axis=-1))
        inner = 1 / xp.sqrt(longest)
        object.__setattr__(self, "inner_radius", float(inner) if xp is np else inner)

    @classmethod
    def of_limits(cls, A: Array, b: Array) -> RowsGauge:
        """Return the gauge of the polytope Ax <= b, whose b must be positive."""
        A = checks.to_matrix(A, "A")
        b = checks.to_vector(b, "b", length=len(A))
        if not (b > 0).all():
            raise InvalidValueError(
                f"0 must be inside the set for a gauge, got a limit of {b.min():g}"
            )
        return cls(A / b[:, None])

    @property
    def error(self) -> float:
        """Zero, since the formula is exact."""
        return 0.0

    def __call__(self, w: Array) -> tuple[Number, Array]:
        """Return the largest row product, and that row; (0, 0) where none is positive."""
        rows = convert_like(self.rows, w)
        products = rows_dot(rows, w) if w.ndim == 1 else w @ rows.T
        value, index = find_largest(products)
        s = take_rows(rows, index)
        return where(value > 0, value, 0.0 * value), where(value > 0, s, 0.0 * s)


class BisectionGauge(Declared, kw_only=False):
    r"""The gauge of a set known by a membership or separation oracle; one NumPy run.

    Bisection between an outer end :math:`\lambda_-` with :math:`w/\lambda_- \notin K` and an inner
    end :math:`\lambda_+` with :math:`w/\lambda_+ \in K`, until they are ``tolerance`` apart. The
    answer is the inner end, so that :math:`w/\gamma` is in K. With separation the subgradient is
    :math:`a/\langle a, w/\lambda_-\rangle` for the normal a found at the outer end; with membership
    alone it is a forward difference of the gauge in each of d directions.

    Args:
        contains: whether a point is in the set.
        inner_radius: r, of a ball around 0 that the set holds.
        outer_radius: R, of a ball around 0 that holds the set.
        tolerance: the largest distance between the two ends.
        separate: a function that gives None for a point of the set and the normal of a separating
            half-space for another point; the membership oracle alone where it is None.
        spacing: the step of the forward differences.

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
    separate: Callable[[Array], Array | None] | None = function(default=None)
    spacing: float = positive(default=1e-5)

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
            raise InvalidValueError(
                f"a gauge by bisection must be given one NumPy run, got shape {tuple(w.shape)}"
            )
        if not w.any():
            return 0.0, np.zeros_like(w)
        inner, outer = self._ends(w)
        if self.separate is None:
            return inner, self._differences(w, inner)
        if outer is None:  # w/inner is in the set, and so is every w/lambda that was tried
            return inner, np.zeros_like(w)
        a = self.separate(w / outer)
        if a is None:
            raise InvalidValueError(
                "the separation oracle must separate a point outside the set, got None at "
                f"{w / outer!r}"
            )
        # A ball around 0 is inside, so a normal that separates w/outer has a positive product.
        product = float(a @ (w / outer))
        if not 0 < product < math.inf:
            raise InvalidValueError(
                f"the separation oracle must give a normal that leaves 0 inside, got {a!r} at "
                f"{w / outer!r}"
            )
        return inner, a / product

    def _ends(self, w: Array) -> tuple[float, float | None]:
        """Return the inner end, and the outer one where a point outside was found."""
        size = math.sqrt(w @ w)
        inner, outer, found = size / self.inner_radius, size / self.outer_radius, None
        while inner - outer > self.tolerance:
            middle = 0.5 * (inner + outer)
            if not outer < middle < inner:
                break
            if self.contains(w / middle):
                inner = middle
            else:
                outer = found = middle
        if found is None and not self.contains(w / outer):
            found = outer
        return inner, found

    def _differences(self, w: Array, gamma: float) -> Array:
        s = np.empty_like(w)
        for i in range(len(w)):
            ahead = w.copy()
            ahead[i] += self.spacing
            s[i] = (self._ends(ahead)[0] - gamma) / self.spacing
        return s


def gauge_of(region: object) -> Gauge:
    """Return the exact gauge of a set that has one.

    Example:
        >>> gauge_of(Box([-0.5, -1.0], [0.5, 1.0]))(np.array([1.0, 0.5]))
        (2.0, array([2., 0.]))
    """
    if isinstance(region, Ball) and region.centre is None:
        return BallGauge(region.radius)
    if isinstance(region, (Box, Polytope)):
        return RowsGauge.of_limits(*rows_of(region))
    if isinstance(region, Gauge):
        return region
    raise InvalidValueError(
        "the feasible set must be a Ball around 0, a Box, a Polytope or a Gauge of your own, "
        f"got {region!r}"
    )
