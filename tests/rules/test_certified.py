"""The pair itself: one step by hand, what a proposer may not do, names, and parts of one's own."""

import math
import pickle
from dataclasses import FrozenInstanceError
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests._names import NAMES

import surefoot
from surefoot import Ball, Constants, Feedback
from surefoot.certified import Certified
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.lazy import public_names
from surefoot.core.parameters import function, positive
from surefoot.knowledge import CertifiedLength, Errors, Knowledge, LipschitzHull, Region
from surefoot.problems import adversarial_cube
from surefoot.problems.constraints import Affine, LinfNorm
from surefoot.proposers import Descent, Leader
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.proposals import Proposals
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    ChangeOver,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.sets import Box, L1Ball, Simplex

UP = np.array([0.0, 1.0])
HULL = LipschitzHull(G_g=2.0, reach=3.0)
PAIR = Certified(proposer=Proposals(), knowledge=HULL)


def told(g=-0.5, s=UP, **rest):
    return Feedback(constraint_value=g, constraint_subgradient=s, **rest)


# --- one step by hand ----------------------------------------------------------------------------


def test_one_step_by_hand():
    # A slack of 0.5 is worth 0.25 of way, whichever; g is at most -0.5 + 2 * 0.25 = 0 there.
    proposal = np.array([3.0, 4.0])
    state, info = PAIR.step(PAIR.init(np.zeros(2)), told(proposal=proposal))
    assert state.x == pytest.approx(0.25 / 5 * proposal, abs=1e-12)
    assert (state.memory.rounds, state.learner) == (1.0, ())
    assert info.x is state.x
    assert info.proposal.tolist() == proposal.tolist()
    assert info.cut
    assert info.region.contains(state.x)
    assert info.certificate.bound == pytest.approx(0.0, abs=1e-12)
    assert info.certificate.cut
    assert info.contradictions == ()
    assert info.note is None
    # A wish within reach is played as it is.
    near = np.array([0.06, -0.08])
    state, info = PAIR.step(PAIR.init(np.zeros(2)), told(proposal=near))
    assert state.x.tolist() == near.tolist()
    assert not info.cut
    assert info.certificate.bound == pytest.approx(-0.3, abs=1e-12)


def test_a_step_is_pure_and_shares_nothing_with_what_it_was_told():
    proposal, s, x = np.array([0.05, 0.0]), UP.copy(), np.array([0.1, 0.0])
    state = PAIR.init(x)
    x[:] = 9.0
    seen = told(s=s, proposal=proposal)
    (one, _), (two, _) = PAIR.step(state, seen), PAIR.step(state, seen)
    assert one.x.tolist() == two.x.tolist() == [0.05, 0.0]
    assert state.x.tolist() == [0.1, 0.0]
    proposal[:], s[:] = math.nan, math.nan
    assert one.x.tolist() == [0.05, 0.0]
    again = PAIR.step(one, told(action=np.array([0.05, 0.0])))[0]
    assert np.isfinite(again.memory.last.x).all()
    for kept in (one.x, one.memory.last.x):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 1.0


def test_an_action_that_the_caller_uses_again_is_not_remembered_as_changed():
    played = np.array([0.05, 0.0])
    state = PAIR.update(PAIR.init(np.zeros(2)), told(proposal=played))
    after = PAIR.update(state, told(-0.4, action=played))
    played[:] = 7.0
    assert after.memory.last.x.tolist() == [0.05, 0.0]


# --- a proposer that lies ------------------------------------------------------------------------


class Says(Proposer):
    """A proposer that says whatever it is told to say."""

    says: object = function()

    def init(self, x1):
        return ()

    def propose(self, learner, x, feedback, region):
        return learner, Proposal(self.says(x))


@pytest.mark.parametrize("knowledge", [HULL, CertifiedLength(G_g=2.0, domain=Ball(3.0), rho=0.1)])
@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (lambda x: np.full(2, math.nan), "the wanted action must be finite, got nan at index 0"),
        (lambda x: np.full(2, math.inf), "the wanted action must be finite, got inf at index 0"),
        (lambda x: np.zeros(1), "the wanted action.shape must be (2,), that of the action"),
        (lambda x: np.zeros((1, 2)), "the wanted action.shape must be (2,), that of the action"),
        (lambda x: 0.0, "the wanted action must be an array of shape (2,), that of the action"),
        (lambda x: None, "the wanted action must be an array of shape (2,), that of the action"),
        (lambda x: np.array([1.7e308, -1.7e308]), "the wanted action must have a finite distance"),
    ],
)
def test_a_wish_that_is_no_action_is_refused_in_a_sentence(knowledge, says, sentence):
    pair = Certified(proposer=Says(says=says), knowledge=knowledge)
    state = pair.init(np.zeros(2))
    with pytest.raises(InvalidValueError) as error:
        pair.step(state, told())
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("size", [0.3, 1e3, 1e150, 1e300])
def test_a_wish_far_away_is_taken_to_the_region(size):
    for knowledge in (HULL, CertifiedLength(G_g=2.0, domain=Ball(3.0), rho=0.1)):
        pair = Certified(proposer=Says(says=lambda x: size * UP), knowledge=knowledge)
        state = pair.init(np.zeros(2))
        for _ in range(5):
            state, info = pair.step(state, told(float(state.x[1]) - 0.5))
            assert state.x[1] <= 0.5
            assert info.region.contains(state.x)


def test_a_proposer_that_changes_its_wish_later_changes_no_action():
    buffer = np.zeros(2)

    def says(x):
        buffer[:] = [0.1, 0.0]
        return buffer

    pair = Certified(proposer=Says(says=says), knowledge=HULL)
    state, _ = pair.step(pair.init(np.zeros(2)), told())
    buffer[:] = 9.0
    assert state.x.tolist() == [0.1, 0.0]


def test_what_a_proposer_calls_impossible_is_among_the_contradictions():
    class Complains(Says):
        def propose(self, learner, x, feedback, region):
            return learner, Proposal(x, "a note", ("no cost is that high",))

    pair = Certified(proposer=Complains(says=print), knowledge=HULL)
    _, info = pair.step(pair.init(np.zeros(2)), told(s=3 * UP))
    assert info.contradictions == (
        "round 1: |s| = 3 exceeds G_g = 2",
        "no cost is that high",
    )
    assert info.note == "a note"


# --- rounds without a measurement, actions that were not asked for, announced sets ---------------


@pytest.mark.parametrize(
    "knowledge",
    [
        LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.01)),
        CertifiedLength(G_g=1.0, domain=Ball(2.0), rho=0.2, errors=Errors(drift=0.01)),
    ],
)
def test_a_round_without_a_measurement_ages_what_is_known(knowledge):
    pair = Certified(proposer=Proposals(), knowledge=knowledge)
    state = pair.init(np.zeros(2))
    # Before the first measurement the start stays, and no round is counted.
    same, info = pair.step(state, Feedback(proposal=9 * UP))
    assert same.x.tolist() == [0.0, 0.0]
    assert same.memory.rounds == 0.0
    assert info.region is None
    state, info = pair.step(state, told(proposal=9 * UP))
    longest = [info.region.longest]
    for k in range(3):
        state, info = pair.step(state, Feedback(proposal=9 * UP))
        assert state.memory.rounds == 2.0 + k
        assert info.region.contains(state.x)
        longest.append(info.region.longest)
    assert np.diff(longest) == pytest.approx([-0.01] * 3, abs=1e-9)  # v/G_g a round


def test_by_hand_an_action_that_was_not_asked_for():
    state = PAIR.update(PAIR.init(np.zeros(2)), told(proposal=0.1 * UP))
    # It was (0.2, 0) instead, where g is -0.3: a ball of radius 0.15 there.
    played = np.array([0.2, 0.0])
    across = np.array([1.0, 0.0])
    state, info = PAIR.step(state, told(-0.3, across, action=played, proposal=9 * across))
    assert state.memory.last.x.tolist() == played.tolist()
    assert state.x == pytest.approx([0.35, 0.0], abs=1e-12)
    assert info.contradictions == ()


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (np.zeros(3), "action.shape must be (2,), that of the action, got (3,)"),
        (np.array([0.0, math.nan]), "action must be finite, got nan at index 1"),
        (1.0, "action must be an array of shape (d,) or (B, d), got 1.0"),
    ],
)
def test_an_action_that_is_none_is_refused(action, sentence):
    state = PAIR.init(np.zeros(2))
    with pytest.raises(InvalidValueError) as error:
        PAIR.step(state, told(action=action))
    assert str(error.value) == sentence
    with pytest.raises(InvalidValueError, match="age must be a whole number >= 0, got -1"):
        PAIR.step(state, told(age=-1))
    with pytest.raises(InvalidValueError, match="feedback must be a Feedback, got None"):
        PAIR.step(state, None)


def test_an_announced_set_is_for_the_next_action_alone():
    state = PAIR.init(np.zeros(2))
    low = Box([-1.0, -1.0], [1.0, 0.1])
    one, info = PAIR.step(state, told(proposal=9 * UP, within=low))
    assert one.x == pytest.approx([0.0, 0.1], abs=1e-12)
    assert one.x[1] <= 0.1
    assert info.region.contains(one.x)
    assert not info.region.contains(0.2 * UP)
    two = PAIR.update(one, told(-0.4, proposal=9 * UP))
    assert two.x[1] > 0.2


def test_how_wrong_one_round_is():
    state = PAIR.init(np.zeros(2))
    one, info = PAIR.step(state, told(value_error=0.1, proposal=9 * UP))
    assert one.x[1] == pytest.approx(0.2, abs=1e-12)
    assert info.region.errors.value == 0.1
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(InvalidValueError, match="value_error must be a finite number >= 0"):
            PAIR.step(state, told(value_error=wrong))


# --- the domain is kept --------------------------------------------------------------------------

BOX = Box([-0.2, -0.1], [0.3, 0.15])
KEEPERS = {
    "LeaderFollower": lambda domain, **more: LeaderFollower(G_g=1.0, domain=domain, **more),
    "CertifiedPFS": lambda domain, **more: CertifiedPFS(G_g=1.0, domain=domain, rho=0.1, **more),
    "SafetyFilter": lambda domain, **more: SafetyFilter(G_g=1.0, domain=domain, rho=0.1, **more),
    "RegionFilter": lambda domain, value_error=0.0, slope_error=0.0, drift=0.0: RegionFilter(
        knowledge=LipschitzHull(
            G_g=1.0,
            domain=domain,
            errors=Errors(value=value_error, slope=slope_error, drift=drift),
        )
    ),
}
MODES = {
    "exact": {},
    "value": {"value_error": 0.01},
    "all": {"value_error": 0.005, "slope_error": 0.05, "drift": 1e-4},
}


def limits(rng, x1, rows=6):
    """Faces of unit slope around a start."""
    A = rng.normal(size=(rows, len(x1)))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    return A, A @ x1 + rng.uniform(0.05, 0.3, rows)


def attack(player, domain, x1, rounds, seed, mode=None, strays=0.0):
    """Push a rule out of limit and domain; return how often an action was in one only, and moved.

    Readings err by as much as was told, and the limit falls and rises by its drift.
    """
    rng, mode, worst, moved = np.random.default_rng(seed), mode or {}, -1.0, 0.0
    A, b = limits(rng, x1)
    nu, tau, v = (mode.get(name, 0.0) for name in ("value_error", "slope_error", "drift"))
    state, shift = player.init(x1), 0.0
    for t in range(rounds):
        x = state.x
        assert domain.contains(x) is True
        rows = A @ x - b + shift
        i = int(rows.argmax())
        assert rows[i] <= 0
        worst = max(worst, rows[i])
        action = None
        if rng.random() < strays:
            action = x = domain.project(x + 0.1 * rng.normal(size=len(x)))
            i = int((A @ x - b).argmax())
        g = float(A[i] @ x - b[i]) + shift
        wrong = rng.normal(size=len(x))
        s = A[i] + tau * wrong / np.linalg.norm(wrong)
        pull = -A[i] if rng.random() < 0.6 else rng.normal(size=len(x))
        far = 10.0 ** rng.uniform(-3, 2)
        seen = Feedback(pull, g - nu, s, action=action, proposal=state.x - far * pull)
        state, info = player.step(state, seen)
        assert info.region.contains(state.x)
        assert info.certificate.bound <= 0
        moved = max(moved, float(np.linalg.norm(state.x - x1)))
        shift += v if (t // 50) % 2 == 0 else -v
    return worst, moved


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KEEPERS)
def test_every_action_is_in_the_box_and_certified(name, mode):
    for seed in range(2):
        player = KEEPERS[name](BOX, **MODES[mode])
        _, moved = attack(player, BOX, np.zeros(2), 120, seed, MODES[mode])
        assert moved > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPERS)
def test_a_set_of_any_kind_may_be_the_domain_and_actions_may_stray(name):
    for domain, x1 in (
        (Box([-0.1] * 3, [0.3, 0.1, 0.0]), np.zeros(3)),
        (Simplex(3), np.full(3, 1 / 3)),
        (L1Ball(0.4), np.zeros(3)),
        (Ball(0.3, [0.1, 0.0, 0.0]), np.zeros(3)),
    ):
        attack(KEEPERS[name](domain), domain, x1, 30, 3, strays=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPERS)
def test_thousands_of_attacked_rounds_leave_no_box(name):
    for seed in range(12):
        rng, d = np.random.default_rng(seed), (1, 2, 5, 10)[seed % 4]
        mode = list(MODES.values())[seed % 3]
        box = Box(-rng.uniform(0.0, 0.4, d), rng.uniform(0.01, 0.4, d))
        player = KEEPERS[name](box, **mode)
        attack(player, box, np.zeros(d), 300, seed, mode, strays=0.05)


@pytest.mark.parametrize("name", KEEPERS)
def test_a_start_outside_of_the_domain_is_refused(name):
    player = KEEPERS[name](BOX)
    with pytest.raises(InvalidValueError, match=r"x1 must be in the domain Box\(.*got array"):
        player.init(np.array([0.0, 0.2]))
    with pytest.raises(InvalidValueError, match=r"x1.shape must end in 2, as the domain's"):
        player.init(np.zeros(3))
    first = told(action=np.array([0.0, 0.2]), proposal=np.zeros(2), cost_gradient=UP)
    with pytest.raises(InvalidValueError, match="the first action must be in the domain, got"):
        player.step(player.init(np.zeros(2)), first)
    sentence = r"^action must be in the domain Box\(.* in the first round that is measured, got"
    for play in (player.move_to, player.rest):
        with pytest.raises(InvalidValueError, match=sentence):
            play(player.init(np.zeros(2)), np.array([0.0, 0.2]))


@pytest.mark.parametrize("name", KEEPERS)
def test_what_is_read_outside_of_the_domain_is_not_used(name):
    # There g may be steeper than G_g says: a value that is very low says nothing of the box.
    player = KEEPERS[name](BOX)
    state = player.init(np.zeros(2))
    usual = Feedback(-UP, -0.05, UP, proposal=9 * UP)
    state = player.update(state, usual)
    outside = usual._replace(constraint_value=-5.0, action=np.array([0.0, 3.0]))
    after, info = player.step(state, outside)
    assert after.x[1] <= 0.05
    assert info.region.contains(after.x)
    assert after.memory.rounds == 2.0


def test_the_regret_against_points_of_a_box_that_restricts_is_bounded_by_what_is_observed():
    # The best feasible point is far outside of the box: comparators are its points.
    rng, limit = np.random.default_rng(4), LinfNorm(0.5, 2)
    for name in ("LeaderFollower", "CertifiedPFS"):
        player = KEEPERS[name](BOX)
        state, sums, paid, total = player.init(np.zeros(2)), player.observer(), 0.0, np.zeros(2)
        for _ in range(300):
            pull = np.array([-1.0, 0.3]) + rng.normal(size=2)
            paid, total = paid + pull @ state.x, total + pull
            state, info = player.step(state, Feedback(pull, *limit.query(state.x)))
            sums = sums.after(info)
            best = total @ BOX.minimize_linear(total)
            assert paid - best <= sums.bound(player, state) + 1e-9
        assert paid - best <= 0.06 * 300


# --- names ---------------------------------------------------------------------------------------


def test_a_rule_with_a_name_is_of_its_class_and_has_no_fields_but_its_parts():
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0), cuts=4, value_error=0.1)
    assert type(player) is LeaderFollower
    assert player.proposer == Leader(domain=Ball(1.0), cuts=4)
    hull = LipschitzHull(G_g=1.0, domain=Ball(1.0), errors=Errors(value=0.1))
    assert player.knowledge == hull
    assert (
        player == LeaderFollower.of(player.proposer, hull) != Certified.of(*player.parts.values())
    )
    assert vars(player) == player.parts
    with pytest.raises(FrozenInstanceError):
        player.ramp = 0.1
    with pytest.raises(FrozenInstanceError):
        del player.ramp


def test_every_tuning_of_a_rule_makes_an_instance_of_it():
    known = Constants(R=1.0, G_f=1.0, G_g=1.0, beta=1.0, start_slack=0.5, strong_convexity=1.0)
    for rule in (LeaderFollower, CertifiedPFS, CertifiedOGD, CertifiedDualAveraging):
        for name in rule.tunings:
            made = getattr(rule, name)(known, 100).algorithm
            if isinstance(made, ChangeOver):  # around an instance of it
                assert pickle.loads(pickle.dumps(made)) == made
                made = made.base
            assert type(made) is rule
            assert made.of(*made.parts.values()) == made
            assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: LeaderFollower.of(Proposals(), HULL),
            "proposer must be a Leader for LeaderFollower, got Proposals(",
        ),
        (
            lambda: CertifiedOGD.of(Descent(radius=1.0), HULL),
            "knowledge must be a Curvature or CurvatureRows or EstimatedCurvature for CertifiedOGD",
        ),
    ],
)
def test_a_rule_rejects_parts_that_it_is_not_made_of(make, sentence):
    with pytest.raises(InvalidValueError) as error:
        make()
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1, sigmo=1.0),
            "CertifiedPFS has no parameter 'sigmo'; did you mean 'sigma'?",
        ),
        (
            lambda: LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=-1.0),
            "drift must be a finite number >= 0, got -1.0",
        ),
        (
            lambda: SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1, slope_error=math.inf),
            "slope_error must be a finite number >= 0, got inf",
        ),
        (
            lambda: LeaderFollower(G_g=1.0, domain=Ball(1.0), errors=Errors()),
            "LeaderFollower has no parameter 'errors'; ",
        ),
        (
            lambda: LeaderFollower.default(Constants(R=1.0, G_g=1.0, start_slack=1.0), ramp=0.1),
            "LeaderFollower.default has no parameter 'ramp': LeaderFollower(...) has it",
        ),
        (lambda: RegionFilter(knowledge=None), "knowledge must be an object of surefoot.knowledge"),
        (
            lambda: Certified(proposer=3, knowledge=HULL),
            "proposer must be a proposer, as Proposals(), or an algorithm, got 3",
        ),
    ],
)
def test_what_a_rule_does_not_take_is_rejected_in_a_sentence(make, sentence):
    with pytest.raises((InvalidValueError, InvalidTypeError)) as error:
        make()
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", KEEPERS)
def test_a_repr_can_be_typed_and_a_copy_plays_the_same(name):
    player = KEEPERS[name](BOX, **MODES["value"])
    words = public_names(surefoot) | NAMES
    words |= {"array": np.array}
    typed = eval(repr(player), words)
    copied = pickle.loads(pickle.dumps(player))
    assert typed == copied == player
    assert repr(typed) == repr(player)
    seen = Feedback(-UP, -0.05, UP, proposal=UP)
    for other in (typed, copied):
        mine, theirs = (p.update(p.init(np.zeros(2)), seen).x for p in (player, other))
        assert mine.tolist() == theirs.tolist()


def test_the_same_rule_for_other_errors():
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    late = player.allowing(Errors(value=0.1, drift=0.01).every(3))
    assert late.errors == Errors(value=0.1, drift=0.03)
    assert type(late) is LeaderFollower
    assert late.of(late.proposer, player.knowledge) == player


def test_what_a_round_asks_for():
    for name, one_run in (
        ("LeaderFollower", True),
        ("RegionFilter", True),
        ("SafetyFilter", False),
    ):
        needs = KEEPERS[name](BOX).needs
        assert needs.one_run == needs.numpy_only == one_run
        assert needs.cost_gradients == (0 if "Filter" in name else 1)
        assert not needs.separately


# --- parts of one's own --------------------------------------------------------------------------


class Momentum(Proposer):
    """Gradient descent with momentum: a proposer of one's own."""

    eta: float = positive(default=0.1)

    def init(self, x1):
        return np.zeros_like(x1)

    def propose(self, learner, x, feedback, region):
        if feedback.cost_gradient is None:
            return learner, Proposal(x)
        velocity = 0.9 * learner - self.eta * feedback.cost_gradient
        return velocity, Proposal(x + velocity)


class Seen(NamedTuple):
    rounds: float
    x: np.ndarray
    slack: float


class Ramp(Knowledge):
    """Knowledge that g rises by at most 1 a unit in every coordinate, all of them together."""

    allows = frozenset({"value"})
    offers = frozenset({"radius", "depth", "longest"})

    def first(self, x1):
        return Seen(0.0, x1, 0.0)

    def learn(self, memory, reading):
        return Seen(memory.rounds + 1.0, reading.x, -reading.g - reading.errors.value)

    def certify(self, memory, errors):
        return Cube(memory)

    def contradictions(self, memory, reading):
        return ("it is steeper",) if abs(reading.s).sum() > 1 else ()


class Cube(Region):
    def __init__(self, seen):
        self.x, self.half, self.round = seen.x, seen.slack, seen.rounds
        self.radius = self.depth = self.longest = self.half

    def nearest(self, w):
        return np.clip(w, self.x - self.half, self.x + self.half)

    def contains(self, w):
        return bool((abs(w - self.x) <= self.half).all())

    def certificate(self, x, cut=False):
        return f"no coordinate moved by more than {self.half:g}"


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_proposer_of_ones_own_is_kept_inside(seed):
    cube = adversarial_cube("random", horizon=60, dimension=3, seed=seed % 100)
    for knowledge in (
        LipschitzHull(G_g=1.0, domain=cube.domain),
        CertifiedLength(G_g=1.0, domain=cube.domain, rho=0.05),
    ):
        pair = Certified(proposer=Momentum(eta=0.3), knowledge=knowledge)
        state, left = pair.init(cube.start), 0
        for t in range(60):
            g, s = cube.constraint.query(state.x)
            assert g <= 0
            state, info = pair.step(state, Feedback(cube.costs.gradient(t, state.x), g, s))
            left += cube.constraint.value(info.proposal) > 0
        assert left > 0  # or it would show nothing


def test_knowledge_of_ones_own_certifies():
    # |s|_1 <= 1 of a row with equal entries: a cube is certified where a ball would be smaller.
    limit, rng = Affine([[0.5, 0.5], [-0.25, 0.75]], [0.2, 0.3]), np.random.default_rng(1)
    pair = Certified(proposer=Momentum(), knowledge=Ramp())
    state = pair.init(np.zeros(2))
    for _ in range(50):
        g, s = limit.query(state.x)
        assert g <= 1e-12
        state, info = pair.step(state, Feedback(rng.normal(size=2) - 1.0, g, s))
        assert info.region.contains(state.x)
        assert info.contradictions == ()
    assert info.certificate.startswith("no coordinate moved by more than")
    steep = Feedback(np.zeros(2), -0.1, np.array([1.0, -0.5]))
    assert pair.step(state, steep)[1].contradictions == ("it is steeper",)
    # A filter of the same knowledge, in a set that is announced.
    safe = RegionFilter(knowledge=Ramp())
    box = Box([-1.0, -1.0], [1.0, 0.05])
    state = safe.update(safe.init(np.zeros(2)), told(-0.2, proposal=np.ones(2), within=box))
    assert state.x == pytest.approx([0.2, 0.05], abs=1e-9)
    assert box.contains(state.x)


def test_any_proposer_goes_with_any_knowledge():
    cube = adversarial_cube("corners", horizon=80, dimension=2)
    for proposer in (Leader(domain=cube.domain), Descent(radius=0.8), Momentum(eta=0.05)):
        for knowledge in (
            LipschitzHull(G_g=1.0, domain=cube.domain),
            CertifiedLength(G_g=1.0, domain=cube.domain, rho=0.05),
        ):
            pair = Certified(proposer=proposer, knowledge=knowledge)
            state = pair.init(cube.start)
            for t in range(80):
                g, s = cube.constraint.query(state.x)
                assert g <= 0
                state = pair.update(state, Feedback(cube.costs.gradient(t, state.x), g, s))
            assert np.linalg.norm(state.x) > 0.1


def test_constants_name_the_errors_of_a_pair():
    constants = Constants(R=1.0, G_g=1.0, start_slack=0.5, value_error=0.01, drift=1e-3)
    for player in (
        LeaderFollower.default(constants).algorithm,
        CertifiedPFS.default(constants).algorithm,
        SafetyFilter.default(constants),
        RegionFilter.default(constants),
    ):
        assert player.errors == Errors(value=0.01, drift=1e-3)
        assert player.domain == Ball(1.0)
