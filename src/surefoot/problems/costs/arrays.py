"""Costs stored as arrays: the axes are rounds, then runs, then entries of an action.

The losses of learning see the action through a score, the inner product with a round's features.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self, final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import convert_like, dot, exp, log, log1p, maximum, namespace, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, nonnegative, positive, replace_unchecked, share
from surefoot.core.points import subtract_centre
from surefoot.core.types import Array, Index, Number
from surefoot.sets import Ball

__all__ = [
    "Absolute",
    "ArrayCosts",
    "Costs",
    "Hinge",
    "Linear",
    "LogPortfolio",
    "Logistic",
    "Quadratic",
    "Quantile",
    "ScoredCosts",
]


class Costs(ABC):
    """Values and gradients of the costs of all rounds, and bounds on them."""

    @abstractmethod
    def value(self, t: Index, x: Array) -> Number:
        """Return the cost of round t at x."""

    @abstractmethod
    def gradient(self, t: Index, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""

    @property
    def strong_convexity(self) -> float:
        """The modulus of strong convexity of every cost; 0 for merely convex ones."""
        return 0.0

    def gradient_bound(self, domain: Ball) -> float | None:
        """Return the largest norm of a gradient over a ball; None if it is unbounded or unknown."""
        return None

    def value_bound(self, domain: Ball) -> float | None:
        """Return the largest absolute value over a ball; None if it is unknown."""
        return None


class ArrayCosts(Costs, Declared, kw_only=False):
    """Costs of all rounds, given by arrays with one entry per round.

    A new one names those arrays in ``series``, the one whose last axis is that of an action first,
    and implements the abstract methods. Its other fields are declared.
    """

    series: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Make the arrays read-only float64 of one shape.

        That is ``(T, d)``, or ``(T, B, d)`` for B runs with different costs; arrays with one
        number per round have no last axis.
        """
        super().__post_init__()
        shape: tuple[int, ...] | None = None
        for name in self.series:
            values = vars(self)[name]
            if checks.is_traced(values):
                return
            values = checks.to_array(values, name)
            if shape is None:
                if values.ndim not in (2, 3) or 0 in values.shape:
                    rule = "(T, d) or (T, B, d) with no empty axis"
                    raise checks.invalid(f"{name}.shape", rule, values.shape)
                shape = values.shape
            elif values.shape != shape[:-1]:
                raise InvalidValueError(f"{name}.shape must be {shape[:-1]}, got {values.shape}")
            if not np.isfinite(values).all():
                where = tuple(np.argwhere(~np.isfinite(values))[0])
                entry = f"{values[where].item()!r} in round {where[0] + 1}"
                raise InvalidValueError(f"{name} must be finite, got {entry}")
            # A view, not a copy: streams are large.
            values = values.view()
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @abstractmethod
    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return the cost of round t at x, and a (sub)gradient there."""

    @final
    def value(self, t: Index, x: Array) -> Number:
        """Return the cost of round t at x."""
        return self.query(t, x)[0]

    @final
    def gradient(self, t: Index, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""
        return self.query(t, x)[1]

    @final
    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum of all costs at one action and a subgradient, for a stream of one run."""
        with np.errstate(invalid="ignore", divide="ignore"):
            # All rounds at once, as if each were a run.
            values, slopes = self.query(slice(None), np.broadcast_to(x, self._leading.shape))
        return float(values.sum()), slopes.sum(axis=0)

    @property
    def _leading(self) -> Array:
        return vars(self)[self.series[0]]

    @property
    @final
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self._leading.shape[0])

    @property
    @final
    def runs(self) -> int | None:
        """The number of runs with different costs; None if all runs share them."""
        return int(self._leading.shape[1]) if self._leading.ndim == 3 else None

    @property
    @final
    def dimension(self) -> int:
        """The length of an action."""
        return int(self._leading.shape[-1])

    @final
    def rounds(self, start: int, stop: int) -> Self:
        """Return the stream of the rounds from start to stop - 1."""
        return replace_unchecked(self, **{n: vars(self)[n][start:stop] for n in self.series})

    @final
    def run(self, index: Index) -> Self:
        """Return the stream of one run, or of the runs of a slice or an array of indices."""
        if self.runs is None:
            return self
        return replace_unchecked(self, **{n: vars(self)[n][:, index] for n in self.series})


@final
class Linear(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = c_t^\top x`.

    Args:
        slopes: :math:`c_t`, ``(T, d)``, or ``(T, B, d)`` for B runs with different slopes.

    Example:
        >>> Linear([[1.0, -2.0]]).value(0, np.array([3.0, 1.0]))
        1.0
    """

    series: ClassVar[tuple[str, ...]] = ("slopes",)

    slopes: Array

    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        r"""Return :math:`c_t^\top x` and :math:`c_t`, repeated for each run."""
        c = convert_like(self.slopes[t], x)
        # A shared slope still has to be an array per run, so that feedback has one shape.
        return dot(x, c), c if c.ndim == x.ndim else c + 0.0 * x

    def value_bound(self, domain: Ball) -> float:
        r"""Bound the values over a ball by :math:`\max_t\|c_t\|` times its reach."""
        return self.gradient_bound(domain) * float(domain.reach_from_origin)

    def gradient_bound(self, domain: Ball | None = None) -> float:
        r"""Return the largest gradient norm, :math:`\max_t\|c_t\|`; the same on every ball."""
        return float(np.linalg.norm(self.slopes, axis=-1).max())


@final
class Quadratic(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = \tfrac{h}{2}\|x - v_t\|^2`.

    Args:
        targets: :math:`v_t`, ``(T, d)``, or ``(T, B, d)`` for B runs with different targets.
        curvature: :math:`h > 0`; also the modulus of strong convexity.

    Example:
        >>> costs = Quadratic([[1.0, 0.0], [0.0, 2.0]], curvature=6.0)
        >>> costs.value(1, np.array([0.0, 1.0])), costs.gradient(1, np.array([0.0, 1.0]))
        (3.0, array([ 0., -6.]))
    """

    series: ClassVar[tuple[str, ...]] = ("targets",)

    targets: Array
    curvature: Number = positive()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.curvature, np.ndarray):
            # Slicing by runs would leave a column as it is.
            raise InvalidValueError(
                f"curvature must be one number, got shape {self.curvature.shape}"
            )

    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        r"""Return :math:`\tfrac{h}{2}\|x - v_t\|^2` and :math:`h(x - v_t)`."""
        away = x - convert_like(self.targets[t], x)
        return 0.5 * self.curvature * dot(away, away), self.curvature * away

    def value_bound(self, domain: Ball) -> float:
        r"""Return the largest value on a ball, :math:`\tfrac h2(\max_t\|v_t - c\| + R)^2`."""
        return 0.5 * self.gradient_bound(domain) ** 2 / float(self.curvature)

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the largest gradient norm on a ball, :math:`h(\max_t\|v_t - c\| + R)`."""
        away = subtract_centre(self.targets, domain.centre)
        farthest = math.sqrt(np.vecdot(away, away).max())
        return float(self.curvature * (farthest + domain.radius))

    @property
    def strong_convexity(self) -> float:
        """The curvature h."""
        return float(self.curvature)


@final
class LogPortfolio(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = -\log(c + r_t^\top x)`: minus the growth of wealth in a round.

    Args:
        returns: :math:`r_t`, ``(T, d)`` or ``(T, B, d)``. With ``cash`` = 1 these are net returns
            and the rest is kept as cash (:math:`\sum x \le 1`, which leaves an interior);
            with ``cash`` = 0 they are price relatives and x is on the simplex.
        cash: :math:`c \ge 0`, the factor of uninvested wealth in a round.

    Example:
        >>> costs = LogPortfolio([[0.5, -0.25]])
        >>> costs.gradient(0, np.array([0.5, 0.0]))
        array([-0.4,  0.2])
    """

    series: ClassVar[tuple[str, ...]] = ("returns",)

    returns: Array
    cash: Number = nonnegative(default=1.0)

    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return minus the logarithm of the round's growth, and minus the returns divided by it."""
        r = convert_like(self.returns[t], x)
        growth = self.cash + dot(x, r if r.ndim == x.ndim else r + 0.0 * x)
        if isinstance(growth, float) and not growth > 0:
            raise InvalidValueError(
                f"wealth must stay above 0 for its logarithm, got a growth of {growth:g} "
                f"in round {t + 1}"
            )
        return -log(where(growth > 0, growth, 0.0 * growth)), -r / growth

    def gradient_bound(self, domain: Ball) -> float | None:
        r"""Return :math:`\max_t \|r_t\|/(c + \min_x r_t^\top x)` on the ball; None if infinite."""
        lengths = np.linalg.norm(self.returns, axis=-1)
        centre = 0.0 if domain.centre is None else self.returns @ domain.centre
        smallest = self.cash + centre - float(domain.radius) * lengths
        return float((lengths / smallest).max()) if (smallest > 0).all() else None


class ScoredCosts(ArrayCosts, kw_only=False):
    r"""Costs :math:`\phi(a_t^\top x, y_t)` from features :math:`a_t` and a target :math:`y_t`.

    A new one gives :math:`\phi` and its derivative in the score; both receive Python floats in a
    live loop and arrays elsewhere.
    """

    series: ClassVar[tuple[str, ...]] = ("features", "targets")

    features: Array
    targets: Array

    @abstractmethod
    def loss(self, score: Number, target: Number) -> Number:
        r"""Return :math:`\phi` of the score."""

    @abstractmethod
    def slope(self, score: Number, target: Number) -> Number:
        r"""Return a (sub)derivative of :math:`\phi` in the score."""

    def gradient_bound(self, domain: Ball) -> float:
        r"""Return the longest features, :math:`\max_t \|a_t\|`: no slope is above 1."""
        return float(np.linalg.norm(self.features, axis=-1).max())

    @final
    def query(self, t: Index, x: Array) -> tuple[Number, Array]:
        """Return the loss of round t at x, and the slope of the loss times the features."""
        features, target = convert_like(self.features[t], x), convert_like(self.targets[t], x)
        if x.ndim == 1:
            target = float(target) if isinstance(x, np.ndarray) else namespace(x).asarray(target)
        elif features.ndim == 1:  # one stream for all runs
            features, target = features + 0.0 * x, target + 0.0 * x[:, :1]
        else:
            target = target[:, None]
        score = dot(x, features)
        return self.loss(score, target), self.slope(score, target) * features


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
