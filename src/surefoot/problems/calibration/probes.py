"""Probe around a strictly feasible point without leaving the feasible set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number, Region
from surefoot.regions import LipschitzHull, Reading
from surefoot.sets import Ball

__all__ = ["Probe"]


class Probe(NamedTuple):
    """What the constraint answered at a point.

    Attributes:
        point: where it was asked.
        value: g there.
        subgradient: one subgradient there.
    """

    point: Array
    value: float
    subgradient: Array

    @property
    def steepness(self) -> float:
        """The norm of the subgradient."""
        return float(np.linalg.norm(self.subgradient))


class QueryErrors(NamedTuple):
    """How much what is answered may err.

    Attributes:
        value: of g.
        slope: of a subgradient, as a distance.
    """

    value: float
    slope: float


def ask(query: Callable[[Array], tuple[Number, Array]], point: Array, repeats: int = 1) -> Probe:
    """Query the constraint and return the mean of the answers; raise if one is not valid."""
    answers = [_answer(query, point) for _ in range(repeats)]
    value = math.fsum(probe.value for probe in answers) / repeats
    return Probe(point, value, np.mean([probe.subgradient for probe in answers], axis=0))


def _answer(query: Callable[[Array], tuple[Number, Array]], point: Array) -> Probe:
    answer = query(point)
    try:
        value, subgradient = answer
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"the constraint must answer with g and one subgradient, got {answer!r}"
        ) from error
    g = checks.to_number(to_numpy(value), point, "g")
    if not math.isfinite(g):
        raise InvalidValueError(f"g must be finite, got {g!r} at {point!r}")
    s = checks.to_vector(subgradient, "subgradient", length=len(point))
    return Probe(point, g, s)


def certified_radius(
    start: Probe, constants: Constants, domain: Ball, errors: QueryErrors
) -> float:
    r"""Return the radius :math:`\alpha/G_g` of a ball around the start that is certainly feasible.

    It is the radius of the first certified ball, rounding margin and all, from the largest value
    that g may have at the start. 0 where the start is not strictly feasible by more than rounding
    and errors, or G_g is not known or only an estimate.
    """
    G_g, highest = constants.G_g, start.value + errors.value
    if G_g is None or constants.origins["G_g"] == "estimated" or not highest < 0:
        return 0.0
    hull = LipschitzHull(G_g=G_g, domain=domain)
    reading = Reading(start.point, highest, None, hull.errors)
    try:
        memory = hull.observe(hull.init(start.point), reading)
    except ValueError:
        return 0.0
    return max(float(hull.region(memory, hull.errors).radius), 0.0)


def look_around(
    query: Callable[[Array], Probe],
    start: Array,
    radius: float,
    count: int,
    seed: int,
    within: Region | None = None,
) -> list[Probe]:
    """Query opposite pairs of random points on the sphere of that radius around the start.

    What is not in the set is projected onto it, which takes no point farther from the start: that
    is in the set itself, and projections do not expand.
    """
    rng = np.random.default_rng(seed)
    found: list[Probe] = []
    way = np.zeros(len(start))
    for k in range(count):
        if k % 2 == 0:
            way = rng.normal(size=len(start))
            way /= np.linalg.norm(way)
        else:
            way = -way
        found.append(query(_inside(within, start, start + radius * way)))
    return found


def _inside(within: Region | None, start: Array, point: Array) -> Array:
    """Return the nearest point of a set that holds the start, rounding taken care of."""
    if within is None or within.contains(point):
        return point
    # Half of a part in 2^40 towards the start outweighs the rounding of the projection.
    nearest = start + (1 - 2.0**-40) * (np.asarray(within.project(point)) - start)
    while not within.contains(nearest) and (nearest != start).any():
        nearest = start + 0.5 * (nearest - start)
    return nearest


def find_contradiction(
    probes: Sequence[Probe], constants: Constants, errors: QueryErrors
) -> str | None:
    """Return what the answers prove wrong about constants or constraint; None if nothing."""
    G_g, slack = constants.G_g, constants.start_slack
    if slack is not None and slack > -probes[0].value + errors.value + 1e-12 * abs(slack):
        return f"g = {probes[0].value:.6g} at the start leaves no start_slack = {slack:.6g}"
    if G_g is not None and constants.origins["G_g"] != "estimated":
        steepest = max(probes, key=lambda probe: probe.steepness)
        if steepest.steepness > G_g * (1 + 1e-12) + errors.slope:
            return (
                f"|s| = {steepest.steepness:.6g} at {steepest.point} exceeds G_g = {G_g:.6g}: "
                "no step would be safe"
            )
    for a in probes:
        for b in probes:
            way = b.point - a.point
            below = a.value + float(a.subgradient @ way) - b.value
            below -= 2 * errors.value + errors.slope * float(np.linalg.norm(way))
            size = abs(a.value) + abs(b.value) + a.steepness * float(np.linalg.norm(way))
            if below > 1e-9 * size:
                return (
                    f"g = {b.value:.6g} at {b.point} is below the {b.value + below:.6g} that the "
                    f"subgradient at {a.point} allows: g is not convex or s no subgradient of it"
                )
    return None
