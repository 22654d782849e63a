"""Costs from a user's own functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_one_run, namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared, count, function, nonnegative, positive, rounds
from surefoot.core.types import Array, Index, Number
from surefoot.sets import Ball

__all__ = ["FromFunctions", "from_jax"]


@final
class FromFunctions(Declared):
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

    @property
    def runs(self) -> None:
        """None: every run meets the same functions."""
        return

    def value(self, t: Index, x: Array) -> Number:
        """Return the value of the given function."""
        return checks.to_number(self.value_of(self.first + t, x), x, "value_of(t, x)")

    def gradient(self, t: Index, x: Array) -> Array:
        """Return the gradient of the given function, as float64."""
        gradient = self.gradient_of(self.first + t, x)
        if type(x) is np.ndarray:
            return checks.to_array(gradient, "gradient_of(t, x)")
        return gradient

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, added one by one."""
        value, gradient = 0.0, np.zeros(self.dimension)
        for t in range(self.horizon):
            value += float(self.value(t, x))
            gradient = gradient + self.gradient(t, x)
        return value, gradient

    def gradient_bound(self, domain: Ball | None = None) -> float | None:
        """Return the bound given."""
        return self.bound

    def rounds(self, start: int, stop: int) -> FromFunctions:
        """Return the stream of the rounds from start to stop - 1."""
        # NumPy's integer, which a compiled scan takes as data: a Python int would be compiled in.
        return replace(self, horizon=stop - start, first=np.int64(self.first + start))

    def run(self, index: Index) -> FromFunctions:
        """Return the same functions: there are no streams to choose from."""
        return self


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
    one = {True: jax.jit(loss), False: jax.jit(jax.vmap(loss, in_axes=(0, *[None] * len(arrays))))}
    slope = jax.grad(loss)
    slopes = {
        True: jax.jit(slope),
        False: jax.jit(jax.vmap(slope, in_axes=(0, *[None] * len(arrays)))),
    }

    def call(functions: dict[bool, Callable[..., Array]], t: Index, x: Array) -> Array:
        with jax.enable_x64(True):
            if namespace(x) is np:
                return np.array(functions[is_one_run(x)](x, *(a[t] for a in arrays)))
            return functions[is_one_run(x)](x, *(jax.numpy.asarray(a)[t] for a in arrays))

    def value_of(t: Index, x: Array) -> Number:
        value = call(one, t, x)
        return value if is_one_run(x) else value[:, None]

    return FromFunctions(
        value_of=value_of,
        gradient_of=lambda t, x: call(slopes, t, x),
        horizon=len(arrays[0]),
        dimension=dimension,
        bound=bound,
    )
