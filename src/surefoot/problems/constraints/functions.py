"""Constraints from a user's functions: a value and a subgradient, or one for JAX."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks, parameters
from surefoot.core.arrays import namespace
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared, function, nonnegative, positive
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, point
from surefoot.sets import Ball

__all__ = ["FunctionConstraint", "JaxConstraint"]

_PURPOSE = "a function by automatic differentiation"


class _StatedBounds(Constraint, Declared):
    """A constraint with the bounds that its user gives, and no known structure."""

    bound: float | None = positive(default=None)
    beta: float | None = nonnegative(default=None)
    error: float | None = nonnegative(default=None)

    def subgradient_bound(self, domain: Ball) -> float | None:
        """Return the bound given."""
        return self.bound

    def curvature(self, domain: Ball | None = None) -> float | None:
        """Return the bound given."""
        return self.beta

    def evaluation_error(self, domain: Ball) -> float | None:
        """Return the bound given."""
        return self.error


class FunctionConstraint(_StatedBounds, kw_only=False):
    r"""A constraint from your two functions.

    Args:
        value_of: from an action to g, a number.
        subgradient_of: from an action to one subgradient at the same point.
        bound: :math:`G_g`, an upper bound on the norm of your subgradients over the ball you
            will play in, if you have one; most guarantees need it.
        beta: a smoothness constant there, if you have one (``curvature``).
        error: an upper bound on the rounding of your functions there, if you have one
            (``evaluation_error``).

    The functions receive one action ``(d,)`` in a live loop and ``(B, d)`` in a batch.

    Example:
        >>> g = FunctionConstraint(lambda x: float(x @ x) - 1, lambda x: 2 * x, bound=2.0)
        >>> g.query(np.array([1.0, 1.0]))
        (1.0, array([2., 2.]))
    """

    value_of: Callable[[Array], Number] = function()
    subgradient_of: Callable[[Array], Array] = function()

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the value and subgradient of the given functions, as float64."""
        x = point(x, None)
        value, s = self.value_of(x), self.subgradient_of(x)
        number = checks.to_number(value, x, "value_of(x)")
        if not isinstance(x, np.ndarray):
            return number, s
        # Less than float64 is accepted only with a bound on the rounding.
        convert = checks.to_exact if self.error is None else checks.to_array
        convert(value, "value_of(x)")
        return number, convert(s, "subgradient_of(x)")


class JaxConstraint(_StatedBounds, kw_only=False):
    """A constraint from a convex function that JAX can differentiate.

    At a kink JAX gives one of the subgradients, or a mean of them: of entries that tie in a
    maximum, the mean of their gradients. So a subgradient of 0 is legal at the minimum of g. Check
    the function with :func:`surefoot.testing.check_constraint`.

    Args:
        function: from one action ``(d,)`` to g, a number, in ``jax.numpy``; a batch is mapped.
        bound: an upper bound on the norm of subgradients over the ball you will play in.
        beta: a smoothness constant there, if you have one (``curvature``).
        error: an upper bound on the rounding there, if you have one (``evaluation_error``).

    Example:
        >>> import jax.numpy as jnp
        >>> g = JaxConstraint(lambda x: jnp.max(jnp.abs(x)) - 1.0, bound=1.0)
        >>> g.query(np.array([0.5, -3.0]))
        (2.0, array([ 0., -1.]))
        >>> g.query(np.array([2.0, 2.0]))  # a tie: the mean of both gradients
        (1.0, array([0.5, 0.5]))
    """

    batches: ClassVar[bool] = True  # JAX maps the function over the runs of a batch

    function: Callable[[Array], Number] = parameters.function()

    def __post_init__(self) -> None:
        need("jax", "jax", _PURPOSE)
        super().__post_init__()

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the value and the derivative, compiled, in float64; JAX actions stay in JAX."""
        value, s = query_jax(self.function, x)
        if isinstance(value, float) and not np.isfinite(s).all():
            raise InvalidValueError(
                f"the derivative of function must be finite, got {s!r} at x = {x!r}: if it has "
                "none, as a root at 0, choose a subgradient with jax.numpy.where"
            )
        return value, s


def query_jax(function: Callable[..., Number], x: Array, *data: Array) -> tuple[Number, Array]:
    """Return the value of a function of an action and data, and its derivative in the action."""
    jax = need("jax", "jax", _PURPOSE)
    compiled = _differentiate(function, x.ndim > 1, len(data))
    if not isinstance(x, np.ndarray):
        if type(x).__module__.split(".")[0] not in ("jax", "jaxlib"):
            raise InvalidTypeError(
                f"a function of JAX must be given NumPy or JAX actions, got {type(x)!r}"
            )
        return compiled(x, *data)  # type: ignore[no-any-return]
    with jax.enable_x64(True):
        value, s = compiled(*map(jax.numpy.asarray, (x, *data)))
    return np.array(value) if x.ndim > 1 else float(value), np.array(s)


# Compiled code belongs to the function object, so it is cached between queries.
@lru_cache(maxsize=256)
def _differentiate(function: Callable[..., Number], batch: bool, data: int) -> Any:
    jax = need("jax", "jax", _PURPOSE)

    def one(x: Array, *rest: Array) -> Number:
        value = function(x, *rest)
        if shape := checks.shape_of(value):
            raise InvalidValueError(
                f"function(x) must be one number, got an array of shape {shape}"
            )
        return value

    query = jax.value_and_grad(one)
    if not batch:
        return jax.jit(query)

    def all_of(x: Array, *rest: Array) -> tuple[Array, Array]:
        value, s = jax.vmap(query, in_axes=(0, *[None] * data))(x, *rest)
        return namespace(value).reshape(value, (-1, 1)), s

    return jax.jit(all_of)
