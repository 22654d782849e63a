"""Rules for the chargers of a site: what operators use, what a known network allows, certified."""

import numpy as np

from cases.charging import (
    LARGEST,
    MOST,
    PER_AMPERE,
    ChargingNetwork,
    ChargingRule,
    ChargingSite,
    Minute,
)
from surefoot.certified import Certified
from surefoot.controller import Controller
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import Column, ContextHull, CurvatureRows, EmptyRegionError, Reading
from surefoot.proposers.proposals import Proposals
from surefoot.rules import DPP
from surefoot.sets import Box


def as_fast_as_possible(minute: Minute) -> Array:
    """Return the wish that every car draws all it can; without a network, a rule of its own."""
    return minute.upper


def equal_share(site: ChargingSite) -> ChargingRule:
    """Return the rule of most sites: no charger more than all could draw at the same time."""
    share = site.network.leave(MOST).equal_share()
    return lambda minute: np.minimum(minute.upper, share)


def least_laxity_first(site: ChargingSite) -> ChargingRule:
    """Return the rule that serves the car with the least spare time first; it knows the network."""

    def rule(minute: Minute) -> Array:
        network = site.network.leave(minute.load)
        if (network.values(minute.upper) <= 0).all():
            return minute.upper
        needed = minute.remaining / (LARGEST * PER_AMPERE)
        cars = np.flatnonzero(minute.upper > 0)
        x = np.zeros_like(minute.upper)
        for j in cars[np.argsort((minute.left - needed)[cars], kind="stable")]:
            x[j] = min(float(minute.upper[j]), _room(network, x, int(j)))
        return x

    return rule


def _room(network: ChargingNetwork, x: Array, j: int) -> float:
    """Return the largest current of a charger beside what flows already."""
    z, a = network.matrix @ x, network.matrix[:, j]
    some = abs(a) > 0
    z, a, c = z[some], a[some], network.ratings[some]
    square, along = abs(a) ** 2, (z.conj() * a).real
    slack = np.maximum(c * c - abs(z) ** 2, 0.0)
    return float(((np.sqrt(along**2 + square * slack) - along) / square).min())


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


def certified_charging(site: ChargingSite) -> ChargingRule:
    r"""Return the currents nearest to the wish that are certainly feasible, by rows of curvature.

    The network is not known, but for ratings and a bound on the curvature of each line. Told are
    the announced box, and value and sensitivities of each line at the currents that flow; where the
    load has grown, those of a share of these currents follow, as currents add up. Where so many
    cars leave at once that nothing of the announced box is certified from the last currents, it is
    from none.

    Example:
        >>> from cases.charging import charging_site
        >>> site = charging_site("caltech", days=1)
        >>> done = site.run(certified_charging(site), minutes=540)
        >>> bool((done.values <= 0).all()), round(done.delivered)
        (True, 21)
    """
    network, nothing = site.network, np.zeros(site.chargers)
    reach = LARGEST * float(np.sqrt(site.chargers))
    known = CurvatureRows(beta=tuple(network.curvatures), reach=reach)

    def certify(minute: Minute, x: Array, g: Array, s: Array) -> Array:
        memory = known.observe(known.init(x), Reading(x, g, s, known.errors))
        region = known.region(memory, known.errors).within(Box(nothing, minute.upper))
        currents: Array = region.nearest(minute.upper)
        return currents

    def rule(minute: Minute) -> Array:
        room = (0.5 - minute.load) * network.ratings
        squares = np.maximum(minute.values + room, 1e-300)
        share = min(1.0, float(np.sqrt((room / squares).min())) * (1 - 1e-9))
        g = share**2 * squares - room
        try:
            return certify(minute, share * minute.action, g, share * minute.slopes)
        except EmptyRegionError:
            return certify(minute, nothing, -room, 0.0 * minute.slopes)

    return rule


def certified_in_contexts(site: ChargingSite) -> ChargingRule:
    """Return the same for the fullest line alone, with the load as a context and one constant.

    In shares of 32 A and of the rating, no slope of a line within its rating is longer than G_g.
    """
    ratings, nothing = site.network.ratings, np.zeros(site.chargers)
    knowledge = ContextHull(
        G_g=LARGEST * float(np.sqrt((site.network.curvatures / ratings).max())),
        domain=Box(nothing, nothing + 1.0),
        context=Column(adds=1.0),
        start_bound=MOST - 0.5,
    )
    player = Certified(proposer=Proposals(), knowledge=knowledge)
    controller, last = Controller(player, nothing), 0.0
    controller.announce(context=last)

    def rule(minute: Minute) -> Array:
        nonlocal last
        controller.ask()
        values = minute.values / ratings - minute.load + last  # as they were read
        k, last = int(values.argmax()), minute.load
        controller.tell(
            constraint_value=float(values[k]),
            constraint_subgradient=LARGEST * minute.slopes[k] / ratings[k],
            proposal=minute.upper / LARGEST,
            within=Box(nothing, minute.upper / LARGEST),
            context=minute.load,
        )
        return LARGEST * controller.ask()

    return rule
