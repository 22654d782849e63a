"""The curvature that each constraint states for itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.problems import Problem, constraints
from surefoot.problems.costs import Linear
from surefoot.sets import Ball

D = 3


def smooth(rng):
    F, q = rng.normal(size=(D, D)), rng.normal(size=D)
    away = Ball(0.4, 3 * rng.normal(size=D))
    yield "quadratic", constraints.QuadraticForm(F @ F.T, q, 1.0), away
    yield "flat quadratic", constraints.QuadraticForm(np.outer(q, q), q, 1.0), away
    yield "norm", constraints.L2Norm(1.0, away.centre + 0.3), away
    yield (
        "ellipsoid",
        constraints.EllipsoidNorm(F @ F.T + np.eye(D), away.centre + 9 * np.ones(D)),
        away,
    )
    yield "cone", constraints.SecondOrderCone(F, 9 - F @ away.centre, q), away
    yield (
        "rounded cone",
        constraints.SecondOrderCone(np.vstack([F, np.zeros(D)]), [0, 0, 0, 0.3], q),
        away,
    )
    yield "row", constraints.Affine([q], [0.5]), away


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_quadratic_with_the_curvature_is_above_g(seed):
    rng = np.random.default_rng(seed)
    for name, g, ball in smooth(rng):
        beta = g.curvature(ball)
        assert beta is not None, name
        x, y = (ball.project(ball.centre + 0.4 * rng.normal(size=D)) for _ in range(2))
        value, s = g.query(x)
        z = y - x
        above = value + s @ z + 0.5 * beta * (z @ z)
        assert g.value(y) <= above + 4 * g.evaluation_error(ball), name


def test_the_curvature_is_attained_along_the_steepest_direction():
    g = constraints.QuadraticForm(np.diag([2.0, 6.0]), [1.0, 0.0], 4.0)
    assert g.curvature() == pytest.approx(6.0, rel=1e-13)
    assert g.curvature() >= 6.0
    # Across the ray from the centre the norm bends by 1/|x - c|: 0.5 at the ball's near side.
    assert constraints.L2Norm(1.0).curvature(Ball(1.0, [3.0, 0.0])) == pytest.approx(0.5, rel=1e-12)
    assert constraints.EllipsoidNorm(np.eye(2) * 4).curvature(
        Ball(1.0, [3.0, 0.0])
    ) == pytest.approx(1.0, rel=1e-9)
    # sqrt(|2x|^2 + 0.5^2) bends by 4/0.5 at 0.
    rounded = constraints.SecondOrderCone([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [0.0, 0.0, 0.5])
    assert rounded.curvature() == pytest.approx(8.0, rel=1e-9)
    assert rounded.curvature() >= 8.0


def test_a_kink_has_no_curvature():
    ball = Ball(1.0, np.zeros(2))
    kinks = [
        constraints.Affine(np.eye(2), [1.0, 1.0]),
        constraints.L1Norm(1.0, 2),
        constraints.L2Norm(1.0),
        constraints.LinfNorm(1.0, 2),
        constraints.EllipsoidNorm(np.eye(2)),
        constraints.SecondOrderCone(np.eye(2)),
        constraints.CVaR([[1.0, 0.0], [0.0, 1.0]], 0.5, 1.0),
        constraints.SpectralNorm((1, 2), 1.0),
        constraints.NuclearNorm((1, 2), 1.0),
        constraints.max_of(
            constraints.QuadraticForm(np.eye(2), [0.0, 0.0], 1.0),
            constraints.Affine([[1.0, 0.0]], [0.5]),
        ),
        constraints.FunctionConstraint(lambda x: 0.0, np.zeros_like),
    ]
    for g in kinks:
        assert g.curvature() is None
        assert g.curvature(ball) is None
    for g in (constraints.L2Norm(1.0), constraints.EllipsoidNorm(np.eye(2))):
        # Everywhere, and on a ball that touches the kink.
        assert g.curvature(Ball(1.0, [1.0, 0.0])) is None
    # A direction that A does not see reaches any length, however small its rounding.
    assert constraints.SecondOrderCone([[1.0, 1.0], [1.0, 1.0]], [1.0, -1.0]).curvature() is None


def test_rows_have_curvatures_where_their_maximum_has_none():
    g = constraints.max_of(
        constraints.QuadraticForm(np.diag([2.0, 6.0]), [0.0, 0.0], 1.0),
        constraints.Affine([[3.0, 4.0], [0.0, -2.0]], [1.0, 1.0]),
        constraints.FunctionConstraint(lambda x: 0.0, np.zeros_like, bound=7.0),
        constraints.FunctionConstraint(lambda x: 0.0, np.zeros_like, beta=0.5),
    )
    assert g.row_curvatures() == pytest.approx([6.0, 0.0, 0.0, math.inf, 0.5])
    for same in (
        constraints.shift(g, 0.25),
        constraints.PlayedOnly(g),
        constraints.Drifting(g, [0.0, 0.5]),
    ):
        np.testing.assert_array_equal(same.row_curvatures(), g.row_curvatures())
    cube = constraints.LinfNorm(1.0, 2)
    assert cube.row_curvatures().tolist() == [0.0] * 4
    rounds = constraints.AffineStream(
        [[[3.0, 4.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 3.0]]], np.ones((2, 2))
    )
    assert rounds.row_curvatures().tolist() == [0.0, 0.0]
    alone = constraints.max_of(constraints.QuadraticForm(np.eye(2), [0.0, 0.0], 1.0))
    assert (
        alone.curvature()
        == constraints.shift(alone, 0.1).curvature()
        == constraints.PlayedOnly(alone).curvature()
    )
    assert alone.curvature() == pytest.approx(1.0)


def test_sparse_rows_say_what_dense_ones_say():
    sparse = pytest.importorskip("scipy.sparse")

    A, b, ball = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]), [1.0, -2.0], Ball(1.5, [1, 2, 3])
    g, dense = constraints.Affine(sparse.csr_array(A), b), constraints.Affine(A, b)
    assert g.curvature() is None
    assert constraints.Affine(sparse.csr_array(A[:1]), b[:1]).curvature() == 0.0
    assert g.row_curvatures().tolist() == [0.0, 0.0]
    # Two terms a row instead of three: 4 roundings instead of 5.
    assert g.evaluation_error(ball) == pytest.approx(0.8 * dense.evaluation_error(ball))


def test_a_problem_knows_the_curvature_of_its_rows():
    costs, ball = Linear([[1.0, 0.0]]), Ball(1.5)

    def constants(g):
        return Problem.of(costs, g, ball, [0.0, 0.0]).constants

    curved = constants(constraints.QuadraticForm(np.diag([1.0, 3.0]), [0.0, 0.0], 1.0))
    assert curved.beta == pytest.approx(3.0)
    assert curved.origins["beta"] == "derived"
    assert constants(constraints.LinfNorm(0.5, 2)).beta == 0.0
    assert constants(constraints.L2Norm(0.5)).beta is None
