r"""Constraints of different kinds and a known set, together: the intersection of their regions.

Each constraint has its own knowledge, a bound on its slope or on its curvature, and its own
region; a point that is in all of them, and in the known set K, satisfies everything. The nearest
such point is found by cuts and checked by every region and by K
(:mod:`surefoot.knowledge.nearest`).

In contexts every row has the same columns, each with constants of its own: a context is announced
to all of them, and what is certified is the intersection of their regions in it.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Count
from surefoot.core.parameters import anything
from surefoot.core.types import Array, Certificate, Context, Number, facts_of
from surefoot.knowledge import nearest
from surefoot.knowledge.anchor import StandingAnchor
from surefoot.knowledge.average_limit import AverageLimit
from surefoot.knowledge.base import Capability, Knowledge, Memory, Reading
from surefoot.knowledge.context import check_context
from surefoot.knowledge.contradictions import BALL_TOO_SMALL
from surefoot.knowledge.errors import EmptyRegionError, Errors
from surefoot.knowledge.estimate import UnknownConstant
from surefoot.knowledge.nearest import EVERYWHERE, Bounds, KnownSets
from surefoot.knowledge.region import PointCertificate, Projection, Region, RowSeen
from surefoot.knowledge.rows import read_rows, read_values

__all__ = ["Together", "TogetherCertificate", "TogetherMemory", "TogetherRegion"]


TURNS = 15
"""The steps of a search; half-spaces do not model a curved boundary, so more help little."""
FEW_TURNS = 5
"""The same, if all rows are half-spaces."""


class TogetherMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: the number of rounds so far.
        x: the action that was read last.
        start: the first action.
        rows: the memory of each constraint.
        before: the context of the last round; None in the first, and without contexts.
        context: that of the next; None until it is announced, and without contexts.
    """

    rounds: Count
    x: Array
    start: Array
    rows: tuple[Memory, ...]
    before: Context | None = None
    context: Context | None = None


class TogetherCertificate(NamedTuple):
    """Why the next action is feasible for every one of several constraints.

    Attributes:
        round: the round that was played.
        rows: the reason of each constraint.
        bound: the largest of their bounds: no constraint is above it.
        cut: whether the region changed the proposal.
    """

    round: int
    rows: tuple[Any, ...]
    bound: float
    cut: bool = False

    @property
    def tightest(self) -> int:
        """The constraint with the largest bound."""
        return int(np.argmax([row.bound for row in self.rows]))

    @property
    def room(self) -> float | None:
        """How far the rows certify a step, each of them; None where none says so."""
        rooms = [getattr(row, name, None) for row in self.rows for name in ("length", "room")]
        return min((room for room in rooms if room is not None), default=None)

    @property
    def facts(self) -> dict[str, str]:
        """The facts of the constraint with the largest bound, and what the others are."""
        facts = facts_of(self.rows[self.tightest])
        return {**facts, "limits": self._others} if facts else {}

    @property
    def _others(self) -> str:
        """How many other constraints there are, and their bound, in words."""
        i = self.tightest
        bounds = [row.bound for k, row in enumerate(self.rows) if k != i]
        if not bounds:
            return "this is the only one"
        others = "the other one" if len(bounds) == 1 else f"the other {len(bounds)}"
        return f"this is limit {i}; {others} will be at most {max(bounds):.3g}"

    def __str__(self) -> str:
        return f"{self.rows[self.tightest]} ({self._others})"


def _kind_of_contexts(row: Knowledge) -> str:
    """Return what contexts a row is in, in words."""
    untyped: Any = row
    if not row.in_contexts:
        return "no contexts"
    argument, size = untyped.context.argument, untyped.context.size
    return "announced drift" if argument == "drift" else f"{size} column{'s'[: size - 1]}"


class Together(Knowledge):
    """Knowledge of several constraints, each separately, and of a set; one NumPy run.

    Args:
        rows: one knowledge per constraint: :class:`LipschitzHull`, :class:`Curvature`, ...; all in
            contexts of the same columns, or none.
        domain: a known closed convex set that contains every action; None for none.
        errors: how wrong readings of any row may be; the largest of the rows' own unless given.

    Example:
        >>> from surefoot.knowledge import Curvature, LipschitzHull
        >>> from surefoot.sets import Box
        >>> rows = (LipschitzHull(G_g=1.0, reach=1.0), Curvature(beta=0.0, reach=1.0))
        >>> knowledge = Together(rows=rows, domain=Box([-1.0, -1.0], [0.2, 1.0]))
        >>> x, g, s = np.zeros(2), np.array([-0.5, -0.3]), np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> memory = knowledge.observe(knowledge.init(x), Reading(x, g, s, knowledge.errors))
        >>> region = knowledge.region(memory, knowledge.errors)
        >>> region.nearest(np.array([3.0, 3.0])).round(6)  # the box, and x[1] <= 0.3
        array([0.2, 0.3])
    """

    proved_by: ClassVar[str] = "one theorem per limit"
    errors: Any = anything("the errors of readings", default=None)
    rows: tuple[Any, ...] = anything("one knowledge per constraint")

    def __post_init__(self) -> None:
        rows = self._check_rows(self.rows)
        largest = Errors.largest_of([row.errors for row in rows])
        if self.errors is None:
            object.__setattr__(self, "errors", largest)
        super().__post_init__()
        if self.errors != largest:
            rows = tuple(replace(row, errors=self.errors) for row in rows)
        if not self.convex:
            rows = tuple(replace(row, convex=False) for row in rows)
        object.__setattr__(self, "convex", all(row.convex for row in rows))
        object.__setattr__(self, "rows", tuple(rows))

    def _check_rows(self, candidates: Any) -> Sequence[Knowledge]:
        rows = candidates if isinstance(candidates, (tuple, list)) else ()
        if not rows or not all(isinstance(row, Knowledge) and row.row_count == 1 for row in rows):
            raise InvalidValueError(
                f"rows must be one knowledge per constraint, got {candidates!r}"
            )
        kinds = {_kind_of_contexts(row) for row in rows}
        if len(kinds) > 1:
            raise InvalidValueError(
                "rows must all be in contexts of as many columns, or none of them: one context is "
                f"announced for all, got {', '.join(sorted(kinds))}"
            )
        for row in rows:
            if isinstance(row, (AverageLimit, UnknownConstant)):
                raise InvalidValueError(
                    f"rows must keep g <= 0 by known constants each, got {row!r}: let one "
                    "knowledge see the largest constraint"
                )
            if not getattr(row.domain, "is_convex", True):
                raise InvalidValueError(
                    "rows must have a convex domain each, or a reach, got choices in "
                    f"{checks.repr_line(row)}: give them once, as the domain of all rows"
                )
        return rows

    @property
    def allows(self) -> frozenset[Capability]:  # type: ignore[override]
        """What one of the rows allows for; each row rejects the rest."""
        return frozenset[Capability]().union(*(row.allows for row in self.rows)) | {"known start"}

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        """The numbers that all rows offer."""
        return frozenset.intersection(*(row.offers for row in self.rows))

    @property
    def parts(self) -> tuple[Knowledge, ...]:
        """The rows; each has its own errors."""
        return self.rows

    @property
    def takes_batches(self) -> bool:
        """Whether a memory may be that of several runs: never."""
        return False

    def standing(self, start: Array) -> StandingAnchor | None:
        """Return the largest start bound of the rows; None if one has none.

        Each row's bound holds in every round, and g is the largest of the rows.
        """
        each = [row.standing(start) for row in self.rows]
        bounds = [float(anchor.value) for anchor in each if anchor is not None]
        return StandingAnchor(start, max(bounds), 0.0) if len(bounds) == len(each) else None

    @property
    def obstacle_to_choices(self) -> str:
        """Why the domain must be convex; a start that every row bounds is a choice that stands."""
        bounded = all(row.bounds_start for row in self.rows)
        return "" if bounded else super().obstacle_to_choices

    @property
    def bounds_start(self) -> bool:
        """Whether a row knows a bound on g at the start."""
        return any(row.bounds_start for row in self.rows)

    @property
    def theorem(self) -> str:
        """The statements that certify the rows."""
        each = "; ".join(dict.fromkeys(row.theorem for row in self.rows))
        return f"{super().theorem}: {each}"

    def above(self, length: float) -> Knowledge:
        """Return the knowledge of the rows plus at most their rise over a length."""
        return replace(self, rows=tuple(row.above(length) for row in self.rows))

    @property
    def in_contexts(self) -> bool:  # type: ignore[override]
        """Whether the context of every round must be announced before it is played."""
        return bool(self.rows[0].in_contexts)

    @property
    def context(self) -> Any:
        """What is known of contexts by the first row; the others read them alike."""
        return self.rows[0].context

    @property
    def row_count(self) -> int:  # type: ignore[override]
        """How many constraints there are."""
        return len(self.rows)

    @property
    def reach(self) -> float:
        """The largest norm of a feasible point, as far as a row knows."""
        return max(float(row.reach) for row in self.rows)

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove; the largest of all rows."""
        each = [row.constants for row in self.rows]
        return {n: max(values[n] for values in each if n in values) for row in each for n in row}

    @property
    def premises(self) -> tuple[str, ...]:
        """What must be true for certificates to be right; what one row alone needs says which."""
        each = [row.premises for row in self.rows]
        phrases: dict[str, None] = {}
        for i, premises in enumerate(each):
            for words in premises:
                is_shared = all(words in other for other in each)
                phrases[words if is_shared else f"{words} (constraint {i})"] = None
        return tuple(phrases)

    def first(self, x1: Array) -> TogetherMemory:
        """Return the memory before the first round."""
        rows = tuple(row.init(x1) for row in self.rows)
        context = rows[0].context if self.in_contexts else None
        return TogetherMemory(0.0, x1, x1, rows, None, context)

    @property
    def slopes(self) -> Literal["certify", "steer"]:  # type: ignore[override]
        """Whether the certificate of a row rests on slopes."""
        return "certify" if any(row.slopes == "certify" for row in self.rows) else "steer"

    def read(self, x: Array, feedback: Feedback) -> tuple[Array, Array | None]:
        """Return the values and slopes of a round; one row may be told as one number."""
        if feedback.constraint_subgradient is None and self.slopes == "steer":
            return read_values(feedback, len(self.rows)), None
        return read_rows(x, feedback, len(self.rows))

    def learn(self, memory: TogetherMemory, reading: Reading) -> TogetherMemory:
        """Return the memory after a reading.

        Where one row may be above 0, the constants of the others need not hold: at an action that
        was not certified nothing is learnt.
        """
        if self.in_contexts:
            check_context(memory)
        readings, x = self._split(reading), reading.x
        high = memory.rounds and any(self._may_violate(memory, readings))
        if high and not self.region(memory, reading.errors).contains(x):
            return self.age(memory, x)
        each = zip(self.rows, memory.rows, readings, strict=True)
        rows = tuple(row.observe(part, read) for row, part, read in each)
        rounds, x, start = memory.rounds + 1.0, reading.x, memory.start
        return TogetherMemory(rounds, x, start, rows, memory.context)

    def announce(self, memory: TogetherMemory, context: Context | None) -> TogetherMemory:
        """Return the memory with the context of the next round in every row."""
        if not self.in_contexts:
            return memory
        each = zip(self.rows, memory.rows, strict=True)
        rows = tuple(row.announce(part, context) for row, part in each)
        return memory._replace(rows=rows, context=context)

    def age(self, memory: TogetherMemory, x: Array) -> TogetherMemory:
        """Return the memory after a round without a reading."""
        each = zip(self.rows, memory.rows, strict=True)
        rows = tuple(row.age(part, x) for row, part in each)
        if not self.in_contexts:
            return memory._replace(rounds=memory.rounds + 1.0, rows=rows)
        rounds = memory.rounds + 1.0 if memory.rounds else memory.rounds
        before = memory.context or memory.before
        return memory._replace(rounds=rounds, rows=rows, before=before, context=None)

    def certify(self, memory: TogetherMemory, errors: Errors) -> Region:
        """Return the intersection of the regions, and of the known set."""
        each = zip(self.rows, memory.rows, strict=True)
        rows = tuple(row.region(part, self._errors_of(row, errors)) for row, part in each)
        return TogetherRegion(rows, memory.x, memory.rounds, errors, self.standing(memory.start))

    def contradictions(self, memory: TogetherMemory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading has that is impossible if the constants of a row are right."""
        readings, sentences = self._split(reading), []
        feasible = not any(self._may_violate(memory, readings))
        for i, read in enumerate(readings):
            for sentence in self.rows[i].contradictions(memory.rows[i], read):
                # What is feasible for one constraint alone says nothing of the ball around all.
                if not sentence.endswith(BALL_TOO_SMALL):
                    sentences.append(f"{sentence} (constraint {i})")
                elif feasible and not any(other.endswith(BALL_TOO_SMALL) for other in sentences):
                    sentences.append(sentence)
        return tuple(sentences)

    def _may_violate(self, memory: TogetherMemory, readings: Sequence[Reading]) -> Iterator[bool]:
        """Yield whether each row may be above 0 where it was read."""
        for row, part, read in zip(self.rows, memory.rows, readings, strict=True):
            yield bool(read.upper + row.gap_of(part, read.x)[1] > 0)

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """Whether readings of a row depend on earlier actions."""
        return any(row.remembers for row in self.rows)

    def gap_of(self, memory: TogetherMemory, x: Array) -> tuple[float, float]:
        """Return the largest gaps of the rows."""
        gaps = [row.gap_of(part, x) for row, part in zip(self.rows, memory.rows, strict=True)]
        return max(low for low, _ in gaps), max(high for _, high in gaps)

    def unsettle(self, memory: TogetherMemory, reach: float) -> TogetherMemory:
        """Return the memory of a new start, where others have acted before, in every row."""
        rows = zip(self.rows, memory.rows, strict=True)
        return memory._replace(rows=tuple(row.unsettle(part, reach) for row, part in rows))

    def bound_reading(self, values: Number, errors: Errors) -> tuple[float, float]:
        """Return the least and the largest that the largest row may be, each by its own errors."""
        own = [self._errors_of(row, errors) for row in self.rows]
        pairs = list(zip(np.atleast_1d(values).tolist(), own, strict=True))
        most = max(value + error.value + error.evaluation for value, error in pairs)
        return max(value - error.value for value, error in pairs), most

    def every(self, rounds: int) -> Knowledge:
        """Return the knowledge where so many rounds pass between two readings of each row."""
        return replace(self, errors=None, rows=tuple(row.every(rounds) for row in self.rows))

    def holds(self, x: Array) -> bool:
        """Return whether the constants of every row hold at an action, and it is in the domain."""
        return super().holds(x) and all(row.holds(x) for row in self.rows)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Array:
        """Return how much each row can rise over a length."""
        slopes = [None] * len(self.rows) if s is None else np.atleast_2d(s)
        each = zip(self.rows, slopes, strict=True)
        return np.array([row.rise(slope, length, ahead=ahead) for row, slope in each])

    def _split(self, reading: Reading) -> list[Reading]:
        """Return the reading of each row."""
        x, g, s, errors, age = reading
        slopes = [None] * len(self.rows) if s is None else s
        each = zip(self.rows, np.asarray(g).tolist(), slopes, strict=True)
        return [Reading(x, v, slope, self._errors_of(row, errors), age) for row, v, slope in each]

    def _errors_of(self, row: Knowledge, errors: Errors) -> Errors:
        """Return the errors of a row: its own, unless the round says how wrong it is."""
        if errors is self.errors:
            return row.errors
        return replace(row.errors, value=errors.value, slope=errors.slope)


class TogetherRegion(Region):
    """The points that every region holds.

    Args:
        rows: the region of each constraint.
        x: the action that was read last.
        rounds: the number of rounds so far.
        errors: what they allow for.
        standing: the start, where every row has a bound in every round; None where one has none.
            It is certified, also where no row has it in its hull.

    Attributes:
        certified: the rows without the visits that they ask for.
    """

    rows: Sequence[Region]
    x: Array
    round: float
    errors: Errors
    certified: tuple[Region, ...]
    upper: Number
    radius: Number
    depth: Number
    longest: Number
    slope_norm: Number
    noise: Number
    curvature_seen: Number
    reach: Number
    searches: ClassVar[bool] = True

    def __init__(
        self,
        rows: Sequence[Region],
        x: Array,
        rounds: float,
        errors: Errors,
        standing: StandingAnchor | None = None,
    ) -> None:
        self.rows, self.x, self.round, self.errors = rows, x, rounds, errors
        self.standing = standing
        self.certified = tuple(row.whole for row in rows)
        self.upper, self.radius = max(r.upper for r in rows), min(r.radius for r in rows)
        self.depth, self.longest = min(r.depth for r in rows), min(r.longest for r in rows)
        self.slope_norm, self.noise = max(r.slope_norm for r in rows), max(r.noise for r in rows)
        self.curvature_seen = max(r.curvature_seen for r in rows)
        self.reach = max(r.reach for r in rows)

    @property
    def read_place(self) -> Array | None:  # type: ignore[override]
        """The context of the last reading; None without contexts, and where a row has none."""
        places = [row.read_place for row in self.rows]
        return None if any(place is None for place in places) else places[0]

    def stays(self, w: Array) -> bool:
        """Return whether a point is the last action, which stays certified in every row."""
        return all(row.stays(w) for row in self.rows)

    def fall(self, places: Array) -> Array:
        """Return how much larger g may have been in other contexts than in this one."""
        untyped: Any = self.rows
        falls: Array = np.max([row.base.fall(places) for row in untyped], axis=0)
        return falls

    def fall_until_read(self, places: Array | None) -> Array | float:
        """Return how much larger g may be in other contexts than in that of the last reading."""
        if places is None:
            return 0.0
        untyped: Any = self.rows
        falls: Array = np.max([row.base.fall_until_read(places) for row in untyped], axis=0)
        return falls

    def read_rows(self, x: Array, feedback: Feedback) -> Sequence[RowSeen]:
        """Return what was read of each constraint, that with the least way left last."""
        if feedback.constraint_value is None or feedback.constraint_subgradient is None:
            return ()
        values, slopes = read_rows(x, feedback, len(self.rows))
        pairs = []
        for row, g, s in zip(self.rows, values.tolist(), slopes, strict=True):
            share = float(row.slope_norm / self.slope_norm) if self.slope_norm > 0 else 1.0
            share = share if share > 0.0 else 1.0  # a row that is flat here
            pairs.append((row.radius, RowSeen(g, s, row.upper, row.noise, share)))
        return [row_reading for _, row_reading in sorted(pairs, key=lambda pair: -pair[0])]

    def contains(self, w: Array) -> bool:
        """Return whether every region certifies a point; a visit is asked for, not needed."""
        is_certified = all(bool(row.contains(w)) for row in self.certified)
        return is_certified or self.stays(w) or self._is_standing(w)

    def may_contain(self, points: Array) -> Array:
        """Return which of several points every region may certify; the start may stand alone."""
        each = np.logical_and.reduce([row.may_contain(points) for row in self.certified])
        if self.standing is not None:
            each |= (points == self.standing.x).all(axis=1)
        may: Array = each
        return may

    def _is_standing(self, w: Array) -> bool:
        """Return whether a point is the start, and every row has a bound there."""
        return self.standing is not None and bool((w == self.standing.x).all())

    def nearest(self, w: Array) -> Array:
        """Return the point nearest to w, up to the end of the search; w itself if it is in all."""
        checks.refuse_unfinite(w, "the wanted action")
        return self.find_nearest(w).point

    def find_nearest(self, w: Array, known: KnownSets = EVERYWHERE) -> Projection:
        """Return the nearest point; several kinds of regions have no multipliers in common."""
        point = self._find_remeasurement(w, known)
        if point is None:
            region = TogetherRegion(self.certified, self.x, self.round, self.errors, self.standing)
            point = nearest.find_certified(region, known, w)
        return Projection(point, 0.0, norm(point - w))

    def _find_remeasurement(self, w: Array, known: KnownSets) -> Array | None:
        """Return the point where a row asks for a visit; None if none does, or it cannot be.

        An anchor that one row wants visited may be nothing for the others.
        """
        if all(map(operator.is_, self.certified, self.rows)):
            return None
        try:
            remeasurement = TogetherRemeasurement(self.rows, self.x, self.round, self.errors)
            return nearest.find_certified(remeasurement, known, w)
        except EmptyRegionError:
            return None

    def find_inside(self, known: KnownSets, holds: Callable[[Array], bool]) -> Array | None:
        """Return a point of all regions and of sets, near the last action."""
        return nearest.reflect_in_turn([row.nearest for row in self.rows], known, holds, self.x)

    def seek(self, w: Array, known: KnownSets) -> Array:
        """Return nearly the point of all regions and of sets that is nearest to w.

        The point of one that is nearest to w is it if all others hold it.
        """
        for row in self.rows:
            point = row.nearest(w)
            others_hold = (bool(other.contains(point)) for other in self.rows if other is not row)
            if known.contains(point) and all(others_hold):
                return point
        if known:
            point = known.project(w)
            if all(bool(row.contains(point)) for row in self.rows):
                return point
        at, bounds, others = (self.x, float(self.reach), 0.0), known.bounds(self.x, 0.0), []
        for row in self.rows:
            row_bounds = row.as_bounds()
            if row_bounds is not None and bool((row.x == self.x).all()):
                bounds = row_bounds.join(bounds)
            else:
                others.append(row)

        def cut(q: Array) -> Bounds:
            return known.cut(*at, q).join(*(nearest.cut_by(row.nearest, *at, q) for row in others))

        turns = FEW_TURNS if len(others) == len(self.rows) else TURNS
        return self.x + nearest.project_onto_bounds(w - self.x, bounds, cut, turns)[0]

    @property
    def insides(self) -> tuple[Array, ...]:
        """The last action, what each region says, and a start that stands."""
        start = () if self.standing is None else (self.standing.x,)
        return (self.x, *(point for row in self.rows for point in row.insides), *start)

    def certificate(self, x: Array, cut: bool = False) -> Certificate:
        """Return why a point is feasible: the reasons of all rows, or one of all of them."""
        t, in_contexts = int(self.round), self.read_place is not None
        if not in_contexts and self.stays(x):
            reason = "nothing moves, and what was read stays"
            return PointCertificate(t, reason, self.upper, cut, self.errors)
        is_visit = all(bool(row.contains(x)) for row in self.rows)
        rows = self.rows if is_visit else self.certified
        if not all(bool(row.contains(x)) for row in rows):
            if self.standing is not None and self._is_standing(x):
                reason, bound = "the start, by its start_bound", float(self.standing.value)
                return PointCertificate(t, reason, bound, cut, self.errors)
            if self.stays(x):
                reason = "the context is no harsher, and what was read stays"
                return PointCertificate(t, reason, self.upper, cut, self.errors)
        each = tuple(row.certificate(x, cut) for row in rows)
        return TogetherCertificate(t, each, max(row.bound for row in each), cut)


class TogetherRemeasurement(TogetherRegion):
    """The points that every region holds, and asks for."""

    def contains(self, w: Array) -> bool:
        """Return whether every region holds a point, and asks for it."""
        return all(bool(row.contains(w)) for row in self.rows) or self.stays(w)
