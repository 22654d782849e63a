"""Attacks on limits that depend on a context: a part of :mod:`benchmarks.soak_knowledge`.

Limits that are as steep as they may be, in x and in the context, and an adversary that chooses
contexts as well as wishes: jumps, small changes, the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.soak_play import GridRows, Rows, Tally, Waves, play
from surefoot import Feedback
from surefoot.certified import Certified
from surefoot.core.types import Array, Context
from surefoot.knowledge import (
    AnnouncedDrift,
    Choices,
    Column,
    Columns,
    ContextCurvature,
    ContextHull,
    ContextKind,
    Errors,
)
from surefoot.rules import RegionFilter

G_C = 0.5
"""What g changes by per unit of a context."""


class ContextRows(Rows):
    """Rows in contexts. In every context that comes the middle is feasible.

    Args:
        rng: what draws them.
        kind: what is known of contexts.
        factor: what is told of contexts, in place of all of it, where they are numbers of g.
        steps: as for :class:`Rows`.
    """

    def __init__(
        self, rng: np.random.Generator, kind: ContextKind, factor: float, steps: int | None = None
    ) -> None:
        super().__init__(rng, steps)
        self.kind, self.factor = kind, factor
        self.most = 0.9 * self.depth
        self.size *= 2.8  # in the mildest of all contexts
        self.length = len(kind.columns) if isinstance(kind, Columns) else 1
        self.place, self.path = np.zeros(self.length), 0.0
        steep = rng.normal(size=(len(self.rows), self.length))
        if self.is_one_sided:
            steep = np.abs(steep)
        self.steep = G_C * (1 - 1e-15) * steep / np.abs(steep).max(axis=1, keepdims=True)
        shapes = ["cone", "rows", "dip"]
        self.shape = shapes[int(rng.integers(2 if kind.is_joint else 3))]
        if self.is_one_sided and self.shape == "dip":
            self.shape = "cone"

    def err(self, *, slopes: bool = False) -> None:
        """Let readings err, by less than half of the slack of the start in its context."""
        super().err(slopes=slopes)
        self.nu = min(self.nu, 0.4 * (self.depth - self.most))

    @property
    def is_one_sided(self) -> bool:
        """Whether a larger context is never better."""
        return isinstance(self.kind, Columns) and self.kind.columns[0].worse == "up"

    def shift(self) -> Any:
        """Return what the context adds to each row, or to all."""
        if self.kind.is_exact:
            return float(self.place[0])
        if isinstance(self.kind, AnnouncedDrift):
            return self.path
        if self.shape == "rows":
            return self.steep @ self.place
        up = np.maximum(self.place, 0.0) if self.is_one_sided else self.place
        far = G_C * (1 - 1e-15) * float(np.abs(up).sum())
        return far if self.shape == "cone" else self.most - far

    def values(self, points: Array) -> Array:
        """Return the largest row at points in the context of the coming round."""
        found: Array = (points @ self.rows.T - self.offsets + self.shift()).max(axis=1)
        return found

    def slope(self, x: Array) -> Array:
        """Return the largest row."""
        row: Array = self.rows[(self.rows @ x - self.offsets + self.shift()).argmax()]
        return row

    def begin(self, player: Certified, start: Array) -> Any:
        """Return the first state, in the first context."""
        return player.announce(player.init(start), Context(self.place))[0]

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is told, with the next context."""
        context = Context(self.next_place())
        return super().see(x, g, s, proposal)._replace(context=context)

    def next_place(self) -> Array:
        """Change the context and return what is told of it."""
        rng, most = self.rng, self.most
        if isinstance(self.kind, AnnouncedDrift):
            told = float(rng.choice([0.0, 0.3, 0.01])) * self.depth
            way = float(rng.choice([-1.0, 1.0])) * told
            self.path = min(max(self.path + way, -2.0 * most), most)
            self.place = self.kind.read(self.factor * told, self.place)
            return self.place
        is_additive = self.kind.is_exact
        size = most if is_additive else most / G_C / 2.0
        some = rng.random()
        if some < 0.35:
            near = self.place + 1e-3 * size * rng.normal(size=self.length)
            self.place = np.clip(near, -size, size)
        elif some < 0.7:
            self.place = rng.uniform(-size, size, self.length)
        return self.factor * self.place if is_additive else self.place


def attack_hull(
    make: Callable[[float], ContextKind], rng: np.random.Generator, factor: float
) -> Tally:
    """Attack the hull of what was read in other contexts."""
    kind = make(factor * G_C)
    world = ContextRows(rng, kind, factor)
    world.err()
    world.close()
    known: Any = ContextHull(
        G_g=world.G_g,
        reach=world.reach,
        context=kind,
        start_bound=-0.09 * world.depth,
        domain=world.box,
        errors=Errors(value=world.nu, evaluation=4 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class ContextGridRows(GridRows, ContextRows):
    """Rows in contexts, and a grid that the actions must be on."""


def attack_grid(rng: np.random.Generator, factor: float) -> Tally:
    """Attack a hull on a grid, in contexts that are added to g."""
    world = ContextGridRows(rng, Columns([Column(adds=1.0)]), factor, int(rng.integers(3, 100)))
    world.grid = Choices(step=world.step)
    world.err()
    known: Any = ContextHull(
        G_g=world.G_g,
        reach=world.reach + world.step,
        context=world.kind,
        start_bound=-0.09 * world.depth,
        domain=world.grid,
        errors=Errors(value=world.nu, evaluation=4 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class ContextWaves(Waves):
    """A bowl with waves, and a context that is added to it, which may leave the action outside.

    Args:
        rng: what draws it.
    """

    may_end = True

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, deeper=3.0)
        self.place = np.zeros(1)

    def values(self, points: Array) -> Array:
        """Return g at points in the context of the coming round."""
        found: Array = super().values(points) + float(self.place[0])
        return found

    def begin(self, player: Certified, start: Array) -> Any:
        """Return the first state, in the first context."""
        return player.announce(player.init(start), Context(self.place))[0]

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is told, with a context in which something is still certified."""
        steep = max(float(np.linalg.norm(s)) - 2 * self.tau, 0.0)
        most = 0.9 * steep**2 / (2 * self.beta) - g - 2 * self.nu  # of the rise
        rise = most * float(self.rng.choice([1.0, 0.5, 0.1, 0.0, -1.0]))
        self.place = np.clip(self.place + rise, -2 * self.depth, self.depth)
        return super().see(x, g, s, proposal)._replace(context=Context(self.place))


def attack_curvature(rng: np.random.Generator, factor: float) -> Tally:
    """Attack a curvature in contexts; g is not convex."""
    world = ContextWaves(rng)
    world.err(slopes=True)
    known: Any = ContextCurvature(
        beta=factor * world.beta,
        reach=world.size,
        context=Column(adds=1.0),
        convex=False,
        errors=Errors(value=world.nu, slope=world.tau, evaluation=2 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


KINDS: dict[str, Callable[[float], ContextKind]] = {
    "additive context": lambda G_c: Columns([Column(adds=1.0)]),
    "Lipschitz context": lambda G_c: Columns([Column(G_c=G_c)] * 2),
    "one-sided context": lambda G_c: Columns([Column(G_c=G_c, worse="up")] * 2),
    "joint context": lambda G_c: Columns([Column(G_c=G_c)] * 2, joint=True),
    "told drift": lambda G_c: AnnouncedDrift(),
}
ATTACKS: dict[str, Callable[[np.random.Generator, float], Tally]] = {
    **{name: partial(attack_hull, make) for name, make in KINDS.items()},
    "grid in contexts": attack_grid,
    "curvature in contexts": attack_curvature,
}
