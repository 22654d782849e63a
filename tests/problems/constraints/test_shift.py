import math

import numpy as np
import pytest

from surefoot.problems.constraints import (
    Affine,
    CVaR,
    EllipsoidNorm,
    L1Norm,
    L2Norm,
    LinfNorm,
    QuadraticForm,
    Shifted,
    SpectralNorm,
    shift,
)
from surefoot.sets import Ball


def test_the_value_moves_and_the_subgradient_stays():
    g = shift(L2Norm(2.0), 0.5)
    value, s = g.query(np.array([3.0, -4.0]))
    assert value == 3.5
    np.testing.assert_allclose(s, [0.6, -0.8])
    values, rows = shift(Affine(np.eye(2), [1.0, 2.0]), 0.25).query_all(np.zeros(2))
    np.testing.assert_array_equal(values, [-0.75, -1.75])
    np.testing.assert_array_equal(rows, np.eye(2))


def test_shifts_add_up():
    g = L1Norm(1.0, 2)
    assert shift(shift(g, 0.25), 0.5) == Shifted(g, 0.75)


def test_the_bound_is_the_same():
    g = L1Norm(1.0, 4)
    assert shift(g, 0.3).subgradient_bound(Ball(2.0)) == g.subgradient_bound(Ball(2.0)) == 2.0


def test_sigma_is_that_of_the_level_that_is_meant():
    Q = QuadraticForm([[2.0, 0.0], [0.0, 6.0]], [0.0, 0.0], 4.0)  # depth 4
    tightened = shift(Q, 1.0)  # depth 3
    sigma, epsilon = tightened.exact_sigma(0.5)
    assert (sigma, epsilon) == (Q.exact_sigma(1.5)[0], 0.5)
    assert sigma == pytest.approx(math.sqrt(2 * 2 * 2.5))
    # Unless asked for, half of the depth that is left.
    sigma, epsilon = tightened.exact_sigma(None)
    assert epsilon == pytest.approx(1.5)
    assert sigma == pytest.approx(math.sqrt(2 * 2 * 1.5))


def test_far_tightening_keeps_sigma_until_the_depth_is_used_up():
    g = LinfNorm(1.0, 3)
    assert shift(g, 0.9).exact_sigma(None) == (g.exact_sigma(0.95)[0], pytest.approx(0.05))
    assert shift(g, 1.0).exact_sigma(None) is None
    assert shift(g, 7.0).exact_sigma(None) is None
    # A half-space has no depth to use up.
    half = Affine([[3.0, 4.0]], [1.0])
    sigma, epsilon = shift(half, 100.0).exact_sigma(None)
    assert (sigma, epsilon) == (pytest.approx(5.0), 1.0)


def test_relaxing_keeps_sigma_above_the_old_level():
    g = QuadraticForm([[2.0, 0.0], [0.0, 6.0]], [0.0, 0.0], 4.0)
    sigma, level = g.exact_sigma(None)
    relaxed = shift(g, -3.0)
    assert relaxed.exact_sigma(None) == (sigma, level + 3.0)
    # At -1 for the relaxed one g is 2: the sigma of g = -level is valid there.
    assert relaxed.exact_sigma(1.0) == (sigma, 1.0)
    rays = np.random.default_rng(0).normal(size=(500, 2))
    scale = np.sqrt((2.0 + 4.0) / (g.value(rays) + 4.0))
    assert (np.linalg.norm(g.subgradient(scale * rays), axis=1) >= sigma).all()


def test_a_level_below_the_depth_that_is_left_is_refused():
    with pytest.raises(ValueError, match="epsilon must be > 0 and below the depth of the shifted"):
        shift(L2Norm(1.0), 0.75).exact_sigma(0.5)
    with pytest.raises(ValueError, match=r"epsilon must be a finite number > 0, got -0\.5"):
        shift(L2Norm(1.0), -2.0).exact_sigma(-0.5)


def test_no_structure_stays_no_structure():
    g = shift(CVaR(np.eye(2), 0.5, 1.0), 0.25)
    assert g.exact_sigma(None) is None
    known = g.constants(Ball(2.0), start=[0.0, 0.0])
    assert known.start_slack == 0.75
    assert known.origins["sigma"] == "local"


def test_the_interior_point_must_have_more_slack_than_rho():
    g = L2Norm(1.0, centre=[0.5, 0.0])
    np.testing.assert_array_equal(shift(g, 0.5).interior, [0.5, 0.0])
    assert shift(g, 1.0).interior is None
    assert shift(L2Norm(1.0), 0.5).interior is None  # of what length?
    assert shift(g, 1.0).dimension == 2
    assert shift(L1Norm(1.0, 3), 1.0).dimension == 3


@pytest.mark.parametrize(
    ("constraint", "size"),
    [
        (Affine([[0.3, 0.0, 0.0], [0.0, 0.7, 0.1]], [0.9, 0.8]), None),
        (Affine(np.vstack([np.diag([0.3, 0.7, 1.1]), -np.eye(3)]), np.full(6, 0.9)), None),
        (L1Norm(0.9, 3, [0.1, 0.2, 0.3]), 0.9),
        (L2Norm(0.9, [0.1, 0.2, 0.3]), 0.9),
        (LinfNorm(0.9, 3, [0.1, 0.2, 0.3]), 0.9),
        (EllipsoidNorm(np.diag([0.3, 1.1, 7.0]), [0.1, 0.2, 0.3]), 1.0),
        (QuadraticForm(np.diag([0.3, 1.1, 7.0]), [0.1, 0.2, 0.3], 0.9), None),
        (SpectralNorm((1, 3), 0.9), 0.9),
    ],
)
def test_simple_regions_move_along_and_projections_are_feasible_exactly(constraint, size):
    rng = np.random.default_rng(1)
    for rho in (0.37, 0.11, -0.23):
        tightened = shift(constraint, rho)
        for x in rng.normal(size=(30, 3)) * 5:
            p = tightened.region.project(x)
            assert tightened.value(p) <= 0
            if tightened.value(x) > 0:
                assert tightened.value(p) > -1e-6  # on the boundary of the moved set
    if size is not None:
        assert shift(constraint, size).region is None


@pytest.mark.parametrize("rho", [math.nan, math.inf, "1", None])
def test_a_shift_that_is_no_number_is_named(rho):
    with pytest.raises(ValueError, match="rho must be a finite number"):
        shift(L2Norm(1.0), rho)


def test_what_is_no_constraint_is_named():
    with pytest.raises(ValueError, match="constraint must be a Constraint, got 3"):
        shift(3, 0.5)


def test_a_level_below_zero_is_refused_whatever_the_shift():
    with pytest.raises(ValueError, match="epsilon must be"):
        shift(LinfNorm(0.5, 2), 0.25).exact_sigma(-0.125)
