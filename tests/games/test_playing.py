"""Bad input ends in one sentence at the call that got it."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, play, problems
from surefoot.core.optional import MissingExtraError
from surefoot.problems import Problem, adversarial_cube
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm
from surefoot.problems.costs import Adversarial, Linear
from surefoot.rules import RECOO, CertifiedPFS, CVVPro, ScalarDPP, TrackingPenalty
from surefoot.testing import asarray

PLAYER = PFS(eta=0.01, rho=0.01, domain=Ball(1.0))
TOY = problems.paper_toy(20, trials=2)
CUBE = adversarial_cube("constant", horizon=20)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"horizon": 0}, "horizon must be a whole number of rounds >= 1, got 0"),
        ({"horizon": 2.5}, "horizon must be a whole number of rounds >= 1, got 2.5"),
        ({"horizon": True}, "horizon must be a whole number of rounds >= 1, got True"),
        ({"horizon": 21}, "horizon must be at most 20, the rounds of the costs, got 21"),
        ({"engine": "gpu"}, "engine must be one of 'auto', 'loop', 'batch', 'kernel', 'scan', got"),
        ({"watch": "on"}, "watch must be one of 'off', 'record', 'warn', 'raise', got 'on'"),
        ({"every": 0}, "every must be a whole number >= 1 or None, got 0"),
        ({"every": 1.5}, "every must be a whole number >= 1 or None, got 1.5"),
        ({"callback": 3}, "callback must be a function, got 3"),
        ({"start": [0.1]}, "start.shape must be (2,), got (1,)"),
        ({"start": [0.1, np.nan]}, "start must be finite, got nan at index 1"),
        ({"start": "here"}, "start must be a vector of numbers, got 'here'"),
        ({"start": [0.1, 0.2, 0.3], "engine": "loop"}, "start.shape must be (2,), got (3,)"),
        ({"start": [[0.1, 0.2]], "engine": "loop"}, "start.shape must be that of a vector"),
        (
            {"start": asarray([0.1], "array-api-strict"), "engine": "loop"},
            "start.shape must be (2,), got (1,)",
        ),
        ({"start": [0.9, -0.9]}, "x1 must be in the domain"),
    ],
)
@pytest.mark.parametrize("problem", [TOY, CUBE], ids=["runs", "one run"])
def test_a_bad_option_of_play_is_named(problem, options, sentence):
    with pytest.raises(ValueError) as raised:
        play(PLAYER, problem, **options)
    assert str(raised.value).startswith(sentence)
    assert "\n" not in str(raised.value)


def off_centre(radius=0.6):
    costs = Linear(np.tile([-1.0, 0.5], (20, 1)))
    ball = Ball(radius, [0.3, -0.1])
    return Problem.of(costs, LinfNorm(0.4, 2, [0.3, -0.1]), ball, [0.3, -0.1])


@pytest.mark.parametrize("kind", [PFS.tuned, CertifiedPFS.default, ScalarDPP.tuned])
def test_a_guarantee_with_a_ball_around_another_point_is_refused(kind):
    problem = off_centre()
    with pytest.raises(ValueError, match=r"^the player's domain must hold the problem's Ball\("):
        play(kind(problem.constants, 20), problem)
    assert play(kind(problem.constants, 20, problem.domain), problem).status == "ok"


def test_without_a_guarantee_any_ball_that_holds_the_start_may_be_tried():
    problem = off_centre()
    assert play(PFS.tuned(problem.constants, 20).algorithm, problem).status == "ok"


def test_a_ball_around_another_point_that_holds_the_problems_is_accepted():
    problem = off_centre()
    separately = np.hypot(0.3, 0.1)
    assert play(PFS.tuned(problem.constants, 20, Ball(0.601 + separately)), problem).status == "ok"
    with pytest.raises(ValueError, match="must hold the problem's"):
        play(PFS.tuned(problem.constants, 20, Ball(0.599 + separately)), problem)


def test_a_method_that_projects_onto_the_feasible_set_needs_no_ball():
    problem = replace(off_centre(), constraint=L2Norm(0.4, [0.3, -0.1]))
    trace = play(OGD.fixed(problem.constants, 20, Ball(0.4, [0.3, -0.1])), problem)
    assert trace.status == "ok"


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
def test_a_start_outside_the_players_set_is_named_with_the_set(engine):
    player = OGD(eta=0.1, domain=TOY.constraint.region)
    with pytest.raises(ValueError, match=r"^x1 must be in the domain Box\(lower=array\(\[-0\.5, "):
        play(player, TOY, start=[0.9, 0.0], engine=engine)


@pytest.mark.parametrize("player", [3, "PFS", PFS, None, (PLAYER, None)])
def test_a_player_that_is_no_algorithm_is_named(player):
    sentence = "^player must be an algorithm with init and step, or a Tuned, got "
    with pytest.raises(ValueError, match=sentence):
        play(player, TOY)


def test_a_guarantee_for_more_rounds_than_there_are_costs_is_refused():
    with pytest.raises(ValueError, match="horizon must be at most 20, the rounds of the costs"):
        play(PFS.tuned(TOY.constants, 50), TOY)
    assert play(PFS.tuned(TOY.constants, 50), TOY, horizon=20).horizon == 20


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize(
    ("value", "subgradient", "sentence"),
    [
        (lambda x: x, lambda x: x, "value_of(x)"),
        (lambda x: "low", lambda x: x, "value_of(x)"),
        (lambda x: 0.0, lambda x: 1.0, "constraint_subgradient"),
        (lambda x: 0.0, lambda x: x[..., :1], "constraint_subgradient.shape must be "),
    ],
)
def test_a_users_constraint_of_the_wrong_shape_is_named(engine, value, subgradient, sentence):
    problem = replace(TOY, constraint=FunctionConstraint(value, subgradient))
    with pytest.raises(ValueError) as raised:
        play(PLAYER, problem, engine=engine)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize("rule", [lambda t, x: x[..., :1], lambda t, x: 2.0 * np.ones(3)])
def test_a_users_cost_gradient_of_the_wrong_shape_is_named(engine, rule):
    problem = replace(TOY, costs=Adversarial(rule, horizon=20, dimension=2, bound=1.0))
    with pytest.raises(ValueError, match=r"^cost_gradient\.shape must be "):
        play(PLAYER, problem, engine=engine)


class Totals:
    """A user's cost stream that forgets that a batch wants a column."""

    horizon, runs, dimension = 5, None, 2

    def value(self, t, x):
        return (x * x).sum(axis=-1)

    def gradient(self, t, x):
        return 2 * x

    def rounds(self, start, stop):
        return self

    def run(self, index):
        return self


def test_a_users_cost_of_the_wrong_shape_is_named():
    problem = Problem(
        costs=Totals(),
        constraint=TOY.constraint,
        domain=TOY.domain,
        start=[0.1, 0.0],
        constants=TOY.constants,
    )
    assert play(PLAYER, problem).horizon == 5
    with pytest.raises(ValueError, match=r"^cost_value\.shape must be \(1, 1\), got \(1,\)$"):
        play(PLAYER, problem, engine="batch")


def test_the_scan_engine_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError) as raised:
        play(PLAYER, TOY, engine="scan")
    assert str(raised.value) == (
        "the scan engine needs jax, which is not installed: pip install 'surefoot[jax]'"
    )


def test_a_game_that_failed_leaves_player_and_problem_as_they_were():
    before = repr(PLAYER), TOY.costs.targets.copy()
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        play(PLAYER, TOY, start=[3.0, 0.0])
    assert repr(PLAYER) == before[0]
    np.testing.assert_array_equal(TOY.costs.targets, before[1])
    assert play(PLAYER, TOY).status == ("ok", "ok")


def test_a_tuned_player_plays_the_horizon_it_was_tuned_for():
    toy = problems.paper_toy(50, trials=2)
    assert play(PFS.tuned(toy.constants, 30), toy).horizon == 30
    assert play(PLAYER, toy).horizon == 50
    assert play(OGD.fixed(toy.constants, 40, toy.constraint.region), toy).horizon == 40


@pytest.mark.parametrize("rule", [RECOO.fixed, TrackingPenalty.known_horizon, CVVPro.tuned])
def test_a_ball_around_zero_is_refused_where_the_problem_is_elsewhere(rule):
    # The start is in the player's ball, and a corner of the feasible set is not.
    aside = Problem.of(
        Linear(np.ones((10, 2))),
        Affine(np.vstack([np.eye(2), -np.eye(2)]), [1.0, 0.5, 0.0, 0.5]),
        Ball(1.0, [0.5, 0.0]),
        [0.5, 0.0],
    )
    tuned = rule(aside.constants, 10, aside.benchmark.region)
    with pytest.raises(ValueError, match=r"^the player's domain must hold .* move the problem"):
        play(tuned, aside)
