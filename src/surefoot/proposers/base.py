"""Proposers: they learn from all feedback and propose the next action."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, final

from surefoot.core.feedback import Feedback
from surefoot.core.parameters import (
    Declared,
)
from surefoot.core.types import (
    Array,
    Context,
    Set,
)
from surefoot.knowledge.base import Knowledge, Memory
from surefoot.knowledge.region import Region
from surefoot.proposers.in_kernel import ProposerInKernel

__all__ = ["Proposal", "Proposer"]


class Proposal(NamedTuple):
    """The point that a proposer would like to play next.

    Attributes:
        point: the point; a proposer may have projected it onto the region already.
        note: details of the round for its bound on the regret.
        contradictions: what is impossible if the proposer is right, one sentence each.
        wanted: the proposal before the region changed it; the point by default.
    """

    point: Array
    note: Any = None
    contradictions: tuple[str, ...] = ()
    wanted: Array | None = None


class Proposer(Declared):
    """A learner. All methods are pure.

    Attributes:
        cost_gradients: the number of cost gradients that it needs in a round: 1, or 0 for external
            proposals.
        work: its arithmetic in a round, as a product of sizes.
        is_one_run: whether it takes one NumPy run only; batches are then played run by run.
        in_contexts: whether it learns what to do in a context.
        reads: the numbers of a region that it reads, which the knowledge must offer; ``round``,
            ``x``, ``errors`` and ``known`` are always there.
        reads_slopes: whether it takes reported subgradients. If not, it estimates them from values:
            then a round reports none, and the knowledge must certify by values only.
    """

    reads: ClassVar[frozenset[str]] = frozenset()
    reads_slopes: ClassVar[bool] = True
    cost_gradients: ClassVar[int] = 1
    work: ClassVar[str] = "d"
    is_one_run: ClassVar[bool] = False
    in_contexts: ClassVar[bool] = False

    @property
    def fields(self) -> frozenset[str]:
        """The fields of feedback that it uses, beside those that every pair uses; none."""
        return frozenset()

    def init(self, x1: Array) -> Memory:
        """Return the state of the learner before the first round; empty by default."""
        return ()

    @abstractmethod
    def propose(
        self, learner: Memory, x: Array, feedback: Feedback, region: Region
    ) -> tuple[Memory, Proposal]:
        """Return the learner after a round, and its proposal for the next.

        Args:
            learner: its state.
            x: the action that was played.
            feedback: the feedback there; parts of it may be None.
            region: the certified next actions, with numbers that a proposer may use.
        """

    def interrupt(self, learner: Memory) -> Memory:
        """Return the learner after an order to play another action than its proposal led to."""
        return learner

    def aim(self, learner: Memory, proposal: Array, context: Context) -> tuple[Memory, Array]:
        """Return the learner and its proposal for the context of the next round.

        Args:
            learner: its state.
            proposal: its proposal so far.
            context: of the next round, in numbers.
        """
        return learner, proposal

    def read_features(self, context: Any, place: Array) -> Array | None:
        """Return the features of a context; None by default."""
        return None

    def on(self, domain: Set) -> Self:
        """Return the proposer on another set; unchanged if it has none."""
        untyped: Any = self
        has_set = getattr(self, "domain", None) is not None
        return replace(untyped, domain=domain) if has_set else self

    def observer(self, knowledge: Knowledge) -> Any:
        """Return the observer of a bound on the regret so far; None without a bound."""
        return None

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> ProposerInKernel | None:
        """Return how the kernel has the proposer in a dimension; None if Python plays it.

        The answer is for objects of the class that writes it, and for no subclass.

        Args:
            knowledge: the other part of the pair.
            d: the dimension.
        """
        return None

    @final
    def in_kernel(self, knowledge: Knowledge, d: int) -> ProposerInKernel | None:
        """Return how the kernel has this proposer beside a knowledge; None if Python plays it.

        A subclass may change any method, so it inherits no answer.
        """
        is_own = "describe_to_kernel" in vars(type(self))
        return self.describe_to_kernel(knowledge, d) if is_own else None
