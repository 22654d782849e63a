"""A long attack on certified regions: not one action may violate its constraint, exactly compared.

Each round goes to the point of the region that is nearest to what an adversary wants, from a
thousandth to a thousand times the size of the set away: out along the slope, along the surface, at
random, or whichever of these ends with the largest g. The sets are ellipsoids, flat and round and
far from the origin, several of them at once, polytopes with all rows seen, and these with a known
box; the regions are balls, hulls of balls, rows, and rows of different kinds. A round counts as
lost if the computed g of its action is above 0, by however little.

Run by ``make soak``; prints the number of rounds and the worst g, and ends with status 1 on a
violation. An attack is a pure function of its number, and ``--first N`` begins with attack N. With
``--state FILE`` the sums are kept there after every attack and go on from there, so that parts of a
long soak add up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import evidence
from surefoot import Ball
from surefoot.core.types import Array
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull, Reading, Together
from surefoot.problems.constraints import Affine, MaxOf, QuadraticForm
from surefoot.sets import Box

COVERS = (*evidence.LIBRARY, "src/surefoot/problems/constraints/*.py", "benchmarks/soak_regions.py")
ROUNDS = 10**7
KINDS = (
    "ball",
    "ball, beta too large",
    "half-spaces",
    "balls",
    "balls, cut",
    "Lipschitz hull",
    "balls and box",
    "mixed kinds and box",
    "ball, cut",
    "ball, cut, one run",
)
ADVERSARIES = ("out", "along", "random", "greedy")
ONE_CUT = "ball, cut, one run"
LIVE = (
    *("half-spaces", "balls", "balls, cut", "Lipschitz hull", "balls and box"),
    *("mixed kinds and box", ONE_CUT),
)
QUICK = ("ball", "ball, beta too large", "ball, cut")
"""A round of these costs one array program; so many more runs cost little."""
ONE = ("ball", "ball, beta too large", "ball, cut", ONE_CUT)


class Outcome(NamedTuple):
    """What came of an attack.

    Attributes:
        number: which it was.
        name: region, dimension, adversary.
        rounds: actions that were judged.
        violations: how many had g > 0.
        worst: the largest g, relative to the slack of the middle.
        stayed: rounds in which nothing moved.
    """

    number: int
    name: str
    rounds: int
    violations: int
    worst: float
    stayed: int


class Target(NamedTuple):
    """A feasible set around its middle, and the reach of a ball that holds it."""

    constraint: Any
    middle: Array
    radius: float
    beta: float
    depth: float


def _form(rng: Any, d: int, centre: Array, depth: float) -> tuple[QuadraticForm, float, float]:
    """Draw a convex quadratic that is -depth at its centre; return its curvature, too."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    spread = np.geomspace(1.0, 10 ** rng.uniform(0, 3), d)
    P = Q @ np.diag(spread) @ Q.T
    P = 0.5 * (P + P.T)
    form = QuadraticForm(P, -P @ centre, depth - 0.5 * float(centre @ P @ centre))
    return form, float(spread[-1]) * (1 + 1e-9), math.sqrt(2 * depth / spread[0]) * (1 + 1e-9)


def _target(kind: str, rng: Any) -> Target:
    d = int(2 * 20 ** rng.random() ** 2)
    far = rng.choice([0.0, 1.0, 10 ** rng.uniform(0, 3)])
    direction = rng.normal(size=d)
    middle, depth = far * direction / np.linalg.norm(direction), 10 ** rng.uniform(-2, 0)
    if kind == "half-spaces":
        rows = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(int(rng.integers(1, 6)), d))])
        rows = rows * rng.uniform(0.3, 1.0, (len(rows), 1))
        radius = depth / 0.3 * math.sqrt(d) * 1.01
        return Target(Affine(rows, rows @ middle + depth), middle, radius, 0.0, depth)
    count = 1 if kind in ONE else 3
    forms = [_form(rng, d, middle, depth) for _ in range(count)]
    beta, radius = max(b for _, b, _ in forms), max(r for _, _, r in forms)
    g = forms[0][0] if count == 1 else MaxOf(tuple(f for f, _, _ in forms))
    factor = 20.0 if kind == "ball, beta too large" else 1.0
    return Target(g, middle, radius, factor * beta, depth)


def _known(kind: str, target: Target, G_g: float, error: float) -> Any:
    """Return what the player knows, and whether all rows are seen."""
    reach = target.radius + float(np.linalg.norm(target.middle))
    told: dict[str, Any] = {"reach": reach, "errors": Errors(evaluation=error)}
    if kind in ONE:
        return Curvature(beta=target.beta, **told)
    if kind == "Lipschitz hull":
        return LipschitzHull(G_g=G_g, **told)
    box = Box(target.middle - 0.4 * target.radius, target.middle + 0.3 * target.radius)
    m = target.constraint.rows
    if kind == "mixed kinds and box":
        rows: list[Any] = [Curvature(beta=target.beta, **told) for _ in range(m)]
        rows[0] = LipschitzHull(G_g=G_g, **told)
        return Together(rows=tuple(rows), domain=box)
    known = box if kind == "balls and box" else None
    return CurvatureRows(beta=target.beta, rows=m, domain=known, **told)


def _error(constraint: Any, ball: Ball) -> float:
    """Return the error of g that the player is given; a test gives none."""
    return float(constraint.evaluation_error(ball))


def _unit(v: Array) -> Array:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def _wishes(adversary: str, s: Array, rng: Any) -> list[Array]:
    """Where the adversary would go, as directions."""
    n = _unit(s)
    random = _unit(rng.normal(size=s.shape))
    along = _unit(random - np.vecdot(random, n)[..., None] * n)
    each = {"out": n + 1e-3 * random, "along": along + 0.1 * n, "random": random}
    return list(each.values()) if adversary == "greedy" else [each[adversary]]


def attack(number: int, played: int | None = None, runs: int | None = None) -> Outcome:
    """One set, attacked from many starts, made and played from its number alone."""
    rng = np.random.default_rng([number, 20_261_116])
    kind = KINDS[number % len(KINDS)]
    adversary = ADVERSARIES[number // len(KINDS) % len(ADVERSARIES)]
    target = _target(kind, rng)
    d, g_of = len(target.middle), target.constraint
    ball = Ball(target.radius, target.middle)
    G_g, error = g_of.subgradient_bound(ball), _error(g_of, ball)
    known = _known(kind, target, G_g, error)
    live = kind in LIVE
    runs = 1 if live else runs or 16_384
    played = played or (1_000 if live else 200)
    # Within a tenth of what the slope allows: strictly feasible whatever the set.
    start = target.middle + 0.1 * target.depth / G_g * _unit(rng.normal(size=(runs, d)))
    x = start[0] if live else start
    separately = kind not in (*ONE, "Lipschitz hull")
    ask = g_of.query_all if separately else g_of.query
    memory, lost, worst, stayed = known.init(x), 0, -math.inf, 0
    for _ in range(played):
        g, s = ask(x)
        top = np.max(g, axis=-1)
        lost, worst = lost + int((top > 0).sum()), max(worst, float(np.max(top)))
        if not np.all(top <= 0):
            break
        read = float(g) if live and not separately else g
        memory = known.observe(memory, Reading(x, read, s, known.errors))
        region = known.region(memory, known.errors)
        steepest = (
            s
            if not separately
            else np.take_along_axis(s, np.argmax(g, axis=-1)[..., None, None], axis=-2)[..., 0, :]
        )
        length = target.radius * 10 ** rng.uniform(-3, 3, (*np.shape(x)[:-1], 1))
        best, most = x, np.full(np.shape(x)[:-1], -np.inf)
        for proposal in _wishes(adversary, steepest, rng):
            w = x + (float(length[0]) if live else length) * proposal
            p = region.cut(w) if ", cut" in kind else region.nearest(w)
            now = np.max(ask(p)[0], axis=-1)
            higher = now > most
            best = np.where(np.reshape(higher, (*np.shape(higher), 1)), p, best)
            most = np.where(higher, now, most)
        stayed += int((best == x).all(axis=-1).sum())
        x = best
    name = f"{kind}, d = {d}, {adversary}"
    return Outcome(number, name, played * runs, lost, worst / target.depth, stayed)


def attacks(first: int, workers: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Outcome]:
    """Return the outcomes of all attacks on some kinds from the first on, in their order."""
    numbers = (n for n in itertools.count(first) if KINDS[n % len(KINDS)] in kinds)
    with ProcessPoolExecutor(workers) as pool:
        pending = [pool.submit(attack, next(numbers)) for _ in range(2 * workers)]
        for n in numbers:
            yield pending.pop(0).result()
            pending.append(pool.submit(attack, n))


class Sums(NamedTuple):
    """What the attacks so far add up to.

    Attributes:
        following: number of the next attack.
        attacks: how many there were.
        rounds: of each kind of region.
        violations: of all.
        worst: the largest g, relative to the slack of the middle; -1 before there is one.
        where: the attack that it was in, and its name.
    """

    following: int
    attacks: int
    rounds: dict[str, int]
    violations: int
    worst: float
    where: str

    @property
    def total(self) -> int:
        """The rounds of all kinds."""
        return sum(self.rounds.values())

    def after(self, outcome: Outcome) -> Sums:
        """Return the sums with one more attack, which must be the next."""
        kind = KINDS[outcome.number % len(KINDS)]
        rounds = self.rounds | {kind: self.rounds.get(kind, 0) + outcome.rounds}
        worst, where = self.worst, self.where
        if outcome.worst > worst:
            worst, where = outcome.worst, f"attack {outcome.number} ({outcome.name})"
        violations = self.violations + outcome.violations
        return Sums(outcome.number + 1, self.attacks + 1, rounds, violations, worst, where)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=float, default=ROUNDS, help="at least so many in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="only kinds that are quick per round")
    parser.add_argument("--state", type=Path, help="file with the sums so far, to go on from")
    evidence.add_option(parser)
    options = parser.parse_args()
    stamp = evidence.begin(options, "regions soak", "safety.regions", COVERS)
    counts = evidence.Counts("slack of the middle")
    state: Path | None = options.state
    sums = Sums(options.first, 0, {}, 0, -1.0, "")
    if state is not None and state.exists():
        sums = Sums(**json.loads(state.read_text()))
    kinds = QUICK if options.quick else KINDS
    if sums.total < options.rounds:
        for outcome in attacks(sums.following, options.workers, kinds):
            sums = sums.after(outcome)
            kind = KINDS[outcome.number % len(KINDS)]
            counts.add(kind, outcome.rounds, outcome.violations, outcome.worst)
            if outcome.violations:
                print(f"VIOLATED: {outcome}", flush=True)
            if state is not None:
                part = state.with_name(state.name + ".part")
                part.write_text(json.dumps(sums._asdict()))
                part.replace(state)
            if sums.total >= options.rounds:
                break
    for kind in KINDS:
        print(f"{kind}: {sums.rounds.get(kind, 0):,} rounds")
    print(
        f"{sums.total:,} rounds, {sums.attacks} attacks; {sums.violations} violations; worst "
        f"g/depth = {sums.worst:.3g} in {sums.where}"
    )
    if stamp is not None:
        print(stamp.write(evidence.typed_command("soak_regions"), counts.rows.values()))
    return int(sums.violations > 0)


if __name__ == "__main__":
    sys.exit(evidence.run(main))
