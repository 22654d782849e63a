"""A constraint shifted by a constant: tightened or relaxed."""

from __future__ import annotations

from dataclasses import replace

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, instance_of, number
from surefoot.core.types import Array, Number, Region
from surefoot.problems.constraints.affine import Affine
from surefoot.problems.constraints.base import Constraint, Wrapper
from surefoot.problems.constraints.norms import L1Norm, L2Norm, LinfNorm
from surefoot.problems.constraints.quadratic import EllipsoidNorm, QuadraticForm
from surefoot.problems.constraints.sparse import SparseAffine
from surefoot.problems.constraints.spectral import NuclearNorm, SpectralNorm
from surefoot.sets import Ball

__all__ = ["Shifted", "shift"]


class Shifted(Wrapper, Declared, kw_only=False):
    r"""The constraint :math:`g(x) + \rho \le 0`; build it with :func:`shift`."""

    constraint: Constraint = instance_of(Constraint)
    rho: Number = number()

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the shifted value and the unchanged subgradient."""
        g, s = self.constraint.query(x)
        return g + self.rho, s

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return all values, shifted, and the unchanged subgradients."""
        g, s = self.constraint.query_all(x)
        return g + self.rho, s

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """Return the constraint's own bound plus the size of the shift."""
        bound = self.constraint.value_bound(domain, point)
        return None if bound is None else bound + abs(float(self.rho))

    @property
    def region(self) -> Region | None:
        """The region with rho absorbed, for linear rows, balls and quadratics; else None."""
        moved = _absorb(self.constraint, self.rho)
        return None if moved is None else moved.region

    @property
    def interior(self) -> Array | None:
        """The constraint's own point, where it has more slack than rho."""
        point = self.constraint.interior
        return point if point is not None and self.value(point) < 0 else None

    def evaluation_error(self, domain: Ball) -> float | None:
        """Return twice the constraint's own error, to cover rounding g, plus a rounding of rho."""
        own = self.constraint.evaluation_error(domain)
        return None if own is None else 2 * own + 2.0**-52 * abs(float(self.rho))

    def row_errors(self, domain: Ball) -> Array:
        """Return the evaluation error of each row, derived as for the whole."""
        return 2 * self.constraint.row_errors(domain) + 2.0**-52 * abs(float(self.rho))

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        r"""Return the constraint's own sigma at the shifted level.

        :math:`g + \rho = -\epsilon` is :math:`g = -(\epsilon + \rho)`. Where that is no level of
        Assumption 4 because :math:`\epsilon + \rho \le 0`, the sigma of any admissible level
        holds: subgradients do not get shorter where g is larger. Indeed, let g(x) >= -e and z be
        the nearest point with g = -e: x - z is a multiple of a subgradient at z, of norm at
        least sigma, so that :math:`\|s_x\|\|x - z\| \ge g(x) - g(z) \ge \sigma\|x - z\|`.
        """
        rho = float(self.rho)
        own = self.constraint.exact_sigma(None)
        if own is None:
            return None
        sigma, level = own
        if epsilon is not None:
            if epsilon + rho > 0:
                try:
                    return self.constraint.exact_sigma(epsilon + rho)[0], epsilon  # type: ignore[index]
                except ValueError as error:
                    raise InvalidValueError(
                        f"epsilon must be > 0 and below the depth of the shifted constraint, "
                        f"got {epsilon!r} with rho = {rho:g}"
                    ) from error
            checks.positive(epsilon=epsilon)
            return sigma, epsilon
        if rho <= 0:
            return sigma, level - rho
        # Half of the depth that is left, where the level was half of the depth; where the depth
        # is infinite, as far below the new zero as it was below the old.
        asked = level + 0.5 * rho if rho < 2 * level else level + rho
        try:
            return self.constraint.exact_sigma(asked)[0], asked - rho  # type: ignore[index]
        except ValueError:
            return None  # rho is beyond the depth: nothing is left


def _absorb(constraint: Constraint, rho: Number) -> Constraint | None:
    """Return the same kind of constraint with rho absorbed into its numbers; None if impossible.

    A hair tighter, for the rounding of g + rho: what is feasible for it is so for the shifted one.
    """

    def less(limit: Number) -> Number:
        return limit - rho - 2.0**-50 * (abs(limit) + abs(rho))

    if isinstance(constraint, (Affine, SparseAffine)):
        return replace(constraint, b=less(constraint.b))
    if isinstance(constraint, QuadraticForm):
        return replace(constraint, r=less(constraint.r))
    if isinstance(constraint, EllipsoidNorm) and less(1.0) > 0:
        return replace(constraint, P=constraint.P / less(1.0) ** 2)
    balls = (L1Norm, L2Norm, LinfNorm, NuclearNorm, SpectralNorm)
    if isinstance(constraint, balls) and less(constraint.radius) > 0:
        return replace(constraint, radius=less(constraint.radius))
    return None


def shift(constraint: Constraint, rho: Number) -> Shifted:
    r"""Return the constraint :math:`g(x) + \rho \le 0`.

    A positive rho keeps a margin, as the paper's tightened set :math:`X_\rho`; a negative one
    grants it.

    Args:
        constraint: g.
        rho: a finite number.

    Example:
        >>> import numpy as np
        >>> from surefoot.problems.constraints import LinfNorm
        >>> inside = shift(LinfNorm(0.5, dimension=2), 0.125)
        >>> inside.query(np.array([0.25, -0.5]))
        (0.125, array([ 0., -1.]))
        >>> inside.region.upper
        array([0.375, 0.375])
    """
    if isinstance(constraint, Shifted):
        return Shifted(constraint.constraint, constraint.rho + rho)
    return Shifted(constraint, rho)
