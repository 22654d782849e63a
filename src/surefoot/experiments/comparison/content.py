"""Hash what an object computes: its numbers, and the code of classes and functions of your own.

Objects that a program builds have no name in a specification; their content is their name. Code of
the library and of installed packages enters by name, since versions and sources are hashed
elsewhere; your own by its byte code, with what it closes over and the globals that it uses.
Comments, docstrings and layout do not enter.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import to_numpy
from surefoot.core.errors import InvalidValueError

__all__ = ["content_hash"]

_HAS_DOCSTRING = 0x4000000
"""A flag of code since Python 3.13."""


def content_hash(thing: Any) -> str:
    """Return a hash of an object's content, in hexadecimal.

    Raises:
        InvalidValueError: it holds something whose content cannot be known, such as an open file.

    Example:
        >>> content_hash(np.arange(3.0)) == content_hash(np.arange(3.0))
        True
        >>> content_hash(np.arange(3.0)) == content_hash(np.arange(3))
        False
    """
    digest = hashlib.sha256()
    seen: dict[int, int] = {}
    kept: list[Any] = []  # an object that is made here must not leave its id to the next one
    for piece in _pieces(thing, seen, kept):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces(thing: Any, seen: dict[int, int], kept: list[Any]) -> Iterator[bytes]:
    """Yield the content of an object, piece by piece; what came before is named by its number."""
    if thing is None or thing is ... or isinstance(thing, (bool, int, float, complex, str, bytes)):
        yield f"{type(thing).__name__} {thing!r}".encode()
        return
    if isinstance(thing, np.generic):
        yield f"{thing.dtype} {thing!r}".encode()
        return
    if id(thing) in seen:
        yield f"again {seen[id(thing)]}".encode()
        return
    seen[id(thing)] = len(seen)
    kept.append(thing)
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield f"array {thing.dtype.str} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
        return
    for part in _parts(thing):
        if isinstance(part, bytes):
            yield part
        else:
            yield from _pieces(part, seen, kept)


def _parts(thing: Any) -> Iterator[Any]:
    """Yield the parts of an object: bytes as they are, the rest to be looked into."""
    kind = type(thing)
    if isinstance(thing, types.ModuleType):
        yield f"module {thing.__name__}".encode()
    elif isinstance(thing, type):
        yield from _class_parts(thing)
    elif isinstance(thing, (staticmethod, classmethod)):
        yield from (kind.__name__.encode(), thing.__func__)
    elif isinstance(thing, property):
        yield from (b"property", thing.fget, thing.fset)
    elif isinstance(thing, types.FunctionType):
        yield from _function_parts(thing)
    elif isinstance(thing, types.MethodType):
        yield from (b"method", thing.__func__, thing.__self__)
    elif isinstance(thing, types.CodeType):
        yield from _code_parts(thing)
    elif isinstance(thing, functools.partial):
        yield from (b"partial", thing.func, list(thing.args), dict(thing.keywords))
    elif isinstance(thing, (types.BuiltinFunctionType, np.ufunc)) or _is_named(thing):
        yield f"{getattr(thing, '__module__', '')} {thing.__name__}".encode()
    elif isinstance(thing, (list, tuple)):
        yield f"{kind.__name__} {len(thing)}".encode()
        yield from (() if kind in (list, tuple) else (kind,))
        yield from thing
    elif isinstance(thing, (set, frozenset)):
        yield f"set {len(thing)}".encode()
        yield from sorted(content_hash(part) for part in thing)
    elif isinstance(thing, (dict, types.MappingProxyType)):
        yield f"dict {len(thing)}".encode()
        for key, value in thing.items():
            yield from (key, value)
    elif is_dataclass(thing):
        yield kind
        for f in fields(thing):
            if f.compare or f.init:
                yield from (f.name, getattr(thing, f.name, None))
    elif hasattr(thing, "__array_namespace__") or hasattr(thing, "__array__"):
        yield from (kind.__name__, np.asarray(to_numpy(thing)))
    else:
        yield from _instance_parts(thing, kind)


def _is_named(thing: Any) -> bool:
    """Return whether it is code, not Python's own, that has a name and no parts."""
    named = isinstance(getattr(thing, "__name__", None), str)
    return callable(thing) and named and not hasattr(thing, "__dict__")


def _instance_parts(thing: Any, kind: type[Any]) -> Iterator[Any]:
    names = [s for k in kind.__mro__ for s in _slots(k)]
    held = getattr(thing, "__dict__", None)
    if held is None and not names:
        raise InvalidValueError(
            f"the parts of players and problem must have a content that can be told again, got "
            f"{thing!r}: compare without a folder, or put it into a plugin"
        )
    yield kind
    yield dict(sorted((held or {}).items()))
    for name in names:
        if hasattr(thing, name):
            yield from (name, getattr(thing, name))


def _slots(kind: type[Any]) -> tuple[str, ...]:
    own = vars(kind).get("__slots__", ())
    return (own,) if isinstance(own, str) else tuple(s for s in own if s[:2] != "__")


def _is_ours(module: str | None) -> bool:
    """Return whether code is to be hashed by name: the library's, Python's, or installed."""
    top = (module or "builtins").split(".")[0]
    if top == __name__.split(".")[0] or (top in sys.stdlib_module_names and top != "__main__"):
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _class_parts(kind: type[Any]) -> Iterator[Any]:
    # Of your own the name alone: what it is called from, a notebook or a script, is no matter.
    name = kind.__qualname__.rpartition("<locals>.")[2]
    if _is_ours(kind.__module__):
        yield f"class {kind.__module__} {name}".encode()
        return
    yield f"class {name}".encode()
    yield list(kind.__bases__)
    for name, value in vars(kind).items():
        if not _is_made(name, value) and not _is_descriptor(value):
            yield from (name, value)


def _is_made(name: str, value: Any) -> bool:
    """Return whether Python added it to a class, or a dataclass or a named tuple to its fields."""
    if name in ("_make", "_replace", "_asdict", "_abc_impl", "_fields", "_field_defaults"):
        return True
    if name[:2] != "__":
        return False
    is_code = isinstance(value, (types.FunctionType, classmethod, staticmethod, property))
    is_function = isinstance(value, types.FunctionType)
    made = is_function and (value.__code__.co_filename[:1] == "<" or name[:10] == "__annotate")
    return made or not is_code


def _is_descriptor(value: Any) -> bool:
    return isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)) or (
        type(value).__name__ == "_tuplegetter"
    )


def _function_parts(function: types.FunctionType) -> Iterator[Any]:
    if _is_ours(function.__module__):
        yield f"function {function.__module__} {function.__qualname__}".encode()
        return
    yield function.__code__
    yield list(function.__defaults__ or ())
    yield dict(function.__kwdefaults__ or {})
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that is not bound yet
            yield b"empty"
    for name in sorted(_globals_used(function.__code__)):
        if name in function.__globals__:
            yield from (name, function.__globals__[name])


def _globals_used(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*(_globals_used(c) for c in inner))


def _code_parts(code: types.CodeType) -> Iterator[Any]:
    yield code.co_code
    names = (code.co_names, *inspect.getargs(code), code.co_freevars, code.co_cellvars)
    flags = code.co_flags & ~_HAS_DOCSTRING
    yield f"{code.co_argcount} {code.co_kwonlyargcount} {flags} {names}".encode()
    for i, constant in enumerate(code.co_consts):
        # The first constant of a function is its docstring, or None in its place.
        if i or not (constant is None or isinstance(constant, str)):
            yield constant
