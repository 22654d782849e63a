"""A problem holds together, and knows what its parts know."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot import Ball
from surefoot.problems import Problem, paper_toy
from surefoot.problems.constraints import (
    Affine,
    Drifting,
    FunctionConstraint,
    L1Norm,
    L2Norm,
    LinfNorm,
    QuadraticForm,
)
from surefoot.problems.costs import Linear, Quadratic

SLOPES = Linear([[1.0, 2.0], [0.0, -3.0]])


def test_constants_come_from_the_parts():
    problem = Problem.of(SLOPES, LinfNorm(0.5, 2), Ball(1.0), [0.1, -0.2], name="mine")
    c = problem.constants
    assert (c.R, c.G_f, c.G_g, c.start_slack, c.epsilon) == (1.0, 3.0, 1.0, 0.3, 0.25)
    assert set(c.origins.values()) == {"derived"}
    assert problem.name == "mine"


def test_what_baselines_need_comes_from_the_parts_too():
    rows = Affine([[1.0, 0.0], [0.0, -2.0], [3.0, 4.0]], [0.5, 0.25, 2.0])
    linear = Problem.of(SLOPES, rows, Ball(1.5), [0.1, -0.1]).constants
    assert linear.F == 2 * 1.5 * 3.0  # G_f = 3 over a diameter of 3
    assert linear.D_g == 2.0 + 5.0 * 1.5
    assert linear.rows == 3
    assert linear.strong_convexity is None
    assert {linear.origins[n] for n in ("F", "D_g", "rows")} == {"derived"}
    quadratic = Problem.of(Quadratic([[1.0, 0.0]], 2.5), rows, Ball(1.5), [0.1, -0.1]).constants
    assert quadratic.strong_convexity == 2.5
    assert quadratic.F == 3 * quadratic.G_f == 3 * 2.5 * 2.5


def test_the_range_of_the_costs_follows_a_gradient_bound_that_is_given():
    given = Problem.of(SLOPES, LinfNorm(0.5, 2), Ball(1.0), [0.1, -0.2], G_f=7.0).constants
    assert given.F == 14.0


def test_a_ball_around_another_point_is_measured_from_there():
    rows = Affine([[3.0, 4.0]], [2.0])
    known = Problem.of(SLOPES, rows, Ball(1.5, [1.0, -1.0]), [0.5, -0.5]).constants
    assert known.D_g == 3.0 + 5.0 * 1.5  # |3 - 4 - 2| at the centre
    round_one = Problem.of(SLOPES, L2Norm(0.5), Ball(1.0), [0.3, -0.4]).constants
    # g = 0 at the start, and no point of the ball is farther from it than 1.5.
    assert round_one.D_g == pytest.approx(1.5, rel=1e-12)


def test_given_constants_are_marked_as_given():
    problem = Problem.of(SLOPES, LinfNorm(0.5, 2), Ball(1.0), [0.1, -0.2], G_f=7.0, epsilon=0.1)
    assert (problem.constants.G_f, problem.constants.epsilon) == (7.0, 0.1)
    assert problem.constants.origins["G_f"] == "given"


def test_the_start_is_a_copy_that_cannot_be_changed():
    start = np.array([0.1, -0.2])
    problem = Problem.of(SLOPES, LinfNorm(0.5, 2), Ball(1.0), start)
    start[0] = 9.0
    np.testing.assert_array_equal(problem.start, [0.1, -0.2])
    with pytest.raises(ValueError, match="read-only"):
        problem.start[0] = 1.0


def test_a_strictly_feasible_start_is_the_interior():
    problem = Problem.of(SLOPES, L2Norm(0.5), Ball(1.0), [0.1, -0.2])
    np.testing.assert_array_equal(problem.interior, problem.start)
    outside = Problem.of(SLOPES, L2Norm(0.5), Ball(1.0), [0.6, 0.0], infeasible_start=True)
    assert outside.interior is None or problem.constraint.value(outside.interior) < 0


def test_what_nobody_knows_stays_unknown():
    g = FunctionConstraint(lambda x: float(x[0]), lambda x: np.array([1.0, 0.0]))
    problem = Problem.of(SLOPES, g, Ball(1.0), [-0.1, 0.0])
    assert problem.constants.G_g is problem.constants.D_g is None
    assert problem.constants.start_slack == 0.1


ROWS = Affine([[1.0, 0.0, 2.0]], [1.0])


@pytest.mark.parametrize(
    ("constraint", "start", "sentence"),
    [
        (LinfNorm(0.5, 2), [0.0], r"start\.shape must be \(2,\), got \(1,\)"),
        (LinfNorm(0.5, 2), [0.0, np.inf], "start must be finite, got inf at index 1"),
        (L2Norm(0.5), [[0.0, 0.0]], r"start\.shape must be that of a vector"),
        (LinfNorm(0.5, 3), [0.0, 0.0], "constraint.dimension must be 2, that of the costs, got 3"),
        (ROWS, [0.0, 0.0], "constraint.dimension must be 2, that of the costs, got 3"),
    ],
)
def test_parts_that_do_not_fit_are_refused(constraint, start, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Problem.of(SLOPES, constraint, Ball(1.0), start)


def test_a_part_may_be_replaced_by_one_that_fits():
    toy = paper_toy(5, trials=1)
    assert replace(toy, costs=Quadratic([[1.0, 0.0]], 2.0)).costs.horizon == 1
    with pytest.raises(ValueError, match=r"^constraint.dimension must be 1, that of the costs"):
        replace(toy, costs=Quadratic([[1.0]], 2.0))


def test_a_start_outside_is_refused_unless_it_is_meant():
    far = [4.0, 0.0]
    with pytest.raises(ValueError, match=r"^start must be feasible, that is g <= 0, got g = 3: "):
        Problem.of(SLOPES, L2Norm(1.0), Ball(5.0), far)
    meant = Problem.of(SLOPES, L2Norm(1.0), Ball(5.0), far, infeasible_start=True)
    assert meant.constants.start_slack == -3.0
    with pytest.raises(ValueError, match=r"^start must be in the domain Ball\(radius=1.0"):
        Problem.of(SLOPES, LinfNorm(0.5, 2), Ball(1.0), [3.5, 0.0], infeasible_start=True)


def test_the_start_must_be_feasible_in_the_first_round():
    shrinks, grows = (Drifting(L2Norm(0.5), offsets) for offsets in ([0.0, 0.4], [0.4, 0.0]))
    assert Problem.of(SLOPES, shrinks, Ball(1.0), [0.3, 0.0]).constants.start_slack < 0
    with pytest.raises(ValueError, match=r"^start must be feasible, that is g <= 0, got g = 0.2"):
        Problem.of(SLOPES, grows, Ball(1.0), [0.3, 0.0])


BOX = Affine([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.6, 0.2, 0.5, 0.3])
TURNED = QuadraticForm([[2.5, -1.5], [-1.5, 2.5]], [0.0, 0.0], 0.5)  # eigenvalues 1 and 4


@pytest.mark.parametrize(
    ("constraint", "centre", "reach"),
    [
        (LinfNorm(0.5, 2), None, np.hypot(0.5, 0.5)),
        (LinfNorm(0.5, 2, [0.1, -0.2]), [0.3, 0.1], np.hypot(0.7, 0.8)),
        (BOX, None, np.hypot(0.6, 0.5)),
        (BOX, [0.3, 0.0], np.hypot(0.5, 0.5)),
        (L2Norm(0.5), [0.0, 0.25], 0.75),
        (L1Norm(0.5, 2), [-0.1, 0.2], np.hypot(0.1, 0.7)),
        (TURNED, None, 1.0),
    ],
)
def test_a_ball_that_a_known_set_leaves_is_refused(constraint, centre, reach):
    start = [0.05, 0.02]
    Problem.of(SLOPES, constraint, Ball(reach * (1 + 1e-12), centre), start)
    with pytest.raises(ValueError, match=r"^domain must hold the feasible set, got Ball"):
        Problem.of(SLOPES, constraint, Ball(reach * (1 - 1e-6), centre), start)


def test_a_set_without_end_is_meant_inside_the_ball():
    half = Affine([[1.0, 0.0]], [0.5])
    assert Problem.of(SLOPES, half, Ball(0.7), [0.0, 0.0]).constants.R == 0.7
