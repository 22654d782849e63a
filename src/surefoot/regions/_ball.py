"""The ball of one quadratic bound: its margin, projections onto it, cuts along the slope."""

from __future__ import annotations

import math
from typing import NamedTuple

from surefoot.core.arrays import dot, maximum, ndarray, norm, sqrt, where
from surefoot.core.types import Array, Number

__all__ = ["Found", "along_slope", "curvature_margin", "kept", "onto_curvature_ball"]

_UNIT = 2.0**-53


def kept(numbers: Number) -> Number:
    """Return numbers that a caller may write over later as a memory keeps them: a copy."""
    return numbers.copy() if type(numbers) is ndarray else numbers


def curvature_margin(
    g: Number, size: Number, beta: Number, reach: Number, dimension: int, error: Number | None
) -> Number:
    r"""Return e of the module: what U is kept below 0 by, for rounding.

    Args:
        g: the value observed.
        size: the norm of the slope.
        beta: the bound on the curvature.
        reach: M, the largest norm of a feasible point.
        dimension: n.
        error: :math:`\delta`, a bound on the error of the observed g beyond rounding; None for 0.

    Example:
        >>> curvature_margin(-0.5, 1.0, 1.0, 1.0, 2, None) < 1e-13
        True
    """
    e = 32 * (dimension + 8) * _UNIT * (abs(g) + size * reach + beta * reach * reach)
    return e if error is None else e + 4 * error


def onto_curvature_ball(
    v: Array, up: Number, s: Array, squared: Number, beta: Number
) -> tuple[Array, Number]:
    r"""Project v onto :math:`\{q : h + s^\top q + \frac\beta2\|q\|^2 \le 0\}`, with the multiplier.

    .. math:: q = \frac{v - \lambda s}{1 + \lambda\beta}, \qquad
              \lambda = \frac{2[U(v)]_+}{\nu(\nu + \|s + \beta v\|)},

    the multiplier in the form that keeps its digits for every :math:`\beta \ge 0`. Where the set
    is empty, or a point, v itself is returned.

    Args:
        v: the point, relative to where s was seen.
        up: h, the value there and a margin.
        s: the slope.
        squared: the inner product of s with itself.
        beta: the curvature.

    Example:
        >>> import numpy as np
        >>> q, multiplier = onto_curvature_ball(
        ...     np.array([0.0, 4.0]), -1.5, np.array([0.0, 1.0]), 1.0, 1.0
        ... )
        >>> q, multiplier  # the ball around (0, -1) of radius 2
        (array([0., 1.]), 1.5)
    """
    over = up + dot(s, v) + 0.5 * beta * dot(v, v)
    nu = sqrt(maximum(squared - 2 * beta * up, 0.0 * squared))
    below = nu * (nu + norm(s + beta * v))
    weight = 2 * maximum(over, 0.0 * over) / where(below > 0, below, math.inf)
    return (v - weight * s) / (1 + beta * weight), weight


def along_slope(w: Array, up: Number, s: Array, size: Number, beta: Number) -> tuple[Array, Number]:
    r"""Draw a step back along the slope until its quadratic bound is at most 0.

    .. math:: q = w - \Big[\frac{s^\top w}{\|s\|} - z\Big]_+\frac{s}{\|s\|}, \qquad
              z = \frac{-2c}{\|s\| + \sqrt{\|s\|^2 - 2\beta c}}, \quad c = h + \tfrac\beta2 b^2,

    b the part of w across s: what is farther along s than the bound allows is taken off, as a
    Polyak step does, which it is for :math:`\beta = 0`. There is such a q for every
    :math:`\|w\| \le \nu/\beta`.

    Args:
        w: the step.
        up: h, the value where s was seen and a margin.
        s: the slope.
        size: its norm.
        beta: the curvature.

    Returns:
        q, and how many times s was taken off.

    Example:
        >>> import numpy as np
        >>> along_slope(np.array([0.0, 4.0]), -3.0, np.array([0.0, 2.0]), 2.0, 2.0)
        (array([0., 1.]), 1.5)
    """
    below = where(size > 0, size, 1.0)
    unit = s / below
    a = dot(unit, w)
    c = up + 0.5 * beta * maximum(dot(w, w) - a * a, 0.0 * a)
    root = size + sqrt(maximum(size * size - 2 * beta * c, 0.0 * c))
    z = -2 * c / where(root > 0, root, math.inf)
    off = maximum(a - z, 0.0 * a)
    return w - off * unit, where(size > 0, off / below, 0.0 * off)


class Found(NamedTuple):
    """A certified point and how it was found.

    Attributes:
        point: the point.
        weights: the multiplier of the slope, or one per row.
        drawn: how far the point is from the one that the multipliers lead to; 0 but where that one
            failed the check and something nearer was taken.
    """

    point: Array
    weights: Number
    drawn: Number
