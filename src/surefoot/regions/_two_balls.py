"""The convex hull of two balls: which ball of it is nearest to a point."""

from __future__ import annotations

import math

from surefoot.core.arrays import dot, maximum, minimum, sqrt, vdot, where
from surefoot.core.types import Array, Number

__all__ = ["share_of_two_balls"]


def share_of_two_balls(
    w: Array, a: Array, r_a: Number, b: Array, r_b: Number
) -> tuple[Number, Array]:
    r"""Return which ball of the hull of B(a, r_a) and B(b, r_b) is nearest to w; r_a >= r_b.

    The balls of the hull are :math:`B(a + \lambda(b-a), r_a + \lambda(r_b-r_a))`; nearest is that
    with :math:`\lambda` the minimiser of
    :math:`\|w - a - \lambda(b-a)\| - \lambda(r_b-r_a)` over the :math:`\lambda \in [0, 1]` that
    leave a radius of at least 0. With q the product of w - a and b - a, p the distance of w to
    the line through a and b, :math:`D = \|b-a\|` and :math:`\Delta = r_b-r_a`:

    .. math:: \lambda = \big(q + \Delta\, p\, D/\sqrt{D^2-\Delta^2}\big)/D^2,

    and that of the larger ball where :math:`D \le |\Delta|`, because it holds the other.

    Args:
        w: the point.
        a: the centre of one ball.
        r_a: its radius, above 0.
        b: the centre of the other.
        r_b: its radius, which may be negative.

    Returns:
        The share :math:`\lambda` and b - a.

    Example:
        >>> import numpy as np
        >>> a, b = np.array([0.0, 0.0]), np.array([4.0, 0.0])
        >>> share_of_two_balls(np.array([2.0, 3.0]), a, 1.0, b, 1.0)[0]
        0.5
    """
    way = b - a
    squared, less = dot(way, way), r_b - r_a
    apart = squared - less * less
    if type(apart) is float:
        if apart <= 0.0:
            return (1.0 if less > 0.0 else 0.0), way
        off = w - a
        q = float(vdot(off, way))
        if not -math.inf < q / squared < math.inf:
            return math.nan, way  # so far away that no share can be told
        off = off - (q / squared) * way
        share = (q + less * math.sqrt(float(vdot(off, off)) * squared / apart)) / squared
        top = 1.0 if r_b >= 0.0 else r_a / -less
        # A NaN fails both comparisons; the caller sees it in the distance.
        return (0.0 if share < 0.0 else top if share > top else share), way
    other = apart > 0
    below = where(other, squared, 1.0)
    off = w - a
    q = dot(off, way)
    off = off - (q / below) * way
    share = (q + less * sqrt(dot(off, off) * below / where(other, apart, 1.0))) / below
    top = where(r_b >= 0, 1.0 + 0.0 * r_a, r_a / where(less < 0, -less, 1.0))
    share = minimum(maximum(share, 0.0 * r_a), top)
    return where(other, share, where(less > 0, 1.0 + 0.0 * r_a, 0.0 * r_a)), way
