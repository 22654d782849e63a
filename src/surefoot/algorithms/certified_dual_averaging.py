r"""Dual averaging that knows the feasible set through curvature bounds, and Theorem K.

In the theorem, :math:`y_t = x_1 - \eta_t\theta_t` is the far point, :math:`n_t = y_t - x_{t+1}`
what the projection takes off, of which pruning drops the share :math:`c_t`;
:math:`P_t = \|x_{t+1} - x_t\|`; :math:`\Lambda_t = \sum_i\lambda_i\beta_i` with the multipliers of
the projection; the rest as in :mod:`surefoot.algorithms.certified_ogd`. docs/curvature.md has the
proofs.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot.algorithms.bounds import StrictStart
from surefoot.algorithms.certified import Certified, NameWithKnowledge, Parts, Proposer, Wish
from surefoot.algorithms.certified_ogd import least_slope
from surefoot.algorithms.descent import square
from surefoot.algorithms.guarantee import Premise, Tuned
from surefoot.algorithms.under_errors import under_errors
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import dot, maximum, norm, number_like, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive, rounds
from surefoot.core.types import Array, Feedback, Info, Needs, Number, Source
from surefoot.core.types import Region as Set
from surefoot.regions import Curvature, CurvatureRows, Knowledge, Projection, Region, curvature_of

__all__ = ["Averaging", "CertifiedDualAveraging", "ObservedAveraging", "TheoremK"]

_ROOT_HALF = math.sqrt(0.5)


class AveragingState(NamedTuple):
    """What the next far point needs.

    Attributes:
        start: the first action.
        gradients: theta, the sum of the cost gradients, less what was pruned.
        inverse_eta: 1/eta of the last step; 0 before the first gradient.
        squares: the sum of the squared norms of the cost gradients.
    """

    start: Array
    gradients: Array
    inverse_eta: Number
    squares: Number


class AveragingNote(NamedTuple):
    """What the bound on the regret wants to know of a step.

    Attributes:
        x: the action that was played.
        gradient: the cost gradient.
        inverse_eta: 1/eta of the step.
        kept: the way from the last action to the last far point, as pruned.
        share: the share of the way to this far point that was pruned.
        radius: R.
        found: the certified action nearest to the far point, with its multipliers.
    """

    x: Array
    gradient: Array
    inverse_eta: Number
    kept: Array
    share: Number
    radius: Number
    found: Projection


class Averaging(Proposer):
    r"""Dual averaging whose far point is projected directly onto what is certainly feasible.

    Args:
        radius: R, the radius of a ball that contains the feasible set.
        scale: c.
        far: F; None leaves out the pruning.
        eta: a fixed step instead of :math:`cR/\sqrt{S_t}`.
    """

    radius: Number = positive()
    scale: Number = positive(default=_ROOT_HALF)
    far: Number | None = positive(default=None)
    eta: Number | None = positive(default=None)

    def init(self, x1: Array) -> AveragingState:
        """Start with nothing learnt."""
        zero = number_like(x1, 0.0)
        return AveragingState(x1, 0.0 * x1, zero, zero)

    def propose(
        self, learner: AveragingState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[AveragingState, Wish]:
        """Return the certified action nearest to the far point."""
        start, gradients, last, squares = learner
        grad = 0.0 * x
        if feedback.cost_gradient is not None:
            grad = checks.read_gradient(x, feedback)
        kept = start - gradients / where(last > 0, last, math.inf) - x
        gradients, squares = gradients + grad, squares + square(grad)[0]
        if self.eta is None:
            inverse = sqrt(squares) / (self.scale * self.radius)
        else:
            inverse = where(squares > 0, 1 / self.eta, 0.0 * squares)
        wanted = start - gradients / where(inverse > 0, inverse, math.inf)
        found = region.find_nearest(wanted)
        share = 0.0 * squares
        if self.far is not None:
            n = wanted - found.point
            length, limit = norm(n), self.far * self.radius
            share = maximum(1.0 - limit / where(length > 0, length, 1.0), 0.0 * length)
            share = where(length > limit, share, 0.0 * length)
            gradients = gradients + (share * inverse) * n
        note = AveragingNote(x, grad, inverse, kept, share, self.radius, found)
        state = AveragingState(start, gradients, inverse, squares)
        return state, Wish(found.point, note, wanted=wanted)

    def observer(self, knowledge: Knowledge) -> ObservedAveraging | None:
        """Return Theorem K's sums; None for regions that have no multipliers."""
        curved = isinstance(knowledge, (Curvature, CurvatureRows))
        return ObservedAveraging() if curved else None


class CertifiedDualAveraging(NameWithKnowledge):
    r"""Dual averaging whose far point is projected directly onto what is certainly feasible.

    .. math::
        \eta_t   &= cR/\sqrt{S_t}, \qquad y_t = x_1 - \eta_t\theta_t, \qquad
                    \theta_t = \theta_{t-1} + \nabla_t \\
        x_{t+1}  &= \Pi\{p : g_i + s_i^\top(p-x_t) + \tfrac{\beta_i}2\|p-x_t\|^2 \le 0\ \forall i\}
                    (y_t) \\
        \theta_t &\leftarrow (x_1 - x_{t+1} - FR\,n/\|n\|)/\eta_t
                    \quad\text{where } \|n\| > FR,\ n = y_t - x_{t+1}

    With the sum of the gradients fixed, x goes to the projection of y onto the feasible set. On
    costs that do not change much the regret is close to that of dual averaging that knows the set.
    The last line, pruning, forgets what has no effect: costs that change are followed sooner, and
    the regret is proved to be of the order :math:`\sqrt T` (Theorem K).

    The parameters are those of :class:`~surefoot.algorithms.Averaging`, and ``knowledge``: the
    curvature of one constraint, or of several, the known set, and the errors and drift to allow
    for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # from (0, 0.7) to the ball around (0, -1)
        array([0.      , 0.414214])
    """

    needs: ClassVar[Needs] = Needs(numpy_only=True, one_run=True)  # where g has several rows
    source: ClassVar[Source] = Source("Surefoot", "derived here")
    parts: ClassVar[Parts] = (Averaging, (Curvature, CurvatureRows))

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune for costs that change little: adaptive steps, no pruning, no horizon."""
        return cls._tune(TheoremK(constants), domain, _ROOT_HALF)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune for changing costs: adaptive steps, the far point within R/3 of the action."""
        return cls._tune(TheoremK(constants, far=0.3), domain, math.sqrt(2.0))

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Tune with the fixed step of Theorem K, the far point within R/3 of the action."""
        return cls._tune(TheoremK(constants, far=0.3, horizon=horizon), domain, _ROOT_HALF)

    @classmethod
    def _tune(cls, theorem: TheoremK, domain: Set | None, scale: float) -> Tuned[Certified]:
        c = theorem.constants
        made = Tuned.of(cls, theorem, knowledge=curvature_of(c, domain), radius=c.R, scale=scale)
        return Tuned(made.algorithm, under_errors(theorem))


class ObservedAveraging(NamedTuple):
    r"""The sums of Theorem K (i) over the rounds so far, updated in every round.

    .. math::
        \mathrm{Reg}_T \le \frac{D^2}{2\eta_T}
        &+ \sum_t\Big(\nabla_t^\top(x_t-x_{t+1}) - \frac{P_t^2}{2\eta_{t-1}}
           + \frac{(1-c_{t-1})n_{t-1}^\top(x_{t+1}-x_t)}{\eta_{t-1}}\Big) \\
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

    def after(self, info: Info) -> ObservedAveraging:
        """Return the sums with one more round, from what its step knew."""
        note, region = info.note, info.region
        inverse, found = float(note.inverse_eta), note.found
        if not inverse > 0:
            return self
        # Where nothing was read in the round, the region is still that of an earlier action.
        step, way = found.point - note.x, found.point - region.x
        length, P, R = float(norm(step)), float(norm(way)), float(note.radius)
        before = self.inverse_eta if self.inverse_eta > 0 else inverse  # eta_0 is eta_1
        moves = -float(dot(note.gradient, step)) - 0.5 * length * length * before
        moves += float(dot(note.kept, step)) * before
        # By how much a projection's normal may fail to point away from a feasible point.
        bent, loose = region.base.normal_error(found.weights, found.point)
        off = 2 * R * (1 + float(bent)) * float(found.drawn)
        Q = 0.5 * float(bent) * P * (4 * R + P) + float(loose) + off
        share, price = float(note.share), Q * inverse
        return ObservedAveraging(
            self.moves + moves, self.pruned + share * price, (1 - share) * price, inverse
        )

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return an upper bound on the regret of the rounds so far."""
        reach = float(algorithm.knowledge.reach) + float(norm(state.learner.start))
        D = min(2 * float(algorithm.proposer.radius), reach)
        return 0.5 * D * D * self.inverse_eta + self.moves + self.pruned + self.last


class TheoremK(StrictStart):
    r"""Dual averaging projected onto certified balls, its far point kept within F of the action.

    For one constraint with curvature between 0 and :math:`\beta`,
    :math:`k = \beta F/\nu_*`, :math:`b = \beta R/\nu_*` and the fixed step

    .. math:: \eta = \min\Big\{\frac D{L\sqrt{(1 + 12k + 10b)T}}, \frac{\nu_*}{10\beta L(1+k)},
              \frac R{2L}\Big\}:

    .. math::
        g(x_t) \le 0\ \forall t, \qquad
        \mathrm{Reg}_T \le \frac{D^2}{2\eta} + \eta L^2T\big(\tfrac12 + 6k + 5b\big)
        + 5\big(k + \tfrac1{10}\big)RL .

    Without a horizon, with several rows or with a far point that is not kept near, the regret is
    bounded by what is observed (:class:`ObservedAveraging`), not in advance.

    Derived here; docs/curvature.md has the proof.

    Args:
        constants: needs R, beta, start_slack; uses start_reach, rows; with a horizon G_f.
        far: F/R; None where the far point is not pruned.
        horizon: the number of rounds that the fixed step is for; None for steps that adapt.
    """

    name: ClassVar[str] = "Theorem K (dual averaging certified by curvature)"
    needed: ClassVar[tuple[str, ...]] = ("R", "beta")

    far: float | None = positive(default=None)
    horizon: int | None = rounds(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is not None:
            self.constants.require("G_f", by=self.name)

    @property
    def rows(self) -> int:
        """How many constraints there are."""
        return int(self.constants.rows or 1)

    def _ratios(self) -> tuple[float, float, float]:
        """Return beta/nu_*, k and b."""
        c = self.constants
        R, beta = c.require("R", "beta", by=self.name)
        steep = beta / least_slope(beta, self._slack, c.reach)
        return steep, steep * (self.far or 0.0) * R, steep * R

    @property
    def eta(self) -> float | None:
        """The fixed step; None if steps adapt."""
        if self.horizon is None:
            return None
        R, L = self.constants.R, self._G_f
        steep, k, b = self._ratios()
        short = math.inf if steep == 0 else 1 / (10 * steep * L * (1 + k))
        usual = self.constants.reach / (L * math.sqrt((1 + 12 * k + 10 * b) * self.horizon))
        return min(usual, short, R / (2 * L))

    def regret_bound(self, t: Number) -> Array:
        """Return the explicit bound of the fixed step; else inf."""
        T = np.asarray(t, dtype=np.float64)
        eta = self.eta
        if eta is None or self.far is None or self.rows > 1:
            return np.full_like(T, math.inf)
        R, L, D = self.constants.R, self._G_f, self.constants.reach
        _, k, b = self._ratios()
        return D**2 / (2 * eta) + eta * L**2 * T * (0.5 + 6 * k + 5 * b) + 5 * (k + 0.1) * R * L

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for the fixed step; else None."""
        return None if self.horizon is None or self.far is None or self.rows > 1 else 0.5

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start; G_f and the horizon only for the regret bound."""
        start = Premise("start", "the slack counted on", self._slack)
        return (start,) if self.horizon is None else self._and_rest(start)
