"""The file of an experiment: cells by their address, what was asked for, and notes beside them.

The one module that knows the format. A cell is written in one transaction with its arrays, and its
digest covers all of it, so that a cell that is there is whole or known not to be. Cells do not
depend on each other: damage to one leaves the others readable. Where it is the file's own order
that is damaged, so that SQLite would not write to it, the next driver moves what is whole to a new
one.

Tables: ``cells`` has a row a cell, with the digests of its arrays; ``arrays`` an npy file a row;
``documents`` JSON texts: the header, the plan, the notes. Texts are JSON with sorted keys, in which
a float that is not finite is null; arrays keep every bit.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from surefoot._closing import Closing
from surefoot._sqlite import (
    DamagedError,
    Kind,
    Statement,
    Store,
    StoreError,
    create,
    digest,
    from_bytes,
    mending,
    open_reader,
    open_writer,
    to_bytes,
)
from surefoot.errors import InvalidValueError
from surefoot.results._plain import from_plain
from surefoot.results.record import CellResult, Facts, Place, Status, misshapen

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

_COLUMNS = ("address", "status", "note", "spec", "facts", "provenance", "arrays")
# As bytes: a text that is damaged may be none.
_SELECT = f"SELECT id, {', '.join(f'CAST({c} AS BLOB)' for c in _COLUMNS)}, digest FROM cells"
_STATUSES = get_args(Status)


@dataclass(frozen=True)
class _Read:
    """What readers look up in the provenance of a cell; the rest may be any plain data."""

    seconds: float | None = None
    microseconds_a_round: float | None = None
    versions: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Plan:
    """The plan of an experiment, as one document."""

    places: tuple[Place, ...] = ()


class DamagedCellError(DamagedError):
    """A cell that is there and not what was written.

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

    Many may read it, also while its one driver writes: a reader sees the moment it opened.

    Attributes:
        mended: what a driver found to be wrong with the file and did about it; else empty.

    Example:
        >>> import tempfile
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

    def __init__(self, store: Store, mended: str = "") -> None:
        self._store = store
        self.mended = mended

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Results to be read."""
        return cls(open_reader(path, _KIND))

    @classmethod
    def write(cls, path: str | os.PathLike[str], *, max_pages: int | None = None) -> Results:
        """Results to be written, by one driver at a time; made if they are not there.

        A file that is damaged in its order, or was cut short, is mended: cells that are whole are
        moved to a new file, and the damaged one stays beside it.

        Args:
            path: of the file; its folder must be there.
            max_pages: how large the file may become, in pages of 4096 bytes: stands in for a disk
                that is full.

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
        """Results in order, to be written."""
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
        """Let others write; closing twice is closing once."""
        self._store.close()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._store.path

    # --- what was asked for -----------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What the experiment is: plain data."""
        return self._documents("header")

    def set_header(self, **values: Any) -> None:
        """Set some keys of the header, and leave the others."""
        self._store.write([_document("header", key, value) for key, value in values.items()])

    def set_plan(self, places: Sequence[Place]) -> None:
        """The cells of the experiment as it is now, in order.

        Cells that are not among them stay in the file: a specification may come back to them.
        """
        self._store.write([_document("plan", "places", [asdict(place) for place in places])])

    def places(self) -> list[Place]:
        """Return the cells of the experiment, in order, whether they are there or not."""
        try:
            return list(from_plain(_Plan, self._documents("plan"), "its plan").places)
        except InvalidValueError as error:
            raise self._store.damaged(error) from error

    def notes(self) -> dict[str, Any]:
        """Documents beside the cells: what was made of them."""
        return self._documents("note")

    def set_note(self, key: str, data: Any) -> None:
        """Keep a document of plain data under a name."""
        self._store.write([_document("note", key, data)])

    # --- cells ------------------------------------------------------------------------------------

    def put(self, cell: CellResult) -> None:
        """Write a cell, whole or not at all; one of the same address is replaced.

        Raises:
            StoreError: the disk is full, or cannot be written; nothing has changed then.
        """
        if cell.status not in _STATUSES:
            raise InvalidValueError(
                f"status must be one of {', '.join(_STATUSES)}, got {cell.status!r}"
            )
        arrays = {name: to_bytes(np.asarray(cell.arrays[name])) for name in sorted(cell.arrays)}
        sums = {name: digest(data).hex() for name, data in arrays.items()}
        # What a note quotes may be no text: it is kept as it would be shown.
        note = cell.note.encode(errors="backslashreplace").decode()
        texts = (note, *map(_text, (cell.spec, cell.facts.to_plain(), cell.provenance, sums)))
        row = (cell.address, cell.status, *texts)
        mine = "(SELECT id FROM cells WHERE address = ?)"
        statements: list[Statement] = [
            (f"DELETE FROM arrays WHERE cell = {mine}", (cell.address,)),
            ("DELETE FROM cells WHERE address = ?", (cell.address,)),
            (
                "INSERT INTO cells VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, digest(*(text.encode() for text in row))),
            ),
        ]
        insert = f"INSERT INTO arrays VALUES ({mine}, ?, ?)"
        statements += [(insert, (cell.address, name, data)) for name, data in arrays.items()]
        self._store.write(statements, one_row_each=False)

    def have(self) -> dict[str, Status]:
        """The status of every cell, by its address; those whose row is damaged are left out.

        Arrays are not looked at: :meth:`damaged` does.
        """
        rows = self._store.rows(f"{_SELECT} ORDER BY id")
        cells = ((_shown(row[1]), _shown(row[2])) for row in rows if _is_whole(row))
        return {address: status for address, status in cells if status in _STATUSES}  # type: ignore[misc]

    def get(self, address: str) -> CellResult:
        """A cell, found to be what was written.

        Raises:
            DamagedCellError: it is not.
            StoreError: there is none.
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
        """What is wrong with the cells that are not what was written, by address; reads them all.

        To play these again is to mend the file.
        """
        found = {}
        for (number,) in list(self._store.rows("SELECT id FROM cells ORDER BY id")):
            try:
                for row in self._store.rows(f"{_SELECT} WHERE id = ?", (number,)):
                    self._cell(_shown(row[1]), row)
            except DamagedCellError as error:
                found[error.address] = error.why
            except DamagedError as error:  # not even its address can be read
                found[f"number {number}"] = str(error)
        return found

    def cells(self) -> Iterator[tuple[Place, CellResult]]:
        """The cells of the experiment that are there and whole, in order, one at a time."""
        for place in self.places():
            query = f"{_SELECT} WHERE address = ?"
            try:
                found = [
                    self._cell(place.address, row)
                    for row in self._store.rows(query, (place.address,))
                ]
            except DamagedError:
                continue  # one that cannot be read does not hide the others
            yield from ((place, cell) for cell in found)

    def _cell(self, address: str, row: tuple[Any, ...]) -> CellResult:
        """A cell from its row; the address is for the error."""
        if not _is_whole(row):
            raise self._damaged(address, "its row is not what was written")
        number, of, status, note, *texts, _ = row
        spec, known, provenance, sums = self._read(address, status, texts)
        query = "SELECT name, data FROM arrays WHERE cell = ?"
        try:
            arrays = dict(self._store.rows(query, (number,)))
        except StoreError as error:
            raise self._damaged(address, "its arrays cannot be read") from error
        for name in sorted(sums.keys() | arrays.keys()):
            if name not in arrays:
                raise self._damaged(address, f"its array '{name}' is missing")
            if name not in sums:
                raise self._damaged(address, f"its array '{name}' is one too many")
            if digest(arrays[name]).hex() != sums[name]:
                raise self._damaged(address, f"its array '{name}' is not what was written")
        found = {name: self._array(address, name, arrays[name]) for name in sums}
        if why := misshapen(found):
            raise self._damaged(address, why)
        return CellResult(
            address=_shown(of),
            spec=spec,
            status=_shown(status),  # type: ignore[arg-type]  # found to be one
            note=_shown(note),
            facts=known,
            arrays=found,
            provenance=provenance,
        )

    def _read(self, address: str, status: bytes, texts: list[bytes]) -> tuple[Any, ...]:
        """Return specification, facts, provenance and digests, which a forged file may not have."""
        try:
            spec, facts, provenance, sums = map(json.loads, texts)
            known = Facts.from_plain(facts)
            from_plain(_Read, provenance, "provenance")
        except InvalidValueError as error:
            raise self._damaged(address, str(error)) from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(address, "its texts are not JSON") from error
        for name, value in {"spec": spec, "arrays": sums}.items():
            if not isinstance(value, dict):
                raise self._damaged(address, f"{name} must be a table, got {value!r}")
        if _shown(status) not in _STATUSES:
            raise self._damaged(address, f"status must be one of {', '.join(_STATUSES)}")
        return spec, known, provenance, sums

    def _array(self, address: str, name: str, data: bytes) -> np.ndarray:
        try:
            return from_bytes(data)
        except (ValueError, StoreError) as error:
            raise self._damaged(address, f"its array '{name}' is no array") from error

    def _damaged(self, address: str, why: str) -> DamagedCellError:
        message = f"cell {address} of {self._store.name} is damaged: {why}"
        return DamagedCellError(message, address, why)

    def _last(self) -> int:
        """The largest id of a cell, by whatever of the file can be read."""
        found = 0
        for query in ("SELECT max(id) FROM cells", "SELECT max(seq) FROM sqlite_sequence"):
            with contextlib.suppress(StoreError):
                ((last,),) = self._store.rows(query)
                found = max(found, last or 0)
        return found

    def _readable(self, kind: str) -> dict[str, Any]:
        """The documents of a kind that can be read."""
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
        """The documents of a kind, by their keys; of all of them or of one."""
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
    """Move what is whole in a damaged file to a new one in its place; what was done."""
    kept = 0
    with mending(path, _KIND) as (damaged, new):
        old, results = Results(damaged), Results(new)
        results.set_header(**old._readable("header"))
        results._store.write([_document("plan", *item) for item in old._readable("plan").items()])
        for key, data in old._readable("note").items():
            results.set_note(key, data)
        # One by one, because SQLite ends a longer query where it meets the damage.
        for number in range(1, old._last() + 1):
            cells: list[CellResult] = []
            with contextlib.suppress(StoreError):
                rows = damaged.rows(f"{_SELECT} WHERE id = ?", (number,))
                cells.extend(old._cell("", row) for row in rows)
            for cell in cells:
                results.put(cell)
            kept += len(cells)
    return f"{kept} whole cells are kept, the file as it was is '{Path(path).name}-damaged'"


def _shown(value: Any) -> str:
    """Return a text that was read as bytes, whatever damage made of it."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _is_whole(row: tuple[Any, ...]) -> bool:
    """Whether a row of the cells is what was written."""
    return bool(digest(*row[1:-1]) == row[-1])


def _document(kind: str, key: str, data: Any) -> Statement:
    """The statement that writes a document."""
    text = _text(data)
    statement = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)"
    return statement, (kind, key, text, digest(kind, key, text.encode()))


def _text(data: Any) -> str:
    """Plain data as JSON, the same text for the same data."""
    return json.dumps(_plain(data), sort_keys=True, allow_nan=False, separators=(",", ":"))


def _plain(data: Any) -> Any:
    """Data that JSON has words for: NumPy's numbers as Python's, None for floats not finite."""
    if isinstance(data, np.generic):
        data = data.item()
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise InvalidValueError(f"keys of data to be stored must be texts, got {key!r}")
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    raise InvalidValueError(
        f"data to be stored must be plain (texts, numbers, lists, dicts), got {data!r}"
    )
