"""Online gradient descent with full projection and the AdaGrad-norm step, and its regret."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.inside import Anytime, Projecting
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import dot, number_like, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, Number, Region, Source

__all__ = ["AdaGradNorm", "AdaGradOGD"]


class AdaGradOGDState(NamedTuple):
    """The action to play, and the sum of the squared norms of the gradients."""

    x: Array
    squares: Number = 0.0


class AdaGradOGD(Projecting[AdaGradOGDState]):
    r"""Online gradient descent with full projection and the AdaGrad-norm step.

    .. math::
        S_t &= S_{t-1} + \|\nabla f_t(x_t)\|^2 \\
        x_{t+1} &= \Pi_X(x_t - (\eta/\sqrt{S_t}) \nabla f_t(x_t))

    Before the first gradient that is not 0 nothing moves.

    Args:
        eta: :math:`\eta > 0`, a length.
        domain: the feasible set :math:`X`.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = AdaGradOGD(eta=0.5, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = player.init(np.array([0.0, 0.2]))
        >>> player.update(state, Feedback(np.array([-3.0, 4.0]), None, None)).x.round(12)
        array([ 0.3, -0.2])

    Reference: Streeter and McMahan, 2010 (the scalar form of AdaGrad).
    """

    state = AdaGradOGDState
    source = Source("Streeter and McMahan, 2010")

    def next_state(self, state: AdaGradOGDState, grad: Array) -> AdaGradOGDState:
        x = state.x
        squares = state.squares + dot(grad, grad)
        eta = self.eta / sqrt(where(squares > 0, squares, number_like(x, 1.0)))
        return AdaGradOGDState(self.domain.project(x - eta * grad), squares)

    @classmethod
    @tuning
    def adaptive(cls, constants: Constants, horizon: int | None, domain: Region) -> Tuned[Self]:
        r"""Tune with :math:`\eta = D/\sqrt2`; G_f and the horizon enter only the bound."""
        return Tuned.of(cls, AdaGradNorm(constants, bounded_diameter(domain)), domain)


@final
class AdaGradNorm(Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/\sqrt{2\sum_{s \le t}\|\nabla_s\|^2}`.

    .. math:: \mathrm{Reg}_t \le \sqrt2 D\sqrt{\textstyle\sum_{s \le t}\|\nabla_s\|^2}
              \le \sqrt2 D G_f\sqrt t

    No constant but D is used. Proof: Abel summation leaves :math:`D^2/(2\eta_t)`, and
    :math:`\tfrac12\sum\eta_s\|\nabla_s\|^2 \le \tfrac{D}{\sqrt2}\sqrt{S_t}` since
    :math:`\sum a_s/\sqrt{A_s} \le 2\sqrt{A_t}` for sums :math:`A_s` of :math:`a`.
    """

    name: ClassVar[str] = "AdaGrad-norm (Streeter and McMahan 2010)"

    @property
    def eta(self) -> float:
        r"""The step size times the root of the squared gradients, :math:`D/\sqrt2`."""
        return self.diameter / math.sqrt(2)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\sqrt2 D G_f\sqrt t`; with observed gradients it is tighter."""
        return math.sqrt(2) * self.diameter * self._G_f * np.sqrt(as_floats(t))
