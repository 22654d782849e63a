"""Attack what else may be known: ``python -m benchmarks.soak_knowledge --rounds 1e7 --kinds grid``.

Logs, relative curvature, moving balls in sets that are not convex, grids, limits on the average and
ramps under drift. Wishes go out along the slope, along the surface and anywhere, from a millionth
of the set's size to a thousand times of it. A round is lost if its computed g is above 0, of an
average the exact sum of all so far, of a ramp if a step is too long, by however little. Run n of a
kind is a pure function of n; with ``--state FILE`` a soak goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import Feedback
from surefoot.algorithms import Certified, MovingBalls, RegionFilter
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine
from surefoot.regions import (
    AverageLimit,
    Curvature,
    Errors,
    Grid,
    HullOfLog,
    LipschitzHull,
    RelativeCurvature,
)
from surefoot.sets import Ball

RUN = 500
"""The rounds of one limit; then another begins."""
UNIT = 2.0**-53


class Limit:
    """A limit with g = -depth at the middle: its value and slope, and how wrong both are computed.

    Args:
        value: g of a point.
        slope: its gradient.
        middle: the middle of the set.
        depth: the slack there.
        size: every feasible point is nearer to the middle, or the wishes are.
        error: bound on the rounding of g.
    """

    def __init__(
        self,
        value: Callable[[Array], float],
        slope: Callable[[Array], Array],
        middle: Array,
        depth: float,
        size: float,
        error: float,
    ) -> None:
        self.value, self.slope, self.middle = value, slope, middle
        self.depth, self.size, self.error = depth, size, error

    @property
    def reach(self) -> float:
        """The largest norm of a point."""
        return float(np.linalg.norm(self.middle)) + self.size


def draw_rows(rng: np.random.Generator) -> Limit:
    """Return the largest of some rows of length 1 or less, in a box turned at random."""
    d = int(rng.integers(1, 5))
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    more = rng.normal(size=(int(rng.integers(1, 5)), d))
    rows = np.vstack([turn, -turn, more / np.linalg.norm(more, axis=1, keepdims=True)])
    rows = rows * rng.uniform(0.3, 1.0, (len(rows), 1))
    depth = float(10 ** rng.uniform(-2, 0))
    middle = rng.normal(size=d) * float(rng.choice([0.0, 1.0, 30.0]))
    size = depth / 0.3 * math.sqrt(d) * 1.01
    g = Affine(rows, rows @ middle + depth)
    error = float(g.evaluation_error(Ball(size, middle)))
    return Limit(
        lambda x: float(g.query(x)[0]), lambda x: g.query(x)[1], middle, depth, size, error
    )


def _step(rng: np.random.Generator, x: Array, s: Array, size: float) -> Array:
    """Return the adversary's wish."""
    random = rng.normal(size=len(x))
    n = s / max(float(np.linalg.norm(s)), 1e-300)
    along = random - float(random @ n) * n
    way = (n + 1e-3 * random, along + 0.1 * n, random)[int(rng.integers(3))]
    length = size * 10 ** rng.uniform(-6, 3) / max(float(np.linalg.norm(way)), 1e-300)
    wish: Array = x + length * way
    return wish


def play(rng: np.random.Generator, player: Certified, limit: Limit, start: Array) -> float:
    """Return the largest g of a run, relative to the slack of the middle."""
    state, worst = player.init(start), -math.inf
    for _ in range(RUN):
        g, s = limit.value(state.x), limit.slope(state.x)
        worst = max(worst, g)
        wish = _step(rng, state.x, s, limit.size)
        is_filter = bool(player.needs.proposals)
        gradient = None if is_filter else state.x - wish
        state = player.update(state, Feedback(gradient, g, s, proposal=wish if is_filter else None))
    return worst / limit.depth


def attack_log(rng: np.random.Generator) -> float:
    """Attack the hull of a log, in which some actions were outside."""
    limit = draw_rows(rng)
    count = int(rng.integers(4, 40))
    points = limit.middle + 0.7 * limit.size * rng.uniform(-1, 1, (count, len(limit.middle)))
    points[0] = limit.middle
    values = [limit.value(p) for p in points]
    errors = Errors(evaluation=limit.error)
    known = HullOfLog(points=points, values=values, G_g=1.0 + 1e-9, errors=errors)
    return play(rng, RegionFilter(knowledge=known), limit, points[0])


def attack_relative(rng: np.random.Generator) -> float:
    """Attack an exponential with a quadratic, whose curvature grows with its slope."""
    d = int(rng.integers(1, 5))
    way = rng.normal(size=d)
    way *= 10 ** rng.uniform(-0.5, 1.0) / float(np.linalg.norm(way))
    bend, depth = float(rng.choice([0.0, 10 ** rng.uniform(-2, 1)])), 10 ** rng.uniform(-1, 0.5)
    top, steep, size = 1.0 + depth, float(np.linalg.norm(way)), 2.0

    def value(x: Array) -> float:
        return float(np.exp(way @ x) + 0.5 * bend * float(x @ x) - top)

    def slope(x: Array) -> Array:
        found: Array = np.exp(way @ x) * way + bend * x
        return found

    error = 32 * (d + 4) * UNIT * (top * (1 + steep * size) + bend * size**2)
    limit = Limit(value, slope, np.zeros(d), depth, size, error)
    # |Hg| <= steep^2 e + bend, and |Dg| >= steep e - bend size.
    L_0 = bend * (1 + steep * size) * (1 + 1e-9)
    known = RelativeCurvature(
        L_0=L_0, L_1=steep * (1 + 1e-9), domain=Ball(size), errors=Errors(evaluation=error)
    )
    return play(rng, RegionFilter(knowledge=known), limit, np.zeros(d))


def attack_moving_balls(rng: np.random.Generator) -> float:
    """Attack steps into balls in sets that are not convex: saddles, complements of ellipsoids."""
    d = int(rng.integers(2, 5))
    spread = rng.uniform(-1, 1, d) * 10 ** rng.uniform(0, 2)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    P = turn @ np.diag(spread) @ turn.T
    P = 0.5 * (P + P.T)
    q, depth, size = rng.normal(size=d), float(10 ** rng.uniform(-2, 0)), 2.0
    most = float(np.abs(spread).max())
    error = 32 * (d + 4) * UNIT * (most * size**2 * d + float(np.linalg.norm(q)) * size + depth)
    limit = Limit(
        lambda x: float(0.5 * (x @ (P @ x)) + q @ x - depth),
        lambda x: P @ x + q,
        np.zeros(d),
        depth,
        size,
        error,
    )
    beta = max(float(spread.max()), 0.0) * (1 + 1e-9)
    known = Curvature(beta=beta, domain=Ball(size), convex=False, errors=Errors(evaluation=error))
    return play(rng, MovingBalls(knowledge=known, eta=1.0), limit, np.zeros(d))


def attack_grid(rng: np.random.Generator) -> float:
    """Attack a hull on a grid; the actions must be on it to the last bit."""
    limit = draw_rows(rng)
    step = limit.depth * 10 ** rng.uniform(-2, -0.5)
    grid = Grid(step)
    told: Any = {"reach": limit.reach + step, "errors": Errors(evaluation=limit.error)}
    known = LipschitzHull(G_g=1.0 + 1e-9, domain=grid, **told)
    return play(rng, RegionFilter(knowledge=known), limit, grid.project(limit.middle))


def attack_average(rng: np.random.Generator) -> float:
    """Attack a limit on the average; what counts is the exact sum of the values so far."""
    limit = draw_rows(rng)
    most = limit.depth * float(10 ** rng.uniform(-1, 0.5))
    size = limit.size * (1 + most / limit.depth)
    reach = float(np.linalg.norm(limit.middle)) + size
    errors = Errors(evaluation=4 * limit.error)
    known = AverageLimit(G_g=1.0 + 1e-9, reach=reach, most=most, errors=errors)
    player = RegionFilter(knowledge=known)
    state, total, worst = player.init(limit.middle), Fraction(0), -math.inf
    for _ in range(RUN):
        g, s = limit.value(state.x), limit.slope(state.x)
        total += Fraction(g)
        worst = max(worst, float(total) / limit.depth if total <= 0 else math.inf)
        wish = _step(rng, state.x, s, size)
        if rng.random() < 0.3:  # save, to have something to spend
            wish = limit.middle
        state = player.update(state, Feedback(None, g, s, proposal=wish))
    return worst


def attack_ramp(rng: np.random.Generator) -> float:
    """Attack ramps under drift: the limit comes in and goes out as fast as it may."""
    limit = draw_rows(rng)
    d, depth = len(limit.middle), limit.depth
    v = depth * 10 ** rng.uniform(-2, -0.7)
    always = float(rng.uniform(0.05, 0.5))
    ramp: Any = float(limit.size * 10 ** rng.uniform(-2, -0.3))
    if rng.random() < 0.5:
        ramp = tuple((ramp * rng.uniform(0.3, 1.0, d)).tolist())
    errors = Errors(drift=v, evaluation=4 * limit.error)
    known = LipschitzHull(
        G_g=1.0 + 1e-9, reach=limit.reach, start_bound=-0.999 * always * depth, errors=errors
    )
    player = RegionFilter(knowledge=known, ramp=ramp)
    state, worst, shift, way = player.init(limit.middle), -math.inf, 0.0, 1
    for _ in range(RUN):
        g, s = limit.value(state.x) + shift, limit.slope(state.x)
        worst = max(worst, g / depth)
        missing = shift and rng.random() < 0.1
        wish, before = _step(rng, state.x, s, limit.size), state.x
        seen = Feedback(None, g, s, proposal=wish)
        if missing:
            seen = Feedback(None, None, None, proposal=wish)
        state = player.update(state, seen)
        step = np.abs(state.x - before)
        length = float(np.linalg.norm(step)) if isinstance(ramp, float) else step
        if np.any(length > np.array(ramp) * (1 + 1e-11)):
            return math.inf
        way = -way if rng.random() < 0.05 else way
        shift = min(max(shift + way * v * (1 - 1e-9), 0.0), (1 - always) * depth)
    return worst


ATTACKS: dict[str, Callable[[np.random.Generator], float]] = {
    "log": attack_log,
    "relative": attack_relative,
    "moving balls": attack_moving_balls,
    "grid": attack_grid,
    "average": attack_average,
    "ramp": attack_ramp,
}


def attack(kind: str, number: int) -> float:
    """Return the largest g of a run, relative to its slack; above 0 it is lost."""
    return ATTACKS[kind](np.random.default_rng([number, list(ATTACKS).index(kind), 20_261_117]))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=float, default=1e5, help="of each kind, with those before")
    parser.add_argument("--kinds", nargs="*", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--state", type=Path, help="file with what was reached, to go on from")
    options = parser.parse_args()
    state: Path | None = options.state
    done = {} if state is None or not state.exists() else json.loads(state.read_text())
    for kind in options.kinds:
        runs, worst, lost = done.get(kind, (0, -math.inf, 0))
        while runs * RUN < options.rounds:
            found = attack(kind, runs)
            if found > 0:
                print(f"OUTSIDE: {kind}, run {runs}: {found:.3g}", flush=True)
            runs, worst, lost = runs + 1, max(worst, found), lost + (found > 0)
            done[kind] = (runs, worst, lost)
            if state is not None and (runs % 20 == 0 or runs * RUN >= options.rounds):
                state.write_text(json.dumps(done))
        print(f"{kind}: {runs * RUN:,} rounds, {lost} runs outside, the worst g is {worst:.3g}")
    return int(any(lost for _, _, lost in done.values()))


if __name__ == "__main__":
    sys.exit(main())
