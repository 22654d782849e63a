"""Algorithms, oracles and states taken apart: stacked for a batch, flattened for a compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import to_numpy
from surefoot.core.errors import InvalidValueError

__all__ = ["flatten", "slice_state", "stack", "to_numpy_state", "unflatten"]


def stack(algorithms: Sequence[Any]) -> Any:
    """Return several algorithms as one, each in its own run: numbers that differ become columns."""
    first = algorithms[0]
    if any(type(a) is not type(first) for a in algorithms):
        names = sorted({type(a).__name__ for a in algorithms})
        raise InvalidValueError(
            f"algorithms of one batch must be of one type, got {', '.join(names)}"
        )
    if len(algorithms) == 1:
        return first
    if not is_dataclass(first) or isinstance(first, type):
        raise InvalidValueError(
            f"algorithms of one batch must be dataclasses, got {type(first).__name__}: "
            "play them one by one"
        )
    pairs = [(f.name, [getattr(a, f.name) for a in algorithms]) for f in fields(first)]
    changed = {name: _join(name, values) for name, values in pairs if not _is_shared(values)}
    return replace(first, **changed) if changed else first


def _is_shared(values: list[Any]) -> bool:
    """Return whether all algorithms have the same value."""
    first = values[0]
    return all(v is first or (not is_dataclass(v) and np.array_equal(v, first)) for v in values)


def _join(name: str, values: list[Any]) -> Any:
    """Return the values of a field that differ from algorithm to algorithm as one."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return np.array(values, dtype=np.float64)[:, None]
    if is_dataclass(values[0]):
        return stack(values)
    raise InvalidValueError(
        f"{name} must be a number or the same for all algorithms of one batch, got different ones"
    )


def slice_state(state: Any, which: Any, runs: int) -> Any:
    """Return the part of a batch's state that belongs to one run or to a slice of its runs."""
    if isinstance(state, tuple):
        return type(state)(*(slice_state(leaf, which, runs) for leaf in state))
    return state[which] if np.ndim(state) > 0 and state.shape[0] == runs else state


def to_numpy_state(state: Any, like: Any) -> Any:
    """Return one run's state as the live loop has it: NumPy and floats, shaped like ``like``."""
    if isinstance(like, tuple):
        return type(like)(*map(to_numpy_state, state, like))
    if isinstance(like, (bool, int, float)):
        return type(like)(to_numpy(state).item())
    array = np.array(to_numpy(state))
    return array.reshape(np.shape(like)) if array.size == np.size(like) else array


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Split a tree of dataclasses and tuples into its numbers and a hashable structure.

    Compiled code takes the numbers as arguments, so another eta needs no new compilation.
    """
    numbers: list[Any] = []
    return numbers, _structure(tree, numbers)


def _structure(node: Any, numbers: list[Any]) -> Any:
    if is_dataclass(node) and not isinstance(node, type):
        named = ((f.name, _structure(getattr(node, f.name), numbers)) for f in fields(node))
        return (type(node), *named)
    if type(node) is tuple:
        return (tuple, *(_structure(part, numbers) for part in node))
    # A zero stays in the structure: whether a number is 0 may decide what is computed.
    is_float = isinstance(node, float) and node != 0.0
    if is_float or isinstance(node, (np.ndarray, np.generic)) or _is_foreign_array(node):
        numbers.append(node)
        return _NUMBER
    return (None, node)


def _is_foreign_array(node: Any) -> bool:
    return hasattr(node, "__array_namespace__")


def unflatten(structure: Any, numbers: Sequence[Any]) -> Any:
    """Return the tree again, with other numbers; constructors, and so checks, are not run."""
    return _build(structure, iter(numbers))


def _build(node: Any, numbers: Iterator[Any]) -> Any:
    if node == _NUMBER:
        return next(numbers)
    kind, *parts = node
    if kind is None:
        return parts[0]
    if kind is tuple:
        return tuple(_build(part, numbers) for part in parts)
    made = object.__new__(kind)
    for name, part in parts:
        object.__setattr__(made, name, _build(part, numbers))
    return made


_NUMBER = ("number",)
