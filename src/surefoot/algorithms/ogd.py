"""Online gradient descent with full projection (OGD), and its regret by Zinkevich."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self, final

from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import FixedStep, Projecting
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number, Region, Source

__all__ = ["OGD", "Zinkevich"]


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
        return Tuned.of(cls, Zinkevich(constants, horizon, bounded_diameter(domain)), domain)


@final
class Zinkevich(FixedStep):
    r"""Projected gradient descent with the fixed step :math:`\eta = D/(G_f\sqrt T)`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac{\eta}{2} G_f^2 t,

    which is :math:`D G_f \sqrt T` at t = T. Proof: projection does not increase distances to u, so
    :math:`2\eta\langle\nabla_t, x_t - u\rangle \le \|x_t - u\|^2 - \|x_{t+1} - u\|^2
    + \eta^2\|\nabla_t\|^2`; sum over the rounds.

    Example:
        >>> float(Zinkevich(Constants(R=1.0, G_f=3.0), 100, diameter=2.0).regret_bound(100))
        60.0
    """

    name: ClassVar[str] = "Zinkevich 2003, fixed step"

    def interval_bound(self, length: Number) -> Array:
        """Bound the regret over any interval: the same line, begun at any action."""
        return self.regret_bound(length)

    def dynamic_bound(self, t: Number, path: Number) -> Array:
        r"""Bound the regret against comparators whose path has a given length P.

        :math:`(D^2 + 2DP)/(2\eta) + (\eta/2)G_f^2t`: a move of the comparator changes the squared
        distance to it by at most 2D times the move.
        """
        return self.regret_bound(t) + self.diameter * path / self.eta
