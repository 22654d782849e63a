"""Options of several commands: your modules, a problem, workers."""

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
        "A module with your problems and algorithms, by name or file: it is imported, and "
        "they can be named; may be given more than once.",
        "--plugin",
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    option(
        "N", "Number of worker processes (default: one per processor; 0: this process only).", min=0
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Run cells again that are in the results already.")
]


def load_plugins(modules: Sequence[str] | None) -> None:
    """Import the modules, and register their problems and algorithms."""
    if modules:
        from surefoot.experiments.build import load_plugin

        for module in modules:
            load_plugin(module)


def build_named_problem(name: str, settings: Sequence[str] | None, horizon: int) -> Problem:
    """Return a problem as a specification would name it, with one trial.

    Args:
        name: of `surefoot list problems`.
        settings: its arguments, "key=value" each.
        horizon: number of rounds.
    """
    from surefoot.experiments.build import build_problem
    from surefoot.experiments.cells import stream_seed
    from surefoot.experiments.specification import Mistakes, read_problem

    mistakes, arguments = Mistakes(), dict(read_pair("--set", pair) for pair in settings or [])
    row = read_problem({"name": name, **arguments}, (), horizon, mistakes)
    if row is None:
        sentences = (f"{p[0]}: {m}" if p and p[0] != "name" else m for p, m, _ in mistakes)
        raise UsageError("; ".join(sentences))
    return build_problem(row.plain(), horizon, 1, stream_seed(0, row.plain(), 0), 0)


def read_pair(option: str, text: str) -> tuple[str, Any]:
    """Return the name and the value of an option "name=value"; the value as TOML has it."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} must be NAME=VALUE, got {text!r}")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()  # a word, whose quotes the shell removed
