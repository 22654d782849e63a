"""What balls share: a radius and, where it is not 0, a centre."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot import _check
from surefoot._holding import HoldsArrays
from surefoot.types import Array, Real

__all__ = ["Centred"]


@dataclass(frozen=True, slots=True)
class Centred(HoldsArrays):
    """The radius and the centre of a ball in some norm."""

    radius: Real
    centre: Array | None = None

    def __post_init__(self) -> None:
        _check.scale(radius=self.radius)
        _check.plain(self, "radius")
        if self.centre is not None:
            object.__setattr__(self, "centre", _check.data(self.centre, _check.vector, "centre"))

    @property
    def dimension(self) -> int | None:
        """The length of the centre; None for a ball around 0, which has no dimension of its own."""
        return None if self.centre is None else int(self.centre.shape[-1])
