"""The fleet of a plant file behind lines of JSON: every request and answer is by member."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.machine import RoundEvent
from surefoot.controller.plant_fleet import PlantFleet
from surefoot.controller.service.ages import JournalSize, seconds_since_round
from surefoot.controller.service.plants import check_round, file_of
from surefoot.controller.service.protocol import Answer, show
from surefoot.controller.service.serving import Service
from surefoot.controller.service.snapshot import Sample, Snapshot
from surefoot.controller.service.views import AWAY, HELPS, LAST, SERVICE, Keeper, MachineView
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.plain import PlainTable

__all__ = ["PlantFleetService"]


@dataclass(frozen=True)
class FleetSnapshot(Snapshot):
    """A fleet at one moment.

    Attributes:
        name: of the plant.
        views: of the members, by name.
    """

    name: str
    views: Mapping[str, MachineView]

    helps: ClassVar[Mapping[str, tuple[str, str]]] = {**Snapshot.helps, **HELPS}

    def now(self) -> Answer:
        """Return the set points of every member, whether they are certified, and until when."""
        members = {name: view.now() for name, view in self.views.items()}
        return {"round": self.round, "members": members}

    def news(self, before: Snapshot) -> Answer:
        """Return what a subscriber hears of: the members that changed."""
        views = before.views if isinstance(before, FleetSnapshot) else {}
        members = {
            name: view.now()
            for name, view in self.views.items()
            if name not in views
            or (view.round, view.set_points) != (views[name].round, views[name].set_points)
        }
        return {"round": self.round, "members": members}

    def beat(self) -> Answer:
        """Return what a subscriber hears between two rounds."""
        members = {n: {"round": v.round, **v.validity()} for n, v in self.views.items()}
        return {**super().beat(), "members": members}

    def status(self) -> Answer:
        """Return every member, what it does and what is promised."""
        members = {name: view.status() for name, view in self.views.items()}
        return {"plant": self.name, "age": self.age, "members": members}

    def explain(self, member: object = None) -> Answer:
        """Return why the set points of a member may be used."""
        return self._view(member).explain()

    def history(self, last: object, member: object = None) -> Answer:
        """Return the last rounds of a member, the newest last."""
        return self._view(member).history(last)

    def _view(self, member: object) -> MachineView:
        if not isinstance(member, str) or member not in self.views:
            names = ", ".join(list(self.views)[:10])
            raise InvalidValueError(f"member must be one of {names}, got {show(member)}")
        return self.views[member]

    def samples(self) -> Iterator[Sample]:
        """Yield the numbers for a monitor."""
        yield from super().samples()
        for name, view in self.views.items():
            yield from view.samples({"member": name})


class PlantFleetService(Service):
    """Answers requests with the members of a plant file.

    Args:
        path: of the plant file.
        journal: the path of its journal; that of the file unless given.
        at_least: the minimum number of rounds that the journal must contain.
        on_alarm: who else hears of alarms.

    Raises:
        PlantFileError: for a file with mistakes.
        PlantChangedError: if the journal is that of another plant.
        StoreError: if the journal cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        journal: Path | None = None,
        at_least: int = 0,
        on_alarm: OnAlarm | None = None,
    ) -> None:
        super().__init__(on_alarm)
        self._fleet = PlantFleet.open(
            path, journal=journal, at_least=at_least, on_alarm=self.hear, on_round=self._hear_round
        )
        try:
            self._set_up(path, journal)
        except BaseException:
            self._fleet.close()
            raise

    def _set_up(self, path: Path, journal: Path | None) -> None:
        """Take from the plant file what a service needs."""
        plant = self._fleet.description
        file = file_of(path, journal, plant.journal)
        self._size = JournalSize(file)
        # A call has some members: nothing says when the round of each began.
        self._keepers = {
            name: Keeper(self._fleet.machine(name), t, 0.0 if t == 1 else math.inf)
            for name, t in self._fleet.rounds.items()
        }
        self.deadline = max(keeper.deadline for keeper in self._keepers.values())
        self.set_clocks(list(self._fleet.names))
        # While a service runs, each member has a round in every deadline.
        age = seconds_since_round(file) + self.deadline
        for name, keeper in self._keepers.items():
            if self._fleet.rounds[name] > 1 and keeper.lost_count(math.inf):
                self._return_to_start(name, age)
        self.reads["explain"] = {"member": None}
        self.reads["history"] = {"last": LAST, "member": None}
        halt: PlainTable = {"reason": "ordered", "members": None}
        self.orders = {
            "ask": {},
            "tell": {"members": None},
            "announce": {"members": None},
            "note": {"text": None},
            **{name: dict(halt) for name in ("hold", "retreat", "resume")},
        }
        self.refresh()

    @property
    def round(self) -> int:
        """The current round of the member that is furthest."""
        return max(self._fleet.rounds.values())

    def round_of(self, member: str) -> int:
        """Return the current round of a member."""
        return self._fleet.rounds[member]

    def obey(self, name: str, fields: PlainTable) -> Answer:
        """Carry out an order."""
        if name == "ask":
            return self._ask()
        if name == "tell":
            return self._tell(fields["members"])
        if name == "announce":
            self._fleet.announce(_by_member(fields["members"]))
            return {}
        if name == "note":
            self._fleet.note(**fields)
            return {}
        getattr(self._fleet, name)(**fields)
        return {}

    def _ask(self) -> Answer:
        loops = self._loops()
        self._fleet.ask()
        if any(a is not b for a, b in zip(loops, self._loops(), strict=True)):
            self.publish()  # a context is unknown, or a member recovered
        return self.snapshot.now()

    def _loops(self) -> list[Any]:
        return [self._fleet.fleet.get(name)[1] for name in self._fleet.names]

    def _tell(self, members: object) -> Answer:
        """Report what members read; what is wrong with one is the answer of that one alone."""
        rounds, reports = self._fleet.rounds, {}
        answers: dict[str, str | None] = {}
        for name, report in _by_member(members).items():
            if not isinstance(report, Mapping) or name not in rounds:
                reports[name] = report  # which the fleet rejects in its words
                continue
            fields = dict(report)
            try:
                check_round(fields.pop("round", None), rounds[name])
                reports[name] = fields
            except InvalidValueError as error:
                answers[name] = str(error)
        late = [words for name in reports if (words := self._find_lateness(name))]
        answers |= self._fleet.tell(reports) if reports else {}
        emit(
            [Alarm.of(self.round, "deadline", words, logging.WARNING) for words in late], self.hear
        )
        rounds = self._fleet.rounds
        return {
            "members": {
                name: {"ok": True, "round": rounds[name]}
                if words is None
                else {"ok": False, "kind": "invalid", "error": words, "round": rounds[name]}
                for name, words in answers.items()
            }
        }

    def _find_lateness(self, name: str) -> str:
        """Return why the constants of a member do not cover its round as it lasted."""
        keeper = self._keepers.get(name)
        words = "" if keeper is None else keeper.find_lateness()
        return f"member {name}: {words}" if words else ""

    def heard_of(self, reply: Answer) -> Sequence[str]:
        """Return the members that a report has advanced."""
        return [name for name, answer in reply["members"].items() if answer["ok"]]

    def miss(self, names: list[str]) -> None:
        """Take the current rounds of members as some without a measurement."""
        silent = {clock.member for clock in self.clocks if clock.is_silent}
        if late := [name for name in names if name not in silent]:
            words = ", ".join(late)
            self._fleet.note(f"deadline: rounds of {words} are missing until they are reported")
        for name in names:
            if self._keepers[name].has_lost_count:
                self._return_to_start(name, self._keepers[name].lasted)
        counts = {name: self._keepers[name].count_rounds() for name in names}
        while counts:
            self._miss_one(list(counts))
            counts = {name: count - 1 for name, count in counts.items() if count > 1}

    def _miss_one(self, names: Sequence[str]) -> None:
        """Take the current rounds of members as missing, in one call."""
        for name in names:
            self._keepers[name].is_missing = True
        try:
            self._fleet.ask()
            self._fleet.tell({name: {"missing": True} for name in names})
        finally:
            for name in names:
                self._keepers[name].is_missing = False

    def _return_to_start(self, name: str, age: float) -> None:
        """Let a member go to its start where nobody counted its rounds, as a plant does."""
        fleet = self._fleet
        if not fleet.fleet.get(name)[1].is_refuted:
            self._keepers[name].lead_to_start(
                age,
                lambda: fleet.begin_anew(name, by=SERVICE, reason=AWAY),
                lambda: self._miss_one([name]),
                lambda reason: fleet.retreat(reason, (name,)),
            )

    def look(self) -> FleetSnapshot:
        """Return the fleet as it is now."""
        fleet, views = self._fleet, {}
        for name in fleet.names:
            views[name] = self._keepers[name].view(fleet.machine(name), *fleet.fleet.get(name))
        return FleetSnapshot(*self.look_around(), fleet.description.name, views)

    def _hear_round(self, event: RoundEvent) -> None:
        name = event.member or ""
        self._tallies.count_round(self._keepers[name].hear(event, self._fleet.machine(name)))

    def close(self) -> None:
        """Close the journal."""
        self._fleet.close()


def _by_member(members: object) -> dict[str, Any]:
    if not isinstance(members, dict):
        raise checks.invalid("members", 'a table by member, such as {"p1": {...}}', members)
    return members
