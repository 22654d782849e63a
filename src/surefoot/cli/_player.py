"""Read the player that a file describes: TOML, JSON, or the journal of a controller."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surefoot.cli._exit import UsageError
from surefoot.core.errors import first_line

if TYPE_CHECKING:
    from surefoot.algorithms import Tuned
    from surefoot.core.types import ArrayLike, Player

_POLICIES = ("on_contradiction", "on_missing")
_KEYS = ("player", "constants", "domain", "horizon", "start", "journal", *_POLICIES)


class Described(NamedTuple):
    """What a file says of a player.

    Attributes:
        player: the rule, as its tuning made it.
        start: its first action; of a fleet a list of them.
        journal: the path of a journal; None where there is none.
        policies: of its controller, by name.
    """

    player: Player | Tuned[Player]
    start: ArrayLike
    journal: Path | None = None
    policies: dict[str, Any] = {}  # noqa: RUF012  nobody changes it


def read_player(path: Path, *, fleet: bool = False) -> Described:
    """Return the player of a file; of a journal what it plays, from its start."""
    from surefoot.controller import is_journal
    from surefoot.controller.configuring import player_from
    from surefoot.controller.records import read_run

    if is_journal(path):
        run = read_run(path)
        return Described(run.player, run.start)
    given = _table(path)
    start, journal = given["start"], given.get("journal")
    if fleet and not (isinstance(start, list) and start and isinstance(start[0], list)):
        raise UsageError("start must be a list of first actions for a fleet: [[0.0], [0.0]]")
    options = {name: given.get(name) for name in ("constants", "domain", "horizon")}
    try:
        player = player_from(given["player"], start=start[0] if fleet else start, **options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    policies = {name: given[name] for name in _POLICIES if name in given}
    return Described(player, start, None if journal is None else path.parent / journal, policies)


def _table(path: Path) -> dict[str, Any]:
    """Return what a TOML or JSON file holds, with the keys that it may and must have."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # what both readers, and decoding, raise
        raise UsageError(f"'{path}' cannot be read: {first_line(error)}") from error
    if not isinstance(found, dict):
        raise UsageError(f"'{path}' must hold an object, got {type(found).__name__}")
    if strangers := sorted(set(found) - set(_KEYS)):
        raise UsageError(f"'{path}' has {strangers[0]!r}: it may have {', '.join(_KEYS)}")
    if missing := [name for name in ("player", "start") if name not in found]:
        raise UsageError(f"'{path}' must have {' and '.join(missing)}")
    return found
