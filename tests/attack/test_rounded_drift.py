"""Drift that is added up round by round, against exact arithmetic.

g rises by exactly v in every round, where v is just below a whole number and a half of units in
the last place of the bound. A sum that is rounded to the nearest number then rounds down every
time: after 40,000 rounds the bound was 5.4e-13 too low, and an action was called proved that was
outside by so much.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.controller.return_path import risen
from surefoot.core.types import Context
from surefoot.knowledge import (
    AnnouncedDrift,
    CertifiedLength,
    Column,
    ContextCurvature,
    Curvature,
    CurvatureRows,
    Errors,
    LipschitzHull,
    Reading,
    Together,
)
from surefoot.rules import CertifiedPFS, LeaderFollower, RegionFilter, SafetyFilter

ROUNDS = 400
UNIT = 2.0**-54  # in the last place of -1/2 to -1/4
V = (round(0.2 / ROUNDS / UNIT) + 0.499) * UNIT
BALL = Ball(1.0)
CURVED = Curvature(beta=0.0, reach=1.0, errors=Errors(drift=V))
HULL = LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=V))
PLAYERS = {
    "hull": RegionFilter(knowledge=HULL),
    "curvature": RegionFilter(knowledge=CURVED),
    "rows": RegionFilter(knowledge=CurvatureRows(beta=(0.0,), reach=1.0, errors=Errors(drift=V))),
    "together": RegionFilter(knowledge=Together(rows=(HULL,))),
    "safety filter": SafetyFilter(G_g=1.0, domain=BALL, rho=0.1, drift=V),
    "certified": CertifiedPFS(G_g=1.0, domain=BALL, rho=0.1, drift=V),
    "leader": LeaderFollower(G_g=1.0, domain=BALL, drift=V),
}


class Loop:
    """A loop that stays at 0, where g is -1/2 in round 1, unless given, and rises by v in each."""

    def __init__(self, player, start=-0.5, v=V):
        self.controller, self.start, self.v = Controller(player, [0.0]), start, v
        self.first = {"proposal" if player.needs.proposals else "cost_gradient": [0.0]}
        self.t = 0
        self.ask()

    def ask(self):
        self.t += 1
        return self.controller.ask().tolist() == [0.0]

    def g(self):
        return Fraction(self.start) + (self.t - 1) * Fraction(self.v)

    def tell(self, off=0.0):
        """Tell a reading that is so much too large, which is said."""
        g, s = float(self.g()) + off, [1.0]
        error = {"value_error": 2 * off} if off else {}
        self.controller.tell(constraint_value=g, constraint_subgradient=s, **self.first, **error)
        self.ask()

    def miss(self):
        self.controller.tell(missing=True)
        return self.ask()

    def check(self):
        """Compare what is said of g with g, exactly."""
        bound = self.controller.explain().bound
        assert self.controller.ask().tolist() == [0.0]
        assert bound is not None
        assert Fraction(bound) >= self.g(), float(Fraction(bound) - self.g())


def test_no_action_is_proved_that_drift_has_led_outside():
    v = (round(0.5 / ROUNDS / UNIT) + 0.499) * UNIT
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=v)))
    probe = Loop(player, v=v)
    probe.tell()
    bound = probe.controller.explain().bound
    for _ in range(ROUNDS - 1):
        bound += v
    # From here such sums are just below 0 after so many rounds.
    loop = Loop(player, -0.5 - UNIT * math.ceil(bound / UNIT), v)
    loop.tell()
    while loop.controller.explain().is_proven:
        assert loop.g() <= 0, float(loop.g())  # +5.6e-15 if sums are rounded down
        if not loop.miss():
            break
    assert loop.t > ROUNDS - 2


@pytest.mark.slow
@pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)
def test_a_bound_that_ages_without_readings_stays_above_g(player):
    loop = Loop(player)
    loop.tell()
    loop.check()
    for t in range(ROUNDS):
        loop.miss()
        if not t % 100:
            loop.check()
    loop.check()
    loop.tell(off=0.7)  # of no use: what was known before must be
    loop.check()


@pytest.mark.slow
@pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)
def test_a_bound_that_ages_with_useless_readings_stays_above_g(player):
    loop = Loop(player)
    loop.tell()
    for t in range(ROUNDS):
        loop.tell(off=0.7)
        if not t % 100:
            loop.check()
    loop.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["safety filter", "certified"])
def test_the_slack_of_an_anchor_that_is_visited_all_the_time_stays_below_the_true_one(name):
    loop = Loop(PLAYERS[name])
    loop.tell()
    for _ in range(ROUNDS):
        loop.tell(off=0.7)
    seen = loop.controller.state.memory
    left = Fraction(seen.slack) - (loop.t - int(seen.since)) * Fraction(V)
    assert seen.since > ROUNDS - 2  # measured anew by staying there, without a reading of use
    assert left <= -loop.g(), float(left + loop.g())


@pytest.mark.parametrize("scale", [1e-9, 8.0])
def test_what_moves_with_a_context_is_rounded_outwards_every_time(scale):
    # Small changes of a large sum round the sum, and large ones of a small sum the change.
    known, x = ContextCurvature(beta=1.0, reach=2.0, context=Column(adds=1.0)), np.zeros(1)
    rng = np.random.default_rng(1)
    memory = known.announce(known.init(x), Context(np.zeros(1)))
    memory = known.observe(memory, Reading(x, -0.5, np.ones(1), known.errors))
    for q in scale * rng.random(150):
        memory = known.age(known.announce(memory, Context(np.array([q]))), np.zeros(1))
        g, part = Fraction(-0.5) + Fraction(float(q)), memory.part
        for upper in (part.last.value, part.anchor.value):
            assert 0 <= Fraction(upper) - g <= 1e-12
        assert 0 <= g - Fraction(part.low) <= 1e-12


def test_sums_of_drift_are_rounded_up_every_time():
    rng, kind, place = np.random.default_rng(2), AnnouncedDrift(), None
    total, bound, aged = Fraction(0), -0.5, Fraction(-0.5)
    for v in rng.random(60):
        place, total = kind.read(float(v), place), total + Fraction(float(v))
        bound, aged = risen(bound, 1e-3 * float(v)), aged + Fraction(1e-3 * float(v))
        assert 0 <= Fraction(float(place[0])) - total <= 1e-12
        assert 0 <= Fraction(bound) - aged <= 1e-12


def test_the_slack_of_an_anchor_is_rounded_down_as_it_ages():
    rng, x = np.random.default_rng(3), np.zeros(1)
    for v in 1e-3 * rng.random(20):
        errors = Errors(drift=float(v))
        known = CertifiedLength(G_g=1.0, domain=BALL, rho=0.1, errors=errors)
        memory = known.observe(known.init(x), Reading(x, -0.5, np.ones(1), errors))
        for k in range(1, 20):
            left = Fraction(memory.slack) - k * Fraction(float(v))
            slack = Fraction(known.region(memory, errors).slack)
            assert 0 <= left - slack <= 1e-12
            memory = known.age(memory, np.zeros(1))
