"""Lemma 1: dist(x, X_rho) <= [g(x) + rho]_+ / sigma on the ball, for rho up to epsilon."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Ball
from surefoot.problems.constraints import L2Norm, LinfNorm

from ._cases import CASES, EXACT, shortest_in_hull

cases = pytest.mark.parametrize("case", CASES, ids=str)


@cases
def test_the_distance_is_at_most_the_excess_over_sigma(case):
    points = case.points(n=200)
    for rho in case.levels:
        excess = np.maximum(case.value(points) + rho, 0)
        assert (case.distance(points, rho) <= excess / case.constants.sigma + EXACT).all()


@cases
def test_no_subgradient_from_the_level_epsilon_outwards_is_shorter_than_sigma(case):
    # The step of the proof that takes Assumption 4 from {g = -epsilon} to {g >= -epsilon}.
    c = case.constants
    points = [x for x in case.points() if case.constraint.value(x) >= -c.epsilon - 1e-12]
    assert len(points) > 100
    shortest = min(shortest_in_hull(case.gradients(x)) for x in points)
    assert shortest >= c.sigma * (1 - 1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_the_bound_is_attained_on_the_diagonal_of_a_cube(d):
    # Every entry exceeds by the same h, so the distance is h sqrt(d) = h/sigma: a larger sigma
    # would be wrong.
    g = LinfNorm(0.5, d)
    c = g.constants(Ball(np.sqrt(d)))
    x, rho = np.full(d, 0.875), 0.25
    h = g.value(x) + rho
    assert np.linalg.norm(x - np.clip(x, -0.25, 0.25)) == pytest.approx(h / c.sigma, rel=1e-15)


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=6),
    st.floats(0, 1),
    st.integers(-100, 100),
    st.booleans(),
)
def test_it_holds_at_any_scale(entries, share, exponent, round_):
    scale = 10.0**exponent
    x = scale * np.array(entries)
    d = len(x)
    g = L2Norm(0.5 * scale) if round_ else LinfNorm(0.5 * scale, d)
    c = g.constants(Ball(scale * np.sqrt(d)))
    rho = share * c.epsilon
    r = 0.5 * scale - rho
    excess = max(g.value(x) + rho, 0.0)
    length = np.linalg.norm(x)
    near = x * min(1.0, r / length) if round_ and length > 0 else np.clip(x, -r, r)
    # g and the distance err by a few U of |x| + r.
    rounding = 32 * d * 2.0**-53 * scale
    assert np.linalg.norm(x - near) <= excess / c.sigma + rounding
