r"""A leader that learns on all half-spaces seen and is never played; the wish goes after it.

With X = x - x_1, all points relative to the first action, D the largest distance from it to a point
of the domain, :math:`r_t` the radius of the certified ball of :math:`x_t` and :math:`r_a` that of
the deepest action:

.. math::
    A_t     &= A_{t-1} + \|\nabla_t\|^2 + \|\nabla_t\|\|X_t - Z_t\|/\eta_{t-1}, \qquad
               \eta_t = D/\sqrt{2A_t} \\
    Z_{t+1} &\approx \Pi\{u_i^\top Z \le o_i\}\Big(-\eta_t\sum_{i \le t}\nabla_i\Big) \\
    W_t     &= X_t + \min(1, r_t/\|Z_{t+1} - X_t\|)(Z_{t+1} - X_t), \quad
               \text{pushed from the cuts by } \rho_t = G_gr_a\min(\tfrac12, k\|Z_{t+1}-X_t\|/D)

The wish is :math:`x_1 + W_t`. Where the domain is a ball, one around the feasible set, the leader
may be up to 2D from :math:`x_1`; in any other domain it is projected onto the domain, too.

The careful mode has a regret bound in advance (Theorem G of docs/certified.md). Should A ever
exceed what that bound allows, :math:`2A_t > 81\kappa^4L^2t`, it begins: the leader stays within D,
ascends along the newest cut alone, before the gradient is added, with
:math:`\eta_t = D/(9\kappa^2L\sqrt t)`, and the wish is the furthest point of the segment from the
start to the leader that the hull of their two certified balls allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms.certified import Proposer, Wish, ask_learner, start_learner
from surefoot.algorithms.cuts import Cuts, add_cut, empty_cuts, project, push_from_cuts, shorten
from surefoot.algorithms.descent import square
from surefoot.algorithms.observers import LeaderRegret
from surefoot.core import checks
from surefoot.core.arrays import dot, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import algorithm, count, flag, nonnegative, positive, projectable
from surefoot.core.points import reach_from
from surefoot.core.types import Array, Feedback, Number
from surefoot.core.types import Region as Set
from surefoot.regions import Knowledge, Region
from surefoot.sets import Ball, project_halfspace

__all__ = ["Leader", "LeaderNote", "LeaderState"]

SHALLOW = 50.0
"""A start is shallow where the set reaches this many times further than its certified ball."""
HALVINGS = 52


class LeaderState(NamedTuple):
    """What the leader has learnt; points are relative to the first action.

    Attributes:
        start: the first action.
        reach: D, the largest distance from it to a point of the domain.
        start_value: g there at most; 0 before it was read.
        cuts: the remembered half-spaces.
        Z: the leader.
        own: the state of a learner of your own; empty unless there is one.
        gradients: theta, the sum of the cost gradients.
        energy: A, squared gradients and lag.
        inverse_eta: 1/eta, which never falls.
        depth: the anchor's radius when it had last grown by a tenth.
        deepened: the round of that.
        is_careful: whether the careful mode has begun.
    """

    start: Array
    reach: float
    start_value: float
    cuts: Cuts
    Z: Array
    own: Any
    gradients: Array
    energy: float
    inverse_eta: float
    depth: float
    deepened: float
    is_careful: bool


class LeaderNote(NamedTuple):
    """What the bound on the regret wants to know of a round.

    Attributes:
        size: the norm of the cost gradient.
        behind: the distance between follower and leader when it was observed.
        paid: its product with the action, relative to the start.
        before: 1/eta of the round before.
        scale: 1/eta of the round.
        reach: D.
    """

    size: float
    behind: float
    paid: float
    before: float
    scale: float
    reach: float


class Leader(Proposer):
    r"""A leader that learns; its formulas are the module's.

    Args:
        domain: a set that contains the feasible set.
        cuts: how many half-spaces are remembered, at least 2;
            :math:`\max(16, \min(2d, 256, 2^{18}/d))` unless given.
        keep: k, how far the wish keeps off known faces, relative to the way ahead; below 1.
        lazy: whether the leader adds up all gradients (best where costs have a fixed distribution);
            else it descends from where it is (best where costs change).
        leader: a learner of your own, or of the library, that asks for cost gradients only; it
            is used instead of the two above.
        sweeps: how often the leader's projection is improved per round.
        expected: a number that A starts from; with :math:`G_f^2T/2` the step is that of a known
            horizon.
        strong_convexity: H, where every cost is H-strongly convex: the leader descends with
            :math:`\eta_t = 2/(Ht)`.
        gradient_bound: G_f, where a regret bound is wanted in advance; the careful mode keeps to
            it. The knowledge must be ``LipschitzHull(keep_start=True)``.
    """

    domain: Set = projectable()
    cuts: int | None = count(2, default=None)
    keep: Number = nonnegative(default=0.5)
    lazy: bool = flag(default=True)
    leader: Any = algorithm(default=None)
    sweeps: int = count(0, default=2)
    expected: Number = nonnegative(default=0.0)
    strong_convexity: Number | None = positive(default=None)
    gradient_bound: Number | None = positive(default=None)

    work = "K d"
    is_one_run = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep >= 1:
            raise InvalidValueError(
                f"keep must be below 1, got {self.keep!r}: the follower would stop short"
            )

    def slots(self, dimension: int) -> int:
        """Return how many half-spaces are remembered."""
        if self.cuts is not None:
            return self.cuts
        return max(16, min(2 * dimension, 256, 2**18 // dimension))

    def init(self, x1: Array) -> LeaderState:
        """Start at x1."""
        zeros = np.zeros_like(x1)
        return LeaderState(
            start=x1,
            reach=reach_from(self.domain, x1),
            start_value=0.0,
            cuts=empty_cuts(len(x1)),
            Z=zeros,
            own=() if self.leader is None else start_learner(self.leader, x1, "leader"),
            gradients=zeros,
            energy=float(self.expected),
            inverse_eta=0.0,
            depth=0.0,
            deepened=0.0,
            is_careful=False,
        )

    def propose(
        self, learner: LeaderState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, Wish]:
        """Return the leader after a round, and the wish of its follower."""
        if region.round == 1 and x is not learner.start:  # the first action that was played
            learner = learner._replace(start=x, reach=reach_from(self.domain, x))
        D, Z, before = learner.reach, learner.Z, learner.inverse_eta
        X = x - learner.start
        grad = np.zeros_like(x)
        if feedback.cost_gradient is not None:
            grad = checks.read_gradient(x, feedback)
        squared, size = square(grad)
        behind, t = norm(X - Z), region.round
        learner = learner._replace(
            gradients=learner.gradients + grad,
            energy=learner.energy + squared + size * behind * before,
            start_value=region.upper if t == 1 else learner.start_value,
        )
        learner, newest = self._remember(learner, X, feedback, region)
        scale = self._scale(learner, t)
        kappa = self._kappa(learner, region)
        if self.gradient_bound is not None:
            L = self.gradient_bound
            late = 2 * learner.energy > 81 * kappa**4 * L * L * t
            if learner.is_careful or late:
                scale = 9 * kappa * kappa * L * math.sqrt(t) / D
                learner = learner._replace(is_careful=True)
        lost: tuple[str, ...] = ()
        # Gradients at the ends of float64 give multipliers beyond them: the leader is lost.
        with np.errstate(over="ignore", invalid="ignore"):
            if learner.is_careful:
                learner = self._lead_carefully(learner, newest, before, scale)
                point = self._walk_the_ray(learner, region)
            else:
                learner, lost = self._lead(learner, feedback, newest, before, scale, t)
                learner, point = self._follow(learner, X, feedback, region)
        learner = learner._replace(inverse_eta=scale)
        note = LeaderNote(size, behind, dot(grad, X), before, scale, D)
        return learner, Wish(point, note, lost, learner.start + learner.Z)

    def _remember(
        self, learner: LeaderState, X: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, int | None]:
        """Return the leader with the cut of the round, and which that is."""
        errors, cuts, newest = region.errors, learner.cuts, None
        slope = errors.slope
        if not slope < math.inf:
            # Slopes are guesses: a cut that an action has passed was wrong, and moves there.
            slope, cuts = 0.0, cuts.let_through(X)
        if errors.drift:
            # Where g may rise, a point that was outside may come in: cuts go outwards with it.
            cuts = cuts.loosen(errors.drift)
        if feedback.constraint_value is not None and feedback.constraint_subgradient is not None:
            g, s = checks.read_constraint(X, feedback)
            noise = region.noise + errors.value + slope * (learner.reach + norm(X))
            noise += errors.drift * feedback.age
            most = self.slots(len(X))
            cuts, newest = add_cut(cuts, X, g, s, noise, learner.Z, most)
        return learner._replace(cuts=cuts), newest

    def _limit(self, learner: LeaderState, length: float) -> Callable[[Array], Array]:
        """Return what keeps a leader, relative to the start, where the points of the domain are.

        A ball is one around the feasible set, and a length is enough; any other set may be what
        keeps the actions in, and the leader with them.
        """
        if isinstance(self.domain, Ball):
            return partial(shorten, radius=length)

        def onto(z: Array) -> Array:
            point = learner.start + shorten(z, 1e100)
            return z if self.domain.contains(point) else self.domain.project(point) - learner.start

        return onto

    def _scale(self, learner: LeaderState, t: float) -> float:
        """Return 1/eta of the round."""
        if self.strong_convexity is None:
            return math.sqrt(2 * learner.energy) / learner.reach
        return 0.5 * float(self.strong_convexity) * t

    def _kappa(self, learner: LeaderState, region: Region) -> float:
        """Return the condition number, D over the radius of the start's ball."""
        slack = -learner.start_value
        return max(learner.reach * region.steepness / slack, 1.0) if slack > 0 else 1.0

    def _lead(
        self,
        learner: LeaderState,
        feedback: Feedback,
        newest: int | None,
        before: float,
        scale: float,
        t: float,
    ) -> tuple[LeaderState, tuple[str, ...]]:
        """Return the leader after a usual round, and a sentence if it is lost."""
        Z, D, cuts = learner.Z, learner.reach, learner.cuts
        eta = 1.0 / scale if scale > 0 else 0.0
        mu = np.zeros_like(cuts.weights)
        own = learner.own
        lost: tuple[str, ...] = ()
        if self.leader is not None:
            here = Z + learner.start
            own, free, lost = ask_learner(self.leader, own, feedback, here, t, "leader")
            free = free - learner.start
        elif self.lazy and self.strong_convexity is None:
            mu = cuts.weights * (before / scale if scale > 0 else before)
            free = -eta * learner.gradients
        else:
            grad = feedback.cost_gradient
            free = Z if grad is None else self._limit(learner, D)(Z - eta * grad)
        onto = self._limit(learner, 2 * D)
        mu, z = project(cuts, free, mu, newest, onto, self.sweeps)
        return learner._replace(own=own, cuts=cuts._replace(weights=mu), Z=z), lost

    def _follow(
        self, learner: LeaderState, X: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, Array]:
        """Return the wish after a usual round, and when the anchor's radius last grew."""
        D, t, r_a, z, cuts = learner.reach, region.round, region.depth, learner.Z, learner.cuts
        errors = region.errors
        if not errors.is_exact:
            # Only the leader needs cuts that hold for all points within D of the start.
            cuts = cuts.loosen(-errors.slope * D) if errors.slope < math.inf else cuts
            none = np.zeros_like(cuts.weights)
            onto = self._limit(learner, 2 * D)
            _, z = project(cuts, z, none, None, onto, self.sweeps)
            z = _apply_reading(feedback, region, z, X, 0.0)
        way = z - X
        gap = norm(way)
        if t == 1 or r_a > 1.1 * learner.depth:
            learner = learner._replace(depth=r_a, deepened=t)
        if SHALLOW * r_a < D and t - learner.deepened < 5:
            rho = region.steepness * min(self.keep * gap / SHALLOW, 3 * r_a)
        else:
            rho = region.steepness * r_a * min(self.keep * gap / D, 0.5)
        share = min(max(region.radius, 0.0) / gap, 1.0) if gap > 0 else 1.0
        W = push_from_cuts(cuts, X + share * way, rho)
        if not errors.is_exact:
            W = _apply_reading(feedback, region, W, X, rho)
        return learner, learner.start + W

    def _lead_carefully(
        self, learner: LeaderState, newest: int | None, before: float, scale: float
    ) -> LeaderState:
        """Return the leader: one exact step of the newest cut, then the gradient."""
        cuts = learner.cuts
        mu = cuts.weights.copy()
        if newest is not None:
            over = float(cuts.normals[newest] @ learner.Z) - cuts.offsets[newest]
            mu[newest] += max(over, 0.0)
        mu *= before / scale
        onto = self._limit(learner, learner.reach)
        z = onto(-(1.0 / scale) * learner.gradients - mu @ cuts.normals)
        return learner._replace(cuts=cuts._replace(weights=mu), Z=z)

    def _walk_the_ray(self, learner: LeaderState, region: Any) -> Array:
        """Return the furthest certified point of the segment from the start to the leader.

        A segment meets a convex set in a segment, and its beginning is certified: bisection. Where
        drift has used up the start's ball, or the anchor is visited, the region decides.
        """
        hull, start, z = getattr(region, "from_start", None), learner.start, learner.Z
        if hull is None or hull.is_inside(start + z) or not hull.is_inside(start):
            return start + z
        share = 0.0
        for i in range(HALVINGS):
            longer = share + 0.5 ** (i + 1)
            if hull.is_inside(start + longer * z):
                share = longer
        return hull.nearest(start + share * z)

    def observer(self, knowledge: Knowledge) -> LeaderRegret | None:
        """Return the sums of the observed regret bounds; None for your own leader, under drift."""
        has_bound = self.leader is None and not knowledge.errors.drift
        return LeaderRegret() if has_bound else None


def _apply_reading(feedback: Feedback, region: Region, W: Array, X: Array, rho: float) -> Array:
    """Return W moved to where the newest value and slope, as they were read, make g <= -rho."""
    s = feedback.constraint_subgradient
    if s is None or not norm(s) > 0:
        return W
    return project_halfspace(W, region.upper + dot(s, W - X) + rho, s)
