"""Costs that are computed during the game: functions, an adversary, chunks of rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Self, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, namespace
from surefoot.core.checks import invalid
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared, count, function, nonnegative, positive, rounds
from surefoot.core.types import Array, Index, Number
from surefoot.problems.constraints.functions import query_jax
from surefoot.problems.costs.arrays import ArrayCosts, Costs, Linear
from surefoot.sets import Ball

__all__ = ["Adversarial", "FromChunks", "FromFunctions", "from_jax"]


class _StatedCosts(Costs, Declared):
    """Costs by functions, with the bounds that their user gives."""

    horizon: int = rounds()
    dimension: int = count()
    bound: float | None = positive(default=None)

    def gradient_bound(self, domain: Ball | None = None) -> float | None:
        """Return the bound given."""
        return self.bound


class _SharedCosts(_StatedCosts):
    """Costs by functions of the round, the same for every run."""

    first: int | np.int64 = 0

    @property
    def runs(self) -> int | None:
        """None: all runs share the costs."""
        return None

    def rounds(self, start: int, stop: int) -> Self:
        """Return the stream of the rounds from start to stop - 1."""
        # NumPy's integer, which a compiled scan takes as data: a Python int would be compiled in.
        first = np.int64(self.first + start)
        return replace(self, horizon=stop - start, first=first)

    def run(self, index: Index) -> Self:
        """Return the same functions: there are no streams to choose from."""
        return self


@final
class FromFunctions(_SharedCosts):
    """Costs from your two functions of a round and an action.

    Args:
        value_of: from a round (from 0) and an action to the cost, a number.
        gradient_of: from the same to one (sub)gradient.
        horizon: number of rounds.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you have one.
        strong_convexity: modulus of strong convexity of every cost, 0 for merely convex ones.

    The functions receive one action ``(d,)`` in a live loop and ``(B, d)`` in a batch.

    Example:
        >>> costs = FromFunctions(
        ...     value_of=lambda t, x: float(np.abs(x - t).sum()),
        ...     gradient_of=lambda t, x: np.sign(x - t),
        ...     horizon=3,
        ...     dimension=2,
        ... )
        >>> costs.gradient(2, np.array([0.0, 5.0]))
        array([-1.,  1.])
    """

    value_of: Callable[[Index, Array], Number] = function()
    gradient_of: Callable[[Index, Array], Array] = function()
    strong_convexity: float = nonnegative(default=0.0)

    def value(self, t: Index, x: Array) -> Number:
        """Return the value of the given function."""
        return checks.to_number(self.value_of(self.first + t, x), x, "value_of(t, x)")

    def gradient(self, t: Index, x: Array) -> Array:
        """Return the gradient of the given function, as float64."""
        gradient = self.gradient_of(self.first + t, x)
        if isinstance(x, np.ndarray):
            return checks.to_array(gradient, "gradient_of(t, x)")
        return gradient

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, added one by one."""
        value, gradient = 0.0, np.zeros(self.dimension)
        for t in range(self.horizon):
            value += float(self.value(t, x))
            gradient = gradient + self.gradient(t, x)
        return value, gradient


def from_jax(
    loss: Callable[..., Number], *data: Array, dimension: int, bound: float | None = None
) -> FromFunctions:
    """Return costs from a JAX function of the action and the round's data, differentiated by JAX.

    At a kink autodiff gives an average of slopes (0 for ``abs`` at 0), which is also a subgradient
    of a maximum of convex functions.

    Args:
        loss: from one action ``(d,)`` and one entry of each data array to a number.
        data: arrays with one entry a round.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you have one.

    Example:
        >>> targets = np.array([[1.0, 0.0], [0.0, 2.0]])
        >>> costs = from_jax(lambda x, v: 3 * ((x - v) ** 2).sum(), targets, dimension=2)
        >>> costs.gradient(1, np.array([0.0, 1.0]))
        array([ 0., -6.])
    """
    checks.function(loss=loss)
    jax = need("jax", "jax", "costs by autodiff")
    arrays = [checks.to_array(d, "data") for d in data]
    if not arrays or any(len(a) != len(arrays[0]) for a in arrays):
        lengths = [len(a) for a in arrays]
        raise InvalidValueError(f"data must be arrays of one length, got lengths {lengths}")

    def query(t: Index, x: Array) -> tuple[Number, Array]:
        xp = np if namespace(x) is np else jax.numpy
        return query_jax(loss, x, *(xp.asarray(a)[t] for a in arrays))

    return FromFunctions(
        value_of=lambda t, x: query(t, x)[0],
        gradient_of=lambda t, x: query(t, x)[1],
        horizon=len(arrays[0]),
        dimension=dimension,
        bound=bound,
    )


class Adversarial(_SharedCosts, kw_only=False):
    r"""Linear costs whose slope depends on the action played: :math:`c_t = r(t, x_t)`.

    The strongest opponent the theorems allow. In hindsight the stream is the linear one it
    turned into, :meth:`realise`, so regret needs every action of the game.

    Args:
        rule: :math:`r`, from a round (from 0) and the action or actions to the slope or slopes.
        horizon: number of rounds.
        dimension: length of an action.
        bound: upper bound on the norm of a slope, if you have one.
        first: the round, in the rule's count, at which this stream starts.
    """

    rule: Callable[[Index, Array], Array] = function()

    def value(self, t: Index, x: Array) -> Number:
        r"""Return :math:`r(t, x)^\top x`."""
        return dot(x, self.gradient(t, x))

    def gradient(self, t: Index, x: Array) -> Array:
        r"""Return :math:`r(t, x)`."""
        return self.rule(self.first + t, x)

    def realise(self, actions: Array) -> Linear:
        """Return the linear costs of the given actions, ``(T, d)`` or ``(T, B, d)``."""
        return Linear(np.stack([self.gradient(t, x) for t, x in enumerate(actions)]))


@final
class FromChunks(_StatedCosts, kw_only=False):
    """Costs from a function that returns a few rounds at a time.

    Only the present rounds are in memory, so it does not grow with the horizon.

    Args:
        chunk_of: from a first round (from 0) and the one after the last to their stream, held as
            arrays (``Quadratic``, ``Logistic``, ...). Engines ask in order; regret asks again.
        horizon: number of rounds.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you have one.
        runs: how many runs with different costs; None if all runs share them.

    Example:
        >>> from surefoot.problems.costs import Linear
        >>> prices = np.arange(20.0).reshape(10, 2)  # or np.load(..., mmap_mode="r")
        >>> costs = FromChunks(lambda a, b: Linear(prices[a:b]), horizon=10, dimension=2)
        >>> costs.gradient(3, np.zeros(2))
        array([6., 7.])
    """

    chunk_of: Callable[[int, int], ArrayCosts] = function()
    runs: int | None = count(default=None)

    def rounds(self, start: int, stop: int) -> ArrayCosts:
        """Return the rounds from start to stop - 1."""
        chunk = self.chunk_of(start, stop)
        if not isinstance(chunk, ArrayCosts):
            raise invalid("chunk_of", "a function that returns costs", chunk)
        sizes = chunk.horizon, chunk.dimension, chunk.runs
        if sizes != (stop - start, self.dimension, self.runs):
            raise InvalidValueError(
                f"chunk_of({start}, {stop}) must have {stop - start} rounds, dimension "
                f"{self.dimension} and runs {self.runs}, got {sizes[0]}, {sizes[1]} and {sizes[2]}"
            )
        return chunk

    def value(self, t: int, x: Array) -> Number:
        """Return the cost of round t at x."""
        return self.rounds(t, t + 1).value(0, x)

    def gradient(self, t: int, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""
        return self.rounds(t, t + 1).gradient(0, x)

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, chunk by chunk."""
        edges = [*range(0, self.horizon, 4096), self.horizon]
        parts = [self.rounds(*ends).sum_at(x) for ends in pairwise(edges)]
        return sum(value for value, _ in parts), np.sum([slope for _, slope in parts], axis=0)

    def run(self, index: Index) -> FromChunks:
        """Return the stream itself if all runs share it, else that of one run."""
        if self.runs is None:
            return self
        return replace(self, chunk_of=lambda a, b: self.chunk_of(a, b).run(index), runs=None)
