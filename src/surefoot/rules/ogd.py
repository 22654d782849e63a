"""Projected descent on the feasible set: fixed, decaying and adaptive steps, dual averaging.

Each rule with its regret; :mod:`surefoot.rules.inside` has the notation.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core.algorithm import tuning
from surefoot.core.arrays import dot, number_like, sqrt, where
from surefoot.core.checks import check_possible_horizon
from surefoot.core.constants import Constants
from surefoot.core.forms import Counts, Span
from surefoot.core.parameters import flag
from surefoot.core.types import Array, Number, Set, Source
from surefoot.guarantees.bounds import StronglyConvex, as_floats, harmonic
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import Anytime, FixedStep, Inside, Projecting
from surefoot.rules.states import ActionState

__all__ = [
    "OGD",
    "AdaGradNorm",
    "AdaGradOGD",
    "DecayingOGD",
    "DecayingStep",
    "DualAveraging",
    "DualAveragingTheorem",
    "StronglyConvexDescent",
    "Zinkevich",
]


class OGD(Projecting):
    r"""Online gradient descent with full projection.

    .. math:: x_{t+1} = \Pi_X(x_t - \eta \nabla f_t(x_t))

    It must know the feasible set X and project onto it, and ignores the feedback of the constraint.
    This baseline pays for feasibility with one projection per round.

    Args:
        eta: step size, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = OGD(eta=0.1, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = player.init(np.array([0.0, 0.4]))
        >>> feedback = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, feedback).x
        array([0.1, 0.5])

    Reference: Zinkevich, ICML 2003.
    """

    state = ActionState
    source: ClassVar[Source] = Source("Zinkevich, ICML 2003", "as published")

    def next_state(self, state: ActionState, grad: Array) -> ActionState:
        return ActionState(self.domain.project(state.x - self.eta * grad))

    @classmethod
    @tuning(lambda: Zinkevich)
    def fixed(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret of order sqrt(T) on a known set, for a given horizon: Zinkevich's bound."""
        return Tuned.of(
            cls,
            Zinkevich(constants, horizon=horizon, **Zinkevich.from_set(constants, domain)),
            domain,
        )


class Zinkevich(FixedStep):
    r"""Projected gradient descent with the fixed step :math:`\eta = D/(G_f\sqrt T)`.

    .. math:: \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac{\eta}{2} G_f^2 t,

    which is :math:`D G_f \sqrt T` at t = T. Proof: projection does not increase distances to u, so
    :math:`2\eta\langle\nabla_t, x_t - u\rangle \le \|x_t - u\|^2 - \|x_{t+1} - u\|^2
    + \eta^2\|\nabla_t\|^2`; sum over the rounds.

    Example:
        >>> from surefoot import Constants
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


class DecayingOGDState(NamedTuple):
    """The action to play, and the number of rounds so far."""

    x: Array
    rounds: Counts = 0.0


class DecayingOGD(Projecting):
    r"""Online gradient descent with full projection and a step that decays.

    .. math:: x_{t+1} = \Pi_X(x_t - \eta t^{-q} \nabla f_t(x_t)), \qquad q = \tfrac12 \text{ or } 1

    Args:
        eta: step size of the first round, :math:`\eta > 0`.
        domain: the feasible set :math:`X`.
        fast: whether q is 1, for strongly convex costs, instead of 1/2.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> player = DecayingOGD(eta=0.2, domain=Box([-1.0, -0.5], [1.0, 0.5]))
        >>> state = DecayingOGDState(np.array([0.0, 0.4]), 3.0)  # the fourth round
        >>> player.update(state, Feedback(np.array([-1.0, -3.0]), None, None)).x
        array([0.1, 0.5])

    Reference: Zinkevich, ICML 2003; Hazan, Agarwal and Kale, Machine Learning 2007.
    """

    state = DecayingOGDState
    source: ClassVar[Source] = Source("Zinkevich, ICML 2003", "as published")
    sources: ClassVar[Mapping[str, Source]] = {
        "strongly_convex": Source("Hazan, Agarwal and Kale, Machine Learning 2007", "as published")
    }

    fast: bool = flag(default=False)

    def next_state(self, state: DecayingOGDState, grad: Array) -> DecayingOGDState:
        x, t = state.x, state.rounds + 1.0
        eta = self.eta / (t if self.fast else sqrt(t))
        return DecayingOGDState(self.domain.project(x - eta * grad), t)

    @classmethod
    @tuning(lambda: DecayingStep)
    def anytime(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Regret of order sqrt(T) on a known set, for any number of rounds."""
        check_possible_horizon(horizon)
        return Tuned.of(
            cls, DecayingStep(constants, **DecayingStep.from_set(constants, domain)), domain
        )

    @classmethod
    @tuning(lambda: StronglyConvexDescent)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Logarithmic regret on a known set, for strongly convex costs."""
        check_possible_horizon(horizon)
        return Tuned.of(cls, StronglyConvexDescent(constants), domain)


class DecayingStep(Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/(G_f\sqrt t)`: any number of rounds.

    .. math:: \mathrm{Reg}_t \le \tfrac32 D G_f \sqrt t

    Proof: as :class:`~surefoot.rules.Zinkevich`, each round divided by its own
    :math:`2\eta_t`; Abel summation leaves :math:`D^2/(2\eta_t) = DG_f\sqrt t/2`, and
    :math:`\tfrac12\sum\eta_s G_f^2 \le \tfrac12 DG_f \cdot 2\sqrt t`.
    """

    name: ClassVar[str] = "Zinkevich 2003, decaying step"

    @property
    def eta(self) -> float:
        r"""The step size of round 1, :math:`D/G_f`."""
        return self.diameter / self._G_f

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`\tfrac32 D G_f \sqrt t`."""
        return 1.5 * self.diameter * self._G_f * np.sqrt(as_floats(t))


class StronglyConvexDescent(StronglyConvex, Inside):
    r"""Projected gradient descent with :math:`\eta_t = 1/(Ht)` on H-strongly convex costs.

    .. math:: \mathrm{Reg}_t \le \frac{G_f^2}{2H}(1 + \ln t)

    Proof: strong convexity takes :math:`\tfrac H2\|x_s-u\|^2` off every round, so that the
    distances telescope to nothing: :math:`\frac1{\eta_s} - \frac1{\eta_{s-1}} - H = 0`. What is
    left is :math:`\tfrac12\sum G_f^2/(Hs)`.
    """

    name: ClassVar[str] = "Hazan, Agarwal and Kale 2007, strongly convex"
    fast: ClassVar[bool] = True

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`(G_f^2/2H)(1 + \ln t)`."""
        return 0.5 * self._G_f**2 * self.eta * harmonic(t)


class AdaGradOGDState(NamedTuple):
    """The action to play, and the sum of the squared norms of the gradients."""

    x: Array
    squares: Annotated[Number, Span(0)] = 0.0


class AdaGradOGD(Projecting):
    r"""Online gradient descent with full projection and the AdaGrad-norm step.

    .. math::
        S_t &= S_{t-1} + \|\nabla f_t(x_t)\|^2 \\
        x_{t+1} &= \Pi_X(x_t - (\eta/\sqrt{S_t}) \nabla f_t(x_t))

    The action does not move before the first nonzero gradient.

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
    source: ClassVar[Source] = Source("Streeter and McMahan, 2010", "as published")

    def next_state(self, state: AdaGradOGDState, grad: Array) -> AdaGradOGDState:
        x = state.x
        squares = state.squares + dot(grad, grad)
        eta = self.eta / sqrt(where(squares > 0, squares, number_like(x, 1.0)))
        return AdaGradOGDState(self.domain.project(x - eta * grad), squares)

    @classmethod
    @tuning(lambda: AdaGradNorm)
    def adaptive(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Regret of order sqrt(T) on a known set, with steps from the observed gradients."""
        check_possible_horizon(horizon)
        return Tuned.of(
            cls, AdaGradNorm(constants, **AdaGradNorm.from_set(constants, domain)), domain
        )


class AdaGradNorm(Anytime):
    r"""Projected gradient descent with :math:`\eta_t = D/\sqrt{2\sum_{s \le t}\|\nabla_s\|^2}`.

    .. math:: \mathrm{Reg}_t \le \sqrt2 D\sqrt{\textstyle\sum_{s \le t}\|\nabla_s\|^2}
              \le \sqrt2 D G_f\sqrt t

    It uses only D. Proof: Abel summation leaves :math:`D^2/(2\eta_t)`, and
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


class DualAveragingState(NamedTuple):
    """The action to play, the first one, and the sum of the gradients."""

    x: Array
    start: Array
    gradients: Array


class DualAveraging(Projecting):
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
    source: ClassVar[Source] = Source(
        "Shalev-Shwartz and Singer, Machine Learning 2007", "as published"
    )

    def first_state(self, x1: Array) -> DualAveragingState:
        return DualAveragingState(x1, x1, 0.0 * x1)

    def next_state(self, state: DualAveragingState, grad: Array) -> DualAveragingState:
        gradients = state.gradients + grad
        x = self.domain.project(state.start - self.eta * gradients)
        return DualAveragingState(x, state.start, gradients)

    @classmethod
    @tuning(lambda: DualAveragingTheorem)
    def fixed(cls, constants: Constants, horizon: int, domain: Set | None = None) -> Tuned[Self]:
        """Regret of order sqrt(T) on a known set, for a given horizon."""
        return Tuned.of(
            cls,
            DualAveragingTheorem(
                constants, horizon=horizon, **DualAveragingTheorem.from_set(constants, domain)
            ),
            domain,
        )


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
