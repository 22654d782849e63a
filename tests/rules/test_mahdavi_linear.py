import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback, Problem, play
from surefoot.problems.constraints import Affine, PlayedOnly
from surefoot.problems.costs import Linear
from surefoot.rules import MahdaviLinear
from surefoot.rules.related.mahdavi import LinearState

A = np.array([[3.0, -4.0], [0.0, 2.0], [-1.0, 0.5]])
B = np.array([0.5, 0.25, 1.0])
X = np.array([0.2, -0.1])


def test_one_step_by_hand():
    player = MahdaviLinear(eta=0.1, rows=1, domain=Ball(3.0))
    state = LinearState(X, np.array([0.6, 0.4]), np.array([0.3]))
    # 3 x_1 - 4 x_2 <= 0.5: 0.5 at x and -0.3 at z, so lambda = 0.27 and mu = 0.35
    seen = Feedback(np.array([-1.0, 2.0]), np.array([0.5]), A[:1])
    after = player.update(state, seen)
    z = np.array([0.6 - 0.1 * (-1 + 0.81), 0.4 - 0.1 * (2 - 1.08)])
    assert after.z == pytest.approx(z, rel=1e-14)
    assert after.mu == pytest.approx([0.35], rel=1e-14)
    assert after.x == pytest.approx(z - 0.1 * 0.35 * A[0], rel=1e-13)


def test_the_first_action_is_the_centre():
    state = MahdaviLinear(eta=0.1, rows=3, domain=Ball(3.0)).init(X)
    assert state.z is state.x
    assert state.mu.tolist() == [0.0, 0.0, 0.0]


def with_the_matrix_known(eta, slopes, start, radius):
    """The same rule written with A and b, prediction first."""
    ball, z, mu, actions = Ball(radius), start, np.zeros(len(B)), []
    for c in slopes:
        x = ball.project(z - eta * A.T @ mu)
        multipliers = np.maximum(mu + eta * (A @ z - B), 0)
        actions.append(x)
        z = ball.project(z - eta * (c + A.T @ multipliers))
        mu = np.maximum(mu + eta * (A @ x - B), 0)
    return np.array(actions)


def test_what_is_learnt_from_the_feedback_is_the_matrix():
    rng = np.random.default_rng(6)
    slopes = rng.normal(size=(400, 2)) - np.array([0.5, 1.0])
    problem = Problem.of(
        Linear(slopes), PlayedOnly(Affine(A, B)), Ball(1.5), X, infeasible_start=True
    )
    player = MahdaviLinear(eta=0.08, rows=3, domain=Ball(1.5))
    played = play(player, problem, engine="loop").actions
    known = with_the_matrix_known(0.08, slopes, X, 1.5)
    # Projections and these steps do not amplify rounding: 2 eta^2 |A|^2 <= 1.
    assert played == pytest.approx(known, abs=1e-12)
    assert (played @ A.T > B).any(axis=0).sum() >= 2  # constraints were in the way


def test_constraints_that_are_never_near_leave_gradient_descent():
    slopes = np.random.default_rng(7).normal(size=(60, 2))
    far = Problem.of(Linear(slopes), Affine(A, B + 6), Ball(1.5), X)
    actions = play(MahdaviLinear(eta=0.08, rows=3, domain=Ball(1.5)), far).actions
    x = X
    for t in range(60):
        assert actions[t].tolist() == x.tolist()
        x = Ball(1.5).project(x - 0.08 * slopes[t])


numbers = st.floats(-20, 20)
vectors = st.tuples(numbers, numbers).map(np.array)


@settings(max_examples=60)
@given(vectors, vectors, st.lists(st.floats(0, 20), min_size=3, max_size=3).map(np.array))
def test_actions_and_centres_stay_in_the_ball_and_multipliers_above_0(grad, z, mu):
    ball = Ball(2.0)
    player = MahdaviLinear(eta=0.2, rows=3, domain=ball)
    state = LinearState(X, ball.project(z), mu)
    after = player.update(state, Feedback(grad, A @ X - B, A))
    assert ball.contains(after.x)
    assert ball.contains(after.z)
    assert (after.mu >= 0).all()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"eta": -0.1}, "eta must be a finite number > 0, got -0.1"),
        ({"rows": 0}, "rows must be a whole number >= 1, got 0"),
        ({"domain": Ball}, f"domain must be a set with a projection, got {Ball!r}"),
    ],
)
def test_bad_parameters_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        MahdaviLinear(**({"eta": 0.1, "rows": 3, "domain": Ball(3.0)} | wrong))
    assert str(error.value) == sentence


def test_another_number_of_constraints_is_refused():
    player = MahdaviLinear(eta=0.1, rows=1, domain=Ball(3.0))
    with pytest.raises(ValueError, match=r"must end in 1, the rows of the algorithm, got \(3,\)$"):
        player.update(player.init(X), Feedback(X, A @ X - B, A))


def test_a_value_that_is_not_finite_is_refused_in_its_round():
    player = MahdaviLinear(eta=0.1, rows=1, domain=Ball(3.0))
    with pytest.raises(
        ValueError,
        match=r"^constraint_value and constraint_subgradient must be finite, got a .* of nan$",
    ):
        player.update(player.init(X), Feedback(X, np.array([np.nan]), A[:1]))
