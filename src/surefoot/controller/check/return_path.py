"""Return paths of a controller: to hold, and to go back to an action that was measured.

An action that was measured, or certified, stays so for a fixed g, and ages by the drift; a start
with a ``start_bound`` does not age. Between such an action a and the last one x, a convex g has
g(x + theta(a - x)) <= (1 - theta) up_x + theta up_a; what rounding takes p off that way costs G_g
per unit of length. In a round whose context nobody knows, up_x is what was known of the last round,
and what g can rise by from a round to the next: so a ramp leads to the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .exact import Bounds, Point, UnjudgedError, WrongError, distance, norm, number
from .hull import bound_of_hull
from .kind import Certificate, Kind, Run, close

__all__ = ["certify_way", "claims_nothing", "confirm_way"]


def claims_nothing(c: Certificate) -> bool:
    """Return whether a return path says itself that nothing is known of the next g."""
    bound: Any = c.get("bound")
    if isinstance(bound, dict):
        return bool(bound == {"number": "inf"})
    return isinstance(bound, float) and not (math.isfinite(bound) and bound <= 0)


def certify_way(run: Run, kind: Kind, p: Point, c: Certificate) -> Bounds:
    """Return the bounds on g at a point of a return path that is no end of it."""
    if kind.in_contexts and run.place is not None:
        raise UnjudgedError("a return path in contexts is not judged unless it is the start")
    each, (x, up), share = kind.steepness, run.here, number(c["share"], "share", 0, 1)
    if kind.in_contexts and up is not None:
        up = _raise(up, kind, run.drifts)
    if each is None or up is None:
        raise UnjudgedError("a point of a return path is not judged without G_g and a bound")
    ends = []
    for a, levels in _anchors(run, c):
        rows = zip(each, levels, up, strict=True)
        ends.append([bound_of_hull(G, p, 1 - share, (a, low), (x, high)) for G, low, high in rows])
    if not ends:
        raise UnjudgedError("its return path leads to an action that was not read")
    return min(ends, key=max)


def _raise(bounds: Bounds, kind: Any, drifts: list[Fraction]) -> Bounds:
    """Return bounds that rise by what g can rise by until the next round, in any context."""
    step: Fraction | None = getattr(kind, "step", None)
    if step is None:
        raise UnjudgedError("nothing bounds what g rises by until the context of its round")
    return [up + step + drift for up, drift in zip(bounds, drifts, strict=True)]


def _anchors(run: Run, c: Certificate) -> Iterator[tuple[Point, Bounds]]:
    """Yield the action that a return path names, or the start, with what g is at most there."""
    reading = run.readings.get(int(number(c["anchor_round"], "anchor_round", 0)))
    if reading is not None:
        yield reading.x, run.levels(reading)[0]
    bounds = [bound for bound in run.start_bounds if bound is not None]
    if len(bounds) == len(run.start_bounds):
        yield run.start, bounds


def confirm_way(run: Run, kind: Kind, p: Point, c: Certificate, known: Bounds) -> None:
    """Raise unless an action is where its return path says, and no better than is known.

    Args:
        run: the rounds so far.
        kind: what is known of g.
        p: the action.
        c: its certificate.
        known: the least bounds on g there.
    """
    x, share = run.here[0], number(c["share"], "share", 0, 1)
    drift, most = number(c["drift"], "drift"), run.drift
    if kind.in_contexts and not claims_nothing(c) and share < 1:
        (most,) = _raise([run.drift], kind, [Fraction(0)])
    if not (drift == run.drift == most or (drift >= most and close(drift, most, Fraction(0)))):
        raise WrongError("its return path has another drift than the player")
    if not claims_nothing(c):
        bound, most = number(c["bound"], "bound"), max(known)
        if bound < most and not close(bound, most, 4 * kind.noise):
            raise WrongError("its return path claims a lower bound than is known")
    ends = [x] if not share else [a for a, _ in _anchors(run, c)]
    for a in ends:
        there = [i + share * (j - i) for i, j in zip(x, a, strict=True)]
        if distance(p, there) <= (norm(x) + norm(a)) / 2**48:
            return
    if ends:
        raise WrongError("its action is not where the share of its return path says")
