"""What every problem of a specification accepts."""

from __future__ import annotations

from typing import Any

from surefoot.experiments.tables import Label, Table, Trials

from pydantic import Field  # isort: skip  once the tables have found it

__all__ = ["COMMON", "ProblemRow"]

COMMON = ("name", "label", "trials")
"""The keys of every problem."""


class ProblemRow(Table):
    """What every ``[[problems]]`` table accepts besides its own arguments."""

    label: Label | None = Field(
        default=None, description="what tables and figures call it; the name unless given"
    )
    trials: Trials | None = Field(
        default=None, description="at most so many trials of this problem, if fewer than the rest"
    )
    name: str = Field(description="which problem")

    @property
    def title(self) -> str:
        """The label, or else the name."""
        return self.label or self.name

    @property
    def entries(self) -> int:
        """Entries of an action; two, unless the problem has a dimension."""
        return int(getattr(self, "dimension", 2))

    @property
    def longest(self) -> int | None:
        """The largest number of rounds of its streams; None if unlimited."""
        return None

    @property
    def adaptive(self) -> str | None:
        """The adversary that answers the actions, if any: then all trials are the same."""
        return None

    def plain(self) -> dict[str, Any]:
        """Return name and arguments as plain data, all arguments given."""
        return {"name": self.name, "arguments": self.arguments()}

    def arguments(self) -> dict[str, Any]:
        """Return the problem's own arguments as plain data."""
        return self.model_dump(mode="json", exclude=set(COMMON))
