"""Rectified penalties with a proximal step (RECOO, Guo et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from surefoot.core import checks
from surefoot.core.algorithm import OneConstraint, tuning
from surefoot.core.arrays import maximum, to_numpy
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.flow import run_by_run
from surefoot.core.parameters import anything, nonnegative, positive, projectable
from surefoot.core.types import Array, Needs, Number, Real, Region, Source
from surefoot.sets import Ball
from surefoot.sets.prox import Linearised, LinearProx, Prox, prox_of
from surefoot.theory import Tuned
from surefoot.theory.recoo import RecooTheorem
from surefoot.theory.watching import ROUNDING

__all__ = ["RECOO", "RECOOState"]


class RECOOState(NamedTuple):
    """The action to play, the multiplier of the violations and the round."""

    x: Array
    queue: Number = 0.0
    t: Number = 1.0


class RECOO(OneConstraint[RECOOState]):
    r"""A proximal step on a rectified penalty whose multiplier is never small.

    .. math::
        Q_t     &= \max(Q_{t-1} + \gamma_t[g_t(x_t)]_+,\ \eta_t), \qquad Q_0 = 0 \\
        x_{t+1} &= \arg\min_{x \in R\mathbb{B}}\ \langle\nabla_t, x\rangle
                   + \gamma_tQ_t[g_t(x)]_+ + \alpha_t\|x - x_t\|^2 \\
        \alpha_t &= \alpha t^p, \qquad \eta_t = w_0t^p, \qquad \gamma_t = t^q

    with :math:`p = \tfrac12` for convex costs and 1 for strongly convex ones; :math:`q = \tfrac32`
    for a fixed constraint and 0 where it changes from round to round. NumPy only.

    Args:
        prox: the oracle for the minimisation; :class:`~surefoot.sets.prox.LinearProx` for
            constraints that change, which it linearises.
        domain: a ball around 0 that holds the feasible set.
        alpha: :math:`\alpha`, the weight of a move in round 1.
        power: p.
        growth: q.
        floor: :math:`w_0`, the least multiplier of round 1.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = RECOO(prox=LinearProx(), domain=Ball(2.0), alpha=1.0, growth=0.0)
        >>> state = player.init(np.array([0.8]))  # x <= 0.5
        >>> player.update(state, Feedback(np.array([0.0]), 0.3, np.array([1.0])))
        RECOOState(x=array([0.5]), queue=1.0, t=2.0)

    Reference: Guo, Liu, Wei and Ying, "Online convex optimization with hard constraints: towards
    the best of two worlds and beyond", NeurIPS 2022. Constants derived here; theirs has the
    changing constraint itself in the step, where it is linearised here.
    """

    state = RECOOState
    needs = Needs(proxes=1, domain="feasible", numpy_only=True)
    source = Source("Guo, Liu, Wei and Ying, NeurIPS 2022")
    on_ball: ClassVar[tuple[str, ...]] = ("changing", "changing_strongly_convex")
    sources: ClassVar[Mapping[str, Source]] = dict.fromkeys(
        on_ball, Source("Guo, Liu, Wei and Ying, NeurIPS 2022", "derived here")
    )

    prox: Prox = anything("a proximal oracle")
    domain: Ball = projectable()
    alpha: Real = positive()
    power: Real = positive(default=0.5)
    growth: Real = nonnegative(default=1.5)
    floor: Real = positive(default=1.0)

    def next_state(self, state: RECOOState, gradient: Array, g: Number, s: Array) -> RECOOState:
        x, queue, t = state
        gamma, alpha = t**self.growth, self.alpha * t**self.power
        queue = maximum(queue + gamma * maximum(g, 0.0 * g), self.floor * t**self.power)
        y = x - gradient / (2 * alpha)
        new = run_by_run(self._prox, (y, x, s), g, gamma * queue, alpha)
        return RECOOState(new, queue, t + 1.0)

    def _prox(self, y: Array, x: Array, s: Array, g: float, weight: float, alpha: float) -> Array:
        return self.prox(y, weight, alpha, float(self.domain.radius), Linearised(x, g, s))

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Region | Prox) -> Tuned[Self]:
        """Tune for a fixed constraint: regret O(T^(1/2)), violations O(1) in all.

        The bounds of all tunings are for any number of rounds.
        """
        return cls.by_case(constants, horizon, prox_of(domain))

    @classmethod
    @tuning
    def fixed_strongly_convex(
        cls, constants: Constants, horizon: int, domain: Region | Prox
    ) -> Tuned[Self]:
        """Tune for a fixed constraint, strongly convex costs: regret O(log T), violations O(1)."""
        return cls.by_case(constants, horizon, prox_of(domain), strong=True)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune for changing constraints, linearised: regret O(T^(1/2)), violations O(T^(3/4)).

        The step uses the round's own constraint and no set but a ball around 0: that of radius R
        unless a smaller one is given.
        """
        return cls.by_case(constants, horizon, LinearProx(), varies=True, domain=domain)

    @classmethod
    @tuning
    def changing_strongly_convex(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune for changing g, strongly convex f: O(log T), violations O((T log T)^(1/2))."""
        return cls.by_case(
            constants, horizon, LinearProx(), strong=True, varies=True, domain=domain
        )

    @classmethod
    def by_case(
        cls,
        constants: Constants,
        horizon: int,
        prox: Prox,
        *,
        strong: bool = False,
        varies: bool = False,
        distance: float | None = None,
        domain: Ball | None = None,
    ) -> Tuned[Self]:
        """Return the tuning of one case of the theorem; the others are shorter names for it.

        Args:
            constants: the constants of the problem.
            horizon: not used: the bounds are for any number of rounds.
            prox: the oracle for the minimisation.
            strong: whether the costs are strongly convex.
            varies: whether the constraint changes from round to round.
            distance: of any action played to any feasible one; 2R unless a smaller one is known.
            domain: a ball around 0 that actions stay in, of radius at most R; R unless given.
        """
        checks.horizon(horizon)
        theorem = RecooTheorem(constants, strong, varies, distance)
        if domain is not None and not _is_around_zero(domain, constants.R):
            raise InvalidValueError(
                f"domain must be a ball around 0 of radius at most R = {constants.R:g}: the step "
                f"uses no other set than that and its prox, got {checks.brief(domain)}"
            )
        shared = ("alpha", "power", "growth", "floor")
        return Tuned.of(cls, theorem, domain, *shared, prox=prox)


def _is_around_zero(domain: Region, radius: float) -> bool:
    """Return whether a set is a ball around 0 of at most some radius."""
    if not isinstance(domain, Ball) or not domain.radius <= radius * (1 + ROUNDING):
        return False
    return domain.centre is None or not to_numpy(domain.centre).any()
