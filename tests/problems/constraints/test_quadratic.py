import math

import numpy as np
import pytest

from surefoot import sets
from surefoot.problems.constraints import EllipsoidNorm, QuadraticForm
from surefoot.sets import Ball


def tilted(eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues, and its eigenvectors."""
    d = len(eigenvalues)
    V = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return V @ np.diag(eigenvalues) @ V.T, V


def test_ellipsoid_by_hand():
    g = EllipsoidNorm([[4.0, 0.0], [0.0, 1.0]], centre=[1.0, -1.0])
    value, s = g.query(np.array([2.5, 3.0]))  # z = (1.5, 4): sqrt(9 + 16) - 1
    assert value == 4.0
    np.testing.assert_allclose(s, [6.0 / 5, 4.0 / 5])


def test_the_centre_of_an_ellipsoid_has_subgradient_zero():
    P, _ = tilted([0.5, 2.0, 9.0])
    c = np.array([0.1, 0.2, -0.3])
    value, s = EllipsoidNorm(P, c).query(c)
    assert value == -1.0
    assert not s.any()


def test_ellipsoid_constants_are_attained_along_its_axes():
    P, V = tilted([0.5, 2.0, 9.0])
    g = EllipsoidNorm(P, [1.0, 0.0, -2.0])
    G_g, (sigma, epsilon) = g.subgradient_bound(Ball(9.0)), g.exact_sigma(0.25)
    assert (G_g, sigma) == (pytest.approx(3.0), pytest.approx(math.sqrt(0.5)))
    for axis, length, expected in ((V[:, 0], math.sqrt(0.5), sigma), (V[:, 2], 3.0, G_g)):
        x = g.interior + (1 - epsilon) / length * axis
        assert g.value(x) == pytest.approx(-epsilon)
        assert np.linalg.norm(g.subgradient(x)) == pytest.approx(expected, rel=1e-12)


def test_the_region_of_an_ellipsoid_is_the_set_of_the_same_name():
    P, _ = tilted([0.5, 2.0])
    assert EllipsoidNorm(P, [1.0, 2.0]).region == sets.Ellipsoid(P, [1.0, 2.0])


def test_tiny_offsets_do_not_turn_the_square_negative():
    P, V = tilted([1e-9, 1.0, 1e3], seed=3)
    g = EllipsoidNorm(P)
    for x in np.concatenate([1e-160 * V.T, 1e-12 * V.T]):
        value, s = g.query(x)
        assert math.isfinite(value)
        assert np.isfinite(s).all()


def test_quadratic_by_hand():
    g = QuadraticForm([[2.0, 1.0], [1.0, 4.0]], [1.0, -3.0], 5.0)
    value, s = g.query(np.array([2.0, -1.0]))  # (8 - 4 + 4)/2 + 2 + 3 - 5
    assert value == 4.0
    np.testing.assert_array_equal(s, [4.0, -5.0])


def test_quadratic_sigma_is_attained_along_the_flattest_direction():
    Q, V = tilted([0.5, 2.0, 9.0], seed=1)
    q, r = np.array([1.0, -2.0, 0.5]), 3.0
    g = QuadraticForm(Q, q, r)
    bottom = -np.linalg.solve(Q, q)
    depth = r + 0.5 * q @ np.linalg.solve(Q, q)
    np.testing.assert_allclose(g.interior, bottom)
    assert -g.value(bottom) == pytest.approx(depth)
    for epsilon in (0.1, 0.5 * depth, 0.95 * depth):
        sigma, level = g.exact_sigma(epsilon)
        assert level == epsilon
        assert sigma == pytest.approx(math.sqrt(2 * 0.5 * (depth - epsilon)), rel=1e-10)
        x = bottom + math.sqrt(2 * (depth - epsilon) / 0.5) * V[:, 0]
        assert g.value(x) == pytest.approx(-epsilon)
        assert np.linalg.norm(g.subgradient(x)) == pytest.approx(sigma, rel=1e-9)


def test_quadratic_bound_is_attained_where_the_slope_is_along_the_steepest_direction():
    Q, V = tilted([0.5, 2.0, 9.0], seed=2)
    centre = np.array([0.5, 0.0, -1.0])
    g = QuadraticForm(Q, 3.0 * V[:, 2] - Q @ centre, 1.0)
    bound = g.subgradient_bound(Ball(2.0, centre))
    assert bound == pytest.approx(3.0 + 9.0 * 2.0)
    assert np.linalg.norm(g.subgradient(centre + 2.0 * V[:, 2])) == pytest.approx(bound)


def test_a_semi_definite_quadratic_has_the_local_sigma():
    g = QuadraticForm([[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0], 0.5)
    assert g.exact_sigma(None) is None
    assert g.region is None
    known = g.constants(Ball(3.0), start=[0.0, 0.0])
    assert known.origins["sigma"] == "local"
    assert known.sigma == pytest.approx(0.25 / 3)


def test_a_quadratic_above_zero_everywhere_has_no_interior_no_sigma_and_no_region():
    g = QuadraticForm([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -1.0)
    assert (g.interior, g.exact_sigma(None), g.region) == (None, None, None)


def test_a_quadratic_too_flat_to_be_an_ellipsoid_has_no_region():
    # Flat by 66 units of rounding: definite, but not by more than the set can tell.
    g = QuadraticForm([[66 * 2.0**-53, 0.0], [0.0, 1.0]], [0.0, 0.0], 1.0)
    assert g.exact_sigma(None) is not None
    assert g.region is None


def test_a_linear_function_is_a_quadratic():
    g = QuadraticForm([[0.0, 0.0], [0.0, 0.0]], [3.0, -4.0], 1.0)
    assert g.query(np.array([1.0, 1.0]))[0] == -2.0
    assert g.subgradient_bound(Ball(7.0)) == pytest.approx(5.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_region_of_a_quadratic_is_its_level_set(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    Q, _ = tilted(10.0 ** rng.uniform(-3, 3, size=d), seed)
    g = QuadraticForm(Q, rng.normal(size=d), float(rng.uniform(0.1, 5)))
    centre = g.interior
    for direction in rng.normal(size=(10, d)):
        far = centre + 1e3 * direction
        p = g.region.project(far)
        assert g.value(p) <= 0
        # On the boundary up to the rounding of g, and the way there is along the gradient.
        assert g.value(p) > -1e-12 * np.linalg.cond(Q) * (g.r - g.value(centre))
        s = g.subgradient(p)
        along = (far - p) @ s / (np.linalg.norm(far - p) * np.linalg.norm(s))
        assert along == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("Q", "q", "r", "sentence"),
    [
        (
            [[1.0, 0.0], [0.0, -0.5]],
            [0.0, 0.0],
            1.0,
            "Q must be positive semi-definite for g to be convex, got a smallest .* -0.5",
        ),
        ([[1.0, 2.0]], [0.0], 1.0, r"Q.shape must be that of a square matrix, got \(1, 2\)"),
        (
            [[1.0, 2.0], [0.0, 1.0]],
            [0.0, 0.0],
            1.0,
            r"Q must be symmetric, got 2 at \(0, 1\) and 0 at \(1, 0\)",
        ),
        ([[1.0, math.nan], [0.0, 1.0]], [0.0, 0.0], 1.0, "Q must be finite, got nan"),
        (np.empty((0, 0)), [], 1.0, "Q.shape must be that of a matrix that is not empty"),
        (np.eye(2), [1.0], 1.0, r"q.shape must be \(2,\), got \(1,\)"),
        (np.eye(2), [1.0, math.inf], 1.0, "q must be finite, got inf"),
        (np.eye(2), [1.0, 0.0], math.nan, "r must be a finite number, got nan"),
        (np.zeros((2, 2)), [0.0, 0.0], 1.0, "Q or q must have an entry that is not 0"),
    ],
)
def test_a_bad_quadratic_is_named(Q, q, r, sentence):
    with pytest.raises(ValueError, match=sentence):
        QuadraticForm(Q, q, r)


@pytest.mark.parametrize(
    ("P", "centre", "sentence"),
    [
        ([[1.0, 0.0], [0.0, -2.0]], None, "P must be positive definite, got .* -2"),
        ([[1.0, 0.0], [0.0, 0.0]], None, "P must be positive definite"),
        ([[1.0, 3.0], [0.0, 1.0]], None, "P must be symmetric"),
        (np.eye(2), [1.0], r"centre.shape must be \(2,\)"),
        (np.eye(2), [1.0, math.nan], "centre must be finite"),
    ],
)
def test_a_bad_ellipsoid_is_named(P, centre, sentence):
    with pytest.raises(ValueError, match=sentence):
        EllipsoidNorm(P, centre)


def test_the_last_digits_of_symmetry_are_forgiven():
    Q = np.array([[1.0, 0.3], [0.3 + 1e-15, 2.0]])
    g = QuadraticForm(Q, [0.0, 0.0], 1.0)
    np.testing.assert_array_equal(g.Q, g.Q.T)
