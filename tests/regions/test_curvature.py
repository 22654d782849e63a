"""Regions from a bound on the curvature: one constraint."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.regions import Curvature, CurvatureRows
from surefoot.regions._ball import along_slope, onto_curvature_ball


def seen(beta, g, s, x=(0.0, 0.0), reach=1.0):
    known, x = Curvature(beta=beta, reach=reach), np.array(x)
    return known.see(known.init(x), x, g, np.array(s))


def test_the_nearest_point_is_that_of_the_ball_worked_by_hand():
    _, region = seen(1.0, -1.5, [0.0, 1.0])  # U = -1.5 + y + |p|^2/2: around (0, -1), radius 2
    assert region.nearest(np.array([0.0, 4.0])) == pytest.approx([0.0, 1.0], abs=1e-12)
    assert region.nearest(np.array([3.0, -1.0])) == pytest.approx([2.0, -1.0], abs=1e-12)
    inside = np.array([0.5, 0.25])
    assert region.nearest(inside) is inside


def test_the_cut_goes_along_the_slope_worked_by_hand():
    _, region = seen(1.0, -0.5, [0.0, 1.0])
    found = region.cut(np.array([0.2236067977, 0.6708203932]))
    assert found.point == pytest.approx([0.2236068, 0.396424], abs=1e-6)
    assert found.weights == pytest.approx(0.6708203932 - 0.396424, abs=1e-6)


def test_a_curvature_of_zero_is_the_exact_half_space_however_far_the_point():
    _, region = seen(0.0, -0.5, [0.0, 2.0])
    for far in (1.0, 1e3, 1e6):
        p = region.nearest(np.array([0.3, far]))
        assert p == pytest.approx([0.3, 0.25], abs=1e-13 + 1e-15 * far)


@given(
    st.floats(-12, 3),
    st.floats(0.01, 2.0),
    st.floats(0, 6.28),
    st.floats(-3, 4),
    st.floats(0, 6.28),
)
def test_nearest_and_cut_are_certified_and_the_nearest_is_no_farther(power, h, turn, far, aim):
    beta = 10.0**power
    s = 0.7 * np.array([np.cos(turn), np.sin(turn)])
    _, region = seen(beta, -h, s)
    w = 10.0**far * np.array([np.cos(aim), np.sin(aim)])
    p = region.nearest(w)
    assert region.bound(p) <= 0
    if p is not w:
        # A projection: no certified point is nearer; those of the cut are certified.
        nu = region.radius
        c = region.cut(w * min(1.0, 0.49 * nu / (beta * np.linalg.norm(w)))).point
        assert region.bound(c) <= 0
        assert np.linalg.norm(p - w) <= np.linalg.norm(c - w) * (1 + 1e-9)


def test_a_tiny_curvature_gives_the_point_of_the_half_space():
    _, flat = seen(0.0, -0.3, [0.6, 0.8])
    _, bent = seen(1e-15, -0.3, [0.6, 0.8])
    w = np.array([2.0, 3.0])
    assert bent.nearest(w) == pytest.approx(flat.nearest(w), abs=1e-12)


def test_without_the_margin_the_same_steps_violate():
    # Steps that end on the sphere, of an ellipsoid: U is an equality along the steepest axis.
    rng, lost = np.random.default_rng(1), [0, 0]
    for margin in (0, 1):
        x, known = np.zeros(3), Curvature(beta=2.0, reach=1.0)
        memory = known.init(x)
        for _ in range(3_000):
            g, s = float(x @ x - 0.9), 2 * x
            lost[margin] += g > 0
            if g > 0:
                x = np.zeros(3)
                continue
            memory, region = known.see(memory, x, g, s)
            w = x + rng.normal(size=3)
            if margin:
                x = region.nearest(w)
            else:
                q, _ = onto_curvature_ball(w - x, g, s, float(s @ s), 2.0)
                x = x + q
    assert lost[0] > 0
    assert lost[1] == 0


def test_a_constraint_that_is_not_convex_stays_feasible():
    # g = cos(3 x) + |x|^2 - 0.9 has curvature between -7 and 11.
    rng, known = np.random.default_rng(2), Curvature(beta=11.0, reach=1.5)
    x = np.array([0.6, 0.1])
    memory = known.init(x)
    for _ in range(2_000):
        g = float(np.cos(3 * x[0]) + x @ x - 0.9)
        assert g <= 0
        s = np.array([-3 * np.sin(3 * x[0]), 0.0]) + 2 * x
        memory, region = known.see(memory, x, g, s)
        x = region.nearest(x + rng.normal(size=2))


def test_a_curvature_below_what_is_observed_is_named_with_its_round():
    known, x = Curvature(beta=0.5, reach=1.0), np.array([0.1, 0.0])
    memory, first = known.see(known.init(x), x, float(x @ x - 0.5), 2 * x)
    assert first.contradictions == ()
    y = np.array([0.4, 0.2])
    _, second = known.see(memory, y, float(y @ y - 0.5), 2 * y)
    (sentence,) = second.contradictions
    assert sentence.startswith("round 2: g = -0.3 is above its quadratic bound -0.3975")
    assert "the curvature is at least 2, more than beta = 0.5" in sentence
    right = Curvature(beta=2.0, reach=1.0)
    assert right.see(memory, y, float(y @ y - 0.5), 2 * y)[1].contradictions == ()


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="beta must be a finite number >= 0, got -1"):
        Curvature(beta=-1.0, reach=1.0)
    known, x = Curvature(beta=1.0, reach=1.0), np.zeros(2)
    with pytest.raises(ValueError, match=r"strictly feasible.*got g\(x_1\) = 0"):
        known.see(known.init(x), x, 0.0, np.ones(2))
    with pytest.raises(ValueError, match="constraint_value must be finite, got nan"):
        known.see(known.init(x), x, float("nan"), np.ones(2))
    _, region = known.see(known.init(x), x, -0.5, np.ones(2))
    with pytest.raises(ValueError, match="the wanted action must be finite, got inf"):
        region.nearest(np.array([np.inf, 0.0]))


def test_the_certificate_is_a_sentence_with_the_inequality():
    _, region = seen(2.0, -0.5, [0.0, 1.0])
    text = str(region.certificate(region.nearest(np.array([0.0, 9.0])), 3))
    assert text.startswith("round 3: g = -0.5 was seen, and its curvature is at most 2: -0.5 + (")
    assert str(region.certificate(region.x, 3)) == "round 3: nothing moves, and g = -0.5 stays"


def test_a_zero_slope_lets_a_step_of_the_ball_s_radius_through():
    q, weight = along_slope(np.array([0.3, 0.0]), -0.5, np.zeros(2), 0.0, 1.0)
    assert q.tolist() == [0.3, 0.0]
    assert weight == 0.0
    _, region = seen(1.0, -0.5, [0.0, 0.0])
    assert np.linalg.norm(region.nearest(np.array([5.0, 0.0]))) == pytest.approx(1.0)


def test_a_batch_is_each_of_its_runs():
    rng = np.random.default_rng(3)
    X, S = 0.1 * rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    g, W = -rng.uniform(0.1, 1, (4, 1)), 3 * rng.normal(size=(4, 3))
    known = Curvature(beta=1.5, reach=2.0)
    _, region = known.see(known.init(X), X, g, S)
    for i in range(4):
        _, one = known.see(known.init(X[i]), X[i], float(g[i, 0]), S[i])
        assert region.nearest(W)[i] == pytest.approx(one.nearest(W[i]), abs=1e-15)
        assert region.cut(0.1 * W).point[i] == pytest.approx(one.cut(0.1 * W[i]).point, abs=1e-15)


@pytest.mark.parametrize("batch", [False, True])
def test_the_longest_step_has_the_margin_of_the_statement_and_a_curvature_ends_it(batch):
    # nu = 2 beta longest, in exact numbers at most the root of s^2 - 2 beta (g + e).
    rng, u, n, M, beta = np.random.default_rng(5), Fraction(1, 2**53), 3, 1.7, 0.9
    known = Curvature(beta=beta, reach=M)
    x, g, s = rng.normal(size=(20, n)), -rng.uniform(0.01, 0.5, (20, 1)), rng.normal(size=(20, n))
    if batch:
        longest = known.see(known.init(x), x, g, s)[1].longest[:, 0]
    else:
        longest = [known.see(known.init(a), a, float(b), c)[1].longest
                   for a, b, c in zip(x, g[:, 0], s, strict=True)]  # fmt: skip
    for found, value, slope in zip(longest, g[:, 0], s, strict=True):
        value, squared = Fraction(value), sum(Fraction(v) ** 2 for v in slope)
        size = Fraction(float(np.linalg.norm(slope)))
        e = 32 * (n + 8) * u * (abs(value) + size * Fraction(M) + Fraction(beta) * Fraction(M) ** 2)
        most = squared - 2 * Fraction(beta) * (value + e)
        assert (2 * Fraction(beta) * Fraction(float(found))) ** 2 <= most * (1 + 20 * u)
        assert found == pytest.approx(np.sqrt(float(most)) / (2 * beta), rel=1e-12)


@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_the_normal_of_a_region_with_a_slope_error_bounds_what_a_feasible_point_gains(unit):
    # g(p) = -1 + (p - x)/1.9 with the slope read 0.1 too steep: the feasible end u = 1 is as far as
    # can be from x = -0.9, and the certified q is between them. All lengths in some unit.
    tau, beta, (x, u, w) = 0.1, 0.01 / unit, unit * np.array([[-0.9], [1.0], [2.0]])
    told, s = {"reach": unit, "slope_error": tau}, np.array([1 / 1.9 + tau])
    one, rows = Curvature(beta=beta, **told), CurvatureRows(beta=(beta,), **told)
    for region, weights in (
        (one.see(one.init(x), x, -unit, s)[1], 0.0),
        (rows.see(rows.init(x), x, np.array([-unit]), s[None])[1], np.zeros(1)),
    ):
        found = region.nearest_from(w, weights)
        q = found.point
        assert x < q < u
        bent, loose = region.normal_error(found.weights, q - x)
        gained = 0.5 * float(bent) * float((x - u) @ (x - u) - (q - u) @ (q - u)) + float(loose)
        assert float((w - q) @ (q - u)) >= -gained
