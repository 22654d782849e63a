import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback
from surefoot.rules import Jenatton
from surefoot.rules.related.jenatton import JenattonState

X = np.array([1.0, -0.5])
GRAD = np.array([-3.0, 0.8])
S = np.array([3.0, -4.0])
PLAYER = Jenatton(eta=0.4, theta=2.5, beta=0.5, decay=0.5, domain=Ball(3.0))


def test_one_step_by_hand():
    # Round 4: eta = 0.2, theta = 1.25, mu = 1/6.25; 0.7 - 1.25 * 0.3 = 0.325
    after = PLAYER.update(JenattonState(X, 0.3, 4.0), Feedback(GRAD, 0.7, S))
    assert after.x == pytest.approx(X - 0.2 * (GRAD + 0.3 * S), rel=1e-14)
    assert after.multiplier == pytest.approx(0.3 + 0.325 / 6.25, rel=1e-14)
    assert after.t == 5.0


def test_steps_and_regulariser_fade_at_their_own_rates():
    player = Jenatton(eta=0.4, theta=2.5, beta=0.25, decay=1.0, domain=Ball(3.0))
    # Round 16: eta = 0.025, theta = 1.25, mu = 1/21.25
    after = player.update(JenattonState(X, 0.3, 16.0), Feedback(GRAD, 0.7, S))
    assert after.x == pytest.approx(X - 0.025 * (GRAD + 0.3 * S), rel=1e-14)
    assert after.multiplier == pytest.approx(0.3 + 0.325 / 21.25, rel=1e-14)


def test_the_new_multiplier_does_not_act_before_the_next_round():
    state = JenattonState(X, 0.3, 4.0)
    one, other = (PLAYER.update(state, Feedback(GRAD, g, S)) for g in (0.7, -4.0))
    assert one.x.tolist() == other.x.tolist()
    assert other.multiplier == 0.0


def test_a_constant_violation_has_a_closed_form():
    # mu theta = 1/(t + 1), so (t + 1) lambda_{t+1} = t lambda_t + g/theta_t.
    state, g = PLAYER.init(X), 0.7
    for t in range(1, 60):
        state = PLAYER.update(state, Feedback(GRAD, g, S))
        total = sum(np.sqrt(s) / 2.5 for s in range(1, t + 1))
        assert state.multiplier == pytest.approx(g * total / (t + 1), rel=1e-12)


def test_zero_subgradient_leaves_the_cost_step():
    after = PLAYER.update(JenattonState(X, 0.3, 1.0), Feedback(GRAD, 0.7, 0.0 * S))
    assert after.x.tolist() == (X - 0.4 * GRAD).tolist()


def test_one_dimension_and_the_first_round():
    after = PLAYER.update(PLAYER.init(np.array([0.5])), Feedback(np.array([2.0]), 0.6, np.ones(1)))
    assert after.x.tolist() == pytest.approx([0.5 - 0.4 * 2.0])  # the multiplier was 0
    assert after.multiplier == pytest.approx(0.6 / (2.5 * 2))


numbers = st.floats(-50, 50)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_the_multiplier_is_between_0_and_the_largest_value_over_theta(values, beta):
    # By induction on (t + 1) lambda_{t+1} <= t lambda_t + D/theta_t, theta falling.
    player = Jenatton(eta=0.4, theta=2.5, beta=beta, decay=beta, domain=Ball(3.0))
    state, largest = player.init(X), max(map(abs, values))
    for g in values:
        theta = 2.5 / state.t**beta
        state = player.update(state, Feedback(GRAD, g, S))
        assert 0 <= state.multiplier <= largest / theta * (1 + 1e-12)
        assert Ball(3.0).contains(state.x)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"eta": 0.0}, "eta must be a finite number > 0, got 0.0"),
        ({"theta": -1.0}, "theta must be a finite number > 0, got -1.0"),
        ({"beta": 0.0}, "beta must be strictly between 0 and 1, got 0.0"),
        ({"beta": 1.0}, "beta must be strictly between 0 and 1, got 1.0"),
        ({"beta": np.nan}, "beta must be strictly between 0 and 1, got nan"),
        ({"decay": -0.5}, "decay must be a finite number >= 0, got -0.5"),
        ({"domain": None}, "domain must be a set with a projection, got None"),
    ],
)
def test_bad_parameters_are_named(wrong, sentence):
    good = {"eta": 0.1, "theta": 1.0, "beta": 0.5, "decay": 0.5, "domain": Ball(3.0)}
    with pytest.raises(ValueError) as error:
        Jenatton(**(good | wrong))
    assert str(error.value) == sentence


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_in_its_round(bad):
    with pytest.raises(
        ValueError,
        match=f"^constraint_value and constraint_subgradient must be finite, got a .* of {bad}$",
    ):
        PLAYER.update(PLAYER.init(X), Feedback(GRAD, bad, S))


@pytest.mark.parametrize("choose", [Jenatton.trade_off, Jenatton.strongly_convex])
def test_a_bad_horizon_is_named_though_none_is_needed(choose):
    with pytest.raises(ValueError, match=r"^horizon must be a whole number of rounds >= 1, got 0$"):
        choose(None, 0)
