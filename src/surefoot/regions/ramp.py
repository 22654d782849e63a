r"""Actuators with ramps: an action may differ from the last by at most r, also under drift.

For a fixed g the ball :math:`B(x_t, r)` is announced in every round: :math:`x_t` is certified and
in it, so there is always an action. Under a drift of v the set may come in faster than r.

**Theorem R.** *Let* :math:`g_t` *be convex with* :math:`|g_{t+1} - g_t| \le v`\ *, and a an action
with* :math:`g_t(a) \le -\alpha < 0` *in every round (a machine that is off). Play only certified
actions within* :math:`r(1 + \alpha/v)` *of a and within r of the last, and where there is none the
point y that is r nearer to a. Then there always is an action, no step is longer than r, and*
:math:`g_t(x_t) \le 0` *in every round.*

*Proof.* If :math:`g_t(x_t) \le 0` and :math:`D = \|x_t - a\| \le r(1 + \alpha/v)`, then y is the
share :math:`\theta = \min(1, r/D) \ge v/(v+\alpha)` of the way to a, so that convexity gives
:math:`g_{t+1}(y) \le (1-\theta)v - \theta\alpha \le 0`; and y is within D of a. So both hold in the
next round, whatever was played: no plan need be kept. ∎ With one ramp per coordinate, D and r are
measured as :math:`\max_i|x_i - a_i|/r_i` and 1.

The distance is tight: a limit on a line that is :math:`-\alpha` at a and 0 at D, and v at D a round
later, has its zero :math:`Dv/(v+\alpha)` nearer then, which is more than r for a larger D.

Rounding: with m what a hull takes off a slack (:mod:`surefoot.regions.hull`),
:math:`r(v + \alpha)/(v + 2m + 10^{-11}(v + \alpha))` is the distance instead, which leaves
:math:`g_{t+1}(y)` below 0 by more than m.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Certificate
from surefoot.core.types import Region as Set
from surefoot.regions.anchor import Anchor, StandingAnchor
from surefoot.regions.checks import check_wish
from surefoot.regions.hull import HullRegion, LipschitzHull
from surefoot.regions.nearest import EVERYWHERE, KnownSets, draw_back
from surefoot.regions.region import Knowledge, Projection, Region, Within
from surefoot.sets import Ball, Box

__all__ = ["Ramped", "check_ramp", "limit_steps"]


def check_ramp(ramp: Any, knowledge: Knowledge) -> Any:
    """Return a ramp, a number or one per coordinate; refuse one that nothing is proved of."""
    found = checks.to_vector(np.atleast_1d(ramp), "ramp")
    if not (found > 0).all():
        raise InvalidValueError(f"ramp must be above 0, got {ramp!r}")
    standing = isinstance(knowledge, LipschitzHull) and knowledge.start_bound is not None
    if knowledge.errors.drifts and not standing:
        raise InvalidValueError(
            "ramp needs a LipschitzHull with a start_bound where g drifts: an action that is "
            f"feasible in every round, got {checks.repr_line(knowledge)}"
        )
    return float(found[0]) if np.ndim(ramp) == 0 else tuple(found.tolist())


def _around(x: Array, ramp: Any, share: float = 1.0) -> Set:
    """Return the actions that are at most so many ramps from x."""
    if isinstance(ramp, float):
        return Ball(share * ramp, x)
    width = share * np.array(ramp)
    return Box(x - width, x + width)


def limit_steps(
    knowledge: Knowledge, memory: Any, region: Region, x: Array, ramp: Any, certain: bool
) -> Region:
    """Return the part of a region that the actuators reach, and the way back where it is empty.

    Args:
        knowledge: what is known of g.
        memory: what was read.
        region: the certified actions.
        x: the action that was played.
        ramp: r.
        certain: whether x was certified.
    """
    near = _around(x, ramp)
    if not isinstance(knowledge, LipschitzHull) or not knowledge.errors.drifts:
        return region.within(near)
    assert knowledge.start_bound is not None
    t, drift, off = memory.rounds, float(knowledge.errors.drift), memory.start.x
    slack, lost = -float(knowledge.start_bound), knowledge._lost(len(x)) * knowledge.G_g
    both = drift + slack
    far = _around(off, ramp, both / (drift + 2 * lost + 1e-11 * both))
    whole: Region = region.base.whole.within(knowledge.domain, near, far)
    level = memory.last.level(t, drift) if (memory.last.x == x).all() else math.inf
    level = min(level, 0.0) if certain else level
    if level == math.inf:
        return whole
    anchor = StandingAnchor(off, -slack, memory.start.round)
    back = HullRegion(knowledge, t, anchor, Anchor(x, level, t), t + 1.0, region.errors)
    point, ramps = _step_back(x, off, ramp), KnownSets(near, far)
    return Ramped(whole, back.within(knowledge.domain), point, ramps)


def _step_back(x: Array, off: Array, ramp: Any) -> Array:
    """Return the point that is one ramp nearer to the action that is always feasible."""
    way = off - x
    ramps = norm(way) / ramp if isinstance(ramp, float) else float(np.max(np.abs(way) / ramp))
    return off if ramps <= 1.0 else x + ((1 - 1e-12) / ramps) * way


class Ramped(Within):
    """Certified actions that a ramp reaches; where there are none, the one that is nearer to off.

    Args:
        reached: the certified actions that the ramp reaches.
        back: what is certified by the last action and the one that is always feasible.
        point: the way back.
        ramps: what the ramp reaches.
    """

    def __init__(self, reached: Region, back: Region, point: Array, ramps: KnownSets) -> None:
        super().__init__(reached, EVERYWHERE)
        self.reached, self.back, self.point, self.ramps = reached, back, point, ramps

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified and reached, or is the way back."""
        return bool(self.reached.contains(w)) or self._is_way_back(w)

    def _is_way_back(self, w: Array) -> bool:
        return bool((w == self.point).all()) and bool(self.back.contains(w))

    def nearest(self, w: Array) -> Array:
        """Return nearly the certified action nearest to w that the ramp reaches; else the way back.

        What the ramp reaches of the wish is taken to the hull, and drawn to the way back where that
        leads too far; only where the way back is not in the hull is more looked for.
        """
        check_wish(w, self.x)
        reached = self.reached
        if reached.contains(w):
            return w
        for known in self.ramps.sets:
            w = known.project(w)
        near = self.part.nearest(w)
        if reached.contains(near):
            return near
        if reached.contains(self.point):
            found = draw_back(lambda p: bool(reached.contains(p)), EVERYWHERE, self.point, near)
            return self.point if found is None else found
        if self._is_way_back(self.point):
            return self.point
        return reached.nearest(w)

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point; it has no multipliers."""
        point = self.nearest(w)
        far = norm(point - w)
        return Projection(point, 0.0 * far, far)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point."""
        return self.find_nearest(w)

    def within(self, *sets: Set | None) -> Region:
        """Return the part that is in further sets; the way back is not cut."""
        return Ramped(self.reached.within(*sets), self.back, self.point, self.ramps)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point is feasible."""
        kind = self.reached if bool(self.reached.contains(x)) else self.back
        return kind.certificate(x, cut)
