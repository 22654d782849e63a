import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from surefoot.problems.constraints import (
    Affine,
    CVaR,
    FunctionConstraint,
    L1Norm,
    L2Norm,
    NoStartError,
    QuadraticForm,
    SecondOrderCone,
    Start,
    find_start,
    max_of,
    shift,
)
from surefoot.sets import Ball, Box, Halfspace


def random_polytope(seed, m=25, d=6):
    """Rows around a point that is not 0, and a box around it."""
    rng = np.random.default_rng(seed)
    A, inside = rng.normal(size=(m, d)), rng.normal(size=d)
    return Affine(A, A @ inside + rng.uniform(0.05, 0.5, size=m)), Box.cube(4.0, d)


def most_slack(g, box):
    """By linear programming: max t with a_i x + t <= b_i in the box."""
    m, d = g.A.shape
    limits = [*zip(box.lower, box.upper, strict=True), (None, None)]
    c, rows = np.append(np.zeros(d), -1.0), np.hstack([g.A, np.ones((m, 1))])
    return -linprog(c, rows, g.b, bounds=limits).fun


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_slack_found_and_the_bound_enclose_the_most_there_is(seed):
    g, box = random_polytope(seed)
    start = find_start(g, box, tolerance=0.1)
    best = most_slack(g, box)
    assert start.slack == -g.value(start.point) > 0
    assert box.contains(start.point)
    assert start.slack <= best <= -start.lower
    assert -start.lower <= 1.1 * start.slack


def test_a_few_iterations_find_less_but_never_promise_too_much():
    g, box = random_polytope(3)
    best = most_slack(g, box)
    slacks = []
    for iterations in (200, 1000, 5000):
        start = find_start(g, box, iterations=iterations, tolerance=1e-6)
        assert start.slack <= best <= -start.lower
        slacks.append(start.slack)
    assert slacks == sorted(slacks)


def test_the_minimum_of_a_smooth_constraint_is_found():
    g = QuadraticForm([[2.0, 0.0], [0.0, 6.0]], [-4.0, 6.0], -4.0)  # minimum at (2, -1), g = -3
    start = find_start(g, Ball(5.0), guess=[-1.0, 3.0], tolerance=0.001)
    assert 0.999 * 3 <= start.slack <= 3 <= -start.lower
    assert start.lower == pytest.approx(-3, rel=2e-3)


def test_the_domain_limits_the_slack():
    g = Affine([[1.0, 0.0]], [1.0])  # x0 <= 1: the farther left the better
    start = find_start(g, Ball(2.0, centre=[0.5, 0.0]), tolerance=0.001)
    assert start.slack == pytest.approx(2.5, rel=1e-3)
    np.testing.assert_allclose(start.point, [-1.5, 0.0], atol=0.01)


def test_a_known_interior_point_at_a_kink_ends_the_search_at_once():
    start = find_start(L1Norm(2.0, 3, centre=[1.0, -1.0, 0.5]), Ball(5.0), iterations=1)
    assert start == Start(pytest.approx([1.0, -1.0, 0.5]), 2.0, -2.0)


def test_mixed_constraints_and_a_centre_that_is_infeasible():
    g = max_of(SecondOrderCone(np.eye(3), [-1.0, 0.0, 0.0], d=0.5), L2Norm(2.0), CVaR(
        np.array([[-1.0, 2.0, 0.0], [-0.8, -1.0, 0.3], [-1.2, 0.0, -0.5]]), 0.5, -0.2
    ))  # fmt: skip
    assert g.value(np.zeros(3)) > 0
    start = find_start(g, Ball(2.0))
    assert g.value(start.point) == -start.slack < 0


def test_the_length_of_an_action_comes_from_wherever_it_is_known():
    ball = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x)
    assert len(find_start(ball, Ball(2.0, centre=[0.5, 0.0, 0.0])).point) == 3
    assert len(find_start(ball, Box.cube(2.0, 4)).point) == 4
    assert len(find_start(ball, Ball(2.0), guess=[1.0, 0.0]).point) == 2
    assert len(find_start(Affine([[1.0, 0.0]], [-0.5]), Ball(2.0)).point) == 2
    with pytest.raises(ValueError, match="guess must be given if neither the constraint"):
        find_start(ball, Ball(2.0))


EQUALITY = Affine([[1.0, 1.0, 1.0], [0.5, 0.0, 0.0], [-2.0, -2.0, -2.0]], [1.0, 1.0, -2.0])


@pytest.mark.parametrize(
    ("constraint", "rows"),
    [
        (EQUALITY, "0 and 2"),
        (Affine(sparse.csr_array(EQUALITY.A), EQUALITY.b), "0 and 2"),
        (max_of(L2Norm(3.0), EQUALITY), "1 and 3"),
        (
            max_of(
                Affine([[1.0, 1.0]], [3.0]),
                L2Norm(3.0),
                Affine(sparse.csr_array([[0.0, 1.0], [-0.1, -0.1]]), [1.0, -0.3]),
            ),
            "0 and 3",
        ),
        (shift(Affine([[1.0, 0.0], [-1.0, 0.0]], [2.0, 1.0]), 1.5), "0 and 1"),
    ],
)
def test_an_equality_written_as_two_inequalities_is_named_with_the_way_out(constraint, rows):
    sentence = (
        f"rows {rows} are an equality written as two inequalities, so no point is strictly "
        "feasible: solve it for one variable and substitute that, or keep one row and let a free "
        "variable, such as cash, take its slack"
    )
    with pytest.raises(NoStartError, match=f"^{sentence}$") as caught:
        find_start(constraint, Ball(5.0))
    assert caught.value.best is None


def test_parametrised_away_the_equality_leaves_a_start():
    # x0 + x1 + x2 = 1 with all at least 0.1: x2 = 1 - x0 - x1.
    g = Affine([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [-0.1, -0.1, 0.9])
    start = find_start(g, Ball(1.0), tolerance=0.01)
    assert start.slack == pytest.approx(0.7 / 3, rel=0.01)


def test_a_slab_of_some_width_is_no_equality():
    g = Affine([[1.0, 1.0], [-2.0, -2.0]], [1.0, -1.9])
    assert find_start(g, Ball(5.0)).slack > 0


def test_rows_that_leave_no_interior_otherwise_are_said_to_have_none():
    # Three half-planes that meet in one point.
    g = Affine([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.5, 0.25, -0.75])
    with pytest.raises(NoStartError, match="no strictly feasible point was found in 300") as caught:
        find_start(g, Ball(2.0), iterations=300)
    best = caught.value.best
    assert best.lower <= 0 <= -best.slack < 0.05
    assert g.value(best.point) == -best.slack


def test_an_empty_constraint_is_proven_empty():
    g = Affine([[1.0, 0.0], [-1.0, 0.0]], [0.0, -1.0])  # x <= 0 and x >= 1
    with pytest.raises(NoStartError, match="no point of the domain is strictly feasible") as caught:
        find_start(g, Ball(2.0))
    assert 0 <= caught.value.best.lower <= 0.5
    far = L2Norm(1.0, centre=[5.0, 0.0])  # 2 away from the domain at the nearest
    with pytest.raises(NoStartError, match="g is at least") as caught:
        find_start(far, Ball(2.0))
    assert 0 < caught.value.best.lower <= 2


def test_an_unbounded_domain_is_refused():
    with pytest.raises(ValueError, match="bounded set"):
        find_start(Affine([[1.0, 0.0]], [1.0]), Halfspace([1.0, 0.0], 2.0))


def test_bad_input_is_named():
    g, ball = Affine([[1.0, 0.0]], [1.0]), Ball(2.0)
    with pytest.raises(ValueError, match="iterations must be a whole number >= 1, got 0"):
        find_start(g, ball, iterations=0)
    with pytest.raises(ValueError, match="tolerance must be a finite number > 0"):
        find_start(g, ball, tolerance=-0.1)
    with pytest.raises(ValueError, match="guess must be finite, got nan"):
        find_start(g, ball, guess=[0.0, math.nan])
    with pytest.raises(ValueError, match=r"guess.shape must be \(2,\), got \(3,\)"):
        find_start(g, ball, guess=[0.0, 0.0, 0.0])
    broken = FunctionConstraint(lambda x: math.nan, lambda x: x)
    with pytest.raises(ValueError, match="g and its subgradient must be finite, got nan"):
        find_start(broken, ball, guess=[0.0, 1.0])


@pytest.mark.parametrize("seed", range(3))
def test_the_lower_bound_survives_large_numbers(seed):
    # g around 1e8 in places: rounding must not lift the bound above the truth.
    g, box = random_polytope(seed)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-4, 8, size=len(g.b))
    h = Affine(g.A * scale[:, None], g.b * scale)
    start = find_start(h, box, iterations=3000)
    assert start.lower <= -most_slack(h, box) * (1 - 1e-9) + 1e-9
