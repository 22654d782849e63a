import sys

import cvxpy as cp
import numpy as np
import pytest

from surefoot.problems import costs
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm, max_of
from surefoot.problems.hindsight import _Model, best_action, level_bundle
from surefoot.sets import Ball


def random_problem(seed):
    """Costs, a constraint with 0 inside, and the same problem in cvxpy."""
    rng = np.random.default_rng(seed)
    d, T, m = int(rng.integers(2, 9)), int(rng.integers(3, 40)), int(rng.integers(1, 8))
    A = rng.normal(size=(m, d))
    b = rng.uniform(0.2, 1.0, m)
    features, x = rng.normal(size=(T, d)), cp.Variable(d)
    kind = ("quadratic", "linear", "absolute", "logistic", "hinge")[seed % 5]
    if kind == "quadratic":
        stream = costs.Quadratic(2 * features, 3.0)
        total = sum(1.5 * cp.sum_squares(x - 2 * a) for a in features)
    elif kind == "linear":
        stream, total = costs.Linear(features), cp.sum(features @ x)
    elif kind == "absolute":
        y = rng.normal(size=T)
        stream, total = costs.Absolute(features, y), cp.norm1(features @ x - y)
    else:
        y = rng.choice([-1.0, 1.0], T)
        margin = cp.multiply(y, features @ x)
        if kind == "logistic":
            stream, total = costs.Logistic(features, y), cp.sum(cp.logistic(-margin))
        else:
            stream, total = costs.Hinge(features, y), cp.sum(cp.pos(1 - margin))
    constraint = max_of(Affine(A, b), L2Norm(1.5))
    exact = cp.Problem(cp.Minimize(total), [A @ x <= b, cp.norm(x) <= 1.5])
    return stream, constraint, exact


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_the_interval_contains_the_optimum_that_clarabel_finds(seed):
    stream, constraint, exact = random_problem(seed)
    found = level_bundle(stream.sum_at, constraint, Ball(1.5), np.zeros(stream.dimension))
    optimum = exact.solve(solver="CLARABEL")
    assert found.converged
    assert found.gap <= 1e-6
    assert constraint.value(found.action) <= 0
    # Clarabel stops at a relative gap of 1e-8.
    room = 1e-7 * max(1.0, abs(optimum))
    assert found.lower <= optimum + room
    assert found.value >= optimum - room


@pytest.mark.slow
def test_a_long_logistic_regression_is_certified_to_1e_4():
    rng = np.random.default_rng(1)
    T, d = 40_000, 56
    features = rng.normal(size=(T, d))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    chance = 1 / (1 + np.exp(-features @ (2 * rng.normal(size=d))))
    stream = costs.Logistic(features, np.where(rng.random(T) < chance, 1.0, -1.0))
    fair = rng.normal(size=d) / np.sqrt(d)
    constraint = max_of(L2Norm(10.0), Affine([fair, -fair], [0.02, 0.02]))
    found = level_bundle(stream.sum_at, constraint, Ball(10.0), np.zeros(d), tolerance=1e-4)
    assert found.converged
    assert found.gap <= 1e-4
    assert found.queries < 60


@pytest.mark.slow
def test_a_long_log_portfolio_is_certified_to_1e_4():
    rng = np.random.default_rng(2)
    T, d = 5_650, 36
    stream = costs.LogPortfolio(np.exp(rng.normal(5e-4, 0.02, (T, d))) - 1)
    shares = np.vstack([-np.eye(d), np.full((1, d), d**-0.5)])
    constraint = Affine(shares, np.append(np.zeros(d), d**-0.5))
    found = level_bundle(stream.sum_at, constraint, Ball(1.0), np.full(d, 0.5 / d), tolerance=1e-4)
    assert found.converged
    assert found.gap <= 1e-4


def test_the_bounds_hold_at_every_query_and_close_monotonically():
    stream, constraint, exact = random_problem(3)
    problem = (stream.sum_at, constraint, Ball(1.5), np.zeros(stream.dimension))
    queries = range(1, level_bundle(*problem).queries + 1)
    seen = [level_bundle(*problem, max_queries=n) for n in queries]
    optimum = exact.solve(solver="CLARABEL")
    assert [b.queries for b in seen] == list(queries)
    lower, upper = np.array([b.lower for b in seen]), np.array([b.value for b in seen])
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert lower.max() <= optimum + 1e-7 * abs(optimum)
    assert upper.min() >= optimum - 1e-7 * abs(optimum)


def test_the_lower_bound_survives_a_solver_that_lies(monkeypatch):
    stream, constraint, exact = random_problem(0)
    optimum = exact.solve(solver="CLARABEL")
    honest = _Model.__init__

    def lying(self, domain):
        honest(self, domain)
        linprog, rng = self._linprog, np.random.default_rng(0)

        def lie(*args, **kwargs):
            solved = linprog(*args, **kwargs)
            solved.ineqlin.marginals = rng.normal(size=len(solved.ineqlin.marginals))
            return solved

        self._linprog = lie

    monkeypatch.setattr(_Model, "__init__", lying)
    found = level_bundle(
        stream.sum_at, constraint, Ball(1.5), np.zeros(stream.dimension), max_queries=30
    )
    assert not found.converged
    assert -np.inf < found.lower <= optimum
    assert found.value >= optimum - 1e-7 * abs(optimum)


def test_a_ball_away_from_the_origin():
    centre, aim = np.array([50.0, -30.0]), np.array([53.0, -26.0])
    found = level_bundle(
        lambda x: (float((x - aim) @ (x - aim)), 2 * (x - aim)),
        L2Norm(1.0, centre),
        Ball(1.0, centre),
        centre,
    )
    assert found.action == pytest.approx(centre + np.array([0.6, 0.8]), abs=1e-3)
    assert found.lower <= 16.0 <= found.value


def test_constraints_of_all_rounds_are_met_at_once():
    stream = costs.Linear([[-1.0, -3.0], [-2.0, 1.0], [0.0, -1.0]])
    each = [Affine([[1.0, 1.0]], [0.5]), Affine([[2.0, -1.0]], [0.4]), LinfNorm(1.0, 2)]
    best = best_action(stream, each, 3, domain=Ball(1.5), interior=np.zeros(2))
    assert all(g.value(best.action[0]) <= 0 for g in each)
    # The sum of costs is -3 x - 3 y: at its best on x + y <= 0.5.
    assert best.lower[0] <= -1.5 <= best.value[0]
    assert best.value[0] - best.lower[0] <= 2e-6


def test_each_run_and_each_prefix_has_its_own_interval():
    rng = np.random.default_rng(5)
    stream = costs.Quadratic(rng.normal(size=(6, 3, 2)), 2.0)
    g = Affine([[1.0, 2.0], [-3.0, 1.0], [1.0, -1.0]], [0.3, 0.2, 0.4])
    best = best_action(stream, g, [2, 6], domain=Ball(2.0), interior=np.zeros(2))
    assert best.value.shape == (2, 3)
    for k, t in enumerate((2, 6)):
        for r in range(3):
            one = best_action(
                stream.run(r).rounds(0, t), g, t, domain=Ball(2.0), interior=np.zeros(2)
            )
            assert one.value[0] == pytest.approx(best.value[k, r], rel=1e-5)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"interior": np.array([3.0, 0.0])}, r"interior must have g < 0, got g = 2"),
        ({"tolerance": 0.0}, r"tolerance must be a finite number > 0, got 0.0"),
        ({"total": 3}, r"total must be a function, got 3"),
        ({"total": lambda x: (np.nan, x)}, r"total must be finite on the feasible set, got nan"),
    ],
)
def test_bad_input_is_one_sentence(changed, sentence):
    arguments = {
        "total": lambda x: (float(x @ x), 2 * x),
        "constraint": L2Norm(1.0),
        "domain": Ball(1.0),
        "interior": np.zeros(2),
    } | changed
    with pytest.raises(ValueError, match=sentence):
        level_bundle(**arguments)


def test_without_a_closed_form_domain_and_interior_are_asked_for():
    stream = costs.Linear([[1.0, 2.0]])
    with pytest.raises(ValueError, match="domain and interior must be given"):
        best_action(stream, FunctionConstraint(lambda x: -1.0, lambda x: x), 1)


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "qpsolvers", None)
    with pytest.raises(ImportError, match=r"level bundle needs qpsolvers.*surefoot\[solve\]"):
        level_bundle(lambda x: (0.0, x), L2Norm(1.0), Ball(1.0), np.zeros(2))
