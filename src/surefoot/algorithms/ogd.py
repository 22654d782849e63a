"""Online gradient descent with full projection (OGD)."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._projecting import Projecting
from surefoot.algorithms._start import bounded_diameter
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.types import Array, Region, Source
from surefoot.theory import Tuned, Zinkevich

__all__ = ["OGD", "OGDState"]


class OGDState(NamedTuple):
    """What the next round needs: the action to play, and nothing else."""

    x: Array


class OGD(Projecting[OGDState]):
    r"""Online gradient descent with full projection.

    .. math:: x_{t+1} = \Pi_X(x_t - \eta \nabla f_t(x_t))

    It must know the feasible set X and project onto it, and ignores the constraint's feedback:
    the baseline that pays for feasibility with one projection per round.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = OGD(eta=0.1, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x
        array([0.1, 0.5])

    Reference: Zinkevich, ICML 2003.
    """

    state = OGDState
    source = Source("Zinkevich, ICML 2003")

    def next_state(self, state: OGDState, grad: Array) -> OGDState:
        return OGDState(self.domain.project(state.x - self.eta * grad))

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Region) -> Tuned[Self]:
        r"""Tune with the fixed step :math:`D/(G_f\sqrt T)`, D the diameter of the feasible set."""
        theorem = Zinkevich(constants, horizon, bounded_diameter(domain))
        return Tuned.of(cls, theorem, domain, "eta")
