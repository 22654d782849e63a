r"""Several constraints with a bound on the curvature of each, and a known set beside them.

All of them must be seen in every round: the maximum of smooth functions is not smooth, so that the
curvature of the largest one alone certifies nothing. The region is the intersection of the balls
and half-spaces :math:`U_i(p) = g_i + s_i^\top(p-x) + \frac{\beta_i}2\|p-x\|^2 \le 0`
(:mod:`surefoot.regions.curvature`), and of a closed convex set K that is known from the beginning,
or announced before the round. They are projected onto together: a point that is projected onto the
balls first and onto K then leaves the balls in a quarter of the cases.

Whatever the search returns is checked in float64, row by row with half of the margin, and by K's
own ``contains``; if that fails, the way there from a point that passes is shortened until it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._array import (
    certainly,
    combine,
    constant,
    dot,
    namespace,
    number_like,
    rows_dot,
    squared_and_norm,
    to_numpy,
    where,
)
from surefoot.errors import InvalidValueError
from surefoot.regions._ball import Found, along_slope, curvature_margin, kept
from surefoot.regions._known import known_set
from surefoot.regions._quadratics import (
    ascend,
    largest_share,
    length_unless,
    point_of,
    row_norms,
    values,
)
from surefoot.regions._within import nearest_within
from surefoot.regions.curvature import (
    Curvature,
    CurvatureCertificate,
    CurvatureRegion,
    above_quadratic,
)
from surefoot.sets._active_set import project_halfspaces
from surefoot.sets._points import marked
from surefoot.types import Array, Number, Region

__all__ = ["CurvatureRows", "RowsMemory", "RowsRegion"]

# A wish at the end of float64 has squares beyond it; what comes of them is compared, and not taken.
_QUIETLY = np.errstate(over="ignore", invalid="ignore")


class RowsMemory(NamedTuple):
    """The last round seen, against which a wrong curvature is noticed.

    Attributes:
        rounds: how many rounds were seen.
        x: the last action.
        g: the values there, one per row.
        s: the slopes there, one per row.
    """

    rounds: Number
    x: Array
    g: Array
    s: Array


class RowsRegion(NamedTuple):
    """The points in which every quadratic bound is at most 0, and that are in the known set.

    Attributes:
        known: the constants.
        x: the action that was played.
        g: the values there, ``(m,)``, or ``(B, m)`` for a batch.
        s: the slopes there, ``(m, d)`` or ``(B, m, d)``.
        margin: e of each row, for rounding.
        before: the memory without the round.
        announced: a set that was announced for the next round alone.
    """

    known: CurvatureRows
    x: Array
    g: Array
    s: Array
    margin: Array
    before: RowsMemory
    announced: Region | None = None

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
        v, rates = self._way(w), self.known.rates(self.g)
        up, good = self.g + self.margin, self.holds(w)
        if certainly(good):
            return Found(w, 0.0 * weights, 0.0)
        if self.sets:
            return nearest_within(self, w, v, up, rates)
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
            q, weights = self._half_spaces(v, up + 0.5 * rates * dot(long, long), size)
            passed = self.holds(self.x + q)
            if not (certainly(passed) or (type(passed) is np.ndarray and passed.all())):
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
        seen = self.g - self.margin + rows_dot(self.s, v)
        return 0.5 * dot(pulled, pulled) - dot(weights, seen)

    def normal_error(self, weights: Array, way: Array) -> tuple[Number, Number]:
        r"""Return :math:`\Lambda = \sum_i\lambda_i\beta_i` of Theorem K, and what rounding adds.

        Args:
            weights: the multipliers.
            way: from x to the point that was found.
        """
        rates = self.known.rates(self.g)
        over = values(way, self.g + self.margin, self.s, rates)
        loose = namespace(over).maximum(2 * self.margin - over, 0.0 * over)
        return dot(weights, rates + 0.0 * over), dot(weights, loose)

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
        return values(point - self.x, self.g + 0.5 * self.margin, self.s, self.known.rates(self.g))

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
            _check.refuse_unfinite(to_numpy(w), "the wanted action")
            raise InvalidValueError("the wanted action must have a finite distance from x")
        return v

    # --- words -----------------------------------------------------------------------------------

    def certificate(self, point: Array, t: int) -> CurvatureCertificate:
        """Return why a point that the region gave is feasible: the row with the largest bound."""
        row = int(self.bounds(point).argmax())
        found = self._row(row).certificate(point, t)
        return found if len(self.g) == 1 else found._replace(row=row)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the curvatures are right, as sentences."""
        before = self.before
        if before.rounds == 0:
            return ()
        v = self.x - before.x
        rise = self.g - before.g - before.s @ v, before.g - self.g + self.s @ v
        over = np.maximum(*rise) > 0.5 * self.known.rates(self.g) * dot(v, v)
        if not over.any():
            return ()
        old = self.known.region(before, before)
        t = int(before.rounds) + 1
        found: tuple[str, ...] = ()
        for i in np.flatnonzero(over).tolist():
            name = "g" if len(self.g) == 1 else f"g[{i}]"
            pair = old._row(i), self._row(i)
            noise = float(pair[0].margin + pair[1].margin)
            found += above_quadratic(t, *pair, float(pair[0].known.beta), noise, name)
        return found

    def _row(self, i: int) -> CurvatureRegion:
        known, s = self.known, self.s[i]
        beta = float(np.broadcast_to(known.rates(self.g), self.g.shape)[i])
        one = Curvature(beta=beta, reach=known.reach, evaluation_error=known.evaluation_error)
        g, e = float(self.g[i]), float(self.margin[i])
        return CurvatureRegion(one, self.x, g, s, dot(s, s), e, one.init(self.x))


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvatureRows:
    r"""Knowledge that each of several constraints curves upwards by at most :math:`\beta_i`.

    Args:
        beta: one number for all rows, or one per row; 0 for a row that is affine.
        rows: how many constraints there are; as many as there are curvatures unless given.
        reach: M, the largest norm of a feasible point, which rounding scales with.
        domain: a known closed convex set that holds every action, projected onto jointly with what
            is certified; NumPy only. None where nothing is known.
        sweeps: how often each row has its turn in a search, at most.
        exact: whether cuts by half-spaces are solved by active sets; one NumPy run without a
            known set only.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.

    Example:
        >>> from surefoot.sets import Box
        >>> known = CurvatureRows(beta=(1.0, 0.0), reach=1.5, domain=Box([0.0, 0.0], [0.2, 1.0]))
        >>> x = np.array([0.1, 0.1])
        >>> g, s = np.array([-0.5, -0.3]), np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> memory, region = known.see(known.init(x), x, g, s)
        >>> region.nearest(np.array([2.0, 2.0])).round(6)  # the box, and x[0] + x[1] <= 0.5
        array([0.2, 0.3])
    """

    beta: Number | tuple[float, ...]
    reach: Number
    rows: int = 0
    domain: Region | None = None
    sweeps: int = 16
    exact: bool = False
    evaluation_error: Number | None = None

    def __post_init__(self) -> None:
        if isinstance(self.beta, (tuple, list, np.ndarray)) and np.ndim(self.beta) == 1:
            beta = _check.vector(self.beta, "beta")
            for i, value in enumerate(beta):
                _check.nonnegative(**{f"beta[{i}]": value})
            object.__setattr__(self, "beta", tuple(float(b) for b in beta))
            if self.rows not in (0, len(beta)):
                raise InvalidValueError(
                    f"rows must be {len(beta)}, one per curvature in beta, got {self.rows!r}"
                )
            object.__setattr__(self, "rows", len(beta))
        else:
            _check.nonnegative(beta=self.beta)
            _check.plain(self, "beta")
            _check.whole(self.rows, "rows", "the number of constraints where beta is one number")
        _check.positive(reach=self.reach)
        _check.plain(self, "reach")
        _check.whole(self.sweeps, "sweeps")
        if self.domain is not None:
            known_set(self.domain, "domain")
        if self.evaluation_error is not None:
            _check.nonnegative(evaluation_error=self.evaluation_error)
            _check.plain(self, "evaluation_error")

    def rates(self, like: Array) -> Number:
        """Return the curvatures in a form that broadcasts with the values."""
        if type(self.beta) is not tuple:
            return self.beta
        if all(type(b) is float for b in self.beta):
            return constant(np.array(self.beta), like)
        return namespace(like).stack([0.0 * like[..., 0] + b for b in self.beta], axis=-1)

    @property
    def rate_of_one(self) -> Number:
        """The curvature of the only row."""
        return self.beta[0] if type(self.beta) is tuple else self.beta

    def with_rates(self, rates: Array) -> CurvatureRows:
        """Return the same for one run of a batch."""
        beta = tuple(float(b) for b in rates)
        return CurvatureRows(beta=beta, reach=self.reach, domain=self.domain, sweeps=self.sweeps)

    def without_domain(self) -> CurvatureRows:
        """Return the same without the known set."""
        return CurvatureRows(beta=self.beta, reach=self.reach, rows=self.rows, sweeps=self.sweeps)

    def init(self, x1: Array) -> RowsMemory:
        """Return the memory before the first round; a start outside the known set is refused."""
        if self.domain is not None:
            known_set(self.domain, "domain", holds=x1)
        zero = number_like(x1, 0.0)
        columns = namespace(x1).zeros_like(x1[..., :1]) + constant(np.zeros(self.rows), x1)
        return RowsMemory(zero, x1, columns, columns[..., None] * x1[..., None, :])

    def see(
        self, memory: RowsMemory, x: Array, g: Array, s: Array
    ) -> tuple[RowsMemory, RowsRegion]:
        """Return the memory with the round added, and the region for the next action."""
        if s.ndim == x.ndim:  # one constraint, told as one number
            g = np.array([g]) if type(g) is float else namespace(s).reshape(g, (*s.shape[:-1], 1))
            s = s[..., None, :]
        if g.shape[-1] != self.rows:
            raise InvalidValueError(
                f"constraint_value must have {self.rows} entries, one per constraint, "
                f"got shape {tuple(g.shape)}"
            )
        g, s = kept(g), kept(s)
        after = RowsMemory(memory.rounds + 1.0, x, g, s)
        region = self.region(after, memory)
        worst = g + region.margin
        if type(g) is np.ndarray and g.ndim == 1:
            _check.refuse_unfinite(g, "constraint_value")
            _check.refuse_unfinite(s, "constraint_subgradient")
            if memory.rounds == 0.0 and not (worst < 0).all():
                i = int(worst.argmax())
                raise InvalidValueError(
                    "the start must be strictly feasible, by more than the rounding of g, "
                    f"got g(x_1) = {float(g[i]):g} in row {i}"
                )
            return after, region
        xp = namespace(g)
        first = (memory.rounds == 0) & xp.any(worst >= 0, axis=-1, keepdims=g.ndim > 1)
        lost = first | ~xp.all(xp.isfinite(g), axis=-1, keepdims=g.ndim > 1)
        return after, region._replace(x=where(lost, math.nan, x))

    def region(self, memory: RowsMemory, before: RowsMemory) -> RowsRegion:
        """Return the region that a memory stands for."""
        x, g, s = memory.x, memory.g, memory.s
        margin = curvature_margin(
            g, row_norms(s), self.rates(g), self.reach, x.shape[-1], self.evaluation_error
        )
        return RowsRegion(self, x, g, s, margin, before)
