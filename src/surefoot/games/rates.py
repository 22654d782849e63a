"""Fit the exponent at which regret grows: a line through log regret against log T."""

import math
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import ArrayLike

__all__ = ["Rate", "fit_rate"]


class Rate(NamedTuple):
    r"""A fitted law :math:`\mathrm{Reg}_T \approx c\,T^{\text{slope}}`.

    Attributes:
        slope: the exponent.
        low: lower end of its confidence interval.
        high: upper end.
        scale: the factor c.
    """

    slope: float
    low: float
    high: float
    scale: float


def fit_rate(horizons: ArrayLike, regret: ArrayLike, confidence: float = 0.95) -> Rate:
    """Return the exponent of regret in the horizon, with a confidence interval.

    Args:
        horizons: the T's, ``(n,)``, at least three of them.
        regret: regret at each, ``(n,)``, or ``(n, B)`` for B independent trials.
        confidence: coverage of the interval.

    With one trial the interval is that of least squares, from how far the points are from the
    line (n - 2 degrees of freedom). With B trials a line is fitted to each and the interval is
    that of the mean slope (B - 1 degrees of freedom): points of one trial share their stream, so
    their distances from the line are not independent, but trials are.

    Example:
        >>> rate = fit_rate([100, 400, 1600], [20.0, 40.0, 80.0])
        >>> round(rate.slope, 12), round(rate.scale, 12)
        (0.5, 2.0)
    """
    T = np.asarray(horizons, dtype=np.float64)
    values = np.asarray(regret, dtype=np.float64)
    if T.ndim != 1 or len(T) < 3 or len(np.unique(T)) < 3:
        raise InvalidValueError(
            f"horizons must be at least three different numbers, got {horizons!r}"
        )
    if values.shape[:1] != T.shape or values.ndim > 2:
        raise InvalidValueError(
            f"regret.shape must be ({len(T)},) or ({len(T)}, trials), got {values.shape}"
        )
    if not (values > 0).all() or not (T > 0).all():
        raise InvalidValueError(
            "horizons and regret must be > 0 to have logarithms, "
            f"got a smallest regret of {values.min():g}"
        )
    checks.between(0, 1, confidence=confidence)
    log_T = np.log(T)
    logs = np.log(values).reshape(len(T), -1)
    z = log_T - log_T.mean()
    slopes = z @ logs / (z @ z)
    slope = float(slopes.mean())
    intercept = float((logs.mean(axis=0) - slopes * log_T.mean()).mean())
    if logs.shape[1] == 1:
        residual = logs[:, 0] - intercept - slope * log_T
        degrees = len(T) - 2
        error = math.sqrt(float(residual @ residual) / degrees / float(z @ z))
    else:
        degrees = logs.shape[1] - 1
        error = float(slopes.std(ddof=1)) / math.sqrt(logs.shape[1])
    half = student_quantile(0.5 + confidence / 2, degrees) * error
    return Rate(slope, slope - half, slope + half, math.exp(intercept))


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
    for _ in range(100):
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
