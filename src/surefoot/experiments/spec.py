"""The specification of an experiment: which problems, which algorithms, how long, how often.

Plain data, written in TOML (:mod:`surefoot.experiments.reading`). Every table knows its keys and
their limits; what goes together is checked as a whole, so that all mistakes are told at once.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from surefoot.experiments._checks import mistakes_of
from surefoot.experiments._words import Found, Path, found_in, refuse
from surefoot.experiments.registry import PROBLEMS, AnyProblem, Label, Seed, Table, Trials

from pydantic import (  # isort: skip  once the registry has found it to be there
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    Tag,
    ValidationError,
    model_validator,
)

__all__ = ["Algorithm", "Amount", "Base", "Recording", "Spec"]

LONGEST = 100_000_000


class Amount(Table):
    """A number that depends on the horizon T: ``times * T^power``, then cut.

    Example:
        >>> Amount(times=2.0, power=-0.5, at_most=0.25).model_dump(exclude_none=True)
        {'times': 2.0, 'power': -0.5, 'at_most': 0.25}
    """

    times: float = Field(default=1.0, description="factor")
    power: float = Field(default=0.0, description="power of the horizon")
    at_most: float | None = Field(default=None, description="upper limit")
    at_least: float | None = Field(default=None, description="lower limit")


def _kind(value: Any) -> str:
    if isinstance(value, (dict, Amount)):
        return "amount"
    if isinstance(value, bool):
        return "switch"
    return "word" if isinstance(value, str) else "number"


_Number: TypeAlias = Annotated[float, Tag("number")]
_Switch: TypeAlias = Annotated[bool, Tag("switch")]
_Word: TypeAlias = Annotated[str, Field(max_length=100), Tag("word")]
Value: TypeAlias = Annotated[
    _Number | _Switch | _Word | Annotated[Amount, Tag("amount")], Discriminator(_kind)
]
Horizon: TypeAlias = Annotated[int, Field(ge=1, le=LONGEST)]
Horizons: TypeAlias = Annotated[list[Horizon], Field(min_length=1, max_length=1_000)]


class Base(Table):
    """The algorithm inside another one, as Tighten and SeveralPFS have it."""

    name: str = Field(description="class of the algorithm")
    tuning: str | None = Field(default=None, description="one of its theorem-tuned constructors")
    options: dict[str, Value] = Field(default={}, description="keyword options of that constructor")
    parameters: dict[str, Value] | None = Field(
        default=None, description="its parameters instead, each a number or an amount"
    )
    base: Base | None = Field(default=None, description="the algorithm inside it, where it has one")

    def plain(self) -> dict[str, Any]:
        """What is played, as plain data without labels."""
        return self.model_dump(
            mode="json", exclude_none=True, exclude={"label", "only", "horizons", "trials"}
        )


class Algorithm(Base):
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


class Recording(Table):
    """What is kept of the rounds; sums, extremes and counts are always of all of them."""

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
        """What is kept of games of this length, as plain data."""
        if self.every is None or (self.horizons is not None and horizon not in self.horizons):
            return {"every": None, "actions": 0}
        return {"every": self.every, "actions": self.actions}


class Spec(Table):
    """An experiment.

    Example:
        >>> spec = Spec(
        ...     name="small",
        ...     horizons=[100, 400],
        ...     problems=[{"name": "paper_toy"}],
        ...     algorithms=[{"name": "PFS", "tuning": "anytime"}],
        ... )
        >>> spec.algorithms[0].title, spec.trials
        ('PFS.anytime', 30)
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] = Field(
        description="letters, digits, - and _; also the folder of the results"
    )
    seed: Seed = Field(default=0, description="root of all random numbers")
    trials: Trials = Field(default=30, description="runs of each cell")
    horizons: Horizons = Field(description="numbers of rounds")
    engine: Literal["auto", "loop", "batch", "scan"] = Field(
        default="auto", description="what plays; chosen for each cell unless given"
    )
    recording: Recording = Field(
        default=Recording(), description="what is kept of the rounds beside totals"
    )
    problems: Annotated[list[AnyProblem], Field(min_length=1, max_length=1_000)]
    algorithms: Annotated[list[Algorithm], Field(min_length=1, max_length=1_000)]

    @model_validator(mode="wrap")
    @classmethod
    def _all_mistakes_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Spec]) -> Spec:
        if isinstance(data, Spec):
            return data
        plain = _plain(data)
        made: Spec | None = None
        found: list[Found] = []
        try:
            made = handler(data)
        except ValidationError as error:
            found = found_in(error, plain, _TAGS, _keys_at(plain))
        told = {f.path for f in found}
        found += [f for f in mistakes_of(plain) if f.path not in told]
        if found or made is None:
            refuse(*found)
        return made


_TAGS = {*PROBLEMS, "number", "switch", "word", "amount"}


def _plain(data: Any) -> Any:
    """Tables that were made by hand as the plain data they would be in a file."""
    if isinstance(data, Table):
        return data.model_dump(exclude_none=True)
    if isinstance(data, dict):
        return {k: _plain(v) for k, v in data.items()}
    return [_plain(v) for v in data] if isinstance(data, (list, tuple)) else data


def _keys_at(data: Any) -> Any:
    """From a path to the keys that may stand there."""

    def keys(path: Path | None) -> list[str]:
        if path is None:
            return list(PROBLEMS)
        match path:
            case ():
                return list(Spec.model_fields)
            case ("recording",):
                return list(Recording.model_fields)
            case ("problems", int(i)):
                name = data["problems"][i].get("name")
                return list(PROBLEMS[name].model.model_fields)
            case ("algorithms", _):
                return list(Algorithm.model_fields)
            case (*_, "base"):
                return list(Base.model_fields)
        return list(Amount.model_fields)

    return keys
