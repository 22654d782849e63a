"""A log in a file: which columns are actions, values of g, slopes and contexts."""

import csv
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError

__all__ = ["Log", "read_log"]

# Names in a header; an action and its slope have the same end: x1 and s1 [K/kW].
_UNIT = r"\s*(?:[\[(](?!\d+[\])])[^\[(]*[\])])?"
_PATTERNS = {
    what: re.compile(rf"(?:{words})\s*([\W_]*?\d*\W*?){_UNIT}", re.IGNORECASE)
    for what, words in {
        "actions": "x|u|action|setpoint",
        "g": "g|constraint|constraint_value",
        "slopes": "s|slope|subgradient|constraint_subgradient",
        "context": "c|context",
    }.items()
}
_DECIMAL_COMMA = re.compile(r"^([+-]?\d+),(\d+(?:e[+-]?\d+)?)$", re.IGNORECASE)


class Log(NamedTuple):
    """The rounds of a file; round n is its line n + 1.

    Attributes:
        x: the actions, one row each.
        g: the value of each.
        s: the slope of each; None without slopes.
        context: the context of each; None without one.
        columns: the columns that were used, in a sentence.
        errors: bounds on the errors from rounding to the last digit written, as ``rounding`` of the
            values and ``slope_error``; 0 for whole numbers.
    """

    x: np.ndarray
    g: np.ndarray
    s: np.ndarray | None
    context: np.ndarray | None
    columns: str
    errors: dict[str, float]


def read_log(
    path: str | Path,
    *,
    actions: Sequence[str] = (),
    g: str | None = None,
    slopes: Sequence[str] = (),
    context: Sequence[str] = (),
) -> Log:
    """Read a log from a CSV file, for ``from_log(log.x, log.g, log.s, **log.errors)``.

    The header names the columns that are not given: ``x1``, ``x_2``, ``action``, ``u[0]`` are
    actions, ``g`` or ``constraint_value`` the value, ``s1`` or ``slope_1`` slopes, ``c`` or
    ``context_1`` contexts, each perhaps with a unit, ``g [K]``. Other columns are not used. Commas,
    semicolons or tabs may divide them; with semicolons a number may have a decimal comma.

    Args:
        path: of a file in UTF-8 whose first line names the columns.
        actions: columns of the action.
        g: column of the constraint's value.
        slopes: columns of the subgradient, in the order of the actions.
        context: columns of what else g depends on.
    """
    head, *rows = read_cells(Path(path))
    choices = {"actions": actions, "g": [] if g is None else [g], "slopes": slopes}
    used = _choose_columns(path, head, choices | {"context": context})
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    arrays = {
        what: np.column_stack([_read_numbers(path, name, columns[name]) for name in names])
        for what, names in used.items()
        if names
    }
    rest = [name for name in head if not any(name in names for names in used.values())]
    words = [f"{what} {', '.join(names) or 'none'}" for what, names in used.items()]
    words += [f"not used {', '.join(rest)}"] if rest else []
    s, contexts = arrays.get("slopes"), arrays.get("context")
    halves = [find_rounding(columns[name]) for name in (*used["g"], *used["slopes"])]
    errors = {"rounding": halves[0], "slope_error": math.hypot(*halves[1:])}
    return Log(arrays["actions"], arrays["g"][:, 0], s, contexts, "; ".join(words), errors)


def _choose_columns(
    path: str | Path, head: list[str], choices: dict[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the columns of actions, g, slopes and context: those given, else by the header."""
    used, has = {what: list(names) for what, names in choices.items()}, ", ".join(head)
    chosen = [name for names in used.values() for name in names]
    if strangers := [name for name in chosen if name not in head]:
        raise InvalidValueError(f"'{path}' has no column {strangers[0]!r}: it has {has}")
    if twice := [name for name in chosen if chosen.count(name) > 1]:
        raise InvalidValueError(f"'{path}': a column must be named once, got {twice[0]!r} twice")
    for what, pattern in _PATTERNS.items():
        free = [name for name in head if name not in chosen and pattern.fullmatch(name)]
        used[what] = used[what] or free
    if used["slopes"] and not choices["slopes"]:
        used["slopes"] = _sort_slopes(used["actions"], used["slopes"])
    _check_columns(path, used, has)
    return used


def _check_columns(path: str | Path, used: dict[str, list[str]], has: str) -> None:
    """Raise unless there are actions, one g, and slopes for all actions or none."""
    x, s = used["actions"], used["slopes"]
    if not x or len(used["g"]) != 1:
        what = "g" if x else "the action"
        raise InvalidValueError(f"'{path}': name the column of {what}; the file has {has}")
    if s and ("" in s or len(s) != len(x)):
        wrong = f"{', '.join(filter(None, s))} for {', '.join(x)}"
        raise InvalidValueError(f"'{path}' must have a slope per action in its order, got {wrong}")


def _sort_slopes(actions: list[str], slopes: list[str]) -> list[str]:
    """Return the slopes in the order of the actions that end in the same way."""
    order = [m[1] for name in actions if (m := _PATTERNS["actions"].fullmatch(name))]
    ends = {m[1]: name for name in slopes if (m := _PATTERNS["slopes"].fullmatch(name))}
    return [ends.pop(end, "") for end in order] + list(ends.values())


def read_cells(path: Path) -> list[list[str]]:
    """Return the cells of each line; those of the first one name the columns."""
    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        raise InvalidValueError(f"'{path}', line {at}: it must be UTF-8 text") from None
    while lines and not lines[-1].strip():
        lines.pop()
    divider = max(",;\t", key=lines[0].count) if lines else ","
    reader = csv.reader(lines, delimiter=divider)
    try:
        cells = []
        for row in reader:
            cells.append([cell.strip() for cell in row])
            if reader.line_num > len(cells):
                where = f"'{path}', line {len(cells)}"
                raise InvalidValueError(f"{where}: a cell must be in one line, got quotes around 2")
        if divider == ";":
            cells[1:] = [[_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in row] for row in cells[1:]]
    except csv.Error as error:
        raise InvalidValueError(f"'{path}', line {reader.line_num}: {error}") from None
    for t, row in enumerate(cells, 1):
        if len(row) != len(cells[0]):
            counts = f"{len(cells[0])} columns, got {len(row)}"
            raise InvalidValueError(f"'{path}', line {t}: it must have {counts}")
    if len(cells) < 3:
        size = f"{len(cells)} lines"
        raise InvalidValueError(f"'{path}' must have a header and at least 2 rounds, got {size}")
    names = [name for name in cells[0] if name and math.isnan(to_float(name))]
    if len(set(names)) < len(cells[0]):
        raise InvalidValueError(f"'{path}', line 1: it must name each column, got {lines[0]!r}")
    return cells


def to_float(cell: str) -> float:
    """Return a cell as a number; NaN if it is not one."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def find_rounding(cells: Sequence[str]) -> float:
    """Return half a unit of the last digit of numbers; 0 for whole ones, and for 16 digits or more.

    Only the larger half of them counts: zeros at an end may have been left out, and with equally
    many digits small numbers have more after the point.
    """
    numbers = sorted(map(Decimal, set(cells)), key=abs)
    parts = [number.as_tuple() for number in numbers[(len(numbers) - 1) // 2 :]]
    behind = max(-int(part.exponent) for part in parts)
    is_rounded = behind > 0 and max(len(part.digits) for part in parts) < 16
    return 0.5 * 10.0**-behind if is_rounded else 0.0


def _read_numbers(path: str | Path, name: str, cells: Sequence[str]) -> np.ndarray:
    """Return a column as numbers; reject anything else with its line."""
    numbers = np.array([to_float(cell) for cell in cells])
    if (wrong := np.flatnonzero(~np.isfinite(numbers))).size:
        raise InvalidValueError(
            f"'{path}', line {wrong[0] + 2}, column {name}: it must be a finite number, "
            f"got {cells[wrong[0]]!r}"
        )
    return numbers
