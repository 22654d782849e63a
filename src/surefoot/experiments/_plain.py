"""Typed records as plain data and back: what JSON can hold, checked against the annotations."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from surefoot.core.errors import InvalidValueError

__all__ = ["from_plain", "to_plain"]

R = TypeVar("R")

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def to_plain(record: Any) -> Any:
    """Return a record as dicts, lists, texts and numbers."""
    if is_dataclass(record):
        return {f.name: to_plain(getattr(record, f.name)) for f in fields(record)}
    if isinstance(record, dict):
        return {key: to_plain(value) for key, value in record.items()}
    if isinstance(record, tuple | list):
        return [to_plain(value) for value in record]
    return record


def from_plain(kind: type[R], data: Any, name: str) -> R:
    """Return the record that plain data describe.

    Keys that the record does not have are left out.

    Args:
        kind: a dataclass.
        data: as :func:`to_plain` returns them.
        name: what to call the data in an error.

    Raises:
        InvalidValueError: a value is missing, or is not what the annotation says.
    """
    return _read(kind, data, name)  # type: ignore[no-any-return]


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, data: Any, name: str) -> Any:
    if kind is Any:
        return data
    if isinstance(kind, UnionType):
        return _read_one_of(get_args(kind), data, name)
    if is_dataclass(kind):
        return _read_dataclass(kind, data, name)
    if (origin := get_origin(kind)) is dict:
        if not isinstance(data, dict):
            raise InvalidValueError(f"{name} must be a table, got {data!r}")
        return {k: _read(get_args(kind)[1], v, f"{name}.{k}") for k, v in data.items()}
    if origin is tuple:
        if not isinstance(data, list | tuple):
            raise InvalidValueError(f"{name} must be a list, got {data!r}")
        return tuple(_read(get_args(kind)[0], v, f"{name}[{i}]") for i, v in enumerate(data))
    if hasattr(kind, "_fields"):
        return _read_named_tuple(kind, data, name)
    if not _fits(kind, data):
        raise InvalidValueError(f"{name} must be {_NAMES[kind]}, got {data!r}")
    return data


def _fits(kind: Any, data: Any) -> bool:
    """Return whether a value is of a simple type; true is no number, a whole number is a float."""
    if kind is NoneType:
        return data is None
    if kind is bool or isinstance(data, bool):
        return kind is bool and isinstance(data, bool)
    return isinstance(data, int | float) if kind is float else isinstance(data, kind)


def _read_one_of(kinds: tuple[Any, ...], data: Any, name: str) -> Any:
    simple = [kind for kind in kinds if kind in _NAMES or kind is NoneType]
    if any(_fits(kind, data) for kind in simple):
        return data
    for kind in kinds:
        if kind not in simple:
            return _read(kind, data, name)
    words = " or ".join(_NAMES[kind] for kind in simple if kind is not NoneType)
    raise InvalidValueError(f"{name} must be {words}, got {data!r}")


def _read_dataclass(kind: Any, data: Any, name: str) -> Any:
    if not isinstance(data, dict):
        raise InvalidValueError(f"{name} must be a table, got {data!r}")
    for f in fields(kind):
        if f.name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise InvalidValueError(f"{name} must have '{f.name}', got {sorted(data)}")
    return kind(
        **{n: _read(h, data[n], f"{name}.{n}") for n, h in _hints(kind).items() if n in data}
    )


def _read_named_tuple(kind: Any, data: Any, name: str) -> Any:
    if not isinstance(data, list | tuple) or len(data) != len(kind._fields):
        raise InvalidValueError(f"{name} must be a list of {len(kind._fields)}, got {data!r}")
    values = zip(_hints(kind).items(), data, strict=True)
    return kind(*(_read(hint, value, f"{name}.{n}") for (n, hint), value in values))
