r"""Shared by rules with bandit feedback: exploration, one-point gradient estimates, their price.

In the theorems, which are about expected regret, K holds the ball :math:`r\mathbb{B}`, has the
diameter D and :math:`\kappa = R/r`; costs are chosen in advance, have gradients of at most
:math:`G_f` and values of at most :math:`F_0`. A one-point estimate
:math:`\tfrac d\delta f(z + \delta u)u` has the mean :math:`\nabla f_\delta(z)` of a smoothed cost
with :math:`|f_\delta - f| \le \delta G_f`, and a norm of at most :math:`dF_0/\delta`. Actions
:math:`z + \delta u` with z in :math:`(1 - \delta/r)K` are in K. Smoothing and shrinking cost at
most :math:`(2 + \kappa)\delta G_f` per round. The first round explores nothing, and costs at most
:math:`G_fD`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

from surefoot.algorithms.inside import AroundBall, ForHorizon, inner_radius_of
from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, NOTHING, Algorithm, start_in
from surefoot.core.arrays import number_like
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import count, minimising, positive, size
from surefoot.core.points import bounded_diameter, dimension_of, snap_inside
from surefoot.core.types import Array, Feedback, Info, Number, Real, Region

__all__ = ["VALUES_ONLY", "BanditState", "BanditTheorem", "Exploring", "shape_of"]


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
    count: Number


class Exploring(Algorithm):
    """A rule on a shrunk set with one-point gradient estimates, which ``next_state`` sees."""

    needs = VALUES_ONLY

    radius: Real = positive()
    shrink: Real = positive()
    domain: Region = minimising()

    def init(self, x1: Array) -> BanditState:
        """Start at x1; the centre is x1 shrunk towards 0 like the set.

        The game draws the direction of a round with the feedback of the one before. The first round
        is played without one, and estimates nothing.
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
            raise InvalidValueError("cost_value must be told to a bandit, got None")
        share = state.x.shape[-1] / self.radius * feedback.cost_value
        return share * state.direction


def shape_of(constants: Constants, domain: Region) -> tuple[float, int, float]:
    """Return the inner radius, the dimension and the diameter of a feasible set."""
    dimension = dimension_of(domain)
    if dimension is None:
        raise InvalidValueError(f"domain must know its dimension, got {domain!r}")
    inner = inner_radius_of(constants, domain) * (1 - math.ulp(1.0))
    return inner, dimension, bounded_diameter(domain)


class BanditTheorem(AroundBall, ForHorizon):
    """Shared by both theorems: the exploration radius and its price."""

    expected: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("cost_bound",)
    _power: ClassVar[float]
    _share: ClassVar[float]

    dimension: int = count()
    diameter: float = size()

    @property
    def _noise(self) -> float:
        """The norm of an estimate times the exploration radius, :math:`dF_0`."""
        return self.dimension * self.constants.require("cost_bound", by=self.name)[0]

    @property
    def _price(self) -> float:
        r"""The price per round and unit of the exploration radius, :math:`(2 + \kappa)G_f`."""
        return (2 + self.constants.R / self.inner_radius) * self._G_f

    @property
    def _first_round(self) -> float:
        return self._G_f * self.diameter

    @property
    def radius(self) -> float:
        r"""The exploration radius :math:`\delta`, at most r/2."""
        best = math.sqrt(self._share * self.diameter * self._noise / self._price)
        return min(best * math.pow(self.horizon, -self._power), self.inner_radius / 2)

    @property
    def shrink(self) -> float:
        r"""The shrinking factor :math:`\delta/r`."""
        return self.radius / self.inner_radius
