"""Leader and follower with only values of g: differences estimate subgradients."""

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import CertifiedState
from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, tuning
from surefoot.core.arrays import freeze, norm
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import nonnegative, positive
from surefoot.core.types import Array, Info, Needs, Number, Set
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import PossibleHorizon
from surefoot.guarantees.tuning import Tuned
from surefoot.guarantees.with_errors import under_errors
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.region import Region
from surefoot.proposers.leader import Leader, LeaderState
from surefoot.rules.certified.arguments import ErrorBounds, hull_knowledge
from surefoot.rules.certified.leader_follower import LeaderFollower
from surefoot.rules.wrappers.wrapper import Wrapper

__all__ = ["Probing", "ValuesFollower", "ValuesOnly"]

NEGLIGIBLE = 1e-7
"""Slack below this share of the start's is not worth a probe."""
PROBE, DOUBT, NEAR = 0.01, 0.5, 0.5
"""The defaults of :class:`Probing`."""


class ProbingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of leader and follower.
        probing: the entry of the action that is moved by a probe, from 0; -1 outside of a probe.
        origin: the action that the probes differ from.
        value: g there.
        length: how far a probe goes.
        slopes: the differences so far.
    """

    x: Array
    base: CertifiedState
    probing: int
    origin: Array
    value: float
    length: float
    slopes: Array

    def flaw(self) -> str:
        """Return how the fields contradict each other; empty if they do not."""
        return "" if -1 <= self.probing < len(self.x) else "with probing an entry of x, or -1"


class Probing(Wrapper):
    r"""Leader and follower from values of g alone: safe from G_g, no slopes needed.

    Certificates of :class:`~surefoot.knowledge.LipschitzHull` are made of values, and slopes only
    steer. Here slopes are differences of values at actions that are played: where the leader is
    out of reach, the action is close to the boundary and the cuts known so far do not say why, the
    next d rounds go to

    .. math:: x_0 + \delta e_i, \quad i = 1, \dots, d, \qquad
              \hat s_i = (g(x_0 + \delta e_i) - g(x_0))/\delta, \qquad \delta = p\,r,

    with r the radius of the certified ball of :math:`x_0`. Then :math:`\hat s`, no longer than
    :math:`G_g`, is a cut like any other; a probe that the region, or who plays it, moves by half of
    :math:`\delta` or more says nothing, and the entry stays as it was. All of these rounds count,
    all of their actions are taken from the certified region, and all of their cost gradients reach
    the leader. A cut that an action has passed was wrong, and is moved to that action. Feasibility
    rests on none of this: the base is told that slopes may err by anything.

    A probe begins if the leader is beyond the certified ball, the slack is less than ``near`` times
    the largest so far, and

    .. math:: g_t - \max_i\big(g_i + \hat s_i^\top(x_t - x_i)\big) > q\,(-g_t) .

    It ends where a round is not measured.

    Args:
        base: leader and follower, ``Certified(Leader(...), LipschitzHull(...))``.
        probe: p, the length of a probe relative to the radius of the certified ball; below 1/2.
        doubt: q, which part of the slack may be unexplained without a probe.
        near: how close to the boundary probes begin, relative to the deepest action.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"value_error", "action", "age", "within"})
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "every round"
    other_needs: ClassVar[dict[str, Any]] = {"constraint_subgradients": 0}

    probe: Number = positive(default=PROBE)
    doubt: Number = nonnegative(default=DOUBT)
    near: Number = nonnegative(default=NEAR)

    def __post_init__(self) -> None:
        super().__post_init__()
        base = self.base
        if not (
            isinstance(base, Certified)
            and isinstance(base.proposer, Leader)
            and isinstance(base.knowledge, LipschitzHull)
        ):
            raise InvalidValueError(f"base must be a LeaderFollower, got {base!r}")
        if self.probe >= 0.5:
            raise InvalidValueError(f"probe must be below 1/2, got {self.probe!r}")
        allowed = base.allowing(replace(base.errors, slope=math.inf))
        object.__setattr__(self, "base", allowed)

    def init(self, x1: Array) -> ProbingState:
        """Start at x1; its slack comes with the first feedback."""
        base = self.base.init(x1)
        return ProbingState(base.x, base, -1, base.x, 0.0, 0.0, np.zeros_like(base.x))

    def step(self, state: ProbingState, feedback: Feedback) -> tuple[ProbingState, Info]:
        """Return the state after a round and its details: the formulas of the docstring."""
        located, i = self.locate(state, feedback), state.probing
        if located.constraint_value is None:
            base, info = self.base.step(state.base, located)
            return state._replace(x=base.x, base=base, probing=-1), info
        x, d = located.action, len(state.x)
        g = checks.read_constraint_value(located.constraint_value, x)
        # The probe that was just played, if there was one and it was not moved.
        slopes, s = state.slopes, None
        if i >= 0:
            way = x - state.origin
            if norm(way - state.length * np.eye(d)[i]) < 0.5 * state.length:
                slopes = np.where(np.eye(d)[i] > 0, (g - state.value) / way[i], slopes)
            if i == d - 1:
                size = norm(slopes)
                s = min(self.knowledge.G_g / size, 1.0) * slopes if size > 0 else slopes
        base, info = self.base.step(state.base, located._replace(constraint_subgradient=s))
        # The next one.
        region, new = info.region, base.x
        state = state._replace(base=base, probing=-1, slopes=slopes)
        if i < 0 and self._doubts(base.learner, region, x, g):
            length = self._length(region)
            state = state._replace(probing=0, origin=x, value=g, length=length)
        elif 0 <= i < d - 1:
            state = state._replace(probing=i + 1)
        if state.probing >= 0:
            target = state.origin + state.length * np.eye(d)[state.probing]
            new = freeze(region.nearest(target))
        return state._replace(x=new), info._replace(x=new)

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    def move_to(self, state: ProbingState, x: Array) -> ProbingState:
        """Return the state, of the same round, whose action is x: a probe ends."""
        base = self.base.move_to(state.base, x)
        return state._replace(x=base.x, base=base, probing=-1)

    def rest(self, state: ProbingState, x: Array) -> ProbingState:
        """Return the state after a round without a reading; x is the next action."""
        base = self.base.rest(state.base, x)
        return state._replace(x=base.x, base=base, probing=-1)

    def _doubts(self, leader: LeaderState, region: Region, x: Array, g: float) -> bool:
        """Return whether the leader is out of reach for a reason that no cut tells."""
        r, X, cuts = region.radius, x - leader.start, leader.cuts
        if not (0.0 < r < self.near * region.depth and norm(leader.Z - X) > r):
            return False
        over = (cuts.normals @ X - cuts.offsets) / cuts.inverses
        explained = float(np.max(over, initial=-math.inf))
        negligible = NEGLIGIBLE * -leader.start_value + 2 * region.errors.value
        return bool(g - explained > self.doubt * -g + negligible)

    def _length(self, region: Region) -> float:
        """Return how far a probe goes: further where values err, but never far."""
        r, noisy = max(region.radius, 0.0), 8 * region.errors.value / self.knowledge.G_g
        return float(max(self.probe * r, min(noisy, 0.25 * r)))


class ValuesFollower(Probing):
    r"""Leader and follower from values of g alone: safe from G_g, no slopes needed.

    It is :class:`~surefoot.rules.LeaderFollower` in
    :class:`~surefoot.rules.Probing`, which measures slopes by differences where the leader is
    out of reach. No slope is reported, so that none can err.

    Args:
        G_g: a bound on the norms of subgradients of g.
        domain: a set that contains the feasible set and holds every action.
        cuts: how many half-spaces the leaders remember; a default by dimension unless given.
        reach: the largest norm of a feasible point; that of the domain unless given.
        start_bound: a bound on g at the start in every round, for drift.
        probe: the length of a probe, relative to the radius of the certified ball; below 1/2.
        doubt: which part of the slack may be unexplained without a probe.
        near: how close to the boundary probes begin, relative to the deepest action.
        value_error: how wrong a reported g may be.
        drift: how much g may change from round to round.
        evaluation_error: how wrong a computed g may be beyond rounding.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = ValuesFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> feedback = Feedback(np.array([0.0, -4.0]), -0.5)
        >>> player.update(state, feedback).x.round(6)  # as far as the slack of 0.5 reaches
        array([0. , 0.5])
    """

    declared_by = (Probing, Leader, LipschitzHull, ErrorBounds)
    typical_needs: ClassVar[Needs] = LeaderFollower.typical_needs._replace(
        constraint_subgradients=0
    )

    def __init__(
        self,
        *,
        G_g: float,
        domain: Set,
        cuts: int | None = None,
        reach: float | None = None,
        start_bound: float | None = None,
        probe: float = PROBE,
        doubt: float = DOUBT,
        near: float = NEAR,
        value_error: float = 0.0,
        drift: float = 0.0,
        evaluation_error: float = 0.0,
    ) -> None:
        checks.positive(G_g=G_g)  # values alone do not say which of several limits is near
        base = LeaderFollower(
            G_g=G_g,
            domain=domain,
            cuts=cuts,
            reach=reach,
            start_bound=start_bound,
            value_error=value_error,
            drift=drift,
            evaluation_error=evaluation_error,
        )
        super().__init__(base=base, probe=probe, doubt=doubt, near=near)

    @classmethod
    @tuning(lambda: ValuesOnly)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from G_g, the start and values of g alone.

        Args:
            constants: needs R, G_g and start_slack; uses the error of values and the drift.
            horizon: unused; every tuning takes one.
            domain: a set that contains the feasible set; by default the ball around 0 of radius R.
        """
        checks.check_possible_horizon(horizon)
        theorem = ValuesOnly(constants)
        arguments = hull_knowledge(constants, domain)
        leader = Leader(domain=arguments["domain"])
        base = LeaderFollower.of(leader, LipschitzHull(**arguments))
        return Tuned(cls.around(base), under_errors(theorem))


class ValuesOnly(PossibleHorizon, StrictStart):
    r"""Values alone: feasible in every round, from G_g and a strictly feasible start.

    .. math:: g(x_t) \le 0 \ \forall t .

    The hull of balls that certifies an action is made of values and G_g, and no slope enlarges it
    (Theorem E of docs/hulls.md), so that estimates of slopes may steer and never certify. No
    regret bound is claimed: in advance no more is known than that the costs of two feasible points
    differ by at most :math:`2RG_f`. docs/values.md has the statement and what was measured.

    Args:
        constants: needs R, G_g, start_slack; G_f for the number above.
        horizon: the intended number of rounds, if there is one.
    """

    name: ClassVar[str] = "Values only"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")
