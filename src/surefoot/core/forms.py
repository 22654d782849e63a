"""What the fields of a state declare beside their types, for states that come from a file.

A decoded state is compared with a fresh one of the same rule (:mod:`surefoot.core.restore`): the
same classes, shapes and types of numbers, finite where the fresh one is. What may be different in a
later round is declared in the type of the field::

    class Cuts(NamedTuple):
        normals: Annotated[Array, Axes("cuts", None)]  # any number of rows, each of its length
        offsets: Annotated[Array, Axes("cuts")]  # as many entries
        places: Annotated[Array | None, Axes("cuts", Same("place"))] = None  # None in some rounds

and so are the numbers that a field can have: ``rounds: Count``. What is not declared must be as in
the fresh state, so that nothing is accepted because it was forgotten. A record may have a method
``flaw()``, which says in words what its fields contradict each other in, and
``resize_like(found)``, which returns a fresh record as large as one that was found.

Records of a rule that is not the library's are compared more loosely: None may stand for anything
in them and lengths may change.
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
"""The largest count: up to here every whole number is one of float64."""


class Same(str):
    """A length that is the same in all of a state."""

    __slots__ = ()


class Axes(tuple[str | None, ...]):
    """The axes of an array, or the one of a tuple, whose lengths may change.

    None for the length of the fresh state; a word for one that is the same in all fields of a
    record, at most what the rule's ``lengths(d)`` says of the word; :class:`Same` for one that is
    the same in all of a state.

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
        is_whole: whether only whole numbers are meant.
    """

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False

    def __str__(self) -> str:
        what = "whole numbers" if self.is_whole else "numbers"
        return f"{what} from {self.low:.16g} to {self.high:.16g}"


class _Mark(NamedTuple):
    """What is declared by being there."""

    words: str


AsFresh: _Mark = _Mark("None in every round, or in none")
Extended: _Mark = _Mark("infinite in some rounds")
Gaps: _Mark = _Mark("NaN where nothing is known")
PerRow: _Mark = _Mark("as it is, or one of it for each row where constraints are seen apart")
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
