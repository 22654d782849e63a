"""Rules for the chargers of a site: what operators use, what a known network allows, certified."""

from __future__ import annotations

import numpy as np

from cases.charging import (
    LARGEST,
    PER_AMPERE,
    ChargingNetwork,
    ChargingRule,
    ChargingSite,
    Minute,
)
from cases.cones import project
from surefoot.algorithms import DPP, RegionFilter
from surefoot.core.types import Array, Feedback
from surefoot.regions import CurvatureRows, EmptyRegionError
from surefoot.sets import Box

__all__ = [
    "as_fast_as_possible",
    "certified_charging",
    "drift_plus_penalty",
    "equal_share",
    "least_laxity_first",
    "projected_charging",
    "round_robin",
]


def as_fast_as_possible(minute: Minute) -> Array:
    """Return the wish that every car draws all it can; without a network, a rule of its own."""
    return minute.upper


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


def projected_charging(network: ChargingNetwork) -> ChargingRule:
    r"""Return projected descent with the known network, by a cone solver.

    The cost of a minute is :math:`\frac12\|x - w_t\|^2` and the step size is 1, so that the next
    currents are the feasible ones nearest to the wish. Ratings are lowered by a millionth, which is
    what the solver may miss them by.
    """

    def rule(minute: Minute) -> Array:
        wish = minute.upper
        if (network.values(wish) <= 0).all():
            return wish
        cars = np.flatnonzero(wish > 0)
        n, w, eye = len(cars), wish[cars], np.eye(len(cars))
        cones = [
            (-np.vstack([np.zeros(n), a.real, a.imag]), np.array([c * (1 - 1e-6), 0.0, 0.0]))
            for a, c in zip(network.matrix[:, cars], network.ratings, strict=True)
            if abs(a) @ w > c
        ]
        x = np.zeros_like(wish)
        found = project(w, np.vstack([eye, -eye]), np.concatenate([w, np.zeros(n)]), cones)
        x[cars] = np.clip(found, 0.0, w)
        return x

    return rule


def drift_plus_penalty(site: ChargingSite, V: float = 1.0, alpha: float = 1.0) -> ChargingRule:
    """Return DPP in shares of 32 A and of the ratings, its domain the announced box."""
    ratings = site.network.ratings
    queues = np.zeros(len(ratings))

    def rule(minute: Minute) -> Array:
        nonlocal queues
        upper, x = minute.upper / LARGEST, minute.action / LARGEST
        box = Box(np.zeros(site.chargers), upper)
        player = DPP(V=V, alpha=alpha, rows=len(ratings), domain=box)
        slopes = LARGEST * minute.slopes / ratings[:, None]
        state = player.init(np.zeros(site.chargers))._replace(x=x, queues=queues)
        state = player.update(state, Feedback(x - upper, minute.values / ratings, slopes))
        queues = state.queues
        return np.minimum(LARGEST * state.x, minute.upper)

    return rule


def certified_charging(network: ChargingNetwork) -> ChargingRule:
    r"""Return the currents nearest to the wish that are certainly feasible.

    The network is not known, but for a bound on the curvature of each line. Told are the announced
    box, and value and sensitivities of each line at the currents that flow. Where so many cars
    leave at once that no point of the announced box is certified from the last currents, the
    currents are certified from the first measurement, that of the empty site.

    Example:
        >>> from cases.charging import charging_site
        >>> site = charging_site("caltech", days=1)
        >>> done = site.run(certified_charging(site.network), minutes=540)
        >>> bool((done.values <= 0).all()), round(done.delivered)
        (True, 22)
    """
    beta, nothing = tuple(network.curvatures), np.zeros(network.matrix.shape[1])
    reach = LARGEST * float(np.sqrt(len(nothing)))
    safe = RegionFilter(knowledge=CurvatureRows(beta=beta, reach=reach))
    state, first = safe.step(safe.init(nothing), Feedback(None, *network.measure(nothing)))

    def rule(minute: Minute) -> Array:
        nonlocal state
        box, seen = Box(nothing, minute.upper), Feedback(None, minute.values, minute.slopes)
        seen = seen._replace(action=minute.action, proposal=minute.upper, within=box)
        try:
            state, _ = safe.step(state, seen)
            currents: Array = state.x
        except EmptyRegionError:
            currents = first.region.within(box).nearest(minute.upper)
        return currents

    return rule
