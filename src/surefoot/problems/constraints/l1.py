"""The l1 norm as a constraint: the sum of absolute deviations is at most a radius."""

from __future__ import annotations

import math

import numpy as np

from surefoot import sets
from surefoot.core.arrays import namespace
from surefoot.core.types import Array, Number
from surefoot.problems.constraints._polyhedral import PolyhedralNorm
from surefoot.problems.constraints._rounding import gamma
from surefoot.problems.constraints.base import level_below
from surefoot.sets import Ball

__all__ = ["L1Norm"]


class L1Norm(PolyhedralNorm, kw_only=False):
    r"""The cross-polytope as a constraint, :math:`g(x) = \sum_i |x_i - c_i| - r`.

    The subgradient has the sign of each entry, 0 for an entry at its kink.

    Args:
        radius: :math:`r > 0`.
        dimension: d; :math:`G_g` depends on it.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> L1Norm(1.0, dimension=3).query(np.array([0.5, 0.0, -1.25]))
        (0.75, array([ 1.,  0., -1.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the 1-norm of x - c minus the radius, and the signs of x - c."""
        z = self._offset(x)
        if type(z) is np.ndarray and z.ndim == 1:
            return float(np.abs(z).sum()) - self.radius, np.sign(z)
        xp = namespace(z)
        return xp.sum(abs(z), axis=-1, keepdims=z.ndim > 1) - self.radius, xp.sign(z)

    @property
    def region(self) -> sets.L1Ball:
        """The ball itself."""
        return sets.L1Ball(self.radius, self.centre)

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\sqrt d`, attained off the axes: subgradient entries are in [-1, 1]."""
        return math.sqrt(self.dimension)

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return :math:`\gamma_{d+3}(\sqrt d L + r)`, L the largest distance to the centre.

        The entries of x - c err by u of themselves, their sum by :math:`\gamma_d` of itself, the
        difference with r once; a sign is exact.
        """
        farthest = math.sqrt(self.dimension) * domain.reach(self.interior)
        return gamma(self.dimension + 3) * (farthest + float(self.radius))

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return 1, attained on the axes.

        Where g = -epsilon with epsilon < r, the l1 distance to the centre is r - epsilon > 0, so
        some entry is off its kink, and that entry of every subgradient is 1 or -1. On an axis
        the other entries are at their kinks and may be 0.
        """
        return 1.0, level_below(float(self.radius), epsilon)
