"""The benchmark at tiny size: its rivals do the same as the library, and its reports are right."""

import importlib
import importlib.util
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

ROOT = Path(__file__).parents[1]


def load(name, package=False):
    """The benchmarks are a package beside the tests, and not installed."""
    path = ROOT / "benchmarks" / ("__init__.py" if package else f"{name}.py")
    where = [str(path.parent)] if package else None
    full = "benchmarks" if package else f"benchmarks.{name}"
    spec = importlib.util.spec_from_file_location(full, path, submodule_search_locations=where)
    sys.modules[full] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


load("benchmarks", package=True)
main = load("__main__")
batch, findings, limit, projection, rivals, streams, timing, update = (
    importlib.import_module(f"benchmarks.{name}")
    for name in (
        "batch",
        "findings",
        "limit",
        "projection",
        "rivals",
        "streams",
        "timing",
        "update",
    )
)
TINY = timing.Effort(0.01, tiny=True)


@pytest.mark.parametrize("part", list(main.PARTS))
@pytest.mark.slow
def test_every_part_runs_at_tiny_size_and_reports(part, tmp_path, capsys):
    tiny = ["--tiny", "--seconds", "0.01", "--only", part, "--out", str(tmp_path)]
    assert main.main(tiny) == 0
    assert "bars met" in capsys.readouterr().out
    assert "surefoot" in (tmp_path / "bench.txt").read_text()
    assert list(tmp_path.glob("*.csv"))


def test_no_numbers_of_a_smoke_test_get_into_the_documentation():
    with pytest.raises(SystemExit):
        main.main(["--tiny", "--write-docs"])


# --- timing --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_contestants_take_turns_in_rotating_order():
    order = []
    works = {name: lambda name=name: order.append(name) for name in "abc"}
    times = timing.take_turns(works, TINY)
    turns = len(times["a"])
    assert turns == len(times["c"]) >= 3
    measured = order[-3 * turns :]
    assert ["".join(measured[i : i + 3]) for i in (0, 3, 6)] == ["abc", "bca", "cab"]


def test_a_ratio_is_library_over_rival_turn_by_turn_and_times_are_for_one_unit():
    times = {"ours": np.array([3.0, 6.0, 9.0]), "theirs": np.array([2.0, 2.0, 3.0])}
    row = findings.compared("p", "c", times, "ours", "theirs", units=10, bar=2.9)
    assert row.ratio == pytest.approx((3.0, 2.25, 3.0))
    assert (row.ours.median, row.theirs.median) == pytest.approx((0.6, 0.2))
    assert row.is_met is False
    assert row._replace(bar=None).is_met is None


# --- the rivals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 7])
def test_the_rounds_have_cuts_and_free_steps_and_none_is_outside(dimension):
    problem = streams.cube_toy(dimension, 600)
    rounds = streams.rounds_of(streams.as_plotted(problem.domain), problem, 600, kept=300)
    assert len(rounds.seen) == 300
    assert 0.02 < rounds.cut_share < 0.98
    assert max(f.constraint_value for f in rounds.seen) <= 0


def test_a_rival_that_does_something_else_is_refused():
    problem = streams.cube_toy(2, 300)
    rounds = streams.rounds_of(streams.as_plotted(problem.domain), problem, 300, kept=60)
    update.by_hand(rounds)
    with pytest.raises(AssertionError, match="must do the same"):
        update.by_hand(rounds, lambda *a: rivals.hand_step(*a[:5], 2 * a[5], a[6]))


@pytest.mark.skipif(limit.compiled() is None, reason="there is no C compiler")
def test_the_loop_in_c_plays_the_same_game():
    problem = streams.cube_toy(3, 40, runs=4)
    trace, player = streams.play_bare(problem, "batch"), streams.as_plotted(problem.domain)
    numbers = (player.eta, player.rho, float(player.domain.radius))
    game = limit.CubeGame(np.array(problem.costs.targets), 6.0, 0.5, *numbers)
    for _ in range(2):  # a second game begins anew
        game()
        np.testing.assert_allclose(game.total, trace.total_cost, rtol=1e-12)
        np.testing.assert_allclose(game.worst, trace.violations.largest, rtol=1e-12)


# --- projection ----------------------------------------------------------------------------------


def test_a_solver_that_overshoots_is_tightened_until_no_round_is_outside():
    case = projection.cases(tiny=True)[0]
    exact = projection.SOLVERS[-1]

    def off(A, b):
        inner = exact.make(A, b)
        away = 3e-7 / np.sqrt(A.shape[1])
        return lambda y: inner(y) + away * np.sign(y)

    sloppy = projection.Solver("sloppy", off, "numpy")
    assert projection.least_margin(case, sloppy, 5.0) == pytest.approx(1e-6)
    assert projection.least_margin(case, exact, 5.0) == 0


def test_both_methods_end_inside_and_where_projection_wins_is_said():
    lines = projection.compete(projection.cases(tiny=True)[-1], 5.0)
    assert [line.method for line in lines] == [*projection.OURS, "clip"]
    assert not any(line.outside for line in lines)
    assert lines[1].regret < lines[0].regret  # leader and follower against certified steps
    quick = lines[-1]._replace(seconds=lines[0].seconds / 2, regret=lines[0].regret / 4)
    said = projection.verdict([lines[0], quick])
    assert said.startswith("projection: a round of projection is quicker on d = 2, a box (clip);")
    assert said.endswith("its regret is less on d = 2, a box (0.25 of ours)")


# --- the report ----------------------------------------------------------------------------------


def spread(value):
    return timing.Spread(value, 0.9 * value, 1.1 * value)


ROWS = [
    findings.Row(
        "update",
        "d = 2",
        "PFS.update",
        "step by hand",
        spread(3e-6),
        spread(2e-6),
        spread(1.4),
        bar=1.5,
    ),
    findings.Row("start", "on the wall", "surefoot --help", "", spread(0.45), bar=0.3),
]


def test_a_missed_bar_is_marked_and_named_in_the_summary():
    pipe = io.StringIO()
    table = findings.ratio_table("update", "title", ROWS)
    findings.show(table, Console(file=pipe, width=150))
    assert "1.5 met" in pipe.getvalue()
    assert "0.3 s MISSED" in pipe.getvalue()
    assert [r["met"] for r in table.records] == [True, False]
    assert main.summary({"update": findings.Findings(ROWS)}) == (
        "bars met: 1 of 2\nmissed: surefoot --help, on the wall: 450 ms, bar 0.3 s"
    )


def test_the_page_takes_a_table_between_its_marks_and_must_have_them():
    page = "a\n<!-- bench update -->\nold\n<!-- end update -->\nb\n"
    table = findings.ratio_table("update", "title", ROWS[:1])
    text = findings.put_in(page, "update", findings.markdown(table))
    assert text.startswith("a\n<!-- bench update -->\n| case | library |")
    assert text.endswith("| 1.40 | 1.26 to 1.54 | 1.5 met |\n<!-- end update -->\nb\n")
    assert findings.put_in(text, "update", "old") == page
    with pytest.raises(ValueError, match="must have the marks"):
        findings.put_in(page, "scan", "text")


def test_the_documentation_has_a_place_for_everything_that_is_found():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    remarks = [f"{part}-remarks" for part in main.PARTS if part != "batch"]
    for name in (*main.PARTS, *remarks, "compile", "memory", "machine", "summary"):
        assert f"<!-- bench {name} -->" in page, name


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.21e-9, "3.21 ns"), (4.5e-5, "45 us"), (0.3, "300 ms"), (9000.0, "2.5 h")],
)
def test_durations_have_a_unit_that_fits(seconds, text):
    assert findings.duration(seconds) == text


# --- unknown constants ---------------------------------------------------------------------------


@pytest.mark.slow
def test_rules_without_constants_are_played_and_their_bars_named():
    unknown = importlib.import_module("benchmarks.unknown")
    system = unknown.System.draw(0, 30)
    games = {
        name: [unknown.play(player, system)]
        for name, player in unknown.players(system, short=True).items()
    }
    assert all(one.outside <= one.allowed for (one,) in games.values())
    assert [len(row) for row in unknown.rows_of(games)] == [6] * 4
    worse = games | {"unknown, theta = 2": [games["G_g known"][0]._replace(outside=9)]}
    assert "never more rounds outside than the theorem allows" in unknown.missed_bars(worse)


@pytest.mark.slow
def test_a_theorem_is_kept_and_what_has_none_is_left():
    assumptions = importlib.import_module("benchmarks.assumptions")
    for row in assumptions.ROWS:
        found = [row.play(seed, 100) for seed in range(2)]
        if row.promised:
            assert all(one.outside == 0 and one.worst <= 0 for one in found), row.rule
    across = next(row for row in assumptions.ROWS if row.rule == "announced as `within`")
    assert across.play(0, 100).outside > 0
