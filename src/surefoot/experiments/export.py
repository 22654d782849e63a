"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.experiments.record import CellResult, Place, axes_of


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft to write to, which gets the path's name when all of it is on the disk.

    Whatever happens in the block, the path has the whole new file or what was there before.
    """
    path = Path(os.fspath(path))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


class Played(Protocol):
    """Cells with a header: an open results file, or a comparison."""

    def header(self) -> dict[str, Any]:
        """Return what the experiment is, as plain data."""

    def cells(self) -> Iterator[tuple[Place, CellResult]]:
        """Yield the cells, in order."""


_KEYS = ("problem", "algorithm", "horizon", "trial")
_TRIAL = ("trial",)
_ROWS = 10_000
"""Rows of a table that are in memory at a time."""
_LARGEST = 4e9
"""Most bytes of labelled arrays."""
# What a spreadsheet takes for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(results: Played, path: Path) -> None:
    """Write results in the format that a path ends in: .csv, .parquet or .nc."""
    writers: dict[str, Callable[..., None]] = {
        ".csv": to_csv,
        ".parquet": to_parquet,
        ".nc": to_netcdf,
    }
    if path.suffix not in writers:
        raise InvalidValueError(f"path must end in .csv, .parquet or .nc, got '{path}'")
    writers[path.suffix](results, path)


def to_csv(results: Played, path: str | os.PathLike[str]) -> None:
    """Write the table as CSV in UTF-8.

    Numbers read back bit for bit; a missing value is empty, which differs from ``nan``. A text that
    a spreadsheet would take for a formula gets an apostrophe before it.
    """
    columns, length = _columns(results)
    rows = _rows(results, length)
    _write_csv(path, columns, ([row.get(name) for name in columns] for row in rows))


def to_parquet(results: Played, path: str | os.PathLike[str]) -> None:
    """Write the table as Parquet; a missing value is null."""
    arrow = need("pyarrow", "export", "the Parquet export")
    parquet = need("pyarrow.parquet", "export", "the Parquet export")
    types = {str: arrow.string(), float: arrow.float64(), int: arrow.int64(), bool: arrow.bool_()}
    columns, length = _columns(results)
    schema = arrow.schema(
        [(name, types[kind]) for name, kind in columns.items()],
        metadata={"surefoot": json.dumps(results.header())},
    )
    rows = _rows(results, length)
    with write_whole(path) as draft, parquet.ParquetWriter(draft, schema) as writer:
        while held := list(islice(rows, _ROWS)):
            data = {n: [_as(kind, row.get(n)) for row in held] for n, kind in columns.items()}
            writer.write_table(arrow.table(data, schema=schema))


def columns_to_csv(columns: Mapping[str, Sequence[Any]], path: str | os.PathLike[str]) -> None:
    """Write columns of equal length as CSV, as :func:`to_csv` writes results."""
    _write_csv(path, columns, zip(*columns.values(), strict=True))


def _write_csv(
    path: str | os.PathLike[str], head: Iterable[str], rows: Iterable[Sequence[Any]]
) -> None:
    with (
        write_whole(path) as draft,
        draft.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(map(_shown, head))
        writer.writerows(map(_shown, row) for row in rows)


def columns_to_parquet(
    columns: Mapping[str, Sequence[Any]], path: str | os.PathLike[str], about: Mapping[str, Any]
) -> None:
    """Write columns of equal length as Parquet, with facts about them in its metadata."""
    arrow = need("pyarrow", "export", "the Parquet export")
    parquet = need("pyarrow.parquet", "export", "the Parquet export")
    held = arrow.table(dict(columns))
    with write_whole(path) as draft:
        parquet.write_table(held.replace_schema_metadata({"surefoot": json.dumps(about)}), draft)


def to_xarray(results: Played, *, paths: bool = True) -> Any:
    """Return the results as one ``xarray.Dataset``.

    Dimensions are problem, algorithm, horizon, trial, round, and entry for those of an action.
    Experiments are ragged: ``trials`` is the number of trials of each problem, algorithm and
    horizon, and missing numbers are NaN, so whole numbers are floats. Facts are those of the first
    block. The header is an attribute, as JSON.

    Args:
        results: the open file, or a comparison.
        paths: whether to include the paths, actions and best actions.

    Raises:
        InvalidValueError: the arrays would be too large.
    """
    xarray = need("xarray", "export", "the xarray export")
    axes = _Axes(results, paths)
    axes.check_size()
    whole = ("problem", "algorithm", "horizon")
    numbers = {
        name: np.full(axes.shape(dimensions), np.nan) for name, dimensions in axes.arrays.items()
    }
    texts = {n: np.full(axes.shape(whole), "", dtype=object) for n in axes.texts}
    facts = {n: np.full(axes.shape(whole), np.nan) for n in axes.facts}
    trials = np.zeros(axes.shape(whole), dtype=np.int64)
    for place, cell in _played(results):
        here = axes.index(place)
        trials[here] += cell.trials
        for name, value in _facts(cell).items():
            if name in texts and not texts[name][here]:
                texts[name][here] = str(value)
            elif name in facts and np.isnan(facts[name][here]):
                facts[name][here] = value
        for name, array in cell.arrays.items():
            if name in numbers:
                numbers[name][here][axes.inside(place, cell, name)] = array
    variables = {
        **{n: (whole, v) for n, v in (texts | facts).items()},
        "trials": (whole, trials),
        **{n: (axes.arrays[n], v) for n, v in numbers.items()},
    }
    header = json.dumps(results.header())
    return xarray.Dataset(variables, coords=axes.coordinates(), attrs={"header": header})


def to_netcdf(results: Played, path: str | os.PathLike[str], *, paths: bool = True) -> None:
    """Write what :func:`to_xarray` makes as netCDF 4."""
    need("h5netcdf", "export", "the netCDF export")
    data = to_xarray(results, paths=paths)
    with write_whole(path) as draft:
        data.to_netcdf(draft, engine="h5netcdf")


# --- tables --------------------------------------------------------------------------------------


def _played(results: Played) -> Iterator[tuple[Place, CellResult]]:
    """Return the cells that have trials."""
    return ((place, cell) for place, cell in results.cells() if cell.status == "done")


def _of_trials(cell: CellResult) -> dict[str, np.ndarray]:
    """Return the arrays with one number per trial."""
    return {n: a for n, a in sorted(cell.arrays.items()) if axes_of(n) == _TRIAL and a.ndim == 1}


def _facts(cell: CellResult) -> dict[str, Any]:
    """Return the single values among the facts of a cell, under dotted names."""
    found: dict[str, Any] = {"address": cell.address}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key in value:
                walk(f"{name}.{key}", value[key])
        elif not isinstance(value, list):
            found[name] = value
        elif name.startswith(("constants.", "parameters.")):
            found[name], found[f"{name}.origin"] = value

    for key, value in cell.facts.to_plain().items():
        walk(key, value)
    for key in ("seconds", "microseconds_a_round"):
        found[key] = cell.provenance.get(key)
    return {name: value for name, value in found.items() if value is not None}


def _rows(results: Played, length: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table, each with its values by name; blocks have this length."""
    for place, cell in _played(results):
        facts = _facts(cell)
        mine = {name: array.tolist() for name, array in _of_trials(cell).items()}
        for trial in range(cell.trials):
            keys = (place.problem, place.algorithm, place.horizon, place.block * length + trial)
            numbers = {name: values[trial] for name, values in mine.items()}
            yield dict(zip(_KEYS, keys, strict=True)) | numbers | facts


def _columns(results: Played) -> tuple[dict[str, type], int]:
    """Return the columns with the narrowest types for their values, and the length of blocks.

    All blocks but the last have the same number of trials.
    """
    arrays: dict[str, type] = {}
    facts: dict[str, type] = {}
    length = 0
    for _, cell in _played(results):
        length = max(length, cell.trials)
        for name, array in _of_trials(cell).items():
            _widen(arrays, name, {"b": bool, "f": float}.get(array.dtype.kind, int))
        for name, value in _facts(cell).items():
            _widen(facts, name, type(value))
    keys = dict(zip(_KEYS, (str, str, int, int), strict=True))
    ordered = {name: kind for known in (arrays, facts) for name, kind in sorted(known.items())}
    return keys | ordered, length


def _widen(types: dict[str, type], name: str, kind: type) -> None:
    known = types.get(name, kind)
    # A parameter may be a number in one row and a word in another.
    types[name] = kind if known is kind else float if {known, kind} == {int, float} else str


def _as(kind: type, value: Any) -> Any:
    return None if value is None else kind(value)


def _shown(value: Any) -> Any:
    """Return a value for the CSV module, which writes floats by ``repr`` and None as nothing."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


# --- labelled arrays -----------------------------------------------------------------------------


class _Axes:
    """The axes that fit all cells."""

    def __init__(self, results: Played, paths: bool) -> None:
        self.labels: dict[str, dict[Any, int]] = {"problem": {}, "algorithm": {}}
        self.arrays: dict[str, tuple[str, ...]] = {}
        self.facts: set[str] = set()
        self.texts: set[str] = set()
        horizons: set[int] = set()
        rounds: set[int] = set()
        trials: dict[int, int] = {}
        self.length = {"entry": 0, "vertex": 0}
        for place, cell in _played(results):
            for name in ("problem", "algorithm"):
                seen = self.labels[name]
                seen.setdefault(getattr(place, name), len(seen))
            horizons.add(place.horizon)
            trials[place.block] = max(trials.get(place.block, 0), cell.trials)
            for name, value in _facts(cell).items():
                (self.texts if isinstance(value, str) else self.facts).add(name)
            for name, array in cell.arrays.items():
                mine = axes_of(name)
                if name == "rounds" or array.ndim != len(mine) or not (paths or mine == _TRIAL):
                    continue
                self.arrays[name] = (*_KEYS[:3], *mine)
                for axis, n in zip(mine, array.shape, strict=True):
                    if axis in ("entry", "vertex"):
                        self.length[axis] = max(self.length[axis], n)
                if "round" in mine:
                    rounds.update(cell.arrays["rounds"].tolist())
        self.facts -= self.texts
        self.block = max(trials.values(), default=0)
        ends = (block * self.block + n for block, n in trials.items())
        self.length["trial"] = max(ends, default=0)
        self.labels["horizon"] = {h: i for i, h in enumerate(sorted(horizons))}
        self.rounds = np.array(sorted(rounds), dtype=np.int64)

    def shape(self, dimensions: tuple[str, ...]) -> tuple[int, ...]:
        lengths = {n: len(seen) for n, seen in self.labels.items()} | self.length
        lengths["round"] = len(self.rounds)
        return tuple(lengths[name] for name in dimensions)

    def check_size(self) -> None:
        size = 8.0 * sum(math.prod(self.shape(dimensions)) for dimensions in self.arrays.values())
        if size > _LARGEST:
            raise InvalidValueError(
                f"labelled arrays must be at most {_LARGEST / 1e9:g} GB, got {size / 1e9:.1f}: "
                "leave the paths out, or keep fewer rounds"
            )

    def index(self, place: Place) -> tuple[int, ...]:
        """Return where the numbers of a place are."""
        return tuple(self.labels[name][getattr(place, name)] for name in _KEYS[:3])

    def inside(self, place: Place, cell: CellResult, name: str) -> tuple[Any, ...]:
        """Return which of these numbers an array of the cell has."""
        first = place.block * self.block
        at: list[Any] = []
        for axis, n in zip(axes_of(name), cell.arrays[name].shape, strict=True):
            if axis == "round":
                at.append(np.searchsorted(self.rounds, cell.arrays["rounds"]))
            else:
                at.append(np.arange(n) + (first if axis == "trial" else 0))
        return np.ix_(*at)

    def coordinates(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: list(seen) for name, seen in self.labels.items()}
        found["trial"] = np.arange(self.length["trial"])
        if len(self.rounds):
            found["round"] = self.rounds
        return found
