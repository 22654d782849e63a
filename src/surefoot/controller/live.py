"""What a controller and a fleet have in common: one thing that changes, a lock, a journal."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Self

from surefoot.controller.alarms import Alarm, OnAlarm, sound
from surefoot.controller.journal import Journal, Position, bytes_in, now
from surefoot.controller.loop import LoopState, Run
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.plain import PlainTable

__all__ = ["JournalWarning", "Live"]


class JournalWarning(UserWarning):
    """Warn that a journal ended in the middle of a record, or was written elsewhere."""


class Live:
    """Players in a live loop: what is told changes one thing, and is in the journal before.

    Attributes:
        on_alarm: a function that is called with every :class:`Alarm`, after the round is over.
    """

    __slots__ = ("__weakref__", "_asked", "_is_hint_named", "_journal", "_lock", "_now", "on_alarm")

    # The one thing that changes: what is played, where it is, and how far the file has come.
    _now: tuple[Run, Any, Position | None]
    _journal: Journal | None

    def _set_up(self, run: Run, state: Any, on_alarm: OnAlarm | None) -> None:
        if on_alarm is not None:
            checks.function(on_alarm=on_alarm)
        self._lock, self._journal, self.on_alarm = threading.RLock(), None, on_alarm
        self._asked = 0  # the last round that was asked for
        self._is_hint_named = False  # whether somebody heard of a hint that was none
        self._now = (run, state, None)

    def _create(
        self, path: str | os.PathLike[str] | None, rotate: int | str | None, durable_every: int
    ) -> None:
        """Start a journal, where there is to be one."""
        if isinstance(rotate, str):
            bytes_in(rotate)
        elif rotate is not None:
            rotate = checks.positive_int(rotate, "rotate")
        every = checks.positive_int(durable_every, "durable_every")
        run, state, _ = self._now
        if path is not None:
            header = self._header(run, state) | {"rotate": rotate, "durable_every": every}
            self._journal, at = Journal.create(path, header)
            self._now = (run, state, at)

    @property
    def round(self) -> int:
        """The current round; the first is 1."""
        found: int = self._now[1].round
        return found

    def _check_context(self, loop: LoopState) -> None:
        """Raise while the context of a round, and with it its action, is not known."""
        if loop.awaits_context:
            raise InvalidValueError(
                f"round {loop.round} has no action before its context is known: "
                "tell(..., context=...) or announce(context=...)"
            )

    def _check_asked(self) -> None:
        """Raise unless the current round was asked for, and not told yet."""
        t = self._now[1].round
        if self._asked == t:
            return
        if t == 1:
            raise InvalidValueError("tell must come after ask, got tell before the first ask")
        raise InvalidValueError(
            f"tell must come once after each ask, got a second tell for round {t - 1}: "
            f"ask for the action of round {t} first"
        )

    def _header(self, run: Run, state: Any) -> PlainTable:
        """Return the first line of a file that begins with a state."""
        raise NotImplementedError

    def _snapshot(self, state: Any) -> PlainTable:
        """Return the line from which opening a journal replays."""
        raise NotImplementedError

    def _write_round(self, record: Mapping[str, Any], *, is_usual: bool = True) -> Position | None:
        """Write a round, in a new file or after a snapshot where it is time for that.

        Args:
            record: its line.
            is_usual: whether it may come after either; a round that was refused does not, nor one
                whose words need what the last step knew.
        """
        (run, state, at), journal = self._now, self._journal
        if journal is None or at is None:
            return None
        records = [record]
        if is_usual and journal.is_full(at):
            writing = {"rotate": journal.rotate, "durable_every": journal.durable_every}
            header = self._header(run, state) | writing | {"rounds": state.round - 1}
            at = journal.turn_over(at, header)
        elif is_usual and at.since >= at.least:
            records.insert(0, self._snapshot(state))
        return journal.append(at, records, durable=record["kind"] == "refused")

    def _write(self, kind: str, **what: object) -> Position | None:
        """Write what happens between two rounds."""
        _, state, at = self._now
        if self._journal is None or at is None:
            return None
        record = {"kind": kind, "round": state.round, "time": now(), **what}
        return self._journal.append(at, [record])

    def _say_opened(self, kind: str, sentence: str, *, loud: bool = True, **what: object) -> None:
        """Say what was found at the end of a journal: in it, too."""
        run, state, _ = self._now
        assert self._journal is not None
        self._now = (run, state, self._write(kind, **what, sentence=sentence))
        sentence = f"{self._journal.name}: {sentence}"
        sound([Alarm.of(state.round, "journal", sentence)], self.on_alarm)
        if loud:
            warn_caller(sentence, JournalWarning)

    def _say_torn(self, torn: int) -> None:
        if torn:
            t = self.round
            words = f"round {t} was being written; {t - 1} is the last certain round"
            self._say_opened("torn", words, bytes=torn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal, so that others can open it; without one nothing happens."""
        if self._journal is not None:
            self._journal.close(self._now[2])
