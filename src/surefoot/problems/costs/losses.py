r"""Costs that depend on the action through one score: :math:`f_t(x) = \phi(a_t^\top x, y_t)`.

Of predicting a number: absolute and quantile loss. Of telling classes apart: logistic and hinge.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import final

import numpy as np

from surefoot.core.arrays import convert_like, dot, exp, log1p, maximum, namespace, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import share
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.stream import ArrayCosts
from surefoot.sets import Ball

__all__ = ["Absolute", "Hinge", "Logistic", "Quantile", "ScoredCosts"]


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

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the longest features, :math:`\max_t \|a_t\|`: no slope is above 1."""
        return float(np.linalg.norm(self.features, axis=-1).max())

    @final
    def value(self, t: Index, x: Array) -> Number:
        """Return the loss of round t at x."""
        features, target = self._round(t, x)
        return self.loss(dot(x, features), target)

    @final
    def gradient(self, t: Index, x: Array) -> Array:
        """Return the slope of the loss times the features."""
        features, target = self._round(t, x)
        return self.slope(dot(x, features), target) * features

    @final
    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, and a subgradient of it."""
        scores = self.features @ x
        value = float(np.sum(self.loss(scores, self.targets)))
        return value, self.slope(scores, self.targets) @ self.features

    def _round(self, t: Index, x: Array) -> tuple[Array, Number]:
        """Return features and target of a round in the shapes that match x."""
        features, target = convert_like(self.features[t], x), convert_like(self.targets[t], x)
        if x.ndim == 1:
            one = float(target) if isinstance(x, np.ndarray) else namespace(x).asarray(target)
            return features, one
        if features.ndim == 1:  # one stream for all runs
            return features + 0.0 * x, target + 0.0 * x[:, :1]
        return features, target[:, None]


@final
class Absolute(ScoredCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = |a_t^\top x - y_t|`; at the kink the subgradient is 0.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: :math:`y_t`, ``(T,)`` or ``(T, B)``.

    Example:
        >>> costs = Absolute([[1.0, 2.0]], [4.0])
        >>> costs.value(0, np.array([1.0, 1.0])), costs.gradient(0, np.array([1.0, 1.0]))
        (1.0, array([-1., -2.]))
    """

    def loss(self, score: Number, target: Number) -> Number:
        """Return the distance between score and target."""
        return abs(score - target)

    def slope(self, score: Number, target: Number) -> Number:
        """Return the sign of the difference; 0 where it is 0."""
        return where(score > target, 1.0, where(score < target, -1.0, 0.0 * score))


@final
class Quantile(ScoredCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = \max(\tau(y_t - a_t^\top x), (1-\tau)(a_t^\top x - y_t))`.

    Predicting too little costs :math:`\tau` a unit, too much :math:`1-\tau`: the best prediction
    is the :math:`\tau`-quantile. At the kink the subgradient is 0.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: :math:`y_t`, ``(T,)`` or ``(T, B)``.
        level: :math:`\tau`, strictly between 0 and 1.

    Example:
        >>> costs = Quantile([[1.0]], [4.0], level=0.75)
        >>> costs.value(0, np.array([2.0])), costs.value(0, np.array([6.0]))
        (1.5, 0.5)
    """

    level: float = share()

    def loss(self, score: Number, target: Number) -> Number:
        """Return the larger of the two lines."""
        return maximum(self.level * (target - score), (1 - self.level) * (score - target))

    def slope(self, score: Number, target: Number) -> Number:
        """Return the slope of the larger line; 0 at the kink."""
        below = where(score < target, -self.level, 0.0 * score)
        return where(score > target, 1 - self.level, below)

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the slope of the steeper line times the longest features."""
        return max(self.level, 1 - self.level) * super().gradient_bound(domain)


class _Classified(ScoredCosts, kw_only=False):
    """Costs of features with classes of -1 and 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.targets, np.ndarray) and not (np.abs(self.targets) == 1).all():
            other = self.targets[np.abs(self.targets) != 1].flat[0]
            raise InvalidValueError(f"targets must be classes, -1 or 1, got {other!r}")


@final
class Logistic(_Classified, kw_only=False):
    r"""Costs :math:`f_t(x) = \log(1 + e^{-y_t a_t^\top x})`.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: the classes :math:`y_t`, each -1 or 1, ``(T,)`` or ``(T, B)``.

    Example:
        >>> costs = Logistic([[1.0, 2.0]], [-1.0])
        >>> costs.value(0, np.array([0.0, 0.0])), costs.gradient(0, np.array([0.0, 0.0]))
        (0.6931471805599453, array([0.5, 1. ]))
    """

    def loss(self, score: Number, target: Number) -> Number:
        """Return the loss, without overflow for margins of either sign."""
        margin = target * score
        return maximum(-margin, 0.0 * margin) + log1p(exp(-abs(margin)))

    def slope(self, score: Number, target: Number) -> Number:
        r"""Return :math:`-y/(1 + e^{m})`, m the margin, without overflow."""
        margin = target * score
        small = exp(-abs(margin))
        return -target * where(margin >= 0, small, 1.0 + 0.0 * small) / (1.0 + small)

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return :math:`\max_t \|a_t\|/(1 + e^{m_t})`, m_t the smallest margin on the ball."""
        lengths = np.linalg.norm(self.features, axis=-1)
        centre = 0.0 if domain.centre is None else self.targets * (self.features @ domain.centre)
        smallest = centre - float(domain.radius) * lengths
        return float((lengths / (1.0 + np.exp(np.minimum(smallest, 700.0)))).max())


@final
class Hinge(_Classified, kw_only=False):
    r"""Costs :math:`f_t(x) = [1 - y_t a_t^\top x]_+`; at the kink the subgradient is 0.

    Args:
        features: :math:`a_t`, ``(T, d)`` or ``(T, B, d)``.
        targets: the classes :math:`y_t`, each -1 or 1, ``(T,)`` or ``(T, B)``.

    Example:
        >>> costs = Hinge([[1.0, 2.0]], [-1.0])
        >>> costs.value(0, np.array([1.0, 1.0])), costs.gradient(0, np.array([1.0, 1.0]))
        (4.0, array([1., 2.]))
    """

    def loss(self, score: Number, target: Number) -> Number:
        """Return how much the margin falls short of 1."""
        lack = 1.0 - target * score
        return maximum(lack, 0.0 * lack)

    def slope(self, score: Number, target: Number) -> Number:
        """Return minus the class where the margin falls short of 1, else 0."""
        return where(target * score < 1.0, -target, 0.0 * target)
