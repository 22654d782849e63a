"""The promise of a certified rule without a theorem: what its knowledge certifies."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.core.algorithm import Algorithm, constructors_of, observer_of
from surefoot.guarantees.guarantee import Guarantee, Kind
from surefoot.guarantees.observers import ObservedRegret
from surefoot.guarantees.promise import Promise, Promises, promise_observed
from surefoot.knowledge.base import find_knowledge

__all__ = ["Safety", "explain_nothing", "promises_of", "safety_of"]


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
    """Return the promise of an algorithm by its knowledge; None if nothing is promised.

    Example:
        >>> from surefoot.rules import RegionFilter
        >>> from surefoot.knowledge import LipschitzHull
        >>> found = safety_of(RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=1.0)))
        >>> print(found)
        Theorem E (certified by LipschitzHull) for any number of rounds (every round)
        >>> found.feasibility.needs[:2]
        ('g is convex', 'no subgradient of g is longer than G_g = 2')
    """
    knowledge, promise = find_knowledge(algorithm), find_safety(algorithm)
    if knowledge is None or promise is None:
        return None
    observed = find_observed(algorithm)
    return Safety(promise.theorem, knowledge.kind, Promises(promise, observed))


def find_safety(algorithm: object) -> Promise | None:
    """Return what is proved of the actions of a rule without a theorem; None if nothing is.

    A pair plays what its knowledge certifies; a wrapper says what follows from its base's promise.
    """
    if isinstance(algorithm, Algorithm) and algorithm.inner is not None:
        each = find_safety(algorithm.inner)
        carried: Promise | None = None if each is None else algorithm.carry(each)
        return carried
    knowledge = find_knowledge(algorithm)
    if knowledge is None or not getattr(algorithm, "is_plain", False):
        return None
    promise = Promise(knowledge.theorem, knowledge.premises, knowledge.not_covered)
    if getattr(algorithm, "ramp", None) is None:
        return promise
    return promise.with_more("within the ramp", not_covered=("steps of orders and own actions",))


def explain_nothing(algorithm: object) -> str:
    """Return why nothing is promised of a rule, and what to take instead, in words.

    Example:
        >>> from surefoot import OGD, Ball
        >>> print(explain_nothing(OGD(eta=0.1, domain=Ball(1.0))))
        nothing is promised: OGD certifies no action, and no theorem chose its parameters, as that
        of OGD.fixed does
    """
    words = f"nothing is promised: {type(algorithm).__name__}"
    inner = algorithm
    while isinstance(inner, Algorithm) and inner.inner is not None:
        outer, inner = inner, inner.inner
        if find_safety(inner) is not None and find_safety(outer) is None:
            return f"{words} says nothing of what follows from the promise of its base"
    name = type(inner).__name__
    words = words if inner is algorithm else f"{words} is around {name}, which"
    if find_knowledge(inner) is not None:
        return f"{words} changes the steps that its knowledge certifies"
    words += " certifies no action"
    if tunings := constructors_of(type(inner)):
        words += f", and no theorem chose its parameters, as that of {name}.{tunings[0]} does"
    return words


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
