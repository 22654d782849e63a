import math

import numpy as np
import pytest

from surefoot.sets import Ball, Box, Ellipsoid, Halfspace, L1Ball, Polytope, Product, Simplex

from .laws import BackendLaws, Case, Laws, agree_with_clarabel


def one(rng):
    return Case(Product([Ball(0.7)], [3]), 3, 0.7, 256)


def mixed(rng):
    sets = [Simplex(3, 2.0), Ball(1.0), Box([-1.0, 0.0], [0.5, 2.0]), L1Ball(0.5, [3.0, -1.0])]
    # Each part is computed as its set computes it; 256 u is above all four of them.
    return Case(Product(sets, [3, 4, 2, 2]), 11, 3.0, 256)


def pair(rng):
    return Case(Product([Ball(0.7), Simplex(2)], [3, 2]), 5, 1.0, 256)


def nested(rng):
    inner = Product([Simplex(2, filled=True), Ball(1.5, [0.5, 0.25])])
    return Case(Product([inner, Ellipsoid([[2.0, 0.5], [0.5, 1.0]])]), 6, 2.0, 1024)


FAMILIES = [one, mixed, nested]
TYPICAL = [pair]


TestLaws, TestBackends = Laws, BackendLaws


@pytest.mark.slow
def test_clarabel_finds_the_same_projections():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    p, x, radius, upper = cp.Variable(8), cp.Parameter(8), cp.Parameter(), cp.Parameter(2)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(p - x)),
        [p[:3] >= 0, cp.sum(p[:3]) == 1, cp.norm(p[3:6]) <= radius, p[6:] >= -1, p[6:] <= upper],
    )

    def draw():
        radius.value, upper.value = rng.uniform(0.2, 3.0), rng.uniform(-1.0, 2.0, size=2)
        x.value = 2 * rng.normal(size=8)
        region = Product(
            [Simplex(3), Ball(radius.value), Box([-1.0, -1.0], upper.value)], [3, 3, 2]
        )
        return x.value, region.project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-9)


def test_each_set_acts_on_its_own_entries():
    region = Product([Box([0.0], [1.0]), Ball(1.0), Simplex(2)], [1, 2, 2])
    x = np.array([5.0, 3.0, -4.0, 0.5, 0.0])
    assert region.project(x) == pytest.approx([1.0, 0.6, -0.8, 0.75, 0.25])
    assert region.minimize_linear(-x) == pytest.approx([1.0, 0.6, -0.8, 1.0, 0.0])
    for wrong in ([2.0, 0.0, 0.0, 1.0, 0.0], [1.0, 2.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0, 1.0]):
        assert region.contains(np.array(wrong)) is False


def test_sizes_are_those_of_the_sets_that_know_them():
    region = Product([Simplex(3), Box([0.0], [1.0])])
    assert region.sizes == (3, 1)
    assert region.dimension == 4
    assert region == Product((Simplex(3), Box([0.0], [1.0])), sizes=(3, 1))
    assert region != Product([Simplex(3), Box([0.0], [2.0])])


def test_diameters_add_as_the_sides_of_a_right_angle():
    assert Product([Ball(1.5), Box([0.0], [4.0])], [3, 1]).diameter == 5.0
    assert Product([Ball(1.5), Halfspace([1.0, 0.0], 4.0)], [3, 2]).diameter == math.inf


def test_a_part_without_a_linear_minimum_says_so():
    with pytest.raises(ValueError, match="got a Halfspace"):
        Product([Simplex(2), Halfspace([1.0, 0.0], 1.0)]).minimize_linear(np.ones(4))


def test_a_polytope_may_be_a_part():
    pytest.importorskip("qpsolvers")
    region = Product([Simplex(2), Polytope([[1.0, 2.0]], [2.0])])
    p = region.project(np.array([[2.0, 0.0, 2.0, 2.0], [0.5, 0.5, 0.0, 0.0]]))
    assert p == pytest.approx(np.array([[1.0, 0.0, 1.2, 0.4], [0.5, 0.5, 0.0, 0.0]]), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([],), "sets must be at least one set, got none"),
        (([3.0],), "sets must have project and contains and minimize_linear, got 3.0"),
        (([Ball(1.0)],), "sizes must be given for this Ball, got None"),
        (([Ball(1.0)], [2, 3]), "sizes must be 1, one for each set, got 2"),
        (([Ball(1.0)], [0]), "each of sizes must be a whole number >= 1, got 0"),
        (([Simplex(3)], [2]), "sizes must be 3 for this Simplex, got 2"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError) as error:
        Product(*arguments)
    assert str(error.value) == sentence
