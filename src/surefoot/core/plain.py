"""Objects as plain data and back: one dialect in TOML, JSON, journals, results and exports.

An object of the library is a table with its class and its fields::

    {"class": "Box", "lower": [0.0, 0.0], "upper": [1.0, 2.0]}

Fields may be tables again. A list is an array of numbers, or several objects. No file can name a
module or run code: a class is looked up among the library's classes and built by its constructor,
with all checks.

:func:`build` reads what people write, and reports mistakes with the path of the key. :func:`encode`
and :func:`decode` keep every value exactly, for files that programs write. Other values than
numbers and objects have their own tables: ``{"tuple": [...]}``, ``{"list": [...]}``, ``{"map":
{...}}``, ``{"number": "inf"}``, ``{"number": 3, "type": "int64"}``, ``{"array": [...], "type":
"int64", "shape": [2]}``, ``{"csr": [...], "shape": [2, 3]}``. ``{"given": "domain", "kind":
"Mine"}`` stands for an object that is not plain data and must be given again. An array may also be
its bytes: ``{"bytes": "...", "type": "float64", "shape": [2]}``.
"""

import base64
import hashlib
import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from surefoot.core.arrays import is_sparse
from surefoot.core.checks import repr_line
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, SurefootError, first_line, suggest
from surefoot.core.feedback import Feedback
from surefoot.core.lazy import public_names
from surefoot.core.optional import need
from surefoot.core.parameters import parameters_of
from surefoot.core.record import Record, is_tree
from surefoot.core.types import Array, Context

PACKAGES = ("sets", "knowledge", "certified", "proposers", "guarantees", "rules")
"""The packages whose public classes a file may name."""

Classes: TypeAlias = Mapping[str, type]
Data: TypeAlias = Any
"""The values of JSON and TOML: None, booleans, numbers, texts, lists and tables of these."""
PlainTable: TypeAlias = dict[str, Data]
"""A table of plain data: a line of a journal, an answer, a file."""


class NotPlainError(SurefootError, ValueError):
    """A value that cannot be plain data, or data that describe no value."""


@cache
def known_classes() -> dict[str, type]:
    """Return the classes that a file may name: public dataclasses and named tuples."""
    classes: dict[str, type] = {"Constants": Constants, "Context": Context, "Feedback": Feedback}
    for package in PACKAGES:
        module = importlib.import_module(f"surefoot.{package}")
        public = public_names(module).items()
        classes |= {n: v for n, v in public if isinstance(v, type) and _is_plain(v)}

    return classes


def encode(value: object, *, leave_out: bool = False, name: str = "value") -> Data:
    """Return a value as plain data, which :func:`decode` restores exactly.

    Args:
        value: numbers, arrays, tuples, lists, mappings, the library's classes, named tuples.
        leave_out: whether to omit what is not plain data; :func:`decode` must be given it.
        name: the name of the value if it is omitted itself. Its fields have their names, and the
            fields of these ``base__domain``.

    Example:
        >>> from surefoot import Ball
        >>> encode(Ball(2.0))
        {'class': 'Ball', 'radius': 2.0, 'centre': None}
        >>> encode({"sum": sum}, leave_out=True)
        {'map': {'sum': {'given': 'sum', 'kind': 'sum'}}}

    Raises:
        NotPlainError: for a function, or an object whose class is not the library's.
    """
    return _encode(value, "", name if leave_out else None)


def _encode(value: object, path: str, name: str | None) -> Data:
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, np.generic)):
        return _encode_numbers(value)
    form, parts = _split_value(value)
    above = f"{path}__" if path else ""
    data = {
        str(key): part
        if type(part) is float and math.isfinite(part)  # most values of a journal
        else _encode(part, f"{above}{key}", name)
        for key, part in parts.items()
    }
    if form == "class":
        return {"class": type(value).__name__, **data}
    if form == "csr":
        return {"csr": list(data.values()), "shape": list(value.shape)}  # type: ignore[attr-defined]
    if form:
        return {form: data if form == "map" else list(data.values())}
    if name is None:
        where = f"{path} = " if path else ""
        raise NotPlainError(
            f"{where}{repr_line(value)} of {type(value)!r} cannot be stored as plain data"
        )
    return {"given": path or name, "kind": _kind_of(value)}


def _split_value(value: object) -> tuple[str, Mapping[Any, object]]:
    """Return the form of a value as plain data, and its parts; an empty form if there is none."""
    kind: Any = type(value)
    if is_record(kind) or known_classes().get(kind.__name__) is kind:
        if is_record(kind):
            return "class", value._asdict()  # type: ignore[attr-defined]
        parts = vars(value)
        return "class", {n: parts[n] for n in _field_names(kind)}
    if kind in (list, tuple) and isinstance(value, (list, tuple)):
        return kind.__name__, dict(enumerate(value))
    if is_sparse(value):
        rows = value.tocsr()  # type: ignore[attr-defined]
        return "csr", {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    return ("map", value) if isinstance(value, Mapping) else ("", {})


def _encode_numbers(value: Array) -> Data:
    if isinstance(value, np.generic):
        # Whether a number is NumPy's or Python's decides which path a primitive takes.
        number = _encode_numbers(value.item())
        whole = number if isinstance(number, dict) else {"number": number}
        return whole | {"type": str(value.dtype)}
    if isinstance(value, np.ndarray):
        is_list = value.dtype == np.float64 and value.ndim and value.size
        # The square of finite numbers may be infinite; where it is not, the second need not be.
        if is_list and (math.isfinite(np.vdot(value, value)) or np.isfinite(value).all()):
            return value.tolist()
        if value.dtype.kind not in "biuf":
            raise NotPlainError(f"an array of {value.dtype} cannot be stored as plain data")
        parts = [_encode_numbers(part) for part in value.ravel().tolist()]
        return {"array": parts, "type": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    return value


def encode_bytes(array: Array) -> PlainTable:
    """Return an array as plain data by its bytes, little-endian, which is short and quick.

    >>> encode_bytes(np.array([0.5]))
    {'bytes': 'AAAAAAAA4D8=', 'type': 'float64', 'shape': [1]}
    """
    name = str(array.dtype)
    if name not in _BYTES:
        raise NotPlainError(f"an array of {name} cannot be stored by its bytes")
    data = np.ascontiguousarray(array).astype(_BYTES[name], copy=False)
    text = base64.b64encode(data.tobytes()).decode("ascii")
    return {"bytes": text, "type": name, "shape": list(array.shape)}


_BYTES = {"float64": "<f8", "int64": "<i8", "bool": "?"}


def decode(
    data: Data, own: Classes | None = None, given: Mapping[str, object] | None = None
) -> Any:
    """Return the value that :func:`encode` wrote as plain data.

    Args:
        data: plain data.
        own: further classes that the data may name, such as the records of a user's rule.
        given: the omitted objects, by their names in the data.

    Example:
        >>> from surefoot.sets import Box
        >>> decode(encode(Box([0.0], [0.1 + 0.2]))).upper.tolist()
        [0.30000000000000004]

    Raises:
        NotPlainError: for an unknown class, or an omitted object that is not given.
        InvalidValueError: for a value that a constructor rejects.
    """
    try:
        return _decode(data, known_classes() | dict(own or {}), given or {})
    except SurefootError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise NotPlainError(f"{repr_line(data)} cannot be read: {first_line(error)}") from error


def _decode(data: Data, classes: Classes, objects: Mapping[str, object]) -> Any:
    if isinstance(data, list):
        return np.array(data, dtype=np.float64)
    if not isinstance(data, Mapping):
        return data
    if "class" in data:
        parts = {
            key: _decode(part, classes, objects) for key, part in data.items() if key != "class"
        }
        kind = _find_class(data["class"], parts, classes)
        return getattr(kind, "from_parts", kind)(**parts)
    form = next((form for form in _FORMS if form in data), None)
    if form in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[form](
            _decode(p, classes, objects) for p in data[form]
        )
    if form == "map":
        return {key: _decode(part, classes, objects) for key, part in data["map"].items()}
    if form == "given":
        return _find_given(data["given"], data["kind"], objects)
    if form == "csr":
        sparse = need("scipy.sparse", "solve", "a sparse matrix")
        rows = tuple(_decode(part, classes, objects) for part in data["csr"])
        return sparse.csr_array(rows, shape=tuple(data["shape"]))
    return _decode_numbers(data)


_FORMS = ("tuple", "list", "map", "given", "csr")


def _decode_numbers(data: Mapping[str, Data]) -> Any:
    if "bytes" in data:
        raw = base64.b64decode(data["bytes"], validate=True)
        array = np.frombuffer(raw, dtype=_BYTES[data["type"]]).reshape(data["shape"])
        return array.astype(data["type"])
    kind = np.dtype(data.get("type", "float64"))
    if kind.kind not in "biuf" or not ("number" in data or "array" in data):
        raise NotPlainError(f"a table must have a class, got {repr_line(data)}")
    if "array" in data:
        flat = [float(p["number"]) if isinstance(p, dict) else p for p in data["array"]]
        return np.array(flat, dtype=kind).reshape(data["shape"])
    number = data["number"]
    value = float(number) if isinstance(number, str) else number
    return kind.type(value) if "type" in data else value


def _find_class(name: object, parts: Mapping[str, object], classes: Classes) -> type:
    kind = classes.get(name) if isinstance(name, str) else None
    if kind is None:
        raise NotPlainError(f"class {repr_line(name)} is unknown")
    if unknown := sorted(set(parts) - set(_field_names(kind))):
        raise NotPlainError(f"{name} has no field {repr_line(unknown[0])}")
    return kind


def _find_given(path: str, kind: str, objects: Mapping[str, object]) -> object:
    if path not in objects:
        raise NotPlainError(f"{path} (a {kind}) could not be stored: give it again, {path}=...")
    value = objects[path]
    if _kind_of(value) != kind:
        raise NotPlainError(f"{path} must be the {kind} that it was, got {repr_line(value)}")
    return value


def build(table: Data, name: str = "player", own: Classes | None = None) -> Any:
    """Return the object that a written table describes by its class and fields.

    Args:
        table: plain data; other values are returned unchanged.
        name: the name of the table in sentences.
        own: further classes that the table may name.

    Raises:
        InvalidValueError: for an unknown class or field, or a value that a constructor rejects,
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
        return tuple(build(part, f"{name}[{i}]", own) for i, part in enumerate(table))
    if not isinstance(table, Mapping):
        return table
    classes, parts = known_classes() | dict(own or {}), dict(table)
    kind = classes.get(str(parts.pop("class", None)))
    if kind is None:
        kind_name = table.get("class")
        advice = suggest(kind_name, classes)
        raise InvalidValueError(
            f"{name}.class must be one of the library, got {repr_line(kind_name)}{advice}"
        )
    names = _names_of(kind)
    if unknown := sorted(set(parts) - set(names)):
        advice = suggest(unknown[0], names)
        raise InvalidValueError(
            f"{name} must have the fields of {kind.__name__}, got {repr_line(unknown[0])}{advice}"
        )
    if missing := [n for n, p in parameters_of(kind).items() if p.is_required and n not in parts]:
        raise InvalidValueError(
            f"{name} must have {' and '.join(missing)}, which {kind.__name__} needs"
        )
    values = {key: build(part, f"{name}.{key}", own) for key, part in parts.items()}
    try:
        return kind(**values)
    except InvalidValueError as error:
        raise InvalidValueError(f"{name}.{error}") from error
    except (TypeError, AttributeError) as error:
        raise InvalidValueError(
            f"{name} must describe a {kind.__name__}: {first_line(error)}"
        ) from error


def digest(value: object, *, leave_out: bool = False) -> str:
    """Return a digest of a value, equal for equal plain data.

    Args:
        value: as :func:`encode` takes it.
        leave_out: whether an object that is not plain data counts only by its kind.

    >>> from surefoot import Ball
    >>> digest(Ball(1.0)) == digest(Ball(1.0)) != digest(Ball(2.0))
    True
    """
    data = encode(value, leave_out=leave_out)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def describe(data: Data) -> str:
    """Return plain data written as constructors; build nothing.

    >>> describe({"class": "OGD", "eta": 0.5, "domain": {"given": "domain", "kind": "Mine"}})
    'OGD(eta=0.5, domain=<Mine>)'
    """
    if isinstance(data, list):
        return np.array2string(np.array(data), separator=", ", threshold=8)
    if not isinstance(data, Mapping):
        return repr(data)
    if "given" in data:
        return f"<{data['kind']}>"
    if "class" in data:
        parts = (f"{n}={describe(v)}" for n, v in data.items() if n != "class")
        return f"{data['class']}({', '.join(parts)})"
    for form, brackets in {"tuple": "()", "list": "[]"}.items():
        if form in data:
            return brackets[0] + ", ".join(map(describe, data[form])) + brackets[1]
    if "map" in data:
        return "{" + ", ".join(f"{k!r}: {describe(v)}" for k, v in data["map"].items()) + "}"
    return repr(decode(data))


def records_in(value: object) -> dict[str, type]:
    """Return the records of a state by name; :func:`decode` needs them for a user's rule."""
    if not is_tree(value):
        return {}
    kind = type(value)
    records: dict[str, type] = {kind.__name__: kind} if is_record(kind) else {}
    for part in value:
        records |= records_in(part)
    return records


def name_parts(value: object) -> Any:
    """Return named tuples as tables of their fields, also those in others, for people to read.

    >>> from surefoot.core.types import Context
    >>> name_parts((Context(1.0), "b"))
    [{'place': 1.0, 'features': None}, 'b']
    """
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: name_parts(part) for name, part in value._asdict().items()}
    return [name_parts(part) for part in value] if isinstance(value, tuple) else value


def json_plain(value: object) -> Data:
    """Return data for JSON: nonfinite numbers become null, dataclasses tables, tuples lists.

    >>> json_plain({"a": (1, float("inf")), "b": None})
    {'a': [1, None], 'b': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): json_plain(part) for key, part in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return json_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [json_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)


def _names_of(kind: type) -> tuple[str, ...]:
    """Return the names of the arguments of a constructor."""
    return tuple(parameters_of(kind)) or _field_names(kind)


def _is_plain(kind: Any) -> bool:
    """Return whether a class is described by its fields."""
    return is_dataclass(kind) or is_record(kind) or hasattr(kind, "part_names")


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    if names := getattr(kind, "part_names", ()):
        return tuple(names)
    if is_dataclass(kind):
        return tuple(f.name for f in fields(kind) if f.init)
    return kind._fields if is_record(kind) else ()


def is_record(kind: object) -> bool:
    """Return whether something is a class of named tuples or of records."""
    return isinstance(kind, type) and issubclass(kind, (tuple, Record)) and hasattr(kind, "_fields")


def _kind_of(value: object) -> str:
    return getattr(value, "__qualname__", type(value).__qualname__)
