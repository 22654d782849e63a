"""External proposals: any learner, any optimiser, any person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import (
    flag,
)
from surefoot.core.types import (
    Array,
)
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.in_kernel import KernelStep
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.in_kernel import ProposerInKernel

__all__ = ["Proposals"]


class Proposals(Proposer):
    """External proposals: the ``proposal`` of the feedback.

    Args:
        as_steps: whether a proposal is the end of a step, which the region cuts off where it keeps
            its margin, rather than a point that the region's nearest is sought for.
    """

    as_steps: bool = flag(default=False)

    cost_gradients: ClassVar[int] = 0

    def propose(
        self, learner: tuple[()], x: Array, feedback: Feedback, region: Region
    ) -> tuple[tuple[()], Proposal]:
        """Return the proposal; the last action where there is none."""
        if feedback.proposal is None:
            return learner, Proposal(x)
        checks.check_like_action(feedback.proposal, x, "proposal")
        if isinstance(x, np.ndarray) and x.ndim == 1:
            checks.refuse_unfinite(feedback.proposal, "proposal")
        # A proposal inside the region is the caller's own array.
        target = np.array(feedback.proposal) if isinstance(x, np.ndarray) else feedback.proposal
        return learner, Proposal(region.cut(target) if self.as_steps else target, wanted=target)

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> ProposalsInKernel:
        """Return how the kernel has external proposals."""
        return ProposalsInKernel(self)


class ProposalsInKernel(ProposerInKernel):
    """External proposals in the kernel: nothing is learnt, so the state has no numbers."""

    code = "SF_PROPOSALS"

    def __init__(self, proposer: Proposals) -> None:
        self.fields: dict[str, Any] = {"as_steps": int(proposer.as_steps)}

    def take_apart(self, memory: tuple[()], names: Iterable[str]) -> dict[str, Any]:
        """Return no parts: who learns nothing has none."""
        if memory != ():
            raise TypeError("the state of another learner")
        return {}

    def put_together(self, parts: dict[str, Any]) -> tuple[()]:
        """Return the state of a learner that learns nothing."""
        return ()

    def note(self, step: KernelStep) -> None:
        """Return None: there is no bound on the regret."""
        return
