"""The results file of an experiment: cells by address, the plan, and notes.

This module knows the tables; :mod:`~surefoot.experiments.record` says what a cell is. A cell is
written in one transaction with its arrays; its digest covers all of it, so damage is noticed.
Cells do not depend on each other: damage to one leaves the others readable. Where the structure of
the file is damaged, so that SQLite would not write to it, the next driver moves the whole cells to
a new file.

Tables: ``cells`` has one row per cell, with the digests of its arrays; ``arrays`` one npy file per
row; ``documents`` JSON texts: the header, the plan, the notes. JSON has sorted keys, and null for a
float that is not finite; arrays keep every bit.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from surefoot._sqlite import (
    DamagedError,
    Kind,
    Statement,
    Store,
    StoreError,
    create,
    digest,
    mending,
    open_reader,
    open_writer,
)
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.files import Closing
from surefoot.experiments._codec import (
    COLUMNS,
    PlanDocument,
    decode,
    encode,
    is_whole,
    json_of,
    shown,
    status_of,
)
from surefoot.experiments._plain import from_plain
from surefoot.experiments.record import CellResult, Place, Status

__all__ = ["DamagedCellError", "Results"]

# The ids of cells are never used again: arrays whose cell was lost stay nobody's. A power cut may
# take the last cells, which are then played again: not worth a sync each.
_KIND = Kind(
    noun="results",
    application_id=0x53465253,  # "SFRS"
    version=2,  # 1: bounds of a guarantee under two keys, read to this day
    schema=(
        """CREATE TABLE cells (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            address TEXT NOT NULL UNIQUE,
            status TEXT NOT NULL,
            note TEXT NOT NULL,
            spec TEXT NOT NULL,
            facts TEXT NOT NULL,
            provenance TEXT NOT NULL,
            arrays TEXT NOT NULL,
            digest BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE arrays (
            cell INTEGER NOT NULL,
            name TEXT NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (cell, name)
        ) STRICT""",
        """CREATE TABLE documents (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            data TEXT NOT NULL,
            digest BLOB NOT NULL,
            PRIMARY KEY (kind, key)
        ) STRICT""",
    ),
    reopen="go on with it by Results.write",
    watched=True,
    durable=False,
)

# As bytes: a text that is damaged may be none.
_SELECT = f"SELECT id, {', '.join(f'CAST({c} AS BLOB)' for c in COLUMNS)}, digest FROM cells"

_MOST = 200_000
"""Ids of cells that are tried one by one where a damaged file does not list them."""


class DamagedCellError(DamagedError):
    """A cell in the file that does not hold what was written.

    Attributes:
        address: which one.
        why: what is wrong with it.
    """

    def __init__(self, message: str, address: str, why: str) -> None:
        super().__init__(message)
        self.address = address
        self.why = why


class Results(Closing):
    """The results of an experiment, in one file.

    Many may read it while one driver writes: a reader sees the file as it was when opened.

    Attributes:
        mended: what was wrong with the file when a driver opened it, and what was done; else empty.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "results.sqlite"
        >>> with Results.write(path) as results:
        ...     arrays = {"regret": np.array([1.5, 2.5])}
        ...     results.put(CellResult(address="c0", spec={}, status="done", arrays=arrays))
        >>> with Results.open(path) as results:
        ...     results.have(), results.get("c0").arrays["regret"]
        ({'c0': 'done'}, array([1.5, 2.5]))
        >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        if not isinstance(store, Store):
            raise InvalidTypeError(f"store must be an open Store, got {shown(store)}")
        self._store = store
        self.mended = ""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Open results for reading."""
        return cls(open_reader(path, _KIND))

    @classmethod
    def write(cls, path: str | os.PathLike[str], *, max_pages: int | None = None) -> Results:
        """Open results for writing, by one driver at a time; created if missing.

        A file whose structure is damaged, or that was cut short, is mended: whole cells are moved
        to a new file, and the damaged one stays beside it.

        Args:
            path: of the file; its folder must exist.
            max_pages: how large the file may become, in pages of 4096 bytes: simulates a full disk.

        Raises:
            StoreError: in use by another driver, not a file of results, written by a newer
                Surefoot, or on a disk that cannot be written.
        """
        mended = ""
        try:
            results = cls._open_writer(path)
        except DamagedError as error:
            mended = f"{error}: {_mend(path)}"
            results = cls._open_writer(path)
        results.mended = mended
        if max_pages is not None:
            results._store.limit(max_pages)
        return results

    @classmethod
    def _open_writer(cls, path: str | os.PathLike[str]) -> Results:
        """Open results that are in order for writing."""
        store = None
        if not os.path.lexists(path):
            try:
                store = create(path, _KIND, ())
            except StoreError:
                if not os.path.lexists(path):
                    raise  # else another driver was quicker, and will be found to use it
        results = cls(store or open_writer(path, _KIND))
        try:
            results._store.check(indexes=True)
            for kind in ("header", "plan", "note"):
                results._documents(kind)
            results._store.begin()
        except BaseException:
            results.close()
            raise
        return results

    def close(self) -> None:
        """Close the file, so that others may write; closing again does nothing."""
        self._store.close()

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._store.path

    # --- what was asked for -----------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return what the experiment is, as plain data."""
        return self._documents("header")

    def set_header(self, **values: Any) -> None:
        """Set some keys of the header; the others stay."""
        self._store.write([_document("header", key, value) for key, value in values.items()])

    def set_plan(self, places: Sequence[Place]) -> None:
        """Set the cells of the experiment, in order.

        Other cells stay in the file: a specification may come back to them.
        """
        self._store.write([_document("plan", "places", [asdict(place) for place in places])])

    def places(self) -> list[Place]:
        """Return the cells of the experiment, in order, whether they are there or not."""
        try:
            return list(from_plain(PlanDocument, self._documents("plan"), "its plan").places)
        except InvalidValueError as error:
            raise self._store.damaged(error) from error

    def notes(self) -> dict[str, Any]:
        """Return the documents beside the cells."""
        return self._documents("note")

    def set_note(self, key: str, data: Any) -> None:
        """Store a document of plain data under a name."""
        self._store.write([_document("note", key, data)])

    # --- cells ------------------------------------------------------------------------------------

    def put(self, cell: CellResult) -> None:
        """Write a cell, whole or not at all; it replaces one with the same address.

        Raises:
            StoreError: the disk is full, or cannot be written; nothing has changed then.
        """
        row, arrays = encode(cell)
        mine = "(SELECT id FROM cells WHERE address = ?)"
        statements: list[Statement] = [
            (f"DELETE FROM arrays WHERE cell = {mine}", (cell.address,)),
            ("DELETE FROM cells WHERE address = ?", (cell.address,)),
            ("INSERT INTO cells VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row),
        ]
        insert = f"INSERT INTO arrays VALUES ({mine}, ?, ?)"
        statements += [(insert, (cell.address, name, data)) for name, data in arrays.items()]
        self._store.write(statements, one_row_each=False)

    def have(self) -> dict[str, Status]:
        """Return the status of every cell by address, without those whose row is damaged.

        Arrays are not read: see :meth:`damaged`.
        """
        rows = self._store.rows(f"{_SELECT} ORDER BY id")
        cells = ((shown(row[1]), status_of(row[2])) for row in rows if is_whole(row[1:]))
        return {address: status for address, status in cells if status is not None}

    def get(self, address: str) -> CellResult:
        """Return a cell as it was written.

        Raises:
            DamagedCellError: it is not what was written.
            StoreError: it is not in the file.
        """
        cell = self.find(address)
        if cell is None:
            raise StoreError(f"{self._store.name} has no cell {address}")
        return cell

    def find(self, address: str) -> CellResult | None:
        """Return a cell as it was written; None if it is not in the file.

        Raises:
            DamagedCellError: it is there and not what was written.
        """
        rows = list(self._store.rows(f"{_SELECT} WHERE address = ?", (address,)))
        return self._cell(address, rows[0]) if rows else None

    def damaged(self) -> dict[str, str]:
        """Return what is wrong with damaged cells, by address; every cell is read.

        Playing these cells again mends the file.
        """
        found = {}
        for (number,) in list(self._store.rows("SELECT id FROM cells ORDER BY id")):
            try:
                for row in self._store.rows(f"{_SELECT} WHERE id = ?", (number,)):
                    self._cell(shown(row[1]), row)
            except DamagedCellError as error:
                found[error.address] = error.why
            except DamagedError as error:  # not even its address can be read
                found[f"number {number}"] = str(error)
        return found

    def cells(self) -> Iterator[tuple[Place, CellResult]]:
        """Yield the whole cells of the experiment, in order."""
        for place in self.places():
            try:
                cell = self.find(place.address)
            except DamagedError:
                continue  # one that cannot be read does not hide the others
            if cell is not None:
                yield place, cell

    def _cell(self, address: str, row: tuple[Any, ...]) -> CellResult:
        """Return a cell from its row; the address is for the error."""
        if not is_whole(row[1:]):
            raise self._damaged(address, "its row is not what was written")
        number, *texts, _ = row
        try:
            arrays = dict(
                self._store.rows("SELECT name, data FROM arrays WHERE cell = ?", (number,))
            )
        except StoreError as error:
            raise self._damaged(address, "its arrays cannot be read") from error
        try:
            return decode(tuple(texts), arrays)
        except InvalidValueError as error:
            raise self._damaged(address, str(error)) from error

    def _damaged(self, address: str, why: str) -> DamagedCellError:
        message = f"cell {address} of {self._store.name} is damaged: {why}"
        return DamagedCellError(message, address, why)

    def _ids(self) -> list[int]:
        """Return the ids that cells may have, from whatever part of the file can be read."""
        last, up, down = 0, [0], list[int]()
        for query in ("SELECT max(id) FROM cells", "SELECT max(seq) FROM sqlite_sequence"):
            with contextlib.suppress(StoreError):
                ((largest,),) = self._store.rows(query)
                last = max(last, largest if isinstance(largest, int) else 0)
        for order, ids in (("ASC", up), ("DESC", down)):  # each as far as the damage
            with contextlib.suppress(StoreError):
                for (number,) in self._store.rows(f"SELECT id FROM cells ORDER BY id {order}"):
                    ids.append(number)
        begin, end = up[-1] + 1, min([last + 1, *down])
        # A damaged number may be anything: nobody waits for all below it to be tried.
        return sorted({*up, *down, *range(begin, min(end, begin + _MOST))})

    def _readable(self, kind: str) -> dict[str, Any]:
        """Return the documents of a kind that can be read."""
        keys: list[str] = []
        with contextlib.suppress(StoreError):
            query = "SELECT key FROM documents WHERE kind = ?"
            keys.extend(key for (key,) in self._store.rows(query, (kind,)))
        found: dict[str, Any] = {}
        for key in keys:
            with contextlib.suppress(StoreError):
                found |= self._documents(kind, key)
        return found

    def _documents(self, kind: str, one: str | None = None) -> dict[str, Any]:
        """Return the documents of a kind by key: all, or one."""
        query = "SELECT key, CAST(data AS BLOB), digest FROM documents WHERE kind = ?1"
        query += " AND key = coalesce(?2, key) ORDER BY key"
        found = {}
        for key, text, written in self._store.rows(query, (kind, one)):
            if digest(kind, key, text) != written:
                raise self._store.damaged(
                    f"its {kind} '{key}' is not what was written; its cells are not concerned"
                )
            try:
                found[key] = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise self._store.damaged(f"its {kind} '{key}' is not JSON") from error
        return found


def _mend(path: str | os.PathLike[str]) -> str:
    """Move the whole cells of a damaged file to a new one in its place; return what was done."""
    kept = 0
    with mending(path, _KIND) as (damaged, new):
        old, results = Results(damaged), Results(new)
        results.set_header(**old._readable("header"))
        results._store.write([_document("plan", *item) for item in old._readable("plan").items()])
        for key, data in old._readable("note").items():
            results.set_note(key, data)
        # One by one, because SQLite ends a longer query where it meets the damage.
        for number in old._ids():
            cells: list[CellResult] = []
            with contextlib.suppress(StoreError):
                rows = damaged.rows(f"{_SELECT} WHERE id = ?", (number,))
                cells.extend(old._cell("", row) for row in rows)
            for cell in cells:
                results.put(cell)
            kept += len(cells)
    return f"{kept} whole cells are kept, the file as it was is '{Path(path).name}-damaged'"


def _document(kind: str, key: str, data: Any) -> Statement:
    """Return the statement that writes a document."""
    text = json_of(data)
    statement = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)"
    return statement, (kind, key, text, digest(kind, key, text.encode()))
