"""The specification of an experiment: which problems, which algorithms, how long, how often.

Plain data, written in TOML (:mod:`surefoot.experiments.toml`). Every table knows its keys and their
limits; rules across tables are checked together, so that all mistakes are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from surefoot.experiments._checks import mistakes_of
from surefoot.experiments._mistakes import KeyPath, Mistake, mistakes_in, refuse
from surefoot.experiments.problems import PROBLEMS, AnyProblem
from surefoot.experiments.tables import (
    VALUE_TAGS,
    AlgorithmRow,
    Amount,
    Base,
    Horizons,
    Recording,
    Seed,
    TomlTable,
    Trials,
)

from pydantic import (  # isort: skip  once the tables have found it
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

__all__ = ["Spec"]


class Spec(TomlTable):
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
    algorithms: Annotated[list[AlgorithmRow], Field(min_length=1, max_length=1_000)]

    @model_validator(mode="wrap")
    @classmethod
    def _all_mistakes_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Spec]) -> Spec:
        if isinstance(data, Spec):
            return data
        plain = _plain(data)
        made: Spec | None = None
        mistakes: list[Mistake] = []
        try:
            made = handler(data)
        except ValidationError as error:
            mistakes = mistakes_in(error, plain, VALUE_TAGS, _keys_at(plain))
        told = {m.path for m in mistakes}
        mistakes += [m for m in mistakes_of(plain, told) if m.path not in told]
        if mistakes or made is None:
            refuse(*mistakes)
        return made


def _plain(data: Any) -> Any:
    """Return tables that were made by hand as the plain data they would be in a file."""
    if isinstance(data, TomlTable):
        return data.model_dump(exclude_none=True)
    if isinstance(data, dict):
        return {k: _plain(v) for k, v in data.items()}
    return [_plain(v) for v in data] if isinstance(data, (list, tuple)) else data


def _keys_at(data: Any) -> Callable[[KeyPath], list[str]]:
    """Return a function from a path to the keys that may stand there."""

    def keys(path: KeyPath) -> list[str]:
        match path:
            case ():
                return list(Spec.model_fields)
            case ("recording",):
                return list(Recording.model_fields)
            case ("problems", int(i)):
                name = data["problems"][i].get("name")
                return list(PROBLEMS[name].model.model_fields)
            case ("algorithms", _):
                return list(AlgorithmRow.model_fields)
            case (*_, "base"):
                return list(Base.model_fields)
        return list(Amount.model_fields)

    return keys
