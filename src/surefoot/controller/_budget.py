"""The errors that a rule was told to allow for."""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot.core.arrays import raised
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import parts_of, takes_value_error, value_in

__all__ = ["Budget", "budget_of"]


class Budget(NamedTuple):
    """What feedback may be wrong by without a wrong certificate.

    Attributes:
        value_error: of the g that is observed.
        slope_error: of its subgradient.
        drift: by which g itself may rise per round.
        evaluation_error: the rounding of g, where it is larger than that of a linear one.
        takes_value_error: whether a round may have a bound of its own.
    """

    value_error: float = 0.0
    slope_error: float = 0.0
    drift: float = 0.0
    evaluation_error: float = 0.0
    takes_value_error: bool = False

    def __str__(self) -> str:
        parts = [
            f"{name} up to {size:g}{unit}"
            for name, size, unit in (
                ("value errors", self.value_error, ""),
                ("slope errors", self.slope_error, ""),
                ("drift", self.drift, " per round"),
            )
            if size
        ]
        return "allows for " + ", ".join([*parts, "rounding"] if parts else ["rounding alone"])

    def above(self, g: float, value_error: float | None = None) -> float:
        """Return what the true g is at most, where g was observed."""
        for error in (
            self.value_error if value_error is None else value_error,
            self.evaluation_error,
        ):
            g = raised(g + error) if error else g
        return g


def budget_of(algorithm: Any) -> Budget:
    """Return the largest errors that any part of a rule allows for.

    >>> from surefoot import Ball
    >>> from surefoot.algorithms import SafetyFilter
    >>> print(budget_of(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)))
    allows for rounding alone
    """
    found = dict.fromkeys(Budget._fields[:-1], 0.0)
    for _, part in parts_of(algorithm):
        for name in found:
            size = value_in(part, name)
            if size is None:
                continue
            try:
                found[name] = max(found[name], float(size))
            except (TypeError, ValueError) as error:
                raise InvalidValueError(f"{name} must be one number, got {size!r}") from error
    return Budget(**found, takes_value_error=takes_value_error(algorithm))
