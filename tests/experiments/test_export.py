"""Tables and labelled arrays say what the file says, ragged as it may be."""

import csv
import json
import math
import sys

import numpy as np
import pytest

from surefoot.core.optional import MissingExtraError
from surefoot.experiments import (
    Results,
    export,
    to_xarray,
)

from ._cells import cell, place

FACTS = {
    "problem": {"name": "toy", "dimension": 2, "rows": None},
    "constants": {"G_f": [1.5, "specification"], "R": [2.0, "Slater"]},
    "parameters": {"eta": [0.1, "Theorem 1"], "base.V": [3, "default"]},
    "guarantee": {
        "name": "Theorem 1",
        "kind": "cumulative",
        "regret_bound": 40.5,
        "bounds": {"positive_sum": 3.5},
        "premises": ["G_f", "G_g"],
    },
    "verdict": {"word": "held", "sentence": "=Theorem 1 held"},
    "breaches": [],
    "regret_share": None,
    "engine": "batch",
    "oracle": {"rounds": 100},
}


@pytest.fixture
def results(tmp_path):
    """Two problems, two algorithms, horizons and trials that differ, and a cell not played."""
    wild = cell("wild", trials=1, seed=9, parameters={"eta": ["auto", "default"]})
    wild.arrays["regret"][:] = np.inf
    wild.arrays["largest"][:] = np.nan
    with Results.write(tmp_path / "results.sqlite") as made:
        made.set_header(name="limits", seed=7)
        made.put(cell("a", trials=3, seed=1, rounds=(5, 10), **FACTS))
        made.put(cell("b", trials=2, seed=2, rounds=(5, 10)))
        made.put(cell("c", trials=2, seed=3, rounds=(10, 20, 25)))
        made.put(cell("rejected", status="rejected"))
        made.put(wild)
        made.set_plan(
            [
                place("a", "toy", "PFS", 10, 0),
                place("b", "toy", "PFS", 10, 1),
                place("c", "toy", "-DPP", 25, 0),
                place("rejected", "toy", "-DPP", 10, 0),
                place("wild", "@home", "PFS", 10, 0),
                place("not yet", "@home", "PFS", 25, 0),
            ]
        )
        yield made


WANTED = [
    ("toy", "PFS", 10, 0, "a", 0),
    ("toy", "PFS", 10, 1, "a", 1),
    ("toy", "PFS", 10, 2, "a", 2),
    ("toy", "PFS", 10, 3, "b", 0),
    ("toy", "PFS", 10, 4, "b", 1),
    ("toy", "-DPP", 25, 0, "c", 0),
    ("toy", "-DPP", 25, 1, "c", 1),
    ("@home", "PFS", 10, 0, "wild", 0),
]
COLUMNS = [
    *("problem", "algorithm", "horizon", "trial", "largest", "regret", "violations"),
    *("constants.G_f", "constants.G_f.origin", "constants.R", "constants.R.origin", "engine"),
    *(
        "guarantee.bounds.positive_sum",
        "guarantee.kind",
        "guarantee.name",
        "guarantee.regret_bound",
    ),
    *("oracle.rounds",),
    *("parameters.base.V", "parameters.base.V.origin", "parameters.eta"),
    *("parameters.eta.origin", "problem.dimension", "problem.name", "seconds"),
    *("verdict.sentence", "verdict.word"),
]


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def test_a_csv_file_reads_back_to_the_bit(results, tmp_path):
    export.write(results, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    for row, (problem, algorithm, horizon, trial, address, at) in zip(rows, WANTED, strict=True):
        arrays = results.get(address).arrays
        assert row["problem"].removeprefix("'") == problem
        assert row["algorithm"].removeprefix("'") == algorithm
        assert (int(row["horizon"]), int(row["trial"])) == (horizon, trial)
        for name in ("regret", "largest"):
            assert same(float(row[name]), arrays[name][at])
        assert row["violations"] == str(
            arrays["violations"][at]
        )  # a whole number is written as one
    assert rows[0]["constants.G_f"] == "1.5"
    assert rows[0]["constants.G_f.origin"] == "specification"
    assert rows[0]["parameters.base.V"] == "3"
    assert rows[5]["constants.G_f"] == ""
    assert (rows[-1]["regret"], rows[-1]["largest"]) == ("inf", "nan")


def test_a_csv_file_holds_no_formula(results, tmp_path):
    export.write(results, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["verdict.sentence"] == "'=Theorem 1 held"
    assert rows[5]["algorithm"] == "'-DPP"
    assert rows[7]["problem"] == "'@home"
    numbers = [float(row["largest"]) for row in rows]
    assert min(numbers) < 0  # which is not made a text
    for field in (value for row in rows for value in row.values() if value[:1] in set("=+-@")):
        float(field)


def test_labelled_arrays_are_ragged_where_the_experiment_is(results):
    pytest.importorskip("xarray")
    data = to_xarray(results)
    assert dict(data.sizes) == {
        "problem": 2,
        "algorithm": 2,
        "horizon": 2,
        "trial": 5,
        "round": 4,
        "entry": 2,
    }
    assert data["problem"].values.tolist() == ["toy", "@home"]
    assert data["horizon"].values.tolist() == [10, 25]
    assert data["round"].values.tolist() == [5, 10, 20, 25]
    pfs = data.sel(problem="toy", algorithm="PFS", horizon=10)
    a, b, c = (results.get(address).arrays for address in "abc")
    for name in ("regret", "largest", "violations", "best"):
        np.testing.assert_array_equal(pfs[name], np.concatenate([a[name], b[name]]))
    np.testing.assert_array_equal(pfs["peak"][:2], np.hstack([a["peak"], b["peak"]]))
    assert np.isnan(pfs["peak"][2:]).all()
    np.testing.assert_array_equal(pfs["bound_path"][:2], a["bound_path"])
    np.testing.assert_array_equal(pfs["actions"][:2, 0], a["actions"][:, 0])  # of trial 0 alone
    assert np.isnan(pfs["actions"][:2, 1:]).all()
    dpp = data.sel(problem="toy", algorithm="-DPP", horizon=25)
    np.testing.assert_array_equal(dpp["peak"].sel(round=[10, 20, 25], trial=[0, 1]), c["peak"])
    assert np.isnan(dpp["peak"].sel(round=5)).all()
    assert int(data["trials"].sum()) == 8
    assert int(data["trials"].sel(problem="@home", horizon=25).sum()) == 0
    assert json.loads(data.attrs["header"])["name"] == "limits"


@pytest.mark.slow
def test_a_netcdf_file_says_what_the_labelled_arrays_say(results, tmp_path):
    xarray = pytest.importorskip("xarray")
    export.write(results, tmp_path / "arrays.nc")
    with xarray.open_dataset(tmp_path / "arrays.nc", engine="h5netcdf") as data:
        xarray.testing.assert_identical(data.load(), to_xarray(results))
    assert math.isinf(data["regret"].sel(problem="@home", algorithm="PFS").max())


def test_a_parquet_file_has_the_types_of_what_it_holds(results, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export.write(results, tmp_path / "table.parquet")
    table = parquet.read_table(tmp_path / "table.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["horizon"] == types["violations"] == "int64"
    assert types["regret"] == types["constants.G_f"] == "double"
    assert types["parameters.eta"] == types["problem"] == "string"  # 0.1 here, "auto" there


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "arrays.nc"])
def test_an_experiment_with_nothing_played_is_an_empty_table(name, tmp_path):
    with Results.write(tmp_path / "results.sqlite") as results:
        results.set_plan([place("a")])
        export.write(results, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("h5netcdf", "the netCDF export needs h5netcdf"),
        ("xarray", "the xarray export needs xarray"),
    ],
)
def test_what_is_not_installed_is_one_sentence(results, tmp_path, monkeypatch, missing, said):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError) as error:
        export.write(results, tmp_path / "table.nc")
    assert str(error.value) == f"{said}, which is not installed: pip install 'surefoot[export]'"
    assert not (tmp_path / "table.nc").exists()


def test_an_export_that_fails_leaves_the_old_file(results, tmp_path, monkeypatch):
    old = tmp_path / "table.csv"
    old.write_text("old", encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_disarm", full)
    with pytest.raises(OSError, match="No space left"):
        export.write(results, old)
    assert old.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir() if "results" not in p.name] == [old.name]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((3, 2.5), float),
        ((2.5, 3), float),
        (("auto", 2.5), str),
        ((2.5, "auto"), str),
        ((3, 4), int),
    ],
)
def test_a_column_has_a_type_that_holds_all_its_values(tmp_path, values, kind):
    with Results.write(tmp_path / "results.sqlite") as results:
        for n, value in enumerate(values, 1):
            results.put(cell(f"c{n}", parameters={"V": [value, "default"]}))
        results.set_plan([place(f"c{n}", horizon=n) for n in (1, 2)])
        column = export._as_one_type(export._columns(results)["parameters.V"])
    assert {type(value) for value in column} == {kind}
