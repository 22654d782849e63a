"""The array operations of update rules, with the same result on every backend.

Rules are written once (see :mod:`surefoot.core.types` for the shapes). They must be fast for one
small NumPy run, where every call counts, and right for a batch, for JAX under ``jit`` and for
torch. Each operation has a short path for floats and 1-D NumPy arrays, and a general one by the
array API standard.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.errors import InvalidTypeError
from surefoot.core.kernel_constants import LEAST_SQUARE, MOST_SQUARE, UNIT
from surefoot.core.optional import need
from surefoot.core.record import Record, register_as_tree
from surefoot.core.types import Array, Index, Number

_NUMBERS = (float, int, np.floating, np.integer)


def namespace(x: Array) -> Any:
    """Return the array-API namespace of x: ``numpy``, ``jax.numpy``, ...

    >>> namespace(np.ones(2)).__name__
    'numpy'
    """
    if isinstance(x, (np.ndarray, np.generic, float, int)):
        return np
    if is_torch(x):
        # torch tensors carry no __array_namespace__ (checked on 2.13): the compat layer does.
        return need("array_api_compat.torch", "torch", "playing with torch tensors")
    if is_foreign_array(x):
        return x.__array_namespace__()
    raise InvalidTypeError(
        f"expected an array of NumPy, JAX, torch or another array-API library, got {type(x)!r}"
    )


def is_torch(x: Array) -> bool:
    """Return whether x is a tensor of torch."""
    return _package_of(x) == "torch"


def is_foreign_array(x: Array) -> bool:
    """Return whether a value is an array of JAX, torch or another array-API library."""
    if isinstance(x, (np.ndarray, np.generic)):
        return False
    return is_torch(x) or hasattr(x, "__array_namespace__")


def is_sparse(A: Array) -> bool:
    """Return whether a matrix is one of SciPy's sparse ones."""
    return hasattr(A, "tocsr")


def _package_of(x: object) -> str:
    return type(x).__module__.partition(".")[0]


def is_one_run(x: Array) -> bool:
    """Return whether x is the action of one run (``(d,)``) rather than of a batch (``(B, d)``)."""
    return bool(x.ndim == 1)


def number_like(x: Array, value: Number) -> Number:
    """Return a number in the form that matches x: float, 0-d array or column.

    >>> number_like(np.zeros((2, 3)), 0.5)
    array([[0.5], [0.5]])
    """
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return value
    xp = namespace(x)
    shape = () if x.ndim == 1 else (x.shape[0], 1)
    # # From x rather than from a shape: the result is on x's device, and varies as x does under
    # vmap.
    return xp.reshape(x[..., :1] * 0.0 + value, shape)


def is_number(value: Number) -> bool:
    """Return whether a value is a number of one NumPy run, on which a primitive may branch."""
    return isinstance(value, float)


def is_concrete(x: Array) -> bool:
    """Return whether x has values that can be read; a JAX tracer has none."""
    if _package_of(x) != "jax":
        return True
    from jax.core import Tracer

    return not isinstance(x, Tracer)


def let_records_be_trees(x: Array) -> None:
    """Let JAX take states apart that have an array of its own, as it does named tuples."""
    if _package_of(x) in ("jax", "jaxlib"):
        for kind in Record.__subclasses__():
            register_as_tree(kind)


def convert_like(data: np.ndarray, like: Array) -> Array:
    """Return data stored as NumPy as an array of the same backend as ``like``."""
    if isinstance(like, np.ndarray) or not isinstance(data, np.ndarray):
        return data
    xp = namespace(like)
    if not is_torch(like):
        return xp.asarray(data)
    # # torch shares memory with NumPy, which it must not with read-only data, and has actions on
    # devices. JAX moves constants by itself, and its tracers have no device.
    return xp.asarray(data if data.flags.writeable else data.copy(), device=like.device)


def dot(a: Array, b: Array) -> Number:
    r"""Return the inner product over the last axis: a float for one run, a column for a batch.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """
    if isinstance(a, np.ndarray):
        return float(a.dot(b)) if a.ndim == 1 else np.vecdot(a, b)[..., None]
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


def squared_and_norm(a: Array) -> tuple[Number, Number]:
    """Return the squared norm over the last axis, and the norm, shaped as :func:`dot` shapes them.

    The norm is right to a few roundings even if the square overflows or underflows.

    >>> squared, length = squared_and_norm(np.array([3e200, 4e200]))
    >>> squared, round(length / 1e200, 9)
    (inf, 5.0)
    """
    if isinstance(a, np.ndarray):
        if a.ndim == 1:
            squared = float(np.vdot(a, a))  # unlike dot, it does not warn of an overflow
            if LEAST_SQUARE < squared < MOST_SQUARE:
                return squared, math.sqrt(squared)
            largest_entry = float(abs(a).max())
            if not 0.0 < largest_entry < math.inf:
                return squared, largest_entry
            scaled = a / largest_entry
            return squared, largest_entry * math.sqrt(scaled.dot(scaled))
        with np.errstate(over="ignore"):
            squared = dot(a, a)
        if squared.min() > LEAST_SQUARE and squared.max() < MOST_SQUARE:
            return squared, np.sqrt(squared)
    else:
        squared = dot(a, a)
    xp = namespace(a)
    largest_entry = xp.max(xp.abs(a), axis=-1, keepdims=a.ndim > 1)
    usable = (largest_entry > 0) & (largest_entry < math.inf)
    unit = xp.where(usable, largest_entry, xp.ones_like(largest_entry))
    scaled = a / (unit if a.ndim > 1 else xp.reshape(unit, (1,)))
    large_norm = xp.where(usable, unit * xp.sqrt(dot(scaled, scaled)), largest_entry)
    plain = (squared > LEAST_SQUARE) & (squared < MOST_SQUARE)
    plain_norm = xp.sqrt(xp.where(plain, squared, xp.ones_like(squared)))
    return squared, xp.where(plain, plain_norm, large_norm)


def freeze(x: Array) -> Array:
    """Return a NumPy array as read-only; arrays of other backends are unchanged.

    >>> freeze(np.zeros(2)).flags.writeable
    False
    """
    if isinstance(x, np.ndarray):
        x.setflags(write=False)
    return x


def sqrt(a: Number) -> Number:
    """Return the square root."""
    return math.sqrt(a) if isinstance(a, float) else namespace(a).sqrt(a)


def exp(a: Number) -> Number:
    """Return the exponential."""
    return math.exp(a) if isinstance(a, float) else namespace(a).exp(a)


def log(a: Number) -> Number:
    """Return the natural logarithm."""
    return math.log(a) if isinstance(a, float) else namespace(a).log(a)


def log1p(a: Number) -> Number:
    """Return the logarithm of 1 + a."""
    return math.log1p(a) if isinstance(a, float) else namespace(a).log1p(a)


def maximum(a: Number, b: Number) -> Number:
    """Return the larger of two numbers; NaN if the first is (a rule must not lose one)."""
    if isinstance(a, float) and isinstance(b, float):
        return b if b > a else a
    a, b = (b, a) if isinstance(a, _NUMBERS) else (a, b)
    return namespace(a).maximum(a, b)


def minimum(a: Number, b: Number) -> Number:
    """Return the smaller of two numbers; NaN if the first is."""
    if isinstance(a, float) and isinstance(b, float):
        return b if b < a else a
    a, b = (b, a) if isinstance(a, _NUMBERS) else (a, b)
    return namespace(a).minimum(a, b)


def round_up(a: Number) -> Number:
    """Return an upper bound on the sum, difference or product that was rounded to ``a``.

    The exact result is at most half a unit in the last place above ``a``; this adds one or two. A
    bound that is carried from round to round needs it: sums that are rounded to the nearest number
    may decrease every time.

    >>> -0.5 + 1e-17, round_up(-0.5 + 1e-17) > -0.5
    (-0.5, True)
    """
    return a + 2 * UNIT * abs(a)


def where(condition: Array, a: Number, b: Number) -> Number:
    """Return ``a`` where the condition holds, else ``b``."""
    if condition is True:
        return a
    if condition is False:
        return b
    return namespace(condition).where(condition, a, b)


def find_largest(values: Array) -> tuple[Number, Array]:
    """Return the largest entry along the last axis, and its index; the first of equals.

    >>> find_largest(np.array([1.0, 3.0, 3.0]))
    (3.0, 1)
    """
    if isinstance(values, np.ndarray) and values.ndim == 1:
        i = int(values.argmax())
        return float(values[i]), i
    xp = namespace(values)
    index = xp.argmax(values, axis=-1)
    value = xp.max(values, axis=-1, keepdims=values.ndim > 1)
    return value, index


def take_rows(table: Array, index: Array) -> Array:
    """Return the rows of a table at the indices that :func:`find_largest` gave."""
    if isinstance(table, np.ndarray):
        return table[index]
    if is_sparse(table):
        rows = table[np.atleast_1d(index)].toarray()
        return rows if np.ndim(index) else rows[0]
    if _package_of(table) in ("jax", "jaxlib"):  # JAX's `take` compares every index with the bounds
        return table.at[index].get(mode="promise_in_bounds")
    xp = namespace(table)
    if index.ndim == 0:
        return xp.take(table, xp.reshape(index, (1,)), axis=0)[0, ...]
    return xp.take(table, index, axis=0)


def to_numpy(x: Array) -> Array:
    """Return the values of any backend as a NumPy array."""
    return x.detach().cpu().numpy() if is_torch(x) else np.asarray(x)


def loop_in_turn(count: int, step: Callable[[Index, Array], Array], z: Array) -> Array:
    """Apply ``z = step(i, z)`` for each i below count; under JAX as a compiled loop.

    >>> loop_in_turn(3, lambda i, z: 2 * z + i, np.array([1.0, 0.0]))
    array([12.,  4.])
    """
    if not is_concrete(z):
        from jax.lax import fori_loop

        return fori_loop(0, count, step, z)
    for i in range(count):
        z = step(i, z)
    return z


def if_any(condition: Array, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Return ``then()`` if the condition holds in any run, else ``otherwise()``.

    >>> if_any(np.array([[False], [True]]), lambda: "some", lambda: "none")
    'some'
    """
    if isinstance(condition, bool):
        return then() if condition else otherwise()
    some = namespace(condition).any(condition)
    if not is_concrete(some):
        from jax.lax import cond

        return cond(some, then, otherwise)
    return then() if bool(some) else otherwise()
