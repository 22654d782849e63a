"""Typed records as plain data and back: what JSON can hold, checked against the annotations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from surefoot.core.errors import InvalidValueError

R = TypeVar("R")

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def to_plain(data: Any) -> Any:
    """Return records as tables, lists, texts and numbers; a float that is not finite as None.

    Raises:
        InvalidValueError: something in it is neither.
    """
    if isinstance(data, np.generic):
        data = data.item()
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if is_dataclass(data):
        return {f.name: to_plain(getattr(data, f.name)) for f in fields(data)}
    if isinstance(data, Mapping):
        if strangers := [key for key in data if not isinstance(key, str)]:
            raise InvalidValueError(
                f"keys of data to be stored must be texts, got {strangers[0]!r}"
            )
        return {key: to_plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [to_plain(value) for value in data]
    raise InvalidValueError(
        f"data to be stored must be plain (texts, numbers, lists, dicts), got {data!r}"
    )


def read_value(kind: Any, data: object, name: str) -> Any:
    """Return a value of a file as its annotation says: a list as a tuple, 1 for a float as 1.0.

    Raises:
        InvalidValueError: it is of another type.
    """
    return data if kind is None else _read(kind, data, name)


def from_plain(kind: type[R], data: Any, name: str) -> R:
    """Return the record that plain data describe; keys that it does not have are left out.

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
    if kind is object:
        return data
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return _read_union(parts, data, name)
    if origin is Literal:
        if data in parts and not isinstance(data, bool):
            return data
        words = ", ".join(map(repr, parts))
        raise InvalidValueError(f"{name} must be one of {words}, got {data!r}")
    if issubclass(origin or kind, tuple):
        return _read_tuple(kind, data, name)
    if is_dataclass(kind) or origin is dict:
        if not isinstance(data, dict):
            raise InvalidValueError(f"{name} must be a table, got {data!r}")
        if origin is dict:
            return {key: _read(parts[1], value, f"{name}.{key}") for key, value in data.items()}
        return _read_record(kind, data, name)
    if not _fits(kind, data):
        raise InvalidValueError(f"{name} must be {_NAMES[kind]}, got {data!r}")
    return float(data) if kind is float else data


def _read_union(kinds: tuple[Any, ...], data: Any, name: str) -> Any:
    if any(_fits(kind, data) for kind in kinds):
        return data
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    if len(kinds) == 1:
        return _read(kinds[0], data, name)
    words = " or ".join(_NAMES[kind] for kind in kinds)
    raise InvalidValueError(f"{name} must be {words}, got {data!r}")


def _fits(kind: Any, data: Any) -> bool:
    """Return whether a value is of a simple type; true is no number, a whole number is a float."""
    if kind is NoneType:
        return data is None
    if isinstance(data, bool):
        return kind is bool
    if kind is float:
        return isinstance(data, int | float) and math.isfinite(data)
    return kind in _NAMES and isinstance(data, kind)


def _read_record(kind: Any, data: dict[str, Any], name: str) -> Any:
    for f in fields(kind):
        if f.name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise InvalidValueError(f"{name} must have '{f.name}', got {sorted(data)}")
    read = {n: _read(h, data[n], f"{name}.{n}") for n, h in _hints(kind).items() if n in data}
    return kind(**read)


def _read_tuple(kind: Any, data: Any, name: str) -> Any:
    if not isinstance(data, list | tuple):
        raise InvalidValueError(f"{name} must be a list, got {data!r}")
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        part = get_args(kind)[0]
        return tuple(_read(part, value, f"{name}[{i}]") for i, value in enumerate(data))
    # The types of a pair, or the fields of a named tuple.
    parts = dict(enumerate(get_args(kind))) or _hints(kind)
    if len(data) != len(parts):
        raise InvalidValueError(f"{name} must be a list of {len(parts)}, got {data!r}")
    values = zip(parts.items(), data, strict=True)
    read = [_read(part, value, f"{name}.{key}") for (key, part), value in values]
    return kind(*read) if isinstance(kind, type) else tuple(read)
