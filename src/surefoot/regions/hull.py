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
bound that was certified before it was played, with :math:`\delta` for the rounding of that bound,
where this is smaller; one that was seen k rounds
before the next, under a drift of v per round, as kv more. Slopes are not used, so that their error
costs nothing here. An anchor that ages loses its ball: once drift may have used half of its slack
the hull is the anchor alone, which is visited and so measured again. Where no ball is left,
:class:`surefoot.regions.EmptyRegionError` is raised, and a run of a batch becomes NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from surefoot.core import checks
from surefoot.core.arrays import (
    maximum,
    minimum,
    namespace,
    ndarray,
    number_like,
    raised,
    record,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.holding import KeepsRounding
from surefoot.core.types import Array, Number
from surefoot.regions._errors import Errors, check_errors, error_of
from surefoot.regions._hull_region import POINT, HullMemory, HullRegion

__all__ = ["HullMemory", "HullRegion", "LipschitzHull"]

_UNIT = 2.0**-53


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
        checks.positive(G_g=self.G_g, reach=self.reach)
        checks.plain(self, "G_g", "reach")
        if self.evaluation_error is not None:
            checks.nonnegative(evaluation_error=self.evaluation_error)
            checks.plain(self, "evaluation_error")
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
        self,
        memory: HullMemory,
        x: Array,
        g: Number,
        s: Array | None,
        value_error: Number | None = None,
    ) -> tuple[HullMemory, HullRegion]:
        """Return the memory with the round added, and the hull for the next action.

        No slope is needed; None says that there was none.
        """
        rounds, errors, upper = memory.rounds + 1.0, error_of(self, value_error), g
        if errors is not None:
            upper = g + errors.value
        if type(g) is float:
            if not -math.inf < g < math.inf:
                raise InvalidValueError(f"constraint_value must be finite, got {g!r}")
            if s is not None:
                checks.refuse_unfinite(s, "constraint_subgradient")
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
            # Outwards: where the anchor is visited this is its bound from now on.
            aged = raised(aged + raised(self.drift * (memory.rounds - memory.anchor_round)))
            visited = _same(memory.last, memory.anchor)
        deeper = memory.last_value < aged
        fresh = deeper | visited
        value = where(fresh, minimum(memory.last_value, aged), memory.anchor_value)
        if not exact:
            # What was certified before the round bounds g there as well as the reading does, but
            # for its rounding: steps that are too short to change it would add up.
            hull, stayed = self.hull(memory), _same(x, memory.last)
            before, (noise, _) = hull.bound(x), self.kept_rounding(x.shape[-1])
            carried = minimum(upper, where(stayed, hull.level, before + noise))
            upper = where(stayed | (before <= 0), carried, upper)
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
        s: Array | None,
        g: Number | None = None,
        errors: Errors | None = None,
    ) -> HullRegion:
        """Return the hull that a memory stands for; under drift, the anchor alone at times."""
        hull = self.whole(memory, before, s, g, errors)
        if self.drift is None:
            return hull
        _, a, r_a, x, r, *_, high_a, high, _, _ = hull
        # The anchor is visited once drift may have used half of the slack that was seen there.
        visit = (high_a >= 0.5 * memory.anchor_value) & (r_a > r) & (r_a > 0)
        return hull._replace(
            anchor_radius=where(visit, POINT + 0.0 * r_a, r_a),
            x=where(visit, a, x),
            radius=where(visit, POINT + 0.0 * r, r),
            level=where(visit, high_a, high),
        )

    def whole(
        self,
        memory: HullMemory,
        before: HullMemory,
        s: Array | None,
        g: Number | None = None,
        errors: Errors | None = None,
    ) -> HullRegion:
        """Return the hull that a memory stands for, also where the anchor is to be visited."""
        hull = self.hull(memory, before, s, g, errors)
        if self.drift is None:
            return hull
        _, a, r_a, x, r, *_, high_a, high, _, _ = hull
        # Without a ball of its own the anchor is no help, and of two without the deeper is told.
        swap = (r_a <= 0) & (r >= r_a)
        return hull._replace(
            anchor=where(swap, x, a),
            anchor_radius=where(swap, r, r_a),
            anchor_level=where(swap, high, high_a),
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
            # Outwards: the bound before a round may be all that is known after it.
            aging = raised(self.drift * (memory.rounds + 1.0 - memory.anchor_round))
            high_a, high = raised(high_a + aging), raised(high + self.drift)
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


def _same(x: Array, y: Array) -> Any:
    """Return whether two actions are the same; a column of answers for a batch."""
    found = namespace(x).all(x == y, axis=-1, keepdims=x.ndim > 1)
    return bool(found) if type(x) is ndarray and x.ndim == 1 else found
