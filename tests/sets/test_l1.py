import numpy as np
import pytest

from surefoot.sets import L1Ball, Simplex

from .laws import BackendLaws, Case, Laws, U, agree_with_clarabel, sizes


def case(dimension, radius, centre=None):
    # As the simplex, with the rounding of the centre on top.
    factor = 8 * dimension**0.5 * (dimension + 4)
    return Case(
        L1Ball(radius, centre), dimension, radius, factor, 0.0 if centre is None else centre
    )


def shifted(rng):
    return case(3, 0.7, rng.normal(size=3))


def far(rng):
    # Six digits are left for the ball itself.
    return case(5, 1e-10, rng.normal(size=5))


def lost(rng):
    # The centre's own rounding is larger than the ball.
    return case(5, 1e-18, rng.normal(size=5))


SIZES = sizes(case)
FAMILIES = [*SIZES, shifted, far, lost]
TYPICAL = [SIZES[1], shifted]


TestLaws, TestBackends = Laws, BackendLaws


@pytest.mark.slow
def test_clarabel_finds_the_same_projections():
    cp = pytest.importorskip("cvxpy")
    d, rng = 6, np.random.default_rng(0)
    p, x, centre, radius = cp.Variable(d), cp.Parameter(d), cp.Parameter(d), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [cp.norm1(p - centre) <= radius])

    def draw():
        radius.value = rng.uniform(0.2, 3.0)
        centre.value = rng.normal(size=d)
        x.value = 2 * rng.normal(size=d)
        return x.value, L1Ball(radius.value, centre.value).project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-10)


def test_each_sign_is_kept_and_each_size_is_that_of_the_simplex():
    x = np.random.default_rng(2).normal(size=(30, 5))
    p = L1Ball(0.8).project(x)
    assert (p * x >= 0).all()
    assert abs(p) == pytest.approx(Simplex(5, 0.8, filled=True).project(abs(x)), abs=64 * U)


def test_entries_that_tie_shrink_together_and_small_ones_vanish():
    assert L1Ball(2.0).project(np.array([1.5, -1.5, 0.25, 0.0])) == pytest.approx(
        [1.0, -1.0, 0.0, 0.0], abs=64 * U
    )


@pytest.mark.parametrize("power", [-330, -1, 5, 330])
def test_scaling_by_a_power_of_two_scales_the_result_exactly(power):
    rng = np.random.default_rng(1)
    x, centre, scale = rng.normal(size=(20, 5)), rng.normal(size=5), 2.0**power
    scaled = L1Ball(scale, scale * centre).project(scale * x)
    assert np.array_equal(scaled, scale * L1Ball(1.0, centre).project(x))


def test_the_edge_belongs_to_the_ball():
    ball = L1Ball(1.0)
    assert ball.contains(np.array([0.25, -0.75]))
    assert not ball.contains(np.array([0.25, -0.75 - 2 * U]))


def test_the_linear_minimum_is_the_first_of_equal_corners_and_the_centre_of_nothing():
    c = np.array([[1.0, -2.0, 2.0], [0.5, 0.0, -0.25], [0.0, 0.0, 0.0]])
    assert L1Ball(3.0).minimize_linear(c).tolist() == [[0, 3, 0], [-3, 0, 0], [0, 0, 0]]
    shifted = L1Ball(3.0, [1.0, 2.0, 3.0])
    assert shifted.minimize_linear(c[1]) == pytest.approx([-2.0, 2.0, 3.0], abs=128 * U)
    assert shifted.minimize_linear(c[2]).tolist() == [1.0, 2.0, 3.0]


def test_radii_may_differ_from_run_to_run():
    p = L1Ball(np.array([[1.0], [2.0]])).project(np.array([[3.0, -1.0], [3.0, -2.5]]))
    assert p == pytest.approx(np.array([[1.0, 0.0], [1.25, -0.75]]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0.0,), "radius must be a finite number > 0, got 0.0"),
        ((float("inf"),), "radius must be a finite number > 0, got inf"),
        ((1.0, [0.0, float("nan")]), "centre must be finite, got nan at index 1"),
        ((1.0, [[0.0]]), "centre.shape must be that of a vector that is not empty, got (1, 1)"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError) as error:
        L1Ball(*arguments)
    assert str(error.value) == sentence
