"""Build a player from plain data and step it: the only file here that knows the library."""

from typing import Any, NamedTuple

import surefoot
from surefoot import Feedback, algorithms, regions, sets


class Seen(NamedTuple):
    """What a player is told of a round, and asked for the next one."""

    gradient: Any
    value: Any
    slope: Any
    value_error: Any = None
    proposal: Any = None
    within: Any = None  # plain data of the set that holds the next action
    action: Any = None  # the action really played, where it is not the one asked for


def build(table):
    """Return what plain data names: ``{"class": "Ball", "radius": 1.0}``, with a tuning or not."""
    if isinstance(table, list):
        return tuple(build(part) for part in table)
    if not isinstance(table, dict):
        return table
    parts = {name: build(part) for name, part in table.items()}
    kind, tuning = parts.pop("class"), parts.pop("tuning", None)
    made = next(getattr(m, kind) for m in (algorithms, regions, sets, surefoot) if hasattr(m, kind))
    made = made(**parts) if tuning is None else getattr(made, tuning)(**parts)
    return getattr(made, "algorithm", made)  # of a Tuned


def play(table, start):
    """Yield the actions of a player; it is sent what was seen at each, None for nothing."""
    player = build(table)
    state = player.init(start)
    while True:
        seen = yield state.x
        if seen is None:
            state = player.moved(state, state.x, 1)
            continue
        if seen.action is not None:
            state = player.moved(state, seen.action)
        announced = {} if seen.within is None else {"within": build(seen.within)}
        if seen.proposal is not None:
            reading = (seen.value, seen.slope, seen.value_error)
            state, _ = player.admit(state, seen.proposal, *reading, **announced)
        else:
            told = Feedback(seen.gradient, seen.value, seen.slope, None, seen.value_error)
            state, _ = player.step(state, told, **announced)
