import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests._own import WholeSpace

from surefoot import OGD, Ball, Constants
from surefoot.rules import (
    DualAveraging,
    DualAveragingTheorem,
    EntropicDualAveraging,
    EntropicTheorem,
)
from surefoot.sets import Box, Halfspace, L1Ball, Simplex

from ._gradients import actions_of, told

BOX = Box([-1.0, -0.5], [1.25, 0.75])
X = np.array([0.5, -0.25])
KNOWN = Constants(R=1.5, G_f=7.0)


def test_the_sum_of_the_gradients_is_projected_and_not_the_last_action():
    x = actions_of(DualAveraging(eta=0.25, domain=BOX), X, [[-8.0, 1.0], [4.0, 2.0], [3.0, -9.0]])
    assert x[1].tolist() == [1.25, -0.5]
    assert x[2].tolist() == [1.25, -0.5]  # 0.5 + 1, where online gradient descent is at 0.25
    assert x[3].tolist() == [0.75, 0.75]
    descent = actions_of(OGD(eta=0.25, domain=BOX), X, [[-8.0, 1.0], [4.0, 2.0]])
    assert descent[2].tolist() == [0.25, -0.5]


def test_on_the_whole_space_it_is_online_gradient_descent():
    # Multiples of 1/64 below 2^40: no sum of them is rounded, in any order.
    gradients = np.random.default_rng(3).integers(-999, 999, size=(200, 2)) / 16
    lazy = actions_of(DualAveraging(eta=0.25, domain=WholeSpace()), X, gradients)
    greedy = actions_of(OGD(eta=0.25, domain=WholeSpace()), X, gradients)
    np.testing.assert_array_equal(lazy, greedy)
    assert np.abs(lazy).max() > 10


@pytest.mark.parametrize("domain", [BOX, Ball(0.75), L1Ball(0.8), Ball(0.6, [0.2, -0.3])])
def test_the_next_action_minimises_the_regularised_sum(domain):
    rng, eta = np.random.default_rng(8), 0.3
    gradients = rng.normal(size=(30, 2)) - 0.3
    x = actions_of(DualAveraging(eta=eta, domain=domain), X, gradients)
    others = domain.project(rng.normal(size=(500, 2)))
    for t in (1, 7, 30):
        total = gradients[:t].sum(axis=0)

        def objective(y, total=total):
            return eta * y @ total + 0.5 * ((y - X) ** 2).sum(axis=-1)

        assert objective(x[t]) <= objective(others).min() + 1e-12


@pytest.mark.parametrize("domain", [BOX, Ball(0.75), L1Ball(0.8), Halfspace([1.0, 2.0], 0.5)])
def test_every_action_is_feasible_exactly(domain):
    gradients = np.random.default_rng(0).normal(size=(300, 2)) - 0.1
    x = actions_of(DualAveraging(eta=0.7, domain=domain), X, gradients)
    assert all(domain.contains(point) is True for point in x)
    assert np.ptp(x, axis=0).min() > 0.1


def test_zero_gradients_lead_back_to_the_start():
    x = actions_of(DualAveraging(eta=0.5, domain=BOX), X, [[0.0, 0.0], [2.0, 1.0], [-2.0, -1.0]])
    np.testing.assert_array_equal(x[[1, 3]], [X, X])


def test_one_dimension_and_columns():
    player = DualAveraging(eta=np.array([[0.25], [0.5]]), domain=Box([-1.0], [0.5]))
    x = actions_of(player, np.array([[0.25], [0.25]]), [[[1.0], [1.0]], [[2.0], [2.0]]])
    assert x[:, :, 0].tolist() == [[0.25, 0.25], [0.0, -0.25], [-0.5, -1.0]]


def test_the_fixed_step_is_the_theorems():
    tuned = DualAveraging.fixed(KNOWN, 100, BOX)
    assert tuned.guarantee == DualAveragingTheorem(KNOWN, 100, BOX.diameter)
    assert tuned.algorithm.eta == pytest.approx(math.hypot(2.25, 1.25) / 70, rel=1e-15)
    with pytest.raises(ValueError, match=r"^domain must be bounded, got Halfspace"):
        DualAveraging.fixed(KNOWN, 100, Halfspace([1.0, 2.0], 0.5))


# Entropic.

HEAVY = Simplex(3, total=2.0)
START = np.array([1.0, 0.75, 0.25])


def test_an_entropic_step_by_hand():
    player = EntropicDualAveraging(eta=0.5, domain=HEAVY)
    x = actions_of(player, START, [np.log([1.0, 4.0, 16.0]), np.log([9.0, 1.0, 1.0])])
    # Weights 1, 1/2, 1/4; then 1/3, 1/2, 1/4.
    assert x[1] == pytest.approx(2 * np.array([4, 2, 1]) / 7, rel=1e-15)
    assert x[2] == pytest.approx(2 * np.array([4, 6, 3]) / 13, rel=1e-15)


@given(
    st.integers(2, 6),
    st.integers(1, 12),
    st.floats(1e-3, 1e3),
    st.floats(-3, 6),
    st.integers(0, 10**6),
)
def test_entropic_actions_are_on_the_simplex_and_the_closed_form(d, rounds, total, power, seed):
    rng = np.random.default_rng(seed)
    gradients = 10.0**power * rng.normal(size=(rounds, d))
    domain = Simplex(d, total)
    x = actions_of(EntropicDualAveraging(eta=0.7, domain=domain), np.full(d, total / d), gradients)
    assert all(domain.contains(point) is True for point in x)
    exponents = -0.7 * np.cumsum(gradients, axis=0)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    expected = total * weights / weights.sum(axis=1, keepdims=True)
    # An exponent e is known to a few u (rounds) of the sums it is made from, and its exponential
    # to as much of itself.
    error = 8 * (rounds + d) * 2.0**-53 * (1 + np.abs(gradients).sum(axis=0).max())
    assert np.abs(x[1:] - expected).max() <= total * error


def test_a_common_slope_changes_nothing():
    player = EntropicDualAveraging(eta=0.5, domain=HEAVY)
    gradients = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])
    np.testing.assert_array_equal(
        actions_of(player, START, gradients), actions_of(player, START, gradients + 64.0)
    )


@pytest.mark.parametrize("size", [1e8, 1e150, 1e300])
def test_gradients_too_large_for_an_exponential_lead_to_a_corner(size):
    player = EntropicDualAveraging(eta=3.0, domain=HEAVY)
    with np.errstate(over="ignore"):
        x = actions_of(player, START, [[size, -size, 0.0]])
    assert x[1].tolist() == [0.0, 2.0, 0.0]


def test_it_leaves_a_corner():
    # Weights relative to the first action would be 0 for ever in two entries of this one.
    player = EntropicDualAveraging(eta=0.5, domain=HEAVY)
    x = actions_of(player, np.array([2.0, 0.0, 0.0]), [[0.0, 0.0, 0.0], np.log([4.0, 1.0, 1.0])])
    assert x[1] == pytest.approx([2 / 3] * 3, rel=1e-15)
    assert x[2] == pytest.approx([0.4, 0.8, 0.8], rel=1e-15)


def test_a_simplex_of_one_entry_has_one_action():
    x = actions_of(
        EntropicDualAveraging(eta=1.0, domain=Simplex(1, 0.3)), np.array([0.3]), [[-5.0]]
    )
    assert x.tolist() == [[0.3], [0.3]]


def test_entropic_columns_give_each_run_its_own_step():
    player = EntropicDualAveraging(eta=np.array([[0.5], [1.0]]), domain=HEAVY)
    grad = np.log([1.0, 4.0, 16.0])
    x = actions_of(player, np.array([START, START]), [[grad, grad]])
    assert x[1, 0] == pytest.approx(2 * np.array([4, 2, 1]) / 7, rel=1e-14)
    assert x[1, 1] == pytest.approx(2 * np.array([16, 4, 1]) / 21, rel=1e-14)


def test_the_entropic_step_is_the_theorems():
    tuned = EntropicDualAveraging.fixed(KNOWN, 50, HEAVY)
    assert tuned.guarantee == EntropicTheorem(KNOWN, 50, 3, 2.0)
    assert tuned.algorithm.eta == pytest.approx(math.sqrt(2 * math.log(3) / 50) / 7, rel=1e-15)
    assert tuned.algorithm.domain is HEAVY


@pytest.mark.parametrize("domain", [Simplex(3, filled=True), BOX, None, Simplex])
def test_entropy_needs_the_simplex(domain):
    sentence = "^domain must be a Simplex that is not filled, got "
    with pytest.raises(ValueError, match=sentence + re.escape(repr(domain))):
        EntropicDualAveraging(eta=0.1, domain=domain)
    with pytest.raises(ValueError, match=r"^domain must be a Simplex"):
        EntropicDualAveraging.fixed(KNOWN, 10, domain)


def test_entropy_needs_two_entries_to_be_tuned():
    with pytest.raises(ValueError, match=r"^dimension must be a whole number >= 2, got 1$"):
        EntropicDualAveraging.fixed(KNOWN, 10, Simplex(1))


PLAYERS = [(DualAveraging, BOX, X), (EntropicDualAveraging, Simplex(2), np.array([0.25, 0.75]))]


@pytest.mark.parametrize(("kind", "domain", "start"), PLAYERS)
@pytest.mark.parametrize("eta", [0.0, -0.1, math.nan, None, True])
def test_a_step_size_out_of_range(kind, domain, start, eta):
    with pytest.raises(ValueError, match=f"^eta must be a finite number > 0, got {eta!r}$"):
        kind(eta=eta, domain=domain)


@pytest.mark.parametrize(("kind", "domain", "start"), PLAYERS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite(kind, domain, start, bad):
    player = kind(eta=0.1, domain=domain)
    with pytest.raises(ValueError, match=rf" must be finite, got (?:{-bad}|{bad}) at index 1$"):
        player.update(player.init(start), told([1.0, bad]))
    state = player.update(player.init(np.array([start, start])), told([[1.0, 0.5], [1.0, bad]]))
    for _ in range(2):  # and it stays so
        assert np.isfinite(state.x[0]).all()
        assert np.isnan(state.x[1]).any()
        state = player.update(state, told(np.ones((2, 2))))


@pytest.mark.parametrize(("kind", "domain", "start"), PLAYERS)
def test_a_gradient_of_another_shape_and_a_start_outside(kind, domain, start):
    player = kind(eta=0.1, domain=domain)
    with pytest.raises(ValueError, match=r"^cost_gradient.shape must be \(2,\), .* got \(3,\)$"):
        player.update(player.init(start), told([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match=r"^x1 must be in the domain "):
        player.init([0.9, 0.9])
