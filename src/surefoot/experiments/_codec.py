"""Encode cells and documents for a results file, and decode them with every check."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from surefoot._sqlite import digest, from_bytes, to_bytes
from surefoot.core.errors import InvalidValueError
from surefoot.experiments._plain import from_plain
from surefoot.experiments.record import CellResult, Facts, Place, Status, misshapen

__all__ = [
    "COLUMNS",
    "PlanDocument",
    "decode",
    "encode",
    "is_whole",
    "json_of",
    "shown",
    "status_of",
]

COLUMNS = ("address", "status", "note", "spec", "facts", "provenance", "arrays")
"""The texts of a cell; its digest is taken over them in this order."""

_STATUSES = get_args(Status)


@dataclass(frozen=True)
class PlanDocument:
    """The plan of an experiment, as one document."""

    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class _Read:
    """What readers look up in the provenance of a cell; the rest may be any plain data."""

    seconds: float | None = None
    microseconds_a_round: float | None = None
    versions: dict[str, str | None] = field(default_factory=dict)


def encode(cell: CellResult) -> tuple[tuple[str | bytes, ...], dict[str, bytes]]:
    """Return the texts of a cell with their digest, and its arrays as npy bytes.

    Raises:
        InvalidValueError: the cell holds something that cannot be stored.
    """
    if cell.status not in _STATUSES:
        raise InvalidValueError(
            f"status must be one of {', '.join(_STATUSES)}, got {cell.status!r}"
        )
    arrays = {name: to_bytes(np.asarray(cell.arrays[name])) for name in sorted(cell.arrays)}
    sums = {name: digest(data).hex() for name, data in arrays.items()}
    # A note may quote what is not text: it is stored as it would be shown.
    note = cell.note.encode(errors="backslashreplace").decode()
    texts = map(json_of, (cell.spec, cell.facts.to_plain(), cell.provenance, sums))
    row = (cell.address, cell.status, note, *texts)
    return (*row, digest(*(text.encode() for text in row))), arrays


def decode(row: tuple[Any, ...], arrays: Mapping[str, bytes]) -> CellResult:
    """Return the cell of a row that :func:`is_whole`, with its arrays.

    A forged file has digests that fit, so nothing of it is taken for granted.

    Raises:
        InvalidValueError: it is not the row of a cell; the sentence says why.
    """
    address, status, note, *texts = row
    try:
        spec, facts, provenance, sums = map(json.loads, texts)
    except (ValueError, RecursionError):
        raise InvalidValueError("its texts are not JSON") from None
    known = Facts.from_plain(facts)
    from_plain(_Read, provenance, "provenance")
    for name, value in {"spec": spec, "arrays": sums}.items():
        if not isinstance(value, dict):
            raise InvalidValueError(f"{name} must be a table, got {value!r}")
    if (word := status_of(status)) is None:
        raise InvalidValueError(f"status must be one of {', '.join(_STATUSES)}")
    for name in sorted(sums.keys() | arrays.keys()):
        if name not in arrays:
            raise InvalidValueError(f"its array '{name}' is missing")
        if name not in sums:
            raise InvalidValueError(f"its array '{name}' is one too many")
        if digest(arrays[name]).hex() != sums[name]:
            raise InvalidValueError(f"its array '{name}' is not what was written")
    numbers = {name: _array(name, arrays[name]) for name in sums}
    if why := misshapen(numbers):
        raise InvalidValueError(why)
    return CellResult(
        address=shown(address),
        spec=spec,
        status=word,
        note=shown(note),
        facts=known,
        arrays=numbers,
        provenance=provenance,
    )


def _array(name: str, data: bytes) -> np.ndarray:
    try:
        return from_bytes(data)
    except ValueError as error:
        raise InvalidValueError(f"its array '{name}' is no array") from error


def is_whole(row: tuple[Any, ...]) -> bool:
    """Return whether the texts of a cell, and their digest at the end, are what was written."""
    return bool(digest(*row[:-1]) == row[-1])


def status_of(value: Any) -> Status | None:
    """Return a status that was read as bytes; None if it is none."""
    word = shown(value)
    return word if word in _STATUSES else None  # type: ignore[return-value]


def shown(value: Any) -> str:
    """Return a text that was read as bytes, whatever damage made of it."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def json_of(data: Any) -> str:
    """Return plain data as JSON, the same text for the same data."""
    return json.dumps(_plain(data), sort_keys=True, allow_nan=False, separators=(",", ":"))


def _plain(data: Any) -> Any:
    """Return data as JSON can hold it: Python's numbers, None for floats that are not finite."""
    if isinstance(data, np.generic):
        data = data.item()
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise InvalidValueError(f"keys of data to be stored must be texts, got {key!r}")
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    raise InvalidValueError(
        f"data to be stored must be plain (texts, numbers, lists, dicts), got {data!r}"
    )
