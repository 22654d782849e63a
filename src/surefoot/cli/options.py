"""Options of several commands: your modules, a problem, a player in a file, workers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import option
from surefoot.core.errors import first_line

if TYPE_CHECKING:
    from surefoot.core.types import ArrayLike, Player
    from surefoot.guarantees import Tuned
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


# --- a player in a file ---------------------------------------------------------------------------

_POLICIES = ("on_contradiction", "on_missing")
_KEYS = ("player", "constants", "domain", "horizon", "start", "journal", *_POLICIES)


class Described(NamedTuple):
    """A player, as a file describes it.

    Attributes:
        player: the rule, as its tuning made it.
        start: its first action; of a fleet a list of them.
        journal: the path of a journal; None where there is none.
        policies: of its controller, by name.
    """

    player: Player | Tuned[Player]
    start: ArrayLike
    journal: Path | None = None
    policies: dict[str, Any] = {}  # noqa: RUF012  it is never changed


def read_player(path: Path, *, fleet: bool = False) -> Described:
    """Return the player of a file; of a journal what it plays, from its start."""
    from surefoot.controller import is_journal
    from surefoot.controller.configuring import player_from
    from surefoot.controller.records import read_run

    if is_journal(path):
        run = read_run(path)
        return Described(run.player, run.start)
    table = _table(path)
    start, journal = table["start"], table.get("journal")
    if fleet != (isinstance(start, list) and bool(start) and isinstance(start[0], list)):
        one, many = "one action (--fleet serves many)", "a list of first actions: [[0.0], [0.0]]"
        raise UsageError(f"start must be {many if fleet else one}, got {start!r:.60}")
    options = {name: table.get(name) for name in ("constants", "domain", "horizon")}
    player = player_from(table["player"], start=start[0] if fleet else start, **options)
    policies = {name: table[name] for name in _POLICIES if name in table}
    return Described(player, start, None if journal is None else path.parent / journal, policies)


def _table(path: Path) -> dict[str, Any]:
    """Return the table of a TOML or JSON file, with the keys that it may and must have."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # what both readers, and decoding, raise
        raise UsageError(f"'{path}' cannot be read: {first_line(error)}") from error
    if not isinstance(table, dict):
        raise UsageError(f"'{path}' must hold an object, got {type(table).__name__}")
    if strangers := sorted(set(table) - set(_KEYS)):
        raise UsageError(f"'{path}' has {strangers[0]!r}: it may have {', '.join(_KEYS)}")
    if missing := [name for name in ("player", "start") if name not in table]:
        raise UsageError(f"'{path}' must have {' and '.join(missing)}")
    return table
