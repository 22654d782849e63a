r"""The ball nearest to a point, of all means of balls: the core of hulls of readings.

With centres :math:`x_i`, radii :math:`r_i` and slacks :math:`\sigma_i`,

.. math:: \Big\|w - \sum_i\lambda_ix_i\Big\| - \sum_i\lambda_ir_i

is minimised over the weights :math:`\lambda` of a mean whose slack :math:`\sum\lambda_i\sigma_i` is
at least 0. The vertices of these weights are single balls with :math:`\sigma_i \ge 0`, and pairs
with slacks on both sides of 0 and a mean slack of 0: a search that moves weight from one ball to
another stops short where the mean slack is 0, because every such move would change it.

So the search is among means of vertices, and it is Wolfe's for the point of a polytope nearest to
another one: the vertex that reaches furthest towards w joins those in use, these go to where the
function is least in their plane, and whichever gets a weight of 0 on the way leaves. The function
falls each time, so that no set of vertices comes twice: the end is the least to rounding, not where
patience ran out, and the nearest point of the ball moves no further than w does.

In the plane of vertices p with radii r, :math:`B` the ways and :math:`c` the gains of radius from
the first to the others, let :math:`Ba = c`; with q the part of :math:`p_1 - w` across the plane the
least is at :math:`w + q + a\|q\|/\sqrt{1-\|a\|^2}`. Where :math:`\|a\| \ge 1`, or no a solves
this, the function falls without end along a, or along what is left of c.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.points import UNIT
from surefoot.core.types import Array

STEPS = 200
"""The largest number of vertices; far fewer are used."""
FLAT = 1e-11
"""Ways of which one is shorter by this share, across the others, are those of a smaller plane."""


def find_mean_ball(w: Array, centres: Array, radii: Array, slack: Array) -> Array:
    """Return the weights of the ball nearest to w; the search ends when a ball contains w.

    Whatever rounding does they are at least 0 and add up to 1, and their slack is at least 0.

    Args:
        w: the point.
        centres: of the balls, one per row.
        radii: at least 0 where the slack is; 0 for points.
        slack: at least one is at least 0.

    Example:
        >>> centres, ones = np.array([[0.0, 0.0], [4.0, 0.0]]), np.ones(2)
        >>> find_mean_ball(np.array([2.0, 3.0]), centres, ones, ones)
        array([0.5, 0.5])
        >>> find_mean_ball(np.array([4.0, 1.0]), centres, 0.0 * ones, np.array([1.0, -1.0]))
        array([0.5, 0.5])
    """
    return MeanBalls(centres, radii, slack).find(w)


class MeanBalls:
    """All means of some balls; a search begins with the vertices at which the last one ended.

    Args:
        centres: of the balls, one per row.
        radii: at least 0 where the slack is; 0 for points.
        slack: at least one is at least 0.
    """

    centres: Array
    radii: Array
    slack: Array
    share: Array

    def __init__(self, centres: Array, radii: Array, slack: Array) -> None:
        self.centres, self.radii, self.slack = centres, radii, slack
        self.plane: Plane | None = None
        self.share = np.zeros(0)

    def find(self, w: Array) -> Array:
        """Return the weights of the ball nearest to w, as :func:`find_mean_ball` does."""
        off, radii, slack = self.centres - w, self.radii, self.slack
        gaps = np.sqrt(np.vecdot(off, off)) - radii
        close = (len(w) + 8) * UNIT * float(np.abs(gaps).max())
        plane, share = self._begin(off, gaps)
        before = math.inf
        for _ in range(STEPS):
            weights = share @ plane.vertices
            offset = weights @ off
            distance = norm(offset)
            gap = distance - float(weights @ radii)
            if gap <= close or gap >= before:
                break
            best, before = weights, gap
            self.plane, self.share = plane, share
            reach = radii - off @ (offset / distance)
            new = _find_furthest(reach, slack, 8 * (len(w) + 8) * UNIT)
            if float(new @ reach) + gap <= close:
                break
            with_new = np.concatenate([plane.vertices, new[None]])
            plane, share = self._join(self._span(with_new), np.concatenate([share, [0.0]]), off)
        best = weights if gap < before else best
        return best / best.sum()

    def _begin(self, off: Array, gaps: Array) -> tuple[Plane, Array]:
        """Return the vertices to begin with, and their shares: the last ones, or the nearest.

        Args:
            off: the centres, relative to the point.
            gaps: how far the point is outside of each ball.
        """
        i = int(np.where(self.slack >= 0.0, gaps, math.inf).argmin())
        if self.plane is not None:
            plane, share = self._join(self.plane, self.share, off)
            weights = share @ plane.vertices
            if norm(weights @ off) - float(weights @ self.radii) < gaps[i]:
                return plane, share
        vertices = np.zeros((1, len(gaps)))
        vertices[0, i] = 1.0
        return self._span(vertices), np.ones(1)

    def _join(self, plane: Plane, share: Array, off: Array) -> tuple[Plane, Array]:
        """Return those of the vertices that the least mean near some shares uses, and its shares.

        Args:
            plane: of the vertices.
            share: of each.
            off: the centres, relative to the point.
        """
        while True:
            least = plane.find_least(plane.vertices[0] @ off, share)
            if least.min() > 0.0:
                return plane, least
            falls = least <= 0.0
            ratio = share[falls] / np.maximum(share[falls] - least[falls], 1e-300)
            share = share + float(ratio.min()) * (least - share)
            share[np.flatnonzero(falls)[ratio.argmin()]] = 0.0
            is_used = share > 0.0
            plane, share = self._span(plane.vertices[is_used]), share[is_used]

    def _span(self, vertices: Array) -> Plane:
        """Return the plane of some vertices."""
        return Plane.of(vertices, vertices @ self.centres, vertices @ self.radii)


class Plane(NamedTuple):
    """The plane of some vertices, with all that a search for its least needs of no point.

    Attributes:
        vertices: the weights of each in the balls.
        along: an orthonormal basis of its directions, one per row.
        solve: from a way in this basis to the shares of the vertices after the first.
        rise: their shares per distance of a point from the plane; empty without a least.
        fall: how all shares change where the function falls without end; empty with a least.
    """

    vertices: Array
    along: Array
    solve: Array
    rise: Array
    fall: Array

    @classmethod
    def of(cls, vertices: Array, points: Array, radii: Array) -> Plane:
        """Return the plane of vertices with these points and radii."""
        none = np.zeros(0)
        if len(vertices) == 1:
            return cls(vertices, none, none, none, none)
        ways, more = points[1:] - points[0], radii[1:] - radii[0]
        across, sizes, along = _decompose(ways)
        small = FLAT * float(sizes[0])
        if not sizes[-1] > small:
            rank = int((sizes > small).sum())
            across, sizes, along = across[:, :rank], sizes[:rank], along[:rank]
        solve = across / sizes
        a = more @ solve
        remainder, squared = more - ways @ (a @ along), float(a @ a)
        has_remainder = bool(abs(remainder).max() > small)
        if squared < 1.0 and not has_remainder:
            return cls(vertices, along, solve, solve @ a / math.sqrt(1.0 - squared), none)
        change = remainder if has_remainder else solve @ a
        return cls(vertices, along, solve, none, np.concatenate([[-change.sum()], change]))

    def find_least(self, first: Array, share: Array) -> Array:
        """Return the shares, of any sign, of the least in the plane; or of a point along the fall.

        Args:
            first: the first vertex, relative to the point.
            share: where to begin a fall.
        """
        if len(share) == 1:
            return np.ones(1)
        if len(self.fall):
            falls = self.fall < 0.0
            end: float = (share[falls] / -self.fall[falls]).min()
            return share + 2.0 * end * self.fall
        p = self.along @ first  # in the coordinates of the plane
        least = np.empty(len(share))
        least[1:] = norm(first - p @ self.along) * self.rise - self.solve @ p
        least[0] = 1.0 - np.add.reduce(least[1:])
        return least


def _find_furthest(reach: Array, slack: Array, less: float) -> Array:
    """Return the weights of the vertex that reaches furthest.

    Of a pair, the line through both (slack and reach) is above all others where the slack is 0.

    Args:
        reach: of each ball.
        slack: of each.
        less: the share that the ball without slack has less, for rounding.
    """
    weights, j = np.zeros(len(slack)), int(reach.argmax())
    if slack[j] >= 0.0:
        weights[j] = 1.0
        return weights
    inside, outside = np.flatnonzero(slack >= 0.0), np.flatnonzero(slack < 0.0)
    for _ in range(len(slack)):
        before = j
        i = int(inside[_slopes(reach, slack, inside, j).argmax()])
        j = int(outside[_slopes(reach, slack, outside, i).argmin()])
        if j == before:
            break
    weights[j] = slack[i] / (slack[i] - slack[j]) * (1.0 - less)
    weights[i] = 1.0 - weights[j]
    return weights


def _slopes(reach: Array, slack: Array, some: Array, to: int) -> Array:
    slopes: Array = (reach[some] - reach[to]) / (slack[some] - slack[to])
    return slopes


def _decompose(ways: Array) -> tuple[Array, Array, Array]:
    """Return the singular values of some ways, with the vectors on both sides."""
    if len(ways) > 1 or not (size := norm(ways[0])) > 0.0:
        return np.linalg.svd(ways, full_matrices=False)
    return np.ones((1, 1)), np.array([size]), ways / size
