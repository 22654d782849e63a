"""Leaders that add up gradients: AdaGrad per coordinate, and dual averaging with forecasts."""

import math

import numpy as np
import pytest
from benchmarks.learning import least_cost, streams as streams_of_costs
from tests.rules._gradients import actions_of, told

from surefoot import Ball, Constants, Feedback, LeaderFollower, play
from surefoot.rules import (
    AdaGradFTRL,
    DiagonalAdaGrad,
    DualAveraging,
    Forecasts,
    OptimisticDualAveraging,
)
from surefoot.sets import Box, L1Ball

BOX = Box([-1.0, -0.5], [1.0, 1.5])
X = np.array([0.5, 0.0])
KNOWN = Constants(R=2.0, G_f=7.0)
SUM = 3 / math.sqrt(2)


def streams(T, d):
    """Gradients of all kinds, by name."""
    rng = np.random.default_rng(5)
    signs = (-1.0) ** np.arange(T)[:, None]
    return {
        "constant": np.tile(rng.normal(size=d), (T, 1)),
        "flips": signs * np.ones(d),
        "random": rng.normal(size=(T, d)),
        "growing": 1.5 ** np.arange(T)[:, None] * rng.normal(size=(T, d)),
        "one after the other": np.eye(d)[np.arange(T) % d] * rng.normal(size=(T, 1)),
        "late": np.where(np.arange(T)[:, None] < T // 2, 0.0, rng.normal(size=(T, d))),
        "turns": np.where(np.arange(T)[:, None] < T // 2, 1.0, -3.0) * np.ones(d),
    }


def against(actions, gradients, comparators):
    """The regret against the best of some comparators."""
    paid = float((gradients * actions).sum())
    return paid - float((comparators @ gradients.sum(axis=0)).min())


def test_a_step_of_each_coordinate_by_hand():
    x = actions_of(AdaGradFTRL(eta=0.5, domain=BOX), X, [[3.0, 0.0], [-4.0, 0.1], [0.0, 9.0]])
    assert x[1].tolist() == [0.0, 0.0]  # 0.5 - 0.5 * 3/3; no slope, no step
    assert x[2] == pytest.approx([0.6, -0.5], abs=1e-15)  # 0.5 + 0.5 * 1/5; 0 - 0.5 * 0.1/0.1
    assert x[3, 0] == x[2, 0]


def test_the_units_of_a_coordinates_slope_do_not_matter():
    gradients = np.random.default_rng(1).normal(size=(40, 2))
    player = AdaGradFTRL(eta=0.7, domain=BOX)
    scaled = actions_of(player, X, gradients * np.array([8.0, 0.25]))
    assert (scaled == actions_of(player, X, gradients)).all()


@pytest.mark.parametrize("name", streams(2, 1))
@pytest.mark.parametrize("d", [1, 5])
def test_each_coordinate_keeps_the_bound_of_what_it_has_seen(name, d):
    rng = np.random.default_rng(d)
    box = Box(-rng.uniform(0.1, 2.0, d), rng.uniform(0.1, 2.0, d))
    for T in (1, 2, 7, 200):
        gradients = streams(T, d)[name]
        tuned = AdaGradFTRL.adaptive(Constants(R=9.0, G_f=1.0), None, box)
        for start in (np.zeros(d), box.upper):
            x = actions_of(tuned.algorithm, start, gradients)[:-1]
            paid = (gradients * x).sum(axis=0)
            total = gradients.sum(axis=0)
            regret = paid - np.minimum(total * box.lower, total * box.upper)
            bound = SUM * (box.upper - box.lower).max() * np.sqrt((gradients**2).sum(axis=0))
            assert (regret <= bound * (1 + 1e-12)).all()


def adversary(player, start, ways, T, rng):
    """Play against whoever sees the action first and pulls away from it."""
    state, actions, gradients = player.init(start), [], []
    for _ in range(T):
        grad = np.where(state.x >= start, 1.0, -1.0) * ways[rng.integers(len(ways))]
        actions.append(state.x)
        gradients.append(grad)
        state = player.update(state, told(grad))
    return np.array(actions), np.array(gradients)


@pytest.mark.parametrize("kind", [AdaGradFTRL, OptimisticDualAveraging])
def test_the_bound_holds_against_whoever_sees_the_action(kind):
    rng = np.random.default_rng(2)
    ways = np.abs(rng.normal(size=(20, 2)))
    G_f = float(np.linalg.norm(ways, axis=1).max())
    tuned = kind.adaptive(Constants(R=2.0, G_f=G_f), None, BOX)
    x, gradients = adversary(tuned.algorithm, X, ways, 400, rng)
    corners = np.array([[a, b] for a in (-1.0, 1.0) for b in (-0.5, 1.5)])
    regret = against(x, gradients, corners)
    assert 0 < regret <= tuned.guarantee.regret_bound(400)


def play_with_hints(player, start, gradients, hints):
    """All actions but the last, with a forecast of each next gradient."""
    state, actions = player.init(start), []
    for grad, hint in zip(gradients, [*hints[1:], None], strict=True):
        actions.append(state.x)
        state = player.update(state, Feedback(grad, hint=hint))
    return np.array(actions)


@pytest.mark.slow
@pytest.mark.parametrize("domain", [BOX, Ball(0.9), L1Ball(1.5)])
@pytest.mark.parametrize("name", streams(2, 2))
def test_forecasts_cost_their_errors(domain, name):
    rng, start = np.random.default_rng(3), np.array([0.2, 0.1])
    player = OptimisticDualAveraging.adaptive(KNOWN, None, domain).algorithm
    comparators = domain.project(3.0 * rng.normal(size=(300, 2)))
    for T in (1, 2, 7, 200):
        gradients = streams(T, 2)[name]
        last = np.vstack([np.zeros(2), gradients[:-1]])
        for hints in (gradients, gradients + 0.1, last, 0.0 * gradients, -3.0 * gradients):
            x = play_with_hints(player, start, gradients, hints)
            moved = np.cumsum(np.abs(gradients).sum(axis=1)) > 0
            # Forecasts count from the round after the first gradient that is not 0.
            used = np.where(np.append(False, moved[:-1])[:, None], hints, 0.0)
            errors = ((gradients - used) ** 2).sum()
            bound = SUM * domain.diameter * math.sqrt(errors)
            assert against(x, gradients, comparators) <= bound * (1 + 1e-12)


def test_forecasts_that_are_right_cost_one_round():
    gradients = np.random.default_rng(4).normal(size=(500, 2))
    player = OptimisticDualAveraging.adaptive(KNOWN, None, BOX).algorithm
    corners = np.array([[a, b] for a in (-1.0, 1.0) for b in (-0.5, 1.5)])
    bound = SUM * BOX.diameter * np.linalg.norm(gradients[0])
    assert against(play_with_hints(player, X, gradients, gradients), gradients, corners) <= bound
    blind = play_with_hints(player, X, gradients, 0.0 * gradients)
    assert against(blind, gradients, corners) > bound  # without them it is more


def test_a_step_with_a_forecast_by_hand():
    player = OptimisticDualAveraging(eta=1.0, domain=Ball(9.0))
    state = player.update(player.init(X), Feedback(np.array([3.0, 4.0]), hint=np.array([1.0, 0.0])))
    assert state.x == pytest.approx([0.5 - 4 / 5, -4 / 5], abs=1e-15)
    # The error of the forecast is (11, 0): S = 25 + 121; without a hint the last gradient is it.
    state = player.update(state, told([12.0, 0.0]))
    root = math.sqrt(146)
    assert state.x == pytest.approx([0.5 - 27 / root, -4 / root], abs=1e-15)


@pytest.mark.parametrize(
    "hint", [None, np.ones(3), np.ones((1, 2)), 1.0, [1.0], np.array([1.0, math.nan]), "no"]
)
def test_what_is_no_forecast_is_the_last_gradient(hint):
    player = OptimisticDualAveraging(eta=0.5, domain=BOX)
    grad = np.array([0.25, -0.5])
    state = player.update(player.init(X), Feedback(grad, hint=hint))
    expected = player.update(player.init(X), Feedback(grad, hint=grad))
    assert (state.x == expected.x).all()


def test_nothing_moves_before_the_first_slope_whatever_is_forecast():
    player = OptimisticDualAveraging(eta=0.5, domain=BOX)
    state = player.update(player.init(X), Feedback(np.zeros(2), hint=np.ones(2)))
    assert (state.x == X).all()
    assert not state.forecast.any()


def test_the_tunings_are_the_theorems():
    tuned = AdaGradFTRL.adaptive(KNOWN, None, BOX)
    assert tuned.guarantee == DiagonalAdaGrad(KNOWN, 2 * math.sqrt(2))
    assert tuned.algorithm == AdaGradFTRL(eta=2 / math.sqrt(2), domain=BOX)
    assert tuned.guarantee.regret_bound(100) == pytest.approx(SUM * BOX.diameter * 70)
    tuned = OptimisticDualAveraging.adaptive(KNOWN, None, Ball(2.0))
    assert tuned.guarantee == Forecasts(KNOWN, 4.0)
    assert tuned.algorithm.eta == pytest.approx(4 / math.sqrt(2))
    assert tuned.guarantee.regret_bound(100) == pytest.approx(SUM * 4 * 140)


def test_adagrad_per_coordinate_needs_a_box():
    with pytest.raises(ValueError, match=r"^domain must be a Box, got Ball"):
        AdaGradFTRL(eta=0.5, domain=Ball(1.0))
    with pytest.raises(ValueError, match=r"^domain must be a Box, got a Ball$"):
        AdaGradFTRL.adaptive(KNOWN, None, Ball(1.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slopes, polytope, d = 5", "targets, ellipsoid, d = 5"])
def test_a_leader_that_adds_up_gradients_is_nearly_as_good_as_the_default(name):
    # Far outside of the cuts by design: its projection must begin where the last one ended.
    T = 1_000
    problem = streams_of_costs(T, 0)[name]
    known, least = problem.constants, least_cost(name, problem)
    eta = 4 * known.R / (known.G_f * math.sqrt(T))
    leader = DualAveraging(eta=eta, domain=Ball(1e6))
    behind = LeaderFollower(G_g=known.G_g, domain=problem.domain, leader=leader)
    regrets = []
    for player in (LeaderFollower.default(known), behind):
        trace = play(player, problem, engine="loop", every=1, watch="off")
        assert (trace.constraint <= 0).all()
        regrets.append(float(trace.total_cost) - least)
    assert regrets[1] <= 2 * regrets[0]
