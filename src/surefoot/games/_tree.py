"""Algorithms, constraints and streams as numbers and structure: to batch, pick and compile them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

__all__ = ["flatten", "pick", "stack", "unflatten"]


def stack(algorithms: Sequence[Any]) -> Any:
    """One algorithm that is each of several in its own run: numbers that differ become columns."""
    first = algorithms[0]
    if any(type(a) is not type(first) for a in algorithms):
        names = sorted({type(a).__name__ for a in algorithms})
        raise ValueError(f"algorithms of one batch must be of one type, got {', '.join(names)}")
    changed = {}
    for f in fields(first):
        values = [getattr(a, f.name) for a in algorithms]
        if all(isinstance(v, (int, float)) for v in values):
            if len(set(values)) > 1:
                changed[f.name] = np.array(values, dtype=np.float64)[:, None]
        elif is_dataclass(values[0]) and any(v is not values[0] for v in values):
            changed[f.name] = stack(values)
        elif any(not np.array_equal(v, values[0]) for v in values):
            raise ValueError(
                f"{f.name} must be a number or the same for all algorithms of one batch, "
                f"got different ones"
            )
    return replace(first, **changed) if changed else first


def pick(algorithm: Any, run: int) -> Any:
    """One run's algorithm out of one with columns ``(B, 1)``."""
    if not is_dataclass(algorithm) or isinstance(algorithm, type):
        return algorithm
    changed: dict[str, Any] = {}
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1:
            changed[f.name] = float(value[run, 0])
        elif is_dataclass(value):
            part = pick(value, run)
            if part is not value:
                changed[f.name] = part
    return replace(algorithm, **changed) if changed else algorithm


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The numbers and arrays in a tree of dataclasses and tuples, and what is left, hashable.

    Compiled code takes the numbers as arguments, so another eta needs no new compilation.
    """
    leaves: list[Any] = []

    def visit(node: Any) -> Any:
        if is_dataclass(node) and not isinstance(node, type):
            return (type(node), *((f.name, visit(getattr(node, f.name))) for f in fields(node)))
        if type(node) is tuple:
            return (tuple, *(visit(part) for part in node))
        if isinstance(node, (float, np.ndarray, np.generic)) or hasattr(
            node, "__array_namespace__"
        ):
            leaves.append(node)
            return _LEAF
        return (None, node)

    return leaves, visit(tree)


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """The tree again, with other numbers; constructors, and so checks, are not run."""
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
