import importlib.util
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from surefoot.problems import paper_toy

ROOT = Path(__file__).parents[1]


def load(path):
    """A script as a module, without running its main."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = load(Path("benchmarks/update.py"))

# --- the benchmark: its rivals do the same, and what it reports is right -------------------------


@pytest.mark.parametrize("dimension", [2, 7])
def test_the_rounds_of_the_benchmark_have_cuts_and_free_steps(dimension):
    rounds = bench.rounds_of(bench.cube_toy(dimension, 600), 600, kept=300)
    assert len(rounds.seen) == 300
    assert 0.02 < rounds.cut_share < 0.98


@pytest.mark.parametrize("runs", [None, 4])
def test_rival_and_library_are_compared_on_the_same_result(runs):
    rounds = bench.rounds_of(paper_toy(600), 600, kept=60, runs=runs)
    rival = bench.hand_batch if runs else bench.hand_step
    ratio = bench.compare_updates(rounds, rival, repeats=1, turns=5)
    assert 0 < ratio.low <= ratio.median <= ratio.high

    def wrong(x, grad, g, s, eta, rho, radius):
        return rival(x, grad, g, s, eta, 2 * rho, radius)

    with pytest.raises(AssertionError, match="must do the same"):
        bench.compare_updates(rounds, wrong, repeats=1, turns=1)


def test_ratio_is_library_over_rival_and_times_are_per_unit(monkeypatch):
    durations = {"library": 0.003, "rival": 0.002}
    monkeypatch.setattr(bench, "seconds", lambda work: durations[work()])
    ratio = bench.compare(lambda: "library", lambda: "rival", units=10, turns=4)
    assert ratio.median == pytest.approx(1.5)
    assert (ratio.library_us, ratio.rival_us) == pytest.approx((300.0, 200.0))


def test_a_missed_bar_is_marked_and_saved(tmp_path):
    lines = [
        bench.Line("one run, d = 2", 1.5, 0.25, bench.Ratio(1.4, 1.3, 1.6, 5.0, 3.6)),
        bench.Line("batch of 300, d = 2", 1.6, 0.25, bench.Ratio(1.7, 1.6, 1.8, 60.0, 35.0)),
    ]
    pipe = io.StringIO()
    bench.show(lines, {"loop, 1 run": 12.5, "scan, 300 runs": None}, Console(file=pipe, width=100))
    assert "1.5 met" in pipe.getvalue()
    assert "1.6 MISSED" in pipe.getvalue()
    bench.save(lines, {"loop, 1 run": 12.5}, tmp_path / "deep" / "update.json")
    report = json.loads((tmp_path / "deep" / "update.json").read_text())
    assert [(u["case"], u["met"]) for u in report["updates"]] == [
        ("one run, d = 2", True),
        ("batch of 300, d = 2", False),
    ]
