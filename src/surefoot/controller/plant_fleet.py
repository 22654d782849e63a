"""A fleet of a plant file: named machines, each with constants, a start and rounds of its own.

A file with ``[member.NAME]`` tables is a fleet. Every member is the plant of the file with values
of its own, and has its own rounds, policies and recoveries. One journal has all of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from surefoot.controller.alarms import LOGGER, Alarm, OnAlarm
from surefoot.controller.explanation import Explanation
from surefoot.controller.fleet import Fleet
from surefoot.controller.journal import now
from surefoot.controller.live import Amendment
from surefoot.controller.loop import LoopState, Run, check_text
from surefoot.controller.machine import Machine, PlantReport
from surefoot.controller.plant import (
    Difference,
    OnRound,
    journal_of,
    need_journal,
    refuse_changes,
)
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, StoreError
from surefoot.core.types import FloatArray
from surefoot.guarantees import Promises
from surefoot.problems.plant import PlantDescription, read_plant
from surefoot.problems.plant.player import has_rows

__all__ = ["PlantFleet"]

_FIELDS = (*("readings", "wanted", "cost_slopes", "slopes", "played", "context", "missing"),)
"""What a member may report, as :meth:`Plant.tell`."""


class PlantFleet:
    """Named machines of one plant file in a live loop, with one journal.

    Members are told by name, any of them in any order; each has a round of its own. A report that
    cannot be used is the answer of its member alone, and stops no other.

    Attributes:
        fleet: the loops in the numbers of the rule.

    Example:
        >>> from dataclasses import replace
        >>> from surefoot.problems.plant import (
        ...     ActuatorDescription, LimitDescription, PlantConstant, PlantDescription
        ... )
        >>> speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
        >>> pressure = LimitDescription(
        ...     "pressure", "bar", 2.5, "at_least", PlantConstant(0.02), PlantConstant(0.5),
        ...     steepness={"speed": PlantConstant(0.12)},
        ... )
        >>> pump = PlantDescription("pumps", 1.0, (speed,), (pressure,))
        >>> fleet = PlantFleet.of(replace(pump, members={"p1": pump, "p2": pump}))
        >>> fleet.ask()
        {'p1': {'speed': 50.0}, 'p2': {'speed': 50.0}}
        >>> fleet.tell({"p2": {"readings": {"pressure": 3.1}, "wanted": {"speed": 25.0}}})
        {'p2': None}
        >>> fleet.rounds
        {'p1': 1, 'p2': 2}
    """

    __slots__ = (
        "_alarms",
        "_machines",
        "_on_alarm",
        "_on_round",
        "_places",
        "description",
        "fleet",
    )

    fleet: Fleet
    description: PlantDescription

    def __init__(
        self,
        fleet: Fleet,
        plant: PlantDescription,
        machines: Mapping[str, Machine],
        on_round: OnRound | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> None:
        self.fleet, self.description, self._machines = fleet, plant, dict(machines)
        self._on_round, self._on_alarm = on_round, on_alarm
        self._alarms: list[Alarm] = []
        self._places: dict[str, FloatArray | None] = {
            name: machine.context_of(fleet.get(name)[1]) for name, machine in machines.items()
        }
        fleet.on_alarm = self._take_alarm

    @classmethod
    def of(
        cls,
        plant: PlantDescription,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_round: OnRound | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Return a fleet before its first round; the arguments are those of :meth:`Plant.of`."""
        _need_members(plant)
        members = plant.members.items()
        # Columns have as many limits for each member.
        one_limit = not all(has_rows(each) for each in plant.members.values())
        machines = {name: Machine.of(each, one_limit=one_limit) for name, each in members}
        runs = {name: machine.run() for name, machine in machines.items()}
        fleet = Fleet.of_runs(runs, journal=journal, rotate=plant.service.rotate)
        return cls(fleet, plant, machines, on_round, on_alarm)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        journal: str | os.PathLike[str] | None = None,
        at_least: int = 0,
        on_round: OnRound | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Go on from the journal of a plant file with members, or begin it; see :meth:`Plant.open`.

        Members of the journal and of the file must be the same: :meth:`add` and :meth:`remove`
        change them, and the file with them.
        """
        plant = read_plant(Path(path))
        _need_members(plant)
        where = journal_of(path, plant, journal)
        if where is None or not where.exists():
            if at_least:
                raise InvalidValueError(f"at_least must be 0 without a journal, got {at_least}")
            return cls.of(plant, journal=where, on_round=on_round, on_alarm=on_alarm)
        machines: dict[str, Machine] = {}

        def accept(runs: Mapping[str, Run]) -> None:
            machines.update(_machines_of(runs, plant))
            refuse_changes(Path(path), where, _find_differences(machines, plant))

        fleet = Fleet.continue_runs(where, accept, at_least=at_least, on_alarm=on_alarm)
        return cls(fleet, plant, machines, on_round, on_alarm)

    @classmethod
    def amending(
        cls,
        path: str | os.PathLike[str],
        *,
        by: str,
        reason: str,
        journal: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Go on from the journal of an edited plant file, by what the file says now.

        Members that changed begin anew at their starts; new ones come, and others leave.

        Args:
            path: of the plant file.
            by: whose change it is, in words.
            reason: in words.
            journal: path of the journal; that of the file unless given.
        """
        plant = read_plant(Path(path))
        _need_members(plant)
        machines: dict[str, Machine] = {}

        def accept(runs: Mapping[str, Run]) -> None:
            machines.update(_machines_of(runs, plant))
            if not _find_differences(machines, plant):
                raise InvalidValueError("amend must change the plant, got the same description")
            for name in machines.keys() & plant.members.keys():
                if machines[name].difference(plant.members[name]):
                    machines[name].amend(plant.members[name], by, reason)

        check_text(by, "by")
        check_text(reason, "reason")
        where = need_journal(path, plant, journal)
        opened = cls(Fleet.continue_runs(where, accept), plant, machines)
        try:
            opened._amend_all(by, reason)
        except BaseException:
            opened.close()
            raise
        return opened

    def _amend_all(self, by: str, reason: str) -> None:
        """Let the members be those of the file; nothing has changed where one may not."""
        members = self.description.members
        found = {
            name: self._plan(name, members[name], by, reason)
            for name in self.names
            if name in members and self._machines[name].difference(members[name])
        }
        for name, plant in members.items():
            if name not in self.names:
                self.add(name, plant, reason=f"{reason} ({by})")
        for name in self.names:
            if name not in members:
                self.remove(name, reason=f"{reason} ({by})")
        if found:
            self._amend(found)

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return self.fleet.names

    @property
    def rounds(self) -> dict[str, int]:
        """The current round of each member."""
        return self.fleet.rounds

    @property
    def halted(self) -> dict[str, str]:
        """The members that are halted, and why."""
        return self.fleet.halted

    def machine(self, member: str) -> Machine:
        """Return what is known of a member: its description, units and recoveries."""
        if member not in self._machines:
            self.fleet.get(member)  # which says that it is none
        return self._machines[member]

    def ask(self) -> dict[str, dict[str, float]]:
        """Return the set points of every member; each is the same until it is told."""
        waiting = [n for n in self.names if self.fleet.get(n)[1].awaits_context]
        if waiting:
            self.fleet.announce(unknown=True, members=waiting)
        self._recover(self.names)
        actions = self.fleet.ask()
        pairs = zip(self.names, actions, strict=True)
        return {name: self._machines[name].name_set_points(action) for name, action in pairs}

    def tell(self, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
        """Report what members read, and advance them.

        Args:
            reports: by member, the arguments of :meth:`Plant.tell`.

        Returns:
            By member, None, or why its report was rejected: then it may report again.

        Raises:
            InvalidValueError: for names that are none, or no tables; nothing has changed then.
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        answers, usable = self._read_reports(reports)
        if not usable:
            return answers
        before = {name: self.fleet.get(name) for name in usable}
        time = now()
        self._alarms = []
        columns = self._columns(usable, before)
        contexts = [report.context for report in usable.values()]
        if any(place is not None for place in contexts):
            columns["context"] = contexts
        self.fleet.tell(members=list(usable), **columns)
        for name, report in usable.items():
            self._places[name] = report.context
            self._machines[name].remember(before[name][1], report)
            self._emit(name, report.alarms)
        with suppress(StoreError):  # the rounds are told; ask() recovers again
            self._recover(tuple(usable))
        for name, report in usable.items():
            self._end_round(name, *before[name], report, time)
        return answers

    def announce(self, contexts: Mapping[str, Mapping[str, float | None]]) -> None:
        """Announce the contexts of members' current rounds before they are played: ask again."""
        names = _in_order(self.names, contexts)
        read = {name: self.machine(name).read_context(contexts[name]) for name in names}
        places = {name: place for name, (place, _) in read.items() if place is not None}
        if unknown := [name for name in names if name not in places]:
            self.fleet.announce(unknown=True, members=unknown)
        if places:
            self.fleet.announce(context=list(places.values()), members=list(places))
        for name in names:
            self._places[name] = places.get(name)
        for name in unknown:
            t, words = self.rounds[name], read[name][1]
            self._emit(name, (Alarm.of(t, "context", f"round {t}: {words or 'no context'}"),))
        self._recover(tuple(names))

    def explain(self, member: str) -> Explanation:
        """Return why the set points of a member may be used, as :meth:`Plant.explain`."""
        return self.machine(member).explain(self.fleet.explain(member))

    def promises(self, member: str) -> Promises:
        """Return what is promised of a member, in three parts."""
        return self.machine(member).promises

    def bounds(self, member: str) -> dict[str, float]:
        """Return what is certified of each limit of a member at its set points, in its unit."""
        return self.machine(member).name_bounds(self.fleet.explain(member))

    # --- what an operator orders -----------------------------------------------------------------

    def hold(self, reason: str, members: tuple[str, ...] | None = None) -> None:
        """Keep the set points of members until :meth:`resume`; of all unless named."""
        self.fleet.hold(reason, members)

    def retreat(self, reason: str, members: tuple[str, ...] | None = None) -> None:
        """Let members go back to their starts, and stay there until :meth:`resume`."""
        self.fleet.retreat(reason, members)

    def resume(self, reason: str, members: tuple[str, ...] | None = None) -> None:
        """Let members go on after an order, as :meth:`Plant.resume`."""
        for name in self.names if members is None else members:
            self.machine(name).check_resume(self.fleet.get(name)[1])
        self.fleet.resume(reason, members)

    def note(self, text: str) -> None:
        """Write an operator's note to the journal; nothing else changes."""
        self.fleet.note(text)

    def amend(self, member: str, plant: PlantDescription, *, by: str, reason: str) -> None:
        """Change what is known of a member, in the same journal: it begins anew at its start."""
        check_text(by, "by")
        check_text(reason, "reason")
        self._amend({member: self._plan(member, plant, by, reason)})

    def _plan(
        self, member: str, plant: PlantDescription, by: str, reason: str
    ) -> tuple[Machine, Amendment]:
        """Return what an amendment of a member would be; raise if it may not be."""
        before = self.machine(member)
        after, amendment = before.amend(plant, by, reason)
        if after.has_rows != before.has_rows:
            raise InvalidValueError(
                "amend must keep every limit of a member in a column of its own, got a plant whose "
                "limits count as one: with contexts or changes, Theorem R has a ramp for one limit"
            )
        before.refuse_jump(self.fleet.get(member)[1], plant)
        return after, amendment

    def begin_anew(self, member: str, *, by: str, reason: str) -> None:
        """Let a member begin anew at its start; see :meth:`Plant.begin_anew`."""
        loop = self.fleet.get(member)[1]
        self._amend({member: self.machine(member).begin_anew(loop, by, reason)})

    def add(self, name: str, plant: PlantDescription, *, reason: str) -> None:
        """Let a member come: its first round is the next.

        Args:
            name: none that a member has.
            plant: its description, with the actuators, contexts and limits of the others.
            reason: in words, for the journal.
        """
        machine = Machine.of(plant, one_limit=self.fleet.limits is None)
        self.fleet.add_run(name, machine.run(), reason)
        self._machines[name], self._places[name] = machine, None

    def remove(self, name: str, *, reason: str) -> None:
        """Let a member leave."""
        self.fleet.remove(name, reason)
        del self._machines[name], self._places[name]

    def close(self) -> None:
        """Close the journal, so that others can open it."""
        self.fleet.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PlantFleet {self.description.name!r} of {len(self._machines)} machines>"

    # --- a call ----------------------------------------------------------------------------------

    def _read_reports(
        self, reports: Mapping[str, Mapping[str, Any]]
    ) -> tuple[dict[str, str | None], dict[str, PlantReport]]:
        """Return an answer for each member that is told, and what can be used."""
        answers: dict[str, str | None] = {}
        usable: dict[str, PlantReport] = {}
        for name in _in_order(self.names, reports):
            given: Any = reports[name]
            if not isinstance(given, Mapping) or set(given) - set(_FIELDS):
                rule = f"a table with some of {', '.join(_FIELDS)}"
                raise checks.invalid(f"the report of {name}", rule, given)
            loop = self.fleet.get(name)[1]
            arguments: dict[str, Any] = {**dict.fromkeys(_FIELDS), "missing": False, **given}
            try:
                usable[name] = self._machines[name].read_report(loop, **arguments)
                answers[name] = None
            except InvalidValueError as error:
                answers[name] = str(error)
        return answers, usable

    def _columns(
        self, reports: Mapping[str, PlantReport], before: Mapping[str, tuple[Run, LoopState]]
    ) -> dict[str, Any]:
        """Return the columns of a call, with NaN where nothing was measured."""
        columns: dict[str, Any] = {}
        d, limits = self.fleet.dimension, self.fleet.limits
        several = () if limits is None else (limits,)
        first = next(iter(before.values()))[0].first
        nothing = {"constraint_value": np.full(several, np.nan)}
        nothing |= {first: np.zeros(d), "action": np.full(d, np.nan)}
        if any("constraint_subgradient" in report.arguments for report in reports.values()):
            nothing["constraint_subgradient"] = np.full((*several, d), np.nan)
        if not any("action" in report.arguments for report in reports.values()):
            del nothing["action"]
        for name, otherwise in nothing.items():
            each = [report.arguments.get(name, otherwise) for report in reports.values()]
            columns[name] = np.array(each)
        return columns | {"readings": np.array([r.readings for r in reports.values()])}

    def _recover(self, names: tuple[str, ...]) -> None:
        """Let members begin anew with larger constants where that is due."""
        due: dict[str, tuple[Machine, Amendment]] = {}
        for name in names:
            found = self._machines[name].find_recovery(*self.fleet.get(name))
            if found is not None:
                due[name] = found
        if due:
            self._amend(due)

    def _amend(self, found: Mapping[str, tuple[Machine, Amendment]]) -> None:
        """Let members begin anew; the contexts of their rounds are those of before."""
        self.fleet.amend({name: amendment for name, (_, amendment) in found.items()})
        places: dict[str, FloatArray] = {}
        for name, (machine, _) in found.items():
            self._machines[name] = machine
            place = self._places[name]
            if place is not None and not machine.has_range_for(place):
                place = self._places[name] = None
            if place is not None and self.fleet.get(name)[1].awaits_context:
                places[name] = place
        if places:
            order = _in_order(self.names, places)
            self.fleet.announce(context=[places[n] for n in order], members=order)

    def _take_alarm(self, alarm: Alarm) -> None:
        self._alarms.append(alarm)
        if self._on_alarm is not None:
            self._on_alarm(alarm)

    def _emit(self, member: str, alarms: tuple[Alarm, ...]) -> None:
        for alarm in alarms:
            named = alarm._replace(sentence=f"member {member}: {alarm.sentence}")
            LOGGER.log(named.level, "%s", named.sentence, extra={"alarm": named})
            try:
                self._take_alarm(named)
            except Exception:
                LOGGER.exception("on_alarm failed at: %s", named.sentence)

    def _end_round(
        self, name: str, run: Run, loop: LoopState, report: PlantReport, time: str
    ) -> None:
        """Call ``on_round``; a listener that fails is logged and stops nothing."""
        if self._on_round is None:
            return
        own = [each for each in self._alarms if each.sentence.startswith(f"member {name}:")]
        after = self.fleet.get(name)[1]
        event = self._machines[name].event(name, loop, after, run, report, own, time)
        try:
            self._on_round(event)
        except Exception:
            LOGGER.log(logging.ERROR, "on_round failed in round %d", event.round, exc_info=True)


def _need_members(plant: PlantDescription) -> None:
    if not plant.members:
        raise InvalidValueError("the plant file must have members, got none: open it with Plant")


def _in_order(names: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    """Return the members of a table in their order; raise for one that is none."""
    if not isinstance(table, Mapping):
        raise checks.invalid("reports", "a table by member", table)
    for name in table:
        if name not in names:
            raise InvalidValueError(f"a member must be one of this fleet, got {name!r}")
    return [name for name in names if name in table]


def _machines_of(runs: Mapping[str, Run], plant: PlantDescription) -> dict[str, Machine]:
    """Return the machines of a journal, by what it says of them."""
    members = plant.members
    return {
        name: Machine.of_run(run, members.get(name), one_limit=not run.needs.separately)
        for name, run in runs.items()
    }


def _find_differences(machines: Mapping[str, Machine], plant: PlantDescription) -> list[Difference]:
    """Return how a file differs from its journal: first who is a member in one of them alone."""
    members = plant.members
    others = sorted(machines.keys() ^ members.keys())
    found: list[Difference] = [(f"member.{n}", n in machines, n in members) for n in others]
    for name in machines.keys() & members.keys():
        changed = machines[name].difference(members[name])
        found += [(f"member.{name}.{path}", old, new) for path, old, new in changed]
    return found
