"""Actuators with a will of their own, and rounds that nobody measured."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import PFS, Ball, Controller
from surefoot.controller import PremiseError, PremiseWarning, replay
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import AverageLimit, Errors, LipschitzHull
from surefoot.rules import CertifiedPFS, Delayed, LeaderFollower, RegionFilter, SafetyFilter

from ._live import BALL, G_G, LIMITS, MOVABLE, ROWS, START, same_bits, seen_at

SAFE = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)  # g(x) = x[1] - 0.5 below


def line(x):
    return {"constraint_value": float(x[1]) - 0.5, "constraint_subgradient": np.array([0.0, 1.0])}


def filtered(player=SAFE, **options):
    """A filter that has been told its start, with slack 0.5."""
    controller = Controller(player, [0.0, 0.0], **options)
    controller.tell(proposal=[0.0, 0.0], **line(controller.ask()))
    controller.ask()
    return controller


# --- another action than the one asked for -------------------------------------------------------


def test_the_certificate_starts_from_the_action_that_was_played():
    controller = filtered()
    x = np.array([0.0, 0.3])
    controller.tell(proposal=[0.0, 9.0], action=x, **line(x))
    # Slack 0.2, rho = 0.1: 0.2 is certified, and the half-space ends at x[1] = 0.4.
    assert controller.ask().round(12).tolist() == [0.0, 0.4]
    assert controller.explain().is_proven
    (breach,) = controller.explain().broken
    assert breach.sentence == (
        "round 2: an action 0.3 away from the one asked for was played, which was certified too"
    )
    assert breach.affects == "regret"


def test_an_action_that_was_not_certified_is_said_and_gone_on_from():
    controller = filtered()
    x = np.array([0.6, 0.45])
    with pytest.warns(PremiseWarning, match="0.75 away from the one asked for .* not certified"):
        controller.tell(proposal=[0.0, 0.0], action=x, **line(x))
    assert controller.explain().is_proven


def test_an_action_outside_leads_half_the_slack_back():
    controller = filtered()
    x = np.array([0.0, 1.0])  # g = 0.5, and the start has slack 0.5
    with pytest.warns(PremiseWarning, match="where g may be 0.5: the return path begins"):
        controller.tell(proposal=[0.0, 9.0], action=x, **line(x))
    assert controller.ask().round(12).tolist() == [0.0, 0.25]  # g = -0.25
    found = controller.explain().certificate
    assert found.how == "retreated"
    assert found.share == pytest.approx(0.75)
    assert found.bound == pytest.approx(-0.25)
    assert controller.explain().is_proven


@pytest.mark.parametrize("errors", [Errors(), Errors(drift=0.001), Errors(value=0.01)], ids=repr)
def test_a_way_back_at_the_pace_of_a_ramp_goes_on_until_it_is_inside(errors, tmp_path):
    known = LipschitzHull(G_g=1.0, domain=Ball(2.0), errors=errors)
    player, path = RegionFilter(knowledge=known, ramp=0.125), tmp_path / "run.jsonl"
    played, proved = [], []
    with Controller(player, [0.0, 0.0], journal=path, on_contradiction="record") as controller:
        for t in range(12):
            x, own = controller.ask(), {}
            played.append(float(x[1]))
            proved.append(controller.explain().is_proven)
            if t == 2:
                x = np.array([0.0, 1.0])
                own = {"action": x}
            controller.tell(proposal=[0.0, 0.25], **line(x), **own)
    # From 1 back by 0.125 in every round, until g = x[1] - 0.5 is below 0 by what is not known.
    assert played[3:7] == pytest.approx([0.875, 0.75, 0.625, 0.5], abs=1e-9)
    assert not any(proved[3:7])
    assert all(proved[8:])
    assert played[7:] == pytest.approx([0.375, *[0.25] * 4], abs=1e-9)
    assert check(str(path)).is_right


def test_a_copy_whose_action_was_replaced_outside_does_not_play_it_again():
    base = RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=Ball(2.0)))
    controller = Controller(Delayed(base=base, delay=2), [0.0, 0.0], on_contradiction="record")
    outside = np.array([0.0, 1.0])
    for t in range(12):
        x, own = controller.ask(), {}
        assert (x != outside).any()
        if t == 1:  # the copy has no reading yet
            x, own = outside, {"action": outside}
        controller.tell(proposal=[0.0, 0.0], **line(x), **own)


def test_an_anchor_that_was_read_outside_is_not_called_proved_by_what_was_read_before():
    controller = filtered()
    controller.tell(proposal=[0.3, 0.3], **line([0.0, 0.0]))
    assert controller.ask().any()
    told = {"constraint_value": 0.1, "constraint_subgradient": [0.0, 1.0]}
    with pytest.warns(PremiseWarning, match="where g may be 0.1: the return path begins"):
        controller.tell(proposal=[0.0, 9.0], action=[0.0, 0.0], **told)  # its slack was 0.5
    controller.ask()
    assert not controller.explain().is_proven
    assert controller.explain().bound == pytest.approx(0.1)


def test_the_action_asked_for_is_no_deviation():
    controller, other = filtered(), filtered()
    x = controller.ask()
    controller.tell(proposal=[0.3, 0.3], action=x.tolist(), **line(x))
    other.tell(proposal=[0.3, 0.3], **line(x))
    assert same_bits(controller.ask(), other.ask())
    assert controller.explain().broken == ()


def test_the_first_action_may_be_another_start():
    controller = Controller(SAFE, [0.0, 0.0])
    controller.ask()
    x = np.array([0.0, 0.3])
    with pytest.warns(PremiseWarning):
        controller.tell(proposal=[0.0, 9.0], action=x, **line(x))
    assert controller.state.memory.anchor.tolist() == [0.0, 0.3]
    assert controller.state.memory.slack == pytest.approx(0.2)


def test_a_first_action_outside_is_refused():
    controller = Controller(SAFE, [0.0, 0.0])
    controller.ask()
    x = np.array([0.0, 0.7])
    with pytest.raises(InvalidValueError, match="the first action must be strictly feasible"):
        controller.tell(proposal=[0.0, 9.0], action=x, **line(x))
    assert controller.round == 1


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ([0.0], r"action.shape must be \(2,\), that of the action asked for, got \(1,\)"),
        ([0.0, np.nan], "action must be finite, got nan at index 1"),
        ("up", "action must be"),
    ],
)
def test_an_action_that_is_none_is_one_sentence(action, sentence):
    controller = filtered()
    with pytest.raises(InvalidValueError, match=f"^{sentence}"):
        controller.tell(proposal=[0.0, 0.0], action=action, **line([0.0, 0.0]))
    assert controller.round == 2


def test_a_rule_that_cannot_start_from_another_action_says_so():
    controller = Controller(PFS(eta=0.1, rho=0.05, domain=Ball(1.0)), [0.0, 0.0])
    x = controller.ask()
    with pytest.raises(
        InvalidValueError, match="PFS certifies nothing and cannot start from another, got"
    ):
        controller.tell(cost_gradient=[1.0, 0.0], action=[0.1, 0.0], **line(x))
    assert controller.round == 1


def wander(player, rng, path=None, rounds=60):
    """A loop whose actuator strays, by little and by much; the largest g that was asked for."""
    worst, own = -np.inf, 0
    with warnings.catch_warnings(), Controller(player, START, journal=path) as controller:
        warnings.simplefilter("ignore", PremiseWarning)
        for t in range(1, rounds + 1):
            x = controller.ask()
            worst = max(worst, (ROWS @ x - LIMITS).max())
            chance = rng.uniform()
            if chance < 0.1:
                controller.tell(missing=True)
            elif chance < 0.5 and t > 1:
                # Nowhere outside of the ball that is told to hold the feasible set.
                x = BALL.project(x + rng.normal(size=2) * rng.choice([1e-9, 0.02, 0.3]))
                own += 1
                controller.tell(action=x, **seen_at(player, t, x))
            else:
                controller.tell(**seen_at(player, t, x))
    assert own > rounds / 6
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVABLE)
def test_whatever_the_actuator_does_every_action_asked_for_is_feasible(name, tmp_path):
    rng = np.random.default_rng(len(name))
    assert wander(MOVABLE[name], rng, tmp_path / "run.jsonl") <= 0
    assert replay(tmp_path / "run.jsonl").is_same


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVABLE)
def test_whatever_many_actuators_do_every_action_asked_for_is_feasible(name):
    rng = np.random.default_rng(100 + len(name))
    for _ in range(3):
        assert wander(MOVABLE[name], rng, rounds=200) <= 0


def test_the_regret_bound_ends_with_the_first_action_of_ones_own():
    player = MOVABLE["certified"]
    controller = Controller(player, START, on_contradiction="record")
    controller.tell(**seen_at(player, 1, controller.ask()))
    assert controller.explain().regret_bound is not None
    x = controller.ask() + 1e-3
    controller.tell(action=x, **seen_at(player, 2, x))
    controller.tell(**seen_at(player, 3, controller.ask()))
    assert controller.explain().regret_bound is None


# --- no measurement ------------------------------------------------------------------------------


def test_without_a_measurement_a_fixed_g_is_held_for_ever():
    controller = filtered()
    x = np.array([0.0, 0.3])
    controller.tell(proposal=[0.0, 0.35], action=x, **line(x))
    held = controller.ask()
    for _ in range(50):
        controller.tell(missing=True)
        assert same_bits(controller.ask(), held)
    reason = controller.explain()
    assert reason.is_proven
    assert "no measurement: the action stays" in str(reason)
    assert (controller.round, reason.slack) == (53, None)


def test_a_policy_for_missing_rounds_is_followed():
    strict = filtered(on_missing="raise")
    with pytest.raises(PremiseError, match=r"^round 2: nothing was measured, and on_missing is"):
        strict.tell(missing=True)
    assert strict.round == 2
    back = filtered(on_missing="retreat")
    back.tell(proposal=[0.0, 0.3], **line([0.0, 0.0]))
    assert back.ask().tolist() == [0.0, 0.3]
    back.tell(missing=True)
    assert back.ask().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"missing": True, "proposal": [0.0, 0.0]}, "missing must come without a measurement, got"),
        ({"missing": 1}, "missing must be True or False, got 1"),
    ],
)
def test_a_missing_round_that_is_measured_is_refused(told, sentence):
    controller = filtered()
    with pytest.raises(InvalidValueError, match=f"^{sentence}"):
        controller.tell(**told)
    assert controller.round == 2


def test_under_drift_the_way_back_begins_when_the_bound_is_used_up():
    v = 0.1
    known = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=v))
    controller = Controller(RegionFilter(knowledge=known), [0.0, 0.0])
    controller.tell(proposal=[0.0, 0.19], **line(controller.ask()))
    x = controller.ask()  # slack 0.5, less 0.1 of drift: the bound is -0.21 in round 2
    assert controller.explain().bound == pytest.approx(-0.21)
    for t in (3, 4):
        controller.tell(missing=True)
        assert same_bits(controller.ask(), x)
        assert controller.explain().bound == pytest.approx(-0.21 + (t - 2) * v)
    controller.tell(missing=True)  # 0.09 would be the bound, and the start has 0.1 left of 0.5
    assert controller.explain().certificate.share == pytest.approx(0.09 / 0.19, abs=1e-5)
    assert controller.ask()[1] == pytest.approx(0.1, abs=1e-5)
    assert controller.explain().is_proven
    for _ in range(2):
        controller.tell(missing=True)
        controller.ask()
    assert controller.ask().tolist() == [0.0, 0.0]
    assert not controller.explain().is_proven  # the slack of 0.5 has been used up


def blind(player, true_drift, rng, rounds=60):
    """Rounds outside while a loop is blind at times and g rises as fast as it can."""
    outside = 0
    controller = Controller(player, START, on_contradiction="record")
    for t in range(1, rounds + 1):
        x = controller.ask()
        risen = true_drift * (t - 1)
        g = (ROWS @ x - LIMITS).max() + risen
        if (
            controller._now[0].loop.anchor is not None
            and controller._now[0].loop.anchor.level(t, 1e-3) >= 0
        ):
            break
        outside += g > 0
        if t > 2 and rng.uniform() < 0.7:
            controller.tell(missing=True)
            continue
        told = seen_at(player, t, x)
        told["constraint_value"] = g
        controller.tell(**told)
    return outside


DRIFTING = {
    "hull filter": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, reach=1.5, errors=Errors(drift=1e-3))
    ),
    "safety filter": SafetyFilter(G_g=G_G, domain=Ball(1.5), rho=0.02, drift=1e-3),
    "certified": CertifiedPFS(G_g=G_G, domain=Ball(1.5), rho=0.02, drift=1e-3),
    "leader and follower": LeaderFollower(G_g=G_G, domain=Ball(1.5), drift=1e-3),
}


@pytest.mark.parametrize("name", DRIFTING)
def test_a_blind_loop_under_the_drift_it_was_told_stays_inside(name):
    for seed in range(4):
        assert blind(DRIFTING[name], 1e-3, np.random.default_rng(seed)) == 0


def test_a_blind_loop_under_ten_times_the_drift_is_found_outside():
    found = [blind(DRIFTING["hull filter"], 1e-2, np.random.default_rng(s)) for s in range(4)]
    assert sum(found) > 0


# --- errors of one value -------------------------------------------------------------------------


def test_the_error_of_one_value_shortens_the_next_step():
    usual = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    controller, other = Controller(usual, [0.0, 0.0]), Controller(usual, [0.0, 0.0])
    for one in (controller, other):
        one.ask()
    controller.tell(proposal=[0.0, 9.0], **line([0.0, 0.0]))
    other.tell(proposal=[0.0, 9.0], value_error=0.1, **line([0.0, 0.0]))
    assert controller.ask()[1] == pytest.approx(0.5)
    assert other.ask()[1] == pytest.approx(0.4)


@pytest.mark.parametrize(("value_error", "most"), [(None, -0.325), (0.125, -0.225)])
def test_the_true_g_is_bounded_with_both_errors_of_its_value(value_error, most):
    known = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=0.025, evaluation=0.05))
    controller = filtered(RegionFilter(knowledge=known))
    controller.hold("a test")
    controller.ask()
    told = {"constraint_value": -0.4, "constraint_subgradient": np.array([0.0, 1.0])}
    controller.tell(proposal=[0.0, 9.0], value_error=value_error, **told)
    assert controller.explain().certificate.bound == pytest.approx(most, rel=1e-12)


def test_the_error_of_one_value_is_in_the_journal(tmp_path):
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    with Controller(player, [0.0, 0.0], journal=tmp_path / "j.jsonl") as controller:
        controller.tell(proposal=[0.0, 9.0], value_error=0.125, **line(controller.ask()))
        assert controller.ask()[1] == pytest.approx(0.375)
    assert replay(tmp_path / "j.jsonl").is_same


@pytest.mark.parametrize("wrong", [-0.1, np.inf, np.nan, "much"])
def test_an_error_that_is_none_is_refused(wrong):
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    controller = Controller(player, [0.0, 0.0])
    controller.ask()
    with pytest.raises(InvalidValueError, match=r"^value_error must be"):
        controller.tell(proposal=[0.0, 9.0], value_error=wrong, **line([0.0, 0.0]))


def test_a_rule_that_allows_for_no_error_says_so():
    controller = Controller(PFS(eta=0.1, rho=0.05, domain=Ball(1.0)), [0.0, 0.0])
    controller.ask()
    with pytest.raises(InvalidValueError, match=r"^value_error is not used by PFS: leave it out$"):
        controller.tell(cost_gradient=[1.0, 0.0], value_error=0.1, **line([0.0, 0.0]))


def test_the_error_budget_is_in_the_sentence():
    known = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=0.05, drift=1e-4))
    controller = Controller(RegionFilter(knowledge=known), [0.0, 0.0])
    controller.tell(proposal=[0.0, 0.1], **line(controller.ask()))
    words = "allows for values off by up to 0.05, a drift of 0.0001 per round, rounding"
    assert words in str(controller.explain())
    assert controller.explain().errors.value == 0.05


@given(
    slope=st.floats(0.2, 3.0),
    slack=st.floats(0.05, 1.0),
    away=st.floats(-3.0, 3.0),
    share=st.floats(0.0, 1.0),
)
@settings(max_examples=60)
def test_every_point_of_the_way_back_is_feasible_at_any_speed(slope, slack, away, share):
    # g = slope |x| - slack, convex with G_g = slope; the actuator is anywhere.
    player = RegionFilter(knowledge=LipschitzHull(G_g=slope, reach=4.0))
    controller = Controller(player, [0.0], on_contradiction="record")
    controller.ask()

    def told(x):
        sign = np.array([slope if x[0] >= 0 else -slope])
        value = slope * abs(float(x[0])) - slack
        return {"constraint_value": value, "constraint_subgradient": sign, "proposal": x}

    controller.tell(**told(np.array([0.0])))
    controller.ask()
    x = np.array([away])
    controller.tell(action=x, **told(x))
    controller.retreat("to be sure", speed=max(share * slack / slope, 1e-3))
    for _ in range(4):
        x = controller.ask()
        assert slope * abs(float(x[0])) - slack <= 0
        controller.tell(**told(x))


def test_the_sum_of_an_average_limit_counts_what_was_played_before_the_first_reading():
    player = RegionFilter(knowledge=AverageLimit(G_g=1.0, reach=4.0, most=0.5))
    controller = Controller(player, [0.0, 0.0], on_contradiction="record")
    controller.hold("somebody else plays")
    for far in (2.0, 2.0, 0.25):  # g = 1.5, 1.5 and -0.25: the sum is 2.75
        x = np.array([0.0, far])
        controller.ask()
        controller.tell(proposal=[0.0, 0.0], action=x, **line(x))
    assert not controller.explain().is_proven
    for _ in range(11):
        x = controller.ask()
        controller.tell(proposal=[0.0, 0.0], **line(x))
    assert controller.explain().is_proven  # 2.75 - 11 * 0.25 - 0.25 <= 0
