"""A certified rule as an object: two parts, and the properties of the pair.

:mod:`surefoot.certified` defines the steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np

from surefoot.certified_contexts import InContexts, Plan
from surefoot.core import checks
from surefoot.core.algorithm import is_algorithm
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import AsFresh
from surefoot.core.parameters import (
    Declared,
    anything,
)
from surefoot.core.parts import OfParts
from surefoot.core.record import Record
from surefoot.core.types import (
    Array,
    Needs,
    Player,
    Set,
    Source,
)
from surefoot.knowledge.base import Knowledge, Memory
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.ramp import check_ramp
from surefoot.proposers.base import Proposer

MadeOf: TypeAlias = tuple[tuple[type[Any], ...], tuple[type[Any], ...]]
"""The classes of proposers, and those of knowledge."""


USES = frozenset({"value_error", "slope_error", "action", "age", "within"})
"""The fields of feedback that every pair uses; its knowledge refuses an error that it lacks."""


class Parts(Declared):
    """What the parts of a certified rule may be."""

    proposer: Any = anything("a proposer")
    knowledge: Any = anything("what is known of g")
    ramp: Any = anything("a finite number > 0, or one per coordinate", default=None)


class CertifiedState(Record):
    """What the next round needs.

    Attributes:
        x: the action to play; not certified until the context of its round is known.
        memory: the readings.
        learner: the state of the proposer.
        plan: the plan for the next round, in contexts.
    """

    __slots__ = ("learner", "memory", "plan", "x")

    x: Array
    memory: Memory
    learner: Memory
    plan: Annotated[Plan | None, AsFresh]

    def __init__(self, x: Array, memory: Memory, learner: Memory, plan: Plan | None = None) -> None:
        self.fill(x=x, memory=memory, learner=learner, plan=plan)


class Pair(InContexts, OfParts):
    """A rule of two parts, which has no other fields.

    Attributes:
        made_of: the allowed classes of the proposer and the knowledge.
        declared_by: the classes that declare the arguments of the constructor.
        typical_needs: the needs of a round, as far as the class determines them.
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    made_of: ClassVar[MadeOf] = ((Proposer,), (Knowledge,))
    part_names: ClassVar[tuple[str, ...]] = ("proposer", "knowledge", "ramp")
    declared_by: ClassVar[tuple[type, ...]] = (Parts,)
    typical_needs: ClassVar[Needs] = Needs()

    proposer: Any
    knowledge: Any
    ramp: float | Sequence[float] | None

    def __init__(
        self,
        *,
        proposer: Proposer | Player,
        knowledge: Knowledge,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        if not isinstance(knowledge, Knowledge):
            raise checks.invalid(
                "knowledge", "an object of surefoot.knowledge, as LipschitzHull(G_g=...)", knowledge
            )
        learner = as_proposer(proposer)
        untyped: Any = knowledge
        has_contexts = knowledge.in_contexts and untyped.context.argument == "context"
        if learner.in_contexts and not has_contexts:
            raise InvalidValueError(
                f"knowledge must have a context for {type(learner).__name__}, which learns from "
                f"contexts: take ContextHull, got a {type(knowledge).__name__}"
            )
        if not learner.reads_slopes:
            knowledge = _certify_by_values(knowledge, learner)
        if missing := sorted(learner.reads - knowledge.offers):
            raise InvalidValueError(
                f"knowledge must offer region.{missing[0]} for {type(learner).__name__}, which "
                f"steers by it: take one that does not, as Proposals, got a "
                f"{type(knowledge).__name__}"
            )
        limit = None if ramp is None else check_ramp(ramp, knowledge)
        vars(self).update(proposer=learner, knowledge=knowledge, ramp=limit)

    @classmethod
    def of(
        cls,
        proposer: Proposer,
        knowledge: Knowledge,
        ramp: float | Sequence[float] | None = None,
    ) -> Self:
        """Return the rule with these parts, for printing, files and changes.

        Args:
            proposer: of an allowed class.
            knowledge: likewise.
            ramp: how far an action may be from the last one; None for any distance.
        """
        cls.check_part("proposer", proposer)
        cls.check_part("knowledge", knowledge)
        self = cls.__new__(cls)
        Pair.__init__(self, proposer=proposer, knowledge=knowledge, ramp=ramp)
        return self

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """What a round must provide."""
        one_run = not self.knowledge.takes_batches or self.proposer.is_one_run
        separately = self.knowledge.row_count > 1
        in_contexts = {"context"} if self.knowledge.in_contexts else set()
        return Needs(
            cost_gradients=self.proposer.cost_gradients,
            constraint_subgradients=int(self.reads_slopes),
            proposals=1 - self.proposer.cost_gradients,
            separately=separately,
            work=f"m {self.proposer.work}" if separately else self.proposer.work,
            numpy_only=one_run,
            one_run=one_run,
            fields=USES - self._unused | in_contexts | self.proposer.fields,
        )

    @property
    def _unused(self) -> frozenset[str]:
        """The fields of other pairs that this one does not use."""
        return frozenset() if self.proposer.reads_slopes else frozenset({"slope_error"})

    @property
    def reads_slopes(self) -> bool:
        """Whether a reported subgradient is used."""
        return bool(self.proposer.reads_slopes) and self.knowledge.slopes != "unused"

    @property
    def needs_slopes(self) -> bool:
        """Whether a round must report a slope: not where certificates are made of values."""
        return bool(self.knowledge.slopes == "certify")

    @property
    def errors(self) -> Errors:
        """The errors of feedback that certificates allow for."""
        errors: Errors = self.knowledge.errors
        return errors

    @property
    def domain(self) -> Set | None:
        """The set that contains every action; None where none is known."""
        domain: Set | None = self.knowledge.domain
        return domain

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors."""
        return self.of(self.proposer, replace(self.knowledge, errors=errors), self.ramp)

    def every(self, rounds: int) -> Self:
        """Return the same rule where so many rounds pass between two readings."""
        return self.of(self.proposer, self.knowledge.every(rounds), self.ramp)

    def locate(self, state: Any, feedback: Feedback) -> Feedback:
        """Return feedback with its action; the first must be the start if it has a start_bound."""
        located = super().locate(state, feedback)
        if not self.proposer.reads_slopes and feedback.constraint_subgradient is not None:
            name = type(self).__name__
            raise InvalidValueError(f"constraint_subgradient is not used by {name}: leave it out")
        reason = self._must_start
        if reason and not state.memory.rounds and not (located.action == state.x).all():
            rule = f"the start until it was measured, because {reason}"
            raise checks.invalid("action", rule, located.action)
        return located

    @property
    def _must_start(self) -> str:
        """Why the first reading must be that of the start; empty where it need not be."""
        if self.knowledge.bounds_start:
            return "start_bound is given"
        return "readings lag behind the action" if self.knowledge.remembers else ""

    def move_to(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state of the same round with the action x; before a reading, a new start."""
        if not np.any(state.memory.rounds) and state.plan is None:
            return self._begin_at(state, x)
        learner = self.proposer.interrupt(state.learner)
        plan = None if state.plan is None else state.plan._replace(holds=False)
        return state._replace(x=freeze(np.array(x)), learner=learner, plan=plan)

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the domain."""
        return self.domain is None or bool(self.domain.contains(x))

    def rest(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state after a round without a reading; x is proposed for the next.

        In contexts, x is not certified before ``announce``.
        """
        if not state.memory.rounds and state.plan is None:
            begun = self._begin_at(state, x)
            if not self.knowledge.remembers:
                return begun
            return begun._replace(memory=self.knowledge.age(begun.memory, begun.x))
        x, plan = freeze(np.array(x)), state.plan
        plan = None if plan is None else Plan(x, state.x, origin_holds=plan.holds)
        memory = self.knowledge.age(state.memory, state.x)
        learner = self.proposer.interrupt(state.learner)
        return state._replace(x=x, memory=memory, learner=learner, plan=plan)

    def _begin_at(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state at an own action before any reading: it is a new start."""
        if self.knowledge.remembers:
            if not (x == state.x).all():
                rule = f"the start until it was measured, because {self._must_start}"
                raise checks.invalid("action", rule, x)
            return state
        if self.domain is not None and not np.all(self.domain.contains(x)):
            rule = f"in the domain {self.domain!r} in the first round that is measured"
            raise checks.invalid("action", rule, x)
        begun: CertifiedState = self.init(x)
        return begun

    def observer(self) -> Any:
        """Return the observer of the proposer's regret bound; None without one."""
        return self.proposer.observer(self.knowledge)


def as_proposer(candidate: Any) -> Proposer:
    """Return a proposer unchanged, an algorithm as a :class:`~surefoot.proposers.Learner`."""
    if is_algorithm(candidate):
        from surefoot.proposers.learner import Learner

        return Learner(algorithm=candidate)
    if not isinstance(candidate, Proposer):
        raise checks.invalid("proposer", "a proposer, as Proposals(), or an algorithm", candidate)
    return candidate


def _certify_by_values(knowledge: Knowledge, learner: Proposer) -> Knowledge:
    """Return knowledge for which subgradients only steer; raise unless values certify."""
    kind, name = type(knowledge).__name__, type(learner).__name__
    if knowledge.row_count > 1:
        raise InvalidValueError(
            f"knowledge must be of one limit for {name}, because values alone do not say how each "
            f"of several turns: tell the largest g, got a {kind} of {knowledge.row_count}"
        )
    if knowledge.slopes == "certify":
        raise InvalidValueError(
            f"knowledge must certify by values for {name}, which is told no slopes: take a G_g "
            f"(LipschitzHull), or ValuesAveraging, which measures slopes, got a {kind}"
        )
    return replace(knowledge, errors=replace(knowledge.errors, slope=math.inf))
