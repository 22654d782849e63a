r"""A limit on the average: the running sum of g is kept at most 0, in every round.

**Theorem.** *Let* :math:`B_t = \min(m, -\sum_{i\le t}g(x_i))` *be what the rounds so far leave, and
let every* :math:`x_{t+1}` *be certified for the limit* :math:`g - B_t \le 0`\ *, by levels*
:math:`g_i - B_t` *and a* :math:`G_g` *that holds on* :math:`\{g \le m\}`. *Then*
:math:`\sum_{i\le t}g(x_i) \le 0` *for every t, and no g is above m. There always is such an
action.*

*Proof.* Induction: :math:`\sum_{i\le t+1}g(x_i) \le \sum_{i\le t}g(x_i) + B_t \le 0`. The start has
:math:`g(x_1) - B_t < 0`, since :math:`B_t \ge 0`. ∎

A reading that errs counts as the least of :math:`\hat g + \nu` and of what was certified, a round
that nobody measured as what was certified; the sum is rounded up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, instance_of, positive
from surefoot.core.types import Array, Certificate, Feedback
from surefoot.regions.certificates import HullCertificate
from surefoot.regions.errors import Errors
from surefoot.regions.hull import HullMemory, LipschitzHull
from surefoot.regions.region import Knowledge, Reading, Recertified, Region

__all__ = ["AverageCertificate", "AverageLimit", "AverageMemory"]


class AverageCertificate(NamedTuple):
    """Why the running sum stays at most 0.

    Attributes:
        round: the round that was played.
        budget: what the rounds so far leave.
        bound: the next g is at most this, which is at most the budget.
        hull: why, for g less the budget.
        cut: whether the region changed the action that was wanted.
        errors: what the bound allows for.
    """

    round: int
    budget: float
    bound: float
    hull: Certificate
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        why = str(self.hull).partition(": ")[2]
        return (
            f"round {self.round}: the rounds so far leave {self.budget:.3g} for the next g; for g "
            f"less that, {why}"
        )


class AverageMemory(NamedTuple):
    """How many rounds have passed, what the hull is made of, and a bound on the sum of g."""

    rounds: float
    part: HullMemory
    spent: float


class AverageLimit(Knowledge):
    """Knowledge for a limit that must hold on the average over the rounds, at any time.

    Args:
        knowledge: what is known of g, where g is at most ``most``; without drift.
        most: m, what no single g may exceed.
        errors: those of the knowledge, unless given; so is the domain.

    Example:
        >>> import numpy as np
        >>> known = AverageLimit(knowledge=LipschitzHull(G_g=1.0, reach=4.0), most=1.0)
        >>> x = np.zeros(1)  # g(x) = x - 0.5
        >>> memory = known.observe(known.init(x), Reading(x, -0.5, None, known.errors))
        >>> region = known.region(memory, known.errors)
        >>> print(region.certificate(region.nearest(np.ones(1))))
        round 1: the rounds so far leave 0.5 for the next g; for g less that, g = -1 in
        round 1, and g rises by at most G_g = 1 per unit of length: 1 is certified, 1 was taken; the
        next g is at most -...
    """

    uses_slopes: ClassVar[bool] = False
    rests_on_convexity: ClassVar[bool] = True

    errors: Any = anything("the errors of readings", default=None)
    knowledge: Any = instance_of(LipschitzHull)
    most: float = positive()

    def __post_init__(self) -> None:
        known = self.knowledge
        if isinstance(known, LipschitzHull):  # anything else is refused below
            own = {"errors": self.errors, "domain": self.domain}
            for name, theirs in {"errors": known.errors, "domain": known.domain}.items():
                if own[name] is None:
                    object.__setattr__(self, name, theirs)
        super().__post_init__()
        if self.errors.drifts or self.knowledge.in_contexts:
            what = "contexts" if self.knowledge.in_contexts else f"a drift of {self.errors.drift!r}"
            raise InvalidValueError(f"AverageLimit must be of a g that is fixed, got {what}")
        known = replace(self.knowledge, errors=self.errors, domain=self.domain)
        object.__setattr__(self, "knowledge", known)

    @property
    def reach(self) -> float:
        """The largest norm of a point with g at most m."""
        return float(self.knowledge.reach)

    @property
    def constants(self) -> dict[str, float]:
        """Those of the knowledge."""
        constants: dict[str, float] = self.knowledge.constants
        return constants

    def init(self, x1: Array) -> AverageMemory:
        """Return the memory before the first round."""
        return AverageMemory(0.0, self.knowledge.init(x1), 0.0)

    def budget(self, memory: AverageMemory) -> float:
        """Return what the rounds so far leave for the next g."""
        return min(self.most, -memory.spent)

    def observe(self, memory: AverageMemory, reading: Reading) -> AverageMemory:
        """Return the memory with a round in which something was read."""
        known, upper = self.knowledge, float(reading.g + reading.errors.value)
        holds = not memory.rounds or known.holds(reading.x)
        part = known.observe(memory.part, reading) if holds else known.age(memory.part)
        if memory.rounds and self.region(memory, reading.errors).contains(reading.x):
            upper = min(upper, self.budget(memory))
        return AverageMemory(memory.rounds + 1.0, part, round_up(memory.spent + upper))

    def age(self, memory: AverageMemory) -> AverageMemory:
        """Return the memory with a round in which nothing was read: its action was certified."""
        spent = round_up(memory.spent + self.budget(memory))
        return AverageMemory(memory.rounds + 1.0, self.knowledge.age(memory.part), spent)

    def region(self, memory: AverageMemory, errors: Errors) -> Region:
        """Return what the hull certifies for g less the budget."""
        budget = self.budget(memory)
        balls: Any
        rounds, *balls = memory.part
        shifted = (b._replace(value=round_up(b.value - budget)) for b in balls)
        part = self.knowledge.region(HullMemory(rounds, *shifted), errors)

        def certify(hull: HullCertificate) -> AverageCertificate:
            bound = budget + hull.bound
            return AverageCertificate(hull.round, budget, bound, hull, hull.cut, errors)

        return Recertified(part, certify)

    def contradictions(self, memory: AverageMemory, reading: Reading) -> tuple[str, ...]:
        """Return what is impossible if the constants of the knowledge are right."""
        found: tuple[str, ...] = self.knowledge.contradictions(memory.part, reading)
        return found

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Any:
        """Return how much g can rise over a length."""
        return self.knowledge.rise(s, length, ahead=ahead)

    def noise(self, d: int) -> float:
        """Return a bound on the error of an observed g, beyond that of its reading."""
        return float(self.knowledge.noise(d))

    def read(self, x: Array, feedback: Feedback) -> tuple[Any, Any]:
        """Return value and subgradient of a round; the latter may be missing."""
        read: tuple[Any, Any] = self.knowledge.read(x, feedback)
        return read
