"""River: linear models for streams whose weights satisfy a constraint after every example.

Three lines::

    model = SafeLinearClassifier(radius=5.0)
    model.predict_proba_one(x)
    model.learn_one(x, y)

Features may appear at any time: a new one begins with the weight 0. A linear model is as good as
the scale of its features: put ``river.preprocessing.StandardScaler`` in front.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np

from surefoot.adapters._keeper import OnContradiction, all_or_nothing
from surefoot.adapters._linear import Weights, ball_of, logistic_slope, sigmoid
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, Certificate
from surefoot.rules import CertifiedDualAveraging

_river = need("river.base", "river", "surefoot.adapters.river")

__all__ = ["Limit", "SafeLinearClassifier", "SafeLinearRegressor"]

Numbers: TypeAlias = Mapping[Any, float]
Limit: TypeAlias = Callable[[Numbers], tuple[float, Numbers]]
"""From the weights of the features, and the intercept under None, to g and its slope by feature."""


class _SafeLinear:
    """What both models share: one round of the rule per example."""

    def __init__(
        self,
        radius: float = 10.0,
        constraint: Limit | None = None,
        beta: float = 0.0,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        self.radius = radius
        self.constraint = constraint
        self.beta = beta
        self.on_contradiction = on_contradiction
        betas = (1.0,) if constraint is None else (1.0, beta)  # that of the ball first
        rule = CertifiedDualAveraging.for_rows(betas, radius)
        self._places: dict[Hashable, int] = {None: 0}  # of the features, and of the intercept
        self._weights = Weights(rule, 1, on_contradiction)

    @property
    def weights(self) -> dict[Hashable, float]:
        """The weight of each feature that was learnt from, and of the intercept under None."""
        return dict(zip(self._places, self._weights.x.tolist(), strict=True))

    @property
    def certificate(self) -> Certificate | None:
        """Why the weights are feasible; its ``str`` is one sentence. None before an example."""
        return self._weights.certificate

    def _score(self, x: Numbers) -> float:
        return float(self._weights.x @ self._vector({None: 1.0, **x}))

    def _descend(self, slope: float, x: Numbers) -> None:
        """Play a round with the slope of the loss in the score; all or nothing."""
        with all_or_nothing(self, self._weights):
            names = dict.fromkeys([*self._places, *x])
            self._places = {name: place for place, name in enumerate(names)}
            self._weights.grow(len(names))
            with np.errstate(all="ignore"):  # the rule rejects what is too large
                gradient = slope * self._vector({None: 1.0, **x})
            self._weights.descend(gradient, *self._query())

    def _query(self) -> tuple[Array, Array]:
        """Return value and slope of the ball at the weights, and of the constraint if any."""
        w = self._weights.x
        g, s = ball_of(float(self.radius), len(w)).query_all(w)
        if self.constraint is None:
            return g, s
        answer: Array = self.constraint(self.weights)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise InvalidValueError(
                f"constraint must return g and its slope by feature, got {answer!r}"
            )
        value = _number("g of constraint", answer[0])
        slope = _numbers("slope of constraint", answer[1])
        for number in (answer[0], *answer[1].values()):
            checks.refuse_rounded(number, "constraint")
        return np.append(g, value), np.vstack([s, self._vector(slope)])

    def _vector(self, numbers: Numbers) -> Array:
        vector = np.zeros(len(self._places))
        for name, value in numbers.items():
            if name in self._places:
                vector[self._places[name]] = value
        return vector


def _numbers(name: str, values: Numbers) -> dict[Hashable, float]:
    """Return the numbers of features; reject other values."""
    if not isinstance(values, Mapping):
        raise InvalidValueError(f"{name} must have a number by feature, got {values!r}")
    return {feature: _number(f"{name}[{feature!r}]", value) for feature, value in values.items()}


def _number(name: str, value: float) -> float:
    value = int(value) if isinstance(value, bool) else value
    checks.finite(**{name: value})
    return float(value)


class SafeLinearClassifier(_SafeLinear, _river.Classifier):  # type: ignore[misc, name-defined]
    """Logistic regression for a stream, with weights that are feasible after every example.

    Args:
        radius: of a ball around 0 in which the weights are kept.
        constraint: your :data:`Limit`, strictly feasible if all weights are 0. A feature that did
            not occur yet has the weight 0.
        beta: its smoothness constant; 0 for a linear one.
        on_contradiction: what to do when an example shows that beta is too small: "warn" of the
            first one, or "raise" :class:`surefoot.guarantees.PremiseError` and reject each. The
            logger "surefoot" gets each.

    Example:
        >>> def fair(w):  # the weight of one feature, between -0.1 and 0.1
        ...     a = w.get("a", 0.0)
        ...     return a * a - 0.01, {"a": 2 * a}
        >>> model = SafeLinearClassifier(radius=5.0, constraint=fair, beta=2.0)
        >>> random = np.random.default_rng(0)
        >>> for a, b in random.normal(size=(200, 2)):
        ...     model.learn_one({"a": a, "b": b}, bool(a + b > 0))
        >>> abs(model.weights["a"]) <= 0.1, model.predict_one({"a": 0.1, "b": 2.0})
        (True, True)
        >>> print(model.certificate)
        round 200: g[...
    """

    def learn_one(self, x: Numbers, y: bool) -> None:
        """Learn from one example; y is true or false."""
        x = _numbers("x", x)
        self._descend(float(logistic_slope(self._score(x), 1.0 if y else -1.0)), x)

    def predict_proba_one(self, x: Numbers) -> dict[bool, float]:
        """Return the probabilities of both classes."""
        true = float(sigmoid(self._score(x)))
        return {False: 1.0 - true, True: true}

    @property
    def _multiclass(self) -> bool:
        return False


class SafeLinearRegressor(_SafeLinear, _river.Regressor):  # type: ignore[misc, name-defined]
    """Least squares for a stream, with weights that are feasible after every example.

    Arguments are those of :class:`SafeLinearClassifier`.

    Example:
        >>> model = SafeLinearRegressor(radius=1.0)
        >>> random = np.random.default_rng(0)
        >>> for a, b in random.normal(size=(500, 2)):
        ...     model.learn_one({"a": a, "b": b}, 3 * a + 4 * b)
        >>> {name: round(w, 1) + 0.0 for name, w in model.weights.items()}
        {None: -0.1, 'a': 0.6, 'b': 0.8}
    """

    def learn_one(self, x: Numbers, y: float) -> None:
        """Learn from one example."""
        x = _numbers("x", x)
        self._descend(self._score(x) - _number("y", y), x)

    def predict_one(self, x: Numbers) -> float:
        """Return the fitted value."""
        return self._score(x)
