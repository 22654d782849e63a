"""Constraints from SciPy: affine rows with their constants, and functions with those given."""

import numpy as np
import pytest

from surefoot import Ball
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import Affine
from surefoot.testing import check_constraint

optimize = pytest.importorskip("scipy.optimize")
pytestmark = pytest.mark.hosts

from surefoot.adapters.scipy import from_scipy  # noqa: E402

Bounds, Linear, Nonlinear = (
    optimize.Bounds,
    optimize.LinearConstraint,
    optimize.NonlinearConstraint,
)
DISC = Nonlinear(lambda x: x @ x, -np.inf, 1.0, jac=lambda x: 2 * x)


def test_bounds_and_linear_constraints_are_rows_where_limits_are_finite():
    g = from_scipy(Bounds([-1.0, -np.inf], [np.inf, 2.0]))
    assert isinstance(g, Affine)
    np.testing.assert_array_equal(g.query_all(np.array([0.5, 0.5]))[0], [-1.5, -1.5])
    rows = Linear([[1.0, 1.0], [1.0, -1.0]], [-np.inf, -0.5], [1.0, 0.5])
    g = from_scipy(Bounds(0.0, [1.0, 1.0]), rows)
    np.testing.assert_allclose(
        g.query_all(np.array([0.25, 0.5]))[0], [-0.75, -0.5, -0.25, -0.5, -0.25, -0.75, -0.25]
    )
    assert g.subgradient_bound(Ball(1.0)) == pytest.approx(2**0.5)
    check_constraint(g, np.random.default_rng(0).normal(size=(9, 2)))


def test_sparse_rows_stay_sparse():
    from scipy.sparse import csr_array

    g = from_scipy(Linear(csr_array([[1.0, 0.0, 2.0]]), -1.0, 1.0))
    assert isinstance(g, Affine)
    np.testing.assert_array_equal(g.query_all(np.array([1.0, 5.0, 1.0]))[0], [2.0, -4.0])


def test_a_function_has_value_and_slope_once_per_action_and_the_constants_given():
    calls = []

    def fun(x):
        calls.append(1)
        return np.array([x @ x, -(x[0] ** 2)])

    def jac(x):
        return np.array([2 * x, [-2 * x[0], 0.0]])

    both = Nonlinear(fun, [-np.inf, -0.5], [1.0, np.inf], jac=jac)
    g = from_scipy(both, bound=2.0, beta=2.0)
    x = np.array([0.5, 1.0])
    values, slopes = g.query_all(x)
    np.testing.assert_allclose(values, [0.25, -0.25])
    np.testing.assert_allclose(slopes, [[1.0, 2.0], [1.0, 0.0]])
    assert len(calls) == 1
    assert g.subgradient_bound(Ball(1.0)) == 2.0
    np.testing.assert_array_equal(g.row_curvatures(), [2.0, 2.0])


def test_a_function_passes_the_check_of_constraints():
    g = from_scipy(DISC, bound=2.0)
    points = np.random.default_rng(0).uniform(-0.7, 0.7, size=(9, 2))
    check_constraint(g, points, domain=Ball(1.0), batch=False)


def test_an_action_that_is_written_over_is_evaluated_anew():
    g, x = from_scipy(DISC), np.array([0.5, 0.0])
    g.query(x)[1][:] = 9.0
    assert g.value(x) == -0.75
    x[:] = 1.0
    assert g.value(x) == 1.0
    assert g.subgradient(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (Bounds([0.0, 1.0], [1.0, 1.0]), "lb must be below ub, .* got 1 and 1 in row 1"),
        (Linear([[1.0]], 2.0, 1.0), "lb must be below ub"),
        (Nonlinear(lambda x: x @ x, -np.inf, 1.0), "jac must be a function"),
        (Bounds(-np.inf, np.inf), "must have a finite limit"),
        ({"type": "ineq"}, "must be Bounds, LinearConstraint or NonlinearConstraint"),
    ],
)
def test_mistakes_are_one_sentence_each(constraint, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        from_scipy(constraint)


def test_limits_for_fewer_functions_than_there_are_are_refused():
    g = from_scipy(Nonlinear(lambda x: x, -np.inf, 1.0, jac=lambda x: np.eye(2)))
    with pytest.raises(InvalidValueError, match="one entry per function, got 1 for 2"):
        g.value(np.zeros(2))
