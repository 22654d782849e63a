"""The journal of a controller: a durable record of decisions, feedback and reasons."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from surefoot._sqlite import (
    DamagedError,
    Statement,
    Store,
    StoreError,
    create,
    digest,
    open_writer,
    pack,
    to_bytes,
    unpack,
)
from surefoot._sqlite.files import beside
from surefoot._sqlite.mark import Mark, Marked, Record
from surefoot.controller._plain import Plain, to_plain
from surefoot.controller._rows import (
    JOURNAL,
    Memory,
    Round,
    Run,
    __version__,
    checked,
    each_row,
    open_for_replay,
    read_now,
    read_round,
    read_run,
    recalled,
    remembered,
    row_of,
)
from surefoot.types import Feedback

__all__ = ["Journal", "LostRoundsError", "Memory", "Round", "Run", "tail_by", "tail_of"]


class LostRoundsError(DamagedError):
    """A journal that lacks rounds, or may lack some; it is not written to.

    Attributes:
        certain: the last round that is certainly as it was told.
    """

    def __init__(self, message: str, certain: int) -> None:
        super().__init__(message)
        self.certain = certain


# The round that is being written, and what takes it into memory.
Pending: TypeAlias = tuple[Record, Callable[[], None]]
Row: TypeAlias = tuple[Any, ...]
_COLUMNS = 6  # of a round, without its number and its digest


class Journal:
    """An open journal, positioned at the round whose action is current.

    Args:
        store: the file.
        run: what does not change.
        record: how far the journal has come.
        mark: where the last rounds are kept beside the file, durably.
    """

    def __init__(self, store: Store, run: Run, record: Record, mark: Mark) -> None:
        self.store = store
        self.run = run
        self._record = record
        self._mark = mark
        self._pending: Pending | None = None

    @classmethod
    def create(cls, path: str | os.PathLike[str], run: Run, memory: Memory) -> Journal:
        """Create a journal that holds the first action."""
        player = to_plain(
            {
                "algorithm": run.algorithm,
                "guarantee": run.guarantee,
                "on_contradiction": run.on_contradiction,
            },
            may_leave_out=True,
        )
        columns = (
            __version__,
            datetime.now(UTC).isoformat(timespec="seconds"),
            *player,
            to_bytes(run.start),
        )
        chain = digest(*columns)
        now = remembered(memory)
        contents: list[Statement] = [
            ("INSERT INTO run VALUES (1, ?, ?, ?, ?, ?, ?)", (*columns, chain)),
            ("INSERT INTO now VALUES (1, 1, ?, ?, ?)", (*now, digest(chain, 1, *now))),
        ]
        return cls._begin(create(path, JOURNAL, contents), run, Record(chain, 0, chain))

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], given: Mapping[str, Any]
    ) -> tuple[Journal, Memory, Round | None]:
        """Open a journal to continue: return it, what the next round needs, and the last round.

        All of it is read and compared before it is opened for writing: one that is refused has
        not changed by a byte.
        """
        with open_for_replay(path) as reader:
            run, memory, last, tail = verified(reader, given)
            if tail.loss is not None:
                raise tail.loss
            now = read_now(reader)
        store = open_writer(path, JOURNAL)
        try:
            if read_now(store) != now:
                raise StoreError(f"{store.name} is in use by another process: one writer at a time")
            if tail.rows:
                store.write(tail.statements())
            return cls._begin(store, run, tail.record, go_on=tail.is_marked), memory, last
        except BaseException:
            store.close()
            raise

    @classmethod
    def _begin(cls, store: Store, run: Run, record: Record, *, go_on: bool = False) -> Journal:
        """Start to write, so that no file says it has a mark and has none.

        The old mark of one that was not closed stays until the file is folded; one that was closed
        says that it is open when it has a mark.
        """
        path, mark = beside(store.path, "-mark"), None
        record = record._replace(contents=b"")
        try:
            if go_on:
                store.begin()
                mark = Mark.start(path, record)
            else:
                mark = Mark.start(path, record)
                store.begin()
        except BaseException:
            is_sealed = store.seal()
            store.close()
            if mark is not None:
                (mark.remove if is_sealed else mark.close)()
            raise
        return cls(store, run, record, mark)

    def append(
        self,
        number: int,
        action: np.ndarray,
        seen: Feedback,
        certificate: Any,
        memory: Memory,
        take: Callable[[], None],
    ) -> None:
        """Write a round told and the action that follows, in one transaction; take it into memory.

        However this is interrupted, file and memory agree when it has ended: either both have the
        round or neither.

        Args:
            number: of the round.
            action: that was played in it.
            seen: what was told.
            certificate: of the next action.
            memory: what the next round needs.
            take: lets the controller have the round; may be called more than once.
        """
        self.settle()
        if number != self._record.number + 1:
            raise StoreError(f"{self.store.name} has round {number} already: it was told elsewhere")
        columns = row_of(action, seen, certificate)
        chain = digest(self._record.digest, number, *columns)
        now = remembered(memory)
        state = (*now, digest(chain, number + 1, *now))
        record = Record(self._record.of, number, chain, pack(*columns, *state))
        self._pending = (record, take)
        try:
            self.store.write(
                (_update(number + 1, state, number), _insert((number, *columns, chain)))
            )
            self._took(record, take)
        except BaseException:
            # Whether it was before or after the file had it, the file knows; where that cannot be
            # read now, the next call asks again.
            with contextlib.suppress(StoreError):
                self.settle()
            raise
        self._pending = None

    def settle(self) -> None:
        """Load the round that an interrupted call left, if the file has it."""
        if self._pending is None:
            return
        record, take = self._pending
        if self.store.is_open_here:
            query = "SELECT digest FROM rounds WHERE round = ?"
            if list(self.store.rows(query, (record.number,))) == [(record.digest,)]:
                self._took(record, take)
        self._pending = None

    def _took(self, record: Record, take: Callable[[], None]) -> None:
        self._record = record
        take()
        self._mark.append(record, self.store.fold)

    def close(self) -> None:
        """Seal the journal and let others open it; closing again does nothing."""
        if self.store.is_open_here:
            with contextlib.suppress(StoreError):
                self.settle()
            is_sealed = self.store.seal()
            self.store.close()
            (self._mark.remove if is_sealed else self._mark.close)()
        else:
            self.store.close()
            self._mark.close()


def _insert(row: Row) -> Statement:
    return "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row


def _update(number: int, state: Row, before: int) -> Statement:
    """Let the file be at a round, if it is at the one before."""
    query = "UPDATE now SET round = ?, state = ?, arrays = ?, digest = ? WHERE round = ?"
    return query, (number, *state, before)


class Tail(NamedTuple):
    """The rounds that the mark of a journal has and the file lacks, after a power cut.

    Attributes:
        is_marked: whether there is a mark that can be read.
        record: how far file and mark have come together.
        rows: of the rounds, as they belong into the file.
        now: the state after the last of them, as :func:`read_now` gives it; None without one.
        loss: the error to raise where rounds are lost, or may be.
    """

    is_marked: bool
    record: Record
    rows: tuple[Row, ...]
    now: tuple[int, Plain, bytes] | None
    loss: LostRoundsError | None

    def statements(self) -> list[Statement]:
        """Return what puts the rounds into the file."""
        if self.now is None:
            return []
        number, state, found = self.now
        before: int = self.rows[0][0]
        return [_update(number, (*state, found), before), *map(_insert, self.rows)]


class Verified(NamedTuple):
    """A journal that was read from end to end.

    Attributes:
        run: what does not change.
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
    run, of = read_run(store, given)
    number, now, found = read_now(store)
    record, last = Record(of, 0, of), None
    for row in each_row(store):
        if row[0] != record.number + 1:
            raise store.damaged(f"round {record.number + 1} is missing")
        record, last = Record(of, row[0], checked(store, record.digest, row)), row
    if record.number != number - 1:
        raise store.damaged(f"it ended in round {number} and the round before is missing")
    if digest(record.digest, number, *now) != found:
        raise store.damaged("the last state is not what was written")
    tail = tail_of(store, record)
    if tail.now is not None:
        (*_, last), (_, now, _) = tail.rows, tail.now
    memory = recalled(store, now, run)
    told = None if last is None else read_round(store, last)
    return Verified(run, memory, told, tail)


def tail_of(store: Store, record: Record) -> Tail:
    """Hold a file that has come so far against its mark, and follow the mark from there."""
    return tail_by(Mark.read(beside(store.path, "-mark")), store, record)


def tail_by(marked: Marked | None, store: Store, record: Record) -> Tail:
    """Hold a file that has come so far against what its mark says, and follow it from there."""
    rows, now = [], None
    if marked is not None and marked.last is not None and marked.last.of == record.of:
        while (found := marked.records.get(record.number + 1)) is not None:
            try:
                *columns, text, arrays, last = cast("Row", unpack(found.contents))
            except ValueError:  # no round, or no packed one
                break
            n, state = found.number, Plain(text, arrays)
            chain = digest(record.digest, n, *columns)
            follows = (chain, digest(chain, n + 1, *state)) == (found.digest, last)
            if not follows or len(columns) != _COLUMNS:
                break
            record, now = found, (n + 1, state, last)
            rows.append((n, *columns, chain))
    is_marked = marked is not None and marked.last is not None
    return Tail(is_marked, record, tuple(rows), now, _loss_of(store, record, marked))


def _loss_of(store: Store, record: Record, marked: Marked | None) -> LostRoundsError | None:
    """Hold how far a journal has come against its mark: the error where rounds may be lost."""
    path, n = beside(store.path, "-mark"), record.number
    certain = f"the last round that is certain is {n}"
    if marked is None or marked.last is None:
        if store.is_sealed:
            return None
        what = "is missing" if marked is None else "cannot be read"
        return LostRoundsError(
            f"{store.name} may have lost rounds: it was not closed and its mark '{path}' {what}; "
            f"{certain}",
            n,
        )
    last = marked.last
    if last.of != record.of:
        return LostRoundsError(
            f"{store.name} may have lost rounds: its mark '{path}' is that of another journal; "
            f"{certain}",
            n,
        )
    if n < marked.least:
        rounds = f"rounds {n + 1} to {marked.least}, which were told"
        if marked.least == n + 1:
            rounds = f"round {n + 1}, which was told"
        return LostRoundsError(
            f"{store.name} has lost {rounds}: neither its log '{store.path.name}-wal' nor its mark "
            f"has them whole; {certain}",
            n,
        )
    if n > last.number + 1 or (n == last.number and record.digest != last.digest):
        return LostRoundsError(
            f"{store.name} may have lost rounds: its mark '{path}' is that of another time; "
            f"{certain}",
            n,
        )
    return None
