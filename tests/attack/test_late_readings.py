"""Readings that come late to a controller under drift: whose action they are of, and how old.

g(x) = x - 1/2 in round 1 and rises by v in every round, as was told; what is told in round t was
seen in round t - delay, at the action of that round, as ``Delayed(late=True)`` has it. Where the
rule takes no step of its own (a round without a reading, hold, retreat) the reading still belongs
to that action and that round: else the slack of an action deep inside would be ascribed to one at
the limit, which would become the anchor and be held, or gone back to, as proved.
"""

import functools
from fractions import Fraction

import pytest

from surefoot import Ball, Controller
from surefoot.knowledge import EmptyRegionError
from surefoot.rules import Delayed, LeaderFollower


def play(order, *, delay, v, told, copies, rounds=60):
    """Tell so many rounds, then give the order.

    Returns the largest exact g of an action called proved, and what is said to be contradicted.
    """
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=v)
    late = Delayed(base=base, delay=delay, copies=copies, late=True)
    controller = Controller(late, [0.0], on_contradiction="record")
    readings, proved = [], []
    for t in range(1, rounds):
        if t == told + 1 and order == "hold":
            controller.hold("an order")
        elif t == told + 1 and order == "retreat":
            controller.retreat("an order", speed=1e-3)
        g = Fraction(float(controller.ask()[0])) - Fraction(0.5) + (t - 1) * Fraction(v)
        readings.append(float(g))
        if controller.explain().is_proven:
            proved.append(g)
        try:
            if t <= delay or (order == "miss" and t > told):
                controller.tell(missing=True)
            else:
                controller.tell(
                    cost_gradient=[-1.0],
                    constraint_value=readings[t - 1 - delay],
                    constraint_subgradient=[1.0],
                )
        except EmptyRegionError:  # said in time, which is no violation
            break
    assert len(proved) > told - delay - 2
    # That nothing is certified any more, under drift, is no contradiction.
    broken = [b for b in controller.explain().broken if b.constant != "drift"]
    wrong = [b.sentence for b in broken if b.affects != "regret"]
    return float(max(proved)), wrong


CASES = {
    "miss": functools.partial(play, delay=5, v=0.02, told=7),  # +0.46
    "hold": functools.partial(play, delay=3, v=0.02, told=7),  # +0.41
    "retreat": functools.partial(play, delay=5, v=0.02, told=12),  # +0.32
}


@pytest.mark.parametrize("copies", [True, False], ids=["in turn", "ahead"])
@pytest.mark.parametrize("order", CASES)
def test_no_action_is_proved_by_a_reading_of_another(order, copies):
    g, wrong = CASES[order](order, copies=copies)
    assert g <= 0
    assert wrong == []  # all that was told is true


@pytest.mark.parametrize("copies", [True, False], ids=["in turn", "ahead"])
def test_without_such_rounds_the_same_readings_lead_nowhere_outside(copies):
    g, wrong = play("none", delay=3, v=0.01, told=13, copies=copies)
    assert g <= 0
    assert wrong == []
