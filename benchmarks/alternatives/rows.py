"""A row of the comparison, and the program in five dimensions that several rivals solve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table
from surefoot.core.types import Array

__all__ = ["HEAD", "TRIALS", "Program", "Row", "named", "tabulated"]

TRIALS = 10
"""How often optuna may try settings of a rival that has some."""

HEAD = ("tool", "points outside", "worst g", "result", "µs per point", "has to know")


class Row(NamedTuple):
    """What a tool did.

    Attributes:
        tool: name and version.
        outside: points that were evaluated, or played, outside of the limits.
        points: how many there were in all.
        worst: the largest g.
        result: what was reached, in words.
        microseconds: per point; NaN where it was not measured.
        knows: what the tool has to know beforehand, and its settings.
    """

    tool: str
    outside: int
    points: int
    worst: float
    result: str
    microseconds: float
    knows: str

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        speed = "" if self.microseconds != self.microseconds else f"{self.microseconds:,.0f}"
        share = f"{self.outside:,} of {self.points:,}"
        return [self.tool, share, f"{self.worst:.2g}", self.result, speed, self.knows]


def named(package: str, what: str = "") -> str:
    """Return a package with its version, and what of it is used."""
    return f"{package} {version(package)}" + (f", {what}" if what else "")


def tabulated(rows: Iterable[Row]) -> list[str]:
    """Return the lines of the table."""
    return table(HEAD, [row.cells() for row in rows])


@dataclass
class Program:
    """Minimise half the squared distance to a point outside of an ellipsoid, from its centre.

    Every point at which the limit is evaluated counts, as if it were played.
    """

    dimension: int = 5
    condition: float = 10.0
    seen: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = np.random.default_rng(3)
        turn = np.linalg.qr(draw.normal(size=(self.dimension, self.dimension)))[0]
        self.A = turn @ np.diag(np.linspace(1.0, self.condition, self.dimension)) @ turn.T
        self.target = turn @ np.full(self.dimension, 0.8)
        self.start = np.zeros(self.dimension)
        self.best = self._best()

    def _best(self) -> float:
        # The nearest point solves (I + m A) x = v with x'Ax = 1: bisection in m.
        low, high = 0.0, 1e6
        for _ in range(200):
            m = 0.5 * (low + high)
            x = np.linalg.solve(np.eye(self.dimension) + m * self.A, self.target)
            low, high = (m, high) if x @ self.A @ x > 1 else (low, m)
        return 0.5 * float((x - self.target) @ (x - self.target))

    def cost(self, x: Array) -> float:
        """Return f, and remember it."""
        value = 0.5 * float((x - self.target) @ (x - self.target))
        self.costs.append(value)
        return value

    def cost_gradient(self, x: Array) -> Array:
        """Return its gradient."""
        return x - self.target

    def limit(self, x: Array) -> float:
        """Return g, and count the point."""
        value = 0.5 * float(x @ self.A @ x) - 0.5
        self.seen.append(value)
        return value

    def limit_gradient(self, x: Array) -> Array:
        """Return its gradient."""
        return self.A @ x

    def row(self, tool: str, knows: str, solve: Callable[[Program], Any]) -> Row:
        """Let a tool solve the program anew; it returns the point it reached."""
        fresh = Program(self.dimension, self.condition)
        begin = time.process_time()
        x = solve(fresh)
        seconds = time.process_time() - begin
        seen, gap = np.array(fresh.seen), 0.5 * float((x - self.target) @ (x - self.target))
        return Row(
            tool,
            int((seen > 0).sum()),
            len(seen),
            float(seen.max()),
            f"f - f* = {gap - self.best:.1e}",
            1e6 * seconds / len(seen),
            knows,
        )
