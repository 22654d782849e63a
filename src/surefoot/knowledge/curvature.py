r"""The region of a smoothness constant: a ball whose sphere touches the limit along the gradient.

If g curves upwards by at most :math:`\beta` on the feasible set X, then for x, p in X

.. math:: g(p) \le U(p) = g(x) + s^\top(p-x) + \tfrac\beta2\|p-x\|^2 .

*Every p with* :math:`U(p) \le 0` *is feasible if* :math:`g(x) < 0`: were g(p) > 0, the segment
from x to p would leave X first at a q with :math:`g(q) = 0`, :math:`q = x + \lambda(p-x)`,
:math:`0 < \lambda < 1`; U is convex, so
:math:`0 = g(q) \le U(q) \le (1-\lambda)g(x) + \lambda U(p) < 0`. Neither the convexity of g nor
anything outside of X is used. With :math:`\beta = 0` the region is a half-space, and exact for an
affine g; else the ball with centre :math:`x - s/\beta` and radius :math:`\nu/\beta`,
:math:`\nu^2 = \|s\|^2 - 2\beta g(x)`. Nothing here divides by :math:`\beta`, so no curvature is
too small.

**The maximum of smooth functions is not smooth.** A curvature means nothing if only the largest of
several constraints is seen: see all of them (:class:`surefoot.knowledge.CurvatureRows`).

Rounding. With u = 2^-53, n the dimension, M the largest norm of a feasible point, and

.. math:: e = 4\delta + 32(n+8)u\,(|g| + \|s\|M + \beta M^2),

points are sought with :math:`U + e \le 0` and returned only if the computed :math:`U + e/2 \le 0`;
e is above 0, if by 1e-300 alone, so that an action with g = 0 certifies by :math:`U < 0` only.
The computed U is off by at most :math:`(2n+18)u(|g| + \|s\|M + \beta M^2)`: p - x is rounded once
per entry, its products with s and itself n times, the sum of three terms three times. Twice the
error of an observed g, and 2M times that of s, fit in the rest of e/2 if they are rounding and at
most :math:`12(n+8)u(\ldots)` together: so the true g(p) and the one that will be computed are at
most 0, whatever way the point was found.

What is read at an action that may be outside of X certifies nothing, because the curvature there
may be any: after an action of somebody else with :math:`g > 0` the region of the last one that was
feasible is kept.

Errors and drift. With :math:`|\hat g - g| \le \nu`, :math:`\|\hat s - s\| \le \tau` and a drift of
v per round, the bound on the next g is

.. math:: U(p) = \hat g + \nu + v + \hat s^\top(p-x) + \tau\|p-x\| + \tfrac\beta2\|p-x\|^2,

with the bound that was certified before x was played instead of :math:`\hat g + \nu` where that is
smaller. For a fixed g the action that was played stays certified, whatever was read there. Under
drift, v counted once for every round since the reading, it may not, and the nearest point with
U = 0 is taken. Where there is none, the action is pulled towards the deepest one of the past
(:mod:`surefoot.knowledge.anchor`), for which g must be convex; where that is of no help either,
:class:`surefoot.knowledge.EmptyRegionError` is raised, and a run of a batch becomes NaN.

An error of the slope bends a region. The bound
:math:`U(q) = h + s^\top q + \tau\|q\| + \frac\beta2\|q\|^2` is at most
:math:`h + \frac{\tau\ell}2 + s^\top q + \frac12(\beta + \tau/\ell)\|q\|^2` for any length
:math:`\ell > 0`, with the same value and slope where :math:`\|q\| = \ell`. So the projection onto
the ball of the right length is that onto :math:`\{U \le 0\}`, and that onto any other is in it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    dot,
    is_number,
    maximum,
    minimum,
    norm,
    number_like,
    sqrt,
    to_numpy,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import AsFresh, Counts, Span
from surefoot.core.kernel_constants import (
    BOUND_SHARE,
    CHECK_SHARE,
    CURVATURE_ROUNDINGS,
    EVALUATIONS,
    SEEN_MARGINS,
    TERMS,
    TINY,
    TRIES,
)
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.points import UNIT, all_entries, nan_where_invalid
from surefoot.core.types import Array, Number
from surefoot.knowledge.anchor import Anchor, pull_share
from surefoot.knowledge.base import BALLS, Capability, Knowledge, ObserverKind, Reading
from surefoot.knowledge.contradictions import (
    check_proposal,
    check_quadratic,
    check_reach,
    check_start,
)
from surefoot.knowledge.errors import EmptyRegionError, Errors, describe_errors, is_zero
from surefoot.knowledge.in_kernel import KernelStep, KnowledgeInKernel, share_fields
from surefoot.knowledge.nearest import EVERYWHERE, Bounds, KnownSets
from surefoot.knowledge.region import Projection, Region, WithinBall
from surefoot.sets import Ball

__all__ = [
    "Curvature",
    "CurvatureCertificate",
    "CurvatureMemory",
    "CurvatureRegion",
    "PullCertificate",
]


LENGTHS = 26
"""How many lengths are tried where the slope errs: then a millionth of the length is left."""
SHORTEST = 1e-12
"""A length relative to the reach, at which the error of the slope is below every margin."""


class CurvatureMemory(NamedTuple):
    """What the next region is made of; of several constraints, the numbers are one per row.

    Attributes:
        rounds: the number of rounds so far.
        last: the last action that was read, and the bound on g there.
        low: g there was at least this.
        s: the slope there.
        slope_error: the error that it came with; None where slopes are exact.
        anchor: under drift the deepest action, its bound with the margin; else None.
        depth: the radius of the largest certified ball around an action so far.
        curvature_seen: the least that explains the last two readings.
    """

    rounds: Counts
    last: Anchor
    low: Number
    s: Array
    slope_error: Annotated[Number | None, Span(0)]
    anchor: Annotated[Anchor | None, AsFresh]
    depth: Number
    curvature_seen: Number


class QuadraticBounds(Knowledge):
    """Knowledge that bounds g, or each of several constraints, by a quadratic function.

    Attributes:
        each: what is known of each constraint by itself: those of several are as those of a batch.
    """

    allows: ClassVar[frozenset[Capability]] = frozenset(
        {"value", "slope", "drift", "late", "nonconvex", "margin"}
    )
    offers = BALLS

    reach: Number = positive(default=None)

    @property
    def each(self) -> Any:
        """The knowledge of each single constraint."""
        return self

    @abstractmethod
    def find_region(self, memory: CurvatureMemory, t: Number, errors: Errors) -> Region:
        """Return the region in round t, without the known set."""

    def curvature(self, memory: CurvatureMemory) -> Number:
        """Return the bound on the curvature that holds where the last reading is used."""
        return self.each.beta

    def largest(self, numbers: Number) -> Number:
        """Return the largest of numbers that are one per constraint."""
        return numbers

    def learn(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory after a reading.

        A reading at a possibly infeasible action certifies nothing: the memory before it is kept.
        """
        after = self.remember(memory, reading)
        outside = (memory.rounds > 0) & (self.largest(after.last.value) > 0)
        if outside is False:
            return after
        before = memory._replace(rounds=after.rounds, curvature_seen=after.curvature_seen)
        chosen: CurvatureMemory = _choose(outside, before, after)
        return chosen

    def remember(self, memory: CurvatureMemory, reading: Reading) -> CurvatureMemory:
        """Return the memory of a reading, whatever it says."""
        x, g, s, errors, age = reading
        t, when = memory.rounds + 1.0, memory.rounds + 1.0 - age
        upper, slope_error = g + errors.value, memory.slope_error
        if not errors.is_exact:
            # What was certified before the round bounds g there as well as the reading does; the
            # half of the margin that is in it is more than its rounding. Where the action stayed
            # nothing is rounded. A row's bound belongs to a point at which all rows had bounds of
            # at most 0.
            region = self.find_region(memory, when, errors)
            each = region.base.each
            bound, stayed = each.bound(x), all_entries(x == region.x)
            is_certified = (memory.rounds > 0) & (stayed | region.contains(x))
            before = where(stayed, each.level, minimum(bound, 0.0 * bound))
            upper = where(is_certified, minimum(upper, before), upper)
        if slope_error is not None or not is_zero(errors.slope):
            slope_error = errors.slope + 0.0 * memory.rounds
        last = Anchor(x, upper, when)
        after = memory._replace(
            rounds=t, last=last, low=g - errors.value, s=1.0 * s, slope_error=slope_error
        )
        region = self.find_region(after, t + 1.0, errors)
        noise = region.base.each.noise
        worst = upper + noise
        after = self.check_round(memory, reading, after, worst)
        anchor = memory.anchor
        if anchor is not None:
            level = self.largest(anchor.level(when, self.errors.drift))
            deeper = (memory.rounds == 0) | (self.largest(worst) < level)
            new = (x, worst, when)
            anchor = Anchor(*(where(deeper, a, b) for a, b in zip(new, anchor, strict=True)))
        return after._replace(
            anchor=anchor,
            depth=maximum(memory.depth, region.radius),
            curvature_seen=self.largest(least_curvature(memory, after, noise)),
        )

    def check_round(
        self, memory: CurvatureMemory, reading: Reading, after: CurvatureMemory, worst: Number
    ) -> CurvatureMemory:
        """Raise for a subgradient without a finite square, and for an infeasible start.

        A run of a batch cannot raise: it becomes NaN, which the game reports.
        """
        g, x = reading.g, reading.x
        if not is_number(g):
            is_invalid = (memory.rounds == 0) & (worst >= 0) | (abs(g) < math.inf) ^ True
            return after._replace(last=after.last._replace(x=where(is_invalid, math.nan, x)))
        if not dot(after.s, after.s) < math.inf:
            checks.refuse_unfinite(to_numpy(reading.s), "constraint_subgradient")
            raise InvalidValueError("constraint_subgradient must have a finite square")
        if memory.rounds == 0:
            check_start(g, worst, 0.0)
        return after

    def certify(self, memory: CurvatureMemory, errors: Errors) -> Region:
        """Return the region in the next round, in the known set if there is one."""
        return self.find_region(memory, memory.rounds + 1.0, errors)

    def place(self, region: Region) -> Region:
        """Return the part of the region in the known set; for batches too where it is a ball."""
        if isinstance(self.domain, Ball) and region.base.each is region:
            return WithinBall(region, self.domain)
        return region.within(self.domain)

    def holds(self, x: Array) -> bool:
        """Return True: the bound holds where g is at most 0, and nothing is learnt elsewhere."""
        return True

    def contradictions(self, memory: CurvatureMemory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading of one run contradicts beta and the errors."""
        x, g, _, errors, age = reading
        t = memory.rounds + 1.0
        new = self.find_region(self.remember(memory, reading), t - age, errors).base
        upper = np.reshape(g, np.shape(new.each.noise)) + errors.value + new.each.noise
        sentences = check_reach(int(t), x, float(np.max(upper)), float(self.reach))
        if not memory.rounds:
            return sentences
        old = self.find_region(memory, t - age, errors)
        if (new.upper > 0 or not self.convex) and not old.contains(x):
            return sentences  # beyond the feasible set the curvature is unbounded
        length, over = new.each.excess_over(old.base.each)
        noise = old.base.each.noise + new.each.noise
        numbers = (np.ravel(column) for column in (g, over, self.each.beta, noise))
        for i, (value, excess, beta, rounding) in enumerate(zip(*numbers, strict=True)):
            name = f"g[{i}]" if self.row_count > 1 else "g"
            sentences += check_quadratic(
                int(t), value, (length, excess), beta, rounding, errors, name
            )
        return sentences


class Curvature(QuadraticBounds):
    r"""Knowledge that g curves upwards by at most :math:`\beta` on the feasible set.

    For a twice differentiable g this says that no eigenvalue of its Hessian is above
    :math:`\beta`. Convexity is not needed for safety, but for the pull under drift.

    Args:
        beta: :math:`\beta \ge 0`; 0 for an affine g. Too large is safe, and costs little.
        reach: M, the largest norm of a feasible point, which rounding scales with; that of the
            domain unless given.
        domain: a known set that contains every action. A ball may be one of a batch; others are for
            one NumPy run.
        errors: bounds on the errors of readings.

    Example:
        >>> import numpy as np
        >>> knowledge = Curvature(beta=1.0, reach=1.0)
        >>> x, s = np.zeros(2), np.array([0.0, 1.0])
        >>> reading = Reading(x, -0.5, s, knowledge.errors)
        >>> memory = knowledge.observe(knowledge.init(x), reading)
        >>> region = knowledge.region(memory, knowledge.errors)
        >>> p = region.nearest(np.array([0.0, 4.0]))
        >>> p.round(6)  # the ball around (0, -1) with radius sqrt 2
        array([0.      , 0.414214])
        >>> print(region.certificate(p))
        round 1: g = -0.5 was seen, and its curvature is at most 1: -0.5 + (0.414) along the slope
        + 0.0858 for the 0.414 moved; the next g is at most -...
    """

    proved_by: ClassVar[str] = "the quadratic bound of Theorem C"
    beta: Number = nonnegative()

    allows: ClassVar[frozenset[Capability]] = QuadraticBounds.allows | {"batch"}

    @property
    def observer_kind(self) -> ObserverKind:
        """The price of multipliers, which Theorems C and K have for the slopes of a convex g."""
        return "curvature" if self.convex else "none"

    @property
    def takes_batches(self) -> bool:
        """Whether a memory may be that of several runs: without a known set, or in a ball."""
        return super().takes_batches and (self.domain is None or isinstance(self.domain, Ball))

    def first(self, x1: Array) -> CurvatureMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        start, errors = Anchor(x1, zero, zero), self.errors
        slope_error = zero if not is_zero(errors.slope) else None
        anchor = start if errors.drifts else None
        return CurvatureMemory(zero, start, zero, 0.0 * x1, slope_error, anchor, zero, zero)

    def find_region(self, memory: CurvatureMemory, t: Number, errors: Errors) -> CurvatureRegion:
        """Return the ball in round t."""
        return CurvatureRegion(self, memory, t, errors)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise over a length, from a point within 2M of where s was read."""
        slope = norm(s) + self.errors.slope
        return (slope + self.beta * ((4 if ahead else 2) * self.reach + length)) * length

    def describe_to_kernel(self, d: int) -> CurvatureInKernel | None:
        """Return how the kernel has one constraint."""
        is_one = isinstance(self.beta, float)
        return CurvatureInKernel.of(self, np.array([self.beta])) if is_one else None


class Quadratic(NamedTuple):
    """The points where a quadratic bound is at most 0.

    Attributes:
        x: where the slope was read.
        level: h, the bound there.
        s: the slope.
        squared: the inner product of s with itself.
        beta: the curvature.
        margin: e, for rounding: points are sought where the bound is at most -e, and accepted where
            it is at most -e/2.
    """

    x: Array
    level: Number
    s: Array
    squared: Number
    beta: Number
    margin: Number

    @property
    def up(self) -> Number:
        """The bound at x with the margin."""
        return self.level + self.margin

    def bound(self, point: Array) -> Number:
        """Return the bound at a point with half of the margin."""
        v = point - self.x
        margin = CHECK_SHARE * self.margin
        return self.level + margin + dot(self.s, v) + 0.5 * self.beta * dot(v, v)

    def holds(self, point: Array) -> Array:
        """Return whether the computed bound at a point is at most 0."""
        return self.bound(point) <= 0

    def find_nearest(self, w: Array) -> Projection:
        """Return the nearest point with its multiplier; x if none passes the check."""
        v, end, good, first = w - self.x, w, self.holds(w), None
        for _ in range(TRIES):
            if good is True or (isinstance(good, np.ndarray) and good.all()):
                break
            v, weight = project_onto_ball(v, self.up, self.s, self.squared, self.beta)
            first = (v, weight) if first is None else first
            end = where(good, end, self.x + v)
            good, v = self.holds(end), end - self.x
        if first is None:
            return Projection(end, 0.0 * self.level, 0.0 * self.level)
        point = where(good, end, self.x)
        return Projection(point, first[1], norm(point - self.x - first[0]))

    def find_cut(self, w: Array) -> Projection:
        """Return where a step to w ends that is drawn back along the slope, not to the nearest."""
        good = self.holds(w)
        q, weight = draw_along_slope(w - self.x, self.up, self.s, sqrt(self.squared), self.beta)
        point = where(good, w, self.x + q)
        point = where(self.holds(point), point, self.x)
        off = norm(point - self.x - q)
        return Projection(point, where(good, 0.0 * weight, weight), where(good, 0.0 * off, off))


Search: TypeAlias = Callable[[Quadratic, Array], Projection]


class CurvatureCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        value: g at the action that was played; with errors or drift, the bound on the next g there.
        slope: the product of the slope there with the step.
        length: the length of the step.
        bound: the next g is at most this; never above 0.
        beta: the smoothness constant.
        cut: whether the region changed the proposal.
        row: which of several constraints has the largest bound; None where there is one.
        errors: the errors that the bound allows for.
    """

    round: int
    value: float
    slope: float
    length: float
    bound: float
    beta: float
    cut: bool = False
    row: int | None = None
    errors: Errors = Errors()

    def __str__(self) -> str:
        name = "g" if self.row is None else f"g[{self.row}]"
        reading, bend = f"{name} = {self.value:.3g}", 0.5 * self.beta * (self.length * self.length)
        if not self.errors.is_exact:
            reading = (
                f"the next {name} here is at most {self.value:.3g}{describe_errors(self.errors)}"
            )
            bend += self.errors.slope * self.length
        if self.length == 0.0:
            stays = f"{reading} stays" if self.errors.is_exact else reading
            return f"round {self.round}: nothing moves, and {stays}"
        return (
            f"round {self.round}: {reading}{' was seen' if self.errors.is_exact else ''}, and its "
            f"curvature is at most {self.beta:g}: {self.value:.3g} + ({self.slope:.3g}) along the "
            f"slope + {bend:.3g} for the {self.length:.3g} moved; "
            f"the next {name} is at most {self.bound:.3g}"
        )


class PullCertificate(NamedTuple):
    """Why a point on the return path to the anchor is feasible: g is convex.

    Attributes:
        round: the round that was played.
        anchor_round: the round in which the anchor was read.
        anchor_value: the bound on the next g at the anchor.
        value: that at the action that was read last.
        share: of the way from there to the anchor.
        bound: the next g is at most this; never above 0.
        cut: whether something else was wanted.
        errors: what the bounds allow for.
    """

    round: int
    anchor_round: int
    anchor_value: float
    value: float
    share: float
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        return (
            f"round {self.round}: g is at most {self.value:.3g} here and {self.anchor_value:.3g} "
            f"where round {self.anchor_round} was{describe_errors(self.errors)}, and it is convex: "
            f"{self.share:.3g} of the way back the next g is at most {self.bound:.3g}"
        )


class CurvatureInKernel(KnowledgeInKernel):
    """One constraint of bounded curvature in the kernel.

    Args:
        knowledge: the constants.
        beta: a bound on the curvature of each row.
    """

    code = "SF_CURVATURE"

    def __init__(self, knowledge: QuadraticBounds, beta: Array) -> None:
        self.fields: dict[str, Any] = share_fields(knowledge.errors, knowledge.reach) | {
            "beta": beta
        }

    @classmethod
    def of(cls, knowledge: QuadraticBounds, beta: Array) -> Self | None:
        """Return the knowledge in the kernel, whose pull under drift assumes that g is convex."""
        return cls(knowledge, beta) if knowledge.convex or not knowledge.errors.drift else None

    def take_apart(self, memory: CurvatureMemory, names: Iterable[str]) -> Mapping[str, Any] | None:
        """Return the parts by name; the kernel has no error of the slope of one constraint."""
        if memory.slope_error and not self.has_rows:
            return None
        anchor, slope_error = memory.anchor or memory.last, memory.slope_error or 0.0
        return super().take_apart(memory._replace(anchor=anchor, slope_error=slope_error), names)

    def put_together(self, parts: dict[str, Any]) -> CurvatureMemory:
        """Return the memory of parts."""
        last, anchor = Anchor(**parts.pop("last")), Anchor(**parts.pop("anchor"))
        slope_error = parts.pop("slope_error") or None
        has_anchor = bool(self.fields["drift"])
        return CurvatureMemory(
            last=last, anchor=anchor if has_anchor else None, slope_error=slope_error, **parts
        )

    def certificate(self, step: KernelStep) -> CurvatureCertificate | PullCertificate:
        """Return why the next action is feasible."""
        n, errors = step.numbers, step.errors
        t, cut = int(n.round), bool(n.cut)
        if step.kind == "SF_PULL":
            return PullCertificate(
                round=t,
                anchor_round=int(n.anchor_round),
                anchor_value=n.anchor_value,
                value=n.value,
                share=n.share,
                bound=n.bound,
                cut=cut,
                errors=errors,
            )
        row, beta = int(n.row), self.fields["beta"]
        slope_error = step.memory.slope_error  # that of the last reading
        return CurvatureCertificate(
            round=t,
            value=n.value,
            slope=n.slope,
            length=n.distance,
            bound=n.bound,
            beta=float(beta[row]),
            cut=cut,
            row=row if len(beta) > 1 else None,
            errors=errors if slope_error is None else replace(errors, slope=slope_error),
        )


class CurvatureRegion(Region):
    """The points where the quadratic bound is at most 0, in a round.

    Args:
        knowledge: the constants.
        memory: the readings.
        t: the round that the region is for.
        errors: the errors that it allows for.

    Attributes:
        ball: the bound without the error of the slope.
        slope_error: the error of the slope; None for none.
        low: g at x was at least this.
        level: the bound on g at x in the round.
    """

    x: Array
    round: float
    errors: Errors
    reach: Number
    upper: Number
    low: Number
    level: Number
    slope_error: Array | None
    anchor: Anchor | None
    slope_norm: Number
    noise: Number
    ball: Quadratic
    nu: Number
    longest: Number
    radius: Number
    depth: Number
    curvature_seen: Number

    def __init__(
        self, knowledge: QuadraticBounds, memory: CurvatureMemory, t: Number, errors: Errors
    ) -> None:
        x, s, reach, drift = memory.last.x, memory.s, knowledge.reach, knowledge.errors.drift
        beta = knowledge.curvature(memory)
        self.x, self.round, self.errors, self.reach = x, memory.rounds, errors, reach
        self.upper, self.low = memory.last.value, memory.low
        self.level = memory.last.level(t, drift)
        self.slope_error, self.anchor = memory.slope_error, memory.anchor
        self.anchor_level: Number = None
        if memory.anchor is not None:
            # Without convexity there is no return path to the anchor.
            penalty = 0.0 if knowledge.convex else math.inf
            self.anchor_level = memory.anchor.level(t, drift) + penalty
        squared = dot(s, s)
        self.slope_norm = sqrt(squared)
        self.noise = curvature_margin(
            self.upper, self.slope_norm, beta, reach, x.shape[-1], knowledge.errors.evaluation
        )
        self.ball = Quadratic(x, self.level, s, squared, beta, self.noise)
        # The slope on the sphere of the ball, which is beta times its radius.
        zero = 0.0 * squared
        self.nu = sqrt(maximum(squared - 2 * beta * self.ball.up, zero))
        curved = beta > 0
        self.longest = where(curved, 0.5 * self.nu / where(curved, beta, 1.0), math.inf + zero)
        largest_slope = (
            self.slope_norm if self.slope_error is None else self.slope_norm + self.slope_error
        )
        root = largest_slope + sqrt(
            maximum(largest_slope * largest_slope - 2 * beta * self.ball.up, zero)
        )
        self.radius = -2 * self.ball.up / where(root > 0, root, math.inf)
        self.depth = maximum(memory.depth, self.radius)
        self.curvature_seen = memory.curvature_seen

    def bound(self, point: Array) -> Number:
        """Return the certified bound on g at a point: U(p) and half of the margin."""
        bound = self.ball.bound(point)
        return (
            bound if self.slope_error is None else bound + self.slope_error * norm(point - self.x)
        )

    def holds(self, point: Array) -> Array:
        """Return whether the computed bound at a point is at most 0."""
        return self.bound(point) <= 0

    def contains(self, w: Array) -> Array:
        """Return whether a point is certified; a column of answers for a batch."""
        good = self.holds(w)
        if good is True:
            return True
        if self.anchor is None:
            # For a fixed g an action that was played, and feasible, stays so.
            return good | (all_entries(w == self.x) & (self.upper <= 0))
        point, share = self._pull()
        return good | (all_entries(w == point) & (share <= 1))

    def nearest(self, w: Array) -> Array:
        """Return the point of the region nearest to w; w itself where it is in the region."""
        w = self._reachable(w)
        good = self.contains(w)
        return w if good is True else where(good, w, self.find_nearest(w).point)

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multiplier; in sets, without."""
        if known:
            return super().find_nearest(w, known)
        return self._find(self._reachable(w), Quadratic.find_nearest)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        r"""Return where a step to w ends that is drawn back along the slope, not to the nearest.

        Descent by such cuts loses a constant to that by projections onto the known set
        (Theorem C of docs/curvature.md). The step must be at most :math:`\nu/(2\beta)` long, or
        nothing may move.
        """
        if known:
            return super().find_cut(w, known)
        return self._find(self._reachable(w), Quadratic.find_cut)

    def _reachable(self, w: Array) -> Array:
        """Return a proposal; one run raises if the way there has no finite square."""
        if not is_number(self.level):
            return nan_where_invalid(w)
        check_proposal(w, self.x)
        return w

    def _find(self, w: Array, search: Search) -> Projection:
        """Return the result of a search; under drift, if it fails, the return path."""
        projection = self._search(w, search)
        if self.anchor is None:
            return projection
        good = self.holds(projection.point)
        if good is True:
            return projection
        back = self._search(self.x, Quadratic.find_nearest).point
        near = self.holds(back)
        pull, share = self._pull()
        fine = near | (share <= 1)
        if fine is False:
            raise self.explain_empty()
        back = where(near, back, where(fine, pull, number_like(pull, math.nan)))
        return Projection(
            where(good, projection.point, back),
            where(good, projection.weights, 0.0 * projection.weights),
            where(good, projection.projection_error, norm(back - w)),
        )

    def _search(self, w: Array, search: Search) -> Projection:
        """Return the result of a search; x if it is not certified."""
        if self.slope_error is None:
            return search(self.ball, w)
        good = self.holds(w)
        best, sure = self._search_lengths(w, search)
        point = where(good, w, where(sure, best.point, self.x))
        error = best.projection_error + norm(best.point - point)
        weights = where(good, 0.0 * best.weights, best.weights)
        return Projection(point, weights, where(good, 0.0 * error, error))

    def _search_lengths(self, w: Array, search: Search) -> tuple[Projection, Array]:
        r"""Return the answer of the ball that is nearest to w, and whether it is certified.

        The bounds of the balls are convex in length and point together, so that what is taken off
        w is convex in the length: it falls while the answer is longer than that, and rises then. A
        ball has no point to offer where :math:`2(\beta + \tau/\ell)(h + \tau\ell/2 +
        (\beta + \tau/\ell)a/2) > \|s\|^2`, with a the square of what a cut keeps of the way
        across the slope, and 0 for the nearest point: the left side falls while
        :math:`\beta\ell^2 < 2(h + \beta a + \tau a/\ell)`.
        """
        first, high = self.ball, 2.0 * self.reach + norm(self.x)
        low, across = SHORTEST * high, 0.0 * high
        if search is Quadratic.find_cut:
            way, slope_norm = w - self.x, where(self.slope_norm > 0, self.slope_norm, 1.0)
            along = dot(way, self.ball.s) / slope_norm
            across = maximum(dot(way, way) - along * along, across)
        for _ in range(LENGTHS):
            length = sqrt(low * high)
            ball = self.ball_of(length)
            projection = search(ball, w)
            empty = 2.0 * ball.beta * (ball.up + 0.5 * ball.beta * across) > ball.squared
            level = first.up + ball.beta * across
            more = (norm(projection.point - self.x) > length) | (
                empty & (first.beta * length * length < 2.0 * level)
            )
            low, high = where(more, length, low), where(more, high, length)
        return projection, self.holds(projection.point)

    def as_bounds(self) -> Bounds:
        """Return the bound of one NumPy run, or those of its rows."""
        ball = self.ball
        up, beta, close = (np.ravel(n) for n in (ball.up, ball.beta, BOUND_SHARE * ball.margin))
        slope_error = np.full(len(up), float(self.slope_error or 0.0))
        return Bounds(up, np.atleast_2d(ball.s), beta, slope_error, close)

    def ball_of(self, length: Number) -> Quadratic:
        """Return a ball inside of the region, that touches it at a distance from x."""
        tau: Number = self.slope_error
        ball = self.ball
        return ball._replace(beta=ball.beta + tau / length, level=ball.level + 0.5 * tau * length)

    def _pull(self) -> tuple[Array, Number]:
        """Return the point towards the anchor where convexity bounds g by 0, and its share."""
        assert self.anchor is not None
        share = pull_share(self.ball.up, self.anchor_level)
        return self.x + share * (self.anchor.x - self.x), share

    @property
    def each(self) -> CurvatureRegion:
        """The region of one constraint by itself."""
        return self

    def explain_empty(self) -> EmptyRegionError:
        """Return the error for a round in which neither x nor the anchor is certified."""
        if self.anchor is None:
            return super().explain_empty()
        bound, deepest = np.max(self.bound(self.x)), np.max(self.anchor_level)
        point = self.x if bound <= deepest else self.anchor.x
        least, drift = min(bound, deepest), self.errors.drift
        if not drift:  # an anchor is kept for drift and for contexts alone
            return EmptyRegionError.of_context(self.round, point, least)
        return EmptyRegionError.of_drift(self.round, point, least, drift)

    def excess_over(self, old: CurvatureRegion) -> tuple[Number, Number]:
        """Return how far two readings are apart, and by how much one exceeds the other's slope.

        Both regions are those of the round of this one's reading.
        """
        v = self.x - old.x
        length, rise_of_level = norm(v), old.level - old.upper
        rise = self.low - old.level - dot(old.ball.s, v) - (old.slope_error or 0.0) * length
        fall = old.low - rise_of_level - self.level + dot(self.ball.s, v)
        return length, maximum(rise, fall - (self.slope_error or 0.0) * length)

    def price(self, w: Array, weight: Number) -> Number:
        r"""Return the cost of a cut: :math:`\frac12\mu^2\|s\|^2 - \mu(g + s^\top v)`; Theorem C.

        Args:
            w: the end of the step that was cut, v away from x.
            weight: :math:`\mu`, how many times the slope was taken off.
        """
        least = self.low - self.noise
        if self.slope_error is not None:
            least = least - 2 * self.reach * self.slope_error
        cost = 0.5 * weight * weight * self.ball.squared
        return cost - weight * (least + dot(self.ball.s, w - self.x))

    def normal_error(self, weight: Number, point: Array) -> tuple[Number, Number]:
        r"""Return :math:`\Lambda` of Theorem K, and what rounding adds to its inequality.

        The normal n of the ball at q has :math:`n^\top(q-u) \ge -\frac\Lambda2(\|x-u\|^2 -
        \|q-u\|^2)` for all feasible u, with :math:`\Lambda = \lambda\beta`.

        Args:
            weight: the multiplier.
            point: q.
        """
        ball, hidden = self.ball, self.level - self.low
        if self.slope_error is not None:
            # A comparator may have what the errors hide, and the ball was one for this length.
            length, tau = norm(point - self.x), self.slope_error
            hidden = hidden + (2 * self.reach + 0.5 * length) * tau
            more = where(length > 0, tau / where(length > 0, length, 1.0), 0.0 * length)
            ball = ball._replace(beta=ball.beta + more, level=ball.level + 0.5 * tau * length)
        over = ball.bound(point) + (1 - CHECK_SHARE) * self.noise
        loose = maximum(2 * self.noise + hidden - over, 0.0 * over)
        return weight * ball.beta, weight * loose

    def certificate(
        self, x: Array, cut: bool = False, row: int | None = None
    ) -> CurvatureCertificate | PullCertificate:
        """Return why a point that the region gave is feasible: one run's numbers, or a row's."""
        v, errors = x - self.x, self.errors
        columns = (self.level, self.bound(x), dot(self.ball.s, v), self.ball.beta, self.ball.up)
        level, bound, slope, beta, up = (float(np.ravel(c)[row or 0]) for c in columns)
        t, length = int(self.round), float(norm(v))
        if self.slope_error is not None:
            errors = replace(errors, slope=float(self.slope_error))  # that of the last reading
        if self.anchor is not None and not bound <= 0:
            deep, since = float(np.ravel(self.anchor_level)[row or 0]), int(self.anchor.round)
            way = float(norm(self.anchor.x - self.x))
            share = length / way if way > 0 else 0.0
            bound = min((1 - share) * up + share * deep, 0.0)
            return PullCertificate(t, since, deep, up, share, bound, cut, errors)
        bound = bound if length else level
        return CurvatureCertificate(t, level, slope, length, bound, beta, cut, row, errors)


def _choose(condition: Array, a: Array, b: Array) -> Array:
    """Return one of two memories, run by run; where one has no error of the slope it is 0."""
    if isinstance(b, tuple):
        return type(b)(*(_choose(condition, *pair) for pair in zip(a, b, strict=True)))
    if a is None or b is None:
        a, b = (0.0 if part is None else part for part in (a, b)) if a is not b else (None, None)
    return None if b is None else where(condition, a, b)


def least_curvature(old: CurvatureMemory, new: CurvatureMemory, noise: Number) -> Number:
    """Return the least curvature that explains two readings, each with its rounding."""
    v, rise = new.last.x - old.last.x, new.last.value - old.last.value
    squared = dot(v, v)
    over = maximum(rise - dot(old.s, v), dot(new.s, v) - rise) - SEEN_MARGINS * noise
    some = (old.rounds > 0) & (squared > 0)
    ratio = 2 * maximum(over, 0.0 * over) / where(some, squared, 1.0)
    return where(some, ratio, 0.0 * ratio)


def curvature_margin(
    g: Number, size: Number, beta: Number, reach: Number, dimension: int, error: Number
) -> Number:
    r"""Return e of :mod:`surefoot.knowledge.curvature`: what a bound is kept below 0 by.

    Args:
        g: the value.
        size: the norm of the slope.
        beta: the bound on the curvature.
        reach: M, the largest norm of a feasible point.
        dimension: n.
        error: :math:`\delta`, a bound on the error of a computed g beyond rounding.

    Example:
        >>> curvature_margin(-0.5, 1.0, 1.0, 1.0, 2, 0.0) < 1e-13
        True
    """
    scale = abs(g) + size * reach + beta * reach * reach
    e = CURVATURE_ROUNDINGS * (dimension + TERMS) * UNIT * scale
    return e + EVALUATIONS * error + TINY


def project_onto_ball(
    v: Array, up: Number, s: Array, squared: Number, beta: Number
) -> tuple[Array, Number]:
    r"""Project v onto :math:`\{q : h + s^\top q + \frac\beta2\|q\|^2 \le 0\}`, with the multiplier.

    .. math:: q = \frac{v - \lambda s}{1 + \lambda\beta}, \qquad
              \lambda = \frac{2[U(v)]_+}{\nu(\nu + \|s + \beta v\|)},

    the multiplier in the form that keeps its digits for every :math:`\beta \ge 0`. Where the set
    is empty, or a point, v itself is returned.

    Args:
        v: the point, relative to where s was seen.
        up: h, the value there and a margin.
        s: the slope.
        squared: the inner product of s with itself.
        beta: the curvature.

    Example:
        >>> q, multiplier = project_onto_ball(
        ...     np.array([0.0, 4.0]), -1.5, np.array([0.0, 1.0]), 1.0, 1.0
        ... )
        >>> q, multiplier  # the ball around (0, -1) of radius 2
        (array([0., 1.]), 1.5)
    """
    over = up + dot(s, v) + 0.5 * beta * dot(v, v)
    nu = sqrt(maximum(squared - 2 * beta * up, 0.0 * squared))
    below = nu * (nu + norm(s + beta * v))
    weight = 2 * maximum(over, 0.0 * over) / where(below > 0, below, math.inf)
    return (v - weight * s) / (1 + beta * weight), weight


def draw_along_slope(
    w: Array, up: Number, s: Array, size: Number, beta: Number
) -> tuple[Array, Number]:
    r"""Draw a step back along the slope until its quadratic bound is at most 0.

    .. math:: q = w - \Big[\frac{s^\top w}{\|s\|} - z\Big]_+\frac{s}{\|s\|}, \qquad
              z = \frac{-2c}{\|s\| + \sqrt{\|s\|^2 - 2\beta c}}, \quad c = h + \tfrac\beta2 b^2,

    b the part of w across s: what is farther along s than the bound allows is taken off, as a
    Polyak step does, which it is for :math:`\beta = 0`. There is such a q for every
    :math:`\|w\| \le \nu/\beta`.

    Args:
        w: the step.
        up: h, the value where s was seen and a margin.
        s: the slope.
        size: its norm.
        beta: the curvature.

    Returns:
        q, and how many times s was taken off.

    Example:
        >>> draw_along_slope(np.array([0.0, 4.0]), -3.0, np.array([0.0, 2.0]), 2.0, 2.0)
        (array([0., 1.]), 1.5)
    """
    below = where(size > 0, size, 1.0)
    unit = s / below
    a = dot(unit, w)
    c = up + 0.5 * beta * maximum(dot(w, w) - a * a, 0.0 * a)
    root = size + sqrt(maximum(size * size - 2 * beta * c, 0.0 * c))
    z = -2 * c / where(root > 0, root, math.inf)
    off = maximum(a - z, 0.0 * a)
    return w - off * unit, where(size > 0, off / below, 0.0 * off)
