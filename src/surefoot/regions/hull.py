r"""What values and a bound on the subgradients certify: the convex hull of balls.

If :math:`g(x_i) \le 0` and every subgradient has norm at most :math:`G_g`, then g rises by at most
:math:`G_g` per unit of length, so the ball :math:`B(x_i, -g(x_i)/G_g)` is feasible; and because the
feasible set is convex, so is the convex hull of such balls. The hull of the balls of *all* rounds
is everything that can be certified from values, subgradients and :math:`G_g` (Theorem 1 of
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
    ndarray,
    norm,
    number_like,
    record,
    sqrt,
    to_numpy,
    vdot,
    where,
)
from surefoot.errors import InvalidValueError
from surefoot.sets._points import marked
from surefoot.types import Array, Number

__all__ = ["HullCertificate", "HullMemory", "HullRegion", "LipschitzHull", "share_of_two_balls"]

_UNIT = 2.0**-53


class HullCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        anchor_round: the round in which the anchor was played; 1 is the start.
        anchor_value: g at the anchor.
        value: g at the action that was played.
        share: of the action in the centre, (1 - share) anchor + share action.
        distance: from the centre to the next action.
        room: how far from the centre is certified; at least the distance.
        bound: the next g is at most this; never above 0.
        G_g: the constant that it rests on.
        cut: whether the region changed the action that was wanted.
    """

    round: int
    anchor_round: int
    anchor_value: float
    value: float
    share: float
    distance: float
    room: float
    bound: float
    G_g: float
    cut: bool = False

    def __str__(self) -> str:
        if self.share == 1.0:
            seen = f"g = {self.value:.3g} was seen"
        elif self.share == 0.0:
            seen = f"g = {self.anchor_value:.3g} was seen in round {self.anchor_round}"
        else:
            seen = (
                f"g = {self.anchor_value:.3g} was seen in round {self.anchor_round} and "
                f"{self.value:.3g} now; {self.share:.3g} of the way between them"
            )
        return (
            f"round {self.round}: {seen}, and g rises by at most G_g = {self.G_g:g} per unit of "
            f"length: {self.room:.3g} is certified, {self.distance:.3g} was taken; "
            f"the next g is at most {self.bound:.3g}"
        )


class HullMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: how many rounds were seen.
        anchor: the deepest action before the last one.
        anchor_value: g there.
        anchor_round: the round it was played in.
        last: the last action seen.
        last_value: g there.
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
    """

    known: LipschitzHull
    anchor: Array
    anchor_radius: Number
    x: Array
    radius: Number
    memory: HullMemory
    before: HullMemory
    s: Array

    def nearest(self, w: Array) -> Array:
        """Return the point of the hull nearest to w; w itself where it is in the hull."""
        if type(w) is not ndarray or w.ndim > 1:
            w = marked(w)  # NaN for infinite: no warning on the way
        near = norm(w - self.x) <= self.radius  # the usual case, and a certificate by itself
        if near is True:
            return w
        _, centre, offset, far, room = self._ball(w)
        if type(far) is float:
            if far <= room:
                return w
            if not far < math.inf:
                _check.refuse_unfinite(to_numpy(w), "the wanted action")
                raise InvalidValueError(
                    f"the wanted action must have a finite distance from x, got {far!r}"
                )
            return centre + (room / far) * offset  # far > room >= 0
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
        level = (1.0 - share) * seen.anchor_value + share * seen.last_value
        noise = known.noise(point.shape[-1])
        return HullCertificate(
            round=t,
            anchor_round=int(seen.anchor_round),
            anchor_value=float(seen.anchor_value),
            value=float(seen.last_value),
            share=float(share),
            distance=float(distance),
            room=float(room),
            # At the full length this is below 0 by the margin, which the rounding has room in.
            bound=min(float(level + known.G_g * distance + noise), 0.0),
            G_g=float(known.G_g),
        )

    @property
    def depth(self) -> Number:
        """The radius of the larger of the two balls, the largest of all so far."""
        return maximum(self.anchor_radius, self.radius)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the constants are right, as sentences."""
        found, known, before = [], self.known, self.before
        t, steep, g = int(self.memory.rounds), float(norm(self.s)), float(self.memory.last_value)
        G_g, noise = float(known.G_g), float(known.noise(self.x.shape[-1]))
        if steep > G_g * (1 + 1e-12):
            found.append(f"round {t}: |s| = {steep:.6g} exceeds G_g = {G_g:.6g}")
        if before.rounds == 0:
            return tuple(found)
        share, _, _, distance, _ = known.region(before, before, self.s)._ball(self.x)
        level = (1.0 - share) * before.anchor_value + share * before.last_value
        limit = max(level + G_g * distance, before.last_value if distance == 0 else -math.inf)
        if g > limit + 4 * noise:
            found.append(
                f"round {t}: g = {g:.6g} is above its certified bound {limit:.3g}: G_g = {G_g:.6g} "
                "is too small, or g is not convex or not the one of round 1"
            )
        below = g + float(dot(self.s, before.anchor - self.x)) - before.anchor_value
        if below > 4 * noise:
            found.append(
                f"round {t}: the subgradient says that g in round {int(before.anchor_round)} was "
                f"at least {below:.3g} above what was seen: g is not convex, or not the same"
            )
        return tuple(found)

    def _ball(self, w: Array) -> tuple[Number, Array, Array, Number, Number]:
        """Find the ball of the hull that is nearest to w: share, centre, w - centre, norm, room."""
        a, r = self.anchor, self.anchor_radius
        share, way = share_of_two_balls(w, a, r, self.x, self.radius)
        centre = a + share * way
        offset = w - centre
        room = r + share * (self.radius - r)
        return share, centre, offset, norm(offset), maximum(room, 0.0 * room)


def share_of_two_balls(
    w: Array, a: Array, r_a: Number, b: Array, r_b: Number
) -> tuple[Number, Array]:
    r"""Return which ball of the hull of B(a, r_a) and B(b, r_b) is nearest to w; r_a >= r_b.

    The balls of the hull are :math:`B(a + \lambda(b-a), r_a + \lambda(r_b-r_a))`; nearest is that
    with :math:`\lambda` the minimiser of
    :math:`\|w - a - \lambda(b-a)\| - \lambda(r_b-r_a)` over the :math:`\lambda \in [0, 1]` that
    leave a radius of at least 0. With q the product of w - a and b - a, p the distance of w to
    the line through a and b, :math:`D = \|b-a\|` and :math:`\Delta = r_b-r_a`:

    .. math:: \lambda = \big(q + \Delta\, p\, D/\sqrt{D^2-\Delta^2}\big)/D^2,

    and that of the larger ball where :math:`D \le |\Delta|`, because it holds the other.

    Args:
        w: the point.
        a: the centre of one ball.
        r_a: its radius, above 0.
        b: the centre of the other.
        r_b: its radius, which may be negative.

    Returns:
        The share :math:`\lambda` and b - a.

    Example:
        >>> import numpy as np
        >>> a, b = np.array([0.0, 0.0]), np.array([4.0, 0.0])
        >>> share_of_two_balls(np.array([2.0, 3.0]), a, 1.0, b, 1.0)[0]
        0.5
    """
    way = b - a
    squared, less = dot(way, way), r_b - r_a
    apart = squared - less * less
    if type(apart) is float:
        if apart <= 0.0:
            return (1.0 if less > 0.0 else 0.0), way
        off = w - a
        q = float(vdot(off, way))
        if not -math.inf < q / squared < math.inf:
            return math.nan, way  # so far away that no share can be told
        off = off - (q / squared) * way
        share = (q + less * math.sqrt(float(vdot(off, off)) * squared / apart)) / squared
        top = 1.0 if r_b >= 0.0 else r_a / -less
        # A NaN fails both comparisons; the caller sees it in the distance.
        return (0.0 if share < 0.0 else top if share > top else share), way
    other = apart > 0
    below = where(other, squared, 1.0)
    off = w - a
    q = dot(off, way)
    off = off - (q / below) * way
    share = (q + less * sqrt(dot(off, off) * below / where(other, apart, 1.0))) / below
    top = where(r_b >= 0, 1.0 + 0.0 * r_a, r_a / where(less < 0, -less, 1.0))
    share = minimum(maximum(share, 0.0 * r_a), top)
    return where(other, share, where(less > 0, 1.0 + 0.0 * r_a, 0.0 * r_a)), way


@dataclass(frozen=True, slots=True, kw_only=True)
class LipschitzHull:
    r"""Knowledge that g is convex with no subgradient longer than G_g on the feasible set.

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
        reach: the largest norm of a feasible point, which rounding scales with.
        evaluation_error: bound on the error of the g that is observed, where it may be larger than
            the rounding of a linear one (``constraint.evaluation_error(ball)``).

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

    def __post_init__(self) -> None:
        _check.positive(G_g=self.G_g, reach=self.reach)
        _check.plain(self, "G_g", "reach")
        if self.evaluation_error is not None:
            _check.nonnegative(evaluation_error=self.evaluation_error)
            _check.plain(self, "evaluation_error")

    @classmethod
    def trusted(cls, G_g: Number, reach: Number, evaluation_error: Number | None) -> LipschitzHull:
        """Return the same for constants that were checked before: a rule makes one per round."""
        made = object.__new__(cls)
        object.__setattr__(made, "G_g", G_g)
        object.__setattr__(made, "reach", reach)
        object.__setattr__(made, "evaluation_error", evaluation_error)
        return made

    def init(self, x1: Array) -> HullMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        return HullMemory(zero, x1, zero, zero, x1, zero)

    def see(
        self, memory: HullMemory, x: Array, g: Number, s: Array
    ) -> tuple[HullMemory, HullRegion]:
        """Return the memory with the round added, and the hull for the next action."""
        rounds = memory.rounds + 1.0
        if type(g) is float:
            if not -math.inf < g < math.inf:
                raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
            if memory.rounds == 0.0 and not g + self.lost(x.shape[-1]) * self.G_g < 0.0:
                raise InvalidValueError(
                    "the start must be strictly feasible, by more than the rounding of g, "
                    f"got g(x_1) = {g:g}"
                )
            if memory.rounds == 0.0:
                after = record(HullMemory, (rounds, x, g, rounds, x, g))
            elif memory.last_value < memory.anchor_value:
                a, value, t = memory.last, memory.last_value, memory.rounds
                after = record(HullMemory, (rounds, a, value, t, x, g))
            else:
                after = record(HullMemory, (rounds, *memory[1:4], x, g))
        else:
            g = where(abs(g) < math.inf, g, math.nan)
            first, deeper = memory.rounds == 0, memory.last_value < memory.anchor_value
            value = where(deeper, memory.last_value, memory.anchor_value)
            after = HullMemory(
                rounds,
                where(first, x, where(deeper, memory.last, memory.anchor)),
                where(first, g, value),
                where(first, rounds, where(deeper, memory.rounds, memory.anchor_round)),
                x,
                g,
            )
        return after, self.region(after, memory, s)

    def region(self, memory: HullMemory, before: HullMemory, s: Array) -> HullRegion:
        """Return the hull that a memory stands for."""
        lost = self.lost(memory.last.shape[-1])
        return record(
            HullRegion,
            (
                self,
                memory.anchor,
                -memory.anchor_value / self.G_g - lost,
                memory.last,
                -memory.last_value / self.G_g - lost,
                memory,
                before,
                s,
            ),
        )

    def noise(self, dimension: int) -> Number:
        r"""Return :math:`\delta`, a bound on the error of an observed g, with room for one sum."""
        unit = _UNIT * self.reach * self.G_g
        rounding = 16 * (dimension + 4) * unit
        if self.evaluation_error is None:
            return rounding
        return maximum(rounding, self.evaluation_error + 8 * unit)

    def lost(self, dimension: int) -> Number:
        r"""Return what the margin takes from a radius: :math:`2\delta/G_g + 16(n+8)uM`."""
        return 2 * self.noise(dimension) / self.G_g + 16 * (dimension + 8) * _UNIT * self.reach
