"""Read what a live loop is told: float64 copies of it, or one sentence."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.loop import Run
from surefoot.core import checks
from surefoot.core.algorithm import rest
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Context, Feedback, Number, Region, State
from surefoot.regions import ToldDrift

__all__ = ["Told", "read_context", "read_feedback"]

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
        size: Number = None if s is None else norm(s)
        return size if size is None or isinstance(size, float) else float(size.max())


def read_feedback(run: Run, state: State, told: Mapping[str, Any]) -> Told:
    """Return what was told; refuse what does not fit the run, with nothing changed.

    Args:
        run: what is played.
        state: of the algorithm.
        told: the arguments of :meth:`Controller.tell`; what nobody said anything about is None, or
            left out.
    """
    get = told.get
    context = read_context(run, state, get("context"), get("drift"))
    if get("missing", False) is not False:
        return _read_missing(told, context)
    within, error, played, x = get("within"), get("value_error"), get("action"), state.x
    if within is not None:
        _check_announced(run, within)
    if error is not None:
        _check_certifies(run, "value_error", "allows for one")
        error = _read_number(error, x, "value_error", 0.0)
    if played is not None:
        played = _read_action(run, state, played)
        x = x if played is None else played
    gradient, proposal = _read_first(run, x, get("cost_gradient"), get("proposal"))
    g, s, worst = _read_constraint(run, x, get("constraint_value"), get("constraint_subgradient"))
    cost = get("cost_value")
    if cost is not None or run.needs.cost_values:
        cost = _read_number(cost, x, "cost_value")
    hint, ignored = get("hint"), ""
    if hint is not None:
        try:
            hint = _read_array(hint, "hint", x.shape, "that of the action")
        except InvalidValueError as wrong:  # a forecast is never worth a round
            hint, ignored = None, f"{wrong}: it is ignored, and so is each that is wrong"
    seen = (gradient, g, s, cost, error, None, played, 0, proposal, within, None, hint, context)
    return Told(Feedback(*seen), worst, False, ignored)


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


def _read_missing(told: Mapping[str, Any], context: Context | None) -> Told:
    if told["missing"] is not True:
        raise InvalidValueError(f"missing must be True or False, got {told['missing']!r}")
    beside = ("missing", "hint", "context", "drift")
    if any(value is not None for name, value in told.items() if name not in beside):
        raise InvalidValueError("missing must be told alone, got a measurement beside it")
    return Told(Feedback(context=context), is_missing=True)


def _check_announced(run: Run, within: object) -> None:
    """Refuse what is no set, and a set that was announced to a rule that certifies nothing."""
    if not isinstance(within, Region) or isinstance(within, type):
        raise InvalidValueError(f"within must be a set with a projection, got {within!r}")
    _check_certifies(run, "within", "takes an announced set")


def _check_certifies(run: Run, name: str, what: str) -> None:
    if run.knowledge is None:
        raise InvalidValueError(f"{name} must come with a rule that {what}, got {run.name}")


def _read_number(value: object, x: Array, name: str, least: float = -math.inf) -> float:
    number = float(checks.to_number(value, x, name))
    if not (math.isfinite(number) and number >= least):
        rule = "finite" if least == -math.inf else f"finite and at least {least:g}"
        raise InvalidValueError(f"{name} must be {rule}, got {number!r}")
    return number


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
    if run.knowledge is None:
        rest(run.algorithm, state, played)  # which says that it cannot
    return played


def _read_first(
    run: Run, x: Array, gradient: object, proposal: object
) -> tuple[Array | None, Array | None]:
    """Return cost gradient and proposal, of which a player is told one; none of costs by value."""
    for name, value in (("cost_gradient", gradient), ("proposal", proposal)):
        if name != run.first and value is not None:
            wanted = run.first or "cost_value alone"
            raise InvalidValueError(f"{run.name} must be told {wanted}, got {name}={value!r}")
    if run.first == "proposal":
        return None, _read_array(proposal, run.first, x.shape, "that of the action")
    if not run.first:
        return None, None
    return _read_array(gradient, run.first, x.shape, "that of the action"), None


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
