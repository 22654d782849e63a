"""The axis-parallel box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import convert_like, namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import vector
from surefoot.core.points import (
    UNIT,
    ConvexSet,
    all_entries,
    bounded_diameter,
    check_length,
    clean,
    keep_nan,
)
from surefoot.core.types import Array, ArrayLike
from surefoot.sets.ball import Ball

__all__ = ["Box"]


class Box(ConvexSet, kw_only=False):
    r"""The box :math:`\{x : l \le x \le u\}`, entry by entry.

    Args:
        lower: :math:`l`, a vector.
        upper: :math:`u \ge l`.

    Example:
        >>> Box([-0.5, -0.5], [0.5, 0.5]).project(np.array([-3.0, 0.2]))
        array([-0.5,  0.2])
    """

    lower: Array = vector()
    upper: Array = vector()

    if TYPE_CHECKING:  # what a caller may give, beside what is kept

        def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = self.lower, self.upper
        if isinstance(lower, np.ndarray):
            checks.to_vector(upper, "upper", length=len(lower))
            if not (lower <= upper).all():
                i = int((lower > upper).argmax())
                raise InvalidValueError(
                    f"lower must be at most upper, got {lower[i]:g} > {upper[i]:g} at index {i}"
                )

    @classmethod
    def cube(cls, radius: float, dimension: int) -> Box:
        """Return the box of all points whose entries are at most the radius in absolute value."""
        checks.positive(radius=radius)
        checks.positive_int(dimension, "dimension")
        return cls(np.full(dimension, -radius), np.full(dimension, radius))

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.lower.shape[-1])

    @property
    def diameter(self) -> float:
        """The length of the diagonal."""
        return float(np.linalg.norm(self.upper - self.lower))

    def bounding_ball(self) -> Ball:
        """Return the ball around the middle that reaches to the corners.

        >>> Box([0.0, 0.0], [6.0, 8.0]).bounding_ball().contains(np.array([6.0, 8.0]))
        True
        """
        middle = 0.5 * self.lower + 0.5 * self.upper
        corner = np.maximum(self.upper - middle, middle - self.lower)
        # The ball must contain the corners as computed: by d squares, a root and a difference.
        share = 1 + (self.dimension + 8) * UNIT
        radius = float(np.linalg.norm(corner)) * share
        size = float(np.linalg.norm(middle)) + radius
        return Ball(radius + 8 * UNIT * size, middle)

    def project(self, x: Array) -> Array:
        """Return the nearest point, entry by entry: exact, and itself for a point of the box."""
        x = clean(x, self.dimension)
        xp = namespace(x)  # NumPy's `clip` takes three times as long
        return xp.minimum(xp.maximum(x, convert_like(self.lower, x)), convert_like(self.upper, x))

    def contains(self, x: Array) -> Array:
        """Return whether every entry is within its limits."""
        x = check_length(x, self.dimension)
        return all_entries((x >= convert_like(self.lower, x)) & (x <= convert_like(self.upper, x)))

    def minimize_linear(self, c: Array) -> Array:
        """Return the corner opposite to c; the lower face where c is 0."""
        c = clean(c, self.dimension, "c")
        corner = namespace(c).where(c < 0, convert_like(self.upper, c), convert_like(self.lower, c))
        return keep_nan(c, corner)

    def kernel_fields(self, d: int) -> dict[str, Any] | None:
        """Return the box as fields of ``sf_rule``; None if it is of another dimension.

        The kernel asks objects of this very class, and of no subclass.
        """
        if self.dimension != d:
            return None
        ball = self.bounding_ball()
        return {
            "middle": ball.centre,
            "around": ball.radius,
            "diameter": bounded_diameter(self),
            "domain": "SF_BOX",
            "lower": self.lower,
            "upper": self.upper,
        }
