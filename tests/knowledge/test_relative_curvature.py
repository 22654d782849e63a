"""Curvature relative to the slope: exponentials and polynomials, convex or not."""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Feedback
from surefoot.knowledge import CurvatureCertificate, Errors, Reading, RelativeCurvature
from surefoot.knowledge.nearest import project_onto_bounds
from surefoot.rules import RegionFilter
from surefoot.sets import Box


def arrhenius(x, rate=6.0):
    """Return a sum of exponentials, |H| <= rate |s| for each sign of its slopes, and its slope."""
    e = np.exp(rate * x)
    return float(e.sum()) / len(x) - 3.0, rate * e / len(x)


def waves(x):
    """Return a limit that is not convex, with its slope: |H| <= 8 and so at most 8 + |s|."""
    g = float(x @ x) - 1.0 + 0.6 * math.cos(3 * x[0])
    return g, 2 * x - np.array([1.8 * math.sin(3 * x[0]), *[0.0] * (len(x) - 1)])


def test_one_step_by_hand():
    # g = e^x - 2 at 0: beta = 2(e - 2), so that -1 + p + (e - 2)p^2 <= 0.
    known = RelativeCurvature(L_0=0.0, L_1=1.0, reach=1.0)
    memory = known.observe(
        known.init(np.zeros(1)), Reading(np.zeros(1), -1.0, np.ones(1), known.errors)
    )
    region = known.region(memory, known.errors)
    p = region.nearest(np.array([5.0]))
    q = math.e - 2
    np.testing.assert_allclose(p, [(math.sqrt(1 + 4 * q) - 1) / (2 * q)], rtol=1e-12)
    assert math.exp(p[0]) <= 2
    assert isinstance(region.certificate(p), CurvatureCertificate)


def test_no_step_is_longer_than_the_bound_holds():
    known = RelativeCurvature(L_0=0.0, L_1=4.0, reach=9.0)
    x = np.zeros(2)
    memory = known.observe(known.init(x), Reading(x, -50.0, np.array([0.1, 0.0]), known.errors))
    region = known.region(memory, known.errors)
    np.testing.assert_allclose(region.nearest(np.array([-3.0, 4.0])), [-0.15, 0.2], rtol=1e-7)


def test_no_certified_ball_is_larger_than_the_bound_holds():
    known, x, s = RelativeCurvature(L_0=0.0, L_1=4.0, reach=9.0), np.zeros(2), np.array([0.1, 0.0])
    memory = known.observe(known.init(x), Reading(x, -50.0, s, known.errors))
    region = known.region(memory, known.errors)
    assert region.radius == region.longest == pytest.approx(0.25)
    assert region.radius < 0.25


def test_the_point_is_the_nearest_where_the_bound_ends_too():
    rng, at_edge = np.random.default_rng(5), 0
    for _ in range(300):
        d = int(rng.integers(1, 5))
        L_0, L_1 = float(rng.choice([0.0, 3.0])), float(10 ** rng.uniform(-1, 1))
        known = RelativeCurvature(L_0=L_0, L_1=L_1, reach=10.0)
        x, s = rng.normal(size=d), rng.normal(size=d) * 10 ** rng.uniform(-2, 1)
        g = -float(10 ** rng.uniform(-3, 1))
        memory = known.observe(known.init(x), Reading(x, g, s, known.errors))
        region = known.region(memory, known.errors)
        w = x + rng.normal(size=d) * 10 ** rng.uniform(-2, 3)
        p = region.nearest(w)
        assert region.contains(p)
        best = x + project_onto_bounds(w - x, region.as_bounds())[0]
        lost = np.linalg.norm(p - w) - np.linalg.norm(best - w)
        assert abs(lost) <= 1e-9 * (1 + np.linalg.norm(w - x))
        at_edge += np.linalg.norm(p - x) > 0.999999 / L_1
    assert at_edge > 50


def one_reading(known, x, g, s):
    x, s = np.array(x, dtype=float), np.array(s, dtype=float)
    return known.observe(known.init(x), Reading(x, g, s, known.errors))


def test_the_curvature_by_hand_and_never_below_the_exact_one():
    # beta = 2(e - 2)(1 + 2(1 + 1/2)): the slope may be longer by its error.
    known = RelativeCurvature(L_0=1.0, L_1=2.0, reach=1.0, errors=Errors(slope=0.5))
    memory = one_reading(known, [0.0], -1.0, [-1.0])
    assert known.curvature(memory) == pytest.approx(8 * (math.e - 2), rel=1e-12)
    rng, e = np.random.default_rng(2), sum(Fraction(1, math.factorial(k)) for k in range(30))
    for _ in range(50):
        L_0, L_1 = rng.uniform(0.0, 2.0), rng.uniform(0.1, 9.0)
        s = rng.normal(size=20)
        known = RelativeCurvature(L_0=L_0, L_1=L_1, reach=1.0)
        square = sum(Fraction(part) ** 2 for part in s)
        steep = Fraction(math.isqrt(int(square * 4**120)), 2**120)
        exact = 2 * (e - 2) * (Fraction(L_0) + Fraction(L_1) * steep)
        found = Fraction(known.curvature(one_reading(known, np.zeros(20), -1.0, s)))
        assert exact * (1 + Fraction(1, 2**52)) < found < exact * (1 + Fraction(1, 10**11))


def test_what_contradicts_by_hand():
    # beta = 2(e - 2)(1 + 1/2): -1 + 1/4 + beta/32 = -0.68266 at 1/4 from x.
    told = {"L_0": 1.0, "L_1": 0.5, "reach": 2.0}
    known = RelativeCurvature(**told)
    memory = one_reading(known, [0.5], -1.0, [1.0])

    def contradictions(x, g):
        return known.contradictions(memory, Reading(np.array([x]), g, np.ones(1), known.errors))

    assert contradictions(0.75, -0.683) == contradictions(1.9, 5.0) == ()
    (said,) = contradictions(0.75, -0.6825)
    assert said.startswith("round 2: g = -0.6825 is above its quadratic bound -0.68266")
    # Values may be 0.1 and slopes 0.2 off: beta = 2(e - 2)(1 + 0.6), and -0.52817 + 0.1.
    known = RelativeCurvature(**told, errors=Errors(value=0.1, slope=0.2))
    memory = one_reading(known, [0.5], -1.0, [1.0])
    assert contradictions(0.75, -0.4283) == ()
    assert len(contradictions(0.75, -0.428)) == 1
    # What is feasible for certain is within reach.
    assert contradictions(3.0, -0.05) == ()
    (said,) = contradictions(3.0, -0.2)
    assert said.startswith("round 2: |x| = 3 and g is at most -0.1")
    memory = known.init(np.zeros(1))
    assert contradictions(0.5, -1.0) == ()
    assert known.rise(np.ones(1), 0.1) == math.inf
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        RelativeCurvature(L_0=1.0, L_1=1.0, domain=Box([0.0], [1.0])).init(np.array([2.0]))


def test_every_point_is_within_the_length_on_which_the_bound_holds_in_rationals():
    rng = np.random.default_rng(9)
    for _ in range(60):
        d, L_1 = int(rng.integers(1, 6)), float(10 ** rng.uniform(-1, 2))
        known = RelativeCurvature(L_0=0.0, L_1=L_1, reach=10.0)
        x, s = rng.normal(size=d), 1e-3 * rng.normal(size=d)
        memory = one_reading(known, x, -50.0, s)
        p = known.region(memory, known.errors).nearest(x + 99.0 / L_1 * rng.normal(size=d))
        square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, x, strict=True))
        assert 0.99 < square * Fraction(L_1) ** 2 < 1


def test_the_depth_is_that_of_the_largest_ball_so_far_by_hand():
    # A ball of radius r has -g = r|s| + beta r^2/2; none is larger than 1/L_1.
    known = RelativeCurvature(L_0=1.0, L_1=4.0, reach=9.0)
    beta = 2 * (math.e - 2) * (1 + 4 * 2.0)
    memory = one_reading(known, [0.0], -50.0, [0.0])
    region = known.region(memory, known.errors)
    assert region.radius == region.longest == region.depth == pytest.approx(0.25)
    assert region.depth < 0.25
    assert region.nearest(np.array([9.0])) == pytest.approx(0.25)
    g = -(0.125 * 2.0 + 0.5 * beta * 0.125**2)
    memory = known.observe(memory, Reading(np.ones(1), g, np.array([2.0]), known.errors))
    region = known.region(memory, known.errors)
    assert (region.radius, region.depth) == (pytest.approx(0.125), pytest.approx(0.25))
    nu = math.sqrt(4.0 - 2 * beta * g)  # half of the radius of the whole ball
    assert region.longest == pytest.approx(min(0.5 * nu / beta, 0.25))


def test_what_is_found_is_certified_where_the_bound_holds_far_beyond_the_set():
    rng = np.random.default_rng(21)
    for _ in range(600):
        d = int(rng.integers(2, 6))
        known = RelativeCurvature(L_0=0.0, L_1=10 ** rng.uniform(-6, -4), reach=10.0)
        x, s = rng.normal(size=d), rng.normal(size=d) * 10 ** rng.uniform(-6, 3)
        memory = one_reading(known, x, -(10 ** rng.uniform(-6, -2)), s)
        region = known.region(memory, known.errors)
        assert region.contains(region.nearest(x + rng.normal(size=d) * 10 ** rng.uniform(4, 9)))


def test_the_end_of_the_bound_with_an_error_of_the_slope_by_hand():
    # beta = 2(e - 2) 1.1: at the distance 1 the first coordinate is at most 1.2 - 0.1 - beta/2.
    known = RelativeCurvature(L_0=0.0, L_1=1.0, reach=9.0, errors=Errors(slope=0.1))
    memory = one_reading(known, [0.0, 0.0], -1.2, [1.0, 0.0])
    along = 1.1 - (math.e - 2) * 1.1
    for y in (5.0, -5.0):
        p = known.region(memory, known.errors).nearest(np.array([4.0, 2 * y]))
        assert p == pytest.approx([along, math.copysign(math.sqrt(1 - along**2), y)], rel=1e-9)


def attack(rng, known, limit, x1, rounds):
    """Return the largest g at actions of a filter that is told wishes anywhere."""
    player, errors = RegionFilter(knowledge=known), known.errors
    state, worst = player.init(np.array(x1, dtype=float)), -math.inf
    for _ in range(rounds):
        g, s = limit(state.x)
        worst = max(worst, g)
        away = rng.normal(size=len(s))
        away /= np.linalg.norm(away)
        proposal = state.x + rng.choice([s, away * 10.0 ** rng.uniform(-6, 1)], axis=0)
        reading = g + errors.value * rng.choice([-1.0, 1.0])
        slope = s + errors.slope * rng.choice([-1.0, 1.0]) * away
        state = player.update(state, Feedback(None, reading, slope, proposal=proposal))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("errors", [Errors(), Errors(value=0.05, slope=0.1)])
@pytest.mark.parametrize("d", [1, 3])
def test_exponentials_and_waves_are_kept(d, errors):
    rng = np.random.default_rng(d)
    box = Box(np.full(d, -2.0), np.full(d, 2.0))
    cases = (
        (arrhenius, RelativeCurvature(L_0=0.0, L_1=6.0, domain=box, errors=errors)),
        (waves, RelativeCurvature(L_0=8.0, L_1=1.0, reach=2.0, errors=errors, convex=False)),
    )
    for limit, known in cases:
        worst = attack(rng, known, limit, np.full(d, 0.05), 100)
        assert -0.5 < worst <= 0


def test_the_attack_finds_a_violation_where_the_rate_is_too_small():
    known = RelativeCurvature(L_0=0.0, L_1=2.0, reach=4.0)
    assert attack(np.random.default_rng(0), known, arrhenius, [0.0], 200) > 0


def test_readings_above_the_bound_are_a_contradiction():
    player = RegionFilter(knowledge=RelativeCurvature(L_0=0.0, L_1=1.0, reach=2.0))
    state = player.init(np.zeros(1))
    for x, g, is_wrong in ((0.0, -1.0, False), (0.5, 0.2, True)):
        seen = Feedback(None, g, np.ones(1), proposal=np.array([0.5]), action=np.array([x]))
        state, info = player.step(state, seen)
        assert bool(info.contradictions) == is_wrong


def test_an_action_outside_certifies_nothing():
    player = RegionFilter(knowledge=RelativeCurvature(L_0=1.0, L_1=1.0, reach=2.0))
    state = player.update(
        player.init(np.zeros(1)), Feedback(None, -1.0, np.ones(1), proposal=np.zeros(1))
    )
    far = np.array([1.5])
    state = player.update(state, Feedback(None, 0.4, np.ones(1), proposal=far, action=far))
    assert 0 < state.x[0] < 0.6  # still by the first reading


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"L_0": -1.0}, "L_0 must be"),
        ({"L_1": 0.0}, "L_1 must be"),
        ({"errors": Errors(drift=0.1)}, "drift must be 0 for RelativeCurvature"),
        ({"reach": None}, "reach"),
    ],
)
def test_bad_input_is_one_sentence(told, sentence):
    with pytest.raises(ValueError, match=sentence):
        RelativeCurvature(**{"L_0": 1.0, "L_1": 1.0, "reach": 1.0, **told})


def test_a_start_outside_and_readings_that_are_not_finite_are_refused():
    player = RegionFilter(knowledge=RelativeCurvature(L_0=1.0, L_1=1.0, reach=1.0))
    for g, sentence in ((0.0, "the start must be strictly feasible"), (math.nan, "must be finite")):
        with pytest.raises(ValueError, match=sentence):
            player.step(
                player.init(np.zeros(1)), Feedback(None, g, np.ones(1), proposal=np.zeros(1))
            )


@pytest.mark.slow
def test_attacked_by_20_limits_nothing_is_outside():
    rng = np.random.default_rng(23)
    for i in range(20):
        rate, d = float(rng.uniform(0.5, 8.0)), int(rng.integers(1, 5))
        known = RelativeCurvature(L_0=0.0, L_1=rate, reach=20.0)

        def limit(x, rate=rate):
            return arrhenius(x, rate)

        both = ((known, limit), (RelativeCurvature(L_0=8.0, L_1=1.0, reach=2.0), waves))
        assert attack(rng, *both[i % 2], np.full(d, 0.02), 200) <= 0
