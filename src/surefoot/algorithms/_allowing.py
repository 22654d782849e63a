"""Errors and drift that a rule allows for: as fields of its knowledge, or from constants."""

from __future__ import annotations

from typing import Any

from surefoot.core.constants import Constants
from surefoot.core.player import value_in
from surefoot.core.types import Number
from surefoot.regions import ERRORS

__all__ = ["AllowingForKnown", "errors_in"]


class AllowingForKnown:
    """A rule whose errors and drift are those of what it knows."""

    __slots__ = ()
    known: Any

    @property
    def value_error(self) -> Number | None:
        """The bound on the error of an observed g."""
        return value_in(self.known, "value_error")

    @property
    def slope_error(self) -> Number | None:
        """The bound on the error of an observed slope."""
        return value_in(self.known, "slope_error")

    @property
    def drift(self) -> Number | None:
        """The bound on the change of g from one round to the next."""
        return value_in(self.known, "drift")


def errors_in(constants: Constants) -> dict[str, float | None]:
    """Return the errors and the drift that constants name; None where there are none.

    Example:
        >>> errors_in(Constants(R=1.0, value_error=0.05, drift=0.0))
        {'value_error': 0.05, 'slope_error': None, 'drift': None}
    """
    return {name: getattr(constants, name) or None for name in ERRORS}
