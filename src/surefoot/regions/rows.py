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
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import start_in
from surefoot.core.arrays import dot, norm, squared_and_norm
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, count, flag, positive, projectable
from surefoot.core.points import reach_of
from surefoot.core.types import Array, Feedback, Number
from surefoot.core.types import Region as Set
from surefoot.regions.anchor import Anchor, pull_share
from surefoot.regions.certificates import (
    CurvatureCertificate,
    PullCertificate,
    above_quadratic,
    beyond_reach,
)
from surefoot.regions.curvature import (
    Curvature,
    CurvatureMemory,
    CurvatureRegion,
    least_curvature,
)
from surefoot.regions.errors import EmptyRegionError, Errors
from surefoot.regions.known_set import (
    AllSets,
    draw_back,
    find_common_point,
    reflect_in_turn,
)
from surefoot.regions.quadratics import Quadratics
from surefoot.regions.region import Knowledge, Projection, Reading, Region
from surefoot.regions.slope_error import search_lengths
from surefoot.sets import Ball

__all__ = ["CurvatureRows", "RowsRegion", "curvature_of", "read_rows"]

# A wish at the end of float64 has squares beyond it; what comes of them is compared, and not taken.
_QUIETLY = np.errstate(over="ignore", invalid="ignore")


class CurvatureRows(Knowledge):
    r"""Knowledge that each of several constraints curves upwards by at most :math:`\beta_i`.

    Args:
        beta: one number for all rows, or one per row; 0 for a row that is affine.
        rows: how many constraints there are; as many as there are curvatures unless given.
        reach: M, the largest norm of a feasible point, which rounding scales with; that of the
            domain unless given.
        domain: a known closed convex set that holds every action, projected onto jointly with what
            is certified. None where nothing is known.
        sweeps: how often each row has its turn in a search, at most.
        exact: whether cuts by half-spaces are solved by active sets, where there is no known set.
        errors: how wrong readings of any row may be.

    Example:
        >>> from surefoot.sets import Box
        >>> box = Box([0.0, 0.0], [0.2, 1.0])
        >>> knowledge = CurvatureRows(beta=(1.0, 0.0), reach=1.5, domain=box)
        >>> x = np.array([0.1, 0.1])
        >>> g, s = np.array([-0.5, -0.3]), np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> reading = Reading(x, g, s, knowledge.errors)
        >>> memory = knowledge.observe(knowledge.init(x), reading)
        >>> region = knowledge.region(memory, knowledge.errors)
        >>> region.nearest(np.array([2.0, 2.0])).round(6)  # the box, and x[0] + x[1] <= 0.5
        array([0.2, 0.3])
    """

    beta: Any = anything("a finite number >= 0, or one per constraint")
    reach: Number = positive(default=None)
    rows: int = count(0, default=0)
    domain: Set | None = projectable(default=None)
    sweeps: int = count(default=16)
    exact: bool = flag(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.beta) == 1:
            beta = checks.to_vector(self.beta, "beta")
            for i, value in enumerate(beta):
                checks.nonnegative(**{f"beta[{i}]": value})
            object.__setattr__(self, "beta", tuple(beta.tolist()))
            if self.rows not in (0, len(beta)):
                raise InvalidValueError(
                    f"rows must be {len(beta)}, one per curvature in beta, got {self.rows!r}"
                )
            object.__setattr__(self, "rows", len(beta))
        else:
            checks.nonnegative(beta=self.beta)
            object.__setattr__(self, "beta", float(self.beta))
            checks.positive_int(
                self.rows, "rows", "the number of constraints where beta is one number"
            )
        if self.reach is None:
            object.__setattr__(self, "reach", reach_of(self.domain))

    @cached_property
    def each(self) -> Curvature:
        """What is known of each row by itself, as of those of a batch."""
        beta = np.broadcast_to(np.array(self.beta), (self.rows,))[:, None]
        return Curvature(beta=beta, reach=self.reach, errors=self.errors)

    @property
    def row_count(self) -> int:  # type: ignore[override]
        """How many constraints there are."""
        return self.rows

    def init(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round; a start outside the known set is refused."""
        if not isinstance(x1, np.ndarray) or x1.ndim != 1:
            raise InvalidValueError(f"x1 must be one NumPy vector, got {x1!r}")
        if self.domain is not None:
            start_in(self.domain, x1)
        none = np.zeros((self.rows, 1))
        here = Anchor(x1, none, 0.0)
        anchor = here if self.errors.drift else None
        slopes = np.zeros((self.rows, len(x1)))
        return CurvatureMemory(0.0, here, none, slopes, None, anchor, 0.0, 0.0)

    def read(self, x: Array, feedback: Feedback) -> tuple[Array, Array]:
        """Return the values and slopes of a round; one row may be told as one number."""
        return read_rows(x, feedback, self.rows)

    def observe(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory with a round in which something was read.

        From an action that may be outside nothing is certified: then what was known before is kept.
        """
        made = self._remember(memory, reading)
        if not memory.rounds or made.last.value.max() <= 0:
            return made
        return memory._replace(rounds=made.rounds, curvature_seen=made.curvature_seen)

    def _remember(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory of a reading, whatever it says."""
        x, g, s, errors, age = reading
        checks.refuse_unfinite(g, "constraint_value")
        checks.refuse_unfinite(s, "constraint_subgradient")
        t, when, g = memory.rounds + 1.0, memory.rounds + 1.0 - age, g[:, None]
        upper = g + errors.value
        if memory.rounds and not errors.is_exact:
            # What was certified before the round bounds g there as well as the reading does. A
            # row's bound belongs to a point at which all rows had bounds of at most 0.
            old = self._region_in(memory, when, errors)
            if (x == old.x).all():
                upper = np.minimum(upper, old.each.level)  # nothing is rounded
            elif old.contains(x):
                upper = np.minimum(upper, np.minimum(old.each.bound(x), 0.0))
        made = memory._replace(
            rounds=t,
            last=Anchor(x, upper, when),
            low=g - errors.value,
            s=s.copy(),
            slope_error=float(errors.slope) or None,
        )
        new = CurvatureRegion(self.each, made, t + 1.0, errors)
        worst = upper + new.noise
        if not memory.rounds and not (worst < 0).all():
            i = int(worst.argmax())
            raise InvalidValueError(
                "the start must be strictly feasible, by more than the error of g, "
                f"got g(x_1) = {float(g[i, 0]):g} in row {i}"
            )
        anchor = memory.anchor
        if anchor is not None:
            level = anchor.level(when, self.errors.drift)
            if not memory.rounds or worst.max() < level.max():
                anchor = Anchor(x, worst, when)
        return made._replace(
            anchor=anchor,
            depth=max(memory.depth, float(new.radius.min())),
            curvature_seen=float(np.max(least_curvature(memory, made, new.noise))),
        )

    def region(self, memory: CurvatureMemory, errors: Errors) -> RowsRegion:
        """Return the intersection of the balls, and of the known set."""
        return self._region_in(memory, memory.rounds + 1.0, errors)

    def _region_in(self, memory: CurvatureMemory, t: float, errors: Errors) -> RowsRegion:
        """Return the region of a round."""
        known = None if self.domain is None else AllSets(self.domain)
        return RowsRegion(self, memory, t, errors, known)

    def contradictions(self, memory: CurvatureMemory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading has that is impossible if the curvatures and errors are right."""
        x, g, _, errors, age = reading
        t = memory.rounds + 1.0
        new = CurvatureRegion(self.each, self._remember(memory, reading), t - age, errors)
        upper = float((g[:, None] + errors.value + new.noise).max())
        found = beyond_reach(int(t), x, upper, float(self.reach))
        if not memory.rounds:
            return found
        old = CurvatureRegion(self.each, memory, t - age, errors)
        if np.max(new.upper) > 0 and not self._region_in(memory, t - age, errors).contains(x):
            return found  # outside of the feasible set the curvature may be any
        length, over = new.excess_over(old)
        noise = old.noise + new.noise
        for i in np.flatnonzero(over > noise):
            name = f"g[{i}]" if self.rows > 1 else "g"
            excess, beta, rounding = (float(c[i, 0]) for c in (over, self.each.beta, noise))
            value = float(g[i])
            found += above_quadratic(int(t), value, length, excess, beta, rounding, errors, name)
        return found

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much each row can rise over a length."""
        return self.each.rise(np.atleast_2d(s), length, ahead=ahead)[:, 0]


class RowsRegion(Region):
    """The points where every quadratic bound is at most 0, and that are in the known sets.

    Args:
        knowledge: the constants.
        memory: what was read.
        t: the round that the region is for.
        errors: what it allows for.
        known: the sets that are known and announced; None where there is none.

    Attributes:
        balls: the bounds without the error of the slopes, and the sets.
        level: the bounds on the rows at x in the round.
        each: the region of each row by itself, as those of a batch.
        slope_error: the error of the slopes; None for none.
        margin: e of each row, for rounding.
    """

    def __init__(
        self,
        knowledge: CurvatureRows,
        memory: CurvatureMemory,
        t: float,
        errors: Errors,
        known: AllSets | None = None,
    ) -> None:
        each = CurvatureRegion(knowledge.each, memory, t, errors)
        self.knowledge, self.memory, self.t, self.errors = knowledge, memory, t, errors
        self.each, self.known, self.x, self.round = each, known, each.x, memory.rounds
        self.slope_error, self.anchor, self.reach = each.slope_error, each.anchor, each.reach
        longest = 8.0 * self.reach if knowledge.exact else None
        columns = (each.level, each.ball.beta, each.noise)
        self.level, beta, self.margin = (column[:, 0] for column in columns)
        parts = (each.x, self.level, each.ball.s, beta, self.margin, known)
        self.balls = Quadratics(*parts, knowledge.sweeps, longest)
        self.longest, self.radius = float(each.longest.min()), float(each.radius.min())
        self.upper, self.noise, self.steepness = (
            float(np.max(column)) for column in (each.upper, each.noise, each.steepness)
        )
        self.depth = max(memory.depth, self.radius)
        self.curvature_seen = memory.curvature_seen

    def within(self, known: Set) -> RowsRegion:
        """Return the region cut down to a set that was announced for the next round."""
        both = AllSets.within(self.known, known)
        return RowsRegion(self.knowledge, self.memory, self.t, self.errors, both)

    def bounds(self, point: Array) -> Array:
        """Return the certified bound on each row at a point: U_i(p) and half of the margin."""
        found = self.balls.bounds(point)
        if self.slope_error is not None:
            found = found + self.slope_error * norm(point - self.x)
        return found

    def holds(self, point: Array) -> bool:
        """Return whether a point passes the check of every row and set."""
        if (self.bounds(point) > 0).any():
            return False
        return self.known is None or self.known.contains(point)

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified."""
        if self.holds(w):
            return True
        point = self.x if self._stays else self._pull()
        return point is not None and bool((w == point).all())

    @property
    def _stays(self) -> bool:
        """Whether the action is certified for having been played: of a fixed g, in the sets."""
        return self.anchor is None and self.upper <= 0 and self._has_action

    @_QUIETLY
    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w; w itself where it is in the region."""
        self._check_wish(w)
        return w if self.contains(w) else self.find_nearest(w).point

    def cut(self, w: Array) -> Array:
        """Return where a step to w ends; see :meth:`find_cut`."""
        return self.find_cut(w).point

    @_QUIETLY
    def find_nearest(self, w: Array, near: Number = 0.0) -> Projection:
        """Return the nearest point and its multipliers, from multipliers that are near."""
        near = np.broadcast_to(np.asarray(near, dtype=np.float64), self.level.shape)
        return self._find(w, partial(Quadratics.find_nearest, near=near))

    @_QUIETLY
    def find_cut(self, w: Array) -> Projection:
        r"""Return where a step to w ends that is cut by half-spaces, not by balls.

        The half-spaces are :math:`g_i + s_i^\top(q-x) + \frac{\beta_i}2\bar P^2 \le 0`, with
        :math:`\bar P` the length of the step: descent by such cuts loses a constant to that by
        projections onto the known set (docs/certified.md, Theorem C). One row is drawn back along
        its slope.
        """
        return self._find(w, Quadratics.find_cut)

    def _check_wish(self, w: Array) -> None:
        if not squared_and_norm(w - self.x)[0] < math.inf:
            checks.refuse_unfinite(w, "the wanted action")
            raise InvalidValueError("the wanted action must have a finite distance from x")

    def _find(self, w: Array, search: Any) -> Projection:
        """Return what a search finds; else a certified point on the way to the wish."""
        self._check_wish(w)
        none = np.zeros(len(self.level))
        if self.holds(w):
            return Projection(w, none, 0.0)
        if self.known is not None and self.known.is_empty:
            raise self._nothing_in_sets()
        found = self._search(w, search)
        # For a fixed g a search that fails ends where the action is, and was.
        if self.holds(found.point) or (self.anchor is None and self._has_action):
            return found
        point = self._find_certified()
        if self.known is not None:
            end = self.known.snap_inside(self.known.project(w))
            drawn = draw_back(self.holds, self.known, point, end)
            point = point if drawn is None else drawn
        return Projection(point, none, norm(point - w))

    @property
    def _has_action(self) -> bool:
        """Whether the last action is in the sets."""
        return self.known is None or self.known.contains(self.x)

    def _search(self, w: Array, search: Any, near: Array | None = None) -> Projection:
        """Return what a search finds; with an error of the slope, in balls inside the region."""
        if self.slope_error is None:
            found: Projection = search(self.balls, w)
            return found
        best, sure = search_lengths(self, w, search, near)
        if sure:
            return best
        return Projection(self.x, best.weights, best.drawn + norm(best.point - self.x))

    def ball_of(self, length: float) -> Quadratics:
        """Return balls inside of the region, that touch it at a distance from x."""
        tau = self.slope_error or 0.0
        return self.balls._replace(
            beta=self.balls.beta + tau / length, level=self.level + 0.5 * tau * length
        )

    def lengths(self) -> tuple[float, float]:
        """Return between which lengths :meth:`ball_of` has a point in the ball of every row."""
        low, high = self.each.lengths()
        return float(low.max()), float(high.min())

    def _find_certified(self) -> Array:
        """Return a certified point of the sets near x; say so where there is none."""
        if self._stays or (self.anchor is not None and self.holds(self.x)):
            return self.x
        try:
            return self._find_common_point()
        except EmptyRegionError:
            if (pull := self._pull()) is None:
                raise
            return pull

    def _nothing_in_sets(self) -> EmptyRegionError:
        """Return the error for an announced set that is apart from the others."""
        assert self.known is not None
        *others, last = self.known.sets
        known = AllSets(*others)
        region = RowsRegion(self.knowledge, self.memory, self.t, self.errors, known)
        point = region.nearest(known.project(last.project(self.x)))
        return EmptyRegionError.of_set(last, point, norm(last.project(point) - point))

    def _find_common_point(self) -> Array:
        """Return a certified point of the sets, by searches in turn."""
        alone = RowsRegion(self.knowledge, self.memory, self.t, self.errors)
        if self.anchor is not None and not alone.holds(self.x):
            rows = [self.row(i) for i in range(len(self.level))]
            onto = [row.search_nearest for row in rows]
            if all(row.holds(near(self.x)) for row, near in zip(rows, onto, strict=True)):
                found = reflect_in_turn(onto, self.known, self.holds, self.x)
                if found is not None:
                    return found
            raise self._nothing()
        assert self.known is not None  # else the search would have ended at the action
        search = partial(Quadratics.find_nearest, near=np.zeros(len(self.level)))
        last: list[Array] = []

        def nearest(w: Array) -> Array:
            last.append(alone._search(w, search, last[-1] if last else w).point)
            return last[-1]

        return find_common_point(nearest, self.holds, self.known, self.x, self.reach)

    def _pull(self) -> Array | None:
        """Return where convexity bounds all rows by 0 on the way to the anchor; None for nowhere.

        All of the way on from there is certified, since the anchor is. In the sets, it is where
        that way enters them: an anchor outside of the sets is of no help.
        """
        if self.anchor is None:
            return None
        share = float(pull_share(self.each.ball.up, self.each.anchor_level).max())
        point = self.x + share * (self.anchor.x - self.x)
        if share > 1:
            return None
        return point if self.known is None else self._enter_sets(point, share)

    def _enter_sets(self, point: Array, share: float) -> Array | None:
        """Return where the way from a point to the anchor enters the sets."""
        known, anchor = self.known, self.anchor
        assert known is not None
        assert anchor is not None
        way = anchor.x - point
        rounding = 8 * (len(point) + 8) * 2.0**-53 * self.reach

        def enters(theta: float) -> Array | None:
            there = point + theta * way
            near = known.snap_inside(there)
            # Only what rounding did to a mean of points of the sets is taken back.
            return near if norm(near - there) <= rounding and known.contains(near) else None

        first, best = enters(0.0), enters(1.0)
        if first is not None or best is None or not share > 0:
            return first if share > 0 else None
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            found = enters(middle)
            best, low, high = (best, middle, high) if found is None else (found, low, middle)
        return best

    def _nothing(self) -> EmptyRegionError:
        """Return the error for a round in which neither x nor the anchor is certified."""
        drift, anchor = self.knowledge.errors.drift, self.anchor
        assert anchor is not None
        here, deepest = self.bounds(self.x).max(), self.each.anchor_level.max()
        point = self.x if here <= deepest else anchor.x
        return EmptyRegionError.of_drift(self.round, point, min(here, deepest), drift)

    def price(self, w: Array, weights: Array) -> float:
        r"""Return what a cut costs: :math:`\frac12\|S^\top\mu\|^2 - \mu^\top(g + Sv)`; Theorem C.

        Args:
            w: the end of the step that was cut, v away from x.
            weights: :math:`\mu`, one multiplier per row.
        """
        s, off = self.balls.s, weights @ self.balls.s
        least = self.memory.low[:, 0] - self.margin - 2 * self.reach * (self.slope_error or 0.0)
        return float(0.5 * dot(off, off) - weights @ (least + s @ (w - self.x)))

    def normal_error(self, weights: Array, point: Array) -> tuple[float, float]:
        r"""Return :math:`\Lambda = \sum_i\lambda_i\beta_i` of Theorem K, and what rounding adds.

        Args:
            weights: the multipliers.
            point: that was found.
        """
        bent, loose = self.each.normal_error(weights[:, None], point)
        return float(bent.sum()), float(loose.sum())

    def certificate(self, x: Array, cut: bool = False) -> CurvatureCertificate | PullCertificate:
        """Return why a point that the region gave is feasible: the row with the largest bound."""
        bounds = self.bounds(x)
        pulled = self.anchor is not None and (bounds > 0).any()
        row = int((self.level + self.margin if pulled else bounds).argmax())
        found = self.row(row).certificate(x, cut)
        if isinstance(found, PullCertificate):
            return found
        # The row by itself may round otherwise than all of them at once.
        bound = min(found.bound, float(bounds[row])) if found.length else found.bound
        return found._replace(row=None if len(self.level) == 1 else row, bound=bound)

    def row(self, i: int) -> CurvatureRegion:
        """Return the region of one row."""
        memory, each = self.memory, self.knowledge.each
        one = replace(each, beta=float(each.beta[i, 0]))
        last, anchor = memory.last, memory.anchor
        part = memory._replace(
            last=last._replace(value=float(last.value[i, 0])),
            low=float(memory.low[i, 0]),
            s=memory.s[i],
            anchor=anchor and anchor._replace(value=float(anchor.value[i, 0])),
        )
        return CurvatureRegion(one, part, self.t, self.errors)


def read_rows(x: Array, feedback: Feedback, rows: int) -> tuple[Array, Array]:
    """Return the values and slopes of a round; one row may be told as one number."""
    if rows == 1 and np.ndim(feedback.constraint_subgradient) == 1:
        g, s = checks.read_constraint(x, feedback)
        return np.array([g]), s[None]
    g, s = checks.read_constraints(x, feedback)
    if len(g) != rows:
        raise InvalidValueError(
            f"constraint_value must have {rows} entries, one per constraint, got shape {g.shape}"
        )
    return g, s


def curvature_of(
    constants: Constants, domain: Set | None = None, *, exact: bool = False
) -> Curvature | CurvatureRows:
    """Return what constants say of the curvature, with the set that holds every action.

    Args:
        constants: need R and beta; use rows, the errors and the drift.
        domain: a known set; None where there is none.
        exact: whether several rows are cut by active sets.
    """
    R, beta = constants.require("R", "beta", by="a region certified by curvature")
    rows = int(constants.rows or 1)
    reach = R if domain is None else float(getattr(domain, "reach_from_origin", R))
    shared: dict[str, Any] = {"beta": beta, "reach": reach, "domain": domain}
    shared["errors"] = Errors.of(constants)
    if rows == 1 and (domain is None or isinstance(domain, Ball)):
        return Curvature(**shared)
    return CurvatureRows(rows=rows, exact=exact, **shared)
