r"""Contexts that are known before acting: bounds on the rise of g between contexts.

The limit is :math:`g(x; c)`: the context c of a round is announced, x is played, then g is read
there. Knowledge of contexts is one function, the *rise* w, with

.. math:: g(x; c) \le g(x; c') + w(c', c) \quad \text{for all } x .

A context has one number per *column*: a temperature, a base load. Each column is known by itself
(:class:`Column`), and the rise is the sum over columns.

============================================  ====================================================
known of column k                             its part of :math:`w(c', c)`
============================================  ====================================================
``Column(adds=a)``: :math:`g = h + ac_k`      :math:`a(c_k - c'_k)`, exact, of either sign
``Column(G_c=R)``                             :math:`R|c_k - c'_k|`
``Column(G_c=R, worse="up")``                 :math:`R[c_k - c'_k]_+`; 0 where it gets milder
``Column(G_c=R, worse="down")``               :math:`R[c'_k - c_k]_+`
:class:`AnnouncedDrift`                       what was told to have drifted in between
============================================  ====================================================

**Lemma (columns).** *If g changes by at most these parts while one column changes alone, then by at
most their sum while all of them do.* *Proof.* Change one column after the other. ∎

They hold for all contexts, also for those that never come. :class:`Columns` are ``joint`` if g is
convex in x and c together. A column that ``changes`` by at most so much from a round to the next
also bounds how fast g moves (:attr:`ContextKind.largest_step`), which ramps need. What a context is
in numbers, its *place*, is read once, when it is told.

Rounding. With K columns, u = 2^-53 and S the sum of the absolute parts, each part has two roundings
and their sum K - 1. With the last addition a rise errs by hardly more than (K + 2)uS, and
(K + 1)2uS are added to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import (
    Declared,
    anything,
    choice,
    flag,
    nonnegative,
    number,
    positive,
)
from surefoot.core.points import UNIT
from surefoot.core.types import Array
from surefoot.knowledge.base import Capability

__all__ = ["AnnouncedDrift", "Column", "Columns", "ContextKind", "GivenContext", "as_contexts"]


def read_numbers(value: Any, name: str, length: int | None = None, why: str = "") -> Array:
    """Return one or several finite numbers as a vector; raise for another length.

    Args:
        value: what was given.
        name: in sentences.
        length: how many there must be; None for any number.
        why: so many, in words.
    """
    numbers = np.atleast_1d(checks.to_numbers(value, name, "a number, or a vector of numbers"))
    vector: Array = checks.to_vector(numbers, name)
    if length is not None and len(vector) != length:
        rule = f"{'one number' if length == 1 else f'{length} numbers'}{why}"
        raise InvalidValueError(f"{name} must be {rule}, got {len(vector)}")
    return vector


BEYOND_CHANGES = " changes = "
"""What a sentence has of a context that moved further than was given."""

NO_DELAY: Mapping[Capability, str] = {
    "late": "0 in contexts: Theorem X1 needs the context of each reading, and the memory keeps "
    "only that of the last round"
}
"""Why knowledge of contexts does not allow for late readings."""


def check_context(memory: Any) -> None:
    """Raise unless the context of a round was announced before its reading."""
    if memory.context is None:
        raise InvalidValueError(
            f"round {int(memory.rounds) + 1} cannot be read: its context was not announced"
        )


class ContextKind(Declared):
    """What is known of contexts; every method is pure.

    Attributes:
        argument: of ``tell``, by which the next context is announced.
        size: how many numbers a place has.
    """

    size: ClassVar[int] = 1
    argument: ClassVar[Literal["context", "drift"]] = "context"

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        return "what is told of every context is true"

    @property
    def bounds(self) -> Mapping[str, float]:
        """The constants that a reading may refute, by name."""
        return {}

    @property
    def suspect(self) -> str:
        """What a reading may refute beside G_g, in words."""
        return self.premise

    @property
    def largest_step(self) -> float | None:
        """The largest rise of g from the context of a round to that of the next; None if unknown.

        It is rounded up.
        """
        return None

    @property
    def is_exact(self) -> bool:
        """Whether the rise is by how much g changes, and no bound alone."""
        return False

    @property
    def is_joint(self) -> bool:
        """Whether g is convex in actions and contexts together."""
        return False

    def find_jump(self, before: Array, after: Array, rounds: int = 1) -> str:
        """Return how a context changed by more than was given, in words; empty if it did not.

        Args:
            before: its place.
            after: its place some rounds later.
            rounds: how many.
        """
        return ""

    def read(self, context: Any, before: Array | None) -> Array:
        """Return the place of a context, from what a user tells.

        Args:
            context: what was told.
            before: the place of the round before; None in the first.
        """
        return read_numbers(context, "context", self.size, ", one per column")

    def rise(self, before: Array, after: Array) -> Array:
        """Return w from places to places, rounded up; the last axis is that of a place.

        Unless defined, a place is one number, and w is by how much it has become larger.
        """
        return round_up(after - before)[..., 0]

    def fall(self, now: Array, before: Array) -> Array:
        """Return w from the place of a round to those of rounds before it."""
        return self.rise(now, before)


class Column(Declared):
    """What is known of one number of a context: either ``adds`` or ``G_c``.

    Args:
        adds: by how much one unit more raises g, exactly; below 0 if it lowers g.
        G_c: how much g changes per unit at most.
        worse: which way may raise g, "up" or "down"; None for both. Only with ``G_c``.
        changes: how far the column moves from a round to the next at most; None if unknown.

    Example:
        >>> hotter = Columns([Column(G_c=0.012, worse="up", changes=2.0)])
        >>> hotter.rise(np.array([[20.0], [40.0]]), np.array([30.0])).round(6)
        array([0.12, 0.  ])
        >>> round(hotter.largest_step, 6)
        0.024
    """

    adds: float | None = number(default=None)
    G_c: float | None = positive(default=None)
    worse: Literal["up", "down"] | None = choice("up", "down", default=None)
    changes: float | None = nonnegative(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.adds is None) == (self.G_c is None):
            which = "neither" if self.adds is None else "both"
            raise InvalidValueError(
                "a column must have adds, if g changes by exactly so much per unit, or G_c, if it "
                f"changes by at most so much, got {which}"
            )
        if self.adds is not None and self.worse is not None:
            rule = "None for a column that adds: the sign of adds says which way raises g"
            raise checks.invalid("worse", rule, self.worse)

    @property
    def slope(self) -> float:
        """The largest change of g per unit."""
        return abs(self.adds) if self.adds is not None else float(self.G_c or 0.0)

    @property
    def constant(self) -> str:
        """The constant with its value."""
        return f"G_c = {self.G_c:.6g}" if self.adds is None else f"adds = {self.adds:.6g}"

    def describe(self, name: str) -> str:
        """Return what must be true of the column, in words.

        Args:
            name: of the column.
        """
        if self.adds is not None:
            words = f"{name} adds {self.adds:.6g} to g per unit"
        else:
            words = f"g changes by at most G_c = {self.G_c:.6g} per unit of {name}"
        if self.worse is not None:
            words += f", and {'more' if self.worse == 'up' else 'less'} of it is never better"
        if self.changes is not None:
            words += f"; it changes by at most {self.changes:.6g} per round"
        return words


class Columns(ContextKind, kw_only=False):
    """What is known of each number of a context.

    Args:
        columns: one :class:`Column` per number.
        joint: whether g is convex in x and c together: rounds around c are then a round at c.

    Example:
        >>> hall = Columns([Column(adds=0.5), Column(G_c=0.1, worse="up")])  # load, degrees
        >>> float(hall.rise(np.array([1.0, 20.0]), np.array([1.2, 15.0])).round(6))
        0.1
    """

    columns: Sequence[Column] = anything("one Column per number of a context")
    joint: bool = flag(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.columns
        columns = tuple(given) if isinstance(given, list | tuple) else ()
        if not columns or not all(isinstance(column, Column) for column in columns):
            raise checks.invalid("columns", "one Column per number of a context", given)
        object.__setattr__(self, "columns", columns)

    @cached_property
    def _slopes(self) -> tuple[Array, Array, Array]:
        """What a unit of each column adds exactly, and at most upwards and downwards."""
        adds = np.array([column.adds or 0.0 for column in self.columns])
        G_c = np.array([column.G_c or 0.0 for column in self.columns])
        upwards = np.where([column.worse == "down" for column in self.columns], 0.0, G_c)
        downwards = np.where([column.worse == "up" for column in self.columns], 0.0, G_c)
        return adds, upwards, downwards

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many numbers a place has."""
        return len(self.columns)

    @property
    def slopes(self) -> Array:
        """The largest change of g per unit of each column."""
        return np.array([column.slope for column in self.columns])

    @property
    def _names(self) -> list[str]:
        """The names of the columns in sentences."""
        if len(self.columns) == 1:
            return ["the context"]
        return [f"column {i} of the context" for i in range(len(self.columns))]

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        each = zip(self.columns, self._names, strict=True)
        words = [column.describe(name) for column, name in each]
        if self.joint:
            words.append("g is convex in actions and contexts together")
        return "; ".join(words)

    @property
    def suspect(self) -> str:
        """What a reading may refute beside G_g, in words."""
        name = "a column of the context" if len(self.columns) > 1 else "the context"
        joint = ["joint"] if self.joint else []
        return f"{name} ({', '.join([column.constant for column in self.columns] + joint)})"

    @property
    def bounds(self) -> Mapping[str, float]:
        """The constants that a reading may refute, by name."""
        several = len(self.columns) > 1
        return {
            f"G_c[{i}]" if several else "G_c": column.G_c
            for i, column in enumerate(self.columns)
            if column.G_c is not None
        }

    @property
    def largest_step(self) -> float | None:
        """The largest rise of g from the context of a round to that of the next; None if unknown.

        It is rounded up.
        """
        if any(column.changes is None for column in self.columns):
            return None
        slopes = [column.slope * (column.changes or 0.0) for column in self.columns]
        return (1.0 + (len(slopes) + 8) * 2 * UNIT) * sum(slopes)

    @property
    def is_exact(self) -> bool:
        """Whether the rise is by how much g changes, and no bound alone."""
        return all(column.adds is not None for column in self.columns)

    @property
    def is_joint(self) -> bool:
        """Whether g is convex in actions and contexts together."""
        return self.joint

    def find_jump(self, before: Array, after: Array, rounds: int = 1) -> str:
        """Return how a context changed by more than was given, in words; empty if it did not."""
        moves = abs(after - before)
        # A step from one decimal number to the next is of any length within their rounding.
        rounding = 8 * UNIT * (moves + abs(before) + abs(after))
        each = zip(self.columns, moves.tolist(), rounding.tolist(), self._names, strict=True)
        for column, move, rounded, name in each:
            if column.changes is None or move <= rounds * column.changes + rounded:
                continue
            if rounds == 1:
                than = "one round, more than"
            else:
                than = f"{rounds} rounds, more than {rounds} times"
            return f"{name} changed by {move:.6g} in {than}{BEYOND_CHANGES}{column.changes:.6g}"
        return ""

    def rise(self, before: Array, after: Array) -> Array:
        """Return the sum of the rises of all columns."""
        way = after - before
        adds, upwards, downwards = self._slopes
        exact = adds * way
        bounded = upwards * np.maximum(way, 0.0) + downwards * np.maximum(-way, 0.0)
        sizes: Array = (abs(exact) + bounded).sum(axis=-1)
        total: Array = (exact + bounded).sum(axis=-1)
        return total + (len(self.columns) + 1) * 2 * UNIT * sizes


class AnnouncedDrift(ContextKind):
    """g drifts, and by how much at most is told before every round: ``tell(drift=v)``.

    A place is the sum of what was told so far.
    """

    argument: ClassVar[Literal["context", "drift"]] = "drift"

    @property
    def suspect(self) -> str:
        """What a reading may refute beside G_g, in words."""
        return "a drift that was announced"

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        return "g changes by at most what is told before every round"

    def read(self, context: Any, before: Array | None) -> Array:
        """Return the sum with one more drift."""
        drift = read_numbers(context, "drift", 1)
        if not drift[0] >= 0.0:
            raise InvalidValueError(f"drift must be at least 0, got {context!r}")
        return drift if before is None else round_up(before + drift)

    def fall(self, now: Array, before: Array) -> Array:
        """Return the same: g may have been that much larger before, too."""
        return self.rise(before, now)


GivenContext: TypeAlias = ContextKind | Column | Sequence[Column]
"""What ``context=`` of rules and knowledge takes."""


def as_contexts(given: object) -> ContextKind:
    """Return what is known of contexts, from what a user gives.

    Args:
        given: one column, several, or a kind of contexts.
    """
    if isinstance(given, ContextKind):
        return given
    if isinstance(given, Column):
        return Columns((given,))
    if isinstance(given, list | tuple) and all(isinstance(one, Column) for one in given):
        return Columns(tuple(given))
    rule = "a Column, a list of them, Columns(...) or AnnouncedDrift()"
    raise checks.invalid("context", rule, given)
