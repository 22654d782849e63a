"""``surefoot journal``: what a live run decided, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, option, show, table

if TYPE_CHECKING:
    from surefoot.controller import FleetRecord, JournalRecord, JournalRound

__all__ = ["journal"]


def journal(
    file: Annotated[Path, argument("FILE", "The journal of a controller or a fleet.")],
    member: Annotated[str | None, option("NAME", "Of a fleet, show one member.")] = None,
    last: Annotated[int | None, option("N", "Show the latest N rounds.", min=1)] = None,
    round_: Annotated[
        int | None, option("N", "Explain the decision of one round.", "--round", min=1)
    ] = None,
    csv: Annotated[Path | None, option("OUT", "Write the rounds as CSV.", "--csv")] = None,
    parquet: Annotated[
        Path | None, option("OUT", "Write the rounds as Parquet.", "--parquet")
    ] = None,
    page: Annotated[
        Path | None, option("OUT", "Write a page with the run drawn, as HTML.", "--page")
    ] = None,
    json: Json = False,
) -> None:
    """Show what a live run decided and why.

    Without an option: a summary with the player, its guarantee and what the data leave of it, the
    number of rounds and of violations, the largest g, contradictions and the notes of the operator.
    The journal may be in use: it is read as it is at this moment, and nothing is locked or written.
    --last shows a table of the latest rounds; files then have these rounds only.

    Of a plant file everything is in its units. Its page is an audit record: the verdict of
    `surefoot check`, what is proved given which constants, charts and events. Its CSV has a row for
    each round, with what the checker finds of it.

    Of a fleet the summary has a line for each member, of a large one for those to look at first.
    Files have the rounds of all members, each with its name; the page compares them. --member
    selects one, and all options work as for a controller; --round needs it.

    Examples:
      surefoot journal machines.jsonl
      surefoot journal machines.jsonl --last 50
      surefoot journal machines.jsonl --round 1204
      surefoot journal machines.jsonl --csv rounds.csv --page machines.html
      surefoot journal fleet.jsonl --page fleet.html
      surefoot journal fleet.jsonl --member north --round 1204
    """
    from surefoot.controller import FleetRecord, read_journal

    if not file.is_file():
        raise UsageError(f"'{file}' is not a file: give the journal of a controller or a fleet")
    record = read_journal(file, member=member, latest=last)
    is_of_plants = all(each.plant is not None for each in _records(record))
    one = None if round_ is None else _round(file, round_, record)
    files = {"csv": csv, "parquet": parquet, "page": page}
    written = {name: path for name, path in files.items() if path is not None}
    for kind, path in written.items():
        if is_of_plants:
            _write_plants(kind, record, path)
        else:
            _write(kind, record, path)
    data = _summary_of_many(record) if isinstance(record, FleetRecord) else _summary(record)
    data, lines = data | {"written": written}, [] if written else [str(record)]
    if last is not None and not written:
        data["table"], lines = _data_of(record), _table(record)
    if one is not None:
        (owner,) = _records(record)
        lines = list(_explain(one, owner))
        (found,) = _data_of_rounds(replace(owner, rounds=(one,)))
        data["round"] = found | {"explanation": "; ".join(lines)}
    show(json, data, [*lines, *(f"{name:<8} {path}" for name, path in written.items())])


def _round(file: Path, number: int, record: JournalRecord | FleetRecord) -> JournalRound:
    from surefoot.controller import FleetRecord, read_journal

    if isinstance(record, FleetRecord):
        raise UsageError("--round must come with --member NAME for the journal of a fleet")
    if number > record.round_count:
        at_hand = " (its action is at hand)" if number == record.round_count + 1 else ""
        raise UsageError(f"--round must be at most {record.round_count}, got {number}{at_hand}")
    found: JournalRecord = read_journal(file, member=record.member, first=number, last=number)
    return found.rounds[0]


def _explain(row: JournalRound, record: JournalRecord) -> Iterator[str]:
    """Yield why an action could be played, and what came of it; of a plant in its units."""
    from surefoot.controller.plant_summary import explain_round

    if record.plant is None:
        yield from row.sentences()
        return
    (described,) = record.plant.describe([row])
    yield from explain_round(described, record.plant.version_of(row.round).description)


def _plant_of(record: JournalRecord) -> dict[str, Any]:
    """Return what only a plant has."""
    plant = record.plant
    if plant is None:
        return {}
    return {
        "plant": plant.name,
        "outside": dict(plant.outside),
        "alarms": plant.alarms,
        "amendments": [f"round {each.round}: {each}" for each in plant.amendments],
        "recoveries": [f"round {each.round}: {each}" for each in plant.recoveries],
        "recoveries_left": plant.versions[-1].left,
        "estimates": plant.proof.estimates,
        "events": [event._asdict() for event in plant.events],
    }


def _summary(record: JournalRecord) -> dict[str, Any]:
    return {
        **_plant_of(record),
        **dict(zip(_SHOWN, attrgetter(*_SHOWN)(record), strict=True)),
        **({} if record.member is None else _member_of(record)),
        "rounds": record.round_count,
        "violations": record.violations,
        "largest": record.worst,
        "promises": record.promises.theorems(),
        "contradictions": [breach._asdict() for breach in record.breaches],
        "notes": [note._asdict() for note in record.notes],
    }


_SHOWN = (
    *("path", "surefoot", "created", "is_open", "player", "guarantee", "status"),
    *("on_contradiction", "certified", "missing", "within_error", "margin", "action"),
)


def _member_of(record: JournalRecord) -> dict[str, Any]:
    """Return what only a member of a fleet has."""
    names = ("member", "run", "has_left", "halted", "rejected")
    return {name: getattr(record, name) for name in names}


def _summary_of_many(record: FleetRecord) -> dict[str, Any]:
    members = [_summary(member) for member in record.runs]
    shared = ("path", "surefoot", "created", "is_open")
    totals = ("violations", "certified", "missing", "rejected", "within_error", "margin")
    worst = record.worst_member
    return {
        **{name: getattr(record, name) for name in shared},
        "rounds": record.round_count,
        **{name: getattr(record, name) for name in totals},
        "largest": record.worst,
        "largest_of": None if worst is None else worst.label,
        "contradicted": [member.label for member in record.contradicted],
        "halted": record.halted,
        "notes": [note._asdict() for note in record.notes],
        "members": [
            {name: part for name, part in member.items() if name not in shared}
            for member in members
        ],
    }


def _data_of(record: JournalRecord | FleetRecord) -> list[dict[str, Any]]:
    """Return the rounds that were asked for, each with its member if it has one."""
    return [
        ({} if each.member is None else {"member": each.member, "run": each.run}) | data
        for each in _records(record)
        for data in _data_of_rounds(each)
    ]


def _data_of_rounds(record: JournalRecord) -> Iterator[dict[str, Any]]:
    """Yield the rounds of one member; of a plant in its units."""
    if record.plant is None:
        yield from map(_data, record.rounds)
    else:
        yield from (row._asdict() for row in record.plant.describe(record.rounds))


def _records(record: JournalRecord | FleetRecord) -> tuple[JournalRecord, ...]:
    from surefoot.controller import FleetRecord

    return record.runs if isinstance(record, FleetRecord) else (record,)


def _data(row: JournalRound) -> dict[str, Any]:
    from surefoot.core.plain import name_parts

    certificate: Any = row.certificate
    reason = None if certificate is None else name_parts(certificate) | {"words": str(certificate)}
    return row._asdict() | {"certificate": reason}


_HEAD = ("round", "g", "bound", "length", "action", "why")


def _table(record: JournalRecord | FleetRecord) -> list[str]:
    from surefoot.controller import FleetRecord

    is_fleet = isinstance(record, FleetRecord)
    if all(each.plant is not None for each in _records(record)):
        return _plant_table(record)
    rows = [
        (each.label, *_cells(row)) if is_fleet else _cells(row)
        for each in _records(record)
        for row in each.rounds
    ]
    if not rows:
        return ["none of these rounds was reported"]
    return list(table(("member", *_HEAD) if is_fleet else _HEAD, rows, right=_HEAD[:4]))


def _plant_table(record: JournalRecord | FleetRecord) -> list[str]:
    """Return the rounds of plants as a table in their units."""
    from surefoot.controller.plant_columns import columns_of_plants

    records = _records(record)
    columns = columns_of_plants(records)
    columns = {name: cells for name, cells in columns.items() if any(c is not None for c in cells)}
    rows = [tuple(map(_plain, row)) for row in zip(*columns.values(), strict=True)]
    if not rows:
        return ["none of these rounds was reported"]
    return list(table(tuple(columns), rows, right=[n for n in columns if n.endswith("]")]))


def _plain(value: object) -> str:
    """Return a cell of a table."""
    if isinstance(value, float):
        return f"{value:.5g}"
    return "" if value is None else str(value)


def _cells(row: JournalRound) -> tuple[str, ...]:
    import numpy as np

    numbers = ("" if v is None else f"{v:.4g}" for v in (row.g, row.bound, row.length))
    action = np.array2string(row.action, precision=4, separator=", ", threshold=6)
    why = "start" if row.round == 1 else "" if row.certificate is None else "certified"
    return (str(row.round), *numbers, action.replace("\n", ""), why)


def _write_plants(kind: str, record: JournalRecord | FleetRecord, path: Path) -> None:
    """Write a file of plants in their units, with what the checker finds."""
    from surefoot.controller.plant_columns import columns_of_plants
    from surefoot.controller.plant_verdict import judge_plants
    from surefoot.experiments.export import columns_to_csv, columns_to_parquet
    from surefoot.experiments.page.plant import write_plant_page

    records = _records(record)
    verdicts = judge_plants(records)
    if kind == "page":
        write_plant_page(path, record, verdicts)
        return
    write = columns_to_csv if kind == "csv" else columns_to_parquet
    write(columns_of_plants(records, verdicts), path)


def _write(kind: str, record: JournalRecord | FleetRecord, path: Path) -> None:
    from surefoot.controller import FleetRecord
    from surefoot.experiments.export import columns_to_csv, columns_to_parquet
    from surefoot.experiments.page.journal import write_fleet_page, write_journal_page

    if kind != "page":
        write = columns_to_csv if kind == "csv" else columns_to_parquet
        write(record.columns(), path)
    elif isinstance(record, FleetRecord):
        write_fleet_page(path, record)
    else:
        latest = [_cells(row) for row in record.rounds[:-51:-1]]
        write_journal_page(path, record, _HEAD, latest)
