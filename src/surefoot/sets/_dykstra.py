"""Dykstra's method: the projection onto several sets at once, from the projection onto each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.types import Region


class Cycles(NamedTuple):
    r"""Where Dykstra's method ended.

    Attributes:
        point: z, nearly the projection of x; in the last set, nearly in the others.
        parts: :math:`p_i` for each set, with :math:`x = z + \sum p_i`.
        places: :math:`a_i`, a point of each set at which :math:`p_i` is normal to it.
    """

    point: np.ndarray
    parts: tuple[np.ndarray, ...]
    places: tuple[np.ndarray, ...]

    @property
    def gap(self) -> float:
        r"""By how much z may be nearer to x than the projection, :math:`\sum p_i^\top(a_i - z)`."""
        pairs = zip(self.parts, self.places, strict=True)
        return float(sum(p @ (a - self.point) for p, a in pairs))


def dykstra(
    sets: Sequence[Region], x: np.ndarray, *, most: int = 1_000, apart: float = 1e-15
) -> Cycles:
    """Project in turn, each time with what the set took off before put back.

    Args:
        sets: with a common point.
        x: the point to project, one run.
        most: cycles.
        apart: end where the points of all sets are that close, as a share of their norm: if they
            are one, that is the projection.

    Example:
        >>> from surefoot.sets import Ball, Box
        >>> end = dykstra((Box([0.0, 0.0], [1.0, 0.6]), Ball(1.0)), np.array([2.0, 3.0]))
        >>> end.point.round(6)
        array([0.8, 0.6])
    """
    z = x
    parts = [np.zeros_like(x) for _ in sets]
    places = [x] * len(sets)
    for _ in range(most):
        for i, one in enumerate(sets):
            wanted = z + parts[i]
            z = places[i] = one.project(wanted)
            parts[i] = wanted - z
        if all(norm(z - a) <= apart * norm(z) for a in places[:-1]):
            break
    return Cycles(z, tuple(parts), tuple(places))
