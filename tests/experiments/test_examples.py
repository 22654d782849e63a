"""The examples of a researcher: an own constraint and rule, and a sweep."""

import pytest
from tests._scripts import ROOT, script


@pytest.mark.slow
def test_an_own_constraint_and_rule_are_compared():
    pytest.importorskip("scipy")
    found = script("examples/own_constraint.py").run()
    rows = {row.algorithm: row for row in found.rows}
    assert rows["LeaderFollower.default"].violations == 0
    assert rows["LeaderFollower.default"].verdict == "held"
    assert rows["Cautious"].violations >= 0


@pytest.mark.slow
def test_a_sweep_has_every_margin_at_every_horizon_and_a_page(tmp_path):
    found = script("examples/sweep.py").run(horizons=(20, 40), trials=2)
    assert len(found.rows) == 10
    assert {row.status for row in found.rows} == {"done"}
    assert all(row.violations == 0 for row in found.rows)
    assert found.report(tmp_path).stat().st_size < 4_000_000


@pytest.mark.parametrize("name", ["own_constraint", "sweep"])
def test_an_example_is_short(name):
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 60
