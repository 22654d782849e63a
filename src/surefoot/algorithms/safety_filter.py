"""A filter that makes the steps of any optimiser safe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms._allowing import errors_in
from surefoot.algorithms._start import start_in
from surefoot.algorithms._under_errors import length_under_errors
from surefoot.algorithms.certificate import CertifiedStep, Certifying
from surefoot.core import checks
from surefoot.core.arrays import dot, is_number, minimum, norm, number_like, record, to_numpy, where
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Number, Real
from surefoot.regions import error_of
from surefoot.sets import Ball, project_halfspace

__all__ = ["FilterState", "SafetyFilter"]


class FilterState(NamedTuple):
    """What the next proposal is judged by.

    Attributes:
        x: the action to play.
        start: the first action.
        rounds: how many rounds have been played.
        start_slack: alpha, the slack of the start; it comes with the first round.
        distance: A, a bound on the distance of x to the tightened set.
        since: under drift ``start`` is the deepest action, and this the round it was seen in.
    """

    x: Array
    start: Array
    rounds: Number
    start_slack: Number
    distance: Number
    since: Number = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyFilter(Certifying):
    r"""A filter from any proposed next action to one that is certainly feasible.

    The way there is shortened to the certified length and cut by the half-space:

    .. math::
        y_t     &= x_t + \min(1, r_t/\|z_t - x_t\|)(z_t - x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    for a proposal :math:`z_t` from momentum, Adam, a person: feasibility never depends on it.
    There is no regret bound; that is the proposer's affair.

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
        domain: a ball that contains the feasible set.
        rho: the tightening, cut off at half of the start's slack.
        decreasing: whether it is :math:`\rho/\sqrt t` in round t.
        sigma: a lower bound on the subgradients near the boundary, where one is known.
        evaluation_error: bound on the error of the g that is observed, where it may be larger than
            the rounding of a linear one (``constraint.evaluation_error(ball)``).
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the error of an observed slope.
        drift: bound on the change of g, at any point, from one round to the next.

    Example:
        >>> import numpy as np
        >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> state, info = safe.admit(state, np.array([0.0, 9.0]), -0.5, np.array([0.0, 1.0]))
        >>> state.x.round(6)  # 0.5 of slack would reach the limit; rho keeps 0.1 of it
        array([0. , 0.4])
    """

    constructors: ClassVar[tuple[str, ...]] = ("default",)

    G_g: Real
    domain: Ball
    rho: Real
    decreasing: bool = False
    sigma: Real | None = None
    evaluation_error: Real | None = None
    value_error: Real | None = None
    slope_error: Real | None = None
    drift: Real | None = None

    def __post_init__(self) -> None:
        self._check_fields()

    def init(self, x1: Array) -> FilterState:
        """Start at x1; its slack comes with the first round."""
        x1 = start_in(self.domain, x1)
        zero = number_like(x1, 0.0)
        return FilterState(x1, x1, zero, zero, zero, zero)

    def admit(
        self,
        state: FilterState,
        proposal: Array,
        g: Number,
        s: Array,
        value_error: Number | None = None,
    ) -> tuple[FilterState, CertifiedStep]:
        """Return the state whose ``x`` may be played, and what the step there knew.

        Args:
            state: the last one.
            proposal: the next action that somebody wants.
            g: the constraint's value at the last action.
            s: one subgradient there.
            value_error: a bound on the error of g in this round, instead of the filter's own.
        """
        x, start, rounds, start_slack, distance, since = state
        checks.like_action(proposal, x, "proposal")
        way, g, s = checks.feedback(x, Feedback(proposal - x, g, s))
        size = norm(way)
        if is_number(size) and not size < math.inf:
            checks.refuse_unfinite(to_numpy(proposal), "proposal")
            raise InvalidValueError(f"proposal must be a float away from x, got {proposal!r}")
        if (errors := error_of(self, value_error)) is None:
            length = self.certified_length(x, start, rounds, start_slack, distance, g, s)
        else:
            at = (x, start, rounds, start_slack, distance, since)
            length = length_under_errors(self, *at, g, s, errors)
        one = number_like(x, 1.0)
        share = minimum(one, length.max_step / where(size > 0, size, 1.0))
        share = where(length.max_step > 0, share, 0.0 * share)
        y = x + share * way
        excess = g - length.less + dot(s, y - x) + length.rho - length.noise
        p = project_halfspace(y, excess, s, length.squared)
        new, near = self.landed(x, rounds, length, p, share * size)
        start_slack = length.start_slack
        if length.anchored is not None:
            start, start_slack, since = length.anchored[3:6]
        after = (new, start, rounds + 1.0, start_slack, near, since)
        info = (self.G_g, rounds, g, s, distance, length, size, one, one, excess, p, new)
        return record(FilterState, after), record(CertifiedStep, info)

    @classmethod
    def default(cls, constants: Constants, domain: Ball | None = None) -> SafetyFilter:
        r"""Return a filter with nothing to choose: :math:`\rho_t = \tfrac12\sqrt{\alpha G_gR/t}`.

        The margin is that of :meth:`surefoot.algorithms.CertifiedPFS.default`.
        :meth:`surefoot.algorithms.RegionFilter.default` has none, and is slower along a face.

        Args:
            constants: needs R, G_g and start_slack; uses the errors and the drift.
            domain: a ball that holds the feasible set; that around 0 of radius R unless given.

        Example:
            >>> from surefoot import Constants
            >>> SafetyFilter.default(Constants(R=1.0, G_g=1.0, start_slack=0.25)).rho
            0.25
        """
        R, G_g, slack = as_constants(constants).require(
            "R", "G_g", "start_slack", by="SafetyFilter.default"
        )
        errors: dict[str, Any] = errors_in(constants)
        return cls(
            G_g=G_g,
            domain=Ball(R) if domain is None else domain,
            rho=0.5 * math.sqrt(slack * G_g * R),
            decreasing=True,
            evaluation_error=constants.evaluation_error or None,
            **errors,
        )
