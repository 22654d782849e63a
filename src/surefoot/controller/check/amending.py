"""Amendments of a plant: what may change in a journal, who says so, and when it recovers.

An operator's amendment begins with the factor 1, and with all recoveries. A recovery changes the
factor alone, to the double at least, and uses one recovery up; it follows a halt by a
contradiction, at the start, which no reading refuted. Both say exactly what they change. One that
changes nothing begins anew by the same constants, factor and recoveries: nothing refuted them.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from .exact import WrongError
from .keys import need_keys
from .plant import Plant

__all__ = ["Amendment", "confirm_amendment"]

_RECOVERY = re.compile(r"recovery (\d+) of (\d+)")
_NEEDED = "by reason changes fresh loop player guarantee start plant next"


class Amendment(NamedTuple):
    """A change of what is known of a plant.

    Attributes:
        round: the first that is played by it.
        words: who changed what, and why.
        certified: how many rounds were certified before.
    """

    round: int
    words: str
    certified: int


def confirm_amendment(
    line: dict[str, Any], before: Plant | None, obstacle: str, *, is_refuted: bool
) -> str:
    """Return in words what an amendment changes; raise unless it may.

    Args:
        line: the record.
        before: the plant that it changes; None for a player that is not of a plant file.
        obstacle: why a recovery is not due; empty where it is.
        is_refuted: whether something contradicts the constants in use.
    """
    if before is None:
        raise WrongError("an amendment changes a plant, and this player has none")
    need_keys(line, _NEEDED, "an amendment")
    by, reason, changes = line["by"], line["reason"], line["changes"]
    if line["fresh"] is not True:
        raise WrongError("an amendment must begin anew")
    if not all(isinstance(text, str) and text.strip() for text in (by, reason)):
        raise WrongError("an amendment must say by whom it is, and why")
    after = Plant(line["plant"])
    if not isinstance(changes, list) or _sort(changes) != _sort(before.changes_to(after)):
        raise WrongError("an amendment says other changes than are between the two plants")
    if found := _RECOVERY.fullmatch(by):
        _confirm_recovery(before, after, int(found[1]), int(found[2]))
        if obstacle:
            raise WrongError(f"a recovery is not due: {obstacle}")
    elif not changes:
        if after.left != before.left:
            raise WrongError("who begins anew has the recoveries that were left")
        if is_refuted:
            raise WrongError("who begins anew by the same constants forgets a contradiction")
        return f"begun anew by {by}, reason: {reason}"
    elif not after.is_first:
        raise WrongError("an operator's amendment must have the factor 1 and all recoveries")
    each = ", ".join(f"{path} {json.dumps(old)} -> {json.dumps(new)}" for path, old, new in changes)
    return f"amended by {by}, reason: {reason}: {each}"


def _confirm_recovery(before: Plant, after: Plant, i: int, k: int) -> None:
    """Raise unless a recovery changes the factor and what is left, and nothing else."""
    if before.described.table != after.described.table:
        raise WrongError("a recovery changes the description of its plant")
    if after.factor < 2 * before.factor:
        raise WrongError("a recovery must at least double the factor")
    if not before.left or after.left != before.left - 1:
        raise WrongError("a recovery must use one of those that are left")
    if (i, k) != (before.described.recoveries - before.left + 1, before.described.recoveries):
        raise WrongError("a recovery has another number than it is")


def _sort(changes: list[Any]) -> list[str]:
    """Return changes in one order, as texts: they may be of any kind."""
    return sorted(json.dumps(change, sort_keys=True) for change in changes)
