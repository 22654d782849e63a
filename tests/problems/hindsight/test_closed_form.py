"""Closed-form comparators against CVXPY, exact arithmetic and brute force."""

from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from surefoot import Ball
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm
from surefoot.problems.costs import Adversarial, Linear, Quadratic
from surefoot.problems.hindsight import best_action, closed_form, has_closed_form
from surefoot.sets import Box

T, B, D = 40, 3, 4
AXIS = np.vstack([np.eye(D), -np.eye(D)]) * np.linspace(0.5, 2, 2 * D)[:, None]


def normal(*size, seed=11):
    return np.random.default_rng(seed).normal(size=size)


CONSTRAINTS = {
    "cube": LinfNorm(0.4, D),
    "cube elsewhere": LinfNorm(0.4, D, centre=[0.3, -1.0, 2.0, 0.1]),
    "ball": L2Norm(0.7),
    "ball elsewhere": L2Norm(0.7, centre=[0.3, -1.0, 2.0, 0.1]),
    "rows along the axes": Affine(AXIS, np.linspace(0.1, 1, 2 * D) ** 2),
}
# With a curvature the halfspace has a best action too; linear costs are unbounded on it.
HALFSPACE = Affine([[1.0, -2.0, 0.5, 0.0]], [-0.3])
COSTS = {
    "quadratic": lambda *size: Quadratic(np.array([0.5, -1.0, 2.0, 0.0]) + normal(*size), 3.0),
    "linear": lambda *size: Linear(normal(*size)),
}


def summed(costs, t, x):
    return sum(float(costs.value(s, x)) for s in range(t))


def solved(costs, constraint, t):
    """The minimum over the feasible set, by a conic solver."""
    x = cvxpy.Variable(D)
    if isinstance(costs, Quadratic):
        cost = (
            0.5 * costs.curvature * cvxpy.sum_squares(costs.targets[:t] - np.ones((t, 1)) @ x[None])
        )
    else:
        cost = costs.slopes[:t].sum(axis=0) @ x
    if isinstance(constraint, Affine):
        inside = constraint.A @ x <= constraint.b
    else:
        centre = np.zeros(D) if constraint.centre is None else constraint.centre
        order = 2 if isinstance(constraint, L2Norm) else "inf"
        inside = cvxpy.norm(x - centre, order) <= constraint.radius
    problem = cvxpy.Problem(cvxpy.Minimize(cost), [inside])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value


PAIRS = [(c, g) for c in COSTS for g in CONSTRAINTS] + [("quadratic", "half-space")]


@pytest.mark.parametrize(("costs", "constraint"), PAIRS)
def test_the_best_action_is_feasible_and_as_good_as_a_solvers(costs, constraint):
    g = CONSTRAINTS.get(constraint, HALFSPACE)
    stream = COSTS[costs](T, D)
    rounds = [1, 7, T]
    best = best_action(stream, g, rounds)
    for k, t in enumerate(rounds):
        # A face at c + r or b/a is rounded, and so is the way back: four roundings at most.
        assert g.value(best.action[k]) <= 4 * 2.0**-53 * (1 + np.abs(best.action[k]).max())
        assert best.value[k] == pytest.approx(summed(stream, t, best.action[k]), rel=1e-12)
        assert best.value[k] == pytest.approx(solved(stream, g, t), rel=1e-7, abs=1e-7)
    np.testing.assert_array_equal(best.lower, best.value)


@pytest.mark.parametrize("costs", COSTS)
def test_runs_with_costs_of_their_own_have_their_own_best_actions(costs):
    stream = COSTS[costs](T, B, D)
    g, rounds = CONSTRAINTS["cube"], [3, T]
    together = best_action(stream, g, rounds)
    assert together.action.shape == (2, B, D)
    assert together.value.shape == (2, B)
    for r in range(B):
        alone = best_action(stream.run(r), g, rounds)
        np.testing.assert_allclose(together.action[:, r], alone.action, atol=1e-14)
        np.testing.assert_allclose(together.value[:, r], alone.value, rtol=1e-13)


@pytest.mark.parametrize("costs", COSTS)
def test_every_prefix_is_that_of_the_shorter_stream(costs):
    stream = COSTS[costs](T, D)
    g = CONSTRAINTS["ball"]
    path = best_action(stream, g, np.arange(1, T + 1))
    assert path.rounds.tolist() == list(range(1, T + 1))
    for t in (1, 2, 17, T):
        short = best_action(stream.rounds(0, t), g, t)
        np.testing.assert_allclose(path.action[t - 1], short.action[0], atol=1e-14)
        np.testing.assert_allclose(path.value[t - 1], short.value[0], rtol=1e-12)


@pytest.mark.parametrize("costs", COSTS)
def test_rounds_may_come_in_any_order_and_twice(costs):
    stream, g = COSTS[costs](T, D), CONSTRAINTS["cube"]
    sorted_, mixed = best_action(stream, g, [2, 9, 30]), best_action(stream, g, [30, 2, 9, 30])
    np.testing.assert_array_equal(mixed.rounds, [30, 2, 9, 30])
    np.testing.assert_array_equal(mixed.action, sorted_.action[[2, 0, 1, 2]])
    np.testing.assert_array_equal(mixed.value, sorted_.value[[2, 0, 1, 2]])


def test_no_point_of_the_set_is_better_by_brute_force():
    stream = Quadratic(np.array([1.0, -0.2]) + normal(9, 2), 2.0)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 41)] * 2), axis=-1).reshape(-1, 2)
    best = best_action(stream, LinfNorm(0.5, 2), 9).value[0]
    costs = sum(stream.value(t, grid) for t in range(9))[:, 0]
    assert best <= costs.min()
    assert best == pytest.approx(costs.min(), rel=2e-2)


def test_the_half_space_agrees_with_a_general_solver():
    stream = COSTS["quadratic"](T, D)
    limit = LinearConstraint(HALFSPACE.A, -np.inf, HALFSPACE.b)
    found = minimize(lambda x: summed(stream, T, x), np.zeros(D), constraints=[limit], tol=1e-12)
    best = best_action(stream, HALFSPACE, T)
    np.testing.assert_allclose(best.action[0], found.x, atol=1e-5)


@pytest.mark.parametrize(
    ("offset", "drift"), [(0.0, 0.0), (1e8, 0.0), (1e3, 1e3), (0.0, 1e7), (-1e6, 1e6)]
)
@pytest.mark.parametrize("every", [1, 9, 60])
def test_no_digits_are_lost_to_a_large_offset_or_a_late_drift(offset, drift, every):
    # The first 40 targets are near the offset; the last 20 are far from them. The sum at the
    # computed action is compared in exact arithmetic.
    targets = normal(60, 2) + offset
    targets[40:] += drift
    box = Box([offset - 0.3, offset - 0.1], [offset + 0.2, offset + 0.4])
    rounds = np.arange(every, 61, every)
    best = closed_form(Quadratic(targets, 2.0), box, rounds)
    for t, action, value in zip(rounds, best.action, best.value, strict=True):
        exact = sum(
            (Fraction(float(a)) - Fraction(float(v))) ** 2
            for target in targets[:t]
            for a, v in zip(action, target, strict=True)
        )
        # |a - v| is rounded to 2^-53 of the size of a and v, and that many times.
        size = max(1.0, abs(offset) / float(exact / (2 * int(t))) ** 0.5)
        assert abs(Fraction(float(value)) - exact) <= exact * Fraction(1e-14 * size)


def test_the_action_of_a_quadratic_is_the_projected_mean():
    targets = np.array([[1.0, 0.0], [3.0, 0.25], [-1.0, 0.5]])
    best = best_action(Quadratic(targets, 5.0), LinfNorm(0.5, 2), [1, 2, 3])
    np.testing.assert_allclose(best.action, [[0.5, 0.0], [0.5, 0.125], [0.5, 0.25]], rtol=1e-15)
    assert best.value[0] == pytest.approx(2.5 * 0.25)
    assert best.value[1] == pytest.approx(2.5 * (0.25 + 0.125**2 + 6.25 + 0.125**2))


def test_the_action_of_linear_costs_is_the_corner_against_their_sum():
    best = best_action(Linear([[1.0, -2.0], [1.0, 3.0]]), LinfNorm(0.5, 2), [1, 2])
    np.testing.assert_array_equal(best.action, [[-0.5, 0.5], [-0.5, -0.5]])
    np.testing.assert_array_equal(best.value, [-1.5, -1.5])
    ball = best_action(Linear([[3.0, -4.0]]), L2Norm(2.0), 1)
    np.testing.assert_allclose(ball.action, [[-1.2, 1.6]], rtol=1e-14)


def test_what_has_a_closed_form_is_known_beforehand():
    quadratic, linear = COSTS["quadratic"](T, D), COSTS["linear"](T, D)
    assert has_closed_form(quadratic, LinfNorm(0.5, D).region)
    assert has_closed_form(linear, Ball(1.0))
    assert not has_closed_form(quadratic, None)
    assert not has_closed_form(Adversarial(lambda t, x: x, horizon=T, dimension=D), Ball(1.0))


@pytest.mark.parametrize("rounds", [[], [0], [T + 1], [-3, 5]])
def test_rounds_outside_the_stream_are_refused(rounds):
    with pytest.raises(ValueError, match=f"^rounds must be from 1 to the horizon {T}, got "):
        best_action(COSTS["linear"](T, D), CONSTRAINTS["cube"], rounds)


def test_an_adversary_has_no_best_action_before_the_game():
    with pytest.raises(ValueError, match="costs of an adversary exist only after the game"):
        best_action(Adversarial(lambda t, x: x, horizon=T, dimension=D), CONSTRAINTS["cube"], 1)


def test_a_linear_cost_on_an_unbounded_set_is_refused():
    with pytest.raises(ValueError, match=r"must be given a bounded set|domain and interior must"):
        best_action(COSTS["linear"](T, D), HALFSPACE, 1)
