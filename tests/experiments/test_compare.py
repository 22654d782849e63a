"""Players of any kind on one problem, from Python."""

import signal
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from tests._own import Stepping

import surefoot as sf
from surefoot import OGD, PFS, Ball, LeaderFollower, Problem, compare, problems
from surefoot.core.display import RESULT_HEAD
from surefoot.core.optional import MissingExtraError
from surefoot.core.types import Info
from surefoot.experiments import Results, gather, sweep, to_xarray
from surefoot.experiments.page.findings import pairs_of
from surefoot.experiments.page.tables import results_table, verdict_table
from surefoot.problems.constraints import L2Norm
from surefoot.problems.costs import Quadratic
from surefoot.rules import RECOO, CertifiedPFS

TOY = problems.binding_toy(60, trials=3)


def depot(*, horizon, trials, streams):
    wishes = np.random.default_rng(streams).uniform(0.0, 1.0, size=(horizon, trials, 2))
    return Problem.of(Quadratic(wishes, 2.0), L2Norm(0.6), Ball(1.2), [0.0, 0.0], name="depot")


def test_a_rule_without_constants_is_made_judged_and_shown():
    found = compare({"known": LeaderFollower.default, "unknown": LeaderFollower.unknown}, TOY)
    assert [row.verdict for row in found.rows] == ["held", "held"]
    assert "few g > 0" in str(found)


def test_a_share_is_told_only_of_a_bound_that_can_be_exceeded():
    toy = problems.binding_toy(200, trials=2)
    known = toy.constants.with_origin("given", G_f=None)
    players = {
        "says something": OGD.fixed,
        "trivial": CertifiedPFS.default,
        "none in advance": CertifiedPFS.default(known, domain=toy.domain),
        "no theorem": LeaderFollower(G_g=known.G_g, domain=toy.domain),
        "no promise": PFS(eta=0.1, rho=0.1, domain=toy.domain),
    }
    rows = {row.algorithm: row for row in compare(players, toy, progress=False).rows}
    head = RESULT_HEAD.index("regret / bound")
    shares = {name: row.cells[head] for name, row in rows.items()}
    assert 0 < float(shares.pop("says something")) < 1
    assert shares == {
        "trivial": "trivial",
        "none in advance": "-",
        "no theorem": "-",
        "no promise": "-",
    }
    assert rows["trivial"].guarantee.regret_bound > 2 * known.R * toy.constants.G_f * 200
    assert rows["trivial"].guarantee.in_advance.theorem == "Theorem D (4)"
    assert rows["none in advance"].guarantee.regret_bound is None
    assert "bound_path" not in rows["none in advance"].arrays
    assert rows["no theorem"].guarantee.name == "Theorem E (certified by LipschitzHull)"
    assert rows["no theorem"].guarantee.observed.theorem == "Theorem F"
    verdicts = {name: row.verdict for name, row in rows.items()}
    assert verdicts.pop("no promise") == "not claimed"
    assert set(verdicts.values()) == {"held"}


def test_the_report_has_a_column_for_each_part():
    toy = problems.binding_toy(60, trials=2)
    found = compare([CertifiedPFS.default, OGD.fixed], toy, progress=False)
    columns = [
        column.title for column in verdict_table(pairs_of(found.rows, found.places())).columns
    ]
    assert columns[1:5] == ["Verdict", "Promised", "Observed", "In advance"]
    results = results_table(found.rows)
    titles = [column.title for column in results.columns]
    shares = {row[0].text: row[titles.index("Regret / bound")].text for row in results.rows}
    assert shares["CertifiedPFS.default"] == "trivial"
    assert shares["OGD.fixed"].endswith(" %")


def test_players_of_all_kinds_meet_the_same_streams():
    players = {
        "mine": Stepping(0.05),
        "tuned": PFS.tuned(TOY.constants, 60),
        "made": LeaderFollower.default,
        "named": (OGD, "fixed"),
    }
    found = compare(players, TOY)
    rows = {row.algorithm: row for row in found.rows}
    assert list(rows) == list(players)
    assert [rows[n].verdict for n in players] == ["not claimed", "held", "held", "held"]
    for row in rows.values():
        np.testing.assert_array_equal(row.arrays["best"], rows["mine"].arrays["best"])
    trace = sf.play(Stepping(0.05), TOY, every=1)
    np.testing.assert_allclose(rows["mine"].arrays["regret"], trace.final_regret(), rtol=1e-12)
    assert rows["mine"].facts.parameters["eta"].value == 0.05
    assert rows["made"].facts.guarantee.name == "Theorem E (hulls of certified balls)"


@pytest.mark.slow
def test_it_is_shown_tabled_drawn_exported_and_reported(tmp_path):
    found = compare([Stepping(0.05), CertifiedPFS.default], TOY)
    assert repr(found) == "<Comparison of 2 players on 'binding toy': 3 trials of 60 rounds>"
    assert str(found).splitlines()[1].startswith("Stepping")
    assert found.table("markdown").count("\n") == 3
    assert "<table>" in found.table()._repr_html_()
    assert len(found.plot().axes[0].get_lines()) == 4  # two curves, a bound and the line at 0
    assert found.plot("instant")._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="kind must be one of"):
        found.plot("pie")
    assert found.table("latex").startswith("\\begin{tabular}")
    assert found.export(tmp_path / "all.csv").read_text().count("\n") == 1 + 2 * 3
    assert to_xarray(found).sizes
    page = found.report(tmp_path).read_text()
    assert "Stepping" in page
    assert "sf.compare([Stepping, CertifiedPFS.default], binding toy)" in page


def test_it_is_saved_as_a_results_file_of_the_same_rows(tmp_path):
    found = compare([Stepping(0.05), Stepping(0.1)], TOY)
    assert [row.algorithm for row in found.rows] == ["Stepping (1)", "Stepping (2)"]
    for path in (found.save(tmp_path / "out"), found.save(tmp_path / "mine.sqlite")):
        with Results.open(path) as results:
            rows = gather(results)
            assert results.header()["seed"] == 0
        for row, saved in zip(found.rows, rows, strict=True):
            assert (row.algorithm, row.facts) == (saved.algorithm, saved.facts)
            for name, array in row.arrays.items():
                np.testing.assert_array_equal(saved.arrays[name], array)


def test_rates_have_intervals():
    found = compare([PFS.anytime], depot, horizon=[50, 100, 200], trials=4)
    (fit,) = found.rates()
    assert fit.horizons == (50, 100, 200)
    assert fit.rate is not None
    assert fit.rate.low <= fit.rate.slope <= fit.rate.high


def test_a_refusal_is_told_under_the_table():
    start = Problem.of(TOY.costs, TOY.constraint, TOY.domain, [0.5, 0.5], name="edge")
    found = compare([LeaderFollower.default, Stepping(0.05)], start)
    assert [row.status for row in found.rows] == ["rejected", "done"]
    table, _, reason = str(found).rpartition("\n")
    assert "rejected" in table
    assert reason.startswith("LeaderFollower.default on edge, T = 60: ")
    assert found.rows[0].note in reason


def test_a_problem_of_the_same_name_has_its_own_best_action():
    first, second = (problems.binding_toy(horizon=50, trials=2, streams=s) for s in (1, 2))
    compare([OGD.fixed], first)
    found = compare([OGD.fixed], second)
    tuned = OGD.fixed(second.constants, 50, second.benchmark.region)
    assert found.rows[0].arrays["regret"] == pytest.approx(
        sf.play(tuned, second).regret().upper[-1]
    )


def test_an_interrupt_returns_what_is_finished_with_a_warning():
    def press(event):
        if event.done == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted: 1 of 2 cells were played"):
        found = compare([Stepping(0.05), LeaderFollower.default], TOY, progress=press)
    assert [row.algorithm for row in found.rows] == ["Stepping"]
    assert repr(found).endswith(", interrupted>")


def test_a_missing_extra_is_told_before_a_round_is_played(monkeypatch):
    for name in ("scipy", "daqp", "qpsolvers", "piqp"):
        for module in [m for m in sys.modules if m.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
    find = sweep.find_spec
    monkeypatch.setattr(sweep, "find_spec", lambda n: None if n in sweep._SOLVERS else find(n))
    box = problems.rotated_box(3, horizon=20, trials=2)
    played = []
    with pytest.raises(MissingExtraError, match=r"surefoot\[solve\].*OGD.fixed on rotated box"):
        compare([OGD.fixed], box, progress=played.append)
    assert not played


def test_a_bar_is_shown_in_a_terminal_and_nothing_elsewhere(capsys, monkeypatch):
    compare([Stepping(0.05)], TOY)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    compare([Stepping(0.05)], TOY)
    assert "1/1 cells" in capsys.readouterr().err
    compare([Stepping(0.05)], TOY, progress=False)
    assert capsys.readouterr().err == ""


def test_a_bar_is_shown_in_a_notebook(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    compare([Stepping(0.05)], TOY)
    assert "1/1 cells" in capsys.readouterr().err


def test_a_function_makes_the_problem_with_blocks_of_trials():
    found = compare([Stepping(0.01), LeaderFollower.default], depot, horizon=[5, 10], trials=31)
    assert found.outcome.cells == 8
    assert {row.trials for row in found.rows} == {31}
    rows = {(row.algorithm, row.horizon): row.arrays["best"] for row in found.rows}
    np.testing.assert_array_equal(rows["Stepping", 10], rows["LeaderFollower.default", 10])
    assert len(np.unique(rows["Stepping", 10], axis=0)) == 31  # every trial has its own streams
    shorter = compare([Stepping(0.01)], depot, horizon=10, trials=2)
    np.testing.assert_array_equal(shorter.rows[0].arrays["best"].shape, (2, 2))


def test_a_rule_with_an_if_is_compared():
    @dataclass(frozen=True)
    class Careful(Stepping):
        def step(self, state, feedback):
            if feedback.constraint_value > -0.1:
                return state, Info()
            return super().step(state, feedback)

    (row,) = compare([Careful(0.1)], TOY).rows
    assert row.facts.engine == "loop"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], TOY), "players must not be empty"),
        (([PFS], TOY), r"must come with a tuning, as \(PFS, 'anytime'\), got PFS without one"),
        (([3], TOY), "a player must be an algorithm, .* got 3"),
        (([(PFS, "best")], TOY), "PFS has no 'best'; known: anytime, eventually, "),
        (([(RECOO, "tuned")], TOY), "RECOO has no 'tuned'; known: fixed, "),
        (([Stepping(0.1)], 3), "problem must be a Problem, or a function .* got 3"),
        (([Stepping(0.1)], depot), "horizon must be given with a function as problem"),
        (({"": Stepping(0.1)}, TOY), "the label of a player must be a line of text"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        compare(*arguments)


def test_more_trials_than_the_problem_has_are_refused():
    with pytest.raises(ValueError, match="trials must be at most 3, the runs of the problem's"):
        compare([Stepping(0.1)], TOY, trials=4)
    assert compare([Stepping(0.1)], TOY, trials=2).rows[0].trials == 2


def test_a_player_that_fails_is_told_and_the_others_are_there():
    @dataclass(frozen=True)
    class Broken(Stepping):
        def step(self, state, feedback):
            raise RuntimeError("no more")

    with pytest.warns(UserWarning, match="1 of 2 cells failed: .*RuntimeError: no more"):
        found = compare([Broken(0.1), Stepping(0.1)], TOY)
    assert [row.status for row in found.rows] == ["failed", "done"]
    assert "1 cell failed" in repr(found)
