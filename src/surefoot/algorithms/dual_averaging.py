"""Dual averaging (RFTL): the projection of all gradients together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot.algorithms._projecting import Projecting
from surefoot.algorithms._start import bounded_diameter, start_in
from surefoot.constants import Constants
from surefoot.theory import DualAveragingTheorem, Tuned
from surefoot.types import Array, Feedback, Region, Source

__all__ = ["DualAveraging", "DualAveragingState"]


class DualAveragingState(NamedTuple):
    """The action to play, the first one, and the sum of the gradients."""

    x: Array
    start: Array
    gradients: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class DualAveraging(Projecting):
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

    source: ClassVar[Source] = Source("Shalev-Shwartz and Singer, Machine Learning 2007")
    tunings: ClassVar[tuple[str, ...]] = ("fixed",)

    def init(self, x1: Array) -> DualAveragingState:
        """Start at x1, a point of X."""
        x1 = start_in(self.domain, x1)
        return DualAveragingState(x1, x1, 0.0 * x1)

    def update(self, state: DualAveragingState, feedback: Feedback) -> DualAveragingState:
        """Return the state after a round: the line of the docstring."""
        gradients = state.gradients + _check.cost_gradient(state.x, feedback)
        x = self.domain.project(state.start - self.eta * gradients)
        return DualAveragingState(x, state.start, gradients)

    @classmethod
    def fixed(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[DualAveraging]:
        r"""Tune with the fixed step :math:`D/(G_f\sqrt T)`."""
        theorem = DualAveragingTheorem(constants, horizon, bounded_diameter(domain))
        return Tuned.of(cls, theorem, domain, "eta")
