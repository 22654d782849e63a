"""Attacks on what named rules know: a part of :mod:`benchmarks.soak_knowledge`.

Hulls of balls, certified lengths, one smooth row, several smooth rows, and rows of different kinds,
with errors and under drift.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.soak_play import UNIT, DriftingRows, Rows, Tally, World, play
from surefoot import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import (
    CertifiedLength,
    Curvature,
    CurvatureRows,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.rules import RegionFilter
from surefoot.sets import Ball


def attack_hull(rng: np.random.Generator, factor: float) -> Tally:
    """Attack hulls of balls where g is fixed."""
    world = Rows(rng)
    world.err()
    world.close()
    known = LipschitzHull(
        G_g=factor * world.G_g,
        reach=world.reach,
        domain=world.box,
        errors=Errors(value=world.nu, evaluation=2 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


def attack_drifting_hull(rng: np.random.Generator, factor: float) -> Tally:
    """Attack hulls of balls under drift, with a bound on g at the start, or a second reading."""
    world = DriftingRows(rng)
    world.err()
    bound = world.bound_start()
    errors = Errors(value=world.nu, drift=factor * world.v, evaluation=2 * world.error)
    known = LipschitzHull(G_g=world.G_g, reach=world.reach, start_bound=bound, errors=errors)
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


def attack_length(rng: np.random.Generator, factor: float) -> Tally:
    """Attack certified lengths, with any tightening."""
    world = Rows(rng)
    world.err(slopes=True)
    known = CertifiedLength(
        G_g=factor * world.G_g,
        domain=Ball(world.size, world.middle),
        rho=world.depth * float(10 ** rng.uniform(-12, 0)),
        decreasing=bool(rng.random() < 0.5),
        errors=Errors(value=world.nu, slope=world.tau, evaluation=2 * world.error),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


class Bowls(World):
    """The largest of some convex quadratics, all negative at 0; some may be linear.

    Attributes:
        P: the matrix of each.
        q: the slope of each at 0.
        depths: the slack of each at 0.
        betas: the smoothness constant of each.
        is_flat: which of them are linear.
        lengths: the length of the slope of each at 0, rounded up.

    Args:
        rng: what draws them.
        count: how many.
        flat: how many of them are linear.
    """

    def __init__(self, rng: np.random.Generator, count: int, flat: int = 0) -> None:
        super().__init__(rng)
        d = int(rng.integers(1, 5))
        self.is_flat = np.arange(count) < flat
        spread = 10 ** rng.uniform(-1, 1, (count, d)) * ~self.is_flat[:, None]
        turn = np.linalg.qr(rng.normal(size=(count, d, d)))[0]
        P = (turn * spread[:, None]) @ turn.mT
        self.P = 0.5 * (P + P.mT)
        self.q = rng.normal(size=(count, d)) * 10 ** rng.uniform(-1, 0.5)
        self.depths = 10 ** rng.uniform(-2, 0, count)
        self.betas = spread.max(axis=1) * (1 + 1e-9)
        self.middle, self.depth = np.zeros(d), float(self.depths.min())
        steep = np.linalg.norm(self.q, axis=1)
        self.lengths = steep * (1 + (d + 4) * 2.0**-52)
        # A quadratic whose least eigenvalue is e is positive beyond this.
        least, at_0, slack = (v[~self.is_flat] for v in (spread.min(axis=1), steep, self.depths))
        self.size = 1.01 * float(((at_0 + np.sqrt(at_0**2 + 2 * least * slack)) / least).min())
        sizes = d * self.betas * self.size**2 + steep * self.size + self.depths
        self.error = 8 * (d + 4) * UNIT * float(sizes.max())

    def rows(self, points: Array) -> Array:
        """Return all rows at points, one point per row of the result."""
        bent = 0.5 * np.einsum("ni,mij,nj->nm", points, self.P, points)
        found: Array = bent + points @ self.q.T - self.depths
        return found

    def slopes(self, x: Array) -> Array:
        """Return the gradients of all rows at a point."""
        found: Array = self.P @ x + self.q
        return found

    def values(self, points: Array) -> Array:
        """Return the largest row at points."""
        found: Array = self.rows(points).max(axis=1)
        return found

    def slope(self, x: Array) -> Array:
        """Return the gradient of the largest row."""
        row: Array = self.slopes(x)[int(self.rows(x[None])[0].argmax())]
        return row


class SeparateBowls(Bowls):
    """Convex quadratics that are read separately."""

    def see(self, x: Array, g: float, s: Array, proposal: Array) -> Feedback:
        """Return what is reported of every row, or nothing."""
        if self.missing and self.is_told and self.rng.random() < self.missing:
            return Feedback(None, None, None, proposal=proposal)
        missing, self.missing = self.missing, 0.0
        readings = [
            self.read(float(g_i), s_i)
            for g_i, s_i in zip(self.rows(x[None])[0], self.slopes(x), strict=True)
        ]
        self.missing = missing
        values, slopes = (np.array(part) for part in zip(*readings, strict=True))
        return Feedback(None, values, slopes, proposal=proposal)


def _errors(world: Bowls) -> Errors:
    return Errors(value=world.nu, slope=world.tau, evaluation=2 * world.error)


def attack_curvature(rng: np.random.Generator, factor: float) -> Tally:
    """Attack one convex row of known smoothness."""
    world = Bowls(rng, 1)
    world.err(slopes=True)
    known = Curvature(beta=factor * float(world.betas[0]), reach=world.size, errors=_errors(world))
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


def attack_rows(rng: np.random.Generator, factor: float) -> Tally:
    """Attack several rows of known smoothness that are read separately."""
    world = SeparateBowls(rng, int(rng.integers(2, 5)))
    world.err(slopes=True)
    world.close()
    known = CurvatureRows(
        beta=(factor * world.betas).tolist(),
        rows=len(world.betas),
        reach=world.size,
        domain=world.box,
        errors=_errors(world),
    )
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


def attack_together(rng: np.random.Generator, factor: float) -> Tally:
    """Attack rows of different kinds: the slope of some is bounded, the smoothness of others."""
    flat = int(rng.integers(1, 3))
    world = SeparateBowls(rng, flat + int(rng.integers(1, 3)), flat)
    world.err()
    world.close()
    made: dict[str, Any] = {"reach": world.size, "errors": _errors(world)}
    rows = tuple(
        LipschitzHull(G_g=factor * float(length), **made)
        if is_flat
        else Curvature(beta=factor * float(beta), **made)
        for is_flat, length, beta in zip(world.is_flat, world.lengths, world.betas, strict=True)
    )
    known = Together(rows=rows, domain=world.box)
    return play(rng, RegionFilter(knowledge=known), world, world.middle)


ATTACKS: dict[str, Callable[[np.random.Generator, float], Tally]] = {
    "hull": attack_hull,
    "hull, drift": attack_drifting_hull,
    "certified length": attack_length,
    "curvature": attack_curvature,
    "rows of curvature": attack_rows,
    "rows of different kinds": attack_together,
}
