r"""Sets :math:`\{h \le 0\}` of a smooth convex h, given by its value and gradient."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol, runtime_checkable

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import convert_like, dot, namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.types import Array, Number
from surefoot.sets.ball import Ball
from surefoot.sets.ellipsoid import Ellipsoid

__all__ = ["QuadraticSet", "SmoothBall", "SmoothSet", "smooth_of"]


@runtime_checkable
class SmoothSet(Protocol):
    r"""An oracle for a convex :math:`\beta`-smooth h and its set :math:`\{h \le 0\}`."""

    @property
    def curvature(self) -> float:
        r""":math:`\beta`: gradients of h change by at most this much per unit of length."""
        ...

    @property
    def depth(self) -> float:
        """The depth -h at the interior point."""
        ...

    @property
    def reach(self) -> float:
        """The largest distance from the interior point to a point of the set."""
        ...

    @property
    def diameter(self) -> float:
        """The largest distance between two points of the set."""
        ...

    def interior_like(self, x: Array) -> Array:
        """Return the interior point as an array of x's backend."""
        ...

    def contains(self, x: Array) -> Array:
        """Return whether h is at most 0."""
        ...

    def __call__(self, x: Array) -> tuple[Number, Array]:
        """Return h and its gradient at x."""
        ...


class SmoothBall(Declared, kw_only=False):
    r"""The ball as :math:`h(x) = \|x - c\|^2 - R^2`.

    Example:
        >>> SmoothBall(Ball(1.0))(np.array([2.0, 0.0]))
        (3.0, array([4., 0.]))
    """

    ball: Ball

    @property
    def curvature(self) -> float:
        """The curvature of the squared distance, which is 2."""
        return 2.0

    @property
    def depth(self) -> Number:
        """The squared radius, at the centre."""
        return self.ball.radius * self.ball.radius

    @property
    def reach(self) -> Number:
        """The radius."""
        return self.ball.radius

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return self.ball.diameter

    def interior_like(self, x: Array) -> Array:
        """Return the centre."""
        centre = self.ball.centre
        return 0.0 * x if centre is None else convert_like(centre, x)

    def contains(self, x: Array) -> Array:
        """Return whether the point is in the ball."""
        return self.ball.contains(x)

    def __call__(self, x: Array) -> tuple[Number, Array]:
        """Return h and its gradient at x."""
        z = x - self.interior_like(x)
        return dot(z, z) - self.ball.radius * self.ball.radius, 2.0 * z


class QuadraticSet(Declared, kw_only=False):
    r"""The ellipsoid as :math:`h(x) = (x - c)^\top P(x - c) - 1`.

    Args:
        shape: P, symmetric and positive definite.
        centre: c.

    Attributes:
        curvature: twice the largest eigenvalue of P.
        reach: the longest half-axis.

    Example:
        >>> QuadraticSet(np.eye(2), np.zeros(2))(np.array([2.0, 0.0]))
        (3.0, array([4., 0.]))
    """

    shape: Array
    centre: Array
    curvature: float = field(init=False, repr=False)
    reach: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        P = self.shape
        if isinstance(P, (list, tuple, np.ndarray)):
            P = checks.to_matrix(P, "shape")
            object.__setattr__(self, "shape", P)
            centre = checks.to_vector(self.centre, "centre", length=len(P))
            object.__setattr__(self, "centre", centre)
        xp = namespace(P)
        eigenvalues = xp.linalg.eigvalsh(P)
        # Rounded up by more than an eigenvalue errs by.
        numbers = {
            "curvature": 2 * eigenvalues[-1] * (1 + 1e-12),
            "reach": (1 + 1e-12) / xp.sqrt(eigenvalues[0]),
        }
        for name, value in numbers.items():
            object.__setattr__(self, name, float(value) if xp is np else value)

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return int(self.centre.shape[-1])

    @property
    def depth(self) -> float:
        """The depth at the centre, which is 1."""
        return 1.0

    @property
    def diameter(self) -> float:
        """Twice the longest half-axis."""
        return 2 * self.reach

    def interior_like(self, x: Array) -> Array:
        """Return the centre."""
        return convert_like(self.centre, x)

    def contains(self, x: Array) -> Array:
        """Return whether h is at most 0."""
        return self(x)[0] <= 0

    def __call__(self, x: Array) -> tuple[Number, Array]:
        """Return h and its gradient at x."""
        z = x - convert_like(self.centre, x)
        product = z @ convert_like(self.shape, x)
        return dot(product, z) - 1.0, 2.0 * product


def smooth_of(region: object) -> SmoothSet:
    """Return a smooth function whose set a ball or an ellipsoid is.

    Example:
        >>> smooth_of(Ball(0.5)).depth
        0.25
    """
    if isinstance(region, Ball):
        return SmoothBall(region)
    if isinstance(region, Ellipsoid):
        centre = np.zeros(region.dimension) if region.centre is None else region.centre
        return QuadraticSet(region.P, centre)
    if isinstance(region, SmoothSet):
        return region
    raise InvalidValueError(
        f"the feasible set must be a Ball, an Ellipsoid or a smooth set of your own, got {region!r}"
    )
