"""Leader and follower from values alone: steps by hand, feasibility, wrong guesses, regret."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import surefoot as sf
from surefoot import Ball, Certified, Constants, Feedback
from surefoot.controller import Controller, Fleet
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.parameters import parameters_of
from surefoot.knowledge import (
    AnnouncedDrift,
    CertifiedLength,
    Column,
    Curvature,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.problems import adversarial_cube, binding_toy, paper_toy, random_polytope
from surefoot.problems.constraints import Affine, L2Norm
from surefoot.proposers import Leader, Probing
from surefoot.proposers.cuts import Cuts
from surefoot.rules import Averaged, CertifiedPFS, Delayed, LeaderFollower, ValuesFollower

from ._known import gradients, inside, sets

SEEDS = st.integers(0, 2**32 - 1)


def follower(G_g=1.0, domain=None, **options):
    return ValuesFollower(G_g=G_g, domain=domain or Ball(1.0), **options)


def probe_from(state, x=None, **changes):
    """The state in the middle of a probe, or with other differences; at another action."""
    x = state.x if x is None else x
    return state._replace(x=x, learner=state.learner._replace(**changes))


def play(player, constraint, gradient, x1, rounds):
    """The rounds of one run: (state before, value, state after, info)."""
    state = player.init(x1)
    for _ in range(rounds):
        g = constraint.value(state.x)
        after, info = player.step(state, Feedback(gradient(state.x), g, None))
        yield state, g, after, info
        state = after


# --- by hand -------------------------------------------------------------------------------------


def test_a_probe_by_hand():
    # The limit is x[1] <= 0.5 and the costs push along (0.6, 0.8).
    wall, push = Affine([[0.0, 1.0]], [0.5]), lambda x: np.array([-0.6, -0.8])
    rounds = list(play(follower(), wall, push, np.zeros(2), 6))
    one, two, three, four = (after for _, _, after, _ in rounds[:4])
    # Round 1: all of the slack of 0.5 is spent, (0.3, 0.4); no probe, for no ball was deeper.
    np.testing.assert_allclose(one.x, [0.3, 0.4], atol=1e-12)
    assert one.learner.probes == 0
    # Round 2: g = -0.1, less than half of the slack of the start, and no cut is known: probes of
    # a hundredth of the certified radius 0.1, along each axis.
    assert two.learner.probes == 1
    np.testing.assert_allclose(two.x, [0.301, 0.4], atol=1e-12)
    assert three.learner.probes == 2
    np.testing.assert_allclose(three.x, [0.3, 0.401], atol=1e-12)
    # Round 4: the differences (0, 1) are the cut x[1] <= 0.5.
    assert four.learner.probes == 0
    np.testing.assert_allclose(four.learner.slopes, [0.0, 1.0], atol=1e-11)
    cuts = four.learner.leader.cuts
    np.testing.assert_allclose(cuts.normals, [[0.0, 1.0]], atol=1e-11)
    np.testing.assert_allclose(cuts.offsets, [0.5], atol=1e-12)
    assert rounds[-1][2].learner.probes == 0  # the cut explains all that is seen from now on


@pytest.mark.parametrize("moved", [5e-18, 0.0049, 0.02])
def test_a_probe_that_the_region_has_moved_says_nothing_of_its_entry(moved):
    player, x = follower(), np.array([0.1, 0.0])
    slopes = np.array([0.3, 0.7])
    state = probe_from(player.init(x), probes=2, length=0.01, origin=x, value=-0.5, slopes=slopes)
    state = state._replace(x=np.array([0.1, moved]))
    after = player.update(state, Feedback(np.ones(2), -0.49, None))
    assert after.learner.slopes.tolist() == [0.3, 0.7]


def test_a_new_entry_replaces_the_old_one_to_the_bit():
    player, x = follower(), np.array([0.0, 0.0])
    slopes = np.array([0.3, 1e17])
    state = probe_from(player.init(x), probes=2, length=0.01, origin=x, value=-0.5, slopes=slopes)
    state = state._replace(x=np.array([0.0, 0.01]))
    after = player.update(state, Feedback(np.ones(2), -0.4925, None))
    assert after.learner.slopes.tolist() == [0.3, (-0.4925 + 0.5) / 0.01]


@pytest.mark.parametrize(("told", "offset"), [({"constraint_value": -0.4}, 0.9), ({}, 0.5)])
def test_a_cut_that_says_more_than_was_read_is_moved_outwards(told, offset):
    player = follower()
    state = player.update(player.init(np.zeros(2)), Feedback(np.array([-1.0, 0.0]), -0.5, None))
    # It says g = x[0] - 0.2, which is 0.3 at x = (0.5, 0): -0.4 was read there, or nothing.
    ones = np.ones(1)
    wrong = Cuts(np.array([[1.0, 0.0]]), 0.2 * ones, ones, np.zeros((4, 1)))
    state = probe_from(state, leader=state.learner.leader._replace(cuts=wrong))
    after = player.update(state, Feedback(np.array([-1.0, 0.0]), **told))
    assert after.learner.leader.cuts.offsets[0] == pytest.approx(offset, abs=1e-12)


def test_a_cut_is_moved_by_no_more_than_the_errors_of_both_readings_leave():
    player = follower(value_error=0.05)
    state = player.update(player.init(np.zeros(2)), Feedback(np.array([-1.0, 0.0]), -0.5, None))
    ones, x = np.ones(1), float(state.x[0])
    wrong = Cuts(np.array([[1.0, 0.0]]), 0.2 * ones, ones, np.zeros((4, 1)))
    state = probe_from(state, leader=state.learner.leader._replace(cuts=wrong))
    after = player.update(state, Feedback(np.array([-1.0, 0.0]), -0.4, None))
    # g may be -0.35, of which x[0] + 0.35 is the offset of a cut with slope 1.
    assert after.learner.leader.cuts.offsets[0] == pytest.approx(x + 0.35, abs=1e-12)


def test_differences_with_errors_are_the_best_linear_estimate():
    rng = np.random.default_rng(4)
    d, error, length, G_g = 4, 0.1, 0.05, 3.0
    # The errors of all differences have that of the origin in common.
    each, prior = error**2 / 3.0 / length**2, G_g**2 / d
    covariance = (prior + each) * np.eye(d) + each * np.ones((d, d))
    differences = 0.1 * rng.normal(size=d)
    best = prior * np.linalg.solve(covariance, differences)
    player = follower(G_g=G_g, value_error=error)
    state = probe_from(
        player.init(np.zeros(d)), probes=d, length=length, value=-0.5, slopes=differences.copy()
    )
    state = state._replace(x=length * np.eye(d)[-1])
    feedback = Feedback(np.ones(d), -0.5 + length * differences[-1], None)
    cuts = player.update(state, feedback).learner.leader.cuts
    np.testing.assert_allclose(cuts.normals[0] / cuts.inverses[0], best, rtol=1e-9)


def test_no_probe_begins_whose_differences_would_be_mostly_errors():
    wall, push = Affine([[0.0, 1.0]], [0.5]), lambda x: np.array([-0.6, -0.8])
    begins = {}
    for error in (0.0, 0.02, 0.1):
        rounds = list(play(follower(value_error=error), wall, push, np.zeros(2), 40))
        states = [before.learner for before, *_ in rounds]
        begins[error] = sum(s.probes == 1 for s in states)
        for s in states:
            if s.probes and error:
                # The variance of a difference by errors is at most that by slopes.
                assert error**2 / 3.0 / s.length**2 <= (1.0 + 1e-9) / 2
    assert begins[0.0] > 0
    assert begins[0.02] > 0
    assert begins[0.1] <= begins[0.02]


def test_a_guess_of_the_slope_is_no_longer_than_G_g():
    player = follower(domain=Ball(1.5), probe=0.4)
    # Both differences of |x|_inf along the axes are 1 at a corner: sqrt 2 together.
    cube, x = sf.problems.constraints.LinfNorm(1.0, 2), np.array([0.9, 0.9])
    slopes, origin = np.array([1.0, 0.0]), x - [0.0, 0.01]
    state = probe_from(player.init(x), probes=2, slopes=slopes, length=0.01, origin=origin)
    state = probe_from(state, value=float(cube.value(origin)) - 0.01)
    after = player.update(state, Feedback(np.ones(2), cube.value(x), None))
    assert np.linalg.norm(after.learner.slopes) == pytest.approx(math.sqrt(2))
    # Kept with 1/|s| = 1, not 1/sqrt 2.
    assert after.learner.leader.cuts.inverses[0] == pytest.approx(1.0)


# --- feasibility ---------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(sets())
def test_no_round_is_outside_and_every_bound_holds(drawn):
    known, rng = drawn
    d = len(known.domain.centre)
    G_g = known.constraint.subgradient_bound(known.domain)
    player = follower(
        G_g,
        known.domain,
        evaluation_error=known.constraint.evaluation_error(known.domain),
        probe=0.1,
    )
    x1, bound = inside(known, rng), 0.0
    for _, g, _, info in play(player, known.constraint, gradients(known, rng, d), x1, 60):
        assert g <= 0
        assert g <= bound + 1e-12 * abs(bound) + 4 * info.region.noise
        assert info.contradictions == ()
        bound = info.certificate.bound


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_no_guess_of_a_slope_can_lead_outside(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    ball, player = L2Norm(0.5), follower(domain=Ball(0.6), probe=0.1)
    state = player.init(np.zeros(d))
    for _ in range(60):
        g = ball.value(state.x)
        assert g <= 0
        # Somebody else's memory, in the middle of a probe or not.
        state = probe_from(
            state,
            slopes=10 * rng.normal(size=d),
            probes=int(rng.integers(0, d + 1)),
            value=float(rng.normal()),
        )
        state = player.update(state, Feedback(rng.normal(size=d), g, None))


@pytest.mark.parametrize("adversary", ["constant", "corners", "alternating"])
def test_the_adversarial_cubes_are_never_left(adversary):
    problem = adversarial_cube(adversary, horizon=150, dimension=4)
    trace = sf.play(ValuesFollower.default(problem.constants, None, problem.domain), problem)
    assert trace.violations.largest <= 0
    assert trace.ledger.constraint_subgradients == 0


# --- a live loop ---------------------------------------------------------------------------------


def test_a_controller_is_told_no_slopes(tmp_path):
    constants = Constants(R=1.0, G_g=1.0, start_slack=0.5)
    path = tmp_path / "values.journal"
    with Controller(ValuesFollower.default(constants), np.zeros(2), journal=path) as loop:
        for _ in range(5):
            x = loop.ask()
            loop.tell(cost_gradient=[-0.6, -0.8], constraint_value=float(x[1]) - 0.5)
        last = loop.ask()
        assert "the next g is at most" in str(loop.explain().certificate)
    with Controller.open(path) as again:
        assert (again.ask() == last).all()
        with pytest.raises(InvalidValueError, match="constraint_value must be one number"):
            again.tell(cost_gradient=[-0.6, -0.8])


def test_a_probe_is_read_where_it_was_played_and_dropped_where_nothing_was():
    wall, push = Affine([[0.0, 1.0]], [0.5]), lambda x: np.array([-0.6, -0.8])
    player = follower()
    *_, (_, _, state, _) = play(player, wall, push, np.zeros(2), 2)
    assert state.learner.probes == 1
    # Not quite the probe: what was moved counts. Far from it: it says nothing.
    for off, slope in (([1e-4, 0.0], 0.0), ([0.2, 0.1], state.learner.slopes[0])):
        played = state.x + off
        told = Feedback(push(played), wall.value(played), action=played)
        after, info = player.step(state, told)
        assert after.learner.probes == 2
        assert after.learner.slopes[0] == pytest.approx(slope, abs=1e-9)
        assert info.region.contains(after.x)
    # A round that is not measured ends it.
    after, _ = player.step(state, Feedback(push(state.x)))
    assert after.learner.probes == 0
    assert wall.value(after.x) <= 0
    held = player.rest(state, np.array([0.2, 0.1]))
    assert held.learner.probes == 0
    assert held.x.tolist() == [0.2, 0.1]


@pytest.mark.parametrize("errors", [{}, {"value_error": 0.01}, {"drift": 1e-3}])
def test_errors_drift_and_rounds_that_nobody_measures_lead_nowhere_outside(errors):
    nu, drift = errors.get("value_error", 0.0), errors.get("drift", 0.0)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        worst = attack(follower(domain=Ball(1.1), probe=0.1, **errors), rng, nu, drift)
        assert worst <= 0


def test_told_a_third_of_the_error_the_same_attack_leads_outside():
    player = follower(domain=Ball(1.1), value_error=0.01)
    found = [attack(player, np.random.default_rng(seed), 0.03, 0.0) for seed in range(4)]
    assert max(found) > 0


def attack(player, rng, nu, drift, rounds=100):
    """Play with errors of exactly that size, a third of the rounds not measured; the largest g."""
    A = np.vstack([np.eye(2), -np.eye(2), rng.normal(size=(3, 2))])
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    b, worst, state = rng.uniform(0.3, 0.7, len(A)), -1.0, player.init(np.zeros(2))
    for t in range(rounds):
        rows = A @ state.x - b + min(drift * t, 0.1)
        i = int(rows.argmax())
        worst = max(worst, float(rows[i]))
        push = -A[i] if rng.random() < 0.5 else rng.normal(size=2)
        reading = float(rows[i]) - nu * float(rng.choice([-1.0, 1.0, 1.0, 1.0]))
        lost = t and rng.random() < 0.3
        try:
            state = player.update(state, Feedback(push, None if lost else reading))
        except EmptyRegionError:
            break
    return worst


def test_no_slope_is_allowed_for_and_none_is_said_to_be():
    player = follower(value_error=0.01)
    assert type(player).__name__ == "ValuesFollower"
    assert player.errors.slope == math.inf
    assert str(player.errors) == "allows for values off by up to 0.01, rounding; slopes only steer"
    assert "slope_error" not in parameters_of(ValuesFollower)
    with pytest.raises(InvalidTypeError, match="ValuesFollower has no parameter 'slope_error'"):
        follower(slope_error=0.1)
    state = player.init(np.zeros(2))
    _, info = player.step(state, Feedback(np.ones(2), -0.5))
    assert "inf" not in str(info.certificate)
    with pytest.raises(InvalidValueError, match="slope_error must be a finite number"):
        CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1, slope_error=math.inf)


def test_a_constant_that_is_too_small_is_named_in_the_round_that_shows_it():
    steep = Affine([[3.0, 0.0]], [0.5])
    found = [
        i.contradictions for *_, i in play(follower(), steep, lambda x: -x - 1, np.zeros(2), 3)
    ]
    assert found[0] == ()
    assert found[1][0].startswith("round 2: g = ")
    assert "G_g = 1 is too small" in found[1][0]


# --- regret --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy", "binding toy", "polytope"])
def test_without_slopes_the_regret_is_at_most_that_of_certified_steps_with_them(name):
    T = 800
    problem = {
        "toy": lambda: paper_toy(horizon=T, trials=2),
        "binding toy": lambda: binding_toy(horizon=T, trials=2),
        "polytope": lambda: random_polytope(10, 40, horizon=T, trials=2, seed=7),
    }[name]()
    means = {}
    for rule in (ValuesFollower, CertifiedPFS, LeaderFollower):
        tuned = rule.default(problem.constants, T, problem.domain)
        trace = sf.play(tuned, problem, watch="off")
        assert np.max(trace.violations.largest) <= 0
        means[rule] = float(np.mean(trace.final_regret()))
    # The bar is 1.6 times; it is far below. Beside the same rule with slopes it is 1.3 to 2 times.
    assert means[ValuesFollower] <= 1.0 * means[CertifiedPFS]
    assert means[ValuesFollower] <= 2.2 * means[LeaderFollower]


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"probe": 0.5}, "probe must be below 1/2, got 0.5"),
        ({"probe": 0.0}, "probe must be a finite number > 0, got 0.0"),
        ({"doubt": -1.0}, "doubt must be a finite number >= 0, got -1.0"),
        ({"near": math.nan}, "near must be a finite number >= 0, got nan"),
        ({"leader": Ball(1.0)}, "leader must be a Leader, got Ball"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(options, sentence):
    leader = Leader(domain=Ball(1.0))
    with pytest.raises(InvalidValueError) as error:
        Probing(**{"leader": leader, **options})
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("feedback", "sentence"),
    [
        (Feedback(np.array([math.nan, 0.0]), -0.5, None), "cost_gradient must be finite"),
        (Feedback(np.ones(3), -0.5, None), r"cost_gradient.shape must be \(2,\)"),
        (Feedback(np.ones(2), math.nan, None), "constraint_value must be finite"),
        (Feedback(np.ones(2), "low", None), "constraint_value must be one number"),
        (Feedback(np.ones(2), 0.0, None), "the start must be strictly feasible"),
    ],
)
def test_bad_feedback_is_refused_with_one_sentence(feedback, sentence):
    player = follower()
    state = player.init(np.zeros(2))
    with pytest.raises(InvalidValueError, match=sentence):
        player.update(state, feedback)


class Unit(ValuesFollower):
    """One with a constructor of its own."""

    def __init__(self) -> None:
        super().__init__(G_g=1.0, domain=Ball(1.0))


def test_a_subclass_with_another_constructor_is_tuned_and_changed_as_the_class_is():
    player = Unit().allowing(Errors(value=0.1))
    tuned = Unit.default(Constants(R=1.0, G_g=1.0, start_slack=0.5)).algorithm
    assert type(player) is type(tuned) is Unit
    assert player.errors == Errors(value=0.1, slope=math.inf)


# --- with all that the knowledge allows for ------------------------------------------------------


CONTEXTS = {"context": Column(G_c=1.0), "start_bound": -0.04}
SETTINGS = {
    "alone": {},
    "value error": {"value_error": 0.02},
    "drift": {"drift": 5e-4, "start_bound": -0.25},
    "ramp": {"ramp": 0.05},
    "ramp under drift": {"ramp": 0.05, "drift": 5e-4, "start_bound": -0.25},
    "contexts": CONTEXTS,
    "known contexts": {"context": Column(adds=1.0), "start_bound": -0.04},
    "contexts, value error": {**CONTEXTS, "value_error": 0.02},
    "a drift that is told": {"context": AnnouncedDrift(), "start_bound": -0.04},
}
AROUND = {
    "": lambda player: player,
    "late": lambda player: Delayed(base=player, delay=2, late=True),
    "late, ahead": lambda player: Delayed(base=player, delay=2, late=True, copies=False),
    "averaged": lambda player: Averaged(base=player, sigma=0.01, failure=1e-6),
}
PLAYED = [
    *((name, "") for name in SETTINGS),
    *(("alone", around) for around in AROUND if around),
    ("drift", "late, ahead"),
]


class Room:
    """Four walls, whose g is computed exactly; it moves with the context, or drifts."""

    def __init__(self, seed, told, d=3):
        self.rng, self.told, self.shift = np.random.default_rng(seed), told, 0.0
        self.rows = self.rng.normal(size=(4, d))
        self.rows /= np.linalg.norm(self.rows, axis=1)[:, None]
        self.steep = float(np.linalg.norm(self.rows, axis=1).max()) * (1 + 2.0**-50)
        self.offsets, self.aim = self.rng.uniform(0.3, 0.7, 4), self.rng.normal(size=d)

    def move(self, t):
        """Let the limit move; return what is told of the next round."""
        if "context" in self.told:
            before, self.shift = self.shift, 0.25 * math.sin(t / 15)
            if isinstance(self.told["context"], AnnouncedDrift):
                return {"drift": abs(self.shift - before) * (1 + 2.0**-50)}
            return {"context": [self.shift]}
        drift = self.told.get("drift", 0.0)
        self.shift = min(max(self.shift + drift * self.rng.uniform(-1, 1), -0.1), 0.01)
        return {}

    def g(self, x):
        """The limit, exactly."""
        point = [Fraction(entry) for entry in x.tolist()]
        values = [
            sum(Fraction(a) * p for a, p in zip(row, point, strict=True)) - Fraction(b)
            for row, b in zip(self.rows.tolist(), self.offsets.tolist(), strict=True)
        ]
        return max(values) + Fraction(self.shift)

    def read(self, x, sigma=0.0):
        """What is read there."""
        error = self.told.get("value_error", 0.0) * 0.999 * self.rng.uniform(-1, 1)
        return float(self.g(x)) + error + sigma * self.rng.uniform(-1, 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "around"), PLAYED, ids=lambda word: word)
def test_every_action_is_feasible_and_proved_with_all_that_a_hull_allows_for(name, around, seed):
    room = Room(seed, SETTINGS[name])
    player = AROUND[around](follower(room.steep, Ball(2.0), **room.told))
    by_place = isinstance(room.told.get("context"), Column)
    first = {"context": [0.0]} if by_place else {}
    delay = 2 if around.startswith("late") else 0  # until then nothing is known of the start
    loop = Controller(player, np.zeros(3), on_contradiction="raise", **first)
    played, readings, longest, last = [], [], 0.0, np.zeros(3)
    for t in range(200):
        x = loop.ask()
        assert room.g(x) <= 0
        assert t <= delay or loop.explain().is_proven
        longest, last = max(longest, float(np.linalg.norm(x - last))), x
        readings.append(room.read(x, 0.01 if around == "averaged" else 0.0))
        played.append(x)
        ahead = room.move(t + 1)
        if t < delay or (t > 2 and not delay and room.rng.random() < 0.1):
            loop.tell(missing=True, **ahead)
            continue
        grad, value = played[t - delay] - room.aim, readings[t - delay]
        loop.tell(cost_gradient=grad, constraint_value=value, **ahead)
    assert longest <= room.told.get("ramp", math.inf) * (1 + 1e-11)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["alone", "value error", "drift", "contexts"])
def test_a_fleet_of_them_is_feasible_and_proved(name, seed):
    rooms = [Room([seed, i], SETTINGS[name]) for i in range(3)]
    player = follower(max(room.steep for room in rooms), Ball(2.0), **SETTINGS[name])
    contexts = {"context": [[0.0]] * 3} if "context" in SETTINGS[name] else {}
    fleet = Fleet(player, np.zeros((3, 3)), **contexts)
    for t in range(200):
        actions, aims = fleet.ask(), np.array([room.aim for room in rooms])
        assert all(room.g(x) <= 0 for room, x in zip(rooms, actions, strict=True))
        assert not t or all(fleet.explain(str(i)).is_proven for i in range(3))
        values = [room.read(x) for room, x in zip(rooms, actions, strict=True)]
        if t > 2:
            values = [math.nan if rooms[0].rng.random() < 0.05 else value for value in values]
        ahead = [room.move(t + 1) for room in rooms]
        if contexts:
            contexts = {"context": [each["context"] for each in ahead]}
        fleet.tell(cost_gradient=actions - aims, constraint_value=np.array(values), **contexts)


def test_contexts_with_a_ramp_are_rejected():
    with pytest.raises(InvalidValueError, match=r"ramp must be None for these contexts, got 0\.05"):
        follower(ramp=0.05, **CONTEXTS)


def test_in_known_contexts_a_difference_is_that_of_one_context():
    # g(x; c) = x[1] - 0.5 + c: the probes are in other contexts than their origin.
    player = follower(context=Column(adds=1.0), start_bound=-0.1)
    loop = Controller(player, np.zeros(2), context=0.0)
    for t in range(12):
        x, c = loop.ask(), -0.01 * t
        value = float(x[1]) - 0.5 + c
        loop.tell(cost_gradient=[-0.6, -0.8], constraint_value=value, context=c - 0.01)
    cuts = loop.state.learner.leader.cuts
    assert len(cuts.offsets)
    np.testing.assert_allclose(cuts.normals, np.tile([0.0, 1.0], (len(cuts.normals), 1)), atol=1e-9)


@pytest.mark.parametrize(
    ("feedback", "sentence"),
    [
        ({"constraint_subgradient": np.ones(2)}, "constraint_subgradient is not used by Values"),
        ({"slope_error": 0.1}, "slope_error is not used by ValuesFollower: leave it out"),
    ],
)
def test_a_slope_and_its_error_are_rejected(feedback, sentence):
    player = follower()
    state = player.init(np.zeros(2))
    with pytest.raises(InvalidValueError, match=sentence):
        player.update(state, Feedback(np.ones(2), -0.5)._replace(**feedback))


def test_probes_take_only_knowledge_of_one_limit_that_values_certify():
    probing = Probing(leader=Leader(domain=Ball(1.0)))
    hull = LipschitzHull(G_g=1.0, domain=Ball(1.0), errors=Errors(slope=0.1))
    assert Certified(proposer=probing, knowledge=hull).errors.slope == math.inf
    for knowledge in (
        CertifiedLength(G_g=1.0, domain=Ball(1.0), rho=0.1),
        Curvature(beta=1.0, domain=Ball(1.0)),
        Together(rows=(hull, hull)),
    ):
        with pytest.raises(InvalidValueError, match=r"must (be of one|certify by v)"):
            Certified(proposer=probing, knowledge=knowledge)
