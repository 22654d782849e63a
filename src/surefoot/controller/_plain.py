"""Algorithms, guarantees and states as plain data: JSON text, with the arrays as npy bytes.

A class is stored by its name in the library and its fields, and rebuilt by its constructor, with
all of its checks. Nothing in a file can name a module or be executed. What is not plain data (a
function, a user's class) is left out and must be supplied again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from surefoot import algorithms, regions, sets
from surefoot._sqlite import read_array, to_bytes
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.optional import need
from surefoot.core.types import Feedback

__all__ = [
    "NotPlainError",
    "Plain",
    "as_data",
    "classes_in",
    "constructed",
    "from_plain",
    "to_plain",
]


class NotPlainError(SurefootError, ValueError):
    """A value that cannot be stored, or must be supplied when opening and was not."""


class Plain(NamedTuple):
    """JSON text, and the arrays that it refers to by number, as concatenated npy bytes."""

    text: str
    arrays: bytes


@cache
def known_classes() -> dict[str, type[Any]]:
    """Return what a file may name: the dataclasses and named tuples of the library."""
    found: dict[str, type[Any]] = {"Constants": Constants, "Feedback": Feedback}
    for module in (algorithms, sets, regions):
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and (is_dataclass(value) or _is_named_tuple(value)):
                found[name] = value
    return found


def classes_in(value: Any) -> dict[str, type[Any]]:
    """Return the named tuples of a state by name; a user's own classes may be among them."""
    found: dict[str, type[Any]] = {}
    if hasattr(value, "unpacked"):  # a state of the kernel
        value = value.unpacked()
    if isinstance(value, tuple):
        if _is_named_tuple(type(value)):
            found[type(value).__name__] = type(value)
        for part in value:
            found |= classes_in(part)
    return found


def to_plain(
    value: Any, *, may_leave_out: bool = False, own: Mapping[str, type[Any]] | None = None
) -> Plain:
    """Convert a value to plain data.

    Args:
        value: numbers, arrays, tuples, mappings, and the library's classes made of these.
        may_leave_out: whether what is not plain is left out, to be given again, or refused.
        own: further classes that may be named.
    """
    writer = _Writer(known_classes() | dict(own or {}), may_leave_out)
    # Sorted, so that equal values have equal text.
    text = json.dumps(writer.write(value, ""), sort_keys=True, allow_nan=False)
    return Plain(text, b"".join(writer.arrays))


def from_plain(
    plain: Plain,
    *,
    given: Mapping[str, Any] | None = None,
    own: Mapping[str, type[Any]] | None = None,
) -> Any:
    """Convert plain data back to the value.

    Args:
        plain: what :func:`to_plain` gave.
        given: what had been left out: "algorithm" itself, or by the name of its field; of a
            field's field ``base__domain``.
        own: further classes that may be named.
    """
    given = {} if given is None else given
    reader = _Reader(known_classes() | dict(own or {}), _arrays_of(plain), given)
    value = reader.read(json.loads(plain.text))
    if strangers := sorted(set(given) - reader.used):
        raise NotPlainError(
            f"what is given again must be what was left out ({reader.wanted()}), "
            f"got {', '.join(strangers)}"
        )
    return value


def as_data(plain: Plain, own: Mapping[str, type[Any]]) -> Any:
    """Convert plain data to dictionaries, lists, numbers and arrays: nothing need be known here.

    Args:
        plain: what :func:`to_plain` gave.
        own: the classes that are made all the same.

    Returns:
        Of a class a dictionary of its fields, with its name under "class"; of what had been left
        out a dictionary with its name under "given".
    """
    return _DataReader(own, _arrays_of(plain), {}).read(json.loads(plain.text))


def constructed(data: Any) -> str:
    """Return what :func:`as_data` gave in the form of constructors.

    >>> constructed({"class": "OGD", "eta": 0.5, "domain": {"given": "domain", "kind": "Mine"}})
    'OGD(eta=0.5, domain=<Mine>)'
    """
    if isinstance(data, Mapping) and "given" in data:
        return f"<{data['kind']}>"
    if isinstance(data, Mapping) and "class" in data:
        parts = (f"{n}={constructed(v)}" for n, v in data.items() if n != "class")
        return f"{data['class']}({', '.join(parts)})"
    if isinstance(data, np.ndarray):
        return np.array2string(data, separator=", ", threshold=8)
    return repr(data)


def _arrays_of(plain: Plain) -> list[np.ndarray]:
    arrays, at = [], 0
    while at < len(plain.arrays):
        array, at = read_array(plain.arrays, at)
        arrays.append(array)
    return arrays


class _Writer:
    def __init__(self, known: Mapping[str, type[Any]], may_leave_out: bool) -> None:
        self.known = known
        self.may_leave_out = may_leave_out
        self.arrays: list[bytes] = []

    def write(self, value: Any, path: str) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if hasattr(value, "unpacked"):  # a state of the kernel
            value = value.unpacked()
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
            # Whether a number is NumPy's or Python's decides which way a primitive goes.
            self.arrays.append(to_bytes(np.asarray(value)))
            return {"array" if isinstance(value, np.ndarray) else "number": len(self.arrays) - 1}
        kind = type(value)
        if self.known.get(kind.__name__) is kind:
            names = kind._fields if _is_named_tuple(kind) else _made_of(kind)
            parts = {n: self.write(getattr(value, n), _join(path, n)) for n in names}
            return {"class": kind.__name__, **parts}
        if kind in (list, tuple):
            parts_ = [self.write(v, _join(path, str(i))) for i, v in enumerate(value)]
            return {kind.__name__: parts_}
        if isinstance(value, Mapping) and all(type(k) is str for k in value):
            return {"mapping": {k: self.write(v, _join(path, k)) for k, v in value.items()}}
        if hasattr(value, "tocsr"):
            rows = value.tocsr()
            parts_ = [self.write(a, path) for a in (rows.data, rows.indices, rows.indptr)]
            return {"csr": parts_, "shape": list(rows.shape)}
        if not self.may_leave_out:
            what = f"{path} = " if path else ""
            raise NotPlainError(f"{what}{value!r} of {kind!r} cannot be stored as plain data")
        return {"given": path, "kind": getattr(value, "__qualname__", kind.__qualname__)}


class _Reader:
    def __init__(
        self, known: Mapping[str, type[Any]], arrays: list[np.ndarray], given: Mapping[str, Any]
    ) -> None:
        self.known = known
        self.arrays = arrays
        self.given = given
        self.used: set[str] = set()

    def read(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        if "class" in node:
            name: Any = node["class"]
            kind = self.known.get(name) if type(name) is str else None
            if kind is None:
                raise NotPlainError(f"{node['class']} is no class that is known here")
            return kind(**{n: self.read(part) for n, part in node.items() if n != "class"})
        if "array" in node:
            return self.arrays[node["array"]]
        if "number" in node:
            return self.arrays[node["number"]][()]
        if "float" in node:
            return float(node["float"])
        if "list" in node:
            return [self.read(part) for part in node["list"]]
        if "tuple" in node:
            return tuple(self.read(part) for part in node["tuple"])
        if "mapping" in node:
            return {name: self.read(part) for name, part in node["mapping"].items()}
        if "csr" in node:
            sparse = need("scipy.sparse", "solve", "a set with a sparse matrix")
            return sparse.csr_array(
                tuple(self.read(part) for part in node["csr"]), shape=tuple(node["shape"])
            )
        return self._again(node["given"], node["kind"])

    def _again(self, path: str, kind: str) -> Any:
        self.used.add(path)
        if path not in self.given:
            raise NotPlainError(f"{path} (a {kind}) could not be stored: give it again, {path}=...")
        value = self.given[path]
        got = getattr(value, "__qualname__", type(value).__qualname__)
        if got != kind:
            raise NotPlainError(f"{path} must be the {kind} that it was, got {value!r}")
        return value

    def wanted(self) -> str:
        return ", ".join(sorted(self.used)) or "nothing was"


class _DataReader(_Reader):
    def read(self, node: Any) -> Any:
        if isinstance(node, dict) and "class" in node and node["class"] not in self.known:
            return {name: self.read(part) for name, part in node.items()}
        return node if isinstance(node, dict) and "given" in node else super().read(node)


def _is_named_tuple(kind: type[Any]) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _made_of(kind: type[Any]) -> list[str]:
    return [f.name for f in fields(kind) if f.init]


def _join(path: str, name: str) -> str:
    # The fields of the algorithm are what users name; those of the rest have its name in front.
    return name if path in ("", "algorithm") else f"{path}__{name}"
