"""The certified length of one run and of a batch, and what a step makes of it."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import Ball, Constants, Feedback, Problem
from surefoot.algorithms import (
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SeveralPFS,
    several_pfs,
)
from surefoot.algorithms.certified_pfs import CertifiedState
from surefoot.algorithms.inside import bounded_diameter
from surefoot.algorithms.related._lagrangian import positive_part
from surefoot.problems.constraints import QuadraticForm
from surefoot.problems.costs import Linear
from surefoot.sets import Halfspace
from surefoot.theory import ObservedRegret

NUMBERS = st.floats(0.0, 1.0)


@settings(max_examples=150)
@given(
    g=st.floats(-1.0, 0.2),
    slack=st.floats(1e-6, 1.0),
    rho=st.floats(1e-12, 1.0),
    distance=NUMBERS,
    steepness=NUMBERS,
    taken=NUMBERS,
    rounds=st.sampled_from([0.0, 1.0, 7.0]),
    decreasing=st.booleans(),
    sigma=st.sampled_from([None, 0.3]),
)
def test_one_run_and_a_batch_have_the_same_certified_length(
    g, slack, rho, distance, steepness, taken, rounds, decreasing, sigma
):
    player = CertifiedPFS(G_g=1.25, domain=Ball(2.0), rho=rho, decreasing=decreasing, sigma=sigma)
    x, start, s = np.array([0.3, -0.4]), np.array([-0.1, 0.2]), np.array([0.6, 0.8]) * steepness
    if rounds == 0 and g > -1e-9:
        return  # a start that one run refuses
    alone = player.certified_length(x, start, rounds, slack, distance, g, s)
    columns = (np.array([[value]]) for value in (rounds, slack, distance, g))
    r, a, A, value = columns
    batch = player.certified_length(x[None], start[None], r, a, A, value, s[None])
    names = ("start_slack", "rho", "distance_after_cut", "max_step", "noise", "error")
    for name in names:
        wanted, made = getattr(alone, name), np.ravel(getattr(batch, name))
        assert made == pytest.approx(wanted, rel=1e-14, abs=1e-300), name
    after = player.next_distance(alone, rounds, taken)
    column = np.array([[taken]])
    if alone.squared is not None or alone.max_step > 0:  # deep inside, A is not looked at
        assert np.ravel(player.next_distance(batch, r, column)) == pytest.approx(after, rel=1e-14)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rule: pickle.loads(pickle.dumps(rule))])
def test_margins_are_kept_for_one_dimension_and_computed_again_for_another(copied):
    rule = CertifiedPFS(G_g=1.25, domain=Ball(2.0), rho=0.1)
    assert rule.kept_rounding(2) is rule.kept_rounding(2)
    assert rule.kept_rounding(5) == rule.rounding(5) != rule.rounding(2)
    assert copied(rule).kept_rounding(2) == rule.rounding(2)
    column = CertifiedPFS(G_g=np.array([[1.0], [2.0]]), domain=Ball(2.0), rho=0.1)
    assert column.kept_rounding(2) is not column.kept_rounding(2)  # only numbers are kept


def test_in_a_batch_too_a_round_in_which_nothing_moves_keeps_the_distance():
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=1e-17, decreasing=False, evaluation_error=1e-3
    )
    x, s = np.array([0.3, -0.4]), np.array([0.6, 0.8])
    state = CertifiedState(x, np.zeros(2), 4.0, 0.5, 1e-9, 2.0, 4.0)
    seen = Feedback(np.array([1.0, 2.0]), -1e-4, s)
    alone = player.update(state, seen)
    assert alone.x is x
    batch = player.update(
        CertifiedState(x[None], np.zeros((1, 2)), *(np.array([[v]]) for v in state[2:])),
        Feedback(seen[0][None], np.array([[seen[1]]]), s[None]),
    )
    assert batch.distance[0, 0] == alone.distance <= 1e-9
    assert batch.x[0].tolist() == x.tolist()


def test_a_subgradient_a_thousandth_too_long_is_a_contradiction():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1)
    for g in (-0.5, -0.01):  # deep inside, and near the boundary
        state = CertifiedState(np.zeros(2), np.array([0.3, -0.4]), 3.0, 0.5, 0.1, 1.0, 1.0)
        long = Feedback(np.ones(2), g, np.array([0.0, 1.001]))
        assert "round 4: |s| = 1.001 exceeds G_g = 1" in player.step(state, long)[1].contradictions
        right = long._replace(constraint_subgradient=np.array([0.0, 1.0]))
        assert player.step(state, right)[1].contradictions == ()


def test_half_spaces_of_several_constraints_are_moved_by_noise_and_tolerance():
    # At R = 1e8 rounding is visible: k = 2 projections, each within 24 (d + 8) u R.
    R, d = 1e8, 2
    base = CertifiedPFS(G_g=1.0, domain=Ball(R), rho=0.5, decreasing=False, eta=100.0)
    state = SeveralPFS(base=base).init(np.zeros(d))
    seen = Feedback(np.array([0.0, -1.0]), np.array([-1.0]), np.array([[0.0, 1.0]]))
    after, info = SeveralPFS(base=base).step(state, seen)
    tolerance = 2 * 24 * (d + 8) * 2.0**-53 * R
    assert tolerance > 1e-6
    wanted = 1.0 - info.length.rho + info.length.noise - tolerance
    assert info.cut
    assert after.x[1] == pytest.approx(wanted, abs=1e-8)


def test_half_of_the_tolerance_is_left_for_the_check_of_an_intersection(monkeypatch):
    base = CertifiedPFS(G_g=1.5, domain=Ball(2.0), rho=0.5, decreasing=False, eta=100.0)
    player, asked = SeveralPFS(base=base, exact=True), []
    real = several_pfs.project_halfspaces

    def spy(excess, rows, tolerance, largest):
        asked.append((tolerance, largest))
        return real(excess, rows, tolerance, largest)

    monkeypatch.setattr(several_pfs, "project_halfspaces", spy)
    seen = Feedback(np.array([-1.0, -1.0]), np.array([-0.9, -0.9]), np.eye(2))
    player.update(player.init(np.zeros(2)), seen)
    assert asked == [(0.5 * 1.5 * 3 * 24 * 10 * 2.0**-53 * 2.0, 16.0)]


def test_an_unbounded_set_has_no_diameter_to_tune_by():
    with pytest.raises(ValueError, match=r"^domain must be bounded"):
        bounded_diameter(Halfspace([1.0, 0.0], 0.5))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_multiplier_that_is_no_number_is_refused(bad):
    for multipliers in (bad, np.array([0.5, bad])):
        with pytest.raises(ValueError, match=f"must be finite, got a multiplier of {bad}"):
            positive_part(multipliers)


def test_rounds_in_which_nothing_moved_cost_their_gradients_across_the_ball():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.5), rho=0.5)
    state = player.init(np.zeros(2))._replace(start_slack=0.5)
    assert ObservedRegret(stayed=2.0).bound(player, state) == 2 * 1.5 * 2.0


def test_a_step_that_the_ball_shortens_counts_that_move_in_full():
    # x = 0, eta = 1: y = (3, 0), no cut, back to the sphere of radius 2: |p - x'| = 1.
    player = CertifiedPFS(G_g=1.0, domain=Ball(2.0), rho=4.0, decreasing=False, eta=1.0)
    state = player.init(np.zeros(2))
    seen = Feedback(np.array([-3.0, 0.0]), -9.0, np.array([1.0, 0.0]))
    after, info = player.step(state, seen)
    assert after.x == pytest.approx([2.0, 0.0], rel=1e-12)
    assert not info.cut
    assert ObservedRegret().after(info).moved == pytest.approx(1.0, rel=1e-9)


# --- the rounding of g, where it is larger than that of a linear one ------------------------------


def _far_away(distance):
    """A disc of radius 1/2, as a quadratic whose terms cancel far from the origin."""
    centre = np.array([distance, -distance / 3])
    disc = QuadraticForm(np.eye(2), -centre, 0.125 - 0.5 * float(centre @ centre))
    costs = Linear(np.ones((1, 2)))
    return Problem.of(costs, disc, Ball(1.0, centre), centre + np.array([0.1, 0.0]))


def _worst_on_the_way_out(player, problem):
    """The largest g of a rule that is driven against the boundary."""
    state, worst = player.init(problem.start), -math.inf
    for _ in range(60):
        g, s = problem.constraint.query(state.x)
        worst, way = max(worst, g), np.array([150.0, 200.0])
        if hasattr(player, "admit"):
            state, _ = player.admit(state, state.x + way, g, s)
        elif player.needs.apart:
            state = player.update(state, Feedback(-way, np.array([g]), s[None]))
        else:
            state = player.update(state, Feedback(-way, g, s))
    return max(worst, problem.constraint.value(state.x))


@pytest.mark.parametrize(
    "tuned",
    [
        lambda c, ball: CertifiedPFS.known_horizon(c, 10**14, ball).algorithm,
        lambda c, ball: SeveralPFS.known_horizon(c, 10**14, ball).algorithm,
        lambda c, ball: LeaderFollower.default(c, None, ball).algorithm,
        lambda c, ball: RegionFilter.default(c, ball),
        lambda c, ball: CertifiedOGD.default(c, None, ball).algorithm,
    ],
    ids=["CertifiedPFS", "SeveralPFS", "LeaderFollower", "RegionFilter", "CertifiedOGD"],
)
@pytest.mark.parametrize("distance", [1e5, 1e6])
def test_a_quadratic_far_from_the_origin_is_never_left(tuned, distance):
    problem = _far_away(distance)
    player = tuned(problem.constants, problem.domain)
    assert _worst_on_the_way_out(player, problem) <= 0


def test_an_evaluation_error_below_the_rounding_of_a_linear_g_changes_nothing():
    x, s = np.array([0.3, 0.0]), np.array([1.0, 0.0])
    lengths = [
        CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1, evaluation_error=error).certified_length(
            x, 0 * x, 1.0, 0.5, 0.1, -0.05, s
        )
        for error in (None, 1e-18, 1e-10)
    ]
    assert lengths[0] == lengths[1]
    assert lengths[2].noise == pytest.approx(1e-10 + 8 * 2.0**-53, rel=1e-12)


def test_an_exact_constraint_needs_no_margin_for_its_evaluation():
    constants = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0, evaluation_error=0.0)
    assert CertifiedPFS.default(constants).algorithm.evaluation_error is None
    assert LeaderFollower.default(constants).algorithm.evaluation_error is None
