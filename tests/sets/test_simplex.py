import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot.sets import Simplex

from .laws import BackendLaws, Case, Laws, U, agree_with_clarabel, sizes


def case(dimension, total=1.0, filled=False):
    # The threshold is a mean of sums of up to d numbers of at most the total, for d entries.
    region = Simplex(dimension, total, filled)
    return Case(region, dimension, total, 8 * dimension**0.5 * (dimension + 4))


EQUAL, FILLED = sizes(case), sizes(case, filled=True)
FAMILIES = [*EQUAL, *FILLED]
TYPICAL = [EQUAL[1], FILLED[1]]


TestLaws, TestBackends = Laws, BackendLaws


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.slow
def test_clarabel_finds_the_same_projections(filled):
    cp = pytest.importorskip("cvxpy")
    d, rng = 6, np.random.default_rng(0)
    p, x, total = cp.Variable(d), cp.Parameter(d), cp.Parameter()
    sums = cp.sum(p) <= total if filled else cp.sum(p) == total
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [p >= 0, sums])

    def draw():
        total.value = rng.uniform(0.2, 3.0)
        x.value = 2 * rng.normal(size=d)
        return x.value, Simplex(d, total.value, filled).project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-10)


# Quarters: many ties, and sums without rounding.
quarters = st.lists(st.integers(-12, 12), min_size=1, max_size=9)


@given(quarters, st.integers(1, 12))
def test_the_projection_is_what_its_conditions_say(entries, total):
    # p is the projection exactly if x - p is one number tau where p > 0 and at most tau elsewhere.
    x, total = np.array(entries) / 4, total / 4
    p = Simplex(len(x), total).project(x)
    tau = (x - p)[p > 0]
    assert np.ptp(tau) <= 16 * U * 3
    assert ((x - p)[p == 0] <= tau.max() + 16 * U * 3).all()
    assert p.sum() == pytest.approx(total, rel=len(x) * 4 * U)


@given(quarters)
def test_entries_that_tie_are_treated_alike_and_order_is_kept(entries):
    x = np.array(entries) / 4
    p = Simplex(len(x)).project(x)
    for i in range(len(x)):
        assert (p[i] <= p[x >= x[i]]).all()


@pytest.mark.parametrize("power", [-330, -1, 5, 330])
@pytest.mark.parametrize("filled", [False, True])
def test_scaling_by_a_power_of_two_scales_the_result_exactly(power, filled):
    x = np.random.default_rng(1).normal(size=(20, 5)) + 0.2
    scale = 2.0**power
    scaled = Simplex(5, scale, filled).project(scale * x)
    assert np.array_equal(scaled, scale * Simplex(5, 1.0, filled).project(x))


@pytest.mark.parametrize("away", [1e3, 1e18, 1e100, -1e100])
def test_the_projection_of_a_point_far_along_the_diagonal_keeps_its_digits(away):
    # Adding the same to all entries changes nothing; 8 digits of 1e3 are lost in x itself.
    x = np.array([0.5, 0.25, -0.75]) + away
    p = Simplex(3).project(x)
    near = [0.625, 0.375, 0.0] if away == 1e3 else [1 / 3] * 3
    assert p == pytest.approx(near, abs=4 * U * 1e3 if away == 1e3 else 4 * U)


def test_the_filled_simplex_only_clips_where_the_sum_allows():
    p = Simplex(3, filled=True).project(np.array([[0.5, -3.0, 0.25], [0.75, 0.5, -1.0]]))
    assert p[0].tolist() == [0.5, 0.0, 0.25]
    assert p[1] == pytest.approx([0.625, 0.375, 0.0], abs=16 * U)


def test_the_sum_may_be_off_by_rounding_and_no_more():
    third = np.full(3, 1 / 3)
    assert Simplex(3).contains(third)
    assert not Simplex(3).contains(third + 10 * U)
    assert not Simplex(3).contains(third - 10 * U)
    assert not Simplex(3).contains(np.array([1.0 + U, -U, 0.0]))
    assert Simplex(2, filled=True).contains(np.array([0.5, 0.5]))
    assert not Simplex(2, filled=True).contains(np.array([0.5, 0.5 + 2 * U]))


def test_the_linear_minimum_is_the_first_of_equal_corners():
    c = np.array([[2.0, -1.0, -1.0], [3.0, 0.5, 1.0], [0.0, 0.0, 4.0]])
    assert Simplex(3, 2.0).minimize_linear(c).tolist() == [[0, 2, 0], [0, 2, 0], [2, 0, 0]]
    assert Simplex(3, 2.0, filled=True).minimize_linear(c).tolist() == [[0, 2, 0], [0] * 3, [0] * 3]


def test_totals_may_differ_from_run_to_run():
    x = np.array([[3.0, 1.0], [3.0, 2.5]])
    p = Simplex(2, np.array([[1.0], [2.0]])).project(x)
    assert p == pytest.approx(np.array([[1.0, 0.0], [1.25, 0.75]]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dimension": 0}, "dimension must be a whole number >= 1, got 0"),
        ({"dimension": 2.5}, "dimension must be a whole number >= 1, got 2.5"),
        ({"dimension": 2, "total": 0.0}, "total must be a finite number > 0, got 0.0"),
        ({"dimension": 2, "total": float("nan")}, "total must be a finite number > 0, got nan"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError) as error:
        Simplex(**arguments)
    assert str(error.value) == sentence
