"""The record of a cell: the axes of its arrays, its facts as types, the words of a verdict.

Writers build these records and readers use them; plain data exist only in the file. Nothing here
needs the code that played the cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from surefoot.core.display import Word
from surefoot.experiments.typed import from_plain, to_plain

FILE_NAME = "results.sqlite"
"""What the results file of an experiment is called in its folder."""

Status: TypeAlias = Literal["done", "refused", "failed", "set aside"]
"""Played; not played because a theorem or a constructor refused; ended by an error; set aside
because it killed its worker twice."""

VERDICTS: tuple[str, ...] = get_args(Word)
"""The words of a verdict, the gravest first."""


def time_now() -> str:
    """Return the time as files have it: UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# --- arrays --------------------------------------------------------------------------------------

Axis: TypeAlias = Literal["round", "trial", "entry", "vertex"]

ARRAYS: dict[str, tuple[Axis, ...]] = {
    "total_cost": ("trial",),
    "regret": ("trial",),
    "regret_lower": ("trial",),
    "sum_g": ("trial",),
    "soft": ("trial",),
    "hard": ("trial",),
    "squared": ("trial",),
    "worst": ("trial",),
    "count": ("trial",),
    "first_violation": ("trial",),
    "feasible_from": ("trial",),
    "largest_cost_gradient": ("trial",),
    "largest_subgradient": ("trial",),
    "best": ("trial", "entry"),
    "rounds": ("round",),
    "bound_path": ("round",),
    "cost_sum": ("round", "trial"),
    "constraint": ("round", "trial"),
    "peak": ("round", "trial"),
    "regret_path": ("round", "trial"),
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


def misshapen(arrays: Mapping[str, np.ndarray]) -> str:
    """Return what is wrong with the shapes of a cell's arrays; empty if they fit each other.

    >>> misshapen({"regret": np.zeros(3), "soft": np.zeros(2)})
    "its array 'soft' has another number of trials than 'regret'"
    """
    first: dict[Axis, str] = {}
    for name in sorted(ARRAYS.keys() & arrays.keys()):
        axes, shape = ARRAYS[name], arrays[name].shape
        if len(shape) != len(axes):
            return f"its array '{name}' must have the axes {', '.join(axes)}, got {shape}"
        for axis, length in zip(axes, shape, strict=True):
            if name == "actions" and axis == "trial":
                continue  # the first trials only
            other = first.setdefault(axis, name)
            if arrays[other].shape[ARRAYS[other].index(axis)] != length:
                plural = {"entry": "entries", "vertex": "vertices"}.get(axis, f"{axis}s")
                return f"its array '{name}' has another number of {plural} than '{other}'"
    return ""


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
class GuaranteeFacts:
    """What a theorem promises at the horizon.

    Attributes:
        name: the statement, as its source calls it.
        kind: what it promises of the constraint.
        text: the statement in a few words.
        regret_bound: at the horizon; None if it is not finite.
        bounds: the promised limits at the horizon, by measure: "round", "soft", "hard", "squared",
            "rows". A measure about which nothing is promised has no key.
        regret_exponent: power of T in the regret bound.
        violation_exponent: power of T in the violation bound.
        premises: what must be true, one sentence each.
    """

    name: str
    kind: str
    text: str = ""
    regret_bound: float | None = None
    bounds: dict[str, float] = field(default_factory=dict)
    regret_exponent: float | None = None
    violation_exponent: float | None = None
    premises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachFacts:
    """The first observation that broke a premise.

    Attributes:
        constant: which constant was wrong.
        limit: its value.
        observed: what was seen instead.
        round: when, from 1; 0 before the first.
        trial: in which trial of the whole experiment, from 0: blocks count on, and whoever joins
            them adds nothing.
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

    word: str
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparatorFacts:
    """How well the best fixed action is known: the gap of its cost, and whether that is 0."""

    gap: float | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleFacts:
    """Oracle calls of one trial: what the algorithm declares of a round, times the rounds."""

    rounds: int
    cost_gradients: int = 0
    constraint_values: int = 0
    constraint_subgradients: int = 0
    projections: int = 0
    linear_minimisations: int = 0
    separations: int = 0
    gauges: int = 0
    proxes: int = 0
    smooth_queries: int = 0
    inner_solves: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known about a cell besides its arrays; empty for a cell that was not played.

    Attributes:
        problem: what was played.
        constants: with their origins.
        parameters: of the algorithm, with their origins.
        guarantee: what is promised; None if nothing is.
        verdict: what became of the promise.
        breaches: the first of each premise that broke.
        comparator: how well the best fixed action is known.
        regret_share: the largest regret of a trial over the bound.
        engine: by which engine it was played.
        oracle: calls of one trial.

    Example:
        >>> facts = Facts(verdict=VerdictFacts(word="held"), constants={"R": Sourced(2.0, "given")})
        >>> Facts.from_plain(facts.to_plain()) == facts
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
    oracle: OracleFacts | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the facts as the file has them; what is not known is left out."""
        return {name: value for name, value in to_plain(self).items() if value not in (None, "")}

    @classmethod
    def from_plain(cls, data: Any) -> Facts:
        """Return the facts that a file has.

        Raises:
            InvalidValueError: they are not facts; the sentence names the one that is not.
        """
        return from_plain(cls, data, "facts")


# --- cells ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One cell of an experiment: a problem, an algorithm, a horizon and a block of trials.

    Everything but ``provenance`` is a function of the specification and the numeric sources, the
    same bit for bit however often and wherever the cell is played.

    Attributes:
        address: the cell's name in hexadecimal, a hash of ``spec`` and of the numeric sources.
        spec: what was played, as plain data.
        status: what became of it.
        note: why it is not "done"; else empty.
        facts: constants and parameters with their origins, guarantee, verdict, ...
        arrays: numbers of each trial, and paths over the recorded rounds; axes in :data:`ARRAYS`.
        provenance: when, how long, by which versions, as plain data.
    """

    address: str
    spec: dict[str, Any]
    status: Status
    note: str = ""
    facts: Facts = field(default_factory=Facts)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

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
