"""Norm balls as constraints: the distance to a centre is at most a radius."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core.arrays import (
    convert_like,
    dot,
    find_largest,
    is_one_run,
    namespace,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, count, size, vector
from surefoot.core.points import only_entry, sum_entries
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, gamma, level_below, point
from surefoot.sets import Ball, Box, L1Ball
from surefoot.sets.ball import Centred

__all__ = ["L1Norm", "L2Norm", "LinfNorm"]


class L2Norm(Centred, Constraint, kw_only=False):
    r"""The Euclidean ball as a constraint, :math:`g(x) = \|x - c\| - r`.

    At the centre, the one kink, the subgradient is 0.

    Args:
        radius: :math:`r > 0`.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> L2Norm(1.0).query(np.array([3.0, -4.0]))
        (4.0, array([ 0.6, -0.8]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the distance to the sphere, negative inside, and the unit vector outwards."""
        x = point(x, self.dimension)
        z = x if self.centre is None else x - convert_like(self.centre, x)
        squared = dot(z, z)
        length = sqrt(squared)
        return length - self.radius, z / where(length > 0, length, 1.0)

    @property
    def region(self) -> Ball:
        """The ball itself."""
        return Ball(self.radius, self.centre)

    @property
    def interior(self) -> Array | None:
        """The centre; None for the default centre 0, whose length is unknown."""
        return self.centre

    def subgradient_bound(self, domain: Ball) -> float:
        """Return 1, up to the rounding of a unit vector."""
        return 1.0 + 2.0**-50

    def evaluation_error(self, domain: Ball) -> float | None:
        r"""Return :math:`\gamma_{d+10}(L + r + 2R)`, L the largest distance to the centre.

        The entries of x - c err by u of themselves, the length by :math:`\gamma_{d+3}` of itself
        (a sum of squares loses nothing), the difference with r once; the unit vector by
        :math:`\gamma_{d+6}`, over a distance of 2R. None where neither knows d.
        """
        dimension = self.dimension or domain.dimension
        if dimension is None:
            return None
        terms = self._farthest(domain) + float(self.radius) + domain.diameter
        return gamma(dimension + 10) * terms

    def curvature(self, domain: Ball | None = None) -> float | None:
        r"""Return :math:`1/\delta` on a ball :math:`\delta > 0` away from the centre; else None.

        The Hessian is :math:`(I - uu^\top)/\|x - c\|`. The square of the norm, a
        :class:`~surefoot.problems.constraints.QuadraticForm`, has the same feasible set and no
        kink.
        """
        if domain is None:
            return None
        nearest = self._farthest(domain) - domain.diameter
        nearest -= gamma(8) * self._farthest(domain)
        return 1.0 / nearest * (1 + 2.0**-50) if nearest > 0 else None

    def _farthest(self, domain: Ball) -> float:
        """Return the largest distance from the centre to a point of the domain, rounded up."""
        length = (
            float(domain.reach_from_origin) if self.centre is None else domain.reach(self.centre)
        )
        return length * (1 + 2.0**-50)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        """Return 1: the norm has a unit gradient wherever x is not the centre.

        Where g = -epsilon with epsilon < r, the distance to the centre is r - epsilon > 0.
        """
        return 1.0 - 2.0**-50, level_below(float(self.radius), epsilon)


class PolyhedralNorm(Constraint, Declared, kw_only=False):
    """A norm of the distance to a centre, whose constants depend on the dimension."""

    radius: Number = size()
    dimension: int = count()
    centre: Array | None = vector(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.centre is not None and tuple(self.centre.shape) != (self.dimension,):
            raise InvalidValueError(
                f"centre.shape must be ({self.dimension},), got {tuple(self.centre.shape)}"
            )

    def _offset(self, x: Array) -> Array:
        x = point(x, self.dimension)
        return x if self.centre is None else x - convert_like(self.centre, x)

    @property
    def interior(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else to_numpy(self.centre)


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
        return sum_entries(abs(z)) - self.radius, namespace(z).sign(z)

    @property
    def region(self) -> L1Ball:
        """The ball itself."""
        return L1Ball(self.radius, self.centre)

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


class LinfNorm(PolyhedralNorm, kw_only=False):
    r"""The cube as a constraint, :math:`g(x) = \max_i |x_i - c_i| - r`.

    The subgradient is a signed unit vector; of entries that tie, the first counts, and an entry
    of exactly 0 counts as positive.

    Args:
        radius: :math:`r > 0`, half the side.
        dimension: d; sigma depends on it.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> LinfNorm(0.5, dimension=2).query(np.array([0.25, -1.0]))
        (0.5, array([ 0., -1.]))
    """

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest size of an entry of x - c minus the radius, and its sign there."""
        z = self._offset(x)
        value, index = find_largest(abs(z))
        ones = namespace(z).ones_like(z)
        sign = where(z < 0, -ones, ones)
        return value - self.radius, only_entry(index, sign, z)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the 2d faces, the positive directions first."""
        z = self._offset(x)
        xp = namespace(z)
        faces = convert_like(np.vstack([np.eye(self.dimension), -np.eye(self.dimension)]), x)
        values = xp.concat([z, -z], axis=-1) - self.radius
        return values, faces if is_one_run(x) else faces + 0.0 * x[:, None, :]

    @property
    def rows(self) -> int:
        """The number of faces."""
        return 2 * self.dimension

    @property
    def region(self) -> Box:
        """The cube itself; a limit that rounding puts at g > 0 moves to the number before it."""
        lower, upper = self.interior - self.radius, self.interior + self.radius
        while (over := upper - self.interior > self.radius).any():
            upper = np.where(over, np.nextafter(upper, -np.inf), upper)
        while (over := self.interior - lower > self.radius).any():
            lower = np.where(over, np.nextafter(lower, np.inf), lower)
        return Box(lower, upper)

    def subgradient_bound(self, domain: Ball) -> float:
        """Return 1: subgradients are convex combinations of signed unit vectors."""
        return 1.0

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return :math:`\gamma_4(L + r)`: two differences; L is the largest distance to c."""
        return gamma(4) * (domain.reach(self.interior) + float(self.radius))

    def row_slopes(self, domain: Ball) -> Array:
        """Return 1 for each face."""
        return np.ones(self.rows)

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return 0 for each face: all are linear."""
        return np.zeros(self.rows)

    def row_errors(self, domain: Ball) -> Array:
        """Return the error of the whole constraint for each face."""
        return np.full(self.rows, self.evaluation_error(domain))

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float]:
        r"""Return :math:`1/\sqrt d`, attained at the corners.

        Where g = -epsilon with epsilon < r, the active entries are at distance r - epsilon > 0
        from the centre, so each has one sign and the active gradients are k <= d orthonormal
        vectors; the shortest convex combination of them is their mean, of norm
        :math:`1/\sqrt k`.
        """
        return 1.0 / math.sqrt(self.dimension), level_below(float(self.radius), epsilon)
