"""Dual averaging with the entropy on a simplex: exponentiated gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from surefoot.core.algorithm import CostsOnly, tuning
from surefoot.core.arrays import exp, namespace
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import anything, check_parameters, positive
from surefoot.core.points import clean
from surefoot.core.types import Array, Needs, Real, Source
from surefoot.sets import Simplex
from surefoot.theory import EntropicTheorem, Tuned

__all__ = ["EntropicDualAveraging", "EntropicDualAveragingState"]


class EntropicDualAveragingState(NamedTuple):
    """The action to play, and the sum of the gradients."""

    x: Array
    gradients: Array


class EntropicDualAveraging(CostsOnly[EntropicDualAveragingState]):
    r"""Dual averaging with the entropy on a simplex: exponentiated gradients.

    .. math:: x_{t+1,i} \propto \exp\Big(-\eta \sum_{s \le t} \nabla_i f_s(x_s)\Big),
              \qquad \sum_i x_{t+1,i} = s

    The centre of the simplex is where no gradient would lead; the first action may be another.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the simplex.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = EntropicDualAveraging(eta=1.0, domain=Simplex(2))
        >>> state = player.init(np.array([0.5, 0.5]))
        >>> player.update(state, Feedback(np.array([0.0, np.log(3.0)]), None, None)).x
        array([0.75, 0.25])

    Reference: Kivinen and Warmuth, Information and Computation 1997.
    """

    state = EntropicDualAveragingState
    needs = Needs(constraint_values=0, constraint_subgradients=0, domain="simplex")
    source = Source("Kivinen and Warmuth, Information and Computation 1997")

    eta: Real = positive()
    domain: Simplex = anything("a Simplex that is not filled")

    def __post_init__(self) -> None:
        check_parameters(self)
        domain: Any = self.domain
        if not isinstance(domain, Simplex) or domain.filled:
            raise InvalidValueError(f"domain must be a Simplex that is not filled, got {domain!r}")

    def first_state(self, x1: Array) -> EntropicDualAveragingState:
        return EntropicDualAveragingState(x1, 0.0 * x1)

    def next_state(
        self, state: EntropicDualAveragingState, grad: Array
    ) -> EntropicDualAveragingState:
        gradients = state.gradients + grad
        gradients = clean(gradients, self.domain.dimension, "the sum of the gradients")
        xp = namespace(gradients)
        # The largest weight is made 1: a common factor that the total takes out again.
        best = xp.min(gradients, axis=-1, keepdims=True)
        weights = exp(-self.eta * (gradients - best))
        total = xp.sum(weights, axis=-1, keepdims=True)
        return EntropicDualAveragingState(self.domain.total * (weights / total), gradients)

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Simplex) -> Tuned[Self]:
        r"""Tune with the step :math:`\sqrt{2\ln d/T}/G_\infty`, G_f bounding the largest entry."""
        if not isinstance(domain, Simplex):
            raise InvalidValueError(f"domain must be a Simplex, got a {type(domain).__name__}")
        theorem = EntropicTheorem(constants, horizon, domain.dimension, float(domain.total))
        return Tuned(cls(eta=theorem.eta, domain=domain), theorem)
