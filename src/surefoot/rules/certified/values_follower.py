"""Leader and follower with only values of g: differences estimate subgradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.types import Needs, Set
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import PossibleHorizon
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge import (
    ContextHull,
    EstimatedHull,
    GivenContext,
    Knowledge,
    LipschitzHull,
    Response,
    Settling,
)
from surefoot.proposers.leader import Leader
from surefoot.proposers.probing import DOUBT, NEAR, PROBE, Probing
from surefoot.rules.certified.arguments import (
    ErrorBounds,
    UnknownSlope,
    hull_knowledge,
    not_where_unknown,
    settle,
)
from surefoot.rules.certified.leader_follower import LeaderFollower

__all__ = ["ValuesFollower", "ValuesOnly"]


class ValuesFollower(Certified):
    r"""Leader and follower from values of g alone: safe from G_g, no slopes needed.

    It plays as :class:`~surefoot.rules.LeaderFollower` does, with
    :class:`~surefoot.proposers.Probing` around its leaders: where they are out of reach, it
    measures slopes by differences. No slope is reported, so none can err.

    Args:
        G_g: a bound on the norms of subgradients of g.
        domain: a set that contains the feasible set and holds every action; of choices
            (:class:`~surefoot.knowledge.Choices`) the box contains it, where the leaders learn.
        cuts: how many half-spaces the leaders remember; a default by dimension unless given.
        reach: the largest norm of a feasible point; that of the domain unless given.
        start_bound: a bound on g at the start in every round, for drift and contexts.
        context: what is known of each number that is announced before a round, one
            :class:`~surefoot.knowledge.Column` or several; see
            :class:`~surefoot.knowledge.ContextHull`.
        probe: the length of a probe, relative to the radius of the certified ball; below 1/2.
        doubt: which part of the slack may be unexplained without a probe.
        near: how close to the boundary probes begin, relative to the deepest action.
        value_error: how wrong a reported g may be.
        drift: how much g may change from round to round.
        evaluation_error: how wrong a computed g may be beyond rounding.
        ramp: how far an action may be from the last one; None for any distance.
        response: how readings lag behind the action (:class:`~surefoot.knowledge.Response`); None
            where they do not.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = ValuesFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> feedback = Feedback(np.array([0.0, -4.0]), -0.5)
        >>> player.update(state, feedback).x.round(6)  # as far as the slack of 0.5 reaches
        array([0. , 0.5])
    """

    made_of: ClassVar[MadeOf] = ((Probing,), (LipschitzHull, ContextHull, EstimatedHull, Settling))
    unsupported: ClassVar[Mapping[str, str]] = {
        "slope_error": "it reads values alone, and no slope; LeaderFollower has slope_error",
        "leader": "its leaders learn from differences of values; LeaderFollower has leader",
        "strong_convexity": "its leaders are those for any cost; LeaderFollower has it",
    }
    declared_by: ClassVar[tuple[type, ...]] = (
        Probing,
        Leader,
        LipschitzHull,
        ContextHull,
        ErrorBounds,
        Parts,
        Settling,
    )
    typical_needs: ClassVar[Needs] = LeaderFollower.typical_needs._replace(
        constraint_subgradients=0
    )

    def __init__(
        self,
        *,
        G_g: float,
        domain: Set,
        cuts: int | None = None,
        reach: float | None = None,
        start_bound: float | None = None,
        context: GivenContext | None = None,
        probe: float = PROBE,
        doubt: float = DOUBT,
        near: float = NEAR,
        value_error: float = 0.0,
        drift: float = 0.0,
        evaluation_error: float = 0.0,
        ramp: float | Sequence[float] | None = None,
        response: Response | None = None,
    ) -> None:
        if np.ndim(G_g):
            rule = (
                "one number for ValuesFollower, which learns one slope from differences of values: "
                "report the largest of the limits and give the largest G_g, or take "
                "LeaderFollower, which is reported a slope of each"
            )
            raise checks.invalid("G_g", rule, G_g)
        checks.positive(G_g=G_g)
        leader = Leader(domain=domain, cuts=cuts)
        proposer = Probing(leader=leader, probe=probe, doubt=doubt, near=near)
        errors = ErrorBounds(
            value_error=value_error, drift=drift, evaluation_error=evaluation_error
        ).errors
        knowledge: Knowledge
        if context is None:
            knowledge = LipschitzHull(
                G_g=G_g, domain=domain, reach=reach, start_bound=start_bound, errors=errors
            )
        else:
            knowledge = ContextHull(
                G_g=G_g,
                domain=domain,
                reach=reach,
                start_bound=start_bound,
                errors=errors,
                context=context,
            )
        knowledge = settle(knowledge, response)
        super().__init__(proposer=proposer, knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: ValuesOnly)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from G_g, the start and values of g alone.

        Args:
            constants: needs R, G_g and start_slack; uses the error of values and the drift.
            horizon: unused; every tuning takes one.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        checks.check_possible_horizon(horizon)
        theorem = ValuesOnly(constants)
        arguments = hull_knowledge(constants, domain)
        proposer = Probing(leader=Leader(domain=arguments["domain"]))
        return Tuned(cls.of(proposer, LipschitzHull(**arguments)), under_errors(theorem))

    @classmethod
    @tuning(
        lambda: UnknownSlope, listed=False, unsupported=not_where_unknown("ValuesFollower(G_g=...)")
    )
    def unknown(
        cls,
        domain: Set,
        *,
        theta: float = 2.0,
        violations: int | None = None,
        largest_G_g: float | None = None,
        largest_violation: float | None = None,
        start_slack: float | None = None,
        value_error: float = 0.0,
        evaluation_error: float = 0.0,
        start_bound: float | None = None,
    ) -> Tuned[Self]:
        """Few violations, counted, from values of a g whose G_g is unknown: Theorem U.

        Args:
            domain: a bounded set that contains every action; a Ball must hold the feasible set.
            theta: the factor on the proved bound of G_g.
            violations: how many rounds may violate at most; one without a measurement counts.
            largest_G_g: an upper bound on G_g on the domain, possibly far too large.
            largest_violation: an upper bound on every violation; needs ``largest_G_g``.
            start_slack: -g at the first action at least, for the number of violations in advance.
            value_error: how wrong a reported g may be; violations of twice that may be missed.
            evaluation_error: how wrong a computed g may be beyond rounding.
            start_bound: g at the start is at most this.

        Example:
            >>> from surefoot.sets import Box
            >>> box, slack = Box([0.0], [2.0]), {"start_slack": 1.0, "largest_G_g": 4.0}
            >>> float(ValuesFollower.unknown(box, **slack).guarantee.most_violations)
            2.0
        """
        known = UnknownSlope(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_G_g=largest_G_g,
            largest_violation=largest_violation,
            start_slack=start_slack,
            value_error=value_error,
            evaluation_error=evaluation_error,
            start_bound=start_bound,
        )
        proposer = Probing(leader=Leader(domain=domain))
        return Tuned(cls.of(proposer, known.knowledge), known.promise)


class ValuesOnly(PossibleHorizon, StrictStart):
    r"""Values alone: feasible in every round, from G_g and a strictly feasible start.

    .. math:: g(x_t) \le 0 \ \forall t .

    The hull of balls that certifies an action is made of values and G_g, and no slope enlarges it
    (Theorem E of docs/hulls.md), so that estimates of slopes may steer and never certify. No
    regret bound is claimed: in advance no more is known than that the costs of two feasible points
    differ by at most :math:`2RG_f`. docs/values.md has the statement and what was measured.

    Args:
        constants: needs R, G_g, start_slack; G_f for the number above.
        horizon: the intended number of rounds, if there is one.
    """

    name: ClassVar[str] = "Values only"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")
