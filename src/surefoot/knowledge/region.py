"""Certified regions: the points that are certainly feasible in the next round."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import if_any, loop_in_turn, norm, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.kernel_constants import HALVINGS
from surefoot.core.types import Array, Certificate, Number, Set
from surefoot.knowledge import nearest
from surefoot.knowledge.errors import (
    CertificateError,
    EmptyRegionError,
    Errors,
    describe_errors,
)
from surefoot.knowledge.nearest import EVERYWHERE, Bounds, KnownSets
from surefoot.sets import Ball

__all__ = ["OnePoint", "PointCertificate", "Projection", "Region", "RowSeen"]


class RowSeen(NamedTuple):
    """The reading of one constraint, in the form for proposers.

    Attributes:
        g: the value; None if it was not reported.
        s: the subgradient.
        upper: an upper bound on g there, by the reading or an earlier certificate.
        noise: a bound on the rounding of the value.
        share: how steep the constraint may be, as a share of the region's ``slope_norm``; None
            where there is one constraint.
    """

    g: Number | None
    s: Array
    upper: Number
    noise: Number
    share: float | None = None


class Projection(NamedTuple):
    """A certified point, with its multipliers.

    Attributes:
        point: the point.
        weights: the multiplier of the slope, or one per row; 0 where there is none.
        projection_error: how far the point is from the one that the multipliers lead to.
    """

    point: Array
    weights: Number
    projection_error: Number


class Region:
    """A convex set of next actions, all of them certainly feasible. It belongs to one round.

    A new kind of region needs ``round``, ``x``, :meth:`nearest`, :meth:`contains` and
    :meth:`certificate`. The other numbers are for proposers; the knowledge names those that it sets
    in ``offers``. ``contains`` must be exact for the float64 point.

    Attributes:
        round: the last round of the memory.
        x: the last action with a reading.
        upper: g there is at most this; infinite unless it is set.
        errors: the errors that the region allows for.
        radius: of the certified ball around x; negative if its slack is below the margin.
        depth: of the largest certified ball.
        longest: the longest step from x that :meth:`cut` can certify.
        slope_norm: a bound on the norm of subgradients there; 0 if unknown.
        noise: the part of the margin that rounding takes.
        curvature_seen: the least smoothness constant that explains the last two readings; or 0.
        reach: the largest norm of a feasible point.
        remeasurement_due: whether the action after the next will re-measure the anchor.
        read_place: the context of the last reading; None without contexts.
        known: the sets that it was restricted to.
    """

    round: float
    x: Array
    upper: Number = math.inf
    errors: Errors = Errors()
    radius: Number = 0.0
    depth: Number = 0.0
    longest: Number = 0.0
    slope_norm: Number = 0.0
    noise: Number = 0.0
    curvature_seen: Number = 0.0
    reach: Number = 1.0
    remeasurement_due: bool = False
    read_place: Array | None = None
    known: KnownSets = EVERYWHERE
    searches: ClassVar[bool] = False
    """Whether its nearest point is found by a search, which may as well be one in known sets."""

    @abstractmethod
    def nearest(self, w: Array) -> Array:
        """Return the certified point nearest to w; w itself if it is certified.

        The answer is certified as a float64 point, whatever rounding does to "nearest".
        """

    @property
    def is_exact(self) -> bool:
        """Whether ``nearest`` is the nearest to rounding, so that its distance proves a gap."""
        return False

    @abstractmethod
    def contains(self, w: Array) -> Array:
        """Return whether a point is certified."""

    def may_contain(self, points: Array) -> Array:
        """Return which of several points may be certified: those that it says no of are not.

        Of a set that is searched it spares one search per point.

        Args:
            points: one per row.
        """
        return np.ones(len(points), dtype=bool)

    @final
    def must_certify(self, x: Array, domain: Set | None) -> None:
        """Raise unless a point is certified and in the domain: the last check before it is played.

        Args:
            x: the next action, of one NumPy run.
            domain: the known set that holds every action; None for none.
        """
        is_inside = domain is None or bool(domain.contains(x))
        if not is_inside or not (self.contains(x) or self.stays(x)):
            raise CertificateError(self, x, is_inside)

    def stays(self, w: Array) -> bool:
        """Return whether a point is the last action, which stays certified."""
        return not self.errors.drift and self.upper <= 0 and bool((w == self.x).all())

    def find_convex_part(self, w: Array) -> Region:
        """Return a convex part of the region that holds its point nearest to w."""
        return self

    @abstractmethod
    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point of the region is feasible: a named tuple whose ``str`` is a sentence.

        Args:
            x: the next action.
            cut: whether it differs from the proposal.
        """

    def cut(self, w: Array) -> Array:
        """Return the point where a descent step to w is cut off."""
        return self.find_cut(w).point

    def end_step(self, w: Array) -> Array:
        """Return the end of :meth:`cut`, ignoring known sets; by default the nearest point."""
        return self.nearest(w)

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers, for proposers whose bounds need these.

        Args:
            w: the proposal.
            known: sets that hold the point, too; one NumPy run.
        """
        point = nearest.find_certified(self, known, w) if known else self.nearest(w)
        distance = norm(point - w)
        return Projection(point, 0.0 * distance, distance)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the point where a step to w is cut off, with its multipliers."""
        point = self.end_step(w)
        if not known.contains(point):
            point = nearest.find_certified(self, known, point)
        distance = norm(point - w)
        return Projection(point, 0.0 * distance, distance)

    def price(self, w: Array, weights: Number) -> Number:
        """Return what a cut costs in a bound on the regret, by its multipliers.

        Args:
            w: the end of the step that was cut.
            weights: the multipliers.
        """
        raise InvalidValueError(f"region must have multipliers, got {type(self).__name__}")

    def price_cut(
        self, end: Array, cut: Projection, x: Array, radius: float
    ) -> tuple[float, float]:
        """Return the tightening of the round, and what its cut costs in a bound on the regret.

        Args:
            end: the end of the step that was cut.
            cut: where it was cut off.
            x: the next action.
            radius: R, of a ball that holds the actions.
        """
        d = float(cut.projection_error) + float(norm(x - cut.point))
        return 0.0, float(self.price(end, cut.weights)) + 0.5 * d * (4 * radius + d)

    def fall_until_read(self, places: Array | None) -> Array | float:
        """Return how much larger g may be in other contexts than in that of the last reading.

        Args:
            places: the contexts; None without contexts.
        """
        return 0.0

    def guess_change(self, place: Array | None) -> float:
        """Return the middle of the possible changes of g from a context to the last reading's.

        Args:
            place: the context; None without contexts.
        """
        return 0.0

    def within(self, *sets: Set | None) -> Region:
        """Return the part of the region that is in sets, such as those announced."""
        from surefoot.knowledge.choices import Choices, OnChoices

        for choices in sets:
            if isinstance(choices, Choices):
                others = (one for one in sets if one is not choices)
                return OnChoices(self.within(choices.box(len(self.x)), *others), choices)
        known = KnownSets(*sets)
        return Within(self, known) if known else self

    def shift(self, x: Array, i: int, length: float) -> float:
        """Return how far a probe of a length goes along an entry; 0 where none can be played.

        Args:
            x: where it begins.
            i: the entry.
            length: how far it is meant to go.
        """
        return length

    @property
    def relaxed(self) -> Region:
        """The convex region that a proposer may follow: that around choices, else itself."""
        return self

    @property
    def base(self) -> Any:
        """The region without the sets that it was restricted to."""
        return self

    def read_rows(self, x: Array, feedback: Feedback) -> Sequence[RowSeen]:
        """Return the reading of each constraint; empty if no subgradient was reported.

        Args:
            x: an array like the action.
            feedback: of the round that the region is after.
        """
        s = feedback.constraint_subgradient
        if s is None:
            return ()
        if feedback.constraint_value is None:
            return (RowSeen(None, s, self.upper, self.noise),)
        g, s = checks.read_constraint(x, feedback)
        return (RowSeen(g, s, self.upper, self.noise),)

    # Methods for a search in sets; one NumPy run.

    def as_bounds(self) -> Bounds | None:
        """Return the region as bounds relative to x; None if only its projection is available."""
        return None

    def seek(self, w: Array, known: KnownSets) -> Array:
        """Return nearly the point of the region and of sets nearest to w; it is not checked.

        If the nearest point of one is in the other, it is the nearest of both.
        """
        point = self.nearest(w)
        if known.contains(point):
            return point
        inner = known.project(w)
        if self.contains(inner):
            return inner
        size = norm(point - self.x) + max(float(self.depth), 0.0)
        part = self.find_convex_part(w)
        return nearest.project_onto_both(part.nearest, known.project, w, self.x, size)

    def find_inside(self, known: KnownSets, holds: Callable[[Array], bool]) -> Array | None:
        """Return a point of the region and of sets, near the last action; None if the search fails.

        Args:
            known: the sets.
            holds: whether a point is one.
        """
        return nearest.reflect_in_turn((self.nearest,), known, holds, self.x)

    @property
    def insides(self) -> tuple[Array, ...]:
        """Points that are likely to be in the region."""
        return (self.nearest(self.x),)

    @property
    def whole(self) -> Region:
        """The region without the re-measurement that it asks for."""
        return self

    def explain_empty(self) -> EmptyRegionError:
        """Return the error for a round after which no action is certified."""
        worst, drift = self.upper + self.errors.drift, self.errors.drift
        return EmptyRegionError.of_drift(self.round, self.x, worst, drift)


class RegionWrapper(Region):
    """Base of regions that delegate to another.

    Args:
        part: the region.
    """

    def __init__(self, part: Region) -> None:
        self.part = part
        for name in Region.__annotations__:
            setattr(self, name, getattr(part, name))

    @property
    def base(self) -> Any:
        """The region without the sets."""
        return self.part.base

    def contains(self, w: Array) -> Array:
        """Return whether the region certifies a point."""
        return self.part.contains(w)

    def may_contain(self, points: Array) -> Array:
        """Return which of several points the region may certify."""
        return self.part.may_contain(points)

    def stays(self, w: Array) -> bool:
        """Return whether a point is the last action, which stays certified."""
        return self.part.stays(w)

    def shift(self, x: Array, i: int, length: float) -> float:
        """Return how far the region lets a probe go along an entry."""
        return self.part.shift(x, i, length)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return the region's reason why a point is feasible."""
        return self.part.certificate(x, cut)


class Within(RegionWrapper):
    """The points of a region that are in sets.

    Args:
        part: the region.
        known: the sets.
    """

    known: KnownSets

    def __init__(self, part: Region, known: KnownSets) -> None:
        super().__init__(part.part if isinstance(part, Within) else part)
        self.known = KnownSets(*part.known.sets, *known.sets)

    def contains(self, w: Array) -> Array:
        """Return whether a point is certified and in the sets."""
        return self.known.contains(w) and bool(self.part.contains(w))

    def nearest(self, w: Array) -> Array:
        """Return the point of both nearest to w; always one of both."""
        if self.part.searches:
            return self.find_nearest(w).point
        point = self.part.nearest(w)
        return point if self.known.contains(point) else self.find_nearest(w).point

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers."""
        return self.part.find_nearest(w, self.known)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the point where a step to w is cut off, with its multipliers."""
        return self.part.find_cut(w, self.known)


class Recertified(Within):
    """The points of a region, with another reason.

    Args:
        part: the region, in its known set.
        certify: makes the reason from that of the region.
    """

    known: KnownSets
    certify: Callable[[Array], Certificate]

    def __init__(self, part: Region, certify: Callable[[Any], Certificate]) -> None:
        RegionWrapper.__init__(self, part)  # the region is unchanged
        self.known, self.certify = EVERYWHERE, certify

    @property
    def relaxed(self) -> Region:
        """The convex region, with its own reasons."""
        return self.part.relaxed

    def within(self, *sets: Set | None) -> Region:
        """Return the part that is in further sets."""
        return Recertified(self.part.within(*sets), self.certify)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return the other reason."""
        return self.certify(self.part.certificate(x, cut))


class WithinBall(Within):
    """The points of a region that are in a ball, for a batch and every backend, too.

    A ball around the feasible set changes nothing: it contains every certified point. If it does
    not contain one, its projection is taken, which is certified, but not always the nearest.
    """

    def __init__(self, part: Region, ball: Ball) -> None:
        super().__init__(part, KnownSets(ball))
        self.ball = ball

    def contains(self, w: Array) -> Array:
        """Return whether a point is certified and in the ball; a column of answers for a batch."""
        return self.ball.contains(w) & self.part.contains(w)

    def nearest(self, w: Array) -> Array:
        """Return the region's nearest point, moved into the ball."""
        return self._draw(self.part.nearest(w))

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers."""
        return self._draw_found(self.part.find_nearest(w))

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the point where a step to w is cut off, with its multipliers."""
        return self._draw_found(self.part.find_cut(w))

    def _draw_found(self, projection: Projection) -> Projection:
        point = self._draw(projection.point)
        return projection._replace(
            point=point,
            projection_error=projection.projection_error + norm(point - projection.point),
        )

    def _draw(self, point: Array) -> Array:
        """Return a certified point of the ball for a certified one."""
        good = self.ball.contains(point)
        return if_any(good ^ True, lambda: self._draw_in(point, good), lambda: point)

    def _draw_in(self, point: Array, good: Array) -> Array:
        """Return invalid points as their projections, if these are certified.

        If a projection is not certified, the result is the last certified point on the way there
        from the action; all of that way is in the ball.
        """
        end, x = self.ball.project(point), self.x
        way = end - x

        def halve(k: Number, share: Number) -> Number:
            more = share + 0.5 ** (k + 1.0)
            return where(self.contains(x + more * way), more, share)

        between = x + loop_in_turn(HALVINGS, halve, 0.0 * norm(way)) * way
        best = where(self.contains(end), end, between)
        fine = good | self.contains(best)
        if fine is False:
            raise EmptyRegionError.of_set(self.ball, point, float(norm(end - point)))
        return where(good, point, where(fine, best, 0.0 * best + math.nan))


class PointCertificate(NamedTuple):
    """Why the only certified action is feasible.

    Attributes:
        round: the round that was played.
        reason: in words.
        bound: the next g is at most this.
        cut: whether the proposal was another.
        errors: the errors that the bound allows for.
    """

    round: int
    reason: str
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.reason}{describe_errors(self.errors)}; "
            f"the next g is at most {self.bound:.3g}"
        )


class OnePoint(Region):
    """One certified point, with its reason.

    Args:
        t: the round that was played.
        x: the point.
        bound: an upper bound on g there in the next round.
        errors: the errors that the bound allows for.
        reason: in words.
    """

    round: float
    x: Array
    upper: Number
    errors: Errors
    reason: str
    reach: Number

    def __init__(self, t: float, x: Array, bound: float, errors: Errors, reason: str) -> None:
        self.round, self.x, self.upper, self.errors, self.reason = t, x, bound, errors, reason
        self.reach = norm(x)

    def nearest(self, w: Array) -> Array:
        """Return the point."""
        return self.x

    def contains(self, w: Array) -> bool:
        """Return whether a point is this one."""
        return bool((w == self.x).all())

    def certificate(self, x: Array, cut: bool = False) -> PointCertificate:
        """Return why the point is feasible."""
        return PointCertificate(int(self.round), self.reason, self.upper, cut, self.errors)
