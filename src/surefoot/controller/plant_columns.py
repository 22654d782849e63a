"""The rounds of plants as columns in engineering units, for files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from surefoot.controller.journal_record import JournalRecord
from surefoot.controller.plant_record import ALARMS, PlantEvent, PlantRound
from surefoot.controller.plant_verdict import PlantVerdict
from surefoot.problems.plant import PlantDescription

__all__ = ["columns_of_plants"]

_NOTES = ("amendment", "recovery", "order", "note", "journal", "fleet")
"""The kinds of events in the column of notes."""
_FIRST = ("round", "time_utc", "member", "how", "certified")
_LAST = ("alarm", "note")
Row = dict[str, Any]


def columns_of_plants(
    records: Sequence[JournalRecord], verdicts: Sequence[PlantVerdict] | None = None
) -> dict[str, list[Any]]:
    """Return the rounds of plants as columns: a row for each, None where there is nothing.

    Args:
        records: of one plant, or of all members of a fleet.
        verdicts: what the checker found of each; without it there is no column "certified".
    """
    each = [None] * len(records) if verdicts is None else verdicts
    pairs = zip(records, each, strict=True)
    rows = [row for record, verdict in pairs for row in _rows(record, verdict)]
    names: dict[str, None] = dict.fromkeys(_FIRST)
    for record in records:
        names |= dict.fromkeys(_names_of(record))
    names |= dict.fromkeys(_LAST)
    if all(record.member is None for record in records):
        del names["member"]
    if verdicts is None:
        del names["certified"]
    return {name: [row.get(name) for row in rows] for name in names}


def _names_of(record: JournalRecord) -> Iterator[str]:
    """Yield the names of the columns of a plant, with units."""
    assert record.plant is not None
    plants = [version.description for version in record.plant.versions]
    for kind in ("{}", "wanted {}", "played {}"):
        yield from (_label(each, kind) for plant in plants for each in plant.actuators)
    yield from (_label(each) for plant in plants for each in plant.contexts)
    for kind in ("{}", "{} limit", "bound {}", "margin {}"):
        yield from (_label(each, kind) for plant in plants for each in plant.limits)


def _label(part: Any, kind: str = "{}") -> str:
    """Return the name of an actuator, a context or a limit in a column, with its unit."""
    return f"{kind.format(part.name)} [{part.unit}]"


def _rows(record: JournalRecord, verdict: PlantVerdict | None) -> Iterator[Row]:
    """Yield a row for each round."""
    assert record.plant is not None
    events = _by_round(record.plant.events)
    for row in record.plant.describe(record.rounds):
        plant = record.plant.version_of(row.round).description
        yield {
            "round": row.round,
            "time_utc": row.time,
            "member": record.label,
            "how": row.how,
            "certified": None if verdict is None else verdict.word_of(row.round),
            **_numbers(row, plant),
            "alarm": _join(events.get(row.round, ()), ALARMS),
            "note": _join(events.get(row.round, ()), _NOTES),
        }


def _numbers(row: PlantRound, plant: PlantDescription) -> Row:
    """Return the numbers of a round, by the names of their columns."""
    groups: tuple[tuple[str, Iterable[Any], Mapping[str, float]], ...] = (
        ("{}", plant.actuators, row.set_points),
        ("wanted {}", plant.actuators, row.wanted),
        ("played {}", plant.actuators, row.played),
        ("{}", plant.contexts, row.context),
        ("{}", plant.limits, row.readings),
        ("{} limit", plant.limits, row.limits),
        ("bound {}", plant.limits, row.bounds),
        ("margin {}", plant.limits, row.margins),
    )
    return {
        _label(part, kind): numbers[part.name]
        for kind, parts, numbers in groups
        for part in parts
        if part.name in numbers
    }


def _by_round(events: Iterable[PlantEvent]) -> dict[int, list[PlantEvent]]:
    found: dict[int, list[PlantEvent]] = {}
    for event in events:
        found.setdefault(event.round, []).append(event)
    return found


def _join(events: Iterable[PlantEvent], kinds: Sequence[str]) -> str | None:
    """Return the sentences of some kinds of events; None without one."""
    return "; ".join(f"{e.kind}: {e.sentence}" for e in events if e.kind in kinds) or None
