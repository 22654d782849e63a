from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Feedback, Problem, play
from surefoot.problems.constraints import Affine, PlayedOnly
from surefoot.problems.costs import Linear
from surefoot.rules import Mahdavi
from surefoot.rules.states import DualState

X = np.array([1.0, -0.5])
GRAD = np.array([-3.0, 0.8])
VALUES = np.array([0.7, -0.2, 0.05])
SLOPES = np.array([[3.0, -4.0], [0.0, 2.0], [-1.0, 0.5]])
PLAYER = Mahdavi(eta=0.1, delta=0.5, rows=3, domain=Ball(3.0), gamma=0.25)
SEEN = Feedback(GRAD, VALUES, SLOPES)


def test_one_step_by_hand():
    state = DualState(X, np.array([0.2, 0.0, 1.5]))
    after = PLAYER.update(state, SEEN)
    # sum of rows: (0.6 - 1.5, -0.8 + 0.75); ascent: g + 0.25 - 0.05 lambda
    assert after.x == pytest.approx(X - 0.1 * np.array([-3.9, 0.75]), rel=1e-14)
    assert after.multipliers == pytest.approx([0.2 + 0.094, 0.005, 1.5 + 0.0225], rel=1e-14)


def test_both_steps_are_taken_at_the_same_point():
    state = DualState(X, np.array([0.2, 0.0, 1.5]))
    after = PLAYER.update(state, SEEN)
    # The new multipliers do not act on the action before the next round.
    again = PLAYER.update(state, SEEN._replace(constraint_value=9 * VALUES))
    assert again.x.tolist() == after.x.tolist()
    assert again.multipliers.tolist() != after.multipliers.tolist()


def test_a_multiplier_of_a_constraint_that_is_met_stays_0():
    state = PLAYER.init(X)
    for _ in range(5):
        state = PLAYER.update(state, SEEN._replace(constraint_value=np.array([0.7, -0.26, -9.0])))
    assert state.multipliers[0] > 0
    assert state.multipliers[1:].tolist() == [0.0, 0.0]


def test_zero_subgradients_leave_the_cost_step():
    state = DualState(X, np.array([0.2, 0.0, 1.5]))
    after = PLAYER.update(state, SEEN._replace(constraint_subgradient=0.0 * SLOPES))
    assert after.x.tolist() == (X - 0.1 * GRAD).tolist()


def test_a_constant_violation_fills_a_leaky_bucket():
    # lambda' = (1 - delta eta^2) lambda + eta g, a geometric series up to g/(delta eta).
    player = Mahdavi(eta=0.3, delta=0.8, rows=1, domain=Ball(3.0))
    state, n, g = player.init(X), 40, 0.7
    for _ in range(n):
        state = player.update(state, Feedback(GRAD, np.array([g]), SLOPES[:1]))
    filled = g / (0.8 * 0.3) * (1 - (1 - 0.8 * 0.3**2) ** n)
    assert state.multipliers == pytest.approx([filled], rel=1e-13)


@pytest.mark.parametrize("d", [1, 3])
def test_without_regulariser_it_is_plain_descent_and_ascent(d):
    rng = np.random.default_rng(3)
    a, b, eta, T = rng.normal(size=d), 0.2, 0.07, 300
    slopes = rng.normal(size=(T, d)) - a
    start = np.full(d, 0.1)
    problem = Problem.of(
        Linear(slopes), Affine(a[None], [b]), Ball(2.0), start, infeasible_start=True
    )
    trace = play(Mahdavi(eta=eta, delta=0.0, rows=1, domain=Ball(2.0)), problem)
    x, multiplier, most = np.full(d, 0.1), 0.0, 0.0
    for t in range(T):
        assert trace.actions[t] == pytest.approx(x, abs=1e-13)
        y = x - eta * (slopes[t] + multiplier * a)
        multiplier = max(multiplier + eta * (float(a @ x) - b), 0.0)
        x = Ball(2.0).project(y)
        most = max(most, multiplier)
    assert most > 0  # the constraint was in the way


def test_the_tightening_is_that_of_the_constraint():
    T, rng = 200, np.random.default_rng(4)
    A = rng.normal(size=(4, 2))
    costs = Linear(rng.normal(size=(T, 2)) + 0.5)
    b = np.array([0.3, 0.5, 0.2, 0.4])
    plain = Mahdavi(eta=0.1, delta=0.3, rows=4, domain=Ball(2.0))
    tight = Mahdavi(eta=0.1, delta=0.3, rows=4, domain=Ball(2.0), gamma=0.125)

    def actions(player, b):
        return play(player, Problem.of(costs, Affine(A, b), Ball(2.0), [0.0, 0.1])).actions

    shifted = actions(plain, b - 0.125)
    # A step does not amplify rounding by more than 1 + eta (delta + |A|), 200 of which stay small.
    assert actions(tight, b) == pytest.approx(shifted, abs=1e-9)
    assert abs(actions(plain, b) - shifted).max() > 0.01


def test_it_asks_for_the_constraints_at_the_action_played_only():
    costs = Linear(np.random.default_rng(5).normal(size=(50, 2)))
    g = Affine(SLOPES, [0.5, 0.25, 1.0])
    problem = Problem.of(costs, g, Ball(3.0), X, infeasible_start=True)
    plain = play(PLAYER, problem, engine="loop")
    guarded = play(PLAYER, replace(problem, constraint=PlayedOnly(g)), engine="loop")
    assert np.array_equal(guarded.actions, plain.actions)


numbers = st.floats(-50, 50)
vectors = st.tuples(numbers, numbers).map(np.array)


@settings(max_examples=60)
@given(
    vectors,
    st.lists(st.tuples(numbers, vectors, st.floats(0, 20)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_multipliers_are_never_negative_and_rows_may_come_in_any_order(grad, rows, random):
    m = len(rows)
    player = Mahdavi(eta=0.2, delta=1.5, rows=m, domain=Ball(2.0))
    g, s, start = (np.array([row[i] for row in rows]) for i in range(3))
    after = player.update(DualState(X, start), Feedback(grad, g, s))
    assert (after.multipliers >= 0).all()
    assert Ball(2.0).contains(after.x)
    order = np.array(random.sample(range(m), m))
    other = player.update(DualState(X, start[order]), Feedback(grad, g[order], s[order]))
    assert other.multipliers.tolist() == after.multipliers[order].tolist()
    assert other.x == pytest.approx(after.x, abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"eta": 0.0}, "eta must be a finite number > 0, got 0.0"),
        ({"delta": -1e-9}, "delta must be a finite number >= 0, got -1e-09"),
        ({"gamma": -0.1}, "gamma must be a finite number >= 0, got -0.1"),
        ({"rows": 0}, "rows must be a whole number >= 1, got 0"),
        ({"rows": 2.0}, "rows must be a whole number >= 1, got 2.0"),
        (
            {"domain": 1.0},
            "domain must be a set with a projection, got 1.0: Ball(1.0) is the ball of that radius",
        ),
    ],
)
def test_bad_parameters_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        Mahdavi(**({"eta": 0.1, "delta": 0.5, "rows": 3, "domain": Ball(3.0)} | wrong))
    assert str(error.value) == sentence


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_another_number_of_constraints_is_refused(rows):
    player = Mahdavi(eta=0.1, delta=0.5, rows=rows, domain=Ball(3.0))
    with pytest.raises(ValueError, match=rf"must end in {rows}, the rows of .*, got \(3,\)$"):
        player.update(player.init(X), SEEN)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_in_its_round(bad):
    values = np.array([0.7, bad, 0.05])
    with pytest.raises(
        ValueError,
        match=f"^constraint_value and constraint_subgradient must be finite, got a .* of {bad}$",
    ):
        PLAYER.update(PLAYER.init(X), SEEN._replace(constraint_value=values))


def test_in_a_batch_a_value_that_is_not_finite_costs_its_run():
    values = np.array([VALUES, [0.7, np.nan, 0.05]])
    seen = Feedback(np.array([GRAD, GRAD]), values, np.array([SLOPES, SLOPES]))
    first = PLAYER.update(PLAYER.init(np.array([X, X])), seen)
    second = PLAYER.update(first, seen)
    assert np.isfinite(second.x[0]).all()
    assert np.isnan(second.x[1]).any()
