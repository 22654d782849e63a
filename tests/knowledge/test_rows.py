"""Regions of several constraints, and of a known set beside them."""

import numpy as np
import pytest

from surefoot.knowledge import CurvatureRows, EmptyRegionError, Errors
from surefoot.sets import Ball, Box, Product, Simplex

from ._seen import see, suspects


def seen(known, x, g, s):
    x = np.asarray(x, dtype=float)
    return see(known, known.init(x), x, np.asarray(g, dtype=float), np.asarray(s, dtype=float))[1]


def brute(region, w, rng, tries=4_000):
    """The distance from w to the nearest of many points that are certified."""
    q = rng.normal(size=(tries, len(w))) * rng.uniform(0, 1, (tries, 1))
    rows, level = region.base, region.base.each.level[:, 0]
    bent = 0.5 * np.multiply.outer((q * q).sum(1), rows.own.beta)
    good = (level + q @ rows.own.s.T + bent <= 0).all(axis=1)
    for known in () if region is rows else region.known.sets:
        good &= known.contains(region.x + q)[:, 0]
    return np.linalg.norm(region.x + q[good] - w, axis=1).min()


def test_two_half_spaces_meet_in_their_corner():
    region = seen(CurvatureRows(beta=0.0, rows=2, reach=1.0), [0, 0], [-0.5, -0.25], np.eye(2))
    assert region.nearest(np.array([3.0, 4.0])) == pytest.approx([0.5, 0.25], abs=1e-12)
    assert region.cut(np.array([3.0, 4.0])) == pytest.approx([0.5, 0.25], abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 1.0, (0.0, 2.0, 0.5)])
def test_the_nearest_point_is_nearer_than_any_other_that_is_certified(beta):
    rng = np.random.default_rng(4)
    known = CurvatureRows(beta=beta, rows=3, reach=2.0)
    for _ in range(4):
        s, g = rng.normal(size=(3, 3)), -rng.uniform(0.05, 0.5, 3)
        region, w = seen(known, 0.1 * rng.normal(size=3), g, s), 2 * rng.normal(size=3)
        p = region.nearest(w)
        assert region.holds(p)
        assert np.linalg.norm(p - w) <= brute(region, w, rng)


def test_a_known_set_is_projected_onto_together_with_the_rows():
    rng = np.random.default_rng(5)
    lost = 0
    known = CurvatureRows(beta=1.0, rows=1, reach=2.0, domain=Box.cube(0.3, 3))
    for _ in range(30):
        g, s = -rng.uniform(0.01, 0.2, 1), rng.normal(size=(1, 3))
        region, w = seen(known, 0.1 * rng.uniform(-1, 1, 3), g, s), rng.normal(size=3)
        p, cut = region.nearest(w), region.cut(region.x + 0.2 * (w - region.x))
        for q in (p, cut):
            assert region.base.bounds(q).max() <= 0
            assert known.domain.contains(q)
        assert np.linalg.norm(p - w) <= brute(region, w, rng)
        alone = CurvatureRows(beta=1.0, rows=1, reach=2.0)
        clipped = known.domain.project(seen(alone, region.x, g, s).nearest(w))
        lost += region.base.bounds(clipped).max() > 0
    assert lost > 0  # one after the other leaves what is certified


@pytest.mark.parametrize(
    ("domain", "x"),
    [
        (Simplex(3), [0.3, 0.3, 0.4]),
        (Simplex(3, filled=True), [0.2, 0.2, 0.1]),
        (Product([Box([-0.1], [0.2]), Ball(0.4)], sizes=[1, 2]), [0.0, 0.1, 0.1]),
    ],
    ids=["simplex", "filled simplex", "product"],
)
def test_known_sets_of_several_kinds_hold_every_answer(domain, x):
    rng, x = np.random.default_rng(6), np.array(x)
    known = CurvatureRows(beta=(1.0, 0.0), reach=1.0, domain=domain)
    moved = 0
    for _ in range(12):
        region = seen(known, x, -rng.uniform(0.02, 0.2, 2), rng.normal(size=(2, 3)))
        p = region.nearest(x + rng.normal(size=3))
        assert domain.contains(p)
        assert region.base.bounds(p).max() <= 0
        moved += np.linalg.norm(p - x) > 1e-3
    assert moved > 9


def test_a_set_that_is_announced_is_intersected_with():
    known = CurvatureRows(beta=1.0, rows=1, reach=1.0)
    region = seen(known, [0.0, 0.0], [-0.5], [[0.0, 1.0]])
    p = region.within(Box([0.1, -1.0], [0.2, 1.0])).nearest(np.array([0.0, 3.0]))
    assert p[0] == pytest.approx(0.1)
    assert region.base.bounds(p).max() <= 0
    assert p[1] == pytest.approx(-1 + np.sqrt(2 - 0.01), abs=1e-6)  # on the ball around (0, -1)


def test_an_announced_set_without_a_certified_action_says_so_and_names_the_nearest():
    known = CurvatureRows(beta=1.0, rows=1, reach=1.0)
    region = seen(known, [0.0, 0.0], [-0.5], [[0.0, 1.0]])
    closed = region.within(Box([-1.0, 0.6], [1.0, 1.0]))
    with pytest.raises(EmptyRegionError, match="the nearest certified one is") as error:
        closed.nearest(np.array([0.0, 3.0]))
    assert error.value.point == pytest.approx([0.0, np.sqrt(2) - 1], abs=1e-9)
    assert "0.186 away" in str(error.value)


def test_a_start_outside_and_a_set_without_a_projection_are_refused():
    with pytest.raises(ValueError, match="domain must be a set with a projection, got 3"):
        CurvatureRows(beta=1.0, rows=1, reach=1.0, domain=3)
    known = CurvatureRows(beta=1.0, rows=1, reach=1.0, domain=Box([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(ValueError, match=r"x1 must be in the domain Box.*-0\.5"):
        known.init(np.array([-0.5, 0.5]))
    with pytest.raises(ValueError, match="rows must be 2, one per curvature in beta, got 3"):
        CurvatureRows(beta=(1.0, 2.0), rows=3, reach=1.0)
    with pytest.raises(ValueError, match=r"constraint_value.shape must be \(2,\)"):
        seen(CurvatureRows(beta=(1.0, 2.0), reach=1.0), [0.0], [-1.0], [[1.0]])


def test_a_row_that_contradicts_its_curvature_is_named():
    known, x, y = CurvatureRows(beta=(2.0, 0.5), reach=1.0), np.zeros(2), np.array([0.3, 0.1])

    def query(p):
        return np.array([p @ p - 0.5, p @ p - 0.7]), np.array([2 * p, 2 * p])

    assert suspects(known, known.init(x), x, *query(x)) == ()
    memory, _ = see(known, known.init(x), x, *query(x))
    (sentence,) = suspects(known, memory, y, *query(y))
    assert sentence.startswith("round 2: g[1] =")
    assert "more than beta = 0.5" in sentence
    assert see(known, memory, y, *query(y))[1].curvature_seen == pytest.approx(2.0)
    right = CurvatureRows(beta=2.0, rows=2, reach=1.0)
    assert suspects(right, memory, y, *query(y)) == ()


def test_one_row_may_be_told_as_a_number_and_another_number_of_rows_is_refused():
    known, x = CurvatureRows(beta=1.0, rows=1, reach=1.0), np.zeros(2)
    w = np.array([0.0, 9.0])
    alone = see(known, known.init(x), x, -0.5, np.array([0.0, 1.0]))[1]
    assert alone.nearest(w) == pytest.approx([0.0, np.sqrt(2) - 1])
    assert known.row_count == 1
    with pytest.raises(ValueError, match="x1 must be one NumPy vector"):
        known.init(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"constraint_value.shape must be \(m,\)"):
        see(CurvatureRows(beta=1.0, rows=2, reach=1.0), known.init(x), x, -0.5, np.eye(2))


def test_a_far_wish_and_rows_that_hardly_meet_get_a_certified_answer():
    # Two slopes that nearly cancel: dual ascent takes long, and what it has is drawn back.
    rng = np.random.default_rng(9)
    known = CurvatureRows(beta=(2.0, 2.0), reach=2.0)
    moved = 0
    for far in (1.0, 1e3, 1e6):
        for _ in range(20):
            s = rng.normal(size=2)
            s = np.array([s, -s + 1e-3 * rng.normal(size=2)])
            region = seen(known, [0.0, 0.0], -rng.uniform(1e-6, 1e-2, 2), s)
            p = region.nearest(far * rng.normal(size=2))
            assert region.holds(p)
            assert region.nearest(p) is p
            moved += np.linalg.norm(p) > 1e-6
    assert moved > 55


def test_a_bound_is_kept_exactly_while_the_action_stays():
    known = CurvatureRows(beta=(1.0, 0.0), reach=2.0, errors=Errors(value=0.1))
    x, s = np.zeros(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    memory, region = see(known, known.init(x), x, np.array([-0.6, -0.6]), s)
    x = region.nearest(np.array([9.0, 9.0]))
    memory, _ = see(known, memory, x, np.array([0.0, 0.0]), s)
    before = memory.last.value
    for _ in range(100):
        memory, region = see(known, memory, x, np.array([0.09, 0.09]), s)
        assert region.contains(x)
    assert (memory.last.value == before).all()
