import math

import numpy as np
import pytest
from scipy.optimize import minimize

from surefoot.problems.constraints import SecondOrderCone
from surefoot.sets import Ball


def test_value_and_subgradient_by_hand():
    g = SecondOrderCone([[1.0, 0.0], [0.0, 2.0]], [0.0, 1.0], [0.5, -1.0], 2.0)
    value, s = g.query(np.array([3.0, 1.5]))  # |(3, 4)| - 1.5 + 1.5 - 2
    assert value == 3.0
    np.testing.assert_allclose(s, [0.6 - 0.5, 1.6 + 1.0])


def test_at_the_apex_the_norm_has_no_share_in_the_subgradient():
    g = SecondOrderCone([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [-2.0, 3.0], [0.1, 0.2, 0.3])
    value, s = g.query(np.array([1.0, -3.0, 5.0]))
    assert value == pytest.approx(-1.0)
    np.testing.assert_array_equal(s, [-0.1, -0.2, -0.3])


def test_the_ice_cream_cone_has_sigma_one_at_any_level():
    g = SecondOrderCone(np.eye(4)[:3], c=[0.0, 0.0, 0.0, 1.0])
    for epsilon in (0.01, 1.0, 50.0):
        sigma, level = g.exact_sigma(epsilon)
        assert level == epsilon
        assert sigma == pytest.approx(1.0, rel=1e-12)
        assert sigma <= 1.0
    # Attained on the axis, where the norm's share may be 0.
    assert np.linalg.norm(g.subgradient(np.array([0.0, 0, 0, 2.0]))) == 1.0
    assert g.value(g.interior) < 0


@pytest.mark.parametrize("seed", range(30))
def test_sigma_is_the_distance_of_c_from_the_image_of_the_ball(seed):
    rng = np.random.default_rng(seed)
    k, n = rng.integers(1, 5, size=2)
    A, c = rng.normal(size=(k, n)), 2.0 * rng.normal(size=n)
    # The distance by another way: |A'u - c| over the unit ball, by a general solver.
    worst = minimize(
        lambda u: ((A.T @ u - c) ** 2).sum(),
        np.zeros(k),
        constraints={"type": "ineq", "fun": lambda u: 1 - u @ u},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    distance = math.sqrt(worst.fun)
    exact = SecondOrderCone(A, c=c).exact_sigma(None)
    if distance > 1e-4:
        assert exact[0] == pytest.approx(distance, rel=1e-5)
    else:
        assert exact is None or exact[0] < 2e-4


def test_a_cone_that_closes_is_left_to_the_local_form():
    g = SecondOrderCone([[2.0, 0.0], [0.0, 1.0]], [1.0, 0.0], [0.5, 0.0], 3.0)
    assert g.exact_sigma(None) is None
    known = g.constants(Ball(5.0), start=[0.0, 0.0])
    assert known.start_slack == 2.0
    assert known.origins["sigma"] == "local"


def test_the_bound_is_attained_where_c_is_against_the_steepest_row():
    g = SecondOrderCone([[3.0, 0.0], [0.0, 1.0]], c=[-2.0, 0.0])
    assert g.subgradient_bound(Ball(1.0)) == pytest.approx(5.0)
    assert np.linalg.norm(g.subgradient(np.array([1.0, 0.0]))) == 5.0


@pytest.mark.parametrize(
    ("A", "b", "c", "d", "slack"),
    [
        (np.eye(2), [0.5, 0.0], [0.0, 0.0], 1.0, 0.5),  # 0 is inside
        (np.eye(2), [-3.0, 4.0], [0.0, 0.0], 1.0, 1.0),  # the apex is
        ([[0.0, 1.0]], [2.0], [1.0, 0.0], -7.0, 1.0),  # far down the axis
    ],
)
def test_an_interior_point_is_found_where_there_is_one(A, b, c, d, slack):
    g = SecondOrderCone(A, b, c, d)
    assert g.value(g.interior) <= -slack + 1e-9


def test_a_cone_that_misses_everything_has_no_interior_point():
    assert SecondOrderCone(np.eye(2), d=-1.0).interior is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1.0, math.nan]],), "A must be finite, got nan"),
        (([1.0, 2.0],), "A.shape must be that of a matrix"),
        ((np.eye(2), [1.0]), r"b.shape must be \(2,\), got \(1,\)"),
        ((np.ones((2, 3)), [1.0, 2.0], [1.0]), r"c.shape must be \(3,\), got \(1,\)"),
        ((np.eye(2), None, None, math.inf), "d must be a finite number, got inf"),
        ((np.zeros((2, 2)),), "A or c must have an entry that is not 0"),
    ],
)
def test_bad_input_is_named(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        SecondOrderCone(*arguments)
