"""Frozen dataclasses that hold numbers that are computed once."""

from __future__ import annotations

from typing import Any

__all__ = ["KeepsRounding"]


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
