"""Regions whose values and slopes err, or whose constraint drifts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Feedback
from surefoot.core.types import Context
from surefoot.knowledge import (
    Column,
    ContextHull,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.rules import RegionFilter
from surefoot.sets import Box

from ._seen import see

UP = np.array([0.0, 1.0])


def first(known, g, s=UP, **told):
    x = np.zeros(2)
    return see(known, known.init(x), x, g, np.asarray(s, dtype=float), **told)


def bound_at(q, g, s, nu=0.0, tau=0.0, beta=0.0, v=0.0):
    return g + nu + v + s @ q + tau * np.linalg.norm(q) + 0.5 * beta * q @ q


def test_a_value_error_and_drift_shorten_the_radius_of_a_ball():
    known = LipschitzHull(G_g=2.0, reach=1.0, errors=Errors(value=0.05, drift=0.01))
    _, region = first(known, -0.5)
    assert region.radius == pytest.approx((0.5 - 0.05 - 0.01) / 2)
    assert region.nearest(np.array([3.0, 4.0])) == pytest.approx(np.array([0.132, 0.176]))
    words = str(region.certificate(region.nearest(9 * UP)))
    assert "for values off by up to 0.05 and a drift of 0.01 per round" in words


def test_the_error_of_a_round_stands_for_that_of_the_knowledge():
    known = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=0.2))
    assert first(known, -0.5, value_error=0.1)[1].radius == pytest.approx(0.4)
    exact = LipschitzHull(G_g=1.0, reach=1.0)
    assert first(exact, -0.5, value_error=0.1)[1].radius == pytest.approx(0.4)
    for bad in (-0.1, math.inf, math.nan):
        with pytest.raises(ValueError, match="value_error must be a finite number >= 0"):
            first(exact, -0.5, value_error=bad)


@pytest.mark.parametrize("name", ["value", "slope", "drift", "evaluation"])
def test_an_error_must_be_finite_and_at_least_0(name):
    assert getattr(Errors(**{name: 0}), name) == 0.0
    with pytest.raises(ValueError, match=f"{name} must be .* >= 0, got -1"):
        Errors(**{name: -1.0})
    with pytest.raises(ValueError, match="errors must be Errors"):
        LipschitzHull(G_g=1.0, reach=1.0, errors=0.1)


def test_several_rows_have_the_largest_of_each_error():
    told = {"G_g": 1.0, "reach": 1.0}
    rows = (
        LipschitzHull(errors=Errors(value=0.1, drift=0.02), **told),
        LipschitzHull(errors=Errors(value=0.3, evaluation=1e-9), **told),
    )
    known = Together(rows=rows)
    assert known.errors == Errors(value=0.3, drift=0.02, evaluation=1e-9)


def test_each_error_by_itself_makes_readings_inexact_but_that_of_an_evaluation():
    names = ("value", "slope", "drift", "evaluation")
    assert [Errors(**{name: 0.1}).is_exact for name in names] == [False, False, False, True]


@pytest.mark.parametrize("kind", [LipschitzHull, ContextHull])
def test_what_was_certified_stands_for_a_reading_that_is_too_high(kind):
    # -1 and its error, a rise of G_g = 2 over 1/4; and the error of an evaluation once more.
    told = {"context": Column(adds=1.0)} if kind is ContextHull else {}
    errors = Errors(value=0.1, evaluation=0.01)
    known = kind(G_g=2.0, reach=4.0, errors=errors, **told)
    memory = known.init(np.zeros(2))
    for x, g in (([0.0, 0.0], -1.0), ([0.0, 0.25], -0.2)):
        if told:
            memory = known.announce(memory, Context(np.zeros(1)))
        memory = known.observe(memory, Reading(np.array(x), g, None, errors))
    kept = memory.seen.value[-1] if told else memory.last.value
    assert kept == pytest.approx(-0.9 + 0.5 + 0.01)


def test_no_constant_of_the_feasible_set_bounds_a_reading_outside(each_engine):
    known = LipschitzHull(G_g=1.0, reach=9.0, errors=Errors(value=0.1))
    player, s = RegionFilter(knowledge=known), np.array([1.0, 0.0])
    state, x = player.init(np.zeros(2)), np.zeros(2)
    for g in (-0.2, 5.0):  # from the first, 0.9 at the second if g rose by 1 per length out there
        state = player.update(state, Feedback(None, g, s, action=x, proposal=x))
        x = s
    assert state.memory.last.value == pytest.approx(5.1)


def test_only_where_slopes_certify_nothing_may_their_error_be_infinite():
    errors = Errors(slope=math.inf)
    assert LipschitzHull(G_g=1.0, reach=1.0, errors=errors).errors.is_exact
    for kind, rest in ((Curvature, {}), (CurvatureRows, {"rows": 2})):
        with pytest.raises(ValueError, match="slope_error must be a finite number >= 0, got inf"):
            kind(beta=1.0, reach=1.0, errors=errors, **rest)


def test_a_start_whose_slack_may_be_an_error_is_refused():
    for known in (
        LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=0.1)),
        Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.1)),
        CurvatureRows(beta=1.0, rows=1, reach=1.0, errors=Errors(value=0.1)),
    ):
        with pytest.raises(ValueError, match="strictly feasible, by more than the error of g"):
            first(known, -0.1)
    batch = Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.1))
    x = np.zeros((2, 2))
    _, region = see(batch, batch.init(x), x, np.array([[-0.1], [-0.5]]), x + UP)
    assert np.isnan(region.nearest(x + UP)).all(axis=1).tolist() == [True, False]


def test_with_an_error_of_the_slope_the_nearest_point_is_the_projection():
    # Along the slope: -0.5 + 0.1 + (1 + 0.2) z + z^2/2 = 0.
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.1, slope=0.2))
    p = first(known, -0.5)[1].nearest(9 * UP)
    assert p == pytest.approx(np.array([0.0, -1.2 + math.sqrt(1.44 + 0.8)]), abs=1e-6)
    # Against it: 0.4 = (0.2 - 1) z + z^2/2, the other way.
    p = first(known, -0.5)[1].nearest(-9 * UP)
    assert p[1] == pytest.approx(-(0.8 + math.sqrt(0.64 + 0.8)), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_no_certified_point_is_nearer_than_the_one_found(seed):
    rng = np.random.default_rng(seed)
    nu, tau, beta = rng.uniform(0, 0.2), rng.uniform(0, 0.5), rng.uniform(0.2, 2)
    s, w = rng.normal(size=2), 2 * rng.normal(size=2)
    told = {"reach": 3.0, "errors": Errors(value=nu, slope=tau)}
    known = [Curvature(beta=beta, **told), CurvatureRows(beta=beta, rows=1, **told)]
    angle = np.linspace(0, 2 * np.pi, 2001)
    way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # On each ray from x the bound is 0 at one length.
    a = way @ s + tau
    length = (-a + np.sqrt(a * a + 2 * beta * (0.5 - nu))) / beta
    best = np.linalg.norm(length[:, None] * way - w, axis=1).min()
    for one in known:
        p = first(one, -0.5, s)[1].nearest(w)
        assert bound_at(p, -0.5, s, nu, tau, beta) <= 0
        if bound_at(w, -0.5, s, nu, tau, beta) > 0:
            assert np.linalg.norm(p - w) <= best + 1e-3


def test_for_a_fixed_g_what_was_certified_before_counts_whatever_is_read():
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(value=0.1))
    memory, region = first(known, -0.5)
    x = region.nearest(9 * UP)
    reading = Reading(x, 0.1, np.array([0.0, 1.4]), known.errors)  # read as 0.1, is 0
    assert known.contradictions(memory, reading) == ()
    memory = known.observe(memory, reading)
    region = known.region(memory, known.errors)
    assert memory.last.value == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(region.nearest(x + UP) - x) < 1e-6


def test_under_drift_the_anchor_ages_until_it_is_visited():
    known, x = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.01)), np.zeros(2)
    memory, region = see(known, known.init(x), x, -0.4, UP)
    visits = []
    for t in range(2, 60):
        x = region.nearest(np.array([0.0, 0.35]))
        visits += [t] if x.tolist() == [0.0, 0.0] else []
        memory, region = see(known, memory, x, -0.4 + x[1], UP)
    # Half of 0.4 is used up when the action of round 21 is chosen, 20 rounds later.
    assert visits == [21, 41]


def test_where_drift_leaves_nothing_certified_it_is_said():
    known = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.1))
    _, region = first(known, -0.05)
    with pytest.raises(EmptyRegionError, match=r"round 1: no next action is certified.*0\.05") as e:
        region.nearest(UP)
    assert e.value.point.tolist() == [0.0, 0.0]
    for curved in (
        Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.1)),
        CurvatureRows(beta=1.0, rows=1, reach=1.0, errors=Errors(drift=0.1)),
    ):
        with pytest.raises(EmptyRegionError, match="no next action is certified"):
            first(curved, -0.05, [0.0, 0.1])[1].nearest(UP)
    known, X = Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.1)), np.zeros((2, 2))
    _, region = see(known, known.init(X), X, np.array([[-0.05], [-0.5]]), X + 0.1 * UP)
    assert np.isnan(region.nearest(X + UP)).all(axis=1).tolist() == [True, False]


def test_under_drift_an_action_without_a_ball_is_pulled_towards_the_anchor():
    known = Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.02))
    memory, region = first(known, -0.3, [0.0, 0.3])
    x = region.nearest(9 * UP)
    # Read at 0 with a slope too short to come back along: 0.1^2 < 2 * 0.02.
    memory, region = see(known, memory, x, 0.0, np.array([0.0, 0.1]))
    p = region.nearest(2 * UP)
    share = 0.02 / (0.02 + 0.26)  # the anchor has lost two rounds of drift
    assert p == pytest.approx((1 - share) * x, abs=1e-9)
    assert region.certificate(p).bound <= 0


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_readings_within_their_errors_raise_no_alarm_and_others_do(factor):
    rng, alarms = np.random.default_rng(1), 0
    told = {"reach": 1.5, "errors": Errors(value=0.02, slope=0.05, drift=1e-3)}
    for known in (
        LipschitzHull(G_g=2.0, **told),
        Curvature(beta=2.0, **told),
        CurvatureRows(beta=2.0, rows=1, **told),
        Together(rows=(Curvature(beta=2.0, **told),), domain=Box([-1, -1], [1, 0.4])),
    ):
        x, level = np.zeros(2), -0.6
        memory = known.init(x)
        for _ in range(40):
            true, slope = float(x @ x) + level, 2 * x
            off = rng.normal(size=2)
            reading = true + factor * 0.02 * rng.choice([-1, 1])
            slope = slope + factor * 0.05 * off / np.linalg.norm(off)
            read = Reading(x, *known.read(x, Feedback(None, reading, slope)), known.errors)
            alarms += len(known.contradictions(memory, read))
            memory = known.observe(memory, read)
            region = known.region(memory, known.errors)
            x = region.nearest(x + rng.normal(size=2))
            level += factor * 1e-3 * rng.choice([-1, 1])
            assert factor > 1 or float(x @ x) + level <= 0
    assert (alarms > 0) == (factor > 1)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_a_batch_has_the_answers_of_its_runs(seed):
    rng = np.random.default_rng(seed)
    errors = {
        "value": rng.uniform(0, 0.1, (3, 1)),
        "slope": rng.uniform(0, 0.3, (3, 1)),
        "drift": rng.uniform(0, 0.02, (3, 1)),
    }
    starts, seconds = np.zeros((3, 2)), 0.2 * rng.normal(size=(3, 2))
    g, then = -rng.uniform(0.3, 0.6, (3, 1)), -rng.uniform(0.0, 0.4, (3, 1))
    s, w = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    known = Curvature(beta=1.0, reach=2.0, errors=Errors(**errors))
    memory, _ = see(known, known.init(starts), starts, g, s)
    found = see(known, memory, seconds, then, s)[1].nearest(w)
    for i in range(3):
        told = Errors(**{name: float(column[i, 0]) for name, column in errors.items()})
        one = Curvature(beta=1.0, reach=2.0, errors=told)
        memory, _ = see(one, one.init(starts[i]), starts[i], float(g[i, 0]), s[i])
        _, region = see(one, memory, seconds[i], float(then[i, 0]), s[i])
        try:
            alone = region.nearest(w[i])
        except EmptyRegionError:
            alone = np.full(2, np.nan)
        assert found[i] == pytest.approx(alone, abs=1e-5, nan_ok=True)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_an_announced_box_is_called_empty_only_if_nothing_in_it_is_certified(seed, drifts):
    rng = np.random.default_rng(seed)
    told = {"value": rng.uniform(0, 0.05), "slope": 10 ** rng.uniform(-2, 0)}
    told |= {"drift": rng.uniform(0, 0.05)} if drifts else {}
    beta = tuple(10 ** rng.uniform(-1, 1, 2))
    known = CurvatureRows(beta=beta, reach=3.0, errors=Errors(**told))
    x, s = np.zeros(2), rng.normal(size=(2, 2))
    memory, region = see(known, known.init(x), x, -rng.uniform(0.1, 0.6, 2), s)
    if drifts:  # where the action itself is often not certified
        x, s = 0.05 * rng.normal(size=2), rng.normal(size=(2, 2))
        memory, region = see(known, memory, x, rng.uniform(-0.1, 0.03, 2), s)
    middle, half = rng.normal(size=2) * 10 ** rng.uniform(-1, 0), 10 ** rng.uniform(-2, 0, 2)
    region = region.within(Box(middle - half, middle + half))
    inside = [
        p
        for p in middle
        + half * np.stack(np.meshgrid(*[np.linspace(-1, 1, 41)] * 2), -1).reshape(-1, 2)
        if region.base.bounds(p).max() <= -1e-3
    ]
    proposal = middle + half * rng.choice([-1.0, 1.0, 30.0], 2)
    try:
        p = region.nearest(proposal)
    except EmptyRegionError:
        assert not inside
    else:
        assert region.known.contains(p)
        # Under drift a pull may be certified where no quadratic bound is.
        assert region.base.holds(p) or (drifts and not inside)


def test_a_far_wish_does_not_empty_a_box_that_holds_certified_points():
    known = CurvatureRows(beta=1.0, rows=1, reach=3.0, errors=Errors(slope=0.5))
    _, region = first(known, np.array([-0.5]), [UP])
    # The certified points have -0.5 + y + |q|/2 + |q|^2/2 <= 0; (0.2, -0.2) is well inside.
    box = Box([0.2, -0.2], [9.0, 9.0])
    p = region.within(box).nearest(np.array([9.0, 9.0]))
    assert box.contains(p)
    assert bound_at(p, -0.5, UP, tau=0.5, beta=1.0) == pytest.approx(0.0, abs=1e-6)


def test_under_drift_a_pull_does_not_end_where_an_announced_box_would_clip_it():
    # g = 0.1 x - 0.1 rises by 0.02 per round from round 3 on, as was told.
    known, x, level = (
        CurvatureRows(beta=(1.0,), reach=3.0, errors=Errors(drift=0.02)),
        np.zeros(1),
        -0.1,
    )
    memory = known.init(x)
    for t in range(1, 4):
        assert level + 0.1 * x[0] <= 0
        memory, region = see(known, memory, x, level + 0.1 * x, np.array([[0.1]]))
        x = region.within(Box(x - 5.0, x + 5.0)).nearest(x + 1.0)
        level += 0.02 if t > 2 else 0.0
    _, region = see(known, memory, x, level + 0.1 * x, np.array([[0.1]]))
    # What is left is the way to the anchor, which the box is not on.
    with pytest.raises(EmptyRegionError, match="no certified action is in Box") as error:
        region.within(Box(x, x + 5.0)).nearest(x + 1.0)
    assert region.contains(error.value.point)
    # With the anchor in the box, the way there is certified where it enters the box.
    p = region.within(Box([-1.0], x - 0.3)).nearest(x)
    assert p == pytest.approx(x - 0.3, abs=1e-6)


def test_under_drift_rows_that_the_action_is_outside_of_are_met_one_after_the_other():
    known = CurvatureRows(beta=0.5, rows=3, reach=3.0, errors=Errors(slope=0.05, drift=0.05))
    memory, _ = first(known, np.full(3, -0.3), np.eye(3, 2))
    x, s = np.array([0.35, 0.35]), np.array([[1.0, 0.2], [-0.8, 0.6], [0.1, 1.0]])
    _, region = see(known, memory, x, np.full(3, 0.0), s)
    assert not region.holds(x)
    for proposal in (x, x + 9 * UP, x - 9 * UP):
        assert region.holds(region.nearest(proposal))


def test_slopes_whose_error_has_no_end_only_steer():
    assert str(Errors(slope=np.inf)) == "allows for rounding alone; slopes only steer"
    assert str(Errors(value=0.05, slope=np.inf)) == (
        "allows for values off by up to 0.05, rounding; slopes only steer"
    )
    assert str(Errors(slope=0.1)) == "allows for slopes off by up to 0.1, rounding"
