"""Penalties that grow with the violations, for adversarial constraints (Sinha and Vaze 2024).

One rule for convex costs and one for strongly convex ones, each with its theorem. The adversary
picks the constraints, and there need not be a Slater point.
"""

import math
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, exp, maximum, minimum, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts, Span
from surefoot.core.kernel_constants import LARGEST_EXPONENT
from surefoot.core.parameters import Declared, positive, projectable
from surefoot.core.types import Array, Number, Real, Set, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian, positive_part

__all__ = ["SinhaVaze", "SinhaVazeConvex", "SinhaVazeStronglyConvex", "StrongSinhaVaze"]


class SinhaVazeState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queue: the sum of the violations so far, scaled.
        squares: the sum of the squared norms of the surrogates' gradients.
    """

    x: Array
    queue: Number = 0.0
    squares: Annotated[Number, Span(0)] = 0.0


class SinhaVaze(Declared, OneConstraint):
    r"""Descent on the cost plus a penalty that grows exponentially with the violations so far.

    .. math::
        Q_t       &= Q_{t-1} + b[g_t(x_t)]_+ \\
        h_t       &= b\nabla f_t(x_t) + \lambda e^{\lambda Q_t}\,b s_t\,1\{g_t(x_t) > 0\} \\
        S_t       &= S_{t-1} + \|h_t\|^2 \\
        x_{t+1}   &= \Pi_{R\mathbb{B}}\big(x_t - h_t\,D/\sqrt{2S_t}\big)

    with no move while :math:`S_t = 0`. The constraint may be another one in each round, picked
    after the action is known, and no action need be strictly feasible.

    Args:
        scale: :math:`b > 0`; the theorem has 1/(2GD).
        rate: :math:`\lambda > 0`, growth of the penalty; the theorem has :math:`1/(2\sqrt T)`.
        diameter: :math:`D > 0`, the diameter of the domain.
        domain: a ball, or another set to project onto, that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = SinhaVaze(scale=0.5, rate=1.0, diameter=2.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-6.0, 8.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, seen)  # sqrt(2) along the gradient, then back into the ball
        SinhaVazeState(x=array([ 0.6, -0.8]), queue=0.0, squares=25.0)

    Reference: Sinha and Vaze, NeurIPS 2024 (arXiv 2310.18955); the scaling and lambda as recalled.
    """

    state = SinhaVazeState
    source: ClassVar[Source] = Source("Sinha and Vaze, NeurIPS 2024", "as published")

    scale: Real = positive()
    rate: Real = positive()
    diameter: Real = positive()
    domain: Set = projectable()

    def next_state(self, state: SinhaVazeState, grad: Array, g: Number, s: Array) -> SinhaVazeState:
        x, queue, squares = state
        queue = positive_part(queue + self.scale * maximum(g, 0.0))
        penalty = self.rate * exp(minimum(self.rate * queue, LARGEST_EXPONENT))
        h = self.scale * (grad + where(g > 0, penalty, 0.0 * penalty) * s)
        squares = squares + dot(h, h)
        moves = squares > 0
        step = where(moves, self.diameter / sqrt(2 * where(moves, squares, 1.0)), 0.0 * squares)
        return SinhaVazeState(self.domain.project(x - step * h), queue, squares)

    @classmethod
    @tuning(lambda: SinhaVazeConvex)
    def convex(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret and violations of order sqrt(T), for constraints that change."""
        return Tuned.of(cls, SinhaVazeConvex(constants, horizon=horizon), domain)


class StrongState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queue: the sum of the violations so far.
        rounds: how many rounds have been played.
    """

    x: Array
    queue: Number = 0.0
    rounds: Counts = 0.0


class StrongSinhaVaze(Declared, OneConstraint):
    r"""Descent on strongly convex costs plus a penalty in proportion to the violations so far.

    .. math::
        Q_t       &= Q_{t-1} + [g_t(x_t)]_+ \\
        h_t       &= \nabla f_t(x_t) + (2Q_t/V)\,s_t\,1\{g_t(x_t) > 0\} \\
        x_{t+1}   &= \Pi_{R\mathbb{B}}(x_t - h_t/(Ht))

    The constraint may be another one in each round, as for :class:`~surefoot.rules.SinhaVaze`.

    Args:
        V: weight of the costs, :math:`V > 0`; the theorem has :math:`8G_g^2(1 + \ln T)/H`.
        strong_convexity: :math:`H > 0`, modulus of every cost.
        domain: a ball, or another set to project onto, that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = StrongSinhaVaze(V=0.5, strong_convexity=4.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.5]))
        >>> seen = Feedback(np.array([-1.0, -2.0]), 0.25, np.array([0.0, 2.0]))
        >>> player.update(state, seen)
        StrongState(x=array([0.25, 0.5 ]), queue=0.25, rounds=1.0)

    Reference: Sinha and Vaze, NeurIPS 2024 (arXiv 2310.18955); the constants of V as derived with
    the theorem.
    """

    state = StrongState
    source: ClassVar[Source] = Source("Sinha and Vaze, NeurIPS 2024", "as published")

    V: Real = positive()
    strong_convexity: Real = positive()
    domain: Set = projectable()

    def next_state(self, state: StrongState, grad: Array, g: Number, s: Array) -> StrongState:
        x, queue, played = state
        queue, t = positive_part(queue + maximum(g, 0.0)), played + 1.0
        h = grad + where(g > 0, 2 * queue / self.V, 0.0 * queue) * s
        new = self.domain.project(x - h / (self.strong_convexity * t))
        return StrongState(new, queue, t)

    @classmethod
    @tuning(lambda: SinhaVazeStronglyConvex)
    def strongly_convex(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Logarithmic regret for strongly convex costs, and constraints that change."""
        return Tuned.of(cls, SinhaVazeStronglyConvex(constants, horizon=horizon), domain)


class _Penalised(KnownHorizon, Lagrangian):
    """What both cases share: the violations are summed, and the constraints may change."""

    kind: ClassVar[Kind] = "sum_positive"
    violation_exponent: ClassVar[float] = 0.5
    changing: ClassVar[bool] = True


class SinhaVazeConvex(_Penalised):
    r"""Convex costs: regret :math:`O(\sqrt T)`, summed violation :math:`O(\sqrt T\log T)`.

    Rates and surrogate are the source's; its scaling is as recalled, and the bounds with their
    constants are derived here. Let D = 2R, :math:`G = \max(G_f, G_g)`, b = 1/(2GD) and
    :math:`\lambda = 1/(2\sqrt T)`. For all constraints :math:`g_t`, against every action that is
    feasible for all of them, and for all :math:`t \le T`

    .. math::
        \mathrm{Reg}_t \le \sqrt2\,GD\,(1 + \lambda)\sqrt t, \qquad
        \sum_{s \le t}[g_s(x_s)]_+ \le \frac{1}{b\lambda}
            \ln\frac{1 + \sqrt{t/2} + bFt}{1 - \lambda\sqrt{t/2}}

    Proof. Let :math:`\Phi(q) = e^{\lambda q} - 1` and
    :math:`Q_t = Q_{t-1} + b[g_t(x_t)]_+`, :math:`Q_0 = 0`. By convexity
    :math:`\Phi(Q_t) - \Phi(Q_{t-1}) \le \Phi'(Q_t)b[g_t(x_t)]_+`, so that for a u that is always
    feasible, where :math:`[g_t(u)]_+ = 0`,

    .. math::
        \Phi(Q_t) + b\sum_{s \le t}(f_s(x_s) - f_s(u))
        \le \sum_{s \le t}\big(\hat f_s(x_s) - \hat f_s(u)\big), \qquad
        \hat f_s = bf_s + \Phi'(Q_s)b[g_s]_+.

    Descent on the surrogates with the step :math:`D/\sqrt{2S_t}`, :math:`S_t` the sum of their
    squared gradients so far, has regret at most :math:`D\sqrt{2S_t}`; each gradient is at most
    :math:`bG(1 + \Phi'(Q_t)) = (1 + \lambda e^{\lambda Q_t})/(2D)`, because Q never falls. With
    :math:`r = \sqrt{t/2}` and :math:`E = e^{\lambda Q_t} \ge 1` this is

    .. math:: E(1 - \lambda r) - 1 + b\,\mathrm{Reg}_t \le r.

    E = 1 is the worst for the regret, and :math:`b\,\mathrm{Reg}_t \ge -bFt` the worst for E.

    Args:
        constants: needs R, G_f, G_g; F if known.
        horizon: T.

    Example:
        >>> from surefoot import Constants
        >>> bound = SinhaVazeConvex(Constants(R=0.5, G_f=2.0, G_g=1.0), 100)
        >>> round(float(bound.regret_bound(100)), 2)  # 2 sqrt(2) 1.05 sqrt(100)
        29.7
    """

    name: ClassVar[str] = "Sinha-Vaze 2024, convex"
    regret_exponent: ClassVar[float] = 0.5

    @property
    def diameter(self) -> float:
        """The diameter of the ball, D = 2R."""
        return 2 * self.constants.R

    @property
    def scale(self) -> float:
        r"""The scale :math:`b = 1/(2GD)`."""
        return 1 / (2 * self._G * self.diameter)

    @property
    def rate(self) -> float:
        r"""The rate of the exponential penalty, :math:`\lambda = 1/(2\sqrt T)`."""
        return 1 / (2 * math.sqrt(self.horizon))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\sqrt2GD(1 + \lambda)\sqrt t`."""
        return np.sqrt(as_floats(t) / 2) * (1 + self.rate) / self.scale

    def bounds(self, t: Number) -> dict[Measure, Array]:
        r"""Return :math:`\ln((1 + \sqrt{t/2} + bFt)/(1 - \lambda\sqrt{t/2}))/(b\lambda)`."""
        r = np.sqrt(as_floats(t) / 2)
        gain = self.scale * self._F * as_floats(t)
        hard = np.log((1 + r + gain) / (1 - self.rate * r)) / (self.scale * self.rate)
        return {"positive_sum": hard, "sum_positive": hard}


class SinhaVazeStronglyConvex(StronglyConvex, _Penalised):
    r"""Strongly convex costs: regret :math:`O(\log T)`, violation :math:`O(\sqrt{T\log T})`.

    The rates are the source's, the bounds with their constants derived here. Let H be the modulus
    of strong convexity of every cost, :math:`L_t = 1 + \ln t` and
    :math:`V = 8G_g^2L_T/H`. For all constraints :math:`g_t`, against every action that is feasible
    for all of them, and for all :math:`t \le T`

    .. math::
        \mathrm{Reg}_t \le \frac{G_f^2}{H}L_t, \qquad
        \sum_{s \le t}[g_s(x_s)]_+ \le \sqrt{2V\Big(Ft + \frac{G_f^2}{H}L_t\Big)}

    Proof. With :math:`Q_t = \sum_{s \le t}[g_s(x_s)]_+`, :math:`\Phi(q) = q^2` and the surrogates
    :math:`\hat f_t = Vf_t + 2Q_t[g_t]_+`, the sum of
    :math:`Q_t^2 - Q_{t-1}^2 \le 2Q_t[g_t(x_t)]_+` gives
    :math:`Q_t^2 + V\,\mathrm{Reg}_t \le \sum_{s \le t}(\hat f_s(x_s) - \hat f_s(u))`. The
    surrogates are VH-strongly convex, so descent with the steps 1/(VHt) has regret at most
    :math:`\sum_s\|\nabla\hat f_s\|^2/(2VHs)`, and
    :math:`\|\nabla\hat f_s\|^2 \le 2V^2G_f^2 + 8Q_t^2G_g^2`. Together

    .. math::
        Q_t^2\Big(1 - \frac{4G_g^2L_t}{VH}\Big) + V\,\mathrm{Reg}_t \le \frac{VG_f^2L_t}{H},

    where the bracket is at least 1/2 by the choice of V, and :math:`\mathrm{Reg}_t \ge -Ft`.

    Args:
        constants: needs R, G_f, G_g, ``strong_convexity``; F if known.
        horizon: T.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=0.5, G_f=2.0, G_g=1.0, strong_convexity=4.0)
        >>> float(SinhaVazeStronglyConvex(c, 100).regret_bound(1)), SinhaVazeStronglyConvex(c, 1).V
        (1.0, 2.0)
    """

    name: ClassVar[str] = "Sinha-Vaze 2024, strongly convex"

    @property
    def V(self) -> float:
        r"""The weight of the costs, :math:`8G_g^2(1 + \ln T)/H`."""
        return 8 * self._G_g**2 * (1 + math.log(self.horizon)) / self.strong_convexity

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`(G_f^2/H)(1 + \ln t)`."""
        return self._G_f**2 / self.strong_convexity * harmonic(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        r"""Return :math:`\sqrt{2V(Ft + (G_f^2/H)(1 + \ln t))}`."""
        hard = np.sqrt(2 * self.V * self._budget(t))
        return {"positive_sum": hard, "sum_positive": hard}
