"""The one place where numbers are converted to float64, or refused with one sentence.

Lists, integers, tables, masked arrays and other libraries' arrays are converted if nothing is
lost. Values that do not exist yet (a tracer) or carry gradients (torch) are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from surefoot.core.arrays import is_concrete, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array

__all__ = [
    "FLOAT64",
    "LARGEST",
    "SMALLEST",
    "array",
    "bad",
    "brief",
    "data",
    "elsewhere",
    "exact",
    "finite",
    "floats",
    "json_plain",
    "matrix",
    "numbers",
    "opaque",
    "refuse_rounded",
    "refuse_unfinite",
    "shown",
    "symmetric",
    "vector",
]

FLOAT64 = np.dtype(np.float64)
# Squares of scales between these are normal numbers of float64: outside, an update would lose them
# to 0 or to infinity, and compiled code does so with all that are not normal.
SMALLEST, LARGEST = 1e-151, 1e151


def bad(name: str, rule: str, value: Any) -> InvalidValueError:
    """Return the error whose sentence has the name, the rule and the value."""
    return InvalidValueError(f"{name} must be {rule}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as one line of text that fits into a sentence."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an object of the caller's
        text = f"<{type(value).__name__}, which cannot be printed>"
    return text if len(text) <= 200 else f"{text[:160]} ... of type {type(value).__name__}"


def brief(value: Any) -> str:
    """Return what a value is in a few words: its contents only where they are few.

    >>> brief(np.ones((50, 2))), brief(len), brief(dict), brief(7)
    ('an array of shape (50, 2)', 'the function len', 'the class dict', '7')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        return f"{kind} of shape {tuple(shape)}"
    name = getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return "a function" if name == "<lambda>" else f"the function {name}"
    return shown(value)


def finite(value: Any) -> float | None:
    """Return a number as a Python float, and None for one that is not finite.

    >>> finite(2), finite(np.inf)
    (2.0, None)
    """
    number = float(value)
    return number if math.isfinite(number) else None


def json_plain(value: Any) -> Any:
    """Return data as JSON can hold it: numbers that are not finite are null.

    >>> json_plain({"a": (1, float("inf")), "b": None})
    {'a': [1, None], 'b': None}
    """
    if isinstance(value, Mapping):
        return {str(key): json_plain(part) for key, part in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return json_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [json_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)


def elsewhere(value: Any) -> bool:
    """Return whether a value is an array of JAX, torch or another array-API library."""
    if isinstance(value, (np.ndarray, np.generic, int, float, list, tuple)):
        return False
    return hasattr(value, "__array_namespace__") or _root(value) == "torch"


def _root(value: Any) -> str:
    return type(value).__module__.split(".")[0]


def opaque(value: Any) -> bool:
    """Return whether a value must stay as it is, like a tracer or a tensor with gradients."""
    if _root(value) == "torch":
        return bool(getattr(value, "requires_grad", False))
    return not is_concrete(value)


def data(value: Any, check: Callable[[Any, str], np.ndarray], name: str) -> Any:
    """Return checked data; keep what has no values yet or carries gradients."""
    return value if opaque(value) else check(value, name)


def vector(value: Any, name: str, *, length: int | None = None) -> np.ndarray:
    """Return a finite, read-only float64 NumPy vector."""
    return _frozen(value, name, 1, None if length is None else (length,))


def matrix(value: Any, name: str) -> np.ndarray:
    """Return a finite, read-only float64 NumPy matrix with at least one row and one column."""
    return _frozen(value, name, 2, None)


def symmetric(value: Any, name: str) -> np.ndarray:
    """Return a finite, read-only, square and symmetric matrix."""
    M = _frozen(value, name, 2, None, largest=LARGEST**2)  # of a square form
    if M.shape[0] != M.shape[1]:
        raise bad(f"{name}.shape", "that of a square matrix", M.shape)
    apart = abs(M - M.T)
    if apart.max() > 1e-10 * abs(M).max():
        i, j = (int(k) for k in np.unravel_index(int(apart.argmax()), M.shape))
        raise InvalidValueError(
            f"{name} must be symmetric, got {M[i, j]:g} at ({i}, {j}) and {M[j, i]:g} at ({j}, {i})"
        )
    # The last digits of a computed covariance: x'Mx sees the symmetric part alone, and the
    # gradient must agree with it.
    mean: np.ndarray = 0.5 * (M + M.T)
    mean.setflags(write=False)
    return mean


def _frozen(
    value: Any, name: str, ndim: int, shape: tuple[int, ...] | None, largest: float = LARGEST
) -> np.ndarray:
    kind = "vector" if ndim == 1 else "matrix"
    frozen: np.ndarray = array(value, name, f"a {kind} of numbers").copy()
    if frozen.ndim != ndim or frozen.size == 0:
        raise bad(f"{name}.shape", f"that of a {kind} that is not empty", frozen.shape)
    if shape is not None and frozen.shape != shape:
        raise bad(f"{name}.shape", str(shape), frozen.shape)
    refuse_unfinite(frozen, name)
    if abs(frozen).max() > largest:
        raise bad(name, f"at most {largest:g}, where squares stay in float64", value)
    frozen.setflags(write=False)
    return frozen


def array(value: Any, name: str, rule: str = "an array of numbers") -> np.ndarray:
    """Return the same numbers as a float64 NumPy array: the one conversion of the library.

    Text, complex numbers, objects, None, ragged lists and masked entries are refused; integers,
    bools, float32 and tables of numbers lose nothing.

    >>> array([1, 2], "x")
    array([1., 2.])
    >>> array(["-0.3"], "x")
    Traceback (most recent call last):
    surefoot.core.errors.InvalidValueError: x must be an array of numbers, got ['-0.3']
    """
    if type(value) is np.ndarray and value.dtype is FLOAT64:
        return value
    return _unconverted(value, name, rule).astype(np.float64)


def numbers(value: Any, name: str, rule: str) -> np.ndarray:
    """Return the same numbers as a NumPy array of their type; refuse bools as well.

    >>> numbers([True, False], "action", "a vector of numbers")
    Traceback (most recent call last):
    surefoot.core.errors.InvalidValueError: action must be a vector of numbers, got [True, False]
    """
    found = _unconverted(value, name, rule)
    parts = value if isinstance(value, (list, tuple)) else ()
    if found.dtype.kind == "b" or any(isinstance(part, (bool, np.bool_)) for part in parts):
        raise bad(name, rule, value)
    return found


def _unconverted(value: Any, name: str, rule: str) -> np.ndarray:
    """Return the same numbers as a NumPy array of any type of numbers, or refuse them."""
    parts = value if isinstance(value, (list, tuple)) else (value,)
    if any(np.ma.is_masked(part) for part in parts if isinstance(part, np.ma.MaskedArray)):
        raise bad(name, f"{rule}, none of them masked", value)
    try:
        plain = np.asarray(to_numpy(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise bad(name, rule, value) from error
    if plain.dtype.kind not in "biuf":
        raise bad(name, rule, value)
    return plain


def floats(x: Array, name: str = "x") -> Array:
    """Return a point as float64, whatever its integers or rounding were; other backends' as is."""
    if (type(x) is np.ndarray and x.dtype is FLOAT64) or elsewhere(x):
        return x
    rule = "an array of shape (d,) or (B, d)"
    converted = array(x, name, rule)
    if not converted.ndim:
        raise bad(name, rule, x)
    return converted


def refuse_unfinite(array: np.ndarray, name: str) -> None:
    """Raise for NaN and infinities in an array; name the first of them."""
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        index = where[0] if len(where) == 1 else where
        raise InvalidValueError(
            f"{name} must be finite, got {array[where].item()!r} at index {index}"
        )


def exact(value: Any, name: str) -> np.ndarray:
    """Return the constraint's numbers as float64; refuse those that are rounded to less.

    A rounding of 6e-8 is far above a certified slack, so it must not pass unsaid.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT64:
        return value
    refuse_rounded(value, name)
    plain = _unconverted(value, name, "an array of numbers")
    refuse_rounded(plain, name)  # a list of float32 has no type of its own
    return plain.astype(np.float64)


def refuse_rounded(value: Any, name: str) -> None:
    """Raise for a number or an array of less than 64 bits."""
    kind = str(getattr(value, "dtype", "")).lower()  # pandas writes Float32
    if "float" in kind and not kind.endswith(("float64", "float96", "float128")):
        raise InvalidValueError(
            f"{name}.dtype must be float64, got {kind}: compute it in float64, or convert it and "
            "count its rounding as evaluation error"
        )
