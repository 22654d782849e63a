"""The audit record of a plant: what was certified, given what, and all that happened, on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from surefoot.experiments.page import write_template
from surefoot.experiments.page.findings import enumerate_words, number
from surefoot.experiments.page.plant_charts import Chart, Track, draw_charts
from surefoot.experiments.page.tables import NONE, Cell, Column, Table

__all__ = ["write_plant_page"]

_SECTIONS = 12
"""Members of a fleet that have a section, those to look at first."""
_EVENTS = 500
"""Events in a table, the latest."""
_NAMED = 5
"""Rounds in a sentence."""
_ROUNDS = 50
"""Rounds in a table, the latest."""
_MARKED = {
    "amendment": "amendment",
    "recovery": "recovery",
    "order": "order",
    "missing": "missing",
    **dict.fromkeys(
        ("contradiction", "outside", "context", "deadline", "deviation", "refused"), "alarm"
    ),
}
"""The word of the mark of an event, by its kind."""
_WORDS = {
    "contradiction": "alarm: contradiction",
    "outside": "alarm: beyond the limit",
    "context": "alarm: context",
    "deadline": "alarm: deadline",
    "deviation": "alarm: other set points",
    "refused": "alarm: rejected",
    "missing": "missing",
    "fleet": "member",
}
"""The word of an event in the table, where its kind is another."""
_LONG = ("missing", "context")
"""The kinds of events that may be the same for many rounds."""
_LOOKS = {"certified": "held", "not certified": "failed", "not checked": "not-checked"}


class Section(NamedTuple):
    """What a page says of one plant.

    Attributes:
        name: of the plant, or of the member.
        span: its rounds, in words.
        look: of the verdict's badge.
        verdict: in a few words.
        counts: what was counted, one sentence each.
        proof: what is proved by what is known at the end.
        constants: the table of constants.
        since: the round from which on these are used; 1 without a change.
        refuted: the rounds whose readings refuted constants, in words; empty without any.
        clock: what is to be said of the clock; empty if nothing is.
        charts: over time.
        events: the table of events.
        left_out: how many events it leaves out.
        rounds: the table of the latest rounds.
        plant: the plant in full, as text.
    """

    name: str
    span: str
    look: str
    verdict: str
    counts: tuple[str, ...]
    proof: Any
    constants: Table
    since: int
    refuted: str
    clock: str
    charts: tuple[Chart, ...]
    events: Table
    left_out: int
    rounds: Table
    plant: str


def write_plant_page(path: Path, record: Any, verdicts: Sequence[Any]) -> None:
    """Write the page of the journal of a plant, or of a fleet of plants.

    Args:
        path: where to; an existing page is replaced in one step.
        record: the journal, a ``JournalRecord`` or a ``FleetRecord`` of the controller.
        verdicts: what the checker finds, a ``PlantVerdict`` for each record.
    """
    runs = getattr(record, "runs", None)
    records = (record,) if runs is None else runs
    pairs = list(zip(records, verdicts, strict=True))
    shown = sorted(pairs, key=_need_of, reverse=True)[:_SECTIONS]
    chosen = [pair for pair in pairs if any(pair is other for other in shown)]
    keys = [f"s{chr(ord('a') + i)}" for i in range(len(chosen))]
    sections = [_section(key, *pair) for key, pair in zip(keys, chosen, strict=True)]
    write_template(
        path,
        "plant.html",
        record=record,
        title=_title(record, records),
        is_fleet=runs is not None,
        members=_members_table(pairs) if runs is not None else None,
        left_out=len(pairs) - len(sections),
        sections=sections,
        trusted=next((verdict.trusted.partition(": ")[2] for verdict in verdicts), ""),
        code=max((verdict.code for verdict in verdicts), default=3),
    )


def _need_of(pair: tuple[Any, Any]) -> tuple[bool, int, int, int]:
    """Return how much a member needs a look."""
    record, verdict = pair
    plant = record.plant
    is_halted = record.halted is not None and not record.has_left
    wrong = verdict.word == "not certified"
    return wrong, plant.outside.total(), is_halted + len(plant.recoveries), plant.alarms


def _title(record: Any, records: Sequence[Any]) -> str:
    """Return the name of the plant, else that of its journal; of one member with its own."""
    names = {each.plant.name for each in records}
    name = names.pop() if len(names) == 1 else ""
    name = name or str(record.path.stem)
    member = getattr(record, "member", None)
    return name if member is None else f"{name}, {record.label}"


def _section(key: str, record: Any, verdict: Any) -> Section:
    """Return what the page says of one plant.

    Args:
        key: letters that no other plant of the page has.
        record: what the journal says of it.
        verdict: what the checker finds.
    """
    plant = record.plant
    rows = [_keep_confirmed(row, verdict) for row in plant.describe(record.rounds)]
    marks: dict[str, list[int]] = {word: [] for word in _MARKED.values()}
    for event in plant.events:
        if event.kind in _MARKED:
            marks[_MARKED[event.kind]].append(event.round)
    track = Track.of(rows, marks) if rows else None
    events = _events(plant.events)
    goes_back = track is not None and not track.by_clock
    return Section(
        name=record.label,
        span=_span(record, rows),
        look=_LOOKS[verdict.word],
        verdict=verdict.words,
        counts=tuple(_count(record, verdict)),
        proof=plant.proof,
        constants=_constants_table(f"{key}-constants", plant.proof),
        since=plant.versions[-1].round,
        refuted=_list_refuted(verdict),
        clock="The clock went back, so the charts are drawn by round." if goes_back else "",
        charts=() if track is None else tuple(draw_charts(track, plant.description, key)),
        events=_events_table(f"{key}-events", events[-_EVENTS:]),
        left_out=max(0, len(events) - _EVENTS),
        rounds=_rounds_table(
            f"{key}-rounds", rows[: -_ROUNDS - 1 : -1], plant.description, verdict
        ),
        plant=plant.text,
    )


def _keep_confirmed(row: Any, verdict: Any) -> Any:
    """Return a round without what its certificate says, where the checker has not judged that."""
    if verdict.word_of(row.round) != "not checked":
        return row
    return row._replace(bounds={}, margins={}, sources="")


# --- words ---------------------------------------------------------------------------------------


def _span(record: Any, rows: Sequence[Any]) -> str:
    """Return from when to when a plant ran, and how long its rounds are."""
    length = f"rounds of {record.plant.round_length}"
    if not rows:
        return f"no round was reported; {length}"
    days = f"{_clock(rows[0].time)} to {_clock(rows[-1].time)} UTC"
    return f"{days}, {_many(record.round_count, 'round')}, {length}"


def _list_refuted(verdict: Any) -> str:
    """Return the rounds whose readings refuted the constants in use, in words."""
    rounds = sorted(verdict.judgement.refuted) if verdict.refuted else []
    numbers = [f"{t:,}" for t in rounds[:_NAMED]]
    if len(rounds) > _NAMED:
        numbers.append(f"{len(rounds) - _NAMED:,} others")
    return f"round{'s'[: len(rounds) != 1]} {enumerate_words(numbers)}" if numbers else ""


def _clock(time: str) -> str:
    """Return a time as a page has it: to the second."""
    return time.replace("T", " ")[:19]


def _many(count: int, word: str) -> str:
    """Return so many of something.

    >>> _many(1, "round"), _many(1200, "round")
    ('1 round', '1,200 rounds')
    """
    return f"{count:,} {word}{'s'[: count != 1]}"


def _count(record: Any, verdict: Any) -> Iterator[str]:
    """Yield what was counted, one sentence each."""
    plant, n = record.plant, verdict.rounds
    words = f"Certified before they were used: {verdict.certified:,} of {_many(n, 'set point')}"
    if verdict.starts:
        words += f"; at the declared start: {verdict.starts:,}"
    if verdict.refuted:
        words += f"; refuted by their own reading: {verdict.refuted:,}"
    if verdict.unchecked:
        words += f"; not checked: {verdict.unchecked:,}"
    yield f"{words}."
    if verdict.sentence:
        yield f"The checker says: {verdict.sentence}."
    for limit in plant.limits:
        yield _count_outside(plant, limit)
    versions = [_many(len(plant.amendments), "amendment"), _many(len(plant.recoveries), "recover")]
    versions[1] = versions[1].replace("recovers", "recoveries")
    if len(plant.recoveries) == 1:
        versions[1] += "y"
    parts = [_many(record.missing, "missing round"), *versions, _many(plant.alarms, "alarm")]
    yield f"{enumerate_words(parts)}."
    if plant.others:
        yield f"In {_many(plant.others, 'round')} others chose the set points."
    if record.halted is not None and not record.has_left:
        yield f"Halted: {record.halted}."


def _count_outside(plant: Any, limit: Any) -> str:
    """Return how many readings were beyond a limit."""
    side = "above" if limit.sense == "at_most" else "below"
    where = f"{side} {plant.describe_bound(limit)}"
    outside, within = plant.outside[limit.name], plant.within[limit.name]
    if not outside and not within:
        return f"No reading of {limit.name} was {where}."
    words = f"{_many(outside, 'reading') if outside else 'No reading'} of {limit.name}"
    words += f" {'were' if outside > 1 else 'was'} {where}"
    words += "," if "," in where else ""
    rest = f"; {within:,} by less" if within else ""
    return f"{words} by more than {plant.describe_error(limit)}{rest}."


# --- tables --------------------------------------------------------------------------------------


def _members_table(pairs: Sequence[tuple[Any, Any]]) -> Table:
    """Return the table of the members of a fleet."""
    columns = [
        Column("Member"),
        Column("Verdict", "of the independent checker"),
        Column("Rounds", "that were reported", True),
        Column("Certified", "set points that were certified before they were used", True),
        Column("Outside", "readings beyond a limit, by more than the meter's error", True),
        Column("Missing", "rounds without a measurement", True),
        Column("Alarms", "", True),
        Column("Halted", "why nothing moves"),
    ]
    rows = [[Cell(record.label), *_member_cells(record, verdict)] for record, verdict in pairs]
    return Table.of("members", "The members of the fleet", columns, rows)


def _member_cells(record: Any, verdict: Any) -> list[Cell]:
    plant = record.plant
    counts = (
        verdict.rounds,
        verdict.certified,
        plant.outside.total(),
        record.missing,
        plant.alarms,
    )
    halted = record.halted if record.halted is not None and not record.has_left else NONE
    return [
        Cell(verdict.words, badge=_LOOKS[verdict.word], aside=verdict.sentence),
        *(Cell(f"{count:,}", count) for count in counts),
        Cell("left" if record.has_left else halted),
    ]


def _constants_table(name: str, proof: Any) -> Table:
    """Return the table of the constants that certificates rest on."""
    columns = [
        Column("Constant"),
        Column("Limit"),
        Column("Value", "as it is used", True),
        Column("Unit"),
        Column("Origin", "proved, given or estimated"),
        Column("Why"),
    ]
    rows = []
    for each in proof.constants:
        factor = f"{each.given:.6g} x {each.value / each.given:.4g}" if each.is_enlarged else ""
        look = "premise-broken" if each.origin == "estimated" else "calm"
        rows.append(
            [
                Cell(each.name),
                Cell(each.limit or NONE),
                Cell(number(each.value, 6), each.value, aside=factor),
                Cell(each.unit),
                Cell(each.origin, badge=look),
                Cell(each.why or NONE),
            ]
        )
    return Table.of(name, "Constants that the certificates rest on", columns, rows)


class _Stretch(NamedTuple):
    """Events of one kind in rounds that follow each other."""

    first: Any
    last: int


def _events(events: Sequence[Any]) -> list[_Stretch]:
    """Return events; rounds that were missing for the same reason, one after the other, are one.

    So are their alarms of an unknown context, which are between them.
    """
    stretches: list[_Stretch] = []
    latest: dict[tuple[str, str], int] = {}
    for event in events:
        key = event.kind, event.sentence
        at = latest.get(key) if event.kind in _LONG else None
        if at is not None and event.round == stretches[at].last + 1:
            stretches[at] = stretches[at]._replace(last=event.round)
        else:
            latest[key] = len(stretches)
            stretches.append(_Stretch(event, event.round))
    return stretches


def _events_table(name: str, events: Sequence[_Stretch]) -> Table:
    columns = [
        Column("Round", "", True),
        Column("Clock", "UTC", True),
        Column("What"),
        Column("Sentence"),
    ]
    rows = [[*_event_cells(stretch)] for stretch in events]
    return Table(name, "Events", columns, rows)


def _event_cells(stretch: _Stretch) -> Iterator[Cell]:
    event, last = stretch
    mark = _MARKED.get(event.kind)
    look = {"alarm": "failed", "recovery": "premise-broken", "amendment": "held sum"}
    rounds = f"{event.round:,}" if last == event.round else f"{event.round:,} to {last:,}"
    yield Cell(rounds, event.round)
    yield Cell(_clock(event.time))
    yield Cell(_WORDS.get(event.kind, event.kind), badge=look.get(mark or "", "calm"))
    yield Cell(event.sentence)


def _rounds_table(name: str, rows: Sequence[Any], plant: Any, verdict: Any) -> Table:
    """Return the table of the latest rounds."""
    columns = [
        Column("Round", "", True),
        Column("Clock", "UTC", True),
        *(Column(_label(each), "set point", True) for each in plant.actuators),
    ]
    for limit in plant.limits:
        columns.append(Column(_label(limit), "reading", True))
        columns.append(Column(f"certified {_label(limit)}", "before the round", True))
    columns += [Column(_label(each), "context", True) for each in plant.contexts]
    columns += [Column("Certified by", "readings"), Column("Checked"), Column("How")]
    cells = [[*_round_cells(row, plant, verdict)] for row in rows]
    return Table(name, "The latest rounds", columns, cells)


def _label(part: Any) -> str:
    return f"{part.name} [{part.unit}]"


def _round_cells(row: Any, plant: Any, verdict: Any) -> Iterator[Cell]:
    yield Cell(f"{row.round:,}", row.round)
    yield Cell(_clock(row.time))
    for each in plant.actuators:
        played = row.played.get(each.name)
        aside = "" if played is None else f"used: {number(played)}"
        yield _number_cell(row.set_points.get(each.name), aside)
    for limit in plant.limits:
        is_outside = limit.name in row.outside
        yield _number_cell(row.readings.get(limit.name), "beyond" if is_outside else "")
        yield _number_cell(row.bounds.get(limit.name))
    for each in plant.contexts:
        yield _number_cell(row.context.get(each.name))
    yield Cell(row.sources or NONE)
    yield Cell(verdict.word_of(row.round))
    yield Cell(row.how)


def _number_cell(value: float | None, aside: str = "") -> Cell:
    return Cell(NONE if value is None else number(value, 5), value, aside=aside)
