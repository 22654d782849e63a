"""A plant file in a live loop: set points and readings by name, in engineering units."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from surefoot.controller.alarms import LOGGER, Alarm, OnAlarm
from surefoot.controller.controller import Controller
from surefoot.controller.explanation import Explanation
from surefoot.controller.journal import now
from surefoot.controller.live import Amendment
from surefoot.controller.loop import LoopState, Run, check_text
from surefoot.controller.machine import Machine, PlantReport, RoundEvent
from surefoot.core.errors import InvalidValueError, StoreError
from surefoot.core.types import FloatArray
from surefoot.guarantees import Promises
from surefoot.problems.plant import PlantDescription, read_plant

__all__ = ["OnRound", "Plant", "PlantChangedError"]

Difference: TypeAlias = tuple[str, Any, Any]
"""The path of a key, its value in the journal and in the file."""

OnRound: TypeAlias = Callable[[RoundEvent], object]
"""What is called with every round that is over."""


class PlantChangedError(InvalidValueError):
    """A plant file that is not the one of its journal; nothing has changed.

    Attributes:
        differences: the path of each key that differs, its value in the journal and in the file.
    """

    def __init__(self, message: str, differences: tuple[Difference, ...]) -> None:
        super().__init__(message)
        self.differences = differences


class Plant:
    """A plant in a live loop: ``ask`` for set points, use them, ``tell`` what was read.

    :meth:`open` reads a plant file and goes on from its journal, or begins one. What a file says is
    checked before the first round. A file that was edited since is not played: :meth:`amending` or
    ``surefoot amend`` changes what is known, in the same journal. One thread at a time may call it.

    Attributes:
        controller: the loop in the numbers of the rule.

    Example:
        >>> from surefoot.problems.plant import (
        ...     ActuatorDescription, LimitDescription, PlantConstant, PlantDescription
        ... )
        >>> speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
        >>> pressure = LimitDescription(
        ...     "pressure", "bar", 2.5, "at_least", PlantConstant(0.02), PlantConstant(0.5),
        ...     steepness={"speed": PlantConstant(0.12)},
        ... )
        >>> plant = Plant.of(PlantDescription("pumps", 1.0, (speed,), (pressure,)))
        >>> plant.ask()
        {'speed': 50.0}
        >>> plant.tell(readings={"pressure": 3.1}, wanted={"speed": 25.0})
        >>> round(plant.ask()["speed"], 3)  # 0.6 bar above its limit, less 0.02, at 0.12 bar per Hz
        45.167
    """

    __slots__ = ("_alarms", "_machine", "_on_alarm", "_on_round", "_place", "controller")

    controller: Controller

    def __init__(
        self,
        controller: Controller,
        machine: Machine,
        on_round: OnRound | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> None:
        self.controller, self._machine = controller, machine
        self._on_round, self._on_alarm = on_round, on_alarm
        self._alarms: list[Alarm] = []
        # That of the current round, where it is known.
        self._place: FloatArray | None = machine.context_of(controller.loop)
        controller.on_alarm = self._take_alarm

    @classmethod
    def of(
        cls,
        plant: PlantDescription,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_round: OnRound | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Return a plant before its first round.

        Args:
            plant: the description.
            journal: path of a new journal; None for none.
            on_round: a function that is called with every :class:`RoundEvent`.
            on_alarm: likewise with every :class:`Alarm`.
        """
        _refuse_fleet(plant)
        machine = Machine.of(plant)
        controller = Controller.of_run(machine.run(), journal=journal, rotate=plant.service.rotate)
        return cls(controller, machine, on_round, on_alarm)

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
        """Go on from the journal of a plant file, or begin it.

        Args:
            path: of the plant file.
            journal: path of the journal; that of the file unless given.
            at_least: the minimum number of rounds that the journal must contain.
            on_round: as for :meth:`of`.
            on_alarm: likewise.

        Raises:
            PlantFileError: for a file with mistakes.
            PlantChangedError: if the journal is that of another plant.
            StoreError: if the journal cannot be used.
        """
        plant = read_plant(Path(path))
        _refuse_fleet(plant)
        where = journal_of(path, plant, journal)
        if where is None or not where.exists():
            if at_least:
                raise InvalidValueError(f"at_least must be 0 without a journal, got {at_least}")
            return cls.of(plant, journal=where, on_round=on_round, on_alarm=on_alarm)
        machines: list[Machine] = []

        def accept(run: Run) -> None:
            machines.append(Machine.of_run(run, plant))
            refuse_changes(Path(path), where, machines[0].difference(plant))

        controller = Controller.continue_run(where, accept, at_least=at_least, on_alarm=on_alarm)
        return cls(controller, machines[0], on_round, on_alarm)

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

        Args:
            path: of the plant file.
            by: whose change it is, in words.
            reason: in words.
            journal: path of the journal; that of the file unless given.
        """
        plant = read_plant(Path(path))
        _refuse_fleet(plant)
        before: list[Machine] = []

        def accept(run: Run) -> None:
            before.append(Machine.of_run(run, plant))
            before[0].amend(plant, by, reason)  # or raise, before the journal is opened

        check_text(by, "by")
        check_text(reason, "reason")
        where = need_journal(path, plant, journal)
        opened = cls(Controller.continue_run(where, accept), before[0])
        try:
            opened.amend(plant, by=by, reason=reason)
        except BaseException:
            opened.close()
            raise
        return opened

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def description(self) -> PlantDescription:
        """What the plant file says."""
        return self._machine.plant

    @property
    def machine(self) -> Machine:
        """The units, the constants and the recoveries; an amendment replaces them."""
        return self._machine

    @property
    def round(self) -> int:
        """The current round; the first is 1."""
        return self.controller.round

    @property
    def halted(self) -> str | None:
        """Why nothing moves until :meth:`resume` or :meth:`amend`; None in a loop that runs."""
        return self.controller.halted

    @property
    def promises(self) -> Promises:
        """What is promised, in three parts."""
        return self._machine.promises

    @property
    def recoveries_left(self) -> int:
        """How many times the plant may still recover."""
        return self._machine.left

    @property
    def factor(self) -> float:
        """What every constant is multiplied by that is not proved: 1 before the first recovery."""
        return self._machine.factor

    def ask(self) -> dict[str, float]:
        """Return the set points to use in this round; the same until ``tell``.

        If the context of the round is unknown they are the start, which its margin proves.
        """
        if self.controller.loop.awaits_context:
            self.controller.announce(unknown=True)
        self._recover()
        return self._machine.name_set_points(self.controller.ask())

    def tell(
        self,
        *,
        readings: Mapping[str, float | None] | None = None,
        wanted: Mapping[str, float] | None = None,
        cost_slopes: Mapping[str, float] | None = None,
        slopes: Mapping[str, Mapping[str, float]] | None = None,
        played: Mapping[str, float] | None = None,
        context: Mapping[str, float | None] | None = None,
        missing: bool = False,
    ) -> None:
        """Report what was read at the current set points, and advance to the next.

        A round is not measured if a limit has no reading, None or NaN; what the others showed is
        kept in the journal.

        Args:
            readings: the value of each limit, in its unit.
            wanted: the set points that somebody would like next; for the role "filter".
            cost_slopes: what one unit more of each actuator costs; for the role "learner".
            slopes: of each limit, how it changes per unit of each actuator, where the file says
                ``slopes = true``.
            played: the set points that were really used, where they are others.
            context: that of the next round; :meth:`announce` takes one that is known later. A
                value that is None, NaN or beyond its range is unknown: the start follows.
            missing: whether nothing was measured.

        Raises:
            InvalidValueError: for invalid input; nothing has changed then.
            PremiseError: for a contradiction, if the policy is "raise".
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        run, loop = self.controller.run, self.controller.loop
        report = self._machine.read_report(
            loop,
            readings=readings,
            wanted=wanted,
            cost_slopes=cost_slopes,
            slopes=slopes,
            played=played,
            context=context,
            missing=missing,
        )
        self._alarms = []
        arguments = dict(report.arguments)
        if report.context is not None:
            arguments["context"] = report.context
        time = now()
        self.controller.tell(missing=report.is_missing, **arguments)
        self._place = report.context
        self._machine.remember(loop, report)
        self._emit(report.alarms)
        with suppress(StoreError):  # the round is told; ask() recovers again
            self._recover()
        self._end_round(run, loop, report, time)

    def announce(self, context: Mapping[str, float | None]) -> None:
        """Announce the context of the current round before it is played: ask again."""
        place, words = self._machine.read_context(context)
        if place is None:
            self.controller.announce(unknown=True)
            t = self.round
            self._emit((Alarm.of(t, "context", f"round {t}: {words or 'no context'}"),))
        else:
            self.controller.announce(context=place)
        self._place = place
        self._recover()

    def explain(self) -> Explanation:
        """Return why the current set points may be used.

        What is certified of limits and what is promised are in their units; the certificate is in
        the numbers of the rule.
        """
        return self._machine.explain(self.controller.explain())

    def bounds(self) -> dict[str, float]:
        """Return what is certified of each limit at the current set points, in its unit.

        A limit of which nothing is certified is left out.
        """
        return self._machine.name_bounds(self.controller.explain())

    # --- what an operator orders -----------------------------------------------------------------

    def hold(self, reason: str) -> None:
        """Keep the current set points until :meth:`resume`, as far as contexts allow."""
        self.controller.hold(reason)

    def retreat(self, reason: str) -> None:
        """Go back to the start, and stay there until :meth:`resume`: ask again."""
        self.controller.retreat(reason)

    def resume(self, reason: str) -> None:
        """Go on after an order. After a contradiction it is rejected: :meth:`amend` goes on then.

        A plant that recovers does so by itself, too.
        """
        self._machine.check_resume(self.controller.loop)
        self.controller.resume(reason=reason)

    def note(self, text: str) -> None:
        """Write an operator's note to the journal; nothing else changes."""
        self.controller.note(text)

    def amend(self, plant: PlantDescription, *, by: str, reason: str) -> None:
        """Change what is known of the plant, in the same journal: it begins anew at its start.

        A plant with a ramp must be there: :meth:`retreat` leads to it. An operator's order stands
        until :meth:`resume`; what was contradicted does not count any more.

        Args:
            plant: the new description, of the same actuators, contexts and limits.
            by: whose change it is, in words.
            reason: in words.
        """
        check_text(by, "by")
        check_text(reason, "reason")
        _refuse_fleet(plant)
        found = self._machine.amend(plant, by, reason)
        self._machine.refuse_jump(self.controller.loop, plant)
        self._amend(*found)

    def begin_anew(self, *, by: str, reason: str) -> None:
        """Begin anew at the start, by the same constants: what was read is not used any more.

        That is for limits that change by themselves, after a time in which nobody counted rounds.

        Args:
            by: who orders it, in words.
            reason: in words.

        Raises:
            InvalidValueError: if data contradict the constants: :meth:`amend` changes them.
        """
        self._amend(*self._machine.begin_anew(self.controller.loop, by, reason))

    def close(self) -> None:
        """Close the journal, so that others can open it."""
        self.controller.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Plant {self.description.name!r} in round {self.round}>"

    # --- between rounds --------------------------------------------------------------------------

    def _recover(self) -> None:
        """Begin anew with larger constants, if that is due."""
        found = self._machine.find_recovery(self.controller.run, self.controller.loop)
        if found is not None:
            self._amend(*found)

    def _amend(self, machine: Machine, amendment: Amendment) -> None:
        """Begin anew; the context of the current round is that of before, if it is in its range."""
        place = self._place
        self.controller.amend(amendment)
        self._machine = machine
        if place is not None and not machine.has_range_for(place):
            place = self._place = None
        if place is not None and self.controller.loop.awaits_context:
            self.controller.announce(context=place)

    def _take_alarm(self, alarm: Alarm) -> None:
        self._alarms.append(alarm)
        if self._on_alarm is not None:
            self._on_alarm(alarm)

    def _emit(self, alarms: tuple[Alarm, ...]) -> None:
        for alarm in alarms:
            LOGGER.log(alarm.level, "%s", alarm.sentence, extra={"alarm": alarm})
            try:
                self._take_alarm(alarm)
            except Exception:
                LOGGER.exception("on_alarm failed at: %s", alarm.sentence)

    def _end_round(self, run: Run, loop: LoopState, report: PlantReport, time: str) -> None:
        """Call ``on_round``; a listener that fails is logged and stops nothing."""
        if self._on_round is None:
            return
        after = self.controller.loop
        event = self._machine.event(None, loop, after, run, report, self._alarms, time)
        try:
            self._on_round(event)
        except Exception:
            LOGGER.log(logging.ERROR, "on_round failed in round %d", event.round, exc_info=True)


def journal_of(
    path: str | os.PathLike[str],
    plant: PlantDescription,
    journal: str | os.PathLike[str] | None = None,
) -> Path | None:
    """Return the path of the journal of a plant file, relative to the file; None for none."""
    if journal is not None:
        return Path(journal)
    return None if plant.journal is None else Path(path).parent / plant.journal


def need_journal(
    path: str | os.PathLike[str],
    plant: PlantDescription,
    journal: str | os.PathLike[str] | None = None,
) -> Path:
    """Return the path of the journal of a plant file, which must be there."""
    where = journal_of(path, plant, journal)
    if where is None or not where.exists():
        name = Path(path).name
        raise InvalidValueError(
            f"amend must have a journal to go on with, and {name} "
            + ("names none" if where is None else f"has none at '{where}'")
        )
    return where


def _refuse_fleet(plant: PlantDescription) -> None:
    if plant.members:
        raise InvalidValueError(
            f"the plant file must be that of one plant, got {len(plant.members)} members: "
            "open it with PlantFleet"
        )


def refuse_changes(path: Path, journal: Path, differences: Sequence[Difference]) -> None:
    """Raise unless a plant file is that of its journal.

    Args:
        path: of the plant file.
        journal: of the journal.
        differences: the path of each key, its value in the journal and in the file.
    """
    if not differences:
        return
    words = "; ".join(f"{name} is {old!r} there and {new!r} here" for name, old, new in differences)
    raise PlantChangedError(
        f"{path.name} is not the plant of {journal.name}: {words}. To go on with the new one: "
        f'surefoot amend {path.name} --by "NAME" --reason "TEXT"',
        tuple(differences),
    )
