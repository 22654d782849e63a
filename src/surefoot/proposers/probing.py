r"""A leader without reported subgradients: differences of values at played actions estimate them.

Certificates of :class:`~surefoot.knowledge.LipschitzHull` are made of values, and subgradients only
steer. Where the leader is out of reach, the action is close to the boundary and the cuts so far do
not explain why, the next d proposals are probes,

.. math:: x_0 + \delta e_i, \quad i = 1, \dots, d, \qquad
          \hat s_i = (g(x_0 + \delta e_i) - g(x_0))/\delta, \qquad \delta = p\,r,

with r the radius of the certified ball of :math:`x_0`. Then :math:`\hat s`, shortened to the bound
on the norms of subgradients, is a cut like any other.

**Errors.** Where values err by up to e, probes are longer, and differences are noisy. All of them
have the error of :math:`g(x_0)` in common. With errors of variance :math:`e^2/3` each, as uniform
ones have, and slopes that are of any direction, :math:`G_g^2/d` in each entry, the best linear
estimate from the differences :math:`q_i` is

.. math:: \hat s_i = \frac1{1 + \rho}\Big(q_i - \frac{\rho}{1 + \rho + d\rho}\sum_jq_j\Big),
          \qquad \rho = \frac{d\,e^2}{3\,\delta^2G_g^2} .

It is short where differences are mostly errors, and a short subgradient makes a cut that is far
away: it holds nobody back. No probe begins where :math:`\rho > 1`.

If the region, or an external action, moves a probe by half of :math:`\delta` or more, the round
says nothing, and the entry stays as it was. All of these rounds count, all of their actions come
from the certified region, and all of their cost gradients reach the leader. A cut that says more of
g than a later reading was wrong, and is moved outwards until it says no more. Feasibility assumes
none of this: beside probes the knowledge takes subgradients for estimates, which may err by
anything.

A probe begins if the leader is beyond the certified ball, the slack is less than ``near`` times the
largest so far, and

.. math:: g_t - \max_i\big(g_i + \hat s_i^\top(x_t - x_i)\big) > q\,(-g_t) .

It ends with a round without a measurement, and with an order to play another action.

On choices a probe goes to the next certified choice along the entry, up or down, from
:math:`\delta` away on or, if there is none, from the next choice on; an entry without one is left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Axes, Same
from surefoot.core.kernel_constants import (
    NEGLIGIBLE,
    PROBE_ERRORS,
    PROBE_MISS,
    PROBE_MOST,
    PROBE_NOISE,
    PROBE_VARIANCE,
)
from surefoot.core.parameters import instance_of, nonnegative, positive
from surefoot.core.types import Array, Number, Set
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.in_kernel import KernelStep
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.in_kernel import ProposerInKernel
from surefoot.proposers.leader import Leader, LeaderInKernel, LeaderNote, LeaderState

__all__ = ["DOUBT", "NEAR", "PROBE", "Probing"]

PROBE, DOUBT, NEAR = 0.01, 0.5, 0.5
"""The defaults of :class:`Probing`."""
INSIDE = "leader."
"""What the names of the leader's parts in the kernel begin with."""


class ProbingState(NamedTuple):
    """What the next round needs.

    Attributes:
        probes: how many probes from the origin were proposed, the last to be played next; 0 for
            none.
        origin: the action that the probes differ from.
        value: g there.
        length: how far the probe goes; below 0 downwards.
        slopes: the differences so far.
        leader: the state of the leader.
        place: the context of that value; None without contexts.
        meant: how far it was meant to go, where the choices do not have that; else 0.
    """

    probes: int
    origin: Array
    value: float
    length: float
    slopes: Array
    leader: LeaderState
    place: Annotated[Array | None, Axes(Same("place"))] = None
    meant: float = 0.0

    def flaw(self) -> str:
        """Return how the fields contradict each other; empty if they do not."""
        is_one = 0 <= self.probes <= len(self.origin)
        return "" if is_one else "with a number of probes from 0 to the length of x"


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
        return ProbingState(0, x1, 0.0, 0.0, np.zeros_like(x1), self.leader.init(x1))

    def propose(
        self, learner: ProbingState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[ProbingState, Proposal]:
        """Return the leader after a round, and its proposal or the next probe."""
        state, k, d = learner, learner.probes, len(x)
        if feedback.constraint_value is None:
            leader, proposal = self.leader.propose(state.leader, x, feedback, region)
            return state._replace(leader=leader, probes=0), proposal
        g = checks.read_constraint_value(feedback.constraint_value, x)
        # The probe that was just played, if there was one and it was not moved.
        slopes, s = state.slopes, None
        if k > 0:
            i, way = k - 1, x - state.origin
            if norm(way - state.length * _axis(i, d)) < PROBE_MISS * abs(state.length):
                change = region.base.guess_change(state.place)
                difference = (g - state.value - change) / float(way[i])
                if math.isfinite(difference):
                    slopes = np.where(_axis(i, d) > 0, difference, slopes)
        following = self._go_on(state, region) if k > 0 else state
        if k > 0 and not following.probes:
            s = _estimate(slopes, _noise_share(region, d, state.length), region.slope_norm)
        estimate = feedback._replace(constraint_subgradient=s)
        leader, proposal = self.leader.propose(state.leader, x, estimate, region)
        # The next one.
        state = following._replace(leader=leader, slopes=slopes)
        if k == 0 and self._doubts(leader, region, x, g):
            place = region.read_place
            state = self._go_on(state._replace(origin=x, value=g, place=place), region)
        if state.probes > 0:
            target = state.origin + state.length * _axis(state.probes - 1, d)
            proposal = proposal._replace(point=target)
        return state, proposal

    def interrupt(self, learner: ProbingState) -> ProbingState:
        """Return the learner after an order to play another action: a probe ends."""
        return learner._replace(probes=0)

    def on(self, domain: Set) -> Self:
        """Return the proposer on another set."""
        return replace(self, leader=self.leader.on(domain))

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return self.leader.lengths(d)

    def describe_to_kernel(self, knowledge: Knowledge, d: int) -> ProbingInKernel | None:
        """Return how the kernel has the leader with its probes; None if it lacks the leader."""
        leader = self.leader.in_kernel(knowledge, d)
        return ProbingInKernel(self, leader) if isinstance(leader, LeaderInKernel) else None

    def _go_on(self, state: ProbingState, region: Region) -> ProbingState:
        """Return the state with the next probe that the region has; none ends the probes."""
        length = state.meant or abs(state.length) if state.probes else self._length(region)
        for k in range(state.probes, len(state.origin)):
            if shift := region.shift(state.origin, k, length):
                meant = 0.0 if shift == length else length
                return state._replace(probes=k + 1, length=shift, meant=meant)
        return state._replace(probes=0)

    def _doubts(self, leader: LeaderState, region: Region, x: Array, g: float) -> bool:
        """Return whether the leader is out of reach for a reason that no cut, but a probe tells."""
        r, X, cuts = region.radius, x - leader.start, leader.cuts
        if not (0.0 < r < self.near * region.depth and norm(leader.Z - X) > r):
            return False
        if _noise_share(region, len(x), self._length(region)) > PROBE_NOISE:
            return False
        over = (cuts.normals @ X - cuts.offsets) / cuts.inverses
        over = over - region.base.fall_until_read(cuts.places)
        explained = float(np.fmax.reduce(over, initial=-math.inf))
        negligible = NEGLIGIBLE * -leader.start_value + 2 * region.errors.value
        return bool(g - explained > self.doubt * -g + negligible)

    def _length(self, region: Region) -> float:
        """Return how far a probe goes: further where values err, but never far."""
        r, noisy = max(region.radius, 0.0), PROBE_ERRORS * region.errors.value / region.slope_norm
        return float(max(self.probe * r, min(noisy, PROBE_MOST * r)))


class ProbingInKernel(ProposerInKernel):
    """Probes in the kernel, with the leader inside."""

    code = "SF_PROBING"

    def __init__(self, proposer: Probing, leader: LeaderInKernel) -> None:
        self.leader = leader
        options = {name: float(getattr(proposer, name)) for name in ("probe", "doubt", "near")}
        self.fields: dict[str, Any] = leader.fields | options

    def take_apart(self, memory: ProbingState, names: Iterable[str]) -> Mapping[str, Any] | None:
        """Return the parts by name; None in contexts, which the kernel does not have."""
        if memory.place is not None:
            return None
        own = [name for name in names if not name.startswith(INSIDE)]
        inner = [name.removeprefix(INSIDE) for name in names if name.startswith(INSIDE)]
        parts = self.leader.take_apart(memory.leader, inner)
        return {name: getattr(memory, name) for name in own} | {
            INSIDE + name: part for name, part in parts.items()
        }

    def put_together(self, parts: dict[str, Any]) -> ProbingState:
        """Return the state of parts."""
        probes, most = parts.pop("probes"), len(parts["origin"])
        if not (0 <= probes <= most and probes == int(probes)):
            rule = f"a number of probes that is whole and from 0 to {most}"
            raise InvalidValueError(f"state must have {rule}, got {probes}")
        leader = self.leader.put_together(parts.pop("leader"))
        return ProbingState(probes=int(probes), leader=leader, **parts)

    def note(self, step: KernelStep) -> LeaderNote:
        """Return the numbers of the round, which are those of the leader."""
        return self.leader.note(step)


def _noise_share(region: Region, d: int, length: float) -> float:
    """Return rho: the variance of a difference by errors of values, over that by slopes."""
    share = region.errors.value / (length * region.slope_norm)
    return float(d * (share * share) / PROBE_VARIANCE)


def _estimate(differences: Array, rho: float, slope_norm: float) -> Array | None:
    """Return the slope of differences with errors; None where they say nothing.

    Args:
        differences: one per entry.
        rho: the share of errors in them.
        slope_norm: the largest norm of a subgradient.
    """
    every = (1.0 + rho) + len(differences) * rho
    slopes = (differences - rho / every * differences.sum()) / (1.0 + rho)
    size = norm(slopes)
    return min(slope_norm / size, 1.0) * slopes if 0.0 < size < math.inf else None


def _axis(i: int, d: int) -> Array:
    """Return the unit vector along an entry."""
    axis = np.zeros(d)
    axis[i] = 1.0
    return axis
