"""Clipped penalties with a proximal step, and copies that track a moving optimum (Yi 2021).

Their bounds need no Slater point.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np

from surefoot.core.algorithm import COSTS_ONLY, OneConstraint, tuning
from surefoot.core.arrays import maximum
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, anything, positive, projectable, share
from surefoot.core.types import Array, Needs, Number, Real, Source, State
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.related.lagrangian import Lagrangian
from surefoot.rules.related.mixing import Mixing, MixingTheorem
from surefoot.rules.states import QueueState
from surefoot.sets import Ball, Linearised, Prox, prox_of
from surefoot.sets.oracles import SetProx

__all__ = ["TrackingPenalty", "TrackingPenaltyTheorem", "Yi", "YiTheorem"]


class Proximal(Declared, OneConstraint):
    """A rule whose step is a proximal one, with a penalty on the violation."""

    needs: ClassVar[Needs] = Needs(proxes=1, domain="feasible", numpy_only=True, one_run=True)

    prox: Prox = anything("a proximal oracle")
    domain: Ball = projectable()

    @classmethod
    def from_set(cls, domain: object, theorem: Any) -> dict[str, Any]:
        """Return the proximal oracle of the set."""
        return {"prox": prox_of(domain)}

    def _step(
        self, x: Array, grad: Array, g: Number, s: Array, weight: Number, alpha: Number
    ) -> Array:
        r"""Return :math:`\arg\min \langle\nabla, y\rangle + w[g(y)]_+ + \alpha\|y - x\|^2`."""
        y, radius = x - grad / (2 * alpha), float(self.domain.radius)
        return self.prox(y, weight, alpha, radius, Linearised(x, g, s))


class Yi(Proximal):
    r"""A proximal step on a penalty that grows with all violations so far.

    With :math:`p = [g]_+`,

    .. math::
        q_t     &= q_{t-1} + \gamma p(x_t), \qquad q_0 = 0 \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + (q_t + \gamma p(x_t))\gamma p(x) + \alpha\|x - x_t\|^2.

    NumPy only.

    Args:
        prox: the oracle for the minimisation.
        domain: a ball around 0 that holds the feasible set.
        gamma: :math:`\gamma`, the weight of the violations.
        alpha: the weight of a move.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import LinearProx
        >>> player = Yi(prox=LinearProx(), domain=Ball(9.0), gamma=2.0, alpha=4.0)
        >>> state = player.init(np.array([0.0]))  # x <= 0.5
        >>> state = player.update(state, Feedback(np.array([-8.0]), -0.5, np.array([1.0])))
        >>> state
        QueueState(x=array([1.]), queue=0.0)
        >>> player.update(state, Feedback(np.array([0.0]), 0.5, np.array([1.0])))
        QueueState(x=array([0.5]), queue=1.0)

    Reference: Yi, Li, Yang, Xie, Chai and Johansson, "Regret and cumulative constraint violation
    analysis for online convex optimization with long term constraints", ICML 2021. The rates are
    theirs; this form and its constants are derived here.
    """

    state = QueueState
    source: ClassVar[Source] = Source("Yi et al., ICML 2021", "derived here")

    gamma: Real = positive()
    alpha: Real = positive()

    def next_state(self, state: QueueState, gradient: Array, g: Number, s: Array) -> QueueState:
        x, queue = state
        excess = self.gamma * maximum(g, 0.0 * g)
        queue = queue + excess
        weight = (queue + excess) * self.gamma
        return QueueState(self._step(x, gradient, g, s, weight, self.alpha), queue)

    @classmethod
    @tuning(lambda: YiTheorem)
    def trade_off(
        cls, constants: Constants, horizon: int, domain: Any = None, *, c: float = 0.5
    ) -> Tuned[Self]:
        """Regret against hard violations, traded off by c, for a given horizon."""
        theorem = YiTheorem(constants, horizon=horizon, c=c)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


class YiTheorem(KnownHorizon, Lagrangian):
    r"""Regret :math:`O(T^{\max(c, 1-c)})`, violations :math:`O(T^{(1-c)/2})`; no Slater point.

    With :math:`\gamma^2 = T^c`, :math:`\alpha = \tfrac12\gamma^2G_g^2 + \tfrac12T^c` and
    :math:`D_0` the reach of the start, after t rounds

    .. math::
        \mathrm{Reg}_t &\le B_t = \alpha D_0^2 + \frac{G_f^2t}{2T^c} \\
        \sum_{s \le t}[g(x_s)]_+ &\le \frac1\gamma\sqrt{2(Ft + B_t)}, \qquad
        \sum_{s \le t}[g(x_s)]_+^2 \le \frac{2(Ft + B_t)}{\gamma^2} + [g(x_1)]_+^2.

    Proof. Write :math:`\tilde p = \gamma p`. The step minimises a :math:`2\alpha`-strongly convex
    function, and :math:`(q + \tilde p)\tilde p^+ = \tfrac12q_+^2 - \tfrac12q^2 + \tfrac12\tilde p^2
    - \tfrac12(\tilde p - \tilde p^+)^2` with
    :math:`|\tilde p - \tilde p^+| \le \gamma G_g\|x_{t+1} - x_t\|`. So for feasible u

    .. math:: \langle\nabla_t, x_t - u\rangle + \tfrac12q_{t+1}^2 - \tfrac12q_t^2
        + \tfrac12\tilde p_t^2 \le \frac{G_f^2}{2T^c} + \alpha(\|u - x_t\|^2 - \|u - x_{t+1}\|^2),

    since half of :math:`T^c` is left of :math:`\alpha` for the gradient. Sum over the rounds, with
    :math:`q_1 = \tilde p_1`.

    Args:
        constants: needs R, G_f, G_g; uses start_reach, start_slack and F.
        horizon: T.
        c: strictly between 0 and 1.

    Example:
        >>> from surefoot import Constants
        >>> theorem = YiTheorem(Constants(R=1.0, G_f=1.0, G_g=1.0, start_reach=1.0), 16)
        >>> theorem.gamma, theorem.alpha, float(theorem.regret_bound(16))
        (2.0, 4.0, 6.0)
    """

    kind: ClassVar[Kind] = "sum_positive"

    c: float = share(default=0.5)

    @property
    def name(self) -> str:
        """The source and the trade-off."""
        return f"Yi et al. 2021, c = {self.c:g}"

    @property
    def regret_exponent(self) -> float:
        """The larger of c and 1 - c."""
        return max(self.c, 1 - self.c)

    @property
    def violation_exponent(self) -> float:
        """The exponent (1 - c)/2."""
        return (1 - self.c) / 2

    @property
    def _weight(self) -> float:
        return math.pow(self.horizon, self.c)

    @property
    def gamma(self) -> float:
        r"""The weight of a violation, :math:`T^{c/2}`."""
        return math.sqrt(self._weight)

    @property
    def alpha(self) -> float:
        r"""The weight of a move, :math:`\tfrac12\gamma^2G_g^2 + \tfrac12T^c`."""
        return 0.5 * self._weight * (self._G_g**2 + 1)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\alpha D_0^2 + G_f^2t/(2T^c)`."""
        return self.alpha * self._D_0**2 + self._G_f**2 / (2 * self._weight) * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the bounds on the violations and on their squares."""
        total = 2 * self._budget(t) / self._weight
        slack = self.constants.start_slack
        first = self._G_g * self._D_0 if slack is None else max(-slack, 0.0)
        hard = np.sqrt(total)
        return {"positive_sum": hard, "sum_positive": hard, "sum_squared": total + first**2}


class TrackingPenalty(Mixing):
    r"""Exponential weights over :class:`~surefoot.rules.Yi` with several step sizes.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle}

    Every copy receives the cost gradient at the mixture, and evaluates the constraint at its own
    point, which the proximal oracle of a fixed set knows. NumPy only.

    Args:
        experts: the rules that are mixed, all with one proximal oracle.
        rate: :math:`\beta > 0`.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> prox = prox_of(Box([-0.5], [0.5]))
        >>> slow, fast = (Yi(prox=prox, domain=Ball(1.0), gamma=2.0, alpha=a) for a in (8.0, 2.0))
        >>> player = TrackingPenalty(experts=(slow, fast), rate=0.1)
        >>> state = player.init(np.array([0.0]))
        >>> player.update(state, Feedback(np.array([-1.0]), -0.5, np.array([1.0]))).x
        array([0.15625])

    Reference: the second algorithm of Yi, Li, Yang, Xie, Chai and Johansson, ICML 2021. The rate is
    theirs; this form and its constants are derived here.
    """

    kind = Yi
    needs: ClassVar[Needs] = COSTS_ONLY._replace(
        proxes=8, work="d log T", numpy_only=True, one_run=True
    )
    source: ClassVar[Source] = Source("Yi et al., ICML 2021", "derived here")

    def __post_init__(self) -> None:
        super().__post_init__()
        for copy in self.experts:
            if not isinstance(copy.prox, SetProx):
                raise InvalidValueError(
                    f"prox must know the violation of a fixed set, got {copy.prox!r}"
                )

    def _step_expert(self, copy: Yi, state: State, gradient: Array) -> Any:
        g = copy.prox.violation(state.x)  # type: ignore[attr-defined]
        return copy.update(state, Feedback(gradient, g, 0.0 * state.x))

    def _snap(self, x: Array) -> Array:
        return self.domain.project(x)

    @classmethod
    @tuning(lambda: TrackingPenaltyTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Bounds on regret and hard violations with proximal steps on all constraints."""
        theorem = TrackingPenaltyTheorem(constants, horizon=horizon)
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    def from_set(cls, domain: object, theorem: "TrackingPenaltyTheorem") -> dict[str, Any]:
        """Return one rule for each weight, all with the proximal oracle of the set."""
        prox, ball = prox_of(domain), Ball(theorem.constants.R)
        each = (Yi(prox=prox, domain=ball, gamma=c, alpha=a) for c, a in theorem.experts)
        return {"experts": tuple(each)}


class TrackingPenaltyTheorem(Lagrangian, MixingTheorem):
    r"""Regret :math:`O(\sqrt{T(1 + P)})` against comparators of path length P.

    With D = 2R and :math:`N = \lceil\log_2\sqrt{1 + 2T}\rceil + 1` copies,
    :math:`a_i = 2^{-i}G_f\sqrt T/(D\sqrt{G_g^2 + 1})`, :math:`\gamma_i^2 = a_i`,
    :math:`\alpha_i = \tfrac12a_i(G_g^2 + 1)` and the rate :math:`\sqrt{8\ln N/T}/(G_fD)`,

    .. math::
        \mathrm{Reg}_t(u) &\le \min_iB_i(P) + \frac{\ln N}{\text{rate}}
            + \frac{\text{rate}}8(G_fD)^2t, \qquad
        B_i(P) = \alpha_i(D^2 + 2DP) + \frac{G_f^2t}{2a_i}, \\
        \sum_{s \le t}[g(x_s)]_+ &\le \sum_i\sqrt{\frac{2(G_fDt + B_i(0))}{a_i}}.

    Proof. Copy i has :class:`~surefoot.rules.YiTheorem`'s inequality with :math:`a_i` for
    :math:`T^c`, on linearised costs and for a moving u, whose squared distances telescope up to
    :math:`2DP`; the mixture loses :math:`\ln N/\text{rate} + \text{rate}(G_fD)^2t/8` to any copy.
    g is convex, so the mixture's violation is at most the largest copy's, and that at most their
    sum; a copy's linearised regret is at least :math:`-G_fDt`.

    Args:
        constants: needs R, G_f, G_g.
        horizon: T.
    """

    name: ClassVar[str] = "Yi et al. 2021, dynamic regret"
    kind: ClassVar[Kind] = "sum_positive"
    regret_exponent: ClassVar[float] = 0.5
    violation_exponent: ClassVar[float] = 0.5

    @property
    def _weights(self) -> list[float]:
        count = math.ceil(math.log2(math.sqrt(1 + 2 * self.horizon))) + 1
        first = self._G_f * math.sqrt(self.horizon) / (self._D * math.sqrt(self._G_g**2 + 1))
        return [first / 2**i for i in range(count)]

    @property
    def experts(self) -> tuple[tuple[float, float], ...]:
        r"""The pairs :math:`(\gamma_i, \alpha_i)`, from the smallest steps to the largest."""
        return tuple((math.sqrt(a), 0.5 * a * (self._G_g**2 + 1)) for a in self._weights)

    def _expert_bounds(self, t: Number, path: Number) -> list[Array]:
        G_f, G_g, distance = self._G_f, self._G_g, self._D**2 + 2 * self._D * path
        return [0.5 * a * (G_g**2 + 1) * distance + G_f**2 / (2 * a) * t for a in self._weights]

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Bound the violations by the sum of the copies' bounds."""
        t = as_floats(t)
        least = self._G_f * self._D * t
        each = zip(self._expert_bounds(t, 0.0), self._weights, strict=True)
        hard = sum(np.sqrt(2 * (least + regret) / a) for regret, a in each)
        return {"positive_sum": hard, "sum_positive": hard}
