"""The results file of an experiment: plain SQLite, one row per cell, each with its digest.

A cell is written in one transaction, on the disk before the next one begins
(``synchronous=FULL``), and its digest covers all of it: after a power cut or ``kill -9`` the cells
in the file are whole, and a damaged one is named, hides no other, and is played again by the next
run. A file whose structure is damaged is rejected in one sentence and left as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, Self, get_args
from urllib.parse import quote
from zipfile import BadZipFile

import numpy as np

from surefoot.core.errors import DamagedError, InvalidValueError, StoreError, first_line
from surefoot.core.plain import PlainTable, json_plain
from surefoot.experiments import record

_ID, _FORMAT = 0x53465253, 5  # "SFRS"
_SCHEMA = (
    "CREATE TABLE cells (address TEXT NOT NULL UNIQUE, status TEXT NOT NULL, "
    "content TEXT NOT NULL, arrays BLOB NOT NULL, digest BLOB NOT NULL) STRICT",
    "CREATE TABLE documents (kind TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, "
    "digest BLOB NOT NULL, PRIMARY KEY (kind, key)) STRICT",
)
_STATUSES = get_args(record.Status)


class DamagedCellError(DamagedError):
    """A cell in the file that is not what was written.

    Attributes:
        address: which one.
        why: what is wrong with it.
    """

    def __init__(self, message: str, address: str, why: str) -> None:
        super().__init__(message)
        self.address = address
        self.why = why


class Results:
    """The results of an experiment, in one file; in memory where no path is given.

    Many may read it while one driver writes.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "results.sqlite"
        >>> with Results.write(path) as results:
        ...     arrays = {"regret": np.array([1.5, 2.5])}
        ...     results.put(record.CellResult(address="c0", spec={}, status="done", arrays=arrays))
        >>> with Results.open(path) as results:
        ...     results.have(), results.get("c0").arrays["regret"]
        ({'c0': 'done'}, array([1.5, 2.5]))
        >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str] = "", *, write: bool = False) -> None:
        self.path: Path = Path(os.fspath(path))
        self._lock: sqlite3.Connection | None = None
        if path and self.path.exists() and not self.path.is_file():
            raise StoreError(f"{self._name} cannot be opened: it is not a file")
        # In a folder that cannot be written there is no log beside the file.
        still = "" if os.access(self.path.parent, os.W_OK) else "&immutable=1"
        file = f"{quote(str(self.path.absolute()))}?mode={'rwc' if write else 'ro'}{still}"
        with self._explain_errors("opened"):
            self._connection = sqlite3.connect(
                f"file:{file if path else ':memory:'}",
                uri=True,
                isolation_level="IMMEDIATE",
                timeout=60,
                check_same_thread=False,
            )
        # A damaged text may not be UTF-8.
        self._connection.text_factory = lambda data: data.decode(errors="replace")
        try:
            if write:
                self._take_lock()
            if write or not path:
                self._make_tables()
            self._check_kind()
            if write:
                self._begin_writing()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Open results for reading."""
        if not os.path.lexists(path):
            raise StoreError(f"results '{os.fspath(path)}' cannot be opened: it does not exist")
        return cls(path)

    @classmethod
    def write(cls, path: str | os.PathLike[str]) -> Results:
        """Open results for writing, by one driver at a time; created if missing.

        Raises:
            StoreError: in use by another driver, not a file of results, damaged in its structure,
                or on a disk that cannot be written.
        """
        if not Path(path).parent.is_dir():
            raise StoreError(
                f"results '{os.fspath(path)}' cannot be created: its folder does not exist"
            )
        return cls(path, write=True)

    def _make_tables(self) -> None:
        if not self._rows("SELECT 1 FROM sqlite_master"):
            marks = f"PRAGMA application_id = {_ID}", f"PRAGMA user_version = {_FORMAT}"
            with self._explain_errors("written"):
                self._connection.executescript(";".join(("BEGIN", *_SCHEMA, *marks, "COMMIT")))

    def _begin_writing(self) -> None:
        # The log keeps readers and the driver out of each other's way, and costs one sync.
        self._rows("PRAGMA journal_mode = WAL")
        self._rows("PRAGMA synchronous = FULL")
        ((result,),) = self._rows("PRAGMA quick_check(1)")
        if result != "ok":
            raise self._damage(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that others may write; closing again does nothing."""
        with contextlib.suppress(sqlite3.Error):
            if self._lock is not None:
                self._connection.execute("PRAGMA journal_mode = DELETE")  # one file, for copies
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    # --- header and plan --------------------------------------------------------------------------

    def header(self) -> PlainTable:
        """Return the description of the experiment, as plain data."""
        return self._documents("header")

    def set_header(self, **values: Any) -> None:
        """Set some keys of the header; the others stay."""
        self._set_documents("header", values)

    def set_plan(self, places: Sequence[record.Place]) -> None:
        """Set the cells of the experiment, in order.

        Other cells stay in the file: a specification may come back to them.
        """
        self._set_documents("plan", {"places": places})

    def places(self) -> list[record.Place]:
        """Return the cells of the experiment, in order, present or not."""
        try:
            places = self._documents("plan").get("places", ())
            return list(record.from_plain(tuple[record.Place, ...], places, "its plan.places"))
        except InvalidValueError as error:
            raise self._damage(error) from error

    # --- cells ------------------------------------------------------------------------------------

    def put(self, cell: record.CellResult) -> None:
        """Write a cell, whole or not at all; it replaces one with the same address.

        Raises:
            StoreError: the disk is full, or cannot be written; nothing has changed then.
        """
        row = _encode(cell)
        with self._explain_errors("written"), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)", row)

    def have(self) -> dict[str, record.Status]:
        """Return the status of every cell by address; digests are not checked."""
        return {address: status for address, status in self._list_cells() if status in _STATUSES}

    def get(self, address: str) -> record.CellResult | None:
        """Return a cell as it was written; None if it is not in the file.

        Raises:
            DamagedCellError: it is not what was written.
        """
        query = "SELECT address, status, content, arrays, digest FROM cells WHERE address = ?"
        try:
            rows = self._rows(query, (address,))
            return _decode(rows[0]) if rows else None
        except (InvalidValueError, DamagedError) as error:
            message = f"cell {address} of {self._name} is damaged: {error}"
            raise DamagedCellError(message, address, str(error)) from error

    def damaged(self) -> dict[str, str]:
        """Return the reasons of damaged cells, by address; every cell is read.

        Playing these cells again mends the file.
        """
        reasons = {}
        for address, _ in self._list_cells():
            try:
                self.get(address)
            except DamagedCellError as error:
                reasons[address] = error.why
        return reasons

    def cells(self) -> Iterator[tuple[record.Place, record.CellResult]]:
        """Yield the whole cells of the experiment, in order."""
        for place in self.places():
            with contextlib.suppress(DamagedError):  # a damaged cell hides no other
                cell = self.get(place.address)
                if cell is not None:
                    yield place, cell

    def _list_cells(self) -> list[tuple[str, record.Status]]:
        return self._rows("SELECT address, status FROM cells ORDER BY rowid")

    # --- the file ---------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"results '{self.path}'"

    def _damage(self, why: object) -> DamagedError:
        return DamagedError(f"{self._name} is damaged: {why}")

    def _check_kind(self) -> None:
        """Reject a file that is not of this format, or has other tables."""
        ((kind,),), ((version,),) = map(
            self._rows, ("PRAGMA application_id", "PRAGMA user_version")
        )
        tables = {sql for (sql,) in self._rows("SELECT sql FROM sqlite_master") if sql}
        if kind != _ID:
            raise StoreError(f"{self._name} cannot be opened: it is not a results file")
        if version != _FORMAT:
            newer = "a newer" if version > _FORMAT else "an older"
            raise StoreError(
                f"{self._name} was written by {newer} Surefoot: its format is {version}, "
                f"and this one has {_FORMAT}"
            )
        if tables != set(_SCHEMA):
            raise self._damage("its tables are not those of results")

    def _take_lock(self) -> None:
        """Lock the file for this driver, until it closes the file or its process ends."""
        path = self.path.with_name(f".{self.path.name}.lock")
        with self._explain_errors("written"):
            self._lock = sqlite3.connect(path, isolation_level=None, timeout=0)
            try:
                self._lock.execute("PRAGMA journal_mode = MEMORY")
                self._lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise StoreError(f"{self._name} is in use by another run") from error

    @contextlib.contextmanager
    def _explain_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # of a table's own text
            raise self._damage("its tables are not those of results") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith("SQLITE_CORRUPT"):
                raise self._damage(error) from error
            if code == "SQLITE_NOTADB":
                what, reason = "opened", "it is not a results file"
            else:
                reason = "the disk is full" if code == "SQLITE_FULL" else str(error)
            raise StoreError(f"{self._name} cannot be {what}: {reason}") from error

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._explain_errors("read"):
            return self._connection.execute(query, values).fetchall()

    def _documents(self, kind: str) -> PlainTable:
        documents = {}
        query = "SELECT key, content, digest FROM documents WHERE kind = ? ORDER BY key"
        for key, text, written in self._rows(query, (kind,)):
            if _digest(kind, key, text) != written:
                raise self._damage(
                    f"its {kind} '{key}' is not what was written; its cells are not concerned"
                )
            try:
                documents[key] = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise self._damage(f"its {kind} '{key}' is not JSON") from error
        return documents

    def _set_documents(self, kind: str, values: PlainTable) -> None:
        texts = {key: _json(value) for key, value in values.items()}
        rows = [(kind, key, text, _digest(kind, key, text)) for key, text in texts.items()]
        with self._explain_errors("written"), self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", rows
            )


# --- a cell as a row ------------------------------------------------------------------------------


def _encode(cell: record.CellResult) -> tuple[str, str, str, bytes, bytes]:
    """Return the row of a cell."""
    parts = {"spec": cell.spec, "note": cell.note, "facts": cell.facts}
    data = BytesIO()
    np.savez(data, **{name: cell.arrays[name] for name in sorted(cell.arrays)})  # type: ignore[arg-type]
    content = _json(parts | {"provenance": cell.provenance})
    row = (cell.address, str(cell.status), content, data.getvalue())
    return *row, _digest(*row)


def _decode(row: tuple[Any, ...]) -> record.CellResult:
    """Return the cell of a row.

    Raises:
        InvalidValueError: it is not the row of a cell; the sentence says why.
    """
    address, status, text, data, digest = row
    if _digest(*row[:-1]) != digest:
        raise InvalidValueError("it is not what was written")
    try:
        content = json.loads(text)
        with np.load(BytesIO(data)) as file:
            arrays = dict(file)
    except (ValueError, RecursionError, OSError, EOFError, BadZipFile) as error:
        raise InvalidValueError(f"it cannot be read: {first_line(error)}") from None
    table = record.from_plain(dict[str, object], content, "its content")
    table |= {"address": address, "status": status, "arrays": {}}
    cell: record.CellResult = record.from_plain(record.CellResult, table, "its content")
    return replace(cell, arrays=arrays)


def _json(data: object) -> str:
    """Return plain data as JSON, the same text for the same data."""
    return json.dumps(json_plain(data), sort_keys=True, separators=(",", ":"))


def _digest(*parts: Any) -> bytes:
    """Return a digest of texts and bytes, each with its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode(errors="backslashreplace")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
