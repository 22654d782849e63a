"""Columns: many numbers of a line as the base64 of their bytes, little-endian, in C order."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

from .exact import WrongError

__all__ = ["read_certificates", "read_column", "read_rows"]

_FIELDS = 64
"""How many fields a certificate may have: each of them is there for every member."""
_FORMS = {"float64": ("d", 8), "int64": ("q", 8), "bool": ("?", 1)}
"""By type, the letter of :mod:`struct`, and the bytes of one number."""


def read_column(
    data: Any, name: str, count: int, kinds: tuple[str, ...] = ("float64",)
) -> list[Any]:
    """Return the numbers of a column.

    Args:
        data: the column, as a line has it.
        name: what it is, in a sentence.
        count: how many numbers it must have.
        kinds: of which types they may be.
    """
    return _unpack(data, name, [count], kinds)


def read_rows(data: Any, name: str, count: int) -> list[list[Any]]:
    """Return the rows of a column of floats, which has an axis more; see :func:`read_column`."""
    shape = data.get("shape") if isinstance(data, dict) else None
    if not isinstance(shape, list) or len(shape) != 2 or not _is_count(shape[1]):
        raise WrongError(f"{name} must be a column of {count} rows")
    entries, width = _unpack(data, name, [count, shape[1]], ("float64",)), shape[1]
    return [entries[i : i + width] for i in range(0, len(entries), width)]


def _is_count(value: Any) -> bool:
    """Return whether something is a whole number from 1: rows without entries cost memory too."""
    return type(value) is int and value >= 1


def _unpack(data: Any, name: str, shape: list[int], kinds: tuple[str, ...]) -> list[Any]:
    """Return the numbers of a column of a shape; its bytes are counted before any is read."""
    if not isinstance(data, dict) or set(data) != {"bytes", "type", "shape"}:
        raise WrongError(f"{name} must be a column: bytes, type and shape")
    if (kind := data["type"]) not in kinds:
        raise WrongError(f"{name} must be of the type {' or '.join(kinds)}, got {kind!r}"[:200])
    if data["shape"] != shape or not all(type(n) is int for n in data["shape"]):
        raise WrongError(f"{name} must have the shape {shape}, got {data['shape']!r}"[:200])
    (letter, size), count, text = _FORMS[kind], math.prod(shape), data["bytes"]
    if not isinstance(text, str) or len(text) != 4 * -(-count * size // 3):
        raise WrongError(f"{name} must have the bytes of {count} numbers")
    try:
        packed = base64.b64decode(text, validate=True)
    except ValueError:
        raise WrongError(f"{name} must be in base64") from None
    if len(packed) != count * size:
        raise WrongError(f"{name} must have the bytes of {count} numbers")
    if kind == "bool" and max(packed, default=0) > 1:
        raise WrongError(f"{name} must be 0 or 1")
    return list(struct.unpack(f"<{count}{letter}", packed))


def read_certificates(data: Any, count: int) -> list[Any]:
    """Return certificates, one for each of some members, as the records of one have them."""
    if isinstance(data, list):
        if len(data) != count or not all(part is None or type(part) is dict for part in data):
            raise WrongError(f"certificates must be {count} tables")
        return data
    if not isinstance(data, dict) or set(data) != {"class", "columns", "same"}:
        raise WrongError("certificates must be a list, or have a class, columns and same")
    columns, same = data["columns"], data["same"]
    _check_fields(columns, same)
    tables = [{"class": data["class"], **same} for _ in range(count)]
    for name, column in columns.items():
        entries = read_column(column, repr(name), count, tuple(_FORMS))
        for table, number in zip(tables, entries, strict=True):
            table[name] = number if math.isfinite(number) else {"number": repr(number)}
    return tables


def _check_fields(columns: Any, same: Any) -> None:
    """Raise unless the fields of certificates are tables, few, and each there once."""
    if not isinstance(columns, dict) or not isinstance(same, dict):
        raise WrongError("columns and same of certificates must be tables")
    names = ["class", *columns, *same]
    if len(set(names)) != len(names):
        raise WrongError("a field of certificates must be there once: in columns, or in same")
    if len(names) > _FIELDS:
        raise WrongError(f"certificates must have at most {_FIELDS} fields, got {len(names)}")
