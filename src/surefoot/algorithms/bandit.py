"""Frank-Wolfe with the values of costs alone: one-point bandit feedback."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import number_like, run_by_run
from surefoot.algorithms._start import bounded_diameter, start_in
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets._points import settled
from surefoot.sets.gauge import gauge_of
from surefoot.theory import Tuned
from surefoot.theory.bandit import BlockBanditTheorem, SmoothedBanditTheorem
from surefoot.types import Array, Feedback, Needs, Number, Region

__all__ = ["BanditFrankWolfe", "BanditState", "BlockBandit"]

_VALUES_ONLY = Needs(
    cost_gradients=0,
    constraint_values=0,
    constraint_subgradients=0,
    cost_values=1,
    directions=1,
    linear_minimisations=1,
    domain="feasible",
    numpy_only=True,
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
    count: Number


class _Exploring:
    """What both rules share: the shrunk set, and one-point estimates of the gradient."""

    __slots__ = ()
    radius: Number
    shrink: Number
    domain: Region

    def init(self, x1: Array) -> BanditState:
        """Start at x1, shrunk towards 0 like the set; the game then draws a direction."""
        centre = (1.0 - self.shrink) * start_in(self.domain, x1)
        zero = 0.0 * centre
        return BanditState(centre, centre, centre, zero, zero, number_like(centre, 0.0))

    def explore(self, state: BanditState, direction: Array) -> BanditState:
        """Return the state whose action is the centre moved along a unit vector."""
        _check.like_action(direction, state.x, "direction")
        moved = settled(self.domain, state.centre + self.radius * direction)
        return state._replace(x=moved, direction=direction)

    def _estimate(self, state: BanditState, feedback: Feedback) -> Array:
        r"""Return :math:`(d/\delta)f_t(x_t)u_t`, whose mean is the gradient of a smoothed cost."""
        if feedback.cost_value is None:
            raise InvalidValueError("cost_value must be told to a bandit, got None")
        share = state.x.shape[-1] / self.radius * feedback.cost_value
        return share * state.direction


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditFrankWolfe(_Exploring):
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
        step: :math:`\sigma`.
        domain: the feasible set K, which must hold a ball of radius r around 0.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = BanditFrankWolfe(radius=0.5, shrink=0.5, eta=0.1, step=0.5, domain=square)
        >>> state = player.explore(player.init(np.array([0.0, 0.0])), np.array([1.0, 0.0]))
        >>> state.x
        array([0.5, 0. ])
        >>> player.update(state, Feedback(None, None, None, cost_value=2.0)).centre
        array([-0.25, -0.25])

    Reference: Chen, Zhang and Karbasi, "Projection-free bandit convex optimization", AISTATS 2019.
    The rate is theirs; exponents as recalled, constants derived here.
    """

    needs: ClassVar[Needs] = _VALUES_ONLY
    tunings: ClassVar[tuple[str, ...]] = ("known_horizon",)

    radius: Number
    shrink: Number
    eta: Number
    step: Number
    domain: Region

    def __post_init__(self) -> None:
        _check.positive(radius=self.radius, shrink=self.shrink, eta=self.eta, step=self.step)
        _check.plain(self, "radius", "shrink", "eta", "step")

    def update(self, state: BanditState, feedback: Feedback) -> BanditState:
        """Play one round: the lines of the docstring."""
        gradients = state.gradients + self._estimate(state, feedback)
        target = self.eta * gradients + state.centre - state.start
        v = (1.0 - self.shrink) * self.domain.minimize_linear(target)
        centre = state.centre + self.step * (v - state.centre)
        return state._replace(x=centre, centre=centre, gradients=gradients, count=state.count + 1.0)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region
    ) -> Tuned[BanditFrankWolfe]:
        """Expected regret O(T^(4/5)), no violation.

        Args:
            constants: those of the problem, ``cost_bound`` among them.
            horizon: T.
            domain: the feasible set.
        """
        theorem = SmoothedBanditTheorem(constants, horizon, *_shape(constants, domain))
        player = cls(
            radius=theorem.radius,
            shrink=theorem.shrink,
            eta=theorem.eta,
            step=theorem.step,
            domain=domain,
        )
        return Tuned(player, theorem)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockBandit(_Exploring):
    r"""Frank-Wolfe on one-point estimates, a few steps at the end of every block of rounds.

    As :class:`BanditFrankWolfe`, but the centre moves at the end of a block of b rounds only, by
    Frank-Wolfe steps with line search on
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

    needs: ClassVar[Needs] = _VALUES_ONLY._replace(linear_minimisations=8)
    tunings: ClassVar[tuple[str, ...]] = ("known_horizon",)

    radius: Number
    shrink: Number
    eta: Number
    block: Number
    gap: Number
    domain: Region

    def __post_init__(self) -> None:
        _check.positive(
            radius=self.radius, shrink=self.shrink, eta=self.eta, block=self.block, gap=self.gap
        )
        _check.plain(self, "radius", "shrink", "eta", "block", "gap")

    def update(self, state: BanditState, feedback: Feedback) -> BanditState:
        """Add the estimate; at the end of a block, move the centre."""
        gradients = state.gradients + self._estimate(state, feedback)
        count = state.count + 1.0
        ends = (count >= self.block) * 1.0
        target = state.start - self.eta * gradients
        centre = run_by_run(self._move, (state.centre, target), ends, self.shrink, self.gap)
        return state._replace(
            x=centre, centre=centre, gradients=gradients, count=(1.0 - ends) * count
        )

    def _move(self, z: Array, target: Array, ends: float, shrink: float, gap: float) -> Array:
        """Frank-Wolfe steps towards the point of the shrunk set nearest to the target."""
        while ends:
            slope = z - target
            way = (1.0 - shrink) * self.domain.minimize_linear(slope) - z
            rest = -float(slope @ way)
            if rest <= gap:
                break
            z = z + min(1.0, rest / float(way @ way)) * way
        return z

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Region
    ) -> Tuned[BlockBandit]:
        """Expected regret O(T^(3/4)), no violation, O(1) linear minimisations per round.

        Args:
            constants: those of the problem, ``cost_bound`` among them.
            horizon: T.
            domain: the feasible set.
        """
        theorem = BlockBanditTheorem(constants, horizon, *_shape(constants, domain))
        player = cls(
            radius=theorem.radius,
            shrink=theorem.shrink,
            eta=theorem.eta,
            block=theorem.block,
            gap=theorem.gap,
            domain=domain,
        )
        return Tuned(player, theorem)


def _shape(constants: Constants, domain: Region) -> tuple[int, float, float]:
    """Return the dimension, the diameter and the inner radius of a feasible set."""
    dimension = getattr(domain, "dimension", None)
    if dimension is None:
        raise InvalidValueError(f"domain must know its dimension, got {domain!r}")
    inner = constants.inner_radius
    if inner is None:
        inner = gauge_of(domain).inner_radius
    return int(dimension), bounded_diameter(domain), float(inner) * (1 - math.ulp(1.0))
