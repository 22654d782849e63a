"""Filters from any proposed next action to one that is certainly feasible."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from surefoot.certified import Certified
from surefoot.certified_pair import MadeOf, Parts
from surefoot.core.algorithm import constructor, tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import count, flag, number, positive
from surefoot.core.types import ArrayLike, Needs, Set
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.unknown import Estimated
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.certified_length import CertifiedLength
from surefoot.knowledge.estimate import EstimatedCurvature
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.rows import CurvatureRows
from surefoot.proposers.proposals import Proposals
from surefoot.rules.certified.arguments import (
    ErrorBounds,
    UnknownSlope,
    hull_knowledge,
    not_where_unknown,
)
from surefoot.rules.certified.certified_pfs import margin
from surefoot.sets import Ball

__all__ = ["RegionFilter", "SafetyFilter"]


class SafetyFilter(Certified):
    r"""A filter from any proposed next action to one that is certainly feasible.

    The way there is shortened to the certified length and cut by the half-space:

    .. math::
        y_t     &= x_t + \min(1, r_t/\|z_t - x_t\|)(z_t - x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{\text{domain}}(p_t)

    for a proposal :math:`z_t` from momentum, Adam, a person: feasibility never depends on it.
    There is no regret bound; that is the proposer's affair.

    Args:
        G_g: a bound on the norms of subgradients of g.
        domain: a set that contains the feasible set and holds every action.
        rho: :math:`\rho`, or c of :math:`\rho_t = c/\sqrt t`.
        decreasing: whether the margin decreases.
        sigma: a lower bound on the norms of subgradients near the boundary, if there is one.
        value_error: how wrong a reported g may be.
        slope_error: how wrong a reported subgradient may be.
        drift: how much g may change from round to round.
        evaluation_error: how wrong a computed g may be beyond rounding.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> from surefoot import Ball
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
        >>> safe.update(state, seen).x.round(6)  # of the slack of 0.5, rho keeps 0.1
        array([0. , 0.4])
    """

    constructors: ClassVar[tuple[str, ...]] = ("default",)
    made_of: ClassVar[MadeOf] = ((Proposals,), (CertifiedLength,))
    declared_by: ClassVar[tuple[type, ...]] = (CertifiedLength, ErrorBounds, Parts)
    typical_needs: ClassVar[Needs] = Needs(cost_gradients=0, proposals=1)

    def __init__(
        self,
        *,
        G_g: float,
        domain: Set,
        rho: float,
        decreasing: bool = False,
        sigma: float | None = None,
        value_error: float = 0.0,
        slope_error: float = 0.0,
        drift: float = 0.0,
        evaluation_error: float = 0.0,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        errors = ErrorBounds(
            value_error=value_error,
            slope_error=slope_error,
            drift=drift,
            evaluation_error=evaluation_error,
        ).errors
        knowledge = CertifiedLength(
            G_g=G_g, domain=domain, rho=rho, decreasing=decreasing, sigma=sigma, errors=errors
        )
        super().__init__(proposer=Proposals(as_steps=True), knowledge=knowledge, ramp=ramp)

    @classmethod
    @constructor()
    def default(cls, constants: Constants, domain: Set | None = None) -> Self:
        r"""Return a filter with nothing to choose: :math:`\rho_t = \tfrac12\sqrt{\alpha G_gR/t}`.

        The margin is that of ``CertifiedPFS.default``.
        :meth:`surefoot.rules.RegionFilter.default` has none, and is slower along a face.

        Args:
            constants: needs R, G_g and start_slack; uses the errors and the drift.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.

        Example:
            >>> SafetyFilter.default(Constants(R=1.0, G_g=1.0, start_slack=0.25)).knowledge.rho
            0.25
        """
        as_constants(constants).require("R", "G_g", "start_slack", by="SafetyFilter.default")
        knowledge = CertifiedLength(
            rho=margin(constants), decreasing=True, **hull_knowledge(constants, domain)
        )
        return cls.of(Proposals(as_steps=True), knowledge)


class RegionFilter(Certified):
    r"""Takes any proposal to the nearest point that is certainly feasible.

    .. math:: x_{t+1} = \text{the point of the certified region nearest to the proposal } z_t

    What is known about g is one object of :mod:`surefoot.knowledge`: a bound on the subgradients
    (:class:`~surefoot.knowledge.LipschitzHull`), on the curvature, or rows apart. Feasibility never
    depends on the proposal. There is no regret bound; that is the proposer's affair.

    It has nothing to tune, and moves slowly along a face: an action on the boundary has no ball of
    its own, and gets ahead by way of the inside. :class:`~surefoot.rules.SafetyFilter`, which
    keeps a margin rho, is quicker there if rho is chosen well.

    Args:
        knowledge: what is known about g, with the errors and drift to allow for.
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.knowledge import LipschitzHull
        >>> safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
        >>> state, info = safe.step(state, seen)
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)
    """

    constructors: ClassVar[tuple[str, ...]] = ("default",)
    made_of: ClassVar[MadeOf] = ((Proposals,), (Knowledge,))
    unsupported: ClassVar[Mapping[str, str]] = {
        name: f"it belongs to the knowledge, as in RegionFilter(knowledge=LipschitzHull({example}))"
        for name, example in {
            "G_g": "G_g=...",
            "domain": "domain=...",
            "start_bound": "start_bound=...",
            "value_error": "errors=Errors(value=...)",
            "slope_error": "errors=Errors(slope=...)",
            "drift": "errors=Errors(drift=...)",
            "evaluation_error": "errors=Errors(evaluation=...)",
        }.items()
    }

    def __init__(
        self, *, knowledge: Knowledge, ramp: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(proposer=Proposals(), knowledge=knowledge, ramp=ramp)

    @classmethod
    @constructor()
    def default(cls, constants: Constants, domain: Set | None = None) -> Self:
        """Return the filter that G_g, the set around the feasible set and g's rounding allow."""
        as_constants(constants).require("G_g", by="the filter")
        return cls.of(Proposals(), LipschitzHull(**hull_knowledge(constants, domain)))

    @classmethod
    @tuning(
        lambda: UnknownSlope,
        listed=False,
        unsupported=not_where_unknown("RegionFilter(knowledge=LipschitzHull(G_g=...))"),
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
        """Few violations, counted, by any proposals for a g whose G_g is unknown: Theorem U.

        Args:
            domain: a bounded set that contains every action; a Ball must hold the feasible set.
            theta: the factor on the proved bound of G_g.
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
            >>> print(RegionFilter.unknown(Ball(2.0), violations=1).guarantee)
            Theorem U (an unknown constant) for any number of rounds (few violations)
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
        return Tuned(cls.of(Proposals(), known.knowledge), known.promise)

    @classmethod
    @tuning(
        listed=False,
        unsupported=dict.fromkeys(
            ("value_error", "slope_error", "drift", "context", "ramp", "start_bound"),
            "Theorem W is for exact readings of one g that does not change; give beta, as "
            "RegionFilter(knowledge=Curvature(beta=...)) takes it",
        )
        | {
            "rows": "Theorem W counts the violations of one smooth g, and the largest of several "
            "is not smooth: square |h| <= a as h^2 - a^2, or give RegionFilter.for_rows each beta",
            "largest_violation": "Theorem W bounds no single violation in advance",
            "largest_G_g": "it is largest_beta here, a bound on the curvature",
            "start_slack": "Theorem W counts from what the start proves when it is read",
        },
        theta=number(),
        violations=count(0),
        largest_beta=positive(),
        convex=flag(),
    )
    def unknown_curvature(
        cls,
        domain: Ball,
        *,
        theta: float = 2.0,
        violations: int | None = None,
        largest_beta: float | None = None,
        convex: bool = False,
    ) -> Tuned[Self]:
        """Few violations, counted, by any proposals for a smooth g of unknown curvature: Theorem W.

        For limits of networks, whose curvature nobody knows: g need not be convex.

        Args:
            domain: a ball that holds every action, and that the first estimate is made of.
            theta: the factor on the proved bound of beta.
            violations: how many rounds may violate at most; after the last nothing moves any
                more, unless ``largest_beta`` is known.
            largest_beta: an upper bound on beta, possibly far too large.
            convex: whether g is known to be convex, which no certificate needs.

        Example:
            >>> from surefoot import Ball
            >>> print(RegionFilter.unknown_curvature(Ball(50.0), violations=2).guarantee)
            Theorem U (an unknown constant) for any number of rounds (few violations)
        """
        knowledge = EstimatedCurvature(
            domain=domain,
            theta=theta,
            violations=violations,
            largest_beta=largest_beta,
            convex=convex,
        )
        constants = Constants(R=knowledge.reach, beta=largest_beta, convex=convex)
        promise = Estimated(constants, theta, violations, constant="beta")
        return Tuned(cls.of(Proposals(), knowledge), promise)

    @classmethod
    @constructor()
    def for_rows(cls, beta: ArrayLike, domain: Set, *, rows: int = 0, convex: bool = True) -> Self:
        """Return the filter of several constraints, by the smoothness constant of each.

        Args:
            beta: one number for all constraints, or one per constraint.
            domain: a known convex set that contains every action.
            rows: how many constraints there are; as many as there are constants unless given.
            convex: whether every constraint is convex.

        Example:
            >>> from surefoot.sets import Box
            >>> RegionFilter.for_rows([1.0, 0.0], Box([0.0], [1.0])).knowledge.row_count
            2
        """
        knowledge = CurvatureRows(beta=beta, rows=rows, domain=domain, convex=convex)
        return cls.of(Proposals(), knowledge)
