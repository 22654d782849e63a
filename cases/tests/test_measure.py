"""The commands that write the page of the cases, at tiny size; and the page itself."""

from pathlib import Path

import numpy as np
import pytest
from cases.measure import admission, portfolio, wrong
from cases.measure.__main__ import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "cases.md"


def cells(lines):
    """The cells of a Markdown table, without its head."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return rows[2:]


def test_every_section_of_the_page_was_measured():
    text = PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        _, found, rest = text.partition(f"<!-- measured: {name} -->")
        assert found
        assert "| --- |" in rest.partition(f"<!-- end: {name} -->")[0], name


def test_no_certified_row_of_the_page_has_a_point_outside():
    rows = cells(PAGE.read_text(encoding="utf-8").splitlines())
    certified = [row for row in rows if row[0].startswith("**")]
    assert len(certified) > 7
    for row in certified:
        assert "0" in row[1:3], row


@pytest.mark.cases
def test_all_scoring_rules_are_played_and_certified_ones_stay_inside():
    for rival in ("cooper", "humancompatible.train"):
        pytest.importorskip(rival)  # in no environment of the tests, but in that of the rivals
    scoring = pytest.importorskip("cases.measure.scoring")
    rows = cells(scoring.measure(None, 60))
    assert len(rows) == 10
    for row in rows:
        assert 0.4 < float(row[4]) < 3  # the first steps of descent are long
        assert row[0].startswith(("DPP", "Cooper", "human")) or row[2] == "0"


@pytest.mark.cases
def test_all_portfolios_of_certified_rules_stay_inside():
    rows = cells(portfolio.measure(None, 40))
    assert [row[2] for row in rows if row[0].startswith("**")] == ["0", "0"]


@pytest.mark.cases
def test_a_guess_that_is_ten_times_too_small_is_noticed_after_one_round():
    lines = list(wrong.measure(None, 30))
    right, record, stop, retreat = cells(lines)
    assert right[2] == "0 of 30"
    assert record[2].startswith("1 of")
    assert stop[5] == "stopped in round 2"
    assert "exceeds G_g" in stop[6]
    assert retreat[2] == "1 of 30"
    assert "10 times too small" in lines[0]


@pytest.mark.cases
def test_the_insider_projects_onto_the_limits_of_the_audit():
    scoring = pytest.importorskip("cases.measure.scoring")
    insider = scoring.Insider(lazy=False)
    y = 30.0 * np.random.default_rng(0).normal(size=40)
    x = insider.project(y)
    assert np.linalg.norm(x) <= 20.0
    assert abs(insider._inside @ x).max() <= 0.01
    # Any other point of the set is on the far side of the plane through x across y - x.
    for z in 0.01 * np.random.default_rng(1).normal(size=(20, 40)):
        assert (y - x) @ (z - x) <= 1e-5 * np.linalg.norm(y)


def test_all_admission_rules_are_played_and_the_certified_one_has_no_window_over():
    rows = cells(admission.measure(None, 60))
    assert len(rows) == 6
    assert [row[2] for row in rows if row[0].startswith("**")] == ["0"]
    assert rows[-1][2:7:4] == ["0", "100.0%"]
