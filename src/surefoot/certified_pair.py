"""What a certified rule is as an object: two parts, and what others ask of the pair.

How the parts play together is :mod:`surefoot.certified`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.certified_contexts import InContexts, Plan
from surefoot.core import checks
from surefoot.core.algorithm import is_algorithm
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import AsFresh
from surefoot.core.parameters import (
    Declared,
    anything,
)
from surefoot.core.parts import OfParts
from surefoot.core.types import (
    Array,
    Feedback,
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


class Parts(Declared):
    """What the parts of a certified rule may be."""

    proposer: Any = anything("a proposer")
    knowledge: Any = anything("what is known of g")
    ramp: Any = anything("a finite number > 0, or one per coordinate", default=None)


class CertifiedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play; not certified while the context of its round is not known.
        memory: what was read.
        learner: what was learnt.
        plan: what is wanted, where there are contexts.
    """

    x: Array
    memory: Memory
    learner: Memory
    plan: Annotated[Plan | None, AsFresh] = None


class Pair(InContexts, OfParts):
    """A rule of two parts, which has no other fields.

    Attributes:
        made_of: the classes that the proposer and the knowledge may be of.
        declared_by: the classes that declare the arguments of the constructor.
        typical_needs: what a round asks for, as far as the class knows it.
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
            raise checks.invalid("knowledge", "an object of surefoot.knowledge", knowledge)
        learner = as_proposer(proposer)
        known: Any = knowledge
        has_contexts = known.in_contexts and known.context.argument == "context"
        if learner.in_contexts and not has_contexts:
            raise checks.invalid(
                "knowledge", f"of contexts for {type(learner).__name__}", knowledge
            )
        if missing := sorted(learner.reads - knowledge.offers):
            raise InvalidValueError(
                f"{type(learner).__name__} reads region.{missing[0]}, which "
                f"{type(knowledge).__name__} does not offer"
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
        """Return the rule of two parts: how one is printed, read from a file, or changed.

        Args:
            proposer: of a class that the rule is made of.
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
        """What a round asks for."""
        one_run = not self.knowledge.takes_batches or self.proposer.is_one_run
        separately = self.knowledge.row_count > 1
        return Needs(
            cost_gradients=self.proposer.cost_gradients,
            constraint_subgradients=int(self.knowledge.slopes != "unused"),
            proposals=1 - self.proposer.cost_gradients,
            separately=separately,
            work=f"m {self.proposer.work}" if separately else self.proposer.work,
            numpy_only=one_run,
            one_run=one_run,
        )

    @property
    def errors(self) -> Errors:
        """What feedback may be wrong by without a wrong certificate."""
        errors: Errors = self.knowledge.errors
        return errors

    @property
    def domain(self) -> Set | None:
        """The set that holds every action; None where none is known."""
        domain: Set | None = self.knowledge.domain
        return domain

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors."""
        return self.of(self.proposer, replace(self.knowledge, errors=errors), self.ramp)

    def locate(self, state: Any, feedback: Feedback) -> Feedback:
        """Return feedback with its action: the first is the start where a bound there is known."""
        seen = super().locate(state, feedback)
        is_first = self.knowledge.bounds_start and not state.memory.rounds
        if is_first and not (seen.action == state.x).all():
            rule = "the start until that was measured, whose start_bound is known"
            raise checks.invalid("action", rule, seen.action)
        return seen

    def move_to(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state, of the same round, whose action is x; before a reading a new start."""
        if not np.any(state.memory.rounds) and state.plan is None:
            first: CertifiedState = self.init(x)
            return first
        return state._replace(x=freeze(np.array(x)))

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the domain."""
        return self.domain is None or bool(self.domain.contains(x))

    def rest(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state after a round in which nothing was read and x is wanted for the next.

        Where there are contexts, x is not certified before ``announce``.
        """
        if not state.memory.rounds and state.plan is None:
            first: CertifiedState = self.init(x)
            return first
        x, plan = freeze(np.array(x)), None if state.plan is None else Plan(x)
        return state._replace(x=x, memory=self.knowledge.age(state.memory, state.x), plan=plan)

    def observer(self) -> Any:
        """Return the proposer's sums of a bound on the regret so far, where it has one."""
        return self.proposer.observer(self.knowledge)


def as_proposer(given: Any) -> Proposer:
    """Return a proposer as it is, an algorithm as a :class:`~surefoot.proposers.Learner`."""
    if is_algorithm(given):
        from surefoot.proposers.learner import Learner

        return Learner(algorithm=given)
    if not isinstance(given, Proposer):
        raise checks.invalid("proposer", "a proposer, as Proposals(), or an algorithm", given)
    return given
