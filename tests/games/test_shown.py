"""What is shown of a game: frames, short reprs, and what a notebook shows."""

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
    problems,
)
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Quadratic
from surefoot.rules import ScalarDPP

TOY = problems.binding_toy(120, trials=3)
HOSTILE = "<script>alert('x')</script> & \"y\""


@pytest.fixture(scope="module")
def traces():
    players = [PFS.tuned(TOY.constants, 120), ScalarDPP.tuned(TOY.constants, 120)]
    return [play(player, TOY) for player in players]


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
        named,
        named.constants,
        calibrate(named, horizon=5),
        live.explain(),
    ]
    for thing in shown:
        text = thing._repr_html_()
        assert "<script" not in text
        assert text.count("<table>") == text.count("</table>") >= 1
    assert "&lt;script&gt;" in shown[0]._repr_html_()
    assert len(repr(live.explain())) < 120
