"""Identify a file of the library by its first bytes, and name new files.

A file of the library is recognised by its application id and the version of its format. Both are
in the first hundred bytes, which are read before SQLite sees the file: a foreign file is not
opened, hence not touched.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from surefoot.core.errors import SurefootError

__all__ = [
    "UNSEALED",
    "DamagedError",
    "Head",
    "Kind",
    "StoreError",
    "absolute",
    "beside",
    "draft_of",
    "give_name",
    "name_of",
    "read_head",
    "refuse_existing",
    "remove_drafts",
    "sync_folder",
    "time_now",
]

_MAGIC = b"SQLite format 3\x00"
# Beside the version of the format, in the same number: the file is being written.
UNSEALED = 1 << 16


class StoreError(SurefootError, RuntimeError):
    """A file that cannot be created, opened, read or written; the message says why."""


class DamagedError(StoreError):
    """A file, or a part of one, that does not hold what was written."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        noun: what a user calls it.
        application_id: the number that tells it from other programs' files.
        version: of the format.
        schema: the statements that make its tables; a file with anything else is refused.
        reopen: what to do with one that exists.
        watched: whether others may read it while it is written. The lock on the one writer is then
            on an empty file beside it. Else they are told to wait.
        durable: whether a write has reached the disk when it is done. Else a power cut may take
            the last few, whole, unless a mark has them; the end of the process takes none.
        sealed: whether the file itself says if its writer has closed it.
    """

    noun: str
    application_id: int
    version: int
    schema: tuple[str, ...]
    reopen: str
    watched: bool = False
    durable: bool = True
    sealed: bool = False


class Head(NamedTuple):
    """What the first bytes say, and which file it is.

    Attributes:
        identity: device and inode.
        version: of the format.
    """

    identity: tuple[int, int]
    version: int


def read_head(path: Path, kind: Kind, *, whole: bool = True) -> Head:
    """Read the head of a file; raise unless it is a file of this kind.

    Args:
        path: of the file.
        kind: what it must be.
        whole: whether to refuse one that is shorter than it says.
    """
    name = name_of(kind, path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # to open a pipe is to wait for its other end
            _refuse_reading(name, "is a directory" if path.is_dir() else "is no file")
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError as error:
        raise StoreError(f"{name} cannot be opened: it does not exist") from error
    except (OSError, ValueError) as error:
        _refuse_reading(name, getattr(error, "strerror", None) or str(error), error)
    if len(head) < 100 or not head.startswith(_MAGIC):
        what = "is empty" if not head else "is not an SQLite file, or what is left of one"
        raise StoreError(f"'{path}' is not a Surefoot {kind.noun}: it {what}")
    size, pages, number, owner = struct.unpack(">16xH10xI28xI4xI", head[:72])
    if owner != kind.application_id:
        raise StoreError(
            f"'{path}' is not a Surefoot {kind.noun}: it is an SQLite file with the application id "
            f"{owner:#x} of something else"
        )
    version = number & ~UNSEALED if kind.sealed else number
    if not 1 <= version <= kind.version:
        newer = "a newer Surefoot" if version > kind.version else "no Surefoot"
        raise StoreError(
            f"{name} was written by {newer}: its format is {version}, and this one reads up to "
            f"{kind.version}"
        )
    log = beside(path, "-wal")
    if os.path.lexists(log) and not stat.S_ISREG(log.lstat().st_mode):
        raise StoreError(f"{name} cannot be opened: its log '{log}' is no file")
    # SQLite takes a last page that was cut for one that ends in zeros. With a log beside the file
    # the last pages may be there instead.
    short = found.st_size < pages * (65536 if size == 1 else size) and not log.exists()
    if short and whole:
        raise DamagedError(f"{name} is damaged: it was cut short")
    return Head((found.st_dev, found.st_ino), version)


def _refuse_reading(name: str, why: str, error: Exception | None = None) -> NoReturn:
    raise StoreError(f"{name} cannot be opened: it cannot be read ({why})") from error


def time_now() -> str:
    """Return the time as files have it: UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path, since the working directory may change."""
    return Path(os.fspath(path)).absolute()


def beside(path: Path, end: str) -> Path:
    """Return the path of the file with the same name and another ending."""
    return path.with_name(path.name + end)


def name_of(kind: Kind, path: Path) -> str:
    """Return the name of a file for use in a sentence."""
    return f"{kind.noun} '{path}'"


# --- a new file ----------------------------------------------------------------------------------


def draft_of(path: Path) -> Path:
    """Return a name for an incomplete file, with the id of the process that writes it."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(8)}")


def remove_drafts(path: Path) -> None:
    """Remove the drafts of a file whose processes are gone: killed before they were done."""
    with contextlib.suppress(OSError):
        for draft in path.parent.iterdir():
            if draft.name.startswith(f".{path.name}."):
                process, _, rest = draft.name.removeprefix(f".{path.name}.").partition("-")
                if process.isdecimal() and len(rest) >= 16 and _is_gone(int(process)):
                    draft.unlink()


def _is_gone(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is one
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def refuse_existing(path: Path, kind: Kind) -> None:
    """Raise where something is at the path already."""
    if os.path.lexists(path):
        raise StoreError(
            f"{name_of(kind, path)} exists already and is not overwritten: {kind.reopen}"
        )


def give_name(draft: Path, path: Path, kind: Kind) -> None:
    """Move a complete file to its path, where no file may exist."""
    try:
        os.link(draft, path)  # fails where a file is, which a rename would replace
    except FileExistsError:
        refuse_existing(path, kind)
    except OSError:
        # A file system without links.
        refuse_existing(path, kind)
        draft.rename(path)
    sync_folder(path)


def sync_folder(path: Path) -> None:
    """Sync the folder, so that the name of a new file is durable."""
    with contextlib.suppress(OSError):  # a folder is no file on Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
