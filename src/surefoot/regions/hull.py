r"""What values and a bound on the subgradients certify: the convex hull of balls.

If :math:`g(x_i) \le 0` and every subgradient has norm at most :math:`G_g`, then g rises by at most
:math:`G_g` per unit of length, so the ball :math:`B(x_i, -g(x_i)/G_g)` is feasible; and because the
feasible set is convex, so is the convex hull of such balls. The hull of the balls of *all* rounds
is everything that can be certified from values, subgradients and :math:`G_g` (Theorem E of
docs/certified.md). Here are two: that of the last action, and the deepest ball before it, the
*anchor*. For a point p and any share :math:`\lambda \in [0, 1]`

.. math:: g(p) \le (1-\lambda)g(a) + \lambda g(x)
          + G_g\|p - (1-\lambda)a - \lambda x\|,

which is the certificate.

Rounding. With u = 2^-53, n the dimension, M the largest norm of a feasible point and
:math:`\delta` a bound on the evaluation error of g, radii are
:math:`-g/G_g - 2\delta/G_g - 16(n+8)uM`. Then the true g and the computed one are at most 0 at
every point that :meth:`HullRegion.nearest` returns; docs/certified.md has the proof. It holds for
any computed share, so no loss of digits in it can matter. Radii keep their sign: the last action
may have less slack than the margin.

Errors and drift. A value that errs by at most :math:`\nu` counts as :math:`\hat g + \nu`, or as the
bound that was certified before it was played where that is smaller; one that was seen k rounds
before the next, under a drift of v per round, as kv more. Slopes are not used, so that their error
costs nothing here. An anchor that ages loses its ball: once drift may have used half of its slack
the hull is the anchor alone, which is visited and so measured again. Where no ball is left,
:class:`surefoot.regions.EmptyRegionError` is raised, and a run of a batch becomes NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from surefoot import _check
from surefoot._array import (
    dot,
    maximum,
    minimum,
    namespace,
    ndarray,
    norm,
    number_like,
    record,
    rough_square,
    to_numpy,
    where,
)
from surefoot._holding import KeepsRounding
from surefoot.errors import InvalidValueError
from surefoot.regions._certificates import HullCertificate
from surefoot.regions._errors import Errors, causes, check_errors, error_of
from surefoot.regions._known import EmptyRegionError
from surefoot.regions._two_balls import share_of_two_balls
from surefoot.sets._points import marked
from surefoot.types import Array, Number

__all__ = ["HullMemory", "HullRegion", "LipschitzHull"]

_UNIT = 2.0**-53
_POINT = 1e-300  # the radius of a ball that is its centre, and not empty


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
        s: the subgradient observed at x.
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
    s: Array
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
                _check.refuse_unfinite(to_numpy(w), "the wanted action")
                raise InvalidValueError(
                    f"the wanted action must have a finite distance from x, got {far!r}"
                )
            # far > room >= 0; a visit goes to the anchor itself, which must be known again.
            return centre + (room / far) * offset if room > _POINT else centre
        room = where(room > _POINT, room, 0.0 * room)
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
        return self.known.hull(self.memory, self.before, self.s, self.g, self.errors)

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
        t, steep, g = int(self.memory.rounds), float(norm(self.s)), float(self.g)
        G_g, noise = float(known.G_g), float(known.kept_rounding(self.x.shape[-1])[0])
        if steep > G_g * (1 + 1e-12) + errors.slope:
            found.append(f"round {t}: |s| = {steep:.6g} exceeds G_g = {G_g:.6g}")
        if before.rounds == 0:
            return tuple(found)
        # Whatever was allowed for is taken off before anything is called impossible.
        least, x, hull = g - errors.value, self.memory.last, known.hull(before)
        limit = hull.bound(x)
        if least > limit + 4 * noise:
            why = causes(self.errors, f"G_g = {G_g:.6g} is too small")
            found.append(f"round {t}: g = {g:.6g} is above its certified bound {limit:.3g}: {why}")
        way = before.anchor - x
        below = least + float(dot(self.s, way)) - errors.slope * float(norm(way))
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
        d, G_g = x.shape[-1], self.known.G_g
        if not rough_square(s) <= G_g * G_g * (1.0 + 8 * (d + 4) * _UNIT):
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
        found = level + self.known.G_g * distance
        return where(distance == 0, maximum(found, self.level), found)

    def _ball(self, w: Array) -> tuple[Number, Array, Array, Number, Number]:
        """Find the ball of the hull that is nearest to w: share, centre, w - centre, norm, room."""
        a, r = self.anchor, self.anchor_radius
        share, way = share_of_two_balls(w, a, r, self.x, self.radius)
        centre = a + share * way
        offset = w - centre
        room = r + share * (self.radius - r)
        return share, centre, offset, norm(offset), maximum(room, 0.0 * room)


@dataclass(frozen=True, slots=True, kw_only=True)
class LipschitzHull(KeepsRounding):
    r"""Knowledge that g is convex with no subgradient longer than G_g on the feasible set.

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
        reach: the largest norm of a feasible point, which rounding scales with.
        evaluation_error: bound on the error of the g that is observed, where it may be larger than
            the rounding of a linear one (``constraint.evaluation_error(ball)``).
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the error of an observed slope; only contradictions look at slopes.
        drift: bound on the change of g, at any point, from one round to the next.

    Example:
        >>> import numpy as np
        >>> known = LipschitzHull(G_g=1.0, reach=1.0)
        >>> x = np.zeros(2)  # g(x) = |x|_inf - 0.5
        >>> memory, region = known.see(known.init(x), x, -0.5, np.array([0.0, 1.0]))
        >>> p = region.nearest(np.array([3.0, 4.0]))
        >>> p.round(6)
        array([0.3, 0.4])
        >>> print(region.certificate(p, 1))
        round 1: g = -0.5 was seen in round 1, and g rises by at most G_g = 1 per unit of length:
        0.5 is certified, 0.5 was taken; the next g is at most -...
    """

    G_g: Number
    reach: Number
    evaluation_error: Number | None = None
    value_error: Number | None = None
    slope_error: Number | None = None
    drift: Number | None = None

    def __post_init__(self) -> None:
        _check.positive(G_g=self.G_g, reach=self.reach)
        _check.plain(self, "G_g", "reach")
        if self.evaluation_error is not None:
            _check.nonnegative(evaluation_error=self.evaluation_error)
            _check.plain(self, "evaluation_error")
        check_errors(self)

    @classmethod
    def trusted(
        cls,
        G_g: Number,
        reach: Number,
        evaluation_error: Number | None,
        value_error: Number | None = None,
        slope_error: Number | None = None,
        drift: Number | None = None,
    ) -> LipschitzHull:
        """Return the same for constants that were checked before: a rule makes one per round."""
        made, put = object.__new__(cls), object.__setattr__
        put(made, "G_g", G_g)
        put(made, "reach", reach)
        put(made, "evaluation_error", evaluation_error)
        put(made, "value_error", value_error)
        put(made, "slope_error", slope_error)
        put(made, "drift", drift)
        return made

    def init(self, x1: Array) -> HullMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        return HullMemory(zero, x1, zero, zero, x1, zero)

    def see(
        self, memory: HullMemory, x: Array, g: Number, s: Array, value_error: Number | None = None
    ) -> tuple[HullMemory, HullRegion]:
        """Return the memory with the round added, and the hull for the next action."""
        rounds, errors, upper = memory.rounds + 1.0, error_of(self, value_error), g
        if errors is not None:
            upper = g + errors.value
        if type(g) is float:
            if not -math.inf < g < math.inf:
                raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
            if memory.rounds == 0.0:
                _, lost = self.kept_rounding(x.shape[-1])
                if not upper + lost * self.G_g < 0.0:
                    raise InvalidValueError(
                        "the start must be strictly feasible, by more than the error of g, "
                        f"got g(x_1) = {g:g}"
                    )
                after = record(HullMemory, (rounds, x, upper, rounds, x, upper))
            elif errors is not None:
                after = self._later(memory, x, upper)
            elif memory.last_value < memory.anchor_value:
                a, value, t = memory.last, memory.last_value, memory.rounds
                after = record(HullMemory, (rounds, a, value, t, x, g))
            else:
                after = record(HullMemory, (rounds, *memory[1:4], x, g))
        else:
            upper = where(abs(upper) < math.inf, upper, math.nan)
            first = memory.rounds == 0
            later = self._later(memory, x, upper, errors is None)
            starting = (rounds, x, upper, rounds, x, upper)
            after = HullMemory(*(where(first, a, b) for a, b in zip(starting, later, strict=True)))
        made = self.hull if self.drift is None else self.region
        return after, made(after, memory, s, g, errors)

    def _later(
        self, memory: HullMemory, x: Array, upper: Number, exact: bool = False
    ) -> HullMemory:
        """Return the memory after a round that is not the first."""
        aged, visited = memory.anchor_value, False
        if self.drift is not None:
            aged = aged + self.drift * (memory.rounds - memory.anchor_round)
            visited = namespace(x).all(memory.last == memory.anchor, axis=-1, keepdims=x.ndim > 1)
            visited = bool(visited) if type(x) is ndarray and x.ndim == 1 else visited
        deeper = memory.last_value < aged
        fresh = deeper | visited
        value = where(fresh, minimum(memory.last_value, aged), memory.anchor_value)
        if not exact:
            # What was certified before the round bounds g there as well as the reading does.
            before = self.hull(memory).bound(x)
            upper = where(before <= 0, minimum(upper, before), upper)
        return HullMemory(
            memory.rounds + 1.0,
            where(deeper, memory.last, memory.anchor),
            value,
            where(fresh, memory.rounds, memory.anchor_round),
            x,
            upper,
        )

    def region(
        self,
        memory: HullMemory,
        before: HullMemory,
        s: Array,
        g: Number | None = None,
        errors: Errors | None = None,
    ) -> HullRegion:
        """Return the hull that a memory stands for; under drift, the anchor alone at times."""
        hull = self.hull(memory, before, s, g, errors)
        if self.drift is None:
            return hull
        _, a, r_a, x, r, *_, high_a, high, _, _ = hull
        # The anchor is visited once drift may have used half of the slack that was seen there.
        visit = (high_a >= 0.5 * memory.anchor_value) & (r_a > r) & (r_a > 0)
        # Without a ball of its own the anchor is no help, and of two without the deeper is told.
        swap = (r_a <= 0) & (r >= r_a)
        return hull._replace(
            anchor=where(swap, x, a),
            anchor_radius=where(visit, _POINT + 0.0 * r_a, where(swap, r, r_a)),
            anchor_level=where(swap, high, high_a),
            x=where(visit, a, x),
            radius=where(visit, _POINT + 0.0 * r, r),
            level=where(visit, high_a, high),
        )

    def hull(
        self,
        memory: HullMemory,
        before: HullMemory | None = None,
        s: Array = None,
        g: Number | None = None,
        errors: Errors | None = None,
    ) -> HullRegion:
        """Return the hull of both balls as they are in the round after the memory's last."""
        _, lost = self.kept_rounding(memory.last.shape[-1])
        high_a, high = memory.anchor_value, memory.last_value
        if self.drift is not None:
            high_a = high_a + self.drift * (memory.rounds + 1.0 - memory.anchor_round)
            high = high + self.drift
        r_a, r = -high_a / self.G_g - lost, -high / self.G_g - lost
        parts = (self, memory.anchor, r_a, memory.last, r, memory, before, s, high_a, high)
        return record(HullRegion, (*parts, memory.last_value if g is None else g, errors))

    def noise(self, dimension: int) -> Number:
        r"""Return :math:`\delta`, a bound on the error of an observed g, with room for one sum."""
        return self.kept_rounding(dimension)[0]

    def lost(self, dimension: int) -> Number:
        r"""Return what the margin takes from a radius: :math:`2\delta/G_g + 16(n+8)uM`."""
        return self.kept_rounding(dimension)[1]

    def rounding(self, d: int) -> tuple[Number, Number]:
        """Return :meth:`noise` and :meth:`lost` in a dimension."""
        unit = _UNIT * self.reach * self.G_g
        noise = 16 * (d + 4) * unit
        if self.evaluation_error is not None:
            noise = maximum(noise, self.evaluation_error + 8 * unit)
        return noise, 2 * noise / self.G_g + 16 * (d + 8) * _UNIT * self.reach
