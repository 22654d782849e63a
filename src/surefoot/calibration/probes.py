"""Probe around a strictly feasible point without leaving the feasible set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._array import to_numpy
from surefoot.algorithms import SafetyFilter
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets import Ball
from surefoot.types import Array

__all__ = ["Probe", "certified_radius", "contradiction", "look_around"]


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


def ask(query: Callable[[Array], Any], point: Array) -> Probe:
    """Query the constraint once; raise if the answer is not valid."""
    answer = query(point)
    try:
        value, subgradient = answer
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"the constraint must answer with g and one subgradient, got {answer!r}"
        ) from error
    g = _check.number(to_numpy(value), point, "g")
    if not math.isfinite(g):
        raise InvalidValueError(f"g must be finite, got {g!r} at {point!r}")
    s = _check.vector(subgradient, "subgradient", length=len(point))
    return Probe(point, g, s)


def certified_radius(start: Probe, constants: Constants, domain: Ball) -> float:
    r"""Return the radius :math:`\alpha/G_g` of a ball around the start that is certainly feasible.

    It is the first certified length, rounding margin and all. 0 where the start is not strictly
    feasible by more than rounding, or G_g is not known or only an estimate.
    """
    G_g = constants.G_g
    if G_g is None or constants.origins["G_g"] == "estimated" or not start.value < 0:
        return 0.0
    safe = SafetyFilter(G_g=G_g, domain=domain, rho=-start.value)
    try:
        length = safe.certified_length(*safe.init(start.point), start.value, start.subgradient)
    except ValueError:
        return 0.0
    return max(float(length.max_step), 0.0)


def look_around(
    query: Callable[[Array], Any], start: Array, radius: float, count: int, seed: int
) -> list[Probe]:
    """Query opposite pairs of random points on the sphere of that radius around the start."""
    rng = np.random.default_rng(seed)
    found: list[Probe] = []
    way = np.zeros(len(start))
    for k in range(count):
        if k % 2 == 0:
            way = rng.normal(size=len(start))
            way /= np.linalg.norm(way)
        else:
            way = -way
        found.append(ask(query, start + radius * way))
    return found


def contradiction(probes: Sequence[Probe], constants: Constants) -> str | None:
    """Return what the answers prove wrong about constants or constraint; None if nothing."""
    G_g, slack = constants.G_g, constants.start_slack
    if slack is not None and slack > -probes[0].value + 1e-12 * abs(slack):
        return f"g = {probes[0].value:.6g} at the start leaves no start_slack = {slack:.6g}"
    if G_g is not None and constants.origins["G_g"] != "estimated":
        steepest = max(probes, key=lambda probe: probe.steepness)
        if steepest.steepness > G_g * (1 + 1e-12):
            return (
                f"|s| = {steepest.steepness:.6g} at {steepest.point} exceeds G_g = {G_g:.6g}: "
                "no step would be safe"
            )
    for a in probes:
        for b in probes:
            way = b.point - a.point
            below = a.value + float(a.subgradient @ way) - b.value
            size = abs(a.value) + abs(b.value) + a.steepness * float(np.linalg.norm(way))
            if below > 1e-9 * size:
                return (
                    f"g = {b.value:.6g} at {b.point} is below the {b.value + below:.6g} that the "
                    f"subgradient at {a.point} allows: g is not convex or s no subgradient of it"
                )
    return None
