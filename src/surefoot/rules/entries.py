"""The catalogue: every algorithm with every theorem that tunes it, its needs and promises."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

from surefoot import rules
from surefoot.core.algorithm import Algorithm, works_on_ball
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.lazy import read_names
from surefoot.core.types import Needs, Set, Source, needs_of
from surefoot.guarantees.promise import Promises
from surefoot.guarantees.safety import promises_of
from surefoot.guarantees.tuning import Tuned
from surefoot.sets import Ball, Intersection

__all__ = [
    "ALGORITHMS",
    "Entry",
    "catalogue",
    "domain_of",
    "feedback_words",
    "source_of",
    "try_tuning",
]


class Entry(NamedTuple):
    """An algorithm tuned by one of its theorems, for the constants of a problem.

    Attributes:
        algorithm: name of the class.
        tuning: name of the constructor.
        tuned: the algorithm and its guarantee; None if the theorem does not apply.
        note: why the theorem does not apply; empty if it does.
        source: where the rule comes from, and whether it is that of the source.
    """

    algorithm: str
    tuning: str
    tuned: Tuned[Any] | None
    note: str
    source: Source

    @property
    def name(self) -> str:
        """The class and the constructor."""
        return f"{self.algorithm}.{self.tuning}"

    @property
    def feedback(self) -> str:
        """The feedback of a round, in words."""
        return "" if self.tuned is None else feedback_words(needs_of(self.tuned.algorithm))

    @property
    def promises(self) -> Promises:
        """The promises, in three parts."""
        return Promises() if self.tuned is None else promises_of(*self.tuned)

    @property
    def feasibility(self) -> str:
        """The promise about the constraint, with its rate, in words."""
        if self.tuned is None:
            return ""
        guarantee = self.tuned.guarantee
        if guarantee.violation_exponent is None:
            return guarantee.kind
        # A sum of violations with exponent 0 is bounded, and regret logarithmic.
        is_bounded = guarantee.violation_exponent == 0
        return f"{guarantee.kind}, {'O(1)' if is_bounded else _power(guarantee.violation_exponent)}"

    @property
    def observed(self) -> str:
        """The theorem that bounds the regret from the rounds played; "none" without one."""
        promise = self.promises.observed
        return "" if self.tuned is None else "none" if promise is None else promise.theorem

    @property
    def in_advance(self) -> str:
        """The rate of the regret bound in advance; "none" without a finite bound."""
        if self.tuned is None:
            return ""
        if self.promises.in_advance is None:
            return "none"
        return f"regret {_power(self.tuned.guarantee.regret_exponent)}"

    @property
    def work(self) -> str:
        """Work of an update beside the oracles."""
        return "" if self.tuned is None else f"O({self.tuned.algorithm.needs.work})"


def find_algorithms(package: ModuleType, names: Iterable[str]) -> tuple[type[Algorithm], ...]:
    """Return the algorithms of a package that a theorem tunes, in the order of its names."""
    values = (getattr(package, name) for name in names if name != "ALGORITHMS")
    return tuple(
        kind
        for kind in values
        if isinstance(kind, type) and issubclass(kind, Algorithm) and kind.tunings
    )


def catalogue(
    constants: Constants, horizon: int, domain: Ball, feasible: Set | None = None
) -> list[Entry]:
    """Return all algorithms with all their theorems, for the constants of a problem.

    Args:
        constants: the constants of the problem.
        horizon: number of rounds.
        domain: the ball around the feasible set, for the methods that need no more.
        feasible: the feasible set, for those that project onto it or minimise over it.

    Example:
        >>> c = Constants(R=1.0, G_f=3.0, G_g=1.0, sigma=0.5, epsilon=0.5, start_slack=0.5)
        >>> first = catalogue(c, 100, Ball(1.0))[0]
        >>> first.name, first.feasibility, first.observed, first.in_advance
        ('PFS.anytime', 'every round', 'none', 'regret T^0.5')
        >>> first.feedback, first.work
        ('gradient, g, subgradient', 'O(d)')
    """
    return [
        try_tuning(kind, tuning, constants, horizon, domain, feasible)
        for kind in ALGORITHMS
        for tuning in kind.tunings
    ]


def try_tuning(
    kind: type,
    tuning: str,
    constants: Constants,
    horizon: int,
    domain: Ball,
    feasible: Set | None = None,
) -> Entry:
    """Return an algorithm tuned by one of its theorems, or the reason why it cannot be."""
    source = source_of(kind, tuning)
    try:
        place = domain_of(kind, domain, feasible, tuning)
        tuned = getattr(kind, tuning)(constants, horizon, place)
        return Entry(kind.__name__, tuning, tuned, "", source)
    except ValueError as error:
        return Entry(kind.__name__, tuning, None, str(error), source)


def source_of(kind: type, tuning: str | None = None) -> Source:
    """Return the source of an algorithm, or of one of its tunings.

    Args:
        kind: the algorithm's class.
        tuning: name of a constructor.

    Example:
        >>> from surefoot.rules import ScalarDPP
        >>> source_of(ScalarDPP, "windows").work
        'Liakopoulos et al., ICML 2019'
    """
    algorithm = kind if issubclass(kind, Algorithm) else Algorithm
    return algorithm.source if tuning is None else algorithm.sources.get(tuning, algorithm.source)


def domain_of(kind: type, domain: Ball, feasible: Set | None, tuning: str | None = None) -> Set:
    """Return the set that an algorithm works on: the ball, or the feasible set if it needs it.

    Args:
        kind: the algorithm's class.
        domain: the ball around the feasible set.
        feasible: the feasible set, if it has a projection.
        tuning: name of a constructor; ``on_ball`` of a class names those that need only the ball.
    """
    if works_on_ball(kind, tuning):
        return domain
    if feasible is None:
        raise InvalidValueError("needs a feasible set that knows its own geometry")
    if needs_of(kind).linear_minimisations and isinstance(feasible, Intersection):
        raise InvalidValueError("needs a linear minimisation, which an intersection does not have")
    return feasible


def feedback_words(needs: Needs) -> str:
    """Return the feedback of a round in words, the most common first.

    Example:
        >>> feedback_words(Needs(constraint_values=0, constraint_subgradients=0, gauges=1))
        'gradient, gauge'
    """
    words = ["gradient"] if needs.cost_gradients else []
    if needs.cost_values:
        words.append("cost")
    if needs.constraint_values:
        words.append("every g_i" if needs.separately else "g")
    if needs.constraint_subgradients:
        words.append("their subgradients" if needs.separately else "subgradient")
    words += [word for field, word in _ORACLES.items() if needs._asdict()[field]]
    return ", ".join(words)


_ORACLES = {
    "directions": "a random direction",
    "projections": "projection",
    "linear_minimisations": "linear minimisation",
    "separations": "separation",
    "gauges": "gauge",
    "proxes": "proximal step",
    "smooth_queries": "one unplayed query",
}


def _power(exponent: float | None) -> str:
    if exponent is None:
        return "?"
    return "log T" if exponent == 0 else f"T^{exponent:.3g}"


ALGORITHMS: tuple[type[Algorithm], ...] = find_algorithms(rules, read_names("surefoot.rules"))
"""The algorithms that a theorem tunes."""
