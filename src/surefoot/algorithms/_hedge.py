"""Exponential weights over experts, on linearised costs."""

from __future__ import annotations

import numpy as np

from surefoot.types import Array, Number

__all__ = ["mixture", "reweighted"]


def mixture(log_weights: Array, points: list[Array]) -> Array:
    """Return the mean of the experts' points by their weights.

    Args:
        log_weights: ``(N,)``, or ``(B, N)`` for a batch; any constant may be added.
        points: N points.

    Example:
        >>> mixture(np.array([0.0, np.log(3.0)]), [np.array([0.0]), np.array([1.0])])
        array([0.75])
    """
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    shares = weights / weights.sum(axis=-1, keepdims=True)
    return np.vecdot(shares[..., None, :], np.stack(points, axis=-1))


def reweighted(log_weights: Array, gradient: Array, points: list[Array], rate: Number) -> Array:
    """Return the log-weights after a round: less for experts along the gradient."""
    losses = np.stack([np.vecdot(gradient, point) for point in points], axis=-1)
    return log_weights - rate * losses
