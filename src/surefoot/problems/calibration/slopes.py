"""Slopes that are not measured: from differences of values, or by a sensitivity matrix."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Set

__all__ = ["Slope", "finite_differences", "through_sensitivity"]


class Slope(NamedTuple):
    """A slope with a bound on its error; unpack it as ``slope, slope_error``.

    Attributes:
        slope: the estimate.
        slope_error: a true subgradient is no farther away than this.
    """

    slope: Array
    slope_error: float


def finite_differences(
    g: Callable[[Array], float],
    x: Array,
    step: float | None = None,
    *,
    value_error: float = 0.0,
    beta: float | None = None,
    within: Set | None = None,
    G_g: float | None = None,
) -> Slope:
    r"""Return a slope of a convex g at x from values only, and a bound on its error.

    With a bound :math:`\beta` on the curvature one value per entry is enough: by convexity and
    curvature :math:`0 \le g(x + he_i) - g(x) - hs_i \le \beta h^2/2`, so

    .. math:: s_i = \frac{g(x + he_i) - g(x)}{h} - \frac{\beta h}{4} \pm
              \left(\frac{\beta h}{4} + \frac{2\nu}{h}\right).

    Without one, both sides are queried: every subgradient is between the backward and the forward
    difference. In each case rounding of the values is added.

    Args:
        g: from an action to its constraint value.
        x: the action.
        step: h; with beta and an error it is the best one, :math:`\sqrt{8\nu/\beta}`, unless given.
        value_error: :math:`\nu`, a bound on the errors of the values.
        beta: a bound on the curvature of g.
        within: a set that no probe may leave; such a step is taken the other way.
        G_g: if given, no probe is made where g might be positive.

    Raises:
        InvalidValueError: if a probe would leave the set, or could violate by G_g.

    Example:
        >>> slope, error = finite_differences(lambda x: float(x @ x) - 1.0, [0.25, 0.5], 0.125,
        ...                                   beta=2.0)
        >>> slope.round(12), round(error, 6)  # the truth is (0.5, 1)
        (array([0.5625, 1.0625]), 0.088388)
    """
    checks.function(g=g)
    point = checks.to_vector(x, "x")
    checks.nonnegative(value_error=value_error, beta=0.0 if beta is None else beta)
    if step is None:
        if not (beta and value_error):
            raise InvalidValueError(
                "step must be given without beta and value_error: the best one follows from both"
            )
        step = math.sqrt(8 * value_error / beta)
    checks.positive(step=step)
    value = _value(g, point)
    if G_g is not None:
        checks.positive(G_g=G_g)
        room = -(value + value_error) / G_g
        if step > room:
            raise InvalidValueError(
                f"step must be at most {room:.3g}, the slack at x over G_g = {G_g:g}, got "
                f"{step:g}: a probe could violate"
            )
    d = len(point)
    slope, half = np.zeros(d), np.zeros(d)
    for i in range(d):
        sides = _sides(point, i, step, within, both=beta is None)
        differences = [(t, (_value(g, y) - value) / t) for t, y in sides]
        size = abs(value) + max(abs(t * v) for t, v in differences)
        noise = (2 * value_error + 4 * UNIT * size) / min(abs(t) for t, _ in differences)
        if beta is None:
            (_, ahead), (_, behind) = differences
            slope[i], half[i] = 0.5 * (ahead + behind), abs(ahead - behind) / 2 + noise
        else:
            ((t, rise),) = differences
            slope[i], half[i] = rise - beta * t / 4, beta * abs(t) / 4 + noise
    return Slope(slope, math.nextafter(float(np.linalg.norm(half)) * (1 + d * UNIT), math.inf))


def _sides(
    point: np.ndarray, i: int, h: float, within: Set | None, *, both: bool
) -> list[tuple[float, np.ndarray]]:
    """Return the steps and points to query for one entry: one, or one on each side."""
    probes = []
    for sign in (1.0, -1.0):
        y = point.copy()
        y[i] += sign * h
        t = float(y[i] - point[i])  # as rounded
        if t == 0:
            raise InvalidValueError(f"step must be above the rounding of x, got {h:g}")
        if within is None or within.contains(y):
            probes.append((t, y))
            if not both:
                break
    if len(probes) < 1 + both:
        raise InvalidValueError(f"step must keep the probes of entry {i} in {within!r}, got {h:g}")
    return probes


def _value(g: Callable[[Array], float], point: np.ndarray) -> float:
    y = freeze(point.copy())
    value = float(checks.to_number(g(y), y, "g"))
    if not math.isfinite(value):
        raise InvalidValueError(f"g must be finite, got {value!r} at {point!r}")
    return value


def through_sensitivity(
    gradient: Array,
    sensitivity: Array,
    *,
    sensitivity_error: float = 0.0,
    gradient_error: float = 0.0,
) -> Slope:
    r"""Return the slope of :math:`g(x) = h(y(x))` by the chain rule, and a bound on its error.

    :math:`s = J^\top\nabla h`, where J is the sensitivity of the outputs y to the actions x, from
    a model or a measurement. With :math:`\|J - J^*\| \le \epsilon_J` (spectral norm) and
    :math:`\|\nabla h - \nabla h^*\| \le \epsilon_h`:

    .. math:: \|s - s^*\| \le \|\nabla h\|\epsilon_J + (\|J\| + \epsilon_J)\epsilon_h.

    Args:
        gradient: :math:`\nabla h` at the measured outputs, m numbers.
        sensitivity: J, m rows of d numbers.
        sensitivity_error: :math:`\epsilon_J`.
        gradient_error: :math:`\epsilon_h`.

    Example:
        >>> through_sensitivity([3.0, 4.0], [[1.0, 0.0], [0.0, 2.0]], sensitivity_error=0.1)
        Slope(slope=array([3., 8.]), slope_error=0.5)
    """
    J = checks.to_matrix(sensitivity, "sensitivity")
    v = checks.to_vector(gradient, "gradient", length=len(J))
    checks.nonnegative(sensitivity_error=sensitivity_error, gradient_error=gradient_error)
    size = float(np.linalg.norm(J, 2)) if gradient_error else 0.0
    error = float(np.linalg.norm(v)) * sensitivity_error
    return Slope(J.T @ v, error + (size + sensitivity_error) * gradient_error)
