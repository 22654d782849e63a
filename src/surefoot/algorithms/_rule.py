"""What rules share that are made of another rule."""

from __future__ import annotations

from typing import Any

from surefoot.core.algorithm import Algorithm
from surefoot.core.player import value_in

__all__ = ["OnBase"]


class OnBase(Algorithm):
    """A rule made of another, its ``base``."""

    @property
    def domain(self) -> Any:
        """The set that the base works on; None where it knows none."""
        return value_in(self.base, "domain")  # type: ignore[attr-defined]

    @property
    def G_g(self) -> Any:
        """The constant that the safety of the base rests on."""
        return self.base.G_g  # type: ignore[attr-defined]
