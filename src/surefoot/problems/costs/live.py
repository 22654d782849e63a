"""Costs that arrive while they are played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

import numpy as np

from surefoot.core import checks
from surefoot.core.checks import invalid
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.stream import ArrayCosts
from surefoot.sets import Ball

__all__ = ["Live"]


@final
class Live:
    """Costs from an iterator of chunks, each a stream of the next few rounds.

    Only the rounds now being played are held, so memory does not grow with the horizon. Rounds
    are asked for in order; the past is gone, unless the source is a function that starts the
    chunks again.

    Args:
        source: an iterable of streams held as arrays (``Quadratic``, ``Logistic``, ...), all of
            one kind, or a function that returns a fresh one each time.
        horizon: number of rounds.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you know one.
        runs: how many runs have their own costs; None if all runs share them.

    Example:
        >>> from surefoot.problems.costs import Linear
        >>> minutes = (Linear([[1.0, float(k)], [2.0, float(k)]]) for k in range(1_000_000))
        >>> costs = Live(minutes, horizon=2_000_000, dimension=2)
        >>> costs.gradient(0, np.zeros(2)), costs.gradient(3, np.zeros(2))
        (array([1., 0.]), array([2., 1.]))
    """

    def __init__(
        self,
        source: Iterable[ArrayCosts] | Callable[[], Iterable[ArrayCosts]],
        *,
        horizon: int,
        dimension: int,
        bound: float | None = None,
        runs: int | None = None,
    ) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise InvalidValueError(f"source must be an iterable or a function, got {source!r}")
        if bound is not None:
            checks.positive(bound=bound)
        self.horizon = checks.check_horizon(horizon)
        self.dimension = dimension
        self.runs = runs
        self._bound = bound
        self._source = source
        self._chunks: Iterator[ArrayCosts] | None = None
        self._start = 0
        self._held: ArrayCosts | None = None

    def rounds(self, start: int, stop: int) -> ArrayCosts:
        """Return the rounds from start to stop - 1; everything before them is dropped."""
        if self._chunks is None or start < self._start:
            self._restart(start)
        parts = [] if self._held is None else [self._held]
        held = self._start + sum(p.horizon for p in parts)
        while held < stop:
            chunk = next(self._chunks, None)  # type: ignore[arg-type]
            if chunk is None:
                raise InvalidValueError(
                    f"source must have {self.horizon} rounds, the horizon, got {held} in all"
                )
            if not isinstance(chunk, ArrayCosts):
                raise invalid("source", "an iterator of costs", chunk)
            if chunk.dimension != self.dimension or chunk.runs != self.runs:
                raise InvalidValueError(
                    f"source must give chunks with dimension {self.dimension} and runs "
                    f"{self.runs}, got {chunk.dimension} and {chunk.runs} at round {held + 1}"
                )
            held += chunk.horizon
            if held > start:
                parts.append(chunk)
            else:
                parts = []
                self._start = held
        whole = type(parts[0]).join(parts)
        low = max(start, self._start)
        self._held, self._start = whole.rounds(low - self._start, whole.horizon), low
        return self._held.rounds(start - low, stop - low)

    def _restart(self, start: int) -> None:
        if callable(self._source):
            self._chunks = iter(self._source())
        elif self._chunks is None:
            self._chunks = iter(self._source)
        else:
            raise InvalidValueError(
                f"rounds must be asked for in order, got round {start + 1} after round "
                f"{self._start + 1}: give a function that starts the source anew"
            )
        self._start, self._held = 0, None

    def value(self, t: int, x: Array) -> Number:
        """Return the cost of round t at x."""
        return self.rounds(t, t + 1).value(0, x)

    def gradient(self, t: int, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""
        return self.rounds(t, t + 1).gradient(0, x)

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, chunk by chunk; needs a source that can restart."""
        value, gradient, done = 0.0, np.zeros(self.dimension), 0
        self._restart(0)
        while done < self.horizon:
            stop = min(done + 4096, self.horizon)
            v, g = self.rounds(done, stop).sum_at(x)
            value, gradient, done = value + v, gradient + g, stop
        return value, gradient

    def gradient_bound(self, domain: Ball | None = None) -> float | None:
        """Return the bound given."""
        return self._bound

    @property
    def strong_convexity(self) -> float:
        """Zero: nothing is known about costs that have not arrived."""
        return 0.0

    def run(self, index: Index) -> Any:
        """Return the stream itself if all runs share it, else a view of one run."""
        return self if self.runs is None else _OneRun(self, index)


class _OneRun:
    """One run of live costs that have several."""

    def __init__(self, live: Live, index: Index) -> None:
        self._live, self._index = live, index
        self.horizon, self.dimension, self.runs = live.horizon, live.dimension, None

    def rounds(self, start: int, stop: int) -> ArrayCosts:
        """Return the rounds of this run."""
        return self._live.rounds(start, stop).run(self._index)

    def value(self, t: int, x: Array) -> Number:
        """Return the cost of round t at x."""
        return self.rounds(t, t + 1).value(0, x)

    def gradient(self, t: int, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""
        return self.rounds(t, t + 1).gradient(0, x)
