"""Limits whose g is an exact rational: dyadic data, contexts and drift, and readings that err."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

UP = 1 + 2.0**-48
"""What a bound on a length is multiplied by, so that its rounding does not make it too small."""


def exact(x: Any) -> list[Fraction]:
    """Return the entries of a float64 point as rationals."""
    return [Fraction(float(entry)) for entry in x]


class Row(NamedTuple):
    """One constraint, a polynomial: sum of bend x_i^2/2, fourth x_i^4 and slope x_i, less room.

    Attributes:
        bend: the curvature by coordinate; negative where it is not convex.
        fourth: the weight of the fourth powers.
        slope: the linear part.
        room: what is taken off.
    """

    bend: tuple[Fraction, ...]
    fourth: Fraction
    slope: tuple[Fraction, ...]
    room: Fraction

    def value(self, x: list[Fraction]) -> Fraction:
        """Return g at a point."""
        found = -self.room
        for bend, slope, entry in zip(self.bend, self.slope, x, strict=True):
            found += slope * entry
            if bend:
                found += bend * entry * entry / 2
            if self.fourth:
                found += self.fourth * entry**4
        return found

    def gradient(self, x: list[Fraction]) -> list[Fraction]:
        """Return the slope at a point."""
        each = zip(self.bend, self.slope, x, strict=True)
        return [s + bend * entry + 4 * self.fourth * entry**3 for bend, s, entry in each]


class World:
    """A limit: the largest of its rows, each with a shift of its own that drifts.

    Args:
        shape: "rows" (affine, a bounded set), "line" (one affine row), "bowl" (a quadratic) or
            "quartic"; "saddle" and "well" (two basins, bounded) are not convex.
        rng: what draws it.
        lowered: how far contexts and drift may lower g below what it is at first.
    """

    def __init__(self, shape: str, rng: np.random.Generator, lowered: float = 0.0) -> None:
        self.shape, self.rng, self.lowered = shape, rng, lowered
        self.d = int(rng.integers(1, 4)) if shape != "saddle" else int(rng.integers(2, 4))
        self.rows = tuple(self._draw_rows())
        self.shifts = [Fraction(0) for _ in self.rows]
        self.lift = Fraction(0)  # what the context of the round adds
        self.start = np.zeros(self.d)
        if shape != "saddle":
            self.start[0] = 0.0625 * int(rng.integers(-2, 3))

    def _dyadic(self, low: int, high: int, size: int = 16) -> Fraction:
        return Fraction(int(self.rng.integers(low, high + 1)), size)

    def _draw_rows(self) -> list[Row]:
        d, zero = self.d, Fraction(0)
        none = (zero,) * d
        if self.shape == "bowl":
            bend = self._dyadic(4, 64)
            return [Row((bend,) * d, zero, none, self._dyadic(4, 16))]
        if self.shape == "quartic":
            return [Row(none, self._dyadic(8, 32), none, self._dyadic(4, 16))]
        if self.shape == "well":
            return [
                Row((-self._dyadic(4, 16),) * d, self._dyadic(8, 32), none, self._dyadic(4, 16))
            ]
        if self.shape == "saddle":
            bends = tuple(self._dyadic(4, 32) * (-1) ** i for i in range(d))
            slope = tuple(self._dyadic(-8, 8) for _ in range(d))
            return [Row(bends, zero, slope, self._dyadic(4, 16))]
        made = []
        if self.shape == "line":
            slope = tuple(self._dyadic(-16, 16) for _ in range(d - 1))
            return [Row(none, zero, (self._dyadic(8, 24), *slope), self._dyadic(6, 16))]
        for i in range(d):
            for sign in (1, -1):
                steep = self._dyadic(8, 24)
                slope = tuple(sign * steep if j == i else zero for j in range(d))
                made.append(Row(none, zero, slope, self._dyadic(6, 16)))
        slope = tuple(self._dyadic(-16, 16) for _ in range(d))
        if any(slope):
            made.append(Row(none, zero, slope, self._dyadic(6, 16)))
        return made

    # --- what is true of it ----------------------------------------------------------------------

    @property
    def is_convex(self) -> bool:
        """Whether every row is."""
        return self.shape not in ("saddle", "well")

    @property
    def reach(self) -> float:
        """A bound on the norm of feasible points, in every round."""
        room = max(float(row.room) for row in self.rows) + self.lowered
        if self.shape == "bowl":
            return math.sqrt(2 * room / float(self.rows[0].bend[0])) * UP
        if self.shape in ("quartic", "well"):
            # k u^4 - b u^2/2 is at most the room of all, and at least -b^2/(16k) by coordinate.
            k, b = float(self.rows[0].fourth), -float(self.rows[0].bend[0])
            most = room + (self.d - 1) * b * b / (16 * k)
            square = (b / 2 + math.sqrt(b * b / 4 + 4 * k * most)) / (2 * k)
            return math.sqrt(self.d * square) * UP
        if self.shape == "rows":
            return math.sqrt(self.d) * room / 0.5 * UP
        return 4.0

    def steepest(self, row: Row, radius: float) -> float:
        """Return a bound on the slopes of a row in the ball of a radius around 0."""
        bend = max(abs(float(b)) for b in row.bend)
        straight = math.sqrt(float(sum(s * s for s in row.slope)))
        return (straight + bend * radius + 4 * float(row.fourth) * radius**3) * UP

    @property
    def G_g(self) -> float:
        """A bound on all slopes where g is at most 0, in every round."""
        return max(self.steepest(row, self.reach) for row in self.rows)

    @property
    def slopes(self) -> list[float]:
        """A bound for each row."""
        return [self.steepest(row, self.reach) for row in self.rows]

    @property
    def beta(self) -> float:
        """A bound on the curvature upwards of every row where g is at most 0."""
        bend = max(max(float(b), 0.0) for row in self.rows for b in row.bend)
        fourth = max(12 * float(row.fourth) * self.reach**2 for row in self.rows)
        return (bend + fourth) * UP

    @property
    def relative(self) -> tuple[float, float]:
        r"""L_0 and L_1 with curvature at most :math:`L_0 + L_1\|s\|`.

        With k the weight of the fourth powers and u the largest entry the curvature is
        :math:`12ku^2` and the slope at least :math:`4ku^3`: their difference, with L_1 of it, is
        largest at u = 2/L_1, where it is 16k/L_1^2. A quadratic needs its bend alone.
        """
        L_1 = 2.0
        bend = max(float(abs(b)) for row in self.rows for b in row.bend)
        fourth = max(float(row.fourth) for row in self.rows)
        return (bend + 16 * fourth / L_1**2) * UP, L_1

    @property
    def slack(self) -> float:
        """That of the start before anything moved."""
        return -float(max(row.value(exact(self.start)) for row in self.rows))

    # --- rounds ----------------------------------------------------------------------------------

    def values(self, x: Any) -> list[Fraction]:
        """Return every row at a point in this round, exactly."""
        point = exact(x)
        return [
            row.value(point) + shift + self.lift
            for row, shift in zip(self.rows, self.shifts, strict=True)
        ]

    def g(self, x: Any) -> Fraction:
        """Return the largest of them."""
        return max(self.values(x))

    def gradients(self, x: Any) -> np.ndarray:
        """Return the slopes of all rows, rounded."""
        point = exact(x)
        return np.array([[float(e) for e in row.gradient(point)] for row in self.rows])

    def drift(self, speed: float, most: Fraction) -> None:
        """Move every row by the speed at most, mostly up, and the start never above a bound.

        Args:
            speed: how far in a round.
            most: what no row may be above at the start, without its context.
        """
        step, start = Fraction(speed), exact(self.start)
        for i, row in enumerate(self.rows):
            way = int(self.rng.choice([1, 1, 1, 1, 0, -1]))
            there, least = row.value(start), -Fraction(min(self.lowered, 0.25))
            shift = max(min(self.shifts[i] + way * step, most - there), least)
            if abs(shift - self.shifts[i]) <= step:
                self.shifts[i] = shift


def read_low(value: Fraction, error: float, lean: float) -> float:
    """Return a reading that errs by no more than a bound; correctly rounded where that is 0.

    Args:
        value: what is true.
        error: the bound.
        lean: which share of it, from -1 to 1.
    """
    found = float(value + Fraction(error) * Fraction(lean))
    if error and abs(Fraction(found) - value) > Fraction(error):
        found = float(np.nextafter(found, float(value)))
    return found


def read_slope(slope: np.ndarray, error: float, rng: np.random.Generator) -> np.ndarray:
    """Return a slope that errs by nearly as much as it may, in any direction."""
    if not error:
        return slope
    way = rng.normal(size=slope.shape)
    return slope + (1 - 1e-9) * error * way / np.linalg.norm(way)
