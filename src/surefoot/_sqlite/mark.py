"""Store how far a file has been written beside it, so that a lost tail is noticed.

SQLite ends a damaged log at the first invalid frame and treats the rest as never written. So a
writer stores the number and the digest of its last write in a separate file, synced after the write
and before its caller continues. The file has a fixed size and is written in place: two slots in
turn, so that one of them is always intact, and three copies of the record in each, so that a
flipped bit does no harm.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from surefoot._sqlite.files import StoreError, sync_folder

__all__ = ["Mark", "Marked", "Record"]

_FORM = struct.Struct("<8sQ32s32s")
_MAGIC = b"SFMARK01"
_SUM = 16
_COPIES = 3
_SLOT = 4096  # a sector each: a torn write takes one slot at most
# Written through to the disk by the one call, where there is such a thing; on macOS that would
# leave it in the disk's own memory.
_THROUGH = 0 if sys.platform == "darwin" else getattr(os, "O_DSYNC", 0)
_FLAGS = os.O_RDWR | _THROUGH | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Record(NamedTuple):
    """What a writer had written when it continued.

    Attributes:
        of: the digest of what does not change: which file it is.
        number: how many writes.
        digest: of the last of them.
    """

    of: bytes
    number: int
    digest: bytes


class Marked(NamedTuple):
    """The contents of a mark.

    Attributes:
        last: the newest record that can be read, or None.
        torn: whether a slot cannot be read: the one after the newest was being written, so its
            write must be in the file.
    """

    last: Record | None
    torn: bool

    @property
    def least(self) -> int:
        """The number of writes that the file must have."""
        return 0 if self.last is None else self.last.number + self.torn


class Mark:
    """The mark of a file that is being written; made by :meth:`start` and :meth:`go_on`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def start(cls, path: Path, record: Record) -> Mark:
        """Create a mark, or replace one that is obsolete; durable on return."""
        mark = cls._opened(path, _FLAGS | os.O_CREAT)
        try:
            mark._write(_slot(record) * 2, 0)
            if os.fstat(mark._number()).st_size != 2 * _SLOT:
                os.ftruncate(mark._number(), 2 * _SLOT)
            _sync(mark._number())
            sync_folder(path)
        except BaseException:
            mark.close()
            raise
        return mark

    @classmethod
    def go_on(cls, path: Path, record: Record) -> Mark:
        """Return the mark of a file whose writer stopped, with the last write in the file."""
        mark = cls._opened(path, _FLAGS)
        try:
            # Twice: the other slot may be the torn one.
            mark.set(record)
            mark._write(_slot(record), (record.number + 1) % 2 * _SLOT)
        except BaseException:
            mark.close()
            raise
        return mark

    @staticmethod
    def read(path: Path) -> Marked | None:
        """Return what a mark says, or None if there is no mark."""
        try:
            # A pipe would be waited for.
            if not stat.S_ISREG(path.stat().st_mode):
                return Marked(None, torn=True)
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return Marked(None, torn=True)
        slots = [_record(data[at : at + _SLOT]) for at in (0, _SLOT)]
        known = [slot for slot in slots if slot is not None]
        last = max(known, key=lambda record: record.number, default=None)
        return Marked(last, torn=len(known) < 2)

    @classmethod
    def _opened(cls, path: Path, flags: int) -> Mark:
        try:
            return cls(path, os.open(path, flags, 0o666))
        except OSError as error:
            raise StoreError(f"the mark '{path}' cannot be written: {error.strerror}") from error

    def set(self, record: Record) -> None:
        """Remember a write; durable when this is done.

        Raises:
            StoreError: it cannot be; the write itself has been done.
        """
        self._write(_slot(record), record.number % 2 * _SLOT)

    def close(self) -> None:
        """Close the mark and leave it in place."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def remove(self) -> None:
        """Remove the mark: the file itself says that it is complete."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _number(self) -> int:
        if self._descriptor is None:
            raise StoreError(f"the mark '{self.path}' has been closed")
        return self._descriptor

    def _write(self, data: bytes, at: int) -> None:
        try:
            if hasattr(os, "pwrite"):
                os.pwrite(self._number(), data, at)
            else:
                os.lseek(self._number(), at, os.SEEK_SET)
                os.write(self._number(), data)
            if not _THROUGH:
                _sync(self._number())
        except OSError as error:
            raise StoreError(
                f"the mark '{self.path}' cannot be written: {error.strerror}"
            ) from error


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _slot(record: Record) -> bytes:
    copy = _FORM.pack(_MAGIC, record.number, record.of, record.digest)
    copy += hashlib.sha256(copy).digest()[:_SUM]
    return (copy * _COPIES).ljust(_SLOT, b"\0")


def _record(slot: bytes) -> Record | None:
    """Return the record of a slot from its first intact copy."""
    size = _FORM.size + _SUM
    for at in range(0, _COPIES * size, size):
        copy, found = slot[at : at + _FORM.size], slot[at + _FORM.size : at + size]
        if len(found) == _SUM and hashlib.sha256(copy).digest()[:_SUM] == found:
            magic, number, of, digest = _FORM.unpack(copy)
            if magic == _MAGIC:
                return Record(of, number, digest)
    return None
