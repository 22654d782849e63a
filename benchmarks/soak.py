"""A long attack on certified steps: not one action may violate its constraint, exactly compared.

Every round takes the longest step that is certified (no ratchet, huge gradients), in the direction
that an adversary likes best, against random polytopes, wedges, boxes turned and far from the
origin, ellipsoids and spectral-norm balls, with the tightening of the default, fixed ones down to
the rounding level, and ones that fall at random. A round counts as lost if the computed g of its
action is above 0, by however little.

Run by ``make soak``; prints the rounds of each set and the worst g/rho, and ends with status 1 on a
violation. An attack is a pure function of its number, and ``--first N`` begins with attack N.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from benchmarks import evidence
from benchmarks.evidence import Counts
from surefoot import Ball, Feedback
from surefoot.certified import Certified
from surefoot.core.record import is_tree, rebuild
from surefoot.core.types import Array
from surefoot.knowledge import Reading
from surefoot.problems.constraints import Affine, Constraint, EllipsoidNorm, LinfNorm, SpectralNorm
from surefoot.rules import CertifiedPFS

COVERS = (*evidence.LIBRARY, "src/surefoot/problems/constraints/*.py", "benchmarks/soak.py")
ROUNDS = 10**8
PLAYED = 250  # rounds of an attack: by then the state is as bad as it gets
NUMBERS = 50_000  # entries of the largest array of a round: more would be fewer sets
LONG = 1e6  # so large a gradient and step size that only the certified length limits the step

SETS = ("polytope", "wedge", "box", "turned box", "ellipsoid", "spectral ball")
TIGHTENINGS = ("default", "fixed", "falling")
ADVERSARIES = ("out", "uncut", "random", "greedy")


class Target(NamedTuple):
    """A feasible set and a ball around it."""

    constraint: Constraint
    domain: Ball
    interior: Array


class Outcome(NamedTuple):
    """What came of an attack.

    Attributes:
        number: which it was.
        name: set, tightening, adversary.
        rounds: actions that were judged.
        violations: how many had g > 0.
        worst: largest g/rho.
        cramped: rounds without room, in which nothing moves.
        rule: what was attacked.
    """

    number: int
    name: str
    rounds: int
    violations: int
    worst: float
    cramped: int
    rule: str


# --- what is attacked ----------------------------------------------------------------------------


def _shift(rng: Any, d: int, size: float) -> Array:
    """Draw a centre: often 0, else up to ten thousand times the set's size away."""
    far = rng.choice([0.0, 1.0, 10 ** rng.uniform(0, 4)])
    direction = rng.normal(size=d)
    return far * size * direction / np.linalg.norm(direction)


def _polytope(rng: Any, d: int) -> Target:
    """Draw a cube cut by random rows of different lengths."""
    cuts = rng.normal(size=(int(rng.integers(1, 2 * d + 6)), d))
    rows = np.vstack([np.eye(d), -np.eye(d), cuts / np.linalg.norm(cuts, axis=1, keepdims=True)])
    offsets = np.append(np.ones(2 * d), rng.uniform(0.1, 1.0, len(cuts)))
    scale = rng.uniform(0.3, 1.0, len(rows)) ** rng.integers(0, 2)
    return _affine(rng, rows, offsets, scale, math.sqrt(d))


def _wedge(rng: Any, d: int) -> Target:
    """Two faces that are nearly parallel, in a cube: subgradients nearly cancel at the edge."""
    a, b = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    lean = 10 ** rng.uniform(-3, 0)
    sharp = np.array([lean * a + b, lean * a - b]) / math.hypot(1, lean)
    rows = np.vstack([sharp, np.eye(d), -np.eye(d)])
    offsets = np.append([0.5 * lean, 0.5 * lean], np.ones(2 * d))
    return _affine(rng, rows, offsets, np.ones(len(rows)), math.sqrt(d))


def _box(rng: Any, d: int) -> Target:
    """Draw a cube, where certified steps are exactly tight."""
    radius = 10 ** rng.uniform(-2, 2)
    centre = _shift(rng, d, radius)
    around = Ball(radius * math.sqrt(d) * (1 + 1e-12), centre)
    return Target(LinfNorm(radius, d, centre), around, centre)


def _turned_box(rng: Any, d: int) -> Target:
    """Draw a rotated box as rows, with sides of different lengths."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    half = rng.uniform(0.2, 1.0, d)
    offsets = np.append(half, half)
    return _affine(rng, np.vstack([Q, -Q]), offsets, np.ones(2 * d), float(np.linalg.norm(half)))


def _affine(rng: Any, rows: Array, offsets: Array, scale: Array, radius: float) -> Target:
    centre = _shift(rng, rows.shape[1], radius)
    constraint = Affine(rows * scale[:, None], (offsets + rows @ centre) * scale)
    return Target(constraint, Ball(radius * (1 + 1e-9), centre), centre)


def _ellipsoid(rng: Any, d: int) -> Target:
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    P = Q @ np.diag(np.geomspace(1.0, 10 ** rng.uniform(0, 4), d)) @ Q.T
    centre = _shift(rng, d, 1.0)
    return Target(EllipsoidNorm(0.5 * (P + P.T), centre), Ball(1 + 1e-6, centre), centre)


def _spectral_ball(rng: Any, d: int) -> Target:
    columns = int(rng.integers(1, 4))
    shape = (min(max(1, d // columns), 7), columns)
    zero = np.zeros(shape[0] * shape[1])
    return Target(SpectralNorm(shape, 1.0), Ball(math.sqrt(min(shape)) * (1 + 1e-9)), zero)


_MAKE = {
    "polytope": _polytope,
    "wedge": _wedge,
    "box": _box,
    "turned box": _turned_box,
    "ellipsoid": _ellipsoid,
    "spectral ball": _spectral_ball,
}


# --- who attacks ---------------------------------------------------------------------------------


def _unit(v: Array) -> Array:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def _uncut(constraint: Constraint, x: Array, s: Array, rng: Any) -> Array:
    """Out through the nearest face that the next half-space will not cut."""
    if isinstance(constraint, Affine):
        values = x @ constraint.A.T - constraint.b
        values[np.arange(len(x)), values.argmax(axis=1)] = -np.inf
        return constraint.A[values.argmax(axis=1)]
    if isinstance(constraint, LinfNorm):
        z = x if constraint.centre is None else x - constraint.centre
        z = np.where(s != 0, 0.0, z)
        return np.where(abs(z) == abs(z).max(axis=1, keepdims=True), np.sign(z), 0.0)
    # A curved set has no other face: along the surface, a little outward.
    along = rng.normal(size=x.shape)
    n = _unit(s)
    return _unit(along - np.vecdot(along, n)[:, None] * n) + 0.1 * n


def directions(
    adversary: str, constraint: Constraint, x: Array, s: Array, rng: Any
) -> Iterator[Array]:
    """Where the adversary would have each run go: one proposal, or several to choose from."""
    if adversary == "out":
        yield s + 1e-3 * rng.normal(size=x.shape)
    elif adversary == "uncut":
        yield _uncut(constraint, x, s, rng)
    elif adversary == "random":
        yield rng.normal(size=x.shape)
    else:
        n, uncut = _unit(s), _unit(_uncut(constraint, x, s, rng))
        across = uncut - np.vecdot(uncut, n)[:, None] * n
        random = _unit(rng.normal(size=x.shape))
        tangent = random - np.vecdot(random, n)[:, None] * n
        yield from (n, uncut, across, tangent, random, n + uncut, _unit(across) + 0.3 * n)


# --- an attack -----------------------------------------------------------------------------------


def _starts(rng: Any, target: Target, runs: int) -> Array:
    """Strictly feasible first actions, from the middle to almost on the boundary."""
    d = len(target.interior)
    out = target.domain.radius * _unit(rng.normal(size=(runs, d)))
    low, high = np.zeros((runs, 1)), np.ones((runs, 1))
    for _ in range(40):  # the boundary on the way out, by halving
        middle = 0.5 * (low + high)
        inside = target.constraint.query(target.interior + middle * out)[0] < 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    share = 1 - 10 ** rng.uniform(-6, 0, (runs, 1))
    return target.interior + share * low * out


def _each(change: Callable[..., Array], *states: Any) -> Any:
    """Return a state whose arrays are made from those of others."""
    first = states[0]
    if is_tree(first):
        parts = [_each(change, *parts) for parts in zip(*states, strict=True)]
        return rebuild(first, parts)
    return change(*states)


def _worst_of(
    player: Certified, constraint: Constraint, state: Any, seen: list[Feedback], rng: Any
) -> Any:
    """Of several next states the one with the largest g, run by run; at times any other.

    Always the largest would come to rest: a push straight out is cut back to where it began.
    """
    best = player.update(state, seen[0])
    largest = constraint.query(best.x)[0]
    for feedback in seen[1:]:
        after = player.update(state, feedback)
        g = constraint.query(after.x)[0]
        worse = (g > largest) ^ (rng.random(g.shape) < 0.05)
        best = _each(partial(np.where, worse), after, best)
        largest = np.where(worse, g, largest)
    return best


def attack(number: int, played: int = PLAYED, numbers: int = NUMBERS) -> Outcome:
    """One batch of runs against one set, made and played from its number alone."""
    rng = np.random.default_rng([number, 20_250_713])
    kind = SETS[number % len(SETS)]
    tightening = TIGHTENINGS[number // len(SETS) % len(TIGHTENINGS)]
    adversary = ADVERSARIES[number // (len(SETS) * len(TIGHTENINGS)) % len(ADVERSARIES)]
    # Small dimensions more often: there an adversary finds the corners.
    d = int(2 * 25 ** rng.random() ** 2)
    target = _MAKE[kind](rng, d)
    constraint, domain = target.constraint, target.domain
    d = len(target.interior)
    rows = constraint.rows if isinstance(constraint, Affine) else d
    runs = int(np.clip(numbers // rows, 16, 1_024))
    G_g = constraint.subgradient_bound(domain)
    assert G_g is not None
    x1 = _starts(rng, target, runs)
    slack = -constraint.query(x1)[0]
    rho = 10 ** rng.uniform(-11, 0, (runs, 1)) * slack
    player = CertifiedPFS(
        G_g=G_g,
        domain=domain,
        rho=0.5 * G_g * float(domain.radius) if tightening == "default" else rho,
        decreasing=tightening == "default",
        eta=LONG,
        ratchet=False,
    )
    name = f"{kind}, d = {d}, {tightening} rho, {adversary}"
    state = player.init(x1)
    violations = cramped = judged = 0
    worst = -math.inf
    for t in range(played):
        g, s = constraint.query(state.x)
        knowledge = player.knowledge
        memory = knowledge.observe(state.memory, Reading(state.x, g, s, knowledge.errors))
        if t == 0 and not (fit := memory.slack[:, 0] > 0).all():
            # A start too close to the boundary for the rounding of g would be refused.
            state, memory = (_each(itemgetter(fit), part) for part in (state, memory))
            g, s, rho = g[fit], s[fit], rho[fit]
            if tightening != "default":
                player = _with_rho(player, rho)
        judged += len(g)
        violations += int((g > 0).sum())
        cramped += int((player.knowledge.region(memory, knowledge.errors).longest <= 0).sum())
        worst = max(worst, float((g / memory.rho).max()))
        ways = directions(adversary, constraint, state.x, s, rng)
        seen = [Feedback(-LONG * way, g, s) for way in ways]
        state = _worst_of(player, constraint, state, seen, rng)
        if tightening == "falling" and rng.random() < 0.3:
            rho = rho * rng.uniform(0.5, 1.0, rho.shape)
            player = _with_rho(player, rho)
    rule = f"CertifiedPFS, {kind}"
    return Outcome(number, name, judged, violations, worst, cramped, rule)


def _with_rho(player: CertifiedPFS, rho: Array) -> CertifiedPFS:
    """Return the player with another tightening."""
    return player.of(player.proposer, replace(player.knowledge, rho=rho), player.ramp)


# --- all of them ---------------------------------------------------------------------------------


def soak(
    outcomes: Iterable[Outcome], rounds: int, every: float = 10.0, unit: str = "tightening"
) -> Counts:
    """Take attack after attack until enough rounds have been played; return what they add up to.

    Args:
        outcomes: the attacks.
        rounds: how many rounds are enough.
        every: how many seconds pass between two lines of progress.
        unit: what the g of an outcome is divided by.
    """
    counts = Counts(unit)
    attacks = cramped = 0
    worst: Outcome | None = None
    began = said = time.monotonic()
    for outcome in outcomes:
        attacks += 1
        cramped += outcome.cramped
        counts.add(outcome.rule, outcome.rounds, outcome.violations, outcome.worst)
        if worst is None or outcome.worst > worst.worst:
            worst = outcome
        if outcome.violations:
            print(f"VIOLATED: {outcome}", flush=True)
        if counts.rounds >= rounds:
            break
        if time.monotonic() - said > every:
            said = time.monotonic()
            print(
                f"{counts.rounds:,} of {rounds:,} rounds, "
                f"{counts.rounds / (said - began):,.0f} a second, "
                f"nearest g = {worst.worst:.3g} of the {unit}, violations {counts.violations}",
                flush=True,
            )
    assert worst is not None
    for row in counts.rows.values():
        print(f"{row.rule}: {row.rounds:,} rounds, {row.violations} violations")
    print(
        f"{counts.rounds:,} rounds in {time.monotonic() - began:,.0f} s, {attacks} attacks; "
        f"{counts.violations} violations; {cramped:,} rounds without room\n"
        f"nearest g = {worst.worst:.6g} of the {unit} in attack {worst.number} ({worst.name})"
    )
    return counts


def _attacks(first: int, workers: int) -> Iterator[Outcome]:
    """One attack after another for ever, some at a time."""
    with ProcessPoolExecutor(workers) as pool:
        for number in itertools.count(first, 4 * workers):
            yield from pool.map(attack, range(number, number + 4 * workers))


def options(about: str, rounds: float) -> argparse.Namespace:
    """Read the command line of a soak: rounds, workers, first, stamp."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--rounds", type=float, default=rounds, help="how many at least")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    evidence.add_option(parser)
    return parser.parse_args()


def main() -> int:
    """Run the command line."""
    given = options(__doc__ or "", ROUNDS)
    stamp = evidence.begin(given, "certified steps soak", "safety.steps", COVERS)
    counts = soak(_attacks(given.first, given.workers), int(given.rounds))
    if stamp is not None:
        print(stamp.write(evidence.typed_command("soak"), counts.rows.values()))
    return int(counts.violations > 0)


if __name__ == "__main__":
    sys.exit(evidence.run(main))
