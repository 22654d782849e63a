"""Constraints from CVXPY: recognised, with the values and subgradients that CVXPY has."""

import pickle

import numpy as np
import pytest

from surefoot import Ball, LeaderFollower, Problem, play
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import MaxOf
from surefoot.problems.costs import Quadratic
from surefoot.testing import check_constraint

cp = pytest.importorskip("cvxpy")
pytestmark = pytest.mark.hosts

from surefoot.adapters.cvxpy import SlowConstraintWarning, from_cvxpy  # noqa: E402

N = 3
random = np.random.default_rng(0)
A, B = random.normal(size=(4, N)), random.normal(size=4)
C = random.normal(size=N)
X, M = cp.Variable(N, name="x"), cp.Variable((2, 3), name="m")
LIMIT = cp.Parameter(value=2.5)
P = A.T @ A + np.eye(N)

RECOGNISED = [
    ("affine", A @ X + B <= 3, "Affine"),
    ("bounds", X >= -1, "Affine"),
    ("parameter", C @ X <= LIMIT, "Affine"),
    ("quadratic form", cp.quad_form(X, P) + C @ X <= 4, "QuadraticForm"),
    ("sum of squares", cp.sum_squares(A @ X + B) <= 30, "QuadraticForm"),
    ("square and linear", cp.square(X[0]) + X[1] <= 1, "QuadraticForm"),
    ("ball", cp.norm(X - C) <= 2, "L2Norm"),
    ("norm", 2 * cp.norm(A @ X + B) + C @ X <= 30, "SecondOrderCone"),
    ("cone", cp.SOC(C @ X + 9, A @ X), "SecondOrderCone"),
    ("cross-polytope", cp.norm1(X - C) <= 2, "L1Norm"),
    ("weighted 1-norm", cp.norm1(A @ X + B) / 2 + X[0] <= 9, "Affine"),
    ("sum of absolute values", cp.sum(cp.abs(A @ X)) <= 9, "Affine"),
    ("cube", cp.norm_inf(X) <= 2, "LinfNorm"),
    ("largest absolute value", 3 * cp.norm_inf(A @ X + B) <= X[1] + 20, "Affine"),
    ("absolute values", cp.abs(A @ X + B) <= np.array([7.0, 8.0, 9.0, 9.0]), "Affine"),
    ("maximum of entries", cp.max(A @ X) <= 4, "Affine"),
    ("maximum", cp.maximum(X[0], C @ X - 1) <= 2, "Affine"),
    ("maximum with a norm", cp.maximum(X[0], cp.norm(X)) <= 2, "MaxOf"),
    ("sum of the largest", cp.sum_largest(A @ X, 2) <= 5, "CVaR"),
    ("singular value", cp.sigma_max(M) <= 2, "SpectralNorm"),
    ("nuclear norm", cp.normNuc(M) <= 2, "NuclearNorm"),
    ("matrix rows", cp.sum(M, axis=1) <= np.array([1.0, 2.0]), "Affine"),
]


def excess(constraint, variable, x):
    """Left minus right, by CVXPY."""
    variable.value = x.reshape(variable.shape)
    if isinstance(constraint, cp.constraints.SOC):
        t, inner = constraint.args
        return float(np.linalg.norm(inner.value) - np.max(t.value))
    return float(np.max(constraint.args[0].value - constraint.args[1].value))


@pytest.mark.parametrize(
    ("constraint", "kind"), [r[1:] for r in RECOGNISED], ids=[r[0] for r in RECOGNISED]
)
def test_it_is_recognised_with_the_same_values_and_true_subgradients(constraint, kind):
    (variable,) = constraint.variables()
    g = from_cvxpy([constraint])
    assert type(g).__name__ == kind
    draws = np.random.default_rng(1)
    points = draws.normal(size=(12, variable.size))
    for x in points:
        value, slope = g.query(x)
        assert value == pytest.approx(excess(constraint, variable, x), abs=1e-9)
        for y in points:
            assert g.value(y) >= value + slope @ (y - x) - 1e-9
    assert g.subgradient_bound(Ball(3.0, np.zeros(variable.size))) is not None
    check_constraint(g, points)


def test_several_become_one_and_play_without_a_violation():
    g = from_cvxpy([cp.norm(X) <= 1, X >= -0.5, cp.quad_form(X, np.eye(N)) <= 0.8])
    assert isinstance(g, MaxOf)
    assert [type(part).__name__ for part in g.parts] == ["Affine", "L2Norm", "QuadraticForm"]
    pull = np.random.default_rng(2).normal(1.0, 1.0, size=(200, N))
    problem = Problem.of(Quadratic(pull, 2.0), g, Ball(1.0), np.zeros(N))
    trace = play(LeaderFollower.default(problem.constants), problem)
    assert int(trace.violations.count) == 0


def test_several_variables_are_one_action_in_the_given_order():
    y = cp.Variable(2)
    limits = [C @ X + y[0] <= 1, y <= 2]
    with pytest.raises(InvalidValueError, match="variables must give the order"):
        from_cvxpy(limits)
    g = from_cvxpy(limits, [y, X])
    z = np.array([0.5, 3.0, 0.1, 0.2, 0.3])
    values, slopes = g.query_all(z)
    np.testing.assert_allclose(values, [C @ z[2:] + 0.5 - 1, -1.5, 1.0])
    np.testing.assert_allclose(slopes[0], [1.0, 0.0, *C])


def test_what_has_no_counterpart_is_evaluated_by_cvxpy_and_says_its_price():
    limit = cp.log_sum_exp(A @ X) <= 4
    with pytest.warns(
        SlowConstraintWarning, match="milliseconds per call, and no G_g: give a bound"
    ):
        g = from_cvxpy([limit])
    x = np.array([0.3, -0.2, 0.1])
    assert g.value(x) == pytest.approx(excess(limit, X, x))
    check_constraint(g, np.random.default_rng(3).normal(size=(4, N)), batch=False)
    with pytest.warns(SlowConstraintWarning, match=r"milliseconds per call$"):
        assert from_cvxpy([limit], bound=9.0).subgradient_bound(Ball(1.0)) == 9.0


def test_hubers_function_is_no_quadratic_though_quadratic_programs_have_it():
    limit = cp.sum(cp.huber(X, 0.5)) <= 2
    with pytest.warns(SlowConstraintWarning):
        g = from_cvxpy([limit])
    for x in np.random.default_rng(4).normal(size=(5, N)):
        assert g.value(x) == pytest.approx(excess(limit, X, x))


def test_entries_of_vectors_are_functions_of_their_own():
    for limit, kind in (
        (cp.maximum(X, 2 * X - 1) <= C, "Affine"),
        (cp.square(X) + X <= 2, "MaxOf"),
        (3 * cp.maximum(cp.norm(X - 1), cp.max(X)) + X[1] <= 9, "MaxOf"),
    ):
        g = from_cvxpy([limit])
        assert type(g).__name__ == kind
        for x in np.random.default_rng(5).normal(size=(5, N)):
            assert g.value(x) == pytest.approx(excess(limit, X, x))


def test_the_variables_keep_their_values():
    X.value = np.array([1.0, 2.0, 3.0])
    with pytest.warns(SlowConstraintWarning):
        from_cvxpy([cp.log_sum_exp(X) <= 4]).value(np.zeros(N))
    from_cvxpy([cp.norm(A @ X) <= 4])
    np.testing.assert_array_equal(X.value, [1.0, 2.0, 3.0])
    X.value = None


def test_what_was_recognised_needs_no_cvxpy_any_more():
    g = pickle.loads(pickle.dumps(from_cvxpy([cp.norm(A @ X) <= 4, X <= 1])))
    assert g.value(np.zeros(N)) == -1.0


def test_what_a_variable_says_of_itself_is_a_constraint_too():
    y = cp.Variable((1, 2), nonneg=True)
    np.testing.assert_allclose(
        from_cvxpy([cp.sum(y) <= 3]).query_all(np.array([1.0, -2.0]))[0], [-4.0, -1.0, 2.0]
    )
    z = cp.Variable(2, bounds=[[0.0, -np.inf], 2.0])
    np.testing.assert_allclose(
        from_cvxpy([cp.sum(z) <= 3]).query_all(np.array([1.0, 5.0]))[0], [3.0, -1.0, -1.0, 3.0]
    )
    with pytest.raises(InvalidValueError, match="no attributes but signs and bounds, got integer"):
        from_cvxpy([cp.Variable(2, integer=True) <= 1])


def test_a_point_where_cvxpy_has_no_gradient_is_refused():
    with pytest.warns(SlowConstraintWarning):
        g = from_cvxpy([-cp.sum(cp.log(X)) <= 4])
    assert g.value(np.ones(N)) == -4.0
    with pytest.raises(InvalidValueError, match="must have a gradient at"):
        g.value(-np.ones(N))


@pytest.mark.parametrize(
    ("constraints", "sentence"),
    [
        ([X == 1], "must have an interior"),
        (X <= 1, "constraints must be a list of CVXPY's constraints, got"),
        (cp.Problem(cp.Minimize(0), [X <= 1]), "constraints must be a list of CVXPY's constraints"),
        ([cp.norm(X) >= 1], "must be convex by CVXPY's rules"),
        ([cp.Variable((2, 2), PSD=True) >> 0], "inequalities or second-order cones"),
        ([cp.Parameter() * X[0] <= 1], "must have values, got None"),
        ([X[0] - X[0] + 1 <= 0], "must be possible"),
        ([0 * X[0] <= 1], "must depend on the variables"),
        ([], "those of the constraints"),
    ],
)
def test_mistakes_are_one_sentence_each(constraints, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        from_cvxpy(constraints)
