"""Options of several commands: your modules, a problem, a player in a file, workers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import option
from surefoot.core.errors import first_line, suggest

if TYPE_CHECKING:
    from surefoot.core.types import ArrayLike
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
_KEYS = ("player", "constants", "domain", "horizon", "start", "members", "journal", *_POLICIES)


class Described(NamedTuple):
    """A player, as a file describes it.

    Attributes:
        player: the rule, as its tuning made it; of the journal of a fleet those of all, by name.
        start: its first action; of a fleet a list of them, or a table by name.
        journal: the path of a journal; None where there is none.
        policies: of its controller, by name.
        make: makes the player from another start; None where only the stored ones are known.
    """

    player: Any
    start: Any
    journal: Path | None = None
    policies: dict[str, Any] = {}  # noqa: RUF012  it is never changed
    make: Callable[[ArrayLike], Any] | None = None


def read_player(path: Path, *, fleet: bool = False, member: str | None = None) -> Described:
    """Return the player of a file; of a journal what it plays, from its start.

    Args:
        path: of the file.
        fleet: whether it must describe a fleet.
        member: of a file that describes a fleet, the only one to read.
    """
    from surefoot.controller import is_journal

    if is_journal(path):
        return _stored_player(path, fleet, member)
    table = _table(path)
    start = _start_in(table, fleet, member)
    starts = list(start.values()) if isinstance(start, Mapping) else start
    first = _farthest(starts) if fleet else start
    make = partial(_make, table)
    player = make(first)
    journal = None if "journal" not in table else path.parent / table["journal"]
    policies = {name: table[name] for name in _POLICIES if name in table}
    maker = partial(_make_from, make, player, first)
    return Described(player, start, journal, policies, maker)


def _stored_player(path: Path, fleet: bool, member: str | None) -> Described:
    """Return what a journal plays, from its start."""
    from surefoot.controller.records import read_run, read_runs

    if fleet:
        runs = read_runs(path)
        starts = {name: run.start for name, run in runs.items()}
        return Described({name: run.player for name, run in runs.items()}, starts)
    run = read_run(path, member)
    return Described(run.player, run.start)


def _start_in(table: Mapping[str, Any], fleet: bool, member: str | None) -> Any:
    """Return the first action in a table, or those of a fleet."""
    if "start" in table and "members" in table:
        raise UsageError("start must be left out where members have theirs")
    start: Any = table.get("start", table.get("members"))
    if "members" in table and not (isinstance(start, dict) and start):
        raise UsageError(f"members must be a table of names and first actions, got {start!r:.60}")
    if member is not None:
        return _start_of(start, member)
    many = isinstance(start, dict) or (
        isinstance(start, list) and bool(start) and isinstance(start[0], list)
    )
    if fleet != many:
        if isinstance(start, dict):
            raise UsageError(
                "members must come with --fleet, or with --member NAME for one of them"
            )
        one, several = "one action (--fleet serves many)", "a list of first actions: [[0.0], [0.0]]"
        raise UsageError(f"start must be {several if fleet else one}, got {start!r:.60}")
    return start


def _start_of(starts: Any, member: str) -> Any:
    """Return the first action of one of the members."""
    if not isinstance(starts, dict) or member not in starts:
        advice = suggest(member, list(starts) if isinstance(starts, dict) else [])
        raise UsageError(f"--member must be one of members, got {member!r}{advice}")
    return starts[member]


def _make(table: Mapping[str, Any], start: ArrayLike) -> Any:
    """Return the player of a table, tuned for a start."""
    from surefoot.controller.configuring import player_from

    options = {name: table.get(name) for name in ("constants", "domain", "horizon")}
    return player_from(table["player"], start=start, **options)


def _farthest(starts: Sequence[ArrayLike]) -> ArrayLike:
    """Return the start that is farthest out: how far the set reaches from there holds for all."""
    import numpy as np

    from surefoot.core import checks

    sizes = [float(np.linalg.norm(checks.to_vector(start, "start"))) for start in starts]
    return starts[sizes.index(max(sizes))]


def _make_from(make: Callable[[ArrayLike], Any], player: Any, first: Any, start: Any) -> Any:
    """Return the player for another start: the same one, unless it is farther out."""
    return player if _farthest([first, start]) is first else make(start)


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
    if "player" not in table:
        raise UsageError(f"'{path}' must have player")
    if "start" not in table and "members" not in table:
        raise UsageError(f"'{path}' must have start, or members with a start each")
    return table
