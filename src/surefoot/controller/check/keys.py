"""The keys that a line may have, a record in a line, and a table in either."""

from __future__ import annotations

from typing import Any

from .exact import WrongError

__all__ = ["FLEET", "LINES", "RECORDS", "need_keys", "need_only", "refuse_strangers"]

_PLAYER = "player guarantee start on_contradiction on_missing plant"
_FILE = "format surefoot created engine rotate durable_every rounds part after"
RECORDS = {
    "round": "cost_gradient proposal constraint_value constraint_subgradient cost_value "
    "value_error slope_error within hint context played readings missing how why breaches next "
    "certificate",
    "announce": "context next certificate",
    "refused": "breaches",
    "hold": "reason next certificate",
    "retreat": "reason speed next certificate",
    "resume": f"reason fresh loop next certificate {_PLAYER}",
    "amend": f"by reason changes fresh loop next certificate {_PLAYER}",
}
"""What a record of each kind may have beside its kind, round and time. A key that is misspelt would
mean that it is not there, and one that is not known could say anything."""
_BOTH = {
    **{kind: f"time {keys}" for kind, keys in RECORDS.items()},
    "note": "time text",
    "torn": "time bytes sentence",
    "continued": "time file",
    "closed": "time",
}
LINES = {kind: f"kind round digest {keys}" for kind, keys in _BOTH.items()} | {
    "journal": f"kind round digest {_PLAYER} {_FILE} loop",
    "snapshot": "kind round digest loop",
    "engine": "kind round digest time engine loop sentence",
    "rebuilt": "kind round digest time loop sentence",
}
"""The keys of a line of a controller's journal."""
FLEET = {
    **{kind: f"{LINES[kind]} member" for kind in (*RECORDS, "note")},
    **{kind: LINES[kind] for kind in ("torn", "continued", "closed")},
    "journal": f"kind digest {_FILE} players members state",
    "rounds": "kind digest time steps records",
    "orders": "kind digest time records",
    "joined": f"kind digest member round time reason {_PLAYER}",
    "left": "kind digest member round time reason",
    "snapshot": "kind digest state",
    "engine": "kind round digest time engine state sentence",
    "rebuilt": "kind round digest time state sentence",
}
"""The keys of a line of a fleet's journal."""
_RESERVED = ("plant",)


def refuse_strangers(table: dict[str, Any], kinds: dict[str, str], what: str) -> str:
    """Return the kind of a table; raise unless it is one of several, and has only its keys."""
    kind = table.get("kind")
    if kind in _RESERVED:
        raise WrongError(f"the kind {kind!r} is reserved: no {what} of format 2 may have it")
    if not isinstance(kind, str) or kind not in kinds:
        raise WrongError(f"a {what} of the kind {kind!r} must not be where it is"[:200])
    if strangers := sorted(set(table) - set(kinds[kind].split())):
        raise WrongError(
            f"a {what} of the kind {kind!r} must not have a key {strangers[0]!r}"[:200]
        )
    return kind


def need_keys(table: Any, needed: str, what: str) -> None:
    """Raise unless something is a table that has these keys."""
    if not isinstance(table, dict):
        raise WrongError(f"{what} must be a table")
    if absent := [name for name in needed.split() if name not in table]:
        raise WrongError(f"{what} must have {absent[0]!r}")


def need_only(table: Any, needed: str, what: str, optional: str = "") -> None:
    """Raise unless something is a table that has these keys, and no other but optional ones."""
    need_keys(table, needed, what)
    if strangers := sorted(set(table) - set(needed.split()) - set(optional.split())):
        raise WrongError(f"{what} must not have a key {strangers[0]!r}"[:200])
