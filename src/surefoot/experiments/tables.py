"""The tables that a specification consists of, apart from those of single problems.

Each table knows its keys, their types, limits and defaults. What must fit together across tables
is checked in :mod:`surefoot.experiments._checks`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from surefoot.core.optional import need

need("pydantic", "cli", "an experiment")
from pydantic import (  # noqa: E402  once it is known to be there
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

from surefoot.experiments._mistakes import Mistake, refuse  # noqa: E402  needs pydantic

__all__ = [
    "COMMON",
    "AlgorithmRow",
    "Amount",
    "Base",
    "Horizons",
    "Label",
    "ProblemRow",
    "Recording",
    "Seed",
    "TomlTable",
    "Trials",
]

LONGEST = 100_000_000


class TomlTable(BaseModel):
    """A table of a specification: only its own keys, no conversions, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def _one_line(label: str) -> str:
    if label != label.strip() or not label or not label.isprintable():
        refuse(Mistake((), f"must be a line of text with no space at its ends, got {label!r}"))
    return label


Label: TypeAlias = Annotated[str, Field(max_length=100), AfterValidator(_one_line)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
Trials: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
Horizon: TypeAlias = Annotated[int, Field(ge=1, le=LONGEST)]
Horizons: TypeAlias = Annotated[list[Horizon], Field(min_length=1, max_length=1_000)]


class Amount(TomlTable):
    """A number that depends on the horizon T: ``times * T^power``, then cut.

    Example:
        >>> Amount(times=2.0, power=-0.5, at_most=0.25).model_dump(exclude_none=True)
        {'times': 2.0, 'power': -0.5, 'at_most': 0.25}
    """

    times: float = Field(default=1.0, description="factor")
    power: float = Field(default=0.0, description="power of the horizon")
    at_most: float | None = Field(default=None, description="upper limit")
    at_least: float | None = Field(default=None, description="lower limit")


def _tag(value: Any) -> str:
    if isinstance(value, (dict, Amount)):
        return "amount"
    if isinstance(value, bool):
        return "switch"
    return "word" if isinstance(value, str) else "number"


VALUE_TAGS = ("number", "switch", "word", "amount")

_Number: TypeAlias = Annotated[float, Tag("number")]
_Switch: TypeAlias = Annotated[bool, Tag("switch")]
_Word: TypeAlias = Annotated[str, Field(max_length=100), Tag("word")]
Value: TypeAlias = Annotated[
    _Number | _Switch | _Word | Annotated[Amount, Tag("amount")], Discriminator(_tag)
]


class Base(TomlTable):
    """The algorithm inside another one, as in Tighten."""

    name: str = Field(description="class of the algorithm")
    tuning: str | None = Field(default=None, description="one of its theorem-tuned constructors")
    options: dict[str, Value] = Field(default={}, description="keyword options of that constructor")
    parameters: dict[str, Value] | None = Field(
        default=None, description="its parameters instead, each a number or an amount"
    )
    base: Base | None = Field(default=None, description="the algorithm inside it, where it has one")

    def plain(self) -> dict[str, Any]:
        """Return what is played as plain data, without labels."""
        return self.model_dump(
            mode="json", exclude_none=True, exclude={"label", "only", "horizons", "trials"}
        )


class AlgorithmRow(Base):
    """A row: an algorithm with its tuning or its parameters, and what it plays."""

    constants: dict[str, float] = Field(
        default={}, description="replace constants of the problems in the theorem of this row"
    )
    label: Label | None = Field(
        default=None, description="what tables and figures call it; name and tuning unless given"
    )
    only: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, description="labels of the problems it plays; all unless given"
    )
    horizons: Horizons | None = Field(
        default=None, description="its own, instead of the experiment's"
    )
    trials: Trials | None = Field(
        default=None, description="its own, if fewer than the experiment's"
    )

    @property
    def title(self) -> str:
        """The label, or else name and tuning."""
        if self.label is not None:
            return self.label
        return self.name if self.tuning is None else f"{self.name}.{self.tuning}"

    def plays(self, problem: str) -> bool:
        """Return whether the row plays the problem of this title."""
        return self.only is None or problem in self.only


class Recording(TomlTable):
    """What is stored about the rounds; sums, extremes and counts always cover all of them."""

    every: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="keep every so many rounds of a path; totals only unless given"
    )
    actions: Annotated[int, Field(ge=0, le=30)] = Field(
        default=0, description="of how many trials the actions are kept too"
    )
    horizons: Horizons | None = Field(
        default=None,
        description="keep paths of the games of these lengths only; of all unless given",
    )

    def of(self, horizon: int) -> dict[str, Any]:
        """Return what is kept of games of this length, as plain data."""
        if self.every is None or (self.horizons is not None and horizon not in self.horizons):
            return {"every": None, "actions": 0}
        return {"every": self.every, "actions": self.actions}


COMMON = ("name", "label", "trials")
"""The keys of every problem."""


class ProblemRow(TomlTable):
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
        return int(dict(self).get("dimension", 2))

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
