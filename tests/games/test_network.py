"""Agents on a network: the worked step, the bounds, and one agent alone."""

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.games.network import mixing_matrix, play_network
from surefoot.problems import binding_toy
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import Yuan
from surefoot.rules.related.network_penalty import NetworkPenalty, mixing_rate

FACES = np.vstack([np.eye(2), -np.eye(2)])


def test_two_agents_take_the_step_of_the_worked_example():
    player = NetworkPenalty(alpha=0.5, gamma=0.25, mixing=np.full((2, 2), 0.5), domain=Ball(1.0))
    seen = Feedback(
        np.array([[1.0, 0.0], [-3.0, 0.0]]),
        np.array([[-1.0], [0.5]]),
        np.array([[1.0, 0.0], [0.0, 2.0]]),
    )
    after = player.update(player.init(np.zeros(2)), seen)
    np.testing.assert_allclose(after.x, np.tile([0.243197, -0.082199], (2, 1)), atol=1e-6)


def test_one_agent_alone_is_yuan():
    alone = NetworkPenalty(alpha=0.3, gamma=0.2, mixing=[[1.0]], domain=Ball(1.0), decay=0.5)
    yuan = Yuan(eta=0.3, theta=0.3 / 0.2, domain=Ball(1.0), decay=0.5)
    a, b = alone.init(np.zeros(2)), yuan.init(np.zeros(2))
    rng = np.random.default_rng(0)
    for _ in range(300):
        gradient, g, s = rng.normal(size=2), rng.normal(), rng.normal(size=2)
        a = alone.update(a, Feedback(gradient[None], np.array([[g]]), s[None]))
        b = yuan.update(b, Feedback(gradient, np.array([g]), s[None]))
        np.testing.assert_allclose(a.x[0], b.x, atol=1e-12)


def binding(T, n):
    targets = binding_toy(T, trials=n).costs.targets
    limits = [Affine(FACES[i % 4][None], [0.5]) for i in range(n)]
    best = np.clip(targets.reshape(-1, 2).mean(axis=0), -0.5, 0.5)
    return Quadratic(targets, 6.0), limits, 3 * float(((best - targets) ** 2).sum()) / n


@pytest.mark.slow
def test_the_ring_has_the_numbers_of_the_reference():
    costs, limits, best = binding(2000, 6)
    tuned = NetworkPenalty.trade_off(
        Constants(R=1.0, G_f=18.728, G_g=1.0), 2000, mixing=mixing_matrix("ring", 6)
    )
    trace = play_network(tuned, costs, limits, np.zeros(2))
    assert trace.regret(best) == pytest.approx(-1544, abs=0.5)
    assert trace.own_violation.sum() == pytest.approx(83.3, abs=0.05)
    assert trace.network_violation.sum() == pytest.approx(103.4, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["ring", "complete", "star", "in turn"])
@pytest.mark.parametrize("kind", ["constant", "random", "alternating"])
def test_the_bounds_hold_on_every_graph(graph, kind):
    T, n, rng = 200, 5, np.random.default_rng(1)
    mixing = (
        np.stack([mixing_matrix("ring", n), mixing_matrix("star", n)])
        if graph == "in turn"
        else mixing_matrix(graph, n)
    )
    slopes = {
        "constant": np.tile([-1.0, 0.0], (T, n, 1)),
        "random": rng.normal(size=(T, n, 2)),
        "alternating": np.where(np.arange(T) % 2, 1.0, -1.0)[:, None, None] * np.ones((T, n, 2)),
    }[kind]
    slopes = slopes / np.linalg.norm(slopes, axis=2, keepdims=True)
    limits = [Affine([[1.0, 0.0]], [0.1 * (i + 1)]) for i in range(n)]
    tuned = NetworkPenalty.trade_off(Constants(R=1.0, G_f=1.0, G_g=1.0), T, mixing=mixing)
    trace = play_network(tuned, Linear(slopes), limits, np.zeros(2))
    total = slopes.mean(axis=1).sum(axis=0)
    angles = np.linspace(0, 2 * np.pi, 4001)
    disc = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    feasible = disc[disc[:, 0] <= 0.1]
    best = min(float((feasible @ total).min()), 0.0)
    theorem = tuned.guarantee
    assert trace.regret(best) <= theorem.regret_bound(T)
    assert trace.own_regret(best) <= theorem.own_regret_bound(T)
    assert trace.own_violation.sum() <= theorem.own_violation_bound(T)
    assert trace.network_violation.sum() <= theorem.bounds(T)["sum_positive"]


def test_agents_come_to_agree_and_equal_agents_stay_equal():
    T, n = 400, 4
    same = np.tile(np.random.default_rng(2).normal(size=(T, 1, 2)), (1, n, 1))
    limits = [Affine([[1.0, 0.0]], [0.3])] * n
    tuned = NetworkPenalty.trade_off(
        Constants(R=1.0, G_f=4.0, G_g=1.0), T, mixing=mixing_matrix("ring", n)
    )
    trace = play_network(tuned, Linear(same), limits, np.zeros(2))
    assert trace.disagreement.max() <= 1e-12
    separately = np.tile(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), (T, 1, 1))
    trace = play_network(tuned, Linear(separately), limits, np.zeros(2))
    assert trace.disagreement[-1] < 0.5 * trace.disagreement[1:].max()


@pytest.mark.parametrize(
    ("mixing", "message"),
    [
        ([[0.5, 0.6], [0.5, 0.4]], "mixing must be doubly stochastic"),
        ([[1.0, 0.0], [0.0, 1.0]], "the network must connect all agents"),
        ([[0.5, 0.5]], "mixing.shape must be"),
    ],
)
def test_a_network_that_does_not_mix_is_refused(mixing, message):
    with pytest.raises(InvalidValueError, match=message):
        NetworkPenalty(alpha=1.0, gamma=1.0, mixing=mixing, domain=Ball(1.0))


def test_a_game_with_another_number_of_agents_is_refused():
    costs, limits, _ = binding(10, 3)
    player = NetworkPenalty(
        alpha=1.0, gamma=1.0, mixing=mixing_matrix("complete", 3), domain=Ball(1.0)
    )
    with pytest.raises(InvalidValueError, match="costs must have a run for each"):
        play_network(player, costs, limits[:2], np.zeros(2))
    assert mixing_rate(player.mixing) == pytest.approx(0.0, abs=1e-12)
