"""What balls share: a radius and, where it is not 0, a centre."""

from __future__ import annotations

from surefoot.core.parameters import Declared, size, vector
from surefoot.core.types import Array, Real

__all__ = ["Centred"]


class Centred(Declared, kw_only=False):
    """The radius and the centre of a ball in some norm."""

    radius: Real = size()
    centre: Array | None = vector(default=None)

    @property
    def dimension(self) -> int | None:
        """The length of the centre; None for a ball around 0, which has no dimension of its own."""
        return None if self.centre is None else int(self.centre.shape[-1])
