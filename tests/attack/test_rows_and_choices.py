"""Attacks on limits of both signs in contexts, and on choices under drift, in contexts, and orders.

Every action that is called proved is compared with every limit in exact rationals, and is a choice.
"""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.controller import replay
from surefoot.controller.check import check
from surefoot.core.types import needs_of
from surefoot.knowledge import (
    Choices,
    Column,
    Columns,
    ContextHull,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.proposers import Leader
from surefoot.rules import LeaderFollower, RegionFilter

pytestmark = pytest.mark.filterwarnings("ignore::surefoot.guarantees.PremiseWarning")


def exact(numbers):
    return [Fraction(float(number)) for number in numbers]


class Plant:
    """Limits g_i(x; c) = a_i x - s_i + q_i(c) + drift, with q_i at most 0 for c in [-1, 1].

    Args:
        rng: draws it.
        rows: how many limits there are.
        columns: how many numbers a context has; 0 for no contexts.
        bounded: whether the drift is at most 0, so that the start has a bound.
    """

    def __init__(self, rng, rows, columns, *, bounded):
        self.rng, self.d, self.bounded = rng, int(rng.choice([1, 2])), bounded
        self.A = rng.normal(size=(rows, self.d))
        self.slacks = exact(rng.uniform(0.2, 0.5, rows))
        self.errors = [float(rng.choice([0.0, 0.01])) for _ in range(rows)]
        self.drifts = [float(rng.choice([0.0, 1e-3])) for _ in range(rows)]
        self.shifts = [Fraction(0)] * rows
        self.columns = [[self.draw_column() for _ in range(columns)] for _ in range(rows)]
        self.context = rng.uniform(-1, 1, columns)

    def draw_column(self):
        size = float(self.rng.uniform(0.1, 1.0))
        kind = str(self.rng.choice(["adds", "up", "down", "both"]))
        if kind == "adds":  # of either sign, as of a limit from below
            return Column(adds=size * float(self.rng.choice([-1.0, 1.0])))
        return Column(G_c=size, worse=None if kind == "both" else kind)

    def lift(self, columns):
        """Return what the context adds to a limit: as much as it may."""
        total = Fraction(0)
        for column, c in zip(columns, exact(self.context), strict=True):
            if column.adds is not None:
                total += Fraction(column.adds) * c - abs(Fraction(column.adds))
            elif column.worse is None:
                total += Fraction(column.G_c) * (abs(c) - 1)
            else:
                total += Fraction(column.G_c) * ((c if column.worse == "up" else -c) - 1)
        return total

    def limits(self, x):
        """Return every limit at an action."""
        sums = [sum(a * b for a, b in zip(exact(row), exact(x), strict=True)) for row in self.A]
        each = zip(sums, self.slacks, map(self.lift, self.columns), self.shifts, strict=True)
        return [value - slack + lift + shift for value, slack, lift, shift in each]

    def read(self, x):
        """Return what is read: mostly too low by the whole error."""
        lows = [Fraction(e) * int(self.rng.random() < 0.8) for e in self.errors]
        return [float(g - low) + 1e-15 for g, low in zip(self.limits(x), lows, strict=True)]

    def go_on(self, context):
        """Enter a context, and drift."""
        self.context = context
        highest = Fraction(0) if self.bounded else Fraction(1)
        for i, drift in enumerate(self.drifts):
            way = Fraction(drift) * int(self.rng.choice([-1, 1, 1]))
            self.shifts[i] = max(min(self.shifts[i] + way, highest), Fraction(-1, 10))

    def knowledge(self, domain=None):
        """Return what is known of each limit."""
        known = []
        for i, columns in enumerate(self.columns):
            given = {"G_g": float(np.linalg.norm(self.A[i])) * (1 + 1e-12), "reach": 2.0}
            given["errors"] = Errors(value=self.errors[i], drift=self.drifts[i])
            given["domain"] = domain
            if self.bounded:
                given["start_bound"] = -float(self.slacks[i])
            kind = ContextHull if columns else LipschitzHull
            known.append(kind(**given, **({"context": Columns(columns)} if columns else {})))
        return known


class Run:
    """A live loop with a plant, and people who give orders and play actions of their own.

    Args:
        plant: the plant.
        player: what plays.
        path: of the journal.
        domain: what an action may be.
    """

    def __init__(self, plant, player, path, domain):
        self.plant, self.player, self.path, self.domain = plant, player, path, domain
        self.rng, self.way = plant.rng, np.ones(plant.d)
        self.given = {"context": plant.context} if len(plant.context) else {}
        policy = str(self.rng.choice(["retreat", "hold"]))
        self.loop = Controller(
            player, np.zeros(plant.d), journal=path, on_contradiction=policy, **self.given
        )
        self.highest, self.proved = -np.inf, 0

    def before_round(self):
        chance = self.rng.random()
        if chance < 0.05:
            self.loop.close()
            self.loop = Controller.open(self.path)
        elif self.loop.halted is not None and chance < 0.45:
            self.loop.resume(reason="go on")
        elif chance > 0.98:
            getattr(self.loop, str(self.rng.choice(["hold", "retreat"])))("an order")

    def play(self, t):
        """Play a round."""
        self.before_round()
        x = self.loop.ask()
        assert self.domain.contains(x)
        if self.loop.explain().is_proven:
            self.proved += 1
            highest = max(self.plant.limits(x))
            assert highest <= 0
            self.highest = max(self.highest, float(highest))
        if self.rng.random() < 0.15:
            self.way = np.sign(self.rng.normal(size=len(x)))
        after, told = self.draw_context(), {}
        told["proposal" if needs_of(self.player).proposals else "cost_gradient"] = self.way * (
            9.0 if needs_of(self.player).proposals else -1.0
        )
        chance = self.rng.random()
        if 0.08 < chance < 0.16 and t > 5:
            x = self.domain.project(x + 0.3 * self.rng.normal(size=len(x)))
            told["action"] = x
        values = self.plant.read(x)
        told["constraint_value"] = values if len(values) > 1 else values[0]
        context = {"context": after} if self.given else {}
        try:
            if chance < 0.08:
                self.loop.tell(missing=True, **context)
            else:
                self.loop.tell(**told, **context)
        except EmptyRegionError:
            assert not self.plant.bounded  # a start with a bound is always certified
            self.loop.retreat("a round was rejected")
            self.loop.ask()
            self.loop.tell(missing=True, **context)
        self.plant.go_on(after)

    def draw_context(self):
        """Return the next context: near the last, or anywhere."""
        c = self.plant.context
        if self.rng.random() < 0.3:
            return self.rng.uniform(-1, 1, len(c))
        return np.clip(c + 0.1 * self.rng.normal(size=len(c)), -1, 1)

    def run(self, rounds):
        """Play all rounds, and have the journal checked."""
        for t in range(rounds):
            self.play(t)
        self.loop.close()
        assert check(str(self.path)).is_right
        assert replay(self.path).is_same
        return self.highest


def attack_rows(seed, path, rounds=60):
    rng = np.random.default_rng(seed)
    plant = Plant(rng, int(rng.choice([2, 3])), int(rng.choice([1, 2])), bounded=True)
    ball = Ball(1.5)
    knowledge = Together(rows=tuple(plant.knowledge()), domain=ball)
    leads = rng.random() < 0.5
    player = LeaderFollower.of(Leader(domain=ball), knowledge) if leads else None
    return Run(plant, player or RegionFilter(knowledge=knowledge), path, ball).run(rounds)


def attack_choices(seed, path, rounds=60):
    rng = np.random.default_rng(seed)
    in_contexts = bool(rng.integers(2))
    bounded = in_contexts or bool(rng.integers(2))
    plant = Plant(rng, 1, int(in_contexts), bounded=bounded)
    plant.A = abs(plant.A)
    least = rng.uniform(0.05, 0.3, plant.d)
    step = np.where(rng.random(plant.d) < 0.5, float(rng.choice([0.05, 0.1])), 0.0)
    choices = Choices(least, least + 0.8, step=step, off=True)
    (knowledge,) = plant.knowledge(choices)
    return Run(plant, RegionFilter(knowledge=knowledge), path, choices).run(rounds)


ATTACKS = {"rows of both signs in contexts": attack_rows, "choices": attack_choices}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_proved_is_feasible(name, tmp_path):
    found = [ATTACKS[name](seed, tmp_path / f"{seed}.jsonl") for seed in range(4)]
    assert max(found) > -0.1  # and the limits were near


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_proved_is_feasible_in_more_plants(name, tmp_path):
    for seed in range(4, 30):
        path = tmp_path / f"{seed}.jsonl"
        ATTACKS[name](seed, path)
        path.unlink()
