"""Loops and branches of update rules, with the same result on every backend.

A Python loop or branch must know its values, which a tracer of JAX has not, and is right for one
run only; these are compiled, or go from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.arrays import is_concrete, namespace, ndarray
from surefoot.core.errors import InvalidTypeError
from surefoot.core.types import Array, Number

__all__ = ["if_any", "in_turn", "run_by_run"]


def in_turn(count: int, step: Callable[[Any, Array], Array], z: Array) -> Array:
    """Apply ``z = step(i, z)`` for each i below count; under JAX, too, as a compiled loop.

    >>> in_turn(3, lambda i, z: 2 * z + i, np.array([1.0, 0.0]))
    array([12.,  4.])
    """
    if not is_concrete(z):
        from jax.lax import fori_loop

        return fori_loop(0, count, step, z)
    for i in range(count):
        z = step(i, z)
    return z


def run_by_run(step: Callable[..., Any], arrays: tuple[Array, ...], *numbers: Number) -> Any:
    """Apply a function of one run to each run of a NumPy batch, for loops that depend on data.

    Args:
        step: takes the arrays and numbers of one run; returns an array, a float or a tuple of them.
        arrays: with a leading axis of runs in a batch; the first decides whether it is one.
        numbers: floats, or columns in a batch.

    Example:
        >>> half = lambda x, share: (share * x, float(x[0]))
        >>> run_by_run(half, (np.array([2.0, 4.0]),), 0.5)
        (array([1., 2.]), 2.0)
        >>> run_by_run(half, (np.array([[2.0, 4.0]]),), 0.5)
        (array([[1., 2.]]), array([[2.]]))
    """
    if type(arrays[0]) is not ndarray:
        raise InvalidTypeError(f"expected a NumPy array, got {type(arrays[0])!r}")
    if arrays[0].ndim == 1:
        return step(*arrays, *numbers)
    columns = [np.broadcast_to(n, (len(arrays[0]), 1))[:, 0].tolist() for n in numbers]
    results = [step(*run) for run in zip(*arrays, *columns, strict=True)]
    if not isinstance(results[0], tuple):
        return _stacked(results)
    return tuple(_stacked(parts) for parts in zip(*results, strict=True))


def _stacked(parts: Any) -> Array:
    stacked = np.stack([np.asarray(part) for part in parts])
    return stacked[:, None] if stacked.ndim == 1 else stacked


def if_any(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Return ``then()`` if the condition holds in any run, else ``otherwise()``.

    >>> if_any(np.array([[False], [True]]), lambda: "some", lambda: "none")
    'some'
    """
    if type(condition) is bool:
        return then() if condition else otherwise()
    some = namespace(condition).any(condition)
    if not is_concrete(some):
        from jax.lax import cond

        return cond(some, then, otherwise)
    return then() if bool(some) else otherwise()
