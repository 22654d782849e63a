"""Report in one sentence that a call failed because an argument is of the wrong kind.

The annotations say which kind is right. They are read only after a failure: calls that work cost
one more frame, and your own sets and constraints are accepted for what they can do. A failure that
no annotation explains is raised unchanged.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np

from surefoot.core.convert import shown
from surefoot.core.errors import InvalidTypeError, InvalidValueError, SurefootError

__all__ = ["check_fields", "guard", "passed_on", "told"]

F = TypeVar("F", bound=Callable[..., Any])

# What Python says of an object that is not what the code takes it for.
_FAILURES = (AttributeError, LookupError, ArithmeticError, TypeError)
_ANY_NUMBER = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# Called in every round, and inside other calls that are told: these check what they get themselves.
_EVERY_ROUND = frozenset(
    [
        *("project", "query", "query_all", "tightening", "project_halfspace"),
        *("certified_length", "step_size", "landed", "next_distance", "ask", "tell"),
    ]
)


class _Array:
    """Stands for the annotation ``Array``, which is Any."""


class _Number:
    """Stands for the annotation ``Number``, which is Any."""


def told(function: F) -> F:
    """Return the function with a sentence for arguments that are not what it is annotated for.

    >>> @told
    ... def last(word: str) -> str:
    ...     return word.upper()[-1]
    >>> last(3)
    Traceback (most recent call last):
    surefoot.core.errors.InvalidTypeError: word must be a str, got 3
    """
    own: Any = function
    call, code = _passing_on(own), own.__code__
    renamed = call.__code__
    if renamed.co_argcount:  # its parameters by position: they get the names of the function's
        names = (*code.co_varnames[: code.co_argcount], "error")
        renamed = renamed.replace(co_varnames=names)
    # With the globals of the function, by which doctests know whose it is.
    home: Any = types.FunctionType(
        renamed, own.__globals__, own.__name__, own.__defaults__, call.__closure__
    )
    functools.update_wrapper(home, own)
    home.is_told = True
    return typing.cast(F, home)


def passed_on(function: F) -> F:
    """Mark a method that only passes its arguments on to one that is told, as if it were told.

    >>> passed_on(lambda word: word.upper()).is_told
    True
    """
    function.is_told = True  # type: ignore[attr-defined]
    return function


def _passing_on(function: Any) -> Any:
    """Return a function that passes its arguments on, and explains a failure by them."""
    code = function.__code__
    count = code.co_argcount
    if count and not code.co_kwonlyargcount and not code.co_flags & _ANY_NUMBER:
        return _by_position(count)(function, _FAILURES, _refuse)
    failures, refuse = _FAILURES, _refuse

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except failures as error:
            refuse(error, function, args, kwargs)

    return call


@functools.cache
def _by_position(count: int) -> Callable[..., Any]:
    """Return the same for so many parameters and no others.

    A call with a tuple and a dictionary of arguments takes four times as long, in every round.
    """
    names = ", ".join(f"a{i}" for i in range(count))
    lines = (
        "def passing_on(function, failures, refuse):",
        f"    def call({names}):",
        "        try:",
        f"            return function({names})",
        "        except failures as error:",
        f"            refuse(error, function, ({names},), {{}})",
        "    return call",
    )
    made: dict[str, Any] = {}
    exec("\n".join(lines), made)
    passing_on: Callable[..., Any] = made["passing_on"]
    return passing_on


def _refuse(
    error: Exception, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> typing.NoReturn:
    """Raise the sentence for a failure, or the failure itself where none explains it."""
    sentence = _explained(error, function, args, kwargs)
    if sentence is None:
        raise error
    raise sentence from error


def guard(namespace: dict[str, Any]) -> None:
    """Tell, see :func:`told`, all that a package exports: functions, methods and properties."""
    home = namespace["__name__"]
    for name in namespace["__all__"]:
        value = namespace[name]
        if inspect.isclass(value) and not issubclass(value, BaseException):
            for kind in value.__mro__:
                if kind.__module__.startswith(home) and not _is_protocol(kind):
                    _guard_class(kind)
        elif inspect.isfunction(value) and value.__module__.startswith(home) and _open(value):
            namespace[name] = told(value)
            # Where it is defined, too: it is pickled by that name.
            setattr(sys.modules[value.__module__], name, namespace[name])


def _open(function: Any) -> bool:
    """Return whether a function should be guarded, and is not yet."""
    if not inspect.isfunction(function) or function.__name__ in _EVERY_ROUND:
        return False
    return not hasattr(function, "is_told")


def _guard_class(kind: Any) -> None:
    for name, member in list(vars(kind).items()):
        made = "__post_init__" if is_dataclass(kind) else "__init__"
        if name.startswith("_") and name != made:
            continue
        if isinstance(member, (classmethod, staticmethod)) and _open(member.__func__):
            setattr(kind, name, type(member)(told(member.__func__)))
        elif isinstance(member, property) and _open(member.fget):
            getter: Any = member.fget
            setattr(kind, name, property(told(getter), member.fset, doc=member.__doc__))
        elif _open(member):
            setattr(kind, name, told(member))


def check_fields(owner: Any) -> None:
    """Raise for a record with a field that is not of its annotated kind."""
    for name, value, kind in _fields(owner):
        if not _fits(value, kind, strict=False):
            raise _sentence(f"{name} of a {type(owner).__name__}", kind, value)


def _explained(
    error: Exception, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> SurefootError | None:
    """Return the sentence for the first argument, or field of the owner, of a wrong kind."""
    if isinstance(error, SurefootError):
        return None
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python's own sentence on missing or unexpected arguments
    # A default is right, whatever its annotation says.
    bound = {n: v for n, v in given.items() if v is not signature.parameters[n].default}
    first = next(iter(bound), None)
    owner = bound.pop(first) if first in ("self", "cls") else None
    annotations = function.__annotations__
    told = [
        (name, value, _kind(annotations[name], function.__globals__))
        for name, value in bound.items()
        if name in annotations
    ]
    if first == "self":
        title = type(owner).__name__
        told += [(f"{name} of {title}", value, kind) for name, value, kind in _fields(owner)]
    for strict in (False, True):
        for name, value, kind in told:
            if not _fits(value, kind, strict):
                return _sentence(name, kind, value)
    if isinstance(error, AttributeError):
        # An argument that may be anything with the right attributes, and has not, or a part of it.
        parts = [(name, value) for name, value, _ in told] + list(bound.items())
        parts += [(f"{part} of {name}", v) for name, p in parts for part, v, _ in _fields(p)]
        for name, value in parts:
            if value is error.obj:
                rule = f"something with an attribute {error.name!r}"
                return InvalidTypeError(f"{name} must be {rule}, got {shown(value)}")
    if isinstance(error, LookupError) and "t" in bound:
        return InvalidValueError(f"t must be a round that there is, got {shown(bound['t'])}")
    if isinstance(error, ArithmeticError):
        numbers = ", ".join(f"{name} = {shown(value)}" for name, value, _ in told)
        return InvalidValueError(
            f"{function.__qualname__} must have numbers whose powers and quotients stay in "
            f"float64, got {numbers}"
        )
    return None


def _sentence(name: str, kind: Any, value: Any) -> InvalidTypeError:
    return InvalidTypeError(f"{name} must be {_words(kind)}, got {shown(value)}")


def _fields(owner: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and kind of each annotated field of a dataclass or named tuple."""
    for part in reversed(type(owner).__mro__):
        scope = vars(sys.modules.get(part.__module__, typing))
        annotations = vars(part).get("__annotations__")
        if not isinstance(annotations, dict):  # a descriptor, of functions for one
            continue
        for name, annotation in annotations.items():
            if not name.startswith("_") and hasattr(owner, name):
                yield name, getattr(owner, name), _kind(annotation, scope)


def _kind(annotation: Any, scope: Mapping[str, Any]) -> Any:
    """Return what an annotation names; Any if only type checkers know it."""
    text = getattr(annotation, "__forward_arg__", annotation)
    if not isinstance(text, str):
        return text
    try:
        return eval(
            text,
            dict(scope),
            {"Array": _Array, "ArrayLike": _Array, "Number": _Number, "Real": _Number},
        )
    except (NameError, TypeError, AttributeError):
        return Any


def _is_protocol(kind: Any) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _fits(value: Any, kind: Any, strict: bool) -> bool:
    """Return whether a value is of a kind; strictly, an array has at least one axis."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part, strict) for part in parts)
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is tuple and parts:
        if not isinstance(value, tuple):
            return False
        each = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        pairs = zip(value, each, strict=False)
        return len(value) == len(each) and all(_fits(v, p, strict) for v, p in pairs)
    kind = origin or kind
    if kind is None:
        return value is None
    if kind is _Array:
        shape = getattr(value, "shape", None)
        numbers = not isinstance(value, np.ndarray) or value.dtype.kind in "biuf"
        return isinstance(shape, tuple) and numbers and (not strict or len(shape) > 0)
    if kind in (_Number, float, int):
        if isinstance(value, (bool, np.bool_)) or hasattr(value, "shape"):
            return kind is _Number or (not isinstance(value, np.ndarray) and kind is float)
        return isinstance(value, (int, np.integer) if kind is int else (int, float))
    if kind is Any or not isinstance(kind, type):
        return True
    if kind is type or not isinstance(value, type):
        if not _is_protocol(kind):
            return isinstance(value, kind)
        return all(hasattr(value, name) for name in _members(kind))
    return kind is object or callable(value) is (kind is Callable)


def _members(kind: Any) -> set[str]:
    return {
        name
        for part in kind.__mro__
        if _is_protocol(part) and part.__module__.startswith("surefoot")
        for name in (*vars(part), *vars(part).get("__annotations__", ()))
        if not name.startswith("_")
    }


def _words(kind: Any) -> str:
    """Return a kind in words, with its article."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_words, parts))
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, parts))
    if origin is tuple and parts:
        return f"a tuple of {' and '.join(_words(part).split(' ', 1)[-1] for part in parts[:1])}s"
    kind = origin or kind
    if kind in (None, type(None)):
        return "None"
    names: dict[Any, str] = {_Array: "array of numbers", _Number: "number", float: "number"}
    names |= {int: "whole number", Callable: "function", type: "class"}
    name = names.get(kind, getattr(kind, "__name__", str(kind)))
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"
