"""Sets known from the beginning or announced before a round: what regions ask of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import is_concrete, to_numpy
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.points import settled
from surefoot.core.types import Array, Number, Region
from surefoot.sets._dykstra import dykstra

__all__ = ["EmptyRegionError", "known_set", "meeting_point", "projection_onto", "settle"]

_CYCLES = 200


class EmptyRegionError(SurefootError, ValueError):
    """No certified action was found: none in the announced sets, or none at all under drift.

    Attributes:
        point: the certified action nearest to the sets; under drift the one with the smallest
            bound on g, which is above 0.
    """

    def __init__(self, sentence: str, point: Array) -> None:
        super().__init__(sentence)
        self.point = point

    @classmethod
    def of_set(cls, known: Region, point: Array, distance: float) -> EmptyRegionError:
        """Return the error for a set in which nothing is certified."""
        return cls(
            f"no certified action is in {known!r}: the nearest certified one is "
            f"{np.array2string(point, separator=', ')}, {distance:.3g} away",
            point,
        )

    @classmethod
    def of_drift(cls, t: Number, point: Array, bound: Number, drift: Number) -> EmptyRegionError:
        """Return the error for a round after which nothing that was seen is certified any more."""
        return cls(
            f"round {int(t)}: no next action is certified: with a drift of {float(drift):g} per "
            f"round the smallest bound on g is {float(bound):.3g}, at "
            f"{np.array2string(point, separator=', ')}",
            point,
        )


def known_set(value: Any, name: str, *, holds: Array | None = None) -> Region:
    """Return a set that can be projected onto; refuse another, and one without a given point."""
    if not isinstance(value, Region) or isinstance(value, type):
        raise InvalidValueError(f"{name} must be a set with a projection, got {value!r}")
    if holds is not None and is_concrete(holds):
        inside = np.atleast_1d(to_numpy(value.contains(holds)))
        if not inside.all():
            outside = to_numpy(holds).reshape(len(inside), -1)[~inside.ravel()][0]
            raise InvalidValueError(f"x1 must be in the {name} {value!r}, got {outside!r}")
    return value


def projection_onto(sets: tuple[Region, ...]) -> Callable[[Array], Array]:
    """Return the projection onto one set, or onto several together, by Dykstra's method.

    Example:
        >>> from surefoot.sets import Ball, Box
        >>> onto = projection_onto((Box([0.0, 0.0], [1.0, 0.6]), Ball(1.0)))
        >>> onto(np.array([2.0, 3.0])).round(6)
        array([0.8, 0.6])
    """
    if len(sets) == 1:
        return sets[0].project
    return lambda z: dykstra(sets, z).point


def settle(sets: tuple[Region, ...], point: Array) -> Array:
    """Return a point that rounding may have put outside of the sets, moved back."""
    for known in sets:
        point = settled(known, point)
    return point


def meeting_point(
    rows: Sequence[Callable[[Array], Array]],
    sets: tuple[Region, ...],
    holds: Callable[[Array], bool],
    start: Array,
) -> Array | None:
    """Return a point that holds, by projections onto rows and sets in turn; None if none is found.

    Each goes nearly twice as far as its row asks for, so that the turns end inside of the rows and
    not in front of them (half as far again was too little); the sets have the last word.

    Args:
        rows: the projection onto each.
        sets: that hold the point too.
        holds: whether a point is what is looked for.
        start: where to begin.
    """
    point, onto = start, projection_onto(sets) if sets else None
    for _ in range(_CYCLES):
        for project in rows:
            point = point + 1.95 * (project(point) - point)
        if onto is not None:
            point = settle(sets, onto(point))
        if holds(point):
            return point
    return None
