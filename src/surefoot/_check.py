"""Argument checks: each raises one sentence with the name, the rule and the value.

Checks read Python numbers and NumPy arrays only, so a tracer or a sweep axis of another backend
passes through a constructor untouched.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot._array import constant, is_concrete, namespace, to_numpy
from surefoot.types import Array, Feedback, Number

__all__ = [
    "above",
    "action",
    "at_most",
    "feedback",
    "function",
    "horizon",
    "matrix",
    "nonnegative",
    "one_of",
    "positive",
    "vector",
]


def _bad(name: str, rule: str, value: Any) -> ValueError:
    return ValueError(f"{name} must be {rule}, got {value!r}")


def _each(rule: str, holds: Callable[[Any], Any], numbers: dict[str, Any]) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number, np.ndarray)):
            if value is None or isinstance(value, (bool, str, complex, list, tuple, dict)):
                raise _bad(name, rule, value)
            continue
        # NaN fails every comparison, so `holds` refuses it without being asked to.
        good = np.logical_and(holds(value), np.isfinite(value))
        if not np.all(good):
            raise _bad(name, rule, np.asarray(value)[~good].flat[0].item())


def positive(**numbers: Any) -> None:
    """Refuse numbers that are not finite and above zero."""
    _each("a finite number > 0", lambda v: v > 0, numbers)


def nonnegative(**numbers: Any) -> None:
    """Refuse numbers that are not finite and at least zero."""
    _each("a finite number >= 0", lambda v: v >= 0, numbers)


def above(limit: float, **numbers: Any) -> None:
    """Refuse numbers that are not finite and above the limit."""
    _each(f"a finite number > {limit:g}", lambda v: v > limit, numbers)


def at_most(limit: float, limit_name: str, **numbers: Any) -> None:
    """Refuse numbers above a named limit."""
    _each(f"at most {limit_name} = {limit:g}", lambda v: v <= limit, numbers)


def horizon(value: Any) -> int:
    """Refuse a number of rounds that is not a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise _bad("horizon", "a whole number of rounds >= 1", value)
    return int(value)


def one_of(choices: tuple[str, ...], **values: str) -> None:
    """Refuse a word that is not among the choices."""
    for name, value in values.items():
        if value not in choices:
            raise _bad(name, "one of " + ", ".join(map(repr, choices)), value)


def function(**values: Any) -> None:
    """Refuse what cannot be called."""
    for name, value in values.items():
        if not callable(value):
            raise _bad(name, "a function", value)


def vector(value: Any, name: str, *, length: int | None = None) -> np.ndarray:
    """A finite, read-only float64 NumPy vector."""
    return _frozen(value, name, 1, None if length is None else (length,))


def matrix(value: Any, name: str) -> np.ndarray:
    """A finite, read-only float64 NumPy matrix with at least one row and one column."""
    return _frozen(value, name, 2, None)


def _frozen(value: Any, name: str, ndim: int, shape: tuple[int, ...] | None) -> np.ndarray:
    kind = "vector" if ndim == 1 else "matrix"
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _bad(name, f"a {kind} of numbers", value) from error
    if array.ndim != ndim or array.size == 0:
        raise _bad(f"{name}.shape", f"that of a {kind} that is not empty", array.shape)
    if shape is not None and array.shape != shape:
        raise _bad(f"{name}.shape", str(shape), array.shape)
    if not np.isfinite(array).all():
        raise _bad(name, "finite", array[~np.isfinite(array)][0].item())
    array.setflags(write=False)
    return array


class PrecisionWarning(UserWarning):
    """A float32 input was taken as float64."""


_said_precision = False


def action(x: Any, name: str = "x1") -> Array:
    """An action of one run or of a batch: finite, ``(d,)`` or ``(B, d)``, float64.

    Lists are taken as NumPy; float32 is upcast, and the first time said: certified slacks are
    far below its rounding.
    """
    if isinstance(x, (list, tuple, float, int)):
        x = np.asarray(x)
    if not hasattr(x, "shape"):
        raise _bad(name, "an array of shape (d,) or (B, d)", x)
    if len(x.shape) not in (1, 2) or 0 in x.shape:
        raise _bad(f"{name}.shape", "(d,) or (B, d) with no empty axis", tuple(x.shape))
    xp = namespace(x)
    if x.dtype != xp.float64:
        if str(x.dtype).endswith("float32"):
            _say_precision(name)
        elif "int" not in str(x.dtype):
            raise _bad(f"{name}.dtype", "float64", str(x.dtype))
        x = x.astype(xp.float64) if hasattr(x, "astype") else xp.astype(x, xp.float64)
        if x.dtype != xp.float64:  # JAX outside 64-bit mode: silently float32 again
            raise ValueError(
                f"{name}.dtype must be float64, got {x.dtype}: enable 64-bit mode in JAX "
                "(jax.config.update('jax_enable_x64', True))"
            )
    if is_concrete(x):
        values = to_numpy(x)
        if not np.isfinite(values).all():
            raise _bad(name, "finite", values[~np.isfinite(values)][0].item())
    return x


def _say_precision(name: str) -> None:
    global _said_precision
    if not _said_precision:
        _said_precision = True
        warnings.warn(
            f"{name} is float32 and is taken as float64; all numbers of a game are float64",
            PrecisionWarning,
            stacklevel=4,
        )


def feedback(x: Array, seen: Feedback) -> tuple[Array, Number, Array]:
    """Gradient, value and subgradient of a round, refused when their shapes do not fit x.

    Runs in every update, so it compares shapes and leaves the values to the primitives, which
    catch NaN and inf on the way (:func:`surefoot.sets.project_halfspace`).
    """
    gradient, g, s, _ = seen
    try:
        if gradient.shape == x.shape == s.shape:
            if type(g) is float or (type(g) is np.ndarray and g.ndim == 2):
                return gradient, g, s
            return gradient, number(g, x), s
    except AttributeError:
        pass
    for name, value in (("cost_gradient", gradient), ("constraint_subgradient", s)):
        if getattr(value, "shape", None) != x.shape:
            got = getattr(value, "shape", value)
            raise _bad(f"{name}.shape", f"{tuple(x.shape)}, that of the action", got)
    raise _bad("constraint_value", "a number", g)


def number(value: Any, x: Array, name: str = "constraint_value") -> Number:
    """A number of the round in the form its run wants: float, 0-d array or column."""
    one = len(x.shape) == 1
    if type(x) is np.ndarray and one:
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise _bad(name, "one number", value) from error
    shape = () if one else (x.shape[0], 1)
    if isinstance(value, (int, float, np.generic)):
        return constant(np.full(shape, value, dtype=np.float64), x)
    if tuple(getattr(value, "shape", (None,))) != shape:
        raise _bad(f"{name}.shape", str(shape), getattr(value, "shape", value))
    return value


def finite(**values: float) -> None:
    """Refuse NaN and infinities."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise _bad(name, "finite", value)
