"""What one would write by hand for one case, with nothing checked: the rivals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.types import Array


def must_agree(found: Any, wanted: Any) -> None:
    """Refuse a rival that does something else than the library."""
    if not np.allclose(found, wanted, rtol=1e-9, atol=1e-12):
        raise AssertionError("rival and library must do the same")


# --- one run -------------------------------------------------------------------------------------


def hand_step(
    x: Array, grad: Array, g: float, s: Array, eta: float, rho: float, radius: float
) -> Array:
    y = x - eta * grad
    v = g + s.dot(y - x) + rho
    if v > 0:
        n = s.dot(s)
        if n > 0:
            y = y - (v / n) * s
    n = y.dot(y)
    if n > radius * radius:
        y = y * (radius / math.sqrt(n))
    return y


class HandState(NamedTuple):
    """What :func:`hand_certified` carries of a state."""

    x: Array
    rounds: float
    slack: float
    rho: float
    drawn: Array
    left: float
    inverse_eta: float
    squares: float


def hand_certified(
    state: HandState,
    grad: Array,
    g: float,
    s: Array,
    start: Array,
    G_g: float,
    rho: float,
    R: float,
) -> HandState:
    """Take the default certified step: a tightening that falls, a step size that never rises."""
    x, t, slack, before, drawn, left, inverse, squares = state
    d, unit = len(x), 2.0**-53 * R
    noise = 16 * (d + 4) * unit * G_g
    error = 32 * (d + 8) * unit + noise / G_g
    if t == 0:
        slack = -(g + noise)
    tight = min(0.5 * slack, rho / math.sqrt(t + 1))
    over, normal = g + noise + tight, s.dot(s)
    if over <= 0:
        left = over / G_g
    else:
        gone, away = x - drawn, x - start
        A = 0.0
        if t:
            nearer = (before - tight) / G_g
            A = max(math.sqrt(gone.dot(gone)) + left + error - nearer, 0.0)
            A = min(A, over / (g + noise + slack) * math.sqrt(away.dot(away)))
        cut = max(g + tight - 2 * noise, 0.0) / math.sqrt(normal)
        left = math.sqrt(max(A - cut, 0.0) * (A + cut) + 4 * (d + 8) * 2.0**-53 * A * A)
    length = tight / G_g - left - error
    v = g + tight - noise
    drawn = _in_ball(x - (v / normal) * s if v > 0 else x, R)
    square = grad.dot(grad)
    squares += square
    size = math.sqrt(square)
    inverse = max(inverse, math.sqrt(squares) / (math.sqrt(2) * R))
    y = x
    if length > 0:
        inverse = max(inverse, size / length)
        y = x - (1 / inverse if inverse > 0 else 0.0) * grad
        v = g + s.dot(y - x) + tight - noise
        y = _in_ball(y - (v / normal) * s if v > 0 else y, R)
    return HandState(y, t + 1, slack, tight, drawn, left, inverse, squares)


def _in_ball(y: Array, R: float) -> Array:
    n = y.dot(y)
    return y * (R * (1 - (len(y) + 8) * 2.0**-53) / math.sqrt(n)) if n > R * R else y


def hand_query(A: Any, b: Array, x: Array) -> tuple[float, Array]:
    values = A @ x - b
    i = values.argmax()
    return values[i], A[i]


def hand_sparse_query(A: Any, b: Array, x: Array) -> tuple[float, Array]:
    values = A @ x - b
    i = values.argmax()
    return values[i], A[[i]].toarray()[0]


# --- many runs at once ---------------------------------------------------------------------------

Query: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""From actions ``(B, d)`` to g ``(B,)`` and subgradients ``(B, d)``."""


def hand_batch(
    x: Array, grad: Array, g: Array, s: Array, eta: Array, rho: Array, radius: float
) -> Array:
    y = x - eta * grad
    v = g + np.vecdot(s, y - x)[:, None] + rho
    n = np.vecdot(s, s)[:, None]
    p = y - np.maximum(v, 0.0) / np.where(n > 0, n, 1.0) * s
    n = np.vecdot(p, p)[:, None]
    return p * (radius / np.sqrt(np.maximum(n, radius * radius)))


def batched_cube(half: float, runs: int) -> Query:
    every = np.arange(runs)

    def query(x: Array) -> tuple[Array, Array]:
        size = abs(x)
        i = size.argmax(axis=1)
        s = np.zeros_like(x)
        s[every, i] = np.where(x[every, i] < 0, -1.0, 1.0)
        return size[every, i] - half, s

    return query


def batched_rows(A: Array, b: Array, runs: int) -> Query:
    every = np.arange(runs)

    def query(x: Array) -> tuple[Array, Array]:
        values = x @ A.T - b
        i = values.argmax(axis=1)
        return values[every, i], A[i]

    return query


def hand_batch_game(
    targets: Array, curvature: float, query: Query, eta: Array, rho: Array, radius: float
) -> tuple[Array, Array]:
    """Play all rounds of all runs; return total cost and largest g of each run."""
    rounds, runs, d = targets.shape
    x = np.zeros((runs, d))
    cost, values = np.empty((2, rounds, runs))
    for t in range(rounds):
        away = x - targets[t]
        cost[t] = 0.5 * curvature * np.vecdot(away, away)
        values[t], s = query(x)
        x = hand_batch(x, curvature * away, values[t][:, None], s, eta, rho, radius)
    return cost.sum(axis=0), values.max(axis=0)


# --- compiled by JAX -----------------------------------------------------------------------------


def hand_scan_game(jax: Any, keep: bool) -> Callable[..., tuple[Array, Array]]:
    """Play the same on the cube as one scan; with ``keep``, return every round's cost and g."""
    np_ = jax.numpy

    @partial(jax.jit, static_argnums=(1, 2, 5))
    def play(targets: Any, curvature: float, half: float, eta: Any, rho: Any, radius: float) -> Any:
        def step(carry: Any, target: Any) -> Any:
            x, total, worst = carry
            away = x - target
            cost = 0.5 * curvature * (away * away).sum(axis=-1)
            i = abs(x).argmax(axis=-1, keepdims=True)
            on = np_.arange(x.shape[-1]) == i
            s = np_.where(on, np_.where(x < 0, -1.0, 1.0), 0.0)
            g = abs(x).max(axis=-1) - half
            y = x - eta * (curvature * away)
            v = g[:, None] + (s * (y - x)).sum(axis=-1, keepdims=True) + rho
            p = y - np_.maximum(v, 0.0) * s  # of norm 1
            n = (p * p).sum(axis=-1, keepdims=True)
            p = p * (radius / np_.sqrt(np_.maximum(n, radius * radius)))
            if keep:
                return (p, total, worst), (cost, g)
            return (p, total + cost, np_.maximum(worst, g)), None

        runs, d = targets.shape[1:]
        carry = np_.zeros((runs, d)), np_.zeros(runs), np_.full(runs, -np_.inf)
        (_, total, worst), seen = jax.lax.scan(step, carry, targets)
        return seen if keep else (total, worst)

    def game(targets: Array, *numbers: Any) -> tuple[Array, Array]:
        with jax.enable_x64(True):
            cost, values = (np.asarray(part) for part in play(targets, *numbers))
        return (cost.sum(axis=0), values.max(axis=0)) if keep else (cost, values)

    return game
