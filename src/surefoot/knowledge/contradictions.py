"""Checks of starts and proposals, and contradictions between readings and constants."""

import math
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import start_in
from surefoot.core.arrays import norm, squared_and_norm, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.kernel_constants import EXCESS
from surefoot.core.types import Array, Number, Set
from surefoot.knowledge.errors import Errors, list_causes

BALL_TOO_SMALL = "the ball around the feasible set is too small"
"""The end of a sentence on a feasible action that is longer than the given reach."""


def check_one_run(x1: Array, domain: Set | None) -> None:
    """Raise unless a start is one NumPy vector in the domain, if there is one."""
    if not isinstance(x1, np.ndarray) or x1.ndim != 1:
        raise checks.invalid("x1", "one NumPy vector", x1)
    if domain is not None:
        start_in(domain, x1)


def check_start(g: float, upper: float, margin: float, where: str = "") -> None:
    """Raise unless a start is strictly feasible, by more than the error of g."""
    if not upper + margin < 0.0:
        rule = "strictly feasible, by more than the error of g"
        raise InvalidValueError(f"the start must be {rule}, got g(x_1) = {g:g}{where}")


def check_first(reading: Any, margin: Number) -> None:
    """Raise unless the first reading is strictly feasible, in every row."""
    upper = np.atleast_1d(np.asarray(reading.g + reading.errors.value))
    i = int(np.argmax(upper))
    where = f" in row {i}" if len(upper) > 1 else ""
    check_start(float(np.atleast_1d(reading.g)[i]), float(upper[i]), float(np.max(margin)), where)


def check_proposal(w: Array, x: Array) -> None:
    """Raise unless a proposal has a finite distance from x; one run."""
    if not squared_and_norm(w - x)[0] < math.inf:
        checks.refuse_unfinite(to_numpy(w), "the wanted action")
        raise InvalidValueError("the wanted action must have a finite distance from x")


def check_reach(t: int, x: Array, upper: float, reach: float) -> tuple[str, ...]:
    """Return a sentence if an action is feasible, and longer than the given reach.

    Args:
        t: the round.
        x: the action that was played.
        upper: an upper bound on g there.
        reach: the given bound on the norm of a feasible point.

    Example:
        >>> import numpy as np
        >>> print(*check_reach(2, np.array([0.6, 0.8]), -0.1, 0.5))
        round 2: |x| = 1 and g is at most -0.1, but no feasible point is longer than 0.5: the ball
        around the feasible set is too small
    """
    size = float(norm(x))
    if not (upper <= 0 and size > reach * (1 + EXCESS)):
        return ()
    return (
        f"round {t}: |x| = {size:.6g} and g is at most {upper:.3g}, but no feasible point is "
        f"longer than {reach:.6g}: {BALL_TOO_SMALL}",
    )


def check_finite(g: Number, s: Array | None) -> None:
    """Raise unless a reading of one run is finite; the slope may be missing."""
    if np.ndim(g):
        checks.refuse_unfinite(g, "constraint_value")
    elif not math.isfinite(g):
        raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
    if s is not None:
        checks.refuse_unfinite(s, "constraint_subgradient")


def check_rise(
    t: int, reading: Any, G_g: float, noise: float, reach: float, *, may_be_outside: bool = False
) -> tuple[str, ...]:
    """Return a sentence if an action is beyond the reach, and one if |s| exceeds G_g.

    Args:
        t: the round.
        reading: its reading.
        G_g: the Lipschitz constant on the feasible set.
        noise: the error of an evaluation.
        reach: the largest norm of a feasible point.
        may_be_outside: whether the action may be infeasible, where G_g need not hold.
    """
    x, g, s, errors, _ = reading
    sentences = check_reach(t, x, g + errors.value + noise, reach)
    slope_norm = 0.0 if s is None else norm(s)
    if not may_be_outside and slope_norm > G_g * (1 + EXCESS) + errors.slope:
        sentences += (f"round {t}: |s| = {slope_norm:.6g} exceeds G_g = {G_g:.6g}",)
    return sentences


def check_bound(t: int, reading: Any, limit: float, noise: float, words: str) -> tuple[str, ...]:
    """Return a sentence if a value is above a bound, after its errors are subtracted.

    Args:
        t: the round.
        reading: its reading.
        limit: the bound.
        noise: the bound on rounding.
        words: the most likely cause.
    """
    if not reading.g - reading.errors.value > limit + noise:
        return ()
    why = list_causes(reading.errors, words)
    return (f"round {t}: g = {reading.g:.6g} is above its certified bound {limit:.3g}: {why}",)


def check_quadratic(
    t: int, g: float, step: tuple[float, ...], beta: float, noise: float, errors: Errors, name: str
) -> tuple[str, ...]:
    """Return a sentence if one of two readings is above the quadratic bound of the other.

    Args:
        t: the round of the newer.
        g: its value.
        step: how far apart they are, and by how much one is above the linear bound of the other,
            their errors taken off.
        beta: the smoothness constant.
        noise: their rounding.
        errors: the errors that were allowed for.
        name: of the constraint.
    """
    length, over = step
    squared = length * length
    if not over > 0.5 * beta * squared + noise or not squared > 0:
        return ()
    return (
        f"round {t}: {name} = {g:.6g} is above its quadratic bound "
        f"{g - (over - 0.5 * beta * squared):.6g}: the curvature is at least "
        f"{2 * (over - noise) / squared:.6g}, more than "
        + list_causes(errors, f"beta = {beta:.6g}", convex=False).replace("or g ", f"or {name} "),
    )
