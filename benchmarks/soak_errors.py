"""A long attack on certified rules under errors: the true g is at most 0 in every round, exactly.

Values err by exactly what was told, slopes too, and every row of the constraint moves by exactly
the drift from round to round, in and out again. In each round an adversary draws several wishes and
errors, lets the rule answer each of them, and takes the one after which the true g is largest. What
is judged is the true g of the round in which the action is played, never what was read. Regions and
rules of every kind are attacked; where one run is played at a time, a contradiction is a false
alarm and counts as a failure too.

Run by ``make soak``; prints rounds, violations and false alarms by kind, and ends with status 1 on
either. ``--factor 3`` is the negative control: errors and drift of three times what was told, where
violations are expected, and status 1 means that none were found. An attack is a pure function of
its number.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from benchmarks import evidence
from surefoot import Ball
from surefoot.certified import Certified
from surefoot.core.feedback import Feedback
from surefoot.core.record import is_tree, rebuild
from surefoot.core.types import Array
from surefoot.knowledge import (
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.sets import Box

COVERS = (*evidence.LIBRARY, "benchmarks/soak_errors.py")
ROUNDS = 10**7
BATCHES = ("ball", "CertifiedPFS", "SafetyFilter", "CertifiedOGD, one row")
LIVE = (
    "Lipschitz hull",
    "balls",
    "LeaderFollower",
    "CertifiedOGD",
    "CertifiedDualAveraging",
    "balls and box",
    "mixed kinds",
    "CertifiedPFS, one run",
    "ball, one run",
)
# Attacks on batches are a hundred times as many rounds; every kind has its turn.
KINDS = (*BATCHES, *LIVE)
FLAT = ("Lipschitz hull", "CertifiedPFS", "SafetyFilter", "LeaderFollower", "CertifiedPFS, one run")
ONE = ("ball", "ball, one run", "CertifiedOGD, one row")
TRIES = 4


class Outcome(NamedTuple):
    """What came of an attack.

    Attributes:
        number: which it was.
        kind: what was attacked.
        rounds: actions that were judged.
        violations: how many had a true g above 0.
        worst: the largest true g, relative to the slack of the start.
        alarms: contradictions, where one run is played at a time.
        emptied: runs that ended because nothing was certified any more.
    """

    number: int
    kind: str
    rounds: int
    violations: int
    worst: float
    alarms: int
    emptied: int


class Target(NamedTuple):
    """Rows p'P_i p/2 + a_i'p - b_i around the origin, all of them -depth there."""

    P: Array
    A: Array
    depth: float
    radius: float
    steepest: float

    def values(self, x: Array, b: Array) -> Array:
        """Return all rows at the actions of a batch."""
        bent = 0.5 * np.einsum("bi,mij,bj->bm", x, self.P, x)
        return np.asarray(bent + x @ self.A.T - b)

    def slopes(self, x: Array) -> Array:
        """Return all slopes there."""
        return np.asarray(np.einsum("mij,bj->bmi", self.P, x) + self.A)


def _target(kind: str, rng: Any) -> Target:
    d, depth = int(rng.integers(2, 6)), 10 ** rng.uniform(-1, 0.5)
    if kind in FLAT:
        A = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(int(rng.integers(1, 5)), d))])
        A = A / np.linalg.norm(A, axis=1)[:, None] * rng.uniform(0.4, 1.0, (len(A), 1))
        return Target(np.zeros((len(A), d, d)), A, depth, depth / 0.4 * math.sqrt(d), 1.0)
    m = 1 if kind in ONE else 3
    P = np.empty((m, d, d))
    for i in range(m):
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        P[i] = Q @ np.diag(np.geomspace(rng.uniform(0.2, 1.0), 1.0, d)) @ Q.T
        P[i] = 0.5 * (P[i] + P[i].T)
    radius = math.sqrt(2 * depth / 0.2)
    return Target(P, np.zeros((m, d)), depth, radius * 1.01, radius * 1.02)


def _told(rng: Any, depth: float, steepest: float) -> Errors:
    """Draw which errors there are, and how large."""
    sizes = {
        "value": depth * 10 ** rng.uniform(-3, -0.7),
        "slope": steepest * 10 ** rng.uniform(-2.5, -0.6),
        "drift": depth * 10 ** rng.uniform(-5, -2),
    }
    there = rng.random(3) < 0.6
    if not there.any():
        there[rng.integers(3)] = True
    return Errors(**{name: float(sizes[name]) for name, t in zip(sizes, there, strict=True) if t})


def _player(kind: str, target: Target, told: Errors) -> Certified:
    """Return a rule or a filter."""
    R, d, m = target.radius, target.A.shape[1], len(target.A)
    ball = Ball(R)
    flat: dict[str, Any] = {"G_g": target.steepest, "errors": told}
    curved: dict[str, Any] = {"beta": 1.0 + 1e-9, "reach": R, "errors": told}
    players: dict[str, Callable[[], Certified]] = {
        "Lipschitz hull": lambda: RegionFilter(knowledge=LipschitzHull(reach=R, **flat)),
        "ball": lambda: RegionFilter(knowledge=Curvature(**curved)),
        "ball, one run": lambda: RegionFilter(knowledge=Curvature(**curved)),
        "balls": lambda: RegionFilter(knowledge=CurvatureRows(rows=m, **curved)),
        "balls and box": lambda: RegionFilter(
            knowledge=CurvatureRows(rows=m, domain=Box([-0.3 * R] * d, [0.9 * R] * d), **curved)
        ),
        "mixed kinds": lambda: RegionFilter(
            knowledge=Together(
                rows=(
                    LipschitzHull(reach=R, **flat),
                    *(Curvature(**curved) for _ in range(m - 1)),
                )
            )
        ),
        "CertifiedPFS": lambda: CertifiedPFS(
            G_g=target.steepest, domain=ball, rho=0.3 * target.depth
        ).allowing(told),
        "CertifiedPFS, one run": lambda: CertifiedPFS(
            G_g=target.steepest, domain=ball, rho=0.1 * target.depth, ratchet=False
        ).allowing(told),
        "SafetyFilter": lambda: SafetyFilter(
            G_g=target.steepest, domain=ball, rho=0.1 * target.depth
        ).allowing(told),
        "LeaderFollower": lambda: LeaderFollower(G_g=target.steepest, domain=ball, cuts=4).allowing(
            told
        ),
        "CertifiedOGD": lambda: CertifiedOGD(
            knowledge=CurvatureRows(rows=m, **curved), radius=R, ratchet=False
        ),
        "CertifiedOGD, one row": lambda: CertifiedOGD(
            knowledge=Curvature(**curved), radius=R, ratchet=False
        ),
        "CertifiedDualAveraging": lambda: CertifiedDualAveraging(
            knowledge=CurvatureRows(rows=m, **curved), radius=R
        ),
    }
    return players[kind]()


def _feedback(player: Certified, state: Any, proposal: Array, g: Any, s: Array) -> Feedback:
    """Return what a player is told that is to go a way."""
    if player.needs.proposals:
        return Feedback(None, g, s, proposal=state.x + proposal)
    return Feedback(-proposal, g, s)


def _chosen(best: Array, states: list[Any]) -> Any:
    """Return for each run the state of its best try."""
    first = states[0]
    if is_tree(first):
        parts = [_chosen(best, list(part)) for part in zip(*states, strict=True)]
        return rebuild(first, parts)
    if not isinstance(first, np.ndarray) or first.ndim == 0:
        return first
    return np.stack(states)[best, np.arange(len(best))]


def attack(
    number: int, kind: str | None = None, runs: int = 2000, played: int = 250, factor: float = 1.0
) -> Outcome:
    """Play one attack: a batch, or one run.

    Args:
        number: which it is.
        kind: what is attacked; by the number unless given.
        runs: how many at once in a batch; a fifth of it where searches are long.
        played: rounds of a batch; half of it there.
        factor: by what the errors and the drift exceed what was told.
    """
    rng = np.random.default_rng([2026, number])
    kind = KINDS[number % len(KINDS)] if kind is None else kind
    target = _target(kind, rng)
    told = _told(rng, target.depth, target.steepest)
    nu, tau, v = factor * told.value, factor * told.slope, factor * told.drift
    player, live = _player(kind, target, told), kind in LIVE
    separately = player.needs.separately
    if kind not in FLAT:
        runs, played = max(runs // 5, 1), max(played // 2, 1)
    runs, played = (1, min(played, 200)) if live else (runs, played)
    m, d = target.A.shape
    b = np.full((runs, m), target.depth)
    x = np.zeros((runs, d))
    state, tide = player.init(x[0] if live else x), np.ones((runs, 1))
    lost = alarms = judged = emptied = 0
    worst = -math.inf
    for _ in range(played):
        rows = target.values(x, b)
        top = rows.max(axis=1)
        alive = ~np.isnan(top)
        judged, lost = judged + int(alive.sum()), lost + int((top[alive] > 0).sum())
        worst = max(worst, float(top[alive].max(initial=-math.inf)) / target.depth)
        if not alive.any() or (live and top[0] > 0):
            break
        # The rows move in until half of the slack is gone, and out again; some the other way.
        tide = np.where(b.mean(axis=1, keepdims=True) < 0.6 * target.depth, -1.0, tide)
        tide = np.where(b.mean(axis=1, keepdims=True) > 0.95 * target.depth, 1.0, tide)
        way = np.where(rng.random((runs, m)) < 0.9, tide, -tide)
        moved = np.clip(b - v * way, 0.5 * target.depth, target.depth)
        slopes, at = target.slopes(x), rows.argmax(axis=1)
        tries, highest = [], []
        for k in range(TRIES):
            g, s = _read(rng, rows, slopes, at, nu, tau, separately)
            proposal = _wish(rng, slopes[np.arange(runs), at], target.radius, k)
            if live:
                g, s, proposal = (float(g[0, 0]) if not separately else g[0]), s[0], proposal[0]
            try:
                after, info = player.step(state, _feedback(player, state, proposal, g, s))
            except EmptyRegionError:
                continue
            alarms += len(info.contradictions) if live else 0
            tries.append(after)
            now = target.values(np.atleast_2d(after.x), moved).max(axis=1)
            highest.append(np.where(np.isnan(now), -math.inf, now))
        if not tries:
            emptied += 1
            break
        best = np.argmax(np.stack(highest), axis=0)
        state = tries[int(best[0])] if live else _chosen(best, tries)
        x, b = np.atleast_2d(state.x), moved
    emptied += int(np.isnan(x).any(axis=1).sum())
    return Outcome(number, kind, judged, lost, worst, alarms, emptied)


def _read(
    rng: Any, rows: Array, slopes: Array, at: Array, nu: float, tau: float, separately: bool
) -> tuple[Array, Array]:
    """Return values and slopes with errors of exactly the allowed size."""
    each = np.arange(len(slopes))
    g, s = (rows, slopes) if separately else (rows[each, at][:, None], slopes[each, at])
    g = g + nu * rng.choice([-1.0, -1.0, 1.0, rng.uniform(-1, 1)], g.shape)
    away = rng.normal(size=s.shape)
    steep = rng.random((*s.shape[:-1], 1))
    away = np.where(steep < 0.3, -s, np.where(steep < 0.4, s, away))
    size = np.linalg.norm(away, axis=-1, keepdims=True)
    return g, s + tau * away / np.where(size > 0, size, 1.0)


def _wish(rng: Any, s: Array, radius: float, k: int) -> Array:
    """Return a way to go: outwards, along the surface, or anywhere."""
    way = rng.normal(size=s.shape)
    if k == 0:
        way = s + 0.1 * way
    if k == 1:
        unit = s / np.maximum(np.linalg.norm(s, axis=1, keepdims=True), 1e-300)
        way = way - (way * unit).sum(axis=1, keepdims=True) * unit
    length = radius * 10 ** rng.uniform(-3, 2, (len(s), 1))
    return np.asarray(length * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300))


def attacks(
    first: int, workers: int, factor: float, kinds: tuple[str, ...] = KINDS
) -> Iterator[Outcome]:
    """Return the outcomes of all attacks from the first on, in their order."""
    with ProcessPoolExecutor(workers) as pool:

        def send(n: int) -> Any:
            return pool.submit(attack, n, kinds[n % len(kinds)], factor=factor)

        pending = [send(first + i) for i in range(2 * workers)]
        for n in itertools.count(first + 2 * workers):
            yield pending.pop(0).result()
            pending.append(send(n))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=float, default=ROUNDS, help="at least so many")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="what to attack")
    parser.add_argument("--factor", type=float, default=1.0, help="errors beyond what is told")
    evidence.add_option(parser)
    options = parser.parse_args()
    stamp = evidence.begin(options, "errors soak", "safety.errors", COVERS, KINDS)
    counts = evidence.Counts("slack of the start")
    of_kind: dict[str, list[Outcome]] = {kind: [] for kind in KINDS}
    total = 0
    for outcome in attacks(options.first, options.workers, options.factor, tuple(options.kinds)):
        of_kind[outcome.kind].append(outcome)
        total += outcome.rounds
        if options.factor <= 1 and (outcome.violations or outcome.alarms):
            print(f"VIOLATED: {outcome}", flush=True)
        if total >= options.rounds:
            break
    print(f"{'':24}{'rounds':>12}{'outside':>9}{'alarms':>8}{'emptied':>9}  worst g/slack")
    lost = 0
    for kind, found in of_kind.items():
        if found:
            rounds, outside = sum(o.rounds for o in found), sum(o.violations for o in found)
            alarms, emptied = sum(o.alarms for o in found), sum(o.emptied for o in found)
            lost += outside + (alarms if options.factor <= 1 else 0)
            worst = max(o.worst for o in found)
            counts.add(kind, rounds, outside, worst)
            print(f"{kind:24}{rounds:12,}{outside:9,}{alarms:8,}{emptied:9,}  {worst:.3g}")
    print(f"{total:,} rounds, errors {options.factor:g} times what was told")
    status = int(lost > 0) if options.factor <= 1 else int(lost == 0)
    if stamp is not None:
        print(stamp.write(evidence.typed_command("soak_errors"), counts.rows.values(), status))
    return status


if __name__ == "__main__":
    sys.exit(evidence.run(main))
