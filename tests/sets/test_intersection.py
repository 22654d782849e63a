"""Intersections: always inside, as near as the bound says, and good enough for projected rules."""

import math
import pickle

import numpy as np
import pytest

from surefoot import Ball, calibrate, play
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm, max_of
from surefoot.problems.costs import Linear
from surefoot.rules import OGD
from surefoot.sets import Box, Ellipsoid, Halfspace, Intersection, Polytope, Simplex

RNG = np.random.default_rng(23)
SLAB = (Halfspace([1.0, -1.0], 0.2), Halfspace([-1.0, 1.0], 0.2))
FAIR = Intersection([Ball(1.0), *SLAB], [0.0, 0.0])


def lens(d, rng):
    """A ball, a box and a slab in general position around a common point."""
    inner = rng.normal(size=d) / d
    a = rng.normal(size=d)
    middle = float(a @ inner)
    return Intersection(
        (
            Ball(1.0, inner + 0.6 * rng.normal(size=d) / d),
            Box(inner - rng.uniform(0.1, 0.8, d), inner + rng.uniform(0.1, 0.8, d)),
            Halfspace(a, middle + 0.3),
            Halfspace(-a, 0.2 - middle),
        ),
        inner,
    )


def test_a_corner_by_hand():
    # On the circle with x - y = 0.2: x^2 + (x - 0.2)^2 = 1 at x = 0.8.
    assert FAIR.project(np.array([2.0, 0.5])) == pytest.approx([0.8, 0.6], abs=1e-7)
    assert FAIR.project(np.array([0.5, -0.5])) == pytest.approx([0.1, -0.1], abs=1e-7)
    inside = np.array([0.1, 0.05])
    assert FAIR.project(inside) is inside
    assert (FAIR.dimension, FAIR.diameter) == (2, 2.0)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_answers_are_inside_exactly_and_within_their_error(d):
    rng = np.random.default_rng(d)
    region = lens(d, rng)
    for _ in range(6):
        x = region.inner + rng.normal(size=d) * 10.0 ** rng.uniform(-1, 0.5)
        found = region.nearest(x)
        assert all(one.contains(found.point) for one in region.sets)
        # The variational inequality of a projection, at points of the set: no point beats it.
        for _ in range(20):
            y = region.snap_inside(region.inner + 0.3 * rng.normal(size=d))
            far = np.linalg.norm(x - y)
            assert np.linalg.norm(x - found.point) <= far + found.error
        assert found.error <= 1e-5 * (1 + np.linalg.norm(x))


def test_half_spaces_are_projected_onto_as_the_polytope_that_they_make():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(6, 3))
    b = np.abs(A).sum(axis=1) * 0.4
    whole = Polytope(A, b)
    split = Intersection([Halfspace(a, c) for a, c in zip(A, b, strict=True)], np.zeros(3))
    mixed = Intersection([whole, Ball(50.0)], np.zeros(3))
    for _ in range(3):
        x = 2 * rng.normal(size=3)
        exact = whole.project(x)
        assert split.project(x) == pytest.approx(exact, abs=1e-7)
        assert mixed.project(x) == pytest.approx(exact, abs=1e-7)
        assert whole.contains(mixed.project(x))


def test_the_error_is_a_bound_where_the_projection_is_known():
    corner = Intersection([Box([0.0, 0.0], [1.0, 1.0]), Halfspace([1.0, 1.0], 1.5)], [0.5, 0.5])
    for x, exact in (
        ([3.0, 3.0], [0.75, 0.75]),
        ([3.0, 0.0], [1.0, 0.0]),
        ([2.0, 1.2], [1.0, 0.5]),
    ):
        found = corner.nearest(np.array(x))
        assert np.linalg.norm(found.point - exact) <= found.error < 1e-6


def test_a_batch_is_each_of_its_runs_and_nan_stays():
    x = np.array([[2.0, 0.5], [0.0, 0.0], [math.nan, 1.0]])
    found = FAIR.project(x)
    assert found[0].tobytes() == FAIR.project(x[0]).tobytes()
    assert found[1].tolist() == [0.0, 0.0]
    assert np.isnan(found[2]).all()
    assert FAIR.contains(found).ravel().tolist() == [True, True, False]
    with pytest.raises(ValueError, match="finite"):
        FAIR.project(x[2])


def test_a_set_of_ones_own_needs_a_projection_and_contains():
    class Octant:
        def project(self, x):
            return np.maximum(x, 0.0)

        def contains(self, x):
            return bool((x >= 0).all())

    both = Intersection([Octant(), Ball(1.0)], [0.1, 0.1])
    assert both.project(np.array([-1.0, 3.0])) == pytest.approx([0.0, 1.0], abs=1e-7)
    assert both.diameter == 2.0


@pytest.mark.parametrize(
    ("sets", "inner", "words"),
    [
        ([], [0.0], "at least one set"),
        ([Ball(1.0), 3], [0.0], "must have project and contains, got 3"),
        ([Ball], [0.0], "must have project and contains"),
        ([Box([0.0], [1.0]), Box([0.0, 0.0], [1.0, 1.0])], [0.0], "one dimension, got 1 and 2"),
        ([Ball(1.0), Box([0.5], [2.0])], [0.0], "inner must be in every set"),
        ([Ball(1.0)], "x", "inner"),
    ],
)
def test_what_is_no_intersection_is_refused_in_a_sentence(sets, inner, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Intersection(sets, inner)


def test_what_it_cannot_do_is_said():
    with pytest.raises(ValueError, match="take a rule that projects"):
        FAIR.minimize_linear(np.array([1.0, 0.0]))
    with pytest.raises(TypeError, match="NumPy arrays"):
        FAIR.project([1.0, 2.0])


def test_it_is_compared_printed_and_pickled_by_value():
    same = Intersection([Ball(1.0), *SLAB], [0.0, 0.0])
    assert same == FAIR
    assert pickle.loads(pickle.dumps(FAIR)) == FAIR
    assert repr(FAIR).startswith("Intersection(sets=(Ball(radius=1.0")


def test_a_maximum_of_constraints_has_the_intersection_of_their_regions():
    g = max_of(L2Norm(1.0), LinfNorm(0.8, 2), Affine([[1.0, -1.0]], [0.2]))
    assert [type(one) for one in g.region.sets] == [Ball, Box, Halfspace]
    for x in 3 * RNG.normal(size=(20, 2)):
        assert g.value(g.region.project(x)) <= 0
    assert max_of(L2Norm(1.0)).region == Ball(1.0)


def test_a_projected_rule_plays_a_problem_with_a_norm_and_a_fairness_limit():
    rng = np.random.default_rng(6)
    g = max_of(L2Norm(1.0), Affine([[1.0, -1.0, 0.5], [-1.0, 1.0, -0.5]], [0.2, 0.2]))
    costs = Linear(rng.normal(size=(80, 3)) + np.array([1.0, -0.5, 0.0]))
    problem = Problem.of(costs, g, Ball(1.0), np.zeros(3))
    tuned = OGD.fixed(problem.constants, 80, g.region)
    trace = play(tuned, problem)
    assert (trace.constraint <= 0).all()
    assert trace.regret().upper[-1] <= tuned.guarantee.regret_bound(80)


def test_rules_that_minimise_linear_functions_are_not_offered():
    g = max_of(L2Norm(1.0), Affine([[1.0, -1.0]], [0.2]))
    problem = Problem.of(Linear(np.ones((20, 2))), g, Ball(1.0), np.zeros(2))
    offers = {offer.name: offer for offer in calibrate(problem).offers}
    assert offers["OGD.fixed"].standing == "proved"
    assert offers["FrankWolfe.tuned"].standing == "none"
    assert "needs a linear minimisation" in offers["FrankWolfe.tuned"].missing


def test_no_point_in_common_but_the_edge_still_answers_inside():
    touching = Intersection([Ball(1.0), Halfspace([-1.0, 0.0], -1.0)], [1.0, 0.0])
    found = touching.nearest(np.array([0.0, 2.0]))
    assert touching.contains(found.point)


def test_other_sets_join():
    both = Intersection(
        [Simplex(3), Ellipsoid(np.diag([2.0, 3.0, 4.0]), np.zeros(3))], np.full(3, 1 / 3)
    )
    assert both.sets[0].contains(both.inner)
