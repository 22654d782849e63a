r"""The way back under drift: towards the deepest action of the past, with a bound that ages.

If g is convex, with :math:`g(x) \le h` and :math:`g(a) \le -\alpha < 0` in the next round, then
:math:`g(x + \theta(a-x)) \le (1-\theta)h - \theta\alpha = 0` for
:math:`\theta = h/(h + \alpha)`: no slope and no constant is needed, and x may be outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.core.arrays import maximum, namespace, where
from surefoot.core.types import Array, Number

__all__ = ["DriftAnchor", "pulled"]


class DriftAnchor(NamedTuple):
    """The deepest action so far, all that drift may have done to it counted.

    Attributes:
        x: the action.
        g: the upper bound on g there with its margin, when it was played; one per row.
        rounds: the round it was played in.
    """

    x: Array
    g: Number
    rounds: Number

    def aged(self, rounds: Number, drift: Number) -> DriftAnchor:
        """Return the anchor as it is in a later round."""
        return DriftAnchor(self.x, self.g + drift * (rounds - self.rounds), rounds)

    def or_deeper(self, x: Array, g: Number, rounds: Number, drift: Number) -> DriftAnchor:
        """Return the anchor, or an action of this round that is deeper than drift has left it."""
        deeper = (rounds <= 1) | (largest_of(g, x) < largest_of(self.aged(rounds, drift).g, x))
        new = (x, g, rounds)
        return DriftAnchor(*(where(deeper, a, b) for a, b in zip(new, self, strict=True)))


def largest_of(g: Number, x: Array) -> Number:
    """Return the largest of several rows as a number of its run; a number as it is."""
    rows = getattr(g, "ndim", 0)
    if rows < x.ndim:
        return g
    if x.ndim == 1:
        most = namespace(g).max(g, axis=-1)
        return float(most) if type(most) is np.float64 else most
    return namespace(g).max(g, axis=-1, keepdims=True)


def pulled(x: Array, up: Number, anchor: DriftAnchor) -> tuple[Array, Number]:
    """Return the point towards the anchor where the bound is 0, and the share of the way.

    The share is above 1 where there is none: then the anchor itself is outside, as far as is known.

    Args:
        x: the action.
        up: the bound on the next g there, one per row, with a margin.
        anchor: as it is in the next round.
    """
    over = maximum(up, 0.0 * up)
    below = over - anchor.g
    share = where((over > 0) & (anchor.g >= 0), 2.0 + 0.0 * over, 0.0 * over)
    some = (over > 0) & (anchor.g < 0)
    share = largest_of(where(some, over / where(some, below, 1.0), share), x)
    return x + share * (anchor.x - x), share
