"""What certified rules share: arguments that several declare, and knowledge from constants."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.parameters import Declared, anything, count, nonnegative, number, positive
from surefoot.core.types import Needs, Set
from surefoot.guarantees.unknown import Estimated
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.estimate import EstimatedHull
from surefoot.knowledge.response import Response
from surefoot.knowledge.rows import CurvatureRows, curvature_of
from surefoot.knowledge.settling import Settling
from surefoot.knowledge.together import Together
from surefoot.sets import Ball

ROWS_NEED = Needs(numpy_only=True, one_run=True)
"""The needs of rules whose knowledge may have several rows."""


class ErrorBounds(Declared):
    """The four bounds of :class:`~surefoot.knowledge.Errors`, as rules and constants call them."""

    value_error: float = nonnegative(default=0.0)
    slope_error: float = nonnegative(default=0.0, infinite=True)
    drift: float = nonnegative(default=0.0)
    evaluation_error: float = nonnegative(default=0.0)

    @property
    def errors(self) -> Errors:
        """The bounds as knowledge has them."""
        return Errors(
            value=self.value_error,
            slope=self.slope_error,
            drift=self.drift,
            evaluation=self.evaluation_error,
        )


class UnknownSlope(Declared):
    """What is known where nobody knows G_g, as tunings ``unknown`` take it; Theorem U.

    Args:
        domain: a bounded set that contains every action; a Ball must hold the feasible set.
        theta: the factor on the proved bound of G_g.
        violations: how many rounds may violate at most; one without a measurement counts.
        largest_G_g: an upper bound on G_g on the domain, possibly far too large.
        largest_violation: an upper bound on every violation; needs ``largest_G_g``.
        start_slack: -g at the first action at least, for the number of violations in advance.
        value_error: how wrong a reported g may be.
        slope_error: how wrong a reported subgradient may be.
        evaluation_error: how wrong a computed g may be beyond rounding.
        start_bound: g at the start is at most this.
    """

    domain: Any = anything("a bounded set")
    theta: float = number(default=2.0)
    violations: int | None = count(0, default=None)
    largest_G_g: float | None = positive(default=None)
    largest_violation: float | None = positive(default=None)
    start_slack: float | None = positive(default=None)
    value_error: float = nonnegative(default=0.0)
    slope_error: float = nonnegative(default=0.0, infinite=True)
    evaluation_error: float = nonnegative(default=0.0)
    start_bound: float | None = number(default=None)

    @property
    def knowledge(self) -> EstimatedHull:
        """What is known of g."""
        errors = Errors(
            value=self.value_error, slope=self.slope_error, evaluation=self.evaluation_error
        )
        return EstimatedHull(
            domain=self.domain,
            theta=self.theta,
            violations=self.violations,
            largest_G_g=self.largest_G_g,
            largest_violation=self.largest_violation,
            start_bound=self.start_bound,
            errors=errors,
        )

    @property
    def promise(self) -> Estimated:
        """Theorem U; with a slack of the start and the largest G_g, a number in advance."""
        knowledge, slack, first = self.knowledge, self.start_slack, None
        hidden = 2 * (self.value_error + self.evaluation_error)  # by the first reading
        proved = [] if slack is None else [slack - hidden]
        proved += [] if self.start_bound is None else [-self.start_bound]
        if proved:
            if not max(proved) > 0:
                rule = f"above {hidden:.6g}, twice the error of a value, which the start may hide"
                raise checks.invalid("start_slack", rule, slack)
            first = knowledge.begin_with(max(proved))
        slope_error = self.slope_error if self.slope_error < math.inf else 0.0
        constants = Constants(
            R=knowledge.reach,
            G_g=self.largest_G_g,
            start_slack=slack,
            value_error=self.value_error or None,
            slope_error=slope_error or None,
            evaluation_error=self.evaluation_error or None,
        )
        return Estimated(
            constants,
            self.theta,
            self.violations,
            self.largest_violation,
            first=first,
            start_bound=self.start_bound,
        )


def not_where_unknown(known: str) -> dict[str, str]:
    """Return the parameters that do not go with an unknown G_g: why, and what to take instead.

    Args:
        known: the call that takes a given G_g.
    """
    give = f"give G_g, which may be far too large, to {known}"
    one = "Theorem U counts the violations of one g, so report the largest of several limits"
    return {
        "drift": f"Theorem U counts the violations of one g that does not change; {give}",
        "context": f"Theorem U counts the violations of one g, and contexts move it; {give}",
        "ramp": f"after a violation no action that is near need be feasible; {give}",
        "G_g": f"{one}; {give}, or to this as largest_G_g",
        "rows": f"{one}; {give}",
        "reach": "it is that of the domain",
        "constants": "it takes the domain, as a Ball that holds the feasible set",
        "horizon": "Theorem U is for any number of rounds: leave it out",
        "convex": "Theorem U is for a convex g; CertifiedOGD.unknown(ball, convex=False) is not",
        "beta": "CertifiedOGD.unknown is for curvatures",
    }


def settle(knowledge: Knowledge, response: Response | None) -> Knowledge:
    """Return knowledge whose readings lag by a response, those of every limit; None for no lag."""
    if response is None:
        return knowledge
    if not isinstance(knowledge, Together):
        return Settling(knowledge=knowledge, response=response)
    rows = tuple(Settling(knowledge=row, response=response) for row in knowledge.rows)
    return replace(knowledge, rows=rows)


def hull_knowledge(constants: Constants, domain: Set | None) -> dict[str, Any]:
    """Return what knowledge by a bound on slopes is made of; the ball of radius R for no set."""
    domain = Ball(constants.R) if domain is None else domain
    errors = Errors.of(constants)
    return {"G_g": constants.G_g, "domain": domain, "errors": errors, "convex": constants.convex}


def curvature_knowledge(
    constants: Constants, domain: Set | None, theorem: str
) -> Curvature | CurvatureRows:
    """Return the curvature that constants name, on a known convex set or on none.

    Args:
        constants: the constants.
        domain: the set.
        theorem: the name of the theorem that the tuning promises.
    """
    if not getattr(domain, "is_convex", True):
        rule = f"convex for {theorem}: without its promise, give the rule a knowledge with choices"
        raise checks.invalid("domain", rule, domain)
    return curvature_of(constants, domain)
