"""Decoded states are untrusted: each is compared, part by part, with a fresh one.

Files are untrusted. A state that passes here has the classes, shapes, types of numbers and ranges
that the steps of the rule produce. So later code, also in C, need not check again. Fields declare
what may differ (:mod:`surefoot.core.forms`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from surefoot.core.checks import repr_line
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import MOST, AsFresh, Axes, Extended, Gaps, PerRow, Same, Span
from surefoot.core.parameters import parts_of
from surefoot.core.plain import is_record

__all__ = ["FormError", "check_form", "lengths_of"]

_NUMBERS = {bool: (bool, np.bool_), int: (int, np.int64), float: (float,)}
_TYPES = ("float64", "int64", "bool")


class FormError(InvalidValueError):
    """A decoded part that no state of the rule has."""


class Field(NamedTuple):
    """The type of a field, with its declarations.

    Attributes:
        kinds: the classes of its values.
        marks: the declarations beside them.
        is_optional: whether it may be None.
        is_loose: whether it belongs to a user's class.
    """

    kinds: tuple[Any, ...] = (Any,)
    marks: tuple[Any, ...] = ()
    is_optional: bool = False
    is_loose: bool = False

    def mark(self, kind: type) -> Any:
        """Return the mark of a class; None if there is none."""
        return next((mark for mark in self.marks if isinstance(mark, kind)), None)


def read_hint(hint: Any) -> Field:
    """Return the field of a type hint.

    >>> read_hint(float | None)
    Field(kinds=(<class 'float'>,), marks=(), is_optional=True, is_loose=False)
    """
    if get_origin(hint) is Annotated:
        inner, *declared = get_args(hint)
        field = read_hint(inner)
        return field._replace(marks=(*field.marks, *declared))
    if get_origin(hint) not in (Union, UnionType):
        return Field((hint,), is_optional=hint is NoneType)
    fields = [read_hint(part) for part in get_args(hint) if part is not NoneType]
    kinds = tuple(kind for field in fields for kind in field.kinds)
    marks = tuple(mark for field in fields for mark in field.marks)
    return Field(kinds, marks, is_optional=NoneType in get_args(hint))


@cache
def fields_of(kind: Any) -> dict[str, Field]:
    """Return the fields of a class of records by name."""
    is_loose = not kind.__module__.startswith("surefoot.")
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:
        if not is_loose:
            raise
        hints = {}  # a user's types, which cannot be resolved
    fields = {}
    for name in kind._fields:
        field = read_hint(hints.get(name, Any))
        is_optional = field.is_optional or kind._field_defaults.get(name, name) is None
        is_optional = is_optional and AsFresh not in field.marks
        fields[name] = field._replace(is_optional=is_optional or is_loose, is_loose=is_loose)
    return fields


def lengths_of(part: object, d: int) -> dict[str, int]:
    """Return the largest lengths of parts of a state, by the words of their axes.

    Args:
        part: a rule or one of its parts; each may have a method ``lengths(d)``.
        d: the length of an action.
    """
    most: dict[str, int] = {}
    pending = [part]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += part
        pending += parts_of(part).values()
        for word, length in getattr(part, "lengths", lambda _: {})(d).items():
            most[word] = max(length, most.get(word, 0))
    return most


def check_form(
    decoded: object,
    fresh: object,
    name: str,
    of: str,
    *,
    examples: Mapping[type, object] | None = None,
    lengths: Mapping[str, int] | None = None,
) -> None:
    """Raise unless a decoded value has the form of a fresh one.

    Args:
        decoded: the decoded value.
        fresh: the same value before the first round.
        name: its name in sentences.
        of: the rule whose it is.
        examples: by class, records that only a later state has.
        lengths: the largest lengths of parts, as :func:`lengths_of`; "row" for constraints that are
            seen separately.

    Raises:
        FormError: for a part of another class, shape, type of numbers or range.

    Example:
        >>> check_form(np.zeros(3), np.zeros(2), "x", "OGD")
        Traceback (most recent call last):
        surefoot.core.restore.FormError: x of OGD must be an array of shape (2,) of float64, got ...
    """
    _Comparison(of, examples or {}, lengths or {}).compare(decoded, fresh, Field(), name)


class _Comparison:
    """One comparison, with the lengths so far.

    Args:
        of: the rule whose state it is.
        examples: records that only a later state has.
        lengths: the largest lengths of parts.
    """

    def __init__(
        self, of: str, examples: Mapping[type, object], lengths: Mapping[str, int]
    ) -> None:
        self.of, self.examples, self.most = of, examples, lengths
        self.same: dict[str, int] = {}  # of the whole state
        self.here: dict[str, int] = {}  # of the current record

    def wrong(self, path: str, rule: str, decoded: object) -> FormError:
        """Return the error of a part."""
        return FormError(f"{path} of {self.of} must be {rule}, got {repr_line(decoded)}")

    def compare(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a part with that of the fresh state."""
        if decoded is None or fresh is None:
            self.compare_none(decoded, fresh, field, path)
        elif self.is_per_row(decoded, fresh, field):
            self.compare_rows(decoded, fresh, field, path)
        elif isinstance(fresh, (bool, int, float, np.generic)):
            self.number(decoded, fresh, field, path)
        elif isinstance(fresh, np.ndarray):
            self.array(decoded, fresh, field, path)
        elif is_record(type(fresh)):
            self.record(decoded, fresh, field, path)
        elif type(decoded) is not type(fresh):
            raise self.wrong(path, _describe(fresh), decoded)
        elif isinstance(fresh, (tuple, list)):
            self.parts(decoded, fresh, field, path)
        elif isinstance(fresh, Mapping):
            self.parts(list(decoded.values()), list(fresh.values()), field, path)
        elif isinstance(fresh, str):
            self.take(decoded, field, path)

    def is_per_row(self, decoded: Any, fresh: Any, field: Field) -> bool:
        """Return whether a part has one entry per row of g and the fresh one has one."""
        is_array = isinstance(decoded, np.ndarray) and PerRow in field.marks
        return is_array and decoded.ndim == np.ndim(fresh) + 1

    # --- parts that a fresh state has -----------------------------------------------------------

    def compare_none(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare parts of which one is None, or both are."""
        if decoded is not fresh and not field.is_optional:
            raise self.wrong(path, "None" if fresh is None else _describe(fresh), decoded)
        if decoded is not None:
            self.take(decoded, field, path)

    def compare_rows(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare an array that has for each row of g what the fresh state has once."""
        if not np.size(decoded):
            raise self.wrong(path, "one for each row", decoded)
        axes = Axes(Same("row"), *(None,) * np.ndim(fresh))
        no_rows = np.zeros((0, *np.shape(fresh)))
        self.array(decoded, no_rows, field._replace(marks=(axes, *field.marks)), path)

    def number(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a number with the fresh one."""
        kind = next(k for k, kinds in _NUMBERS.items() if isinstance(fresh, kinds))
        is_other = not isinstance(decoded, _NUMBERS[kind]) or (
            kind is int and type(decoded) is bool
        )
        if is_other:
            raise self.wrong(path, _describe(fresh), decoded)
        self.range(np.atleast_1d(decoded), field, path, fresh)

    def array(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare an array with the fresh one."""
        axes = field.mark(Axes) or (None,) * fresh.ndim
        if not isinstance(decoded, np.ndarray) or decoded.dtype != fresh.dtype:
            raise self.wrong(path, _describe(fresh), decoded)
        if decoded.ndim != fresh.ndim or len(axes) != fresh.ndim:
            raise self.wrong(path, _describe(fresh), decoded)
        for length, first, word in zip(decoded.shape, fresh.shape, axes, strict=True):
            if word is not None:
                # A matrix without rows does not determine their length.
                if decoded.size or not isinstance(word, Same):
                    self.length(length, word, path)
            elif length != first and not field.is_loose:
                raise self.wrong(path, _describe(fresh), decoded)
        self.range(decoded, field, path, fresh)

    def record(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a record, field by field."""
        kinds = (type(fresh), *(kind for kind in field.kinds if is_record(kind)))
        if not isinstance(decoded, kinds) or type(decoded)._fields != type(fresh)._fields:
            raise self.wrong(path, _describe(fresh), decoded)
        if hasattr(fresh, "resize_like"):
            fresh = fresh.resize_like(decoded)
        self.fields(decoded, fresh, path)

    def fields(self, decoded: Any, fresh: Any, path: str) -> None:
        """Compare the fields of a record; by their types if there is no fresh one."""
        around, self.here = self.here, {}
        kind: Any = type(decoded)
        for name, field in fields_of(kind).items():
            part, where = getattr(decoded, name), f"{path}.{name}"
            if fresh is not None:
                self.compare(part, getattr(fresh, name), field, where)
            elif part is not None:
                self.take(part, field, where)
            elif not field.is_optional:
                raise self.wrong(where, " or ".join(map(_name, field.kinds)), None)
        self.here = around
        if hasattr(decoded, "flaw") and (flaw := decoded.flaw()):
            raise self.wrong(path, flaw, decoded)

    def parts(self, decoded: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare tuples or lists, entry by entry."""
        axes = field.mark(Axes)
        if axes is not None:
            self.length(len(decoded), axes[0], path)
        elif len(decoded) != len(fresh) and not field.is_loose:
            raise self.wrong(path, f"{len(fresh)} entries", decoded)
        inner = _entries_of(field)
        for i, part in enumerate(decoded):
            if i < len(fresh):
                self.compare(part, fresh[i], inner, f"{path}[{i}]")
            else:
                self.take(part, inner, f"{path}[{i}]")

    def length(self, length: int, word: str, path: str) -> None:
        """Compare a length that may change with those of the same word."""
        lengths = self.same if isinstance(word, Same) else self.here
        if lengths.setdefault(word, length) != length:
            raise self.wrong(path, f"as long as the others, {lengths[word]}", length)
        if length > self.most.get(word, math.inf):
            raise self.wrong(path, f"no longer than {self.most[word]}", length)

    def range(self, decoded: Any, field: Field, path: str, fresh: Any = 0.0) -> None:
        """Compare numbers with the range of a field, and with the fresh ones."""
        within = field.mark(Span) or Span()
        if Gaps in field.marks or np.isnan(fresh).any():
            decoded = decoded[~np.isnan(decoded)]
        elif np.isnan(decoded).any():
            raise self.wrong(path, "a number", decoded)
        is_finite = bool(np.isfinite(fresh).all()) and Extended not in field.marks
        if is_finite and not np.isfinite(decoded).all():
            raise self.wrong(path, "finite", decoded)
        if decoded.dtype.kind == "i" and (np.abs(decoded.astype(float)) > MOST).any():
            raise self.wrong(path, f"from {-MOST:.0f} to {MOST:.0f}", decoded)
        if within.is_whole and not (np.floor(decoded) == decoded).all():
            raise self.wrong(path, str(within), decoded)
        if not ((decoded >= within.low) & (decoded <= within.high)).all():
            raise self.wrong(path, str(within), decoded)

    # --- parts that only a later state has ------------------------------------------------------

    def take(self, decoded: Any, field: Field, path: str) -> None:
        """Compare a part that the fresh state lacks with the type of its field."""
        axes, kinds = field.mark(Axes), field.kinds
        if axes and any(self.most.get(word, 1) == 0 for word in axes if word):
            raise self.wrong(path, "None", decoded)
        if kinds == (Any,) and (axes or field.mark(Span)):
            kinds = (np.ndarray,) if axes else (float,)
        for kind in kinds:
            if _is_of(decoded, kind):
                self.inside(decoded, field, path)
                return
        words = " or ".join(_name(kind) for kind in kinds)
        raise self.wrong(path, f"{words} or None" if field.is_optional else words, decoded)

    def inside(self, decoded: Any, field: Field, path: str) -> None:
        """Compare the contents of a part of the right class."""
        if is_record(type(decoded)):
            self.fields(decoded, self.examples.get(type(decoded)), path)
        elif isinstance(decoded, (tuple, list)):
            self.parts(decoded, (), field._replace(is_loose=True), path)
        elif isinstance(decoded, np.ndarray):
            axes = field.mark(Axes)
            shape = decoded.shape if axes is None else (0,) * len(axes)
            self.array(decoded, np.zeros(shape), field, path)
        elif isinstance(decoded, (bool, int, float, np.generic)):
            fresh = math.inf if isinstance(decoded, float) else 0.0
            self.range(np.atleast_1d(decoded), field, path, fresh)


def _entries_of(field: Field) -> Field:
    """Return the field of the entries of a tuple."""
    for kind in field.kinds:
        if get_origin(kind) in (tuple, list) and get_args(kind):
            return read_hint(get_args(kind)[0])._replace(is_loose=field.is_loose)
    return Field(is_loose=field.is_loose, is_optional=field.is_loose)


def _is_of(decoded: object, kind: Any) -> bool:
    """Return whether a decoded value is of a type."""
    if kind is Any or kind is object:
        return not isinstance(decoded, np.ndarray) or str(decoded.dtype) in _TYPES
    if kind in _NUMBERS:
        return isinstance(decoded, _NUMBERS[kind]) and (
            kind is not int or type(decoded) is not bool
        )
    if get_origin(kind) is Literal:
        return isinstance(decoded, str) and decoded in get_args(kind)
    if get_origin(kind) is not None:
        return isinstance(decoded, get_origin(kind)) and not is_record(type(decoded))
    if getattr(kind, "_is_protocol", False):
        names = [name for name in vars(kind) if not name.startswith("_")]
        return all(hasattr(decoded, name) for name in names)
    return isinstance(decoded, kind) if isinstance(kind, type) else True


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _describe(fresh: Any) -> str:
    """Describe a part of a fresh state in a few words."""
    if isinstance(fresh, np.ndarray):
        return f"an array of shape {fresh.shape} of {fresh.dtype}"
    if isinstance(fresh, (bool, int, float, np.generic)):
        kind = next(k for k, kinds in _NUMBERS.items() if isinstance(fresh, kinds))
        return {bool: "true or false", int: "a whole number", float: "a number"}[kind]
    return f"a {type(fresh).__name__}"
