"""Polyak feasibility steps whose length is certified before the action is played."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from surefoot import _check
from surefoot._array import dot, maximum, norm, number_like, sqrt, where
from surefoot.algorithms._certify import Certificate, Certifying, Room, new_tuple, stay_unless
from surefoot.algorithms._start import check_domain, start_in
from surefoot.constants import Constants
from surefoot.sets import Ball, project_halfspace
from surefoot.theory import TheoremD, Tuned
from surefoot.types import Array, Feedback, Needs, Number

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
    """

    x: Array
    start: Array
    rounds: Number
    start_slack: Number
    distance: Number
    inverse_eta: Number
    squares: Number


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
    set that is left after the half-space projection (:mod:`surefoot.algorithms._certify`).

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
            The one constant that safety rests on.
        domain: a ball that holds the feasible set.
        rho: the tightening, cut off at half of the start's slack.
        decreasing: whether it is :math:`\rho/\sqrt t` in round t, which needs no horizon.
        eta: a fixed limit on the step size instead of :math:`\sqrt2R/\sqrt{S_t}`.
        ratchet: whether the step size never rises again, which the regret bound needs. Without
            it each step is limited by itself: as safe, at times better, and without a regret proof.
        sigma: a lower bound on the subgradients near the boundary, where one is known: longer
            certified steps.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.

    Example:
        >>> import numpy as np
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0.158114, 0.25    ])
    """

    needs: ClassVar[Needs] = Needs()
    tunings: ClassVar[tuple[str, ...]] = ("default", "known_horizon")

    G_g: Number
    domain: Ball
    rho: Number
    decreasing: bool = True
    eta: Number | None = None
    ratchet: bool = True
    sigma: Number | None = None
    evaluation_error: Number | None = None

    def __post_init__(self) -> None:
        self._check_fields()
        check_domain(self.domain)
        if self.eta is not None:
            _check.positive(eta=self.eta)
            _check.plain(self, "eta")

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = start_in(self.domain, x1)
        zero = number_like(x1, 0.0)
        return CertifiedState(x1, x1, zero, zero, zero, zero, zero)

    def update(self, state: CertifiedState, feedback: Feedback) -> CertifiedState:
        """One round: the lines of the docstring."""
        x, start, rounds, start_slack, distance, inverse_eta, squares = state
        grad, g, s = _check.feedback(x, feedback)
        room = self.room(x, start, rounds, start_slack, distance, g, s)
        squared = dot(grad, grad)
        squares = squares + squared
        inverse_eta, eta, taken = self.step(room, inverse_eta, squares, sqrt(squared))
        y = x - eta * grad
        p = project_halfspace(y, g + dot(s, y - x) + room.rho - room.noise, s, room.squared)
        new = (
            stay_unless(room, self.domain.project(p), x),
            start,
            rounds + 1.0,
            room.start_slack,
            self.distance_after(room, rounds, taken),
            inverse_eta,
            squares,
        )
        return new_tuple(CertifiedState, new)

    def certificate(
        self, before: CertifiedState, feedback: Feedback, after: CertifiedState
    ) -> Certificate:
        """Why the action of ``after`` is feasible: the numbers of one run's update."""
        grad, g, s = _check.feedback(before.x, feedback)
        room = self.room(*before[:5], g, s)
        found, y = self.explained(before, after, room, grad, g)
        excess = g + dot(s, y - before.x) + room.rho - room.noise
        return found._replace(cut=room.length > 0 and excess > 0)

    def explained(
        self, before: CertifiedState, after: CertifiedState, room: Room, grad: Array, g: float
    ) -> tuple[Certificate, Array]:
        """The certificate but for whether the step was cut, and where it led before it was."""
        size = norm(grad)
        # What the step would have been with no limit on its length.
        usual = max(self._usual(after.squares), before.inverse_eta if self.ratchet else 0.0)
        wanted = size / usual if usual > 0 else 0.0
        taken = 0.0
        if room.length > 0 and after.inverse_eta > 0:
            taken = min(size / after.inverse_eta, room.length)
        y = before.x - (taken / size if size > 0 else 0.0) * grad
        inside = g + room.noise <= -room.rho
        found = Certificate(
            round=int(before.rounds) + 1,
            rule="stayed" if room.length <= 0 else "slack" if inside else "contraction",
            slack=-g,
            rho=room.rho,
            length=room.length,
            wanted=wanted,
            taken=taken,
            cut=False,
            bound=self.next_bound(room, taken, g),
            G_g=self.G_g,
        )
        return found, y

    def wrong_constants(self, before: CertifiedState, feedback: Feedback) -> list[str]:
        """What a round of one run shows to be wrong with the constants; empty if nothing."""
        _, g, s = _check.feedback(before.x, feedback)
        room = self.room(*before[:5], g, s)
        return self.contradictions(room, before.rounds, before.distance, g, s)

    def _usual(self, squares: Number) -> Number:
        """1/eta of the step size that costs alone would have."""
        if self.eta is None:
            return sqrt(squares) / (_ROOT_2 * self.domain.radius)
        return 1 / self.eta

    def step(
        self, room: Room, inverse_eta: Number, squares: Number, size: Number
    ) -> tuple[Number, Number, Number]:
        """1/eta, eta and the length of the step; eta is 0 where there is no room or no gradient."""
        has_room = room.length > 0
        if has_room is True:
            inverse = maximum(self._usual(squares), size / room.length)
            if self.ratchet and inverse < inverse_eta:
                inverse = inverse_eta
            eta = 1.0 / inverse if inverse > 0 else 0.0
            return inverse, eta, eta * size
        inverse = maximum(self._usual(squares), size / where(has_room, room.length, math.inf))
        if self.ratchet:
            inverse = maximum(inverse, inverse_eta)
        eta = 1.0 / where(has_room & (inverse > 0), inverse, math.inf)
        return inverse, eta, eta * size

    @classmethod
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[CertifiedPFS]:
        r"""Theorem D with :math:`\rho_t = \min(\alpha/2, G_gR/(2\sqrt t))`: no horizon needed.

        Uses R, G_g and the start; G_f only for the number in the regret bound, and the horizon
        not at all: it is taken so that all tunings are called alike.
        """
        R, G_g = constants.require("R", "G_g", by="Theorem D")
        return cls._with(TheoremD(constants, 0.5 * G_g * R), domain)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[CertifiedPFS]:
        r"""Theorem D with the fixed :math:`\rho = \min(\alpha/2, G_gR/(2\sqrt T))`."""
        R, G_g = constants.require("R", "G_g", by="Theorem D")
        rho = 0.5 * G_g * R / math.sqrt(_check.horizon(horizon))
        return cls._with(TheoremD(constants, rho, decreasing=False, horizon=horizon), domain)

    @classmethod
    def _with(cls, theorem: TheoremD, domain: Ball | None) -> Tuned[CertifiedPFS]:
        R, G_g = theorem.constants.require("R", "G_g", by=theorem.name)
        player = cls(
            G_g=G_g,
            domain=Ball(R) if domain is None else domain,
            rho=theorem.rho,
            decreasing=theorem.decreasing,
            eta=theorem.eta,
        )
        return Tuned(player, theorem)
