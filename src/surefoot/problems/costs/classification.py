"""Costs of telling two classes apart: logistic and hinge loss."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from surefoot.core.arrays import exp, log1p, maximum, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Number
from surefoot.problems.costs.scored import ScoredCosts
from surefoot.sets import Ball

__all__ = ["Hinge", "Logistic"]


class _Classified(ScoredCosts, kw_only=False):
    """Costs of features with classes of -1 and 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_classes(self.targets)


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

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the longest features, :math:`\max_t \|a_t\|`."""
        return self.longest()


def _check_classes(targets: Any) -> None:
    if type(targets) is np.ndarray and not (np.abs(targets) == 1).all():
        bad = targets[np.abs(targets) != 1].flat[0]
        raise InvalidValueError(f"targets must be classes, -1 or 1, got {bad!r}")
