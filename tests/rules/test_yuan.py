import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import OGD, Ball, Feedback, Problem, play
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Linear
from surefoot.rules import Yuan
from surefoot.rules.states import RoundState

X = np.array([1.0, -0.5])
GRAD = np.array([-3.0, 0.8])
SLOPES = np.array([[3.0, -4.0], [0.0, 2.0], [-1.0, 0.5]])
PLAYER = Yuan(eta=0.1, theta=0.4, domain=Ball(3.0))


def test_one_step_by_hand():
    seen = Feedback(GRAD, np.array([0.2, -0.7, 0.1]), SLOPES)
    # Multipliers 0.5, 0 and 0.25.
    step = GRAD + np.array([1.5 - 0.25, -2.0 + 0.125])
    assert PLAYER.update(PLAYER.init(X), seen).x == pytest.approx(X - 0.1 * step, rel=1e-14)
    # In round 5 of a fading player the step is a fifth, the penalty five times as large.
    fading = Yuan(eta=0.1, theta=0.4, domain=Ball(3.0), decay=1.0)
    after = fading.update(RoundState(X, 5.0), seen)
    step = GRAD + 5 * np.array([1.5 - 0.25, -2.0 + 0.125])
    assert after.x == pytest.approx(X - 0.02 * step, rel=1e-13)
    assert after.t == 6.0


def test_a_constraint_met_exactly_has_no_part():
    seen = Feedback(GRAD, np.array([0.0, -0.7, -1e-300]), 1e6 * SLOPES)
    assert PLAYER.update(PLAYER.init(X), seen).x.tolist() == (X - 0.1 * GRAD).tolist()


def penalised_descent(player, problem):
    """Projected gradient descent, the library's own, on f_t + sum [g_i]_+^2/(2 theta_t)."""
    A, b = problem.constraint.A, problem.constraint.b
    x, actions = problem.start, []
    for t in range(problem.costs.horizon):
        actions.append(x)
        fade = (t + 1.0) ** player.decay
        penalty = A.T @ np.maximum(A @ x - b, 0.0) * fade / player.theta
        gradient = problem.costs.gradient(t, x) + penalty
        ogd = OGD(eta=player.eta / fade, domain=player.domain)
        x = ogd.update(ogd.init(x), Feedback(gradient, 0.0, 0.0 * x)).x
    return np.array(actions)


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_it_is_gradient_descent_on_the_squared_penalty(decay):
    rng = np.random.default_rng(8)
    costs = Linear(rng.normal(size=(500, 2)) - np.array([1.0, 0.5]))
    problem = Problem.of(costs, Affine(SLOPES, [0.5, 0.25, 1.0]), Ball(3.0), [0.0, 0.1])
    # eta |A|^2/theta < 2: a step of descent on the penalty does not enlarge differences.
    player = Yuan(eta=0.1, theta=2.0, domain=Ball(3.0), decay=decay)
    trace = play(player, problem)
    assert trace.actions == pytest.approx(penalised_descent(player, problem), abs=1e-13)
    assert trace.violations.count > 100


def test_the_penalty_is_that_of_the_docstring(x64):
    # The gradient that JAX finds in the formula, at points on both sides of every constraint.
    A, b, theta = x64.numpy.asarray(SLOPES), np.array([0.5, 0.25, 1.0]), 0.4

    def penalty(x):
        return x64.numpy.sum(x64.numpy.maximum(A @ x - b, 0.0) ** 2) / (2 * theta)

    rng = np.random.default_rng(9)
    for x in rng.normal(size=(20, 2)):
        seen = Feedback(GRAD, SLOPES @ x - b, SLOPES)
        moved = (
            x - Yuan(eta=0.5, theta=theta, domain=Ball(1e6)).update(RoundState(x, 1.0), seen).x
        ) / 0.5
        assert moved - GRAD == pytest.approx(np.asarray(x64.grad(penalty)(x)), abs=1e-12)


numbers = st.floats(-50, 50)
vectors = st.tuples(numbers, numbers).map(np.array)


@settings(max_examples=60)
@given(vectors, st.lists(st.tuples(numbers, vectors), min_size=1, max_size=5))
def test_constraints_that_are_met_change_nothing_and_the_action_stays_in_the_ball(grad, rows):
    g, s = (np.array([row[i] for row in rows]) for i in range(2))
    after = PLAYER.update(PLAYER.init(X), Feedback(grad, g, s))
    assert Ball(3.0).contains(after.x)
    violated = g > 0
    if violated.any():
        alone = PLAYER.update(PLAYER.init(X), Feedback(grad, g[violated], s[violated])).x
    else:
        alone = Ball(3.0).project(X - 0.1 * grad)
    assert after.x == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"eta": np.inf}, "eta must be a finite number > 0, got inf"),
        ({"theta": 0.0}, "theta must be a finite number > 0, got 0.0"),
        ({"decay": -1.0}, "decay must be a finite number >= 0, got -1.0"),
        ({"domain": "ball"}, "domain must be a set with a projection, got 'ball'"),
    ],
)
def test_bad_parameters_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        Yuan(**({"eta": 0.1, "theta": 0.5, "domain": Ball(3.0)} | wrong))
    assert str(error.value) == sentence


# NumPy says so too where it meets 0 inf on the way.
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_in_its_round(bad):
    seen = Feedback(GRAD, np.array([0.2, bad, 0.1]), SLOPES)
    with pytest.raises(ValueError, match="must be finite"):
        PLAYER.update(PLAYER.init(X), seen)


def test_a_bad_horizon_is_named_though_none_is_needed():
    with pytest.raises(ValueError, match=r"^horizon must be .* rounds >= 1, got 2\.5$"):
        Yuan.strongly_convex(None, 2.5)
