"""The Euclidean ball."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    convert_like,
    dot,
    maximum,
    namespace,
    norm,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, size, vector
from surefoot.core.types import Array, Number, Real

__all__ = ["Ball"]


class Centred(Declared, kw_only=False):
    """The radius and the centre of a ball in some norm."""

    radius: Real = size()
    centre: Array | None = vector(default=None)

    @property
    def dimension(self) -> int | None:
        """The length of the centre; None for a ball around 0, which has no dimension of its own."""
        return None if self.centre is None else int(self.centre.shape[-1])


class Ball(Centred, kw_only=False):
    r"""The ball :math:`\{x : \|x - c\| \le R\}`; :math:`R\mathbb{B}` when the centre is 0.

    Args:
        radius: :math:`R > 0`.
        centre: :math:`c`; 0 unless given.

    Example:
        >>> Ball(1.0).project(np.array([3.0, -4.0])).round(12)
        array([ 0.6, -0.8])
        >>> Ball(1.0, centre=[2.0, 0.0]).minimize_linear(np.array([0.0, 5.0]))
        array([ 2., -1.])
    """

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2.0 * float(self.radius)

    @property
    def reach_from_origin(self) -> Number:
        """The largest norm of a point of the ball: what the rounding of its points scales with."""
        return self.radius if self.centre is None else self.radius + norm(self.centre)

    def reach(self, point: Array) -> float:
        """Return the largest distance from a point to a point of the ball."""
        offset = point if self.centre is None else point - self.centre
        return float(self.radius) + float(np.linalg.norm(to_numpy(offset)))

    def project(self, x: Array) -> Array:
        r"""Return the nearest point, :math:`c + (x - c)\min(1, R/\|x - c\|)`.

        A point outside lands a rounding error inside the sphere, so that the result is in the
        ball as computed, and projecting again changes nothing.
        """
        x = checks.to_floats(x, "the point to project")
        z = x if self.centre is None else x - convert_like(self.centre, x)
        squared = dot(z, z)
        if isinstance(squared, float):
            if squared <= self.radius * self.radius:
                return x
            if not squared < math.inf:
                checks.refuse_unfinite(to_numpy(x), "the point to project")
                raise InvalidValueError(
                    f"the point to project must have a finite square, got {x!r}"
                )
            p = (self._inner(x) / math.sqrt(squared)) * z
            return p if self.centre is None else self.centre + p
        outside = squared > self.radius * self.radius
        # The maximum is taken before the root: the derivative of the root at 0 is infinite.
        p = self._inner(x) / sqrt(maximum(squared, self.radius * self.radius)) * z
        # One run is refused above; a run of a batch must not be sent to the centre instead.
        p = where(squared < math.inf, p, math.nan)
        p = p if self.centre is None else convert_like(self.centre, x) + p
        # x itself where it is inside: centre + (x - centre) would be a rounding error off.
        return where(outside, p, x)

    def _inner(self, x: Array) -> Number:
        """Return the radius less a bound on the rounding of a computed norm.

        A sum of d squares, in any order, errs by at most d u of itself, u = 2^-53; the root
        halves that; scaling adds 3u and adding the centre u (|c| + R) per entry. Where the centre
        is so far away that this eats the radius, only the centre itself is certain to be inside.
        """
        d = x.shape[-1]
        inner = self.radius * (1.0 - (d + 8) * 2.0**-53)
        if self.centre is None:
            return inner
        return maximum(inner - 2 * d * 2.0**-53 * norm(self.centre), 0.0)

    def snap_inside(self, x: Array) -> Array:
        """Return the point itself, or the nearest point of the set if rounding put it outside."""
        return self.project(x)

    def contains(self, x: Array) -> Array:
        """Return whether the computed distance to the centre is at most the radius."""
        x = checks.to_floats(x, "the point")
        z = x if self.centre is None else x - convert_like(self.centre, x)
        return dot(z, z) <= self.radius * self.radius

    def minimize_linear(self, c: Array) -> Array:
        r"""Return the point :math:`-R c/\|c\|` from the centre; the centre itself when c is 0."""
        n = norm(c)
        if isinstance(n, float) and not n < math.inf:
            checks.refuse_unfinite(to_numpy(c), "c")
            raise InvalidValueError(f"c must have a finite square, got {c!r}")
        v = -self._inner(c) * c / where(n > 0, n, 1.0)
        if self.centre is None:
            return v
        centre = convert_like(self.centre, c)
        return (centre if c.ndim == 1 else namespace(c).broadcast_to(centre, c.shape)) + v
