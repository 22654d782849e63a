"""Keep the last writes of a file beside it, by one sync each, so that none is lost silently.

A mark does two things for the file that it stands beside. It makes a write durable by the only
sync of that write: SQLite commits without one, so a power cut may take its last commits, and the
mark puts them back. And it says how far the file has come: SQLite ends a damaged log at the first
frame that is not right, calls the rest never written, and would write over it.

**Form.** Two regions of equal size, one after the other, with the same contents. A region is cut
into pages; a record begins at a page and holds the number of a write, its digest, which file it is
of, the write itself, and SHA-256 of all that. To read a mark is to look at the beginning of every
page of both regions: what has the right sum is a record. There is no table of contents to damage.

**Order.** A write is committed to the file first, without a sync; then its record is written to
both regions; then the mark is synced; then the caller goes on. Where a region is full, the file is
folded (its log taken into it, with syncs) and the next record is written at the beginning. Where a
record is large for the regions, or a writer opens the file, a new mark is made under another name,
synced, and renamed over the old one, after the file was folded.

**Why nothing is lost.** Let n be the last write whose caller went on.

- The record n is whole in the mark: it was synced, and no later write touches its pages before
  the record n + 1 is synced elsewhere. A record takes at most a quarter of a region, so the first
  record at the beginning ends before the last one at the end begins; pages are not shared.
- All that was written over in the mark is in the file: it was folded before.
- So the file has the writes up to some d, by SQLite's own care for the order of its syncs, and the
  mark has all from d + 1 to n. A reader follows them by their chain of digests, and a writer
  commits them and folds before it makes a new mark.
- The record n + 1, if it was being written, is whole in one region or the other, and is then
  taken, or torn in both, and then it is in the file or was never told to be done. It cannot hide
  n, for n has pages of its own.
- The end of the process alone takes nothing that was written, synced or not: the file has n.
- A flipped bit or a lost sector damages one region's copy of a record; the other has it. A flipped
  bit of the log makes d smaller, which the mark makes good. A mark that is missing, shorter than
  a region, of another file or of another time is told, and so is a gap between file and mark, or
  a record that is damaged twice and was not the one being written.
- A disk that becomes full: a mark does not grow, so the commit fails, before the mark is touched,
  or the folding or the new mark does, after the commit: then the write stands, is told as not yet
  durable, and is marked again by the next call.

Marks of an older form (two slots with a number and a digest, no writes) are read, never written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from surefoot._sqlite.files import StoreError, draft_of, remove_drafts, sync_folder

__all__ = ["Mark", "Marked", "Record"]

_MAGIC = b"SFMARK02"
_FORM = struct.Struct("<8sQ32s32sQQ")  # magic, number, of, digest, bytes of a region, of contents
_SUM = 32
_PAGE = 4096  # what a disk writes at once, at most: a torn write takes no record but its own
# Bytes of a region: at least so many; for larger records up to so many, that the file is folded
# seldom; more than that only for records that would not fit.
_REGION = 1 << 19
_LARGE = 1 << 22
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Record(NamedTuple):
    """What a writer had written when it continued.

    Attributes:
        of: the digest of what does not change: which file it is.
        number: how many writes.
        digest: of the last of them.
        contents: the last write itself; empty where the file was folded after it.
    """

    of: bytes
    number: int
    digest: bytes
    contents: bytes = b""


class Marked(NamedTuple):
    """The contents of a mark.

    Attributes:
        last: the newest record, or None where that cannot be known.
        torn: whether a slot of an older mark cannot be read: the one after the newest was being
            written, so its write must be in the file.
        records: all records by their numbers.
    """

    last: Record | None
    torn: bool = False
    records: Mapping[int, Record] = {}

    @property
    def least(self) -> int:
        """The number of writes that file and mark must have."""
        return 0 if self.last is None else self.last.number + self.torn


class Mark:
    """The mark of a file that is being written; made by :meth:`start`."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path = path
        self._is_closed = False
        self._descriptor: int | None = None
        self._region = 0
        # The number of the last record, where it begins and where it ends; None: start anew.
        self._placed: tuple[int, int, int] | None = None
        self._start(record)

    @classmethod
    def start(cls, path: Path, record: Record) -> Mark:
        """Make a mark, in place of one that is there; durable when this is done.

        The file must be folded: what an older mark has is forgotten.
        """
        remove_drafts(path)
        return cls(path, record)

    def append(self, record: Record, fold: Callable[[], None]) -> None:
        """Remember a write that the file has; durable when this is done.

        To do so again, after an error or an interrupt, writes the same record at the same place.

        Args:
            record: of the write, one after the last.
            fold: makes all writes of the file durable in the file.

        Raises:
            StoreError: it cannot be; the write itself has been done.
        """
        size = _size_of(record)
        is_small = 4 * size > self._region or 4 * self._region < _region_for(size)
        if self._placed is None or is_small:
            fold()
            self._start(record)
            return
        number, at, end = self._placed
        if record.number < number:  # another thread has marked it, and a later one
            return
        if record.number > number:
            at = end
            if at + size > self._region:
                fold()
                at = 0
            self._placed = (record.number, at, at + size)
        data = _bytes_of(record, self._region)
        with self._told():
            descriptor = self._number()
            _write(descriptor, data, at)
            _write(descriptor, data, self._region + at)
            _sync(descriptor)

    def close(self) -> None:
        """Leave the mark as it is."""
        self._is_closed = True
        self._let_go()

    def remove(self) -> None:
        """Take the mark away: the file says by itself that it is whole."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _start(self, record: Record) -> None:
        """Let a new mark with this record take the place of the old one."""
        if self._is_closed:
            raise StoreError(f"the mark '{self.path}' has been closed")
        size = _size_of(record)
        region = _region_for(size)
        draft = draft_of(self.path)
        self._placed = None
        self._let_go()
        with self._told():
            try:
                descriptor = os.open(draft, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
                try:
                    # Zeros that are written, not a hole: what does not grow is synced faster, and
                    # needs no space when the disk has none.
                    data = _bytes_of(record, region).ljust(region, b"\0")
                    _write(descriptor, data, 0)
                    _write(descriptor, data, region)
                    _sync(descriptor)
                finally:
                    os.close(descriptor)
                draft.replace(self.path)
            finally:
                with contextlib.suppress(OSError):
                    draft.unlink()
            sync_folder(self.path)
            self._number()
        self._region = region
        self._placed = (record.number, 0, size)

    def _number(self) -> int:
        if self._is_closed:
            raise StoreError(f"the mark '{self.path}' has been closed")
        if self._descriptor is None:
            self._descriptor = os.open(self.path, _FLAGS)
        return self._descriptor

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the mark '{self.path}' cannot be written: {error.strerror}"
            ) from error

    @staticmethod
    def read(path: Path) -> Marked | None:
        """Return what a mark says, or None if there is no mark."""
        try:
            # A pipe would be waited for.
            if not stat.S_ISREG(path.stat().st_mode):
                return Marked(None)
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return Marked(None)
        records: dict[int, Record] = {}
        whole, claimed = set(), {}
        region = 0
        for at in range(0, len(data), _PAGE):
            if data.startswith(_MAGIC, at):
                if (found := _record_at(data, at)) is not None:
                    record, region = found
                    records.setdefault(record.number, record)
                    whole.add(at)
                else:
                    claimed[at] = int.from_bytes(data[at + 8 : at + 16], "little")
        if not records:
            return _older(data)
        last = records[max(records)]
        # What is damaged in both regions may be the one record that was being written.
        lost = (
            number > last.number + 1 and not whole & {at - region, at + region}
            for at, number in claimed.items()
        )
        if len(data) < region or any(lost):  # the newest may be in what is gone
            return Marked(None)
        return Marked(last, records=records)


def _size_of(record: Record) -> int:
    """Return how many bytes a record takes, in whole pages."""
    return -(-(_FORM.size + len(record.contents) + _SUM) // _PAGE) * _PAGE


def _region_for(size: int) -> int:
    """Return how many bytes a region should have for records of a size."""
    return max(_REGION, min(64 * size, _LARGE), 8 * size)


def _bytes_of(record: Record, region: int) -> bytes:
    head = _FORM.pack(_MAGIC, record.number, record.of, record.digest, region, len(record.contents))
    data = head + record.contents
    data += hashlib.sha256(data).digest()
    return data.ljust(_size_of(record), b"\0")


def _record_at(data: bytes, at: int) -> tuple[Record, int] | None:
    """Return the record that begins there and the size of a region, or None."""
    begin = at + _FORM.size
    if begin > len(data):
        return None
    _, number, of, digest, region, size = _FORM.unpack_from(data, at)
    end = begin + size
    if hashlib.sha256(data[at:end]).digest() != data[end : end + _SUM]:
        return None
    return Record(of, number, digest, data[begin:end]), region


def _write(descriptor: int, data: bytes, at: int) -> None:
    """Write all of the bytes at a place."""
    view = memoryview(data)
    while view:
        if hasattr(os, "pwrite"):
            done = os.pwrite(descriptor, view, at)
        else:
            os.lseek(descriptor, at, os.SEEK_SET)
            done = os.write(descriptor, view)
        view, at = view[done:], at + done


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


# --- marks of format 2 ---------------------------------------------------------------------------

_OLD_FORM = struct.Struct("<8sQ32s32s")
_OLD_MAGIC = b"SFMARK01"
_OLD_SUM = 16
_OLD_COPIES = 3


def _older(data: bytes) -> Marked:
    """Return what two slots say, of which the one or the other was written in turn."""
    slots = [_older_record(data[at : at + _PAGE]) for at in (0, _PAGE)]
    known = [slot for slot in slots if slot is not None]
    last = max(known, key=lambda record: record.number, default=None)
    return Marked(last, torn=len(known) < 2)


def _older_record(slot: bytes) -> Record | None:
    """Return the record of a slot from its first intact copy."""
    size = _OLD_FORM.size + _OLD_SUM
    for at in range(0, _OLD_COPIES * size, size):
        copy, found = slot[at : at + _OLD_FORM.size], slot[at + _OLD_FORM.size : at + size]
        if len(found) == _OLD_SUM and hashlib.sha256(copy).digest()[:_OLD_SUM] == found:
            magic, number, of, digest = _OLD_FORM.unpack(copy)
            if magic == _OLD_MAGIC:
                return Record(of, number, digest)
    return None
