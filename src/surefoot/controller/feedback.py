"""Read what a live loop is told: float64 copies of it, or one sentence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.loop import Run
from surefoot.core import checks
from surefoot.core.algorithm import rest
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Number, Region, State

__all__ = ["NOTHING", "Told", "read_feedback"]


class Told(NamedTuple):
    """What a round is told.

    Attributes:
        feedback: all of it; ``action`` is the one that was played, where it is not the one asked
            for.
        gradient: the norm of the cost gradient, or of the proposal.
        worst: the largest value of g; None where none was told.
        steepness: the norm of the longest subgradient, likewise.
        is_missing: whether nothing was measured.
    """

    feedback: Feedback
    gradient: float = 0.0
    worst: float | None = None
    steepness: float | None = None
    is_missing: bool = False


NOTHING = Told(Feedback(), is_missing=True)
"""What is told of a round that nobody measured."""


def read_feedback(run: Run, state: State, told: dict[str, Any]) -> Told:
    """Return what was told; refuse what does not fit the run, with nothing changed.

    Args:
        run: what is played.
        state: of the algorithm.
        told: the arguments of :meth:`Controller.tell`; what nobody said anything about is None.
    """
    missing = told.pop("missing")
    if missing is not False:
        return _read_missing(missing, told)
    if told["within"] is not None:
        _check_announced(run, told["within"])
    if told["value_error"] is not None:
        _check_error(run, told)
    x = state.x
    played = None if told["action"] is None else _read_action(run, state, told["action"])
    if played is not None:
        x = played
    if told["cost"] is not None:
        told["cost_value"], told["cost_gradient"] = _call(
            told["cost"], x, "cost", told["cost_gradient"], told["cost_value"]
        )
    if told["constraint"] is not None:
        both = (told["constraint_value"], told["constraint_subgradient"])
        both = _call(told["constraint"], x, "constraint", *both)
        told["constraint_value"], told["constraint_subgradient"] = both
    gradient, size = _read_gradient(run, x, told["cost_gradient"], told["proposal"])
    g, s, worst, steepness = _read_constraint(
        run, x, told["constraint_value"], told["constraint_subgradient"]
    )
    cost = told["cost_value"]
    if cost is not None:
        cost = checks.to_number(cost, x, "cost_value")
        if not math.isfinite(cost):
            raise InvalidValueError(f"cost_value must be finite, got {cost!r}")
    wish = (None, gradient) if run.is_filter else (gradient, None)
    feedback = Feedback(
        wish[0], g, s, cost, told["value_error"], None, played, 0, wish[1], told["within"]
    )
    return Told(feedback, size, worst, steepness)


def _read_missing(missing: object, told: dict[str, Any]) -> Told:
    if missing is not True:
        raise InvalidValueError(f"missing must be True or False, got {missing!r}")
    if any(value is not None for value in told.values()):
        raise InvalidValueError("missing must be told alone, got a measurement beside it")
    return NOTHING


def _check_announced(run: Run, within: object) -> None:
    """Refuse what is no set, and a set that was announced to a rule that certifies nothing."""
    if not isinstance(within, Region) or isinstance(within, type):
        raise InvalidValueError(f"within must be a set with a projection, got {within!r}")
    if run.certifies is None:
        raise InvalidValueError(
            f"within must come with a rule that takes an announced set, got {run.name}"
        )


def _check_error(run: Run, told: dict[str, Any]) -> None:
    if run.certifies is None:
        raise InvalidValueError(
            f"value_error must come with a rule that allows for one, got {run.name}"
        )
    error = told["value_error"] = checks.to_number(told["value_error"], run.start, "value_error")
    if not 0 <= error < math.inf:
        raise InvalidValueError(f"value_error must be finite and at least 0, got {error!r}")


def _read_action(run: Run, state: State, action: object) -> Array | None:
    """Return the action that was played, or None where it is the one asked for."""
    asked = state.x
    played = checks.to_vector(checks.to_numbers(action, "action", "a vector of numbers"), "action")
    if played.shape != asked.shape:
        raise InvalidValueError(
            f"action.shape must be {asked.shape}, that of the action asked for, got {played.shape}"
        )
    if (played == asked).all():
        return None
    if run.certifies is None:
        rest(run.algorithm, state, played)  # which says that it cannot
    return played


def _call(function: Any, x: Array, name: str, *instead: object) -> tuple[Any, Any]:
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


def _read_gradient(run: Run, x: Array, gradient: object, proposal: object) -> tuple[Array, float]:
    """Return what a player is told first, the proposal for a filter, and its norm."""
    name = "cost_gradient"
    if run.is_filter:
        if gradient is not None:
            raise InvalidValueError(
                f"a filter must be told a proposal, got cost_gradient={gradient!r}"
            )
        name, gradient = "proposal", proposal
    elif proposal is not None:
        raise InvalidValueError(
            f"an algorithm must be told a cost_gradient, got proposal={proposal!r}"
        )
    array = _read_array(gradient, name, x.shape, "that of the action")
    size = norm(array)
    if not math.isfinite(size):
        checks.refuse_unfinite(array, name)
    return array, float(size)


def _read_constraint(
    run: Run, x: Array, g: Any, s: Any
) -> tuple[Number, Array | None, float | None, float | None]:
    """Return value and subgradient, one row each where they are apart, and their largest."""
    needs = run.needs
    if g is None and not needs.constraint_values:
        if s is not None:
            raise InvalidValueError(
                f"constraint_subgradient must come with constraint_value, got {s!r} alone"
            )
        return None, None, None, None
    if needs.apart:
        return _read_rows(run, x, g, s)
    if g is None:
        raise InvalidValueError("constraint_value must be one number, got None")
    g = checks.read_constraint_value(g, x)
    if not math.isfinite(g):
        checks.refuse_unfinite(np.asarray(g), "constraint_value")
    if s is None and not needs.constraint_subgradients:
        return g, None, g, None
    s = _read_array(s, "constraint_subgradient", x.shape, "that of the action")
    steepness = float(norm(s))
    if not math.isfinite(steepness):
        checks.refuse_unfinite(s, "constraint_subgradient")
    if not steepness and g > 0:
        raise _flat(g)
    return g, s, g, steepness


def _read_rows(run: Run, x: Array, g: Any, s: Any) -> tuple[Array, Array, float, float]:
    m = run.rows or len(np.atleast_1d(g))
    g = _read_array(g, "constraint_value", (m,), "one for each constraint")
    s = _read_array(s, "constraint_subgradient", (m, len(x)), "one row for each constraint")
    checks.refuse_unfinite(g, "constraint_value")
    checks.refuse_unfinite(s, "constraint_subgradient")
    steep = [float(norm(row)) for row in s]
    for value, size in zip(g.tolist(), steep, strict=True):
        if not size and value > 0:
            raise _flat(value)
    return g, s, float(g.max()), max(steep)


def _flat(g: float) -> InvalidValueError:
    return InvalidValueError(
        "constraint_subgradient must not be 0 where constraint_value is positive, got "
        f"s = 0 with g = {g:g}: x is a minimum of g, so g <= 0 nowhere"
    )


def _read_array(value: Any, name: str, shape: tuple[int, ...], rule: str) -> Array:
    """Return a float64 copy; refuse what is no array of numbers of the shape."""
    if type(value) is list and set(map(type, value)) == {float}:
        array = np.array(value)
    elif type(value) is np.ndarray and value.dtype == np.float64:
        array = value.copy()
    else:
        array = np.array(checks.to_numbers(value, name, f"an array of shape {shape}, {rule}"))
    if array.shape != shape:
        raise InvalidValueError(f"{name}.shape must be {shape}, {rule}, got {array.shape}")
    if array.dtype == np.float64:
        return array
    if name.startswith("constraint"):
        return checks.to_exact(array, name)
    return checks.to_action(array, name)  # other precisions are upcast or refused, as a start's are
