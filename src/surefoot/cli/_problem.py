"""What is named on the command line: a problem, and modules with problems of your own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from surefoot.cli._exit import UsageError
from surefoot.cli._output import option

if TYPE_CHECKING:
    from surefoot.experiments import SpecError
    from surefoot.problems import Problem

__all__ = ["Plugins", "Settings", "problem_named", "use"]


Settings: TypeAlias = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "Set an argument of the problem, as in a specification; may be given more than once.",
        "--set",
    ),
]
Plugins: TypeAlias = Annotated[
    list[str] | None,
    option(
        "MODULE",
        "A module with problems and algorithms of your own, by name or file: it is imported, and "
        "they can be named; may be given more than once.",
        "--plugin",
    ),
]


def use(modules: Sequence[str] | None) -> None:
    """Import the modules, whose problems and algorithms are known from then on."""
    if not modules:
        return
    from surefoot.experiments.plugins import PluginError, load_plugin

    try:
        for module in modules:
            load_plugin(module)
    except PluginError as error:
        raise UsageError(str(error)) from error


def problem_named(name: str, settings: Sequence[str] | None, horizon: int) -> Problem:
    """Return a problem as a specification would name it, with one trial.

    Args:
        name: of `surefoot list problems`.
        settings: its arguments, "key=value" each.
        horizon: number of rounds.
    """
    from surefoot.experiments import SpecError, build_spec
    from surefoot.experiments.cells import stream_seed
    from surefoot.experiments.problems import build_problem

    row = {"name": name, **dict(map(_setting, settings or []))}
    try:
        # A whole specification, so that the mistakes are those that a file would be told.
        spec = build_spec(
            {
                "name": "one",
                "trials": 1,
                "horizons": [horizon],
                "problems": [row],
                "algorithms": [{"name": "PFS", "tuning": "anytime"}],
            }
        )
    except SpecError as error:
        raise UsageError("; ".join(dict.fromkeys(_mistakes(error)))) from None
    (problem,) = spec.problems
    named = problem.plain()
    return build_problem(named, horizon, 1, stream_seed(spec.seed, named, 0), 0)


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set must be KEY=VALUE, got {text!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()  # a word, whose quotes the shell has taken


def _mistakes(error: SpecError) -> Iterator[str]:
    for path, message, _ in error.mistakes:
        yield f"{path[2]}: {message}" if len(path) > 2 and path[0] == "problems" else message
