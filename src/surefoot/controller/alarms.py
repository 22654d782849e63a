"""The alarms of a live loop: by the logger ``surefoot``, a callback and the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

__all__ = ["Alarm", "OnAlarm", "emit", "level_name"]

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
    "context": logging.WARNING,
    "deadline": logging.ERROR,
}
"""The level of each kind. A contradiction of only the regret bound is a warning."""


class Alarm(NamedTuple):
    """One event of a live loop that needs attention.

    Attributes:
        round: in which it happened.
        kind: a "contradiction" of a premise; "refused", a round that was rejected for one; a
            "violation", g > 0; a "deviation", an action other than the one asked for; a round that
            is "missing"; "remeasure", the anchor is measured again in the next round; an
            operator's "order"; an event of the "journal"; the first invalid "hint"; a round whose
            "context" is unknown; a "deadline" that a service waited for in vain.
        sentence: in words.
        level: of the standard library's ``logging``.
    """

    round: int
    kind: str
    sentence: str
    level: int

    @classmethod
    def of(cls, t: int, kind: str, sentence: str, level: int | None = None) -> Alarm:
        """Return an alarm, with the level of its kind unless given."""
        return cls(t, kind, sentence, LEVELS[kind] if level is None else level)


def level_name(level: int) -> str:
    """Return a level as answers and metrics have it.

    >>> level_name(logging.ERROR)
    'error'
    """
    return logging.getLevelName(level).lower()


OnAlarm: TypeAlias = Callable[[Alarm], object]


def emit(alarms: Iterable[Alarm], listener: OnAlarm | None) -> None:
    """Log alarms and call the listener; a listener that fails is logged and stops nothing."""
    for alarm in alarms:
        LOGGER.log(alarm.level, "%s", alarm.sentence, extra={"alarm": alarm})
        if listener is not None:
            try:
                listener(alarm)
            except Exception:
                LOGGER.exception("on_alarm failed at: %s", alarm.sentence)
