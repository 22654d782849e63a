"""Read a file as it is now, also while another writes it, without a lock that would stop anyone."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from surefoot._sqlite.connection import connect, told
from surefoot._sqlite.files import Kind, StoreError, absolute, beside, name_of
from surefoot._sqlite.store import Store, looked_at, open_reader, writer_of

__all__ = ["snapshot"]

_ATTEMPTS = 50
_HEADER = 32  # bytes of a log's header; the salts in it are new whenever the log begins anew


@contextlib.contextmanager
def snapshot(path: str | Path, kind: Kind) -> Iterator[Store]:
    """Yield a file to read, with all that had been written when this was called.

    A file without a log is read where it is. Otherwise somebody writes it, or did and was stopped:
    it is copied together with its log, and the copy is read. The copy is whole if the log began
    only once while it was made. For then all that was taken from the log into the file meanwhile
    is still in the log: whatever of it the copied file has, half or not at all, the log replaces.
    """
    path = absolute(path)
    with contextlib.ExitStack() as opened:
        writer = writer_of(path)
        if writer is not None:
            # To open and close the file here would drop the locks of the writer.
            memory = opened.enter_context(contextlib.closing(sqlite3.connect(":memory:")))
            writer.copy_to(memory)
            yield Store(path, kind, memory)
            return
        copy = None
        for _ in range(_ATTEMPTS):
            looked_at(path, kind)
            if not beside(path, "-wal").exists():
                yield opened.enter_context(open_reader(path, kind))
                return
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="surefoot-")))
            copy = _copied(path, folder)
            if copy is not None:
                break
            time.sleep(0.01)
        if copy is None:
            raise StoreError(
                f"{name_of(kind, path)} cannot be read: its log was begun anew in every attempt"
            )
        with told(kind, path, "opened"):
            connection = opened.enter_context(contextlib.closing(connect(copy, "rw")))
            connection.execute("PRAGMA query_only = ON")
            store = Store(path, kind, connection)
            store.check_schema()
        yield store


def _copied(path: Path, folder: Path) -> Path | None:
    """Copy a file and its log; return None where the log was begun anew meanwhile."""
    copy, log = folder / "file", beside(path, "-wal")
    try:
        before = _header(log)
        shutil.copyfile(path, copy)
        shutil.copyfile(log, beside(copy, "-wal"))
        if before != _header(log) or before != _header(beside(copy, "-wal")):
            return None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"'{path}' cannot be copied to be read: {error.strerror}") from error
    return copy


def _header(log: Path) -> bytes:
    with log.open("rb") as file:
        return file.read(_HEADER)
