"""What certified rules share: arguments that several declare, and knowledge from constants."""

from __future__ import annotations

from typing import Any

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.parameters import Declared, nonnegative
from surefoot.core.types import Needs, Set
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.rows import CurvatureRows, curvature_of
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
