r"""Optax: a transformation around another, after whose updates a constraint certainly holds.

Three lines of a training loop::

    tx = keep_feasible(optax.adam(1e-2), SafetyFilter.default(known))
    updates, state = tx.update(grads, state, params, constraint_value=g, constraint_grad=s)
    params = optax.apply_updates(params, updates)

The value and the gradient are those at ``params``, of the same function in every step: an estimate
from a mini-batch is not g, unless the filter has a bound on its error (``value_error``).

A callback computes certificates in float64 by NumPy, whatever the precision of JAX. It works under
``jit`` and ``scan`` with every filter, and costs some tens of microseconds per step.

**The metric.** The certified point is the nearest to the update in the metric of the base, or the
run would come to rest at a wrong point (Theorem Metric of docs/hosts.md). The state of a
transformation has neither its rates nor its epsilon, so the base itself is asked: it is a pure
function, and :math:`-1/D` is the derivative of its next update with respect to the next gradient,
entry by entry, at a gradient of 0. For Adam with the second moment v that is :math:`\eta` times a
common factor over :math:`\sqrt{\beta_2\hat v} + \epsilon`; for momentum it is a multiple of
:math:`\eta`. So rates by parameter, schedules, Nesterov and decay need no words. An update that
does not answer entry by entry, as where a norm is divided by, needs ``metric``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from surefoot.adapters._keeper import (
    Alarm,
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
    from optax import (
        GradientTransformation,
        GradientTransformationExtraArgs,
        OptState,
        Params,
        Updates,
    )

_optax = need("optax", "optax", "surefoot.adapters.optax")
_jax = need("jax", "optax", "surefoot.adapters.optax")
_jnp = _jax.numpy

__all__ = ["KeepFeasibleState", "Metric", "keep_feasible"]

# apply_updates adds a rounded difference and rounds the sum: the difference is at most twice as
# long as a feasible point, the sum once, so three roundings of a number of that size.
_ROUNDINGS = 3
# The gradient at which the base is asked: its square is a normal number, and below every moment.
_SMALL = 1e-15

Metric: TypeAlias = "Callable[[OptState], Updates]"
"""A function of the base's state that returns D, a pytree like the parameters, or one number."""


class KeepFeasibleState(NamedTuple):
    """What the next step needs.

    Attributes:
        base: the state of the base.
        numbers: the halves of the float64 numbers of the filter's state, as integers.
    """

    base: OptState
    numbers: Array


def keep_feasible(
    base: GradientTransformation,
    filter: Certified,  # noqa: A002
    *,
    metric: Metric | None = None,
) -> GradientTransformationExtraArgs:
    """Return a transformation that takes the steps of another to certified points.

    The base is a whole chain: what came after the certified point would not be certified.
    ``update`` needs ``params`` and the extra arguments ``constraint_value`` and
    ``constraint_grad``, a pytree like the parameters. Both are in float64 unless the filter has an
    ``evaluation_error``, as it must without 64-bit mode. If rows are separate, the value has one
    entry per row, and each leaf of the gradient a first axis for the rows. Within
    ``optax.MultiSteps`` nothing changes.

    A value, a gradient or an update that is not finite is rejected. If the filter allows for drift
    and g went on changing meanwhile, call ``init`` again: a rejected step is no round for it.

    Args:
        base: the transformation that proposes the updates, such as ``optax.adam(0.1)``.
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`.
        metric: a function of the base's state after its update that returns D, a pytree like the
            parameters: what the base divides an estimated gradient by. It is only needed for a
            base that does not answer entry by entry; ``lambda state: 1.0`` is Euclid's metric.

    Example:
        >>> import jax, jax.numpy as jnp, optax
        >>> from surefoot import Constants, SafetyFilter
        >>> g = jax.jit(jax.value_and_grad(lambda w: jnp.sum(w**2) - 1.0))
        >>> known = Constants(R=1.0, G_g=2.0, start_slack=1.0, evaluation_error=1e-6)
        >>> tx = keep_feasible(optax.adam(0.1), SafetyFilter.default(known))
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
    if not isinstance(base, _optax.GradientTransformation):
        rule = "an optax transformation, as in keep_feasible(optax.adam(0.1), filter)"
        if isinstance(base, _optax.MultiSteps):
            rule += ", and MultiSteps around that"
        raise checks.invalid("base", rule, base)
    check_filter(filter)
    asked = _optax.with_extra_args_support(base)
    forms: dict[int, Keeper] = {}  # of states, by the number of parameters; no state itself

    def init(params: Params) -> KeepFeasibleState:
        x = _ravel(params)[0]
        forms[x.size] = Keeper(filter, _to_numpy(x))
        numbers = _jnp.asarray(_halve(forms[x.size].vector()))
        return KeepFeasibleState(base.init(params), numbers)

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
        updates, after = asked.update(updates, state.base, params, **others)
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
        if metric is None:
            answer = partial(asked.update, state=after, params=params, **others)
            D = 1.0 / _ravel(_find_response(lambda grads: answer(grads)[0], params))[0]
        else:
            D = _jnp.broadcast_to(_ravel(metric(after))[0], x.shape)
        call = partial(_step, form, length, np.dtype(x.dtype), metric is None)
        numbers, to = _jax.pure_callback(
            call, (state.numbers, x), state.numbers, x, way, g, s, D, vmap_method="sequential"
        )
        return back(to), KeepFeasibleState(after, numbers)

    return _optax.GradientTransformationExtraArgs(init, update)


def _find_response(update: Callable[[Updates], Updates], params: Params) -> Updates:
    """Return how far an update goes per unit of a small gradient, against it, entry by entry."""
    small = _jax.tree.map(lambda leaf: _jnp.full_like(leaf, _SMALL), params)
    ones = _jax.tree.map(_jnp.ones_like, params)
    change = _jax.jvp(update, (small,), (ones,))[1]
    return _jax.tree.map(_jnp.negative, change)


def _step(
    form: Keeper, length: float, kind: np.dtype, asked: bool, halves: Array, *parts: Array
) -> tuple[Array, Array]:
    """Return the numbers of the next step, and the way from x to what is certified."""
    x, way, g, s, D = (np.asarray(part, dtype=np.float64) for part in parts)
    names = ("params", "updates", "constraint_value", "constraint_grad")
    for name, part in zip(names, (x, way, g, s), strict=True):
        checks.refuse_unfinite(part, name)
    keeper = copy(form)
    keeper.load(np.ascontiguousarray(halves, dtype=np.uint32).view(np.float64))
    keeper.length, keeper.played = length, x
    keeper.offer(x + way, g, s, metric=_clean(D, way, keeper.alarm) if asked else D)
    return _halve(keeper.vector()), (keeper.state.x - x).astype(kind)


def _clean(D: Array, way: Array, alarm: Alarm) -> Array | None:
    """Return D where the base answered; an entry that does not move gives way as little as any."""
    known = np.isfinite(D) & (D > 0)
    if known.any():
        found = np.where(known, D, D[known].max())
        return found if found.min() < found.max() else None
    if way.any():
        alarm.advise(
            "the updates do not answer to a small gradient, so that they may be scaled by "
            "coordinate: pass metric=, or they may come to rest at a wrong point"
        )
    return None


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
