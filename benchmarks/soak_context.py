"""Attack the hull of contexts: ``python -m benchmarks.soak_context --rounds 10000000``.

A limit that is as steep as it may be, in x and in the context, and an adversary that chooses
contexts and wishes: jumps, small changes, the same again, wishes far away, at the edge and back. It
prints the largest g of all rounds, which must be at most 0, in exact comparison.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from surefoot.core.types import Array, Context
from surefoot.regions import (
    Additive,
    ContextCurvature,
    ContextHull,
    ContextKind,
    EmptyRegionError,
    JointContext,
    LipschitzContext,
    Reading,
    ToldDrift,
)

KINDS: dict[str, ContextKind] = {
    "additive": Additive(),
    "lipschitz": LipschitzContext(0.5),
    "one_sided": LipschitzContext(0.5, one_sided=True),
    "joint": JointContext(0.5),
    "drift": ToldDrift(),
}
RUN = 200
"""The rounds of one limit; then another begins."""


class Limit:
    """g(x; c) = max_i r_i'(x - c-dependent shift) - depth, with rows of length G_g = 1."""

    def __init__(self, rng: np.random.Generator, kind: ContextKind) -> None:
        self.d = int(rng.integers(1, 4))
        rows = rng.normal(size=(int(rng.integers(1, 6)), self.d))
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.depth, self.kind = float(10.0 ** rng.uniform(-3.0, 0.0)), kind
        self.path = 0.0

    def shift(self, place: Array) -> float:
        """Return what the context adds: as steep as it may be."""
        if isinstance(self.kind, Additive):
            return float(place[0])
        if isinstance(self.kind, ToldDrift):
            return self.path
        if isinstance(self.kind, LipschitzContext) and self.kind.one_sided:
            return 0.5 * max(float(np.linalg.norm(np.maximum(place, 0.0))), 0.0)
        return 0.5 * float(np.linalg.norm(place)) * (1 - 1e-15)

    def __call__(self, x: Array, place: Array) -> float:
        """Return g."""
        return float((self.rows @ x).max() + self.shift(place) - self.depth)


def attack(kind: ContextKind, rounds: int, seed: int = 0) -> float:
    """Return the largest g that was played."""
    rng, worst = np.random.default_rng(seed), -np.inf
    for _ in range(0, rounds, RUN):
        g = Limit(rng, kind)
        most = 0.9 * g.depth
        known: Any = ContextHull(G_g=1.0, reach=8.0, context=kind, start_bound=-0.09 * g.depth)
        x, place = np.zeros(g.d), np.zeros(1 if isinstance(kind, Additive | ToldDrift) else 2)
        memory = known.announce(known.init(x), Context(place))
        for t in range(RUN):
            value = g(x, place)
            worst = max(worst, value)
            memory = known.observe(memory, Reading(x, value, None, known.errors))
            place = _next_place(rng, kind, g, place, most)
            memory = known.announce(memory, Context(place))
            region = known.region(memory, known.errors)
            scale = (8.0, g.depth, 1e-6)[t % 3]
            x = region.nearest(x + scale * rng.normal(size=g.d))
    return float(worst)


def attack_curvature(rounds: int, seed: int = 0) -> float:
    """Return the largest g that was played by a curvature: h is not convex, g = h + c."""
    rng, worst = np.random.default_rng(seed), -np.inf
    for _ in range(0, rounds, RUN):
        d, depth = int(rng.integers(1, 4)), float(10.0 ** rng.uniform(-2.0, 0.0))
        way, beta = rng.normal(size=d), 2.0
        way /= np.linalg.norm(way)

        def read(x: Array, c: float, way: Array = way, depth: float = depth) -> tuple[float, Array]:
            bent, angle = float(x @ x), 3.0 * float(way @ x)
            slope = 0.6 * x + 0.4 * np.cos(angle) * way
            return float(0.3 * bent + 0.4 / 3.0 * np.sin(angle) + c - depth), slope

        known: Any = ContextCurvature(beta=beta, reach=8.0, context=Additive(), convex=False)
        x, place = np.zeros(d), np.zeros(1)
        memory = known.announce(known.init(x), Context(place))
        for t in range(RUN):
            value, slope = read(x, float(place[0]))
            worst = max(worst, value)
            memory = known.observe(memory, Reading(x, value, slope, known.errors))
            for hard in (0.5, 0.1, 0.01, 0.0):  # the harshest of a few in which something is sure
                after = np.array([min(float(place[0]) - value * rng.normal() * 4 * hard, 2.0)])
                after = np.maximum(after, -1.0)
                trial = known.announce(memory, Context(after))
                region = known.region(trial, known.errors)
                try:
                    new = region.nearest(x + (8.0, depth, 1e-6)[t % 3] * rng.normal(size=d))
                except EmptyRegionError:
                    continue
                memory, place, x = trial, after, new
                break
            else:
                break
    return float(worst)


def _next_place(
    rng: np.random.Generator, kind: ContextKind, g: Limit, place: Array, most: float
) -> Array:
    """Return the next context, in which the start stays feasible."""
    if isinstance(kind, ToldDrift):
        told = float(rng.choice([0.0, 0.3, 0.01])) * g.depth
        g.path = float(np.clip(g.path + rng.choice([-1.0, 1.0]) * told, -2.0 * most, most))
        return kind.read(told, place)
    if rng.random() < 0.3:
        return place
    size = most if isinstance(kind, Additive) else most / 0.5 / np.sqrt(2.0)
    near = rng.random() < 0.5
    target = place + 1e-3 * size * rng.normal(size=len(place)) if near else None
    if target is None:
        target = rng.uniform(-1.0 if isinstance(kind, Additive) else 0.0, 1.0, len(place)) * size
    return np.clip(target, -size, size)


def main() -> int:
    """Attack every kind of context."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    worst = {k: attack(KINDS[k], options.rounds, options.seed) for k in options.kinds}
    worst["curvature"] = attack_curvature(options.rounds, options.seed)
    for name, g in worst.items():
        print(f"{name}: {options.rounds} rounds, the largest g is {g:.3g}")
    return 0 if max(worst.values()) <= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
