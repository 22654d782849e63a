r"""Costs that depend on the action through one score: :math:`f_t(x) = \phi(a_t^\top x, y_t)`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, final

import numpy as np

from surefoot.core.arrays import convert_like, dot, namespace
from surefoot.core.types import Array, Number
from surefoot.problems.costs._stream import ArrayCosts

__all__ = ["ScoredCosts"]


class ScoredCosts(ArrayCosts, kw_only=False):
    r"""Costs :math:`\phi(a_t^\top x, y_t)` from features :math:`a_t` and a target :math:`y_t`.

    A new one gives :math:`\phi` and its derivative in the score; both see Python floats in a
    live loop and arrays elsewhere.
    """

    series = ("features", "targets")

    features: Array
    targets: Array

    @abstractmethod
    def loss(self, score: Number, target: Number) -> Number:
        r"""Return :math:`\phi` of the score."""

    @abstractmethod
    def slope(self, score: Number, target: Number) -> Number:
        r"""Return a (sub)derivative of :math:`\phi` in the score."""

    @property
    def strong_convexity(self) -> float:
        """Zero: the losses are linear, or nearly so, far out."""
        return 0.0

    @final
    def longest(self) -> float:
        r"""Return the longest features, :math:`\max_t \|a_t\|`."""
        return float(np.linalg.norm(self.features, axis=-1).max())

    @final
    def value(self, t: Any, x: Array) -> Number:
        """Return the loss of round t at x."""
        features, target = self._round(t, x)
        return self.loss(dot(x, features), target)

    @final
    def gradient(self, t: Any, x: Array) -> Array:
        """Return the slope of the loss times the features."""
        features, target = self._round(t, x)
        return self.slope(dot(x, features), target) * features

    @final
    def summed(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, and a subgradient of it."""
        scores = self.features @ x
        value = float(np.sum(self.loss(scores, self.targets)))
        return value, self.slope(scores, self.targets) @ self.features

    def _round(self, t: Any, x: Array) -> tuple[Array, Number]:
        """Return features and target of a round in the shapes that match x."""
        features, target = convert_like(self.features[t], x), convert_like(self.targets[t], x)
        if type(x) is np.ndarray and x.ndim == 1:
            return features, float(target)
        if x.ndim == 1:
            return features, namespace(x).asarray(target)
        if features.ndim == 1:  # one stream for all runs
            return features + 0.0 * x, target + 0.0 * x[:, :1]
        return features, target[:, None]
