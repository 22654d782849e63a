r"""The guarantee for an unknown G_g or beta: a bound on the number of violations; Theorem U.

The theorems of :mod:`surefoot.knowledge.estimate` bound the number and the size of the violations.
The regret bounds of leaders (:class:`~surefoot.guarantees.LeaderRegret`) hold unchanged. The lemma
of the leader and Theorem F use the lag and cuts that contain the feasible set X; cuts at infeasible
actions contain X too, and no :math:`G_g` enters. In advance the only regret bound is that the costs
of two points of the domain differ by at most :math:`2RG_f`. Where values err by up to
:math:`\nu`, a violation of at most :math:`2\nu` may be missed, and no theorem bounds the number of
these.
"""

import math
from typing import ClassVar

import numpy as np

from surefoot.core.parameters import choice, count, number, positive
from surefoot.core.types import Array, Number
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import ConstraintForm, Guarantee, Kind, Measure
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.with_errors import allowed_errors_of

__all__ = ["Estimated"]


class Estimated(Guarantee):
    r"""Theorem U: a bound on the number of violations for an unknown G_g or beta.

    .. math:: J\ln\theta + \sum_j\ln(1 + g_j/\sigma_j) \le \ln(G/m_1), \qquad
              J \le \lceil\log_\theta(G/m_1)\rceil - 1

    for the J violations, no two of them adjacent; at most k if that many are allowed. The bound on
    the remaining violations improves after each round: the controller's ``explain()`` prints it.

    Args:
        constants: needs R; also G_g (or beta) and start_slack for a number in advance, unless k is
            given.
        theta: :math:`\theta`.
        violations: k.
        largest_violation: an upper bound on g.
        constant: which one is unknown, "G_g" or "beta".
        first: a lower bound on :math:`m_1`; that of a ball of radius R around the start's set, by
            start_slack, unless given.
        start_bound: g at the start is at most this; None where that is not known.

    Example:
        >>> from surefoot import Constants
        >>> promise = Estimated(Constants(R=2.0, G_g=4.0, start_slack=1.0))
        >>> float(promise.bounds(100)["violations"])
        2.0
    """

    name: ClassVar[str] = "Theorem U (an unknown constant)"
    kind: ClassVar[Kind] = "few violations"
    horizon = None

    theta: float = number(default=2.0)
    violations: int | None = count(0, default=None)
    largest_violation: float | None = positive(default=None)
    constant: str = choice("G_g", "beta", default="G_g")
    first: float | None = positive(default=None)
    start_bound: float | None = number(default=None)

    @property
    def constraint_form(self) -> ConstraintForm:
        """Convex if G_g is unknown, any form if beta is."""
        return "convex" if self.constant == "G_g" else "any"

    @property
    def ratio(self) -> float:
        """The largest ratio of the constant to its first lower bound; inf if unknown."""
        c = self.constants
        top, slack, first = c.G_g, c.start_slack or 0.0, self.first
        if first is None:
            first = slack / c.R
        if self.constant == "beta":
            top, first = c.beta, 2 * slack / c.reach**2
        return max(top / first, 1.0) if top is not None and first > 0 else math.inf

    @property
    def hidden(self) -> float:
        """The size of violations that errors of values may hide."""
        c = self.constants
        return 2 * (c.value_error or 0.0) + (c.evaluation_error or 0.0) * bool(c.value_error)

    @property
    def allowed_errors(self) -> dict[str, float]:
        """The errors that the constants name."""
        return allowed_errors_of(self.constants)

    @property
    def _conditions_on_g(self) -> tuple[str, ...]:
        """Assumptions on g that are not watched."""
        words = super()._conditions_on_g
        if self.start_bound is None:
            return words
        return (*words, f"g at the start is at most {self.start_bound:.6g}")

    def _list_uncovered(self) -> tuple[str, ...]:
        """Return the cases that feasibility does not cover."""
        words = super()._list_uncovered()
        if not self.hidden:
            return words
        return (f"violations of at most {self.hidden:.3g}, which errors may hide", *words)

    @property
    def most_violations(self) -> float:
        """An upper bound on the number of violations."""
        if self.violations is not None:
            return self.violations
        if not self.ratio < math.inf:
            return math.inf
        return max(math.ceil(math.log(self.ratio) / math.log(self.theta)) - 1, 0)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return a bound on the number of violations; no two are adjacent, none is in round 1.

        It is infinite where errors may hide some.
        """
        most = np.minimum(np.floor(as_floats(t) / 2), self.most_violations)
        bounds: dict[Measure, Array] = {
            "violations": np.full_like(most, np.inf) if self.hidden else most
        }
        if self.largest_violation is not None:
            bounds["round"] = np.full_like(as_floats(t), self.largest_violation)
        return bounds

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The start, and the bounds that are given."""
        c, premises = self.constants, []
        if c.G_f is not None:
            premises.append(Premise("cost gradient", "G_f", c.G_f, only_regret=True))
        if c.G_g is not None:
            limit = c.G_g + (c.slope_error or 0.0)
            premises.append(Premise("constraint subgradient", "G_g", limit))
        if c.start_slack is not None:
            slack = c.start_slack - (c.value_error or 0.0)
            premises.append(Premise("start", "the slack counted on", slack))
        return tuple(premises)
