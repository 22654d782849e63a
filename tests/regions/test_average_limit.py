"""A limit on the average: the running sum of g is at most 0 in every round."""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller, Feedback
from surefoot.algorithms import RegionFilter
from surefoot.regions import AverageLimit, Errors, LipschitzHull
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
        wish = rng.normal(size=d) * 10.0 ** rng.uniform(least, 1)
        reading = g + errors.value * rng.choice([-1.0, 1.0])
        if t and rng.random() < 0.05:
            seen = Feedback(None, None, None, proposal=wish)
        else:
            seen = Feedback(None, reading, s, proposal=wish)
        state = player.update(state, seen)
    return worst, top


@pytest.mark.slow
@pytest.mark.parametrize("errors", [Errors(), Errors(value=0.03)])
def test_the_sum_is_at_most_0_and_no_g_above_the_most(errors):
    known = AverageLimit(G_g=1.0, reach=4.0, errors=errors, most=0.4)
    worst, top = attack(np.random.default_rng(1), known, 1_000)
    assert worst <= 0
    assert 0.2 < top <= 0.4


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
            wish = np.full(2, 2.0 if price[0] >= least else 0.0)
            state = player.update(state, Feedback(None, g, s, proposal=wish))
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
        wish = [1.2, 0.0] if t % 3 else [0.1, 0.0]
        controller.tell(constraint_value=g, constraint_subgradient=s, proposal=wish)
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
        ({"convex": False}, "AverageLimit rests on the convexity of g"),
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
