"""Convert the feedback of a live loop to float64, or refuse it in one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import errors_of
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Needs, Region

__all__ = ["call", "check_announced", "clean", "measure", "one_of_both", "played_instead"]


def clean(
    x: Array,
    needs: Needs,
    rows: int | None,
    gradient: Any,
    g: Any,
    s: Any,
    cost: Any,
    error: Any = None,
) -> Feedback:
    """Return a copy of what was told as float64; refuse what does not fit the action.

    Args:
        x: the action.
        needs: what the algorithm asks for.
        rows: the number of separate constraints, if the algorithm fixes it.
        gradient: a gradient of the cost; the proposal where none is asked for.
        g: the value, or values, of the constraint.
        s: its subgradient, or subgradients.
        cost: the cost, where it was told.
        error: a bound on the error of g, where it was told.
    """
    name = "cost_gradient" if needs.cost_gradients else "proposal"
    gradient = _array(gradient, name, x.shape, "that of the action")
    if error is not None:
        error = checks.to_number(error, x, "value_error")
        if not 0 <= error < math.inf:
            raise InvalidValueError(f"value_error must be finite and at least 0, got {error!r}")
    cost = None if cost is None else checks.to_number(cost, x, "cost_value")
    if g is None and not needs.constraint_values:
        if s is not None:
            raise InvalidValueError(
                f"constraint_subgradient must come with constraint_value, got {s!r} alone"
            )
        return Feedback(gradient, None, None, cost, error)
    if needs.apart:
        m = rows or len(np.atleast_1d(g))
        g = _array(g, "constraint_value", (m,), "one for each constraint")
        s = _array(s, "constraint_subgradient", (m, len(x)), "one row for each constraint")
        return Feedback(gradient, g, s, cost, error)
    if g is None:
        raise InvalidValueError("constraint_value must be one number, got None")
    g = checks.read_constraint_value(g, x)
    if s is not None or needs.constraint_subgradients:
        s = _array(s, "constraint_subgradient", x.shape, "that of the action")
    return Feedback(gradient, g, s, cost, error)


def _array(value: Any, name: str, shape: tuple[int, ...], rule: str) -> Array:
    """Return a float64 copy; refuse what is no array of numbers of the shape."""
    array = np.array(checks.to_numbers(value, name, f"an array of shape {shape}, {rule}"))
    if array.shape != shape:
        raise InvalidValueError(f"{name}.shape must be {shape}, {rule}, got {array.shape}")
    if name.startswith("constraint"):
        return np.array(checks.to_exact(array, name))
    # Other precisions are upcast or refused, as those of a start are.
    return array if array.dtype == np.float64 else checks.to_action(array, name)


def measure(
    seen: Feedback, name: str = "cost_gradient"
) -> tuple[float, float | None, float | None]:
    """Return the norm of the gradient, the largest g and the norm of the longest subgradient.

    Refuse what is not finite.

    Args:
        seen: what was told.
        name: of the first of it.
    """
    gradient, g, s, cost = seen[:4]
    if cost is not None and not math.isfinite(cost):
        raise InvalidValueError(f"cost_value must be finite, got {cost!r}")
    checks.refuse_unfinite(gradient, name)
    worst = steepest = None
    if g is not None:
        checks.refuse_unfinite(np.asarray(g), "constraint_value")
        worst = float(np.max(g))
    if s is not None:
        checks.refuse_unfinite(s, "constraint_subgradient")
        flat = ~np.atleast_2d(s).any(axis=1) & (np.atleast_1d(g) > 0)
        if flat.any():
            positive = float(np.atleast_1d(g)[flat][0])
            raise InvalidValueError(
                "constraint_subgradient must not be 0 where constraint_value is positive, got "
                f"s = 0 with g = {positive:g}: x is a minimum of g, so g <= 0 nowhere"
            )
        steepest = max(map(norm, np.atleast_2d(s)))
    return norm(gradient), worst, steepest


def check_announced(algorithm: Any, within: Any) -> None:
    """Refuse what is no set, and a set that was announced to a rule that certifies nothing."""
    if within is None:
        return
    if not isinstance(within, Region) or isinstance(within, type):
        raise InvalidValueError(f"within must be a set with a projection, got {within!r}")
    if errors_of(algorithm) is None:
        raise InvalidValueError(
            "within must come with a rule that takes an announced set, got "
            f"{type(algorithm).__name__}"
        )


def played_instead(asked: Array, action: Any) -> Array | None:
    """Return the action that was played, or None where it is the one asked for."""
    if action is None:
        return None
    played = checks.to_vector(checks.to_numbers(action, "action", "a vector of numbers"), "action")
    if played.shape != asked.shape:
        raise InvalidValueError(
            f"action.shape must be {asked.shape}, that of the action asked for, got {played.shape}"
        )
    return None if (played == asked).all() else played


def one_of_both(gradient: Any, proposal: Any, *, filters: bool) -> Any:
    """Return what a player is told first: the proposal for a filter, else the gradient."""
    if filters:
        if gradient is not None:
            raise InvalidValueError(
                f"a filter must be told a proposal, got cost_gradient={gradient!r}"
            )
        return proposal
    if proposal is not None:
        raise InvalidValueError(
            f"an algorithm must be told a cost_gradient, got proposal={proposal!r}"
        )
    return gradient


def call(function: Any, x: Array, name: str, *instead: Any) -> tuple[Any, Any]:
    """Return the value and gradient at the action, from a function of the user's."""
    checks.function(**{name: function})
    if any(value is not None for value in instead):
        raise InvalidValueError(f"{name} must be given alone or as numbers, got both")
    x = x.copy()
    x.setflags(write=False)
    answer = function(x)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise InvalidValueError(f"{name} must give a value and a gradient, got {answer!r}")
    return answer
