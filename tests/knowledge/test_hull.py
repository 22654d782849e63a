"""The hull of two certified balls: nearest points, certificates, the margin, wrong constants."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Errors, LipschitzHull, Pairs, Reading, Region
from surefoot.sets import Ball, Box

SEEDS = st.integers(0, 2**32 - 1)


def see(known, memory, x, g, s):
    """Return the memory with a reading, and the region that it makes."""
    memory = known.observe(memory, Reading(x, g, s, known.errors))
    return memory, known.region(memory, known.errors)


def hull(seed, d=3):
    """Two balls that a convex g with G_g = 1 may have shown, and a point to come near to."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, d))
    r_a = rng.uniform(0.1, 1.0)
    r_b = min(r_a, rng.uniform(-0.05, 1.0))
    known = LipschitzHull(G_g=1.0, reach=10.0)
    memory, _ = see(known, known.init(a), a, -r_a, np.ones(d) / math.sqrt(d))
    _, region = see(known, memory, b, -r_b, np.ones(d) / math.sqrt(d))
    return region, rng.normal(size=d) * rng.choice([0.1, 1.0, 1e6])


def depth(region, share, p):
    """How far inside the ball of that share a point is."""
    centre = region.anchor.x + share * (region.x - region.anchor.x)
    return region.anchor_radius + share * (region.radius - region.anchor_radius) - norm(p - centre)


def norm(v):
    return float(np.linalg.norm(v))


def share_of(w, a, r_a, b, r_b):
    """The share of one pair of balls."""
    (share,) = Pairs.of(np.array([a]), np.array([r_a]), b, r_b).shares(w)
    return share


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_nearest_point_is_in_a_ball_of_the_hull_and_no_other_point_is_nearer(seed):
    region, w = hull(seed)
    p = region.nearest(w)
    top = (
        1.0 if region.radius >= 0 else region.anchor_radius / (region.anchor_radius - region.radius)
    )
    shares = np.linspace(0, top, 2001)
    assert max(depth(region, share, p) for share in shares) > -1e-5  # the shares are a grid
    # The distance of w to the hull is the least distance to one of its balls.
    least = min(max(-depth(region, share, w), 0.0) for share in shares)
    assert norm(w - p) <= least + 1e-12 * (1 + norm(w))


def test_a_point_between_two_equal_balls_goes_to_the_middle():
    a, b = np.array([0.0, 0.0]), np.array([4.0, 0.0])
    assert share_of(np.array([2.0, 3.0]), a, 1.0, b, 1.0) == 0.5


def test_by_hand_the_tangent_of_two_unequal_balls():
    # Radii 2 and 1, centres 2 apart: the tangent falls by 1 in 2, so its normal is (1, sqrt 3)/2.
    # The foot of (1, 5) on the axis along that normal is 1 - 5/sqrt 3 < 0: the first ball.
    a, b = np.zeros(2), np.array([2.0, 0.0])
    assert share_of(np.array([1.0, 5.0]), a, 2.0, b, 1.0) == 0.0
    # From (2, sqrt 3) the foot is at 2 - sqrt 3 / sqrt 3 = 1: half of the way.
    share = share_of(np.array([2.0, math.sqrt(3.0)]), a, 2.0, b, 1.0)
    assert share == pytest.approx(0.5, abs=1e-15)


def test_a_ball_inside_the_other_adds_nothing():
    a, b = np.zeros(2), np.array([0.3, 0.0])
    assert share_of(np.array([5.0, 0.0]), a, 1.0, b, 0.5) == 0.0


def test_a_ball_that_holds_the_other_is_the_hull():
    a, b = np.zeros(2), np.array([0.3, 0.0])
    assert share_of(np.array([5.0, 0.0]), a, 0.5, b, 1.0) == 1.0


def test_a_ball_away_from_0_by_hand():
    known, x = LipschitzHull(G_g=2.0, reach=4.0), np.array([1.0, -0.5])
    _, region = see(known, known.init(x), x, -0.8, None)
    way = np.array([0.6, 0.8])
    assert region.nearest(x + 5 * way) == pytest.approx(x + 0.4 * way, abs=1e-12)
    assert region.contains(x + 0.399 * way)
    assert not region.contains(x + 0.401 * way)
    assert not region.contains(-x)
    assert not region.contains(np.zeros(2))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_of_several_hulls_the_nearest_is_taken(seed):
    rng = np.random.default_rng(seed)
    known = LipschitzHull(G_g=1.0, reach=10.0)
    memory = known.init(np.zeros(2))
    for g in (-1.0, -0.4, -0.1, -0.02):  # a ladder of depths
        memory, region = see(known, memory, rng.normal(size=2), g, None)
    w, shares = 3 * rng.normal(size=2), np.linspace(0, 1, 1001)[:, None]
    gaps = []
    for a, r_a in zip(region.centres, region.radii, strict=True):
        balls = a + shares * (region.x - a), r_a + shares[:, 0] * (region.radius - r_a)
        gaps.append((np.linalg.norm(w - balls[0], axis=1) - balls[1]).min())
    assert len(gaps) > 2
    assert norm(w - region.nearest(w)) <= max(min(gaps), 0.0) + 1e-5


def test_a_first_reading_that_is_late_has_aged():
    known, x = LipschitzHull(G_g=2.0, reach=1.0, errors=Errors(drift=0.01)), np.zeros(2)
    memory = known.observe(known.init(x), Reading(x, -0.5, None, known.errors, 2))
    assert known.region(memory, known.errors).radius == pytest.approx((0.5 - 3 * 0.01) / 2)


def test_an_anchor_is_visited_once_drift_may_have_used_half_of_its_slack():
    known = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.1))
    memory = known.init(np.zeros(2))
    for x, g in (([0.0, 0.0], -1.0), ([0.6, 0.0], -0.3)):
        memory, _ = see(known, memory, np.array(x), g, None)
    due = []
    for _ in range(3):
        region = known.region(memory, known.errors)
        due.append((region.remeasurement_due, bool(region.nearest(np.array([0.3, 0.0]))[0] == 0.0)))
        memory = known.age(memory, np.zeros(1))
    # -1 + 0.1 k is at least -1/2 in round 6: the region of the second reading is for round 3.
    assert due == [(False, False), (False, False), (True, False)]
    region = known.region(memory, known.errors)
    assert region.nearest(np.array([0.3, 0.0])).tolist() == [0.0, 0.0]
    assert not region.remeasurement_due
    assert region.whole.contains(np.array([0.3, 0.0]))


@pytest.mark.parametrize("age", [0, 1])
def test_a_slope_is_impossible_beyond_all_errors_and_not_before(age):
    errors = Errors(value=0.05, slope=0.1, drift=0.01)
    known = LipschitzHull(G_g=1.0, reach=9.0, errors=errors)
    a, x, s = np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.array([0.0, -0.5])
    memory, _ = see(known, known.init(a), a, -1.0, None)
    # g at a was at least g - 0.05 + 1 - 0.1 * 2, and at most -1 + 0.05, a round later 0.01 more.
    edge = -0.95 + 0.01 * (1 - age) + 0.05 - 1.0 + 0.2
    for by, count in ((-1e-6, 0), (1e-6, 1)):
        found = known.contradictions(memory, Reading(x, edge + by, s, errors, age))
        assert len(found) == count
        assert all("the subgradient says that g in round 1" in sentence for sentence in found)


def test_no_share_leaves_a_negative_radius():
    a, b = np.zeros(2), np.array([2.0, 0.0])
    share = share_of(np.array([9.0, 0.0]), a, 1.0, b, -0.5)
    assert share == 1.0 / 1.5


def test_the_anchor_is_the_deepest_action_and_the_certificate_names_its_round():
    known, s = LipschitzHull(G_g=1.0, reach=2.0), np.array([1.0, 0.0])
    memory = known.init(np.zeros(2))
    for x, g in (([0.0, 0.0], -0.2), ([-0.1, 0.0], -0.3), ([0.2, 0.0], -0.0)):
        before, x = memory, np.array(x)
        memory, region = see(known, memory, x, g, s)
    assert isinstance(region, Region)
    p = region.nearest(np.array([5.0, 0.0]))
    proof = region.certificate(p)
    assert (proof.round, proof.anchor_round, proof.anchor_value) == (3, 2, -0.3)
    np.testing.assert_allclose(p, [0.2, 0.0], atol=1e-12)  # where the cone over the anchor ends
    assert proof.bound <= 0
    assert str(proof).startswith("round 3: g = -0.3 in round 2 and 0 now; so at most -")
    assert known.contradictions(before, Reading(x, g, s, known.errors)) == ()


def test_a_start_without_slack_is_refused():
    known, s = LipschitzHull(G_g=1.0, reach=1.0), np.array([1.0, 0.0])
    with pytest.raises(InvalidValueError, match="strictly feasible"):
        see(known, known.init(np.zeros(2)), np.zeros(2), 0.0, s)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_never_moves_the_action(bad):
    known, s, x = LipschitzHull(G_g=1.0, reach=1.0), np.array([1.0, 0.0]), np.zeros(2)
    with pytest.raises(InvalidValueError, match="constraint_value must be finite"):
        see(known, known.init(x), x, bad, s)
    with pytest.raises(InvalidValueError, match="constraint_subgradient must be finite"):
        see(known, known.init(x), x, -1.0, np.array([bad, 0.0]))
    _, region = see(known, known.init(x), x, -1.0, s)
    with pytest.raises(InvalidValueError, match="the wanted action must be finite"):
        region.nearest(np.array([bad, 0.0]))


def test_wrong_constants_are_named_with_the_round():
    known, x = LipschitzHull(G_g=1.0, reach=9.0), np.zeros(2)

    def contradictions(memory, x, g, s):
        return known.contradictions(memory, Reading(np.array(x), g, np.array(s), known.errors))

    start = known.init(x)
    assert contradictions(start, x, -1.0, [2.0, 0.0]) == ("round 1: |s| = 2 exceeds G_g = 1",)
    memory, _ = see(known, start, x, -1.0, np.array([2.0, 0.0]))
    found, _ = contradictions(memory, [0.5, 0.0], 0.25, [1.0, 0.0])  # not convex, either
    assert found.startswith("round 2: g = 0.25 is above its certified bound -0.5: G_g = 1 is too")
    (found,) = contradictions(memory, [0.5, 0.0], -0.9, [-0.8, 0.0])
    assert "round 2: the subgradient says that g in round 1 was at least 0.5 above" in found


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_what_an_honest_limit_shows_contradicts_nothing(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    known = LipschitzHull(G_g=1.0, reach=1.0)
    normals = rng.normal(size=(2, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    memory, start = None, np.zeros(d)
    for x in rng.uniform(-0.5, 0.5, size=(4, d)) / math.sqrt(d):
        if memory is None:
            memory, start = known.init(x), x
        values = normals @ (x - start) - np.array([0.5, 0.6])
        i = int(values.argmax())
        reading = Reading(x, float(values[i]), normals[i], known.errors)
        assert known.contradictions(memory, reading) == ()
        memory = known.observe(memory, reading)


@pytest.mark.slow
@pytest.mark.parametrize("margin", [True, False])
def test_full_length_steps_stay_feasible_with_the_margin_and_do_not_without(margin, monkeypatch):
    if not margin:
        for name in ("noise", "_lost", "_rounding"):
            monkeypatch.setattr(LipschitzHull, name, lambda self, dimension: 0.0)
    rng, outside = np.random.default_rng(3), 0
    for _ in range(80):
        d = int(rng.integers(1, 6))
        A = rng.normal(size=(d + 3, d))
        A /= np.linalg.norm(A, axis=1, keepdims=True)
        centre = rng.normal(size=d) * rng.choice([0.0, 10.0])
        b = A @ centre + rng.uniform(0.1, 1.0, size=d + 3)
        known, x = LipschitzHull(G_g=1.0, reach=norm(centre) + 40.0), centre
        memory = known.init(x)
        for _ in range(60):
            i = int((A @ x - b).argmax())
            g = float(A[i] @ x - b[i])
            outside += g > 0
            if g >= 0:
                break
            memory, region = see(known, memory, x, g, A[i])
            far = 10.0 ** rng.uniform(-3, 3)
            x = region.nearest(x + far * (A[i] + 0.1 * rng.normal(size=d)))
    assert outside == 0 if margin else outside > 0


# --- what can be certified at all: the hull, and not a point more --------------------------------


def two_observations(seed):
    """Values and subgradients of a polytope with G_g = 1 at two points, and their hull."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    A = rng.normal(size=(6, d))
    A = A / np.linalg.norm(A, axis=1, keepdims=True) * rng.uniform(0.3, 1.0, size=(6, 1))
    b = rng.uniform(0.2, 1.0, size=6)
    known, x = LipschitzHull(G_g=1.0, reach=100.0), np.zeros(d)
    memory, seen = known.init(x), []
    for _ in range(2):
        i = int((A @ x - b).argmax())
        g = float(A[i] @ x - b[i])
        seen.append((x, g, A[i]))
        memory, region = see(known, memory, x, g, A[i])
        x = region.nearest(x + rng.normal(size=d))
    return rng, seen, region


def extremal(y, seen):
    """The largest g that fits: min over shares of the mean value + |y - the mean point|."""
    (x, g, _), (z, h, _) = seen
    shares = np.linspace(0, 1, 20_001)[:, None]
    far = np.linalg.norm(y - (1 - shares) * x - shares * z, axis=1)
    return float(((1 - shares[:, 0]) * g + shares[:, 0] * h + far).min())


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_function_that_fits_all_that_was_seen_is_infeasible_just_outside_of_the_hull(seed):
    rng, seen, region = two_observations(seed)
    d = len(region.x)
    # It returns the same data: values, and subgradients that support it everywhere.
    for x, g, s in seen:
        assert extremal(x, seen) == pytest.approx(g, abs=1e-8)
        for y in rng.normal(size=(5, d)) * 2:
            assert extremal(y, seen) >= g + s @ (y - x) - 1e-8
    # It is convex, and rises by at most 1 per unit of length.
    y, z = rng.normal(size=(2, d)) * 2
    middle = extremal(0.5 * (y + z), seen)
    assert middle <= 0.5 * (extremal(y, seen) + extremal(z, seen)) + 1e-8
    assert abs(extremal(y, seen) - extremal(z, seen)) <= norm(y - z) + 1e-8
    # Inside the hull it is at most 0, just outside above 0.
    w = 5 * rng.normal(size=d)
    p = region.nearest(w)
    if norm(w - p) > 0.1:
        out = (w - p) / norm(w - p)
        assert extremal(p - 1e-3 * out, seen) <= 1e-8
        assert extremal(p + 1e-3 * out, seen) > 0


@pytest.mark.parametrize("d", [1, 2, 7, 100])
@pytest.mark.parametrize("error", [0.0, 1e-18, 3e-12])
def test_the_margin_is_at_least_the_derived_bound_on_rounding(d, error):
    # In exact numbers: delta = max(16(n + 4)u G_g M, the error told and 8u G_g M), and of a radius
    # 2 delta/G_g + 16(n + 8)u M.
    u, G_g, M = Fraction(1, 2**53), 0.7, 3.1
    known = LipschitzHull(G_g=G_g, reach=M, errors=Errors(evaluation=error))
    unit = u * Fraction(G_g) * Fraction(M)
    delta = max(16 * (d + 4) * unit, Fraction(error) + 8 * unit)
    lost = 2 * delta / Fraction(G_g) + 16 * (d + 8) * u * Fraction(M)
    tight = 1 - 4 * u
    assert delta * tight <= Fraction(known.noise(d)) <= 1.001 * delta
    assert lost * tight <= Fraction(known._lost(d)) <= 1.001 * lost
    x = np.zeros(d)
    region = see(known, known.init(x), x, -0.5, x + 1.0)[1]
    assert Fraction(region.radius) <= (Fraction(1, 2) / Fraction(G_g) - lost) * (1 + 4 * u)


# --- what the projection returns is certified, and a known set is kept ----------------------------


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_is_returned_is_contained_and_returned_again(seed):
    region, w = hull(seed)
    p = region.nearest(w)
    assert region.contains(p)
    assert region.nearest(p).tolist() == p.tolist()
    assert region.certificate(p).bound <= 0
    # A point that is outside by more than rounding is not.
    away = norm(w - p)
    if away > 1e-6:
        assert not region.contains(p + (1e-9 / away) * (w - p))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_nearest_point_of_hull_and_box_is_in_both_and_nearly_the_nearest(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    box = Box(-rng.uniform(0.0, 0.5, d), rng.uniform(0.0, 0.5, d))
    known = LipschitzHull(G_g=1.0, domain=box)
    s = np.ones(d) / math.sqrt(d)
    memory, _ = see(known, known.init(np.zeros(d)), np.zeros(d), -rng.uniform(0.05, 0.3), s)
    x = box.project(0.05 * rng.normal(size=d))
    memory, region = see(known, memory, x, -rng.uniform(0.0, 0.05), s)
    w = x + rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0])
    p = region.nearest(w)
    assert region.contains(p)
    assert ((box.lower <= p) & (p <= box.upper)).all()
    # No point of both is nearer, by more than what the search leaves.
    for q in p + rng.normal(size=(200, d)) * 10.0 ** rng.uniform(-6, -0.5, (200, 1)):
        q = box.project(q)
        if region.contains(q):
            assert norm(w - p) <= norm(w - q) + 1e-4


def test_the_deepest_action_is_found_where_the_way_back_from_the_last_leaves_the_set():
    # The last action is above the limit, at a corner of the box; the anchor is in the box.
    box = Box([-1.0, 0.0], [1.0, 0.1])
    known, s = LipschitzHull(G_g=1.0, domain=box), np.array([0.0, -1.0])
    memory, _ = see(known, known.init(np.zeros(2)), np.zeros(2), -0.02, s)
    memory, region = see(known, memory, np.array([0.9, 0.0]), 0.5, s)
    p = region.nearest(np.array([9.0, -9.0]))
    assert region.contains(p)
    assert box.contains(p)


def test_a_set_of_any_kind_says_how_far_it_reaches():
    assert LipschitzHull(G_g=1.0, domain=Ball(0.5, [0.0, 2.0])).reach == 2.5
    assert LipschitzHull(G_g=1.0, domain=Box([0.0, 0.0], [3.0, 4.0])).reach == pytest.approx(5.0)
    with pytest.raises(InvalidValueError, match="reach must be a finite number > 0 unless domain"):
        LipschitzHull(G_g=1.0)


@pytest.mark.parametrize("reach", [0.5, 0.9, 2.0])
def test_a_feasible_action_beyond_the_reach_is_named(reach):
    known, s = LipschitzHull(G_g=1.0, reach=reach), np.array([1.0, 0.0])
    memory, _ = see(known, known.init(np.zeros(2)), np.zeros(2), -1.0, s)
    found = known.contradictions(memory, Reading(np.array([0.9, 0.0]), -0.1, s, known.errors))
    assert any("no feasible point is longer than" in sentence for sentence in found) == (
        reach < 0.9
    )
    assert known.holds(np.array([0.9, 0.0])) == (reach >= 0.9)


def test_a_first_reading_above_a_start_bound_is_a_contradiction():
    known = LipschitzHull(G_g=1.0, reach=1.0, start_bound=-0.5, errors=Errors(value=0.1, drift=0.1))
    memory, x = known.init(np.zeros(1)), np.zeros(1)
    right, wrong = (Reading(x, g, None, known.errors) for g in (-0.41, -0.39))
    assert known.contradictions(memory, right) == ()
    (sentence,) = known.contradictions(memory, wrong)
    assert "start_bound = -0.5 is too small" in sentence
