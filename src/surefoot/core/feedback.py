"""What is reported of a round, declared once: the fields of feedback, and one row for each.

Whatever handles a round follows these rows: ``tell``, the service, fleets, journals, wrappers and
the kernel. To add a field, add it to :class:`Feedback` and to :data:`FIELDS`, and name it in
``Needs.fields`` of the rules that use it. Everything else refuses it in a sentence, or leaves the
round to Python; nothing drops it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import PerRow
from surefoot.core.types import Array, Context, Number, Set

__all__ = ["FIELDS", "NEXT", "Feedback", "FeedbackField", "list_report", "refuse_unused"]


class Feedback(NamedTuple):
    """What is reported after a round. Unreported fields are None.

    Measurements of the round, all at one action:

    Attributes:
        cost_gradient: a (sub)gradient of the round's cost.
        constraint_value: :math:`g(x_t)`; feasible means at most zero.
        constraint_subgradient: one subgradient of g at the same point.
        cost_value: the cost itself.
        value_error: a bound on the error of this ``constraint_value``, instead of the one that the
            rule was given.
        slope_error: a bound on the error of ``constraint_subgradient``.
        action: the action of the measurements, if not that of the state.
        age: the number of rounds since the measurement; 0 in the round itself.
        readings: what meters showed, in their own units; NaN for none. It is for the journal, and
            no rule uses it.

    Information about the next round:

    Attributes:
        proposal: an external proposal for the next action.
        within: a set, announced for the next round, that must contain the next action.
        direction: a random unit vector along which to explore.
        hint: a forecast of the next cost gradient, for optimistic rules.
        context: the context of the next round, for knowledge of contexts.
    """

    cost_gradient: Array = None
    constraint_value: Annotated[Number, PerRow] = None
    constraint_subgradient: Annotated[Array, PerRow] = None
    cost_value: Number = None
    value_error: Number = None
    slope_error: Number = None
    action: Array = None
    age: int = 0
    proposal: Array = None
    within: Set | None = None
    direction: Array = None
    hint: Array = None
    context: Context | None = None
    readings: Array = None


Reader: TypeAlias = Literal[
    "gradient",
    "values",
    "slopes",
    "number",
    "bound",
    "action",
    "age",
    "set",
    "hint",
    "context",
    "readings",
]


class FeedbackField(NamedTuple):
    """One field of feedback, for all that handles rounds.

    Attributes:
        name: its name in :class:`Feedback`.
        reader: how a door reads it.
        time: "seen" in the round, or about the "next" one: never late, and known beforehand.
        kernel: "reads" it; "ignores" it, as no rule of the kernel uses it; or leaves the round to
            "python".
        journal: its key in a line of a journal; None if no line has it.
        tell: whether it is an argument of ``tell``, and a key of the service.
        fleet: whether it is an argument of a fleet's ``tell``, with an entry per member.
        for_all: whether every rule may be given it; the others must name it in ``Needs.fields``.
        needs: the field that must be reported with it; empty for none.
    """

    name: str
    reader: Reader
    time: Literal["seen", "next"]
    kernel: Literal["reads", "ignores", "python"]
    journal: str | None
    tell: bool = True
    fleet: bool = True
    for_all: bool = False
    needs: str = ""


FIELDS: tuple[FeedbackField, ...] = (
    FeedbackField("cost_gradient", "gradient", "seen", "reads", "cost_gradient", for_all=True),
    FeedbackField("constraint_value", "values", "seen", "reads", "constraint_value", for_all=True),
    FeedbackField(
        "constraint_subgradient", "slopes", "seen", "reads", "constraint_subgradient", for_all=True
    ),
    FeedbackField("cost_value", "number", "seen", "ignores", "cost_value", for_all=True),
    FeedbackField("value_error", "bound", "seen", "reads", "value_error", needs="constraint_value"),
    FeedbackField(
        "slope_error", "bound", "seen", "reads", "slope_error", needs="constraint_subgradient"
    ),
    FeedbackField("action", "action", "seen", "reads", "played"),
    FeedbackField("age", "age", "seen", "reads", None, tell=False, fleet=False),
    FeedbackField("proposal", "gradient", "next", "reads", "proposal", for_all=True),
    FeedbackField("within", "set", "next", "python", "within"),
    FeedbackField(
        "direction", "gradient", "next", "python", None, tell=False, fleet=False, for_all=True
    ),
    FeedbackField("hint", "hint", "next", "python", "hint"),
    FeedbackField("context", "context", "next", "python", "context"),
    FeedbackField("readings", "readings", "seen", "ignores", "readings", for_all=True),
)
"""The fields of :class:`Feedback`, in their order."""

NEXT: dict[str, Any] = {field.name: None for field in FIELDS if field.time == "next"}
"""The fields about the next round, each with no report."""


def list_report(feedback: Feedback) -> dict[str, Any]:
    """Return the fields that were reported, by name.

    >>> list_report(Feedback(constraint_value=-0.5, age=0))
    {'constraint_value': -0.5}
    """
    pairs = zip(feedback._fields, feedback, strict=True)
    report = {name: part for name, part in pairs if part is not None}
    age = report.pop("age", None)  # a tracer, under JAX, is that of the round itself
    is_late = isinstance(age, (int, float, np.generic)) and bool(age)
    return report | {"age": age} if is_late else report


def refuse_unused(feedback: object, fields: frozenset[str], rule: str) -> None:
    """Raise for what is no feedback, and for a field that a rule would drop.

    Args:
        feedback: the report of a round.
        fields: the fields that the rule uses, beside those that every rule may be given.
        rule: its name.
    """
    if not isinstance(feedback, Feedback):
        raise InvalidValueError(f"feedback must be a Feedback, got {feedback!r}")
    for name in list_report(feedback):
        if name not in fields and name not in _FOR_ALL:
            raise InvalidValueError(f"{name} is not used by {rule}: leave it out")


_FOR_ALL = frozenset(field.name for field in FIELDS if field.for_all)
