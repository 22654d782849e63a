"""Polyak feasibility steps with a doubling horizon: Corollary 1 without a horizon."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.guarantee import EveryRound, Premise, Tuned
from surefoot.algorithms.pfs import Corollary1, Theorem1
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, freeze, number_like, sqrt, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Source
from surefoot.sets import Ball, project_halfspace

__all__ = ["DoublingHorizon", "DoublingPFS"]


class DoublingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action, to which every phase returns.
        length: rounds of this phase, a power of 2.
        played: rounds of it that have been played.
    """

    x: Array
    start: Array
    length: Number
    played: Number


class DoublingPFS(OneConstraint[DoublingState]):
    r"""Polyak feasibility steps for 1, 2, 4, ... rounds, each time from the first action.

    In a phase of n rounds

    .. math::
        y_t     &= x_t - (\eta/\sqrt n) \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho/\sqrt n \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t), \quad\text{after the last round } x_1

    The textbook way to do without a horizon; :class:`surefoot.algorithms.ScheduledPFS` does without
    the restarts.

    Args:
        eta: step size of the first phase, :math:`\eta > 0`.
        rho: tightening of the first phase, :math:`\rho \ge 0`.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = DoublingPFS(eta=0.2, rho=0.1, domain=Ball(1.0))
        >>> x1 = np.array([0.0, 0.25])
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 2.0), seen).x
        array([0.1 , 0.45])
        >>> player.update(DoublingState(np.array([0.0, 0.4]), x1, 4.0, 3.0), seen)
        DoublingState(x=array([0.  , 0.25]), start=array([0.  , 0.25]), length=8.0, played=0.0)
    """

    state = DoublingState
    source = Source("Surefoot", "derived here")

    eta: Real = positive()
    rho: Real = nonnegative()
    domain: Ball = projectable()

    def first_state(self, x1: Array) -> DoublingState:
        return DoublingState(x1, x1, number_like(x1, 1.0), number_like(x1, 0.0))

    def next_state(self, state: DoublingState, grad: Array, g: Number, s: Array) -> DoublingState:
        x, start, length, played = state
        root = sqrt(length)
        y = x - (self.eta / root) * grad
        p = project_halfspace(y, g + dot(s, y - x) + self.rho / root, s)
        new, played = self.domain.project(p), played + 1.0
        over = played >= length
        return DoublingState(
            # A run that is lost, NaN, stays so: 0 times it is NaN, and else 0.
            freeze(where(over, start + 0.0 * new, new)),
            start,
            where(over, 2.0 * length, length),
            where(over, 0.0 * played, played),
        )

    @classmethod
    @tuning
    def anytime(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune by Corollary 1 in every phase; the horizon is not used."""
        return Tuned.of(cls, DoublingHorizon(constants), domain)


@final
class DoublingHorizon(EveryRound):
    r"""Corollary 1 repeated for 1, 2, 4, ... rounds, each time from the start.

    No horizon is needed, every round is feasible, and for every T

    .. math::
        \mathrm{Reg}_T \le \frac{\sqrt2}{\sqrt2 - 1}\,C\sqrt T \le 3.42\,C\sqrt T

    with :math:`C\sqrt T` the bound of Corollary 1. Proof: each phase begins at a strictly feasible
    point with parameters of its own, and Corollary 1 speaks of it alone. Against one comparator
    for all rounds the regrets of the phases add up; the last, if it is cut short, has at most
    Theorem 1's bound for as many rounds. With :math:`2^K \le T`,
    :math:`\sum_{k \le K} C2^{k/2} \le C2^{K/2}\sqrt2/(\sqrt2 - 1)`.

    :meth:`regret_bound` is the sum itself, which is smaller.

    Args:
        constants: as for Corollary 1: R, G_f, G_g, sigma, epsilon, start_slack.

    Example:
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> known = Corollary1(c, 1023).regret_bound(1023)
        >>> float((DoublingHorizon(c).regret_bound(1023) / known).round(2))
        2.34
    """

    name: ClassVar[str] = "Corollary 1, doubling"
    regret_exponent: ClassVar[float] = 0.5
    horizon = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._first

    @cached_property
    def _first(self) -> Theorem1:
        """Corollary 1 for one round; the other phases' parameters are multiples of its own."""
        return Corollary1(self.constants, 1).theorem

    @property
    def rho(self) -> float:
        """The tightening of the first phase."""
        return self._first.rho

    @property
    def eta(self) -> float:
        """The step size of the first phase."""
        return self._first.eta

    def regret_bound(self, t: Number) -> Array:
        """Sum Corollary 1 of the phases that have ended and Theorem 1 of the one going on."""
        t = as_floats(t)
        # t = mantissa 2^exponent with a mantissa in [1/2, 1): exact, as a logarithm is not.
        length = np.exp2(np.frexp(t)[1] - 1.0)
        root = np.sqrt(length)
        whole = self._first.regret_bound(1.0)
        at_once = self._first.regret_bound(0.0)  # 2R^2/eta, which does not grow with the rounds
        ended = whole * (root - 1) / (math.sqrt(2) - 1)
        return ended + at_once * root + (whole - at_once) / root * (t - length + 1)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Corollary 1 except the horizon."""
        return tuple(p for p in self._first.premises if p.quantity != "horizon")
