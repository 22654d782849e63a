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
from surefoot.core.types import Array, Context, Feedback, Number, Region, State
from surefoot.regions import ToldDrift

__all__ = ["NOTHING", "Told", "read_context", "read_feedback"]

_FLOAT64 = np.dtype(np.float64)


class Told(NamedTuple):
    """What a round is told.

    Attributes:
        feedback: all of it; ``action`` is the one that was played, where it is not the one asked
            for.
        worst: the largest value of g; None where none was told.
        is_missing: whether nothing was measured.
        ignored: why a hint is not one, and was left out; empty else.
    """

    feedback: Feedback
    worst: float | None = None
    is_missing: bool = False
    ignored: str = ""

    @property
    def gradient(self) -> float | None:
        """The norm of the cost gradient, or of the proposal; None where costs are told by value."""
        seen = self.feedback
        first = seen.proposal if seen.cost_gradient is None else seen.cost_gradient
        return None if first is None else float(norm(first))

    @property
    def steepness(self) -> float | None:
        """The norm of the longest subgradient; None where none was told."""
        s = self.feedback.constraint_subgradient
        return None if s is None else max(float(norm(row)) for row in np.atleast_2d(s))


NOTHING = Told(Feedback(), is_missing=True)
"""What is told of a round that nobody measured."""


def read_feedback(run: Run, state: State, told: dict[str, Any]) -> Told:
    """Return what was told; refuse what does not fit the run, with nothing changed.

    Args:
        run: what is played.
        state: of the algorithm.
        told: the arguments of :meth:`Controller.tell`; what nobody said anything about is None.
    """
    missing = told["missing"]
    context = read_context(run, state, told.get("context"), told.get("drift"))
    if missing is not False:
        return _read_missing(missing, told, context)
    within, error, x = told["within"], told["value_error"], state.x
    if within is not None:
        _check_announced(run, within)
    if error is not None:
        error = _read_error(run, error)
    played = told["action"]
    if played is not None:
        played = _read_action(run, state, played)
        x = x if played is None else played
    cost, gradient = told["cost_value"], told["cost_gradient"]
    if told["cost"] is not None:
        cost, gradient = _call(told["cost"], x, "cost", gradient, cost)
    g, s = told["constraint_value"], told["constraint_subgradient"]
    if told["constraint"] is not None:
        g, s = _call(told["constraint"], x, "constraint", g, s)
    gradient = _read_gradient(run, x, gradient, told["proposal"])
    g, s, worst = _read_constraint(run, x, g, s)
    if cost is not None or run.needs.cost_values:
        cost = checks.to_number(cost, x, "cost_value")
        if not math.isfinite(cost):
            raise InvalidValueError(f"cost_value must be finite, got {cost!r}")
    first, proposal = (None, gradient) if run.is_filter else (gradient, None)
    seen = (first, g, s, cost, error, None, played, 0, proposal, within)
    feedback = Feedback(*seen, context=context)
    if told["hint"] is None:
        return Told(feedback, worst)
    try:
        hint = _read_array(told["hint"], "hint", x.shape, "that of the action")
    except InvalidValueError as error:  # a forecast is never worth a round
        return Told(
            feedback, worst, ignored=f"{error}: it is ignored, and so is each that is wrong"
        )
    return Told(feedback._replace(hint=hint), worst)


def read_context(
    run: Run, state: State, context: object, drift: object = None, *, current: bool = False
) -> Context | None:
    """Return the context of the next round in numbers; None where none was told.

    Args:
        run: what is played.
        state: of the algorithm.
        context: as a user tells it; None for nothing.
        drift: the same for a player that is told how far g drifts.
        current: whether it is that of the current round.
    """
    name = "context" if drift is None else "drift"
    given = context if drift is None else drift
    if given is None:
        return None
    if drift is not None and context is not None:
        raise InvalidValueError(f"drift must be told instead of a context, got both, {context!r}")
    if not run.in_contexts:
        raise InvalidValueError(f"{name} must come with knowledge of contexts, got {run.name}")
    if isinstance(given, Context) is False and isinstance(
        run.algorithm.knowledge.context, ToldDrift
    ) is (drift is None):
        other = "drift" if drift is None else "a context"
        raise InvalidValueError(f"{other} must be told to this player, got {name}={given!r}")
    found: Context = run.algorithm.read_context(state, given, current=current)
    return found


def _read_missing(missing: object, told: dict[str, Any], context: Context | None) -> Told:
    if missing is not True:
        raise InvalidValueError(f"missing must be True or False, got {missing!r}")
    beside = ("missing", "hint", "context", "drift")
    measured = (value for name, value in told.items() if name not in beside)
    if any(value is not None for value in measured):
        raise InvalidValueError("missing must be told alone, got a measurement beside it")
    return NOTHING if context is None else NOTHING._replace(feedback=Feedback(context=context))


def _check_announced(run: Run, within: object) -> None:
    """Refuse what is no set, and a set that was announced to a rule that certifies nothing."""
    if not isinstance(within, Region) or isinstance(within, type):
        raise InvalidValueError(f"within must be a set with a projection, got {within!r}")
    if run.certifies is None:
        raise InvalidValueError(
            f"within must come with a rule that takes an announced set, got {run.name}"
        )


def _read_error(run: Run, error: object) -> float:
    if run.certifies is None:
        raise InvalidValueError(
            f"value_error must come with a rule that allows for one, got {run.name}"
        )
    bound = float(checks.to_number(error, run.start, "value_error"))
    if not 0 <= bound < math.inf:
        raise InvalidValueError(f"value_error must be finite and at least 0, got {bound!r}")
    return bound


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


def _read_gradient(run: Run, x: Array, gradient: object, proposal: object) -> Array | None:
    """Return what a player is told first: the proposal for a filter; None of costs by value."""
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
    elif not run.needs.cost_gradients:
        if gradient is not None:
            raise InvalidValueError(
                f"{run.name} must be told cost_value alone, got cost_gradient={gradient!r}"
            )
        return None
    return _read_array(gradient, name, x.shape, "that of the action")


def _read_constraint(
    run: Run, x: Array, g: Any, s: Any
) -> tuple[Number, Array | None, float | None]:
    """Return value and subgradient, one row each where they are apart, and the largest value."""
    needs = run.needs
    if g is None and not needs.constraint_values:
        if s is not None:
            raise InvalidValueError(
                f"constraint_subgradient must come with constraint_value, got {s!r} alone"
            )
        return None, None, None
    if needs.apart:
        m = run.rows or len(np.atleast_1d(g))
        g = _read_array(g, "constraint_value", (m,), "one for each constraint")
        s = _read_array(s, "constraint_subgradient", (m, len(x)), "one row for each constraint")
        flat = ~s.any(axis=1) & (g > 0)
        if flat.any():
            raise _flat(float(g[flat][0]))
        return g, s, float(g.max())
    if g is None:
        raise InvalidValueError("constraint_value must be one number, got None")
    g = g if type(g) is float else checks.read_constraint_value(g, x)
    if not math.isfinite(g):
        checks.refuse_unfinite(np.asarray(g), "constraint_value")
    if s is None and not needs.constraint_subgradients:
        return g, None, g
    s = _read_array(s, "constraint_subgradient", x.shape, "that of the action")
    if g > 0 and not s.any():
        raise _flat(g)
    return g, s, g


def _flat(g: float) -> InvalidValueError:
    return InvalidValueError(
        "constraint_subgradient must not be 0 where constraint_value is positive, got "
        f"s = 0 with g = {g:g}: x is a minimum of g, so g <= 0 nowhere"
    )


def _read_array(value: Any, name: str, shape: tuple[int, ...], rule: str) -> Array:
    """Return a float64 copy; refuse what is no array of numbers of the shape."""
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        array = value.copy()
    elif type(value) is list and set(map(type, value)) == {float}:
        array = np.array(value)
    else:
        array = np.array(checks.to_numbers(value, name, f"an array of shape {shape}, {rule}"))
    if array.shape != shape:
        raise InvalidValueError(f"{name}.shape must be {shape}, {rule}, got {array.shape}")
    if array.dtype is not _FLOAT64:
        # Other precisions are upcast or refused, as a start's are.
        convert = checks.to_exact if name.startswith("constraint") else checks.to_action
        array = convert(array, name)
    if not math.isfinite(np.vdot(array, array)):  # which does not warn of an overflow
        checks.refuse_unfinite(array, name)
    return array
