"""Objects as plain data and back: one dialect in TOML, JSON, journals and exports.

An object of the library is a table with its class and its fields::

    {"class": "Box", "lower": [0.0, 0.0], "upper": [1.0, 2.0]}

Fields may be tables again. A list is an array of numbers, or several objects. Nothing in a file can
name a module or run: a class is looked up among the library's own, and built by its constructor,
with all of its checks.

:func:`build` reads what people write, and answers mistakes with the path of the key. :func:`encode`
and :func:`decode` keep everything, to the last bit, for files that programs write; what is neither
a number nor an object has a table of its own: ``{"tuple": [...]}``, ``{"map": {...}}``,
``{"array": [...], "type": "int64"}``, ``{"number": "inf"}``.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from surefoot.core.errors import InvalidValueError, SurefootError, first_line
from surefoot.core.parameters import parameters_of

__all__ = ["NotPlainError", "build", "decode", "digest", "encode", "known_classes", "one_of"]

ROOMS = ("core.constants", "sets", "regions", "algorithms", "theory")
"""The rooms whose public classes a file may name."""


class NotPlainError(SurefootError, ValueError):
    """A value that is no plain data: a function, an object of a class that is not the library's."""


@cache
def known_classes() -> dict[str, type[Any]]:
    """Return what a file may name: the public dataclasses and named tuples of the library."""
    found: dict[str, type[Any]] = {}
    for room in ROOMS:
        module = importlib.import_module(f"surefoot.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and (is_dataclass(value) or _is_record(value)):
                found[name] = value
    return found


def encode(value: Any) -> Any:
    """Return a value as plain data, which :func:`decode` gives back to the last bit.

    Example:
        >>> from surefoot import Ball
        >>> encode(Ball(2.0))
        {'class': 'Ball', 'radius': 2.0, 'centre': None}

    Raises:
        NotPlainError: for a function, or an object whose class is not the library's.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    kind = type(value)
    if is_dataclass(value) or _is_record(kind):
        if known_classes().get(kind.__name__) is not kind and not _is_record(kind):
            raise NotPlainError(f"{value!r} of {kind!r} cannot be stored as plain data")
        return {"class": kind.__name__} | {n: encode(getattr(value, n)) for n in _names(kind)}
    if isinstance(value, tuple):
        return {"tuple": [encode(part) for part in value]}
    if isinstance(value, Mapping):
        return {"map": {str(key): encode(part) for key, part in value.items()}}
    raise NotPlainError(f"{value!r} of {kind!r} cannot be stored as plain data")


def decode(data: Any, own: Mapping[str, type[Any]] | None = None) -> Any:
    """Return the value that :func:`encode` made plain data of.

    Args:
        data: plain data.
        own: further classes that the data may name, as the records of a user's own rule.

    Example:
        >>> from surefoot.sets import Box
        >>> decode(encode(Box([0.0], [0.1 + 0.2]))).upper.tolist()
        [0.30000000000000004]
    """
    if isinstance(data, list):
        return np.array(data, dtype=np.float64)
    if not isinstance(data, Mapping):
        return data
    if "class" in data:
        name = data["class"]
        kind = (own or {}).get(name) or known_classes().get(name)
        if kind is None:
            raise NotPlainError(f"no class {name!r} is known")
        return kind(**{key: decode(part, own) for key, part in data.items() if key != "class"})
    if set(data) == {"tuple"}:
        return tuple(decode(part, own) for part in data["tuple"])
    if set(data) == {"map"}:
        return {key: decode(part, own) for key, part in data["map"].items()}
    if set(data) == {"number"}:
        return float(data["number"])
    if set(data) == {"array", "type", "shape"}:
        flat = np.array([decode(part) for part in data["array"]], dtype=data["type"])
        return flat.reshape(data["shape"])
    raise NotPlainError(f"a table must have a class, got {data!r}")


def build(table: Any, name: str = "player") -> Any:
    """Return what somebody wrote down: a table with a class, its fields by name.

    Args:
        table: plain data; what is no table is returned as it is.
        name: what the table is called in sentences.

    Raises:
        InvalidValueError: for a class or a field that there is not, or what a constructor refuses,
            with the path of the key.

    Example:
        >>> build({"class": "SafetyFilter", "G_g": 1.0, "rho": 0.1,
        ...        "domain": {"class": "Box", "lower": [-1.0], "upper": [1.0]}}).domain
        Box(lower=array([-1.]), upper=array([1.]))
        >>> build({"class": "Ball", "radius": -1.0})
        Traceback (most recent call last):
        surefoot.core.errors.InvalidValueError: player.radius must be a finite number > 0, got -1.0
    """
    if isinstance(table, list) and any(isinstance(part, Mapping) for part in table):
        return tuple(build(part, f"{name}[{i}]") for i, part in enumerate(table))
    if not isinstance(table, Mapping):
        return table
    known, given = known_classes(), dict(table)
    kind = known.get(str(given.pop("class", None)))
    if kind is None:
        wanted = one_of(known, table.get("class"))
        raise InvalidValueError(f"{name}.class must be {wanted}, got {table.get('class')!r}")
    names = parameter_names(kind)
    if strangers := sorted(set(given) - set(names)):
        raise InvalidValueError(
            f"{name} must have the fields of {kind.__name__} ({', '.join(names)}), "
            f"got {', '.join(strangers)}"
        )
    made = {key: build(part, f"{name}.{key}") for key, part in given.items()}
    try:
        return kind(**made)
    except InvalidValueError as error:
        raise InvalidValueError(f"{name}.{error}") from error
    except TypeError as error:
        raise InvalidValueError(
            f"{name} must describe a {kind.__name__}: {first_line(error)}"
        ) from error


def digest(value: Any) -> str:
    """Return a digest of what a value is made of: equal for equal plain data.

    >>> from surefoot import Ball
    >>> digest(Ball(1.0)) == digest(Ball(1.0)) != digest(Ball(2.0))
    True
    """
    text = json.dumps(encode(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def parameter_names(kind: type[Any]) -> tuple[str, ...]:
    """Return what a constructor takes; of a name for pairs, what its parts do."""
    return tuple(parameters_of(kind)) or _names(kind)


def one_of(names: Iterable[str], given: Any) -> str:
    """Return the names that are meant, in words: the near ones, or all."""
    names = list(names)
    near = difflib.get_close_matches(given, names, 3) if isinstance(given, str) else []
    return f"one of {', '.join(near or names)}"


def _names(kind: type[Any]) -> tuple[str, ...]:
    names: Any = kind
    return tuple(f.name for f in fields(names)) if is_dataclass(kind) else names._fields


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _encode_array(value: np.ndarray) -> Any:
    plain = value.dtype == np.float64 and value.ndim and value.size and np.isfinite(value).all()
    if plain:
        return value.tolist()
    parts = [encode(part) for part in value.ravel().tolist()]
    return {"array": parts, "type": str(value.dtype), "shape": list(value.shape)}
