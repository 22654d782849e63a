"""The region of several constraints with bounded curvature, and its memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    certainly,
    combine,
    dot,
    namespace,
    rows_dot,
    squared_and_norm,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import marked
from surefoot.core.types import Array, Number, Region
from surefoot.regions._anchor import DriftAnchor, pulled
from surefoot.regions._ball import Found, along_slope
from surefoot.regions._bent import answered, lengths_of_bent, searched
from surefoot.regions._certificates import (
    CurvatureCertificate,
    HullOfBallsCertificate,
    above_quadratic,
    beyond_reach,
)
from surefoot.regions._curvature_region import CurvatureMemory, CurvatureRegion
from surefoot.regions._errors import Errors
from surefoot.regions._known import known_set
from surefoot.regions._quadratics import (
    ascend,
    largest_share,
    length_unless,
    point_of,
    row_norms,
    values,
)
from surefoot.regions._within import common_point, nearest_within, pulled_into
from surefoot.regions.curvature import Curvature
from surefoot.sets._active_set import project_halfspaces

__all__ = ["RowsMemory", "RowsRegion"]

# A wish at the end of float64 has squares beyond it; what comes of them is compared, and not taken.
_QUIETLY = np.errstate(over="ignore", invalid="ignore")


class RowsMemory(CurvatureMemory):
    """The last round seen of several constraints: ``g``, ``s`` and ``low`` have one entry per row.

    Example:
        >>> RowsMemory(1.0, np.zeros(2), np.array([-0.5, -0.3]), np.eye(2)).g
        array([-0.5, -0.3])
    """

    __slots__ = ()


class RowsRegion(NamedTuple):
    """The points in which every quadratic bound is at most 0, and that are in the known set.

    Attributes:
        known: the constants.
        x: the action that was played.
        g: the values there, ``(m,)``, or ``(B, m)`` for a batch; with errors or drift, the bounds
            on the next ones there.
        s: the slopes there, ``(m, d)`` or ``(B, m, d)``.
        margin: e of each row, for rounding.
        before: the memory without the round.
        announced: a set that was announced for the next round alone.
        low: the lower bounds on the values there.
        errors: what is allowed for; None for exact values of a fixed g.
        anchor: under drift the deepest action as it is in the next round; else None.
        whole: the region with an error of the slope that these balls are inside of; else None.
    """

    known: Any
    x: Array
    g: Array
    s: Array
    margin: Array
    before: RowsMemory
    announced: Region | None = None
    low: Number = -math.inf
    errors: Errors | None = None
    anchor: DriftAnchor | None = None
    whole: RowsRegion | None = None

    def within(self, announced: Region) -> RowsRegion:
        """Return the region cut down to a set that was announced for the next round."""
        return self._replace(announced=known_set(announced, "announced"))

    @property
    def radii(self) -> Array:
        r"""Return :math:`\nu_i`, the slope on each sphere."""
        xp, size = namespace(self.g), row_norms(self.s)
        up = self.g + self.margin
        return xp.sqrt(xp.maximum(size * size - 2 * self.known.rates(self.g) * up, 0.0 * up))

    @property
    def longest(self) -> Number:
        r"""Return the least :math:`\nu_i/(2\beta_i)`, the longest step that :meth:`cut` is for."""
        xp, rates = namespace(self.g), self.known.rates(self.g) + 0.0 * self.g
        bent = rates > 0
        each = xp.where(bent, 0.5 * self.radii / xp.where(bent, rates, 1.0 + 0.0 * rates), math.inf)
        least = xp.min(each, axis=-1, keepdims=each.ndim > 1)
        return float(least) if type(least) is np.float64 else least

    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w; w itself where it is in the region."""
        return self.nearest_from(w, 0.0 * self.g).point

    @_QUIETLY
    def nearest_from(self, w: Array, weights: Array) -> Found:
        """Return the nearest point and its multipliers, from multipliers that are near.

        Args:
            w: the wanted action.
            weights: those of a similar problem; only how soon the search ends depends on them.
        """
        if self.errors is None:
            return self.search(w, weights)
        return answered(self, w, lambda region, end: region.search(end, weights))

    def search(self, w: Array, weights: Array | None = None) -> Found:
        """Return the nearest point of a region without an error of the slope."""
        weights = 0.0 * self.g if weights is None else weights
        v, rates = self._way(w), self.known.rates(self.g)
        up, good = self.g + self.margin, self.holds(w)
        if certainly(good):
            return Found(w, 0.0 * weights, 0.0)
        if self.sets:
            return nearest_within(self, w, v, up, rates, weights)
        size = row_norms(self.s)
        weights = ascend(v, up, self.s, size * size, rates, weights, self.known.sweeps)
        q = point_of(weights, v, self.s, rates)
        # A far point loses digits: once more from where they are not lost, with what is over.
        over = namespace(up).maximum(values(q, up, self.s, rates), 0.0 * up)
        again = q - combine(over / where(size > 0, size * size, 1.0), self.s)
        point = where(good, w, self._best(self.x + q, self.x + again))
        weights = where(good, 0.0 * weights, weights)
        return Found(point, weights, length_unless(good, point - self.x - q))

    @_QUIETLY
    def cut(self, w: Array) -> Found:
        r"""Return where a step to w ends that is cut by half-spaces, not by balls.

        The half-spaces are :math:`g_i + s_i^\top(q-x) + \frac{\beta_i}2\bar P^2 \le 0`, with
        :math:`\bar P` the length of the step: descent by such cuts loses a constant to that by
        projections onto the known set (docs/certified.md, Theorem C). One row is drawn back along
        its slope.
        """
        return self._cut(w) if self.errors is None else answered(self, w, RowsRegion._cut)

    def _cut(self, w: Array) -> Found:
        v, rates = self._way(w), self.known.rates(self.g)
        up, good = self.g + self.margin, self.holds(w)
        if certainly(good):
            return Found(w, 0.0 * self.g, 0.0)
        if self.sets:
            return nearest_within(self, w, v, up, 0.0 * rates)
        size = row_norms(self.s)
        if self.g.shape[-1] == 1:
            first = self._first(up), self.s[..., 0, :], self._first(size)
            q, weight = along_slope(v, *first, self.known.rate_of_one)
            weights = weight * (1.0 + 0.0 * self.g)
            point = self.checked(where(good, w, self.x + q))
        else:
            long, more = self._half_spaces(v, up + 0.5 * rates * dot(v, v), size)
            # Without curvature no length moves the half-spaces, and the first answer is the last.
            flat = type(rates) in (float, np.ndarray) and not np.any(rates)
            q, weights = long, more
            if not flat:
                q, weights = self._half_spaces(v, up + 0.5 * rates * dot(long, long), size)
            passed = self.holds(self.x + q)
            if not (flat or certainly(passed) or (type(passed) is np.ndarray and passed.all())):
                # That step was longer than the one before: half-spaces moved for its own length.
                third, last = self._half_spaces(v, up + 0.51 * rates * dot(q, q), size)
                q, weights = where(passed, q, third), where(passed, weights, last)
                passed = self.holds(self.x + q)
            point = where(good, w, self._best(self.x + long, self.x + q))
            q, weights = where(passed, q, long), where(passed, weights, more)
        weights = where(good, 0.0 * weights, weights)
        return Found(point, weights, length_unless(good, point - self.x - q))

    def price(self, v: Array, weights: Array) -> Number:
        r"""Return what a cut costs: :math:`\frac12\|S^\top\mu\|^2 - \mu^\top(g + Sv)`; Theorem C.

        Args:
            v: the step that was cut.
            weights: :math:`\mu`, one multiplier per row.
        """
        pulled = combine(weights, self.s)
        least = self.g
        if self.errors is not None:
            least = self.low - 2 * self.known.reach * self.errors.slope
        seen = least - self.margin + rows_dot(self.s, v)
        return 0.5 * dot(pulled, pulled) - dot(weights, seen)

    def normal_error(self, weights: Array, way: Array) -> tuple[Number, Number]:
        r"""Return :math:`\Lambda = \sum_i\lambda_i\beta_i` of Theorem K, and what rounding adds.

        Args:
            weights: the multipliers.
            way: from x to the point that was found.
        """
        rates, up, hidden = self.known.rates(self.g), self.g + self.margin, 0.0
        if self.errors is not None:
            # A comparator may have what the errors hide, and the balls were those of this length.
            tau, length = self.errors.slope, squared_and_norm(way)[1]
            hidden = self.g - self.low + (2 * self.known.reach + 0.5 * length) * tau
            rates = rates + where(length > 0, tau / where(length > 0, length, 1.0), 0.0 * length)
            up = up + 0.5 * tau * length
        over = values(way, up, self.s, rates)
        loose = namespace(over).maximum(2 * self.margin + hidden - over, 0.0 * over)
        return dot(weights, rates + 0.0 * over), dot(weights, loose)

    def pulled(self) -> tuple[Array, Any]:
        """Return the point towards the anchor where convexity bounds g by 0; whether there is."""
        if self.anchor is None:
            return self.x, False
        point, share = pulled(self.x, self.g + self.margin, self.anchor)
        if not self.sets:
            return point, share <= 1
        return pulled_into(self, point, share)

    def somewhere(self) -> Array:
        """Return a certified point near x; one run is refused where there is none."""
        if type(self.g) is np.ndarray and self.g.ndim == 1:
            return common_point(self)
        return searched(self, self.x, RowsRegion.search).point

    @property
    def slope_error(self) -> Number:
        """The error of the slopes; None for none."""
        return None if self.errors is None else self.known.slope_error

    def bent(self, length: Number) -> RowsRegion:
        """Return balls inside of this region, that touch it at a distance from x."""
        tau = self.slope_error
        known = self.known.changed(
            beta=self.known.rates(self.g) + tau / length + 0.0 * self.g, slope_error=None
        )
        return self._replace(known=known, g=self.g + 0.5 * tau * length, whole=self)

    def lengths(self) -> tuple[Number, Number]:
        """Return between which lengths :meth:`bent` has a point in the ball of every row."""
        xp, size, many = namespace(self.g), row_norms(self.s), self.g.ndim > 1
        rates, tau = self.known.rates(self.g) + 0.0 * self.g, self.slope_error + 0.0 * self.g
        low, high = lengths_of_bent(self.g + self.margin, size * size, rates, tau)
        least, most = (
            xp.max(low, axis=-1, keepdims=many),
            xp.min(high, axis=-1, keepdims=many),
        )
        if type(least) is np.float64:
            return float(least), float(most)
        return least, most

    def bound(self, point: Array) -> Number:
        """Return the largest bound of all rows at a point of one run."""
        return float(self.bounds(point).max())

    def _half_spaces(self, v: Array, up: Array, size: Array) -> tuple[Array, Array]:
        """Project v onto half-spaces, all at once where the search is exact."""
        if self.known.exact:
            # The check has half of the margin; multipliers of rows that nearly cancel are refused.
            tolerance, longest = 0.25 * float(self.margin.min()), 8 * float(self.known.reach)
            found = project_halfspaces(up + self.s @ v, self.s, tolerance, longest)
            if found is not None:
                return v + found[0], found[1]
        weights = ascend(v, up, self.s, size * size, 0.0, 0.0 * up, self.known.sweeps)
        return v - combine(weights, self.s), weights

    def _best(self, first: Array, second: Array) -> Array:
        """Return the second point if it passes, else the first, else what passes of the way."""
        # The last action passed with half of the margin: the whole of it may be too much to ask.
        up = self.g + 0.6 * self.margin
        share = largest_share(first - self.x, up, self.s, self.known.rates(self.g))
        drawn = self.checked(self.x + share * (first - self.x))
        kept = where(self.holds(first), first, drawn)
        return where(self.holds(second), second, kept)

    def checked(self, point: Array) -> Array:
        """Return the point if it passes the check of every row and set, else x."""
        return where(self.holds(point), point, self.x)

    def bounds(self, point: Array) -> Array:
        """Return the certified bound on each row at a point: U_i(p) and half of the margin."""
        q, up = point - self.x, self.g + 0.5 * self.margin
        if self.slope_error is not None:
            up = up + self.slope_error * squared_and_norm(q)[1]
        return values(q, up, self.s, self.known.rates(self.g))

    def holds(self, point: Array) -> Any:
        """Return whether a point passes the check of every row and set; per run in a batch."""
        xp = namespace(self.g)
        good = xp.all(self.bounds(point) <= 0, axis=-1, keepdims=self.g.ndim > 1)
        if type(good) is np.bool_:
            good = bool(good)
        for known in self.sets:
            good = good & known.contains(point)
        return good

    @property
    def sets(self) -> tuple[Region, ...]:
        """The sets that were known or announced."""
        both = (self.known.domain, self.announced)
        return tuple(one for one in both if one is not None)

    def _first(self, numbers: Array) -> Number:
        """Return the number of the only row as its run wants it."""
        if type(numbers) is np.ndarray and numbers.ndim == 1:
            return float(numbers[0])
        return numbers[..., 0] if numbers.ndim == 1 else numbers[:, :1]

    def _way(self, w: Array) -> Array:
        if type(self.g) is not np.ndarray or self.g.ndim > 1:
            return marked(w) - self.x
        v = w - self.x
        if not squared_and_norm(v)[0] < math.inf:
            checks.refuse_unfinite(to_numpy(w), "the wanted action")
            raise InvalidValueError("the wanted action must have a finite distance from x")
        return v

    # --- words -----------------------------------------------------------------------------------

    def certificate(self, point: Array, t: int) -> CurvatureCertificate | HullOfBallsCertificate:
        """Return why a point that the region gave is feasible: the row with the largest bound."""
        row = int(self.bounds(point).argmax())
        if self.anchor is not None and not self.holds(point):
            row = int((self.g + self.margin).argmax())
        found = self.row(row).certificate(point, t)
        if len(self.g) == 1 or isinstance(found, HullOfBallsCertificate):
            return found
        return found._replace(row=row)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the curvatures are right, as sentences."""
        before, t = self.before, int(self.before.rounds) + 1
        upper = self.low + self.margin + (0.0 if self.errors is None else 2 * self.errors.value)
        found = beyond_reach(t, self.x, float(np.max(upper)), float(self.known.reach))
        if before.rounds == 0:
            return found
        v = self.x - before.x
        rise = self.low - before.g - before.s @ v, before.low - self.g + self.s @ v
        # By more than this round's margin alone: what only rounds needs no sentence made for it.
        over = np.maximum(*rise) > 0.5 * self.known.rates(self.g) * dot(v, v) + self.margin
        if not over.any():
            return found
        old = self.known.region(before, before, self.errors)
        for i in np.flatnonzero(over).tolist():
            name = "g" if len(self.g) == 1 else f"g[{i}]"
            pair = old.row(i), self.row(i)
            noise = float(pair[0].margin + pair[1].margin)
            found += above_quadratic(t, *pair, float(pair[0].known.beta), noise, name)
        return found

    def row(self, i: int) -> CurvatureRegion:
        """Return the region of one row of one run."""
        known, s = self.known, self.s[i]
        beta = float(np.broadcast_to(known.rates(self.g), self.g.shape)[i])
        tau = None if self.errors is None else known.slope_error
        one = Curvature(beta=beta, reach=known.reach, slope_error=tau)
        g, e = float(self.g[i]), float(self.margin[i])
        low = float(np.broadcast_to(self.low, self.g.shape)[i])
        none, anchor = one.init(self.x), self.anchor
        if anchor is not None:
            anchor = anchor._replace(g=float(anchor.g[i]))
        return CurvatureRegion(one, self.x, g, s, dot(s, s), e, none, low, self.errors, anchor)
