"""The one search for the nearest point of bounds and sets: its answer is checked by its duals."""

import time
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from surefoot.knowledge import CurvatureRows, EmptyRegionError, Errors, Reading
from surefoot.knowledge.nearest import Bounds, KnownSets, project_onto_bounds
from surefoot.sets import Ball, Box, L1Ball, Simplex

from ._seen import see


def draw(rng, m, d, beta, tau):
    s = rng.normal(size=(m, d))
    up = -rng.uniform(0.02, 0.3, m)
    bent = beta * rng.uniform(0.0, 1.0, m)
    return Bounds(up, s, bent, np.full(m, tau), np.full(m, 1e-12))


def excess(bounds, v, q, lam):
    """How far multipliers are from being those of the nearest point: slope, sign, slackness."""
    length = np.linalg.norm(q)
    slopes = bounds.s + np.outer(bounds.beta + bounds.tau / length, q)
    over = bounds.values(q)
    return max(abs(v - q - lam @ slopes).max(), over.max(), abs(lam * over).max(), -lam.min())


@pytest.mark.parametrize("far", [0.3, 3.0, 300.0])
@pytest.mark.parametrize(("m", "d"), [(1, 3), (4, 2), (6, 20), (40, 5)])
@pytest.mark.parametrize(("beta", "tau"), [(0.0, 0.0), (2.0, 0.0), (2.0, 0.05)])
def test_multipliers_prove_that_the_point_is_the_nearest(m, d, beta, tau, far):
    rng = np.random.default_rng(m + d)
    for _ in range(5):
        bounds, v = draw(rng, m, d, beta, tau), rng.normal(size=d)
        v *= far / np.linalg.norm(v)
        q, lam = project_onto_bounds(v, bounds)
        assert excess(bounds, v, q, lam) <= 1e-9 * max(far, 1.0)
        assert lam.any() or (q == v).all()


def test_by_hand_a_half_space_with_an_error_of_its_slope():
    # -1 + y + |q|/2 <= 0 from far above: (0, 2/3), and the slope there is (0, 3/2).
    one = np.ones(1)
    cone = Bounds(-one, np.array([[0.0, 1.0]]), 0 * one, 0.5 * one, 1e-12 * one)
    q, lam = project_onto_bounds(np.array([0.0, 3.0 + 2.0 / 3.0]), cone)
    assert q == pytest.approx([0.0, 2.0 / 3.0], abs=1e-12)
    assert lam == pytest.approx([2.0], abs=1e-12)


SETS = {
    "box": (Box([-1.0, -0.3, -0.2, -1.0], [0.3, 0.4, -0.2, 1.0]),),
    "two boxes": (Box([-1.0] * 4, [0.2] * 4), Box([-0.1] * 4, [1.0] * 4)),
    "ball": (Ball(0.4, [0.1, 0.0, 0.0, 0.0]),),
    "simplex": (Simplex(4),),
    "others": (L1Ball(0.5), Ball(0.35)),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_in_sets_no_point_of_many_is_nearer(name, beta):
    rng, known, origin = np.random.default_rng(7), KnownSets(*SETS[name]), np.zeros(4)
    some, found = 0.7 * rng.normal(size=(20_000, 4)), 0
    for part in known.sets:
        some = part.project(some)
    some = some[np.all([part.contains(some)[:, 0] for part in known.sets], axis=0)]
    for _ in range(6):
        bounds, v = draw(rng, 3, 4, beta, 0.0), 2.0 * rng.normal(size=4)
        bounds = bounds._replace(up=bounds.up - 0.3)
        bent = np.multiply.outer((some * some).sum(axis=1), 0.5 * bounds.beta)
        good = some[(bounds.up + some @ bounds.s.T + bent <= 0).all(axis=1)]
        joined = bounds.join(known.bounds(origin, 0.0))
        q, lam = project_onto_bounds(v, joined, partial(known.cut, origin, 1.0, 0.0))
        off = max(np.linalg.norm(part.project(q) - q) for part in known.sets)
        if bounds.values(q).max() > 1e-9 or off > 1e-9:
            assert not len(good)
            continue
        found += 1
        # No point of all of them is beyond the plane through q across the way from v.
        assert ((good - q) @ (v - q) <= 1e-6).all()
        assert (lam >= 0).all()
    assert found > 2


def test_bounds_that_no_point_meets_end_the_search():
    one, s = np.ones(2), np.array([[1.0, 0.0], [-1.0, 0.0]])
    separately = Bounds(one, s, 0 * one, 0 * one, 1e-12 * one)
    q, lam = project_onto_bounds(np.ones(2), separately)
    assert separately.values(q).max() >= 1.0
    assert np.isfinite(lam).all()


def test_an_announced_box_that_is_apart_from_the_known_one_is_empty():
    known, x = (
        CurvatureRows(beta=(1.0,), reach=3.0, domain=Box([-1.0, -1.0], [1.0, 1.0])),
        np.zeros(2),
    )
    reading = Reading(x, np.array([-0.5]), np.array([[0.0, 1.0]]), known.errors)
    region = known.region(known.observe(known.init(x), reading), known.errors)
    with pytest.raises(EmptyRegionError, match=r"0\.5 away") as error:
        region.within(Box([1.5, -1.0], [3.0, -1.0])).nearest(np.array([2.5, -1.0]))
    np.testing.assert_allclose(error.value.point, [1.0, -1.0], atol=1e-6)


def test_an_announced_box_without_a_certified_point_is_said_with_the_nearest_one():
    known = CurvatureRows(beta=(1.0,), reach=3.0)
    x = np.array([0.0, 0.0])
    reading = Reading(x, np.array([-0.5]), np.array([[0.0, 1.0]]), known.errors)
    region = known.region(known.observe(known.init(x), reading), known.errors)
    # The certified ball is around (0, -1) with radius sqrt 2.
    with pytest.raises(EmptyRegionError) as error:
        region.within(Box([2.0, -1.0], [3.0, -1.0])).nearest(np.array([2.5, -1.0]))
    np.testing.assert_allclose(error.value.point, [np.sqrt(2.0), -1.0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("announced", [Box([0.05] * 20, [0.4] * 20), Simplex(20), Ball(0.3)])
def test_no_search_takes_long(announced):
    # Errors of slopes, drift, a known box, an announced set without the action: it took seconds.
    rng, errors = np.random.default_rng(2), Errors(value=5e-3, slope=0.02, drift=3e-4)
    known = CurvatureRows(
        beta=(2.0, 1.0, 0.5, 0.0, 0.0),
        reach=2.0,
        domain=Box([-0.4] * 20, [0.4] * 20),
        errors=errors,
    )
    x = np.zeros(20)
    s = rng.normal(size=(5, 20))
    s /= np.linalg.norm(s, axis=1, keepdims=True)
    memory, _ = see(known, known.init(x), x, np.full(5, -0.3), s)
    spent = []
    for _ in range(12):
        _, region = see(known, memory, x, -rng.uniform(0.01, 0.3, 5), s)
        begun = time.process_time()
        with suppress(EmptyRegionError):
            region.within(announced).nearest(3.0 * rng.normal(size=20))
        spent.append(time.process_time() - begun)
    assert np.median(spent) <= 0.1  # some milliseconds, on a machine that has others to serve
