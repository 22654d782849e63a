"""How NumPy on this machine rounds the sum of two products: BLAS may fuse one of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Fusing", "fusing_here"]


class Fusing(NamedTuple):
    """Which product is fused into the sum: 0 none, 1 the second, 2 the first; None another way.

    Attributes:
        dot: of two vectors of two entries.
        rows: of a matrix of two rows and columns with a vector.
        columns: of a vector with such a matrix.
    """

    dot: int | None
    rows: int | None
    columns: int | None


@cache
def fusing_here() -> Fusing:
    """Return what the kernels of this machine's BLAS do, found out by trying.

    Example:
        >>> all(kind in (0, 1, 2, None) for kind in fusing_here())
        True
    """
    rng = np.random.default_rng(0)
    tries = [(rng.normal(size=(2, 2)), rng.normal(size=2)) for _ in range(200)]
    return Fusing(
        _kind(lambda A, b: [A[0].dot(b)], tries, lambda A: A[:1]),
        _kind(lambda A, b: A @ b, tries, lambda A: A),
        _kind(lambda A, b: b @ A, tries, lambda A: A.T),
    )


def _kind(
    product: Callable[[Any, Any], Any], tries: list[Any], rows: Callable[[Any], Any]
) -> int | None:
    """Return the first way that gives every result of a product bit for bit."""
    for kind, way in enumerate((_plain, _second, _first)):
        if all(
            float(found) == way(row.tolist(), b.tolist())
            for A, b in tries
            for row, found in zip(rows(A), product(A, b), strict=True)
        ):
            return kind
    return None


def _plain(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1]


def _second(a: list[float], b: list[float]) -> float:
    return _fused(a[1], b[1], a[0] * b[0])


def _first(a: list[float], b: list[float]) -> float:
    return _fused(a[0], b[0], a[1] * b[1])


def _fused(a: float, b: float, c: float) -> float:
    return float(Fraction(a) * Fraction(b) + Fraction(c))
