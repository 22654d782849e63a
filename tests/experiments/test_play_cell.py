import json
import re
from dataclasses import fields

import numpy as np
import pytest

from surefoot import play
from surefoot.core.plain import json_plain
from surefoot.experiments import cells as playing
from surefoot.experiments.build import ALGORITHMS_BY_NAME, PROBLEMS, build_player, build_problem
from surefoot.experiments.cells import play_cell, play_cells, stream_seed
from surefoot.experiments.record import ComparatorFacts, Facts, from_plain
from surefoot.games import violations
from surefoot.rules import Theorem1

NAMES = sorted(PROBLEMS)

TOY = {"name": "binding_toy", "arguments": {"published": None}}
CUBE = {
    "name": "adversarial_cube",
    "arguments": {"adversary": "out", "dimension": 2, "radius": 0.5, "size": 1.0},
}
BOX = {"name": "rotated_box", "arguments": {"dimension": 3, "costs": "quadratic", "seed": 4}}
PLAIN = {"name": "PFS", "parameters": {"eta": 0.1, "rho": 0.01}}


def spec(problem=TOY, algorithm=PLAIN, horizon=60, trials=3, every=None, actions=0, **more):
    made = {
        "problem": problem,
        "algorithm": algorithm,
        "horizon": horizon,
        "block": 0,
        "trials": trials,
        "seed": 5,
        "engine": "batch" if trials > 1 else "loop",
        "recording": {"every": every, "actions": actions},
    }
    return made | more


def game(spec, **options):
    """The same by hand, every round kept."""
    seed = stream_seed(spec["seed"], spec["problem"], spec["block"])
    problem = build_problem(spec["problem"], spec["horizon"], spec["trials"], seed, spec["block"])
    player, *_ = build_player(spec["algorithm"], problem, spec["horizon"])
    return play(player, problem, engine=spec["engine"], watch="record", **options)


def done(*args, **kwargs):
    found = play_cell("a", spec(*args, **kwargs))
    assert (found.status, found.note) == ("done", "")
    json.dumps(json_plain(found.facts), allow_nan=False)
    return found


def test_the_numbers_of_each_trial_are_those_of_a_game_that_keeps_everything():
    found, trace = done(every=7).arrays, game(spec())
    seen = violations(trace.constraint)
    np.testing.assert_array_equal(found["largest"], seen.largest)
    np.testing.assert_array_equal(found["violations"], seen.count)
    np.testing.assert_array_equal(found["first_violation"], seen.first_violation)
    np.testing.assert_array_equal(found["feasible_from"], seen.feasible_from)
    np.testing.assert_allclose(found["sum"], seen.sum, rtol=1e-12)
    np.testing.assert_allclose(found["regret"], trace.final_regret(), rtol=1e-9)
    np.testing.assert_array_equal(found["total_cost"], trace.total_cost)
    np.testing.assert_array_equal(found["largest_cost_gradient"], trace.observed.cost_gradient)
    best = np.clip(trace.problem.costs.targets.mean(axis=0), -0.5, 0.5)
    np.testing.assert_allclose(found["best"], best, rtol=1e-12)


def test_paths_are_thinned_as_asked_and_their_peaks_are_not():
    found, trace = done(every=7).arrays, game(spec())
    rounds = found["rounds"]
    np.testing.assert_array_equal(rounds, [7, 14, 21, 28, 35, 42, 49, 56, 60])
    np.testing.assert_array_equal(found["constraint"], trace.constraint[rounds - 1])
    peaks = [trace.constraint[a:b].max(axis=0) for a, b in zip([0, *rounds], rounds, strict=False)]
    np.testing.assert_array_equal(found["peak"], peaks)
    # Against the best action of all rounds, after each of them.
    costs, best = trace.problem.costs, found["best"]
    spent = np.cumsum([costs.value(t, best)[:, 0] for t in range(60)], axis=0)[rounds - 1]
    wanted = trace.cost_sum[rounds - 1] - spent
    np.testing.assert_allclose(found["regret_path"], wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["regret_path"][-1], found["regret"], rtol=1e-12)
    assert "bound_path" not in found  # nothing is promised
    assert not {"rounds", "peak", "regret_path"} & set(done().arrays)


def test_a_promise_has_its_bound_along_the_way():
    found = done(algorithm={"name": "PFS", "tuning": "tuned"}, every=20)
    trace = game(spec(algorithm={"name": "PFS", "tuning": "tuned"}))
    wanted = trace.guarantee.regret_bound(found.arrays["rounds"])
    np.testing.assert_array_equal(found.arrays["bound_path"], wanted)
    told = found.facts.guarantee
    assert told.text == "Theorem 1 for T = 60 (every round)"
    assert told.regret_bound == wanted[-1]
    assert told.bounds == {"round": 0}
    assert told.premises[0].startswith("no cost gradient is longer than G_f = ")
    share = found.arrays["regret"].max() / wanted[-1]
    assert found.facts.regret_share == pytest.approx(share)
    assert found.facts.verdict.word == "held"
    eta, origin = found.facts.parameters["eta"]
    assert (eta, origin) == (trace.guarantee.eta, "Theorem 1")


def test_actions_of_the_first_trials_and_the_edge_of_the_set():
    found, trace = done(every=20, actions=2).arrays, game(spec())
    np.testing.assert_array_equal(found["actions"], trace.actions[[19, 39, 59], :2])
    edge = found["boundary"]
    assert edge.shape == (360, 2)
    g = trace.problem.constraint.value(edge)[:, 0]
    assert (g <= 0).all()
    np.testing.assert_allclose(g, 0, atol=1e-12)


@pytest.mark.parametrize("every", [None, 7])
def test_the_costs_of_an_adversary_are_those_it_answered_with(every):
    found = done(CUBE, trials=1, every=every)
    trace = game(spec(CUBE, trials=1))
    assert found.arrays["regret"] == pytest.approx(float(trace.final_regret()))
    assert found.facts.comparator == ComparatorFacts(gap=0.0, exact=True)
    if every:
        g, rounds = trace.constraint, found.arrays["rounds"]
        np.testing.assert_array_equal(rounds, [7, 14, 21, 28, 35, 42, 49, 56, 60])
        peaks = [[g[a:b].max()] for a, b in zip([0, *rounds], rounds, strict=False)]
        np.testing.assert_array_equal(found.arrays["peak"], peaks)


def test_a_comparator_without_a_closed_form_is_an_interval():
    found = done(BOX, every=20)
    gap = found.arrays["regret"] - found.arrays["regret_lower"]
    assert (gap > 0).all()
    assert found.facts.comparator.exact is False
    assert found.facts.comparator.gap == pytest.approx(gap.max())
    # Its upper end, as the regret is.
    np.testing.assert_allclose(found.arrays["regret_path"][-1], found.arrays["regret"], rtol=1e-12)


def test_a_constant_of_the_specification_is_told_as_such_and_its_breach_too():
    player = {"name": "PFS", "tuning": "anytime", "constants": {"G_f": 1.0}}
    found = done(algorithm=player, block=1)
    assert found.facts.constants["G_f"] == (1.0, "specification")
    assert found.facts.constants["G_g"] == (1.0, "derived")
    assert found.facts.verdict.word == "premise broken"
    (breach,) = found.facts.breaches
    assert (breach.constant, breach.limit) == ("G_f", 1.0)
    assert breach.observed > 1
    assert 30 <= breach.trial < 33  # of all trials, not of the block
    assert breach.sentence in found.facts.verdict.sentence


def test_a_lost_run_is_stopped_and_not_failed():
    # A step beyond the largest float.
    found = play_cell("a", spec(algorithm={"name": "OGD", "parameters": {"eta": 1e308}}))
    assert (found.status, found.facts.verdict.word) == ("done", "stopped")
    assert found.note.startswith("stopped in round 1: the point to project must be finite, got ")
    assert found.facts.regret_share is None


def test_a_theorem_that_says_no_refuses_in_its_own_words():
    found = play_cell("a", spec(algorithm={"name": "Mahdavi", "tuning": "no_violation"}))
    assert found.status == "rejected"
    assert "needs a horizon of at least" in found.note
    assert (found.facts, found.arrays) == (Facts(), {})


def test_an_error_fails_the_cell_and_keeps_its_sentence(monkeypatch):
    monkeypatch.setattr(playing, "play", lambda *a, **k: 1 / 0)
    found, other = play_cells([("a", spec()), ("b", spec(horizon=61))])
    assert found.status == other.status == "failed"
    told = r"ZeroDivisionError: division by zero \(test_play_cell\.py, line \d+\)"
    assert re.fullmatch(told, found.note)
    assert "test_play_cell.py" in found.provenance["traceback"]


def test_provenance_says_when_how_long_and_by_which_versions():
    found = done().provenance
    assert found["versions"]["numpy"] == np.__version__
    assert 0 < found["microseconds_a_round"] < 1e6
    assert found["seconds"] > 0
    assert found["finished"].endswith("+00:00")


def test_bits_do_not_depend_on_the_company():
    alone = play_cell("a", spec(every=7))
    cells = [("b", spec(horizon=90)), ("c", spec(BOX)), ("a", spec(every=7)), ("d", spec(seed=6))]
    (among,) = [c for c in play_cells(cells) if c.address == "a"]
    for name, value in alone.arrays.items():
        assert value.tobytes() == among.arrays[name].tobytes()
    assert alone.facts == among.facts


def test_neighbours_share_streams_and_comparator(monkeypatch):
    made = []
    keep = playing.build.build_problem
    monkeypatch.setattr(playing.build, "build_problem", lambda *a: made.append(a[1]) or keep(*a))
    monkeypatch.setattr(playing, "_problems", playing.Latest())
    other = {"name": "PFS", "parameters": {"eta": 0.2, "rho": 0.01}}
    play_cells([("a", spec()), ("b", spec(algorithm=other))])
    assert made == [60]
    play_cells([("c", spec(horizon=59)), ("d", spec())])  # the latest alone is kept
    assert made == [60, 59, 60]


@pytest.mark.parametrize(
    "change",
    [{"seed": 6}, {"block": 1}, {"horizon": 61}, {"trials": 2}, {"problem": TOY}],
    ids=lambda change: next(iter(change)),
)
def test_cells_with_other_streams_share_nothing(change):
    inside = {"name": "paper_toy", "arguments": {"published": None}}
    one, other = spec(inside), spec(**{"problem": inside} | change)
    streams = [playing.problem_of(s).costs for s in (one, other, one)]
    assert streams[0] == streams[2]
    assert streams[0] != streams[1]
    for cell, costs in zip((one, other), streams, strict=False):
        best = np.clip(costs.targets.mean(axis=0), -0.5, 0.5)
        np.testing.assert_allclose(play_cell("a", cell).arrays["best"], best, rtol=1e-12)


def test_a_regret_beyond_its_bound_fails_the_promise(monkeypatch):
    player = {"name": "PFS", "tuning": "tuned"}
    assert done(algorithm=player).facts.verdict.word == "held"
    monkeypatch.setattr(Theorem1, "regret_bound", lambda self, t: 1e-6 * np.asarray(t))
    assert done(algorithm=player).facts.verdict.word == "failed"


def test_results_are_plain_data():
    found = done(every=20, actions=1)
    assert {type(v) for v in found.arrays.values()} == {np.ndarray}
    assert all(v.base is None and v.dtype.kind in "if" for v in found.arrays.values())
    assert {f.name for f in fields(found)} >= {"facts", "arrays"}
    plain = json.loads(json.dumps(json_plain(found.facts)))
    assert from_plain(Facts, plain, "facts") == found.facts


@pytest.mark.parametrize(
    "name",
    ["SeparationDescent", "GarberKretzu", "RECOO", "CVVPro", "BlockBandit", "TrackingBlocks"],
)
def test_rules_that_cannot_be_compiled_are_played_run_by_run(name):
    row = {"name": name, "tuning": ALGORITHMS_BY_NAME[name].tunings[0]}
    auto, loop = (done(algorithm=row, engine=engine).arrays for engine in ("auto", "loop"))
    np.testing.assert_array_equal(auto["regret"], loop["regret"])
    np.testing.assert_array_equal(auto["largest"], loop["largest"])
    rejected = play_cell("a", spec(algorithm=row, engine="batch"))
    assert rejected.status == "failed"
    assert f"{name} is written for one run, not for a batch" in rejected.note


def test_bandits_look_in_other_directions_in_every_block():
    row = {"name": "BlockBandit", "tuning": "known_horizon"}
    still = {"name": "adversarial_cube", "arguments": CONSTANT}
    first, again, second = (
        done(still, row, trials=1, block=block).arrays["regret"] for block in (0, 0, 1)
    )
    assert first == again
    assert first != second


CONSTANT = {"adversary": "constant", "dimension": 2, "radius": 0.5, "size": 1.0}


@pytest.mark.slow
def test_entropic_averaging_is_at_home_on_the_portfolio():
    simplex = {"name": "portfolio", "arguments": {"dimension": 5, "spread": 0.2, "seed": 0}}
    found = done(simplex, {"name": "EntropicDualAveraging", "tuning": "fixed"})
    assert found.facts.verdict.word == "held"


def test_constraints_that_change_are_played_and_refused_where_a_theorem_has_one():
    halves = {
        "name": "changing_halfspaces",
        "arguments": {"dimension": 2, "margin": 0.2, "seed": 0},
    }
    found = done(halves, {"name": "ScalarDPP", "tuning": "changing"})
    assert found.facts.verdict.word == "held"
    tuned = {"name": "PFS", "tuning": "tuned"}
    assert "must have one constraint for all rounds" in play_cell("a", spec(halves, tuned)).note
