r"""A leader that learns and is never played; a certified follower that goes after it; Theorem G.

In the theorems, D is the largest distance from the start to a point of the ball (``start_reach``),
:math:`\alpha` the start's slack, :math:`\kappa = G_gD/\alpha \ge 1`, L the largest norm of a cost
gradient.
"""

from typing import Any, ClassVar

import numpy as np

from surefoot import regions
from surefoot.algorithms.bounds import StrictStart, as_floats
from surefoot.algorithms.certified import Certified, Name, Parts
from surefoot.algorithms.guarantee import PossibleHorizon, Tuned
from surefoot.algorithms.leader import Leader
from surefoot.algorithms.unknown import Estimated
from surefoot.algorithms.with_errors import CertifiedTuning, under_errors
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import count, flag, number, positive
from surefoot.core.types import Array, Needs, Number, Region
from surefoot.sets import Ball

__all__ = ["LeaderFollower", "TheoremG", "crawl_lower_bound"]


class LeaderFollower(Name):
    r"""Learn with a leader, play a follower: safe from G_g alone, with the regret of the leader.

    Leaders, never played, learn on all half-spaces seen so far: one adds up all gradients, others
    descend, and what leads is their mean (:class:`~surefoot.algorithms.Leader` has the formulas).
    The follower, which is played, goes after it inside convex hulls of balls that are certainly
    feasible (:class:`~surefoot.regions.LipschitzHull`). Safety is these hulls alone, whatever the
    leaders do.

    The parameters are those of the two, with one ``domain`` for both, a set that contains the
    feasible set and holds every action, and the errors to allow for: ``value_error``,
    ``slope_error``, ``drift`` and ``evaluation_error``. With a ``context`` the limit may depend on
    what is known before every round (:class:`~surefoot.regions.ContextHull`).

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-3.0, -4.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # on the way to its leaders, 0.5 long
        array([0.325313, 0.379699])
    """

    needs: ClassVar[Needs] = Needs(work="K d", numpy_only=True, one_run=True)
    parts: ClassVar[Parts] = (Leader, regions.LipschitzHull)
    in_contexts = regions.ContextHull
    or_knowledge = (regions.EstimatedHull,)

    @classmethod
    def pair(cls, **parameters: Any) -> Certified:
        """Return the pair; the hull keeps the start's ball for the careful mode."""
        careful = parameters.get("gradient_bound") is not None
        return super().pair(**{"keep_start": careful} | parameters)

    default = CertifiedTuning(lambda: TheoremG)
    strongly_convex = CertifiedTuning(lambda: TheoremG, in_advance=False)

    @classmethod
    @tuning(
        listed=False,
        theta=number(),
        violations=count(0),
        largest_G_g=positive(),
        largest_violation=positive(),
        gradient_bound=positive(),
        start_slack=positive(),
    )
    def unknown(
        cls,
        domain: Region,
        *,
        theta: float = 2.0,
        violations: int | None = None,
        largest_G_g: float | None = None,
        largest_violation: float | None = None,
        gradient_bound: float | None = None,
        start_slack: float | None = None,
    ) -> Tuned[Certified]:
        r"""Return the rule for a g of which nobody knows G_g: a few rounds may be outside.

        Args:
            domain: a set that holds every action; a Ball must hold the feasible set.
            theta: how many times what is proved of G_g is used. Larger is slower, with fewer rounds
                outside: :math:`\theta\ln^2\theta = c` is best, c the cost of a round outside times
                :math:`\ln(G_g/m_1)` over the regret of the crawl.
            violations: how many rounds may be outside at most; one that nobody measured counts.
            largest_G_g: what G_g is at most on the domain, be it far too large.
            largest_violation: what no violation may exceed; needs ``largest_G_g``.
            gradient_bound: G_f, where a regret bound in advance is wanted: the rule then begins
                anew at the start where G_g is proved to be larger than what was used.
            start_slack: -g at the first action at least, for bounds in advance, which need a Ball.

        Example:
            >>> from surefoot import Ball
            >>> player, promise = LeaderFollower.unknown(Ball(2.0), violations=1)
            >>> print(promise, float(promise.most_outside))
            Theorem U (an unknown constant) for any number of rounds (rounds outside) 1.0
        """
        restarts = gradient_bound is not None
        if start_slack is not None:
            checks.positive(start_slack=start_slack)
            if not isinstance(domain, Ball):  # which makes a slack a lower bound on G_g
                rule = "None unless the domain is a Ball that holds the feasible set"
                raise checks.invalid("start_slack", rule, start_slack)
        if restarts and violations is not None:
            raise InvalidValueError(
                "gradient_bound is for a rule with as many violations as it takes, got violations "
                f"= {violations!r}"
            )
        knowledge = regions.EstimatedHull(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_G_g=largest_G_g,
            largest_violation=largest_violation,
            restarts=restarts,
        )
        leader = Leader(domain=domain, gradient_bound=gradient_bound)
        known = Constants(
            R=knowledge.reach, G_f=gradient_bound, G_g=largest_G_g, start_slack=start_slack
        )
        promise = Estimated(known, theta, violations, largest_violation, restarts=restarts)
        return Tuned(Certified(proposer=leader, knowledge=knowledge), promise)


class TheoremG(PossibleHorizon, StrictStart):
    r"""Leader and follower: feasible in every round, from G_g and a strictly feasible start alone.

    If G_f is known and given to the rule, there is a regret bound in advance:

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathrm{Reg}_T &\le 31\kappa^2DG_f\sqrt T + \kappa^2DG_f(\ln T + 22), \qquad
        \kappa = G_gD/\alpha .

    It is a bound for the worst case; what is observed (:class:`LeaderRegret`) is some hundred times
    less. Derived here; the proof is in docs/leader.md. For strongly convex costs only the
    observed bound is known.

    Args:
        constants: needs R, G_g, start_slack; uses start_reach; G_f for the regret bound.
        horizon: the number of rounds, if the step was chosen for one.
        in_advance: whether the rule keeps to the bound; without it nothing better is known in
            advance than that the costs of feasible points differ by at most :math:`2RG_f`.
    """

    name: ClassVar[str] = "Theorem G (leader and follower)"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")

    in_advance: bool = flag(default=True)

    @property
    def regret_exponent(self) -> float:
        """One half; 1, as for every feasible rule, if nothing better is known in advance."""
        return 0.5 if self.in_advance else 1.0

    @property
    def gradient_bound(self) -> float | None:
        """G_f for the careful mode, which the bound is about, and which is for exact readings."""
        return self.constants.G_f if self.in_advance and under_errors(self) is self else None

    @property
    def strong_convexity(self) -> float | None:
        """H where the steps are :math:`2/(Ht)`, for which no bound is known in advance."""
        if self.in_advance:
            return None
        return self.constants.require("strong_convexity", by=self.name)[0]

    @property
    def kappa(self) -> float:
        r"""The condition number :math:`\kappa = \max(1, G_gD/\alpha)`."""
        return max(1.0, self._G_g * self.constants.reach / self._slack)

    def regret_bound(self, t: Number) -> Array:
        """Return the bound in advance, at most :math:`2RG_fT`; inf where G_f is not known."""
        T, G_f, D = as_floats(t), self.constants.G_f, self.constants.reach
        if G_f is None or not self.in_advance:
            return self._at_worst(T)
        learnt = self.kappa**2 * D * G_f * (31 * np.sqrt(T) + np.log(T) + 22)
        return np.minimum(self._at_worst(T), learnt)


def crawl_lower_bound(t: Number, *, G_f: float, D: float, kappa: float) -> Array:
    r"""Return the regret that no safe rule stays below on the instance of Theorem H.

    .. math:: G_fD\kappa\big(1 - (1 - 1/\kappa)^T\big)

    Args:
        t: T, a number of rounds or an array of them.
        G_f: the norm of the cost gradients.
        D: the largest distance from the start to a feasible point.
        kappa: :math:`G_gD/\alpha`, at least 1.

    Example:
        >>> float(crawl_lower_bound(2, G_f=1.0, D=1.0, kappa=2.0))
        1.5
    """
    checks.positive(kappa=kappa)
    T = np.asarray(t, dtype=np.float64)
    return G_f * D * kappa * (1 - (1 - 1 / kappa) ** T)
