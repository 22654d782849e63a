"""Theorem D': its numbers, a step that is never shortened, and its bound against every stream."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Constants, Feedback, problems
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import L2Norm, LinfNorm
from surefoot.rules import CertifiedPFS, FixedStep

from ._held import STREAMS, stream
from ._slack import assert_bounds_hold


def known(D, G_f, G_g, alpha, **more):
    return Constants(R=1.0, G_f=G_f, G_g=G_g, start_slack=alpha, start_reach=D, **more)


@pytest.mark.parametrize(
    ("numbers", "T", "bound", "rho", "eta"),
    [
        ((1.0, 1.0, 1.0, 1.0), 100, 18.982, 0.069683, 0.044126),
        ((1.0, 1.0, 1.0, 0.5), 100, 56.069, 0.136755, 0.0093412),
        ((1.0, 1.0, 1.0, 0.5), 10_000, 556.11, 0.013475, 0.00170234),
        ((1.0, 1.0, 1.0, 0.1), 10_000, 6_321.2, 0.031585, 7.4005e-5),
    ],
)
def test_the_smallest_bound_by_hand(numbers, T, bound, rho, eta):
    player, found = CertifiedPFS.bounded(known(*numbers), T)
    assert float(found.regret_bound(T)) == pytest.approx(bound, rel=3e-5)
    # The margin by hand is the best of a grid of steps of 0.3 %; the bound hardly knows.
    assert found.rho == pytest.approx(rho, rel=3e-3)
    assert found.eta == pytest.approx(eta, rel=3e-3)
    assert player.knowledge.rho == found.rho
    assert player.proposer.eta == found.eta
    assert not player.knowledge.decreasing


def test_the_bound_by_hand_for_any_margin():
    c, T, rho = Constants(R=1.5, G_f=7.0, G_g=2.5, start_slack=0.3, start_reach=1.75), 400, 0.1
    xi = 1 - math.sqrt(1 - (0.2 / 1.75 / 2.5) ** 2)
    eta = xi * rho / (2.5 * 7.0)
    wanted = (2 / 3 * 1.75) ** 2 / (2 * eta) + eta / 2 * 49 * T + 7.0 * 1.75 / 3 * T
    found = FixedStep(c, T, rho)
    assert found.eta == pytest.approx(eta, rel=1e-5)
    assert found.eta < eta
    assert float(found.regret_bound(T)) == pytest.approx(wanted, rel=1e-5)


def test_a_known_sigma_makes_steps_longer_and_the_bound_smaller():
    T, c = 10_000, problems.paper_toy(100, trials=1).constants
    bare = replace(c, sigma=None, epsilon=None, origins={})
    player, found = CertifiedPFS.bounded(c, T)
    _, without = CertifiedPFS.bounded(bare, T)
    assert float(found.regret_bound(T)) == pytest.approx(4_728.7, abs=0.1)
    assert float(without.regret_bound(T)) == pytest.approx(8_055.4, abs=0.1)
    assert player.knowledge.sigma == c.sigma
    assert found.rho <= c.epsilon
    near = [p for p in found.premises if p.constant == "sigma"]
    assert [p.level for p in near] == [found.rho]
    assert not [p for p in without.premises if p.constant == "sigma"]
    xi = 1 - math.sqrt(1 - c.sigma**2)
    eta = xi * found.rho / c.G_f
    wanted = 1 / (2 * eta) + eta / 2 * c.G_f**2 * T + c.G_f * found.rho / c.sigma * T
    assert float(found.regret_bound(T)) == pytest.approx(wanted, rel=1e-6)


def test_a_sigma_that_the_start_gives_anyway_is_not_used():
    c = known(1.0, 1.0, 1.0, 0.5, sigma=0.25, epsilon=0.25)
    assert CertifiedPFS.bounded(c, 1_000).guarantee.sigma is None


def test_a_longer_horizon_has_a_smaller_margin():
    found = [CertifiedPFS.bounded(known(1.0, 1.0, 1.0, 0.5), T).guarantee for T in (1, 10, 10**6)]
    assert found[0].rho == 0.25  # half of the slack, the largest there is
    assert found[0].rho >= found[1].rho > found[2].rho


@pytest.mark.parametrize(
    ("rho", "more", "words"),
    [
        (0.3, {}, "half of start_slack"),
        (0.2, {"sigma": 0.9, "epsilon": 0.1}, "epsilon"),
        (1e-13, {}, "above rounding"),
    ],
)
def test_a_margin_that_the_theorem_is_not_about_is_rejected(rho, more, words):
    with pytest.raises(InvalidValueError, match=words):
        FixedStep(known(1.0, 1.0, 1.0, 0.5, **more), 100, rho, more.get("sigma"))


@pytest.mark.parametrize("missing", ["G_f", "G_g", "start_slack"])
def test_a_constant_that_is_missing_is_named(missing):
    c = replace(known(1.0, 1.0, 1.0, 0.5), origins={}, **{missing: None})
    with pytest.raises(InvalidValueError, match=missing):
        CertifiedPFS.bounded(c, 100)


@pytest.mark.parametrize("with_sigma", [False, True])
@pytest.mark.parametrize("d", [1, 2, 50])
@pytest.mark.parametrize("costs", ["pull", "random", "back and forth"])
def test_no_step_is_ever_shortened(costs, d, with_sigma):
    T, G = 1_500, 3.0
    square, rng = LinfNorm(0.5, d), np.random.default_rng(d)
    more = {"sigma": 1 / math.sqrt(d), "epsilon": 0.25} if with_sigma else {}
    reach = 0.5 * math.sqrt(d)
    c = Constants(R=reach, G_f=G, G_g=1.0, start_slack=0.5, start_reach=reach, **more)
    player = CertifiedPFS.bounded(c, T).algorithm
    state, way = player.init(np.zeros(d)), rng.normal(size=d)
    for t in range(T):
        drawn = {
            "pull": -way,
            "random": rng.normal(size=d),
            "back and forth": (-1) ** (t // 99) * way,
        }
        gradient = drawn[costs] * G / np.linalg.norm(drawn[costs])
        g, s = square.query(state.x)
        assert g <= 0.0
        state = player.update(state, Feedback(gradient, float(g), s))
        assert state.learner.inverse_eta == 1 / player.proposer.eta


def test_no_step_is_shortened_on_a_ball_where_sigma_is_all_of_G_g():
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=0.5, sigma=1.0, epsilon=0.4)
    player, disc = CertifiedPFS.bounded(c, 500).algorithm, L2Norm(0.5)
    state = player.init(np.zeros(2))
    for t in range(500):
        g, s = disc.query(state.x)
        state = player.update(state, Feedback(np.array([math.cos(t), -1.0]) / 1.5, float(g), s))
        assert state.learner.inverse_eta == 1 / player.proposer.eta
        assert g <= 0.0


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("horizon", [1, 300, 2_000])
def test_no_bound_is_exceeded_in_any_round(name, horizon):
    problem = stream(name, horizon)
    bare = replace(problem.constants, sigma=None, epsilon=None, origins={})
    players = [CertifiedPFS.bounded(c, horizon) for c in (problem.constants, bare)]
    for trace in assert_bounds_hold(players, problem, horizon):
        assert (trace.violations.largest <= 0).all()
