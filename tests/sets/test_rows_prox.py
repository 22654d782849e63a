"""The prox of rows against its exact answer: every set of active rows is tried in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.sets import Box, Linearised, Polytope, RowsProx, prox_of

FAR = 1e6
"""The radius of a ball that limits nothing."""
UNSEEN = Linearised(np.zeros(2), 0.0, np.zeros(2))


def solve_exactly(matrix, right):
    """Return the solution of a system of fractions; None where there is not one."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i:
                share = rows[j][i]
                rows[j] = [a - share * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def exact_prox(A, b, z, weight, alpha):
    """Return the point that minimises weight [max(Ax - b)]_+ + alpha |x - z|^2, in fractions.

    It is the one with x = z - A'mu, mu >= 0, sum(mu) <= c = weight/(2 alpha), rows at most v, those
    with mu > 0 at v, and v = 0 or sum(mu) = c.
    """
    A, (b, z) = [list(map(Fraction, row)) for row in A], (list(map(Fraction, p)) for p in (b, z))
    c = Fraction(weight) / (2 * Fraction(alpha))
    excess = [dot(row, z) - limit for row, limit in zip(A, b, strict=True)]
    if max(excess) <= 0:
        return z
    for size in range(1, len(z) + 2):
        for active in combinations(range(len(A)), size):
            gram = [[dot(A[i], A[j]) for j in active] for i in active]
            right = [excess[i] for i in active]
            held = solve_exactly(gram, right)
            bordered = [*([*row, Fraction(1)] for row in gram), [Fraction(1)] * size + [0]]
            spent = solve_exactly(bordered, [*right, c])
            for found, v in ((held, 0), (spent, None)):
                if found is None:
                    continue
                mu, v = found[:size], found[-1] if v is None else v
                x = [
                    z[j] - sum(m * A[i][j] for m, i in zip(mu, active, strict=True))
                    for j in range(len(z))
                ]
                fits = min(mu) >= 0 and sum(mu) <= c and v >= 0
                if fits and all(dot(A[i], x) - b[i] <= v for i in range(len(A))):
                    return x
    raise AssertionError("a strictly convex function has a minimiser")


def case(seed):
    """Return rows of lengths apart, of a box, or with one of them twice; a point and weights."""
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    A, b = rng.normal(size=(m, d)) * np.exp(rng.normal(size=(m, 1))), rng.uniform(0.1, 1.0, m)
    if seed % 4 == 0:
        A, b = np.vstack([np.eye(d), -np.eye(d)]), rng.uniform(0.1, 1.0, 2 * d)
    if seed % 10 == 1:
        A, b = np.vstack([A, A[:1]]), np.append(b, b[0])
    z, (weight, alpha) = 3 * rng.normal(size=d), np.exp(rng.normal(size=2) * [2.0, 1.0])
    return A, b, z, float(weight), float(alpha)


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_the_prox_of_rows_is_the_exact_one(first):
    for seed in range(first, first + 50):
        A, b, z, weight, alpha = case(seed)
        found = RowsProx(A, b)(z, weight, alpha, FAR, UNSEEN)
        exact = np.array([float(entry) for entry in exact_prox(A, b, z, weight, alpha)])
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13 * (1 + np.linalg.norm(z)))


@pytest.mark.parametrize("weight", [1e-9, 0.3, 1.7, 2.9, 1e9])
def test_rows_that_meet_in_one_corner_give_the_exact_step(weight):
    # Three rows are active at one point, where the multipliers, and their sum, are not unique.
    A, b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5, 1.0])
    z = np.array([2.0, 1.75])
    found = RowsProx(A, b)(z, weight, 0.5, FAR, UNSEEN)
    exact = np.array([float(entry) for entry in exact_prox(A, b, z, weight, 0.5)])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13)


def test_a_level_at_which_the_multipliers_jump_is_found():
    # At v = 0.5 the three rows meet in (1, 1), where the multipliers add up to 1 and to 2: for no
    # other level and every weight between, this point is the answer.
    A, b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5, 1.5])
    z = np.array([2.0, 2.0])
    for weight in (1.01, 1.5, 1.99):
        found = RowsProx(A, b)(z, weight, 0.5, FAR, UNSEEN)
        exact = np.array([float(entry) for entry in exact_prox(A, b, z, weight, 0.5)])
        np.testing.assert_allclose(exact, [1.0, 1.0], rtol=0, atol=0)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13)


def test_an_exact_penalty_on_rows_is_a_projection():
    box = Box([-0.5, -1.0, 0.0], [0.5, 2.0, 0.25])
    for y in np.random.default_rng(1).normal(size=(50, 3)) * 3:
        found = prox_of(box)(y, 1e3, 1.0, FAR, UNSEEN)
        np.testing.assert_allclose(found, box.project(y), rtol=0, atol=1e-14)


def test_the_prox_of_a_triangle_is_the_exact_one():
    triangle = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [1.0, 1.0, 1.0])
    for z in np.random.default_rng(2).normal(size=(30, 2)) * 2:
        found = prox_of(triangle)(z, 0.8, 1.3, FAR, UNSEEN)
        exact = exact_prox(triangle.A.tolist(), triangle.b.tolist(), z, 0.8, 1.3)
        np.testing.assert_allclose(found, [float(p) for p in exact], rtol=0, atol=1e-14)


def test_rows_without_a_common_point_are_refused_in_one_sentence():
    rows = RowsProx(np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))
    with pytest.raises(InvalidValueError, match="the proximal step must be found by active sets"):
        rows(np.array([3.0]), 1e3, 1.0, FAR, UNSEEN)
