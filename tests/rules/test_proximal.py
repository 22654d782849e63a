"""Methods with a small convex problem per round: proximal steps, worked examples, identities."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Constants, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.rules import try_tuning
from surefoot.rules.related.recoo import RECOO
from surefoot.rules.related.yi import TrackingPenalty, Yi
from surefoot.rules.related.yu_neely import YuNeely, YuNeelyTheorem
from surefoot.sets import (
    BallProx,
    Box,
    BoxProx,
    Ellipsoid,
    EllipsoidProx,
    Halfspace,
    Linearised,
    LinearProx,
    Polytope,
    RowsProx,
    prox_of,
)

UNSEEN = Linearised(np.zeros(2), 0.0, np.zeros(2))


def objective(x, y, weight, alpha, violation):
    return weight * violation(x) + alpha * float((x - y) @ (x - y))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["ball", "box", "ellipsoid", "rows", "linear"]),
    st.floats(0.01, 20.0),
    st.floats(0.05, 5.0),
    st.floats(0.7, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_no_point_of_the_ball_beats_the_prox(kind, weight, alpha, radius, seed):
    rng = np.random.default_rng(seed)
    y, a = 2 * rng.normal(size=2), rng.normal(size=2)
    seen = Linearised(np.zeros(2), -0.4, a)
    prox = {
        "ball": BallProx(Ball(0.5)),
        "box": BoxProx(np.zeros(2), 0.5),
        "ellipsoid": EllipsoidProx(Ellipsoid([[9.0, 1.0], [1.0, 2.0]], [0.1, -0.2])),
        "rows": RowsProx(
            np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5, 1.0])
        ),
        "linear": LinearProx(),
    }[kind]
    violation = (lambda x: max(float(a @ x) - 0.4, 0.0)) if kind == "linear" else prox.violation
    x = prox(y, weight, alpha, radius, seen)
    assert x @ x <= radius**2 * (1 + 1e-12)
    best = objective(x, y, weight, alpha, violation)
    for size in (1.0, 1e-1, 1e-2, 1e-3):
        for z in x + size * rng.normal(size=(40, 2)):
            if z @ z <= radius**2:
                assert best <= objective(z, y, weight, alpha, violation) + 1e-12 * (1 + best)


def test_the_prox_of_a_set_is_found_from_the_set():
    assert prox_of(Ball(2.0)) == BallProx(Ball(2.0))
    assert isinstance(prox_of(Box([0.0, -1.0], [1.0, 3.0])), RowsProx)
    assert isinstance(prox_of(Halfspace([1.0, 0.0], 0.5)), RowsProx)
    assert isinstance(
        prox_of(Polytope([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]], [1.0] * 3)), RowsProx
    )
    with pytest.raises(InvalidValueError, match="must be a Ball, an Ellipsoid, a Box"):
        prox_of(3)


def below_a_half(player, x, *gradients):
    """Play against x <= 0.5 in one dimension, and return the states."""
    states = [player.init(np.array([x]))]
    for gradient in gradients:
        g = float(states[-1].x[0]) - 0.5
        separately = player.needs.separately
        seen = Feedback(
            np.array([gradient]),
            np.array([g]) if separately else g,
            np.ones((1, 1)) if separately else np.ones(1),
        )
        states.append(player.update(states[-1], seen))
    return states


def test_yu_and_neely_take_the_steps_of_the_worked_example():
    c = Constants(R=9.0, G_f=4.0, G_g=1.0, D_g=9.5, rows=1, start_slack=0.5)
    tuned = YuNeely.linear(c, 16)
    assert (tuned.algorithm.gamma, tuned.algorithm.alpha) == (2.0, 4.0)
    states = below_a_half(tuned.algorithm, 0.0, -4.0, -4.0, -4.0)
    # The queue of the example is known one round earlier than the feedback that brings it here.
    assert [float(s.x[0]) for s in states[1:]] == [0.5, 0.75, 0.75]
    assert [float(s.queues[0]) for s in states[1:]] == [1.0, 1.0, 1.5]


def test_the_queues_of_yu_and_neely_keep_their_invariants():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 2))
    c = Constants(R=1.0, G_f=2.0, G_g=4.0, D_g=4.0, rows=3, start_slack=0.3)
    player = YuNeely.linear(c, 400).algorithm
    state = player.init(np.zeros(2))
    for gradient in rng.normal(size=(400, 2)):
        g = A @ state.x - 0.3
        x = state.x
        state = player.update(state, Feedback(gradient, g, A))
        assert (state.queues >= 0).all()
        assert (state.queues + player.gamma * g >= -1e-12).all()
        if state.t > 2:
            assert (state.queues >= np.abs(player.gamma * (A @ x - 0.3)) - 1e-12).all()


def test_yi_takes_the_steps_of_the_worked_example():
    c = Constants(R=9.0, G_f=8.0, G_g=1.0, start_slack=0.5)
    tuned = Yi.trade_off(c, 16, LinearProx())
    assert (tuned.algorithm.gamma, tuned.algorithm.alpha) == (2.0, 4.0)
    first, second = below_a_half(tuned.algorithm, 0.0, -8.0, 0.0)[1:]
    assert (first.x[0], second.x[0], second.queue) == (1.0, 0.5, 1.0)


def test_recoo_takes_the_step_of_the_worked_example():
    player = RECOO(prox=LinearProx(), domain=Ball(2.0), alpha=1.0, growth=0.0)
    after = below_a_half(player, 0.8, 0.0)[1]
    assert (after.x[0], after.queue) == (0.5, 1.0)


def test_recoo_with_a_large_floor_is_projected_descent():
    box, T = Box.cube(0.5, 2), 300
    c = Constants(R=1.0, G_f=5.0, G_g=1.0)
    alpha = RECOO.fixed(c, T, box).algorithm.alpha
    player = RECOO(prox=prox_of(box), domain=Ball(1.0), alpha=alpha, floor=1e6)
    state, x = player.init(np.zeros(2)), np.zeros(2)
    for t, gradient in enumerate(np.random.default_rng(0).normal(size=(T, 2)) * 3, start=1):
        state = player.update(state, Feedback(gradient, float(np.abs(x).max()) - 0.5, np.zeros(2)))
        x = box.project(x - gradient / (2 * alpha * math.sqrt(t)))
        np.testing.assert_allclose(state.x, x, atol=1e-12)


def faces(x, b=0.5):
    rows = np.vstack([np.eye(2), -np.eye(2)])
    return rows @ x - b, rows


def costs_of(kind, T):
    rng = np.random.default_rng(5)
    one = np.array([0.6, -0.8])
    if kind == "constant":
        return np.tile(one, (T, 1))
    if kind == "alternating":
        return np.where(np.arange(T)[:, None] % 2 == 0, one, -one)
    noise = rng.normal(size=(T, 2))
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)


SQUARE = Box.cube(0.5, 2)
CONSTANTS = Constants(
    R=1.0, G_f=1.0, G_g=1.0, D_g=1.5, rows=4, start_slack=0.5, start_reach=1.0, F=2.0
)
TUNINGS = {
    "Yu and Neely": lambda T: YuNeely.linear(CONSTANTS, T),
    "Yi": lambda T: Yi.trade_off(CONSTANTS, T, SQUARE),
    "Yi, c = 0.8": lambda T: Yi.trade_off(CONSTANTS, T, SQUARE, c=0.8),
    "RECOO": lambda T: RECOO.fixed(CONSTANTS, T, SQUARE),
    "RECOO, changing": lambda T: RECOO.changing(CONSTANTS, T),
    "tracking": lambda T: TrackingPenalty.known_horizon(CONSTANTS, T, SQUARE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TUNINGS)
@pytest.mark.parametrize("kind", ["constant", "alternating", "random", "greedy"])
def test_every_bound_holds_in_every_round(name, kind):
    T = 250
    tuned = TUNINGS[name](T)
    player, state = tuned.algorithm, tuned.algorithm.init(np.zeros(2))
    total, paid, values = np.zeros(2), 0.0, []
    costs = None if kind == "greedy" else costs_of(kind, T)
    for t in range(T):
        x = state.x
        rows, slopes = faces(x)
        worst = int(rows.argmax())
        gradient = costs[t] if costs is not None else x - SQUARE.minimize_linear(total)
        size = np.linalg.norm(gradient)
        gradient = gradient / size if size > 0 else np.array([1.0, 0.0])
        paid, total = paid + gradient @ x, total + gradient
        values.append(rows)
        seen = (rows, slopes) if player.needs.separately else (float(rows[worst]), slopes[worst])
        state = player.update(state, Feedback(gradient, *seen))
        best = float(total @ SQUARE.minimize_linear(total))
        assert paid - best <= tuned.guarantee.regret_bound(t + 1) + 1e-9
    g = np.array(values)
    worst = g.max(axis=1)
    steps = np.arange(1, T + 1)
    sums = {
        "positive_sum": np.cumsum(worst),
        "sum_positive": np.cumsum(np.maximum(worst, 0)),
        "sum_squared": np.cumsum(np.maximum(worst, 0) ** 2),
        "rows": np.cumsum(g, axis=0).max(axis=1),
    }
    bounds = tuned.guarantee.bounds(steps)
    assert bounds
    for measure, bound in bounds.items():
        assert (sums[measure] <= bound + 1e-9).all()


def test_changing_constraints_are_played_in_the_ball_that_was_given():
    assert RECOO.changing(CONSTANTS, 10).algorithm.domain == Ball(1.0)
    small = Ball(0.4, [0.0, 0.0])
    assert RECOO.changing(CONSTANTS, 10, small).algorithm.domain == small
    # A constraint without a set that it could be projected onto is no hindrance.
    entry = try_tuning(RECOO, "changing", CONSTANTS, 10, Ball(1.0), None)
    assert entry.tuned.algorithm.domain == Ball(1.0)


def test_the_exact_penalty_makes_a_recoo_step_a_projection():
    box = Box.cube(0.5, 2)
    prox, alpha = prox_of(box), 2.0
    for y in np.random.default_rng(1).normal(size=(50, 2)):
        # sigma = 1/sqrt 2 for the square; any weight above this one is exact.
        weight = (2 * alpha * 4.0) * math.sqrt(2)
        np.testing.assert_allclose(prox(y, weight, alpha, 9.0, UNSEEN), box.project(y), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Yi.trade_off(CONSTANTS, 10, SQUARE, c=1.0), "c must be strictly between 0 and 1"),
        (lambda: RECOO.fixed_strongly_convex(CONSTANTS, 10, SQUARE), "strong_convexity"),
        (lambda: RECOO.changing(CONSTANTS, 10, SQUARE), "domain must be a ball around 0 .* Box"),
        (lambda: RECOO.changing(CONSTANTS, 10, Ball(1.1)), "of radius at most R = 1: "),
        (lambda: RECOO.changing(CONSTANTS, 10, Ball(0.5, [0.1, 0.0])), "domain must be a ball"),
        (lambda: RECOO.changing(CONSTANTS, 10, LinearProx()), "domain must be a ball around 0"),
        (
            lambda: YuNeely.linear(
                Constants(R=1.0, G_f=1.0, G_g=1.0, D_g=1.0, rows=1, start_slack=-0.1), 10
            ),
            "slater_margin",
        ),
        (lambda: TrackingPenalty(experts=(), rate=1.0), "experts must be rules Yi"),
        (
            lambda: TrackingPenalty(
                experts=(Yi(prox=LinearProx(), domain=Ball(1.0), gamma=1.0, alpha=1.0),), rate=1.0
            ),
            "prox must know the violation",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


def test_a_theorem_about_rows_promises_nothing_of_their_maximum():
    assert set(YuNeelyTheorem(CONSTANTS, 100).bounds(100)) == {"rows"}
