"""Change-over: its numbers, its play, forced change-overs, orders, files, and what is rejected."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from benchmarks.regret import make_problem

import surefoot as sf
from surefoot import Ball, Constants, Controller, Feedback, LeaderFollower, play, problems
from surefoot.certified import Certified
from surefoot.controller.check import check
from surefoot.controller.restored import check_loop
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Choices, Errors, LipschitzHull
from surefoot.problems.constraints import LinfNorm
from surefoot.proposers.base import Proposal, Proposer
from surefoot.rules import Averaged, CertifiedPFS, ChangeOver, ChangeOverTheorem, Delayed
from surefoot.rules.wrappers.change_over import ChangeOverState

TOY = problems.paper_toy(100, trials=1).constants
BARE = replace(TOY, sigma=None, epsilon=None, origins={})
G = float(TOY.G_f)
SQUARE = LinfNorm(0.5, 2)
FIRST = LeaderFollower(G_g=1.0, domain=Ball(1.0))


# --- the numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constants", "horizon", "T", "wanted"),
    [
        (BARE, 10_000, 10_000, 10_185),
        (BARE, 20_000, 20_000, 14_351),
        (TOY, 10_000, 10_000, 6_027),
        (TOY, 20_000, 20_000, 8_475),
        (BARE, None, 10_000, 30_889),
        (BARE, None, 20_000, 43_774),
    ],
)
def test_the_bound_in_advance_on_the_toy(constants, horizon, T, wanted):
    guarantee = LeaderFollower.promised(constants, horizon).guarantee
    assert float(guarantee.regret_bound(T)) == pytest.approx(wanted, abs=1.0)
    assert guarantee.describe_worth(T) == ""


def test_the_bound_is_a_budget_and_the_bound_of_the_second_rule():
    T = 10_000
    S = float(CertifiedPFS.bounded(BARE, T).guarantee.regret_bound(T))
    bound = float(ChangeOverTheorem(BARE, T).regret_bound(T))
    assert bound == pytest.approx(1.25 * S + 8 * G, rel=1e-12)


def test_without_a_horizon_the_bounds_of_all_blocks_that_have_begun_are_added():
    def block(k):
        S = float(CertifiedPFS.bounded(BARE, 2**k).guarantee.regret_bound(2**k))
        return min(S, 2 * G * 2**k)

    for T, many in ((1_023, 10), (1_024, 11), (1_500, 11)):
        wanted = 1.25 * sum(map(block, range(many))) + 8 * G
        assert float(ChangeOverTheorem(BARE).regret_bound(T)) == pytest.approx(wanted, rel=1e-12)


def test_after_the_horizon_the_second_rule_goes_on_with_its_step_and_loses_more():
    T, t = 10_000, 30_000
    step = CertifiedPFS.bounded(BARE, T).guarantee
    wanted = 1.25 * float(step.regret_bound(t)) + 8 * G
    assert wanted < 2 * G * t
    assert float(ChangeOverTheorem(BARE, T).regret_bound(t)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("horizon", [10_000, None])
def test_of_infinitely_many_rounds_the_bound_is_infinite_and_of_no_number_none(horizon):
    theorem = ChangeOverTheorem(BARE, horizon)
    found = theorem.regret_bound([10_000, 1e300, math.inf, math.nan])
    assert found[0] < found[1] < found[2] == math.inf
    assert math.isnan(found[3])


@pytest.mark.parametrize("make", [LeaderFollower.promised, CertifiedPFS.bounded, ChangeOverTheorem])
def test_a_horizon_that_no_float_can_be_is_rejected_in_a_sentence(make):
    with pytest.raises(InvalidValueError, match=r"^horizon must be at most 2\^1000, .*, got 10000"):
        make(BARE, 10**400)
    made = make(BARE, 2**1000)
    theorem = made.guarantee if hasattr(made, "guarantee") else made
    assert 0 < float(theorem.regret_bound(2.0**1000)) < math.inf


def test_three_parts_each_with_its_theorem():
    parts = LeaderFollower.promised(BARE, 10_000).guarantee.promises.theorems()
    assert parts == {
        "feasibility": "Theorem E and D",
        "observed": "Theorem F and D",
        "in advance": "Change-over",
    }


def test_where_the_bound_is_trivial_nothing_is_promised_and_nothing_changes_over():
    T = 20
    player, guarantee = LeaderFollower.promised(BARE, T)
    assert guarantee.promises.in_advance is None
    assert guarantee.describe_worth(T) == "trivial up to about T = 21"
    assert ChangeOverTheorem(BARE, 20).promises.in_advance is None
    assert ChangeOverTheorem(BARE, 21).promises.in_advance is not None
    assert player.init(np.zeros(2)).check == math.inf
    assert float(guarantee.regret_bound(T)) == pytest.approx(2 * G * T)


# --- it plays what its first rule plays ----------------------------------------------------------


def same_play(problem, horizon):
    a = play(LeaderFollower.promised(problem.constants, horizon), problem)
    b = play(LeaderFollower.default(problem.constants), problem, engine="loop")  # as a is played
    assert np.array_equal(a.actions, b.actions)
    assert not np.any(a.violations.count)


@pytest.mark.parametrize("horizon", [1_000, None])
def test_it_plays_what_default_plays_on_the_toy(horizon):
    same_play(problems.paper_toy(1_000, trials=1), horizon)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2_000, None])
@pytest.mark.parametrize("kind", ["linear", "outside"])
@pytest.mark.parametrize("name", ["ball 2", "box 20", "polytope 5", "uneven rows 5"])
def test_it_plays_what_default_plays_on_classes_of_sets(name, kind, horizon):
    same_play(make_problem(name, kind, 9_401, 2_000), horizon)


STREAMS = {
    "greedy": lambda t, x, rng: x / np.linalg.norm(x) if x.any() else np.array([1.0, 0.0]),
    "flips": lambda t, x, rng: np.array([1.0, 0.3]) / math.hypot(1.0, 0.3) * (-1) ** t,
    "random signs": lambda t, x, rng: rng.choice([-1.0, 1.0], 2) / math.sqrt(2),
    "turning": lambda t, x, rng: np.array([math.cos(t / 50), math.sin(t / 50)]),
    "pull": lambda t, x, rng: np.array([-0.8, -0.6]),
}


class Run(NamedTuple):
    """What became of a run on the toy's square."""

    actions: np.ndarray
    regret: float
    largest: float
    blocks: list[int]
    states: list


def run(player, costs, T, length=G):
    """Play gradients of a length that a function of round and action chooses."""
    rng = np.random.default_rng(5)
    state, paid, total = player.init(np.zeros(2)), 0.0, np.zeros(2)
    actions, blocks, states, largest = [], [], [], -math.inf
    for t in range(T):
        x = state.x
        gradient = length * costs(t, x, rng)
        g, s = SQUARE.query(x)
        largest = max(largest, float(g))
        paid, total = paid + float(gradient @ x), total + gradient
        state = player.update(state, Feedback(gradient, float(g), s))
        actions.append(x)
        blocks.append(int(state.block) if isinstance(state, ChangeOverState) else 0)
        states.append(state)
    return Run(np.array(actions), paid + 0.5 * np.abs(total).sum(), largest, blocks, states)


@pytest.mark.parametrize("horizon", [1_500, None])
@pytest.mark.parametrize("costs", STREAMS)
def test_it_plays_what_default_plays_against_adversaries(costs, horizon):
    a = run(LeaderFollower.promised(BARE, horizon).algorithm, STREAMS[costs], 1_500)
    b = run(LeaderFollower.default(BARE).algorithm, STREAMS[costs], 1_500)
    assert set(a.blocks) == {0}
    assert np.array_equal(a.actions, b.actions)


# --- change-overs that are forced ----------------------------------------------------------------


class Staying(Proposer):
    """A first rule that never moves, with the observed bound D |sum of gradients|."""

    def init(self, x1):
        return Pulled(np.zeros_like(x1))

    def propose(self, learner, x, feedback, region):
        return Pulled(learner.total + feedback.cost_gradient), Proposal(x, note=())

    def observer(self, knowledge):
        return StayingRegret()


class Pulled(NamedTuple):
    total: np.ndarray


class StayingRegret(NamedTuple):
    def after(self, info):
        return self

    def bound(self, algorithm, state):
        return float(np.linalg.norm(state.learner.total))  # D = 1, and mu = 0


STAYING = Certified(proposer=Staying(), knowledge=LipschitzHull(G_g=1.0, domain=Ball(1.0)))


def away(t, x, rng):
    """Pull away from the faces that have been reached."""
    return -np.where(np.abs(x) > 0.45, -np.sign(x), np.where(x >= 0, 1, -1)) / math.sqrt(2)


@pytest.mark.slow
@pytest.mark.parametrize("costs", [STREAMS["pull"], away])
def test_a_first_rule_that_stays_is_left_in_time_and_the_bound_holds(costs):
    T = 10_000
    player = ChangeOver(base=STAYING, constants=BARE, horizon=T)
    found = run(player, costs, T)
    S = float(CertifiedPFS.bounded(BARE, T).guarantee.regret_bound(T))
    # The first round after which the bound and one more round exceed the budget.
    pulls = G * np.arange(1, T)
    wanted = 1 + int(np.argmax(pulls + 2 * G > 0.25 * S + 8 * G))
    assert found.blocks.index(1) + 1 == wanted == 146
    assert 3_000 < found.regret <= 1.25 * S + 8 * G
    assert found.largest <= 0.0
    last = found.states[-1]
    assert last.then.learner.inverse_eta == 1 / player.in_force(last)[0].proposer.eta
    assert found.regret <= player.observed_bound(last) < math.inf


def test_the_first_actions_after_the_change_over_are_those_of_the_second_rule():
    T = 2_000
    found = run(ChangeOver(base=STAYING, constants=BARE, horizon=T), STREAMS["pull"], 300)
    change = found.blocks.index(1) + 1
    alone = run(CertifiedPFS.bounded(BARE, T).algorithm, STREAMS["pull"], 300 - change)
    assert 2 <= change < 100
    assert np.array_equal(found.actions[change:], alone.actions)
    assert not found.actions[: change + 1].any()


def test_without_a_horizon_the_second_rule_begins_anew_in_blocks_that_double():
    found = run(ChangeOver(base=STAYING, constants=BARE), STREAMS["pull"], 600)
    change = found.blocks.index(1) + 1
    lengths = [found.blocks.count(k) for k in range(1, max(found.blocks))]
    assert lengths == [2**k for k in range(len(lengths))]
    assert len(lengths) >= 5
    for begin in (change + 2**k - 1 for k in range(len(lengths))):
        assert not found.actions[begin].any()
    assert found.largest <= 0.0
    assert found.regret <= float(ChangeOverTheorem(BARE).regret_bound(600))


def test_the_check_that_is_not_made_in_every_round_comes_in_time():
    T = 2_000
    player = ChangeOver(base=STAYING, constants=BARE, horizon=T)
    found = run(player, STREAMS["pull"], 200)
    most = 0.25 * float(CertifiedPFS.bounded(BARE, T).guarantee.regret_bound(T)) + 8 * G
    for t, (state, block) in enumerate(zip(found.states, found.blocks, strict=True), start=1):
        if not block:
            assert state.check > t
            bound = player.observed_bound(state)
            assert bound + (state.check - t) * 2 * G <= most + 2 * G * 1e-9 or state.check == t + 1
    assert found.states[0].check >= 4  # it changes over before round 2 at the earliest


def test_a_change_over_has_a_certificate_of_the_start():
    player = ChangeOver(base=STAYING, constants=BARE, horizon=2_000)
    state = player.init(np.zeros(2))
    while not state.block:
        g, s = SQUARE.query(state.x)
        state, info = player.step(state, Feedback(G * np.array([-0.8, -0.6]), float(g), s))
    assert not info.x.any()
    assert -0.5 <= info.certificate.bound < -0.49
    assert "the start" in str(info.certificate)


# --- another action than the start, before the second rule has read it ---------------------------

EAST = np.array([1.0, 0.0])
"""The slope of g(x) = x_1 - 1/2, which is -1/2 at the start."""


def half(x):
    """What is told at x of that g, with no gradient."""
    return Feedback(np.zeros(2), float(x[0]) - 0.5, EAST)


def begin_block(block, horizon):
    """Play a first rule that stays, until a block of the second has begun."""
    player = ChangeOver(base=STAYING, constants=BARE, horizon=horizon)
    state = player.init(np.zeros(2))
    while state.block < block:
        state = player.update(state, half(state.x)._replace(cost_gradient=np.array([-G, 0.0])))
    assert not state.then.memory.rounds
    return player, state


def own(player, state, x):
    return player.update(state, half(x)._replace(action=x))


def ordered(player, state, x):
    moved = player.move_to(state, x)
    assert np.array_equal(moved.x, x)
    return player.update(moved, half(x))


def after_rest(player, state, x):
    rested = player.rest(state, x)
    assert rested.rounds == state.rounds + 1
    return player.update(rested, half(x))


@pytest.mark.parametrize(("block", "horizon"), [(1, 2_000), (4, None)])
@pytest.mark.parametrize("play_at", [own, ordered, after_rest])
@pytest.mark.parametrize("short", [0.0, 1e-9])
def test_the_start_is_what_it_was_read_to_be_when_an_action_on_the_limit_comes_first(
    play_at, short, block, horizon
):
    player, state = begin_block(block, horizon)
    second = player.in_force(state)[0]
    after = play_at(player, state, np.array([0.5 - short, 0.0]))
    # The slack is 1/2, and rho at most half of it. At the action A = rho, as the start, which is
    # 1/2 away from it and deeper by as much, says: the half-space cuts off all of it.
    rho = second.knowledge.rho
    assert rho <= 0.25
    assert after.then.memory.slack == pytest.approx(0.5, rel=1e-12)
    assert np.array_equal(after.then.memory.anchor, state.start)
    assert after.then.memory.distance == pytest.approx(rho - short, rel=1e-9)
    assert after.x == pytest.approx([0.5 - rho, 0.0], abs=1e-7)
    assert not after.is_kept
    assert after.check == math.inf


def test_a_step_at_the_start_is_as_if_no_reading_had_been_kept():
    player, state = begin_block(1, 2_000)
    told = half(state.x)._replace(cost_gradient=np.array([-G, 1.0]))
    usual = player.update(state, told)
    named = player.update(state, told._replace(action=state.start))
    other = player.update(state._replace(slope=np.array([0.0, 0.5]), level=-0.1), told)
    for after in (named, other):
        assert np.array_equal(after.x, usual.x)
    assert usual.then.memory.rounds == named.then.memory.rounds == 1
    assert named.is_kept


def test_what_is_kept_of_the_start_is_what_was_read_there():
    slope = np.array([1.0, 0.0])
    player = LeaderFollower.promised(BARE, 2_000).algorithm
    state = player.update(player.init(np.zeros(2)), Feedback(np.ones(2), -0.5, slope))
    slope[0] = 7.0
    assert state.slope.tolist() == [1.0, 0.0]
    assert state.level == -0.5
    later = player.update(state, Feedback(np.ones(2), -0.4, np.array([0.0, 1.0])))
    assert (later.level, later.slope.tolist()) == (-0.5, [1.0, 0.0])


# --- a live loop ---------------------------------------------------------------------------------


def tell(controller, gradient=(-3.0, 1.0), **more):
    x = controller.ask()
    g, s = SQUARE.query(more.get("action", x))
    controller.tell(
        cost_gradient=np.array(gradient),
        constraint_value=float(g),
        constraint_subgradient=s,
        **more,
    )


def test_explain_says_which_rule_is_in_force_and_how_much_is_used():
    controller = Controller(LeaderFollower.promised(BARE, 2_000), np.zeros(2))
    tell(controller)
    said = str(controller.explain())
    assert "in force     LeaderFollower is in force" in said
    assert "% of the budget used" in said
    assert "regret at most 2759" not in said  # with sigma, which BARE has not
    assert ": Change-over" in said


@pytest.mark.parametrize("order", ["retreat", "own action", "hold", "missing"])
def test_orders_and_own_actions_end_the_promise_and_explain_says_so(order):
    controller = Controller(LeaderFollower.promised(BARE, 2_000), np.zeros(2))
    for _ in range(3):
        tell(controller)
    assert "no longer applies" not in str(controller.explain())
    if order == "own action":
        tell(controller, action=np.array([0.1, 0.1]))
    elif order == "missing":
        controller.ask()
        controller.tell(missing=True)
    else:
        getattr(controller, order)(reason="test")
        tell(controller)
        controller.resume(reason="test")
    tell(controller)
    assert "in advance   no longer applies: Change-over" in str(controller.explain())
    assert controller.explain().is_proven
    assert not controller.state.is_kept
    assert controller.state.check == math.inf


@pytest.mark.parametrize("rounds", [3, 60])
def test_a_journal_goes_on_where_it_ended_and_is_not_blamed(tmp_path, rounds):
    path = tmp_path / "run.jsonl"
    small = replace(BARE, G_f=0.05)  # too small, so that it changes over soon
    tuned = LeaderFollower.promised(small)
    controller = Controller(tuned, np.zeros(2), journal=path, on_contradiction="record")
    for _ in range(rounds):
        tell(controller)
    assert bool(controller.state.block) is (rounds == 60)
    before = controller.state
    controller.close()
    opened = Controller.open(path)
    assert opened.state.block == before.block
    assert opened.state.sums == before.sums
    tell(opened)
    opened.close()
    report = check(str(path))
    assert report.is_right
    assert report.code == 3
    assert "not checked" in report.said[1]


@pytest.mark.parametrize("is_opened", [False, True])
def test_an_action_on_the_limit_right_after_a_change_over_is_told_and_stored(tmp_path, is_opened):
    path = tmp_path / "run.jsonl"
    small = replace(BARE, G_f=0.05)  # too small, so that it changes over soon
    tuned = LeaderFollower.promised(small, 10_000)
    controller = Controller(tuned, np.zeros(2), journal=path, on_contradiction="record")
    while not controller.state.block:
        tell(controller)
    before = controller.state
    if is_opened:
        controller.close()
        controller = Controller.open(path)
        assert np.array_equal(controller.state.slope, before.slope)
        assert controller.state.level == before.level == -0.5
    tell(controller, action=np.array([0.5, 0.25]))
    assert controller.state.then.memory.slack == pytest.approx(0.5, rel=1e-12)
    assert controller.explain().is_proven
    for _ in range(20):
        tell(controller)
        assert float(SQUARE.value(controller.ask())) <= 0.0
    stored = controller.state
    controller.close()
    opened = Controller.open(path)
    assert np.array_equal(opened.state.x, stored.x)
    assert opened.state.then.memory.slack == stored.then.memory.slack
    opened.close()
    assert check(str(path)).is_right


def test_a_state_whose_start_was_not_read_before_the_change_over_is_rejected():
    _, state = begin_block(1, 2_000)
    assert state.flaw() == ""
    for level in (math.inf, 0.0, math.nan):
        assert state._replace(level=level).flaw() == (
            "a state whose start was read below 0 before the change-over"
        )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("block", 1.5, "whole numbers"),
        ("slope", [1.0], "slope"),
        ("slope", [math.nan, 0.0], "slope"),
        ("x", [0.25, 0.25], "action"),
        ("is_kept", 3.0, "is_kept"),
        ("later", None, "later"),
    ],
)
def test_a_forged_state_is_rejected(tmp_path, field, value, words):
    controller = Controller(LeaderFollower.promised(BARE, 2_000), np.zeros(2))
    tell(controller)
    (run_, loop), _ = controller._now
    check_loop(run_, loop)
    value = np.array(value) if isinstance(value, list) else value
    forged = loop._replace(state=loop.state._replace(**{field: value}))
    with pytest.raises(InvalidValueError, match=words):
        check_loop(run_, forged)


# --- what is rejected ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["value_error", "slope_error", "drift"])
def test_errors_and_drift_are_rejected_by_name(name):
    with pytest.raises(InvalidValueError, match=f"{name} must be 0 for Change-over"):
        LeaderFollower.promised(replace(BARE, **{name: 0.01}), 100)


def hull(**more):
    return LipschitzHull(**{"G_g": 1.0, "domain": Ball(1.0)} | more)


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (LeaderFollower(G_g=1.0, domain=Ball(1.0), ramp=0.1), "a base without a ramp"),
        (LeaderFollower(G_g=1.0, domain=Ball(1.0), value_error=0.1), "value_error must be 0"),
        (LeaderFollower(G_g=1.0, domain=Ball(1.0), slope_error=0.1), "slope_error must be 0"),
        (LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=0.01), "drift must be 0"),
        (
            LeaderFollower(G_g=1.0, domain=Ball(1.0), leader=sf.OGD(eta=0.1, domain=Ball(9.0))),
            "an observed bound",
        ),
        (LeaderFollower(G_g=2.0, domain=Ball(1.0)), "constants.G_g must be that of the base, 2"),
        (
            Certified(proposer=Staying(), knowledge=hull(domain=Choices(step=0.125), reach=1.0)),
            "convex set",
        ),
        (Certified(proposer=Staying(), knowledge=hull(domain=None, reach=1.0)), "convex set"),
        (
            LeaderFollower(
                G_g=1.0,
                domain=Ball(1.0),
                context=sf.knowledge.Column(adds=1.0),
                start_bound=-0.5,
            ),
            "without contexts",
        ),
        (LeaderFollower.unknown(Ball(1.0)).algorithm, "a base whose G_g is given"),
        (Delayed(base=FIRST, delay=1), "certified by G_g"),
    ],
)
def test_what_it_cannot_be_combined_with_is_rejected(base, words):
    with pytest.raises(InvalidValueError, match=words):
        ChangeOver(base=base, constants=BARE, horizon=100)


@pytest.mark.parametrize("wrapper", [Delayed, Averaged])
def test_no_wrapper_is_around_it(wrapper):
    inside = LeaderFollower.promised(BARE, 100).algorithm
    more = {"delay": 1} if wrapper is Delayed else {"sigma": 0.1}
    with pytest.raises(InvalidValueError, match="a base other than ChangeOver"):
        wrapper(base=inside, **more)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"value_error": 0.1}, "value_error"),
        ({"slope_error": 0.1}, "slope_error"),
        ({"age": 1}, "age"),
    ],
)
def test_feedback_that_errs_or_is_late_is_rejected(told, words):
    player = LeaderFollower.promised(BARE, 100).algorithm
    seen = Feedback(np.ones(2), -0.5, np.array([1.0, 0.0]), **told)
    with pytest.raises(InvalidValueError, match=words):
        player.step(player.init(np.zeros(2)), seen)


@pytest.mark.parametrize("name", ["G_f", "G_g", "start_slack"])
def test_a_constant_that_is_missing_is_named(name):
    known = replace(BARE, origins={}, **{name: None})
    with pytest.raises(InvalidValueError, match=f"needs .*{name}"):
        LeaderFollower.promised(known, 100)


def test_errors_of_evaluation_are_rounding_and_are_allowed():
    known = Constants(R=1.0, G_f=G, G_g=1.0, start_slack=0.5, evaluation_error=1e-12)
    player = LeaderFollower.promised(known, 10_000).algorithm
    assert player.errors == Errors(evaluation=1e-12)
    assert player.in_force(player.init(np.zeros(2))._replace(block=1.0))[0].errors == player.errors
