"""Polyak feasibility steps whose tightening and step size follow one schedule."""

from __future__ import annotations

from typing import NamedTuple, Self

from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import dot, maximum, minimum, owned, sqrt, squared_and_norm, where
from surefoot.core.constants import Constants
from surefoot.core.parameters import flag, nonnegative, positive, projectable
from surefoot.core.types import Array, Number, Real, Source
from surefoot.sets import Ball, project_halfspace
from surefoot.theory import (
    ScheduledSteps,
    StronglyConvexSchedule,
    Tuned,
    UnknownGradients,
    UnknownHorizon,
)

__all__ = ["ScheduledPFS", "ScheduledState"]


class ScheduledState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        rounds: how many rounds have been played.
        largest: the largest norm of a cost gradient.
        squares: the sum of their squared norms.
    """

    x: Array
    rounds: Number = 0.0
    largest: Number = 0.0
    squares: Number = 0.0


class ScheduledPFS(OneConstraint[ScheduledState]):
    r"""Polyak feasibility steps with a tightening that falls, and a step size in step with it.

    .. math::
        \rho_t  &= \rho/(t + t_0)^p \\
        \eta_t  &= s\rho_t, \quad\text{or } s\rho_t/L_t, \quad\text{and at most } c/\sqrt{S_t} \\
        y_t     &= x_t - \eta_t \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    with :math:`L_t` the largest norm and :math:`S_t` the sum of the squared norms of the gradients
    up to round t, its own included. A step is then no longer than :math:`s\rho_t` times G_f, or
    than :math:`s\rho_t` itself: that is what keeps the actions feasible while the tightening falls
    (:mod:`surefoot.theory.schedules`).

    Args:
        rho: tightening before it falls, :math:`\rho > 0`.
        step_size: s, the step size for a unit of tightening; a length for one where ``running``.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.
        power: p, at least 0: 0 for a tightening that stays, 1/2, or 1 for strongly convex costs.
        offset: :math:`t_0 \ge 0`.
        running: whether the step size is divided by :math:`L_t`, so that G_f need not be known.
        adagrad: c, if the step size is to be limited as in AdaGrad-norm.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = ScheduledPFS(rho=0.1, step_size=1.0, domain=Ball(1.0))
        >>> state = ScheduledState(np.array([0.0, 0.4]), 3.0, 0.0, 0.0)  # the fourth round
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x  # both the step and the tightening are 0.05
        array([0.05, 0.45])
    """

    state = ScheduledState
    source = Source("Surefoot", "derived here")

    rho: Real = positive()
    step_size: Real = positive()
    domain: Ball = projectable()
    power: Real = nonnegative(default=0.5)
    offset: Real = nonnegative(default=0.0)
    running: bool = flag(default=False)
    adagrad: Real | None = positive(default=None)

    def next_state(self, state: ScheduledState, grad: Array, g: Number, s: Array) -> ScheduledState:
        x, rounds, largest, squares = state
        t = rounds + 1.0
        rho = self.rho / (t + self.offset) ** self.power
        squared, size = squared_and_norm(grad)
        largest, squares = maximum(size, largest), squares + squared
        # Where no gradient has come yet any step size will do: it is multiplied by 0.
        eta = self.step_size * rho
        if self.running:
            eta = eta / where(largest > 0, largest, 1.0)
        if self.adagrad is not None:
            eta = minimum(eta, self.adagrad / sqrt(where(squares > 0, squares, 1.0)))
        y = x - eta * grad
        p = project_halfspace(y, g + dot(s, y - x) + rho, s)
        return ScheduledState(owned(self.domain.project(p)), t, largest, squares)

    @classmethod
    @tuning
    def unknown_horizon(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        r"""Tune with :math:`\rho_t = \alpha/\sqrt t`: feasible always, O(sqrt T) for every T.

        The horizon is not used; all tunings take one.
        """
        return cls._with(UnknownHorizon(constants), domain)

    @classmethod
    @tuning
    def unknown_gradients(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        r"""Tune by the largest gradient so far; the tightening falls if no horizon is given."""
        return cls._with(UnknownGradients(constants, horizon), domain)

    @classmethod
    @tuning
    def adaptive(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        r"""Tune the same, with steps of at most :math:`\sqrt2R/\sqrt{S_t}`, as in AdaGrad-norm."""
        return cls._with(UnknownGradients(constants, horizon, adaptive=True), domain)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Step 1/(H(t + t_0)): feasible in every round, O(log T); the horizon is not used."""
        return cls._with(StronglyConvexSchedule(constants), domain)

    @classmethod
    def _with(cls, theorem: ScheduledSteps, domain: Ball | None) -> Tuned[Self]:
        shared = ("rho", "power", "offset", "running", "adagrad")
        return Tuned.of(cls, theorem, domain, *shared, step_size=theorem.step)
