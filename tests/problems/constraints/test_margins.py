"""Bounds are rounded to their safe side, and edges are told from interiors."""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot.problems.constraints import (
    Affine,
    EllipsoidNorm,
    L2Norm,
    LinfNorm,
    QuadraticForm,
    SecondOrderCone,
    SpectralNorm,
    max_of,
    shift,
)
from surefoot.problems.constraints.base import bound_above, bound_below
from surefoot.sets import Ball


def root(q, bits=400):
    return Fraction(math.isqrt((q.numerator << bits) // q.denominator), 1 << (bits // 2))


def test_the_depth_of_parallel_rows_is_that_of_the_tightest_pair():
    slab = Affine([[1.0], [-1.0], [1.0]], [1.0, 1.0, 3.0])  # x <= 1, -x <= 1, x <= 3
    assert slab.exact_sigma(None)[1] == 0.5  # half of the depth, 1 at x = 0
    with pytest.raises(ValueError, match="epsilon must be > 0 and below 1, the depth"):
        slab.exact_sigma(1.5)


def test_a_row_that_is_far_below_0_counts_with_its_size():
    assert Affine([[1.0, 0.0]], [5.0]).value_bound(Ball(1.0)) == 6.0


def test_no_row_is_longer_than_the_bound_on_subgradients():
    for seed in range(40):
        a = np.random.default_rng(seed).normal(size=7)
        exact = sum(Fraction(float(v)) ** 2 for v in a)
        assert Fraction(Affine([a], [1.0]).subgradient_bound(Ball(1.0))) ** 2 >= exact


def test_the_boundary_is_not_the_interior():
    g = Affine([[3.0, 4.0]], [0.0])
    assert g.value(np.zeros(2)) == 0.0
    assert g.value(g.interior) < 0
    assert Affine(np.eye(2), [0.0, 1.0]).interior is None
    separately = max_of(L2Norm(1.0, [0.0, 0.0]), L2Norm(1.0, [5.0, 0.0]))
    assert separately.interior is None  # neither centre is inside both


def test_the_slope_of_a_cone_is_rounded_down():
    # {A'u} is a ball of radius 1e6, so the slope is |c| - 1e6 exactly: nine digits cancel.
    for seed in range(60):
        c = np.random.default_rng(seed).normal(size=2)
        c *= (1e6 + 2e4) / np.linalg.norm(c)
        sigma = SecondOrderCone(1e6 * np.eye(2), c=c).exact_sigma(None)[0]
        assert Fraction(sigma) <= root(sum(Fraction(float(v)) ** 2 for v in c)) - 10**6


def random_form(seed, flat=1.0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    Q = turn @ np.diag([flat, 1.0]) @ turn.T
    return 0.5 * (Q + Q.T), rng


def test_the_depth_of_a_quadratic_is_rounded_down():
    for seed in range(60):
        Q, rng = random_form(seed, flat=0.01)
        q = 1e4 * rng.normal(size=2)
        bottom = np.linalg.solve(Q, -q)
        g = QuadraticForm(Q, q, -float(0.5 * bottom @ Q @ bottom + q @ bottom) * -1 + 1e-3)
        (a, b), (_, d) = ([Fraction(float(v)) for v in row] for row in g.Q)
        u, v = (Fraction(float(w)) for w in g.q)
        exact = Fraction(g.r) + (d * u * u - 2 * b * u * v + a * v * v) / (2 * (a * d - b * b))
        assert Fraction(g._bowl()[1]) <= exact


def test_projections_onto_a_far_quadratic_are_feasible_as_computed():
    tried = 0
    for seed in range(30):
        Q, rng = random_form(seed)
        far = 1e4 * rng.normal(size=2)
        g = QuadraticForm(Q, -Q @ far, -0.5 * float(far @ Q @ far) + 1e-4)
        region = g.region
        if region is None:
            continue
        for _ in range(20):
            tried += 1
            assert g.value(region.project(far + rng.normal(size=2))) <= 0
    assert tried > 200


def test_on_the_region_of_a_quadratic_g_is_below_0_by_more_than_its_rounding():
    for seed in range(20):
        Q, rng = random_form(seed, flat=1e-6)
        g = QuadraticForm(Q, Q @ rng.normal(size=2), 1.0)
        region = g.region
        flattest = np.linalg.eigh(Q)[1][:, 0]  # where the terms of g are largest, and cancel
        x = region.centre + flattest / np.sqrt(flattest @ region.P @ flattest)
        a, q = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in g.q]
        rows = [[Fraction(float(v)) for v in row] for row in g.Q]
        square = [rows[i][j] * a[i] * a[j] / 2 for i in range(2) for j in range(2)]
        terms = [*square, *(u * v for u, v in zip(q, a, strict=True)), -Fraction(g.r)]
        # Sums of products of three numbers in two dimensions round at most seven times.
        assert sum(terms) + 7 * Fraction(2) ** -53 * sum(map(abs, terms)) <= 0


def test_the_slope_of_an_ellipsoid_is_rounded_down():
    for seed in range(60):
        P, _ = random_form(seed, flat=1e-10)
        g = EllipsoidNorm(P)
        (a, b), (_, d) = ([Fraction(float(v)) for v in row] for row in g.P)
        lowest = (a + d - root((a + d) ** 2 - 4 * (a * d - b * b))) / 2
        assert Fraction(g.exact_sigma(None)[0]) ** 2 <= lowest


def test_a_relaxed_constraint_is_as_large_as_it_is_moved():
    g, ball = LinfNorm(0.5, 2), Ball(1.0)
    own = g.value_bound(ball, np.zeros(2))
    for rho in (0.25, -0.25):
        assert shift(g, rho).value_bound(ball, np.zeros(2)) == own + 0.25


def test_the_shortest_slopes_of_norms_and_forms_are_rounded_down():
    # Of a diagonal P the smallest eigenvalue is its smallest entry, and sigma the root of that.
    above = 0
    for seed in range(60):
        p = np.random.default_rng(seed).uniform(0.5, 3.0, size=3)
        least = Fraction(float(p.min()))
        sigma = EllipsoidNorm(np.diag(p)).exact_sigma(None)[0]
        assert Fraction(sigma) ** 2 <= least
        assert sigma == pytest.approx(math.sqrt(p.min()), rel=1e-12)
        above += Fraction(math.sqrt(p.min())) ** 2 > least
        # g = p x^2/2 - r has the slope sqrt(2 p (r - epsilon)) where it is -epsilon.
        form = QuadraticForm(np.diag(p), np.zeros(3), 1.5)
        sigma, level = form.exact_sigma(0.25)
        assert level == 0.25
        assert Fraction(sigma) ** 2 <= 2 * least * Fraction(5, 4)
        assert sigma == pytest.approx(math.sqrt(2.5 * p.min()), rel=1e-12)
    assert above > 10  # where the root alone would be too large


@pytest.mark.parametrize("side", range(2, 40))
def test_the_shortest_slope_of_a_spectral_norm_is_rounded_down(side):
    sigma = SpectralNorm((side, side + 1), 1.0).exact_sigma(None)[0]
    assert Fraction(sigma) ** 2 * side <= 1
    assert sigma == pytest.approx(side**-0.5, rel=1e-12)


@pytest.mark.parametrize("operations", [0, 3, 100, 10_000])
def test_bounds_leave_room_for_every_rounding_of_a_sum(operations):
    # A sum of n numbers in float64 errs by at most (n - 1) 2^-53 of the sum of their sizes.
    for seed in range(20):
        terms = np.random.default_rng(seed).uniform(0.0, 1.0, size=operations + 1)
        computed = 0.0
        for term in terms.tolist():
            computed += term
        exact = sum(map(Fraction, terms.tolist()))
        assert Fraction(bound_below(computed, operations)) <= exact
        assert exact <= Fraction(bound_above(computed, operations))
    worst = Fraction(operations, 2**53)
    assert Fraction(bound_below(1.0, operations)) <= 1 - worst
    assert Fraction(bound_above(1.0, operations)) >= 1 + worst
