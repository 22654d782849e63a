"""Late feedback: what each copy is told, feasibility, the regret of copies, drift, a live loop."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import surefoot as sf
from surefoot import PFS, Ball, Feedback, kernel
from surefoot.controller import Controller
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import (
    CertifiedLength,
    Curvature,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.problems import adversarial_cube, paper_toy
from surefoot.problems.constraints import Affine, LinfNorm
from surefoot.rules import (
    Averaged,
    CertifiedDualAveraging,
    CertifiedPFS,
    CostProbing,
    Delayed,
    InTurns,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)
from surefoot.sets import Box

WALL = Affine([[0.0, 1.0]], [0.5])
BASE = LeaderFollower(G_g=1.0, domain=Ball(1.0))


def seen(x, gradient=(-0.6, -0.8), wall=WALL):
    g, s = wall.query(x)
    return Feedback(np.array(gradient), g, s)


def states_of(player, rounds, gradient):
    state = player.init(np.zeros(2))
    for t in range(rounds):
        yield state
        state = player.update(state, seen(state.x, gradient(t)))


# --- ramps and announced sets --------------------------------------------------------------------


def test_copies_in_turn_would_not_keep_a_ramp():
    # The counterexample: costs of even rounds pull to the left, those of odd ones to the right.
    late = Delayed(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), delay=1)
    states = list(states_of(late, 8, lambda t: [1.0 - 2.0 * (t % 2), 0.0]))
    steps = [float(np.linalg.norm(a.x - b.x)) for a, b in itertools.pairwise(states)]
    assert max(steps) > 0.9


def test_a_run_ahead_keeps_the_ramp_by_hand():
    # x[1] <= 0.5, one round late, a ramp of 0.1, and a proposal that is far up.
    hull = LipschitzHull(G_g=1.0, domain=Ball(1.0))
    ahead = Delayed(base=RegionFilter(knowledge=hull, ramp=0.1), delay=1, copies=False)
    assert ahead.ramp == 0.1
    state, up = ahead.init(np.zeros(2)), np.array([0.0, 9.0])
    heights = []
    for _ in range(9):
        heights.append(float(state.x[1]))
        g = heights[-1] - 0.5
        state = ahead.update(state, Feedback(None, g, np.array([0.0, 1.0]), proposal=up))
    np.testing.assert_allclose(heights[:7], [0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5], atol=1e-6)
    assert max(heights) <= 0.5


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4), late=st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_run_ahead_keeps_its_ramp_and_the_limit(seed, k, late):
    rng = np.random.default_rng(seed)
    d, r = int(rng.integers(1, 5)), 10.0 ** rng.uniform(-2, -0.5)
    wall = Affine(rng.normal(size=(2 * d, d)), rng.uniform(0.1, 0.5, 2 * d))
    G_g = float(np.linalg.norm(wall.A, axis=1).max()) * (1 + 1e-12)
    ramp = r if rng.random() < 0.5 else [r] * d
    kind = [LeaderFollower, ValuesFollower][rng.integers(2)]
    base = kind(G_g=G_g, domain=Ball(3.0), ramp=ramp)
    loop = Controller(
        Delayed(base=base, delay=k, copies=False, late=late), np.zeros(d), on_missing="hold"
    )
    played, aim = [], rng.normal(size=d)
    for t in range(40):
        x = loop.ask()
        assert float(wall.query(x)[0]) <= 0
        assert t <= 2 * k + 4 or loop.explain().is_proven
        if played:
            step = abs(x - played[-1])
            longest = np.linalg.norm(step) if ramp is r else step.max()
            assert longest <= r * (1 + 1e-12) + 1e-15
        played.append(x)
        aim = rng.normal(size=d) if rng.random() < 0.2 else aim
        if rng.random() < 0.1 or (late and t < k):
            loop.tell(missing=True)
            continue
        g, s = wall.query(played[-1 - k] if late else x)
        slope = {} if kind is ValuesFollower else {"constraint_subgradient": s}
        loop.tell(cost_gradient=-10.0 * aim, constraint_value=float(g), **slope)


def test_before_the_first_reading_comes_only_the_start_is_played():
    late = Delayed(base=BASE, delay=2)
    state = late.init(np.zeros(2))
    away = Box([0.1, 0.1], [0.2, 0.2])
    with pytest.raises(EmptyRegionError, match="no certified action is in Box"):
        late.step(state, seen(state.x)._replace(within=away))
    around = late.update(state, seen(state.x)._replace(within=Box([-0.1] * 2, [0.1] * 2)))
    assert (around.x == 0).all()
    ramped = RegionFilter(knowledge=BASE.knowledge, ramp=0.1)
    ahead = Delayed(base=ramped, delay=2, copies=False)
    own = seen(state.x)._replace(action=np.array([0.0, 0.3]))
    with pytest.raises(InvalidValueError, match="action must be the start until its reading comes"):
        ahead.step(ahead.init(np.zeros(2)), own)


def test_pairs_are_not_played_ahead_of_their_readings():
    pairs = CostProbing(base=BASE, length=0.1)
    with pytest.raises(InvalidValueError, match="copies must be True around CostProbing, which co"):
        Delayed(base=pairs, delay=1, copies=False)
    state = Delayed(base=pairs, delay=1).init(np.zeros(2))
    assert len(state.states) == 2


# --- what the copies are told --------------------------------------------------------------------


def test_each_copy_plays_as_if_it_were_alone_in_its_own_rounds():
    base, k = BASE, 2
    rng = np.random.default_rng(3)
    slopes = rng.normal(size=(12, 2))
    late = [s.x for s in states_of(Delayed(base=base, delay=k), 12, lambda t: slopes[t])]
    for first in range(k + 1):
        mine = slopes[first :: k + 1]
        alone = [s.x for s in states_of(base, len(mine), lambda i, mine=mine: mine[i])]
        np.testing.assert_array_equal(late[first :: k + 1], alone)


def test_the_one_that_plays_ahead_learns_from_the_action_observed():
    base = BASE
    late = Delayed(base=base, delay=1, copies=False)
    zero, one, two, three = states_of(late, 4, lambda t: (-0.6, -0.8))
    # Nothing is known before the second action: it is the start again.
    assert (one.x == zero.x).all()
    # Then what was seen in round 1, and in round 2 at the same action.
    direct = base.update(base.init(np.zeros(2)), seen(zero.x))
    np.testing.assert_array_equal(two.x, direct.x)
    second = base.update(direct, seen(one.x)._replace(action=one.x, age=1))
    np.testing.assert_array_equal(three.x, second.x)
    assert [a.tolist() for a in three.actions] == [two.x.tolist(), three.x.tolist()]


def test_what_comes_late_by_itself_is_not_held_back():
    base = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2)
    inside, outside = Delayed(base=base, delay=2), Delayed(base=base, delay=2, late=True)
    here, there = inside.init(np.zeros(2)), outside.init(np.zeros(2))
    told = []
    for t in range(8):
        np.testing.assert_array_equal(here.x, there.x)
        told.append(seen(here.x))
        here = inside.update(here, told[-1])
        there = outside.update(there, told[t - 2] if t >= 2 else Feedback())


# --- feasibility and regret ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("adversary", ["constant", "corners"])
@pytest.mark.parametrize("delay", [1, 4])
def test_late_feedback_never_leads_outside_and_the_bound_holds(adversary, delay):
    cube = adversarial_cube(adversary, horizon=120, dimension=3)
    for rule in (CertifiedPFS, LeaderFollower, ValuesFollower):
        tuned = rule.default(cube.constants, 120, cube.domain)
        trace = sf.play(Delayed.of(tuned, delay=delay), cube)
        assert trace.violations.largest <= 0
        assert isinstance(trace.guarantee, InTurns)
        assert (trace.final_regret() <= trace.guarantee.regret_bound(120)).all()
        ahead = Delayed(base=tuned.algorithm, delay=delay, copies=False)
        assert sf.play(ahead, cube).violations.largest <= 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans(), st.sampled_from([0.0, 2e-3]))
def test_a_smooth_set_is_not_left_either(seed, delay, copies, drift):
    rng = np.random.default_rng(seed)
    known = Curvature(beta=4.0, reach=1.0, errors=Errors(drift=drift))
    rule = CertifiedDualAveraging(knowledge=known, radius=1.0)
    player = Delayed(base=rule, delay=delay, copies=copies)
    state = player.init(0.1 * rng.normal(size=2))
    for t in range(40):
        x = state.x
        g = float(2 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.5) + drift * t
        s = np.array([4 * x[0], x[1]])
        assert g <= 0
        push = -s if rng.random() < 0.5 else rng.normal(size=2)
        state = player.update(state, Feedback(push, g, s))


def test_the_regret_bound_is_that_of_the_copies_together():
    toy = paper_toy(horizon=1, trials=1)
    each = CertifiedPFS.default(toy.constants, None, toy.domain)
    promise = Delayed.of(each, delay=3).guarantee
    assert promise.regret_bound(400) == 4 * each.guarantee.regret_bound(100)
    assert promise.regret_bound(401) == 4 * each.guarantee.regret_bound(101)
    assert promise.horizon is None
    fixed = Delayed.of(CertifiedPFS.known_horizon(toy.constants, 50, toy.domain), delay=3).guarantee
    assert fixed.horizon == 200
    assert [p.limit for p in fixed.premises if p.quantity == "horizon"] == [200]


# --- drift ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [True, False])
def test_a_limit_that_falls_is_kept_with_late_feedback(copies):
    drift, k, T = 5e-4, 3, 200
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=drift)
    player = Delayed(base=base, delay=k, copies=copies)
    state = player.init(np.zeros(2))
    for t in range(T):
        cube = LinfNorm(0.5 - drift * t, 2)
        assert cube.value(state.x) <= 0
        state = player.update(state, seen(state.x, (-1.0, -0.2), cube))


def test_told_a_drift_that_is_too_small_the_same_limit_is_passed():
    true, told, k = 4e-3, 1e-4, 3
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=told)
    player = Delayed(base=base, delay=k, copies=False)
    state, worst = player.init(np.zeros(2)), -1.0
    for t in range(100):
        cube = LinfNorm(0.5 - true * t, 2)
        worst = max(worst, float(cube.value(state.x)))
        state = player.update(state, seen(state.x, (-1.0, -0.2), cube))
    assert worst > 0


def test_copies_are_told_the_drift_of_all_rounds_between():
    base = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1, drift=0.01)
    player = Delayed(base=base, delay=4)
    assert player._each.errors.drift == pytest.approx(0.05)
    assert player.errors.drift == 0.01
    # One that plays ahead is told how old a reading is.
    assert Delayed(base=base, delay=4, copies=False)._each.errors.drift == 0.01


def test_what_plays_ahead_ages_what_it_knows_by_the_rounds_that_have_passed():
    drift, k = 0.01, 4
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=drift)
    player = Delayed(base=base, delay=k, copies=False)
    state = player.init(np.zeros(2))
    for _ in range(k):
        state, info = player.step(state, seen(state.x))
        assert info.certificate is None
    state, info = player.step(state, seen(state.x))
    # Round 1 was seen to have a slack of 0.5, and the next round is 6.
    assert info.region.base.level == pytest.approx(-0.5 + (k + 1) * drift)
    state, info = player.step(state, seen(state.x))
    assert info.region.base.anchor_level == pytest.approx(-0.5 + (k + 2) * drift)


# --- a live loop, bad input ----------------------------------------------------------------------


def test_a_journal_goes_on_with_what_is_held_back(tmp_path):
    path = tmp_path / "late.journal"
    player = Delayed(base=BASE, delay=2)

    def tell(loop):
        x = loop.ask()
        gradient, g, s, *_ = seen(x)
        loop.tell(cost_gradient=gradient, constraint_value=g, constraint_subgradient=s)

    with Controller(player, np.zeros(2), journal=path) as loop:
        for _ in range(5):
            tell(loop)
        assert loop.explain().certificate.round == 5
        copy = loop.state
    with Controller.open(path) as again:
        tell(again)
        expected = player.update(copy, seen(copy.x))
        np.testing.assert_array_equal(again.state.x, expected.x)


@pytest.mark.parametrize("copies", [True, False])
def test_in_a_live_loop_the_first_rounds_and_lost_feedback_are_missing(copies):
    k, rng = 2, np.random.default_rng(1)
    player = Delayed(base=BASE, delay=k, copies=copies, late=True)
    loop, played = Controller(player, np.zeros(2)), []
    for t in range(60):
        played.append(loop.ask())
        assert WALL.value(played[-1]) <= 0
        if t < k or t % 7 == 0:
            loop.tell(missing=True)
            continue
        gradient, g, s, *_ = seen(played[t - k], rng.normal(size=2) - [0.0, 2.0])
        loop.tell(cost_gradient=gradient, constraint_value=g, constraint_subgradient=s)
    assert played[-1][1] > 0.3
    # What is told of an action is remembered with that action.
    assert [a.tolist() for a in loop.state.actions[:-1]] == [a.tolist() for a in played[-k:]]


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_an_actuator_may_do_otherwise(copies, late):
    player = Delayed(base=BASE, delay=1, copies=copies, late=late)
    played = np.array([0.1, 0.1])
    told = seen(played)
    first = Feedback() if late else told
    state = player.update(player.init(np.zeros(2)), first._replace(action=played))
    if late:
        state, info = player.step(state, told)
    else:
        state, info = player.step(state, seen(state.x))
    # What was seen in round 1 was seen there.
    assert info.region.base.x.tolist() == played.tolist()
    direct = BASE.update(BASE.init(np.zeros(2)), told._replace(action=played))
    np.testing.assert_array_equal(state.x, direct.x)


def test_feedback_says_itself_where_it_was_seen_and_how_late_it_is():
    player = Delayed(base=BASE, delay=2, copies=False, late=True)
    state = player.init(np.zeros(2))
    for x in ([0.1, 0.0], [0.2, 0.0]):
        state = player.update(state, Feedback(action=np.array(x)))
    found = player.locate(state, Feedback())
    assert found.action.tolist() == [0.1, 0.0]
    assert found.age == 2
    own = Feedback(action=np.array([0.3, 0.0]), age=2)
    assert player.locate(state, own).action.tolist() == [0.3, 0.0]
    with pytest.raises(InvalidValueError, match="age must be 0 or 2, the delay, got 1"):
        player.update(state, Feedback(age=1))
    at_once = Delayed(base=BASE, delay=2)
    with pytest.raises(InvalidValueError, match="age must be 0, got 2"):
        at_once.update(at_once.init(np.zeros(2)), Feedback(age=2))


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_what_rests_stays_where_it_is_put_and_keeps_the_order_of_what_is_late(copies, late):
    k, drift = 2, 0.01
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=drift)
    player = Delayed(base=base, delay=k, copies=copies, late=late)
    state, told = player.init(np.zeros(2)), []
    for t in range(8):
        told.append(seen(state.x, wall=Affine([[0.0, 1.0]], [0.5 - drift * t])))
        if t in (4, 5):
            state = player.rest(state, np.array([0.05, 0.05]))
            assert state.x.tolist() == [0.05, 0.05]
            continue
        feedback = told[-1] if not late else told[t - k] if t >= k else Feedback()
        state, info = player.step(state, feedback)
        assert state.x[1] <= 0.5 - drift * (t + 1)
        assert info.contradictions == ()
    assert state.rounds == 8
    assert [len(part) for part in (state.actions, state.waiting)] == [k + 1, 0 if late else k]


def test_proposals_and_announced_sets_are_never_late():
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
    player = Delayed(base=safe, delay=1, copies=False)
    state = player.init(np.zeros(2))
    known = Box([-0.2, -0.2], [0.2, 0.2])
    for proposal in ([0.0, 9.0], [0.3, 0.0]):
        told = seen(state.x)._replace(cost_gradient=None)
        state = player.update(state, told._replace(proposal=np.array(proposal), within=known))
    np.testing.assert_allclose(state.x, [0.2, 0.0], atol=1e-9)
    assert state.waiting[0].proposal is None


# --- a reading of another action, drift, rounds that nobody measures -----------------------------


def attack(player, delay, drift, rng, *, missing=0.3, rest=0.2, rounds=80):
    """Play late against walls that come nearer; return the largest g, and rounds played."""
    A = np.vstack([np.eye(2), -np.eye(2), _units(rng, 3)])
    b, told, worst = rng.uniform(0.3, 0.7, len(A)), [], -1.0
    state = player.init(np.zeros(2))
    for t in range(rounds):
        limit = b - min(drift * t, 0.5 * float(b.min()))
        rows = A @ state.x - limit
        i = int(rows.argmax())
        worst = max(worst, float(rows[i]))
        push = -A[i] if rng.random() < 0.5 else rng.normal(size=2)
        told.append(Feedback(push, float(rows[i]), A[i]))
        feedback = told[t - delay] if t >= delay else Feedback()
        if t > 2 * delay and rng.random() < missing:
            feedback = Feedback()
        try:
            if t > 2 * delay and not drift and rng.random() < rest:
                state = player.rest(state, state.x)
            else:
                state, info = player.step(state, feedback)
                assert info.contradictions == ()
        except EmptyRegionError:
            break
    return worst, t + 1


def _units(rng, many):
    rows = rng.normal(size=(many, 2))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


RULES = {
    "leader": lambda **known: LeaderFollower(**known),
    "margin": lambda **known: CertifiedPFS(rho=0.02, decreasing=False, **known),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("drift", [0.0, 3e-3])
def test_late_readings_rounds_without_one_and_drift_lead_nowhere_outside(rule, copies, drift):
    played = 0
    for seed in range(4):
        base = RULES[rule](G_g=1.0, domain=Ball(1.1), drift=drift)
        player = Delayed(base=base, delay=3, copies=copies, late=True)
        worst, rounds = attack(player, 3, drift, np.random.default_rng(seed))
        assert worst <= 0
        played += rounds
    assert played > 80


def test_told_that_readings_are_younger_than_they_are_it_goes_outside():
    outside = 0
    for seed in range(6):
        base = LeaderFollower(G_g=1.0, domain=Ball(1.1), drift=3e-3)
        player = Delayed(base=base, delay=1, copies=False, late=True)
        try:
            worst, _ = attack(player, 4, 3e-3, np.random.default_rng(seed), missing=0.0)
        except AssertionError:  # which it says
            worst = 1.0
        outside += worst > 0
    assert outside > 3


def test_rules_that_do_not_explain_may_be_late_too():
    toy = paper_toy(horizon=150, trials=1)
    trace = sf.play(Delayed.of(PFS.anytime(toy.constants, 50, toy.domain), delay=2), toy)
    assert np.max(trace.violations.largest) <= 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delay": 0}, "delay must be a whole number >= 1, got 0"),
        ({"delay": 1.5}, "delay must be a whole number >= 1, got 1.5"),
        ({"copies": False}, "copies must be True for PFS: only certificates say"),
        ({"base": Ball(1.0)}, "base must be an algorithm with init and step"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(options, sentence):
    base = PFS(eta=0.1, rho=0.1, domain=Ball(1.0))
    with pytest.raises(InvalidValueError) as error:
        Delayed(**{"base": base, "delay": 1, **options})
    assert str(error.value).startswith(sentence)


def test_a_guarantee_that_is_not_for_every_round_is_refused():
    toy = paper_toy(horizon=1, trials=1)
    with pytest.raises(InvalidValueError, match="must be one for every round, got"):
        Delayed.of(PFS.nearly(toy.constants, 10_000, toy.domain), delay=1)
    with pytest.raises(InvalidValueError, match="player must have a guarantee"):
        Delayed.of(CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2), delay=1)


STEEP_OUTSIDE = {
    "hull": LipschitzHull(G_g=1.0, domain=Ball(9.0)),
    "hull, errors": LipschitzHull(G_g=1.0, domain=Ball(9.0), errors=Errors(value=0.05)),
    "length": CertifiedLength(G_g=1.0, domain=Ball(9.0), rho=0.1),
    "length, errors": CertifiedLength(
        G_g=1.0, domain=Ball(9.0), rho=0.1, errors=Errors(value=0.05)
    ),
    "rows": Together(rows=2 * (LipschitzHull(G_g=1.0, domain=Ball(9.0)),)),
}


@pytest.mark.filterwarnings("ignore:round .* an action .* away from the one asked for")
@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("name", STEEP_OUTSIDE)
def test_a_late_reading_outside_contradicts_no_slope_that_holds_inside(name, copies, engine):
    known, k, rng = STEEP_OUTSIDE[name], 2, np.random.default_rng(7)
    error = known.errors.value
    wall = np.array([0.6, 0.8])

    def read(x):  # the slope is 1 where g <= 0, and 30 outside: G_g = 1 is for the former
        h = float(wall @ x) - 0.5
        return (h, wall) if h <= 0 else (30 * h, 30 * wall)

    with kernel.engine(engine):
        player = Delayed(base=RegionFilter(knowledge=known), delay=k, copies=copies, late=True)
        live, played, outside = Controller(player, [0.0, 0.0]), [], 0
        for t in range(120):
            x = live.ask()
            assert not live.explain().broken or live.explain().broken[0].constant == "action"
            assert read(x)[0] <= 0
            own = t > 10 and rng.random() < 0.3
            far = 0.5 - float(wall @ x) + rng.uniform(-0.1, 0.6)
            played.append(x + far * wall if own else x)
            if t < k:
                live.tell(missing=True)
                continue
            g, s = read(played[t - k])
            outside += g > 0
            g, s = (g + error * rng.uniform(-1, 1), s)
            second = float(wall @ played[t - k]) - 2.5
            seen = ([g, second], [s, wall]) if name == "rows" else (g, s)
            more = {"action": played[-1]} if own else {}
            told = {"constraint_value": seen[0], "constraint_subgradient": seen[1]}
            live.tell(proposal=x + 3 * rng.normal(size=2) + wall, **told, **more)
        assert outside > 10


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("copies", [True, False])
def test_a_start_bound_is_never_taken_for_one_where_a_loop_was_held(copies, engine):
    # g(x) = |x| - 0.5, and the second copy is held at 0.3 before its start was read.
    known = LipschitzHull(G_g=1.0, domain=Ball(9.0), start_bound=-0.45, errors=Errors(value=0.02))
    player = Delayed(base=RegionFilter(knowledge=known), delay=1, copies=copies, late=True)
    with kernel.engine(engine):
        live, played = Controller(player, [0.0], on_contradiction="record"), []
        for t in range(12):
            if t == 2:
                live.hold("lunch")
            if t == 6:
                live.resume(reason="back")
            x = live.ask()
            assert abs(x[0]) <= 0.5
            if t:
                late = played[-1]
                told = {"constraint_value": abs(late) - 0.5, "constraint_subgradient": [1.0]}
                live.tell(proposal=[0.3 if t < 8 else 2.0], **told)
            else:
                live.tell(missing=True)
            played.append(float(x[0]))
            assert not live.explain().broken
        assert played[2] == pytest.approx(0.3)
        assert max(played) > 0.45


def test_a_start_bound_behind_another_wrapper_is_refused():
    known = LipschitzHull(G_g=1.0, domain=Ball(9.0), start_bound=-0.45)
    inner = Averaged(base=RegionFilter(knowledge=known), sigma=0.01)
    with pytest.raises(InvalidValueError, match="start_bound must be None for Averaged in Delay"):
        Delayed(base=inner, delay=1)
