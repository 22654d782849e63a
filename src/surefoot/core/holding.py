"""Frozen dataclasses that hold arrays, or numbers that are computed once."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["HoldsArrays", "KeepsRounding", "same_fields"]


class HoldsArrays:
    """Compare a frozen dataclass with arrays by value, and print it in a few lines."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Before the decorator looks: a dataclass generates what its own class does not define.
        super().__init_subclass__(**kwargs)
        for name, method in (("__eq__", same_fields), ("__repr__", shown_fields)):
            if name not in cls.__dict__:
                setattr(cls, name, method)


class KeepsRounding:
    """Keep the margins for rounding of a frozen dataclass, which rules need in every round.

    What is kept is no field: a copy computes it again.
    """

    __slots__ = ("_kept",)
    _kept: tuple[int, tuple[Any, ...]]

    def rounding(self, d: int) -> tuple[Any, ...]:
        """Return the margins in a dimension."""
        raise NotImplementedError

    def kept_rounding(self, d: int) -> tuple[Any, ...]:
        """Return :meth:`rounding`, computed again only if the dimension is another."""
        try:
            kept = self._kept
            if kept[0] == d:
                return kept[1]
        except AttributeError:
            pass
        kept = (d, self.rounding(d))
        if all(type(number) is float for number in kept[1]):  # a tracer must not leave its trace
            object.__setattr__(self, "_kept", kept)
        return kept[1]


def same_fields(a: Any, b: Any) -> bool:
    """Compare two dataclasses that hold arrays, field by field."""
    if type(a) is not type(b) or not is_dataclass(a):
        return a is b
    pairs = ((getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    return all(x is y or np.array_equal(x, y) for x, y in pairs)


def shown_fields(owner: Any) -> str:
    """Return a dataclass as its constructor's call, with large arrays by their shape alone."""
    if not is_dataclass(owner):
        return object.__repr__(owner)
    shown = (f for f in fields(owner) if f.repr)
    parts = ", ".join(f"{f.name}={_brief(getattr(owner, f.name))}" for f in shown)
    return f"{type(owner).__name__}({parts})"


def _brief(value: Any) -> str:
    if type(value) is np.ndarray and value.size > 16:
        return f"<array of shape {value.shape}>"
    if type(value) is tuple and len(value) > 4:
        return f"({', '.join(map(_brief, value[:3]))}, <{len(value) - 3} more>)"
    return repr(value)
