"""Certified regions: the points that are certainly feasible in the next round."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from surefoot.core import checks
from surefoot.core.arrays import if_any, loop_in_turn, norm, where
from surefoot.core.types import Array, Certificate, Feedback, Number, Set
from surefoot.knowledge import nearest
from surefoot.knowledge.errors import (
    CertificateError,
    EmptyRegionError,
    Errors,
    describe_errors,
)
from surefoot.knowledge.nearest import EVERYWHERE, HALVINGS, Bounds, KnownSets
from surefoot.sets import Ball

__all__ = ["OnePoint", "PointCertificate", "Projection", "Region", "RowSeen"]


class RowSeen(NamedTuple):
    """What was read of one constraint, as a proposer gets it.

    Attributes:
        g: the value; None where it was not reported.
        s: the subgradient.
        upper: g is at most this there, by the reading or by what was certified before.
        noise: what rounding may have done to the value.
        share: how steep the constraint may be, as a share of the region's ``slope_norm``; None
            where there is one constraint.
    """

    g: Number | None
    s: Array
    upper: Number
    noise: Number
    share: float | None = None


class Projection(NamedTuple):
    """A certified point and how it was found.

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

    A region of your own needs ``round``, ``x``, :meth:`nearest`, :meth:`contains` and
    :meth:`certificate`; the other numbers are for proposers that read them, and its knowledge
    names those that it fills in ``offers``. ``contains`` must be exact for the float64 point.

    Attributes:
        round: the last round of the memory.
        x: the action that was observed last.
        upper: g there is at most this; infinite unless it is set.
        errors: what the region allows for.
        radius: of the certified ball around x; negative where its slack is below the margin.
        depth: of the largest certified ball.
        longest: the longest step from x that :meth:`cut` can certify.
        steepness: how fast g may rise there; 0 where nobody knows.
        noise: the part of the margin that rounding takes.
        curvature_seen: the least that explains the last two readings; 0 where none is known.
        reach: the largest norm of a feasible point.
        visit_due: whether the action after the next will be the anchor, to be measured again.
        read_place: the context that the last action was read in; None where there are none.
        known: the sets that it was cut down to.
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

    @abstractmethod
    def nearest(self, w: Array) -> Array:
        """Return the certified point nearest to w; w itself where it is certified.

        The answer is certified as a float64 point, whatever rounding does to "nearest".
        """

    @abstractmethod
    def contains(self, w: Array) -> Array:
        """Return whether a point is certified."""

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
        """Return whether a point is the last action, and certified for having been played."""
        return not self.errors.drift and self.upper <= 0 and bool((w == self.x).all())

    def find_convex_part(self, w: Array) -> Region:
        """Return a convex part of the region that holds its point nearest to w."""
        return self

    @abstractmethod
    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point of the region is feasible: a named tuple whose ``str`` is a sentence.

        Args:
            x: the next action.
            cut: whether it differs from the wish.
        """

    def cut(self, w: Array) -> Array:
        """Return where a step to w, a descent's, is cut off."""
        return self.find_cut(w).point

    def end_step(self, w: Array) -> Array:
        """Return where that is without sets; the nearest point unless defined."""
        return self.nearest(w)

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers, for proposers whose bounds need these.

        Args:
            w: the wanted action.
            known: sets that hold the point, too; one NumPy run.
        """
        point = nearest.find_certified(self, known, w) if known else self.nearest(w)
        far = norm(point - w)
        return Projection(point, 0.0 * far, far)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
        point = self.end_step(w)
        if not known.contains(point):
            point = nearest.find_certified(self, known, point)
        far = norm(point - w)
        return Projection(point, 0.0 * far, far)

    def price(self, w: Array, weights: Number) -> Number:
        """Return what a cut costs in a bound on the regret, by its multipliers.

        Args:
            w: the end of the step that was cut.
            weights: the multipliers.
        """
        raise NotImplementedError(f"{type(self).__name__} has no multipliers")

    def price_cut(
        self, wanted: Array, cut: Projection, x: Array, radius: float
    ) -> tuple[float, float]:
        """Return the tightening of the round, and what its cut costs in a bound on the regret.

        Args:
            wanted: the end of the step that was cut.
            cut: where it was cut off.
            x: the next action.
            radius: R, of a ball that holds the actions.
        """
        d = float(cut.projection_error) + float(norm(x - cut.point))
        return 0.0, float(self.price(wanted, cut.weights)) + 0.5 * d * (4 * radius + d)

    def within(self, *sets: Set | None) -> Region:
        """Return the part of the region that is in sets, as those announced for the next round."""
        from surefoot.knowledge.grid import Grid, OnGrid

        for grid in sets:
            if isinstance(grid, Grid):
                rest = (known for known in sets if known is not grid)
                return OnGrid(self.within(grid.inside, *rest), grid)
        known = KnownSets(*sets)
        return Within(self, known) if known else self

    @property
    def base(self) -> Any:
        """The region without sets that it was cut down to."""
        return self

    def read_rows(self, x: Array, feedback: Feedback) -> Sequence[RowSeen]:
        """Return what was read of each constraint; none where no slope was reported.

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

    # What a search in sets asks a region for; one NumPy run.

    def as_bounds(self) -> Bounds | None:
        """Return the region as bounds relative to x; None where it is known by its projection."""
        return None

    def seek(self, w: Array, known: KnownSets) -> Array:
        """Return nearly the point of the region and of sets nearest to w; it is not checked.

        Where the nearest point of one is in the other, it is that of both.
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
        """Return a point of the region and of sets, near the last action; None for none found.

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
        """The region without a visit that it asks for."""
        return self

    def explain_empty(self) -> EmptyRegionError:
        """Return the error for a round after which nothing is certified any more."""
        worst, drift = self.upper + self.errors.drift, self.errors.drift
        return EmptyRegionError.of_drift(self.round, self.x, worst, drift)


class RegionWrapper(Region):
    """Another region, taken as it is but for what a subclass says.

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

    def stays(self, w: Array) -> bool:
        """Return whether the region certifies a point for having been played."""
        return self.part.stays(w)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point is feasible: the region's own reason."""
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
        point = self.part.nearest(w)
        return point if self.known.contains(point) else self.find_nearest(w).point

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers."""
        return self.part.find_nearest(w, self.known)

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
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
        RegionWrapper.__init__(self, part)  # the region stays as it is
        self.known, self.certify = EVERYWHERE, certify

    def within(self, *sets: Set | None) -> Region:
        """Return the part that is in further sets."""
        return Recertified(self.part.within(*sets), self.certify)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return the other reason."""
        return self.certify(self.part.certificate(x, cut))


class WithinBall(Within):
    """The points of a region that are in a ball, for a batch and every backend, too.

    A ball that is known to hold the feasible set changes nothing: then every certified point is in
    it. Where one is not, its projection is taken, which is certified, but not always the nearest.
    """

    def __init__(self, part: Region, ball: Ball) -> None:
        super().__init__(part, KnownSets(ball))
        self.ball = ball

    def contains(self, w: Array) -> Array:
        """Return whether a point is certified and in the ball; a column of answers for a batch."""
        return self.ball.contains(w) & self.part.contains(w)

    def nearest(self, w: Array) -> Array:
        """Return the region's nearest point, drawn into the ball."""
        return self._draw(self.part.nearest(w))

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point with its multipliers."""
        return self._draw_found(self.part.find_nearest(w))

    def find_cut(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return where a step to w is cut off with its multipliers."""
        return self._draw_found(self.part.find_cut(w))

    def _draw_found(self, found: Projection) -> Projection:
        point = self._draw(found.point)
        return found._replace(
            point=point, projection_error=found.projection_error + norm(point - found.point)
        )

    def _draw(self, point: Array) -> Array:
        """Return a certified point of the ball for a certified one."""
        good = self.ball.contains(point)
        return if_any(good ^ True, lambda: self._draw_in(point, good), lambda: point)

    def _draw_in(self, point: Array, good: Array) -> Array:
        """Return points that are not good as their projections, where these are certified.

        Where one is not, it is the last point that is on the way there from the action; all of
        that way is in the ball.
        """
        there, x = self.ball.project(point), self.x
        way = there - x

        def halve(k: Number, share: Number) -> Number:
            more = share + 0.5 ** (k + 1.0)
            return where(self.contains(x + more * way), more, share)

        between = x + loop_in_turn(HALVINGS, halve, 0.0 * norm(way)) * way
        best = where(self.contains(there), there, between)
        fine = good | self.contains(best)
        if fine is False:
            raise EmptyRegionError.of_set(self.ball, point, float(norm(there - point)))
        return where(good, point, where(fine, best, 0.0 * best + math.nan))


class PointCertificate(NamedTuple):
    """Why the one action that is left is feasible.

    Attributes:
        round: the round that was played.
        reason: in words.
        bound: the next g is at most this.
        cut: whether something else was wanted.
        errors: what the bound allows for.
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
    """One point, for a reason of its own.

    Args:
        t: the round that was played.
        x: the point.
        bound: g there is at most this in the next round.
        errors: what the bound allows for.
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
