"""What a service does with a request, whatever it serves: orders change the loop, reads do not.

One thread carries out orders and keeps the deadline; every thread may read the snapshot. How lines
come and go is :mod:`surefoot.controller.service.daemon`.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

from surefoot import __version__
from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.service import protocol
from surefoot.controller.service.ages import JournalSize
from surefoot.controller.service.protocol import LONGEST, PROTOCOL, Answer
from surefoot.controller.service.snapshot import Snapshot, Tallies, alarm_data
from surefoot.core.errors import InvalidValueError, StoreError
from surefoot.core.plain import PlainTable

__all__ = ["Clock", "Service", "orders_of"]

_ORDERS = ("ask", "tell", "announce", "note", "hold", "retreat", "resume")
_HALTS = ("hold", "retreat", "resume")
_NO_JSON = ("player", "start")  # what a program in another language has not
_ALARMS = 100
"""How many alarms wait for an answer; older ones are in the journal and in the log."""


@dataclass
class Clock:
    """When a loop was last heard of, by the monotonic clock.

    Attributes:
        member: of a fleet, whose clock it is; empty for a single loop.
        reported_at: when the host last reported a round.
        due_since: since when the deadline runs.
    """

    member: str
    reported_at: float
    due_since: float

    @property
    def is_silent(self) -> bool:
        """Whether the service itself took the last round as missing."""
        return self.due_since > self.reported_at


class Service(ABC):
    """Answers requests; a subclass says what a loop takes and tells.

    Args:
        on_alarm: who else hears of alarms.
        deadline: after so many seconds without a report a round counts as missing; None for never.
        journal: the path of the journal, whose size is told; None for none.

    Attributes:
        reads: the requests that change nothing, with what they take and the defaults.
        orders: those that change the loop.
        snapshot: of the loop as it is; readers need no lock for it.
        clocks: of the loop, or of each member.
    """

    longest: ClassVar[int] = LONGEST
    snapshot: Snapshot

    def __init__(
        self,
        on_alarm: OnAlarm | None = None,
        deadline: float | None = None,
        journal: Path | None = None,
    ) -> None:
        self.reads: dict[str, PlainTable] = {"hello": {"token": None}, "status": {}, "explain": {}}
        self.orders: dict[str, PlainTable] = {}
        self.deadline = deadline
        self._listener = on_alarm
        self._tallies = Tallies()
        self._alarms: deque[Answer] = deque(maxlen=_ALARMS)
        self._events: list[Answer] = []
        self._asker: object = None  # the client that asked for the action of this round
        self.clocks: list[Clock] = []
        self.set_clocks([""])
        self._size = JournalSize(journal)

    @property
    def commands(self) -> dict[str, PlainTable]:
        """What each command takes, with the defaults."""
        return self.reads | self.orders

    def answer(self, line: bytes) -> str:
        """Return the answer to a line of the only client, without an end of line.

        No line makes it raise.
        """
        head: Answer = {}
        try:
            request = protocol.parse(line, self.longest)
            head = protocol.take_id(request)
            name, fields = protocol.check_keys(request, self.commands)
            if name in self.reads:
                self.refresh()
                answer = {"ok": True, **head, **self.read(name, fields)}
            else:
                answer = self.carry_out(head, name, fields)
        except Exception as error:
            answer = protocol.reject(head, error, self.round)
        return protocol.encode(answer)[:-1].decode("ascii")

    # --- orders: of the worker thread alone ------------------------------------------------------

    def carry_out(
        self, head: Answer, name: str, fields: PlainTable, client: object = None
    ) -> Answer:
        """Return the answer to an order, with the alarms since the last one; it never raises.

        Args:
            head: the id of the request.
            name: of the order.
            fields: what it takes.
            client: who orders it.
        """
        began = time.monotonic()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                reply = self._carry_out(name, fields, client, began)
            answer = {"ok": True, **head, "round": self.round, **reply}
            if caught:
                answer["warnings"] = [protocol.sentence_of(w.message) for w in caught]
        except Exception as error:
            if isinstance(error, StoreError):
                self._tallies.failure = protocol.sentence_of(error)
            answer = protocol.reject(head, error, self.round)
        if name != "ask":
            self.publish(is_news=bool(answer["ok"]) and name != "note")
        if self._alarms and (name != "retreat" or client is self._asker):  # they are the host's
            answer["alarms"] = list(self._alarms)
            self._alarms.clear()
        return answer

    def _carry_out(self, name: str, fields: PlainTable, client: object, began: float) -> Answer:
        if name == "tell":
            self.check_deadline()  # who reports later than that has to ask again
            self._check_asker(client)
        reply = self.obey(name, fields)
        if name == "ask":
            self._asker = client
        else:
            self._tallies.failure = ""
        if name == "tell":
            now = time.monotonic()
            self._tallies.tell_seconds += now - began
            self._tallies.tells += 1
            names = self.heard_of(reply)
            for clock in self.clocks:
                if clock.member in names:
                    clock.reported_at = clock.due_since = now
        return reply

    def _check_asker(self, client: object) -> None:
        """Raise unless this client knows the action that it reports about."""
        if self._asker is not client:
            raise InvalidValueError(
                "tell must come after ask: this client has not asked for the action of round "
                f"{self.round}"
            )

    def check_deadline(self) -> float:
        """Take a round as missing if its deadline has passed; return the seconds until the next."""
        if self.deadline is None:
            return 3600.0
        now = time.monotonic()
        wait = min(clock.due_since for clock in self.clocks) + self.deadline - now
        if wait > 0.0:
            return wait
        late = [clock for clock in self.clocks if clock.due_since + self.deadline <= now]
        alarms = [self._find_words(clock, now) for clock in late]
        try:
            self.miss([clock.member for clock in late])
        except Exception as error:
            if isinstance(error, StoreError):
                self._tallies.failure = protocol.sentence_of(error)
            words = f"; it could not be recorded: {protocol.sentence_of(error)}"
            alarms = [alarm._replace(sentence=alarm.sentence + words) for alarm in alarms]
        for clock in late:
            clock.due_since = now
        self._asker = None  # whoever reports next has seen the set points that follow
        emit(alarms, self.hear)
        self.publish()
        return self.deadline

    def _find_words(self, clock: Clock, now: float) -> Alarm:
        """Return the alarm of a round that nobody has reported."""
        t = self.round_of(clock.member)
        name = f"member {clock.member}: " if clock.member else ""
        silence = now - clock.reported_at
        words = f"{name}round {t}: nobody reported for {silence:.3g} s, it counts as missing"
        return Alarm.of(t, "deadline", words)

    def set_clocks(self, names: Sequence[str]) -> None:
        """Let the deadlines of members begin now.

        Args:
            names: of the members; one empty name for a single loop.
        """
        now = time.monotonic()
        self.clocks = [Clock(name, now, now) for name in names]

    def round_of(self, member: str) -> int:
        """Return the current round of a member; of a single loop its name is empty."""
        return self.round

    def heard_of(self, reply: Answer) -> Sequence[str]:
        """Return the members that a report has advanced.

        Args:
            reply: the answer to the report.
        """
        return [""]

    def take_events(self) -> list[Answer]:
        """Return what subscribers hear of since the last call."""
        events, self._events = self._events, []
        return events

    def hear(self, alarm: Alarm) -> None:
        """Keep an alarm for the next answer and for subscribers, and pass it on."""
        data = alarm_data(alarm)
        self._tallies.count_alarm(alarm)
        self._alarms.append(data)
        self._events.append({"event": "alarm", **data})
        if self._listener is not None:
            self._listener(alarm)

    def refresh(self) -> None:
        """Let readers see the loop as it is now."""
        self.snapshot = self.look()

    def publish(self, *, is_news: bool = True) -> None:
        """Let readers see what has changed, and subscribers hear of it.

        Args:
            is_news: whether subscribers hear of it.
        """
        before = self.snapshot
        self.refresh()
        if is_news:
            self._events.append({"event": "round", **self.snapshot.news(before)})

    @property
    @abstractmethod
    def round(self) -> int:
        """The current round."""

    @abstractmethod
    def obey(self, name: str, fields: PlainTable) -> Answer:
        """Carry out an order and return what its answer has beside the round.

        Args:
            name: of the order.
            fields: what it takes.
        """

    @abstractmethod
    def miss(self, names: list[str]) -> None:
        """Take the current rounds of members as some without a measurement.

        Args:
            names: of the members; one empty name for a single loop.
        """

    @abstractmethod
    def look(self) -> Snapshot:
        """Return the loop as it is now."""

    def look_around(self) -> tuple[int, Tallies, float, int]:
        """Return what every snapshot begins with."""
        reported = min((clock.reported_at for clock in self.clocks), default=time.monotonic())
        return self.round, self._tallies.copy(), reported, self._size.bytes()

    @abstractmethod
    def close(self) -> None:
        """Close the journal."""

    # --- reads: of any thread --------------------------------------------------------------------

    def read(self, name: str, fields: PlainTable) -> Answer:
        """Return the answer to a request that changes nothing.

        Args:
            name: of the request.
            fields: what it takes.
        """
        snapshot = self.snapshot
        if name == "hello":
            return {"round": snapshot.round, **self.greeting(), **snapshot.status()}
        fields = {key: value for key, value in fields.items() if key != "token"}
        answer: Answer = getattr(snapshot, name)(**fields)
        return {"round": snapshot.round, **answer}

    def greeting(self) -> Answer:
        """Return what never changes while a service runs."""
        return {
            "protocol": PROTOCOL,
            "surefoot": __version__,
            "longest": self.longest,
            "commands": list(self.commands),
        }

    def find_illness(self) -> str:
        """Return in a sentence why the service is not healthy; empty if it is."""
        snapshot = self.snapshot
        if snapshot.tallies.failure:
            return snapshot.tallies.failure
        if self.deadline is not None and snapshot.age > 2 * self.deadline:
            return f"nobody has reported a round for {snapshot.age:.0f} s"
        return ""


def orders_of(loop: Any) -> dict[str, PlainTable]:
    """Return what each order takes that JSON has, with its defaults; None where it has none."""
    orders: dict[str, PlainTable] = {}
    for name in _ORDERS:
        parameters = signature(getattr(loop, name)).parameters.values()
        defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
        orders[name] = {key: value for key, value in defaults.items() if key not in _NO_JSON}
        if name in _HALTS:
            orders[name]["reason"] = "ordered"
    return orders
