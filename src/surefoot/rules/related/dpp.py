"""Drift plus penalty with a queue for each constraint, or one for all (Yu, Neely and Wei 2017)."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import combine, dot, number_like, rows_dot
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, count, nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian, Multiplying, positive_part
from surefoot.rules.states import QueueState

__all__ = ["DPP", "DriftPlusPenalty", "ScalarDPP"]


class DPPState(NamedTuple):
    """The action to play, and the violation owed of each constraint, ``(m,)`` or ``(B, m)``."""

    x: Array
    queues: Array


class DPP(Multiplying):
    r"""Drift plus penalty with a queue for each of m constraints.

    A step on the cost and on the constraints, each with what it owes as its weight; then the
    queues take in the constraints linearised at the action played, seen from the next one:

    .. math::
        d_t         &= V\nabla f_t(x_t) + \sum_k Q_{t,k}s_{t,k} \\
        x_{t+1}     &= \Pi_{R\mathbb{B}}(x_t - d_t/(2\alpha)) \\
        Q_{t+1,k}   &= [Q_{t,k} + g_k(x_t) + s_{t,k}^\top(x_{t+1} - x_t)]_+

    Args:
        V: weight of the costs, :math:`V > 0`.
        alpha: weight of a move, :math:`\alpha > 0`.
        rows: m, the number of constraints.
        domain: a ball that contains the feasible set.
        queue: what each queue starts with, at least 0; the theorem has 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = DPP(V=2.0, alpha=5.0, rows=2, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(
        ...     np.array([-1.0, -3.0]), np.array([-2.0, 0.1]), np.array([[1.0, 0.0], [0.0, 2.0]])
        ... )
        >>> player.update(state, seen)
        DPPState(x=array([0.1, 0.8]), queues=array([0. , 1.9]))

    Reference: Yu, Neely and Wei, NeurIPS 2017. The paper on Polyak feasibility steps compares with
    :class:`~surefoot.rules.ScalarDPP`.
    """

    state = DPPState
    source: ClassVar[Source] = Source("Yu, Neely and Wei, NeurIPS 2017", "as published")

    V: Real = positive()
    alpha: Real = positive()
    domain: Set = projectable()
    queue: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> DPPState:
        return DPPState(x1, self._zeros(x1) + number_like(x1, self.queue))

    def next_state(self, state: DPPState, grad: Array, g: Array, s: Array) -> DPPState:
        x, queues = state
        d = self.V * grad + combine(queues, s)
        new = self.domain.project(x - d / (2 * self.alpha))
        return DPPState(new, positive_part(queues + g + rows_dot(s, new - x)))

    @classmethod
    @tuning(lambda: one_queue_each)
    def tuned(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret and violations of order sqrt(T), with one queue for each constraint."""
        return Tuned.of(cls, one_queue_each(constants, horizon=horizon), domain)


@tuning(V=positive(), window=count())
def in_windows(
    constants: Constants, horizon: int, *, V: float | None = None, window: int = 1
) -> "DriftPlusPenalty":
    """Tune for comparators that meet the constraints on average over windows (COLD).

    Reference: Liakopoulos, Destounis, Paschos, Spyropoulos and Mertikopoulos, "Cautious regret
    minimization", ICML 2019. Constants derived here.

    Args:
        constants: the constants of the problem.
        horizon: T.
        V: the weight of the costs: more is less regret and more violation; T^(3/4) unless given.
        window: K, the number of rounds in a row over which the comparator is feasible on average.
    """
    weight = float(horizon) ** 0.75 if V is None else V
    source = f"Liakopoulos et al. 2019, windows of {window}"
    return DriftPlusPenalty(constants, horizon, 1, weight, window, source)


class ScalarDPP(Declared, OneConstraint):
    r"""Drift plus penalty with one queue, on the largest constraint.

    .. math::
        d_t     &= V\nabla f_t(x_t) + Q_ts_t \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(x_t - d_t/(2\alpha)) \\
        Q_{t+1} &= [Q_t + g(x_t) + s_t^\top(x_{t+1} - x_t)]_+

    The version that the experiments of the paper on Polyak feasibility steps run; several
    constraints are one, their maximum, and it behaves differently from
    :class:`~surefoot.rules.DPP`.

    Args:
        V: weight of the costs, :math:`V > 0`.
        alpha: weight of a move, :math:`\alpha > 0`.
        domain: a ball that contains the feasible set.
        queue: what the queue starts with, at least 0; the theorem has 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0), queue=1.0)
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.25, np.array([0.0, 2.0]))
        >>> player.update(state, seen)
        QueueState(x=array([0.2, 0.8]), queue=1.55)

    Reference: Yu, Neely and Wei, NeurIPS 2017; the scalar queue is that of the published code of
    Hutchinson and Alizadeh, ICML 2025.
    """

    state = QueueState
    source: ClassVar[Source] = Source("Yu, Neely and Wei, NeurIPS 2017", "as published")
    sources: ClassVar[Mapping[str, Source]] = {
        "changing": Source("Neely and Yu, 2017", "derived here"),
        "windows": Source("Liakopoulos et al., ICML 2019", "from memory"),
    }

    V: Real = positive()
    alpha: Real = positive()
    domain: Set = projectable()
    queue: Real = nonnegative(default=0.0)

    def first_state(self, x1: Array) -> QueueState:
        return QueueState(x1, number_like(x1, self.queue))

    def next_state(self, state: QueueState, grad: Array, g: Number, s: Array) -> QueueState:
        x, queue = state
        d = self.V * grad + queue * s
        new = self.domain.project(x - d / (2 * self.alpha))
        return QueueState(new, positive_part(queue + g + dot(s, new - x)))

    @classmethod
    @tuning(lambda: DriftPlusPenalty)
    def tuned(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret and violations of order sqrt(T), with one queue."""
        return Tuned.of(cls, DriftPlusPenalty(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: DriftPlusPenalty)
    def changing(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret and violations of order sqrt(T) for constraints that change: Neely and Yu 2017."""
        return Tuned.of(
            cls, DriftPlusPenalty(constants, horizon=horizon, source="Neely-Yu 2017"), domain
        )

    @classmethod
    @tuning(lambda: in_windows)
    def windows(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        V: float | None = None,
        window: int = 1,
    ) -> Tuned[Self]:
        """Queues in windows of rounds, for constraints that change."""
        return Tuned.of(cls, in_windows(constants, horizon=horizon, V=V, window=window), domain)


class DriftPlusPenalty(KnownHorizon, Lagrangian):
    r"""Drift plus penalty with :math:`V = \sqrt T` and :math:`\alpha = T`.

    The parameters are those of the source, which has random constraints and bounds in
    expectation. The bounds below are for constraints that are fixed, or that an adversary picks
    as long as one point is strictly feasible for all of them; they and their constants are
    derived here. Write m for the number of queues, D = 2R, :math:`D_0` for the reach of the start,
    :math:`B = D_g + G_gD`, and :math:`\epsilon_S` for the slack of any point of the ball. After
    t rounds

    .. math::
        \mathrm{Reg}_t &\le \frac{\alpha D_0^2}{V}
                            + \Big(\frac{VG_f^2}{4\alpha} + \frac{mB^2}{2V}\Big)t \\
        \|Q_{t+1}\| &\le q_t = \min\Big(\sqrt{2\alpha D_0^2 + 2c_0t},
                               \sqrt{c_0^2/\epsilon_S^2 + 2\alpha D^2 + 2c_0}\Big), \qquad
                    c_0 = VF + \frac{V^2G_f^2}{4\alpha} + \frac{mB^2}{2} \\
        \sum_{s \le t} g_k(x_s) &\le \Big(1 + \frac{\sqrt m\,G_g^2t}{2\alpha}\Big) q_t
                                     + \frac{G_gG_fVt}{2\alpha} \quad\text{for every } k,

    at t = T a regret of :math:`(D_0^2 + mB^2/2 + G_f^2/4)\sqrt T` and a violation of
    :math:`O(\sqrt T)`; where no slack is known, of :math:`O(T^{3/4})`. The regret bound needs no
    slack. A scalar queue on the maximum g of all constraints is m = 1: then the last line is about
    g. With m > 1 queues it is about each constraint by itself; the sum of their maximum has no
    such bound, and on the paper's toy grows faster.

    Proof. Let :math:`\Delta_t = x_{t+1} - x_t`. The action minimises
    :math:`V\nabla_t^\top x + \sum_k Q_{t,k}s_{t,k}^\top x + \alpha\|x - x_t\|^2`, which is
    :math:`2\alpha`-strongly convex, and :math:`\tfrac12([q + h]_+^2 - q^2) \le qh + \tfrac12h^2`
    with :math:`h_k = g_k(x_t) + s_{t,k}^\top\Delta_t`, :math:`|h_k| \le B`. Convexity of the cost
    and of the constraints then gives, for every z of the ball,

    .. math::
        \tfrac12\|Q_{t+1}\|^2 - \tfrac12\|Q_t\|^2 + Vf_t(x_t) + V\nabla_t^\top\Delta_t
        + \alpha\|\Delta_t\|^2
        \le Vf_t(z) + \sum_k Q_{t,k}g_k(z) + \alpha(\|z - x_t\|^2 - \|z - x_{t+1}\|^2)
        + \tfrac12mB^2,

    where :math:`V\nabla_t^\top\Delta_t + \alpha\|\Delta_t\|^2 \ge -V^2G_f^2/(4\alpha)`. Regret:
    take z the best feasible action, sum, divide by V. Queues: let
    :math:`U_t = \tfrac12\|Q_t\|^2 + \alpha\|z - x_t\|^2`, so that
    :math:`U_1 \le \alpha D_0^2`. With z feasible, :math:`U_{t+1} \le U_t + c_0`. With z of slack
    :math:`\epsilon_S`,
    :math:`U_{t+1} \le U_t + c_0 - \epsilon_S\|Q_t\|`: it falls where
    :math:`\|Q_t\| > c_0/\epsilon_S`, and is at most
    :math:`\tfrac12c_0^2/\epsilon_S^2 + \alpha D^2 + c_0` one round after any other. Violation:
    :math:`Q_{t+1,k} \ge Q_{t,k} + g_k(x_t) - G_g\|\Delta_t\|`, sum; and
    :math:`\|\Delta_t\| \le \|V\nabla_t + \sum_k Q_{t,k}s_{t,k}\|/(2\alpha)
    \le (VG_f + \sqrt m\,G_g\|Q_t\|)/(2\alpha)`, since projections do not increase distances.

    Args:
        constants: needs R, G_f, G_g, D_g; G_g must bound the subgradients of each constraint, not
            only of those that are the largest somewhere. Uses ``start_reach`` and F (2R and 2R G_f
            if unknown), and as :math:`\epsilon_S` the larger of ``start_slack`` and
            ``epsilon``.
        horizon: T.
        rows: m, the number of queues; 1 for a scalar queue.
        weight: V, where another than :math:`\sqrt T` is wanted; then
            :math:`\alpha = \max(T, V\sqrt T)`.
        window: K, for comparators that meet the constraints on average over every K rounds in a
            row rather than in each; then :math:`BD_g(K-1)t/(2V)` is added to the regret, and
            :math:`BD_g(K-1)t` under the first root of :math:`q_t`. One queue only.
        source: where the statement comes from.

    Example:
        >>> c = Constants(R=0.5, G_f=2.0, G_g=1.0, D_g=1.0, start_slack=0.5)
        >>> float(DriftPlusPenalty(c, 100).regret_bound(100))  # (1 + 2 + 1) sqrt(100)
        40.0
    """

    kind: ClassVar[Kind] = "cumulative"
    changing: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("D_g",)

    rows: int = count(default=1)
    weight: float | None = positive(default=None)
    window: int = count(default=1)
    source: str = "Yu-Neely-Wei 2017"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window > 1 and self.rows > 1:
            raise InvalidValueError(f"rows must be 1 for a window of rounds, got {self.rows}")

    @property
    def name(self) -> str:
        """The source and the number of queues."""
        queues = "scalar queue" if self.rows == 1 else f"{self.rows} queues"
        return f"{self.source}, {queues}"

    @property
    def V(self) -> float:
        r"""The weight of the costs, :math:`\sqrt T` unless given."""
        return math.sqrt(self.horizon) if self.weight is None else self.weight

    @property
    def alpha(self) -> float:
        r"""The weight of a move, :math:`\max(T, V\sqrt T)`."""
        T = float(self.horizon)
        # T itself where V = sqrt(T): the square of a root is not always what it is the root of.
        return T if self.weight is None else max(T, self.V * math.sqrt(T))

    @property
    def slack(self) -> float:
        r"""The larger of the start's slack and the level epsilon, :math:`\epsilon_S`.

        0 where neither is known to be positive.
        """
        return max(self.constants.start_slack or 0.0, self.constants.epsilon or 0.0)

    @property
    def _largest(self) -> float:
        return self._D_g + 2 * self.constants.R * self._G_g

    @property
    def _half_square(self) -> float:
        r"""The constant :math:`mB^2/2`."""
        return self.rows * self._largest**2 / 2

    @property
    def _window(self) -> float:
        r"""The largest excess of a comparator within a window, :math:`BD_g(K-1)`."""
        return self._largest * self._D_g * (self.window - 1)

    @property
    def regret_exponent(self) -> float:
        r"""The exponent 1/2, or :math:`1 - v` if :math:`V = T^v` is smaller than the root."""
        return max(0.5, 1 - self._power)

    @property
    def _power(self) -> float:
        return 0.5 if self.horizon == 1 else math.log(self.V) / math.log(self.horizon)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\alpha D_0^2/V + (VG_f^2/(4\alpha) + mB^2/(2V))t`."""
        each = self.V * self._G_f**2 / (4 * self.alpha) + self._half_square / self.V
        each += 0.5 * self._window / self.V
        return self.alpha * self._D_0**2 / self.V + each * as_floats(t)

    def queue_bound(self, t: Number) -> Array:
        r"""Return :math:`q_t`: no queue, and no norm of the queues, is longer up to round t."""
        c, steps = self.constants, (self.V * self._G_f) ** 2 / (4 * self.alpha)
        c_0 = self.V * self._F + steps + self._half_square  # the most that a round adds to U
        growing = np.sqrt(2 * self.alpha * self._D_0**2 + (2 * c_0 + self._window) * as_floats(t))
        if not self.slack:
            return growing
        steady = (c_0 / self.slack) ** 2 + 2 * self.alpha * (2 * c.R) ** 2 + 2 * c_0
        return np.minimum(growing, math.sqrt(steady))

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the bound on the sum of g for one queue, of each constraint for several."""
        t, G_f, G_g = as_floats(t), self._G_f, self._G_g
        pull = math.sqrt(self.rows) * G_g**2 / (2 * self.alpha)
        push = G_g * G_f * self.V / (2 * self.alpha)
        total = (1 + pull * t) * self.queue_bound(t) + push * t
        return {"positive_sum" if self.rows == 1 else "rows": total}

    @property
    def violation_exponent(self) -> float:
        r"""The exponent 1/2; 3/4 if no slack is known; :math:`(1+v)/2` for :math:`V = T^v`."""
        return 0.5 if self.slack else (1 + self._power) / 2


def one_queue_each(constants: Constants, horizon: int) -> DriftPlusPenalty:
    """Tune by :class:`DriftPlusPenalty`, with a queue for each of the rows that constants name."""
    by = "DPP with a queue for each constraint"
    (rows,) = as_constants(constants).require("rows", by=by)
    return DriftPlusPenalty(constants, horizon, int(rows))
