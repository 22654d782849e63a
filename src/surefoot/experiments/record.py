"""The records of an experiment: a cell's arrays and facts, its place, the claims of a reproduction.

Writers build these records and readers use them; plain data exist only in the file, and are checked
against the annotations when they are read. Nothing here needs the code that played a cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from surefoot.core.display import Word
from surefoot.core.errors import DamagedError, InvalidValueError
from surefoot.core.plain import PlainTable

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

FILE_NAME = "results.sqlite"
"""What the results file of an experiment is called in its folder."""

Status: TypeAlias = Literal["done", "rejected", "failed", "set aside"]
"""Played; not played because a theorem does not apply or a constructor rejects its parameters;
ended by an error; set aside because it killed its worker twice."""

VERDICTS: tuple[Word, ...] = get_args(Word)
"""The words of a verdict, the gravest first."""


# --- arrays --------------------------------------------------------------------------------------

Axis: TypeAlias = Literal["round", "trial", "entry", "vertex"]

_OF_TRIALS = (
    *("total_cost", "regret", "regret_lower", "violations", "largest"),
    *("sum", "positive_sum", "sum_positive", "sum_squared"),
    *("first_violation", "feasible_from", "largest_cost_gradient", "largest_subgradient"),
)
_PATHS = ("cost_sum", "constraint", "peak", "regret_path")
ARRAYS: dict[str, tuple[Axis, ...]] = {
    **dict.fromkeys(_OF_TRIALS, ("trial",)),
    "best": ("trial", "entry"),
    **dict.fromkeys(("rounds", "bound_path"), ("round",)),
    **dict.fromkeys(_PATHS, ("round", "trial")),
    "actions": ("round", "trial", "entry"),
    "boundary": ("vertex", "entry"),
}
"""The axes of every array of a cell. "actions" holds the first trials of the block only."""


def axes_of(name: str) -> tuple[Axis, ...]:
    """Return the axes of an array; one that is not listed has one number per trial.

    >>> axes_of("peak"), axes_of("anything else")
    (('round', 'trial'), ('trial',))
    """
    return ARRAYS.get(name, ("trial",))


# --- facts ---------------------------------------------------------------------------------------


class Sourced(NamedTuple):
    """A value with its origin."""

    value: float | str | bool | None
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFacts:
    """What was played: the problem's name, the lengths, and the start in the plane."""

    name: str
    dimension: int
    rows: int | None = None
    start: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseFacts:
    """One of the three parts of a promise: its theorem, what it needs, what it leaves out."""

    theorem: str
    needs: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFacts:
    """What a theorem promises at the horizon.

    Attributes:
        name: the statement, as its source calls it.
        kind: what it promises of the constraint.
        text: the statement in a few words.
        regret_bound: in advance, at the horizon; None where there is none.
        worth: words for no bound, or for one that every rule keeps; else empty.
        bounds: the promised limits at the horizon, by measure: "round", "violations",
            "positive_sum", "sum_positive", "sum_squared", "rows". A measure about which nothing is
            promised has no key.
        regret_exponent: power of T in the regret bound.
        violation_exponent: power of T in the violation bound.
        premises: what is watched, one sentence each.
        feasibility: what is promised of the constraint.
        observed: what bounds the regret by what was played.
        in_advance: what bounds the regret before the first round.
    """

    name: str
    kind: str
    text: str = ""
    regret_bound: float | None = None
    worth: str = ""
    bounds: dict[str, float] = field(default_factory=dict)
    regret_exponent: float | None = None
    violation_exponent: float | None = None
    premises: tuple[str, ...] = ()
    feasibility: PromiseFacts | None = None
    observed: PromiseFacts | None = None
    in_advance: PromiseFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachFacts:
    """The first observation that broke a premise.

    Attributes:
        constant: which constant was wrong.
        limit: its value.
        observed: the value that was observed.
        round: when, from 1; 0 before the first.
        trial: in which trial of the whole experiment, from 0; the count goes on from block to
            block.
        sentence: all of it in words.
    """

    constant: str
    limit: float | None = None
    observed: float | None = None
    round: int = 0
    trial: int = 0
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFacts:
    """The outcome of a guarantee: one of :data:`VERDICTS`, and a sentence with the numbers."""

    word: Word
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparatorFacts:
    """The gap between the bounds on the cost of the best fixed action, and whether it is 0."""

    gap: float | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts about a cell besides its arrays; empty for a cell that was not played.

    Attributes:
        problem: what was played.
        constants: with their origins.
        parameters: of the algorithm, with their origins.
        guarantee: what is promised; None if nothing is.
        verdict: whether the promise was kept.
        breaches: the first of each premise that broke.
        comparator: the gap of the best fixed action.
        regret_share: the largest regret of a trial over the bound.
        engine: by which engine it was played.
        oracle: calls of each oracle in one trial, as the algorithm declares them, and its rounds.

    Example:
        >>> from surefoot.core.plain import json_plain
        >>> facts = Facts(verdict=VerdictFacts(word="held"), constants={"R": Sourced(2.0, "given")})
        >>> from_plain(Facts, json_plain(facts), "facts") == facts
        True
    """

    problem: ProblemFacts | None = None
    constants: dict[str, Sourced] = field(default_factory=dict)
    parameters: dict[str, Sourced] = field(default_factory=dict)
    guarantee: GuaranteeFacts | None = None
    verdict: VerdictFacts | None = None
    breaches: tuple[BreachFacts, ...] = ()
    comparator: ComparatorFacts | None = None
    regret_share: float | None = None
    engine: str = ""
    oracle: dict[str, int] = field(default_factory=dict)


# --- cells ---------------------------------------------------------------------------------------


class PluginMark(TypedDict, total=False):
    """Name and hash of the plugin that something is from."""

    plugin: str


class ProblemTable(PluginMark, total=False):
    """A problem as plain data, all its arguments given."""

    name: str
    arguments: dict[str, object]


class PlayerTable(PluginMark, total=False):
    """A player as plain data, as a row of a specification has it; the label is compare's."""

    name: str
    tuning: str
    options: dict[str, object]
    parameters: dict[str, object]
    base: PlayerTable
    constants: dict[str, float]
    label: str


class RecordingTable(TypedDict):
    """Every which round of the paths is kept, and of how many trials the actions."""

    every: int | None
    actions: int


class CellSpec(TypedDict, total=False):
    """What a cell plays, as plain data."""

    problem: ProblemTable
    algorithm: PlayerTable
    horizon: int
    block: int
    trials: int
    seed: int
    recording: RecordingTable
    engine: str


class Provenance(TypedDict, total=False):
    """When and how a cell was played; a file may have further keys."""

    seconds: float | None
    microseconds_a_round: float | None
    finished: str
    versions: dict[str, str | None]
    platform: str
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One cell of an experiment: a problem, an algorithm, a horizon and a block of trials.

    Everything but ``provenance`` is a function of the specification and the numeric sources:
    exactly the same however often and wherever the cell is played.

    Attributes:
        address: the cell's name in hexadecimal, a hash of ``spec`` and of the numeric sources.
        spec: what was played, as plain data.
        status: how it ended.
        note: why it is not "done"; else empty.
        facts: constants and parameters with their origins, guarantee, verdict, ...
        arrays: numbers of each trial, and paths over the recorded rounds; axes in ``ARRAYS``.
        provenance: when, how long, by which versions.
    """

    address: str
    spec: CellSpec
    status: Status
    note: str = ""
    facts: Facts = field(default_factory=Facts)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def trials(self) -> int:
        """The number of trials of the cell."""
        return max((len(a) for n, a in self.arrays.items() if axes_of(n) == ("trial",)), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The position of a cell in an experiment, in the labels of its specification.

    Attributes:
        address: which cell.
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizon: number of rounds.
        block: which block of trials, from 0.
    """

    address: str
    problem: str
    algorithm: str
    horizon: int
    block: int


# --- documents beside the cells of a reproduction ------------------------------------------------

ClaimWord: TypeAlias = Literal[
    "not reproduced", "reproduced only with other constants than stated", "reproduced"
]
CLAIM_WORDS: tuple[ClaimWord, ...] = get_args(ClaimWord)
"""The verdicts on a published figure, the gravest first."""

NOT_REPRODUCED, OTHER_CONSTANTS, REPRODUCED = CLAIM_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a publication, with what was measured.

    Attributes:
        figure: which figure of the publication.
        statement: what it shows.
        settings: the label of the row that was compared.
        published: values by horizon.
        measured: values by horizon; None for one that is not finite.
        verdict: one of :data:`CLAIM_WORDS`.
        reason: the numbers behind the verdict.
    """

    figure: str
    statement: str
    settings: str = ""
    published: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, float | None] = field(default_factory=dict)
    verdict: ClaimWord
    reason: str = ""


def claims_of(results: Results) -> list[Claim]:
    """Return the claims of a reproduction; an empty list for any other experiment.

    Raises:
        DamagedError: the document is not a list of claims.
    """
    try:
        return list(from_plain(tuple[Claim, ...], results.header().get("claims", ()), "claims"))
    except InvalidValueError as error:
        sentence = f"the claims of results '{results.path}' are damaged: {error}"
        raise DamagedError(sentence) from error


# --- records from plain data ---------------------------------------------------------------------

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def from_plain(kind: Any, data: Any, name: str) -> Any:
    """Return the object that plain data describe, by an annotation: a list as a tuple, 1 as 1.0.

    Args:
        kind: a dataclass, whose unknown keys are ignored; or another annotation.
        data: as :func:`surefoot.core.plain.json_plain` returns them.
        name: of the data, for an error.

    Raises:
        InvalidValueError: a value is missing, or is not what the annotation says.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        kinds = [part for part in parts if part is not NoneType]
        if any(_fits(part, data) for part in parts) or len(kinds) > 1:
            return _read_simple(parts, data, name)
        return from_plain(kinds[0], data, name)
    if origin is Literal:
        if data in parts and not isinstance(data, bool):
            return data
        words = ", ".join(map(repr, parts))
        raise InvalidValueError(f"{name} must be one of {words}, got {data!r}")
    if kind is object:
        return data
    if issubclass(origin or kind, tuple):
        return _read_tuple(kind, data, name)
    if is_dataclass(kind) or issubclass(origin or kind, dict):
        return _read_table(kind, data, name)
    return _read_simple((kind,), data, name)


@cache
def _hints(kind: Any) -> PlainTable:
    return get_type_hints(kind)


def _read_simple(kinds: Sequence[Any], data: Any, name: str) -> Any:
    if not any(_fits(kind, data) for kind in kinds):
        words = " or ".join(_NAMES.get(k, f"{k}") for k in kinds if k is not NoneType)
        raise InvalidValueError(f"{name} must be {words}, got {data!r}")
    return float(data) if kinds == (float,) else data


def _fits(kind: Any, data: Any) -> bool:
    """Return whether a value is of a simple type; true is no number, a whole number is a float."""
    if kind is NoneType:
        return data is None
    if isinstance(data, bool):
        return kind is bool
    if kind is float:
        return isinstance(data, int | float) and math.isfinite(data)
    return kind in _NAMES and isinstance(data, kind)


def _read_table(kind: Any, data: Any, name: str) -> Any:
    if not isinstance(data, dict):
        raise InvalidValueError(f"{name} must be a table, got {data!r}")
    hints = dict.fromkeys(data, get_args(kind)[1]) if get_args(kind) else _hints(kind)
    values = {n: from_plain(h, data[n], f"{name}.{n}") for n, h in hints.items() if n in data}
    if not is_dataclass(kind):
        return data | values
    for f in fields(kind):
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise InvalidValueError(f"{name} must have '{f.name}', got {sorted(values)}")
    return kind(**values)  # type: ignore[operator]


def _read_tuple(kind: Any, data: Any, name: str) -> Any:
    if not isinstance(data, list | tuple):
        raise InvalidValueError(f"{name} must be a list, got {data!r}")
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        part = get_args(kind)[0]
        return tuple(from_plain(part, value, f"{name}[{i}]") for i, value in enumerate(data))
    # The types of a pair, or the fields of a named tuple.
    parts = dict(enumerate(get_args(kind))) or _hints(kind)
    if len(data) != len(parts):
        raise InvalidValueError(f"{name} must be a list of {len(parts)}, got {data!r}")
    pairs = zip(parts.items(), data, strict=True)
    values = [from_plain(part, value, f"{name}.{key}") for (key, part), value in pairs]
    return kind(*values) if isinstance(kind, type) else tuple(values)
