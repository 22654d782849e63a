"""Plain gradient steps from the action that was played."""

from __future__ import annotations

from surefoot.core import checks
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Number
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer

__all__ = ["GradientSteps"]


class GradientSteps(Proposer):
    r"""Proposals :math:`x_t - \eta\nabla_t`, from the action that was played.

    Args:
        eta: :math:`\eta`.
    """

    eta: Number = positive()

    def propose(
        self, learner: tuple[()], x: Array, feedback: Feedback, region: Region
    ) -> tuple[tuple[()], Proposal]:
        """Return the end of the step; the action itself without a gradient."""
        if feedback.cost_gradient is None:
            return learner, Proposal(x)
        return learner, Proposal(x - self.eta * checks.read_gradient(x, feedback))
