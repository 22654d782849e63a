r"""A leader without reported subgradients: differences of values at played actions estimate them.

Certificates of :class:`~surefoot.knowledge.LipschitzHull` are made of values, and subgradients only
steer. Where the leader is out of reach, the action is close to the boundary and the cuts so far do
not explain why, the next d proposals are probes,

.. math:: x_0 + \delta e_i, \quad i = 1, \dots, d, \qquad
          \hat s_i = (g(x_0 + \delta e_i) - g(x_0))/\delta, \qquad \delta = p\,r,

with r the radius of the certified ball of :math:`x_0`. Then :math:`\hat s`, shortened to the bound
on the norms of subgradients, is a cut like any other. If the region, or an external action, moves a
probe by half of :math:`\delta` or more, the round says nothing, and the entry stays as it was. All
of these rounds count, all of their actions come from the certified region, and all of their cost
gradients reach the leader. A cut that an action has passed was wrong, and is moved to that action.
Feasibility assumes none of this: beside probes the knowledge takes subgradients for estimates,
which may err by anything.

A probe begins if the leader is beyond the certified ball, the slack is less than ``near`` times the
largest so far, and

.. math:: g_t - \max_i\big(g_i + \hat s_i^\top(x_t - x_i)\big) > q\,(-g_t) .

It ends with a round without a measurement, and with an order to play another action.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Axes, Same
from surefoot.core.parameters import instance_of, nonnegative, positive
from surefoot.core.types import Array, Number, Set
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.leader import Leader, LeaderState

__all__ = ["DOUBT", "NEAR", "PROBE", "Probing"]

NEGLIGIBLE = 1e-7
"""Slack below this share of the start's is not worth a probe."""
PROBE, DOUBT, NEAR = 0.01, 0.5, 0.5
"""The defaults of :class:`Probing`."""


class ProbingState(NamedTuple):
    """What the next round needs.

    Attributes:
        probing: the entry of the action that is moved by a probe, from 0; -1 outside of a probe.
        origin: the action that the probes differ from.
        value: g there.
        length: how far a probe goes.
        slopes: the differences so far.
        leader: the state of the leader.
        place: the context of that value; None without contexts.
    """

    probing: int
    origin: Array
    value: float
    length: float
    slopes: Array
    leader: LeaderState
    place: Annotated[Array | None, Axes(Same("place"))] = None

    def flaw(self) -> str:
        """Return how the fields contradict each other; empty if they do not."""
        is_entry = -1 <= self.probing < len(self.origin)
        return "" if is_entry else "with probing an entry of x, or -1"


class Probing(Proposer):
    """A leader that learns from values of g; the formulas are the module's.

    Args:
        leader: the learner.
        probe: p, the length of a probe relative to the radius of the certified ball; below 1/2.
        doubt: q, which part of the slack may be unexplained without a probe.
        near: how close to the boundary probes begin, relative to the deepest action.

    Example:
        >>> from surefoot import Ball, Certified, Feedback
        >>> from surefoot.knowledge import LipschitzHull
        >>> hull = LipschitzHull(G_g=1.0, domain=Ball(1.0))
        >>> probing = Probing(leader=Leader(domain=Ball(1.0)))
        >>> player = Certified(proposer=probing, knowledge=hull)
        >>> state = player.init(np.zeros(2))
        >>> for _ in range(4):  # g(x) = x[1] - 0.5
        ...     seen = Feedback(np.array([-0.6, -0.8]), float(state.x[1]) - 0.5)
        ...     state = player.update(state, seen)
        >>> state.learner.slopes.round(6)
        array([0., 1.])
    """

    leader: Leader = instance_of(Leader)
    probe: Number = positive(default=PROBE)
    doubt: Number = nonnegative(default=DOUBT)
    near: Number = nonnegative(default=NEAR)

    reads: ClassVar[frozenset[str]] = Leader.reads
    reads_slopes = False
    work = "K d"
    is_one_run = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probe >= 0.5:
            raise InvalidValueError(f"probe must be below 1/2, got {self.probe!r}")

    @property
    def fields(self) -> frozenset[str]:
        """The forecasts that the leader uses."""
        return self.leader.fields

    def init(self, x1: Array) -> ProbingState:
        """Start at x1, without a difference."""
        return ProbingState(-1, x1, 0.0, 0.0, np.zeros_like(x1), self.leader.init(x1))

    def propose(
        self, learner: ProbingState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[ProbingState, Proposal]:
        """Return the leader after a round, and its proposal or the next probe."""
        state, i, d = learner, learner.probing, len(x)
        if feedback.constraint_value is None:
            leader, proposal = self.leader.propose(state.leader, x, feedback, region)
            return state._replace(leader=leader, probing=-1), proposal
        g = checks.read_constraint_value(feedback.constraint_value, x)
        # The probe that was just played, if there was one and it was not moved.
        slopes, s = state.slopes, None
        if i >= 0:
            way = x - state.origin
            if norm(way - state.length * _axis(i, d)) < 0.5 * state.length:
                change = region.base.guess_change(state.place)
                difference = (g - state.value - change) / float(way[i])
                if math.isfinite(difference):
                    slopes = np.where(_axis(i, d) > 0, difference, slopes)
            if i == d - 1 and 0.0 < (size := norm(slopes)) < math.inf:
                s = min(region.slope_norm / size, 1.0) * slopes
        estimate = feedback._replace(constraint_subgradient=s)
        leader, proposal = self.leader.propose(state.leader, x, estimate, region)
        # The next one.
        state = state._replace(leader=leader, probing=-1, slopes=slopes)
        if i < 0 and self._doubts(leader, region, x, g):
            length = self._length(region)
            place = region.read_place
            state = state._replace(probing=0, origin=x, value=g, place=place, length=length)
        elif 0 <= i < d - 1:
            state = state._replace(probing=i + 1)
        if state.probing >= 0:
            target = state.origin + state.length * _axis(state.probing, d)
            proposal = proposal._replace(point=target)
        return state, proposal

    def interrupt(self, learner: ProbingState) -> ProbingState:
        """Return the learner after an order to play another action: a probe ends."""
        return learner._replace(probing=-1)

    def on(self, domain: Set) -> Self:
        """Return the proposer on another set."""
        return replace(self, leader=self.leader.on(domain))

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return self.leader.lengths(d)

    def _doubts(self, leader: LeaderState, region: Region, x: Array, g: float) -> bool:
        """Return whether the leader is out of reach for a reason that no cut tells."""
        r, X, cuts = region.radius, x - leader.start, leader.cuts
        if not (0.0 < r < self.near * region.depth and norm(leader.Z - X) > r):
            return False
        over = (cuts.normals @ X - cuts.offsets) / cuts.inverses
        over = over - region.base.fall_until_read(cuts.places)
        explained = float(np.fmax.reduce(over, initial=-math.inf))
        negligible = NEGLIGIBLE * -leader.start_value + 2 * region.errors.value
        return bool(g - explained > self.doubt * -g + negligible)

    def _length(self, region: Region) -> float:
        """Return how far a probe goes: further where values err, but never far."""
        r, noisy = max(region.radius, 0.0), 8 * region.errors.value / region.slope_norm
        return float(max(self.probe * r, min(noisy, 0.25 * r)))


def _axis(i: int, d: int) -> Array:
    """Return the unit vector along an entry."""
    axis = np.zeros(d)
    axis[i] = 1.0
    return axis
