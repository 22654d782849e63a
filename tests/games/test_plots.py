"""Traces side by side: figure, table, frames, and what a notebook shows."""

import numpy as np
import pytest

from surefoot import (
    OGD,
    PFS,
    Ball,
    Controller,
    LeaderFollower,
    Problem,
    calibrate,
    play,
    plot,
    problems,
    table,
)
from surefoot.algorithms import ScalarDPP
from surefoot.games.plots import labelled
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Quadratic

TOY = problems.binding_toy(120, trials=3)
HOSTILE = "<script>alert('x')</script> & \"y\""


@pytest.fixture(scope="module")
def traces():
    players = [PFS.tuned(TOY.constants, 120), ScalarDPP.tuned(TOY.constants, 120)]
    return [play(player, TOY) for player in players]


def test_a_table_has_the_numbers_of_each_trace(traces):
    made = table(traces)
    assert [row[0] for row in made.rows] == ["PFS", "ScalarDPP"]
    first = traces[0]
    mean, std = first.final_regret().mean(), first.final_regret().std()
    outside = traces[1].violations.count.mean()
    assert made.rows[0][1:3] == ("120", f"{mean:.4g} ± {std:.2g}")
    assert made.rows[0][4:6] == ("every g <= 0", "0 of 120")
    assert made.rows[1][5] == f"{outside:.4g} of 120"
    assert made.rows[0][-1] == "held"
    assert len(str(made).splitlines()) == 3


def test_markdown_and_latex_escape_what_means_something_there(traces):
    marked = table({"a|b_c": traces[0]}, style="markdown")
    assert "| a\\|b_c |" in marked.splitlines()[2]
    tex = table({"a|b_c & 5%": traces[0]}, style="latex")
    assert r"a|b\_c \& 5\%" in tex
    assert r"every g $\le$ 0" in tex
    assert tex.count(r"\\") == 2
    assert "&lt;script&gt;" in table({HOSTILE: traces[0]}, style="html")
    with pytest.raises(ValueError, match="style must be"):
        table(traces, style="word")


def test_labels_tell_players_of_one_name_apart(traces):
    one = traces[0]
    assert list(labelled(one)) == ["PFS"]
    other = play(PFS.anytime(TOY.constants, 120), TOY)
    assert list(labelled([one, other])) == ["PFS, Theorem 1", "PFS, Corollary 1"]
    assert list(labelled([one, one])) == ["PFS, Theorem 1 (1)", "PFS, Theorem 1 (2)"]
    with pytest.raises(ValueError, match="traces must not be empty"):
        labelled([])
    with pytest.raises(ValueError, match="traces must be what play returns, got 3"):
        labelled([3])


def test_a_figure_has_curves_error_bars_and_bounds_and_is_shown_by_a_notebook(traces, tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot(traces, path=tmp_path / "a.png")
    regret, g, ends = figure.axes
    assert len(regret.get_lines()) == 4  # two curves, two bounds
    assert len(g.get_lines()) == 3  # two curves and the limit
    assert len(ends.containers) == 2  # error bars
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert (tmp_path / "a.png").stat().st_size > 1_000
    assert len(plot(traces, bounds=False).axes[0].get_lines()) == 2
    assert traces[0].plot()._repr_png_().startswith(b"\x89PNG")


def test_the_axis_is_logarithmic_where_curves_differ_by_decades(traces):
    pytest.importorskip("matplotlib")
    leader = play(LeaderFollower.default(TOY.constants), TOY, horizon=120)
    assert plot(leader).axes[0].get_yscale() == "log"  # its bound is far above
    near = {"a": traces[0], "b": traces[0]}
    assert plot(near, bounds=False).axes[0].get_yscale() == "linear"


def test_one_run_and_an_adversary_are_drawn_and_tabled():
    pytest.importorskip("matplotlib")
    cube = problems.adversarial_cube("out", horizon=40)
    trace = play(PFS(eta=0.05, rho=0.1, domain=Ball(1.0)), cube, every=4)
    assert table(trace).rows[0][2] == ""  # the costs of an adversary are not known when thinned
    assert len(plot(trace).axes) == 3
    single = Problem.of(Quadratic(np.ones((30, 2)), 2.0), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0])
    one = play(LeaderFollower.default(single.constants), single)
    assert "±" not in str(table(one))


def test_a_frame_has_a_line_per_run_and_round(traces):
    pytest.importorskip("pandas")
    trace = traces[0]
    frame = trace.to_pandas()
    assert len(frame) == 3 * 120
    part = frame[(frame["run"] == 2) & (frame["round"] == 50)].iloc[0]
    at = list(trace.rounds).index(50)
    assert part["cost"] == trace.cost[at, 2]
    assert part["constraint"] == trace.constraint[at, 2]
    assert [part["x0"], part["x1"]] == trace.actions[at, 2].tolist()
    lean = play(PFS.tuned(TOY.constants, 120), TOY, keep_actions=False, every=40)
    assert list(lean.to_pandas().columns) == [
        "run", "round", "cost", "cost_sum", "constraint", "peak",
    ]  # fmt: skip


def test_a_dataset_is_that_of_pandas(traces):
    pytest.importorskip("xarray")
    trace = traces[0]
    data = trace.to_pandas().set_index(["run", "round"]).to_xarray()
    assert data["cost"].dims == ("run", "round")
    assert float(data["x0"].sel(round=50, run=2)) == trace.actions[49, 2, 0]
    single = Problem.of(Quadratic(np.ones((30, 2)), 2.0), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0])
    one = play(OGD.fixed(single.constants, 30, LinfNorm(0.5, 2).region), single)
    assert "run" not in one.to_pandas()


def test_reprs_are_short_and_print_no_arrays(traces):
    trace = traces[0]
    for thing in (trace, trace.regret(), trace.problem):
        assert len(repr(thing)) < 300
        assert "array" not in repr(thing)
    assert repr(trace.regret()).startswith("<Regret of 3 runs after 120 rounds, 120 kept: ")
    assert repr(trace.regret().gap.max() == 0)
    assert "120 rounds of 3 runs, d = 2" in repr(trace.problem)


def test_what_a_notebook_shows_is_escaped(traces):
    named = Problem.of(
        Quadratic(np.ones((5, 2)), 2.0), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0], name=HOSTILE
    )
    player = LeaderFollower.default(named.constants)
    live = Controller(player, start=[0.0, 0.0])
    live.ask()
    live.tell(cost_gradient=[1.0, 1.0], constraint_value=-0.5, constraint_subgradient=[1.0, 0.0])
    shown = [
        play(player, named),
        named,
        named.constants,
        calibrate(named, horizon=5),
        live.explain(),
    ]
    for thing in shown:
        text = thing._repr_html_()
        assert "<script" not in text
        assert text.count("<table>") == text.count("</table>") >= 1
    assert "&lt;script&gt;" in shown[1]._repr_html_()
    assert len(repr(live.explain())) < 120
