"""Where a theorem says that no round is outside, and where it says nothing: 30 systems each.

``python -m benchmarks.assumptions`` plays ramps under drift, corridors with bends, limits that are
nearly convex, and fleets of equal machines: each with the rule that a theorem covers, and beside it
with one that looks as good and has none. ``--write-docs`` puts the table into docs/unknown.md; a
round outside where a theorem says none, or none at all where nothing is promised, is named, and the
exit status is 1.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table, write_section
from surefoot import Ball, Feedback, LeaderFollower
from surefoot.certified import Certified
from surefoot.core.types import Array
from surefoot.knowledge import Curvature, EmptyRegionError, Errors, LipschitzHull
from surefoot.problems.calibration import fleet_constant
from surefoot.problems.constraints import Affine
from surefoot.rules import MovingBalls, RegionFilter

PAGE = Path(__file__).parents[1] / "docs" / "unknown.md"


class Played(NamedTuple):
    """One run: its rounds outside, and the largest g over the slack of the start."""

    outside: int
    worst: float


class Row(NamedTuple):
    """A rule in some systems.

    Attributes:
        where: the systems.
        rule: what plays.
        promised: whether a theorem says that no round is outside.
        play: plays the system of a seed.
    """

    where: str
    rule: str
    promised: bool
    play: Callable[[int, int], Played]


def judge(values: list[float]) -> Played:
    """Return what the values at the actions of a run say."""
    return Played(sum(g > 0 for g in values), max(values) / -values[0])


# --- ramps under drift: |x|_inf / 2 <= level, which comes in and goes out by up to v in a round ---

DRIFT, RAMP, LEAST = 0.02, 0.03, 0.1


def play_ramp(seed: int, rounds: int, *, way: str) -> Played:
    """Play wishes far away under a limit that moves."""
    rng, d, level, turn = np.random.default_rng([1, seed]), 2, 0.4, -1
    bound = -LEAST if way != "ages" else None
    known = LipschitzHull(G_g=0.5, reach=4.0, start_bound=bound, errors=Errors(drift=DRIFT))
    player = RegionFilter(knowledge=known, ramp=None if way == "announced" else RAMP)
    state: Any = player.init(np.zeros(d))
    values, proposal = [], rng.normal(size=d)
    for _ in range(rounds):
        i = int(np.abs(state.x).argmax())
        s = np.zeros(d)
        s[i] = math.copysign(0.5, state.x[i])
        values.append(0.5 * abs(float(state.x[i])) - level)
        proposal = 3.0 * rng.normal(size=d) if rng.random() < 0.05 else proposal
        near = Ball(RAMP, state.x) if way == "announced" else None
        seen = Feedback(None, values[-1], s, proposal=proposal, within=near)
        try:
            state = player.update(state, seen)
        except EmptyRegionError:  # all that is left without a theorem is to stay
            state = player.rest(state, state.x)
        turn = -turn if rng.random() < 0.03 else turn
        level = float(np.clip(level + turn * DRIFT * 0.999, LEAST, 0.8))
    return judge(values)


# --- corridors: (y - a sin wx)^2 + 0.05 x^2 <= 0.09 -----------------------------------------------


def play_corridor(seed: int, rounds: int, *, rule: str) -> Played:
    """Follow a corridor through its bends, then wish across them."""
    rng = np.random.default_rng([2, seed])
    a, w = rng.uniform(0.4, 0.7), rng.uniform(2.5, 3.5)
    bent = (a * w) ** 2
    beta = 2 * (1 + bent) + 0.6 * a * w * w + 0.1
    known: Any = Curvature(beta=beta, reach=2.0, convex=False)
    if rule == "hull":
        known = LipschitzHull(G_g=0.6 * math.sqrt(1 + bent) + 0.14, reach=2.0)
    player: Certified = RegionFilter(knowledge=known)
    if rule == "moving balls":
        player = MovingBalls(knowledge=known, eta=1.0)
    state: Any = player.init(np.array([1.0, a * math.sin(w)]))
    values = []
    for t in range(rounds):
        x, y = (float(part) for part in state.x)
        off = y - a * math.sin(w * x)
        values.append(off * off + 0.05 * x * x - 0.09)
        s = np.array([-2 * a * w * off * math.cos(w * x) + 0.1 * x, 2 * off])
        way = 1.0 - 2.2 * min(2 * t / rounds, 1.0)
        proposal = np.array([way, a * math.sin(w * way)])
        if 2 * t > rounds:
            proposal = rng.uniform(-1.3, 1.3, 2)
        if rule == "moving balls":
            told = Feedback(state.x - proposal, values[-1], s)
        else:
            told = Feedback(None, values[-1], s, proposal=proposal)
        state = player.update(state, told)
    return judge(values)


# --- nearly convex: a quadratic less ripples of up to 2 nu ----------------------------------------

RIPPLE = 0.03


def play_ripples(seed: int, rounds: int, *, told_error: bool) -> Played:
    """Proposal outwards in a set whose limit has ripples."""
    rng = np.random.default_rng([3, seed])
    turn, fast = np.linalg.qr(rng.normal(size=(2, 2)))[0], rng.normal(size=2) * 40.0
    spread = rng.uniform(0.5, 1.5, 2)
    P = turn @ np.diag(spread) @ turn.T
    nu = RIPPLE if told_error else 0.0
    # Of the quadratic h, where h is at most 0, or 2 nu.
    steep = math.sqrt(2 * float(spread.max()) * (0.3 + 2 * RIPPLE))
    errors = Errors(value=nu)
    known = LipschitzHull(G_g=steep, reach=2.0, errors=errors)
    player = RegionFilter(knowledge=known)
    state, values = player.init(np.zeros(2)), []
    for _ in range(rounds):
        convex = 0.5 * float(state.x @ P @ state.x) - 0.3
        values.append(convex - RIPPLE * (1 - math.sin(float(fast @ state.x))))
        proposal = state.x + 10 ** rng.uniform(-3, 0) * rng.normal(size=2)
        state = player.update(state, Feedback(None, values[-1] + nu, None, proposal=proposal))
    return judge(values)


# --- a fleet: 59 machines whose constants are known, and a new one --------------------------------

FLEET, DELTA = 59, 0.05


def draw_machine(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the rows of a limit and their levels; the longest row is G_g."""
    rows = rng.normal(size=(8, 3))
    rows *= (rng.lognormal(0.0, 0.5, size=8) / np.linalg.norm(rows, axis=1))[:, None]
    return rows, rng.uniform(0.2, 0.8, size=8) * np.linalg.norm(rows, axis=1)


def play_fleet(seed: int, rounds: int, *, median: bool) -> Played:
    """Play the new machine with a constant that the others give."""
    rng = np.random.default_rng([4, seed])
    others = [float(np.linalg.norm(draw_machine(rng)[0], axis=1).max()) for _ in range(FLEET)]
    G_g = float(np.median(others)) if median else fleet_constant(others, DELTA)
    rows, levels = draw_machine(rng)
    limit, pull = Affine(rows, levels), rng.normal(size=3)
    player: Certified = LeaderFollower(G_g=G_g, domain=Ball(4.0))
    state: Any = player.init(np.zeros(3))
    values = []
    for _ in range(rounds):
        g, s = limit.query(state.x)
        values.append(float(g))
        state = player.update(state, Feedback(pull + rng.normal(size=3), float(g), s))
    return judge(values)


ROWS = [
    Row("ramp under drift", "`ramp=`, `start_bound`", True, lambda s, T: play_ramp(s, T, way="R")),
    Row("", "`ramp=`, no bound", True, lambda s, T: play_ramp(s, T, way="ages")),
    Row("", "announced as `within`", False, lambda s, T: play_ramp(s, T, way="announced")),
    Row("corridor", "`Curvature`", True, lambda s, T: play_corridor(s, T, rule="curvature")),
    Row("", "`MovingBalls`", True, lambda s, T: play_corridor(s, T, rule="moving balls")),
    Row("", "`LipschitzHull`", False, lambda s, T: play_corridor(s, T, rule="hull")),
    Row("nearly convex", "`value_error`", True, lambda s, T: play_ripples(s, T, told_error=True)),
    Row("", "as if convex", False, lambda s, T: play_ripples(s, T, told_error=False)),
    Row(
        "a fleet's next machine",
        "`fleet_constant`, 95 %",
        True,
        lambda s, T: play_fleet(s, T, median=False),
    ),
    Row("", "the fleet's median", False, lambda s, T: play_fleet(s, T, median=True)),
]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assumptions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(arguments)
    cells, missed = [], []
    for row in ROWS:
        found = [row.play(seed, options.rounds) for seed in range(options.seeds)]
        systems, outside = sum(one.outside > 0 for one in found), sum(o.outside for o in found)
        worst = f"{max(one.worst for one in found):.2g}" if outside else "0"
        of = f"{systems} of {len(found)}, {outside}"
        cells.append([row.where, row.rule, "yes" if row.promised else "no", of, worst])
        allowed = DELTA * len(found) + 1.0 if "%" in row.rule else 0.0
        if row.promised and systems > allowed:
            missed.append(f"{row.rule} was outside in {of}")
        if not row.promised and not outside:
            missed.append(f"{row.rule} has no theorem and was never outside")
    head = ["systems", "rule", "theorem", "systems outside, rounds", "largest g over the slack"]
    lines = table(head, cells)
    print("\n".join(lines))
    if options.write_docs:
        write_section(PAGE, "assumptions", lines)
    print("; ".join(f"MISSED: {one}" for one in missed) or "all bars met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
