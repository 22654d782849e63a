import math

import numpy as np
import pytest
from hypothesis import given, settings as given_settings, strategies as st

from surefoot import Ball, Constants, Feedback, problems
from surefoot.certified_pair import CertifiedState
from surefoot.problems.constraints import Affine, LinfNorm, SpectralNorm
from surefoot.rules import CertifiedPFS, SafetyFilter
from surefoot.sets import EmptyTighteningError

from ._known import admit, after_rounds, distance_of, inside, proposed, sets

UNIT = 2.0**-53
SAFE = SafetyFilter(G_g=2.0, domain=Ball(3.0), rho=0.25)
X = np.array([0.5, -0.25])
STEEP = np.array([1.2, -1.6])  # of norm 2


def after_three(start, safe=SAFE):
    """The state at X after three rounds, at most 0.1 away from the tightened set."""
    return CertifiedState(X, after_rounds(safe.knowledge, X, start, 0.1), ())


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def test_one_step_by_hand_inside_the_tightened_set():
    # A way of (3, -4) with r = 0.45: y = x + 0.45 (0.6, -0.8), and the cut takes 0.0625 s back, to
    # the edge of the tightened set: A' = 0.
    proposal = X + np.array([3.0, -4.0])
    after, info = admit(SAFE, SAFE.init(X), proposal, -0.9, STEEP)
    assert after.x == near([0.695, -0.51])
    assert (after.memory.rounds, after.memory.slack) == near((1.0, 0.9))
    assert distance_of(SAFE, after) == near(0.0)
    assert info.proposal.tolist() == proposal.tolist()
    certificate = info.certificate
    assert (certificate.rule, certificate.round, certificate.cut) == ("slack", 1, True)
    assert (certificate.length, certificate.taken) == near((0.45, 0.325))
    assert certificate.bound == near(-0.25)


def test_one_step_by_hand_moving_back_to_the_tightened_set():
    s, proposal = np.array([0.9, -1.2]), X + np.array([0.0, -7.0])
    after, info = admit(SAFE, after_three(X - np.array([0.6, 0.8])), proposal, -0.2, s)
    B = math.sqrt(1 / 144 - 1 / 900)
    r = 0.125 - B
    v = 0.05 + 1.2 * r
    assert after.x == near([0.5 - v / 2.25 * 0.9, -0.25 - r + v / 2.25 * 1.2])
    assert (after.memory.rounds, after.memory.slack) == near((4.0, 0.8))
    assert distance_of(SAFE, after) == near(B + 0.6 * r)
    assert (info.certificate.rule, info.certificate.round) == ("contraction", 4)


def test_a_proposal_within_reach_is_taken_as_it_is():
    proposal = X + np.array([0.06, -0.08])
    after, info = admit(SAFE, SAFE.init(X), proposal, -0.9, STEEP)
    assert after.x.tolist() == proposal.tolist()
    assert not info.cut
    assert info.certificate.bound == near(-0.7)


def test_proposing_nothing_moves_back_only_where_the_tightened_set_was_left():
    assert admit(SAFE, SAFE.init(X), X, -0.9, STEEP)[0].x.tolist() == X.tolist()
    before = after_three(X - np.array([0.6, 0.8]))
    after, _ = admit(SAFE, before, X, -0.2, np.array([0.9, -1.2]))
    assert after.x == near([0.48, -0.25 + 0.05 / 2.25 * 1.2])


def test_a_gradient_step_is_filtered_to_the_certified_step():
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=0.1, decreasing=False, eta=0.3, ratchet=False
    )
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
    constraint, rng = LinfNorm(0.5, 3), np.random.default_rng(2)
    a, b = player.init(np.zeros(3)), safe.init(np.zeros(3))
    for _ in range(60):
        g, s = constraint.query(a.x)
        gradient = rng.normal(size=3) - [1.0, 2.0, 0.0]
        a = player.update(a, Feedback(gradient, g, s))
        b, _ = admit(safe, b, b.x - 0.3 * gradient, g, s)
        assert b.x == pytest.approx(a.x, abs=1e-14)
        assert distance_of(safe, b) == pytest.approx(distance_of(player, a), abs=1e-14)


@given_settings(max_examples=60)
@given(sets(), st.sampled_from([1e-9, 1e-2, 0.5]), st.booleans())
def test_whatever_is_proposed_is_made_feasible(drawn, share, decreasing):
    known, rng = drawn
    constraint, domain = known.constraint, known.domain
    x1 = inside(known, rng)
    G_g = constraint.subgradient_bound(domain)
    safe = SafetyFilter(
        G_g=G_g, domain=domain, rho=share * -constraint.value(x1), decreasing=decreasing
    )
    rounding = 4 * (len(x1) + 8) * UNIT * domain.reach_from_origin
    state = safe.init(x1)
    for _ in range(25):
        proposal, g, s = proposed(known, state.x, rng)
        after, info = admit(safe, state, proposal, g, s)
        certificate = info.certificate
        assert constraint.value(after.x) <= certificate.bound <= 0
        assert certificate.taken <= max(certificate.length, 0.0) + rounding
        next_rho = safe.knowledge.tightening(after.memory.rounds + 1.0, after.memory.slack)
        assert known.distance(after.x, next_rho) <= distance_of(safe, after) + rounding
        assert info.contradictions == ()
        assert info.region.contains(after.x)
        state = after


def test_momentum_that_would_leave_a_spectral_ball_is_kept_inside():
    constraint = SpectralNorm((3, 2), 1.0)
    domain = Ball(math.sqrt(2) * (1 + 1e-12))
    safe = SafetyFilter(G_g=constraint.subgradient_bound(domain), domain=domain, rho=0.02)
    rng = np.random.default_rng(5)
    state, velocity, left = safe.init(np.zeros(6)), np.zeros(6), 0
    for _ in range(200):
        g, s = constraint.query(state.x)
        velocity = 0.9 * velocity - 0.1 * (rng.normal(size=6) - [2, 0, 0, 1, 0, 0])
        proposal = state.x + velocity
        left += constraint.value(proposal) > 0
        state, _ = admit(safe, state, proposal, g, s)
        assert constraint.value(state.x) <= 0
    assert left > 50  # or it would show nothing


def test_every_backend_filters_alike(backend):
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0, [0.2, 0.1]), rho=0.1, decreasing=True)
    constraint, rng = LinfNorm(0.5, 2, [0.1, 0.0]), np.random.default_rng(7)
    starts = np.array([[0.0, 0.0], [0.3, -0.1], [0.55, 0.2]])
    alone = [safe.init(x) for x in starts]
    together = safe.init(backend.array(starts))
    for _ in range(15):
        wishes = rng.normal(size=(3, 2)) + np.array([1.0, 0.5])
        alone = [
            admit(safe, a, w, *constraint.query(a.x))[0] for a, w in zip(alone, wishes, strict=True)
        ]
        g, s = constraint.query(together.x)
        together, _ = admit(safe, together, backend.array(wishes), g, s)
        assert backend.holds(together.x)
        assert backend.numpy(together.x) == pytest.approx(np.array([a.x for a in alone]), abs=1e-13)


def test_a_compiled_filter_is_the_same(x64):
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
    jnp = x64.numpy
    constraint = LinfNorm(0.5, 2)

    def step(x, proposal):
        state = safe.init(x)
        g, s = constraint.query(x)
        return admit(safe, state, proposal, g, s)[0].x

    proposal = [3.0, 0.25]
    compiled = x64.jit(step)(jnp.zeros(2), jnp.asarray(proposal))
    alone, _ = admit(safe, safe.init(np.zeros(2)), np.array(proposal), -0.5, np.array([1.0, 0.0]))
    assert np.asarray(compiled) == pytest.approx(alone.x, abs=1e-15)


def test_a_step_without_room_stays_and_says_so():
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=1e-17)
    constraint, state = LinfNorm(0.5, 2), safe.init(np.zeros(2))
    for _ in range(60):
        before, (g, s) = state, constraint.query(state.x)
        state, info = admit(safe, before, np.array([3.0, 1.0]), g, s)
    certificate = info.certificate
    assert state.x.tolist() == before.x.tolist()
    assert (certificate.rule, certificate.taken) == ("stayed", 0.0)
    assert g <= certificate.bound <= 0


@pytest.mark.parametrize("g", [0.0, 0.25])
def test_a_start_that_is_not_strictly_feasible_is_refused_by_the_first_round(g):
    with pytest.raises(ValueError, match="the start must be strictly feasible"):
        admit(SAFE, SAFE.init(X), X, g, STEEP)
    batch, _ = admit(
        SAFE,
        SAFE.init(np.array([X, X])),
        np.array([X, X]),
        np.array([[g], [-0.9]]),
        np.array([STEEP] * 2),
    )
    assert np.isnan(batch.x[0]).all()
    assert batch.x[1].tolist() == X.tolist()


def test_zero_subgradient_above_the_tightened_level_says_the_set_is_empty():
    before = after_three(X - 0.5)
    with pytest.raises(EmptyTighteningError):
        admit(SAFE, before, X, -0.2, np.zeros(2))


def test_wrong_constants_are_named_with_the_round():
    before = after_three(X - np.array([0.6, 0.8]))
    assert admit(SAFE, before, before.x, -0.2, np.array([0.9, -1.2]))[1].contradictions == ()
    (steep,) = admit(SAFE, before, before.x, -0.2, 2 * STEEP)[1].contradictions
    assert steep == "round 4: |s| = 4 exceeds G_g = 2"
    # G_g A - rho = -0.05 is the most that g can be.
    above, _ = admit(SAFE, before, before.x, -0.04, STEEP)[1].contradictions
    assert above.startswith("round 4: g = -0.04 is above its certified bound -0.05")
    steeper = SafetyFilter(G_g=2.0, domain=Ball(3.0), rho=0.25, sigma=1.9)
    before = after_three(X - np.array([0.6, 0.8]), steeper)
    (long,) = admit(steeper, before, X, -0.2, np.array([0.9, -1.2]))[1].contradictions
    assert long.startswith("round 4: the cut moves by 0.0333333, more than the distance 0.0263158")


@pytest.mark.parametrize(
    ("proposal", "sentence"),
    [
        (1.0, "proposal must be an array of shape (2,), that of the action, got 1.0"),
        ([0.0, 1.0], "proposal must be an array of shape (2,), that of the action, got [0.0, 1.0]"),
        (np.zeros(3), "proposal.shape must be (2,), that of the action, got (3,)"),
        (np.zeros((1, 2)), "proposal.shape must be (2,), that of the action, got (1, 2)"),
        (np.array([0.0, np.nan]), "proposal must be finite, got nan at index 1"),
        (np.array([-np.inf, 0.0]), "proposal must be finite, got -inf at index 0"),
    ],
)
def test_a_proposal_that_is_no_action_is_refused(proposal, sentence):
    with pytest.raises(ValueError) as raised:
        admit(SAFE, SAFE.init(X), proposal, -0.9, STEEP)
    assert str(raised.value) == sentence


@pytest.mark.parametrize("size", [1e-320, 1e-100, 1e100, 1e155, 1e300])
def test_proposals_of_any_size_are_filtered(size):
    after, info = admit(SAFE, SAFE.init(X), X + size * np.array([0.6, -0.8]), -0.9, STEEP)
    assert after.x == near([0.695, -0.51] if size > 1 else X)
    assert 0 <= distance_of(SAFE, after) <= 0.125 + 1e-9
    assert info.certificate.bound <= 0


def test_a_proposal_further_away_than_a_float_is_refused():
    far = np.array([1.7e308, -1.7e308])
    with pytest.raises(ValueError, match=r"^the wanted action must have a finite distance from x"):
        admit(SAFE, SAFE.init(X), far, -0.9, STEEP)


def test_far_proposals_in_a_wedge_never_lead_outside():
    # |z|^2 leaves float64; a distance of NaN must not pass for one of 0.
    faces = np.array([[0.2, 1.0], [0.2, -1.0]]) / math.hypot(0.2, 1.0)
    wedge = Affine(np.vstack([faces, [[-1.0, 0.0]]]), [0.06, 0.06, 0.5])
    safe = SafetyFilter(G_g=1.0 + 1e-12, domain=Ball(2.0), rho=0.02)
    state = safe.init(np.zeros(2))
    for t in range(400):
        g, s = wedge.query(state.x)
        assert g <= 0
        far, out, up = np.array([[1e160, 0.0], [10.0, 0.0], [0.0, 10.0]])
        proposal = [state.x + out, far, state.x + up, far][t % 4]
        state, info = admit(safe, state, proposal, g, s)
        assert info.certificate.bound <= 0
    batch = safe.init(np.zeros((2, 2)))
    for t in range(100):
        g, s = wedge.query(batch.x)
        assert (g <= 0).all()
        way = [[1e160, 1.0], [1e155, -1e200]][t % 2]
        batch, _ = admit(safe, batch, np.array([way, [10.0, 0.0]]), g, s)


def test_a_buffer_that_the_caller_uses_again_changes_no_state():
    buffer = X.copy()
    state = SAFE.init(buffer)
    buffer[:] = 7.0
    assert state.x.tolist() == state.memory.anchor.tolist() == X.tolist()
    proposal, s = X + 0.01, STEEP.copy()
    after, info = admit(SAFE, state, proposal, -0.9, s)
    played = after.x.tolist()
    proposal[:], s[:] = 7.0, math.nan
    assert after.x.tolist() == info.proposal.tolist() == played
    assert after.memory.s.tolist() == STEEP.tolist()
    with pytest.raises(ValueError, match="read-only"):
        after.x += 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"G_g": -1.0}, "G_g must be a finite number > 0, got -1.0"),
        ({"rho": 0.0}, "rho must be a finite number > 0, got 0.0"),
        ({"domain": None}, "domain must be a set with a projection, got None"),
    ],
)
def test_parameters_out_of_range_are_named(change, sentence):
    with pytest.raises(ValueError) as raised:
        SafetyFilter(**{"G_g": 1.0, "domain": Ball(1.0), "rho": 0.1} | change)
    assert str(raised.value) == sentence


def test_the_default_filter_has_the_margin_of_certified_steps_and_keeps_any_proposer_inside():
    problem = problems.binding_toy(300, trials=1)
    safe = SafetyFilter.default(problem.constants)
    margin = CertifiedPFS.default(problem.constants).algorithm.knowledge.rho
    assert safe.knowledge.rho == margin
    state, rng = safe.init(problem.start), np.random.default_rng(0)
    for _ in range(300):
        g, s = problem.constraint.query(state.x)
        assert g <= 0
        state, _ = admit(safe, state, state.x + rng.normal(size=2), g, s)
    with pytest.raises(ValueError, match=r"SafetyFilter\.default needs"):
        SafetyFilter.default(Constants(R=1.0))
