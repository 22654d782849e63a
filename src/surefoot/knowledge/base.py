r"""Knowledge of g turns readings into a region of certified next actions.

What is *known* of g (a bound on its subgradients, on its curvature, ...) is a frozen object, the
:class:`Knowledge`, together with the errors of readings. What was *read* is its memory, a named
tuple. From both comes the region of a round: all of its points are feasible for every g
that agrees with what is known and was read::

    memory = knowledge.init(x1)
    memory = knowledge.observe(memory, Reading(x, g, s, knowledge.errors))  # x was played
    region = knowledge.region(memory, knowledge.errors)
    x = region.nearest(wish)                          # certified, whatever the proposal
    print(region.certificate(x))                      # why

All of these are pure. A memory holds bounds, never readings whose error only the present round
knows. A new kind of knowledge is one file: a subclass of :class:`Knowledge` and
one of :class:`~surefoot.knowledge.region.Region`.

**Knowledge is sealed.** A kind writes ``first``, ``learn`` and ``certify``; ``init``, ``observe``
and ``region`` belong to the base and check what every kind must: the start is in the domain and
strictly feasible by more than the error of g, readings are finite, they err in no way that the
kind does not declare in ``allows``, and no certified action is outside of the domain. Nothing is
allowed until a kind says so. What is played is checked once more against its region
(:meth:`~surefoot.knowledge.region.Region.must_certify`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, final

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, start_in
from surefoot.core.arrays import is_number
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, anything, flag, projectable
from surefoot.core.points import reach_of
from surefoot.core.types import Array, Context, Number, Set
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.contradictions import check_finite, check_first, check_one_run
from surefoot.knowledge.errors import (
    Errors,
    is_zero,
)
from surefoot.knowledge.in_kernel import KnowledgeInKernel
from surefoot.knowledge.region import Region

__all__ = ["BALLS", "Capability", "Estimate", "Knowledge", "Reading"]

# The readings, or what was learnt, so far: a named tuple of its owner's kind.
Memory: TypeAlias = Any

Capability: TypeAlias = Literal[
    "value", "slope", "drift", "late", "batch", "nonconvex", "known start", "margin"
]
"""What a kind of knowledge may allow for: errors of values and slopes, drift, readings that are
late, batches of runs, a g that is not convex, a start whose first reading proves nothing, and
values that are reported larger than they are, so that actions keep a distance."""


ObserverKind: TypeAlias = Literal["none", "length", "curvature"]
"""Which price of a cut step bounds the regret that is observed: that of a region by certified
length, or that of multipliers; "none" where no theorem does."""


class Reading(NamedTuple):
    """One measurement, as knowledge gets it.

    Attributes:
        x: the action that was played.
        g: the value read there; one per constraint if they are seen separately.
        s: one subgradient there; one per constraint.
        errors: how wrong these may be.
        age: how many rounds ago it was read.
    """

    x: Array
    g: Number
    s: Array
    errors: Errors
    age: int = 0

    @property
    def upper(self) -> Number:
        """An upper bound on g at the reading."""
        return self.g + self.errors.value

    @property
    def lower(self) -> Number:
        """A lower bound on g at the reading."""
        return self.g - self.errors.value


class Estimate(NamedTuple):
    """The present estimate of an unknown constant; its ``str`` is a sentence.

    Attributes:
        constant: its name.
        proved: it is at least this.
        used: the value that the next action assumes.
        outside: the number of violations.
        left: an upper bound on the number of further violations ...
        limit: ... if the constant is at most this; infinite if that holds for every g.
        spent: the left side of the theorem's budget.
        unseen: how many rounds without a measurement count as violations, if k are allowed.
        hidden: violations of at most this size may be missed, and do not count.
    """

    constant: str
    proved: float
    used: float
    outside: int
    left: int
    limit: float
    spent: float
    unseen: int = 0
    hidden: float = 0.0

    def __str__(self) -> str:
        counts = ((self.outside, "outside so far"), (self.unseen, "unseen"))
        before = "".join(f"{n} round{'s'[: n - 1]} {what}, " for n, what in counts if n)
        more = f"at most {self.left} more" if self.left else "no more"
        more += "" if self.outside else f" round{'' if self.left == 1 else 's'} outside"
        more += f" by more than {self.hidden:.3g}" if self.hidden else ""
        until = f" if {self.constant} <= {self.limit:.3g}" if self.limit < math.inf else ""
        used = f"{self.used:.3g}" if self.left or until else "none"
        return (
            f"{self.constant} unknown: {self.proved:.3g} is proved, {used} is used; "
            f"{before}{more}{until}"
        )


CONSTANTS = ("G_g", "beta", "L_0", "L_1")
"""The names of constants of g, as parameters of knowledge."""

_CONDITIONS = {
    "G_g": "no subgradient of g is longer than G_g = {:.6g}",
    "largest_G_g": "no subgradient of g is longer than largest_G_g = {:.6g}",
    "beta": "no curvature of g exceeds beta = {:.6g}",
    "largest_beta": "no curvature of g exceeds largest_beta = {:.6g}",
    "L_0": "no curvature of g exceeds L_0 + L_1 |s|, L_0 = {:.6g}",
    "L_1": "no curvature of g exceeds L_0 + L_1 |s|, L_1 = {:.6g}",
}
"""What each constant says of g."""

BALLS = frozenset({"radius", "depth", "longest", "slope_norm", "noise", "upper"})
"""The numbers of regions that are made of balls around actions, which they all offer."""

SEALED = {
    "init": "first",
    "observe": "learn",
    "region": "certify",
    "in_kernel": "describe_to_kernel",
}
"""Methods of :class:`Knowledge`, and those that a kind writes instead."""

ERRORS_OF: Mapping[Capability, str] = {
    "value": "value_error",
    "slope": "slope_error",
    "drift": "drift",
    "late": "age",
}
"""The errors of a round, with their names in sentences."""


class Knowledge(Declared):
    """What is true of g, and bounds on the errors of readings. All methods are pure.

    Attributes:
        errors: the bounds on errors and drift.
        convex: whether g is known to be convex.
        domain: a known set that contains every action; None for none.
        allows: what certificates allow for beside exact readings of one run of a convex g; nothing
            else is accepted.
        refusals: the sentence for an unsupported capability.
        unsupported: why it has no such parameter, or what has it.
        slopes: whether certificates use subgradients ("certify"), subgradients only guide proposers
            ("steer"), or none is read ("unused").
        offers: the numbers of its regions that proposers may read (:class:`Region`).
        passes: the errors that it hands on to its ``parts``, which must allow for them.
        row_count: how many constraints are seen, each by itself.
        reach: the largest norm of a feasible point.
        in_contexts: whether the context of every round must be announced before it is played; a
            memory then has the ``context`` of the next.
        kind: what certified actions keep: g <= 0 in every round, or as the guarantees name it.
        remembers: whether readings depend on earlier actions: then every action must be reported,
            the first is the start, and a reading alone proves nothing of the action it is of.
        proved_by: the statement that certifies actions, of exact readings; a subclass may change
            any method, so it inherits none.
    """

    errors: Errors = anything("the errors of readings", default=Errors())
    convex: bool = flag(default=True)
    domain: Set | None = projectable(default=None, convex=False)

    allows: ClassVar[frozenset[Capability]] = frozenset()
    refusals: ClassVar[Mapping[Capability, str]] = {}
    unsupported: ClassVar[Mapping[str, str]] = {
        "value_error": "it is one of its errors, Errors(value=...)",
        "slope_error": "it is one of its errors, Errors(slope=...)",
        "evaluation_error": "it is one of its errors, Errors(evaluation=...)",
        "drift": "it is one of its errors, Errors(drift=...)",
        "context": "take ContextHull, or ContextCurvature for columns that add",
        "ramp": "the rule has it",
    }
    slopes: ClassVar[Literal["certify", "steer", "unused"]] = "certify"
    offers: ClassVar[frozenset[str]] = frozenset()
    passes: ClassVar[frozenset[Capability]] = frozenset()
    row_count: ClassVar[int] = 1
    in_contexts: ClassVar[bool] = False
    kind: ClassVar[Literal["every round", "few violations", "cumulative"]] = "every round"
    remembers: ClassVar[bool] = False
    proved_by: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise for a kind that overrides a method of the base."""
        for name, instead in SEALED.items():
            if name in vars(cls):
                raise TypeError(
                    f"{cls.__name__} must write {instead}, got {name}, which belongs to Knowledge"
                )
        super().__init_subclass__(**options)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.errors, Errors):
            raise checks.invalid("errors", "Errors(...)", self.errors)
        if vars(self).get("reach", 0.0) is None:
            object.__setattr__(self, "reach", reach_of(self.domain))
        self._check_errors(self.errors)
        is_chosen = not getattr(self.domain, "is_convex", True)
        if is_chosen and (reason := self.obstacle_to_choices):
            rule = f"convex for {type(self).__name__}, {reason}"
            raise checks.invalid("domain", rule, self.domain)
        if not self.convex and "nonconvex" not in self.allows:
            raise InvalidValueError(
                f"{type(self).__name__} assumes a convex g, got convex = False: Curvature "
                "and CurvatureRows do not"
            )
        for part in self.parts if self.passes else ():
            if missing := sorted(self.passes - part.allows):
                raise InvalidValueError(
                    f"{type(self).__name__} hands {' and '.join(missing)} errors on, which "
                    f"{type(part).__name__} does not allow for"
                )

    def _check_errors(self, errors: Errors, age: Number = 0) -> None:
        """Raise for errors that certificates do not allow for; unused subgradients may err."""
        if self.slopes == "certify" and isinstance(errors.slope, float):
            checks.nonnegative(slope_error=errors.slope)  # which is finite, too
        for word, name in ERRORS_OF.items():
            bound = age if word == "late" else getattr(errors, word)
            if is_zero(bound) or word in self.allows:
                continue
            if word == "slope" and self.slopes != "certify":
                continue
            rule = self.refusals.get(word, f"0 for {type(self).__name__}")
            raise checks.invalid(name, rule, bound)

    @property
    def parts(self) -> tuple[Knowledge, ...]:
        """The knowledge that it is made of; none unless it is made of another kind."""
        return ()

    @property
    def obstacle_to_margins(self) -> str:
        """Why g may not be reported larger than it is; empty where it may.

        A rule that plays near a certified point, not at it, adds the bound ``rise`` to g.
        """
        for knowledge in (self, *self.parts):
            if "margin" not in knowledge.allows:
                return knowledge.refusals.get("margin", "which does not allow for it")
        return ""

    def above(self, length: float) -> Knowledge:
        """Return the knowledge of g plus at most its rise over a length.

        A bound on g at the start rises with g; a kind that has one writes how.
        """
        if self.bounds_start:
            raise InvalidValueError(
                f"start_bound must be None for {type(self).__name__} where actions are played near "
                "a certified one: its rise from the start is not known"
            )
        return self

    @property
    def obstacle_to_choices(self) -> str:
        """Why the domain must be convex; empty where there always is a certified choice.

        A fixed g stays at most 0 at an action. Where g changes, a kind says what it returns to
        (:mod:`surefoot.knowledge.choices`).
        """
        if self.in_contexts or self.errors.drifts:
            change = "in contexts" if self.in_contexts else "under drift"
            return f"which {change} may certify no choice: take a hull with a start_bound"
        return ""

    @property
    def takes_batches(self) -> bool:
        """Whether a memory may be that of several runs; if not, they are played run by run."""
        return "batch" in self.allows

    # --- methods of a kind -----------------------------------------------------------------------

    @abstractmethod
    def first(self, x1: Array) -> Memory:
        """Return the memory before the first round, a named tuple with ``rounds``.

        Args:
            x1: the start, which is in the domain.
        """

    @abstractmethod
    def learn(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory with a reading, whose numbers were checked."""

    @abstractmethod
    def certify(self, memory: Memory, errors: Errors) -> Region:
        """Return the certified next actions, in the domain or not."""

    def start_margin(self, d: int) -> Number:
        """Return the margin, beyond its error, by which the first reading must be below 0."""
        return 0.0

    def place(self, region: Region) -> Region:
        """Return the part of a region that is in the domain."""
        return region.within(self.domain)

    def describe_to_kernel(self, d: int) -> KnowledgeInKernel | None:
        """Return how the kernel has the kind in a dimension; None if Python plays it.

        The answer is for objects of the class that writes it, and for no subclass.
        """
        return None

    # --- what belongs to the base ----------------------------------------------------------------

    @final
    def init(self, x1: Array) -> Memory:
        """Return the memory before the first round; raise for a start outside of the domain."""
        if self.takes_batches:
            x1 = x1 if self.domain is None else start_in(self.domain, x1)
        else:
            check_one_run(x1, self.domain)
        return self.first(x1)

    @final
    def observe(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory after a reading.

        The reading must be finite and err in no way that the kind does not allow for; the first
        must be strictly feasible. A run of a batch cannot raise: its kind makes it NaN.
        """
        self._check_errors(reading.errors, reading.age)
        if is_number(reading.g) or self.row_count > 1:
            check_finite(reading.g, reading.s)
            if not memory.rounds and "known start" not in self.allows:
                check_first(reading, self.start_margin(reading.x.shape[-1]))
        return self.learn(memory, reading)

    @final
    def region(self, memory: Memory, errors: Errors) -> Region:
        """Return the certified next actions, all of them in the domain."""
        return self.place(self.certify(memory, errors))

    @final
    def in_kernel(self, d: int) -> KnowledgeInKernel | None:
        """Return how the kernel has this knowledge in a dimension; None if Python plays it.

        A subclass may change any method, so it inherits no answer.
        """
        is_own = "describe_to_kernel" in vars(type(self))
        return self.describe_to_kernel(d) if is_own else None

    def age(self, memory: Memory, x: Array) -> Memory:
        """Return the memory after a round without a reading.

        Args:
            memory: before the round.
            x: the action that was played.
        """
        return memory._replace(rounds=memory.rounds + 1.0)

    def gap_of(self, memory: Memory, x: Array) -> tuple[float, float]:
        """Return how far below and above a reading g at x may be, beyond the error of the reading.

        Args:
            memory: before the reading.
            x: where it is read.
        """
        return 0.0, 0.0

    def unsettle(self, memory: Memory, reach: float) -> Memory:
        """Return the memory of a new start, where other actions were in force before.

        Args:
            memory: of the start.
            reach: the largest norm of an action before.
        """
        return memory

    def at_rest_of(self, memory: Memory) -> tuple[Knowledge, Memory]:
        """Return the knowledge of g at rest, with its memory: itself, unless readings lag."""
        return self, memory

    def standing(self, start: Array) -> Anchor | None:
        """Return the bound on g at the start that holds in every round; None without one.

        It must assume no constant that a reading can refute, except the bound itself.
        """
        return None

    @property
    def theorem(self) -> str:
        """The statement that certifies actions, and the kind; only the kind if it states none."""
        kind, own = type(self), vars(type(self)).get("proved_by", "")
        if own and not self.errors.is_exact:
            own += " with N"
        return f"{own} (certified by {kind.__name__})" if own else f"certified by {kind.__name__}"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the statement does not cover, one phrase each."""
        if self.kind == "few violations":
            return ("rounds from which the unknown constant is learnt",)
        return ("single rounds, which may be infeasible",) * (self.kind == "cumulative")

    @property
    def claim(self) -> str:
        """What certified actions keep, in words."""
        return "g <= 0 in every round"

    @property
    def observer_kind(self) -> ObserverKind:
        """How the steps that its regions cut enter a bound on the regret so far."""
        return "none"

    def estimate(self, memory: Memory) -> Estimate | None:
        """Return the estimate of a constant that was not given; None if all were."""
        return None

    def judge(self, bound: float) -> float:
        """Return the bound on g by which an action counts as a violation, where it is above 0."""
        return bound

    def count(self, memory: Memory, before: Memory, bound: float, value: float | None) -> Memory:
        """Return the memory with a round that ended without a region: its g may be spent.

        Args:
            memory: after the round.
            before: the memory before the round.
            bound: on g at the action; infinite without one.
            value: the largest g that the measurement allows; None without a measurement.
        """
        return memory

    def leaves(self, memory: Memory, bound: float) -> bool:
        """Return whether the rounds so far leave room for a g of at most a bound."""
        return True

    @property
    def bounds_start(self) -> bool:
        """Whether there is a bound at the start, so that the first reading must be there."""
        return False

    def announce(self, memory: Memory, context: Context | None) -> Memory:
        """Return the memory with the context of the next round; None while it is not known."""
        return memory._replace(context=context) if self.in_contexts else memory

    @abstractmethod
    def contradictions(self, memory: Memory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts the constants, in sentences.

        Args:
            memory: before the reading.
            reading: the reading.
        """

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove, by name."""
        return {n: float(np.max(v)) for n, v in vars(self).items() if n in CONSTANTS}

    @property
    def premises(self) -> tuple[str, ...]:
        """What must be true for certificates to be right, one phrase each."""
        untyped: Any = self
        words = ["g is convex"] if self.convex else []
        for name, size in self.constants.items():
            words.append(_CONDITIONS.get(name, name + " is at most {:.6g}").format(size))
        if self.bounds_start:
            words.append(f"g at the start is at most {untyped.start_bound:.6g} in every round")
        elif "known start" not in self.allows:
            words.append("the start is strictly feasible")
        words += self.errors.conditions(self.slopes == "certify")
        return (*words, untyped.context.premise) if self.in_contexts else tuple(words)

    @abstractmethod
    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise while a feasible point moves by a length; one per row.

        A host that plays a rounded copy of a certified point needs it.

        Args:
            s: the slope of the round; one per row if rows are separate.
            length: how far the point moves.
            ahead: whether to allow for the slopes of all later rounds, of a convex g.
        """

    def bound_reading(self, values: Number, errors: Errors) -> tuple[float, float]:
        """Return the least and the largest that g may be where it was read.

        Args:
            values: what was read; one number per row.
            errors: how wrong it may be.
        """
        worst = float(np.max(values))
        return worst - errors.value, worst + errors.value + errors.evaluation

    def every(self, rounds: int) -> Knowledge:
        """Return the knowledge where so many rounds pass between two readings."""
        return replace(self, errors=self.errors.every(rounds))

    def noise(self, d: int) -> Number:
        """Return a bound on the error of an observed g, beyond that of its reading."""
        return self.errors.evaluation

    def holds(self, x: Array) -> bool:
        """Return whether the constants hold at an action; other readings are not used."""
        return self.domain is None or bool(self.domain.contains(x))

    def read(self, x: Array, feedback: Feedback) -> tuple[Number, Array | None]:
        """Return value and subgradient of a round in their forms; raise for other forms.

        The subgradient is None if it is not read, or not needed and not reported.
        """
        is_told = self.slopes == "steer" and feedback.constraint_subgradient is not None
        if self.slopes == "certify" or is_told:
            return checks.read_constraint(x, feedback)
        return checks.read_constraint_value(feedback.constraint_value, x), None


def find_knowledge(algorithm: object) -> Knowledge | None:
    """Return what the innermost rule knows of g; None where it certifies nothing.

    >>> from surefoot import OGD, Ball
    >>> find_knowledge(OGD(eta=0.1, domain=Ball(1.0))) is None
    True
    """
    while isinstance(algorithm, Algorithm) and algorithm.inner is not None:
        algorithm = algorithm.inner
    knowledge = getattr(algorithm, "knowledge", None)
    return knowledge if isinstance(knowledge, Knowledge) else None
