r"""Constraints of different kinds and a known set, together: the intersection of their regions.

Each constraint has its own knowledge, a bound on its slope or on its curvature, and its own
region; a point that is in all of them, and in the known set K, satisfies everything. The nearest
such point is found by Dykstra's method, which projects onto one set after the other and takes back
what earlier projections added. What it returns is rounded and perhaps not at its end, so it is
checked by every region and by K, and otherwise drawn towards a point that is in all of them: the
action that was just played, or the anchor of a hull.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Region
from surefoot.regions._certificates import BALL_TOO_SMALL
from surefoot.regions._known import EmptyRegionError, known_set, meeting_point, settle
from surefoot.regions.hull import HullRegion
from surefoot.regions.region import CertifiedRegion, Knowledge

__all__ = ["Together", "TogetherMemory", "TogetherRegion"]

# How often every set is projected onto; what is left then is drawn in.
_ROUNDS = 100


class TogetherMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: how many rounds were seen.
        rows: the memory of each constraint.
    """

    rounds: float
    rows: tuple[Any, ...]


class TogetherRegion(NamedTuple):
    """The points that every region holds, and the known set; one NumPy run.

    Attributes:
        rows: the region of each constraint.
        x: the action that was played.
        sets: the sets that are known, and announced.
        values: of the constraints.
        rounds: how many rounds were seen.
    """

    rows: tuple[CertifiedRegion, ...]
    x: Array
    sets: tuple[Region, ...]
    values: Array
    rounds: float

    def within(self, announced: Region) -> TogetherRegion:
        """Return the region cut down to a set that was announced for the next round."""
        return self._replace(sets=(*self.sets, known_set(announced, "announced")))

    def holds(self, point: Array) -> bool:
        """Return whether every region certifies a point, and every set contains it."""
        if not all(known.contains(point) for known in self.sets):
            return False
        return all(row.nearest(point) is point for row in self.rows)

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
        rows = tuple(row.whole if isinstance(row, HullRegion) else row for row in self.rows)
        whole = self._replace(rows=rows)
        found = whole._search(w)
        return whole._met(whole._projected(w)) if found is None else found

    def _search(self, w: Array) -> Array | None:
        """Return the nearest point by Dykstra's method, drawn in; None where that finds none."""
        if self.holds(w):
            return w
        z = self._projected(w)
        if self.holds(z):
            return z
        bases = self._bases()
        for base in bases:
            best = self._drawn(base, z)
            if best is not None:
                return best
        # For a fixed g staying is feasible: it was played.
        return bases[0] if bases and not self._drifts() else None

    def _projected(self, w: Array) -> Array:
        """Return where Dykstra's method ends: in all, or close to it."""
        onto: list[Callable[[Array], Array]] = [row.nearest for row in self.rows]
        onto += [known.project for known in self.sets]
        z, taken = w, [np.zeros_like(w) for _ in onto]
        for _ in range(_ROUNDS):
            before = z
            for i, project in enumerate(onto):
                y = z + taken[i]
                z = project(y)
                taken[i] = y - z
            if norm(z - before) <= 1e-14 * (1.0 + norm(z)):
                break
        return settle(self.sets, z)

    def _bases(self) -> list[Array]:
        """Return the actions that a point may be drawn towards: the last, and the anchors."""
        anchors = [getattr(row, "anchor", None) for row in self.rows]
        bases = [self.x, *(a for a in anchors if type(a) is np.ndarray)]
        return [b for b in bases if all(known.contains(b) for known in self.sets)]

    def _drawn(self, base: Array, end: Array) -> Array | None:
        """Return the last point that is in all on the way from one that may be; None for none."""
        best, low, high = None, 0.0, 1.0
        for k in range(40):
            share = 1.0 - 1e-13 * 10.0**k if k < 4 and low == 0.0 else 0.5 * (low + high)
            point = settle(self.sets, base + share * (end - base))
            if self.holds(point):
                best, low = point, share
                if k < 4:
                    break
            elif share < high:
                high = share
        return best

    def _met(self, end: Array) -> Array:
        """Return a point in all that no action played leads to; raise where there is none."""
        onto = [row.nearest for row in self.rows]
        for start in (self.x, end):
            base = meeting_point(onto, self.sets, self.holds, start)
            if base is not None:
                best = self._drawn(base, end)
                return base if best is None else best
        if drifts := self._drifts():
            # Neither is the action that was played, so that staying is not certified either.
            worst, t = float(np.max(self.values)), self.rounds
            raise EmptyRegionError.of_drift(t, self.x, worst + max(drifts), max(drifts))
        raise EmptyRegionError.of_set(self.sets[-1], self._nearest_certified(end), self._gap(end))

    def _drifts(self) -> list[float]:
        """Return the drift of each row that has one."""
        return [row.known.drift for row in self._balls() if row.known.drift is not None]

    def _balls(self) -> list[Any]:
        """Return the region of each row; of a hull of balls, that of the last action."""
        return [getattr(row, "last", row) for row in self.rows]

    def _nearest_certified(self, end: Array) -> Array:
        """Find the certified point nearest to the last set, by going to and fro."""
        alone = self._replace(sets=self.sets[:-1])
        a = alone.nearest(end)
        for _ in range(100):
            before, a = a, alone.nearest(self.sets[-1].project(a))
            if norm(a - before) <= 1e-12 * (1.0 + norm(a)):
                break
        return a

    def _gap(self, end: Array) -> float:
        a = self._nearest_certified(end)
        return float(norm(self.sets[-1].project(a) - a))

    def certificate(self, point: Array, t: int) -> Any:
        """Return why a point is feasible: the certificate of the row with the largest bound."""
        return max((row.certificate(point, t) for row in self.rows), key=lambda c: c.bound)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the constants are right, as sentences."""
        found: list[str] = []
        errors = [getattr(row.errors, "value", 0.0) for row in self._balls()]
        feasible = bool((self.values + errors <= 0).all())
        for i, row in enumerate(self.rows):
            for sentence in row.contradictions:
                # What is feasible for one constraint alone says nothing of the ball around all.
                if not sentence.endswith(BALL_TOO_SMALL):
                    found.append(f"{sentence} (constraint {i})")
                elif feasible and not any(known.endswith(BALL_TOO_SMALL) for known in found):
                    found.append(sentence)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Knowledge about several constraints, each by itself, and the set; one NumPy run.

    Args:
        rows: one knowledge per constraint: :class:`LipschitzHull`, :class:`Curvature`, ...
        domain: a known closed convex set that holds every action; None where there is none.

    Example:
        >>> from surefoot.regions import Curvature, LipschitzHull
        >>> from surefoot.sets import Box
        >>> rows = (LipschitzHull(G_g=1.0, reach=1.0), Curvature(beta=0.0, reach=1.0))
        >>> known = Together(rows=rows, domain=Box([-1.0, -1.0], [0.2, 1.0]))
        >>> x, g, s = np.zeros(2), np.array([-0.5, -0.3]), np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> _, region = known.see(known.init(x), x, g, s)
        >>> region.nearest(np.array([3.0, 3.0])).round(6)  # the box, and x[1] <= 0.3
        array([0.2, 0.3])
    """

    rows: tuple[Knowledge[Any], ...]
    domain: Region | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        if not self.rows or not all(hasattr(row, "see") for row in self.rows):
            raise InvalidValueError(f"rows must be one knowledge per constraint, got {self.rows!r}")
        if self.domain is not None:
            known_set(self.domain, "domain")

    def init(self, x1: Array) -> TogetherMemory:
        """Return the memory before the first round; a start outside the known set is refused."""
        if type(x1) is not np.ndarray or x1.ndim != 1:
            raise InvalidValueError(f"x1 must be one NumPy vector, got {x1!r}")
        if self.domain is not None:
            known_set(self.domain, "domain", holds=x1)
        return TogetherMemory(0.0, tuple(row.init(x1) for row in self.rows))

    def see(
        self, memory: TogetherMemory, x: Array, g: Any, s: Array, value_error: Any = None
    ) -> tuple[TogetherMemory, TogetherRegion]:
        """Return the memory with the round added, and the region for the next action."""
        values, slopes = np.atleast_1d(np.asarray(g, dtype=np.float64)), np.atleast_2d(s)
        if len(values) != len(self.rows) or len(slopes) != len(self.rows):
            raise InvalidValueError(
                f"constraint_value must have {len(self.rows)} entries, one per constraint, "
                f"got shape {values.shape}"
            )
        errors = np.broadcast_to(np.asarray(value_error), values.shape).tolist()
        parts = zip(self.rows, memory.rows, values, slopes, errors, strict=True)
        seen = [row.see(part, x, float(v), slope, nu) for row, part, v, slope, nu in parts]
        after = TogetherMemory(memory.rounds + 1.0, tuple(part for part, _ in seen))
        sets = () if self.domain is None else (self.domain,)
        regions = tuple(region for _, region in seen)
        return after, TogetherRegion(regions, x, sets, values, after.rounds)
