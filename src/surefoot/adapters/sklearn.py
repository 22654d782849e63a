"""scikit-learn: linear models whose weights satisfy a constraint after every batch.

Three lines::

    model = SafeClassifier(constraint=Affine([slope, -slope], [0.02, 0.02]), radius=10.0)
    model.partial_fit(X, y, classes=[0, 1])
    model.coef_, model.certificate_

The constraint is on the weights and, as the last entry, the intercept. A linear model is as good as
the scale of its features: put a ``StandardScaler`` in front, as for ``SGDClassifier``. **The
constraint is then on the weights of scaled features**, which the estimator cannot see: state it in
their units, for a scaler that is fitted once and frozen (``sklearn.frozen.FrozenEstimator``). A
scaler that each fold of a cross-validation fits anew makes another limit of it in each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from surefoot.adapters._keeper import OnContradiction, all_or_nothing
from surefoot.adapters._linear import Weights, ball_of, logistic_slope, sigmoid
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.points import dimension_of
from surefoot.core.types import Array, ArrayLike, Player, needs_of
from surefoot.knowledge import Errors
from surefoot.problems.constraints import Constraint, max_of
from surefoot.rules import CertifiedDualAveraging, LeaderFollower
from surefoot.sets import Ball

if TYPE_CHECKING:
    from sklearn.utils import Tags

_base = need("sklearn.base", "sklearn", "surefoot.adapters.sklearn")
_validation = need("sklearn.utils.validation", "sklearn", "surefoot.adapters.sklearn")
_utils = need("sklearn.utils", "sklearn", "surefoot.adapters.sklearn")
_multiclass = need("sklearn.utils.multiclass", "sklearn", "surefoot.adapters.sklearn")

__all__ = ["Limit", "SafeClassifier", "SafeRegressor"]

Limit: TypeAlias = Constraint | Callable[[tuple[str, ...]], Constraint]
"""A constraint on the weights and the intercept; or a function of the names of the columns that
returns it, called when learning begins."""


class _SafeLinear(_base.BaseEstimator):  # type: ignore[misc, name-defined]
    """What both models share: one round of the rule per batch of rows."""

    def __init__(
        self,
        constraint: Limit | None = None,
        radius: float = 10.0,
        fit_intercept: bool = True,
        max_iter: int = 20,
        batch_size: int = 16,
        random_state: int | np.random.RandomState | None = None,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        self.constraint = constraint
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state
        self.on_contradiction = on_contradiction

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the beginning, ``max_iter`` times through the rows."""
        return self._learn(X, y, passes=int(self.max_iter))

    def _learn(
        self, X: ArrayLike, y: ArrayLike, passes: int = 0, classes: ArrayLike | None = None
    ) -> Self:
        """Go on with rows in their order, or begin and go through them several times, in any."""
        first = passes > 0 or not hasattr(self, "_weights")
        options = {"dtype": np.float64, "reset": first, "y_numeric": not _base.is_classifier(self)}
        with all_or_nothing(self):
            rows, labels = _validation.validate_data(self, X, y, **options)
            if not first:
                self._check_same()
            if first:
                self._begin(labels, classes)
                self.n_iter_ = passes
            self._weights: Weights = copy(self._weights)  # the one before stays as it is
            Z = np.column_stack([rows, np.ones(len(rows))]) if self.fit_intercept else rows
            targets = self._read_targets(labels)
            random = _utils.check_random_state(self.random_state)
            for _ in range(max(passes, 1)):
                order = random.permutation(len(Z)) if passes else np.arange(len(Z))
                self._play(Z[order], targets[order])
            w = self._weights.x
            bias = float(w[-1]) if self.fit_intercept else 0.0
            self._show(w[:-1] if self.fit_intercept else w, bias)
            self.certificate_ = self._weights.certificate
            self.constraint_value_ = float(self._limit.value(w))
        return self

    def _begin(self, y: Array, classes: ArrayLike | None) -> None:
        size = self.n_features_in_ + bool(self.fit_intercept)
        constraint = self.constraint
        if not isinstance(constraint, Constraint) and callable(constraint):
            constraint = self._ask(constraint)
        rule, self._limit = make_rule(constraint, size, float(self.radius))
        self._begun_with = self._settings
        self._weights = Weights(rule, size, self.on_contradiction)

    @property
    def _settings(self) -> dict[str, Any]:
        """What the weights so far are feasible for."""
        names = ("constraint", "radius", "fit_intercept")
        return {name: getattr(self, name) for name in names}

    def _check_same(self) -> None:
        """Raise if the limit was changed after learning had begun."""
        for name, now in self._settings.items():
            before = self._begun_with[name]
            if not (now is before or (name != "constraint" and now == before)):
                raise InvalidValueError(
                    f"{name} must be what it was when learning began, {checks.repr_line(before)}: "
                    f"call fit to begin again, got {checks.repr_line(now)}"
                )

    def _ask(self, limit: Callable[[tuple[str, ...]], Constraint]) -> Constraint:
        """Return the constraint that a function makes of the names of the columns."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise InvalidValueError(
                "X must have names of columns, as a DataFrame, where constraint is a function of "
                "them, got an array"
            )
        answer = checks.call_yours(
            lambda: limit(tuple(str(name) for name in names)),
            "constraint must return a constraint for the names of the columns",
        )
        if not isinstance(answer, Constraint):
            rule = "a function that returns one of surefoot.problems.constraints"
            raise checks.invalid("constraint", rule, answer)
        return answer

    def _play(self, Z: Array, targets: Array) -> None:
        """Play one round per batch of rows, in order."""
        size, separately = int(self.batch_size), needs_of(self._weights.rule).separately
        for first in range(0, len(Z), size):
            rows, y, w = Z[first : first + size], targets[first : first + size], self._weights.x
            reading = self._limit.query_all(w) if separately else self._limit.query(w)
            self._weights.descend(self._slope(rows @ w, y) @ rows / len(rows), *reading)

    def _score(self, X: ArrayLike) -> Array:
        _validation.check_is_fitted(self)
        rows = _validation.validate_data(self, X, reset=False, dtype=np.float64)
        return rows @ np.ravel(self.coef_) + self.intercept_


def make_rule(constraint: Constraint | None, size: int, radius: float) -> tuple[Player, Constraint]:
    """Return a rule for weights in a ball under a constraint, and both as one constraint.

    By the smoothness constant of the constraint if it has one, else by its slope.
    """
    if constraint is not None and not isinstance(constraint, Constraint):
        raise checks.invalid(
            "constraint",
            "one of surefoot.problems.constraints, or a function of names that returns one",
            constraint,
        )
    dimension = dimension_of(constraint)
    if dimension not in (None, size):
        raise InvalidValueError(
            f"constraint.dimension must be {size}, one per weight, got {dimension}"
        )
    ball, domain = ball_of(radius, size), Ball(radius, np.zeros(size))
    limit = ball if constraint is None else max_of(constraint, ball)
    betas, error = limit.row_curvatures(domain), limit.evaluation_error(domain)
    if betas.max() < math.inf:
        # Each row with its smoothness constant; constants have only the largest one.
        errors = Errors(evaluation=error or 0.0)
        return CertifiedDualAveraging.for_rows(betas, radius).allowing(errors), limit
    constants = limit.constants(domain, np.zeros(size))
    constants = constants.with_origin("derived", rows=limit.rows, evaluation_error=error)
    return LeaderFollower.default(constants, domain=domain).algorithm, limit


class SafeClassifier(_base.ClassifierMixin, _SafeLinear):  # type: ignore[misc, name-defined]
    """Logistic regression for two classes with weights that are feasible after every batch.

    Args:
        constraint: of :mod:`surefoot.problems.constraints`, on the weights and, last, the
            intercept; 0 must be strictly feasible. Or a :data:`Limit`, a function of the names of
            the columns. It must stay the same while ``partial_fit`` goes on.
        radius: of a ball around 0 in which the weights are kept as well.
        fit_intercept: whether there is an intercept.
        max_iter: how often ``fit`` goes through the rows.
        batch_size: rows per round.
        random_state: for the order of the rows in ``fit``.
        on_contradiction: what to do when a round contradicts the constants of the constraint:
            "warn" of the first one, or "raise" :class:`surefoot.guarantees.PremiseError`. The
            logger "surefoot" gets each.

    Attributes:
        coef_: the weights, one row.
        intercept_: the intercept, one number.
        classes_: the two labels.
        certificate_: why the weights are feasible; its ``str`` is one sentence.
        constraint_value_: g at the weights, the ball included.

    Example:
        >>> from surefoot.problems.constraints import Affine
        >>> random = np.random.default_rng(0)
        >>> X = random.normal(size=(400, 2))
        >>> y = X[:, 0] + X[:, 1] > 0
        >>> limit = Affine([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [0.1, 0.1])  # hardly any first
        >>> model = SafeClassifier(constraint=limit).fit(X, y)
        >>> abs(model.coef_[0, 0]) <= 0.1, model.score(X, y) > 0.7
        (np.True_, True)
        >>> _ = model.partial_fit(X, y)
        >>> float(model.coef_[0, 0].round(2)), str(model.certificate_)
        (0.1, 'round 525: g[...')
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from these rows, once and in order; the first call needs the classes."""
        return self._learn(X, y, classes=classes)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the scores; above 0 is the second class."""
        return self._score(X)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of both classes."""
        second = sigmoid(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    def predict(self, X: ArrayLike) -> Array:
        """Return the likelier class of each row."""
        second = self.decision_function(X) > 0  # raises if nothing was fitted
        return self.classes_[second.astype(int)]

    def _begin(self, y: Array, classes: ArrayLike | None) -> None:
        _multiclass.check_classification_targets(y)
        labels = np.unique(y if classes is None else np.asarray(classes))
        if len(labels) != 2:
            several = f"{len(labels)} class{'es' * (len(labels) > 1)}"
            raise InvalidValueError(
                f"Only binary classification is supported: y must have two classes, got {several}"
            )
        self.classes_ = labels
        super()._begin(y, classes)

    def _read_targets(self, y: Array) -> Array:
        strangers = np.setdiff1d(y, self.classes_)
        if len(strangers):
            raise InvalidValueError(f"y must be of the classes {self.classes_}, got {strangers}")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _slope(self, score: Array, y: Array) -> Array:
        return logistic_slope(score, y)

    def _show(self, coef: Array, bias: float) -> None:
        self.coef_: Array = coef[None]
        self.intercept_: Array = np.array([bias])


class SafeRegressor(_base.RegressorMixin, _SafeLinear):  # type: ignore[misc, name-defined]
    """Least squares with weights that are feasible after every batch.

    Arguments and attributes are those of :class:`SafeClassifier`; ``coef_`` is a vector and
    ``intercept_`` a number.

    Example:
        >>> random = np.random.default_rng(0)
        >>> X = random.normal(size=(500, 2))
        >>> model = SafeRegressor(radius=1.0).fit(X, X @ np.array([3.0, 4.0]))
        >>> model.coef_.round(1), bool(np.linalg.norm(model.coef_) <= 1.0)
        (array([0.6, 0.8]), True)
    """

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from these rows, once and in order."""
        return self._learn(X, y)

    def predict(self, X: ArrayLike) -> Array:
        """Return the fitted values."""
        return self._score(X)

    def _read_targets(self, y: Array) -> Array:
        return np.asarray(y, dtype=np.float64)

    def _slope(self, score: Array, y: Array) -> Array:
        return score - y

    def _show(self, coef: Array, bias: float) -> None:
        self.coef_: Array = coef
        self.intercept_: float = bias
