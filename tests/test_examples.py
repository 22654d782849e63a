import importlib.util
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from surefoot.problems import HORIZONS, paper_toy

ROOT = Path(__file__).parents[1]
PNG = b"\x89PNG\r\n\x1a\n"


def load(path):
    """A script as a module, without running its main."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


demo = load(Path("examples/paper_toy.py"))
bench = load(Path("benchmarks/update.py"))

SHORT = (300, 700)


@pytest.fixture(scope="module")
def toy():
    return paper_toy(horizon=700, trials=2)


@pytest.fixture(scope="module")
def outcomes(toy):
    return [demo.played(contest, toy) for contest in demo.contests(toy, SHORT)]


def by_name(outcomes, name):
    (outcome,) = [o for o in outcomes if o.name == name]
    return outcome


def test_five_ways_are_played_and_each_has_a_guarantee_for_its_horizon(toy):
    contests = demo.contests(toy, SHORT)
    assert [c.name for c in contests] == [
        "as plotted", "as written", "as released", "as demanded", "tuned",
    ]  # fmt: skip
    for contest in contests:
        assert [player.guarantee.horizon for player in contest.players] == [300, 700]


def test_a_setting_claims_theorem_1_with_its_own_gradient_bound_and_parameters(toy):
    setting = demo.SETTINGS[1]
    algorithm, guarantee = demo.as_claimed(setting, toy, 400)
    assert guarantee.constants.G_f == math.sqrt(2)
    assert (algorithm.eta, algorithm.rho) == (guarantee.eta, guarantee.rho)
    assert algorithm.rho == 0.25 / 20
    assert guarantee.constants.sigma == toy.constants.sigma


def test_regret_has_a_row_for_each_horizon_and_a_column_for_each_trial(outcomes):
    for outcome in outcomes:
        assert outcome.regret.shape == (2, 2)
        assert (outcome.regret > 0).all()
        assert [trace.horizon for trace in outcome.traces] == list(SHORT)


def test_progress_reaches_the_longest_horizon(toy):
    seen = []
    demo.played(demo.contests(toy, SHORT)[4], toy, lambda progress: seen.append(progress.round))
    assert seen == sorted(seen)
    assert seen[-1] == 700


@pytest.mark.parametrize("name", ["as plotted", "as written"])
def test_a_gradient_bound_that_is_too_small_is_reported_with_round_and_value(outcomes, name):
    breach = demo.first_breach(by_name(outcomes, name))
    limit = {"as plotted": 1.0, "as written": math.sqrt(2)}[name]
    # x_1 = 0, so the first gradient is -6 v_1, of the first round of one of the two trials.
    firsts = 6 * np.linalg.norm(paper_toy(horizon=1, trials=2).costs.targets[0], axis=-1)
    assert (breach.premise.constant, breach.premise.limit, breach.round) == ("G_f", limit, 1)
    assert breach.observed == pytest.approx(firsts[breach.run], rel=1e-12)


@pytest.mark.parametrize("name", ["as released", "as demanded", "tuned"])
def test_the_true_gradient_bound_breaks_no_premise(outcomes, name):
    assert demo.first_breach(by_name(outcomes, name)) is None
    assert demo.breach_text(by_name(outcomes, name)) == "none"


def test_a_row_has_every_number_and_brackets_the_bound_that_is_void(outcomes):
    plotted, tuned = by_name(outcomes, "as plotted"), by_name(outcomes, "tuned")
    row = demo.table_row(plotted, SHORT)
    worst = max(trace.violations.worst.max() for trace in plotted.traces)
    bound = plotted.traces[-1].guarantee.regret_bound(700)
    assert row[:3] == [
        "as plotted",
        f"{plotted.regret[0].mean():.2f} ± {plotted.regret[0].std():.2f}",
        f"{plotted.regret[1].mean():.2f} ± {plotted.regret[1].std():.2f}",
    ]
    assert row[3:6] == ["0", f"{worst:.2g}", f"({bound:,.0f})"]
    assert re.fullmatch(r"G_f = 1: round 1 has \d\.\d+, later up to \d\.\d+", row[6])
    assert "(" not in demo.table_row(tuned, SHORT)[5]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_printed_table_loses_nothing_and_has_no_terminal_codes_in_a_pipe(outcomes, width):
    pipe = io.StringIO()
    table = demo.result_table(outcomes, SHORT, width)
    Console(file=pipe, width=width).print(table)
    text = pipe.getvalue()
    assert "\x1b" not in text
    assert "…" not in text  # how a cell that was cut off would end
    for outcome in outcomes:
        assert text.count(f"{outcome.name} ") == 1
        for cell in demo.table_row(outcome, SHORT):
            assert set(cell.split()) <= set(text.split()), cell


def test_the_figure_shows_every_300th_action_of_one_trial(outcomes):
    trace = by_name(outcomes, "tuned").traces[-1]
    rounds, actions = demo.kept_actions(trace, trial=1)
    assert rounds.tolist() == [300, 600]
    kept = np.searchsorted(trace.rounds, rounds)
    assert np.array_equal(actions, trace.actions[kept, 1])


def test_the_regret_figure_has_all_curves_and_only_the_bounds_that_hold(outcomes):
    figure = demo.regret_figure(outcomes)
    (ax,) = figure.axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(labels) == 5 + 3
    assert {label.split(":")[0] for label in labels if "bound," in label} == {
        "bound, as released", "bound, as demanded", "bound, tuned",
    }  # fmt: skip
    assert sum("premise broken" in label for label in labels) == 2


@pytest.mark.slow
def test_both_figures_are_saved_as_png(outcomes, tmp_path):
    paths = demo.save_figures(outcomes, tmp_path / "new")
    assert [path.name for path in paths] == ["regret.png", "actions.png"]
    for path in paths:
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 10_000


@pytest.mark.slow
def test_main_prints_the_table_and_says_where_the_figures_are(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "paper_toy", lambda: toy)
    monkeypatch.setattr(demo, "HORIZONS", SHORT)
    monkeypatch.setattr(demo, "SHOWN", SHORT)
    demo.main(["--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "as demanded" in printed
    assert "\x1b" not in printed
    assert (tmp_path / "regret.png").exists()
    assert (tmp_path / "actions.png").exists()


@pytest.mark.slow
def test_the_table_of_the_readme_is_what_the_demo_prints():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (as \w+|tuned) \|(.*)\|$", text, re.MULTILINE)
    shown = [[name, *(cell.strip() for cell in cells.split("|"))] for name, cells in lines]
    full = paper_toy()
    played = [demo.played(contest, full) for contest in demo.contests(full, HORIZONS)]
    assert shown == [demo.table_row(outcome, demo.SHOWN) for outcome in played]


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
