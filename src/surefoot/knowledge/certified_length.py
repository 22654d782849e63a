r"""The region of a margin: a ball around the projection of the last action.

Let A bound the distance of :math:`x_t` to the tightened set :math:`X_\rho = \{g \le -\rho\}` (in
the domain), and q be the projection of :math:`x_t` onto the half-space
:math:`H_t = \{g_t + s_t^\top(p - x_t) + \rho \le 0\} \supseteq X_\rho` and then onto the domain.
B bounds what q has left of that distance (docs/lengths.md has the proofs, for any convex domain):

* :math:`g_t \le -\rho`: the action is in :math:`X_\rho`, deeper than the boundary by at least
  :math:`(-\rho - g_t)/G_g`, because g rises by at most G_g a unit of length. Keep the distance
  signed: :math:`B = (g_t + \rho)/G_g \le 0`, and q is the action.
* :math:`g_t > -\rho`: projecting onto :math:`H_t` moves by :math:`d = (g_t + \rho)/\|s_t\|` and
  brings every point of :math:`X_\rho` closer, so :math:`B = \sqrt{A^2 - d^2}`. Convexity and the
  start's slack :math:`\alpha` bound A afresh:
  :math:`A \le \frac{g_t+\rho}{g_t+\alpha}\|x_t - x_1\|`.

Any p is at most :math:`\|p - q\| + B` away from :math:`X_\rho`, so that
:math:`g(p) \le G_g(\|p - q\| + B) - \rho`, which is at most 0 in the ball around q of radius
:math:`r = \rho/G_g - B`. That inequality is the certificate. For the same reason A of the next
round is :math:`[\|x_{t+1} - q\| + B]_+`, whatever action was played, less what a smaller
:math:`\rho` saves: :math:`X_{\rho'}` holds every point within :math:`(\rho - \rho')/G_g` of
:math:`X_\rho`. A step of at most r from :math:`x_t`, then projected onto :math:`H_t` and the
domain, ends in that ball, because projections bring points no further apart.

Errors and drift (rule N of docs/errors.md). With :math:`g^+ = \hat g + \nu`, or the bound that was
certified before the action was played where that is smaller, :math:`g^- = \hat g - \nu`, and
:math:`x_a` the anchor, with slack :math:`\alpha` in this round (the start; under drift the deepest
action, aged by v per round):

.. math::
    A   &= \min\big(A, \tfrac{g^++\rho}{g^++\alpha}\|x-x_a\|\big), \qquad
    d   = [g^- + \rho - \tau A]_+/\|\hat s\|, \qquad B = \sqrt{A^2 - d^2}, \\
    H   &= \{p : g^- + \hat s^\top(p-x) + \rho - \tau A \le 0\}, \qquad
    r   = (\rho - kv)/G_g - B ,

k the number of rounds since the reading. The nearest point of :math:`X_\rho` is within A of x,
hence in H. Where r is below :math:`\rho/(5G_g)` the step would be too short to be of use, and for a
while all others too: the action is *pulled* into :math:`X_{\max(\rho, v)}` instead, by the share
:math:`\theta = (g^++\max(\rho,v))/(g^++\alpha)` of the way to the anchor, which convexity alone
certifies. An anchor of which drift may have used half the slack is visited and so measured again.
A fixed g may stay where it is; under drift that needs :math:`g^+ + v \le 0`. Where nothing is
certified, :class:`surefoot.knowledge.EmptyRegionError` is raised; a run of a batch becomes NaN.

Rounding. A full-length step ends on the boundary, and the root loses half of the digits where
:math:`d \approx A`; so computed numbers need a margin. With u = 2^-53, n the dimension, M the
largest norm of a point of the domain, :math:`\delta` a bound on the evaluation error of g with
:math:`8uG_gM` to spare, :math:`\kappa = 4(n+8)u` and :math:`e = 32(n+8)uM + \delta/G_g`: g is taken
as :math:`g + \delta` wherever a larger g is the careful choice, the half-space as
:math:`g_t + s_t^\top(p - x_t) + \rho - \delta \le 0`, d as :math:`(g_t+\rho-2\delta)_+/\|s_t\|`,
the root as :math:`\sqrt{(A-d)_+(A+d) + \kappa A^2}`, and r as :math:`\rho/G_g - B - e`. Of e,
:math:`24(n+8)uM + \delta/G_g` is what the two projections that lead to q may be off by, and
:math:`8(n+8)uM` what the computed distance to q may be; nothing else of an action counts, whatever
computed it. Then the true g and the computed one are at most 0 in every round; docs/lengths.md
has the proof. Where r comes out as 0 or less the tightening is below the rounding level, and the
action stays where it is, which is feasible.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import (
    dot,
    is_number,
    maximum,
    minimum,
    norm,
    number_like,
    round_up,
    sqrt,
    where,
)
from surefoot.core.forms import Counts, Extended, Moment
from surefoot.core.kernel_constants import (
    ALARM_NOISES,
    CRAMPED,
    CUT_ROUNDING,
    LENGTH_NOISES,
    LENGTH_ROUNDINGS,
    POINT_ROUNDINGS,
    ROOT_ROUNDINGS,
    STALE,
    SUM_ROUNDINGS,
    TERMS,
    TIGHTEST,
    VALUE_ROUNDINGS,
    VALUE_TERMS,
)
from surefoot.core.parameters import flag, positive, projectable
from surefoot.core.points import UNIT, all_entries, reach_of, snap_inside
from surefoot.core.types import Array, Number, Set, Solving
from surefoot.knowledge.base import BALLS, Capability, Knowledge, ObserverKind, Reading
from surefoot.knowledge.contradictions import check_bound, check_proposal, check_rise, check_start
from surefoot.knowledge.errors import (
    EmptyRegionError,
    Errors,
    describe_errors,
    is_zero,
    list_causes,
)
from surefoot.knowledge.in_kernel import KernelStep, KnowledgeInKernel, share_fields
from surefoot.knowledge.region import Projection, Region
from surefoot.sets import Ball, Box, project_halfspace

__all__ = ["CertifiedLength", "LengthMemory", "LengthRegion", "StepCertificate"]


class LengthMemory(NamedTuple):
    """What the next region is made of, and the bound on the next distance.

    Attributes:
        rounds: the number of rounds so far.
        anchor: the first action; under drift the deepest.
        slack: at most -g there, when it was read.
        since: the round of that.
        x: the action that was read last.
        read: the round of that.
        upper: g there was at most this.
        level: the value that the half-space is made of, with its errors taken off.
        s: its slope.
        rho: the tightening of that round.
        drawn: q.
        left: B.
        distance: A.
        target: where the action is pulled to; the action itself where it is not.
        target_level: g there was at most this when the action was read; infinite where a fixed g
            may be above 0 there.
        is_pulled: whether it is, in place of a step.
    """

    rounds: Counts
    anchor: Array
    slack: Number
    since: Moment
    x: Array
    read: Moment
    upper: Number
    level: Number
    s: Array
    rho: Number
    drawn: Array
    left: Number
    distance: Number
    target: Array
    target_level: Annotated[Number, Extended]
    is_pulled: Array


class CertifiedLength(Knowledge):
    r"""Knowledge that g is convex with no subgradient longer than G_g; a margin rho is kept.

    Args:
        G_g: upper bound on every subgradient that the constraint may return at feasible points of
            the domain.
        domain: a set that contains every action.
        rho: the tightening, cut off at half of the start's slack.
        decreasing: whether it is :math:`\rho/\sqrt t` in round t, which needs no horizon.
        sigma: a lower bound on the subgradients near the boundary, where one is known: longer
            certified steps.
        errors: bounds on the errors of readings.
    """

    proved_by: ClassVar[str] = "Theorem D"
    allows: ClassVar[frozenset[Capability]] = frozenset(
        {"value", "slope", "drift", "late", "batch", "margin"}
    )
    offers = BALLS

    G_g: Number = positive()
    domain: Set = projectable()
    rho: Number = positive()
    decreasing: bool = flag(default=False)
    sigma: Number | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Steps square lengths far shorter than the reach, and divide by what they get.
        both = (("G_g", self.G_g, self.G_g), ("domain", self.domain, self.reach))
        for name, value, size in both:
            is_known = isinstance(size, (float, np.ndarray))
            if is_known and not (np.clip(size, 1e-120, 1e120) == size).all():
                rule = "from 1e-120 to 1e120 in size, where squares are floats"
                raise checks.invalid(name, rule, value)

    @cached_property
    def reach(self) -> Number:
        """The largest norm of a point of the domain."""
        return reach_of(self.domain)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise over a length."""
        return self.G_g * length

    def describe_to_kernel(self, d: int) -> LengthInKernel:
        """Return how the kernel has the certified length."""
        return LengthInKernel(self)

    @property
    def observer_kind(self) -> ObserverKind:
        """The price of a cut by length, which Theorem D has for exact readings."""
        return "length" if self.errors.is_exact else "none"

    def tightening(self, t: Number, slack: Number) -> Number:
        r"""Return :math:`\rho_t = \min(\alpha/2, \rho)` or :math:`\min(\alpha/2, \rho/\sqrt t)`."""
        return minimum(
            TIGHTEST * slack, self.rho / sqrt(t) if self.decreasing else self.rho + 0.0 * t
        )

    def margins(self, d: int) -> tuple[Number, Number, float]:
        """Return delta, e and kappa of the module in a dimension."""
        unit = UNIT * self.reach
        # For g = max(a_i'x - b_i) the error is at most 4(d+4)u(|a_i||x| + |b_i|), and the row
        # that counts has |b_i| <= |a_i||x| + |g| with |g| <= 2 G_g R on the feasible set.
        noise = VALUE_ROUNDINGS * (d + VALUE_TERMS) * unit * self.G_g
        if not is_zero(self.errors.evaluation):
            # The bound is on g as the oracle rounds it; adding it to g, and rho, rounds once more.
            noise = maximum(noise, self.errors.evaluation + SUM_ROUNDINGS * unit * self.G_g)
        error = LENGTH_ROUNDINGS * (d + TERMS) * unit + noise / self.G_g
        return noise, error, ROOT_ROUNDINGS * (d + TERMS) * UNIT

    def noise(self, d: int) -> Number:
        """Return delta of the module in a dimension."""
        return self.margins(d)[0]

    def first(self, x1: Array) -> LengthMemory:
        """Return the memory before the first round."""
        zero = number_like(x1, 0.0)
        numbers = (zero, zero, 0.0 * x1, zero, x1, zero, zero, x1, zero, zero < 0)
        return LengthMemory(zero, x1, zero, zero, x1, zero, *numbers)

    def learn(self, memory: LengthMemory, reading: Reading) -> LengthMemory:
        """Return the memory after a reading."""
        x, g, s, errors, age = reading
        noise, error, kappa = self.margins(x.shape[-1])
        t, first = memory.rounds + 1.0, memory.rounds == 0
        when = t - age
        upper, zero = g + (errors.value + noise), 0.0 * g
        slack = where(first, -upper, self._slack(memory, when, errors))
        before = self.tightening(t, slack)
        distance = where(first, zero, self._distance(memory, x, when, before, errors))
        limit = where(first, math.inf + zero, self.G_g * distance - before + noise)
        anchor, since, certified = memory.anchor, memory.since, distance
        fresh = first
        # A fixed g stays as certain where the action is as it was before it was played.
        may_stay = (g + errors.value <= 0) | (limit <= LENGTH_NOISES * noise)
        if not errors.is_exact:
            # G_g holds on the way to a certified action, not to a possibly infeasible one.
            upper = where(limit <= LENGTH_NOISES * noise, minimum(upper, limit), upper)
        if errors.drifts:
            may_stay = upper == upper
            fresh = first | all_entries(x == anchor) | (-upper > slack)
            slack = where(fresh, maximum(slack, -upper), slack)
        if is_number(g) and not slack > 0:
            if memory.rounds:  # the anchor is used up
                raise EmptyRegionError.of_drift(t, anchor, -slack, errors.drift)
            check_start(g, -slack, 0.0)
        seen_slack = where(fresh, slack, memory.slack)
        anchor, since = where(fresh, x, anchor), where(fresh, when + zero, since)
        rho = self.tightening(t, slack)
        if errors.drifts:
            certified = where(rho > before, math.inf + zero, distance)
        excess, rise = upper + rho, upper + slack
        # Inside, and for a rejected start, the denominator is irrelevant: make it 1.
        near = maximum(excess, zero) / where(rise > 0, rise, 1.0) * norm(x - anchor)
        if self.sigma is not None:
            near = minimum(near, maximum(excess, zero) / self.sigma)
        A, inside = minimum(near, certified), upper <= -rho
        level = g - errors.value - where(inside, zero, errors.slope * A)
        squared = dot(s, s)
        # From g itself, so that the difference loses no digits, and by one noise less than the
        # half-space moves: then its relative error is that of a quotient, whatever g is.
        cut = maximum(level + rho - LENGTH_NOISES * noise, zero)
        cut = cut / where(squared > 0, sqrt(squared), math.inf)
        root = sqrt(maximum(A - cut, zero) * (A + cut) + kappa * A * A)
        projection, remainder = self._project(project_halfspace(x, level + rho - noise, s), root)
        remainder = where(inside, excess / self.G_g, remainder)
        stay = where(may_stay, upper, math.inf + zero)
        numbers = (t, anchor, seen_slack, since, x, when + zero, upper, level, s, rho)
        after = LengthMemory(*numbers, projection, remainder, A, x, stay, zero > 0)
        return after if errors.is_exact else self._pull(after, slack, error, errors)

    def holds(self, x: Array) -> bool:
        """Return whether an action of one run is in the domain; a batch is trusted."""
        one = isinstance(x, np.ndarray) and x.ndim == 1
        return not one or bool(self.domain.contains(x))

    def _project(self, p: Array, distance: Number) -> tuple[Array, Number]:
        r"""Return a projection onto the domain, and its distance to points of it, from that of p.

        Those onto a ball and a box are as exact as the margin counts on. For a q that any other
        set returns, and every v of the set,
        :math:`\|q-v\|^2 \le \|p-v\|^2 + 2\max_{w}(p-q)^\top(w-q) - \|p-q\|^2`.
        """
        if isinstance(self.domain, (Ball, Box)):
            return self.domain.project(p), distance
        if isinstance(self.domain, Solving):
            projection = self.domain.nearest(p)
            return projection.point, distance + projection.error
        q = self.domain.project(p)
        way = q - p
        gap = dot(way, q - self.domain.minimize_linear(way))
        rounding = LENGTH_ROUNDINGS * (p.shape[-1] + TERMS) * UNIT * self.reach
        gap = maximum(gap, 0.0 * gap) + rounding * norm(way)
        more = maximum(2.0 * gap - dot(way, way), 0.0 * gap)
        return q, sqrt(distance * distance + more)

    def _slack(self, memory: LengthMemory, t: Number, errors: Errors) -> Number:
        """Return the slack of the anchor in a round, rounded down."""
        if not errors.drifts:
            return memory.slack
        return -round_up(round_up(errors.drift * abs(t - memory.since)) - memory.slack)

    def _distance(
        self, memory: LengthMemory, x: Array, t: Number, rho: Number, errors: Errors
    ) -> Number:
        r"""Return A of an action: :math:`[\|x - q\| + B + e]_+`, less what a smaller rho saves.

        Under drift, for the nearest w of :math:`X_\rho`, the point
        :math:`w + kv(x_a-w)/(\alpha-\rho)` has :math:`g \le -\rho - kv` in the round of the
        reading and :math:`-\rho` now, as long as that share is at most 1. Nothing is known of the
        way to a set of a larger rho, which a reading that comes late may ask for.
        """
        _, error, _ = self.margins(x.shape[-1])
        reached = norm(x - memory.drawn) + memory.left + error
        nearer = (memory.rho - rho) / self.G_g
        if errors.drifts:
            reached = maximum(reached, 0.0)
            rise = errors.drift * abs(t - memory.read)
            deep = self._slack(memory, memory.read, errors) - memory.rho
            rate = (norm(x - memory.anchor) + reached) / where(deep > 0, deep, math.inf)
            if self.sigma is not None:
                rate = minimum(rate, 1.0 / self.sigma + 0.0 * rate)
            reached = where(rise <= deep, reached + rise * rate, math.inf + 0.0 * rate)
        reached = maximum(reached - nearer, 0.0)
        return where(nearer >= 0, reached, math.inf + 0.0 * nearer)

    def _pull(
        self, memory: LengthMemory, slack: Number, error: Number, errors: Errors
    ) -> LengthMemory:
        """Return the memory with the pull towards the anchor, where a step is of no use."""
        upper, rho, zero = memory.upper, memory.rho, 0.0 * memory.rho
        # The rise of g from the reading to the next round.
        v = errors.drift * (memory.rounds + 1.0 - memory.read)
        rise, x, anchor = upper + slack, memory.x, memory.anchor
        room = (rho - v) / self.G_g - memory.left - error
        level = maximum(rho, v + zero)
        share = (upper + level + self.G_g * error) / where(rise > 0, rise, 1.0)
        cramped = (room < CRAMPED * rho / self.G_g) & (upper > -rho)
        stale = room != room
        if errors.drifts:
            cramped = cramped | (room <= 0)
            age = memory.rounds + 1.0 - memory.since
            old = errors.drift * age >= STALE * memory.slack
            stale = old & (slack > v + self.G_g * error) & (-upper < slack)
        pulled = (cramped & (share >= 0) & (level + self.G_g * error <= slack)) | stale
        target = snap_inside(self.domain, x + where(pulled, share, zero) * (anchor - x))
        target = where(stale, anchor, target)
        # A pulled action is in the tightened set: there is nothing left of the distance.
        projection, remainder = (
            where(pulled, target, memory.drawn),
            where(pulled, zero, memory.left),
        )
        low = where(stale, -slack, where(pulled, -level, memory.target_level))
        return memory._replace(
            target=target, target_level=low, is_pulled=pulled, drawn=projection, left=remainder
        )

    def certify(self, memory: LengthMemory, errors: Errors) -> LengthRegion:
        """Return the ball around q, or the point that the action is pulled to."""
        return LengthRegion(self, memory, errors)

    def place(self, region: Region) -> Region:
        """Return the region, all of whose points are in the domain already."""
        return region

    def contradictions(self, memory: LengthMemory, reading: Reading) -> tuple[str, ...]:
        """Return what a reading of one run has that is impossible if the constants are right."""
        x, _, s, errors, age = reading
        noise, error, _ = self.margins(x.shape[-1])
        t, slope_norm, G_g = int(memory.rounds) + 1, norm(s), float(self.G_g)
        if not memory.rounds:
            return check_rise(t, reading, G_g, noise, float(self.reach))
        slack = self._slack(memory, t - age, errors)
        rho = self.tightening(t, slack)
        limit = G_g * self._distance(memory, x, t - age, rho, errors) - rho + LENGTH_NOISES * noise
        # An action that was not certified may be outside of where G_g holds, and so may the way
        # to it: as that of somebody else, whose reading comes late.
        certified = limit <= ALARM_NOISES * noise
        outside = not certified and reading.upper + noise > 0
        sentences = check_rise(t, reading, G_g, noise, float(self.reach), may_be_outside=outside)
        if certified:
            sentences += check_bound(t, reading, limit, 0.0, f"G_g = {G_g:.6g} is too small")
        after = self.learn(memory, reading)
        cut = max(after.level + after.rho - noise, 0.0) / slope_norm if slope_norm > 0 else 0.0
        # Computed distances err by the root of the rounding unit relative to themselves.
        if cut > after.distance * (1 + CUT_ROUNDING) + error and after.upper > -after.rho:
            words = "G_g, sigma or the start is wrong"
            sentences += (
                f"round {t}: the cut moves by {cut:.6g}, more than the distance "
                f"{after.distance:.6g} to the tightened set: "
                + (words if errors.is_exact else list_causes(errors, words)),
            )
        return sentences


StepRule: TypeAlias = Literal["slack", "contraction", "pulled", "stayed"]


class StepCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        rule: "slack" where the action was inside the tightened set and g rises by at most G_g per
            unit of length; "contraction" where the half-space brought it back towards that set;
            "pulled" where errors left too little room and it went towards the anchor; "stayed"
            where no step above the rounding level was certified and nothing moved.
        slack: -g at the action played.
        rho: the tightening of the round.
        length: r, how far from the drawn-back action is certified.
        taken: how far from it the next action is, never more than ``length``.
        bound: the next g is at most this; never above 0.
        G_g: the Lipschitz constant.
        cut: whether the region changed the proposal.
        errors: what the certificate allows for.
    """

    round: int
    rule: StepRule
    slack: float
    rho: float
    length: float
    taken: float
    bound: float
    G_g: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        step = f"step {self.taken:.3g}" + (", cut" if self.cut else "")
        why = {
            "slack": f"slack {self.slack:.3g} and g rises by at most G_g = {self.G_g:g}",
            "contraction": f"slack {self.slack:.3g} below rho = {self.rho:.3g}, moving back",
            "pulled": f"slack {self.slack:.3g} leaves too little room, going to the anchor",
            "stayed": f"no room above rounding at slack {self.slack:.3g}, so nothing moved",
        }[self.rule]
        return (
            f"round {self.round}: {why}{describe_errors(self.errors)}: "
            f"certified length {max(self.length, 0.0):.3g}, {step}; "
            f"the next g is at most {self.bound:.3g}"
        )


RULES: dict[str, StepRule] = {
    "SF_SLACK": "slack",
    "SF_CONTRACTION": "contraction",
    "SF_PULLED": "pulled",
    "SF_STAYED": "stayed",
}
"""The words of :class:`StepCertificate` for the kernel's names."""


class LengthInKernel(KnowledgeInKernel):
    """The certified length in the kernel."""

    code = "SF_LENGTH"
    tightens = True

    def __init__(self, knowledge: CertifiedLength) -> None:
        self.fields: dict[str, Any] = share_fields(knowledge.errors, knowledge.reach) | {
            "G_g": knowledge.G_g,
            "rho": knowledge.rho,
            "sigma": 0.0 if knowledge.sigma is None else knowledge.sigma,
            "decreasing": int(knowledge.decreasing),
        }

    def put_together(self, parts: dict[str, Any]) -> LengthMemory:
        """Return the memory of parts."""
        return LengthMemory(is_pulled=bool(parts.pop("is_pulled")), **parts)

    def certificate(self, step: KernelStep) -> StepCertificate:
        """Return why the next action is feasible."""
        n = step.numbers
        return StepCertificate(
            round=int(n.round),
            rule=RULES[step.kind],
            slack=-n.value,
            rho=n.rho,
            length=n.room,
            taken=n.distance,
            bound=n.bound,
            G_g=float(self.fields["G_g"]),
            cut=bool(n.cut),
            errors=step.errors,
        )


class LengthRegion(Region):
    """The ball around q; one point if nothing is certified beyond it."""

    knowledge: CertifiedLength
    memory: LengthMemory
    errors: Errors
    round: float
    x: Array
    upper: Number
    noise: Number
    error: Number
    slope_norm: Number
    reach: Number
    rise: Number
    longest: Number
    radius: Number
    depth: Number
    slack: Number
    point: Array
    point_level: Number
    has_point: Number

    def __init__(self, knowledge: CertifiedLength, memory: LengthMemory, errors: Errors) -> None:
        self.knowledge, self.memory, self.errors = knowledge, memory, errors
        self.round, self.x, self.upper = memory.rounds, memory.x, memory.upper
        self.noise, self.error, _ = knowledge.margins(memory.x.shape[-1])
        self.slope_norm, self.reach = knowledge.G_g, knowledge.reach
        # What drift has used up since the reading, and will have in the next round.
        self.rise = errors.drift * (memory.rounds + 1.0 - memory.read)
        room = (memory.rho - self.rise) / knowledge.G_g - memory.left - self.error
        self.longest = where(memory.is_pulled, 0.0 * room, room)
        self.radius = self.depth = -(self.upper + self.rise) / knowledge.G_g
        self.slack = knowledge._slack(memory, memory.rounds + 1.0, errors)
        self._find_point()

    @property
    def remeasurement_due(self) -> bool:  # type: ignore[override]
        """Whether the anchor is to be visited after the next action, if that is no better."""
        memory, drift = self.memory, self.errors.drift
        is_one_run = isinstance(memory.slack, float)
        if is_zero(drift) or not is_one_run or all_entries(self.point == memory.anchor):
            return False
        used = drift * (memory.rounds + 2.0 - memory.since)
        return bool(STALE * memory.slack <= used < memory.slack)

    def _find_point(self) -> None:
        r"""Find the certified point without a ball: the end of the pull, or the action itself.

        A fixed g that is at most 0 there may stay for ever. Under drift the rounds that nobody
        measures take it further on the way to the anchor: with h the level there, :math:`\alpha`
        the anchor's slack, both when the action was read, and kv the rise since then, by the share
        :math:`(h + kv)/(h + \alpha)`.
        """
        memory, knowledge = self.memory, self.knowledge
        self.point, self.point_level = memory.target, memory.target_level
        self.has_point = self.longest == self.longest
        if not self.errors.drifts:
            is_missing = self.point_level == math.inf
            self.point = where(is_missing, memory.anchor, self.point)
            self.point_level = where(is_missing, -memory.slack, self.point_level)
            return
        margin = knowledge.G_g * self.error
        slack = knowledge._slack(memory, memory.read, self.errors)
        moves = self.point_level + self.rise > 0
        deep = slack >= self.rise + margin
        over, whole = self.point_level + self.rise + margin, self.point_level + slack
        share = over / where(moves & deep, whole, math.inf)
        onwards = snap_inside(knowledge.domain, self.point + share * (memory.anchor - self.point))
        self.point = where(moves, onwards, self.point)
        self.point_level = where(moves, -self.rise, self.point_level)
        self.has_point = self.has_point & where(moves, deep, self.has_point)

    def contains(self, w: Array) -> Array:
        """Return whether a point is certified; a column of answers for a batch.

        Those that :meth:`nearest` returns are: they may be off by less than the tolerance.
        """
        tolerance = POINT_ROUNDINGS * (self.x.shape[-1] + TERMS) * UNIT * self.knowledge.reach
        inside = (norm(w - self.memory.drawn) <= self.longest + tolerance) & (self.longest > 0)
        # Not w itself: the square of a far point may overflow.
        inside = inside & self.knowledge.domain.contains(where(inside, w, self.memory.drawn))
        return inside | (all_entries(w == self.point) & self.has_point)

    def nearest(self, w: Array) -> Array:
        """Return w itself where it is certified; else where a step to it is cut off."""
        good = self.contains(w)
        if good is True:
            return w
        certain = ((self.longest > 0) | self.has_point) & (self.memory.slack > 0)
        if certain is False:
            drift = self.errors.drift
            raise EmptyRegionError.of_drift(self.round, self.memory.anchor, -self.slack, drift)
        end, q = self.end_step(w), self.memory.drawn
        distance, room = norm(end - q), maximum(self.longest, 0.0)
        share = minimum(room / where(distance > 0, distance, 1.0), 1.0)
        inner = snap_inside(self.knowledge.domain, q + share * (end - q))
        end = where(distance <= room, end, inner)
        end = where(good, w, where(self.longest > 0, end, self.point))
        # A start that is not strictly feasible certifies nothing, nor does a g that is NaN.
        return where(certain & (self.longest == self.longest), end, math.nan)

    def end_step(self, w: Array) -> Array:
        """Return where a step to w ends: no longer than certified, then half-space and domain."""
        way = w - self.x
        size = norm(way)
        if is_number(size) and not size < math.inf:
            check_proposal(w, self.x)
        room = maximum(self.longest, 0.0)
        y = self.x + minimum(room / where(size > 0, size, 1.0), 1.0) * way
        y = where(size <= room, w, y)
        moved = self.knowledge.domain.project(self.cut_by_half_space(y))
        return where(self.longest > 0, moved, self.point)

    def cut_by_half_space(self, y: Array) -> Array:
        """Return the projection onto the tightened half-space of the reading."""
        memory = self.memory
        excess = memory.level + dot(memory.s, y - memory.x) + memory.rho - self.noise
        return project_halfspace(y, excess, memory.s)

    def price_cut(
        self, end: Array, cut: Projection, x: Array, radius: float
    ) -> tuple[float, float]:
        """Return the tightening of the round and the price of a cut; Theorem D."""
        p = self.cut_by_half_space(end)
        moved = sum(dot(way, way) for way in (end - p, p - x))
        return self.memory.rho, -0.5 * float(moved)

    def certificate(self, x: Array, cut: bool = False) -> StepCertificate:
        r"""Return why a point is feasible: :math:`g \le G_g(\|p - q\| + B + e) - \rho \le 0`."""
        memory = self.memory
        rule: StepRule = "slack" if memory.upper <= -memory.rho else "contraction"
        step, bound = 0.0, min(float(self.point_level + self.rise), 0.0)
        if memory.is_pulled or not (self.longest > 0 or all_entries(x == memory.x)):
            rule = "pulled"
        elif self.longest > 0:
            step = float(norm(x - memory.drawn))
            reached = memory.left + step + self.error
            # At the full length this is 0, up to a rounding that the error leaves room for.
            bound = min(float(self.slope_norm * reached - memory.rho + self.rise), 0.0)
        else:
            rule = "stayed"
        t, slack, G_g = int(self.round), -float(self.upper), float(self.slope_norm)
        lengths = (slack, float(memory.rho), float(self.longest), step, bound, G_g)
        return StepCertificate(t, rule, *lengths, cut, self.errors)
