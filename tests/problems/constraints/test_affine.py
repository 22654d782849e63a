import copy
import pickle
import re

import numpy as np
import pytest

from surefoot.problems.constraints import Affine, LinfNorm
from surefoot.sets import Ball, Box, Halfspace

from ._brute import brute_sigma

NAN = float("nan")
G = Affine([[1.0, 0.0], [0.0, -2.0], [3.0, 4.0]], [0.5, 1.0, 2.0])


def test_value_and_subgradient_by_hand():
    # (1.5, 0.25): 1.0, -1.5, 3.5
    assert G.value(np.array([1.5, 0.25])) == 3.5
    assert G.subgradient(np.array([1.5, 0.25])).tolist() == [3.0, 4.0]
    # (0.25, -2): -0.25, 3, -9.25
    value, s = G.query(np.array([0.25, -2.0]))
    assert type(value) is float
    assert value == 3.0
    assert s.tolist() == [0.0, -2.0]


def test_of_rows_that_tie_the_first_counts():
    # At (0.75, 0) the rows have 0.25, -1 and 0.25.
    value, s = G.query(np.array([0.75, 0.0]))
    assert (value, s.tolist()) == (0.25, [1.0, 0.0])
    values, rows = G.query(np.array([[0.75, 0.0], [1.5, 0.25], [0.0, 0.0]]))
    assert values.tolist() == [[0.25], [3.5], [-0.5]]
    assert rows.tolist() == [[1.0, 0.0], [3.0, 4.0], [1.0, 0.0]]


def test_value_and_subgradient_are_of_one_row():
    rng = np.random.default_rng(2)
    g = Affine(rng.normal(size=(9, 4)), rng.normal(size=9))
    x = rng.normal(size=(500, 4))
    values, rows = g.query(x)
    for point, value, s in zip(x, values[:, 0], rows, strict=True):
        (i,) = np.flatnonzero((s == g.A).all(axis=1))
        assert value == pytest.approx(s @ point - g.b[i], abs=1e-14)
        one, one_s = g.query(point)
        assert one == pytest.approx(value, abs=1e-14)
        assert np.array_equal(one_s, s)


def test_subgradients_support_exactly_where_rows_tie():
    # Sixteenths and small whole numbers: nothing rounds, and ties are everywhere.
    rng = np.random.default_rng(3)
    g = Affine(rng.integers(-3, 4, size=(6, 3)) + np.eye(3)[[0, 1, 2, 0, 1, 2]] * 8, np.ones(6))
    x, y = rng.integers(-4, 5, size=(2, 10_000, 3)) / 4
    values, rows = g.query(x)
    assert (g.value(y) >= values + np.vecdot(rows, y - x)[:, None]).all()
    ties = (x @ g.A.T - g.b == values).sum(axis=1) > 1
    assert ties.sum() > 100


def test_every_backend_gives_the_same_row(backend):
    x = np.array([[0.75, 0.0], [1.5, 0.25], [0.25, -2.0]])
    for points in (x, x[0]):
        value, s = G.query(backend.array(points))
        expected, row = G.query(points)
        assert backend.holds(s)
        assert tuple(s.shape) == points.shape
        assert backend.numpy(value).tolist() == np.asarray(expected).tolist()
        assert backend.numpy(s).tolist() == row.tolist()
        assert backend.numpy(value).shape == np.shape(expected)


@pytest.mark.parametrize(
    ("A", "b", "sentence"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0], "A must have no zero row, got zeros in row 1"),
        ([[1.0, NAN]], [1.0], "A must be finite, got nan at index (0, 1)"),
        ([1.0, 0.0], [1.0], "A.shape must be that of a matrix that is not empty, got (2,)"),
        ([[1.0], [2.0]], [1.0], "b.shape must be (2,), got (1,)"),
        ([[1.0]], [NAN], "b must be finite, got nan at index 0"),
        ([[1.0], [1.0, 2.0]], [1.0], "A must be a matrix of numbers, got [[1.0], [1.0, 2.0]]"),
    ],
)
def test_bad_rows_are_named(A, b, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Affine(A, b)


@pytest.mark.parametrize(
    "x", [np.zeros(3), np.zeros(1), np.zeros((2, 1)), np.zeros((4, 3))], ids=str
)
def test_an_action_of_another_length_is_refused(x):
    sentence = f"x must have 2 entries, got shape {x.shape}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        G.query(x)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_are_equal(again):
    assert again(G) == G
    assert Affine(2 * G.A, G.b) != G
    assert LinfNorm(0.5, 2) != G


def test_rows_are_copied_and_read_only():
    A = np.array([[1.0, 0.0]])
    g = Affine(A, [1.0])
    A[0, 0] = 9.0
    assert g.A.tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="read-only"):
        g.A[0, 0] = 2.0


# --- the feasible set ---------------------------------------------------------------------------


def test_one_row_is_a_half_space_and_rows_along_the_axes_are_a_box():
    assert Affine([[3.0, 4.0]], [2.0]).region == Halfspace([3.0, 4.0], 2.0)
    rows = [[2.0, 0.0], [0.0, -4.0], [-1.0, 0.0], [0.0, 0.5], [1.0, 0.0]]
    assert Affine(rows, [1.0, 1.0, 3.0, 1.0, 0.25]).region == Box([-3.0, -0.25], [0.25, 2.0])


def test_the_box_of_inexact_limits_is_feasible_exactly():
    rng = np.random.default_rng(4)
    scale = rng.uniform(0.1, 7.0, size=(2, 40))
    A = np.concatenate([np.diag(scale[0]), -np.diag(scale[1])])
    g = Affine(A, rng.uniform(0.1, 3.0, size=80))
    box = g.region
    assert g.value(box.lower) <= 0
    assert g.value(box.upper) <= 0
    # And no more is given away than the last digit.
    assert g.value(box.upper * (1 + 1e-15)) > 0


# --- sigma --------------------------------------------------------------------------------------


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


BOX_ROWS = np.concatenate([np.eye(2), -np.eye(2)])
ATTAINED = {
    "square": Affine(BOX_ROWS, np.full(4, 0.5)),
    "cube": Affine(np.concatenate([np.eye(3), -np.eye(3)]), np.full(6, 0.5)),
    "box of unequal rows": Affine(BOX_ROWS * [[1.0], [3.0], [0.25], [2.0]], [1.0, 0.5, 0.75, 2.0]),
    "rotated box": Affine(BOX_ROWS @ rotation(0.3).T, [1.0, 0.5, 0.75, 0.25]),
    "rotated box of unequal rows": Affine(
        [[1.0], [3.0], [0.25], [2.0]] * (BOX_ROWS @ rotation(1.1).T), [1.0, 0.5, 0.75, 0.25]
    ),
    "slab": Affine([[3.0, 4.0], [-0.3, -0.4]], [1.0, 0.5]),
    "half-space": Affine([[3.0, 0.0, -4.0]], [-2.0]),
    "quadrant": Affine([[2.0, 0.0], [0.0, 0.5]], [1.0, -1.0]),
    "prism": Affine([[2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.6, 0.8]], [1.0, 1.0, 1.0]),
}
# Rows that are never active, or not at this level: the bound is below what is attained.
BELOW = {
    "a short row that is never active": Affine(
        np.append(BOX_ROWS, [[0.1, 0.0]], axis=0), [0.5, 0.5, 0.5, 0.5, 5.0]
    ),
    "steeper inside than outside": Affine([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]], [1.0, 0.5, 1.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTAINED)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_sigma_is_the_shortest_subgradient_of_the_level_set(name, share):
    g = ATTAINED[name]
    _, half = g.exact_sigma(None)
    sigma, epsilon = g.exact_sigma(2 * half * share)
    assert epsilon == 2 * half * share
    brute = brute_sigma(g, epsilon)
    assert sigma <= brute
    assert sigma == pytest.approx(brute, rel=1e-9)


@pytest.mark.parametrize("name", BELOW)
def test_rows_that_are_not_active_can_only_lower_sigma(name):
    g = BELOW[name]
    sigma, epsilon = g.exact_sigma(None)
    assert sigma <= brute_sigma(g, epsilon)


@pytest.mark.parametrize("name", ATTAINED)
def test_the_default_level_is_half_of_the_depth(name):
    g = ATTAINED[name]
    _, epsilon = g.exact_sigma(None)
    if name in ("half-space", "quadrant"):
        assert epsilon == 1.0  # no depth: any level will do
        assert g.exact_sigma(1e9)[1] == 1e9
        return
    linprog = pytest.importorskip("scipy.optimize").linprog
    d = g.A.shape[1]
    # min z subject to A x - z <= b
    found = linprog(
        np.append(np.zeros(d), 1.0), np.append(g.A, -np.ones((len(g.A), 1)), axis=1), g.b,
        bounds=(None, None),
    )  # fmt: skip
    assert epsilon == pytest.approx(-found.fun / 2, rel=1e-9)


def test_the_cube_has_the_sigma_of_its_rows():
    for d in (1, 2, 3):
        rows = Affine(np.concatenate([np.eye(d), -np.eye(d)]), np.full(2 * d, 0.5))
        assert LinfNorm(0.5, d).exact_sigma(None) == pytest.approx(
            rows.exact_sigma(None), rel=1e-14
        )


@pytest.mark.parametrize(
    "g",
    [
        Affine([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]], np.ones(3)),
        Affine([[1.0, 0.0], [1.0, 1e-6]], np.ones(2)),
        # Opposite faces that lean by 1e-6 meet far away, where 0 is nearly in their hull.
        Affine([[1.0, 0.0], [-1.0, 1e-6]], np.ones(2)),
        Affine([[1.0, 0.0], [1e-9, 1.0]], np.ones(2)),
    ],
    ids=["triangle", "nearly parallel", "nearly opposite", "nearly orthogonal"],
)
def test_rows_that_are_neither_parallel_nor_orthogonal_give_no_sigma(g):
    assert g.exact_sigma(None) is None
    assert g.exact_sigma(0.1) is None


def test_an_empty_set_gives_no_sigma():
    assert Affine([[1.0], [-1.0]], [-1.0, 0.5]).exact_sigma(None) is None
    assert Affine([[1.0], [-1.0]], [1.0, -1.0]).exact_sigma(None) is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 0.5, 0.75, NAN])
def test_a_level_at_or_below_the_minimum_is_refused(epsilon):
    sentence = f"epsilon must be > 0 and below 0.5, the depth of the constraint, got {epsilon!r}"
    for g in (ATTAINED["square"], LinfNorm(0.5, 3)):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            g.exact_sigma(epsilon)
        with pytest.raises(ValueError, match=re.escape(sentence)):
            g.constants(Ball(1.0), epsilon=epsilon)


def test_the_longest_row_bounds_every_subgradient():
    bound = G.subgradient_bound(Ball(1.0))
    assert bound == pytest.approx(5.0, rel=1e-14)
    assert bound >= np.linalg.norm(G.A, axis=1).max()
