"""A bound on the curvature of g, or of each of several constraints.

up_t + k v + s'(p - x) + tau |p - x| + beta/2 |p - x|^2 <= 0 in each row, from an action x where g
was at most 0; nothing leads inwards from the limit itself if slope and curvature are 0 there.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from .exact import (
    Bounds,
    Point,
    UnjudgedError,
    WrongError,
    dot,
    least,
    minus,
    norm,
    number,
    numbers,
)
from .kind import UNIT, Certificate, Kind, Reading, Run, close, is_known

__all__ = ["Curved", "CurvedRows"]

_KEPT = 4
"""How many readings are tried for an action that no certificate was for."""


class Curved(Kind):
    """Curvature."""

    keys: ClassVar[str] = "reach beta"
    certificates: ClassVar[tuple[str, ...]] = ("CurvatureCertificate",)
    reach: Fraction
    noise: Fraction
    betas: list[Fraction]
    rows: int

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        self.reach, self.noise = number(table["reach"], "reach", 0), self.evaluation
        self.betas = self.read_betas(table)
        self.rows = len(self.betas)

    def read_betas(self, table: dict[str, Any]) -> list[Fraction]:
        """Return the curvatures, one per row."""
        return [number(table["beta"], "beta", 0)]

    def curvatures(self, reading: Reading) -> list[Fraction]:
        """Return the bounds on the curvature that hold where a reading is used."""
        return self.betas

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the least of the quadratic bounds of the last readings, row by row."""
        found, wrong = [], WrongError("nothing that it rests on was read")
        for reading in self._last(run):
            try:
                found.append(self.bounds(run, p, reading))
            except WrongError as error:
                wrong = error
        if not found:
            raise wrong
        # A row's bound belongs to a point where all rows have bounds of at most 0.
        inside = least(*(bounds for bounds in found if max(bounds) <= 0))
        return min(found, key=max) if inside is None else inside

    def _last(self, run: Run) -> list[Reading]:
        found = [r for r in run.last() if r.slopes is not None]
        if not found:
            raise UnjudgedError("what it rests on was read too long ago, or without a slope")
        return found

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return the quadratic bounds of the last readings, where they certify the action."""
        found = []
        for before in earlier[-_KEPT:]:
            try:
                found.append(self.bounds(run, reading.x, before, reading.round))
            except (UnjudgedError, WrongError):
                continue
        return least(*(bounds for bounds in found if max(bounds) <= 0))

    def bounds(self, run: Run, p: Point, reading: Reading, t: int | None = None) -> Bounds:
        """Return the quadratic bounds of a reading, one per row, in a round."""
        if reading.slopes is None or len(reading.slopes) != self.rows:
            raise WrongError("constraint_subgradient must have a row per constant")
        if not reading.is_feasible:
            raise UnjudgedError("it rests on an action that was not feasible, where g may curve")
        level = run.levels(reading)[0] if t is None else run.level_in(reading, t)
        step = minus(p, reading.x)
        square = dot(step, step)
        far = norm(step) if any(reading.tau) else Fraction(0)
        bent = [tau * far for tau in reading.tau]
        each = list(zip(level, reading.slopes, bent, self.curvatures(reading), strict=True))
        if any(step) and any(u >= 0 and not any((*s, b, beta)) for u, s, b, beta in each):
            raise WrongError("nothing leads inwards from the limit itself")
        return [u + dot(s, step) + b + beta / 2 * square for u, s, b, beta in each]

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless value, step and bound are those of one of the last readings."""
        row, bound = c["row"] or 0, number(c["bound"], "bound")
        value, slope, length = (number(c[n], n) for n in ("value", "slope", "length"))
        for reading in self._last(run):
            step, s = minus(p, reading.x), (reading.slopes or [])[row]
            far, steep, tau = norm(step), norm(s), reading.tau[row]
            size = abs(reading.raw[row]) + (steep + tau) * self.reach
            noise = 64 * UNIT * (len(p) + 8) * (size + self.betas[row] * self.reach**2)
            noise += 4 * self.noise
            along, beta = dot(s, step), self.curvatures(reading)[row]
            parts = [(slope, along, noise), (length, far, 64 * UNIT * (len(p) + 8) * self.reach)]
            parts += [(number(c["beta"], "beta"), beta, 64 * UNIT * (len(p) + 8) * beta)]
            if not all(close(*part) for part in parts):
                continue
            rest = along + tau * far + beta / 2 * far**2
            levels = [level[row] for level in run.levels(reading)]
            if is_known(value, levels, noise) and close(bound, value + rest, 2 * noise):
                return
        raise WrongError("the numbers of its certificate are not those of what was read")


_MOST_ROWS = 10**5
"""How many constraints a player may have: each costs memory before any is read."""


class CurvedRows(Curved):
    """CurvatureRows."""

    keys: ClassVar[str] = "reach beta rows"

    def read_betas(self, table: dict[str, Any]) -> list[Fraction]:
        """Return the curvatures, one for all rows or one per row."""
        rows, beta = int(number(table["rows"], "rows", 1)), table["beta"]
        if rows > _MOST_ROWS:  # whoever writes a file can write any number
            raise WrongError(f"rows must be from 1 to {_MOST_ROWS}, got {rows}")
        if not isinstance(beta, dict | list):
            return [number(beta, "beta", 0)] * rows
        each = numbers(beta, "beta")
        if len(each) != rows:
            raise WrongError(f"beta must have {rows} numbers, one per row")
        return [number(part, "beta", 0) for part in each]
