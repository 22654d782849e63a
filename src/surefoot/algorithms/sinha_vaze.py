"""Sinha and Vaze's method: an exponentially growing penalty against adversarial constraints."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.algorithms._multipliers import positive_part
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, exp, maximum, minimum, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Array, Number, Real, Region, Source
from surefoot.theory import SinhaVazeConvex, Tuned

__all__ = ["SinhaVaze", "SinhaVazeState"]

# The theorem keeps the exponent below the logarithm of a few T. Where its premises are broken the
# penalty must not become inf, nor its square.
_LARGEST_EXPONENT = 300.0


class SinhaVazeState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        queue: the sum of the violations so far, scaled.
        squares: the sum of the squared norms of the surrogates' gradients.
    """

    x: Array
    queue: Number = 0.0
    squares: Number = 0.0


class SinhaVaze(OneConstraint[SinhaVazeState]):
    r"""Descent on the cost plus a penalty that grows exponentially with the violations so far.

    .. math::
        Q_t       &= Q_{t-1} + b[g_t(x_t)]_+ \\
        h_t       &= b\nabla f_t(x_t) + \lambda e^{\lambda Q_t}\,b s_t\,1\{g_t(x_t) > 0\} \\
        S_t       &= S_{t-1} + \|h_t\|^2 \\
        x_{t+1}   &= \Pi_{R\mathbb{B}}\big(x_t - h_t\,D/\sqrt{2S_t}\big)

    with no move while :math:`S_t = 0`. The constraint may be another one in each round, picked
    after the action is known, and no action need be strictly feasible.

    Args:
        scale: :math:`b > 0`; the theorem has 1/(2GD).
        rate: :math:`\lambda > 0`, growth of the penalty; the theorem has :math:`1/(2\sqrt T)`.
        diameter: :math:`D > 0`, the diameter of the domain.
        domain: a ball, or another set to project onto, that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = SinhaVaze(scale=0.5, rate=1.0, diameter=2.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-6.0, 8.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, seen)  # sqrt(2) along the gradient, then back into the ball
        SinhaVazeState(x=array([ 0.6, -0.8]), queue=0.0, squares=25.0)

    Reference: Sinha and Vaze, NeurIPS 2024 (arXiv 2310.18955); the scaling and lambda as recalled.
    """

    state = SinhaVazeState
    source = Source("Sinha and Vaze, NeurIPS 2024")

    scale: Real = positive()
    rate: Real = positive()
    diameter: Real = positive()
    domain: Region = projectable()

    def next_state(self, state: SinhaVazeState, grad: Array, g: Number, s: Array) -> SinhaVazeState:
        x, queue, squares = state
        queue = positive_part(queue + self.scale * maximum(g, 0.0))
        penalty = self.rate * exp(minimum(self.rate * queue, _LARGEST_EXPONENT))
        h = self.scale * (grad + where(g > 0, penalty, 0.0 * penalty) * s)
        squares = squares + dot(h, h)
        moves = squares > 0
        step = where(moves, self.diameter / sqrt(2 * where(moves, squares, 1.0)), 0.0 * squares)
        return SinhaVazeState(self.domain.project(x - step * h), queue, squares)

    @classmethod
    @tuning
    def convex(
        cls, constants: Constants, horizon: int, domain: Region | None = None
    ) -> Tuned[Self]:
        r"""Tune for convex costs: :math:`b = 1/(2GD)`, :math:`\lambda = 1/(2\sqrt T)`."""
        theorem = SinhaVazeConvex(constants, horizon)
        return Tuned.of(cls, theorem, domain, "scale", "rate", "diameter")
