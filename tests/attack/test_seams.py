"""Where proved parts meet: wrappers whose action somebody replaces, rounds that are counted twice.

Each of these was found by reading two parts together, with all constants true but where a test
says otherwise. The limit is g(x) = x[0] - 1/2, and every g is compared in exact rationals.
"""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, CertifiedOGD, Controller, LeaderFollower
from surefoot.controller import Fleet
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import needs_of
from surefoot.knowledge import Column, Curvature, LipschitzHull
from surefoot.rules import Averaged, CostProbing, Delayed, RegionFilter
from surefoot.sets import Box

SLOPE = [1.0, 0.0]
BEYOND = 9.0


def g_at(x):
    return Fraction(float(x[0])) - Fraction(1, 2)


def play(player, *, orders=None, own=None, rounds=30):
    """Return the largest exact g of the actions that are called proved.

    Args:
        player: what plays.
        orders: what is done with the controller before a round, by round.
        own: actions that somebody else plays, by round.
        rounds: how many.
    """
    orders, own, needs = orders or {}, own or {}, needs_of(player)
    controller, proved = Controller(player, [0.0, 0.0], on_contradiction="record"), []
    for t in range(1, rounds):
        if t in orders:
            orders[t](controller)
        x = controller.ask()
        if controller.explain().is_proven:
            proved.append(g_at(x))
        told = {} if t not in own else {"action": own[t]}
        told |= (
            {"proposal": [BEYOND, 0.0]} if needs.proposals else {"cost_gradient": [-BEYOND, 0.0]}
        )
        g = g_at(own.get(t, x))
        controller.tell(constraint_value=float(g), constraint_subgradient=SLOPE, **told)
    assert proved
    return float(max(proved))


RETREAT_AND_RESUME = {
    8: lambda controller: controller.retreat("an order"),
    11: lambda controller: controller.resume(),
}
BASES = {
    "filter": RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0)),
    "descent": CertifiedOGD(knowledge=Curvature(beta=1.0, reach=2.0), radius=1.0),
    "rows": LeaderFollower(G_g=[1.0], domain=Ball(2.0)),
}
AROUND = {
    "bare": lambda base: base,
    "ahead": lambda base: Delayed(base=base, delay=1, copies=False),
    "in turn": lambda base: Delayed(base=base, delay=1, copies=True),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("base", BASES)
def test_what_is_read_after_a_retreat_is_not_filed_under_the_action_before_it(base, around):
    assert play(AROUND[around](BASES[base]), orders=RETREAT_AND_RESUME) <= 0


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("base", BASES)
def test_an_action_of_ones_own_in_a_halted_loop_is_where_it_was_read(base, around):
    orders = {
        8: lambda controller: controller.hold("an order"),
        12: lambda controller: controller.resume(),
    }
    player = AROUND[around](BASES[base])
    assert play(player, orders=orders, own={10: [-0.5, 0.0], 11: [-0.5, 0.0]}) <= 0


def test_an_action_of_ones_own_reaches_a_wrapper_inside_of_another():
    noisy = Averaged(base=Delayed(base=BASES["filter"], delay=1), sigma=1e-3)
    assert play(noisy, own={40: [-0.5, 0.0]}, rounds=60) <= 0


@pytest.mark.parametrize("copies", [True, False], ids=["in turn", "ahead"])
def test_rounds_in_pairs_refuse_a_rule_that_counts_rounds(copies):
    base = LeaderFollower(G_g=1.0, domain=Ball(4.0))
    late = Delayed(base=base, delay=3, late=True, copies=copies)
    with pytest.raises(InvalidValueError, match=r"^[^\n]+Delayed"):
        CostProbing(base=late, length=0.01)


class TestHoldInAContext:
    """G_c = 0.3 is told and 1 is true: what holds must not move by what was refuted."""

    rounds = 400
    player = LeaderFollower(
        G_g=1.0, domain=Box([-1.0], [1.0]), context=Column(G_c=0.3), start_bound=-0.3
    )

    @pytest.mark.filterwarnings("ignore:round:UserWarning")
    @pytest.mark.parametrize("policy", ["hold", "retreat"])
    def test_at_most_the_first_round_is_outside(self, policy):
        contexts = [[0.4 * np.sin(t / 15)] for t in range(self.rounds + 1)]
        controller = Controller(
            self.player, [-0.9], context=contexts[0], on_contradiction=policy, on_alarm=print
        )
        outside, proved = 0, []
        for t in range(self.rounds):
            x = float(controller.ask()[0])
            g = x + contexts[t][0] - 0.2
            outside += g > 0  # 174 of 400
            if controller.halted and controller.explain().is_proven:
                proved.append(g)
            controller.tell(
                cost_gradient=[-1.0],
                constraint_value=g,
                constraint_subgradient=[1.0],
                context=contexts[t + 1],
            )
        assert controller.halted
        assert outside <= 1
        assert max(proved, default=-1.0) <= 0

    def test_nor_are_the_members_of_a_fleet(self):
        phases, member = np.arange(4), np.ones((4, 1))

        def contexts(t):
            return (0.4 * np.sin(t / 15 + phases))[:, None]

        fleet = Fleet(self.player, -0.9 * member, context=contexts(0), on_alarm=print)
        outside = np.zeros(4, dtype=int)
        for t in range(self.rounds):
            g = fleet.ask()[:, 0] + contexts(t)[:, 0] - 0.2
            outside += g > 0  # 174, 15, 147, 213
            fleet.tell(
                cost_gradient=-member,
                constraint_value=g,
                constraint_subgradient=member,
                context=contexts(t + 1),
            )
        assert outside.tolist() == [1, 1, 0, 0]
