"""Theorem X2: no regret against a policy is above the observed bound, and no round is outside."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.certified import Certified
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import AnnouncedDrift, Column, ContextHull, Errors, LipschitzHull
from surefoot.proposers import Leader, PolicyLeader
from surefoot.sets import Ball

linprog = pytest.importorskip("scipy.optimize").linprog

ROWS = np.array([[0.8, 0.6], [-1.0, 0.0], [0.0, -1.0], [0.6, -0.8]])
RADIUS = 3.0


def features(c: float) -> Array:
    return np.array([1.0, 4.0 * c])


def play(rounds: int, seed: int) -> tuple[list[float], list[Array], Array, Array, float]:
    """Return what was paid, the gradients, the contexts, and the observed bound."""
    rng = np.random.default_rng(seed)
    contexts = 0.2 * np.sin(np.arange(rounds) / 9.0) + 0.05 * rng.normal(size=rounds)
    contexts = np.clip(contexts, -0.3, 0.3)
    known = ContextHull(G_g=1.0, reach=2.0, context=Column(adds=1.0), start_bound=-0.1)
    player = Certified(proposer=PolicyLeader(radius=RADIUS, features=features), knowledge=known)
    state, regret = player.init(np.zeros(2)), player.observer()
    state, _ = player.announce(state, player.read_context(state, contexts[0], current=True))
    paid, gradients = [], []
    for t, c in enumerate(contexts):
        x = state.x
        values = ROWS @ x + c - 0.4
        assert values.max() <= 0
        gradient = np.array([-1.0, -0.5]) + 0.3 * rng.normal(size=2)
        paid.append(float(gradient @ x))
        gradients.append(gradient)
        seen = Feedback(gradient, float(values.max()), ROWS[values.argmax()])
        told = player.read_context(state, contexts[min(t + 1, rounds - 1)])
        state, info = player.step(state, seen._replace(context=told))
        regret = regret.after(info)
    return paid, gradients, contexts, state, regret.bound(player, state)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_no_regret_against_a_policy_is_above_the_observed_bound(seed):
    paid, gradients, contexts, _, bound = play(150, seed)
    phis = np.array([features(c) for c in contexts])
    cost = sum(np.outer(g, phi) for g, phi in zip(gradients, phis, strict=True)).ravel()
    rows = np.array([np.outer(row, phi).ravel() for phi in phis for row in ROWS])
    rooms = np.array([0.4 - c for c in contexts for _ in ROWS])
    best = linprog(cost, A_ub=rows, b_ub=rooms, bounds=(-1.5, 1.5))
    assert np.linalg.norm(best.x) <= RADIUS
    regret = sum(paid) - best.fun
    assert regret <= bound
    fixed = linprog(
        sum(gradients), A_ub=ROWS, b_ub=np.full(4, 0.4 - contexts.max()), bounds=(None, None)
    )
    assert best.fun < 1.2 * fixed.fun < 0  # policies are worth something here, and it learns one
    assert sum(paid) < 1.1 * fixed.fun


def test_a_constant_feature_is_the_leader_of_actions():
    """With phi = 1 the learning is that of a leader, to the bit."""
    policies, leader = PolicyLeader(radius=1.0, features=lambda c: [1.0]), Leader(domain=Ball(1.0))
    known = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0))
    player = Certified(proposer=policies, knowledge=known)
    state, learner = player.init(np.zeros(2)), leader.init(np.zeros(2))
    state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
    for t in range(20):
        x = state.x
        seen = Feedback(np.array([-1.0, np.sin(t)]), 0.5 * x[0] + 0.5 * x[1] - 0.4, np.full(2, 0.5))
        told = seen._replace(context=player.read_context(state, 0.0))
        after, info = player.step(state, told)
        learner, _, _ = leader.learn(learner, x, seen, info.region)
        assert after.learner.leader.points == pytest.approx(learner.points, abs=1e-12)
        state = after


def test_a_policy_is_learnt_as_an_action_of_matrices_by_hand():
    # The action is (x - x_1) phi'/|phi|^2, gradients and slopes are those of actions times phi'.
    x1, leader = np.array([0.2, -0.1]), Leader(domain=Ball(2.0))
    known = ContextHull(G_g=1.0, reach=4.0, context=Column(adds=1.0))
    player = Certified(proposer=PolicyLeader(radius=2.0), knowledge=known)
    state, learner = player.init(np.zeros(2)), leader.init(np.zeros(4))
    state, _ = player.announce(state, player.read_context(state, 0.0, current=True))

    def times(v, phi):
        return np.array([v[0] * phi[0], v[0] * phi[1], v[1] * phi[0], v[1] * phi[1]])

    contexts = 0.3 * np.sin(np.arange(13))
    contexts[0] = 0.0
    for t in range(12):
        x, phi = (state.x if t else x1), np.array([1.0, contexts[t]])
        grad, slope = np.array([-1.0, np.sin(t)]), np.array([0.6, 0.8])
        g = float(slope @ x) - 0.5 + contexts[t]
        assert g <= 0
        told = player.read_context(state, contexts[t + 1])
        seen = Feedback(grad, g, slope, context=told, action=x)
        state, info = player.step(state, seen)
        square = float(phi @ phi)
        lifted = Feedback(times(grad, phi), g, times(slope, phi), context=told)
        learner, _, _ = leader.learn(learner, times(x - x1, phi) / square, lifted, info.region)
        assert state.learner.leader.points == pytest.approx(learner.points, abs=1e-12)
        # What the policy says in the next context.
        Z, (one, c) = learner.Z, (1.0, contexts[t + 1])
        says = x1 + np.array([Z[0] * one + Z[1] * c, Z[2] * one + Z[3] * c])
        assert info.proposal == pytest.approx(says, abs=1e-12)
        assert state.learner.start.tolist() == x1.tolist()


def test_the_sums_of_the_regret_are_kept_where_slopes_are_exact():
    proposer = PolicyLeader(radius=1.0)
    for slope, is_kept in ((0.0, True), (0.1, False)):
        errors = Errors(slope=slope)
        known = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0), errors=errors)
        assert (proposer.observer(known) is not None) is is_kept


def test_bad_input_is_one_sentence():
    with pytest.raises(InvalidValueError, match="knowledge must be of contexts for PolicyLeader"):
        Certified(proposer=PolicyLeader(radius=1.0), knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    known = ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0))
    player = Certified(proposer=PolicyLeader(radius=1.0, features=lambda c: [c]), knowledge=known)
    state = player.init(np.zeros(1))
    with pytest.raises(InvalidValueError, match="features must not all be 0"):
        player.read_context(state, 0.0)
    drift = ContextHull(G_g=1.0, reach=1.0, context=AnnouncedDrift())
    with pytest.raises(InvalidValueError, match="PolicyLeader"):
        Certified(proposer=PolicyLeader(radius=1.0), knowledge=drift)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_policy_of_one_feature_goes_down_the_first_gradient(d):
    # Nothing was learnt before: a leader regularised around 0 has -gradient's direction, and in a
    # context whose feature is twice as large the policy says twice as much.
    known = ContextHull(G_g=1.0, reach=9.0, context=Column(adds=1.0), start_bound=-4.0)
    policy = PolicyLeader(radius=RADIUS, features=lambda c: np.array([1.0 + c]))
    player = Certified(proposer=policy, knowledge=known)
    row, gradient = np.eye(d)[0], np.arange(1.0, d + 1.0)
    wishes = []
    for c in (0.0, 1.0):
        state = player.init(np.zeros(d))
        state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
        seen = Feedback(gradient, -4.0, row, context=player.read_context(state, c))
        _, info = player.step(state, seen)
        wishes.append(info.proposal)
    down = -wishes[0] @ gradient
    assert 0 < down <= RADIUS * np.linalg.norm(gradient)
    assert down == pytest.approx(np.linalg.norm(wishes[0]) * np.linalg.norm(gradient), rel=1e-12)
    np.testing.assert_allclose(wishes[1], 2 * wishes[0], rtol=1e-12)
