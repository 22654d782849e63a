"""Attacks aimed at one weakness each: the true g, exactly compared, is at most 0 in every round."""

from fractions import Fraction

import numpy as np

from surefoot import Ball, Feedback
from surefoot.algorithms import LeaderFollower, RegionFilter
from surefoot.regions import LipschitzHull

SLOPE = np.array([1.0])
TINY = 2.0**-54 * 0.99  # below half of the last digit of numbers from 1/2 to 1


# --- steps below rounding -------------------------------------------------------------------------


def test_steps_below_rounding_do_not_add_up_to_an_action_outside():
    # The limit is x <= 1. The first reading is as low as its error allows, the others are high:
    # what was certified before counts, and each step is too short to change it.
    nu = 0.25
    safe = RegionFilter(known=LipschitzHull(G_g=1.0, reach=1.0, value_error=nu))
    state, rounds = safe.init(np.zeros(1)), 2_000
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - 1.0 + 0.9 * nu
        wish = x + (TINY if t < rounds - 1 else 10.0)
        state, info = safe.admit(state, np.array([wish]), read, SLOPE)
        assert Fraction(float(state.x[0])) <= 1
        assert info.contradictions == ()
    assert state.x[0] > 1 - 1e-6  # it went as far as it may


def test_an_action_at_the_boundary_is_not_lost_to_readings_that_are_too_high():
    # What was certified is kept again in every round, and rounded outwards every time.
    nu, aim = 0.05, np.array([3.0, 1.0])
    safe = RegionFilter(known=LipschitzHull(G_g=1.0, reach=2.0, value_error=nu))
    state, s = safe.init(np.zeros(2)), np.array([0.6, 0.8])
    for t in range(400):
        g = float(s @ state.x) - 0.7
        state, _ = safe.admit(state, aim, g + (nu if t > 20 else -nu), s)
        if t == 20:
            there = state.x
    assert float(s @ there) > 0.69
    np.testing.assert_allclose(state.x, there, atol=1e-9)


def test_a_drift_below_rounding_does_not_add_up_to_an_action_outside():
    nu, wall, rounds = 0.25, Fraction(1), 2_000
    safe = RegionFilter(known=LipschitzHull(G_g=1.0, reach=1.0, value_error=nu, drift=TINY))
    state = safe.init(np.zeros(1))
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - float(wall) + 0.9 * nu
        wish = x + (0.0 if t < rounds - 1 else 10.0)
        state, _ = safe.admit(state, np.array([wish]), read, SLOPE)
        wall -= Fraction(TINY)
        assert Fraction(float(state.x[0])) <= wall
    assert state.x[0] > 1 - 1e-6


def test_a_follower_of_gradients_below_rounding_stays_inside():
    nu, rounds = 0.25, 2_000
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0), cuts=2, value_error=nu, expected=0.5)
    state = player.init(np.zeros(1))
    for t in range(rounds):
        x = float(state.x[0])
        read = -1.0 - nu if t == 0 else x - 1.0 + 0.9 * nu
        push = -TINY if t < rounds - 60 else -1e3
        state, _ = player.step(state, Feedback(np.array([push]), read, SLOPE))
        assert Fraction(float(state.x[0])) <= 1
