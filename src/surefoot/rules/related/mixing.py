"""Exponential weights over experts, on linearised costs, and what the mixture costs."""

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import CostsOnly
from surefoot.core.parameters import Declared, anything, positive
from surefoot.core.types import Array, Number, Real, State
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import KnownHorizon


class MixtureState(NamedTuple):
    """The action to play, the states of the experts and the logarithms of their weights."""

    x: Array
    experts: tuple[State, ...]
    log_weights: Array


class Mixing(Declared, CostsOnly):
    """A mixture of experts; every expert receives the gradient at the mixture.

    Attributes:
        kind: the class of the experts.
    """

    state = MixtureState
    kind: ClassVar[type[Any]]

    experts: tuple[Any, ...] = anything("several rules")
    rate: Real = positive()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "experts", tuple(self.experts))
        if not self.experts or not all(isinstance(expert, self.kind) for expert in self.experts):
            raise checks.invalid("experts", f"rules {self.kind.__name__}", self.experts)

    @abstractmethod
    def _step_expert(self, expert: Any, own: State, gradient: Array) -> Any:
        """Return the state of an expert after a round."""

    @abstractmethod
    def _snap(self, x: Array) -> Array:
        """Return the mixture as a point of the set, which rounding may have left."""

    @property
    def domain(self) -> Any:
        """The set that all experts stay in."""
        return self.experts[0].domain

    def first_state(self, x1: Array) -> MixtureState:
        states = tuple(expert.init(x1) for expert in self.experts)
        return MixtureState(x1, states, np.zeros(len(states)))

    def next_state(self, state: MixtureState, grad: Array) -> MixtureState:
        _, states, log_weights = state
        losses = np.array([np.vecdot(grad, expert_state.x) for expert_state in states])
        log_weights = log_weights - self.rate * losses
        each = zip(self.experts, states, strict=True)
        states = tuple(
            self._step_expert(expert, expert_state, grad) for expert, expert_state in each
        )
        x = mix(log_weights, [expert_state.x for expert_state in states])
        return MixtureState(self._snap(x), states, log_weights)


def mix(log_weights: Array, points: list[Array]) -> Array:
    """Return the mean of the experts' points by their weights.

    Args:
        log_weights: ``(N,)``; any constant may be added.
        points: N points.

    Example:
        >>> mix(np.array([0.0, np.log(3.0)]), [np.array([0.0]), np.array([1.0])])
        array([0.75])
    """
    weights = np.exp(log_weights - log_weights.max())
    shares = weights / weights.sum()
    return np.vecdot(shares, np.stack(points, axis=-1))


class MixingTheorem(KnownHorizon):
    r"""What a mixture of N experts within a diameter D of each other loses to any one of them.

    .. math:: \frac{\ln N}{\text{rate}} + \frac{\text{rate}}8(G_fD)^2t, \qquad
        \text{rate} = \sqrt{8\ln N/T}/(G_fD).
    """

    @property
    @abstractmethod
    def experts(self) -> tuple[tuple[float, ...], ...]:
        """The parameters of each expert."""

    @property
    @abstractmethod
    def _D(self) -> float:
        """Return the largest distance between experts."""

    @abstractmethod
    def _expert_bounds(self, t: Number, path: Number) -> list[Array]:
        """Return a bound on the regret of each expert."""

    @property
    def rate(self) -> float:
        r"""The learning rate :math:`\sqrt{8\ln N/T}/(G_fD)`."""
        N = len(self.experts)
        return math.sqrt(8 * math.log(N) / self.horizon) / (self._G_f * self._D)

    def regret_bound(self, t: Number) -> Array:
        """Bound the regret against a fixed action, whose path has no length."""
        return self.dynamic_bound(t, 0.0)

    def dynamic_bound(self, t: Number, path: Number) -> Array:
        """Bound the regret against comparators whose path has a given length."""
        t = as_floats(t)
        best = np.min(self._expert_bounds(t, path), axis=0)
        mixing = math.log(len(self.experts)) / self.rate
        return best + mixing + self.rate / 8 * (self._G_f * self._D) ** 2 * t
