"""SQLite files of the library: created whole, one writer at a time, arrays as npy bytes.

The only module that knows :mod:`sqlite3`. A file of ours is told by its application id and the
version of its format, both in the first hundred bytes, which are read before SQLite sees the file:
what is not ours is not opened, hence not touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from surefoot.errors import InvalidValueError, SurefootError

__all__ = [
    "DamagedError",
    "Kind",
    "Statement",
    "Store",
    "StoreError",
    "create",
    "digest",
    "from_bytes",
    "mending",
    "open_reader",
    "open_writer",
    "to_bytes",
]

_MAGIC = b"SQLite format 3\x00"
_OLDEST = (3, 37, 0)  # STRICT tables
# Pages before the log is folded into the file: an extra sync or two, so not too often.
_CHECKPOINT = 10_000
# Long enough for a reader to finish or a killed writer to be gone; short enough to be told.
_PATIENCE = 0.25

Statement: TypeAlias = tuple[str, Sequence[Any]]


class StoreError(SurefootError, RuntimeError):
    """A file that cannot be created, opened, read or written; the message says why."""


class DamagedError(StoreError):
    """A file, or a part of one, that is not what was written."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        noun: what a user calls it.
        application_id: the number that tells it from other programs' files.
        version: of the format.
        schema: the statements that make its tables.
        reopen: what to do with one that exists.
        watched: whether others may read it while it is written. The lock on the one writer is then
            on an empty file beside it. Else they are told to wait.
        durable: whether a write has reached the disk when it is done. Else a power cut may take
            the last few, whole; the end of the process takes none.
    """

    noun: str
    application_id: int
    version: int
    schema: tuple[str, ...]
    reopen: str
    watched: bool = False
    durable: bool = True


# --- arrays and digests --------------------------------------------------------------------------

_headers: dict[tuple[str, tuple[int, ...]], bytes] = {}


def to_bytes(array: np.ndarray) -> bytes:
    """An array of numbers as the bytes of an npy file.

    >>> from_bytes(to_bytes(np.array([1.5, -0.0])))
    array([ 1.5, -0. ])
    """
    key = (array.dtype.str, array.shape)
    header = _headers.get(key)
    if header is None:
        if array.dtype.kind not in "biuf":
            raise InvalidValueError(f"an array to be stored must hold numbers, got {array.dtype}")
        buffer = io.BytesIO()
        form = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(buffer, form)
        if len(_headers) > 256:
            _headers.clear()
        header = _headers[key] = buffer.getvalue()
    return header + array.tobytes()


def from_bytes(data: bytes) -> np.ndarray:
    """The array again, writeable; ValueError for anything else than one npy file of numbers."""
    array, rest = read_array(data, 0)
    if rest != len(data):
        raise InvalidValueError("bytes after the end of an npy array")
    return array


def read_array(data: bytes, offset: int) -> tuple[np.ndarray, int]:
    """An array of several that follow each other, and where it ends."""
    begin = offset + 10 + int.from_bytes(data[offset + 8 : offset + 10], "little")
    shape, fortran, dtype = _read_header(data[offset:begin])
    # The size is compared before anything of it is believed: a damaged header may ask for the moon.
    count = 1
    for n in shape:
        count *= n
    end = begin + count * dtype.itemsize
    if fortran or dtype.kind not in "biuf" or end > len(data):
        raise InvalidValueError("not an npy array of numbers")
    flat = np.frombuffer(data, dtype=dtype, count=count, offset=begin)
    return flat.reshape(shape).copy(), end


@lru_cache(maxsize=256)
def _read_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What an npy header says; kept, because NumPy parses Python for it and arrays are alike."""
    stream = io.BytesIO(header)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise InvalidValueError(f"npy format {version} is not one that is written here")
    return np.lib.format.read_array_header_1_0(stream)


def digest(*parts: bytes | str | float | int | None) -> bytes:
    """SHA-256 of the parts, each with its type and length, so that no two lists share one.

    >>> digest("a", None) == digest("a"), digest(0.0) == digest(-0.0)
    (False, False)
    """
    found = hashlib.sha256()
    for part in parts:
        if part is None:
            kind, raw = b"n", b""
        elif isinstance(part, bytes):
            kind, raw = b"b", part
        elif isinstance(part, str):
            kind, raw = b"s", part.encode()
        elif isinstance(part, float):
            kind, raw = b"f", struct.pack("<d", part)
        else:
            kind, raw = b"i", str(part).encode()
        found.update(kind + len(raw).to_bytes(8, "little") + raw)
    return found.digest()


# --- files ---------------------------------------------------------------------------------------

# POSIX drops all locks that a process has on a file when it closes any descriptor of that file.
# So a file that this process writes to must not be looked at a second time, not even its head.
_writers: WeakValueDictionary[tuple[int, int], Store] = WeakValueDictionary()


class Store:
    """An open file; made by :func:`create`, :func:`open_writer` and :func:`open_reader`."""

    def __init__(
        self,
        path: Path,
        kind: Kind,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection | None = None,
    ) -> None:
        self.path = path
        self.kind = kind
        self._connection: sqlite3.Connection | None = connection
        self._lock = lock
        self._process = os.getpid()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def rows(self, query: str, arguments: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        with self._told("read"):
            # No "yield from", which would close the cursor when it is left early: perhaps after
            # the file has been closed, which is an error.
            for row in self._open().execute(query, arguments):  # noqa: UP028
                yield row

    def write(self, statements: Iterable[Statement], *, one_row_each: bool = True) -> None:
        """All of the statements, or none of them.

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
        with self._told("written"):
            connection.execute("BEGIN IMMEDIATE")
            try:
                for statement, arguments in statements:
                    changed = connection.execute(statement, arguments).rowcount
                    if one_row_each and changed != 1:
                        raise StoreError(
                            f"{self.name} has moved on without its writer: open it again"
                        )
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def begin(self) -> None:
        """Start the log beside the file, so that each write from now on is one sync.

        A file that cannot be written is found out here rather than in the middle of the work.
        """
        with self._told("written"):
            connection = self._open()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")  # something to write

    def limit(self, pages: int) -> None:
        """Let the file have no more pages than this from now on: stands in for a full disk."""
        self._open().execute(f"PRAGMA max_page_count = {pages}").fetchall()

    def check(self, *, indexes: bool = False) -> None:
        """Look through the pages of the file, and whether its indexes are in step with its tables.

        Raises:
            DamagedError: something is wrong.
        """
        ((verdict,), *_) = self.rows(f"PRAGMA {'integrity' if indexes else 'quick'}_check(1)")
        if verdict != "ok":
            raise self.damaged(verdict.removeprefix("*** in database main ***\n"))

    def damaged(self, why: object) -> DamagedError:
        """The error to raise when what was read cannot be."""
        return DamagedError(f"{self.name} is damaged: {str(why).splitlines()[0]}")

    def close(self) -> None:
        """Let others open the file; closing twice is closing once."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._lock is not None:  # the last thing to go
            self._lock.close()

    @property
    def is_open_here(self) -> bool:
        """Whether this process has it open, rather than one that it was forked from."""
        return self._connection is not None and os.getpid() == self._process

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return _name(self.kind, self.path)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self.name} has been closed")
        return self._connection

    def _told(self, done: str) -> contextlib.AbstractContextManager[None]:
        return _told(self.kind, self.path, done)


def create(path: str | os.PathLike[str], kind: Kind, contents: Sequence[Statement]) -> Store:
    """A new file with its first contents, open for writing.

    It is made under another name and gets its own when it is complete: whoever finds a file at
    the path finds a whole one. What is there already is never overwritten.
    """
    path = _path(path)
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(f"a {kind.noun} needs SQLite 3.37, got {sqlite3.sqlite_version}")
    _refuse_existing(path, kind)
    # SQLite would take the log of a file that is gone for that of the new one.
    for leftover in (_log(path), path.with_name(path.name + "-journal")):
        if os.path.lexists(leftover):
            raise StoreError(
                f"{_name(kind, path)} cannot be created beside '{leftover}', which is left from "
                "another file: move that away first"
            )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with _told(kind, path, "created"):
            connection = sqlite3.connect(_uri(draft, "rwc"), uri=True, isolation_level=None)
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
        _give_name(draft, path, kind)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return open_writer(path, kind)


def open_writer(path: str | os.PathLike[str], kind: Kind) -> Store:
    """An existing file, for its one writer; the lock goes with the process, however that ends."""
    path = _path(path)
    mark = _look(path, kind)
    with _told(kind, path, "opened"), contextlib.ExitStack() as opened:
        lock = opened.enter_context(contextlib.closing(_lock(path))) if kind.watched else None
        connection = opened.enter_context(contextlib.closing(_connect(path, "rw")))
        if not kind.watched:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # FULL syncs the log once a transaction; without it a power cut could take the last.
        connection.execute(f"PRAGMA synchronous = {'FULL' if kind.durable else 'NORMAL'}")
        connection.execute("PRAGMA fullfsync = ON")  # macOS; nothing elsewhere
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        opened.pop_all()
    store = _writers[mark] = Store(path, kind, connection, lock)
    return store


def _lock(path: Path) -> sqlite3.Connection:
    """Hold the lock of a file's writer, which goes with the process, however that ends.

    It is SQLite's own lock, for it works everywhere, on a file of its own that stays empty.
    """
    connection = _connect(path.with_name(path.name + "-lock"), "rwc")
    try:
        connection.execute("PRAGMA journal_mode = MEMORY").fetchall()  # no file for that either
        connection.execute("BEGIN EXCLUSIVE")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        _uri(path, mode),
        uri=True,
        isolation_level=None,
        timeout=_PATIENCE,
        check_same_thread=False,
    )


def open_reader(path: str | os.PathLike[str], kind: Kind) -> Store:
    """An existing file, to be read and left as it is at this moment.

    Nobody must be writing to it unless its kind may be watched: what is written after this is not
    seen then.
    """
    path = _path(path)
    _look(path, kind)
    # Without a log there is nothing that SQLite would want to write beside the file, which may
    # be on a disk that cannot be written.
    alone = not os.path.lexists(_log(path)) and not os.access(path.parent, os.W_OK)
    with _told(kind, path, "opened"):
        # The last to close a file takes the log away, if it may write.
        mode = "ro&immutable=1" if alone else "rw" if kind.watched else "ro"
        connection = _connect(path, mode)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except BaseException:
            connection.close()
            raise
    return Store(path, kind, connection)


@contextlib.contextmanager
def mending(path: str | os.PathLike[str], kind: Kind) -> Iterator[tuple[Store, Store]]:
    """A damaged file to be read as far as that goes, and a new one that takes its place.

    The new one gets the path when all is done, and the damaged one stays beside it, under the
    name with ``-damaged`` at the end. What is read from it must be checked by whoever reads.
    """
    path = _path(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    aside = path.with_name(path.name + "-damaged")
    with _told(kind, path, "mended"), contextlib.closing(_lock(path)):
        _look(path, kind, whole=False)
        try:
            connection = _connect(path, "ro")
            with Store(path, kind, connection) as old, create(draft, kind, ()) as new:
                # SQLite opens a file that was cut short only for those who may write its schema.
                connection.execute("PRAGMA writable_schema = ON")
                yield old, new
            # The log first: beside the new file it would be taken for its own.
            for end in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
            with contextlib.suppress(OSError):
                aside.unlink()
            try:
                os.link(path, aside)
            except OSError:
                path.rename(aside)
            draft.replace(path)
        except OSError as error:
            raise StoreError(f"{_name(kind, path)} cannot be mended: {error.strerror}") from error
        finally:
            for end in ("", "-lock", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    draft.with_name(draft.name + end).unlink()


def _look(path: Path, kind: Kind, *, whole: bool = True) -> tuple[int, int]:
    """Refuse what is not a file of this kind, by its head alone; the identity of the file."""
    name = _name(kind, path)
    try:
        found = path.stat()
        mark = (found.st_dev, found.st_ino)
        if (writer := _writers.get(mark)) is not None and writer.is_open_here:
            raise StoreError(f"{name} is in use by this process: one writer at a time")
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise StoreError(f"{name} cannot be opened: it {_can(what)}") from error
    if len(head) < 100 or not head.startswith(_MAGIC):
        what = "is empty" if not head else "is not an SQLite file, or what is left of one"
        raise StoreError(f"'{path}' is not a Surefoot {kind.noun}: it {what}")
    size, pages, version, owner = struct.unpack(">16xH10xI28xI4xI", head[:72])
    if owner != kind.application_id:
        raise StoreError(
            f"'{path}' is not a Surefoot {kind.noun}: it is an SQLite file with the application id "
            f"{owner:#x} of something else"
        )
    if not 1 <= version <= kind.version:
        newer = "a newer Surefoot" if version > kind.version else "no Surefoot"
        raise StoreError(
            f"{name} was written by {newer}: its format is {version}, and this one reads up to "
            f"{kind.version}"
        )
    # SQLite takes a last page that was cut for one that ends in zeros. With a log beside the file
    # the last pages may be there instead.
    short = found.st_size < pages * (65536 if size == 1 else size) and not _log(path).exists()
    if short and whole:
        raise DamagedError(f"{name} is damaged: it was cut short")
    return mark


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _can(what: str | None) -> str:
    return what if what == "does not exist" else f"cannot be read ({what})"


def _refuse_existing(path: Path, kind: Kind) -> None:
    if os.path.lexists(path):
        raise StoreError(
            f"{_name(kind, path)} exists already and is not overwritten: {kind.reopen}"
        )


def _give_name(draft: Path, path: Path, kind: Kind) -> None:
    """Let a complete file appear at its path, where nothing must be."""
    try:
        os.link(draft, path)  # fails where a file is, which a rename would replace
    except FileExistsError:
        _refuse_existing(path, kind)
    except OSError:
        # A file system without links.
        _refuse_existing(path, kind)
        draft.rename(path)
    # The name is in the folder, which is synced by itself; a folder is no file on Windows.
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _path(path: str | os.PathLike[str]) -> Path:
    return Path(os.fspath(path)).absolute()


def _uri(path: Path, mode: str) -> str:
    return f"{path.as_uri()}?mode={mode}"


def _name(kind: Kind, path: Path) -> str:
    return f"{kind.noun} '{path}'"


@contextlib.contextmanager
def _told(kind: Kind, path: Path, done: str) -> Iterator[None]:
    """SQLite's errors as one sentence each."""
    try:
        yield
    except UnicodeDecodeError as error:  # names of tables, which SQLite's own message quotes
        raise DamagedError(f"{_name(kind, path)} is damaged: its text cannot be read") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = _name(kind, path)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            told = f"{name} is in use by another process: one writer at a time"
        elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DamagedError(f"{name} is damaged: {error}") from error
        else:
            why = _REASONS.get(code, str(error))
            told = f"{name} cannot be {done}: {why}"
        raise StoreError(told) from error


_REASONS: dict[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "its folder does not exist or cannot be written",
}
