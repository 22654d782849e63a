"""Exports: tidy tables as CSV and Parquet, labelled arrays as xarray and netCDF.

A table has one row per problem, algorithm, horizon and trial: every number of the trial, and every
fact of its cell under a dotted name (``constants.G_f``, ``guarantee.regret_bound``). Paths and
actions are in the labelled arrays only. Cells that were not played, or are damaged, have no rows.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.experiments.record import CellResult, Place, axes_of

if TYPE_CHECKING:
    from xarray import Dataset

PathLike: TypeAlias = str | os.PathLike[str]
Value: TypeAlias = str | float | bool | None


class Played(Protocol):
    """Cells with a header: an open results file, or a comparison."""

    def header(self) -> Mapping[str, object]:
        """Return what the experiment is, as plain data."""

    def cells(self) -> Iterator[tuple[Place, CellResult]]:
        """Yield the cells, in order."""


_KEYS = ("problem", "algorithm", "horizon", "trial")
_TRIAL = ("trial",)
_LARGEST = 4e9
"""Most bytes of labelled arrays."""
# What a spreadsheet takes for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextlib.contextmanager
def write_whole(path: PathLike) -> Iterator[Path]:
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


# --- tables --------------------------------------------------------------------------------------


def to_csv(results: Played, path: PathLike) -> None:
    """Write the table as CSV in UTF-8.

    Numbers read back bit for bit; a missing value is empty, which differs from ``nan``. A text that
    a spreadsheet would take for a formula gets an apostrophe before it.
    """
    columns_to_csv(_columns(results), path)


def to_parquet(results: Played, path: PathLike) -> None:
    """Write the table as Parquet; a missing value is null."""
    columns = {name: _as_one_type(values) for name, values in _columns(results).items()}
    columns_to_parquet(columns, path, results.header())


def columns_to_csv(columns: Mapping[str, Sequence[Value]], path: PathLike) -> None:
    """Write columns of equal length as CSV, as :func:`to_csv` writes results."""
    with (
        write_whole(path) as draft,
        draft.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(map(_shown, columns))
        writer.writerows(map(_shown, row) for row in zip(*columns.values(), strict=True))


def columns_to_parquet(
    columns: Mapping[str, Sequence[Value]], path: PathLike, about: Mapping[str, object]
) -> None:
    """Write columns of equal length as Parquet, with facts about them in its metadata."""
    arrow = need("pyarrow", "export", "the Parquet export")
    parquet = need("pyarrow.parquet", "export", "the Parquet export")
    table = arrow.table(dict(columns))
    with write_whole(path) as draft:
        parquet.write_table(table.replace_schema_metadata({"surefoot": json.dumps(about)}), draft)


def _played(results: Played) -> Iterator[tuple[Place, CellResult]]:
    """Return the cells that have trials."""
    return ((place, cell) for place, cell in results.cells() if cell.status == "done")


def _facts(cell: CellResult) -> dict[str, Value]:
    """Return the single values among the facts of a cell, under dotted names."""
    found: dict[str, Value] = {"address": cell.address}

    def walk(name: str, value: object) -> None:
        if isinstance(value, dict):
            for key in value:
                walk(f"{name}.{key}", value[key])
        elif not isinstance(value, list):
            found[name] = value  # type: ignore[assignment]  # plain data
        elif name.startswith(("constants.", "parameters.")):
            found[name], found[f"{name}.origin"] = value

    for key, value in cell.facts.to_plain().items():
        walk(key, value)
    found["seconds"] = cell.provenance.get("seconds")
    found["microseconds_a_round"] = cell.provenance.get("microseconds_a_round")
    return {name: value for name, value in found.items() if value is not None}


def _columns(results: Played) -> dict[str, list[Value]]:
    """Return the table by its columns: keys, then numbers of the trials, then facts."""
    block, rows = _block_length(results), list[dict[str, Value]]()
    numbers, facts = set[str](), set[str]()
    for place, cell in _played(results):
        known = _facts(cell)
        own = {n: a.tolist() for n, a in _arrays(cell).items() if axes_of(n) == _TRIAL}
        numbers, facts = numbers | own.keys(), facts | known.keys()
        for trial in range(cell.trials):
            values = {name: column[trial] for name, column in own.items()}
            row = {**_keys(place), "trial": place.block * block + trial, **values, **known}
            rows.append(row)
    names = (*_KEYS, *sorted(numbers), *sorted(facts))
    return {name: [row.get(name) for row in rows] for name in names}


def _block_length(results: Played) -> int:
    """Return the number of trials of a block: all but the last are as long."""
    return max((cell.trials for _, cell in _played(results)), default=0)


def _arrays(cell: CellResult) -> dict[str, np.ndarray]:
    """Return the arrays of a cell that have the axes of their name."""
    return {n: a for n, a in cell.arrays.items() if a.ndim == len(axes_of(n))}


def _as_one_type(values: list[Value]) -> list[Value]:
    """Return a column as Parquet can hold it: a parameter may be a number here, a word there."""
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else str
    return [v if v is None or len(kinds) < 2 else kind(v) for v in values]


def _shown(value: Value) -> Value:
    """Return a value for the CSV module, which writes floats by ``repr`` and None as nothing."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


# --- labelled arrays -----------------------------------------------------------------------------


def to_xarray(results: Played, *, paths: bool = True) -> Dataset:
    """Return the results as one ``xarray.Dataset``.

    Dimensions are problem, algorithm, horizon, trial, round, and entry for those of an action.
    Experiments are ragged: ``trials`` is the number of trials of each problem, algorithm and
    horizon, and missing numbers are NaN, so whole numbers are floats. Facts are those of the last
    block that has them. The header is an attribute, as JSON.

    Args:
        results: the open file, or a comparison.
        paths: whether to include the paths, actions and best actions.

    Raises:
        InvalidValueError: the arrays would be too large.
    """
    xarray = need("xarray", "export", "the xarray export")
    axes = _Axes(results, paths)
    size = 8.0 * sum(math.prod(axes.shape(name)) for name, own in axes.of.items() if own)
    if size > _LARGEST:
        raise InvalidValueError(
            f"labelled arrays must be at most {_LARGEST / 1e9:g} GB, got {size / 1e9:.1f}: "
            "leave the paths out, or keep fewer rounds"
        )
    made = {
        name: np.full(axes.shape(name), "", object)
        if name in axes.texts
        else np.full(axes.shape(name), np.nan)
        for name in axes.of
    }
    made["trials"] = np.zeros(axes.shape("trials"), dtype=np.int64)
    for place, cell in _played(results):
        here = tuple(axes.labels[name][key] for name, key in _keys(place).items())
        made["trials"][here] += cell.trials
        for name, value in _values(cell, paths).items():
            text = name in axes.texts
            at: tuple[int | np.ndarray, ...] = (*here, *axes.inside(place, cell, name))
            made[name][at] = str(value) if text else value
    coordinates = {name: list(known) for name, known in axes.labels.items() if known}
    coordinates["trial"] = list(range(axes.sizes["trial"]))
    variables = {name: (axes.names(name), array) for name, array in made.items()}
    header = json.dumps(results.header())
    return xarray.Dataset(variables, coords=coordinates, attrs={"header": header})


def to_netcdf(results: Played, path: PathLike, *, paths: bool = True) -> None:
    """Write what :func:`to_xarray` makes as netCDF 4."""
    need("h5netcdf", "export", "the netCDF export")
    data = to_xarray(results, paths=paths)
    with write_whole(path) as draft:
        data.to_netcdf(draft, engine="h5netcdf")


def _keys(place: Place) -> dict[str, str | int]:
    return {"problem": place.problem, "algorithm": place.algorithm, "horizon": place.horizon}


def _values(cell: CellResult, paths: bool) -> dict[str, Value | np.ndarray]:
    """Return facts, and arrays without their rounds, by name."""
    arrays = {n: a for n, a in _arrays(cell).items() if paths or axes_of(n) == _TRIAL}
    arrays.pop("rounds", None)
    return {**_facts(cell), **arrays}


class _Axes:
    """The axes that fit all cells: of each value its own, places of the labels, sizes."""

    def __init__(self, results: Played, paths: bool) -> None:
        self.of: dict[str, tuple[str, ...]] = {}
        self.texts: set[str] = set()
        self.sizes = {"trial": 0}
        self._block = _block_length(results)
        labels: dict[str, dict[str | int, int]] = {name: {} for name in (*_KEYS[:3], "round")}
        for place, cell in _played(results):
            for name, key in _keys(place).items():
                labels[name].setdefault(key, len(labels[name]))
            for name, value in _values(cell, paths).items():
                self.of[name] = axes_of(name) if isinstance(value, np.ndarray) else ()
                if isinstance(value, str):
                    self.texts.add(name)
                for axis, n in zip(self.of[name], np.asarray(value).shape, strict=True):
                    end = n + self._first(place, axis)
                    self.sizes[axis] = max(self.sizes.get(axis, 0), end)
                if "round" in self.of[name]:
                    labels["round"] |= dict.fromkeys(cell.arrays["rounds"].tolist(), 0)
        for name in ("horizon", "round"):
            labels[name] = {key: i for i, key in enumerate(sorted(labels[name]))}
        self.labels = labels
        self.sizes |= {name: len(known) for name, known in labels.items()}

    def _first(self, place: Place, axis: str) -> int:
        return place.block * self._block if axis == "trial" else 0

    def names(self, name: str) -> tuple[str, ...]:
        return (*_KEYS[:3], *self.of.get(name, ()))

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.sizes[axis] for axis in self.names(name))

    def inside(self, place: Place, cell: CellResult, name: str) -> tuple[np.ndarray, ...]:
        """Return where the numbers of a cell are along the axes of a value."""
        at: list[Sequence[int] | np.ndarray] = []
        for axis in self.of[name]:
            if axis == "round":
                at.append([self.labels["round"][t] for t in cell.arrays["rounds"].tolist()])
            else:
                at.append(np.arange(cell.arrays[name].shape[len(at)]) + self._first(place, axis))
        return np.ix_(*at)
