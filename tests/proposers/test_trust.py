"""How far leaders are trusted: by hand, their regret, and that standing outside pays nothing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback, LeaderFollower, kernel
from surefoot.proposers.cuts import Cuts
from surefoot.proposers.trust import Trust, reweigh

PRIOR = np.array([0.7, 0.1, 0.2])


def follow(losses, prior):
    """The trust after all rounds, and what each leader would have saved in each."""
    trust, saved = Trust.first(prior), []
    for t, row in enumerate(losses, 1):
        saved.append(float(trust.weights @ row) - row)
        trust = reweigh(trust, row, prior, t)
    return trust, np.array(saved)


def test_two_rounds_by_hand():
    half = np.array([0.5, 0.5])
    one = reweigh(Trust.first(half), np.array([0.0, 1.0]), half, 1)
    # r = (1/2, -1/2), R = 1/2: the rate is min(1, sqrt((1 + ln 2)/(1/4 + 1/4))) = 1.
    assert one.rates.tolist() == [1.0, 1.0]
    assert one.weights.tolist() == pytest.approx([0.75, 0.25])
    two = reweigh(one, np.array([1.0, 0.0]), half, 2)
    # r = (-1/4, 3/4), R = 3/4: rates fall to 2/3; logs (ln 1.5, ln .5) 2/3 + ln(1 + 2/3 r).
    first = 2 / 3 * math.log(1.5) + math.log(1 - 1 / 6)
    second = 2 / 3 * math.log(0.5) + math.log(1.5)
    assert two.rates.tolist() == pytest.approx([2 / 3, 2 / 3])
    assert two.logs.tolist() == pytest.approx([first, second])
    share = 1 / (1 + math.exp(second - first))
    assert two.weights.tolist() == pytest.approx([share, 1 - share])


def test_a_late_round_by_hand():
    # Rates follow from the squares, which are each leader's own, and so do its first weight's.
    prior, rates = np.array([0.25, 0.75]), np.array([0.25, 0.2])
    trust = Trust(np.array([0.5, 0.5]), np.array([0.3, -0.2]), np.array([99.75, 63.75]), rates, 2.0)
    late = reweigh(trust, np.array([1.0, 0.0]), prior, 90)
    assert late.largest == 2.0
    assert late.squares.tolist() == [100.0, 64.0]  # r = (-1/2, 1/2)
    slow = math.sqrt((1 + math.log(4)) / 104), math.sqrt((1 + math.log(4 / 3)) / 68)
    assert late.rates.tolist() == pytest.approx(slow)
    logs = (0.3 + math.log(0.875)) * slow[0] / 0.25, (-0.2 + math.log(1.1)) * slow[1] / 0.2
    assert late.logs.tolist() == pytest.approx(logs)
    odds = slow[0] * math.exp(logs[0]) / (3 * slow[1] * math.exp(logs[1]))
    assert late.weights.tolist() == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_weights_are_weights_and_do_not_depend_on_the_scale_of_costs(seed):
    rng = np.random.default_rng(seed)
    losses = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-3, 3)
    trust, _ = follow(losses, PRIOR)
    assert (trust.weights >= 0).all()
    assert trust.weights.sum() == pytest.approx(1.0)
    assert (trust.rates * trust.largest <= 0.5).all()
    scaled, _ = follow(2.0**20 * losses, PRIOR)
    np.testing.assert_allclose(scaled.weights, trust.weights, rtol=1e-9)
    moved, _ = follow(losses + 5.0 * np.abs(losses).max(), PRIOR)
    np.testing.assert_allclose(moved.weights, trust.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1e-298, 1e200])
def test_costs_whose_squares_are_no_doubles_teach_nothing(size):
    trust = Trust.first(PRIOR)
    assert reweigh(trust, size * np.array([1.0, 2.0, 3.0]), PRIOR, 1) is trust


@pytest.mark.parametrize("kind", ["random", "one is best", "alternating", "turning"])
def test_no_leader_would_have_saved_more_than_the_theorem_says(kind):
    T, rng = 2_000, np.random.default_rng(4)
    losses = rng.uniform(-1, 1, size=(T, 3))
    if kind == "one is best":
        losses[:, 1] -= 0.2
    elif kind == "alternating":
        losses = np.where(np.arange(T)[:, None] % 2 == np.arange(3) % 2, 1.0, -1.0)
    elif kind == "turning":
        losses[: T // 2, 1] -= 0.5
        losses[T // 2 :, 2] -= 0.5
    trust, saved = follow(losses, PRIOR)
    # Adapt-ML-Prod: C sqrt(R^2 + sum r^2)/sqrt(1 + ln 1/p), and a constant; C as in its Theorem 3.
    heavy = 1 + np.log(1 / PRIOR)
    C = 3 * heavy + math.log(1 + 3 / (2 * math.e) * (1 + math.log(T + 1)))
    squares = trust.largest**2 + (saved**2).sum(axis=0)
    assert (saved.sum(axis=0) <= C * np.sqrt(squares / heavy) + 2 * C * trust.largest).all()


def test_a_leader_that_has_lost_much_begins_anew_by_hand():
    half = np.array([0.5, 0.5])
    before = Trust(np.array([0.96, 0.04]), np.log([1.0, 1 / 24]), np.full(2, 3.0), half, 1.0)
    after = reweigh(before, np.array([0.0, 0.5]), half, 9)
    # r = (.02, -.48), rates stay 1/2: shares 1.01 and .76/24, of which the second is .030 of all.
    # After 9 rounds none is trusted less than a tenth of what it was at first: .05.
    first = 1.01 / (1.01 + 0.76 / 24)
    assert after.weights.tolist() == pytest.approx([first / (first + 0.05), 0.05 / (first + 0.05)])
    assert after.squares.tolist() == pytest.approx([3.0 + 0.02**2, 0.0])
    assert after.rates.tolist() == [0.5, 0.5]
    # What it is trusted next follows from its logarithm alone.
    same = reweigh(after, np.zeros(2), half, 10)
    assert same.weights.tolist() == pytest.approx(after.weights.tolist(), rel=1e-12)


def test_what_was_lost_long_ago_is_not_held_against_a_leader():
    # The second loses 1 in each of 4,000 rounds, and saves a half in each of 200 after that.
    lost, after, prior = 4_000, 200, np.array([0.9, 0.1])
    losses = np.random.default_rng(0).uniform(-1, 1, size=(lost + after, 2))
    losses[:lost, 1] += 1.0
    losses[lost:, 0] += 0.5
    trust, saved = follow(losses, prior)
    assert trust.weights[1] > 0.9
    # Until then the first lost no more to it than a tenth of 1/(t + 1) in each round.
    assert saved[100:lost, 0].sum() < 0.1 * math.log(lost / 100)


def test_costs_that_differ_by_rounding_alone_change_nothing():
    first = Trust.first(PRIOR)
    after = reweigh(first, np.array([0.1, 0.1 + 1e-16, 0.1 - 1e-16]), PRIOR, 1)
    assert after.weights.tolist() == PRIOR.tolist()


def test_a_leader_gains_nothing_by_standing_outside_of_what_is_known(monkeypatch):
    # The cut is y <= 0.1 and the cost pulls up: the last leader is at y = 0.5, beyond the cut.
    player, none = LeaderFollower(G_g=1.0, domain=Ball(1.0)), np.zeros(1)

    def weight():
        seen = Feedback(np.array([0.0, -1.0]), -0.1, np.array([0.0, 1.0]))
        with kernel.engine("python"):
            state = player.update(player.init(np.zeros(2)), seen)
            cuts = Cuts(np.array([[0.0, 1.0]]), none + 0.1, none + 1.0, np.zeros((4, 1)))
            points = np.array([[0.0, 0.1], [0.0, 0.1], [0.0, 0.1], [0.0, 0.5]])
            outside = np.array([cuts.exceed(z) for z in points])
            learner = state.learner._replace(cuts=cuts, points=points, outside=outside)
            after = player.update(state._replace(learner=learner), seen._replace(action=state.x))
        return after.learner.trust.weights[3]

    assert weight() == 0.025  # what it gains by the cost it pays for the way back
    monkeypatch.setattr(Cuts, "exceed", lambda self, z: 0.0)
    assert weight() == pytest.approx(0.0375)
