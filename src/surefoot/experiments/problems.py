"""The problems that a specification may name, with their arguments.

A specification consists of names and numbers. Only the names listed here are known, and those of
the plugins that a person has given, so nothing in a file can import, open or run anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from surefoot import problems
from surefoot.core.errors import InvalidValueError
from surefoot.experiments._mistakes import YOUR_OWN, Mistake, refuse, shown, unknown
from surefoot.experiments.tables import COMMON, ProblemRow, Seed
from surefoot.games.engine_choice import Shape
from surefoot.problems import Problem

from pydantic import (  # isort: skip  once the tables have found it
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    model_validator,
)

__all__ = [
    "BLOCK",
    "PROBLEMS",
    "AnyProblem",
    "ProblemEntry",
    "ProblemRow",
    "build_problem",
]

BLOCK = 30
"""Trials that are played at once, as one array program. Fixed, so that the bits of a trial do not
depend on how many other trials a file asks for."""

Dimension: TypeAlias = Annotated[int, Field(ge=1, le=10_000, description="entries of an action")]
SeveralEntries: TypeAlias = Annotated[
    int, Field(ge=2, le=10_000, description="entries of an action")
]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
AtLeastOne: TypeAlias = Annotated[float, Field(ge=1)]
Costs: TypeAlias = Annotated[
    Literal["linear", "quadratic"], Field(description="kind of the costs, which pull outwards")
]


def _seed_of(geometry: str) -> Any:
    words = f"of the {geometry}; the streams have the specification's"
    return Field(default=0, description=words)


class PaperToy(ProblemRow):
    """The paper's toy: quadratic costs around random targets, a square, a best action inside."""

    name: Literal["paper_toy"]
    published: Literal[0, 1] | None = Field(
        default=None,
        description="0 or 1: the streams of the published regret or violation script, at most "
        "20,000 rounds of them; streams from the specification's seed unless given",
    )

    @property
    def longest(self) -> int | None:
        """The number of rounds of the published streams, if they are requested."""
        return None if self.published is None else max(problems.HORIZONS)


class BindingToy(PaperToy):
    """The paper's toy with its targets moved: the best action is a corner of the square."""

    name: Literal["binding_toy"]  # type: ignore[assignment]


class RandomPolytope(ProblemRow):
    """A random polytope with 0 inside and costs whose best action is on its boundary."""

    name: Literal["random_polytope"]
    dimension: Dimension = 20
    rows: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=60, description="linear constraints; at least twice the dimension"
    )
    costs: Costs = "quadratic"
    seed: Seed = _seed_of("polytope")

    @model_validator(mode="after")
    def _bounded(self) -> RandomPolytope:
        if self.rows < 2 * self.dimension:
            least = f"must be at least twice the dimension, {2 * self.dimension}"
            refuse(Mistake(("rows",), f"{least}, got {self.rows}"))
        return self


class RotatedBox(ProblemRow):
    """A box with sides of different lengths, turned at random."""

    name: Literal["rotated_box"]
    dimension: Dimension = 5
    costs: Costs = "quadratic"
    seed: Seed = _seed_of("box")


class Ellipsoid(ProblemRow):
    """An ellipsoid turned at random."""

    name: Literal["ellipsoid"]
    dimension: Dimension = 5
    condition: AtLeastOne = Field(
        default=10.0, description="square of the ratio of the longest to the shortest half axis"
    )
    costs: Costs = "quadratic"
    seed: Seed = _seed_of("ellipsoid")


def _pair(value: Any) -> Any:
    # TOML has lists only.
    return tuple(value) if isinstance(value, list) else value


class SpectralBall(ProblemRow):
    """Matrices of spectral norm at most 1."""

    name: Literal["spectral_ball"]
    shape: Annotated[
        tuple[
            Annotated[int, Field(ge=1, le=1_000)],
            Annotated[int, Field(ge=1, le=1_000)],
        ],
        BeforeValidator(_pair),
    ] = Field(default=(4, 3), description="rows and columns of the matrices")
    costs: Costs = "quadratic"
    seed: Seed = _seed_of("pull")

    @property
    def entries(self) -> int:
        """Entries of a matrix."""
        return math.prod(self.shape)


class FairLogistic(ProblemRow):
    """Logistic regression whose scores may hardly tell two groups apart."""

    name: Literal["fair_logistic"]
    dimension: Dimension = 10
    radius: Positive = Field(default=5.0, description="limit on the norm")
    tolerance: Positive = Field(
        default=0.05, description="limit on the covariance of score and group"
    )
    seed: Seed = _seed_of("population")


class AdversarialCube(ProblemRow):
    """A cube, and linear costs that try to push the actions out of it."""

    name: Literal["adversarial_cube"]
    adversary: Literal["constant", "alternating", "random", "corners", "out", "uncut"] = Field(
        description="who chooses the slopes; out and uncut answer the actions, so one trial is all "
        "there is of them"
    )
    dimension: Dimension = 2
    radius: Positive = Field(default=0.5, description="half the length of an edge")
    size: Positive = Field(default=1.0, description="norm of every slope")

    @property
    def adaptive(self) -> str | None:
        """The adversary, if it answers the actions."""
        return self.adversary if self.adversary in ("out", "uncut") else None


class Crawl(ProblemRow):
    """A start with little slack, far from where the costs pull: no safe rule can be quick."""

    name: Literal["crawl"]
    kappa: AtLeastOne = Field(
        default=20.0, description="how far the set reaches, relative to the start's certified ball"
    )
    dimension: Dimension = 2
    size: Positive = Field(default=1.0, description="norm of every slope")


class ThinBox(ProblemRow):
    """A box that is thin in one direction, and linear costs that pull towards a corner."""

    name: Literal["thin_box"]
    dimension: SeveralEntries = 3
    kappa: AtLeastOne = Field(
        default=100.0, description="half-side of the box, relative to that of its thin direction"
    )


class Portfolio(ProblemRow):
    """Wealth on a simplex: logarithmic costs of price relatives; the start has no slack."""

    name: Literal["portfolio"]
    dimension: SeveralEntries = 5
    spread: Annotated[float, Field(ge=0.01, le=0.9)] = Field(
        default=0.2, description="how far a price relative may be from 1"
    )
    seed: Seed = _seed_of("drift of the prices")


class ChangingHalfspaces(ProblemRow):
    """A half-space per round, which 0 meets by a margin, and quadratic costs that pull outwards."""

    name: Literal["changing_halfspaces"]
    dimension: Dimension = 2
    margin: Annotated[float, Field(ge=0.01, le=0.29)] = Field(
        default=0.2, description="slack of 0 in every round"
    )
    seed: Seed = _seed_of("half-spaces")


def _by_name(value: Any) -> Any:
    """Return a table as the row of the problem that it names."""
    if isinstance(value, ProblemRow):
        return value
    if not isinstance(value, dict):
        refuse(Mistake((), f"must be a table, got {shown(value)}"))
    name = value.get("name")
    if "name" not in value:
        refuse(Mistake(("name",), f"is missing; known: {', '.join(PROBLEMS)}"))
    if not isinstance(name, str) or name not in PROBLEMS:
        refuse(Mistake(("name",), unknown("problem", name, PROBLEMS, YOUR_OWN)))
    return PROBLEMS[name].model.model_validate(value)


AnyProblem: TypeAlias = Annotated[SerializeAsAny[ProblemRow], PlainValidator(_by_name)]
"""A row of whatever problem its name is that of, a plugin's included."""


class ProblemEntry(NamedTuple):
    """A problem that a specification may name.

    Attributes:
        model: its arguments, with limits, defaults and descriptions.
        build: makes it from horizon, trials, seed of the streams, block and arguments.
        shape: what its feasible set is.
    """

    model: type[ProblemRow]
    build: Callable[..., Problem]
    shape: Shape = "other"

    @property
    def text(self) -> str:
        """A sentence that describes the problem."""
        return (self.model.__doc__ or "").strip().split("\n")[0]

    def arguments(self) -> dict[str, tuple[Any, str]]:
        """Return its own arguments: each default, ... where there is none, and description."""
        own = {n: f for n, f in self.model.model_fields.items() if n not in COMMON}
        return {
            n: (... if f.is_required() else f.default, f.description or "") for n, f in own.items()
        }


def _published(
    make: Callable[..., Problem],
    horizon: int,
    trials: int,
    streams: int,
    block: int,
    published: int | None,
) -> Problem:
    if published is None:
        return make(horizon, trials, streams=streams)
    longest = max(problems.HORIZONS)
    if horizon > longest:
        raise InvalidValueError(
            f"horizon must be at most {longest}, the rounds of the published streams, got {horizon}"
        )
    # One generator draws trial after trial: a later block is what comes after the earlier ones.
    first = BLOCK * block
    whole = make(horizon, first + trials, published)
    return replace(whole, costs=whole.costs.run(slice(first, first + trials)))


def _synthetic(
    make: Callable[..., Problem],
    horizon: int,
    trials: int,
    streams: int,
    block: int,
    **arguments: Any,
) -> Problem:
    return make(horizon=horizon, trials=trials, streams=streams, **arguments)


def _matrices(
    horizon: int, trials: int, streams: int, block: int, shape: Any, **arguments: Any
) -> Problem:
    rows, columns = shape
    return problems.spectral_ball(
        (rows, columns), horizon=horizon, trials=trials, streams=streams, **arguments
    )


def _entry(
    model: type[ProblemRow], make: Callable[..., Problem], shape: Shape = "other"
) -> ProblemEntry:
    return ProblemEntry(model, partial(_synthetic, make), shape)


PROBLEMS: dict[str, ProblemEntry] = {
    "paper_toy": ProblemEntry(PaperToy, partial(_published, problems.paper_toy), "box"),
    "binding_toy": ProblemEntry(BindingToy, partial(_published, problems.binding_toy), "box"),
    "random_polytope": _entry(RandomPolytope, problems.random_polytope, "polytope"),
    "rotated_box": _entry(RotatedBox, problems.rotated_box, "polytope"),
    "ellipsoid": _entry(Ellipsoid, problems.ellipsoid),
    "spectral_ball": ProblemEntry(SpectralBall, _matrices),
    "fair_logistic": _entry(FairLogistic, problems.fair_logistic),
    "adversarial_cube": _entry(AdversarialCube, problems.adversarial_cube, "box"),
    "crawl": _entry(Crawl, problems.crawl),
    "thin_box": _entry(ThinBox, problems.thin_box, "box"),
    "portfolio": _entry(Portfolio, problems.portfolio),
    "changing_halfspaces": _entry(ChangingHalfspaces, problems.changing_halfspaces),
}
"""By name; a new problem joins here."""


def build_problem(
    problem: Mapping[str, Any], horizon: int, trials: int, stream_seed: int, block: int
) -> Problem:
    """Return a problem with the streams of one block of trials.

    Args:
        problem: ``name`` and ``arguments``, plain data, all arguments given.
        horizon: rounds.
        trials: how many of the block's runs.
        stream_seed: seed of the block's streams (:func:`surefoot.experiments.seeds.stream_seed`).
        block: which block, from 0; only the published streams need to know.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": 0}}
        >>> build_problem(toy, 2, 1, stream_seed=7, block=0).costs.targets[0, 0].round(4)
        array([-0.363 , -0.0476])
    """
    build = PROBLEMS[problem["name"]].build
    return build(horizon, trials, stream_seed, block, **problem["arguments"])
