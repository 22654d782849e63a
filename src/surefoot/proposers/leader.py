r"""Leaders learn on all half-spaces and are never played; the proposal follows their mean.

With X = x - x_1, all points relative to the first action, D the largest distance from it to a point
of the domain and :math:`\theta_t` the sum of the gradients:

.. math::
    A_t      &= \sum_{i \le t}\|\nabla_i\|^2 + (\Lambda^+_t)^2/(2D^2), \qquad
                \Lambda_t = \sum_{i \le t}\nabla_i^\top(X_i - Z^0_i), \qquad
                \eta_t = D/\sqrt{2A_t} \\
    Z^0_{t+1} &\approx \Pi\{u_i^\top Z \le o_i\}(-\eta_t\theta_t), \qquad
    Z^k_{t+1} \approx \Pi\{u_i^\top Z \le o_i\}(Z^k_t - c_k\eta_t\nabla_t), \qquad
                c = \tfrac14, 1, 4 \\
    Z_{t+1}  &= \sum_k w_kZ^k_{t+1}

with :math:`\Lambda^+` the largest :math:`\Lambda` so far. :math:`Z^0` adds up all gradients, which
is best for costs that have a distribution; the others descend from where they are, which is best
for costs that change. Their weights follow what each would have cost
(:func:`~surefoot.proposers.trust.reweigh`).

**The proposal.** Cuts hold a leader back with multipliers :math:`\mu_i`, or, for a descent, with
pulls: averages of multipliers. The mean of several leaders may be off a cut that holds one of them,
as when costs have turned. So the mean of their pulls counts by the share :math:`[1 - (o_i -
u_i^\top Z)/\|Z - X\|]_+`. In the objective of :math:`Z^0`, the lag of X behind its leader is worth
:math:`\sum\mu_i(o_i - u_i^\top X) + \|X - Z\|^2/2`. A margin of h, which keeps actions deep enough
to move, costs at least :math:`G_gh\sum\mu_i/\|s_i\|`. Half of the lag is spent on the margin.

.. math::
    h = \min\Big(\frac r2 + \frac{\sum\mu_i\big[\min(o_i - u_i^\top X, u_i^\top(Z - X))
        - G_gr/\|s_i\|\big]_+ + L^2/2}{2G_g\sum\mu_i/\|s_i\|},\
        \tfrac12\max(L, r),\ 0.97\,r_m\Big).

If the certified point nearest to Z is at most a quarter of the way off, it is the proposal. Else
the way to Z is tried at the lengths r, 2r, 4r and so on, each pushed off the cuts by :math:`G_gh`.
Of the certified points nearest to these, the one with the least

.. math::
    \tfrac12\|P - F\|^2 - \frac E{2h}\min\Big(h, \min_i\frac{\|s_i\|}{G_g}(o_i - u_i^\top P)\Big),
    \qquad F = Z + \sum\mu_iu_i, \qquad E = \tfrac12\big[\|X - F\|^2 - \|Z - F\|^2\big]_+ ,

is the proposal. The first term is the leader's objective. The second counts how deep the cuts leave
P, because an action on the limit cannot move: a depth of h is worth half of E, the lag of X. If no
point has less than X, :math:`\tfrac12\|X - F\|^2 - \frac E{2h}\min(h, r)`, although X is half as
deep as intended, :math:`r \ge h/2`, the margin is too large for the set. Then the lengths are tried
once more with half of it. Cuts from estimated subgradients do not bound depths: E is 0 there.

If several rows are read, each gives its own cut. A feasible point satisfies all of them, so the
bound on the regret does not change. Row i has the Lipschitz constant :math:`G_i`, the largest of
which is :math:`G_g`, and a margin of h costs :math:`G_ih/\|s_i\|` there.

Where values err by up to e, the follower counts a cut :math:`2e/\|s\|` further inside, where the
upper end of the reading puts it, unless the certified depth of X shows that it is further out.

Where the domain is a ball, one around the feasible set, leaders may be up to 2D from :math:`x_1`;
in any other domain they are projected onto the domain, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core import checks, kernel_constants
from surefoot.core.arrays import dot, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import NonNegative, Span
from surefoot.core.kernel_constants import (
    AGAIN,
    ARRIVED,
    CLEARLY,
    DEPTH_SHARE,
    EXACT,
    FURTHEST,
    GROWING,
    GROWN,
    GROWTH,
    KEEP,
    LAG_SHARE,
    LEAP,
    LENGTHS,
    MULTIPLES,
    OUTREACH,
    ROOM_SHARE,
    SHALLOW,
    WAY_SHARE,
)
from surefoot.core.parameters import algorithm, count, learnable, positive
from surefoot.core.points import reach_from
from surefoot.core.types import Array, Number, Set
from surefoot.guarantees.observers import LeaderRegret
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.in_kernel import KernelStep
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.cuts import Cuts, add_cut, ascend, empty_cuts, push_from_cuts, shorten
from surefoot.proposers.descent import add_square
from surefoot.proposers.in_kernel import ProposerInKernel
from surefoot.proposers.learner import ask_learner, forecasts_of, start_learner
from surefoot.proposers.trust import Trust, reweigh
from surefoot.sets import Ball, project_halfspace

INITIAL_WEIGHTS = np.array(kernel_constants.INITIAL_WEIGHTS)
"""The weight of each leader before the first round."""
MOST_CUTS = 256
"""How many half-spaces are remembered at most, by default."""
TURNS = 4
"""How often the follower's projection onto the cuts of another context is improved."""


class LeaderState(NamedTuple):
    """What the leaders have learnt; points are relative to the first action.

    Attributes:
        start: the first action.
        reach: D, the largest distance from it to a point of the domain.
        start_value: an upper bound on g there; 0 before the first reading.
        cuts: the remembered half-spaces, and what they hold each leader back by.
        points: the leaders, one in each row.
        outside: by how much each exceeds the cut that it exceeds most.
        trust: the weight of each.
        Z: their mean.
        own: the state of a given learner; empty without one.
        gradients: theta, the sum of the cost gradients.
        squares: the sum of their squared norms.
        lag: Lambda, what the actions have cost more than the first leader.
        worst_lag: its largest value so far, at least 0.
        inverse_eta: 1/eta, which never falls.
        depth: the deepest radius when it had last grown by a tenth.
        deepened: the round of that.
    """

    start: Array
    reach: Annotated[float, Span(checks.SMALLEST)]
    start_value: float
    cuts: Cuts
    points: Array
    outside: Array
    trust: Trust
    Z: Array
    own: Any
    gradients: Array
    squares: NonNegative = 0.0
    lag: float = 0.0
    worst_lag: float = 0.0
    inverse_eta: float = 0.0
    depth: float = 0.0
    deepened: float = 0.0

    @property
    def energy(self) -> float:
        """A; infinite where float64 has no such number."""
        return self.squares + self.worst_lag * self.worst_lag / (2 * (self.reach * self.reach))


class LeaderNote(NamedTuple):
    """Details of a round for the bound on the regret.

    Attributes:
        size: the norm of the cost gradient.
        lags: its products with the ways from each leader to the action.
        behind: the distance between the action and the first leader.
        paid: its product with the action, relative to the start.
        before: 1/eta of the round before.
        scale: 1/eta of the round.
        reach: D.
    """

    size: float
    lags: Sequence[float]
    behind: float
    paid: float
    before: float
    scale: float
    reach: float


class Leader(Proposer):
    r"""Leaders that learn, and a proposal that follows them; the formulas are the module's.

    Args:
        domain: a set that contains the feasible set; of choices it is the box around them.
        cuts: how many half-spaces are remembered, at least 2;
            :math:`\max(16, \min(2d, 256, 2^{18}/d))` unless given.
        leader: a learner that needs only cost gradients; it leads instead of those above.
        strong_convexity: H, where every cost is H-strongly convex: one leader descends with
            :math:`\eta_t = 2/(Ht)`.
    """

    domain: Set = learnable()
    cuts: int | None = count(2, default=None)
    leader: Any = algorithm(default=None)
    strong_convexity: Number | None = positive(default=None)

    reads: ClassVar[frozenset[str]] = frozenset({"radius", "depth", "slope_norm", "noise", "upper"})
    work = "K d"
    is_one_run = True

    @property
    def multiples(self) -> tuple[float, ...]:
        """The steps of the leaders, as multiples of eta."""
        is_single = self.leader is not None or self.strong_convexity is not None
        return (1.0,) if is_single else MULTIPLES

    @property
    def fields(self) -> frozenset[str]:
        """The forecasts that a given learner uses."""
        return frozenset() if self.leader is None else forecasts_of(self.leader)

    def slots(self, dimension: int) -> int:
        """Return how many half-spaces are remembered."""
        if self.cuts is not None:
            return self.cuts
        return max(16, min(2 * dimension, MOST_CUTS, 2**18 // dimension))

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return {"cuts": self.slots(d)}

    def init(self, x1: Array) -> LeaderState:
        """Start at x1."""
        zeros, leaders = np.zeros_like(x1), len(self.multiples)
        return LeaderState(
            start=x1,
            reach=reach_from(self.domain, x1),
            start_value=0.0,
            cuts=empty_cuts(len(x1), leaders),
            points=np.zeros((leaders, len(x1))),
            outside=np.zeros(leaders),
            trust=Trust.first(INITIAL_WEIGHTS if leaders > 1 else np.ones(1)),
            Z=zeros,
            own=() if self.leader is None else start_learner(self.leader, x1, "leader"),
            gradients=zeros,
        )

    def propose(
        self, learner: LeaderState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, Proposal]:
        """Return the leaders after a round, and the proposal of their follower."""
        if region.round == 1 and x is not learner.start:  # the first action that was played
            learner = learner._replace(start=x, reach=reach_from(self.domain, x))
        X = x - learner.start
        learner, note, sentences = self.learn(learner, X, feedback, region)
        with np.errstate(over="ignore", invalid="ignore"):
            learner, point = self._follow(learner, X, feedback, region)
        return learner, Proposal(point, note, sentences, learner.start + learner.Z)

    def learn(
        self, learner: LeaderState, X: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, LeaderNote, tuple[str, ...]]:
        """Return the leaders after a round, details for their bound, and contradictions.

        Args:
            learner: the leaders.
            X: the action that was played, relative to the start.
            feedback: the feedback there.
            region: the certified next actions.
        """
        before, grad = learner.inverse_eta, np.zeros_like(X)
        if feedback.cost_gradient is not None:
            grad = checks.read_gradient(X, feedback)
        squares, size = add_square(learner.squares, grad)
        t, first = region.round, learner.points[0]
        lags, behind = ((X - learner.points) @ grad).tolist(), norm(X - first)
        lag = learner.lag + lags[0]
        learner = learner._replace(
            gradients=learner.gradients + grad,
            squares=squares,
            lag=lag,
            worst_lag=max(lag, learner.worst_lag),
            start_value=region.upper if t == 1 else learner.start_value,
            trust=self._trust(learner, grad, size, t),
        )
        learner, newest = self._remember(learner, X, feedback, region)
        scale = self._scale(learner, t)
        if not scale < math.inf:  # no later gradient would move the leaders
            raise InvalidValueError(
                f"cost_gradient must leave 1/eta = sqrt(2A)/D finite, got a norm of {size:g}"
            )
        learner = learner._replace(inverse_eta=scale)
        # Huge gradients give multipliers that overflow: the leader is not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            learner, sentences = self._lead(learner, X, feedback, newest, before, t)
        note = LeaderNote(size, lags, behind, dot(grad, X), before, scale, learner.reach)
        return learner, note, sentences

    def _trust(self, learner: LeaderState, grad: Array, size: float, t: float) -> Trust:
        """Return how far the leaders are trusted, by what each would have cost in the round.

        A leader that violates the cuts pays for the way back, so no leader gains by a violation.
        """
        if size == 0.0 or len(learner.points) == 1:
            return learner.trust
        losses = learner.points @ grad + size * learner.outside
        return reweigh(learner.trust, losses, INITIAL_WEIGHTS, t)

    def _remember(
        self, learner: LeaderState, X: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, int | None]:
        """Return the leader with the cut of the round, and its index."""
        errors, cuts, newest = region.errors, learner.cuts, None
        slope = errors.slope
        if errors.drift:
            # Under drift an infeasible point may become feasible: cuts move outwards.
            cuts = cuts.loosen(errors.drift)
        if not slope < math.inf:
            # Subgradients are estimates: a cut that says more of g than was read was wrong.
            fall, upper = region.base.fall_until_read(cuts.places), 0.0
            if feedback.constraint_value is not None:
                late = errors.drift * feedback.age + errors.value + region.noise
                upper = min(float(np.max(feedback.constraint_value)) + late, 0.0)
            slope, cuts = 0.0, cuts.let_through(X, fall, upper)
        if feedback.constraint_value is not None and feedback.constraint_subgradient is not None:
            most, place = self.slots(len(X)), region.base.read_place
            for g, s, _, rounding, share in region.base.read_rows(X, feedback):
                noise = rounding + errors.value + slope * (learner.reach + norm(X))
                noise += errors.drift * feedback.age
                cuts, newest = add_cut(cuts, X, g, s, noise, learner.Z, most, place, share)
        return learner._replace(cuts=cuts), newest

    def _limit(self, learner: LeaderState, length: float) -> Callable[[Array], Array]:
        """Return the projection that keeps a leader, relative to the start, near the domain.

        For a ball around the feasible set a limit on the length is enough. Any other set may bind
        the actions, and must bind the leader too.
        """
        if isinstance(self.domain, Ball):
            return partial(shorten, radius=length)

        def onto(z: Array) -> Array:
            point = learner.start + shorten(z, FURTHEST)
            return z if self.domain.contains(point) else self.domain.project(point) - learner.start

        return onto

    def _scale(self, learner: LeaderState, t: float) -> float:
        """Return 1/eta of round t."""
        if self.strong_convexity is not None:
            return 0.5 * float(self.strong_convexity) * t
        return math.sqrt(2 * learner.energy) / learner.reach

    def _lead(
        self,
        learner: LeaderState,
        X: Array,
        feedback: Feedback,
        newest: int | None,
        before: float,
        t: float,
    ) -> tuple[LeaderState, tuple[str, ...]]:
        """Return the leaders after a round, and a sentence if a given leader is not finite."""
        D, cuts, scale, own_state = learner.reach, learner.cuts, learner.inverse_eta, learner.own
        eta = 1.0 / scale if scale > 0 else 0.0
        points, pulls = learner.points.copy(), cuts.pulls.copy()
        grad = feedback.cost_gradient
        sentences: tuple[str, ...] = ()
        enough, onto = EXACT * norm(X - learner.Z), self._limit(learner, OUTREACH * D)
        for k, multiple in enumerate(self.multiples):
            multipliers = pulls[k] * (before / scale if multiple == 0.0 and scale > 0 else 1.0)
            if self.leader is not None:
                point = points[k] + learner.start
                own_state, free, sentences = ask_learner(
                    self.leader, own_state, feedback, point, t, "leader"
                )
                free = free - learner.start
                adds_up = cuts.dual(multipliers, free, onto) > cuts.dual(
                    0.0 * multipliers, free, onto
                )
            elif adds_up := multiple == 0.0:
                free = -eta * learner.gradients
            else:
                free = points[k] if grad is None else points[k] - multiple * eta * grad
                free = self._limit(learner, D)(free)
            mu = multipliers if adds_up else np.zeros_like(multipliers)
            mu, points[k] = ascend(cuts, free, mu, newest, enough, onto)
            fade = 0.0 if adds_up else max(1.0 - float(mu.sum()) / D, 0.0)
            pulls[k] = fade * pulls[k] + mu
        cuts, Z = cuts._replace(pulls=pulls), learner.trust.weights @ points
        outside = np.array([cuts.exceed(z) for z in points])
        return learner._replace(
            own=own_state, cuts=cuts, points=points, outside=outside, Z=Z
        ), sentences

    def _follow(
        self, learner: LeaderState, X: Array, feedback: Feedback, region: Region
    ) -> tuple[LeaderState, Array]:
        """Return the learner, with the round of the last growth of depth, and the proposal."""
        t, deepest, start, relaxed = region.round, region.depth, learner.start, region.relaxed
        if t == 1 or deepest > GROWN * learner.depth:
            learner = learner._replace(depth=deepest, deepened=t)
        is_growing = SHALLOW * deepest < learner.reach and t - learner.deepened < GROWING
        cuts, Z, pulls = self._cuts_as_read(learner, feedback, region, X)
        way = Z - X
        gap, room, slope_norm = norm(way), max(float(region.radius), 0.0), region.slope_norm
        h = _margin(cuts, pulls, X, Z, room, slope_norm)
        h = min(h, KEEP * max(deepest, 0.0))
        if is_growing:
            h = max(h, min(GROWTH * gap / SHALLOW, LEAP * deepest))
        else:
            point = relaxed.nearest(start + Z)
            if norm(point - start - Z) <= ARRIVED * gap:
                return learner, point
        goal = Z + pulls @ cuts.normals
        distance, remainder = _squared_distance(X, goal), _squared_distance(Z, goal)
        behind, clearly = max(distance - remainder, 0.0), CLEARLY * distance
        if not region.errors.slope < math.inf:
            behind = 0.0  # cuts that are guesses do not tell how deep a point is
        for margin in (h, AGAIN * h):
            worth = DEPTH_SHARE * behind / margin if margin > 0.0 else 0.0
            best, least = start + X, math.inf
            for share in _shares(room, gap, is_growing):
                W = push_from_cuts(cuts, X + share * way, slope_norm * margin)
                if not region.errors.is_exact:
                    W = _apply_reading(feedback, region, W, X, slope_norm * margin)
                point = relaxed.nearest(start + W)
                depth = _find_depth(cuts, point - start, slope_norm, margin)
                value = _squared_distance(point - start, goal) - worth * depth
                if value < least - clearly:
                    best, least = point, value
            current = distance - worth * min(room, margin)
            if least < current - clearly or room < AGAIN * margin or is_growing:
                break
        return learner, best

    def _cuts_as_read(
        self, learner: LeaderState, feedback: Feedback, region: Region, X: Array
    ) -> tuple[Cuts, Array, Array]:
        """Return the cuts, the leader and its pulls as the follower uses them.

        Only the leader needs cuts that hold for all points within D of the start and in every
        context. The follower goes after the point of the next context.
        """
        errors, cuts, Z, D = region.errors, learner.cuts, learner.Z, learner.reach
        pulls, gap = learner.trust.weights @ cuts.pulls, norm(Z - X)
        if len(learner.points) > 1 and gap > 0.0 and cuts.places is None:
            # The mean may have left a cut that holds one of them.
            pulls = pulls * np.clip(1.0 - (cuts.offsets - cuts.normals @ Z) / gap, 0.0, 1.0)
        if errors.is_exact and cuts.places is None:
            return cuts, Z, pulls
        if errors.slope < math.inf:
            cuts = cuts.loosen(-errors.slope * D)
        enough, onto = EXACT * gap, self._limit(learner, OUTREACH * D)
        if cuts.places is not None:
            goal = Z + pulls @ cuts.normals
            cuts = cuts.move(region.base.fall)
            pulls = learner.trust.weights @ cuts.pulls
            for _ in range(TURNS):
                before = pulls
                pulls, Z = ascend(cuts, goal, before, None, enough, onto)
                if (pulls == before).all():  # another turn would do the same
                    break
            return cuts, Z, pulls
        if errors.slope < math.inf:
            cuts = _count_errors(cuts, X, region)
        _, Z = ascend(cuts, Z, np.zeros_like(cuts.offsets), None, enough, onto)
        return cuts, _apply_reading(feedback, region, Z, X, 0.0), pulls

    def observer(self, knowledge: Knowledge) -> LeaderRegret | None:
        """Return the sums of the observed regret bounds.

        It is None for a given leader, under drift, and if subgradients are estimates, because cuts
        may then be wrong.
        """
        wrong = knowledge.errors.drift or not knowledge.errors.slope < math.inf
        return None if self.leader is not None or wrong else LeaderRegret.first(self.multiples)

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> LeaderInKernel | None:
        """Return how the kernel has the leaders: its own ones, in the domain of the knowledge."""
        is_there = self.leader is None and self.domain == knowledge.domain
        return LeaderInKernel(self, d) if is_there else None


class LeaderInKernel(ProposerInKernel):
    """Leaders and their follower in the kernel."""

    code = "SF_LEADER"

    def __init__(self, proposer: Leader, d: int) -> None:
        self.slots = proposer.slots(d)
        self.fields: dict[str, Any] = {
            "cuts": self.slots,
            "strong_convexity": float(proposer.strong_convexity or 0.0),
        }

    def take_apart(self, memory: LeaderState, names: Iterable[str]) -> Mapping[str, Any]:
        """Return the parts by name; those of the cuts with zeros for the cuts that are not used."""
        parts = {name: attrgetter(name)(memory) for name in names if not name.startswith("cuts.")}
        cuts, count = memory.cuts, len(memory.cuts.offsets)
        free = (0, self.slots - count)
        return parts | {
            "cuts.count": count,
            "cuts.offsets": np.pad(cuts.offsets, free),
            "cuts.inverses": np.pad(cuts.inverses, free),
            "cuts.pulls": np.pad(cuts.pulls, ((0, 0), free)),
            "cuts.normals": np.pad(cuts.normals, (free, (0, 0))),
        }

    def put_together(self, parts: dict[str, Any]) -> LeaderState:
        """Return the state of parts, with the cuts that are used."""
        cuts, trust = parts.pop("cuts"), Trust(**parts.pop("trust"))
        count, most = cuts["count"], len(cuts["offsets"])
        if not (0 <= count <= most and count == int(count)):
            rule = f"a number of cuts that is whole and from 0 to {most}"
            raise InvalidValueError(f"state must have {rule}, got {count}")
        n = int(count)
        used = Cuts(
            cuts["normals"][:n], cuts["offsets"][:n], cuts["inverses"][:n], cuts["pulls"][:, :n]
        )
        return LeaderState(cuts=used, trust=trust, own=(), **parts)

    def note(self, step: KernelStep) -> LeaderNote:
        """Return the numbers of the round."""
        n = step.noted
        return LeaderNote(n.size, step.lags, n.behind, n.paid, n.before, n.scale, n.reach)


def _margin(cuts: Cuts, pulls: Array, X: Array, Z: Array, room: float, slope_norm: float) -> float:
    """Return h: half of the lag of X behind Z, in the leader's objective, spent on the margin."""
    L = norm(push_from_cuts(cuts, Z, slope_norm * room) - X)
    slack = np.minimum(cuts.offsets - cuts.normals @ X, cuts.normals @ (Z - X))
    behind = float(pulls @ np.maximum(slack - slope_norm * room * cuts.rises, 0.0)) + 0.5 * L * L
    price = slope_norm * float(pulls @ cuts.rises)
    h = ROOM_SHARE * room + (LAG_SHARE * behind / price if price > 0.0 else 0.0)
    return float(min(h, WAY_SHARE * max(L, room)))


def _find_depth(cuts: Cuts, z: Array, slope_norm: Number, most: float) -> float:
    """Return the depth of a point by the cuts; the limit if g is flat."""
    return min(cuts.slack(z) / slope_norm, most) if slope_norm > 0.0 else most


def _squared_distance(x: Array, y: Array) -> float:
    """Return the squared distance of two points."""
    return float((x - y) @ (x - y))


def _shares(room: float, gap: float, is_growing: bool) -> Iterator[float]:
    """Yield the shares of the way to try: the room, twice as much, up to the whole way."""
    share = min(room / gap, 1.0) if gap > 0.0 else 1.0
    if is_growing:
        yield share
        return
    share = max(share, 0.5 ** (LENGTHS - 1))
    while share < 1.0:
        yield share
        share *= 2.0
    yield 1.0


def _count_errors(cuts: Cuts, X: Array, region: Region) -> Cuts:
    r"""Return the cuts at the inner ends of what was read, for the follower.

    A reading with an error of e leaves a face between two planes that are :math:`2e/\|s\|` apart.
    Leaders need the outer one. A follower that went there would be sent back by the next reading,
    from face to face. But no face is nearer to X than the certified depth there.
    """
    room = region.slope_norm * max(float(region.radius), 0.0)
    sure = cuts.normals @ X + room * cuts.rises
    inner = cuts.offsets - 2 * region.errors.value * cuts.inverses
    return cuts._replace(offsets=np.maximum(inner, np.minimum(sure, cuts.offsets)))


def _apply_reading(feedback: Feedback, region: Region, W: Array, X: Array, rho: float) -> Array:
    """Return W moved to where the newest readings give g <= -rho."""
    for _, s, upper, _, share in region.base.read_rows(X, feedback):
        if norm(s) > 0:
            margin = rho if share is None else share * rho
            W = project_halfspace(W, upper + dot(s, W - X) + margin, s)
    return W
