"""The parts of a plant that a member of a fleet may have by itself."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.problems.plant.description import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
)

__all__ = ["Parts"]


class Parts(NamedTuple):
    """Actuators, contexts and limits."""

    actuators: tuple[ActuatorDescription, ...]
    contexts: tuple[ContextDescription, ...]
    limits: tuple[LimitDescription, ...]

    @property
    def names(self) -> dict[str, list[tuple[str, str]]]:
        """The names and units of each kind."""
        return {
            "actuators": [(each.name, each.unit) for each in self.actuators],
            "contexts": [(each.name, each.unit) for each in self.contexts],
            "limits": [(each.name, each.unit) for each in self.limits],
        }

    @property
    def moves(self) -> bool:
        """Whether the limits move while the action stays: with contexts, or by themselves."""
        changes = (limit.changes for limit in self.limits)
        return bool(self.contexts) or any(each is not None and each.value for each in changes)
