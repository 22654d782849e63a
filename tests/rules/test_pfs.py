import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import PFS, Ball, Constants, Feedback
from surefoot.rules import Corollary1, Corollary2, Corollary3, Theorem1
from surefoot.rules.states import ActionState
from surefoot.sets import EmptyTighteningError

PLAYER = PFS(eta=0.1, rho=0.05, domain=Ball(3.0))
X = np.array([1.0, -0.5])
KNOWN = Constants(
    R=1.5, G_f=7.0, G_g=2.5, sigma=1.5, epsilon=0.4, start_slack=0.3, start_reach=1.75
)


def step(player, x, grad, g, s):
    return player.update(player.init(x), Feedback(np.asarray(grad), g, np.asarray(s))).x


def test_one_step_by_hand():
    # y = (1.3, -1.3); v = -0.2 + 3 * 0.3 + 4 * 0.8 + 0.05 = 3.95; p = y - 3.95/25 (3, -4)
    x = step(PLAYER, X, [-3.0, 8.0], -0.2, [3.0, -4.0])
    assert x == pytest.approx([0.826, -0.668], rel=1e-14)


def test_the_constraint_is_linearised_where_it_was_seen():
    # At g = -0.2 the step of the cost alone would end at 3.9 - ...: only s'(y - x) decides.
    still = step(PLAYER, X, [0.0, 0.0], 0.2, [3.0, -4.0])
    assert still == pytest.approx(X - 0.25 / 25 * np.array([3.0, -4.0]), rel=1e-15)


def test_inactive_constraint_is_plain_gradient_descent():
    x = step(PLAYER, X, [-3.0, 8.0], -9.0, [3.0, -4.0])
    assert x.tolist() == (X - 0.1 * np.array([-3.0, 8.0])).tolist()


def test_zero_subgradient_leaves_the_cost_step():
    x = step(PLAYER, X, [-3.0, 8.0], -0.05, [0.0, 0.0])
    assert x.tolist() == (X - 0.1 * np.array([-3.0, 8.0])).tolist()


def test_zero_subgradient_above_the_tightened_level_says_the_set_is_empty():
    with pytest.raises(EmptyTighteningError, match=r"got s = 0 with g \+ rho = 0.01 > 0"):
        step(PLAYER, X, [-3.0, 8.0], -0.04, [0.0, 0.0])


def test_the_ball_comes_last():
    # y = (1, -41), inactive; then onto the ball of radius 3.
    x = step(PLAYER, np.array([1.0, -1.0]), [0.0, 400.0], -9.0, [0.0, 1.0])
    assert x == pytest.approx(3.0 * np.array([1.0, -41.0]) / np.sqrt(1682.0), rel=1e-14)


finite = st.floats(-100, 100)


@given(st.tuples(finite, finite), st.tuples(finite, finite), finite)
def test_the_next_action_is_in_the_ball_exactly(grad, s, g):
    if s == (0.0, 0.0) or np.vecdot(s, s) == 0:
        return
    x = step(PLAYER, X, grad, g, s)
    assert PLAYER.domain.contains(x) is True
    assert PLAYER.init(x).x.tolist() == x.tolist()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
def test_numbers_of_every_kind_play_the_same_game(kind):
    player = PFS(eta=kind(2), rho=kind(1), domain=Ball(kind(3)))
    assert type(player.eta) is type(player.rho) is type(player.domain.radius) is float
    assert player == PFS(eta=2.0, rho=1.0, domain=Ball(3.0))
    x = step(player, X, [-0.25, 0.5], -1.5, [0.0, -1.0])
    assert type(x) is np.ndarray
    assert x.dtype == np.float64
    assert x.shape == (2,)
    # y = (1.5, -1.5), v = -1.5 + 1 + 1: back by 0.5 along -s.
    assert x.tolist() == [1.5, -1.0]
    # Only the way of one run can raise.
    with pytest.raises(EmptyTighteningError):
        step(player, X, [0.0, 0.0], 0.0, [0.0, 0.0])


def test_columns_give_each_run_its_own_numbers():
    eta, rho = np.array([[0.1], [0.2]]), np.array([[0.05], [0.0]])
    both = PFS(eta=eta, rho=rho, domain=Ball(3.0))
    grad, s, g = np.array([[-3.0, 8.0]] * 2), np.array([[3.0, -4.0]] * 2), np.array([[-0.2]] * 2)
    batch = both.update(both.init(np.array([X, X])), Feedback(grad, g, s)).x
    for i in range(2):
        one = PFS(eta=eta[i, 0], rho=rho[i, 0], domain=Ball(3.0))
        assert batch[i] == pytest.approx(step(one, X, grad[i], -0.2, s[i]), rel=1e-14)


def test_a_centred_ball_may_stand_anywhere():
    player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0, centre=[5.0, 0.0]))
    x = step(player, np.array([5.5, 0.0]), [-30.0, 0.0], -9.0, [0.0, 1.0])
    assert x == pytest.approx([6.0, 0.0], rel=1e-14)


@pytest.mark.parametrize(
    ("make", "theorem"),
    [
        (PFS.anytime, Corollary1),
        (PFS.eventually, Corollary2),
        (PFS.nearly, Corollary3),
        (PFS.tuned, Theorem1),
    ],
)
def test_tuned_players_have_the_parameters_of_their_guarantee(make, theorem):
    algorithm, guarantee = make(KNOWN, 100)
    assert type(guarantee) is theorem
    assert guarantee.horizon == 100
    assert (algorithm.eta, algorithm.rho) == (guarantee.eta, guarantee.rho)
    assert type(algorithm.eta) is type(algorithm.rho) is float
    assert algorithm.domain == Ball(1.5)
    inner = Ball(1.5, centre=[0.5, 0.0])
    assert make(KNOWN, 100, inner).algorithm.domain is inner


def test_the_state_is_the_next_action_and_nothing_else():
    state = PLAYER.init(X)
    assert type(state) is ActionState
    assert state.x.tolist() == X.tolist()
    assert state._fields == ("x",)


def test_a_step_and_a_margin_of_your_own_come_with_theorem_1():
    tuned = PFS.chosen(KNOWN, 900, eta=0.02, rho=0.15)
    assert (tuned.algorithm.eta, tuned.algorithm.rho) == (0.02, 0.15)
    assert tuned.algorithm.domain == Ball(1.5)
    assert tuned.guarantee == Theorem1(KNOWN, 0.02, 0.15, 900)
    with pytest.raises(ValueError, match="rho"):
        PFS.chosen(KNOWN, 900, eta=0.02, rho=0.41)  # above epsilon
