"""A plant behind lines of JSON: set points and readings by name, in engineering units."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.machine import RoundEvent
from surefoot.controller.plant import Plant
from surefoot.controller.service.ages import JournalSize, seconds_since_round
from surefoot.controller.service.protocol import Answer
from surefoot.controller.service.serving import Service, orders_of
from surefoot.controller.service.snapshot import Sample, Snapshot
from surefoot.controller.service.views import (
    AWAY,
    HELPS,
    LAST,
    SERVICE,
    Keeper,
    MachineView,
    deadline_of,
)
from surefoot.core import checks
from surefoot.core.plain import PlainTable
from surefoot.problems.plant import read_plant

__all__ = ["PlantService"]


@dataclass(frozen=True)
class PlantSnapshot(Snapshot):
    """A plant at one moment.

    Attributes:
        view: of the plant.
    """

    view: MachineView

    helps: ClassVar[Mapping[str, tuple[str, str]]] = {**Snapshot.helps, **HELPS}

    def now(self) -> Answer:
        """Return the set points, whether they are certified, and until when."""
        return self.view.now()

    def beat(self) -> Answer:
        """Return what a subscriber hears between two rounds."""
        return {**super().beat(), **self.view.validity()}

    def status(self) -> Answer:
        """Return the plant, what it does and what is promised."""
        return {"plant": self.view.plant.name, "age": self.age, **self.view.status()}

    def explain(self, member: object = None) -> Answer:
        """Return why the set points may be used."""
        return self.view.explain()

    def history(self, last: object, member: object = None) -> Answer:
        """Return the last rounds, the newest last."""
        return self.view.history(last)

    def samples(self) -> Iterator[Sample]:
        """Yield the numbers for a monitor."""
        yield from super().samples()
        yield from self.view.samples({})


class PlantService(Service):
    """Answers requests with the plant of a file.

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
        self._path = path
        self._plant = Plant.open(
            path, journal=journal, at_least=at_least, on_alarm=self.hear, on_round=self._hear_round
        )
        try:
            self._set_up(path, journal)
        except BaseException:
            self._plant.close()
            raise

    def _set_up(self, path: Path, journal: Path | None) -> None:
        """Take from the plant file what a service needs."""
        plant = self._plant.description
        file = file_of(path, journal, plant.journal)
        self._size = JournalSize(file)
        age = seconds_since_round(file) if self.round > 1 else 0.0
        self._keeper = Keeper(self._plant.machine, self.round, age)
        self.deadline = self._keeper.deadline
        if self._keeper.lost_count(age):
            self._return_to_start(age)
        self.reads["history"] = {"last": LAST}
        self.orders = orders_of(self._plant)
        self.orders["tell"]["round"] = None
        if plant.service.can_amend:
            self.orders["amend"] = {"by": None, "reason": None}
        self.refresh()

    @property
    def round(self) -> int:
        """The current round."""
        return self._plant.round

    def obey(self, name: str, fields: PlainTable) -> Answer:
        """Carry out an order."""
        if name == "ask":
            loop = self._plant.controller.loop
            self._plant.ask()
            if self._plant.controller.loop is not loop:  # the context is unknown, or it recovered
                self.publish()
            return self.snapshot.now()
        if name == "amend":
            plant = read_plant(self._path)
            deadline = deadline_of(plant)  # or raise, before anything has changed
            self._plant.amend(plant, **fields)
            self.deadline = deadline
            return {}
        words = ""
        if name == "tell":
            check_round(fields.pop("round"), self.round)
            words = self._keeper.find_lateness()
        getattr(self._plant, name)(**fields)
        if words:
            emit([Alarm.of(self.round, "deadline", words, logging.WARNING)], self.hear)
        return {}

    def miss(self, names: list[str]) -> None:
        """Take the current round as one without a measurement."""
        if not self.clocks[0].is_silent:
            self._plant.note("deadline: rounds count as missing until somebody reports one")
        if self._keeper.has_lost_count:
            self._return_to_start(self._keeper.lasted)
        for _ in range(self._keeper.count_rounds()):
            self._miss_one()

    def _miss_one(self) -> None:
        self._keeper.is_missing = True
        try:
            self._plant.ask()
            self._plant.tell(missing=True)
        finally:
            self._keeper.is_missing = False

    def _return_to_start(self, age: float) -> None:
        """Go to the start where nobody counted the rounds in which a limit changed.

        Args:
            age: the seconds since the last one that was counted.
        """
        plant = self._plant

        def begin_anew() -> None:
            plant.begin_anew(by=SERVICE, reason=AWAY)

        if not plant.controller.loop.is_refuted:
            self._keeper.lead_to_start(age, begin_anew, self._miss_one, plant.retreat)

    def look(self) -> PlantSnapshot:
        """Return the plant as it is now."""
        plant, controller = self._plant, self._plant.controller
        view = self._keeper.view(plant.machine, controller.run, controller.loop)
        return PlantSnapshot(*self.look_around(), view)

    def _hear_round(self, event: RoundEvent) -> None:
        self._tallies.count_round(self._keeper.hear(event, self._plant.machine))

    def close(self) -> None:
        """Close the journal."""
        self._plant.close()


def check_round(t: Any, current: int) -> None:
    """Raise if a report names another round than the current one."""
    if t is not None and (isinstance(t, bool) or t != current):
        raise checks.invalid("round", f"the current one, {current}", t)


def file_of(path: Path, journal: Path | None, name: str | None) -> Path:
    """Return the path of the journal of a plant file, which a service must have.

    Args:
        path: of the plant file.
        journal: that of an option.
        name: that of the file.
    """
    if journal is None and name is None:
        raise checks.invalid("journal", "given, in the plant file or by --journal", None)
    return path.parent / str(name) if journal is None else journal
