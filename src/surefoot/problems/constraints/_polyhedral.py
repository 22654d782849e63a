"""What the l1 and the maximum norm share as constraints: radius, dimension and centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import constant, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, point

__all__ = ["PolyhedralNorm"]


@dataclass(frozen=True, slots=True)
class PolyhedralNorm(Constraint):
    """A norm of the distance to a centre, whose constants depend on the dimension."""

    radius: Number
    dimension: int
    centre: Array | None = None

    def __post_init__(self) -> None:
        checks.scale(radius=self.radius)
        checks.plain(self, "radius")
        object.__setattr__(self, "dimension", checks.whole(self.dimension, "dimension"))
        if self.centre is not None:
            centre = checks.data(self.centre, checks.vector, "centre")
            if tuple(centre.shape) != (self.dimension,):
                raise InvalidValueError(
                    f"centre.shape must be ({self.dimension},), got {tuple(centre.shape)}"
                )
            object.__setattr__(self, "centre", centre)

    def _offset(self, x: Array) -> Array:
        x = point(x, self.dimension)
        return x if self.centre is None else x - constant(self.centre, x)

    @property
    def interior(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else to_numpy(self.centre)
