"""Numbers of a journal, exactly: all of them are rationals, and only roots are rounded, upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

__all__ = [
    "Bounds",
    "Point",
    "UnjudgedError",
    "WrongError",
    "distance",
    "dot",
    "least",
    "mean",
    "minus",
    "norm",
    "number",
    "numbers",
    "over_one",
    "root_up",
    "vector",
]

Point = list[Fraction]
"""An action, or another vector."""
Bounds = list[Fraction]
"""What g is at most: one number per row."""


class WrongError(Exception):
    """The journal is not what it must be, in a sentence."""


class UnjudgedError(Exception):
    """An action that this checker cannot judge, and why."""


def number(
    value: Any, name: str, smallest: float = -math.inf, largest: float = math.inf
) -> Fraction:
    """Return a finite float64 in an interval, exactly."""
    if isinstance(value, dict) and set(value) <= {"number", "type"}:  # one of NumPy's
        value = value.get("number")
    is_number = type(value) in (int, float) and math.isfinite(value) and float(value) == value
    if is_number and smallest <= value <= largest:
        return Fraction(value)
    raise WrongError(f"{name} must be a number from {smallest} to {largest}, got {value!r}"[:200])


def vector(value: Any, d: int, name: str) -> Point:
    """Return a vector of finite numbers; zip would stop at the shorter list."""
    if not isinstance(value, list) or len(value) != d:
        raise WrongError(f"{name} must be a list of {d} numbers")
    return [number(part, name) for part in value]


def numbers(value: Any, name: str) -> list[Any]:
    """Return the parts of a list, or of a tuple as a journal has it."""
    if isinstance(value, dict) and set(value) == {"tuple"}:
        value = value["tuple"]
    if not isinstance(value, list):
        raise WrongError(f"{name} must be a list of numbers")
    return value


def root_up(square: Fraction) -> Fraction:
    """Return a root, rounded up."""
    n, d = square.numerator, square.denominator
    shift = max(0, 120 - (n.bit_length() - d.bit_length()) // 2)
    return Fraction(math.isqrt((n << (2 * shift)) // d) + 1, 1 << shift) if n else Fraction(0)


def minus(a: Point, b: Point) -> Point:
    """Return the difference of two vectors."""
    return [i - j for i, j in zip(a, b, strict=True)]


def over_one(*vectors: Sequence[Fraction]) -> tuple[int, list[list[int]]]:
    """Return vectors as whole numbers over one denominator, which is far faster than fractions."""
    whole = math.lcm(*(part.denominator for v in vectors for part in v))
    return whole, [[i.numerator * (whole // i.denominator) for i in v] for v in vectors]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Return the inner product."""
    whole, (left, right) = over_one(a, b)
    return Fraction(sum(i * j for i, j in zip(left, right, strict=True)), whole * whole)


def norm(a: Point) -> Fraction:
    """Return the length of a vector, rounded up."""
    return root_up(dot(a, a))


def distance(a: Point, b: Point) -> Fraction:
    """Return how far two points are apart, rounded up."""
    return norm(minus(a, b))


def mean(weights: list[Fraction], rows: Sequence[Sequence[Fraction]]) -> Point:
    """Return the mean of vectors by weights, which need not add up to 1."""
    if len(weights) != len(rows) or not sum(weights):
        raise WrongError("there must be a weight per point, and they must not all be 0")
    return [dot(weights, entries) / sum(weights) for entries in zip(*rows, strict=True)]


def least(*bounds: Bounds | None) -> Bounds | None:
    """Return the least of several bounds, row by row; None where there is none."""
    known = [b for b in bounds if b is not None]
    return [min(row) for row in zip(*known, strict=True)] if known else None
