"""Copies of a rule that track a moving optimum under a penalty, and their bounds (Yi 2021)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Kind, Measure, Tuned
from surefoot.algorithms.related.lagrangian import Lagrangian
from surefoot.algorithms.related.mixing import Mixing, MixingTheorem
from surefoot.algorithms.related.yi import Yi
from surefoot.core.algorithm import COSTS_ONLY, tuning
from surefoot.core.arrays import map_runs
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Number, Region, Source
from surefoot.sets import Ball
from surefoot.sets.prox import prox_of

__all__ = ["TrackingPenalty", "TrackingPenaltyTheorem"]


class TrackingPenalty(Mixing):
    r"""Exponential weights over :class:`~surefoot.algorithms.Yi` with several step sizes.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle}

    Every copy is told the cost gradient at the mixture, and looks at the constraint at its own
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
    needs = COSTS_ONLY._replace(proxes=8, work="d log T", numpy_only=True)
    source = Source("Yi et al., ICML 2021", "derived here")

    def __post_init__(self) -> None:
        super().__post_init__()
        for copy in self.experts:
            if not hasattr(copy.prox, "violation"):
                raise InvalidValueError(
                    f"prox must know the violation of a fixed set, got {copy.prox!r}"
                )

    def _step_expert(self, copy: Yi, own: Any, gradient: Array) -> Any:
        g = map_runs(copy.prox.violation, (own.x,))  # type: ignore[attr-defined]
        return copy.update(own, Feedback(gradient, g, 0.0 * own.x))

    def _snap(self, x: Array) -> Array:
        return self.domain.project(x)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret O((T (1 + P))^(1/2)), optima of path length P; violations O(T^(1/2))."""
        theorem, prox = TrackingPenaltyTheorem(constants, horizon), prox_of(domain)
        copies = tuple(
            Yi(prox=prox, domain=Ball(constants.R), gamma=gamma, alpha=alpha)
            for gamma, alpha in theorem.experts
        )
        return Tuned.of(cls, theorem, experts=copies)


@final
class TrackingPenaltyTheorem(MixingTheorem, Lagrangian):
    r"""Regret :math:`O(\sqrt{T(1 + P)})` against comparators of path length P.

    With D = 2R and :math:`N = \lceil\log_2\sqrt{1 + 2T}\rceil + 1` copies,
    :math:`a_i = 2^{-i}G_f\sqrt T/(D\sqrt{G_g^2 + 1})`, :math:`\gamma_i^2 = a_i`,
    :math:`\alpha_i = \tfrac12a_i(G_g^2 + 1)` and the rate :math:`\sqrt{8\ln N/T}/(G_fD)`,

    .. math::
        \mathrm{Reg}_t(u) &\le \min_iB_i(P) + \frac{\ln N}{\text{rate}}
            + \frac{\text{rate}}8(G_fD)^2t, \qquad
        B_i(P) = \alpha_i(D^2 + 2DP) + \frac{G_f^2t}{2a_i}, \\
        \sum_{s \le t}[g(x_s)]_+ &\le \sum_i\sqrt{\frac{2(G_fDt + B_i(0))}{a_i}}.

    Proof. Copy i has :class:`~surefoot.algorithms.YiTheorem`'s inequality with :math:`a_i` for
    :math:`T^c`, on linearised costs and for a moving u, whose squared distances telescope up to
    :math:`2DP`; the mixture loses :math:`\ln N/\text{rate} + \text{rate}(G_fD)^2t/8` to any copy.
    g is convex, so the mixture's violation is at most the largest copy's, and that at most their
    sum; a copy's linearised regret is at least :math:`-G_fDt`.

    Args:
        constants: needs R, G_f, G_g.
        horizon: T.
    """

    name: ClassVar[str] = "Yi et al. 2021, dynamic regret"
    kind: ClassVar[Kind] = "hard"
    regret_exponent: ClassVar[float] = 0.5
    violation_exponent: ClassVar[float] = 0.5

    @property
    def _D(self) -> float:
        return 2 * self.constants.R

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
        G_f, G_g, far = self._G_f, self._G_g, self._D**2 + 2 * self._D * path
        return [0.5 * a * (G_g**2 + 1) * far + G_f**2 / (2 * a) * t for a in self._weights]

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Bound the violations by the sum of the copies' bounds."""
        t = as_floats(t)
        least = self._G_f * self._D * t
        each = zip(self._expert_bounds(t, 0.0), self._weights, strict=True)
        hard = sum(np.sqrt(2 * (least + regret) / a) for regret, a in each)
        return {"soft": hard, "hard": hard}
