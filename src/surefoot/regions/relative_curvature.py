r"""What is certified where g may curve the more the steeper it is: exponentials, polynomials.

If g is twice differentiable with :math:`\|\nabla^2g\| \le L_0 + L_1\|\nabla g\|` on the feasible
set X, then for every x in X with :math:`s = \nabla g(x)`, *every p within* :math:`1/L_1` *of x
with*

.. math:: U(p) = g(x) + s^\top(p-x) + \tfrac{\beta_x}2\|p-x\|^2 \le 0, \qquad
          \beta_x = 2(e-2)(L_0 + L_1\|s\|) ,

*is feasible if* :math:`g(x) < 0`. *g need not be convex, and no bound on its curvature is known.*

*Proof.* Let d be a unit vector and :math:`u(t) = \|\nabla g(x+td) - s\|`. As long as the way is in
X, :math:`u' \le L_0 + L_1(\|s\| + u)`, so :math:`u \le (L_0/L_1 + \|s\|)(e^{L_1t} - 1)`. Integrate:
with :math:`r = L_1t \le 1`,

.. math:: g(x+td) \le g(x) + ts^\top d + (L_0 + L_1\|s\|)\frac{e^r - 1 - r}{L_1^2}
          \le U(x + td),

because :math:`(e^r - 1 - r)/r^2` rises to e - 2 at r = 1. Were g(p) > 0, the way from x to p would
leave X first at a q with g(q) = 0, and :math:`0 = g(q) \le U(q) < 0`, as U is convex, below 0 at x
and at most 0 at p. ∎

The region is that of two rows (:mod:`surefoot.regions.rows`): U, and
:math:`\frac c2(L_1\|p-x\|^2 - 1/L_1) \le 0` for the length. Errors of values and slopes are allowed
for as there, :math:`\|s\|` with the error of the slope; so is rounding. With
:math:`c \ge 1000\beta_x/L_1` an error of the slope shortens the length by less than a thousandth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.points import UNIT, reach_of
from surefoot.core.types import Array, Number
from surefoot.regions.anchor import Anchor
from surefoot.regions.certificates import CurvatureCertificate, PullCertificate
from surefoot.regions.checks import check_one_run, check_quadratic, check_reach, check_start
from surefoot.regions.curvature import CurvatureMemory
from surefoot.regions.errors import Errors
from surefoot.regions.region import Knowledge, Reading, Region
from surefoot.regions.rows import CurvatureRows, RowsRegion

__all__ = ["RelativeCurvature", "RelativeRegion"]


class RelativeCurvature(Knowledge):
    r"""Knowledge that the curvature of g is at most :math:`L_0 + L_1\|\nabla g\|` where feasible.

    For :math:`g = e^{a^\top x} - c` these are 0 and the norm of a.

    Args:
        L_0: the curvature where g is flat.
        L_1: how much of the slope it may be in addition, above 0.
        reach: M, the largest norm of a feasible point; that of the domain unless given.
        domain: a known set that holds every action.
        errors: how wrong readings may be; without drift.

    Example:
        >>> known = RelativeCurvature(L_0=0.0, L_1=2.0, reach=1.0)  # g = exp(2x) - 2
        >>> memory = known.observe(known.init(np.zeros(1)), Reading(np.zeros(1), -1.0,
        ...     np.array([2.0]), known.errors))
        >>> known.region(memory, known.errors).nearest(np.ones(1)).round(6)  # of log(2)/2 = 0.3466
        array([0.336924])
    """

    L_0: float = nonnegative()
    L_1: float = positive()
    reach: Number = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.errors.drifts:
            raise InvalidValueError(
                f"RelativeCurvature must be of a g that is fixed, got a drift of "
                f"{self.errors.drift!r}"
            )
        if self.reach is None:
            object.__setattr__(self, "reach", float(reach_of(self.domain)))

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove."""
        return {"L_0": self.L_0, "L_1": self.L_1}

    def init(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        check_one_run(x1, self.domain)
        here = Anchor(x1, math.inf, 0.0)
        return CurvatureMemory(0.0, here, math.inf, 0.0 * x1, None, None, 0.0, 0.0)

    def curvature(self, memory: CurvatureMemory) -> float:
        r"""Return :math:`\beta_x` of the last action, rounded up."""
        steep = float(norm(memory.s)) + float(memory.slope_error or 0.0)
        bent = 2 * (math.e - 2) * (self.L_0 + self.L_1 * steep)
        return bent * (1 + 64 * UNIT * (len(memory.s) + 8))

    def _region(self, memory: CurvatureMemory, errors: Errors) -> RelativeRegion:
        """Return the certified points, in the known set or not."""
        beta, (x, upper, when) = self.curvature(memory), memory.last
        more = 1e3 * max(beta / self.L_1, 1.0)
        short = -0.5 * more * (1 - 1e-12) / self.L_1
        rows = memory._replace(
            last=Anchor(x, np.array([[upper], [short]]), when),
            low=np.array([[memory.low], [short]]),
            s=np.stack([memory.s, 0.0 * memory.s]),
        )
        told: dict[str, Any] = {"reach": self.reach, "errors": self.errors, "convex": self.convex}
        known = CurvatureRows(beta=(beta, more * self.L_1), **told)
        return RelativeRegion(known, rows, memory.rounds + 1.0, errors)

    def observe(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory with a round in which something was read.

        From an action that may be outside nothing is certified: then what was known before is kept.
        """
        x, g, s, errors, age = reading
        if not math.isfinite(g) or not np.isfinite(s).all():
            raise InvalidValueError(
                f"constraint_value and constraint_subgradient must be finite, got {g!r} and {s!r}"
            )
        t, upper = memory.rounds + 1.0, float(g + errors.value)
        slope_error = float(errors.slope) or None
        made = CurvatureMemory(
            t, Anchor(x, upper, t - age), g - errors.value, s, slope_error, None, 0.0, 0.0
        )
        if memory.rounds == 0:
            check_start(g, upper, self._region(made, errors).noise)
            return made
        before = self._region(memory, errors)
        if before.contains(x):
            # What was certified before the round bounds g there as well as the reading does.
            stayed = bool((x == memory.last.x).all())
            upper = min(upper, memory.last.value if stayed else float(before.bounds(x)[0]))
        if upper > 0:
            return memory._replace(rounds=t)
        return made._replace(last=Anchor(x, upper, t - age))

    def region(self, memory: CurvatureMemory, errors: Errors) -> Region:
        """Return the ball as far as its bound holds, in the known set where there is one."""
        return self._region(memory, errors).within(self.domain)

    def contradictions(self, memory: CurvatureMemory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading has that is impossible if the constants are right."""
        x, g, _, errors, _ = reading
        t = int(memory.rounds) + 1
        found = check_reach(t, x, g + errors.value, float(self.reach))
        v = x - memory.last.x
        length = float(norm(v))
        if not memory.rounds or not length * self.L_1 <= 1:
            return found
        old, beta = self._region(memory, errors), self.curvature(memory)
        if not old.contains(x):
            return found
        over = g - errors.value - memory.last.value - float(memory.s @ v)
        over -= float(memory.slope_error or 0.0) * length
        return found + check_quadratic(t, g, length, over, beta, old.noise, errors)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return infinity: how much g rises beside an action is not known."""
        return math.inf


class RelativeRegion(RowsRegion):
    """The points where the bound of the last action is at most 0, as far as it holds."""

    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w, up to 2^-30 of the way there.

        Where the nearest point of the ball is too far from x, it is that of a wish nearer to x:
        the multiplier of the length draws the wish there.
        """
        ball = self.row(0)
        best = ball.nearest(w)
        if self.contains(best):
            return best
        best, low, high = self.x, 0.0, 1.0
        for _ in range(30):
            share = 0.5 * (low + high)
            point = ball.nearest(self.x + share * (w - self.x))
            if self.contains(point):
                best, low = point, share
            else:
                high = share
        return best

    def certificate(self, x: Array, cut: bool = False) -> CurvatureCertificate | PullCertificate:
        """Return why a point that the region gave is feasible."""
        return self.row(0).certificate(x, cut)
