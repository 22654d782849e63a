"""The problems that a specification may name: functions, whose arguments are those of the file.

A specification consists of names and numbers. Only the names listed here are known, and those of
the plugins that a person has given, so nothing in a file can import, open or run anything. What an
argument may be is said by the function alone: its signature, its docstring, and its own checks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from surefoot import problems
from surefoot.core.errors import InvalidValueError
from surefoot.experiments.typed import read_value
from surefoot.problems import Problem

BLOCK = 30
"""Trials that are played at once, as one array program. Fixed, so that the bits of a trial do not
depend on how many other trials a file asks for."""

GIVEN = ("horizon", "trials", "streams", "block")
"""Arguments of a problem that the cell gives."""


class Argument(NamedTuple):
    """An argument of a problem.

    Attributes:
        default: what it is unless given; ... where it must be given.
        kind: its annotation.
        about: what the docstring says of it.
    """

    default: Any
    kind: Any
    about: str


class ProblemEntry(NamedTuple):
    """A problem that a specification may name.

    Attributes:
        name: by which cells know it.
        make: the function.
        hidden: arguments that a specification does not give.
        plugin: name and hash of the module that it is from; empty for the library's own.
    """

    name: str
    make: Callable[..., Problem]
    hidden: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def text(self) -> str:
        """A sentence that describes the problem."""
        first = (inspect.getdoc(self.make) or f"{self.name}.").split("\n")[0]
        said = first.removeprefix("Return ")
        return said[0].upper() + said[1:]

    def arguments(self) -> dict[str, Argument]:
        """Return its arguments by name."""
        return _arguments(self.make, self.hidden)

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all of its arguments as plain data, those that are not given by their defaults."""
        values = {
            name: read_value(a.kind, given[name], name) if name in given else a.default
            for name, a in self.arguments().items()
        }
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}

    def build(
        self, arguments: Mapping[str, Any], horizon: int, trials: int, streams: int, block: int = 0
    ) -> Problem:
        """Return the problem with the streams of one block of trials.

        Args:
            arguments: its own, plain data.
            horizon: rounds.
            trials: how many of the block's runs.
            streams: seed of the block's streams.
            block: which block, from 0; only the published streams need to know.

        Raises:
            InvalidValueError: the function refuses its arguments, or returns no such problem.
        """
        given = {"horizon": horizon, "trials": trials, "streams": streams, "block": block}
        wanted = inspect.signature(self.make).parameters
        own = {n: read_value(a.kind, arguments[n], n) for n, a in self.arguments().items()}
        made = self.make(**own, **{n: v for n, v in given.items() if n in wanted})
        problem = check_problem(made, self.name, trials)
        if problem.costs.horizon < horizon:
            raise InvalidValueError(
                f"{self.name} must return costs of {horizon} rounds, got {problem.costs.horizon}"
            )
        return problem


@cache
def _arguments(make: Callable[..., Problem], hidden: tuple[str, ...]) -> dict[str, Argument]:
    about = dict(re.findall(r"^\s+(\w+): (.+)$", inspect.getdoc(make) or "", re.MULTILINE))
    hints = get_type_hints(make)
    return {
        name: Argument(
            ... if p.default is p.empty else p.default,
            hints.get(name),
            about.get(name, "").rstrip("."),
        )
        for name, p in inspect.signature(make).parameters.items()
        if name not in GIVEN and name not in hidden
    }


def check_problem(made: object, title: str, trials: int) -> Problem:
    """Return what a function of the user's has made, if it is a problem of so many trials."""
    if not isinstance(made, Problem):
        raise InvalidValueError(f"{title} must return a Problem, got {type(made).__name__}")
    if (made.costs.runs or 1) != trials:
        raise InvalidValueError(
            f"{title} must return costs of {trials} runs, an axis behind that of the rounds, "
            f"got {made.costs.runs or 'none'}"
        )
    return made


# --- the paper's toy, on its own streams too ------------------------------------------------------


def paper_toy(
    horizon: int, trials: int, streams: int, block: int, published: int | None = None
) -> Problem:
    """Return the paper's toy: quadratic costs around random targets, a square, the best inside.

    Args:
        horizon: rounds.
        trials: runs.
        streams: seed of the targets, unless the published ones are wanted.
        block: of how many trials before these.
        published: 0 or 1: the streams of the published regret or violation script, 20,000 rounds.
    """
    return _toy(problems.paper_toy, horizon, trials, streams, block, published)


def binding_toy(
    horizon: int, trials: int, streams: int, block: int, published: int | None = None
) -> Problem:
    """Return the paper's toy with its targets moved: the best action is a corner of the square.

    Args:
        horizon: rounds.
        trials: runs.
        streams: seed of the targets, unless the published ones are wanted.
        block: of how many trials before these.
        published: 0 or 1: the streams of the published regret or violation script, 20,000 rounds.
    """
    return _toy(problems.binding_toy, horizon, trials, streams, block, published)


def _toy(
    make: Callable[..., Problem],
    horizon: int,
    trials: int,
    streams: int,
    block: int,
    published: int | None,
) -> Problem:
    if published is None:
        return make(horizon, trials, streams=streams)
    if published not in (0, 1):
        raise InvalidValueError(f"published must be 0 or 1, got {published}")
    longest = max(problems.HORIZONS)
    if horizon > longest:
        raise InvalidValueError(
            f"published must not be given for more than {longest} rounds, which its streams have, "
            f"got {published} for {horizon}"
        )
    # One generator draws trial after trial: a later block is what comes after the earlier ones.
    first = BLOCK * block
    whole = make(horizon, first + trials, published)
    return replace(whole, costs=whole.costs.run(slice(first, first + trials)))


PROBLEMS: dict[str, ProblemEntry] = {
    entry.name: entry
    for entry in (
        ProblemEntry("paper_toy", paper_toy),
        ProblemEntry("binding_toy", binding_toy),
        ProblemEntry("random_polytope", problems.random_polytope),
        ProblemEntry("rotated_box", problems.rotated_box),
        ProblemEntry("ellipsoid", problems.ellipsoid),
        ProblemEntry("spectral_ball", problems.spectral_ball),
        ProblemEntry("fair_logistic", problems.fair_logistic),
        # Their seed is that of the streams alone, which the specification has.
        ProblemEntry("adversarial_cube", problems.adversarial_cube, hidden=("seed",)),
        ProblemEntry("crawl", problems.crawl),
        ProblemEntry("thin_box", problems.thin_box, hidden=("seed",)),
        ProblemEntry("portfolio", problems.portfolio),
        ProblemEntry("changing_halfspaces", problems.changing_halfspaces),
    )
}
"""By name; a new problem joins here."""


def build_problem(
    problem: Mapping[str, Any], horizon: int, trials: int, streams: int, block: int
) -> Problem:
    """Return a problem that a cell names, with the streams of one block of trials.

    Args:
        problem: ``name`` and ``arguments``, plain data, all arguments given.
        horizon: rounds.
        trials: how many of the block's runs.
        streams: seed of the block's streams (:func:`surefoot.experiments.cells.stream_seed`).
        block: which block, from 0.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": 0}}
        >>> build_problem(toy, 2, 1, streams=7, block=0).costs.targets[0, 0].round(4)
        array([-0.363 , -0.0476])
    """
    return PROBLEMS[problem["name"]].build(problem["arguments"], horizon, trials, streams, block)
