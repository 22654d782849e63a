r"""Frank-Wolfe with only the values of costs: exploration and its price, each round or in blocks.

In the theorems, which are about expected regret, K holds the ball :math:`r\mathbb{B}`, has the
diameter D and :math:`\kappa = R/r`; costs are chosen in advance, have gradients of at most
:math:`G_f` and values of at most :math:`F_0`. A one-point estimate
:math:`\tfrac d\delta f(z + \delta u)u` has the mean :math:`\nabla f_\delta(z)` of a smoothed cost
with :math:`|f_\delta - f| \le \delta G_f`, and a norm of at most :math:`dF_0/\delta`. Actions
:math:`z + \delta u` with z in :math:`(1 - \delta/r)K` are in K. Smoothing and shrinking cost at
most :math:`(2 + \kappa)\delta G_f` per round. The first round explores nothing, and costs at most
:math:`G_fD`.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, NOTHING, Algorithm, start_in, tuning
from surefoot.core.arrays import number_like
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Counts
from surefoot.core.parameters import Declared, count, minimising, positive, size
from surefoot.core.points import bounded_diameter, dimension_of, snap_inside
from surefoot.core.types import Array, Info, Needs, Number, Real, Set, Source
from surefoot.guarantees.bounds import InBlocks, as_floats
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import AroundBall, ForHorizon, inner_radius_of

__all__ = ["BanditFrankWolfe", "BlockBandit", "BlockBanditTheorem", "SmoothedBanditTheorem"]


VALUES_ONLY = COSTS_ONLY._replace(
    cost_gradients=0, cost_values=1, directions=1, linear_minimisations=1, numpy_only=True
)


class BanditState(NamedTuple):
    """The action, and what the next round needs.

    Attributes:
        x: the action to play: the centre moved along the direction of the round.
        centre: z, the point that learns.
        start: the first centre.
        direction: u, the unit vector of the round; 0 until the game has drawn one.
        gradients: the sum of the estimated gradients.
        count: rounds played, of the block where there are blocks.
    """

    x: Array
    centre: Array
    start: Array
    direction: Array
    gradients: Array
    count: Counts


class Exploring(Declared, Algorithm):
    """A rule on a shrunk set with one-point gradient estimates, which ``next_state`` sees."""

    needs: ClassVar[Needs] = VALUES_ONLY

    radius: Real = positive()
    shrink: Real = positive()
    domain: Set = minimising()

    def init(self, x1: Array) -> BanditState:
        """Start at x1; the centre is x1 shrunk towards 0 like the set.

        The game draws the direction of a round with the feedback of the one before. The first round
        is played without one, and gives no estimate.
        """
        x1 = start_in(self.domain, x1)
        centre = (1.0 - self.shrink) * x1
        zero = 0.0 * centre
        return BanditState(x1, centre, centre, zero, zero, number_like(centre, 0.0))

    def explore(self, state: BanditState, direction: Array) -> BanditState:
        """Return the state whose action is the centre moved along a unit vector."""
        checks.check_like_action(direction, state.x, "direction")
        moved = snap_inside(self.domain, state.centre + self.radius * direction)
        return state._replace(x=moved, direction=direction)

    def step(self, state: BanditState, feedback: Feedback) -> tuple[BanditState, Info]:
        """Return the state after a round: the lines of the class's docstring.

        It explores along the direction that came with the feedback, and stays at the centre
        without one.
        """
        after = self.next_state(state, self._estimate(state, feedback))
        if feedback.direction is not None:
            return self.explore(after, feedback.direction), NOTHING
        return after._replace(x=after.centre, direction=0.0 * after.centre), NOTHING

    @abstractmethod
    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        """Return the next state but for its action: the formulas of the rule."""

    def _estimate(self, state: BanditState, feedback: Feedback) -> Array:
        r"""Return :math:`(d/\delta)f_t(x_t)u_t`, whose mean is the gradient of a smoothed cost."""
        if feedback.cost_value is None:
            raise InvalidValueError("cost_value must be reported to a bandit, got None")
        share = state.x.shape[-1] / self.radius * feedback.cost_value
        return share * state.direction


class BanditTheorem(AroundBall, ForHorizon):
    """Shared by both theorems: the exploration radius and its price."""

    needed: ClassVar[tuple[str, ...]] = ("cost_bound",)
    _power: ClassVar[float]
    _share: ClassVar[float]

    dimension: int = count()
    diameter: float = size()

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the radius inside, rounded down, the dimension and the diameter."""
        dimension = dimension_of(domain)
        if dimension is None:
            raise InvalidValueError(f"domain must know its dimension, got {domain!r}")
        inner = inner_radius_of(constants, domain) * (1 - math.ulp(1.0))
        shape = {"dimension": dimension, "diameter": bounded_diameter(domain)}
        return {"inner_radius": inner} | shape

    @property
    def _noise(self) -> float:
        """The norm of an estimate times the exploration radius, :math:`dF_0`."""
        return self.dimension * self.constants.require("cost_bound", by=self.name)[0]

    @property
    def _price(self) -> float:
        r"""The price per round and unit of the exploration radius, :math:`(2 + \kappa)G_f`."""
        return (2 + self.constants.R / self.inner_radius) * self._G_f

    @property
    def radius(self) -> float:
        r"""The exploration radius :math:`\delta`, at most r/2."""
        best = math.sqrt(self._share * self.diameter * self._noise / self._price)
        return min(best * math.pow(self.horizon, -self._power), self.inner_radius / 2)

    @property
    def shrink(self) -> float:
        r"""The shrinking factor :math:`\delta/r`."""
        return self.radius / self.inner_radius


class BanditFrankWolfe(Exploring):
    r"""Online Frank-Wolfe on one-point estimates: one linear minimisation per round.

    With :math:`u_t` uniform on the sphere, drawn by the game, and :math:`K_\delta = (1-\delta/r)K`,

    .. math::
        x_t     &= z_t + \delta u_t \qquad\text{(played)}, \qquad
        \hat g_t = \tfrac d\delta f_t(x_t)u_t, \qquad S_t = \textstyle\sum_{s \le t}\hat g_s \\
        v_t     &= \arg\min_{v \in K_\delta}\langle\eta S_t + z_t - z_1, v\rangle, \qquad
        z_{t+1} = z_t + \sigma(v_t - z_t).

    Args:
        radius: :math:`\delta`, how far actions explore.
        shrink: :math:`\delta/r`, by how much the set is shrunk.
        eta: the weight of the estimates.
        step_size: :math:`\sigma`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BanditFrankWolfe(radius=0.5, shrink=0.5, eta=0.1, step_size=0.5, domain=square)
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> state.x
        array([0.5, 0. ])
        >>> player.update(state, Feedback(None, None, None, cost_value=2.0)).centre
        array([-0.25, -0.25])

    Reference: Chen, Zhang and Karbasi, "Projection-free bandit convex optimization", AISTATS 2019.
    The rate is theirs; exponents as recalled, constants derived here.
    """

    source: ClassVar[Source] = Source("Chen, Zhang and Karbasi, AISTATS 2019", "from memory")

    eta: Real = positive()
    step_size: Real = positive()

    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        gradients = state.gradients + estimate
        target = self.eta * gradients + state.centre - state.start
        v = (1.0 - self.shrink) * self.domain.minimize_linear(target)
        centre = state.centre + self.step_size * (v - state.centre)
        return state._replace(centre=centre, gradients=gradients, count=state.count + 1.0)

    @classmethod
    @tuning(lambda: SmoothedBanditTheorem)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Never infeasible, from values of the costs only, for a given horizon."""
        return Tuned.of(
            cls,
            SmoothedBanditTheorem(
                constants, horizon=horizon, **SmoothedBanditTheorem.from_set(constants, domain)
            ),
            domain,
        )


class SmoothedBanditTheorem(BanditTheorem):
    r"""One linear minimisation per round: expected regret :math:`O(T^{4/5})`.

    With :math:`\sigma = T^{-2/5}`, :math:`\delta = \min(\delta_0T^{-1/5}, r/2)`,
    :math:`\delta_0^2 = \tfrac23DdF_0/((2+\kappa)G_f)` and
    :math:`\eta = \tfrac34\sigma^{3/2}D\delta/(dF_0)`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta}
        + \Big(\frac\eta2\frac{d^2F_0^2}{\delta^2} + 2G_fD\sqrt\sigma + (2+\kappa)\delta G_f\Big)t.

    Proof. :math:`\Phi_t(z) = \eta\langle S_t, z\rangle + \tfrac12\|z - z_1\|^2` is 1-smooth and
    1-strongly convex; with h its excess at :math:`z_t`,
    :math:`h_{t+1} \le (1-\sigma)h_t + \tfrac12\sigma^2D^2 + \eta\|\hat g\|\sqrt{2h_{t+1}}` keeps
    :math:`h \le 2\sigma D^2`, because :math:`\eta dF_0/\delta \le \tfrac34\sigma^{3/2}D`. So
    :math:`z_t` is within :math:`2D\sqrt\sigma` of the minimiser, which is dual averaging on the
    estimates.

    Args:
        constants: needs R, G_f, cost_bound.
        horizon: T.
        dimension: d.
        diameter: D.
        inner_radius: r.
    """

    name: ClassVar[str] = "Chen, Zhang and Karbasi 2019, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.8
    _power: ClassVar[float] = 0.2
    _share: ClassVar[float] = 2 / 3

    @property
    def step_size(self) -> float:
        r"""The step :math:`\sigma = T^{-2/5}`."""
        return math.pow(self.horizon, -0.4)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\tfrac34\sigma^{3/2}D\delta/(dF_0)`."""
        return 0.75 * math.pow(self.step_size, 1.5) * self.diameter * self.radius / self._noise

    def regret_bound(self, t: Number) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * (self._noise / self.radius) ** 2 + self._price * self.radius
        rate += 2 * self._G_f * self.diameter * math.sqrt(self.step_size)
        first = self._G_f * self.diameter + self.diameter**2 / (2 * self.eta)
        return first + rate * as_floats(t)


class BlockBandit(Exploring):
    r"""Frank-Wolfe on one-point estimates, a few steps at the end of every block of rounds.

    As :class:`~surefoot.rules.BanditFrankWolfe`, but the centre moves at the end of a block of
    b rounds only, by Frank-Wolfe steps with line search on
    :math:`\Phi(z) = \eta\langle S, z\rangle + \tfrac12\|z - z_1\|^2` over :math:`K_\delta` until
    the gap is at most :math:`\epsilon`.

    Args:
        radius: :math:`\delta`, how far actions explore.
        shrink: :math:`\delta/r`, by how much the set is shrunk.
        eta: the weight of the estimates.
        block: b.
        gap: :math:`\epsilon`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BlockBandit(
        ...     radius=0.5, shrink=0.5, eta=0.1, block=1, gap=1e-9, domain=square
        ... )
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> player.update(state, Feedback(None, None, None, cost_value=1.0)).centre.round(6) + 0.0
        array([-0.4,  0. ])

    Reference: Garber and Kretzu, "Improved regret bounds for projection-free bandit convex
    optimization", AISTATS 2020. Constants derived here.
    """

    needs: ClassVar[Needs] = VALUES_ONLY._replace(linear_minimisations=8, one_run=True)
    source: ClassVar[Source] = Source("Garber and Kretzu, AISTATS 2020", "from memory")

    eta: Real = positive()
    block: Real = positive()
    gap: Real = positive()

    def next_state(self, state: BanditState, estimate: Array) -> BanditState:
        gradients = state.gradients + estimate
        centre, count = state.centre, state.count + 1.0
        if count >= self.block:
            centre, count = self._move(centre, state.start - self.eta * gradients), 0.0
        return state._replace(centre=centre, gradients=gradients, count=count)

    def _move(self, z: Array, target: Array) -> Array:
        """Take Frank-Wolfe steps towards the point of the shrunk set nearest to the target."""
        while True:
            slope = z - target
            way = (1.0 - self.shrink) * self.domain.minimize_linear(slope) - z
            gap = -float(slope @ way)
            if gap <= self.gap:
                return z
            z = z + min(1.0, gap / float(way @ way)) * way

    @classmethod
    @tuning(lambda: BlockBanditTheorem)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Never infeasible, from values of the costs only, in blocks of rounds."""
        return Tuned.of(
            cls,
            BlockBanditTheorem(
                constants, horizon=horizon, **BlockBanditTheorem.from_set(constants, domain)
            ),
            domain,
        )


class BlockBanditTheorem(BanditTheorem, InBlocks):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: expected regret :math:`O(T^{3/4})`.

    With :math:`\delta = \min(\delta_0T^{-1/4}, r/2)`, :math:`\delta_0^2 = DdF_0/((2+\kappa)G_f)`,
    :math:`v = (dF_0/\delta)^2 + bG_f^2`, :math:`\eta = D/\sqrt{Tv}` and
    :math:`\epsilon = \tfrac12D^2T^{-1/2}`,

    .. math:: \mathbb{E}\,\mathrm{Reg}_t \le G_fD + \frac{D^2}{2\eta} + \big(\tfrac\eta2v
        + G_f\sqrt{2\epsilon} + (2+\kappa)\delta G_f\big)t, \qquad
        \text{calls} \le \frac Tb\Big(\Big\lceil\frac{4D^2}\epsilon\Big\rceil + 2\Big).

    Proof. A block's sum of estimates has a mean square of at most
    :math:`b(dF_0/\delta)^2 + b^2G_f^2 = bv`; a gap of :math:`\epsilon` leaves the centre within
    :math:`\sqrt{2\epsilon}` of the minimiser; Frank-Wolfe with line search takes
    :math:`2D^2/\epsilon` steps to an excess of :math:`\epsilon` and as many more to the gap. The
    arguments are those of :class:`SmoothedBanditTheorem`.
    """

    name: ClassVar[str] = "Garber and Kretzu 2020, bandit (in expectation)"
    regret_exponent: ClassVar[float] = 0.75
    _power: ClassVar[float] = 0.25
    _share: ClassVar[float] = 1.0

    @property
    def _variance(self) -> float:
        return (self._noise / self.radius) ** 2 + self.block * self._G_f**2

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/\sqrt{Tv}`."""
        return self.diameter / math.sqrt(self.horizon * self._variance)

    @property
    def gap(self) -> float:
        r"""The Frank-Wolfe gap :math:`\epsilon = \tfrac12D^2/\sqrt T`."""
        return 0.5 * self.diameter**2 / math.sqrt(self.horizon)

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return (self.horizon // self.block) * (math.ceil(4 * self.diameter**2 / self.gap) + 2)

    def regret_bound(self, t: Number) -> Array:
        """Bound the expected regret."""
        rate = self.eta / 2 * self._variance + self._price * self.radius
        rate += self._G_f * math.sqrt(2 * self.gap)
        first = self._G_f * self.diameter + self.diameter**2 / (2 * self.eta)
        return first + rate * as_floats(t)
