"""Attack every kind of knowledge: ``python -m benchmarks.soak_knowledge --actions 1e5``.

What named rules know (:mod:`benchmarks.soak_basic`), logs, relative curvature, moving balls in sets
that are not convex, grids, limits on the average, ramps, contexts
(:mod:`benchmarks.soak_context`) and unknown constants (:mod:`benchmarks.soak_unknown`). A test
fails if a kind of knowledge of the library is not among them. An action is lost if its computed g
is above 0, of an average if the exact sum of all so far is, of a ramp if a step is too long too, by
however little. :mod:`benchmarks.soak_play` says what is counted as a round, and what as an attacked
action.

Attack n of a kind is a pure function of n; with ``--state FILE`` a soak goes on where it stopped.
Kinds take turns, so that each has as many actions as the others. With ``--factor 0.5`` half of what
is true is told: then an action must be lost, and status 1 means that none was.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import evidence, soak_basic, soak_context, soak_unknown
from benchmarks.soak_play import (
    ROUNDS,
    UNIT,
    DriftingRows,
    GridRows,
    Rows,
    Tally,
    Wishes,
    World,
    play,
)
from surefoot import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import (
    AverageLimit,
    Choices,
    Curvature,
    Errors,
    HullOfLog,
    LipschitzHull,
    RelativeCurvature,
    Response,
    Settling,
)
from surefoot.rules import MovingBalls, RegionFilter
from surefoot.sets import Ball

PARTS = ("basic", "context", "knowledge", "play", "unknown")
COVERS = (*evidence.LIBRARY, *(f"benchmarks/soak_{part}.py" for part in PARTS))
RUNS = 256
"""The runs of a batch, each with its own limit."""
Attack = Callable[[np.random.Generator, float], Tally]


def attack_log(rng: np.random.Generator, factor: float) -> Tally:
    """Attack the hull of a log, in which some actions were outside."""
    world = Rows(rng)
    count = int(rng.integers(4, 40))
    points = world.middle + 0.7 * world.size * rng.uniform(-1, 1, (count, len(world.middle)))
    points[0] = world.middle
    world.err()
    world.close()
    values = world.values(points) - (1 - factor) * world.depth - (1 - 1e-15) * world.nu
    errors = Errors(value=world.nu, evaluation=2 * world.error)
    known = HullOfLog(points=points, values=values, G_g=world.G_g, domain=world.box, errors=errors)
    return play(rng, RegionFilter(knowledge=known), world, points[0])


class Exponential(World):
    """An exponential with a quadratic, whose curvature grows with its slope.

    Args:
        rng: what draws it.
    """

    size = 2.0

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        d = int(rng.integers(1, 5))
        way = rng.normal(size=d)
        self.way = way * 10 ** rng.uniform(-0.5, 1.0) / float(np.linalg.norm(way))
        self.steep = float(np.linalg.norm(self.way))
        self.bend = float(rng.choice([0.0, 10 ** rng.uniform(-2, 1)]))
        self.middle, self.depth = np.zeros(d), float(10 ** rng.uniform(-1, 0.5))
        self.top = 1.0 + self.depth
        size = self.top * (1 + self.steep * self.size) + self.bend * self.size**2
        self.error = 32 * (d + 4) * UNIT * size

    def values(self, points: Array) -> Array:
        """Return g at points."""
        bent = 0.5 * self.bend * np.vecdot(points, points)
        found: Array = np.exp(points @ self.way) + bent - self.top
        return found

    def slope(self, x: Array) -> Array:
        """Return the gradient."""
        found: Array = math.exp(self.way @ x) * self.way + self.bend * x
        return found


def attack_relative(rng: np.random.Generator, factor: float) -> Tally:
    """Attack a limit whose curvature grows with its slope."""
    world = Exponential(rng)
    world.err(slopes=True)
    # |Hg| <= steep^2 e + bend, and |Dg| >= steep e - bend size.
    L_0 = world.bend * (1 + world.steep * world.size) * (1 + 1e-9)
    known = RelativeCurvature(
        L_0=factor * L_0,
        L_1=factor * world.steep * (1 + 1e-9),
        domain=Ball(world.size),
        errors=Errors(value=world.nu, slope=world.tau, evaluation=2 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class Saddles(World):
    """Quadratics that are not convex, one or a batch: saddles, complements of ellipsoids.

    Args:
        rng: what draws them.
        runs: how many.
    """

    size = 2.0

    def __init__(self, rng: np.random.Generator, runs: int) -> None:
        super().__init__(rng)
        d = int(rng.integers(2, 5))
        spread = rng.uniform(-1, 1, (runs, d)) * 10 ** rng.uniform(0, 2, (runs, 1))
        turn = np.linalg.qr(rng.normal(size=(runs, d, d)))[0]
        P = (turn * spread[:, None]) @ turn.mT
        self.P, self.q = 0.5 * (P + P.mT), rng.normal(size=(runs, d))
        self.depths = 10 ** rng.uniform(-2, 0, (runs, 1))
        self.middle, self.depth = np.zeros(d), float(self.depths[0, 0])
        self.beta = np.maximum(spread.max(axis=1, keepdims=True), 0.0) * (1 + 1e-9)
        most = np.abs(spread).max(axis=1, keepdims=True)
        straight = np.linalg.norm(self.q, axis=1, keepdims=True) * self.size
        self.errors = 32 * (d + 4) * UNIT * (most * self.size**2 * d + straight + self.depths)

    def values(self, points: Array) -> Array:
        """Return g at points: of one limit, or of one for each."""
        bent = np.einsum("ni,nij,nj->n", points, self.P, points)
        found: Array = 0.5 * bent + np.vecdot(self.q, points) - self.depths[:, 0]
        return found

    def slope(self, x: Array) -> Array:
        """Return the gradient at a point, or at one for each limit."""
        found: Array = (self.P @ x[..., None])[..., 0] + self.q
        return found if x.ndim > 1 else found[0]


def attack_moving_ball(rng: np.random.Generator, factor: float) -> Tally:
    """Attack steps into balls in a set that is not convex, one run."""
    world = Saddles(rng, 1)
    world.err(slopes=True)
    known = Curvature(
        beta=factor * float(world.beta[0, 0]),
        domain=Ball(world.size),
        convex=False,
        errors=Errors(value=world.nu, slope=world.tau, evaluation=2 * float(world.errors[0, 0])),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


def attack_moving_balls(rng: np.random.Generator, factor: float) -> Tally:
    """Attack the same in a batch, by the player of that name: every action is a round."""
    world = Saddles(rng, RUNS)
    known = Curvature(
        beta=factor * world.beta,
        domain=Ball(world.size),
        convex=False,
        errors=Errors(evaluation=world.errors),
    )
    player = MovingBalls(knowledge=known, eta=1.0)
    x = np.zeros((RUNS, len(world.middle)))
    wishes, state, g = Wishes(rng, RUNS, x.shape[1], world.size), player.init(x), world.values(x)
    tally = Tally()
    for t in range(ROUNDS):
        s = world.slope(x)
        proposal = wishes.draw(t, x, s)
        state = player.update(state, Feedback(x - proposal, g[:, None], s))
        x, g = state.x, world.values(state.x)
        lost = int((~(g <= 0)).sum())
        worst = float((g / world.depths[:, 0]).max())
        tally = tally.plus(Tally(RUNS, RUNS, lost, worst))
        if lost:
            break
    return tally


def attack_grid(rng: np.random.Generator, factor: float) -> Tally:
    """Attack a hull on a grid; the faces of some limits are on it, too."""
    world = GridRows(rng, int(rng.integers(3, 100)) if rng.random() < 0.5 else None)
    world.grid = Choices(step=world.step or world.depth * 10 ** rng.uniform(-2, -0.5))
    world.err()
    known = LipschitzHull(
        G_g=factor * world.G_g,
        domain=world.grid,
        reach=world.reach + world.grid.step,
        errors=Errors(value=world.nu, evaluation=2 * world.error),
    )
    start = world.grid.project(world.middle)
    return play(rng, RegionFilter(knowledge=known), world, start)


class SummedRows(Rows):
    """Rows of which the sum over the rounds counts, exactly, and the largest of any.

    Args:
        rng: what draws them.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.most = self.depth * float(10 ** rng.uniform(-1, 0.5))
        self.size *= 1 + self.most / self.depth
        self.total = Fraction(float(self.values(self.middle[None])[0]))

    def judge(self, state: Any, x: Array, points: Array, values: Array) -> tuple[int, float]:
        """Return whether the sum is above 0 for one answer, or its g is above the largest."""
        lost, _ = super().judge(state, x, points, values - self.most)
        most = float(values.max())
        total = self.total + Fraction(most)
        return lost + int(total > 0), float(total) / self.depth

    def enter(self, i: int, x: Array, g: float) -> None:
        """Add to the sum."""
        self.total += Fraction(g)


def attack_average(rng: np.random.Generator, factor: float) -> Tally:
    """Attack a limit on the average."""
    world = SummedRows(rng)
    world.err()
    world.close()
    known = AverageLimit(
        G_g=factor * world.G_g,
        reach=world.reach,
        most=world.most,
        domain=world.box,
        errors=Errors(value=world.nu, evaluation=(2 + world.most / world.depth) * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class RampedRows(DriftingRows):
    """Rows that may drift, and a ramp.

    Args:
        rng: what draws them.
        drifts: whether they drift.
    """

    def __init__(self, rng: np.random.Generator, drifts: bool) -> None:
        super().__init__(rng, drifts)
        self.ramp: Any = float(self.size * 10 ** rng.uniform(-2, -0.3))
        if rng.random() < 0.5:
            self.ramp = tuple((self.ramp * rng.uniform(0.3, 1.0, len(self.middle))).tolist())

    def judge(self, state: Any, x: Array, points: Array, values: Array) -> tuple[int, float]:
        """Return how many answers violate, or are too far away."""
        lost, worst = super().judge(state, x, points, values)
        way = np.abs(points - x)
        if isinstance(self.ramp, float):
            way = np.linalg.norm(way, axis=1, keepdims=True)
        return lost + int((way > np.array(self.ramp) * (1 + 1e-11)).any(axis=1).sum()), worst


def attack_ramp(rng: np.random.Generator, factor: float) -> Tally:
    """Attack ramps where g is fixed."""
    world = RampedRows(rng, drifts=False)
    world.err()
    errors = Errors(value=world.nu, evaluation=2 * world.error)
    known = LipschitzHull(G_g=factor * world.G_g, reach=world.reach, errors=errors)
    return play(rng, RegionFilter(knowledge=known, ramp=world.ramp), world, world.middle)


def attack_drifting_ramp(rng: np.random.Generator, factor: float) -> Tally:
    """Attack ramps under drift, with a start that is always feasible, or measured again."""
    world = RampedRows(rng, drifts=True)
    world.err()
    bound = world.bound_start()
    errors = Errors(value=world.nu, drift=factor * world.v, evaluation=2 * world.error)
    known = LipschitzHull(G_g=world.G_g, reach=world.reach, start_bound=bound, errors=errors)
    return play(rng, RegionFilter(knowledge=known, ramp=world.ramp), world, world.middle)


class SlowRows(DriftingRows):
    """Rows of which a reading shows a share of a step, and the rest in later rounds.

    Args:
        rng: what draws them.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, False)
        self.ratio = float(rng.choice([0.25, 0.5, 0.75, 0.9375]))
        self.shown = float(self.values(self.middle[None])[0])

    @property
    def response(self) -> Response:
        """What is given: the ratio, and no slower."""
        return Response(time_constants=[-1.0 / math.log(self.ratio)], round=1.0)

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what a meter shows after the round."""
        self.shown = self.ratio * self.shown + (1.0 - self.ratio) * g
        return super().see(x, self.shown, s, proposal)


def attack_slow(rng: np.random.Generator, factor: float) -> Tally:
    """Attack readings that lag behind the action."""
    world = SlowRows(rng)
    world.err()
    errors = Errors(value=world.nu, evaluation=2 * world.error)
    hull = LipschitzHull(G_g=factor * world.G_g, reach=world.reach, errors=errors)
    known = Settling(knowledge=hull, response=world.response)
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


ATTACKS: dict[str, Attack] = {
    **soak_basic.ATTACKS,
    "log": attack_log,
    "relative": attack_relative,
    "moving ball": attack_moving_ball,
    "moving balls": attack_moving_balls,
    "grid": attack_grid,
    "average": attack_average,
    "ramp": attack_ramp,
    "ramp, drift": attack_drifting_ramp,
    "slow plant": attack_slow,
    **soak_context.ATTACKS,
    **soak_unknown.ATTACKS,
}


def attack(kind: str, number: int, factor: float = 1.0) -> Tally:
    """Return what came of an attack.

    Args:
        kind: which knowledge.
        number: which attack on it.
        factor: what is told of the constant that the kind is about, in place of all of it.
    """
    seed = [number, zlib.crc32(kind.encode())]
    return ATTACKS[kind](np.random.default_rng(seed), factor)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--actions", type=float, default=1e5, help="of each, with those before")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which it ends")
    parser.add_argument("--kinds", nargs="*", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--factor", type=float, default=1.0, help="tell so much of a constant")
    parser.add_argument("--state", type=Path, help="file with what was reached, to go on from")
    evidence.add_option(parser)
    options = parser.parse_args()
    stamp = evidence.begin(options, "knowledge soak", "safety.knowledge", COVERS, ATTACKS)
    state: Path | None = options.state
    done = {} if state is None or not state.exists() else json.loads(state.read_text())
    sums = {kind: (done[kind][0], Tally(*done[kind][1])) for kind in done}
    sums |= {kind: (0, Tally()) for kind in options.kinds if kind not in sums}
    end = time.monotonic() + options.seconds
    saved = said = time.monotonic()
    while time.monotonic() < end:
        kind = min(options.kinds, key=lambda kind: sums[kind][1].actions)
        number, tally = sums[kind]
        if tally.actions >= options.actions:
            break
        found = attack(kind, number, options.factor)
        if found.outside:
            print(f"OUTSIDE: {kind}, attack {number}: {found}", flush=True)
        sums[kind] = number + 1, tally.plus(found)
        if state is not None and time.monotonic() > saved + 5:
            save(state, sums)
            saved = time.monotonic()
        if time.monotonic() > said + 10:
            said = time.monotonic()
            least = min(sums[kind][1].actions for kind in options.kinds)
            print(f"{least:,} of {options.actions:,.0f} actions of each", file=sys.stderr)
    if state is not None:
        save(state, sums)
    for kind in options.kinds:
        number, tally = sums[kind]
        print(
            f"{kind}: {number:,} limits, {tally.rounds:,} rounds, {tally.actions:,} attacked "
            f"actions, {tally.outside} outside, the worst g is {tally.worst:.3g}"
        )
    is_found = [sums[kind][1].outside > 0 for kind in options.kinds]
    status = int(any(is_found) if options.factor == 1 else not all(is_found))
    if stamp is not None:
        rows = [as_row(kind, sums[kind][1]) for kind in options.kinds]
        print(stamp.write(evidence.typed_command("soak_knowledge"), rows, status))
    return status


def as_row(kind: str, tally: Tally) -> evidence.Row:
    """Return what is recorded of a kind; of an unknown constant, what its budget has left."""
    unit = "budget" if kind in soak_unknown.ATTACKS else "slack of the start"
    return evidence.Row(
        kind, tally.rounds, tally.outside, tally.worst, actions=tally.actions, unit=unit
    )


def save(state: Path, sums: dict[str, tuple[int, Tally]]) -> None:
    """Write what was reached, whole or not at all."""
    part = state.with_name(state.name + ".part")
    part.write_text(json.dumps(sums))
    part.replace(state)


if __name__ == "__main__":
    sys.exit(evidence.run(main))
