r"""Several constraints with a bound on the curvature of each, and a known set beside them.

All of them must be seen in every round: the maximum of smooth functions is not smooth, so that the
curvature of the largest one alone certifies nothing. The region is the intersection of the balls
and half-spaces :math:`U_i(p) = g_i + s_i^\top(p-x) + \frac{\beta_i}2\|p-x\|^2 \le 0`
(:mod:`surefoot.knowledge.curvature`), and of a closed convex set K that is known from the
beginning, or announced before the round. They are projected onto together:
a point that is projected onto the balls first and onto K then leaves the balls in a quarter of the
cases.

Whatever the search returns is checked in float64, row by row with half of the margin, and by K's
own ``contains``; if that fails, the way there from a point that passes is shortened until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, norm
from surefoot.core.constants import Constants
from surefoot.core.feedback import Feedback
from surefoot.core.kernel_constants import (
    FAR_ROUNDINGS,
    INWARDS,
    LONGER,
    NEAR,
    REFINED,
    REFINED_FREE,
    TERMS,
    UNIT,
)
from surefoot.core.parameters import anything, count
from surefoot.core.types import Array, Number, Set
from surefoot.knowledge import nearest
from surefoot.knowledge.anchor import Anchor, pull_share
from surefoot.knowledge.base import ObserverKind, Reading
from surefoot.knowledge.contradictions import check_proposal, check_start
from surefoot.knowledge.curvature import (
    Curvature,
    CurvatureCertificate,
    CurvatureInKernel,
    CurvatureMemory,
    CurvatureRegion,
    PullCertificate,
    QuadraticBounds,
)
from surefoot.knowledge.errors import EmptyRegionError, Errors
from surefoot.knowledge.nearest import EVERYWHERE, Bounds, KnownSets
from surefoot.knowledge.region import Projection, Region
from surefoot.sets import Ball

__all__ = ["CurvatureRows", "RowsRegion", "curvature_of"]

Search = Callable[[Array, KnownSets], tuple[Array, Array]]

# The squares of a huge proposal overflow; the result is compared, and not taken.
_QUIETLY = np.errstate(over="ignore", invalid="ignore")


class CurvatureRows(QuadraticBounds):
    r"""Knowledge that each of several constraints curves upwards by at most :math:`\beta_i`.

    Args:
        beta: one number for all rows, or one per row; 0 for a row that is affine.
        rows: how many constraints there are; as many as there are curvatures unless given.
        reach: M, the largest norm of a feasible point, which rounding scales with; that of the
            domain unless given.
        domain: a known closed convex set that contains every action, projected onto jointly with
            the certified region; None for none.
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

    proved_by: ClassVar[str] = "the quadratic bounds of Theorem C"
    beta: Any = anything("a finite number >= 0, or one per constraint")
    rows: int = count(0, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        curvatures, many = self.beta, np.ndim(self.beta) == 1
        for i, value in enumerate(checks.to_vector(curvatures, "beta") if many else ()):
            checks.nonnegative(**{f"beta[{i}]": value})
        if not many:
            checks.nonnegative(beta=curvatures)
            words = "the number of constraints where beta is one number"
            checks.positive_int(self.rows, "rows", words)
        elif self.rows not in (0, len(curvatures)):
            raise checks.invalid("rows", f"{len(curvatures)}, one per curvature in beta", self.rows)
        beta = tuple(map(float, curvatures)) if many else float(curvatures)
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "rows", len(curvatures) if many else self.rows)

    @cached_property
    def each(self) -> Curvature:
        """The knowledge of each single row, in the form of a batch."""
        beta = np.broadcast_to(np.array(self.beta), (self.rows,))[:, None]
        return Curvature(beta=beta, reach=self.reach, errors=self.errors, convex=self.convex)

    @property
    def observer_kind(self) -> ObserverKind:
        """The price of multipliers, which Theorems C and K have for the slopes of a convex g."""
        return "curvature" if self.convex else "none"

    @property
    def row_count(self) -> int:  # type: ignore[override]
        """How many constraints there are."""
        return self.rows

    def first(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        none = np.zeros((self.rows, 1))
        start = Anchor(x1, none, 0.0)
        anchor = start if self.errors.drift else None
        slopes = np.zeros((self.rows, len(x1)))
        return CurvatureMemory(0.0, start, none, slopes, None, anchor, 0.0, 0.0)

    def read(self, x: Array, feedback: Feedback) -> tuple[Array, Array]:
        """Return the values and slopes of a round; one row may be reported as one number."""
        return read_rows(x, feedback, self.rows)

    def largest(self, numbers: Number) -> float:
        """Return the largest of numbers that are one per row."""
        return float(np.max(numbers))

    def find_region(self, memory: CurvatureMemory, t: Number, errors: Errors) -> RowsRegion:
        """Return the intersection of the balls in round t."""
        return RowsRegion(self, memory, t, errors)

    def remember(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory of a reading, whatever it says."""
        after = super().remember(memory, reading._replace(g=reading.g[:, None]))
        return after._replace(slope_error=after.slope_error or None)

    def check_round(
        self, memory: CurvatureMemory, reading: Reading, after: CurvatureMemory, worst: Number
    ) -> CurvatureMemory:
        """Raise for an infeasible start."""
        if not memory.rounds and not (worst < 0).all():
            i = int(worst.argmax())
            check_start(float(reading.g[i, 0]), float(worst[i, 0]), 0.0, f" in row {i}")
        return after

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much each row can rise over a length."""
        return self.each.rise(np.atleast_2d(s), length, ahead=ahead)[:, 0]

    def describe_to_kernel(self, d: int) -> RowsInKernel | None:
        """Return how the kernel has the rows."""
        return RowsInKernel.of(self, self.each.beta[:, 0].copy())


class RowsInKernel(CurvatureInKernel):
    """Several constraints of bounded curvature in the kernel."""

    code = "SF_ROWS"
    has_rows = True


class RowsRegion(Region):
    """The points where every quadratic bound is at most 0.

    Args:
        knowledge: the constants.
        memory: the readings.
        t: the round that the region is for.
        errors: the errors that it allows for.

    Attributes:
        each: the region of each row by itself, as those of a batch.
        own: the bounds on the rows, with e of each for rounding.
    """

    knowledge: CurvatureRows
    errors: Errors
    each: CurvatureRegion
    x: Array
    round: float
    anchor: Anchor | None
    own: Bounds
    reach: Number
    longest: Number
    radius: Number
    upper: Number
    noise: Number
    slope_norm: Number
    depth: Number
    curvature_seen: Number

    def __init__(
        self, knowledge: CurvatureRows, memory: CurvatureMemory, t: float, errors: Errors
    ) -> None:
        each = CurvatureRegion(knowledge.each, memory, t, errors)
        self.knowledge, self.errors = knowledge, errors
        self.each, self.x, self.round, self.anchor = each, each.x, memory.rounds, each.anchor
        self.own, self.reach = each.as_bounds(), float(each.reach)
        self.longest, self.radius = float(each.longest.min()), float(each.radius.min())
        self.upper, self.noise, self.slope_norm = (
            float(np.max(column)) for column in (each.upper, each.noise, each.slope_norm)
        )
        self.depth = max(memory.depth, self.radius)
        self.curvature_seen = memory.curvature_seen

    def bounds(self, point: Array) -> Array:
        """Return the certified bound on each row at a point: U_i(p) and half of the margin."""
        return self.each.bound(point)[:, 0]

    def holds(self, point: Array) -> bool:
        """Return whether a point passes the check of every row."""
        return bool((self.bounds(point) <= 0).all())

    def contains(self, w: Array) -> bool:
        """Return whether a point is certified."""
        if self.holds(w):
            return True
        if self.anchor is None:
            # For a fixed g an action that was played, and feasible, stays so.
            return self.upper <= 0 and bool((w == self.x).all())
        return self._is_on_way_back(w)

    @_QUIETLY
    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w; w itself where it is in the region."""
        check_proposal(w, self.x)
        return w if self.contains(w) else self.find_nearest(w).point

    @_QUIETLY
    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point and its multipliers."""
        return self._find(w, known, self._project)

    @_QUIETLY
    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        r"""Return where a step to w ends that is cut by half-spaces, not by balls.

        The half-spaces are :math:`h_i + s_i^\top q + \tau P + \frac{\beta_i}2P^2 \le 0`, with P the
        length of the step that they lead to: descent by such cuts loses a constant to that by
        projections onto the known set (docs/curvature.md, Theorem C).
        """
        return self._find(w, known, self._cut_by_halfspaces)

    def _find(self, w: Array, known: KnownSets, search: Search) -> Projection:
        """Return the result of a search; else a certified point on the way there."""
        check_proposal(w, self.x)
        if self._is_in(w, known):
            return Projection(w, np.zeros_like(self.own.up), 0.0)
        q, weights = search(w - self.x, known)
        end = self._settle(q, known)
        if not self._is_in(end, known):
            # A far proposal loses digits: once more from where they are not lost.
            end = self._settle(self._project(end - self.x, known)[0], known)
        if not self._is_in(end, known):
            end = nearest.take_certified(self, known, end)
        return Projection(end, weights, norm(end - self.x - q))

    def _is_in(self, point: Array, known: KnownSets) -> bool:
        return self.contains(point) and known.contains(point)

    def _settle(self, q: Array, known: KnownSets) -> Array:
        return known.settle(self.x + q)

    def _project(self, v: Array, known: KnownSets, inwards: float = 0.0) -> tuple[Array, Array]:
        """Return the point of the balls and of sets nearest to v, relative to x; multipliers."""
        up = self.own.up + inwards * self.each.slope_norm[:, 0]
        return self._solve(v, self.own._replace(up=up), known, inwards)

    def as_bounds(self) -> Bounds:
        """Return the bound of each row."""
        return self.own

    def _solve(
        self, v: Array, rows: Bounds, known: KnownSets, inwards: float = 0.0
    ) -> tuple[Array, Array]:
        """Return the nearest point of bounds and of sets, and the bounds' multipliers."""
        cut = partial(known.cut, self.x, self.reach, inwards)
        bounds = rows.join(known.bounds(self.x, inwards))
        q, multipliers = nearest.project_onto_bounds(v, bounds, cut)
        return q, multipliers[: len(rows.up)]

    def _cut_by_halfspaces(self, v: Array, known: KnownSets) -> tuple[Array, Array]:
        """Return a step cut by half-spaces that are moved by the length of what they lead to."""
        rows, squared, flat = self.own, dot(v, v), np.zeros_like(self.own.up)
        most = REFINED if known else REFINED_FREE
        best: tuple[Array, Array] | None = None
        failed: tuple[Array, Array] | None = None
        for turn in range(most + 1):
            moved = rows.up + rows.tau * math.sqrt(squared) + 0.5 * rows.beta * squared
            step = self._solve(v, rows._replace(up=moved, beta=flat, tau=flat), known)
            before, squared = squared, dot(step[0], step[0])
            finite = squared < math.inf
            if not finite or not self._is_in(self._settle(step[0], known), known):
                # The step was longer than what the half-spaces were moved for.
                failed = failed or (step if finite else (v, flat))
                squared = LONGER * squared if turn or known else squared
                continue
            best = step
            near = known and abs(before - squared) <= NEAR * before
            # Without curvature no length moves the half-spaces: the first answer is the last.
            straight = not rows.beta.any() and not rows.tau.any()
            if failed or near or turn + 1 >= most or straight:
                break
        return best or failed or (v, flat)

    @property
    def insides(self) -> tuple[Array, ...]:
        """The last action."""
        return (self.x,)

    def _share(self) -> float:
        """Return from which share of the way to the anchor on convexity bounds all rows by 0."""
        if not self.knowledge.convex:
            return math.inf
        return float(pull_share(self.each.ball.up, self.each.anchor_level).max())

    def _is_on_way_back(self, w: Array) -> bool:
        """Return whether a point is on the way to the anchor, where convexity certifies it."""
        assert self.anchor is not None
        way, share = self.anchor.x - self.x, self._share()
        length = norm(way)
        if share > 1 or not length > 0:
            return False
        along = dot(w - self.x, way) / length
        off = norm(w - self.x - (along / length) * way)
        rounding = FAR_ROUNDINGS * (len(w) + TERMS) * UNIT * self.reach
        return bool(max(off, share * length - along, along - length) <= rounding)

    def find_inside(self, known: KnownSets, holds: Callable[[Array], bool]) -> Array | None:
        """Return a point near the last action; else where convexity certifies one.

        That is on the way to the anchor, all of it from where all rows are bounded by 0, since the
        anchor is. In sets, it is where that way enters them: an anchor outside of the sets is of no
        help.
        """
        for share in INWARDS:
            q, _ = self._project(np.zeros_like(self.x), known, share * self.reach)
            if holds(point := self._settle(q, known)):
                return point
        if self.anchor is None or (share := self._share()) > 1:
            return None
        point = self.x + share * (self.anchor.x - self.x)
        if holds(point) or not holds(self.anchor.x):
            return point if holds(point) else None
        return nearest.draw_back(holds, known, self.anchor.x, point)

    def explain_empty(self) -> EmptyRegionError:
        """Return the error for a round in which neither x nor the anchor is certified."""
        return self.each.explain_empty()

    def price(self, w: Array, weights: Array | float) -> float:
        r"""Return the cost of a cut: :math:`\frac12\|S^\top\mu\|^2 - \mu^\top(g + Sv)`; Theorem C.

        Args:
            w: the end of the step that was cut, v away from x.
            weights: :math:`\mu`, one multiplier per row; 0 where there is none, as on a grid.
        """
        weights = np.zeros(len(self.own.s)) + weights
        rows, off = self.own, weights @ self.own.s
        least = (self.each.low - self.each.noise)[:, 0] - 2 * self.reach * rows.tau
        return float(0.5 * dot(off, off) - weights @ (least + rows.s @ (w - self.x)))

    def normal_error(self, weights: Array | float, point: Array) -> tuple[float, float]:
        r"""Return :math:`\Lambda = \sum_i\lambda_i\beta_i` of Theorem K, and what rounding adds.

        Args:
            weights: the multipliers; 0 where there is none, as on a grid.
            point: that was found.
        """
        weights = np.zeros(len(self.own.s)) + weights
        bend, loose = self.each.normal_error(weights[:, None], point)
        return float(bend.sum()), float(loose.sum())

    def certificate(self, x: Array, cut: bool = False) -> CurvatureCertificate | PullCertificate:
        """Return why a point that the region gave is feasible: the row with the largest bound."""
        bounds = self.bounds(x)
        pulled = self.anchor is not None and (bounds > 0).any()
        row = int((self.own.up if pulled else bounds).argmax())
        return self.each.certificate(x, cut, row if len(bounds) > 1 else None)


def read_rows(x: Array, feedback: Feedback, rows: int) -> tuple[Array, Array]:
    """Return the values and slopes of a round; one row may be reported as one number."""
    if rows == 1 and np.ndim(feedback.constraint_subgradient) == 1:
        g, s = checks.read_constraint(x, feedback)
        return np.array([g]), s[None]
    g, s = checks.read_constraints(x, feedback)
    if len(g) != rows:
        raise checks.invalid("constraint_value.shape", f"({rows},), one per constraint", g.shape)
    return g, s


def read_values(feedback: Feedback, rows: int) -> Array:
    """Return the values of a round without slopes; one row may be reported as one number."""
    g = checks.to_exact(np.atleast_1d(np.asarray(feedback.constraint_value)), "constraint_value")
    if g.shape != (rows,):
        raise checks.invalid("constraint_value.shape", f"({rows},), one per constraint", g.shape)
    return g


def curvature_of(constants: Constants, domain: Set | None = None) -> Curvature | CurvatureRows:
    """Return what constants say of the curvature, with the set that holds every action.

    Args:
        constants: need R and beta; use rows, the errors and the drift.
        domain: a known set; None where there is none.
    """
    R, beta = constants.require("R", "beta", by="a region certified by curvature")
    rows = int(constants.rows or 1)
    reach = float(domain.reach_from_origin) if isinstance(domain, Ball) else R
    shared: dict[str, Any] = {"beta": beta, "reach": reach, "domain": domain}
    shared |= {"errors": Errors.of(constants), "convex": constants.convex}
    if rows == 1 and (domain is None or isinstance(domain, Ball)):
        return Curvature(**shared)
    return CurvatureRows(rows=rows, **shared)
