"""Regions from a bound on the curvature: one constraint."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import Ball, Feedback
from surefoot.knowledge import Curvature, CurvatureRows, EmptyRegionError, Errors, Reading
from surefoot.knowledge.curvature import draw_along_slope, project_onto_ball
from surefoot.knowledge.nearest import project_onto_bounds
from surefoot.rules import CertifiedOGD, RegionFilter
from surefoot.sets import Box

from ._seen import see, suspects


def seen(beta, g, s, x=(0.0, 0.0), reach=1.0, **told):
    known, x = Curvature(beta=beta, reach=reach, **told), np.array(x)
    return see(known, known.init(x), x, g, np.array(s))


def test_the_nearest_point_is_that_of_the_ball_worked_by_hand():
    _, region = seen(1.0, -1.5, [0.0, 1.0])  # U = -1.5 + y + |p|^2/2: around (0, -1), radius 2
    assert region.nearest(np.array([0.0, 4.0])) == pytest.approx([0.0, 1.0], abs=1e-12)
    assert region.nearest(np.array([3.0, -1.0])) == pytest.approx([2.0, -1.0], abs=1e-12)
    inside = np.array([0.5, 0.25])
    assert region.nearest(inside) is inside


def test_the_cut_goes_along_the_slope_worked_by_hand():
    _, region = seen(1.0, -0.5, [0.0, 1.0])
    found = region.find_cut(np.array([0.2236067977, 0.6708203932]))
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
        c = region.cut(w * min(1.0, 0.98 * region.longest / np.linalg.norm(w)))
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
            memory, region = see(known, memory, x, g, s)
            w = x + rng.normal(size=3)
            if margin:
                x = region.nearest(w)
            else:
                q, _ = project_onto_ball(w - x, g, s, float(s @ s), 2.0)
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
        memory, region = see(known, memory, x, g, s)
        x = region.nearest(x + rng.normal(size=2))


WRONG = Errors(value=0.05, slope=0.1, drift=0.01)


def test_every_term_of_the_bound_by_hand_away_from_0():
    x, s = np.array([1.0, -0.5]), np.array([0.6, 0.8])
    _, region = seen(0.5, -4.0, s, x, 3.0, errors=WRONG)
    p = x + np.array([0.0, 2.0])
    proof = region.certificate(p)
    assert (proof.value, proof.slope, proof.length) == pytest.approx((-3.94, 1.6, 2.0))
    assert proof.bound == pytest.approx(-3.94 + 1.6 + 0.1 * 2 + 0.25 * 4)
    turns = np.linspace(0, 6.28, 50)
    for u in np.stack([np.cos(turns), np.sin(turns)], axis=1):
        assert region.holds(x + region.radius * (1 - 1e-9) * u)
    assert not region.holds(x + region.radius * (1 + 1e-9) * s)
    # Theorem C: the least g with its errors, and 2M times the error of the slope.
    cost = 0.5 * 0.3**2 - 0.3 * (-4.05 - 2 * 3.0 * 0.1 + 1.6)
    assert region.price(p, 0.3) == pytest.approx(cost)


def test_either_engine_counts_every_term_of_the_bound(each_engine):
    player = RegionFilter(knowledge=CurvatureRows(beta=(0.5,), reach=3.0, errors=WRONG))
    x, s = np.array([1.0, -0.5]), np.array([0.6, 0.8])
    p = x + np.array([0.0, 2.0])
    state, info = player.step(player.init(x), Feedback(None, -4.0, s, proposal=p))
    assert state.x.tolist() == p.tolist()
    assert info.certificate.bound == pytest.approx(-3.94 + 1.6 + 0.1 * 2 + 0.25 * 4)
    _, info = player.step(state, Feedback(None, proposal=p))  # a round later, nothing was read
    assert info.certificate.bound == pytest.approx(-3.93 + 1.6 + 0.1 * 2 + 0.25 * 4)


def test_how_much_g_can_rise_over_a_length_by_hand():
    known = Curvature(beta=0.5, reach=3.0, errors=WRONG)
    s = np.array([0.6, 0.8])
    assert known.rise(s, 2.0) == pytest.approx((1.1 + 0.5 * (2 * 3.0 + 2.0)) * 2.0)
    assert known.rise(s, 2.0, ahead=True) == pytest.approx((1.1 + 0.5 * (4 * 3.0 + 2.0)) * 2.0)


@pytest.mark.parametrize(("slope", "edge", "sign"), [(1.0, -1.67, 1), (2.0, -2.33, -1)])
def test_a_reading_is_impossible_beyond_all_errors_and_not_before(slope, edge, sign):
    # Three rounds after the first reading g is at most -4.92 + 2 + 0.2 + 1 in 2, less 0.05 of
    # error; and the slope of the second says that the first was at least g - 0.08 - 4 + 0.2 - 1.
    known, x = Curvature(beta=0.5, reach=9.0, errors=WRONG), np.array([1.0, -0.5])
    memory, _ = see(known, known.init(x), x, -5.0, np.array([1.0, 0.0]))
    memory = known.age(known.age(memory, np.zeros(1)), np.zeros(1))
    y, s = x + np.array([2.0, 0.0]), np.array([slope, 0.0])
    assert suspects(known, memory, y, edge - sign * 1e-6, s) == ()
    assert len(suspects(known, memory, y, edge + sign * 1e-6, s)) == 1
    far = x + np.array([5.0, 0.0])  # outside, and on the way there, the curvature may be any
    assert suspects(known, memory, far, 20.0, s) == ()


def test_a_curvature_below_what_is_observed_is_named_with_its_round():
    known, x = Curvature(beta=0.5, reach=1.0), np.array([0.1, 0.0])
    first = float(x @ x - 0.5), 2 * x
    assert suspects(known, known.init(x), x, *first) == ()
    memory, _ = see(known, known.init(x), x, *first)
    y = np.array([0.4, 0.2])
    second = float(y @ y - 0.5), 2 * y
    (sentence,) = suspects(known, memory, y, *second)
    assert sentence.startswith("round 2: g = -0.3 is above its quadratic bound -0.3975")
    assert "the curvature is at least 2, more than beta = 0.5" in sentence
    assert see(known, memory, y, *second)[1].curvature_seen == pytest.approx(2.0)
    assert suspects(Curvature(beta=2.0, reach=1.0), memory, y, *second) == ()


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="beta must be a finite number >= 0, got -1"):
        Curvature(beta=-1.0, reach=1.0)
    known, x = Curvature(beta=1.0, reach=1.0), np.zeros(2)
    with pytest.raises(ValueError, match=r"strictly feasible.*got g\(x_1\) = 0"):
        see(known, known.init(x), x, 0.0, np.ones(2))
    with pytest.raises(ValueError, match="constraint_value must be finite, got nan"):
        see(known, known.init(x), x, float("nan"), np.ones(2))
    with pytest.raises(ValueError, match="constraint_subgradient must be finite, got nan"):
        see(known, known.init(x), x, -0.5, np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match="slope_error must be a finite number >= 0, got inf"):
        Curvature(beta=1.0, reach=1.0, errors=Errors(slope=np.inf))
    _, region = see(known, known.init(x), x, -0.5, np.ones(2))
    with pytest.raises(ValueError, match="the wanted action must be finite, got inf"):
        region.nearest(np.array([np.inf, 0.0]))


def test_the_certificate_is_a_sentence_with_the_inequality():
    _, region = seen(2.0, -0.5, [0.0, 1.0])
    text = str(region.certificate(region.nearest(np.array([0.0, 9.0]))))
    assert text.startswith("round 1: g = -0.5 was seen, and its curvature is at most 2: -0.5 + (")
    assert str(region.certificate(region.x)) == "round 1: nothing moves, and g = -0.5 stays"


def test_a_zero_slope_lets_a_step_of_the_ball_s_radius_through():
    q, weight = draw_along_slope(np.array([0.3, 0.0]), -0.5, np.zeros(2), 0.0, 1.0)
    assert q.tolist() == [0.3, 0.0]
    assert weight == 0.0
    _, region = seen(1.0, -0.5, [0.0, 0.0])
    assert np.linalg.norm(region.nearest(np.array([5.0, 0.0]))) == pytest.approx(1.0)


def drawn(seed, runs=4, d=3):
    """Readings of several runs that stay near 0, and what they want."""
    rng = np.random.default_rng(seed)
    shapes = (0.1, d), (1.0, d), (3.0, d)
    X, S, W = (size * rng.normal(size=(runs, k)) for size, k in shapes)
    return X, -rng.uniform(0.1, 1, (runs, 1)), S, W


@pytest.mark.parametrize("domain", [None, Ball(0.4)])
@pytest.mark.parametrize(
    "errors", [{}, {"value": 0.02}, {"slope": 0.1}, {"value": 0.02, "slope": 0.1, "drift": 0.01}]
)
def test_a_batch_is_each_of_its_runs(errors, domain):
    X, g, S, W = drawn(3)
    known = Curvature(beta=1.5, reach=2.0, domain=domain, errors=Errors(**errors))
    assert known.takes_batches
    memory, region = see(known, known.init(X), X, g, S)
    Y = region.nearest(W)
    _, region = see(known, memory, Y, 0.3 * g, -S)
    for i in range(4):
        one, _ = see(known, known.init(X[i]), X[i], float(g[i, 0]), S[i])
        _, alone = see(known, one, Y[i], 0.3 * float(g[i, 0]), -S[i])
        assert region.nearest(W)[i] == pytest.approx(alone.nearest(W[i]), abs=1e-7)
        assert region.cut(0.1 * W)[i] == pytest.approx(alone.cut(0.1 * W[i]), abs=1e-7)
        assert bool(region.contains(W)[i, 0]) == alone.contains(W[i])


def test_a_run_of_a_batch_that_cannot_be_refused_is_lost():
    known, x, s = Curvature(beta=1.0, reach=1.0), np.zeros((3, 2)), np.ones((3, 2))
    _, region = see(known, known.init(x), x, np.array([[0.0], [np.nan], [-0.5]]), s)
    found = region.nearest(x + 0.1)
    assert np.isnan(found).all(axis=1).tolist() == [True, True, False]


@pytest.mark.parametrize("domain", [Ball(0.3, centre=[0.1, 0.0]), Box([-0.2, -1.0], [0.3, 0.1])])
def test_a_known_set_holds_every_answer_and_the_start(domain):
    rng = np.random.default_rng(4)
    known = Curvature(beta=2.0, domain=domain)
    assert known.takes_batches == (not isinstance(domain, Box))
    x = np.zeros(2)
    memory, far = known.init(x), 0
    for _ in range(40):
        memory, region = see(known, memory, x, float(x @ x - 0.2), 2 * x)
        w = x + rng.normal(size=2)
        x = region.nearest(w) if rng.random() < 0.5 else region.cut(w)
        assert domain.contains(x)
        assert region.contains(x)
        assert region.nearest(x) is x
        assert x @ x <= 0.2
        far += not domain.contains(region.base.nearest(w))
    assert far > 10
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        known.init(np.array([0.0, 0.9]))


def test_an_action_outside_of_a_known_ball_comes_back_or_is_refused():
    known = Curvature(beta=1.0, reach=2.0, domain=Ball(0.3))
    memory = known.init(np.zeros(2))
    played = np.array([0.0, 0.5])  # by somebody else
    _, region = see(known, memory, played, -0.5, np.array([0.0, 1.0]))
    assert known.domain.contains(region.nearest(played))
    # The certified ball is within 0.1 of the action, and 0.1 away from the known one.
    _, region = see(known, memory, played, -0.005, np.array([0.0, 0.0]))
    with pytest.raises(EmptyRegionError, match=r"no certified action is in Ball\(radius=0\.3"):
        region.nearest(played)


def test_answers_are_answers_again():
    rng = np.random.default_rng(6)
    for errors in ({}, {"value": 0.02}, {"slope": 0.1}, {"value": 0.01, "drift": 0.01}):
        known = Curvature(beta=2.0, reach=2.0, errors=Errors(**errors))
        x = np.zeros(2)
        memory = known.init(x)
        for _ in range(60):
            off = rng.uniform(-1, 1) * errors.get("value", 0.0)
            memory, region = see(known, memory, x, float(x @ x - 0.5 + off), 2 * x)
            w = x + rng.normal(size=2)
            for p in (region.nearest(w), region.cut(w), region.find_nearest(w).point):
                assert region.contains(p)
                assert region.nearest(p) is p
            x = region.nearest(w)


def test_for_a_fixed_g_an_action_counts_as_it_was_certified_while_it_stays():
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.1))
    memory, region = see(known, known.init(np.zeros(2)), np.zeros(2), -0.6, np.array([0.0, 1.0]))
    x = region.nearest(np.array([0.0, 9.0]))
    memory, _ = see(known, memory, x, 0.0, np.array([0.0, 1.4]))
    before = memory.last.value
    for _ in range(200):  # every reading is too high to be of use
        memory, region = see(known, memory, x, 0.09, np.array([0.0, 1.4]))
        assert region.contains(x)
    assert memory.last.value == before <= 0


@pytest.mark.parametrize("errors", [{}, {"value": 0.01}, {"value": 0.01, "drift": 1e-3}])
@pytest.mark.parametrize("rows", [False, True])
def test_from_an_action_that_is_outside_the_way_back_is_to_what_was_certified(errors, rows):
    told = {"reach": 1.0, "errors": Errors(**errors)}
    known = CurvatureRows(beta=(1.0,), **told) if rows else Curvature(beta=1.0, **told)
    x, w = np.zeros(2), np.array([0.0, 9.0])
    memory, before = see(known, known.init(x), x, -0.5, np.array([0.0, 1.0]))
    played = np.array([0.5, 0.5])  # by somebody else
    memory, region = see(known, memory, played, 0.3, np.array([0.0, 1.4]))
    p = region.nearest(w)
    assert p == pytest.approx(before.nearest(w), abs=2e-3)
    assert region.contains(p)
    assert not region.contains(played)
    assert region.certificate(p).bound <= 0
    assert region.curvature_seen > 1


def test_an_action_that_convexity_certified_is_not_outside_whatever_is_read():
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.05, drift=0.02))
    memory, region = see(known, known.init(np.zeros(2)), np.zeros(2), -0.4, np.array([0.0, 0.3]))
    x = region.nearest(np.array([0.0, 9.0]))
    # A slope that is too short to come back along: the action is pulled towards the anchor.
    memory, region = see(known, memory, x, 0.0, np.array([0.0, 0.1]))
    pulled = region.nearest(np.array([0.0, 2.0]))
    assert "it is convex" in str(region.certificate(pulled))
    assert region.contains(pulled)
    memory, _ = see(known, memory, pulled, 0.04, np.array([0.0, 0.1]))
    assert (memory.last.x == pulled).all()
    assert memory.last.value <= 0


def test_the_error_of_a_slope_stays_with_it():
    # The slope is read with an error, the next round tells nothing at all.
    known, x, s = Curvature(beta=1.0, reach=1.0), np.zeros(2), np.array([0.0, 1.0])
    memory, region = see(known, known.init(x), x, -0.5, s, slope_error=0.3)
    near = region.nearest(np.array([0.0, 9.0]))
    memory = known.age(memory, np.zeros(1))
    later = known.region(memory, known.errors)
    assert later.nearest(np.array([0.0, 9.0])) == pytest.approx(near, abs=1e-12)
    assert later.certificate(near).errors.slope == 0.3


@pytest.mark.parametrize("batch", [False, True])
def test_the_longest_step_has_the_margin_of_the_statement_and_a_curvature_ends_it(batch):
    # nu = 2 beta longest, in exact numbers at most the root of s^2 - 2 beta (g + e).
    rng, u, n, M, beta = np.random.default_rng(5), Fraction(1, 2**53), 3, 1.7, 0.9
    known = Curvature(beta=beta, reach=M)
    x, g, s = rng.normal(size=(20, n)), -rng.uniform(0.01, 0.5, (20, 1)), rng.normal(size=(20, n))
    if batch:
        longest = see(known, known.init(x), x, g, s)[1].longest[:, 0]
    else:
        longest = [see(known, known.init(a), a, float(b), c)[1].longest
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
    told, s = {"reach": unit, "errors": Errors(slope=tau)}, np.array([1 / 1.9 + tau])
    one, rows = Curvature(beta=beta, **told), CurvatureRows(beta=(beta,), **told)
    for region in (
        see(one, one.init(x), x, -unit, s)[1],
        see(rows, rows.init(x), x, np.array([-unit]), s[None])[1],
    ):
        found = region.find_nearest(w)
        q = found.point
        assert x < q < u
        bent, loose = region.normal_error(found.weights, q)
        gained = 0.5 * float(bent) * float((x - u) @ (x - u) - (q - u) @ (q - u)) + float(loose)
        assert float((w - q) @ (q - u)) >= -gained


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0, 3.0])
def test_where_the_slope_errs_the_point_is_the_nearest_of_all_that_are_certified(share):
    rng = np.random.default_rng(6)
    for _ in range(100):
        d, g = int(rng.integers(1, 5)), -float(10 ** rng.uniform(-3, 1))
        x, s = rng.normal(size=d), rng.normal(size=d) * 10 ** rng.uniform(-2, 1)
        errors = Errors(slope=share * float(np.linalg.norm(s)))
        known = Curvature(beta=float(10 ** rng.uniform(-1, 1)), reach=1e3, errors=errors)
        memory = known.observe(known.init(x), Reading(x, g, s, errors))
        region = known.region(memory, errors)
        w = x + rng.normal(size=d) * 10 ** rng.uniform(-2, 3)
        p = region.nearest(w)
        assert region.contains(p)
        best = x + project_onto_bounds(w - x, region.as_bounds())[0]
        lost = np.linalg.norm(p - w) - np.linalg.norm(best - w)
        assert lost <= 1e-4 * np.linalg.norm(best - x)  # both keep the margin of a large reach


@pytest.mark.parametrize("g", [-1e-3, -0.1, -1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_cut_where_the_slope_errs_is_the_furthest_along_the_slope_that_is_certified(g, seed):
    rng = np.random.default_rng([seed, 77])
    unit, across = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    _, region = seen(1.6, g, unit, (0.0, 0.0, 0.0), errors=Errors(slope=0.1))
    aside = rng.uniform(0.1, 0.7) * float(region.longest) * across
    found = region.find_cut(aside + 2.0 * unit).point
    assert region.bound(found) <= 0
    assert found - (found @ unit) * unit == pytest.approx(aside)
    ways = np.linspace(-1.0, 2.0, 3001)
    certified = [way for way in ways if region.bound(aside + way * unit) <= 0]
    assert certified[-1] - 1e-6 <= found @ unit <= certified[-1] + 1e-3


def test_descent_goes_on_along_a_limit_whose_slope_errs():
    known = Curvature(beta=1.6, reach=1.8, errors=Errors(slope=0.05))
    player, rng, still = CertifiedOGD(knowledge=known, radius=0.9), np.random.default_rng(0), 0
    state = player.init(np.zeros(2))
    for _ in range(200):
        x, off = state.x, rng.normal(size=2)
        g, s = 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4, np.array([1.6, 1.0]) * x
        assert g <= 0
        read = s + 0.05 * rng.random() * off / np.linalg.norm(off)
        state = player.update(state, Feedback(-rng.uniform([0.2, 0.6], [0.8, 1.3]), g, read))
        still += bool((state.x == x).all())
    assert still < 20  # 197 before such a cut was sought among the lengths that can have one
