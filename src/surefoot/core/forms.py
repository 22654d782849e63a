"""Declarations of the fields of a state beside their types, for states from a file.

A decoded state is compared with a fresh one of the same rule (:mod:`surefoot.core.restore`): the
same classes, shapes and types of numbers, and finite if the fresh one is. The type of a field
declares what may differ in a later round::

    class Cuts(NamedTuple):
        normals: Annotated[Array, Axes("cuts", None)]  # any number of rows, each of its length
        offsets: Annotated[Array, Axes("cuts")]  # as many entries
        places: Annotated[Array | None, Axes("cuts", Same("place"))] = None  # None in some rounds

The type also declares the range of numbers: ``rounds: Count``. What is not declared must be as in
the fresh state, so nothing is accepted because it was forgotten. A record may have two methods.
``flaw()`` returns in words how its fields contradict each other. ``resize_like(record)`` returns a
fresh record of the size of a decoded one.

Records of a user's rule are compared more loosely: any field may be None, and lengths may change.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

__all__ = [
    "MOST",
    "POSITIVE",
    "WHOLE",
    "AsFresh",
    "Axes",
    "Count",
    "Counts",
    "Extended",
    "Gaps",
    "Moment",
    "NonNegative",
    "PerRow",
    "Same",
    "Span",
]

MOST = 2.0**53
"""The largest count: float64 represents every whole number up to here."""


class Same(str):
    """A length that is the same in the whole state."""

    __slots__ = ()


class Axes(tuple[str | None, ...]):
    """The axes of an array, or the one of a tuple, whose lengths may change.

    None keeps the length of the fresh state. A word names a length that is the same in all fields
    of a record, at most the value of the word in the rule's ``lengths(d)``. :class:`Same` names one
    that is the same in the whole state.

    >>> Axes("cuts", None)
    ('cuts', None)
    """

    __slots__ = ()

    def __new__(cls, *words: str | None) -> Axes:
        """Return the words."""
        return super().__new__(cls, words)


class Span(NamedTuple):
    """The range of a number, or of all entries of an array.

    Attributes:
        low: the smallest.
        high: the largest.
        is_whole: whether only whole numbers are allowed.
    """

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False

    def __str__(self) -> str:
        what = "whole numbers" if self.is_whole else "numbers"
        return f"{what} from {self.low:.16g} to {self.high:.16g}"


class _Mark(NamedTuple):
    """A declaration without a value."""

    words: str


AsFresh: _Mark = _Mark("None in every round or in no round")
Extended: _Mark = _Mark("infinite in some rounds")
Gaps: _Mark = _Mark("NaN where unknown")
PerRow: _Mark = _Mark("one value, or one per row if the constraints are seen separately")
POSITIVE = Span(5e-324)
WHOLE = Span(0, MOST, is_whole=True)
Count: TypeAlias = Annotated[float, WHOLE]
"""How often something happened, or a round; 0 for none."""
Counts: TypeAlias = Annotated[Any, WHOLE]
"""A count, or a column of them in a batch."""
Moment: TypeAlias = Annotated[Any, Span(-MOST, MOST, is_whole=True)]
"""A round, or a column of them; below 0 for one before the first that a late reading has."""
NonNegative: TypeAlias = Annotated[float, Span(0)]
"""A length, a weight, a sum of squares."""
