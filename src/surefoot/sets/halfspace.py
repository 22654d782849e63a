"""Half-spaces: the projection behind the Polyak feasibility step, and the set."""

import math
from typing import NoReturn

import numpy as np

from surefoot.core import checks, parameters
from surefoot.core.arrays import (
    convert_like,
    dot,
    maximum,
    minimum,
    namespace,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.points import UNIT, ConvexSet, check_length
from surefoot.core.types import Array, Number

__all__ = ["EmptyTighteningError", "Halfspace", "Slab", "project_halfspace"]


class EmptyTighteningError(SurefootError, ValueError):
    """A zero subgradient while the tightened constraint is violated: no point satisfies it."""


def project_halfspace(y: Array, excess: Number, s: Array, squared: Number | None = None) -> Array:
    r"""Project y onto a half-space, from how far y exceeds it: :math:`y - [v]_+ s/\|s\|^2`.

    With the excess :math:`v = g_t + s_t^\top(y - x_t) + \rho` this is the projection onto
    :math:`H_t = \{p : g_t + s_t^\top(p - x_t) + \rho \le 0\}`: Fact 1 of the paper.

    A zero s is no half-space: with :math:`v \le 0` it is the whole space and y is returned; with
    v > 0 it is empty. Then one run raises :class:`EmptyTighteningError`, and a run of a batch
    becomes NaN, which every later step keeps and the game reports. NaN and inf in any argument
    end the same way, those of y because the excess is computed from y: the comparisons are
    written so that a NaN fails them, at no extra cost.

    Args:
        y: the point or points.
        excess: v.
        s: the normal.
        squared: the inner product of s with itself, where it is known already.

    Example:
        >>> project_halfspace(np.array([0.1, 0.7]), 0.25, np.array([0.0, 1.0]))
        array([0.1 , 0.45])
    """
    if isinstance(excess, (int, float, np.number)):
        excess = float(excess)
        if -math.inf < excess <= 0.0:
            return y
        squared = dot(s, s) if squared is None else squared
        # The quotient last: of a square that has lost its digits it is infinite.
        if not (
            0.0 < squared < math.inf
            and 0.0 < excess < math.inf
            and (step := excess / squared) < math.inf
        ):
            _refuse(y, excess, s)
        return y - step * s
    squared = dot(s, s) if squared is None else squared
    cuts = squared > 0
    step = maximum(excess, 0.0) / where(cuts, squared, 1.0)
    # An excess of -inf would be no step at all: like the other infinities it is refused.
    exists = (cuts | (excess <= 0)) & (excess > -math.inf)
    return y - where(exists, step, math.nan) * s


def _refuse(y: Array, excess: float, s: Array) -> NoReturn:
    """Raise an error that says why a projection does not exist."""
    s = to_numpy(s)
    checks.refuse_unfinite(s, "constraint_subgradient")
    checks.refuse_unfinite(to_numpy(y), "the point to project, x - eta cost_gradient,")
    if not math.isfinite(excess):
        raise InvalidValueError(f"constraint_value must be finite, got an excess of {excess!r}")
    if s.any():
        raise InvalidValueError(
            f"constraint_subgradient must have a square to divide {excess:g} by, got {s!r}"
        )
    raise EmptyTighteningError(
        "constraint_subgradient must not be 0 where the tightened constraint is violated, "
        f"got s = 0 with g + rho = {excess:g} > 0: x is a minimum of g, so g <= -rho nowhere"
    )


class _AcrossNormal(ConvexSet, kw_only=False):
    """The points whose inner product with a normal is limited: a set without an end."""

    normal: Array = parameters.normal()

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.normal.shape[-1])

    def minimize_linear(self, c: Array) -> Array:
        """Raise: over a set without an end a linear function has in general no minimum."""
        raise InvalidValueError(
            f"minimize_linear must be given a bounded set, got a {type(self).__name__}: "
            "intersect it with a ball or a box"
        )


class Halfspace(_AcrossNormal, kw_only=False):
    r"""The half-space :math:`\{x : a^\top x \le b\}`.

    Args:
        normal: :math:`a \ne 0`.
        offset: :math:`b`.

    Example:
        >>> below = Halfspace([0.0, 2.0], 1.0)
        >>> below.project(np.array([3.0, 1.0])).round(12)
        array([3. , 0.5])
    """

    offset: Number = parameters.number()

    @property
    def diameter(self) -> float:
        """Infinite: a half-space is unbounded."""
        return math.inf

    def excess(self, x: Array) -> Number:
        r"""Return by how much x exceeds the half-space, :math:`a^\top x - b`."""
        return dot(x, convert_like(self.normal, x)) - self.offset

    def project(self, x: Array) -> Array:
        """Return the nearest point, a rounding error inside so that :meth:`contains` is true."""
        x = check_length(x, self.dimension, "the point to project")
        a = convert_like(self.normal, x)
        # With M = sum |a_i x_i| + |b| and u = 2^-53, to first order and for sums in any order: the
        # excess v errs by (d + 1) u M; v/|a|^2 by (d + 1) u of itself, which is (d + 1) u M in a'p;
        # the entries of p by u |p_i| + u |x_i - p_i|, which is 3 u M in a'p; and a'p - b, computed
        # again, by (d + 1) u 2M, because sum |a_i p_i| + |b| <= sum |a_i x_i| + v + |b| <= 2M.
        # Going further inside by more than all of it, 4 (d + 8) u M, leaves it at most 0.
        u, d = 2.0**-53, x.shape[-1]
        margin = 4 * (d + 8) * u * (dot(abs(x), abs(a)) + abs(self.offset))
        excess = self.excess(x)
        return project_halfspace(x, where(excess > 0, excess + margin, excess), _like(a, x))

    def contains(self, x: Array) -> Array:
        r"""Return whether :math:`a^\top x \le b`, exactly."""
        return self.excess(x) <= 0


class Slab(_AcrossNormal, kw_only=False):
    r"""The slab :math:`\{x : l \le a^\top x \le u\}`.

    Args:
        normal: :math:`a \ne 0`.
        lower: :math:`l`.
        upper: :math:`u > l`.

    Example:
        >>> import numpy as np
        >>> between = Slab([0.0, 2.0], lower=-3.0, upper=1.0)
        >>> between.project(np.array([[3.0, 1.0], [4.0, -5.0], [0.5, 0.25]])).round(12)
        array([[ 3.  ,  0.5 ], [ 4.  , -1.5 ], [ 0.5 ,  0.25]])
    """

    lower: Number = parameters.number()
    upper: Number = parameters.number()

    def __post_init__(self) -> None:
        super().__post_init__()
        both = isinstance(self.lower, float) and isinstance(self.upper, float)
        if both and self.lower >= self.upper:
            raise InvalidValueError(
                f"upper must be above lower = {self.lower:g}, got {self.upper:g}: "
                "a hyperplane is better parametrised than projected onto"
            )

    @property
    def diameter(self) -> float:
        """Infinite, except for one entry, where a slab is an interval."""
        if self.dimension > 1:
            return math.inf
        return (float(self.upper) - float(self.lower)) / abs(float(self.normal[0]))

    def _nearest(self, x: Array, inside: Array) -> Array:
        r"""Return the nearest point: the part of x along a moves, the part across stays.

        A point outside lands a rounding error inside, so that :meth:`contains` is true of it. If
        the slab is thinner than the rounding of :math:`a^\top p`, no computed point is certain to
        be inside: one run is refused and a run of a batch becomes NaN.
        """
        a = convert_like(self.normal, x)
        value = dot(x, a)
        squared = dot(a, a)
        # Across a, twice: the first time leaves rounding of the size of x, which may be far away,
        # the second only of the size of the part itself. A part that the second time more than
        # halves was nothing but that rounding (Kahan's criterion), and is 0.
        first = x - (value / squared) * a
        across = first - (dot(first, a) / squared) * a
        across = where(4.0 * dot(across, across) <= dot(first, first), 0.0 * across, across)
        # With M = |a||across| + max(|l|, |u|): a'across is at most 2 (d + 3) u M, the point errs by
        # 3 u M / |a|, and a'p, computed again, by (d + 1) u M; together less than the margin.
        # The maximum is taken before the root: the derivative of the root at 0 is infinite.
        length = sqrt(squared)
        limit = maximum(abs(self.lower), abs(self.upper)) / length
        size = length * (sqrt(maximum(dot(across, across), limit * limit)) + limit)
        margin = (4 * self.dimension + 16) * UNIT * size
        thick = 2.0 * margin <= self.upper - self.lower
        if thick is False:
            raise InvalidValueError(
                f"upper - lower must be above {2 * margin:.1e}, the rounding of a'p at the "
                f"projection p of this point, got {self.upper - self.lower:.1e}"
            )
        along = minimum(maximum(value, self.lower + margin), self.upper - margin)
        return across + where(thick, along / squared, math.nan) * a

    def contains(self, x: Array) -> Array:
        r"""Return whether :math:`l \le a^\top x \le u`, exactly."""
        x = check_length(x, self.dimension)
        value = dot(x, convert_like(self.normal, x))
        return (value >= self.lower) & (value <= self.upper)


def _like(a: Array, x: Array) -> Array:
    """Return the vector a, repeated for each run."""
    return a if x.ndim == 1 else namespace(x).broadcast_to(a, x.shape)
