"""Players of any kind on one problem, from Python."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import numpy as np
import pytest
from tests._own import Stepping

import surefoot as sf
from surefoot import OGD, PFS, Ball, LeaderFollower, Problem, compare, problems
from surefoot.core.types import Info
from surefoot.experiments import Results
from surefoot.problems.constraints import L2Norm
from surefoot.problems.costs import Quadratic

TOY = problems.binding_toy(60, trials=3)


def depot(*, horizon, trials, streams):
    wishes = np.random.default_rng(streams).uniform(0.0, 1.0, size=(horizon, trials, 2))
    return Problem.of(Quadratic(wishes, 2.0), L2Norm(0.6), Ball(1.2), [0.0, 0.0], name="depot")


def test_players_of_all_kinds_meet_the_same_streams(tmp_path):
    players = {
        "mine": Stepping(0.05),
        "tuned": PFS.tuned(TOY.constants, 60),
        "made": LeaderFollower.default,
        "named": (OGD, "fixed"),
    }
    found = compare(players, TOY, folder=tmp_path)
    rows = {row.algorithm: row for row in found.rows}
    assert list(rows) == list(players)
    assert [rows[n].verdict for n in players] == ["not claimed", "held", "held", "held"]
    for row in rows.values():
        np.testing.assert_array_equal(row.arrays["best"], rows["mine"].arrays["best"])
    trace = sf.play(Stepping(0.05), TOY, every=1)
    np.testing.assert_allclose(rows["mine"].arrays["regret"], trace.final_regret(), rtol=1e-12)
    assert rows["mine"].facts.parameters["eta"].value == 0.05
    assert rows["made"].facts.guarantee.name == "Theorem G (leader and follower)"
    assert list(found.traces) == list(players)
    assert found.traces["tuned"].verdict() == sf.play(players["tuned"], TOY).verdict()


@pytest.mark.slow
def test_it_is_shown_tabled_drawn_exported_and_reported(tmp_path):
    found = compare([Stepping(0.05), LeaderFollower.default], TOY, folder=tmp_path)
    assert repr(found) == (
        "<Comparison of 2 players on 'binding toy': 3 trials of 60 rounds, 2 cells; "
        "print its table>"
    )
    assert str(found).splitlines()[1].startswith("Stepping")
    assert found.table("markdown").count("\n") == 3
    assert "<table>" in found._repr_html_()
    assert [len(ax.get_lines()) > 0 for ax in found.plot().axes] == [True] * 3
    assert found.export("csv").read_text().count("\n") == 1 + 2 * 3
    assert found.to_xarray().sizes
    page = found.report().read_text()
    assert "Stepping" in page
    assert "sf.compare([Stepping, LeaderFollower.default], binding toy)" in page


def test_called_again_only_what_is_new_is_played(tmp_path):
    first = compare([Stepping(0.05), Stepping(0.1)], TOY, folder=tmp_path)
    assert (first.outcome.done, [r.algorithm for r in first.rows]) == (
        2,
        ["Stepping (1)", "Stepping (2)"],
    )
    again = compare({"slow": Stepping(0.05), "new": Stepping(0.2)}, TOY, folder=tmp_path)
    assert (again.outcome.done, again.outcome.skipped) == (1, 1)
    forced = compare([Stepping(0.05)], TOY, folder=tmp_path, force=True)
    assert forced.outcome.done == 1
    other = compare([Stepping(0.05)], problems.binding_toy(60, trials=2), folder=tmp_path)
    assert other.outcome.done == 1


def test_a_function_makes_the_problem_with_blocks_of_trials(tmp_path):
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
        (([PFS], TOY), r"must come with a tuning, as \(PFS, 'default'\), got PFS alone"),
        (([3], TOY), "a player must be an algorithm, .* got 3"),
        (([(PFS, "best")], TOY), "a player must be an algorithm"),
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
    assert "1 failed" in repr(found)


@pytest.mark.slow
def test_killed_and_called_again_it_goes_on(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(
        textwrap.dedent(
            """
            import surefoot as sf
            from surefoot.problems import binding_toy

            toy = binding_toy(400, trials=150)
            found = sf.compare([sf.PFS.anytime, sf.OGD.fixed], toy, folder="out", engine="loop")
            print(found.outcome.done, found.outcome.skipped)
            """
        )
    )

    def cells():
        file = tmp_path / "out" / "results.sqlite"
        if not file.exists():
            return 0
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as base:
            return base.execute("SELECT count(*) FROM cells").fetchone()[0]

    process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path)
    limit = time.monotonic() + 120
    while cells() < 2 and time.monotonic() < limit:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = cells()
    assert 2 <= there < 10
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(10 - there), str(there)]
    with Results.open(tmp_path / "out" / "results.sqlite") as results:
        assert set(results.have().values()) == {"done"}
