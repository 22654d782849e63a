"""Shared by theorems that rest on a strictly feasible start."""

from __future__ import annotations

from typing import final

from surefoot.core.errors import InvalidValueError
from surefoot.theory.guarantee import EveryRound
from surefoot.theory.watching import Premise

__all__ = ["StrictStart", "check_strict_start"]


class StrictStart(EveryRound):
    """One that rests on a strictly feasible start."""

    @final
    def _check_start(self, *needed: str) -> None:
        """Raise if constants are missing, or the start has no slack."""
        self.constants.require(*needed, "start_slack", by=self.name)
        (slack,) = self.constants.require("start_slack", by=self.name)
        check_strict_start(slack, self.name)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """G_g and the start; G_f only for the regret bound; the horizon if one was used."""
        c = self.constants
        G_g, slack = c.require("G_g", "start_slack", by=self.name)
        return self._and_rest(
            Premise("constraint subgradient", "G_g", G_g),
            Premise("start", "the slack counted on", slack),
        )


def check_strict_start(slack: float, name: str) -> None:
    """Raise unless the start has slack, in the name of a theorem."""
    if not slack > 0:
        raise InvalidValueError(
            f"{name} needs a strictly feasible start: start_slack = -g(x_1) must be > 0, "
            f"got {slack:g}"
        )
