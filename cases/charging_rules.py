"""Rules for the chargers of a site: what operators use, what a known network allows, certified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cases.charging import (
    LARGEST,
    PER_AMPERE,
    ChargingNetwork,
    ChargingRule,
    Minute,
)
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.regions import CurvatureRows, EmptyRegionError, Reading
from surefoot.sets import Box

__all__ = [
    "CertifiedCharging",
    "as_fast_as_possible",
    "equal_share",
    "least_laxity_first",
    "projected_charging",
    "round_robin",
    "waiting_for_clean_power",
]


def as_fast_as_possible(minute: Minute) -> Array:
    """Return the wish that every car draws all it can; without a network, a rule of its own."""
    return minute.upper


def waiting_for_clean_power(minute: Minute) -> Array:
    """Return the wish that only cars in a hurry draw while the power is dirtier than usual.

    A car is in a hurry if it needs more than half of what it could still get.
    """
    if minute.clean:
        return minute.upper
    could = np.maximum(minute.left, 1) * LARGEST * PER_AMPERE
    return np.where(minute.remaining > 0.5 * could, minute.upper, 0.0)


def equal_share(network: ChargingNetwork) -> ChargingRule:
    """Return the rule of most sites: no charger more than what all could draw at the same time."""
    share = network.equal_share()
    return lambda minute: np.minimum(minute.upper, share)


def least_laxity_first(network: ChargingNetwork) -> ChargingRule:
    """Return the rule that serves the car with the least spare time first; it knows the network."""

    def rule(minute: Minute) -> Array:
        if (network.values(minute.upper) <= 0).all():
            return minute.upper
        needed = minute.remaining / (LARGEST * PER_AMPERE)
        cars = np.flatnonzero(minute.upper > 0)
        x = np.zeros_like(minute.upper)
        for j in cars[np.argsort((minute.left - needed)[cars], kind="stable")]:
            x[j] = min(float(minute.upper[j]), _room(network, x, int(j)))
        return _scaled(network, x)

    return rule


def round_robin(network: ChargingNetwork, step: float = 1.0) -> ChargingRule:
    """Return the rule that gives cars a step each in turn, while the known network allows it.

    Args:
        network: of the site.
        step: in ampere.
    """

    def rule(minute: Minute) -> Array:
        if (network.values(minute.upper) <= 0).all():
            return minute.upper
        # The rounds in which every car gets its step, at once.
        low, high = 0, int(np.ceil(LARGEST / step))
        while high - low > 1:
            middle = (low + high) // 2
            some = np.minimum(minute.upper, middle * step)
            low, high = (middle, high) if (network.values(some) <= 0).all() else (low, middle)
        x = np.minimum(minute.upper, low * step)
        going = np.flatnonzero(minute.upper > x).tolist()
        z, limit = network.matrix @ x, network.ratings
        while going:
            left = []
            for j in going:
                more = min(step, float(minute.upper[j]) - float(x[j]))
                after = z + more * network.matrix[:, j]
                if (abs(after) <= limit).all():
                    x[j], z = x[j] + more, after
                    if more == step and x[j] < minute.upper[j]:
                        left.append(j)
            going = left
        return _scaled(network, x)

    return rule


def _room(network: ChargingNetwork, x: Array, j: int) -> float:
    """Return the largest current of a charger beside what flows already."""
    z, a = network.matrix @ x, network.matrix[:, j]
    some = abs(a) > 0
    z, a, c = z[some], a[some], network.ratings[some]
    square, along = abs(a) ** 2, (z.conj() * a).real
    slack = np.maximum(c * c - abs(z) ** 2, 0.0)
    return float(((np.sqrt(along**2 + square * slack) - along) / square).min())


def _scaled(network: ChargingNetwork, x: Array) -> Array:
    """Return currents that rounding put on the wrong side of a rating, a little smaller."""
    while (network.values(x) > 0).any():
        x = x * (1 - 1e-12)
    return x


def projected_charging(
    network: ChargingNetwork, wish: ChargingRule = as_fast_as_possible
) -> ChargingRule:
    r"""Return projected descent with the known network, by a cone solver (extra ``solve``).

    The cost of a minute is :math:`\frac12\|x - w_t\|^2` and the step size is 1, so that the next
    currents are the feasible ones nearest to the wish. Ratings are lowered by a millionth, which is
    what the solver may miss them by.

    Args:
        network: of the site.
        wish: w of a minute.
    """
    clarabel = need("clarabel", "solve", "projection onto a known network")
    sparse = need("scipy.sparse", "solve", "projection onto a known network")
    d = network.matrix.shape[1]
    options = clarabel.DefaultSettings()
    options.verbose = False

    def rule(minute: Minute) -> Array:
        w = wish(minute)
        if (network.values(w) <= 0).all():
            return w
        cars = np.flatnonzero(minute.upper > 0)
        n, eye = len(cars), np.eye(len(cars))
        blocks, limits = [eye, -eye], [minute.upper[cars], np.zeros(n)]
        cones: list[Any] = [clarabel.NonnegativeConeT(2 * n)]
        for a, c in zip(network.matrix[:, cars], network.ratings, strict=True):
            if abs(a) @ minute.upper[cars] > c:
                blocks.append(-np.vstack([np.zeros(n), a.real, a.imag]))
                limits.append(np.array([c * (1 - 1e-6), 0.0, 0.0]))
                cones.append(clarabel.SecondOrderConeT(3))
        A, b = sparse.csc_matrix(np.vstack(blocks)), np.concatenate(limits)
        P = sparse.csc_matrix(eye)
        found = clarabel.DefaultSolver(P, -w[cars], A, b, cones, options).solve()
        x = np.zeros(d)
        x[cars] = np.clip(np.array(found.x), 0.0, minute.upper[cars])
        return x

    return rule


@dataclass(slots=True)
class CertifiedCharging:
    r"""The currents nearest to the wish that are certainly feasible; the network is not known.

    What is known: a bound on the curvature of each line, the announced box, and that no line is
    overloaded where no current flows. What is measured: value and sensitivities of each line at the
    currents that flow (:class:`surefoot.regions.CurvatureRows`). Where so many cars leave at once
    that no point of the announced box is certified from the last currents, the currents are
    certified from the first measurement, that of the empty site.

    Args:
        curvatures: one per line.
        wish: of a minute.

    Attributes:
        restarts: how often the first measurement was needed.

    Example:
        >>> from cases.charging import charging_site
        >>> site = charging_site("caltech", days=1)
        >>> done = site.run(CertifiedCharging(site.network.curvatures), minutes=540)
        >>> done.over, round(done.delivered)
        (0, 22)
    """

    curvatures: Array
    wish: ChargingRule = as_fast_as_possible
    restarts: int = field(default=0, init=False)
    _knowledge: CurvatureRows = field(init=False, repr=False)
    _memory: Any = field(default=None, init=False, repr=False)
    _weights: Any = field(default=None, init=False, repr=False)
    _first: Any = field(default=None, init=False, repr=False)

    def __call__(self, minute: Minute) -> Array:
        """Return the currents of a minute."""
        x, g, s = minute.action, minute.values, minute.slopes
        if self._first is None:
            reach = LARGEST * float(np.sqrt(len(x)))
            self._knowledge = CurvatureRows(beta=tuple(self.curvatures), reach=reach)
            self._memory, self._weights = self._knowledge.init(x), 0.0 * g
        errors = self._knowledge.errors
        self._memory = self._knowledge.observe(self._memory, Reading(x, g, s, errors))
        region = self._knowledge.region(self._memory, errors)
        if self._first is None:
            self._first = region
        box, wish = Box(np.zeros_like(x), minute.upper), self.wish(minute)
        try:
            found = region.within(box).find_nearest(wish, self._weights)
        except EmptyRegionError:
            self.restarts += 1
            found = self._first.within(box).find_nearest(wish, 0.0 * g)
        # Multipliers of the last minute that had some: the next search starts from them.
        self._weights = found.weights if found.weights.any() else self._weights
        currents: Array = found.point
        return currents
