"""The log of a plant: set points, contexts and a limit in their units, and the time of each row."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError, suggest
from surefoot.core.types import FloatArray
from surefoot.problems.calibration.log_file import read_cells, to_float
from surefoot.problems.plant.durations import SECONDS

__all__ = ["LogColumn", "PlantLog", "read_plant_log", "slug"]

_UNIT = re.compile(r"^(.*?)\s*[\[(]([^\[\]()]*)[\])]$")
_LARGEST = 1e15
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


class LogColumn(NamedTuple):
    """A column of a log.

    Attributes:
        name: a short word, made of the header.
        unit: what the header has in brackets; 1 without any.
        values: one per row.
    """

    name: str
    unit: str
    values: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantLog:
    """The log of a plant.

    Attributes:
        file: its name.
        actuators: the columns of the set points.
        contexts: those of what else moves the limit.
        limit: that of the value that must keep the limit.
        minutes: the time of each row; its line without a column of times.
        has_times: whether there is one.
        lines: the line of the file of each row.
        gaps: how many rows are left out because a cell has no number.
        longest_gap: how many of them follow one another.
        backward: the first line whose time is not after that of the line before; None without any.
    """

    file: str
    actuators: tuple[LogColumn, ...]
    contexts: tuple[LogColumn, ...]
    limit: LogColumn
    minutes: FloatArray
    has_times: bool
    lines: np.ndarray
    gaps: int
    longest_gap: int
    backward: int | None

    @property
    def x(self) -> FloatArray:
        """The set points, one row each."""
        return np.column_stack([column.values for column in self.actuators])

    @property
    def c(self) -> FloatArray:
        """The contexts, one row each."""
        empty = np.zeros((len(self.lines), 0))
        return np.column_stack([empty, *(column.values for column in self.contexts)])

    @property
    def interval(self) -> float | None:
        """The usual time from a row to the next, in minutes; None without times."""
        steps = np.diff(self.minutes)
        return float(np.median(steps[steps > 0])) if self.has_times and (steps > 0).any() else None


def read_plant_log(
    path: str | Path,
    *,
    limit: str | None,
    actuators: Sequence[str],
    contexts: Sequence[str] = (),
    time: str | None = None,
    gaps: Literal["refuse", "skip"] = "refuse",
) -> PlantLog:
    """Read the log of a plant from a CSV file; every column by its header, with or without unit.

    Args:
        path: of a file in UTF-8 whose first line names the columns, units in brackets.
        limit: column of the value that must keep a limit.
        actuators: columns of the set points.
        contexts: columns of what else moves the value, such as the weather.
        time: column of the times: ``2026-03-01 14:00``, ``14:00``, or numbers with their unit in
            the header.
        gaps: "skip" leaves rows out in which a cell has no number; "refuse" names the first.
    """
    head, *rows = read_cells(Path(path))
    columns = _find_columns(path, head, limit, actuators, contexts, time)
    cells = dict(zip(head, zip(*rows, strict=True), strict=True))
    numbers = {
        header: np.array([to_float(cell) for cell in cells[header]])
        for header in (*columns["actuators"], *columns["contexts"], *columns["limit"])
    }
    clock = columns["time"]
    minutes = np.arange(2.0, len(rows) + 2)
    if clock:
        minutes = np.array([_to_time(cell, _split(clock[0])[1]) for cell in cells[clock[0]]])
    table = np.column_stack([*numbers.values(), minutes])
    is_whole = np.isfinite(table).all(axis=1)
    if not is_whole.all() and (gaps == "refuse" or not is_whole.any()):
        row = int(np.argmin(is_whole))
        header = [*numbers, *clock][int(np.argmin(np.isfinite(table[row])))]
        raise InvalidValueError(_no_number(path, row, header, cells[header][row], header in clock))
    if (np.abs(table[is_whole]) > _LARGEST).any():
        row, at = np.argwhere(is_whole[:, None] & (np.abs(table) > _LARGEST))[0].tolist()
        header = [*numbers, *clock][at]
        raise InvalidValueError(
            f"'{path}', line {row + 2}, column {header}: it must be a number of a size up to "
            f"{_LARGEST:g}, got {cells[header][row]!r}"
        )
    if is_whole.sum() < 2:
        raise InvalidValueError(f"'{path}' must have 2 rows without gaps, got {is_whole.sum()}")
    kept = np.flatnonzero(is_whole)
    named = _name_columns(path, {header: values[kept] for header, values in numbers.items()})
    late = np.flatnonzero(np.diff(minutes[kept]) <= 0)
    return PlantLog(
        file=Path(path).name,
        actuators=tuple(named[header] for header in columns["actuators"]),
        contexts=tuple(named[header] for header in columns["contexts"]),
        limit=named[columns["limit"][0]],
        minutes=minutes[kept],
        has_times=bool(clock),
        lines=kept + 2,
        gaps=len(rows) - len(kept),
        longest_gap=_longest(~is_whole),
        backward=int(kept[late[0] + 1]) + 2 if late.size else None,
    )


def _find_columns(
    path: str | Path,
    head: Sequence[str],
    limit: str | None,
    actuators: Sequence[str],
    contexts: Sequence[str],
    time: str | None,
) -> dict[str, list[str]]:
    """Return the headers of the columns that are used; each is used once."""
    choices = {
        "limit": [] if limit is None else [limit],
        "actuators": list(actuators),
        "contexts": list(contexts),
        "time": [] if time is None else [time],
    }
    found = {what: [_find(path, head, word) for word in words] for what, words in choices.items()}
    used = [header for headers in found.values() for header in headers]
    if twice := [header for header in used if used.count(header) > 1]:
        raise InvalidValueError(f"'{path}': a column must be named once, got {twice[0]!r} twice")
    free = ", ".join(f'"{header}"' for header in head if header not in used)
    if not found["limit"]:
        raise InvalidValueError(f"say which column the limit is: --limit, one of {free}")
    if not found["actuators"]:
        raise InvalidValueError(f"say which columns are set points: --actuators, some of {free}")
    return found


def _find(path: str | Path, head: Sequence[str], word: str) -> str:
    """Return the header that a word names: the whole of it, or without its unit."""
    matches = [header for header in head if word == header]
    matches = matches or [h for h in head if word.casefold() in (_split(h)[0].casefold(), slug(h))]
    if len(matches) != 1:
        many = f"; {' and '.join(matches)} are two of that name" if matches else ""
        raise InvalidValueError(f"'{path}' has no column {word!r}{many or suggest(word, head)}")
    return matches[0]


def _split(header: str) -> tuple[str, str]:
    """Return the name and the unit of a header.

    >>> _split("hot spot [degC]"), _split("valve")
    (('hot spot', 'degC'), ('valve', ''))
    """
    match = _UNIT.match(header)
    return (match[1].strip(), match[2].strip()) if match and match[1].strip() else (header, "")


def slug(header: str) -> str:
    """Return the name of a header as a plant file has names.

    >>> slug("IT load [MW]"), slug("2nd pump (Hz)")
    ('it_load', 'x2nd_pump')
    """
    words = re.sub(r"[^a-z0-9]+", "_", _split(header)[0].casefold()).strip("_")
    return (f"x{words}" if words[:1].isdigit() else words)[:32]


def _name_columns(path: str | Path, values: dict[str, FloatArray]) -> dict[str, LogColumn]:
    """Return the columns by header; their short names differ."""
    headers: dict[str, str] = {}
    for header in values:
        name = slug(header)
        if not _NAME.fullmatch(name):
            raise InvalidValueError(
                f"'{path}': a header must have a letter of a to z, got {header!r}"
            )
        if name in headers:
            raise InvalidValueError(
                f"'{path}': {headers[name]!r} and {header!r} must differ in more than signs, "
                f"got {name} for both"
            )
        headers[name] = header
    return {h: LogColumn(name, _split(h)[1] or "1", values[h]) for name, h in headers.items()}


def _to_time(cell: str, unit: str) -> float:
    """Return a time in minutes; NaN for what is none."""
    number = to_float(cell)
    if unit in SECONDS:
        return number * SECONDS[unit] / 60
    if not math.isnan(number):  # 8 may be a minute or an hour
        return math.nan
    for read in (datetime.fromisoformat, _time_of_day):
        try:
            moment = read(cell)
        except ValueError:
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.timestamp() / 60
    return math.nan


def _time_of_day(cell: str) -> datetime:
    return datetime.combine(datetime(2000, 1, 1, tzinfo=UTC), time.fromisoformat(cell))


def _no_number(path: str | Path, row: int, header: str, cell: str, is_time: bool) -> str:
    what = "a finite number"
    if is_time:
        what = "a time such as 2026-03-01 14:00, or a number whose unit the header has, as in t [s]"
    return (
        f"'{path}', line {row + 2}, column {header}: it must be {what}, got {cell!r} (--gaps skip "
        "leaves such rows out)"
    )


def _longest(flags: np.ndarray) -> int:
    """Return how many flags follow one another at most."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return int((ends[1::2] - ends[::2]).max(initial=0))
