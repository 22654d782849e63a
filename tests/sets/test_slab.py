import numpy as np
import pytest

from surefoot.sets import Halfspace, Slab

from .laws import BackendLaws, Case, Laws, U, agree_with_clarabel


def case(dimension, scale, length, rng, lower=-0.3, upper=0.7):
    a = rng.normal(size=dimension)
    a *= length / np.linalg.norm(a)
    region = Slab(a, lower * length * scale, upper * length * scale)
    # The margin is (4d + 16) u of at most twice the part across and the limits.
    return Case(region, dimension, max(abs(lower), abs(upper)) * scale, 16 * (dimension + 8))


def one_entry(rng):
    return case(1, 1.0, 2.0, rng)


def small(rng):
    return case(3, 1.0, 1.0, rng)


def large(rng):
    return case(100, 1.0, 1e-3, rng)


def tiny(rng):
    return case(7, 1e-100, 1e20, rng)


def huge(rng):
    return case(7, 1e100, 1e-50, rng)


def beside_the_origin(rng):
    return case(4, 1.0, 1.0, rng, 99.0, 99.5)


def thin(rng):
    return case(4, 1.0, 1.0, rng, 0.5, 0.5 + 1e-9)


FAMILIES = [one_entry, small, large, tiny, huge, beside_the_origin, thin]
TYPICAL = [small]


class TestLaws(Laws):
    bounded = False


class TestBackends(BackendLaws):
    bounded = False


@pytest.mark.slow
def test_clarabel_finds_the_same_projections():
    cp = pytest.importorskip("cvxpy")
    d, rng = 5, np.random.default_rng(0)
    p, x, a = cp.Variable(d), cp.Parameter(d), cp.Parameter(d)
    lower, upper = cp.Parameter(), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [a @ p >= lower, a @ p <= upper])

    def draw():
        a.value, x.value = rng.normal(size=d), 3 * rng.normal(size=d)
        lower.value, upper.value = np.sort(rng.normal(size=2))
        return x.value, Slab(a.value, lower.value, upper.value).project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-10)


def test_a_point_above_meets_the_upper_side_and_one_below_the_lower():
    a = np.array([1.0, -2.0, 0.5])
    x = np.array([4.0, -1.0, 2.0])
    slab = Slab(a, -1.5, 0.25)
    assert slab.project(x) == pytest.approx(Halfspace(a, 0.25).project(x), abs=64 * U)
    assert slab.project(-x) == pytest.approx(Halfspace(-a, 1.5).project(-x), abs=64 * U)


@pytest.mark.parametrize("away", [1e3, 1e12, 1e40, 1e100])
def test_a_point_far_away_across_the_slab_still_lands_in_it(away):
    # A single subtraction would leave a rounding error of the size of x along the normal.
    a = np.array([1.0, 3.0, -0.7])
    slab = Slab(a, 0.25, 0.5)
    p = slab.project(away * a)
    assert slab.contains(p) is True
    assert abs(a @ p - 0.5) <= 64 * U * (1 + np.linalg.norm(p))
    assert np.linalg.norm(p - 0.5 * a / (a @ a)) <= 64 * U * away * np.linalg.norm(a)


@pytest.mark.parametrize("power", [-300, 3, 300])
def test_scaling_by_a_power_of_two_scales_the_result_exactly(power):
    x, scale = np.random.default_rng(1).normal(size=(20, 3)), 2.0**power
    a = [1.0, 3.0, -0.7]
    scaled = Slab(a, scale * 0.25, scale * 0.5).project(scale * x)
    assert np.array_equal(scaled, scale * Slab(a, 0.25, 0.5).project(x))


def test_where_the_slab_is_thinner_than_rounding_there_is_no_projection():
    slab = Slab([1.0, 1.0], 0.0, 1.0)
    x = np.array([[3.0, 4.0], [1e20, -2e20], [0.5, 0.25]])
    with pytest.raises(ValueError, match=r"upper - lower must be above .*, got 1\.0e\+00"):
        slab.project(x[1])
    p = slab.project(x)
    assert np.isnan(p[1]).all()
    assert slab.contains(p[[0, 2]]).all()


def test_both_sides_belong_to_the_slab():
    slab = Slab([2.0], -1.0, 3.0)
    inside = slab.contains(np.array([[-0.5], [1.5], [-0.5 - U], [1.5 + 2 * U]]))
    assert inside[:, 0].tolist() == [True, True, False, False]
    assert slab.diameter == 2.0
    assert Slab([2.0, 0.0], -1.0, 3.0).diameter == float("inf")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0.0, 0.0], 0.0, 1.0), "normal must not be zero, got the zero vector"),
        (([1.0, float("nan")], 0.0, 1.0), "normal must be finite, got nan at index 1"),
        (([1.0], float("-inf"), 1.0), "lower must be a finite number, got -inf"),
        (
            ([1.0], 2.0, 1.0),
            "upper must be above lower = 2, got 1: "
            "a hyperplane is better parametrised than projected onto",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError) as error:
        Slab(*arguments)
    assert str(error.value) == sentence
