"""Projection-free descent in blocks, and its regret of O(T^(3/4)) (Garber and Kretzu 2022)."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, final

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import KnownHorizon, Tuned
from surefoot.algorithms.inside import Inside
from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, tuning
from surefoot.core.arrays import map_runs, number_like
from surefoot.core.constants import Constants
from surefoot.core.parameters import minimising, positive, size
from surefoot.core.points import bounded_diameter, snap_inside
from surefoot.core.types import Array, Number, Real, Region, Source

__all__ = ["BlockedTheorem", "GarberKretzu"]


class GarberKretzuState(NamedTuple):
    """The action, and what the next round needs.

    Attributes:
        x: the action to play, a point of the feasible set.
        y: the descent's point, which may be outside.
        gradients: the sum of the gradients of the block.
        count: how many rounds of the block have been played.
    """

    x: Array
    y: Array
    gradients: Array
    count: Number


class GarberKretzu(CostsOnly[GarberKretzuState]):
    r"""Gradient descent in blocks of b rounds, with close infeasible projections.

    During a block one action is played and gradients are added up: :math:`S = \sum\nabla_t`. At
    its end :math:`(x, \tilde y) \leftarrow \mathrm{cip}(x, \tilde y - \eta S, c)`, where
    :func:`close_projection` gives a point x of K and a point :math:`\tilde y` within c of it that
    is no farther from any point of K than the one it came from. NumPy only.

    Args:
        eta: the step size.
        block: b, the number of rounds per block.
        closeness: c, the largest distance between the two points.
        domain: the feasible set K, which must minimise linear functions.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = GarberKretzu(eta=1.0, block=2, closeness=0.5, domain=square)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> push = Feedback(np.array([-1.5, 0.0]), None, None)
        >>> player.update(state, push).x  # the block goes on
        array([0., 0.])
        >>> player.update(player.update(state, push), push).x
        array([1., 0.])

    Reference: Garber and Kretzu, "New projection-free algorithms for online convex optimization
    with adaptive regret guarantees", COLT 2022. The rate and the number of calls are theirs; this
    form, which ends with one cut, and its constants are derived here.
    """

    state = GarberKretzuState
    needs = COSTS_ONLY._replace(linear_minimisations=2, numpy_only=True)
    source = Source("Garber and Kretzu, COLT 2022", "derived here")

    eta: Real = positive()
    block: Real = positive()
    closeness: Real = positive()
    domain: Region = minimising()

    def first_state(self, x1: Array) -> GarberKretzuState:
        return GarberKretzuState(x1, x1, 0.0 * x1, number_like(x1, 0.0))

    def next_state(self, state: GarberKretzuState, grad: Array) -> GarberKretzuState:
        x, y, gradients, count = state
        gradients = gradients + grad
        ends = (count + 1.0 >= self.block) * 1.0
        x, y = map_runs(self._end_block, (x, y, gradients), ends, self.eta, self.closeness)
        return GarberKretzuState(x, y, (1.0 - ends) * gradients, (1.0 - ends) * (count + 1.0))

    def _end_block(
        self, x: Array, y: Array, gradients: Array, ends: float, eta: float, closeness: float
    ) -> tuple[Array, Array]:
        if not ends:
            return x, y
        return close_projection(self.domain, x, y - eta * gradients, closeness)

    @classmethod
    @tuning
    def known_horizon(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        """Tune for regret O(T^(3/4)), no violation, at most about 1.4 minimisations per round."""
        return Tuned.of(cls, BlockedTheorem(constants, horizon, bounded_diameter(domain)), domain)


def close_projection(domain: Region, x: Array, y: Array, closeness: float) -> tuple[Array, Array]:
    r"""Return a point of K and one within ``closeness`` of it that y may be replaced by.

    Frank-Wolfe steps with exact line search on :math:`\tfrac12\|\cdot - y\|^2`, from x. With
    :math:`e = y - x` and the gap :math:`\langle e, v - x\rangle` of the linear minimisation v, K
    lies in the half-space :math:`\langle e, z - x\rangle \le` gap. Once the gap is at most
    :math:`c\|e\|` the projection of y onto that half-space,
    :math:`x + (\text{gap}/\|e\|^2)e`, is within c of x, and no farther than y from any z of K.

    Args:
        domain: K.
        x: a point of K to start from.
        y: the point to project.
        closeness: c > 0.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> close_projection(square, np.array([1.0, 0.2]), np.array([1.6, 0.4]), 0.5)
        (array([1. , 0.2]), array([1.24, 0.28]))
    """
    while True:
        e = y - x
        size = math.sqrt(float(e @ e))
        if size <= closeness:
            return x, y
        v = domain.minimize_linear(-e)
        way = v - x
        gap = float(e @ way)
        if gap <= closeness * size:
            return x, x + (max(gap, 0.0) / (size * size)) * e
        x = snap_inside(domain, x + min(1.0, gap / float(way @ way)) * way)


class Blocks(KnownHorizon):
    """What theorems share about descent in blocks with close infeasible projections."""

    diameter: float = size()

    @property
    def block(self) -> int:
        r"""The block length :math:`\lceil\sqrt T\rceil`."""
        return math.isqrt(self.horizon - 1) + 1

    @property
    def closeness(self) -> float:
        r"""The error of a projection, :math:`D\sqrt{b/T}`."""
        return self.diameter * math.sqrt(self.block / self.horizon)

    def _minimisations(self, first: float) -> int:
        """Return the most linear minimisations in all, by the first distance of a block."""
        c = self.closeness
        per_block = 1 + math.ceil(2 * (self.diameter / c) ** 2 * math.log(first / c))
        return (self.horizon // self.block) * per_block


@final
class BlockedTheorem(Blocks, Inside):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: regret :math:`O(T^{3/4})`, no violation.

    With D the diameter of K, :math:`\eta = D/(G_f\sqrt{bT})` and :math:`c = D\sqrt{b/T}`,

    .. math::
        \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2bG_f^2t + cG_ft, \qquad
        \text{calls} \le \frac Tb\Big(1 + \Big\lceil2\frac{D^2}{c^2}
            \ln\frac{c + \eta bG_f}{c}\Big\rceil\Big)

    so :math:`\mathrm{Reg}_T \le 2DG_f\sqrt{bT}`, an incomplete last block included.

    Proof. Gradient descent on the points :math:`\tilde y`, which the projection brings no farther
    from any u of K, with one step per block: a block's sum S has
    :math:`\|S\|^2 \le bG_f^2` times its length, and :math:`\langle S, x - \tilde y\rangle` is at
    most :math:`cG_f` times it. The inequality of a step holds for a block that is not over, too,
    though its step is not taken. A Frank-Wolfe step with the gap above
    :math:`c\|e\|` multiplies :math:`\|e\|^2` by at most :math:`1 - c^2/D^2`, and the first
    :math:`\|e\|` of a block is at most :math:`c + \eta bG_f`.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D.

    Example:
        >>> theorem = BlockedTheorem(Constants(R=2.0, G_f=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.closeness, 6)
        (4, 0.353553, 1.414214)
        >>> round(float(theorem.regret_bound(16)), 6), theorem.linear_minimisations
        (45.254834, 28)
    """

    name: ClassVar[str] = "Garber and Kretzu 2022, linear minimisation"
    regret_exponent: ClassVar[float] = 0.75

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{bT})`."""
        return self.diameter / (self._G_f * math.sqrt(self.block * self.horizon))

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return self._minimisations(self.closeness + self.eta * self.block * self._G_f)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2)bG_f^2t + cG_ft`."""
        G_f, D = self._G_f, self.diameter
        rate = self.eta / 2 * self.block * G_f**2 + self.closeness * G_f
        return D**2 / (2 * self.eta) + rate * as_floats(t)

    def interval_bound(self, length: Number) -> Array:
        r"""Bound the regret over any interval.

        :math:`(D+c)^2/(2\eta) + (\eta/2)bG_f^2|I| + cG_f|I| + 2bG_fD`.
        """
        G_f, D, c = self._G_f, self.diameter, self.closeness
        rate = self.eta / 2 * self.block * G_f**2 + c * G_f
        return (D + c) ** 2 / (2 * self.eta) + rate * as_floats(length) + 2 * self.block * G_f * D

    def dynamic_bound(self, t: Number, path: Number) -> Array:
        r"""Bound the regret against comparators whose path has a given length P.

        :math:`((D+c)^2 + 2(D+c)P)/(2\eta) + (\eta/2)bG_f^2t + cG_ft + bG_fP`.
        """
        G_f, D, c = self._G_f, self.diameter, self.closeness
        rate = self.eta / 2 * self.block * G_f**2 + c * G_f
        start = ((D + c) ** 2 + 2 * (D + c) * path) / (2 * self.eta)
        return start + rate * as_floats(t) + self.block * G_f * path
