"""How old what a journal says is, and how large it is."""

from __future__ import annotations

import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path

from surefoot.controller.journal import part_of

__all__ = ["JournalSize", "seconds_since_round"]

_TAIL = 1 << 22  # bytes at the end of a journal in which its last round is
_ROUNDS = (b'{"kind":"round",', b'{"kind":"rounds",')


class JournalSize:
    """How many bytes the files of a journal have, without reading all of their names again.

    Args:
        first: the path of the first file; None for no journal.
    """

    def __init__(self, first: Path | None) -> None:
        self._first, self._part, self._before = first, 1, 0

    def bytes(self) -> int:
        """Return the bytes of all files."""
        if self._first is None:
            return 0
        try:
            while os.path.lexists(part_of(self._first, self._part + 1)):
                self._before += part_of(self._first, self._part).stat().st_size
                self._part += 1
            return self._before + part_of(self._first, self._part).stat().st_size
        except OSError:
            return self._before


def seconds_since_round(first: Path) -> float:
    """Return how long ago the last round of a journal was reported; infinite if unknown.

    Args:
        first: the path of its first file.
    """
    part = 1
    while os.path.lexists(part_of(first, part + 1)):
        part += 1
    try:
        # A file that has just begun has no round yet; the one before has.
        line = _last_round(part_of(first, part)) or _last_round(part_of(first, max(part - 1, 1)))
        then = datetime.fromisoformat(json.loads(line)["time"])
        seconds = (datetime.now(UTC) - then).total_seconds()
    except (OSError, ValueError, KeyError, TypeError):
        return math.inf
    return seconds if seconds >= 0 else math.inf  # the clock was set


def _last_round(path: Path) -> bytes:
    """Return the last line of a file that has a round; empty if none has."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(-min(_TAIL, size), os.SEEK_END)
        lines = file.read().splitlines()
    return next((each for each in reversed(lines) if each.startswith(_ROUNDS)), b"")
