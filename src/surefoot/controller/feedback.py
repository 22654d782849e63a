"""Read what a live loop is given: float64 copies of it, or one sentence."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.loop import Run
from surefoot.core import checks
from surefoot.core.algorithm import errors_of
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS, Feedback, refuse_unused
from surefoot.core.points import dimension_of
from surefoot.core.types import Array, Context, Number, Set, State

__all__ = [
    "RoundInput",
    "check_unknown",
    "read_array",
    "read_context",
    "read_feedback",
    "refuse_unfinite",
]

_FLOAT64 = np.dtype(np.float64)
_COUNT = len(FIELDS)
_BOUNDS = {field.name: field.needs for field in FIELDS if field.reader == "bound"}
"""The bounds on errors, and what each is of."""
_STILL_KNOWN = ("hint", "context", "age", "action", "readings")
_BESIDE = tuple(field.name for field in FIELDS if field.reader not in _STILL_KNOWN)
"""The fields that a round without a measurement cannot have."""


class RoundInput(NamedTuple):
    """What a round reports.

    Attributes:
        feedback: all of it; ``action`` is the one that was played, if it is not the one asked for.
        worst: the largest value of g; None if none was reported.
        is_missing: whether nothing was measured.
        ignored: why a hint was ignored; empty otherwise.
    """

    feedback: Feedback
    worst: float | None = None
    is_missing: bool = False
    ignored: str = ""

    @property
    def gradient(self) -> float | None:
        """The norm of the cost gradient, or of the proposal; None without both."""
        gradient, proposal = self.feedback.cost_gradient, self.feedback.proposal
        return _longest(proposal if gradient is None else gradient)

    @property
    def slope_norm(self) -> float | None:
        """The norm of the longest subgradient; None if none was reported."""
        return _longest(self.feedback.constraint_subgradient)


def _longest(rows: Array | None) -> float | None:
    if rows is None or rows.ndim > 1:
        return None if rows is None else float(norm(rows).max())
    size = math.sqrt(np.vdot(rows, rows))  # which does not warn of an overflow
    return size if 1e-140 < size < 1e150 else norm(rows)  # where the square is a good float


def refuse_unfinite(feedback: Feedback) -> None:
    """Raise for vectors with a number that is not finite; the kernel checks its own."""
    for name in ("cost_gradient", "proposal", "constraint_subgradient"):
        part = getattr(feedback, name)
        # The square of finite numbers may be infinite; where it is not, none of them is.
        if part is not None and not math.isfinite(np.vdot(part, part)):
            checks.refuse_unfinite(part, name)


def read_feedback(
    run: Run, state: State, feedback: Feedback, *, missing: object = False, drift: object = None
) -> RoundInput:
    """Return what a round reports; reject what does not fit the run, with nothing changed.

    Args:
        run: what is played.
        state: of the algorithm.
        feedback: as passed to :meth:`Controller.tell`.
        missing: likewise.
        drift: likewise.
    """
    if missing is not False:
        return _read_missing(run, state, feedback, missing, drift)
    certified: Any = state
    plan = certified.plan if run.in_contexts else None
    if plan is not None and plan.is_unknown:
        raise InvalidValueError(
            "missing must be True in a round whose context is unknown: what is read there says "
            "nothing of another context"
        )
    usual, first, ignored = _is_usual(feedback, drift), run.first, ""
    if not usual:
        feedback, ignored = _read_seldom(run, state, feedback, drift)
    x: Array = state.x if feedback.action is None else feedback.action
    proposal = _read_proposal(run, x, feedback)
    g, s, worst = _read_constraint(run, x, feedback)
    cost = feedback.cost_value
    if cost is not None or run.needs.cost_values:
        cost = _read_number(cost, x, "cost_value")
    copies = Feedback(proposal, g, s, cost)
    if not usual or first != "cost_gradient":
        fields: dict[str, Any] = {first: proposal} if first else {}
        fields |= {"constraint_value": g, "constraint_subgradient": s, "cost_value": cost}
        copies = feedback._replace(**fields)
    return RoundInput(copies, worst, False, ignored)


def _is_usual(feedback: Feedback, drift: object) -> bool:
    """Return whether a round reports nothing that few rounds do, and no field that came later."""
    if len(feedback) != _COUNT:
        return False
    _, _, _, _, value, slope, action, _, _, within, direction, hint, context, readings = feedback
    is_plain = value is slope is action is within is direction is hint is context is None
    return is_plain and readings is drift is None


def _read_proposal(run: Run, x: Array, feedback: Feedback) -> Array | None:
    """Return the cost gradient, or the proposal; None for a run that takes neither."""
    if run.first != "cost_gradient" and feedback.cost_gradient is not None:
        raise _strange(run, f"cost_gradient={feedback.cost_gradient!r}")
    if run.first != "proposal" and feedback.proposal is not None:
        raise _strange(run, f"proposal={feedback.proposal!r}")
    proposal = feedback.proposal if feedback.cost_gradient is None else feedback.cost_gradient
    return read_array(proposal, run.first, x.shape, "that of the action") if run.first else None


def _strange(run: Run, text: str) -> InvalidValueError:
    argument = run.first or "only cost_value"
    return InvalidValueError(f"{run.name} needs {argument}, got {text}")


def _read_seldom(run: Run, state: State, feedback: Feedback, drift: object) -> tuple[Feedback, str]:
    """Return what few rounds report, and why a hint is ignored."""
    ignored = ""
    refuse_unused(feedback._replace(action=None, context=None), run.needs.fields, run.name)
    fields: dict[str, Any] = {}
    if drift is not None or feedback.context is not None:
        fields["context"] = read_context(run, state, feedback.context, drift)
    for name, of in _BOUNDS.items():
        if (bound := getattr(feedback, name)) is None:
            continue
        if getattr(feedback, of) is None:
            raise InvalidValueError(f"{name} must come with {of}, got only {bound!r}")
        fields[name] = _read_number(bound, state.x, name, 0.0)
    within: Any = feedback.within
    if within is not None and (not isinstance(within, Set) or isinstance(within, type)):
        raise InvalidValueError(f"within must be a set with a projection, got {within!r}")
    if within is not None and dimension_of(within) not in (None, state.x.shape[-1]):
        rule = f"of {state.x.shape[-1]} entries, as the action"
        raise checks.invalid("within", rule, within)
    if feedback.action is not None:
        fields["action"] = _read_action(run, state, feedback.action)
    if feedback.readings is not None:
        fields["readings"] = _read_readings(feedback.readings)
    if feedback.hint is not None:
        try:
            fields["hint"] = read_array(feedback.hint, "hint", state.x.shape, "that of the action")
            checks.refuse_unfinite(fields["hint"], "hint")
        except InvalidValueError as wrong:  # a forecast is never worth a round
            fields["hint"], ignored = None, f"{wrong}: it is ignored, and so is every invalid hint"
    return feedback._replace(**fields), ignored


def read_context(
    run: Run, state: State, context: object, drift: object = None, *, current: bool = False
) -> Context | None:
    """Return the context of the next round in numbers; None if none was given.

    Args:
        run: what is played.
        state: of the algorithm.
        context: as a user gives it; None for none.
        drift: likewise, for a player that takes a drift.
        current: whether it is that of the current round.
    """
    name = "context" if drift is None else "drift"
    value = context if drift is None else drift
    if value is None:
        return None
    if drift is not None and context is not None:
        raise InvalidValueError(f"drift must be given instead of a context, got both, {context!r}")
    if not run.in_contexts:
        raise InvalidValueError(f"{name} must come with knowledge of contexts, got {run.name}")
    if not isinstance(value, Context) and name != run.algorithm.knowledge.context.argument:
        other = "drift" if drift is None else "a context"
        raise InvalidValueError(f"{other} must be given to this player, got {name}={value!r}")
    place: Context = run.algorithm.read_context(state, value, current=current)
    return place


def check_unknown(run: Run, place: Context | None) -> None:
    """Raise unless the context of a round may be announced as unknown."""
    if place is not None:
        raise checks.invalid("unknown", "False beside a context", True)
    if not run.in_contexts:
        raise InvalidValueError(f"unknown must be False without contexts, got {run.name}")
    if run.algorithm.knowledge.context.argument == "drift":
        raise InvalidValueError("unknown must be False for a drift: tell how large it may be")
    if run.standing is None:
        raise InvalidValueError(
            f"unknown must be False for {run.name} without a start_bound: in an unknown context "
            "nothing else certifies an action (Theorem X1)"
        )


def _read_missing(
    run: Run, state: State, feedback: Feedback, missing: object, drift: object
) -> RoundInput:
    if missing is not True:
        raise InvalidValueError(f"missing must be True or False, got {missing!r}")
    if any(getattr(feedback, name) is not None for name in _BESIDE):
        raise InvalidValueError("missing must come without a measurement, got one")
    context = read_context(run, state, feedback.context, drift)
    action = None if feedback.action is None else _read_action(run, state, feedback.action)
    readings = None if feedback.readings is None else _read_readings(feedback.readings)
    still = Feedback(action=action, context=context, readings=readings)
    return RoundInput(still, is_missing=True)


def _read_readings(value: object) -> Array:
    """Return what meters showed, for the journal: a vector, with NaN for no reading."""
    rule = "a vector of numbers, NaN for no reading"
    numbers: Array = np.array(checks.to_numbers(value, "readings", rule), dtype=np.float64)
    if numbers.ndim != 1 or np.isinf(numbers).any():
        raise checks.invalid("readings", rule, value)
    return numbers


def _read_number(value: object, x: Array, name: str, least: float = -math.inf) -> float:
    number = float(checks.to_number(value, x, name))
    if not (math.isfinite(number) and number >= least):
        rule = "finite" if least == -math.inf else f"finite and at least {least:g}"
        raise InvalidValueError(f"{name} must be {rule}, got {number!r}")
    return number


def _read_action(run: Run, state: State, action: object) -> Array | None:
    """Return the action that was played; None if it is the one asked for."""
    x = state.x
    vector = checks.to_vector(checks.to_numbers(action, "action", "a vector of numbers"), "action")
    if vector.shape != x.shape:
        rule = f"{x.shape}, that of the action asked for"
        raise checks.invalid("action.shape", rule, vector.shape)
    if (vector == x).all():
        return None
    if errors_of(run.algorithm) is None:
        raise InvalidValueError(
            f"action must be the one asked for, because {run.name} certifies nothing and cannot "
            f"start from another, got {vector!r}"
        )
    return vector


def _read_constraint(
    run: Run, x: Array, feedback: Feedback
) -> tuple[Number, Array | None, float | None]:
    """Return value and subgradient, by row if rows are separate, and the largest value."""
    needs, g, s = run.needs, feedback.constraint_value, feedback.constraint_subgradient
    if g is None and not needs.constraint_values:
        if s is not None:
            raise InvalidValueError(
                f"constraint_subgradient must come with constraint_value, got only {s!r}"
            )
        return None, None, None
    if needs.separately:
        m = run.rows or len(np.atleast_1d(g))
        g = read_array(g, "constraint_value", (m,), "one for each constraint")
        _refuse_unmeasured(g)
        if s is None and not run.needs_slopes:
            return g, None, float(g.max())
        shape = (m, len(x))
        s = read_array(s, "constraint_subgradient", shape, "one row for each constraint")
        _refuse_flat(run, feedback, g[~s.any(axis=1) & (g > 0)])
        return g, s, float(g.max())
    if g is None:
        raise InvalidValueError(f"constraint_value must be one number, got None{_NOT_MEASURED}")
    g = g if type(g) is float else checks.read_constraint_value(g, x)
    if not math.isfinite(g):
        _refuse_unmeasured(np.asarray(g))
    if s is None and not run.needs_slopes:
        return g, None, g
    s = read_array(s, "constraint_subgradient", x.shape, "that of the action")
    if g > 0 and not s.any():
        _refuse_flat(run, feedback, [g])
    return g, s, g


_NOT_MEASURED = ": pass missing=True if nothing was measured"


def _refuse_unmeasured(values: Array) -> None:
    """Reject values that are not finite, as of a sensor that measured nothing."""
    if np.isnan(values).any():
        raise InvalidValueError(f"constraint_value must be finite, got nan{_NOT_MEASURED}")
    checks.refuse_unfinite(values, "constraint_value")


def _refuse_flat(run: Run, feedback: Feedback, values: Sequence[float] | Array) -> None:
    """Reject values above 0, by more than their errors, whose slope is exactly 0.

    A g that is not convex may have them, and so may one whose slopes err.
    """
    errors = run.errors.of_round(feedback)
    above = [g for g in values if g - errors.value - errors.evaluation > 0]
    if run.convex and above and not errors.slope:
        raise InvalidValueError(
            "constraint_subgradient must not be 0 where constraint_value is positive, got "
            f"s = 0 with g = {above[0]:g}: x is a minimum of g, so g <= 0 nowhere"
        )


def read_array(value: Any, name: str, shape: tuple[int, ...], rule: str) -> Array:
    """Return a float64 copy; reject what is no array of numbers of the shape."""
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        array = value.copy()
    elif type(value) is list and set(map(type, value)) == {float}:
        array = np.array(value)
    else:
        array = np.array(checks.to_numbers(value, name, f"an array of shape {shape}, {rule}"))
    if array.shape != shape:
        raise InvalidValueError(f"{name}.shape must be {shape}, {rule}, got {array.shape}")
    if array.dtype is not _FLOAT64:
        # Other precisions are upcast or rejected, as those of a start are.
        convert = checks.to_exact if name.startswith("constraint") else checks.upcast
        array = convert(array, name)
    return array
