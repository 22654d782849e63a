"""Regret against comparators that move and over intervals, worked by hand and against bounds."""

import numpy as np
import pytest

from surefoot import OGD, PFS, Problem
from surefoot.games import best_moving, moving_comparator, path_length, play
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import AdaptiveGauge, GarberKretzu, GaugeDescent, TrackingBlocks
from surefoot.sets import Ball, Box

SQUARE = Box.cube(0.5, 2)


def switching(T, pieces, runs=None):
    """Unit linear costs whose slope is another one in each piece."""
    rng = np.random.default_rng(4)
    lead = (pieces,) if runs is None else (pieces, runs)
    slopes = rng.normal(size=(*lead, 2))
    slopes /= np.linalg.norm(slopes, axis=-1, keepdims=True)
    costs = Linear(np.repeat(slopes, T // pieces, axis=0))
    return Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0])


def test_the_length_of_a_path_is_the_sum_of_its_moves():
    path = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [3.0, 3.0]])
    assert path_length(path) == 6.0
    both = np.stack([path, 2 * path], axis=1)
    assert path_length(both).tolist() == [6.0, 12.0]


def test_given_comparators_cost_what_they_cost_in_their_own_rounds():
    costs = Quadratic([[1.0], [3.0]], curvature=2.0)
    best = moving_comparator(costs, [[0.0], [1.0]])
    assert (best.value, best.lower, best.length) == (5.0, 5.0, 1.0)


def test_comparators_of_all_runs_are_shared_or_one_each():
    costs = Linear(np.array([[[1.0], [2.0]], [[1.0], [2.0]]]))
    assert moving_comparator(costs, [[1.0], [2.0]]).value.tolist() == [3.0, 6.0]
    own = np.array([[[1.0], [0.0]], [[2.0], [1.0]]])
    assert moving_comparator(costs, own).value.tolist() == [3.0, 2.0]


def test_the_best_comparators_change_only_where_they_may():
    costs = Linear([[1.0], [1.0], [1.0], [-1.0]])
    free = best_moving(costs, LinfNorm(0.5, 1), [4])
    assert free.actions[:, 0].tolist() == [-0.5, -0.5, -0.5, 0.5]
    assert (free.value, free.length) == (-2.0, 1.0)
    halves = best_moving(costs, LinfNorm(0.5, 1), 2)
    assert halves.value == -1.0
    assert best_moving(costs, LinfNorm(0.5, 1), []).value == -1.0


@pytest.mark.parametrize("changes", [[1], [5], [3, 3], [4, 2], 0, 5])
def test_changes_outside_the_rounds_are_refused(changes):
    with pytest.raises(ValueError, match=r"^changes must be "):
        best_moving(Linear(np.ones((4, 1))), LinfNorm(0.5, 1), changes)


@pytest.mark.parametrize("shape", [(5, 1), (4, 2), (4,), (4, 3, 1), (0, 1)])
def test_comparators_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"^actions\.shape must be \(rounds, 1\)"):
        moving_comparator(Linear(np.ones((4, 1))), np.zeros(shape))


def test_one_piece_is_the_static_regret():
    problem = switching(120, 4, runs=3)
    trace = play(OGD.fixed(problem.constants, 120, SQUARE), problem)
    whole = trace.dynamic_regret(changes=1)
    np.testing.assert_allclose(whole.upper, trace.final_regret(), atol=1e-12)
    np.testing.assert_allclose(trace.interval_regret(1, 120).upper, whole.upper, atol=1e-12)
    assert whole.comparator.length.tolist() == [0.0, 0.0, 0.0]


def test_intervals_add_up_to_the_regret_against_a_comparator_of_these_pieces():
    problem = switching(120, 4)
    trace = play(OGD.fixed(problem.constants, 120, SQUARE), problem)
    parts = [trace.interval_regret(a, a + 29).upper for a in (1, 31, 61, 91)]
    np.testing.assert_allclose(sum(parts), trace.dynamic_regret(changes=4).upper, atol=1e-12)
    path = trace.dynamic_regret(changes=4).comparator.actions
    assert trace.dynamic_regret(path).upper == pytest.approx(sum(parts))


def test_the_ends_of_an_interval_must_have_been_kept():
    problem = switching(120, 4)
    trace = play(OGD.fixed(problem.constants, 120, SQUARE), problem, every=50)
    assert trace.interval_regret(51, 100).upper.shape == ()
    with pytest.raises(ValueError, match="the ends of an interval must be kept rounds, got 51"):
        trace.interval_regret(52, 100)
    with pytest.raises(ValueError, match="first and last must be rounds from 1 to 120"):
        trace.interval_regret(5, 4)


def test_comparators_outside_are_refused():
    problem = switching(120, 4)
    trace = play(OGD.fixed(problem.constants, 120, SQUARE), problem)
    with pytest.raises(ValueError, match=r"^comparators must be feasible in every round, got one "):
        trace.dynamic_regret(np.full((120, 2), 0.6))
    with pytest.raises(ValueError, match="path must have a comparator for each of the 120 rounds"):
        trace.dynamic_regret(np.zeros((100, 2)))
    with pytest.raises(ValueError, match="either a path or changes, got neither"):
        trace.dynamic_regret()


def test_a_theorem_that_says_nothing_has_no_bound():
    problem = switching(120, 4)
    trace = play(PFS.tuned(problem.constants, 120), problem)
    assert trace.dynamic_regret(changes=4).bound is None
    assert trace.interval_regret(1, 30).bound is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [OGD.fixed, GarberKretzu.known_horizon, TrackingBlocks.known_horizon]
)
@pytest.mark.parametrize("pieces", [1, 4, 32])
def test_dynamic_regret_stays_below_its_bound(rule, pieces):
    problem = switching(512, pieces)
    trace = play(rule(problem.constants, 512, SQUARE), problem)
    regret = trace.dynamic_regret(changes=pieces)
    assert 0 <= regret.lower <= regret.upper <= regret.bound


@pytest.mark.parametrize(
    "rule",
    [OGD.fixed, GarberKretzu.known_horizon, GaugeDescent.fixed, AdaptiveGauge.known_horizon],
)
def test_interval_regret_stays_below_its_bound(rule):
    problem = switching(512, 16)
    trace = play(rule(problem.constants, 512, SQUARE), problem)
    for first, last in [(1, 512), (33, 64), (100, 300), (512, 512)]:
        regret = trace.interval_regret(first, last)
        assert regret.upper <= regret.bound


def test_a_move_of_the_comparator_raises_the_bound_of_descent():
    problem = switching(512, 4)
    theorem = OGD.fixed(problem.constants, 512, SQUARE).guarantee
    assert theorem.dynamic_bound(512, 0.0) == theorem.regret_bound(512)
    # D/eta = G_f sqrt(T) for each unit of the path.
    extra = theorem.dynamic_bound(512, 2.0) - theorem.regret_bound(512)
    assert extra == pytest.approx(2.0 * problem.constants.G_f * 512**0.5)


def test_the_bound_on_an_interval_is_that_of_its_length():
    problem = switching(120, 4)
    player = AdaptiveGauge.known_horizon(problem.constants, 120, SQUARE)
    regret = play(player, problem).interval_regret(41, 70)
    assert regret.bound == player.guarantee.interval_bound(30)
    assert player.guarantee.interval_bound(30) < player.guarantee.interval_bound(31)
