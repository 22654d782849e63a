"""Which rule plays a plant: from the description to a player, and what it takes on trust."""

from __future__ import annotations

from typing import Any

from surefoot.certified import Certified
from surefoot.core.types import Set
from surefoot.guarantees import Tuned
from surefoot.knowledge import certify_limits, make_domain
from surefoot.knowledge.base import Knowledge
from surefoot.problems.plant.description import LimitDescription, PlantDescription
from surefoot.problems.plant.scaling import Scaling, largest_of
from surefoot.proposers import Leader, Probing, Proposals
from surefoot.proposers.base import Proposer
from surefoot.rules import LeaderFollower, RegionFilter, ValuesFollower

__all__ = ["domain_of", "has_rows", "player_of"]


def player_of(
    plant: PlantDescription,
    scaling: Scaling,
    *,
    one_limit: bool = False,
    start_stands: bool = True,
) -> Certified | Tuned[Any]:
    """Return the rule that plays a plant, in the numbers of its scaling.

    Args:
        plant: the description.
        scaling: its scaling, with the factor of its recoveries.
        one_limit: whether the largest of several limits counts as one.
        start_stands: whether the margin of the start holds in every round, which the kernel's C
            text does not use.
    """
    domain = domain_of(plant, scaling)
    limit = plant.limits[0]
    if limit.violations is not None:
        return _unknown(plant, limit, scaling, domain)
    has_one = one_limit or not has_rows(plant)
    limits = (largest_of(scaling.limits),) if has_one else scaling.limits
    if not start_stands:
        limits = tuple(known._replace(start_bound=None) for known in limits)
    knowledge = certify_limits(limits, domain)
    return _pair(plant, _proposer(plant, domain), knowledge, scaling.ramp)


def has_rows(plant: PlantDescription) -> bool:
    """Return whether every limit is a row of its own; else the largest of them is one limit.

    A value alone does not say which limit is near, and Theorem R has a return path for one hull.
    """
    if len(plant.limits) == 1 or (plant.role == "learner" and not plant.has_slopes):
        return False
    moves = bool(plant.contexts) or any(limit.changes is not None for limit in plant.limits)
    return not (moves and plant.has_ramp)


def domain_of(plant: PlantDescription, scaling: Scaling) -> Set:
    """Return the set of all actions: the ranges, with steps and what may be off."""
    low = scaling.to_action([each.low for each in plant.actuators])
    high = scaling.to_action([each.high for each in plant.actuators])
    step = scaling.to_action([each.step or 0.0 for each in plant.actuators])
    return make_domain(low, high, step=step, off=[each.can_be_off for each in plant.actuators])


def _proposer(plant: PlantDescription, domain: Set) -> Proposer:
    if plant.role == "filter":
        return Proposals()
    leader = Leader(domain=domain)
    return leader if plant.has_slopes else Probing(leader=leader)


def _pair(
    plant: PlantDescription,
    proposer: Proposer,
    knowledge: Knowledge,
    ramp: tuple[float, ...] | None,
) -> Certified:
    """Return the pair, by the name that a user knows where it has one."""
    if plant.role == "filter":
        return RegionFilter.of(proposer, knowledge, ramp)
    if plant.limits[0].curvature is not None:
        return Certified(proposer=proposer, knowledge=knowledge, ramp=ramp)
    named = LeaderFollower if plant.has_slopes else ValuesFollower
    return named.of(proposer, knowledge, ramp)


def _unknown(
    plant: PlantDescription, limit: LimitDescription, scaling: Scaling, domain: Set
) -> Tuned[Any]:
    """Return the rule for a limit of which no constant is known: Theorem U."""
    known = scaling.limits[0]
    numbers: dict[str, Any] = {
        "violations": limit.violations,
        "value_error": known.value_error,
        "evaluation_error": known.evaluation_error,
        "start_bound": known.start_bound,
    }
    if plant.role == "filter":
        return RegionFilter.unknown(domain, **numbers)
    named = LeaderFollower if plant.has_slopes else ValuesFollower
    return named.unknown(domain, **numbers)
