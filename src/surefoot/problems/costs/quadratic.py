"""Quadratic costs around a moving target."""

from __future__ import annotations

from typing import final

import numpy as np

from surefoot.core.arrays import convert_like, dot
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.stream import ArrayCosts
from surefoot.sets import Ball

__all__ = ["Quadratic"]


@final
class Quadratic(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = \tfrac{h}{2}\|x - v_t\|^2`.

    Args:
        targets: :math:`v_t`, ``(T, d)``, or ``(T, B, d)`` for B runs with their own targets.
        curvature: :math:`h > 0`; also the modulus of strong convexity.

    Example:
        >>> costs = Quadratic([[1.0, 0.0], [0.0, 2.0]], curvature=6.0)
        >>> costs.value(1, np.array([0.0, 1.0])), costs.gradient(1, np.array([0.0, 1.0]))
        (3.0, array([ 0., -6.]))
    """

    series = ("targets",)

    targets: Array
    curvature: Number = positive()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.curvature, np.ndarray):
            # Slicing by runs would leave a column as it is.
            raise InvalidValueError(
                f"curvature must be one number, got shape {self.curvature.shape}"
            )

    def value(self, t: Index, x: Array) -> Number:
        r"""Return :math:`\tfrac{h}{2}\|x - v_t\|^2`."""
        away = x - convert_like(self.targets[t], x)
        return 0.5 * self.curvature * dot(away, away)

    def gradient(self, t: Index, x: Array) -> Array:
        r"""Return :math:`h(x - v_t)`."""
        return self.curvature * (x - convert_like(self.targets[t], x))

    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return value and gradient from one difference."""
        away = x - convert_like(self.targets[t], x)
        return 0.5 * self.curvature * dot(away, away), self.curvature * away

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, and its gradient."""
        away = x - self.targets
        value = 0.5 * self.curvature * np.vecdot(away, away).sum()
        return float(value), self.curvature * away.sum(axis=0)

    def value_bound(self, domain: Ball) -> float:
        r"""Return the largest value on a ball, :math:`\tfrac h2(\max_t\|v_t - c\| + R)^2`."""
        return 0.5 * self.gradient_bound(domain) ** 2 / float(self.curvature)

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the largest gradient norm on a ball, :math:`h(\max_t\|v_t - c\| + R)`."""
        centre = 0.0 if domain.centre is None else domain.centre
        farthest = np.linalg.norm(self.targets - centre, axis=-1).max()
        return float(self.curvature * (farthest + domain.radius))

    @property
    def strong_convexity(self) -> float:
        """The curvature h."""
        return float(self.curvature)
