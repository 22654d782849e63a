r"""Learning and safety are separate: any learner proposes, a region decides.

A *proposer* learns from all feedback and says which action it would like to play. *Knowledge*
states what is true of the limit g, and bounds the errors of readings. It turns readings into a
*region* of next actions that are feasible for every limit that agrees with them. The action is the
point of the region nearest to the proposal::

    feedback --> knowledge.observe --> region --> region.nearest(proposal) --> action, certificate
         \-----> proposer.propose ---> proposal -----------/

Safety is the region and one projection: any learner, any optimiser, any person may propose. Every
certified rule and every filter of the library is a pair ``Certified(proposer, knowledge)``. The
named rules, such as ``LeaderFollower`` or ``RegionFilter``, derive from it: their constructor makes
the two parts, and they have no other fields.

Any algorithm may be the proposer (:class:`Learner`). A new proposer has three methods
(:class:`Proposer`), and so has a new kind of knowledge (:mod:`surefoot.knowledge.region`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from surefoot.certified_contexts import Plan
from surefoot.certified_pair import CertifiedState, Pair
from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.points import dimension_of
from surefoot.core.types import (
    Array,
    Info,
)
from surefoot.kernel_bridge import Compiled
from surefoot.knowledge.base import Memory, Reading
from surefoot.knowledge.ramp import find_jump, keep_anchor, limit_steps
from surefoot.proposers.base import Proposal

__all__ = ["Certified"]


class Certified(Pair):
    """A proposer that learns and knowledge that certifies; see the module's docstring.

    Args:
        proposer: the learner; an algorithm becomes a :class:`Learner`.
        knowledge: the knowledge of g.
        ramp: how far an action may be from the last one, or each of its entries
            (:mod:`surefoot.knowledge.ramp`); None for any distance.

    Example:
        >>> from surefoot.knowledge import LipschitzHull
        >>> from surefoot.proposers import Proposals
        >>> player = Certified(proposer=Proposals(), knowledge=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = player.init(np.zeros(2))  # g(x) = x[1] - 0.5
        >>> proposal, s = np.array([0.0, 9.0]), np.array([0.0, 1.0])
        >>> feedback = Feedback(constraint_value=-0.5, constraint_subgradient=s, proposal=proposal)
        >>> state, info = player.step(state, feedback)
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)
    """

    def __repr__(self) -> str:
        if type(self) is not Certified:
            return super().__repr__()
        return f"Certified({', '.join(f'{n}={part!r}' for n, part in self.parts.items())})"

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = checks.to_action(x1)
        if isinstance(self.ramp, tuple) and len(self.ramp) != x1.shape[-1]:
            raise checks.invalid("ramp", f"one number, or {x1.shape[-1]} as x1 has", self.ramp)
        plan = Plan(x1, x1) if self.knowledge.in_contexts else None
        return CertifiedState(x1, self.knowledge.init(x1), self.proposer.init(x1), plan)

    @cached_property
    def compiled(self) -> Any:
        """The pair in the kernel, for each dimension."""
        return Compiled()

    @property
    def is_plain(self) -> bool:
        """Whether no subclass changes the steps of the two parts."""
        names = ("init", "locate", "step", "step_in_python")
        return all(getattr(type(self), name) is getattr(Certified, name) for name in names)

    @property
    def engine(self) -> str:
        """The engine of one run: "kernel", or "python" if the kernel does not support the pair."""
        d = dimension_of(self.domain) or 1
        return "python" if self.compiled.rule(self, np.zeros(d)) is None else "kernel"

    def step(self, state: Memory, feedback: Feedback) -> tuple[Memory, Info]:
        """Return the state after a round, and the details of the step.

        The kernel plays one NumPy run of the pairs that it supports.
        :meth:`~surefoot.certified.Certified.step_in_python` defines a step.
        """
        answer: tuple[Memory, Info] | None = self.compiled.step(self, state, feedback)
        return self.step_in_python(state, feedback) if answer is None else answer

    def step_in_python(self, state: Memory, feedback: Feedback) -> tuple[CertifiedState, Info]:
        """Return the same, computed in Python.

        A round without a measurement is a step, too: the readings age. So is a round played outside
        of the domain, where the constants need not hold. Before the first measurement only the
        start is certified, and it stays.
        """
        knowledge, before = self.knowledge, state.memory
        x = self.locate(state, feedback).action
        errors = knowledge.errors.of_round(feedback)
        suspects: tuple[Callable[[], tuple[str, ...]], ...] = ()
        if feedback.constraint_value is None:
            if not np.any(before.rounds):
                before = knowledge.age(before, x) if knowledge.remembers else before
                still = state._replace(memory=knowledge.announce(before, feedback.context))
                moves = knowledge.in_contexts or knowledge.remembers
                return still if moves else state, Info(state.x, proposal=state.x)
            memory = knowledge.age(before, x)
        else:
            g, s = (checks.copy_of(part) for part in knowledge.read(x, feedback))
            reading = Reading(x, g, s, errors, feedback.age)
            memory = self._observe(before, reading)
            suspects = (partial(knowledge.contradictions, before, reading),)
        memory = knowledge.announce(memory, feedback.context)
        if self.ramp is not None:
            memory = keep_anchor(knowledge, memory, self.ramp)
        region = knowledge.region(memory, errors)
        certain = feedback.action is None  # a step chose x, not an order
        if knowledge.in_contexts:
            certain = certain and state.plan.holds
        if self.ramp is not None:
            region = limit_steps(knowledge, memory, region, x, self.ramp, certain)
            suspects = (*suspects, partial(find_jump, knowledge, before))
        region = region.within(feedback.within)
        learner, proposal = self.proposer.propose(state.learner, x, feedback, region)
        point = copy_point(proposal, x)
        plan = Plan(point, x, feedback.within, certain) if knowledge.in_contexts else None
        if proposal.contradictions:
            suspects = (*suspects, lambda: proposal.contradictions)
        proposed = proposal.point if proposal.wanted is None else proposal.wanted
        if plan is not None and feedback.context is None:  # the action is certified by announce
            still = CertifiedState(state.x, memory, learner, plan)
            return still, Info(state.x, proposed, None, suspects, proposal.note)
        new = freeze(region.nearest(point))
        if isinstance(new, np.ndarray) and new.ndim == 1:
            region.must_certify(new, knowledge.domain)  # safety is these lines
        plan = None if plan is None else plan._replace(holds=True)
        after = CertifiedState(new, memory, learner, plan)
        return after, Info(new, proposed, region, suspects, proposal.note)

    def _observe(self, memory: Any, reading: Reading) -> Any:
        """Return the memory with a reading; outside of the domain it only ages."""
        if self.knowledge.holds(reading.x):
            return self.knowledge.observe(memory, reading)
        if not memory.rounds:
            raise InvalidValueError(f"the first action must be in the domain, got {reading.x!r}")
        return self.knowledge.age(memory, reading.x)


def copy_point(proposal: Proposal, x: Array) -> Array:
    """Return a copy of the proposal, which its proposer cannot change any more."""
    checks.check_like_action(proposal.point, x, "the wanted action")
    return (
        np.array(proposal.point, dtype=np.float64) if isinstance(x, np.ndarray) else proposal.point
    )
