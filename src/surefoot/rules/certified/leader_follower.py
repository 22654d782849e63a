"""A leader that learns and is never played; a certified follower that goes after it; Theorem E."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import Declared, anything, flag
from surefoot.core.points import reach_of
from surefoot.core.types import Array, Needs, Number, Player, Set
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import PossibleHorizon
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge import (
    ContextHull,
    Errors,
    EstimatedHull,
    GivenContext,
    Knowledge,
    LipschitzHull,
    Response,
    Settling,
    Together,
)
from surefoot.proposers.leader import Leader
from surefoot.rules.certified.arguments import (
    ErrorBounds,
    UnknownSlope,
    hull_knowledge,
    not_where_unknown,
    settle,
)

if TYPE_CHECKING:
    from surefoot.rules.wrappers.change_over import ChangeOver

__all__ = ["LeaderFollower", "TheoremE", "slow_start_lower_bound"]


class Slopes(Declared):
    """How steep g may be, or each of its rows."""

    G_g: Any = anything("a finite number > 0, or one per limit")


class LeaderFollower(Certified):
    r"""Learn with a leader, play a follower: safe from G_g alone, with the regret of the leader.

    Leaders, never played, learn on all half-spaces seen so far: one adds up all gradients, others
    descend, and what leads is their mean (:class:`~surefoot.proposers.Leader` has the formulas).
    The follower, which is played, goes after it inside convex hulls of balls that are certainly
    feasible (:class:`~surefoot.knowledge.LipschitzHull`). Safety is these hulls alone, whatever the
    leaders do.

    Where ``G_g`` has several numbers, g is the largest of as many limits, each with its own bound.
    All of them are reported in every round, ``(m,)`` values and ``(m, d)`` subgradients, and each
    has a hull of its own (:class:`~surefoot.knowledge.Together`).

    Args:
        G_g: a bound on the norms of subgradients of g; several numbers for several limits.
        domain: a set that contains the feasible set and holds every action; of choices
            (:class:`~surefoot.knowledge.Choices`) the box contains it, where the leaders learn.
        cuts: how many half-spaces the leaders remember; a default by dimension unless given.
        leader: an algorithm of your own that leads instead.
        strong_convexity: H of strongly convex costs, whose steps are 2/(Ht).
        reach: the largest norm of a feasible point; that of the domain unless given.
        start_bound: a bound on g at the start in every round, for drift and contexts; of several
            limits, one that holds for all of them, as the errors and the drift do.
        context: what is known of each number that is announced before a round, one
            :class:`~surefoot.knowledge.Column` or several; see
            :class:`~surefoot.knowledge.ContextHull`. Several limits have the same columns.
        value_error: how wrong a reported g may be.
        slope_error: how wrong a reported subgradient may be.
        drift: how much g may change from round to round.
        evaluation_error: how wrong a computed g may be beyond rounding.
        ramp: how far an action may be from the last one; None for any distance.
        response: how readings lag behind the action (:class:`~surefoot.knowledge.Response`); None
            where they do not.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-3.0, -4.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # on the way to its leaders, 0.5 long
        array([0.325313, 0.379699])
        >>> player = LeaderFollower(G_g=[1.0, 30.0], domain=Ball(1.0))
        >>> state = player.init(np.zeros(2))  # the limits are x[0] <= 0.5 and 30 x[1] <= 15
        >>> seen = Feedback(np.array([-1.0, 0.0]), np.array([-0.5, -15.0]), np.diag([1.0, 30.0]))
        >>> bool(player.update(state, seen).x[0] > 0.2)  # with G_g = 30 it would be 0.017 at most
        True
    """

    made_of: ClassVar[MadeOf] = (
        (Leader,),
        (LipschitzHull, ContextHull, EstimatedHull, Settling, Together),
    )
    declared_by: ClassVar[tuple[type, ...]] = (
        Slopes,
        Leader,
        LipschitzHull,
        ContextHull,
        ErrorBounds,
        Parts,
        Settling,
    )
    typical_needs: ClassVar[Needs] = Needs(work="K d", numpy_only=True, one_run=True)

    def __init__(
        self,
        *,
        G_g: float | Sequence[float],
        domain: Set,
        cuts: int | None = None,
        leader: Player | None = None,
        strong_convexity: float | None = None,
        reach: float | None = None,
        start_bound: float | None = None,
        context: GivenContext | None = None,
        value_error: float = 0.0,
        slope_error: float = 0.0,
        drift: float = 0.0,
        evaluation_error: float = 0.0,
        ramp: float | Sequence[float] | None = None,
        response: Response | None = None,
    ) -> None:
        proposer = Leader(
            domain=domain, cuts=cuts, leader=leader, strong_convexity=strong_convexity
        )
        slope_bound: Any = G_g
        has_rows = isinstance(G_g, list | tuple) or bool(np.ndim(slope_bound))
        bounds = {
            "value_error": value_error,
            "slope_error": slope_error,
            "drift": drift,
            "evaluation_error": evaluation_error,
        }
        if has_rows:
            _refuse_lists(bounds | {"start_bound": start_bound})
        errors = ErrorBounds(**bounds).errors
        knowledge: Knowledge
        if has_rows:
            knowledge = _hull_per_limit(G_g, domain, reach, start_bound, errors, context)
        elif context is None:
            knowledge = LipschitzHull(
                G_g=slope_bound, domain=domain, reach=reach, start_bound=start_bound, errors=errors
            )
        else:
            knowledge = ContextHull(
                G_g=slope_bound,
                domain=domain,
                reach=reach,
                start_bound=start_bound,
                errors=errors,
                context=context,
            )
        knowledge = settle(knowledge, response)
        super().__init__(proposer=proposer, knowledge=knowledge, ramp=ramp)

    @classmethod
    @tuning(lambda: TheoremE)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from G_g and the start; regret observed: Theorems E and F.

        Args:
            constants: needs R, G_g and start_slack; uses the errors and the drift.
            horizon: unused; every tuning takes one.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        checks.check_possible_horizon(horizon)
        return cls._tune(TheoremE(constants), domain)

    @classmethod
    @tuning(lambda: TheoremE)
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round, with the steps for strongly convex costs; regret observed.

        Args:
            constants: needs R, G_g, start_slack and strong_convexity; uses errors and drift.
            horizon: unused; every tuning takes one.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        checks.check_possible_horizon(horizon)
        return cls._tune(TheoremE(constants, strongly_convex=True), domain)

    @classmethod
    @tuning(lambda: import_module("surefoot.rules.wrappers.change_over").ChangeOverTheorem)
    def promised(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[ChangeOver]:
        """As default, with a regret bound in advance: Change-over.

        It plays what default plays, unless the observed bound on the regret uses up a budget; then
        CertifiedPFS.bounded plays from the start on.

        Args:
            constants: needs R, G_f, G_g and start_slack; uses start_reach and sigma; no errors.
            horizon: the number of rounds; None where it is not known, which costs a factor of 3.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        from surefoot.rules.wrappers.change_over import ChangeOver, ChangeOverTheorem, refuse_errors

        checks.check_possible_horizon(horizon)
        refuse_errors(as_constants(constants))
        theorem = ChangeOverTheorem(constants, horizon)
        first = cls._tune(TheoremE(constants), domain).algorithm
        return Tuned(ChangeOver(base=first, constants=constants, horizon=horizon), theorem)

    @classmethod
    def _tune(cls, theorem: TheoremE, domain: Set | None) -> Tuned[Self]:
        arguments = hull_knowledge(theorem.constants, domain)
        leader = Leader(domain=arguments["domain"], strong_convexity=theorem.strong_convexity)
        return Tuned(cls.of(leader, LipschitzHull(**arguments)), under_errors(theorem))

    @classmethod
    @tuning(
        lambda: UnknownSlope, listed=False, unsupported=not_where_unknown("LeaderFollower(G_g=...)")
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
        slope_error: float = 0.0,
        evaluation_error: float = 0.0,
        start_bound: float | None = None,
    ) -> Tuned[Self]:
        r"""Few violations, counted, for a g whose G_g is unknown: Theorem U.

        Args:
            domain: a bounded set that contains every action; a Ball must hold the feasible set.
            theta: the factor on the proved bound of G_g. Larger is slower, with fewer violations:
                :math:`\theta\ln^2\theta = c` is best, c the cost of a violation times
                :math:`\ln(G_g/m_1)` over the regret of the slow start.
            violations: how many rounds may violate at most; one without a measurement counts.
            largest_G_g: an upper bound on G_g on the domain, possibly far too large.
            largest_violation: an upper bound on every violation; needs ``largest_G_g``.
            start_slack: -g at the first action at least, for the number of violations in advance.
            value_error: how wrong a reported g may be; violations of twice that may be missed.
            slope_error: how wrong a reported subgradient may be.
            evaluation_error: how wrong a computed g may be beyond rounding.
            start_bound: g at the start is at most this.

        Example:
            >>> from surefoot import Ball
            >>> player, promise = LeaderFollower.unknown(Ball(2.0), violations=1)
            >>> print(promise, float(promise.most_violations))
            Theorem U (an unknown constant) for any number of rounds (few violations) 1.0
        """
        known = UnknownSlope(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_G_g=largest_G_g,
            largest_violation=largest_violation,
            start_slack=start_slack,
            value_error=value_error,
            slope_error=slope_error,
            evaluation_error=evaluation_error,
            start_bound=start_bound,
        )
        return Tuned(cls.of(Leader(domain=domain), known.knowledge), known.promise)


def _refuse_lists(given: Mapping[str, object]) -> None:
    """Raise for a bound per limit: those of the constructor are for each of the limits."""
    for name, value in given.items():
        if isinstance(value, list | tuple | np.ndarray) and np.ndim(value):
            rule = (
                "one number, which is right for every limit: take the largest, or the parts, "
                "Certified(proposer=Leader(...), knowledge=Together(rows=...)) with a "
                "LipschitzHull for each limit"
            )
            raise checks.invalid(name, rule, value)


def _hull_per_limit(
    G_g: Any,
    domain: Set,
    reach: float | None,
    start_bound: float | None,
    errors: Errors,
    context: GivenContext | None,
) -> Together:
    """Return one hull for each limit; the domain is that of all of them."""
    norms = checks.to_vector(G_g, "G_g")
    radius = reach_of(domain) if reach is None else reach
    rows: list[Knowledge] = []
    shared: dict[str, Any] = {"reach": radius, "start_bound": start_bound, "errors": errors}
    for i, each in enumerate(norms.tolist()):
        checks.positive(**{f"G_g[{i}]": each})
        if context is None:
            rows.append(LipschitzHull(G_g=each, **shared))
        else:
            rows.append(ContextHull(G_g=each, context=context, **shared))
    return Together(rows=tuple(rows), domain=domain)


class TheoremE(PossibleHorizon, StrictStart):
    r"""Leader and follower: feasible in every round, from G_g and a strictly feasible start alone.

    .. math:: g(x_t) \le 0 \ \forall t .

    Every action is in a hull of certified balls (Theorem E of docs/hulls.md). What is observed
    bounds the regret (:class:`~surefoot.guarantees.LeaderRegret`, Theorem F). In advance no more is
    known than that the costs of feasible points differ by at most :math:`2RG_f`.

    Args:
        constants: needs R, G_g, start_slack; G_f for the number above.
        horizon: the number of rounds meant, if there is one.
        strongly_convex: whether the leader's steps are those for strongly convex costs.
    """

    name: ClassVar[str] = "Theorem E (hulls of certified balls)"
    observed_theorem: ClassVar[str] = "Theorem F"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")

    strongly_convex: bool = flag(default=False)

    @property
    def strong_convexity(self) -> float | None:
        """H where the leader's steps are :math:`2/(Ht)`; else None."""
        if not self.strongly_convex:
            return None
        return self.constants.require("strong_convexity", by=self.name)[0]


def slow_start_lower_bound(t: Number, *, G_f: float, D: float, kappa: float) -> Array:
    r"""Return the regret that no safe rule stays below on the instance of Theorem H.

    .. math:: G_fD\kappa\big(1 - (1 - 1/\kappa)^T\big)

    Args:
        t: T, a number of rounds or an array of them.
        G_f: the norm of the cost gradients.
        D: the largest distance from the start to a feasible point.
        kappa: :math:`G_gD/\alpha`, at least 1.

    Example:
        >>> float(slow_start_lower_bound(2, G_f=1.0, D=1.0, kappa=2.0))
        1.5
    """
    checks.positive(kappa=kappa)
    T = np.asarray(t, dtype=np.float64)
    return G_f * D * kappa * (1 - (1 - 1 / kappa) ** T)
