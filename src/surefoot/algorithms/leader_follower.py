"""A leader that learns and is never played; a certified follower that goes after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot.algorithms._allowing import errors_in
from surefoot.algorithms._cuts import (
    InUse,
    as_read,
    cut_off,
    in_use,
    keep_off,
    nearer,
    no_cuts,
    project,
    stored,
    way_length,
    within,
)
from surefoot.algorithms._following import (
    FollowInfo,
    Following,
    LeaderFollowerState,
    asked,
    start_leader,
)
from surefoot.algorithms._ray import careful_round, careful_scale, is_late
from surefoot.algorithms._start import check_domain, not_a_ball, start_in
from surefoot.core import checks
from surefoot.core.arrays import (
    constant,
    dot,
    maximum,
    minimum,
    norm,
    number_like,
    owned,
    record,
    sqrt,
    squared_and_norm,
    to_numpy,
    where,
)
from surefoot.core.constants import Constants, as_constants
from surefoot.core.convert import shown
from surefoot.core.errors import InvalidValueError
from surefoot.core.flow import if_any
from surefoot.core.player import can_play
from surefoot.core.types import Algorithm, Array, Feedback, Needs, Number, Real, Source
from surefoot.regions import HullRegion, LipschitzHull, check_errors
from surefoot.sets import Ball
from surefoot.theory import LeaderRegret, TheoremG, Tuned, under_errors

__all__ = ["FollowInfo", "LeaderFollower", "LeaderFollowerState"]

SHALLOW = 50.0
"""A start is shallow where the set reaches this many times further than its certified ball."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderFollower(Following):
    r"""Learn with a leader, play a follower: safe from G_g alone, with the regret of the leader.

    The leader Z, never played, runs dual averaging on all half-spaces seen so far. The follower x,
    which is played, goes after it inside the convex hull of two balls that are certainly feasible
    (:class:`surefoot.regions.LipschitzHull`). With X = x - x_1, and all points relative to x_1:

    .. math::
        A_t     &= A_{t-1} + \|\nabla_t\|^2 + \|\nabla_t\|\|X_t - Z_t\|/\eta_{t-1}, \qquad
                   \eta_t = D/\sqrt{2A_t} \\
        Z_{t+1} &\approx \Pi\{u_i^\top Z \le o_i\}\Big(-\eta_t\sum_{i \le t}\nabla_i\Big) \\
        W_t     &= X_t + \min(1, r_t/\|Z_{t+1} - X_t\|)(Z_{t+1} - X_t), \quad
                   \text{kept off the cuts by } \rho_t = G_gr_a\min(\tfrac12, k\|Z_{t+1}-X_t\|/D) \\
        x_{t+1} &= \text{the certified point nearest to } x_1 + W_t

    where :math:`r_t` and :math:`r_a` are the radii of the certified balls of :math:`x_t` and of the
    deepest action so far. Safety is the last line alone, whatever the others do.

    Args:
        G_g: upper bound on every subgradient that the constraint may return on the feasible set.
            The one constant that safety rests on.
        domain: a ball that contains the feasible set.
        cuts: how many half-spaces are remembered, at least 2;
            :math:`\max(16, \min(2d, 256, 2^{18}/d))` unless given.
        keep: k, how far the follower keeps off known faces, relative to the way ahead; below 1.
        lazy: whether the leader adds up all gradients (best where costs have a fixed distribution);
            else it descends from where it is (best where costs change).
        leader: a learner of your own, or of the library, that asks for cost gradients only; it
            is used instead of the two above.
        sweeps: how often the leader's projection is improved per round.
        expected: a number that A starts from; with :math:`G_f^2T/2` the step is that of a known
            horizon.
        strong_convexity: H, where every cost is H-strongly convex: the leader descends with
            :math:`\eta_t = 2/(Ht)`.
        gradient_bound: G_f, where a regret bound is wanted in advance: should A ever exceed what
            the bound allows, a slower and more careful mode begins. It hardly ever does.
        evaluation_error: bound on the error of the g that is observed, where it may be larger than
            the rounding of a linear one (``constraint.evaluation_error(ball)``).
        value_error: bound on the error of an observed g that is no rounding; cuts are loosened by
            it, and by the others, so that none cuts off a feasible point.
        slope_error: bound on the error of an observed slope.
        drift: bound on the change of g, at any point, from one round to the next.

    Example:
        >>> import numpy as np
        >>> player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-3.0, -4.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # shorter than the slack of 0.5: off the cut
        array([0.323498, 0.336064])
    """

    needs: ClassVar[Needs] = Needs(work="K d")
    source: ClassVar[Source] = Source("Surefoot", "derived here")
    tunings: ClassVar[tuple[str, ...]] = (
        "default",
        "changing",
        "known_horizon",
        "strongly_convex",
    )

    G_g: Real
    domain: Ball
    cuts: int | None = None
    keep: Real = 0.5
    lazy: bool = True
    leader: Algorithm[Any] | None = None
    sweeps: int = 2
    expected: Real = 0.0
    strong_convexity: Real | None = None
    gradient_bound: Real | None = None
    evaluation_error: Real | None = None
    value_error: Real | None = None
    slope_error: Real | None = None
    drift: Real | None = None

    def __post_init__(self) -> None:
        check_domain(self.domain)
        if not isinstance(self.domain, Ball):
            raise InvalidValueError(f"domain must be a Ball, got {not_a_ball(self.domain)}")
        LipschitzHull(G_g=self.G_g, reach=1.0, evaluation_error=self.evaluation_error)
        check_errors(self)
        checks.nonnegative(keep=self.keep, expected=self.expected)
        if np.any(np.asarray(self.keep) >= 1):
            raise InvalidValueError(
                f"keep must be below 1, got {self.keep!r}: the follower would stop short"
            )
        for name, least in (("cuts", 2), ("sweeps", 0)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise InvalidValueError(f"{name} must be a whole number >= {least}, got {value!r}")
        if self.leader is not None and not can_play(self.leader):
            raise InvalidValueError(
                f"leader must be an algorithm with init and update, got {shown(self.leader)}"
            )
        checks.plain(self, "G_g", "keep", "expected")
        for name in ("strong_convexity", "gradient_bound", "evaluation_error"):
            if getattr(self, name) is not None:
                checks.positive(**{name: getattr(self, name)})
                checks.plain(self, name)

    def slots(self, dimension: int) -> int:
        """Return how many half-spaces are remembered."""
        if self.cuts is not None:
            return self.cuts
        return max(16, min(2 * dimension, 256, 2**18 // dimension))

    def init(self, x1: Array) -> LeaderFollowerState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = start_in(self.domain, x1)
        zero = number_like(x1, 0.0)
        centre = self.domain.centre
        offset = x1 if centre is None else x1 - constant(centre, x1)
        return LeaderFollowerState(
            x=x1,
            start=x1,
            reach=self.domain.radius + norm(offset),
            seen=self._known().init(x1),
            start_value=zero,
            cuts=no_cuts(x1, self.slots(x1.shape[-1]), zero),
            leader=0.0 * x1,
            own=() if self.leader is None else start_leader(self.leader, x1),
            gradients=0.0 * x1,
            energy=zero + self.expected,
            inverse_eta=zero,
            depth=zero,
            deepened=zero,
            careful=zero,
        )

    def step(
        self, state: LeaderFollowerState, feedback: Feedback
    ) -> tuple[LeaderFollowerState, FollowInfo]:
        """Return the state after a round and what the step knew: the lines of the docstring."""
        x, start, D, seen, start_value, cuts, Z, own, theta, energy, before, *_, careful = state
        grad, g, s = checks.feedback(x, feedback)
        known = self._known()
        seen, region = known.see(seen, x, g, s, feedback[4])
        t = seen.rounds
        start_value = where(t == 1, seen.last_value, start_value)
        X = x - start
        squared = squared_and_norm(grad)[0]
        if type(squared) is float and not squared < math.inf:
            checks.refuse_unfinite(to_numpy(grad), "cost_gradient")
            raise InvalidValueError("cost_gradient must have a finite square, got inf")
        size, behind = sqrt(squared), way_length(X - Z)
        theta, energy = theta + grad, energy + squared + size * behind * before
        (noise, _), errors = known.kept_rounding(x.shape[-1]), region.errors
        if errors is not None:
            noise = noise + errors.value + errors.slope * (D + norm(X))
            # Where g may rise, a point that was outside may come in: cuts go outwards with it.
            cuts = cuts._replace(offsets=cuts.offsets + errors.drift * cuts.inverses)
        cuts, newest = cut_off(cuts, X, g, s, noise, Z)
        scale, kappa = self._scale(energy, D, t), None
        if self.gradient_bound is not None:
            kappa = maximum(D / (-start_value / self.G_g), 1.0)
            late = is_late(energy, t, kappa, self.gradient_bound)
            careful = where(late, 1.0 + 0.0 * careful, careful)
            slow = careful_scale(t, kappa, self.gradient_bound, D)
            scale = where(careful > 0, slow, scale)
        used = in_use(cuts)
        led = (state, feedback, used, newest, theta, scale, t)
        if self.leader is None and type(scale) is float and max(size, D) < 1e60 < 1e120 * scale:
            own, mu, z, lost = self._lead(*led)
        else:
            # Gradients at the ends of float64 give multipliers beyond them: the leader is lost.
            with np.errstate(over="ignore", invalid="ignore"):
                own, mu, z, lost = self._lead(*led)
        x_next, depth, deepened = self._follow(state, region, used, X, z)
        if kappa is not None:
            mu, z, x_next = if_any(
                careful > 0,
                lambda: careful_round(
                    careful, (mu, z, x_next), cuts, newest, state, theta, scale, region, known
                ),
                lambda: (mu, z, x_next),
            )
        x_next = owned(x_next)
        kept = (start, D, seen, start_value, stored(cuts, mu))
        new = (x_next, *kept, z, own, theta, energy, scale, depth, deepened, careful)
        paid = dot(grad, X)
        info = (x_next, start, z, region, lost, D, size, behind, paid, before, scale)
        return record(LeaderFollowerState, new), record(FollowInfo, info)

    def _lead(
        self,
        state: LeaderFollowerState,
        feedback: Feedback,
        used: InUse,
        newest: Any,
        theta: Array,
        scale: Number,
        t: Number,
    ) -> tuple[Any, Array, Array, str]:
        """Return the leader's state, the multipliers, the leader, and a sentence if it is lost."""
        Z, D, own, lost, mu = state.leader, state.reach, state.own, "", None
        eta = where(scale > 0, 1.0, 0.0 * scale) / where(scale > 0, scale, 1.0)
        if self.leader is not None:
            own, free, lost = asked(self.leader, own, feedback, Z + state.start, t)
            free = free - state.start
        elif self.lazy and self.strong_convexity is None:
            mu = used[-1] * (state.inverse_eta / where(scale > 0, scale, 1.0))
            free = -eta * theta
        else:
            free = within(Z - eta * feedback[0], D)
        mu, z = project(used, free, mu, newest, 2 * D, self.sweeps)
        return own, mu, z, lost

    def _follow(
        self, state: LeaderFollowerState, region: HullRegion, used: InUse, X: Array, z: Array
    ) -> tuple[Array, Number, Number]:
        """Return the next action, and when the anchor's radius last grew by a tenth, to what."""
        D, t, r_a = state.reach, region.memory.rounds, region.depth
        if region.errors is not None:
            # Only the leader needs cuts that hold for all points within D of the start.
            used = nearer(used, region.errors.slope * D)
            z = as_read(region, project(used, z, None, None, 2 * D, self.sweeps)[1], X, 0.0)
        way = z - X
        gap = way_length(way)
        deeper = (t == 1) | (r_a > 1.1 * state.depth)
        depth, deepened = where(deeper, r_a, state.depth), where(deeper, t, state.deepened)
        growing = (SHALLOW * r_a < D) & (t - deepened < 5)
        rho = self.G_g * where(
            growing,
            minimum(self.keep * gap / SHALLOW, 3 * r_a),
            r_a * minimum(self.keep * gap / D, 0.5),
        )
        room = maximum(region.radius, 0.0)
        W = X + minimum(room / where(gap > 0, gap, 1.0), 1.0) * way
        W = keep_off(used, W, rho)
        if region.errors is not None:
            W = as_read(region, W, X, rho)
        return region.nearest(state.start + W), depth, deepened

    def _scale(self, energy: Number, D: Number, rounds: Number) -> Number:
        """Return 1/eta of the round."""
        if self.strong_convexity is None:
            return sqrt(2 * energy) / D
        return 0.5 * self.strong_convexity * rounds

    def observer(self) -> LeaderRegret | None:
        """Return the sums of the observed regret bounds; None for your own leader, under drift."""
        return LeaderRegret() if self.leader is None and self.drift is None else None

    @classmethod
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[LeaderFollower]:
        """Return the rule for costs that have a distribution; no horizon needed.

        Uses R, G_g and the start; G_f only for the regret bound, and the horizon not at all.
        """
        return cls._with(TheoremG(as_constants(constants)), domain)

    @classmethod
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[LeaderFollower]:
        """Return the rule for costs that change: a leader that descends from where it is.

        The follower goes after it in certified steps, which are too short for that on thin sets.
        """
        return cls._with(TheoremG(as_constants(constants), in_advance=False), domain, lazy=False)

    @classmethod
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[LeaderFollower]:
        r"""Return the rule whose A starts at :math:`G_f^2T/2`, the step of a known horizon."""
        (G_f,) = as_constants(constants).require("G_f", by=TheoremG.name)
        theorem = TheoremG(as_constants(constants), checks.horizon(horizon), in_advance=False)
        return cls._with(theorem, domain, expected=0.5 * G_f * G_f * horizon)

    @classmethod
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[LeaderFollower]:
        r"""Return the rule for H-strongly convex costs, with :math:`\eta_t = 2/(Ht)`."""
        (H,) = as_constants(constants).require("strong_convexity", by=TheoremG.name)
        theorem = TheoremG(as_constants(constants), in_advance=False)
        return cls._with(theorem, domain, lazy=False, strong_convexity=H)

    @classmethod
    def _with(
        cls, theorem: TheoremG, domain: Ball | None, **parameters: Any
    ) -> Tuned[LeaderFollower]:
        (G_g,) = theorem.constants.require("G_g", by=theorem.name)
        promise = under_errors(theorem)
        if promise is theorem and theorem.in_advance and theorem.constants.G_f is not None:
            parameters["gradient_bound"] = theorem.constants.G_f
        parameters["evaluation_error"] = theorem.constants.evaluation_error or None
        parameters |= errors_in(theorem.constants)
        return Tuned.of(cls, promise, domain, G_g=G_g, **parameters)
