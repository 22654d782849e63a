"""What the attacks on knowledge have in common: limits, wishes, and how rounds are counted.

A *round* is one step of the player, which builds one certified region. :data:`WISHES` wishes attack
it, each drawn anew. The first goes through the step itself; the others are taken by the region of
that step, with the line that the step ends with (``region.nearest(wish)``). Every answer is judged
as the next action, and one of them is played: every other time that with the largest g, every
fifth time that for a wish back to the middle: the rule moves its state there. So r rounds
are r * WISHES attacked actions, and both are counted.

Wishes go out along the slope, along the surface and anywhere, from a millionth of the set's size to
a thousand times of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surefoot import Feedback
from surefoot.certified import Certified
from surefoot.core.types import Array
from surefoot.knowledge import Choices, EmptyRegionError
from surefoot.problems.constraints import Affine
from surefoot.sets import Ball, Box

ROUNDS = 100
"""The rounds of one limit; then another begins."""
WISHES = 16
"""The wishes that attack a round."""
UNIT = 2.0**-53
GREEDY, BACK = -1, 0
"""Which answer is played: that with the largest g, or the first, whose wish is the middle."""


class Tally(NamedTuple):
    """What came of attacks.

    Attributes:
        rounds: steps of a player.
        actions: next actions that were judged, each for its own wish.
        outside: how many of them were outside.
        worst: the largest g, relative to the slack of the start; of rule U, what was used of its
            budget, less 1.
    """

    rounds: int = 0
    actions: int = 0
    outside: int = 0
    worst: float = -math.inf

    def plus(self, other: Tally) -> Tally:
        """Return what came of both."""
        return Tally(
            self.rounds + other.rounds,
            self.actions + other.actions,
            self.outside + other.outside,
            max(self.worst, other.worst),
        )


class Wishes:
    """The adversary's wishes, drawn for all rounds of a limit at once.

    Args:
        rng: where they come from.
        count: wishes per round; of a batch, one for each run.
        d: the dimension.
        size: of the set; of a batch, one for each run.
    """

    def __init__(self, rng: np.random.Generator, count: int, d: int, size: Any) -> None:
        shape = (ROUNDS, count)
        self.random = rng.normal(size=(*shape, d))
        kind = rng.integers(3, size=shape)  # out, along, anywhere
        self.share = np.array([1e-3, 1.0, 1.0])[kind]
        self.out = np.array([1.0, 0.1, 0.0])[kind]
        self.is_along = np.array([0.0, 1.0, 0.0])[kind]
        self.length = size * 10.0 ** rng.uniform(-6, 3, shape)
        some, others = rng.random(ROUNDS), rng.integers(1, count, size=ROUNDS)
        self.chosen = np.where(some < 0.5, GREEDY, np.where(some < 0.7, BACK, others))

    def draw(self, t: int, x: Array, s: Array) -> Array:
        """Return the wishes of a round, one per row.

        Args:
            t: the round.
            x: the action, or one for each run.
            s: the slope there.
        """
        n = s / np.maximum(np.sqrt(np.vecdot(s, s)), 1e-300)[..., None]
        random = self.random[t]
        out = self.out[t] - self.is_along[t] * np.vecdot(random, n)
        way = self.share[t][:, None] * random + out[:, None] * n
        length = self.length[t] / np.maximum(np.sqrt(np.vecdot(way, way)), 1e-300)
        wishes: Array = x + length[:, None] * way
        return wishes

    def choose(self, t: int, values: Array) -> int:
        """Return which of the answers is played."""
        chosen = int(self.chosen[t])
        return int(values.argmax()) if chosen == GREEDY else chosen


class World(ABC):
    """A limit, and what is told of it; g is fixed unless a subclass says otherwise.

    Attributes:
        middle: where g is -depth.
        depth: the slack there.
        size: every feasible point is nearer to the middle.
        error: bound on the rounding of g.
        may_end: whether a round may come in which nothing is certified; then the attack is over.
        nu: how wrong a value is told, by just as much.
        tau: the same of a slope.
        missing: in which share of the rounds nothing is told.
        box: a set that holds every action; None for none.
        is_told: whether a round was told: the first always is.

    Args:
        rng: what draws it.
    """

    middle: Array
    depth: float
    size: float
    error: float
    may_end: bool = False
    nu: float = 0.0
    tau: float = 0.0
    missing: float = 0.0
    box: Box | None = None
    is_told: bool = False

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    @property
    def reach(self) -> float:
        """The largest norm of a feasible point."""
        return float(np.linalg.norm(self.middle)) + self.size

    @abstractmethod
    def values(self, points: Array) -> Array:
        """Return g of the coming round at points, one per row."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """Return a subgradient of g."""

    def err(self, *, slopes: bool = False) -> None:
        """Let some limits be told with errors, and leave out some rounds of others.

        Args:
            slopes: whether those err, too.
        """
        rng = self.rng
        if rng.random() < 0.3:
            self.nu = self.depth * float(10 ** rng.uniform(-6, -1))
        if slopes and rng.random() < 0.1:
            self.tau = float(10 ** rng.uniform(-6, -1)) * self.depth / self.size
        if rng.random() < 0.3:
            self.missing = 0.1

    def close(self) -> None:
        """Let a box hold every action of a few limits: the search in both is slow."""
        rng, d = self.rng, len(self.middle)
        if rng.random() < 0.02:
            lower, upper = self.size * rng.uniform(0.05, 0.5, (2, d))
            self.box = Box(self.middle - lower, self.middle + upper)

    def read(self, g: float, s: Array) -> tuple[Any, Any]:
        """Return what is told of a value and a slope, or nothing; errors mostly make g smaller."""
        rng = self.rng
        if self.missing and self.is_told and rng.random() < self.missing:
            return None, None
        self.is_told = True
        if self.nu:
            g += self.nu * (1 - 1e-15) * (1.0 if rng.random() < 0.2 else -1.0)
        if self.tau:
            way = rng.normal(size=len(s))
            s = s + self.tau * (1 - 1e-15) * way / float(np.linalg.norm(way))
        return g, s

    def begin(self, player: Certified, start: Array) -> Any:
        """Return the player's first state."""
        return player.init(start)

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is told after the round of x; then comes the next."""
        return Feedback(None, *self.read(g, s), proposal=proposal)

    def judge(self, state: Any, x: Array, points: Array, values: Array) -> tuple[int, float]:
        """Return how many of the answers are outside, and the worst g relative to the slack.

        Args:
            state: the player's.
            x: the action before.
            points: the answers, one per row.
            values: g there.
        """
        lost = ~(values <= 0)
        if self.box is not None:
            beside = (points < self.box.lower) | (points > self.box.upper)
            lost |= beside.any(axis=1)
        return int(lost.sum()), float(values.max()) / self.depth

    def enter(self, i: int, x: Array, g: float) -> None:  # noqa: B027  most worlds do not care
        """Play an action.

        Args:
            i: which of the answers it was.
            x: the action.
            g: there.
        """


class Rows(World):
    """The largest of some rows, in a box turned at random; some are as long as any.

    Args:
        rng: what draws it.
        steps: where the box is as the axes are and all its rows are as long as any, its faces are
            so many steps of a grid from its middle, which is on the grid, but for less than what is
            rounded; None for a turned box.
    """

    def __init__(self, rng: np.random.Generator, steps: int | None = None) -> None:
        super().__init__(rng)
        d = int(rng.integers(1, 5))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        more = rng.normal(size=(int(rng.integers(1, 5)), d))
        length = rng.uniform(0.3, 1.0, 2 * d + len(more))
        length[rng.random(len(length)) < 0.5] = 1.0
        length[int(rng.integers(len(length)))] = 1.0
        self.depth = float(10 ** rng.uniform(-2, 0))
        self.middle = rng.normal(size=d) * float(rng.choice([0.0, 1.0, 30.0]))
        self.step = 0.0
        if steps is not None:
            turn, length[: 2 * d], self.step = np.eye(d), 1.0, self.depth / steps
            self.middle = self.step * np.round(self.middle / self.step)
            rounding = UNIT * (float(np.abs(self.middle).max()) + self.depth)
            self.depth -= float(rng.uniform(0, 2)) * rounding
        rows = np.vstack([turn, -turn, more])
        rows = rows * (length / np.linalg.norm(rows, axis=1))[:, None]
        self.size = self.depth / 0.3 * math.sqrt(d) * 1.01
        self.rows, self.offsets = rows, rows @ self.middle + self.depth
        # A norm of d entries errs by less than d + 4 units.
        self.G_g = float(np.linalg.norm(rows, axis=1).max()) * (1 + (d + 4) * 2.0**-52)
        ball = Ball(self.size, self.middle)
        self.error = float(Affine(rows, self.offsets).evaluation_error(ball))

    def values(self, points: Array) -> Array:
        """Return the largest row at points."""
        found: Array = (points @ self.rows.T - self.offsets).max(axis=1)
        return found

    def slope(self, x: Array) -> Array:
        """Return the largest row."""
        row: Array = self.rows[(self.rows @ x - self.offsets).argmax()]
        return row


class GridRows(Rows):
    """Rows, and a grid that the actions must be on, to the last bit.

    Attributes:
        grid: the grid.
    """

    grid: Choices

    def judge(self, state: Any, x: Array, points: Array, values: Array) -> tuple[int, float]:
        """Return how many answers are outside, or beside the grid."""
        lost, worst = super().judge(state, x, points, values)
        beside = (self.grid.project(points) != points).any(axis=1)
        return lost + int(beside.sum()), worst


class DriftingRows(Rows):
    """Rows that come in and go out as fast as they may.

    Attributes:
        v: the drift per round.
        always: which share of the depth is slack at the middle in every round.

    Args:
        rng: what draws them.
        drifts: whether they do.
    """

    def __init__(self, rng: np.random.Generator, drifts: bool = True) -> None:
        super().__init__(rng)
        self.shift, self.way = 0.0, 1
        self.v = self.depth * 10 ** rng.uniform(-2, -0.7) if drifts else 0.0
        self.always = float(rng.uniform(0.05, 0.5))

    def bound_start(self) -> float | None:
        """Return a bound on g at the start in all rounds, or let it be measured again."""
        if self.rng.random() < 0.5:
            return -0.999 * self.always * self.depth
        self.missing = 0.0
        self.may_end = True  # nothing is known of later rounds, and nothing may be left to certify
        # What is left at the start must be more than a drift and what a reading hides of it.
        self.always = max(self.always, 1.05 * (self.v + 4 * self.nu) / self.depth)
        return None

    def values(self, points: Array) -> Array:
        """Return the largest row at points, as it is in the coming round."""
        found: Array = super().values(points) + self.shift
        return found

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is reported, and drift."""
        feedback = super().see(x, g, s, proposal)
        if self.rng.random() < 0.05:
            self.way = -self.way
        most = (1 - self.always) * self.depth
        self.shift = min(max(self.shift + self.way * self.v * (1 - 1e-15), 0.0), most)
        return feedback


class Waves(World):
    """A bowl with waves: not convex, and its curvature is at most beta.

    Args:
        rng: what draws it.
        deeper: how much larger than its depth the slack at 0 may become.
    """

    def __init__(self, rng: np.random.Generator, deeper: float = 1.0) -> None:
        super().__init__(rng)
        d = int(rng.integers(1, 5))
        way = rng.normal(size=d)
        self.way = way / float(np.linalg.norm(way)) * 10 ** rng.uniform(0, 1)
        self.bend, self.wave = (10 ** rng.uniform(-1, 0.5, 2)).tolist()
        self.phase = float(rng.uniform(0, 2 * math.pi))
        self.middle, self.depth = np.zeros(d), float(10 ** rng.uniform(-2, 0))
        self.beta = (self.bend + self.wave) * (1 + 1e-9)
        self.high = self.wave / float(self.way @ self.way)
        # Beyond this g is above 0.
        self.size = 1.01 * math.sqrt(2 * (deeper * self.depth + 2 * self.high) / self.bend)
        angle = float(np.linalg.norm(self.way)) * self.size + 7.0
        sizes = self.bend * self.size**2 + self.high * (angle + 2) + 4 * deeper * self.depth
        self.error = 8 * (d + 4) * UNIT * sizes

    def values(self, points: Array) -> Array:
        """Return g at points."""
        waves = np.sin(points @ self.way + self.phase) - math.sin(self.phase)
        bent = 0.5 * self.bend * np.vecdot(points, points)
        found: Array = bent + self.high * waves - self.depth
        return found

    def slope(self, x: Array) -> Array:
        """Return the gradient."""
        wave = self.high * math.cos(float(x @ self.way) + self.phase)
        found: Array = self.bend * x + wave * self.way
        return found


def play(rng: np.random.Generator, player: Certified, world: World, start: Array) -> Tally:
    """Return what came of one limit; the attack ends with a round that is outside.

    A round for which there must be an action, and nothing is certified, counts as one.
    """
    wishes = Wishes(rng, WISHES, len(start), world.size)
    state, x = world.begin(player, start), start
    tally, g = Tally(), float(world.values(start[None])[0])
    for t in range(ROUNDS):
        s = world.slope(x)
        asked = wishes.draw(t, x, s)
        if wishes.chosen[t] == BACK:
            asked[0] = world.middle
        try:
            state, info = player.step(state, world.see(x, g, s, asked[0]))
            points = np.array([state.x, *(info.region.nearest(proposal) for proposal in asked[1:])])
        except EmptyRegionError:
            return tally if world.may_end else tally.plus(Tally(outside=1))
        values = world.values(points)
        lost, worst = world.judge(state, x, points, values)
        tally = tally.plus(Tally(1, WISHES, lost, worst))
        if lost:
            break
        i = wishes.choose(t, values)
        x, g = points[i], float(values[i])
        world.enter(i, x, g)
        state = player.move_to(state, x)
    return tally
