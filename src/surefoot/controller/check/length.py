"""Certified lengths: G_g(|p - q| + B) - rho <= 0.

q is the last action drawn back to the half-space of its reading and into the domain, and B bounds
what is left of its distance to {g <= -rho}, round after round (docs/lengths.md).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from .exact import Bounds, Point, UnjudgedError, WrongError, distance, dot, minus, number, root_up
from .hull import bound_of_hull
from .kind import UNIT, Certificate, Kind, Reading, Run, is_in_domain, is_known
from .known_sets import draw, reach_of

__all__ = ["Length"]


class Link(NamedTuple):
    """How far a point is from {g <= -rho}: at most B, which is below 0 where it is deeper."""

    q: Point
    B: Fraction
    rho: Fraction


class Length(Kind):
    """CertifiedLength."""

    keys: ClassVar[str] = "G_g rho decreasing sigma"
    certificates: ClassVar[tuple[str, ...]] = ("StepCertificate",)
    G_g: Fraction
    reach: Fraction
    sigma: Fraction | None
    noise: Fraction
    round: int
    before: list[Link]
    after: list[Link]

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        self.G_g, self.reach = number(table["G_g"], "G_g", 0), reach_of(self.domain, d)
        self.sigma = None if table["sigma"] is None else number(table["sigma"], "sigma", 0)
        unit = UNIT * self.reach * self.G_g
        self.noise = max(16 * (d + 4) * unit, self.evaluation + 8 * unit)
        # The links that a reading was judged with, and those that it led to.
        self.round, self.before, self.after = 0, list[Link](), list[Link]()

    def holds(self, x: Point) -> bool:
        """Return whether an action is in the domain."""
        return is_in_domain(self.domain, x)

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound by the links that the last reading leads to."""
        if run.drift or run.delay:
            raise UnjudgedError("certified lengths under drift or with delay are not judged")
        reading, rho = self._last(run), number(c["rho"], "rho")
        anchor = run.first()
        ends = (anchor.x, run.levels(anchor)[0][0]), (reading.x, run.levels(reading)[0][0])
        if not 0 < rho <= -ends[0][1]:
            raise WrongError("rho must be above 0 and at most the slack of the start")
        if reading.round != self.round:
            self.round, self.before = reading.round, self.after
        ups = [up for (up,) in run.levels(reading)]
        ups.append(max(ups[0], -number(c["slack"], "slack")))  # what the player counts on
        self.after = self._find_links(ups, reading, rho, ends[0])
        found = [self.G_g * (distance(p, link.q) + link.B) - rho for link in self.after]
        if c["rule"] == "pulled" and ends[0][0] != ends[1][0]:  # as far back as it is
            way = minus(ends[0][0], reading.x)
            back = dot(way, minus(p, reading.x)) / dot(way, way)
            share = 1 - min(max(back, Fraction(0)), Fraction(1))
            found.append(bound_of_hull(self.G_g, p, share, *ends))
        if min(found) <= -rho:
            self.after.append(Link(p, (min(found) + rho) / self.G_g, rho))
        return [min(found)]

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return the least bound of the links so far."""
        found = [self.G_g * (distance(reading.x, q) + B) - rho for q, B, rho in self.after]
        return [min(found)] if found and min(found) <= 0 and not run.drift else None

    def _last(self, run: Run) -> Reading:
        found = run.last()
        if not found or found[0].slopes is None:
            raise UnjudgedError("what it rests on was read too long ago, or without a slope")
        return found[0]

    def _find_links(
        self, ups: list[Fraction], reading: Reading, rho: Fraction, anchor: tuple[Point, Fraction]
    ) -> list[Link]:
        """Return the links that a reading leads to, one for each bound on g there."""
        (x_a, up_a), x, zero = anchor, reading.x, Fraction(0)
        ((s,), (low,)), found = (reading.slopes or [[]], reading.low), []
        for up in ups:
            A = max(up + rho, zero) / (up - up_a) * distance(x, x_a) if up > up_a else zero
            if self.sigma:
                A = min(A, max(up + rho, zero) / self.sigma)
            for q, B, before in self.before:
                if rho <= before:
                    A = min(A, max(distance(x, q) + B - (before - rho) / self.G_g, zero))
            if up <= -rho:
                found.append(Link(x, (up + rho) / self.G_g, rho))
                continue
            over, square = max(low + rho - reading.tau[0] * A, zero), dot(s, s) or Fraction(1)
            B = root_up(max(A * A - over * over / square, zero))
            back = [a - over / square * b for a, b in zip(x, s, strict=True)]
            q, lost = draw(self.domain, back)
            found.append(Link(q, B + lost, rho))
        return found

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless slack and bound are those of the last reading, and its links."""
        if number(c["G_g"], "G_g") != self.G_g:
            raise WrongError("its certificate has another G_g than the player")
        reading, rho, bound = self._last(run), number(c["rho"], "rho"), number(c["bound"], "bound")
        slack, levels = number(c["slack"], "slack"), [up for (up,) in run.levels(reading)]
        if not is_known(-slack, levels, 4 * self.noise):
            raise WrongError("the slack of its certificate is not what was read")
        if c["rule"] == "stayed" and p != reading.x:
            raise WrongError("its certificate says that nothing moved, and something did")
        if c["rule"] in ("slack", "contraction"):
            found = [self.G_g * (distance(p, link.q) + link.B) - rho for link in self.after]
            # A root loses half of the digits, and what is lost in many rounds adds up: the bound
            # may be larger than what is found here, and must not be smaller.
            noise = self.G_g * self.reach / 2**18
            if bound < min(*found, Fraction(0)) - noise:
                raise WrongError("the bound of its certificate is below that of its step")
