"""The lines of a journal: their digests, and no key that is unknown or there twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NoReturn

from .exact import WrongError
from .fleet import Fleet, Record
from .keys import FLEET, LINES, refuse_strangers

__all__ = ["read_records"]

FIRST = b'{"kind":"journal","format":2,'
_END = len(',"digest":""}') + 64


def read_records(path: str) -> Iterator[Record]:
    """Yield the records of a journal, of all its files, each with its member; None if it has none.

    A line of a controller is one record. One of a fleet is as many as it has members, or none.
    """
    fleet = None
    for place, line in _read_lines(path):
        if fleet is None and "members" in line:
            fleet = Fleet()
        if fleet is None:
            yield None, line
            continue
        try:
            yield from fleet.expand(line)
        except WrongError as error:
            raise WrongError(f"{place}: {error}") from None


def _read_lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a journal, of all its files, each with its place in words."""
    digest, part, kind, is_fleet = "", 1, "continued", False
    while kind == "continued":
        name = path if part == 1 else f"{path}.{part}"
        with open(name, "rb") as file:  # noqa: PTH123
            lines = file.read().split(b"\n")
        _check_first(lines[0], name, part)
        for i, line in enumerate(lines[:-1]):  # what has no end was never acknowledged
            if i and kind == "continued":
                raise WrongError(f"'{name}' goes on after the line that it ends with")
            digest = hashlib.sha256(digest.encode() + line[:-_END]).hexdigest()
            if line[-_END:] != b',"digest":"%s"}' % digest.encode():
                raise WrongError(f"a line of '{name}' is not what was written: {line[:40]!r}")
            table = json.loads(line, object_pairs_hook=_table, parse_constant=_refuse)
            is_fleet = is_fleet or (i == 0 and part == 1 and "members" in table)
            kind = refuse_strangers(table, FLEET if is_fleet else LINES, "line")
            if (kind == "journal") != (i == 0):
                raise WrongError(f"a line of the kind {kind!r} must not be where it is")
            if i == 0 and table.get("part", 1) != part:
                raise WrongError(f"a file must be part {part}, got {table.get('part', 1)!r}")
            yield f"line {i + 1} of '{name}'", table
        part += 1


def _check_first(line: bytes, name: str, part: int) -> None:
    """Raise unless a file begins as a journal, and the first one with the run."""
    if not line.startswith(FIRST):
        raise WrongError(f"'{name}' is not a journal that this checker knows")
    if part == 1 and b',"after":"' in line[-2 * _END :]:
        raise WrongError(f"'{name}' continues another file: check the first of the run")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the table of a line: of a key that is there twice, one reader takes the other."""
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise WrongError(f"a key must be there once, got {twice!r} twice")
    return table


def _refuse(word: str) -> NoReturn:
    raise WrongError(f"a number must be finite, got {word}")
