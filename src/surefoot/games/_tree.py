"""Algorithms, constraints, streams and states as numbers and structure: batch, pick, compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array

__all__ = ["columns", "flatten", "live", "part", "pick", "rows", "stack", "unflatten"]


def stack(algorithms: Sequence[Any]) -> Any:
    """Stack several algorithms as one, each in its own run: numbers that differ become columns."""
    first = algorithms[0]
    if any(type(a) is not type(first) for a in algorithms):
        names = sorted({type(a).__name__ for a in algorithms})
        raise InvalidValueError(
            f"algorithms of one batch must be of one type, got {', '.join(names)}"
        )
    if not is_dataclass(first) or isinstance(first, type):
        raise InvalidValueError(
            f"algorithms of one batch must be dataclasses, got {type(first).__name__}: "
            "play them one by one"
        )
    changed: dict[str, Any] = {}
    for f in fields(first):
        values = [getattr(a, f.name) for a in algorithms]
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            if len(set(values)) > 1:
                changed[f.name] = np.array(values, dtype=np.float64)[:, None]
        elif is_dataclass(values[0]) and any(v is not values[0] for v in values):
            changed[f.name] = stack(values)
        elif any(not np.array_equal(v, values[0]) for v in values):
            raise InvalidValueError(
                f"{f.name} must be a number or the same for all algorithms of one batch, "
                f"got different ones"
            )
    return replace(first, **changed) if changed else first


def columns(algorithm: Any) -> int:
    """Return how many runs the columns ``(B, 1)`` of an algorithm are for; 1 if it has none."""
    if not is_dataclass(algorithm):
        return 1
    values = [getattr(algorithm, f.name) for f in fields(algorithm)]
    return max((len(v) if _is_column(v) else columns(v) for v in values), default=1)


def pick(algorithm: Any, run: int) -> Any:
    """Return one run's algorithm out of one with columns ``(B, 1)``."""
    return _with_columns(algorithm, lambda column: float(column[run if len(column) > 1 else 0, 0]))


def rows(algorithm: Any, which: slice) -> Any:
    """Return some runs' algorithm out of one with columns ``(B, 1)``."""
    return _with_columns(algorithm, lambda column: column[which] if len(column) > 1 else column)


def _with_columns(algorithm: Any, change: Callable[[Array], Any]) -> Any:
    """Return an algorithm with the columns in it, at any depth, changed."""
    if not is_dataclass(algorithm) or isinstance(algorithm, type):
        return algorithm
    changed: dict[str, Any] = {}
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        other = change(value) if _is_column(value) else _with_columns(value, change)
        if other is not value:
            changed[f.name] = other
    return replace(algorithm, **changed) if changed else algorithm


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1


def part(state: Any, which: Any, runs: int) -> Any:
    """Return the part of a batch's state that belongs to one run or to a slice of its runs."""
    if isinstance(state, tuple):
        return type(state)(*(part(leaf, which, runs) for leaf in state))
    per_run = getattr(state, "ndim", 0) > 0 and state.shape[0] == runs
    return state[which] if per_run else state


def live(state: Any, like: Any) -> Any:
    """Return one run's state as the live loop has it: NumPy and floats, shaped like ``like``."""
    if isinstance(like, tuple):
        return type(like)(*(live(*leaves) for leaves in zip(state, like, strict=True)))
    if isinstance(like, (bool, int, float)):
        return type(like)(to_numpy(state).item())
    return np.array(to_numpy(state)).reshape(np.shape(like))


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Split a tree of dataclasses and tuples into its numbers and a hashable structure.

    Compiled code takes the numbers as arguments, so another eta needs no new compilation.
    """
    leaves: list[Any] = []

    def visit(node: Any) -> Any:
        if is_dataclass(node) and not isinstance(node, type):
            return (type(node), *((f.name, visit(getattr(node, f.name))) for f in fields(node)))
        if type(node) is tuple:
            return (tuple, *(visit(part) for part in node))
        if isinstance(node, float) and node == 0.0:
            return (None, node)  # whether a number is 0 may decide what is computed
        if isinstance(node, (float, np.ndarray, np.generic)) or hasattr(
            node, "__array_namespace__"
        ):
            leaves.append(node)
            return _LEAF
        return (None, node)

    return leaves, visit(tree)


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the tree again, with other numbers; constructors, and so checks, are not run."""
    remaining = iter(leaves)

    def build(node: Any) -> Any:
        if node == _LEAF:
            return next(remaining)
        kind, *parts = node
        if kind is None:
            return parts[0]
        if kind is tuple:
            return tuple(build(part) for part in parts)
        made = object.__new__(kind)
        for name, part in parts:
            object.__setattr__(made, name, build(part))
        return made

    return build(structure)


_LEAF = ("leaf",)
