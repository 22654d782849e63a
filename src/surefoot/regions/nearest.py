r"""The nearest point of a region and of known sets: sought, and then checked; one NumPy run.

What a search returns is rounded and perhaps not at its end. So it is checked by the region's
``contains`` and by that of every known set; where that fails, the way there from a point that
passes is shortened until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import dot, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import snap_inside
from surefoot.core.types import Array
from surefoot.core.types import Region as Set
from surefoot.regions.errors import EmptyRegionError
from surefoot.regions.quadratics import Bounds, project_onto_bounds
from surefoot.sets import Ball, Box

if TYPE_CHECKING:
    from surefoot.regions.region import Region

_UNIT = 2.0**-53
SWEEPS = 60
REFLECTIONS = 200
TURNS = 100
HALVINGS = 40
SHARES = (*(1.0 - 0.5**k for k in range(44, 0, -1)), *(0.5**k for k in range(2, 30)), 0.0)
"""Of a way, from its end to its beginning, closest together at both."""

Onto = Callable[[Array], Array]
Test = Callable[[Array], bool]


class KnownSets:
    """The points that are in all of several sets; one NumPy run.

    Args:
        sets: of which the last is named where nothing is certified in all of them; None is no set.
    """

    def __init__(self, *sets: Any) -> None:
        self.sets = tuple(known for known in sets if known is not None)
        for known in self.sets:
            if not isinstance(known, Set) or isinstance(known, type):
                raise InvalidValueError(f"within must be a set with a projection, got {known!r}")

    def __bool__(self) -> bool:
        return bool(self.sets)

    def contains(self, x: Array) -> bool:
        """Return whether a point is in every set."""
        return all(bool(known.contains(x)) for known in self.sets)

    def settle(self, x: Array) -> Array:
        """Return a point that rounding may have put outside of the sets, moved back."""
        for known in self.sets:
            x = snap_inside(known, x)
        return x

    def project(self, x: Array) -> Array:
        """Return nearly the nearest point of all of them."""
        if len(self.sets) < 2:
            point: Array = self.sets[0].project(x) if self else x
            return point
        cut = partial(self.cut, x, norm(x), 0.0)
        return x + project_onto_bounds(0.0 * x, self.bounds(x, 0.0), cut)[0]

    def bounds(self, origin: Array, inwards: float) -> Bounds:
        """Return the balls among the sets as bounds, relative to an origin, and moved inwards."""
        balls = [known for known in self.sets if isinstance(known, Ball)]
        s = np.zeros((len(balls), len(origin)))
        up, beta = np.zeros(len(balls)), np.zeros(len(balls))
        for i, ball in enumerate(balls):
            s[i] = (origin if ball.centre is None else origin - ball.centre) / ball.radius
            beta[i] = 1.0 / ball.radius
            up[i] = 0.5 * ball.radius * (dot(s[i], s[i]) - 1.0) + inwards
        return Bounds(up, s, beta, 0.0 * up, _rounding(origin, 1.0) + 0.0 * up)

    def cut(self, origin: Array, reach: float, inwards: float, q: Array) -> Bounds:
        """Return half-spaces that hold the sets, of those that do not hold a point; not of balls.

        Args:
            origin: what the point is relative to.
            reach: the largest norm of a point that counts.
            inwards: how far inside of the half-spaces to end.
            q: the point.
        """
        close = _rounding(q, reach)
        found = Bounds.of(np.zeros((0, len(q))), np.zeros(0), close)
        for known in self.sets:
            if isinstance(known, Box):
                low, high, faces = known.lower - origin, known.upper - origin, np.eye(len(q))
                under, above = low - q > close, q - high > close
                found = found.join(Bounds.of(-faces[under], low[under] + inwards, close))
                found = found.join(Bounds.of(faces[above], inwards - high[above], close))
            elif not isinstance(known, Ball):
                found = found.join(cut_by(known.project, origin, reach, inwards, q))
        return found


EVERYWHERE = KnownSets()
"""No set: every point is in it."""


def cut_by(onto: Onto, origin: Array, reach: float, inwards: float, q: Array) -> Bounds:
    """Return a half-space that holds a set, given by its projection, and not a point.

    There is none where the set holds the point. The arguments are those of :meth:`KnownSets.cut`.
    """
    close, there = _rounding(q, reach), onto(origin + q) - origin
    far = norm(q - there)
    normals = (q - there)[None] / far if far > close else np.zeros((0, len(q)))
    return Bounds.of(normals, inwards - normals @ there, close)


def _rounding(q: Array, reach: float) -> float:
    return float((len(q) + 8) * _UNIT * (reach + norm(q)))


def project_onto_both(first: Onto, second: Onto, w: Array, x: Array, size: float) -> Array:
    r"""Return nearly the point of two convex sets that is nearest to w: a point of the second.

    The method of Douglas and Rachford for :math:`\tfrac12\|p-w\|^2` on the second set: with
    :math:`p = \Pi_2((z + \lambda w)/(1 + \lambda))`, the point z moves by
    :math:`\Pi_1(2p - z) - p`. Any :math:`\lambda` will do; a far wish needs one that brings it as
    near as the sets are large, where Dykstra's method takes as many sweeps as they fit into the
    distance, and half-spaces do not see how a boundary bends.

    Args:
        first: the projection onto one set.
        second: that onto the other.
        w: the point.
        x: where to begin.
        size: about how large what they have in common is.
    """
    share = min(size / max(norm(w - x), 1e-300), 1.0)
    z = point = x
    for _ in range(SWEEPS):
        point = second((z + share * w) / (1.0 + share))
        way = first(2.0 * point - z) - point
        z = z + way
        if norm(way) <= 1e-15 * (1.0 + norm(point)):
            break
    return point


def reflect_in_turn(
    projections: Sequence[Onto], known: KnownSets, holds: Test, start: Array
) -> Array | None:
    """Return a point that holds, by way of several sets in turn; None if none is found.

    Each goes nearly twice as far as its set asks for, so that the turns end inside of the sets and
    not in front of them (half as far again was too little); known sets have the last word.

    Args:
        projections: onto each set.
        known: sets that hold the point, too.
        holds: whether a point is what is looked for.
        start: where to begin.
    """
    point = start
    for _ in range(REFLECTIONS):
        for onto in projections:
            point = point + 1.95 * (onto(point) - point)
        point = known.settle(known.project(point))
        if holds(point):
            return point
    return None


def find_certified(region: Region, known: KnownSets, w: Array) -> Array:
    """Return the point of a region and of sets nearest to w; always one of both."""
    holds = partial(_holds, region, known)
    if holds(w):
        return w
    end = known.settle(region.seek(w, known))
    return end if holds(end) else take_certified(region, known, end)


def take_certified(region: Region, known: KnownSets, end: Array) -> Array:
    """Return the last point that is certified and in the sets on the way to one that is not.

    The way begins at a point that the region knows, or at one that is near the last action.
    """
    holds = partial(_holds, region, known)
    inside = next((point for point in region.insides if holds(point)), None)
    if inside is None:
        inside = region.find_inside(known, holds)
    if inside is None:
        raise _explain_empty(region, known)
    best = draw_back(holds, known, inside, end)
    return inside if best is None else best


def _holds(region: Region, known: KnownSets, point: Array) -> bool:
    """Return whether a point is certified and in the sets."""
    return known.contains(point) and bool(region.contains(point))


def _explain_empty(region: Region, known: KnownSets) -> EmptyRegionError:
    """Return the error for a round in which nothing is certified, or nothing in the sets."""
    if not known:
        return region.explain_empty()
    *others, last = known.sets
    part = region.within(*others)
    near = part.nearest(last.project(region.x))
    for _ in range(TURNS):
        before, near = near, part.nearest(last.project(near))
        if norm(near - before) <= 1e-12 * (1.0 + norm(near)):
            break
    return EmptyRegionError.of_set(last, near, float(norm(last.project(near) - near)))


def draw_back(holds: Test, known: KnownSets, inside: Array, outside: Array) -> Array | None:
    """Return the last point that holds on the way from one that does; None where none is found.

    Most often only a rounding is missing, so that the search begins at the far end; the beginning
    need not hold itself.

    Args:
        holds: what is looked for, in a convex set.
        known: sets that rounding is to be kept out of.
        inside: a point that holds, as a rule.
        outside: one that does not.
    """
    way = outside - inside

    def at(share: float) -> Array | None:
        point = known.settle(inside + share * way)
        return point if holds(point) else None

    high = 1.0
    for low in SHARES:
        best = at(low)
        if best is not None:
            break
        high = low
    else:
        return None
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        found = at(share)
        if found is None:
            high = share
        else:
            best, low = found, share
        if high - low <= 1e-15:
            break
    return best
