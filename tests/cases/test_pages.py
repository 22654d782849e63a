"""The commands that write the pages, at tiny size; and the pages themselves."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def module(monkeypatch):
    """Import a module of the benchmarks, which are beside the tests and not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    known = set(sys.modules)
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    for name in set(sys.modules) - known:
        if name.startswith("benchmarks"):
            del sys.modules[name]


def cells(lines):
    """The cells of a Markdown table, without its head."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return rows[2:]


def test_a_section_of_a_page_is_replaced_and_the_rest_stays(module, tmp_path):
    pages = module("pages")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- measured: x -->\nold\n<!-- end: x -->\nb\n")
    pages.write_section(page, "x", pages.table(("p", "q"), [("1", "|2|")]))
    assert page.read_text() == (
        "a\n<!-- measured: x -->\n\n| p | q |\n| --- | --- |\n| 1 | \\|2\\| |\n\n"
        "<!-- end: x -->\nb\n"
    )
    with pytest.raises(ValueError, match="once each"):
        pages.write_section(page, "y", [])


@pytest.mark.parametrize("page", ["cases", "alternatives"])
def test_every_section_of_the_pages_was_measured(module, page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for name in module(f"{page}.__main__").NAMES:
        _, found, rest = text.partition(f"<!-- measured: {name} -->")
        assert found
        assert "| --- |" in rest.partition(f"<!-- end: {name} -->")[0], name


@pytest.mark.parametrize("page", ["cases", "alternatives"])
def test_no_certified_row_of_the_pages_has_a_point_outside(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    certified = [row for row in cells(text.splitlines()) if row[0].startswith("**")]
    assert len(certified) > 7
    for row in certified:
        assert "0" in row[1:3] or row[1].startswith("0 of "), row


@pytest.mark.cases
def test_all_scoring_rules_are_played_and_certified_ones_stay_inside(module):
    for rival in ("cooper", "humancompatible.train"):
        pytest.importorskip(rival)  # in no environment of the tests, but in that of the rivals
    lines = list(module("cases.scoring").measure(None, 60))
    rows = cells(lines)
    assert len(rows) == 10
    for row in rows:
        assert 0.4 < float(row[4]) < 3  # the first steps of descent are long
        assert row[0].startswith(("DPP", "Cooper", "human")) or row[2] == "0"


@pytest.mark.cases
def test_all_portfolios_of_certified_rules_stay_inside(module):
    rows = cells(module("cases.portfolio").measure(None, 40))
    assert [row[2] for row in rows if row[0].startswith("**")] == ["0", "0", "0"]


@pytest.mark.cases
def test_a_guess_that_is_ten_times_too_small_is_noticed_after_one_round(module):
    lines = list(module("cases.wrong").measure(None, 30))
    right, record, stop, retreat = cells(lines)
    assert right[2] == "0 of 30"
    assert record[2].startswith("1 of")
    assert stop[5] == "stopped in round 2"
    assert "exceeds G_g" in stop[6]
    assert retreat[2] == "1 of 30"
    assert "10 times too small" in lines[0]


@pytest.mark.cases
def test_the_insider_projects_onto_the_limits_of_the_audit(module):
    insider = module("cases.scoring").Insider(lazy=False)
    y = 30.0 * np.random.default_rng(0).normal(size=40)
    x = insider.project(y)
    assert np.linalg.norm(x) <= 20.0
    assert abs(insider._inside @ x).max() <= 0.01
    # Any other point of the set is on the far side of the plane through x across y - x.
    for z in 0.01 * np.random.default_rng(1).normal(size=(20, 40)):
        assert (y - x) @ (z - x) <= 1e-5 * np.linalg.norm(y)


@pytest.mark.cases
def test_rivals_see_the_same_program(module):
    rows = module("alternatives.rows")
    program = rows.Program()
    x = np.linalg.lstsq(program.A, program.target)[0]
    assert program.best < 0.5 * program.target @ program.target
    solve = module("alternatives.scipy_minimize")
    found = program.row("scipy", "", lambda p: solve.by_scipy(p, "SLSQP"))
    assert found.outside > 0
    assert abs(float(found.result.split("=")[1])) < 1e-6
    assert x.shape == (5,)


@pytest.mark.cases
def test_certified_rules_beat_the_best_barrier_weight_on_smooth_costs(module):
    streams = module("alternatives.streams")
    for problem in (streams.smooth(150), streams.changing(streams.smooth(150), every=50)):
        barrier, *ours = list(streams.smooth_rows(problem, 6.0))[:4]
        assert barrier.outside == 0
        assert all(row.outside == 0 for row in ours)
        regrets = [float(row.result.split()[1].replace(",", "")) for row in (barrier, *ours)]
        assert min(regrets[1:]) < regrets[0]


def test_all_admission_rules_are_played_and_the_certified_one_has_no_window_over(module):
    admission = module("cases.admission")
    rows = cells(admission.measure(None, 60))
    assert len(rows) == 6
    assert [row[2] for row in rows if row[0].startswith("**")] == ["0"]
    assert rows[-1][2:7:4] == ["0", "100.0%"]
