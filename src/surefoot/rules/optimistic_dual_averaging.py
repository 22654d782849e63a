"""Dual averaging with a forecast of the next gradient; and its regret."""

import math
from typing import Annotated, ClassVar, NamedTuple, Self

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, tuning
from surefoot.core.arrays import dot, number_like, sqrt, where
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Span
from surefoot.core.types import Array, Info, Needs, Number, Set, Source
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.adagrad_ftrl import AddedUp
from surefoot.rules.inside import Projecting

__all__ = ["Forecasts", "OptimisticDualAveraging"]


class OptimisticState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action.
        gradients: the sum of the gradients.
        forecast: the forecast of the next gradient that x uses.
        squares: the sum of the squared errors of all forecasts.
    """

    x: Array
    start: Array
    gradients: Array
    forecast: Array
    squares: Annotated[Number, Span(0)]


class OptimisticDualAveraging(Projecting):
    r"""Dual averaging that adds a forecast :math:`m_{t+1}` of the next gradient to the sum.

    .. math::
        S_t &= S_{t-1} + \|\nabla f_t(x_t) - m_t\|^2 \\
        x_{t+1} &= \Pi_X\Big(x_1 - \frac{\eta}{\sqrt{S_t}}
            \Big(\sum_{s \le t}\nabla f_s(x_s) + m_{t+1}\Big)\Big)

    The forecast is the ``hint`` of the feedback. Without a finite hint of the action's shape it is
    the last gradient. Before the first nonzero gradient the action does not move, and no forecast
    counts.

    Args:
        eta: :math:`\eta > 0`, a length.
        domain: the feasible set :math:`X`. For a leader with a follower take a wide ball: the
            follower's cuts contain the leader.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> player = OptimisticDualAveraging(eta=1.0, domain=Box([-2.0, -2.0], [2.0, 2.0]))
        >>> state = player.init(np.zeros(2))
        >>> state = player.update(state, Feedback(np.array([3.0, 4.0]), hint=np.array([0.0, 1.0])))
        >>> state.x  # -(3, 5)/5
        array([-0.6, -1. ])
        >>> player.update(state, Feedback(np.array([0.0, 1.0]), hint=np.zeros(2))).x  # no error
        array([-0.6, -1. ])

    Reference: Rakhlin and Sridharan, COLT 2013.
    """

    state = OptimisticState
    needs: ClassVar[Needs] = Projecting.needs._replace(fields=frozenset({"hint"}))
    source: ClassVar[Source] = Source("Rakhlin and Sridharan, COLT 2013", "derived here")

    def first_state(self, x1: Array) -> OptimisticState:
        return OptimisticState(x1, x1, 0.0 * x1, 0.0 * x1, number_like(x1, 0.0))

    def step(self, state: OptimisticState, feedback: Feedback) -> tuple[OptimisticState, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        grad = checks.read_gradient(state.x, feedback)
        hint = feedback.hint
        if hint is None or checks.shape_of(hint) != tuple(grad.shape):
            hint = grad
        hint = where(dot(hint, hint) < math.inf, hint, grad)
        return self.next_state(state, grad, hint), NOTHING

    def next_state(self, state: OptimisticState, grad: Array, hint: Array) -> OptimisticState:
        start, gradients, error = state.start, state.gradients + grad, grad - state.forecast
        squares = state.squares + dot(error, error)
        forecast = where(squares > 0, hint, 0.0 * start)
        eta = self.eta / sqrt(where(squares > 0, squares, number_like(start, 1.0)))
        x = self.domain.project(start - eta * (gradients + forecast))
        return OptimisticState(x, start, gradients, forecast, squares)

    @classmethod
    @tuning(lambda: Forecasts)
    def adaptive(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Regret that decreases with the error of hints, on a known set."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, Forecasts(constants, **Forecasts.from_set(constants, domain)), domain)


class Forecasts(AddedUp):
    r"""Dual averaging with forecasts :math:`m_t` of the gradients, :math:`\eta = D/\sqrt2`.

    .. math:: \mathrm{Reg}_t \le \frac{3}{\sqrt2}D\sqrt{\textstyle\sum_{s \le t}
              \|\nabla_s - m_s\|^2} \le 3\sqrt2\,DG_f\sqrt t

    The first bound counts errors only: forecasts that are right cost nothing. The second is for
    forecasts no longer than G_f, such as the last gradient. Proof: the lemma of
    :class:`~surefoot.rules.AddedUp`.
    """

    name: ClassVar[str] = "Optimistic dual averaging (Rakhlin and Sridharan 2013)"
    largest: ClassVar[float] = 2.0

    @property
    def eta(self) -> float:
        r"""The step size times the root of the squared errors, :math:`D/\sqrt2`."""
        return self.diameter / math.sqrt(2)
