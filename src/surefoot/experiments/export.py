"""Exports: a tidy table as CSV or Parquet, labelled arrays as xarray and netCDF.

A table has one row per problem, algorithm, horizon and trial: every number of the trial, and every
fact of its cell under a dotted name (``constants.G_f``, ``guarantee.regret_bound``). Paths and
actions are in the labelled arrays only. Cells that were not played, or are damaged, have no rows.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.plain import json_plain
from surefoot.experiments.record import axes_of
from surefoot.experiments.rows import Row, algorithms, gather, problems
from surefoot.experiments.store import Results

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

PathLike: TypeAlias = str | os.PathLike[str]
Value: TypeAlias = str | float | bool | None


_KEYS, _TRIAL = ("problem", "algorithm", "horizon"), ("trial",)
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextlib.contextmanager
def write_whole(path: PathLike) -> Iterator[Path]:
    """Yield a draft to write to; it gets the path's name when all of it is on the disk.

    If the block fails, the path keeps its old file. A missing folder is created.
    """
    path = Path(os.fspath(path))
    if path.is_dir():
        raise InvalidValueError(f"path must be that of a file, got the folder '{path}'")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write(results: Results, path: Path) -> None:
    """Write results in the format that a path ends in: .csv, .parquet or .nc (netCDF 4)."""
    if path.suffix == ".csv":
        columns_to_csv(_columns(results), path)
    elif path.suffix == ".parquet":
        table = {name: _as_one_type(values) for name, values in _columns(results).items()}
        columns_to_parquet(table, path)
    elif path.suffix == ".nc":
        need("h5netcdf", "export", "the netCDF export")
        data = to_xarray(results)
        with write_whole(path) as draft:
            data.to_netcdf(draft, engine="h5netcdf")
    else:
        raise InvalidValueError(f"path must end in .csv, .parquet or .nc, got '{path}'")


# --- tables --------------------------------------------------------------------------------------


def columns_to_csv(columns: Mapping[str, Sequence[Value]], path: PathLike) -> None:
    """Write columns of equal length as CSV in UTF-8.

    Numbers read back exactly; a missing value is empty, which differs from ``nan``. A text that
    a spreadsheet would take for a formula gets an apostrophe before it.
    """
    with (
        write_whole(path) as draft,
        draft.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(map(_disarm, columns))
        writer.writerows(map(_disarm, row) for row in zip(*columns.values(), strict=True))


def columns_to_parquet(columns: Mapping[str, Sequence[Value]], path: PathLike) -> None:
    """Write columns of equal length as Parquet; a missing value is null."""
    arrow = need("pyarrow", "export", "the Parquet export")
    parquet = need("pyarrow.parquet", "export", "the Parquet export")
    with write_whole(path) as draft:
        parquet.write_table(arrow.table(dict(columns)), draft)


def _facts(row: Row) -> dict[str, Value]:
    """Return where a row is, and the single values among its facts, under dotted names."""
    values: dict[str, Value] = {}

    def walk(name: str, value: object) -> None:
        if isinstance(value, dict):
            for key in value:
                walk(f"{name}.{key}", value[key])
        elif not isinstance(value, list):
            values[name] = value  # type: ignore[assignment]  # plain data
        elif name.startswith(("constants.", "parameters.")):
            values[name], values[f"{name}.origin"] = value

    for key, value in json_plain(row.facts).items():
        walk(key, value)
    values["seconds"] = row.provenance.get("seconds")
    values["microseconds_a_round"] = row.provenance.get("microseconds_a_round")
    return {name: value for name, value in values.items() if value not in (None, "")}


def _columns(results: Results) -> dict[str, list[Value]]:
    """Return the table by its columns: keys, then numbers of the trials, then facts."""
    table, numbers, facts = list[dict[str, Value]](), set[str](), set[str]()
    for row in gather(results):
        trial_columns = {n: a.tolist() for n, a in row.arrays.items() if axes_of(n) == _TRIAL}
        fact_values = _facts(row)
        numbers, facts = numbers | trial_columns.keys(), facts | fact_values.keys()
        for trial in range(row.trials):
            values = {name: column[trial] for name, column in trial_columns.items()}
            table.append({**_keys(row), "trial": trial, **values, **fact_values})
    names = (*_KEYS, "trial", *sorted(numbers), *sorted(facts))
    return {name: [row.get(name) for row in table] for name in names}


def _as_one_type(values: list[Value]) -> list[Value]:
    """Return a column of one type: a parameter may be a number here, a word there."""
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else str
    return [v if v is None or len(kinds) < 2 else kind(v) for v in values]


def _disarm(value: Value) -> Value:
    """Return a value for the CSV module, which writes floats by ``repr`` and None as nothing."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


# --- labelled arrays -----------------------------------------------------------------------------


def to_xarray(results: Results) -> Dataset:
    """Return the results as one ``xarray.Dataset``.

    Dimensions are problem, algorithm, horizon, trial, round, and entry for those of an action.
    Experiments are ragged: ``trials`` is the number of trials of each problem, algorithm and
    horizon, and missing numbers are NaN, so whole numbers are floats. The header is an attribute,
    as JSON; facts are in the tables only.

    Args:
        results: the open file, or a comparison.
    """
    xarray = need("xarray", "export", "the xarray export")
    pandas = need("pandas", "export", "the xarray export")
    rows = [row for row in gather(results) if row.played]
    header = {"header": json.dumps(results.header())}
    if not rows:
        return xarray.Dataset(attrs=header)
    datasets = (xarray.Dataset(_label_arrays(xarray.DataArray, row)) for row in rows)
    options = {"data_vars": "all", "coords": "minimal", "compat": "override", "join": "outer"}
    data = xarray.concat(datasets, "row", **options)
    data = data.assign(trials=("row", [row.trials for row in rows]))
    index = pandas.MultiIndex.from_frame(pandas.DataFrame(map(_keys, rows)))
    places = xarray.Coordinates.from_pandas_multiindex(index, "row")
    data = data.assign_coords(places).unstack("row", fill_value={"trials": 0})
    order = {"problem": problems(rows), "algorithm": algorithms(rows)}
    return data.sel(order).transpose(*_KEYS, ...).assign_attrs(header)


def _label_arrays(make: Callable[..., DataArray], row: Row) -> dict[str, DataArray]:
    """Return the arrays of a row with their axes: rounds by their numbers, the rest from 0."""
    labelled = {}
    for name, array in row.arrays.items():
        axes = axes_of(name)
        if name != "rounds":
            places = {axis: np.arange(n) for axis, n in zip(axes, array.shape, strict=True)}
            places |= {"round": row.arrays["rounds"]} if "round" in axes else {}
            labelled[name] = make(array, places, axes)
    return labelled


def _keys(row: Row) -> dict[str, str | int]:
    return {"problem": row.problem, "algorithm": row.algorithm, "horizon": row.horizon}
