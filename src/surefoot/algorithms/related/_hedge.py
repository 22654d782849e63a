"""Exponential weights over experts, on linearised costs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from surefoot.core.algorithm import CostsOnly, S
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import check_parameters, positive
from surefoot.core.types import Array, Number, Real

__all__ = ["Mixing", "mixture", "reweighted"]


class Mixing(CostsOnly[S]):
    """A mixture of experts, whose state has an action, the experts' states and log-weights.

    Every expert is told the gradient at the mixture.
    """

    rate: Real = positive()

    @abstractmethod
    def _told(self, *seen: Any, **none: Any) -> Any:
        """Return an expert's state after a round, from the expert, its state and a gradient."""

    @property
    @abstractmethod
    def _experts(self) -> tuple[Any, ...]:
        """Return the rules that are mixed."""

    @abstractmethod
    def _inside(self, x: Array) -> Array:
        """Return the mixture as a point of the set, which rounding may have left."""

    @property
    def domain(self) -> Any:
        """The set that all experts stay in."""
        return self._experts[0].domain

    def _own(self, name: str, kind: type[Any]) -> None:
        """Check the fields, one of which is the experts."""
        check_parameters(self)
        experts = tuple(getattr(self, name))
        object.__setattr__(self, name, experts)
        if not experts or not all(isinstance(expert, kind) for expert in experts):
            raise InvalidValueError(f"{name} must be rules {kind.__name__}, got {experts!r}")

    def first_state(self, x1: Array) -> S:
        states = tuple(expert.init(x1) for expert in self._experts)
        first: S = self.state(x1, states, np.zeros((*x1.shape[:-1], len(states))))
        return first

    def next_state(self, state: Any, grad: Array) -> S:
        _, states, log_weights = state
        log_weights = reweighted(log_weights, grad, [own.x for own in states], self.rate)
        each = zip(self._experts, states, strict=True)
        states = tuple(self._told(expert, own, grad) for expert, own in each)
        x = mixture(log_weights, [own.x for own in states])
        after: S = self.state(self._inside(x), states, log_weights)
        return after


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
