r"""Constraints of different kinds and a known set, together: the intersection of their regions.

Each constraint has its own knowledge, a bound on its slope or on its curvature, and its own
region; a point that is in all of them, and in the known set K, satisfies everything. The nearest
such point is found by Dykstra's method, which projects onto one set after the other and takes back
what earlier projections added. What it returns is rounded and perhaps not at its end, so it is
checked by every region and by K, and otherwise drawn towards a point that is in all of them: the
action that was just played, the anchor of a hull, or one that is found by going beyond each
region's boundary in turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import start_in
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, projectable
from surefoot.core.types import Array, Feedback
from surefoot.core.types import Region as Set
from surefoot.regions.certificates import BALL_TOO_SMALL
from surefoot.regions.errors import EmptyRegionError, Errors
from surefoot.regions.hull import HullRegion
from surefoot.regions.known_set import AllSets, draw_back, project_onto_all, reflect_in_turn
from surefoot.regions.region import Knowledge, Reading, Region
from surefoot.regions.rows import read_rows

__all__ = ["Together", "TogetherMemory", "TogetherRegion"]

SWEEPS = 100
"""How often every set is projected onto; what is left then is drawn in."""


class TogetherMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: how many rounds have passed.
        x: the action that was read last.
        rows: the memory of each constraint.
    """

    rounds: float
    x: Array
    rows: tuple[Any, ...]


class Together(Knowledge):
    """Knowledge about several constraints, each by itself, and the set; one NumPy run.

    Args:
        rows: one knowledge per constraint: :class:`LipschitzHull`, :class:`Curvature`, ...
        domain: a known closed convex set that holds every action; None where there is none.
        errors: how wrong readings of any row may be; the largest of the rows' own unless given.

    Example:
        >>> from surefoot.regions import Curvature, LipschitzHull
        >>> from surefoot.sets import Box
        >>> rows = (LipschitzHull(G_g=1.0, reach=1.0), Curvature(beta=0.0, reach=1.0))
        >>> knowledge = Together(rows=rows, domain=Box([-1.0, -1.0], [0.2, 1.0]))
        >>> x, g, s = np.zeros(2), np.array([-0.5, -0.3]), np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> memory = knowledge.observe(knowledge.init(x), Reading(x, g, s, knowledge.errors))
        >>> region = knowledge.region(memory, knowledge.errors)
        >>> region.nearest(np.array([3.0, 3.0])).round(6)  # the box, and x[1] <= 0.3
        array([0.2, 0.3])
    """

    errors: Any = anything("the errors of readings", default=None)
    rows: tuple[Any, ...] = anything("one knowledge per constraint")
    domain: Set | None = projectable(default=None)

    def __post_init__(self) -> None:
        given: Any = self.rows
        rows = given if isinstance(given, (tuple, list)) else ()
        if not rows or not all(isinstance(row, Knowledge) and row.row_count == 1 for row in rows):
            raise InvalidValueError(f"rows must be one knowledge per constraint, got {self.rows!r}")
        names = ("value", "slope", "drift", "evaluation")
        largest = Errors(**{n: max(getattr(row.errors, n) for row in rows) for n in names})
        if self.errors is None:
            object.__setattr__(self, "errors", largest)
        super().__post_init__()
        if self.errors != largest:
            rows = tuple(replace(row, errors=self.errors) for row in rows)
        object.__setattr__(self, "rows", tuple(rows))

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
        """The constants that a contradiction may disprove: the largest of all rows."""
        found: dict[str, float] = {}
        for row in self.rows:
            for name, value in row.constants.items():
                found[name] = max(value, found.get(name, value))
        return found

    def init(self, x1: Array) -> TogetherMemory:
        """Return the memory before the first round; a start outside the known set is refused."""
        if not isinstance(x1, np.ndarray) or x1.ndim != 1:
            raise InvalidValueError(f"x1 must be one NumPy vector, got {x1!r}")
        if self.domain is not None:
            start_in(self.domain, x1)
        return TogetherMemory(0.0, x1, tuple(row.init(x1) for row in self.rows))

    def read(self, x: Array, feedback: Feedback) -> tuple[Array, Array]:
        """Return the values and slopes of a round; one row may be told as one number."""
        return read_rows(x, feedback, len(self.rows))

    def observe(self, memory: TogetherMemory, reading: Reading) -> TogetherMemory:
        """Return the memory with a round in which something was read."""
        each = zip(self.rows, memory.rows, self._split(reading), strict=True)
        rows = tuple(row.observe(part, read) for row, part, read in each)
        return TogetherMemory(memory.rounds + 1.0, reading.x, rows)

    def age(self, memory: TogetherMemory) -> TogetherMemory:
        """Return the memory with a round in which nothing was read."""
        each = zip(self.rows, memory.rows, strict=True)
        rows = tuple(row.age(part) for row, part in each)
        return memory._replace(rounds=memory.rounds + 1.0, rows=rows)

    def region(self, memory: TogetherMemory, errors: Errors) -> TogetherRegion:
        """Return the intersection of the regions, and of the known set."""
        each = zip(self.rows, memory.rows, strict=True)
        rows = tuple(row.region(part, self._errors_of(row, errors)) for row, part in each)
        known = None if self.domain is None else AllSets(self.domain)
        return TogetherRegion(rows, memory.x, memory.rounds, errors, known)

    def contradictions(self, memory: TogetherMemory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading has that is impossible if the constants of a row are right."""
        readings, found = self._split(reading), []
        feasible = all(read.g + read.errors.value <= 0 for read in readings)
        for i, read in enumerate(readings):
            for sentence in self.rows[i].contradictions(memory.rows[i], read):
                # What is feasible for one constraint alone says nothing of the ball around all.
                if not sentence.endswith(BALL_TOO_SMALL):
                    found.append(f"{sentence} (constraint {i})")
                elif feasible and not any(known.endswith(BALL_TOO_SMALL) for known in found):
                    found.append(sentence)
        return tuple(found)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Array:
        """Return how much each row can rise over a length."""
        each = zip(self.rows, np.atleast_2d(s), strict=True)
        return np.array([row.rise(slope, length, ahead=ahead) for row, slope in each])

    def _split(self, reading: Reading) -> list[Reading]:
        """Return the reading of each row."""
        x, g, s, errors, age = reading
        each = zip(self.rows, np.asarray(g).tolist(), s, strict=True)
        return [Reading(x, v, slope, self._errors_of(row, errors), age) for row, v, slope in each]

    def _errors_of(self, row: Knowledge, errors: Errors) -> Errors:
        """Return the errors of a row: its own, unless the round says how wrong it is."""
        if errors is self.errors:
            return row.errors
        return replace(row.errors, value=errors.value, slope=errors.slope)


class TogetherRegion(Region):
    """The points that every region holds, and the known sets.

    Args:
        rows: the region of each constraint.
        x: the action that was read last.
        rounds: how many rounds have passed.
        errors: what they allow for.
        known: the sets that are known and announced; None where there is none.
    """

    def __init__(
        self,
        rows: tuple[Any, ...],
        x: Array,
        rounds: float,
        errors: Errors,
        known: AllSets | None = None,
    ) -> None:
        self.rows, self.x, self.round, self.errors, self.known = rows, x, rounds, errors, known
        self.upper = max(row.upper for row in rows)
        self.radius, self.depth = (min(getattr(r, n) for r in rows) for n in ("radius", "depth"))
        self.longest = min(row.longest for row in rows)
        self.curvature_seen = max(row.curvature_seen for row in rows)
        self.steepness, self.noise, self.reach = (
            max(getattr(row, name) for row in rows) for name in ("steepness", "noise", "reach")
        )

    def within(self, known: Set) -> TogetherRegion:
        """Return the region cut down to a set that was announced for the next round."""
        both = AllSets.within(self.known, known)
        return TogetherRegion(self.rows, self.x, self.round, self.errors, both)

    def contains(self, w: Array) -> bool:
        """Return whether every region certifies a point, and every set contains it."""
        return self._is_in_sets(w) and all(bool(row.contains(w)) for row in self.rows)

    def _is_in_sets(self, w: Array) -> bool:
        return self.known is None or self.known.contains(w)

    def nearest(self, w: Array) -> Array:
        """Return the point nearest to w, up to the end of the search; w itself if it is in all."""
        checks.refuse_unfinite(w, "the wanted action")
        try:
            found = self._search(w)
        except EmptyRegionError:
            found = None
        if found is not None:
            return found
        # An anchor that one row wants visited may be nothing for the others.
        rows = tuple(r.whole if isinstance(r, HullRegion) else r for r in self.rows)
        whole = TogetherRegion(rows, self.x, self.round, self.errors, self.known)
        found = whole._search(w)
        return whole._meet(whole._project(w)) if found is None else found

    def _search(self, w: Array) -> Array | None:
        """Return the nearest point by Dykstra's method, drawn in; None where that finds none."""
        if self.contains(w):
            return w
        point = self._project(w)
        if self.contains(point):
            return point
        bases = [self.x, *(r.anchor.x for r in self.rows if isinstance(r, HullRegion))]
        bases = [base for base in bases if self._is_in_sets(base)]
        for base in bases:
            best = draw_back(self.contains, self.known, base, point)
            if best is not None:
                return best
        # For a fixed g staying is feasible: it was played.
        return bases[0] if bases and not self.errors.drift else None

    def _project(self, w: Array) -> Array:
        """Return where Dykstra's method ends: in all, or close to it."""
        onto = [row.nearest for row in self.rows]
        if self.known is None:
            return project_onto_all(onto, w, SWEEPS)
        onto += [known.project for known in self.known.sets]
        return self.known.snap_inside(project_onto_all(onto, w, SWEEPS))

    def _meet(self, end: Array) -> Array:
        """Return a point in all that no action played leads to; raise where there is none."""
        onto = [row.nearest for row in self.rows]
        for start in (self.x, end):
            base = reflect_in_turn(onto, self.known, self.contains, start)
            if base is not None:
                best = draw_back(self.contains, self.known, base, end)
                return base if best is None else best
        if self.errors.drift:
            # Neither is the action that was played, so that staying is not certified either.
            worst, drift = self.upper + self.errors.drift, self.errors.drift
            raise EmptyRegionError.of_drift(self.round, self.x, worst, drift)
        assert self.known is not None  # else the action itself is in all
        *others, last = self.known.sets
        near, gap = self._find_nearest_to(last, AllSets(*others) if others else None, end)
        raise EmptyRegionError.of_set(last, near, gap)

    def _find_nearest_to(
        self, last: Set, others: AllSets | None, end: Array
    ) -> tuple[Array, float]:
        """Return the certified point nearest to a set, by going to and fro, and how far it is."""
        alone = TogetherRegion(self.rows, self.x, self.round, self.errors, others)
        point = alone.nearest(end)
        for _ in range(100):
            before, point = point, alone.nearest(last.project(point))
            if norm(point - before) <= 1e-12 * (1.0 + norm(point)):
                break
        return point, float(norm(last.project(point) - point))

    def certificate(self, x: Array, cut: bool = False) -> Any:
        """Return why a point is feasible: the certificate of the row with the largest bound."""
        return max((row.certificate(x, cut) for row in self.rows), key=lambda c: c.bound)
