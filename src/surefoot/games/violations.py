"""Eight measures of violation, exact however a trace is thinned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.core.display import mean_and_spread, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Index

__all__ = ["ViolationMeter", "Violations", "violations"]


class Violations(NamedTuple):
    r"""The violation measures of a run; arrays over the runs of a batch.

    Attributes:
        total: :math:`\sum g(x_t)`; may be negative.
        soft: :math:`[\sum g(x_t)]_+`, what cumulative guarantees bound.
        hard: :math:`\sum [g(x_t)]_+`.
        squared: :math:`\sum [g(x_t)]_+^2`.
        worst: :math:`\max_t g(x_t)`.
        count: how many rounds had :math:`g(x_t) > 0`; exactly, no tolerance. A round without a
            value (NaN, of a run that was lost) counts: it was not seen to be feasible.
        feasible_from: the first round from which no round has :math:`g(x_t) > 0`;
            one more than the horizon if the last round has.
        first_violation: the first round that counts; 0 if none does.
    """

    total: Array
    soft: Array
    hard: Array
    squared: Array
    worst: Array
    count: Array
    feasible_from: Array
    first_violation: Array

    def __repr__(self) -> str:
        count, worst = np.max(self.count), np.max(self.worst)
        return (
            f"<Violations{of_runs(self.count)}: at most {count:,} rounds outside, "
            f"largest g = {worst:.3g}, sum of [g]+ {mean_and_spread(self.hard)}>"
        )

    def of(self, runs: Index) -> Violations:
        """Return the measures of one run, or of some of them."""
        return Violations(*(measure[runs] for measure in self))


class ViolationMeter:
    """Accumulate the measures from constraint values, in blocks of rounds.

    Blocks are summed and the sums added up, so a long run needs no memory of its rounds and loses
    fewer digits than one running sum.

    Args:
        runs: how many runs there are.
        rows: the number of separate constraints; 0 if there is one g.

    Attributes:
        row_sums: the sum of each separate constraint, ``(runs, m)``; None if there is one g.
    """

    def __init__(self, runs: int, rows: int = 0) -> None:
        self.row_sums = np.zeros((runs, rows)) if rows else None
        self._total, self._hard, self._squared = np.zeros((3, runs))
        self._worst = np.full(runs, -np.inf)
        self._count, self._last, self._first = np.zeros((3, runs), dtype=np.int64)

    def add(self, start: int, g: Array, rows: Array | None = None) -> None:
        """Add the values ``(rounds, runs)`` of the rounds after the first ``start``.

        Args:
            start: how many rounds came before.
            g: the largest constraint of each round.
            rows: for separate constraints, the sums of each over these rounds,
                ``(runs, m)``.
        """
        if self.row_sums is not None and rows is not None:
            self.row_sums += rows
        worst = g.max(axis=0)
        self._total += g.sum(axis=0)
        self._worst = np.maximum(self._worst, worst)
        if (worst <= 0).all():
            return  # the common case: nothing is added to the others
        positive = np.maximum(g, 0.0)
        above = ~(g <= 0)
        self._hard += positive.sum(axis=0)
        self._squared += (positive * positive).sum(axis=0)
        self._count += above.sum(axis=0)
        rounds = start + 1 + np.arange(len(g))[:, None]
        self._last = np.maximum(self._last, (above * rounds).max(axis=0))
        fresh = above.any(axis=0) & (self._first == 0)
        self._first = np.where(fresh, start + 1 + above.argmax(axis=0), self._first)

    def read(self) -> Violations:
        """Return the measures of all rounds so far, one entry per run."""
        return Violations(
            total=self._total.copy(),
            soft=np.maximum(self._total, 0.0),
            hard=self._hard.copy(),
            squared=self._squared.copy(),
            worst=self._worst.copy(),
            count=self._count.copy(),
            feasible_from=self._last + 1,
            first_violation=self._first.copy(),
        )


def violations(g: Array) -> Violations:
    """Return the measures of the values of all rounds, ``(T,)`` or ``(T, B)``.

    Example:
        >>> seen = violations(np.array([0.5, -1.0, 0.25, -2.0]))
        >>> float(seen.total), float(seen.hard), int(seen.count), int(seen.feasible_from)
        (-2.25, 0.75, 2, 4)
    """
    g = np.asarray(g, dtype=np.float64)
    if g.ndim not in (1, 2) or g.size == 0:
        raise InvalidValueError(f"g.shape must be (T,) or (T, B) with no empty axis, got {g.shape}")
    meter = ViolationMeter(1 if g.ndim == 1 else g.shape[1])
    meter.add(0, g.reshape(len(g), -1))
    seen = meter.read()
    return seen.of(0) if g.ndim == 1 else seen
