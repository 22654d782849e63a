"""The journal of a controller: a durable record of decisions, feedback and reasons."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot._sqlite import Statement, Store, StoreError, create, digest, open_writer, pack
from surefoot._sqlite import to_bytes as to_npy
from surefoot._sqlite.files import absolute, beside, time_now
from surefoot._sqlite.mark import Mark, Record
from surefoot.controller._checks import bytes_in
from surefoot.controller._plain import NotPlainError, to_plain
from surefoot.controller._records import JOURNAL, JournalEntry, Memory, More, Round, Run, Write
from surefoot.controller._rows import (
    __version__,
    boxed,
    digest_of,
    open_for_replay,
    plain_player,
    read_now,
    remembered,
    row_of,
)
from surefoot.controller._tail import LostRoundsError, insert, update, verified
from surefoot.core.types import Feedback

__all__ = ["JOURNAL", "Journal", "LostRoundsError", "Memory", "Round", "Run", "link_of", "parts"]

Take: TypeAlias = Callable[[], None]


class Position(NamedTuple):
    """How far a journal has come.

    Attributes:
        record: the last write.
        rounds: how many rounds were told in all.
        entries: how many entries the file has.
        before: how many of the rounds are in files before this one.
        part: which of several files this is, from 1.
    """

    record: Record
    rounds: int = 0
    entries: int = 0
    before: int = 0
    part: int = 1


# What is being written, where it is in the file, and what takes it into memory.
Pending: TypeAlias = tuple[Position, Write, Take]


class Journal:
    """An open journal, positioned at the round whose action is current.

    Args:
        store: the file.
        run: what is played.
        position: how far the journal has come.
        mark: where the last writes are kept beside the file, durably.
    """

    def __init__(self, store: Store, run: Run, position: Position, mark: Mark) -> None:
        self.store = store
        self.run = run
        self._at = position
        self._mark = mark
        self._pending: Pending | None = None

    @classmethod
    def create(cls, path: str | os.PathLike[str], run: Run, memory: Memory) -> Journal:
        """Create a journal that holds the first action."""
        return cls._create(absolute(path), run, memory, None)

    @classmethod
    def _create(
        cls, path: Path, run: Run, memory: Memory, after: tuple[Position, str] | None
    ) -> Journal:
        """Create a file: the first, or one that goes on where another has ended."""
        columns = (__version__, time_now(), *plain_player(run), to_npy(run.start))
        of = chain = digest(*columns)
        now = remembered(memory)
        contents: list[Statement] = [
            ("INSERT INTO run VALUES (1, ?, ?, ?, ?, ?, ?)", (*columns, of))
        ]
        position = Position(Record(of, 0, of))
        if after is not None:
            last, name = after
            link = {
                "part": last.part + 1,
                "after": name,
                "digest": last.record.digest.hex(),
                "memory": boxed(now),
            }
            entry = _entry(1, last.rounds + 1, "continued", link, of)
            chain = entry.digest
            contents += insert(entry)
            position = Position(Record(of, 1, chain), last.rounds, 1, last.rounds, last.part + 1)
        number = position.rounds + 1
        state = (*now, digest_of(chain, (number, *now)))
        contents.append(("INSERT INTO now VALUES (1, ?, ?, ?, ?)", (number, *state)))
        return cls._begin(create(path, JOURNAL, contents), run, position)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        given: Mapping[str, Any],
        accept: Callable[[Run], None] | None = None,
    ) -> tuple[Journal, Memory, Round | None]:
        """Open a journal to continue: return it, what the next round needs, and the last round.

        All of it is read and compared before it is opened for writing: one that is refused has
        not changed by a byte.

        Args:
            path: of the first file.
            given: what could not be stored.
            accept: raises for what is not to be played on.
        """
        path = parts(path)[-1]
        with open_for_replay(path) as reader:
            part, before = place_of(reader)
            run, memory, last, tail = verified(reader, given)
            if tail.loss is not None:
                raise tail.loss
            if accept is not None:
                accept(run)
            now = read_now(reader)
        store = open_writer(path, JOURNAL)
        try:
            if read_now(store) != now:
                raise StoreError(f"{store.name} is in use by another process: one writer at a time")
            if tail.writes:
                store.write(tail.statements())
            position = Position(tail.record, tail.rounds, tail.entries, before, part)
            return cls._begin(store, run, position, go_on=tail.is_marked), memory, last
        except BaseException:
            store.close()
            raise

    @classmethod
    def _begin(cls, store: Store, run: Run, position: Position, *, go_on: bool = False) -> Journal:
        """Start to write, so that no file says it has a mark and has none.

        The old mark of one that was not closed stays until the file is folded; one that was closed
        says that it is open when it has a mark.
        """
        path, mark = beside(store.path, "-mark"), None
        record = position.record._replace(contents=b"")
        try:
            if go_on:
                store.begin()
                mark = Mark.start(path, record)
            else:
                mark = Mark.start(path, record)
                store.begin()
        except BaseException:
            _close(store, mark)
            raise
        return cls(store, run, position._replace(record=record), mark)

    def append(
        self,
        number: int,
        action: np.ndarray,
        seen: Feedback,
        certificate: Any,
        memory: Memory,
        take: Take,
        more: More | None = None,
        before: Memory | None = None,
    ) -> None:
        """Write a round told and the action that follows, in one transaction; take it into memory.

        However this is interrupted, file and memory agree when it has ended: either both have the
        round or neither.

        Args:
            number: of the round.
            action: that was asked for in it.
            seen: what was told.
            certificate: of the next action.
            memory: what the next round needs.
            take: lets the controller have the round; may be called more than once.
            more: what is not usual about the round.
            before: what this round needed, with which a new file begins if this one is full.
        """
        self.settle()
        if number != self._at.rounds + 1:
            raise StoreError(f"{self.store.name} has round {number} already: it was told elsewhere")
        try:
            columns = row_of(action, seen, certificate, more)
        except NotPlainError as error:
            raise StoreError(f"what was told cannot be journalled: {error}") from error
        if before is not None and self._is_full():
            self._turn_over(before)
        at = self._at
        chain = digest_of(at.record.digest, (number, *columns))
        self._write(
            (number, *columns, chain),
            at._replace(rounds=number),
            columns,
            memory,
            take,
        )

    def enter(self, kind: str, what: Mapping[str, Any], memory: Memory, take: Take) -> None:
        """Write what happens between two rounds, as :meth:`append` writes a round."""
        self.settle()
        at = self._at
        entry = _entry(at.entries + 1, at.rounds + 1, kind, what, at.record.digest)
        self._write(entry, at._replace(entries=entry.number), entry[1:-1], memory, take)

    def _write(
        self,
        write: Write,
        position: Position,
        columns: tuple[Any, ...],
        memory: Memory,
        take: Take,
    ) -> None:
        before, now, chain = self._at, remembered(memory), write[-1]
        number = position.rounds + 1
        state = (*now, digest_of(chain, (number, *now)))
        contents = pack(*columns, *state)
        position = position._replace(
            record=Record(before.record.of, before.record.number + 1, chain, contents)
        )
        self._pending = (position, write, take)
        try:
            self.store.write((update(number, state, before.rounds + 1), *insert(write)))
            self._took(position, take)
        except BaseException:
            # Whether it was before or after the file had it, the file knows; where that cannot be
            # read now, the next call asks again.
            with contextlib.suppress(StoreError):
                self.settle()
            raise
        self._pending = None

    def settle(self) -> None:
        """Load what an interrupted call left, if the file has it."""
        if self._pending is None:
            return
        position, write, take = self._pending
        if self.store.is_open_here:
            query = "SELECT digest FROM rounds WHERE round = ?"
            if isinstance(write, JournalEntry):
                query = "SELECT digest FROM entries WHERE number = ?"
            if list(self.store.rows(query, (write[0],))) == [(write[-1],)]:
                self._took(position, take)
        self._pending = None

    def _took(self, position: Position, take: Take) -> None:
        self._at = position
        take()
        self._mark.append(position.record, self.store.fold)

    def _is_full(self) -> bool:
        """Return whether the next round goes to a new file."""
        rotate = self.run.rotate
        if not isinstance(rotate, str):
            return rotate is not None and self._at.rounds - self._at.before >= rotate
        files = (self.store.path, beside(self.store.path, "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return self._at.rounds > self._at.before and size >= bytes_in(rotate)

    def _turn_over(self, memory: Memory) -> None:
        """Go on in a new file; the old one is closed when the new one is whole."""
        store, mark, at = self.store, self._mark, self._at
        first = first_part(store.path, at.part)
        new = Journal._create(part_of(first, at.part + 1), self.run, memory, (at, store.path.name))
        self.store, self._mark, self._at = new.store, new._mark, new._at
        _close(store, mark)

    def close(self) -> None:
        """Seal the journal and let others open it; closing again does nothing."""
        if self.store.is_open_here:
            with contextlib.suppress(StoreError):
                self.settle()
            _close(self.store, self._mark)
        else:
            self.store.close()
            self._mark.close()


def _close(store: Store, mark: Mark | None) -> None:
    is_sealed = store.seal()
    store.close()
    if mark is not None:
        (mark.remove if is_sealed else mark.close)()


def _entry(number: int, t: int, kind: str, what: Mapping[str, Any], chain: bytes) -> JournalEntry:
    try:
        text, arrays = to_plain(dict(what))
    except NotPlainError as error:
        raise StoreError(f"a {kind} cannot be journalled: {error}") from error
    columns = (number, t, kind, time_now(), text, arrays)
    return JournalEntry(*columns, digest_of(chain, columns, is_entry=True))


# --- a run in several files ----------------------------------------------------------------------


def part_of(first: Path, part: int) -> Path:
    """Return the path of one of the files of a run: FILE, FILE.2, FILE.3, ..."""
    return first if part == 1 else first.with_name(f"{first.name}.{part}")


def first_part(path: Path, part: int) -> Path:
    """Return the path of the first file of a run from that of another."""
    return path if part == 1 else path.with_name(path.name.removesuffix(f".{part}"))


def parts(path: str | os.PathLike[str]) -> list[Path]:
    """Return the paths of all files of a run, the first of which is given."""
    first, found = absolute(path), [absolute(path)]
    while os.path.lexists(beyond := part_of(first, len(found) + 1)):
        found.append(beyond)
    return found


def place_of(store: Store) -> tuple[int, int]:
    """Return which file of a run this is, and the rounds in those before it.

    Raises:
        StoreError: if the run goes on in another file.
    """
    link = link_of(store)
    part, before = (1, 0) if link is None else (link[0], link[1].round - 1)
    first = first_part(store.path, part)
    if os.path.lexists(beyond := part_of(first, part + 1)):
        raise StoreError(f"{store.name} goes on in '{beyond.name}': open '{first}'")
    return part, before


def link_of(store: Store) -> tuple[int, JournalEntry] | None:
    """Return which file of a run this is, and the entry that says so; None for the first."""
    rows = list(store.rows("SELECT * FROM entries WHERE number = 1 AND kind = 'continued'"))
    if not rows:
        return None
    entry = JournalEntry(*rows[0])
    return int(entry.contents["part"]), entry
