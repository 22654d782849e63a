"""Any proposal goes to the nearest point that is certainly feasible."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from surefoot import Ball, Constants
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Curvature, LipschitzHull, Together
from surefoot.problems.constraints import LinfNorm
from surefoot.rules import RegionFilter, SafetyFilter

from ._known import admit, inside, proposed, sets


def test_one_step_by_hand():
    safe = RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=3.0))
    x = np.array([0.5, -0.25])
    s = np.array([1.2, -1.6])
    # A slack of 0.9 is worth 0.45 of way: the proposal (3, -4) away is taken along (0.6, -0.8).
    state, info = admit(safe, safe.init(x), x + np.array([3.0, -4.0]), -0.9, s)
    np.testing.assert_allclose(state.x, [0.77, -0.61], atol=1e-12)
    assert info.certificate.cut
    assert info.certificate.bound <= 0
    # One within reach is taken as it is.
    state, info = admit(safe, safe.init(x), x + np.array([0.06, -0.08]), -0.9, s)
    assert state.x.tolist() == (x + np.array([0.06, -0.08])).tolist()
    assert not info.cut
    assert info.certificate.bound == pytest.approx(-0.7, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(sets())
def test_whatever_is_proposed_is_made_feasible(drawn):
    known, rng = drawn
    constraint, domain = known.constraint, known.domain
    x1 = inside(known, rng)
    constants = Constants(R=float(domain.radius), G_g=constraint.subgradient_bound(domain))
    safe = RegionFilter.default(constants, domain)
    state = safe.init(x1)
    for _ in range(25):
        state, info = admit(safe, state, *proposed(known, state.x, rng))
        assert constraint.value(state.x) <= 0
        assert constraint.value(state.x) <= info.certificate.bound + 1e-9 * domain.radius
        assert info.contradictions == ()


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_slope_that_is_not_finite_is_refused_though_the_hull_does_not_use_it(wrong):
    hull = LipschitzHull(G_g=1.0, reach=1.0)
    slopes = np.array([0.0, wrong])
    alone, both = RegionFilter(knowledge=hull), RegionFilter(knowledge=Together(rows=(hull, hull)))
    with pytest.raises(InvalidValueError, match="constraint_subgradient must be finite, got"):
        admit(alone, alone.init(np.zeros(2)), np.ones(2), -0.5, slopes)
    with pytest.raises(InvalidValueError, match="constraint_subgradient must be finite, got"):
        admit(both, both.init(np.zeros(2)), np.ones(2), np.full(2, -0.5), np.array([slopes] * 2))


def test_a_hull_needs_no_slope_and_a_curvature_does():
    hull = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    state, info = admit(hull, hull.init(np.zeros(2)), np.array([0.3, 0.0]), -0.5, None)
    # What a slope would contradict is not looked for; what the value alone does is.
    state, info = admit(hull, state, np.zeros(2), -0.25, None)
    assert info.contradictions == ()
    _, info = admit(hull, state, np.zeros(2), -0.1, None)
    assert "is above its certified bound" in info.contradictions[0]
    ball = RegionFilter(knowledge=Curvature(beta=1.0, reach=1.0))
    with pytest.raises(InvalidValueError, match="constraint_subgradient must be an array of shape"):
        admit(ball, ball.init(np.zeros(2)), np.zeros(2), -0.5, None)


def test_it_goes_at_least_as_far_in_the_first_round_as_any_filter_with_a_margin():
    constraint, x = LinfNorm(0.5, 2), np.zeros(2)
    g, s = constraint.query(x)
    proposal = np.array([2.0, 1.0])
    hull = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    ours, _ = admit(hull, hull.init(x), proposal, g, s)
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.05)
    theirs, _ = admit(safe, safe.init(x), proposal, g, s)
    assert np.linalg.norm(proposal - ours.x) <= np.linalg.norm(proposal - theirs.x)


def test_it_is_a_filter_of_one_run():
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    assert (safe.needs.one_run, safe.needs.cost_gradients) == (True, 0)
    with pytest.raises(InvalidValueError, match="x1 must be one NumPy vector, got"):
        safe.init(np.zeros((4, 2)))


def test_bad_input_is_refused_and_nothing_moves():
    with pytest.raises(InvalidValueError, match="knowledge must be an object of surefoot"):
        RegionFilter(knowledge=1.0)
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    state, s = safe.init(np.zeros(2)), np.array([0.0, 1.0])
    with pytest.raises(InvalidValueError, match="proposal must be finite, got nan at index 0"):
        admit(safe, state, np.array([math.nan, 0.0]), -0.5, s)
    with pytest.raises(InvalidValueError, match="proposal"):
        admit(safe, state, np.zeros(3), -0.5, s)
