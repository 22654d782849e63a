"""The promise of a certified rule without a theorem: what its knowledge certifies."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.core.algorithm import Algorithm, observer_of
from surefoot.guarantees.guarantee import Guarantee, Kind
from surefoot.guarantees.observers import ObservedRegret
from surefoot.guarantees.promise import Promise, Promises, promise_observed
from surefoot.knowledge.base import Knowledge, find_knowledge

__all__ = ["Safety", "promises_of", "safety_of"]


class Safety(NamedTuple):
    """The guarantee of a certified rule without a theorem: filters, contexts, ramps, your own pair.

    Every action has a certificate before it is played, so that nothing is watched beside it.

    Attributes:
        name: what certifies.
        kind: the kind of promise about the constraint.
        promises: the three parts; nothing is promised of the regret in advance.
    """

    name: str
    kind: Kind
    promises: Promises

    @property
    def feasibility(self) -> Promise | None:
        """The promise about the constraint."""
        return self.promises.feasibility

    @property
    def observed(self) -> Promise | None:
        """An upper bound on the regret, computed from the rounds played; None without one."""
        return self.promises.observed

    @property
    def in_advance(self) -> None:
        """Nothing is promised of the regret before the first round."""
        return

    def __str__(self) -> str:
        return f"{self.name} for any number of rounds ({self.kind})"


def safety_of(algorithm: object) -> Safety | None:
    """Return the promise of an algorithm by its knowledge; None if it certifies nothing.

    Example:
        >>> from surefoot.rules import RegionFilter
        >>> from surefoot.knowledge import LipschitzHull
        >>> found = safety_of(RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=1.0)))
        >>> print(found)
        certified by LipschitzHull for any number of rounds (every round)
        >>> found.feasibility.needs[:2]
        ('g is convex', 'no subgradient of g is longer than G_g = 2')
    """
    knowledge: Knowledge | None = find_knowledge(algorithm)
    if knowledge is None:
        return None
    name, uncovered = f"certified by {type(knowledge).__name__}", []
    needs = list(knowledge.premises)
    while isinstance(algorithm, Algorithm) and algorithm.inner is not None:
        name += f" in {type(algorithm).__name__}"
        if algorithm.certainty < 1:
            name += f", with probability {algorithm.certainty:g}"
            uncovered.append("the runs that the probability leaves")
        algorithm = algorithm.inner
    if knowledge.kind == "few violations":
        uncovered.append("rounds from which the unknown constant is learnt")
    elif knowledge.kind == "cumulative":
        uncovered.append("single rounds, which may be infeasible")
    feasibility = Promise(name, tuple(needs), tuple(uncovered))
    return Safety(name, knowledge.kind, Promises(feasibility, find_observed(algorithm)))


def promises_of(algorithm: object, guarantee: Guarantee | None = None) -> Promises:
    """Return the three promises of a rule, with or without a theorem.

    The observed bound on the regret depends on the rule, not on its theorem.

    Args:
        algorithm: the rule.
        guarantee: the guarantee of its tuning; None without a theorem.
    """
    if guarantee is None:
        safety = safety_of(algorithm)
        return Promises() if safety is None else safety.promises
    return guarantee.promises._replace(observed=find_observed(algorithm))


def find_observed(algorithm: object) -> Promise | None:
    """Return the promise of the bound that an algorithm adds up while it plays; None without."""
    observer, knowledge = observer_of(algorithm), find_knowledge(algorithm)
    if observer is None:
        return None
    if isinstance(observer, ObservedRegret) and knowledge is not None:
        return promise_observed(observer.theorem_by(knowledge))
    return promise_observed(getattr(observer, "theorem", type(observer).__name__))
