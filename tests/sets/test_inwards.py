"""Sets moved inwards: every ball around a point that is left is in the set."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.core.errors import InvalidValueError
from surefoot.sets import (
    Ball,
    Box,
    Ellipsoid,
    Halfspace,
    Intersection,
    Polytope,
    Simplex,
    move_inwards,
)

SEEDS = st.integers(0, 2**32 - 1)


def draw_set(rng, d):
    """A set of every kind around a point, which may be far from 0."""
    centre = rng.normal(size=d) * 10.0 ** rng.uniform(-1, 4)
    width = rng.uniform(0.5, 3.0, d)
    A = rng.normal(size=(2 * d + 1, d))
    rows = np.vstack([A, np.eye(d), -np.eye(d)])
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    box = Box(centre - width, centre + width)
    half = Halfspace(A[0], float(A[0] @ centre) + 0.5)
    return [
        Ball(1.0, centre),
        box,
        half,
        Polytope(rows, rows @ centre + 1.0),
        Ellipsoid((basis * width**-2.0) @ basis.T, centre),
        Intersection([box, half, Ball(1.0, centre)], inner=centre),
    ]


@pytest.mark.parametrize("i", range(6))
@given(seed=SEEDS, d=st.integers(1, 6), length=st.floats(1e-6, 0.1))
@settings(max_examples=30, deadline=None)
def test_a_ball_around_every_point_that_is_left_is_in_the_set(i, seed, d, length):
    rng = np.random.default_rng(seed)
    known = draw_set(rng, d)[i]
    inside = move_inwards(known, length)
    middle = np.asarray(
        getattr(known, "centre", None) if i in (0, 4) else inside.project(np.zeros(d))
    )
    for _ in range(10):
        x = inside.project(middle + 10.0 * rng.normal(size=d))
        assert inside.contains(x)
        u = rng.normal(size=d)
        assert known.contains(x + length * (u / np.linalg.norm(u)))


def test_as_much_is_left_as_can_be():
    np.testing.assert_allclose(move_inwards(Box([0.0], [1.0]), 0.25).upper, [0.75], atol=1e-9)
    assert move_inwards(Ball(1.0), 0.25).radius == pytest.approx(0.75)
    assert move_inwards(Halfspace([0.0, 2.0], 1.0), 0.25).offset == pytest.approx(0.5)
    moved = move_inwards(Polytope([[3.0, 4.0], [-3.0, -4.0]], [5.0, 5.0]), 0.5)
    np.testing.assert_allclose(moved.b, [2.5, 2.5])
    flat = move_inwards(Ellipsoid(np.diag([1.0, 4.0])), 0.125)  # three quarters of it
    np.testing.assert_allclose(flat.P, np.diag([1.0, 4.0]) / 0.5625)


class Twice(Box):
    """A box of one's own that holds less."""

    def contains(self, x):
        return bool(super().contains(2 * x))


@pytest.mark.parametrize(
    "known",
    [
        Ball(0.1),
        Box([0.0, 0.0], [1.0, 0.15]),
        Polytope([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.1, 0.1, 1.0, 1.0]),
        Ellipsoid(np.diag([1.0, 100.0])),
        Intersection([Ball(1.0), Halfspace([1.0], 0.0), Halfspace([-1.0], 0.1)], inner=[-0.05]),
        Simplex(3),
        Twice([-1.0, -1.0], [1.0, 1.0]),
        object(),
    ],
    ids=lambda known: type(known).__name__,
)
def test_a_set_that_is_too_thin_or_unknown_is_refused_in_a_sentence(known):
    with pytest.raises(InvalidValueError, match="the set must be a set that holds a ball of rad"):
        move_inwards(known, 0.1)
