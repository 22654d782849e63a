"""What an installation lacks is told before a round is played, and is no failure."""

import importlib.util
import sys

import pytest

from surefoot.experiments import estimate, parse_spec, run, sweep
from surefoot.experiments.cells import cells_of, play_cell
from surefoot.experiments.executors import RunError
from surefoot.experiments.paper import reproduction
from surefoot.experiments.sweep import missing_extras
from surefoot.experiments.toml import starter

SOLVERS = ("scipy", "daqp", "qpsolvers", "piqp", "clarabel")
POLYTOPE = """\
name = "x"
trials = 2
horizons = [8]
[[problems]]
name = "random_polytope"
dimension = 2
rows = 6
[[problems]]
name = "paper_toy"
[[algorithms]]
name = "PFS"
tuning = "anytime"
[[algorithms]]
name = "OGD"
tuning = "fixed"
"""


@pytest.fixture
def bare(monkeypatch):
    """An installation without solvers and JAX: README's line brings the last, not the first."""

    def block(*names):
        find = importlib.util.find_spec
        monkeypatch.setattr(
            sweep, "find_spec", lambda n: None if n.split(".")[0] in names else find(n)
        )
        for name in [m for m in sys.modules if m.split(".")[0] in names]:
            monkeypatch.delitem(sys.modules, name)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return block


@pytest.mark.slow
def test_the_starter_and_the_reproduction_need_no_more_than_readme_installs(bare):
    bare(*SOLVERS)
    assert missing_extras(cells_of(parse_spec(starter("x"))), "auto") == []
    assert missing_extras(cells_of(reproduction.specification()), "auto") == []


def test_what_is_missing_is_named_with_its_rows_and_nothing_is_played(bare, tmp_path):
    bare(*SOLVERS)
    spec = parse_spec(POLYTOPE)
    found = missing_extras(cells_of(spec), "auto")
    for row in ("PFS.anytime on random_polytope", "OGD.fixed on random_polytope"):
        assert any(row in missing for missing in found)
    assert all("pip install 'surefoot[solve]'" in missing for missing in found)
    assert estimate(spec, tmp_path / "out").missing == found
    with pytest.raises(RunError, match="nothing was run: missing optional dependency"):
        run(spec, tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()


def test_a_scan_that_was_asked_for_without_jax_is_told_too(bare):
    bare("jax")
    text = POLYTOPE.replace("trials = 2", 'trials = 2\nengine = "scan"')
    (found,) = missing_extras(cells_of(parse_spec(text)), "scan")
    assert "the scan engine needs jax" in found
    assert found.endswith(" and 1 more)")


def test_with_everything_installed_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(sweep, "play", None)
    assert missing_extras(cells_of(parse_spec(POLYTOPE)), "auto") == []


def test_an_extra_that_is_missing_in_a_worker_is_no_result_of_the_cell(monkeypatch):
    def parts(spec):
        return sweep.need("nowhere_at_all", "solve", "a test")

    with pytest.raises(ImportError, match="a test needs nowhere_at_all"):
        play_cell("a", {"horizon": 3}, parts)
