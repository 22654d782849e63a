r"""How far inside its limit a start is, in the worst context, by the rows of a log.

Let :math:`h_t` be the excess of row t over the limit as it was read (at most 0 where the limit is
kept), with an error of at most e, :math:`L_i` and :math:`R_k` the constants of the columns, and C
the box of all contexts.

**Lemma (start of a log).** *If the constants hold, the excess at the start x is in every context of
C at most* :math:`\max_{c\in C}\min_t\,(h_t + e + \sum_iL_i|x_i - x_{ti}| + \sum_kR_k|c_k -
c_{tk}|)`. *Proof.* For each c every row t gives a bound, so that the least one holds. ∎

The maximum is bounded from above by branch and bound: over a box of contexts row t alone gives at
most :math:`h_t + e + \sum_iL_i|x_i - x_{ti}| + \sum_kR_k\max_{c_k}|c_k - c_{tk}|`, and the box with
the largest least bound is divided until that is near enough to what a point of it has.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from surefoot.core.types import Array

__all__ = ["Evidence", "StartMargin", "choose_start", "find_margin"]

_SPLITS, _NEAR = 4_000, 0.005  # boxes that are divided, and how near, as a share of all excesses
_ROUND = 2.0**-40
_CANDIDATES, _CONTEXTS = 300, 100  # of which the first choice is made


class Evidence(NamedTuple):
    """What a log shows.

    Attributes:
        x: the actions, one row each.
        c: the contexts, one row each.
        excess: of each row over the limit, with the error of the meter added.
        steepness: a constant per entry of the action.
        rise: a constant per context.
    """

    x: Array
    c: Array
    excess: Array
    steepness: Array
    rise: Array

    def bounds_at(self, start: Array) -> Array:
        """Return what every row says of the excess at an action, in its own context."""
        return self.excess + np.abs(self.x - start) @ self.steepness


class StartMargin(NamedTuple):
    """How far inside a start is.

    Attributes:
        margin: the excess is at most minus this, in every context.
        context: where it is no further inside.
        row: that shows it there.
        cost: what the way from the context of this row costs, per context.
    """

    margin: float
    context: Array
    row: int
    cost: Array


def find_margin(log: Evidence, start: Array, low: Array, high: Array) -> StartMargin:
    """Return how far inside its limit a start is in every context of a box.

    Args:
        log: what a log shows.
        start: the action.
        low: the least of each context.
        high: the largest of each.

    Example:
        >>> rows = Evidence(np.array([[1.0], [0.0]]), np.array([[5.0], [9.0]]),
        ...                 np.array([-6.0, -1.0]), np.array([0.5]), np.array([0.25]))
        >>> round(find_margin(rows, np.array([1.0]), np.array([5.0]), np.array([9.0])).margin, 6)
        5.0
    """
    base, low_end, high_end = log.bounds_at(start), low, high
    near = _NEAR * float(np.ptp(log.excess))
    tie = 0  # boxes cannot be compared

    def look(low: Array, high: Array, rows: Array) -> tuple[float, int, Array, Array, Array]:
        """Return a box with minus its bound in front, and the rows that matter in it."""
        nonlocal tie
        tie += 1
        c = log.c[rows]
        bounds = base[rows] + np.maximum(np.abs(c - low), np.abs(high - c)) @ log.rise
        least = float(bounds.min())
        nearest = base[rows] + np.maximum(np.maximum(low - c, c - high), 0.0) @ log.rise
        return -least, tie, low, high, rows[nearest <= least]

    def point(context: Array, rows: Array) -> tuple[float, int]:
        """Return the bound in one context, and the row that gives it."""
        bounds = base[rows] + np.abs(log.c[rows] - context) @ log.rise
        return float(bounds.min()), int(rows[bounds.argmin()])

    boxes = [look(low, high, np.arange(len(base)))]
    worst, context, row = -np.inf, low, 0
    for _ in range(_SPLITS):
        _, _, low, high, rows = boxes[0]
        middle = (low + high) / 2
        if (here := point(middle, rows))[0] > worst:
            (worst, row), context = here, middle
        if -boxes[0][0] <= worst + near:
            break
        widest = int((log.rise * (high - low)).argmax())
        heapq.heappop(boxes)
        for end in (0, 1):
            lows, highs = low.copy(), high.copy()
            (highs if end == 0 else lows)[widest] = middle[widest]
            heapq.heappush(boxes, look(lows, highs, rows))
    # Sums of a few rounded products: of their largest possible terms this is far more than enough.
    rounding = _ROUND * (float(np.abs(base).max()) + float(log.rise @ np.abs(high_end - low_end)))
    margin = boxes[0][0] - rounding
    return StartMargin(margin, context, row, log.rise * np.abs(context - log.c[row]))


def choose_start(log: Evidence, low: Array, high: Array, box: tuple[Array, Array]) -> Array:
    """Return the action that seems to be furthest inside its limit in the worst context.

    Args:
        log: what a log shows.
        low: the least set points.
        high: the largest.
        box: the least and the largest of each context.
    """
    seen = np.unique(np.clip(log.x, low, high), axis=0)
    rng = np.random.default_rng(0)
    if len(seen) > _CANDIDATES:
        seen = seen[rng.choice(len(seen), _CANDIDATES, replace=False)]
    deepest = np.clip(log.x[log.excess.argmin()], low, high)
    candidates = np.vstack([deepest, low, high, seen])
    contexts = np.vstack([*box, rng.uniform(*box, (_CONTEXTS, log.c.shape[1]))])
    ways = np.stack([np.abs(log.c - context) @ log.rise for context in contexts])
    worst = [float((log.bounds_at(x) + ways).min(axis=1).max()) for x in candidates]
    best: Array = candidates[int(np.argmin(worst))]
    return best
