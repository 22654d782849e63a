"""What the l1 and the maximum norm share as constraints: radius, dimension and centre."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import convert_like, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, count, size, vector
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, point

__all__ = ["PolyhedralNorm"]


class PolyhedralNorm(Constraint, Declared, kw_only=False):
    """A norm of the distance to a centre, whose constants depend on the dimension."""

    radius: Number = size()
    dimension: int = count()
    centre: Array | None = vector(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.centre is not None and tuple(self.centre.shape) != (self.dimension,):
            raise InvalidValueError(
                f"centre.shape must be ({self.dimension},), got {tuple(self.centre.shape)}"
            )

    def _offset(self, x: Array) -> Array:
        x = point(x, self.dimension)
        return x if self.centre is None else x - convert_like(self.centre, x)

    @property
    def interior(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else to_numpy(self.centre)
