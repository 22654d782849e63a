"""The maximum of several constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from surefoot.core.arrays import namespace, where
from surefoot.core.checks import describe
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.points import dimension_of, to_dense
from surefoot.core.types import Array, Number, Region
from surefoot.problems.constraints.base import Constraint
from surefoot.sets import Ball, Intersection

__all__ = ["MaxOf", "max_of"]


class MaxOf(Constraint, Declared, kw_only=False):
    """The largest of several constraints; made by :func:`max_of`.

    Sigma is the local one: where parts meet, a convex combination of gradients may be short.
    """

    parts: tuple[Constraint, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValueError("max_of must be given at least one constraint, got none")
        given: tuple[object, ...] = self.parts
        strangers = [part for part in given if not isinstance(part, Constraint)]
        if strangers:
            how = ": FunctionConstraint(g, subgradient) takes it" * callable(strangers[0])
            raise InvalidValueError(
                f"max_of must be given constraints, got {describe(strangers[0])}{how}"
            )
        lengths = {d for part in self.parts if (d := dimension_of(part)) is not None}
        if len(lengths) > 1:
            raise InvalidValueError(
                "max_of must be given constraints of one dimension, "
                f"got {' and '.join(map(str, sorted(lengths)))}"
            )

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return value and subgradient of the largest part; of equal parts, the first."""
        value, subgradient = self.parts[0].query(x)
        for part in self.parts[1:]:
            g, s = part.query(x)
            # A NaN is larger than anything: a part that is not known must not be passed over.
            larger = (g > value) | (g != g)
            value, subgradient = where(larger, g, value), where(larger, s, subgradient)
        return value, subgradient

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the constraints of all parts, in order, with the rows of each part separate."""
        values, subgradients = zip(*(part.query_all(x) for part in self.parts), strict=True)
        xp = namespace(x)
        slopes = [to_dense(s) for s in subgradients]
        return xp.concat(values, axis=-1), xp.concat(slopes, axis=-2)

    @property
    def dimension(self) -> int | None:
        """The length of an action, if a part knows it."""
        return next((d for part in self.parts if (d := dimension_of(part)) is not None), None)

    @property
    def interior(self) -> Array | None:
        """The strictly feasible point of a part with the most overall slack, if there is one."""
        points = [p for part in self.parts if (p := part.interior) is not None]
        best = min(points, key=self.value, default=None)
        return best if best is not None and self.value(best) < 0 else None

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(part.rows for part in self.parts)

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        """Return the largest bound of a part, if all are known."""
        return _largest(part.value_bound(domain, point) for part in self.parts)

    @property
    def region(self) -> Region | None:
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
        return _largest(part.evaluation_error(self._with_length(domain)) for part in self.parts)

    def curvature(self, domain: Ball | None = None) -> float | None:
        """Return the curvature of the only part; None for several, whose maximum has kinks."""
        return self.parts[0].curvature(domain) if len(self.parts) == 1 else None

    def row_slopes(self, domain: Ball) -> Array:
        """Return the row slopes of all parts, in order."""
        return np.concatenate([part.row_slopes(domain) for part in self.parts])

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return the row curvatures of all parts, in order."""
        return np.concatenate([part.row_curvatures(domain) for part in self.parts])

    def row_errors(self, domain: Ball) -> Array:
        """Return the row errors of all parts, in order."""
        return np.concatenate([part.row_errors(self._with_length(domain)) for part in self.parts])

    def _with_length(self, domain: Ball) -> Ball:
        """Return the domain with the length of an action, for parts that do not know it."""
        if domain.centre is not None or self.dimension is None:
            return domain
        return Ball(domain.radius, np.zeros(self.dimension))


def _largest(bounds: Iterable[float | None]) -> float | None:
    """Return the largest of the parts' bounds, if all are known."""
    known = list(bounds)
    return None if None in known else max(b for b in known if b is not None)


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
