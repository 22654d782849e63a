"""Optax: the last transformation of a chain, after which a constraint certainly holds.

Three lines of a training loop::

    tx = optax.chain(optax.adam(1e-2), keep_feasible(SafetyFilter.default(known)))
    updates, state = tx.update(grads, state, params, constraint_value=g, constraint_grad=s)
    params = optax.apply_updates(params, updates)

The value and the gradient are those at ``params``, of the same function in every step: an estimate
from a mini-batch is not g, unless the filter is told how far it can be off (``value_error``).

With 64-bit mode (``jax.enable_x64``) filters without a memory are compiled: ``SafetyFilter``, and
``RegionFilter`` with ``Curvature``. The others, and all of them where JAX has no float64, in which
certificates are computed, are called in NumPy: a callback does that, which works under ``jit`` and
costs some tens of microseconds per step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot.adapters._cast import cast_length, check_precision, larger
from surefoot.adapters._keeper import check_filter, packed, unpacked
from surefoot.core import checks
from surefoot.core.arrays import is_concrete
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, Feedback, Number
from surefoot.regions import Curvature, Errors, Reading

_optax = need("optax", "optax", "surefoot.adapters.optax")
_jax = need("jax", "optax", "surefoot.adapters.optax")
_jnp = _jax.numpy

__all__ = ["KeepFeasibleState", "keep_feasible", "projection_certified_ball"]

# apply_updates adds a rounded difference and rounds the sum: the difference is at most twice as
# long as a feasible point, the sum once, so three roundings of a number of that size.
_ROUNDINGS = 3


class KeepFeasibleState(NamedTuple):
    """What the next step needs.

    Attributes:
        filter: the filter's state; for a callback the halves of its float64 numbers, as integers.
        margin: what g is kept below 0 by, for the host's rounding; one per row if rows are apart.
    """

    filter: Any
    margin: Any


def keep_feasible(filter: Any) -> Any:  # noqa: A002
    """Return a transformation that moves updated parameters to a certified point.

    It must be the last of a chain: what comes after it is not certified. ``update`` needs
    ``params`` and the extra arguments ``constraint_value`` and ``constraint_grad``, a pytree like
    the parameters, both in float64 unless the filter has an ``evaluation_error``, as it must
    without 64-bit mode; where rows are apart the value has one entry per row, and each leaf of the
    gradient a first axis for the rows. Within ``optax.MultiSteps`` the chain is as it is without.

    A value, a gradient or an update that is not finite is refused by the callback. Compiled code
    cannot refuse: the parameters stay where they are in that step. A filter that
    allows for drift begins anew from the next reading then, and certifies nothing until it comes.

    Args:
        filter: that takes proposals, as :class:`surefoot.algorithms.SafetyFilter`.

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
    reach, rows = float(filter.knowledge.reach), filter.knowledge.row_count
    compiled = not filter.needs.numpy_only
    forms: dict[int, Any] = {}  # of states, by the number of parameters; no state itself

    def init(params: Any) -> KeepFeasibleState:
        x, _ = _raveled(params)
        margin = _jnp.zeros((rows,) if rows > 1 else ())
        if _is_wide() and compiled:
            return KeepFeasibleState(filter.init(x), margin)
        forms[x.size] = first = filter.init(_concrete(x))
        return KeepFeasibleState(_jnp.asarray(_halves(packed(first))), margin)

    def update(
        updates: Any,
        state: KeepFeasibleState,
        params: Any = None,
        *,
        constraint_value: Any = None,
        constraint_grad: Any = None,
        **others: Any,
    ) -> tuple[Any, KeepFeasibleState]:
        if params is None:
            raise InvalidValueError("update must be given params, got None")
        if constraint_value is None or constraint_grad is None:
            raise InvalidValueError(
                "update must be given constraint_value and constraint_grad, g and its gradient at "
                "params"
            )
        x, back = _raveled(params)
        way, _ = _raveled(updates)
        g = _jnp.asarray(constraint_value)
        s = _slopes(constraint_grad, g.ndim)
        check_precision(filter.errors, constraint_value=g, constraint_grad=s)
        length = cast_length(_coarsest(params), x.size, reach, _ROUNDINGS)
        if _is_wide() and compiled:
            after, margin, to = _step(filter, length, state, x, x + way, *_wide(g, s))
        else:
            form = forms[x.size] if x.size in forms else filter.init(_concrete(x))
            after, margin, to = _called(filter, form, length, state, x, way, g, s)
        return back(to), KeepFeasibleState(after, margin)

    return _optax.GradientTransformationExtraArgs(init, update)


def _step(
    safe: Any, length: float, state: KeepFeasibleState, x: Array, wanted: Array, g: Any, s: Array
) -> tuple[Any, Any, Array]:
    """Return the filter's state, the margin, and the way from x to what is certified."""
    needed = safe.knowledge.rise(s, length) + 0.0 * g
    margin = larger(state.margin, needed.reshape(state.margin.shape))
    after, _ = safe.step(state.filter, Feedback(None, g + margin, s, action=x, proposal=wanted))
    # Compiled code cannot refuse what is no number: nothing moves then. Under drift what was seen
    # before is older than the filter would think, so that it begins anew.
    held = safe.init(x) if safe.errors.drifts else state.filter
    known = _are_numbers(g, s, wanted)
    way = _jnp.where(known, after.x - x, 0.0)
    after, margin = _jax.tree.map(
        lambda new, old: _jnp.where(known, new, old), (after, margin), (held, state.margin)
    )
    return after, margin, way


def _called(
    safe: Any, form: Any, length: float, state: KeepFeasibleState, *seen: Array
) -> tuple[Any, Any, Array]:
    """Return the same by a callback to NumPy, whose numbers have 64 bits."""

    def call(halves: Any, margin: Any, *parts: Any) -> tuple[Any, Any, Any]:
        x, way, g, s = (np.asarray(part, dtype=np.float64) for part in parts)
        names = ("params", "updates", "constraint_value", "constraint_grad")
        for name, part in zip(names, (x, way, g, s), strict=True):
            checks.refuse_unfinite(part, name)
        before = KeepFeasibleState(unpacked(form, _whole(halves)), np.asarray(margin, np.float64))
        needed = np.asarray(safe.knowledge.rise(s, length)).reshape(before.margin.shape)
        # Rounded up to what JAX can carry: the next step must not find less.
        kept = np.nextafter(np.maximum(before.margin, needed).astype(kind), kind.type(np.inf))
        told = g + kept.astype(np.float64)
        told = told if told.ndim else float(told)
        seen = Feedback(None, told, s, action=x, proposal=x + way)
        after, _ = safe.step(before.filter, seen)
        return _halves(packed(after)), kept, (after.x - x).astype(kind)

    kind = np.dtype(state.margin.dtype)
    shapes = (
        _jax.ShapeDtypeStruct(state.filter.shape, np.uint32),
        _jax.ShapeDtypeStruct(state.margin.shape, kind),
        _jax.ShapeDtypeStruct(seen[0].shape, kind),
    )
    found: tuple[Any, Any, Array] = _jax.pure_callback(
        call, shapes, state.filter, state.margin, *seen, vmap_method="sequential"
    )
    return found


def projection_certified_ball(
    tree: Any,
    last: Any,
    value: Number,
    gradient: Any,
    beta: float,
    reach: float,
    evaluation_error: float | None = None,
) -> Any:
    r"""Project a pytree onto the ball that a bound on the curvature certifies.

    .. math:: \Pi\{y : g + s^\top(y - x) + \tfrac\beta2\|y - x\|^2 \le 0\},

    in the form of ``optax.projections``: apply it after ``optax.apply_updates``. Every point of
    the ball is feasible, rounding included (:mod:`surefoot.regions.curvature`). Where something is
    not finite, compiled code returns x, and the callback of 32-bit JAX raises.

    Args:
        tree: what is wanted.
        last: x, the parameters at which g was evaluated, which are feasible.
        value: g there.
        gradient: its gradient there, a pytree like the parameters.
        beta: a bound on the curvature of g on the feasible set.
        reach: the largest norm of a feasible point.
        evaluation_error: a bound on the error of the value, where it is more than the rounding of
            float64; numbers of float32, which are all that JAX has without 64-bit mode, need one.

    Example:
        >>> import jax.numpy as jnp
        >>> wanted, last, slope = jnp.array([0.0, 4.0]), jnp.zeros(2), jnp.array([0.0, 1.0])
        >>> projection_certified_ball(wanted, last, -0.5, slope, 1.0, 1.0, evaluation_error=1e-6)
        Array([0.        , 0.4142...], dtype=float32)
    """
    w, back = _raveled(tree)
    x, _ = _raveled(last)
    g, s = _jnp.asarray(value), _slopes(gradient, 0)
    length = cast_length(_coarsest(tree), x.size, reach)
    errors = Errors(evaluation=evaluation_error or 0.0)
    known = Curvature(beta=beta, reach=reach, errors=errors)
    check_precision(errors, value=g, gradient=s)
    if _is_wide():
        nearest = _nearest(known, length, w, x, *_wide(g, s))
        return back(_jnp.where(_are_numbers(g, s, w), nearest, x))

    def call(*parts: Any) -> Any:
        w, x, g, s = (np.asarray(part, dtype=np.float64) for part in parts)
        return _nearest(known, length, w, x, float(g), s).astype(np.float32)

    shape = _jax.ShapeDtypeStruct(x.shape, np.float32)
    return back(_jax.pure_callback(call, shape, w, x, g, s, vmap_method="sequential"))


def _nearest(known: Curvature, length: float, w: Array, x: Array, g: Any, s: Array) -> Array:
    """Return the certified point nearest to w, with the margin for rounding it once."""
    # Not the first round: x may have less slack than the margin, and then stays.
    memory = known.init(x)
    memory = memory._replace(rounds=memory.rounds + 1.0)
    reading = Reading(x, g + known.rise(s, length), s, known.errors)
    return known.region(known.observe(memory, reading), known.errors).nearest(w)


# --- arrays ---------------------------------------------------------------------------------------


def _is_wide() -> bool:
    return bool(_jax.config.jax_enable_x64)


def _are_numbers(*arrays: Array) -> Array:
    return _jnp.stack([_jnp.isfinite(array).all() for array in arrays]).all()


def _coarsest(tree: Any) -> Any:
    """Return the type of a pytree's numbers that rounds the most."""
    kinds = {leaf.dtype for leaf in _jax.tree.leaves(tree)}
    return max(kinds, key=lambda kind: float(_jnp.finfo(kind).eps))


def _wide(g: Any, s: Array) -> tuple[Any, Array]:
    return g.astype(_jnp.float64), s.astype(_jnp.float64)


def _raveled(tree: Any) -> tuple[Array, Any]:
    """Return a pytree as one vector, of 64 bits where there are such, and the way back."""
    flat, back = _jax.flatten_util.ravel_pytree(tree)
    kind = flat.dtype
    if not _is_wide():
        return flat, back

    return flat.astype(_jnp.float64), lambda values: back(values.astype(kind))


def _slopes(tree: Any, rows: int) -> Array:
    """Return the gradient as one vector, or as a matrix with a row per constraint."""

    def one(part: Any) -> Array:
        return _jax.flatten_util.ravel_pytree(part)[0]

    found: Array = _jax.vmap(one)(tree) if rows else one(tree)
    return found


def _concrete(x: Array) -> Array:
    if not is_concrete(x):
        raise InvalidValueError("init must be called outside of jit where a callback computes")
    return np.asarray(x, dtype=np.float64)


def _halves(numbers: Array) -> Array:
    """Return float64 numbers as pairs of 32-bit integers, which 32-bit JAX can carry."""
    return np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint32)


def _whole(halves: Any) -> Array:
    return np.ascontiguousarray(np.asarray(halves), dtype=np.uint32).view(np.float64)
