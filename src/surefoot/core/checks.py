"""Argument checks: each raises one sentence with the name, the rule and the value.

Numbers are converted to float64 by :mod:`surefoot.core.convert`, once, when they arrive.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.arrays import constant, is_concrete, namespace, owned, to_numpy
from surefoot.core.convert import (
    FLOAT64,
    LARGEST,
    SMALLEST,
    array,
    bad,
    brief,
    data,
    elsewhere,
    exact,
    floats,
    matrix,
    numbers,
    opaque,
    refuse_rounded,
    refuse_unfinite,
    shown,
    symmetric,
    vector,
)
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.types import Array, Feedback, Number

__all__ = [
    "FLOAT64",
    "above",
    "action",
    "array",
    "at_most",
    "between",
    "brief",
    "constraint_value",
    "cost_gradient",
    "data",
    "exact",
    "feedback",
    "feedback_apart",
    "finite",
    "floats",
    "function",
    "horizon",
    "like_action",
    "matrix",
    "nonnegative",
    "number",
    "numbers",
    "one_of",
    "opaque",
    "plain",
    "positive",
    "refuse_unfinite",
    "scale",
    "shown",
    "symmetric",
    "vector",
    "whole",
]

# Bound once, as in _array: feedback is checked in every round.
ndarray = np.ndarray


def _each(rule: str, holds: Callable[[Any], Any], numbers: dict[str, Any]) -> None:
    for name, value in numbers.items():
        if opaque(value):
            continue
        known = isinstance(value, (int, float, np.number)) or type(value) is np.ndarray
        if not (known or elsewhere(value)):
            raise bad(name, rule, value)
        array = np.asarray(to_numpy(value))
        if array.dtype.kind not in "iuf":
            raise bad(name, rule, value)
        if array.ndim and array.shape[1:] != (1,):
            # A flat array would broadcast against the entries of an action instead of the runs.
            raise bad(f"{name}.shape", "() or (B, 1), a column with a row a run", array.shape)
        wide = array.astype(np.float64)
        good = holds(wide) & np.isfinite(wide)
        if not good.all():
            raise bad(name, rule, array[~good].flat[0].item())


def positive(**numbers: Any) -> None:
    """Raise unless the numbers are finite and above zero."""
    _each("a finite number > 0", lambda v: v > 0, numbers)


def nonnegative(**numbers: Any) -> None:
    """Raise unless the numbers are finite and at least zero."""
    _each("a finite number >= 0", lambda v: v >= 0, numbers)


def scale(**numbers: Any) -> None:
    """Raise unless the sizes are positive and their squares fit float64."""
    positive(**numbers)
    _each(
        f"between {SMALLEST:g} and {LARGEST:g}, where squares stay in float64",
        lambda v: (v >= SMALLEST) & (v <= LARGEST),
        numbers,
    )


def above(limit: float, **numbers: Any) -> None:
    """Raise unless the numbers are finite and above the limit."""
    _each(f"a finite number > {limit:g}", lambda v: v > limit, numbers)


def at_most(limit: float, limit_name: str, **numbers: Any) -> None:
    """Raise for numbers above a named limit."""
    _each(f"at most {limit_name} = {limit:g}", lambda v: v <= limit, numbers)


def between(low: float, high: float, **numbers: Any) -> None:
    """Raise unless the numbers are strictly between two limits."""
    _each(f"strictly between {low:g} and {high:g}", lambda v: (v > low) & (v < high), numbers)


def finite(**numbers: Any) -> None:
    """Raise for NaN, infinities and what is not a number."""
    _each("a finite number", lambda v: v == v, numbers)


def plain(owner: Any, *names: str) -> None:
    """Turn number fields of a frozen dataclass into Python floats.

    NumPy's scalars and 0-d arrays would send a primitive its vector way, where one run cannot
    raise, and an int would be compiled into a scan. Columns and other backends' numbers stay.
    """
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, (int, float, np.number)) or (
            type(value) is np.ndarray and not value.ndim
        ):
            object.__setattr__(owner, name, float(value))


def whole(value: Any, name: str, rule: str = "a whole number >= 1") -> int:
    """Raise unless the value is a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise bad(name, rule, value)
    return int(value)


def horizon(value: Any) -> int:
    """Raise unless the number of rounds is a whole number of at least one."""
    return whole(value, "horizon", "a whole number of rounds >= 1")


def one_of(choices: tuple[str, ...], **values: str) -> None:
    """Raise unless a word is among the choices."""
    for name, value in values.items():
        if value not in choices:
            raise bad(name, "one of " + ", ".join(map(repr, choices)), value)


def function(**values: Any) -> None:
    """Raise unless the value can be called."""
    for name, value in values.items():
        if not callable(value):
            raise bad(name, "a function", value)


class PrecisionWarning(UserWarning):
    """Warn that a float32 input was converted to float64."""


_said_precision = False


def action(x: Any, name: str = "x1") -> Array:
    """Return an action of one run or of a batch as float64: finite, ``(d,)`` or ``(B, d)``.

    Lists are taken as NumPy; float32 is upcast, and the first time said: certified slacks are
    far below its rounding.
    """
    if isinstance(x, (list, tuple)):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise bad(name, "an array of shape (d,) or (B, d)", x) from error
    if not hasattr(x, "shape"):
        raise bad(name, "an array of shape (d,) or (B, d)", x)
    if type(x) is not np.ndarray and not elsewhere(x):
        x = array(x, name)
    if len(x.shape) not in (1, 2) or 0 in x.shape:
        raise bad(f"{name}.shape", "(d,) or (B, d) with no empty axis", tuple(x.shape))
    xp = namespace(x)
    if x.dtype != xp.float64:
        given = str(x.dtype)
        if "int" not in given and not given.endswith("float32"):
            raise bad(f"{name}.dtype", "float64", given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX's own words for what is refused below
            x = x.astype(xp.float64) if hasattr(x, "astype") else xp.astype(x, xp.float64)
        if x.dtype != xp.float64:  # JAX outside 64-bit mode: silently float32 again
            raise InvalidValueError(
                f"{name}.dtype must be float64, got {x.dtype}: enable 64-bit mode in JAX "
                "(jax.config.update('jax_enable_x64', True))"
            )
        if given.endswith("float32"):
            _say_precision(name)
    if is_concrete(x):
        refuse_unfinite(to_numpy(x), name)
    return copy_of(x)


def copy_of(x: Any) -> Any:
    """Return an array that shares no memory with x, read-only where the backend knows such.

    Numbers, None and sparse matrices are returned as they are.
    """
    if not hasattr(x, "shape") or hasattr(x, "tocsr"):
        return x
    if isinstance(x, np.ndarray):
        return owned(np.array(x))
    if hasattr(x, "clone"):  # torch
        return x.clone()
    # JAX's arrays cannot be written to.
    return x if hasattr(x, "at") else namespace(x).asarray(x, copy=True)


def _say_precision(name: str) -> None:
    global _said_precision
    if not _said_precision:
        _said_precision = True
        warn_caller(
            f"{name} is float32 and is taken as float64; all numbers of a game are float64",
            PrecisionWarning,
        )


def feedback(x: Array, seen: Feedback) -> tuple[Array, Number, Array]:
    """Return gradient, value and subgradient of a round; raise if their shapes do not fit x.

    Runs in every update, so it compares shapes and types and leaves the values to the primitives,
    which catch NaN and inf on the way (:func:`surefoot.sets.project_halfspace`).
    """
    if not isinstance(seen, Feedback):
        raise bad("feedback", "a Feedback", seen)
    gradient, g, s = seen.cost_gradient, seen.constraint_value, seen.constraint_subgradient
    try:
        fits = gradient.shape == x.shape == s.shape
    except AttributeError:
        fits = False
    if not fits:
        raise _misfit(gradient, s, tuple(x.shape))
    if type(x) is ndarray and (
        type(s) is not ndarray
        or s.dtype is not FLOAT64
        or type(gradient) is not ndarray
        or gradient.dtype is not FLOAT64
    ):
        gradient, s = array(gradient, "cost_gradient"), exact(s, "constraint_subgradient")
    # Spelt out for what comes most often: one run, and a batch.
    if type(g) is float or (
        type(g) is ndarray and g.dtype is FLOAT64 and g.ndim == 2 and g.shape == (*x.shape[:-1], 1)
    ):
        return gradient, g, s
    return gradient, constraint_value(g, x), s


def reading(x: Array, seen: Feedback) -> tuple[Number, Array]:
    """Return value and subgradient of a round; raise if their shapes do not fit x."""
    s = like_action(seen.constraint_subgradient, x, "constraint_subgradient")
    if isinstance(x, np.ndarray):
        s = exact(s, "constraint_subgradient")
    return constraint_value(seen.constraint_value, x), s


def cost_gradient(x: Array, seen: Feedback) -> Array:
    """Return the cost gradient of a round, for rules that do not ask for the constraint."""
    if not isinstance(seen, Feedback):
        raise bad("feedback", "a Feedback", seen)
    gradient = seen.cost_gradient
    if getattr(gradient, "shape", None) != x.shape:
        raise _misfit(gradient, None, tuple(x.shape))
    if type(x) is np.ndarray and (
        type(gradient) is not np.ndarray or gradient.dtype is not FLOAT64
    ):
        return array(gradient, "cost_gradient")
    return gradient


def feedback_apart(x: Array, seen: Feedback) -> tuple[Array, Array, Array]:
    """Return gradient, values and subgradients of a round with m separate constraints.

    Values are ``(m,)`` and subgradients ``(m, d)``; ``(B, m)`` and ``(B, m, d)`` in a batch.
    """
    return cost_gradient(x, seen), *reading_apart(x, seen)


def reading_apart(x: Array, seen: Feedback) -> tuple[Array, Array]:
    """Return values and subgradients of a round with m separate constraints."""
    g, s = seen.constraint_value, seen.constraint_subgradient
    values: tuple[int, ...] = getattr(g, "shape", ())
    slopes: tuple[int, ...] = getattr(s, "shape", ())
    if len(values) != x.ndim or values[:-1] != x.shape[:-1] or not values[-1]:
        wanted = "(m,)" if x.ndim == 1 else f"({x.shape[0]}, m)"
        raise bad("constraint_value.shape", f"{wanted}, one for each constraint", tuple(values))
    if slopes != (*values, x.shape[-1]):
        wanted = str((*values, x.shape[-1]))
        raise bad("constraint_subgradient.shape", f"{wanted}, one row a value", tuple(slopes))
    if type(x) is np.ndarray:
        g = exact(g, "constraint_value")
        s = s if hasattr(s, "tocsr") else exact(s, "constraint_subgradient")
    return g, s


def _misfit(gradient: Any, s: Any, shape: tuple[int, ...]) -> InvalidValueError:
    if getattr(gradient, "shape", None) != shape:
        return _unlike(gradient, shape, "cost_gradient")
    return _unlike(s, shape, "constraint_subgradient")


def _unlike(value: Any, shape: tuple[int, ...], name: str) -> InvalidValueError:
    got = getattr(value, "shape", None)
    if got is None:
        return bad(name, f"an array of shape {shape}, that of the action", value)
    return bad(f"{name}.shape", f"{shape}, that of the action", tuple(got))


def like_action(value: Any, x: Array, name: str) -> Array:
    """Raise unless the value has the action's shape: a number or a row would broadcast."""
    if getattr(value, "shape", None) != x.shape:
        raise _unlike(value, tuple(x.shape), name)
    return value


def constraint_value(g: Any, x: Array) -> Number:
    """Return the g of a round as :func:`number` does; refuse one of less than 64 bits."""
    refuse_rounded(g, "constraint_value")
    return number(g, x, "constraint_value")


def number(value: Any, x: Array, name: str) -> Number:
    """Return a number of the round in the form its run wants: float, 0-d array or column."""
    one = len(x.shape) == 1
    if type(x) is np.ndarray and one:
        if type(value) is float:
            return value
        if getattr(value, "ndim", 0):  # float() would take one entry for a number
            raise bad(f"{name}.shape", "(), that of one number", tuple(value.shape))
        if isinstance(value, (str, bytes, bytearray, bool, np.bool_, np.ma.MaskedArray)):
            raise bad(name, "one number", value)
        if getattr(getattr(value, "dtype", None), "kind", "f") not in "iufV":
            raise bad(name, "one number", value)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise bad(name, "one number", value) from error
    shape = () if one else (x.shape[0], 1)
    if isinstance(value, (int, float, np.number)) and not isinstance(
        value, (bool, np.complexfloating)
    ):
        return constant(np.full(shape, value, dtype=np.float64), x)
    got = getattr(value, "shape", None)
    if got is None:
        raise bad(name, f"a number or an array of shape {shape}", value)
    if tuple(got) != shape:
        raise bad(f"{name}.shape", str(shape), tuple(got))
    return value if elsewhere(value) else array(value, name)
