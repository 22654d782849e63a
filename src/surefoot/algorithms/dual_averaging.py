"""Dual averaging (RFTL): Euclidean on any set, entropic on the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import exp, namespace
from surefoot.algorithms._start import bounded_diameter, check_domain, start_in
from surefoot.constants import Constants
from surefoot.errors import InvalidValueError
from surefoot.sets import Simplex
from surefoot.sets._points import clean
from surefoot.theory import DualAveragingTheorem, EntropicTheorem, Tuned
from surefoot.types import Array, Feedback, Needs, Number, Region

__all__ = [
    "DualAveraging",
    "DualAveragingState",
    "EntropicDualAveraging",
    "EntropicDualAveragingState",
]


class DualAveragingState(NamedTuple):
    """The action to play, the first one, and the sum of the gradients."""

    x: Array
    start: Array
    gradients: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class DualAveraging:
    r"""Dual averaging: the projection of all gradients together, not of the last action.

    .. math:: x_{t+1} = \Pi_X\Big(x_1 - \eta \sum_{s \le t} \nabla f_s(x_s)\Big)

    On the whole space it is online gradient descent.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> player = DualAveraging(eta=0.1, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = DualAveragingState(np.array([0.2, 0.5]), np.zeros(2), np.array([-2.0, -9.0]))
        >>> player.update(state, Feedback(np.array([-1.0, 5.0]), None, None)).x
        array([0.3, 0.4])

    Reference: Shalev-Shwartz and Singer, Machine Learning 2007.
    """

    needs: ClassVar[Needs] = Needs(
        constraint_values=0, constraint_subgradients=0, projections=1, domain="feasible"
    )
    tunings: ClassVar[tuple[str, ...]] = ("fixed",)

    eta: Number
    domain: Region

    def __post_init__(self) -> None:
        _check.positive(eta=self.eta)
        _check.plain(self, "eta")
        check_domain(self.domain)

    def init(self, x1: Array) -> DualAveragingState:
        """Start at x1, a point of X."""
        x1 = start_in(self.domain, x1)
        return DualAveragingState(x1, x1, 0.0 * x1)

    def update(self, state: DualAveragingState, feedback: Feedback) -> DualAveragingState:
        """One round: the line of the docstring."""
        gradients = state.gradients + _check.cost_gradient(state.x, feedback)
        x = self.domain.project(state.start - self.eta * gradients)
        return DualAveragingState(x, state.start, gradients)

    @classmethod
    def fixed(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[DualAveraging]:
        r"""The fixed step :math:`D/(G_f\sqrt T)`."""
        theorem = DualAveragingTheorem(constants, horizon, bounded_diameter(domain))
        return Tuned(cls(eta=theorem.eta, domain=domain), theorem)


class EntropicDualAveragingState(NamedTuple):
    """The action to play, and the sum of the gradients."""

    x: Array
    gradients: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropicDualAveraging:
    r"""Dual averaging with the entropy on a simplex: exponentiated gradients.

    .. math:: x_{t+1,i} \propto \exp\Big(-\eta \sum_{s \le t} \nabla_i f_s(x_s)\Big),
              \qquad \sum_i x_{t+1,i} = s

    The centre of the simplex is where no gradient would lead; the first action may be another.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the simplex.

    Example:
        >>> import numpy as np
        >>> player = EntropicDualAveraging(eta=1.0, domain=Simplex(2))
        >>> state = player.init(np.array([0.5, 0.5]))
        >>> player.update(state, Feedback(np.array([0.0, np.log(3.0)]), None, None)).x
        array([0.75, 0.25])

    Reference: Kivinen and Warmuth, Information and Computation 1997.
    """

    needs: ClassVar[Needs] = Needs(constraint_values=0, constraint_subgradients=0, domain="simplex")
    tunings: ClassVar[tuple[str, ...]] = ("fixed",)

    eta: Number
    domain: Simplex

    def __post_init__(self) -> None:
        _check.positive(eta=self.eta)
        _check.plain(self, "eta")
        if type(self.domain) is not Simplex or self.domain.filled:
            raise InvalidValueError(
                f"domain must be a Simplex that is not filled, got {self.domain!r}"
            )

    def init(self, x1: Array) -> EntropicDualAveragingState:
        """Start at x1, a point of the simplex."""
        x1 = start_in(self.domain, x1)
        return EntropicDualAveragingState(x1, 0.0 * x1)

    def update(
        self, state: EntropicDualAveragingState, feedback: Feedback
    ) -> EntropicDualAveragingState:
        """One round: the line of the docstring, without overflow."""
        gradients = state.gradients + _check.cost_gradient(state.x, feedback)
        gradients = clean(gradients, self.domain.dimension, "the sum of the gradients")
        xp = namespace(gradients)
        # The largest weight is made 1: a common factor that the total takes out again.
        best = xp.min(gradients, axis=-1, keepdims=True)
        weights = exp(-self.eta * (gradients - best))
        total = xp.sum(weights, axis=-1, keepdims=True)
        return EntropicDualAveragingState(self.domain.total * (weights / total), gradients)

    @classmethod
    def fixed(
        cls, constants: Constants, horizon: int, domain: Simplex
    ) -> Tuned[EntropicDualAveraging]:
        r"""The step :math:`\sqrt{2\ln d/T}/G_\infty`, with G_f for the largest entry."""
        if not isinstance(domain, Simplex):
            raise InvalidValueError(f"domain must be a Simplex, got a {type(domain).__name__}")
        theorem = EntropicTheorem(constants, horizon, domain.dimension, float(domain.total))
        return Tuned(cls(eta=theorem.eta, domain=domain), theorem)
