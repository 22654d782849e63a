import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings as given_settings, strategies as st

from surefoot import Ball, Constants, Feedback, Problem, kernel, play as play_game, problems
from surefoot.certified_pair import CertifiedState
from surefoot.core.errors import InvalidValueError
from surefoot.core.record import is_tree
from surefoot.knowledge import Reading
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm
from surefoot.problems.costs import Linear
from surefoot.proposers.descent import DescentState
from surefoot.rules import CertifiedPFS, TheoremD
from surefoot.sets import Box, EmptyTighteningError

from ._known import after_rounds, distance_of, gradients, inside, play, sets

UNIT = 2.0**-53
BASE = {"G_g": 2.0, "domain": Ball(3.0), "rho": 0.25, "decreasing": False, "eta": 0.2}


def fixed(**changes):
    return CertifiedPFS(**BASE | changes)


FIXED = fixed()
X = np.array([0.5, -0.25])
STEEP = np.array([1.2, -1.6])  # of norm 2
# The margin of d = 2, R = 3, G_g = 2: what r is shortened by, and g raised by.
NOISE = 16 * 6 * UNIT * 2 * 3
ERROR = 32 * 10 * UNIT * 3 + NOISE / 2


def after_three(player, start, distance, inverse_eta=0.0, squares=0.0, slack=0.8):
    """The state at X after three rounds."""
    memory = after_rounds(player.knowledge, X, start, distance, slack=slack)
    return CertifiedState(X, memory, DescentState(squares, inverse_eta))


AWAY = X - np.array([0.6, 0.8])


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


# --- one step by hand ----------------------------------------------------------------------------


def test_one_step_by_hand_inside_the_tightened_set():
    # g = -0.9: r = 0.9/2 = 0.45, below the 0.2 * 5 that is wanted. y = x + 0.09 (3, -4);
    # v = -0.9 + 0.9 + 0.25: the cut takes 0.25/4 (1.2, -1.6) back.
    # The action moves by 0.325 = (0.9 - 0.25)/2, to the edge of the tightened set: A' = 0.
    seen = Feedback(np.array([-3.0, 4.0]), -0.9, STEEP)
    before = FIXED.init(X)
    after, info = FIXED.step(before, seen)
    assert after.x == near([0.695, -0.51])
    assert after.memory.anchor.tolist() == X.tolist()
    assert (after.memory.rounds, after.memory.slack) == (1.0, 0.9 - NOISE)
    assert distance_of(FIXED, after) == near(0.0)
    assert (after.learner.inverse_eta, after.learner.squares) == near((5 / 0.45, 25.0))
    certificate = info.certificate
    assert certificate.rule == "slack"
    assert (certificate.round, certificate.G_g, certificate.rho) == (1, 2.0, 0.25)
    assert certificate.slack == pytest.approx(0.9 - NOISE, rel=1e-15)
    assert certificate.length == pytest.approx(0.45 - NOISE / 2 - ERROR, rel=1e-15)
    assert certificate.taken == near(0.325)
    assert certificate.cut
    assert certificate.bound == near(-0.25)
    assert str(certificate) == (
        "round 1: slack 0.9 and g rises by at most G_g = 2: certified length 0.45, "
        "step 0.325, cut; the next g is at most -0.25"
    )


def test_one_step_by_hand_moving_back_to_the_tightened_set():
    # g + rho = 0.05, |s| = 1.5, |x - x_1| = 1: (*) gives A = 0.05/0.6 = 1/12, below the 0.1 that
    # was left, and d = 1/30; B = sqrt(1/144 - 1/900); r = 0.125 - B = 0.0486. Of the step (0, -r)
    # the part across s, (-0.48 r, -0.36 r), is left: A' = B + 0.6 r.
    before = after_three(FIXED, AWAY, 0.1, 0.5, 7.0)
    seen = Feedback(np.array([0.0, 2.0]), -0.2, np.array([0.9, -1.2]))
    after, info = FIXED.step(before, seen)
    B = math.sqrt(1 / 144 - 1 / 900)
    r = 0.125 - B
    v = 0.05 + 1.2 * r
    assert after.x == near([0.5 - v / 2.25 * 0.9, -0.25 - r + v / 2.25 * 1.2])
    # 2/r loses digits where the difference r does.
    assert after.learner == pytest.approx((11.0, 2 / r), rel=1e-11)
    assert (after.memory.rounds, after.memory.slack) == (4.0, 0.8)
    assert distance_of(FIXED, after) == near(B + 0.6 * r)
    certificate = info.certificate
    assert certificate.rule == "contraction"
    assert (certificate.round, certificate.slack) == (4, near(0.2))
    assert (certificate.length, certificate.taken) == near((r, 0.6 * r))
    assert certificate.bound == near(2 * (B + 0.6 * r) - 0.25)
    assert "slack 0.2 below rho = 0.25, moving back" in str(certificate)


@pytest.mark.parametrize(
    ("player", "distance", "A"),
    [
        (FIXED, 0.1, 1 / 12),  # (*)
        (FIXED, 0.05, 0.05),  # what is left of the last round
        (fixed(sigma=0.8), 0.1, 0.0625),  # sigma
        (fixed(sigma=0.1), 0.1, 1 / 12),
    ],
)
def test_the_shortest_of_three_distances_counts(player, distance, A):
    seen = Feedback(np.array([0.0, 2.0]), -0.2, np.array([0.9, -1.2]))
    certificate = player.step(after_three(player, AWAY, distance), seen)[1].certificate
    assert certificate.length == near(0.125 - math.sqrt(A**2 - 1 / 900))


def test_a_short_step_is_not_shortened_and_leaves_more_than_it_must():
    seen = Feedback(np.array([-0.3, 0.4]), -0.9, STEEP)
    after, info = FIXED.step(FIXED.init(X), seen)
    certificate = info.certificate
    assert after.x == near([0.56, -0.33])
    assert certificate.taken == near(0.1)
    assert not certificate.cut
    assert certificate.bound == near(-0.9 + 2 * 0.1)
    assert distance_of(FIXED, after) == 0.0  # still inside the tightened set
    assert str(certificate).endswith("step 0.1; the next g is at most -0.7")


def test_the_tightening_falls_with_the_root_of_the_round_and_brings_the_set_nearer():
    falling = fixed(decreasing=True)
    # rho_4 = 0.125: g = -0.1, g + rho = 0.025, (*) 0.025/0.7, d = 0.025/1.5.
    seen = Feedback(np.array([0.0, 20.0]), -0.1, np.array([0.9, -1.2]))
    after, info = falling.step(after_three(falling, AWAY, 0.1), seen)
    left = math.sqrt((0.025 / 0.7) ** 2 - (0.025 / 1.5) ** 2)
    assert info.certificate.rho == near(0.125)
    assert info.certificate.length == near(0.0625 - left)
    # After this step A' = left + 0.6 r, and the shift from rho_4 to rho_5 makes it shorter.
    shift = (0.125 - 0.25 / math.sqrt(5)) / 2
    assert distance_of(falling, after) == near(left + 0.6 * (0.0625 - left) - shift)


def test_half_of_the_slack_of_the_start_is_the_largest_tightening():
    seen = Feedback(np.array([-3.0, 4.0]), -0.3, STEEP)
    assert FIXED.step(FIXED.init(X), seen)[1].certificate.rho == near(0.15)


def test_without_a_fixed_step_size_it_is_that_of_adagrad():
    player = fixed(eta=None)
    state = player.init(X)
    for size, squares in ((0.3, 0.09), (0.4, 0.25)):
        seen = Feedback(np.array([size, 0.0]), -90.0, STEEP)
        state, info = player.step(state, seen)
        assert state.learner.squares == near(squares)
        # Far from the boundary the certified length does not count.
        assert state.learner.inverse_eta == near(math.sqrt(squares) / (math.sqrt(2) * 3))
        assert info.region.longest > 40


def test_without_the_ratchet_a_long_gradient_is_forgotten():
    long, short = np.array([-300.0, 400.0]), np.array([-0.3, 0.4])
    for ratchet, size in ((True, 0.5 * 0.45 / 500), (False, 0.1)):
        player = fixed(ratchet=ratchet)
        state = player.update(player.init(X), Feedback(long, -0.9, STEEP))
        after = player.update(state, Feedback(short, -0.9, STEEP))
        assert np.linalg.norm(after.x - state.x) == near(size)


# --- the distance is that of the action really played ---------------------------------------------


def test_by_hand_the_distance_after_another_action_than_the_one_asked_for():
    seen = Feedback(np.array([-3.0, 4.0]), -0.9, STEEP)
    state = FIXED.update(FIXED.init(X), seen)
    # From q = X, B = -0.325: an action 0.4 away is at most 0.075 from the tightened set, so its
    # cut, if it is one of length 0.05/2, leaves the root of 0.075^2 - 0.025^2.
    strayed = X + np.array([0.4, 0.0])
    told = Feedback(np.zeros(2), -0.2, STEEP, action=strayed)
    after, info = FIXED.step(state, told)
    near_start = 0.05 / (0.9 - 0.2) * 0.4  # (*) with the start X
    A = min(0.075, near_start)
    assert after.memory.distance == near(A)
    assert info.certificate.length == near(0.125 - math.sqrt(A**2 - 0.025**2))


@pytest.mark.parametrize("g", [1e-3, 0.1, 2.0])
def test_after_an_action_that_strayed_outside_it_goes_back_to_what_is_certain(g):
    limit = Affine([[1.0, 0.0]], [0.5])
    player = CertifiedPFS(G_g=1.0, domain=Ball(3.0), rho=0.1)
    state = player.init(np.zeros(2))
    for _ in range(5):
        state = player.update(state, Feedback(np.array([-1.0, 0.0]), *limit.query(state.x)))
    strayed = np.array([0.5 + g, 0.3])
    told = Feedback(np.array([-1.0, 0.0]), *limit.query(strayed), action=strayed)
    after, info = player.step(state, told)
    assert limit.value(after.x) <= info.certificate.bound <= 0
    assert info.region.contains(after.x)


@given_settings(max_examples=60, deadline=None)
@given(sets(), st.sampled_from([1e-3, 0.1, 0.5]), st.booleans())
def test_whatever_is_played_its_distance_is_bounded_and_the_next_action_feasible(
    drawn, share, decreasing
):
    # Actions of the region, and others, feasible or not: A bounds the distance of all of them.
    known, rng = drawn
    constraint, domain = known.constraint, known.domain
    x1 = inside(known, rng)
    rho = share * -constraint.value(x1)
    player = CertifiedPFS(
        G_g=constraint.subgradient_bound(domain), domain=domain, rho=rho, decreasing=decreasing
    )
    rounding = 4 * (len(x1) + 8) * UNIT * domain.reach_from_origin
    state, gradient = player.init(x1), gradients(known, rng, len(x1))
    for t in range(20):
        action = state.x
        if t and rng.random() < 0.5:
            way = rng.normal(size=len(x1)) * domain.radius
            action = domain.project(state.x + 10.0 ** rng.uniform(-4, 0) * way)
        told = Feedback(gradient(action), *constraint.query(action), action=action)
        state, info = player.step(state, told)
        memory = state.memory
        assert constraint.value(state.x) <= info.certificate.bound <= 0
        if memory.upper > -memory.rho:
            assert known.distance(action, memory.rho) <= memory.distance + rounding
        assert info.region.contains(state.x)


# --- the margin, by hand -------------------------------------------------------------------------


def test_an_error_of_the_observed_g_counts_wherever_it_could_do_harm():
    # delta = 0.01: g is taken as -0.19, so A = 0.06/(-0.19 + 0.79), and the cut, which moves by
    # 0.04/1.5, as moving by 0.03/1.5; e = 0.01/2.
    player = fixed(evaluation_error=0.01)
    first = player.update(player.init(X), Feedback(np.zeros(2), -0.8, STEEP))
    assert first.memory.slack == near(0.79)
    before = after_three(player, AWAY, 0.5, slack=0.79)
    seen = Feedback(np.array([0.0, 2.0]), -0.2, np.array([0.9, -1.2]))
    after, info = player.step(before, seen)
    B = math.sqrt(0.1**2 - (0.03 / 1.5) ** 2)
    r = 0.125 - B - 0.005
    assert info.certificate.length == near(r)
    assert distance_of(player, after) == near(B + 0.6 * r + 0.005)
    v = 0.04 + 1.2 * r  # the half-space is let out by delta
    assert after.x == near([0.5 - v / 2.25 * 0.9, -0.25 - r + v / 2.25 * 1.2])


def test_a_cut_that_seems_to_go_all_the_way_is_not_believed_to_the_last_digit():
    # (*): A = 0.05/0.6 * 0.3 = 0.025 = 0.05/2 = d, so the root alone would leave nothing.
    before = after_three(FIXED, X - np.array([0.18, 0.24]), 0.5)
    seen = Feedback(np.array([0.0, 2.0]), -0.2, STEEP)
    length = FIXED.step(before, seen)[1].certificate.length
    # The square of what is left is 4 (d + 8) u A^2, and what the errors of g leave of A^2 - d^2.
    more = NOISE * (0.3 / 0.6) * (1 - 0.05 / 0.6) + 2 * NOISE / 2
    left = math.sqrt(4 * 10 * UNIT * 0.025**2 + more * 0.05)
    assert 0.125 - length == pytest.approx(left, rel=1e-4)
    assert left > 5e-8


def test_a_round_without_room_stays():
    player = fixed(evaluation_error=0.2)
    seen = Feedback(np.array([0.0, 2.0]), -0.2, np.array([0.9, -1.2]))
    after, info = player.step(after_three(player, AWAY, 0.1, 0.5, 7.0), seen)
    assert info.certificate.rule == "stayed"
    assert after.memory.rounds == 4.0
    assert after.x.tolist() == X.tolist()


@pytest.mark.parametrize("d", [1, 2, 7, 100])
@pytest.mark.parametrize("error", [0.0, 1e-18, 3e-12])
def test_the_margin_is_at_least_the_derived_bound_on_rounding(d, error):
    # In exact numbers: delta = max(16(n + 4)u G_g M, the error told and 8u G_g M),
    # e = 32(n + 8)u M + delta/G_g, kappa = 4(n + 8)u.
    u, G_g, M = Fraction(1, 2**53), 0.7, 3.1
    known = CertifiedPFS(G_g=G_g, domain=Ball(M), rho=0.1, evaluation_error=error).knowledge
    unit = u * Fraction(G_g) * Fraction(M)
    delta = max(16 * (d + 4) * unit, Fraction(error) + 8 * unit)
    e = 32 * (d + 8) * u * Fraction(M) + delta / Fraction(G_g)
    noise, length, kappa = map(Fraction, known.margins(d))
    tight = 1 - 4 * u
    assert delta * tight <= noise <= Fraction(1.001) * delta
    assert e * tight <= length <= Fraction(1.001) * e
    assert kappa == 4 * (d + 8) * u


# --- edges ---------------------------------------------------------------------------------------


def test_zero_subgradient_inside_leaves_the_cost_step():
    after = FIXED.update(FIXED.init(X), Feedback(np.array([-0.3, 0.4]), -0.9, np.zeros(2)))
    assert after.x == near([0.56, -0.33])


def test_zero_subgradient_above_the_tightened_level_says_the_set_is_empty():
    state = after_three(FIXED, X - 0.5, 0.1)
    with pytest.raises(EmptyTighteningError, match=r"s = 0 with g \+ rho = 0.05"):
        FIXED.update(state, Feedback(np.array([-3.0, 4.0]), -0.2, np.zeros(2)))


def test_zero_gradients_before_the_first_leave_the_step_size_open():
    state = FIXED.init(X)
    player = fixed(eta=None)
    for _ in range(3):
        after, info = player.step(state, Feedback(np.zeros(2), -0.9, STEEP))
        assert (info.certificate.taken, info.cut) == (0.0, False)
        assert after.x.tolist() == X.tolist()
        assert after.learner == (0.0, 0.0)
        state = after
    after = player.update(state, Feedback(np.array([-3.0, 4.0]), -0.9, STEEP))
    assert after.learner.inverse_eta == near(5 / 0.45)


def test_a_zero_gradient_outside_the_tightened_set_still_moves_back():
    before = after_three(FIXED, AWAY, 0.1)
    after = FIXED.update(before, Feedback(np.zeros(2), -0.2, np.array([0.9, -1.2])))
    assert after.x == near([0.5 - 0.02, -0.25 + 0.05 / 2.25 * 1.2])
    assert distance_of(FIXED, after) == near(math.sqrt(1 / 144 - 1 / 900))


def test_one_dimension_and_one_round():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    problem = Problem.of(Linear([[-7.0]]), LinfNorm(1.0, 1), Ball(1.0), [0.25])
    trace = play_game(player, problem)
    # r = 0.75, then back to where g = -rho = -0.375.
    assert trace.next_action == near([0.625])
    assert trace.horizon == 1


@pytest.mark.parametrize("g", [0.0, -1e-17, 0.25])
def test_a_start_that_is_not_strictly_feasible_is_refused_by_the_first_feedback(g):
    state = FIXED.init(X)
    with pytest.raises(ValueError, match="the start must be strictly feasible, by more than the"):
        FIXED.update(state, Feedback(np.array([-3.0, 4.0]), g, STEEP))
    assert state.x.tolist() == X.tolist()


def test_the_slack_of_the_start_must_be_above_the_rounding_of_g():
    seen = Feedback(np.array([-3.0, 4.0]), -NOISE, STEEP)
    with pytest.raises(ValueError, match="strictly feasible"):
        FIXED.update(FIXED.init(X), seen)
    above = seen._replace(constraint_value=-1.001 * NOISE)
    assert FIXED.update(FIXED.init(X), above).x.tolist() == X.tolist()


def test_a_first_value_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="constraint_value must be finite, got nan"):
        FIXED.update(FIXED.init(X), Feedback(np.array([-3.0, 4.0]), math.nan, STEEP))


@pytest.mark.parametrize("g", [0.0, -1e-17, 0.25, math.nan])
def test_in_a_batch_the_others_play_on(g):
    seen = Feedback(
        np.array([[-3.0, 4.0]] * 3), np.array([[-0.9], [g], [-0.9]]), np.array([STEEP] * 3)
    )
    after = FIXED.update(FIXED.init(np.array([X] * 3)), seen)
    assert np.isnan(after.x[1]).all()
    assert after.x[[0, 2]] == near(np.array([[0.695, -0.51]] * 2))


@pytest.mark.parametrize("engine", ["batch", "scan"])
@pytest.mark.parametrize("start", [[0.5, 0.0], [0.6, -0.1]])
def test_a_game_says_which_round_refused_the_start(engine, start):
    if engine == "scan":
        pytest.importorskip("jax")
    costs = Linear(np.random.default_rng(0).normal(size=(5, 2, 2)))
    problem = Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), start, infeasible_start=True)
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    trace = play_game(player, problem, engine=engine)
    with pytest.raises(ValueError) as raised:
        play_game(player, replace(problem, costs=costs.run(0)), engine="loop")
    assert trace.status == (str(raised.value),) * 2
    assert str(raised.value).startswith("round 1: the start must be strictly feasible")


def test_not_a_number_in_a_subgradient_ends_a_run_of_a_batch():
    # In both ways of the rule: a NaN must not pass for a round without room.
    one = after_three(FIXED, X - 0.5, 0.1)

    def twice(part):
        if is_tree(part):
            return type(part)(*map(twice, part))
        return np.array([part] * 2) if isinstance(part, np.ndarray) else np.full((2, 1), part)

    states = twice(one)
    seen = Feedback(
        np.array([[-3.0, 4.0]] * 2), np.array([[-0.9], [-0.2]]), np.full((2, 2), np.nan)
    )
    assert np.isnan(FIXED.update(states, seen).x).all()


# --- no room -------------------------------------------------------------------------------------


def test_a_step_without_room_stays_and_says_so():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=1e-17, decreasing=False)
    constraint, gradient = LinfNorm(0.5, 2), lambda x: np.array([-3.0, -1.0])
    rules = []
    for before, seen, after in play(player, constraint, gradient, np.zeros(2), 20):
        certificate = player.step(before, seen)[1].certificate
        rules.append(certificate.rule)
        if certificate.rule == "stayed":
            assert certificate.length <= 0
            assert (certificate.taken, certificate.cut) == (0.0, False)
            assert seen.constraint_value <= certificate.bound <= 0
            assert after.x.tolist() == before.x.tolist()
            assert after.learner.squares > before.learner.squares
            assert "no room above rounding at slack" in str(certificate)
            assert "certified length 0, step 0;" in str(certificate)
        assert constraint.value(after.x) <= 0
    assert rules[0] == "slack"
    assert rules[-1] == "stayed"


def test_a_batch_stays_run_by_run():
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=np.array([[1e-17], [0.1]]), decreasing=False
    )
    constraint = LinfNorm(0.5, 2)
    state = player.init(np.zeros((2, 2)))
    for _ in range(100):
        before = state
        seen = Feedback(np.full((2, 2), -3.0), *constraint.query(state.x))
        state = player.update(state, seen)
    assert state.x[0].tolist() == before.x[0].tolist()
    assert (constraint.query(state.x)[0] <= 0).all()


# --- properties ----------------------------------------------------------------------------------


@given_settings(max_examples=60)
@given(
    sets(),
    st.sampled_from([1e-9, 1e-3, 0.1, 0.5, 3.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1e-3, 1e3]),
)
def test_what_is_certified_is_so(drawn, share, decreasing, ratchet, eta):
    known, rng = drawn
    constraint, domain = known.constraint, known.domain
    x1 = inside(known, rng)
    G_g = constraint.subgradient_bound(domain)
    player = CertifiedPFS(
        G_g=G_g,
        domain=domain,
        rho=share * -constraint.value(x1),
        decreasing=decreasing,
        ratchet=ratchet,
        eta=None if eta is None else eta * domain.radius,
    )
    # Only what computing the distance itself rounds by.
    rounding = 4 * (len(x1) + 8) * UNIT * domain.reach_from_origin
    for before, seen, after in play(player, constraint, gradients(known, rng, len(x1)), x1, 25):
        _, info = player.step(before, seen)
        certificate = info.certificate
        assert constraint.value(after.x) <= certificate.bound <= 0
        assert certificate.taken <= max(certificate.length, 0.0) + rounding
        assert info.region.contains(after.x)
        if ratchet:
            assert after.learner.inverse_eta >= before.learner.inverse_eta
        memory, distance = after.memory, distance_of(player, after)
        next_rho = player.knowledge.tightening(memory.rounds + 1.0, memory.slack)
        assert known.distance(after.x, next_rho) <= distance + rounding
        assert distance <= next_rho / G_g + rounding
        assert info.contradictions == ()


def test_full_steps_end_on_the_boundary_and_never_over_it_in_exact_arithmetic():
    # A cube, where the certificate is tight, in rational numbers: not even the true g is above 0.
    radius = 0.1  # no dyadic number
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(0.15), rho=0.01, decreasing=False, eta=1e9, ratchet=False
    )
    constraint, worst = LinfNorm(radius, 2), Fraction(-1)

    def push_through_the_face_that_is_not_cut(x):
        return -np.where(abs(x) < abs(x).max(), np.where(x < 0, -1.0, 1.0), [0.0, 1e-3])

    steps = play(player, constraint, push_through_the_face_that_is_not_cut, np.zeros(2), 400)
    for _, _, after in steps:
        g = max(abs(Fraction(v)) for v in after.x.tolist()) - Fraction(radius)
        assert g <= 0
        worst = max(worst, g)
    assert float(worst) > -1e-12  # and it is tight


@pytest.mark.parametrize("power", [-332, 332])  # 1e-100 and 1e100
@pytest.mark.parametrize("what", ["action", "constraint", "cost"])
def test_units_do_not_matter(what, power):
    # Powers of two, so that the scaled run has the same digits.
    unit = 2.0**power
    x_unit = unit if what == "action" else 1.0
    g_unit = unit if what in ("action", "constraint") else 1.0  # slopes stay in range
    f_unit = unit if what == "cost" else 1.0
    A = np.array([[1.0, 0.5], [-0.25, 1.5], [-1.0, -0.75]])
    b = np.array([0.5, 0.75, 0.625])
    pulls = np.random.default_rng(3).normal(size=(60, 2)) - 1.5

    def run(x_unit, g_unit, f_unit):
        constraint = Affine(A * (g_unit / x_unit), b * g_unit)
        domain = Ball(2.0 * x_unit)
        player = CertifiedPFS(G_g=2.0 * g_unit / x_unit, domain=domain, rho=1.5 * g_unit)
        given = iter(pulls * f_unit)
        start = np.array([0.125, -0.25]) * x_unit
        for _, _, after in play(player, constraint, lambda x: next(given), start, 60):
            assert constraint.value(after.x) <= 0
            yield after.x / x_unit

    scaled, plain = list(run(x_unit, g_unit, f_unit)), list(run(1.0, 1.0, 1.0))
    assert np.array_equal(scaled, plain)
    assert abs(np.diff(plain, axis=0)).max() > 0.01


@pytest.mark.parametrize("size", [1e-320, 1e-170, 1e150])
def test_gradients_at_the_ends_of_the_floats_are_no_danger(size):
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    constraint = LinfNorm(0.5, 2)
    for _, _, after in play(player, constraint, lambda x: np.full(2, -size), np.zeros(2), 5):
        assert constraint.value(after.x) <= 0
        assert distance_of(player, after) >= 0


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_a_gradient_whose_square_is_no_number_is_refused(size):
    with pytest.raises(InvalidValueError, match="must have a finite square, got a norm"):
        FIXED.update(FIXED.init(X), Feedback(np.full(2, -size), -0.9, STEEP))


# --- wrong constants -----------------------------------------------------------------------------


def first_complaint(player, constraint_at, gradient, x1, rounds):
    state = player.init(x1)
    for t in range(rounds):
        seen = Feedback(gradient(t), *constraint_at(t).query(state.x))
        if found := player.step(state, seen)[1].contradictions:
            return t + 1, found
        state = player.update(state, seen)
    return None


def test_a_subgradient_longer_than_G_g_is_named_with_its_round():
    player = CertifiedPFS(G_g=1.5, domain=Ball(1.0), rho=0.1)
    # Steeper from x_0 = 0.3 on.
    bent = Affine([[1.0, 0.0], [4.0, 0.0]], [0.8, 1.7])
    t, found = first_complaint(
        player, lambda t: bent, lambda t: np.array([-1.0, 0.0]), np.array([-0.9, 0.1]), 50
    )
    assert t > 1
    assert found[0] == f"round {t}: |s| = 4 exceeds G_g = 1.5"


def test_a_constraint_that_changes_is_found_out_when_it_does():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1)
    wide, narrow = LinfNorm(0.5, 2), LinfNorm(0.45, 2)
    found = first_complaint(
        player,
        lambda t: wide if t < 30 else narrow,
        lambda t: np.array([-2.0, -1.0]),
        np.zeros(2),
        50,
    )
    assert found is not None
    assert found[0] == 31
    assert any("is above its certified bound" in sentence for sentence in found[1])
    assert found[1][0].startswith("round 31: g = ")
    assert (
        "G_g = 1 is too small, a reading errs by more than 0, g is not convex, or it changed"
        in found[1][0]
    )


def test_a_sigma_that_is_too_large_makes_cuts_longer_than_the_distance():
    player = CertifiedPFS(G_g=2.0, domain=Ball(1.0), rho=0.1, sigma=1.5, decreasing=False)
    found = first_complaint(
        player, lambda t: LinfNorm(0.5, 2), lambda t: np.array([-2.0, -1.0]), np.zeros(2), 50
    )
    assert found is not None
    assert len(found[1]) == 1
    assert found[1][0].startswith(f"round {found[0]}: the cut moves by 0.")
    assert found[1][0].endswith("to the tightened set: G_g, sigma or the start is wrong")


VALID = {
    "toy": lambda: problems.paper_toy(150, trials=1),
    "binding toy": lambda: problems.binding_toy(150, trials=1),
    "polytope": lambda: problems.random_polytope(6, 20, horizon=150, trials=1),
    "turned box": lambda: problems.rotated_box(4, horizon=150, trials=1, costs="linear"),
    "ellipsoid": lambda: problems.ellipsoid(5, 1e4, horizon=150, trials=1),
    "matrices": lambda: problems.spectral_ball((3, 2), horizon=150, trials=1),
    "fair": lambda: problems.fair_logistic(5, horizon=150, trials=1),
}


@pytest.mark.parametrize("make", ["default", "known_horizon"])
@pytest.mark.parametrize("name", VALID)
def test_right_constants_are_never_complained_about(name, make):
    problem = VALID[name]()
    player, guarantee = getattr(CertifiedPFS, make)(problem.constants, 150, problem.domain)
    costs = problem.costs.run(0)
    rounds = itertools.count()
    steps = play(
        player, problem.constraint, lambda x: costs.gradient(next(rounds), x), problem.start, 150
    )
    for before, seen, after in steps:
        assert player.step(before, seen)[1].contradictions == ()
        assert problem.constraint.value(after.x) <= player.step(before, seen)[1].certificate.bound
    assert guarantee.kind == "every round"


# --- evaluation errors, construction, tunings ----------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_g_observed_with_an_error_is_feasible_all_the_same(seed):
    rng, delta = np.random.default_rng(seed), 1e-3
    exact = LinfNorm(0.5, 3)
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=0.1, eta=1e6, ratchet=False, evaluation_error=delta
    )
    noisy = FunctionConstraint(
        lambda x: exact.value(x) + delta * rng.choice([-1.0, 1.0]), exact.subgradient, bound=1.0
    )
    worst = -1.0
    for before, seen, after in play(
        player, noisy, lambda x: -rng.normal(size=3) - 2 * exact.subgradient(x), np.zeros(3), 300
    ):
        assert player.step(before, seen)[1].contradictions == ()
        worst = max(worst, exact.value(after.x))
    assert worst <= 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"G_g": 0.0}, "G_g must be a finite number > 0, got 0.0"),
        ({"rho": -0.1}, "rho must be a finite number > 0, got -0.1"),
        ({"rho": math.inf}, "rho must be a finite number > 0, got inf"),
        ({"eta": 0.0}, "eta must be a finite number > 0, got 0.0"),
        ({"sigma": -1.0}, "sigma must be a finite number > 0, got -1.0"),
        ({"evaluation_error": -1e-9}, "evaluation_error must be a finite number >= 0, got -1e-09"),
        (
            {"domain": 1.0},
            "domain must be a set with a projection, got 1.0: Ball(1.0) is the ball of that radius",
        ),
    ],
)
def test_parameters_out_of_range_are_named(change, sentence):
    with pytest.raises(ValueError) as raised:
        CertifiedPFS(**{"G_g": 1.0, "domain": Ball(1.0), "rho": 0.1} | change)
    assert str(raised.value) == sentence


KNOWN = Constants(R=1.5, G_g=2.5, start_slack=0.3, start_reach=1.75)


def test_the_tunings_need_neither_G_f_nor_sigma():
    player, guarantee = CertifiedPFS.default(KNOWN)
    margin = 0.5 * math.sqrt(KNOWN.start_slack * 2.5 * 1.5)
    assert player == CertifiedPFS(G_g=2.5, domain=Ball(1.5), rho=margin)
    assert isinstance(guarantee, TheoremD)
    assert guarantee.horizon is None
    player, guarantee = CertifiedPFS.known_horizon(KNOWN, 100)
    assert player == CertifiedPFS(G_g=2.5, domain=Ball(1.5), rho=margin / 10, decreasing=False)
    assert guarantee.horizon == 100
    inner = Ball(1.5, centre=[0.5, 0.0])
    assert CertifiedPFS.default(KNOWN, 100, inner).algorithm.domain is inner


def test_the_tightening_of_the_theorem_is_that_of_its_player():
    player, guarantee = CertifiedPFS.default(KNOWN)
    rounds = np.array([1.0, 2.0, 30.0, 4000.0])
    tightenings = [player.knowledge.tightening(float(t), 0.3) for t in rounds]
    assert guarantee.tightening(rounds).tolist() == tightenings
    assert guarantee.tightening(1.0) == 0.15


def test_a_sigma_of_the_constants_changes_neither_the_steps_nor_the_bound():
    # Only what enters the steps may enter the bound, and a sigma that is wrong would be unsafe.
    more = Constants(
        R=1.5, G_f=3.0, G_g=2.5, start_slack=0.3, start_reach=1.75, sigma=2.0, epsilon=0.3
    )
    less = Constants(R=1.5, G_f=3.0, G_g=2.5, start_slack=0.3, start_reach=1.75)
    a, b = CertifiedPFS.default(more), CertifiedPFS.default(less)
    assert a.algorithm == b.algorithm
    assert a.guarantee.regret_bound(100) == b.guarantee.regret_bound(100)


def test_the_ball_of_the_constraint_may_be_the_domain_itself():
    player = CertifiedPFS(G_g=1.0 + 2.0**-50, domain=Ball(1.0), rho=0.5, eta=1e6, ratchet=False)
    rng = np.random.default_rng(1)
    constraint = L2Norm(1.0)
    for _, _, after in play(
        player, constraint, lambda x: rng.normal(size=2) - 3 * x, np.zeros(2), 200
    ):
        assert constraint.value(after.x) <= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": 0.7},
        {"eta": 0.05},
        {"ratchet": False, "decreasing": False},
        {"evaluation_error": 1e-9},
    ],
    ids=str,
)
def test_one_run_is_a_run_of_a_batch_bit_for_bit(options):
    toy = problems.binding_toy(150, trials=2)
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.3, **options)
    with kernel.engine("python"):
        one, many = (play_game(player, toy, engine=e) for e in ("loop", "batch"))
    assert (one.constraint > -0.3).any()  # outside the tightened set, too
    np.testing.assert_array_equal(one.actions, many.actions)


# --- the two errors that the margin is made of, in exact arithmetic ------------------------------


def exactly(v):
    return [Fraction(float(entry)) for entry in v]


def squared_length(v):
    return sum(entry * entry for entry in v)


@given_settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5, 20]), st.booleans())
def test_the_action_drawn_back_and_its_distance_are_as_exact_as_the_margin_counts_on(
    seed, d, is_far
):
    # In a box, whose projection is exact: of 32 (n + 8) u M, 10 are for q, 1 for the distance.
    rng = np.random.default_rng(seed)
    centre = 1e4 * rng.normal(size=d) if is_far else np.zeros(d)
    box = Box(centre - rng.uniform(0.1, 1.0, d), centre + rng.uniform(0.1, 1.0, d))
    player = CertifiedPFS(G_g=1.0, domain=box, rho=0.1, decreasing=False)
    known = player.knowledge
    M = Fraction(known.reach)
    start, x = (box.project(centre + rng.normal(size=d)) for _ in range(2))
    s = rng.normal(size=d)
    s /= np.linalg.norm(s) * rng.uniform(1.0, 30.0)
    memory = known.observe(known.init(start), Reading(start, -0.3, s, known.errors))
    g = -(10.0 ** rng.uniform(-6, -1))
    seen = known.observe(memory, Reading(x, g, s, known.errors))
    excess = Fraction(seen.level) + Fraction(seen.rho) - Fraction(known.margins(d)[0])
    X, S = exactly(x), exactly(s)
    true = X
    if excess > 0:
        true = [a - excess / squared_length(S) * b for a, b in zip(X, S, strict=True)]
    low, high = exactly(box.lower), exactly(box.upper)
    true = [min(max(a, b), c) for a, b, c in zip(true, low, high, strict=True)]
    u = Fraction(1, 2**53)
    off = [a - b for a, b in zip(exactly(seen.drawn), true, strict=True)]
    assert squared_length(off) <= (10 * (d + 8) * u * M) ** 2
    # The distance of a point of the box to q, as it is computed.
    p = box.project(x + rng.normal(size=d))
    computed = Fraction(float(np.linalg.norm(p - seen.drawn)))
    way = [a - b for a, b in zip(exactly(p), exactly(seen.drawn), strict=True)]
    assert squared_length(way) <= (computed + (d + 4) * u * M) ** 2


def test_in_a_box_the_first_step_is_as_long_as_half_of_its_diagonal_says():
    # Sides of 3 and 4: the diagonal is 5, and R = 2.5. A step is sqrt(2) R/|grad| times grad.
    box = Box([-1.0, -2.0], [2.0, 2.0])
    player = CertifiedPFS(G_g=1e-3, domain=box, rho=0.1)
    assert player.proposer.radius == 2.5
    seen = Feedback(np.array([0.0, -8.0]), -1.0, np.array([0.0, 0.0]))
    _, info = player.step_in_python(player.init(np.zeros(2)), seen)
    np.testing.assert_allclose(info.proposal, [0.0, math.sqrt(2.0) * 2.5], rtol=1e-15)
    ball = CertifiedPFS(G_g=1e-3, domain=Ball(2.5), rho=0.1)
    _, info = ball.step_in_python(ball.init(np.zeros(2)), seen)
    np.testing.assert_allclose(info.proposal, [0.0, math.sqrt(2.0) * 2.5], rtol=1e-15)
