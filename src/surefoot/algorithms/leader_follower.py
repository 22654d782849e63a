"""A leader that learns and is never played; a certified follower that goes after it; Theorem E."""

from typing import ClassVar

import numpy as np

from surefoot import regions
from surefoot.algorithms.bounds import StrictStart
from surefoot.algorithms.certified import Certified, Name, Parts
from surefoot.algorithms.guarantee import PossibleHorizon, Tuned
from surefoot.algorithms.leader import Leader
from surefoot.algorithms.unknown import Estimated
from surefoot.algorithms.with_errors import CertifiedTuning
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import count, flag, number, positive
from surefoot.core.types import Array, Needs, Number, Region
from surefoot.sets import Ball

__all__ = ["LeaderFollower", "TheoremE", "crawl_lower_bound"]


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

    default = CertifiedTuning(lambda: TheoremE)
    strongly_convex = CertifiedTuning(lambda: TheoremE, strongly_convex=True)

    @classmethod
    @tuning(
        listed=False,
        theta=number(),
        violations=count(0),
        largest_G_g=positive(),
        largest_violation=positive(),
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
            start_slack: -g at the first action at least, for the number of rounds outside in
                advance, which needs a Ball.

        Example:
            >>> from surefoot import Ball
            >>> player, promise = LeaderFollower.unknown(Ball(2.0), violations=1)
            >>> print(promise, float(promise.most_outside))
            Theorem U (an unknown constant) for any number of rounds (rounds outside) 1.0
        """
        if start_slack is not None:
            checks.positive(start_slack=start_slack)
            if not isinstance(domain, Ball):  # which makes a slack a lower bound on G_g
                rule = "None unless the domain is a Ball that holds the feasible set"
                raise checks.invalid("start_slack", rule, start_slack)
        knowledge = regions.EstimatedHull(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_G_g=largest_G_g,
            largest_violation=largest_violation,
        )
        known = Constants(R=knowledge.reach, G_g=largest_G_g, start_slack=start_slack)
        promise = Estimated(known, theta, violations, largest_violation)
        return Tuned(Certified(proposer=Leader(domain=domain), knowledge=knowledge), promise)


class TheoremE(PossibleHorizon, StrictStart):
    r"""Leader and follower: feasible in every round, from G_g and a strictly feasible start alone.

    .. math:: g(x_t) \le 0 \ \forall t .

    Every action is in a hull of certified balls (Theorem E of docs/hulls.md). The regret is bounded
    by what is observed (:class:`LeaderRegret`, Theorem F of docs/leader.md). In advance no more is
    known than that the costs of feasible points differ by at most :math:`2RG_f`.

    Args:
        constants: needs R, G_g, start_slack; G_f for the number above.
        horizon: the number of rounds meant, if there is one.
        strongly_convex: whether the leader's steps are those for strongly convex costs.
    """

    name: ClassVar[str] = "Theorem E (hulls of certified balls)"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")

    strongly_convex: bool = flag(default=False)

    @property
    def strong_convexity(self) -> float | None:
        """H where the leader's steps are :math:`2/(Ht)`; else None."""
        if not self.strongly_convex:
            return None
        return self.constants.require("strong_convexity", by=self.name)[0]

    def regret_bound(self, t: Number) -> Array:
        """Return :math:`2RG_ft`; inf where G_f is not known."""
        return self._at_worst(t)


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
