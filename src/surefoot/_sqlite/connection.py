"""Open SQLite connections, and report SQLite's errors as one sentence each."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from surefoot._sqlite.files import DamagedError, Kind, StoreError, name_of

__all__ = ["connect", "schema_of", "told", "uri"]

# Long enough for a reader to finish or a killed writer to be gone; short enough to be told.
_PATIENCE = 0.25


def uri(path: Path, mode: str) -> str:
    """Return the address of a file for SQLite."""
    return f"{path.as_uri()}?mode={mode}"


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file for any thread, without transactions of Python's own."""
    return sqlite3.connect(
        uri(path, mode),
        uri=True,
        isolation_level=None,
        timeout=_PATIENCE,
        check_same_thread=False,
    )


@cache
def schema_of(statements: tuple[str, ...]) -> frozenset[tuple[Any, ...]]:
    """Return the rows of the schema of a new file."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@contextlib.contextmanager
def told(kind: Kind, path: Path, done: str) -> Iterator[None]:
    """Report SQLite's errors as one sentence each."""
    try:
        yield
    except UnicodeDecodeError as error:  # names of tables, which SQLite's own message quotes
        raise DamagedError(f"{name_of(kind, path)} is damaged: its text cannot be read") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = name_of(kind, path)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            told = f"{name} is in use by another process: one writer at a time"
        elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DamagedError(f"{name} is damaged: {str(error).splitlines()[0]}") from error
        elif str(error).startswith("Could not decode"):  # and then the text itself
            raise DamagedError(f"{name} is damaged: its text cannot be read") from error
        else:
            why = _REASONS.get(code, str(error).partition("\n")[0])
            told = f"{name} cannot be {done}: {why}"
        raise StoreError(told) from error


_REASONS: dict[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "its folder does not exist or cannot be written",
}
