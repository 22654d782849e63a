"""What several commands take: modules of your own, a problem with its arguments, workers."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import option

if TYPE_CHECKING:
    from surefoot.problems import Problem

Settings: TypeAlias = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
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
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Number of worker processes (default: one per processor; 0: this process only).",
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Run cells again that are in the results already.")
]


def load_plugins(modules: Sequence[str] | None) -> list[str]:
    """Import the modules, whose problems and algorithms are known from then on.

    Returns:
        The words of a command that does it again.
    """
    if modules:
        from surefoot.experiments.build import PluginError, load_plugin

        try:
            for module in modules:
                load_plugin(module)
        except PluginError as error:
            raise UsageError(str(error)) from error
    return [word for module in modules or () for word in ("--plugin", module)]


def build_named_problem(name: str, settings: Sequence[str] | None, horizon: int) -> Problem:
    """Return a problem as a specification would name it, with one trial.

    Args:
        name: of `surefoot list problems`.
        settings: its arguments, "key=value" each.
        horizon: number of rounds.
    """
    from surefoot.experiments import SpecError, build_spec
    from surefoot.experiments.build import build_problem
    from surefoot.experiments.cells import stream_seed

    arguments = dict(read_pair("--set", pair) for pair in settings or [])
    try:
        # A whole specification, so that the mistakes are those that a file would be told.
        spec = build_spec(
            {
                "name": "one",
                "trials": 1,
                "horizons": [horizon],
                "problems": [{"name": name, **arguments}],
                "algorithms": [{"name": "PFS", "tuning": "anytime"}],
            }
        )
    except SpecError as error:
        told = [
            f"{path[2]}: {message}" if path[2:] and path[0] == "problems" else message
            for path, message, _ in error.mistakes
        ]
        raise UsageError("; ".join(dict.fromkeys(told))) from None
    named = spec.problems[0].plain()
    return build_problem(named, horizon, 1, stream_seed(spec.seed, named, 0), 0)


def read_pair(option: str, text: str) -> tuple[str, Any]:
    """Return the name and the value of an option "name=value"; the value as TOML has it."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} must be NAME=VALUE, got {text!r}")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()  # a word, whose quotes the shell has taken
