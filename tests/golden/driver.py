"""Build a player from plain data and step it: the only file here that knows the library."""

from typing import Any, NamedTuple

from tests._names import NAMES as PUBLIC

import surefoot
from surefoot import Feedback
from surefoot.knowledge import Errors


class Seen(NamedTuple):
    """What a player is told of a round, and asked for the next one."""

    gradient: Any
    value: Any
    slope: Any
    value_error: Any = None
    proposal: Any = None
    within: Any = None  # plain data of the set that holds the next action
    action: Any = None  # the action really played, where it is not the one asked for


NAMES = {"value_error": "value", "slope_error": "slope", "evaluation_error": "evaluation"}


def build(table):
    """Return what plain data names: ``{"class": "Ball", "radius": 1.0}``, with a tuning or not."""
    if isinstance(table, list):
        return tuple(build(part) for part in table)
    if not isinstance(table, dict):
        return table
    parts = {name: build(part) for name, part in table.items()}
    kind, tuning = parts.pop("class"), parts.pop("tuning", None)
    made = PUBLIC[kind] if kind in PUBLIC else getattr(surefoot, kind)
    if "known" in parts:
        parts["knowledge"] = parts.pop("known")
    if made.__module__.startswith("surefoot.knowledge"):
        told = {NAMES.get(n, n): parts.pop(n) for n in (*NAMES, "drift") if n in parts}
        if told:  # rows together have errors of their own
            parts["errors"] = Errors(**told)
    made = made(**parts) if tuning is None else getattr(made, tuning)(**parts)
    return getattr(made, "algorithm", made)  # of a Tuned


def play(table, start):
    """Yield the actions of a player; it is sent what was seen at each, None for nothing."""
    player = build(table)
    state = player.init(start)
    while True:
        seen = yield state.x
        if seen is None:
            state = player.rest(state, state.x)
            continue
        told = Feedback(
            seen.gradient,
            seen.value,
            seen.slope,
            value_error=seen.value_error,
            action=seen.action,
            proposal=seen.proposal,
            within=None if seen.within is None else build(seen.within),
        )
        state, _ = player.step(state, told)
