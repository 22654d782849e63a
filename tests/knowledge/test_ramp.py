"""Ramps: no step is longer, and under drift there is always a way back."""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Controller, Feedback
from surefoot.certified import Certified
from surefoot.core.types import Context
from surefoot.knowledge import (
    Anchor,
    AnnouncedDrift,
    AverageLimit,
    Choices,
    Column,
    Columns,
    ContextCurvature,
    ContextHull,
    Curvature,
    EmptyRegionError,
    Errors,
    HullMemory,
    LipschitzHull,
    OnePoint,
    Ramped,
    Reading,
    check_ramp,
    keep_anchor,
    limit_steps,
)
from surefoot.knowledge.hull import Ladder
from surefoot.knowledge.nearest import KnownSets
from surefoot.knowledge.ramp import _choose_anchor, _step_back, find_way
from surefoot.proposers import Leader
from surefoot.proposers.proposals import Proposals
from surefoot.rules import (
    Averaged,
    CertifiedOGD,
    CertifiedPFS,
    CostProbing,
    Delayed,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.sets import Ball, Box

V, SLACK = 0.02, 0.1


def limit(x, level):
    """Return max_i |x_i|/2 - level and its slope: at 0 it is never above -0.1."""
    i = int(np.abs(x).argmax())
    s = np.zeros(len(x))
    s[i] = math.copysign(0.5, x[i])
    return 0.5 * abs(float(x[i])) - level, s


def levels(rng, rounds):
    """Return limits that come in and go out as fast as they may, and jump between both."""
    found, way = [0.4], -1
    for _ in range(rounds):
        if rng.random() < 0.03:
            way = -way
        found.append(float(np.clip(found[-1] + way * V * 0.999, SLACK, 0.8)))
    return found


def drifting(**told):
    return LipschitzHull(
        **{"G_g": 0.5, "reach": 4.0, "start_bound": -SLACK, "errors": Errors(drift=V), **told}
    )


def attack(rng, rounds, ramp, d=2, missing=0.1, **told):
    """Play far wishes under a limit that comes in; every action and every step is looked at."""
    player = Certified(proposer=Proposals(), knowledge=drifting(**told), ramp=ramp)
    state, worst = player.init(np.zeros(d)), -math.inf
    for t, level in enumerate(levels(rng, rounds)):
        g, s = limit(state.x, level)
        assert g <= 0, (t, g)
        proposal = rng.normal(size=d) * 10.0 ** rng.uniform(-1, 1)
        read = (g, s) if t == 0 or rng.random() >= missing else (None, None)
        before = state.x
        state, info = player.step(state, Feedback(None, *read, proposal=proposal))
        step = np.abs(state.x - before)
        assert (step <= np.array(ramp) * (1 + 1e-12)).all()
        if isinstance(ramp, float):
            assert np.linalg.norm(step) <= ramp * (1 + 1e-12)
        assert info.certificate.bound <= 0
        worst = max(worst, g)
    return worst


@pytest.mark.parametrize("ramp", [0.06, (0.08, 0.05)])
def test_theorem_r_no_step_is_too_long_and_nothing_is_outside(ramp):
    assert attack(np.random.default_rng(3), 300, ramp) > -0.02  # and the limit was near


@pytest.mark.parametrize("ramp", [0.06, (0.08, 0.05)])
def test_an_anchor_that_ages_is_gone_back_to_and_measured_in_time(ramp):
    # Nobody knows that g at the start stays below -0.1: it is only measured there now and then.
    rng = np.random.default_rng(5)
    assert attack(rng, 300, ramp, missing=0.0, start_bound=None) > -0.1


@pytest.mark.slow
def test_the_first_action_is_never_given_up_for_a_deeper_one():
    # Each such change may halve the slack: after some hundred rounds none would be left.
    for seed in range(3):
        attack(np.random.default_rng(seed), 400, 0.03, missing=0.0, start_bound=None)


COLUMNS = (
    Column(adds=1.0, changes=0.5 * V),
    Column(G_c=0.25, worse="up", changes=V),
)
"""What moves a limit by 3/4 of V per round at most; a drift of V/4 is the rest."""


def contexts(rng, rounds):
    """Yield contexts, and levels of a limit, that come in and go out as fast as they may."""
    place, shift, way = np.zeros(2), 0.0, -1.0
    for _ in range(rounds):
        level = 0.4 - place[0] - 0.25 * place[1] - shift
        if rng.random() < (0.01 if SLACK + V < level < 0.5 else 0.1):
            way = -way
        yield place.copy(), level
        by = 0.999 * V * np.array([0.5, 1.0, 0.25]) * (rng.random(3) if rng.random() < 0.2 else 1.0)
        # No level is below the slack of the start, and none far beyond the reach.
        if SLACK <= level + way * V <= 0.8:
            place, shift = place - way * by[:2], shift - way * by[2]


def attack_in_contexts(rng, rounds, ramp, missing=0.1, d=2, **told):
    """Play far wishes while contexts and drift bring the limit in; look at all that is played."""
    known = ContextHull(
        **{
            "G_g": 0.5,
            "reach": 4.0,
            "start_bound": -SLACK,
            "context": COLUMNS,
            "errors": Errors(drift=0.25 * V),
            **told,
        }
    )
    player = Certified(proposer=Proposals(), knowledge=known, ramp=ramp)
    state, worst, shown = player.init(np.zeros(d)), -math.inf, rng.random()
    for t, (place, level) in enumerate(contexts(rng, rounds)):
        before, played = state.x, t > 0
        if rng.random() < 0.2:  # a forecast first: the ramp counts from the action that was played
            forecast = player.read_context(state, place - 0.4 * V * rng.random(2), current=True)
            state, _ = player.announce(state, forecast)
        state, info = player.announce(state, player.read_context(state, place, current=True))
        g, s = limit(state.x, level)
        assert g <= 0, (t, g)
        if played:
            step = np.abs(state.x - before)
            assert (step <= np.array(ramp) * (1 + 1e-12)).all()
            if isinstance(ramp, float):
                assert np.linalg.norm(step) <= ramp * (1 + 1e-12)
            assert info.certificate.bound <= 0
        worst = max(worst, g)
        proposal = rng.normal(size=d) * 10.0 ** rng.uniform(-1, 1)
        read = (g, s) if t == 0 or rng.random() >= missing else (None, None)
        if shown < 0.5 and rng.random() < 0.5:
            read = (read[0], None)  # values are enough
        state, _ = player.step(state, Feedback(None, *read, proposal=proposal))
    return worst


@pytest.mark.parametrize("ramp", [0.06, (0.08, 0.05)])
def test_theorem_r_in_contexts_no_step_is_too_long_and_nothing_is_outside(ramp):
    for seed in range(3):
        assert attack_in_contexts(np.random.default_rng(seed), 300, ramp) > -0.03


@pytest.mark.parametrize("joint", [False, True])
def test_a_step_back_is_certified_from_as_far_as_theorem_r_allows(joint):
    # The last action was certified and not read: its g may be 0, and rises by v in the next round.
    rng = np.random.default_rng(7)
    for _ in range(200):
        d, size = int(rng.integers(1, 5)), 10.0 ** rng.uniform(-6, 6)
        alpha, v, G_g, ramp = size * 10.0 ** rng.uniform([-3, -6, -3, -3], [1, 1, 3, 1])
        ramp, G_g = ramp / size, G_g / size
        columns = [Column(adds=v / 2, changes=1.0), Column(G_c=v / 4, worse="up", changes=1.0)]
        known = ContextHull(
            G_g=G_g,
            reach=4.0 * ramp * (1 + alpha / v),
            start_bound=-alpha,
            context=Columns(columns, joint=joint),
            errors=Errors(drift=v / 4),
        )
        if not known.start_margin(d) < 1e-3 * alpha:
            continue
        x1, before = rng.normal(size=d) * ramp, Context(rng.normal(size=2))
        reading = Reading(x1, -2.0 * alpha, None, known.errors)
        memory = known.observe(known.announce(known.init(x1), before), reading)
        memory = known.age(known.announce(memory, before), x1)
        now = Context(before.place + (1 - 1e-12))
        memory = known.announce(memory, now)
        off, ramps = _choose_anchor(known, memory, x1, ramp)
        assert ramps < 1 + alpha / v
        way = rng.normal(size=d)
        x = off.x + (1 - 1e-12) * ramps * ramp * way / np.linalg.norm(way)
        point = _step_back(x, off.x, ramp)
        rounding = 4e-16 * np.linalg.norm(x)
        assert np.linalg.norm(point - x) <= ramp * (1 + 1e-12) + rounding
        back = known.between(memory, x, 0.0, off, known.errors)
        assert back.contains(point)
        why = back.certificate(point)
        # Rows: the last action at 0, of the round before, and the start.
        w = [Fraction(part) for part in why.weights]
        rise = (Fraction(v) / 2 + Fraction(v) / 4) * Fraction(1 - 1e-12) + Fraction(v / 4)
        at = dict(zip(why.rounds, w, strict=True))
        last, start = at.get(2, Fraction(0)), at.get(0, Fraction(0))
        level = (last * rise - start * Fraction(alpha)) / (last + start)
        mean = [
            (last * Fraction(a) + start * Fraction(b)) / (last + start)
            for a, b in zip(x.tolist(), off.x.tolist(), strict=True)
        ]
        off_mean = [Fraction(p) - m for p, m in zip(point.tolist(), mean, strict=True)]
        slack = -level / Fraction(G_g)
        assert slack >= 0
        assert sum(part * part for part in off_mean) <= slack**2


def test_the_way_in_an_unknown_context_by_hand():
    # v = 0.1 and alpha = 0.3: from 0.3 a ramp of 0.1 is a third of the way, then a half of it.
    known = ContextHull(G_g=1.0, reach=4.0, start_bound=-0.3, context=Column(adds=1.0, changes=0.1))
    start = Anchor(np.zeros(1), -0.3, 0)
    for x, share, bound in ((0.3, 1 / 3, -1 / 30), (0.2, 0.5, -0.1), (0.1, 1.0, -0.3)):
        way = find_way(known, np.array([x]), start, 0.1, True)
        np.testing.assert_allclose([way.point[0], way.share], [x - 0.1, share], rtol=1e-9)
        np.testing.assert_allclose(way.bound, bound, rtol=1e-9)
    # An action that nobody certified may be outside already; without a ramp the start is there.
    assert find_way(known, np.array([0.3]), start, 0.1, False).bound == math.inf
    assert find_way(known, np.array([0.3]), start, None, False)[1:] == (1.0, -0.3)
    # With ramps of their own each entry goes its share of the way that is the slowest.
    way = find_way(known, np.array([0.3, 0.1]), Anchor(np.zeros(2), -0.3, 0), (0.1, 0.2), True)
    np.testing.assert_allclose(way.point, [0.2, 0.2 / 3], rtol=1e-9)


def test_the_way_in_an_unknown_context_is_certified_from_as_far_as_theorem_r_allows():
    # The worst limit is a line: v at the last action in the next round, -alpha at the start.
    rng, tight = np.random.default_rng(11), 0
    for _ in range(300):
        d, size = int(rng.integers(1, 5)), 10.0 ** rng.uniform(-6, 6)
        alpha, v, G_g, ramp = size * 10.0 ** rng.uniform([-3, -6, -3, -3], [1, 1, 3, 1])
        ramp, G_g = ramp / size, G_g / size
        known = ContextHull(
            G_g=G_g,
            reach=4.0 * ramp * (1 + alpha / v),
            start_bound=-alpha,
            context=[Column(adds=-v / 2, changes=1.0), Column(G_c=v / 4, changes=1.0)],
            errors=Errors(drift=v / 4),
        )
        if not known.start_margin(d) < 1e-3 * alpha:
            continue
        start = Anchor(rng.normal(size=d) * ramp, -alpha, 0)
        margin = known.pair_margin(d, v + alpha)
        most = (v + alpha) / (v + 2 * margin + 1e-11 * (v + alpha))
        far, way = rng.choice([most, most * rng.random()]), rng.normal(size=d)
        x = start.x + (1 - 1e-12) * far * ramp * way / np.linalg.norm(way)
        found = find_way(known, x, start, ramp, True)
        assert found.bound <= 0
        tight += found.bound > -1e-6 * alpha
        share = Fraction(found.share)
        each = zip(found.point.tolist(), x.tolist(), start.x.tolist(), strict=True)
        off = [Fraction(p) - (1 - share) * Fraction(a) - share * Fraction(b) for p, a, b in each]
        exact = Fraction(v) / 2 + Fraction(v) / 4 + Fraction(v / 4)
        rest = Fraction(found.bound) - (1 - share) * exact + share * Fraction(alpha)
        assert rest >= 0
        assert sum(part * part for part in off) * Fraction(G_g) ** 2 <= rest**2
        beyond = start.x + 1.1 * (1 + alpha / v) * ramp * way / np.linalg.norm(way)
        assert find_way(known, beyond, start, ramp, True).bound > 0
    assert tight > 20


def test_contexts_that_were_unknown_may_have_moved_in_each_round():
    known = ContextHull(
        G_g=1.0, reach=4.0, start_bound=-0.1, context=Column(adds=1.0, changes=0.125)
    )
    player = Certified(proposer=Proposals(), knowledge=known, ramp=0.5)
    for end, words in (
        (0.375, ()),
        (0.5, ("round 4: the context changed by 0.5 in 3 rounds, more than 3 times changes = ",)),
    ):
        state = player.init(np.zeros(1))
        for place in (0.0, None, None, end):
            if place is None:
                start = player.stand_at(state, np.zeros(1), None, holds=True)
                state = player.rest(start, np.zeros(1))
                continue
            state, _ = player.announce(state, player.read_context(state, [place], current=True))
            g = float(state.x[0]) - 1.0 + place
            state, info = player.step(state, Feedback(None, g, None, proposal=np.array([9.0])))
        assert [said[: len(words[0])] for said in info.contradictions] == list(words)
        assert state.memory.unknown == 0


def test_after_unknown_rounds_the_way_back_counts_a_step_from_the_last_of_them():
    # v = 0.1: the action 0.3 is at most 0 in its context, whatever that was, and 0.1 in the next.
    known = ContextHull(G_g=4.0, reach=4.0, start_bound=-0.3, context=Column(adds=1.0, changes=0.1))
    player = Certified(proposer=Proposals(), knowledge=known, ramp=0.1)
    state = player.init(np.zeros(1))
    state, _ = player.announce(state, player.read_context(state, [-0.5], current=True))
    state, _ = player.step(state, Feedback(None, -1.0, None, proposal=np.array([9.0])))
    unknown = player.stand_at(state, np.array([0.3]), None, holds=True)
    state = player.rest(unknown, np.array([0.3]))
    memory = known.announce(state.memory, Context(np.array([-0.3])))
    off = Anchor(np.zeros(1), -0.3, 0)
    region = known.between(memory, np.array([0.3]), 0.0, off, known.errors)
    assert region.contains(np.array([0.22]))  # a line from -0.3 to 0.1 is below 0 up to 0.225
    assert not region.contains(np.array([0.23]))
    told = known.announce(memory._replace(unknown=0.0), Context(np.array([-0.5])))
    region = known.between(told, np.array([0.3]), 0.0, off, known.errors)
    assert region.contains(np.array([0.29]))  # in the context that was told it rises by nothing


def test_somebodys_action_in_contexts_by_hand():
    # As above: 0.5 was read at -0.001, and is at 0.019 in the next context, the start at -0.18.
    known = ContextHull(G_g=0.5, reach=4.0, start_bound=-SLACK, context=Column(adds=1.0, changes=V))
    player = Certified(proposer=Proposals(), knowledge=known, ramp=0.1)
    state = player.init(np.zeros(1))
    for g, x, place in ((-0.2, 0.0, 0.0), (-0.001, 0.5, V)):
        state, _ = player.announce(state, player.read_context(state, [0.0], current=True))
        seen = Feedback(None, g, None, proposal=np.array([9.0]), action=np.array([x]))
        context = player.read_context(state, [place])
        state = player.update(state, seen._replace(context=context))
    np.testing.assert_allclose(state.x, [0.5 * 0.18 / 0.199], rtol=1e-9)


def test_contexts_that_move_further_than_was_said_are_a_contradiction():
    known = ContextHull(
        G_g=1.0, reach=4.0, start_bound=-0.1, context=Column(adds=1.0, changes=0.125)
    )
    player = Certified(proposer=Proposals(), knowledge=known, ramp=0.5)
    state = player.init(np.zeros(1))
    said = []
    for place in (0.0, 0.125, 0.375):
        state, _ = player.announce(state, player.read_context(state, [place], current=True))
        g = float(state.x[0]) - 0.5 + place
        state, info = player.step(state, Feedback(None, g, None, proposal=np.array([9.0])))
        said.append(info.contradictions)
    assert said[:2] == [(), ()]
    words = "round 3: the context changed by 0.25 in one round, more than changes = 0.125"
    assert said[2] == (words,)


def test_a_ramp_in_contexts_by_hand():
    # g = x - 1 + c, at most -0.2 at 0 in every context. Steps of 0.1, and c moves by 0.05 per
    # round: within 0.1 (1 + 0.2/0.05) = 0.5 there is always a way back.
    known = ContextHull(
        G_g=1.0, reach=4.0, start_bound=-0.2, context=Column(adds=1.0, changes=0.05)
    )
    player = Certified(proposer=Proposals(), knowledge=known, ramp=0.1)
    state, far = player.init(np.zeros(1)), []
    for place in (0.0, 0.0, 0.05, 0.1, 0.15, 0.1, 0.05, 0.0):
        state, _ = player.announce(state, player.read_context(state, [place], current=True))
        far.append(float(state.x[0]))
        g = far[-1] - 1.0 + place
        state = player.update(state, Feedback(None, g, None, proposal=np.array([9.0])))
    np.testing.assert_allclose(far, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5], rtol=1e-9)


def test_an_anchor_that_ages_by_hand():
    # Just measured at -0.4; half of that is 10 rounds of drift: 4 ramps there, 4 back, to be there
    # when 0.2 is left.
    player = Certified(proposer=Proposals(), knowledge=drifting(start_bound=None), ramp=0.06)
    state, far = player.init(np.zeros(1)), []
    for _ in range(6):
        g, s = limit(state.x, 0.4)
        state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0])))
        far.append(float(state.x[0]))
    np.testing.assert_allclose(far, np.array([1, 2, 3, 4, 4, 3]) * 0.06, rtol=1e-9)


def test_one_step_by_hand():
    # Off at 0; 0.5 is somebody's action, and its reading -0.001 is at most 0.019 a round later,
    # that of the start -0.16: 0.16/0.179 of the way from it is the last that is certified.
    player = Certified(proposer=Proposals(), knowledge=drifting(), ramp=0.1)
    state = player.init(np.zeros(1))
    for g, x in ((-0.2, 0.0), (-0.001, 0.5)):
        seen = Feedback(None, g, np.array([0.5]), proposal=np.array([9.0]), action=np.array([x]))
        state = player.update(state, seen)
    np.testing.assert_allclose(state.x, [0.5 * 0.16 / 0.179], rtol=1e-9)


def test_ramps_of_their_own_reach_down_as_far_as_up():
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0), ramp=(0.1, 0.2))
    for sign in (-1.0, 1.0):
        seen = Feedback(None, -1.0, np.ones(2), proposal=sign * np.full(2, 9.0))
        found = player.update(player.init(np.zeros(2)), seen).x
        assert found == pytest.approx(sign * np.array([0.1, 0.2]))


@pytest.mark.parametrize(("slack", "ramps"), [(0.5, 6.0), (0.75, 8.5)])
def test_how_far_an_anchor_for_ever_lets_an_action_go(slack, ramps):
    # d = r (1 + alpha/v) of Theorem R, however deep g is there.
    errors = Errors(drift=0.1)
    known = LipschitzHull(G_g=1.0, reach=9.0, start_bound=-slack, errors=errors)
    player = RegionFilter(knowledge=known, ramp=0.05)
    state = player.init(np.array([1.0, 0.0]))
    for _ in range(15):
        seen = Feedback(None, -5.0, np.zeros(2), proposal=np.array([9.0, 0.0]))
        state = player.update(state, seen)
    assert state.x == pytest.approx([1.0 + 0.05 * ramps, 0.0], abs=1e-9)


def test_the_way_back_is_taken_where_the_ramp_reaches_nothing_else():
    # The anchor is on the far side, at -2: of the way from it, 0.4008 is the last point. The ramp
    # reaches 0.45, 0.1 of the way to the start: 0.9 * 0.019 - 0.1 * 0.18 = -0.0009.
    known = drifting(start_bound=-0.18)
    memory = HullMemory(
        3.0,
        Anchor(np.array([0.5]), -0.001, 3.0),
        Anchor(np.array([-2.0]), -0.48, 3.0),
        Anchor(np.array([0.0]), -0.2, 1.0),
        Ladder.empty(1),
    )
    region = known.region(memory, known.errors)
    region = limit_steps(known, memory, region, np.array([0.5]), 0.05, True, known.errors)
    x = region.nearest(np.array([9.0]))
    np.testing.assert_allclose(x, [0.45], rtol=1e-9)
    assert region.contains(x)
    found = region.certificate(x)
    np.testing.assert_allclose((found.share, found.bound), (0.9, -0.0009), rtol=1e-6)


def test_an_anchor_that_ages_is_measured_again_and_left_again_by_hand():
    # As above from 0.3, for two turns: at 0.3 in round 10, g is known anew.
    player = Certified(proposer=Proposals(), knowledge=drifting(start_bound=None), ramp=0.06)
    state, far = player.init(np.array([0.3])), []
    for _ in range(18):
        g, s = limit(state.x - 0.3, 0.4)
        state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0])))
        far.append(float(state.x[0] - 0.3))
    there_and_back = [1, 2, 3, 4, 4, 3, 2, 1, 0]
    np.testing.assert_allclose(far, np.array(2 * there_and_back) * 0.06, atol=1e-8)


def test_where_a_bound_stands_or_nothing_drifts_the_first_action_stays_as_it_was():
    # Each time a little further away, the bound at the start would be that of another point.
    def stays(known, memory):
        return keep_anchor(known, memory, 0.1) is memory

    start, near = Anchor(np.array([0.5]), -0.2, 1.0), Anchor(np.array([0.5 + 1e-9]), -0.3, 3.0)
    memory = HullMemory(3.0, near, start, start, Ladder.empty(1))
    assert stays(drifting(), memory)
    assert stays(drifting(start_bound=None, errors=Errors()), memory)
    assert stays(Curvature(beta=1.0, reach=1.0), None)
    ages = drifting(start_bound=None)
    assert keep_anchor(ages, memory, 0.1) == memory._replace(start=near)
    assert stays(ages, memory._replace(last=Anchor(np.array([0.6]), -0.3, 3.0)))


def return_path(known, last, x, certain, d=1):
    """Return what a ramp of 0.05 reaches from x in round 4, with an anchor far away."""
    last, anchor, start = (
        Anchor(np.array([at, 0.0])[:d], value, when)
        for at, value, when in (last, (-2.0, -0.48, 3.0), (0.0, -0.3, 1.0))
    )
    memory = HullMemory(3.0, last, anchor, start, Ladder.empty(d))
    region = known.region(memory, known.errors)
    point = np.array([x, 0.0])[:d]
    return limit_steps(known, memory, region, point, 0.05, certain, known.errors)


def test_the_way_back_to_an_action_that_ages_by_hand():
    # -0.3 in round 1 is -0.24 in round 4, -0.001 in round 3 is 0.019: at 0.1 of the way
    # 0.9 * 0.019 - 0.1 * 0.24.
    region = return_path(drifting(start_bound=None), (0.5, -0.001, 3.0), 0.5, True)
    x = region.nearest(np.array([9.0]))
    found = region.certificate(x)
    assert x == pytest.approx(0.45)
    assert (found.anchor_value, found.value) == pytest.approx((-0.24, 0.019))
    assert found.bound < 0


def test_a_certified_action_that_nobody_measured_has_a_way_back():
    # It was at most 0, so 0.02 now: 0.9 * 0.02 - 0.1 * 0.2. So was one that was read as 0.01.
    known = drifting(start_bound=-0.2)
    for last in ((0.3, 0.01, 3.0), (0.5, 0.01, 3.0)):
        region = return_path(known, last, 0.5, True)
        x = region.nearest(np.array([9.0]))
        found = region.certificate(x)
        assert x == pytest.approx(0.45)
        assert (found.value, found.bound) == pytest.approx((0.02, -0.002))
        with pytest.raises(EmptyRegionError):
            return_path(known, last, 0.5, False).nearest(np.array([9.0]))


@pytest.mark.parametrize("reach", [4.0, 1e6])
def test_from_as_far_as_an_action_may_go_the_way_back_is_certified(reach):
    # Whatever rounding takes of it, also in a large set.
    known = drifting(G_g=2.0, reach=reach)
    player, proposal = Certified(proposer=Proposals(), knowledge=known, ramp=0.06), np.array([9.0])
    state = player.init(np.zeros(1))
    for _ in range(12):
        state = player.update(state, Feedback(None, -5.0, np.zeros(1), proposal=proposal))
    x, start = state.x, Anchor(np.zeros(1), -0.1, 1.0)
    assert x == pytest.approx(0.36, rel=1e-4)
    memory = HullMemory(3.0, Anchor(x, 0.0, 3.0), start, start, Ladder.empty(1))
    region = known.region(memory, known.errors)
    region = limit_steps(known, memory, region, x, 0.06, True, known.errors)
    y = region.nearest(proposal)
    assert y == pytest.approx(x - 0.06)
    assert region.contains(y)
    assert region.certificate(y).bound < 0


def test_what_a_ramp_reaches_and_the_way_back_are_certified_and_nothing_else():
    # 0.9 * 0.02 - 0.1 * 0.2 at 0.45, the way back from an action that was at most 0; what is
    # certified beyond is not reached.
    region = return_path(drifting(start_bound=-0.2), (0.5, 0.0, 3.0), 0.5, True, d=2)
    point = region.nearest(np.array([9.0, 0.0]))
    assert point == pytest.approx([0.45, 0.0])
    assert region.contains(point)
    assert not region.contains(np.array([0.2, 0.0]))
    assert region.back.contains(np.array([0.2, 0.0]))
    # 0.9 * 0.02 - 0.1 * 0.1 is above 0.
    region = return_path(drifting(start_bound=-0.1), (0.5, 0.0, 3.0), 0.5, True)
    assert not region.contains(np.array([0.45]))
    with pytest.raises(EmptyRegionError):
        region.nearest(np.array([9.0]))
    # Deep enough for all that is reached.
    region = return_path(drifting(start_bound=-0.2), (0.5, -0.4, 3.0), 0.5, True)
    assert [region.contains(np.array([x])) for x in (0.44, 0.46, 0.54, 0.56)] == [
        False,
        True,
        True,
        False,
    ]


def test_the_way_back_ends_at_the_anchor():
    for x, end in ((0.03, 0.0), (0.05, 0.0), (0.07, 0.02)):
        region = return_path(drifting(start_bound=-0.2), (x, 0.0, 3.0), x, True)
        assert region.point == pytest.approx(end, abs=1e-12)


def test_a_nearest_point_that_the_ramp_does_not_reach_is_drawn_to_the_way_back():
    # The unit ball, and what the ramp reaches: a strip. The point of the ball nearest to (0.9, 2)
    # is left of it; on the way there from (0.7, 0) the strip ends at 0.5.
    known = LipschitzHull(G_g=1.0, reach=4.0)
    memory = known.observe(known.init(np.zeros(2)), Reading(np.zeros(2), -1.0, None, known.errors))
    ball, strip = known.region(memory, known.errors), Box([0.5, -2.0], [0.9, 2.0])
    point = np.array([0.7, 0.0])
    back = OnePoint(1.0, point, -0.25, known.errors, "back")
    region = Ramped(ball.within(strip), back, point, KnownSets(strip))
    near = np.array([0.9, 2.0]) / math.hypot(0.9, 2.0)
    share = 0.2 / (0.7 - near[0])
    assert region.nearest(np.array([3.0, 3.0])) == pytest.approx([0.5, share * near[1]], abs=1e-6)
    assert region.nearest(np.array([0.6, 0.1])).tolist() == [0.6, 0.1]
    assert region.certificate(point).distance == pytest.approx(0.7)
    with pytest.raises(ValueError, match="the wanted action"):
        region.nearest(np.array([math.nan, 0.0]))


@pytest.mark.slow
def test_without_the_theorem_a_ramp_under_drift_runs_into_the_limit():
    # The same hull, its ramp announced round by round, staying where nothing is certified.
    player, rng = Certified(proposer=Proposals(), knowledge=drifting()), np.random.default_rng(3)
    state, outside = player.init(np.zeros(2)), 0
    for level in levels(rng, 200):
        g, s = limit(state.x, level)
        outside += g > 0
        seen = Feedback(None, g, s, proposal=np.array([2.0, 0.0]), within=Ball(0.02, state.x))
        try:
            state = player.update(state, seen)
        except EmptyRegionError:
            state = player.rest(state, state.x)
        if outside > 2:
            return
    pytest.fail(f"only {outside} rounds were outside")


@pytest.mark.slow
def test_for_a_fixed_limit_a_ramp_is_kept_with_any_knowledge():
    box = Box([-1.0, -1.0], [1.0, 1.0])
    for knowledge in (LipschitzHull(G_g=0.5, domain=box), Curvature(beta=0.0, domain=box)):
        player = Certified(proposer=Leader(domain=box), knowledge=knowledge, ramp=(0.02, 0.05))
        state = player.init(np.zeros(2))
        for _ in range(100):
            g, s = 0.5 * float(state.x[0]) - 0.2, np.array([0.5, 0.0])
            assert g <= 0
            before = state.x
            state = player.update(state, Feedback(np.array([-1.0, -1.0]), g, s))
            assert (np.abs(state.x - before) <= np.array([0.02, 0.05]) * (1 + 1e-12)).all()
        assert state.x[0] > 0.35
        assert state.x[1] > 0.9
        assert player.engine == "python"


@pytest.mark.parametrize("ramp", [0.05, (0.05, 0.02)])
def test_where_the_ramp_alone_binds_the_action_is_as_far_as_it_reaches(ramp):
    """Balls of 0.3 around 0 and of 0.25 around (0.04, 0.01) are certified: the ramp is shorter."""
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0), ramp=ramp)
    state = player.init(np.zeros(2))
    state = player.update(state, Feedback(None, -0.3, None, proposal=np.array([0.04, 0.01])))
    x, proposal = state.x, np.array([0.2, 0.3])
    state = player.update(state, Feedback(None, -0.25, None, proposal=proposal))
    if isinstance(ramp, float):
        way = proposal - x
        assert state.x == pytest.approx(x + ramp * way / math.hypot(*way), abs=1e-16)
    else:
        assert (state.x == x + ramp).all()


def test_an_action_of_somebody_else_that_nobody_measured_has_no_way_back():
    player = Certified(proposer=Proposals(), knowledge=drifting(), ramp=0.01)
    state = player.init(np.zeros(2))
    seen = Feedback(None, -0.2, np.array([0.5, 0.0]), proposal=np.zeros(2))
    state = player.update(state, seen)
    far = np.array([3.0, 0.0])
    with pytest.raises(EmptyRegionError):
        player.update(state, Feedback(None, None, None, proposal=far, action=far))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda ramp: LeaderFollower(G_g=0.5, domain=Ball(2.0), ramp=ramp),
        lambda ramp: CertifiedPFS(G_g=0.5, domain=Ball(2.0), rho=0.05, ramp=ramp),
        lambda ramp: CertifiedOGD(knowledge=Curvature(beta=0.0, reach=2.0), radius=2.0, ramp=ramp),
        lambda ramp: SafetyFilter(G_g=0.5, domain=Ball(2.0), rho=0.05, ramp=ramp),
        lambda ramp: RegionFilter(knowledge=LipschitzHull(G_g=0.5, reach=2.0), ramp=ramp),
    ],
)
def test_every_name_takes_a_ramp_and_keeps_it(make):
    player, free = make(0.03), make(None)
    assert (player.ramp, free.ramp) == (0.03, None)
    state = player.init(np.zeros(2))
    for _ in range(40):
        before, (g, s) = state.x, limit(state.x, 0.4)
        assert g <= 0
        told = (None, [1.0, 0.3]) if free.needs.proposals else ([-1.0, -0.3], None)
        gradient, proposal = (None if part is None else np.array(part) for part in told)
        state = player.update(state, Feedback(gradient, g, s, proposal=proposal))
        assert np.linalg.norm(state.x - before) <= 0.03 * (1 + 1e-12)
    assert state.x[0] > 0.2


def test_a_wrapper_would_not_keep_a_ramp_and_refuses_it():
    base = LeaderFollower(G_g=0.5, domain=Ball(2.0), ramp=0.1)
    with pytest.raises(ValueError, match="copies in turn know nothing of each other, so that one"):
        Delayed(base=base, delay=2)
    with pytest.raises(ValueError, match="copies in turn know nothing of each other, so that one"):
        Delayed(base=Averaged(base=base, sigma=0.1), delay=2)
    moving = LeaderFollower(G_g=0.5, domain=Ball(2.0), ramp=0.1, drift=0.001)
    with pytest.raises(ValueError, match="Theorem R needs the reading of the last action, so"):
        Delayed(base=moving, delay=2, copies=False)
    with pytest.raises(ValueError, match="CostProbing must have a base without a ramp: after an"):
        CostProbing(base=base, length=0.01)


def test_a_journal_keeps_the_ramp(tmp_path):
    path = tmp_path / "ramp.jsonl"
    player = Certified(proposer=Proposals(), knowledge=drifting(), ramp=(0.1, 0.2))
    controller = Controller(player, start=[0.0, 0.0], journal=path)
    for _ in range(3):
        g, s = limit(controller.ask(), 0.4)
        controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[1.0, 1.0])
    x = controller.ask()
    controller.close()
    again = Controller.open(path)
    assert again.algorithm == player
    np.testing.assert_array_equal(again.ask(), x)


@pytest.mark.parametrize(
    ("ramp", "knowledge", "sentence"),
    [
        (0.0, drifting(), "ramp must be above 0"),
        ([0.1, -1.0], drifting(), "ramp must be above 0"),
        (math.nan, drifting(), "ramp"),
        (True, drifting(), "ramp must be a number, or a vector of numbers, got True"),
        (
            0.1,  # what the rounds so far leave may end sooner than the ramp leads back
            AverageLimit(G_g=1.0, reach=1.0, most=1.0),
            "ramp must be None for AverageLimit, got 0.1: after rounds above 0",
        ),
        (
            0.1,
            Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.1)),
            "ramp must be that of a LipschitzHull on a convex domain, if g drifts",
        ),
        (
            0.1,
            LipschitzHull(G_g=1.0, reach=2.0, domain=Choices(step=0.02), errors=Errors(drift=0.1)),
            "ramp must be that of a LipschitzHull on a convex domain, if g drifts",
        ),
        (
            0.1,
            ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0)),
            "further away than the ramp reaches .* say how far each column moves in a round",
        ),
        (
            0.1,
            ContextHull(G_g=1.0, reach=1.0, context=AnnouncedDrift(), start_bound=-0.1),
            "give drift, the largest that is told, instead of AnnouncedDrift",
        ),
        (
            0.1,
            ContextHull(G_g=1.0, reach=1.0, context=Column(adds=1.0, changes=0.1)),
            "a point that is feasible in every context; give start_bound",
        ),
        (
            0.1,
            ContextHull(
                G_g=1.0,
                domain=Choices([-1.0], [1.0], step=0.02),
                context=Column(adds=1.0, changes=0.1),
                start_bound=-0.1,
            ),
            "Theorem R has no return path between choices",
        ),
        (
            0.1,
            ContextCurvature(beta=1.0, reach=1.0, context=Column(adds=1.0, changes=0.1)),
            "Theorem R has no return path without a G_g",
        ),
    ],
)
def test_bad_input_is_one_sentence(ramp, knowledge, sentence):
    with pytest.raises(ValueError, match=sentence):
        Certified(proposer=Proposals(), knowledge=knowledge, ramp=ramp)
    assert check_ramp(0.1, Curvature(beta=1.0, reach=1.0)) == 0.1


def test_a_set_that_is_announced_holds_the_way_back_too():
    player = Certified(proposer=Proposals(), knowledge=drifting(), ramp=0.05)
    state = player.init(np.zeros(1))
    for _ in range(6):
        g, s = limit(state.x, 0.4)
        state = player.update(state, Feedback(None, g, s, proposal=np.array([2.0])))
    g, s = limit(state.x, 0.4)
    seen = Feedback(None, g, s, proposal=np.array([2.0]), within=Box([0.0], [0.1]))
    with pytest.raises(EmptyRegionError, match=r"no certified action is in Box"):
        player.update(state, seen)
    near = Box([0.0], [float(state.x[0])])
    assert near.contains(player.update(state, seen._replace(within=near)).x)


@pytest.mark.parametrize("ramp", [0.05, (0.03, 0.06)])
@pytest.mark.parametrize("policy", ["on_missing", "on_contradiction"])
def test_a_policy_that_goes_back_keeps_the_ramp(ramp, policy):
    player = RegionFilter(knowledge=LipschitzHull(G_g=0.5, reach=2.0), ramp=ramp)
    controller = Controller(player, start=[0.0, 0.0], **{policy: "retreat"})
    x, far = controller.ask(), 0.0
    for t in range(40):
        g, s = limit(x, 0.4)
        told = {"constraint_value": g, "constraint_subgradient": s, "proposal": [9.0, 9.0]}
        if t >= 10 and policy == "on_missing":
            controller.tell(missing=True)
        elif t == 10:  # which is still feasible, and contradicts nothing else
            told["constraint_value"] = min(g + 0.1, -1e-9)
            with pytest.warns(UserWarning, match="is above its certified bound"):
                controller.tell(**told)
        else:
            controller.tell(**told)
        step, x = np.abs(controller.ask() - x), controller.ask()
        assert (step <= np.array(ramp) * (1 + 1e-12)).all()
        far = max(far, float(np.linalg.norm(x)))
    assert far > 0.2
    assert x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("ramp", [(0.1,), (0.1, 0.1, 0.1)])
def test_a_ramp_of_another_length_is_refused_with_the_start(ramp):
    player = Certified(proposer=Proposals(), knowledge=drifting(), ramp=ramp)
    with pytest.raises(ValueError, match=r"ramp must be one number, or 2 as x1 has, got \(0.1,"):
        Controller(player, start=[0.0, 0.0])


@pytest.mark.slow
def test_attacked_by_20_limits_nothing_is_outside():
    rng = np.random.default_rng(41)
    for _ in range(20):
        d = int(rng.integers(1, 4))
        ramp = (
            float(rng.uniform(0.005, 0.1))
            if rng.random() < 0.5
            else tuple(rng.uniform(0.005, 0.1, size=d))
        )
        attack(rng, 200, ramp, d=d)


@pytest.mark.slow
def test_readings_that_err_and_rounds_unread_leave_an_action_within_a_ramp():
    # After a round that nobody read, a reading that is too high took back what was certified, and
    # nothing that was left was within the ramp.
    rng, worst = np.random.default_rng(0), -math.inf
    A, b = rng.normal(size=(6, 2)), rng.uniform(0.2, 0.6, 6)
    A = np.vstack([A / np.linalg.norm(A, axis=1, keepdims=True), np.eye(2), -np.eye(2)])
    b = np.append(b, np.full(4, 0.7))
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0), ramp=0.003, value_error=0.02)
    state = player.init(np.zeros(2))
    for t in range(400):
        g = A @ state.x - b
        i, worst = int(g.argmax()), max(worst, float(g.max()))
        pull = 3 * rng.normal(size=2) + np.array([np.sin(t / 9), 1.0])
        seen = Feedback(pull, float(g[i]) + 0.02 * rng.choice([-1, 1]), A[i])
        if rng.random() <= 0.2:
            seen = Feedback(pull)
        state = player.update(state, seen)
    assert -0.01 < worst <= 0
