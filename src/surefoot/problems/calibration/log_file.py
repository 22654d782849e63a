"""A log in a file: which columns are actions, values of g, slopes and contexts."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError

__all__ = ["Log", "read_log"]

# What a header may call them; an action and its slope have the same end: x1 and s1.
_PATTERNS = {
    what: re.compile(rf"(?:{words})([\W_]*\d*\W*)", re.IGNORECASE)
    for what, words in {
        "actions": "x|u|action|setpoint",
        "g": "g|constraint|constraint_value",
        "slopes": "s|slope|subgradient|constraint_subgradient",
        "context": "c|context",
    }.items()
}


class Log(NamedTuple):
    """The rounds of a file; round n is its line n + 1.

    Attributes:
        x: the actions, one row each.
        g: the value of each.
        s: the slope of each; None where there are none.
        context: the context of each; None where there is none.
        columns: which columns were taken, in a sentence.
    """

    x: np.ndarray
    g: np.ndarray
    s: np.ndarray | None
    context: np.ndarray | None
    columns: str


def read_log(
    path: str | Path,
    *,
    actions: Sequence[str] = (),
    g: str | None = None,
    slopes: Sequence[str] = (),
    context: Sequence[str] = (),
) -> Log:
    """Read a log from a CSV file, for ``from_log(log.x, log.g, log.s, context=log.context)``.

    Columns that are not named are found by the header: ``x1``, ``x_2``, ``action``, ``u[0]`` are
    actions, ``g`` or ``constraint_value`` the value, ``s1`` or ``slope_1`` slopes, ``c`` or
    ``context_1`` contexts. Other columns are not used. Commas, semicolons or tabs may divide them.

    Args:
        path: of a file in UTF-8 whose first line names the columns.
        actions: columns of the action.
        g: column of the constraint's value.
        slopes: columns of the subgradient, in the order of the actions.
        context: columns of what else g depends on.
    """
    head, rows = _read_cells(Path(path))
    named = {"actions": actions, "g": [] if g is None else [g], "slopes": slopes}
    used = _choose_columns(path, head, named | {"context": context})
    numbers = {
        what: np.array([[_number(path, t, head, row, name) for name in names] for t, row in rows])
        for what, names in used.items()
        if names
    }
    rest = [name for name in head if not any(name in names for names in used.values())]
    said = [f"{what} {', '.join(names) or 'none'}" for what, names in used.items()]
    return Log(
        numbers["actions"],
        numbers["g"][:, 0],
        numbers.get("slopes"),
        numbers.get("context"),
        "; ".join([*said, *([f"not used {', '.join(rest)}"] if rest else [])]),
    )


def _choose_columns(
    path: str | Path, head: list[str], named: dict[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the columns of actions, g, slopes and context: those named, else by the header."""
    used = {what: list(names) for what, names in named.items()}
    taken = [name for names in used.values() for name in names]
    if strangers := [name for name in taken if name not in head]:
        has = ", ".join(head)
        raise InvalidValueError(f"'{path}' has no column {strangers[0]!r}: it has {has}")
    for what, pattern in _PATTERNS.items():
        free = [name for name in head if name not in taken and pattern.fullmatch(name)]
        used[what] = used[what] or free
    if not named["slopes"]:
        used["slopes"] = _sort_slopes(used["actions"], used["slopes"])
    _check_columns(path, head, used)
    return used


def _sort_slopes(actions: list[str], slopes: list[str]) -> list[str]:
    """Return the slopes in the order of the actions that end in the same way."""
    found = [(_PATTERNS["slopes"].fullmatch(name), name) for name in slopes]
    ends = {end[1]: name for end, name in found if end}
    order = [_PATTERNS["actions"].fullmatch(name) for name in actions]
    return [ends.pop(end[1], "") for end in order if end and slopes] + list(ends.values())


def _check_columns(path: str | Path, head: list[str], used: dict[str, list[str]]) -> None:
    x, s = used["actions"], used["slopes"]
    for what, names in (("the action", x), ("g", used["g"])):
        if not names or (what == "g" and len(names) > 1):
            has = ", ".join(head)
            raise InvalidValueError(f"'{path}': name the column of {what}; the file has {has}")
    if s and ("" in s or len(s) != len(x)):
        wrong = f"{', '.join(filter(None, s))} for {', '.join(x)}"
        raise InvalidValueError(f"'{path}' must have a slope per action in its order, got {wrong}")


def _read_cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, and the cells of each line with its number."""
    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").rstrip().splitlines()
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        raise InvalidValueError(f"'{path}', line {at}: it must be UTF-8 text") from None
    divider = max(",;\t", key=lines[0].count) if lines else ","
    cells: list[list[str]] = []
    for t, line in enumerate(lines, 1):
        try:
            row = [cell.strip() for cell in next(csv.reader([line], delimiter=divider), [])]
        except csv.Error as error:
            raise InvalidValueError(f"'{path}', line {t}: {error}") from None
        if len(row) != len(cells[0] if cells else row):
            wanted = f"{len(cells[0])} columns, got {len(row)}"
            raise InvalidValueError(f"'{path}', line {t}: it must have {wanted}")
        cells.append(row)
    if len(cells) < 3:
        found = f"{len(cells)} lines"
        raise InvalidValueError(f"'{path}' must have a header and at least 2 rounds, got {found}")
    head, *rows = cells
    if (
        len(set(head)) < len(head)
        or "" in head
        or any(_to_float(name) is not None for name in head)
    ):
        raise InvalidValueError(f"'{path}', line 1: it must name each column, got {lines[0]!r}")
    return head, list(enumerate(rows, 2))


def _to_float(cell: str) -> float | None:
    """Return a cell as a number; None where it is none."""
    try:
        found = float(cell)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _number(path: str | Path, line: int, head: list[str], row: list[str], name: str) -> float:
    """Return a cell as a number; refuse anything else with its line and column."""
    cell = row[head.index(name)]
    if (found := _to_float(cell)) is None:
        raise InvalidValueError(
            f"'{path}', line {line}, column {name}: it must be a finite number, got {cell!r}"
        )
    return found
