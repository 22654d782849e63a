"""Replace a damaged file by a new one with what is left of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from surefoot._sqlite.connection import connect, told
from surefoot._sqlite.files import Kind, StoreError, absolute, beside, draft_of, name_of
from surefoot._sqlite.store import Store, create, lock_of, looked_at

__all__ = ["mending"]


@contextlib.contextmanager
def mending(path: str | os.PathLike[str], kind: Kind) -> Iterator[tuple[Store, Store]]:
    """Open a damaged file to read what is left, and a new file to replace it.

    The new one gets the path when all is done, and the damaged one stays beside it, under the
    name with ``-damaged`` at the end. What is read from it must be checked by whoever reads.
    """
    path = absolute(path)
    draft = draft_of(path)
    aside = beside(path, "-damaged")
    with told(kind, path, "mended"), contextlib.closing(lock_of(path)):
        looked_at(path, kind, whole=False)
        try:
            connection = connect(path, "ro")
            with Store(path, kind, connection) as old, create(draft, kind, ()) as new:
                # SQLite opens a file that was cut short only for those who may write its schema.
                connection.execute("PRAGMA writable_schema = ON")
                yield old, new
            # The log first: beside the new file it would be taken for its own.
            for end in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    beside(path, end).replace(beside(aside, end))
            with contextlib.suppress(OSError):
                aside.unlink()
            try:
                os.link(path, aside)
            except OSError:
                path.rename(aside)
            draft.replace(path)
        except OSError as error:
            raise StoreError(f"{name_of(kind, path)} cannot be mended: {error.strerror}") from error
        finally:
            for end in ("", "-lock", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    beside(draft, end).unlink()
