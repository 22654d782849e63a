import csv
import importlib

import pytest

from surefoot.experiments import Results

report_module = importlib.import_module("surefoot.cli.report")


@pytest.fixture
def no_figures(monkeypatch):
    """Report without its figures, which take seconds."""

    def write(results, folder, rows, **_):
        (folder / "report.html").write_text("a page")
        return folder / "report.html", []

    monkeypatch.setattr("surefoot.experiments.page.write_report", write)


def test_the_table_and_the_paths_are_printed_and_nothing_is_played(desk, no_figures):
    table = desk.run().out.split("\n\n")[0]
    code, out, err = desk.do("report out/limits")
    assert (code, err) == (0, "")
    assert out == f"{table}\n\nfigures  out/limits/figures\nreport   out/limits/report.html\n"


def test_the_results_file_itself_may_be_given(desk, no_figures):
    desk.run()
    assert desk.do("report out/limits/results.sqlite").code == 0


@pytest.mark.slow  # xarray takes seconds to load
@pytest.mark.parametrize(
    ("form", "suffix"), [("csv", "csv"), ("parquet", "parquet"), ("netcdf", "nc")]
)
def test_an_export_stands_beside_the_results(desk, no_figures, form, suffix):
    desk.run()
    code, out, _ = desk.do(f"report out/limits --export {form}")
    assert code == 0
    assert f"export   out/limits/results.{suffix}\n" in out
    assert (desk.results.parent / f"results.{suffix}").stat().st_size > 1000


def test_csv_has_a_row_for_each_trial(desk, no_figures):
    desk.run()
    found = desk.do("report out/limits --export csv --json").data
    assert found["exports"] == ["out/limits/results.csv"]
    with (desk.folder / "out/limits/results.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 8


def test_a_damaged_cell_is_named_and_the_rest_is_shown(desk, no_figures):
    desk.run()
    address = desk.damage()
    code, out, err = desk.do("report out/limits")
    assert code == 3
    assert out.count("  held") == 3
    assert err == (
        f"surefoot: cell {address[:12]} is damaged: it is not what was written\n"
        "surefoot: 1 damaged of 4 cells: run the specification again, which runs only "
        "these\n"
    )
    assert desk.do("report out/limits --json").data["damaged"].keys() == {address}


def test_missing_cells_are_counted(desk, no_figures):
    desk.run()
    desk.spec.write_text(desk.spec.read_text().replace("[40, 80]", "[40, 60, 80]"))
    desk.run()
    with Results.write(desk.results) as results:
        results.set_plan(
            [
                *results.places(),
                results.places()[0].__class__(
                    address="beef", problem="a corner", algorithm="PFS.anytime", horizon=99, block=0
                ),
            ]
        )
    code, _, err = desk.do("report out/limits")
    assert code == 0
    assert err.startswith("surefoot: 1 missing of 7 cells: run the specification again")


@pytest.mark.parametrize(
    ("path", "contents", "code", "sentence"),
    [
        ("nowhere", None, 2, "'nowhere' does not exist: give the folder of a run"),
        (".", None, 2, "'.' has no results.sqlite: give the folder of a run"),
        ("limits.toml", None, 1, "it is not a results file"),
        ("out/a/results.sqlite", b"", 1, "it is not a results file"),
        ("out/a", b"SQLite format 3\0" + bytes(90), 1, "it is not a results file"),
    ],
)
def test_what_has_no_results_is_one_sentence(desk, path, contents, code, sentence):
    if contents is not None:
        (desk.folder / "out/a").mkdir(parents=True)
        (desk.folder / "out/a/results.sqlite").write_bytes(contents)
    found = desk.do("report", path)
    assert (found.code, found.out) == (code, "")
    assert sentence in found.err
    assert len(found.err.splitlines()) == 1


def test_results_that_were_cut_short_are_said_to_be(desk):
    desk.run()
    desk.results.write_bytes(desk.results.read_bytes()[:9000])
    code, _, err = desk.do("report out/limits")
    assert code == 1
    assert "is damaged: database disk image is malformed" in err
    assert len(err.splitlines()) == 1


def test_results_without_a_cell_are_said_to_be_empty(desk):
    desk.results.parent.mkdir(parents=True)
    Results.write(desk.results).close()
    code, _, err = desk.do("report out/limits")
    assert code == 2
    assert "has no results yet: run the specification first" in err


@pytest.mark.slow
def test_a_run_ends_with_figures_and_a_page(desk):
    code, out, _ = desk.do("run limits.toml --workers 0")
    assert code == 0
    assert out.endswith("figures  out/limits/figures\nreport   out/limits/report.html\n")
    folder = desk.results.parent
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert drawn == {path.stem for path in (folder / "figures").iterdir()}
    first = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    assert desk.do("report out/limits --pdf").code == 0
    assert (folder / "report.html").read_bytes() == first
    assert {path.stem for path in (folder / "figures").glob("*.pdf")} == drawn
