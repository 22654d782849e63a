"""Half-spaces: the projection behind the Polyak feasibility step, and the set."""

import math
from typing import NoReturn

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import convert_like, dot, maximum, to_numpy, where
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.parameters import number, vector
from surefoot.core.points import ConvexSet, check_length
from surefoot.core.types import Array, Number

__all__ = ["EmptyTighteningError", "Halfspace", "project_halfspace"]


class EmptyTighteningError(SurefootError, ValueError):
    """A zero subgradient while the tightened constraint is violated: no point satisfies it."""


def project_halfspace(y: Array, excess: Number, s: Array, squared: Number | None = None) -> Array:
    r"""Project y onto a half-space, given its excess: :math:`y - [v]_+ s/\|s\|^2`.

    With the excess :math:`v = g_t + s_t^\top(y - x_t) + \rho` this is the projection onto
    :math:`H_t = \{p : g_t + s_t^\top(p - x_t) + \rho \le 0\}`: Fact 1 of the paper.

    A zero s defines no half-space. With :math:`v \le 0` the set is the whole space, and the
    function returns y. With v > 0 it is empty: one run raises :class:`EmptyTighteningError`, and a
    run of a batch becomes NaN. Every later step keeps the NaN, and the game reports it. NaN and inf
    in any argument end the same way, because every NaN fails the comparisons.

    Args:
        y: the point or points.
        excess: v.
        s: the normal.
        squared: the inner product of s with itself, if it is at hand.

    Example:
        >>> project_halfspace(np.array([0.1, 0.7]), 0.25, np.array([0.0, 1.0]))
        array([0.1 , 0.45])
    """
    if isinstance(excess, (int, float, np.number)):
        excess = float(excess)
        if -math.inf < excess <= 0.0:
            return y
        squared = dot(s, s) if squared is None else squared
        # The quotient last: a square that underflows makes it infinite.
        if not (
            0.0 < squared < math.inf
            and 0.0 < excess < math.inf
            and (step := excess / squared) < math.inf
        ):
            _reject(y, excess, s)
        return y - step * s
    squared = dot(s, s) if squared is None else squared
    cuts = squared > 0
    step = maximum(excess, 0.0) / where(cuts, squared, 1.0)
    # An excess of -inf would give no step: it becomes NaN as the other infinities do.
    exists = (cuts | (excess <= 0)) & (excess > -math.inf)
    return y - where(exists, step, math.nan) * s


def _reject(y: Array, excess: float, s: Array) -> NoReturn:
    """Raise an error that says why a projection does not exist."""
    s = to_numpy(s)
    checks.refuse_unfinite(s, "constraint_subgradient")
    checks.refuse_unfinite(to_numpy(y), "the point to project, x - eta cost_gradient,")
    if not math.isfinite(excess):
        raise InvalidValueError(f"constraint_value must be finite, got an excess of {excess!r}")
    if s.any():
        raise InvalidValueError(
            f"constraint_subgradient must have a norm that {excess:g} can be divided by, got {s!r}"
        )
    raise EmptyTighteningError(
        "constraint_subgradient must not be 0 where the tightened constraint is violated, "
        f"got s = 0 with g + rho = {excess:g} > 0: x is a minimum of g, so g <= -rho nowhere"
    )


class Halfspace(ConvexSet, kw_only=False):
    r"""The half-space :math:`\{x : a^\top x \le b\}`.

    Args:
        normal: :math:`a \ne 0`.
        offset: :math:`b`.

    Example:
        >>> below = Halfspace([0.0, 2.0], 1.0)
        >>> below.project(np.array([3.0, 1.0])).round(12)
        array([3. , 0.5])
    """

    normal: Array = vector()
    offset: Number = number()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.normal, np.ndarray) and not self.normal.any():
            raise InvalidValueError("normal must not be zero, got the zero vector")

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.normal.shape[-1])

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
        return project_halfspace(x, where(excess > 0, excess + margin, excess), a)

    def contains(self, x: Array) -> Array:
        r"""Return whether :math:`a^\top x \le b`, exactly."""
        return self.excess(check_length(x, self.dimension)) <= 0

    def minimize_linear(self, c: Array) -> Array:
        """Raise: over an unbounded set a linear function has in general no minimum."""
        raise InvalidValueError(
            "minimize_linear must be given a bounded set, got a Halfspace: intersect it with a "
            "ball or a box"
        )
