import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import OGD, Ball, Constants, Feedback
from surefoot.rules import DPP, DriftPlusPenalty, ScalarDPP
from surefoot.rules.related.dpp import DPPState
from surefoot.rules.states import QueueState
from surefoot.sets import Box

BALL = Ball(3.0)
SCALAR = ScalarDPP(V=2.0, alpha=5.0, domain=BALL)
VECTOR = DPP(V=2.0, alpha=5.0, rows=3, domain=BALL)
X = np.array([1.0, -0.5])
GRAD = np.array([-3.0, 8.0])
KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.0, D_g=4.0, start_slack=0.3, rows=3)


def test_one_step_of_one_queue_by_hand():
    # d = 2 (-3, 8) + 4 (1, -2) = (-2, 8); x - d/10; Q = 4 - 1 + (1, -2)(0.2, -0.8)
    seen = Feedback(GRAD, -1.0, np.array([1.0, -2.0]))
    new = SCALAR.update(QueueState(X, 4.0), seen)
    assert new.x == pytest.approx([1.2, -1.3], rel=1e-15)
    assert new.queue == pytest.approx(4.8, rel=1e-15)
    assert type(new.queue) is float


def test_one_step_of_many_queues_by_hand():
    # d = 2 (-3, 8) + 4 (1, -2) + 0 + 0.5 (0, 4) = (-2, 10); the move is (0.2, -1)
    s = np.array([[1.0, -2.0], [7.0, 7.0], [0.0, 4.0]])
    seen = Feedback(GRAD, np.array([-1.0, 6.0, 3.25]), s)
    new = VECTOR.update(DPPState(X, np.array([4.0, 0.0, 0.5])), seen)
    assert new.x == pytest.approx([1.2, -1.5], rel=1e-15)
    # 4 - 1 + 2.2, 0 + 6 - 5.6, 0.5 + 3.25 - 4 cut at 0
    assert new.queues == pytest.approx([5.2, 0.4, 0.0], rel=1e-14)


def test_the_queue_sees_the_move_that_the_ball_allowed():
    # Far out, and back to the sphere at (0, -3): the move is (-1, -2.5).
    player = ScalarDPP(V=1.0, alpha=0.5, domain=BALL)
    seen = Feedback(np.array([1.0, 1e9]), 5.0, np.array([1.0, 1.0]))
    new = player.update(player.init(X), seen)
    assert new.x == pytest.approx([0.0, -3.0], abs=1e-8)
    assert new.queue == pytest.approx(5.0 - 3.5, abs=1e-8)


def test_a_queue_does_not_go_below_0():
    new = SCALAR.update(SCALAR.init(X), Feedback(GRAD, -100.0, np.array([1.0, -2.0])))
    assert new.queue == 0.0
    s = np.ones((3, 2))
    new = VECTOR.update(VECTOR.init(X), Feedback(GRAD, np.array([-100.0, 2.0, -9.0]), s))
    assert new.queues.tolist() == [0.0, pytest.approx(1.0), 0.0]


def test_a_zero_subgradient_leaves_the_cost_step_and_the_value():
    new = SCALAR.update(QueueState(X, 4.0), Feedback(GRAD, 0.25, np.zeros(2)))
    assert new.x == pytest.approx(X - 0.2 * GRAD, rel=1e-15)
    assert new.queue == 4.25
    new = VECTOR.update(
        DPPState(X, np.array([4.0, 1.0, 0.0])), Feedback(GRAD, np.full(3, 0.25), np.zeros((3, 2)))
    )
    assert new.x == pytest.approx(X - 0.2 * GRAD, rel=1e-15)
    assert new.queues.tolist() == [4.25, 1.25, 0.25]


@pytest.mark.parametrize("horizon", [1, 7, 10_000])
@pytest.mark.parametrize("rows", [None, 1, 3])
def test_with_empty_queues_it_is_gradient_descent_with_step_1_over_2_sqrt_T(horizon, rows):
    make = ScalarDPP.tuned if rows is None else DPP.tuned
    known = KNOWN.with_origin("given", rows=rows)
    dpp = make(known, horizon, Ball(1.5)).algorithm
    ogd = OGD(eta=1 / (2 * math.sqrt(horizon)), domain=Ball(1.5))
    rng = np.random.default_rng(4)
    mine, plain = dpp.init(X), ogd.init(X)
    s = np.array([0.5, -1.0]) if rows is None else np.tile([0.5, -1.0], (rows, 1))
    g = -50.0 if rows is None else np.full(rows, -50.0)
    for _ in range(50):
        gradient = rng.normal(size=2)
        mine = dpp.update(mine, Feedback(gradient, g, s))
        plain = ogd.update(plain, Feedback(gradient, None, None))
        assert not np.any(mine[1])
        # V/(2 alpha) and 1/(2 sqrt T) are the same number but for a few roundings a round.
        assert np.abs(mine.x - plain.x).max() <= 50 * 8 * 2.0**-53 * 1.5


def test_one_row_is_the_scalar_queue():
    one = DPP(V=2.0, alpha=5.0, rows=1, domain=BALL)
    rng = np.random.default_rng(5)
    a, b = one.init(X), SCALAR.init(X)
    for _ in range(30):
        gradient, g, s = rng.normal(size=2), float(rng.normal()), rng.normal(size=2)
        a = one.update(a, Feedback(gradient, np.array([g]), s[None]))
        b = SCALAR.update(b, Feedback(gradient, g, s))
        assert a.x == pytest.approx(b.x, rel=1e-13)
        assert a.queues == pytest.approx([b.queue], rel=1e-13)


def test_rows_that_do_not_change_places_do_not_talk_to_each_other():
    # Two constraints on two coordinates are two runs in one dimension each.
    both = DPP(V=2.0, alpha=5.0, rows=2, domain=Box([-9.0, -9.0], [9.0, 9.0]))
    alone = DPP(V=2.0, alpha=5.0, rows=1, domain=Box([-9.0], [9.0]))
    rng = np.random.default_rng(6)
    state, states = both.init(X), [alone.init(X[i : i + 1]) for i in range(2)]
    for _ in range(20):
        gradient, g, slopes = rng.normal(size=(3, 2))
        state = both.update(state, Feedback(gradient, g, np.diag(slopes)))
        states = [
            alone.update(
                states[i], Feedback(gradient[i : i + 1], g[i : i + 1], slopes[i].reshape(1, 1))
            )
            for i in range(2)
        ]
        assert state.x == pytest.approx([states[0].x[0], states[1].x[0]], rel=1e-13)
        assert state.queues == pytest.approx([s.queues[0] for s in states], rel=1e-13)


def test_queues_start_as_told():
    assert ScalarDPP(V=1.0, alpha=1.0, domain=BALL, queue=2.5).init(X).queue == 2.5
    many = DPP(V=1.0, alpha=1.0, rows=2, domain=BALL, queue=2.5)
    assert many.init(X).queues.tolist() == [2.5, 2.5]
    assert many.init(np.stack([X, -X, X])).queues.tolist() == [[2.5, 2.5]] * 3
    columns = DPP(V=1.0, alpha=1.0, rows=2, domain=BALL, queue=np.array([[0.5], [3.0]]))
    assert columns.init(np.stack([X, -X])).queues.tolist() == [[0.5, 0.5], [3.0, 3.0]]


finite = st.floats(-100, 100)
pair = st.tuples(finite, finite)
rounds = st.lists(st.tuples(pair, pair, finite, pair, finite), min_size=1, max_size=12)


@given(rounds)
def test_queues_are_never_negative_and_bound_what_entered_them(seen):
    # sum_t (g_k(x_t) + s_k (x_{t+1} - x_t)) <= Q_{T+1,k}, whatever the feedback.
    player = DPP(V=2.0, alpha=5.0, rows=2, domain=BALL)
    state, entered = player.init(X), [[], []]
    for gradient, *rows in seen:
        s, g = np.array([rows[0], rows[2]]), np.array([rows[1], rows[3]])
        new = player.update(state, Feedback(np.array(gradient), g, s))
        assert (new.queues >= 0).all()
        assert BALL.contains(new.x) is True
        for k in range(2):
            entered[k].append(g[k] + float(s[k] @ (new.x - state.x)))
        state = new
    # Twelve rounds, a few roundings each of numbers below 100 + 142 * 6, and sums of those.
    slack = 12 * 12 * 8 * 1e3 * 2.0**-53
    for k in range(2):
        assert math.fsum(entered[k]) <= state.queues[k] + slack


@given(rounds)
def test_the_sum_of_g_is_at_most_the_queue_and_the_length_of_the_path(seen):
    state, values, path = SCALAR.init(X), [], []
    steepest = max(math.hypot(*s) for _, s, *_ in seen)
    for gradient, s, g, *_ in seen:
        new = SCALAR.update(state, Feedback(np.array(gradient), g, np.array(s)))
        values.append(g)
        path.append(float(np.linalg.norm(new.x - state.x)))
        state = new
    slack = 12 * 12 * 8 * 1e3 * 2.0**-53
    assert math.fsum(values) <= state.queue + steepest * math.fsum(path) + slack


@pytest.mark.parametrize("size", [1e-150, 1e-3, 1e150])
def test_numbers_of_any_size(size):
    player = ScalarDPP(V=2.0, alpha=5.0, domain=Ball(3.0 * size))
    seen = Feedback(size * GRAD, -size, np.array([1.0, -2.0]))
    new = player.update(QueueState(size * X, 4.0 * size), seen)
    assert new.x / size == pytest.approx([1.2, -1.3], rel=1e-14)
    assert new.queue / size == pytest.approx(4.8, rel=1e-14)


def test_the_tuned_players_have_the_numbers_of_the_theorem():
    player, theorem = ScalarDPP.tuned(KNOWN, 49)
    assert theorem == DriftPlusPenalty(KNOWN, 49)
    assert player == ScalarDPP(V=7.0, alpha=49.0, domain=Ball(1.5))
    player, theorem = DPP.tuned(KNOWN, 49)
    assert theorem == DriftPlusPenalty(KNOWN, 49, 3)
    assert player == DPP(V=7.0, alpha=49.0, rows=3, domain=Ball(1.5))
    assert DPP.tuned(KNOWN.with_origin("given", rows=5), 49).algorithm.rows == 5
    around = Ball(1.5, [0.25, 0.0])
    assert DPP.tuned(KNOWN, 49, around).algorithm.domain == around
    assert ScalarDPP.tuned(KNOWN, 49, domain=around).algorithm.domain == around


GOOD = {"V": 2.0, "alpha": 5.0, "domain": BALL}


@pytest.mark.parametrize("make", [ScalarDPP, lambda **fields: DPP(rows=2, **fields)])
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("V", 0.0, "V must be a finite number > 0, got 0.0"),
        ("V", math.inf, "V must be a finite number > 0, got inf"),
        ("alpha", -1.0, "alpha must be a finite number > 0, got -1.0"),
        ("alpha", "1", "alpha must be a finite number > 0, got '1'"),
        ("queue", -0.5, "queue must be a finite number >= 0, got -0.5"),
        ("queue", math.nan, "queue must be a finite number >= 0, got nan"),
        ("domain", 3.0, "domain must be a set .* got 3.0: Ball.3.0. is the ball of that radius"),
    ],
)
def test_bad_numbers_are_named(make, field, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make(**GOOD | {field: value})


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, None])
def test_a_bad_number_of_rows_is_named(rows):
    with pytest.raises(ValueError, match=f"rows must be a whole number >= 1, got {rows}"):
        DPP(rows=rows, **GOOD)


def test_a_number_of_rows_that_is_not_known_is_asked_for():
    nobody = Constants(R=1.5, G_f=7.0, G_g=2.0, D_g=4.0)
    with pytest.raises(ValueError, match="DPP with a queue for each constraint needs rows, which "):
        DPP.tuned(nobody, 49)
    assert DPP.tuned(nobody.with_origin("given", rows=2), 49).algorithm.rows == 2


@pytest.mark.parametrize("m", [1, 2, 4])
def test_feedback_with_another_number_of_rows_is_refused(m):
    seen = Feedback(GRAD, np.zeros(m), np.ones((m, 2)))
    with pytest.raises(ValueError, match=rf"must end in 3, the rows of the .*, got \({m},\)"):
        VECTOR.update(VECTOR.init(X), seen)
    seen = Feedback(np.stack([GRAD, GRAD]), np.zeros((2, m)), np.ones((2, m, 2)))
    with pytest.raises(ValueError, match=rf"must end in 3, the rows of the .*, got \(2, {m}\)"):
        VECTOR.update(VECTOR.init(np.stack([X, X])), seen)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_refused_when_it_comes(bad):
    with pytest.raises(ValueError, match=f"must be finite, got a multiplier of {bad}"):
        SCALAR.update(SCALAR.init(X), Feedback(GRAD, bad, np.ones(2)))
    with pytest.raises(ValueError, match=f"must be finite, got a multiplier of {bad}"):
        VECTOR.update(VECTOR.init(X), Feedback(GRAD, np.array([-1.0, bad, 0.0]), np.ones((3, 2))))


def test_a_start_outside_the_domain_is_refused():
    for player in (SCALAR, VECTOR):
        with pytest.raises(ValueError, match="x1 must be in the domain"):
            player.init(np.array([3.0, 0.5]))
