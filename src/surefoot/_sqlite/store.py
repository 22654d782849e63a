"""An open SQLite file: read, written in transactions, checked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from surefoot._sqlite.connection import connect, schema_of, told, uri
from surefoot._sqlite.files import (
    UNSEALED,
    DamagedError,
    Head,
    Kind,
    StoreError,
    absolute,
    beside,
    draft_of,
    give_name,
    name_of,
    read_head,
    refuse_existing,
    remove_drafts,
)
from surefoot.core.files import Closing

__all__ = [
    "Statement",
    "Store",
    "create",
    "lock_of",
    "looked_at",
    "open_reader",
    "open_writer",
    "writer_of",
]

_OLDEST = (3, 37, 0)  # STRICT tables
# Pages before the log is folded into the file: an extra sync or two, so not too often. But soon:
# from then on the log is written in place, and a file that does not grow is synced faster.
_CHECKPOINT = 1_000
# Longer than a slow disk takes for a write.
_TURN = 10.0

Statement: TypeAlias = tuple[str, Sequence[Any]]

# POSIX drops all locks that a process has on a file when it closes any descriptor of that file.
# So a file that this process writes to must not be looked at a second time, not even its head.
_writers: WeakValueDictionary[tuple[int, int], Store] = WeakValueDictionary()
_kept: list[sqlite3.Connection] = []  # of another process, never to be closed here


class Store(Closing):
    """An open file; made by :func:`create`, :func:`open_writer` and :func:`open_reader`."""

    def __init__(
        self,
        path: Path,
        kind: Kind,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection | None = None,
        *,
        is_reader: bool = False,
    ) -> None:
        self.path = path
        self.kind = kind
        self.is_reader = is_reader
        self._connection: sqlite3.Connection | None = connection
        self._lock = lock
        self._process = os.getpid()
        # An interrupt may keep it from being let go, which then troubles no other write of its
        # thread.
        self._writing = threading.RLock()
        self._newest: object = None  # which write was begun last
        self._is_unsealed = False

    def rows(self, query: str, arguments: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._told("read"):
            # No "yield from", which would close the cursor when it is left early: perhaps after
            # the file has been closed, which is an error.
            for row in self._open().execute(query, arguments):  # noqa: UP028
                yield row

    def write(self, statements: Iterable[Statement], *, one_row_each: bool = True) -> None:
        """Execute all of the statements, or none of them.

        Args:
            statements: in order.
            one_row_each: whether each must change exactly one row.

        Raises:
            StoreError: and then nothing has changed.
        """
        connection = self._open()
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.name} is written by process {self._process}: a fork of it must not write"
            )
        with self._told("written"), self._alone():
            this = self._newest = object()
            _roll_back(connection)  # one that was interrupted
            try:
                connection.execute("BEGIN IMMEDIATE")
                for statement, arguments in statements:
                    if self._newest is not this:
                        raise StoreError(f"{self.name} was written from within a write")
                    changed = connection.execute(statement, arguments).rowcount
                    if one_row_each and changed != 1:
                        raise StoreError(
                            f"{self.name} has moved on without its writer: open it again"
                        )
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Make other threads wait, but not for ever."""
        if not self._writing.acquire(timeout=_TURN):
            raise StoreError(f"{self.name} is being written by another thread: one at a time")
        try:
            yield
        finally:
            self._writing.release()

    def begin(self) -> None:
        """Start the log beside the file, so that each write from now on is at most one sync.

        A file that cannot be written is found out here rather than in the middle of the work. One
        that is sealed when it is closed says from here on that it is not.
        """
        number = self.kind.version
        with self._told("written"):
            connection = self._open()
            if self.kind.sealed:
                self._is_unsealed = True
                number |= UNSEALED
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(f"PRAGMA user_version = {number}")  # something to write
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
        if self.kind.sealed:  # in the file itself, for the log may get lost
            self.fold()

    def fold(self) -> None:
        """Take the log into the file; all that was written is durable when this is done."""
        with self._told("written"), self._alone():
            connection = self._open()
            _roll_back(connection)
            ((busy, frames, done),) = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
            if busy or frames != done:
                raise StoreError(f"{self.name} cannot be written: its log is in use by another")

    def seal(self) -> bool:
        """Mark the file durably as finished by its writer; return whether that was possible."""
        if self._is_unsealed and self.is_open_here:
            with contextlib.suppress(StoreError), self._told("written"), self._alone():
                connection = self._open()
                _roll_back(connection)
                connection.execute(f"PRAGMA user_version = {self.kind.version}")
                self.fold()
                self._is_unsealed = False
        return not self._is_unsealed

    @property
    def is_sealed(self) -> bool:
        """Whether the writer finished with the file, or its kind does not record that."""
        ((number,),) = self.rows("PRAGMA user_version")
        return not (self.kind.sealed and number & UNSEALED)

    def limit(self, pages: int) -> None:
        """Limit the number of pages from now on, to simulate a full disk."""
        self._open().execute(f"PRAGMA max_page_count = {pages}").fetchall()

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy all that has been written into another file."""
        with self._told("read"), self._alone():
            connection = self._open()
            _roll_back(connection)
            connection.backup(target)

    def check(self, *, indexes: bool = False) -> None:
        """Check the pages of the file, and that its indexes match its tables.

        Raises:
            DamagedError: something is wrong.
        """
        (verdict, *_) = self.rows(f"PRAGMA {'integrity' if indexes else 'quick'}_check(1)")
        if verdict != ("ok",):
            raise self.damaged(str(verdict[0]).removeprefix("*** in database main ***\n"))

    def check_schema(self) -> None:
        """Compare the tables with those that the kind has.

        Raises:
            StoreError: there is something that is not the file's own: a trigger could do anything.
            DamagedError: a table is missing or another.
        """
        query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"
        found, wanted = set(self.rows(query)), schema_of(self.kind.schema)
        names = {name for _, name, _, _ in wanted}
        for what, name, _, _ in sorted(found - wanted, key=repr):
            if name not in names:
                raise StoreError(
                    f"{self.name} is refused: it has a {what} {name!r} that is not its own"
                )
        for what, name, _, _ in sorted(wanted - found, key=repr):
            raise self.damaged(f"its {what} {name!r} is missing or not what was made")

    def damaged(self, why: object) -> DamagedError:
        """Return the error to raise when what was read is impossible."""
        return DamagedError(f"{self.name} is damaged: {str(why).splitlines()[0]}")

    def close(self) -> None:
        """Let others open the file; closing again does nothing."""
        self.seal()
        connection, self._connection = self._connection, None
        if os.getpid() != self._process:
            # A fork has no lock, and SQLite does not know: it would fold the log of the other.
            _kept.extend(c for c in (connection, self._lock) if c is not None)
            return
        if connection is not None:
            connection.close()
            if self.is_reader:
                _tidy(self.path, self.kind)
        if self._lock is not None:  # the last thing to go
            self._lock.close()

    @property
    def is_open_here(self) -> bool:
        """Whether this process opened the file, rather than the process it was forked from."""
        return self._connection is not None and os.getpid() == self._process

    @property
    def name(self) -> str:
        """The name of the file for use in a sentence."""
        return name_of(self.kind, self.path)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self.name} has been closed")
        return self._connection

    def _told(self, done: str) -> contextlib.AbstractContextManager[None]:
        return told(self.kind, self.path, done)


def _roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that was left open."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def create(path: str | os.PathLike[str], kind: Kind, contents: Sequence[Statement]) -> Store:
    """Create a new file with its first contents, open for writing.

    It is made under another name and gets its own when it is complete: whoever finds a file at
    the path finds a whole one. What is there already is never overwritten.
    """
    path = absolute(path)
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(f"a {kind.noun} needs SQLite 3.37, got {sqlite3.sqlite_version}")
    refuse_existing(path, kind)
    # SQLite would take the log of a file that is gone for that of the new one.
    for leftover in (beside(path, end) for end in ("-wal", "-journal", "-mark")):
        if os.path.lexists(leftover):
            raise StoreError(
                f"{name_of(kind, path)} cannot be created beside '{leftover}', which is left from "
                "another file: move that away first"
            )
    remove_drafts(path)
    draft = draft_of(path)
    try:
        with told(kind, path, "created"):
            connection = sqlite3.connect(uri(draft, "rwc"), uri=True, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN")
                connection.execute(f"PRAGMA application_id = {kind.application_id}")
                connection.execute(f"PRAGMA user_version = {kind.version}")
                for statement in kind.schema:
                    connection.execute(statement)
                for statement, arguments in contents:
                    connection.execute(statement, arguments)
                connection.execute("COMMIT")
                connection.execute("PRAGMA journal_mode = WAL")
        give_name(draft, path, kind)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return open_writer(path, kind)


def open_writer(path: str | os.PathLike[str], kind: Kind) -> Store:
    """Open an existing file for its one writer; the lock ends with the process."""
    path = absolute(path)
    head = looked_at(path, kind)
    remove_drafts(path)
    _inspect(path, kind)
    with told(kind, path, "opened"), contextlib.ExitStack() as opened:
        lock = opened.enter_context(contextlib.closing(lock_of(path))) if kind.watched else None
        connection = opened.enter_context(contextlib.closing(connect(path, "rw")))
        if not kind.watched:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # FULL syncs the log once per transaction; without it a power cut could take the last.
        connection.execute(f"PRAGMA synchronous = {'FULL' if kind.durable else 'NORMAL'}")
        connection.execute("PRAGMA fullfsync = ON")  # macOS; nothing elsewhere
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        opened.pop_all()
    store = _writers[head.identity] = Store(path, kind, connection, lock)
    return store


def _inspect(path: Path, kind: Kind) -> None:
    """Raise for a file with foreign tables before a writer could change a byte."""
    mode = "ro" if os.path.lexists(beside(path, "-wal")) else "ro&immutable=1"
    with told(kind, path, "opened"), contextlib.closing(connect(path, mode)) as connection:
        Store(path, kind, connection).check_schema()
    _tidy(path, kind)


def _tidy(path: Path, kind: Kind) -> None:
    """Remove the index of the log that a reader leaves; one who watches may be using it."""
    if not kind.watched:
        with contextlib.suppress(OSError):
            beside(path, "-shm").unlink()


def lock_of(path: Path) -> sqlite3.Connection:
    """Hold the lock of a file's writer, which ends with the process.

    It is SQLite's own lock, for it works everywhere, on a file of its own that stays empty.
    """
    connection = connect(beside(path, "-lock"), "rwc")
    try:
        connection.execute("PRAGMA journal_mode = MEMORY").fetchall()  # no file for that either
        connection.execute("BEGIN EXCLUSIVE")
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: str | os.PathLike[str], kind: Kind) -> Store:
    """Open an existing file to read it as it is at this moment.

    Nobody must be writing to it unless its kind may be watched: what is written after this is not
    seen then.
    """
    path = absolute(path)
    looked_at(path, kind)
    # Without a log nobody is writing a file that must not be watched. SQLite would make a new one
    # all the same, beside a file that may be on a disk that cannot be written.
    has_log = os.path.lexists(beside(path, "-wal"))
    alone = not has_log and not (kind.watched and os.access(path.parent, os.W_OK))
    with told(kind, path, "opened"):
        # The last to close a file takes the log away, if it may write.
        mode = "ro&immutable=1" if alone else "rw" if kind.watched else "ro"
        connection = connect(path, mode)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            store = Store(path, kind, connection, is_reader=True)
            store.check_schema()
        except BaseException:
            connection.close()
            _tidy(path, kind)
            raise
    return store


def looked_at(path: Path, kind: Kind, *, whole: bool = True) -> Head:
    """Raise unless the file is of this kind and not being written by this process."""
    if (writer := writer_of(path)) is not None:
        raise StoreError(f"{writer.name} is in use by this process: one writer at a time")
    return read_head(path, kind, whole=whole)


def writer_of(path: Path) -> Store | None:
    """Return the store that writes a file in this process, if there is one."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None  # the reading of its head says why
    writer = _writers.get((found.st_dev, found.st_ino))
    return writer if writer is not None and writer.is_open_here else None
