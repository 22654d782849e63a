"""The lines of a journal: their digests, and no key that is unknown or there twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NoReturn

from .exact import WrongError

__all__ = ["read_lines"]

FIRST = b'{"kind":"journal","format":2,'
_END = len(',"digest":""}') + 64
_PLAYER = "player guarantee start on_contradiction on_missing"
_KEYS = {
    "journal": f"{_PLAYER} format surefoot created engine rotate durable_every rounds part after "
    "loop",
    "round": "time cost_gradient proposal constraint_value constraint_subgradient cost_value "
    "value_error slope_error within hint context played missing how why breaches next certificate",
    "announce": "time context next certificate",
    "refused": "time breaches",
    "snapshot": "loop",
    "note": "time text",
    "hold": "time reason next certificate",
    "retreat": "time reason speed next certificate",
    "resume": f"time reason fresh loop next certificate {_PLAYER}",
    "torn": "time bytes sentence",
    "engine": "time engine loop sentence",
    "rebuilt": "time loop sentence",
    "continued": "time file",
    "closed": "time",
}
"""What a line of each kind may have beside its kind, round and digest. A key that is misspelt would
mean that it is not there, and one that is not known could say anything."""


def read_lines(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal, of all its files."""
    digest, part, kind = "", 1, "continued"
    while kind == "continued":
        name = path if part == 1 else f"{path}.{part}"
        with open(name, "rb") as file:  # noqa: PTH123
            lines = file.read().split(b"\n")
        if not lines[0].startswith(FIRST):
            raise WrongError(f"'{name}' is not a journal that this checker knows")
        if part == 1 and b',"after":"' in lines[0][-2 * _END :]:
            raise WrongError(f"'{name}' continues another file: check the first of the run")
        for i, line in enumerate(lines[:-1]):  # what has no end was never acknowledged
            if i and kind == "continued":
                raise WrongError(f"'{name}' goes on after the line that it ends with")
            digest = hashlib.sha256(digest.encode() + line[:-_END]).hexdigest()
            if line[-_END:] != b',"digest":"%s"}' % digest.encode():
                raise WrongError(f"a line of '{name}' is not what was written: {line[:40]!r}")
            yield (record := _parse(line, i == 0, part))
            kind = record["kind"]
        part += 1


def _parse(line: bytes, is_first: bool, part: int) -> dict[str, Any]:
    """Return a record that has only keys which are known."""
    record: dict[str, Any] = json.loads(line, object_pairs_hook=_table, parse_constant=_refuse)
    kind = record.get("kind")
    if kind not in _KEYS or (kind == "journal") != is_first:
        raise WrongError(f"a line of the kind {kind!r} must not be where it is")
    if is_first and "fleet" in record:
        return record
    if strangers := sorted(set(record) - {"kind", "round", "digest", *_KEYS[kind].split()}):
        raise WrongError(f"a line of the kind {kind!r} must not have a key {strangers[0]!r}")
    if is_first and record.get("part", 1) != part:
        raise WrongError(f"a file must be part {part}, got {record.get('part', 1)!r}")
    return record


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
