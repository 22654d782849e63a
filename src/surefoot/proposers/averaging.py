r"""Dual averaging over certified points, with Theorem K's sums of the regret observed."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, norm
from surefoot.core.feedback import Feedback
from surefoot.core.forms import NonNegative
from surefoot.core.kernel_constants import AVERAGING_STEPS
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Info, Number
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.in_kernel import KernelStep
from surefoot.knowledge.region import Projection, Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.descent import add_square
from surefoot.proposers.in_kernel import ProposerInKernel
from surefoot.proposers.leader import INITIAL_WEIGHTS
from surefoot.proposers.trust import Trust, reweigh

__all__ = ["Averaging", "ObservedAveraging"]

_ROOT_HALF = math.sqrt(0.5)

FAR = 0.3
"""F/R of the others: how far they may be from their certified points."""


class AveragingState(NamedTuple):
    """What the next far points need; rows of arrays are one for each.

    Attributes:
        start: the first action.
        gradients: theta, the sums of the cost gradients, less what was pruned.
        points: the certified points nearest to the far points.
        trust: the weight of each.
        inverse_eta: 1/eta of the last step; 0 before the first gradient.
        squares: the sum of the squared norms of the cost gradients.
    """

    start: Array
    gradients: Array
    points: Array
    trust: Trust
    inverse_eta: float
    squares: NonNegative


class AveragingNote(NamedTuple):
    """Details of a step and its first far point for the bound on the regret.

    Attributes:
        x: the action that was played.
        gradient: the cost gradient.
        radius: R.
        point: the certified point of the last round.
        inverse_eta: 1/eta of the step.
        kept: the way from there to the last far point, as pruned.
        share: the share of the way to this far point that was pruned.
        found: the certified point nearest to it, with its multipliers.
    """

    x: Array
    gradient: Array
    radius: float
    point: Array
    inverse_eta: float
    kept: Array
    share: float
    found: Projection


class Averaging(Proposer):
    r"""Dual averaging: the proposal is a mean of the certified points nearest to some far points.

    Args:
        radius: R, the radius of a ball that contains the feasible set.
        far: F/R for one far point instead of four: how far it may be from its certified point.
        eta: a fixed step for one far point, which is pruned only if ``far`` is given.
    """

    radius: Number = positive()
    far: Number | None = positive(default=None)
    eta: Number | None = positive(default=None)

    is_one_run: ClassVar[bool] = True

    @property
    def steps(self) -> tuple[float, ...]:
        """The steps of the far points, as multiples of eta."""
        is_one = self.eta is not None or self.far is not None
        return AVERAGING_STEPS[:1] if is_one else AVERAGING_STEPS

    def init(self, x1: Array) -> AveragingState:
        """Return the state before the first round."""
        points = np.tile(x1, (len(self.steps), 1))
        initial_weights = INITIAL_WEIGHTS if len(points) > 1 else np.ones(1)
        return AveragingState(x1, 0.0 * points, points, Trust.first(initial_weights), 0.0, 0.0)

    def propose(
        self, learner: AveragingState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[AveragingState, Proposal]:
        """Return the mean of the certified points nearest to the far points."""
        start, gradients, points, trust, last, squares = learner
        grad = np.zeros_like(x)
        if feedback.cost_gradient is not None:
            grad = checks.read_gradient(x, feedback)
        squares, _ = add_square(squares, grad)
        if len(points) > 1:
            trust = reweigh(trust, points @ grad, INITIAL_WEIGHTS, region.round)
        inverse = math.sqrt(squares) / (_ROOT_HALF * self.radius)
        if self.eta is not None:
            inverse = 1 / self.eta if squares > 0 else 0.0
        gradients, step = gradients + grad, np.array(self.steps)[:, None]
        targets = start - gradients * step / (inverse if inverse > 0 else math.inf)
        projections = [region.find_nearest(target) for target in targets]
        points = np.array([one.point for one in projections])
        n = targets - points
        length = np.array([norm(way) for way in n])
        share = 1.0 - np.minimum(self._limits() / np.where(length > 0, length, 1.0), 1.0)
        gradients = gradients + share[:, None] * inverse / step * n
        pull = start - learner.gradients[0] / (last if last > 0 else math.inf) - learner.points[0]
        note = AveragingNote(
            x, grad, self.radius, learner.points[0], inverse, pull, float(share[0]), projections[0]
        )
        state = AveragingState(start, gradients, points, trust, inverse, squares)
        return state, Proposal(trust.weights @ points, note, wanted=trust.weights @ targets)

    def _limits(self) -> Array:
        """Return how far each far point may be from its certified point."""
        first = math.inf if self.far is None else self.far
        return self.radius * np.array([first, *[FAR] * (len(self.steps) - 1)])

    def observer(self, knowledge: Knowledge) -> ObservedAveraging | None:
        """Return Theorem K's sums; None for regions that have no multipliers."""
        return ObservedAveraging() if knowledge.observer_kind == "curvature" else None

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> AveragingInKernel:
        """Return how the kernel has dual averaging."""
        return AveragingInKernel(self)


class AveragingInKernel(ProposerInKernel):
    """Dual averaging in the kernel."""

    code = "SF_AVERAGING"

    def __init__(self, proposer: Averaging) -> None:
        n, self.radius = len(proposer.steps), proposer.radius
        distance = FAR if n > 1 else proposer.far or 0.0
        self.fields: dict[str, Any] = {
            "scale": _ROOT_HALF * proposer.radius,
            "eta": 0.0 if proposer.eta is None else proposer.eta,
            "far": distance * proposer.radius,
            "points": n,
        }

    def put_together(self, parts: dict[str, Any]) -> AveragingState:
        """Return the state of parts."""
        return AveragingState(trust=Trust(**parts.pop("trust")), **parts)

    def note(self, step: KernelStep) -> AveragingNote:
        """Return the numbers of the step."""
        gradient, noted = step.feedback.cost_gradient, step.noted
        return AveragingNote(
            x=step.played,
            gradient=np.zeros(len(step.played)) if gradient is None else gradient,
            radius=self.radius,
            point=step.learner_before.points[0],
            inverse_eta=noted.inverse_eta,
            kept=step.kept,
            share=noted.share,
            found=step.projection,
        )


class ObservedAveraging(NamedTuple):
    r"""The sums of Theorem K (i) over the rounds so far, of the first far point.

    .. math::
        \mathrm{Reg}_T \le \frac{D^2}{2\eta_T}
        &+ \sum_t\Big(\nabla_t^\top(x_t-p_{t+1}) - \frac{\|p_{t+1}-p_t\|^2}{2\eta_{t-1}}
           + \frac{(1-c_{t-1})n_{t-1}^\top(p_{t+1}-p_t)}{\eta_{t-1}}\Big) \\
        &+ \sum_{t<T}\frac{c_t}{\eta_t}Q_t + \frac{Q_T}{\eta_T}, \qquad
        Q_t = \tfrac12\Lambda_tP_t(4R+P_t) .

    A point that was drawn nearer, by d, adds :math:`2R(1 + \Lambda_t)d` to :math:`Q_t`.

    Attributes:
        moves: the first sum.
        pruned: the second, up to the last round.
        last: the last term less the share :math:`c_T` of it that is in the second.
        inverse_eta: the last :math:`1/\eta_t`.
    """

    moves: float = 0.0
    pruned: float = 0.0
    last: float = 0.0
    inverse_eta: float = 0.0

    @property
    def theorem(self) -> str:
        """The statement that bounds the regret by these sums."""
        return "Theorem K, observed"

    def after(self, info: Info) -> ObservedAveraging | None:
        """Return the sums with one more round, given its details; None without a region."""
        note, region = info.note, info.region
        if region is None:
            return None
        inverse, projection, R = note.inverse_eta, note.found, float(note.radius)
        if not inverse > 0:
            return self
        step, P = projection.point - note.point, norm(projection.point - region.x)
        before = self.inverse_eta if self.inverse_eta > 0 else inverse  # eta_0 is eta_1
        moves = dot(note.gradient, note.x - projection.point)
        moves += (dot(note.kept, step) - 0.5 * dot(step, step)) * before
        # By how much a projection's normal may fail to point away from a feasible point.
        bend, loose = (
            float(e) for e in region.base.normal_error(projection.weights, projection.point)
        )
        off = 2 * R * (1 + bend) * float(projection.projection_error)
        price = (0.5 * bend * P * (4 * R + P) + loose + off) * inverse
        pruned, last = note.share * price, (1 - note.share) * price
        return ObservedAveraging(self.moves + moves, self.pruned + pruned, last, inverse)

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far."""
        reach = float(algorithm.knowledge.reach) + norm(state.learner.start)
        D = min(2 * float(algorithm.proposer.radius), reach)
        return float(0.5 * D * D * self.inverse_eta + self.moves + self.pruned + self.last)
