import math

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.problems.constraints import CVaR
from surefoot.sets import Ball


def by_definition(loss, level):
    """min_t t + E[loss - t]_+/(1 - level): piecewise linear in t, so a loss attains it."""
    t = loss[:, None]
    return float((t[:, 0] + np.maximum(loss - t, 0.0).mean(axis=1) / (1 - level)).min())


def by_linear_program(loss, level):
    S = len(loss)
    c = np.concatenate([[1.0], np.full(S, 1 / (S * (1 - level)))])
    rows = np.hstack([-np.ones((S, 1)), -np.eye(S)])
    return linprog(c, rows, -loss, bounds=[(None, None)] + [(0, None)] * S).fun


@pytest.mark.parametrize("level", [0.05, 0.5, 0.73, 0.9, 0.99])
def test_it_is_the_minimum_of_rockafellar_and_uryasev(level):
    rng = np.random.default_rng(0)
    for S in (1, 2, 7, 40):
        g = CVaR(rng.normal(size=(S, 3)), level, 0.25)
        x = rng.normal(size=3)
        loss = g.losses @ x
        assert g.value(x) + 0.25 == pytest.approx(by_definition(loss, level), abs=1e-12)
        assert g.value(x) + 0.25 == pytest.approx(by_linear_program(loss, level), abs=1e-7)


def test_it_is_the_cvar_of_cvxpy():
    rng = np.random.default_rng(1)
    L, x = rng.normal(size=(23, 4)), rng.normal(size=4)
    assert CVaR(L, 0.8, 0.0).value(x) == pytest.approx(cp.cvar(L @ x, 0.8).value, abs=1e-6)


def test_a_tail_of_whole_scenarios_is_their_mean():
    L = np.diag([1.0, 2.0, 3.0, 4.0])
    value, s = CVaR(L, 0.5, 1.0).query(np.ones(4))
    assert value == 3.5 - 1.0
    np.testing.assert_array_equal(s, [0.0, 0.0, 1.5, 2.0])


def test_a_tail_of_less_than_one_scenario_is_the_worst():
    L = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 5.0]])
    value, s = CVaR(L, 0.9, 0.0).query(np.array([1.0, 2.0]))
    assert value == 9.0
    np.testing.assert_array_equal(s, [-1.0, 5.0])


def test_scenarios_that_tie_count_in_the_order_of_their_rows():
    L = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])  # all lose 0 at (5, 0)
    g = CVaR(L, 0.625, 0.0)  # 1.5 of 4
    for x in (np.array([5.0, 0.0]), np.array([[5.0, 0.0]])):
        value, s = g.query(x)
        assert np.all(value == 0.0)
        np.testing.assert_allclose(np.ravel(s), [0.0, (1.0 + 0.5 * 2.0) / 1.5])


def test_the_bound_is_the_tail_of_the_norms_or_the_spectral_one():
    # One long row has a third of the tail: the tail mean of the norms, 10, 1 and 1.
    L = np.zeros((6, 2))
    L[:, 0], L[3] = 1.0, [0.0, 10.0]
    assert CVaR(L, 0.5, 1.0).subgradient_bound(Ball(1.0)) == pytest.approx(4.0)
    # Orthogonal rows average out: |L|_2/sqrt(3), attained.
    g = CVaR(2.0 * np.eye(6), 0.5, 1.0)
    assert g.subgradient_bound(Ball(1.0)) == pytest.approx(2 / math.sqrt(3))
    assert np.linalg.norm(g.subgradient(np.arange(6.0))) == pytest.approx(2 / math.sqrt(3))
    # Rows all alike: the tail mean is the row, and is attained.
    h = CVaR(np.tile([3.0, -4.0], (5, 1)), 0.5, 1.0)
    assert h.subgradient_bound(Ball(1.0)) == pytest.approx(5.0)
    assert np.linalg.norm(h.subgradient(np.array([1.0, 1.0]))) == pytest.approx(5.0)


@pytest.mark.parametrize("seed", range(10))
def test_no_sampled_subgradient_is_longer_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    S, d = rng.integers(2, 30), rng.integers(1, 8)
    g = CVaR(rng.standard_t(2, size=(S, d)), float(rng.uniform(0.05, 0.95)), 1.0)
    lengths = np.linalg.norm(g.subgradient(rng.normal(size=(3000, d))), axis=1)
    bound = g.subgradient_bound(Ball(1.0))
    assert lengths.max() <= bound
    assert lengths.max() >= 0.5 * bound


def test_zero_is_inside_where_the_limit_is_positive():
    L = [[1.0, -2.0], [0.5, 3.0]]
    assert CVaR(L, 0.5, 0.1).value(CVaR(L, 0.5, 0.1).interior) == -0.1
    assert CVaR(L, 0.5, 0.0).interior is None
    assert CVaR(L, 0.5, 0.1).region is None


@pytest.mark.parametrize(
    ("losses", "level", "limit", "sentence"),
    [
        (np.eye(2), 0.0, 1.0, "level must be strictly between 0 and 1, got 0.0"),
        (np.eye(2), 1.0, 1.0, "level must be strictly between 0 and 1, got 1.0"),
        (np.eye(2), math.nan, 1.0, "level must be strictly between 0 and 1, got nan"),
        (np.eye(2), 0.9, math.inf, "limit must be a finite number, got inf"),
        (np.empty((0, 3)), 0.9, 1.0, "losses.shape must be that of a matrix that is not empty"),
        ([[1.0, math.nan]], 0.9, 1.0, "losses must be finite, got nan"),
        (np.zeros((2, 2)), 0.9, 1.0, "losses must have an entry that is not 0"),
    ],
)
def test_bad_input_is_named(losses, level, limit, sentence):
    with pytest.raises(ValueError, match=sentence):
        CVaR(losses, level, limit)
