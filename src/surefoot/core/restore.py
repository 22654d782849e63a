"""Decoded states are untrusted: each is compared with a fresh one of its rule, part by part.

Whoever writes a file can put anything into it. A state that passed here has the classes, shapes,
types of numbers and ranges that the rule's own steps lead to, so that code behind this door, and C,
need not ask again. What may differ is declared where the state is (:mod:`surefoot.core.forms`).
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
from surefoot.core.plain import Packed, is_record

__all__ = ["FormError", "check_form", "lengths_of"]

_NUMBERS = {bool: (bool, np.bool_), int: (int, np.int64), float: (float,)}
_TYPES = ("float64", "int64", "bool")


class FormError(InvalidValueError):
    """A decoded part that no state of the rule has."""


class Field(NamedTuple):
    """What the type of a field says.

    Attributes:
        kinds: the classes that its values have.
        marks: what is declared beside them.
        is_optional: whether it may be None.
        is_loose: whether it is one of a class that is not the library's.
    """

    kinds: tuple[Any, ...] = (Any,)
    marks: tuple[Any, ...] = ()
    is_optional: bool = False
    is_loose: bool = False

    def mark(self, kind: type) -> Any:
        """Return the mark of a class; None if there is none."""
        return next((mark for mark in self.marks if isinstance(mark, kind)), None)


def read_hint(hint: Any) -> Field:
    """Return what a type says.

    >>> read_hint(float | None)
    Field(kinds=(<class 'float'>,), marks=(), is_optional=True, is_loose=False)
    """
    if get_origin(hint) is Annotated:
        inner, *declared = get_args(hint)
        field = read_hint(inner)
        return field._replace(marks=(*field.marks, *declared))
    if get_origin(hint) not in (Union, UnionType):
        return Field((hint,), is_optional=hint is NoneType)
    found = [read_hint(part) for part in get_args(hint) if part is not NoneType]
    kinds = tuple(kind for field in found for kind in field.kinds)
    marks = tuple(mark for field in found for mark in field.marks)
    return Field(kinds, marks, is_optional=NoneType in get_args(hint))


@cache
def fields_of(kind: Any) -> dict[str, Field]:
    """Return what the fields of a class of records say, by name."""
    is_loose = not kind.__module__.startswith("surefoot.")
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:
        if not is_loose:
            raise
        hints = {}  # types of a user's own, which cannot be found
    found = {}
    for name in kind._fields:
        field = read_hint(hints.get(name, Any))
        is_optional = field.is_optional or kind._field_defaults.get(name, name) is None
        is_optional = is_optional and AsFresh not in field.marks
        found[name] = field._replace(is_optional=is_optional or is_loose, is_loose=is_loose)
    return found


def lengths_of(part: object, d: int) -> dict[str, int]:
    """Return how long parts of a state may become, by the words of their axes.

    Args:
        part: a rule, or what it is made of; each may have a method ``lengths(d)``.
        d: the length of an action.
    """
    most: dict[str, int] = {}
    left = [part]
    while left:
        part = left.pop()
        if isinstance(part, tuple):
            left += part
        left += parts_of(part).values()
        for word, length in getattr(part, "lengths", lambda _: {})(d).items():
            most[word] = max(length, most.get(word, 0))
    return most


def check_form(
    found: object,
    fresh: object,
    name: str,
    of: str,
    *,
    examples: Mapping[type, object] | None = None,
    lengths: Mapping[str, int] | None = None,
) -> None:
    """Raise unless a decoded value has the form of a fresh one.

    Args:
        found: what was decoded.
        fresh: the same before the first round.
        name: what it is called in sentences.
        of: the rule whose it is.
        examples: by class, records that a fresh state has not and a later one may have.
        lengths: how long parts may become, as :func:`lengths_of`; "row" for constraints that are
            seen apart.

    Raises:
        FormError: for a part of another class, shape, type of numbers or range.

    Example:
        >>> check_form(np.zeros(3), np.zeros(2), "x", "OGD")
        Traceback (most recent call last):
        surefoot.core.restore.FormError: x of OGD must be an array of shape (2,) of float64, got ...
    """
    _Comparison(of, examples or {}, lengths or {}).compare(found, fresh, Field(), name)


class _Comparison:
    """One comparison, with the lengths that are known by now.

    Args:
        of: the rule whose state it is.
        examples: of records that no fresh state has.
        lengths: how long parts may become.
    """

    def __init__(
        self, of: str, examples: Mapping[type, object], lengths: Mapping[str, int]
    ) -> None:
        self.of, self.examples, self.most = of, examples, lengths
        self.same: dict[str, int] = {}  # of all of the state
        self.here: dict[str, int] = {}  # of the record that is looked at

    def wrong(self, path: str, rule: str, found: object) -> FormError:
        """Return the error of a part."""
        return FormError(f"{path} of {self.of} must be {rule}, got {repr_line(found)}")

    def compare(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a part with that of the fresh state."""
        fresh = fresh.unpack() if isinstance(fresh, Packed) else fresh
        if found is None or fresh is None:
            self.compare_none(found, fresh, field, path)
        elif self.is_per_row(found, fresh, field):
            self.compare_rows(found, fresh, field, path)
        elif isinstance(fresh, (bool, int, float, np.generic)):
            self.number(found, fresh, field, path)
        elif isinstance(fresh, np.ndarray):
            self.array(found, fresh, field, path)
        elif is_record(type(fresh)):
            self.record(found, fresh, field, path)
        elif type(found) is not type(fresh):
            raise self.wrong(path, _describe(fresh), found)
        elif isinstance(fresh, (tuple, list)):
            self.parts(found, fresh, field, path)
        elif isinstance(fresh, Mapping):
            self.parts(list(found.values()), list(fresh.values()), field, path)
        elif isinstance(fresh, str):
            self.take(found, field, path)

    def is_per_row(self, found: Any, fresh: Any, field: Field) -> bool:
        """Return whether a part has what a fresh one has for each row of g."""
        is_array = isinstance(found, np.ndarray) and PerRow in field.marks
        return is_array and found.ndim == np.ndim(fresh) + 1

    # --- parts that a fresh state has -----------------------------------------------------------

    def compare_none(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare parts of which one is None, or both are."""
        if found is not fresh and not field.is_optional:
            raise self.wrong(path, "None" if fresh is None else _describe(fresh), found)
        if found is not None:
            self.take(found, field, path)

    def compare_rows(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare an array that has for each row of g what the fresh state has once."""
        if not np.size(found):
            raise self.wrong(path, "one for each row", found)
        axes = Axes(Same("row"), *(None,) * np.ndim(fresh))
        no_rows = np.zeros((0, *np.shape(fresh)))
        self.array(found, no_rows, field._replace(marks=(axes, *field.marks)), path)

    def number(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a number with the fresh one."""
        kind = next(k for k, kinds in _NUMBERS.items() if isinstance(fresh, kinds))
        is_other = not isinstance(found, _NUMBERS[kind]) or (kind is int and type(found) is bool)
        if is_other:
            raise self.wrong(path, _describe(fresh), found)
        self.range(np.atleast_1d(found), field, path, fresh)

    def array(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare an array with the fresh one."""
        axes = field.mark(Axes) or (None,) * fresh.ndim
        if not isinstance(found, np.ndarray) or found.dtype != fresh.dtype:
            raise self.wrong(path, _describe(fresh), found)
        if found.ndim != fresh.ndim or len(axes) != fresh.ndim:
            raise self.wrong(path, _describe(fresh), found)
        for length, first, word in zip(found.shape, fresh.shape, axes, strict=True):
            if word is not None:
                # A matrix without rows says nothing of their length.
                if found.size or not isinstance(word, Same):
                    self.length(length, word, path)
            elif length != first and not field.is_loose:
                raise self.wrong(path, _describe(fresh), found)
        self.range(found, field, path, fresh)

    def record(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare a record, field by field."""
        kinds = (type(fresh), *(kind for kind in field.kinds if is_record(kind)))
        if not isinstance(found, kinds) or type(found)._fields != type(fresh)._fields:
            raise self.wrong(path, _describe(fresh), found)
        if hasattr(fresh, "resize_like"):
            fresh = fresh.resize_like(found)
        self.fields(found, fresh, path)

    def fields(self, found: Any, fresh: Any, path: str) -> None:
        """Compare the fields of a record; by their types where nothing is fresh."""
        around, self.here = self.here, {}
        kind: Any = type(found)
        for name, field in fields_of(kind).items():
            part, where = getattr(found, name), f"{path}.{name}"
            if fresh is not None:
                self.compare(part, getattr(fresh, name), field, where)
            elif part is not None:
                self.take(part, field, where)
            elif not field.is_optional:
                raise self.wrong(where, " or ".join(map(_name, field.kinds)), None)
        self.here = around
        if hasattr(found, "flaw") and (flaw := found.flaw()):
            raise self.wrong(path, flaw, found)

    def parts(self, found: Any, fresh: Any, field: Field, path: str) -> None:
        """Compare tuples or lists, entry by entry."""
        axes = field.mark(Axes)
        if axes is not None:
            self.length(len(found), axes[0], path)
        elif len(found) != len(fresh) and not field.is_loose:
            raise self.wrong(path, f"{len(fresh)} entries", found)
        inner = _entries_of(field)
        for i, part in enumerate(found):
            if i < len(fresh):
                self.compare(part, fresh[i], inner, f"{path}[{i}]")
            else:
                self.take(part, inner, f"{path}[{i}]")

    def length(self, length: int, word: str, path: str) -> None:
        """Compare a length that may change with those of the same word."""
        known = self.same if isinstance(word, Same) else self.here
        if known.setdefault(word, length) != length:
            raise self.wrong(path, f"as long as the others, {known[word]}", length)
        if length > self.most.get(word, math.inf):
            raise self.wrong(path, f"no longer than {self.most[word]}", length)

    def range(self, found: Any, field: Field, path: str, fresh: Any = 0.0) -> None:
        """Compare numbers with the range of a field, and with the fresh ones."""
        within = field.mark(Span) or Span()
        if Gaps in field.marks or np.isnan(fresh).any():
            found = found[~np.isnan(found)]
        elif np.isnan(found).any():
            raise self.wrong(path, "a number", found)
        is_finite = bool(np.isfinite(fresh).all()) and Extended not in field.marks
        if is_finite and not np.isfinite(found).all():
            raise self.wrong(path, "finite", found)
        if found.dtype.kind == "i" and (np.abs(found.astype(float)) > MOST).any():
            raise self.wrong(path, f"from {-MOST:.0f} to {MOST:.0f}", found)
        if within.is_whole and not (np.floor(found) == found).all():
            raise self.wrong(path, str(within), found)
        if not ((found >= within.low) & (found <= within.high)).all():
            raise self.wrong(path, str(within), found)

    # --- parts that only a later state has ------------------------------------------------------

    def take(self, found: Any, field: Field, path: str) -> None:
        """Compare a part that the fresh state has not with what the type of its field says."""
        axes, kinds = field.mark(Axes), field.kinds
        if axes and any(self.most.get(word, 1) == 0 for word in axes if word):
            raise self.wrong(path, "None", found)
        if kinds == (Any,) and (axes or field.mark(Span)):
            kinds = (np.ndarray,) if axes else (float,)
        for kind in kinds:
            if _is_of(found, kind):
                self.inside(found, field, path)
                return
        words = " or ".join(_name(kind) for kind in kinds)
        raise self.wrong(path, f"{words} or None" if field.is_optional else words, found)

    def inside(self, found: Any, field: Field, path: str) -> None:
        """Compare what is in a part of the right class."""
        if is_record(type(found)):
            self.fields(found, self.examples.get(type(found)), path)
        elif isinstance(found, (tuple, list)):
            self.parts(found, (), field._replace(is_loose=True), path)
        elif isinstance(found, np.ndarray):
            axes = field.mark(Axes)
            shape = found.shape if axes is None else (0,) * len(axes)
            self.array(found, np.zeros(shape), field, path)
        elif isinstance(found, (bool, int, float, np.generic)):
            fresh = math.inf if isinstance(found, float) else 0.0
            self.range(np.atleast_1d(found), field, path, fresh)


def _entries_of(field: Field) -> Field:
    """Return what the type of a tuple says of its entries."""
    for kind in field.kinds:
        if get_origin(kind) in (tuple, list) and get_args(kind):
            return read_hint(get_args(kind)[0])._replace(is_loose=field.is_loose)
    return Field(is_loose=field.is_loose, is_optional=field.is_loose)


def _is_of(found: object, kind: Any) -> bool:
    """Return whether a value that was decoded is one of a type."""
    if kind is Any or kind is object:
        return not isinstance(found, np.ndarray) or str(found.dtype) in _TYPES
    if kind in _NUMBERS:
        return isinstance(found, _NUMBERS[kind]) and (kind is not int or type(found) is not bool)
    if get_origin(kind) is Literal:
        return isinstance(found, str) and found in get_args(kind)
    if get_origin(kind) is not None:
        return isinstance(found, get_origin(kind)) and not is_record(type(found))
    if getattr(kind, "_is_protocol", False):
        names = [name for name in vars(kind) if not name.startswith("_")]
        return all(hasattr(found, name) for name in names)
    return isinstance(found, kind) if isinstance(kind, type) else True


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _describe(fresh: Any) -> str:
    """Return what a part of a fresh state is, in a few words."""
    if isinstance(fresh, np.ndarray):
        return f"an array of shape {fresh.shape} of {fresh.dtype}"
    if isinstance(fresh, (bool, int, float, np.generic)):
        kind = next(k for k, kinds in _NUMBERS.items() if isinstance(fresh, kinds))
        return {bool: "true or false", int: "a whole number", float: "a number"}[kind]
    return f"a {type(fresh).__name__}"
