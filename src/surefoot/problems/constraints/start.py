"""Find a strictly feasible point to start from, and bound the slack of all points."""

import math
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.points import dimension_of, to_dense
from surefoot.core.types import Array, Set
from surefoot.problems.constraints.base import Constraint
from surefoot.sets import Ball

__all__ = ["NoStartError", "Start", "find_start"]

_MOST_ROWS = 2_000  # among which pairs are searched for an equality


class Start(NamedTuple):
    """A point and its slack.

    Attributes:
        point: the point.
        slack: minus g there.
        lower: a proven lower bound on g over the domain, so that no point of it has more slack
            than ``-lower``.
    """

    point: Array
    slack: float
    lower: float


class NoStartError(SurefootError, ValueError):
    """No strictly feasible point was found; ``best`` is the best point of a search, if any."""

    def __init__(self, message: str, best: Start | None = None) -> None:
        super().__init__(message)
        self.best = best


def find_start(
    constraint: Constraint,
    domain: Set,
    guess: Array | None = None,
    iterations: int = 10_000,
    tolerance: float = 0.01,
) -> Start:
    r"""Search a domain for the point with most slack.

    The projected subgradient method with a target level T between the best value and the proven
    lower bound, :math:`x_{k+1} = \Pi(x_k - \alpha_k s_k)` with
    :math:`\alpha_k = (g_k - T)/\|s_k\|^2`. Cuts weighted by their steps bound g from below,

    .. math::
        \min g \ge \min_{x \in \text{domain}}
        \sum_k \alpha_k (g_k + s_k^\top(x - x_k)) \Big/ \sum_k \alpha_k,

    which passes T once :math:`\sum_k (g_k - T)^2/\|s_k\|^2` passes the squared diameter. So each
    target is either half reached or shown to be out of reach, and is then moved.

    Args:
        constraint: g.
        domain: a bounded set to search, such as the ball that will be played in.
        guess: where to begin; else the interior point of the constraint or the centre.
        iterations: queries to spend at most.
        tolerance: enough when no point has more than this share of more slack.

    Raises:
        NoStartError: if no strictly feasible point was found, with the reason if known.

    Example:
        >>> from surefoot.problems.constraints import Affine
        >>> from surefoot.sets import Ball
        >>> g = Affine([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [3.0, -1.0, 0.0])  # 1 <= x <= 3
        >>> start = find_start(g, Ball(4.0))
        >>> g.value(start.point) == -start.slack, 0.99 <= start.slack <= 1 <= -start.lower
        (True, True)
    """
    checks.positive_int(iterations, "iterations")
    checks.positive(tolerance=tolerance)
    x = _first(constraint, domain, guess)
    _reject_equality(constraint, x)
    # The domain comes first: a bound over it does not cover a point outside.
    x = best_x = domain.project(x)
    best, lower, target = math.inf, -math.inf, None
    cuts = _Cuts(domain)
    for _ in range(iterations):
        g, s = constraint.query(x)
        squared = float(s @ s)
        if not (math.isfinite(g) and math.isfinite(squared)):
            raise InvalidValueError(
                f"g and its subgradient must be finite, got {g!r} and {s!r} at {x!r}"
            )
        if g < best:
            best, best_x = g, x
        if squared == 0.0:
            lower = max(lower, g)  # a zero subgradient: x is the minimum
            break
        if target is None:
            lower = cuts.add(1.0, g, s, x)
            target = 0.5 * (best + lower)
            cuts = _Cuts(domain)
            half_way = 0.5 * (best + target)
        step = (g - target) / squared
        lower = max(lower, cuts.add(step, g, s, x))
        if lower >= 0 or best - lower <= tolerance * -best:
            break
        if best <= half_way or lower >= target:
            target = 0.5 * (best + lower)
            half_way = 0.5 * (best + target)
            cuts, x = _Cuts(domain), best_x
        else:
            x = domain.project(x - step * s)
    result = Start(best_x, -best, min(lower, best))
    if best < 0:
        return result
    if lower >= 0:
        raise NoStartError(
            f"no point of the domain is strictly feasible: g is at least {lower:g} in all of it, "
            f"and {best:g} at best",
            result,
        )
    raise NoStartError(
        f"no strictly feasible point was found in {iterations} iterations: the best has g = "
        f"{best:g}, and no point has g below {lower:g}; spend more iterations, begin at another "
        "guess, or look for an equality among the constraints and substitute it",
        result,
    )


def _first(constraint: Constraint, domain: Set, guess: Array | None) -> Array:
    """Return where to begin, which also fixes the length of an action."""
    if guess is not None:
        return checks.to_vector(guess, "guess", length=dimension_of(constraint))
    for point in (constraint.interior, domain.centre if isinstance(domain, Ball) else None):
        if point is not None:
            return checks.to_vector(point, "point")
    dimension = dimension_of(constraint) or dimension_of(domain)
    if dimension is None:
        raise InvalidValueError(
            "guess must be given if neither the constraint nor the domain has a dimension, got None"
        )
    return np.zeros(dimension)


class _Cuts:
    """A weighted mean of cuts of g, and its minimum over the domain: a lower bound on g."""

    def __init__(self, domain: Set) -> None:
        self.domain = domain
        self.count = 0
        self.weight = self.offset = self.terms = self.lengths = 0.0
        self.slope: Array = 0.0

    def add(self, weight: float, g: float, s: Array, x: Array) -> float:
        """Add a cut; the bound that all of them give, less what rounding may have added."""
        length, at = math.sqrt(float(s @ s)), float(s @ x)
        self.count += 1
        self.weight += weight
        self.offset += weight * (g - at)
        self.slope = self.slope + weight * s
        self.terms += weight * (abs(g) + length * math.sqrt(float(x @ x)))
        self.lengths += weight * length
        lowest = self.domain.minimize_linear(self.slope)
        # Each sum of k terms errs by at most k u of the sum of their sizes, each product by d u.
        rounding = (self.count + 4 * len(x) + 16) * 2.0**-53
        size = self.terms + self.lengths * math.sqrt(float(lowest @ lowest))
        bound = self.offset + float(self.slope @ lowest) - rounding * size
        return bound / self.weight


def _reject_equality(constraint: Constraint, x: Array) -> None:
    """Raise if two linear rows are an equality: then no point is strictly feasible."""
    linear = np.flatnonzero(constraint.row_curvatures() == 0)
    if not 0 < len(linear) <= _MOST_ROWS:
        return
    values, slopes = constraint.query_all(x)
    A = to_dense(slopes[linear])
    planes = np.column_stack([A, A @ x - values[linear]]) / np.linalg.norm(A, axis=1, keepdims=True)
    near = 1e-12 * (1 + abs(planes[:, -1]))
    for i, plane in enumerate(planes):
        same = (abs(planes[:i] + plane).max(axis=1) <= near[:i]).nonzero()[0]
        if len(same):
            raise NoStartError(
                f"rows {linear[same[0]]} and {linear[i]} are an equality written as two "
                "inequalities, so no point is strictly feasible: solve it for one variable and "
                "substitute that, or keep one row and let a free variable, such as cash, take its "
                "slack"
            )
