"""Check and convert arguments. Each check raises one sentence with name, rule and value.

This is the one place where numbers become float64. Lists, integers, tables, masked arrays and
arrays of other libraries are converted if nothing is lost. Tracers and torch tensors with gradients
are left unchanged.
"""

import inspect
import math
import warnings
from collections.abc import Callable
from functools import partial
from operator import le, lt
from typing import Any, TypeGuard

import numpy as np

from surefoot.core.arrays import (
    convert_like,
    freeze,
    is_concrete,
    is_foreign_array,
    is_one_run,
    is_sparse,
    is_torch,
    let_records_be_trees,
    namespace,
    to_numpy,
)
from surefoot.core.errors import InvalidValueError, SurefootError, warn_caller
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Number

# # Squares of scales between these are normal numbers of float64. Other scales would underflow or
# overflow in an update; compiled code flushes subnormal numbers to 0.
SMALLEST, LARGEST = 1e-151, 1e151
LONGEST = 2**1000
"""No horizon is longer: floats end at 2^1024, and bounds multiply a horizon by constants."""


def invalid(name: str, rule: str, value: object) -> InvalidValueError:
    """Return the error whose sentence has the name, the rule and the value."""
    return InvalidValueError(f"{name} must be {rule}, got {repr_line(value)}")


def repr_line(value: object) -> str:
    """Return a value as one line of text that fits into a sentence."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a user's object
        text = f"<{type(value).__name__}, which cannot be printed>"
    return text if len(text) <= 200 else f"{text[:160]} ... of type {type(value).__name__}"


def describe(value: object) -> str:
    """Describe a value in a few words; give its contents only if they are short.

    >>> describe(np.ones((50, 2))), describe(len), describe(dict), describe(7)
    ('an array of shape (50, 2)', 'the function len', 'the class dict', '7')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if shape := shape_of(value):
        kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        return f"{kind} of shape {shape}"
    if inspect.isroutine(value):
        return "a function" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    return repr_line(value)


def shape_of(value: Array) -> tuple[int, ...] | None:
    """Return the shape of an array; None for other objects."""
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) else None


def finite_or_none(value: Number) -> float | None:
    """Return a number as a Python float, and None for one that is not finite.

    >>> finite_or_none(2), finite_or_none(np.inf)
    (2.0, None)
    """
    number = float(value)
    return number if math.isfinite(number) else None


# ---- numbers


def _check_each(rule: str, holds: Callable[[Array], Array], numbers: dict[str, Number]) -> None:
    for name, value in numbers.items():
        if type(value) is float and math.isfinite(value) and holds(value):
            continue  # nearly every case
        if is_traced(value):
            continue
        is_known = isinstance(value, (int, float, np.number, np.ndarray)) or is_foreign_array(value)
        array = np.asarray(to_numpy(value)) if is_known else np.array("")
        if array.dtype.kind not in "iuf" or isinstance(value, np.ma.MaskedArray):
            raise invalid(name, rule, value)
        if array.ndim and array.shape[1:] != (1,):
            # A flat array would broadcast against the entries of an action instead of the runs.
            raise invalid(
                f"{name}.shape", "() or (B, 1), a column with one row per run", array.shape
            )
        wide = array.astype(np.float64)
        good = holds(wide) & np.isfinite(wide)
        if not good.all():
            raise invalid(name, rule, array[~good].flat[0].item())


def positive(**numbers: Number) -> None:
    """Raise unless the numbers are finite and above zero."""
    _check_each("a finite number > 0", partial(lt, 0), numbers)


def nonnegative(**numbers: Number) -> None:
    """Raise unless the numbers are finite and at least zero."""
    _check_each("a finite number >= 0", partial(le, 0), numbers)


def squarable(**numbers: Number) -> None:
    """Raise unless the sizes are positive and their squares fit float64."""
    positive(**numbers)
    _check_each(
        f"between {SMALLEST:g} and {LARGEST:g}, where squares stay in float64",
        lambda v: (v >= SMALLEST) & (v <= LARGEST),
        numbers,
    )


def above(limit: float, **numbers: Number) -> None:
    """Raise unless the numbers are finite and above the limit."""
    _check_each(f"a finite number > {limit:g}", lambda v: v > limit, numbers)


def at_most(limit: float, limit_name: str, **numbers: Number) -> None:
    """Raise for numbers above a named limit."""
    _check_each(f"at most {limit_name} = {limit:g}", lambda v: v <= limit, numbers)


def between(low: float, high: float, **numbers: Number) -> None:
    """Raise unless the numbers are strictly between two limits."""
    rule = f"strictly between {low:g} and {high:g}"
    _check_each(rule, lambda v: (v > low) & (v < high), numbers)


def finite(**numbers: Number) -> None:
    """Raise for NaN, infinities and what is not a number."""
    _check_each("a finite number", np.isfinite, numbers)


def to_python_number(value: Number) -> Number:
    """Return a number of Python or NumPy as a Python float; columns and other backends' stay.

    NumPy's scalars and 0-d arrays would take the vector path of a primitive, where one run cannot
    raise. An int would be compiled into a scan.
    """
    is_scalar = isinstance(value, (int, float, np.number, np.ndarray)) and not np.ndim(value)
    return float(value) if is_scalar else value


def positive_int(value: object, name: str, rule: str = "", least: int = 1) -> int:
    """Return a whole number; raise unless it is at least 1, or another least."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise invalid(name, rule or f"a whole number >= {least}", value)
    return int(value)


def check_horizon(value: object, name: str = "horizon") -> int:
    """Return a number of rounds; raise unless it is a whole number from 1 to 2^1000."""
    rounds = positive_int(value, name, "a whole number of rounds >= 1")
    if rounds > LONGEST:
        raise invalid(name, "at most 2^1000, because floats end at 2^1024", value)
    return rounds


def check_possible_horizon(horizon: object) -> None:
    """Raise unless an unused horizon is None or a number of rounds."""
    if horizon is not None:
        check_horizon(horizon)


def one_of(choices: tuple[str, ...], **values: object) -> None:
    """Raise unless a word is among the choices."""
    for name, value in values.items():
        if value not in choices:
            raise invalid(name, "one of " + ", ".join(map(repr, choices)), value)


def function(**values: object) -> None:
    """Raise unless the value can be called."""
    for name, value in values.items():
        if not callable(value):
            raise invalid(name, "a function", value)


# ---- arrays


def is_traced(value: Array) -> bool:
    """Return whether a value must not be converted: a tracer or a tensor with gradients."""
    if is_torch(value):
        return bool(value.requires_grad)
    return not is_concrete(value)


def to_vector(value: Array, name: str, *, length: int | None = None) -> np.ndarray:
    """Return a finite, read-only float64 NumPy vector."""
    vector = _to_frozen(value, name, 1)
    if length is not None and len(vector) != length:
        raise invalid(f"{name}.shape", f"({length},)", vector.shape)
    return vector


def to_matrix(value: Array, name: str) -> np.ndarray:
    """Return a finite, read-only float64 NumPy matrix with at least one row and one column."""
    return _to_frozen(value, name, 2)


def to_rows(value: Array, name: str) -> Array:
    """Return a finite, read-only matrix without a zero row, dense or SciPy's sparse as given."""
    if is_sparse(value):
        A = value.tocsr().astype(np.float64, copy=True)
        if len(A.shape) != 2 or 0 in A.shape:
            raise invalid(f"{name}.shape", "that of a matrix that is not empty", A.shape)
        A.sum_duplicates()  # rows are read entry by entry
        A.eliminate_zeros()
        bad = np.flatnonzero(~np.isfinite(A.data))
        if len(bad):
            i, j = np.searchsorted(A.indptr, bad[0], side="right") - 1, A.indices[bad[0]]
            entry = A.data[bad[0]].item()
            raise InvalidValueError(f"{name} must be finite, got {entry!r} at index ({i}, {j})")
        for part in (A.data, A.indices, A.indptr):
            part.setflags(write=False)
        is_nonzero = np.diff(A.indptr) > 0
    else:
        A = to_matrix(value, name)
        is_nonzero = A.any(axis=1)
    if not is_nonzero.all():
        raise InvalidValueError(
            f"{name} must have no zero row, got zeros in row {is_nonzero.argmin()}"
        )
    return A


def to_symmetric(value: Array, name: str) -> Array:
    """Return a finite, read-only, square and symmetric matrix."""
    M = _to_frozen(value, name, 2, largest=LARGEST**2)  # of a quadratic form
    if M.shape[0] != M.shape[1]:
        raise invalid(f"{name}.shape", "that of a square matrix", M.shape)
    separately = abs(M - M.T)
    if separately.max() > 1e-10 * abs(M).max():
        i, j = (int(k) for k in np.unravel_index(int(separately.argmax()), M.shape))
        raise InvalidValueError(
            f"{name} must be symmetric, got {M[i, j]:g} at ({i}, {j}) and {M[j, i]:g} at ({j}, {i})"
        )
    # # The last digits of a computed covariance may differ: x'Mx depends only on the symmetric
    # part, and the gradient must agree with it.
    return freeze(0.5 * (M + M.T))


def _to_frozen(value: Array, name: str, ndim: int, largest: float = LARGEST) -> np.ndarray:
    kind = "vector" if ndim == 1 else "matrix"
    array = to_array(value, name, f"a {kind} of numbers").copy()
    if array.ndim != ndim or array.size == 0:
        raise invalid(f"{name}.shape", f"that of a {kind} that is not empty", array.shape)
    refuse_unfinite(array, name)
    if abs(array).max() > largest:
        raise invalid(name, f"at most {largest:g}, where squares stay in float64", value)
    array.setflags(write=False)
    return array


def to_array(value: Array, name: str, rule: str = "an array of numbers") -> np.ndarray:
    """Return the same numbers as a float64 NumPy array: the one conversion of the library.

    Text, complex numbers, objects, None, ragged lists and masked entries are rejected. Integers,
    bools, float32 and tables of numbers lose nothing.

    >>> to_array([1, 2], "x")
    array([1., 2.])
    >>> to_array(["-0.3"], "x")
    Traceback (most recent call last):
    surefoot.core.errors.InvalidValueError: x must be an array of numbers, got ['-0.3']
    """
    if _is_float64(value):
        return value
    return _to_any_numbers(value, name, rule).astype(np.float64)


def to_numbers(value: Array, name: str, rule: str) -> np.ndarray:
    """Return the same numbers as a NumPy array of their type; reject bools.

    >>> to_numbers([True, False], "action", "a vector of numbers")
    Traceback (most recent call last):
    surefoot.core.errors.InvalidValueError: action must be a vector of numbers, got [True, False]
    """
    array = _to_any_numbers(value, name, rule)
    parts = value if isinstance(value, (list, tuple)) else ()
    if array.dtype.kind == "b" or any(isinstance(part, (bool, np.bool_)) for part in parts):
        raise invalid(name, rule, value)
    return array


def _is_float64(value: object) -> TypeGuard[np.ndarray]:
    """Return whether no conversion is needed, as in nearly every round."""
    return type(value) is np.ndarray and value.dtype == np.float64  # and not masked


def _to_any_numbers(value: Array, name: str, rule: str) -> np.ndarray:
    parts = value if isinstance(value, (list, tuple)) else (value,)
    if any(np.ma.is_masked(part) for part in parts if isinstance(part, np.ma.MaskedArray)):
        raise invalid(name, f"{rule}, none of them masked", value)
    try:
        array = np.asarray(to_numpy(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise invalid(name, rule, value) from error
    if array.dtype.kind not in "biuf":
        raise invalid(name, rule, value)
    return array


def to_floats(x: Array, name: str = "x") -> Array:
    """Return a point as float64; arrays of other backends are unchanged."""
    if is_foreign_array(x):
        return x
    rule = "an array of shape (d,) or (B, d)"
    array = to_array(x, name, rule)
    if not array.ndim:
        raise invalid(name, rule, x)
    return array


def refuse_unfinite(array: np.ndarray, name: str) -> None:
    """Raise for NaN and infinities in an array; name the first of them."""
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        index = where[0] if len(where) == 1 else where
        raise InvalidValueError(
            f"{name} must be finite, got {array[where].item()!r} at index {index}"
        )


def to_exact(value: Array, name: str) -> np.ndarray:
    """Return the constraint's numbers as float64; reject lower precision.

    A rounding of 6e-8 is far above a certified slack, so it must not pass silently.
    """
    if _is_float64(value):
        return value
    refuse_rounded(value, name)
    array = _to_any_numbers(value, name, "an array of numbers")
    refuse_rounded(array, name)  # a list of float32 has no dtype
    return array.astype(np.float64)


def refuse_rounded(value: Array, name: str) -> None:
    """Raise for a number or an array of less than 64 bits."""
    kind = str(getattr(value, "dtype", "")).lower()  # pandas writes Float32
    if "float" in kind and not kind.endswith(("float64", "float96", "float128")):
        raise InvalidValueError(
            f"{name}.dtype must be float64, got {kind}: compute it in float64, or convert it and "
            "count its rounding as evaluation error"
        )


# ---- actions and feedback


class PrecisionWarning(UserWarning):
    """Warn that a float32 input was converted to float64."""


_said_precision = False


def to_action(x: Array, name: str = "x1") -> Array:
    """Return an action of one run or of a batch as float64: finite, ``(d,)`` or ``(B, d)``.

    Lists become NumPy arrays. Float32 is converted with one warning, because certified slacks are
    far below its rounding.
    """
    rule = "an array of shape (d,) or (B, d)"
    if isinstance(x, (list, tuple)):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise invalid(name, rule, x) from error
    if shape_of(x) is None:
        raise invalid(name, rule, x)
    if not (isinstance(x, np.ndarray) or is_foreign_array(x)):
        x = to_array(x, name)
    if len(x.shape) not in (1, 2) or 0 in x.shape:
        raise invalid(f"{name}.shape", "(d,) or (B, d) with no empty axis", tuple(x.shape))
    x = upcast(x, name)
    if is_concrete(x):
        refuse_unfinite(to_numpy(x), name)
    let_records_be_trees(x)
    return copy_of(x)


def upcast(x: Array, name: str) -> Array:
    """Return numbers as float64; warn of the first float32."""
    global _said_precision
    xp, dtype = namespace(x), str(x.dtype)
    if x.dtype == xp.float64:
        return x
    if "int" not in dtype and not dtype.endswith("float32"):
        raise invalid(f"{name}.dtype", "float64", dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of what is rejected below
        x = xp.asarray(x, dtype=xp.float64)
    if x.dtype != xp.float64:  # JAX without 64-bit mode: silently float32 again
        raise InvalidValueError(
            f"{name}.dtype must be float64, got {x.dtype}: enable 64-bit mode in JAX "
            "(jax.config.update('jax_enable_x64', True))"
        )
    if dtype.endswith("float32") and not _said_precision:
        _said_precision = True
        warn_caller(
            f"{name} is float32 and was converted to float64; all numbers of a game are float64",
            PrecisionWarning,
        )
    return x


def copy_of(x: Array) -> Array:
    """Return an array that shares no memory with x, read-only if the backend supports it.

    Numbers, None and sparse matrices are returned as they are.
    """
    if isinstance(x, np.ndarray):
        return freeze(np.array(x))
    if is_torch(x):
        return x.clone()
    return namespace(x).asarray(x, copy=True) if is_foreign_array(x) else x


def read_feedback(x: Array, feedback: Feedback) -> tuple[Array, Number, Array]:
    """Return gradient, value and subgradient of a round; raise if their shapes do not fit x.

    This runs in every update, so it compares only shapes and types. The primitives catch NaN and
    inf in the values (:func:`surefoot.sets.project_halfspace`).
    """
    return read_gradient(x, feedback), *read_constraint(x, feedback)


def read_gradient(x: Array, feedback: Feedback) -> Array:
    """Return the cost gradient of a round; raise if its shape does not fit x."""
    if not isinstance(feedback, Feedback):
        raise invalid("feedback", "a Feedback", feedback)
    gradient = check_like_action(feedback.cost_gradient, x, "cost_gradient")
    return to_array(gradient, "cost_gradient") if isinstance(x, np.ndarray) else gradient


def read_constraint(x: Array, feedback: Feedback) -> tuple[Number, Array]:
    """Return value and subgradient of a round; raise if their shapes do not fit x."""
    s = check_like_action(feedback.constraint_subgradient, x, "constraint_subgradient")
    if isinstance(x, np.ndarray):
        s = to_exact(s, "constraint_subgradient")
    return read_constraint_value(feedback.constraint_value, x), s


def read_feedback_separately(x: Array, feedback: Feedback) -> tuple[Array, Array, Array]:
    """Return gradient, values and subgradients of a round with m separate constraints.

    Values are ``(m,)`` and subgradients ``(m, d)``; ``(B, m)`` and ``(B, m, d)`` in a batch.
    """
    return read_gradient(x, feedback), *read_constraints(x, feedback)


def read_constraints(x: Array, feedback: Feedback) -> tuple[Array, Array]:
    """Return values and subgradients of a round with m separate constraints."""
    g, s = feedback.constraint_value, feedback.constraint_subgradient
    values, slopes = shape_of(g) or (), shape_of(s)
    if len(values) != x.ndim or values[:-1] != tuple(x.shape[:-1]) or not values[-1]:
        shape = "(m,)" if x.ndim == 1 else f"({x.shape[0]}, m)"
        raise invalid("constraint_value.shape", f"{shape}, one for each constraint", values)
    if slopes != (*values, x.shape[-1]):
        shape = str((*values, x.shape[-1]))
        raise invalid("constraint_subgradient.shape", f"{shape}, one row per value", slopes)
    if isinstance(x, np.ndarray):
        g = to_exact(g, "constraint_value")
        s = s if is_sparse(s) else to_exact(s, "constraint_subgradient")
    return g, s


def check_like_action(value: Array, x: Array, name: str) -> Array:
    """Raise unless the value has the action's shape: a number or a row would broadcast."""
    shape, action_shape = shape_of(value), tuple(x.shape)
    if shape is None:
        raise invalid(name, f"an array of shape {action_shape}, that of the action", value)
    if shape != action_shape:
        raise invalid(f"{name}.shape", f"{action_shape}, that of the action", shape)
    return value


def read_constraint_value(g: Number, x: Array) -> Number:
    """Return the g of a round as :func:`to_number` does; reject fewer than 64 bits."""
    refuse_rounded(g, "constraint_value")
    return to_number(g, x, "constraint_value")


def to_number(value: Number, x: Array, name: str) -> Number:
    """Return a number of the round in the form of its run: float, 0-d array or column."""
    if isinstance(x, np.ndarray) and is_one_run(x):
        if isinstance(value, float):
            return float(value)
        number = to_numbers(value, name, "one number")
        if number.ndim:
            raise invalid(f"{name}.shape", "(), that of one number", number.shape)
        return float(number)
    shape = () if is_one_run(x) else (x.shape[0], 1)
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return convert_like(np.full(shape, value, dtype=np.float64), x)
    if shape_of(value) is None:
        raise invalid(name, f"a number or an array of shape {shape}", value)
    if shape_of(value) != shape:
        raise invalid(f"{name}.shape", str(shape), shape_of(value))
    return value if is_foreign_array(value) else to_array(value, name)


def call_yours(ask: Callable[[], Any], rule: str) -> Any:
    """Call a user's function; raise its error as one sentence.

    Args:
        ask: calls the function.
        rule: what must hold for it: "q must return numbers".
    """
    try:
        return ask()
    except SurefootError:
        raise
    except Exception as error:
        raise InvalidValueError(f"{rule}, got {type(error).__name__}: {error}") from error
