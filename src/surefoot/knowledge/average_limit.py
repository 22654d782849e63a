r"""A limit on the average: the running sum of g is at most a credit, 0 or more, in every round.

**Theorem.** *Let* :math:`B \ge 0`\ *, let* :math:`B_t = \min(m, B - \sum_{i\le t}g(x_i))` *be what
the rounds so far leave, and let every* :math:`x_{t+1}` *be certified for the limit*
:math:`g - B_t \le 0`\ *, by levels* :math:`g_i - B_t` *and a* :math:`G_g` *that holds on*
:math:`\{g \le m\}`. *Then* :math:`\sum_{i\le t}g(x_i) \le B` *for every t, and no g is above m.
There always is such an action.*

*Proof.* Induction: :math:`g(x_1) < 0 \le B`, and
:math:`\sum_{i\le t+1}g(x_i) \le \sum_{i\le t}g(x_i) + B_t \le B`. So :math:`B_t \ge 0`, and the
start has :math:`g(x_1) - B_t < 0`. ∎ Once the credit is spent, g is at most 0 until some is saved.

A reading with an error counts as the smaller of :math:`\hat g + \nu` and its certified bound. A
round without a measurement counts as its certified bound. Every sum is rounded up. If an external
action puts the sum above B, the next g may be half of the least g until the sum is at most B. The
sum is that of the readings; the sum of the true g may be larger by the evaluation errors.

Wrappers are unsupported: rounds that are played before a late reading would spend the same budget.
So are ramps: the last action may exceed the remaining budget.
"""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Count
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.types import Array, Certificate
from surefoot.knowledge.base import Capability, Memory, Reading
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.hull import HullCertificate, HullMemory, LipschitzHull
from surefoot.knowledge.region import Recertified, Region

__all__ = ["AverageCertificate", "AverageLimit", "AverageMemory"]


class AverageCertificate(NamedTuple):
    """Why the running sum stays at most the credit.

    Attributes:
        round: the round that was played.
        budget: the remaining budget.
        bound: the next g is at most this, which is at most the budget.
        hull: why, for g less the budget.
        cut: whether the region changed the proposal.
        errors: the errors that the bound allows for.
    """

    round: int
    budget: float
    bound: float
    hull: Certificate
    cut: bool = False
    errors: Errors = Errors()

    @property
    def limit(self) -> float:
        """What the next g may be at most: the budget."""
        return self.budget

    def __str__(self) -> str:
        why = str(self.hull).partition(": ")[2]
        return (
            f"round {self.round}: the rounds so far leave {self.budget:.3g} for the next g; for g "
            f"less that, {why}"
        )


class AverageMemory(NamedTuple):
    """The number of rounds so far, the memory of the hull, and a bound on the sum of g."""

    rounds: Count
    part: HullMemory
    spent: float


class AverageLimit(LipschitzHull):
    """Knowledge for a limit that must hold on the average over the rounds, at any time.

    Args:
        most: m, an upper bound on every single g.
        credit: B, what the sum of g may reach. A budget of 3 kelvin-hours is 3 over the length of
            a round in hours, for a g in kelvin.

    The others are those of :class:`~surefoot.knowledge.LipschitzHull`, where g is at most m;
    without drift.

    Example:
        >>> import numpy as np
        >>> known = AverageLimit(G_g=1.0, reach=4.0, most=1.0)
        >>> x = np.zeros(1)  # g(x) = x - 0.5
        >>> memory = known.observe(known.init(x), Reading(x, -0.5, None, known.errors))
        >>> region = known.region(memory, known.errors)
        >>> print(region.certificate(region.nearest(np.ones(1))))
        round 1: the rounds so far leave 0.5 for the next g; for g less that, g = -1 in
        round 1, and g rises by at most G_g = 1 per unit of length: 1 is certified, 1 was taken; the
        next g is at most -...
    """

    proved_by: ClassVar[str] = "the theorem of limits on the average"
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "slope", "margin"})
    refusals: ClassVar[Mapping[Capability, str]] = {
        "late": "0 for AverageLimit: the rounds played meanwhile would spend the same budget",
        "drift": "0 for AverageLimit, whose theorem is of one g: after a drift nothing need be "
        "left within the budget, so take a LipschitzHull, which keeps g <= 0 in every round",
    }

    unsupported: ClassVar[Mapping[str, str]] = {
        **LipschitzHull.unsupported,
        "context": "its theorem is of one g; ContextHull keeps g <= 0 in every round and context",
        "ramp": "after rounds above 0 the limit may be further away than a ramp reaches",
    }
    kind: ClassVar[Literal["cumulative"]] = "cumulative"

    most: float = positive()
    credit: float = nonnegative(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start_bound is not None:  # it would bound g, not g less a budget
            raise checks.invalid("start_bound", "None for AverageLimit", self.start_bound)

    def first(self, x1: Array) -> Memory:
        """Return the memory before the first round."""
        return AverageMemory(0.0, super().first(x1), 0.0)

    def budget(self, memory: AverageMemory) -> float:
        """Return the bound on the next g: the remaining budget, or half of the least g."""
        least = float(min(memory.part.last.value, memory.part.anchor.value, 0.0))
        return max(self._find_rest(memory), 0.5 * least)

    def _find_rest(self, memory: AverageMemory) -> float:
        left = -memory.spent
        if self.credit:
            left = -round_up(memory.spent - self.credit)
        return min(self.most, left)

    def learn(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory after a reading."""
        error, part = reading.errors.value, memory.part
        upper = round_up(float(reading.upper)) if error else float(reading.g)
        inside = super().holds(reading.x)
        if not memory.rounds and not inside:
            raise InvalidValueError(f"the first action must be in the domain, got {reading.x!r}")
        part = super().learn(part, reading) if inside else super().age(part, reading.x)
        if memory.rounds and self.region(memory, reading.errors).contains(reading.x):
            budget = self.budget(memory)
            if not reading.lower > budget:  # else the reading contradicts the certificate
                upper = min(upper, budget)
        return AverageMemory(memory.rounds + 1.0, part, round_up(memory.spent + upper))

    def age(self, memory: Memory, x: Array) -> Memory:
        """Return the memory after a round without a reading: its action was certified."""
        spent = round_up(memory.spent + self.budget(memory))
        return AverageMemory(memory.rounds + 1.0, super().age(memory.part, x), spent)

    @property
    def claim(self) -> str:
        """What certified actions keep, in words."""
        return f"the sum of g over the rounds is <= {self.credit:g} and no g is above {self.most:g}"

    def judge(self, bound: float) -> float:
        """Return at most 0: no single action violates a limit on the sum."""
        return min(bound, 0.0)

    def count(self, memory: Memory, before: Memory, bound: float, value: float | None) -> Memory:
        """Return the memory with what a round without a region spends."""
        most = max(self.budget(before), bound if bound < math.inf else 0.0)
        spent = round_up(before.spent + (most if value is None else value))
        return memory._replace(spent=spent)

    def leaves(self, memory: Memory, bound: float) -> bool:
        """Return whether the sum is at most the credit after a g of at most a bound."""
        return bool(memory.spent + bound <= self.credit)

    def holds(self, x: Array) -> bool:
        """Return True: readings at all actions count for the sum."""
        return True

    def certify(self, memory: Memory, errors: Errors) -> Region:
        """Return the region of the hull for g less the budget."""
        budget = self.budget(memory)
        rounds, *balls = memory.part
        shifted = (b._replace(value=round_up(b.value - budget)) for b in balls)
        part = super().certify(HullMemory(rounds, *shifted), errors)

        def certify(hull: HullCertificate) -> AverageCertificate:
            numbers = (hull.round, self._find_rest(memory), budget + hull.bound)
            return AverageCertificate(*numbers, hull, hull.cut, errors)

        return Recertified(part, certify)

    @property
    def G_g_holds_to(self) -> float:
        """The largest g at which G_g bounds every subgradient."""
        return self.most

    def contradictions(self, memory: Memory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts the constants, in sentences."""
        return super().contradictions(memory.part, reading)
