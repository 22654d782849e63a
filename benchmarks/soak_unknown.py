"""Attacks on constants that nobody knows, rule U: a part of :mod:`benchmarks.soak_knowledge`.

Rounds outside are allowed here, but no more and no larger ones than the theorem's budget (Theorems
U, V and W of :mod:`surefoot.knowledge.estimate`); none may follow another. It is kept by an account
of the attack's own, which knows the constant, for the actions that are played and for every answer
to another wish as if it were. What is lost is an answer that is above the budget, one after a round
outside that is outside too, and one that is larger than was allowed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.soak_play import Rows, Tally, Waves, World, play
from surefoot import Feedback
from surefoot.core.types import Array
from surefoot.rules import CertifiedOGD, LeaderFollower, RegionFilter
from surefoot.sets import Ball

CLOSE = 1e-9
"""What logarithms may be rounded by."""


class Account(World):
    """What is spent of a budget.

    Attributes:
        theta: how many times what is proved is used.
        constant: the largest slope, or curvature.
        violations: how many rounds outside were allowed; None for any number.
        at_most: what was told that the constant is at most; None for nothing.
        largest: by how much an action may be outside at most.
        hidden: how much of every g is not told; 0 but where the attack is to succeed.
    """

    theta: float
    constant: float
    hidden: float
    violations: int | None = None
    at_most: float | None = None
    largest: float = math.inf

    @abstractmethod
    def prove(self) -> float:
        """Return what slope and value of the start prove of the constant."""

    def open(self) -> None:
        """Begin with nothing spent."""
        self.spent, self.count, self.first = 0.0, 0, self.prove()
        self.budget = math.log(self.constant / self.first)
        steps = self.budget / math.log(self.theta)
        self.has_budget = self.violations is None or self.at_most is None
        if self.violations is not None and self.at_most is not None:
            steps = self.violations * self.budget / math.log(self.at_most / self.first) + 1
        self.most = max(math.ceil(steps - CLOSE) - 1, 0)
        if self.violations is not None:
            self.most = min(self.most, self.violations)

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is told."""
        return Feedback(None, g - self.hidden, s, proposal=proposal)

    @abstractmethod
    def excess(self, memory: Any, points: Array, values: Array) -> Array:
        """Return w of answers that are outside, or less than it."""

    def judge(self, state: Any, x: Array, points: Array, values: Array) -> tuple[int, float]:
        """Return how many answers the account cannot pay for, and what is spent of it, less 1."""
        memory = state.memory
        w = self.excess(memory, points, np.maximum(values, 0.0))
        self.costs = np.where(values > 0, math.log(self.theta) + np.log1p(w), 0.0)
        refused = ~(values <= (0.0 if memory.back or self.count >= self.most else self.largest))
        if self.has_budget:
            refused |= ~(self.spent + self.costs <= self.budget + CLOSE)
        return int(refused.sum()) + self.find_errors(memory), self.share(memory.spent) - 1.0

    def share(self, spent: float) -> float:
        """Return which share of the budget is spent."""
        return spent / self.budget if self.has_budget and self.budget > CLOSE else 0.0

    def find_errors(self, memory: Any) -> int:
        """Return in how many ways the player's own account is wrong."""
        is_wrong = [memory.outside != self.count, memory.spent < self.spent - CLOSE]
        is_wrong.append(abs(memory.first - self.first) > CLOSE * self.first)
        if self.has_budget:
            is_wrong.append(memory.spent > self.budget + CLOSE)
            is_wrong.append(memory.used > self.theta * self.constant * (1 + CLOSE))
        return sum(is_wrong)

    def enter(self, i: int, x: Array, g: float) -> None:
        """Pay for an action that is outside."""
        self.spent += float(self.costs[i])
        self.count += int(g > 0)


class Kinks(Account, Rows):
    """Rows of very different lengths, and a box in the unit ball that holds the set inside.

    Args:
        rng: what draws them.
        factor: what is told of the slack at the start.
    """

    size = 1.0

    def __init__(self, rng: np.random.Generator, factor: float) -> None:
        World.__init__(self, rng)
        d = int(rng.integers(1, 5))
        rows = rng.normal(size=(4 * d, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        far = rng.uniform(0.1, 0.9, size=4 * d)
        box, half = np.vstack([np.eye(d), -np.eye(d)]), np.full(2 * d, 0.9 / math.sqrt(d))
        rows, far = np.vstack([rows, box]), np.append(far, half)
        length = rng.lognormal(0.0, rng.uniform(0.5, 2.0), size=len(rows))
        self.rows, self.offsets, self.middle = rows * length[:, None], far * length, np.zeros(d)
        self.depth = self.deepest = float(self.offsets.min())
        self.constant, self.hidden = float(length.max()), (1 - factor) * self.depth

    def prove(self) -> float:
        """Return what slope and value of the start prove of the constant."""
        slack = self.depth + self.hidden
        return max(float(np.linalg.norm(self.slope(self.middle))), slack / self.size)

    def excess(self, memory: Any, points: Array, values: Array) -> Array:
        """Return g over the deepest slack, which no certificate has more than."""
        return values / self.deepest

    def enter(self, i: int, x: Array, g: float) -> None:
        """Pay, and remember the deepest slack."""
        super().enter(i, x, g)
        self.deepest = max(self.deepest, -g)


class Cone(Kinks):
    """The limit for which the budget is tight: a cone, with the slope 0 at its tip.

    Args:
        rng: what draws it.
        factor: what is told of the slack at the start.
    """

    def __init__(self, rng: np.random.Generator, factor: float) -> None:
        self.middle, self.constant = np.zeros(int(rng.integers(1, 5))), 10 ** rng.uniform(-1, 2)
        self.depth = self.deepest = self.constant * float(10 ** rng.uniform(-3, -0.1))
        self.hidden = (1 - factor) * self.depth

    def values(self, points: Array) -> Array:
        """Return the height at points."""
        found: Array = self.constant * np.linalg.norm(points, axis=1) - self.depth
        return found

    def slope(self, x: Array) -> Array:
        """Return the slope."""
        found: Array = self.constant * x / max(float(np.linalg.norm(x)), 1e-300)
        return found


def attack_slopes(rng: np.random.Generator, factor: float) -> Tally:
    """Attack the hulls of ``LeaderFollower.unknown``."""
    make = Cone if rng.random() < 0.2 else Kinks
    world = make(rng, factor)
    world.theta = float(rng.choice([1.2, 1.5, 2.0, 4.0]))
    told: dict[str, Any] = {"theta": world.theta}
    how = int(rng.integers(4))
    if how in (1, 2):
        world.violations = told["violations"] = int(rng.integers(0, 4))
    if how in (2, 3):
        world.at_most = world.constant * float(rng.choice([1 + 1e-12, 10 ** rng.uniform(0, 2)]))
        told["largest_G_g"] = world.at_most
    if how == 3:
        world.largest = told["largest_violation"] = world.depth * 10 ** rng.uniform(-2, 0.5)
    world.open()
    known = LeaderFollower.unknown(Ball(world.size), **told).algorithm.knowledge
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class UnknownWaves(Account, Waves):
    """A bowl with waves, in a ball.

    Args:
        rng: what draws it.
        factor: what is told of the slack at the start.
    """

    def __init__(self, rng: np.random.Generator, factor: float) -> None:
        Waves.__init__(self, rng)
        self.constant, self.hidden = self.beta, (1 - factor) * self.depth
        self.feasible = self.middle

    def prove(self) -> float:
        """Return what slope and value of the start prove of the constant."""
        steep = float(np.linalg.norm(self.slope(self.middle)))
        return 2 * (self.depth + self.hidden + steep * self.size) / self.size**2

    def excess(self, memory: Any, points: Array, values: Array) -> Array:
        """Return g over what the curvature was to add on the way from the last action."""
        way = points - self.feasible
        return 2 * values / np.maximum(memory.used * np.vecdot(way, way), 1e-300)

    def enter(self, i: int, x: Array, g: float) -> None:
        """Pay, and remember an action that is feasible."""
        super().enter(i, x, g)
        if g <= 0:
            self.feasible = x


def attack_curvature(rng: np.random.Generator, factor: float) -> Tally:
    """Attack the balls of ``CertifiedOGD.unknown``; g is not convex."""
    world = UnknownWaves(rng, factor)
    world.theta = float(rng.choice([1.2, 1.5, 2.0, 4.0]))
    told: dict[str, Any] = {"theta": world.theta, "convex": False}
    how = int(rng.integers(3))
    if how in (1, 2):
        world.violations = told["violations"] = int(rng.integers(0, 4))
    if how == 2:
        world.at_most = world.constant * float(rng.choice([1 + 1e-12, 10 ** rng.uniform(0, 2)]))
        told["largest_beta"] = world.at_most
    world.open()
    known = CertifiedOGD.unknown(Ball(world.size), **told).algorithm.knowledge
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


ATTACKS: dict[str, Callable[[np.random.Generator, float], Tally]] = {
    "unknown slopes": attack_slopes,
    "unknown curvature": attack_curvature,
}
