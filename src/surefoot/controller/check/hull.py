"""Hulls of balls: values and a bound on the slopes of a convex g.

With a share l in [0, 1], an anchor a and an action x, and v the drift per round,
(1-l)(up_a + k_a v) + l(up_x + k v) + G_g |p - (1-l)a - lx| <= 0. With l = 1 it is a ball.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

from .exact import Bounds, Point, WrongError, norm, number, over_one, root_up
from .kind import UNIT, Certificate, Kind, Reading, Run, close, is_in_domain, is_known

__all__ = ["Hull", "bound_of_hull"]

_THIRDS, _BEST = 90, 4
"""How often an interval of shares loses a third, and how many balls are tried exactly."""
Ball = tuple[Point, Fraction]
"""An action, and what g is at most there."""


def bound_of_hull(G_g: Fraction, p: Point, share: Fraction, anchor: Ball, here: Ball) -> Fraction:
    """Return the bound on g at p by two balls."""
    (a, up_a), (x, up), n, k = anchor, here, share.numerator, share.denominator
    whole, rows = over_one(p, a, x)
    square = sum((k * i - (k - n) * j - n * q) ** 2 for i, j, q in zip(*rows, strict=True))
    return (1 - share) * up_a + share * up + G_g * root_up(Fraction(square, (k * whole) ** 2))


def _find_share(G_g: Fraction, p: Point, anchor: Ball, here: Ball) -> tuple[float, Fraction]:
    """Return nearly the least bound of two balls, and its share: it is convex in the share."""
    rows = [tuple(map(float, row)) for row in zip(p, anchor[0], here[0], strict=True)]
    G, up_a, up = (float(part) for part in (G_g, anchor[1], here[1]))

    def bound(share: float) -> float:
        off = math.hypot(*(w - (1 - share) * a - share * x for w, a, x in rows))
        return (1 - share) * up_a + share * up + G * off

    low, high = 0.0, 1.0
    for _ in range(_THIRDS):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if bound(a) <= bound(b) else (a, high)
    share = min((0.0, low, high, 1.0), key=bound)
    return bound(share), Fraction(share)


class Hull(Kind):
    """LipschitzHull."""

    keys: ClassVar[str] = "G_g reach start_bound"
    certificates: ClassVar[tuple[str, ...]] = ("HullCertificate",)
    G_g: Fraction
    reach: Fraction
    noise: Fraction

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        self.G_g, self.reach = (number(table[name], name, 0) for name in ("G_g", "reach"))
        unit = UNIT * self.reach * self.G_g
        self.noise = max(16 * (d + 4) * unit, self.evaluation + 8 * unit)

    def holds(self, x: Point) -> bool:
        """Return whether an action is in the domain; without one, whether it is within reach."""
        if self.domain is None:
            return norm(x) <= self.reach * (1 + Fraction(1, 10**12)) * (1 + 64 * UNIT)
        return is_in_domain(self.domain, x)

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound by the anchor and the share of a certificate."""
        share = number(c["share"], "share", 0, 1)
        anchors = [(x, min(levels)) for x, levels in self._anchors(run, c)]
        found = [(x, min(levels)) for x, levels in self._last(run, c)]
        return [min(bound_of_hull(self.G_g, p, share, a, x) for a in anchors for x in found)]

    def confirm(self, run: Run, p: Point, c: Certificate, less: Fraction = Fraction(0)) -> None:
        """Raise unless levels and bound are those of two actions that were read.

        Args:
            run: the rounds so far.
            p: the action.
            c: its certificate.
            less: what was taken off the levels, of a limit on the average.
        """
        there, level, bound = (number(c[n], n) for n in ("anchor_value", "value", "bound"))
        share, noise = number(c["share"], "share", 0, 1), 4 * self.noise
        if number(c["G_g"], "G_g") != self.G_g:
            raise WrongError("its certificate has another G_g than the player")
        has_anchor = False
        for a, levels in self._anchors(run, c):
            if not is_known(there + less, levels, noise):
                continue
            has_anchor = True
            for x, others in self._last(run, c):
                if is_known(level + less, others, noise):
                    found = bound_of_hull(self.G_g, p, share, (a, there), (x, level))
                    if close(bound, min(found + self.noise, Fraction(0)), noise):
                        return
        what = "bound" if has_anchor else "anchor"
        raise WrongError(f"the {what} of its certificate is not what was read")

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return nearly the least bound of two balls, the latest among them."""
        if not earlier:
            return None
        balls = [(r.x, run.level_in(r, reading.round)[0]) for r in earlier]
        if run.start_bound is not None:
            balls.append((run.start, run.start_bound))
        found = self.search_pairs(reading.x, balls, balls[len(earlier) - 1])
        return [found] if found <= self.holds_to else None

    @property
    def holds_to(self) -> Fraction:
        """The largest g at which no slope is longer than G_g."""
        return Fraction(0)

    def search_pairs(self, p: Point, balls: list[Ball], here: Ball) -> Fraction:
        """Return nearly the least bound at p of one ball with any of several."""
        shares = [(_find_share(self.G_g, p, ball, here), ball) for ball in balls]
        best = sorted(shares, key=lambda pair: pair[0])[:_BEST]
        return min(bound_of_hull(self.G_g, p, share, a, here) for (_, share), a in best)

    def _anchors(self, run: Run, c: Certificate) -> Iterator[tuple[Point, list[Fraction]]]:
        """Yield the anchor that a certificate names, with what is known of g there."""
        i = run.round_of(c["anchor_round"])
        if i in run.readings:
            reading = run.readings[i]
            yield reading.x, [up for (up,) in run.levels(reading)]
        if run.start_bound is not None:  # its round may be that of the start, which is not read yet
            yield run.start, [run.start_bound]
        elif i not in run.readings:
            raise WrongError(f"its anchor is round {i}, which was not read")

    def _last(self, run: Run, c: Certificate) -> Iterator[tuple[Point, list[Fraction]]]:
        """Yield the actions that may be the other ball's, with what is known of g there."""
        for reading in run.last():
            yield reading.x, [up for (up,) in run.levels(reading)]
        x, up = run.here
        if up is not None:
            yield x, [up[0], max(up[0], run.drift)]  # what was certified was at most 0 in its round
        yield from self._anchors(run, c)  # which is visited
