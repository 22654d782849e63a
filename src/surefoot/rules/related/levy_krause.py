r"""Projection-free descent on a smooth set (Levy and Krause 2019): no violation.

One query a round, at a point that is not played. The set is :math:`\{h \le 0\}` with h convex and
:math:`\beta`-smooth, :math:`x_0` a point with :math:`h(x_0) \le -h_0 < 0`, D the diameter,
:math:`D_0` the largest distance from :math:`x_0` to a point of the set, and
:math:`k = 1 + \beta D_0^2/(2h_0)`.

Proof of both theorems. Smoothness gives :math:`h(p) \le \tfrac\beta2\|p - y\|^2 = b`, and convexity
:math:`h(x_{t+1}) \le (1-\lambda)b - \lambda h_0 = 0`. The action :math:`x_t` is in the half-space
that p is the projection onto, so :math:`\|y - p\| \le \|y - x_t\| = \eta_t\|\nabla_t\|` and
:math:`\lambda_t \le \beta\eta_t^2\|\nabla_t\|^2/(2h_0)`. For u in the set,
:math:`\|x_{t+1} - u\|^2 \le (1-\lambda)\|p - u\|^2 + \lambda\|x_0 - u\|^2 \le \|y - u\|^2 +
\lambda_tD_0^2`: gradient descent with every squared gradient multiplied by k.
"""

import math
from typing import Any, ClassVar, Self

from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, start_in, tuning
from surefoot.core.arrays import dot, where
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.parameters import Declared, anything, flag, nonnegative, positive, size
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Needs, Number, Real, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic
from surefoot.guarantees.guarantee import Guarantee
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import Inside, OnBounded
from surefoot.rules.states import RoundState
from surefoot.sets import SmoothSet, smooth_of

__all__ = ["LevyKrause", "LevyKrauseStronglyConvex", "LevyKrauseTheorem"]


class LevyKrause(Declared, CostsOnly):
    r"""Gradient descent on a set :math:`\{h \le 0\}` with a smooth h, by one linearisation.

    .. math::
        y &= x_t - \eta_t\nabla_t; \qquad \text{where } h(y) \le 0:\ x_{t+1} = y, \text{ else} \\
        p &= y - \frac{h(y)}{\|n\|^2}n, \quad n = \nabla h(y), \qquad
        b = \frac{\beta}{2}\frac{h(y)^2}{\|n\|^2}, \qquad
        \lambda = \frac{b}{h_0 + b} \\
        x_{t+1} &= p + \lambda(x_0 - p)

    Smoothness gives :math:`h(p) \le b`, and mixing with the interior point :math:`x_0`, where
    :math:`h \le -h_0`, brings it back to 0.

    Args:
        smooth: h with its curvature :math:`\beta`, an interior point and the depth there.
        eta: the step size; that of round 1 where it falls.
        decreasing: whether :math:`\eta_t = \eta/t`, for strongly convex costs.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = LevyKrause(smooth=smooth_of(Ball(1.0, centre=[0.0, 0.0])), eta=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> player.update(state, Feedback(np.array([-2.0, 0.0]), None, None)).x.round(9)
        array([0.8, 0. ])

    Reference: Levy and Krause, "Projection free online learning over smooth sets", AISTATS 2019,
    has the rates; this routine, which asks once per round, is derived here.
    """

    state = RoundState
    needs: ClassVar[Needs] = COSTS_ONLY._replace(smooth_queries=1)
    source: ClassVar[Source] = Source("Levy and Krause, AISTATS 2019", "derived here")

    smooth: SmoothSet = anything("a smooth set")
    eta: Real = positive()
    decreasing: bool = flag(default=False)

    @classmethod
    def from_set(cls, domain: object, theorem: Guarantee) -> dict[str, Any]:
        """Return the smooth function of the set."""
        return {"smooth": smooth_of(domain)}

    def init(self, x1: Array) -> RoundState:
        """Start at x1, a point of the set."""
        first: RoundState = self.first_state(start_in(self.smooth, x1))  # type: ignore[arg-type]
        return first

    def next_state(self, state: RoundState, grad: Array) -> RoundState:
        x, t = state
        eta = self.eta / t if self.decreasing else self.eta
        y = x - eta * grad
        h, n = self.smooth(y)
        squared = dot(n, n)
        # h as computed is off by a multiple of the unit roundoff; a point that near to the
        # boundary is projected as if it were outside.
        noise = 32 * (x.shape[-1] + 8) * UNIT * (abs(h) + self.smooth.depth)
        outside = h > -noise
        share = h / where(squared > 0, squared, 1.0)
        p = y - where(h > 0, share, 0.0 * share) * n
        excess = 0.5 * self.smooth.curvature * where(h > 0, h * share, 0.0 * share) + 4 * noise
        pull = excess / (self.smooth.depth + excess)
        back = p + pull * (self.smooth.interior_like(x) - p)
        return RoundState(where(outside, back, y), t + 1.0)

    @classmethod
    @tuning(lambda: LevyKrauseTheorem)
    def fixed(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible, with fast projections onto a smooth set, for a given horizon."""
        theorem = LevyKrauseTheorem(
            constants, horizon=horizon, **LevyKrauseTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: LevyKrauseStronglyConvex)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Any = None
    ) -> Tuned[Self]:
        """Never infeasible, with fast projections, for strongly convex costs."""
        check_possible_horizon(horizon)
        theorem = LevyKrauseStronglyConvex(
            constants, **LevyKrauseStronglyConvex.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


class _Smooth(Inside):
    reach: float = size()
    curvature: float = nonnegative()
    depth: float = size()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the constants of the smooth function of the set."""
        smooth = smooth_of(domain)
        values = {"reach": smooth.reach, "curvature": smooth.curvature, "depth": smooth.depth}
        return super().from_set(constants, smooth) | values

    @property
    def growth(self) -> float:
        r"""The growth factor :math:`k = 1 + \beta D_0^2/(2h_0)`."""
        return 1 + self.curvature * self.reach**2 / (2 * self.depth)


class LevyKrauseTheorem(_Smooth, OnBounded):
    r"""Convex costs, with :math:`\eta = D/(G_f\sqrt{kT})`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2kG_f^2t,

    which is :math:`DG_f\sqrt{kT}` at t = T.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D.
        reach: :math:`D_0`.
        curvature: :math:`\beta`.
        depth: :math:`h_0`.

    Example:
        >>> c = Constants(R=1.0, G_f=3.0)  # the unit disc: h = |x|^2 - 1, k = 2
        >>> float(LevyKrauseTheorem(c, 200, 2.0, 1.0, 2.0, 1.0).regret_bound(200))
        120.0
    """

    name: ClassVar[str] = "Levy and Krause 2019, smooth sets"
    regret_exponent: ClassVar[float] = 0.5

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{kT})`."""
        return self.diameter / (self._G_f * math.sqrt(self.growth * self.horizon))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2)kG_f^2t`."""
        rate = self.eta / 2 * self.growth * self._G_f**2
        return self.diameter**2 / (2 * self.eta) + rate * as_floats(t)


class LevyKrauseStronglyConvex(StronglyConvex, _Smooth):
    r"""Costs that are :math:`\mu`-strongly convex, with :math:`\eta_t = 1/(\mu t)`.

    .. math:: \mathrm{Reg}_t \le \frac{kG_f^2}{2\mu}(1 + \ln t)

    Args:
        constants: needs G_f, strong_convexity.
        reach: :math:`D_0`.
        curvature: :math:`\beta`.
        depth: :math:`h_0`.
    """

    name: ClassVar[str] = "Levy and Krause 2019, smooth sets, strongly convex"
    decreasing: ClassVar[bool] = True

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`kG_f^2/(2\mu)\,(1 + \ln t)`."""
        return self.growth * self._G_f**2 * self.eta / 2 * harmonic(t)
