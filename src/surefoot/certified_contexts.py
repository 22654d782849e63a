"""Rounds in contexts: the action is chosen when the context of the next round is known.

In contexts the limit depends on something that is known before the round: a temperature, a load, a
forecast. An action is certified for the context of its round. So a step ends with a plan, and
:meth:`InContexts.announce` turns the plan into an action.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.types import Array, Context, Info, Set
from surefoot.knowledge.base import Memory
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.ramp import limit_steps


class Plan(NamedTuple):
    """The plan for the next round until its context is announced.

    Attributes:
        proposal: the point that the proposer would like to play.
        origin: the action of the last round, from which a ramp counts.
        within: the set that was announced; None for none.
        origin_holds: whether the origin was certified in the context of its round.
        holds: whether the action at hand is certified in the context of its round.
        is_unknown: whether the context of the round stays unknown, so that no reading counts.
    """

    proposal: Array
    origin: Array
    within: Set | None = None
    origin_holds: bool = False
    holds: bool = False
    is_unknown: bool = False


class InContexts:
    """The part of a certified rule that contexts need."""

    proposer: Any
    knowledge: Any
    ramp: Any

    def read_context(self, state: Memory, context: Any, *, current: bool = False) -> Context:
        """Return a context in numbers: the only place that calls the user's functions.

        Args:
            state: the present state.
            context: as a user reports it, or in numbers already.
            current: whether it is the context of the current round, not of the next.
        """
        before: Context | None = state.memory.before if current else state.memory.context
        if not isinstance(context, Context):
            is_unknown = state.plan is not None and state.plan.is_unknown
            if before is None and state.memory.before is not None and not is_unknown:
                rule = "that of the current round first, which is unknown"
                raise checks.invalid("context", rule, context)

            def read() -> Context:
                place = self.knowledge.context.read(context, before and before.place)
                return Context(place, self.proposer.read_features(context, place))

            context = checks.call_yours(read, "features must return numbers")
        place, features = context
        if features is not None:
            known = None if before is None or before.features is None else len(before.features)
            features = read_numbers(features, "features", known, ", as before")
        return Context(
            read_numbers(place, "context", self.knowledge.context.size, ", one per column"),
            features,
        )

    def announce(self, state: Memory, context: Context) -> tuple[Memory, Info]:
        """Return the state with the context of the next round and the action for it.

        The context may be announced again until the round is played; the last one counts.
        """
        plan: Plan | None = state.plan
        assert plan is not None
        memory = self.knowledge.announce(state.memory, context)
        learner, proposal = self.proposer.aim(state.learner, plan.proposal, context)
        if not memory.rounds:
            plan = plan._replace(is_unknown=False)
            after = state._replace(memory=memory, learner=learner, plan=plan)
            return after, Info(state.x, proposal=state.x)
        region = self.knowledge.region(memory, self.knowledge.errors)
        if self.ramp is not None:
            last = (plan.origin, self.ramp, plan.origin_holds, self.knowledge.errors)
            region = limit_steps(self.knowledge, memory, region, *last)
        region = region.within(plan.within)
        new = freeze(region.nearest(proposal))
        region.must_certify(new, self.knowledge.domain)
        plan = plan._replace(holds=True, is_unknown=False)
        after = state._replace(x=new, memory=memory, learner=learner, plan=plan)
        return after, Info(new, proposal, region)

    def want(self, state: Memory, x: Array) -> Memory:
        """Return the state that proposes x in a round whose context is not announced yet."""
        if state.plan is None:
            return state
        learner = self.proposer.interrupt(state.learner)
        return state._replace(learner=learner, plan=state.plan._replace(proposal=x))

    def stand_at(
        self, state: Memory, x: Array, context: Context | None, *, holds: bool = False
    ) -> Memory:
        """Return the state that plays x in a context, or in an unknown one, without a region.

        Args:
            state: the present state.
            x: the action.
            context: that of the round; None if nobody knows it.
            holds: whether x is certified all the same, as on the return path.
        """
        memory = self.knowledge.announce(state.memory, context)
        learner = self.proposer.interrupt(state.learner)
        plan = state.plan._replace(holds=holds, is_unknown=context is None)
        return state._replace(x=freeze(x.copy()), memory=memory, learner=learner, plan=plan)

    def doubt(self, state: Memory) -> Memory:
        """Return the state whose action is not certified in the context of its round."""
        plan: Plan | None = state.plan
        assert plan is not None
        return state._replace(plan=plan._replace(holds=False))
