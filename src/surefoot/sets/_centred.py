"""What balls share: a radius and, where it is not 0, a centre."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.core import checks
from surefoot.core.holding import HoldsArrays
from surefoot.core.types import Array, Real

__all__ = ["Centred"]


@dataclass(frozen=True, slots=True)
class Centred(HoldsArrays):
    """The radius and the centre of a ball in some norm."""

    radius: Real
    centre: Array | None = None

    def __post_init__(self) -> None:
        checks.scale(radius=self.radius)
        checks.plain(self, "radius")
        if self.centre is not None:
            object.__setattr__(self, "centre", checks.data(self.centre, checks.vector, "centre"))

    @property
    def dimension(self) -> int | None:
        """The length of the centre; None for a ball around 0, which has no dimension of its own."""
        return None if self.centre is None else int(self.centre.shape[-1])
