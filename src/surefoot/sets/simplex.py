"""The simplex, and the threshold shared by projections onto it and onto l1 balls."""

import math

import numpy as np

from surefoot.core.arrays import convert_like, find_largest, namespace, where
from surefoot.core.parameters import count, flag, size
from surefoot.core.points import (
    UNIT,
    ConvexSet,
    all_entries,
    check_length,
    clean,
    keep_nan,
    only_entry,
    sum_entries,
)
from surefoot.core.types import Array, Number

__all__ = ["Simplex"]


def onto_simplex(v: Array, total: Number, rescaled: Number) -> Array:
    r"""Return the point of :math:`\{p \ge 0, \sum_i p_i = s\}` nearest to v, scaled to another sum.

    It is :math:`p_i = [v_i - \tau]_+` with :math:`\tau` such that the sum is s. The k largest
    entries of v satisfy :math:`\sum_{i \le k} (v_i - \tau) \le \sum_i [v_i - \tau]_+ = s`, with
    equality if these k are the positive ones. So

    .. math:: \tau = \max_k \frac{v_{(1)} + \dots + v_{(k)} - s}{k}.

    Rescaling makes the sum exact up to rounding. The entries are positive, so the true sum of the
    result is ``rescaled`` up to (d + 3) u of itself, for sums in any order.

    Args:
        v: the point, ``(d,)`` or ``(B, d)``.
        total: s > 0.
        rescaled: the sum of the result: s, or slightly less.
    """
    xp = namespace(v)
    # # Relative to the largest entry, and clipped where the result is 0 for certain. So no sum is
    # larger than d s, however large v is, and tau is below 0.
    v = v - xp.max(v, axis=-1, keepdims=True)
    v = xp.maximum(v, -total + xp.zeros_like(v))
    falling = -xp.sort(-v, axis=-1)
    sums = np.cumsum(falling, axis=-1) if xp is np else xp.cumulative_sum(falling, axis=-1)
    counts = convert_like(np.arange(1.0, v.shape[-1] + 1), v)
    tau = xp.max((sums - total) / counts, axis=-1, keepdims=True)
    p = xp.maximum(v - tau, xp.zeros_like(v))
    return p * (rescaled / xp.sum(p, axis=-1, keepdims=True))


class Simplex(ConvexSet, kw_only=False):
    r"""The simplex :math:`\{x \ge 0, \sum_i x_i = s\}`, or with :math:`\le s` when filled.

    Args:
        dimension: d, the number of entries.
        total: :math:`s > 0`.
        filled: whether points with a smaller sum belong to the set.

    Example:
        >>> Simplex(3).project(np.array([0.9, 0.4, -2.0])).round(12)
        array([0.75, 0.25, 0.  ])
        >>> Simplex(3, filled=True).project(np.array([0.5, 0.25, -2.0]))
        array([0.5 , 0.25, 0.  ])
        >>> Simplex(3, total=2.0).minimize_linear(np.array([0.1, -0.5, 0.3]))
        array([0., 2., 0.])
    """

    dimension: int = count()
    total: Number = size(default=1.0)
    filled: bool = flag(default=False)

    @property
    def diameter(self) -> float:
        r"""The distance between two corners, :math:`\sqrt2 s`; for one entry 0, or s if filled."""
        if self.dimension == 1:
            return float(self.total) if self.filled else 0.0
        return math.sqrt(2.0) * float(self.total)

    def _nearest(self, x: Array, inside: Array) -> Array:
        """Return the nearest point: the entries above a level, less the level."""
        if not self.filled:
            return onto_simplex(x, self.total, self.total)
        xp = namespace(x)
        clipped = xp.maximum(x, xp.zeros_like(x))
        # The sum is computed twice, here after a scaling and in `contains`: (2d + 8) u together.
        inner = self.total * (1.0 - (2 * self.dimension + 8) * UNIT)
        nearest = onto_simplex(x, self.total, inner)
        return where(sum_entries(clipped) <= self.total, clipped, nearest)

    def contains(self, x: Array) -> Array:
        """Return whether no entry is below 0 and the computed sum is right.

        The sum of the filled simplex is at most the total, exactly. That of the other equals the
        total up to (2d + 8) u of itself, u the unit roundoff. A computed sum of d nonnegative
        entries, scaled to add up, is no more accurate than that.
        """
        x = check_length(x, self.dimension)
        excess = sum_entries(x) - self.total
        rounding = (2 * self.dimension + 8) * UNIT * self.total
        return all_entries(x >= 0) & (excess <= 0 if self.filled else abs(excess) <= rounding)

    def minimize_linear(self, c: Array) -> Array:
        """Return the corner at the (first) smallest entry of c; 0 if filled and c >= 0."""
        c = clean(c, self.dimension, "c")
        value, index = find_largest(-c)
        corner = where(value > 0, self.total + 0.0 * value, 0.0) if self.filled else self.total
        return keep_nan(c, only_entry(index, corner, c))
