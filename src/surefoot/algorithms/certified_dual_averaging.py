r"""Dual averaging that knows the feasible set through curvature bounds, and Theorem K.

In the theorem, :math:`y_t = x_1 - \eta_t\theta_t` is a far point, :math:`p_{t+1}` the certified
point nearest to it, :math:`n_t = y_t - p_{t+1}` what that takes off, of which pruning drops the
share :math:`c_t`; :math:`P_t = \|p_{t+1} - x_t\|`; :math:`\Lambda_t = \sum_i\lambda_i\beta_i` with
the multipliers of the projection; the rest as in :mod:`surefoot.algorithms.certified_ogd`.
docs/curvature.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot import regions
from surefoot.algorithms.certified import (
    ROWS_NEED,
    Certified,
    Parts,
    Proposer,
    Wish,
    curvature_knowledge,
)
from surefoot.algorithms.certified_ogd import ByCurvature
from surefoot.algorithms.descent import add_square
from surefoot.algorithms.guarantee import Premise, Tuned
from surefoot.algorithms.leader import AT_FIRST
from surefoot.algorithms.observers import bounds_curved_regret
from surefoot.algorithms.trust import Trust, reweigh
from surefoot.algorithms.with_errors import under_errors
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import dot, norm
from surefoot.core.constants import Constants
from surefoot.core.forms import NonNegative
from surefoot.core.parameters import positive, rounds
from surefoot.core.types import Array, Feedback, Info, Needs, Number, Set

__all__ = ["Averaging", "CertifiedDualAveraging", "ObservedAveraging", "TheoremK"]

_ROOT_HALF = math.sqrt(0.5)
STEPS = (1.0, 0.25, 1.0, 4.0)
"""The steps of the far points, as multiples of eta; the first of them is never pruned."""

FAR = 0.3
"""F/R of the others: how far they may be from their certified points."""
UNPRUNED = 1e9
"""F/R of one far point that keeps all gradients."""


class AveragingState(NamedTuple):
    """What the next far points need; rows of arrays are one for each.

    Attributes:
        start: the first action.
        gradients: theta, the sums of the cost gradients, less what was pruned.
        points: the certified points nearest to the far points.
        trust: how far each is trusted.
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
    """What the bound on the regret wants to know of a step and of its first far point.

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
    found: regions.Projection


class Averaging(Proposer):
    r"""Dual averaging: the wish is a mean of the certified points nearest to some far points.

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
        return STEPS if self.eta is None and self.far is None else STEPS[:1]

    def init(self, x1: Array) -> AveragingState:
        """Start with nothing learnt."""
        points = np.tile(x1, (len(self.steps), 1))
        at_first = AT_FIRST if len(points) > 1 else np.ones(1)
        return AveragingState(x1, 0.0 * points, points, Trust.first(at_first), 0.0, 0.0)

    def propose(
        self, learner: AveragingState, x: Array, feedback: Feedback, region: regions.Region
    ) -> tuple[AveragingState, Wish]:
        """Return the mean of the certified points nearest to the far points."""
        start, gradients, points, trust, last, squares = learner
        grad = np.zeros_like(x)
        if feedback.cost_gradient is not None:
            grad = checks.read_gradient(x, feedback)
        squares, _ = add_square(squares, grad)
        if len(points) > 1:
            trust = reweigh(trust, points @ grad, AT_FIRST, region.round)
        inverse = math.sqrt(squares) / (_ROOT_HALF * self.radius)
        if self.eta is not None:
            inverse = 1 / self.eta if squares > 0 else 0.0
        gradients, step = gradients + grad, np.array(self.steps)[:, None]
        wanted = start - gradients * step / (inverse if inverse > 0 else math.inf)
        found = [region.find_nearest(far) for far in wanted]
        points = np.array([one.point for one in found])
        n = wanted - points
        length = np.array([norm(way) for way in n])
        share = 1.0 - np.minimum(self._limits() / np.where(length > 0, length, 1.0), 1.0)
        gradients = gradients + share[:, None] * inverse / step * n
        kept = start - learner.gradients[0] / (last if last > 0 else math.inf) - learner.points[0]
        note = AveragingNote(
            x, grad, self.radius, learner.points[0], inverse, kept, float(share[0]), found[0]
        )
        state = AveragingState(start, gradients, points, trust, inverse, squares)
        return state, Wish(trust.weights @ points, note, wanted=trust.weights @ wanted)

    def _limits(self) -> Array:
        """Return how far each far point may be from its certified point."""
        first = math.inf if self.far is None else self.far
        return self.radius * np.array([first, *[FAR] * (len(self.steps) - 1)])

    def observer(self, knowledge: regions.Knowledge) -> ObservedAveraging | None:
        """Return Theorem K's sums; None for regions that have no multipliers."""
        return ObservedAveraging() if bounds_curved_regret(knowledge) else None


class CertifiedDualAveraging(Certified):
    r"""Dual averaging whose far points are projected directly onto what is certainly feasible.

    .. math::
        \eta_t    &= R/\sqrt{2S_t}, \qquad y^k_t = x_1 - c_k\eta_t\theta^k_t, \qquad
                     \theta^k_t = \theta^k_{t-1} + \nabla_t, \qquad c = 1, \tfrac14, 1, 4 \\
        p^k_{t+1} &= \Pi\{p : g_i + s_i^\top(p-x_t) + \tfrac{\beta_i}2\|p-x_t\|^2 \le 0\ \forall i\}
                     (y^k_t), \qquad x_{t+1} = \sum_kw_kp^k_{t+1} \\
        \theta^k_t &\leftarrow (x_1 - p^k_{t+1} - FR\,n/\|n\|)/(c_k\eta_t)
                     \quad\text{where } k > 0,\ \|n\| > FR,\ n = y^k_t - p^k_{t+1}

    With the sum of the gradients fixed, :math:`p^0` goes to the projection of :math:`y^0` onto the
    feasible set: on costs that have a distribution the regret is close to that of dual averaging
    that knows the set. The last line, pruning, forgets what has no effect: the other far points
    follow costs that change. The weights follow what each point would have cost
    (``algorithms.trust.reweigh``), so that nobody has to choose; their mean is
    certified, because the region is convex.

    Args:
        knowledge: the curvature of one constraint, or of several, the known set, and the errors
            and drift to allow for.
        radius: R of the steps.
        far: F of the only far point, where there is one; four far points where it is None.
        eta: the step; steps follow the gradients where it is None.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.regions import Curvature
        >>> player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # to the ball around (0, -1); 0.1768 for c = 1/4
        array([0.      , 0.408278])
    """

    made_of = ((Averaging,), (regions.Curvature, regions.CurvatureRows))
    declared_by = (Averaging, Parts)
    typical_needs: ClassVar[Needs] = ROWS_NEED

    def __init__(
        self,
        *,
        knowledge: regions.Curvature | regions.CurvatureRows,
        radius: float,
        far: float | None = None,
        eta: float | None = None,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        self.check_kind(knowledge)
        averaging = Averaging(radius=radius, far=far, eta=eta)
        super().__init__(proposer=averaging, knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: TheoremK)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from a bound on the curvature; regret observed: Theorem K.

        Args:
            constants: needs R, beta and start_slack; uses rows, the errors and the drift.
            horizon: not used; every tuning takes one.
            domain: a known convex set that holds every action; None for none.
        """
        checks.check_possible_horizon(horizon)
        return cls._tune(TheoremK(constants), domain)

    @classmethod
    @tuning(lambda: TheoremK)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, and regret bounded in advance for a known horizon."""
        return cls._tune(TheoremK(constants, FAR, checks.check_horizon(horizon)), domain)

    @classmethod
    def _tune(cls, theorem: TheoremK, domain: Set | None) -> Tuned[Self]:
        averaging = Averaging(radius=theorem.radius, far=theorem.far, eta=theorem.eta)
        knowledge = curvature_knowledge(theorem.constants, domain)
        return Tuned(cls.of(averaging, knowledge), under_errors(theorem))


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
        """Return the sums with one more round, from what its step knew; None without a region."""
        note, region = info.note, info.region
        if region is None:
            return None
        inverse, found, R = note.inverse_eta, note.found, float(note.radius)
        if not inverse > 0:
            return self
        step, P = found.point - note.point, norm(found.point - region.x)
        before = self.inverse_eta if self.inverse_eta > 0 else inverse  # eta_0 is eta_1
        moves = dot(note.gradient, note.x - found.point)
        moves += (dot(note.kept, step) - 0.5 * dot(step, step)) * before
        # By how much a projection's normal may fail to point away from a feasible point.
        bent, loose = (float(e) for e in region.base.normal_error(found.weights, found.point))
        off = 2 * R * (1 + bent) * float(found.drawn)
        price = (0.5 * bent * P * (4 * R + P) + loose + off) * inverse
        pruned, last = note.share * price, (1 - note.share) * price
        return ObservedAveraging(self.moves + moves, self.pruned + pruned, last, inverse)

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far."""
        reach = float(algorithm.knowledge.reach) + norm(state.learner.start)
        D = min(2 * float(algorithm.proposer.radius), reach)
        return float(0.5 * D * D * self.inverse_eta + self.moves + self.pruned + self.last)


class TheoremK(ByCurvature):
    r"""Dual averaging projected onto certified balls, its far point kept within F of the action.

    For one constraint with curvature between 0 and :math:`\beta`,
    :math:`k = \beta F/\nu_*`, :math:`b = \beta R/\nu_*` and the fixed step

    .. math:: \eta = \min\Big\{\frac D{L\sqrt{(1 + 12k + 10b)T}}, \frac{\nu_*}{10\beta L(1+k)},
              \frac R{2L}\Big\}:

    .. math::
        g(x_t) \le 0\ \forall t, \qquad
        \mathrm{Reg}_T \le \frac{D^2}{2\eta} + \eta L^2T\big(\tfrac12 + 6k + 5b\big)
        + 5\big(k + \tfrac1{10}\big)RL .

    Without a horizon, with several rows or several far points the regret is bounded by what is
    observed (:class:`ObservedAveraging`), not in advance.

    Derived here; docs/curvature.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach, rows; with a horizon G_f.
        far: F/R; None where the far point is not pruned, or there are several.
        horizon: the number of rounds that the fixed step is for; None for steps that adapt.
    """

    name: ClassVar[str] = "Theorem K (dual averaging certified by curvature)"
    observed_theorem: ClassVar[str] = "Theorem K, observed"
    advance_theorem: ClassVar[str] = "Theorem K, in advance"

    far: float | None = positive(default=None)
    horizon: int | None = rounds(default=None)

    def _ratios(self) -> tuple[float, float]:
        """Return k and b."""
        b = self.steepness * self.constants.R
        return b * (self.far or 0.0), b

    @property
    def eta(self) -> float | None:
        """The fixed step; None if steps adapt."""
        if self.horizon is None:
            return None
        c, L, steep = self.constants, self._G_f, self.steepness
        k, b = self._ratios()
        short = math.inf if steep == 0 else 1 / (10 * steep * L * (1 + k))
        usual = c.reach / (L * math.sqrt((1 + 12 * k + 10 * b) * self.horizon))
        return min(usual, short, c.R / (2 * L))

    def regret_bound(self, t: Number) -> Array:
        """Return the explicit bound of the fixed step; else what every rule has."""
        T, eta = np.asarray(t, dtype=np.float64), self.eta
        if eta is None or self.far is None or self.rows > 1:
            return self._at_worst(t)
        R, L, D = self.constants.R, self._G_f, self.constants.reach
        k, b = self._ratios()
        return D**2 / (2 * eta) + eta * L**2 * T * (0.5 + 6 * k + 5 * b) + 5 * (k + 0.1) * R * L

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for the fixed step; else None."""
        return None if self.horizon is None or self.far is None or self.rows > 1 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f and the horizon only for the regret bound."""
        return super().premises if self.horizon is not None else super().premises[:1]
