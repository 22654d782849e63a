import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import PFS, Ball, Constants, Feedback, Problem, play
from surefoot.problems import ADVERSARIES, adversarial_cube
from surefoot.rules import (
    DoublingHorizon,
    DoublingPFS,
    ScheduledPFS,
    StronglyConvexSchedule,
    UnknownGradients,
    UnknownHorizon,
)
from surefoot.rules.scheduled_pfs import ScheduledState
from surefoot.sets import EmptyTighteningError

from ._attack import greedy, turned_box

BALL = Ball(3.0)
X = np.array([1.0, -0.5])
GRAD = np.array([-3.0, 4.0])
S = np.array([0.0, -2.0])
KNOWN = Constants(
    R=1.5, G_f=7.0, G_g=2.5, sigma=1.5, epsilon=0.4, start_slack=0.3, strong_convexity=0.5
)

# --- one step by hand ----------------------------------------------------------------------------


def test_one_step_by_hand():
    # Round 4 and offset 12: rho = 0.8/16^(1/2) = 0.2, eta = 0.25 * 0.2 = 0.05;
    # y = (1.15, -0.7), v = -0.1 + 0.4 + 0.2 = 0.5: back by 0.5/4 of s.
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL, offset=12.0)
    new = player.update(ScheduledState(X, 3.0, 9.0, 10.0), Feedback(GRAD, -0.1, S))
    assert new.x == pytest.approx([1.15, -0.45], rel=1e-14)
    assert new[1:] == (4.0, 9.0, 35.0)
    assert [type(n) for n in new[1:]] == [float] * 3


@pytest.mark.parametrize(
    ("power", "rho"), [(0.0, 0.8), (0.5, 0.8 / 6), (1.0, 0.8 / 36), (0.25, 0.8 / math.sqrt(6))]
)
def test_the_tightening_falls_with_the_power_of_the_round(power, rho):
    # Round 6 and offset 30. A cut of an excess of g + rho alone: x moves by (g + rho)/|s|.
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL, power=power, offset=30.0)
    new = player.update(ScheduledState(X, 5.0, 0.0, 0.0), Feedback(np.zeros(2), 0.1, S))
    assert new.x == pytest.approx([1.0, -0.5 + (0.1 + rho) / 2], rel=1e-14)


@pytest.mark.parametrize(
    ("largest", "squares", "adagrad", "eta"),
    [
        (2.0, 10.0, None, 0.04),  # 0.25 * 0.8 by the round's own gradient, 5
        (20.0, 10.0, None, 0.01),  # by an earlier one
        (2.0, 11.0, 0.12, 0.02),  # 0.12/sqrt(11 + 25)
        (2.0, 11.0, 0.9, 0.04),
    ],
)
def test_steps_by_the_largest_gradient_and_the_summed_squares(largest, squares, adagrad, eta):
    player = ScheduledPFS(
        rho=0.8, step_size=0.25, domain=BALL, power=0.0, running=True, adagrad=adagrad
    )
    new = player.update(ScheduledState(X, 5.0, largest, squares), Feedback(GRAD, -9.0, S))
    assert new.x == pytest.approx(X - eta * GRAD, rel=1e-14)
    assert (new.largest, new.squares) == (max(largest, 5.0), squares + 25.0)


def test_adagrad_limits_a_step_that_goes_by_G_f_too():
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL, power=0.0, adagrad=0.1)
    new = player.update(player.init(X), Feedback(GRAD, -9.0, S))
    assert new.x == pytest.approx(X - 0.02 * GRAD, rel=1e-14)


@pytest.mark.parametrize("adagrad", [None, 0.5])
@pytest.mark.parametrize("running", [False, True])
def test_before_the_first_gradient_only_the_cut_moves(running, adagrad):
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL, running=running, adagrad=adagrad)
    new = player.update(player.init(X), Feedback(np.zeros(2), -9.0, S))
    assert np.array_equal(new.x, X)
    cut = player.update(new, Feedback(np.zeros(2), 0.1, S))
    assert cut.x == pytest.approx([1.0, -0.45 + 0.4 / math.sqrt(2)], rel=1e-14)


def test_with_a_tightening_that_stays_it_is_pfs():
    player = ScheduledPFS(rho=0.2, step_size=0.25, domain=BALL, power=0.0)
    plain = PFS(eta=0.05, rho=0.2, domain=BALL)
    rng = np.random.default_rng(3)
    a, b = player.init(X), plain.init(X)
    for _ in range(40):
        seen = Feedback(rng.normal(size=2), float(rng.normal()), rng.normal(size=2))
        a, b = player.update(a, seen), plain.update(b, seen)
        assert a.x == pytest.approx(b.x, rel=1e-12, abs=1e-13)


def test_a_zero_subgradient_leaves_the_cost_step_and_is_refused_where_the_set_is_empty():
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL)
    new = player.update(player.init(X), Feedback(GRAD, -0.8, np.zeros(2)))
    assert new.x == pytest.approx(X - 0.2 * GRAD, rel=1e-14)
    with pytest.raises(EmptyTighteningError, match=r"got s = 0 with g \+ rho = 0.05"):
        player.update(player.init(X), Feedback(GRAD, -0.75, np.zeros(2)))


finite = st.floats(-1e3, 1e3)
pair = st.tuples(finite, finite)


@given(st.lists(pair, min_size=1, max_size=12), st.sampled_from([None, 0.7]))
def test_steps_are_never_longer_than_the_tightening_allows(gradients, adagrad):
    # Far inside, where nothing is cut: the length of a step is at most s rho_t, and 1/eta rises.
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=Ball(1e6), running=True, adagrad=adagrad)
    state, last = player.init(X), math.inf
    for t, gradient in enumerate(gradients, 1):
        new = player.update(state, Feedback(np.array(gradient), -1e9, S))
        length, size = math.dist(new.x, state.x), math.hypot(*gradient)
        # x is known up to 3 units in the last place of 3.
        assert length <= 0.2 / math.sqrt(t) * (1 + 1e-12) + 1e-14
        if size > 1e-3:
            assert length / size <= last + 1e-10
            last = length / size
        state = new


@pytest.mark.parametrize("size", [1e-120, 1e-3, 1e120])
def test_gradients_of_any_size_lead_to_the_same_steps_where_G_f_is_not_asked_for(size):
    player = ScheduledPFS(rho=0.8, step_size=0.25, domain=BALL, running=True, adagrad=2.0)
    a, b = player.init(X), player.init(X)
    rng = np.random.default_rng(5)
    for _ in range(20):
        gradient = rng.normal(size=2)
        a = player.update(a, Feedback(gradient, -0.5, S))
        b = player.update(b, Feedback(size * gradient, -0.5, S))
        assert a.x == pytest.approx(b.x, rel=1e-12)


# --- tuned ---------------------------------------------------------------------------------------

TUNED = {
    "unknown_horizon": UnknownHorizon(KNOWN),
    "unknown_gradients": UnknownGradients(KNOWN, 50),
    "adaptive": UnknownGradients(KNOWN, 50, adaptive=True),
    "strongly_convex": StronglyConvexSchedule(KNOWN),
}


@pytest.mark.parametrize("name", TUNED)
def test_the_tuned_players_have_the_numbers_of_the_theorem(name):
    assert name in ScheduledPFS.tunings
    player, theorem = getattr(ScheduledPFS, name)(KNOWN, 50)
    assert theorem == TUNED[name]
    assert player.domain == Ball(1.5)
    for field in ("rho", "power", "offset", "running", "adagrad"):
        assert getattr(player, field) == getattr(theorem, field)
    assert player.step_size == theorem.step_size
    around = Ball(1.5, [0.25, 0.0])
    assert getattr(ScheduledPFS, name)(KNOWN, 50, around).algorithm.domain == around


def test_the_horizon_is_used_where_it_is_given_and_of_use():
    assert ScheduledPFS.adaptive(KNOWN).algorithm.power == 0.5
    assert ScheduledPFS.adaptive(KNOWN, 50).algorithm.power == 0.0
    assert ScheduledPFS.unknown_horizon(KNOWN, 50) == ScheduledPFS.unknown_horizon(KNOWN)
    assert ScheduledPFS.strongly_convex(KNOWN, 50) == ScheduledPFS.strongly_convex(KNOWN)


def test_steps_of_strongly_convex_costs_are_those_of_the_books():
    player = ScheduledPFS.strongly_convex(KNOWN).algorithm
    state = ScheduledState(X, 6.0, 0.0, 0.0)
    new = player.update(state, Feedback(0.1 * GRAD, -9.0, S))
    eta = 1 / (0.5 * (7 + player.offset))
    assert new.x == pytest.approx(X - eta * 0.1 * GRAD, rel=1e-13)


# --- feasible in every round, exactly ------------------------------------------------------------

PLAYERS = {
    "unknown horizon": lambda c: ScheduledPFS.unknown_horizon(c),
    "unknown gradients": lambda c: ScheduledPFS.unknown_gradients(c),
    "unknown gradients, horizon": lambda c: ScheduledPFS.unknown_gradients(c, 300),
    "adaptive": lambda c: ScheduledPFS.adaptive(c),
    "strongly convex": lambda c: ScheduledPFS.strongly_convex(c),
    "doubling": lambda c: DoublingPFS.anytime(c),
}


def near_a_corner(adversary, d, rounds):
    made = adversarial_cube(adversary, horizon=rounds, dimension=d, size=1.5)
    start = 0.5 * np.array([0.5, -0.48, 0.46, *np.zeros(max(0, d - 3))])[:d]
    found = Problem.of(made.costs, made.constraint, made.domain, start, G_f=1.5)
    constants = found.constants.with_origin("given", strong_convexity=1.5)
    return Problem(
        costs=made.costs,
        constraint=made.constraint,
        domain=made.domain,
        start=start,
        constants=constants,
    )


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("name", PLAYERS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_stream_pushes_out(adversary, name, d):
    problem = near_a_corner(adversary, d, 300)
    trace = play(PLAYERS[name](problem.constants), problem, horizon=300, watch="raise")
    assert (trace.constraint <= 0).all()
    if adversary == "uncut" and d in (2, 5) and name != "doubling":
        # No straw man: it gets past the boundary of the tightened set, where the length counts.
        schedule = trace.guarantee
        assert (trace.constraint > -schedule.tightening(trace.rounds) * (1 - 1e-6)).any()


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("name", PLAYERS)
def test_an_opponent_who_looks_one_step_ahead_cannot_push_out(name, d):
    constraint, radius, start = turned_box(d)
    known = constraint.constants(Ball(radius), start)
    known = known.with_origin("given", G_f=2.5, strong_convexity=2.0)
    player = PLAYERS[name](known).algorithm
    _, _, values = greedy(player, constraint, start, 200, 2.5)
    assert (values <= 0).all()


@pytest.mark.parametrize("exponents", [(-100, 100), (100, -100), (100, 100), (-100, -100)])
@pytest.mark.parametrize("name", PLAYERS)
def test_every_round_is_feasible_at_any_scale(name, exponents):
    length, slope = (10.0**e for e in exponents)
    problem = adversarial_cube("uncut", horizon=100, dimension=3, radius=length, size=slope)
    constants = problem.constants.with_origin("given", strong_convexity=slope / length)
    trace = play(PLAYERS[name](constants), problem, horizon=100, watch="off")
    assert (trace.constraint <= 0).all()


# --- doubling ------------------------------------------------------------------------------------


def test_phases_double_and_begin_at_the_start():
    player = DoublingPFS(eta=0.4, rho=0.2, domain=BALL)
    state, begins = player.init(X), []
    for t in range(1, 40):
        if state.played == 0:
            begins.append((t, state.length))
            assert np.array_equal(state.x, X)
        # Nothing is cut: the step is that of the phase.
        new = player.update(state, Feedback(GRAD, -9.0, S))
        if new.played:
            eta = 0.4 / math.sqrt(state.length)
            assert new.x == pytest.approx(BALL.project(state.x - eta * GRAD), rel=1e-14)
        state = new
    assert begins == [(1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0), (16, 16.0), (32, 32.0)]


def test_each_phase_is_corollary_1_for_its_length():
    player, theorem = DoublingPFS.anytime(KNOWN, 7)
    assert theorem == DoublingHorizon(KNOWN)
    rng = np.random.default_rng(2)
    x1 = np.array([0.4, 0.2])
    state = player.init(x1)
    for length in (1, 2, 4, 8, 16):
        alone = PFS.anytime(KNOWN, length).algorithm
        plain = alone.init(x1)
        for _ in range(length):
            assert state.x == pytest.approx(plain.x, rel=1e-12)
            seen = Feedback(rng.normal(size=2), float(rng.normal()), rng.normal(size=2))
            state, plain = player.update(state, seen), alone.update(plain, seen)


def test_a_run_that_is_lost_at_the_end_of_a_phase_stays_lost():
    player = DoublingPFS(eta=0.4, rho=0.2, domain=BALL)
    x = np.array([X, X])
    seen = Feedback(np.array([GRAD, GRAD]), np.array([[np.nan], [-0.5]]), np.array([S, S]))
    state = player.update(player.init(x), seen)
    assert np.isnan(state.x[0]).all()
    assert np.array_equal(state.x[1], X)


# --- bad input -----------------------------------------------------------------------------------

GOOD = {"rho": 0.1, "step_size": 1.0, "domain": BALL}


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("rho", 0.0, r"rho must be a finite number > 0, got 0\.0"),
        ("step_size", -1.0, r"step_size must be a finite number > 0, got -1\.0"),
        ("power", -0.5, r"power must be a finite number >= 0, got -0\.5"),
        ("offset", math.inf, "offset must be a finite number >= 0, got inf"),
        ("adagrad", 0.0, r"adagrad must be a finite number > 0, got 0\.0"),
        ("domain", None, "domain must be a set with a projection, got None"),
    ],
)
def test_bad_numbers_are_named(field, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        ScheduledPFS(**GOOD | {field: value})


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("eta", 0.0, r"eta must be a finite number > 0, got 0\.0"),
        ("rho", -1.0, r"rho must be a finite number >= 0, got -1\.0"),
        ("domain", Ball, "domain must be a set with a projection, got <class"),
    ],
)
def test_bad_numbers_of_doubling_are_named(field, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        DoublingPFS(**{"eta": 0.1, "rho": 0.1, "domain": BALL} | {field: value})


@pytest.mark.parametrize("make", [*PLAYERS.values()], ids=PLAYERS)
def test_a_start_without_slack_is_refused(make):
    on_the_edge = KNOWN.with_origin("given", start_slack=0.0)
    with pytest.raises(ValueError, match=r"needs a strictly feasible start: .* got 0$"):
        make(on_the_edge)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_what_is_not_finite_is_refused_when_it_comes(running, bad):
    player = ScheduledPFS(rho=0.1, step_size=1.0, domain=BALL, running=running, adagrad=2.0)
    state = player.init(X)
    for seen in (
        Feedback(GRAD, bad, S),
        Feedback(np.array([bad, 1.0]), -0.5, S),
        Feedback(GRAD, -0.5, np.array([1.0, bad])),
    ):
        with pytest.raises(ValueError, match="must be finite, got"):
            player.update(state, seen)
