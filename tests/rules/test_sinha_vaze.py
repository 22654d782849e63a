import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Ball, Constants, Feedback
from surefoot.rules import SinhaVaze, SinhaVazeConvex, SinhaVazeStronglyConvex, StrongSinhaVaze
from surefoot.rules.related.sinha_vaze import SinhaVazeState, StrongState

BALL = Ball(3.0)
CONVEX = SinhaVaze(scale=0.5, rate=0.25, diameter=6.0, domain=BALL)
STRONG = StrongSinhaVaze(V=2.0, strong_convexity=4.0, domain=BALL)
X = np.array([1.0, -0.5])
GRAD, S = np.array([-3.0, 8.0]), np.array([2.0, -1.0])
KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.0, strong_convexity=3.5)


def test_one_step_with_a_violation_by_hand():
    # Q = 3 + 0.5 * 2 = 4, penalty 0.25 e; the queue has this round's violation already.
    new = CONVEX.update(SinhaVazeState(X, 3.0, 100.0), Feedback(GRAD, 2.0, S))
    h = 0.5 * (GRAD + 0.25 * math.e * S)
    squares = 100 + float(h @ h)
    assert new.queue == 4.0
    assert new.squares == pytest.approx(squares, rel=1e-15)
    assert new.x == pytest.approx(X - 6 / math.sqrt(2 * squares) * h, rel=1e-14)


@pytest.mark.parametrize("g", [-2.0, 0.0, -0.0])
def test_a_feasible_round_is_not_penalised(g):
    new = CONVEX.update(SinhaVazeState(X, 3.0, 100.0), Feedback(GRAD, g, S))
    squares = 100 + 73 / 4
    assert new.queue == 3.0
    assert new.x == pytest.approx(X - 3 / math.sqrt(2 * squares) * GRAD, rel=1e-14)


def test_without_a_slope_it_stays_and_takes_its_first_step_later():
    still = CONVEX.update(CONVEX.init(X), Feedback(np.zeros(2), 1.0, np.zeros(2)))
    assert still.x.tolist() == X.tolist()
    assert (still.queue, still.squares) == (0.5, 0.0)
    moved = CONVEX.update(still, Feedback(np.array([0.0, 1e-3]), -1.0, S))
    # The first step has the length D/sqrt 2 whatever the slope: to (1, -4.74), and back.
    far = np.array([1.0, -0.5 - 6 / math.sqrt(2)])
    assert moved.x == pytest.approx(3 * far / np.linalg.norm(far), rel=1e-12)


def test_without_violations_it_is_adaptive_descent_at_any_scale():
    rng = np.random.default_rng(2)
    states = [SinhaVaze(scale=b, rate=0.3, diameter=0.5, domain=BALL) for b in (1e-3, 0.7, 40.0)]
    players = [(p, p.init(X)) for p in states]
    x, squares = X, 0.0
    for _ in range(40):
        gradient = rng.normal(size=2)
        squares += float(gradient @ gradient)
        x = BALL.project(x - 0.5 / math.sqrt(2 * squares) * gradient)
        players = [(p, p.update(state, Feedback(gradient, -0.1, S))) for p, state in players]
        for _, state in players:
            assert state.x == pytest.approx(x, rel=1e-12)


def test_a_broken_premise_does_not_make_the_penalty_infinite():
    state = CONVEX.update(SinhaVazeState(X, 1e9, 1.0), Feedback(GRAD, 1e6, S))
    assert np.isfinite(state.x).all()
    assert math.isfinite(state.squares)
    assert state.queue == 1e9 + 0.5e6
    # It pushes back in all the same.
    assert S @ state.x < S @ X


def test_one_strongly_convex_step_with_a_violation_by_hand():
    # The third round: Q = 1.5 + 0.5, h = (-3, 8) + (2 * 2/2) (2, -1) = (1, 6), step 1/12
    new = STRONG.update(StrongState(X, 1.5, 2.0), Feedback(GRAD, 0.5, S))
    assert (new.queue, new.rounds) == (2.0, 3.0)
    assert new.x == pytest.approx([1 - 1 / 12, -0.5 - 6 / 12], rel=1e-15)


@pytest.mark.parametrize("g", [-2.0, 0.0])
def test_without_violations_it_is_descent_with_steps_1_over_H_t(g):
    rng = np.random.default_rng(3)
    state, x = STRONG.init(X), X
    for t in range(1, 40):
        gradient = rng.normal(size=2)
        state = STRONG.update(state, Feedback(gradient, g, S))
        x = BALL.project(x - gradient / (4 * t))
        assert state.x == pytest.approx(x, rel=1e-13)
    assert state.queue == 0.0


finite = st.floats(-1e3, 1e3)
pair = st.tuples(finite, finite)


@given(st.lists(st.tuples(pair, finite, pair), max_size=10))
def test_actions_stay_in_the_ball_and_queues_never_fall(rounds):
    for player in (CONVEX, STRONG):
        state, total = player.init(X), 0.0
        for gradient, g, s in rounds:
            new = player.update(state, Feedback(np.array(gradient), g, np.array(s)))
            assert BALL.contains(new.x) is True
            assert new.queue >= state.queue
            state, total = new, total + max(g, 0.0)
        scale = player.scale if player is CONVEX else 1.0
        assert state.queue == pytest.approx(scale * total, rel=1e-13)


@given(pair, st.floats(1e-3, 1e3), pair)
def test_the_penalty_pushes_along_the_subgradient_only(gradient, g, s):
    gradient, s = np.array(gradient), np.array(s)
    across = np.array([-s[1], s[0]])
    wide = StrongSinhaVaze(V=2.0, strong_convexity=4.0, domain=Ball(1e9))
    with_it = wide.update(wide.init(X), Feedback(gradient, g, s)).x
    without = wide.update(wide.init(X), Feedback(gradient, -g, s)).x
    size = float(s @ s)
    # Moved by -(2Q/V) s/H, Q = g; rounding in proportion to the numbers that were added.
    assert with_it - without == pytest.approx(-g * s / 4, abs=1e-9)
    assert abs(across @ (with_it - without)) <= 1e-9 * (1 + size)


@pytest.mark.parametrize("size", [1e-150, 1e-3, 1e100])
def test_costs_and_actions_of_any_size(size):
    player = SinhaVaze(scale=0.5 / size, rate=0.25, diameter=6.0 * size, domain=Ball(3.0 * size))
    state = player.update(SinhaVazeState(size * X, 0.0, 0.0), Feedback(size * GRAD, -size, S))
    plain = CONVEX.update(SinhaVazeState(X, 0.0, 0.0), Feedback(GRAD, -1.0, S))
    assert state.x / size == pytest.approx(plain.x, rel=1e-13)


def test_the_tuned_players_have_the_numbers_of_the_theorem():
    player, theorem = SinhaVaze.convex(KNOWN, 25)
    assert theorem == SinhaVazeConvex(KNOWN, 25)
    assert player == SinhaVaze(scale=theorem.scale, rate=0.1, diameter=3.0, domain=Ball(1.5))
    player, theorem = StrongSinhaVaze.strongly_convex(KNOWN, 25)
    assert theorem == SinhaVazeStronglyConvex(KNOWN, 25)
    assert player == StrongSinhaVaze(V=theorem.V, strong_convexity=3.5, domain=Ball(1.5))
    around = Ball(1.5, [0.25, 0.0])
    assert SinhaVaze.convex(KNOWN, 25, around).algorithm.domain == around
    assert StrongSinhaVaze.strongly_convex(KNOWN, 25, around).algorithm.domain == around


@pytest.mark.parametrize(
    ("make", "fields", "sentence"),
    [
        (SinhaVaze, {"scale": 0.0}, "scale must be a finite number > 0, got 0.0"),
        (SinhaVaze, {"rate": -1.0}, "rate must be a finite number > 0, got -1.0"),
        (SinhaVaze, {"diameter": math.inf}, "diameter must be a finite number > 0, got inf"),
        (SinhaVaze, {"domain": None}, "domain must be a set with a projection, got None"),
        (StrongSinhaVaze, {"V": math.nan}, "V must be a finite number > 0, got nan"),
        (
            StrongSinhaVaze,
            {"strong_convexity": 0.0},
            "strong_convexity must be a finite number > 0, got 0.0",
        ),
        (StrongSinhaVaze, {"domain": Ball}, "domain must be a set with a projection, got <class"),
    ],
)
def test_bad_numbers_are_named(make, fields, sentence):
    good = {"domain": BALL}
    good |= (
        {"scale": 1.0, "rate": 1.0, "diameter": 1.0}
        if make is SinhaVaze
        else {"V": 1.0, "strong_convexity": 1.0}
    )
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make(**good | fields)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("player", [CONVEX, STRONG], ids=["convex", "strong"])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_value_that_is_not_finite_is_refused_when_it_comes(player, bad):
    with pytest.raises(ValueError, match="must be finite, got"):
        player.update(player.init(X), Feedback(GRAD, bad, S))
