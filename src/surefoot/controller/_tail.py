"""Read a journal from end to end, and follow its mark where the file itself has lost its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from surefoot._sqlite import DamagedError, Statement, Store, unpack
from surefoot._sqlite.files import beside
from surefoot._sqlite.mark import Mark, Marked, Record
from surefoot.controller._plain import Plain
from surefoot.controller._records import USUAL, JournalEntry, Memory, Round, Row, Run, Write
from surefoot.controller._rows import (
    checked,
    digest_of,
    each_write,
    read_now,
    read_round,
    read_run,
    readable,
    recalled,
    unboxed,
)

__all__ = [
    "LostRoundsError",
    "Reader",
    "Tail",
    "Verified",
    "insert",
    "tail_by",
    "tail_of",
    "update",
    "verified",
]

_ENTRY = 5  # columns of an entry, without its number and its digest
_UNUSUAL = 5  # columns of more, without the round


class LostRoundsError(DamagedError):
    """A journal that lacks rounds, or may lack some; it is not written to.

    Attributes:
        certain: the last round that is certainly as it was told.
    """

    def __init__(self, message: str, certain: int) -> None:
        super().__init__(message)
        self.certain = certain


def insert(write: Write) -> list[Statement]:
    """Return what puts a round or an entry into the file."""
    if isinstance(write, JournalEntry):
        return [("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", write)]
    end = 1 + USUAL
    usual = (*write[:end], write[-1])
    found: list[Statement] = [("INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?)", usual)]
    if len(write) > end + 1:
        more = (write[0], *write[end:-1])
        found.append(("INSERT INTO more VALUES (?, ?, ?, ?, ?, ?)", more))
    return found


def update(number: int, state: Row, before: int) -> Statement:
    """Let the file be at a round, if it is at the one before, or at that one already."""
    query = "UPDATE now SET round = ?, state = ?, arrays = ?, digest = ? WHERE round = ?"
    return query, (number, *state, before)


class Reader:
    """How far the reading of a journal has come.

    Args:
        store: the journal.
        of: the digest of what does not change.

    Attributes:
        record: the last write.
        rounds: how many rounds were told, in this file and those before it.
        entries: how many entries this file has so far.
    """

    def __init__(self, store: Store, of: bytes) -> None:
        self.store = store
        self.record = Record(of, 0, of)
        self.rounds = self.entries = 0

    def take(self, write: Write) -> None:
        """Check the next row or entry against what came before it."""
        store, chain = self.store, self.record.digest
        if isinstance(write, JournalEntry):
            if write.kind == "continued" and not self.record.number:
                self.rounds = write.round - 1
            if write.number != self.entries + 1 or write.round != self.rounds + 1:
                raise store.damaged(f"entry {self.entries + 1} is missing")
            found = checked(store, chain, write)
            self.entries += 1
        else:
            if write[0] != self.rounds + 1:
                raise store.damaged(f"round {self.rounds + 1} is missing")
            found = checked(store, chain, write)
            self.rounds += 1
        self.record = Record(self.record.of, self.record.number + 1, found)


class Tail(NamedTuple):
    """The writes that the mark of a journal has and the file lacks, after a power cut.

    Attributes:
        is_marked: whether there is a mark that can be read.
        record: how far file and mark have come together.
        writes: of rounds and entries, as they belong into the file.
        rounds: how many rounds were told, with these.
        entries: how many entries there are, with these.
        now: the state after the last of them, as :func:`read_now` gives it; None without one.
        loss: the error to raise where rounds are lost, or may be.
    """

    is_marked: bool
    record: Record
    writes: tuple[Write, ...]
    rounds: int
    entries: int
    now: tuple[int, Plain, bytes] | None
    loss: LostRoundsError | None

    def statements(self) -> list[Statement]:
        """Return what puts the writes into the file."""
        if self.now is None:
            return []
        number, state, found = self.now
        told = sum(not isinstance(write, JournalEntry) for write in self.writes)
        statements = [update(number, (*state, found), number - told)]
        for write in self.writes:
            statements += insert(write)
        return statements


class Verified(NamedTuple):
    """A journal that was read from end to end.

    Attributes:
        run: what is played.
        memory: what the next round needs.
        last: the last round told, or None.
        tail: the rounds that the file lacks, and how far it has come.
    """

    run: Run
    memory: Memory
    last: Round | None
    tail: Tail


def verified(store: Store, given: Mapping[str, Any]) -> Verified:
    """Read a journal and its mark from end to end; every digest must be right.

    Raises:
        DamagedError: something is not what was written.
    """
    run, of = read_run(store, given, _newest_player(store))
    number, now, found = read_now(store)
    reader, last = Reader(store, of), None
    for write in each_write(store):
        reader.take(write)
        if not isinstance(write, JournalEntry):
            last = write
    if reader.rounds != number - 1:
        raise store.damaged(f"it ended in round {number} and the round before is missing")
    if digest_of(reader.record.digest, (number, *now)) != found:
        raise store.damaged("the last state is not what was written")
    tail = tail_of(reader)
    if tail.now is not None:
        told = [write for write in tail.writes if not isinstance(write, JournalEntry)]
        _, now, _ = tail.now
        if told:
            last = told[-1]
        if any(_player_of(write) for write in tail.writes):
            newer = [p for write in tail.writes if (p := _player_of(write))][-1]
            run, _ = read_run(store, given, newer)
    memory = recalled(store, now, run)
    told_last = None if last is None else read_round(store, last)
    return Verified(run, memory, told_last, tail)


def _player_of(write: Write) -> Plain | None:
    """Return the player that a write brings in, if it does."""
    if isinstance(write, JournalEntry):
        return unboxed(write.contents.get("player")) if write.kind == "resume" else None
    return None


def _newest_player(store: Store) -> Plain | None:
    """Return the last player that took the place of another, if one did."""
    with readable(store, "player"):
        found: list[tuple[int, Plain]] = []
        for row in store.rows("SELECT * FROM entries WHERE kind = 'resume' ORDER BY number"):
            entry = JournalEntry(*row)
            if (plain := _player_of(entry)) is not None:
                found.append((2 * entry.round - 1, plain))
        return max(found, key=lambda pair: pair[0])[1] if found else None


def tail_of(reader: Reader) -> Tail:
    """Hold a file that has come so far against its mark, and follow the mark from there."""
    return tail_by(Mark.read(beside(reader.store.path, "-mark")), reader)


def tail_by(marked: Marked | None, reader: Reader) -> Tail:
    """Hold a file that has come so far against what its mark says, and follow it from there."""
    store, record, rounds, entries = reader.store, reader.record, reader.rounds, reader.entries
    writes: list[Write] = []
    now = None
    if marked is not None and marked.last is not None and marked.last.of == record.of:
        while (found := marked.records.get(record.number + 1)) is not None:
            try:
                *columns, text, arrays, last = cast("Row", unpack(found.contents))
            except ValueError:  # no write, or no packed one
                break
            is_entry = len(columns) == _ENTRY
            if not is_entry and len(columns) not in (USUAL, USUAL + _UNUSUAL):
                break
            numbered = (entries + 1 if is_entry else rounds + 1, *columns)
            chain = digest_of(record.digest, numbered, is_entry=is_entry)
            n, state = rounds + (1 if is_entry else 2), Plain(text, arrays)
            if (chain, digest_of(chain, (n, *state))) != (found.digest, last):
                break
            if is_entry:
                writes.append(JournalEntry._make((*numbered, chain)))
                entries += 1
            else:
                writes.append((*numbered, chain))
                rounds += 1
            record, now = found, (n, state, last)
    is_marked = marked is not None and marked.last is not None
    loss = _loss_of(store, record, rounds, marked)
    return Tail(is_marked, record, tuple(writes), rounds, entries, now, loss)


def _loss_of(
    store: Store, record: Record, rounds: int, marked: Marked | None
) -> LostRoundsError | None:
    """Hold how far a journal has come against its mark: the error where rounds may be lost."""
    path, n = beside(store.path, "-mark"), record.number
    certain = f"the last round that is certain is {rounds}"
    if marked is None or marked.last is None:
        if store.is_sealed:
            return None
        what = "is missing" if marked is None else "cannot be read"
        return LostRoundsError(
            f"{store.name} may have lost rounds: it was not closed and its mark '{path}' {what}; "
            f"{certain}",
            rounds,
        )
    last = marked.last
    if last.of != record.of:
        return LostRoundsError(
            f"{store.name} may have lost rounds: its mark '{path}' is that of another journal; "
            f"{certain}",
            rounds,
        )
    if n < marked.least:
        end = rounds + marked.least - n  # entries between them are counted as rounds
        lost = f"rounds {rounds + 1} to {end}, which were told"
        if end == rounds + 1:
            lost = f"round {end}, which was told"
        return LostRoundsError(
            f"{store.name} has lost {lost}: neither its log '{store.path.name}-wal' nor its mark "
            f"has them whole; {certain}",
            rounds,
        )
    if n > last.number + 1 or (n == last.number and record.digest != last.digest):
        return LostRoundsError(
            f"{store.name} may have lost rounds: its mark '{path}' is that of another time; "
            f"{certain}",
            rounds,
        )
    return None
