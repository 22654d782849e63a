import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.sets._active_set import project_halfspaces


def brute_force(excess, rows):
    """The shortest q with excess + rows q <= 0, from the feet on all faces; None if there is none.

    Every foot that is in the polyhedron is no nearer than the projection, which is one of them.
    """
    m, d = rows.shape
    best = None
    for k in range(min(m, d) + 1):
        for face in map(list, combinations(range(m), k)):
            if np.linalg.matrix_rank(rows[face]) < k:
                continue
            q = -np.linalg.pinv(rows[face]) @ excess[face] if k else np.zeros(d)
            feasible = (excess + rows @ q <= 1e-9).all()
            if feasible and (best is None or np.linalg.norm(q) < np.linalg.norm(best)):
                best = q
    return best


def is_projection(found, excess, rows, tolerance):
    q, z = found
    after = excess + rows @ q
    assert (z >= 0).all()
    assert q == pytest.approx(-(z @ rows), abs=1e-14 * (1 + np.abs(z) @ np.abs(rows).sum(axis=1)))
    assert (after <= tolerance).all()
    assert (after[z > 0] >= -tolerance).all()


def test_one_row_is_the_projection_onto_a_half_space():
    q, z = project_halfspaces(np.array([2.5]), np.array([[3.0, -4.0]]), 1e-12, 10.0)
    assert q == pytest.approx([-0.3, 0.4], rel=1e-15)
    assert z == pytest.approx([0.1], rel=1e-15)


def test_rows_that_hold_are_left_alone():
    q, z = project_halfspaces(np.array([-0.5, 0.0]), np.array([[3.0, -4.0], [1.0, 1.0]]), 0.0, 1.0)
    assert not q.any()
    assert not z.any()


def test_a_row_that_joined_leaves_again():
    # The first is the most violated and joins first, but does not hold the projection.
    rows = np.array([[2.7, -0.4, -0.9], [1.1, 0.2, 2.0], [0.7, -0.7, -0.2], [0.4, 0.5, -1.1]])
    excess = np.array([4.83, 1.01, 0.13, 2.12])
    assert (excess / np.linalg.norm(rows, axis=1)).argmax() == 0
    q, z = project_halfspaces(excess, rows, 1e-12, 1e3)
    assert (z > 0).tolist() == [False, True, False, True]
    assert q == pytest.approx(brute_force(excess, rows), abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6), st.booleans())
@settings(max_examples=100)
def test_it_is_the_projection_found_by_brute_force(seed, d, m, round_numbers):
    rng = np.random.default_rng(seed)
    if round_numbers:  # ties, parallel rows, rows that depend on each other, zero rows
        rows = rng.integers(-2, 3, size=(m, d)).astype(float)
        inside = rng.integers(-2, 3, size=d).astype(float)
    else:
        rows, inside = rng.normal(size=(m, d)), rng.normal(size=d)
    # q = inside is allowed: there is a projection.
    excess = -(rows @ inside) - rng.choice([0.0, 0.0, 0.5], size=m)
    wanted = brute_force(excess, rows)
    found = project_halfspaces(excess, rows, 1e-12, 1e6)
    assert found is not None
    is_projection(found, excess, rows, 1e-12)
    assert found[0] == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize(("d", "m"), [(20, 60), (5, 40), (50, 30)])
def test_many_rows(d, m):
    rng = np.random.default_rng(d)
    for _ in range(20):
        rows = rng.normal(size=(m, d))
        excess = rng.normal(size=m) - rows @ rng.normal(size=d)
        if (excess <= 0).all() or m > d:  # keep a point that is allowed
            excess = -np.abs(rng.normal(size=m)) - rows @ rng.normal(size=d)
        found = project_halfspaces(excess, rows, 1e-11, 1e6)
        assert found is not None
        is_projection(found, excess, rows, 1e-11)


def test_rows_that_no_point_satisfies_together_have_no_projection():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert project_halfspaces(np.array([1.0, 1.0]), rows, 1e-12, 1e9) is None


def test_a_zero_row_is_no_half_space():
    rows = np.array([[0.0, 0.0], [1.0, 0.0]])
    q, _ = project_halfspaces(np.array([-1.0, 2.0]), rows, 1e-12, 10.0)
    assert q == pytest.approx([-2.0, 0.0])
    assert project_halfspaces(np.array([1.0, 2.0]), rows, 1e-12, 10.0) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_has_no_projection(bad):
    rows = np.array([[1.0, 2.0], [1.0, 0.0]])
    assert project_halfspaces(np.array([bad, 2.0]), rows, 1e-12, 10.0) is None
    rows[1, 1] = bad
    assert project_halfspaces(np.array([1.0, 2.0]), rows, 1e-12, 10.0) is None


def test_an_answer_that_does_not_pass_the_check_is_none():
    # A wedge so sharp that the projection is 1e9 away, and its multipliers cancel.
    rows = np.array([[1.0, 0.0], [-1.0, 1e-9]])
    excess = np.array([0.5, 0.5])
    assert project_halfspaces(excess, rows, 1e-12, 100.0) is None
    # Multipliers that may add up to no more than they must.
    gentle = np.array([[3.0, -4.0]])
    assert project_halfspaces(np.array([2.5]), gentle, 1e-12, 0.49) is None
    assert project_halfspaces(np.array([2.5]), gentle, 1e-12, 0.51) is not None
