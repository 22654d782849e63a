"""What readers of a service see: one round as data that never changes, and the numbers of meters.

A worker thread owns the loop. After every change it makes a new snapshot and stores it by one
assignment, so that a reader needs no lock, never waits, and never sees a round go back.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from surefoot.controller.alarms import Alarm, level_name
from surefoot.controller.explanation import Explanation
from surefoot.controller.service.protocol import Answer, sentence_of
from surefoot.core.plain import json_plain, name_parts

__all__ = ["Sample", "Snapshot", "Tallies", "alarm_data", "explanation_data"]


class Sample(NamedTuple):
    """One number for a monitor.

    Attributes:
        name: without the prefix of the program.
        value: of the number.
        labels: what distinguishes it from others of the name.
    """

    name: str
    value: float
    labels: Mapping[str, str] = {}


@dataclass
class Tallies:
    """What a service counts since it began; only its worker changes them.

    Attributes:
        rounds: by how each came about.
        alarms: by kind and level.
        tell_seconds: how long the reports took together.
        tells: how many there were.
        failure: why the journal could not be written at the last attempt; empty if it could.
    """

    rounds: dict[str, int] = field(default_factory=dict)
    alarms: dict[tuple[str, str], int] = field(default_factory=dict)
    tell_seconds: float = 0.0
    tells: int = 0
    failure: str = ""

    def count_round(self, how: str) -> None:
        """Count a round."""
        self.rounds[how] = self.rounds.get(how, 0) + 1

    def count_alarm(self, alarm: Alarm) -> None:
        """Count an alarm."""
        key = (alarm.kind, level_name(alarm.level))
        self.alarms[key] = self.alarms.get(key, 0) + 1

    def copy(self) -> Tallies:
        """Return them as they are now."""
        rounds, alarms = dict(self.rounds), dict(self.alarms)
        return Tallies(rounds, alarms, self.tell_seconds, self.tells, self.failure)

    def samples(self) -> Iterator[Sample]:
        """Yield them for a monitor."""
        for how, count in sorted(self.rounds.items()):
            yield Sample("rounds_total", count, {"how": how})
        for (kind, level), count in sorted(self.alarms.items()):
            yield Sample("alarms_total", count, {"kind": kind, "level": level})
        yield Sample("tell_seconds_sum", self.tell_seconds)
        yield Sample("tell_seconds_count", self.tells)


@dataclass(frozen=True)
class Snapshot(ABC):
    """A loop at one moment; nothing of it changes.

    Attributes:
        round: the current one.
        tallies: what was counted until then.
        reported_at: when the host last reported a round, by the monotonic clock.
        bytes: of the journal.
    """

    round: int
    tallies: Tallies
    reported_at: float
    bytes: int

    helps: ClassVar[Mapping[str, tuple[str, str]]] = {
        "round": ("gauge", "The current round."),
        "rounds_total": ("counter", "Rounds since the service began, by how they came about."),
        "alarms_total": ("counter", "Alarms since the service began."),
        "tell_seconds_sum": ("counter", "Seconds that reports took, until the disk had them."),
        "tell_seconds_count": ("counter", "Reports that were accepted."),
        "last_round_seconds": ("gauge", "Seconds since the host last reported a round."),
        "journal_bytes": ("gauge", "Bytes of the journal, of all its files."),
        "journal_writable": ("gauge", "Whether the journal could be written at the last attempt."),
        "clients": ("gauge", "Clients that are connected."),
        "clients_dropped_total": ("counter", "Clients that took their answers too slowly."),
        "proved": ("gauge", "Whether the action is proved."),
    }
    """The type of each number, and what it is."""

    @property
    def age(self) -> float:
        """Seconds since the host last reported a round; of a new service, since it began."""
        return round(max(0.0, time.monotonic() - self.reported_at), 3)

    @abstractmethod
    def now(self) -> Answer:
        """Return what is played, with what is promised of it and until when."""

    def news(self, before: Snapshot) -> Answer:
        """Return what a subscriber hears of a change.

        Args:
            before: as it was.
        """
        return self.now()

    @abstractmethod
    def status(self) -> Answer:
        """Return what a client should know before anything else."""

    @abstractmethod
    def explain(self, member: object = None) -> Answer:
        """Return why the action may be played.

        Args:
            member: of a fleet, whose.
        """

    def history(self, last: object, member: object = None) -> Answer:
        """Return the last rounds, the newest last.

        Args:
            last: how many.
            member: of a fleet, whose.
        """
        raise NotImplementedError

    def beat(self) -> Answer:
        """Return what a subscriber hears between two rounds."""
        return {"round": self.round, "age": self.age}

    def samples(self) -> Iterator[Sample]:
        """Yield the numbers for a monitor."""
        yield Sample("round", self.round)
        yield Sample("last_round_seconds", self.age)
        yield Sample("journal_bytes", self.bytes)
        yield Sample("journal_writable", float(not self.tallies.failure))
        yield from self.tallies.samples()


def alarm_data(alarm: Alarm) -> Answer:
    """Return an alarm as answers have it."""
    data = alarm._asdict()
    return data | {"level": level_name(alarm.level), "sentence": sentence_of(alarm.sentence)}


def explanation_data(why: Explanation) -> Answer:
    """Return an explanation as answers have it."""
    return {
        "text": str(why),
        "is_proven": bool(why.is_proven),
        "bound": json_plain(why.bound),
        "slack": json_plain(why.slack),
        "regret_bound": json_plain(why.regret_bound),
        "guarantee": str(why.guarantee or why.unproved),
        "promises": why.promises.theorems(),
        "certificate": json_plain(name_parts(why.certificate)),
        "broken": [b.sentence for b in why.broken],
    }
