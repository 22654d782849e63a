"""Costs of predicting a number: absolute and quantile loss."""

from __future__ import annotations

from typing import final

from surefoot.core.arrays import maximum, where
from surefoot.core.parameters import share
from surefoot.core.types import Number
from surefoot.problems.costs.scored import ScoredCosts
from surefoot.sets import Ball

__all__ = ["Absolute", "Quantile"]


@final
class Absolute(ScoredCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = |a_t^\top x - y_t|`; at the kink the subgradient is 0.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: :math:`y_t`, ``(T,)`` or ``(T, B)``.

    Example:
        >>> import numpy as np
        >>> costs = Absolute([[1.0, 2.0]], [4.0])
        >>> costs.value(0, np.array([1.0, 1.0])), costs.gradient(0, np.array([1.0, 1.0]))
        (1.0, array([-1., -2.]))
    """

    def loss(self, score: Number, target: Number) -> Number:
        """Return the distance between score and target."""
        return abs(score - target)

    def slope(self, score: Number, target: Number) -> Number:
        """Return the sign of the difference; 0 where it is 0."""
        return where(score > target, 1.0, where(score < target, -1.0, 0.0 * score))

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the longest features, :math:`\max_t \|a_t\|`."""
        return self.longest()


@final
class Quantile(ScoredCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = \max(\tau(y_t - a_t^\top x), (1-\tau)(a_t^\top x - y_t))`.

    Predicting too little costs :math:`\tau` a unit, too much :math:`1-\tau`: the best prediction
    is the :math:`\tau`-quantile. At the kink the subgradient is 0.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: :math:`y_t`, ``(T,)`` or ``(T, B)``.
        level: :math:`\tau`, strictly between 0 and 1.

    Example:
        >>> import numpy as np
        >>> costs = Quantile([[1.0]], [4.0], level=0.75)
        >>> costs.value(0, np.array([2.0])), costs.value(0, np.array([6.0]))
        (1.5, 0.5)
    """

    level: float = share()

    def loss(self, score: Number, target: Number) -> Number:
        """Return the larger of the two lines."""
        return maximum(self.level * (target - score), (1 - self.level) * (score - target))

    def slope(self, score: Number, target: Number) -> Number:
        """Return the slope of the larger line; 0 at the kink."""
        below = where(score < target, -self.level, 0.0 * score)
        return where(score > target, 1 - self.level, below)

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the slope of the steeper line times the longest features."""
        return max(self.level, 1 - self.level) * self.longest()
