"""Descent brought back by separating half-spaces, and its regret (Garber and Kretzu 2022)."""

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, tuning
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything, flag, positive, projectable
from surefoot.core.types import Array, Needs, Number, Real, Source
from surefoot.guarantees.bounds import descent_bound, too_short
from surefoot.guarantees.guarantee import Guarantee
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import AroundBall, ForHorizon
from surefoot.sets import Ball, Separation, separation_of

__all__ = ["SeparationDescent", "SeparationTheorem"]


class SeparationDescentState(NamedTuple):
    """The action to play, and how many cuts were made so far."""

    x: Array
    cuts: Number = 0.0


class SeparationDescent(Declared, CostsOnly):
    r"""Gradient descent whose point is cut back until the separation oracle finds it inside.

    .. math:: y = \Pi_{R\mathbb{B}}(x_t - \eta\nabla_t);\quad
        \text{while the oracle separates } y \text{ by } (c, a):\quad
        y \leftarrow y - \Big(\frac{c}{\|a\|} + \delta r\Big)\frac{a}{\|a\|};\quad x_{t+1} = y

    with the depth c counted only for deep cuts. Every cut brings y nearer to the shrunk set
    :math:`(1 - \delta)K` by at least :math:`(\delta r)^2`, squared. NumPy only.

    Args:
        separation: the oracle.
        domain: a ball :math:`R\mathbb{B}` around 0 that holds the set.
        eta: the step size.
        depth: :math:`\delta r`, by how much a cut moves beyond the half-space.
        deep: whether cuts use the depth that the oracle gives.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> oracle = separation_of(Box([-0.5, -0.5], [0.5, 0.5]))
        >>> player = SeparationDescent(separation=oracle, domain=Ball(1.0), eta=0.5, depth=0.1)
        >>> state = player.init(np.array([0.4, 0.0]))
        >>> after = player.update(state, Feedback(np.array([-0.7, 0.0]), None, None))
        >>> after.x.round(9), after.cuts  # 0.75, 0.65, 0.55, 0.45
        (array([0.45, 0.  ]), 3.0)

    Reference: Garber and Kretzu, "New projection-free algorithms for online convex optimization
    with adaptive regret guarantees", COLT 2022. Rates are theirs; constants, half of the usual by
    a start at 0, and deep cuts are derived here.
    """

    state = SeparationDescentState
    needs: ClassVar[Needs] = COSTS_ONLY._replace(separations=2, numpy_only=True, one_run=True)
    source: ClassVar[Source] = Source("Garber and Kretzu, COLT 2022", "derived here")

    separation: Separation = anything("a separation oracle")
    domain: Ball = projectable()
    eta: Real = positive()
    depth: Real = positive()
    deep: bool = flag(default=False)

    @classmethod
    def from_set(cls, domain: object, theorem: Guarantee) -> dict[str, Any]:
        """Return the separation oracle of the set."""
        return {"separation": separation_of(domain)}

    def first_state(self, x1: Array) -> SeparationDescentState:
        if self.separation(x1) is not None:
            raise InvalidValueError(f"x1 must be in the feasible set, got {x1!r}")
        first: SeparationDescentState = super().first_state(x1)
        return first

    def next_state(self, state: SeparationDescentState, grad: Array) -> SeparationDescentState:
        x, cuts = state
        y = self.domain.project(x - self.eta * grad)
        x, more = self._cut_back(y)
        return SeparationDescentState(x, cuts + more)

    def _cut_back(self, y: Array) -> tuple[Array, float]:
        depth = float(self.depth)
        # A cut brings y nearer to a point of the set by the depth, squared; so there are no more.
        most = (2 * float(np.max(self.domain.radius)) / depth) ** 2 + 1
        cuts = 0.0
        while (cut := self.separation(y)) is not None:
            c, a = cut
            size = math.sqrt(float(a @ a))
            if not (0 < size < math.inf and c >= 0):
                raise InvalidValueError(
                    "the separation oracle must return a depth of at least 0 and a nonzero finite "
                    f"normal, got {c!r} and {a!r} at {y!r}"
                )
            y = y - ((c / size if self.deep else 0.0) + depth) / size * a
            cuts += 1.0
            if cuts > most:
                raise InvalidValueError(
                    f"the set must hold a ball whose radius is above the depth {depth:g} of a cut, "
                    f"got an oracle that separates after {cuts:.0f} cuts of one round"
                )
        return y, cuts

    @classmethod
    @tuning(lambda: SeparationTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible, with separating hyperplanes instead of projections."""
        theorem = SeparationTheorem(
            constants, horizon=horizon, **SeparationTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    @tuning(lambda: SeparationTheorem)
    def deep_cuts(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Never infeasible, with deep separating cuts instead of projections."""
        theorem = SeparationTheorem(
            constants, horizon=horizon, deep=True, **SeparationTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))


class SeparationTheorem(AroundBall, ForHorizon):
    r"""Cuts towards the shrunk set: regret :math:`O(\sqrt{\kappa T})`, no violation.

    With :math:`r\mathbb{B} \subseteq K \subseteq R\mathbb{B}`, :math:`\kappa = R/r`, :math:`D_0`
    the reach of the start (R at 0), :math:`\eta = D_0/(G_f\sqrt{(1+2\kappa)T})` and
    :math:`\delta = \eta G_f/r < 1`,

    .. math::
        \mathrm{Reg}_t \le \frac{D_0^2}{2\eta} + \frac\eta2(1+2\kappa)G_f^2t, \qquad
        \text{cuts} \le (2\kappa + 1)T + \kappa^2\,[x_1 \ne 0].

    Proof. For z in :math:`(1-\delta)K` the point :math:`z + \delta ra/\|a\|` is in K, so a cut by a
    has :math:`\langle a, y - z\rangle \ge \delta r\|a\|`, plus the depth of a deep cut, and brings
    y nearer to z by at least :math:`(\delta r)^2`, squared. Gradient descent towards
    :math:`(1-\delta)u` and :math:`\delta RG_f` per round for the difference give the regret. Let
    :math:`a_t` be the distance of :math:`x_t` to :math:`(1-\delta)K`, at most :math:`\delta R`; a
    round with n cuts has :math:`n(\delta r)^2 \le (a_t + \eta G_f)^2 - a_{t+1}^2` and
    :math:`\eta G_f = \delta r`; the sum over the rounds is at most
    :math:`(2\kappa + 1)(\delta r)^2T` plus :math:`a_1^2`.

    Args:
        constants: needs R, G_f (on the feasible set); uses start_reach.
        horizon: T, above :math:`\kappa^2/(1+2\kappa)` times :math:`(D_0/R)^2`.
        inner_radius: r; a constant, or known from the gauge of the set.
        deep: whether cuts are as deep as the oracle allows: fewer calls.

    Example:
        >>> from surefoot import Constants
        >>> c = Constants(R=1.0, G_f=1.0, start_reach=1.0)
        >>> theorem = SeparationTheorem(c, 500, 0.5)
        >>> float(theorem.regret_bound(500)), theorem.cuts
        (50.0, 2500.0)
    """

    name: ClassVar[str] = "Garber and Kretzu 2022, separation"
    regret_exponent: ClassVar[float] = 0.5

    deep: bool = flag(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.eta * self._G_f < self.inner_radius:
            needed = math.floor((self.constants.reach / self.inner_radius) ** 2 / self._growth) + 1
            raise too_short(self, needed)

    @property
    def _growth(self) -> float:
        return 1 + 2 * self.kappa

    @property
    def eta(self) -> float:
        r"""The step size :math:`D_0/(G_f\sqrt{(1+2\kappa)T})`."""
        return self.constants.reach / (self._G_f * math.sqrt(self._growth * self.horizon))

    @property
    def depth(self) -> float:
        r"""The distance :math:`\delta r = \eta G_f` by which a cut moves beyond the half-space."""
        return self.eta * self._G_f

    @property
    def cuts(self) -> float:
        r"""The largest number of failing oracle calls over all rounds."""
        start = 0.0 if self.constants.reach <= self.constants.R else self.kappa**2
        return self._growth * self.horizon + start

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D_0^2/(2\eta) + (\eta/2)(1+2\kappa)G_f^2t`."""
        return self._bound(t, self.constants.reach)

    def interval_bound(self, length: Number) -> Array:
        r"""Bound the regret over any interval: :math:`2R^2/\eta + (\eta/2)(1+2\kappa)G_f^2|I|`."""
        return self._bound(length, 2 * self.constants.R)

    def _bound(self, t: Number, distance: float) -> Array:
        return descent_bound(t, self.eta, distance, math.sqrt(self._growth) * self._G_f)
