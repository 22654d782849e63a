"""The points of a set that keep a distance to its border."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import SurefootError
from surefoot.core.types import Array, Number, Set
from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.ellipsoid import Ellipsoid
from surefoot.sets.halfspace import Halfspace
from surefoot.sets.intersection import Intersection
from surefoot.sets.polytope import Polytope

__all__ = ["move_inwards"]

ROUNDING = 2.0**-40
"""The share of its size by which a border is moved further: more than the rounding of a point."""


def move_inwards(known: Set, length: float) -> Set:
    r"""Return the points of a set that have a ball of a radius around them in the set.

    Of a ball, a box and half-spaces these are all such points, up to rounding. Of an ellipsoid with
    the shortest semi-axis b they are those of :math:`(1 - l/b)E`, which is less: for e in E the
    point :math:`c + (1 - l/b)(e - c) + lu` is the share l/b of the way from e to
    :math:`c + bu`, and E is convex.

    Args:
        known: a convex set with an interior.
        length: l, the radius.

    Raises:
        InvalidValueError: for a set without such a point, or one that is not known by its form.

    Example:
        >>> print(move_inwards(Box([0.0, 0.0], [1.0, 3.0]), 0.25).lower.round(9))
        [0.25 0.25]
        >>> bool(move_inwards(Polytope([[1.0, 1.0]], [2.0]), 1.0).contains(np.array([0.2, 0.3])))
        True
    """
    try:
        return _move(known, length)
    except SurefootError as error:
        rule = f"a set that holds a ball of radius {length:g}"
        raise checks.invalid("the set", rule, known) from error


def _move(known: Any, length: float) -> Set:
    """Return the set; raise where nothing is left. A subclass may be another set."""
    kind = type(known)
    if kind is Ball:
        size = known.radius + (0.0 if known.centre is None else norm(known.centre))
        return Ball(_less(known.radius, length, size), known.centre)
    if kind is Box:
        size = ROUNDING * np.maximum(abs(known.lower), abs(known.upper))
        return Box(known.lower + length + size, known.upper - length - size)
    if kind is Halfspace:
        steep = norm(known.normal)
        return Halfspace(known.normal, _less(known.offset, length * steep, abs(known.offset)))
    if kind is Polytope:
        steep = np.sqrt(np.asarray((known.A * known.A).sum(axis=1))).ravel()
        moved = Polytope(known.A, _less(known.b, length * steep, abs(known.b)))
        _ = moved.interior  # raises without one
        return moved
    if kind is Ellipsoid:
        shortest = 1.0 / float(np.sqrt(known.curvatures[-1]))
        size = 0.0 if known.centre is None else norm(known.centre)
        left = _less(1.0, length / shortest, 1.0 + size / shortest)
        checks.positive(share=left)
        return Ellipsoid(known.P / (left * left), known.centre)
    if kind is Intersection:
        parts = tuple(_move(part, length) for part in known.sets)
        return Intersection(parts, _find_inner(parts, known.inner))
    raise checks.invalid("the set", "one whose border is known", known)


def _less(bound: Number, length: Number, size: Number) -> Any:
    """Return a bound less a length and the rounding of numbers of a size."""
    return bound - length - ROUNDING * (size + length)


def _find_inner(parts: tuple[Set, ...], inner: Array) -> Array:
    """Return a point of all parts, near another; the last one tried if there may be none."""
    for _ in range(100):
        if all(bool(part.contains(inner)) for part in parts):
            return inner
        for part in parts:
            inner = part.project(inner)
    return inner
