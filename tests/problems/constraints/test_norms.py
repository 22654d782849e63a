import copy
import pickle
import re

import numpy as np
import pytest

from surefoot.problems.constraints import L2Norm, LinfNorm
from surefoot.sets import Ball

NAN, INF = float("nan"), float("inf")
CENTRE = np.array([0.25, -1.0, 0.5])
U = 2.0**-53


def test_the_distance_to_a_sphere_by_hand():
    value, s = L2Norm(2.0, centre=[1.0, -1.0]).query(np.array([4.0, -5.0]))
    assert type(value) is float
    assert value == 3.0
    assert s == pytest.approx([0.6, -0.8], rel=1e-15)
    assert L2Norm(2.0).value(np.array([0.6, -0.8])) == -1.0


def test_at_the_centre_the_subgradient_is_zero():
    for g, centre in ((L2Norm(2.0), np.zeros(3)), (L2Norm(2.0, CENTRE), CENTRE)):
        value, s = g.query(centre)
        assert (value, s.tolist()) == (-2.0, [0.0, 0.0, 0.0])
        values, rows = g.query(np.stack([centre, centre + np.array([0.0, 3.0, 0.0])]))
        assert values.tolist() == [[-2.0], [1.0]]
        assert rows.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_the_distance_to_a_cube_by_hand():
    value, s = LinfNorm(0.5, 3, centre=CENTRE).query(np.array([1.0, -3.0, 0.5]))
    assert type(value) is float
    assert value == 1.5
    assert s.tolist() == [0.0, -1.0, 0.0]


def test_of_entries_that_tie_the_first_counts_and_zero_is_positive():
    g = LinfNorm(0.5, 3)
    x = np.array([[-1.0, 1.0, 1.0], [0.5, -1.0, 1.0], [0.0, 0.0, 0.0], [-0.0, 0.0, 0.0]])
    expected = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert g.query(x)[1].tolist() == expected
    assert [g.query(point)[1].tolist() for point in x] == expected


@pytest.mark.parametrize("g", [L2Norm(0.75, CENTRE), LinfNorm(0.75, 3, CENTRE)], ids=["l2", "linf"])
def test_subgradients_support_g_and_are_no_longer_than_declared(g):
    rng = np.random.default_rng(0)
    x, y = CENTRE + rng.integers(-4, 5, size=(2, 10_000, 3)) / 4  # ties, and the centre itself
    values, s = g.query(x)
    # A norm and an inner product of three entries below 4: each errs by less than 5u of 16.
    assert (g.value(y) >= values + np.vecdot(s, y - x)[:, None] - 10 * 16 * U).all()
    assert np.linalg.norm(s, axis=1).max() <= g.subgradient_bound(Ball(1.0))


@pytest.mark.parametrize("g", [L2Norm(0.75, CENTRE), LinfNorm(0.75, 3, CENTRE)], ids=["l2", "linf"])
def test_every_backend_gives_the_same_numbers(backend, g):
    x = np.array([CENTRE, CENTRE + 0.5, [1.0, -3.0, 0.25]])
    for points in (x, x[0], x[2]):
        value, s = g.query(backend.array(points))
        expected, row = g.query(points)
        assert backend.holds(s)
        assert s.dtype == backend.xp.float64
        assert tuple(s.shape) == points.shape
        assert backend.numpy(value).shape == np.shape(expected)
        assert backend.numpy(value) == pytest.approx(expected, rel=1e-14)
        assert backend.numpy(s) == pytest.approx(row, rel=1e-14)


def test_sigma_of_a_ball_is_that_of_a_unit_vector():
    sigma, epsilon = L2Norm(0.8).exact_sigma(None)
    assert epsilon == 0.4
    assert 1 - 1e-14 < sigma < 1
    rng = np.random.default_rng(1)
    for d in (1, 2, 50):
        x = rng.normal(size=(200, d))
        x *= 0.4 / np.linalg.norm(x, axis=1, keepdims=True)
        assert np.linalg.norm(L2Norm(0.8).query(x)[1], axis=1).min() >= sigma


@pytest.mark.parametrize("d", [1, 2, 7])
def test_sigma_of_a_cube_is_attained_at_its_corners(d):
    sigma, epsilon = LinfNorm(0.8, d).exact_sigma(0.25)
    assert epsilon == 0.25
    # At a corner all signed unit vectors are active; their mean is the shortest combination.
    assert sigma == pytest.approx(np.linalg.norm(np.ones(d) / d), rel=1e-15)


@pytest.mark.parametrize("centre", [None, CENTRE, 1e3 * CENTRE / 7])
def test_the_region_of_a_cube_is_feasible_exactly(centre):
    rng = np.random.default_rng(5)
    for radius in rng.uniform(0.01, 2.0, size=20):
        g = LinfNorm(radius, 3, centre)
        corners = g.region.project(
            (centre if centre is not None else 0) + rng.normal(size=(50, 3)) * 9
        )
        assert (g.value(corners) <= 0).all()


def test_the_region_of_a_ball_is_feasible_exactly():
    rng = np.random.default_rng(6)
    for centre in (None, CENTRE, 1e6 * CENTRE / 7):
        for radius in rng.uniform(0.01, 2.0, size=20):
            g = L2Norm(radius, centre)
            x = g.region.project(rng.normal(size=(50, 3)) * 1e7)
            assert (g.value(x) <= 0).all()
            assert all(g.value(point) <= 0 for point in x)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: L2Norm(0.0), "radius must be a finite number > 0, got 0.0"),
        (lambda: L2Norm(1.0, [NAN]), "centre must be finite, got nan at index 0"),
        (lambda: LinfNorm(-1.0, 2), "radius must be a finite number > 0, got -1.0"),
        (lambda: LinfNorm(1.0, 2.5), "dimension must be a whole number >= 1, got 2.5"),
        (lambda: LinfNorm(1.0, 0), "dimension must be a whole number >= 1, got 0"),
        (lambda: LinfNorm(1.0, 3, [0.0, 0.0]), "centre.shape must be (3,), got (2,)"),
    ],
)
def test_bad_numbers_are_named(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


@pytest.mark.parametrize("g", [L2Norm(1.0, CENTRE), LinfNorm(1.0, 3)], ids=["l2", "linf"])
@pytest.mark.parametrize("x", [np.zeros(2), np.zeros(1), np.zeros((4, 1))], ids=str)
def test_an_action_of_another_length_is_refused(g, x):
    sentence = f"x must have 3 entries, got shape {x.shape}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        g.query(x)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
def test_numbers_of_every_kind_give_the_same_constraint(kind):
    for g in (L2Norm(kind(2)), LinfNorm(kind(2), np.int64(3))):
        assert type(g.radius) is float
        value, _ = g.query(np.array([4.0, 0.0, -1.0]))
        assert type(value) is float
    assert type(LinfNorm(1.0, np.int64(3)).dimension) is int


@pytest.mark.parametrize("g", [L2Norm(0.75, CENTRE), LinfNorm(0.75, 3, CENTRE)], ids=["l2", "linf"])
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_are_equal(g, again):
    assert again(g) == g
    assert again(g) != type(g)(0.75, 3) if isinstance(g, LinfNorm) else again(g) != L2Norm(0.75)
