"""Newton's method on the multipliers of rows in a box, against cyclic ascent."""

import numpy as np
import pytest

from surefoot.regions import CurvatureRows, EmptyRegionError, Reading
from surefoot.regions.known_set import AllSets
from surefoot.regions.quadratics import ascend, ascend_boxed
from surefoot.sets import Ball, Box


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bent", [0.0, 0.3])
def test_newton_finds_the_point_of_cyclic_ascent_and_its_multipliers(seed, bent):
    draw = np.random.default_rng(seed)
    m, d = 4, 7
    s, up, beta = draw.normal(size=(m, d)), -draw.uniform(0.02, 0.1, m), np.full(m, bent)
    v, low, high = 2.0 * draw.normal(size=d), np.full(d, -1.0), np.full(d, 0.4)
    low[0] = high[0] = -0.2  # an entry that may not move
    none, close = np.zeros(m), np.full(m, 1e-11)
    q, lam = ascend_boxed(v, up, s, beta, low, high, close, none)
    slow, _ = ascend(
        v, up, s, beta, none, close, 0.5 * close, 2_000, lambda p: np.clip(p, low, high)
    )
    np.testing.assert_allclose(q, slow, atol=1e-6)
    over = up + s @ q + 0.5 * beta * (q @ q)
    assert (over <= 1e-11).all()
    assert (lam >= 0).all()
    assert (abs(lam * over) <= 1e-9).all()
    np.testing.assert_allclose(q, np.clip((v - lam @ s) / (1 + lam @ beta), low, high), atol=1e-12)
    assert lam.any()


def test_rows_that_no_point_of_the_box_meets_have_no_answer():
    up, s = np.array([1.0]), np.array([[1.0, 0.0]])
    box, none = (np.zeros(2), np.ones(2)), np.zeros(1)
    assert ascend_boxed(np.ones(2), up, s, none, *box, np.full(1, 1e-12), none) is None


def test_boxes_have_a_box_in_common_unless_they_are_apart_or_one_is_no_box():
    one, two = Box([0.0, 0.0], [2.0, 2.0]), Box([1.0, -1.0], [3.0, 1.0])
    low, high = AllSets(one, two).corners
    assert low.tolist() == [1.0, 0.0]
    assert high.tolist() == [2.0, 1.0]
    assert AllSets(one, two).project(np.array([9.0, -9.0])).tolist() == [2.0, 0.0]
    apart = AllSets(one, Box([5.0, 5.0], [6.0, 6.0]))
    assert apart.corners is None
    assert apart.is_empty
    assert AllSets(one, Ball(1.0)).corners is None


def test_an_announced_box_that_is_apart_from_the_known_one_is_empty_at_once():
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
