"""Log-wealth (portfolio) costs."""

from __future__ import annotations

from typing import final

import numpy as np

from surefoot.core.arrays import convert_like, dot, log
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import nonnegative
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.stream import ArrayCosts
from surefoot.sets import Ball

__all__ = ["LogPortfolio"]


@final
class LogPortfolio(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = -\log(c + r_t^\top x)`: minus the growth of wealth in a round.

    Args:
        returns: :math:`r_t`, ``(T, d)`` or ``(T, B, d)``. With ``cash`` = 1 these are net returns
            and what is not invested is kept (:math:`\sum x \le 1`, which leaves an interior);
            with ``cash`` = 0 they are price relatives and x is on the simplex.
        cash: :math:`c \ge 0`, what a round leaves of uninvested wealth.

    Example:
        >>> costs = LogPortfolio([[0.5, -0.25]])
        >>> costs.gradient(0, np.array([0.5, 0.0]))
        array([-0.4,  0.2])
    """

    series = ("returns",)

    returns: Array
    cash: Number = nonnegative(default=1.0)

    def value(self, t: Index, x: Array) -> Number:
        """Return minus the logarithm of the round's growth."""
        growth = self.cash + dot(x, convert_like(self.returns[t], x))
        if type(growth) is float and not growth > 0:
            raise InvalidValueError(
                f"wealth must stay above 0 for its logarithm, got a growth of {growth:g} "
                f"in round {t + 1}"
            )
        return -log(growth)

    def gradient(self, t: Index, x: Array) -> Array:
        """Return minus the returns divided by the growth."""
        r = convert_like(self.returns[t], x)
        return -r / (self.cash + dot(x, r if r.ndim == x.ndim else r + 0.0 * x))

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, and its gradient."""
        growth = self.cash + self.returns @ x
        if not (growth > 0).all():
            return np.inf, np.zeros_like(x)
        return -float(np.log(growth).sum()), -(1 / growth) @ self.returns

    def gradient_bound(self, domain: Ball) -> float | None:
        r"""Return :math:`\max_t \|r_t\|/(c + \min_x r_t^\top x)` on the ball; None if infinite."""
        lengths = np.linalg.norm(self.returns, axis=-1)
        centre = 0.0 if domain.centre is None else self.returns @ domain.centre
        smallest = self.cash + centre - float(domain.radius) * lengths
        return float((lengths / smallest).max()) if (smallest > 0).all() else None

    @property
    def strong_convexity(self) -> float:
        """Zero: the loss flattens as wealth grows."""
        return 0.0
