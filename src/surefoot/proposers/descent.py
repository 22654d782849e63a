r"""Gradient descent as a proposer: the region limits and cuts its steps.

.. math::
    1/\eta_t &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), \|\nabla_t\|/r_t), \qquad
                S_t = \sum_{s \le t}\|\nabla_s\|^2 \\
    y_t      &= x_t - \eta_t\nabla_t

with :math:`r_t` the longest step that the region certifies. The proposal is the point where the
region cuts off the step to :math:`y_t`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import maximum, number_like, sqrt, squared_and_norm, to_numpy, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Span
from surefoot.core.kernel_constants import TINY
from surefoot.core.parameters import flag, positive
from surefoot.core.types import Array, Number
from surefoot.guarantees.observers import CutCost, ObservedRegret
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.in_kernel import KernelStep
from surefoot.knowledge.region import Projection, Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.in_kernel import ProposerInKernel

_ROOT_2 = math.sqrt(2.0)


class DescentState(NamedTuple):
    """What the next step needs.

    Attributes:
        squares: S, the sum of the squared norms of the gradients.
        inverse_eta: 1/eta of the last step.
    """

    squares: Annotated[Number, Span(0)]
    inverse_eta: Number


class DescentNote(NamedTuple):
    """Details of a step for the bound on the regret.

    Attributes:
        size: the norm of the cost gradient.
        inverse_eta: 1/eta of the step.
        wanted: y, the end of the step before it is cut.
        moves: whether there was a step to take.
        radius: R.
        found: the point where it was cut off, with the multipliers of the region.
        cost: the cost of the cut, if it is known without the region.
    """

    size: Number
    inverse_eta: Number
    wanted: Array
    moves: Any
    radius: Number
    found: Projection
    cost: CutCost | None = None


class Descent(Proposer):
    r"""Gradient descent with steps that the region certifies.

    Args:
        radius: R, the radius of a ball that contains the feasible set.
        eta: a fixed limit on the step size instead of :math:`\sqrt2R/\sqrt{S_t}`.
        ratchet: whether the step size never rises again, which the regret bound needs. Without it
            each step is limited by itself: as safe, at times better, and without a regret proof.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"longest"})

    radius: Number = positive()
    eta: Number | None = positive(default=None)
    ratchet: bool = flag(default=True)

    def init(self, x1: Array) -> DescentState:
        """Return the state before the first round."""
        zero = number_like(x1, 0.0)
        return DescentState(zero, zero)

    def propose(
        self, learner: DescentState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[DescentState, Proposal]:
        """Return the step as the region cuts it; the action itself without a gradient."""
        if feedback.cost_gradient is None:
            return learner, Proposal(x)
        grad = checks.read_gradient(x, feedback)
        squares, size = add_square(learner.squares, grad)
        if self.eta is None:
            inverse = sqrt(squares) / (_ROOT_2 * self.radius)
        else:
            inverse = where(squares > 0, 1 / self.eta, 0.0 * size)
        longest = region.longest
        moves = longest > 0
        # If rounding leaves no certified step, nothing moves, and the step size is not frozen.
        inverse = maximum(inverse, where(moves, size / where(moves, longest, 1.0), 0.0 * size))
        if self.ratchet:
            inverse = maximum(inverse, learner.inverse_eta)
        going = moves & (inverse > TINY)
        target = x - 1.0 / where(going, inverse, math.inf) * grad
        cut = region.find_cut(target)
        note = DescentNote(size, inverse, target, moves, self.radius, cut)
        return DescentState(squares, inverse), Proposal(cut.point, note, wanted=target)

    def observer(self, knowledge: Knowledge) -> ObservedRegret | None:
        """Return the sums of Theorem C, or of Theorem D; None without a regret proof."""
        has_bound = self.ratchet and knowledge.observer_kind != "none"
        return ObservedRegret() if has_bound else None

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> DescentInKernel:
        """Return how the kernel has the descent."""
        return DescentInKernel(self)


class DescentInKernel(ProposerInKernel):
    """Gradient descent in the kernel."""

    code = "SF_DESCENT"

    def __init__(self, proposer: Descent) -> None:
        self.radius: Number = proposer.radius
        self.fields: dict[str, Any] = {
            "ratchet": int(proposer.ratchet),
            "scale": _ROOT_2 * proposer.radius,
            "eta": 0.0 if proposer.eta is None else proposer.eta,
        }

    def put_together(self, parts: dict[str, Any]) -> DescentState:
        """Return the state of parts."""
        return DescentState(**parts)

    def note(self, step: KernelStep) -> DescentNote | None:
        """Return the numbers of the step; None without a cost gradient."""
        if step.feedback.cost_gradient is None:
            return None
        n, noted = step.numbers, step.noted
        return DescentNote(
            size=noted.size,
            inverse_eta=noted.inverse_eta,
            wanted=step.proposal,
            moves=bool(noted.moves),
            radius=self.radius,
            found=step.projection,
            cost=CutCost(n.rho, -0.5 * n.moved) if step.knowledge.tightens else None,
        )


def add_square(squares: Number, grad: Array) -> tuple[Number, Number]:
    """Return a sum with the squared norm of a cost gradient added to it, and the norm.

    One run raises for an infinite sum, after which every step would have length 0.
    """
    squared, size = squared_and_norm(grad)
    total = squares + squared
    if isinstance(total, float) and not total < math.inf:
        checks.refuse_unfinite(to_numpy(grad), "cost_gradient")
        rule = "have a finite square" if squared == math.inf else "leave the sum of squares finite"
        raise InvalidValueError(f"cost_gradient must {rule}, got a norm of {size:g}")
    return total, size
