"""The few array operations that update rules may use, with the same result on every backend.

Rules are written once (see :mod:`surefoot.core.types` for the shapes) and must be fast for one
small NumPy run, where every call counts, and right for a batch, for JAX under ``jit`` and for
torch. Each has a short path for floats and 1-D NumPy arrays, and a general one by the array API
standard.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core.errors import InvalidTypeError
from surefoot.core.types import Array, Number

__all__ = [
    "at_each",
    "certainly",
    "combine",
    "constant",
    "dot",
    "exp",
    "flat_index",
    "is_concrete",
    "is_number",
    "largest",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "namespace",
    "norm",
    "number_like",
    "one_run",
    "owned",
    "raised",
    "record",
    "rough_square",
    "row",
    "rows_dot",
    "sqrt",
    "squared_and_norm",
    "to_numpy",
    "where",
]

# Bound once: the primitives run every round, where looking up np.ndarray is a measurable cost.
ndarray, vdot = np.ndarray, np.vdot
_set_flags: Any = np.ndarray.setflags
_NUMBERS = (float, int, np.floating, np.integer)
_torch_namespace: Any = None
# Makes a named tuple from its values; the class's own constructor costs as much as three roots.
record = tuple.__new__


def namespace(x: Array) -> Any:
    """Return the array-API namespace of x: ``numpy``, ``jax.numpy``, ...

    >>> namespace(np.ones(2)).__name__
    'numpy'
    """
    if type(x) is np.ndarray or isinstance(x, _NUMBERS):
        return np
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    if type(x).__module__.split(".")[0] == "torch":
        return _torch()
    raise InvalidTypeError(
        f"expected an array of NumPy, JAX, torch or another array-API library, got {type(x)!r}"
    )


def _torch() -> Any:
    global _torch_namespace
    if _torch_namespace is None:
        from surefoot.core.optional import need  # not needed, hence not loaded, by NumPy users

        # torch tensors carry no __array_namespace__ (checked on 2.13): the compat layer does.
        _torch_namespace = need("array_api_compat.torch", "torch", "playing with torch tensors")
    return _torch_namespace


def one_run(x: Array) -> bool:
    """Return whether x is the action of one run (``(d,)``) rather than of a batch (``(B, d)``)."""
    return bool(x.ndim == 1)


def number_like(x: Array, value: Number) -> Number:
    """Return a number in the form that matches x: float, 0-d array or column.

    >>> number_like(np.zeros((2, 3)), 0.5)
    array([[0.5], [0.5]])
    """
    if type(x) is ndarray and x.ndim == 1:
        return value
    xp = namespace(x)
    shape = () if x.ndim == 1 else (x.shape[0], 1)
    # From x rather than from a shape: the result is on x's device, and varies as x does under vmap.
    return xp.reshape(x[..., :1] * 0.0 + value, shape)


def is_number(value: Any) -> bool:
    """Return whether a value is a number of one NumPy run, on which a primitive may branch."""
    return type(value) is float


def certainly(condition: Any) -> bool:
    """Return whether a condition is known to be true now.

    Only a Python bool can be: the same test on a batch or a tracer is False, and the rule goes
    on to its vector form. This is how one run leaves early.
    """
    return condition is True


def is_concrete(x: Array) -> bool:
    """Return whether x has values that can be read; a JAX tracer has none."""
    if type(x) is np.ndarray or type(x).__module__.split(".")[0] != "jax":
        return True
    from jax.core import Tracer

    return not isinstance(x, Tracer)


def constant(data: Array, like: Array) -> Array:
    """Return data stored as NumPy as an array of the same backend as ``like``."""
    if type(like) is np.ndarray or type(data) is not np.ndarray:
        return data
    xp = namespace(like)
    if type(like).__module__.split(".")[0] != "torch":
        return xp.asarray(data)
    # torch shares memory with NumPy, which it must not with data that is read-only, and has
    # actions on devices; JAX moves constants by itself, and its tracers have none.
    return xp.asarray(data if data.flags.writeable else data.copy(), device=like.device)


def dot(a: Array, b: Array) -> Number:
    r"""Return the inner product over the last axis: a float for one run, a column for a batch.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """
    if type(a) is ndarray:
        if a.ndim == 1:
            return float(a.dot(b))
        # vecdot rather than a matrix product or einsum: no temporary, one pass.
        return np.vecdot(a, b)[..., None]
    if isinstance(a, _NUMBERS):
        raise InvalidTypeError(f"expected an array of shape (d,) or (B, d), got {a!r}")
    xp = namespace(a)
    product = a * b
    return xp.sum(product, axis=-1, keepdims=product.ndim > 1)


def combine(weights: Array, rows: Array) -> Array:
    """Return the weighted sum of m rows: ``(m,)`` and ``(m, d)`` give ``(d,)``; a batch ``(B, d)``.

    >>> combine(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([2., 3.])
    """
    if rows.ndim == 2:
        return weights @ rows
    return (weights[:, None, :] @ rows)[:, 0, :]


def rows_dot(rows: Array, x: Array) -> Array:
    """Return the inner product of each of m rows with x: ``(m,)``; for a batch ``(B, m)``.

    >>> rows_dot(np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([1.0, 10.0]))
    array([ 1., 32.])
    """
    if rows.ndim == 2:
        return rows @ x
    return (rows @ x[:, :, None])[:, :, 0]


def norm(a: Array) -> Number:
    """Return the Euclidean norm over the last axis, shaped like the result of :func:`dot`.

    >>> norm(np.array([3.0, 4.0]))
    5.0
    """
    return squared_and_norm(a)[1]


# Between these a sum of squares has lost no digits to underflow, and is finite.
_LEAST_SQUARE, _MOST_SQUARE = 1e-290, 1e308


def squared_and_norm(a: Array) -> tuple[Number, Number]:
    """Return the squared norm over the last axis, and the norm, shaped as :func:`dot` shapes them.

    The norm is right, to a few roundings, also where the square leaves the range of floats.

    >>> squared, length = squared_and_norm(np.array([3e200, 4e200]))
    >>> squared, round(length / 1e200, 9)
    (inf, 5.0)
    """
    if type(a) is ndarray:
        if a.ndim == 1:
            squared = float(vdot(a, a))  # which, unlike dot, does not warn of an overflow
            if _LEAST_SQUARE < squared < _MOST_SQUARE:
                return squared, math.sqrt(squared)
            largest_entry = float(abs(a).max())
            if not 0.0 < largest_entry < math.inf:
                return squared, largest_entry
            scaled = a / largest_entry
            return squared, largest_entry * math.sqrt(scaled.dot(scaled))
        with np.errstate(over="ignore"):
            squared = dot(a, a)
        if squared.min() > _LEAST_SQUARE and squared.max() < _MOST_SQUARE:
            return squared, np.sqrt(squared)
    else:
        squared = dot(a, a)
    xp = namespace(a)
    largest_entry = xp.max(xp.abs(a), axis=-1, keepdims=a.ndim > 1)
    usable = (largest_entry > 0) & (largest_entry < math.inf)
    unit = xp.where(usable, largest_entry, xp.ones_like(largest_entry))
    scaled = a / (unit if a.ndim > 1 else xp.reshape(unit, (1,)))
    rescaled = xp.where(usable, unit * xp.sqrt(dot(scaled, scaled)), largest_entry)
    plain = (squared > _LEAST_SQUARE) & (squared < _MOST_SQUARE)
    ordinary = xp.sqrt(xp.where(plain, squared, xp.ones_like(squared)))
    return squared, xp.where(plain, ordinary, rescaled)


def rough_square(a: Array) -> float:
    """Return the squared norm of a vector to a few roundings, for comparisons with a limit.

    Python squares a few numbers sooner than BLAS does, and neither warns of an overflow.

    >>> rough_square(np.array([3.0, 4.0])), rough_square(np.array([1e200, 0.0]))
    (25.0, inf)
    """
    if len(a) > 4:
        return float(vdot(a, a))
    size = math.hypot(*a.tolist())
    return size * size


def owned(x: Array) -> Array:
    """Return a read-only action of a state; arrays of other backends are unchanged.

    >>> owned(np.zeros(2)).flags.writeable
    False
    """
    if type(x) is ndarray:
        _set_flags(x, False)  # write=False, which takes twice as long by its name
    return x


def sqrt(a: Number) -> Number:
    """Return the square root."""
    if type(a) is float:
        return math.sqrt(a)
    return namespace(a).sqrt(a)


def exp(a: Number) -> Number:
    """Return the exponential."""
    return math.exp(a) if type(a) is float else namespace(a).exp(a)


def log(a: Number) -> Number:
    """Return the natural logarithm."""
    return math.log(a) if type(a) is float else namespace(a).log(a)


def log1p(a: Number) -> Number:
    """Return the logarithm of 1 + a."""
    return math.log1p(a) if type(a) is float else namespace(a).log1p(a)


def maximum(a: Number, b: Number) -> Number:
    """Return the larger of two numbers; NaN if the first is (a rule must not lose one)."""
    if type(a) is float and type(b) is float:
        return b if b > a else a
    a, b = (b, a) if isinstance(a, _NUMBERS) else (a, b)
    return namespace(a).maximum(a, b)


def minimum(a: Number, b: Number) -> Number:
    """Return the smaller of two numbers; NaN if the first is."""
    if type(a) is float and type(b) is float:
        return b if b < a else a
    a, b = (b, a) if isinstance(a, _NUMBERS) else (a, b)
    return namespace(a).minimum(a, b)


def raised(a: Number) -> Number:
    """Return at least what a sum, difference or product was before it was rounded to ``a``.

    That is at most half a unit in the last place of ``a`` above it, and this is one or two. A bound
    that is carried from round to round needs it: sums that are rounded to the nearest number may go
    down every time.

    >>> -0.5 + 1e-17, raised(-0.5 + 1e-17) > -0.5
    (-0.5, True)
    """
    return a + 2.0**-52 * abs(a)


def where(condition: Any, a: Number, b: Number) -> Number:
    """Return ``a`` where the condition holds, else ``b``."""
    if condition is True:
        return a
    if condition is False:
        return b
    return namespace(condition).where(condition, a, b)


def largest(values: Array) -> tuple[Number, Array]:
    """Return the largest entry along the last axis, and its index; the first of equals.

    >>> largest(np.array([1.0, 3.0, 3.0]))
    (3.0, 1)
    """
    if type(values) is ndarray:
        if values.ndim == 1:
            i = int(values.argmax())
            return float(values[i]), i
        index = values.argmax(axis=-1)
        # Looking the value up costs a sixth of a second pass for the maximum.
        return at_each(values, index)[:, None], index
    xp = namespace(values)
    index = xp.argmax(values, axis=-1)
    value = xp.max(values, axis=-1, keepdims=values.ndim > 1)
    return value, index


def at_each(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the entry of each row of a NumPy table at that row's index.

    >>> at_each(np.array([[1.0, 3.0], [5.0, 2.0]]), np.array([1, 0]))
    array([3., 5.])
    """
    entries: np.ndarray = table.take(flat_index(table, index))
    return entries


def flat_index(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the positions of those entries in the flattened table."""
    return index + np.arange(0, table.size, table.shape[1])


def row(table: Array, index: Any) -> Array:
    """Return the rows of a table at the indices that :func:`largest` gave."""
    if type(index) is int:
        return table[index]
    if type(table) is ndarray:
        return table.take(index, axis=0)
    if hasattr(table, "at"):  # JAX, whose `take` would compare every index with the bounds
        return table.at[index].get(mode="promise_in_bounds")
    xp = namespace(table)
    if index.ndim == 0:
        return xp.take(table, xp.reshape(index, (1,)), axis=0)[0, ...]
    return xp.take(table, index, axis=0)


def to_numpy(x: Any) -> Any:
    """Return the values as a NumPy array, whatever the backend."""
    if type(x) is np.ndarray:
        return x
    if type(x).__module__.split(".")[0] == "torch":
        return x.detach().cpu().numpy()
    return np.asarray(x)
