"""Constraints made of others: the largest of several, one shifted, one queried where played."""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_concrete, namespace, to_numpy, where
from surefoot.core.checks import describe
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.parameters import Declared, instance_of, number
from surefoot.core.points import common_dimension, dimension_of, to_dense
from surefoot.core.types import Array, Number, Set
from surefoot.problems.constraints.affine import Affine
from surefoot.problems.constraints.base import Constraint
from surefoot.problems.constraints.norms import L1Norm, L2Norm, LinfNorm, NuclearNorm, SpectralNorm
from surefoot.problems.constraints.quadratic import EllipsoidNorm, QuadraticForm
from surefoot.sets import Ball, Intersection

__all__ = ["MaxOf", "PeekingError", "PlayedOnly", "Shifted", "max_of", "shift"]


class Combined(Constraint):
    """A constraint made of others, its parts, whose rows it has in order."""

    parts: tuple[Constraint, ...]

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the constraints of all parts, in order, with the rows of each part separate."""
        values, subgradients = zip(*(part.query_all(x) for part in self.parts), strict=True)
        xp = namespace(values[0])
        slopes = [to_dense(s) for s in subgradients]
        return xp.concat(values, axis=-1), xp.concat(slopes, axis=-2)

    @property
    def dimension(self) -> int | None:
        """The length of an action, if a part fixes it."""
        return next((d for part in self.parts if (d := dimension_of(part)) is not None), None)

    @property
    def interior(self) -> Array | None:
        """The strictly feasible point of a part with the most overall slack, if there is one."""
        points = [p for part in self.parts if (p := part.interior) is not None]
        largest = [max(float(part.value(p)) for part in self.parts) for p in points]
        return points[int(np.argmin(largest))] if min(largest, default=0.0) < 0 else None

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(part.rows for part in self.parts)

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """Return the largest bound of a part, if all are known."""
        return _largest(part.value_bound(domain, point) for part in self.parts)

    @property
    def region(self) -> Set | None:
        """The intersection of the parts' regions, if all have one and share an interior point."""
        regions = tuple(r for part in self.parts if (r := part.region) is not None)
        if len(self.parts) == 1 or len(regions) < len(self.parts):
            return regions[0] if len(self.parts) == 1 and regions else None
        inner = self.interior
        if inner is None or not all(one.contains(inner) for one in regions):  # by rounding
            return None
        return Intersection(regions, inner)

    def subgradient_bound(self, domain: Ball) -> float | None:
        """Return the largest bound of a part, if all are known."""
        return _largest(part.subgradient_bound(domain) for part in self.parts)

    def evaluation_error(self, domain: Ball) -> float | None:
        """Return the largest error of a part, if all are known."""
        return _largest(
            part.evaluation_error(domain.with_dimension(self.dimension)) for part in self.parts
        )

    def curvature(self, domain: Ball | None = None) -> float | None:
        """Return the curvature of the only part; None for several, whose maximum has kinks."""
        return self.parts[0].curvature(domain) if len(self.parts) == 1 else None

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return the row curvatures of all parts, in order."""
        return np.concatenate([part.row_curvatures(domain) for part in self.parts])


class MaxOf(Combined, Declared, kw_only=False):
    """The largest of several constraints; made by ``max_of``.

    Sigma is the local one: where parts meet, a convex combination of gradients may be short.
    """

    parts: tuple[Constraint, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValueError("max_of must be given at least one constraint, got none")
        parts: tuple[object, ...] = self.parts
        strangers = [part for part in parts if not isinstance(part, Constraint)]
        if strangers:
            how = ": FunctionConstraint(g, subgradient) takes it" * callable(strangers[0])
            raise InvalidValueError(
                f"max_of must be given constraints, got {describe(strangers[0])}{how}"
            )
        common_dimension(self.parts, "max_of must be given constraints of one dimension")

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return value and subgradient of the largest part; of equal parts, the first."""
        value, subgradient = self.parts[0].query(x)
        for part in self.parts[1:]:
            g, s = part.query(x)
            # A NaN is larger than anything: an unknown part must not be ignored.
            larger = (g > value) | (g != g)
            value, subgradient = where(larger, g, value), where(larger, s, subgradient)
        return value, subgradient


def _largest(bounds: Iterable[float | None]) -> float | None:
    """Return the largest of the parts' bounds, if all are known."""
    values = list(bounds)
    return None if None in values else max(b for b in values if b is not None)


def max_of(*constraints: Constraint) -> MaxOf:
    """Return several constraints as one, their maximum.

    Example:
        >>> import numpy as np
        >>> from surefoot.problems.constraints import Affine, L2Norm
        >>> g = max_of(L2Norm(1.0), Affine([[1.0, 0.0]], [0.5]))
        >>> g.query(np.array([0.75, 0.0]))
        (0.25, array([1., 0.]))
    """
    return MaxOf(constraints)


class Changed(Combined, Declared, kw_only=False):
    """A constraint made of one other."""

    constraint: Constraint = instance_of(Constraint)

    @property
    def parts(self) -> tuple[Constraint, ...]:  # type: ignore[override]
        """The constraint that is changed."""
        return (self.constraint,)


class Shifted(Changed, kw_only=False):
    r"""The constraint :math:`g(x) + \rho \le 0`; build it with ``shift``."""

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
        """Return the bound of the constraint plus the size of the shift."""
        bound = self.constraint.value_bound(domain, point)
        return None if bound is None else bound + abs(float(self.rho))

    @property
    def region(self) -> Set | None:
        """The region with rho absorbed, for linear rows, balls and quadratics; else None."""
        moved = _absorb(self.constraint, self.rho)
        return None if moved is None else moved.region

    @property
    def interior(self) -> Array | None:
        """The interior point of the constraint, if it has more slack than rho."""
        point = self.constraint.interior
        return point if point is not None and self.value(point) < 0 else None

    def evaluation_error(self, domain: Ball) -> float | None:
        """Return twice the error of the constraint, to cover rounding g, plus a rounding of rho."""
        error = self.constraint.evaluation_error(domain)
        return None if error is None else 2 * error + 2.0**-52 * abs(float(self.rho))

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        r"""Return the sigma of the constraint at the shifted level.

        :math:`g + \rho = -\epsilon` is :math:`g = -(\epsilon + \rho)`. If that is not a level of
        Assumption 4 because :math:`\epsilon + \rho \le 0`, the sigma of any admissible level
        holds: subgradients do not get shorter where g is larger. Indeed, let g(x) >= -e and z be
        the nearest point with g = -e: x - z is a multiple of a subgradient at z, of norm at
        least sigma, so that :math:`\|s_x\|\|x - z\| \ge g(x) - g(z) \ge \sigma\|x - z\|`.
        """
        exact = self.constraint.exact_sigma(None)
        if exact is None:
            return None
        (sigma, level), rho, target = exact, float(self.rho), epsilon
        if target is None:
            # Half of the remaining depth, if the level was half of the depth; if the depth is
            # infinite, as far below the new zero as it was below the old.
            target = level - (0.5 * rho if 0 < rho < 2 * level else min(rho, 0.0))
        checks.positive(epsilon=target)
        if target + rho <= 0:
            return sigma, target
        try:
            return self.constraint.exact_sigma(target + rho)[0], target  # type: ignore[index]
        except ValueError as error:
            if epsilon is None:
                return None  # rho is beyond the depth: no level remains
            raise InvalidValueError(
                f"epsilon must be > 0 and below the depth of the shifted constraint, "
                f"got {epsilon!r} with rho = {rho:g}"
            ) from error


def _absorb(constraint: Constraint, rho: Number) -> Constraint | None:
    """Return the same kind of constraint with rho absorbed into its numbers; None if impossible.

    Slightly tighter, for the rounding of g + rho: its feasible points are so for the shifted one.
    """

    def less(limit: Number) -> Number:
        return limit - rho - 2.0**-50 * (abs(limit) + abs(rho))

    if isinstance(constraint, Affine):
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
    allows violations up to it.

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


class PeekingError(SurefootError, RuntimeError):
    """An algorithm queried the constraint elsewhere than at the action played."""


def _line(x: Array) -> str:
    """Return an action as one line of text."""
    return " ".join(str(x).split())


@final
class PlayedOnly(Changed, kw_only=False):
    """A constraint that rejects queries anywhere but at the action just played.

    Put it into a problem, and give it to an algorithm that holds an oracle: a game of the loop or
    the batch allows the action played, and every other query raises. The region and the constants
    are those of the constraint: the feedback model does not bind the comparator.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> g = PlayedOnly(LinfNorm(0.5, 2))
        >>> g.allow(np.array([0.25, 0.0]))
        >>> g.value(np.array([0.25, 0.0]))
        -0.25
        >>> g.value(np.array([0.5, 0.0]))
        Traceback (most recent call last):
        surefoot.problems.constraints.combine.PeekingError: the constraint answers at the action
        played, [0.25 0.  ], and was asked at [0.5 0. ]
    """

    _played: ClassVar[Array | None] = None  # until an action is

    def allow(self, x: Array) -> None:
        """Answer at x from now on."""
        if not is_concrete(x):
            raise InvalidValueError(
                "a constraint that answers only at the action played must be played by the loop "
                "or the batch, got a compiled game, which shows no actions"
            )
        object.__setattr__(self, "_played", np.array(to_numpy(x)))

    def _reject_elsewhere(self, x: Array) -> None:
        # A lost run plays NaN, and is queried there.
        if self._played is None or not np.array_equal(to_numpy(x), self._played, equal_nan=True):
            raise PeekingError(
                f"the constraint answers at the action played, {_line(self._played)}, "
                f"and was asked at {_line(to_numpy(x))}"
            )

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the constraint's answer, if x is the action played."""
        self._reject_elsewhere(x)
        return self.constraint.query(x)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the constraint's answer, if x is the action played."""
        self._reject_elsewhere(x)
        return self.constraint.query_all(x)

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        """Return the sigma of the constraint."""
        return self.constraint.exact_sigma(epsilon)
