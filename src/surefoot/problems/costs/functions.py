"""Costs that are asked for while they are played: functions, an adversary, a source of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Self, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot, is_one_run, namespace
from surefoot.core.checks import invalid
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared, count, function, nonnegative, positive, rounds
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.arrays import ArrayCosts, Costs, Linear
from surefoot.sets import Ball

__all__ = ["Adversarial", "FromFunctions", "Live", "from_jax"]


class _SharedCosts(Costs):
    """Costs by functions of the round, which every run meets."""

    bound: float | None
    first: int | np.int64
    runs: int | None = None

    def gradient_bound(self, domain: Ball | None = None) -> float | None:
        """Return the bound given."""
        return self.bound

    def rounds(self, start: int, stop: int) -> Self:
        """Return the stream of the rounds from start to stop - 1."""
        # NumPy's integer, which a compiled scan takes as data: a Python int would be compiled in.
        first = np.int64(self.first + start)
        return replace(self, horizon=stop - start, first=first)  # type: ignore[type-var]

    def run(self, index: Index) -> Self:
        """Return the same functions: there are no streams to choose from."""
        return self


@final
class FromFunctions(_SharedCosts, Declared):
    """Costs from your own two functions of a round and an action.

    Args:
        value_of: from a round (from 0) and an action to the cost, a number.
        gradient_of: from the same to one (sub)gradient.
        horizon: number of rounds.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you know one.
        strong_convexity: modulus of strong convexity of every cost, 0 for merely convex ones.

    The functions see one action ``(d,)`` in a live loop and ``(B, d)`` in a batch.

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
    horizon: int = rounds()
    dimension: int = count()
    bound: float | None = positive(default=None)
    strong_convexity: float = nonnegative(default=0.0)
    first: int | np.int64 = 0

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

    At a kink autodiff gives an average of slopes (0 for ``abs`` at 0), which is a subgradient of
    a maximum of convex functions all the same.

    Args:
        loss: from one action ``(d,)`` and one entry of each data array to a number.
        data: arrays with one entry a round.
        dimension: length of an action.
        bound: upper bound on the gradients' norm, if you know one.

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

    def by_axes(function: Callable[..., Array]) -> dict[int, Callable[..., Array]]:
        runs = jax.vmap(function, in_axes=(0, *[None] * len(arrays)))
        return {1: jax.jit(function), 2: jax.jit(runs)}

    values, slopes = by_axes(loss), by_axes(jax.grad(loss))

    def call(functions: dict[int, Callable[..., Array]], t: Index, x: Array) -> Array:
        xp = np if namespace(x) is np else jax.numpy
        with jax.enable_x64(True):
            return xp.array(functions[x.ndim](x, *(xp.asarray(a)[t] for a in arrays)))

    def value_of(t: Index, x: Array) -> Number:
        value = call(values, t, x)
        return value if is_one_run(x) else value[:, None]

    return FromFunctions(
        value_of=value_of,
        gradient_of=lambda t, x: call(slopes, t, x),
        horizon=len(arrays[0]),
        dimension=dimension,
        bound=bound,
    )


class Adversarial(_SharedCosts, Declared, kw_only=False):
    r"""Linear costs whose slope is chosen after the action is seen: :math:`c_t = r(t, x_t)`.

    The strongest opponent the theorems allow. In hindsight the stream is the linear one it
    turned into, :meth:`realise`, so regret needs every action of the game.

    Args:
        rule: :math:`r`, from a round (from 0) and the action or actions to the slope or slopes.
        horizon: number of rounds.
        dimension: length of an action.
        bound: the largest norm of a slope.
        first: the round, in the rule's count, at which this stream starts.
    """

    rule: Callable[[Index, Array], Array] = function()
    horizon: int = rounds()
    dimension: int = count()
    bound: float = positive()
    first: int | np.int64 = 0

    def value(self, t: Index, x: Array) -> Number:
        r"""Return :math:`r(t, x)^\top x`."""
        return dot(x, self.gradient(t, x))

    def gradient(self, t: Index, x: Array) -> Array:
        r"""Return :math:`r(t, x)`."""
        return self.rule(self.first + t, x)

    def realise(self, actions: Array) -> Linear:
        """Return the linear costs that the given actions, ``(T, d)`` or ``(T, B, d)``, met."""
        return Linear(np.stack([self.gradient(t, x) for t, x in enumerate(actions)]))


@final
class Live(Costs):
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
        self.horizon: int = checks.check_horizon(horizon)
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

    def run(self, index: Index) -> Live:
        """Return the stream itself if all runs share it, else that of one run."""
        source = self._source
        if self.runs is None:
            return self

        def chunks() -> Iterator[ArrayCosts]:
            return (chunk.run(index) for chunk in (source() if callable(source) else source))

        shape = {"horizon": self.horizon, "dimension": self.dimension}
        return Live(chunks if callable(source) else chunks(), **shape, bound=self._bound)
