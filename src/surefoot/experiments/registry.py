"""What a specification may name: the problems with their arguments, and the algorithms.

A file names things and gives them numbers. Only names that stand here are known, so nothing in a
file can import, open or run anything.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot import problems
from surefoot._extras import need
from surefoot.algorithms import ALGORITHMS, domain_of
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.problems import Problem
from surefoot.theory import Tuned

need("pydantic", "cli", "an experiment")
from pydantic import (  # noqa: E402  once it is known to be there
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from surefoot.experiments._words import Found, refuse  # noqa: E402  needs pydantic

__all__ = [
    "ADAPTIVE",
    "BLOCK",
    "KINDS",
    "PROBLEMS",
    "AnyProblem",
    "Label",
    "ProblemEntry",
    "ProblemRow",
    "Seed",
    "Table",
    "Trials",
    "Wanted",
    "amount_at",
    "build_player",
    "build_problem",
    "constructor_of",
    "options_of",
    "parameters_of",
    "plain_values",
    "tunings_of",
]

BLOCK = 30
"""Trials that are played at once, as one array program. Fixed, so that the bits of a trial do not
depend on how many others there are in a file."""


class Table(BaseModel):
    """A table of a specification: nothing but its own keys, no conversions, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def _shown(label: str) -> str:
    if label != label.strip() or not label or not label.isprintable():
        refuse(Found((), f"must be a line of text with no space at its ends, got {label!r}"))
    return label


Label: TypeAlias = Annotated[str, Field(max_length=100), AfterValidator(_shown)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
Trials: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
Dimension: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
Costs: TypeAlias = Annotated[
    Literal["linear", "quadratic"], Field(description="kind of the costs, which pull outwards")
]


class ProblemRow(Table):
    """What every ``[[problems]]`` may have beside its own arguments."""

    label: Label | None = Field(
        default=None, description="what tables and figures call it; the name unless given"
    )
    trials: Trials | None = Field(
        default=None, description="at most so many trials of this problem, if fewer than the rest"
    )

    @property
    def title(self) -> str:
        """The label, or else the name."""
        return self.label or self.name  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """What is the problem's own, as plain data."""
        return self.model_dump(mode="json", exclude={"name", "label", "trials"})


class PaperToy(ProblemRow):
    """The paper's toy: quadratic costs around random targets, a square, a best action inside."""

    name: Literal["paper_toy"]
    published: Literal[0, 1] | None = Field(
        default=None,
        description="0 or 1: the streams of the published regret or violation script, at most "
        "20,000 rounds of them; streams from the specification's seed unless given",
    )


class BindingToy(PaperToy):
    """The paper's toy with its targets moved: the best action is a corner of the square."""

    name: Literal["binding_toy"]  # type: ignore[assignment]


class RandomPolytope(ProblemRow):
    """A random polytope with 0 inside and costs whose best action is on its boundary."""

    name: Literal["random_polytope"]
    dimension: Dimension = Field(default=20, description="entries of an action")
    rows: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=60, description="linear constraints; at least twice the dimension"
    )
    costs: Costs = "quadratic"
    seed: Seed = Field(
        default=0, description="of the polytope; the streams have the specification's"
    )

    @model_validator(mode="after")
    def _bounded(self) -> RandomPolytope:
        if self.rows < 2 * self.dimension:
            least = f"must be at least twice the dimension, {2 * self.dimension}"
            refuse(Found(("rows",), f"{least}, got {self.rows}"))
        return self


class RotatedBox(ProblemRow):
    """A box with sides of different lengths, turned at random."""

    name: Literal["rotated_box"]
    dimension: Dimension = Field(default=5, description="entries of an action")
    costs: Costs = "quadratic"
    seed: Seed = Field(default=0, description="of the box; the streams have the specification's")


class Ellipsoid(ProblemRow):
    """An ellipsoid turned at random."""

    name: Literal["ellipsoid"]
    dimension: Dimension = Field(default=5, description="entries of an action")
    condition: Annotated[float, Field(ge=1)] = Field(
        default=10.0, description="square of the ratio of the longest to the shortest half axis"
    )
    costs: Costs = "quadratic"
    seed: Seed = Field(
        default=0, description="of the ellipsoid; the streams have the specification's"
    )


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
    seed: Seed = Field(default=0, description="of the pull; the streams have the specification's")


class FairLogistic(ProblemRow):
    """Logistic regression whose scores may hardly tell two groups apart."""

    name: Literal["fair_logistic"]
    dimension: Dimension = Field(default=10, description="entries of an action")
    radius: Annotated[float, Field(gt=0)] = Field(default=5.0, description="limit on the norm")
    tolerance: Annotated[float, Field(gt=0)] = Field(
        default=0.05, description="limit on the covariance of score and group"
    )
    seed: Seed = Field(
        default=0, description="of the population; the streams have the specification's"
    )


class AdversarialCube(ProblemRow):
    """A cube, and linear costs that try to push the actions out of it."""

    name: Literal["adversarial_cube"]
    adversary: Literal["constant", "alternating", "random", "corners", "out", "uncut"] = Field(
        description="who chooses the slopes; out and uncut answer the actions, so one trial is all "
        "there is of them"
    )
    dimension: Dimension = Field(default=2, description="entries of an action")
    radius: Annotated[float, Field(gt=0)] = Field(
        default=0.5, description="half the length of an edge"
    )
    size: Annotated[float, Field(gt=0)] = Field(default=1.0, description="norm of every slope")


AnyProblem: TypeAlias = Annotated[
    PaperToy
    | BindingToy
    | RandomPolytope
    | RotatedBox
    | Ellipsoid
    | SpectralBall
    | FairLogistic
    | AdversarialCube,
    Field(discriminator="name"),
]

ADAPTIVE = ("out", "uncut")
"""Adversaries that answer the actions."""


class ProblemEntry(NamedTuple):
    """A problem that a specification may name.

    Attributes:
        model: its arguments, with limits, defaults and descriptions.
        build: makes it from horizon, trials, seed of the streams, block and arguments.
    """

    model: type[ProblemRow]
    build: Callable[..., Problem]

    @property
    def text(self) -> str:
        """What it is, in a sentence."""
        return (self.model.__doc__ or "").strip().split("\n")[0]

    def arguments(self) -> dict[str, tuple[Any, str]]:
        """Its own arguments: the default, ... where there is none, and the description."""
        own = {n: f for n, f in self.model.model_fields.items() if n not in _COMMON}
        return {
            n: (... if f.is_required() else f.default, f.description or "") for n, f in own.items()
        }


_COMMON = ("name", "label", "trials")


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
    return _some(whole, slice(first, first + trials))


def _some(problem: Problem, runs: slice) -> Problem:
    return Problem(
        costs=problem.costs.run(runs),
        constraint=problem.constraint,
        domain=problem.domain,
        start=problem.start,
        constants=problem.constants,
        name=problem.name,
    )


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


PROBLEMS: dict[str, ProblemEntry] = {
    "paper_toy": ProblemEntry(PaperToy, partial(_published, problems.paper_toy)),
    "binding_toy": ProblemEntry(BindingToy, partial(_published, problems.binding_toy)),
    "random_polytope": ProblemEntry(RandomPolytope, partial(_synthetic, problems.random_polytope)),
    "rotated_box": ProblemEntry(RotatedBox, partial(_synthetic, problems.rotated_box)),
    "ellipsoid": ProblemEntry(Ellipsoid, partial(_synthetic, problems.ellipsoid)),
    "spectral_ball": ProblemEntry(SpectralBall, _matrices),
    "fair_logistic": ProblemEntry(FairLogistic, partial(_synthetic, problems.fair_logistic)),
    "adversarial_cube": ProblemEntry(
        AdversarialCube, partial(_synthetic, problems.adversarial_cube)
    ),
}
"""By name; a new problem joins here."""

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in ALGORITHMS}
"""The algorithms by name."""


def build_problem(
    problem: Mapping[str, Any], horizon: int, trials: int, stream_seed: int, block: int
) -> Problem:
    """A problem with the streams of one block of trials.

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


class Wanted(NamedTuple):
    """What a parameter or an option may be.

    Attributes:
        kind: "number", "whole", "switch" or "word".
        default: what it is unless given; ... where it has to be.
    """

    kind: str
    default: Any


def _wanted(annotation: Any, default: Any) -> Wanted | None:
    """What a file may give for an annotation; None for what is no plain data."""
    first = str(annotation).split("|")[0].strip()
    kinds = {"Number": "number", "float": "number", "int": "whole", "bool": "switch", "str": "word"}
    return Wanted(kinds[first], default) if first in kinds else None


def parameters_of(kind: type[Any]) -> dict[str, Wanted]:
    """The parameters of an algorithm that a file may give; ``rows`` may be left to the problem.

    Example:
        >>> parameters_of(KINDS["PFS"])
        {'eta': Wanted(kind='number', default=Ellipsis), 'rho': Wanted(kind='number', ...)}
    """
    found = {
        f.name: _wanted(f.type, ... if f.default is MISSING else f.default) for f in fields(kind)
    }
    return {
        name: Wanted("whole", None) if name == "rows" else wanted
        for name, wanted in found.items()
        if wanted is not None
    }


def tunings_of(kind: type[Any]) -> tuple[str, ...]:
    """The theorem-tuned constructors of an algorithm, those of the catalogue first.

    Example:
        >>> tunings_of(KINDS["PFS"])
        ('anytime', 'eventually', 'nearly', 'tuned', 'chosen', 'noisy', 'drifting')
    """
    others = [
        name
        for name, value in vars(kind).items()
        if isinstance(value, classmethod)
        and name[0] != "_"
        and list(inspect.signature(getattr(kind, name)).parameters)[:2] == ["constants", "horizon"]
    ]
    return tuple(dict.fromkeys([*kind.tunings, *others]))


def options_of(kind: type[Any], tuning: str) -> dict[str, Wanted]:
    """The keyword options of a constructor that a file may give.

    Example:
        >>> options_of(KINDS["Jenatton"], "trade_off")
        {'beta': Wanted(kind='number', default=0.5)}
    """
    signature = inspect.signature(getattr(kind, tuning))
    found = {
        p.name: _wanted(p.annotation, ... if p.default is p.empty else p.default)
        for p in signature.parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    return {name: wanted for name, wanted in found.items() if wanted is not None}


def amount_at(value: Any, horizon: int) -> Any:
    """An amount at a horizon: itself, or ``times * T^power`` cut to ``at_most`` and ``at_least``.

    Example:
        >>> amount_at({"times": 9.0, "power": -0.5, "at_most": 0.45}, 2_500)
        0.18
    """
    if not isinstance(value, Mapping):
        return value
    times, power = value.get("times", 1.0), value.get("power", 0.0)
    try:
        found = times * float(horizon) ** power
    except OverflowError:
        found = math.copysign(math.inf, times)
    most, least = value.get("at_most"), value.get("at_least")
    if most is not None:
        found = min(found, most)
    return found if least is None else max(found, least)


def build_player(
    algorithm: Mapping[str, Any], problem: Problem, horizon: int
) -> tuple[Any, dict[str, tuple[float | str, str]], Constants]:
    """An algorithm for a problem, with every number that went into it and the constants it had.

    Args:
        algorithm: ``name`` with ``tuning`` and ``options``, or with ``parameters``; ``base`` where
            it has one, and ``constants`` to replace some of the problem's. Plain data.
        problem: what it will play.
        horizon: rounds.

    Returns:
        The player, with its guarantee where a theorem tunes it; its parameters, each with its
        origin: the theorem's name, "specification", "default" or "problem"; and the constants, in
        which those that the specification replaced have the origin "given".

    Raises:
        InvalidValueError: a theorem or a constructor says no, in its own words.

    Example:
        >>> toy = problems.paper_toy(horizon=100, trials=1)
        >>> row = {"name": "PFS", "parameters": {"eta": {"power": -0.5}, "rho": 0.25}}
        >>> player, parameters, _ = build_player(row, toy, 100)
        >>> parameters["eta"], parameters["domain.radius"]
        ((0.1, 'specification'), (1.0, 'problem'))
    """
    constants = problem.constants
    if algorithm.get("constants"):
        constants = constants.with_origin("given", **algorithm["constants"])
    player, parameters = _build(algorithm, problem, constants, horizon)
    return player, parameters, constants


Parameters: TypeAlias = dict[str, tuple[float | str, str]]
"""Every number of an algorithm, with its origin."""


def _build(
    algorithm: Mapping[str, Any], problem: Problem, constants: Constants, horizon: int
) -> tuple[Any, Parameters]:
    kind = KINDS[algorithm["name"]]
    place = domain_of(kind, problem.domain, problem.benchmark.region)
    if algorithm.get("tuning") is not None:
        tuned: Tuned[Any] = constructor_of(algorithm, horizon)(constants, horizon, place)
        parameters = _numbers(tuned.algorithm, tuned.guarantee.name)
        # What the file gave is the file's; the theorem's name stands for the rest.
        return tuned, parameters | _given(algorithm, horizon)
    given = plain_values(algorithm.get("parameters") or {}, parameters_of(kind), horizon)
    origins = dict.fromkeys(given, "specification")
    settled: dict[str, Any] = {}
    parameters = {}
    for f in fields(kind):
        if f.name == "domain":
            settled["domain"] = place
        elif f.name == "base":
            inner, theirs = _build(algorithm["base"], problem, constants, horizon)
            settled["base"] = inner.algorithm if isinstance(inner, Tuned) else inner
            parameters = {f"base.{n}": v for n, v in theirs.items()}
        elif f.name == "rows" and "rows" not in given:
            settled["rows"] = problem.constraint.rows
            origins["rows"] = "problem"
    player = kind(**settled, **given)
    own = _numbers(player, "default", skip=("base",))
    return player, parameters | {n: (v, origins.get(n, o)) for n, (v, o) in own.items()}


def constructor_of(algorithm: Mapping[str, Any], horizon: int) -> Callable[..., Tuned[Any]]:
    """A theorem-tuned constructor with its options at a horizon put in."""
    kind, tuning, base = KINDS[algorithm["name"]], algorithm["tuning"], algorithm.get("base")
    wanted = options_of(kind, tuning)
    options = plain_values(algorithm.get("options") or {}, wanted, horizon)
    if base is not None:
        options["base"] = constructor_of(base, horizon)
    return partial(getattr(kind, tuning), **options)


def plain_values(
    given: Mapping[str, Any], wanted: Mapping[str, Wanted], horizon: int
) -> dict[str, Any]:
    """Values as a constructor takes them, amounts at a horizon."""
    values = {name: amount_at(value, horizon) for name, value in given.items()}
    return {n: int(v) if wanted[n].kind == "whole" else v for n, v in values.items()}


def _given(algorithm: Mapping[str, Any], horizon: int) -> Parameters:
    """The options of a tuned row and of its base."""
    options = algorithm.get("options") or {}
    mine = {n: (_number(amount_at(v, horizon)), "specification") for n, v in options.items()}
    if algorithm.get("base") is None:
        return mine
    return mine | {f"base.{n}": v for n, v in _given(algorithm["base"], horizon).items()}


def _numbers(owner: Any, origin: str, skip: tuple[str, ...] = ()) -> Parameters:
    """The numbers in a dataclass and in those within it; a domain's come from the problem."""
    found: Parameters = {}
    for f in fields(owner):
        value = getattr(owner, f.name)
        if value is None or f.name in skip or not f.repr:
            continue
        source = "problem" if f.name == "domain" else origin
        if is_dataclass(value):
            found[f.name] = (type(value).__name__, source)
            found |= {f"{f.name}.{n}": v for n, v in _numbers(value, source).items()}
        else:
            found[f.name] = (_number(value), source)
    return found


def _number(value: Any) -> float | str:
    """A number, or words for what is not one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape))
        return f"{shape} numbers from {value.min():g} to {value.max():g}"
    return str(value)
