"""A g that is not convex: what rests on convexity is refused, for reasons that can be seen."""

import math
from functools import partial

import numpy as np
import pytest
from tests.knowledge._corridor import BETA, G_G, REACH, corridor, middle, voltage

from surefoot import Ball, Constants, Controller, Feedback, LeaderFollower, kernel
from surefoot.knowledge import (
    CertifiedLength,
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    RelativeCurvature,
    Together,
)
from surefoot.rules import (
    Averaged,
    CertifiedOGD,
    CertifiedPFS,
    Delayed,
    MovingBalls,
    RegionFilter,
    SafetyFilter,
    ValuesAveraging,
    ValuesFollower,
)

KNOWN = Constants(R=1.0, G_f=1.0, G_g=1.0, beta=1.0, start_slack=0.5, start_reach=1.0, convex=False)
CURVED = Curvature(beta=BETA, reach=REACH, convex=False)
HULL = LipschitzHull(G_g=G_G, reach=REACH)


def follow(knowledge, wishes, limit, x1):
    """Return the values at the actions of a filter that is told wishes."""
    player = RegionFilter(knowledge=knowledge)
    state, values = player.init(np.array(x1, dtype=float)), []
    for proposal in wishes:
        g, s = limit(state.x)
        values.append(g)
        state = player.update(
            state, Feedback(None, g, s, proposal=np.asarray(proposal, dtype=float))
        )
    return np.array([*values, limit(state.x)[0]])


# Along the corridor from its deepest point, round one bend; then straight across that.
ACROSS = [*(middle(x) for x in np.linspace(0.0, 1.0, 300)), *[[0.5, 0.05]] * 3]


def test_the_hull_of_two_balls_really_violates_in_a_corridor_and_curvature_does_not():
    assert follow(HULL, ACROSS, corridor, middle(0.0)).max() > 0.1  # the corridor is 0.09 deep
    assert follow(CURVED, ACROSS, corridor, middle(0.0)).max() <= 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: LipschitzHull(G_g=1.0, reach=1.0, convex=False),
        lambda: CertifiedLength(G_g=1.0, domain=Ball(1.0), rho=0.1, convex=False),
        lambda: ValuesFollower.default(KNOWN),
        lambda: Together(rows=(HULL, CURVED), convex=False),
        lambda: LeaderFollower.default(KNOWN),
        lambda: CertifiedPFS.default(KNOWN),
        lambda: CertifiedOGD.default(KNOWN),
        lambda: ValuesAveraging.default(KNOWN),
        lambda: SafetyFilter.default(KNOWN),
        lambda: RegionFilter.default(KNOWN),
        lambda: Averaged(base=CertifiedOGD(knowledge=CURVED, radius=1.0), sigma=0.1),
        lambda: Averaged.of(MovingBalls.default(KNOWN, cost_curvature=1.0), sigma=0.1),
        lambda: ValuesAveraging(knowledge=CURVED, radius=1.0, start_slope=1.0),
    ],
)
def test_what_rests_on_convexity_is_refused_in_one_sentence(make):
    with pytest.raises(ValueError, match=r"^[A-Z][^.]* assumes a convex g, got [^\n]*$"):
        make()


def test_what_does_not_is_made_and_says_so():
    made = MovingBalls.default(KNOWN, cost_curvature=1.0)
    assert not made.algorithm.knowledge.convex
    assert str(KNOWN).endswith("g need not be convex")
    assert "convex=False" in repr(KNOWN)
    assert Delayed.of(made, delay=2).guarantee.constraint_form == "any"
    noisy = MovingBalls.default(KNOWN.with_origin("given", value_error=0.1), cost_curvature=1.0)
    assert noisy.guarantee.constraint_form == "any"
    assert not Together(rows=(HULL, CURVED)).convex  # the hull's own row may be convex
    assert KNOWN.complete(1.0).sigma is None  # the start's sigma is convexity's
    assert Constants(R=1.0, G_g=1.0, start_slack=0.5).complete(1.0).sigma == 0.25


@pytest.mark.parametrize(
    ("convex", "match"), [(0.5, "convex must be True or False"), (None, "convex must be")]
)
def test_convex_is_true_or_false(convex, match):
    for make in (partial(Constants, R=1.0), partial(Curvature, beta=1.0, reach=1.0)):
        with pytest.raises(ValueError, match=match):
            make(convex=convex)


@pytest.mark.parametrize("kind", [Curvature, partial(CurvatureRows, rows=1)])
def test_nothing_is_pulled_to_the_anchor_under_drift(kind):
    # Somebody went to where the slope is 0 and drift uses the slack up: only a pull could help.
    def last(convex):
        told = {"reach": 2.0, "errors": Errors(drift=0.05)}
        player = RegionFilter(knowledge=kind(beta=1.0, convex=convex, **told))
        state = player.init(np.zeros(2))
        seen = Feedback(None, -0.5, np.array([0.1, 0.0]), proposal=np.zeros(2))
        state = player.update(state, seen)
        far = np.array([1.2, 0.0])
        seen = Feedback(None, -0.04, np.zeros(2), proposal=far, action=far)
        return player.update(state, seen).x

    assert 1.1 < last(True)[0] < 1.2  # towards the anchor
    with pytest.raises(EmptyRegionError):
        last(False)


@pytest.mark.parametrize("kind", [Curvature, partial(CurvatureRows, rows=2)])
def test_the_kernel_leaves_drift_without_convexity_to_python(kind):
    told = {"beta": 1.0, "reach": 2.0, "errors": Errors(drift=0.05)}
    pair = [RegionFilter(knowledge=kind(**told, convex=c)).engine for c in (True, False)]
    assert pair[1] == "python"
    assert pair[0] == RegionFilter(knowledge=CURVED).engine


@pytest.mark.parametrize("convex", [True, False])
def test_feasible_actions_beyond_a_bend_contradict_a_convex_g_only(convex):
    # From the second action on, g would fall by 2 to the first; but between them it may be outside,
    # where its curvature may be any.
    for kind in (Curvature, partial(CurvatureRows, rows=1)):
        player = RegionFilter(knowledge=kind(beta=0.5, reach=REACH, convex=convex))
        state = player.init(np.zeros(2))
        for x, g, s in ((0.0, -0.5, 0.0), (2.0, -0.1, 1.5)):
            p = np.array([x, 0.0])
            seen = Feedback(None, g, np.array([s, 0.0]), action=p, proposal=p)
            state, info = player.step(state, seen)
        assert bool(info.contradictions) == convex


def test_the_way_back_is_the_anchor_itself_and_has_no_speed():
    def loop(convex):
        known = Curvature(beta=BETA, reach=REACH, convex=convex)
        controller = Controller(RegionFilter(knowledge=known), start=middle(0.0))
        for x in np.linspace(0.0, 1.0, 60):
            g, s = corridor(controller.ask())
            controller.tell(constraint_value=g, constraint_subgradient=s, proposal=middle(x))
        return controller

    slow = loop(True)
    slow.retreat("a test", speed=0.4)
    assert corridor(slow.ask())[0] > 0  # which is why
    controller = loop(False)
    before = controller.ask()
    with pytest.raises(ValueError, match=r"^speed must be None where g is not convex"):
        controller.retreat("a test", speed=0.4)
    assert (controller.ask() == before).all()
    controller.retreat("a test")
    np.testing.assert_array_equal(controller.ask(), middle(0.0))


def test_over_voltage_is_certified_by_its_tangent_where_the_middle_of_two_actions_is_outside():
    ends = np.array([[0.0, 0.533], [1.6, -0.556]])
    assert max(voltage(p)[0] for p in ends) <= 0 < voltage(ends.mean(axis=0))[0]
    rng = np.random.default_rng(5)
    wishes = rng.uniform([-1.0, -1.5], [2.5, 1.5], size=(500, 2))
    tangent = Curvature(beta=0.0, reach=4.0, domain=Ball(2.5), convex=False)
    values = follow(tangent, wishes, voltage, [0.0, 0.0])
    assert -1e-3 < values.max() <= 0


def bumpy(p, height=0.02):
    """Return |p| - 1 with bumps that are not convex, which a convex g is within 0.02 of."""
    size = max(float(np.linalg.norm(p)), 1e-300)
    return size - 1 + height * math.sin(40 * p[0]), p / size


@pytest.mark.parametrize(("shift", "is_safe"), [(0.02, True), (0.0, False)])
def test_a_nearly_convex_g_is_told_with_its_distance_and_a_value_error(shift, is_safe):
    # h = |p| - 1 + 0.02 is convex and g <= h <= g + 0.04: what is told, g + 0.02, is h but for
    # an error of 0.02. Told as if it were convex, g is violated.
    rng = np.random.default_rng(3)
    hull = LipschitzHull(G_g=1.0, reach=1.1, errors=Errors(value=shift, slope=math.inf))
    player = RegionFilter(knowledge=hull)
    state, worst = player.init(np.zeros(2)), -math.inf
    for proposal in rng.normal(size=(3_000, 2)):
        g, s = bumpy(state.x)
        worst = max(worst, g)
        seen = Feedback(None, g + shift, s, proposal=3 * proposal)
        state = player.update(state, seen)
    assert (worst <= 0) == is_safe


@pytest.mark.parametrize("engine", ["python", "kernel"])
@pytest.mark.parametrize(
    "knowledge",
    [
        Curvature(beta=0.0, reach=9.0, convex=False),
        CurvatureRows(beta=0.0, rows=1, reach=9.0, convex=False),
        RelativeCurvature(L_0=0.0, L_1=0.125, reach=9.0, convex=False),
    ],
    ids=repr,
)
def test_on_a_plateau_of_the_limit_nothing_certifies_a_step(knowledge, engine):
    # min(x, 0) + max(x - 1, 0): concave where it is at most 0, and 0 from 0 to 1. Somebody else
    # plays 0.5, where value, slope and curvature are 0, and so is every tangent.
    player = RegionFilter(knowledge=knowledge)
    with kernel.engine(engine):
        state = player.init(np.array([-1.0]))
        state = player.update(state, Feedback(None, -1.0, np.ones(1), proposal=-np.ones(1)))
        seen = Feedback(None, 0.0, np.zeros(1), proposal=np.array([5.0]), action=np.array([0.5]))
        assert player.update(state, seen).x.tolist() == [0.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "rounds"),
    [(Errors(), 20_000), (Errors(value=0.01), 20_000), (Errors(value=0.01, slope=0.05), 2_000)],
)
def test_attacked_for_20_000_rounds_the_corridor_is_kept(errors, rounds):
    rng = np.random.default_rng(11)
    attack(rng, Curvature(beta=BETA, reach=REACH, convex=False, errors=errors), rounds)


def attack(rng, knowledge, rounds):
    """Proposal for points anywhere, aimed along the corridor, or just beyond the boundary."""
    player, errors = RegionFilter(knowledge=knowledge), knowledge.errors
    state = player.init(middle(0.0))
    for t in range(rounds):
        g, s = corridor(state.x)
        assert g <= 0, (t, state.x, g)
        away = rng.normal(size=2)
        away /= np.linalg.norm(away)
        kind = rng.integers(4)
        proposal = (
            rng.uniform(-1.5, 1.5, size=2),
            middle(rng.uniform(-1.4, 1.4), rng.uniform(-0.35, 0.35)),
            state.x + s * 10.0 ** rng.uniform(-9, 1),
            state.x + away * 10.0 ** rng.uniform(-9, 1),
        )[kind]
        reading = g + errors.value * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
        slope = s + errors.slope * rng.choice([-1.0, 0.0, 1.0]) * away
        state = player.update(state, Feedback(None, reading, slope, proposal=proposal))


@pytest.mark.parametrize("beta", [0.7 * BETA])
def test_the_attack_finds_a_violation_where_the_curvature_is_too_small(beta):
    with pytest.raises(AssertionError):
        attack(np.random.default_rng(2), Curvature(beta=beta, reach=REACH, convex=False), 5_000)
