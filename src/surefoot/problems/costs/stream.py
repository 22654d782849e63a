"""Cost streams stored as arrays: the axes are rounds, then runs, then entries of an action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import ClassVar, Self, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.types import Array, Index, Number
from surefoot.sets import Ball

__all__ = ["ArrayCosts"]


class ArrayCosts(Declared, ABC, kw_only=False):
    """Costs of all rounds, given by arrays with one entry per round.

    A new one names those arrays in ``series``, the one whose last axis is that of an action first,
    and implements the abstract methods. Its other fields are declared.
    """

    series: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        _freeze(self)

    @abstractmethod
    def value(self, t: Index, x: Array) -> Number:
        """Return the cost of round t at x."""

    @abstractmethod
    def gradient(self, t: Index, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""

    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return value and gradient together; override this where they share work."""
        return self.value(t, x), self.gradient(t, x)

    @abstractmethod
    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum of all costs at one action and a subgradient, for a stream of one run."""

    @abstractmethod
    def gradient_bound(self, domain: Ball) -> float | None:
        """Return the largest norm of a gradient over a ball; None if there is none."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """The modulus of strong convexity of every cost; 0 for merely convex ones."""

    @property
    def _leading(self) -> Array:
        return vars(self)[self.series[0]]

    @property
    @final
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self._leading.shape[0])

    @property
    @final
    def runs(self) -> int | None:
        """The number of runs with their own costs; None if all runs share them."""
        return int(self._leading.shape[1]) if self._leading.ndim == 3 else None

    @property
    @final
    def dimension(self) -> int:
        """The length of an action."""
        return int(self._leading.shape[-1])

    @final
    def rounds(self, start: int, stop: int) -> Self:
        """Return the stream of the rounds from start to stop - 1."""
        return self._with({name: vars(self)[name][start:stop] for name in self.series})

    @final
    def run(self, index: Index) -> Self:
        """Return the stream of one run, or of the runs of a slice or an array of indices."""
        if self.runs is None:
            return self
        return self._with({name: vars(self)[name][:, index] for name in self.series})

    @final
    def repeat(self, copies: int) -> Self:
        """Return the streams of all runs, repeated once per copy."""
        if self.runs is None:
            return self
        arrays = {name: vars(self)[name] for name in self.series}
        return self._with(
            {n: namespace(a).tile(a, (1, copies, *(1,) * (a.ndim - 2))) for n, a in arrays.items()}
        )

    @classmethod
    @final
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return several streams as one, one after the other in time."""
        if len(parts) == 1:
            return parts[0]
        return parts[0]._with({n: np.concatenate([vars(p)[n] for p in parts]) for n in cls.series})

    def _with(self, arrays: dict[str, Array]) -> Self:
        """Return the same costs with other arrays, parts of checked ones and not checked again."""
        made = object.__new__(type(self))
        for f in fields(self):
            value = arrays.get(f.name)
            object.__setattr__(made, f.name, vars(self)[f.name] if value is None else value)
        return made


def _freeze(stream: ArrayCosts) -> None:
    """Check the arrays of a new stream, and make them read-only float64.

    They are ``(T, d)``, or ``(T, B, d)`` for B runs with their own costs; arrays with one
    number per round have no last axis.
    """
    shape: tuple[int, ...] | None = None
    for name in stream.series:
        values = vars(stream)[name]
        if checks.is_traced(values):
            return
        values = checks.to_array(values, name)
        if shape is None:
            if values.ndim not in (2, 3) or 0 in values.shape:
                raise InvalidValueError(
                    f"{name}.shape must be (T, d) or (T, B, d) with no empty axis, "
                    f"got {values.shape}"
                )
            shape = values.shape
        elif values.shape != shape[:-1]:
            raise InvalidValueError(f"{name}.shape must be {shape[:-1]}, got {values.shape}")
        if not np.isfinite(values).all():
            where = tuple(np.argwhere(~np.isfinite(values))[0])
            bad = values[where].item()
            raise InvalidValueError(f"{name} must be finite, got {bad!r} in round {where[0] + 1}")
        # A view, not a copy: streams are large.
        values = values.view()
        values.setflags(write=False)
        object.__setattr__(stream, name, values)
