"""Optax: the last transformation of a chain, after which a constraint certainly holds.

Three lines of a training loop::

    tx = optax.chain(optax.adam(1e-2), keep_feasible(SafetyFilter.default(known)))
    updates, state = tx.update(grads, state, params, constraint_value=g, constraint_grad=s)
    params = optax.apply_updates(params, updates)

The value and the gradient are those at ``params``, of the same function in every step: an estimate
from a mini-batch is not g, unless the filter has a bound on its error (``value_error``).

A callback computes certificates in float64 by NumPy, whatever the precision of JAX. It works under
``jit`` and ``scan`` with every filter, and costs some tens of microseconds per step.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefoot.adapters._keeper import (
    Keeper,
    cast_length,
    check_filter,
    check_precision,
    check_rounded,
)
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.arrays import is_concrete
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array

if TYPE_CHECKING:
    from jax.typing import ArrayLike
    from optax import GradientTransformationExtraArgs, Params, Updates

_optax = need("optax", "optax", "surefoot.adapters.optax")
_jax = need("jax", "optax", "surefoot.adapters.optax")
_jnp = _jax.numpy

__all__ = ["KeepFeasibleState", "keep_feasible"]

# apply_updates adds a rounded difference and rounds the sum: the difference is at most twice as
# long as a feasible point, the sum once, so three roundings of a number of that size.
_ROUNDINGS = 3


class KeepFeasibleState(NamedTuple):
    """What the next step needs.

    Attributes:
        numbers: the halves of the float64 numbers of the filter's state, as integers.
    """

    numbers: Array


def keep_feasible(filter: Certified) -> GradientTransformationExtraArgs:  # noqa: A002
    """Return a transformation that moves updated parameters to a certified point.

    It must be the last of a chain: what comes after it is not certified. ``update`` needs
    ``params`` and the extra arguments ``constraint_value`` and ``constraint_grad``, a pytree like
    the parameters. Both are in float64 unless the filter has an ``evaluation_error``, as it must
    without 64-bit mode. If rows are separate, the value has one entry per row, and each leaf of
    the gradient a first axis for the rows. Within ``optax.MultiSteps`` nothing changes.

    A value, a gradient or an update that is not finite is rejected. If the filter allows for drift
    and g went on changing meanwhile, call ``init`` again: a rejected step is no round for it.

    Args:
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`.

    Example:
        >>> import jax, jax.numpy as jnp, optax
        >>> from surefoot import Constants, SafetyFilter
        >>> g = jax.jit(jax.value_and_grad(lambda w: jnp.sum(w**2) - 1.0))
        >>> known = Constants(R=1.0, G_g=2.0, start_slack=1.0, evaluation_error=1e-6)
        >>> tx = optax.chain(optax.adam(0.1), keep_feasible(SafetyFilter.default(known)))
        >>> w = jnp.zeros(2)
        >>> state = tx.init(w)
        >>> for _ in range(30):
        ...     value, slope = g(w)
        ...     updates, state = tx.update(
        ...         2 * (w - 3.0), state, w, constraint_value=value, constraint_grad=slope
        ...     )
        ...     w = optax.apply_updates(w, updates)
        >>> bool(0.6 < g(w)[0] + 1.0 <= 1.0)
        True
    """
    check_filter(filter)
    forms: dict[int, Keeper] = {}  # of states, by the number of parameters; no state itself

    def init(params: Params) -> KeepFeasibleState:
        x = _ravel(params)[0]
        forms[x.size] = Keeper(filter, _to_numpy(x))
        return KeepFeasibleState(_jnp.asarray(_halve(forms[x.size].vector())))

    def update(
        updates: Updates,
        state: KeepFeasibleState,
        params: Params | None = None,
        *,
        constraint_value: ArrayLike | None = None,
        constraint_grad: Updates | None = None,
        **others: object,
    ) -> tuple[Updates, KeepFeasibleState]:
        if params is None:
            raise InvalidValueError("update must be given params, got None")
        if constraint_value is None or constraint_grad is None:
            raise InvalidValueError(
                "update must be given constraint_value and constraint_grad, g and its gradient at "
                "params"
            )
        x, back = _ravel(params)
        way, g = _ravel(updates)[0], _jnp.asarray(constraint_value)
        flat = _jax.vmap(lambda part: _ravel(part)[0]) if g.ndim else lambda part: _ravel(part)[0]
        s = flat(constraint_grad)
        check_precision(filter.errors, constraint_value=g, constraint_grad=s)
        kinds = {leaf.dtype for leaf in _jax.tree.leaves(params)}
        coarsest = max(kinds, key=lambda kind: float(_jnp.finfo(kind).eps))
        length = cast_length(coarsest, x.size, float(filter.knowledge.reach), _ROUNDINGS)
        check_rounded(filter, coarsest)
        form = forms[x.size] if x.size in forms else Keeper(filter, _to_numpy(x))
        call = partial(_step, form, length, np.dtype(x.dtype))
        after, to = _jax.pure_callback(
            call, (*state, x), *state, x, way, g, s, vmap_method="sequential"
        )
        return back(to), KeepFeasibleState(after)

    return _optax.GradientTransformationExtraArgs(init, update)


def _step(
    form: Keeper, length: float, kind: np.dtype, halves: Array, *parts: Array
) -> tuple[Array, Array]:
    """Return the numbers of the next step, and the way from x to what is certified."""
    x, way, g, s = (np.asarray(part, dtype=np.float64) for part in parts)
    names = ("params", "updates", "constraint_value", "constraint_grad")
    for name, part in zip(names, (x, way, g, s), strict=True):
        checks.refuse_unfinite(part, name)
    keeper = copy(form)
    keeper.load(np.ascontiguousarray(halves, dtype=np.uint32).view(np.float64))
    keeper.length, keeper.played = length, x
    keeper.offer(x + way, g, s)
    return _halve(keeper.vector()), (keeper.state.x - x).astype(kind)


def _ravel(tree: Params) -> tuple[Array, Callable[[Array], Params]]:
    """Return a pytree as one vector, and the inverse function."""
    pair: tuple[Array, Callable[[Array], Params]] = _jax.flatten_util.ravel_pytree(tree)
    return pair


def _to_numpy(x: Array) -> Array:
    if not is_concrete(x):
        raise InvalidValueError("init must be called outside of jit")
    return np.asarray(x, dtype=np.float64)


def _halve(numbers: Array) -> Array:
    """Return float64 numbers as pairs of 32-bit integers, which 32-bit JAX can carry."""
    return np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint32)
