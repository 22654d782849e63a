"""What constraints that wrap another one pass on unchanged."""

from __future__ import annotations

from surefoot.core.points import dimension_of
from surefoot.core.types import Array
from surefoot.problems.constraints.base import Constraint
from surefoot.sets import Ball

__all__ = ["Wrapping"]


class Wrapping:
    """One that has the rows of another constraint, with their slopes and curvatures."""

    __slots__ = ()
    constraint: Constraint

    @property
    def dimension(self) -> int | None:
        """The dimension of the constraint; None where it knows none."""
        return dimension_of(self.constraint)

    @property
    def rows(self) -> int:
        """The number of rows of the constraint."""
        return self.constraint.rows

    def row_slopes(self, domain: Ball) -> Array:
        """Return the row slopes of the constraint."""
        return self.constraint.row_slopes(domain)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return the row curvatures of the constraint."""
        return self.constraint.row_curvatures(domain)
