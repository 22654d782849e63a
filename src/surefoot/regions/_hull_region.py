"""The hull of two certified balls as a region, and the memory that it is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import (
    dot,
    maximum,
    ndarray,
    norm,
    rough_square,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import marked
from surefoot.core.types import Array, Number
from surefoot.regions._certificates import HullCertificate, beyond_reach
from surefoot.regions._errors import Errors, causes
from surefoot.regions._known import EmptyRegionError
from surefoot.regions._two_balls import share_of_two_balls

if TYPE_CHECKING:
    from surefoot.regions.hull import LipschitzHull

__all__ = ["POINT", "HullMemory", "HullRegion"]

_UNIT = 2.0**-53
POINT = 1e-300
"""The radius of a ball that is its centre, and not empty."""


class HullMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: how many rounds were seen.
        anchor: the deepest action before the last one.
        anchor_value: g there; with errors, the bound on it.
        anchor_round: the round it was played in.
        last: the last action seen.
        last_value: g there; with errors, the bound on it.
    """

    rounds: Number
    anchor: Array
    anchor_value: Number
    anchor_round: Number
    last: Array
    last_value: Number


class HullRegion(NamedTuple):
    """The convex hull of the ball of the anchor and that of the last action.

    Attributes:
        known: the constants.
        anchor: the deepest action before the last one.
        anchor_radius: the radius of its ball.
        x: the last action.
        radius: the radius of its ball; negative where its slack is below the margin.
        memory: with the round.
        before: without it.
        s: the subgradient observed at x; None for none.
        anchor_level: the bound on the next g at the anchor.
        level: the bound on the next g at x.
        g: the value observed at x.
        errors: what the levels allow for; None for exact values of a fixed g.
    """

    known: LipschitzHull
    anchor: Array
    anchor_radius: Number
    x: Array
    radius: Number
    memory: HullMemory
    before: HullMemory
    s: Array | None
    anchor_level: Number
    level: Number
    g: Number
    errors: Errors | None = None

    def nearest(self, w: Array) -> Array:
        """Return the point of the hull nearest to w; w itself where it is in the hull."""
        if type(w) is not ndarray or w.ndim > 1:
            w = marked(w)  # NaN for infinite: no warning on the way
        near = norm(w - self.x) <= self.radius  # the usual case, and a certificate by itself
        if near is True:
            return w
        _, centre, offset, far, room = self._ball(w)
        if type(far) is float:
            if not self.anchor_radius > 0.0:
                drift = 0.0 if self.errors is None else self.errors.drift
                raise EmptyRegionError.of_drift(
                    self.memory.rounds, self.anchor, self.anchor_level, drift
                )
            if far <= room:
                return w
            if not far < math.inf:
                checks.refuse_unfinite(to_numpy(w), "the wanted action")
                raise InvalidValueError(
                    f"the wanted action must have a finite distance from x, got {far!r}"
                )
            # far > room >= 0; a visit goes to the anchor itself, which must be known again.
            return centre + (room / far) * offset if room > POINT else centre
        room = where(room > POINT, room, 0.0 * room)
        found = centre + room / where(far > 0, far, 1.0) * offset
        found = where(near | (far <= room), w, found)
        # A start that is not strictly feasible certifies nothing, nor does a g that is NaN; the
        # game must see that.
        return where((self.anchor_radius > 0) & (self.radius == self.radius), found, math.nan)

    def contains(self, w: Array) -> Any:
        """Return whether a point is certified; a column of answers for a batch."""
        _, _, _, far, room = self._ball(w)
        return far <= room

    def certificate(self, point: Array, t: int) -> HullCertificate:
        """Return why a point that :meth:`nearest` gave is feasible: one run's numbers."""
        share, _, _, distance, room = self._ball(point)
        seen, known = self.memory, self.known
        level = (1.0 - share) * self.anchor_level + share * self.level
        noise, _ = known.kept_rounding(point.shape[-1])
        return HullCertificate(
            round=t,
            anchor_round=int(seen.anchor_round),
            anchor_value=float(self.anchor_level),
            value=float(self.level),
            share=float(share),
            distance=float(distance),
            room=float(room),
            # At the full length this is below 0 by the margin, which the rounding has room in.
            bound=min(float(level + known.G_g * distance + noise), 0.0),
            G_g=float(known.G_g),
            errors=None if self.errors is None else Errors(*map(float, self.errors)),
        )

    @property
    def whole(self) -> HullRegion:
        """The hull of both balls, also where the anchor is to be visited."""
        return self.known.whole(self.memory, self.before, self.s, self.g, self.errors)

    @property
    def depth(self) -> Number:
        """The radius of the larger of the two balls, the largest of all so far."""
        return maximum(self.anchor_radius, self.radius)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the constants are right, as sentences."""
        if self.errors is None and self._is_usual():
            return ()
        found, known, before = [], self.known, self.before
        errors = Errors() if self.errors is None else self.errors
        t, s, g = int(self.memory.rounds), self.s, float(self.g)
        steep = 0.0 if s is None else float(norm(s))
        G_g, noise = float(known.G_g), float(known.kept_rounding(self.x.shape[-1])[0])
        if steep > G_g * (1 + 1e-12) + errors.slope:
            found.append(f"round {t}: |s| = {steep:.6g} exceeds G_g = {G_g:.6g}")
        x = self.memory.last
        found += beyond_reach(t, x, g + errors.value + noise, float(known.reach))
        if before.rounds == 0:
            return tuple(found)
        # Whatever was allowed for is taken off before anything is called impossible.
        least, limit = g - errors.value, known.hull(before).bound(x)
        if least > limit + 4 * noise:
            why = causes(self.errors, f"G_g = {G_g:.6g} is too small")
            found.append(f"round {t}: g = {g:.6g} is above its certified bound {limit:.3g}: {why}")
        if s is None:
            return tuple(found)
        way = before.anchor - x
        below = least + float(dot(s, way)) - errors.slope * float(norm(way))
        below -= before.anchor_value + errors.drift * (t - float(before.anchor_round))
        if below > 4 * noise:
            why = causes(self.errors, f"a slope errs by more than {float(errors.slope):g}")
            found.append(
                f"round {t}: the subgradient says that g in round {int(before.anchor_round)} was "
                f"at least {below:.3g} above what was seen: {why}"
            )
        return tuple(found)

    def _is_usual(self) -> bool:
        r"""Return whether the round proves at once that nothing is contradicted.

        With :math:`\|s\| \le G_g` the bound of the hull before is, for every share
        :math:`\lambda`, at least
        :math:`(1-\lambda)(g_a + s^\top(x-a)) + \lambda(g_l + s^\top(x-l))`:
        where the subgradient contradicts neither the anchor a nor the last action l, g is below it.
        Half of the noise that is allowed for is left to the rounding of both computations.
        """
        _, _, _, x, _, _, before, s, _, _, g, _ = self
        d, G_g, reach = x.shape[-1], self.known.G_g, self.known.reach
        if s is None or not rough_square(s) <= G_g * G_g * (1.0 + 8 * (d + 4) * _UNIT):
            return False
        if not rough_square(x) <= reach * reach:
            return False
        if before.rounds == 0.0:
            return True
        level = g - 2 * self.known.kept_rounding(d)[0] - dot(s, x)
        if not level + dot(s, before.anchor) <= before.anchor_value:
            return False
        last = before.last
        return last is before.anchor or bool(level + dot(s, last) <= before.last_value)

    def bound(self, point: Array) -> Number:
        """Return the bound on the next g at any point: the hull's, and the rise from there."""
        share, _, _, distance, _ = self._ball(point)
        level = (1.0 - share) * self.anchor_level + share * self.level
        return level + self.known.G_g * distance

    def _ball(self, w: Array) -> tuple[Number, Array, Array, Number, Number]:
        """Find the ball of the hull that is nearest to w: share, centre, w - centre, norm, room."""
        a, r = self.anchor, self.anchor_radius
        share, way = share_of_two_balls(w, a, r, self.x, self.radius)
        centre = a + share * way
        offset = w - centre
        room = r + share * (self.radius - r)
        return share, centre, offset, norm(offset), maximum(room, 0.0 * room)
