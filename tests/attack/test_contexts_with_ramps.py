"""A ramp in contexts, attacked: the limit turns about the start as fast as it may, and people act.

The limit is g(x; c) = c0 - a + |x|_inf (A + [c1]_+ + |c2|), plus a drift, for a context of three
columns: one adds, one is worse upwards, one is bounded. At the start g is at most -a in every one.
Every g is compared in exact rationals.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.controller import Fleet, replay
from surefoot.controller.check import check
from surefoot.knowledge import Column, ContextHull, EmptyRegionError, Errors
from surefoot.rules import LeaderFollower, RegionFilter, ValuesFollower

pytestmark = pytest.mark.filterwarnings("ignore::surefoot.guarantees.PremiseWarning")

HIGHEST, LOWEST = np.array([0.0, 1.0, 1.0]), np.array([-0.3, -0.2, -1.0])
ROUNDS = 80


class Turning:
    """A limit that agrees with all that its player knows, and a loop that keeps it.

    Args:
        seed: of all that is drawn.
        path: of the journal.
    """

    def __init__(self, seed, path):
        self.rng, self.path = np.random.default_rng(seed), path
        draw = self.rng.choice
        self.d, self.slack, self.steep = int(draw([1, 2, 3])), float(draw([0.05, 0.3])), 0.2
        self.changes = np.array([draw([0.0, 0.01, 0.05]), draw([0.02, 0.1]), draw([0.02, 0.1])])
        self.error, self.drift = float(draw([0.0, 0.01])), float(draw([0.0, 1e-3]))
        self.ramp, self.kind = float(draw([0.01, 0.05, 0.3])), str(draw(["L", "V", "F"]))
        self.c, self.shift, self.way, self.trend = np.zeros(3), Fraction(0), np.ones(self.d), 1
        self.events: Counter[str] = Counter()
        self.loop = Controller(
            self.make_player(),
            np.zeros(self.d),
            context=self.c,
            journal=path,
            on_contradiction=str(draw(["retreat", "hold"])),
        )
        speed = float(self.changes.sum()) + self.drift
        self.near = self.ramp * (1 + self.slack / speed) * (1 - 1e-9)  # Theorem R's distance
        self.last = None  # the action from which the ramp counts
        self.is_excused = True  # whether an order or an own action explains what is not proved

    def make_player(self):
        columns = [
            Column(adds=1.0, changes=self.changes[0]),
            Column(G_c=1.0, worse="up", changes=self.changes[1]),
            Column(G_c=1.0, changes=self.changes[2]),
        ]
        known = {"G_g": self.steep + 2.0, "domain": Ball(1.0), "context": columns}
        known["start_bound"] = -self.slack
        if self.kind == "F":
            errors = Errors(value=self.error, drift=self.drift)
            return RegionFilter(knowledge=ContextHull(**known, errors=errors), ramp=self.ramp)
        rule = LeaderFollower if self.kind == "L" else ValuesFollower
        return rule(**known, value_error=self.error, drift=self.drift, ramp=self.ramp)

    def g(self, x):
        """Return g at an action, exactly."""
        add, up, both = (Fraction(float(part)) for part in self.c)
        far = max(abs(Fraction(float(part))) for part in x)
        steep = Fraction(self.steep) + max(up, Fraction(0)) + abs(both)
        return add - Fraction(self.slack) + far * steep + self.shift

    def move(self):
        """Return the next context: mostly harsher by as much as it may."""
        if self.rng.random() < 0.05:
            self.trend = -self.trend
        signs = np.array([1.0, 1.0, 1.0 if self.c[2] >= 0 else -1.0])
        step = self.trend * signs * self.changes * (1 - 2.0**-40)
        if self.rng.random() < 0.2:
            step *= self.rng.uniform(-1, 1, 3)
        return np.clip(self.c + step, LOWEST, HIGHEST)

    def before_round(self):
        """Open the journal again, or give an order, perhaps."""
        chance = self.rng.random()
        if chance < 0.05:
            self.loop.close()
            self.loop = Controller.open(self.path)
        elif self.loop.halted is not None and chance < 0.35:
            self.loop.resume(reason="go on")
            self.last = None
        elif chance > 0.98:
            getattr(self.loop, str(self.rng.choice(["hold", "retreat"])))("an order")
            self.last, self.is_excused = None, True

    def judge(self, x):
        """Compare an action with the limit and the ramp."""
        is_proved, value = self.loop.explain().is_proven, self.g(x)
        if is_proved and np.linalg.norm(x) <= self.near:
            self.is_excused = False
        self.events["violation"] += value > 0
        assert value <= 0 or not is_proved
        assert is_proved or self.is_excused
        if self.last is not None and self.loop.halted is None:
            assert np.linalg.norm(x - self.last) <= self.ramp * (1 + 1e-9)

    def play(self, t):
        """Play a round."""
        self.before_round()
        x = self.loop.ask()
        self.judge(x)
        after, told, chance = self.move(), {}, self.rng.random()
        if self.rng.random() < 0.1:
            self.way = np.sign(self.rng.normal(size=self.d))
        told["proposal" if self.kind == "F" else "cost_gradient"] = self.way * (
            9.0 if self.kind == "F" else -1.0
        )
        if chance < 0.05 and t > 8:
            own = x + self.rng.normal(size=self.d) * self.rng.choice([self.ramp, 0.3])
            x = told["action"] = np.clip(own, -0.57, 0.57)
            self.is_excused = True
        # Mostly too low by the whole error, and never lower.
        low = Fraction(self.error) * (1 if self.rng.random() < 0.8 else 0)
        told["constraint_value"] = float(self.g(x) - low) + 1e-15
        try:
            self.tell(chance, told, after)
        except EmptyRegionError:
            self.go_back(t, told, after)
        self.last = np.array(x)
        self.c = after
        if self.drift:
            way = Fraction(self.drift) * int(self.rng.choice([-1, 1, 1]))
            self.shift = max(min(self.shift + way, Fraction(0)), Fraction(-1, 10))

    def tell(self, chance, told, after):
        """Report a round: with its context, with a gap, or the context later and twice."""
        if 0.05 <= chance < 0.12:
            self.loop.tell(missing=True, context=after)
        elif chance < 0.2:
            self.loop.tell(**told)
            self.loop.announce(context=self.c + 0.5 * (after - self.c))
            self.loop.announce(context=after)
        else:
            self.loop.tell(**told, context=after)

    def go_back(self, t, told, after):
        """Order the return path after a round that was rejected, and report it."""
        assert self.is_excused
        self.events["refused"] += 1
        rounds = self.loop.round
        self.loop.retreat("a round was rejected")
        if rounds == t + 1:
            self.loop.ask()
            action = {"action": told["action"]} if "action" in told else {}
            self.loop.tell(missing=True, context=after, **action)
        else:
            self.loop.announce(context=after)

    def run(self):
        """Play all rounds, and have the journal checked."""
        for t in range(ROUNDS):
            self.play(t)
        self.loop.close()
        assert check(str(self.path)).is_right
        assert replay(self.path).is_same
        return self.events


def attack(seeds, folder):
    events = Counter()
    for seed in seeds:
        path = folder / f"{seed}.jsonl"
        events += Turning(seed, path).run()
        path.unlink()
    return events


def test_a_limit_that_turns_about_the_start_finds_nothing(tmp_path):
    events = attack((3, 18), tmp_path)
    assert events["violation"] > 0  # somebody's own actions lead there


@pytest.mark.slow
def test_more_limits_that_turn_about_the_start_find_nothing(tmp_path):
    events = attack(range(20, 30), tmp_path)
    assert min(events["violation"], events["refused"]) > 0


def far_beyond(loop, g):
    """Play an action of somebody's own that is 50 ramps away and infeasible; return the rest."""
    for t in range(40):
        x = loop.ask()
        own = {"action": [0.9, 0.0]} if t == 20 else {}
        told = {"constraint_value": g(own.get("action", x)), "context": 0.0}
        loop.tell(proposal=[0.0, 0.0], **told, **own)
        yield x


FILTER = RegionFilter(
    knowledge=ContextHull(
        G_g=1.0, domain=Ball(1.0), context=Column(adds=1.0, changes=0.001), start_bound=-0.4
    ),
    ramp=0.01,
)


def test_from_somebodys_own_action_the_way_back_keeps_the_ramp():
    alarms = []
    loop = Controller(FILTER, [0.0, 0.0], context=0.0, on_alarm=alarms.append)
    actions = list(far_beyond(loop, lambda x: float(x[0]) - 0.4))
    way = np.array(actions[21:])
    assert np.allclose(way[:, 0], 0.9 - 0.01 * np.arange(1, 20))
    said = [a.sentence for a in alarms if "the return path leads to the start" in a.sentence]
    assert len(said) == 1
    assert not loop.explain().is_proven


def test_a_halted_loop_goes_back_from_somebodys_own_action_in_one_call():
    # It was rejected again after the order, until it was told a second time.
    loop = Controller(FILTER, [0.0, 0.0], context=0.0)
    loop.ask()
    loop.tell(proposal=[0.0, 0.0], constraint_value=-0.4, context=0.0)
    loop.retreat("a person takes over")
    for x in (0.9, 0.89):
        loop.ask()
        loop.tell(missing=True, context=0.0, action=[x, 0.0])
    assert loop.ask()[0] == pytest.approx(0.88)


def test_a_member_of_a_fleet_keeps_its_ramp_in_contexts():
    ramps = {"north": 0.01, "south": 0.3}
    players = {
        name: FILTER.of(FILTER.proposer, FILTER.knowledge, ramp) for name, ramp in ramps.items()
    }
    fleet = Fleet(players, {name: [0.0, 0.0] for name in ramps}, context=[[0.0], [0.0]])
    before = fleet.ask()
    for t in range(60):
        c = 0.001 * min(t, 20)
        g = before[:, 0] - 0.45 + 0.001 * min(max(t - 1, 0), 20)
        assert (g <= 0).all()
        fleet.tell(proposal=np.full((2, 2), 9.0), constraint_value=g, context=[[c], [c]])
        after = fleet.ask()
        steps = np.linalg.norm(after - before, axis=1)
        assert (steps <= np.array([0.01, 0.3]) * (1 + 1e-9)).all()
        before = after
    assert before[0, 0] > 0.2
    assert before[1, 0] > 0.3
