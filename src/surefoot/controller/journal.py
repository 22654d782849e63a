r"""The journal of a live loop: one append-only text file, a line of JSON a record.

A line has a kind, what it says, and last a digest: the SHA-256, in hexadecimal, of the digest
before it and of the line up to it. So no single line can be changed. Floats are written as
Python's ``repr`` writes them, which reads back exactly::

    {"kind":"journal","format":2,...,"digest":"9f..."}
    {"kind":"round","round":1,"time":"...","cost_gradient":[...],...,"next":[...],"digest":"07..."}

=============  =================================================================================
kind           says
=============  =================================================================================
"journal"      what is played: the first line of a file, with the state that it begins with
"round"        what a round reported, the next action, and its certificate
"rounds"       the same of many members in one call
"refused"      that a round was rejected, for a contradiction
"snapshot"     the state, every so often: opening replays from the last one
"announce"     the context of the current round, and its action
"hold"         an order; also "retreat", and "resume", which may bring another player
"orders"       the same for several members
"note"         an operator's words
"joined"       that a member came, with its player; "left", that one is gone
"torn"         that the record of a round was being written when the process or the power ended
"engine"       that other code takes the steps from here on
"rebuilt"      that the rounds since a snapshot were derived again elsewhere, with other last bits
"continued"    that the run goes on in another file, which begins with this line's digest
"closed"       that the writer has left
"amend"        that a plant is described anew: by whom, why, the changes, and the new start
"plant"        reserved: this version writes none, and reads no journal that has one
=============  =================================================================================

**One or many.** The journal of a fleet has the same records, each with the name of its
``"member"``. A call for many members is one line, so that it is there as a whole or not at all::

    {"kind":"rounds","time":"...","steps":[{...}],"records":[{"kind":"round","member":"b",...}]}

``"steps"`` has the usual rounds in columns: ``"members"``, the places of the members in the list of
names as it is then (null for all); ``"round"``, one number for each; the fields of a round;
``"next"``; and ``"certificates"``, either a list or a table with the ``"class"``, the ``"columns"``
and the fields that are the ``"same"`` for all. A column is an array as bytes: ``{"bytes": base64,
"type": "float64", "shape": [n, d]}``. ``"records"`` has the others' records, without a time.
:func:`surefoot.controller.records.expand` yields the records of a line, one after the other.

The first line of a fleet has ``"players"``, a list, and ``"members"``: their ``"names"``, the place
of each one's ``"player"``, and their ``"starts"``. Its ``"state"``, and a snapshot's, are parts of
the members: ``"rows"``, blocks of doubles with their ``"layout"``, and ``"loops"`` by name, as
``"loop"`` of a controller. A snapshot has some of the members, the next one the others.

``tell`` returns when the line of its round is on the disk. If the process or the power ends during
a write, the line has no end, or pages of zeros in it. That round was never acknowledged, and is
removed, with a warning, when the file is opened for writing. Any other line without its digest is
damage: the error names the last certain round, and the file is not changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from surefoot.core import checks
from surefoot.core.errors import DamagedError, InUseError, StoreError
from surefoot.core.plain import Data, PlainTable

try:
    import fcntl
except ImportError:  # then nothing keeps a second process from writing
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "LostRoundsError", "Position", "Reader", "seal"]

FORMAT = 2
HEAD = b'{"kind":"journal","format":'
_CONTINUED = b'{"kind":"continued"'
_LARGEST_HEAD = 1 << 26
_PAGE = 4096
_ROUNDS = (b'{"kind":"round"', b'{"kind":"rounds"')
_RESERVED = ("plant",)
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
_SHARE = 20  # of the bytes between two snapshots, what a snapshot has
_SHARE_OF_MANY = 4  # the same in the journal of a fleet, whose rounds take longer to repeat
_DIGEST = len(',"digest":""}') + 64
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
_WHY = {errno.ENOSPC: "the disk is full", errno.EROFS: "it is read-only"}


class LostRoundsError(DamagedError):
    """A journal that lacks rounds, or may lack some; it is not written to.

    Attributes:
        certain: the last round that is certainly as it was reported.
    """

    def __init__(self, message: str, certain: int) -> None:
        super().__init__(message)
        self.certain = certain


class Position(NamedTuple):
    """The end of a journal: a write goes there, and removes what lies beyond.

    Attributes:
        part: which file.
        size: its bytes.
        digest: of its last line.
        rounds: how many rounds this file has.
        since: the bytes since the last snapshot.
        least: the bytes between two snapshots.
    """

    part: int
    size: int
    digest: str
    rounds: int
    since: int
    least: int


# --- lines ---------------------------------------------------------------------------------------


def seal(digest: str, record: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a record as a line, and its digest.

    >>> line, digest = seal("", {"kind": "note", "text": "hello"})
    >>> line[:30], len(digest), line == seal("", json.loads(line[:-78] + b"}"))[0]
    (b'{"kind":"note","text":"hello",', 64, True)
    """
    body = _JSON.encode(record)[:-1]
    line_digest = hashlib.sha256((digest + body).encode()).hexdigest()
    return f'{body},"digest":"{line_digest}"}}\n'.encode(), line_digest


def open_line(digest: str, line: bytes) -> str | None:
    """Return the digest of a line that follows another; None if it is not what was written."""
    body, end = line[: -_DIGEST - 1], line[-_DIGEST - 1 :]
    if not (end.startswith(b',"digest":"') and end.endswith(b'"}\n')):
        return None
    line_digest = hashlib.sha256(digest.encode() + body).hexdigest()
    return line_digest if end[11:-3] == line_digest.encode() else None


def now() -> str:
    """Return the time as files have it: UTC, in microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


class Reader:
    """The lines of a journal, of all its files, compared with their digests while they are read.

    Iterating yields the lines as bytes, the first line of each file among them, and raises at the
    first that is not what was written.

    Args:
        path: of the first file, or of a later one, to read from there.

    Attributes:
        header: the first record.
        begin: of which file it is.
        part: which file is read.
        size: the bytes of its lines so far.
        part_rounds: how many of them are rounds.
        digest: of the last line.
        rounds: the number of rounds in all files so far.
        torn: the bytes after the last line that an interrupted write has left.
    """

    first: Path
    part: int
    part_rounds: int
    rounds: int
    torn: int
    header: PlainTable
    size: int
    begin: Data
    digest: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.first, self.part = Path(os.fspath(path)).absolute(), 1
        self.part_rounds = self.rounds = self.torn = 0
        with _open(self.first) as file:
            line = file.readline(_LARGEST_HEAD)
        self.header, self.size = self._read_head(line), len(line)
        self.begin = part = self.header.get("part", 1)
        if part != 1 and self.first.name.endswith(f".{part}"):  # read from there
            self.first, self.part = self.first.with_name(self.first.name[: -len(f".{part}")]), part
        elif part != 1:
            raise StoreError(f"{self.name} is part {part} of a run, and not called so")

    @property
    def path(self) -> Path:
        """Of the file that is read."""
        return part_of(self.first, self.part)

    @property
    def name(self) -> str:
        """The file in a sentence."""
        return f"journal '{self.path}'"

    def _read_head(self, line: bytes) -> PlainTable:
        if not line.startswith(HEAD):
            what = "it is empty" if not line else "it does not begin as one"
            raise StoreError(f"'{self.path}' is not a Surefoot journal: {what}")
        head = _parse(line)
        if head is None and not line.endswith(b"\n"):
            raise DamagedError(f"{self.name} is damaged: it was cut short")
        version = None if head is None else head.get("format")
        if isinstance(version, int) and version != FORMAT:
            newer = "a newer Surefoot" if version > FORMAT else "no Surefoot"
            raise StoreError(
                f"{self.name} was written by {newer}: its format is {version}, and this one reads "
                f"up to {FORMAT}"
            )
        if head is None or open_line(str(head.get("after", "")), line) is None:
            raise DamagedError(f"{self.name} is damaged: its first line is not what was written")
        return head

    def __iter__(self) -> Iterator[bytes]:
        self.part, self.digest = self.begin - 1, str(self.header.get("after", ""))
        self.rounds, self.torn, line = 0, 0, _CONTINUED
        while line.startswith(_CONTINUED):
            beyond = part_of(self.first, self.part + 1)
            if not os.path.lexists(beyond):
                raise self.damaged("the file that continues it is missing")
            self.part, self.size, self.part_rounds = self.part + 1, 0, 0
            with _open(beyond) as file:
                for line in file:
                    digest = open_line(self.digest, line)
                    if digest is None:
                        self._find_torn(line + file.read())
                        line = b""
                        break
                    yield line
                    is_round = line.startswith(_ROUNDS)
                    self.size, self.digest = self.size + len(line), digest
                    self.part_rounds += is_round
                    self.rounds += is_round
                if not self.size:
                    raise self.damaged("it is empty")
        self._check_end()

    def _find_torn(self, rest: bytes) -> None:
        """Take what follows the last line as the rest of an interrupted write, or raise."""
        if not self.size:
            raise self.damaged("it does not continue the file before it")
        if not _is_torn(self.size, rest, int(self.header["durable_every"])):
            raise self.damaged(f"the line at byte {self.size} is not what was written")
        self.torn = len(rest)

    def _check_end(self) -> None:
        """Raise if a file follows that has more than an interrupted call leaves."""
        beyond = part_of(self.first, self.part + 1)
        if not os.path.lexists(beyond):
            return
        with _open(beyond) as file:
            head, more = _parse(file.readline(_LARGEST_HEAD)), file.read(1)
        rounds = 0 if head is None else head.get("rounds")
        is_left = not more and isinstance(rounds, int) and rounds <= self.rounds
        if not is_left and self.path.stat().st_size == self.size + self.torn:  # not written since
            raise self.damaged("its end is missing, and another file follows it")

    def parse(self, line: bytes) -> PlainTable:
        """Return a record; its digest is right, but files are untrusted."""
        record = _parse(line)
        if record is None or not isinstance(record.get("kind"), str):
            raise DamagedError(f"{self.name} is damaged: the line at byte {self.size} is no record")
        if record["kind"] in _RESERVED:
            raise StoreError(
                f"{self.name} has a record of the kind {record['kind']!r}, which this version "
                "reserves and does not read"
            )
        return record

    def position(self, since: int, snapshot: int) -> Position:
        """Return where the next line goes.

        Args:
            since: where in its file the lines after the last snapshot begin.
            snapshot: the bytes of that.
        """
        share = _SHARE_OF_MANY if "members" in self.header else _SHARE
        part, least = self.part, share * snapshot
        return Position(part, self.size, self.digest, self.part_rounds, self.size - since, least)

    def damaged(self, why: str) -> LostRoundsError:
        """Return the error to raise when what was read is impossible."""
        words = f"{self.name} is damaged: {why}; the last round that is certain is {self.rounds}"
        return LostRoundsError(words, self.rounds)


def _parse(line: bytes) -> PlainTable | None:
    try:
        table = json.loads(line, object_pairs_hook=_table)
    except (ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _table(pairs: list[tuple[str, Any]]) -> PlainTable:
    """Return a table; reject a key that is there twice, of which readers may take either value."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key is there twice")
    return table


def _open(path: Path) -> BinaryIO:
    try:
        if stat.S_ISREG(path.stat().st_mode):  # to open a pipe is to wait for its other end
            return path.open("rb")
        why = f"cannot be read ({'is a directory' if path.is_dir() else 'is no file'})"
    except FileNotFoundError:
        why = "does not exist"
    except (OSError, ValueError) as error:
        why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    raise StoreError(f"journal '{path}' cannot be opened: it {why}")


def _is_torn(at: int, rest: bytes, durable_every: int) -> bool:
    """Return whether bytes that are no line are the rest of an interrupted write.

    An interrupted write ends too soon, or lacks pages, which are zeros then. No more lines follow
    than one write has.
    """
    lines = rest.count(b"\n")
    if not lines:
        return True
    hole = rest.find(b"\0")
    if hole < 0 or lines > 2 * durable_every:
        return False
    end = len(rest) - len(rest[hole:].lstrip(b"\0"))
    return (at + hole) % _PAGE == 0 or (at + end) % _PAGE == 0 or end == len(rest)


# --- files ---------------------------------------------------------------------------------------


def bytes_in(size: str) -> int:
    """Return a size in bytes, such as "64 MB".

    >>> bytes_in("64 MB")
    64000000
    """
    number, _, unit = size.strip().partition(" ")
    if not number.isdecimal() or unit not in _UNITS or not int(number):
        raise checks.invalid("rotate", "a number of rounds or a size such as '64 MB'", size)
    return int(number) * _UNITS[unit]


def part_of(first: Path, part: int) -> Path:
    """Return the path of one of the files of a run: FILE, FILE.2, FILE.3, ..."""
    return first if part == 1 else first.with_name(f"{first.name}.{part}")


def sync(file: int) -> None:
    """Wait until what was written to a file is on the disk."""
    getattr(os, "fdatasync", os.fsync)(file)


def sync_folder(path: Path) -> None:
    """Sync the folder of a file, so that its name is on the disk."""
    with contextlib.suppress(OSError):  # a folder is no file on Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class _File(NamedTuple):
    """The file that is written: its descriptor, and which file of the run it is."""

    number: int
    part: int


class Journal:
    """The writer of a journal: appends records at a position, and returns the next one.

    What lies beyond a position was never acknowledged, and the next write removes it.

    Args:
        first: the path of the first file, which is locked as long as the run is written.
        header: of the run, which says how often to sync and when to go on in another file.
    """

    durable_every: int
    rotate: Any

    def __init__(self, first: Path, header: Mapping[str, Any]) -> None:
        self.first = first
        self.durable_every, self.rotate = int(header["durable_every"]), header["rotate"]
        self._process, self._unsynced, self._written = os.getpid(), 0, 0
        self._failed: str | None = None
        self.share = _SHARE_OF_MANY if "members" in header else _SHARE
        self.chunk = 0  # of a fleet, the place of the first member of the next snapshot
        self._file: _File | None = None
        self._lock: int | None = _open_to_write(first)
        try:
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close(None)
            raise InUseError(f"{self.name} is in use: one writer at a time") from error

    @property
    def name(self) -> str:
        """The journal in a sentence."""
        return f"journal '{self.first}'"

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], header: Mapping[str, Any]
    ) -> tuple[Journal, Position]:
        """Make a new journal; an existing file is not overwritten."""
        first = Path(os.fspath(path)).absolute()
        line, digest = seal("", header)
        _make(first, line)
        journal = cls(first, header)
        journal.go_to(1)
        return journal, Position(1, len(line), digest, 0, 0, journal.share * len(line))

    @classmethod
    @contextlib.contextmanager
    def opening(
        cls, path: str | os.PathLike[str], *, fleet: bool = False
    ) -> Iterator[tuple[Journal, Reader]]:
        """Lock a journal for writing; nothing is written yet, and nothing if it cannot go on.

        Args:
            path: of its first file.
            fleet: whether it must be that of a fleet.

        Returns:
            The writer, and the reader of all files.
        """
        reader = Reader(path)
        first, header = reader.first, reader.header
        if ("members" in header) != fleet:
            what = "that of a fleet: open it with Fleet.open"
            what = "that of one controller: open it with Controller.open" if fleet else what
            raise StoreError(f"journal '{first}' is {what}")
        if reader.begin != 1:
            raise StoreError(f"{reader.name} is part {reader.begin} of a run: open '{first}'")
        journal = cls(first, header)
        try:
            yield journal, reader
        except BaseException:
            journal.close(None)
            raise

    def go_to(self, part: int) -> _File:
        """Open one of the files to write to it."""
        path, before = part_of(self.first, part), self._file
        number = self._lock if part == 1 and self._lock is not None else _open_to_write(path)
        file = self._file = _File(number, part)
        # What lies beyond a position is of an interrupted write, and the next one removes it.
        self._written = os.fstat(file.number).st_size
        if before is not None and before.part != 1:
            os.close(before.number)
        return file

    def append(self, at: Position, record: Mapping[str, Any], *, durable: bool = True) -> Position:
        """Write a record, all or nothing of it; when this returns it is on the disk.

        Args:
            at: where it goes.
            record: what it says.
            durable: whether to sync in any case; else every ``durable_every`` rounds.

        Raises:
            StoreError: if it cannot be written; the file is as it was.
        """
        file, kind = self._file_at(at), record["kind"]
        line, digest = seal(at.digest, record)
        self._write(file, at.size, line)
        is_round = kind in ("round", "rounds")
        self._unsynced += is_round
        if durable or self._unsynced >= self.durable_every:
            self._sync(file, at.size)
        since, least = at.since + len(line), at.least
        if kind == "snapshot":
            since, least = 0, self.share * len(line)
        rounds = at.rounds + is_round
        return Position(at.part, at.size + len(line), digest, rounds, since, least)

    def is_full(self, at: Position) -> bool:
        """Return whether the next round goes to a new file."""
        if isinstance(self.rotate, str):
            return at.rounds > 0 and at.size >= bytes_in(self.rotate)
        return self.rotate is not None and at.rounds >= self.rotate

    def turn_over(self, at: Position, header: Mapping[str, Any]) -> Position:
        """Go on in a new file; the old one ends with the name of the new one.

        Args:
            at: where the old one ends.
            header: of the new one.
        """
        before, part = self._file_at(at), at.part + 1
        path = part_of(self.first, part)
        end, after = seal(at.digest, {"kind": "continued", "file": path.name, "time": now()})
        line, digest = seal(after, {**header, "part": part, "after": after})
        if self._unsynced:  # a file that follows says how many rounds came before it
            self._sync(before, at.size)
        path.unlink(missing_ok=True)  # the rest of an interrupted call
        _make(path, line)
        self._write(before, at.size, end)
        self._sync(before, at.size)
        self.go_to(part)
        return Position(part, len(line), digest, 0, 0, self.share * len(line))

    def close(self, at: Position | None) -> None:
        """Say that the writer leaves, and let others open the journal."""
        if self._lock is None:
            return
        if at is not None:
            with contextlib.suppress(StoreError):  # of a fork, or after a failed sync
                self.append(at, {"kind": "closed", "time": now()})
        if self._file is not None and self._file.part != 1:
            os.close(self._file.number)
        os.close(self._lock)
        self._lock = self._file = None

    def _file_at(self, at: Position) -> _File:
        """Return the file of a position; remove what an interrupted call left beyond it.

        Raise if this process must not write to it.
        """
        file = self._file
        if file is None:
            raise StoreError(f"{self.name} has been closed")
        if self._process != os.getpid():
            raise StoreError(
                f"{self.name} is written by process {self._process}: a fork of it must not write"
            )
        if self._failed is not None:
            raise StoreError(f"{self.name} cannot be written: {self._failed}: open it again")
        if file.part != at.part:
            file = self.go_to(at.part)
        size = os.fstat(file.number).st_size
        if size == at.size:
            return file
        beyond = part_of(self.first, at.part + 1)
        if not at.size <= size <= max(self._written, at.size):
            raise StoreError(f"{self.name} has moved on without its writer: open it again")
        if os.path.lexists(beyond):
            beyond.unlink()
            sync_folder(beyond)
        os.ftruncate(file.number, at.size)
        return file

    def _write(self, file: _File, size: int, data: bytes) -> None:
        self._written = size + len(data)
        try:
            _write_all(file.number, data)
        except OSError as error:
            self._take_back(file, size, error)

    def _sync(self, file: _File, size: int) -> None:
        try:
            sync(file.number)
        except OSError as error:
            # What the disk has of it now is unknown.
            self._failed = "it could not be synced"
            self._take_back(file, size, error)
        self._unsynced = 0

    def _take_back(self, file: _File, size: int, error: OSError) -> NoReturn:
        with contextlib.suppress(OSError):  # then the next write removes it
            os.ftruncate(file.number, size)
        why = _WHY.get(error.errno or 0, error.strerror)
        raise StoreError(f"{self.name} cannot be written: {why}") from error


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _make(path: Path, line: bytes) -> None:
    """Make a new file with its first line, whole and on the disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with draft.open("xb", buffering=0) as file:
            _write_all(file.fileno(), line)
            sync(file.fileno())
        _give_name(draft, path)
    except OSError as error:
        why = "its folder does not exist or cannot be written"
        why = _WHY.get(error.errno or 0, why)
        raise StoreError(f"journal '{path}' cannot be created: {why}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    sync_folder(path)


def _give_name(draft: Path, path: Path) -> None:
    with contextlib.suppress(OSError):  # a file exists, or the file system has no links
        os.link(draft, path)
        return
    if os.path.lexists(path):  # which a rename would replace
        raise StoreError(
            f"journal '{path}' exists already and is not overwritten: open it to continue it"
        )
    draft.rename(path)


def _open_to_write(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise StoreError(
            f"journal '{path}' cannot be opened for writing: {error.strerror}"
        ) from error
