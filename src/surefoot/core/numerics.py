"""Numerical routines of one real variable: a minimiser, a quantile."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def minimise_bracketed(
    objective: Callable[[float], float], lower: float, upper: float, points: int = 400
) -> float:
    """Return the minimiser on an interval of positive numbers: a grid, then golden sections.

    The grid brackets the best of its points, so the result is never worse than the grid's best
    even where the function has more than one valley.
    """
    grid = np.geomspace(lower, upper, points)
    # The function may turn within the last grid cell below `upper`, where a log grid is coarse.
    grid = np.unique(np.concatenate([grid, upper - np.geomspace(lower, upper / 2, points)]))
    values = [objective(float(r)) for r in grid]
    i = int(np.argmin(values))
    a, b = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
    shrink = (math.sqrt(5) - 1) / 2
    c, d = b - shrink * (b - a), a + shrink * (b - a)
    fc, fd = objective(c), objective(d)
    while b - a > 1e-10 * b:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - shrink * (b - a)
            fc = objective(c)
        else:
            a, c, fc = c, d, fd
            d = a + shrink * (b - a)
            fd = objective(d)
    middle = 0.5 * (a + b)
    return middle if objective(middle) <= values[i] else float(grid[i])


def student_quantile(p: float, degrees: int) -> float:
    """Return the p-quantile, p > 1/2, of Student's t distribution.

    The distribution function of an integer number of degrees is a finite trigonometric sum
    (Abramowitz and Stegun 26.7.3 and 26.7.4); it is inverted by bisection.

    >>> round(student_quantile(0.975, 28), 4)
    2.0484
    """
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < p:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _student_cdf(middle, degrees) < p else (low, middle)
    return 0.5 * (low + high)


def _student_cdf(t: float, degrees: int) -> float:
    theta = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(theta), math.cos(theta)
    term, series = (cosine, cosine) if degrees % 2 else (1.0, 1.0)
    for k in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        series += term
    if degrees % 2 == 0:
        return 0.5 + 0.5 * sine * series
    return 0.5 + (theta + (sine * series if degrees > 1 else 0.0)) / math.pi
