"""Polyak feasibility steps whose length is certified before the action is played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms._allowing import errors_in
from surefoot.algorithms._length import CertifiedLength
from surefoot.algorithms._start import start_in
from surefoot.algorithms._under_errors import length_under_errors
from surefoot.algorithms.certificate import CertifiedStep, Certifying
from surefoot.core import checks
from surefoot.core.arrays import dot, maximum, number_like, record, sqrt, squared_and_norm, where
from surefoot.core.constants import Constants, as_constants
from surefoot.core.types import Array, Feedback, Needs, Number, Real, Source
from surefoot.regions import error_of
from surefoot.sets import Ball, project_halfspace
from surefoot.theory import ObservedRegret, TheoremD, Tuned, under_errors

__all__ = ["CertifiedPFS", "CertifiedState"]

_ROOT_2 = math.sqrt(2)


class CertifiedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action.
        rounds: how many rounds have been played.
        start_slack: alpha, the slack of the start; it comes with the first feedback.
        distance: A, a bound on the distance of x to the tightened set.
        inverse_eta: 1/eta of the last step, which never falls.
        squares: the sum of the squared norms of the cost gradients.
        since: under drift ``start`` is the deepest action, and this the round it was seen in.
    """

    x: Array
    start: Array
    rounds: Number
    start_slack: Number
    distance: Number
    inverse_eta: Number
    squares: Number
    since: Number = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedPFS(Certifying):
    r"""Polyak feasibility steps of certified length: safe without G_f, sigma or horizon.

    Each round computes the longest step after which the next action is certainly feasible, and
    takes a gradient step no longer than that:

    .. math::
        r_t        &= \rho_t/G_g - B_t \\
        1/\eta_t   &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), \|\nabla_t\|/r_t) \\
        y_t        &= x_t - \eta_t \nabla_t \\
        p_t        &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1}    &= \Pi_{R\mathbb{B}}(p_t)

    with :math:`S_t = \sum_{s \le t}\|\nabla_s\|^2` and :math:`B_t` the distance to the tightened
    set that is left after the half-space projection (:mod:`surefoot.algorithms.certificate`).

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
            The one constant that safety rests on.
        domain: a ball that contains the feasible set.
        rho: the tightening, cut off at half of the start's slack.
        decreasing: whether it is :math:`\rho/\sqrt t` in round t, which needs no horizon.
        eta: a fixed limit on the step size instead of :math:`\sqrt2R/\sqrt{S_t}`.
        ratchet: whether the step size never rises again, which the regret bound needs. Without
            it each step is limited by itself: as safe, at times better, and without a regret proof.
        sigma: a lower bound on the subgradients near the boundary, where one is known: longer
            certified steps.
        evaluation_error: bound on the error of the g that is observed, where it may be larger than
            the rounding of a linear one (``constraint.evaluation_error(ball)``).
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the error of an observed slope.
        drift: bound on the change of g, at any point, from one round to the next. With any of the
            three the steps are those of :mod:`surefoot.algorithms._under_errors`.

    Example:
        >>> import numpy as np
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0.158114, 0.25    ])
    """

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("Surefoot", "derived here")
    tunings: ClassVar[tuple[str, ...]] = ("default", "known_horizon")

    G_g: Real
    domain: Ball
    rho: Real
    decreasing: bool = True
    eta: Real | None = None
    ratchet: bool = True
    sigma: Real | None = None
    evaluation_error: Real | None = None
    value_error: Real | None = None
    slope_error: Real | None = None
    drift: Real | None = None

    def __post_init__(self) -> None:
        self._check_fields()
        if self.eta is not None:
            checks.positive(eta=self.eta)
            checks.plain(self, "eta")

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = start_in(self.domain, x1)
        zero = number_like(x1, 0.0)
        return CertifiedState(x1, x1, zero, zero, zero, zero, zero, zero)

    def update(self, state: CertifiedState, feedback: Feedback) -> CertifiedState:
        """Return the state after a round: the lines of the docstring."""
        return self.step(state, feedback)[0]

    def step(
        self, state: CertifiedState, feedback: Feedback
    ) -> tuple[CertifiedState, CertifiedStep]:
        """Return the state after a round and what the step knew."""
        x, start, rounds, start_slack, distance, last, squares, since = state
        grad, g, s = checks.feedback(x, feedback)
        if (errors := error_of(self, feedback[4])) is None:
            length = self.certified_length(x, start, rounds, start_slack, distance, g, s)
        else:
            at = (x, start, rounds, start_slack, distance, since)
            length = length_under_errors(self, *at, g, s, errors)
        squared, size = gradient_size(grad)
        squares = squares + squared
        wanted, inverse, eta = self.step_size(length, last, squares, size)
        y = x - eta * grad
        excess = g - length.less + dot(s, y - x) + length.rho - length.noise
        p = project_halfspace(y, excess, s, length.squared)
        new, near = self.landed(x, rounds, length, p, eta * size)
        start_slack = length.start_slack
        if length.anchored is not None:
            start, start_slack, since = length.anchored[3:6]
            # A pull is no step: it leaves the step size as it was.
            inverse = where(length.max_step > 0, inverse, last)
        after = (new, start, rounds + 1.0, start_slack, near, inverse, squares, since)
        info = (self.G_g, rounds, g, s, distance, length, size, wanted, inverse, excess, p, new)
        return record(CertifiedState, after), record(CertifiedStep, info)

    def step_size(
        self,
        length: CertifiedLength,
        inverse_eta: Number,
        squares: Number,
        size: Number,
    ) -> tuple[Number, Number, Number]:
        """Return 1/eta without a limit on the length, 1/eta with it, and eta.

        The last is 0 where no step is certified or there is no gradient.
        """
        if self.eta is None:
            wanted = sqrt(squares) / (_ROOT_2 * self.domain.radius)
        else:
            wanted = 1 / self.eta
        if self.ratchet:
            wanted = maximum(wanted, inverse_eta)
        moves = length.max_step > 0
        inverse = maximum(wanted, size / where(moves, length.max_step, math.inf))
        # The step size of a gradient that is no longer than a rounding of 0 would be infinite.
        return wanted, inverse, 1.0 / where(moves & (inverse > 1e-300), inverse, math.inf)

    def observer(self) -> ObservedRegret | None:
        """Return Theorem D's sums; None without the ratchet, or with errors, which it has not."""
        exact = self.value_error is None and self.slope_error is None and self.drift is None
        return ObservedRegret() if self.ratchet and exact else None

    @classmethod
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[CertifiedPFS]:
        r"""Tune by Theorem D, :math:`\rho_t = \min(\alpha/2, \sqrt{\alpha G_gR/(4t)})`; no horizon.

        Uses R, G_g and the start; G_f only for the number in the regret bound, and the horizon
        not at all: all tunings take one. The margin is chosen for costs whose mean stays.
        """
        return cls._with(TheoremD(constants, _margin(constants)), domain)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[CertifiedPFS]:
        r"""Tune by Theorem D, the fixed :math:`\rho = \min(\alpha/2, \sqrt{\alpha G_gR/(4T)})`."""
        rho = _margin(constants) / math.sqrt(checks.horizon(horizon))
        return cls._with(TheoremD(constants, rho, decreasing=False, horizon=horizon), domain)

    @classmethod
    def _with(cls, theorem: TheoremD, domain: Ball | None) -> Tuned[CertifiedPFS]:
        R, G_g = theorem.constants.require("R", "G_g", by=theorem.name)
        errors: dict[str, Any] = errors_in(theorem.constants)
        player = cls(
            G_g=G_g,
            domain=Ball(R) if domain is None else domain,
            rho=theorem.rho,
            decreasing=theorem.decreasing,
            eta=theorem.eta,
            evaluation_error=theorem.constants.evaluation_error or None,
            **errors,
        )
        return Tuned(player, under_errors(theorem))


def _margin(constants: Constants) -> float:
    r"""Return the c of :math:`\rho_t = c/\sqrt t`: :math:`\tfrac12\sqrt{\alpha G_gR}`.

    A margin costs :math:`(D_1/\alpha)\sum\rho_t` in regret, and its short steps
    :math:`2R^2G_gL/\rho_T`: they balance where :math:`\rho \sim \sqrt{\alpha G_gR/T}`.
    """
    R, G_g, slack = as_constants(constants).require("R", "G_g", "start_slack", by="Theorem D")
    return 0.5 * math.sqrt(max(slack, 0.0) * G_g * R) or 1.0  # Theorem D refuses such a slack


def gradient_size(grad: Array) -> tuple[Number, Number]:
    """Return the squared norm and the norm of a cost gradient; one run refuses infinite ones.

    No step is ever taken along them, and 0 times infinity would warn on the way to that.
    """
    squared, size = squared_and_norm(grad)
    if type(size) is float and not size < math.inf:
        checks.refuse_unfinite(grad, "cost_gradient")
    return squared, size
