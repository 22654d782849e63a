"""A limit on the average: the running sum of g is at most 0 in every round."""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller, Feedback
from surefoot.controller.check import check
from surefoot.knowledge import (
    AverageLimit,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.rules import Delayed, RegionFilter
from surefoot.sets import Box

HULL = {"G_g": 1.0, "domain": Ball(3.0)}


def height(x):
    """Return |x|_inf - 0.5 and its slope."""
    i = int(np.abs(x).argmax())
    s = np.zeros(len(x))
    s[i] = math.copysign(1.0, x[i])
    return float(abs(x[i])) - 0.5, s


def test_one_step_by_hand():
    # g(0) = -1/2 leaves 1/2: up to |x| = 1 the sum is at most 0; then nothing is left.
    player = RegionFilter(knowledge=AverageLimit(**HULL, most=2.0))
    state, xs = player.init(np.zeros(1)), []
    for _ in range(3):
        state, info = player.step(state, Feedback(None, *height(state.x), proposal=np.array([9.0])))
        xs.append(float(state.x[0]))
        assert info.certificate.bound == pytest.approx(info.certificate.budget, abs=1e-12)
    np.testing.assert_allclose(xs, [1.0, 0.5, 0.5], atol=1e-12)
    assert info.certificate.budget < 1e-12
    assert "the rounds so far leave" in str(info.certificate)


def attack(rng, known, rounds, d=2, least=-2):
    """Return the largest running sum, exactly, and the largest g."""
    player, errors = RegionFilter(knowledge=known), known.errors
    state, total, worst, top = player.init(np.zeros(d)), Fraction(0), -math.inf, -math.inf
    for t in range(rounds):
        g, s = height(state.x)
        total, top = total + Fraction(g), max(top, g)
        worst = max(worst, float(total))
        proposal = rng.normal(size=d) * 10.0 ** rng.uniform(least, 1)
        reading = g + errors.value * rng.choice([-1.0, 1.0])
        if t and rng.random() < 0.05:
            seen = Feedback(None, None, None, proposal=proposal)
        else:
            seen = Feedback(None, reading, s, proposal=proposal)
        state = player.update(state, seen)
    return worst, top


@pytest.mark.slow
@pytest.mark.parametrize("errors", [Errors(), Errors(value=0.03)])
def test_the_sum_is_at_most_0_and_no_g_above_the_most(errors):
    known = AverageLimit(G_g=1.0, reach=4.0, errors=errors, most=0.4)
    worst, top = attack(np.random.default_rng(1), known, 1_000)
    assert worst <= 0
    assert 0.2 < top <= 0.4


UNIT = 2.0**-54  # in the last place of 1/4 to 1/2
LOW = 15 * 2.0**-59  # what a sum of that size loses of a number


def test_what_counts_as_spent_is_never_below_the_exact_sum():
    # g is x + LOW, and every reading as low as its error allows. The sum of both loses LOW each
    # time, unless it is rounded up: after 7,500 rounds the sum of g was 4.5e-14 above 0.
    down, across, up, rest = (round(x / UNIT) * UNIT for x in (-0.2, 0.199, 0.3, 0.0))
    error = round(0.01 / UNIT) * UNIT + LOW
    known = AverageLimit(G_g=1.0, reach=0.32, errors=Errors(value=error), most=0.31)
    player, total = RegionFilter(knowledge=known), Fraction(0)
    state = player.init(np.array([down]))
    for proposal in [across, *[-up, up, rest] * 40]:
        g = Fraction(float(state.x[0])) + Fraction(LOW)
        total += g
        reading = float(g - Fraction(error))
        assert g - Fraction(reading) == Fraction(error)
        seen = Feedback(None, reading, np.ones(1), proposal=np.array([proposal]))
        state = player.update(state, seen)
        assert Fraction(state.memory.spent) >= total
        assert state.x.tolist() == [proposal]


@pytest.mark.parametrize("error", [0.0, 0.03])
def test_what_counts_as_spent_is_the_exact_sum_rounded_up(error):
    # What was certified bounds what is read in the region, and a round without a reading.
    known = AverageLimit(G_g=1.0, reach=4.0, errors=Errors(value=error), most=0.3)
    rng, near, far = np.random.default_rng(5), np.zeros(1), np.array([3.5])
    memory = known.init(near)
    for t in range(60):
        before, more, what = Fraction(memory.spent), Fraction(known.budget(memory)), t % 5
        if what == 2:
            memory = known.age(memory, np.zeros(1))
        else:
            x = far if what == 3 else near  # far away nothing was certified
            g = -0.9 - 0.2 * rng.random() if what < 2 else 0.5 if what == 3 else 0.29
            memory = known.observe(memory, Reading(x, g, None, known.errors))
            upper = Fraction(g) + Fraction(error)
            more = min(upper, more) if what == 4 else upper
        assert 0 <= Fraction(memory.spent) - before - more <= 2.0**-46
        assert memory.rounds == memory.part.rounds == t + 1


def test_what_contradicts_a_certificate_counts_as_it_was_read():
    known = AverageLimit(G_g=1.0, reach=4.0, errors=Errors(value=0.125), most=0.25)
    first = known.observe(known.init(np.zeros(1)), Reading(np.zeros(1), -1.0, None, known.errors))
    after = known.observe(first, Reading(np.zeros(1), 0.5, None, known.errors))
    assert after.spent == pytest.approx(-0.875 + 0.625)


def test_the_hull_learns_from_what_is_read_within_reach_alone():
    known = AverageLimit(G_g=1.0, reach=1.0, most=0.4)

    def read(memory, x, g):
        return known.observe(memory, Reading(np.array([x]), g, None, known.errors))

    first = read(known.init(np.zeros(1)), 0.0, -0.1)
    assert read(first, -0.5, -0.6).part.last == (np.array([-0.5]), -0.6, 2.0)
    outside = read(first, 1.5, -0.05)
    assert outside.part.last == first.part.last
    assert outside.spent == pytest.approx(-0.15)


def test_what_is_left_and_what_is_certified_with_it_by_hand():
    # -0.5 leaves 0.5, of which no single g may have more than 0.25: up to 0.75 from 0.
    known = AverageLimit(G_g=1.0, reach=4.0, most=0.25)
    memory = known.observe(known.init(np.zeros(1)), Reading(np.zeros(1), -0.5, None, known.errors))
    assert (memory.spent, known.budget(memory)) == (pytest.approx(-0.5), 0.25)
    region = known.region(memory, known.errors)
    assert region.nearest(np.array([3.0])) == pytest.approx(0.75)
    why = region.certificate(np.array([0.2]))
    assert (why.budget, why.bound) == (0.25, pytest.approx(-0.3))


def test_a_level_less_the_budget_is_never_below_the_exact_one():
    rng = np.random.default_rng(12)
    for low, most in zip(-rng.uniform(0.1, 3.0, 50), rng.uniform(0.01, 0.1, 50), strict=True):
        known = AverageLimit(G_g=1.0, reach=4.0, most=most)
        seen = Reading(np.zeros(1), low, None, known.errors)
        memory = known.observe(known.init(np.zeros(1)), seen)
        why = known.region(memory, known.errors).certificate(np.zeros(1))
        assert 0 <= Fraction(why.hull.value) - Fraction(low) + Fraction(most) <= 2.0**-49


def test_a_first_action_outside_of_the_domain_is_refused():
    player = RegionFilter(knowledge=AverageLimit(**HULL, most=1.0))
    far = np.array([4.0])
    with pytest.raises(ValueError, match=r"the first action must be in the domain, got array"):
        player.step(player.init(np.zeros(1)), Feedback(None, -1.0, None, proposal=far, action=far))


def test_without_the_budget_the_attack_finds_a_violation(monkeypatch):
    monkeypatch.setattr(AverageLimit, "budget", lambda self, memory: 0.4)
    known = AverageLimit(G_g=1.0, reach=4.0, most=0.4)
    assert attack(np.random.default_rng(1), known, 200, least=0)[0] > 0


def test_prices_that_change_pay_more_than_under_the_limit_of_every_round():
    def income(knowledge, least):
        player, paid, total = RegionFilter(knowledge=knowledge), 0.0, 0.0
        state = player.init(np.full(2, 0.1))
        for t in range(600):
            price = np.array([1.0, 0.6]) * (1.0 + math.sin(t / 20))
            g, s = height(state.x)
            paid, total = paid + price @ state.x, total + g
            assert total <= 1e-12
            proposal = np.full(2, 2.0 if price[0] >= least else 0.0)
            state = player.update(state, Feedback(None, g, s, proposal=proposal))
        return paid

    # Little where little is paid leaves more for where much is.
    told = {"G_g": 1.0, "domain": Box([0.0, 0.0], [2.0, 2.0])}
    average, hull = AverageLimit(**told, most=1.0), LipschitzHull(**told)
    assert income(average, 0.7) > 1.1 * income(hull, 0.0)


def test_a_controller_plays_it_and_takes_g_above_0_for_no_contradiction(tmp_path):
    known = AverageLimit(**HULL, most=0.5)
    path = tmp_path / "budget.jsonl"
    controller = Controller(RegionFilter(knowledge=known), start=[0.0, 0.0], journal=path)
    values = []
    for t in range(20):
        g, s = height(controller.ask())
        values.append(g)
        proposal = [1.2, 0.0] if t % 3 else [0.1, 0.0]
        controller.tell(constraint_value=g, constraint_subgradient=s, proposal=proposal)
    x = controller.ask()
    controller.close()
    assert max(values) > 0.2
    assert max(np.cumsum(values)) <= 0
    np.testing.assert_array_equal(Controller.open(path).ask(), x)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"most": 0.0}, "most must be"),
        ({"G_g": 0.0}, "G_g must be"),
        ({"errors": Errors(drift=0.1)}, "drift must be 0 for AverageLimit"),
        ({"convex": False}, "AverageLimit assumes a convex g"),
    ],
)
def test_bad_input_is_one_sentence(told, sentence):
    with pytest.raises(ValueError, match=sentence):
        AverageLimit(**{**HULL, "most": 1.0, **told})


@pytest.mark.slow
@pytest.mark.parametrize("errors", [Errors(), Errors(value=0.03)])
def test_attacked_for_8_000_rounds_in_all_the_sum_is_at_most_0(errors):
    known = AverageLimit(G_g=1.0, reach=4.0, errors=errors, most=0.4)
    assert attack(np.random.default_rng(29), known, 4_000, d=3)[0] <= 0


def test_explain_calls_an_action_proved_that_spends_what_is_left():
    controller = Controller(RegionFilter(knowledge=AverageLimit(**HULL, most=2.0)), [0.0])
    for _ in range(3):
        g, s = height(controller.ask())
        controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[9.0])
        assert controller.explain().is_proven
    # -0.5 and 0.5 were played, and 0 is next.
    assert controller.ask() == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("own", "sums", "proved"),
    [
        (1.2, [-0.5, 0.2, 0.0, 0.0, 0.0, 0.0], [True] * 6),
        # Half of the start's g in a round: until 0.2 is left to save, nothing is proved.
        (1.7, [-0.5, 0.7, 0.45, 0.2, 0.0, 0.0], [True, False, False, True, True, True]),
    ],
)
def test_what_somebody_else_spends_counts_and_is_saved_again(own, sums, proved):
    player = RegionFilter(knowledge=AverageLimit(**HULL, most=2.0))
    controller = Controller(player, [0.0], on_contradiction="record")
    found, total = [], 0.0
    for t in range(6):
        x = controller.ask()
        played = np.array([own]) if t == 1 else x
        g, s = height(played)
        total += g
        controller.tell(constraint_value=g, constraint_subgradient=s, proposal=[9.0], action=played)
        found.append((total, controller.explain().is_proven))
    np.testing.assert_allclose([one for one, _ in found], sums, atol=1e-12)
    assert [is_proven for _, is_proven in found] == proved
    assert total <= 0


def test_rounds_of_a_loop_that_is_halted_count_too():
    player = RegionFilter(knowledge=AverageLimit(**HULL, most=2.0))
    controller = Controller(player, [0.0], on_contradiction="record")
    total = 0.0
    for t, own in enumerate([None, None, 1.7, None, None, None, None, None]):
        if t == 1:
            controller.hold("a look")
        if t == 4:
            controller.resume()
        x = controller.ask()
        is_proven = controller.explain().is_proven
        g, s = height(x if own is None else np.array([own]))
        total += g
        assert not (is_proven and own is None and t and total > 0)
        told = {"constraint_value": g, "constraint_subgradient": s, "proposal": [9.0]}
        if t == 3:
            controller.tell(missing=True)
        else:
            controller.tell(**told, **({} if own is None else {"action": [own]}))
        assert controller.state.memory.spent >= total
    assert -1e-6 < total <= 0
    assert controller.explain().is_proven


def test_wrappers_that_would_not_count_every_round_are_refused():
    base = RegionFilter(knowledge=AverageLimit(**HULL, most=2.0))
    with pytest.raises(ValueError, match="Delayed must have a base without a limit on the average"):
        Delayed(base=base, delay=2, copies=False)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ({"context": 0.0}, "AverageLimit has no parameter 'context': its theorem is of one g"),
        ({"ramp": 0.1}, "AverageLimit has no parameter 'ramp': after rounds above 0"),
        ({"value_error": 0.1}, "'value_error': it is one of its errors, Errors"),
        ({"errors": Errors(drift=0.1)}, "drift must be 0 for AverageLimit, whose theorem is of"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused_with_what_to_take(parameter, words):
    with pytest.raises((TypeError, ValueError), match=words):
        AverageLimit(G_g=1.0, reach=1.0, most=1.0, **parameter)


def test_a_bound_on_the_start_is_refused():
    with pytest.raises(ValueError, match=r"start_bound must be None .* got -0.1"):
        AverageLimit(**HULL, most=2.0, start_bound=-0.1)


def test_other_rows_are_refused():
    rows = (AverageLimit(**HULL, most=2.0), LipschitzHull(G_g=1.0, reach=3.0))
    with pytest.raises(ValueError, match="rows must keep g <= 0 by known constants each, got Av"):
        Together(rows=rows)


def test_where_rounding_takes_all_that_is_left_no_context_is_named():
    known, x = AverageLimit(G_g=1.0, reach=4.0, most=1.0), np.zeros(1)
    slack = 1.5 * float(known.start_margin(1))
    memory = known.observe(known.init(x), Reading(x, -slack, None, known.errors))
    memory = known.observe(memory, Reading(np.array([0.9]), 0.9, None, known.errors))
    # The sum is above 0, so that half of the slack is to be kept, and the margin is more.
    with pytest.raises(EmptyRegionError) as found:
        known.region(memory, known.errors).nearest(np.ones(1))
    sentence = str(found.value)
    assert "context" not in sentence
    assert sentence.startswith("round 2: no next action is certified: the smallest bound on g is -")
    assert sentence.endswith(", at [0.], which is within rounding")


def play_with_credit(credit, most=0.5, rounds=6, error=0.0, wish=3.0):
    """Return the actions of g = x - 1/2, and the sums of g."""
    known = AverageLimit(G_g=1.0, reach=4.0, most=most, credit=credit, errors=Errors(value=error))
    player, rng = RegionFilter(knowledge=known), np.random.default_rng(4)
    state, actions, sums, total = player.init(np.zeros(1)), [], [], 0.0
    for _ in range(rounds):
        x = float(state.x[0])
        total += x - 0.5
        actions.append(x)
        sums.append(total)
        read = x - 0.5 + error * float(rng.uniform(-1, 1))
        state = player.update(state, Feedback(None, read, np.ones(1), proposal=np.array([wish])))
    return actions, sums


def test_a_credit_is_spent_and_then_kept_by_hand():
    actions, sums = play_with_credit(1.0)
    np.testing.assert_allclose(actions, [0, 1, 1, 1, 0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(sums, [-0.5, 0, 0.5, 1, 1, 1], atol=1e-9)
    assert max(sums) <= 1.0


@pytest.mark.parametrize("error", [0.0, 0.02])
@pytest.mark.parametrize("credit", [0.0, 0.3, 2.0, 1e-9, 1e6])
def test_the_sum_never_exceeds_the_credit(credit, error):
    actions, sums = play_with_credit(credit, rounds=400, error=error)
    assert max(sums) <= credit
    assert max(actions) <= 1.0
    if not error and credit < 100:
        assert max(sums) >= credit - 1e-6


def test_without_rounding_up_the_credit_would_be_exceeded(monkeypatch):
    # The attack: the sums of g, exactly; every round spends what is left to the last bit.
    monkeypatch.setattr("surefoot.knowledge.average_limit.round_up", lambda a: a)
    monkeypatch.setattr(AverageLimit, "_find_rest", lambda self, m: self.credit - m.spent + 1e-12)
    assert max(play_with_credit(0.3, rounds=400)[1]) > 0.3


def test_a_journal_with_a_credit_is_checked_and_an_edited_credit_is_not(tmp_path):
    path = tmp_path / "run.jsonl"
    known = AverageLimit(G_g=1.0, reach=4.0, most=0.5, credit=1.0)
    assert known.claim == "the sum of g over the rounds is <= 1 and no g is above 0.5"
    live = Controller(RegionFilter(knowledge=known), [0.0], journal=path)
    for _ in range(6):
        g = float(live.ask()[0]) - 0.5
        live.tell(constraint_value=g, constraint_subgradient=[1.0], proposal=[3.0])
    live.close()
    again = Controller.open(path)
    assert again.algorithm.knowledge == known
    again.close()
    assert check(str(path))[0]
    edited = tmp_path / "edited.jsonl"
    edited.write_text(path.read_text().replace('"credit":1.0', '"credit":0.0'))
    assert not check(str(edited))[0]


@pytest.mark.parametrize("credit", [-0.1, np.nan, np.inf, "1"])
def test_a_credit_is_a_number_of_at_least_zero(credit):
    with pytest.raises(ValueError, match="credit must be a finite number >= 0"):
        AverageLimit(G_g=1.0, reach=4.0, most=0.5, credit=credit)
