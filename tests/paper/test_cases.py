"""The sets the other tests rely on are what they claim to be."""

import numpy as np
import pytest

from ._cases import CASES, shortest_in_hull

cases = pytest.mark.parametrize("case", CASES, ids=str)


@cases
def test_the_set_lies_in_the_ball_and_the_start_inside_the_set(case):
    # The farthest point of X along any direction is in the ball, so X is.
    directions = np.random.default_rng(0).normal(size=(200, case.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (-case.support(directions) <= case.domain.radius).all()
    assert case.constraint.value(case.start) < -0.05
    assert case.constants.epsilon > 0
    assert 0 < case.constants.sigma <= case.constants.G_g


@pytest.mark.slow
@cases
def test_projections_agree_with_a_conic_solver(case):
    cp = pytest.importorskip("cvxpy")
    from surefoot.problems.constraints import Affine, L2Norm, LinfNorm, MaxOf

    z = cp.Variable(case.dimension)
    x = cp.Parameter(case.dimension)
    rho = cp.Parameter()

    def expression(g):
        if isinstance(g, MaxOf):
            return cp.maximum(*(expression(part) for part in g.parts))
        if isinstance(g, Affine):
            return cp.max(g.A @ z - g.b)
        if isinstance(g, LinfNorm):
            return cp.norm_inf(z - g.centre) - g.radius
        if isinstance(g, L2Norm):
            return cp.norm2(z - (0 if g.centre is None else g.centre)) - g.radius
        return {
            "paraboloid": lambda: cp.sum_squares(z) - 0.7**2,
            "ellipsoid": lambda: cp.norm2(cp.multiply(1 / np.array([0.9, 0.4, 0.6]), z)) - 1,
        }[case.name]()

    problem = cp.Problem(cp.Minimize(cp.norm2(z - x)), [expression(case.constraint) + rho <= 0])
    for level in case.levels:
        for point in case.points(n=3, seed=8)[:6]:
            x.value, rho.value = point, level
            solved = problem.solve(solver=cp.CLARABEL)
            # Clarabel stops at a relative gap of 1e-8; sets and distances are of size 1.
            assert case.distance(point[None], level)[0] == pytest.approx(solved, abs=1e-6)


def test_the_shortest_convex_combination_of_uneven_rows():
    # Orthogonal rows of lengths 2 and 1/2: 1/sqrt(2^-2 + 2^2), found inside the segment.
    assert shortest_in_hull([[2.0, 0.0], [0.0, 0.5]]) == pytest.approx(1 / np.sqrt(0.25 + 4))
    # Obtuse the other way: the shorter row itself.
    assert shortest_in_hull([[1.0, 0.0], [2.0, 0.5]]) == pytest.approx(1.0)
