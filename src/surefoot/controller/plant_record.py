"""What the journal of a plant says in its units: rounds, events, and what was known when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.plant_units import name_bounds, name_sources, name_start_bounds
from surefoot.core.plain import NotPlainError
from surefoot.guarantees import Breach, Promises
from surefoot.problems.plant import (
    LimitDescription,
    PlantDescription,
    Scaling,
    plant_from_data,
    write_plant,
)
from surefoot.problems.plant.durations import duration_text
from surefoot.problems.plant.promise import PlantProof, promises_of_plant, proof_of

__all__ = ["ALARMS", "PlantEvent", "PlantRecord", "PlantRound", "PlantVersion"]

ALARMS = ("contradiction", "outside", "context", "deadline", "deviation", "refused")
"""The kinds of events that are alarms."""
_RECOVERY = "recovery "
_DEADLINE = "deadline:"
_ORDERS = ("hold", "retreat", "resume")
_OF_JOURNAL = ("torn", "engine", "rebuilt")
_AT_START = ("start", "amended", "recovered")
_HOW = {"stepped": "step", "held": "held", "retreated": "retreat"}


class PlantVersion(NamedTuple):
    """What was known of a plant from a round on.

    Attributes:
        round: the first round by it.
        time: when it came.
        description: of the plant.
        factor: on the constants that are not proved.
        left: how many recoveries were left.
        by: whose change it was; empty for the first, and "recovery 1 of 3" for one of the plant.
        reason: of the change, in words.
        changes: the path of each key that changed, its value before and after.
    """

    round: int
    time: str
    description: PlantDescription
    factor: float
    left: int
    by: str = ""
    reason: str = ""
    changes: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def is_recovery(self) -> bool:
        """Whether the plant began anew by itself, with larger constants."""
        return self.is_of_plant(self.by)

    @staticmethod
    def is_of_plant(by: str) -> bool:
        """Return whether the plant itself changed something, by who changed it."""
        return by.startswith(_RECOVERY)

    def __str__(self) -> str:
        if self.is_recovery:
            words = f"{self.by}: constants that are not proved are multiplied by {self.factor:.4g}"
        else:
            words = "; ".join(f"{path} {_show(a)} -> {_show(b)}" for path, a, b in self.changes)
            words = f"by {self.by}: {words}" if words else f"by {self.by}"
        return f"{words} ({self.reason})"


class PlantEvent(NamedTuple):
    """What happened to a plant in a round.

    Attributes:
        round: in which it happened.
        time: when it was written.
        kind: an alarm, one of :data:`ALARMS`; a round that was "missing"; an "amendment", a
            "recovery", an "order", a "note", or an event of the "journal" or of the "fleet".
        sentence: in words.
    """

    round: int
    time: str
    kind: str
    sentence: str


class PlantRound(NamedTuple):
    """A round of a plant, in its units; what is not known is left out of the tables.

    Attributes:
        round: its number.
        time: when it was reported.
        how: why nothing was measured: "missing", "deadline", "no context", "waiting"; else how its
            set points came about: "start", "step", "held", "retreat", "amended", "recovered".
        set_points: that were asked for.
        wanted: for this round, by whoever proposes.
        played: what was really used, where that was not what was asked for.
        context: of the round.
        readings: of the limits.
        limits: their bounds, as they were then.
        bounds: what was certified of each limit before the round.
        margins: how far inside its limit each of these bounds is.
        outside: the limits whose readings were beyond them, by more than the meter's error.
        sources: the readings that certified the set points, in words; empty without any.
    """

    round: int
    time: str
    how: str
    set_points: dict[str, float]
    wanted: dict[str, float]
    played: dict[str, float]
    context: dict[str, float]
    readings: dict[str, float]
    limits: dict[str, float]
    bounds: dict[str, float]
    margins: dict[str, float]
    outside: tuple[str, ...]
    sources: str


@dataclass(slots=True)
class PlantRecord:
    """The plant of a journal: what was known of it from when on, and what happened.

    Attributes:
        name: of the plant; empty where the journal has none.
        versions: what was known of it, from which round on.
        events: in the order of the journal.
        one_limit: whether the largest of several limits counts as one, as in a fleet.
        outside: by limit, how many readings were beyond it, by more than the meter's error.
        within: by limit, how many were beyond it by what the meter's error explains.
        others: in how many rounds somebody chose other set points.
        worst: by limit, the reading that was nearest to it or furthest beyond, and its round.
    """

    name: str
    versions: list[PlantVersion]
    events: list[PlantEvent] = field(default_factory=list)
    one_limit: bool = False
    outside: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)
    others: int = 0
    worst: dict[str, tuple[float, int]] = field(default_factory=dict)
    _firsts: list[int | None] = field(default_factory=list, repr=False)
    _scalings: list[Scaling] = field(default_factory=list, repr=False)
    _is_silent: bool = False
    _wanted: dict[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, stored: Mapping[str, Any], *, one_limit: bool) -> PlantRecord:
        """Return the record of a plant before its first line, from what a journal has of it."""
        record = cls(str(stored.get("name", "")), [], one_limit=one_limit)
        record._begin(PlantVersion(1, "", *_known(stored)))
        return record

    def _begin(self, version: PlantVersion) -> None:
        """Begin with what is known of the plant."""
        self.versions.append(version)
        self._scalings.append(Scaling(version.description, version.factor))
        self._firsts.append(None)

    # --- what is known ---------------------------------------------------------------------------

    @property
    def description(self) -> PlantDescription:
        """What is known of the plant at the end of the journal."""
        return self.versions[-1].description

    @property
    def limits(self) -> tuple[LimitDescription, ...]:
        """All limits that it ever had, each as it was last."""
        each = (limit for version in self.versions for limit in version.description.limits)
        return tuple({limit.name: limit for limit in each}.values())

    def describe_bound(self, limit: LimitDescription) -> str:
        """Return the bound of a limit in its unit, with the rounds from which on it is another."""
        bounds: list[tuple[int, str]] = []
        for version in self.versions:
            for each in version.description.limits:
                words = f"{each.bound:g} {each.unit}"
                if each.name == limit.name and (not bounds or bounds[-1][1] != words):
                    bounds.append((version.round, words))
        first, *others = bounds
        return ", ".join([first[1], *(f"{words} from round {t} on" for t, words in others)])

    def describe_error(self, limit: LimitDescription) -> str:
        """Return the error of the meter of a limit, in words."""
        each = (limit for version in self.versions for limit in version.description.limits)
        errors = {other.meter_error.value for other in each if other.name == limit.name}
        size = f" of {limit.meter_error.value:g} {limit.unit}" if len(errors) == 1 else ""
        return f"the meter's error{size}"

    @property
    def round_length(self) -> str:
        """The length of a round, as a plant file has it."""
        return duration_text(self.description.round_minutes)

    @property
    def amendments(self) -> tuple[PlantVersion, ...]:
        """What people changed."""
        return tuple(each for each in self.versions[1:] if not each.is_recovery)

    @property
    def recoveries(self) -> tuple[PlantVersion, ...]:
        """How often the plant began anew by itself."""
        return tuple(each for each in self.versions if each.is_recovery)

    @property
    def alarms(self) -> int:
        """How many alarms there were."""
        return sum(event.kind in ALARMS for event in self.events)

    @property
    def proof(self) -> PlantProof:
        """What is proved by what is known at the end."""
        last = self.versions[-1]
        return proof_of(last.description, last.left, last.factor, one_limit=self.one_limit)

    @property
    def promises(self) -> Promises:
        """The same as the three parts of a guarantee."""
        last = self.versions[-1]
        return promises_of_plant(last.description, last.left, last.factor, one_limit=self.one_limit)

    @property
    def text(self) -> str:
        """What was known of the plant in full, in the order in which it was."""
        parts, last = [], None
        for version in self.versions:
            words = f"# from round {version.round} on"
            if version.factor != 1.0:
                words += f", with constants that are not proved times {version.factor!r}"
            if version.description == last:
                parts.append(f"{words}, and the rest as before")
                continue
            last = version.description
            parts.append(f"{words}:\n{write_plant(replace(last, name=self.name))}")
        return "\n".join(parts)

    def version_of(self, t: int) -> PlantVersion:
        """Return what was known in a round."""
        return self.versions[self._place_of(t)]

    def _place_of(self, t: int) -> int:
        places = (i for i, each in enumerate(self.versions) if each.round <= t)
        return max(places, default=0)

    # --- rounds ----------------------------------------------------------------------------------

    def describe(self, rows: Sequence[Any]) -> Iterator[PlantRound]:
        """Yield rounds in units.

        Args:
            rows: those of a journal, each a ``JournalRound``, in their order.
        """
        for row in rows:
            yield self._describe_one(row, self._scalings[self._place_of(row.round)])

    def _describe_one(self, row: Any, scaling: Scaling) -> PlantRound:
        plant, readings = scaling.plant, self._readings(row, scaling.plant)
        bounds = {} if row.bound is None else name_bounds(scaling, row.certificate, row.bound)
        if row.origin in _AT_START and not bounds:
            bounds = name_start_bounds(plant)
        limits = {limit.name: limit.bound for limit in plant.limits}
        senses = {limit.name: 1.0 if limit.sense == "at_most" else -1.0 for limit in plant.limits}
        return PlantRound(
            round=row.round,
            time=row.time,
            how=row.origin,
            set_points=_name_action(row.action, scaling),
            wanted=row.wanted or {},
            played=_name_action(row.played, scaling),
            context=_name_context(row.context, plant),
            readings=readings,
            limits=limits,
            bounds=bounds,
            margins={n: senses[n] * (limits[n] - bound) for n, bound in bounds.items()},
            outside=tuple(_list_outside(plant, readings)),
            sources=self._name_sources(row),
        )

    def _name_sources(self, row: Any) -> str:
        """Return the readings that certified the set points of a round, in words."""
        if row.certificate is None:
            return "start_margin" if row.origin in _AT_START else ""
        first = self._firsts[self._place_of(row.round)]
        return name_sources(
            row.certificate, self.version_of(row.round).round if first is None else first
        )

    @staticmethod
    def _readings(row: Any, plant: PlantDescription) -> dict[str, float]:
        """Return the readings by name, without what was not read."""
        if row.readings is None:
            return {}
        pairs = zip(plant.limits, np.asarray(row.readings).tolist(), strict=True)
        return {limit.name: value for limit, value in pairs if math.isfinite(value)}

    # --- lines of the journal --------------------------------------------------------------------

    def take_round(self, row: Any, breaches: Sequence[Breach], causes: Sequence[str] = ()) -> Any:
        """Take a round; return it with how it went, and with what was wanted for it.

        Args:
            row: the round, a ``JournalRound``.
            breaches: what the round contradicts.
            causes: the likely causes of the first contradiction, the most likely first.
        """
        plant, t, time = self.version_of(row.round).description, row.round, row.time
        readings = self._readings(row, plant)
        outside = list(_list_outside(plant, readings))
        self.outside.update(outside)
        self.within.update(set(_list_outside(plant, readings, allowance=0.0)) - set(outside))
        self.others += row.played is not None
        self._keep_worst(plant, readings, t)
        for breach in breaches:
            kind = "deviation" if breach.constant == "action" else "contradiction"
            sentence = breach.sentence.removeprefix(f"round {t}: ")
            if kind == "contradiction" and causes:
                several = [f"({i}) {cause}" for i, cause in enumerate(causes, start=1)]
                sentence, causes = f"{sentence}; likely causes: {' '.join(several)}", ()
            self.events.append(PlantEvent(t, time, kind, sentence))
        if outside and not any(breach.affects != "regret" for breach in breaches):
            self.events.append(PlantEvent(t, time, "outside", _describe_outside(plant, readings)))
        how, wanted = _HOW.get(row.origin, row.origin), self._wanted
        self._wanted = _name_action(row.proposal, self._scalings[-1])
        if row.missing:
            how, sentence = self._explain_missing(row, plant, readings)
            self.events.append(PlantEvent(t, time, "missing", sentence))
        else:
            self._is_silent = False
            if self._firsts[-1] is None:
                self._firsts[-1] = t
        row = row._replace(origin=how, wanted=wanted)
        self._describe_one(row, self._scalings[self._place_of(t)])  # a file may hold anything
        return row

    def _keep_worst(self, plant: PlantDescription, readings: Mapping[str, float], t: int) -> None:
        """Keep the readings that are nearest to their limits, or furthest beyond."""
        for limit in plant.limits:
            value = readings.get(limit.name)
            if value is None:
                continue
            before = self.worst.get(limit.name, (value, t))[0]
            is_worse = value > before if limit.sense == "at_most" else value < before
            if is_worse or limit.name not in self.worst:
                self.worst[limit.name] = (value, t)

    def _explain_missing(
        self, row: Any, plant: PlantDescription, readings: Mapping[str, float]
    ) -> tuple[str, str]:
        """Return why a round was not measured, in a word and in a sentence."""
        absent = [limit.name for limit in plant.limits if limit.name not in readings]
        if self._is_silent and len(absent) == len(plant.limits):
            return "deadline", "nobody reported the round in time"
        if plant.contexts and row.context is None:
            return "no context", "its context was unknown, so no reading counts"
        if not absent and self._firsts[-1] is None:
            return "waiting", "the reading does not show that the start is inside its limits"
        words = f"no reading of {', '.join(absent)}" if absent else "it was reported as missing"
        return "missing", words

    def take_line(self, line: Mapping[str, Any]) -> None:
        """Take a line that is no round."""
        kind, t, time = line["kind"], line.get("round", 0), line.get("time", "")

        def add(kind: str, sentence: str) -> None:
            self.events.append(PlantEvent(t, time, kind, sentence))

        if kind == "amend":
            changes = tuple((str(path), a, b) for path, a, b in line["changes"])
            words = (str(line["by"]), str(line["reason"]), changes)
            self._begin(PlantVersion(t, time, *_known(line["plant"]), *words))
            last = self.versions[-1]
            add("recovery" if last.is_recovery else "amendment", str(last))
        elif kind in _ORDERS:
            add("order", f"{kind}: {line['reason']}")
        elif kind == "note":
            self._is_silent = self._is_silent or line["text"].startswith(_DEADLINE)
            is_deadline = line["text"].startswith(_DEADLINE)
            add("deadline" if is_deadline else "note", line["text"])
        elif kind == "refused":
            add("refused", "a report contradicts a premise, and was rejected")
        elif kind == "announce" and line["context"] is None:
            add("context", "its context is unknown or beyond its range, and the start is used")
        elif kind in _OF_JOURNAL:
            add("journal", line["sentence"])
        elif kind in ("joined", "left"):
            add("fleet", f"{kind}: {line['reason']}")


def _known(stored: Mapping[str, Any]) -> tuple[PlantDescription, float, int]:
    """Return what a journal has of a plant."""
    description = plant_from_data(stored["description"])
    return description, float(stored["factor"]), int(stored["left"])


def _name_action(action: Any, scaling: Scaling) -> dict[str, float]:
    """Return the set points of an action by name; empty without one."""
    if action is None:
        return {}
    names = [each.name for each in scaling.plant.actuators]
    if len(action) != len(names):  # one number would be that of all actuators
        raise NotPlainError(f"an action has {len(action)} entries, of {len(names)} actuators")
    return dict(zip(names, scaling.to_set_points(action).tolist(), strict=True))


def _name_context(place: Any, plant: PlantDescription) -> dict[str, float]:
    if place is None or not plant.contexts:
        return {}
    names = (each.name for each in plant.contexts)
    return dict(zip(names, map(float, place), strict=True))


def _list_outside(
    plant: PlantDescription, readings: Mapping[str, float], allowance: float = 1.0
) -> Iterator[str]:
    """Yield the limits whose readings are beyond them.

    Args:
        plant: the description.
        readings: by name.
        allowance: by more than so many errors of the meter.
    """
    for limit in plant.limits:
        if limit.name not in readings:
            continue
        over = readings[limit.name] - limit.bound
        over = over if limit.sense == "at_most" else -over
        if over > allowance * limit.meter_error.value:
            yield limit.name


def _describe_outside(plant: PlantDescription, readings: Mapping[str, float]) -> str:
    """Return which limits are violated, and by how much."""
    outside = list(_list_outside(plant, readings))
    return "; ".join(
        f"{limit.name} = {readings[limit.name]:.6g} {limit.unit}, "
        f"{abs(readings[limit.name] - limit.bound):.3g} beyond its limit"
        for limit in plant.limits
        if limit.name in outside
    )


def _show(value: Any) -> str:
    """Return a value of a change in words."""
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
