"""Read a journal as a record for people: its rounds, notes and contradictions."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._sqlite import DamagedError, Store, StoreError, from_bytes, snapshot
from surefoot._sqlite.files import absolute, beside, read_head
from surefoot._sqlite.mark import Mark
from surefoot.controller._journal import parts
from surefoot.controller._plain import NotPlainError, Plain, as_data, constructed, from_plain
from surefoot.controller._read import JournalNote, JournalRecord, JournalRound
from surefoot.controller._records import JOURNAL, OWN, REASONS, JournalEntry, Write
from surefoot.controller._rows import (
    digest_of,
    each_write,
    read_now,
    read_round,
    readable,
    run_columns,
)
from surefoot.controller._tail import Reader, tail_by
from surefoot.core import checks
from surefoot.core.types import Certificate, needs_of

__all__ = [
    "JournalNote",
    "JournalRecord",
    "JournalRound",
    "is_journal",
    "read_journal",
]


def read_journal(
    path: str | os.PathLike[str],
    *,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord:
    """Read what a journal says, also while a controller writes it.

    Nothing is locked and nothing is written. Every row is compared with its digest. Functions and
    classes of your own need not be given again: nothing is played.

    Args:
        path: of the journal.
        first: the first round whose decision is returned.
        last: the last one; None for no limit.
        latest: return no more than so many, the latest; None for all.

    Raises:
        StoreError: if the file is not a journal, damaged or newer than this version.

    Example:
        >>> import tempfile
        >>> from surefoot import Ball, Controller
        >>> from surefoot.algorithms import CertifiedPFS
        >>> path = Path(tempfile.mkdtemp()) / "one.db"
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> controller = Controller(player, [0.0, 0.0], journal=path)
        >>> x = controller.ask()
        >>> controller.tell(
        ...     cost_gradient=[-1.0, -3.0],
        ...     constraint_value=-0.5,
        ...     constraint_subgradient=[0.0, 1.0],
        ... )
        >>> record = read_journal(path)  # the controller still has it open
        >>> record.told, record.worst, record.status, record.action.round(6)
        (1, -0.5, 'the data contradict nothing', array([0.158114, 0.25    ]))
        >>> print(record.rounds[0])
        the start; round 1 played [0., 0.]; g = -0.5, feasible
    """
    for name, value in (("first", first), ("last", last), ("latest", latest)):
        if value is not None:
            checks.positive_int(value, name)
    path = absolute(path)
    was_open = beside(path, "-wal").exists()
    try:
        return _read(path, _Rows(first, last, latest))
    except DamagedError:
        # A writer may have come while a closed file was read where it is.
        if was_open or not beside(path, "-wal").exists():
            raise
    return _read(path, _Rows(first, last, latest))


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a journal, by its first bytes; whether it is whole is not looked at.

    >>> is_journal(__file__)
    False
    """
    try:
        read_head(absolute(path), JOURNAL, whole=False)
    except StoreError:
        return False
    return True


def _read(path: Path, rows: _Rows) -> JournalRecord:
    """Read all files of a journal, the one after the other."""
    run: dict[str, Any] = {}
    for part in parts(path):
        marked = Mark.read(beside(part, "-mark"))
        with snapshot(part, JOURNAL) as store:
            store.check()
            of, newer = _run(store)
            run = newer | {name: run[name] for name in ("created", "start") if name in run}
            rows.is_filter = run.pop("is_filter")
            reader = Reader(store, of)
            for write in each_write(store):
                reader.take(write)
                rows.add(store, write)
            number, now, found = read_now(store)
            chain = reader.record.digest
            if reader.rounds != number - 1 or digest_of(chain, (number, *now)) != found:
                raise store.damaged("the last state is not what was written")
            loss = None
            # A mark that moves is that of a writer who is at work: then the file has all of it.
            if marked == Mark.read(beside(part, "-mark")):
                tail = tail_by(marked, reader)
                loss = None if tail.loss is None else str(tail.loss)
                for write in tail.writes:
                    rows.add(store, write)
                if tail.now is not None:
                    _, now, _ = tail.now
            with readable(store, "state"):
                memory = as_data(now, OWN)
                action = np.asarray(memory["state"]["x"])
            is_open = not store.is_sealed
        if loss is not None:
            break
    return JournalRecord(
        path=path,
        **run,
        action=action,
        certificate=rows.certificate,
        is_open=is_open,
        g=np.array(rows.g),
        bounds=np.array(rows.bounds),
        lengths=np.array(rows.lengths),
        rounds=tuple(rows.kept),
        breaches=tuple(memory["broken"]),
        notes=tuple(rows.notes),
        loss=loss,
    )


class _Rows:
    """The rounds while they are read: numbers of all, decisions of those that are wanted."""

    def __init__(self, first: int, last: int | None, latest: int | None) -> None:
        self.first, self.last = first, last
        self.g: list[float] = []
        self.bounds: list[float] = []
        self.lengths: list[float] = []
        self.kept: deque[JournalRound] = deque(maxlen=latest)
        self.certificate: Certificate | None = None  # of the next action
        self.notes: list[JournalNote] = []
        self.is_filter = False

    def add(self, store: Store, write: Write) -> None:
        """Take a round or an entry."""
        if isinstance(write, JournalEntry):
            with readable(store, f"entry {write.number}"):
                self._add_entry(write)
        else:
            self._add_round(store, write)

    def _add_entry(self, entry: JournalEntry) -> None:
        what = entry.contents
        if entry.kind == "note":
            self.notes.append(JournalNote(entry.round, what["text"]))
        elif entry.kind != "continued":
            self.notes.append(JournalNote(entry.round, f"{entry.kind}: {what['reason']}"))
            if what.get("way") is not None:
                self.certificate = from_plain(Plain(what["way"], b""), own=REASONS)

    def _add_round(self, store: Store, write: tuple[Any, ...]) -> None:
        """Take a round: its action was shown to be feasible by the certificate before it."""
        told, certificate = read_round(store, write), self.certificate
        bound = math.inf if certificate is None else float(certificate.bound)
        value = told.seen.constraint_value
        # The region of a hull says how far as its room.
        length = getattr(certificate, "length", getattr(certificate, "room", None))
        row = JournalRound(
            told.number,
            told.action,
            certificate,
            bound if bound < math.inf else None,
            None if length is None else max(float(length), 0.0),
            None if value is None else float(np.max(value)),
            value,
            told.seen.constraint_subgradient,
            None if self.is_filter else told.seen.cost_gradient,
            told.seen.cost_value,
            told.seen.cost_gradient if self.is_filter else None,
            told.more.played,
            told.more.how,
        )
        self.certificate = told.certificate
        for column, part in (
            (self.g, row.g),
            (self.bounds, row.bound),
            (self.lengths, row.length),
        ):
            column.append(math.nan if part is None else part)
        if told.number >= self.first and (self.last is None or told.number <= self.last):
            self.kept.append(row)


def _run(store: Store) -> tuple[bytes, dict[str, Any]]:
    """Return the digest of what does not change, and what it says in words."""
    (writer, created, text, arrays, start), found = run_columns(store)
    with readable(store, "player"):
        player = Plain(text, arrays)
        try:
            made: Mapping[str, Any] = from_plain(player)
            algorithm, guarantee = repr(made["algorithm"]), made["guarantee"]
            filters = bool(needs_of(made["algorithm"]).proposals)
            promise = None if guarantee is None else str(guarantee)
        except NotPlainError:  # functions of the user's, which are not needed to read
            made = as_data(player, {})
            algorithm = constructed(made["algorithm"])
            filters = "Proposals(" in algorithm
            promise = None if made["guarantee"] is None else str(made["guarantee"].get("name"))
        return found, {
            "surefoot": writer,
            "created": created,
            "player": algorithm,
            "guarantee": promise,
            "on_contradiction": made["on_contradiction"],
            "start": from_bytes(start),
            "is_filter": filters,
        }
