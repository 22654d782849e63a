"""The second half of ``make soak``: what a hostile caller does to one run of a certified player.

Proposals of every magnitude that float64 has, other types of numbers, one buffer for everything,
written over after each call, and attempts to write to the state: an action may be refused in a
sentence, none may violate its constraint, exactly compared, and a warning of NumPy that reaches the
caller is printed. A player is one line of ``PLAYERS``; sets are those of :mod:`benchmarks.soak`,
and for rules that know a curvature those of :mod:`benchmarks.soak_regions`. An attack is a pure
function of its number.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks import evidence, soak, soak_regions
from benchmarks.soak import LONG, Outcome, Target
from surefoot import Ball, CertifiedPFS, Feedback, SafetyFilter, SurefootError
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, Errors, LipschitzHull
from surefoot.rules import CertifiedOGD, LeaderFollower, RegionFilter

COVERS = (*soak.COVERS, "benchmarks/hostile.py", "benchmarks/soak_regions.py")
ROUNDS = 10**5  # one run at a time: a round costs a hundred times one of a batch
PLAYED = 200


def _reach(target: Target) -> float:
    return float(target.domain.radius + np.linalg.norm(target.interior))


def _rows(target: Target) -> CurvatureRows:
    """Return what is known of the curvature of each row of a set."""
    g, domain = target.constraint, target.domain
    return CurvatureRows(
        beta=float(np.max(g.row_curvatures(domain))),
        rows=g.rows,
        reach=_reach(target),
        errors=Errors(evaluation=float(g.evaluation_error(domain) or 0.0)),
    )


# What an attack is made against: a set with its G_g and a tightening give a player.
PLAYERS: dict[str, Callable[[Target, float, float], Any]] = {
    "certified": lambda target, G_g, rho: CertifiedPFS(
        G_g=G_g, domain=target.domain, rho=rho, decreasing=False, eta=LONG, ratchet=False
    ),
    "certified, default": lambda target, G_g, rho: CertifiedPFS(
        G_g=G_g, domain=target.domain, rho=rho
    ),
    "safety filter": lambda target, G_g, rho: SafetyFilter(G_g=G_g, domain=target.domain, rho=rho),
    "hull filter": lambda target, G_g, rho: RegionFilter(
        knowledge=LipschitzHull(G_g=G_g, reach=_reach(target))
    ),
    "leader and follower": lambda target, G_g, rho: LeaderFollower(
        G_g=G_g,
        domain=target.domain,
        evaluation_error=target.constraint.evaluation_error(target.domain) or 0.0,
    ),
    "descent with curvature": lambda target, G_g, rho: CertifiedOGD(
        knowledge=_rows(target), radius=float(target.domain.radius), eta=LONG, ratchet=False
    ),
    "filter with curvature": lambda target, G_g, rho: RegionFilter(knowledge=_rows(target)),
}
CURVED = ("descent with curvature", "filter with curvature")  # which see every row
MANNERS = ("far", "any magnitude", "other types", "one buffer")
TYPES = (np.float32, np.float16, np.int64, np.int8, np.longdouble, object, list, str)


def _push(rng: Any, manner: str, out: Array) -> Any:
    """Return where the caller wants to go from the action, in its manner."""
    size = 10.0
    if manner == "far" and rng.random() < 0.5:
        size = 10 ** rng.uniform(100, 308)
    elif manner == "any magnitude":
        size = 10 ** rng.uniform(-323, 308.2)
    with np.errstate(over="ignore", under="ignore"):
        way = size * out
    if manner == "other types" and rng.random() < 0.5:
        kind: Any = TYPES[int(rng.integers(len(TYPES)))]
        with np.errstate(all="ignore"):
            return way.tolist() if kind is list else way.astype(kind)
    return way


def _moved(player: Any, state: Any, way: Any, g: Any, s: Array) -> Any:
    """Return the next state of a player that is told, or of one that is proposed to."""
    if not player.needs.proposals:
        gradient = [-w for w in way] if type(way) is list else -way
        return _warned(lambda: player.update(state, Feedback(gradient, g, s)))
    with np.errstate(all="ignore"):  # the caller's own arithmetic
        proposal = way if isinstance(way, list) or way.dtype == object else state.x + way
    return _warned(lambda: player.update(state, Feedback(None, g, s, proposal=proposal)))


def _warned(call: Callable[[], Any]) -> Any:
    """Return what a call returns; a warning of NumPy's in it is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return call()


def _target(rng: Any, who: str, kind: str) -> Target:
    """Return a set that the player knows enough about."""
    if who not in CURVED:
        return soak._MAKE[kind](rng, int(2 * 4 ** rng.random() ** 2))
    curved = ("ball", "half-spaces", "balls")[soak.SETS.index(kind) % 3]
    made = soak_regions._target(curved, rng)
    return Target(made.constraint, Ball(made.radius, made.middle), made.middle)


def attack(number: int, played: int = PLAYED) -> Outcome:
    """Play one run of one player against one set, made from its number alone."""
    rng = np.random.default_rng([number, 20_261_116])
    names = list(itertools.product(PLAYERS, MANNERS, soak.SETS))
    who, manner, kind = names[number % len(names)]
    target = _target(rng, who, kind)
    constraint = target.constraint
    G_g = constraint.subgradient_bound(target.domain)
    assert G_g is not None
    x1 = soak._starts(rng, target, 1)[0]
    slack = -float(constraint.query(x1)[0])
    player = PLAYERS[who](target, float(G_g), 10 ** rng.uniform(-6, 0) * slack)
    name = f"{kind}, d = {len(x1)}, {who}, {manner}"
    buffer = x1.copy()
    state = player.init(buffer)
    judged = violations = refused = 0
    worst = -math.inf
    ask = constraint.query_all if who in CURVED else constraint.query
    for _ in range(played):
        if manner == "one buffer":
            buffer[:] = 1e6  # the caller's again, whatever was given of it
            with contextlib.suppress(ValueError):
                state.x[:] = 1e6
        g, s = constraint.query(state.x)
        judged += 1
        violations += not g <= 0
        worst = max(worst, float(g) / slack)
        outward = next(iter(soak.directions("uncut", constraint, state.x[None], s[None], rng)))[0]
        told, rows = ask(state.x)
        told = told if who in CURVED else float(told)
        out = (s, outward, rng.normal(size=len(s)))[int(rng.integers(3))]
        try:
            if manner == "one buffer":
                shared = np.resize(buffer, rows.shape)
                shared[:] = rows
                state = _moved(player, state, _push(rng, manner, out), told, shared)
                shared[:] = 1e6
            else:
                state = _moved(player, state, _push(rng, manner, out), told, rows)
        except (SurefootError, ValueError, TypeError):
            refused += 1
        except RuntimeWarning as warning:
            print(f"WARNED: attack {number} ({name}): {warning}", flush=True)
    return Outcome(number, name, judged, violations, worst, refused, who)


def _attacks(first: int, workers: int) -> Iterator[Outcome]:
    """One attack after another for ever, some at a time."""
    with ProcessPoolExecutor(workers) as pool:
        for number in itertools.count(first, 64 * workers):
            yield from pool.map(attack, range(number, number + 64 * workers), chunksize=16)


def main() -> int:
    """Run the command line."""
    options = soak.options(__doc__ or "", ROUNDS)
    print("hostile callers (rounds without room are calls refused in a sentence)")
    stamp = evidence.begin(options, "hostile callers soak", "safety.hostile", COVERS)
    attacks = _attacks(options.first, options.workers)
    counts = soak.soak(attacks, int(options.rounds), unit="slack of the start")
    if stamp is not None:
        print(stamp.write(evidence.typed_command("hostile"), counts.rows.values()))
    return int(counts.violations > 0)


if __name__ == "__main__":
    sys.exit(evidence.run(main))
