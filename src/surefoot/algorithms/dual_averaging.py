"""Dual averaging (RFTL): the projection of all gradients together, and its regret."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self, final

from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import FixedStep, Projecting
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Region, Source

__all__ = ["DualAveraging", "DualAveragingTheorem"]


class DualAveragingState(NamedTuple):
    """The action to play, the first one, and the sum of the gradients."""

    x: Array
    start: Array
    gradients: Array


class DualAveraging(Projecting[DualAveragingState]):
    r"""Dual averaging: the projection of all gradients together, not of the last action.

    .. math:: x_{t+1} = \Pi_X\Big(x_1 - \eta \sum_{s \le t} \nabla f_s(x_s)\Big)

    On the whole space it is online gradient descent.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = DualAveraging(eta=0.1, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = DualAveragingState(np.array([0.2, 0.5]), np.zeros(2), np.array([-2.0, -9.0]))
        >>> player.update(state, Feedback(np.array([-1.0, 5.0]), None, None)).x
        array([0.3, 0.4])

    Reference: Shalev-Shwartz and Singer, Machine Learning 2007.
    """

    state = DualAveragingState
    source = Source("Shalev-Shwartz and Singer, Machine Learning 2007")

    def first_state(self, x1: Array) -> DualAveragingState:
        return DualAveragingState(x1, x1, 0.0 * x1)

    def next_state(self, state: DualAveragingState, grad: Array) -> DualAveragingState:
        gradients = state.gradients + grad
        x = self.domain.project(state.start - self.eta * gradients)
        return DualAveragingState(x, state.start, gradients)

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        r"""Tune with the fixed step :math:`D/(G_f\sqrt T)`."""
        theorem = DualAveragingTheorem(constants, horizon, bounded_diameter(domain))
        return Tuned.of(cls, theorem, domain)


@final
class DualAveragingTheorem(FixedStep):
    r"""Dual averaging, :math:`x_{t+1} = \Pi_X(x_1 - \eta\sum_{s\le t}\nabla_s)`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2 G_f^2 t,
              \qquad \eta = \frac{D}{G_f\sqrt T}

    Proof: :math:`x_{t+1}` minimises :math:`\eta\langle\sum\nabla, x\rangle + \tfrac12\|x-x_1\|^2`,
    which is 1-strongly convex; being the leader costs at most :math:`\tfrac12\|u-x_1\|^2/\eta`,
    and not yet knowing :math:`\nabla_t` at most
    :math:`\langle\nabla_t, x_t-x_{t+1}\rangle - \tfrac1{2\eta}\|x_t-x_{t+1}\|^2
    \le \tfrac\eta2\|\nabla_t\|^2`.
    """

    name: ClassVar[str] = "Dual averaging (Shalev-Shwartz and Singer 2007)"
