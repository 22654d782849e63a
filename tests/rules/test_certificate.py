"""What steps make of the certified length, and the rounding of g."""

import math

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback, Problem
from surefoot.certified_pair import CertifiedState
from surefoot.core.points import bounded_diameter
from surefoot.core.record import is_tree
from surefoot.guarantees import ObservedRegret
from surefoot.knowledge import Errors
from surefoot.problems.constraints import QuadraticForm
from surefoot.problems.costs import Linear
from surefoot.proposers.descent import DescentState
from surefoot.rules import CertifiedOGD, CertifiedPFS, LeaderFollower, RegionFilter
from surefoot.rules.related.lagrangian import positive_part
from surefoot.sets import Halfspace

from ._known import after_rounds


def test_in_a_batch_too_a_round_in_which_nothing_moves_stays():
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=1e-17, decreasing=False, evaluation_error=1e-3
    )
    x, s = np.array([0.3, -0.4]), np.array([0.6, 0.8])
    memory = after_rounds(player.knowledge, x, np.zeros(2), 1e-9, 4.0, 0.5)
    state = CertifiedState(x, memory, DescentState(4.0, 2.0))
    seen = Feedback(np.array([1.0, 2.0]), -1e-4, s)
    alone = player.update(state, seen)
    assert alone.x.tolist() == x.tolist()

    def wide(part):
        if is_tree(part):
            return type(part)(*map(wide, part))
        return np.array([[part]]) if np.ndim(part) == 0 else part[None]

    batch = player.update(wide(state), Feedback(seen[0][None], np.array([[seen[1]]]), s[None]))
    assert batch.memory.distance[0, 0] == alone.memory.distance
    assert batch.x[0].tolist() == x.tolist()


def test_a_subgradient_a_thousandth_too_long_is_a_contradiction():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1)
    for g in (-0.5, -0.01):  # deep inside, and near the boundary
        memory = after_rounds(player.knowledge, np.zeros(2), np.array([0.3, -0.4]), 0.1, slack=0.5)
        state = CertifiedState(np.zeros(2), memory, DescentState(1.0, 1.0))
        long = Feedback(np.ones(2), g, np.array([0.0, 1.001]))
        assert "round 4: |s| = 1.001 exceeds G_g = 1" in player.step(state, long)[1].contradictions
        right = long._replace(constraint_subgradient=np.array([0.0, 1.0]))
        assert player.step(state, right)[1].contradictions == ()


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
    state = player.init(np.zeros(2))
    state = state._replace(memory=state.memory._replace(slack=0.5))
    assert ObservedRegret(stayed=2.0).bound(player, state) == 2 * 1.5 * 2.0


def test_a_step_that_the_ball_shortens_counts_that_move_in_full():
    # x = 0, eta = 1: y = (3, 0), no cut, back to the sphere of radius 2: |p - x'| = 1.
    player = CertifiedPFS(G_g=1.0, domain=Ball(2.0), rho=4.0, decreasing=False, eta=1.0)
    state = player.init(np.zeros(2))
    seen = Feedback(np.array([-3.0, 0.0]), -9.0, np.array([1.0, 0.0]))
    after, info = player.step(state, seen)
    assert after.x == pytest.approx([2.0, 0.0], rel=1e-12)
    assert info.proposal == pytest.approx([3.0, 0.0], rel=1e-12)
    assert ObservedRegret().after(info).cuts == pytest.approx(-0.5, rel=1e-9)


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
        state = player.update(state, Feedback(-way, g, s, proposal=state.x + way))
    return max(worst, problem.constraint.value(state.x))


@pytest.mark.parametrize(
    "tuned",
    [
        lambda c, ball: CertifiedPFS.known_horizon(c, 10**14, ball).algorithm,
        lambda c, ball: LeaderFollower.default(c, None, ball).algorithm,
        lambda c, ball: RegionFilter.default(c, ball),
        lambda c, ball: CertifiedOGD.default(c, None, ball).algorithm,
    ],
    ids=["CertifiedPFS", "LeaderFollower", "RegionFilter", "CertifiedOGD"],
)
@pytest.mark.parametrize("distance", [1e5, 1e6])
def test_a_quadratic_far_from_the_origin_is_never_left(tuned, distance):
    problem = _far_away(distance)
    player = tuned(problem.constants, problem.domain)
    assert _worst_on_the_way_out(player, problem) <= 0


def test_an_exact_constraint_needs_no_margin_for_its_evaluation():
    constants = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0, evaluation_error=0.0)
    for rule in (CertifiedPFS, LeaderFollower):
        assert rule.default(constants).algorithm.errors == Errors()
