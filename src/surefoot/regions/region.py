r"""What is certain: knowledge of g turns what was read into a region of certified next actions.

What is *known* of g (a bound on its subgradients, on its curvature, ...) is a frozen object, the
:class:`Knowledge`, together with the errors of readings. What was *read* is its memory, a named
tuple. From both comes the :class:`Region` of a round: all of its points are feasible for every g
that agrees with what is known and was read::

    memory = knowledge.init(x1)
    memory = knowledge.observe(memory, Reading(x, g, s, knowledge.errors))  # x was played
    region = knowledge.region(memory, knowledge.errors)
    x = region.nearest(wish)                          # certified, whatever the wish
    print(region.certificate(x))                      # why

All of these are pure. A memory holds bounds, never readings whose error only the present round
knows. A new kind of knowledge is one file: a subclass of each of the two classes below.

**Knowledge is sealed.** A kind writes ``first``, ``learn`` and ``certify``; ``init``, ``observe``
and ``region`` belong to the base and check what every kind must: the start is in the domain and
strictly feasible by more than the error of g, readings are finite, they err in no way that the
kind does not declare in ``allows``, and no certified action is outside of the domain. Nothing is
allowed until a kind says so. What is played is checked once more against its region
(:meth:`Region.must_certify`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, final

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import start_in
from surefoot.core.arrays import if_any, is_number, loop_in_turn, norm, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, anything, flag, projectable
from surefoot.core.points import reach_of
from surefoot.core.types import Array, Certificate, Context, Feedback, Number, Set
from surefoot.regions import nearest
from surefoot.regions.anchor import Anchor
from surefoot.regions.checks import check_finite, check_first, check_one_run
from surefoot.regions.errors import (
    CertificateError,
    EmptyRegionError,
    Errors,
    describe_errors,
    is_zero,
)
from surefoot.regions.nearest import EVERYWHERE, HALVINGS, Bounds, KnownSets
from surefoot.sets import Ball

__all__ = [
    "BALLS",
    "Capability",
    "Knowledge",
    "OnePoint",
    "PointCertificate",
    "Projection",
    "Reading",
    "Region",
]


# What was read or learnt so far: a named tuple of its owner's own kind.
Memory: TypeAlias = Any

Capability: TypeAlias = Literal[
    "value", "slope", "drift", "late", "batch", "nonconvex", "known start", "margin"
]
"""What a kind of knowledge may allow for: errors of values and slopes, drift, readings that are
late, batches of runs, a g that is not convex, a start whose first reading proves nothing, and
values that are reported larger than they are, so that actions keep a distance."""


class Reading(NamedTuple):
    """One measurement, as knowledge gets it.

    Attributes:
        x: the action that was played.
        g: the value read there; one per constraint where they are seen apart.
        s: one subgradient there; one per constraint.
        errors: how wrong these may be.
        age: how many rounds ago it was read.
    """

    x: Array
    g: Number
    s: Array
    errors: Errors
    age: int = 0

    @property
    def upper(self) -> Number:
        """What g is at most where it was read."""
        return self.g + self.errors.value

    @property
    def lower(self) -> Number:
        """What g is at least where it was read."""
        return self.g - self.errors.value


CONSTANTS = ("G_g", "beta", "L_0", "L_1")
"""The names of constants of g, as parameters of knowledge."""

_CONDITIONS = {
    "G_g": "no subgradient of g is longer than G_g = {:.6g}",
    "largest_G_g": "no subgradient of g is longer than largest_G_g = {:.6g}",
    "beta": "no curvature of g exceeds beta = {:.6g}",
    "largest_beta": "no curvature of g exceeds largest_beta = {:.6g}",
    "L_0": "no curvature of g exceeds L_0 + L_1 |s|, L_0 = {:.6g}",
    "L_1": "no curvature of g exceeds L_0 + L_1 |s|, L_1 = {:.6g}",
}
"""What each constant says of g."""

BALLS = frozenset({"radius", "depth", "longest", "steepness", "noise", "upper"})
"""The numbers of regions that are made of balls around actions, which they all offer."""

SEALED = {"init": "first", "observe": "learn", "region": "certify"}
"""What belongs to :class:`Knowledge`, and what a kind writes instead."""

ERRORS_OF: Mapping[Capability, str] = {
    "value": "value_error",
    "slope": "slope_error",
    "drift": "drift",
    "late": "age",
}
"""What a round may be wrong by, and its name in sentences."""


class Knowledge(Declared):
    """What is true of g, and how wrong readings may be; every method is pure.

    Attributes:
        errors: the bounds on errors and drift.
        convex: whether g is known to be convex.
        domain: a known set that holds every action; None where nothing is known.
        allows: what certificates allow for beside exact readings of one run of a convex g; nothing
            else is accepted.
        refusals: a sentence of its own for something that is not allowed.
        slopes: whether certificates rest on slopes ("certify"), slopes only show proposers the way
            ("steer"), or none is read ("unused").
        offers: the numbers of its regions that proposers may read (:class:`Region`).
        passes: the errors that it hands on to its ``parts``, which must allow for them.
        row_count: how many constraints are seen, each by itself.
        reach: the largest norm of a feasible point.
        in_contexts: whether the context of every round must be told before it is played; a memory
            then has the ``context`` of the next.
        kind: what certified actions keep: g <= 0 in every round, or as the guarantees name it.
    """

    errors: Errors = anything("the errors of readings", default=Errors())
    convex: bool = flag(default=True)
    domain: Set | None = projectable(default=None, convex=False)

    allows: ClassVar[frozenset[Capability]] = frozenset()
    refusals: ClassVar[Mapping[Capability, str]] = {}
    slopes: ClassVar[Literal["certify", "steer", "unused"]] = "certify"
    offers: ClassVar[frozenset[str]] = frozenset()
    passes: ClassVar[frozenset[Capability]] = frozenset()
    row_count: ClassVar[int] = 1
    in_contexts: ClassVar[bool] = False
    kind: ClassVar[Literal["every round", "rounds outside", "cumulative"]] = "every round"

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a kind that writes what the base owns."""
        for name, instead in SEALED.items():
            if name in vars(cls):
                raise TypeError(
                    f"{cls.__name__} must write {instead}, got {name}, which belongs to Knowledge"
                )
        super().__init_subclass__(**options)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.errors, Errors):
            raise checks.invalid("errors", "Errors(...)", self.errors)
        if vars(self).get("reach", 0.0) is None:
            object.__setattr__(self, "reach", reach_of(self.domain))
        self._check_errors(self.errors)
        if not self.convex and "nonconvex" not in self.allows:
            raise InvalidValueError(
                f"{type(self).__name__} rests on the convexity of g, got convex = False: Curvature "
                "and CurvatureRows do not"
            )
        for part in self.parts if self.passes else ():
            if missing := sorted(self.passes - part.allows):
                raise InvalidValueError(
                    f"{type(self).__name__} hands {' and '.join(missing)} errors on, which "
                    f"{type(part).__name__} does not allow for"
                )

    def _check_errors(self, errors: Errors, age: Number = 0) -> None:
        """Refuse errors that certificates do not allow for; an error of unused slopes is none."""
        if self.slopes == "certify" and isinstance(errors.slope, float):
            checks.nonnegative(slope_error=errors.slope)  # which is finite, too
        for word, name in ERRORS_OF.items():
            bound = age if word == "late" else getattr(errors, word)
            if is_zero(bound) or word in self.allows:
                continue
            if word == "slope" and self.slopes != "certify":
                continue
            rule = self.refusals.get(word, f"0 for {type(self).__name__}")
            raise checks.invalid(name, rule, bound)

    @property
    def parts(self) -> tuple[Knowledge, ...]:
        """The knowledge that it is made of; none unless it is made of another kind."""
        return ()

    @property
    def obstacle_to_margins(self) -> str:
        """Why g may not be reported larger than it is; empty where it may.

        Whoever plays near what is certified, and not there, adds what g may rise by (``rise``).
        """
        for known in (self, *self.parts):
            if "margin" not in known.allows:
                return known.refusals.get("margin", "which does not allow for it")
            if known.bounds_start:
                return "which has a start_bound of its own"
        return ""

    @property
    def takes_batches(self) -> bool:
        """Whether a memory may be that of several runs; if not, they are played run by run."""
        return "batch" in self.allows

    # --- what a kind writes ----------------------------------------------------------------------

    @abstractmethod
    def first(self, x1: Array) -> Memory:
        """Return the memory before the first round, a named tuple with ``rounds``.

        Args:
            x1: the start, which is in the domain.
        """

    @abstractmethod
    def learn(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory with a reading, whose numbers were checked."""

    @abstractmethod
    def certify(self, memory: Memory, errors: Errors) -> Region:
        """Return the certified next actions, in the domain or not."""

    def start_margin(self, d: int) -> Number:
        """Return by how much more than its error the first reading must be below 0."""
        return 0.0

    def place(self, region: Region) -> Region:
        """Return the part of a region that is in the domain."""
        return region.within(self.domain)

    # --- what belongs to the base ----------------------------------------------------------------

    @final
    def init(self, x1: Array) -> Memory:
        """Return the memory before the first round; refuse a start outside of the domain."""
        if self.takes_batches:
            x1 = x1 if self.domain is None else start_in(self.domain, x1)
        else:
            check_one_run(x1, self.domain)
        return self.first(x1)

    @final
    def observe(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory with a round in which something was read.

        The reading must be finite and err in no way that the kind does not allow for; the first
        must be strictly feasible. A run of a batch cannot be refused: its kind makes it NaN.
        """
        self._check_errors(reading.errors, reading.age)
        if is_number(reading.g) or self.row_count > 1:
            check_finite(reading.g, reading.s)
            if not memory.rounds and "known start" not in self.allows:
                check_first(reading, self.start_margin(reading.x.shape[-1]))
        return self.learn(memory, reading)

    @final
    def region(self, memory: Memory, errors: Errors) -> Region:
        """Return the certified next actions, all of them in the domain."""
        return self.place(self.certify(memory, errors))

    def age(self, memory: Memory, x: Array) -> Memory:
        """Return the memory with a round in which nothing was read.

        Args:
            memory: before the round.
            x: the action that was played.
        """
        return memory._replace(rounds=memory.rounds + 1.0)

    def standing(self, start: Array) -> Anchor | None:
        """Return what is known of the start in every round, whatever is read; None for nothing.

        It must rest on no constant that a reading can refute but the bound itself.
        """
        return None

    @property
    def bounds_start(self) -> bool:
        """Whether something is known of the start, so that the first action read must be it."""
        return False

    def announce(self, memory: Memory, context: Context | None) -> Memory:
        """Return the memory with the context of the next round; None while it is not known."""
        return memory._replace(context=context) if self.in_contexts else memory

    @abstractmethod
    def contradictions(self, memory: Memory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading has that is impossible if the constants are right.

        Args:
            memory: before the reading.
            reading: what was read.
        """

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove, by name."""
        return {n: float(np.max(v)) for n, v in vars(self).items() if n in CONSTANTS}

    @property
    def premises(self) -> tuple[str, ...]:
        """What must be true for certificates to be right, one phrase each."""
        known: Any = self
        words = ["g is convex"] if self.convex else []
        for name, size in self.constants.items():
            words.append(_CONDITIONS.get(name, name + " is at most {:.6g}").format(size))
        if self.bounds_start:
            words.append(f"g at the start is at most {known.start_bound:.6g} in every round")
        elif "known start" not in self.allows:
            words.append("the start is strictly feasible")
        words += self.errors.conditions(self.slopes == "certify")
        return (*words, known.context.premise) if self.in_contexts else tuple(words)

    @abstractmethod
    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise while a feasible point moves by a length; one per row.

        A host that plays a rounded copy of a certified point needs it.

        Args:
            s: the slope of the round; one per row where rows are apart.
            length: how far the point moves.
            ahead: whether to allow for the slopes of all later rounds, of a convex g.
        """

    def noise(self, d: int) -> Number:
        """Return a bound on the error of an observed g, beyond that of its reading."""
        return self.errors.evaluation

    def holds(self, x: Array) -> bool:
        """Return whether the constants hold at an action; what is read elsewhere is not used."""
        return self.domain is None or bool(self.domain.contains(x))

    def read(self, x: Array, feedback: Feedback) -> tuple[Number, Array | None]:
        """Return value and subgradient of a round, each in its form; refuse others.

        The subgradient is None where it is not read, or not told to knowledge that needs none.
        """
        is_told = self.slopes == "steer" and feedback.constraint_subgradient is not None
        if self.slopes == "certify" or is_told:
            return checks.read_constraint(x, feedback)
        return checks.read_constraint_value(feedback.constraint_value, x), None


class Projection(NamedTuple):
    """A certified point and how it was found.

    Attributes:
        point: the point.
        weights: the multiplier of the slope, or one per row; 0 where there is none.
        drawn: how far the point is from the one that the multipliers lead to.
    """

    point: Array
    weights: Number
    drawn: Number


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
    steepness: Number = 0.0
    noise: Number = 0.0
    curvature_seen: Number = 0.0
    reach: Number = 1.0
    visit_due: bool = False
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

    def within(self, *sets: Set | None) -> Region:
        """Return the part of the region that is in sets, as those announced for the next round."""
        from surefoot.regions.grid import Grid, OnGrid

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


class Around(Region):
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


class Within(Around):
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
        Around.__init__(self, part)  # the region stays as it is
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
        return found._replace(point=point, drawn=found.drawn + norm(point - found.point))

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
