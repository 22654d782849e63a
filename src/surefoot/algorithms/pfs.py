"""Online gradient descent with Polyak feasibility steps (PFS)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, start_in, tuning
from surefoot.core.arrays import dot, owned
from surefoot.core.constants import Constants
from surefoot.core.parameters import nonnegative, positive, projectable
from surefoot.core.types import Array, Feedback, Info, Needs, Real, Source
from surefoot.sets import Ball, project_halfspace
from surefoot.theory import (
    BoundedNoise,
    Corollary1,
    Corollary2,
    Corollary3,
    SlowDrift,
    Theorem1,
    Tuned,
    tune_polyak,
)

__all__ = ["PFS", "PFSState"]


class PFSState(NamedTuple):
    """What the next round needs: the action to play, and nothing else."""

    x: Array


class PFS(Algorithm):
    r"""Online gradient descent with Polyak feasibility steps.

    A gradient step on the cost, then the projection onto the tightened constraint linearised at
    the action already played, so one query per round is enough:

    .. math::
        y_t     &= x_t - \eta \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    Args:
        eta: step size of the cost step, :math:`\eta > 0`.
        rho: tightening of the constraint, :math:`\rho \ge 0`.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.4]))  # feasible: x[1] <= 0.5
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x
        array([0.1 , 0.45])

    Reference: Hutchinson and Alizadeh, ICML 2025, Algorithm 1.
    """

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("Hutchinson and Alizadeh, ICML 2025")

    eta: Real = positive()
    rho: Real = nonnegative()
    domain: Ball = projectable()

    def init(self, x1: Array) -> PFSState:
        """Start at x1, a point of the domain."""
        return PFSState(start_in(self.domain, x1))

    def step(self, state: PFSState, feedback: Feedback) -> tuple[PFSState, Info]:
        """Return the state after a round: the three lines of the docstring."""
        x = state.x
        grad, g, s = checks.feedback(x, feedback)
        y = x - self.eta * grad
        p = project_halfspace(y, g + dot(s, y - x) + self.rho, s)
        x = owned(self.domain.project(p))
        return PFSState(x), Info(x, wish=y)

    @classmethod
    @tuning
    def anytime(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[PFS]:
        """Tune by Corollary 1: g(x_t) <= 0 in every round, from a strictly feasible start."""
        return cls._with(Corollary1(constants, horizon), domain)

    @classmethod
    @tuning
    def eventually(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[PFS]:
        """Tune by Corollary 2 (corrected): any start, g(x_t) <= 0 after O(log T) rounds."""
        return cls._with(Corollary2(constants, horizon), domain)

    @classmethod
    @tuning
    def nearly(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[PFS]:
        """Tune by Corollary 3: the regret of full projection, g(x_t) = O(1/sqrt(T)) per round."""
        return cls._with(Corollary3(constants, horizon), domain)

    @classmethod
    @tuning
    def tuned(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[PFS]:
        """Tune by the smallest regret bound of Theorem 1 with g(x_t) <= 0 in every round.

        The promise of :meth:`anytime` at a bound that is never worse and often far better; see
        :func:`surefoot.theory.tune_polyak`.
        """
        return cls._with(tune_polyak(constants, horizon), domain)

    @classmethod
    @tuning(listed=False, eta=positive(), rho=nonnegative())
    def chosen(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        eta: float,
        rho: float,
    ) -> Tuned[PFS]:
        """Return PFS with your own step size and tightening, and what Theorem 1 promises for them.

        Args:
            constants: the constants of the problem.
            horizon: T.
            domain: a ball that contains the feasible set; that around 0 of radius R unless given.
            eta: the step size.
            rho: the tightening, at most epsilon.
        """
        return cls._with(Theorem1(constants, eta, rho, horizon), domain)

    @classmethod
    @tuning(listed=False, value_error=nonnegative(), subgradient_error=nonnegative())
    def noisy(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        value_error: float = 0.0,
        subgradient_error: float = 0.0,
    ) -> Tuned[PFS]:
        """Tune so that the true g(x_t) <= 0 in every round, with bounded errors in g and s.

        It has a regret bound in advance, needs sigma and a horizon, and refuses errors that its
        tightening cannot hold. Certified rules take any (``Constants.value_error``), with a
        certificate for every round and no such bound.

        Args:
            constants: the constants of the true constraint.
            horizon: T.
            domain: a ball that contains the feasible set; that around 0 of radius R unless given.
            value_error: no value of g is off by more.
            subgradient_error: no subgradient is off by a longer vector.
        """
        theorem = BoundedNoise(constants, horizon, value_error, subgradient_error)
        return Tuned.of(cls, theorem, domain, "eta", rho=theorem.halfspace_rho)

    @classmethod
    @tuning(listed=False, drift=nonnegative(), common_slack=positive(), common_reach=positive())
    def drifting(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        drift: float,
        common_slack: float | None = None,
        common_reach: float | None = None,
    ) -> Tuned[PFS]:
        """Tune for g_t(x_t) <= 0 in every round while g drifts by up to ``drift`` per round.

        Certified rules need neither sigma nor a horizon for that (``Constants.drift``), and have
        no regret bound in advance.

        Args:
            constants: the constants of every round's constraint.
            horizon: T.
            domain: a ball that holds all feasible sets; that around 0 of radius R unless given.
            drift: how much g changes at most, at any point, from a round to the next.
            common_slack: slack in all rounds of one point, which a regret bound needs.
            common_reach: the largest distance from that point to a point of the ball.
        """
        theorem = SlowDrift(constants, horizon, drift, common_slack, common_reach)
        return cls._with(theorem, domain)

    @classmethod
    def _with(
        cls,
        theorem: Corollary1 | Corollary2 | Corollary3 | Theorem1 | SlowDrift,
        domain: Ball | None,
    ) -> Tuned[PFS]:
        return Tuned.of(cls, theorem, domain, "eta", "rho")
