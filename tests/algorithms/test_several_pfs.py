import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import Ball, Feedback, Problem, play
from surefoot.algorithms import CertifiedPFS, SeveralPFS
from surefoot.algorithms.certified_pfs import CertifiedState
from surefoot.problems import ADVERSARIES, adversarial_cube
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm, max_of
from surefoot.sets import EmptyTighteningError

from ._attack import greedy, polytope, tiled, turned_box

BASE = CertifiedPFS(G_g=2.0, domain=Ball(3.0), rho=0.25, decreasing=False, eta=0.2)
IN_TURN, AT_ONCE = SeveralPFS(base=BASE), SeveralPFS(base=BASE, exact=True)
BOTH = pytest.mark.parametrize("exact", [False, True], ids=["in turn", "at once"])
X = np.array([0.5, -0.25])


def near(value):
    return pytest.approx(value, rel=1e-11, abs=1e-11)


# --- one step by hand ----------------------------------------------------------------------------


@BOTH
def test_one_step_by_hand_inside_the_tightened_set(exact):
    # The largest is -0.5, so r = 0.25 of the 0.2 * 5 wanted: y = x + 0.05 (3, -4) = (0.65, -0.45).
    # Row 1: v = -0.5 + 2 * 0.15 + 0.25 = 0.05: back to x_0 = 0.625. Row 2: -0.9 + 0.2 + 0.25 < 0.
    player = SeveralPFS(base=BASE, exact=exact)
    seen = Feedback(
        np.array([-3.0, 4.0]), np.array([-0.5, -0.9]), np.array([[2.0, 0.0], [0.0, -1.0]])
    )
    before = player.init(X)
    after = player.update(before, seen)
    assert after.x == near([0.625, -0.45])
    assert after[2:7] == near((1.0, 0.5, 0.125, 20.0, 25.0))
    certificate = player.step(before, seen)[1].certificate
    assert (certificate.rule, certificate.cut) == ("slack", True)
    assert (certificate.slack, certificate.length, certificate.taken) == near((0.5, 0.25, 0.25))


@BOTH
def test_two_faces_bring_a_corner_back_where_one_would_not(exact):
    # Both faces of slope 2 are over by 0.05, and A = 0.05/2 sqrt 2 away from the corner behind
    # them; the certificate counts on one of them: B = A/sqrt 2 and r = 0.125 - 0.025.
    player = SeveralPFS(base=BASE, exact=exact)
    corner = 0.025 * math.sqrt(2)
    before = CertifiedState(X, X - np.array([0.5, 0.5]), 3.0, 0.8, corner, 0.0, 0.0)
    seen = Feedback(np.zeros(2), np.array([-0.2, -0.2]), np.diag([2.0, 2.0]))
    after = player.update(before, seen)
    assert after.x == near(X - 0.025)
    certificate = player.step(before, seen)[1].certificate
    assert (certificate.rule, certificate.length) == ("contraction", near(0.1))
    alone = BASE.update(before, Feedback(np.zeros(2), -0.2, np.array([2.0, 0.0])))
    assert alone.x == near(X - [0.025, 0.0])


def test_in_turn_begins_with_the_largest_and_ends_with_the_last():
    # Neither of these rows is across the other: where one ends depends on the order.
    s = np.array([[1.0, 0.0], [0.6, 0.8]])
    before = CertifiedState(X, X - np.array([0.5, 0.5]), 3.0, 0.8, 0.1, 0.0, 0.0)
    for g in ([-0.1, -0.05], [-0.05, -0.1]):
        after = IN_TURN.update(before, Feedback(np.zeros(2), np.array(g), s))
        z, excess = X, np.array(g) + 0.25
        for i in (int(np.argmax(g)), 0, 1):
            over = max(float(excess[i] + s[i] @ (z - X)), 0.0)
            z = z - over * s[i]
        assert after.x == near(z)


def test_all_at_once_is_in_every_half_space_and_in_turn_need_not_be():
    s = np.array([[1.0, 0.0], [-0.96, 0.28]])  # a sharp corner
    g = np.array([-0.1, -0.15])
    before = CertifiedState(X, X - np.array([0.0, 0.5]), 3.0, 0.8, 0.1, 0.0, 0.0)
    seen = Feedback(np.zeros(2), g, s)
    over = [g + s @ (player.update(before, seen).x - X) + 0.25 for player in (IN_TURN, AT_ONCE)]
    assert over[0].max() > 0.01
    assert over[1] == near([0.0, 0.0])


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_one_constraint_is_certified_pfs(seed):
    rng = np.random.default_rng(seed)
    constraint, radius = L2Norm(0.7, rng.normal(size=3)), 0.7 * (1 + 1e-12)
    base = CertifiedPFS(G_g=1 + 1e-12, domain=Ball(radius, constraint.centre), rho=0.05, eta=0.3)
    states = [p.init(constraint.centre) for p in (base, SeveralPFS(base=base),
                                                  SeveralPFS(base=base, exact=True))]  # fmt: skip
    for _ in range(25):
        slope = rng.normal(size=3)
        g, s = constraint.query(states[0].x)
        one, apart = Feedback(slope, g, s), Feedback(slope, np.array([g]), s[None])
        states = [
            base.update(states[0], one),
            SeveralPFS(base=base).update(states[1], apart),
            SeveralPFS(base=base, exact=True).update(states[2], apart),
        ]
        # Margins are a little larger with more projections: 1e-13 of a length, times the 25 rounds
        # and 1e7, the most by which the root of a difference enlarges them.
        for other in states[1:]:
            assert other.x == pytest.approx(states[0].x, abs=1e-6)


def test_with_faces_across_each_other_both_ways_are_the_same():
    constraint, radius, start = turned_box(3)
    base = CertifiedPFS(G_g=1 + 1e-12, domain=Ball(radius), rho=0.1)
    rng = np.random.default_rng(6)
    players = [SeveralPFS(base=base, exact=exact) for exact in (False, True)]
    states = [player.init(start) for player in players]
    for _ in range(60):
        slope = rng.normal(size=3) - 0.5
        states = [
            p.update(s, Feedback(slope, *constraint.query_all(s.x)))
            for p, s in zip(players, states, strict=True)
        ]
        assert states[0].x == pytest.approx(states[1].x, abs=1e-9)


# --- the distance that is tracked ----------------------------------------------------------------


def lens(half_width, radius):
    """Two discs that overlap; their corners are sharp, their faces curved: cuts are never exact."""
    centres = np.array([[half_width - radius, 0.0], [radius - half_width, 0.0]])
    parts = [L2Norm(radius, c) for c in centres]

    def distance(x, rho):
        r = radius - rho
        height = math.sqrt(r**2 - (radius - half_width) ** 2)
        points = [x, *(c + (x - c) * min(1.0, r / np.linalg.norm(x - c)) for c in centres)]
        points += [np.array([0.0, height]), np.array([0.0, -height])]
        inside = [p for p in points if np.linalg.norm(p - centres, axis=1).max() <= r + 1e-14]
        return min(float(np.linalg.norm(x - p)) for p in inside)

    reach = math.sqrt(radius**2 - (radius - half_width) ** 2)
    return max_of(*parts), Ball(reach * (1 + 1e-12)), distance


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_the_tracked_distance_is_never_below_the_true_one(exact, seed):
    rng = np.random.default_rng(seed)
    constraint, domain, distance = lens(0.3, rng.uniform(0.4, 2.0))
    rho = rng.uniform(0.01, 0.1)
    base = CertifiedPFS(
        G_g=1 + 1e-12, domain=domain, rho=rho, decreasing=False, eta=1e3, ratchet=False
    )
    player = SeveralPFS(base=base, exact=exact)
    state, outside = player.init(np.array([0.05, 0.1])), 0
    for _ in range(200):
        slope = -np.array([rng.normal(), 1.0 + rng.random()])  # towards a corner
        seen = Feedback(slope, *constraint.query_all(state.x))
        after = player.update(state, seen)
        certificate = player.step(state, seen)[1].certificate
        assert constraint.value(after.x) <= certificate.bound <= 0
        assert distance(after.x, rho) <= after.distance + 1e-14
        assert player.step(state, seen)[1].contradictions == ()
        outside += certificate.rule == "contraction"
        state = after
    assert outside > 10


# --- feasible in every round, exactly ------------------------------------------------------------


def long_steps(constraint, radius, rho=None, exact=False):
    """Steps as long as the certificate allows, which is harder than those of the default."""
    G_g = constraint.subgradient_bound(Ball(radius))
    base = CertifiedPFS(
        G_g=G_g,
        domain=Ball(radius),
        rho=0.5 * G_g * radius if rho is None else rho,
        decreasing=rho is None,
        eta=1e6,
        ratchet=False,
    )
    return SeveralPFS(base=base, exact=exact)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("rho", [None, 0.02, 1e-7])
@pytest.mark.parametrize("d", [1, 2, 20])
def test_an_opponent_who_looks_one_step_ahead_cannot_push_out(d, rho, exact):
    for constraint, radius, start in (turned_box(d), polytope(d, 3 * d)):
        if exact and d == 20 and len(constraint.A) > 40:
            continue  # said to be for few constraints
        player = long_steps(constraint, radius, rho, exact)
        rounds = 40 if exact else 120
        _, _, values = greedy(player, constraint, start, rounds, 2.0)
        assert (values <= 0).all()


@pytest.mark.slow
@BOTH
def test_a_sharp_wedge_is_not_left(exact):
    rows = [[0.1, 1.0], [0.05, -1.0], [-1.0, 0.2], [1.0, 0.3]]
    constraint = Affine(rows, [0.1, 0.1, 0.4, 2.0])
    player = long_steps(constraint, 2.5, 0.01, exact)
    _, _, values = greedy(player, constraint, [0.1, 0.0], 300, 2.0)
    assert (values <= 0).all()
    assert values.max() > -0.01  # past the tightened set


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("tuning", SeveralPFS.tunings)
def test_no_stream_pushes_out_and_theorem_d_holds(tuning, adversary, d):
    made = adversarial_cube(adversary, horizon=200, dimension=d, size=1.5)
    start = 0.5 * np.array([0.5, -0.48, 0.46, *np.zeros(max(0, d - 3))])[:d]
    problem = Problem.of(made.costs, made.constraint, made.domain, start, G_f=1.5)
    player = getattr(SeveralPFS, tuning)(problem.constants, 200, problem.domain)
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert (trace.regret().upper <= player.guarantee.regret_bound(trace.rounds)).all()


def test_curved_and_straight_constraints_together():
    constraint = max_of(L2Norm(0.8), Affine([[1.5, 0.5], [-0.2, 1.0]], [0.45, 0.3]))
    player = long_steps(constraint, 0.8 * (1 + 1e-12), 0.02)
    _, _, values = greedy(player, constraint, [-0.1, 0.05], 300, 2.0)
    assert (values <= 0).all()


# --- batches, backends, tuning -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_all_at_once_is_its_runs(seed):
    rng = np.random.default_rng(seed)
    constraint, radius, start = polytope(3, 5)
    player = long_steps(constraint, radius, 0.05, exact=True)
    alone = [player.init(start) for _ in range(3)]
    together = player.init(np.tile(start, (3, 1)))
    for _ in range(25):
        slopes = rng.normal(size=(3, 3))
        told = [constraint.query_all(s.x) for s in alone]
        alone = [
            player.update(s, Feedback(c, *t)) for s, c, t in zip(alone, slopes, told, strict=True)
        ]
        together = player.update(together, Feedback(slopes, *constraint.query_all(together.x)))
        assert together.x == pytest.approx(np.array([s.x for s in alone]), abs=1e-7)


def test_columns_have_their_own_tolerance():
    wide = replace(BASE, G_g=np.array([[2.0], [2e6]]))
    x = np.array([X, X])
    seen = Feedback(
        np.tile([-3.0, 4.0], (2, 1)),
        np.tile([-0.5, -0.9], (2, 1)),
        np.tile([[2.0, 0.0], [0.0, -1.0]], (2, 1, 1)),
    )
    both = SeveralPFS(base=wide, exact=True)
    after = both.update(both.init(x), seen)
    for run, G_g in enumerate((2.0, 2e6)):
        one = SeveralPFS(base=replace(BASE, G_g=G_g), exact=True)
        alone = one.update(one.init(X), Feedback(*(v[run] for v in seen[:3])))
        assert after.x[run] == pytest.approx(alone.x, abs=1e-12)


def test_all_at_once_is_for_numpy(x64):
    seen = Feedback(*map(x64.numpy.asarray, ([1.0, 0.0], [-0.5], [[1.0, 0.0]])))
    with pytest.raises(ValueError, match="exact must be False but for NumPy arrays, got <class"):
        AT_ONCE.update(AT_ONCE.init(x64.numpy.asarray(X)), seen)


def test_where_the_check_fails_the_half_spaces_are_taken_in_turn():
    # Rows so nearly opposite that multipliers cancel: what comes out is what comes in turn.
    s = np.array([[1.0, 0.0], [-1.0, 1e-10]])
    g = np.array([-0.20000001, -0.2])
    before = CertifiedState(X, X - np.array([0.0, 0.5]), 3.0, 0.8, 0.1, 0.0, 0.0)
    seen = Feedback(np.zeros(2), g, s)
    assert np.array_equal(AT_ONCE.update(before, seen).x, IN_TURN.update(before, seen).x)
    batch = AT_ONCE.update(
        tiled(before, 2), Feedback(*(np.tile(v, (2, *[1] * v.ndim)) for v in seen[:3]))
    )
    assert batch.x == near(np.tile(IN_TURN.update(before, seen).x, (2, 1)))


def test_the_tuned_players_are_certified_ones():
    problem = adversarial_cube("out", horizon=50, size=1.5)
    c = problem.constants
    for tuning in SeveralPFS.tunings:
        base, theorem = getattr(CertifiedPFS, tuning)(c, 50)
        for exact in (False, True):
            player, same = getattr(SeveralPFS, tuning)(c, 50, exact=exact)
            assert player == SeveralPFS(base=base, exact=exact)
            assert same == theorem
    around = Ball(2.0, [0.1, 0.0])
    assert SeveralPFS.default(c, None, around).algorithm.base.domain == around


def test_steps_are_longer_where_many_faces_meet():
    # Linear costs towards a corner of a cube in 8 dimensions: the ratchet remembers the shortest.
    problem = adversarial_cube("corners", horizon=2_000, dimension=8, size=1.5)
    c = problem.constants
    regrets = [
        float(play(make(c, 2_000, problem.domain), problem, watch="off").final_regret())
        for make in (CertifiedPFS.known_horizon, SeveralPFS.known_horizon)
    ]
    assert regrets[1] < 0.8 * regrets[0]


# --- bad input -----------------------------------------------------------------------------------


def test_another_base_is_refused():
    with pytest.raises(ValueError, match=r"^base must be a CertifiedPFS, got None$"):
        SeveralPFS(base=None)


@BOTH
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_what_is_not_finite_is_refused_when_it_comes(exact, bad):
    player = SeveralPFS(base=BASE, exact=exact)
    s = np.array([[2.0, 0.0], [0.0, -1.0]])
    grad = np.array([-3.0, 4.0])
    good = player.update(player.init(X), Feedback(grad, np.array([-0.5, -0.9]), s))
    steep = s.copy()
    steep[1, 1] = bad
    for seen in (
        Feedback(grad, np.array([-0.5, bad]), s),
        Feedback(np.array([bad, 0.0]), np.array([-0.5, -0.9]), s),
        Feedback(grad, np.array([-0.5, -0.9]), steep),
    ):
        with pytest.raises(ValueError, match=r"must be (finite|strictly feasible)"):
            player.update(good, seen)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_of_one_constraint_that_is_not_finite_is_refused_too(bad):
    state = BASE.update(BASE.init(X), Feedback(np.ones(2), -0.5, np.array([2.0, 0.0])))
    with pytest.raises(ValueError, match=f"constraint_value must be finite, got .* {bad}"):
        BASE.update(state, Feedback(np.ones(2), bad, np.array([2.0, 0.0])))


def test_a_zero_row_is_no_half_space_and_refused_where_the_set_is_empty():
    s = np.array([[2.0, 0.0], [0.0, 0.0]])
    before = CertifiedState(X, X - np.array([0.5, 0.5]), 3.0, 0.8, 0.1, 0.0, 0.0)
    held = IN_TURN.update(before, Feedback(np.zeros(2), np.array([-0.2, -0.3]), s))
    assert held.x == near(X - [0.025, 0.0])
    for player in (IN_TURN, AT_ONCE):
        with pytest.raises(EmptyTighteningError, match="got s = 0 with"):
            player.update(before, Feedback(np.zeros(2), np.array([-0.2, -0.2]), s))


@pytest.mark.parametrize(
    ("g", "s", "sentence"),
    [
        (np.zeros(2), np.ones((3, 2)), r"constraint_subgradient.shape must be \(2, 2\)"),
        (-0.5, np.ones(2), r"constraint_value.shape must be \(m,\)"),
        (np.zeros(0), np.ones((0, 2)), r"constraint_value.shape must be \(m,\)"),
    ],
)
def test_feedback_of_another_shape_is_refused(g, s, sentence):
    with pytest.raises(ValueError, match=sentence):
        IN_TURN.update(IN_TURN.init(X), Feedback(np.zeros(2), g, s))


def test_a_start_on_the_boundary_is_refused():
    with pytest.raises(ValueError, match="the start must be strictly feasible"):
        IN_TURN.update(IN_TURN.init(X), Feedback(np.zeros(2), np.array([-1.0, 0.0]), np.eye(2)))


def test_a_G_g_that_the_rows_contradict_is_reported():
    seen = Feedback(np.zeros(2), np.array([-0.2, -1.0]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    (found,) = IN_TURN.step(IN_TURN.init(X), seen)[1].contradictions
    assert found == "round 1: |s| = 3 exceeds G_g = 2"


def test_the_largest_of_the_faces_of_a_cube_is_what_the_game_sees():
    problem = adversarial_cube("random", horizon=20, dimension=3)
    trace = play(SeveralPFS.default(problem.constants), problem, watch="raise")
    assert isinstance(problem.constraint, LinfNorm)
    wanted = problem.constraint.value(trace.actions)[:, 0]
    assert trace.constraint == pytest.approx(wanted, abs=1e-15)
