"""What somebody should hear of a live loop: the logger ``surefoot``, a callback, the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

__all__ = ["Alarm", "OnAlarm", "emit"]

LOGGER = logging.getLogger("surefoot")
LOGGER.addHandler(logging.NullHandler())

LEVELS = {
    "contradiction": logging.ERROR,
    "refused": logging.CRITICAL,
    "violation": logging.ERROR,
    "deviation": logging.WARNING,
    "missing": logging.INFO,
    "remeasure": logging.INFO,
    "order": logging.WARNING,
    "journal": logging.WARNING,
    "hint": logging.WARNING,
}
"""The kinds, and how loud they are. One that only the regret bound contradicts is a warning."""


class Alarm(NamedTuple):
    """One thing that somebody should hear of.

    Attributes:
        round: in which it happened.
        kind: a "contradiction" of what was said about g; a round that was "refused" for one; a
            "violation", g > 0 in a round of a player that may; a "deviation", another action than
            the one asked for; a round that was "missing"; "remeasure", the anchor is measured
            again in the next round; an operator's "order"; something about the "journal"; a
            "hint" that is none, the first of a controller.
        sentence: in words.
        level: of the standard library's ``logging``.
    """

    round: int
    kind: str
    sentence: str
    level: int

    @classmethod
    def of(cls, t: int, kind: str, sentence: str, level: int | None = None) -> Alarm:
        """Return an alarm, as loud as its kind unless told otherwise."""
        return cls(t, kind, sentence, LEVELS[kind] if level is None else level)


OnAlarm: TypeAlias = Callable[[Alarm], object]


def emit(alarms: Iterable[Alarm], listener: OnAlarm | None) -> None:
    """Log alarms and pass them on; a listener that fails is logged, and stops nothing."""
    for alarm in alarms:
        LOGGER.log(alarm.level, "%s", alarm.sentence, extra={"alarm": alarm})
        if listener is not None:
            try:
                listener(alarm)
            except Exception:
                LOGGER.exception("on_alarm failed at: %s", alarm.sentence)
