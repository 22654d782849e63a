"""The examples of a researcher: an own constraint and rule, and a sweep."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # where dataclasses look
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.filterwarnings("ignore::surefoot.games.EngineWarning")
def test_an_own_constraint_and_rule_are_compared_and_resumed(example, tmp_path):
    pytest.importorskip("scipy")
    run = example("own_constraint").run
    found = run(str(tmp_path))
    rows = {row.algorithm: row for row in found.rows}
    assert rows["LeaderFollower.default"].outside == 0
    assert rows["LeaderFollower.default"].verdict == "held"
    assert rows["Cautious"].outside >= 0
    assert run(str(tmp_path)).outcome.skipped == found.outcome.cells == 2


@pytest.mark.slow
def test_a_sweep_has_every_margin_at_every_horizon_and_a_page(example, tmp_path):
    found = example("sweep").run(str(tmp_path), horizons=(20, 40), trials=2)
    assert len(found.rows) == 10
    assert {row.status for row in found.rows} == {"done"}
    assert all(row.outside == 0 for row in found.rows)
    assert found.report().stat().st_size < 4_000_000


@pytest.mark.parametrize("name", ["own_constraint", "sweep"])
def test_an_example_is_short(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 60
